//! Two such commits measured against each other, process by process in turns.

use std::fs;

use serde_json::Value;

use crate::commits::{BENCH, SUITE, sandbox, sprag};
use crate::sandbox::{Sandbox, assert_contains};

#[track_caller]
fn compared(sandbox: &Sandbox, base: &str, other: &str, code: i32) -> Value {
    let ended = sprag(sandbox, &["compare", base, other, "--measure", "--json"]).expect(code);
    crate::schemas::follows("compare-2", &ended.out)
}

fn verdicts(report: &Value) -> Vec<(String, String)> {
    let list = report["benchmarks"].as_array().expect("a list");
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    let mut verdicts: Vec<(String, String)> =
        list.iter().map(|one| (word(&one["measured"]["benchmark"]), word(&one["verdict"]))).collect();
    verdicts.sort();
    verdicts
}

fn pair(sort: &str, tiles: &str) -> Vec<(String, String)> {
    let one = |name: &str, verdict: &str| (format!("theirs/{name} @default"), verdict.to_owned());
    vec![one("sort", sort), one("tiles", tiles)]
}

#[test]
fn two_commits_are_judged_by_the_direction_of_what_they_report() {
    let sandbox = sandbox();
    let report = compared(&sandbox, "v1", "v2", 1);
    assert_eq!(verdicts(&report), pair("regressed", "unchanged"));
    let sort = &report["benchmarks"][0];
    assert_eq!((&sort["measured"]["benchmark"], &sort["ratio"]), (&"theirs/sort @default".into(), &2.0.into()));
    assert_eq!(sort["measured"]["pairs"].as_array().map(Vec::len), Some(6));
    assert_eq!(sort["measured"]["pairs"][0], serde_json::json!({"base": 1e-3, "other": 2e-3, "ratio": 2.0}));
    assert_eq!(report["shown"][0]["measured"]["metric"]["name"], "peak_memory");
    let v2 = sandbox.git(&["rev-parse", "v2"]);
    assert_eq!((&report["other"]["named"], &report["other"]["commit"]), (&"v2".into(), &v2.into()));

    assert_eq!(verdicts(&compared(&sandbox, "v2", "HEAD", 1)), pair("unchanged", "regressed"));
    assert_eq!(verdicts(&compared(&sandbox, "HEAD", "v1", 0)), pair("improved", "improved"));
    assert_eq!(verdicts(&compared(&sandbox, "v2", "v2", 0)), pair("unchanged", "unchanged"));

    sandbox.ends(0, &["cache", "clear"]);
    let ended = sprag(&sandbox, &["compare", "v1", "v2", "--measure", "--filter", "sort"]).expect(1);
    for word in [
        "theirs: v2 against v1, interleaved",
        "+100.0 %",
        "not judged",
        "8.000 KiB",
        "compare: fail; 1 regressed; 6 process pairs",
    ] {
        assert_contains(&ended.out, &[word]);
    }
    ended.says(&["building", "with `sh -c cat rate > built`", "in up to 6 process pairs"]);
}

#[test]
fn processes_take_turns_each_in_its_own_tree() {
    let sandbox = sandbox();
    let order = sandbox.project.join("out/order");
    sandbox.write("out/order", "");
    let command = format!("cat speed >> {0}; echo >> {0}; sh bench.sh", order.display());
    sandbox.write("sprag.toml", &SUITE.replace("\"sh\", \"bench.sh\"", &format!("\"sh\", \"-c\", \"{command}\"")));
    let shared = &*sandbox.place("out/shared");
    sandbox.write("bench.sh", &format!("test -z \"$CARGO_TARGET_DIR\" || exit 9\n{BENCH}"));
    sandbox.commit("Refuse a folder that others build in");
    sandbox.git(&["tag", "-f", "v2"]);
    let temporary = sandbox.temporary();
    let set = [("TMPDIR", temporary.to_str().expect("a path is text")), ("CARGO_TARGET_DIR", shared)];
    sandbox.sprag_with(&set, &["compare", "v1", "v2", "--measure", "--rigorous"]).expect(1);
    let order: Vec<String> = sandbox.read("out/order").lines().map(str::to_owned).collect();
    let turns: String = order.iter().map(|speed| if speed == "1e-3" { 'A' } else { 'B' }).collect();
    assert_eq!(turns, "ABBA".repeat(7) + "AB");
}

