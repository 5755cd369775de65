//! Scripts of the workflows, run as the runner would: what they decide, and which of their output the runner obeys.

use std::fs;
use std::os::unix::fs::symlink;

use crate::sandbox::{Ended, Sandbox, assert_contains};
use crate::workflow_files::{Job, Workflows, heard, pairs};
use crate::workflow_rules::FINAL;

const WEEKLY: &str = "perf_trend_weekly.yml";

/// The script of a step; without a name, of the last one.
#[track_caller]
fn script<'a>(job: Job<'a>, step: Option<&str>) -> &'a str {
    let step = step.map_or_else(|| job.steps().last().expect("it has a step"), |name| job.step(name));
    step["run"].as_str().expect("a script")
}

/// How a step ended, and what it wrote for the runner.
struct Ran {
    ended: Ended,
    output: String,
    summary: String,
}

/// Runs a step, named by file, job and name, with the variables of its workflow and more.
fn run(
    sandbox: &Sandbox,
    workflows: &Workflows,
    (file, job, step): (&str, &str, Option<&str>),
    variables: &[(&str, &str)],
) -> Ran {
    let environment = pairs(&workflows.workflow(file)["env"]).into_iter();
    let environment: Vec<(&str, &str)> =
        environment.map(|(name, value)| (name, value.as_str().expect("a text"))).collect();
    let paths = ["output", "summary"].map(|name| sandbox.temporary().join(name));
    paths.iter().for_each(|path| fs::write(path, "").expect("a file"));
    let [output, summary] = paths.each_ref().map(|path| path.to_str().expect("a path is text"));
    let given = [
        ("GITHUB_OUTPUT", output),
        ("GITHUB_STEP_SUMMARY", summary),
        ("TRT_ENGINE_PATH", ""),
        ("TRT_PLUGIN_LIB", ""),
        ("BASELINE_PATH", ""),
    ];
    let all = [&environment[..], &given, variables].concat();
    let ended = sandbox.step(&all, script(workflows.job(file, job), step));
    let read = |path: &str| fs::read_to_string(path).expect("a text");
    Ran { ended, output: read(output), summary: read(summary) }
}

/// An empty folder and a script in place of `sprag`.
fn with_sprag(script: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.tool("sprag", script);
    sandbox
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
    let (workflows, sandbox) = (Workflows::ours(), Sandbox::empty());
    sandbox.write("verdicts/exit-codes", "0 cpu-cpu\n");
    let check = |file: &str, of: &[(&str, &[&str])], good: &[&[&str]]| {
        let (_, key, _) = FINAL.into_iter().find(|(name, ..)| *name == file).expect("it has a final job");
        let step = workflows.job(file, key).steps().last().expect("it has a step");
        let names: Vec<&str> = pairs(&step["env"]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, of.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{file}");
        // One shell runs all ways, each in a subshell with the options of a step: its exit code, and whether it said why.
        let script = step["run"].as_str().expect("a script");
        let ways = all_ways(of);
        let quoted =
            |way: &[(&str, &str)]| way.iter().map(|(name, value)| format!("{name}='{value}' ")).collect::<String>();
        let calls: String = ways.iter().map(|way| format!("each {}\n", quoted(way))).collect();
        let each = r#"each() {
            out=$(export "$@"; set -eo pipefail; eval "$STEP"); code=$?
            case $out in *"::error title=sprag::"*) echo "$code error" ;; *) echo "$code" ;; esac
        }"#;
        let ended = sandbox.step(&[("STEP", script)], &format!("set +e\n{each}\n{calls}")).expect(0);
        assert_eq!(ended.out.lines().count(), ways.len(), "{file}: {}", ended.both());
        for (way, outcome) in ways.iter().zip(ended.out.lines()) {
            let values: Vec<&str> = way.iter().map(|(_, value)| *value).collect();
            let expected = if good.contains(&&values[..]) { "0" } else { "1 error" };
            assert_eq!(outcome, expected, "{file}: {way:?}");
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
        WEEKLY,
        &[
            ("BOOK", &few[..2]),
            ("CPU", &few),
            ("PROTECTED", &few),
            ("GPU", &few),
            ("RECORD", &few[..2]),
            ("DEPLOY", &few[..2]),
            ("GPU_WANTED", &WORDS),
        ],
        &[
            &["success", "success", "success", "success", "success", "success", "true"],
            &["success", "success", "skipped", "skipped", "success", "success", "false"],
        ],
    );
}

