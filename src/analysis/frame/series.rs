//! The frame's values as series.

use std::collections::BTreeSet;
use std::sync::Arc;

use polars::prelude::{IntoLazy, col};

use super::cells::{Cells, FrameError};
use super::change::HIGHER;
use super::table::Frame;
use sprag_model::metric::{Better, Metric};
use sprag_model::sample::Role;
use sprag_model::series::{Point, PointRun, Series};
use sprag_model::unit::Unit;

impl Frame {
    /// All series, sorted by id, each with its points in commit order.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn series(&self) -> Result<Vec<Series>, FrameError> {
        let mut series = self.series_without_points()?;
        let runs = self.runs_of_points()?;
        let values = Cells(&self.values);
        let mut lengths = vec![0; series.len()];
        values.each_whole_number("series")?.for_each(|number| lengths[number as usize] += 1);
        series.iter_mut().zip(lengths).for_each(|(series, length)| series.points.reserve_exact(length));
        let numbers = values.each_whole_number("series")?.zip(values.each_whole_number("run")?);
        let intervals = values.some_numbers("lower")?.zip(values.some_numbers("upper")?).map(both);
        let rows = numbers.zip(values.some_numbers("value")?).zip(intervals.zip(values.lists("workers")?));
        for (((number, run), value), (interval, workers)) in rows {
            series[number as usize].points.push(Point {
                of: Arc::clone(&runs[run as usize]),
                value: value.ok_or(FrameError::Gap("value"))?,
                interval,
                workers: workers.ok_or(FrameError::Gap("workers"))?,
            });
        }
        Ok(series)
    }

    /// How many series there are.
    pub fn n_series(&self) -> usize {
        self.series.height()
    }

    /// The ids of the judged series: one metric a benchmark, by its newest run. It is `ratio` where the benchmark is
    /// calibrated, else `time`, else the first; the others are only shown.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn judged(&self) -> Result<BTreeSet<String>, FrameError> {
        let judged = self.series.clone().lazy().filter(col("judged")).select([col("series_id")]).collect()?;
        Ok(Cells(&judged).texts("series_id")?.into_iter().map(str::to_owned).collect())
    }

    fn series_without_points(&self) -> Result<Vec<Series>, FrameError> {
        let cells = Cells(&self.series);
        let ids = cells.texts("series_id")?;
        let suites = cells.texts("suite")?;
        let benchmarks = cells.texts("benchmark")?;
        let names = cells.texts("name")?;
        let params = cells.texts("params")?;
        let variants = cells.texts("variant")?;
        let versions = cells.integers("version")?;
        let roles = cells.texts("role")?;
        let metrics = cells.texts("metric")?;
        let units = cells.texts("unit")?;
        let better = cells.texts("better")?;
        let machines = cells.texts("machine")?;
        let machine_names = cells.texts("machine_name")?;
        let machine_classes = cells.texts("machine_class")?;
        let series = (0..ids.len()).map(|row| {
            Ok(Series {
                id: ids[row].to_owned(),
                suite: suites[row].to_owned(),
                benchmark: benchmarks[row].to_owned(),
                name: names[row].to_owned(),
                params: params[row].to_owned(),
                variant: variants[row].to_owned(),
                version: versions[row],
                role: Role::from_word(roles[row]).ok_or(FrameError::Gap("role"))?,
                metric: Metric {
                    name: metrics[row].to_owned(),
                    unit: Unit::from_symbol(units[row]).ok_or(FrameError::Gap("unit"))?,
                    better: if better[row] == HIGHER { Better::Higher } else { Better::Lower },
                },
                machine: machines[row].to_owned(),
                machine_name: machine_names[row].to_owned(),
                machine_class: machine_classes[row].to_owned(),
                points: Vec::new(),
            })
        });
        series.collect()
    }

    /// What the points of each run have in common.
    fn runs_of_points(&self) -> Result<Vec<Arc<PointRun>>, FrameError> {
        let cells = Cells(&self.runs);
        let commits = cells.optional_texts("commit")?;
        let positions = cells.optional_whole_numbers("position")?;
        let times = cells.times("run_time")?;
        let keys = cells.texts("environment_key")?;
        let runs = cells.texts("run_id")?;
        let dirty = cells.flags("dirty")?;
        let mut all: Vec<Arc<PointRun>> = Vec::with_capacity(runs.len());
        for row in 0..runs.len() {
            // Runs of one commit stand together, and few are of another environment than the one before.
            let last = all.last();
            let same = |part: fn(&PointRun) -> &Arc<str>, text: &str| {
                last.map(|last| part(last)).filter(|part| &***part == text).cloned().unwrap_or_else(|| text.into())
            };
            let run = PointRun {
                commit: same(|run| &run.commit, commits[row].unwrap_or_default()),
                position: positions[row].map(|position| position as usize),
                rank: row,
                time: times[row],
                environment_key: same(|run| &run.environment_key, keys[row]),
                run: runs[row].into(),
                dirty: dirty[row],
            };
            all.push(Arc::new(run));
        }
        Ok(all)
    }
}

