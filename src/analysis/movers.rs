//! What moved lately: judged series in the newest window of days against the window before, week by week, and suites by
//! element type; and how noisy suites are.
//!
//! The newest window ends with the newest run of the suite on its machine, that run included, and begins so many days before
//! it, that moment excluded; the window before has the same length and ends there. A run whose commit lies before one that
//! was measured earlier describes the past, and belongs to neither. The level of a series in a window is the median of its
//! points. Changes are turned such that positive is worse: `now / before - 1`, and `before / now - 1` where larger values
//! are better.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::SQRT_2;

use chrono::NaiveDate;

use crate::rollup::{Place, forward, from_log, log_change, mean, places, relative, week, weekly_levels};
use sprag_base::stats::describe::{self, OF_NORMAL};
use sprag_base::stats::student;
use sprag_model::{Better, GeomeanRow, MoverRow, Series, SeriesAnalysis, SuiteNoiseRow, WeekMovers};

const DAY_SECONDS: i64 = 24 * 60 * 60;

const FEWEST_SERIES: usize = 3;

/// A series with a level before and a level now.
struct Moved<'a> {
    series: &'a Series,
    before: f64,
    now: f64,
    runs_before: usize,
    runs_now: usize,
}

impl Moved<'_> {
    fn log_change(&self) -> Option<f64> {
        log_change(self.series.metric.better, self.before, self.now)
    }

    /// What it is now less what it was, turned.
    fn worsening(&self) -> f64 {
        let difference = self.now - self.before;
        if self.series.metric.better == Better::Higher { 0.0 - difference } else { difference }
    }
}

/// The judged series with values in the two newest windows of `days` days, the worst relative change first, those without last.
pub fn movers(series: &[SeriesAnalysis], days: u32) -> Vec<MoverRow> {
    rows(places(series).iter().flat_map(|place| moved(place, days)).collect())
}

/// The newest so many weeks in which something was measured, as far as something moved in them, newest first: each judged
/// series against the last week before in which it had a value. Later runs change nothing about a week, except which metric
/// of a benchmark is judged.
pub fn week_movers(series: &[SeriesAnalysis], most: usize) -> Vec<WeekMovers> {
    let points = series.iter().flat_map(|one| &one.series.points);
    let weeks: BTreeSet<NaiveDate> = points.map(|point| week(point.time)).collect();
    let mut moved: BTreeMap<NaiveDate, Vec<Moved<'_>>> =
        weeks.into_iter().rev().take(most).map(|week| (week, Vec::new())).collect();
    for place in places(series) {
        let forward = forward(&place.runs);
        for one in place.judged {
            for pair in weekly_levels(&one.series, &forward).windows(2) {
                let [before, now] = pair else { continue };
                if let Some(moved) = moved.get_mut(&now.week) {
                    moved.push(Moved {
                        series: &one.series,
                        before: before.value,
                        now: now.value,
                        runs_before: before.runs,
                        runs_now: now.runs,
                    });
                }
            }
        }
    }
    let of_week = |(week, moved): (NaiveDate, Vec<_>)| WeekMovers { week, movers: rows(moved) };
    moved.into_iter().rev().filter(|(_, moved)| !moved.is_empty()).map(of_week).collect()
}

/// Every suite, machine and element type with a judged series that has a change from the window of `days` days before to the
/// newest: by suite, machine name and element type, where none is the first.
///
/// The interval of the geometric mean is that of Student's t over the series: it says how far the mean would hold for other
/// series of the same kind, and not how noisy single series are.
pub fn geomeans(series: &[SeriesAnalysis], days: u32) -> Vec<GeomeanRow> {
    let mut rows = Vec::new();
    for place in places(series) {
        let mut changes: BTreeMap<Option<&str>, Vec<(f64, &str)>> = BTreeMap::new();
        for one in moved(&place, days) {
            if let Some(change) = one.log_change() {
                changes.entry(element_type(&one.series.params)).or_default().push((change, &one.series.id));
            }
        }
        for (dtype, mut changes) in changes {
            changes.sort_by(|a, b| b.0.total_cmp(&a.0));
            let logs: Vec<f64> = changes.iter().map(|(change, _)| *change).collect();
            let (count, middle) = (logs.len(), mean(&logs).unwrap_or_default());
            let variance = describe::sample_variance(&logs).filter(|_| count >= FEWEST_SERIES);
            let half =
                variance.map(|variance| student::two_sided_95(count - 1) * variance.sqrt() / (count as f64).sqrt());
            rows.push(GeomeanRow {
                suite: place.suite.to_owned(),
                machine: place.machine.to_owned(),
                machine_name: place.machine_name.to_owned(),
                dtype: dtype.map(str::to_owned),
                series: count,
                change: from_log(middle),
                interval: half.map(|half| (from_log(middle - half), from_log(middle + half))),
                worst: from_log(changes[0].0),
                worst_series: changes[0].1.to_owned(),
            });
        }
    }
    rows
}

