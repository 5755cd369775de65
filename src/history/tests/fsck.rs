//! Everything that counts as damage is found, and put right.

use std::fs;
use std::path::{Path, PathBuf};

use crate::testing::{Fixture, git_in, isolated, minute, run};
use crate::testing::{RUNS, check, checked, checked_against, commit, file, findings, history, record, repaired};
use crate::{Entries, Record, entries, event_files, fsck, repair, target};
use sprag_base::digest::{self, Digest};
use sprag_model::event_record::example::{opened, retracted};
use sprag_model::fsck::{FindingKind, FindingKind as Kind, FsckReport, FsckStatus, Met, Severity};

/// Commits a change of the text of the second record.
fn edit(change: impl Fn(&str) -> String) -> impl Fn(&Fixture) {
    move |fixture: &Fixture| {
        let (path, text) = file(1);
        fixture.write(&path, &change(&text));
        commit(fixture);
    }
}

#[test]
fn a_sound_history_is_clean() {
    let fixture = history();
    let report = checked(&fixture);
    assert_eq!((report.status, report.runs, report.entries), (FsckStatus::Clean, 3, 3), "{report:#?}");
    assert_eq!(repaired(&fixture).steps, [""; 0]);
    assert_eq!(checked(&Fixture::empty(&[])).status, FsckStatus::Clean);
}

#[test]
fn a_text_of_its_own_under_the_name_of_its_digest() {
    let spaced = file(5).1.replace("\":", "\": ");
    let digest = &digest::sha256_hex(spaced.trim_end().as_bytes())[..16];
    let own = run(5).to_record().0;
    let path = file(5).0.replace(&own, digest);
    let fixture = history();
    fixture.write(&path, &spaced);
    commit(&fixture);
    // Its name vouches for it, so loading takes it.
    let loaded = fixture.load();
    assert_eq!((loaded.runs.len() as i64, loaded.quarantined.len()), (RUNS + 1, 0));
    assert_eq!(findings(&checked(&fixture)), [(Kind::NotCanonical, path.clone())]);
    repaired(&fixture);
    assert!(!fixture.root.join(&path).exists());
    assert_ne!(checked(&fixture).status, FsckStatus::Damaged);
}

#[test]
fn content_that_its_name_contradicts() {
    let path = file(1).0;
    let changed = (Kind::Changed, path.as_str());
    check(edit(|text| text.replace("bench-1", "bench-2")), &[changed, (Kind::Name, &path)]);
    check(edit(|text| text.replace("\"n\":20", "\"n\":21")), &[changed, (Kind::Name, &path)]);
    check(edit(|text| text[..200].to_owned()), &[changed, (Kind::Schema, &path)]);
    check(edit(|text| text.replace("\":", "\": ")), &[changed, (Kind::NotCanonical, &path)]);
    check(edit(|text| text.trim_end().to_owned()), &[changed, (Kind::NotCanonical, &path)]);
    check(edit(|text| text.replace("\"schema_version\":1", "\"schema_version\":9")), &[changed, (Kind::Name, &path)]);
}

#[test]
fn what_was_set_aside_is_there_to_the_last_byte() {
    let fixture = check(
        edit(|text| text.replace("\"n\":20", "\"n\":21")),
        &[(Kind::Changed, &file(1).0), (Kind::Name, &file(1).0)],
    );
    let report = checked(&fixture);
    let [place] = &report.quarantined[..] else { panic!("{report:#?}") };
    assert!(place.starts_with("history/v1/_quarantine/") && place.ends_with(".json"), "{place}");
    assert_eq!(fs::read_to_string(fixture.root.join(place)).unwrap(), file(1).1.replace("\"n\":20", "\"n\":21"));
    assert_eq!(fs::read_to_string(fixture.root.join(file(1).0)).unwrap(), file(1).1);
    fixture.fsck();
}

#[test]
fn a_record_that_is_gone_comes_back() {
    let path = file(0).0;
    check(
        |fixture| {
            fixture.git(&["rm", "--quiet", &path]);
            commit(fixture);
        },
        &[(Kind::Lost, &path)],
    );
    // A damaged file that somebody removed by hand is kept all the same.
    let wrong = path.replace("cpu/", "gpu/");
    let fixture = check(
        |fixture| {
            fixture.write(&wrong, "{}\n");
            commit(fixture);
            fixture.git(&["rm", "--quiet", &wrong]);
            commit(fixture);
        },
        &[(Kind::Lost, &wrong)],
    );
    assert_eq!(checked(&fixture).quarantined.len(), 1);
}

