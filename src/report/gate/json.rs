//! A gate as JSON: every fact of it, with a schema; what is not finite is null. ASCII, so that no character is invisible.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use super::finding;
use sprag_base::json;
use sprag_model::schema::patterns;
use sprag_model::{
    Answer, Better, Commit, Comparison, Counts, Gate, Outcome, RunStatus, SuiteGate, Unit, Verdict, schema,
};

/// The version of the document.
const SCHEMA_VERSION: u32 = 1;

/// A gate as JSON; `only_changed` leaves the unchanged comparisons out and counts them.
pub fn gate_json(gate: &Gate, only_changed: bool) -> String {
    let report = Report {
        schema_version: SCHEMA_VERSION,
        sprag: env!("CARGO_PKG_VERSION"),
        command: gate.command,
        outcome: gate.outcome.word(),
        exit_code: gate.exit_code,
        counts: gate.counts(),
        suites: gate.suites.iter().map(|one| suite(one, only_changed)).collect(),
    };
    json::to_indented(&serde_json::to_value(report).expect("keys are text and numbers have a form")) + "\n"
}

pub fn gate_schema() -> serde_json::Value {
    schema::for_closed_type::<Report<'_>>()
}

/// What a gate found.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "GateReport")]
struct Report<'a> {
    /// The version of the document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// The version of Sprag that wrote it.
    sprag: &'static str,
    /// The command that asked.
    #[schemars(extend("enum" = ["check", "compare"]))]
    command: &'a str,
    /// How it came out.
    #[schemars(extend("enum" = Outcome::WORDS))]
    outcome: &'static str,
    /// The code that the command ended with.
    exit_code: u8,
    /// How many verdicts of each kind.
    counts: Counts,
    /// One entry a suite and machine.
    suites: Vec<SuiteReport<'a>>,
}

/// One suite on one machine.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Suite")]
struct SuiteReport<'a> {
    /// The suite.
    suite: &'a str,
    /// What people call the machine; null where the suite has no run.
    machine: Option<&'a str>,
    /// The class of the machine.
    machine_class: &'a str,
    /// The id of the run that was judged; null where there is none.
    run: Option<&'a str>,
    /// When that run took place.
    #[schemars(extend("pattern" = patterns::TIME))]
    time: Option<DateTime<Utc>>,
    /// What it measured.
    commit: Option<&'a Commit>,
    /// Whether it ran; null where there is no run.
    status: Option<RunStatus>,
    /// Why it was skipped, failed, or is not there.
    reason: Option<&'a str>,
    /// Problems with its numbers.
    quality: &'a [String],
    /// What it was compared with, in words; why with nothing where `has_base` is false.
    against: &'a str,
    /// Whether there was something to compare it with.
    has_base: bool,
    /// The commit that it was compared with.
    base_commit: Option<&'a str>,
    /// How many verdicts of each kind.
    counts: Counts,
    /// How much the suite changed as a whole; null where nothing could be compared.
    #[serde(rename = "whole")]
    overall: Option<OverallReport>,
    /// One entry a judged metric, worst first.
    comparisons: Vec<ComparisonReport<'a>>,
    /// How many unchanged metrics are not among the comparisons, as with `--only-changed`; absent where all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    unchanged_left_out: Option<usize>,
}

/// The geometric mean over the benchmarks of a suite.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Whole")]
struct OverallReport {
    /// How many benchmarks it is of.
    benchmarks: usize,
    /// The mean of current over baseline, less one; turned where more is better, so that more is worse.
    change: Option<f64>,
    /// Its interval; null where not every benchmark has one.
    interval: Option<IntervalReport>,
}

/// An interval; a bound that is null is none.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Interval")]
struct IntervalReport {
    low: Option<f64>,
    high: Option<f64>,
}

/// One metric of one benchmark; values are in the unit of the metric.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Comparison")]
struct ComparisonReport<'a> {
    /// The written identity of the benchmark.
    benchmark: &'a str,
    /// What is compared.
    metric: MetricReport<'a>,
    /// The series it belongs to, where the history has one.
    series: Option<&'a str>,
    /// The value of the baseline.
    baseline: Option<f64>,
    /// The worst value that still passes.
    allowed: Option<f64>,
    /// The value of the run.
    current: Option<f64>,
    /// How much it changed.
    effect: Option<EffectReport>,
    /// The chance of an effect this large though nothing moved beyond the tolerance; null where the rule knows none.
    p_value: Option<f64>,
    /// The name of the rule that decided.
    rule: &'a str,
    /// What it decided.
    #[schemars(extend("enum" = Verdict::WORDS))]
    verdict: &'static str,
    /// Why the verdict is not a plain one.
    reason: Option<&'a str>,
    /// What else there is to know.
    note: Option<&'a str>,
    /// What the ledger says to a regression; null where it says nothing. Only `accepted` keeps it from failing the gate.
    ledger: Option<&'a Answer>,
}

/// What is compared.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Metric")]
struct MetricReport<'a> {
    name: &'a str,
    unit: Unit,
    better: Better,
}

/// How much a metric changed.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Effect")]
struct EffectReport {
    /// Current over baseline, less one; null where the baseline is zero.
    change: Option<f64>,
    /// The interval of the change.
    interval: Option<IntervalReport>,
    /// The smallest change in the bad direction that would have been called a regression.
    detectable: Option<f64>,
}

