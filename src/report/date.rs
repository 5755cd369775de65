//! Dates as pages print them; all are UTC.

use chrono::{DateTime, Datelike, NaiveDate, Timelike, Utc};

use super::number::NARROW;

pub fn day(time: DateTime<Utc>) -> String {
    calendar_day(time.date_naive())
}

/// Such as `16 Nov 2026`.
pub fn calendar_day(date: NaiveDate) -> String {
    format!("{}{NARROW}{} {}", date.day(), month(date.month()), date.year())
}

/// Such as `16 Nov 2026, 04:51`; a head or the sentence says that it is UTC.
pub fn moment(time: DateTime<Utc>) -> String {
    format!("{}, {:02}:{:02}", day(time), time.hour(), time.minute())
}

pub fn rfc3339(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The short name of a month from 1 to 12.
pub fn month(number: u32) -> &'static str {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    MONTHS[(number as usize + 11) % 12]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_read_day_month_year() {
        let time = DateTime::from_timestamp(1_794_804_669, 0).expect("a time within range");
        assert_eq!(moment(time), "16\u{202f}Nov 2026, 04:51");
        assert_eq!((month(1), month(12)), ("Jan", "Dec"));
    }
}
