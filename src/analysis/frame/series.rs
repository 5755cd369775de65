//! Decoded runs as series.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::decoded::DecodedRuns;
use super::order::RunOrder;
use sprag_model::{Benchmark, CommitLine, Machine, Medians, Metric, Point, PointRun, Role, RunHead, Series};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// All series by id, each with its points in commit order.
    pub series: Vec<Series>,
    /// The ids of the series that a gate judges: one metric a benchmark, by its newest run. It is `ratio` where the
    /// benchmark is calibrated, else `time`, else the first; the others are only shown.
    pub judged: BTreeSet<String>,
}

/// A benchmark of one version in a suite on a machine, as its newest run describes it.
struct Tracked<'a> {
    benchmark: &'a Benchmark,
    role: Role,
    judged: Option<&'a str>,
    metrics: Vec<(&'a Metric, Vec<Point>)>,
}

impl Frame {
    /// Puts the runs, no two of them the same, in the order of the line, and their values into series.
    ///
    /// Runs that measured nothing leave no trace. Name and class of a machine are those of its newest run.
    pub fn new(runs: &DecodedRuns, line: &CommitLine) -> Frame {
        let order = RunOrder::new(line);
        let all = runs.heads.iter().zip(&runs.contents);
        let mut measured: Vec<_> = all.filter(|(_, content)| !content.values.is_empty()).collect();
        measured.sort_by_cached_key(|(head, _)| order.place(head));

        let mut numbers: HashMap<&Benchmark, usize> = HashMap::new();
        let benchmarks: Vec<usize> = runs
            .cells
            .iter()
            .map(|cell| {
                let next = numbers.len();
                *numbers.entry(&cell.benchmark).or_insert(next)
            })
            .collect();
        // One computer may have a CPU and a GPU, so that its class differs by suite.
        let mut machines: HashMap<(&str, &str), &Machine> = HashMap::new();
        let mut tracked: HashMap<(&str, &str, usize), Tracked<'_>> = HashMap::new();
        let mut last: Option<Arc<PointRun>> = None;
        for (rank, (head, content)) in measured.into_iter().enumerate() {
            let run = Arc::new(point_run(head, rank, order.position(head), last.as_deref()));
            last = Some(Arc::clone(&run));
            let (suite, machine) = (head.suite.as_str(), head.machine.id.as_str());
            machines.insert((suite, machine), &head.machine);
            let medians: Arc<[f64]> = content.medians.as_slice().into();
            let mut workers = 0..0;
            let benchmark = |cell: u32| benchmarks[cell as usize];
            for values in content.values.chunk_by(|a, b| benchmark(a.cell) == benchmark(b.cell)) {
                let cells = values.iter().map(|value| &runs.cells[value.cell as usize]);
                let first = &runs.cells[values[0].cell as usize];
                let one = tracked.entry((suite, machine, benchmark(values[0].cell))).or_insert_with(|| Tracked {
                    benchmark: &first.benchmark,
                    role: first.role,
                    judged: None,
                    metrics: Vec::new(),
                });
                let names = cells.clone().map(|cell| cell.metric.name.as_str());
                one.role = first.role;
                one.judged = first.role.judged(names.clone()).and_then(|place| names.clone().nth(place));
                for (cell, value) in cells.zip(values) {
                    workers = workers.end..workers.end + value.workers;
                    let point = Point {
                        of: Arc::clone(&run),
                        value: value.value,
                        interval: value.interval,
                        workers: Medians::new(&medians, workers.clone()).expect("each value has its medians"),
                    };
                    match one.metrics.iter_mut().find(|(metric, _)| metric.name == cell.metric.name) {
                        Some((metric, points)) => {
                            *metric = &cell.metric;
                            points.push(point);
                        }
                        None => one.metrics.push((&cell.metric, vec![point])),
                    }
                }
            }
        }

        let mut frame = Frame::default();
        for ((suite, machine, _), one) in tracked {
            let machine = machines[&(suite, machine)];
            let benchmark = one.benchmark.id();
            for (metric, mut points) in one.metrics {
                let id = Series::id_of(&benchmark, one.benchmark.version, &metric.name, &machine.id);
                if one.judged == Some(metric.name.as_str()) {
                    frame.judged.insert(id.clone());
                }
                points.shrink_to_fit();
                frame.series.push(Series {
                    id,
                    suite: suite.to_owned(),
                    benchmark: benchmark.clone(),
                    name: one.benchmark.name.clone(),
                    params: one.benchmark.params_text(),
                    variant: one.benchmark.variant.clone(),
                    version: one.benchmark.version,
                    role: one.role,
                    metric: metric.clone(),
                    machine: machine.id.clone(),
                    machine_name: machine.name.clone(),
                    machine_class: machine.class.clone(),
                    points,
                });
            }
        }
        frame.series.sort_by(|a, b| a.id.cmp(&b.id));
        frame
    }
}

