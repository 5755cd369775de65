//! One run against one baseline: which metrics are held against what, and what follows.

use crate::model::baseline::{Baseline, BaselineMetric};
use crate::model::environment::FactChange;
use crate::model::metric::{Better, Metric, TIME};
use crate::model::run::{Run, RunStatus};
use crate::model::sample::{Estimate, Measurement};
use crate::model::series::Series;
use crate::model::verdict::{Comparison, Verdict};

use super::rules::tolerance;

/// Holds a run against a baseline, worst first.
///
/// Every metric of the baseline gives one comparison, and so does every judged metric of the run that the baseline
/// lacks. Where the environments differ, no value is judged: each comparison names what differs.
pub fn against_baseline(run: &Run, baseline: &Baseline) -> Vec<Comparison> {
    let obstacle = obstacle(run, baseline);
    let mut comparisons: Vec<Comparison> =
        baseline.metrics.iter().map(|(key, entry)| held_against(run, key, entry, obstacle.as_deref())).collect();
    for (measurement, estimate) in judged_of(run) {
        let key = Baseline::key(&measurement.benchmark.id(), &estimate.metric.name);
        if !baseline.metrics.contains_key(&key) {
            comparisons.push(alone(run, measurement, estimate, Verdict::NoBaseline));
        }
    }
    sort_worst_first(&mut comparisons);
    comparisons
}

/// The judged metrics of a run that is held against nothing, each with the verdict that says why.
pub fn unjudged(run: &Run, verdict: &Verdict) -> Vec<Comparison> {
    let comparison = |(measurement, estimate)| alone(run, measurement, estimate, verdict.clone());
    let mut comparisons: Vec<Comparison> = judged_of(run).map(comparison).collect();
    sort_worst_first(&mut comparisons);
    comparisons
}

/// What a baseline holds where the suite has no run at all: every metric is missing.
pub fn all_missing(baseline: &Baseline, note: &str) -> Vec<Comparison> {
    let missing = |(key, entry): (&String, &BaselineMetric)| {
        let (benchmark, metric) = Baseline::split_key(key).unwrap_or((key, TIME));
        Comparison {
            benchmark: benchmark.to_owned(),
            metric: Metric { name: metric.to_owned(), unit: entry.unit, better: entry.better },
            series: None,
            baseline: Some(entry.value),
            allowed: None,
            current: None,
            effect: None,
            rule: tolerance::NAME,
            verdict: Verdict::Missing,
            note: Some(note.to_owned()),
        }
    };
    baseline.metrics.iter().map(missing).collect()
}

/// What differs between two environments, as `compiler 1.94 → 1.95, libc …`.
pub fn describe_differences(differences: &[FactChange]) -> String {
    let list: Vec<String> =
        differences.iter().map(|change| format!("{} {} → {}", change.fact, change.was, change.is)).collect();
    list.join(", ")
}

fn judged_of(run: &Run) -> impl Iterator<Item = (&Measurement, &Estimate)> {
    run.measurements.iter().filter_map(|measurement| Some((measurement, measurement.judged()?)))
}

/// Why no value of the run may be judged against the baseline.
fn obstacle(run: &Run, baseline: &Baseline) -> Option<String> {
    if run.machine.class != baseline.machine_class {
        return Some(format!("machine class {} → {}", baseline.machine_class, run.machine.class));
    }
    let differences = baseline.environment.differences(&run.environment);
    if differences.is_empty() { None } else { Some(describe_differences(&differences)) }
}

fn held_against(run: &Run, key: &str, entry: &BaselineMetric, obstacle: Option<&str>) -> Comparison {
    let (benchmark, metric_name) = Baseline::split_key(key).unwrap_or((key, TIME));
    let metric = Metric { name: metric_name.to_owned(), unit: entry.unit, better: entry.better };
    let measurement = run.measurements.iter().find(|one| one.benchmark.id() == benchmark);
    let estimate = measurement.and_then(|one| one.estimate(metric_name));
    let mut comparison = Comparison {
        benchmark: benchmark.to_owned(),
        metric,
        series: measurement.map(|one| series_id(run, one, metric_name)),
        baseline: Some(entry.value),
        allowed: None,
        current: estimate.map(|one| one.value),
        effect: None,
        rule: tolerance::NAME,
        verdict: Verdict::Missing,
        note: measurement.and_then(|one| one.failure.clone()),
    };
    let Some(estimate) = estimate else {
        if run.status != RunStatus::Ok {
            comparison.note = run.reason.clone();
        }
        return comparison;
    };
    if (estimate.metric.unit, estimate.metric.better) != (entry.unit, entry.better) {
        let words =
            |unit, better| format!("{unit}, {} is better", if better == Better::Lower { "lower" } else { "higher" });
        let was = words(entry.unit, entry.better);
        let is = words(estimate.metric.unit, estimate.metric.better);
        comparison.verdict = Verdict::NotComparable(format!("the metric was recorded as {was}, now as {is}"));
        return comparison;
    }
    if let Some(obstacle) = obstacle {
        comparison.verdict = Verdict::NotComparable(obstacle.to_owned());
        return comparison;
    }
    let decision = tolerance::decide(entry, estimate.value, estimate.interval);
    comparison.allowed = Some(decision.allowed);
    comparison.effect = Some(decision.effect);
    comparison.verdict = decision.verdict;
    comparison
}

