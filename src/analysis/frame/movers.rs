//! What moved lately: the newest window of days of each judged series beside the window before.
//!
//! A window is so many days long. The newest one ends with the newest run of the suite on its machine, that run
//! included, and begins so many days before it, that moment excluded; the window before has the same length and ends
//! there. A run belongs to the window it took place in; one whose commit stands before a commit that was measured earlier
//! tells of the past, and belongs to none. The level of a series in a window is the median of its points. Changes are
//! turned as those of the weeks: positive is worse, `now / before - 1`, and `before / now - 1` where larger values are
//! better.

use polars::prelude::*;

use super::cells::{Cells, FrameError};
use super::change::{finite, from_log, log_of, median_of, relative, worse};
use super::table::Frame;
use sprag_model::movers::MoverRow;
use sprag_model::unit::Unit;

const DAY: i64 = 24 * 60 * 60 * 1_000_000;

impl Frame {
    /// The judged series with a value in the newest window of `days` days and in the one before: the worst relative
    /// change first, those that have none last, then by id. No days hold no run.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn movers(&self, days: u32) -> Result<Vec<MoverRow>, FrameError> {
        let by_difference = RankOptions { method: RankMethod::Ordinal, descending: true };
        let rows = self
            .levels(days)?
            .with_columns([relative("now", "before").alias("change"), (col("now") - col("before")).alias("difference")])
            .sort(["series"], SortMultipleOptions::default())
            .with_column(worse(col("difference")).rank(by_difference, None).over([col("unit")])?.alias("rank"))
            .sort(
                ["worse", "series"],
                SortMultipleOptions::default()
                    .with_order_descending_multi([true, false])
                    .with_nulls_last_multi([true, true]),
            )
            .collect()?;
        read(&rows)
    }

    /// One row a judged series with a value in both windows: what is known of it, its levels `before` and `now`, the
    /// number of runs behind each, and `worse`, the logarithm of the change, turned.
    pub(super) fn levels(&self, days: u32) -> Result<LazyFrame, FrameError> {
        let length = i64::from(days).saturating_mul(DAY);
        let time = || col("run_time").cast(DataType::Int64);
        // Ages are compared, not moments: no number of days reaches beyond the range of time.
        let age = time().max().over(["suite", "machine"].map(col))? - time();
        let forward = self.runs.clone().lazy().filter(col("looks_back").not());
        let runs = forward.select([col("run"), age.alias("age")]);
        let of = |is_now: bool| col("value").filter(col("is_now").eq(lit(is_now)));
        let levels = self
            .values
            .clone()
            .lazy()
            .filter(col("judged"))
            .select([col("series"), col("run"), col("value")])
            .inner_join(runs, col("run"), col("run"))
            .filter(col("age").lt(lit(length.saturating_mul(2))))
            .with_column(col("age").lt(lit(length)).alias("is_now"))
            .group_by_stable([col("series")])
            .agg([
                median_of(of(false)).alias("before"),
                median_of(of(true)).alias("now"),
                of(false).len().alias("runs_before"),
                of(true).len().alias("runs_now"),
            ])
            .filter(col("runs_before").gt(lit(0)).and(col("runs_now").gt(lit(0))));
        Ok(levels
            .inner_join(self.series.clone().lazy(), col("series"), col("series"))
            .with_column(worse(log_of("now") - log_of("before")).alias("worse")))
    }
}