#[test]
fn the_weekly_verdict_fails_where_a_run_is_slower_or_was_not_judged() {
    let (workflows, sandbox) = (Workflows::ours(), Sandbox::empty());
    let well = [
        ("BOOK", "success"),
        ("CPU", "success"),
        ("RECORD", "success"),
        ("DEPLOY", "success"),
        ("PROTECTED", "skipped"),
        ("GPU", "skipped"),
        ("GPU_WANTED", "false"),
    ];
    let verdict = || run(&sandbox, &workflows, (WEEKLY, "verdict", None), &well).ended;
    for (codes, code) in [("0 cpu-cpu\n0 cpu-own\n", 0), ("0 cpu-cpu\n1 cpu-own\n", 1), ("4 cpu-cpu\n0 cpu-own\n", 1)] {
        sandbox.write("verdicts/exit-codes", codes);
        verdict().expect(code);
    }
    sandbox.remove("verdicts/exit-codes");
    assert_eq!(heard(&verdict().expect(1).out), ["::error title=sprag::nothing was judged"]);
}

/// A repository with a commit on `main`, and a branch from it that changes a file.
fn branch(path: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let base = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["checkout", "-q", "-b", "topic"]);
    sandbox.commit_with(path, "changed\n", "Change");
    (sandbox, base)
}

#[test]
fn what_cannot_change_a_speed_is_out_of_scope_and_all_else_is_in() {
    let workflows = Workflows::ours();
    let scope = ("perf.yml", "scope", None);
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
        let ran = run(&sandbox, &workflows, scope, &[("BASE", &base)]);
        assert_eq!(ran.output, format!("wanted={wanted}\nbase={base}\nsuites=cpu\n"), "{path:?}");
        assert_eq!(ran.ended.expect(0).out.contains("edits what the gate judges by: sprag.toml"), path == "sprag.toml");
    }
    let (sandbox, base) = branch("src/main.rs");
    let ran = run(&sandbox, &workflows, scope, &[("BASE", &base), ("PERF_SUITES", " ")]);
    ran.ended.expect(0).prints(&["::warning title=sprag::no suite is gated"]);
    assert_contains(&ran.output, &["wanted=false"]);
    // A base that git does not know fails the step, and with it the gate.
    for unknown in ["", "0123456789012345678901234567890123456789", "--all"] {
        let ran = run(&sandbox, &workflows, scope, &[("BASE", unknown)]);
        assert!(ran.ended.code != 0 && ran.output.is_empty(), "{unknown}: {}", ran.output);
    }
}

#[test]
fn a_change_of_the_gate_is_shown_and_takes_nothing_out_of_it() {
    let (workflows, path) = (Workflows::ours(), ".github/workflows/perf.yml");
    for (path, reference) in
        [(path, ""), (".github/workflows/ours.yml", "us/k/.github/workflows/ours.yml@refs/heads/x")]
    {
        for named in ["  PERF_SUITES: \"own other\" # both\n", "      suites: 'own other'\n", "  PERF_SUITES: \"\"\n"] {
            let sandbox = Sandbox::new();
            sandbox.commit_with(path, named, "Gate two suites");
            let base = sandbox.git(&["rev-parse", "HEAD"]);
            sandbox.commit_with(path, "  PERF_SUITES: \"\" # none\n", "Gate none");
            let variables =
                [("BASE", &*base), ("PERF_SUITES", ""), ("PERF_PATHS", ""), ("GITHUB_WORKFLOW_REF", reference)];
            let ran = run(&sandbox, &workflows, ("perf.yml", "scope", None), &variables);
            let is_named = named.contains("own");
            let (wanted, suites) = if is_named { ("true", "own other") } else { ("false", "") };
            assert_eq!(ran.output, format!("wanted={wanted}\nbase={base}\nsuites={suites}\n"), "{named}");
            ran.ended
                .expect(0)
                .prints(&["::warning title=sprag::this change edits what the gate judges by: .github/workflows/"]);
            assert_contains(&ran.summary, &["Suites and rules of the base hold"]);
        }
    }
}

