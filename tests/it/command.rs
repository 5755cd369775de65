//! Suites that run programs of others: what they report is recorded, and nothing they do breaks Sprag.

use serde_json::Value;

use crate::sandbox::{Ended, Sandbox, assert_contains, wait_for_end, wait_until};

pub(crate) const FINE: &str = include_str!("../../fixtures/projects/sort.sh");

/// A repository whose suite runs a shell script with these settings.
pub(crate) fn sandbox(script: &str, settings: &str) -> Sandbox {
    let sandbox = Sandbox::begun();
    sandbox.write("bench.sh", script);
    let suite = "[suites.theirs]\nkind = \"command\"\ncommand = [\"sh\", \"bench.sh\"]\nprocesses = 3\n";
    sandbox.write("sprag.toml", &format!("[project]\nname = \"sandbox\"\n{suite}{settings}\n"));
    sandbox.commit_with(".gitignore", "/_site\n/out\n", "Begin");
    sandbox
}

fn run(sandbox: &Sandbox, code: i32) -> (Ended, Value) {
    let ended = sandbox.ends(code, &["run", "--output-run", "out/run.json"]);
    let run = sandbox.json("out/run.json");
    (ended, run)
}

/// Runs a suite that fails; the reason holds the words.
#[track_caller]
fn fails(script: &str, settings: &str, words: &[&str]) {
    let (_, run) = run(&sandbox(script, settings), 1);
    assert_eq!(run["status"], "failed", "{run}");
    let reason = run["reason"].as_str().expect("a failed run says why");
    assert_contains(reason, words);
}

