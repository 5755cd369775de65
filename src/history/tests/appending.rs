//! Appending records and loading them back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{fs, thread};

use crate::append::append_watched;
use crate::state::Step;
use crate::testing::{Fixture, checked, commit, minute, records, rounds, run, run_of, try_git_in};
use crate::{
    Appended, FolderCache, HistoryError, PlainFiles, Record, append, commit_line, list, list_cached, measured_commit,
    read, target,
};
use sprag_model::event_record::EventRecord;
use sprag_model::event_record::example::{opened, retracted};
use sprag_model::run::{FileFault, RecordedRun};

#[test]
fn a_record_becomes_a_commit_a_file_and_an_index_entry() {
    let fixture = Fixture::new();
    let run = run_of(1, measured_commit(&fixture.store()).unwrap().unwrap());
    let (id, path, bytes) = run.to_record();
    let appended = fixture.append(&[Record::from_run(&run)], minute(5));
    let expected = Appended {
        reference: "refs/heads/main".to_owned(),
        commit: Some(fixture.head()),
        added: vec![path.clone()],
        present: Vec::new(),
        author: "sprag <sprag@localhost>".to_owned(),
        stand_in: true,
        warnings: Vec::new(),
    };
    assert_eq!(appended, expected);
    assert_eq!(fs::read(fixture.root.join(&path)).unwrap(), bytes);
    assert_eq!(fixture.status(), "");
    assert_eq!(fixture.git(&["diff-files", "--name-only"]), "");
    assert_eq!(fixture.git(&["log", "-1", "--format=%s|%an|%ct"]), format!("{}|sprag|1767600300", run.subject()));
    let loaded = fixture.load();
    assert_eq!(loaded.runs, [RecordedRun { path, id, run }]);
    assert_eq!((loaded.quarantined.len(), loaded.warnings.len()), (0, 0));
    for left in ["journal.json", "staged"] {
        assert!(!fixture.root.join(".git/sprag").join(left).exists());
    }
    fixture.fsck();
}

#[test]
fn several_records_become_one_commit_and_are_added_once() {
    let fixture = Fixture::new();
    fixture.append(&records(0..3), minute(1));
    assert_eq!(fixture.git(&["log", "-1", "--format=%s"]), "sprag: 3 records");
    assert_eq!((fixture.git(&["rev-list", "--count", "HEAD"]).as_str(), fixture.status().as_str()), ("3", ""));
    let times: Vec<_> = fixture.load().runs.into_iter().map(|run| run.run.timestamp).collect();
    assert_eq!(times, [minute(0), minute(1), minute(2)]);
    let head = fixture.head();
    let second = fixture.append(&records(1..2), minute(9));
    assert_eq!((second.commit, second.added.len(), second.present.len()), (None, 0, 1));
    assert_eq!(fixture.head(), head);
    let more = fixture.append(&records(2..4), minute(9));
    assert_eq!((more.commit, more.added.len(), more.present.len()), (Some(fixture.head()), 1, 1));
}

#[test]
fn what_loading_would_refuse_is_refused() {
    let fixture = Fixture::new();
    let head = fixture.head();
    let good = records(1..2).remove(0);
    let check = |path: &str, bytes: &[u8], words: &str| {
        let record = Record::auxiliary(path.to_owned(), bytes.to_vec(), "x".to_owned());
        match fixture.try_append(&[records(2..3).remove(0), record]) {
            Err(HistoryError::BadRecord { path: blamed, reason }) => {
                assert!(blamed == path && reason.contains(words), "{blamed}: {reason}");
            }
            other => panic!("{path}: {other:?}"),
        }
    };
    check(&good.path, b"{}\n", "schema_version");
    check(&good.path, &good.bytes[..good.bytes.len() - 1], "canonical");
    check(&good.path.replace("/cpu/", "/gpu/"), &good.bytes, "has the suite");
    for path in ["src/lib.rs", "history/v1/../../src/lib.rs", "history/v1/_events/.git/x", "history/v1/_events/"] {
        check(path, &good.bytes, "");
    }
    let mut hidden = run(1);
    hidden.suite = "_events".to_owned();
    Arc::make_mut(&mut hidden.measurements[0].benchmark).suite = "_events".to_owned();
    let hidden = Record::from_run(&hidden);
    check(&hidden.path, &hidden.bytes, "");
    let event = Record::from_event(&opened(1));
    check(&event.path, b"{}\n", "is not an event record");
    check(&event.path, &Record::from_event(&opened(2)).bytes, "has the event `e-000001` in its path");
    check(&event.path.replace("/05/", "/06/"), &event.bytes, "has the month `06`");
    check("history/v1/_events", &event.bytes, "");
    check("history/v1/_events/x.json", &event.bytes, "is not named `_events/");
    assert_eq!(fixture.head(), head);
    assert_eq!(fixture.append(&[good.clone(), good], minute(1)).added.len(), 1);
}

