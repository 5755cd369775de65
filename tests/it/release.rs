//! `sprag release`: what a release rests on is derived and attested, and each thing that blocks it is named.

use std::fs;
use std::process::Command;

use sprag_base::digest::sha256_hex as sha256;

use crate::released::{Project, forge, waiver};
use crate::sandbox::{Sandbox, files};
use crate::schemas::follows;

#[test]
fn a_release_that_may_go_is_attested_and_verified() {
    let project = Project::new();
    let printed = project.checklist(0, &["--out", "out/filled"]).out;
    for words in
        ["v2: go (1 not applicable, 6 pass, 1 waived)", "coverage: Ada waives it", "replay", "for tensorrt only"]
    {
        assert!(printed.contains(words), "`{words}` is not in:\n{printed}");
    }
    let page = project.sandbox().read("out/filled/CHECKLIST.md");
    for words in
        ["# Release checklist: v2", "**GO**", "| Release owner | Ada | 2026-02-01 |", "1. install the release before"]
    {
        assert!(page.contains(words), "`{words}` is not in:\n{page}");
    }
    follows("release-checklist-1", &project.sandbox().read("out/filled/checklist.json"));

    project.attest(&[]);
    let printed = project.verify(0, &[]).out;
    assert!(printed.contains("v2: go") && printed.contains("signature: none"), "{printed}");
    let statement = project.json("statement.json");
    follows("release-statement-1", &statement.to_string());
    let commit = project.sandbox().git(&["rev-parse", "v2"]);
    assert_eq!(statement["subject"][0]["digest"]["gitCommit"], commit);
    assert_eq!(statement["predicate"]["result"], "WARNED");
    assert_eq!(statement["predicate"]["warnedTests"], serde_json::json!(["coverage"]));
    assert_eq!(statement["predicate"]["failedTests"], serde_json::json!([]));
    let sums = project.sandbox().read("evidence/SHA256SUMS");
    for (path, bytes) in files(&project.evidence("")) {
        let is_listed = sums.contains(&format!("{}  {path}\n", sha256(&bytes)));
        assert_eq!(is_listed, !["SHA256SUMS", "statement.json"].contains(&path.as_str()), "{path}");
    }
    assert_eq!(sums.lines().filter(|line| line.contains("  history/v1/cpu/")).count(), 16);
    let root = project.sandbox().sprag(&["history", "root"]).expect(0).out;
    let named = statement["predicate"]["configuration"][3]["annotations"]["merkleRoot"].as_str().expect("a root");
    assert!(root.contains(named) && project.sandbox().read("evidence/VERIFY.md").contains(named), "{root}");
    if let Ok(checked) = Command::new("sha256sum")
        .args(["-c", "--strict", "--quiet", "SHA256SUMS"])
        .current_dir(project.evidence(""))
        .output()
    {
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }

    // Elsewhere, with a clone and nothing else, and after the history went on.
    let clone = Sandbox::empty();
    let from = project.sandbox().project.to_string_lossy().into_owned();
    clone.git(&["clone", "-q", &from, "."]);
    clone.sprag(&["release", "verify", &format!("{from}/evidence")]).expect(0);
    let later = project.copied();
    later.0.change(30, &[("pack", 1e-3), ("scan", 2e-3)]);
    later.verify(0, &[]);
    // Evidence is never overwritten.
    project.sandbox().sprag(&["release", "attest", "v2", "--out", "evidence"]).expect(2).says(&["is not empty"]);
}

