//! What moved lately and how restless the rest is, in plain loops: the reference the tests of those tables compare with.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

use super::fixture::History;
use super::plain::{in_order, is_at, log_change, mean_change, median, monday, places, position, series};
use sprag_base::stats::{describe, student};
use sprag_model::metric::Better;
use sprag_model::movers::{GeomeanRow, MoverRow, NoiseRow, SuiteNoiseRow, WeekMovers};
use sprag_model::run::RecordedRun;
use sprag_model::series::{Point, Series};

/// The judged series with a value in both windows: the worst first.
pub(super) fn movers(history: &History, days: u32) -> Vec<MoverRow> {
    ranked(&compared(history, days))
}

/// The newest so many weeks in which something was measured, those in which something has a week to be held against.
pub(super) fn week_movers(history: &History, most: usize) -> Vec<WeekMovers> {
    let weeks: BTreeSet<NaiveDate> = in_order(history).iter().map(|run| monday(run.run.timestamp)).collect();
    let judged: Vec<Series> = series(history).into_iter().filter(|(_, judged)| *judged).map(|(of, _)| of).collect();
    let mut all = Vec::new();
    for week in weeks.into_iter().rev().take(most) {
        let mut compared = Vec::new();
        for series in &judged {
            let mut by_week: BTreeMap<NaiveDate, Vec<f64>> = BTreeMap::new();
            for point in &series.points {
                by_week.entry(monday(point.time)).or_default().push(point.value);
            }
            if let (Some(now), Some((_, before))) = (by_week.get(&week), by_week.range(..week).next_back()) {
                compared.push(beside(series.clone(), before, now));
            }
        }
        if !compared.is_empty() {
            all.push(WeekMovers { week, movers: ranked(&compared) });
        }
    }
    all
}

/// The rows with their ranks, the worst first.
fn ranked(compared: &[Compared]) -> Vec<MoverRow> {
    let turned = |(series, row, _): &Compared| turned(series, row.difference);
    let mut rows: Vec<(MoverRow, Option<f64>)> = Vec::new();
    for (place, this) in compared.iter().enumerate() {
        let stands_before = |(other_place, other): (usize, &Compared)| {
            let is_worse = turned(other) > turned(this) || (turned(other) == turned(this) && other_place < place);
            other.1.unit == this.1.unit && is_worse
        };
        let rank_in_unit = 1 + compared.iter().enumerate().filter(|&other| stands_before(other)).count();
        rows.push((MoverRow { rank_in_unit, ..this.1.clone() }, this.2));
    }
    // Stable, so that rows with equal changes stay by id.
    let key = |log: Option<f64>| log.unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|a, b| key(b.1).partial_cmp(&key(a.1)).unwrap());
    rows.into_iter().map(|(row, _)| row).collect()
}

/// Every suite, machine and element type with a change.
pub(super) fn geomeans(history: &History, days: u32) -> Vec<GeomeanRow> {
    let mut rows = Vec::new();
    for (suite, machine_name, machine) in places(&in_order(history)) {
        let mut groups: BTreeMap<Option<String>, Vec<(f64, String)>> = BTreeMap::new();
        for (series, row, log) in compared(history, days) {
            if let Some(log) = log.filter(|_| (&series.suite, &series.machine) == (&suite, &machine)) {
                groups.entry(dtype(&series)).or_default().push((log, row.series));
            }
        }
        for (dtype, group) in groups {
            let logs: Vec<f64> = group.iter().map(|(log, _)| *log).collect();
            let worst = logs.iter().copied().reduce(f64::max).unwrap();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
            let error = (squares / (logs.len() as f64 - 1.0) / logs.len() as f64).sqrt();
            let end = |log: f64| log.exp_m1().min(f64::MAX);
            let half = student::two_sided_95(logs.len() - 1) * error;
            rows.push(GeomeanRow {
                suite: suite.clone(),
                machine: machine.clone(),
                machine_name: machine_name.clone(),
                dtype,
                series: logs.len(),
                change: mean_change(&logs).unwrap(),
                interval: (logs.len() >= 3).then(|| (end(mean - half), end(mean + half))),
                worst: end(worst),
                worst_series: group.iter().find(|(log, _)| *log == worst).unwrap().1.clone(),
            });
        }
    }
    rows
}

