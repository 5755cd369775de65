//! A run against a baseline: which metrics are compared with which values, and what follows.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::family::{self, Basis};
use super::rules::interval::WIDEST;
use super::session_noise::MachineNoise;
use super::{rules, session_noise};
use sprag_model::metric::TIME;
use sprag_model::{
    Baseline, BaselineMetric, Better, Comparison, Estimate, FactChange, Measurement, Metric, Rule, Run, RunStatus,
    Series, SessionNoise, Side, TwoSides, Verdict,
};

/// Facts that distinguish machines of other tools, where both sides have them.
const IMPORTED: [&str; 4] = ["cores", "memory_gib", "os", "target"];

/// The attribute that says what limits a benchmark, and its value where that is the memory.
const CLASS: (&str, &str) = ("class", "dram");

/// The fact, and its value, by which a machine is known to be one of several on the same hardware.
const SHARED: (&str, &str) = ("virtual_machine", "yes");

/// Holds a run against a baseline, worst first.
///
/// Every metric of the baseline gives one comparison, and so does every judged metric of the run that the baseline
/// lacks. Where the environments differ, no value is judged: each comparison names what differs. `reruns` are further runs
/// of the same commit on the same machine: with those of the same environment as `run`, they make its level surer.
pub fn against_baseline(run: &Run, reruns: &[&Run], baseline: &Baseline) -> Vec<Comparison> {
    let obstacle = obstacle(run, baseline);
    let fits = |one: &&&Run| one.environment.key == run.environment.key && one.status == RunStatus::Ok;
    let reruns: Vec<ById<'_>> = reruns.iter().filter(fits).map(|one| ById::new(one)).collect();
    let by_id = ById::new(run);
    let context = Context {
        obstacle: obstacle.as_deref(),
        machine: MachineNoise::from_run(run, &[]),
        is_same_session: (run.timestamp - baseline.timestamp_utc).abs() < session_noise::SESSION,
    };
    let judged = baseline.metrics.iter();
    let judged = judged.map(|(key, entry)| compare_metric(&by_id, &reruns, key, entry, &context));
    let mut comparisons = without_chance(judged.collect());
    for (measurement, estimate) in judged_of(run) {
        let key = Baseline::key(&measurement.benchmark.id(), &estimate.metric.name);
        if !baseline.metrics.contains_key(&key) {
            comparisons.push(alone(run, measurement, estimate, Verdict::NoBaseline));
        }
    }
    let listed: HashSet<String> = comparisons.iter().map(|one| one.benchmark.clone()).collect();
    comparisons.extend(failed_of(run).filter(|one| !listed.contains(&one.benchmark)));
    sort_worst_first(&mut comparisons);
    comparisons
}

/// Benchmarks that gave no result although they should have: they are missing, whatever they are compared with.
fn failed_of(run: &Run) -> impl Iterator<Item = Comparison> {
    run.measurements.iter().filter(|one| one.role.is_tracked()).filter_map(|one| {
        let failure = one.failed()?;
        let missing = Comparison::bare(&one.benchmark.id(), Metric::time(), Rule::NAMES[0], Verdict::Missing);
        Some(Comparison { note: Some(failure.to_owned()), ..missing })
    })
}

/// Has metrics pass whose estimate is within a requested tolerance, if their interval reaches no further than [`WIDEST`].
pub fn pass_within(comparisons: &mut [Comparison], tolerance: Option<f64>) {
    let Some(tolerance) = tolerance else { return };
    for one in comparisons {
        let (Some(effect), Verdict::Inconclusive(reason)) = (one.effect, &one.verdict) else { continue };
        let (low, high) = effect.interval.unwrap_or((effect.change, effect.change));
        let (worse, worst) = match one.metric.better {
            Better::Lower => (effect.change, high),
            Better::Higher => (1.0 / (1.0 + effect.change) - 1.0, 1.0 / (1.0 + low) - 1.0),
        };
        if worse <= tolerance && (1.0 + worst) / (1.0 + worse) <= 1.0 + WIDEST {
            one.note = Some(format!("within the tolerance, but not certain: {reason}"));
            one.verdict = Verdict::Unchanged;
        }
    }
}

/// The judged metrics of a run that is compared with nothing, each with the verdict that says why.
pub fn unjudged(run: &Run, verdict: &Verdict) -> Vec<Comparison> {
    let comparison = |(measurement, estimate)| alone(run, measurement, estimate, verdict.clone());
    let mut comparisons: Vec<Comparison> = judged_of(run).map(comparison).collect();
    comparisons.extend(failed_of(run));
    sort_worst_first(&mut comparisons);
    comparisons
}

/// What a baseline holds where the suite has no run at all: every metric is missing.
pub fn all_missing(baseline: &Baseline, note: &str) -> Vec<Comparison> {
    let missing = |(key, entry): (&String, &BaselineMetric)| {
        let (benchmark, metric) = Baseline::split_key(key).unwrap_or((key, TIME));
        let metric = Metric { name: metric.to_owned(), unit: entry.unit, better: entry.better };
        Comparison {
            baseline: Some(entry.value),
            note: Some(note.to_owned()),
            ..Comparison::bare(benchmark, metric, entry.rule.name(), Verdict::Missing)
        }
    };
    baseline.metrics.iter().map(missing).collect()
}

