//! Commits that are built in a folder of their own and measured.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Ended, Sandbox, wait_until};

/// Prints a report with one number from the tree and one from the build step.
pub(crate) const BENCH: &str = r#"printf '{"schema_version": 1, "benchmarks": [
  {"name": "sort", "metrics": [{"name": "time", "unit": "s", "better": "lower", "value": %s},
    {"name": "peak_memory", "unit": "B", "better": "lower", "value": 8192}]},
  {"name": "tiles", "metrics": [{"name": "rate", "unit": "1/s", "better": "higher", "value": %s}]}]}' \
  "$(cat speed)" "$(cat built)"
"#;

pub(crate) const SUITE: &str = "[project]\nname = \"sandbox\"\n[suites.theirs]\nkind = \"command\"\n\
    command = [\"sh\", \"bench.sh\"]\nbuild = [\"sh\", \"-c\", \"cat rate > built\"]\nprocesses = 3\n";

/// Three commits, tagged `v1` to `v3`: `sort` takes 1e-3 s, then 2e-3 s; the rate falls from 50 to 40 in `v3`.
pub(crate) fn sandbox() -> Sandbox {
    let sandbox = Sandbox::begun();
    sandbox.write("bench.sh", BENCH);
    sandbox.write("sprag.toml", SUITE);
    sandbox.write(".gitignore", "/out\n/built\n");
    for (tag, speed, rate) in [("v1", "1e-3", "50"), ("v2", "2e-3", "50"), ("v3", "2e-3", "40")] {
        sandbox.write("speed", speed);
        sandbox.commit_with("rate", rate, &format!("Make {tag}"));
        sandbox.git(&["tag", tag]);
    }
    sandbox
}

/// Runs the binary with its own folder for temporary files, in which nothing may stay.
#[track_caller]
pub(crate) fn sprag(sandbox: &Sandbox, arguments: &[&str]) -> Ended {
    let temporary = sandbox.temporary();
    let ended = sandbox.sprag_with(&[("TMPDIR", temporary.to_str().expect("a path is text"))], arguments);
    assert_eq!(entries(&temporary), Vec::<String>::new(), "left behind; standard error:\n{}", ended.err);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    ended
}

fn entries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("it can be listed").flatten();
    names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn time(run: &Value) -> f64 {
    run["benchmarks"][0]["metrics"][0]["value"].as_f64().expect("a number")
}

#[test]
fn a_commit_is_measured_and_recorded_as_itself() {
    let sandbox = sandbox();
    // Another commit is checked out, with staged and other changes.
    sandbox.write("speed", "9");
    sandbox.git(&["add", "speed"]);
    sandbox.write("bench.sh", "exit 9\n");
    let state = || (sandbox.git(&["status", "--porcelain"]), sandbox.git(&["for-each-ref", "refs/tags"]));
    let before = state();
    sprag(&sandbox, &["run", "--commit", "HEAD~2", "--record", "--output-run", "out/run.json"])
        .expect(0)
        .says(&["with `sh -c cat rate > built`"]);
    assert_eq!(state(), before);
    let run = crate::schemas::follows("run-2", &sandbox.read("out/run.json"));
    let v1 = sandbox.git(&["rev-parse", "v1"]);
    assert_eq!((&run["commit"]["sha"], time(&run)), (&Value::from(v1.as_str()), 1e-3));
    assert_eq!((&run["commit"]["subject"], &run["commit"]["dirty"]), (&"Make v1".into(), &false.into()));
    assert_eq!(run["machine"]["name"], "sandbox");
    assert!(!run["quality"]["reasons"].to_string().contains("tracked files"), "{run}");
    let records = sandbox.records("main");
    assert!(records.len() == 1 && records[0].contains(&v1[..12]), "{records:?}");

    // A record commit is treated as the commit that was measured.
    for (revision, tag, seconds) in [("main", "v3", 2e-3), ("main~2", "v2", 2e-3), ("v1", "v1", 1e-3)] {
        let ended = sprag(&sandbox, &["run", "--commit", revision, "--output-run", "out/run.json"]).expect(0);
        let run = sandbox.json("out/run.json");
        let expected = Value::from(sandbox.git(&["rev-parse", tag]));
        assert_eq!((&run["commit"]["sha"], time(&run)), (&expected, seconds));
        let printed = ended.err.contains("tracked files differ from");
        assert_eq!(printed, tag == "v3", "only the commit counts: {}", ended.err);
    }
    let ended = sprag(&sandbox, &["run", "--commit", "v1", "--quick", "--filter", "sort"]).expect(0);
    assert!(ended.out.contains("sort") && !ended.out.contains("tiles"), "{}", ended.out);
}

