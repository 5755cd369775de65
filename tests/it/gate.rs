//! Baselines and the check: pass, fail and inconclusive.

use std::process::Command;

use serde_json::{Value, json};
use sprag_model::run::FILTER;
use sprag_model::{Baseline, Environment, Run};

use crate::crafted::{BASELINE, Crafted, text};
use crate::sandbox::{Sandbox, assert_contains};

fn with_baseline() -> Crafted {
    let crafted = Crafted::with_sessions(5);
    crafted.ends(0, &["baseline", "emit", "--notes", "first"]);
    crafted
}

fn filtered(crafted: &Crafted, day: i64) -> Run {
    let config = [(FILTER.to_owned(), json!(["pack"]))].into();
    Run { config, ..crafted.run(day, &[("pack", 1e-3)]) }
}

/// Sets a field of the baseline wherever it occurs.
fn set(crafted: &Crafted, field: &str, value: &str) {
    let marker = format!("\"{field}\": ");
    let text = crafted.read(BASELINE);
    let lines = text.lines().map(|line| match line.split_once(&marker) {
        Some((indent, rest)) => format!("{indent}{marker}{value}{}\n", if rest.ends_with(',') { "," } else { "" }),
        None => format!("{line}\n"),
    });
    crafted.write(BASELINE, &lines.collect::<String>());
}

#[test]
fn a_run_is_judged_by_its_baseline() {
    let crafted = with_baseline();
    let check = |code: i32, words: &str| {
        crafted.ends(code, &["check"]).prints(&[words]);
    };
    check(0, "check: pass");
    let text = crafted.read(BASELINE);
    set(&crafted, "value", "1e-9");
    check(1, "check: fail; 2 regressed");
    set(&crafted, "value", "1e9");
    check(0, "improved");
    crafted.write(BASELINE, &text.replace("cpu/scan", "cpu/gone"));
    check(1, "missing");
    // Another environment or no baseline is inconclusive.
    let mut baseline: Baseline = serde_json::from_str(&text).expect("a baseline");
    let mut facts = baseline.environment.facts.clone();
    facts.insert("compiler".into(), "rustc 0.1".into());
    baseline.environment = Environment::from_facts(facts);
    crafted.write(BASELINE, &baseline.to_json());
    check(3, "not comparable");
    check(3, "compiler rustc 0.1");
    crafted.remove(BASELINE);
    let against = ["check", "--against", "baseline"];
    crafted.ends(3, &against).prints(&["no baseline"]);
    crafted.ends(0, &[&against[..], &["--inconclusive", "ok"]].concat());
    crafted.ends(1, &[&against[..], &["--inconclusive", "fail"]].concat());
}

#[test]
fn a_baseline_without_metrics_is_an_error() {
    let crafted = with_baseline();
    let mut empty: Value = serde_json::from_str(&crafted.read(BASELINE)).expect("JSON");
    empty["metrics"] = json!({});
    crafted.write(BASELINE, &empty.to_string());
    crafted.ends(2, &["check"]).says(&[BASELINE, "has empty `metrics`", "hint: fix the file"]);
}

#[test]
fn a_run_file_can_be_checked_and_a_bad_one_is_named() {
    let crafted = with_baseline();
    let (sandbox, good) = (&crafted.sandbox, text(&crafted.run(9, &[("pack", 1e-3), ("scan", 2e-3)])));
    sandbox.write("run.json", &good);
    // A microsecond passes whatever the tolerance; a year fails.
    for (value, code, words) in [("1e-6", 0, &[][..]), ("3e7", 1, &[]), ("-1.0", 2, &["changed.json", "holds -1"])] {
        let mut run: Value = serde_json::from_str(&good).expect("a record is JSON");
        for benchmark in run["benchmarks"].as_array_mut().expect("a list") {
            benchmark["metrics"][0]["value"] = serde_json::from_str(value).expect("a number");
        }
        sandbox.write("changed.json", &run.to_string());
        crafted.ends(code, &["check", "--run", "changed.json"]).says(words);
    }
}

#[test]
fn an_unmeasured_suite_fails_next_to_a_measured_one() {
    let crafted = with_baseline();
    let suites = "[suites.cpu]\nkind = \"cpu\"\n\n[suites.more]\nkind = \"cpu\"\n";
    crafted.write("sprag.toml", suites);
    crafted.record(&Crafted::of_suite("more", crafted.run(6, &[("pack", 1e-3)])));
    crafted.ends(0, &["baseline", "emit"]);
    crafted.change(7, &[("pack", 1e-3), ("scan", 2e-3)]);
    crafted.ends(1, &["check"]).prints(&["more: no run of this machine", "missing"]);
}

