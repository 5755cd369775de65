//! Two clones of a history that is damaged, and repaired in one of them or in both: syncs unite them again, no run is lost, and no
//! valid note is set aside.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::archive::archive_watched;
use crate::fsck::repair::repair_watched;
use crate::state::Step;
use crate::testing::{Fixture, checked, commit, die_after, file, minute, record, repaired, run};
use crate::tests::archiving::{FEBRUARY, FORGERIES, MARCH, agree, archived, archived_as, as_record, leaving};
use crate::tests::archiving::{numbers, paths, two};
use crate::tests::syncing::{sync, sync_with};
use crate::{AfterRewrite, HistoryError, Leaf, Record, SyncOptions, archive, archives, fsck, repair};
use sprag_base::digest::Digest;
use sprag_model::archive::Archive;
use sprag_model::fsck::{FindingKind, FsckReport, FsckStatus};

/// Commits damage to a history of which January was archived by this note.
type Damage = fn(&Fixture, &Archive);

const DAMAGES: [(&str, Damage); 20] = [
    ("a note of trees that never were", |a, _| drop(archived_as(a, "03", &FORGERIES[0]))),
    ("a note of other runs", |a, _| drop(archived_as(a, "03", &FORGERIES[2]))),
    ("a note of another size of the history", |a, _| drop(archived_as(a, "03", &FORGERIES[4]))),
    ("a later note of the same snapshot", |a, note| {
        add(a, Archive { history_size: 9, time: minute(200_001), ..note.clone() });
    }),
    ("a later note of the same months", |a, note| {
        let root = Digest::from_parts(&[b"other"]);
        let file = Archive::file_name("2026", &root);
        add(a, Archive { file, root, time: minute(200_001), ..note.clone() });
    }),
    ("a wrong note that was removed", |a, _| {
        let note = archived_as(a, "03", &FORGERIES[4]);
        a.remove(&note.to_file().0);
    }),
    ("a wrong note of a restoration", |a, note| {
        add(a, Archive { history_size: 9, time: minute(200_001), restored: true, ..note.clone() });
    }),
    ("an executable record", |a, _| {
        executable(a, &file(FEBRUARY).0);
    }),
    ("an executable note", |a, note| {
        executable(a, &note.to_file().0);
    }),
    ("a link in the place of a record", |a, _| {
        let place = a.root.join(file(FEBRUARY).0);
        fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink("README", place).unwrap();
        commit(a);
    }),
    ("a record that was changed", |a, _| drop(a.commit(&file(FEBRUARY).0, "{}\n", "Change a record"))),
    ("a record that was removed", |a, _| a.remove(&file(FEBRUARY).0)),
    ("a note that was changed", |a, note| drop(a.commit(&note.to_file().0, "{}\n", "Change a note"))),
    ("a note that was removed", |a, note| a.remove(&note.to_file().0)),
    ("a file that is no record", |a, _| {
        let path = "history/v1/cpu/2026/01/0123456789ab-01234567-0123456789abcdef.json";
        a.commit(path, "{}\n", "Add a file");
    }),
    ("a file that is no note", |a, _| {
        a.commit("history/v1/_archive/2026/01/0123456789abcdef.json", "{}\n", "Add a file");
    }),
    ("a file with another name", |a, _| drop(a.commit("history/v1/cpu/2026/01/Readme", "words\n", "Add a file"))),
    ("a submodule in the place of a record", |a, _| link(a, &file(FEBRUARY).0)),
    ("a submodule next to the records", |a, _| {
        link(a, "history/v1/cpu/2026/01/0123456789ab-01234567-0123456789abcdef.json")
    }),
    ("a suite that differs in case", |a, _| {
        let mut run = run(2);
        run.suite = "CPU".to_owned();
        Arc::make_mut(&mut run.measurements[0].benchmark).suite = run.suite.clone();
        let record = Record::from_run(&run);
        a.commit(&record.path, str::from_utf8(&record.bytes).unwrap(), "Shout");
    }),
];

