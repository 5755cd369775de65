//! `sprag release verify`: disagreements are named by file and byte, and signatures are checked.

use std::fs;
use std::process::Command;

use sprag_base::digest::sha256_hex as sha256;
use sprag_base::stats::random::SplitMix64;

use crate::crafted::rounds;
use crate::released::{Project, forge};
use crate::sandbox::{assert_contains, files};

/// The example of RFC 8410, section 10.3.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
    -----END PRIVATE KEY-----\n";

/// Its public half, section 10.1.
const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
    -----END PUBLIC KEY-----\n";

/// The same in hexadecimal.
const KEY_ID: &str = "ed25519:19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";

/// The public key of the first test of RFC 8032, section 7.1.
const OTHER_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
    -----END PUBLIC KEY-----\n";

#[test]
fn evidence_that_disagrees_is_named_by_file_and_byte() {
    let good = Project::new();
    good.write("../key.pem", KEY);
    good.attest(&["--key", "../key.pem"]);
    let check = |spoil: &dyn Fn(&Project), words: &[&str]| {
        let project = good.copied();
        spoil(&project);
        assert_contains(&project.verify(4, &[]).both(), words);
    };
    let rename = |p: &Project, from: &str, to: &str| fs::rename(p.evidence(from), p.evidence(to)).expect("a file");
    let record = files(&good.evidence("history")).into_keys().next().expect("a record");
    let record = format!("evidence/history/{record}");
    let named = |words: &str| format!("fails: {}{words}", &record["evidence/".len()..]);
    let notes = "artifacts/notes/notes.md";
    check(&|p| p.remove("evidence/artifacts/notes/notes.md"), &["fails: artifacts/notes/notes.md: is listed"]);
    check(&|p| rename(p, notes, "artifacts/notes/n.md"), &["fails: artifacts/notes/notes.md: was renamed"]);
    check(&|p| p.write("evidence/more.txt", "x"), &["fails: more.txt: is not listed"]);
    let add_folder = |p: &Project| fs::create_dir_all(p.evidence("ledger/more/empty")).expect("a folder");
    check(&add_folder, &["fails: ledger/more/empty: is an empty folder", "no-go, 1 disagreement"]);
    let swap = |p: &Project| {
        rename(p, notes, "x");
        rename(p, "artifacts/caps/caps.json", notes);
        rename(p, "x", "artifacts/caps/caps.json");
    };
    check(&swap, &["fails: artifacts/notes/notes.md: has the content of artifacts/caps/caps.json"]);
    check(&|p| p.write(&record, &p.read(&record)[..100]), &[&named(" at byte 100: is cut short")]);
    check(&|p| p.remove("evidence/SHA256SUMS"), &["fails: SHA256SUMS: is missing"]);

    let digest = sha256(good.read("evidence/CHECKLIST.md").as_bytes());
    let [first, second] = ["v1", "v2"].map(|tag| good.git(&["rev-parse", tag]));
    for (path, from, to, words) in [
        ("ledger/v2.toml", "9999", "9998", "fails: ledger/v2.toml at byte"),
        ("release/checklist.toml", "parity", "parits", "fails: release/checklist.toml at byte"),
        ("CHECKLIST.md", "**GO**", "**go**", "fails: CHECKLIST.md at byte"),
        ("SHA256SUMS", "  CHECKLIST.md", "  ../LIST.md", "fails: SHA256SUMS at byte…not a plain path"),
        ("SHA256SUMS", &digest, &digest[..40], "fails: SHA256SUMS…as of SHA-1"),
        ("statement.json", &second, &first, "fails: statement.json at byte…is about the commit"),
        ("statement.json", "\"sha256\"", "\"sha512\"", "fails: statement.json…by sha512"),
        ("statement.json", "\"subject\"", "\"verdict\": 1,\n  \"subject\"", "unknown field `verdict`"),
        ("statement.dsse.json", "ed25519:19", "ed25519:18", "fails: statement.dsse.json"),
    ] {
        check(&|p| p.edit(&format!("evidence/{path}"), from, to), &words.split('…').collect::<Vec<_>>());
    }
    // Forged with matching sums.
    let as_of = good.evidence_json("checklist.json")["as_of"].as_str().expect("a time").to_owned();
    let list = "evidence/checklist.json";
    for (path, from, to, words) in [
        (list, "\"waived\"", "\"pass\"", "fails: checklist.json at byte…`coverage` is recorded as pass"),
        (list, "\"go\": true", "\"go\": false", "fails: checklist.json at byte"),
        (list, "\"schema_version\": 1", "\"schema_version\":  1", "fails: checklist.json"),
        (list, &as_of, "2020-01-01T00:00:00Z", "fails: checklist.json: is as of…before the history"),
        (list, &as_of, "2999-01-01T00:00:00Z", "fails: checklist.json: is as of…in the future"),
        ("evidence/ledger/v2.toml", "9999-12-31", "2026-01-31", "`coverage` is recorded as waived…the records say"),
        ("evidence/artifacts/caps/caps.json", "false", "true", "`notes` is recorded as pass"),
        (&record, "sandbox", "sandbot", &format!("{}…is not the record of the history", named(" at byte"))),
    ] {
        let forged = |p: &Project| {
            p.edit(path, from, to);
            forge(&p.evidence(""));
        };
        check(&forged, &words.split('…').collect::<Vec<_>>());
    }
    let without = |p: &Project| {
        p.remove(&record);
        forge(&p.evidence(""));
    };
    check(&without, &["is a record of the history, and missing here"]);
    // Tags and branches that changed since.
    check(&|p| drop(p.git(&["tag", "-f", "v2", &first])), &["the tag `v2` moved"]);
    check(&|p| drop(p.git(&["tag", "-d", "v2"])), &["the tag `v2`, which this evidence is about"]);
    let restart = |p: &Project| {
        p.git(&["reset", "-q", "--hard", &second]);
        p.commit("Begin the history anew");
    };
    check(&restart, &["the history was rewritten since the release `v2`"]);
}

