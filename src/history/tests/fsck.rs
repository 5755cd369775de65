//! Everything that is treated as damage is found and repaired.

use std::fs;

use crate::testing::{Fixture, minute, run};
use crate::testing::{RUNS, check, checked, checked_against, commit, file, findings, history, record, repaired};
use crate::{Entries, Record, entries};
use sprag_base::digest::{self, Digest};
use sprag_model::event_record::example::{opened, retracted};
use sprag_model::fsck::{FindingKind as Kind, FsckStatus, Met, Severity};

/// Writes a file, and commits all.
fn put(path: &str, text: &str) -> impl Fn(&Fixture) {
    move |fixture: &Fixture| {
        fixture.write(path, text);
        commit(fixture);
    }
}

/// The path and the text of an event record.
fn event() -> (String, String) {
    let record = Record::from_event(&opened(1));
    (record.path, String::from_utf8(record.bytes).unwrap())
}

#[test]
fn an_intact_history_is_clean() {
    let fixture = history();
    let report = checked(&fixture);
    assert_eq!((report.status, report.runs, report.entries), (FsckStatus::Clean, 3, 3), "{report:#?}");
    assert_eq!(repaired(&fixture).steps, [""; 0]);
    for fixture in [Fixture::empty(&[]), Fixture::new()] {
        let report = checked(&fixture);
        assert_eq!((report.status, report.runs), (FsckStatus::Clean, 0));
        assert_eq!(report.root, Some(Digest::from_parts(&[])));
    }
}

#[test]
fn a_text_that_is_not_canonical_under_the_name_of_its_digest() {
    let spaced = file(5).1.replace("\":", "\": ");
    let digest = &digest::sha256_hex(spaced.trim_end().as_bytes())[..16];
    let path = file(5).0.replace(&run(5).to_record().0, digest);
    let fixture = history();
    put(&path, &spaced)(&fixture);
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
    let newer = ("\"schema_version\":1", "\"schema_version\":9");
    let spaced = ("\":", "\": ");
    for ((path, text), changes) in [
        (file(1), [("bench-1", "bench-2", Kind::Name), ("\"n\":20", "\"n\":21", Kind::Name)].as_slice()),
        (
            event(),
            &[
                ("\"chance\":0.01", "\"chance\":0.02", Kind::Name),
                ("e-000001", "e-000002", Kind::Name),
                ("\"chance\":0.01", "\"chance\":2.0", Kind::Schema),
                ("\"step\":\"opened\"", "\"step\":\"merged\"", Kind::Schema),
                ("\"schema_version\":1", "\"schema_version\":0", Kind::Schema),
            ],
        ),
    ] {
        let edit = |edited: String, kind: Kind| {
            let damage = |fixture: &Fixture| {
                fixture.append(&[Record::from_event(&opened(1)), Record::from_event(&retracted(1))], minute(240));
                put(&path, &edited)(fixture);
            };
            let fixture = check(damage, &[(Kind::Changed, &path), (kind, &path)]);
            assert_eq!((fixture.load().runs.len(), fixture.event_files().files.len()), (RUNS as usize, 2));
            assert_eq!(fs::read_to_string(fixture.root.join(&path)).unwrap(), text);
            let report = checked(&fixture);
            let [place] = &report.quarantined[..] else { panic!("{report:#?}") };
            assert!(place.starts_with("history/v1/_quarantine/") && place.ends_with(".json"), "{place}");
            assert_eq!(fs::read_to_string(fixture.root.join(place)).unwrap(), edited);
            fixture.fsck();
        };
        for &(from, to, kind) in changes {
            edit(text.replace(from, to), kind);
        }
        edit(text.replace(newer.0, newer.1), Kind::Name);
        edit(text.replace(spaced.0, spaced.1), Kind::NotCanonical);
        edit(text.trim_end().to_owned(), Kind::NotCanonical);
        edit(text[..200].to_owned(), Kind::Schema);
    }
}

#[test]
fn a_record_that_is_gone_comes_back() {
    let path = file(0).0;
    check(|fixture| fixture.remove(&path), &[(Kind::Lost, &path)]);
    // A damaged file that someone removed by hand is preserved all the same.
    let wrong = path.replace("cpu/", "gpu/");
    let fixture = check(
        |fixture| {
            put(&wrong, "{}\n")(fixture);
            fixture.remove(&wrong);
        },
        &[(Kind::Lost, &wrong)],
    );
    assert_eq!(checked(&fixture).quarantined.len(), 1);
}