fn alone(run: &Run, measurement: &Measurement, estimate: &Estimate, verdict: Verdict) -> Comparison {
    Comparison {
        benchmark: measurement.benchmark.id(),
        metric: estimate.metric.clone(),
        series: Some(series_id(run, measurement, &estimate.metric.name)),
        baseline: None,
        allowed: None,
        current: Some(estimate.value),
        effect: None,
        rule: tolerance::NAME,
        verdict,
        note: None,
    }
}

fn series_id(run: &Run, measurement: &Measurement, metric: &str) -> String {
    Series::id_of(&measurement.benchmark.id(), measurement.benchmark.version, metric, &run.machine.id)
}

/// Failures first, then what is in doubt, then changes by size; equals by name.
pub(super) fn sort_worst_first(comparisons: &mut [Comparison]) {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::Regressed => 0,
        Verdict::Missing => 1,
        Verdict::Inconclusive(_) => 2,
        Verdict::NotComparable(_) => 3,
        Verdict::NoBaseline => 4,
        Verdict::Improved => 5,
        Verdict::Unchanged => 6,
    };
    let size = |comparison: &Comparison| comparison.effect.map_or(0.0, |effect| effect.change.abs());
    comparisons.sort_by(|a, b| {
        rank(&a.verdict)
            .cmp(&rank(&b.verdict))
            .then_with(|| size(b).total_cmp(&size(a)))
            .then_with(|| a.benchmark.cmp(&b.benchmark))
            .then_with(|| a.metric.cmp(&b.metric))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example;
    use crate::model::environment::Environment;
    use crate::model::unit::Unit;

    fn verdicts(run: &Run, baseline: &Baseline) -> Vec<(String, Verdict)> {
        against_baseline(run, baseline).into_iter().map(|one| (one.benchmark, one.verdict)).collect()
    }

    #[test]
    fn every_metric_of_either_side_gets_a_verdict_worst_first() {
        let before = example::run("cpu", "a", 1, &[("slow", 1.0), ("fast", 1.0), ("same", 1.0), ("gone", 1.0)]);
        let mut now = example::run("cpu", "a", 2, &[("slow", 1.3), ("fast", 0.7), ("same", 1.1), ("new", 1.0)]);
        let mut wrong = example::measurement("cpu", "gone", 1.0);
        wrong.estimates.clear();
        wrong.failure = Some("parity: wrong".to_owned());
        now.measurements.push(wrong);
        let baseline = example::baseline(&before, 0.2);
        let expected = [
            ("cpu/slow @fast", Verdict::Regressed),
            ("cpu/gone @fast", Verdict::Missing),
            ("cpu/new @fast", Verdict::NoBaseline),
            ("cpu/fast @fast", Verdict::Improved),
            ("cpu/same @fast", Verdict::Unchanged),
        ];
        assert_eq!(verdicts(&now, &baseline), expected.map(|(id, verdict)| (id.to_owned(), verdict)));
        let gone = &against_baseline(&now, &baseline)[1];
        assert_eq!((gone.current, gone.note.as_deref()), (None, Some("parity: wrong")));
    }

    #[test]
    fn other_environments_classes_and_units_are_not_judged() {
        let before = example::run("cpu", "a", 1, &[("x", 1.0)]);
        let baseline = example::baseline(&before, 0.2);
        let reason = |run: &Run, baseline: &Baseline| match &against_baseline(run, baseline)[0].verdict {
            Verdict::NotComparable(reason) => reason.clone(),
            verdict => panic!("{verdict:?}"),
        };
        let mut newer = example::run("cpu", "a", 2, &[("x", 9.0)]);
        newer.environment = Environment::from_facts([("compiler".to_owned(), "rustc 1.96".to_owned())].into());
        assert_eq!(reason(&newer, &baseline), "compiler rustc 1.95 → rustc 1.96");
        let mut other = example::run("cpu", "a", 2, &[("x", 9.0)]);
        other.machine.class = "other CPU".to_owned();
        assert_eq!(reason(&other, &baseline), "machine class CPU → other CPU");
        let mut bytes = baseline.clone();
        bytes.metrics.values_mut().for_each(|entry| entry.unit = Unit::Byte);
        assert!(reason(&before, &bytes).starts_with("the metric was recorded as B"));
    }
}
