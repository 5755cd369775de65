//! The list of runs through appends, merges and rewrites, and roots that were noted down.

use super::fsck_fixture::{checked, file, history, record};
use crate::testing::{Fixture, minute, run};
use crate::{Entries, entries, fsck, target};
use sprag_base::digest::Digest;
use sprag_model::fsck::{FindingKind, FsckReport, FsckStatus, Met};

fn list(fixture: &Fixture) -> Entries {
    let store = fixture.store();
    entries(&store, &target(&store, None).unwrap()).unwrap()
}

fn against(fixture: &Fixture, root: Digest) -> FsckReport {
    let store = fixture.store();
    fsck(&store, &target(&store, None).unwrap(), minute(24 * 60), Some(root)).unwrap()
}

fn met(fixture: &Fixture, root: Digest) -> (Met, Option<u64>) {
    let against = against(fixture, root).against.unwrap();
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
    let report = against(&fixture, Digest::from_parts(&[b"x"]));
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
    let report = against(&fixture, earlier);
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