#[test]
fn what_a_build_asks_git_for_is_that_commit_and_what_it_does_stays_aside() {
    let sandbox = sandbox();
    let build = "git describe --tags > built; git tag -f stray; git config user.name Stray; git stash; \
        git rev-parse HEAD >> built; cat built >&2; exit 1";
    sandbox.write("sprag.toml", &SUITE.replace("cat rate > built", build));
    let v1 = sandbox.git(&["rev-parse", "v1"]);
    let state =
        || (sandbox.git(&["config", "--list"]), sandbox.git(&["for-each-ref"]), sandbox.git(&["stash", "list"]));
    let before = state();
    // A hook or `git rebase --exec` sets these variables.
    let set = [("GIT_DIR", &*sandbox.place(".git")), ("GIT_INDEX_FILE", "/nowhere/index")];
    let ended = sandbox.sprag_with(&set, &["run", "--commit", "v1"]).expect(2);
    ended.says(&["v1", &v1, &format!("cannot build {} (Make v1)", &v1[..12])]);
    assert_eq!(state(), before);
}

#[test]
fn a_commit_that_cannot_be_built_is_an_error_that_names_it() {
    let sandbox = sandbox();
    let short = sandbox.git(&["rev-parse", "v2"])[..12].to_owned();
    let check = |build: &str, more: &str, words: &[&str]| {
        sandbox.write("sprag.toml", &format!("{}{more}", SUITE.replace("cat rate > built", build)));
        let ended = sprag(&sandbox, &["run", "--commit", "v2", "--record"]).expect(2);
        ended.says(&[&[format!("cannot build {short} (Make v2)").as_str(), "hint: "], words].concat());
        assert!(sandbox.records("main").is_empty());
    };
    check("echo one >&2; echo two at $PWD/x.c >&2; false", "", &["exit code 1 (one; two at ./x.c)"]);
    // Without standard error, the reason is in the other output.
    check("echo broken; exit 3", "", &["exit code 3 (broken)"]);
    check("sleep 1000 & sleep 1000", "build_timeout_seconds = 1\n", &["longer than 1 s and was killed"]);
    sandbox.write("sprag.toml", &SUITE.replace("\"sh\", \"-c\", \"cat rate > built\"", "\"sprag-no-such\""));
    sprag(&sandbox, &["run", "--commit", "v2"]).expect(2).says(&["`sprag-no-such` cannot be started", &short]);
}

#[test]
fn a_suite_without_a_build_step_runs() {
    let sandbox = sandbox();
    let build = "build = [\"sh\", \"-c\", \"cat rate > built\"]\n";
    sandbox.commit_with("bench.sh", &BENCH.replace("cat built", "cat rate"), "Measure what is in the tree");
    sandbox.write("sprag.toml", &SUITE.replace(build, ""));
    sprag(&sandbox, &["run", "--commit", "HEAD"]).expect(0);
    let ended = sprag(&sandbox, &["run", "--commit", "v1", "--output-run", "out/run.json"]).expect(1);
    let run = sandbox.json("out/run.json");
    assert_eq!(run["status"], "failed", "{}", ended.out);
}

#[test]
fn revisions_and_suites_that_cannot_be_measured_are_named() {
    let sandbox = sandbox();
    let check = |arguments: &[&str], words: &[&str]| {
        sprag(&sandbox, &[&["run", "--commit"], arguments].concat()).expect(2).says(words);
    };
    let add = |text: &str| sandbox.write("sprag.toml", &format!("{SUITE}{text}"));
    add("[suites.device]\nkind = \"gpu\"\n");
    check(&["v1", "--suite", "device"], &["is of the kind `gpu`, for which commits cannot be built", "hint: "]);
    sprag(&sandbox, &["run", "--commit", "v1", "--quick"]).expect(0).says(&["`device` is left out"]);
    add("[suites.ours]\nkind = \"cpu\"\n");
    check(&["v1", "--suite", "ours"], &["holds no sources of Sprag", "hint: name a suite of the kind `command`"]);
    sandbox.write("sprag.toml", &SUITE.replace("processes", "cwd = \"../out\"\nprocesses"));
    fs::create_dir_all(sandbox.project.join("../out")).expect("a folder");
    check(&["v1"], &["there is no folder"]);
    sandbox.write("sprag.toml", &SUITE.replace("processes", "cwd = \"/\"\nprocesses"));
    check(&["v1"], &["its `cwd` leads out of the project"]);

    let outside = Sandbox::empty();
    outside.write("sprag.toml", SUITE);
    outside.ends(2, &["run", "--commit", "v1"]).says(&["no git repository"]);
    let records = Sandbox::empty();
    records.git(&["init", "-q"]);
    records.commit_with("history/v1/x", "x", "sprag: a record");
    records.ends(2, &["run", "--suite", "cpu", "--commit", "HEAD"]).says(&["`HEAD` holds records alone"]);
}