#[test]
fn suites_of_the_base_that_are_no_list_of_names_fail_the_gate() {
    let workflows = Workflows::ours();
    let gpu = ("perf_gpu.yml", "scope", Some("Decide whether a device is wanted"));
    for (step, key) in [(("perf.yml", "scope", None), "PERF_SUITES"), (gpu, "GPU_SUITES")] {
        for named in ["$(false)", "${{ vars.SUITES }}"] {
            let (sandbox, path) = (Sandbox::new(), format!(".github/workflows/{}", step.0));
            sandbox.commit_with(&path, &format!("  {key}: {named}\n"), "Gate some");
            let base = sandbox.git(&["rev-parse", "HEAD"]);
            sandbox.commit_with(&path, &format!("  {key}: \"\"\n"), "Gate none");
            let variables = [("BASE", &*base), ("EVENT", "pull_request"), ("ENABLED", "true"), (key, "")];
            let ran = run(&sandbox, &workflows, step, &variables);
            ran.ended.expect(1).prints(&["::error title=sprag::", "of the base is not a list of names"]);
        }
    }
}

#[test]
fn a_comment_shows_what_the_gate_printed_in_a_block_that_it_cannot_end() {
    let (workflows, sandbox) = (Workflows::ours(), Sandbox::empty());
    let step = ("perf_comment.yml", "comment", Some("Comment"));
    let hostile = "own: slower\u{1b}[31m\n```\n@everyone <img src=x> ::error::gone\n~~~\n";
    let gh = "#!/bin/sh\ncase \"$*\" in\n*/pulls*) echo $NUMBER ;;\n'run download'*) cp -R ../kept/. found ;;\n\
        *PATCH*|*POST*) printf '%s' \"$*\" >../sent ;;\n*/comments*) echo $COMMENT ;;\nesac\n";
    sandbox.tool("gh", gh);
    sandbox.write("../kept/own.txt", hostile);
    sandbox.write("../kept/-x.txt", "not this");
    sandbox.write("../kept/other.md", "nor this");
    symlink("/etc/passwd", sandbox.project.join("../kept/link.txt")).expect("a link");
    let comment = |number: &str, comment: &str| {
        let _ = fs::remove_dir_all(sandbox.project.join("found"));
        let _ = fs::remove_file(sandbox.project.join("../sent"));
        let sha = "0123456789abcdef0123456789abcdef01234567";
        let event = [
            ("RUN", "7"),
            ("OWNER", "them"),
            ("BRANCH", "x"),
            ("SHA", sha),
            ("CONCLUSION", "failure"),
            ("LINK", "https://x"),
        ];
        let gh = [("GITHUB_REPOSITORY", "us/k"), ("NUMBER", number), ("COMMENT", comment)];
        run(&sandbox, &workflows, step, &[&event[..], &gh].concat()).ended.expect(0);
        fs::read_to_string(sandbox.project.join("../sent")).unwrap_or_default()
    };
    let sent = comment("5", "");
    assert_contains(
        &sent,
        &["POST repos/us/k/issues/5/comments", "<!-- perf-gate -->\n**perf gate**: failure for `0123456789ab`"],
    );
    assert_contains(
        &sent,
        &["`own`\n\n```text\nown: slower[31m\n'''\n@everyone <img src=x> ::error::gone\n~~~\n\n```"],
    );
    assert!(!["root:", "this", "\u{1b}"].iter().any(|part| sent.contains(part)), "{sent}");
    assert_contains(&comment("5", "42"), &["PATCH repos/us/k/issues/comments/42"]);
    // Without a pull request at this commit nothing is written.
    assert_eq!(comment("", "42"), "");
    sandbox.write("../kept/own.txt", &"ä".repeat(50_000));
    assert!((20_000..22_000).contains(&comment("5", "").len()));
}