#[test]
fn files_that_the_layout_has_no_place_for() {
    let add = |path: &'static str| {
        move |fixture: &Fixture| {
            fixture.write(path, "x\n");
            commit(fixture);
        }
    };
    let cases = [
        ("history/v1/cpu/2026/01/notes.txt", Kind::Unknown),
        ("history/v1/cpu/notes.txt", Kind::Shape),
        ("history/v1/gpu", Kind::Shape),
        ("history/v1/_events/a b", Kind::Unknown),
    ];
    for (path, kind) in cases {
        check(add(path), &[(kind, path)]);
    }
    check(add("history/v1/cpu/2026/01/deep/er/file"), &[(Kind::Shape, "history/v1/cpu/2026/01/deep")]);
    let fixture = history();
    fixture.write("history/v2/x", "x");
    fixture.write("history/other/x", "x");
    fixture.write("history/README", "x");
    fixture.write("history/v1/.gitattributes", "* -text\n");
    commit(&fixture);
    let report = checked(&fixture);
    assert_eq!(
        findings(&report),
        [(Kind::Newer, "history/v2/".to_owned()), (Kind::Foreign, "history/other/".to_owned())]
    );
    assert_eq!(report.status, FsckStatus::Clean);
}

#[test]
fn a_file_in_place_of_the_whole_history() {
    let fixture = Fixture::new();
    fixture.write("history", "x\n");
    commit(&fixture);
    assert_eq!(findings(&checked(&fixture)), [(Kind::Shape, "history".to_owned())]);
    repaired(&fixture);
    let report = checked(&fixture);
    assert_eq!((report.status, report.quarantined.len()), (FsckStatus::Clean, 1));
    assert_eq!(fixture.status(), "");
}