#[test]
fn a_command_is_measured_recorded_and_shown() {
    let sandbox = sandbox(FINE, "");
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.ends(0, &["weekly"]).prints(&["sort{n=1000}"]);
    let records = sandbox.records("main");
    assert!(records.len() == 1 && records[0].starts_with("history/v1/theirs/"), "{records:?}");
    let run = sandbox.json(&records[0]);
    assert_eq!((&run["status"], &run["commit"]["sha"]), (&Value::from("ok"), &Value::from(head)));
    assert_eq!(run["config"]["command"], Value::from(vec!["sh", "bench.sh"]));
    let sort = &run["benchmarks"][0];
    assert_eq!(sort["id"], "theirs/sort{n=1000} @fast");
    assert_eq!(sort["parity"]["status"], "unchecked");
    let time = &sort["metrics"][0];
    assert_eq!((&time["value"], &time["n"]), (&Value::from(2e-5), &Value::from(9)));
    assert_eq!(time["workers"], Value::from(vec![2e-5; 3]));
    assert_eq!(time["interval"], Value::from(vec![2e-5; 2]));
    assert_eq!(sort["metrics"][1]["value"], 8192.0);
    assert_eq!(run["benchmarks"][1]["id"], "theirs/merge @default");
    assert_contains(&sandbox.read("_site/index.html"), &["merge"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");

    sandbox.ends(0, &["baseline", "emit"]);
    sandbox.ends(0, &["check"]);
}

#[test]
fn settings_reach_the_command() {
    let script = r#"test -t 0 && exit 9
read -r line && exit 8
printf '{"schema_version": 1, "benchmarks": [{"name": "%s", "failure": "%s"}]}' "$WORD" "$(basename "$PWD") $(cat built)"
"#;
    let sandbox = sandbox("", "");
    sandbox.write("deep/bench.sh", script);
    sandbox.write(
        "sprag.toml",
        "[suites.theirs]\nkind = \"command\"\ncommand = [\"sh\", \"./bench.sh\"]\ncwd = \"deep\"\n\
         env = { WORD = \"named $HOME\" }\nbuild = [\"sh\", \"-c\", \"echo once >> built\"]\nprocesses = 2\n",
    );
    let (_, run) = run(&sandbox, 1);
    assert_eq!(run["status"], "ok", "a benchmark that fails is not a failed run: {run}");
    // No shell expands the variable; the build step ran once for both processes, in the same folder.
    assert_eq!(run["benchmarks"][0]["name"], "named $HOME");
    assert_eq!(run["benchmarks"][0]["failure"], "deep once (process 1)");
}

/// Another tool's text on standard output, with a row a repetition, in each use that a suite has.
#[test]
fn a_format_that_can_be_imported_is_measured_compared_and_judged() {
    let sandbox = sandbox(
        "cost=$(cat cost)\nfor more in 0 2 1; do echo \"BenchmarkSum-8 10 $((cost + more)) ns/op 5 nodes/op\"; done\n",
        "format = \"go\"",
    );
    sandbox.commit_with("cost", "100", "Cost");
    let (_, first) = run(&sandbox, 0);
    let sum = &first["benchmarks"][0];
    assert_eq!((&sum["id"], &first["config"]["format"]), (&Value::from("theirs/Sum @default"), &Value::from("go")));
    let metric = |place: usize| (sum["metrics"][place]["name"].clone(), sum["metrics"][place]["value"].clone());
    assert_eq!(metric(0), (Value::from("time"), Value::from(101e-9)));
    assert_eq!((metric(1).0, sum["metrics"][0]["n"].clone()), (Value::from("nodes_per_op"), Value::from(9)));
    sandbox.commit_with("cost", "200", "Double the cost");
    let compared = sandbox.ends(1, &["compare", "HEAD~1", "HEAD", "--measure", "--quick"]);
    assert_contains(&compared.out, &["Sum", "regressed"]);
    sandbox.ends(0, &["weekly", "--quick"]).prints(&["Sum"]);
}

#[test]
fn results_in_a_pattern_of_files_are_united() {
    let script = r#"for name in a b; do
echo "{\"results\": [{\"command\": \"$name\", \"mean\": 2, \"times\": [1, 3]}, {\"command\": \"both\", \"mean\": 2}]}" > "out/$name.json"
done
echo '{}' > out/other.txt"#;
    let sandbox = sandbox(script, "format = \"hyperfine\"\noutput = \"out/?.json\"");
    sandbox.write("out/old.json", "{}");
    let (_, run) = run(&sandbox, 0);
    let read =
        |place: usize| (run["benchmarks"][place]["name"].clone(), run["benchmarks"][place]["metrics"][0]["n"].clone());
    let expected = [("a", 6), ("both", 6), ("b", 6)].map(|(name, n)| (Value::from(name), Value::from(n)));
    assert_eq!([read(0), read(1), read(2)], expected);
}

#[test]
fn a_report_of_another_format_is_named() {
    let report =
        r#"echo '{"context": {"num_cpus": 1}, "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "ns"}]}'"#;
    let hint = "it looks like Google Benchmark, JSON or CSV: set `format = \"google-benchmark\"`";
    fails(report, "", &["is not a report: it has no `schema_version`", hint]);
    fails(report, "format = \"hyperfine\"", &[hint]);
    fails("", "format = \"go\"", &["standard output is empty, where a report was expected"]);
    fails("echo hello", "format = \"go\"", &["standard output lists no benchmark"]);
}

#[test]
fn every_process_is_fresh_and_padded_differently() {
    let script = r#"echo "${#SPRAG_PADDING} $$" >> out/padding
printf '{"schema_version": 1, "benchmarks": [{"name": "a", "failure": "x"}]}'
"#;
    let sandbox = sandbox(script, "");
    sandbox.write("out/padding", "");
    run(&sandbox, 1);
    let text = sandbox.read("out/padding");
    let distinct: std::collections::BTreeSet<&str> = text.lines().collect();
    assert_eq!((text.lines().count(), distinct.len()), (3, 3), "{text}");
}

#[test]
fn one_bad_benchmark_leaves_the_others() {
    let script = FINE.replace("\"value\": 4e-5", "\"value\": NaN");
    let (ended, run) = run(&sandbox(&script, ""), 1);
    assert_eq!(run["status"], "ok");
    assert_eq!(run["benchmarks"][0]["failure"], Value::Null);
    let failure = run["benchmarks"][1]["failure"].as_str().expect("it failed");
    assert_contains(failure, &["its metric `time` holds NaN, which is not a number"]);
    assert_contains(&ended.out, &[": its metric `time` holds NaN"]);
}

#[test]
fn one_bad_process_leaves_the_others() {
    let script = format!("if mkdir out/first 2> out/log; then echo 'no luck' >&2; exit 7; fi\n{FINE}");
    let sandbox = sandbox(&script, "");
    sandbox.write("out/keep", "");
    let (_, run) = run(&sandbox, 0);
    assert_eq!(run["benchmarks"][0]["metrics"][0]["workers"].as_array().map(Vec::len), Some(2));
    assert_eq!(run["quality"]["clean"], false);
    let reasons = run["quality"]["reasons"].to_string();
    assert_contains(&reasons, &["process 1: it ended with exit code 7 (no luck)"]);
}

#[test]
fn a_command_that_comes_to_nothing_fails_with_its_reason() {
    let exit = "the command gave no result: it ended with exit code 3 (bad luck)";
    let build = "build = [\"sh\", \"-c\", \"echo one >&2; echo two >&2; false\"]";
    let slow_build = "build = [\"sleep\", \"60\"]\nbuild_timeout_seconds = 1";
    for (script, settings, words) in [
        ("echo a >&2; echo 'bad luck' >&2; exit 3", "", &[exit][..]),
        ("kill -9 $$", "", &["it was ended by signal 9"]),
        ("echo hello", "", &["standard output is not JSON"]),
        ("exit 0", "", &["standard output is empty"]),
        ("while :; do echo 0123456789; done", "max_output_bytes = 5000", &["more than 5000 bytes"]),
        (FINE, "output = \"results.json\"", &["it wrote no results to `./results.json`"]),
        (FINE, "include = [\"nothing\"]", &["`suites.theirs.include` leaves no benchmark", "`nothing`"]),
        (FINE, "cwd = \"nowhere\"", &["there is no folder `./nowhere`"]),
        (FINE, "build = [\"sprag-no-such\"]", &["the build step failed", "`sprag-no-such`", "no such program"]),
        ("", build, &["it ended with exit code 1 (one; two)"]),
        ("", slow_build, &["the build step failed", "longer than 1 s", "; `build_timeout_seconds` sets this limit"]),
        (FINE, "format = \"criterion\"", &["it wrote no results to `./target/criterion`"]),
    ] {
        fails(script, settings, words);
    }
}

#[test]
fn a_missing_program_is_named() {
    let sandbox = sandbox("", "");
    sandbox.write("sprag.toml", "[suites.theirs]\nkind = \"command\"\ncommand = [\"sprag-no-such\"]\n");
    let (ended, run) = run(&sandbox, 1);
    let reason = "the command gave no result: `sprag-no-such` cannot be started: there is no such program";
    assert_eq!(run["reason"], reason);
    assert_contains(&ended.out, &[reason]);
}

#[test]
fn a_command_that_hangs_is_ended_with_all_that_it_started() {
    // The grandchild keeps the outputs open, so Sprag could not go on while it lives.
    let (script, settings) = ("echo stuck >&2; (sleep 1000 & sleep 1000) & sleep 1000", "timeout_seconds = 1");
    let words =
        "it took longer than 1 s and was killed (stuck); it was not tried again; `timeout_seconds` sets this limit";
    fails(script, settings, &[words]);
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupted_sprag_leaves_nothing_running() {
    let sandbox = sandbox("echo $$ >> out/pids; sleep 1000 & echo $! >> out/pids; echo ready >> out/pids; wait", "");
    sandbox.write("out/pids", "");
    let mut sprag = sandbox.start(&["run"]);
    wait_until("the command was not started", || sandbox.read("out/pids").contains("ready"));
    // A kill leaves Sprag no chance to clean up.
    sprag.kill().expect("our own child can be killed");
    sprag.wait().expect("a killed child ends");
    wait_for_end(sandbox.read("out/pids").lines().filter(|line| *line != "ready"));
}

#[test]
fn results_of_an_earlier_run_are_not_taken_for_new_ones() {
    // Each process except the last one leaves its report in the file.
    let last = "echo x >> out/count; if [ \"$(wc -l < out/count)\" -eq 3 ]; then exit 0; fi";
    let script = format!("{last}\nexec > out/report.json\n{FINE}");
    let sandbox = sandbox(&script, "output = \"out/report.json\"");
    sandbox.write("out/report.json", "{");
    let (_, run) = run(&sandbox, 0);
    assert_eq!(run["benchmarks"][0]["metrics"][0]["workers"].as_array().map(Vec::len), Some(2), "{run}");
    let reasons = run["quality"]["reasons"].to_string();
    assert_contains(&reasons, &["it wrote no results to `./out/report.json`; 1 older there were left alone"]);
}

#[test]
fn the_folder_of_criterion_is_read() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/golden/formats/criterion/criterion");
    let script = format!("rm -rf target && mkdir target && cp -R '{golden}' target/");
    let (_, run) = run(&sandbox(&script, "format = \"criterion\"\ninclude = [\"kmax8\", \"scan\"]"), 0);
    let ids: Vec<&str> =
        run["benchmarks"].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(ids, ["theirs/tile_pack/cpu_ref{parameter=kmax8} @default", "theirs/tilessm_scan @default"]);
    let metrics = &run["benchmarks"][0]["metrics"];
    assert_eq!((&metrics[0]["value"], &metrics[0]["n"]), (&Value::from(6.391702e-6), &Value::from(60)));
    assert_eq!(metrics[1]["name"], "elements_per_s");
}

#[test]
#[cfg(unix)]
fn the_example_of_the_documentation_works() {
    let text = include_str!("../../docs/COMMAND-SUITES.md");
    let block = |language: &str| {
        let (_, rest) = text.split_once(&format!("```{language}\n")).expect("the example is there");
        rest.split_once("```").expect("it ends").0
    };
    let sandbox = sandbox("", "");
    sandbox.write("sprag.toml", block("toml"));
    let report = block("json");
    sandbox.program("bench", &format!("#!/bin/sh\n[ \"$*\" = '--size 1000' ] && cat <<'REPORT'\n{report}REPORT\n"));
    let (ended, run) = run(&sandbox, 0);
    assert_eq!(run["benchmarks"].as_array().map(Vec::len), Some(2), "{}", ended.out);
    assert_eq!(run["benchmarks"][0]["metrics"][0]["workers"].as_array().map(Vec::len), Some(5));
}

#[test]
fn filters_choose_among_what_was_reported() {
    let sandbox = sandbox(FINE, "pass_env = [\"RUNS\"]");
    let ended = sandbox.ends(0, &["run", "--quick", "--filter", "merge"]);
    assert!(ended.out.contains("merge") && !ended.out.contains("sort"), "{}", ended.out);
    assert_contains(&ended.out, &["only 1 process of the command: a confidence interval"]);
    let runs = sandbox.project.join("out/runs");
    let nothing = |arguments: &[&str]| {
        let runs = runs.to_str().expect("a path is text");
        let ended = sandbox.sprag_with(&[("RUNS", runs)], &[arguments, &["--filter", "nothing"]].concat());
        ended.expect(2).says(&["contains `nothing`", "their benchmarks: merge, sort"])
    };
    let script = format!("if [ -n \"$RUNS\" ]; then echo one >>\"$RUNS\"; fi\n{FINE}");
    for subject in ["Count", "Again"] {
        sandbox.commit_with("bench.sh", &format!("{script}# {subject}\n"), subject);
    }
    nothing(&["run", "--output-run", "out/run.json"]);
    sandbox.ends(0, &["run", "--record"]);
    let last = ["no benchmark of the last run of `theirs` contains `nothing`"];
    // The last run is of this commit, and shows its benchmarks.
    assert!(!nothing(&["run"]).err.contains(last[0]));
    nothing(&["run", "--commit", "HEAD~2"]).says(&last);
    nothing(&["compare", "HEAD~2", "HEAD~1", "--measure"]).says(&last);
    nothing(&["bisect", "HEAD~2", "HEAD~1"]).says(&last);
    // A process of two runs, and one of each side.
    assert_eq!(sandbox.read("out/runs").lines().count(), 2 + 2 + 2);
    let timed = ["compare", "sh bench.sh 1", "sh bench.sh 2", "--measure", "--filter", "nothing"];
    sandbox.ends(2, &timed).says(&["contains `nothing`", "their benchmarks: run"]);
}

#[test]
fn a_program_and_a_command_take_turns() {
    let sandbox = sandbox(FINE, "");
    sandbox.program("fast", "#!/bin/sh\n:\n");
    for sides in [["./fast", "sh -c ./fast"], ["./fast 1", "./fast"]] {
        let ended = sandbox.sprag(&["compare", sides[0], sides[1], "--measure", "--quick"]);
        assert!([0, 1, 3].contains(&ended.code), "{}", ended.both());
        ended.prints(&["interleaved", "process pair"]);
    }
}

#[test]
fn a_suite_gets_no_token_and_no_file_of_the_runner() {
    let script = format!("mkdir -p out; env >out/env; {FINE}");
    let settings = "build = [\"sh\", \"-c\", \"mkdir -p out; env >out/built\"]\npass_env = [\"DATA\", \"MINE_*\"]\n\
        [suites.theirs.env]\nSET = \"here\"";
    let sandbox = sandbox(&script, settings);
    let given = [
        ("GITHUB_TOKEN", "secret"),
        ("GITHUB_ENV", "/tmp/steer"),
        ("GITHUB_OUTPUT", "/tmp/steer"),
        ("ACTIONS_RUNTIME_TOKEN", "secret"),
        ("CARGO_REGISTRY_TOKEN", "secret"),
        ("CARGO_HOME", "/cargo"),
        ("OMP_NUM_THREADS", "3"),
        ("DATA", "/data"),
        ("MINE_TOO", "1"),
    ];
    sandbox.sprag_with(&given, &["run", "--quick"]).expect(0);
    for file in ["out/env", "out/built"] {
        let text = sandbox.read(file);
        assert!(!text.contains("secret") && !text.contains("/tmp/steer"), "{text}");
        assert_contains(
            &text,
            &["PATH=", "HOME=", "CARGO_HOME=/cargo", "OMP_NUM_THREADS=3", "DATA=/data", "MINE_TOO=1", "SET=here"],
        );
    }
    // A command that is typed gets what the shell has.
    let bench = ["bench", "--runs", "3", "--", "sh", "-c", "test \"$GITHUB_TOKEN\" = secret"];
    sandbox.sprag_with(&given, &bench).expect(0);
    sandbox.write("bench.sh", "echo 'set SCALE first' >&2; exit 3");
    let ended = sandbox.sprag_with(&[("SCALE", "2")], &["run", "--quick"]);
    assert_contains(&ended.both(), &["set SCALE first", "not passed to it: `SCALE`, which `pass_env` allows"]);
}

/// As much of PyTorch as the helper uses: a device whose clock advances by 1 us a kernel, on a machine without one.
const TORCH: &str = include_str!("../../fixtures/projects/torch.py");

const SOFTMAX: &str = include_str!("../../fixtures/projects/softmax.py");

#[test]
fn kernels_of_pytorch_are_listed_checked_and_timed() {
    let sandbox = Sandbox::begun();
    let helpers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python");
    sandbox.write("softmax.py", &format!("import sys\nsys.path.append({helpers:?})\n{SOFTMAX}"));
    sandbox.write("torch.py", TORCH);
    sandbox.ends(0, &["init", "--no-verify"]).prints(&["PyTorch and Triton: softmax.py"]);
    sandbox.commit("Begin");
    let (ended, run) = run(&sandbox, 1);
    for (name, reason) in [
        ("wrong", "AssertionError: not close at index 0"),
        ("silent", "ValueError: the call returns nothing to compare with `expected`"),
        ("raises", "IndexError: list index out of range"),
        ("exits", "SystemExit: enough"),
        ("negative", "ValueError: `bytes` is -1; it must be a positive integer"),
    ] {
        assert_contains(&ended.out, &[&format!("failed: softmax/{name}{{device=Stub 1}} @default: {reason}")]);
    }
    let metrics = |place: usize| {
        let all = run["benchmarks"][place]["metrics"].as_array().expect("it was timed").iter();
        let value = |one: &Value| (one["value"].as_f64().expect("a value") * 1e9).round() / 1e9;
        all.map(|one| format!("{} {}", one["name"].as_str().expect("a name"), value(one))).collect::<Vec<_>>()
    };
    assert_eq!(run["benchmarks"][0]["id"], "softmax/softmax{device=Stub 1,dtype=<class 'torch.Tensor'>,n=4} @default");
    assert_eq!(metrics(0), ["time 0.000002", "peak_memory 128", "ratio 2", "limit_share 0.5"]);
    assert_eq!(run["benchmarks"][1]["id"], "softmax/softmax{device=Stub 1} @graph");
    assert_eq!(metrics(1), ["time 0.000001", "peak_memory 128"]);
}