/// Both of two, if both are there.
fn both((one, other): (Option<f64>, Option<f64>)) -> Option<(f64, f64)> {
    one.zip(other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::fixture::{histories, line, measurement, run, run_of};
    use sprag_model::commit::CommitLine;
    use sprag_model::environment::Machine;
    use sprag_model::run::RecordedRun;

    fn frame(runs: &[RecordedRun]) -> Frame {
        Frame::from_runs(runs, &CommitLine::default()).unwrap()
    }

    #[test]
    fn points_stand_in_commit_order() {
        let of = |id: &str, commit: &str, commit_hours: i64, hours: i64, value: f64| {
            let mut run = run_of(id, commit, commit_hours, hours);
            run.run.measurements = vec![measurement("pack", &[("time", value)])];
            run
        };
        let mut runs = [of("1", "b", 2, 90, 3.0), of("2", "a", 1, 95, 1.0), of("3", "-", 0, 1, 2.0)];
        runs[0].run.commit.as_mut().unwrap().dirty = true;
        let frame = Frame::from_runs(&runs, &line(&[("a", 1), ("b", 2)])).unwrap();
        let series = frame.series().unwrap();
        assert_eq!(series.len(), 1);
        let points: Vec<_> = series[0]
            .points
            .iter()
            .map(|point| (&*point.run, &*point.commit, point.position, point.value, point.dirty))
            .collect();
        let expected = [("2", "a", Some(0), 1.0, false), ("3", "", None, 2.0, false), ("1", "b", Some(1), 3.0, true)];
        assert_eq!(points, expected);
        assert_eq!(series[0].points[0].time, crate::frame::fixture::time(95));
    }

    #[test]
    fn another_version_machine_or_metric_is_another_series() {
        let base = run("1", 1, &[measurement("pack", &[("time", 1.0), ("tiles_per_s", 9.0)])]);
        let mut version = base.clone();
        Arc::make_mut(&mut version.run.measurements[0].benchmark).version = 2;
        let mut machine = base.clone();
        machine.run.machine = Machine::named("other", "EPYC");
        let mut renamed = base.clone();
        renamed.run.machine.name = "new name".to_owned();
        let check = |run: RecordedRun, expected: usize| {
            assert_eq!(frame(&[base.clone(), run]).series().unwrap().len(), expected);
        };
        check(base.clone(), 2);
        check(version, 4);
        check(machine, 4);
        check(renamed, 2);
    }

    #[test]
    fn the_newest_run_chooses_the_judged_metric() {
        let check = |runs: &[&[(&str, f64)]], expected: &[&str]| {
            let runs: Vec<RecordedRun> = runs
                .iter()
                .enumerate()
                .map(|(hours, metrics)| run(&hours.to_string(), hours as i64, &[measurement("pack", metrics)]))
                .collect();
            let frame = frame(&runs);
            let judged = frame.judged().unwrap();
            let series = frame.series().unwrap();
            let judged: Vec<&str> = series
                .iter()
                .filter(|series| judged.contains(&series.id))
                .map(|series| series.metric.name.as_str())
                .collect();
            assert_eq!(judged, expected);
        };
        check(&[&[("time", 1.0), ("ratio", 2.0)]], &["ratio"]);
        check(&[&[("tiles_per_s", 1.0), ("time", 2.0)]], &["time"]);
        check(&[&[("tiles_per_s", 1.0), ("bytes_per_s", 2.0)]], &["tiles_per_s"]);
        check(&[&[("time", 1.0)], &[("time", 1.0), ("ratio", 2.0)]], &["ratio"]);
        check(&[&[("time", 1.0), ("ratio", 2.0)], &[("time", 1.0)]], &["time"]);
        check(&[&[("time", 1.0), ("ratio", 2.0)], &[]], &["ratio"]);
    }

    #[test]
    fn the_newest_run_describes_the_series() {
        let old = run("1", 1, &[measurement("pack", &[("rate", 1.0)])]);
        let mut new = run("2", 2, &[measurement("pack", &[("rate", 1.0)])]);
        new.run.machine = Machine { name: "new name".to_owned(), class: "new class".to_owned(), ..new.run.machine };
        let metric = Metric { name: "rate".to_owned(), unit: Unit::One, better: Better::Lower };
        new.run.measurements[0].estimates[0].metric = metric.clone();
        new.run.measurements[0].role = Role::Reported;
        let series = frame(&[new, old]).series().unwrap().remove(0);
        assert_eq!((series.machine_name.as_str(), series.machine_class.as_str()), ("new name", "new class"));
        assert_eq!((series.metric, series.points.len()), (metric, 2));
        assert_eq!(series.role, Role::Reported);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_order_of_the_runs_does_not_matter((history, shuffled) in histories().prop_flat_map(|history| {
            let shuffled = Just(history.runs.clone()).prop_shuffle();
            (Just(history), shuffled)
        })) {
            let a = Frame::from_runs(&history.runs, &history.line).unwrap();
            let b = Frame::from_runs(&shuffled, &history.line).unwrap();
            prop_assert_eq!(a.series().unwrap(), b.series().unwrap());
            prop_assert_eq!(a.latest(&history.baselines).unwrap(), b.latest(&history.baselines).unwrap());
            prop_assert_eq!(a.weeks().unwrap(), b.weeks().unwrap());
            prop_assert_eq!(a.suites(&history.baselines).unwrap(), b.suites(&history.baselines).unwrap());
            prop_assert_eq!(a.movers(7).unwrap(), b.movers(7).unwrap());
            prop_assert_eq!(a.geomeans(7).unwrap(), b.geomeans(7).unwrap());
            prop_assert_eq!(a.suite_noise().unwrap(), b.suite_noise().unwrap());
        }
    }
}