#[cfg(unix)]
#[test]
fn odd_modes() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let path = file(2).0;
    let fixture = check(
        |fixture| {
            fs::set_permissions(fixture.root.join(&path), fs::Permissions::from_mode(0o755)).unwrap();
            commit(fixture);
        },
        &[(Kind::Mode, &path)],
    );
    assert_eq!(checked(&fixture).quarantined, [""; 0]);
    let link = "history/v1/cpu/2026/01/000000000000-01234567-0123456789abcdef.json";
    let fixture = check(
        |fixture| {
            symlink("/etc/passwd", fixture.root.join(link)).unwrap();
            commit(fixture);
        },
        &[(Kind::Mode, link)],
    );
    assert!(!fixture.root.join(link).is_symlink());
    check(
        |fixture| {
            let entry = format!("160000,{},{link}", fixture.head());
            fixture.git(&["update-index", "--add", "--cacheinfo", &entry]);
            fixture.git(&["commit", "--quiet", "-m", "Add a submodule"]);
        },
        &[(Kind::Mode, link)],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf_8() {
    use std::os::unix::ffi::OsStrExt as _;
    let name = std::ffi::OsStr::from_bytes(b"history/v1/cpu/2026/01/\xff.json");
    let fixture = check(
        |fixture| {
            fs::write(fixture.root.join(name), "x\n").unwrap();
            commit(fixture);
        },
        &[(Kind::NotUtf8, "history/v1/cpu/2026/01/\u{fffd}.json")],
    );
    assert!(!fixture.root.join(name).exists());
}

#[test]
fn paths_that_are_one_on_some_file_systems() {
    let path = file(1).0;
    let shouted = path.replace("/cpu/", "/CPU/");
    let fixture = history();
    // Put into the tree by git, since this file system may be one of them.
    let blob = fixture.git(&["rev-parse", &format!("HEAD:{path}")]);
    fixture.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{shouted}")]);
    fixture.git(&["commit", "--quiet", "-m", "Shout"]);
    let report = checked(&fixture);
    let collisions: Vec<_> = report.findings.iter().filter(|finding| finding.kind == Kind::Collision).collect();
    assert_eq!(collisions.len(), 1, "{report:#?}");
    assert_eq!(collisions[0].path.as_deref(), Some("history/v1/CPU"));
    repaired(&fixture);
    assert_eq!(checked(&fixture).count(Severity::Damage), 0);
    assert_eq!(checked(&fixture).runs, RUNS as u64);
}

/// Makes a file writable, and writes it.
fn overwrite(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn objects_that_are_missing_or_broken() {
    let path = file(1).0;
    for broken in [true, false] {
        let fixture = history();
        let root = checked(&fixture).root;
        let id = fixture.git(&["rev-parse", &format!("HEAD:{path}")]);
        let place = fixture.object(&id);
        let sound = fs::read(&place).unwrap();
        if broken {
            overwrite(&place, &sound[..sound.len() / 2]);
        } else {
            fs::remove_file(&place).unwrap();
        }
        let report = checked(&fixture);
        assert_eq!(findings(&report), [(Kind::Unreadable, path.clone())], "{report:#?}");
        assert_eq!((report.status, report.root), (FsckStatus::Damaged, None));
        // The working tree has the bytes.
        let steps = repaired(&fixture).steps;
        assert!(steps[0].contains("anew"), "{steps:?}");
        assert_eq!((checked(&fixture).status, checked(&fixture).root), (FsckStatus::Clean, root));
        fixture.fsck();
        // Nothing has them: a note takes their place, until they come back.
        let place = fixture.object(&id);
        fs::remove_file(&place).unwrap();
        fs::remove_file(fixture.root.join(&path)).unwrap();
        let repair = repaired(&fixture);
        assert!(repair.steps[0].contains("could not be read"), "{repair:?}");
        let report = checked(&fixture);
        assert_ne!(report.status, FsckStatus::Damaged, "{report:#?}");
        assert_eq!((report.runs, report.quarantined.len()), (2, 1));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, &sound).unwrap();
        assert_eq!(findings(&checked(&fixture))[0].0, Kind::Lost);
        repaired(&fixture);
        assert_eq!((checked(&fixture).runs, checked(&fixture).root), (3, root));
        assert_eq!(fixture.status(), "");
    }
}

#[test]
fn a_folder_that_is_missing_is_told() {
    let fixture = history();
    let id = fixture.git(&["rev-parse", "HEAD:history/v1/cpu/2026"]);
    fs::remove_file(fixture.object(&id)).unwrap();
    let report = checked(&fixture);
    assert!(findings(&report).contains(&(Kind::Unreadable, "history/v1/cpu/2026".to_owned())), "{report:#?}");
    assert_eq!(report.root, None);
}

// Event records are held to as those of runs are.

fn event_file() -> (String, String) {
    let record = Record::from_event(&opened(1));
    (record.path, String::from_utf8(record.bytes).unwrap())
}

/// Records an event, and commits a change of the text of its record.
fn edit_event(change: impl Fn(&str) -> String) -> impl Fn(&Fixture) {
    move |fixture: &Fixture| {
        fixture.append(&[Record::from_event(&opened(1)), Record::from_event(&retracted(1))], minute(240));
        let (path, text) = event_file();
        fixture.write(&path, &change(&text));
        commit(fixture);
    }
}

fn events(fixture: &Fixture) -> usize {
    let store = fixture.store();
    event_files(&store, &fixture.target()).unwrap().files.len()
}

#[test]
fn a_sound_event_changes_nothing_that_is_told_of_runs() {
    let fixture = history();
    let before = checked(&fixture);
    fixture.append(&[Record::from_event(&opened(1)), Record::from_event(&retracted(1))], minute(240));
    let after = checked(&fixture);
    assert_eq!((after.status, after.runs, after.entries), (FsckStatus::Clean, 3, 3), "{after:#?}");
    assert_eq!((after.root, &after.findings), (before.root, &before.findings));
    assert_eq!(repaired(&fixture).commit, None);
    // The root that was noted down before is still met.
    let store = fixture.store();
    let target = fixture.target();
    let report = crate::fsck(&store, &target, minute(24 * 60), before.root).unwrap();
    assert_eq!(report.status, FsckStatus::Clean, "{report:#?}");
}

#[test]
fn content_that_its_name_contradicts_is_found_and_put_right() {
    let path = event_file().0;
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
        let fixture = check(edit_event(|text| text.replace(from, to)), &[changed, (kind, &path)]);
        assert_eq!((events(&fixture), fs::read_to_string(fixture.root.join(&path)).unwrap()), (2, event_file().1));
        let report = checked(&fixture);
        let [place] = &report.quarantined[..] else { panic!("{report:#?}") };
        assert_eq!(fs::read_to_string(fixture.root.join(place)).unwrap(), event_file().1.replace(from, to));
    }
    check(edit_event(|text| text[..200].to_owned()), &[changed, (Kind::Schema, &path)]);
    check(edit_event(|text| text.trim_end().to_owned()), &[changed, (Kind::NotCanonical, &path)]);
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
    let (path, text) = event_file();
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
    let newer = event_file().1.replace("\"schema_version\":1", "\"other\":[],\"schema_version\":2");
    let digest = &digest::sha256_hex(newer.trim_end().as_bytes())[..16];
    let path = format!("history/v1/_events/2026/05/e-000001-merged-{digest}.json");
    let fixture = history();
    fixture.write(&path, &newer);
    commit(&fixture);
    let report = checked(&fixture);
    assert_eq!((report.status, findings(&report)), (FsckStatus::Clean, vec![(Kind::Newer, path)]), "{report:#?}");
    assert_eq!(repaired(&fixture).commit, None);
}

