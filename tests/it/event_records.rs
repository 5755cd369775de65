//! Event records next to the runs of a history.

use std::path::Path;

use sprag_history::{self as history, Record};
use sprag_model::event_record::EVENT_ROOT;
use sprag_model::{Direction, EventKind, EventMember, EventRecord, EventStep, Series};

use crate::clones::Clones;
use crate::demo::repository;
use crate::sandbox::{Sandbox, assert_contains};
use crate::schemas::follows;

fn opened(number: u32) -> EventRecord {
    let series = Series::id_of("cpu/tile_pack{t=8} @fast", 1, "time", "0123456789abcdef");
    EventRecord {
        event: format!("e-{number:06x}"),
        step: EventStep::Opened,
        time: "2026-01-05T12:00:00Z".parse().expect("a time"),
        kind: EventKind::Change,
        direction: Direction::Worse,
        machines: vec!["0123456789abcdef".to_owned()],
        last_good: None,
        first_suspect: "a".repeat(40),
        last_suspect: "a".repeat(40),
        most_likely: "a".repeat(40),
        members: vec![EventMember { series, before: 1e-3, after: 2e-3 }],
        chance: 0.05,
        reason: None,
        bisection: None,
    }
}

fn record(folder: &Path, event: &EventRecord) -> String {
    let record = Record::from_event(event);
    let store = history::open(folder).expect("there is a repository");
    let target = history::target(&store, None).expect("it has a branch");
    let appended =
        history::append(&store, &target, std::slice::from_ref(&record), event.time).expect("it can be recorded");
    assert_eq!((&appended.added, appended.warnings.len()), (&vec![record.path.clone()], 0));
    record.path
}

#[test]
fn clones_come_to_the_same_events_and_runs() {
    let clones = Clones::new();
    let mut paths = Vec::new();
    for (clone, number) in [("a", 1), ("b", 2)] {
        paths.push(clones.record(clone, i64::from(number)));
        paths.push(record(&clones.path(clone), &opened(number)));
    }
    clones.sync("a", &[]).expect(0);
    let ended = clones.sync("b", &[]).expect(0);
    assert_eq!(ended.out, "origin/main: sent 2 records, received 2 records (1 attempt)\n");
    // The commit that takes them over says what an append would.
    let message = clones.git("remote.git", &["log", "-1", "--format=%B", "main"]);
    assert_contains(&message, &["sprag: event e-000002 opened at aaaaaaaaaaaa"]);
    clones.sync("a", &[]).expect(0);
    clones.agree(&["a", "b"], 4);
    paths.sort();
    assert_eq!(clones.records("remote.git"), paths);
    for clone in ["a", "b"] {
        let store = history::open(&clones.path(clone)).expect("there is a repository");
        let target = history::target(&store, None).expect("it has a branch");
        let listed = history::plain_files(&store, &target, EVENT_ROOT).expect("it can be read");
        let events: Vec<EventRecord> =
            listed.files.iter().map(|(path, bytes)| EventRecord::from_file(path, bytes).expect("it is one")).collect();
        assert_eq!((events, listed.quarantined.len()), (vec![opened(1), opened(2)], 0), "{clone}");
        clones.sandbox.ends(0, &["-C", clone, "history", "fsck"]);
    }
}

#[test]
fn runs_are_listed_proven_and_exported_as_without_events() {
    let sandbox = repository();
    let last = sandbox.records("HEAD").pop().expect("the demo has records");
    let proven = ["history", "prove", last.as_str()];
    let commands: [&[&str]; 5] = [
        &["history", "log", "--json", "--limit", "0"],
        &["history", "log"],
        &proven,
        &["export", "jsonl"],
        &["export", "csv"],
    ];
    let root = || {
        let ended = sandbox.ends(0, &["history", "root", "--json"]);
        let root = ended.json();
        (root["root"].as_str().expect("a root").to_owned(), root["size"].clone())
    };
    // The tip moves.
    let printed = || {
        let tip = sandbox.git(&["rev-parse", "HEAD"]);
        commands.map(|arguments| {
            let ended = sandbox.ends(0, arguments);
            (ended.out.replace(&tip, "TIP"), ended.err)
        })
    };
    let (before, root_before) = (printed(), root());
    record(&sandbox.project, &opened(1));
    assert_eq!(root(), root_before);
    for ((arguments, before), after) in commands.into_iter().zip(before).zip(printed()) {
        assert!(before == after, "{arguments:?}");
    }
    let fsck = |arguments: &[&str]| sandbox.ends(0, &[&["history", "fsck"], arguments].concat());
    fsck(&["--against", &root_before.0]).prints(&["are unchanged since"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    fsck(&["--repair"]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn an_event_record_follows_its_schema() {
    let (_, bytes, _) = opened(1).to_file();
    follows("event-1", std::str::from_utf8(&bytes).expect("a record is text"));
}

#[test]
fn a_damaged_event_is_a_matter_of_integrity() {
    let sandbox = Sandbox::new();
    let path = record(&sandbox.project, &opened(1));
    sandbox.ends(0, &["history", "fsck"]);
    let text = sandbox.read(&path);
    sandbox.edit(&path, "\"chance\":0.05", "\"chance\":0.5");
    sandbox.commit_with("history/v1/_events/2026/01/notes.txt", "x\n", "Tidy up");
    let words = [path.as_str(), "has the digest", "notes.txt", "is not named `_events/<yyyy>/<mm>/", "hint:"];
    sandbox.ends(4, &["history", "fsck"]).prints(&words);
    follows("history-fsck-1", &sandbox.ends(4, &["history", "fsck", "--json"]).out);
    sandbox.ends(0, &["history", "fsck", "--repair"]).prints(&[&format!("brought back `{path}`")]);
    assert_eq!((sandbox.read(&path), sandbox.git(&["status", "--porcelain"])), (text, String::new()));
    sandbox.ends(0, &["history", "fsck"]);
}
