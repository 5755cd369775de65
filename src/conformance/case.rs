//! One case: its inputs, what it expects, and how a result is compared with that.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::expected::{Results, check_expected};
use crate::failure::{Failure, Outcome, fails, read};

pub(crate) type Form = sprag_kernels::Form<()>;

/// Takes the kind of a case out of it.
pub(crate) fn take_kind(case: &mut Value) -> Outcome<String> {
    let fields = case.as_object_mut().ok_or_else(|| fails("the case is not an object"))?;
    match fields.shift_remove("kind") {
        Some(Value::String(kind)) => Ok(kind),
        Some(other) => Err(fails(format!("kind {other} is not a string"))),
        None => Err(fails("field `kind` is absent")),
    }
}

pub(crate) fn unknown_kind(kind: &str) -> Failure {
    fails(format!("kind `{kind}` is unknown to this build"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call<I, P> {
    pub(crate) inputs: I,
    pub(crate) params: P,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    r#type: String,
    message: String,
}

/// Takes the inputs out of a case that has its results next to them; the rest is recorded.
pub(crate) fn take_inputs<I: DeserializeOwned>(case: Value, names: &[&str]) -> Outcome<(I, Map<String, Value>)> {
    let Value::Object(mut recorded) = case else { return Err(fails("the case is not an object")) };
    recorded.shift_remove("name");
    let inputs = names.iter().filter_map(|name| Some(((*name).to_owned(), recorded.shift_remove(*name)?)));
    let inputs = inputs.collect();
    Ok((read("the case", Value::Object(inputs))?, recorded))
}

/// Computes in the one form that there is, as [`judge_forms`].
pub(crate) fn judge<I: DeserializeOwned>(case: Value, compute: impl Fn(&I) -> Outcome<Results>) -> Outcome {
    judge_each(case, &[("reference", Form::Reference)], |_, inputs| compute(inputs))
}

/// Computes in both forms and compares with what the case expects. All other fields but its name are the inputs.
pub(crate) fn judge_forms<I: DeserializeOwned>(case: Value, compute: impl Fn(Form, &I) -> Outcome<Results>) -> Outcome {
    judge_each(case, &[("reference", Form::Reference), ("fast", Form::Fast(()))], compute)
}

fn judge_each<I: DeserializeOwned>(
    case: Value,
    forms: &[(&str, Form)],
    compute: impl Fn(Form, &I) -> Outcome<Results>,
) -> Outcome {
    let Value::Object(mut fields) = case else { return Err(fails("the case is not an object")) };
    fields.shift_remove("name");
    let expected = match (fields.shift_remove("expected"), fields.shift_remove("expected_error")) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => Err(read::<Refusal>("`expected_error`", error)?),
        _ => return Err(fails("the case needs either `expected` or `expected_error`")),
    };
    let inputs: I = read("the case", Value::Object(fields))?;
    for &(name, form) in forms {
        let result = match (compute(form, &inputs), &expected) {
            (Err(Failure::Refused(_)), Err(_)) => Ok(()),
            (Err(Failure::Refused(reason)), Ok(_)) => Err(fails(format!("expected a result, got a refusal: {reason}"))),
            (Err(error), _) => Err(error),
            (Ok(_), Err(Refusal { r#type, message })) => {
                Err(fails(format!("expected a refusal ({type}: {message}), got a result")))
            }
            (Ok(got), Ok(expected)) => check_expected(expected, &got),
        };
        result.map_err(|failure| failure.at(format_args!("{name} form")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expected::exactly;
    use crate::failure::narrow;
    use serde_json::json;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inputs {
        x: i64,
    }

    /// A kernel that doubles numbers and refuses negative ones.
    fn double(case: Value) -> Outcome {
        let compute = |_, inputs: &Inputs| Ok(vec![("y", exactly(2 * narrow::<u32>("x", inputs.x)?))]);
        judge_forms(case, compute)
    }

    fn check_fails(case: Value, with: &str) {
        let error = double(case).expect_err("this case must fail").to_string();
        assert!(error.contains(with), "`{error}` does not say `{with}`");
    }

    #[test]
    fn a_case_passes_only_for_the_right_reason() {
        let refusal = json!({"type": "ValueError", "message": "negative"});
        double(json!({"name": "n", "x": 1, "expected": {"y": 2}})).expect("it passes");
        double(json!({"x": -1, "expected_error": refusal})).expect("it passes");
        check_fails(json!({"x": 1, "expected": {"y": 3}}), "reference form: `y`: expected 3, got 2");
        check_fails(json!({"x": 1, "expected_error": refusal}), "expected a refusal (ValueError: negative)");
        check_fails(json!({"x": -1, "expected": {"y": 2}}), "got a refusal: `x` holds -1");
        check_fails(json!({"x": "-1", "expected_error": refusal}), "invalid type: string");
        check_fails(json!({"expected_error": refusal}), "missing field `x`");
        check_fails(json!({"x": 1, "expected": {}}), "nothing to compare");
        check_fails(json!({"x": 1}), "either `expected` or");
        check_fails(json!({"x": 1, "expected": {"z": 2}}), "unknown field `z`");
        check_fails(json!({"x": 1, "w": 1, "expected": {"y": 2}}), "unknown field `w`");
        check_fails(json!({"x": 1, "expected": {"y": 2}, "expected_error": {}}), "either");
        check_fails(json!(3), "not an object");
    }
}
