//! Event records are held to as those of runs are.

use std::fs;

use super::fsck_fixture::{RUNS, check, checked, commit, findings, history, repaired};
use crate::testing::{Fixture, minute};
use crate::{Record, append, event_files, target};
use sprag_base::digest;
use sprag_model::event_record::example::{opened, retracted};
use sprag_model::fsck::{FindingKind as Kind, FsckStatus};

/// Appends event records in one commit.
fn record(fixture: &Fixture, records: &[Record]) {
    let store = fixture.store();
    append(&store, &target(&store, None).unwrap(), records, minute(240)).unwrap();
}

/// The path and the text of the record of an event.
fn file() -> (String, String) {
    let record = Record::from_event(&opened(1));
    (record.path, String::from_utf8(record.bytes).unwrap())
}

/// Records an event, and commits a change of the text of its record.
fn edit(change: impl Fn(&str) -> String) -> impl Fn(&Fixture) {
    move |fixture: &Fixture| {
        record(fixture, &[Record::from_event(&opened(1)), Record::from_event(&retracted(1))]);
        let (path, text) = file();
        fixture.write(&path, &change(&text));
        commit(fixture);
    }
}

/// How many event files the tip has.
fn events(fixture: &Fixture) -> usize {
    let store = fixture.store();
    event_files(&store, &target(&store, None).unwrap()).unwrap().files.len()
}

#[test]
fn a_sound_event_changes_nothing_that_is_told_of_runs() {
    let fixture = history();
    let before = checked(&fixture);
    record(&fixture, &[Record::from_event(&opened(1)), Record::from_event(&retracted(1))]);
    let after = checked(&fixture);
    assert_eq!((after.status, after.runs, after.entries), (FsckStatus::Clean, 3, 3), "{after:#?}");
    assert_eq!((after.root, &after.findings), (before.root, &before.findings));
    assert_eq!(repaired(&fixture).commit, None);
    // The root that was noted down before is still met.
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let report = crate::fsck(&store, &target, minute(24 * 60), before.root).unwrap();
    assert_eq!(report.status, FsckStatus::Clean, "{report:#?}");
}

#[test]
fn content_that_its_name_contradicts_is_found_and_put_right() {
    let path = file().0;
    let changed = (Kind::Changed, path.as_str());
    let cases: [(&str, &str, Kind); 7] = [
        ("\"chance\":0.01", "\"chance\":0.02", Kind::Name),
        ("e-000001", "e-000002", Kind::Name),
        ("\"schema_version\":1", "\"schema_version\":9", Kind::Name),
        ("\"chance\":0.01", "\"chance\":2.0", Kind::Schema),
        ("\"step\":\"opened\"", "\"step\":\"merged\"", Kind::Schema),
        ("\"schema_version\":1", "\"schema_version\":0", Kind::Schema),
        ("\":", "\": ", Kind::NotCanonical),
    ];
    for (from, to, kind) in cases {
        let fixture = check(edit(|text| text.replace(from, to)), &[changed, (kind, &path)]);
        assert_eq!((events(&fixture), fs::read_to_string(fixture.root.join(&path)).unwrap()), (2, file().1));
        let report = checked(&fixture);
        let [place] = &report.quarantined[..] else { panic!("{report:#?}") };
        assert_eq!(fs::read_to_string(fixture.root.join(place)).unwrap(), file().1.replace(from, to));
    }
    check(edit(|text| text[..200].to_owned()), &[changed, (Kind::Schema, &path)]);
    check(edit(|text| text.trim_end().to_owned()), &[changed, (Kind::NotCanonical, &path)]);
}

#[test]
fn an_event_that_is_gone_comes_back() {
    let path = file().0;
    let fixture = check(
        |fixture| {
            record(fixture, &[Record::from_event(&opened(1))]);
            fixture.git(&["rm", "--quiet", &path]);
            commit(fixture);
        },
        &[(Kind::Lost, &path)],
    );
    assert_eq!(events(&fixture), 1);
}

