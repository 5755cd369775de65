//! Baselines and the check: from a first run to pass, fail and doubt.

use crate::sandbox::Sandbox;

/// A project with a run at HEAD and a baseline made from it, and the baseline's path.
fn with_baseline() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.sprag(&["run", "--quick", "--record"]).expect(0);
    let ended = sandbox.sprag(&["baseline", "emit", "--notes", "first"]).expect(0);
    let path = ended.out.split_whitespace().find(|word| word.starts_with("baselines/")).expect("the path is told");
    let path = path.trim_end_matches(':').to_owned();
    (sandbox, path)
}

/// Changes every occurrence of a field in the baseline to `value`.
fn set(sandbox: &Sandbox, path: &str, field: &str, value: &str) {
    let marker = format!("\"{field}\": ");
    let text = sandbox.read(path);
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line.split_once(&marker) {
            Some((indent, rest)) => format!("{indent}{marker}{value}{}", if rest.ends_with(',') { "," } else { "" }),
            None => line.to_owned(),
        })
        .collect();
    sandbox.write(path, &lines.join("\n"));
}

#[test]
fn a_run_passes_against_its_own_baseline_and_fails_against_a_faster_one() {
    let (sandbox, path) = with_baseline();
    let pass = sandbox.sprag(&["check"]).expect(0);
    assert!(pass.out.contains("check: pass"), "{}", pass.out);
    set(&sandbox, &path, "value", "1e-9");
    let fail = sandbox.sprag(&["check"]).expect(1);
    assert!(fail.out.contains("check: fail") && fail.out.contains("regressed"), "{}", fail.out);
    set(&sandbox, &path, "value", "1e9");
    let better = sandbox.sprag(&["check"]).expect(0);
    assert!(better.out.contains("improved"), "{}", better.out);
}

#[test]
fn a_metric_that_the_run_lacks_fails() {
    let (sandbox, path) = with_baseline();
    sandbox.write(&path, &sandbox.read(&path).replace("tile_ssm_scan", "tile_ssm_gone"));
    let ended = sandbox.sprag(&["check"]).expect(1);
    assert!(ended.out.contains("missing"), "{}", ended.out);
}

#[test]
fn no_baseline_and_other_environments_are_doubt_not_pass() {
    let (sandbox, path) = with_baseline();
    let text = sandbox.read(&path);
    std::fs::remove_file(sandbox.project.join(&path)).expect("the baseline is there");
    let none = sandbox.sprag(&["check"]).expect(3);
    assert!(none.out.contains("no baseline"), "{}", none.out);
    sandbox.sprag(&["check", "--inconclusive", "ok"]).expect(0);
    sandbox.sprag(&["check", "--inconclusive", "fail"]).expect(1);

    let mut baseline: sprag_model::baseline::Baseline = serde_json::from_str(&text).expect("a baseline");
    let mut facts = baseline.environment.facts.clone();
    facts.insert("compiler".into(), "rustc 0.1".into());
    baseline.environment = sprag_model::environment::Environment::from_facts(facts);
    sandbox.write(&path, &baseline.to_json());
    let other = sandbox.sprag(&["check"]).expect(3);
    assert!(other.out.contains("not comparable") && other.out.contains("compiler rustc 0.1"), "{}", other.out);
}

#[test]
fn emitting_again_archives_the_old_baseline() {
    let (sandbox, path) = with_baseline();
    let old = sandbox.read(&path);
    let ended = sandbox.sprag(&["baseline", "emit"]).expect(0);
    let archived = ended.out.lines().find_map(|line| line.strip_prefix("archived ")).expect("the archive is told");
    assert!(archived.starts_with("baselines/archive/cpu."), "{archived}");
    assert_eq!(sandbox.read(archived), old);
}

#[test]
fn a_bad_baseline_is_an_error_that_names_the_fault() {
    let (sandbox, path) = with_baseline();
    let good = sandbox.read(&path);
    let check = |text: &str, words: &[&str]| {
        sandbox.write(&path, text);
        sandbox.sprag(&["check"]).expect(2).says(&[&path]).says(words);
    };
    let damaged = |field: &str, value: &str| {
        sandbox.write(&path, &good);
        set(&sandbox, &path, field, value);
        sandbox.read(&path)
    };
    check(&damaged("value", "NaN"), &["is not JSON"]);
    check(&damaged("value", "0.0"), &["`value` = 0", "a number above zero"]);
    check(&damaged("value", "-1.0"), &["`value` = -1"]);
    check(&damaged("tolerance", "-0.5"), &["`rule.tolerance` = -0.5", "from 0 to 1"]);
    check(&damaged("tolerance", "1e3"), &["`rule.tolerance` = 1000"]);
    check(&damaged("name", "\"guess\""), &["unknown variant `guess`"]);
    check(&damaged("sessions", "0"), &["`sessions` = 0"]);
    check(&damaged("deviation", "-1.0"), &["`restlessness.deviation` = -1"]);
    check(&damaged("schema_version", "9"), &["schema version 9"]);
    check(&damaged("suite", "\"gpu\""), &["of the suite `gpu`"]);
    check(&good[..good.len() / 2], &["is not JSON"]);
    check("{}", &["is not a baseline"]);
    let mut empty: serde_json::Value = serde_json::from_str(&good).expect("a baseline is JSON");
    empty["metrics"] = serde_json::json!({});
    check(&empty.to_string(), &["empty `metrics`"]);
}