#[test]
fn a_device_is_wanted_by_few_events() {
    let workflows = Workflows::ours();
    let with = |path: &str, event: &str, mode: &str, nightly: &str, more: &[(&str, &str)]| {
        let (sandbox, base) = branch(path);
        let set = [("BASE", &*base), ("EVENT", event), ("RUN_MODE", mode), ("NIGHTLY", nightly), ("ENABLED", "true")];
        let step = ("perf_gpu.yml", "scope", Some("Decide whether a device is wanted"));
        let mut ran = run(&sandbox, &workflows, step, &[&set, more].concat());
        ran.ended = ran.ended.expect(0);
        ran
    };
    for enabled in ["", "false"] {
        let ran = with("kernels/gemm.cu", "pull_request", "", "true", &[("ENABLED", enabled)]);
        assert!(
            ran.output.starts_with("wanted=false\n") && ran.ended.out.is_empty(),
            "{}{}",
            ran.output,
            ran.ended.out
        );
        assert_contains(&ran.summary, &["SPRAG_ENABLE_GPU"]);
    }
    // Without a suite there is nothing that could fail.
    for (event, mode) in [("pull_request", ""), ("workflow_dispatch", "self-hosted-gpu"), ("schedule", "")] {
        let without = |engine: &str| {
            let more = [("GPU_SUITES", " "), ("TRT_ENGINE_PATH", engine)];
            with("kernels/gemm.cu", event, mode, "true", &more)
        };
        let ran = without("");
        assert_contains(&ran.output, &["wanted=false\nbase=", "\nsuites=\n"]);
        ran.ended.prints(&["::warning title=sprag::no suite is measured on the GPU"]);
        assert_contains(&without("/e.plan").output, &["wanted=true\n"]);
    }
    for (path, event, mode, nightly, wanted) in [
        ("kernels/gemm.cu", "pull_request", "", "", true),
        ("deep/own.ptx", "pull_request", "", "", true),
        ("src/measure/clock.rs", "pull_request", "", "", true),
        ("src/report/site.rs", "pull_request", "", "true", false),
        ("README.md", "pull_request", "self-hosted-gpu", "true", false),
        ("kernels/gemm.cu", "merge_group", "", "", false),
        ("kernels/gemm.cu", "workflow_dispatch", "skip", "true", false),
        ("kernels/gemm.cu", "workflow_dispatch", "", "", false),
        ("README.md", "workflow_dispatch", "self-hosted-gpu", "", true),
        ("kernels/gemm.cu", "schedule", "", "", false),
        ("kernels/gemm.cu", "schedule", "", "false", false),
        ("README.md", "schedule", "", "true", true),
    ] {
        let output = with(path, event, mode, nightly, &[]).output;
        assert!(output.starts_with(&format!("wanted={wanted}\nbase=")), "{path} {event} {mode} {nightly}: {output}");
        assert!(output.ends_with("\nsuites=gpu\n"), "{output}");
    }
}

#[test]
fn a_runner_is_used_only_where_its_environment_has_rules() {
    let (workflows, sandbox) = (Workflows::ours(), Sandbox::empty());
    let name = "Check that the environment protects the runner";
    let step = ("perf_gpu.yml", "scope", Some(name));
    let script = |job: Job<'_>| job.step(name)["run"].clone();
    assert_eq!(script(workflows.job("perf_gpu.yml", "scope")), script(workflows.job(WEEKLY, "environment")));
    for (rules, code) in [
        ("echo required_reviewers", 0),
        ("echo wait_timer; echo required_reviewers", 0),
        ("echo branch_policy", 1),
        ("true", 1),
        ("exit 1", 1),
    ] {
        sandbox.tool("gh", &format!("#!/bin/sh\n{rules}\n"));
        let variables = [("GITHUB_REPOSITORY", "us/k"), ("ENVIRONMENT", "perf-gpu"), ("RULE", "required_reviewers")];
        let ended = run(&sandbox, &workflows, step, &variables).ended.expect(code);
        assert_eq!(
            ended.out.contains("`perf-gpu` lacks the rule `required_reviewers`"),
            code == 1,
            "{rules}: {}",
            ended.out
        );
    }
}