#[test]
fn records_that_are_stored_before_are_appended_as_others_are() {
    let [plain, stored] = [Fixture::new(), Fixture::new()];
    let mut some = records(1..6);
    plain.append(&some, minute(1));
    crate::store_blobs(&stored.store(), &mut some[1..4]).expect("they are written");
    assert!(some[1..4].iter().all(|record| record.bytes.is_empty()));
    stored.append(&some, minute(1));
    let tree = |fixture: &Fixture| fixture.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!((tree(&stored), stored.status()), (tree(&plain), String::new()));
    stored.fsck();
}

#[test]
fn the_history_is_append_only() {
    let fixture = Fixture::new();
    let note = |path: &str, text: &str| {
        Record::auxiliary(format!("history/v1/_notes/{path}"), text.as_bytes().to_vec(), "sprag: note".to_owned())
    };
    fixture.append(&[note("1.json", "one")], minute(1));
    let head = fixture.head();
    let error = fixture.try_append(&[note("1.json", "two")]).unwrap_err();
    assert!(matches!(error, HistoryError::Different { .. }), "{error}");
    let error = fixture.try_append(&[note("1.json/2", "x")]).unwrap_err();
    assert!(matches!(error, HistoryError::NotAFolder { .. }), "{error}");
    assert_eq!((fixture.head(), fixture.status()), (head, String::new()));
    assert_eq!(fixture.load().runs.len(), 0);
}

#[test]
fn the_changes_of_the_user_stay() {
    let fixture = Fixture::new();
    fixture.commit("both", "one\n", "Add both");
    fixture.write("src/lib.rs", "fn unstaged() {}\n");
    fixture.write("staged", "staged\n");
    fixture.write("both", "two\n");
    fixture.git(&["add", "staged", "both"]);
    fixture.write("both", "three\n");
    fixture.write("untracked", "x\n");
    fixture.git(&["rm", "--quiet", "README"]);
    let (status, staged) = (fixture.status(), fixture.git(&["diff", "--cached"]));
    fixture.record(1);
    assert_eq!((fixture.status(), fixture.git(&["diff", "--cached"])), (status, staged));
    fixture.git(&["commit", "--quiet", "-m", "Commit what is staged"]);
    assert_eq!(fixture.load().runs.len(), 1);
}

#[test]
fn git_still_sees_a_change_as_young_as_the_index() {
    let fixture = Fixture::new();
    // Same size, and written in the same second as the index: only the content differs.
    fixture.git(&["config", "core.checkStat", "minimal"]);
    let touch = |path: &str| {
        let file = fs::File::options().write(true).open(fixture.root.join(path)).unwrap();
        file.set_modified(minute(0).into()).unwrap();
    };
    fixture.write("README", "demo\n\n");
    touch("README");
    fixture.git(&["add", "README"]);
    touch(".git/index");
    fixture.write("README", "omed\n\n");
    touch("README");
    fixture.record(1);
    assert_eq!(fixture.status(), "MM README");
}

