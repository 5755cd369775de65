//! `sprag import`: samples and histories of other tools, from the command line.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_contains, files};
use crate::schemas::follows;

/// The columns that a long table must have.
const COLUMNS: &str = "suite,benchmark,metric,unit,better,commit,commit_time,machine,value";

fn golden(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/formats").join(path);
    path.to_str().expect("plain text").to_owned()
}

/// The records of the history, in the order of their paths.
fn records(sandbox: &Sandbox) -> Vec<Value> {
    let paths = sandbox.records("HEAD");
    let read = |path: &String| sandbox.git(&["show", &format!("HEAD:{path}")]);
    paths.iter().map(|path| serde_json::from_str(&read(path)).expect("a record is JSON")).collect()
}

#[test]
fn a_history_is_imported_once_in_one_commit() {
    let sandbox = Sandbox::new();
    let data = golden("github-action-benchmark/data.js");
    sandbox
        .ends(0, &["import", &data, "--dry-run"])
        .prints(&["apex-latency: 2 runs of 2 commits", "nothing was recorded"]);
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.ends(0, &["import", &data, "--machine", "ci"]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD~1"]), before, "one commit");
    let imported = records(&sandbox);
    assert_eq!(imported.len(), 3);
    for record in &imported {
        assert_eq!(record["machine"]["name"], "ci");
        assert_eq!(record["config"]["import"]["format"], "github-action-benchmark");
        follows("run-1", &record.to_string());
    }
    sandbox.ends(0, &["import", &data, "--machine", "ci"]).prints(&["3 runs imported before"]);
    // What has grown adds what is new.
    let text = fs::read_to_string(&data).expect("the sample is there");
    let newer = text.replace("6a580d9da358a59f7833bbf1ef3e0ec22c7807db", &"ab".repeat(20));
    sandbox.write("grown.js", &newer);
    sandbox
        .ends(0, &["import", "grown.js", "--machine", "ci"])
        .prints(&["1 run of 1 commit", "2 runs imported before"]);
    assert_eq!(records(&sandbox).len(), 4);
    assert_eq!(sandbox.git(&["status", "--porcelain", "history"]), "");
    sandbox.ends(0, &["history", "fsck"]);
}

#[test]
fn files_folders_and_histories_are_recognised_and_recorded() {
    let sandbox = Sandbox::new();
    let samples = [
        ("asv/results", "asv"),
        ("bencher-bmf/bmf.json", "bencher"),
        ("callgrind/callgrind.tilessm_scan.out", "callgrind"),
        ("criterion/criterion", "criterion"),
        ("criterion/console.txt", "criterion-text"),
        ("custom-metric/customBiggerIsBetter.json", "custom-bigger-is-better"),
        ("custom-metric/customSmallerIsBetter.json", "custom-smaller-is-better"),
        ("divan/console.txt", "divan"),
        ("github-action-benchmark/data.js", "github-action-benchmark"),
        ("google-benchmark/out.json", "google-benchmark"),
        ("google-benchmark/out.csv", "google-benchmark"),
        ("gungraun/tilessm_scan.summary.json", "gungraun"),
        ("hyperfine/v1.15.json", "hyperfine"),
        ("hyperfine/v1.20.csv", "hyperfine"),
        ("nvbench/nvbench.json", "nvbench"),
        ("pyperf/pyperf.json", "pyperf"),
        ("pytest-benchmark/benchmark.json", "pytest-benchmark"),
        ("tango", "tango"),
        ("trtexec/times.json", "trtexec"),
        ("trtexec/profile.json", "trtexec"),
    ];
    for (sample, format) in samples {
        let suite = sample.replace(['/', '.'], "-");
        sandbox.ends(0, &["import", &golden(sample), "--suite", &suite, "--time", "2026-01-02"]);
        let records = records(&sandbox);
        let ours = records.iter().find(|record| record["config"]["import"]["format"] == format);
        let ours = ours.unwrap_or_else(|| panic!("{sample} is not recorded as {format}"));
        assert!(ours["benchmarks"].as_array().is_some_and(|list| !list.is_empty()), "{sample}");
    }
    sandbox.ends(0, &["history", "fsck"]);
    let site = sandbox.ends(0, &["site"]);
    assert!(site.err.is_empty() || !site.err.contains("quarantined"), "{}", site.err);
    let list = sandbox.ends(0, &["import", "--list"]);
    assert!(samples.iter().all(|(_, format)| list.out.contains(format)), "{}", list.out);
}

#[test]
fn what_the_source_does_not_tell_is_assumed_aloud_or_asked_for() {
    let sandbox = Sandbox::new();
    let file = golden("hyperfine/v1.20.json");
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let ended = sandbox.ends(0, &["import", &file]);
    ended
        .says(&["names no commit: taken as measured at", "--commit", "called `imported`"])
        .prints(&["hyperfine: 1 run of 1 commit on imported"]);
    assert_eq!(records(&sandbox)[0]["commit"]["sha"], head.as_str());
    sandbox.ends(0, &["import", &file]);
    assert_eq!(records(&sandbox).len(), 1, "the same again is nothing new");
    sandbox.ends(2, &["import", &file, "--commit", "none"]).says(&["neither the time", "--time"]);
    sandbox.ends(2, &["import", &file, "--commit", "none", "--time", "noon"]).says(&["`--time noon` is not a date"]);
    sandbox.ends(0, &["import", &file, "--commit", "none", "--time", "2026-01-02T03:04:05Z"]);
    assert_eq!(records(&sandbox).len(), 2);
    let text = r#"{"suite":"apex_x_cpu_perf_regression","timestamp_utc":"1013-02-11T00:00:00Z","metrics":{"a_ms":1}}"#;
    sandbox.write("odd.json", text);
    sandbox.ends(2, &["import", "odd.json", "--commit", "none"]).says(&["neither the time"]);
    let ended = sandbox.ends(0, &["import", "odd.json", "--commit", "none", "--time", "2026-01-02"]);
    ended.says(&["dates 1 run outside the years 1970 to 9999, which is ignored"]);
}

#[test]
fn what_cannot_be_imported_is_named_and_nothing_is_recorded() {
    let sandbox = Sandbox::new();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let check = |name: &str, text: &str, arguments: &[&str], words: &[&str]| {
        sandbox.write(name, text);
        sandbox.ends(2, &[&["import", name], arguments].concat()).says(words);
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head, "{name}");
    };
    check("what.json", "{}", &[], &["cannot tell the format of", "--format", "hyperfine"]);
    check("list.json", r#"[{"name":"a","unit":"s","value":1}]"#, &[], &["several formats", "smaller", "bigger"]);
    check("list.json", "[]", &["--format", "abacus"], &["unknown import format `abacus`", "google-benchmark"]);
    check(
        "cut.json",
        r#"{"results": [{"command": "a", "mean": 1"#,
        &["--format", "hyperfine"],
        &["cut.json", "is not JSON"],
    );
    check("big.json", &" ".repeat(100), &["--max-bytes", "99"], &["more than 99 bytes", "--max-bytes"]);
    let twice = r#"{"results":[{"command":"a","command":"b","mean":1,"median":1}]}"#;
    check("twice.json", twice, &["--format", "hyperfine"], &["the key `command` occurs twice", "line 1"]);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    check("deep.json", &deep, &["--format", "pyperf"], &["deep.json"]);
    check(
        "rows.csv",
        &format!("{COLUMNS}\ns,b,time,s,lower,,,m,fast\n"),
        &[],
        &["rows.csv", "2", "where a number is needed"],
    );
}

#[test]
fn names_are_encoded_and_a_bad_value_fails_alone() {
    let sandbox = Sandbox::new();
    let row = |name: &str, value: &str| {
        format!("../Suite One,{name},time,ms,lower,{},2026-01-02T00:00:00Z,m,{value}\n", "ab".repeat(20))
    };
    let rows = [row("-f{x}@1", "2"), row("red\u{1b}[31m", "3"), row("zero", "0"), row("nan", "NaN")].concat();
    sandbox.write("r.csv", &format!("{COLUMNS}\n{rows}"));
    let ended = sandbox.ends(0, &["import", "r.csv"]);
    assert_contains(&ended.out, &["suite-one: 1 run", "2 results without a value"]);
    let record = &records(&sandbox)[0];
    let of = |name: &str| {
        let list = record["benchmarks"].as_array().expect("a list");
        list.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name} is not in {list:?}")).clone()
    };
    assert_eq!(of("%2df%7bx%7d%401")["metrics"][0]["value"], 0.002);
    assert!(of("red%1b[31m")["failure"].is_null());
    assert!(of("zero")["failure"].is_string() && of("nan")["failure"].is_string());
    assert!(!ended.out.contains('\u{1b}') && !ended.err.contains('\u{1b}'));
    // Pages show names as the source spells them, and the subject of a commit that is not here.
    let page = r#"{"entries":{"S":[{"commit":{"id":"COMMIT","message":"Use fewer locks\n\nAll of them.","timestamp":"2026-01-03T00:00:00Z"},"date":1767600000000,"tool":"go","benches":[{"name":"f{x}@1 50%","value":2,"unit":"ns/op"}]}]}}"#;
    sandbox.write("data.js", &page.replace("COMMIT", &"cd".repeat(20)));
    sandbox.ends(0, &["import", "data.js"]);
    sandbox.ends(0, &["site"]);
    let pages = files(&sandbox.project.join("_site"));
    let text = |start: &str| -> String {
        let own = pages.iter().filter(|(path, _)| path.starts_with(start) && path.ends_with(".html"));
        own.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect()
    };
    assert_contains(&text("series/"), &["f{x}@1 50%", "-f{x}@1"]);
    assert!(!text("series/").contains("%7bx%7d"));
    assert_contains(&text("commits/"), &["Use fewer locks"]);
}