#[test]
fn files_that_the_layout_has_no_place_for() {
    let (path, text) = event();
    for (path, kind) in [
        ("history/v1/cpu/2026/01/notes.txt", Kind::Unknown),
        ("history/v1/cpu/notes.txt", Kind::Shape),
        ("history/v1/gpu", Kind::Shape),
        ("history/v1/_events/a b", Kind::Unknown),
        ("history/v1/_events", Kind::Unknown),
        ("history/v1/_events/x.json", Kind::Unknown),
        ("history/v1/_events/2026/x.json", Kind::Unknown),
        ("history/v1/_events/2026/05/x.json", Kind::Unknown),
        ("history/v1/_events/2026/05/06/x.json", Kind::Unknown),
        (&path.replace("/2026/05/", "/2025/06/"), Kind::Name),
        (&path.replace("opened", "narrowed"), Kind::Name),
    ] {
        check(put(path, &text), &[(kind, path)]);
    }
    let deep = "history/v1/cpu/2026/01/deep";
    check(put(&format!("{deep}/er/file"), "x\n"), &[(Kind::Shape, deep)]);
    let fixture = history();
    for path in ["history/v2/x", "history/other/x", "history/README", "history/v1/.gitattributes"] {
        fixture.write(path, "x -text\n");
    }
    commit(&fixture);
    let report = checked(&fixture);
    let expected = [(Kind::Newer, "history/v2/".to_owned()), (Kind::Foreign, "history/other/".to_owned())];
    assert_eq!(findings(&report), expected);
    assert_eq!(report.status, FsckStatus::Clean);
    // A file in place of the whole history.
    let fixture = Fixture::new();
    put("history", "x\n")(&fixture);
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

#[test]
fn objects_that_are_missing_or_broken() {
    let path = file(1).0;
    for broken in [true, false] {
        let fixture = history();
        let root = checked(&fixture).root;
        let id = fixture.git(&["rev-parse", &format!("HEAD:{path}")]);
        let place = fixture.object(&id);
        let object = fs::read(&place).unwrap();
        fs::remove_file(&place).unwrap();
        if broken {
            fs::write(&place, &object[..object.len() / 2]).unwrap();
        }
        let report = checked(&fixture);
        assert_eq!(findings(&report), [(Kind::Unreadable, path.clone())], "{report:#?}");
        assert_eq!((report.status, report.root), (FsckStatus::Damaged, None));
        // The working tree has the bytes.
        let steps = repaired(&fixture).steps;
        assert!(steps[usize::from(broken)].contains("again"), "{steps:?}");
        assert_eq!((checked(&fixture).status, checked(&fixture).root), (FsckStatus::Clean, root));
        fixture.fsck();
        // Nothing has them: a note takes their place, until they come back.
        fs::remove_file(&place).unwrap();
        fs::remove_file(fixture.root.join(&path)).unwrap();
        let repair = repaired(&fixture);
        assert!(repair.steps[0].contains("could not be read"), "{repair:?}");
        let report = checked(&fixture);
        assert_ne!(report.status, FsckStatus::Damaged, "{report:#?}");
        assert_eq!((report.runs, report.quarantined.len()), (2, 1));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, &object).unwrap();
        assert_eq!(findings(&checked(&fixture))[0].0, Kind::Lost);
        repaired(&fixture);
        assert_eq!((checked(&fixture).runs, checked(&fixture).root), (3, root));
        assert_eq!(fixture.status(), "");
    }
}

#[test]
fn a_missing_folder_is_named() {
    let fixture = history();
    fs::remove_file(fixture.object("HEAD:history/v1/cpu/2026")).unwrap();
    let report = checked(&fixture);
    assert!(findings(&report).contains(&(Kind::Unreadable, "history/v1/cpu/2026".to_owned())), "{report:#?}");
    assert_eq!(report.root, None);
}

#[test]
fn records_of_a_newer_version_are_left_alone() {
    let newer = |(path, text): (String, String), start: &str| {
        let newer = text.replace("\"schema_version\":1", "\"other\":[],\"schema_version\":9");
        let digest = &digest::sha256_hex(newer.trim_end().as_bytes())[..16];
        let (folder, _) = path.rsplit_once('/').unwrap();
        (format!("{folder}/{start}-{digest}.json"), newer)
    };
    let run = newer(file(9), &file(9).0.rsplit_once('/').unwrap().1[..21]);
    for ((path, text), entries) in [(run, 4), (newer(event(), "e-000001-merged"), 3)] {
        let fixture = history();
        put(&path, &text)(&fixture);
        let report = checked(&fixture);
        assert_eq!((report.status, findings(&report)), (FsckStatus::Clean, vec![(Kind::Newer, path)]), "{report:#?}");
        assert_eq!((report.runs, report.entries), (3, entries));
        assert_eq!(repaired(&fixture).commit, None);
    }
}

// Quarantined files are checked as records are.

/// What was found, but for the dates of the commits of these tests.
fn findings_but_clocks(fixture: &Fixture) -> Vec<(Kind, String)> {
    findings(&checked(fixture)).into_iter().filter(|(kind, _)| *kind != Kind::Clock).collect()
}

