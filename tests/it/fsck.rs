//! `sprag history log`, `fsck`, `root` and `prove`, from the command line.

use serde_json::Value;

use crate::demo::repository;
use crate::sandbox::{Sandbox, assert_contains};
use crate::schemas::follows;

fn runs(sandbox: &Sandbox, arguments: &[&str]) -> Vec<Value> {
    let ended = sandbox.ends(0, &[&["history", "log", "--json", "--limit", "0"], arguments].concat());
    follows("history-log-1", &ended.out)["runs"].as_array().expect("a list").clone()
}

fn root(sandbox: &Sandbox) -> String {
    let root = follows("history-root-1", &sandbox.ends(0, &["history", "root", "--json"]).out);
    root["root"].as_str().expect("a root").to_owned()
}

#[test]
fn the_log_lists_filters_and_advises() {
    let sandbox = repository();
    let all = runs(&sandbox, &[]);
    assert_eq!(all.len(), sandbox.records("HEAD").len());
    let time = |run: &Value| run["timestamp_utc"].as_str().expect("a time").to_owned();
    assert!(all.windows(2).all(|pair| time(&pair[0]) >= time(&pair[1])), "newest first");
    let text = |run: &Value, field: &str| run[field].as_str().expect("a text").to_owned();
    let suite = text(&all[0], "suite");
    let commit = text(&all[0], "commit");
    let machine = all[0]["machine"].clone();
    let date = time(&all[all.len() / 2])[..10].to_owned();
    let check = |arguments: &[&str], holds: &dyn Fn(&Value) -> bool| {
        let listed = runs(&sandbox, arguments);
        let expected: Vec<Value> = all.iter().filter(|run| holds(run)).cloned().collect();
        assert!(!expected.is_empty(), "{arguments:?} asks for nothing");
        assert_eq!(listed, expected, "{arguments:?}");
    };
    check(&["--suite", &suite], &|run| run["suite"] == suite.as_str());
    check(&["--commit", &commit[..10]], &|run| run["commit"] == commit.as_str());
    check(&["--commit", "HEAD"], &|run| run["commit"] == commit.as_str());
    check(&["--machine", machine["name"].as_str().expect("a name")], &|run| run["machine"] == machine);
    check(&["--machine", &machine["id"].as_str().expect("an id")[..8]], &|run| run["machine"] == machine);
    check(&["--status", "ok"], &|run| run["status"] == "ok");
    check(&["--since", &date, "--until", &date], &|run| time(run).starts_with(&date));
    check(&["--branch", "main"], &|_| true);
    let table = sandbox.ends(0, &["history", "log", "--limit", "3"]);
    assert_eq!(table.out.lines().count(), 4, "{}", table.out);
    assert!(table.out.lines().nth(1).is_some_and(|line| line.contains(&commit[..12])), "{}", table.out);
    table.says(&["3 of", "--limit 0"]);
    let bad = |arguments: &[&str], words: &[&str]| {
        sandbox.ends(2, &[&["history", "log"], arguments].concat()).says(words);
    };
    bad(&["--suite", "nosuch"], &["no suite `nosuch`", "there are:", &suite]);
    bad(&["--machine", "\u{1b}[31m"], &["no machine", "\\u{1b}", "there are:"]);
    bad(&["--commit", "nosuch"], &["`nosuch`", "hint:"]);
    bad(&["--since", "yesterday"], &["`--since yesterday`", "2026-05-31"]);
    bad(&["--branch", "nosuch"], &["no branch", "nosuch"]);
}

#[test]
fn an_empty_history_says_how_to_fill_it() {
    let sandbox = Sandbox::new();
    let ended = sandbox.ends(0, &["history", "log"]);
    assert_contains(&ended.out, &["no run is recorded"]);
    ended.says(&["sprag run --record"]);
    sandbox.ends(0, &["history", "fsck"]).prints(&["clean"]);
    assert_eq!(follows("history-root-1", &sandbox.ends(0, &["history", "root", "--json"]).out)["size"], 0);
}

#[test]
fn a_history_of_which_no_run_can_be_read_is_not_called_empty() {
    let sandbox = Sandbox::new();
    sandbox.commit_with("history/v1/cpu/2026/01/notes.txt", "x", "Add notes");
    let ended = sandbox.ends(0, &["history", "log"]);
    assert!(ended.out.contains("can be read") && !ended.out.contains("recorded"), "{}", ended.out);
    ended.says(&["1 file of the history cannot be used", "sprag history fsck"]);
}

