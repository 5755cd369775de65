//! The cache of built commits: each is built once, whatever ends in between.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::commits::{self, SUITE};
use crate::sandbox::{Ended, Sandbox, wait_until};

/// The sandbox of [`commits`], whose build step also adds a line to `out/log`.
fn sandbox() -> Sandbox {
    let sandbox = commits::sandbox();
    build_step(&sandbox, "cat rate > built");
    sandbox
}

fn build_step(sandbox: &Sandbox, step: &str) {
    let log = sandbox.project.join("out/log");
    sandbox.write("sprag.toml", &SUITE.replace("cat rate > built", &format!("echo 1 >> {}; {step}", log.display())));
    sandbox.write("out/log", "");
}

fn compare(sandbox: &Sandbox, variables: &[(&str, &str)], code: i32) -> Ended {
    sandbox.sprag_with(variables, &["compare", "v1", "v2", "--measure", "--quick"]).expect(code)
}

fn n_builds(sandbox: &Sandbox) -> usize {
    sandbox.read("out/log").lines().count()
}

fn cached(sandbox: &Sandbox) -> Vec<Value> {
    let list = sandbox.ends(0, &["cache", "--json"]).json();
    list.as_array().expect("a list").clone()
}

fn folder(sandbox: &Sandbox) -> PathBuf {
    sandbox.temporary().with_file_name("home").join(".cache/sprag/builds")
}

#[test]
fn a_commit_is_built_once_for_each_of_its_settings() {
    let sandbox = sandbox();
    let state = || (sandbox.git(&["status", "--porcelain"]), sandbox.git(&["for-each-ref"]));
    let before = state();
    for (variables, n) in [
        (&[][..], 2),
        (&[], 2),
        (&[("CFLAGS", "-O1")], 4),
        (&[("RUSTC_WRAPPER", "sccache")], 4),
        (&[("SPRAG_CACHE", "off")], 6),
    ] {
        compare(&sandbox, variables, 1);
        assert_eq!(n_builds(&sandbox), n, "{variables:?}");
    }
    build_step(&sandbox, "true; cat rate > built");
    compare(&sandbox, &[], 1);
    assert_eq!((n_builds(&sandbox), cached(&sandbox).len()), (2, 6));
    assert_eq!(state(), before);
    let table = sandbox.ends(0, &["cache"]);
    table.prints(&["Make v1", "Make v2", "built", "6 builds"]);
    sandbox.ends(0, &["cache", "clear", "--older-than", "1d"]).prints(&["removed 0 builds"]);
    sandbox.ends(0, &["cache", "clear"]).prints(&["removed 6 builds"]);
    assert!(cached(&sandbox).is_empty());
    assert_eq!(fs::read_dir(folder(&sandbox)).expect("a folder").count(), 1, "only the lock stays");
}

#[test]
fn commits_that_agree_in_the_inputs_of_the_build_share_it() {
    let sandbox = sandbox();
    sandbox.append("sprag.toml", "build_inputs = [\"rate\", \"*.sh\"]\n");
    // The files of the first one are measured for both.
    compare(&sandbox, &[], 0);
    assert_eq!((n_builds(&sandbox), cached(&sandbox).len()), (1, 1));
    sandbox.ends(1, &["compare", "v2", "v3", "--measure", "--quick"]).prints(&["tiles", "-20.0 %"]);
    assert_eq!((n_builds(&sandbox), cached(&sandbox).len()), (2, 2));
    // A commit without any of them is one by itself.
    build_step(&sandbox, "cat rate > built");
    sandbox.append("sprag.toml", "build_inputs = [\"nowhere/**\"]\n");
    compare(&sandbox, &[], 1);
    assert_eq!(n_builds(&sandbox), 2);
}

#[test]
fn a_wrapper_of_the_compiler_reaches_the_build() {
    let sandbox = sandbox();
    build_step(&sandbox, "test \\\"$RUSTC_WRAPPER\\\" = sccache && cat rate > built");
    compare(&sandbox, &[("RUSTC_WRAPPER", "sccache")], 1);
    assert_eq!(n_builds(&sandbox), 2);
}