/// How noisy the judged series of every suite and machine are, by suite and machine name.
///
/// Both figures are robust standard deviations as shares of a level. Between the workers of a run it is the scaled median
/// distance from their median, over that median; of a series the median over its runs. From run to run it is the scaled
/// median of what successive values differ by, over the root of two, since a difference has the variance of both its ends,
/// and over the median of all values: so a step counts once, and a slow drift hardly.
pub fn suite_noise(series: &[SeriesAnalysis]) -> Vec<SuiteNoiseRow> {
    let row = |place: Place<'_>| {
        let spreads = |spread: fn(&Series) -> Option<f64>| -> Vec<f64> {
            place.judged.iter().filter_map(|one| spread(&one.series)).collect()
        };
        let (workers, runs) = (spreads(between_workers), spreads(between_runs));
        SuiteNoiseRow {
            suite: place.suite.to_owned(),
            machine: place.machine.to_owned(),
            machine_name: place.machine_name.to_owned(),
            series: place.judged.len(),
            between_workers_median: describe::median(&workers),
            between_workers_p90: describe::quantile(&workers, 0.9),
            between_runs_median: describe::median(&runs),
            between_runs_p90: describe::quantile(&runs, 0.9),
        }
    };
    places(series).into_iter().filter(|place| !place.judged.is_empty()).map(row).collect()
}

/// The judged series of a place with a value in both windows, by id.
fn moved<'a>(place: &Place<'a>, days: u32) -> Vec<Moved<'a>> {
    let forward = forward(&place.runs);
    let times = place.runs.iter().filter(|run| forward[run.rank]).map(|run| run.time);
    let Some(end) = times.max() else { return Vec::new() };
    let length = i64::from(days) * DAY_SECONDS;
    let levels = |one: &&'a SeriesAnalysis| {
        let (mut before, mut now) = (Vec::new(), Vec::new());
        for point in one.series.points.iter().filter(|point| forward[point.rank]) {
            let age = (end - point.time).num_seconds();
            if age < length {
                now.push(point.value);
            } else if age < 2 * length {
                before.push(point.value);
            }
        }
        Some(Moved {
            series: &one.series,
            before: describe::median(&before)?,
            now: describe::median(&now)?,
            runs_before: before.len(),
            runs_now: now.len(),
        })
    };
    place.judged.iter().filter_map(levels).collect()
}

