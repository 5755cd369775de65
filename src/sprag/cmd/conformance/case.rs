//! One case: its fields, and how it is judged.

use std::fmt;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value};

use sprag_kernels::KernelError;

/// Which form of a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Reference,
    Fast,
}

impl Form {
    /// The forms of a kernel that has one.
    pub(super) const ONE: &'static [Form] = &[Form::Reference];
    /// The forms of a kernel that has both.
    pub(super) const BOTH: &'static [Form] = &[Form::Reference, Form::Fast];
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Form::Reference => "reference",
            Form::Fast => "fast",
        })
    }
}

/// Why no result came of the inputs of a case.
#[derive(Debug)]
pub(super) enum Stop {
    /// The kernel refused them, or its types cannot hold them: what a rejection case asks for.
    Refused(String),
    /// The case itself cannot be read; it fails whatever it expects.
    Unreadable(anyhow::Error),
}

impl From<KernelError> for Stop {
    fn from(error: KernelError) -> Self {
        Stop::Refused(error.to_string())
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Stop::Unreadable(error)
    }
}

/// Runs one case: reads its inputs, computes with each form, compares each expected field.
///
/// `fields` are the fields that the case may have beside its name and its expectation. `compare` is given each field
/// of `expected`, or the whole under the name `expected` where it is no object, and refuses names it does not know.
pub(super) fn judge<I, G>(
    case: &Value,
    fields: &[&str],
    forms: &[Form],
    read: impl FnOnce(&Fields<'_>) -> Result<I, Stop>,
    compute: impl Fn(Form, &I) -> Result<G, Stop>,
    compare: impl Fn(&str, &Value, &G) -> Result<()>,
) -> Result<()> {
    let allowed: Vec<&str> = fields.iter().copied().chain(["name", "expected", "expected_error"]).collect();
    let fields = Fields::of(case, "the case", &allowed)?;
    let refusal = match (fields.optional("expected"), fields.optional("expected_error")) {
        (Some(_), None) => None,
        (None, Some(error)) => {
            let error = Fields::of(error, "`expected_error`", &["type", "message"])?;
            Some(format!("{}: {}", error.text("type")?, error.text("message")?))
        }
        _ => bail!("the case needs either `expected` or `expected_error`"),
    };
    let inputs = match (read(&fields), &refusal) {
        (Ok(inputs), _) => inputs,
        (Err(Stop::Refused(_)), Some(_)) => return Ok(()),
        (Err(Stop::Refused(reason)), None) => bail!("expected a result, got a refusal: {reason}"),
        (Err(Stop::Unreadable(error)), _) => return Err(error),
    };
    for &form in forms {
        match (compute(form, &inputs), &refusal) {
            (Err(Stop::Refused(_)), Some(_)) => {}
            (Ok(_), Some(refusal)) => bail!("{form} form: expected a refusal ({refusal}), got a result"),
            (Err(Stop::Refused(reason)), None) => bail!("{form} form: expected a result, got a refusal: {reason}"),
            (Err(Stop::Unreadable(error)), _) => return Err(error),
            (Ok(got), None) => each("expected", fields.get("expected")?, |name, value| compare(name, value, &got))
                .with_context(|| format!("{form} form"))?,
        }
    }
    Ok(())
}

/// Gives each field of an object, or the whole of anything else, to `compare`. An object without fields compares
/// nothing and is refused.
pub(super) fn each(name: &str, value: &Value, mut compare: impl FnMut(&str, &Value) -> Result<()>) -> Result<()> {
    match value {
        Value::Object(fields) if fields.is_empty() => bail!("`{name}` holds nothing to compare"),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| compare(name, value)),
        _ => compare(name, value),
    }
}

/// The refusal of an expected field that no comparison knows.
pub(super) fn unknown(name: &str) -> Result<()> {
    bail!("expected field `{name}` is unknown to this build")
}