#[test]
fn what_blocks_is_named_with_its_exit_code() {
    let good = Project::new();
    let check = |spoil: &dyn Fn(&Project), code: i32, words: &[&str]| {
        let project = good.copied();
        spoil(&project);
        let ended = project.checklist(code, &[]);
        let printed = ended.out + &ended.err;
        for word in words {
            assert!(printed.contains(word), "`{word}` is not in:\n{printed}");
        }
        assert!(!printed.contains("v2: go ("), "{printed}");
    };
    let remove = |project: &Project, path: &str| fs::remove_file(project.sandbox().project.join(path)).expect("a file");
    let alter = |project: &Project, path: &str, from: &str, to: &str| {
        project.sandbox().write(path, &project.0.altered(path, from, to));
    };
    // Artifacts that are missing, renamed, cut short, or another than they should be.
    check(&|p| remove(p, "out/notes.md"), 1, &["`out/notes.md` (notes) is not there", "make it with `make notes`"]);
    check(
        &|p| {
            let at = |name: &str| p.sandbox().project.join("out").join(name);
            fs::rename(at("caps.json"), at("caps2.json")).expect("a file");
        },
        1,
        &["`out/caps.json` (caps) is not there", "--artifact caps=PATH"],
    );
    check(&|p| p.sandbox().write("out/notes.md", ""), 1, &["`out/notes.md` (notes) is empty"]);
    check(
        &|p| alter(p, "out/caps.json", "false", "fals"),
        4,
        &["is not the file that the checklist names by its digest"],
    );
    check(
        &|p| {
            let (one, other) = (p.sandbox().read("out/notes.md"), p.sandbox().read("out/caps.json"));
            p.sandbox().write("out/caps.json", &one);
            p.sandbox().write("out/notes.md", &other);
        },
        4,
        &["`out/caps.json` (caps) is not the file"],
    );
    check(&|p| alter(p, "out/replay.json", "\"seed\": 11", "\"seed\": 12"), 4, &["it does not hold"]);
    check(
        &|p| p.sandbox().write("out/replay.json", "{}"),
        4,
        &["it cannot be read: `out/replay.json` is no manifest: missing field `seed`", "nothing waives this"],
    );
    check(&|p| p.sandbox().write("out/replay.json", ""), 4, &["`out/replay.json` (replay) is empty", "nothing waives"]);
    check(
        &|p| {
            remove(p, "out/replay.json");
            fs::create_dir(p.sandbox().project.join("out/replay.json")).expect("a folder");
        },
        4,
        &["`out/replay.json` (replay) is no file", "nothing waives this"],
    );
    check(&|p| remove(p, "out/replay.json"), 1, &["`out/replay.json` (replay) is not there"]);
    // Waivers that are over, and the damage that none hides.
    let second = good.0.sandbox.git(&["rev-parse", "v2"]);
    let expired = waiver(&second, "2026-01-31");
    check(&|p| p.sandbox().write("ledger/v2.toml", &expired), 1, &["coverage: Ada no longer waives it", "series"]);
    check(
        &|p| {
            alter(p, "out/caps.json", "false", "true");
            let both =
                waiver(&second, "9999-12-31") + &waiver(&second, "9999-12-31").replace("\"coverage\"", "\"notes\"");
            p.sandbox().write("ledger/v2.toml", &both);
        },
        4,
        &["fail            notes", "nothing waives this"],
    );
    // Waivers of what there is not.
    for (item, printed) in [
        ("\"covrage\"", "`release/checklist.toml` has no item `covrage`"),
        ("\"notes\"\ntarget = \"cuda\"", "`v2` does not need `notes` for `cuda`"),
        ("\"engine\"\ntarget = \"tensorrt\"", "`v2` does not need `engine` for `tensorrt`"),
    ] {
        let project = good.copied();
        let more = waiver(&second, "9999-12-31").replace("\"coverage\"", item);
        project.sandbox().write("ledger/more.toml", &more);
        let ended = project.checklist(0, &[]);
        assert!(ended.err.contains(&format!("ledger/more.toml:1 has no effect: {printed}")), "{}", ended.err);
    }
    let project = good.copied();
    project.sandbox().write("ledger/more.toml", &waiver(&second, "9999-12-31").replace("\"v2\"", "\"v20\""));
    project
        .checklist(0, &[])
        .says(&["ledger/more.toml:1 has no effect: `release/releases.toml` names no release `v20`"]);
    // What is written wrongly.
    let list = "release/checklist.toml";
    check(
        &|p| alter(p, list, "producer = \"make notes\"", "producer = \"x\"\nstatus = \"pass\""),
        2,
        &["`status`", list],
    );
    check(&|p| alter(p, list, "rule = \"parity\"\n", ""), 2, &["`runtime_backend_parity` has no `rule`", list]);
    check(&|p| alter(p, list, "\"parity\"", "\"trust\""), 2, &["rule `trust`, which there is not"]);
    check(&|p| alter(p, "release/releases.toml", "previous", "verdict"), 2, &["unknown field `verdict`"]);
    check(&|p| alter(p, "ledger/v2.toml", "reason", "verdict"), 2, &["ledger/v2.toml:4"]);
    check(
        &|p| alter(p, "release/releases.toml", "name = \"v2\"", "name = \"v3\""),
        2,
        &["no release `v2`", "did you mean"],
    );
    good.checklist(2, &["--artifact", "note=x"]).says(&["no item of the checklist needs", "did you mean `notes`"]);
    // Tags that moved, and histories that were written anew.
    let first = good.0.sandbox.git(&["rev-parse", "v1"]);
    check(&|p| drop(p.sandbox().git(&["tag", "-f", "v2", &first])), 4, &["the tag `v2` moved", &second]);
    check(&|p| drop(p.sandbox().git(&["tag", "-f", "v1", &second])), 4, &["the tag `v1` moved"]);
    check(&|p| drop(p.sandbox().git(&["tag", "-d", "v2"])), 4, &["the tag `v2` is gone", &second]);
    let role = "role = \"Release owner\", ";
    check(
        &|p| alter(p, "release/releases.toml", role, "role = \"Release ower\", "),
        2,
        &["as `Release ower`, a role that", "did you mean `Release owner`"],
    );
    check(
        &|p| alter(p, "release/releases.toml", "2026-02-01", "2026-02-30"),
        2,
        &["release/releases.toml:9: `v2` is signed by `Ada` on `2026-02-30`"],
    );
    check(
        &|p| alter(p, "release/releases.toml", &format!("commit = \"{second}\"\n"), ""),
        2,
        &["the tag `v2` exists, and `release/releases.toml` names no commit"],
    );
    check(
        &|p| {
            let root = "0".repeat(64);
            let point = format!("\nhistory = {{ commit = \"{first}\", size = 3, root = \"{root}\" }}\nprevious");
            alter(p, "release/releases.toml", "\nprevious", &point);
        },
        4,
        &["the history was rewritten since the release `v2`", "Merkle root"],
    );
    // A commit of nobody's line.
    check(
        &|p| {
            let lost = p.sandbox().git(&["commit-tree", "HEAD^{tree}", "-m", "Elsewhere"]);
            let root = "0".repeat(64);
            let point = format!("\nhistory = {{ commit = \"{lost}\", size = 3, root = \"{root}\" }}\nprevious");
            alter(p, "release/releases.toml", "\nprevious", &point);
        },
        4,
        &["the history was rewritten since the release `v2`", "come after"],
    );
    // What got slower, and what nobody measured.
    check(
        &|p| {
            p.sandbox().write("code.rs", "// 3");
            p.sandbox().commit("Get slower");
            for day in 20..=24 {
                p.0.record(&p.0.run(day, &[("pack", 1.5e-3), ("scan", 2e-3)]));
            }
            let sha = p.0.commit().sha;
            p.sandbox().git(&["tag", "-f", "v2", &sha]);
            alter(p, "release/releases.toml", &second, &sha);
        },
        1,
        &["1 regressed", "cpu/pack @fast", "sprag trend --suite cpu"],
    );
    check(
        &|p| {
            p.sandbox().write("code.rs", "// 3");
            p.sandbox().commit("Measure nothing");
            let sha = p.0.commit().sha;
            p.sandbox().git(&["tag", "-f", "v2", &sha]);
            alter(p, "release/releases.toml", &second, &sha);
        },
        1,
        &["cpu has no whole run at this commit", "sprag run --suite cpu --record"],
    );
}

