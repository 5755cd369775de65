//! Appending records and loading them back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{fs, thread};

use crate::append::append_watched;
use crate::state::Step;
use crate::testing::{Fixture, git_in, isolated, minute, rounds, run, run_of, try_git_in};
use crate::{
    EventFiles, FolderCache, HistoryError, Record, append, commit_line, entries, event_files, fsck, heal, list,
    list_cached, load, measured_commit, read, target,
};
use sprag_model::event_record::EventRecord;
use sprag_model::event_record::example::{opened, retracted};

#[test]
fn a_record_becomes_a_commit_a_file_and_an_index_entry() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let run = run_of(1, measured_commit(&store).unwrap().unwrap());
    let appended = fixture.append(&[Record::from_run(&run)], minute(5));
    assert_eq!(appended.commit.as_deref(), Some(fixture.head().as_str()));
    assert_eq!((appended.author.as_str(), appended.stand_in), ("sprag <sprag@localhost>", true));
    assert_eq!(appended.warnings, [""; 0]);
    let (id, path, bytes) = run.to_record();
    assert_eq!(appended.added, std::slice::from_ref(&path));
    assert_eq!(std::fs::read(fixture.root.join(&path)).unwrap(), bytes);
    assert_eq!(fixture.status(), "");
    assert_eq!(fixture.git(&["diff-files", "--name-only"]), "");
    assert_eq!(fixture.git(&["log", "-1", "--format=%s|%an|%ct"]), format!("{}|sprag|1767600300", run.subject()));
    let loaded = fixture.load();
    assert_eq!((loaded.runs[0].path.as_str(), loaded.runs[0].id.as_str()), (path.as_str(), id.as_str()));
    assert_eq!(loaded.runs[0].run, run);
    assert_eq!((loaded.quarantined.len(), loaded.warnings.len()), (0, 0));
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
    assert!(!fixture.root.join(".git/sprag/staged").exists());
    fixture.fsck();
}

#[test]
fn gits_configuration_names_the_author() {
    let fixture = Fixture::new();
    fixture.git(&["config", "user.name", "Grace"]);
    fixture.git(&["config", "user.email", "grace@example.com"]);
    let appended = fixture.record(1);
    assert_eq!((appended.author.as_str(), appended.stand_in), ("Grace <grace@example.com>", false));
}

#[test]
fn several_records_become_one_commit() {
    let fixture = Fixture::new();
    let records: Vec<Record> = (0..3).map(|number| Record::from_run(&run(number))).collect();
    fixture.append(&records, minute(1));
    assert_eq!(fixture.git(&["log", "-1", "--format=%s"]), "sprag: 3 records");
    assert_eq!(fixture.git(&["rev-list", "--count", "HEAD"]), "3");
    assert_eq!(fixture.status(), "");
    let times: Vec<_> = fixture.load().runs.into_iter().map(|run| run.run.timestamp).collect();
    assert_eq!(times, [minute(0), minute(1), minute(2)]);
}

#[test]
fn appending_again_is_nothing_to_do() {
    let fixture = Fixture::new();
    fixture.record(1);
    let head = fixture.head();
    let again = fixture.append(&[Record::from_run(&run(1))], minute(9));
    assert_eq!((again.commit, again.added.len(), again.present.len()), (None, 0, 1));
    assert_eq!(fixture.head(), head);
    let more = fixture.append(&[Record::from_run(&run(1)), Record::from_run(&run(2))], minute(9));
    assert_eq!((more.added.len(), more.present.len()), (1, 1));
    assert!(more.commit.is_some());
}

#[test]
fn what_loading_would_refuse_is_refused() {
    let fixture = Fixture::new();
    let head = fixture.head();
    let good = Record::from_run(&run(1));
    let check = |path: &str, bytes: &[u8]| {
        let record = Record { path: path.to_owned(), bytes: bytes.to_vec(), subject: "x".to_owned() };
        let error = fixture.try_append(&[record]).unwrap_err();
        assert!(matches!(error, HistoryError::BadRecord { .. }), "{error}");
    };
    check(&good.path, b"{}\n");
    check(&good.path, &good.bytes[..good.bytes.len() - 1]);
    check(&good.path.replace("/cpu/", "/gpu/"), &good.bytes);
    check("src/lib.rs", &good.bytes);
    check("history/v1/../../src/lib.rs", &good.bytes);
    check("history/v1/_events/.git/x", b"x");
    check("history/v1/_events/", b"x");
    check("history/v1/_events", b"x");
    let mut hidden = run(1);
    hidden.suite = "_events".to_owned();
    Arc::make_mut(&mut hidden.measurements[0].benchmark).suite = "_events".to_owned();
    let hidden = Record::from_run(&hidden);
    check(&hidden.path, &hidden.bytes);
    let twice = [good.clone(), good.clone()];
    assert_eq!(fixture.head(), head);
    assert_eq!(fixture.append(&twice, minute(1)).added.len(), 1);
}

