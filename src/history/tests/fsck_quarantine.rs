//! What was set aside is held to as what was recorded is.

use std::fs;

use super::fsck_fixture::{checked, commit, file, findings, history, repaired};
use crate::testing::Fixture;
use sprag_model::fsck::{FindingKind as Kind, FsckStatus};

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
