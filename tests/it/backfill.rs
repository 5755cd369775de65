//! Commits of the past are measured into the history, coarse to fine, once each.

use crate::commits::{self, SUITE};
use crate::sandbox::{Ended, Sandbox};

/// Nine commits, tagged `c0` to `c8`; from `c6` on the benchmark takes twice as long. `c4` is a release.
pub(crate) fn sandbox() -> Sandbox {
    let sandbox = commits::sandbox();
    sandbox.write("sprag.toml", &SUITE.replace("cat rate", "test ! -e broken && cat rate"));
    for number in 0..9 {
        sandbox.write("speed", if number < 6 { "1e-3" } else { "2e-3" });
        sandbox.commit_with("number", &number.to_string(), &format!("Make c{number}"));
        sandbox.git(&["branch", &format!("c{number}")]);
    }
    sandbox.git(&["tag", "v9", "c4"]);
    sandbox
}

fn backfill(sandbox: &Sandbox, arguments: &[&str], code: i32) -> Ended {
    sandbox.ends(code, &[&["backfill"], arguments].concat())
}

/// The numbers of the recorded commits, in the order in which they were recorded.
fn recorded(sandbox: &Sandbox) -> String {
    let subjects = |commit: &str| sandbox.git(&["log", "-1", "--format=%s", commit]);
    let log = sandbox.git(&["log", "--reverse", "--format=%s", "main"]);
    let records = log.lines().filter_map(|line| line.strip_prefix("sprag: theirs ")?.rsplit(' ').next());
    records.map(|commit| subjects(commit).replace("Make c", "")).collect()
}

#[test]
fn ends_and_steps_come_first_and_then_what_differs() {
    let sandbox = sandbox();
    let planned = backfill(&sandbox, &["c0..c8", "--every", "4", "--dry-run"], 0);
    planned.prints(&[
        "Make c8",
        "Make c0",
        "Make c4",
        "6 commits more, only where neighbours differ",
        "skipped: 0 with a run",
    ]);
    assert_eq!(recorded(&sandbox), "");
    let ended = backfill(&sandbox, &["c0..c8", "--every", "4"], 0);
    ended.prints(&["measured 5 commits", "0 failed", "skipped: 0 with a run"]).says(&["[1 of 3] ", "Make c8"]);
    assert_eq!(recorded(&sandbox), "80465");
    backfill(&sandbox, &["c0..c8", "--dry-run"], 0).prints(&["for 4 commits, judging by earlier builds"]);
    // Started again it has nothing to do; another step goes on from what is recorded.
    backfill(&sandbox, &["c0..c8", "--every", "4"], 0).prints(&["measured 0 commits", "skipped: 5 with a run"]);
    backfill(&sandbox, &["c0..c8"], 0).prints(&["measured 4 commits"]);
    assert_eq!(recorded(&sandbox), "804652731");
}

#[test]
fn what_is_measured_late_is_not_the_newest() {
    let sandbox = sandbox();
    let measure = |commit: &str| drop(sandbox.ends(0, &["run", "--record", "--commit", commit]));
    let check = |code: i32, words: &[&str]| {
        let head = &sandbox.git(&["rev-parse", "c8"])[..12];
        sandbox.ends(code, &["check"]).prints(&[&[head], words].concat());
    };
    measure("c7");
    // Twice as fast, and measured after the commit before HEAD.
    backfill(&sandbox, &["c1..c1"], 0);
    measure("c8");
    check(0, &["theirs/sort", "unchanged"]);
    // HEAD is older than its base.
    let sandbox = self::sandbox();
    let measure = |commit: &str| drop(sandbox.ends(0, &["run", "--record", "--commit", commit]));
    measure("c8");
    backfill(&sandbox, &["c5..c5"], 0);
    let ended = sandbox.ends(1, &["check"]);
    ended.prints(&[&sandbox.git(&["rev-parse", "c8"])[..12], "theirs/sort", "+100", "regressed"]);
}

#[test]
fn releases_and_shards_divide_a_range() {
    let sandbox = sandbox();
    backfill(&sandbox, &["v3..HEAD", "--releases", "--suite", "theirs"], 0).prints(&["measured 2 commits"]);
    let both = ["1/2", "2/2"].map(|shard| {
        let ended = backfill(&sandbox, &["c0..c8", "--shard", shard, "--dry-run", "--every", "1"], 0);
        ended.out.lines().filter(|line| line.contains("Make c")).count()
    });
    assert_eq!(both[0] + both[1], 8, "{both:?}");
}

#[test]
fn a_spent_budget_stops_and_what_failed_is_not_retried() {
    let sandbox = sandbox();
    sandbox.commit_with("broken", "", "Break the build");
    sandbox.git(&["branch", "broken"]);
    sandbox.git(&["rm", "-q", "broken"]);
    sandbox.commit("Mend it");
    let range = ["c8..HEAD", "--quick"];
    let ended = backfill(&sandbox, &[&range[..], &["--budget", "1s", "--dry-run"]].concat(), 0);
    ended.prints(&["Mend it", "Make c8", "Break the build", "gaps whose ends differ come earlier"]);
    backfill(&sandbox, &range, 0)
        .prints(&["measured 2 commits", "1 failed to build or to run (", "0 that failed before"])
        .says(&["cannot build ", "(Break the build)"]);
    backfill(&sandbox, &range, 0).prints(&["measured 0 commits", "skipped: 2 with a run, 1 that failed before"]);
    // Nor does another machine try it, as the history says so; the newest run is still that of the newest commit.
    sandbox.ends(0, &["history", "log"]).prints(&["failed"]);
    let elsewhere = [("SPRAG_MACHINE", "other"), ("XDG_CACHE_HOME", "/dev/null/none")];
    let ended = sandbox.sprag_with(&elsewhere, &[&["backfill"], &range[..]].concat()).expect(0);
    ended.prints(&["measured 2 commits", "0 failed", "skipped: 0 with a run, 1 that failed before"]);
    backfill(&sandbox, &["broken..broken", "--retry"], 5).says(&["cannot build "]);
    sandbox.ends(0, &["cache"]).prints(&["Break the build", "failed to build"]);
}

#[test]
fn the_budget_ends_a_command_that_hangs_and_blames_no_commit() {
    let sandbox = sandbox();
    let hangs = |when: &str| {
        let command = format!("{when} && sleep 1000; test ! -e broken && cat rate");
        sandbox.write("sprag.toml", &SUITE.replace("cat rate", &command));
    };
    hangs("grep -q 8 number");
    backfill(&sandbox, &["c7..c8", "--budget", "2s"], 5).says(&["the budget ended while"]).prints(&[
        "measured 0 commits",
        "0 failed",
        "the budget is spent with 2 commits unmeasured; a commit takes longer: raise `--budget`",
    ]);
    assert_eq!(recorded(&sandbox), "");
    hangs("false");
    backfill(&sandbox, &["c7..c8", "--budget", "10m"], 0).prints(&["measured 2 commits", "0 that failed before"]);
}

#[test]
fn nothing_is_around_no_event_and_a_shallow_clone_is_refused() {
    let sandbox = sandbox();
    backfill(&sandbox, &["--around", "worst"], 0).says(&["no open regression has several suspects"]);
    let shallow = &*sandbox.cloned(&["--depth", "2"], "shallow");
    sandbox.git(&["-C", shallow, "fetch", "-q", "--depth", "1", "origin", "c1:c1"]);
    sandbox.ends(2, &["-C", shallow, "backfill", "c1..main"]).says(&["shallow", "--unshallow"]);
}
