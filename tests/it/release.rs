//! `sprag release`: the checklist, the attestation, and everything that blocks a release.

use std::process::Command;

use sprag_base::digest::sha256_hex as sha256;

use crate::released::{Project, forge, waiver};
use crate::sandbox::{Sandbox, assert_contains, files};
use crate::schemas::follows;

#[test]
fn a_release_that_may_go_is_attested_and_verified() {
    let project = Project::new();
    project.checklist(0, &["--out", "out/filled"]).prints(&[
        "v2: go (1 not applicable, 6 pass, 1 waived)",
        "coverage: Ada waives it",
        "replay",
        "for tensorrt only",
    ]);
    assert_contains(
        &project.read("out/filled/CHECKLIST.md"),
        &["# Release checklist: v2", "**GO**", "| Release owner | Ada | 2026-02-01 |", "1. install the release before"],
    );
    follows("release-checklist-1", &project.read("out/filled/checklist.json"));

    project.attest(&[]);
    project.verify(0, &[]).prints(&["v2: go", "signature: none"]);
    let statement = follows("release-statement-1", &project.read("evidence/statement.json"));
    assert_eq!(statement["subject"][0]["digest"]["gitCommit"], project.git(&["rev-parse", "v2"]));
    let predicate = &statement["predicate"];
    assert_eq!((&predicate["result"], &predicate["failedTests"]), (&"WARNED".into(), &serde_json::json!([])));
    assert_eq!(predicate["warnedTests"], serde_json::json!(["coverage"]));
    let sums = project.read("evidence/SHA256SUMS");
    for (path, bytes) in files(&project.evidence("")) {
        let is_listed = sums.contains(&format!("{}  {path}\n", sha256(&bytes)));
        assert_eq!(is_listed, !["SHA256SUMS", "statement.json"].contains(&path.as_str()), "{path}");
    }
    assert_eq!(sums.lines().filter(|line| line.contains("  history/v1/cpu/")).count(), 16);
    let root = predicate["configuration"][3]["annotations"]["merkleRoot"].as_str().expect("a root");
    project.ends(0, &["history", "root"]).prints(&[root]);
    assert_contains(&project.read("evidence/VERIFY.md"), &[root]);
    let mut checked = Command::new("sha256sum");
    checked.args(["-c", "--strict", "--quiet", "SHA256SUMS"]).current_dir(project.evidence(""));
    if let Ok(checked) = checked.output() {
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }

    // A clone verifies it, also after the history went on.
    let clone = Sandbox::empty();
    let from = project.project.to_string_lossy().into_owned();
    clone.git(&["clone", "-q", &from, "."]);
    clone.ends(0, &["release", "verify", &format!("{from}/evidence")]);
    let later = project.copied();
    later.change(30, &[("pack", 1e-3), ("scan", 2e-3)]);
    later.verify(0, &[]);
    project.ends(2, &["release", "attest", "v2", "--out", "evidence"]).says(&["is not empty"]);
}