// What was set aside is held to as what was recorded is.

/// What was found, but for the dates of the commits of these tests.
fn findings_but_clocks(fixture: &Fixture) -> Vec<(Kind, String)> {
    findings(&checked(fixture)).into_iter().filter(|(kind, _)| *kind != Kind::Clock).collect()
}

/// A history with a changed record that a repair has set aside; and where, with what content.
fn with_one_aside() -> (Fixture, String, String) {
    let fixture = history();
    let text = file(1).1.replace("\"n\":20", "\"n\":21");
    fixture.write(&file(1).0, &text);
    commit(&fixture);
    repaired(&fixture);
    let report = checked(&fixture);
    let [place] = &report.quarantined[..] else { panic!("{report:#?}") };
    let place = place.clone();
    (fixture, place, text)
}

#[test]
fn what_was_set_aside_and_changed_or_removed_comes_back() {
    for (change, kinds) in [(Some("{}\n"), &[Kind::Changed, Kind::Name][..]), (None, &[Kind::Lost])] {
        let (fixture, place, text) = with_one_aside();
        match change {
            Some(text) => fixture.write(&place, text),
            None => fs::remove_file(fixture.root.join(&place)).unwrap(),
        }
        commit(&fixture);
        let report = checked(&fixture);
        let expected: Vec<_> = kinds.iter().map(|kind| (*kind, place.clone())).collect();
        assert_eq!((report.status, findings_but_clocks(&fixture)), (FsckStatus::Damaged, expected), "{report:#?}");
        repaired(&fixture);
        let report = checked(&fixture);
        assert_ne!(report.status, FsckStatus::Damaged, "{report:#?}");
        assert_eq!(report.quarantined.len(), if change.is_some() { 2 } else { 1 });
        assert_eq!(fs::read_to_string(fixture.root.join(&place)).unwrap(), text);
        assert_eq!(repaired(&fixture).commit, None);
        assert_eq!(fixture.status(), "");
    }
}

#[test]
fn a_content_in_a_folder_of_another_digest() {
    let fixture = history();
    let path = "history/v1/_quarantine/0123456789abcdef/x.json";
    fixture.write(path, "{}\n");
    // Not the folder of a digest: somebody's own.
    fixture.write("history/v1/_quarantine/by-hand/x.json", "{}\n");
    commit(&fixture);
    assert_eq!(findings(&checked(&fixture)), [(Kind::Name, path.to_owned())]);
    repaired(&fixture);
    let report = checked(&fixture);
    assert_eq!((report.status, report.quarantined.len()), (FsckStatus::Clean, 2), "{report:#?}");
    assert_eq!(repaired(&fixture).commit, None);
}

