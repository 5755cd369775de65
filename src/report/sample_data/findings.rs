//! What an analysis would find in the sample, by the simplest rule that makes every verdict.

use chrono::Duration;

use super::HOSTILE;
use super::runs;
use sprag_analysis::frame::{DecodedRuns, Frame};
use sprag_analysis::rollup;
use sprag_model::metric::TIME;
use sprag_model::{
    Analysis, BaselineFacts, Better, CommitLine, Comparison, Counts, Effect, HistoryFacts, LatestRow, NoBaseline,
    Quarantined, RecordedRun, Series, SeriesAnalysis, SuiteAnalysis, Verdict,
};

/// The run of a series whose value is its baseline, counted from the oldest.
const BASELINE_RUN: usize = 9;

pub(super) fn analysis(line: &CommitLine, recorded: &[RecordedRun]) -> Analysis {
    let mut series: Vec<SeriesAnalysis> =
        all_series(line, recorded).into_iter().map(|s| analysed(s, recorded)).collect();
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
                reason: format!("is not JSON: expected value at line 1 {HOSTILE}").into(),
            }],
            warnings: vec!["2 runs are of commits that the repository does not hold".to_owned()],
        },
        weeks: rollup::weeks(&series),
        disagreements: Vec::new(),
        suites,
        series,
    }
}

fn all_series(line: &CommitLine, recorded: &[RecordedRun]) -> Vec<Series> {
    let mut runs = DecodedRuns::default();
    recorded.iter().for_each(|one| runs.add(&one.id, one));
    Frame::new(&runs, line).series
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