fn executable(fixture: &Fixture, path: &str) {
    fixture.git(&["update-index", "--chmod=+x", path]);
    fixture.git(&["commit", "-q", "-m", "Change a mode"]);
    fixture.git(&["checkout", "-q", "--", "."]);
}

/// Commits a link to a submodule, with the folder that a checkout makes of it.
fn link(fixture: &Fixture, path: &str) {
    let _ = fs::remove_file(fixture.root.join(path));
    fixture.git(&["update-index", "--add", "--replace", "--cacheinfo", &format!("160000,{},{path}", fixture.head())]);
    fixture.git(&["commit", "-q", "-m", "Add a submodule"]);
    fs::create_dir_all(fixture.root.join(path)).unwrap();
}

fn with_archive() -> (Fixture, Fixture, Archive) {
    let (a, b) = two();
    let note = archived(&a, "02");
    sync(&a, 1).unwrap();
    sync(&b, 1).unwrap();
    (a, b, note)
}

/// The clones next to one, and their remote, in another place.
fn copied(fixture: &Fixture) -> (Fixture, Fixture) {
    let a = Fixture::nothing();
    let [from, to] = [fixture, &a].map(|fixture| fixture.root.parent().unwrap());
    assert!(Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap().success());
    let b = a.at("b");
    b.git(&["remote", "set-url", "origin", "../remote.git"]);
    (a, b)
}

fn add(fixture: &Fixture, note: Archive) {
    let none: [Leaf; 0] = [];
    archive(&fixture.store(), &fixture.target(), &none, &[as_record(&note)], minute(200_000)).unwrap();
}

#[test]
fn two_clones_agree_after_a_repair_in_one_or_both() {
    let (a, _b, note) = with_archive();
    // Most of the time goes into waiting for the disk.
    thread::scope(|scope| {
        for (name, damage) in DAMAGES {
            let (a, note) = (&a, &note);
            scope.spawn(move || {
                for way in WAYS {
                    check(&copied(a), note, name, damage, way);
                }
            });
        }
    });
}

/// Whether the other clone has the damage, too, by a pull or by a sync, and which ones repair it.
const WAYS: [(bool, bool, &[usize]); 5] =
    [(false, false, &[0]), (true, false, &[1]), (true, false, &[0, 1]), (false, true, &[0]), (false, true, &[1])];

fn check(
    (a, b): &(Fixture, Fixture),
    note: &Archive,
    name: &str,
    damage: Damage,
    (is_pulled, is_synced, repairers): (bool, bool, &[usize]),
) {
    damage(a, note);
    let case = format!("{name}, pulled: {is_pulled}, synced: {is_synced}, repaired by {repairers:?}");
    assert_eq!(checked(a).status, FsckStatus::Damaged, "{case}");
    if !is_synced {
        a.git(&["push", "-q", "origin", "main"]);
    } else if sync(a, 1).is_err() || sync(b, 1).is_err() || checked(b).status != FsckStatus::Damaged {
        // A sync refuses what it can see.
        return;
    }
    if is_pulled {
        b.git(&["pull", "-q", "--ff-only"]);
    }
    record(b, &[run(FEBRUARY + 1)]);
    let clones = [a, b];
    for repairer in repairers {
        repaired(clones[*repairer]);
        let report = checked(clones[*repairer]);
        assert_ne!(report.status, FsckStatus::Damaged, "{case}: {:#?}", report.findings);
    }
    let first = repairers[0];
    for clone in [first, 1 - first, first] {
        sync(clones[clone], 1).unwrap_or_else(|error| panic!("{case}, clone {clone}: {error}"));
    }
    let [one, other] = clones.map(|clone| clone.git(&["rev-parse", "main:history"]));
    assert_eq!(one, other, "{case}");
    agree(clones, &[FEBRUARY, FEBRUARY + 1, MARCH]);
    for clone in clones {
        assert_eq!(archives(&clone.store(), &clone.target()).unwrap(), std::slice::from_ref(note), "{case}");
        assert_eq!(sync(clone, 1).unwrap().sent, [""; 0], "{case}");
    }
}

