//! Runs of past months that leave the branch, and clones of which one has archived them.

use crate::archive::archive_watched;
use crate::state::Step;
use crate::testing::{Fixture, checked, checked_against, die_after, file, minute, record, repaired, run};
use crate::tests::syncing::{shared, sync};
use crate::{
    Leaf, PastMonths, Record, SyncError, Target, archive, archived_runs, archives, check_note, entries, list,
    past_months,
};
use sprag_base::digest::Digest;
use sprag_model::archive::Archive;
use sprag_model::fsck::{FindingKind, FsckStatus, Met};
use sprag_model::merkle::MerkleTree;

/// Numbers of runs of February and of March; those below are of January.
pub(super) const FEBRUARY: i64 = 40_000;
pub(super) const MARCH: i64 = 82_000;

fn past(fixture: &Fixture, end: &str) -> PastMonths {
    past_months(&fixture.store(), &fixture.target(), &|_, month| month < end).unwrap()
}

/// The runs of months before `end`, and a note about them.
pub(super) fn leaving(fixture: &Fixture, end: &str) -> (Vec<Leaf>, Archive) {
    let past = past(fixture, end);
    let at = Target { reference: past.commit.clone(), ..fixture.target() };
    let all = entries(&fixture.store(), &at).unwrap();
    let mut runs: Vec<Leaf> = past.months.iter().flat_map(|month| month.entries.clone()).collect();
    runs.sort_by(|a, b| a.path.cmp(&b.path));
    let digest = |run: &Leaf| all.runs.iter().find(|other| other.path == run.path).unwrap().digest;
    let root = MerkleTree::from_leaves(runs.iter().map(digest)).root();
    let note = Archive {
        schema_version: 1,
        file: Archive::file_name("2026", &root),
        bytes: 1,
        sha256: Digest::from_parts(&[b"a file"]),
        runs: runs.len() as u64,
        root,
        history_root: all.tree.root(),
        history_size: all.tree.len() as u64,
        commit: past.commit,
        folders: past.months.into_iter().map(|month| (month.folder, month.tree)).collect(),
        time: minute(200_000),
        restored: false,
    };
    (runs, note)
}

pub(super) fn as_record(note: &Archive) -> Record {
    let (path, bytes, subject) = note.to_file();
    Record::auxiliary(path, bytes, subject)
}

pub(super) fn archived(fixture: &Fixture, end: &str) -> Archive {
    archived_as(fixture, end, &|_| {})
}

/// With a note that was changed.
pub(super) fn archived_as(fixture: &Fixture, end: &str, change: &dyn Fn(&mut Archive)) -> Archive {
    let (runs, mut note) = leaving(fixture, end);
    change(&mut note);
    let (_, warnings) =
        archive(&fixture.store(), &fixture.target(), &runs, &[as_record(&note)], minute(200_000)).unwrap();
    assert_eq!(warnings, [""; 0]);
    note
}

fn restored(fixture: &Fixture, note: &Archive, numbers: &[i64]) {
    let mut records: Vec<Record> = numbers.iter().map(|number| Record::from_run(&run(*number))).collect();
    records.push(as_record(&Archive { restored: true, time: minute(200_001), ..note.clone() }));
    fixture.append(&records, minute(200_001));
}

pub(super) fn numbers(fixture: &Fixture) -> Vec<String> {
    list(&fixture.store(), &fixture.target()).unwrap().entries.into_iter().map(|entry| entry.path).collect()
}

pub(super) fn paths(numbers: &[i64]) -> Vec<String> {
    let mut paths: Vec<String> = numbers.iter().map(|number| file(*number).0).collect();
    paths.sort();
    paths
}

fn history() -> Fixture {
    let fixture = Fixture::new();
    record(&fixture, &[run(1), run(2)]);
    record(&fixture, &[run(FEBRUARY), run(MARCH)]);
    fixture
}