fn suite(suite: &SuiteGate, only_changed: bool) -> SuiteReport<'_> {
    let counts = suite.counts();
    let is_listed = |one: &&Comparison| !only_changed || one.verdict != Verdict::Unchanged;
    SuiteReport {
        suite: &suite.suite,
        machine: suite.machine.as_deref(),
        machine_class: &suite.machine_class,
        run: suite.run.as_deref(),
        time: suite.time,
        commit: suite.commit.as_ref(),
        status: suite.status,
        reason: suite.reason.as_deref(),
        quality: &suite.quality,
        against: &suite.against,
        has_base: suite.has_base,
        base_commit: suite.base_commit.as_deref(),
        overall: suite.mean_change.map(|mean| OverallReport {
            benchmarks: mean.benchmarks,
            change: Some(mean.change),
            interval: mean.interval.map(interval),
        }),
        comparisons: suite.comparisons.iter().filter(is_listed).map(comparison).collect(),
        unchanged_left_out: only_changed.then_some(counts.unchanged),
        counts,
    }
}

fn comparison(comparison: &Comparison) -> ComparisonReport<'_> {
    let metric = &comparison.metric;
    ComparisonReport {
        benchmark: &comparison.benchmark,
        metric: MetricReport { name: &metric.name, unit: metric.unit, better: metric.better },
        series: comparison.series.as_deref(),
        baseline: comparison.baseline,
        allowed: comparison.allowed,
        current: comparison.current,
        effect: comparison.effect.map(|effect| EffectReport {
            change: finding::effect(comparison).map(|effect| effect.change),
            interval: comparison.interval().map(interval),
            detectable: effect.detectable,
        }),
        p_value: comparison.p_value,
        rule: comparison.rule,
        verdict: comparison.verdict.word(),
        reason: comparison.verdict.reason(),
        note: comparison.note.as_deref(),
        ledger: comparison.answer.as_deref(),
    }
}

fn interval((low, high): (f64, f64)) -> IntervalReport {
    IntervalReport { low: Some(low), high: Some(high) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::gate::example;
    use sprag_model::Effect;

    #[track_caller]
    fn valid(gate: &Gate, only_changed: bool) -> Value {
        let text = gate_json(gate, only_changed);
        assert!(text.is_ascii() && text.ends_with("}\n"));
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        let schema = schema::published("check-1", "A gate", gate_schema());
        let validator = jsonschema::validator_for(&schema).expect("the schema is one");
        let faults: Vec<String> = validator.iter_errors(&document).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}");
        document
    }

    #[test]
    fn every_fact_is_there() {
        valid(&example::doubtful(), false);
        valid(&example::passing(), false);
        let document = valid(&example::gate(), false);
        assert_eq!((&document["outcome"], &document["exit_code"]), (&json!("fail"), &json!(1)));
        assert_eq!((&document["counts"]["regressed"], &document["suites"][2]["run"]), (&json!(2), &Value::Null));
        let cpu = &document["suites"][0];
        assert_eq!((&cpu["status"], &document["suites"][2]["status"]), (&json!("ok"), &Value::Null));
        assert_eq!((&cpu["commit"]["sha"], &cpu["whole"]["benchmarks"]), (&json!("b".repeat(40)), &json!(7)));
        assert_eq!(cpu["comparisons"][4]["benchmark"], example::HOSTILE);
        let first = &cpu["comparisons"][0];
        let interval = json!({ "low": 0.07599999999999996, "high": 0.08599999999999997 });
        let effect = json!({ "change": 0.08099999999999996, "interval": interval, "detectable": 0.028 });
        assert_eq!((&first["effect"], &first["verdict"]), (&effect, &json!("regressed")));
        assert_eq!(first["metric"], json!({ "name": "time", "unit": "s", "better": "lower" }));
        let values = ["baseline", "allowed", "current", "p_value"].map(|name| first[name].as_f64());
        assert_eq!(values, [0.002, 0.00204, 0.002162, 0.25].map(Some));
        // What is unchanged can be left out, and is counted.
        assert_eq!(cpu.get("unchanged_left_out"), None);
        let few = &valid(&example::gate(), true)["suites"][0];
        assert_eq!((&few["counts"]["unchanged"], &few["unchanged_left_out"]), (&json!(1), &json!(1)));
        let verdicts = few["comparisons"].as_array().map(|all| all.iter().map(|one| &one["verdict"]));
        assert!(verdicts.is_some_and(|mut all| all.len() == 7 && all.all(|one| *one != json!("unchanged"))));
    }

    #[test]
    fn a_share_of_zero_and_what_is_not_finite_are_null() {
        let mut gate = example::passing();
        gate.suites[0].comparisons[0].baseline = Some(0.0);
        assert_eq!(valid(&gate, false)["suites"][0]["comparisons"][0]["effect"]["change"], Value::Null);
        gate = example::passing();
        let comparison = &mut gate.suites[0].comparisons[0];
        let (interval, detectable) = (Some((f64::NEG_INFINITY, 0.5)), Some(f64::INFINITY));
        comparison.effect = Some(Effect { change: f64::NAN, interval, detectable });
        comparison.allowed = Some(f64::INFINITY);
        let comparison = &valid(&gate, false)["suites"][0]["comparisons"][0];
        let expected = json!({"change": null, "interval": {"low": null, "high": 0.5}, "detectable": null});
        assert_eq!((&comparison["effect"], &comparison["allowed"]), (&expected, &Value::Null));
    }
}
