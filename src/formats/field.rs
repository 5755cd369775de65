//! Fields of JSON objects that others wrote: read as quantities, taken as facts or extras, and named where they are at
//! fault.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::{outputs, quantity};
use sprag_base::text::is_unsafe;
use sprag_model::metric::Metric;

/// The longest text that is kept of a fact, a label or a reason, in characters.
const LONGEST_TEXT: usize = 500;

/// The most members of an object that is kept beside a benchmark.
const MOST_MEMBERS: usize = 100;

/// The number that a value is. One that is not finite stands in quotes, as [`super::json::quote_not_finite`] leaves
/// it.
pub(super) fn number(value: &Value) -> Option<f64> {
    let quoted = || value.as_str()?.parse::<f64>().ok().filter(|number| !number.is_finite());
    value.as_f64().or_else(quoted)
}

pub(super) fn count(object: &Value, key: &str) -> Option<u64> {
    object.get(key).and_then(Value::as_u64)
}

/// The text that a field holds, if it is not empty.
pub(super) fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// What a field holds of a metric, in its base unit; one of the source's unit is `factor` of it.
pub(super) fn measured(object: &Value, key: &str, metric: &Metric, factor: f64) -> Result<f64, String> {
    match object.get(key) {
        None | Some(Value::Null) => Err(format!("it has no `{key}`")),
        Some(value) => possible(key, number(value), metric, factor),
    }
}

/// As [`measured`], of a list of numbers; empty where there is none.
pub(super) fn all_measured(object: &Value, key: &str, metric: &Metric, factor: f64) -> Result<Vec<f64>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => {
            let one = |(place, value)| possible(&format!("{key}[{place}]"), number(value), metric, factor);
            list.iter().enumerate().map(one).collect()
        }
        Some(_) => Err(format!("its `{key}` is no list")),
    }
}

/// The number in its base unit, if there is one and the metric can have it.
pub(super) fn possible(key: &str, number: Option<f64>, metric: &Metric, factor: f64) -> Result<f64, String> {
    let value = number.ok_or_else(|| format!("its `{key}` is no number"))?;
    outputs::possible(metric, key, quantity::to_base(value, factor))
}

/// What is said somewhere, on one line, without characters that control or turn the text round, and not too long.
pub(super) fn one_line(text: &str) -> String {
    let text = text.chars().take(4 * LONGEST_TEXT).map(|c| if c.is_control() { ' ' } else { c });
    let line: String = text.filter(|c| c.is_whitespace() || !is_unsafe(*c)).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_TEXT).collect()
}

/// As [`one_line`], of a reason; where none is given, that is said.
pub(super) fn reason(text: Option<&str>) -> String {
    let one_line = one_line(text.unwrap_or_default());
    if one_line.is_empty() { "its program gives no reason".to_owned() } else { one_line }
}

/// Keeps a fact, where there is one.
pub(super) fn fact(facts: &mut BTreeMap<String, String>, name: &str, value: Option<&Value>) {
    let text = match value {
        Some(Value::String(text)) => one_line(text),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(is)) => if *is { "on" } else { "off" }.to_owned(),
        None | Some(Value::Null | Value::Array(_) | Value::Object(_)) => return,
    };
    if !text.is_empty() {
        facts.insert(name.to_owned(), text);
    }
}

/// Keeps a number beside a benchmark, where there is one that is finite.
pub(super) fn extra(extras: &mut BTreeMap<String, Value>, name: &str, value: Option<f64>) {
    if let Some(number) = value.and_then(Number::from_f64) {
        extras.insert(name.to_owned(), Value::Number(number));
    }
}

/// A value as it may stand beside a benchmark: text, number, boolean, or an object of such; nothing else.
pub(super) fn plain(value: &Value) -> Option<Value> {
    match value {
        Value::Object(object) => {
            let members = object.iter().filter_map(|(key, value)| Some((one_line(key), scalar(value)?)));
            Some(Value::Object(members.take(MOST_MEMBERS).collect()))
        }
        value => scalar(value),
    }
}