#[test]
fn the_root_stays_and_what_left_is_not_lost() {
    let fixture = history();
    let before = checked(&fixture);
    let note = archived(&fixture, "03");
    assert_eq!((note.runs, Archive::months([&note])), (3, "2026-01 to 2026-02".to_owned()));
    assert_eq!((numbers(&fixture), fixture.status()), (paths(&[MARCH]), String::new()));
    assert_eq!(fixture.git(&["log", "-1", "--format=%s"]), "sprag: archive 3 runs of 2026-01 to 2026-02");
    let after = checked_against(&fixture, before.root);
    assert_eq!((after.root, after.entries, after.runs, after.archived), (before.root, 4, 1, 3));
    assert_eq!(after.against.unwrap().met, Met::Beginning);
    assert!(after.findings.iter().all(|finding| finding.kind == FindingKind::Clock), "{:#?}", after.findings);
    assert!(after.findings.iter().any(|one| one.path == Some(note.to_file().0)), "{:#?}", after.findings);
    assert_eq!(repaired(&fixture).commit, None);
    let listing = list(&fixture.store(), &fixture.target()).unwrap();
    assert_eq!((listing.absent, listing.quarantined), (vec![note.clone()], Vec::new()));
    assert!(past(&fixture, "03").months.is_empty());
    // Where the runs are back, the note no longer applies.
    restored(&fixture, &note, &[1, 2, FEBRUARY]);
    assert_eq!(numbers(&fixture), paths(&[1, 2, FEBRUARY, MARCH]));
    let back = checked(&fixture);
    assert_eq!((back.root, back.runs, back.archived), (before.root, 4, 0));
    fixture.remove(&file(1).0);
    assert_eq!(checked(&fixture).findings[0].kind, FindingKind::Lost);
}

#[test]
fn a_note_of_another_history_covers_and_proves_nothing() {
    for change in FORGERIES {
        let fixture = history();
        archived_as(&fixture, "02", &change);
        let (report, all) = (checked(&fixture), paths(&[1, 2, FEBRUARY, MARCH]));
        let kinds: Vec<FindingKind> = report.findings.iter().take(3).map(|finding| finding.kind).collect();
        let expected = [FindingKind::Lost, FindingKind::Lost, FindingKind::Name];
        assert_eq!((report.status, &kinds[..], report.archived), (FsckStatus::Damaged, &expected[..], 0));
        repaired(&fixture);
        let after = checked(&fixture);
        assert_eq!((numbers(&fixture), after.archived), (all, 0));
        assert_ne!(after.status, FsckStatus::Damaged, "{:#?}", after.findings);
    }
}

/// The first ones show in the runs of the months themselves.
pub(super) const FORGERIES: [fn(&mut Archive); 5] = [
    |note| *note.folders.values_mut().next().unwrap() = "0".repeat(40),
    |note| note.runs += 1,
    |note| {
        note.root = Digest::from_parts(&[b"other"]);
        note.file = Archive::file_name("2026", &note.root);
    },
    |note| note.history_root = note.root,
    |note| note.history_size += 9,
];

#[test]
fn a_sync_takes_no_run_by_a_note_that_does_not_fit() {
    let no_commit: fn(&mut Archive) = |note| note.commit = "0".repeat(40);
    for (number, change) in FORGERIES[..3].iter().chain([&no_commit]).enumerate() {
        let (a, b) = two();
        let note = archived_as(&a, "02", change);
        a.git(&["push", "-q", "origin", "main"]);
        let error = sync(&b, 1).unwrap_err();
        assert!(matches!(&error, SyncError::Lost { lost, .. } if lost.len() == 2) && error.is_integrity(), "{error}");
        let is_named = error.to_string().contains("counts for nothing: `history/v1/_archive/");
        assert!(is_named || number == 0, "{error}");
        assert_eq!(numbers(&b), paths(&[1, 2, FEBRUARY, MARCH]));
        // Without its commit, the note may be of a history that was rewritten.
        if number == 3 {
            assert_eq!(repaired(&a).commit, None);
            restored(&a, &note, &[1, 2]);
        }
        repaired(&a);
        sync(&a, 1).unwrap();
        sync(&b, 1).unwrap();
        agree([&a, &b], &[1, 2, FEBRUARY, MARCH]);
    }
}

#[test]
fn runs_that_were_archived_twice_count_once() {
    let fixture = history();
    archived(&fixture, "03");
    record(&fixture, &[run(1)]);
    let report = checked(&fixture);
    assert_eq!((report.runs, report.archived, report.entries), (2, 2, 4));
    archived(&fixture, "03");
    let report = checked(&fixture);
    assert_eq!((report.runs, report.archived, report.entries), (1, 3, 4));
    let listing = list(&fixture.store(), &fixture.target()).unwrap();
    assert_eq!((listing.absent.len(), listing.absent_runs), (2, 3));
    assert_ne!(report.status, FsckStatus::Damaged, "{:#?}", report.findings);
}

