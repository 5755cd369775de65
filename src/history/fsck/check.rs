//! All checks, in one report.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use chrono::{DateTime, Utc};
use git2::{Oid, Repository, Status, StatusOptions};

use crate::archived::{Archived, NoteFit};
use crate::checkout::Checkouts;
use crate::commits::parents;
use crate::error::{self, FETCH_ALL, HistoryError, REPAIR_AND_FETCH, REWRITTEN, UNSHALLOW, failed};
use crate::fsck::content::{self, Losses, RunFacts};
use crate::fsck::tip::{Fault, SET_ASIDE, Tip, TipFile};
use crate::index::sparse_paths;
use crate::layout::{FOLDER, is_below, newer_version};
use crate::objects::{self, Promises};
use crate::past::{Appearance, Contents, Digests, Entries, Gap, Past};
use crate::repository::{Store, grafts, short_name};
use crate::salvage::{borrowed, exists};
use crate::state::StateFolder;
use crate::sync::compare::compare;
use crate::target::{Target, tip};
use sprag_base::digest::Digest;
use sprag_model::archive::{ARCHIVE_ROOT, Archive};
use sprag_model::fsck::{Against, Finding, FindingKind, FsckReport, FsckStatus, Met, SCHEMA_VERSION, Severity};
use sprag_model::merkle::{SizedRoot, verify_consistency};

const NAMED: usize = 3;

const FETCH_OR_SYNC: &str = "run `git fetch --refetch`, which brings what the remote has; `sprag history sync` records runs again \
                             whose commits were never sent";

/// Checks the history of a branch and its surroundings, and changes nothing. `now` is compared with the times of runs, `against` is
/// a root that was noted earlier. Every object is hashed as it is read.
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
        archived: 0,
        entries: 0,
        root: None,
        status: FsckStatus::Clean,
        findings: Vec::new(),
        quarantined: Vec::new(),
        against: None,
        repaired: Vec::new(),
    };
    report.add(odd_settings(repository));
    report.add(leftovers(repository));
    let Some((commit, reference)) = tip(repository, target)? else {
        let empty = Entries::default();
        report.add(lost_since(repository, &target.reference, &HashSet::new()));
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
    // libgit2 would never return from comparing a folder that is cut short.
    if !examined.lacks_a_folder() {
        report.add(working_trees(repository, &target.reference)?);
    }
    report.add(content::odd_times(&examined.runs, &examined.archived.notes, now));
    report.add(backward_commits(&examined.past.commits));
    report.add(content::intact_records(repository, &examined.tip));
    report.add(examined.not_here());
    report.add(lost_since(repository, &target.reference, &examined.past.paths()));
    report.add(examined.findings());
    let missing = examined.missing(repository);
    report.add(missing.iter().cloned());
    // A repair here refuses objects of another repository.
    let borrowed = examined.unreadable().into_iter().find_map(|id| borrowed(repository, id).err()?.hint());
    for finding in report.findings.iter_mut().filter(|one| one.kind == FindingKind::Unreadable) {
        finding.advice = borrowed.clone().or(finding.advice.take());
    }
    report.entries = entries.tree.len() as u64;
    if examined.past.is_complete && missing.is_empty() && examined.contents.unreadable.is_empty() {
        report.root = Some(entries.tree.root());
    }
    if !examined.archived.notes.is_empty() {
        report.archived = examined.archived.count(&examined.tip.runs.iter().map(TipFile::text).collect());
    }
    if let Some(root) = against {
        let outcome = find(repository, commit.id(), &entries, &mut examined.contents, root);
        report.add((outcome.met == Met::Never).then(|| never(root)));
        report.against = Some(outcome);
    }
    Ok(report)
}

/// The list of the branch; else the damage that [`fsck`] finds in its tree and its past. Every record is read once.
pub fn verified_entries(store: &Store, target: &Target) -> Result<Result<Entries, Vec<Finding>>, HistoryError> {
    let Some((commit, reference)) = tip(&store.repository, target)? else {
        return Ok(Ok(Entries { reference: target.reference.clone(), ..Entries::default() }));
    };
    let mut examined = Examined::read(&store.repository, commit.id())?;
    let mut damage: Vec<Finding> = examined.missing(&store.repository).into_iter().chain(examined.findings()).collect();
    damage.retain(|one| one.severity == Severity::Damage);
    if !damage.is_empty() {
        damage.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
        return Ok(Err(damage));
    }
    let entries = examined.contents.complete_list(&store.repository, &examined.past)?;
    Ok(Ok(Entries { reference, tip: Some(commit.id().to_string()), ..entries }))
}

