//! Scripts of the workflows, run as the runner would: what they decide, and what the runner hears of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use yaml_rust2::Yaml;

use crate::run_files::rounds;
use crate::sandbox::{Ended, Sandbox};
use crate::workflow_files::{Workflows, heard, pairs};
use crate::workflow_rules::FINAL;

fn ours() -> Workflows {
    Workflows::of(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")))
}

#[track_caller]
fn script<'a>(workflows: &'a Workflows, file: &str, job: &str, step: &str) -> &'a str {
    workflows.job(file, job).step(step)["run"].as_str().expect("a script")
}

/// What a workflow hands to all of its steps.
fn environment<'a>(workflows: &'a Workflows, file: &str) -> Vec<(&'a str, &'a str)> {
    let all = pairs(&workflows.workflow(file)["env"]);
    all.into_iter().map(|(name, value)| (name, value.as_str().expect("a text"))).collect()
}

/// All ways to give each name one of its values.
fn all_ways<'a>(of: &[(&'a str, &[&'a str])]) -> Vec<Vec<(&'a str, &'a str)>> {
    let Some(((name, values), rest)) = of.split_first() else { return vec![Vec::new()] };
    let rest = all_ways(rest);
    let with = |value: &&'a str| rest.iter().map(|more| [&[(*name, *value)], &more[..]].concat()).collect::<Vec<_>>();
    values.iter().flat_map(with).collect()
}

const RESULTS: [&str; 5] = ["success", "failure", "cancelled", "skipped", ""];
const WORDS: [&str; 3] = ["true", "false", ""];

#[test]
fn a_final_job_passes_only_where_all_is_well() {
    let (workflows, sandbox) = (ours(), Sandbox::empty());
    fs::create_dir(sandbox.project.join("verdicts")).unwrap();
    sandbox.write("verdicts/exit-codes", "0 cpu-cpu\n");
    let check = |file: &str, of: &[(&str, &[&str])], good: &[&[&str]]| {
        let (_, key, _) = FINAL.into_iter().find(|(name, ..)| *name == file).expect("it has a final job");
        let step = workflows.job(file, key).steps().last().expect("it has a step");
        let names: Vec<&str> = pairs(&step["env"]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, of.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{file}");
        // One shell for all ways, each in a subshell of its own with the options that a step has.
        let script = step["run"].as_str().expect("a script");
        // What differs from a good way in one place; all ways in the long tests.
        let is_near = |way: &Vec<(&str, &str)>| {
            let differing = |good: &&[&str]| way.iter().zip(*good).filter(|((_, value), good)| value != *good).count();
            good.iter().any(|good| differing(good) <= rounds(1, u64::MAX) as usize)
        };
        let ways: Vec<_> = all_ways(of).into_iter().filter(is_near).collect();
        let quoted =
            |way: &[(&str, &str)]| way.iter().map(|(name, value)| format!("{name}='{value}' ")).collect::<String>();
        let calls: String = ways.iter().map(|way| format!("each {}\n", quoted(way))).collect();
        let all = format!(
            "set +e\neach() {{ (export \"$@\"; set -eo pipefail; eval \"$STEP\"); echo \"ended with $?\"; }}\n{calls}"
        );
        let ended = sandbox.step(&[("STEP", script)], &all).expect(0);
        let parts: Vec<&str> = ended.out.split_inclusive("ended with ").collect();
        let outcomes: Vec<(&str, i32)> = parts
            .windows(2)
            .map(|pair| {
                let (code, _) = pair[1].split_once('\n').expect("a line of its own");
                (pair[0], code.parse().expect("a number"))
            })
            .collect();
        assert_eq!(outcomes.len(), ways.len(), "{file}: {}", ended.err);
        for (way, (out, code)) in ways.iter().zip(outcomes) {
            let values: Vec<&str> = way.iter().map(|(_, value)| *value).collect();
            assert_eq!(code, i32::from(!good.contains(&&values[..])), "{file}: {way:?}");
            assert_eq!(out.contains("::error title=sprag::"), code != 0, "{file}: {way:?}");
        }
    };
    check(
        "perf.yml",
        &[("SCOPE", &RESULTS), ("WANTED", &WORDS), ("MEASURE", &RESULTS)],
        &[&["success", "true", "success"], &["success", "false", "skipped"]],
    );
    check(
        "perf_gpu.yml",
        &[("SCOPE", &RESULTS), ("WANTED", &WORDS), ("BLOCKED", &RESULTS), ("MEASURE", &RESULTS)],
        &[&["success", "true", "skipped", "success"], &["success", "false", "skipped", "skipped"]],
    );
    let few = ["success", "failure", "skipped"];
    check(
        "perf_trend_weekly.yml",
        &[("BOOK", &few), ("CPU", &few), ("GPU", &few), ("RECORD", &few), ("DEPLOY", &few), ("GPU_WANTED", &WORDS)],
        &[
            &["success", "success", "success", "success", "success", "true"],
            &["success", "success", "skipped", "success", "success", "false"],
        ],
    );
}

#[test]
fn the_weekly_verdict_fails_where_a_run_is_slower_or_was_not_judged() {
    let (workflows, sandbox) = (ours(), Sandbox::empty());
    let verdict = workflows.job("perf_trend_weekly.yml", "verdict").steps().last().expect("it has a step");
    let well = ["BOOK", "CPU", "RECORD", "DEPLOY"].map(|name| (name, "success"));
    let well = [&well[..], &[("GPU", "skipped"), ("GPU_WANTED", "false")]].concat();
    for (codes, code) in [("0 cpu-cpu\n0 cpu-own\n", 0), ("0 cpu-cpu\n1 cpu-own\n", 1), ("4 cpu-cpu\n0 cpu-own\n", 1)] {
        sandbox.write("verdicts/exit-codes", codes);
        sandbox.step(&well, verdict["run"].as_str().expect("a script")).expect(code);
    }
    fs::remove_file(sandbox.project.join("verdicts/exit-codes")).unwrap();
    let ended = sandbox.step(&well, verdict["run"].as_str().expect("a script")).expect(1);
    assert_eq!(heard(&ended.out), ["::error title=sprag::nothing was judged"]);
}

/// A repository with a commit on `main` and a branch from it, which changes that file.
fn branch(path: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let base = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["checkout", "-q", "-b", "topic"]);
    sandbox.write(path, "changed\n");
    sandbox.commit("Change");
    (sandbox, base)
}

