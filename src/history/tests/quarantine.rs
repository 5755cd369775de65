//! Files that are no runs are named with the reason, and the others load.

use crate::testing::{Fixture, minute, run};
use crate::{Loaded, Record, append, target};
use sprag_model::run::Run;

/// A history with one good run and what `change` adds, committed by git.
fn with(change: impl Fn(&Fixture, &Record)) -> Loaded {
    let fixture = Fixture::new();
    fixture.record(0);
    change(&fixture, &Record::from_run(&run(1)));
    fixture.git(&["add", "--all"]);
    fixture.git(&["commit", "--quiet", "-m", "Change the history"]);
    fixture.load()
}

/// Writes a file of the history; it alone is quarantined, with that reason.
fn check(path: impl Fn(&Record) -> String, bytes: impl Fn(&Record) -> Vec<u8>, reason: &str) {
    let loaded = with(|fixture, record| {
        let text = String::from_utf8(bytes(record)).unwrap();
        fixture.write(&path(record), &text);
    });
    assert_eq!(loaded.runs.len(), 1, "{reason}");
    assert_eq!(loaded.runs[0].run, run(0));
    let [quarantined] = &loaded.quarantined[..] else { panic!("{reason}: {:?}", loaded.quarantined) };
    assert_eq!(quarantined.path, path(&Record::from_run(&run(1))));
    assert!(quarantined.reason.contains(reason), "`{}` should say `{reason}`", quarantined.reason);
}

fn own_path(record: &Record) -> String {
    record.path.clone()
}

fn spaced(record: &Record) -> Vec<u8> {
    String::from_utf8_lossy(&record.bytes).replace("\":", "\": ").into_bytes()
}

fn own_bytes(record: &Record) -> Vec<u8> {
    record.bytes.clone()
}

#[test]
fn content_that_is_no_record() {
    check(own_path, |record| record.bytes[..200].to_vec(), "is not JSON");
    check(own_path, |_| Vec::new(), "is not JSON");
    check(own_path, |_| b"{\"tool\":\"other\"}\n".to_vec(), "it has no `schema_version`");
    check(own_path, |_| b"{\"schema_version\":7}\n".to_vec(), "schema version 7");
    check(own_path, |_| b"{\"schema_version\":1}\n".to_vec(), "does not follow the schema of its version");
    check(own_path, spaced, "bears the id");
    check(own_path, |record| record.bytes[..record.bytes.len() - 1].to_vec(), "canonical");
}

#[test]
fn a_name_that_the_content_contradicts() {
    let edited =
        |record: &Record| String::from_utf8_lossy(&record.bytes).replace("tile_pack", "tile_hack").into_bytes();
    check(own_path, edited, "bears the id");
    check(|record| record.path.replace("/cpu/", "/gpu/"), own_bytes, "bears the suite `gpu`");
    check(|record| record.path.replace("/2026/", "/2025/"), own_bytes, "bears the year");
    check(|record| record.path.replace("/01/", "/02/"), own_bytes, "bears the month");
    check(|record| record.path.replace("000000000000-", "abcdefabcdef-"), own_bytes, "bears the commit");
    let machine = run(1).machine.short_id().to_owned();
    check(|record| record.path.replace(&machine, "01234567"), own_bytes, "bears the machine");
}

#[test]
fn a_name_that_says_nothing() {
    check(|_| "history/v1/cpu/2026/01/notes.json".to_owned(), own_bytes, "is not named");
    check(|_| "history/v1/notes.md".to_owned(), own_bytes, "is not named");
    check(|_| "history/v1/cpu/2026/notes.md".to_owned(), own_bytes, "is not named");
    check(|record| record.path.replace(".json", ".txt"), own_bytes, "is not named");
}

#[test]
fn folders_that_lie_too_deep_are_not_entered() {
    let loaded = with(|fixture, record| fixture.write("history/v1/a/b/c/d/e/f", &record.subject));
    assert_eq!(loaded.quarantined[0].path, "history/v1/a/b/c/d");
    assert!(loaded.quarantined[0].reason.contains("is a folder"));
}

#[cfg(unix)]
#[test]
fn modes_that_a_record_has_not() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let loaded = with(|fixture, record| {
        let place = fixture.root.join(&record.path);
        symlink("../../../../../README", &place).unwrap();
    });
    assert!(loaded.quarantined[0].reason.contains("is a symbolic link"), "{:?}", loaded.quarantined);
    let loaded = with(|fixture, record| {
        fixture.write(&record.path, std::str::from_utf8(&record.bytes).unwrap());
        let place = fixture.root.join(&record.path);
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).unwrap();
    });
    assert!(loaded.quarantined[0].reason.contains("is an executable file"), "{:?}", loaded.quarantined);
    assert_eq!(loaded.runs.len(), 1);
}

#[test]
fn other_folders_are_passed_over_or_warned_about() {
    let loaded = with(|fixture, _| {
        fixture.write("history/README.md", "read me\n");
        fixture.write("history/v1/.gitattributes", "* -diff\n");
        fixture.write("history/v1/_events/2026/x.json", "{}\n");
        fixture.write("history/v2/cpu/x.json", "{}\n");
        fixture.write("history/old/x.json", "{}\n");
    });
    assert_eq!((loaded.runs.len(), loaded.quarantined.len()), (1, 0));
    let [old, newer] = &loaded.warnings[..] else { panic!("{:?}", loaded.warnings) };
    assert_eq!(old, "`history/old/` is no part of the layout and was not read");
    assert_eq!(newer, "`history/v2/` is of a newer layout and was not read; a newer sprag can read it");
}

#[test]
fn a_file_where_the_history_should_be() {
    let fixture = Fixture::new();
    fixture.commit("history", "a file\n", "Add a file");
    let loaded = fixture.load();
    assert_eq!(loaded.quarantined[0].path, "history");
}

#[test]
fn the_order_is_by_time() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let runs: Vec<Run> = [5, 1, 3, 2, 4].map(run).to_vec();
    for run in &runs {
        append(&store, &target, &[Record::from_run(run)], minute(9)).unwrap();
    }
    let times: Vec<_> = fixture.load().runs.iter().map(|run| run.run.timestamp).collect();
    assert_eq!(times, [1, 2, 3, 4, 5].map(minute));
}