#[test]
fn a_partial_run_is_no_run_of_the_suite() {
    let crafted = with_baseline();
    let before = crafted.read(BASELINE);
    crafted.record(&filtered(&crafted, 6));
    crafted.ends(0, &["check"]);
    crafted.ends(0, &["baseline", "emit"]);
    assert!(crafted.read(BASELINE).contains("cpu/scan @fast time"), "a metric is gone");
    crafted.write(BASELINE, &before);
    crafted.write("part.json", &text(&filtered(&crafted, 7)));
    let emit = ["baseline", "emit", "--run", "part.json"];
    crafted.ends(2, &emit).says(&["of some benchmarks only", BASELINE, "it did not measure", "hint:"]);
    assert_eq!(crafted.read(BASELINE), before);
    crafted.remove(BASELINE);
    crafted.ends(0, &emit).says(&["the baseline holds no others"]);
    let crafted = Crafted::new();
    crafted.record(&filtered(&crafted, 1));
    let record = crafted.records("main").pop().expect("the run is recorded");
    let id = record.trim_end_matches(".json").rsplit('-').next().expect("the name ends with the id");
    let newest = format!("the newest run ({}) holds", &id[..8]);
    for command in [&["check"][..], &["baseline", "emit"]] {
        let words =
            [newest.as_str(), "of cpu (`--filter pack`); a gate needs a run without `--filter`", "hint: measure all"];
        let ended = crafted.ends(2, command).says(&words);
        assert!(!ended.err.contains("no complete run"), "{}", ended.err);
    }
}

#[test]
fn a_broken_baseline_does_not_let_a_weekly_build_pass() {
    let sandbox = Sandbox::new();
    sandbox.ends(0, &["run", "--quick", "--record"]);
    let ended = sandbox.ends(0, &["baseline", "emit"]);
    let path = ended.out.split_whitespace().find(|word| word.starts_with("baselines/")).expect("the path is reported");
    let path = path.trim_end_matches(':');
    sandbox.ends(0, &["check"]).prints(&["check: pass"]);
    sandbox.write(path, "{");
    sandbox.ends(2, &["weekly", "--quick"]).says(&[path, "is not JSON"]).prints(&["inconclusive"]);
    sandbox.remove(path);
    sandbox.ends(0, &["weekly", "--quick"]);
}

#[test]
fn a_commit_without_a_run_cannot_be_checked() {
    let crafted = with_baseline();
    crafted.commit_with("code.rs", "fn main() {}", "Change the code");
    let words = ["no complete run of this machine", "sprag run --record"];
    crafted.ends(2, &["check"]).says(&words).says(&["hint:"]);
    crafted.ends(1, &["check", "--suite", "cpu", "--report", "md=gate.md"]).says(&words);
    let report = crafted.read("gate.md");
    assert_contains(&report, &["not measured: cpu", "no run of this machine at HEAD"]);
}

/// What make would run by the Makefile of the project.
#[test]
fn the_targets_of_make_measure_save_and_judge() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let sprag = "cargo run --release --quiet -- ";
    let saved = [
        &format!("{sprag}run --suite 'cpu'  --output-run 'target/bench-cpu.json'\n"),
        &*format!("{sprag}baseline emit --suite 'cpu' --run 'target/bench-cpu.json'\n"),
    ];
    let judged = ["--report 'md=gate.md'", "sprag check --suite 'gpu' --measure --quick --against baseline \"$@\"\n"];
    let settings = ["bench-compare", "SUITE=gpu", "REPORT=md=gate.md", "EFFORT=--quick", "SPRAG=sprag"];
    for (arguments, words) in [
        (&[][..], ["make bench-save-baseline", "make bench-compare"]),
        (&["bench-save-baseline"], saved),
        (&settings, judged),
    ] {
        let mut make = Command::new("make");
        // Variables of a make that runs these tests.
        make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("MFLAGS");
        let Ok(planned) = make.arg("-n").args(arguments).current_dir(root).output() else {
            return eprintln!("skipped: there is no make");
        };
        assert!(planned.status.success(), "make -n {arguments:?}: {}", String::from_utf8_lossy(&planned.stderr));
        assert_contains(&String::from_utf8_lossy(&planned.stdout), &words);
    }
}

#[test]
fn make_saves_uses_and_archives_a_baseline() {
    let sandbox = Sandbox::new();
    sandbox.write("Makefile", include_str!("../../Makefile"));
    let Some(saved) = sandbox.make(&["bench-save-baseline", "EFFORT=--quick"]) else {
        return eprintln!("skipped: there is no make");
    };
    let saved = saved.expect(0);
    let path =
        saved.out.lines().find_map(|line| line.strip_prefix("wrote ")?.split(':').next()).expect("it says where");
    // A thousand times as fast as this machine.
    let mut baseline: Value = sandbox.json(path);
    for metric in baseline["metrics"].as_object_mut().expect("it holds metrics").values_mut() {
        metric["value"] = (metric["value"].as_f64().expect("a number") / 1000.0).into();
    }
    sandbox.write(path, &format!("{baseline}\n"));
    sandbox
        .make(&["bench-compare", "EFFORT=--quick", "REPORT=md=gate.md"])
        .expect("there is a make")
        .expect(2)
        .prints(&["check: fail; 2 regressed"])
        .says(&["Error 1"]);
    assert_contains(&sandbox.read("gate.md"), &["2 regressed"]);
    let saved = sandbox.make(&["bench-save-baseline", "EFFORT=--quick"]).expect("there is a make").expect(0);
    let archived = saved.out.lines().find_map(|line| line.strip_prefix("archived ")).expect("it says so");
    assert_contains(&sandbox.read(archived), &["metrics"]);
}
