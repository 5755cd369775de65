//! What the frame computes, in plain loops: the reference its tests compare with.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike, NaiveDate, TimeDelta, Utc};

use super::fixture::History;
use sprag_model::baseline::Baseline;
use sprag_model::metric::{Better, Metric};
use sprag_model::rollup::{LatestRow, SuiteRow, WeekRow};
use sprag_model::run::RecordedRun;
use sprag_model::sample::{Estimate, Measurement, Role};
use sprag_model::series::{Point, PointRun, Series};

/// A series and whether it is judged.
pub(super) type Judged = (Series, bool);

pub(super) fn series(history: &History) -> Vec<Judged> {
    let runs = in_order(history);
    let mut all: BTreeMap<String, Judged> = BTreeMap::new();
    let measured = runs.iter().filter(|run| usable(run).next().is_some());
    for (rank, run) in measured.enumerate() {
        for measurement in usable(run) {
            let benchmark = &measurement.benchmark;
            for estimate in &measurement.estimates {
                let id = Series::id_of(&benchmark.id(), benchmark.version, &estimate.metric.name, &run.run.machine.id);
                let (series, _) =
                    all.entry(id.clone()).or_insert_with(|| (empty(id, run, measurement, estimate), false));
                let of = PointRun {
                    commit: run.run.commit.as_ref().map_or("", |commit| &commit.sha).into(),
                    position: position(history, run),
                    rank,
                    time: run.run.timestamp,
                    environment_key: run.run.environment.key.as_str().into(),
                    run: run.id.as_str().into(),
                    dirty: run.run.commit.as_ref().is_some_and(|commit| commit.dirty),
                };
                series.points.push(Point {
                    of: of.into(),
                    value: estimate.value,
                    interval: estimate.interval,
                    workers: estimate.workers.as_slice().into(),
                });
            }
        }
    }
    for (series, judged) in all.values_mut() {
        let newest = runs.iter().rev().filter(|run| run.run.machine.id == series.machine);
        let newest = newest.flat_map(|run| usable(run)).find(|measurement| {
            measurement.benchmark.id() == series.benchmark && measurement.benchmark.version == series.version
        });
        let newest = newest.unwrap();
        let metrics: Vec<&str> = newest.estimates.iter().map(|estimate| estimate.metric.name.as_str()).collect();
        let wanted = ["ratio", "time"].into_iter().find(|wanted| metrics.contains(wanted)).unwrap_or(metrics[0]);
        series.role = newest.role;
        *judged = newest.role == Role::Tracked && series.metric.name == wanted;
        series.machine_name = machine_name(&runs, &series.suite, &series.machine);
    }
    all.into_values().collect()
}

/// The newest values, by id.
pub(super) fn latest(history: &History) -> Vec<LatestRow> {
    series(history).iter().map(|(series, _)| latest_of(series, &history.baselines)).collect()
}

/// Every suite and machine.
pub(super) fn suites(history: &History) -> Vec<SuiteRow> {
    let all = series(history);
    let runs = in_order(history);
    let mut rows = Vec::new();
    for (suite, name, machine) in places(&runs) {
        let times: Vec<DateTime<Utc>> =
            runs.iter().filter(|run| is_at(run, &suite, &machine)).map(|run| run.run.timestamp).collect();
        let judged: Vec<&Series> = all
            .iter()
            .filter(|(series, judged)| *judged && series.suite == suite && series.machine == machine)
            .map(|(series, _)| series)
            .collect();
        let changes = |earlier: fn(&LatestRow) -> Option<f64>| {
            let logs = judged.iter().filter_map(|series| {
                let latest = latest_of(series, &history.baselines);
                log_change(earlier(&latest)?, latest.current, &series.metric)
            });
            mean_change(&logs.collect::<Vec<f64>>())
        };
        assert_eq!(machine_name(&runs, &suite, &machine), name);
        rows.push(SuiteRow {
            runs: times.len(),
            series: judged.len(),
            first: *times.iter().min().unwrap(),
            last: *times.iter().max().unwrap(),
            change_previous: changes(|latest| latest.previous),
            change_baseline: changes(|latest| latest.baseline),
            suite,
            machine,
        });
    }
    rows
}

/// Every week, newest first.
pub(super) fn weeks(history: &History) -> Vec<WeekRow> {
    let all = series(history);
    let runs = in_order(history);
    let mut rows = Vec::new();
    let weeks: BTreeSet<NaiveDate> = runs.iter().map(|run| monday(run.run.timestamp)).collect();
    for week in weeks.into_iter().rev() {
        for (suite, machine_name, machine) in places(&runs) {
            let here = runs.iter().filter(|run| is_at(run, &suite, &machine) && monday(run.run.timestamp) == week);
            let n_runs = here.count();
            if n_runs == 0 {
                continue;
            }
            let mut n_series = 0;
            let mut changes: Vec<(f64, &str)> = Vec::new();
            for (series, judged) in &all {
                if !judged || series.suite != suite || series.machine != machine {
                    continue;
                }
                let mut by_week: BTreeMap<NaiveDate, Vec<f64>> = BTreeMap::new();
                for point in &series.points {
                    by_week.entry(monday(point.time)).or_default().push(point.value);
                }
                let Some(now) = by_week.get(&week) else { continue };
                n_series += 1;
                let Some((_, before)) = by_week.range(..week).next_back() else { continue };
                if let Some(change) = log_change(median(before), median(now), &series.metric) {
                    changes.push((change, &series.id));
                }
            }
            let logs: Vec<f64> = changes.iter().map(|(change, _)| *change).collect();
            let worst = logs.iter().copied().reduce(f64::max);
            let worst_series = changes.iter().find(|(change, _)| Some(*change) == worst);
            rows.push(WeekRow {
                week,
                suite,
                machine,
                machine_name,
                runs: n_runs,
                series: n_series,
                compared: changes.len(),
                change: mean_change(&logs),
                worst: worst.map(|log| log.exp_m1().min(f64::MAX)),
                worst_series: worst_series.map(|(_, id)| (*id).to_owned()),
                best: logs.iter().copied().reduce(f64::min).map(|log| log.exp_m1().min(f64::MAX)),
            });
        }
    }
    rows
}