/// Runs the step that decides what is in scope: how it ended, and what it put out.
fn scope(sandbox: &Sandbox, workflows: &Workflows, file: &str, variables: &[(&str, &str)]) -> (Ended, String) {
    let step: &Yaml = workflows.job(file, "scope").steps().last().expect("it has a step");
    let (output, summary) = (sandbox.temporary().join("output"), sandbox.temporary().join("summary"));
    fs::write(&output, "").expect("the file can be used");
    let files = [
        ("GITHUB_OUTPUT", output.to_str().expect("a path is text")),
        ("GITHUB_STEP_SUMMARY", summary.to_str().expect("a path is text")),
    ];
    let all = [&environment(workflows, file)[..], &files, variables].concat();
    let ended = sandbox.step(&all, step["run"].as_str().expect("a script"));
    (ended, fs::read_to_string(&output).expect("the file can be used"))
}

#[test]
fn what_cannot_change_a_speed_is_out_of_scope_and_all_else_is_in() {
    let workflows = ours();
    for (path, wanted) in [
        ("src/main.rs", "true"),
        ("sprag.toml", "true"),
        ("a file\n of two lines", "true"),
        ("README.md", "false"),
        ("src/deep/NOTES.md", "false"),
        ("docs/x.html", "false"),
        ("history/v1/x.json", "false"),
        ("baselines/cpu.json", "false"),
    ] {
        let (sandbox, base) = branch(path);
        let (ended, output) = scope(&sandbox, &workflows, "perf.yml", &[("BASE", &base)]);
        ended.expect(0);
        assert_eq!(output, format!("wanted={wanted}\nbase={base}\n"), "{path:?}");
    }
    let (sandbox, base) = branch("src/main.rs");
    let (ended, output) = scope(&sandbox, &workflows, "perf.yml", &[("BASE", &base), ("PERF_SUITES", " ")]);
    assert!(
        ended.expect(0).out.contains("::warning title=sprag::no suite is gated") && output.contains("wanted=false")
    );
    // What git cannot tell fails the step, and so the gate: nothing is put out.
    for unknown in ["", "0123456789012345678901234567890123456789", "--all"] {
        let (ended, output) = scope(&sandbox, &workflows, "perf.yml", &[("BASE", unknown)]);
        assert!(ended.code != 0 && output.is_empty(), "{unknown}: {output}");
    }
}

