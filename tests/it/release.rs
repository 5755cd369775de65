//! `sprag release`: what a release rests on is derived, attested and verified, and each thing that disagrees is named.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sprag::model::digest::sha256_hex as sha256;

use crate::crafted::Crafted;
use crate::sandbox::{Ended, Sandbox};
use crate::schemas::follows;

/// The example of RFC 8410, section 10.3: a key that everybody knows.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
    -----END PRIVATE KEY-----\n";

/// Its public half, section 10.1.
const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
    -----END PUBLIC KEY-----\n";

const CHECKLIST: &str = r#"schema_version = 1
[[item]]
id = "cpu_perf_regression"
title = "CPU kernels did not get slower"
rule = "suite_verdict"
suite = "cpu"
against = "previous"
producer = "sprag weekly"
[[item]]
id = "runtime_backend_parity"
title = "Results are right"
rule = "parity"
suite = "cpu"
producer = "sprag weekly"
[[item]]
id = "environment"
title = "What measured is known"
rule = "environment"
suite = "cpu"
facts = ["cpu_model"]
producer = "sprag weekly"
[[item]]
id = "events"
title = "No regression stands open"
rule = "events_resolved"
producer = "sprag trend"
[[item]]
id = "coverage"
title = "Everything is judged"
rule = "coverage"
producer = "sprag weekly"
[[item]]
id = "replay"
title = "The selection replays"
rule = "replay"
artifacts = [{ key = "replay", path = "out/replay.json" }]
producer = "sprag replay record"
[[item]]
id = "notes"
title = "The notes are there"
rule = "file"
artifacts = [
    { key = "notes", path = "out/notes.md" },
    { key = "caps", path = "out/caps.json", sha256 = "CAPS" },
]
producer = "make notes"
[[item]]
id = "engine"
title = "The engine is there"
targets = ["tensorrt"]
rule = "file"
artifacts = [{ key = "engine", path = "out/engine.bin" }]
producer = "make engine"
[rollback]
triggers = ["p95 above its limit"]
steps = ["install the release before"]
[[sign_off]]
role = "Release owner"
"#;

/// A project with a release that may go: `v2`, after `v1`; the rule that needs more history than that is waived.
struct Project(Crafted);

impl Project {
    fn new() -> Project {
        let crafted = Crafted::with_sessions(8);
        let Crafted { sandbox } = &crafted;
        let first = crafted.commit().sha;
        sandbox.git(&["tag", "v1", &first]);
        sandbox.write(".gitignore", "/_site\n/out\n/evidence*\n");
        sandbox.write("code.rs", "// 2");
        sandbox.commit("Change the code");
        for day in 9..=16 {
            let wobble = 1.0 + 0.001 * ((day % 3) - 1) as f64;
            crafted.record(&crafted.run(day, &[("pack", 1e-3 * wobble), ("scan", 2e-3 * wobble)]));
        }
        let second = crafted.commit().sha;
        sandbox.git(&["tag", "v2", &second]);
        let caps = "{\"cuda\": false}\n";
        sandbox.write("out/notes.md", "# Notes\n");
        sandbox.write("out/caps.json", caps);
        sandbox.write("out/replay.json", include_str!("../../fixtures/replay/small.json"));
        sandbox.write("release/checklist.toml", &CHECKLIST.replace("CAPS", &sha256(caps.as_bytes())));
        let releases = format!(
            "schema_version = 1\n[[release]]\nname = \"v1\"\ncommit = \"{first}\"\n[[release]]\nname = \"v2\"\n\
             commit = \"{second}\"\nprevious = \"v1\"\nsigned = [{{ role = \"Release owner\", owner = \"Ada\", date = \"2026-02-01\" }}]\n"
        );
        sandbox.write("release/releases.toml", &releases);
        sandbox.write("ledger/v2.toml", &waiver(&second, "9999-12-31"));
        sandbox.commit("Say what the release rests on");
        Project(crafted)
    }

