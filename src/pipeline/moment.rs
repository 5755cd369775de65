//! A date or a moment, as options take it.

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};

use crate::{Advice, text};

/// The first second that an option names, and the first one after it: those of a day in UTC, or of a moment in RFC 3339.
/// Runs are dated to the second.
pub fn span(option: &str, given: &str) -> Result<(DateTime<Utc>, DateTime<Utc>), Advice> {
    let day = |day: NaiveDate| {
        Some([day, day.checked_add_days(Days::new(1))?].map(|day| day.and_time(NaiveTime::MIN).and_utc()))
    };
    let found = match given.parse::<NaiveDate>() {
        Ok(date) => day(date),
        Err(_) => {
            let moment = DateTime::parse_from_rfc3339(given).ok().map(|moment| moment.to_utc());
            moment.and_then(|moment| Some([moment, moment.checked_add_signed(TimeDelta::seconds(1))?]))
        }
    };
    found.map(|[first, after]| (first, after)).ok_or_else(|| Advice {
        message: format!("`{option} {}` is no date or time", text::printable(given)),
        hint: "give a day in UTC such as 2026-05-31, or RFC 3339 such as 2026-05-31T12:00:00Z".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_moments_are_read() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let found = span("--since", text).ok().map(|(first, after)| (first.to_rfc3339(), after.to_rfc3339()));
            assert_eq!(found, expected.map(|(first, after)| (first.to_owned(), after.to_owned())), "{text}");
        };
        check("2026-05-31", Some(("2026-05-31T00:00:00+00:00", "2026-06-01T00:00:00+00:00")));
        check("2026-05-31T12:00:00+02:00", Some(("2026-05-31T10:00:00+00:00", "2026-05-31T10:00:01+00:00")));
        let wrong = ["", "yesterday", "2026-13-01", "2026-05-31T12:00:00", "2026-02-30", "2026-05", "262142-12-31"];
        wrong.into_iter().for_each(|wrong| check(wrong, None));
    }
}