pub(super) fn read(rows: &DataFrame) -> Result<Vec<MoverRow>, FrameError> {
    let cells = Cells(rows);
    let series = cells.texts("series_id")?;
    let suites = cells.texts("suite")?;
    let machines = cells.texts("machine")?;
    let units = cells.texts("unit")?;
    let before = cells.numbers("before")?;
    let now = cells.numbers("now")?;
    let runs_before = cells.counts("runs_before")?;
    let runs_now = cells.counts("runs_now")?;
    let changes = cells.optional_numbers("change")?;
    let worse = cells.optional_numbers("worse")?;
    let differences = cells.numbers("difference")?;
    let ranks = cells.counts("rank")?;
    let rows = (0..series.len()).map(|row| {
        Ok(MoverRow {
            series: series[row].to_owned(),
            suite: suites[row].to_owned(),
            machine: machines[row].to_owned(),
            unit: Unit::from_symbol(units[row]).ok_or(FrameError::Gap("unit"))?,
            before: before[row],
            now: now[row],
            runs_before: runs_before[row],
            runs_now: runs_now[row],
            change: finite(changes[row]),
            worse: from_log(worse[row]),
            difference: differences[row].clamp(f64::MIN, f64::MAX),
            rank_in_unit: ranks[row],
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fixture::{close, frame_of, line, measurement, run_of};
    use sprag_model::run::RecordedRun;

    /// Hours of seven days.
    const WEEK: i64 = 7 * 24;

    /// The benchmark's name; before and now; runs before and now; change, worse; difference; rank.
    type Figures = (&'static str, [f64; 2], [usize; 2], [Option<f64>; 2], f64, usize);

    fn check(values: &[(&str, &str, i64, f64)], expected: &[Figures]) {
        let rows = frame_of(values).movers(7).unwrap();
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
    }

    #[test]
    fn a_run_of_an_old_commit_tells_of_the_past() {
        let of = |id: &str, commit: &str, hours: i64, value: f64| {
            let mut run = run_of(id, commit, hours, hours);
            run.run.measurements = vec![measurement("pack", &[("time", value)])];
            run
        };
        let line = line(&[("a", 0), ("b", 1), ("c", 2)]);
        let forward = [of("1", "a", 0, 2.0), of("2", "b", WEEK, 2.0), of("3", "c", WEEK + 1, 3.0)];
        // Measured last, and in between: neither moves the end of a window or its level.
        let back = [of("4", "a", WEEK + 2, 100.0), of("5", "b", 3 * WEEK, 100.0)];
        let rows = |runs: &[RecordedRun]| Frame::from_runs(runs, &line).unwrap().movers(7).unwrap();
        let expected = rows(&forward);
        assert_eq!((expected.len(), expected[0].before, expected[0].now), (1, 2.0, 2.5));
        assert_eq!(rows(&[&forward[..], &back[..]].concat()), expected);
    }

    #[test]
    fn a_window_may_have_any_length() {
        let frame = frame_of(&[("pack", "time", 0, 2.0), ("pack", "time", 24, 3.0)]);
        let rows = |days: u32| frame.movers(days).unwrap().len();
        assert_eq!([rows(0), rows(1), rows(2), rows(u32::MAX)], [0, 1, 0, 0]);
    }

    #[test]
    fn the_worst_stand_first_and_differences_rank_within_their_unit() {
        // Of times: +50 % of 2, +10 % of 100, a third of 9 less. Of throughputs: 8 to 2, which is four times worse.
        let of = |week: i64, a: f64, b: f64, c: f64, d: f64| {
            [("a", "time", week, a), ("b", "time", week, b), ("c", "time", week, c), ("d", "tiles_per_s", week, d)]
        };
        check(
            &[of(0, 2.0, 100.0, 9.0, 8.0), of(WEEK, 3.0, 110.0, 6.0, 2.0)].concat(),
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
    }

    #[test]
    fn what_has_no_ratio_stands_last() {
        check(
            &[
                ("a", "time", 0, 0.0),
                ("b", "time", 0, 4.0),
                ("c", "time", 0, 4.0),
                ("d", "time", 0, 4.0),
                ("a", "time", WEEK, 1.0),
                ("b", "time", WEEK, 0.0),
                ("c", "time", WEEK, -2.0),
                ("d", "time", WEEK, 3.0),
            ],
            &[
                ("d", [4.0, 3.0], [1, 1], [Some(-0.25); 2], -1.0, 2),
                ("a", [0.0, 1.0], [1, 1], [None; 2], 1.0, 1),
                ("b", [4.0, 0.0], [1, 1], [Some(-1.0), None], -4.0, 3),
                ("c", [4.0, -2.0], [1, 1], [Some(-1.5), None], -6.0, 4),
            ],
        );
    }

    #[test]
    fn figures_survive_the_whole_range() {
        let changes = [Some(f64::MAX); 2];
        let levels = [1e-300, 1e300];
        check(&[("a", "time", 0, 1e-300), ("a", "time", WEEK, 1e300)], &[("a", levels, [1, 1], changes, 1e300, 1)]);
        let levels = [-f64::MAX, f64::MAX];
        let values = [("a", "time", 0, -f64::MAX), ("a", "time", WEEK, f64::MAX)];
        check(&values, &[("a", levels, [1, 1], [None; 2], f64::MAX, 1)]);
        // The median of the two ends of the range is their middle.
        let values = [("a", "time", 0, -f64::MAX), ("a", "time", 1, f64::MAX), ("a", "time", WEEK + 1, 1.0)];
        let frame = frame_of(&values);
        let row = frame.movers(7).unwrap().remove(0);
        assert_eq!((row.before, row.runs_before, row.now, row.change), (0.0, 2, 1.0, None));
    }
}