#[test]
fn signatures_count_where_their_key_does() {
    let project = Project::new();
    project.write("../key.pem", KEY);
    project.write("../public.pem", PUBLIC_KEY);
    project.write("../other.pem", OTHER_KEY);
    project.attest(&["--key", "../key.pem"]);
    project.verify(0, &[]).prints(&["whose owner is not checked"]);
    project.verify(0, &["--public-key", "../public.pem"]).prints(&["signature: by the given key"]);
    project
        .verify(4, &["--public-key", "../other.pem"])
        .prints(&["fails: statement.dsse.json: its signature is rejected: it is of another key"]);
    project.write("../id.pub", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA x\n");
    project.verify(4, &["--public-key", "../id.pub"]).prints(&["`--public-key` is an SSH key"]);
    fs::remove_file(project.evidence("statement.dsse.json")).expect("a file");
    project
        .verify(4, &["--public-key", "../public.pem"])
        .prints(&["statement.dsse.json: is missing, and a signature is required"]);
    project.verify(0, &[]);
}

#[test]
fn keys_of_ssh_sign_too() {
    let project = Project::new();
    let place = |name: &str| project.project.join("..").join(name).to_string_lossy().into_owned();
    let made =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "x", "-f", &place("id")]).output();
    if !made.is_ok_and(|made| made.status.success()) {
        eprintln!("skipped: there is no ssh-keygen that makes a key");
        return;
    }
    let public = fs::read_to_string(place("id.pub")).expect("a key");
    project.write("../signers", &format!("ada@example.org namespaces=\"sprag-release\" {public}"));
    project.write("../strangers", &format!("ada@example.org namespaces=\"git\" {public}"));
    project.attest(&["--key", "../id"]);
    assert_eq!(project.evidence_json("statement.dsse.json")["signatures"][0]["keyid"], "ssh");
    project
        .verify(0, &["--allowed-signers", "../signers"])
        .prints(&["signature: by `ada@example.org`, according to the list of signers"]);
    project.verify(0, &["--public-key", "../id.pub"]);
    project.verify(4, &["--allowed-signers", "../strangers"]);
    // The line for another purpose comes first; the second allows it.
    project.write("../both", &(project.read("../strangers") + &project.read("../signers")));
    project.verify(0, &["--allowed-signers", "../both"]).prints(&["signature: by `ada@example.org`"]);
    // A checkout does not bring the program that vouches for it.
    project.program("bin/ssh-keygen", "#!/bin/sh\ntouch ../called\n");
    for folder in ["bin".to_owned(), project.project.join("bin").to_string_lossy().into_owned()] {
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        let verify = ["release", "verify", "evidence", "--allowed-signers", "../strangers"];
        project.sprag_with(&[("PATH", &path)], &verify).expect(4);
    }
    assert!(!project.project.join("../called").exists(), "it called the program of the checkout");
    project.verify(0, &[]).prints(&["a key that nothing here vouches for"]);
}