#[test]
fn an_unusual_index_stays_or_is_warned_about() {
    let check = |settings: &[&[&str]], warnings: usize| {
        let fixture = Fixture::new();
        settings.iter().for_each(|setting| drop(fixture.git(setting)));
        let appended = fixture.record(1);
        assert_eq!(appended.warnings.len(), warnings, "{settings:?}: {:?}", appended.warnings);
        assert_eq!(fixture.load().runs.len(), 1);
        assert_eq!(fixture.store().warnings, [""; 0]);
        if warnings > 0 {
            fixture.git(&["checkout", "HEAD", "--", "history"]);
        }
        assert_eq!(fixture.status(), "", "{settings:?}");
    };
    check(&[&["update-index", "--index-version", "4"]], 0);
    check(&[&["config", "index.skipHash", "true"], &["update-index", "--force-write-index"]], 0);
    check(&[&["update-index", "--untracked-cache"]], 0);
    check(&[&["update-index", "--skip-worktree", "README"]], 0);
    check(&[&["config", "core.autocrlf", "true"]], 0);
    check(&[&["sparse-checkout", "set", "--cone", "src"]], 0);
    check(&[&["update-index", "--split-index"]], 1);
    check(&[&["sparse-checkout", "set", "--cone", "--sparse-index", "history"]], 1);
}

#[test]
fn clones_that_lack_objects_take_records() {
    let origin = Fixture::new();
    let commit = measured_commit(&origin.store()).unwrap().unwrap();
    origin.append(&[Record::from_run(&run_of(1, commit))], minute(1));
    let loaded = |name: &str, option: &str| {
        let clone = origin.cloned(name, &["--no-checkout", option]);
        clone.record(2);
        clone.load()
    };
    let shallow = loaded("shallow", "--depth=1");
    assert_eq!(shallow.runs.len(), 2);
    let text = "1 run measured commits that this repository does not hold (squashed, or a shallow clone)";
    assert_eq!(shallow.warnings, [text]);
    let blobless = loaded("blobless", "--filter=blob:none");
    assert_eq!((blobless.runs.len(), blobless.quarantined.len()), (1, 1));
    assert_eq!(blobless.quarantined[0].reason, FileFault::Absent("its content"));
}

#[test]
fn a_shallow_clone_that_ends_at_a_record_measures_no_commit() {
    let origin = Fixture::new();
    origin.record(1);
    let shallow = origin.cloned("shallow", &["--depth=1"]);
    let error = measured_commit(&shallow.store()).unwrap_err();
    assert!(matches!(error, HistoryError::Shallow), "{error}");
    assert!(error.hint().unwrap().contains("fetch-depth"));
    assert_eq!(commit_line(&shallow.store(), None).unwrap().commits, []);
    shallow.git(&["fetch", "--quiet", "--depth=2"]);
    let measured = measured_commit(&shallow.store()).unwrap().unwrap();
    assert_eq!((measured.subject.as_str(), measured.parents.len()), ("Add one", 1));
    let line = commit_line(&shallow.store(), None).unwrap();
    assert_eq!((line.commits.len(), line.shallow), (1, true));
}

// Appends that meet other writers.

#[test]
fn an_append_that_loses_the_race_retries() {
    let check = |losses: usize| {
        let fixture = Fixture::new();
        let mut lost = 0;
        let mut watch = |step| {
            if step == Step::CommitWritten && lost < losses {
                let commit = ["commit", "--quiet", "--allow-empty", "-m", "Faster"];
                lost += usize::from(try_git_in(&fixture.root, &commit).0);
            }
        };
        let appended = fixture.append_watched(&mut watch);
        assert_eq!((appended.added.len(), appended.warnings.len()), (1, 0));
        assert_eq!((fixture.load().runs.len(), fixture.status()), (1, String::new()));
        assert_eq!(fixture.git(&["log", "-1", "--format=%s"]), run(1).subject());
        assert_eq!(fixture.git(&["rev-list", "--count", "HEAD"]), (3 + lost).to_string());
        lost
    };
    assert_eq!(check(3), 3);
    // Who is always faster has to wait in the end.
    assert!(check(usize::MAX) > 3);
}

