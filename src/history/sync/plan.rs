//! Which records the remote lacks, on top of which commit they go, and what prevents it.
//!
//! Three states are compared: the local branch, the branch of the remote, and that of the remote after the last sync. A record
//! that the third has and another one lacks was lost there, by a rewritten branch or by a commit that removed it; one that the
//! third lacks, too, is new on the other side.

use std::collections::{BTreeMap, HashMap, HashSet};

use git2::{Direction, ErrorCode, Oid, Repository};

use crate::archived::{Archived, NoteFit};
use crate::error::{self, HistoryError, failed};
use crate::layout::PLAIN;
use crate::listing::notes_in;
use crate::objects::{self, Promises, TreeItem};
use crate::past::{Digests, noted};
use crate::repository::{grafts, short_name};
use crate::sync::compare::{
    Difference, TreePath, compare, contains, is_available, meeting, texts, tree_of, user_commits,
};
use crate::sync::outcome::{AfterRewrite, SyncError, quoted};
use crate::sync::repairs::Repairs;
use crate::target::Target;
use crate::transport::printable;
use sprag_model::archive::{ARCHIVE_ROOT, Archive};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tips {
    pub(crate) local: Option<Oid>,
    pub(crate) remote: Option<Oid>,
    /// The branch of the remote after the last sync.
    pub(crate) synced: Option<Oid>,
}

/// What later rounds need not find out again.
#[derive(Default)]
pub(crate) struct Verdicts {
    /// Of notes of archives by path, what is wrong with them.
    notes: HashMap<String, Option<&'static str>>,
    /// Whether a commit that was not sent has objects that cannot be read, so that none can be sent as it is.
    pub(crate) is_broken: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The commit to build upon; absent where the remote gets a new branch.
    pub(crate) base: Option<Oid>,
    /// Of a branch that was gone and comes back with its commits.
    put_back: Vec<String>,
    pub(crate) puts: BTreeMap<TreePath, TreeItem>,
    /// Runs of the base that were archived here, and damaged files that were set aside here.
    pub(crate) leaving: BTreeMap<TreePath, TreeItem>,
    /// An existing commit that has both.
    pub(crate) ready: Option<Oid>,
    pub(crate) received: usize,
    /// Whether the local branch has records that cannot be read and that the remote lacks.
    pub(crate) is_unread: bool,
    pub(crate) drops: bool,
    pub(crate) warnings: Vec<String>,
}