fn scalar(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(Value::String(one_line(text))),
        Value::Number(_) | Value::Bool(_) => Some(value.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Parameters as a benchmark has them: what is no text is written as JSON is.
pub(super) fn params(object: Option<&Value>) -> BTreeMap<String, String> {
    let Some(Value::Object(object)) = object else { return BTreeMap::new() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    object.iter().take(MOST_MEMBERS).map(|(key, value)| (one_line(key), one_line(&text(value)))).collect()
}

/// The value of a metric that stands under `key`, where one of the source's unit is `factor` of the base unit. Digits in
/// quotes count as a number.
pub(super) fn figure(key: &str, value: &Value, metric: &Metric, factor: f64) -> Result<f64, String> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    match number {
        Some(number) => possible(key, Some(number), metric, factor),
        None => Err(format!("its `{key}` is {}, where a number is needed", shown_value(value))),
    }
}

/// What stands in place of a number, cut short.
fn shown_value(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let start: String = text.chars().take(40).collect();
            format!("`{}`", start.escape_debug())
        }
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_a_quantity_or_says_why_not() {
        let object = json!({"a": 2, "nan": "NaN", "word": "x", "zero": 0, "null": null, "list": [1, "inf"], "b": [3]});
        let check = |key: &str, expected: Result<f64, &str>| {
            assert_eq!(measured(&object, key, &Metric::time(), 0.5), expected.map_err(str::to_owned));
        };
        check("a", Ok(1.0));
        check("nan", Err("its `nan` is NaN, which is no number"));
        check("word", Err("its `word` is no number"));
        check("zero", Err("its `zero` is 0 s, where more than zero is needed"));
        check("null", Err("it has no `null`"));
        check("none", Err("it has no `none`"));
        let check = |key: &str, expected: Result<Vec<f64>, &str>| {
            assert_eq!(all_measured(&object, key, &Metric::time(), 0.5), expected.map_err(str::to_owned));
        };
        check("b", Ok(vec![1.5]));
        check("none", Ok(vec![]));
        check("list", Err("its `list[1]` is inf, which is no number"));
        check("a", Err("its `a` is no list"));
    }

    #[test]
    fn extras_are_plain_and_short() {
        assert_eq!(plain(&json!({"a": 1, "b": [1], "c": "x\u{1b}[31m"})), Some(json!({"a": 1, "c": "x [31m"})));
        assert_eq!(plain(&json!([1])), None);
        assert_eq!(one_line(&"x".repeat(9000)).len(), LONGEST_TEXT);
        assert_eq!(one_line("a\u{202e}b\u{200b}\n c"), "ab c");
        assert_eq!(reason(Some(" \n")), "its program gives no reason");
        assert_eq!(params(Some(&json!({"k": 8, "s": "x"}))), [("k", "8"), ("s", "x")].map(own).into());
        let mut facts = BTreeMap::new();
        let values = json!([" a\tb ", 2, true, [1], ""]);
        values
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
            .for_each(|(i, v)| fact(&mut facts, &i.to_string(), Some(v)));
        assert_eq!(facts, [("0", "a b"), ("1", "2"), ("2", "on")].map(own).into());
    }

    fn own((key, value): (&str, &str)) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn a_number_is_read_in_the_base_unit_or_refused_with_its_key() {
        let check = |value: Value, expected: Result<f64, &str>| {
            let result = figure("value", &value, &Metric::time(), 1e-3);
            assert_eq!(result.as_ref().map_err(String::as_str), expected.as_ref().map_err(|words| *words), "{value}");
        };
        check(json!(1500), Ok(1.5));
        check(json!(" 2.5e3 "), Ok(2.5));
        check(json!(0), Err("its `value` is 0 s, where more than zero is needed"));
        check(json!("NaN"), Err("its `value` is NaN, which is no number"));
        check(json!(5e-324), Err("its `value` is 0 s, where more than zero is needed"));
        check(json!("fast\u{202e}"), Err("its `value` is `fast\\u{202e}`, where a number is needed"));
        check(json!(null), Err("its `value` is null, where a number is needed"));
        check(json!([1]), Err("its `value` is a list, where a number is needed"));
    }
}