#[test]
fn quarantined_files_that_change_or_go_come_back() {
    for (change, kinds) in [(Some("{}\n"), &[Kind::Changed, Kind::Name][..]), (None, &[Kind::Lost])] {
        let fixture = history();
        let text = file(1).1.replace("\"n\":20", "\"n\":21");
        put(&file(1).0, &text)(&fixture);
        repaired(&fixture);
        let report = checked(&fixture);
        let [place] = &report.quarantined[..] else { panic!("{report:#?}") };
        match change {
            Some(text) => fixture.write(place, text),
            None => fs::remove_file(fixture.root.join(place)).unwrap(),
        }
        commit(&fixture);
        let report = checked(&fixture);
        let expected: Vec<_> = kinds.iter().map(|kind| (*kind, place.clone())).collect();
        assert_eq!((report.status, findings_but_clocks(&fixture)), (FsckStatus::Damaged, expected), "{report:#?}");
        repaired(&fixture);
        let report = checked(&fixture);
        assert_ne!(report.status, FsckStatus::Damaged, "{report:#?}");
        assert_eq!(report.quarantined.len(), if change.is_some() { 2 } else { 1 });
        assert_eq!(fs::read_to_string(fixture.root.join(place)).unwrap(), text);
        assert_eq!(repaired(&fixture).commit, None);
        assert_eq!(fixture.status(), "");
    }
}

#[test]
fn a_content_in_a_folder_of_another_digest() {
    let fixture = history();
    let path = "history/v1/_quarantine/0123456789abcdef/x.json";
    fixture.write(path, "{}\n");
    // This folder is not named after a digest, so a user made it.
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
    // Without it nothing would show the loss.
    fixture.remove(note);
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

#[test]
fn what_a_partial_clone_lacks_is_no_damage() {
    let origin = history();
    for (name, options) in [("bare", "--bare"), ("sparse", "--sparse")] {
        let clone = origin.cloned(name, &["--filter=blob:none", options]);
        let report = checked(&clone);
        assert_eq!(findings(&report), [(Kind::Incomplete, String::new())], "{report:#?}");
        assert_eq!((report.status, report.runs, report.root), (FsckStatus::Warnings, 0, None));
        assert!(report.findings[0].what.starts_with("3 files of the history are not here"), "{report:#?}");
        assert!(report.findings[0].advice.as_ref().unwrap().contains("--refetch"), "{report:#?}");
        // A repair takes nothing away.
        let head = clone.head();
        let repair = repaired(&clone);
        assert_eq!((repair.commit, repair.steps.len()), (None, 0), "{:?}", repair.steps);
        let [warning] = &repair.warnings[..] else { panic!("{:?}", repair.warnings) };
        assert!(warning.starts_with("left 3 files alone"), "{warning}");
        assert_eq!(clone.head(), head);
        // The advice works.
        clone.git(&["fetch", "--quiet", "--refetch", "--no-filter", "origin"]);
        let report = checked(&clone);
        let expected = (FsckStatus::Clean, 3, checked(&origin).root);
        assert_eq!((report.status, report.runs, report.root), expected, "{report:#?}");
    }
    // Without folders.
    let report = checked(&origin.cloned("treeless", &["--filter=tree:0", "--sparse"]));
    assert_eq!((report.status, report.root), (FsckStatus::Warnings, None), "{report:#?}");
    assert!(report.findings.iter().any(|finding| finding.what.contains("of the commit")), "{report:#?}");
}

#[test]
fn a_removed_record_is_lost_in_a_partial_clone_too() {
    let origin = history();
    origin.remove(&file(1).0);
    let clone = origin.cloned("bare", &["--filter=blob:none", "--bare"]);
    let report = checked(&clone);
    assert_eq!(findings(&report)[0], (Kind::Lost, file(1).0), "{report:#?}");
    assert_eq!(repaired(&clone).commit, None);
    clone.git(&["fetch", "--quiet", "--refetch", "--no-filter", "origin"]);
    assert!(repaired(&clone).commit.is_some());
    assert_eq!((checked(&clone).status, checked(&clone).runs), (FsckStatus::Clean, 3));
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_missing() {
    let clone = history().cloned("sparse", &["--sparse"]);
    let report = checked(&clone);
    assert_eq!((report.status, report.runs), (FsckStatus::Clean, 3), "{report:#?}");
    let repair = repaired(&clone);
    assert_eq!((repair.steps.len(), repair.warnings.len()), (0, 0), "{repair:#?}");
    assert!(!clone.root.join("history").exists());
    assert_eq!(clone.status(), "");
}

// The list of runs after appends, merges and rewrites, and roots of earlier days.

fn list(fixture: &Fixture) -> Entries {
    entries(&fixture.store(), &fixture.target()).unwrap()
}

fn met(fixture: &Fixture, root: Digest) -> (Met, Option<u64>) {
    let against = checked_against(fixture, Some(root)).against.unwrap();
    (against.met, against.size)
}

#[test]
fn runs_are_listed_in_the_order_in_which_they_entered() {
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
    assert_eq!(checked(&fixture).root, Some(list.tree.root()));
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
    assert_eq!(report.findings[0].kind, Kind::Against);
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
fn a_root_is_met_in_a_merged_line() {
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
