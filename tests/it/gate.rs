//! Baselines and the check: from a first run to pass, fail and doubt.

use std::fs;

use serde_json::{Value, json};
use sprag_model::baseline::Baseline;
use sprag_model::environment::Environment;
use sprag_model::run::{FILTER, Run};

use crate::crafted::{BASELINE, Crafted};
use crate::run_files::text;
use crate::sandbox::Sandbox;

/// A project with five sessions at HEAD and the baseline taken from them.
fn with_baseline() -> Crafted {
    let crafted = Crafted::with_sessions(5);
    crafted.ends(0, &["baseline", "emit", "--notes", "first"]);
    crafted
}

/// A run of that day which was asked for `pack` alone.
fn filtered(crafted: &Crafted, day: i64) -> Run {
    let config = [(FILTER.to_owned(), json!(["pack"]))].into();
    Run { config, ..crafted.run(day, &[("pack", 1e-3)]) }
}

/// Changes every occurrence of a field in the baseline to `value`.
fn set(crafted: &Crafted, field: &str, value: &str) {
    let marker = format!("\"{field}\": ");
    let text = crafted.sandbox.read(BASELINE);
    let lines = text.lines().map(|line| match line.split_once(&marker) {
        Some((indent, rest)) => format!("{indent}{marker}{value}{}\n", if rest.ends_with(',') { "," } else { "" }),
        None => format!("{line}\n"),
    });
    crafted.sandbox.write(BASELINE, &lines.collect::<String>());
}

#[test]
fn a_run_is_judged_by_its_baseline() {
    let crafted = with_baseline();
    let check = |code: i32, words: &str| {
        let out = crafted.ends(code, &["check"]).out;
        assert!(out.contains(words), "`{words}` is not in:\n{out}");
    };
    check(0, "check: pass");
    let text = crafted.sandbox.read(BASELINE);
    set(&crafted, "value", "1e-9");
    check(1, "check: fail; 2 regressed");
    set(&crafted, "value", "1e9");
    check(0, "improved");
    // A metric that the run lacks fails.
    crafted.sandbox.write(BASELINE, &text.replace("cpu/scan", "cpu/gone"));
    check(1, "missing");
    // Another environment is doubt, not a pass.
    let mut baseline: Baseline = serde_json::from_str(&text).expect("a baseline");
    let mut facts = baseline.environment.facts.clone();
    facts.insert("compiler".into(), "rustc 0.1".into());
    baseline.environment = Environment::from_facts(facts);
    crafted.sandbox.write(BASELINE, &baseline.to_json());
    check(3, "not comparable");
    check(3, "compiler rustc 0.1");
    // So is no baseline at all.
    fs::remove_file(crafted.sandbox.project.join(BASELINE)).expect("the baseline is there");
    let against = ["check", "--against", "baseline"];
    assert!(crafted.ends(3, &against).out.contains("no baseline"));
    crafted.ends(0, &[&against[..], &["--inconclusive", "ok"]].concat());
    crafted.ends(1, &[&against[..], &["--inconclusive", "fail"]].concat());
}

#[test]
fn a_bad_baseline_is_an_error_that_names_the_fault() {
    let crafted = with_baseline();
    let good = crafted.sandbox.read(BASELINE);
    let check = |text: &str, words: &[&str]| {
        crafted.sandbox.write(BASELINE, text);
        crafted.ends(2, &["check"]).says(&[BASELINE]).says(words);
    };
    for (field, value, words) in [
        ("value", "NaN", &["is not JSON"][..]),
        ("value", "0.0", &["`value` = 0", "a number above zero"]),
        ("value", "-1.0", &["`value` = -1"]),
        ("tolerance", "-0.5", &["`rule.tolerance` = -0.5 for `cpu/pack @fast time`", "from 0 to 1"]),
        ("tolerance", "1e3", &["`rule.tolerance` = 1000"]),
        ("name", "\"guess\"", &["in the metric `cpu/pack @fast time`: unknown variant `guess`, expected one of"]),
        ("sessions", "0", &["`sessions` = 0"]),
        ("deviation", "-1.0", &["`restlessness.deviation` = -1"]),
        ("schema_version", "9", &["schema version 9"]),
        ("suite", "\"gpu\"", &["of the suite `gpu`"]),
    ] {
        crafted.sandbox.write(BASELINE, &good);
        set(&crafted, field, value);
        check(&crafted.sandbox.read(BASELINE), words);
    }
    check(&good[..good.len() / 2], &["is not JSON"]);
    check("{}", &["is not a baseline"]);
    let mut empty: Value = serde_json::from_str(&good).expect("a baseline is JSON");
    empty["metrics"] = json!({});
    check(&empty.to_string(), &["has empty `metrics`", "hint: mend the file"]);
}