#[test]
fn an_append_builds_upon_a_branch_that_another_writer_makes_first() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let branch = target(&store, Some("records")).unwrap();
    let mut watch = |step| {
        if step == Step::CommitWritten && !try_git_in(&fixture.root, &["rev-parse", "--verify", "records"]).0 {
            fixture.git(&["branch", "records", "main"]);
        }
    };
    append_watched(&store, &branch, &records(1..2), minute(1), &mut watch).unwrap();
    assert_eq!(fixture.git(&["rev-list", "--count", "records"]), "3");
}

#[test]
fn two_writers_of_one_record_leave_it_once() {
    let fixture = Fixture::new();
    let record = records(1..2).remove(0);
    let mut lost = false;
    let mut watch = |step| {
        if step == Step::CommitWritten && !lost {
            lost = true;
            fixture.commit(&record.path, std::str::from_utf8(&record.bytes).unwrap(), "By hand");
        }
    };
    let appended = fixture.append_watched(&mut watch);
    assert_eq!((appended.commit, appended.present.len()), (None, 1));
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}

#[test]
fn a_ref_that_cannot_move_is_an_error() {
    let fixture = Fixture::new();
    let head = fixture.head();
    fixture.write(".git/refs/heads/main.lock", "");
    let error = fixture.try_append(&records(1..2)).unwrap_err();
    assert!(matches!(error, HistoryError::Contended { .. }), "{error}");
    assert!(error.hint().unwrap().contains("refs/heads/main.lock"));
    fs::remove_file(fixture.root.join(".git/refs/heads/main.lock")).unwrap();
    // A branch cannot lie below another one.
    let below = target(&fixture.store(), Some("main/records")).unwrap();
    append(&fixture.store(), &below, &records(1..2), minute(1)).unwrap_err();
    assert_eq!((fixture.head(), fixture.status()), (head, String::new()));
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}

#[test]
fn a_git_commit_between_two_steps_removes_no_record() {
    for tried_after in [Step::Journalled, Step::IndexLocked, Step::RefMoved, Step::FilePlaced, Step::IndexReady] {
        let fixture = Fixture::new();
        fixture.write("README", "staged\n");
        fixture.git(&["add", "README"]);
        let mut committed = false;
        let mut watch = |step| {
            if step == tried_after && !committed {
                committed = try_git_in(&fixture.root, &["commit", "--quiet", "-m", "Between"]).0;
            }
        };
        let appended = fixture.append_watched(&mut watch);
        assert_eq!(committed, tried_after == Step::Journalled, "{tried_after:?}");
        assert_eq!(appended.warnings, [""; 0], "{tried_after:?}");
        try_git_in(&fixture.root, &["commit", "--quiet", "-m", "After"]);
        let loaded = fixture.load();
        assert_eq!((loaded.runs.len(), fixture.status()), (1, String::new()), "{tried_after:?}");
        assert_eq!(fixture.git(&["rev-list", "--count", "HEAD"]), "4", "{tried_after:?}");
    }
}

#[test]
fn a_record_that_a_commit_removes_while_the_index_cannot_be_locked_is_named() {
    let fixture = Fixture::new();
    fixture.write(".git/index.lock", "");
    let mut watch = |step| {
        if step == Step::RefMoved {
            fs::remove_file(fixture.root.join(".git/index.lock")).unwrap();
            fixture.git(&["commit", "--quiet", "-m", "Between"]);
        }
    };
    let appended = fixture.append_watched(&mut watch);
    assert!(appended.warnings.iter().any(|warning| warning.contains("record it again")), "{:?}", appended.warnings);
    assert_eq!(fixture.load().runs.len(), 0);
    assert_eq!(fixture.record(1).added.len(), 1);
    assert_eq!((fixture.load().runs.len(), fixture.status()), (1, String::new()));
}