/// The paths of the records of the branch, whether or not they are valid.
pub fn recorded(store: &Store, target: &Target) -> Result<BTreeSet<String>, HistoryError> {
    let Some((commit, _)) = tip(&store.repository, target)? else { return Ok(BTreeSet::new()) };
    let tree = commit.tree().map_err(failed("read the tree of the history"))?;
    Ok(Tip::read(&store.repository, &tree).runs.iter().map(TipFile::text).collect())
}

fn never(root: Digest) -> Finding {
    Finding::overall(FindingKind::Against, format!("no state of this history had the root {root}"))
        .advise("the history was rewritten, or the root is that of another one; see the reflog and other clones")
}

pub(crate) struct Examined<'r> {
    pub(crate) promises: Promises<'r>,
    pub(crate) tip: Tip,
    pub(crate) archived: Archived<'r>,
    pub(crate) past: Past,
    pub(crate) contents: Contents<'r>,
    pub(crate) runs: Vec<RunFacts>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) losses: Losses,
    /// Paths of contents that a partial clone lacks.
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
        let mut faults = std::mem::take(&mut tip.faults);
        faults.extend(read.faults);
        faults.extend(collisions(&tip, &past));
        let mut present = tip.contents();
        present.extend(faults.iter().map(|fault| (fault.file.text(), fault.file.id)));
        let mut set_aside = read.set_aside;
        set_aside.extend(content::settled(repository, &past, &present));
        // A copy of a note in quarantine says nothing of the note at its place.
        let here: HashSet<Oid> = tip.auxiliary.iter().map(|file| file.id).collect();
        let gone = set_aside.difference(&here).copied().collect();
        let mut findings = std::mem::take(&mut tip.findings);
        findings.extend(read.findings);
        let mut contents = Contents { digests, unreadable: Vec::new() };
        let (archived, invalid, unknown) = valid_notes(repository, &tip, &past, &gone, &promises, &mut contents);
        faults.extend(invalid);
        findings.extend(unknown);
        let losses =
            content::compare(repository, &past, &present, &archived, &set_aside, &mut contents.digests, &promises);
        if losses.of_newer > 0 {
            let runs = error::count(losses.of_newer, "run");
            let what = format!(
                "{runs} left with a note of a newer build, which may have archived them; all others were looked for"
            );
            findings.push(Finding::overall(FindingKind::Incomplete, what).advise("a newer sprag can read it"));
        }
        let absent = read.absent.into_iter().chain(losses.absent.iter().cloned()).collect();
        Ok(Examined { promises, tip, archived, past, contents, runs: read.runs, faults, losses, absent, findings })
    }

    fn findings(&self) -> Vec<Finding> {
        let faults = self.faults.iter().map(|fault| &fault.finding);
        faults.chain(&self.losses.findings).chain(&self.findings).cloned().collect()
    }

    /// The objects that could not be read, or are not here.
    pub(crate) fn unreadable(&self) -> Vec<Oid> {
        let faults = self.faults.iter().filter(|fault| fault.finding.kind == FindingKind::Unreadable);
        let gaps = self.past.unreadable.iter().map(|gap| gap.id);
        faults.map(|fault| fault.file.id).chain(gaps).chain(self.contents.digests.unreadable.iter().copied()).collect()
    }

    fn lacks_a_folder(&self) -> bool {
        !self.past.unreadable.is_empty() || self.findings.iter().any(|one| one.kind == FindingKind::Unreadable)
    }

    /// Commits and folders that cannot be read, except in a shallow clone.
    fn missing(&self, repository: &Repository) -> Vec<Finding> {
        let finding = |gap: &Gap| {
            let what = format!("{} cannot be read: {}", gap.what, gap.why);
            if gap.is_promised {
                let what = format!("{what}, as in a partial clone");
                return Finding::overall(FindingKind::Incomplete, what).advise(FETCH_ALL);
            }
            let advice = if exists(repository, gap.id) { REPAIR_AND_FETCH } else { FETCH_OR_SYNC };
            Finding::overall(FindingKind::Unreadable, what).advise(advice)
        };
        self.past.unreadable.iter().map(finding).collect()
    }

    fn not_here(&self) -> Option<Finding> {
        let names: Vec<String> = self.absent.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
        let more = if self.absent.len() > NAMED { ", …" } else { "" };
        let are = match self.absent.len() {
            0 => return None,
            1 => "1 file of the history is not here, as in a partial clone, and was".to_owned(),
            count => format!("{count} files of the history are not here, as in a partial clone, and were"),
        };
        let what = format!("{are} not checked: {}{more}", names.join(", "));
        Some(Finding::overall(FindingKind::Incomplete, what).advise(FETCH_ALL))
    }
}