/// The rows of these series, worst first, ranked by difference within their unit.
fn rows(mut moved: Vec<Moved<'_>>) -> Vec<MoverRow> {
    moved.sort_by(|a, b| a.series.id.cmp(&b.series.id));
    let mut by_difference: Vec<usize> = (0..moved.len()).collect();
    by_difference.sort_by(|&a, &b| moved[b].worsening().total_cmp(&moved[a].worsening()));
    let mut ranks = vec![0; moved.len()];
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for place in by_difference {
        let count = counts.entry(moved[place].series.metric.unit.symbol()).or_default();
        *count += 1;
        ranks[place] = *count;
    }
    let size = |one: &Moved<'_>| one.log_change().unwrap_or(f64::NEG_INFINITY);
    let mut ranked: Vec<(Moved<'_>, usize)> = moved.into_iter().zip(ranks).collect();
    ranked.sort_by(|(a, _), (b, _)| size(b).total_cmp(&size(a)));
    let row = |(one, rank_in_unit): (Moved<'_>, usize)| MoverRow {
        series: one.series.id.clone(),
        suite: one.series.suite.clone(),
        machine: one.series.machine.clone(),
        unit: one.series.metric.unit,
        before: one.before,
        now: one.now,
        runs_before: one.runs_before,
        runs_now: one.runs_now,
        change: relative(one.before, one.now),
        worse: one.log_change().map(from_log),
        difference: one.now - one.before,
        rank_in_unit,
    };
    ranked.into_iter().map(row).collect()
}

/// The value of the parameter `dtype` in a written list of parameters, whose keys and values hold no reserved character.
fn element_type(params: &str) -> Option<&str> {
    params.trim_matches(['{', '}']).split(',').find_map(|param| param.strip_prefix("dtype="))
}

fn between_workers(series: &Series) -> Option<f64> {
    let runs = series.points.iter().filter(|point| point.workers.len() > 1);
    let spread = |workers: &[f64]| share(describe::median_deviation(workers)?, describe::median(workers)?, OF_NORMAL);
    describe::median(&runs.filter_map(|point| spread(&point.workers)).collect::<Vec<f64>>())
}

fn between_runs(series: &Series) -> Option<f64> {
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    share(describe::median(&steps)?, describe::median(&values)?, OF_NORMAL / SQRT_2)
}

/// A spread as a share of a level, so many times as large, cut to the largest number; absent where the level is zero.
fn share(spread: f64, level: f64, times: f64) -> Option<f64> {
    (level != 0.0).then(|| (spread / level.abs() * times).min(f64::MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::frame::fixture::{
        HOURS_A_WEEK as WEEK, analysed, analysed_along, close, line, measurement, run, run_of, runs_of,
    };
    use sprag_model::RecordedRun;

    /// The benchmark's name; before and now; runs before and now; change, worse; difference; rank.
    type Figures = (&'static str, [f64; 2], [usize; 2], [Option<f64>; 2], f64, usize);

    fn check(values: &[(&str, &str, i64, f64)], expected: &[Figures]) {
        let rows = movers(&analysed(&runs_of(values)), 7);
        assert_eq!(rows.len(), expected.len(), "{rows:?}");
        for (row, (name, levels, runs, changes, difference, rank)) in rows.iter().zip(expected) {
            assert!(row.series.starts_with(&format!("cpu-{name}-")), "{row:?}");
            assert_eq!(([row.before, row.now], [row.runs_before, row.runs_now]), (*levels, *runs), "{row:?}");
            assert!(close(row.change, changes[0]) && close(row.worse, changes[1]), "{row:?}");
            assert_eq!((row.difference, row.rank_in_unit), (*difference, *rank), "{row:?}");
        }
    }

    #[test]
    fn windows_end_with_the_newest_run_of_the_suite() {
        // The newest run is of another benchmark, at two weeks: the windows are (1, 2] and (0, 1].
        let end = ("scan", "time", 2 * WEEK, 1.0);
        check(
            &[
                ("pack", "time", 0, 100.0),
                ("pack", "time", 1, 1.0),
                ("pack", "time", WEEK - 1, 3.0),
                ("pack", "time", WEEK, 8.0),
                ("pack", "time", WEEK + 1, 6.0),
                ("pack", "time", 2 * WEEK - 1, 3.0),
                end,
            ],
            &[("pack", [3.0, 4.5], [3, 2], [Some(0.5); 2], 1.5, 1)],
        );
        // No value on one of the sides: no row.
        check(&[("pack", "time", WEEK - 1, 1.0), end], &[]);
        check(&[("pack", "time", 2 * WEEK, 1.0)], &[]);
        check(&[("pack", "time", -1, 1.0), ("pack", "time", 2 * WEEK, 1.0)], &[]);
        let series = analysed(&runs_of(&[("pack", "time", 0, 2.0), ("pack", "time", 24, 3.0)]));
        assert_eq!([0, 1, 2, u32::MAX].map(|days| movers(&series, days).len()), [0, 1, 0, 0]);
    }

    #[test]
    fn a_run_of_an_old_commit_tells_of_the_past() {
        let measured = |id: &str, commit: &str, hours: i64, value: f64| {
            let mut run = run_of(id, commit, hours, hours);
            run.run.measurements = vec![measurement("pack", &[("time", value)])];
            run
        };
        let line = line(&[("a", 0), ("b", 1), ("c", 2)]);
        let forward = [measured("1", "a", 0, 2.0), measured("2", "b", WEEK, 2.0), measured("3", "c", WEEK + 1, 3.0)];
        // Measured last, and in between: neither moves the end of a window or its level.
        let back = [measured("4", "a", WEEK + 2, 100.0), measured("5", "b", 3 * WEEK, 100.0)];
        let rows = |runs: &[RecordedRun]| movers(&analysed_along(runs, &line), 7);
        let expected = rows(&forward);
        assert_eq!((expected.len(), expected[0].before, expected[0].now), (1, 2.0, 2.5));
        let all = [&forward[..], &back[..]].concat();
        assert_eq!(rows(&all), expected);
        let weeks = |runs: &[RecordedRun]| week_movers(&analysed_along(runs, &line), 7);
        assert_eq!((weeks(&all), weeks(&all).len()), (weeks(&forward), 1));
    }

    #[test]
    fn the_worst_come_first_and_differences_rank_within_their_unit() {
        // Of times: +50 % of 2, +10 % of 100, a third of 9 less. Of throughputs: 8 to 2, which is four times worse.
        let values = |week: i64, a: f64, b: f64, c: f64, d: f64| {
            [("a", "time", week, a), ("b", "time", week, b), ("c", "time", week, c), ("d", "tiles_per_s", week, d)]
        };
        check(
            &[values(0, 2.0, 100.0, 9.0, 8.0), values(WEEK, 3.0, 110.0, 6.0, 2.0)].concat(),
            &[
                ("d", [8.0, 2.0], [1, 1], [Some(-0.75), Some(3.0)], -6.0, 1),
                ("a", [2.0, 3.0], [1, 1], [Some(0.5), Some(0.5)], 1.0, 2),
                ("b", [100.0, 110.0], [1, 1], [Some(0.1), Some(0.1)], 10.0, 1),
                ("c", [9.0, 6.0], [1, 1], [Some(-1.0 / 3.0), Some(-1.0 / 3.0)], -3.0, 3),
            ],
        );
        // Ties go to the smaller id.
        check(
            &[("b", "time", 0, 1.0), ("a", "time", 0, 1.0), ("b", "time", WEEK, 2.0), ("a", "time", WEEK, 2.0)],
            &[("a", [1.0, 2.0], [1, 1], [Some(1.0); 2], 1.0, 1), ("b", [1.0, 2.0], [1, 1], [Some(1.0); 2], 1.0, 2)],
        );
        // What has no ratio comes last.
        let values = |week: i64, [a, b, c, d]: [f64; 4]| {
            [("a", "time", week, a), ("b", "time", week, b), ("c", "time", week, c), ("d", "time", week, d)]
        };
        check(
            &[values(0, [0.0, 4.0, 4.0, 4.0]), values(WEEK, [1.0, 0.0, -2.0, 3.0])].concat(),
            &[
                ("d", [4.0, 3.0], [1, 1], [Some(-0.25); 2], -1.0, 2),
                ("a", [0.0, 1.0], [1, 1], [None; 2], 1.0, 1),
                ("b", [4.0, 0.0], [1, 1], [Some(-1.0), None], -4.0, 3),
                ("c", [4.0, -2.0], [1, 1], [Some(-1.5), None], -6.0, 4),
            ],
        );
    }

    fn week_movers_of(values: &[(&str, i64, f64)], most: usize) -> Vec<WeekMovers> {
        let values: Vec<_> = values.iter().map(|&(name, hours, value)| (name, "time", hours, value)).collect();
        week_movers(&analysed(&runs_of(&values)), most)
    }

    #[test]
    fn a_week_is_compared_with_the_last_one_with_a_value() {
        // The second week has another benchmark only; medians of the third: 3 of (1, 3, 4), and 5.
        let values = [
            ("pack", 1, 2.0),
            ("scan", WEEK, 8.0),
            ("pack", 2 * WEEK, 1.0),
            ("pack", 2 * WEEK + 1, 3.0),
            ("pack", 2 * WEEK + 2, 4.0),
            ("scan", 2 * WEEK, 5.0),
            ("scan", 3 * WEEK, 5.0),
        ];
        let weeks = week_movers_of(&values, 9);
        let rows: Vec<String> = weeks
            .iter()
            .flat_map(|week| week.movers.iter().map(move |row| (week.week, row)))
            .map(|(week, row)| {
                let MoverRow { series, before, now, runs_before, runs_now, difference, rank_in_unit, .. } = row;
                format!("{week} {} {before} {now} {runs_before} {runs_now} {difference} {rank_in_unit}", &series[4..8])
            })
            .collect();
        let expected = ["2025-01-27 scan 5 5 1 1 0 1", "2025-01-20 pack 2 3 1 3 1 1", "2025-01-20 scan 8 5 1 1 -3 2"];
        assert_eq!(rows, expected);
        assert_eq!(week_movers_of(&values, 1).len(), 1);
        assert_eq!((week_movers_of(&values, 0).len(), week_movers_of(&values[..1], 3).len()), (0, 0));
    }

    #[test]
    fn later_runs_change_nothing_about_a_week() {
        let values: Vec<(&str, i64, f64)> =
            (0..40).map(|i| (["pack", "scan"][i % 2], 40 * i as i64, 1.0 + (i * 7 % 11) as f64)).collect();
        let all = week_movers_of(&values, 9);
        let early: Vec<_> = values.iter().copied().filter(|(_, hours, _)| *hours < 6 * WEEK).collect();
        let early = week_movers_of(&early, 9);
        assert!(early.len() > 3 && all.ends_with(&early), "{all:?} {early:?}");
    }

    /// Name, parameters, metric, value before and value now.
    type Given<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, f64, f64);

    /// Of two runs a day apart.
    fn geomeans_of(benchmarks: &[Given<'_>]) -> Vec<GeomeanRow> {
        let runs = [0, 1].map(|day: u8| {
            let measurements = benchmarks.iter().map(|&(name, params, metric, before, now)| {
                let mut measurement = measurement(name, &[(metric, if day == 0 { before } else { now })]);
                let params = params.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
                Arc::make_mut(&mut measurement.benchmark).params = params.collect();
                measurement
            });
            run(&day.to_string(), 24 * i64::from(day), &measurements.collect::<Vec<_>>())
        });
        geomeans(&analysed(&runs), 1)
    }

    #[test]
    fn series_are_put_together_by_their_element_type() {
        let rows = geomeans_of(&[
            ("a", &[("dtype", "f32"), ("n", "8")], "time", 1.0, 2.0),
            ("b", &[("c", "8"), ("dtype", "f32"), ("n", "8")], "tiles_per_s", 8.0, 1.0),
            ("c", &[("c", "1"), ("dtype", "bf16")], "time", 4.0, 1.0),
            ("d", &[], "time", 1.0, 3.0),
            ("e", &[("old-dtype", "f32"), ("dtypes", "f32"), ("x", "dtype")], "time", 1.0, 3.0),
            ("f", &[("dtype", "f64")], "time", 0.0, 3.0),
        ]);
        let actual: Vec<_> = rows.iter().map(|row| (row.dtype.as_deref(), row.series)).collect();
        assert_eq!(actual, [(None, 2), (Some("bf16"), 1), (Some("f32"), 2)]);
        // Ratios of 2 and 8 have the mean 4; two series do not show how series differ.
        for (row, [change, worst]) in rows.iter().zip([[2.0, 2.0], [-0.75, -0.75], [3.0, 7.0]]) {
            assert!(close(Some(row.change), Some(change)) && close(Some(row.worst), Some(worst)), "{row:?}");
            assert_eq!((row.suite.as_str(), row.machine_name.as_str(), row.interval), ("cpu", "m", None));
        }
        let worst = rows.iter().map(|row| row.worst_series.as_str());
        let begin = ["cpu-d-fast-time-", "cpu-c-", "cpu-b-"];
        assert!(worst.clone().zip(begin).all(|(id, begin)| id.starts_with(begin)), "{:?}", worst.collect::<Vec<_>>());
        // A metric without a value before, or without a ratio, has no row.
        assert_eq!(geomeans(&analysed(&[run("1", 1, &[measurement("a", &[("time", 1.0)])])]), 7), []);
        assert_eq!(geomeans_of(&[("a", &[], "time", 0.0, 1.0), ("b", &[], "time", 1.0, -1.0)]), []);
    }

    #[test]
    fn three_series_have_an_interval() {
        // Logarithms of ratios -ln 2, 0 and ln 2: the mean is 0, the deviation ln 2, and t of two degrees of freedom
        // 4.302653 (Student 1908; any table), so the ends are 2 to the power of 4.302653 over the root of three.
        let rows =
            geomeans_of(&[("a", &[], "time", 2.0, 1.0), ("b", &[], "time", 1.0, 1.0), ("c", &[], "time", 1.0, 2.0)]);
        let end = 2.0_f64.powf(4.302_652_729_749_464 / 3.0_f64.sqrt());
        let (low, high) = rows[0].interval.unwrap();
        assert!(close(Some(rows[0].change), Some(0.0)), "{rows:?}");
        assert!(close(Some(low), Some(1.0 / end - 1.0)) && close(Some(high), Some(end - 1.0)), "{rows:?} {end}");
        // Series that moved alike leave nothing open.
        let rows = geomeans_of(&["a", "b", "c"].map(|name| (name, [].as_slice(), "time", 1.0, 2.0)));
        let (low, high) = rows[0].interval.unwrap();
        assert!(close(Some(low), Some(1.0)) && close(Some(high), Some(1.0)), "{rows:?}");
    }

    /// The value and the workers of a run.
    type Measured<'a> = (f64, &'a [f64]);

    /// Of a run an hour of the benchmarks given as name and runs.
    fn noise_of(benchmarks: &[(&str, &[Measured<'_>])]) -> SuiteNoiseRow {
        let most = benchmarks.iter().map(|(_, runs)| runs.len()).max().unwrap_or(0);
        let runs = (0..most).map(|hour| {
            let measured = benchmarks.iter().filter_map(|(name, runs)| {
                let (value, workers) = runs.get(hour)?;
                let mut measurement = measurement(name, &[("time", *value)]);
                measurement.estimates[0].workers = workers.to_vec();
                Some(measurement)
            });
            run(&format!("r{hour}"), hour as i64, &measured.collect::<Vec<_>>())
        });
        let rows = suite_noise(&analysed(&runs.collect::<Vec<RecordedRun>>()));
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.into_iter().next().unwrap()
    }

    fn check_noise(runs: &[Measured<'_>], between_workers: Option<f64>, between_runs: Option<f64>) {
        let row = noise_of(&[("pack", runs)]);
        assert_eq!((row.suite.as_str(), row.series), ("cpu", 1));
        for (actual, expected) in [
            (row.between_workers_median, between_workers),
            (row.between_workers_p90, between_workers),
            (row.between_runs_median, between_runs),
            (row.between_runs_p90, between_runs),
        ] {
            assert!(close(actual, expected), "{row:?} {expected:?}");
        }
    }

    /// So many median distances from the median, as a standard deviation of normal values.
    fn scaled(distance: f64) -> Option<f64> {
        Some(1.482_602_218_505_602 * distance)
    }

    #[test]
    fn workers_differ_within_a_run() {
        // Distances from 10: 1, 0, 2; their median is 1 of 10.
        check_noise(&[(10.0, &[9.0, 10.0, 12.0])], scaled(0.1), None);
        // Two workers: distances 1 and 1 from 9.
        check_noise(&[(9.0, &[8.0, 10.0])], scaled(1.0 / 9.0), None);
        // Shares of 0.1 and 0.3, and runs of one worker and of none, which show nothing: the median is 0.2.
        let runs: [Measured<'_>; 4] =
            [(10.0, &[9.0, 10.0, 11.0]), (10.0, &[7.0, 10.0, 13.0]), (10.0, &[10.0]), (10.0, &[])];
        check_noise(&runs, scaled(0.2), Some(0.0));
        check_noise(&[(10.0, &[10.0]), (10.0, &[])], None, Some(0.0));
        check_noise(&[(0.0, &[0.0, 0.0]), (0.0, &[])], None, None);
    }

    #[test]
    fn runs_differ_from_one_to_the_next() {
        let check = |values: &[f64], expected: Option<f64>| {
            check_noise(&values.iter().map(|&value| (value, [].as_slice())).collect::<Vec<_>>(), None, expected);
        };
        check(&[3.0], None);
        // Differences of 2, 1 and 3 of the level 10.
        check(&[10.0, 12.0, 11.0, 8.0], scaled(2.0 / 10.5 / SQRT_2));
        check(&[10.0, 12.0, 11.0, 8.0, 10.0], scaled(2.0 / 10.0 / SQRT_2));
        // A step counts once.
        check(&[1.0, 1.0, 1.0, 1.0, 9.0, 9.0], Some(0.0));
        // A level below zero has a size; zero has none.
        check(&[-4.0, -2.0, -3.0], scaled(1.5 / 3.0 / SQRT_2));
        check(&[0.0, 0.0, 1.0], None);
    }

    #[test]
    fn a_suite_has_the_middle_and_the_worst_tenth_of_its_series() {
        // Shares of 0, 0.1, 0.2 and, of no workers, none: the median is 0.1, and the 90th percentile 0.18.
        let row = noise_of(&[
            ("a", &[(10.0, &[10.0, 10.0, 10.0])]),
            ("b", &[(10.0, &[9.0, 10.0, 11.0])]),
            ("c", &[(10.0, &[8.0, 10.0, 12.0])]),
            ("d", &[(10.0, &[])]),
        ]);
        assert_eq!((row.suite.as_str(), row.machine_name.as_str(), row.series), ("cpu", "m", 4));
        assert!(close(row.between_workers_median, scaled(0.1)), "{row:?}");
        assert!(close(row.between_workers_p90, scaled(0.18)), "{row:?}");
        assert_eq!((row.between_runs_median, row.between_runs_p90), (None, None));
    }
}
