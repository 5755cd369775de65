//! Moments as other programs write them.

use chrono::{DateTime, Datelike, Utc};
use serde_json::Value;

/// The moment of so many milliseconds since 1970, in a year of four digits.
pub(super) fn of_millis(value: &Value) -> Option<DateTime<Utc>> {
    let whole = value.as_i64().or_else(|| value.as_f64().map(|number| number as i64));
    plausible(DateTime::from_timestamp_millis(whole?)?)
}

/// The moment of an RFC 3339 text, such as `2026-11-20T10:00:00+01:00`.
pub(super) fn of_text(text: &str) -> Option<DateTime<Utc>> {
    plausible(DateTime::parse_from_rfc3339(text.trim()).ok()?.to_utc())
}

/// The moment of so many seconds since 1970.
pub(super) fn of_seconds(text: &str) -> Option<DateTime<Utc>> {
    plausible(DateTime::from_timestamp(text.trim().parse().ok()?, 0)?)
}

fn plausible(time: DateTime<Utc>) -> Option<DateTime<Utc>> {
    (1970..=9999).contains(&time.year()).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn moments_are_read_in_each_spelling() {
        let check = |found: Option<DateTime<Utc>>, expected: Option<&str>| {
            let found = found.map(|time| time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string());
            assert_eq!(found.as_deref(), expected);
        };
        check(of_millis(&json!(1_795_226_245_061_u64)), Some("2026-11-21T01:57:25.061Z"));
        check(of_millis(&json!(1.7e12)), Some("2023-11-14T22:13:20.000Z"));
        check(of_millis(&json!(1e300)), None);
        check(of_millis(&json!(-1)), None);
        check(of_millis(&json!("1700000000000")), None);
        check(of_text("2024-07-03T16:57:33-05:00"), Some("2024-07-03T21:57:33.000Z"));
        check(of_text("yesterday"), None);
        check(of_seconds("1600000000"), Some("2020-09-13T12:26:40.000Z"));
        check(of_seconds("99999999999999"), None);
    }
}