impl Plan {
    pub(crate) fn make(
        repository: &Repository,
        tips: Tips,
        after_rewrite: Option<AfterRewrite>,
        branch: &RemoteBranch,
        verdicts: &mut Verdicts,
    ) -> Result<Plan, SyncError> {
        let Tips { local, remote, synced } = tips;
        let met = meeting(repository, local, remote)?;
        if let (Some(_), Some(_), None) = (local, remote, met)
            && repository.is_shallow()
        {
            return Err(SyncError::Unmet { local: branch.local(), branch: branch.name() });
        }
        let rewritten = match (synced, remote) {
            (Some(synced), Some(remote)) => !contains(repository, remote, synced)?,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let mut at_remote = match synced {
            Some(_) => compare(repository, synced, remote)?,
            None => Difference::default(),
        };
        let mut at_local = match meeting(repository, local, synced.or(remote))? {
            Some(base) => compare(repository, Some(base), local)?,
            None => Difference::default(),
        };
        // A branch that is gone comes back as it was, with its commits.
        let base = remote.or(synced);
        let mut against = compare(repository, local, base)?;
        let met_since = match (met, synced) {
            (Some(met), Some(synced)) if contains(repository, met, synced)? => Some(met),
            _ => None,
        };
        let mut repairs = Repairs::new(repository, [local, base], met_since)?;
        let mut leaving = repairs.settle(&mut at_local, &mut at_remote, &mut against);
        let new = [&at_remote.right, &at_local.right, &against.left, &against.right];
        let has_notes = new.iter().any(|files| files.keys().any(|path| path.starts_with(ARCHIVE_ROOT.as_bytes())));
        let notes_at = |tip: Option<Oid>| match tree_of(repository, tip)?.filter(|_| has_notes) {
            Some(tree) => notes_in(repository, &tree),
            None => Ok((Vec::new(), Vec::new())),
        };
        let ((mut here, _), (mut there, unread)) = (notes_at(local)?, notes_at(base)?);
        here.retain(|note| !repairs.set_aside_note(note, there.contains(note)));
        there.retain(|note| !repairs.set_aside_note(note, true));
        let renewed = deciding_restorations(&here, &there);
        for note in &renewed {
            let (path, bytes, _) = note.to_file();
            let id = repository.blob(&bytes).map_err(failed("write a note"))?;
            against.left.insert(path.into_bytes(), TreeItem { id, mode: PLAIN });
        }
        let mut digests = Digests::new(repository)?;
        let mut faults: Vec<String> = unread.iter().map(|file| format!("`{}` {}", file.path, file.reason)).collect();
        let mut is_valid = |archived: &Archived<'_>, note: &Archive| {
            let path = note.to_file().0;
            let judged = || match archived.verdict(repository, note, &mut digests) {
                NoteFit::Invalid(why) => Some(why),
                NoteFit::Valid | NoteFit::Unknown => None,
            };
            let Some(why) = *verdicts.notes.entry(path.clone()).or_insert_with(judged) else { return true };
            let fault = format!("`{path}` {why}");
            if !faults.contains(&fault) {
                faults.push(fault);
            }
            false
        };
        // Each side has to explain what left it; whether it stays away, the newest note of both decides.
        if remote.is_some() {
            let archived = Archived::by(repository, there.clone());
            archived.take(&mut at_remote.left, &at_remote.right, &mut is_valid);
        }
        Archived::by(repository, here.clone()).take(&mut at_local.left, &at_local.right, &mut is_valid);
        let united = Archived::by(repository, here.iter().cloned().chain(there).chain(renewed).collect());
        let mut puts = against.left.clone();
        // What either side archived since the other last heard of it leaves on both. Runs that came back later stay.
        united.take(&mut puts, &against.right, &mut is_valid);
        leaving.extend(united.take(&mut against.right, &against.left, &mut is_valid));
        judge(&at_remote, &at_local, after_rewrite, rewritten, branch, remote.is_none(), faults)?;
        match after_rewrite {
            Some(AfterRewrite::Accept) => puts.retain(|path, _| !at_remote.left.contains_key(path)),
            Some(AfterRewrite::Restore) if remote.is_some() => {
                let promises = Promises::new(repository)?;
                let is_available = |item| is_available(repository, &promises, item);
                let is_back = |path: &TreePath, item| against.right.get(path) == Some(&item) && !is_available(item);
                if let Some((path, _)) = at_local.left.iter().find(|(path, item)| is_back(path, **item)) {
                    let what = format!("`{}` cannot be read here or at the remote", String::from_utf8_lossy(path));
                    let hint = "run `sprag history fsck --repair` in the repository of the remote, and sync here again";
                    return Err(HistoryError::Incomplete { what, hint }.into());
                }
                let changed = at_remote.changed.iter().map(|(path, (before, _))| (path, before));
                let before = at_remote.left.iter().chain(changed).filter(|(_, item)| is_available(**item));
                puts.extend(before.map(|(path, item)| (path.clone(), *item)));
            }
            Some(AfterRewrite::Restore) | None => {}
        }
        let mut unread = BTreeMap::new();
        if verdicts.is_broken {
            let promises = Promises::new(repository)?;
            unread.extend(puts.extract_if(.., |_, item| !is_available(repository, &promises, *item)));
            leaving.retain(|path, _| !unread.contains_key(path));
        }
        let at_base: HashSet<Oid> = against.right.values().map(|entry| entry.id).collect();
        // A note about a content that could not be read here would report a loss to a remote that has the content.
        let is_idle_note =
            |path: &TreePath, item: &TreeItem| noted(repository, path, item.id).is_some_and(|id| at_base.contains(&id));
        puts.retain(|path, item| !is_idle_note(path, item));
        let explained = |path: &TreePath| at_remote.changed.contains_key(path) || at_local.changed.contains_key(path);
        let unexplained: Vec<&TreePath> = against.changed.keys().filter(|path| !explained(path)).collect();
        if !unexplained.is_empty() {
            return Err(SyncError::Different { branch: branch.name(), paths: texts(unexplained) });
        }
        if !puts.is_empty() || !leaving.is_empty() || (remote.is_none() && base.is_some()) {
            publishes_nothing_else(repository, tips, branch)?;
        }
        let mut warnings: Vec<String> = repairs.warning().into_iter().collect();
        if !unread.is_empty() {
            let (records, names) = (error::count(unread.len(), "record"), quoted(&texts(unread.keys())));
            warnings.push(format!("{records} not sent, which cannot be read here: {names}"));
        }
        if rewritten && remote.is_some() {
            let how =
                if repository.is_shallow() { "cannot be followed in this shallow clone" } else { "was rewritten" };
            warnings.push(format!("the history of `{}` {how} since the last sync", branch.name()));
        }
        let ready = match puts.is_empty() && leaving.is_empty() && base.is_some() {
            true => base,
            false if verdicts.is_broken => None,
            false => ready(repository, base, local, &against, &puts)?,
        };
        if let Some(base) = base.filter(|_| ready.is_none()) {
            let is_new = |note: &&Archive| !note.restored && against.left.contains_key(note.to_file().0.as_bytes());
            for Archive { commit, file, .. } in Archive::newest(here).iter().filter(is_new) {
                let commit = Oid::from_str(commit).and_then(|commit| repository.find_commit(commit));
                let has = commit.map_or(Ok(false), |commit| contains(repository, base, commit.id()))?;
                if !has {
                    return Err(SyncError::ArchivedApart { file: file.clone(), branch: branch.name() });
                }
            }
        }
        Ok(Plan {
            base,
            ready,
            put_back: if remote.is_none() { texts(at_remote.left.keys()) } else { Vec::new() },
            puts,
            leaving,
            received: against.right.len(),
            is_unread: !unread.is_empty(),
            drops: after_rewrite == Some(AfterRewrite::Accept)
                && !(at_remote.left.is_empty() && at_remote.changed.is_empty()),
            warnings,
        })
    }

