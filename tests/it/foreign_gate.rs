//! Texts of Criterion and ground truths of tt-metal at the gate: with `--compatible` by their rules, else by ours.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Ended, Sandbox, assert_contains};

const CHECK: [&str; 5] = ["check", "--run", "current.txt", "--baseline", "baseline.txt"];

fn golden(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden").join(path)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("it is there")).expect("it is JSON")
}

/// A folder with the files of a golden case of Trueno; some cases lack one.
fn trueno(case: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    for file in ["baseline.txt", "current.txt"] {
        if let Ok(bytes) = fs::read(golden("trueno/cases").join(case).join(file)) {
            fs::write(sandbox.project.join(file), bytes).expect("a file");
        }
    }
    sandbox
}

fn tt_metal_case(name: &str) -> Value {
    let golden = json(&golden("stats/check_regression.json"));
    let cases = golden["cases"].as_array().expect("there are cases");
    cases.iter().find(|case| case["name"] == name).expect("the case is there").clone()
}

/// A folder with the texts of a golden case of tt-metal.
fn tt_metal(name: &str) -> Sandbox {
    let case = tt_metal_case(name);
    let text = |field: &str| case[field].as_str().expect("a text").to_owned();
    two(&text("baseline_json"), &text("current_json"))
}

fn two(baseline: &str, current: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.write("baseline.txt", baseline);
    sandbox.write("current.txt", current);
    sandbox
}

fn last(ended: &Ended) -> &str {
    ended.out.lines().last().unwrap_or_default()
}

#[test]
fn compatible_prints_every_byte_that_truenos_check_prints() {
    let arguments = [&CHECK[..], &["--compatible"]].concat();
    let mut compared = 0;
    for folder in fs::read_dir(golden("trueno/cases")).expect("there are cases") {
        let folder = folder.expect("it is listed").path();
        let case = json(&folder.join("expected.json"));
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        // A file that is not there is reported in words of our own.
        if case["argv"].as_array().is_none_or(|words| words.len() != 4) || name.ends_with("-file-missing") {
            continue;
        }
        let ended = trueno(&name).sprag(&arguments);
        if case["counts"].is_null() {
            let words = case["stderr_last_line"].as_str().expect("a text");
            ended.expect(2).says(&["Trueno's own check ends without a result", words, "hint:"]);
        } else {
            let ended = ended.expect(case["exit_code"].as_i64().expect("a number") as i32);
            assert_eq!(Some(ended.out.as_str()), case["stdout"].as_str(), "{name}");
        }
        compared += 1;
    }
    assert!(compared >= 23, "{compared} cases were compared");
}

#[test]
fn what_truenos_check_passes_over_is_judged() {
    for (case, code, last_line, words) in [
        ("01-all-unchanged-full-format", 0, "check: pass; 12 unchanged", ""),
        (
            "02-bands",
            1,
            "check: fail; 3 regressed, 2 improved, 7 unchanged",
            "in the warning band: 4.9 % worse, where 2.0 % warns and 5.0 % fails…2.1 % better, but the intervals of the two \
             sides overlap",
        ),
        ("05-long-names-own-line", 1, "check: fail; 2 regressed, 4 unchanged", "regressed  log_softmax/Scalar/100000"),
        ("06-only-long-names", 0, "check: pass; 2 unchanged", ""),
        ("07-missing-benchmarks-pass", 1, "check: fail; 10 missing, 2 unchanged", ""),
        // A new benchmark has no base, which is not a pass.
        (
            "09-new-benchmarks",
            3,
            "check: inconclusive; 3 without a baseline, 3 unchanged",
            "no baseline  mul/AVX2/100 …no baseline  mul/AVX2/10000…no baseline  mul/Scalar/10000",
        ),
        ("11-names-with-spaces", 1, "check: fail; 3 regressed, 2 unchanged", ""),
        ("12-odd-units", 1, "check: fail; 1 regressed, 5 unchanged", ""),
        ("13-ansi-colour-current", 1, "check: fail; 3 regressed, 1 without a baseline", ""),
        (
            "30-wide-ci-ignored",
            3,
            "check: inconclusive; 3 inconclusive",
            "but the intervals of the two sides overlap: take more",
        ),
    ] {
        let ended = trueno(case).ends(code, &CHECK).prints(&words.split('…').collect::<Vec<_>>());
        assert_eq!(last(&ended), last_line, "{case}: {}", ended.out);
    }
    let sandbox = trueno("30-wide-ci-ignored");
    sandbox.ends(0, &[&CHECK[..], &["--inconclusive", "ok"]].concat());
    sandbox.ends(1, &[&CHECK[..], &["--inconclusive", "fail"]].concat());
}