#[test]
fn a_note_may_go_once_its_record_is_back() {
    let fixture = history();
    let path = file(1).0;
    let object = fixture.object(&format!("HEAD:{path}"));
    let bytes = fs::read(&object).unwrap();
    fs::remove_file(&object).unwrap();
    fs::remove_file(fixture.root.join(&path)).unwrap();
    repaired(&fixture);
    let report = checked(&fixture);
    let [note] = &report.quarantined[..] else { panic!("{report:#?}") };
    assert_eq!((report.status, findings(&report)), (FsckStatus::Warnings, vec![(Kind::SetAside, note.clone())]));
    // Without it nothing would tell of the loss.
    fixture.git(&["rm", "--quiet", note]);
    fixture.git(&["commit", "--quiet", "-m", "Remove the note"]);
    assert!(findings_but_clocks(&fixture).contains(&(Kind::Lost, note.clone())), "{:#?}", checked(&fixture));
    fs::create_dir_all(object.parent().unwrap()).unwrap();
    fs::write(&object, bytes).unwrap();
    repaired(&fixture);
    let report = checked(&fixture);
    assert_eq!(
        (findings_but_clocks(&fixture), report.runs, report.quarantined.len()),
        (Vec::new(), 3, 0),
        "{report:#?}"
    );
}

// Clones that leave out what git fetches when it is asked for.

fn clone(origin: &Fixture, name: &str, options: &[&str]) -> PathBuf {
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let path = origin.sibling(name);
    let url = format!("file://{}", origin.root.display());
    git_in(&origin.root, &[&["clone", "--quiet"], options, &[&url, path.to_str().unwrap()]].concat());
    path
}

fn report_of(path: &Path) -> FsckReport {
    let store = isolated(path);
    fsck(&store, &target(&store, None).unwrap(), minute(24 * 60), None).unwrap()
}

#[test]
fn what_a_partial_clone_lacks_is_no_damage() {
    let origin = history();
    for (name, options) in [("bare", "--bare"), ("sparse", "--sparse")] {
        let path = clone(&origin, name, &["--filter=blob:none", options]);
        let report = report_of(&path);
        assert_eq!(findings(&report), [(Kind::Incomplete, String::new())], "{report:#?}");
        assert_eq!((report.status, report.runs, report.root), (FsckStatus::Warnings, 0, None));
        assert!(report.findings[0].what.starts_with("3 files of the history are not here"), "{report:#?}");
        assert!(report.findings[0].advice.as_ref().unwrap().contains("--refetch"), "{report:#?}");
        // A repair takes nothing away.
        let head = git_in(&path, &["rev-parse", "HEAD"]);
        let store = isolated(&path);
        let repaired = repair(&store, &target(&store, None).unwrap(), minute(24 * 60)).unwrap();
        assert_eq!((repaired.commit, repaired.steps.len()), (None, 0), "{:?}", repaired.steps);
        assert!(
            matches!(&repaired.warnings[..], [only] if only.starts_with("left 3 files alone")),
            "{:?}",
            repaired.warnings
        );
        assert_eq!(git_in(&path, &["rev-parse", "HEAD"]), head);
        // The advice works.
        git_in(&path, &["fetch", "--quiet", "--refetch", "--no-filter", "origin"]);
        let report = report_of(&path);
        assert_eq!(
            (report.status, report.runs, report.root),
            (FsckStatus::Clean, 3, checked(&origin).root),
            "{report:#?}"
        );
    }
}

#[test]
fn a_clone_without_folders_is_no_damage_either() {
    let origin = history();
    let path = clone(&origin, "treeless", &["--filter=tree:0", "--sparse"]);
    let report = report_of(&path);
    assert_eq!((report.status, report.root), (FsckStatus::Warnings, None), "{report:#?}");
    assert!(report.findings.iter().any(|finding| finding.what.contains("of the commit")), "{report:#?}");
}

#[test]
fn a_record_that_was_removed_is_lost_in_a_partial_clone_too() {
    let origin = history();
    origin.git(&["rm", "--quiet", &file(1).0]);
    origin.git(&["commit", "--quiet", "-m", "Remove"]);
    let path = clone(&origin, "bare", &["--filter=blob:none", "--bare"]);
    let report = report_of(&path);
    assert_eq!(findings(&report)[0], (Kind::Lost, file(1).0), "{report:#?}");
    let store = isolated(&path);
    assert_eq!(repair(&store, &target(&store, None).unwrap(), minute(24 * 60)).unwrap().commit, None);
    git_in(&path, &["fetch", "--quiet", "--refetch", "--no-filter", "origin"]);
    let store = isolated(&path);
    assert!(repair(&store, &target(&store, None).unwrap(), minute(24 * 60)).unwrap().commit.is_some());
    assert_eq!((report_of(&path).status, report_of(&path).runs), (FsckStatus::Clean, 3));
}