    pub(crate) fn pushes(&self, remote: Option<Oid>) -> bool {
        !self.puts.is_empty() || !self.leaving.is_empty() || self.base != remote
    }

    pub(crate) fn sent(&self) -> Vec<String> {
        let mut sent = texts(self.puts.keys());
        sent.extend(self.put_back.iter().cloned());
        sent.sort();
        sent
    }
}

/// The restorations that one side made without having seen the archive of the other, each made to decide over it. A note is dated
/// after those that its clone had seen, so no clock of a machine matters.
fn deciding_restorations(here: &[Archive], there: &[Archive]) -> Vec<Archive> {
    let only = |these: &[Archive], others: &[Archive]| {
        Archive::newest(these.iter().filter(|note| !others.contains(note)).cloned())
    };
    let (ours, theirs) = (only(here, there), only(there, here));
    let mut deciding = Vec::new();
    for (these, others) in [(&ours, &theirs), (&theirs, &ours)] {
        for note in these.iter().filter(|note| note.restored) {
            let is_about_them = |other: &&Archive| other.folders.keys().any(|folder| note.folders.contains_key(folder));
            let archiving = others.iter().filter(|other| !other.restored && other.time > note.time);
            // Of two notes of one second, that which restores decides.
            let last = archiving.filter(is_about_them).map(|other| other.time).max();
            deciding.extend(last.map(|time| Archive { time, ..note.clone() }));
        }
    }
    deciding
}

fn judge(
    at_remote: &Difference,
    at_local: &Difference,
    after_rewrite: Option<AfterRewrite>,
    rewritten: bool,
    branch: &RemoteBranch,
    is_gone: bool,
    notes: Vec<String>,
) -> Result<(), SyncError> {
    // A branch that is gone says nothing of its records, so there is nothing to accept.
    let undecided = after_rewrite.is_none() || (is_gone && after_rewrite == Some(AfterRewrite::Accept));
    if undecided && !(at_remote.left.is_empty() && at_remote.changed.is_empty()) {
        return Err(SyncError::Lost {
            branch: branch.name(),
            lost: texts(at_remote.left.keys()),
            changed: texts(at_remote.changed.keys()),
            rewritten,
            is_gone,
            notes,
        });
    }
    let here: Vec<&TreePath> = at_local.left.keys().chain(at_local.changed.keys()).collect();
    if after_rewrite.is_none() && !here.is_empty() {
        return Err(SyncError::LostHere { local: branch.local(), paths: texts(here) });
    }
    Ok(())
}