/// The fields of an object, all of them known.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    object: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// The fields of `value`; refuses anything but an object and any field that is not `allowed`.
    pub(super) fn of(value: &'a Value, what: &str, allowed: &[&str]) -> Result<Self> {
        let fields = Fields::any(value, what)?;
        match fields.object.keys().find(|key| !allowed.contains(&key.as_str())) {
            Some(key) => bail!("{what} has a field `{key}` that is unknown to this build"),
            None => Ok(fields),
        }
    }

    /// The fields of `value`, of any names.
    pub(super) fn any(value: &'a Value, what: &str) -> Result<Self> {
        let object = value.as_object().with_context(|| format!("{what} is not an object"))?;
        Ok(Fields { object })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.object.keys().map(String::as_str)
    }

    pub(super) fn get(&self, name: &str) -> Result<&'a Value> {
        self.object.get(name).with_context(|| format!("field `{name}` is absent"))
    }

    /// The field, unless it is absent or null.
    pub(super) fn optional(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str> {
        self.get(name)?.as_str().with_context(|| format!("`{name}` is not a string"))
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool> {
        self.get(name)?.as_bool().with_context(|| format!("`{name}` is not a boolean"))
    }

    pub(super) fn number(&self, name: &str) -> Result<f64> {
        number(self.get(name)?).with_context(|| format!("`{name}`"))
    }

    pub(super) fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        list(name, self.get(name)?)?.iter().map(number).collect::<Result<_>>().with_context(|| format!("`{name}`"))
    }

    /// An integer; one that `T` cannot hold counts as refused by the kernel.
    pub(super) fn integer<T: TryFrom<i64>>(&self, name: &str) -> Result<T, Stop> {
        let value = integer(self.get(name)?).with_context(|| format!("`{name}`"))?;
        T::try_from(value).map_err(|_| Stop::Refused(format!("`{name}` is {value}, which its type cannot hold")))
    }

    /// A list of integers; as [`Fields::integer`].
    pub(super) fn integers<T: TryFrom<i64>>(&self, name: &str) -> Result<Vec<T>, Stop> {
        let values = integers(name, self.get(name)?)?;
        narrow(name, &values)
    }
}

/// Integers in the type that a kernel takes; one that it cannot hold counts as refused by the kernel.
pub(super) fn narrow<T: TryFrom<i64>>(name: &str, values: &[i64]) -> Result<Vec<T>, Stop> {
    let narrow = |&value: &i64| {
        T::try_from(value).map_err(|_| Stop::Refused(format!("`{name}` holds {value}, which its type cannot hold")))
    };
    values.iter().map(narrow).collect()
}

/// The elements of an array.
pub(super) fn list<'a>(name: &str, value: &'a Value) -> Result<&'a [Value]> {
    value.as_array().map(Vec::as_slice).with_context(|| format!("`{name}` is not a list"))
}

/// A list of integers.
pub(super) fn integers(name: &str, value: &Value) -> Result<Vec<i64>> {
    list(name, value)?.iter().map(integer).collect::<Result<_>>().with_context(|| format!("`{name}`"))
}

/// A number, or the name of one that JSON cannot write.
pub(super) fn number(value: &Value) -> Result<f64> {
    match value {
        Value::String(text) if text == "NaN" => Ok(f64::NAN),
        Value::String(text) if text == "Infinity" => Ok(f64::INFINITY),
        Value::String(text) if text == "-Infinity" => Ok(f64::NEG_INFINITY),
        _ => value.as_f64().ok_or_else(|| anyhow!("{value} is not a number")),
    }
}

fn integer(value: &Value) -> Result<i64> {
    value.as_i64().ok_or_else(|| anyhow!("{value} is not an integer"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A kernel that doubles numbers and refuses negative ones.
    fn double(case: &Value) -> Result<()> {
        judge(
            case,
            &["x"],
            Form::BOTH,
            |case| Ok(case.number("x")?),
            |_, &x| if x < 0.0 { Err(Stop::Refused("negative".to_owned())) } else { Ok(2.0 * x) },
            |name, value, &got| match name {
                "y" if number(value)? == got => Ok(()),
                "y" => bail!("expected {value}, got {got}"),
                _ => unknown(name),
            },
        )
    }

    fn fails(case: Value, with: &str) {
        let error = format!("{:#}", double(&case).expect_err("this case must fail"));
        assert!(error.contains(with), "`{error}` does not say `{with}`");
    }

    #[test]
    fn a_case_passes_only_for_the_right_reason() {
        let refusal = json!({"type": "ValueError", "message": "negative"});
        double(&json!({"x": 1, "expected": {"y": 2}})).unwrap();
        double(&json!({"x": -1, "expected_error": refusal})).unwrap();
        fails(json!({"x": 1, "expected": {"y": 3}}), "reference form: expected 3, got 2");
        fails(json!({"x": 1, "expected_error": refusal}), "expected a refusal (ValueError: negative)");
        fails(json!({"x": -1, "expected": {"y": 2}}), "got a refusal: negative");
        fails(json!({"x": "-1", "expected_error": refusal}), "is not a number");
        fails(json!({"expected_error": refusal}), "`x` is absent");
    }

    #[test]
    fn what_is_unknown_or_empty_fails() {
        fails(json!({"x": 1, "expected": {}}), "nothing to compare");
        fails(json!({"x": 1}), "either `expected` or");
        fails(json!({"x": 1, "expected": {"z": 2}}), "`z` is unknown");
        fails(json!({"x": 1, "w": 1, "expected": {"y": 2}}), "`w` that is unknown");
        fails(json!({"x": 1, "expected": {"y": 2}, "expected_error": {}}), "either");
        fails(json!(3), "not an object");
    }
}
