//! A gate as the summary and the trend of Apex-X.
//!
//! Metrics are called `benchmark metric`, with the machine in front if a suite has several. Times are in milliseconds,
//! other values in the unit of the metric. If more is better, `allowed_max_ms` is the smallest value that passes.
//! `regression_ratio` is current over baseline, less one. What could not be judged is `fail`; an accepted regression is
//! `pass`. The check `__status__` is for a suite that was not measured, and for a gate that did not pass without a
//! failed check.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;

use sprag_formats::compat::apex_x::gate::{
    self as seed, ApexSuite, CheckStatus, GateCheck, GateComparison as SeedComparison, Statuses,
};
use sprag_model::{Comparison, Gate, Outcome, SuiteGate, Unit, Verdict};
use sprag_report::gate::was_not_judged;

const REQUIRED: &str = "ok";

pub fn summary(gate: &Gate) -> String {
    seed::summary(&comparison(gate))
}

/// Its time is that of the newest run, else `now`.
pub fn trend(gate: &Gate, now: DateTime<Utc>) -> String {
    let time = gate.suites.iter().filter_map(|suite| suite.time).max().unwrap_or(now);
    seed::trend(&comparison(gate), &time.to_rfc3339_opts(SecondsFormat::Micros, true))
}

fn comparison(gate: &Gate) -> SeedComparison {
    let checks: Vec<GateCheck> = gate
        .suites
        .iter()
        .flat_map(|suite| suite.comparisons.iter().map(|comparison| check(gate, suite, comparison)))
        .collect();
    let mut suites: Vec<&str> = Vec::new();
    for suite in &gate.suites {
        if !suites.contains(&suite.suite.as_str()) {
            suites.push(&suite.suite);
        }
    }
    SeedComparison {
        // Only the words of lines depend on it.
        suite: ApexSuite::Cpu,
        report_suite: Some(Value::from(suites.join(", "))),
        statuses: Some(Statuses { required: REQUIRED.to_owned(), current: status(gate, &checks) }),
        checks,
    }
}

fn status(gate: &Gate, checks: &[GateCheck]) -> String {
    let unmeasured = gate.suites.iter().find(|suite| was_not_judged(gate, suite));
    let passes = checks.iter().all(|check| check.status == CheckStatus::Pass);
    match unmeasured {
        Some(suite) => suite.status.map_or(Outcome::NotMeasured.word(), |status| status.word()).to_owned(),
        None if passes && gate.outcome != Outcome::Pass => gate.outcome.word().to_owned(),
        None => REQUIRED.to_owned(),
    }
}

fn check(gate: &Gate, suite: &SuiteGate, comparison: &Comparison) -> GateCheck {
    let factor = if comparison.metric.unit == Unit::Second { 1e3 } else { 1.0 };
    // Apex-X writes non-finite numbers as invalid JSON.
    let scaled = |value: Option<f64>| value.map(|value| value * factor).filter(|value| value.is_finite());
    let ratio = comparison.effect.map(|effect| effect.change).filter(|change| change.is_finite());
    let name = format!("{} {}", comparison.benchmark, comparison.metric.name);
    let is_on_several = gate.suites.iter().filter(|other| other.suite == suite.suite).count() > 1;
    let place = suite.machine.as_ref().unwrap_or(&suite.machine_class);
    GateCheck {
        metric: if is_on_several { format!("{place}: {name}") } else { name },
        status: match comparison.verdict {
            Verdict::Unchanged | Verdict::Improved => CheckStatus::Pass,
            Verdict::Regressed if comparison.is_accepted() => CheckStatus::Pass,
            Verdict::Missing => CheckStatus::Missing,
            Verdict::Regressed | Verdict::Inconclusive(_) | Verdict::NotComparable(_) | Verdict::NoBaseline => {
                CheckStatus::Fail
            }
        },
        baseline: scaled(comparison.baseline),
        allowed: scaled(comparison.allowed),
        current: scaled(comparison.current),
        regression_ratio: ratio,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_formats::compat::apex_x::schema;
    use sprag_model::RunStatus;
    use sprag_report::gate::example;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).expect("a time within range")
    }

    #[track_caller]
    fn follows(schema: &Value, text: &str) -> Value {
        let document: Value = serde_json::from_str(text).expect("it is JSON");
        let validator = jsonschema::validator_for(schema).expect("the schema is one");
        let faults: Vec<String> = validator.iter_errors(&document).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}: {text}");
        document
    }

    fn both(gate: &Gate) -> (Value, Value) {
        (follows(&schema::summary(), &summary(gate)), follows(&schema::trend(), &trend(gate, now())))
    }

    #[test]
    fn summary_and_trend_follow_the_schemas_of_apex_x() {
        insta::assert_snapshot!(summary(&example::doubtful()));
        insta::assert_snapshot!(trend(&example::passing(), now()));
        both(&example::gate());
        // Only times are in milliseconds.
        insta::assert_snapshot!(
            "a_gate_with_every_verdict",
            summary(&example::gate()) + &trend(&example::gate(), now())
        );
    }

    #[test]
    fn unjudged_suites_do_not_pass() {
        let check = |gate: Gate, status: &str, overall: &str| {
            let (summary, trend) = both(&gate);
            assert_eq!((&summary["current_status"], &summary["status"]), (&status.into(), &overall.into()));
            assert_eq!(trend["overall_status"], overall);
        };
        check(example::passing(), "ok", "pass");
        check(example::doubtful(), "ok", "fail");
        check(Gate { outcome: Outcome::Pass, ..example::doubtful() }, "ok", "fail");
        check(Gate { outcome: Outcome::Inconclusive, ..example::passing() }, "inconclusive", "fail");
        let with = |status: Option<RunStatus>, has_base: bool, outcome: Outcome| {
            let suite = SuiteGate { status, has_base, ..example::suite("gpu") };
            Gate { outcome, suites: vec![example::passing().suites[0].clone(), suite], ..example::passing() }
        };
        check(with(Some(RunStatus::Skipped), false, Outcome::Pass), "ok", "pass");
        check(with(Some(RunStatus::Skipped), true, Outcome::NotMeasured), "skipped", "fail");
        check(with(Some(RunStatus::Failed), true, Outcome::Fail), "failed", "fail");
        check(with(None, true, Outcome::Fail), "not measured", "fail");
    }

    #[test]
    fn non_finite_numbers_are_null_and_machines_named() {
        let mut gate = example::passing();
        gate.suites.push(SuiteGate { machine: Some("twin".to_owned()), ..gate.suites[0].clone() });
        let summary = both(&gate).0;
        assert_eq!(
            (&summary["checks"][1]["metric"], &summary["suite"]),
            (&"twin: cpu/a @fast time".into(), &"cpu".into())
        );
        gate.suites.pop();
        let odd = &mut gate.suites[0].comparisons[0];
        (odd.allowed, odd.baseline, odd.current) = (Some(f64::INFINITY), Some(1e308), Some(f64::NAN));
        gate.suites[0].time = None;
        let (summary, trend) = both(&gate);
        let check = &summary["checks"][0];
        assert_eq!((&check["allowed_max_ms"], &check["baseline_ms"]), (&Value::Null, &Value::Null));
        assert_eq!(
            (&summary["suite"], &trend["timestamp_utc"]),
            (&"cpu".into(), &"2027-01-15T08:00:00.000000Z".into())
        );
    }
}