#[test]
fn what_the_branch_no_longer_has_is_not_archived_twice() {
    let fixture = history();
    let (runs, note) = leaving(&fixture, "02");
    archived(&fixture, "02");
    let head = fixture.head();
    let second = archive(&fixture.store(), &fixture.target(), &runs, &[as_record(&note)], minute(200_000));
    assert!(second.unwrap_err().to_string().contains("another process took"));
    assert_eq!((fixture.head(), fixture.status()), (head, String::new()));
}

/// Archiving that dies after any step leaves the state before it or after it, also in a working tree with changes of the user.
#[test]
fn every_step_leaves_before_or_after() {
    let steps =
        [Step::Locked, Step::CommitWritten, Step::Journalled, Step::IndexLocked, Step::RefMoved, Step::CaughtUp];
    for fatal in steps {
        let fixture = history();
        fixture.write("staged", "staged\n");
        fixture.git(&["add", "staged"]);
        fixture.write("untracked", "x\n");
        let (status, before) = (fixture.status(), fixture.head());
        let (runs, note) = leaving(&fixture, "03");
        let notes = [as_record(&note)];
        let (store, target) = (fixture.store(), fixture.target());
        die_after(fatal, |watch| archive_watched(&store, &target, &runs, &notes, minute(200_000), watch));
        let is_after = matches!(fatal, Step::RefMoved | Step::CaughtUp);
        let expected = if is_after { paths(&[MARCH]) } else { paths(&[1, 2, FEBRUARY, MARCH]) };
        assert_eq!((numbers(&fixture), fixture.head() != before), (expected, is_after), "{fatal:?}");
        assert_eq!(fixture.status(), status, "{fatal:?}");
        assert_eq!(fixture.root.join(file(1).0).exists(), !is_after, "{fatal:?}");
        assert!(!fixture.root.join(".git/index.lock").exists());
        if !is_after {
            archived(&fixture, "03");
        }
        assert_eq!((numbers(&fixture), fixture.status()), (paths(&[MARCH]), status), "{fatal:?}");
        assert_ne!(checked(&fixture).status, FsckStatus::Damaged, "{fatal:?}");
        fixture.fsck();
    }
}

#[test]
fn a_wrong_note_is_not_restored_from() {
    for change in &FORGERIES[..] {
        let fixture = history();
        let note = archived_as(&fixture, "02", change);
        let error = check_note(&fixture.store(), &fixture.target(), &note).unwrap_err();
        assert!(error.to_string().contains("the note of `runs-2026-"), "{error}");
    }
    let fixture = history();
    check_note(&fixture.store(), &fixture.target(), &archived(&fixture, "02")).unwrap();
}

#[test]
fn a_branch_that_cannot_move_gets_its_files_back() {
    let fixture = history();
    let (runs, note) = leaving(&fixture, "03");
    let (store, target, head) = (fixture.store(), fixture.target(), fixture.head());
    let mut watch = |step| {
        // Another commit is faster, and takes the runs away.
        if step == Step::IndexLocked && fixture.head() == head {
            let other = fixture.git(&["commit-tree", "-p", "HEAD", "-m", "Remove", "HEAD~2^{tree}"]);
            fixture.git(&["update-ref", "refs/heads/main", &other]);
        }
    };
    let ended = archive_watched(&store, &target, &runs, &[as_record(&note)], minute(200_000), &mut watch);
    assert!(ended.unwrap_err().to_string().contains("another process took"));
    // The other commit dropped them, and `fsck` knows.
    assert_eq!(checked(&fixture).findings[0].kind, FindingKind::Lost);
    repaired(&fixture);
    assert_eq!((numbers(&fixture), fixture.status()), (paths(&[1, 2, FEBRUARY, MARCH]), String::new()));
    assert!(!fixture.root.join(".git/index.lock").exists());
}