#[test]
fn a_benchmark_that_only_one_commit_has_is_missing_or_new() {
    let sandbox = sandbox();
    sandbox.commit_with("bench.sh", &BENCH.replace("\"name\": \"tiles\"", "\"name\": \"cells\""), "Rename one");
    let report = compared(&sandbox, "v3", "HEAD", 1);
    assert_eq!(verdicts(&report), pair("unchanged", "missing"));
    assert_eq!(report["new"], serde_json::json!(["theirs/cells @default"]));
    let ended = sprag(&sandbox, &["compare", "v3", "HEAD", "--measure"]).expect(1);
    let row =
        |start: &str| ended.out.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{}", ended.out));
    let new = row("no baseline  theirs/cells @default  rate");
    assert_contains(new, &["40.00 1/s", "new: the base does not have it"]);
    assert_contains(row("missing      theirs/tiles @default"), &["the other side does not have it"]);
    assert_contains(&ended.out, &["\ncompare: fail; 1 missing, 1 without a baseline, 1 unchanged; 6 process pairs"]);

    sandbox.write("bench.sh", &BENCH.replace("\"name\": \"sort\",", "\"name\": \"sort\", \"version\": 2,"));
    sandbox.commit("Sort more");
    sprag(&sandbox, &["compare", "v3", "HEAD", "--measure"]).expect(3).prints(&["version 1 of it became version 2"]);
}

#[test]
fn samples_of_zero_are_compared_and_values_of_zero_reported() {
    let sandbox = sandbox();
    // A judged benchmark, and a metric shown besides a time.
    let report = |judged: &str, shown: &str| {
        let faults = |name: &str, samples: &str| {
            format!(
                r#"{{"name": "{name}", "unit": "1", "better": "lower", "samples": [{}]}}"#,
                samples.replace('+', ", ")
            )
        };
        let time = r#"{"name": "time", "unit": "s", "better": "lower", "value": 1e-3}"#;
        let all = format!(
            r#"{{"schema_version": 1, "benchmarks": [{{"name": "a", "metrics": [{}]}}, {{"name": "b", "metrics": [{time}, {}]}}]}}"#,
            faults("faults", judged),
            faults("misses", shown)
        );
        sandbox.commit_with("bench.sh", &format!("cat <<'END'\n{all}\nEND\n"), &format!("Report {judged} and {shown}"));
    };
    report("0+3+3", "0+5+5");
    report("3+3+0", "5+0+5");
    let compare = |code: i32| sprag(&sandbox, &["compare", "HEAD~1", "HEAD", "--measure"]).expect(code).out;
    let out = compare(0);
    assert_contains(&out, &["\ncompare: pass; 2 unchanged; 6 process pairs"]);
    assert!(out.lines().any(|line| line.contains("misses") && line.contains("0.0 %")), "{out}");

    report("0+0+3", "0+0+5");
    let out = compare(3);
    assert_contains(
        &out,
        &["its `faults` is zero or less on one side, which has no ratio (3.000 against 0 in pair 1)"],
    );
    let shown = out.lines().find(|line| line.contains("its `misses` is zero or less on one side"));
    assert!(shown.is_some_and(|line| line.contains("(5.000 against 0 in pair 1)")), "{out}");
    assert_contains(&out, &["1 not comparable, 1 unchanged; 6 process pairs"]);
    let report = compared(&sandbox, "HEAD~1", "HEAD", 3);
    assert_eq!(report["shown"][0]["measured"]["metric"]["name"], "misses");
    assert_eq!((&report["shown"][0]["ratio"], report["shown"].as_array().map(Vec::len)), (&Value::Null, Some(1)));
    // Without a ratio to judge, the pairs have still run.
    let only = ["compare", "HEAD~1", "HEAD", "--measure", "--filter", "/a @"];
    sprag(&sandbox, &only).expect(3).prints(&["compare: inconclusive; 1 not comparable; 6 process pairs"]);
}