/// A report of Google Benchmark of one benchmark, measured on that day of January with that context.
fn report(day: u32, context: &str) -> String {
    format!(
        r#"{{"context":{{"date":"2026-01-{day:02}T03:04:05+00:00","num_cpus":4{context}}},"benchmarks":[
        {{"name":"a","run_name":"a","run_type":"iteration","iterations":9,"real_time":{day},"cpu_time":1,"time_unit":"ns"}}]}}"#
    )
}

#[test]
fn runs_of_many_days_without_a_commit_are_refused_with_what_is_missing() {
    let sandbox = Sandbox::new();
    (1..4).for_each(|day| sandbox.write(&format!("none/{day}.json"), &report(day, "")));
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let words = ["commits of 3 runs from 2026-01-01 to 2026-01-03", "--commit", "git_commit"];
    sandbox.ends(2, &["import", "none"]).says(&words);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    sandbox.ends(0, &["import", "none", "--commit", "none"]).prints(&["recorded 3 runs"]);
    sandbox.ends(0, &["import", "none/1.json"]).says(&["taken as measured at"]);
    let spellings = ["git_commit", "Git-SHA", "commit_hash", "GIT_DESCRIBE"];
    for (day, key) in (1..).zip(spellings) {
        let (id, start) = (format!("{day:040x}"), if key == "GIT_DESCRIBE" { "v1.2-34-g" } else { "" });
        sandbox.write(&format!("named/{day}.json"), &report(day, &format!(r#","{key}":"{start}{id}""#)));
    }
    sandbox.ends(0, &["import", "named", "--suite", "s"]).prints(&["4 runs of 4 commits"]);
}

#[test]
fn the_direction_of_a_time_and_what_else_may_be_wrong_is_warned_of() {
    let sandbox = Sandbox::new();
    let rows = [("gas", "ms/ggas", 5), ("block", "ms", 7), ("rate", "frames/s", 9)];
    let list = rows.map(|(name, unit, value)| format!(r#"{{"name":"{name}","unit":"{unit}","value":{value}}}"#));
    sandbox.write("bigger.json", &format!("[{}]", list.join(",")));
    let better = || -> Vec<Value> {
        let record = records(&sandbox).pop().expect("it is recorded");
        let list = record["benchmarks"].as_array().expect("a list").clone();
        list.iter().map(|one| one["metrics"][0]["better"].clone()).collect()
    };
    let words =
        ["warning: bigger.json: the tool `customBiggerIsBetter` treats bigger as better", "`ms/ggas`", "--better"];
    sandbox.ends(0, &["import", "bigger.json"]).says(&words);
    assert_eq!(better(), ["lower", "lower", "higher"]);
    let given = sandbox.ends(0, &["import", "bigger.json", "--suite", "z", "--better", "higher"]);
    assert!(!given.err.contains("treats bigger"), "{}", given.err);
    assert_eq!(better(), ["higher", "higher", "higher"]);
    let row = |run: usize, unit: &str| {
        format!("s,b,m,{unit},lower,{run:040x},{},gh-runner-{run},{}\n", 1_767_600_000 + run, run + 1)
    };
    let table: String = (0..6).map(|run| row(run, if run < 3 { "s" } else { "B" })).collect();
    sandbox.write("r.csv", &format!("{COLUMNS}\n{table}"));
    let words = [
        "6 machines have names like `gh-runner-0`",
        "`--machine gh-runner` makes them one",
        "`m` of `b` changes its unit or direction (`s`, lower is better; then `B`, lower is better)",
    ];
    sandbox.ends(0, &["import", "r.csv", "--dry-run"]).says(&words);
    let one = sandbox.ends(0, &["import", "r.csv", "--machine", "gh-runner"]);
    assert!(!one.err.contains("have names like"), "{}", one.err);
}

#[test]
fn baselines_of_two_machines_of_one_class_are_not_written_over_each_other() {
    let sandbox = Sandbox::new();
    let row = r#"{"name": "a", "run_type": "iteration", "real_time": 1, "time_unit": "s"}"#;
    sandbox.write("gb.json", &format!(r#"{{"context": {{"num_cpus": 1}}, "benchmarks": [{row}]}}"#));
    sandbox.ends(0, &["import", "gb.json", "--suite", "gb"]);
    sandbox.ends(0, &["import", "gb.json", "--suite", "gb", "--machine", "ci"]);
    sandbox.ends(2, &["baseline", "emit", "--suite", "gb"]).says(&["two machines of one class"]);
    assert!(!sandbox.project.join("baselines").exists());
}

#[test]
fn what_is_exported_is_imported_as_it_was() {
    let sandbox = Sandbox::new();
    sandbox.ends(0, &["import", &golden("github-action-benchmark/data.js"), "--machine", "ci"]);
    let exported = sandbox.ends(0, &["export", "csv", "--long"]).out;
    let other = Sandbox::new();
    other.write("long.csv", &exported);
    other.ends(0, &["import", "long.csv"]);
    // Runs of one moment stand in any order.
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&other.ends(0, &["export", "csv", "--long"]).out), sorted(&exported));
}

#[test]
fn an_abbreviated_commit_is_noted_and_a_blank_name_refused() {
    let sandbox = Sandbox::new();
    let line = "cpu,sort,time,s,lower,deadbee,2026-11-20T10:00:00Z,box,1.5,";
    sandbox.write("t.csv", &format!("{COLUMNS},params\n{line}\n"));
    sandbox.ends(0, &["import", "t.csv", "--dry-run"]).says(&["by the start of an id that is not in this repository"]);
    sandbox.ends(0, &["import", "t.csv", "--commit", "HEAD"]).prints(&["1 run of 1 commit"]);
    for blank in [["--machine", ""], ["--machine", "  "], ["--suite", ""]] {
        sandbox.ends(2, &[&["import", "t.csv"], &blank[..]].concat()).says(&["a name is needed"]);
    }
    assert_eq!(records(&sandbox).len(), 1);
}

#[test]
fn what_another_tool_skipped_is_no_failure() {
    let sandbox = Sandbox::new();
    sandbox.ends(0, &["import", &golden("google-benchmark/out.json"), "--commit", "HEAD"]);
    let table = sandbox.ends(0, &["export", "csv"]).out;
    assert!(table.contains(",skipped,") && !table.contains(",failed,"), "{table}");
    let log = sandbox.ends(0, &["history", "log"]).out;
    assert!(!log.contains("failed"), "{log}");
}

#[test]
fn a_table_may_name_commits_as_the_repository_does() {
    let sandbox = Sandbox::new();
    sandbox.commit_with("code", "1\n", "Release");
    sandbox.git(&["tag", "-m", "first", "v1.2.0"]);
    let (tagged, short) = (sandbox.git(&["rev-parse", "HEAD"]), sandbox.git(&["rev-parse", "--short=9", "HEAD~1"]));
    let first = sandbox.git(&["rev-parse", "HEAD~1"]);
    let rows = |commit: &str| format!("{COLUMNS}\ns,b,time,s,lower,{short},,m,1\ns,b,time,s,lower,{commit},,m,2\n");
    sandbox.write("r.csv", &rows("v1.2.0"));
    let printed = format!("`v1.2.0` is {}", &tagged[..12]);
    sandbox.ends(0, &["import", "r.csv"]).says(&[&printed]);
    let mut commits: Vec<String> =
        records(&sandbox).iter().map(|record| record["commit"]["sha"].as_str().expect("a commit").to_owned()).collect();
    commits.sort();
    let mut expected = [tagged, first];
    expected.sort();
    assert_eq!(commits, expected);
    assert!(records(&sandbox).iter().any(|record| record["config"]["import"]["commit"] == "v1.2.0"));
    sandbox.ends(0, &["import", "r.csv"]).prints(&["2 runs imported before"]);
    // A branch is a name too; what is none is refused with its place, and nothing is recorded.
    sandbox.write("r.csv", &rows("main"));
    sandbox.ends(0, &["import", "r.csv", "--dry-run"]).says(&["`main` is"]);
    for wrong in ["v9", "main~99", "HEAD:code", "trunk\u{202e}"] {
        sandbox.write("r.csv", &rows(wrong));
        let ended = sandbox.ends(2, &["import", "r.csv"]);
        let ended = ended.says(&["r.csv, row 3", "names no commit of this repository", "seven hexadecimal digits"]);
        assert!(!ended.err.contains('\u{202e}'), "{}", ended.err);
    }
    assert_eq!(records(&sandbox).len(), 2);
}

#[test]
fn of_several_sources_of_a_commit_the_last_one_counts() {
    let sandbox = Sandbox::new();
    for value in [3, 1, 4, 2, 5] {
        sandbox.write("list.json", &format!(r#"[{{"name":"sort","unit":"s","value":{value}}}]"#));
        let import = ["import", "list.json", "--format", "custom-smaller-is-better", "--commit", "HEAD~0"];
        // Recording moves HEAD, which is still the same commit of code.
        sandbox.ends(0, &import).says(&["note: `HEAD~0` is "]);
        sandbox.ends(0, &import).prints(&["1 run imported before"]);
        let table = sandbox.ends(0, &["export", "csv", "--long"]).out;
        assert_contains(&table, &[&format!(",{value}.0,")]);
        assert_eq!(table.lines().count(), 2, "{table}");
    }
    assert_eq!(records(&sandbox).len(), 5);
}

/// A table of runs of as many commits, none of which is here.
fn table(runs: usize) -> String {
    let row = |run: usize| format!("s{},b,time,ms,lower,{run:040x},{},m,{}\n", run % 3, 1_767_600_000 + run, run + 1);
    let rows: String = (0..runs).map(row).collect();
    format!("{COLUMNS}\n{rows}")
}

#[test]
fn many_runs_come_in_one_pack() {
    let sandbox = Sandbox::new();
    let is_clean = || sandbox.git(&["status", "--porcelain", "history"]).is_empty();
    sandbox.write("r.csv", &table(200));
    sandbox.ends(0, &["import", "r.csv"]);
    assert_contains(&sandbox.git(&["count-objects", "-v"]), &["packs: 1", "in-pack: 200"]);
    assert!(sandbox.records("main").len() == 200 && is_clean());
    sandbox.git(&["fsck", "--strict", "--no-progress"]);
    sandbox.ends(0, &["history", "fsck"]);
    // What has grown adds what is new, and git may put all together.
    sandbox.write("r.csv", &table(300));
    sandbox.ends(0, &["import", "r.csv"]).prints(&["200 runs imported before", "recorded 100 runs"]);
    sandbox.git(&["gc", "--quiet", "--prune=now"]);
    sandbox.ends(0, &["history", "fsck"]);
    assert!(is_clean());
    let second = sandbox.ends(0, &["import", "r.csv"]).prints(&["300 runs imported before"]);
    assert!(!second.out.contains("recorded"), "{}", second.out);
}

#[test]
fn a_folder_is_the_same_wherever_it_lies() {
    let sandbox = Sandbox::new();
    for (case, time) in [("8", 20), ("16", 30)] {
        let named = format!(r#"{{"group_id":"g","function_id":"f","value_str":"{case}","full_id":"g/f/{case}"}}"#);
        sandbox.write(&format!("target/criterion/g/f/{case}/new/benchmark.json"), &named);
        let samples = format!(r#"{{"iters":[2.0,4.0],"times":[{time}.0,44.0]}}"#);
        sandbox.write(&format!("target/criterion/g/f/{case}/new/sample.json"), &samples);
    }
    let first = ["import", "target/criterion", "--time", "2026-01-02"];
    sandbox.ends(0, &first).prints(&["recorded 1 run"]);
    for folder in ["target", "target/criterion/g", "target/criterion", "."] {
        let arguments = ["import", folder, "--time", "2026-01-02", "--format", "criterion"];
        let second = sandbox.ends(0, &arguments).prints(&["1 run imported before"]);
        assert!(!second.out.contains("recorded"), "{folder}: {}", second.out);
    }
    assert_eq!(records(&sandbox).len(), 1);
}

#[test]
fn real_histories_are_imported_completely() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/real");
    let Ok(entries) = fs::read_dir(&folder) else {
        return eprintln!("skipped: no real histories next to the project");
    };
    let paths = entries.map(|entry| entry.expect("it is listed").path().to_string_lossy().into_owned());
    let mut paths: Vec<String> = paths.filter(|path| path.ends_with(".data.js")).collect();
    paths.sort();
    let sandbox = Sandbox::new();
    let arguments: Vec<&str> = ["import"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let runs: usize = [62, 57, 30, 30, 105].iter().sum();
    let ended = sandbox.ends(0, &arguments).prints(&[&format!("recorded {runs} runs")]);
    assert!(!ended.out.contains("without a value"), "{}", ended.out);
    sandbox.ends(0, &["history", "fsck"]);
}
