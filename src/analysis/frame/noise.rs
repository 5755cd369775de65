//! How noisy the judged series are: between the worker processes of a run, and from run to run.
//!
//! Both are robust standard deviations as shares of a level, which single strays do not move. Between the workers of a
//! run it is the scaled median distance from their median, over that median; of a series it is the median over its
//! runs. From run to run it is the scaled median of what successive values differ by, over the root of two, since a
//! difference has the variance of both its ends, and over the median of all values: so a step counts once, and a
//! slow drift hardly. The scale is that of a normal distribution (`stats/describe.rs`).

use std::f64::consts::SQRT_2;

use polars::prelude::*;
use polars::series::ops::NullBehavior;

use super::cells::{Cells, FrameError};
use super::change::{distance, median_of, share};
use super::table::Frame;
use sprag_base::stats::describe::OF_NORMAL;
use sprag_model::movers::SuiteNoiseRow;

impl Frame {
    /// How noisy the judged series of every suite and machine are, by suite and machine name.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn suite_noise(&self) -> Result<Vec<SuiteNoiseRow>, FrameError> {
        let p90 = |column: &str| col(column).quantile(lit(0.9), QuantileMethod::Linear);
        let rows = self
            .spreads()
            .group_by_stable(["suite", "machine"].map(col))
            .agg([
                col("machine_name").first(),
                len().alias("n_series"),
                col("between_workers").median().alias("workers_median"),
                p90("between_workers").alias("workers_p90"),
                col("between_runs").median().alias("runs_median"),
                p90("between_runs").alias("runs_p90"),
            ])
            .sort(["suite", "machine_name", "machine"], SortMultipleOptions::default())
            .collect()?;
        let cells = Cells(&rows);
        let suites = cells.texts("suite")?;
        let machines = cells.texts("machine")?;
        let machine_names = cells.texts("machine_name")?;
        let series = cells.counts("n_series")?;
        let workers_median = cells.optional_numbers("workers_median")?;
        let workers_p90 = cells.optional_numbers("workers_p90")?;
        let runs_median = cells.optional_numbers("runs_median")?;
        let runs_p90 = cells.optional_numbers("runs_p90")?;
        let rows = (0..suites.len()).map(|row| SuiteNoiseRow {
            suite: suites[row].to_owned(),
            machine: machines[row].to_owned(),
            machine_name: machine_names[row].to_owned(),
            series: series[row],
            between_workers_median: workers_median[row],
            between_workers_p90: workers_p90[row],
            between_runs_median: runs_median[row],
            between_runs_p90: runs_p90[row],
        });
        Ok(rows.collect())
    }

    /// One row a judged series: what is known of it, and both spreads.
    fn spreads(&self) -> LazyFrame {
        let judged = self.values.clone().lazy().filter(col("judged"));
        // Halves, since two numbers may differ by more than one can hold.
        let half = col("value") * lit(0.5);
        let steps = distance(half.diff(lit(1), NullBehavior::Ignore)).median();
        let between_runs = judged
            .clone()
            .group_by_stable([col("series")])
            .agg([median_of(col("value")).alias("level"), steps.alias("step")])
            .with_column(share("step", "level", 2.0 * OF_NORMAL / SQRT_2).alias("between_runs"))
            .drop(cols(["level", "step"]));
        let of_workers = ExplodeOptions { empty_as_null: false, keep_nulls: false };
        let half = || col("workers") * lit(0.5);
        let between_workers = judged
            .select([col("run"), col("series"), col("workers")])
            .explode(cols(["workers"]), of_workers)
            .group_by_stable([col("series"), col("run")])
            .agg([
                len().alias("n"),
                median_of(col("workers")).alias("level"),
                distance(half() - half().median()).median().alias("spread"),
            ])
            .filter(col("n").gt(lit(1)))
            .with_column(share("spread", "level", 2.0 * OF_NORMAL).alias("between_workers"))
            .group_by_stable([col("series")])
            .agg([col("between_workers").median()]);
        between_runs.inner_join(self.series.clone().lazy(), col("series"), col("series")).join(
            between_workers,
            [col("series")],
            [col("series")],
            JoinArgs::new(JoinType::Left),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fixture::{close, measurement, run};
    use sprag_model::commit::CommitLine;
    use sprag_model::run::RecordedRun;

    /// The value and the workers of a run.
    type Given<'a> = (f64, &'a [f64]);

    /// A run an hour of the benchmarks given as name and runs.
    fn frame(benchmarks: &[(&str, &[Given<'_>])]) -> Frame {
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
        Frame::from_runs(&runs.collect::<Vec<RecordedRun>>(), &CommitLine::default()).unwrap()
    }

    fn check(runs: &[Given<'_>], between_workers: Option<f64>, between_runs: Option<f64>) {
        let rows = frame(&[("pack", runs)]).suite_noise().unwrap();
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((row.suite.as_str(), row.series), ("cpu", 1));
        for (found, expected) in [
            (row.between_workers_median, between_workers),
            (row.between_workers_p90, between_workers),
            (row.between_runs_median, between_runs),
            (row.between_runs_p90, between_runs),
        ] {
            assert!(close(found, expected), "{row:?} {expected:?}");
        }
    }

    /// So many median distances from the median, as a standard deviation of normal values.
    fn scaled(distance: f64) -> Option<f64> {
        Some(1.482_602_218_505_602 * distance)
    }

    #[test]
    fn workers_differ_within_a_run() {
        // Distances from 10: 1, 0, 2; their median is 1 of 10.
        check(&[(10.0, &[9.0, 10.0, 12.0])], scaled(0.1), None);
        // Two workers: distances 1 and 1 from 9.
        check(&[(9.0, &[8.0, 10.0])], scaled(1.0 / 9.0), None);
        // Shares of 0.1 and 0.3, and runs of one worker and of none, which tell nothing: the median is 0.2.
        let runs: [Given<'_>; 4] =
            [(10.0, &[9.0, 10.0, 11.0]), (10.0, &[7.0, 10.0, 13.0]), (10.0, &[10.0]), (10.0, &[])];
        check(&runs, scaled(0.2), Some(0.0));
        check(&[(10.0, &[10.0]), (10.0, &[])], None, Some(0.0));
    }

    #[test]
    fn runs_differ_from_one_to_the_next() {
        let of = |values: &[f64], expected: Option<f64>| {
            check(&values.iter().map(|&value| (value, [].as_slice())).collect::<Vec<_>>(), None, expected);
        };
        of(&[3.0], None);
        // Differences of 2, 1 and 3 of the level 10.
        of(&[10.0, 12.0, 11.0, 8.0], scaled(2.0 / 10.5 / 2.0_f64.sqrt()));
        of(&[10.0, 12.0, 11.0, 8.0, 10.0], scaled(2.0 / 10.0 / 2.0_f64.sqrt()));
        // A step counts once.
        of(&[1.0, 1.0, 1.0, 1.0, 9.0, 9.0], Some(0.0));
        // A level below zero has a size; zero has none.
        of(&[-4.0, -2.0, -3.0], scaled(1.5 / 3.0 / 2.0_f64.sqrt()));
        of(&[0.0, 0.0, 1.0], None);
    }

    #[test]
    fn figures_survive_the_whole_range() {
        check(&[(1e300, &[1e300, 1e-300, 1e300])], Some(0.0), None);
        check(&[(1e-300, &[1e-300, 1e300, -1e300])], Some(f64::MAX), None);
        check(&[(1.0, &[-f64::MAX, f64::MAX])], None, None);
        check(&[(f64::MAX, &[]), (-f64::MAX, &[]), (1e-300, &[])], None, Some(f64::MAX));
        check(&[(f64::MAX, &[]), (-f64::MAX, &[])], None, None);
        check(&[(f64::MAX, &[]), (-f64::MAX, &[]), (f64::MAX, &[])], None, scaled(2.0_f64.sqrt()));
        check(&[(0.0, &[0.0, 0.0]), (0.0, &[])], None, None);
    }

    #[test]
    fn a_suite_has_the_middle_and_the_worst_tenth_of_its_series() {
        // Shares of 0, 0.1, 0.2 and, of no workers, none: the median is 0.1, and the 90th percentile 0.18.
        let frame = frame(&[
            ("a", &[(10.0, &[10.0, 10.0, 10.0])]),
            ("b", &[(10.0, &[9.0, 10.0, 11.0])]),
            ("c", &[(10.0, &[8.0, 10.0, 12.0])]),
            ("d", &[(10.0, &[])]),
        ]);
        let rows = frame.suite_noise().unwrap();
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((row.suite.as_str(), row.machine_name.as_str(), row.series), ("cpu", "m", 4));
        assert!(close(row.between_workers_median, scaled(0.1)), "{row:?}");
        assert!(close(row.between_workers_p90, scaled(0.18)), "{row:?}");
        assert_eq!((row.between_runs_median, row.between_runs_p90), (None, None));
    }
}
