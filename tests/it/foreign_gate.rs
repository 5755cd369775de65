//! Texts of Criterion and ground truths of tt-metal, judged from Sprag's command line: as their own gates do where asked
//! for, and without the holes of those.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Ended, Sandbox};

const CHECK: [&str; 5] = ["check", "--run", "current.txt", "--baseline", "baseline.txt"];

fn golden(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden").join(path)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("it is there")).expect("it is JSON")
}

/// A folder with the files of a golden case of Trueno.
fn trueno(case: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    for file in ["baseline.txt", "current.txt"] {
        // One that is absent is absent on purpose.
        if let Ok(bytes) = fs::read(golden("trueno/cases").join(case).join(file)) {
            fs::write(sandbox.project.join(file), bytes).expect("a file");
        }
    }
    sandbox
}

/// A folder with the texts of a golden case of tt-metal.
fn tt_metal(name: &str) -> Sandbox {
    let golden = json(&golden("stats/check_regression.json"));
    let cases = golden["cases"].as_array().expect("there are cases");
    let case = cases.iter().find(|case| case["name"] == name).expect("the case is there");
    let text = |field: &str| case[field].as_str().expect("a text").to_owned();
    two(&text("baseline_json"), &text("current_json"))
}

/// A folder with two files.
fn two(baseline: &str, current: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.write("baseline.txt", baseline);
    sandbox.write("current.txt", current);
    sandbox
}

/// The last line of what was printed.
fn last(ended: &Ended) -> &str {
    ended.out.lines().last().unwrap_or_default()
}

#[test]
fn compatible_prints_every_byte_that_truenos_check_prints() {
    let mut compared = 0;
    for folder in fs::read_dir(golden("trueno/cases")).expect("there are cases") {
        let folder = folder.expect("it is listed").path();
        let case = json(&folder.join("expected.json"));
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let plain = case["argv"].as_array().is_some_and(|words| words.len() == 4);
        // A file that is not there is reported in words of our own.
        if !plain || name.ends_with("-file-missing") {
            continue;
        }
        let sandbox = trueno(&name);
        let arguments = [&CHECK[..], &["--compatible"]].concat();
        match case["counts"].is_null() {
            true => {
                let words = case["stderr_last_line"].as_str().expect("a text");
                sandbox.sprag(&arguments).expect(2).says(&["Trueno's own check ends without a result", words, "hint:"]);
            }
            false => {
                let code = case["exit_code"].as_i64().expect("a number") as i32;
                let ended = sandbox.sprag(&arguments).expect(code);
                assert_eq!(Some(ended.out.as_str()), case["stdout"].as_str(), "{name}");
            }
        }
        compared += 1;
    }
    assert!(compared >= 23, "{compared} cases were compared");
}

#[test]
fn what_truenos_check_passes_over_is_judged() {
    let check = |case: &str, code: i32, expected: &str| {
        let ended = trueno(case).sprag(&CHECK).expect(code);
        assert_eq!(last(&ended), expected, "{case}: {}", ended.out);
        ended.out
    };
    check("01-all-unchanged-full-format", 0, "check: pass; 12 unchanged");
    let bands = check("02-bands", 1, "check: fail; 3 regressed, 2 improved, 7 unchanged");
    assert!(bands.contains("in the warning band: 4.9 % worse, where 2.0 % warns and 5.0 % fails"), "{bands}");
    assert!(bands.contains("2.1 % better, but the intervals of the two sides overlap"), "{bands}");
    let long = check("05-long-names-own-line", 1, "check: fail; 2 regressed, 4 unchanged");
    assert!(long.contains("regressed  log_softmax/Scalar/100000"), "{long}");
    check("06-only-long-names", 0, "check: pass; 2 unchanged");
    check("07-missing-benchmarks-pass", 1, "check: fail; 10 missing, 2 unchanged");
    // Nothing holds what is new, so that it is no pass, as with every other base.
    let new = check("09-new-benchmarks", 3, "check: inconclusive; 3 without a baseline, 3 unchanged");
    for name in ["mul/AVX2/100 ", "mul/AVX2/10000", "mul/Scalar/10000"] {
        assert!(new.contains(&format!("no baseline  {name}")), "{new}");
    }
    check("11-names-with-spaces", 1, "check: fail; 3 regressed, 2 unchanged");
    check("12-odd-units", 1, "check: fail; 1 regressed, 5 unchanged");
    check("13-ansi-colour-current", 1, "check: fail; 3 regressed, 1 without a baseline");
    let wide = check("30-wide-ci-ignored", 3, "check: inconclusive; 3 inconclusive");
    assert!(wide.contains("but the intervals of the two sides overlap: take more samples"), "{wide}");
    let sandbox = trueno("30-wide-ci-ignored");
    sandbox.sprag(&[&CHECK[..], &["--inconclusive", "ok"]].concat()).expect(0);
    sandbox.sprag(&[&CHECK[..], &["--inconclusive", "fail"]].concat()).expect(1);
}