#[test]
fn damage_is_detected_repaired_and_proven() {
    let sandbox = repository();
    let fsck = |arguments: &[&str], code| sandbox.ends(code, &[&["history", "fsck"], arguments].concat());
    let before = follows("history-fsck-1", &fsck(&["--json"], 0).out);
    let root = before["root"].as_str().expect("a root").to_owned();
    let records = sandbox.records("HEAD");
    let (changed, gone) = (&records[1], &records[2]);
    sandbox.write(changed, &sandbox.read(changed).replacen("\"n\":", "\"n\":1", 1));
    sandbox.remove(gone);
    sandbox.commit_with("history/v1/cpu/\u{202e}notes", "x", "Tidy up");
    fsck(&[], 4).prints(&[changed, gone, "\\u{202e}notes", "hint:", "damage in 3 places"]);
    let quarantined = sandbox.ends(0, &["history", "log", "--limit", "1"]);
    quarantined.says(&["2 files of the history cannot be used"]);
    // The root is of what entered, so it stays.
    fsck(&["--against", &root], 4);
    fsck(&["--repair"], 0).prints(&[&format!("brought back `{gone}`")]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    fsck(&["--against", &root], 0).prints(&["are unchanged since", "2 set aside"]);
    let mut after = follows("history-fsck-1", &fsck(&["--json"], 0).out);
    assert_eq!(after["quarantined"].as_array().map(Vec::len), Some(2));
    for field in ["tip", "quarantined"] {
        after[field] = before[field].clone();
    }
    assert_eq!(after, before);
    assert_eq!(sandbox.git(&["fsck", "--no-progress", "--no-dangling"]), "");
}

#[test]
fn a_rewritten_history_and_a_busy_one() {
    let sandbox = repository();
    let root = root(&sandbox);
    sandbox.git(&["rm", "-rq", "history"]);
    sandbox.git(&["commit", "-q", "--amend", "-m", "Squash"]);
    sandbox.ends(4, &["history", "fsck", "--against", &root]).prints(&["is gone"]);
    sandbox.ends(4, &["history", "prove", "--since", &"0".repeat(64)]).prints(&["no beginning"]);
    sandbox.ends(2, &["history", "fsck", "--against", "abc"]).says(&["64 lower-case", "history root"]);
    sandbox.write(".git/MERGE_HEAD", &format!("{}\n", sandbox.git(&["rev-parse", "HEAD"])));
    sandbox.ends(2, &["history", "fsck", "--repair"]).says(&["merge is under way", "hint:"]);
}

#[test]
fn proofs_are_made_here_and_checked_anywhere() {
    let sandbox = repository();
    let now = root(&sandbox);
    let run = runs(&sandbox, &[])[3].clone();
    let (id, path) = (run["id"].as_str().expect("an id"), run["path"].as_str().expect("a path"));
    sandbox.ends(0, &["history", "prove", id, "--output", "proof.json"]);
    let printed = sandbox.ends(0, &["history", "prove", &id[..10]]).out;
    assert_eq!(printed, sandbox.read("proof.json"));
    follows("history-proof-1", &printed);
    assert_eq!(sandbox.ends(0, &["history", "prove", path]).out, printed);
    let elsewhere = Sandbox::empty();
    elsewhere.write("proof.json", &printed);
    let check = |arguments: &[&str], code| {
        elsewhere.ends(code, &[&["history", "prove", "--check", "proof.json"], arguments].concat())
    };
    check(&["--root", &now], 0).prints(&[id]);
    check(&[], 0).says(&["--root"]);
    check(&["--root", &"0".repeat(64)], 4);
    sandbox.commit("Code");
    let since = sandbox.ends(0, &["history", "prove", "--since", &now]).out;
    elsewhere.write("proof.json", &since);
    follows("history-proof-1", &since);
    check(&["--root", &root(&sandbox)], 0).prints(&["are the first of"]);
    elsewhere.write("proof.json", &printed.replacen("\"index\": ", "\"index\": 1", 1));
    check(&[], 4).prints(&["the proof is invalid"]);
    for (text, words) in [("{}", "not a proof"), ("[", "not a proof"), ("{\"schema_version\":9}", "schema version 9")] {
        elsewhere.write("proof.json", text);
        check(&[], 2).says(&[words, "hint:"]);
    }
    elsewhere.write("proof.json", &" ".repeat(100_000));
    check(&[], 2).says(&["it holds more than"]);
    let bad = |arguments: &[&str], words: &[&str]| {
        sandbox.ends(2, &[&["history", "prove"], arguments].concat()).says(words);
    };
    bad(&["ffff"], &["names no run", "six digits"]);
    bad(&["ffffffffffff"], &["no run `ffffffffffff`"]);
    bad(&["history/v1/x"], &["no run entered"]);
    bad(&[], &["required"]);
}