#[test]
fn a_clone_archives_only_what_the_remote_has() {
    let (fixture, _) = shared();
    record(&fixture, &[run(1), run(MARCH)]);
    let never = past_months(&fixture.store(), &fixture.target(), &|_, _| true).unwrap_err();
    assert!(matches!(never, SyncError::NeverSynced { .. }), "{never}");
    sync(&fixture, 1).unwrap();
    record(&fixture, &[run(2), run(FEBRUARY)]);
    let past = past(&fixture, "03");
    assert_eq!(past.months.iter().map(|month| month.entries.len()).collect::<Vec<_>>(), [1]);
    archived(&fixture, "03");
    assert_eq!(numbers(&fixture), paths(&[2, FEBRUARY, MARCH]));
}

/// Two clones of one remote that have the same runs.
pub(super) fn two() -> (Fixture, Fixture) {
    let (a, remote) = shared();
    record(&a, &[run(1), run(2), run(FEBRUARY), run(MARCH)]);
    sync(&a, 1).unwrap();
    let b = remote.cloned("b", &[]);
    sync(&b, 1).unwrap();
    (a, b)
}

#[track_caller]
pub(super) fn agree(clones: [&Fixture; 2], expected: &[i64]) {
    for clone in clones {
        assert_eq!((numbers(clone), clone.status()), (paths(expected), String::new()));
        assert_ne!(checked(clone).status, FsckStatus::Damaged, "{:#?}", checked(clone).findings);
    }
}

#[test]
fn what_one_clone_archived_leaves_the_other_and_comes_back_from_neither() {
    let (a, b) = two();
    // Both have runs that the other does not know, also of an archived month.
    record(&b, &[run(3), run(MARCH + 1)]);
    archived(&a, "03");
    record(&a, &[run(MARCH + 2)]);
    sync(&a, 1).unwrap();
    let synced = sync(&b, 1).unwrap();
    assert_eq!((synced.sent, synced.received), (paths(&[3, MARCH + 1]), 2));
    sync(&a, 1).unwrap();
    agree([&a, &b], &[3, MARCH, MARCH + 1, MARCH + 2]);
    assert!(!b.root.join(file(1).0).exists());
    // And so it stays.
    for clone in [&a, &b] {
        let synced = sync(clone, 1).unwrap();
        assert_eq!((synced.sent.len(), synced.received), (0, 0));
    }
}

#[test]
fn an_archive_that_others_overtook_is_united_with_their_runs() {
    let (a, b) = two();
    archived(&a, "03");
    record(&b, &[run(3), run(MARCH + 1)]);
    sync(&b, 1).unwrap();
    let synced = sync(&a, 1).unwrap();
    assert_eq!((synced.sent.len(), synced.received), (1, 2));
    assert_eq!(a.git(&["log", "-1", "--format=%s"]), "sprag: archive 3 runs of 2026-01 to 2026-02");
    sync(&b, 1).unwrap();
    agree([&a, &b], &[3, MARCH, MARCH + 1]);
}

#[test]
fn clones_that_archived_the_same_agree() {
    let (a, b) = two();
    archived(&a, "03");
    archived(&b, "02");
    for clone in [&a, &b, &a] {
        sync(clone, 1).unwrap();
    }
    agree([&a, &b], &[MARCH]);
    assert_eq!(list(&a.store(), &a.target()).unwrap().absent.len(), 2);
}

#[test]
fn restored_runs_reach_the_other_clone() {
    let (a, b) = two();
    let note = archived(&a, "03");
    sync(&a, 1).unwrap();
    sync(&b, 1).unwrap();
    restored(&b, &note, &[1, 2, FEBRUARY]);
    assert_eq!(sync(&b, 1).unwrap().sent.len(), 4);
    sync(&a, 1).unwrap();
    agree([&a, &b], &[1, 2, FEBRUARY, MARCH]);
    // One that was never without them hears of both notes at once.
    let c = a.at("remote.git").cloned("c", &[]);
    sync(&c, 1).unwrap();
    agree([&a, &c], &[1, 2, FEBRUARY, MARCH]);
}

/// Whichever clone heard of the other first, and whatever their clocks say: the clone that archived had not seen the other.
#[test]
fn of_notes_that_two_clones_made_that_which_restores_decides() {
    let all = [1, 2, FEBRUARY, MARCH];
    for time in [-40_000_000, 199_999, 200_001, 200_002, 40_000_000] {
        for is_restored_first in [true, false] {
            let (a, b) = two();
            let unsent = || drop(archived_as(&a, "03", &|note| note.time = minute(time)));
            if is_restored_first {
                unsent();
            }
            let note = archived(&b, "03");
            sync(&b, 1).unwrap();
            if !is_restored_first {
                unsent();
            }
            restored(&b, &note, &all[..3]);
            let order = if is_restored_first { [&b, &a, &b] } else { [&a, &b, &a] };
            order.iter().for_each(|clone| drop(sync(clone, 1).unwrap()));
            agree([&a, &b], &all);
        }
    }
}