#[test]
fn two_baselines_of_different_cpus_are_not_compared() {
    let text = |cpu: &str| {
        format!("# Trueno Performance Baseline\n# Commit: abcdef0\n# CPU: {cpu}\n#\na time: [1 ns 2 ns 3 ns]\n")
    };
    let ended = two(&text("Old"), &text("New")).sprag(&CHECK).expect(3);
    assert_eq!(last(&ended), "check: inconclusive; 1 not comparable");
    assert!(ended.out.contains("cpu_model Old → New"), "{}", ended.out);
    two(&text("Old"), &text("Old")).sprag(&CHECK).expect(0);
    two(&text("unknown"), &text("New")).sprag(&CHECK).expect(0);
}

#[test]
fn compatible_says_what_tt_metals_check_says() {
    let compatible = [&CHECK[..], &["--compatible"]].concat();
    let check = |name: &str, code: i32| {
        let ended = tt_metal(name).sprag(&compatible).expect(code);
        let found: Value = serde_json::from_str(&ended.out).expect("it is JSON");
        let golden = json(&golden("stats/check_regression.json"));
        let cases = golden["cases"].as_array().expect("there are cases");
        let case = cases.iter().find(|case| case["name"] == name).expect("the case is there");
        assert_eq!(found["summary"], case["summary"], "{name}");
        for (section, entries) in case["results"].as_object().expect("an object") {
            for (entry, figures) in entries.as_object().expect("an object") {
                assert_eq!(found["results"][section][entry]["message"], figures["message"], "{name}");
            }
        }
        ended
    };
    check("regression_100_5pct", 1);
    check("improvement_100_5pct", 0);
    check("multi_section", 1);
    check("n4_full_separation_flags", 1)
        .says(&["warning: Section 's.a' has only 4 samples. Results may be unreliable with fewer than 100 samples."]);
    check("large_delta_not_significant_n3", 0);
    let refused = |name: &str, words: &str| {
        let own = "tt-metal's own check ends without a result";
        tt_metal(name).sprag(&compatible).expect(2).says(&[own, words, "hint:"]);
    };
    refused("count_mismatch", "ValueError: Sample count mismatch in s.a: baseline has 5, current has 6");
    refused("section_order_differs", "Section mismatch: baseline has ['p', 'q'], current has ['q', 'p']");
    refused("empty_list_current", "ValueError: Subsection 's.a' cannot be empty");
    refused("malformed_json", "JSONDecodeError: Expecting value: line 1 column 18 (char 17)");
    let nan = tt_metal("nan_in_baseline").sprag(&compatible).expect(0);
    assert!(nan.out.contains("\"delta_median_pct\": NaN,"), "{}", nan.out);
}