    fn sandbox(&self) -> &Sandbox {
        &self.0.sandbox
    }

    /// The same, to be spoilt.
    fn copied(&self) -> Project {
        Project(Crafted { sandbox: self.sandbox().copied() })
    }

    #[track_caller]
    fn checklist(&self, code: i32, more: &[&str]) -> Ended {
        self.sandbox().sprag(&[&["release", "checklist", "v2"], more].concat()).expect(code)
    }

    #[track_caller]
    fn attest(&self, more: &[&str]) {
        self.sandbox().sprag(&[&["release", "attest", "v2", "--out", "evidence"], more].concat()).expect(0);
    }

    #[track_caller]
    fn verify(&self, code: i32, more: &[&str]) -> Ended {
        self.sandbox().sprag(&[&["release", "verify", "evidence"], more].concat()).expect(code)
    }

    fn evidence(&self, path: &str) -> PathBuf {
        self.sandbox().project.join("evidence").join(path)
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.sandbox().read(&format!("evidence/{path}"))).expect("JSON")
    }
}

fn waiver(commit: &str, expires: &str) -> String {
    format!(
        "[[waive]]\nrelease = \"v2\"\nitem = \"coverage\"\nreason = \"The project is young\"\nauthor = \"Ada\"\n\
         date = \"2026-01-01\"\ncommit = \"{commit}\"\nexpires = \"{expires}\"\n"
    )
}

/// All files below a folder, by path.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(below).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it lies below").to_string_lossy().replace('\\', "/");
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

/// Writes sums and statement anew, as somebody would who forges what they are about.
fn forge(folder: &Path) {
    let sums: String = files(folder)
        .iter()
        .filter(|(path, _)| !["SHA256SUMS", "statement.json", "statement.dsse.json"].contains(&path.as_str()))
        .map(|(path, bytes)| format!("{}  {path}\n", sha256(bytes)))
        .collect();
    let statement = folder.join("statement.json");
    let old = sha256(&fs::read(folder.join("SHA256SUMS")).expect("sums"));
    let text = fs::read_to_string(&statement).expect("a statement").replace(&old, &sha256(sums.as_bytes()));
    fs::write(statement, text).expect("a file");
    fs::write(folder.join("SHA256SUMS"), sums).expect("a file");
}

#[test]
fn a_release_that_may_go_is_attested_and_verified() {
    let project = Project::new();
    let told = project.checklist(0, &["--out", "out/filled"]).out;
    for words in
        ["v2: go (1 not applicable, 6 pass, 1 waived)", "coverage: Ada waives it", "replay", "for tensorrt only"]
    {
        assert!(told.contains(words), "`{words}` is not in:\n{told}");
    }
    let page = project.sandbox().read("out/filled/CHECKLIST.md");
    for words in
        ["# Release checklist: v2", "**GO**", "| Release owner | Ada | 2026-02-01 |", "1. install the release before"]
    {
        assert!(page.contains(words), "`{words}` is not in:\n{page}");
    }
    follows("release-checklist-1", &project.sandbox().read("out/filled/checklist.json"));

    project.attest(&[]);
    let told = project.verify(0, &[]).out;
    assert!(told.contains("v2: go") && told.contains("signature: none"), "{told}");
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
    project.sandbox().sprag(&["release", "attest", "v2", "--out", "evidence"]).expect(2).says(&["holds something"]);
}