#[test]
fn the_hint_about_a_change_that_was_pushed_names_the_repair() {
    for (name, damage) in [DAMAGES[7], DAMAGES[10], DAMAGES[11]] {
        let (a, b, note) = with_archive();
        damage(&a, &note);
        a.git(&["push", "-q", "origin", "main"]);
        assert!(sync(&a, 1).unwrap_err().hint().unwrap().contains("run `sprag history fsck --repair` first"), "{name}");
        repaired(&a);
        [&a, &b].iter().for_each(|clone| drop(sync(clone, 1).unwrap()));
        agree([&a, &b], &[FEBRUARY, MARCH]);
    }
}

/// A repair that dies after any step leaves the state before it or after it: no later commit of the user brings the damage back.
#[test]
fn every_step_of_a_repair_leaves_before_or_after() {
    let steps = [
        Step::Locked,
        Step::CommitWritten,
        Step::Journalled,
        Step::IndexLocked,
        Step::RefMoved,
        Step::FilesRemoved,
        Step::FilePlaced,
        Step::IndexReady,
        Step::IndexWritten,
        Step::CaughtUp,
    ];
    let (original, name) = (with_archive().0, std::ffi::OsStr::from_bytes(b"history/v1/cpu/2026/02/\xff.json"));
    for fatal in steps {
        let (a, _) = copied(&original);
        a.git(&["update-index", "--chmod=+x", &file(MARCH).0]);
        a.write(&file(FEBRUARY).0, "{}\n");
        a.write("history/v1/cpu/2026/02/words", "words\n");
        fs::write(a.root.join(name), "x\n").unwrap();
        a.git(&["add", "history/v1/cpu/2026/02"]);
        a.git(&["commit", "-q", "-m", "Damage"]);
        a.git(&["checkout", "-q", "--", "."]);
        a.write("staged", "staged\n");
        a.git(&["add", "staged"]);
        let (store, target, before) = (a.store(), a.target(), a.head());
        die_after(fatal, |watch| repair_watched(&store, &target, minute(24 * 60), watch));
        // The next command ends it, whatever it does.
        assert_eq!(a.store().warnings, [""; 0], "{fatal:?}");
        assert_eq!(a.status(), "A  staged", "{fatal:?}");
        let is_after = a.head() != before;
        a.git(&["commit", "-q", "-a", "-m", "Go on"]);
        assert_eq!(checked(&a).status == FsckStatus::Damaged, !is_after, "{fatal:?}");
        repaired(&a);
        agree([&a, &a], &[FEBRUARY, MARCH]);
        a.fsck();
    }
}

/// The ways to break an object: first those of one in a file of its own, then those of one in a pack.
const WAYS_TO_BREAK: usize = 8;
const LOOSE: usize = 5;

/// Breaks an object that is here, so that git takes it for one that it has.
fn break_object(fixture: &Fixture, revision: &str, way: usize) {
    let file = fixture.object(revision);
    if way < LOOSE {
        let bytes = fs::read(&file).unwrap();
        let other = fs::read(fixture.object("main:README")).unwrap();
        let mut large = Vec::new();
        ZlibDecoder::new(&bytes[..]).read_to_end(&mut large).unwrap();
        large.splice(..large.iter().position(|byte| *byte == 0).unwrap(), *b"blob 55864667");
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&large).unwrap();
        fs::remove_file(&file).unwrap();
        let ways = [b"garbage", &bytes[..bytes.len() / 2], b"", &other, &encoder.finish().unwrap()[..]];
        fs::write(&file, ways[way]).unwrap();
        return;
    }
    fixture.git(&["repack", "-adq"]);
    let id = fixture.git(&["rev-parse", revision]);
    let packs = fs::read_dir(file.parent().unwrap().with_file_name("pack")).unwrap().map(|entry| entry.unwrap().path());
    let pack = packs.into_iter().find(|path| path.extension().is_some_and(|it| it == "pack")).unwrap();
    let listed = fixture.git(&["verify-pack", "-v", &pack.with_extension("idx").to_string_lossy()]);
    let place = listed.lines().find(|line| line.starts_with(&id)).and_then(|line| line.split_whitespace().nth(4));
    let place: usize = place.unwrap().parse().unwrap();
    let mut bytes = fs::read(&pack).unwrap();
    match way {
        // Of a kind that git does not know.
        LOOSE => bytes[place] = bytes[place] & !0x70 | 0x50,
        6 => bytes.truncate(place + 4),
        _ => bytes[place + 8..place + 12].iter_mut().for_each(|byte| *byte ^= 0xff),
    }
    fs::remove_file(&pack).unwrap();
    fs::write(&pack, bytes).unwrap();
}