#[test]
fn two_baselines_of_different_cpus_are_not_compared() {
    let text = |cpu: &str| {
        format!("# Trueno Performance Baseline\n# Commit: abcdef0\n# CPU: {cpu}\n#\na time: [1 ns 2 ns 3 ns]\n")
    };
    let ended = two(&text("Old"), &text("New")).ends(3, &CHECK);
    assert_eq!(last(&ended), "check: inconclusive; 1 not comparable");
    assert_contains(&ended.out, &["cpu_model Old → New"]);
    two(&text("Old"), &text("Old")).ends(0, &CHECK);
    two(&text("unknown"), &text("New")).ends(0, &CHECK);
}

#[test]
fn compatible_says_what_tt_metals_check_says() {
    let compatible = [&CHECK[..], &["--compatible"]].concat();
    let few = "warning: Section 's.a' has only 4 samples. Results may be unreliable with fewer than 100 samples.";
    for (name, code, words) in [
        ("regression_100_5pct", 1, &[][..]),
        ("improvement_100_5pct", 0, &[]),
        ("multi_section", 1, &[]),
        ("n4_full_separation_flags", 1, &[few]),
        ("large_delta_not_significant_n3", 0, &[]),
    ] {
        let (case, printed) = (tt_metal_case(name), tt_metal(name).ends(code, &compatible).says(words).json());
        assert_eq!(printed["summary"], case["summary"], "{name}");
        for (section, entries) in case["results"].as_object().expect("an object") {
            for (entry, figures) in entries.as_object().expect("an object") {
                assert_eq!(printed["results"][section][entry]["message"], figures["message"], "{name}");
            }
        }
    }
    tt_metal("nan_in_baseline").ends(0, &compatible).prints(&["\"delta_median_pct\": NaN,"]);
}

#[test]
fn what_tt_metals_check_skips_is_judged() {
    let check = |name: &str, code: i32, expected: &str| {
        let ended = tt_metal(name).ends(code, &CHECK);
        assert_eq!(last(&ended), expected, "{name}: {}", ended.out);
        ended
    };
    check("aa_100", 0, "check: pass; 1 unchanged");
    check("regression_100_5pct", 1, "check: fail; 1 regressed");
    check("improvement_100_5pct", 0, "check: pass; 1 improved");
    check("section_order_differs", 3, "check: inconclusive; 2 inconclusive");
    check("section_missing_in_current", 1, "check: fail; 1 missing, 1 inconclusive");
    check("subsection_missing_multi", 1, "check: fail; 1 missing, 1 inconclusive");
    check("count_mismatch", 0, "check: pass; 1 unchanged").says(&["note: 2 lists of fewer than the 100 samples"]);
    let few = check("large_delta_not_significant_n3", 3, "check: inconclusive; 1 inconclusive");
    assert_contains(&few.out, &["3 samples against 3 are too few: even if all of them differed, p would be 0.1"]);
    check("n4_full_separation_flags", 1, "check: fail; 1 regressed");
    let apart = |more: &[&str]| {
        let worse = two(r#"{"s":{"x":[100,101,102,103,104]}}"#, r#"{"s":{"x":[99,100.5,150,160,170]}}"#);
        worse.sprag(&[&CHECK[..], more].concat())
    };
    let torn = apart(&[]).expect(3);
    assert_eq!(last(&torn), "check: inconclusive; 1 inconclusive");
    assert_contains(
        &torn.out,
        &[
            "47.1 % worse, beyond the band, but the samples do not differ (p = ",
            "samples of either side would decide it",
        ],
    );
    apart(&["--compatible"]).expect(0);
    check("duplicate_json_keys", 2, "").says(&["the key `a` occurs twice", "hint:"]);
}

#[test]
fn names_cannot_act_on_a_terminal() {
    let text = "a\u{1b}[31mb/x time: [1 ns 2 ns 3 ns]\n\u{202e}c time: [1 ns 2 ns 3 ns]\n";
    let sandbox = two(text, text);
    for more in [&[][..], &["--compatible"]] {
        let ended = sandbox.ends(0, &[&CHECK[..], more].concat());
        assert!(!ended.out.contains(['\u{1b}', '\u{202e}']), "{}", ended.out);
    }
}

#[test]
fn two_files_are_compared_by_the_rule_of_their_kind() {
    let ground = |level: f64| {
        let samples: Vec<String> = (0..100).map(|at| format!("{}", level + f64::from(at % 7))).collect();
        format!("{{\"pack\": {{\"one\": [{0}], \"two\": [{0}]}}}}", samples.join(", "))
    };
    let sandbox = two(&ground(1000.0), &ground(1100.0));
    let ended = sandbox.ends(1, &["compare", "baseline.txt", "current.txt"]);
    assert!(ended.out.starts_with("current.txt against baseline.txt, by rank: "), "{}", ended.out);
    assert_eq!(last(&ended), "compare: fail; 2 regressed");
    let json = sandbox.ends(1, &["compare", "baseline.txt", "current.txt", "--json"]).out;
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&json["command"], &json["outcome"]), (&Value::from("compare"), &Value::from("fail")));
    let against = ["check", "--run", "current.txt", "--against", "baseline.txt"];
    assert_eq!(last(&sandbox.ends(1, &against)), "check: fail; 2 regressed");

    let text = trueno("02-bands");
    text.sprag(&["compare", "baseline.txt", "current.txt"]).prints(&[", by bands: "]);
}

