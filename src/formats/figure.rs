//! A number that a source gives of a metric, in the base unit, or why it cannot be.

use serde_json::Value;

use super::quantity;
use sprag_model::metric::Metric;

/// The value of a metric that stands under `key`, where one of the source's unit is `factor` of the base unit. Digits in
/// quotes count as a number.
pub(super) fn figure(key: &str, value: &Value, metric: &Metric, factor: f64) -> Result<f64, String> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let Some(number) = number else {
        return Err(format!("its `{key}` is {}, where a number is needed", shown(value)));
    };
    let base = quantity::to_base(number, factor);
    match metric.fault(base) {
        Some(fault) => Err(format!("its `{key}` is {fault}")),
        None => Ok(base),
    }
}

/// What stands in place of a number, cut short.
fn shown(value: &Value) -> String {
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
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_is_read_in_the_base_unit_or_refused_with_its_key() {
        let check = |value: Value, expected: Result<f64, &str>| {
            let found = figure("value", &value, &Metric::time(), 1e-3);
            assert_eq!(found.as_ref().map_err(String::as_str), expected.as_ref().map_err(|words| *words), "{value}");
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
