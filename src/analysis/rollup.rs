//! Tables of the digest: the newest value of each series, and its judged series week by week and suite by suite.
//!
//! A week begins on Monday (ISO 8601), in UTC, and a run belongs to the week it took place in. The value of a series
//! in a week is the median of its points, without those of commits before one that was measured earlier. Its change is taken
//! against the last week before in which it had a value. Changes over several series are geometric means of ratios. Ratios
//! are turned such that positive is worse, and are compared as differences of natural logarithms: a product of ratios can
//! overflow, the sum of logarithms cannot.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc, Weekday};

use sprag_base::stats::describe;
use sprag_model::{Baseline, Better, LatestRow, PointRun, Series, SeriesAnalysis, WeekRow};

pub(crate) struct Place<'a> {
    pub(crate) suite: &'a str,
    pub(crate) machine: &'a str,
    pub(crate) machine_name: &'a str,
    pub(crate) judged: Vec<&'a SeriesAnalysis>,
    /// The runs that measured something, in commit order.
    pub(crate) runs: Vec<&'a PointRun>,
}

/// Every suite and machine, by suite and machine name.
pub(crate) fn places(series: &[SeriesAnalysis]) -> Vec<Place<'_>> {
    let mut places: BTreeMap<(&str, &str, &str), Place<'_>> = BTreeMap::new();
    for one in series {
        let Series { suite, machine, machine_name, points, .. } = &one.series;
        let place = places.entry((suite, machine_name, machine)).or_insert_with(|| Place {
            suite,
            machine,
            machine_name,
            judged: Vec::new(),
            runs: Vec::new(),
        });
        if one.judged {
            place.judged.push(one);
        }
        place.runs.extend(points.iter().map(|point| &*point.of));
    }
    let mut places: Vec<Place<'_>> = places.into_values().collect();
    for place in &mut places {
        place.runs.sort_by_key(|run| run.rank);
        place.runs.dedup_by_key(|run| run.rank);
    }
    places
}

/// The logarithm of `now / before`, turned such that positive is worse; absent where either is not above zero.
pub(crate) fn log_change(better: Better, before: f64, now: f64) -> Option<f64> {
    let change = now.ln() - before.ln();
    let turned = if better == Better::Higher { 0.0 - change } else { change };
    (before > 0.0 && now > 0.0).then_some(turned)
}

/// The change for the logarithm of a ratio. A ratio beyond the range of `f64` is cut to its end.
pub(crate) fn from_log(log: f64) -> f64 {
    log.exp_m1().min(f64::MAX)
}

/// `now / before - 1`, cut to the range of `f64`; absent where `before` is not above zero.
pub(crate) fn relative(before: f64, now: f64) -> Option<f64> {
    (before > 0.0).then(|| (now / before - 1.0).clamp(f64::MIN, f64::MAX))
}

/// The mean, added up in the order of the values; absent for none.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

pub(crate) fn week(time: DateTime<Utc>) -> NaiveDate {
    time.date_naive().week(Weekday::Mon).first_day()
}

/// A series in one week: the median of its points, and their number.
pub(crate) struct WeekLevel {
    pub(crate) week: NaiveDate,
    pub(crate) value: f64,
    pub(crate) runs: usize,
}

/// The weeks in which a series was measured, by the runs that count by their rank, oldest first.
pub(crate) fn weekly_levels(series: &Series, is_counted: &[bool]) -> Vec<WeekLevel> {
    let mut weeks: BTreeMap<NaiveDate, Vec<f64>> = BTreeMap::new();
    for point in series.points.iter().filter(|point| is_counted[point.rank]) {
        weeks.entry(week(point.time)).or_default().push(point.value);
    }
    let level = |(week, values): (NaiveDate, Vec<f64>)| {
        Some(WeekLevel { week, value: describe::median(&values)?, runs: values.len() })
    };
    weeks.into_iter().filter_map(level).collect()
}