#[test]
fn git_commits_in_a_loop_remove_no_record() {
    let count = rounds(10, 30) as i64;
    let fixture = Fixture::new();
    let (done, commits) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let committed = try_git_in(&fixture.root, &["commit", "--quiet", "--allow-empty", "-m", "Loop"]).0;
                commits.fetch_add(usize::from(committed), Ordering::Relaxed);
            }
        });
        while commits.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        let appended: Result<Vec<_>, _> =
            (0..count).map(|number| fixture.try_append(&records(number..number + 1))).collect();
        done.store(true, Ordering::Relaxed);
        appended.unwrap();
    });
    let loaded = fixture.load();
    assert_eq!((loaded.runs.len(), loaded.quarantined.len()), (count as usize, 0));
    assert_eq!(fixture.status(), "");
    fixture.fsck();
}

// What is read does not depend on how git packs the history, nor on what is cached.

/// More records than are read in the order given without a look at the packs.
const RECORDS: i64 = 90;

#[test]
fn packing_changes_nothing_that_is_read() {
    let fixture = Fixture::new();
    fixture.append(&records(0..60), minute(0));
    // Files that are not records, among those that are.
    for number in [7, 60, 33] {
        let record = records(1000 + number..1001 + number).remove(0);
        fixture.write(&record.path, &String::from_utf8_lossy(&record.bytes[..100 + number as usize]));
    }
    commit(&fixture);
    fixture.append(&records(60..RECORDS), minute(1));
    let seen = || {
        let (store, target) = (fixture.store(), fixture.target());
        let entries = list(&store, &target).unwrap().entries;
        let read = read(&store, &entries).unwrap();
        let paths = read.iter().map(|record| record.as_ref().map_or_else(|bad| &bad.path, |good| &good.path));
        assert!(paths.eq(entries.iter().map(|entry| &entry.path)));
        let loaded = fixture.load();
        (read, loaded.runs.len(), loaded.quarantined, checked(&fixture).findings)
    };
    let before = seen();
    assert_eq!((before.1, before.2.len()), (RECORDS as usize, 3));
    assert!(before.3.len() >= 3, "{:?}", before.3);
    for arguments in [&["repack", "-dq"][..], &["repack", "-adq"], &["repack", "-adfq", "--depth=1"]] {
        fixture.git(arguments);
        assert_eq!(seen(), before, "{arguments:?}");
    }
}

#[test]
fn cached_folders_are_listed_as_they_are() {
    let fixture = Fixture::new();
    let (store, target) = (fixture.store(), fixture.target());
    let read = |cache: &FolderCache| {
        let (listing, news) = list_cached(&store, &target, cache.clone()).unwrap();
        assert_eq!(listing, list(&store, &target).unwrap());
        news
    };
    assert_eq!(read(&FolderCache::default()), None, "there is no history");
    fixture.append(&records(0..9), minute(0));
    let first = read(&FolderCache::default()).expect("something is new");
    assert_eq!(FolderCache::from_text(&first.to_text()).as_ref(), Some(&first));
    assert_eq!(read(&first), None);
    fixture.append(&records(9..12), minute(9));
    let second = read(&first).expect("something is new");
    assert_ne!(second, first);
    assert_eq!(read(&second), None);
    // A folder that holds something else is read each time, so that a warning names it.
    let path = records(0..1).remove(0).path;
    fixture.commit(&format!("{}/notes.txt", path.rsplit_once('/').unwrap().0), "mine", "Add notes");
    let third = read(&second).expect("something is new");
    assert_eq!(list(&store, &target).unwrap().quarantined.len(), 1);
    assert_eq!(third.len(), second.len() - 1);
    assert_eq!(read(&third), None);
}

// Event records, which lie next to the runs.