/// Whether two changes are the same but for rounding.
pub(super) fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
        (a, b) => a == b,
    }
}

pub(super) fn in_order(history: &History) -> Vec<&RecordedRun> {
    let mut runs: Vec<&RecordedRun> = history.runs.iter().filter(|run| usable(run).next().is_some()).collect();
    runs.sort_by_key(|run| {
        let aside = match &run.run.commit {
            Some(commit) => (commit.commit_time, commit.sha.clone()),
            None => (run.run.timestamp, String::new()),
        };
        let place = match position(history, run) {
            Some(position) => (position + 1, None),
            None => {
                let mut before = 0;
                while before < history.line.commits.len() && history.line.commits[before].commit_time <= aside.0 {
                    before += 1;
                }
                (before, Some(aside))
            }
        };
        (place, run.run.timestamp, run.id.clone())
    });
    runs
}

pub(super) fn position(history: &History, run: &RecordedRun) -> Option<usize> {
    let sha = &run.run.commit.as_ref()?.sha;
    history.line.commits.iter().position(|commit| commit.sha == *sha)
}

fn usable(run: &RecordedRun) -> impl Iterator<Item = &Measurement> {
    run.run.measurements.iter().filter(|measurement| measurement.is_usable() && !measurement.estimates.is_empty())
}

/// Suite, name and id of each machine.
pub(super) fn places(runs: &[&RecordedRun]) -> BTreeSet<(String, String, String)> {
    let places = runs.iter().map(|run| (&run.run.suite, &run.run.machine.id));
    places.map(|(suite, machine)| (suite.clone(), machine_name(runs, suite, machine), machine.clone())).collect()
}

pub(super) fn machine_name(runs: &[&RecordedRun], suite: &str, machine: &str) -> String {
    runs.iter().rev().find(|run| is_at(run, suite, machine)).unwrap().run.machine.name.clone()
}

pub(super) fn is_at(run: &RecordedRun, suite: &str, machine: &str) -> bool {
    run.run.suite == suite && run.run.machine.id == machine
}

fn empty(id: String, run: &RecordedRun, measurement: &Measurement, estimate: &Estimate) -> Series {
    let benchmark = &measurement.benchmark;
    Series {
        id,
        suite: run.run.suite.clone(),
        benchmark: benchmark.id(),
        name: benchmark.name.clone(),
        params: benchmark.params_text(),
        variant: benchmark.variant.clone(),
        version: benchmark.version,
        role: measurement.role,
        metric: estimate.metric.clone(),
        machine: run.run.machine.id.clone(),
        machine_name: String::new(),
        machine_class: run.run.machine.class.clone(),
        points: Vec::new(),
    }
}

fn latest_of(series: &Series, baselines: &[Baseline]) -> LatestRow {
    let newest = series.points.last().unwrap();
    let previous = series.points.iter().rev().nth(1).map(|point| point.value);
    let fitting = baselines
        .iter()
        .filter(|baseline| baseline.suite == series.suite && baseline.machine_class == series.machine_class);
    let key = Baseline::key(&series.benchmark, &series.metric.name);
    let having = fitting.filter(|baseline| baseline.metrics.contains_key(&key));
    let youngest = having.max_by_key(|baseline| (baseline.timestamp_utc, baseline.run.clone()));
    let baseline = youngest.map(|baseline| baseline.metrics[&key].value);
    let change = |earlier: Option<f64>| {
        let earlier = earlier.filter(|earlier| *earlier > 0.0)?;
        Some((newest.value / earlier - 1.0).clamp(f64::MIN, f64::MAX))
    };
    LatestRow {
        series: series.id.clone(),
        current: newest.value,
        run: newest.run.to_string(),
        previous,
        baseline,
        change_previous: change(previous),
        change_baseline: change(baseline),
        points: series.points.len(),
    }
}

pub(super) fn log_change(before: f64, now: f64, metric: &Metric) -> Option<f64> {
    if before <= 0.0 || now <= 0.0 {
        return None;
    }
    let difference = now.ln() - before.ln();
    Some(if metric.better == Better::Higher { -difference } else { difference })
}

pub(super) fn mean_change(logs: &[f64]) -> Option<f64> {
    if logs.is_empty() {
        return None;
    }
    Some((logs.iter().sum::<f64>() / logs.len() as f64).exp_m1().min(f64::MAX))
}

pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { sorted[middle - 1] / 2.0 + sorted[middle] / 2.0 }
}

pub(super) fn monday(time: DateTime<Utc>) -> NaiveDate {
    let date = time.date_naive();
    date - TimeDelta::days(i64::from(date.weekday().num_days_from_monday()))
}