/// By rank whether a run is of a suite on a machine, and its commit does not lie before one that was measured earlier.
pub(crate) fn forward(runs: &[&PointRun]) -> Vec<bool> {
    let mut by_time = runs.to_vec();
    by_time.sort_by_key(|run| run.time);
    let mut newest = None;
    let mut forward = vec![false; runs.iter().map(|run| run.rank + 1).max().unwrap_or(0)];
    for same_time in by_time.chunk_by(|a, b| a.time == b.time) {
        let is_forward = |run: &&&PointRun| run.position.is_none() || run.position >= newest;
        same_time.iter().filter(is_forward).for_each(|run| forward[run.rank] = true);
        newest = same_time.iter().map(|run| run.position).max().flatten().max(newest);
    }
    forward
}

/// The newest value of a series next to the one before it and that of the youngest baseline that has one.
pub fn latest<'b>(series: &Series, baselines: impl IntoIterator<Item = &'b Baseline>) -> Option<LatestRow> {
    let key = Baseline::key(&series.benchmark, &series.metric.name);
    let of_series = |one: &&Baseline| one.suite == series.suite && one.machine_class == series.machine_class;
    let entries = baselines.into_iter().filter(of_series).filter_map(|one| Some((one, one.metrics.get(&key)?)));
    let youngest = entries
        .filter(|(_, entry)| entry.unit == series.metric.unit)
        .max_by_key(|(baseline, _)| (baseline.timestamp_utc, &baseline.run));
    let baseline = youngest.map(|(_, entry)| entry.value);
    let newest = series.newest()?;
    let previous = series.points.len().checked_sub(2).map(|place| series.points[place].value);
    Some(LatestRow {
        current: newest.value,
        previous,
        baseline,
        change_previous: previous.and_then(|previous| relative(previous, newest.value)),
        change_baseline: baseline.and_then(|baseline| relative(baseline, newest.value)),
    })
}

/// Every week in which a suite measured something on a machine: newest first, then by suite and machine name.
pub fn weeks(series: &[SeriesAnalysis]) -> Vec<WeekRow> {
    let mut rows: Vec<WeekRow> = places(series).iter().flat_map(weeks_of_place).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.week));
    rows
}

#[derive(Default)]
struct Week<'a> {
    runs: usize,
    /// Of each judged series with a value its change, where it has one, and its id.
    series: Vec<(Option<f64>, &'a str)>,
}

fn weeks_of_place(place: &Place<'_>) -> Vec<WeekRow> {
    let mut weeks: BTreeMap<NaiveDate, Week<'_>> = BTreeMap::new();
    for run in &place.runs {
        weeks.entry(week(run.time)).or_default().runs += 1;
    }
    let forward = forward(&place.runs);
    for one in &place.judged {
        let mut before = None;
        for level in weekly_levels(&one.series, &forward) {
            let change = before.and_then(|before| log_change(one.series.metric.better, before, level.value));
            weeks.entry(level.week).or_default().series.push((change, &one.series.id));
            before = Some(level.value);
        }
    }
    let row = |(week, Week { runs, series }): (NaiveDate, Week<'_>)| {
        let mut changes: Vec<(f64, &str)> = series.iter().filter_map(|(change, id)| Some(((*change)?, *id))).collect();
        changes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let logs: Vec<f64> = changes.iter().map(|(change, _)| *change).collect();
        WeekRow {
            week,
            suite: place.suite.to_owned(),
            machine: place.machine.to_owned(),
            machine_name: place.machine_name.to_owned(),
            runs,
            series: series.len(),
            compared: changes.len(),
            change: mean(&logs).map(from_log),
            worst: logs.first().copied().map(from_log),
            worst_series: changes.first().map(|(_, id)| (*id).to_owned()),
            best: logs.last().copied().map(from_log),
        }
    };
    weeks.into_iter().map(row).collect()
}

