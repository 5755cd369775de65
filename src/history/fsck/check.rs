//! Everything that is checked, in one report.

use std::collections::{BTreeSet, HashSet};

use chrono::{DateTime, Utc};
use git2::{Oid, Repository};

use crate::commits::target::{Target, tip};
use crate::error::{FETCH_ALL, HistoryError};
use crate::fsck::content::RunFacts;
use crate::fsck::losses::Losses;
use crate::fsck::quarantine::Quarantine;
use crate::fsck::tip::Fault;
use crate::fsck::tip::{Tip, TipFile};
use crate::fsck::{content, context, earlier_root, losses, quarantine};
use crate::objects::partial::Promises;
use crate::reading::entries::{Contents, Digests, Entries};
use crate::reading::past::{Gap, Past};
use crate::store::{Store, failed};
use sprag_base::digest::Digest;
use sprag_model::fsck::{Finding, FindingKind, FsckReport, FsckStatus, Met, SCHEMA_VERSION, Severity};

/// How many names a finding about many files lists.
const NAMED: usize = 3;

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
    report.add(context::beliefs(repository));
    report.add(context::leftovers(repository));
    let Some((commit, reference)) = tip(repository, target)? else {
        let empty = Entries::default();
        report.add(context::lost_since(repository, &target.reference, &HashSet::new()));
        report.root = Some(empty.tree.root());
        report.add(against.filter(|root| *root != empty.tree.root()).map(never));
        return Ok(report);
    };
    let mut examined = Examined::read(repository, commit.id())?;
    let entries = examined.contents.list(&examined.past);
    report.reference = reference;
    report.tip = Some(commit.id().to_string());
    report.runs = examined.runs.len() as u64;
    report.quarantined = examined.tip.quarantined.iter().map(TipFile::text).collect();
    // Comparing with a folder that is cut short would never end.
    if !examined.lacks_a_folder() {
        report.add(context::working_trees(repository, &target.reference)?);
    }
    report.add(content::odd_times(&examined.runs, now));
    report.add(context::backward_commits(&examined.past.commits));
    report.add(quarantine::intact_records(repository, &examined.tip));
    report.add(examined.not_here());
    report.add(context::lost_since(repository, &target.reference, &examined.past.paths()));
    report.add(examined.findings());
    let missing = examined.missing();
    report.add(missing.iter().cloned());
    report.entries = entries.tree.len() as u64;
    if examined.past.is_whole && missing.is_empty() && examined.contents.unreadable.is_empty() {
        report.root = Some(entries.tree.root());
    }
    if let Some(root) = against {
        let found = earlier_root::find(repository, commit.id(), &entries, &mut examined.contents, root);
        report.add((found.met == Met::Never).then(|| never(root)));
        report.against = Some(found);
    }
    Ok(report)
}

/// The list of the branch, where its history holds together; else the damage of that, by what [`fsck`] looks at in its tree
/// and its past, and nothing around them. Every record is read once.
///
/// # Errors
/// When the ref, its commit or its tree cannot be read, and when a shallow or a partial clone leaves a part of the list out.
pub fn verified_entries(store: &Store, target: &Target) -> Result<Result<Entries, Vec<Finding>>, HistoryError> {
    let Some((commit, reference)) = tip(&store.repository, target)? else {
        return Ok(Ok(Entries { reference: target.reference.clone(), ..Entries::default() }));
    };
    let mut examined = Examined::read(&store.repository, commit.id())?;
    let mut found: Vec<Finding> = examined.missing().into_iter().chain(examined.findings()).collect();
    found.retain(|one| one.severity == Severity::Damage);
    if !found.is_empty() {
        found.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
        return Ok(Err(found));
    }
    let entries = examined.contents.complete_list(&examined.past)?;
    Ok(Ok(Entries { reference, tip: Some(commit.id().to_string()), ..entries }))
}