#[test]
fn events_at_a_place_that_is_not_theirs() {
    let add = |path: &str, text: &str| {
        let (path, text) = (path.to_owned(), text.to_owned());
        move |fixture: &Fixture| {
            fixture.write(&path, &text);
            commit(fixture);
        }
    };
    let (path, text) = file();
    let moved = path.replace("/2026/05/", "/2025/06/");
    check(add(&moved, &text), &[(Kind::Name, &moved)]);
    let step = path.replace("opened", "narrowed");
    check(add(&step, &text), &[(Kind::Name, &step)]);
    for misnamed in ["x.json", "2026/x.json", "2026/05/x.json", "2026/05/06/x.json"] {
        let misnamed = format!("history/v1/_events/{misnamed}");
        check(add(&misnamed, &text), &[(Kind::Unknown, &misnamed)]);
    }
    check(add("history/v1/_events", "x\n"), &[(Kind::Unknown, "history/v1/_events")]);
}

#[test]
fn an_event_of_a_newer_version_is_left_alone() {
    let newer = file().1.replace("\"schema_version\":1", "\"other\":[],\"schema_version\":2");
    let digest = &digest::sha256_hex(newer.trim_end().as_bytes())[..16];
    let path = format!("history/v1/_events/2026/05/e-000001-merged-{digest}.json");
    let fixture = history();
    fixture.write(&path, &newer);
    commit(&fixture);
    let report = checked(&fixture);
    assert_eq!((report.status, findings(&report)), (FsckStatus::Clean, vec![(Kind::Newer, path)]), "{report:#?}");
    assert_eq!(repaired(&fixture).commit, None);
}

#[cfg(unix)]
#[test]
fn odd_modes_of_events() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let path = file().0;
    let fixture = check(
        |fixture| {
            record(fixture, &[Record::from_event(&opened(1))]);
            fs::set_permissions(fixture.root.join(&path), fs::Permissions::from_mode(0o755)).unwrap();
            commit(fixture);
        },
        &[(Kind::Mode, &path)],
    );
    // Nothing else was wrong with it, so it stays where it is.
    assert_eq!((events(&fixture), checked(&fixture).quarantined.len()), (1, 0));
    let fixture = check(
        |fixture| {
            fs::create_dir_all(fixture.root.join(&path).parent().unwrap()).unwrap();
            symlink("/etc/passwd", fixture.root.join(&path)).unwrap();
            commit(fixture);
        },
        &[(Kind::Mode, &path)],
    );
    assert!(!fixture.root.join(&path).is_symlink());
}

#[test]
fn an_event_whose_content_is_missing_is_noted_until_it_is_back() {
    let path = file().0;
    let fixture = history();
    record(&fixture, &[Record::from_event(&opened(1))]);
    let root = checked(&fixture).root;
    let object = fixture.object(&format!("HEAD:{path}"));
    let bytes = fs::read(&object).unwrap();
    fs::remove_file(&object).unwrap();
    let report = checked(&fixture);
    assert_eq!((report.status, findings(&report)), (FsckStatus::Damaged, vec![(Kind::Unreadable, path.clone())]));
    // All runs can be read, so their root is known all the same.
    assert_eq!((report.runs, report.root), (RUNS as u64, root));
    // Nor has the working tree the bytes.
    fs::remove_file(fixture.root.join(&path)).unwrap();
    assert!(repaired(&fixture).steps[0].contains("could not be read"));
    let report = checked(&fixture);
    assert_eq!((report.status, events(&fixture)), (FsckStatus::Warnings, 0), "{report:#?}");
    fs::create_dir_all(object.parent().unwrap()).unwrap();
    fs::write(&object, bytes).unwrap();
    assert_eq!(findings(&checked(&fixture))[0], (Kind::Lost, path));
    repaired(&fixture);
    assert_eq!((events(&fixture), checked(&fixture).root, fixture.status()), (1, root, String::new()));
}