#[test]
fn what_is_new_leaves_doubt_as_it_does_in_a_check() {
    let sandbox = sandbox();
    let more = "{\"name\": \"more\", \"metrics\": [{\"name\": \"time\", \"unit\": \"s\", \"better\": \"lower\", \"value\": 3e-3}]}, {\"name\": \"sort\"";
    sandbox.commit_with("bench.sh", &BENCH.replace("{\"name\": \"sort\"", more), "Add one");
    let report = compared(&sandbox, "v3", "HEAD", 3);
    assert_eq!(verdicts(&report), pair("unchanged", "unchanged"));
    assert_eq!(report["new"], serde_json::json!(["theirs/more @default"]));
    let ended = sprag(&sandbox, &["compare", "v3", "HEAD", "--measure", "--report", "json=-"]).expect(3);
    let gate = crate::schemas::follows("check-1", &ended.out);
    let new = &gate["suites"][0]["comparisons"][0];
    assert_eq!(
        (&new["verdict"], &new["baseline"], &new["current"]),
        (&"no baseline".into(), &Value::Null, &3e-3.into())
    );
    sprag(&sandbox, &["compare", "v3", "HEAD", "--measure", "--inconclusive", "ok"]).expect(0);
    // A new benchmark cannot have become slower.
    sprag(&sandbox, &["compare", "v3", "HEAD", "--measure", "--bisect"]).expect(0);
    sprag(&sandbox, &["compare", "v1", "HEAD", "--measure", "--bisect"]).expect(1);
    sandbox.commit_with("bench.sh", &BENCH.replace("{\"name\": \"sort\"", &more.replace("3e-3", "NaN")), "Break it");
    let report = compared(&sandbox, "v3", "HEAD", 1);
    let fault = report["faults"][0].as_str().expect("a text");
    assert!(fault.starts_with("`theirs/more @default` is new, and failed: its metric `time` holds NaN"), "{fault}");
}

#[test]
fn reports_say_that_both_sides_took_turns() {
    let sandbox = sandbox();
    let reports: Vec<String> = ["json", "md", "junit", "sarif", "github", "summary", "trend"]
        .iter()
        .flat_map(|form| ["--report".to_owned(), format!("{form}=out/{form}")])
        .collect();
    let reports: Vec<&str> = reports.iter().map(String::as_str).collect();
    let compare = [&["compare", "v1", "v2", "--measure"], &reports[..]].concat();
    sprag(&sandbox, &compare).expect(2).says(&["there is no folder", "hint: make the folder first"]);
    sandbox.write("out/.keep", "");
    sprag(&sandbox, &compare).expect(1);
    let check = |form: &str, words: &[&str]| {
        let text = sandbox.read(&format!("out/{form}"));
        assert_contains(&text, words);
        assert!(!text.contains("No run") && !text.contains("baseline emit"), "{text}");
    };
    let turns = "v1: v2 and v1 took turns in 6 process pairs";
    check("json", &["\"outcome\": \"fail\"", turns]);
    check("md", &["### ✕ sprag compare: fail; 1 regressed, 1 unchanged", "\nMeasured ", turns, "`sort @default` time"]);
    check("junit", &["<testsuites name=\"sprag compare\"", turns, "slower: +100"]);
    check("sarif", &["sprag/compare/", "regressed: theirs/sort @default time"]);
    check("github", &["::error title=sprag%3A regressed%3A theirs/sort @default time::slower"]);
    check("summary", &["\"status\": \"fail\"", "theirs/sort @default time"]);
    check("trend", &["\"overall_status\": \"fail\"", "\"failed_metrics\": 1"]);
}