/// The paths of the records that the branch has, whatever they hold.
///
/// # Errors
/// When the ref or its tree cannot be read.
pub fn recorded(store: &Store, target: &Target) -> Result<BTreeSet<String>, HistoryError> {
    let Some((commit, _)) = tip(&store.repository, target)? else { return Ok(BTreeSet::new()) };
    let tree = commit.tree().map_err(failed("read the tree of the history"))?;
    Ok(Tip::read(&store.repository, &tree).runs.iter().map(TipFile::text).collect())
}

fn never(root: Digest) -> Finding {
    Finding::overall(FindingKind::Against, format!("nothing here ever had the root {root}"))
        .advise("the history was rewritten, or the root is that of another one; look at the reflog and at other clones")
}

/// A history that was read, and what there is to be put right.
pub(crate) struct Examined<'r> {
    pub(crate) promises: Promises<'r>,
    pub(crate) tip: Tip,
    pub(crate) past: Past,
    pub(crate) contents: Contents<'r>,
    pub(crate) runs: Vec<RunFacts>,
    /// What cannot stay where it is.
    pub(crate) faults: Vec<Fault>,
    pub(crate) losses: Losses,
    /// Paths whose content is not here, as in a partial clone.
    pub(crate) absent: BTreeSet<String>,
    findings: Vec<Finding>,
}

impl<'r> Examined<'r> {
    pub(crate) fn read(repository: &'r Repository, commit: Oid) -> Result<Examined<'r>, HistoryError> {
        let tree = repository.find_commit(commit).and_then(|commit| commit.tree());
        let tree = tree.map_err(failed("read the tree of the history"))?;
        let mut tip = Tip::read(repository, &tree);
        let past = Past::read(repository, commit)?;
        let mut digests = Digests::new(repository)?;
        let promises = Promises::new(repository)?;
        let read = content::read(repository, &tip, &mut digests, &promises)?;
        let aside = Quarantine::read(repository, &tip, &promises);
        let mut faults = std::mem::take(&mut tip.faults);
        faults.extend(read.faults);
        faults.extend(aside.faults);
        faults.extend(collisions(&tip, &past));
        let mut present = tip.contents();
        present.extend(faults.iter().map(|fault| (fault.file.text(), fault.file.id)));
        let mut set_aside = aside.contents;
        set_aside.extend(quarantine::settled(repository, &past, &present));
        let losses = losses::compare(&past, &present, &set_aside, &mut digests, &promises);
        let mut findings = std::mem::take(&mut tip.findings);
        findings.extend(read.findings);
        findings.extend(aside.findings);
        let absent = read.absent.into_iter().chain(aside.absent).chain(losses.absent.iter().cloned()).collect();
        let contents = Contents { digests, unreadable: Vec::new() };
        Ok(Examined { promises, tip, past, contents, runs: read.runs, faults, losses, absent, findings })
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
        let tell = |gap: &Gap| {
            let what = format!("{} cannot be read: {}", gap.what, gap.why);
            match gap.is_promised {
                true => Finding::overall(FindingKind::Incomplete, format!("{what}, as in a partial clone"))
                    .advise(FETCH_ALL),
                false => {
                    Finding::overall(FindingKind::Unreadable, what).advise("fetch it from a repository that has it")
                }
            }
        };
        self.past.unreadable.iter().map(tell).collect()
    }

    /// The files of a partial clone that git has not fetched yet.
    fn not_here(&self) -> Option<Finding> {
        let names: Vec<String> = self.absent.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
        let more = if self.absent.len() > NAMED { ", …" } else { "" };
        let are = match self.absent.len() {
            0 => return None,
            1 => "1 file of the history is not here, as in a partial clone, and was".to_owned(),
            count => format!("{count} files of the history are not here, as in a partial clone, and were"),
        };
        let what = format!("{are} not looked at: {}{more}", names.join(", "));
        Some(Finding::overall(FindingKind::Incomplete, what).advise(FETCH_ALL))
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