/// The hints of `fsck` are followed.
#[test]
fn a_broken_object_is_moved_away_and_comes_back_from_the_remote() {
    let (original, ..) = with_archive();
    let (path, text) = file(MARCH);
    thread::scope(|scope| {
        for way in 0..WAYS_TO_BREAK {
            let (original, path, text) = (&original, &path, &text);
            scope.spawn(move || {
                let (a, b) = copied(original);
                break_object(&a, &format!("main:{path}"), way);
                fs::remove_file(a.root.join(path)).unwrap();
                let report = fsck(&a.store(), &a.target(), minute(24 * 60), None);
                assert!(report.is_err() || report.unwrap().status == FsckStatus::Damaged, "{way}");
                let steps = match repair(&a.store(), &a.target(), minute(24 * 60)) {
                    Ok(repaired) => repaired.steps,
                    // A pack that was cut short has lost folders, too.
                    Err(HistoryError::Unrepaired { steps, cause }) if cause.is_damage() => steps,
                    Err(error) => panic!("{way}: {error}"),
                };
                assert!(steps[0].contains("`lost-found/sprag`"), "{way}: {steps:?}");
                if way >= LOOSE {
                    // Other objects of the pack may have been differences of this one.
                    a.git(&["fetch", "-q", "--refetch"]);
                    repaired(&a);
                }
                sync(&a, 1).unwrap_or_else(|error| panic!("{way}: {error}"));
                agree([&a, &b], &[FEBRUARY, MARCH]);
                a.fsck();
                if way >= LOOSE {
                    return;
                }
                break_object(&a, "main:history/v1/cpu/2026/03", way);
                let _ = repair(&a.store(), &a.target(), minute(24 * 60));
                a.git(&["fetch", "-q", "--refetch"]);
                agree([&a, &b], &[FEBRUARY, MARCH]);
                // Recording a run writes its object again, and so does a repair from the file of a working tree.
                break_object(&a, &format!("main:{path}"), way);
                a.append(&[Record::from_run(&run(MARCH))], minute(1));
                assert_eq!(a.git(&["cat-file", "blob", &format!("main:{path}")]) + "\n", *text);
                break_object(&a, &format!("main:{path}"), way);
                repaired(&a);
                agree([&a, &b], &[FEBRUARY, MARCH]);
                a.fsck();
            });
        }
    });
}

