//! From what each process reported to measurements: one value a process, the median over processes.

use std::collections::BTreeMap;

use crate::estimate;
use sprag_base::stats::describe;
use sprag_model::benchmark::{Parity, ParityStatus};
use sprag_model::foreign::{Reported, ReportedMetric};
use sprag_model::metric::{Better, TIME};
use sprag_model::sample::{Estimate, Measurement, Role};

/// What one process reported, and which of the processes it was, from 1.
pub(super) struct Report {
    pub(super) process: u32,
    pub(super) series: Vec<Reported>,
}

/// The measurements of all benchmarks, in the order in which they were first reported.
pub(super) fn pool(reports: &[Report], seed: u64) -> Vec<Measurement> {
    let mut ids: Vec<String> = Vec::new();
    let mut by_id: BTreeMap<String, Vec<(u32, &Reported)>> = BTreeMap::new();
    for report in reports {
        for reported in &report.series {
            let id = reported.benchmark.id();
            let series = by_id.entry(id.clone()).or_insert_with(|| {
                ids.push(id);
                Vec::new()
            });
            series.push((report.process, reported));
        }
    }
    ids.iter().map(|id| measurement(reports, &by_id[id], seed)).collect()
}

fn measurement(reports: &[Report], series: &[(u32, &Reported)], seed: u64) -> Measurement {
    let first = series[0].1;
    let mut measurement = Measurement {
        benchmark: first.benchmark.clone().into(),
        role: Role::Tracked,
        attributes: BTreeMap::new(),
        parity: Parity { status: ParityStatus::Unchecked, max_abs_error: None, tolerance: None },
        estimates: Vec::new(),
        failure: None,
    };
    match estimates(reports, series, seed) {
        Ok(estimates) => measurement.estimates = estimates,
        Err(reason) => measurement.failure = Some(reason),
    }
    measurement
}

/// All processes must tell of the benchmark, and of the same metrics: what is there only now and then is no series.
fn estimates(reports: &[Report], series: &[(u32, &Reported)], seed: u64) -> Result<Vec<Estimate>, String> {
    let count = reports.len();
    let mut processes: Vec<&[ReportedMetric]> = Vec::with_capacity(count);
    for (process, reported) in series {
        match &reported.result {
            Ok(metrics) => processes.push(metrics),
            Err(reason) if count == 1 => return Err(reason.clone()),
            Err(reason) => return Err(format!("{reason} (process {process})")),
        }
    }
    if let Some(report) = reports.iter().find(|report| !series.iter().any(|(process, _)| *process == report.process)) {
        return Err(format!("process {} did not report it, others did", report.process));
    }
    let (first, metrics) = (series[0].1, processes[0]);
    for ((process, reported), other) in series.iter().zip(&processes) {
        let names = |metrics: &[ReportedMetric]| metrics.iter().map(|one| one.metric.clone()).collect::<Vec<_>>();
        let (version, work) = (reported.benchmark.version, &reported.work);
        if version != first.benchmark.version || *work != first.work || names(other) != names(metrics) {
            return Err(format!("process {process} reported different metrics, versions or work than the first"));
        }
    }
    let mut estimates: Vec<Estimate> =
        (0..metrics.len()).filter_map(|place| one_metric(&processes, place, seed)).collect();
    if let Some(time) = estimates.iter().find(|estimate| estimate.metric.name == TIME).cloned() {
        let taken = |name: &str, estimates: &[Estimate]| estimates.iter().any(|one| one.metric.name == name);
        for (name, work) in &first.work {
            if !taken(name, &estimates) {
                estimates.push(estimate::throughput(name, *work, &time));
            }
        }
    }
    // The time goes first, wherever the program put it.
    estimates.sort_by_key(|estimate| estimate.metric.name != TIME);
    Ok(estimates)
}