#[test]
fn what_blocks_is_named_with_its_exit_code() {
    let good = Project::new();
    let [first, second] = ["v1", "v2"].map(|tag| good.git(&["rev-parse", tag]));
    let check = |spoil: &dyn Fn(&Project), code: i32, words: &[&str]| {
        let project = good.copied();
        spoil(&project);
        let printed = project.checklist(code, &[]).both();
        assert_contains(&printed, words);
        assert!(!printed.contains("v2: go ("), "{printed}");
    };
    // Artifacts that are missing, and files to replace.
    let absent = ["`out/caps.json` (caps) is not there", "--artifact caps=PATH"];
    check(&|p| p.remove("out/caps.json"), 1, &absent);
    check(&|p| p.remove("out/notes.md"), 1, &["`out/notes.md` (notes) is not there", "make it with `make notes`"]);
    check(&|p| p.remove("out/replay.json"), 1, &["`out/replay.json` (replay) is not there"]);
    let expired = waiver(&second, "2026-01-31");
    for (path, text, code, words) in [
        ("out/notes.md", "", 1, "`out/notes.md` (notes) is empty"),
        ("out/caps.json", "# Notes\n", 4, "`out/caps.json` (caps) is not the file that the checklist names…digest"),
        (
            "out/replay.json",
            "{}",
            4,
            "it cannot be read: `out/replay.json` is no manifest: missing field `seed`…nothing waives this",
        ),
        ("out/replay.json", "", 4, "`out/replay.json` (replay) is empty…nothing waives"),
        ("out/replay.json/x", "", 4, "`out/replay.json` (replay) cannot be read: it is a folder…nothing waives this"),
        ("ledger/v2.toml", &expired, 1, "coverage: Ada no longer waives it…series"),
    ] {
        let write = |p: &Project| {
            if path.ends_with("/x") {
                p.remove("out/replay.json");
            }
            p.write(path, text);
        };
        check(&write, code, &words.split('…').collect::<Vec<_>>());
    }
    let both = waiver(&second, "9999-12-31") + &waiver(&second, "9999-12-31").replace("\"coverage\"", "\"notes\"");
    let waive_damage = |p: &Project| {
        p.edit("out/caps.json", "false", "true");
        p.write("ledger/v2.toml", &both);
    };
    check(&waive_damage, 4, &["fail            notes", "nothing waives this"]);

    // Faults of the files; the unit tests of the crate `evidence` have more of them.
    let (list, releases) = ("release/checklist.toml", "release/releases.toml");
    let point = |commit: &str| {
        let root = "0".repeat(64);
        format!("\nhistory = {{ commit = \"{commit}\", size = 3, root = \"{root}\" }}\nprevious")
    };
    let elsewhere = good.git(&["commit-tree", "HEAD^{tree}", "-m", "Elsewhere"]);
    for (path, from, to, code, words) in [
        ("out/replay.json", "\"seed\": 11", "\"seed\": 12", 4, "it does not hold"),
        (
            list, "producer = \"make notes\"", "producer = \"x\"\nstatus = \"pass\"", 2,
            "`status`…release/checklist.toml",
        ),
        (list, "rule = \"parity\"\n", "", 2, "`runtime_backend_parity` has no `rule`…release/checklist.toml"),
        (list, "\"parity\"", "\"trust\"", 2, "rule `trust`, which there is not…release/checklist.toml"),
        (releases, "previous", "verdict", 2, "unknown field `verdict`…release/releases.toml"),
        ("ledger/v2.toml", "reason", "verdict", 2, "ledger/v2.toml:4"),
        (releases, "name = \"v2\"", "name = \"v3\"", 2, "no release `v2`…did you mean"),
        (
            releases,
            "role = \"Release owner\"",
            "role = \"Release ower\"",
            2,
            "as `Release ower`, a role that…did you mean `Release owner`",
        ),
        (releases, "2026-02-01", "2026-02-30", 2, "release/releases.toml:9: `v2` is signed by `Ada` on `2026-02-30`"),
        (
            releases,
            &format!("commit = \"{second}\"\n"),
            "",
            2,
            "the tag `v2` exists, and `release/releases.toml` names no commit",
        ),
        (releases, "\nprevious", &point(&first), 4, "the history was rewritten since the release `v2`…Merkle root"),
        (releases, "\nprevious", &point(&elsewhere), 4, "the history was rewritten since the release `v2`…come after"),
    ] {
        check(&|p| p.edit(path, from, to), code, &words.split('…').collect::<Vec<_>>());
    }
    let of_first = good.ends(1, &["release", "checklist", "v1"]);
    of_first.prints(&["first release may lack runs: `sprag release waive --release v1 --item coverage --reason"]);
    good.checklist(2, &["--artifact", "note=x"]).says(&["no item of the checklist needs", "did you mean `notes`"]);
    check(&|p| drop(p.git(&["tag", "-f", "v2", &first])), 4, &["the tag `v2` moved", &second]);
    check(&|p| drop(p.git(&["tag", "-f", "v1", &second])), 4, &["the tag `v1` moved"]);
    check(&|p| drop(p.git(&["tag", "-d", "v2"])), 4, &["the tag `v2` is gone", &second]);

    // A release that got slower, and one that nobody measured.
    let release_next = |p: &Project, sessions: i64| {
        p.change_code(3);
        for day in 20..20 + sessions {
            p.record(&p.run(day, &[("pack", 1.5e-3), ("scan", 2e-3)]));
        }
        let sha = p.measured_commit().sha;
        p.git(&["tag", "-f", "v2", &sha]);
        p.edit(releases, &second, &sha);
    };
    let slower = ["1 regressed", "cpu/pack @fast", "sprag trend --suite cpu"];
    check(&|p| release_next(p, 5), 1, &slower);
    let unmeasured = ["cpu has no whole run at this commit", "sprag run --suite cpu --record"];
    check(&|p| release_next(p, 0), 1, &unmeasured);
}

