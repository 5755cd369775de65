//! Gates for tests.

use chrono::DateTime;

use sprag_model::{Commit, Comparison, Effect, Gate, MeanChange, Metric, Outcome, RunStatus, SuiteGate, Verdict};

/// Ends a cell, an element, a section, a line, a text and a command, and mentions a person.
pub const HOSTILE: &str =
    "<script>alert(1)</script>]]>|`x`\n::error::gone%0A%25\u{202e}\u{1b}[31m\"'&@someone #12 [a](http://b) {0}\\";

const SERIES: &str = "0123456789abcdef";

/// A time of 2 ms that became `ratio` times as long.
pub fn comparison(benchmark: &str, ratio: f64, verdict: Verdict) -> Comparison {
    let change = ratio - 1.0;
    Comparison {
        series: Some(SERIES.to_owned()),
        baseline: Some(0.002),
        allowed: Some(0.00204),
        current: Some(0.002 * ratio),
        effect: Some(Effect { change, interval: Some((change - 0.005, change + 0.005)), detectable: Some(0.028) }),
        p_value: Some(0.25),
        ..Comparison::bare(benchmark, Metric::time(), "interval", verdict)
    }
}

/// A suite that ran and has a baseline, without comparisons.
pub fn suite(name: &str) -> SuiteGate {
    let time = DateTime::from_timestamp(1_795_230_000, 0).expect("a time within range");
    let commit = Commit {
        parents: vec!["a".repeat(40)],
        subject: "Make it slower".to_owned(),
        branch: Some("main".to_owned()),
        ..Commit::new("b".repeat(40), time)
    };
    SuiteGate {
        suite: name.to_owned(),
        machine: Some("ci-box".to_owned()),
        machine_class: "Example CPU 9000".to_owned(),
        run: Some("00112233445566ff".to_owned()),
        time: DateTime::from_timestamp(1_795_233_600, 0),
        commit: Some(commit),
        status: Some(RunStatus::Ok),
        reason: None,
        quality: Vec::new(),
        against: format!("baselines/{name}.example-cpu-9000.json (of aaaaaaaaaaaa, 2026-11-14)"),
        has_base: true,
        base_commit: Some("a".repeat(40)),
        base_machine: None,
        can_take_turns: true,
        comparisons: Vec::new(),
        mean_change: None,
    }
}

/// A gate that failed, with every verdict, a suite that was skipped, and one without a run.
pub fn gate() -> Gate {
    let named = |name: &str| format!("cpu/{name}{{n=512}} @fast");
    let absent = |comparison: Comparison| Comparison { current: None, effect: None, p_value: None, ..comparison };
    let (metric, values) = (Metric::throughput("tiles_per_s"), [812_000.0, 795_760.0, 690_200.0]);
    let [baseline, allowed, current] = values.map(Some);
    let rate = comparison(&named("tile_pack"), 0.85, Verdict::Regressed);
    let rate = Comparison { metric, baseline, allowed, current, ..rate };
    let comparisons = vec![
        comparison(&named("ssm_scan"), 1.081, Verdict::Regressed),
        rate,
        Comparison {
            note: Some("it failed: out of memory".to_owned()),
            ..absent(comparison(&named("gone"), 1.0, Verdict::Missing))
        },
        comparison(&named("noisy"), 1.012, Verdict::Inconclusive("3 more runs would decide it".to_owned())),
        comparison(HOSTILE, 1.0, Verdict::NotComparable(format!("compiler 1 → {HOSTILE}"))),
        Comparison {
            current: Some(0.002),
            ..Comparison::bare(&named("new"), Metric::time(), "interval", Verdict::NoBaseline)
        },
        comparison(&named("quick"), 0.9, Verdict::Improved),
        Comparison {
            baseline: Some(4096.0),
            allowed: Some(4096.0),
            current: Some(4096.0),
            effect: Some(Effect { change: 0.0, interval: None, detectable: None }),
            series: Some(SERIES.to_owned()),
            ..Comparison::bare(&named("same"), Metric::peak_memory(), "tolerance", Verdict::Unchanged)
        },
    ];
    let cpu = SuiteGate {
        quality: vec!["the load was 3.1 on 2 cores".to_owned()],
        comparisons,
        mean_change: Some(MeanChange { benchmarks: 7, change: 0.014, interval: Some((-0.002, 0.031)) }),
        ..suite("cpu")
    };
    let gpu = SuiteGate {
        status: Some(RunStatus::Skipped),
        reason: Some("no CUDA driver on this machine".to_owned()),
        against: "no baseline for Example CPU 9000".to_owned(),
        has_base: false,
        base_commit: None,
        can_take_turns: false,
        ..suite("gpu")
    };
    let trt = SuiteGate {
        machine: None,
        run: None,
        time: None,
        commit: None,
        status: None,
        reason: Some("no run of this machine at HEAD".to_owned()),
        can_take_turns: false,
        ..suite("trt")
    };
    of_suites(Outcome::Fail, 1, vec![cpu, gpu, trt])
}

/// A gate in which one metric could not be judged.
pub fn doubtful() -> Gate {
    let verdict = Verdict::Inconclusive("too few runs".to_owned());
    let cpu = SuiteGate { comparisons: vec![comparison("cpu/a @fast", 1.01, verdict)], ..suite("cpu") };
    of_suites(Outcome::Inconclusive, 3, vec![cpu])
}

/// A gate in which nothing happened.
pub fn passing() -> Gate {
    let cpu = SuiteGate {
        comparisons: vec![comparison("cpu/a @fast", 1.001, Verdict::Unchanged)],
        mean_change: Some(MeanChange { benchmarks: 1, change: 0.001, interval: None }),
        ..suite("cpu")
    };
    of_suites(Outcome::Pass, 0, vec![cpu])
}

fn of_suites(outcome: Outcome, exit_code: u8, suites: Vec<SuiteGate>) -> Gate {
    Gate { command: "check", outcome, exit_code, doubt_fails: false, wants_all: false, suites }
}