#[test]
fn a_self_hosted_runner_refuses_what_the_guard_should_have() {
    let (workflows, sandbox) = (Workflows::ours(), Sandbox::empty());
    let step = ("perf_gpu.yml", "gpu-perf-regression", Some("Refuse what the guard should have refused"));
    let check = |event: &str, head: &str, code: i32| {
        let variables = [("EVENT", event), ("HEAD_REPO", head), ("GITHUB_REPOSITORY", "us/kernels")];
        run(&sandbox, &workflows, step, &variables).ended.expect(code);
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

/// Prints commands for the runner and ends with `CODE`; with `REPORTS` set it writes the reports that it is asked for.
const STAND_IN: &str = include_str!("../../fixtures/projects/stand-in.sh");

#[test]
fn a_step_that_measures_fails_with_the_code_and_only_annotations_are_heard() {
    let workflows = Workflows::ours();
    let check = |file: &str, job: &str, step: &str, reports: &str, code: &str, wanted: &[&str]| {
        let sandbox = with_sprag(STAND_IN);
        sandbox.write("incoming/cpu/cpu.json", "{}");
        sandbox.write("gpu/keep", "");
        let variables = [("CODE", code), ("REPORTS", reports), ("BASE", "main")];
        let ran = run(&sandbox, &workflows, (file, job, Some(step)), &variables);
        assert_eq!(heard(&ran.ended.out), wanted, "{file} {step}: {}", ran.ended.out);
        assert!(ran.ended.err.is_empty(), "one stream keeps the order: {}", ran.ended.err);
        (ran.ended.code, ran.summary, sandbox)
    };
    let (slower, unjudged) =
        ("::error title=sprag::slower", "::error title=sprag::a suite was not judged: see the log");
    for code in ["0", "1", "2", "3", "4", "5"] {
        let number: i32 = code.parse().expect("a number");
        let perf = ("perf.yml", "measure", "Measure base and head in turns");
        let (ended, summary, _) = check(perf.0, perf.1, perf.2, "1", code, &[slower]);
        assert_eq!((ended, summary.as_str()), (number, "A table.\n"));
        let uncompared = "::error title=sprag::a suite was not compared: see the log";
        let (ended, summary, _) = check(perf.0, perf.1, perf.2, "", code, &[uncompared]);
        assert_eq!((ended, summary.as_str()), (number, "A suite was not compared: see the log.\n"));
        // The check comes only after a run that was measured.
        let heard = if number == 0 { slower } else { unjudged };
        let (ended, ..) = check("perf_gpu.yml", "gpu-perf-regression", "Measure and judge", "1", code, &[heard]);
        assert_eq!(ended, number);
        for job in ["cpu-trend", "gpu-trend"] {
            let (ended, ..) = check(WEEKLY, job, "Measure", "", code, &[]);
            assert_eq!(ended, number);
        }
        // The site shows what was recorded, whatever the verdict, which comes last.
        let (ended, _, sandbox) = check(WEEKLY, "record", "Judge the newest runs", "1", code, &[slower]);
        assert_eq!((ended, sandbox.read("verdicts/exit-codes")), (0, format!("{code} cpu-cpu\n")));
        let (_, summary, _) = check(WEEKLY, "record", "Judge the newest runs", "", code, &[]);
        assert_eq!(summary, format!("No verdict: exit code {code}.\n"));
    }
}

#[test]
fn each_suite_is_measured_once_and_no_suite_is_an_error() {
    let workflows = Workflows::ours();
    let check = |(file, job, step): (&str, &str, &str), variables: &[(&str, &str)], wanted: &[&str]| {
        let sandbox = with_sprag("#!/bin/sh\n[ \"$1\" != run ] || echo \"$@\" >>ran\n");
        for stale in ["gpu/trt.annotations", "gpu/gpu.annotations"] {
            sandbox.write(stale, "::error title=sprag::stale\n");
        }
        let ran = run(&sandbox, &workflows, (file, job, Some(step)), variables);
        assert!(!ran.ended.out.contains("stale"), "{}", ran.ended.out);
        let log = fs::read_to_string(sandbox.project.join("ran")).unwrap_or_default();
        let suites: Vec<&str> = log.lines().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(suites, wanted, "{file} {variables:?}: {log}");
        (ran, log)
    };
    for step in [("perf_gpu.yml", "gpu-perf-regression", "Measure and judge"), (WEEKLY, "gpu-trend", "Measure")] {
        let engine = ("TRT_ENGINE_PATH", "/e.plan");
        let (ran, log) = check(step, &[("GPU_SUITES", "gpu trt"), engine], &["gpu", "trt"]);
        ran.ended.expect(0);
        assert_contains(&log, &["--suite trt --trt-engine-path /e.plan "]);
        let (_, log) = check(step, &[("GPU_SUITES", "gpu trt")], &["gpu", "trt"]);
        assert!(!log.contains("--trt-engine-path"), "{log}");
        check(step, &[engine], &["gpu", "trt"]);
        check(step, &[("GPU_SUITES", ""), engine], &["trt"]);
        let (ran, _) = check(step, &[("GPU_SUITES", " ")], &[]);
        let error = "::error title=sprag::no suite is named in GPU_SUITES";
        assert!(heard(&ran.ended.expect(1).out).contains(&error), "{step:?}");
    }
    // A project whose suites all need a device measures nothing on a hosted runner, and that is not a fault.
    let cpu = (WEEKLY, "cpu-trend", "Measure");
    for (variables, wanted, output) in [(&[("CPU_SUITES", "")][..], &[][..], "nothing=true\n"), (&[], &["cpu"], "")] {
        let (ran, _) = check(cpu, variables, wanted);
        assert_eq!((ran.ended.code, ran.output.as_str()), (0, output));
    }
}

#[test]
fn a_bisection_is_of_an_event_or_of_two_commits() {
    let workflows = Workflows::ours();
    let bisect = ("bisect", "Bisect", "--output-runs records");
    let share = ("share", "Share", "--record --shard=2/3");
    let tool = "#!/bin/sh\necho \"$@\" >ran\necho ::error::theirs\necho A table. >bisect.md\nexit $CODE\n";
    for (place, event, good, suite, code, wanted, ended) in [
        (bisect, "e-1", "", "", "0", "--event=e-1", 0),
        (bisect, "", "v1", "own", "0", "--suite=own -- v1 HEAD", 0),
        (bisect, "", "--out=/x", "", "1", "-- --out=/x HEAD", 1),
        (bisect, "e-1", "v1", "", "3", "--event=e-1", 0),
        (bisect, "", "", "", "0", "", 2),
        (share, "", "v1", "own", "0", "--suite=own -- v1 HEAD", 0),
        (share, "e-1", "v1", "", "3", "--event=e-1", 0),
    ] {
        let (job, step, recorded) = place;
        let options = format!("bisect --budget 90m {recorded} --format md --out bisect.md --report json=bisect.json");
        let wanted = if wanted.is_empty() { String::new() } else { format!("{options} {wanted}") };
        let sandbox = with_sprag(tool);
        let given = [("SHARD", "2/3"), ("TOKEN", "secret"), ("GITHUB_SERVER_URL", "https://forge"), ("BAD", "HEAD")];
        let variables = [&given[..], &[("EVENT", event), ("GOOD", good), ("SUITE", suite), ("CODE", code)]].concat();
        let ran = run(&sandbox, &workflows, ("perf_bisect.yml", job, Some(step)), &variables);
        let log = fs::read_to_string(sandbox.project.join("ran")).unwrap_or_default();
        assert_eq!((log.trim_end(), ran.ended.code), (wanted.as_str(), ended), "{variables:?}: {}", ran.ended.out);
        let warned = heard(&ran.ended.out).iter().any(|line| line.starts_with("::warning title=sprag::no commit"));
        assert_eq!(warned, code == "3", "{}", ran.ended.out);
        assert!(!heard(&ran.ended.out).contains(&"::error::theirs"), "{}", ran.ended.out);
        assert_eq!(ran.summary, if wanted.is_empty() { "" } else { "A table.\n" });
    }
}

#[test]
fn only_runs_are_recorded_of_what_was_handed_on() {
    let workflows = Workflows::ours();
    let record = (WEEKLY, "record", Some("Record"));
    let check = |path: &str, code: i32| {
        let sandbox = with_sprag("#!/bin/sh\necho added\n");
        sandbox.write(path, "{}");
        let ended = run(&sandbox, &workflows, record, &[]).ended.expect(code);
        assert_eq!(ended.out.contains("added"), code == 0, "{path}");
    };
    let ended = run(&Sandbox::empty(), &workflows, record, &[]).ended.expect(1);
    assert_eq!(heard(&ended.out), ["::error title=sprag::no run was handed on, so nothing is recorded"]);
    check("incoming/cpu/cpu.json", 0);
    check("incoming/gpu/own-1.x.json", 0);
    for path in
        ["cpu/cpu.txt", "cpu/-x.json", "cpu/.json", "cpu/a b.json", "cpu/a\nb.json", "other/cpu.json", "cpu/a/b.json"]
    {
        check(&format!("incoming/{path}"), 1);
    }
}
