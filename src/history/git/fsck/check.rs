//! Everything that is checked, in one report.

use std::collections::{BTreeSet, HashSet};

use chrono::{DateTime, Utc};
use git2::{Oid, Repository};

use super::content::{self, RunFacts};
use super::lost::{self, Losses};
use super::tip::{Fault, Tip, TipFile};
use super::{against, surroundings};
use crate::history::HistoryError;
use crate::history::git::entries::{Contents, Digests, Entries};
use crate::history::git::past::Past;
use crate::history::git::target::{Target, tip};
use crate::history::git::{Store, failed, loose};
use crate::history::layout;
use crate::model::digest::Digest;
use crate::model::fsck::{Finding, FindingKind, FsckReport, FsckStatus, Met, SCHEMA_VERSION};
use crate::model::run::Run;

/// Checks the history of a branch and what lies around it; `now` is the time against which runs are held, and
/// `against` a root that was noted down earlier.
///
/// Nothing is changed, and objects alone are believed: every one is hashed as it is read. Files of runs that wait to be
/// recorded are not looked at.
///
/// # Errors
/// When the ref, its commit, or the state of a working tree cannot be read. Whatever else is wrong is a finding.
pub fn fsck(
    store: &Store,
    target: &Target,
    now: DateTime<Utc>,
    against: Option<Digest>,
) -> Result<FsckReport, HistoryError> {
    let repository = &store.repository;
    let mut report = FsckReport {
        schema_version: SCHEMA_VERSION,
        reference: target.reference.clone(),
        tip: None,
        runs: 0,
        entries: 0,
        root: None,
        status: FsckStatus::Clean,
        findings: Vec::new(),
        quarantined: Vec::new(),
        against: None,
        repaired: Vec::new(),
    };
    report.add(surroundings::beliefs(repository));
    report.add(surroundings::leftovers(repository));
    let Some((commit, reference)) = tip(repository, target)? else {
        let empty = Entries::default();
        report.root = Some(empty.tree.root());
        report.add(against.filter(|root| *root != empty.tree.root()).map(never));
        return Ok(report);
    };
    let mut examined = Examined::of(repository, commit.id())?;
    let entries = examined.contents.list(&examined.past);
    report.reference = reference;
    report.tip = Some(commit.id().to_string());
    report.runs = examined.sound.len() as u64;
    report.quarantined = examined.tip.quarantined.iter().map(TipFile::text).collect();
    // Comparing with a folder that is cut short would never end.
    if !examined.lacks_a_folder() {
        report.add(surroundings::working_trees(repository, &target.reference)?);
    }
    report.add(content::odd_times(&examined.sound, now));
    report.add(surroundings::backward_commits(&examined.past.commits));
    report.add(examined.sound_but_set_aside());
    report.add(examined.findings());
    let missing = examined.missing();
    report.add(missing.iter().cloned());
    report.entries = entries.tree.len() as u64;
    if examined.past.is_whole && missing.is_empty() && examined.contents.unreadable.is_empty() {
        report.root = Some(entries.tree.root());
    }
    if let Some(root) = against {
        let found = against::find(repository, commit.id(), &entries, &mut examined.contents, root);
        report.add((found.met == Met::Never).then(|| never(root)));
        report.against = Some(found);
    }
    Ok(report)
}

/// The paths of the records that the branch has, whatever they hold.
///
/// # Errors
/// When the ref or its tree cannot be read.
pub fn recorded(store: &Store, target: &Target) -> Result<BTreeSet<String>, HistoryError> {
    let Some((commit, _)) = tip(&store.repository, target)? else { return Ok(BTreeSet::new()) };
    let tree = commit.tree().map_err(failed("read the tree of the history"))?;
    Ok(Tip::of(&store.repository, &tree).runs.iter().map(TipFile::text).collect())
}

fn never(root: Digest) -> Finding {
    Finding::overall(FindingKind::Against, format!("nothing here ever had the root {root}"))
        .advise("the history was rewritten, or the root is that of another one; look at the reflog and at other clones")
}

/// A history that was read, and what there is to be put right.
pub(super) struct Examined<'r> {
    repository: &'r Repository,
    pub(super) tip: Tip,
    pub(super) past: Past,
    pub(super) contents: Contents<'r>,
    pub(super) sound: Vec<RunFacts>,
    /// What cannot stay where it is.
    pub(super) faults: Vec<Fault>,
    pub(super) losses: Losses,
    findings: Vec<Finding>,
}