fn one_metric(processes: &[&[ReportedMetric]], place: usize, seed: u64) -> Option<Estimate> {
    let metric = &processes.first()?[place].metric;
    let values: Vec<f64> = processes.iter().filter_map(|metrics| describe::median(&metrics[place].samples)).collect();
    let samples: Vec<f64> = processes.iter().flat_map(|metrics| metrics[place].samples.iter().copied()).collect();
    let estimate = estimate::over_processes(metric.clone(), &values, samples.len(), seed)?;
    Some(match metric.better {
        Better::Lower => estimate::with_samples(estimate, &samples),
        // The percentile and the smallest of these would be the wrong end of them.
        Better::Higher => Estimate { p50: describe::median(&samples).map(estimate::round), ..estimate },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::benchmark::Benchmark;
    use sprag_model::metric::Metric;
    use sprag_model::unit::Unit;

    fn reported(name: &str, metrics: &[(Metric, &[f64])]) -> Reported {
        let metrics = metrics
            .iter()
            .map(|(metric, samples)| ReportedMetric { metric: metric.clone(), samples: samples.to_vec() });
        Reported {
            benchmark: Benchmark::new("s", name, &[], "default").expect("the name is a word"),
            result: Ok(metrics.collect()),
            work: Vec::new(),
        }
    }

    fn pooled(processes: &[Vec<Reported>]) -> Vec<Measurement> {
        let reports: Vec<Report> =
            processes.iter().zip(1..).map(|(series, process)| Report { process, series: series.clone() }).collect();
        pool(&reports, 1)
    }

    fn failure(processes: &[Vec<Reported>]) -> String {
        let measurements = pooled(processes);
        let measurement = &measurements[0];
        assert!(measurement.estimates.is_empty(), "what failed has no values");
        measurement.failure.clone().expect("it has failed")
    }

    #[test]
    fn a_process_counts_once_however_many_samples_it_gave() {
        let process = |samples: &[f64]| vec![reported("a", &[(Metric::time(), samples)])];
        let measurements = pooled(&[process(&[1.0, 1.0, 1.0, 1.0, 9.0]), process(&[3.0]), process(&[2.0, 2.2])]);
        let [time] = &measurements[0].estimates[..] else { panic!("one metric: {measurements:?}") };
        assert_eq!((time.value, &time.workers[..], time.n), (2.1, &[1.0, 3.0, 2.1][..], 8));
        assert_eq!((time.p50, time.p95, time.min), (Some(1.5), None, Some(1.0)));
        assert!(time.interval.is_some_and(|(low, high)| low <= 2.1 && 2.1 <= high));
        assert_eq!(measurements[0].parity.status, ParityStatus::Unchecked);
        assert_eq!(pooled(&[process(&[1.0])])[0].estimates[0].interval, None);
    }

    #[test]
    fn time_goes_first_and_throughput_follows_from_it() {
        let rate = Metric { name: "hits".into(), unit: Unit::One, better: Better::Higher };
        let mut one = reported("a", &[(rate, &[5.0; 120]), (Metric::time(), &[2.0; 120])]);
        one.work = vec![("elements_per_s".to_owned(), 10.0), ("hits".to_owned(), 1.0)];
        let measurements = pooled(&[vec![one]]);
        let names: Vec<&str> = measurements[0].estimates.iter().map(|one| one.metric.name.as_str()).collect();
        assert_eq!(names, ["time", "hits", "elements_per_s"]);
        let p95: Vec<Option<f64>> = measurements[0].estimates.iter().map(|one| one.p95).collect();
        assert_eq!(p95, [Some(2.0), None, None]);
        assert_eq!(measurements[0].estimates[2].value, 5.0);
    }

    #[test]
    fn what_failed_once_or_differs_between_processes_fails() {
        let fine = || reported("a", &[(Metric::time(), &[1.0])]);
        let broken = Reported { result: Err("wrong sum".to_owned()), ..fine() };
        assert_eq!(failure(&[vec![fine()], vec![broken.clone()]]), "wrong sum (process 2)");
        assert_eq!(failure(&[vec![broken]]), "wrong sum");
        assert_eq!(failure(&[vec![fine()], vec![fine()], vec![]]), "process 3 did not report it, others did");
        let bytes = reported("a", &[(Metric::peak_memory(), &[1.0])]);
        assert!(failure(&[vec![fine()], vec![bytes]]).contains("process 2 reported different metrics"));
        let mut newer = fine();
        newer.benchmark.version = 2;
        assert!(failure(&[vec![fine()], vec![newer]]).contains("different metrics, versions or work"));
        // The other benchmark of the same processes stands.
        let other = reported("b", &[(Metric::time(), &[1.0])]);
        let both = pooled(&[vec![fine(), other.clone()], vec![other]]);
        assert!(both[0].failure.is_some() && both[1].failure.is_none());
    }
}