#[test]
fn an_installation_is_never_cached() {
    let sandbox = sandbox();
    build_step(&sandbox, "cat rate > built; : pip install .");
    compare(&sandbox, &[], 1);
    compare(&sandbox, &[], 1);
    assert_eq!((n_builds(&sandbox), cached(&sandbox).len()), (4, 0));
}

#[test]
fn a_build_that_is_killed_leaves_nothing_that_is_used() {
    let sandbox = sandbox();
    build_step(&sandbox, "test -e ../../go && cat rate > built || { touch ../../waits; sleep 1000; }");
    let mut killed = sandbox.start(&["compare", "v1", "v2", "--measure", "--quick"]);
    wait_until("the build was not started", || folder(&sandbox).join("waits").exists());
    killed.kill().expect("our own child can be killed");
    killed.wait().expect("a killed child ends");
    assert!(cached(&sandbox).is_empty());
    fs::write(folder(&sandbox).join("go"), "").expect("a file");
    compare(&sandbox, &[], 1);
    assert_eq!((n_builds(&sandbox), cached(&sandbox).len()), (3, 2));
}

#[test]
fn what_failed_is_listed_and_compare_retries_it() {
    let sandbox = sandbox();
    build_step(&sandbox, "test -e ../../../go && cat rate > built || { echo no compiler >&2; exit 1; }");
    compare(&sandbox, &[], 2).says(&["cannot build", "no compiler"]);
    let failure = cached(&sandbox)[0]["failure"].as_str().expect("a reason").to_owned();
    assert!(failure.contains("(no compiler)"), "{failure}");
    sandbox.ends(0, &["cache"]).prints(&["failed to build"]);
    fs::write(folder(&sandbox).join("../go"), "").expect("a file");
    compare(&sandbox, &[], 1);
    assert!(cached(&sandbox).iter().all(|one| one["failure"].is_null()));
    // Without a folder for the cache, commits are built in a temporary one.
    compare(&sandbox, &[("XDG_CACHE_HOME", "/dev/null/none")], 2).says(&["cannot build"]);
    sandbox.sprag_with(&[("XDG_CACHE_HOME", "/dev/null/none")], &["cache"]).expect(2).says(&["hint: set HOME"]);
}

/// Cargo names what it makes by the path in the workspace and compares times, so commits must not share what it made.
#[test]
fn each_commit_of_a_cargo_project_runs_its_own_program() {
    let sandbox = Sandbox::begun();
    sandbox.write("Cargo.toml", "[package]\nname = \"timed\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    sandbox.write("Cargo.lock", "version = 4\n\n[[package]]\nname = \"timed\"\nversion = \"0.1.0\"\n");
    sandbox.write(".gitignore", "/target\n");
    let cargo = env!("CARGO");
    sandbox.write(
        "sprag.toml",
        &format!(
            "[project]\nname = \"sandbox\"\n[suites.theirs]\nkind = \"command\"\nprocesses = 3\n\
             build = [\"{cargo}\", \"build\"]\ncommand = [\"sh\", \"-c\", \"target/debug/timed\"]\n"
        ),
    );
    for (tag, seconds) in [("v1", 1), ("v2", 2), ("v3", 4)] {
        let report = format!(
            r#"{{{{"schema_version": 1, "benchmarks": [{{{{"name": "work", "metrics": [
               {{{{"name": "time", "unit": "s", "better": "lower", "value": {seconds}}}}}]}}}}]}}}}"#
        );
        sandbox.commit_with("src/main.rs", &format!("fn main() {{ println!(r#\"{report}\"#); }}\n"), tag);
        sandbox.git(&["tag", tag]);
    }
    for (base, other, ratio) in [("v1", "v2", 2.0), ("v2", "v3", 2.0), ("v1", "v3", 4.0), ("v3", "v1", 0.25)] {
        let code = i32::from(ratio > 1.0);
        let report = sandbox.ends(code, &["compare", base, other, "--measure", "--quick", "--json"]).json();
        assert_eq!(report["benchmarks"][0]["ratio"].as_f64(), Some(ratio), "{base} {other}: {report}");
    }
}