#[test]
fn a_device_is_wanted_by_few_events() {
    let workflows = ours();
    let with = |path: &str, event: &str, mode: &str, nightly: &str, more: &[(&str, &str)]| {
        let (sandbox, base) = branch(path);
        let variables = [("BASE", base.as_str()), ("EVENT", event), ("RUN_MODE", mode), ("NIGHTLY", nightly)];
        let set = [("ENABLED", "true"), ("TRT_ENGINE_PATH", "")];
        let (ended, output) = scope(&sandbox, &workflows, "perf_gpu.yml", &[&variables[..], &set, more].concat());
        let printed = ended.expect(0).out;
        (output, printed, fs::read_to_string(sandbox.temporary().join("summary")).unwrap_or_default())
    };
    let no = ("wanted=false\n", "");
    for enabled in ["", "false"] {
        let (output, printed, summary) = with("kernels/gemm.cu", "pull_request", "", "true", &[("ENABLED", enabled)]);
        assert_eq!((output.as_str(), printed.as_str()), no);
        assert!(summary.contains("SPRAG_ENABLE_GPU"), "{summary}");
    }
    // Without a suite there is nothing that could fail.
    for event in [("pull_request", ""), ("workflow_dispatch", "self-hosted-gpu"), ("schedule", "")] {
        let without = |engine: &'static str| [("GPU_SUITES", " "), ("TRT_ENGINE_PATH", engine)];
        let (output, printed, _) = with("kernels/gemm.cu", event.0, event.1, "true", &without(""));
        assert_eq!(output, no.0);
        assert!(printed.contains("::warning title=sprag::no suite is measured on the GPU"), "{printed}");
        assert_eq!(with("kernels/gemm.cu", event.0, event.1, "true", &without("/e.plan")).0, "wanted=true\n");
    }
    let check = |path: &str, event: &str, mode: &str, nightly: &str, wanted: bool| {
        let (output, ..) = with(path, event, mode, nightly, &[]);
        assert_eq!(output, format!("wanted={wanted}\n"), "{path} {event} {mode} {nightly}");
    };
    check("kernels/gemm.cu", "pull_request", "", "", true);
    check("deep/own.ptx", "pull_request", "", "", true);
    check("src/measure/clock.rs", "pull_request", "", "", true);
    check("src/report/site.rs", "pull_request", "", "true", false);
    check("README.md", "pull_request", "self-hosted-gpu", "true", false);
    check("kernels/gemm.cu", "merge_group", "", "", false);
    check("kernels/gemm.cu", "workflow_dispatch", "skip", "true", false);
    check("kernels/gemm.cu", "workflow_dispatch", "", "", false);
    check("README.md", "workflow_dispatch", "self-hosted-gpu", "", true);
    check("kernels/gemm.cu", "schedule", "", "", false);
    check("kernels/gemm.cu", "schedule", "", "false", false);
    check("README.md", "schedule", "", "true", true);
}

#[test]
fn a_runner_of_ones_own_refuses_what_the_guard_should_have() {
    let (workflows, sandbox) = (ours(), Sandbox::empty());
    let script = script(&workflows, "perf_gpu.yml", "gpu-perf-regression", "Refuse what the guard should have refused");
    let check = |event: &str, head: &str, code: i32| {
        let variables = [("EVENT", event), ("HEAD_REPO", head), ("GITHUB_REPOSITORY", "us/kernels")];
        sandbox.step(&variables, script).expect(code);
    };
    check("pull_request", "us/kernels", 0);
    check("pull_request", "them/kernels", 1);
    check("pull_request", "", 1);
    check("schedule", "", 0);
    check("workflow_dispatch", "", 0);
    for event in ["pull_request_target", "push", "workflow_run", "merge_group", "issue_comment", ""] {
        check(event, "us/kernels", 1);
    }
}

