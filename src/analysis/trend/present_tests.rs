//! What hangs on the present, and what does not.

use chrono::{DateTime, TimeDelta, Utc};

use super::analyse::{Input, analyse_at};
use super::detection_cache::DetectionCache;
use super::example::{analysis, line, noisy, setting, suites};
use super::series_changes::Setting;
use sprag_model::trend::Tables;

#[test]
fn another_present_gives_what_a_look_at_that_time_gives() {
    let analysis = analysis(vec![noisy("steps", 120, 1, &[(0, 1.0), (60, 1.2)], 3), noisy("flat", 120, 1, &[], 4)]);
    let setting = |_: &str, _: &str| -> Setting { setting() };
    let newest = analysis.as_of.expect("there are runs");
    let later = newest + TimeDelta::days(400);
    let at = |now: DateTime<Utc>, other: Option<DateTime<Utc>>| {
        analyse_at(
            Input {
                analysis: &analysis,
                line: &line(300),
                heads: &[],
                now,
                setting: &setting,
                selected: &|_| true,
                suites: &suites(),
                records: &[],
                tables: Tables::default(),
            },
            other,
            &DetectionCache::default(),
        )
    };
    let (now, then) = at(later, Some(newest));
    assert_eq!(then.expect("it was asked for"), at(newest, None).0.trend);
    assert_eq!(now.trend, at(later, None).0.trend);
    assert_ne!(now.trend.series, at(newest, None).0.trend.series, "a series is late after a year and not at once");
}