/// What left by the notes that the branch ever had and no repair set aside: one that is gone or changed comes back. Those that do
/// not fit the history count for nothing, and are faults. Only a clone that has all commits and runs finds such, so that it has
/// what a repair brings back.
fn valid_notes<'r>(
    repository: &'r Repository,
    tip: &Tip,
    past: &Past,
    set_aside: &HashSet<Oid>,
    promises: &Promises<'_>,
    contents: &mut Contents<'_>,
) -> (Archived<'r>, Vec<Fault>, Option<Finding>) {
    let (mut notes, mut lacks_notes, mut of_newer) = (Vec::new(), false, HashMap::new());
    let is_note = |file: &&Appearance| is_below(&file.path, ARCHIVE_ROOT) && !set_aside.contains(&file.blob);
    for file in past.files.iter().filter(is_note) {
        match objects::check(repository, file.blob).and_then(|()| repository.find_blob(file.blob)) {
            Ok(blob) => match Archive::from_file(&file.path, blob.content()) {
                Ok(note) => notes.push(note),
                // It may have archived what left with it, and nothing else.
                Err(_) if newer_version(&file.path, blob.content()).is_some() => {
                    let before = file.commit.checked_sub(1).map(|before| past.commits[before].0);
                    let left = before.map(|_| compare(repository, before, Some(past.commits[file.commit].0)));
                    lacks_notes |= matches!(left, Some(Err(_)));
                    let left = left.and_then(Result::ok).into_iter().flat_map(|difference| difference.left);
                    let text = |path: Vec<u8>| String::from_utf8_lossy(&path).into_owned();
                    of_newer.extend(left.map(|(path, item)| (text(path), item.id)));
                }
                Err(_) => {}
            },
            Err(_) => lacks_notes |= promises.cover(file.blob),
        }
    }
    let entries = if notes.is_empty() { Entries::default() } else { contents.list(past) };
    let is_complete = past.is_complete && contents.unreadable.is_empty();
    // Whoever lists the runs hears of those that cannot be read.
    contents.unreadable.clear();
    let (mut unknown, mut wrong) = (BTreeSet::new(), BTreeMap::new());
    notes.retain(|note| {
        let archived = Archived::by(repository, vec![note.clone()]);
        let judged = || archived.judge(repository, note, (past, &entries), contents);
        match is_complete.then(judged).unwrap_or(NoteFit::Unknown) {
            NoteFit::Valid => {}
            NoteFit::Unknown => drop(unknown.insert(format!("`{}`", note.file))),
            NoteFit::Invalid(why) => drop(wrong.insert(note.to_file().0, why)),
        }
        !wrong.contains_key(&note.to_file().0)
    });
    let fault = |file: &TipFile| {
        let advice = "the note was forged, or made of another history: see `git log` for the commit that added it; \
                      `sprag history fsck --repair` sets it aside and brings the runs back";
        Some(Fault::new(file.clone(), FindingKind::Name, *wrong.get(&file.text())?, advice))
    };
    let faults = tip.auxiliary.iter().filter_map(fault).collect();
    let advice = match repository.is_shallow() {
        true => UNSHALLOW,
        false if objects::is_partial(repository).unwrap_or(false) => FETCH_ALL,
        false => REWRITTEN,
    };
    let finding = || {
        let files = unknown.iter().cloned().collect::<Vec<_>>().join(", ");
        let what =
            format!("the notes of {files} were not checked: runs or commits that they name are not in this history");
        Finding::overall(FindingKind::Incomplete, what).advise(advice)
    };
    let finding = (!unknown.is_empty()).then(finding);
    let mut archived = Archived::by(repository, notes);
    (archived.lacks_notes, archived.of_newer, archived.wrong) = (lacks_notes, of_newer, wrong);
    (archived, faults, finding)
}