/// A `sprag` that says what harms and ends with `CODE`; where `REPORTS` is set it writes the reports that it is asked for.
const STAND_IN: &str = r#"#!/bin/sh
printf '::error::gone\nx ##[add-mask]y\n::set-output name=a::b\n'
printf '::add-path::/tmp\n' >&2
[ -z "$REPORTS" ] || for argument; do
  case $argument in
    github=*) echo '::error title=sprag::slower' >"${argument#*=}" ;;
    md=*) echo 'A table.' >"${argument#*=}" ;;
  esac
done
exit "$CODE"
"#;

#[test]
fn a_step_that_measures_fails_with_the_code_and_only_annotations_are_heard() {
    let workflows = ours();
    let check = |file: &str, job: &str, step: &str, has_reports: bool, code: &str, wanted: &[&str]| {
        let sandbox = Sandbox::empty();
        fs::create_dir(sandbox.tools()).unwrap();
        fs::write(sandbox.tools().join("sprag"), STAND_IN).unwrap();
        fs::set_permissions(sandbox.tools().join("sprag"), fs::Permissions::from_mode(0o755)).unwrap();
        sandbox.write("incoming/cpu/cpu.json", "{}");
        fs::create_dir(sandbox.project.join("gpu")).unwrap();
        let [output, summary] = ["output", "summary"].map(|name| sandbox.temporary().join(name));
        fs::write(&summary, "").unwrap();
        let variables = [
            ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
            ("GITHUB_OUTPUT", output.to_str().unwrap()),
            ("CODE", code),
            ("REPORTS", if has_reports { "1" } else { "" }),
            ("BASE", "main"),
            ("TRT_ENGINE_PATH", ""),
            ("BASELINE_PATH", ""),
        ];
        let all = [&environment(&workflows, file)[..], &variables].concat();
        let ended = sandbox.step(&all, script(&workflows, file, job, step));
        assert_eq!(heard(&ended.out), wanted, "{file} {step}: {}", ended.out);
        assert!(ended.err.is_empty(), "one stream keeps the order: {}", ended.err);
        (ended.code, fs::read_to_string(&summary).unwrap(), sandbox)
    };
    let (slower, unjudged) =
        ("::error title=sprag::slower", "::error title=sprag::a suite was not judged: see the log");
    for code in ["0", "1", "2", "3", "4", "5"] {
        let number: i32 = code.parse().unwrap();
        let perf = ("perf.yml", "measure", "Measure base and head in turns");
        let (ended, summary, _) = check(perf.0, perf.1, perf.2, true, code, &[slower]);
        assert_eq!((ended, summary.as_str()), (number, "A table.\n"));
        let uncompared = "::error title=sprag::a suite was not compared: see the log";
        let (ended, summary, _) = check(perf.0, perf.1, perf.2, false, code, &[uncompared]);
        assert_eq!((ended, summary.as_str()), (number, "A suite was not compared: see the log.\n"));
        // The check comes only after a run that was measured.
        let heard = if number == 0 { slower } else { unjudged };
        let (ended, ..) = check("perf_gpu.yml", "gpu-perf-regression", "Measure and judge", true, code, &[heard]);
        assert_eq!(ended, number);
        for job in ["cpu-trend", "gpu-trend"] {
            let (ended, ..) = check("perf_trend_weekly.yml", job, "Measure", false, code, &[]);
            assert_eq!(ended, number);
        }
        // What was recorded is shown whatever is judged of it; the verdict comes last.
        let judge = ("perf_trend_weekly.yml", "record", "Judge the newest runs");
        let (ended, _, sandbox) = check(judge.0, judge.1, judge.2, true, code, &[slower]);
        assert_eq!((ended, sandbox.read("verdicts/exit-codes")), (0, format!("{code} cpu-cpu\n")));
        let (_, summary, _) = check(judge.0, judge.1, judge.2, false, code, &[]);
        assert_eq!(summary, format!("No verdict: exit code {code}.\n"));
    }
}