#[test]
fn commits_of_bare_and_shallow_repositories_are_measured() {
    let sandbox = sandbox();
    let bare = &*sandbox.cloned(&["--bare"], "bare.git");
    sandbox.write("../bare.git/sprag.toml", SUITE);
    sprag(&sandbox, &["-C", bare, "run", "--commit", "v1", "--record"]).expect(0);
    let list = sandbox.git(&["-C", bare, "ls-tree", "-r", "--name-only", "main", "--", "history/v1"]);
    assert_eq!(list.lines().count(), 1, "{list}");

    let shallow = &*sandbox.cloned(&["--depth", "1"], "shallow");
    sprag(&sandbox, &["-C", shallow, "run", "--commit", "HEAD"]).expect(0);
    let first = sandbox.git(&["rev-parse", "v1"]);
    sprag(&sandbox, &["-C", shallow, "run", "--commit", &first])
        .expect(2)
        .says(&["this clone is shallow", "--unshallow"]);
}

#[test]
fn an_absent_checkout_is_reported() {
    let sandbox = sandbox();
    sandbox.write(".gitattributes", "*.bin filter=lfs -text\n");
    sandbox.git(&["add", "-A"]);
    let module = format!("160000,{},vendor/part", sandbox.git(&["rev-parse", "HEAD"]));
    sandbox.git(&["update-index", "--add", "--cacheinfo", &module]);
    sandbox.git(&["commit", "-q", "-m", "Both"]);
    let ended = sprag(&sandbox, &["run", "--commit", "HEAD", "--quick"]).expect(0);
    ended.says(&["1 submodule of", "not checked out: `vendor/part`", "behind `lfs` are as git stores them"]);
}

#[test]
fn a_checkout_never_lies_where_the_project_would_see_it() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.project.join("out/tmp")).expect("a folder");
    symlink(sandbox.project.join("out/tmp"), sandbox.project.join("../link")).expect("a link");
    for temporary in ["out/tmp", "../link"] {
        let ended = sandbox.sprag_with(&[("TMPDIR", &sandbox.place(temporary))], &["run", "--commit", "v1"]).expect(2);
        ended.says(&["is inside the project", "hint: set TMPDIR"]);
    }
}

#[test]
fn nothing_stays_of_a_sprag_that_is_killed_and_what_stayed_all_the_same_is_swept() {
    let sandbox = sandbox();
    let pids = sandbox.temporary().with_file_name("pids");
    let build = format!(
        "echo $$ > {0}.new; mkdir sealed; touch sealed/x; chmod 500 sealed; mv {0}.new {0}; sleep 1000",
        pids.display()
    );
    sandbox.write("sprag.toml", &SUITE.replace("cat rate > built", &build));
    let temporary = sandbox.temporary();
    let folder = temporary.to_str().expect("a path is text");
    let mut killed = sandbox.start_with(&[("TMPDIR", folder)], &["run", "--commit", "v1"]);
    wait_until("the build was not started", || pids.exists());
    assert_eq!(entries(&temporary).len(), 1);
    killed.kill().expect("our own child can be killed");
    killed.wait().expect("a killed child ends");
    wait_until("the checkout stayed", || entries(&temporary).is_empty());

    // As after a power failure: the next start sweeps what has no owner.
    let left = temporary.join("sprag-commit-0123456789");
    fs::create_dir_all(left.join("tree/sealed")).expect("a folder");
    fs::write(left.join("lock"), "").expect("a file");
    fs::set_permissions(left.join("tree/sealed"), fs::Permissions::from_mode(0o500)).expect("it is ours");
    sandbox.write("sprag.toml", SUITE);
    sprag(&sandbox, &["run", "--commit", "v1", "--quick"]).expect(0);
}