impl<'r> Examined<'r> {
    pub(super) fn of(repository: &'r Repository, commit: Oid) -> Result<Examined<'r>, HistoryError> {
        let tree = repository.find_commit(commit).and_then(|commit| commit.tree());
        let tree = tree.map_err(failed("read the tree of the history"))?;
        let mut tip = Tip::of(repository, &tree);
        let past = Past::of(repository, commit)?;
        let mut digests = Digests::of(repository)?;
        let read = content::read(repository, &tip, &mut digests)?;
        let mut faults = std::mem::take(&mut tip.faults);
        faults.extend(read.faults);
        faults.extend(collisions(&tip, &past));
        let mut present = tip.contents();
        present.extend(faults.iter().map(|fault| (fault.file.text(), fault.file.id)));
        let set_aside = set_aside(repository, &tip);
        let losses = lost::compare(&past, &present, &set_aside, &mut digests);
        let mut findings = std::mem::take(&mut tip.findings);
        findings.extend(read.findings);
        let contents = Contents { digests, unreadable: Vec::new() };
        Ok(Examined { repository, tip, past, contents, sound: read.sound, faults, losses, findings })
    }

    fn findings(&self) -> Vec<Finding> {
        let faults = self.faults.iter().map(|fault| &fault.finding);
        faults.chain(&self.losses.findings).chain(&self.findings).cloned().collect()
    }

    fn lacks_a_folder(&self) -> bool {
        !self.past.unreadable.is_empty() || self.findings.iter().any(|one| one.kind == FindingKind::Unreadable)
    }

    /// What of the line of commits cannot be read, a shallow clone aside.
    fn missing(&self) -> Vec<Finding> {
        let tell = |(what, why): &(String, String)| {
            Finding::overall(FindingKind::Unreadable, format!("{what} cannot be read: {why}"))
                .advise("fetch it from a repository that has it")
        };
        self.past.unreadable.iter().map(tell).collect()
    }

    /// Records that were set aside though nothing is wrong with them, and that the history has nowhere else.
    fn sound_but_set_aside(&self) -> Vec<Finding> {
        let present = self.tip.contents();
        let mut findings = Vec::new();
        for file in &self.tip.quarantined {
            if loose::check(self.repository, file.id).is_err() {
                continue;
            }
            let Ok(blob) = self.repository.find_blob(file.id) else { continue };
            let Ok((id, run)) = Run::from_record(blob.content()) else { continue };
            // One whose name has another id was changed, and is no record of what was measured.
            if !file.text().ends_with(&format!("-{id}.json")) {
                continue;
            }
            let path = run.path(&id);
            if layout::check_path(&path).is_ok() && !present.contains_key(&path) {
                let what = format!("is a sound record of `{path}`, which the history lacks");
                let advice = "if it belongs there, write it to a file by `git show` and run `sprag history add`";
                findings.push(Finding::at(FindingKind::SetAside, &file.text(), what).advise(advice));
            }
        }
        findings
    }
}

/// Of two paths that are one on some file systems, the one that came later cannot stay.
fn collisions(tip: &Tip, past: &Past) -> Vec<Fault> {
    let first_seen = |file: &TipFile| {
        let (path, below) = (file.text(), format!("{}/", file.text()));
        past.files.iter().position(|one| one.path == path || one.path.starts_with(&below)).unwrap_or(usize::MAX)
    };
    let later = |(a, b): &(TipFile, TipFile)| {
        let (earlier, later) = if first_seen(a) <= first_seen(b) { (a, b) } else { (b, a) };
        let what = format!("is the same path as `{}` on file systems that do not know case", earlier.text());
        let finding = Finding::at(FindingKind::Collision, &later.text(), what)
            .advise("run `sprag history fsck --repair` to set it aside");
        Fault { file: later.clone(), finding }
    };
    tip.collisions.iter().map(later).collect()
}

/// The contents that were set aside: those that lie there, and those that a note stands for.
fn set_aside(repository: &Repository, tip: &Tip) -> HashSet<Oid> {
    let mut contents = HashSet::new();
    for file in &tip.quarantined {
        contents.insert(file.id);
        if file.path.ends_with(MISSING.as_bytes()) {
            let note = loose::check(repository, file.id).and_then(|()| repository.find_blob(file.id)).ok();
            let text = note.map(|note| String::from_utf8_lossy(note.content()).trim_end().to_owned());
            let noted = text.and_then(|text| Oid::from_str(&text).ok());
            // A content that is here again is to be brought back.
            contents.extend(
                noted.filter(|&id| loose::check(repository, id).and_then(|()| repository.find_blob(id)).is_err()),
            );
        }
    }
    contents
}

/// How the name of a note ends that stands for a content which could not be read.
pub(super) const MISSING: &str = ".missing";
