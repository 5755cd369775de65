//! `sprag release verify`: what disagrees with the records is named by file and byte, and signatures count where their key does.

use std::fs;
use std::process::Command;

use sprag_base::digest::sha256_hex as sha256;
use sprag_base::stats::random::SplitMix64;

use crate::released::{Project, forge};
use crate::run_files::rounds;
use crate::sandbox::files;

/// The example of RFC 8410, section 10.3: a key that everybody knows.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
    -----END PRIVATE KEY-----\n";

/// Its public half, section 10.1.
const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
    -----END PUBLIC KEY-----\n";

/// The public half of the key, in hexadecimal digits.
const KEY_ID: &str = "ed25519:19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";

/// Another public key: that of the first test of RFC 8032, section 7.1.
const OTHER_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
    -----END PUBLIC KEY-----\n";

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
        let printed = ended.out + &ended.err;
        for word in words {
            assert!(printed.contains(word), "`{word}` is not in:\n{printed}");
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
    check(&|p| p.sandbox().write("evidence/more.txt", "x"), &["fails: more.txt: is not listed"]);
    check(
        &|p| fs::create_dir_all(p.evidence("ledger/more/empty")).expect("a folder"),
        &["fails: ledger/more/empty: is an empty folder", "no-go, 1 disagreement"],
    );
    check(
        &|p| {
            rename(p, notes, "x");
            rename(p, "artifacts/caps/caps.json", notes);
            rename(p, "x", "artifacts/caps/caps.json");
        },
        &["fails: artifacts/notes/notes.md: has the content of artifacts/caps/caps.json"],
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
    check(&|p| fs::remove_file(p.evidence("SHA256SUMS")).expect("a file"), &["fails: SHA256SUMS: is missing"]);
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
        &["is a record of the history, and missing here"],
    );
    for (time, words) in [("2020-01-01T00:00:00Z", "before the history"), ("2999-01-01T00:00:00Z", "in the future")] {
        check(
            &|p| {
                let as_of = p.json("checklist.json")["as_of"].as_str().expect("a time").to_owned();
                replace(p, "checklist.json", &as_of, time);
                forge(&p.evidence(""));
            },
            &["fails: checklist.json: is as of", words],
        );
    }
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
    sandbox.write("../other.pem", OTHER_KEY);
    project.attest(&["--key", "../key.pem"]);
    let printed = project.verify(0, &[]).out;
    assert!(printed.contains("which nothing here vouches for"), "{printed}");
    let printed = project.verify(0, &["--public-key", "../public.pem"]).out;
    assert!(printed.contains("signature: by the given key"), "{printed}");
    let printed = project.verify(4, &["--public-key", "../other.pem"]).out;
    assert!(
        printed.contains("fails: statement.dsse.json: its signature is rejected: it is of another key"),
        "{printed}"
    );
    sandbox.write("../id.pub", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA x\n");
    let printed = project.verify(4, &["--public-key", "../id.pub"]).out;
    assert!(printed.contains("the given key is an SSH key"), "{printed}");
    fs::remove_file(project.evidence("statement.dsse.json")).expect("a file");
    let printed = project.verify(4, &["--public-key", "../public.pem"]).out;
    assert!(printed.contains("statement.dsse.json: is missing, and a signature is required"), "{printed}");
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
    let printed = project.verify(0, &["--allowed-signers", "../signers"]).out;
    assert!(printed.contains("signature: by `ada@example.org`, according to the list of signers"), "{printed}");
    project.verify(0, &["--public-key", "../id.pub"]);
    project.verify(4, &["--allowed-signers", "../strangers"]);
    let printed = project.verify(0, &[]).out;
    assert!(printed.contains("a key that nothing here vouches for"), "{printed}");
}

#[test]
fn the_form_of_apex_x_has_derived_statuses() {
    let project = Project::new();
    let (json, page) = ("release_attestation.json", "release_attestation.md");
    let attest = ["release", "attest", "v2", "--out", "evidence"];
    let attest = |more: &[&str]| project.sandbox().sprag(&[&attest, more].concat());
    attest(&["--format", "apex-x", "--key", "../key.pem"]).expect(2).says(&["`--key` does not apply"]);
    attest(&["--owner", "Ada"]).expect(2).says(&["`--owner` does not apply"]);
    // What this form asks for and nobody made holds it up, whatever our own checklist says.
    let printed = attest(&["--format", "apex-x", "--owner", "Ada|B"]).expect(1).out;
    assert!(
        printed.starts_with("release_attestation status=fail required_failed=") && !printed.contains("go"),
        "{printed}"
    );
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

#[test]
fn any_flipped_bit_is_detected_and_its_file_named() {
    let project = Project::new();
    project.sandbox().write("../key.pem", KEY);
    project.attest(&["--key", "../key.pem"]);
    let all = files(&project.evidence(""));
    let of_kind = |begin: &str| all.keys().filter(|path| path.starts_with(begin)).cloned().collect::<Vec<_>>();
    let mut random = SplitMix64::new(9);
    // As often in each kind of file, since records are most of the bytes.
    let kinds = [
        "history/",
        "baselines/",
        "ledger/",
        "release/checklist.toml",
        "release/releases.toml",
        "artifacts/",
        "artifacts.json",
        "checklist.json",
        "CHECKLIST.md",
    ];
    let kinds =
        kinds.into_iter().chain(["SHA256SUMS", "statement.json", "statement.dsse.json", "VERIFY.md", "sprag.toml"]);
    for kind in kinds {
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
    project.verify(
        0,
        &["--public-key", "../missing.pem"].map(|word| {
            project.sandbox().write("../missing.pem", PUBLIC_KEY);
            word
        }),
    );
}

#[test]
fn a_site_publishes_the_statement_of_a_release_and_shows_its_signature() {
    let project = Project::new();
    let sandbox = project.sandbox();
    let page = || {
        sandbox.sprag(&["site"]).expect(0);
        sandbox.read("_site/release/v2.html")
    };
    let there = |name: &str| sandbox.project.join("_site/release").join(name).exists();
    let before = page();
    assert!(before.contains("Not signed") && before.contains("no statement of it is in"), "{before}");
    assert!(!there("v2.statement.json"));
    // The page shows the figures that the checklist was filled from.
    assert!(before.contains("none worse") && before.contains("0 of 2 worse"), "{before}");
    assert!(before.contains(" on 1 machine: ") && before.contains("Against v1"), "{before}");

    sandbox.write("../key.pem", KEY);
    project.attest(&["--key", "../key.pem"]);
    let (statement, envelope) = (sandbox.read("evidence/statement.json"), sandbox.read("evidence/statement.dsse.json"));
    sandbox.write("release/v2/statement.json", &statement);
    let unsigned = page();
    assert!(unsigned.contains("not signed") && unsigned.contains("v2.statement.json"), "{unsigned}");
    assert_eq!(sandbox.read("_site/release/v2.statement.json"), statement);
    assert!(!there("v2.statement.dsse.json"));

    sandbox.write("release/v2/statement.dsse.json", &envelope);
    sandbox.commit("Keep the statement");
    let signed = page();
    assert!(signed.contains(KEY_ID) && signed.contains("Nothing here vouches"), "{signed}");
    assert_eq!(sandbox.read("_site/release/v2.statement.dsse.json"), envelope);
    sandbox.sprag(&["site", "--check"]).expect(0);
    // To keep it changes nothing about what was attested.
    project.verify(0, &[]);

    for (path, text, printed) in [
        ("release/v2/statement.dsse.json", envelope.replace("\"sig\": \"", "\"sig\": \"AAAA"), "is rejected"),
        ("release/v2/statement.json", statement.replace("\"v2\"", "\"v1\""), "is not about v2 at"),
        ("release/v2/statement.json", "{}".to_owned(), "is no statement of Sprag"),
    ] {
        sandbox.write(path, &text);
        let page = page();
        assert!(page.contains("Not signed") && page.contains(printed), "{printed}: {page}");
        assert!(!there("v2.statement.json") && !there("v2.statement.dsse.json"));
    }
}