/// How restless each judged series is, by id.
pub(super) fn noise(history: &History) -> Vec<NoiseRow> {
    let judged = series(history).into_iter().filter(|(_, judged)| *judged);
    let rows = judged.map(|(series, _)| {
        let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
        let of_runs = series.points.iter().filter(|point| point.workers.len() > 1).filter_map(|point| {
            let level = median(&point.workers);
            let distances: Vec<f64> = point.workers.iter().map(|worker| (worker - level).abs()).collect();
            share(median(&distances), level, 1.0)
        });
        let of_runs: Vec<f64> = of_runs.collect();
        let mut steps = Vec::new();
        for place in 1..values.len() {
            steps.push((values[place] - values[place - 1]).abs());
        }
        NoiseRow {
            suite: series.suite.clone(),
            machine: series.machine.clone(),
            runs: values.len(),
            newest: values[values.len() - 1],
            between_workers: (!of_runs.is_empty()).then(|| median(&of_runs)),
            between_runs: if steps.is_empty() { None } else { share(median(&steps), median(&values), 2.0_f64.sqrt()) },
            series: series.id,
        }
    });
    rows.collect()
}

/// How restless the series of every suite and machine are.
pub(super) fn suite_noise(history: &History) -> Vec<SuiteNoiseRow> {
    let noise = noise(history);
    let mut rows = Vec::new();
    for (suite, machine_name, machine) in places(&in_order(history)) {
        let here: Vec<&NoiseRow> = noise.iter().filter(|row| row.suite == suite && row.machine == machine).collect();
        if here.is_empty() {
            continue;
        }
        let workers: Vec<f64> = here.iter().filter_map(|row| row.between_workers).collect();
        let runs: Vec<f64> = here.iter().filter_map(|row| row.between_runs).collect();
        rows.push(SuiteNoiseRow {
            series: here.len(),
            between_workers_median: (!workers.is_empty()).then(|| median(&workers)),
            between_workers_p90: describe::quantile(&workers, 0.9),
            between_runs_median: (!runs.is_empty()).then(|| median(&runs)),
            between_runs_p90: describe::quantile(&runs, 0.9),
            suite,
            machine,
            machine_name,
        });
    }
    rows
}

/// A series, its row without the rank, and the logarithm of its change, turned.
type Compared = (Series, MoverRow, Option<f64>);

/// The judged series with a value in both windows, by id.
fn compared(history: &History, days: u32) -> Vec<Compared> {
    let runs = in_order(history);
    let mut all = Vec::new();
    for (series, judged) in series(history) {
        let here: Vec<&RecordedRun> =
            runs.iter().copied().filter(|run| is_at(run, &series.suite, &series.machine)).collect();
        let looks_back = |run: &RecordedRun| {
            let earlier = here.iter().filter(|other| other.run.timestamp < run.run.timestamp);
            let newest = earlier.filter_map(|other| position(history, other)).max();
            position(history, run).is_some_and(|position| newest.is_some_and(|newest| position < newest))
        };
        let forward: Vec<&RecordedRun> = here.iter().copied().filter(|run| !looks_back(run)).collect();
        let end = forward.iter().map(|run| run.run.timestamp).max().unwrap();
        let length = TimeDelta::days(i64::from(days));
        let values = |after: DateTime<Utc>, until: DateTime<Utc>| {
            let is_forward = |point: &&Point| forward.iter().any(|run| *run.id == *point.run);
            let points = series.points.iter().filter(is_forward);
            let inside = points.filter(|point| after < point.time && point.time <= until);
            inside.map(|point| point.value).collect::<Vec<f64>>()
        };
        let (before, now) = (values(end - length * 2, end - length), values(end - length, end));
        if !judged || before.is_empty() || now.is_empty() {
            continue;
        }
        all.push(beside(series, &before, &now));
    }
    all
}

/// The values of a series before and now as a row without its rank.
fn beside(series: Series, before: &[f64], now: &[f64]) -> Compared {
    let (runs_before, runs_now) = (before.len(), now.len());
    let (before, now) = (median(before), median(now));
    let log = log_change(before, now, &series.metric);
    let row = MoverRow {
        series: series.id.clone(),
        suite: series.suite.clone(),
        machine: series.machine.clone(),
        unit: series.metric.unit,
        before,
        now,
        runs_before,
        runs_now,
        change: (before > 0.0).then(|| (now / before - 1.0).clamp(f64::MIN, f64::MAX)),
        worse: log.map(|log| log.exp_m1().min(f64::MAX)),
        difference: now - before,
        rank_in_unit: 0,
    };
    (series, row, log)
}

fn turned(series: &Series, difference: f64) -> f64 {
    if series.metric.better == Better::Higher { -difference } else { difference }
}

/// The parameter of that name, out of the written parameters.
fn dtype(series: &Series) -> Option<String> {
    let list = series.params.trim_start_matches('{').trim_end_matches('}');
    list.split(',').find_map(|param| param.strip_prefix("dtype=")).map(str::to_owned)
}

/// A spread over a level and some more, as a standard deviation of normal values.
fn share(spread: f64, level: f64, over: f64) -> Option<f64> {
    let share = spread / level.abs() * 1.482_602_218_505_602 / over;
    (level != 0.0).then(|| share.min(f64::MAX))
}