#[test]
fn a_run_file_can_be_checked_and_a_bad_one_is_named() {
    let crafted = with_baseline();
    let (sandbox, good) = (&crafted.sandbox, text(&crafted.run(9, &[("pack", 1e-3), ("scan", 2e-3)])));
    sandbox.write("run.json", &good);
    crafted.ends(2, &["check", "--run", "run.json", "--baseline", "absent.json"]).says(&["absent.json"]);
    // A run of a microsecond passes whatever the tolerance; one of a year fails.
    for (value, code, words) in [("1e-6", 0, &[][..]), ("3e7", 1, &[]), ("-1.0", 2, &["changed.json", "holds -1"])] {
        let mut run: Value = serde_json::from_str(&good).expect("a record is JSON");
        for benchmark in run["benchmarks"].as_array_mut().expect("a list") {
            benchmark["metrics"][0]["value"] = serde_json::from_str(value).expect("a number");
        }
        sandbox.write("changed.json", &run.to_string());
        crafted.ends(code, &["check", "--run", "changed.json"]).says(words);
    }
    sandbox.write("other.json", "{\"hello\": 1}");
    crafted.ends(2, &["check", "--run", "other.json"]).says(&["other.json", "not a run record"]);
    crafted.ends(2, &["check", "--run", "absent.json"]).says(&["cannot read"]);
    crafted.ends(2, &["check", "--suite", "cpy"]).says(&["did you mean `cpu`?"]);
}

#[test]
fn an_unmeasured_suite_fails_next_to_a_measured_one() {
    let crafted = with_baseline();
    let suites = "[suites.cpu]\nkind = \"cpu\"\n\n[suites.more]\nkind = \"cpu\"\n";
    crafted.sandbox.write("sprag.toml", suites);
    crafted.record(&Crafted::of_suite("more", crafted.run(6, &[("pack", 1e-3)])));
    crafted.ends(0, &["baseline", "emit"]);
    crafted.change(7, &[("pack", 1e-3), ("scan", 2e-3)]);
    let ended = crafted.ends(1, &["check"]);
    assert!(ended.out.contains("more: no run of this machine") && ended.out.contains("missing"), "{}", ended.out);
}

#[test]
fn a_partial_run_is_no_run_of_the_suite() {
    let crafted = with_baseline();
    let before = crafted.sandbox.read(BASELINE);
    crafted.record(&filtered(&crafted, 6));
    crafted.ends(0, &["check"]);
    crafted.ends(0, &["baseline", "emit"]);
    assert!(crafted.sandbox.read(BASELINE).contains("cpu/scan @fast time"), "a metric is gone");
    // Nor does it take metrics out of a baseline.
    crafted.sandbox.write(BASELINE, &before);
    crafted.sandbox.write("part.json", &text(&filtered(&crafted, 7)));
    let emit = ["baseline", "emit", "--run", "part.json"];
    crafted.ends(2, &emit).says(&["of some benchmarks only", BASELINE, "it did not measure", "hint:"]);
    assert_eq!(crafted.sandbox.read(BASELINE), before);
    fs::remove_file(crafted.sandbox.project.join(BASELINE)).expect("the baseline is there");
    crafted.ends(0, &emit).says(&["the baseline holds no others"]);
    // Where there is no other run, the message says so.
    let crafted = Crafted::new();
    crafted.record(&filtered(&crafted, 1));
    let record = crafted.sandbox.records("main").pop().expect("the run is recorded");
    let id = record.trim_end_matches(".json").rsplit('-').next().expect("the name ends with the id");
    let newest = format!("the newest run ({}) holds", &id[..8]);
    for command in [&["check"][..], &["baseline", "emit"]] {
        let words =
            [newest.as_str(), "of cpu (`--filter pack`); a gate needs a run without `--filter`", "hint: measure all"];
        let ended = crafted.ends(2, command).says(&words);
        assert!(!ended.err.contains("no complete run"), "{}", ended.err);
    }
}

/// What is measured can be a baseline, and judges the next measurement; a broken one does not let it pass.
#[test]
fn a_broken_baseline_does_not_let_a_weekly_build_pass() {
    let sandbox = Sandbox::new();
    sandbox.sprag(&["run", "--quick", "--record"]).expect(0);
    let ended = sandbox.sprag(&["baseline", "emit"]).expect(0);
    let path = ended.out.split_whitespace().find(|word| word.starts_with("baselines/")).expect("the path is reported");
    let path = path.trim_end_matches(':');
    assert!(sandbox.sprag(&["check"]).expect(0).out.contains("check: pass"));
    sandbox.write(path, "{");
    let ended = sandbox.sprag(&["weekly", "--quick"]).expect(2).says(&[path, "is not JSON"]);
    assert!(ended.out.contains("inconclusive"), "{}", ended.out);
    fs::remove_file(sandbox.project.join(path)).expect("the baseline is there");
    sandbox.sprag(&["weekly", "--quick"]).expect(0);
}

#[test]
fn a_commit_without_a_run_cannot_be_checked() {
    let crafted = with_baseline();
    crafted.sandbox.write("code.rs", "fn main() {}");
    crafted.sandbox.commit("Change the code");
    let words = ["no complete run of this machine", "sprag run --record"];
    crafted.ends(2, &["check"]).says(&words).says(&["hint:"]);
    // Of a suite that is named there is a report all the same.
    crafted.ends(1, &["check", "--suite", "cpu", "--report", "md=gate.md"]).says(&words);
    let report = crafted.sandbox.read("gate.md");
    assert!(report.contains("not measured: cpu") && report.contains("no run of this machine at HEAD"), "{report}");
}
