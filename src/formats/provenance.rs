//! Commits and moments as other programs write them.

use chrono::{DateTime, Datelike, NaiveDateTime, Utc};
use serde_json::Value;

use sprag_model::imported::ImportedCommit;

/// Of a shortened id, as git prints it.
const FEWEST_DIGITS: usize = 7;

/// Of SHA-256.
const MOST_DIGITS: usize = 64;

/// The id of a commit in lower case, where the text is one: hexadecimal, seven digits or more.
pub(super) fn commit_id(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = (FEWEST_DIGITS..=MOST_DIGITS).contains(&text.len());
    (fits && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}

pub(super) fn commit(sha: String) -> ImportedCommit {
    ImportedCommit { sha, named_at: None, time: None, subject: None, branch: None }
}

/// The moment of so many milliseconds since 1970, in a year of four digits.
pub(super) fn time_of_millis(value: &Value) -> Option<DateTime<Utc>> {
    let millis = value.as_i64().or_else(|| value.as_f64().map(|number| number as i64));
    plausible(DateTime::from_timestamp_millis(millis?)?)
}

/// The moment of an RFC 3339 text, such as `2026-11-20T10:00:00+01:00`.
pub(super) fn time_of_rfc3339(text: &str) -> Option<DateTime<Utc>> {
    plausible(DateTime::parse_from_rfc3339(text.trim()).ok()?.to_utc())
}

/// The moment of so many seconds since 1970.
pub(super) fn time_of_seconds(text: &str) -> Option<DateTime<Utc>> {
    plausible(DateTime::from_timestamp(text.trim().parse().ok()?, 0)?)
}

/// A point in time as programs write it; one without a zone is treated as UTC.
pub(super) fn time(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    let zoned =
        DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f%:z"));
    if let Ok(time) = zoned {
        return Some(time.to_utc());
    }
    let plain = |form: &str| NaiveDateTime::parse_from_str(text, form).ok();
    let naive = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"].into_iter().find_map(plain)?;
    Some(naive.and_utc())
}

fn plausible(time: DateTime<Utc>) -> Option<DateTime<Utc>> {
    (1970..=9999).contains(&time.year()).then_some(time)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_is_hexadecimal() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(commit_id(text).as_deref(), expected, "{text}");
        check(" 6A580D9 ", Some("6a580d9"));
        check("6a580d", None);
        check("v1.2.3-4", None);
        check("-a580d9da", None);
        check("unversioned", None);
        check(&"a".repeat(64), Some(&"a".repeat(64)));
        check(&"a".repeat(65), None);
        check("", None);
    }

    #[test]
    fn moments_are_read_in_each_spelling() {
        let check = |time: Option<DateTime<Utc>>, expected: Option<&str>| {
            assert_eq!(time.map(|time| time.to_rfc3339()).as_deref(), expected);
        };
        check(time_of_millis(&json!(1_795_226_245_061_u64)), Some("2026-11-21T01:57:25.061+00:00"));
        check(time_of_millis(&json!(1.7e12)), Some("2023-11-14T22:13:20+00:00"));
        check(time_of_millis(&json!(1e300)), None);
        check(time_of_millis(&json!(-1)), None);
        check(time_of_millis(&json!("1700000000000")), None);
        check(time_of_rfc3339("2024-07-03T16:57:33-05:00"), Some("2024-07-03T21:57:33+00:00"));
        check(time_of_rfc3339("yesterday"), None);
        check(time_of_seconds("1600000000"), Some("2020-09-13T12:26:40+00:00"));
        check(time_of_seconds("99999999999999"), None);
        check(time("2026-11-21T01:53:55+02:00"), Some("2026-11-20T23:53:55+00:00"));
        check(time("2026-11-21T01:53:04Z"), Some("2026-11-21T01:53:04+00:00"));
        check(time("2026-11-21 01:52:46.5"), Some("2026-11-21T01:52:46.500+00:00"));
        check(time("2026-11-21 01:52:46+01:00"), Some("2026-11-21T00:52:46+00:00"));
        check(time("2016/08/02-21:07:26"), None);
        check(time("999999-11-21T01:53:04Z"), None);
    }
}