#[test]
fn no_change_loosens_what_it_is_judged_by() {
    let sandbox = sandbox();
    let measured = |from: &[&str], code| {
        let all = [&["compare", "v1", "HEAD", "--measure", "--suite", "theirs", "--format", "md"][..], from].concat();
        sprag(&sandbox, &all).expect(code)
    };
    let from = ["--config-from", "v1"];
    let is_quiet = measured(&from, 1);
    assert!(!is_quiet.both().contains("edits"), "{}", is_quiet.both());
    is_quiet.prints(&["took turns", "by `sprag.toml` of v1"]);
    // Rules that let all pass, a suite that prints other figures, and one of the project that is gone.
    let loose = "[rules]\ndefault = \"tolerance\"\n[rules.tolerance]\nratio = 9.0\n";
    sandbox.commit_with("sprag.toml", &format!("{SUITE}{loose}"), "Loosen the rules");
    measured(&[], 0);
    measured(&from, 1)
        .says(&["`sprag.toml` is that of v1, as the checkout edits `[rules]`"])
        .prints(&["edits `[rules]`"]);
    sandbox.write("constant.sh", &BENCH.replace("$(cat speed)", "1e-3").replace("$(cat built)", "50"));
    sandbox.commit_with("sprag.toml", &SUITE.replace("bench.sh", "constant.sh"), "Measure nothing");
    measured(&from, 1).says(&["as the checkout edits `[suites.theirs]`"]);
    sandbox.commit_with("sprag.toml", &SUITE.replace("theirs", "new"), "Rename the suite");
    measured(&from, 1).says(&["as the checkout edits `[suites.theirs]`"]);
    // What only the checkout has is measured as it says.
    let new = ["compare", "v1", "HEAD", "--measure", "--suite", "new", "--config-from", "v1"];
    sprag(&sandbox, &new).expect(1).prints(&["new/sort"]);
    sprag(&sandbox, &["compare", "v1", "HEAD", "--config-from", "v1"]).expect(2);
    let run = ["run", "--quick", "--suite", "theirs", "--config-from", "v1"];
    sprag(&sandbox, &run[..4]).expect(2);
    sprag(&sandbox, &run).expect(0).says(&["as the checkout edits `[suites.theirs]`"]);
    let unknown = ["compare", "v1", "HEAD", "--measure", "--config-from", "v9"];
    sprag(&sandbox, &unknown).expect(2).says(&["v9"]);
}

#[test]
fn what_is_unchanged_can_be_left_out() {
    let sandbox = sandbox();
    let only = |form: &[&str]| {
        sprag(&sandbox, &[&["compare", "v1", "v2", "--measure", "--only-changed"], form].concat()).expect(1).out
    };
    let report = only(&["--json"]);
    let report = crate::schemas::follows("compare-2", &report);
    assert_eq!(verdicts(&report), [pair("regressed", "")[0].clone()]);
    assert_eq!(report["unchanged_left_out"], 1);
    let markdown = only(&["--format", "md"]);
    assert_contains(&markdown, &["1 regressed, 1 unchanged", "\n1 unchanged, left out here.\n"]);
    assert!(!markdown.contains("tiles"), "{markdown}");
    let table = only(&[]);
    assert!(table.contains("\n1 metric unchanged\n") && !table.contains("tiles"), "{table}");
}

#[test]
fn a_pattern_without_a_metric_is_reported_of_measured_commits() {
    let sandbox = sandbox();
    let entry = |text: &str| {
        format!("[[rules.metric]]\nmatch = \"{text}\"\nrule = \"interval\"\nwith = {{ tolerance = 1.0 }}\n")
    };
    sandbox.write("lax.toml", &entry("sotr"));
    let lax = ["compare", "v1", "v2", "--measure", "--policy", "lax.toml"];
    sprag(&sandbox, &lax).expect(1).says(&["warning: `match = \"sotr\"` in `lax.toml` fits no metric of theirs"]);
    sandbox.write("lax.toml", &entry("sort"));
    let ended = sprag(&sandbox, &lax);
    assert!(!ended.err.contains("fits no metric"), "{}", ended.err);
    sandbox.write("sprag.toml", &format!("{SUITE}{}[suites.cpu]\nkind = \"cpu\"\n", entry("sotr")));
    let own = ["compare", "v1", "v2", "--measure", "--suite", "theirs"];
    let words = "note: `match = \"sotr\"` in `sprag.toml` fits no metric of theirs; cpu was not judged";
    sprag(&sandbox, &own).expect(1).says(&[words]);
}

