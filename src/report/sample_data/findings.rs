//! What an analysis would find in the sample, by the simplest rule that makes every verdict.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{Datelike, Duration, NaiveDate};

use super::HOSTILE;
use super::runs;
use sprag_model::metric::TIME;
use sprag_model::{
    Analysis, BaselineFacts, Better, CommitLine, Comparison, Counts, Effect, HistoryFacts, LatestRow, MoverRow,
    NoBaseline, Point, PointRun, Quarantined, RecordedRun, Series, SeriesAnalysis, SuiteAnalysis, Verdict, WeekMovers,
    WeekRow,
};

/// The run of a series whose value is its baseline, counted from the oldest.
const BASELINE_RUN: usize = 9;

pub(super) fn analysis(line: &CommitLine, recorded: &[RecordedRun]) -> Analysis {
    let mut series: Vec<SeriesAnalysis> =
        all_series(line, recorded).into_values().map(|s| analysed(s, recorded)).collect();
    series.sort_by(|a, b| a.series.id.cmp(&b.series.id));
    let suites = [("cpu", 0), ("cpu", 1), ("gpu", 0), ("gpu", 1)];
    let suites = suites.map(|(suite, number)| suite_on(suite, number, recorded, &series)).to_vec();
    let as_of = recorded.iter().map(|run| run.run.timestamp).max();
    Analysis {
        project: "kernels & tiles".to_owned(),
        as_of,
        every_days: 7,
        history: HistoryFacts {
            reference: Some("refs/heads/main".to_owned()),
            tip: line.commits.last().map(|commit| commit.sha.clone()),
            runs: recorded.len(),
            first: recorded.iter().map(|run| run.run.timestamp).min(),
            retracted: Vec::new(),
            quarantined: vec![Quarantined {
                path: "history/v1/cpu/2026/05/a3f19c2b01d4-4f1c20ab-9d04c1e29d04c1e2.json".to_owned(),
                reason: format!("is not JSON: expected value at line 1 {HOSTILE}"),
            }],
            warnings: vec!["2 runs are of commits that the repository does not hold".to_owned()],
        },
        weeks: weeks(&suites, &series),
        disagreements: Vec::new(),
        suites,
        series,
    }
}

fn all_series(line: &CommitLine, recorded: &[RecordedRun]) -> BTreeMap<String, Series> {
    let positions = line.positions();
    let mut all: BTreeMap<String, Series> = BTreeMap::new();
    for RecordedRun { id: run_id, run, .. } in recorded {
        let commit = run.commit.as_ref().expect("every run of the sample has a commit");
        let position = positions.get(commit.sha.as_str()).copied();
        let of = Arc::new(PointRun {
            commit: commit.sha.as_str().into(),
            position,
            rank: position.unwrap_or_default(),
            time: run.timestamp,
            environment_key: run.environment.key.as_str().into(),
            run: run_id.as_str().into(),
            dirty: commit.dirty,
        });
        for measurement in &run.measurements {
            for estimate in &measurement.estimates {
                let benchmark = measurement.benchmark.id();
                let id = Series::id_of(&benchmark, 1, &estimate.metric.name, &run.machine.id);
                let series = all.entry(id.clone()).or_insert_with(|| Series {
                    id,
                    suite: run.suite.clone(),
                    name: measurement.benchmark.name.clone(),
                    params: measurement.benchmark.params_text(),
                    variant: measurement.benchmark.variant.clone(),
                    version: 1,
                    role: measurement.role,
                    metric: estimate.metric.clone(),
                    machine: run.machine.id.clone(),
                    machine_name: run.machine.name.clone(),
                    machine_class: run.machine.class.clone(),
                    points: Vec::new(),
                    benchmark,
                });
                series.points.push(Point {
                    of: Arc::clone(&of),
                    value: estimate.value,
                    interval: estimate.interval,
                    workers: estimate.workers.as_slice().into(),
                });
            }
        }
    }
    all
}