#[test]
fn the_history_is_append_only() {
    let fixture = Fixture::new();
    let aside = |text: &str| Record {
        path: "history/v1/_notes/1.json".to_owned(),
        bytes: text.as_bytes().to_vec(),
        subject: "sprag: note".to_owned(),
    };
    fixture.append(&[aside("one")], minute(1));
    let head = fixture.head();
    let error = fixture.try_append(&[aside("two")]).unwrap_err();
    assert!(matches!(error, HistoryError::Different { .. }), "{error}");
    let below = Record { path: "history/v1/_notes/1.json/2".to_owned(), ..aside("x") };
    let error = fixture.try_append(&[below]).unwrap_err();
    assert!(matches!(error, HistoryError::NotAFolder { .. }), "{error}");
    assert_eq!((fixture.head(), fixture.status()), (head, String::new()));
    assert_eq!(fixture.load().runs.len(), 0);
}

#[test]
fn what_the_user_has_under_way_stays() {
    let fixture = Fixture::new();
    fixture.commit("both", "one\n", "Add both");
    fixture.write("src/lib.rs", "fn unstaged() {}\n");
    fixture.write("staged", "staged\n");
    fixture.write("both", "two\n");
    fixture.git(&["add", "staged", "both"]);
    fixture.write("both", "three\n");
    fixture.write("untracked", "x\n");
    fixture.git(&["rm", "--quiet", "README"]);
    fixture.git(&["update-index", "--assume-unchanged", "src/lib.rs"]);
    fixture.git(&["update-index", "--no-assume-unchanged", "src/lib.rs"]);
    let (status, staged) = (fixture.status(), fixture.git(&["diff", "--cached"]));
    fixture.record(1);
    assert_eq!((fixture.status(), fixture.git(&["diff", "--cached"])), (status, staged));
    fixture.git(&["commit", "--quiet", "-m", "What was staged"]);
    assert_eq!(fixture.load().runs.len(), 1);
}