#[test]
fn a_run_file_can_be_checked_and_a_bad_one_is_named() {
    let (sandbox, _) = with_baseline();
    sandbox.sprag(&["run", "--quick", "--output-run", "run.json"]).expect(0);
    sandbox.sprag(&["check", "--run", "run.json", "--baseline", "absent.json"]).expect(2).says(&["absent.json"]);
    let text = sandbox.read("run.json");
    // A run of a microsecond, and a millionth of its calibration kernel, passes whatever the tolerance; one of a year fails.
    let with_value = |value: &str| {
        let mut run: serde_json::Value = serde_json::from_str(&text).expect("a record is JSON");
        for benchmark in run["benchmarks"].as_array_mut().expect("a list") {
            for metric in benchmark["metrics"].as_array_mut().expect("a list") {
                if ["time", "ratio"].contains(&metric["name"].as_str().expect("a name")) {
                    metric["value"] = serde_json::from_str(value).expect("a number");
                }
            }
        }
        sandbox.write("changed.json", &run.to_string());
    };
    with_value("1e-6");
    sandbox.sprag(&["check", "--run", "changed.json"]).expect(0);
    with_value("3e7");
    sandbox.sprag(&["check", "--run", "changed.json"]).expect(1);
    with_value("-1.0");
    sandbox.sprag(&["check", "--run", "changed.json"]).expect(2).says(&["changed.json", "holds -1"]);
    sandbox.write("other.json", "{\"hello\": 1}");
    sandbox.sprag(&["check", "--run", "other.json"]).expect(2).says(&["other.json", "not a run record"]);
    sandbox.sprag(&["check", "--run", "absent.json"]).expect(2).says(&["cannot read"]);
    sandbox.sprag(&["check", "--suite", "cpy"]).expect(2).says(&["did you mean `cpu`?"]);
}

#[test]
fn a_suite_that_was_not_measured_fails_beside_one_that_was() {
    let sandbox = Sandbox::new();
    let suite = |name: &str| format!("[suites.{name}]\nkind = \"cpu\"\ninclude = [\"tile_ssm_scan\"]\n");
    sandbox.write("sprag.toml", &(suite("one") + &suite("two")));
    sandbox.commit("Two suites");
    sandbox.sprag(&["run", "--quick", "--record"]).expect(0);
    sandbox.sprag(&["baseline", "emit"]).expect(0);
    sandbox.commit("Take baselines");
    sandbox.sprag(&["run", "--quick", "--record", "--suite", "one"]).expect(0);
    let ended = sandbox.sprag(&["check"]).expect(1);
    assert!(ended.out.contains("two: no run of this machine") && ended.out.contains("missing"), "{}", ended.out);
}

#[test]
fn a_partial_run_is_no_run_of_the_suite() {
    let (sandbox, path) = with_baseline();
    let before = sandbox.read(&path);
    sandbox.sprag(&["run", "--quick", "--record", "--filter", "@fast"]).expect(0);
    sandbox.sprag(&["check"]).expect(0);
    sandbox.sprag(&["baseline", "emit"]).expect(0);
    assert_eq!(sandbox.read(&path).matches("tile_ssm_scan").count(), before.matches("tile_ssm_scan").count());
}

#[test]
fn where_only_a_filtered_run_is_there_the_message_says_so() {
    let sandbox = Sandbox::new();
    sandbox.sprag(&["run", "--quick", "--record", "--filter", "@fast"]).expect(0);
    let record = sandbox.records("main").pop().expect("the run is recorded");
    let id = record.trim_end_matches(".json").rsplit('-').next().expect("the name ends with the id");
    let newest = format!("the newest run ({}) holds", &id[..8]);
    for command in [&["check"][..], &["baseline", "emit"]] {
        let words =
            [newest.as_str(), "of cpu (`--filter @fast`); a gate needs a run without `--filter`", "hint: measure all"];
        let ended = sandbox.sprag(command).expect(2).says(&words);
        assert!(!ended.err.contains("no whole run"), "{}", ended.err);
    }
}

#[test]
fn a_partial_run_takes_no_metric_out_of_a_baseline() {
    let (sandbox, path) = with_baseline();
    let before = sandbox.read(&path);
    sandbox.sprag(&["run", "--quick", "--filter", "@fast", "--output-run", "part.json"]).expect(0);
    let emit = ["baseline", "emit", "--run", "part.json"];
    let words = ["of some benchmarks only", path.as_str(), "it did not measure", "hint:"];
    sandbox.sprag(&emit).expect(2).says(&words);
    assert_eq!(sandbox.read(&path), before);
    std::fs::remove_file(sandbox.project.join(&path)).expect("the baseline is there");
    sandbox.sprag(&emit).expect(0).says(&["the baseline holds no others"]);
}

#[test]
fn a_broken_baseline_does_not_let_a_weekly_build_pass() {
    let (sandbox, path) = with_baseline();
    sandbox.write(&path, "{");
    let ended = sandbox.sprag(&["weekly", "--quick"]).expect(2).says(&[&path, "is not JSON"]);
    assert!(ended.out.contains("inconclusive"), "{}", ended.out);
    std::fs::remove_file(sandbox.project.join(&path)).expect("the baseline is there");
    sandbox.sprag(&["weekly", "--quick"]).expect(0);
}

#[test]
fn a_commit_without_a_run_cannot_be_checked() {
    let (sandbox, _) = with_baseline();
    sandbox.write("code.rs", "fn main() {}");
    sandbox.commit("Change the code");
    let words = ["no whole run of this machine", "sprag run --record"];
    sandbox.sprag(&["check"]).expect(2).says(&words).says(&["hint:"]);
    // Of a suite that is named there is a report all the same.
    sandbox.sprag(&["check", "--suite", "cpu", "--report", "md=gate.md"]).expect(1).says(&words);
    let report = std::fs::read_to_string(sandbox.project.join("gate.md")).expect("it was written");
    assert!(report.contains("not measured: cpu") && report.contains("no run of this machine at HEAD"), "{report}");
}