#[test]
fn the_list_of_releases_decides_the_targets_of_each() {
    let project = Project::new();
    let sandbox = project.sandbox();
    let printed = project.checklist(0, &[]).out;
    assert!(printed.contains("), for cpu\n") && printed.contains("for tensorrt only"), "{printed}");
    let list = "release/releases.toml";
    let stated = |targets: &str| project.0.altered(list, "previous", &format!("targets = [{targets}]\nprevious"));
    let both = stated("\"tensorrt\", \"cpu\"");
    for (targets, words) in [
        ("\"tensort\"", "release/releases.toml:8: `v2` is for `tensort`, which is no target; did you mean `tensorrt`?"),
        ("\"cpu\", \"cpu\"", "`v2` names the target `cpu` twice"),
        ("", "`v2` is for no target"),
    ] {
        sandbox.write(list, &stated(targets));
        project.checklist(2, &[]).says(&[words]);
        sandbox.git(&["checkout", "-q", list]);
    }

    sandbox.write(list, &both);
    sandbox.commit("Say what it is for");
    let printed = project.checklist(1, &[]).out;
    assert!(
        printed.contains("), for cpu, tensorrt\n") && printed.contains("`out/engine.bin` (engine) is not there"),
        "{printed}"
    );
    // No option takes away what is stated.
    project.checklist(2, &["--runtime-target", "cpu"]);
    sandbox.sprag(&["site"]).expect(0);
    let page = sandbox.read("_site/release/v2.html");
    assert!(page.contains("no-go") && page.contains("for cpu, tensorrt"), "{page}");
    assert!(sandbox.read("_site/releases/index.html").contains("cpu, tensorrt"));

    // What it needs for a target is waived for that target, and for no other.
    let waive = |target: &str| {
        let words = ["release", "waive", "--release", "v2", "--item", "engine", "--reason", "x", "--target", target];
        sandbox.sprag(&words)
    };
    waive("triton").expect(2).says(&["`v2` does not need `engine` for `triton`", "there are: tensorrt"]);
    waive("tensorrt").expect(0);
    project.checklist(0, &[]);
    fs::remove_file(sandbox.project.join("ledger/v2-engine-tensorrt.toml")).expect("a file");

    sandbox.write("out/engine.bin", "engine");
    project.attest(&[]);
    project.verify(0, &[]);
    assert_eq!(project.json("checklist.json")["targets"], serde_json::json!(["cpu", "tensorrt"]));
    sandbox
        .sprag(&["release", "attest", "v2", "--format", "apex-x", "--out", "evidence-2"])
        .expect(2)
        .says(&["for one target, and not for cpu and tensorrt"]);
    // Evidence that leaves one out.
    let less = project.0.altered("evidence/checklist.json", "\"cpu\",\n    \"tensorrt\"\n", "\"cpu\"\n");
    sandbox.write("evidence/checklist.json", &less);
    forge(&project.evidence(""));
    let printed = project.verify(4, &[]).out;
    assert!(printed.contains("fails: checklist.json at byte"), "{printed}");
    assert!(printed.contains("is for cpu, and `release/releases.toml` says cpu, tensorrt"), "{printed}");
}