#[test]
fn what_a_sparse_checkout_keeps_out_is_not_missing() {
    let origin = history();
    let path = clone(&origin, "sparse", &["--sparse"]);
    let report = report_of(&path);
    assert_eq!((report.status, report.runs), (FsckStatus::Clean, 3), "{report:#?}");
    let store = isolated(&path);
    let repaired = repair(&store, &target(&store, None).unwrap(), minute(24 * 60)).unwrap();
    assert_eq!((repaired.steps, repaired.warnings), (Vec::new(), Vec::new()));
    assert!(!path.join("history").exists());
    assert_eq!(git_in(&path, &["status", "--porcelain"]), "");
}

// The list of runs through appends, merges and rewrites, and roots that were noted down.

fn list(fixture: &Fixture) -> Entries {
    let store = fixture.store();
    entries(&store, &fixture.target()).unwrap()
}

fn met(fixture: &Fixture, root: Digest) -> (Met, Option<u64>) {
    let against = checked_against(fixture, Some(root)).against.unwrap();
    (against.met, against.size)
}

#[test]
fn runs_stand_in_the_order_in_which_they_entered() {
    let fixture = history();
    record(&fixture, &[run(30), run(20)]);
    record(&fixture, &[run(10)]);
    let list = list(&fixture);
    let paths: Vec<&str> = list.runs.iter().map(|run| run.path.as_str()).collect();
    let mut together = [file(20).0, file(30).0];
    together.sort();
    let [first, second] = together;
    assert_eq!(paths, [file(0).0, file(1).0, file(2).0, first, second, file(10).0]);
    assert_eq!(list.runs[0].digest, Digest::from_parts(&[file(0).1.trim_end().as_bytes()]));
    assert_eq!(list.runs[5].commit, fixture.head());
    assert_eq!((list.tip, list.tree.len()), (Some(fixture.head()), 6));
    let report = checked(&fixture);
    assert_eq!(report.root, Some(list.tree.root()));
}

#[test]
fn appending_only_makes_the_list_longer() {
    let fixture = history();
    let earlier = list(&fixture).tree.root();
    record(&fixture, &[run(10)]);
    fixture.commit("src/lib.rs", "fn two() {}\n", "Two");
    record(&fixture, &[run(11), run(12)]);
    assert_eq!(met(&fixture, earlier), (Met::Beginning, Some(3)));
    assert_eq!(met(&fixture, list(&fixture).tree.root()), (Met::Beginning, Some(6)));
    assert_eq!(met(&fixture, Digest::from_parts(&[])), (Met::Beginning, Some(0)));
    let report = checked_against(&fixture, Some(Digest::from_parts(&[b"x"])));
    assert_eq!(report.status, FsckStatus::Damaged);
    assert_eq!(report.findings[0].kind, FindingKind::Against);
}

#[test]
fn a_rewritten_history_does_not_meet_its_root() {
    let fixture = history();
    let earlier = list(&fixture).tree.root();
    fixture.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    record(&fixture, &[run(2)]);
    record(&fixture, &[run(1)]);
    let report = checked_against(&fixture, Some(earlier));
    assert_eq!(report.against.unwrap().met, Met::Never);
    assert_eq!((report.status, report.runs), (FsckStatus::Damaged, 3));
}

#[test]
fn a_merge_the_other_way_round_is_known() {
    let fixture = history();
    fixture.git(&["branch", "side"]);
    record(&fixture, &[run(10)]);
    let of_main = list(&fixture).tree.root();
    fixture.git(&["checkout", "--quiet", "side"]);
    record(&fixture, &[run(11)]);
    fixture.git(&["merge", "--quiet", "--no-edit", "main"]);
    assert_eq!(met(&fixture, of_main), (Met::Merged, Some(4)));
    assert_eq!(checked(&fixture).entries, 5);
    assert_eq!(list(&fixture).runs[3].path, file(11).0);
}