fn judged(series: &Series) -> bool {
    series.metric.name == if series.name == "infer" { TIME } else { "ratio" }
}

fn analysed(series: Series, recorded: &[RecordedRun]) -> SeriesAnalysis {
    let newest = series.newest().expect("every series of the sample has points").clone();
    let at_tip = *newest.run == *newest_of(&series.suite, &series.machine, recorded).id;
    let judged = judged(&series);
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    let baseline = (judged && series.suite == "cpu").then(|| values[BASELINE_RUN.min(values.len() - 1)]);
    let previous = values.len().checked_sub(2).map(|position| values[position]);
    let latest = LatestRow {
        current: newest.value,
        previous,
        baseline,
        change_previous: previous.map(|previous| newest.value / previous - 1.0),
        change_baseline: baseline.map(|baseline| newest.value / baseline - 1.0),
    };
    let comparison = judged.then(|| compare(&series, baseline, at_tip.then_some(newest.value)));
    let word = comparison.as_ref().map_or("shown only", |comparison| comparison.verdict.word());
    let sentence = format!("{} of {} on {}: {word}.", series.metric.name, series.benchmark, series.machine_name);
    SeriesAnalysis { judged, at_tip, last: newest.time, latest, comparison, sentence, series }
}

fn compare(series: &Series, baseline: Option<f64>, current: Option<f64>) -> Comparison {
    let tolerance = 0.02;
    let change = baseline.zip(current).map(|(baseline, current)| current / baseline - 1.0);
    let verdict = match (series.suite.as_str(), series.machine_name.as_str(), current, change) {
        (_, _, None, _) => Verdict::Missing,
        ("gpu", _, _, _) => Verdict::NotComparable("gpu_driver differs from the baseline's".to_owned()),
        (_, runs::SECOND_MACHINE, _, _) if series.variant == "reference" => {
            Verdict::Inconclusive("the interval holds both 0 and the limit".to_owned())
        }
        (_, _, _, None) => Verdict::NoBaseline,
        (_, _, _, Some(change)) if change > tolerance => Verdict::Regressed,
        (_, _, _, Some(change)) if change < -tolerance => Verdict::Improved,
        _ => Verdict::Unchanged,
    };
    Comparison {
        benchmark: series.benchmark.clone(),
        metric: series.metric.clone(),
        series: Some(series.id.clone()),
        baseline,
        allowed: baseline.map(|baseline| match series.metric.better {
            Better::Lower => baseline * (1.0 + tolerance),
            Better::Higher => baseline * (1.0 - tolerance),
        }),
        current,
        effect: change.map(|change| Effect {
            change,
            interval: Some((change - 0.006, change + 0.006)),
            detectable: Some(tolerance + 0.006),
        }),
        p_value: None,
        rule: "interval",
        answer: None,
        note: (verdict == Verdict::Missing).then(|| format!("failed: worker 3 ended by signal 11 {HOSTILE}")),
        verdict,
    }
}

fn newest_of<'a>(suite: &str, machine: &str, recorded: &'a [RecordedRun]) -> &'a RecordedRun {
    let of = recorded.iter().filter(|run| run.run.suite == suite && run.run.machine.id == machine);
    of.max_by_key(|run| run.run.timestamp).expect("every suite of the sample ran on every machine")
}