#[test]
fn a_change_that_is_as_young_as_the_index_is_still_seen() {
    let fixture = Fixture::new();
    // Same size, and written in the same second as the index: only the content tells.
    fixture.git(&["config", "core.checkStat", "minimal"]);
    let touch = |path: &str| {
        let file = std::fs::File::options().write(true).open(fixture.root.join(path)).unwrap();
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
fn odd_indexes_are_kept_or_warned_about() {
    let check = |settings: &[&[&str]], warnings: usize| {
        let fixture = Fixture::new();
        settings.iter().for_each(|setting| drop(fixture.git(setting)));
        let store = fixture.store();
        let appended = fixture.record(1);
        assert_eq!(appended.warnings.len(), warnings, "{settings:?}: {:?}", appended.warnings);
        assert_eq!(fixture.load().runs.len(), 1);
        assert_eq!(heal(&store).unwrap().warnings, [""; 0]);
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
fn clones_with_less_than_everything_take_records() {
    let origin = Fixture::new();
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let store = origin.store();
    let commit = measured_commit(&store).unwrap().unwrap();
    let record = Record::from_run(&run_of(1, commit));
    append(&store, &target(&store, None).unwrap(), &[record], minute(1)).unwrap();
    let url = format!("file://{}", origin.root.display());
    let clone = |name: &str, option: &str| {
        let path = origin.sibling(name);
        git_in(&origin.root, &["clone", "--quiet", "--no-checkout", option, &url, path.to_str().unwrap()]);
        let store = isolated(&path);
        let target = target(&store, None).unwrap();
        append(&store, &target, &[Record::from_run(&run(2))], minute(2)).unwrap();
        load(&store, &target).unwrap()
    };
    let shallow = clone("shallow", "--depth=1");
    assert_eq!(shallow.runs.len(), 2);
    let text = "1 run measured commits that this repository does not hold (squashed, or a shallow clone)";
    assert_eq!(shallow.warnings, [text]);
    let blobless = clone("blobless", "--filter=blob:none");
    assert_eq!((blobless.runs.len(), blobless.quarantined.len()), (1, 1));
    assert!(blobless.quarantined[0].reason.contains("partial clone"), "{:?}", blobless.quarantined);
}

#[test]
fn a_shallow_clone_that_ends_at_a_record_cannot_tell_what_it_measures() {
    let origin = Fixture::new();
    origin.record(1);
    let shallow = origin.sibling("shallow");
    let url = format!("file://{}", origin.root.display());
    git_in(&origin.root, &["clone", "--quiet", "--depth=1", &url, shallow.to_str().unwrap()]);
    let error = measured_commit(&isolated(&shallow)).unwrap_err();
    assert!(matches!(error, HistoryError::Shallow), "{error}");
    assert!(error.hint().unwrap().contains("fetch-depth"));
    assert_eq!(commit_line(&isolated(&shallow), None).unwrap().commits, []);
    git_in(&shallow, &["fetch", "--quiet", "--depth=2"]);
    let store = isolated(&shallow);
    let measured = measured_commit(&store).unwrap().unwrap();
    assert_eq!((measured.subject.as_str(), measured.parents.len()), ("Add one", 1));
    let line = commit_line(&store, None).unwrap();
    assert_eq!((line.commits.len(), line.shallow), (1, true));
}

// Appends that meet other writers.

#[test]
fn racing_appends_all_arrive() {
    let fixture = Fixture::new();
    thread::scope(|scope| {
        for writer in 0..8 {
            let root = &fixture.root;
            scope.spawn(move || {
                let store = isolated(root);
                let target = target(&store, None).unwrap();
                for number in 0..5 {
                    let record = Record::from_run(&run(writer * 100 + number));
                    let appended = append(&store, &target, &[record], minute(number)).unwrap();
                    assert_eq!(appended.warnings, [""; 0]);
                }
            });
        }
    });
    let loaded = fixture.load();
    assert_eq!((loaded.runs.len(), loaded.quarantined.len()), (40, 0));
    assert_eq!(fixture.git(&["rev-list", "--count", "HEAD"]), "42");
    assert_eq!(fixture.status(), "");
    fixture.fsck();
}

#[test]
fn a_lost_race_reads_the_tip_again() {
    let fixture = Fixture::new();
    let mut losses = 0;
    let mut watch = |step| {
        if step == Step::CommitWritten && losses < 3 {
            losses += 1;
            fixture.commit("src/lib.rs", &format!("fn lost_{losses}() {{}}\n"), "Faster");
        }
    };
    fixture.append_watched(&mut watch);
    assert_eq!(losses, 3);
    assert_eq!(fixture.git(&["rev-list", "--count", "HEAD"]), "6");
    assert_eq!(fixture.git(&["log", "-1", "--format=%s"]), run(1).subject());
    assert_eq!((fixture.load().runs.len(), fixture.status()), (1, String::new()));
}

#[test]
fn a_branch_that_another_writer_makes_first_is_built_upon() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let records = target(&store, Some("records")).unwrap();
    let mut lost = false;
    let mut watch = |step| {
        if step == Step::CommitWritten && !lost {
            lost = true;
            fixture.git(&["branch", "records", "main"]);
        }
    };
    append_watched(&store, &records, &[Record::from_run(&run(1))], minute(1), &mut watch).unwrap();
    assert_eq!(fixture.git(&["rev-list", "--count", "records"]), "3");
}

#[test]
fn who_is_always_faster_has_to_wait_in_the_end() {
    let fixture = Fixture::new();
    let mut commits = 0;
    let mut watch = |step| {
        if step == Step::CommitWritten {
            let commit = ["commit", "--quiet", "--allow-empty", "-m", "Faster"];
            commits += usize::from(try_git_in(&fixture.root, &commit).0);
        }
    };
    let appended = fixture.append_watched(&mut watch);
    assert!(commits > 1, "{commits}");
    assert_eq!((appended.added.len(), appended.warnings), (1, Vec::new()));
    assert_eq!((fixture.load().runs.len(), fixture.status()), (1, String::new()));
}

#[test]
fn the_same_record_from_two_writers_is_there_once() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = fixture.target();
    let record = Record::from_run(&run(1));
    let mut lost = false;
    let mut watch = |step| {
        if step == Step::CommitWritten && !lost {
            lost = true;
            fixture.commit(&record.path, std::str::from_utf8(&record.bytes).unwrap(), "By hand");
        }
    };
    let appended = append_watched(&store, &target, std::slice::from_ref(&record), minute(1), &mut watch).unwrap();
    assert_eq!((appended.commit, appended.present.len()), (None, 1));
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}

#[test]
fn a_ref_that_stays_locked_is_an_error_with_a_hint() {
    let fixture = Fixture::new();
    let head = fixture.head();
    fixture.write(".git/refs/heads/main.lock", "");
    let error = fixture.try_append(&[Record::from_run(&run(1))]).unwrap_err();
    assert!(matches!(error, HistoryError::Contended { .. }), "{error}");
    assert!(error.hint().unwrap().contains("refs/heads/main.lock"));
    std::fs::remove_file(fixture.root.join(".git/refs/heads/main.lock")).unwrap();
    assert_eq!((fixture.head(), fixture.status()), (head, String::new()));
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}

#[test]
fn a_branch_below_another_one_is_an_error() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let below = target(&store, Some("main/records")).unwrap();
    append(&store, &below, &[Record::from_run(&run(1))], minute(1)).unwrap_err();
}

#[test]
fn a_commit_of_gits_between_two_steps_takes_no_record_away() {
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
fn a_record_that_a_commit_takes_out_where_the_index_could_not_be_locked_is_named() {
    let fixture = Fixture::new();
    fixture.write(".git/index.lock", "");
    let mut watch = |step| {
        if step == Step::RefMoved {
            std::fs::remove_file(fixture.root.join(".git/index.lock")).unwrap();
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
fn commits_of_gits_in_a_loop_take_no_record_away() {
    let records = rounds(10, 30) as i64;
    let fixture = Fixture::new();
    let (done, commits) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let committed = try_git_in(&fixture.root, &["commit", "--quiet", "--allow-empty", "-m", "Loop"]).0;
                commits.fetch_add(usize::from(committed), Ordering::Relaxed);
            }
        });
        let appended: Result<Vec<_>, _> =
            (0..records).map(|number| fixture.try_append(&[Record::from_run(&run(number))])).collect();
        done.store(true, Ordering::Relaxed);
        appended.unwrap();
    });
    let loaded = fixture.load();
    assert_eq!((loaded.runs.len(), loaded.quarantined.len()), (records as usize, 0));
    assert!(commits.load(Ordering::Relaxed) > 0);
    assert_eq!(fixture.status(), "");
    fixture.fsck();
}