#[test]
fn partial_clones_get_the_notes() {
    let (a, _) = two();
    let remote = a.at("remote.git");
    let early = remote.cloned("early", &["--filter=blob:none"]);
    sync(&early, 1).unwrap();
    archived(&a, "03");
    sync(&a, 1).unwrap();
    sync(&early, 1).unwrap();
    agree([&a, &early], &[MARCH]);
    // Before it has the note, a clone cannot tell what left.
    let late = remote.cloned("late", &["--filter=blob:none", "--bare"]);
    let report = checked(&late);
    assert_ne!(report.status, FsckStatus::Damaged, "{:#?}", report.findings);
    let words = report.findings.iter().find(|finding| finding.kind == FindingKind::Incomplete).unwrap().what.clone();
    assert!(words.contains("were not checked"), "{words}");
    let error = archives(&late.store(), &late.target()).unwrap_err();
    assert!(error.to_string().contains("lacks 1 note of an archive"), "{error}");
    assert!(error.hint().unwrap().contains("--refetch"));
    // It says what is missing, and how to get that.
    for (options, words, hint) in [
        (&["--filter=blob:none"][..], "the contents of some runs", "--refetch"),
        (&["--filter=blob:none", "--depth=1"], "earlier commits with the runs", "--unshallow"),
    ] {
        let clone = remote.cloned(&format!("{}-options", options.len()), options);
        let note = archives(&clone.store(), &clone.target()).unwrap().remove(0);
        let error = archived_runs(&clone.store(), &note).unwrap_err();
        assert!(error.to_string().contains(words) && error.hint().unwrap().contains(hint), "{error}");
    }
}

#[test]
fn runs_in_git_come_back_without_their_snapshot() {
    let fixture = history();
    let note = archived(&fixture, "03");
    let (store, target) = (fixture.store(), fixture.target());
    let mut records = archived_runs(&store, &note).unwrap();
    records.push(as_record(&Archive { restored: true, time: minute(200_001), ..note.clone() }));
    fixture.append(&records, minute(200_001));
    assert_eq!((numbers(&fixture), fixture.status()), (paths(&[1, 2, FEBRUARY, MARCH]), String::new()));
    assert_eq!(archives(&store, &target).unwrap().len(), 1);
    let other = Archive { runs: 9, ..note };
    assert!(archived_runs(&store, &other).unwrap_err().to_string().contains("does not fit the runs"));
}

#[test]
fn runs_that_a_commit_removed_without_a_note_stay_an_error() {
    let (a, b) = two();
    archived(&a, "03");
    a.remove(&file(MARCH).0);
    assert!(matches!(sync(&a, 1), Err(SyncError::LostHere { paths, .. }) if paths == [file(MARCH).0]));
    a.git(&["push", "-q", "origin", "main"]);
    match sync(&b, 1) {
        Err(SyncError::Lost { lost, .. }) => assert_eq!(lost, [file(MARCH).0]),
        other => panic!("{other:?}"),
    }
    assert_eq!(numbers(&b), paths(&[1, 2, FEBRUARY, MARCH]));
}

#[test]
fn an_archive_of_commits_that_the_remote_never_had_is_not_sent() {
    let alone = history();
    let note = archived(&alone, "03");
    let (a, remote) = shared();
    record(&a, &[run(MARCH + 5)]);
    sync(&a, 1).unwrap();
    alone.git(&["remote", "add", "origin", &format!("file://{}", remote.root.display())]);
    let error = sync(&alone, 1).unwrap_err();
    assert!(matches!(error, SyncError::ArchivedApart { .. }) && !error.is_integrity(), "{error}");
    assert_eq!(numbers(&alone), paths(&[MARCH]));
    restored(&alone, &note, &[1, 2, FEBRUARY]);
    sync(&alone, 1).unwrap();
    sync(&a, 1).unwrap();
    agree([&alone, &a], &[1, 2, FEBRUARY, MARCH, MARCH + 5]);
}