fn publishes_nothing_else(repository: &Repository, tips: Tips, branch: &RemoteBranch) -> Result<(), SyncError> {
    let Some(local) = tips.local else { return Ok(()) };
    let own = user_commits(repository, local, &[tips.remote, tips.synced])?;
    if own.is_empty() {
        return Ok(());
    }
    let (local, branch) = (branch.local(), branch.name());
    Err(SyncError::Unpublished { local, branch, count: own.len(), first: own })
}

/// The local tip where it is on top of the base and differs from it by the puts, and by what leaves, alone.
fn ready(
    repository: &Repository,
    base: Option<Oid>,
    local: Option<Oid>,
    against: &Difference,
    puts: &BTreeMap<TreePath, TreeItem>,
) -> Result<Option<Oid>, HistoryError> {
    let Some(local) = local else { return Ok(None) };
    let is_above = base.map_or(Ok(true), |base| contains(repository, local, base))?;
    let same = against.right.is_empty() && against.changed.is_empty() && against.left == *puts;
    // Code that a rewritten branch has dropped does not come back.
    let fits = is_above && same && user_commits(repository, local, &[base])?.is_empty();
    Ok(fits.then_some(local))
}

// The remote, and the refs in which a sync stores its state.

pub(crate) struct RemoteBranch {
    pub(crate) remote: String,
    pub(crate) reference: String,
}

impl RemoteBranch {
    /// Chooses the remote: the given one, else that of the branch's upstream, else `origin`, else the only one.
    pub(crate) fn choose(
        repository: &Repository,
        target: &Target,
        asked: Option<&str>,
    ) -> Result<RemoteBranch, SyncError> {
        let list = repository.remotes().map_err(failed("list the remotes"))?;
        let names: Vec<String> = list.iter().filter_map(|name| name.ok().flatten().map(str::to_owned)).collect();
        let exists = |name: &str| names.iter().any(|other| other == name);
        let upstream = || {
            let key = format!("branch.{}.remote", short_name(&target.reference));
            repository.config().ok()?.snapshot().ok()?.get_str(&key).ok().map(str::to_owned)
        };
        let listed = || names.iter().map(|name| format!("`{}`", printable(name))).collect::<Vec<_>>().join(", ");
        let remote = match asked {
            Some(asked) if exists(asked) => asked.to_owned(),
            Some(asked) => {
                let there =
                    if names.is_empty() { "there is none".to_owned() } else { format!("there is {}", listed()) };
                return Err(SyncError::NoRemote(format!("`{}` is not one of them; {there}", printable(asked))));
            }
            None => match (upstream().filter(|name| exists(name)), &names[..]) {
                (Some(upstream), _) => upstream,
                (None, []) => return Err(SyncError::NoRemote("this repository has none".to_owned())),
                (None, _) if exists("origin") => "origin".to_owned(),
                (None, [only]) => only.clone(),
                (None, _) => return Err(SyncError::NoRemote(format!("it may be any of {}", listed()))),
            },
        };
        check(repository, &remote, &target.reference)?;
        Ok(RemoteBranch { remote, reference: target.reference.clone() })
    }

    /// Such as `main`.
    pub(crate) fn local(&self) -> String {
        short_name(&self.reference).to_owned()
    }

    /// Such as `origin/main`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.remote, short_name(&self.reference))
    }

    /// The ref that the remote's branch is fetched into, so that a fetch changes no ref of the user.
    pub(crate) fn fetched(&self) -> String {
        format!("refs/sprag/fetched/{}", self.name())
    }

    /// The ref of the remote's branch after the last sync. It also protects the objects from `git gc`.
    pub(crate) fn synced(&self) -> String {
        format!("refs/sprag/synced/{}", self.name())
    }

    /// The ref of a tip whose records were dropped, so that nothing is lost.
    pub(crate) fn let_go(&self, tip: Oid) -> String {
        format!("refs/sprag/let-go/{}/{tip}", self.name())
    }
}

