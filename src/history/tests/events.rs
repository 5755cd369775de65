//! Event records beside the runs: appended, read, and refused.

use std::fs;

use crate::testing::{Fixture, minute, run};
use crate::{EventFiles, HistoryError, Record, append, entries, event_files, target};
use sprag_model::event_record::EventRecord;
use sprag_model::event_record::example::{opened, retracted};

fn record(fixture: &Fixture, records: &[Record]) {
    let store = fixture.store();
    append(&store, &target(&store, None).unwrap(), records, minute(9)).unwrap();
}

fn read(fixture: &Fixture) -> EventFiles {
    let store = fixture.store();
    event_files(&store, &target(&store, None).unwrap()).unwrap()
}

#[test]
fn events_are_appended_and_read_and_runs_do_not_see_them() {
    assert_eq!(read(&Fixture::empty(&[])), EventFiles::default());
    let fixture = Fixture::new();
    assert_eq!(read(&fixture), EventFiles::default());
    record(&fixture, &[Record::from_run(&run(1))]);
    assert_eq!(read(&fixture), EventFiles::default());
    let seen = |fixture: &Fixture| {
        let store = fixture.store();
        let target = target(&store, None).unwrap();
        let (loaded, entries) = (fixture.load(), entries(&store, &target).unwrap());
        (loaded.runs, loaded.quarantined, loaded.warnings, entries.runs, entries.tree.root())
    };
    let before = seen(&fixture);
    let later = EventRecord { time: "2027-01-31T23:59:59Z".parse().unwrap(), ..opened(1) };
    let told = [opened(1), later, opened(2), retracted(2)];
    let [first, second, third, fourth] = told.each_ref().map(Record::from_event);
    let subject = || fixture.git(&["log", "-1", "--format=%s"]);
    record(&fixture, &[first]);
    assert_eq!(subject(), "sprag: event e-000001 opened at cccccccccccc");
    record(&fixture, &[fourth, third]);
    assert_eq!(subject(), "sprag: event e-000002 opened, event e-000002 retracted at cccccccccccc");
    record(&fixture, &[second]);
    assert_eq!(seen(&fixture), before);

    let found = read(&fixture);
    let mut expected: Vec<(String, Vec<u8>)> = told.iter().map(|one| (one.to_file().0, one.to_file().1)).collect();
    expected.sort();
    assert_eq!((&found.files, found.quarantined.len()), (&expected, 0));
    let records: Vec<EventRecord> =
        found.files.iter().map(|(path, bytes)| EventRecord::from_file(path, bytes).unwrap()).collect();
    assert!(told.iter().all(|one| records.contains(one)));
    // The working tree has them, and is not what is read.
    assert_eq!(fixture.status(), "");
    fs::remove_dir_all(fixture.root.join("history")).unwrap();
    fixture.write("history/v1/_events/2026/05/x.json", "{}\n");
    assert_eq!(read(&fixture), found);
}

#[test]
fn what_is_no_event_record_is_not_recorded() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let head = fixture.head();
    let good = Record::from_event(&opened(1));
    let check = |path: &str, bytes: &[u8], words: &str| {
        let record = Record { path: path.to_owned(), bytes: bytes.to_vec(), subject: "x".to_owned() };
        match append(&store, &target, &[Record::from_run(&run(1)), record], minute(1)) {
            Err(HistoryError::BadRecord { path: blamed, reason }) => {
                assert!(blamed == path && reason.contains(words), "{blamed}: {reason}");
            }
            other => panic!("{path}: {other:?}"),
        }
    };
    check(&good.path, b"{}\n", "is not an event record");
    check(&good.path, &good.bytes[..good.bytes.len() - 1], "is not in canonical form");
    check(&good.path, &Record::from_event(&opened(2)).bytes, "bears the event `e-000001` in its path");
    check(&good.path, &Record::from_run(&run(1)).bytes, "does not follow the schema");
    check(&good.path.replace("opened", "narrowed"), &good.bytes, "bears the step `narrowed`");
    check(&good.path.replace("/05/", "/06/"), &good.bytes, "bears the month `06`");
    check("history/v1/_events/x.json", &good.bytes, "is not named `_events/");
    check("history/v1/_events/2026/05/x.json", &good.bytes, "is not named `_events/");
    let newer = String::from_utf8(good.bytes.clone()).unwrap().replace("\"schema_version\":1", "\"schema_version\":2");
    check(&good.path, newer.as_bytes(), "has schema version 2, this build reads up to 1");
    let endless = EventRecord { chance: f64::NAN, ..opened(1) };
    let endless = Record::from_event(&endless);
    check(&endless.path, &endless.bytes, "invalid type: null");
    assert_eq!(fixture.head(), head);
}

#[cfg(unix)]
#[test]
fn what_is_no_plain_file_is_told_and_the_others_are_read() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let fixture = Fixture::new();
    let good = Record::from_event(&opened(1));
    record(&fixture, std::slice::from_ref(&good));
    let folder = "history/v1/_events/2026/05";
    let place = |name: &str| fixture.root.join(folder).join(name);
    symlink("/etc/passwd", place("link.json")).unwrap();
    fixture.write(&format!("{folder}/run.json"), "{}\n");
    fs::set_permissions(place("run.json"), fs::Permissions::from_mode(0o755)).unwrap();
    fixture.write(&format!("{folder}/deep/er.json"), "{}\n");
    fixture.write(&format!("{folder}/misnamed.json"), "{}\n");
    fixture.write("history/v1/_events/.gitattributes", "* -diff\n");
    fixture.git(&["add", "--all", "--force"]);
    let submodule = format!("160000,{},{folder}/module", fixture.head());
    fixture.git(&["update-index", "--add", "--cacheinfo", &submodule]);
    fixture.git(&["commit", "--quiet", "-m", "Odd"]);
    let found = read(&fixture);
    // A file by another name is for whoever reads the content to tell.
    let expected = [(good.path, good.bytes), (format!("{folder}/misnamed.json"), b"{}\n".to_vec())];
    assert_eq!(found.files, expected);
    let told: Vec<(&str, &str)> =
        found.quarantined.iter().map(|one| (&one.path[folder.len() + 1..], one.reason.as_str())).collect();
    let expected = [
        ("deep", "is a folder, where a record is a plain file"),
        ("link.json", "is a symbolic link, where a record is a plain file"),
        ("module", "is a submodule, where a record is a plain file"),
        ("run.json", "is an executable file, where a record is a plain file"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_content_that_is_gone_and_a_file_in_place_of_the_folder_are_told() {
    let fixture = Fixture::new();
    let records = [Record::from_event(&opened(1)), Record::from_event(&opened(2))];
    record(&fixture, &records);
    let id = fixture.git(&["rev-parse", &format!("HEAD:{}", records[0].path)]);
    fs::remove_file(fixture.root.join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
    let found = read(&fixture);
    assert_eq!(found.files, [(records[1].path.clone(), records[1].bytes.clone())]);
    let [gone] = &found.quarantined[..] else { panic!("{found:?}") };
    assert!(gone.path == records[0].path && gone.reason.starts_with("cannot be read"), "{gone:?}");

    for path in ["history", "history/v1", "history/v1/_events"] {
        let fixture = Fixture::new();
        fixture.commit(path, "a file\n", "Add a file");
        let found = read(&fixture);
        let [file] = &found.quarantined[..] else { panic!("{found:?}") };
        assert_eq!((found.files.len(), file.path.as_str()), (0, path));
        assert_eq!(file.reason, "is a file, where a folder of records is expected");
    }
}