/// As [`family::without_chance`], of metrics that are called changed either way.
pub(super) fn without_chance(judged: Vec<(Comparison, Basis)>) -> Vec<Comparison> {
    family::without_chance(judged, &[Verdict::Regressed, Verdict::Improved], "metrics")
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
    let mut differences = baseline.environment.differences(&run.environment);
    if run.is_imported() {
        // All that is known of a machine is what the other tool reports.
        differences.extend(IMPORTED.iter().filter_map(|fact| {
            let [was, is] = [&baseline.environment, &run.environment].map(|one| one.facts.get(*fact));
            let (was, is) = (was?.clone(), is?.clone());
            (was != is).then(|| FactChange { fact: (*fact).to_owned(), was, is })
        }));
    }
    if differences.is_empty() { None } else { Some(describe_differences(&differences)) }
}

/// A run, and its measurements by the written identity of their benchmarks.
struct ById<'r> {
    run: &'r Run,
    measurements: HashMap<String, &'r Measurement>,
}

impl<'r> ById<'r> {
    fn new(run: &'r Run) -> ById<'r> {
        let mut measurements = HashMap::with_capacity(run.measurements.len());
        for one in &run.measurements {
            measurements.entry(one.benchmark.id()).or_insert(one);
        }
        ById { run, measurements }
    }

    fn find(&self, benchmark: &str) -> Option<&'r Measurement> {
        self.measurements.get(benchmark).copied()
    }
}

/// What concerns all metrics of a run.
struct Context<'a> {
    /// Why none may be judged.
    obstacle: Option<&'a str>,
    machine: MachineNoise,
    /// Whether the base was measured less than an hour apart.
    is_same_session: bool,
}