/// What the points of a run have in common. Runs of one commit come together, so that they share its text.
fn point_run(head: &RunHead, rank: usize, position: Option<usize>, last: Option<&PointRun>) -> PointRun {
    let same = |part: fn(&PointRun) -> &Arc<str>, text: &str| match last.map(part).filter(|part| &***part == text) {
        Some(part) => Arc::clone(part),
        None => text.into(),
    };
    PointRun {
        commit: same(|run| &run.commit, head.commit.as_ref().map_or("", |commit| &commit.sha)),
        position,
        rank,
        time: head.timestamp,
        environment_key: same(|run| &run.environment_key, &head.environment.key),
        run: head.id.as_str().into(),
        dirty: head.commit.as_ref().is_some_and(|commit| commit.dirty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fixture::{decoded, frame, history, line, measurement, run, run_of, time};
    use sprag_base::stats::random::SplitMix64;
    use sprag_model::{Better, ParityStatus, RecordedRun, RunStatus, Unit};

    #[test]
    fn points_lie_in_commit_order() {
        let measured = |id: &str, commit: &str, commit_hours: i64, hours: i64, value: f64| {
            let mut run = run_of(id, commit, commit_hours, hours);
            run.run.measurements = vec![measurement("pack", &[("time", value)])];
            run
        };
        let mut runs = [measured("1", "b", 2, 90, 3.0), measured("2", "a", 1, 95, 1.0), measured("3", "-", 0, 1, 2.0)];
        runs[0].run.commit.as_mut().unwrap().dirty = true;
        let estimate = &mut runs[1].run.measurements[0].estimates[0];
        (estimate.interval, estimate.workers) = (Some((0.5, 2.5)), vec![0.75, 1.25]);
        let series = Frame::new(&decoded(&runs), &line(&[("a", 1), ("b", 2)])).series;
        assert_eq!(series.len(), 1);
        let points: Vec<_> = series[0]
            .points
            .iter()
            .map(|point| (&*point.run, &*point.commit, point.position, point.value, point.dirty, point.workers.len()))
            .collect();
        let expected =
            [("2", "a", Some(0), 1.0, false, 2), ("3", "", None, 2.0, false, 0), ("1", "b", Some(1), 3.0, true, 0)];
        assert_eq!(points, expected);
        let first = &series[0].points[0];
        assert_eq!((first.time, first.interval, &first.workers[..]), (time(95), Some((0.5, 2.5)), &[0.75, 1.25][..]));
        assert_eq!((first.rank, &*first.environment_key), (0, runs[1].run.environment.key.as_str()));
        let Series { suite, benchmark, name, params, variant, version, machine_name, machine_class, .. } = &series[0];
        let texts = [suite, benchmark, name, params, variant, machine_name, machine_class].map(String::as_str);
        assert_eq!((texts, *version), (["cpu", "cpu/pack @fast", "pack", "", "fast", "m", "EPYC"], 1));
    }

    #[test]
    fn runs_that_measured_nothing_leave_no_trace() {
        let mut skipped = run_of("s", "c1", 1, 1);
        skipped.run.status = RunStatus::Skipped;
        let mut failed = measurement("pack", &[("time", 1.0)]);
        failed.failure = Some("broke".to_owned());
        let mut wrong = measurement("scan", &[("time", 1.0)]);
        wrong.parity.status = ParityStatus::Mismatch;
        assert_eq!(frame(&[]), Frame::default());
        assert_eq!(frame(&[skipped, run("f", 2, &[failed, wrong, measurement("sort", &[])])]), Frame::default());
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
            assert_eq!(frame(&[base.clone(), run]).series.len(), expected);
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
            let Frame { series, judged } = frame(&runs);
            let judged = series.iter().filter(|series| judged.contains(&series.id));
            assert_eq!(judged.map(|series| series.metric.name.as_str()).collect::<Vec<_>>(), expected);
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
        let series = frame(&[new, old]).series.remove(0);
        assert_eq!((series.machine_name.as_str(), series.machine_class.as_str()), ("new name", "new class"));
        assert_eq!((series.metric, series.points.len(), series.role), (metric, 2, Role::Reported));
    }

    #[test]
    fn the_order_of_the_runs_does_not_matter() {
        for seed in 0..32 {
            let (line, mut runs) = history(seed);
            let sorted = Frame::new(&decoded(&runs), &line);
            SplitMix64::new(seed).shuffle(&mut runs);
            assert_eq!(sorted, Frame::new(&decoded(&runs), &line), "{seed}");
        }
    }

    #[test]
    fn many_runs_of_a_commit_stay_in_order() {
        // One commit measured 700 times, seven runs an hour, in reverse order.
        let runs = (0..700_i32).rev().map(|number| {
            let measured = ["a", "b", "c"].map(|name| measurement(name, &[("time", f64::from(number))]));
            let mut run = run(&format!("{number:04}"), 0, &measured);
            run.run.timestamp = time(i64::from(number / 7));
            run
        });
        let series = frame(&runs.collect::<Vec<_>>()).series;
        assert_eq!(series.len(), 3);
        for one in series {
            assert!(one.points.iter().map(|point| point.value).eq((0..700_i32).map(f64::from)));
            assert_eq!(one.points.last().map(|point| &*point.run), Some("0699"));
        }
    }
}