/// Of two paths that are one on some file systems, the later one is a fault.
fn collisions(tip: &Tip, past: &Past) -> Vec<Fault> {
    let first_seen = |file: &TipFile| {
        let (path, below) = (file.text(), format!("{}/", file.text()));
        past.files.iter().position(|one| one.path == path || one.path.starts_with(&below)).unwrap_or(usize::MAX)
    };
    let later = |(a, b): &(TipFile, TipFile)| {
        let (earlier, later) = if first_seen(a) <= first_seen(b) { (a, b) } else { (b, a) };
        let what = format!("is the same path as `{}` on file systems that do not know case", earlier.text());
        Fault::new(later.clone(), FindingKind::Collision, what, SET_ASIDE)
    };
    tip.collisions.iter().map(later).collect()
}

// The surroundings of the history: working trees, leftovers of processes, grafts and replaced objects.

fn working_trees(repository: &Repository, reference: &str) -> Result<Vec<Finding>, HistoryError> {
    let mut findings = Vec::new();
    let checkouts = Checkouts::on_branch(repository, reference)?;
    findings.extend(checkouts.warnings.into_iter().map(|warning| Finding::overall(FindingKind::WorkingTree, warning)));
    for checkout in &checkouts.trees {
        match working_tree(&checkout.repository) {
            Ok(differences) => findings.extend(differences),
            // Such as a missing folder, which reading the branch reports.
            Err(error) => {
                let what = format!("the working tree `{}` was not looked at: {error}", checkout.folder.display());
                findings.push(Finding::overall(FindingKind::WorkingTree, what));
            }
        }
    }
    Ok(findings)
}

/// Settings by which the repository lacks commits, or sees others in their place.
fn odd_settings(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |what: String, advice: &str| {
        findings.push(Finding::overall(FindingKind::Incomplete, what).advise(advice));
    };
    if repository.is_shallow() {
        let what = "this is a shallow clone: earlier commits were not checked, and the runs have no Merkle root";
        report(what.to_owned(), UNSHALLOW);
    }
    if grafts(repository).is_some() {
        let what = "`info/grafts` in the git folder replaces the parents of commits; the real ones were checked";
        report(what.to_owned(), "remove the file once you know why it is there");
    }
    let replaced = repository.references_glob("refs/replace/*").map_or(0, |references| references.count());
    if replaced > 0 {
        let what = format!("{replaced} objects have a replacement (`git replace`); the originals were checked");
        report(what, "see `git replace --list`");
    }
    findings
}

/// Files of dead processes. A living one still needs its own.
fn leftovers(repository: &Repository) -> Vec<Finding> {
    let state = StateFolder::new(repository.commondir());
    let left = state.leftovers();
    if left.is_empty() || !matches!(state.lock_briefly(), Ok(Some(_))) {
        return Vec::new();
    }
    let advice = "the next record removes it; so does `sprag history fsck --repair`";
    let finding = |name: String| {
        let what = "was left in the git folder by a process that ended early";
        Finding::at(FindingKind::Leftover, &format!("sprag/{name}"), what).advise(advice)
    };
    left.into_iter().map(finding).collect()
}

fn working_tree(repository: &Repository) -> Result<Vec<Finding>, HistoryError> {
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).include_ignored(false);
    options.disable_pathspec_match(true).pathspec(FOLDER);
    let statuses = repository.statuses(Some(&mut options)).map_err(failed("compare the working tree with HEAD"))?;
    let sparse_paths = sparse_paths(repository);
    let mut findings = Vec::new();
    for entry in &statuses {
        let status = entry.status();
        let (what, advice) = if status.contains(Status::INDEX_DELETED) {
            ("is in the branch, but not in the index: the next `git commit` would drop it", REPAIR)
        } else if status.intersects(Status::INDEX_NEW | Status::INDEX_MODIFIED | Status::INDEX_RENAMED) {
            ("is staged with a content that the branch does not have", "records are added by `sprag history add`")
        } else if status.contains(Status::WT_DELETED) {
            if sparse_paths.contains(entry.path_bytes()) {
                continue;
            }
            ("is in the branch, but not in the working tree", REPAIR)
        } else if status.contains(Status::WT_NEW) {
            ("lies in the working tree, but is not in the branch", "record it by `sprag history add`, or remove it")
        } else if status.intersects(Status::WT_MODIFIED | Status::WT_TYPECHANGE | Status::INDEX_TYPECHANGE) {
            let advice = "run `git checkout HEAD -- history` once you know why";
            ("has another content in the working tree than in the branch", advice)
        } else {
            continue;
        };
        let path = String::from_utf8_lossy(entry.path_bytes()).into_owned();
        findings.push(Finding::at(FindingKind::WorkingTree, &path, what).advise(advice));
    }
    Ok(findings)
}