#[test]
fn a_failure_names_its_side() {
    let sandbox = sandbox();
    let not_finite = BENCH.replace("\"value\": %s},\n", "\"value\": NaN%.0s},\n");
    for (script, code, words) in [
        ("exit 7\n", 2, "the other side: it ended with exit code 7"),
        (&not_finite, 1, "the other side: its metric `time` holds NaN"),
    ] {
        sandbox.commit_with("bench.sh", script, "Break it");
        let ended = sprag(&sandbox, &["compare", "v3", "HEAD", "--measure"]).expect(code);
        assert_contains(&ended.both(), &[words]);
    }
}

#[test]
fn wrong_sides_suites_and_builds_are_refused_with_advice() {
    let sandbox = sandbox();
    let check = |arguments: &[&str], words: &[&str]| {
        sprag(&sandbox, &[&["compare"], arguments, &["--measure"]].concat()).expect(2).says(words);
    };
    let build = |text: &str, more: &str| {
        sandbox.write("sprag.toml", &format!("{}{more}", SUITE.replace("cat rate > built", text)));
    };
    build("echo one >&2; false", "");
    check(&["v1", "v2"], &["cannot build ", "(Make v1)", "exit code 1 (one)"]);
    build("cat rate > built", "include = [\"nothing\"]\n");
    check(&["v1", "v2"], &["`suites.theirs.include` leaves no benchmark"]);
    build("cat rate > built", "[suites.more]\nkind = \"command\"\ncommand = [\"true\"]\n");
    check(&["v1", "v2"], &["several suites could be compared", "`more`, `theirs`"]);
    check(&["v1", "v2", "--suite", "more"], &["the base: standard output is empty"]);
    build("cat rate > built", "[suites.device]\nkind = \"gpu\"\n");
    check(&["v1", "v2", "--suite", "device"], &["of a kind whose builds cannot take turns"]);
    sprag(&sandbox, &["compare", "v2", "v2", "--measure", "--quick"]).expect(0);
}

#[test]
fn a_bisection_goes_on_where_a_commit_cannot_be_built() {
    let sandbox = sandbox();
    sandbox.git(&["rm", "-q", "rate"]);
    sandbox.commit("Break the build");
    sandbox.git(&["tag", "broken"]);
    let bisect = |base: &str, other: &str, code: i32| {
        sprag(&sandbox, &["compare", base, other, "--measure", "--quick", "--bisect"]).expect(code)
    };
    let words = ["error: cannot build", "(Break the build)", "hint: "];
    bisect("v1", "broken", 125).says(&words);
    // If it is the base, no other commit would do better.
    bisect("broken", "v1", 128).says(&words);
    bisect("v1", "nowhere", 128);
    sandbox.git(&["checkout", "-q", "v2"]);
    sandbox.commit_with("bench.sh", "exit 3\n", "Crash");
    sandbox.git(&["tag", "crash"]);
    bisect("v1", "crash", 125).says(&["the command gave no result: the other side: it ended with exit code 3"]);
    bisect("crash", "v1", 128).says(&["the command gave no result: the base: it ended with exit code 3"]);
    bisect("v1", "v2", 1);
}

