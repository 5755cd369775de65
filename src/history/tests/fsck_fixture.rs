//! A history with three runs, and what is done to it.

use crate::testing::{Fixture, minute, run};
use crate::{Record, Repaired, append, fsck, repair, target};
use sprag_model::fsck::{FindingKind, FsckReport, FsckStatus, Severity};
use sprag_model::run::Run;

/// How many runs the history has.
pub(crate) const RUNS: i64 = 3;

/// A history whose runs entered one by one.
pub(crate) fn history() -> Fixture {
    let fixture = Fixture::new();
    (0..RUNS).for_each(|number| record(&fixture, &[run(number)]));
    fixture
}

/// Appends runs in one commit, which bears the time that commits of these tests have.
pub(crate) fn record(fixture: &Fixture, runs: &[Run]) {
    let store = fixture.store();
    let records: Vec<Record> = runs.iter().map(Record::from_run).collect();
    append(&store, &target(&store, None).unwrap(), &records, minute(240)).unwrap();
}

/// The path and the text of the record of that run.
pub(crate) fn file(number: i64) -> (String, String) {
    let record = Record::from_run(&run(number));
    (record.path, String::from_utf8(record.bytes).unwrap())
}

/// Commits whatever lies in the working tree.
pub(crate) fn commit(fixture: &Fixture) {
    fixture.git(&["add", "--all", "--force"]);
    fixture.git(&["commit", "--quiet", "-m", "Change the history"]);
}

/// Checks the history, a day after its runs.
pub(crate) fn checked(fixture: &Fixture) -> FsckReport {
    let store = fixture.store();
    fsck(&store, &target(&store, None).unwrap(), minute(24 * 60), None).unwrap()
}

pub(crate) fn repaired(fixture: &Fixture) -> Repaired {
    let store = fixture.store();
    repair(&store, &target(&store, None).unwrap(), minute(24 * 60)).unwrap()
}

/// The kinds and paths of all findings.
pub(crate) fn findings(report: &FsckReport) -> Vec<(FindingKind, String)> {
    let findings = report.findings.iter();
    findings.map(|finding| (finding.kind, finding.path.clone().unwrap_or_default())).collect()
}

/// Damages the history, fails the test unless that is found, and unless a repair puts it right without losing a byte:
/// every blob that was reachable is so afterwards, and the root stays.
pub(crate) fn check(damage: impl Fn(&Fixture), expected: &[(FindingKind, &str)]) -> Fixture {
    let fixture = history();
    let root = checked(&fixture).root;
    damage(&fixture);
    let before = checked(&fixture);
    let expected: Vec<(FindingKind, String)> =
        expected.iter().map(|(kind, path)| (*kind, (*path).to_owned())).collect();
    let damage = before.findings.iter().filter(|finding| finding.severity == Severity::Damage);
    let damage: Vec<_> = damage.map(|one| (one.kind, one.path.clone().unwrap_or_default())).collect();
    assert_eq!(damage, expected, "{before:#?}");
    assert_eq!(before.status, FsckStatus::Damaged);
    let old = fixture.head();
    let repair = repaired(&fixture);
    assert_eq!(repair.warnings, [""; 0]);
    assert!(!repair.steps.is_empty());
    let after = checked(&fixture);
    assert_ne!(after.status, FsckStatus::Damaged, "{after:#?}");
    assert_eq!(after.runs, RUNS as u64, "{repair:#?}");
    assert_eq!(fixture.git(&["rev-parse", "HEAD~1"]), old);
    assert_eq!(fixture.status(), "");
    if before.root.is_some() {
        assert_eq!(after.root, root);
    }
    fixture
}
