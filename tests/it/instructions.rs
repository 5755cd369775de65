//! `run --count-instructions`: with the real Valgrind if there is one, and with scripts in its place that fail.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::sandbox::{Ended, Sandbox, assert_contains};

const RUN: [&str; 6] = ["run", "--quick", "--count-instructions", "--record", "--output-run", "run.json"];

fn count(sandbox: &Sandbox, path: &str, variables: &[(&str, &str)]) -> Ended {
    let variables = [&[("PATH", path)][..], variables].concat();
    sandbox.sprag_with(&variables, &RUN)
}

/// Puts a script in the place of Valgrind; `$counts` is the file that Callgrind writes, `"$@"` is the worker.
fn stand_in(sandbox: &Sandbox, script: &str) -> String {
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo valgrind-3.19.0; exit 0; }}\nwhile [ \"$1\" != -- ]; do\n\
         case \"$1\" in --callgrind-out-file=*) counts=${{1#*=}};; esac\nshift\ndone\nshift\n{script}\n"
    );
    sandbox.program("bin/valgrind", &text);
    let program = sandbox.project.join("bin/valgrind");
    // A process that another test has just forked may hold the script open.
    let is_busy = |error: std::io::Error| error.kind() == std::io::ErrorKind::ExecutableFileBusy;
    while Command::new(&program).arg("--version").output().is_err_and(is_busy) {
        std::thread::yield_now();
    }
    format!("{}:/usr/bin:/bin", sandbox.project.join("bin").display())
}

fn record(sandbox: &Sandbox) -> Value {
    sandbox.json("run.json")
}

fn counts(record: &Value) -> BTreeMap<String, f64> {
    let of = |benchmark: &Value| {
        let metrics = benchmark["metrics"].as_array().expect("there are metrics");
        let count = metrics.iter().find(|metric| metric["name"] == "instructions")?;
        assert_eq!((count["unit"].as_str(), count["better"].as_str()), (Some("1"), Some("lower")));
        assert!(benchmark["attributes"]["instructions_isa"].is_string());
        Some((benchmark["id"].as_str().expect("an id").to_owned(), count["value"].as_f64().expect("a number")))
    };
    record["benchmarks"].as_array().expect("there are benchmarks").iter().filter_map(of).collect()
}

/// Fails unless every tracked benchmark has times and a reason without a count.
fn uncounted(record: &Value, words: &str) {
    assert!(counts(record).is_empty());
    for benchmark in record["benchmarks"].as_array().expect("there are benchmarks") {
        if benchmark["role"].is_null() {
            let reason = benchmark["attributes"]["instructions_failure"].as_str().unwrap_or_default();
            assert_contains(reason, &[words]);
            assert!(benchmark["failure"].is_null() && benchmark["metrics"][0]["name"] == "time");
        }
    }
    let reasons = record["quality"]["reasons"].to_string();
    assert_contains(&reasons, &["not counted"]);
}

#[test]
fn counts_are_the_same_every_time() {
    let version = Command::new("valgrind").arg("--version").output();
    if version.is_err() || cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64"))) {
        eprintln!("skipped: there is no valgrind that can count here");
        return;
    }
    let sandbox = Sandbox::new();
    let path = std::env::var("PATH").expect("there is a search path");
    let runs: Vec<BTreeMap<String, f64>> = [0, 7777]
        .iter()
        .map(|length| {
            let padding = "x".repeat(*length);
            // These would change the counts.
            let variables = [("PADDING", padding.as_str()), ("VALGRIND_OPTS", "--tool=none")];
            count(&sandbox, &path, &variables).expect(0).prints(&["instructions"]);
            let record = record(&sandbox);
            assert!(record["environment"]["facts"]["valgrind"].is_string());
            counts(&record)
        })
        .collect();
    assert_eq!(runs[0].len(), 2, "both forms of the scan are counted, nothing else: {:?}", runs[0]);
    // A scan of 256 steps and 128 channels works on each element at least once in sixteen.
    assert!(runs[0].values().all(|count| *count > 256.0 * 128.0 / 16.0), "{:?}", runs[0]);
    assert_eq!(runs[0], runs[1]);
    sandbox.ends(0, &["site"]);
}

#[test]
fn where_no_cpu_kernel_runs_nothing_can_be_counted() {
    let sandbox = Sandbox::new();
    sandbox.write("sprag.toml", "[suites.gpu]\nkind = \"gpu\"\n");
    sandbox.ends(2, &RUN).says(&["`--count-instructions` counts CPU kernels", "hint:"]);
}

#[test]
fn without_valgrind_the_times_stay_and_the_run_says_why() {
    let sandbox = Sandbox::new();
    let nowhere = sandbox.project.join("nowhere");
    let ended = count(&sandbox, &nowhere.display().to_string(), &[]).expect(0);
    ended.says(&["valgrind_not_found", "package `valgrind`"]);
    let record = record(&sandbox);
    assert!(counts(&record).is_empty() && record["quality"]["reasons"].to_string().contains("valgrind_not_found"));
    assert_eq!(sandbox.records("main").len(), 1);
}

#[test]
fn a_valgrind_that_fails_costs_the_counts_only() {
    let sandbox = Sandbox::new();
    let check = |script: &str, words: &str| {
        let path = stand_in(&sandbox, script);
        count(&sandbox, &path, &[]).expect(0);
        uncounted(&record(&sandbox), words);
    };
    check("echo no luck >&2; exit 7", "exit status: 7 (no luck)");
    check("exec \"$@\"", "valgrind_absent");
    check("kill -4 $$", "signal: 4");
    check("echo garbage", "its report cannot be read");
}

#[test]
fn counts_that_differ_are_shown() {
    let sandbox = Sandbox::new();
    let part = |name: &str, total: u32| {
        format!("echo 'desc: Trigger: Client Request: {name}\nevents: Ir\ntotals: {total}' >>\"$counts\"\n")
    };
    let answer = "cat >/dev/null; echo '{\"version\":1,\"outcome\":{\"Ok\":\"avx2\"}}'";
    let path = stand_in(&sandbox, &format!("{}{}{answer}", part("first", 1200), part("second", 1300)));
    count(&sandbox, &path, &[]).expect(0).prints(&[" 1200\n"]);
    let record = record(&sandbox);
    assert!(counts(&record).values().all(|count| *count == 1200.0));
    let varied = record["benchmarks"][0]["attributes"]["instructions_varied"].as_str();
    assert_eq!(varied, Some("1200 1300"));
}