#[test]
fn waivers_of_what_does_not_exist_have_no_effect() {
    let project = Project::new();
    let entry = waiver(&project.git(&["rev-parse", "v2"]), "9999-12-31");
    for (from, to, words) in [
        ("\"coverage\"", "\"covrage\"", "`release/checklist.toml` has no item `covrage`"),
        ("\"coverage\"", "\"notes\"\ntarget = \"cuda\"", "`v2` does not need `notes` for `cuda`"),
        ("\"coverage\"", "\"engine\"\ntarget = \"tensorrt\"", "`v2` does not need `engine` for `tensorrt`"),
        ("\"v2\"", "\"v20\"", "`release/releases.toml` names no release `v20`"),
    ] {
        project.write("ledger/more.toml", &entry.replace(from, to));
        project.checklist(0, &[]).says(&[&format!("ledger/more.toml:1 has no effect: {words}")]);
    }
}

#[test]
fn the_list_of_releases_decides_the_targets_of_each() {
    let project = Project::new();
    project.checklist(0, &[]).prints(&["), for cpu\n", "for tensorrt only"]);
    let list = "release/releases.toml";
    let stated = |targets: &str| project.altered(list, "previous", &format!("targets = [{targets}]\nprevious"));
    let both = stated("\"tensorrt\", \"cpu\"");
    for (targets, words) in [
        (
            "\"tensort\"",
            "release/releases.toml:8: `v2` is for `tensort`, which is not a target; did you mean `tensorrt`?",
        ),
        ("\"cpu\", \"cpu\"", "`v2` names the target `cpu` twice"),
        ("", "`v2` is for no target"),
    ] {
        project.write(list, &stated(targets));
        project.checklist(2, &[]).says(&[words]);
        project.git(&["checkout", "-q", list]);
    }

    project.commit_with(list, &both, "Say what it is for");
    project.checklist(1, &[]).prints(&["), for cpu, tensorrt\n", "`out/engine.bin` (engine) is not there"]);
    project.checklist(2, &["--runtime-target", "cpu"]);
    project.ends(0, &["site"]);
    let page = project.read("_site/release/v2.html");
    assert_contains(&page, &["no-go", "for cpu, tensorrt"]);
    assert_contains(&project.read("_site/releases/index.html"), &["cpu, tensorrt"]);

    // A waiver is for one target.
    let waive = |target: &str| {
        let words = ["release", "waive", "--release", "v2", "--item", "engine", "--reason", "x", "--target", target];
        project.sprag(&words)
    };
    waive("triton").expect(2).says(&["`v2` does not need `engine` for `triton`", "there are: tensorrt"]);
    waive("tensorrt").expect(0);
    project.checklist(0, &[]);
    project.remove("ledger/v2-engine-tensorrt.toml");

    project.write("out/engine.bin", "engine");
    project.attest(&[]);
    project.verify(0, &[]);
    assert_eq!(project.evidence_json("checklist.json")["targets"], serde_json::json!(["cpu", "tensorrt"]));
    project
        .ends(2, &["release", "attest", "v2", "--format", "apex-x", "--out", "evidence-2"])
        .says(&["for one target, and not for cpu and tensorrt"]);
    let less = project.altered("evidence/checklist.json", "\"cpu\",\n    \"tensorrt\"\n", "\"cpu\"\n");
    project.write("evidence/checklist.json", &less);
    forge(&project.evidence(""));
    let printed = project.verify(4, &[]).out;
    assert_contains(
        &printed,
        &["fails: checklist.json at byte", "is for cpu, and `release/releases.toml` says cpu, tensorrt"],
    );
}