/// The folders above the records, of which git reads none without the others.
#[test]
fn a_broken_folder_at_the_tip_is_moved_away_and_comes_back() {
    let (original, ..) = with_archive();
    let suite = "main:history/v1/cpu";
    thread::scope(|scope| {
        for revision in ["main^{tree}", "main:history", "main:history/v1", suite, "main:history/v1/cpu/2026"] {
            let original = &original;
            scope.spawn(move || {
                let (a, b) = copied(original);
                record(&a, &[run(FEBRUARY + 1)]);
                sync(&a, 1).unwrap();
                for is_sent in [true, false] {
                    if !is_sent {
                        record(&a, &[run(FEBRUARY + 2)]);
                    }
                    break_object(&a, revision, 0);
                    let repair = repair(&a.store(), &a.target(), minute(24 * 60));
                    if revision == "main^{tree}" {
                        let error = repair.unwrap_err();
                        let hint = error.hint().unwrap();
                        assert!(error.is_damage() && error.to_string().contains("moved the broken object"), "{error}");
                        assert!(hint.contains("git fetch --refetch") && hint.contains("main@{1}"), "{hint}");
                        let back = ["update-ref", "refs/heads/main", "refs/heads/main@{1}"];
                        a.git(if is_sent { &["fetch", "-q", "--refetch"] } else { &back });
                    } else {
                        let steps = repair.unwrap().steps;
                        assert!(steps[0].contains("`lost-found/sprag`"), "{revision}: {steps:?}");
                        let is_left_out = steps.iter().any(|step| step.starts_with("left out the folder"));
                        assert_eq!(is_left_out, !is_sent, "{revision}: {steps:?}");
                        if is_sent {
                            a.git(&["fetch", "-q", "--refetch"]);
                            assert_ne!(checked(&a).status, FsckStatus::Damaged, "{revision}");
                        }
                    }
                    if !is_sent {
                        let (path, text) = file(FEBRUARY + 2);
                        assert_eq!(fs::read_to_string(a.root.join(path)).unwrap(), text);
                        record(&a, &[run(FEBRUARY + 2)]);
                    }
                    for clone in [&a, &b] {
                        sync(clone, 1).unwrap_or_else(|error| panic!("{revision}, {is_sent}: {error}"));
                    }
                    let expected = [FEBRUARY, FEBRUARY + 1, FEBRUARY + 2, MARCH];
                    let expected: Vec<i64> =
                        expected.into_iter().filter(|number| !is_sent || *number != FEBRUARY + 2).collect();
                    agree([&a, &b], &expected);
                    assert_eq!(a.status(), "", "{revision}, {is_sent}");
                }
            });
        }
    });
}

#[test]
fn a_broken_object_of_another_repository_is_named_with_it() {
    let (a, _) = two();
    let path = file(FEBRUARY).0;
    a.git(&["clone", "-q", "--shared", &a.root.to_string_lossy(), "../shared"]);
    let shared = a.at("shared");
    for way in [0, WAYS_TO_BREAK - 1] {
        break_object(&a, &format!("main:{path}"), way);
        let advice = checked(&shared).findings.into_iter().filter(|one| one.kind == FindingKind::Unreadable);
        assert!(advice.filter_map(|one| one.advice).all(|words| words.starts_with("in the repository of `")));
        let (head, error) = (shared.head(), repair(&shared.store(), &shared.target(), minute(24 * 60)).unwrap_err());
        let folder = a.root.join(".git/objects");
        assert!(error.is_damage() && error.to_string().contains(&folder.display().to_string()), "{error}");
        assert_eq!(shared.head(), head);
        repaired(&a);
        a.git(&["fetch", "-q", "--refetch"]);
        assert_ne!(checked(&shared).status, FsckStatus::Damaged);
    }
}

/// Git fetches nothing while such a commit is broken.
#[test]
fn runs_of_a_broken_commit_that_was_not_sent_are_recorded_once_more() {
    let (a, b) = two();
    record(&a, &[run(FEBRUARY + 1)]);
    record(&a, &[run(FEBRUARY + 2)]);
    break_object(&a, "main~1", 0);
    let advice = || checked(&a).findings.into_iter().find(|one| one.kind == FindingKind::Unreadable)?.advice;
    assert!(advice().is_some_and(|words| words.contains("fsck --repair")));
    assert!(sync(&a, 1).unwrap_err().is_integrity());
    repair(&a.store(), &a.target(), minute(24 * 60)).unwrap();
    assert!(advice().is_some_and(|words| words.contains("history sync") && !words.contains("--repair")));
    for clone in [&a, &b] {
        sync(clone, 1).unwrap();
    }
    agree([&a, &b], &[1, 2, FEBRUARY, FEBRUARY + 1, FEBRUARY + 2, MARCH]);
}