/// Every suite and machine with judged series: how many there are, and the geometric mean of newest / baseline, minus 1. A series
/// enters the mean where both values are above zero.
pub fn averages(series: &[SeriesAnalysis]) -> impl Iterator<Item = (&str, &str, (usize, f64))> {
    places(series).into_iter().filter_map(|place| {
        let log =
            |one: &&SeriesAnalysis| log_change(one.series.metric.better, one.latest.baseline?, one.latest.current);
        let mean = mean(&place.judged.iter().filter_map(log).collect::<Vec<f64>>())?;
        Some((place.suite, place.machine, (place.judged.len(), from_log(mean))))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::frame::fixture::{HOURS_A_WEEK as WEEK, analysed, baseline, close, measurement, run, runs_of, time};
    use sprag_model::{Machine, Unit};

    #[test]
    fn what_is_not_above_zero_has_no_ratio_and_the_range_of_numbers_cuts_one() {
        for (better, before, now, expected) in [
            (Better::Lower, 1.0, 1e30, Some(1e30_f64.ln())),
            (Better::Higher, 1.0, 1e30, Some(-(1e30_f64.ln()))),
            (Better::Lower, 1.0, 1.0, Some(0.0)),
            (Better::Lower, 1.0, 0.0, None),
            (Better::Lower, 1.0, -3.0, None),
            (Better::Lower, -3.0, 1.0, None),
        ] {
            assert!(close(log_change(better, before, now), expected), "{before} {now}");
        }
        assert_eq!([from_log(0.0), from_log(1400.0), from_log(-1400.0)], [0.0, f64::MAX, -1.0]);
        let changes = [(2.0, 3.0), (0.0, 3.0), (-2.0, 3.0), (2.0, -2.0), (1e-300, 1e30), (1e-300, -1e30)];
        let expected = [Some(0.5), None, None, Some(-2.0), Some(f64::MAX), Some(f64::MIN)];
        assert_eq!(changes.map(|(before, now)| relative(before, now)), expected);
    }

    /// The one row of a benchmark with those times, against those baselines.
    fn latest_of(times: &[f64], baselines: &[Baseline]) -> LatestRow {
        let values: Vec<_> = times.iter().zip(0..).map(|(&value, hours)| ("pack", "time", hours, value)).collect();
        latest(&analysed(&runs_of(&values))[0].series, baselines).unwrap()
    }

    #[test]
    fn the_newest_value_is_compared_with_the_one_before() {
        let check = |times: &[f64], previous: Option<f64>, change: Option<f64>| {
            let row = latest_of(times, &[]);
            assert_eq!(row.current, times[times.len() - 1]);
            assert_eq!((row.previous, row.change_previous), (previous, change), "{times:?}");
            assert_eq!((row.baseline, row.change_baseline), (None, None));
        };
        check(&[4.0], None, None);
        check(&[4.0, 5.0], Some(4.0), Some(0.25));
        check(&[9.0, 4.0, 3.0], Some(4.0), Some(-0.25));
        check(&[0.0, 3.0], Some(0.0), None);
        check(&[-1.0, 3.0], Some(-1.0), None);
        check(&[2.0, 0.0], Some(2.0), Some(-1.0));
        check(&[2.0, -2.0], Some(2.0), Some(-2.0));
    }

    #[test]
    fn the_newest_value_is_compared_with_the_youngest_baseline() {
        let check = |baselines: &[Baseline], expected: Option<f64>, change: Option<f64>| {
            let row = latest_of(&[5.0], baselines);
            assert_eq!((row.baseline, row.change_baseline), (expected, change));
        };
        let good = baseline(&[("pack", "time", 4.0), ("scan", "time", 7.0)]);
        check(std::slice::from_ref(&good), Some(4.0), Some(0.25));
        check(&[baseline(&[("pack", "ratio", 4.0)])], None, None);
        check(&[Baseline { suite: "gpu".to_owned(), ..good.clone() }], None, None);
        check(&[Baseline { machine_class: "Xeon".to_owned(), ..good.clone() }], None, None);
        check(&[baseline(&[("pack", "time", 0.0)])], Some(0.0), None);

        let mut other_unit = good.clone();
        other_unit.metrics.values_mut().for_each(|entry| entry.unit = Unit::Byte);
        check(&[other_unit], None, None);

        let younger = Baseline { timestamp_utc: time(1), ..baseline(&[("pack", "time", 10.0)]) };
        check(&[younger.clone(), good.clone()], Some(10.0), Some(-0.5));
        check(&[good, younger], Some(10.0), Some(-0.5));
    }

    fn weeks_of(values: &[(&str, &str, i64, f64)]) -> Vec<WeekRow> {
        weeks(&analysed(&runs_of(values)))
    }

    /// Week; runs, series, compared; change, worst, best.
    type Figures = (&'static str, [usize; 3], [Option<f64>; 3]);

    fn check(values: &[(&str, &str, i64, f64)], expected: &[Figures]) {
        let rows = weeks_of(values);
        assert_eq!(rows.len(), expected.len(), "{rows:?}");
        for (row, (week, counts, changes)) in rows.iter().zip(expected) {
            assert_eq!(row.week.to_string(), *week);
            assert_eq!([row.runs, row.series, row.compared], *counts, "{row:?}");
            let actual = [row.change, row.worst, row.best];
            assert!(
                actual.iter().zip(changes).all(|(actual, expected)| close(*actual, *expected)),
                "{row:?} {changes:?}"
            );
        }
    }

    #[test]
    fn a_week_begins_on_monday() {
        // Sunday 23:00, Monday 00:00, Sunday 23:00.
        check(
            &[("pack", "time", -1, 1.0), ("pack", "time", 0, 2.0), ("pack", "time", WEEK - 1, 4.0)],
            &[("2025-01-06", [2, 1, 1], [Some(2.0); 3]), ("2024-12-30", [1, 1, 0], [None; 3])],
        );
        // The years that a record may name begin with a Thursday and end with a Friday.
        let ends = ["1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"].map(|time| week(time.parse().unwrap()).to_string());
        assert_eq!(ends, ["1969-12-29", "9999-12-27"]);
    }

    #[test]
    fn a_change_is_taken_against_the_last_week_with_a_value() {
        // Medians 2, none, 3 and 1 (of 1, 1, 100); the second week has another benchmark only.
        check(
            &[
                ("pack", "time", 1, 1.0),
                ("pack", "time", 2, 3.0),
                ("scan", "time", WEEK, 5.0),
                ("pack", "time", 2 * WEEK, 3.0),
                ("pack", "time", 3 * WEEK, 1.0),
                ("pack", "time", 3 * WEEK + 1, 1.0),
                ("pack", "time", 3 * WEEK + 2, 100.0),
            ],
            &[
                ("2025-01-27", [3, 1, 1], [Some(-2.0 / 3.0); 3]),
                ("2025-01-20", [1, 1, 1], [Some(0.5); 3]),
                ("2025-01-13", [1, 1, 0], [None; 3]),
                ("2025-01-06", [2, 1, 0], [None; 3]),
            ],
        );
    }

    #[test]
    fn the_mean_is_geometric_and_positive_is_worse() {
        // Time doubles, throughput falls to an eighth: ratios 2 and 8, mean 4.
        let values = [
            ("pack", "time", 1, 1.0),
            ("scan", "tiles_per_s", 1, 8.0),
            ("pack", "time", WEEK, 2.0),
            ("scan", "tiles_per_s", WEEK, 1.0),
        ];
        let first = ("2025-01-06", [2, 2, 0], [None; 3]);
        check(&values, &[("2025-01-13", [2, 2, 2], [Some(3.0), Some(7.0), Some(1.0)]), first]);
        let worst = weeks_of(&values)[0].worst_series.clone().unwrap();
        assert!(worst.starts_with("cpu-scan-fast-tiles-per-s-"), "{worst}");
        assert_eq!(weeks_of(&values)[1].worst_series, None);
        // A tie goes to the smaller id.
        let ties = [("b", "time", 1, 1.0), ("a", "time", 1, 1.0), ("b", "time", WEEK, 2.0), ("a", "time", WEEK, 2.0)];
        assert!(weeks_of(&ties)[0].worst_series.as_deref().unwrap().starts_with("cpu-a-"));
        // Values without a ratio are left out.
        for (before, now) in [(0.0, 1.0), (1.0, -1.0)] {
            let pack = [("pack", "time", 1, before), ("pack", "time", WEEK, now)];
            let scan = [("scan", "time", 1, 1.0), ("scan", "time", WEEK, 3.0)];
            check(&[pack, scan].concat(), &[("2025-01-13", [2, 2, 1], [Some(2.0); 3]), first]);
        }
    }

    #[test]
    fn only_the_judged_metric_counts() {
        // Calibrated from the second week on: the first week has runs, but no judged value.
        let runs = [
            run("1", 1, &[measurement("pack", &[("time", 1.0)])]),
            run("2", WEEK, &[measurement("pack", &[("time", 9.0), ("ratio", 2.0)])]),
            run("3", 2 * WEEK, &[measurement("pack", &[("time", 1.0), ("ratio", 3.0)])]),
        ];
        let rows = weeks(&analysed(&runs));
        let counts: Vec<_> = rows.iter().map(|row| [row.runs, row.series, row.compared]).collect();
        assert_eq!(counts, [[1, 1, 1], [1, 1, 0], [1, 0, 0]]);
        assert!(close(rows[0].change, Some(0.5)), "{rows:?}");
    }

    #[test]
    fn rows_are_sorted_by_week_suite_and_machine_name() {
        let mut runs =
            runs_of(&[("a", "time", WEEK, 1.0), ("a", "time", 1, 1.0), ("a", "time", 2, 1.0), ("a", "time", 3, 1.0)]);
        runs[2].run.machine = Machine::named("b", "EPYC");
        runs[3].run.suite = "abc".to_owned();
        Arc::make_mut(&mut runs[3].run.measurements[0].benchmark).suite = "abc".to_owned();
        let rows = weeks(&analysed(&runs));
        let rows: Vec<String> =
            rows.iter().map(|row| format!("{} {} {}", row.week, row.suite, row.machine_name)).collect();
        assert_eq!(rows, ["2025-01-13 cpu m", "2025-01-06 abc m", "2025-01-06 cpu b", "2025-01-06 cpu m"]);
    }

    #[test]
    fn a_suite_is_rolled_up_over_its_judged_series() {
        // Time 2 against 4 and throughput 1 against 0.125: ratios 0.5 and 0.125, mean 0.25.
        let pack = measurement("pack", &[("time", 2.0), ("bytes", 1.0)]);
        let run = run("2", 30, &[pack, measurement("scan", &[("tiles_per_s", 1.0)])]);
        let mut series = analysed(std::slice::from_ref(&run));
        assert_eq!(averages(&series).next(), None, "there is no baseline");
        let baseline = baseline(&[("pack", "time", 4.0), ("scan", "tiles_per_s", 0.125)]);
        series.iter_mut().for_each(|one| one.latest = latest(&one.series, [&baseline]).unwrap());
        let [(suite, machine, (count, mean))] = averages(&series).collect::<Vec<_>>()[..] else {
            panic!("there is one mean")
        };
        assert_eq!((suite, machine, count), ("cpu", run.run.machine.id.as_str(), 2));
        assert!(close(Some(mean), Some(-0.75)), "{mean}");
    }

    #[test]
    fn a_mean_has_the_same_digits_every_time() {
        // Logarithms of many sizes: each order of adding them up rounds in its own way.
        let names: Vec<String> = (1..40).map(|number| format!("b{number}")).collect();
        let values = |scale: f64| {
            let value = move |number: i32| (scale * 690.0 * f64::from(number).sin()).exp();
            names.iter().zip(1..).map(move |(name, number)| (name.as_str(), value(number)))
        };
        let measured = |scale: f64| -> Vec<_> {
            values(scale).map(|(name, value)| measurement(name, &[("time", value), ("rate", 1.0)])).collect()
        };
        let runs = [run("1", 1, &measured(-0.7)), run("2", WEEK, &measured(1.0))];
        let entries =
            values(-0.3).flat_map(|(name, value)| ["time", "ratio", "rate"].map(|metric| (name, metric, value)));
        let baseline = baseline(&entries.collect::<Vec<_>>());
        let figures = || {
            let mut series = analysed(&runs);
            series.iter_mut().for_each(|one| one.latest = latest(&one.series, [&baseline]).unwrap());
            (averages(&series).map(|(_, _, mean)| mean).collect::<Vec<_>>(), weeks(&series))
        };
        let first = figures();
        assert_eq!(first.0.len(), 1);
        for _ in 0..10 {
            assert_eq!(figures(), first);
        }
    }

    #[test]
    fn no_series_give_no_rows() {
        assert_eq!((averages(&[]).count(), weeks(&[])), (0, Vec::new()));
    }
}