#[test]
fn what_blocks_is_named_with_its_exit_code() {
    let good = Project::new();
    let check = |spoil: &dyn Fn(&Project), code: i32, words: &[&str]| {
        let project = good.copied();
        spoil(&project);
        let ended = project.checklist(code, &[]);
        let told = ended.out + &ended.err;
        for word in words {
            assert!(told.contains(word), "`{word}` is not in:\n{told}");
        }
        assert!(!told.contains("v2: go ("), "{told}");
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
    check(&|p| p.sandbox().write("out/replay.json", "{}"), 1, &["replay"]);
    // Waivers that are over, and the damage that none hides.
    let second = good.0.sandbox.git(&["rev-parse", "v2"]);
    let expired = waiver(&second, "2026-01-31");
    check(&|p| p.sandbox().write("ledger/v2.toml", &expired), 1, &["coverage: Ada does not waive any more", "series"]);
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
    check(
        &|p| alter(p, "release/releases.toml", &format!("commit = \"{second}\"\n"), ""),
        2,
        &["the tag `v2` is there, and `release/releases.toml` names no commit"],
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
        &["the history was rewritten since the release `v2`", "comes after"],
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
    let all = good.checklist(1, &["--runtime-target", "tensorrt"]);
    assert!(all.out.contains("`out/engine.bin` (engine) is not there"), "{}", all.out);
}

#[test]
fn evidence_that_disagrees_is_named_by_file_and_byte() {
    let good = Project::new();
    good.attest(&["--key", "../key.pem"].map(|word| {
        good.sandbox().write("../key.pem", KEY);
        word
    }));
    let check = |spoil: &dyn Fn(&Project), words: &[&str]| {
        let project = good.copied();
        spoil(&project);
        let ended = project.verify(4, &[]);
        let told = ended.out + &ended.err;
        for word in words {
            assert!(told.contains(word), "`{word}` is not in:\n{told}");
        }
    };
    let replace = |project: &Project, path: &str, from: &str, to: &str| {
        let path = format!("evidence/{path}");
        project.sandbox().write(&path, &project.0.altered(&path, from, to));
    };
    let rename = |p: &Project, from: &str, to: &str| fs::rename(p.evidence(from), p.evidence(to)).expect("a file");
    let record = files(&good.evidence("history")).into_keys().next().expect("a record");
    let record = format!("history/{record}");
    let notes = "artifacts/notes/notes.md";
    check(&|p| fs::remove_file(p.evidence(notes)).expect("a file"), &["fails: artifacts/notes/notes.md: is listed"]);
    check(&|p| rename(p, notes, "artifacts/notes/n.md"), &["fails: artifacts/notes/notes.md: was renamed"]);
    check(&|p| p.sandbox().write("evidence/more.txt", "x"), &["fails: more.txt: is there and not listed"]);
    check(
        &|p| {
            rename(p, notes, "x");
            rename(p, "artifacts/caps/caps.json", notes);
            rename(p, "x", "artifacts/caps/caps.json");
        },
        &["fails: artifacts/notes/notes.md: holds the content of artifacts/caps/caps.json"],
    );
    check(
        &|p| {
            let bytes = fs::read(p.evidence(&record)).expect("a record");
            fs::write(p.evidence(&record), &bytes[..100]).expect("a file");
        },
        &[&format!("fails: {record} at byte 100: is cut short")],
    );
    check(&|p| replace(p, "ledger/v2.toml", "9999", "9998"), &["fails: ledger/v2.toml at byte"]);
    check(&|p| replace(p, "release/checklist.toml", "parity", "parits"), &["fails: release/checklist.toml at byte"]);
    check(&|p| replace(p, "CHECKLIST.md", "**GO**", "**go**"), &["fails: CHECKLIST.md at byte"]);
    check(
        &|p| replace(p, "SHA256SUMS", "  CHECKLIST.md", "  ../LIST.md"),
        &["fails: SHA256SUMS at byte", "no plain path"],
    );
    let digest = sha256(good.sandbox().read("evidence/CHECKLIST.md").as_bytes());
    check(&|p| replace(p, "SHA256SUMS", &digest, &digest[..40]), &["fails: SHA256SUMS", "as of SHA-1"]);
    check(&|p| fs::remove_file(p.evidence("SHA256SUMS")).expect("a file"), &["fails: SHA256SUMS: is not there"]);
    // The statement of another release, and one with digests that do not count.
    let (first, second) = (good.0.sandbox.git(&["rev-parse", "v1"]), good.0.sandbox.git(&["rev-parse", "v2"]));
    check(
        &|p| replace(p, "statement.json", &second, &first),
        &["fails: statement.json at byte", "is about the commit"],
    );
    check(&|p| replace(p, "statement.json", "\"sha256\"", "\"sha512\""), &["fails: statement.json", "by sha512"]);
    check(
        &|p| replace(p, "statement.json", "\"subject\"", "\"verdict\": 1,\n  \"subject\""),
        &["unknown field `verdict`"],
    );
    check(&|p| replace(p, "statement.dsse.json", "ed25519:19", "ed25519:18"), &["fails: statement.dsse.json"]);
    // What was forged as a whole.
    let forged = |path: &'static str, from: &'static str, to: &'static str| {
        move |p: &Project| {
            replace(p, path, from, to);
            forge(&p.evidence(""));
        }
    };
    check(
        &forged("checklist.json", "\"waived\"", "\"pass\""),
        &["fails: checklist.json at byte", "`coverage` is recorded as pass"],
    );
    check(&forged("checklist.json", "\"go\": true", "\"go\": false"), &["fails: checklist.json at byte"]);
    check(
        &forged("ledger/v2.toml", "9999-12-31", "2026-01-31"),
        &["`coverage` is recorded as waived", "the records say"],
    );
    check(&forged("artifacts/caps/caps.json", "false", "true"), &["`notes` is recorded as pass"]);
    check(&forged("checklist.json", "\"schema_version\": 1", "\"schema_version\":  1"), &["fails: checklist.json"]);
    check(
        &|p| {
            let bytes = fs::read_to_string(p.evidence(&record)).expect("a record");
            fs::write(p.evidence(&record), bytes.replacen("sandbox", "sandbot", 1)).expect("a file");
            forge(&p.evidence(""));
        },
        &[&format!("fails: {record} at byte"), "is not the record of the history"],
    );
    check(
        &|p| {
            fs::remove_file(p.evidence(&record)).expect("a record");
            forge(&p.evidence(""));
        },
        &["is a record of the history and not here"],
    );
    // Tags and branches that are others now.
    check(&|p| drop(p.sandbox().git(&["tag", "-f", "v2", &first])), &["the tag `v2` moved"]);
    check(&|p| drop(p.sandbox().git(&["tag", "-d", "v2"])), &["the tag `v2`, which this evidence is about"]);
    check(
        &|p| {
            p.sandbox().git(&["reset", "-q", "--hard", &second]);
            p.sandbox().commit("Begin the history anew");
        },
        &["the history was rewritten since the release `v2`"],
    );
}

#[test]
fn signatures_count_where_their_key_does() {
    let project = Project::new();
    let sandbox = project.sandbox();
    sandbox.write("../key.pem", KEY);
    sandbox.write("../public.pem", PUBLIC_KEY);
    sandbox.write("../other.pem", &PUBLIC_KEY.replace("Gb9", "Gc9"));
    project.attest(&["--key", "../key.pem"]);
    let told = project.verify(0, &[]).out;
    assert!(told.contains("for which nothing here vouches"), "{told}");
    let told = project.verify(0, &["--public-key", "../public.pem"]).out;
    assert!(told.contains("signature: by the key that was given"), "{told}");
    let other = sandbox.sprag(&["release", "verify", "evidence", "--public-key", "../other.pem"]);
    assert!([2, 4].contains(&other.code), "{}{}", other.out, other.err);
    fs::remove_file(project.evidence("statement.dsse.json")).expect("a file");
    let told = project.verify(4, &["--public-key", "../public.pem"]).out;
    assert!(told.contains("statement.dsse.json: is not there, and a signature was asked for"), "{told}");
    project.verify(0, &[]);
}

#[test]
fn keys_of_ssh_sign_too() {
    let project = Project::new();
    let sandbox = project.sandbox();
    let place = |name: &str| sandbox.project.join("..").join(name).to_string_lossy().into_owned();
    let made =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "x", "-f", &place("id")]).output();
    if !made.is_ok_and(|made| made.status.success()) {
        eprintln!("skipped: there is no ssh-keygen that makes a key");
        return;
    }
    let public = fs::read_to_string(place("id.pub")).expect("a key");
    sandbox.write("../signers", &format!("ada@example.org namespaces=\"sprag-release\" {public}"));
    sandbox.write("../strangers", &format!("ada@example.org namespaces=\"git\" {public}"));
    project.attest(&["--key", "../id"]);
    assert_eq!(project.json("statement.dsse.json")["signatures"][0]["keyid"], "ssh");
    let told = project.verify(0, &["--allowed-signers", "../signers"]).out;
    assert!(told.contains("signature: by `ada@example.org`, as the list of signers says"), "{told}");
    project.verify(0, &["--public-key", "../id.pub"]);
    project.verify(4, &["--allowed-signers", "../strangers"]);
    let told = project.verify(0, &[]).out;
    assert!(told.contains("a key for which nothing here vouches"), "{told}");
}