const REPAIR: &str = "run `sprag history fsck --repair` to bring it back";

fn backward_commits(commits: &[(Oid, i64)]) -> Option<Finding> {
    let backward: Vec<Oid> = commits.windows(2).filter(|pair| pair[1].1 < pair[0].1).map(|pair| pair[1].0).collect();
    let newest = backward.last()?;
    let what =
        format!("{} of the commits are dated before their first parent, the newest of them {newest}", backward.len());
    let advice = "nothing need be done: commits are ordered by their parents, not by their dates";
    Some(Finding::overall(FindingKind::Clock, what).advise(advice))
}

/// Records of the last sync with each remote that the branch never had, as after a `git reset`. A record that a commit removed is
/// reported as lost.
fn lost_since(repository: &Repository, reference: &str, past_paths: &HashSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Ok(remotes) = repository.remotes() else { return findings };
    for remote in remotes.iter().filter_map(|name| name.ok().flatten()) {
        let name = format!("{remote}/{}", short_name(reference));
        let Some(tip) = tip_of(repository, &format!("refs/sprag/synced/{name}")) else { continue };
        let files = tip.runs.iter().chain(&tip.events).chain(&tip.auxiliary);
        let gone = files.filter(|file| !past_paths.contains(file.text().as_str())).count();
        let (what, them) = match gone {
            0 => continue,
            1 => (format!("1 record of the last sync with `{name}` is not on this branch"), "it"),
            _ => (format!("{gone} records of the last sync with `{name}` are not on this branch"), "them"),
        };
        let advice = format!("`sprag history sync` brings {them} back");
        findings.push(Finding::overall(FindingKind::Incomplete, what).advise(advice));
    }
    findings
}

fn tip_of(repository: &Repository, reference: &str) -> Option<Tip> {
    let commit = objects::commit_at(repository, &repository.find_reference(reference).ok()?).ok()?;
    Some(Tip::read(repository, &objects::find_tree(repository, commit.tree_id()).ok()?))
}

// Whether the history still begins with the runs of a root that was noted earlier.

const MERGED_LINES: usize = 256;

/// Searches the present list for the root, and then the lists of the merged lines.
fn find(repository: &Repository, tip: Oid, entries: &Entries, contents: &mut Contents<'_>, root: Digest) -> Against {
    let never = Against { root, met: Met::Never, size: None, commit: None };
    let proven = entries.tree.size_of(&root).filter(|&size| {
        let sized = |size: usize, root| SizedRoot { root, size: size as u64 };
        let path = entries.tree.consistency(size, entries.tree.len()).unwrap_or_default();
        verify_consistency(sized(size, root), sized(entries.tree.len(), entries.tree.root()), &path)
    });
    if let Some(size) = proven {
        return Against { met: Met::Beginning, size: Some(size as u64), ..never };
    }
    let present: HashSet<Digest> = entries.runs.iter().map(|run| run.digest).collect();
    for line in merged(repository, tip) {
        let Ok(past) = Past::read(repository, line) else { continue };
        let list = contents.list(&past);
        let Some(size) = list.tree.size_of(&root) else { continue };
        if list.runs[..size].iter().all(|run| present.contains(&run.digest)) {
            let commit = Some(line.to_string());
            return Against { met: Met::Merged, size: Some(size as u64), commit, ..never };
        }
    }
    never
}

fn merged(repository: &Repository, tip: Oid) -> Vec<Oid> {
    let Ok(mut walk) = repository.revwalk() else { return Vec::new() };
    if walk.push(tip).is_err() {
        return Vec::new();
    }
    let commits = walk.filter_map(|id| repository.find_commit(id.ok()?).ok());
    let others = commits.flat_map(|commit| parents(&commit).into_iter().skip(1).collect::<Vec<_>>());
    others.filter_map(|parent| Oid::from_str(&parent).ok()).take(MERGED_LINES).collect()
}
