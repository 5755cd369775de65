//! The judged series week by week.
//!
//! A week begins on Monday (ISO 8601), in UTC, and a run belongs to the week it took place in. The value of a series
//! in a week is the median of its points; its change is taken against the last week before in which it had a value.
//! A change is a ratio turned such that positive is worse: `now / before - 1`, and `before / now - 1` where larger
//! values are better. It is absent where either median is not above zero. The weeks of a suite on a machine are
//! rolled up by the geometric mean of the ratios.

use polars::prelude::*;

use super::cells::{Cells, FrameError};
use super::change::{add_up_in_order, from_log, log_of, median_of, worse};
use super::table::Frame;
use sprag_model::rollup::WeekRow;

impl Frame {
    /// Every week in which a suite measured something on a machine: newest first, then by suite and machine name.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn weeks(&self) -> Result<Vec<WeekRow>, FrameError> {
        let group = ["week", "suite", "machine"].map(col);
        let runs = self
            .runs
            .clone()
            .lazy()
            .with_column(week())
            .group_by_stable(&group)
            .agg([col("machine_name").first(), len().alias("runs")]);
        let weeks = add_up_in_order(self.weekly_changes()?)?
            .group_by_stable(&group)
            .agg([
                len().alias("n_series"),
                col("change").count().alias("compared"),
                col("change").mean().alias("mean"),
                col("change").first().alias("worst"),
                col("series_id").first().alias("worst_series"),
                col("change").min().alias("best"),
            ])
            .with_column(when(col("worst").is_not_null()).then(col("worst_series")).otherwise(lit(NULL)));
        let rows = runs
            .join(weeks, &group, &group, JoinArgs::new(JoinType::Left))
            .with_columns([col("n_series").fill_null(lit(0)), col("compared").fill_null(lit(0))])
            .sort(
                ["week", "suite", "machine_name", "machine"],
                SortMultipleOptions::default().with_order_descending_multi([true, false, false, false]),
            )
            .collect()?;
        read(&rows)
    }

    /// One row a judged series and week, by series and week: its median `now`, and the number of `runs_now` behind it.
    pub(super) fn weekly_medians(&self) -> Result<LazyFrame, FrameError> {
        let weeks = self.runs.clone().lazy().select([week()]).collect()?;
        let mut rows = self.values.select(["series", "value", "judged"])?;
        rows.with_column(weeks.column("week")?.take(self.values.column("run")?.u32()?)?)?;
        Ok(rows
            .lazy()
            .filter(col("judged"))
            .group_by_stable([col("series"), col("week")])
            .agg([median_of(col("value")).alias("now"), len().alias("runs_now")])
            .sort(["series", "week"], SortMultipleOptions::default()))
    }

    /// One row a judged series and week, with the logarithm of its change: the worst first, then by series.
    fn weekly_changes(&self) -> Result<LazyFrame, FrameError> {
        let medians = self.weekly_medians()?.with_column(log_of("now").alias("log"));
        let before = col("log").shift(lit(1)).over([col("series")])?;
        Ok(medians
            .with_column((col("log") - before).alias("difference"))
            .inner_join(self.series.clone().lazy(), col("series"), col("series"))
            .select([
                col("week"),
                col("suite"),
                col("machine"),
                col("series"),
                col("series_id"),
                worse(col("difference")).alias("change"),
            ])
            .sort(
                ["change", "series"],
                SortMultipleOptions::default()
                    .with_order_descending_multi([true, false])
                    .with_nulls_last_multi([true, true]),
            ))
    }
}

/// The Monday before or at the time of the run.
pub(super) fn week() -> Expr {
    col("run_time").dt().truncate(lit("1w")).cast(DataType::Date).alias("week")
}

