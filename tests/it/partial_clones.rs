//! Where a partial clone lacks records, nothing is taken from fewer of them, and nothing is measured in vain.

use crate::command;
use crate::sandbox::Sandbox;

#[test]
fn a_partial_clone_is_refused_before_it_measures() {
    let sandbox = command::sandbox(&format!("{}mkdir -p out && touch out/ran\n", command::FINE), "");
    let first = sandbox.git(&["rev-parse", "HEAD"]);
    for _ in 0..3 {
        sandbox.ends(0, &["run", "--record"]);
    }
    sandbox.append("sprag.toml", "timeout_seconds = 60\n");
    sandbox.commit("Change the suite");
    sandbox.ends(0, &["run", "--output-run", "out/run.json"]);
    sandbox.ends(0, &["baseline", "emit", "--run", "out/run.json", "--output", "out/baseline.json"]);
    sandbox.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", sandbox.project.display());
    // The files of HEAD are here but for records.
    sandbox.git(&["clone", "-q", "--filter=blob:none", "--sparse", &url, "out/part"]);
    let fetch = ["fetch", "--refetch", "--no-filter"];
    let hint = format!("hint: run `git {}`", fetch.join(" "));
    let refused = |command: &[&str], words: &str| {
        sandbox.ends(2, &[&["-C", "out/part"], command].concat()).says(&[words, &hint]);
        assert!(!sandbox.project.join("out/part/out/ran").exists(), "{command:?}");
    };
    for command in [
        &["weekly"][..],
        &["check", "--measure"],
        &["check", "--measure", "--against", "history"],
        &["history", "log"],
        &["history", "log", "--branch", "main"],
        &["baseline", "emit", "--run", "../run.json", "--output", "../other.json"],
    ] {
        refused(command, "3 records are not here, as this is a partial clone");
    }
    refused(&["compare", &first, "HEAD", "--measure"], "are not all in this repository");
    assert!(!sandbox.project.join("out/other.json").exists());
    // A file is a base without any record.
    sandbox.ends(0, &["-C", "out/part", "check", "--measure", "--baseline", "../baseline.json"]);
    assert!(sandbox.project.join("out/part/out/ran").exists());
    sandbox.git(&[&["-C", "out/part"], &fetch[..]].concat());
    sandbox.ends(0, &["-C", "out/part", "history", "log"]);
    sandbox.ends(0, &["-C", "out/part", "weekly"]);
}

/// The demo.
pub(crate) fn are_not_analysed(sandbox: &Sandbox) {
    sandbox.git(&["-C", "shop", "config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", sandbox.project.join("shop").display());
    sandbox.git(&["clone", "-q", "--no-checkout", "--filter=blob:none", &url, "part"]);
    for command in [
        &["trend"][..],
        &["site", "--out", "../none"],
        &["export", "series", "--out", "../none"],
        &["export", "csv", "--out", "../none"],
        &["history", "cache"],
        &["import", "../later.csv"],
        &["bisect", "--suite", "cpu", "HEAD~99", "HEAD"],
        &["backfill", "--suite", "cpu", "HEAD~3..HEAD"],
        &["compare", "HEAD~1", "HEAD"],
    ] {
        sandbox.ends(2, &[&["-C", "part"][..], command].concat()).says(&["partial clone", "--refetch --no-filter`"]);
    }
    assert!(!sandbox.project.join("none").exists());
    // Nor with the runs alone: an event that is recorded would get another id.
    sandbox.git(&["-C", "shop", "config", "uploadpack.allowAnySHA1InWant", "true"]);
    let fetch = "cd part && git ls-tree -r HEAD | grep -v _events | cut -c13-52 | sort -u | git -c \
                 fetch.negotiationAlgorithm=noop fetch -q origin --no-tags --filter=blob:none --stdin";
    assert_eq!(sandbox.step(&[], fetch).code, 0);
    sandbox.ends(0, &["-C", "part", "history", "cache"]);
    sandbox.ends(2, &["-C", "part", "trend", "--record"]).says(&["records are not here, as this is a partial clone"]);
}