#[test]
fn the_form_of_apex_x_has_derived_statuses() {
    let project = Project::new();
    let (json, page) = ("release_attestation.json", "release_attestation.md");
    let attest = ["release", "attest", "v2", "--out", "evidence"];
    let attest = |more: &[&str]| project.sprag(&[&attest, more].concat());
    attest(&["--format", "apex-x", "--key", "../key.pem"]).expect(2).says(&["`--key` does not apply"]);
    attest(&["--owner", "Ada"]).expect(2).says(&["`--owner` does not apply"]);
    // Gates of this form that nobody filled fail it, whatever our own checklist says.
    let printed = attest(&["--format", "apex-x", "--owner", "Ada|B"]).expect(1).out;
    assert!(
        printed.starts_with("release_attestation status=fail required_failed=") && !printed.contains("go"),
        "{printed}"
    );
    let attestation = project.evidence_json(json);
    assert_eq!(attestation["release_metadata"]["release_tag"], "v2");
    assert_eq!(attestation["release_metadata"]["release_owner"], "Ada/B");
    let gates = attestation["gates"].as_array().expect("a list");
    let status = |key: &str| gates.iter().find(|gate| gate["key"] == key).expect("a gate")["status"].clone();
    assert_eq!(status("cpu_perf_regression"), "PASS");
    assert_eq!(status("runtime_backend_parity"), "PASS");
    assert_eq!(status("security_review"), "PENDING");
    assert_contains(&project.read(&format!("evidence/{page}")), &["# Apex-X Release Evidence"]);
}

#[test]
fn any_flipped_bit_is_detected_and_its_file_named() {
    let project = Project::new();
    project.write("../key.pem", KEY);
    project.attest(&["--key", "../key.pem"]);
    let all = files(&project.evidence(""));
    let of_kind = |begin: &str| all.keys().filter(|path| path.starts_with(begin)).cloned().collect::<Vec<_>>();
    let mut random = SplitMix64::new(9);
    // As often in each kind of file, since records are most of the bytes.
    let kinds = "history/ baselines/ ledger/ release/checklist.toml release/releases.toml artifacts/ artifacts.json \
                 checklist.json CHECKLIST.md SHA256SUMS statement.json statement.dsse.json VERIFY.md sprag.toml";
    for kind in kinds.split_whitespace() {
        let paths = of_kind(kind);
        assert!(!paths.is_empty(), "{kind}");
        for _ in 0..rounds(1, 10) {
            let path = &paths[random.below(paths.len())];
            let mut bytes = all[path].clone();
            let (byte, bit) = (random.below(bytes.len()), random.below(8));
            bytes[byte] ^= 1 << bit;
            fs::write(project.evidence(path), &bytes).expect("a file");
            let printed = project.verify(4, &[]).out;
            let first = printed.lines().next().unwrap_or_default();
            let named = [format!("fails: {path}: "), format!("fails: {path} at byte {byte}: ")];
            assert!(
                named.iter().any(|named| first.starts_with(named)),
                "bit {bit} of byte {byte} of {path}:\n{printed}"
            );
            fs::write(project.evidence(path), &all[path]).expect("a file");
        }
    }
    project.write("../public.pem", PUBLIC_KEY);
    project.verify(0, &["--public-key", "../public.pem"]);
}

#[test]
fn a_site_publishes_the_statement_of_a_release_and_shows_its_signature() {
    let project = Project::new();
    let page = || {
        project.ends(0, &["site"]);
        project.read("_site/release/v2.html")
    };
    let there = |name: &str| project.project.join("_site/release").join(name).exists();
    let before = page();
    assert_contains(&before, &["Not signed", "no statement of it is in"]);
    assert!(!there("v2.statement.json"));
    // The page shows the figures of the checklist.
    assert_contains(&before, &["none worse", "0 of 2 worse", " and 6 more", "Against v1"]);

    project.write("../key.pem", KEY);
    project.attest(&["--key", "../key.pem"]);
    let (statement, envelope) = (project.read("evidence/statement.json"), project.read("evidence/statement.dsse.json"));
    project.write("release/v2/statement.json", &statement);
    let unsigned = page();
    assert_contains(&unsigned, &["not signed", "v2.statement.json"]);
    assert_eq!(project.read("_site/release/v2.statement.json"), statement);
    assert!(!there("v2.statement.dsse.json"));

    project.commit_with("release/v2/statement.dsse.json", &envelope, "Keep the statement");
    let signed = page();
    assert_contains(&signed, &[KEY_ID, "Sprag cannot tell whose key it is"]);
    assert_eq!(project.read("_site/release/v2.statement.dsse.json"), envelope);
    project.ends(0, &["site", "--check"]);
    project.verify(0, &[]);

    for (path, text, printed) in [
        ("release/v2/statement.dsse.json", envelope.replace("\"sig\": \"", "\"sig\": \"AAAA"), "is rejected"),
        ("release/v2/statement.json", statement.replace("\"v2\"", "\"v1\""), "is not about v2 at"),
        ("release/v2/statement.json", "{}".to_owned(), "is not a statement of Sprag"),
    ] {
        project.write(path, &text);
        let page = page();
        assert_contains(&page, &["Not signed", printed]);
        assert!(!there("v2.statement.json") && !there("v2.statement.dsse.json"));
    }
}