/// What a commit that was not sent names is at no remote.
#[test]
fn a_record_that_a_partial_clone_lost_before_it_was_sent_is_no_promise() {
    let (a, _) = two();
    let remote = a.at("remote.git");
    let partial = remote.cloned("partial", &["--filter=blob:none"]);
    record(&partial, &[run(FEBRUARY + 1)]);
    let path = file(FEBRUARY + 1).0;
    for broken in [partial.object(&format!("main:{path}")), partial.root.join(&path)] {
        fs::remove_file(&broken).unwrap();
        fs::write(broken, "garbage").unwrap();
    }
    assert_eq!(checked(&partial).status, FsckStatus::Damaged);
    repaired(&partial);
    let noted = |report: FsckReport| report.findings.into_iter().find(|one| one.kind == FindingKind::SetAside);
    let advice = noted(checked(&partial)).and_then(|one| one.advice).unwrap();
    assert!(advice.contains("from a repository that has it"), "{advice}");
    record(&partial, &[run(FEBRUARY + 2)]);
    assert_eq!(sync(&partial, 1).unwrap().sent.len(), 2);
    sync(&a, 1).unwrap();
    assert_eq!(numbers(&a).iter().filter(|other| **other == file(FEBRUARY + 2).0).count(), 1);
}

/// As a power cut leaves the object of an append.
#[test]
fn a_run_that_no_commit_has_is_recorded_over_its_broken_object() {
    let (a, _) = two();
    let (path, text) = file(7);
    for way in 0..LOOSE {
        a.write("object", &text);
        let id = a.git(&["hash-object", "-w", "object"]);
        break_object(&a, &id, way);
        fs::remove_file(a.root.join("object")).unwrap();
        let warnings = a.append(&[Record::from_run(&run(7))], minute(1)).warnings;
        assert!(warnings[0].contains("moved the broken object"), "{warnings:?}");
        assert_eq!(a.git(&["cat-file", "blob", &format!("main:{path}")]) + "\n", text);
        a.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
}

/// A user made a run executable; the branch keeps it, as the archive dies before the branch moves.
#[test]
fn a_run_that_the_branch_keeps_stays_whatever_mode_a_user_staged() {
    let (a, _) = two();
    let (path, _) = file(FEBRUARY);
    a.git(&["update-index", "--chmod=+x", &path]);
    a.git(&["checkout-index", "-f", &path]);
    let (staged, head) = (a.status(), a.head());
    let (runs, note) = leaving(&a, "04");
    die_after(Step::Journalled, |watch| {
        archive_watched(&a.store(), &a.target(), &runs, &[as_record(&note)], minute(200_000), watch)
    });
    drop(a.store());
    assert_eq!((a.status(), a.head()), (staged, head));
}

/// Removes the content of that run.
fn lose(fixture: &Fixture, number: i64) {
    let path = file(number).0;
    fs::remove_file(fixture.object(&format!("main:{path}"))).unwrap();
    let _ = fs::remove_file(fixture.root.join(path));
}

#[test]
fn a_content_that_one_clone_lost_comes_back_from_another() {
    let all = [FEBRUARY, FEBRUARY + 1, MARCH];
    for is_pushed in [true, false] {
        let (a, b, _) = with_archive();
        lose(&a, FEBRUARY);
        repaired(&a);
        record(&b, &[run(FEBRUARY + 1)]);
        if is_pushed {
            a.git(&["push", "-q", "origin", "main"]);
        }
        let order = if is_pushed { [&b, &a, &b] } else { [&a, &b, &a] };
        order.iter().for_each(|clone| drop(sync(clone, 1).unwrap()));
        agree([&a, &b], &all);
        assert!(!a.git(&["config", "--list"]).contains("promisor"));
    }
    // The remote lost it.
    let (a, b, _) = with_archive();
    let remote = a.at("remote.git");
    let partial = remote.cloned("partial", &["--filter=blob:none", "--bare"]);
    sync(&partial, 1).unwrap();
    lose(&remote, FEBRUARY);
    repaired(&remote);
    sync(&partial, 1).unwrap();
    assert_eq!(numbers(&partial), paths(&[MARCH]));
    record(&b, &[run(FEBRUARY + 1)]);
    [&b, &a, &partial].iter().for_each(|clone| drop(sync(clone, 1).unwrap()));
    agree([&a, &b], &all);
    assert_eq!((numbers(&partial), numbers(&remote)), (paths(&all), paths(&all)));
    assert_ne!(checked(&remote).status, FsckStatus::Damaged, "{:#?}", checked(&remote).findings);
}

#[test]
fn a_content_that_all_lost_is_let_go_of_once_the_remote_has_no_file_of_it() {
    let (a, b, _) = with_archive();
    let (remote, lost) = (a.at("remote.git"), FEBRUARY + 2);
    record(&a, &[run(lost)]);
    [&a, &b].iter().for_each(|clone| drop(sync(clone, 1).unwrap()));
    [&remote, &a, &b].iter().for_each(|clone| lose(clone, lost));
    repaired(&a);
    assert!(sync(&a, 1).unwrap_err().is_integrity());
    let restore = SyncOptions { after_rewrite: Some(AfterRewrite::Restore), ..SyncOptions::default() };
    assert!(sync_with(&a, 1, &restore).unwrap_err().to_string().contains("cannot be read here or at the remote"));
    repaired(&remote);
    [&a, &b, &a].iter().for_each(|clone| drop(sync(clone, 1).unwrap()));
    agree([&a, &b], &[FEBRUARY, MARCH]);
}

/// As after `git filter-repo`: all commits have other ids, and those before are still there.
#[test]
fn a_rewritten_history_keeps_its_notes() {
    let check = |rewrite: &dyn Fn(&Fixture)| {
        let (a, b, note) = with_archive();
        rewrite(&a);
        for is_collected in [false, true] {
            if is_collected {
                a.git(&["push", "-q", "--force", "origin", "main"]);
                sync(&b, 1).unwrap();
                a.git(&["update-ref", "-d", "refs/sprag/synced/origin/main"]);
                a.git(&["update-ref", "-d", "refs/sprag/fetched/origin/main"]);
                a.git(&["reflog", "expire", "--expire=now", "--all"]);
                a.git(&["gc", "-q", "--prune=now"]);
            }
            let report = checked(&a);
            assert_ne!(report.status, FsckStatus::Damaged, "{:#?}", report.findings);
            let words = format!("the notes of `{}` were not checked", note.file);
            let said = report.findings.iter().find(|finding| finding.what.starts_with(&words)).unwrap();
            assert!(said.advice.as_ref().unwrap().contains("rewritten on purpose"));
            assert_eq!((repaired(&a).commit, numbers(&a)), (None, paths(&[FEBRUARY, MARCH])));
        }
        sync(&a, 1).unwrap();
        agree([&a, &b], &[FEBRUARY, MARCH]);
    };
    check(&|a| drop(a.git(&["rebase", "-q", "--root", "--signoff"])));
    check(&|a| {
        a.git(&["checkout", "-q", "--orphan", "squashed"]);
        a.git(&["commit", "-q", "-m", "Squash"]);
        a.git(&["branch", "-q", "-M", "main"]);
    });
}

#[test]
fn a_clone_that_lacks_a_folder_or_a_run_finds_fault_with_no_note() {
    for revision in ["HEAD~1:history/v1/cpu/2026/01", &format!("HEAD~1:{}", file(1).0)] {
        let (a, b, note) = with_archive();
        // Also one that is wrong.
        add(&a, Archive { history_size: 9, time: minute(200_001), ..note.clone() });
        fs::remove_file(a.object(&revision.replace("HEAD~1", "HEAD~2"))).unwrap();
        let report = checked(&a);
        assert!(report.findings.iter().all(|finding| finding.kind != FindingKind::Name), "{:#?}", report.findings);
        repaired(&a);
        assert_eq!(archives(&a.store(), &a.target()).unwrap()[0].history_size, 9);
        assert_eq!((numbers(&a), numbers(&b)), (paths(&[FEBRUARY, MARCH]), paths(&[FEBRUARY, MARCH])));
    }
}

/// Commits a copy of a file in the quarantine.
fn set_aside(fixture: &Fixture, path: &str, text: &str) {
    let name = path.strip_prefix("history/v1/").unwrap().replace('/', "_");
    let digits = Digest::from_parts(&[text.trim_end().as_bytes()]).short();
    fixture.commit(&format!("history/v1/_quarantine/{digits}/{name}"), text, "Set aside by hand");
}

#[test]
fn a_valid_record_or_note_that_was_moved_to_the_quarantine_stays_an_error() {
    let (a, b, note) = with_archive();
    let (path, bytes, _) = note.to_file();
    let text = String::from_utf8(bytes).unwrap();
    for (path, text) in [file(FEBRUARY), (path, text)] {
        let head = a.head();
        a.git(&["rm", "-q", &path]);
        set_aside(&a, &path, &text);
        assert!(sync(&a, 1).unwrap_err().is_integrity());
        a.git(&["push", "-q", "origin", "main"]);
        assert!(sync(&b, 1).unwrap_err().is_integrity());
        a.git(&["push", "-q", "--force", "origin", &format!("{head}:main")]);
        a.git(&["reset", "-q", "--hard", &head]);
    }
}

#[test]
fn a_content_of_an_archived_run_that_was_lost_is_damage() {
    let (a, _b, _) = with_archive();
    let (path, text) = file(1);
    fs::remove_file(a.object(&format!("HEAD~1:{path}"))).unwrap();
    let report = checked(&a);
    let first = report.findings.first().map(|one| (one.kind, one.path.as_deref(), one.advice.as_deref().unwrap()));
    let (kind, at, advice) = first.unwrap();
    assert_eq!((kind, at), (FindingKind::Unreadable, Some(&*path)));
    assert!(
        advice.starts_with("restore it by `sprag history archive --restore` with its snapshot, or run"),
        "{advice}"
    );
    // As restoring it does.
    a.write("object", &text);
    a.git(&["hash-object", "-w", "object"]);
    fs::remove_file(a.root.join("object")).unwrap();
    assert_ne!(checked(&a).status, FsckStatus::Damaged);
}

#[test]
fn notes_of_a_newer_build_are_left_alone_with_their_runs() {
    let (a, b, _) = with_archive();
    let path = "history/v1/_archive/2026/05/0123456789abcdef.json";
    a.git(&["rm", "-q", &file(FEBRUARY).0]);
    a.commit(path, "{\"schema_version\":2}\n", "Archive as a newer build does");
    let report = checked(&a);
    let findings: Vec<_> = report.findings.iter().map(|one| (one.kind, one.path.as_deref())).collect();
    assert!(findings.contains(&(FindingKind::Newer, Some(path))), "{findings:?}");
    assert!(findings.contains(&(FindingKind::Incomplete, None)) && report.status != FsckStatus::Damaged);
    assert_eq!(repaired(&a).commit, None);
    // What left before or after is not its.
    a.remove(&file(MARCH).0);
    let lost = |report: FsckReport| report.findings.into_iter().find(|one| one.kind == FindingKind::Lost);
    assert_eq!(lost(checked(&a)).and_then(|one| one.path), Some(file(MARCH).0));
    repaired(&a);
    assert_eq!((lost(checked(&a)), numbers(&a)), (None, paths(&[MARCH])));
    a.git(&["push", "-q", "origin", "main"]);
    let error = sync(&b, 1).unwrap_err();
    assert!(error.to_string().contains("has schema version 2"), "{error}");
    assert!(error.hint().unwrap().contains("read newer ones with a newer sprag"));
}

/// What a clone cannot read it takes off no remote, and a copy in quarantine says nothing of the file at its place.
#[test]
fn a_copy_in_quarantine_takes_nothing_off_the_remote() {
    let (a, b, note) = with_archive();
    let remote = a.at("remote.git");
    for (name, how) in [("partial", "--filter=blob:none"), ("shallow", "--depth=1")] {
        sync(&remote.cloned(name, &[how, "--bare"]), 1).unwrap();
    }
    let new = FEBRUARY + 2;
    record(&a, &[run(new)]);
    let (note_path, bytes, _) = note.to_file();
    for (path, text) in [file(new), (note_path, String::from_utf8(bytes).unwrap())] {
        set_aside(&a, &path, &text);
    }
    for clone in [&a, &a.at("partial"), &a.at("shallow"), &b] {
        sync(clone, 1).unwrap();
    }
    assert_eq!(numbers(&b), paths(&[FEBRUARY, new, MARCH]));
    assert_eq!(archives(&b.store(), &b.target()).unwrap(), [note]);
    assert_ne!(checked(&b).status, FsckStatus::Damaged, "{:#?}", checked(&b).findings);
}