fn compare_metric(
    by_id: &ById<'_>,
    reruns: &[ById<'_>],
    key: &str,
    entry: &BaselineMetric,
    context: &Context<'_>,
) -> (Comparison, Basis) {
    let (benchmark, metric_name) = Baseline::split_key(key).unwrap_or((key, TIME));
    let metric = Metric { name: metric_name.to_owned(), unit: entry.unit, better: entry.better };
    let (run, measurement) = (by_id.run, by_id.find(benchmark));
    let estimate = measurement.filter(|one| one.is_usable()).and_then(|one| one.estimate(metric_name));
    let mut comparison = Comparison {
        series: measurement.map(|one| series_id(run, one, metric_name)),
        baseline: Some(entry.value),
        current: estimate.map(|one| one.value),
        note: measurement.and_then(|one| one.failed().or(one.skipped())).map(str::to_owned),
        ..Comparison::bare(benchmark, metric, entry.rule.name(), Verdict::Missing)
    };
    let (Some(measurement), Some(estimate)) = (measurement, estimate) else {
        if run.status != RunStatus::Ok {
            comparison.note = run.reason.clone();
        }
        return (comparison, None);
    };
    let version = measurement.benchmark.version;
    let reason = if (estimate.metric.unit, estimate.metric.better) != (entry.unit, entry.better) {
        Some(comparison.metric.redefined(&estimate.metric))
    } else if let Some(was) = entry.version.filter(|was| *was != version) {
        Some(format!("version {was} → {version} of the benchmark: other work"))
    } else {
        context.obstacle.map(str::to_owned)
    };
    if let Some(reason) = reason {
        comparison.verdict = Verdict::NotComparable(reason);
        return (comparison, None);
    }
    let evidence = evidence_of(by_id, reruns, (measurement, estimate), entry, context);
    comparison.current = Some(evidence.current.value);
    (rules::judge(comparison, &entry.rule, &evidence), Some((entry.rule, evidence)))
}

/// What is known of a metric that is there on both sides.
fn evidence_of(
    by_id: &ById<'_>,
    reruns: &[ById<'_>],
    (measurement, estimate): (&Measurement, &Estimate),
    entry: &BaselineMetric,
    context: &Context<'_>,
) -> TwoSides {
    let (run, benchmark) = (by_id.run, measurement.benchmark.id());
    let value =
        |one: &ById<'_>| Some((one.run.timestamp, one.find(&benchmark)?.estimate(&estimate.metric.name)?.value));
    let mut values = vec![(run.timestamp, estimate.value)];
    values.extend(reruns.iter().filter_map(value));
    let spread = context.machine.spread(estimate);
    let assumed = entry.session_noise.filter(|noise| noise.sessions == 0);
    let between = |noise| session_noise::between(noise, spread, context.is_same_session, &estimate.metric);
    let entry = &BaselineMetric { session_noise: assumed.map(between).or(entry.session_noise), ..entry.clone() };
    // Of few processes the interval reaches to outliers, which do not move the median.
    let interval = estimate.interval.filter(|_| assumed.is_none() || spread.is_none());
    let evidence = evidence(entry, &estimate.metric, &values, interval);
    TwoSides {
        shares_memory: shares_memory(run, measurement),
        current: Side { interval: estimate.interval, ..evidence.current },
        ..evidence
    }
}

/// The evidence about a metric that some runs measured, compared with the entry of a baseline. `values` are the times
/// and values of the runs, the judged run first. `interval` is that of the judged run over its processes.
pub fn evidence(
    entry: &BaselineMetric,
    metric: &Metric,
    values: &[(DateTime<Utc>, f64)],
    interval: Option<(f64, f64)>,
) -> TwoSides {
    let value = values.first().map_or(0.0, |(_, value)| *value);
    let levels = session_noise::sessions(values);
    let current = match &levels[..] {
        // A value that has no logarithm is for the rule to judge.
        [] => Side::once(value),
        [_] if values.len() == 1 => Side::once(value),
        levels => Side {
            value: (levels.iter().map(|level| level.ln()).sum::<f64>() / levels.len() as f64).exp(),
            sessions: levels.len(),
            ..Side::default()
        },
    };
    let within = session_noise::within(value, interval).unwrap_or(0.0);
    let noise = entry.session_noise.unwrap_or_else(|| session_noise::estimate(&[], None, None, metric));
    let base = Side { value: entry.value, interval: entry.interval, sessions: entry.sessions, ..Side::default() };
    TwoSides {
        session_noise: Some(SessionNoise { deviation: noise.deviation.max(within), ..noise }),
        ..TwoSides::new(entry.better, base, Side { interval, ..current })
    }
}

/// Whether a benchmark is limited by memory, on a machine that is one of several on the same hardware.
fn shares_memory(run: &Run, measurement: &Measurement) -> bool {
    let is = |map: &std::collections::BTreeMap<String, String>, (name, value): (&str, &str)| {
        map.get(name).is_some_and(|actual| actual == value)
    };
    is(&measurement.attributes, CLASS) && is(&run.environment.facts, SHARED)
}

fn alone(run: &Run, measurement: &Measurement, estimate: &Estimate, verdict: Verdict) -> Comparison {
    Comparison {
        series: Some(series_id(run, measurement, &estimate.metric.name)),
        current: Some(estimate.value),
        ..Comparison::bare(&measurement.benchmark.id(), estimate.metric.clone(), Rule::NAMES[0], verdict)
    }
}

fn series_id(run: &Run, measurement: &Measurement, metric: &str) -> String {
    Series::id_of(&measurement.benchmark.id(), measurement.benchmark.version, metric, &run.machine.id)
}

/// Failures first, then what is in doubt, then changes by size; equals by name.
pub(super) fn sort_worst_first(comparisons: &mut [Comparison]) {
    let size = |comparison: &Comparison| comparison.effect.map_or(0.0, |effect| effect.change.abs());
    comparisons.sort_by(|a, b| {
        a.severity()
            .cmp(&b.severity())
            .then_with(|| size(b).total_cmp(&size(a)))
            .then_with(|| a.benchmark.cmp(&b.benchmark))
            .then_with(|| a.metric.cmp(&b.metric))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use sprag_model::{Effect, Environment, Unit};

    fn verdicts(run: &Run, baseline: &Baseline) -> Vec<(String, Verdict)> {
        against_baseline(run, &[], baseline).into_iter().map(|one| (one.benchmark, one.verdict)).collect()
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
        let gone = &against_baseline(&now, &[], &baseline)[1];
        assert_eq!((gone.current, gone.note.as_deref()), (None, Some("parity: wrong")));
    }

    #[test]
    fn a_metric_within_the_tolerance_that_was_asked_for_passes() {
        let check = |change: f64, better: Better, verdict: Verdict, expected: &str| {
            let effect = Some(Effect { change, interval: None, detectable: None });
            let metric = Metric { better, ..Metric::time() };
            let mut all = [Comparison { effect, ..Comparison::bare("c/x @fast", metric, "interval", verdict) }];
            pass_within(&mut all, Some(0.1));
            assert_eq!(all[0].verdict.word(), expected, "{change} {better:?}");
            all
        };
        let doubt = || Verdict::Inconclusive("why".to_owned());
        let [passed] = check(0.09, Better::Lower, doubt(), "unchanged");
        assert_eq!(passed.note.as_deref(), Some("within the tolerance, but not certain: why"));
        check(0.11, Better::Lower, doubt(), "inconclusive");
        check(-0.3, Better::Lower, doubt(), "unchanged");
        check(-0.09, Better::Higher, doubt(), "unchanged");
        check(-0.1, Better::Higher, doubt(), "inconclusive");
        check(0.02, Better::Lower, Verdict::Regressed, "regressed");
    }

    #[test]
    fn other_environments_classes_and_units_are_not_judged() {
        let before = example::run("cpu", "a", 1, &[("x", 1.0)]);
        let baseline = example::baseline(&before, 0.2);
        let reason = |run: &Run, baseline: &Baseline| match &against_baseline(run, &[], baseline)[0].verdict {
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