/// A package named like Sprag with the same build variables. Its program starts the real one, writes the file `flag` to the
/// home folder and calls the variant `reference` by the name `variant`.
fn package(sandbox: &Sandbox, flag: &str, variant: &str) {
    sandbox.write("Cargo.toml", "[package]\nname = \"sprag\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    sandbox.write("Cargo.lock", "version = 4\n\n[[package]]\nname = \"sprag\"\nversion = \"0.1.0\"\n");
    let line = |variable: &str, value: &str| format!("println!(\"cargo:rustc-env=SPRAG_{variable}={value}\"); ");
    let says = line("FLAGS", flag) + &line("COMPILER", "rustc of old");
    sandbox.write("build.rs", &format!("fn main() {{ {says}}}\n"));
    let script = format!(
        "touch ~/{flag}; read plan; {{ echo $plan | sed s/@reference/@{variant}/; cat; }} | {} $@",
        env!("CARGO_BIN_EXE_sprag")
    );
    let main = format!(
        "fn main() {{\n    let _ = env!(\"SPRAG_FLAGS\");\n    let arguments = std::env::args();\n    \
         let status = std::process::Command::new(\"sh\").args([\"-c\", \"{script}\"]).args(arguments).status();\n    \
         std::process::exit(status.expect(\"there is a shell\").code().unwrap_or(9));\n}}\n"
    );
    sandbox.write("src/main.rs", &main);
}

/// Runs the binary with Cargo in the search path.
#[track_caller]
fn with_cargo(sandbox: &Sandbox, arguments: &[&str]) -> crate::sandbox::Ended {
    let cargo = std::path::PathBuf::from(env!("CARGO"));
    let tools = cargo.parent().expect("a program lies in a folder").display();
    let path = format!("{tools}:{}", std::env::var("PATH").expect("there is a search path"));
    let temporary = sandbox.temporary();
    let temporary = temporary.to_str().expect("a path is text");
    let ended = sandbox.sprag_with(&[("PATH", &path), ("TMPDIR", temporary)], arguments);
    assert_eq!(fs::read_dir(temporary).expect("a folder").count(), 0);
    ended
}

#[test]
fn kernels_are_those_of_the_program_of_the_commit() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/out\n");
    for (flag, variant) in [("first", "gone"), ("second", "reference")] {
        package(&sandbox, flag, variant);
        sandbox.commit(flag);
    }
    let used = |flag: &str| sandbox.temporary().with_file_name("home").join(flag).exists();
    let scan = ["--quick", "--filter", "scan"];
    let ended =
        with_cargo(&sandbox, &[&["run", "--commit", "HEAD~1", "--output-run", "out/run.json"][..], &scan].concat());
    let ended = ended.expect(0);
    assert!(used("first") && !used("second"), "{}", ended.err);
    let run = sandbox.json("out/run.json");
    assert_eq!(run["commit"]["sha"], sandbox.git(&["rev-parse", "HEAD~1"]));
    let facts = &run["environment"]["facts"];
    // A benchmark that a later commit added is neither a failure nor missing.
    ended.says(&["1 benchmark left out: not defined by that commit"]);
    assert!(run["benchmarks"].as_array().is_some_and(|all| all.iter().all(|one| one["failure"].is_null())), "{run}");
    assert_eq!((&facts["compiler"], &facts["flags"]), (&"rustc of old".into(), &"first".into()), "{run}");

    let ended = with_cargo(
        &sandbox,
        &[&["compare", "HEAD~1", "HEAD", "--measure", "--json", "--inconclusive", "ok"][..], &scan].concat(),
    );
    assert!(used("second"), "{}", ended.err);
    let report = ended.json();
    assert_eq!(report["benchmarks"].as_array().map(Vec::len), Some(1));
    assert!(report["new"][0].as_str().is_some_and(|id| id.ends_with("@reference")), "{report}");
    assert!(sandbox.git(&["status", "--porcelain"]).is_empty(), "what is built lies where git does not look");

    let check = |main: &str, words: &[&str]| {
        sandbox.commit_with("src/main.rs", main, "Break it");
        with_cargo(&sandbox, &[&["run", "--commit", "HEAD"][..], &scan].concat()).expect(2).says(words);
    };
    check("fn main() { no such thing }\n", &["cannot build", "(Break it)", "exit code 101"]);
    let older = "fn main() { println!(\"{{\\\"hello\\\":1}}\"); }\n";
    check(older, &["the program of that commit cannot be measured", "its messages have version 1", "hint: "]);
}