#[test]
fn the_form_of_apex_x_has_derived_statuses() {
    let project = Project::new();
    let (json, page) = ("release_attestation.json", "release_attestation.md");
    project.attest(&["--format", "apex-x", "--owner", "Ada|B"]);
    let attestation = project.json(json);
    assert_eq!(attestation["release_metadata"]["release_tag"], "v2");
    assert_eq!(attestation["release_metadata"]["release_owner"], "Ada/B");
    let gates = attestation["gates"].as_array().expect("a list");
    let status = |key: &str| gates.iter().find(|gate| gate["key"] == key).expect("a gate")["status"].clone();
    assert_eq!(status("cpu_perf_regression"), "PASS");
    assert_eq!(status("runtime_backend_parity"), "PASS");
    assert_eq!(status("security_review"), "PENDING");
    assert!(project.sandbox().read(&format!("evidence/{page}")).contains("# Apex-X Release Evidence"));
}

/// Numbers that look random, from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

#[test]
fn any_flipped_bit_is_found_and_its_file_named() {
    let project = Project::new();
    project.sandbox().write("../key.pem", KEY);
    project.attest(&["--key", "../key.pem"]);
    let all = files(&project.evidence(""));
    let of_kind = |begin: &str| all.keys().filter(|path| path.starts_with(begin)).cloned().collect::<Vec<_>>();
    let mut random = Random(9);
    // As often in each kind of file, since records are most of the bytes.
    let kinds = ["history/", "ledger/", "release/", "artifacts/", "artifacts.json", "checklist.json", "CHECKLIST.md"];
    let kinds =
        kinds.into_iter().chain(["SHA256SUMS", "statement.json", "statement.dsse.json", "VERIFY.md", "sprag.toml"]);
    for kind in kinds {
        let paths = of_kind(kind);
        assert!(!paths.is_empty(), "{kind}");
        for _ in 0..4 {
            let path = &paths[random.below(paths.len())];
            let mut bytes = all[path].clone();
            let (byte, bit) = (random.below(bytes.len()), random.below(8));
            bytes[byte] ^= 1 << bit;
            fs::write(project.evidence(path), &bytes).expect("a file");
            let told = project.verify(4, &[]).out;
            let first = told.lines().next().unwrap_or_default();
            let named = [format!("fails: {path}: "), format!("fails: {path} at byte {byte}: ")];
            assert!(named.iter().any(|named| first.starts_with(named)), "bit {bit} of byte {byte} of {path}:\n{told}");
            fs::write(project.evidence(path), &all[path]).expect("a file");
        }
    }
    project.verify(
        0,
        &["--public-key", "../missing.pem"].map(|word| {
            project.sandbox().write("../missing.pem", PUBLIC_KEY);
            word
        }),
    );
}
