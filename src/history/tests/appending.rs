//! Appending records and loading them back.

use std::sync::Arc;

use proptest::prelude::*;

use crate::testing::{Fixture, git_in, isolated, minute, run, run_of};
use crate::{HistoryError, Record, append, commit_line, heal, load, measured_commit, target};
use sprag_model::run::{Run, RunStatus};

#[test]
fn a_record_becomes_a_commit_a_file_and_an_index_entry() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let run = run_of(1, measured_commit(&store).unwrap().unwrap());
    let target = target(&store, None).unwrap();
    let appended = append(&store, &target, &[Record::from_run(&run)], minute(5)).unwrap();
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
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let records: Vec<Record> = (0..3).map(|number| Record::from_run(&run(number))).collect();
    append(&store, &target, &records, minute(1)).unwrap();
    assert_eq!(fixture.git(&["log", "-1", "--format=%s"]), "sprag: 3 records");
    assert_eq!(fixture.git(&["rev-list", "--count", "HEAD"]), "3");
    assert_eq!(fixture.status(), "");
    let times: Vec<_> = fixture.load().runs.into_iter().map(|run| run.run.timestamp).collect();
    assert_eq!(times, [minute(0), minute(1), minute(2)]);
}

#[test]
fn appending_again_is_nothing_to_do() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    fixture.record(1);
    let head = fixture.head();
    let again = fixture.append(&[Record::from_run(&run(1))], minute(9));
    assert_eq!((again.commit, again.added.len(), again.present.len()), (None, 0, 1));
    assert_eq!(fixture.head(), head);
    let more = append(&store, &target, &[Record::from_run(&run(1)), Record::from_run(&run(2))], minute(9)).unwrap();
    assert_eq!((more.added.len(), more.present.len()), (1, 1));
    assert!(more.commit.is_some());
}

#[test]
fn what_loading_would_refuse_is_refused() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let head = fixture.head();
    let good = Record::from_run(&run(1));
    let check = |path: &str, bytes: &[u8]| {
        let record = Record { path: path.to_owned(), bytes: bytes.to_vec(), subject: "x".to_owned() };
        let error = append(&store, &target, &[record], minute(1)).unwrap_err();
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
    assert_eq!(append(&store, &target, &twice, minute(1)).unwrap().added.len(), 1);
}

#[test]
fn the_history_is_append_only() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let aside = |text: &str| Record {
        path: "history/v1/_notes/1.json".to_owned(),
        bytes: text.as_bytes().to_vec(),
        subject: "sprag: note".to_owned(),
    };
    let target = target(&store, None).unwrap();
    append(&store, &target, &[aside("one")], minute(1)).unwrap();
    let head = fixture.head();
    let error = append(&store, &target, &[aside("two")], minute(1)).unwrap_err();
    assert!(matches!(error, HistoryError::Different { .. }), "{error}");
    let below = Record { path: "history/v1/_notes/1.json/2".to_owned(), ..aside("x") };
    let error = append(&store, &target, &[below], minute(1)).unwrap_err();
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

fn any_run() -> impl Strategy<Value = Run> {
    let words = ("[a-z][a-z0-9._-]{0,8}", "\\PC{0,20}", "[a-zA-Z0-9 ]{1,12}");
    let numbers = (0i64..4_000_000, proptest::collection::vec(1e-9f64..1e3, 0..5));
    (words, numbers, any::<bool>()).prop_map(|((suite, reason, machine), (minutes, values), ok)| {
        let mut run = run(minutes);
        run.suite = suite.clone();
        run.machine = sprag_model::environment::Machine::named(&machine, &reason);
        run.status = if ok { RunStatus::Ok } else { RunStatus::Skipped };
        run.reason = Some(format!("because {reason}"));
        Arc::make_mut(&mut run.measurements[0].benchmark).suite = suite;
        run.measurements[0].estimates[0].workers = values;
        run
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_is_appended_is_what_loads(runs in proptest::collection::vec(any_run(), 1..6)) {
        let fixture = Fixture::empty(&["--bare"]);
        let store = fixture.store();
        let target = target(&store, None).unwrap();
        let records: Vec<Record> = runs.iter().map(Record::from_run).collect();
        append(&store, &target, &records, minute(1)).unwrap();
        let loaded = fixture.load();
        prop_assert_eq!(&loaded.quarantined, &[]);
        let mut expected: Vec<_> = runs.iter().map(|run| (run.timestamp, run.to_record().1, run.clone())).collect();
        expected.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        expected.dedup_by(|a, b| a.1 == b.1);
        let found: Vec<_> = loaded.runs.into_iter().map(|run| (run.run.timestamp, run.path, run.run)).collect();
        prop_assert_eq!(found, expected);
    }
}