// How git packs a history changes nothing of what is read from it, nor in which order it is given.

/// More records than are read in the order given without a look at the packs.
const RECORDS: i64 = 90;

#[test]
fn what_is_read_and_found_is_the_same_however_the_history_is_packed() {
    let fixture = Fixture::new();
    let target = fixture.target();
    let records: Vec<Record> = (0..RECORDS).map(|number| Record::from_run(&run(number))).collect();
    let (first, last) = records.split_at(60);
    fixture.append(first, minute(0));
    // Files that are no records, among those that are.
    for number in [7, 60, 33] {
        let record = Record::from_run(&run(1000 + number));
        fixture.write(&record.path, &String::from_utf8_lossy(&record.bytes[..100 + number as usize]));
    }
    fixture.git(&["add", "--all"]);
    fixture.git(&["commit", "--quiet", "-m", "Change the history"]);
    fixture.append(last, minute(1));
    let seen = || {
        let store = fixture.store();
        let entries = list(&store, &target).unwrap().entries;
        let read = read(&store, &entries).unwrap();
        let paths: Vec<String> = read
            .iter()
            .map(|record| record.as_ref().map_or_else(|bad| bad.path.clone(), |good| good.path.clone()))
            .collect();
        assert!(paths.iter().eq(entries.iter().map(|entry| &entry.path)));
        let loaded = fixture.load();
        let found = fsck(&store, &target, minute(2), None).unwrap().findings;
        (read, loaded.runs.len(), loaded.quarantined, found)
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
fn folders_that_are_known_are_listed_as_they_are() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = fixture.target();
    let add = |numbers: std::ops::Range<i64>| {
        let records: Vec<Record> = numbers.clone().map(|number| Record::from_run(&run(number))).collect();
        fixture.append(&records, minute(numbers.start));
    };
    let read = |known: &FolderCache| {
        let (listing, news) = list_cached(&store, &target, known.clone()).unwrap();
        assert_eq!(listing, list(&store, &target).unwrap());
        news
    };
    assert_eq!(read(&FolderCache::default()), None, "there is no history");
    add(0..9);
    let first = read(&FolderCache::default()).expect("something is new");
    assert_eq!(FolderCache::from_text(&first.to_text()).as_ref(), Some(&first));
    assert_eq!(read(&first), None);
    add(9..12);
    let second = read(&first).expect("something is new");
    assert_ne!(second, first);
    assert_eq!(read(&second), None);
    // A folder that holds something else is read each time, as what is odd about it has to be told.
    let path = Record::from_run(&run(0)).path;
    let folder = path.rsplit_once('/').unwrap().0;
    fixture.write(&format!("{folder}/notes.txt"), "mine");
    fixture.git(&["add", "--all"]);
    fixture.git(&["commit", "--quiet", "-m", "Add notes"]);
    let third = read(&second).expect("something is new");
    assert_eq!(list(&store, &target).unwrap().quarantined.len(), 1);
    assert_eq!(third.len(), second.len() - 1);
    assert_eq!(read(&third), None);
}

// Event records beside the runs: appended, read, and refused.

fn read_events(fixture: &Fixture) -> EventFiles {
    let store = fixture.store();
    event_files(&store, &fixture.target()).unwrap()
}

#[test]
fn events_are_appended_and_read_and_runs_do_not_see_them() {
    assert_eq!(read_events(&Fixture::empty(&[])), EventFiles::default());
    let fixture = Fixture::new();
    assert_eq!(read_events(&fixture), EventFiles::default());
    fixture.append(&[Record::from_run(&run(1))], minute(9));
    assert_eq!(read_events(&fixture), EventFiles::default());
    let seen = |fixture: &Fixture| {
        let store = fixture.store();
        let target = fixture.target();
        let (loaded, entries) = (fixture.load(), entries(&store, &target).unwrap());
        (loaded.runs, loaded.quarantined, loaded.warnings, entries.runs, entries.tree.root())
    };
    let before = seen(&fixture);
    let later = EventRecord { time: "2027-01-31T23:59:59Z".parse().unwrap(), ..opened(1) };
    let told = [opened(1), later, opened(2), retracted(2)];
    let [first, second, third, fourth] = told.each_ref().map(Record::from_event);
    let subject = || fixture.git(&["log", "-1", "--format=%s"]);
    fixture.append(&[first], minute(9));
    assert_eq!(subject(), "sprag: event e-000001 opened at cccccccccccc");
    fixture.append(&[fourth, third], minute(9));
    assert_eq!(subject(), "sprag: event e-000002 opened, event e-000002 retracted at cccccccccccc");
    fixture.append(&[second], minute(9));
    assert_eq!(seen(&fixture), before);

    let found = read_events(&fixture);
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
    assert_eq!(read_events(&fixture), found);
}

#[test]
fn what_is_no_event_record_is_not_recorded() {
    let fixture = Fixture::new();
    let head = fixture.head();
    let good = Record::from_event(&opened(1));
    let check = |path: &str, bytes: &[u8], words: &str| {
        let record = Record { path: path.to_owned(), bytes: bytes.to_vec(), subject: "x".to_owned() };
        match fixture.try_append(&[Record::from_run(&run(1)), record]) {
            Err(HistoryError::BadRecord { path: blamed, reason }) => {
                assert!(blamed == path && reason.contains(words), "{blamed}: {reason}");
            }
            other => panic!("{path}: {other:?}"),
        }
    };
    check(&good.path, b"{}\n", "is not an event record");
    check(&good.path, &Record::from_event(&opened(2)).bytes, "bears the event `e-000001` in its path");
    check(&good.path.replace("/05/", "/06/"), &good.bytes, "bears the month `06`");
    check("history/v1/_events/x.json", &good.bytes, "is not named `_events/");
    assert_eq!(fixture.head(), head);
}

#[cfg(unix)]
#[test]
fn what_is_no_plain_file_is_told_and_the_others_are_read() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let fixture = Fixture::new();
    let good = Record::from_event(&opened(1));
    fixture.append(std::slice::from_ref(&good), minute(9));
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
    let found = read_events(&fixture);
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
    fixture.append(&records, minute(9));
    let id = fixture.git(&["rev-parse", &format!("HEAD:{}", records[0].path)]);
    fs::remove_file(fixture.root.join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
    let found = read_events(&fixture);
    assert_eq!(found.files, [(records[1].path.clone(), records[1].bytes.clone())]);
    let [gone] = &found.quarantined[..] else { panic!("{found:?}") };
    assert!(gone.path == records[0].path && gone.reason.starts_with("cannot be read"), "{gone:?}");

    for path in ["history", "history/v1", "history/v1/_events"] {
        let fixture = Fixture::new();
        fixture.commit(path, "a file\n", "Add a file");
        let found = read_events(&fixture);
        let [file] = &found.quarantined[..] else { panic!("{found:?}") };
        assert_eq!((found.files.len(), file.path.as_str()), (0, path));
        assert_eq!(file.reason, "is a file, where a folder of records is expected");
    }
}