#[test]
fn events_are_appended_and_read() {
    assert_eq!(Fixture::empty(&[]).event_files(), PlainFiles::default());
    let fixture = Fixture::new();
    fixture.record(1);
    assert_eq!(fixture.event_files(), PlainFiles::default());
    let later = EventRecord { time: "2027-01-31T23:59:59Z".parse().unwrap(), ..opened(1) };
    let [first, second, third, fourth] = [opened(1), later, opened(2), retracted(2)].each_ref().map(Record::from_event);
    let mut expected = [&first, &second, &third, &fourth].map(|one| (one.path.clone(), one.bytes.clone()));
    let subject = || fixture.git(&["log", "-1", "--format=%s"]);
    fixture.append(&[first], minute(9));
    assert_eq!(subject(), "sprag: event e-000001 opened at cccccccccccc");
    fixture.append(&[fourth, third], minute(9));
    assert_eq!(subject(), "sprag: event e-000002 opened, event e-000002 retracted at cccccccccccc");
    fixture.append(&[second], minute(9));
    expected.sort();
    let events = fixture.event_files();
    assert_eq!((&events.files[..], events.quarantined.len()), (&expected[..], 0));
    // The working tree has them, and is not what is read.
    assert_eq!(fixture.status(), "");
    fs::remove_dir_all(fixture.root.join("history")).unwrap();
    fixture.write("history/v1/_events/2026/05/x.json", "{}\n");
    assert_eq!(fixture.event_files(), events);
}

#[cfg(unix)]
#[test]
fn what_is_no_plain_file_among_the_events_is_quarantined() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let fixture = Fixture::new();
    let good = Record::from_event(&opened(1));
    let lost = Record::from_event(&opened(2));
    fixture.append(&[good.clone(), lost.clone()], minute(9));
    let folder = "history/v1/_events/2026/05";
    let place = |name: &str| fixture.root.join(folder).join(name);
    symlink("/etc/passwd", place("link.json")).unwrap();
    for name in ["run.json", "deep/er.json", "misnamed.json"] {
        fixture.write(&format!("{folder}/{name}"), "{}\n");
    }
    fs::set_permissions(place("run.json"), fs::Permissions::from_mode(0o755)).unwrap();
    fixture.write("history/v1/_events/.gitattributes", "* -diff\n");
    fixture.git(&["add", "--all", "--force"]);
    let submodule = format!("160000,{},{folder}/module", fixture.head());
    fixture.git(&["update-index", "--add", "--cacheinfo", &submodule]);
    fixture.git(&["commit", "--quiet", "-m", "Odd"]);
    fs::remove_file(fixture.object(&format!("HEAD:{}", lost.path))).unwrap();
    let events = fixture.event_files();
    // Whoever reads the content judges the name.
    let expected = [(good.path, good.bytes), (format!("{folder}/misnamed.json"), b"{}\n".to_vec())];
    assert_eq!(events.files, expected);
    let reasons: Vec<String> = events.quarantined.iter().map(|one| one.reason.to_string()).collect();
    let quarantined: Vec<(&str, &str)> = events
        .quarantined
        .iter()
        .zip(&reasons)
        .map(|(one, reason)| (&one.path[folder.len() + 1..], &**reason))
        .collect();
    let expected = [
        ("deep", "is a folder, where a record is a plain file"),
        (
            &lost.path[folder.len() + 1..],
            "cannot be read: its content is not in this repository, as in a partial clone",
        ),
        ("link.json", "is a symbolic link, where a record is a plain file"),
        ("module", "is a submodule, where a record is a plain file"),
        ("run.json", "is an executable file, where a record is a plain file"),
    ];
    assert_eq!(quarantined, expected);
    for path in ["history", "history/v1", "history/v1/_events"] {
        let fixture = Fixture::new();
        fixture.commit(path, "a file\n", "Add a file");
        let events = fixture.event_files();
        let [file] = &events.quarantined[..] else { panic!("{events:?}") };
        assert_eq!((events.files.len(), file.path.as_str()), (0, path));
        assert_eq!(file.reason.to_string(), "is a file, where a folder of records is expected");
    }
}