fn suite_on(suite: &str, number: usize, recorded: &[RecordedRun], series: &[SeriesAnalysis]) -> SuiteAnalysis {
    let machine = runs::machine(number);
    let newest = newest_of(suite, &machine.id, recorded);
    let of = |run: &&RecordedRun| run.run.suite == suite && run.run.machine == machine && run.id != newest.id;
    let before = recorded.iter().filter(of).max_by_key(|run| run.run.timestamp);
    let own = || series.iter().filter(|s| s.judged && s.series.suite == suite && s.series.machine == machine.id);
    let mut comparisons: Vec<Comparison> = own().filter_map(|series| series.comparison.clone()).collect();
    let worst_first =
        ["regressed", "missing", "inconclusive", "not comparable", "no baseline", "improved", "unchanged"];
    comparisons.sort_by_key(|one| worst_first.iter().position(|word| *word == one.verdict.word()));
    let failures = newest.run.measurements.iter();
    SuiteAnalysis {
        suite: suite.to_owned(),
        machine: machine.id.clone(),
        machine_name: machine.name.clone(),
        machine_class: machine.class.clone(),
        run: newest.id.clone(),
        time: newest.run.timestamp,
        narrowed: false,
        last: newest.run.timestamp,
        commit: newest.run.commit.clone(),
        status: newest.run.status,
        reason: newest.run.reason.clone(),
        quality: newest.run.quality.clone(),
        imported: false,
        failures: failures.filter_map(|m| Some((m.benchmark.id(), m.failure.clone()?))).collect(),
        environment_changes: before.map(|b| b.run.environment.differences(&newest.run.environment)),
        baseline: if suite == "cpu" {
            Ok(BaselineFacts {
                path: format!("baselines/{suite}.amd-epyc-9354.json"),
                commit: newest.run.commit.as_ref().map(|commit| commit.sha.clone()),
                time: newest.run.timestamp - Duration::days(70),
            })
        } else {
            Err(NoBaseline::Absent("baselines/gpu.nvidia-h100.json".to_owned()))
        },
        counts: Counts::from_comparisons(&comparisons),
        mean_baseline: (suite == "cpu").then(|| (own().count(), -0.013)),
        comparisons,
    }
}

/// What moved in single weeks: each has one run a series, so the value of the week before is that of the run before.
pub(super) fn movers(analysis: &Analysis) -> Vec<WeekMovers> {
    let mut weeks: BTreeMap<NaiveDate, Vec<MoverRow>> = BTreeMap::new();
    for one in analysis.series.iter().filter(|one| one.judged) {
        for pair in one.series.points.windows(2) {
            let (before, now) = (pair[0].value, pair[1].value);
            weeks.entry(monday(pair[1].time.date_naive())).or_default().push(MoverRow {
                series: one.series.id.clone(),
                suite: one.series.suite.clone(),
                machine: one.series.machine.clone(),
                unit: one.series.metric.unit,
                before,
                now,
                runs_before: 1,
                runs_now: 1,
                change: Some(now / before - 1.0),
                worse: Some(now / before - 1.0),
                difference: now - before,
                rank_in_unit: 1,
            });
        }
    }
    let worst_first = |(week, mut movers): (NaiveDate, Vec<MoverRow>)| {
        movers.sort_by(|a, b| b.worse.partial_cmp(&a.worse).expect("every one has a change"));
        WeekMovers { week, movers }
    };
    weeks.into_iter().rev().take(26).map(worst_first).collect()
}

fn weeks(suites: &[SuiteAnalysis], series: &[SeriesAnalysis]) -> Vec<WeekRow> {
    let mut noise = runs::Noise(11);
    let mut rows = Vec::new();
    for back in 0..6 {
        for suite in suites {
            let is_own =
                |s: &&SeriesAnalysis| s.judged && s.series.suite == suite.suite && s.series.machine == suite.machine;
            let Some(own) = series.iter().find(is_own) else { continue };
            let change = Some(0.002 * noise.next()).filter(|_| back != 5);
            rows.push(WeekRow {
                week: monday(suite.time.date_naive() - Duration::weeks(back)),
                suite: suite.suite.clone(),
                machine: suite.machine.clone(),
                machine_name: suite.machine_name.clone(),
                runs: 1,
                series: 12,
                compared: if change.is_some() { 12 } else { 0 },
                change,
                worst: change.map(|change| change.abs() + 0.01),
                worst_series: change.map(|_| own.series.id.clone()),
                best: change.map(|change| -change.abs() - 0.008),
            });
        }
    }
    rows
}

fn monday(day: NaiveDate) -> NaiveDate {
    day - Duration::days(i64::from(day.weekday().num_days_from_monday()))
}
