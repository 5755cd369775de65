//! Everything that counts as damage is found, and put right.

use std::fs;
use std::path::Path;

use FindingKind as Kind;

use super::fsck_fixture::{RUNS, check, checked, commit, file, findings, history, repaired};
use crate::testing::{Fixture, run};
use sprag_base::digest;
use sprag_model::fsck::{FindingKind, FsckStatus, Severity};

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

/// Where git keeps an object.
fn object(fixture: &Fixture, id: &str) -> std::path::PathBuf {
    fixture.root.join(".git/objects").join(&id[..2]).join(&id[2..])
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
        let place = object(&fixture, &id);
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
        let place = object(&fixture, &id);
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
    fs::remove_file(object(&fixture, &id)).unwrap();
    let report = checked(&fixture);
    assert!(findings(&report).contains(&(Kind::Unreadable, "history/v1/cpu/2026".to_owned())), "{report:#?}");
    assert_eq!(report.root, None);
}