#[test]
fn what_tt_metals_check_skips_is_judged() {
    let check = |name: &str, code: i32, expected: &str| {
        let ended = tt_metal(name).sprag(&CHECK).expect(code);
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
    assert!(few.out.contains("3 samples against 3 are too few: were all of them apart, p would be 0.1"), "{}", few.out);
    check("n4_full_separation_flags", 1, "check: fail; 1 regressed");
    let apart = |more: &[&str]| {
        let worse = two(r#"{"s":{"x":[100,101,102,103,104]}}"#, r#"{"s":{"x":[99,100.5,150,160,170]}}"#);
        worse.sprag(&[&CHECK[..], more].concat())
    };
    let torn = apart(&[]).expect(3);
    assert_eq!(last(&torn), "check: inconclusive; 1 inconclusive");
    assert!(torn.out.contains("47.1 % worse, beyond the band, but the samples do not differ (p = "), "{}", torn.out);
    assert!(torn.out.contains("samples of either side would settle it"), "{}", torn.out);
    apart(&["--compatible"]).expect(0);
    check("duplicate_json_keys", 2, "").says(&["the key `a` occurs twice", "hint:"]);
}

#[test]
fn what_cannot_be_compared_is_named_with_what_to_do() {
    let refused = |sandbox: &Sandbox, arguments: &[&str], words: &[&str]| {
        let ended = sandbox.sprag(arguments).expect(2).says(words).says(&["hint:"]);
        assert_eq!(ended.out, "");
    };
    let texts = |case: &str, words: &[&str]| refused(&trueno(case), &CHECK, words);
    texts("08-all-missing-but-one-unrelated", &["have no benchmark in common", "`brand/new/1`"]);
    texts("15-duplicate-names-last-wins", &["`dup/x` of `baseline.txt` comes more than once"]);
    texts("16-empty-current", &["current.txt lists no benchmark"]);
    texts("17-empty-baseline", &["baseline.txt is empty"]);
    texts("25-zero-baseline", &["`zero/x` of `baseline.txt` cannot be judged", "is 0 s"]);
    texts("26-malformed-number", &["`bad/x` of `baseline.txt` cannot be judged", "is NaN"]);
    texts("29-invalid-utf8", &["current.txt is not UTF-8 at byte 559"]);

    let line = "a time: [1 ns 2 ns 3 ns]\n";
    let lines = |more: &str, words: &[&str]| {
        let text = format!("{line}{more}");
        refused(&two(&text, &text), &CHECK, words);
    };
    lines("b time: [9 xs 9 xs 9 xs]\n", &["line 2 of `baseline.txt`: `time:` is followed by no estimate"]);
    lines("b time: [9 ns 9", &["line 2 of `baseline.txt`"]);
    lines("b time: [2 us 1 us 3 us]\n", &["`b` of `baseline.txt` cannot be judged", "does not lie between its bounds"]);
    let truth = r#"{"s": {"a": [1, 2, 3]}}"#;
    let truths = |current: &str, words: &[&str]| refused(&two(truth, current), &CHECK, words);
    truths(r#"{"s": {"a": [1, NaN, 3]}}"#, &["`s/a` of `current.txt` cannot be judged", "sample 2", "NaN"]);
    truths(r#"{"s": {"a": [1, 2, 0]}}"#, &["sample 3 of its `cycles` is 0, where more than zero is needed"]);
    truths(r#"{"s": {"a": []}}"#, &["its `cycles` has no samples"]);
    truths(r#"{"s": {}}"#, &["current.txt lists no benchmark"]);
    truths("", &["current.txt is empty"]);
    truths(r#"{"renamed": {"a": [1, 2, 3]}}"#, &["have no benchmark in common", "`renamed/a`", "`s/a`"]);
    truths(r#"{"s": {"a": [1, 2,"#, &["current.txt is not JSON"]);
    truths(line, &["`current.txt` is a text of Criterion, and `baseline.txt` is a ground truth of tt-metal"]);
    truths("no estimate", &["`current.txt` is not a ground truth of tt-metal, as the other file is"]);
    let run = r#"{"schema_version": 1, "suite": "cpu"}"#;
    refused(&two(line, run), &CHECK, &["`current.txt` is not a text of Criterion"]);

    let sandbox = two(line, line);
    refused(&sandbox, &CHECK[..3], &["`current.txt` is a text of Criterion, and `--baseline` names no other"]);
    refused(&sandbox, &["check", "--baseline", "baseline.txt"], &["`--run` names no other to go with it"]);
    refused(&sandbox, &[&CHECK[..], &["--suite", "cpu"]].concat(), &["`--suite` names suites of Sprag"]);
    refused(&sandbox, &[&CHECK[..], &["--summary", "s.json"]].concat(), &["are of a report of Apex-X"]);
    assert!(!sandbox.project.join("s.json").exists());
    let other = two(run, run);
    refused(&other, &[&CHECK[..], &["--compatible"]].concat(), &["is for files of Trueno and tt-metal"]);
    let absent = ["check", "--run", "absent.txt", "--baseline", "baseline.txt"];
    sandbox.sprag(&absent).expect(2).says(&["cannot read `absent.txt`"]);
    sandbox.sprag(&["check", "--compatible"]).expect(2).says(&["--run", "--baseline"]);
}

#[test]
fn names_cannot_act_on_a_terminal() {
    let text = "a\u{1b}[31mb/x time: [1 ns 2 ns 3 ns]\n\u{202e}c time: [1 ns 2 ns 3 ns]\n";
    let sandbox = two(text, text);
    for more in [&[][..], &["--compatible"]] {
        let ended = sandbox.sprag(&[&CHECK[..], more].concat()).expect(0);
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
    let ended = sandbox.sprag(&["compare", "baseline.txt", "current.txt"]).expect(1);
    assert!(ended.out.starts_with("current.txt against baseline.txt, by rank: "), "{}", ended.out);
    assert_eq!(last(&ended), "compare: fail; 2 regressed");
    let json = sandbox.sprag(&["compare", "baseline.txt", "current.txt", "--json"]).expect(1).out;
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&json["command"], &json["outcome"]), (&Value::from("compare"), &Value::from("fail")));
    let same = ["compare", "current.txt", "current.txt"];
    sandbox.sprag(&same).expect(2).says(&["`current.txt` is compared with itself", "hint: "]);
    sandbox.sprag(&["check", "--run", "current.txt", "--baseline", "current.txt"]).expect(2).says(&["with itself"]);
    let suite = ["compare", "baseline.txt", "current.txt", "--suite", "cpu"];
    sandbox.sprag(&suite).expect(2).says(&["`--suite` names suites of Sprag"]);
    // `--against` takes the file that `--baseline` does.
    let against = ["check", "--run", "current.txt", "--against", "baseline.txt"];
    assert_eq!(last(&sandbox.sprag(&against).expect(1)), "check: fail; 2 regressed");

    let text = trueno("02-bands");
    let compared = text.sprag(&["compare", "baseline.txt", "current.txt"]);
    assert!(compared.out.contains(", by bands: "), "{}{}", compared.out, compared.err);
}

#[test]
fn what_is_new_is_in_every_report() {
    let text = |names: &[&str]| names.iter().map(|name| format!("{name} time: [1 ns 2 ns 3 ns]\n")).collect::<String>();
    let sandbox = two(&text(&["a"]), &text(&["a", "b"]));
    let reports =
        ["--report", "json=r.json", "--report", "md=r.md", "--report", "junit=r.xml", "--report", "sarif=r.sarif"];
    let ended = sandbox.sprag(&[&CHECK[..], &reports].concat()).expect(3);
    assert_eq!(last(&ended), "check: inconclusive; 1 without a baseline, 1 unchanged");
    assert!(ended.out.contains("new: the base does not have it"), "{}", ended.out);
    let found: Value = serde_json::from_str(&sandbox.read("r.json")).expect("it is JSON");
    let printed = found.to_string();
    assert!(printed.contains("\"no baseline\"") && found["outcome"] == "inconclusive", "{printed}");
    for file in ["r.md", "r.xml", "r.sarif"] {
        assert!(sandbox.read(file).contains("the base does not have it"), "{file}: {}", sandbox.read(file));
    }
    sandbox.sprag(&[&CHECK[..], &["--inconclusive", "ok"]].concat()).expect(0);
    sandbox.sprag(&[&CHECK[..], &["--inconclusive", "fail"]].concat()).expect(1);
    sandbox.sprag(&["compare", "baseline.txt", "current.txt"]).expect(3);
    // What is new cannot have become slower since the base.
    sandbox.sprag(&["compare", "baseline.txt", "current.txt", "--bisect"]).expect(0);
    sandbox.sprag(&[&CHECK[..], &["--bisect"]].concat()).expect(0);
    sandbox.sprag(&[&CHECK[..], &["--compatible"]].concat()).expect(0);
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
        sandbox.sprag(&[&CHECK[..], &["--policy", "policy.toml"]].concat()).expect(code)
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
        // The configuration of the project holds as a policy does.
        sandbox.write("sprag.toml", &loose);
        assert_eq!(last(&sandbox.sprag(&CHECK).expect(1)), "check: fail; 1 regressed, 1 unchanged");
        let compared = sandbox.sprag(&["compare", "baseline.txt", "current.txt"]).expect(1);
        assert_eq!(last(&compared), "compare: fail; 1 regressed, 1 unchanged");
        fs::remove_file(sandbox.project.join("sprag.toml")).expect("it is there");
    }
    for policy in ["[rules]\ndefault = \"rank\"\n".to_owned(), entry("tight", "rule = \"rank\"")] {
        check(&texts, &policy, 2)
            .says(&["judged by `rank`, which cannot judge a text of Criterion: it holds no samples"]);
        assert_eq!(last(&check(&truths, &policy, 1)), "check: fail; 2 regressed");
    }
}
