//! Fields of JSON objects that others wrote: read as quantities, taken as facts or extras, and named where they are at
//! fault.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::{outputs, quantity};
use sprag_base::text;
use sprag_model::metric::Metric;

/// The longest text of a fact, a label or a reason, in characters.
const LONGEST_TEXT: usize = 500;

/// The most members of an object that becomes an extra.
const MOST_MEMBERS: usize = 100;

/// The number that a value is. One that is not finite is in quotes, as [`super::json::quote_not_finite`] leaves it.
pub(super) fn number(value: &Value) -> Option<f64> {
    let quoted = || value.as_str()?.parse::<f64>().ok().filter(|number| !number.is_finite());
    value.as_f64().or_else(quoted)
}

/// As [`number`], and any text that reads as a number is one.
pub(super) fn any_number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
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
        Some(_) => Err(format!("its `{key}` is not a list")),
    }
}

/// The number in its base unit, if there is one and the metric can have it.
pub(super) fn possible(key: &str, number: Option<f64>, metric: &Metric, factor: f64) -> Result<f64, String> {
    let value = number.ok_or_else(|| format!("its `{key}` is not a number"))?;
    outputs::possible(metric, key, quantity::to_base(value, factor))
}

/// A safe text on one line, and not too long.
pub(super) fn one_line(text: &str) -> String {
    let text: String = text.chars().take(4 * LONGEST_TEXT).collect();
    text::one_line(&text).chars().take(LONGEST_TEXT).collect()
}

/// As [`one_line`], of why something did not run.
pub(super) fn reason(text: Option<&str>) -> String {
    let one_line = one_line(text.unwrap_or_default());
    if one_line.is_empty() { "its program gives no reason".to_owned() } else { one_line }
}

/// The facts that there are: texts, numbers, and `on` or `off`.
pub(super) fn facts<const N: usize>(named: [(&str, Option<&Value>); N]) -> BTreeMap<String, String> {
    let fact = |(name, value): (&str, Option<&Value>)| {
        let text = match value? {
            Value::String(text) => one_line(text),
            Value::Number(number) => number.to_string(),
            Value::Bool(is) => if *is { "on" } else { "off" }.to_owned(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((name.to_owned(), text)).filter(|(_, text)| !text.is_empty())
    };
    named.into_iter().filter_map(fact).collect()
}

/// Adds a number to the extras of a benchmark, where there is one that is finite.
pub(super) fn extra(extras: &mut BTreeMap<String, Value>, name: &str, value: Option<f64>) {
    if let Some(number) = value.and_then(Number::from_f64) {
        extras.insert(name.to_owned(), Value::Number(number));
    }
}

/// A value as an extra may be: text, number, boolean, or an object of such; nothing else.
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

/// Parameters as a benchmark has them: what is not text is written as in JSON.
pub(super) fn params(object: Option<&Value>) -> BTreeMap<String, String> {
    let Some(Value::Object(object)) = object else { return BTreeMap::new() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    object.iter().take(MOST_MEMBERS).map(|(key, value)| (one_line(key), one_line(&text(value)))).collect()
}

/// As [`possible`], of a value that may be digits in quotes; the fault shows what is not a number.
pub(super) fn figure(key: &str, value: &Value, metric: &Metric, factor: f64) -> Result<f64, String> {
    let number = any_number(value);
    if number.is_none() {
        return Err(format!("its `{key}` is {}, where a number is needed", shown_value(value)));
    }
    possible(key, number, metric, factor)
}

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

    /// What becomes of fields is in the cases of the formats.
    #[test]
    fn extras_are_plain_and_short() {
        assert_eq!(plain(&json!({"a": 1, "b": [1], "c": "x\u{1b}[31m"})), Some(json!({"a": 1, "c": "x [31m"})));
        assert_eq!(plain(&json!([1])), None);
        assert_eq!(one_line(&"x".repeat(9000)).len(), LONGEST_TEXT);
        assert_eq!(one_line(" a\n\u{202e}b \u{7}c "), "a b c");
        assert_eq!(one_line("a\u{202e}b\u{200b}\n c"), "ab c");
        assert_eq!((reason(None), reason(Some("a\nb"))), ("its program gives no reason".to_owned(), "a b".to_owned()));
        assert_eq!(reason(Some(" \n")), "its program gives no reason");
        let values = [json!(" a\tb "), json!(2), json!(true), json!([1]), json!("")];
        let [text, number, flag, list, empty] = values.each_ref().map(Some);
        let facts = facts([("0", text), ("1", number), ("2", flag), ("3", list), ("4", empty), ("5", None)]);
        assert_eq!(
            facts,
            [("0", "a b"), ("1", "2"), ("2", "on")].map(|(name, fact)| (name.into(), fact.into())).into()
        );
    }

    #[test]
    fn a_field_is_a_quantity_or_its_fault_is_named() {
        let check = |result: Result<f64, String>, expected: Result<f64, &str>| {
            assert_eq!(result.as_ref().map_err(String::as_str), expected.as_ref().map_err(|fault| *fault));
        };
        let object = json!({"a": 2, "nan": "NaN", "word": "x", "zero": 0, "null": null, "list": [1, "inf"], "b": [3]});
        let field = |key: &str| measured(&object, key, &Metric::time(), 0.5);
        check(field("a"), Ok(1.0));
        check(field("nan"), Err("its `nan` is NaN, which is not a number"));
        check(field("word"), Err("its `word` is not a number"));
        check(field("zero"), Err("its `zero` is 0 s, where more than zero is needed"));
        check(field("null"), Err("it has no `null`"));
        check(field("none"), Err("it has no `none`"));
        let list = |key: &str| all_measured(&object, key, &Metric::time(), 0.5);
        assert_eq!((list("b"), list("none")), (Ok(vec![1.5]), Ok(vec![])));
        assert_eq!(list("list"), Err("its `list[1]` is inf, which is not a number".to_owned()));
        assert_eq!(list("a"), Err("its `a` is not a list".to_owned()));
        let value = |value: Value| figure("value", &value, &Metric::time(), 1e-3);
        check(value(json!(1500)), Ok(1.5));
        check(value(json!(" 2.5e3 ")), Ok(2.5));
        check(value(json!(0)), Err("its `value` is 0 s, where more than zero is needed"));
        check(value(json!("NaN")), Err("its `value` is NaN, which is not a number"));
        check(value(json!(5e-324)), Err("its `value` is 0 s, where more than zero is needed"));
        check(value(json!("fast\u{202e}")), Err("its `value` is `fast\\u{202e}`, where a number is needed"));
        check(value(json!(null)), Err("its `value` is null, where a number is needed"));
        check(value(json!([1])), Err("its `value` is a list, where a number is needed"));
    }
}