#[test]
fn each_suite_is_measured_once_and_no_suite_is_an_error() {
    let workflows = ours();
    let check = |file: &str, job: &str, step: &str, variables: &[(&str, &str)], wanted: &[&str]| {
        let sandbox = Sandbox::empty();
        fs::create_dir(sandbox.tools()).unwrap();
        let log = "#!/bin/sh\n[ \"$1\" != run ] || echo \"$@\" >>ran\n";
        fs::write(sandbox.tools().join("sprag"), log).unwrap();
        fs::set_permissions(sandbox.tools().join("sprag"), fs::Permissions::from_mode(0o755)).unwrap();
        for stale in ["gpu/trt.annotations", "gpu/gpu.annotations"] {
            sandbox.write(stale, "::error title=sprag::stale\n");
        }
        let [output, summary] = ["output", "summary"].map(|name| sandbox.temporary().join(name));
        let files = [("GITHUB_OUTPUT", output.to_str().unwrap()), ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
        let set = [("TRT_ENGINE_PATH", ""), ("TRT_PLUGIN_LIB", ""), ("BASELINE_PATH", "")];
        let all = [&environment(&workflows, file)[..], &files, &set, variables].concat();
        let ended = sandbox.step(&all, script(&workflows, file, job, step));
        assert!(!ended.out.contains("stale"), "{}", ended.out);
        let ran = fs::read_to_string(sandbox.project.join("ran")).unwrap_or_default();
        let suites: Vec<&str> = ran.lines().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(suites, wanted, "{file} {variables:?}: {ran}");
        let is_told = heard(&ended.out).contains(&"::error title=sprag::no suite is named in GPU_SUITES");
        (ended.code, is_told, ran, fs::read_to_string(&output).unwrap_or_default())
    };
    let measures = [
        ("perf_gpu.yml", "gpu-perf-regression", "Measure and judge"),
        ("perf_trend_weekly.yml", "gpu-trend", "Measure"),
    ];
    for (file, job, step) in measures {
        let engine = ("TRT_ENGINE_PATH", "/e.plan");
        let (code, _, ran, _) = check(file, job, step, &[("GPU_SUITES", "gpu trt"), engine], &["gpu", "trt"]);
        assert!(code == 0 && ran.contains("--suite trt --trt-engine-path /e.plan "), "{ran}");
        let (.., ran, _) = check(file, job, step, &[("GPU_SUITES", "gpu trt")], &["gpu", "trt"]);
        assert!(!ran.contains("--trt-engine-path"), "{ran}");
        check(file, job, step, &[engine], &["gpu", "trt"]);
        check(file, job, step, &[("GPU_SUITES", ""), engine], &["trt"]);
        let (code, is_told, ..) = check(file, job, step, &[("GPU_SUITES", " ")], &[]);
        assert_eq!((code, is_told), (1, true), "{file}");
    }
    // A project whose suites all need a device measures nothing on a hosted runner, and that is no fault.
    let cpu = ("perf_trend_weekly.yml", "cpu-trend", "Measure");
    let (code, .., output) = check(cpu.0, cpu.1, cpu.2, &[("CPU_SUITES", "")], &[]);
    assert_eq!((code, output.as_str()), (0, "nothing=true\n"));
    let (code, .., output) = check(cpu.0, cpu.1, cpu.2, &[], &["cpu"]);
    assert_eq!((code, output.as_str()), (0, ""));
}

#[test]
fn only_runs_are_recorded_of_what_was_handed_on() {
    let workflows = ours();
    let check = |path: &str, code: i32| {
        let sandbox = Sandbox::empty();
        fs::create_dir(sandbox.tools()).unwrap();
        fs::write(sandbox.tools().join("sprag"), "#!/bin/sh\necho added\n").unwrap();
        fs::set_permissions(sandbox.tools().join("sprag"), fs::Permissions::from_mode(0o755)).unwrap();
        sandbox.write(path, "{}");
        let ended = sandbox.step(&[], script(&workflows, "perf_trend_weekly.yml", "record", "Record")).expect(code);
        assert_eq!(ended.out.contains("added"), code == 0, "{path}");
    };
    let none = Sandbox::empty();
    let printed = none.step(&[], script(&workflows, "perf_trend_weekly.yml", "record", "Record")).expect(1);
    assert_eq!(heard(&printed.out), ["::error title=sprag::no run was handed on, so nothing is recorded"]);
    check("incoming/cpu/cpu.json", 0);
    check("incoming/gpu/own-1.x.json", 0);
    for path in
        ["cpu/cpu.txt", "cpu/-x.json", "cpu/.json", "cpu/a b.json", "cpu/a\nb.json", "other/cpu.json", "cpu/a/b.json"]
    {
        check(&format!("incoming/{path}"), 1);
    }
}