fn read(rows: &DataFrame) -> Result<Vec<WeekRow>, FrameError> {
    let cells = Cells(rows);
    let weeks = cells.dates("week")?;
    let suites = cells.texts("suite")?;
    let machines = cells.texts("machine")?;
    let machine_names = cells.texts("machine_name")?;
    let runs = cells.counts("runs")?;
    let series = cells.counts("n_series")?;
    let compared = cells.counts("compared")?;
    let means = cells.optional_numbers("mean")?;
    let worst = cells.optional_numbers("worst")?;
    let worst_series = cells.optional_texts("worst_series")?;
    let best = cells.optional_numbers("best")?;
    let rows = (0..weeks.len()).map(|row| WeekRow {
        week: weeks[row],
        suite: suites[row].to_owned(),
        machine: machines[row].to_owned(),
        machine_name: machine_names[row].to_owned(),
        runs: runs[row],
        series: series[row],
        compared: compared[row],
        change: from_log(means[row]),
        worst: from_log(worst[row]),
        worst_series: worst_series[row].map(str::to_owned),
        best: from_log(best[row]),
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fixture::{close, measurement, run};
    use sprag_model::commit::CommitLine;
    use sprag_model::run::RecordedRun;

    /// One run a benchmark and value: benchmark, metric, hours after a Monday, value.
    fn runs(values: &[(&str, &str, i64, f64)]) -> Vec<RecordedRun> {
        let runs = values.iter().enumerate().map(|(number, &(name, metric, hours, value))| {
            run(&format!("r{number}"), hours, &[measurement(name, &[(metric, value)])])
        });
        runs.collect()
    }

    fn weeks(values: &[(&str, &str, i64, f64)]) -> Vec<WeekRow> {
        Frame::from_runs(&runs(values), &CommitLine::default()).unwrap().weeks().unwrap()
    }

    /// Week; runs, series, compared; change, worst, best.
    type Figures = (&'static str, [usize; 3], [Option<f64>; 3]);

    fn check(values: &[(&str, &str, i64, f64)], expected: &[Figures]) {
        let rows = weeks(values);
        assert_eq!(rows.len(), expected.len(), "{rows:?}");
        for (row, (week, counts, changes)) in rows.iter().zip(expected) {
            assert_eq!(row.week.to_string(), *week);
            assert_eq!([row.runs, row.series, row.compared], *counts, "{row:?}");
            let found = [row.change, row.worst, row.best];
            assert!(found.iter().zip(changes).all(|(found, expected)| close(*found, *expected)), "{row:?} {changes:?}");
        }
    }

    const WEEK: i64 = 7 * 24;

    #[test]
    fn a_week_begins_on_monday() {
        // Sunday 23:00, Monday 00:00, Sunday 23:00.
        check(
            &[("pack", "time", -1, 1.0), ("pack", "time", 0, 2.0), ("pack", "time", WEEK - 1, 4.0)],
            &[("2025-01-06", [2, 1, 1], [Some(2.0); 3]), ("2024-12-30", [1, 1, 0], [None; 3])],
        );
    }

    #[test]
    fn the_first_and_the_last_day_of_a_record_have_a_week() {
        // The years that a record may bear begin with a Thursday and end with a Friday.
        let mut runs = runs(&[("pack", "time", 0, 1.0), ("pack", "time", 0, 2.0)]);
        runs[0].run.timestamp = "1970-01-01T00:00:00Z".parse().unwrap();
        runs[1].run.timestamp = "9999-12-31T23:59:59Z".parse().unwrap();
        let rows = Frame::from_runs(&runs, &CommitLine::default()).unwrap().weeks().unwrap();
        let found: Vec<String> = rows.iter().map(|row| row.week.to_string()).collect();
        assert_eq!(found, ["9999-12-27", "1969-12-29"]);
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
        let worst = weeks(&values)[0].worst_series.clone().unwrap();
        assert!(worst.starts_with("cpu-scan-fast-tiles-per-s-"), "{worst}");
        assert_eq!(weeks(&values)[1].worst_series, None);
        // A tie goes to the smaller id.
        let tied =
            weeks(&[("b", "time", 1, 1.0), ("a", "time", 1, 1.0), ("b", "time", WEEK, 2.0), ("a", "time", WEEK, 2.0)]);
        assert!(tied[0].worst_series.as_deref().unwrap().starts_with("cpu-a-"), "{tied:?}");
    }

    #[test]
    fn values_that_have_no_ratio_are_left_out() {
        let first = ("2025-01-06", [2, 2, 0], [None; 3]);
        let of = |before: f64, now: f64| {
            [
                ("pack", "time", 1, before),
                ("scan", "time", 1, 1.0),
                ("pack", "time", WEEK, now),
                ("scan", "time", WEEK, 3.0),
            ]
        };
        check(&of(0.0, 1.0), &[("2025-01-13", [2, 2, 1], [Some(2.0); 3]), first]);
        check(&of(1.0, -1.0), &[("2025-01-13", [2, 2, 1], [Some(2.0); 3]), first]);
    }

    #[test]
    fn figures_survive_the_whole_range() {
        // Ratios 1e300, 1e300 and 1e-300: their product overflows, their mean is 1e100.
        let first = ("2025-01-06", [3, 3, 0], [None; 3]);
        let of = |a: f64, b: f64, c: f64| {
            let then = ["a", "b", "c"].map(|name| (name, "time", 1, 1e-150 / if name == "c" { 1e-300 } else { 1.0 }));
            let now = [("a", "time", WEEK, a), ("b", "time", WEEK, b), ("c", "time", WEEK, c)];
            [then, now].concat()
        };
        let changes = [Some(1e100), Some(1e300), Some(-1.0)];
        check(&of(1e150, 1e150, 1e-150), &[("2025-01-13", [3, 3, 3], changes), first]);
        // A ratio beyond the range is cut to its end.
        let beyond = weeks(&[("a", "time", 1, 1e-300), ("a", "time", WEEK, 1e300)]);
        assert_eq!((beyond[0].change, beyond[0].worst), (Some(f64::MAX), Some(f64::MAX)));
    }

    #[test]
    fn only_the_judged_metric_counts() {
        // Calibrated from the second week on: the first week has runs, but no judged value.
        let runs = [
            run("1", 1, &[measurement("pack", &[("time", 1.0)])]),
            run("2", WEEK, &[measurement("pack", &[("time", 9.0), ("ratio", 2.0)])]),
            run("3", 2 * WEEK, &[measurement("pack", &[("time", 1.0), ("ratio", 3.0)])]),
        ];
        let rows = Frame::from_runs(&runs, &CommitLine::default()).unwrap().weeks().unwrap();
        let found: Vec<_> = rows.iter().map(|row| [row.runs, row.series, row.compared]).collect();
        assert_eq!(found, [[1, 1, 1], [1, 1, 0], [1, 0, 0]]);
        assert!(close(rows[0].change, Some(0.5)), "{rows:?}");
    }

    #[test]
    fn rows_stand_by_week_suite_and_machine_name() {
        let mut runs =
            runs(&[("a", "time", WEEK, 1.0), ("a", "time", 1, 1.0), ("a", "time", 2, 1.0), ("a", "time", 3, 1.0)]);
        runs[2].run.machine = sprag_model::environment::Machine::named("b", "EPYC");
        runs[3].run.suite = "abc".to_owned();
        Arc::make_mut(&mut runs[3].run.measurements[0].benchmark).suite = "abc".to_owned();
        let rows = Frame::from_runs(&runs, &CommitLine::default()).unwrap().weeks().unwrap();
        let found: Vec<String> =
            rows.iter().map(|row| format!("{} {} {}", row.week, row.suite, row.machine_name)).collect();
        assert_eq!(found, ["2025-01-13 cpu m", "2025-01-06 abc m", "2025-01-06 cpu b", "2025-01-06 cpu m"]);
    }
}