pub(crate) fn commit_of(repository: &Repository, reference: &str) -> Result<Option<Oid>, HistoryError> {
    match repository.find_reference(reference).and_then(|reference| reference.peel_to_commit()) {
        Ok(commit) => Ok(Some(commit.id())),
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::UnbornBranch) => Ok(None),
        Err(error) => Err(failed("read a tip of the history")(error)),
    }
}

pub(crate) fn set(repository: &Repository, reference: &str, commit: Oid) -> Result<(), HistoryError> {
    repository.reference(reference, commit, true, "sprag: sync").map_err(failed("remember what was synced"))?;
    objects::sync_ref(repository, reference)
}

/// Warnings about settings of the repository that change the parents or contents of commits.
pub(crate) fn odd_graph(repository: &Repository) -> Vec<String> {
    let mut warnings = Vec::new();
    let replaced = repository.references_glob("refs/replace/*").is_ok_and(|mut refs| refs.next().is_some());
    if replaced {
        warnings
            .push("this repository has `refs/replace/`, which a sync ignores: it compares what is stored".to_owned());
    }
    if let Some(grafts) = grafts(repository) {
        warnings
            .push(format!("`{}` replaces the parents of commits, and may hide a rewritten history", grafts.display()));
    }
    warnings
}

fn check(repository: &Repository, name: &str, reference: &str) -> Result<(), SyncError> {
    let bad = |reason: &str| SyncError::BadRemote { remote: printable(name), reason: reason.to_owned() };
    if name.starts_with('-') {
        return Err(bad("its name begins with a dash"));
    }
    let remote = repository.find_remote(name).map_err(|error| bad(&printable(error.message())))?;
    let addresses = [remote.url().ok(), remote.pushurl().ok().flatten()];
    if addresses.iter().flatten().any(|address| address.starts_with('-')) {
        return Err(bad("its address begins with a dash"));
    }
    // Fetching from a mirror overwrites branches, and so records that were never sent.
    let refspecs = remote.refspecs().filter(|refspec| refspec.direction() == Direction::Fetch);
    if refspecs.into_iter().any(|refspec| refspec.dst_matches(reference)) {
        return Err(bad("fetching from it overwrites the local branch"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    fn chosen(fixture: &Fixture, asked: Option<&str>) -> Result<String, String> {
        let branch = RemoteBranch::choose(&fixture.store().repository, &fixture.target(), asked);
        branch.map(|branch| branch.name()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_remote_is_chosen_in_order() {
        let fixture = Fixture::new();
        let check = |asked: Option<&str>, expected: &str| {
            let chosen = chosen(&fixture, asked).unwrap_or_else(|error| error);
            assert!(chosen.contains(expected), "{chosen}");
        };
        check(None, "has none");
        check(Some("x"), "there is none");
        fixture.git(&["remote", "add", "backup", "../backup"]);
        check(None, "backup/main");
        fixture.git(&["remote", "add", "second", "../second"]);
        check(None, "any of `backup`, `second`");
        fixture.git(&["remote", "add", "origin", "../origin"]);
        check(None, "origin/main");
        fixture.git(&["config", "branch.main.remote", "second"]);
        check(None, "second/main");
        check(Some("backup"), "backup/main");
        check(Some("nowhere"), "`nowhere` is not one of them; there is `backup`, ");
        fixture.git(&["config", "branch.main.remote", "."]);
        check(None, "origin/main");
    }

    #[test]
    fn a_harmful_remote_is_refused() {
        for (settings, expected) in [
            (&[["remote.origin.url", "--upload-pack=x"]][..], "address begins with a dash"),
            (&[["remote.origin.pushurl", "-x"]], "address begins with a dash"),
            (&[["remote.origin.fetch", "+refs/*:refs/*"]], "overwrites the local branch"),
            (&[["remote.origin.fetch", "+refs/heads/*:refs/heads/*"]], "overwrites the local branch"),
            (&[["remote.-x.url", "y"], ["branch.main.remote", "-x"]], "name begins with a dash"),
        ] {
            let fixture = Fixture::new();
            fixture.git(&["remote", "add", "origin", "../origin"]);
            for [key, value] in settings {
                fixture.git(&["config", key, value]);
            }
            let error = chosen(&fixture, None).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