#[test]
fn each_benchmark_is_judged_as_the_policy_says_where_that_can_be() {
    let text = |level: u32| {
        format!("loose time: [{level} ns {level} ns {level} ns]\ntight time: [{level} ns {level} ns {level} ns]\n")
    };
    let truth = |level: u32| {
        let samples: Vec<String> = (0..100).map(|at| (level + at % 7).to_string()).collect();
        format!("{{\"s\": {{\"loose\": [{0}], \"tight\": [{0}]}}}}", samples.join(", "))
    };
    let (texts, truths) = (two(&text(100), &text(110)), two(&truth(1000), &truth(1100)));
    let check = |sandbox: &Sandbox, policy: &str, code: i32| {
        sandbox.write("policy.toml", policy);
        sandbox.ends(code, &[&CHECK[..], &["--policy", "policy.toml"]].concat())
    };
    let entry = |part: &str, rest: &str| format!("[[rules.metric]]\nmatch = \"{part}\"\n{rest}\n");
    let loose = entry("loose", "rule = \"tolerance\"\nwith = { ratio = 0.25 }");
    for (sandbox, own) in [(&texts, "bands"), (&truths, "rank")] {
        let ended = check(sandbox, &loose, 1);
        assert_eq!(last(&ended), "check: fail; 1 regressed, 1 unchanged", "{}", ended.out);
        let heads = [format!("{own}: "), "tolerance: more than 25 % worse fails (1 benchmark)".to_owned()];
        assert!(heads.iter().all(|head| ended.out.contains(head)), "{}", ended.out);
        assert_eq!(last(&check(sandbox, "[rules]\ndefault = \"interval\"\n", 1)), "check: fail; 2 regressed");
        assert_eq!(last(&check(sandbox, "[rules]\ndefault = \"tolerance\"\n", 0)), "check: pass; 2 unchanged");
        let bands = "[rules]\ndefault = \"bands\"\n[rules.bands]\nfail = 0.2\n";
        assert_eq!(last(&check(sandbox, bands, 0)), "check: pass; 2 unchanged");
        check(sandbox, &entry("losse", "rule = \"tolerance\""), 1)
            .says(&["`match = \"losse\"` in `policy.toml` fits no metric of "]);
        let paired = check(sandbox, &entry("tight", "rule = \"interval\""), 2);
        paired.says(&[
            "`match = \"tight\"` in `policy.toml` has `",
            "judged by `interval`, which cannot judge ",
            "hint: ",
        ]);
        sandbox.write("sprag.toml", &loose);
        assert_eq!(last(&sandbox.ends(1, &CHECK)), "check: fail; 1 regressed, 1 unchanged");
        let compared = sandbox.ends(1, &["compare", "baseline.txt", "current.txt"]);
        assert_eq!(last(&compared), "compare: fail; 1 regressed, 1 unchanged");
        sandbox.remove("sprag.toml");
    }
    for policy in ["[rules]\ndefault = \"rank\"\n".to_owned(), entry("tight", "rule = \"rank\"")] {
        check(&texts, &policy, 2)
            .says(&["judged by `rank`, which cannot judge a text of Criterion: it has no samples"]);
        assert_eq!(last(&check(&truths, &policy, 1)), "check: fail; 2 regressed");
    }
}

#[test]
fn what_is_new_is_in_every_report() {
    let text = |names: &[&str]| names.iter().map(|name| format!("{name} time: [1 ns 2 ns 3 ns]\n")).collect::<String>();
    let sandbox = two(&text(&["a"]), &text(&["a", "b"]));
    let reports =
        ["--report", "json=r.json", "--report", "md=r.md", "--report", "junit=r.xml", "--report", "sarif=r.sarif"];
    let ended = sandbox.ends(3, &[&CHECK[..], &reports].concat()).prints(&["new: the base does not have it"]);
    assert_eq!(last(&ended), "check: inconclusive; 1 without a baseline, 1 unchanged");
    let report = sandbox.json("r.json");
    assert_eq!(report["outcome"], "inconclusive");
    assert_contains(&report.to_string(), &["\"no baseline\""]);
    for file in ["r.md", "r.xml", "r.sarif"] {
        assert_contains(&sandbox.read(file), &["the base does not have it"]);
    }
    sandbox.ends(0, &[&CHECK[..], &["--inconclusive", "ok"]].concat());
    sandbox.ends(1, &[&CHECK[..], &["--inconclusive", "fail"]].concat());
    sandbox.ends(3, &["compare", "baseline.txt", "current.txt"]);
    // What is new cannot have become slower since the base.
    sandbox.ends(0, &["compare", "baseline.txt", "current.txt", "--bisect"]);
    sandbox.ends(0, &[&CHECK[..], &["--bisect"]].concat());
    sandbox.ends(0, &[&CHECK[..], &["--compatible"]].concat());
}
