//! Each suite on each machine, over the whole history.

use polars::prelude::*;

use super::cells::{Cells, FrameError};
use super::change::{add_up_in_order, from_log, log_of, worse};
use super::table::Frame;
use sprag_model::baseline::Baseline;
use sprag_model::rollup::SuiteRow;

impl Frame {
    /// Every suite and machine with a run that measured something, by suite and machine name.
    ///
    /// The changes are geometric means over the judged series, turned such that positive is worse: `now / before`,
    /// and `before / now` where larger values are better. A series counts where both values are above zero.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn suites(&self, baselines: &[Baseline]) -> Result<Vec<SuiteRow>, FrameError> {
        let group = ["suite", "machine"].map(col);
        let runs = self.runs.clone().lazy().group_by_stable(&group).agg([
            col("machine_name").first(),
            len().alias("runs"),
            col("run_time").min().alias("first"),
            col("run_time").max().alias("last"),
        ]);
        let judged =
            self.newest_values(baselines)?.filter(col("judged")).sort(["series"], SortMultipleOptions::default());
        let changes = add_up_in_order(judged)?.group_by_stable(&group).agg([
            len().alias("n_series"),
            worse(log_of("current") - log_of("previous")).mean().alias("previous"),
            worse(log_of("current") - log_of("baseline")).mean().alias("baseline"),
        ]);
        let rows = runs
            .join(changes, &group, &group, JoinArgs::new(JoinType::Left))
            .with_column(col("n_series").fill_null(lit(0)))
            .sort(["suite", "machine_name", "machine"], SortMultipleOptions::default())
            .collect()?;
        let cells = Cells(&rows);
        let suites = cells.texts("suite")?;
        let machines = cells.texts("machine")?;
        let runs = cells.counts("runs")?;
        let series = cells.counts("n_series")?;
        let first = cells.times("first")?;
        let last = cells.times("last")?;
        let previous = cells.optional_numbers("previous")?;
        let baseline = cells.optional_numbers("baseline")?;
        let rows = (0..suites.len()).map(|row| SuiteRow {
            suite: suites[row].to_owned(),
            machine: machines[row].to_owned(),
            runs: runs[row],
            series: series[row],
            first: first[row],
            last: last[row],
            change_previous: from_log(previous[row]),
            change_baseline: from_log(baseline[row]),
        });
        Ok(rows.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fixture::{baseline, close, measurement, run, time};
    use sprag_model::commit::CommitLine;

    #[test]
    fn a_suite_is_rolled_up_over_its_judged_series() {
        // Time 1, 2 (ratio 2) and throughput 8, 1 (ratio 8): the mean against the run before is 4, so a change of 3.
        // Against the baseline 4 and 0.125: ratios 0.5 and 0.125, mean 0.25.
        let of = |time: f64, rate: f64| {
            [measurement("pack", &[("time", time), ("bytes", 1.0)]), measurement("scan", &[("tiles_per_s", rate)])]
        };
        let runs = [run("2", 30, &of(2.0, 1.0)), run("1", 20, &of(1.0, 8.0))];
        let frame = Frame::from_runs(&runs, &CommitLine::default()).unwrap();
        let rows = frame.suites(&[baseline(&[("pack", "time", 4.0), ("scan", "tiles_per_s", 0.125)])]).unwrap();
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!((row.suite.as_str(), row.machine.as_str()), ("cpu", runs[0].run.machine.id.as_str()));
        assert_eq!((row.runs, row.series, row.first, row.last), (2, 2, time(20), time(30)));
        assert!(close(row.change_previous, Some(3.0)) && close(row.change_baseline, Some(-0.75)), "{row:?}");
        assert_eq!(frame.suites(&[]).unwrap()[0].change_baseline, None);
    }

    #[test]
    fn a_mean_has_the_same_digits_every_time() {
        // Logarithms of many sizes: each order of adding them up rounds in its own way.
        let names: Vec<String> = (1..40).map(|number| format!("b{number}")).collect();
        let values = |scale: f64| {
            names.iter().zip(1..).map(move |(name, number): (_, i32)| {
                (name.as_str(), "time", (scale * 690.0 * f64::from(number).sin()).exp())
            })
        };
        let of = |scale| {
            values(scale)
                .map(|(name, metric, value)| measurement(name, &[(metric, value), ("rate", 1.0)]))
                .collect::<Vec<_>>()
        };
        let runs = [run("1", 1, &of(-0.7)), run("2", 7 * 24, &of(1.0))];
        let entries =
            values(-0.3).flat_map(|(name, _, value)| ["time", "ratio", "rate"].map(|metric| (name, metric, value)));
        let baselines = [baseline(&entries.collect::<Vec<_>>())];
        let figures = || {
            let frame = Frame::from_runs(&runs, &CommitLine::default()).unwrap();
            (frame.suites(&baselines).unwrap(), frame.weeks().unwrap())
        };
        let first = figures();
        assert!(first.0[0].change_previous.is_some() && first.0[0].change_baseline.is_some());
        for _ in 0..10 {
            assert_eq!(figures(), first);
        }
    }

    #[test]
    fn a_suite_that_ran_once_has_no_change() {
        let frame = Frame::from_runs(&[run("1", 20, &[measurement("a", &[("time", 1.0)])])], &CommitLine::default());
        let row = frame.unwrap().suites(&[]).unwrap().remove(0);
        assert_eq!((row.runs, row.change_previous, row.change_baseline), (1, None, None));
    }
}
