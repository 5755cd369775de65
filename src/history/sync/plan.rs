//! What is to be done: which records the remote lacks, on top of which commit they go, and what stands against it.
//!
//! Three states are compared: the local branch, the branch of the remote, and that of the remote after the last sync.
//! A record that the third has and one of the others has not was lost there, by a rewritten branch or by a commit that
//! removed it; one that the third lacks, too, is new on the other side.

use std::collections::{BTreeMap, HashSet};

use git2::{Direction, ErrorCode, Oid, Repository};

use crate::error::{HistoryError, failed};
use crate::objects;
use crate::past::noted;
use crate::repository::{grafts, short_name};
use crate::sync::compare::{Difference, Entry, TreePath, compare, contains, meeting, user_commits};
use crate::sync::outcome::{AfterRewrite, SyncError};
use crate::target::Target;
use crate::transport::printable;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tips {
    /// The local branch; absent where it has no commit.
    pub(crate) local: Option<Oid>,
    /// The branch of the remote; absent where it has none.
    pub(crate) remote: Option<Oid>,
    /// The branch of the remote after the last sync; absent before the first.
    pub(crate) synced: Option<Oid>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The commit that is built upon; absent where the branch of the remote begins here.
    pub(crate) base: Option<Oid>,
    /// The paths of the records of a branch that was gone and is put back with its commits.
    put_back: Vec<String>,
    /// What the base lacks.
    pub(crate) puts: BTreeMap<TreePath, Entry>,
    /// The commit that holds the base and the puts already, if there is one.
    pub(crate) ready: Option<Oid>,
    /// How many records the remote has that the local branch lacks.
    pub(crate) received: usize,
    pub(crate) drops: bool,
    /// What the user should know, one sentence each.
    pub(crate) warnings: Vec<String>,
}

/// Names of both sides, for messages.
pub(crate) struct Names<'a> {
    /// The local branch, such as `main`.
    pub(crate) local: &'a str,
    /// The remote and its branch, such as `origin/main`.
    pub(crate) branch: &'a str,
}

impl Plan {
    pub(crate) fn make(
        repository: &Repository,
        tips: Tips,
        after_rewrite: Option<AfterRewrite>,
        names: &Names<'_>,
    ) -> Result<Plan, SyncError> {
        let Tips { local, remote, synced } = tips;
        let met = meeting(repository, local, remote)?;
        if let (Some(_), Some(_), None) = (local, remote, met)
            && repository.is_shallow()
        {
            return Err(SyncError::Unmet { local: names.local.to_owned(), branch: names.branch.to_owned() });
        }
        let rewritten = match (synced, remote) {
            (Some(synced), Some(remote)) => !contains(repository, remote, synced)?,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let at_remote = match synced {
            Some(_) => compare(repository, synced, remote)?,
            None => Difference::default(),
        };
        let at_local = match meeting(repository, local, synced.or(remote))? {
            Some(base) => compare(repository, Some(base), local)?,
            None => Difference::default(),
        };
        judge(&at_remote, &at_local, after_rewrite, rewritten, names, remote.is_none())?;

        // A branch that is gone altogether is put back as it was, with whatever else its commits hold.
        let base = remote.or(synced);
        let against = compare(repository, local, base)?;
        let puts = match after_rewrite {
            Some(AfterRewrite::Accept) => {
                let lost = |path: &TreePath| at_remote.left.contains_key(path);
                against
                    .left
                    .iter()
                    .filter(|(path, _)| !lost(path))
                    .map(|(path, entry)| (path.clone(), *entry))
                    .collect()
            }
            Some(AfterRewrite::Restore) => {
                let mut puts = against.left.clone();
                if remote.is_some() {
                    puts.extend(at_remote.left.iter().map(|(path, entry)| (path.clone(), *entry)));
                    puts.extend(at_remote.changed.iter().map(|(path, (before, _))| (path.clone(), *before)));
                }
                puts
            }
            None => against.left.clone(),
        };
        let at_base: HashSet<Oid> = against.right.values().map(|entry| entry.id).collect();
        let puts: BTreeMap<_, _> = puts.into_iter().filter(|put| !is_idle_note(repository, put, &at_base)).collect();
        let explained = |path: &TreePath| at_remote.changed.contains_key(path) || at_local.changed.contains_key(path);
        let unexplained: Vec<&TreePath> = against.changed.keys().filter(|path| !explained(path)).collect();
        if !unexplained.is_empty() {
            return Err(SyncError::Different { branch: names.branch.to_owned(), paths: texts(unexplained) });
        }
        if !puts.is_empty() || (remote.is_none() && base.is_some()) {
            publishes_nothing_else(repository, tips, names)?;
        }
        let mut warnings = Vec::new();
        if rewritten && remote.is_some() {
            let how =
                if repository.is_shallow() { "cannot be followed in this shallow clone" } else { "was rewritten" };
            warnings.push(format!("the history of `{}` {how} since the last sync", names.branch));
        }
        Ok(Plan {
            base,
            ready: ready(repository, base, local, &against, &puts)?,
            put_back: if remote.is_none() { texts(at_remote.left.keys()) } else { Vec::new() },
            puts,
            received: against.right.len(),
            drops: after_rewrite == Some(AfterRewrite::Accept)
                && !(at_remote.left.is_empty() && at_remote.changed.is_empty()),
            warnings,
        })
    }

    /// Whether there is anything to push to a remote whose branch is at `remote`.
    pub(crate) fn pushes(&self, remote: Option<Oid>) -> bool {
        !self.puts.is_empty() || self.base != remote
    }

    pub(crate) fn sent(&self) -> Vec<String> {
        let mut sent = texts(self.puts.keys());
        sent.extend(self.put_back.iter().cloned());
        sent.sort();
        sent
    }
}

/// Whether it is a note of a content that could not be read here, and that the other side has where it belongs: there
/// it would tell of a loss that is none.
fn is_idle_note(repository: &Repository, (path, entry): &(TreePath, Entry), at_base: &HashSet<Oid>) -> bool {
    noted(repository, path, entry.id).is_some_and(|id| at_base.contains(&id))
}

fn judge(
    at_remote: &Difference,
    at_local: &Difference,
    after_rewrite: Option<AfterRewrite>,
    rewritten: bool,
    names: &Names<'_>,
    is_gone: bool,
) -> Result<(), SyncError> {
    // That a branch is gone says nothing of its records, so there is nothing to accept.
    let undecided = after_rewrite.is_none() || (is_gone && after_rewrite == Some(AfterRewrite::Accept));
    if undecided && !(at_remote.left.is_empty() && at_remote.changed.is_empty()) {
        return Err(SyncError::Lost {
            branch: names.branch.to_owned(),
            lost: texts(at_remote.left.keys()),
            changed: texts(at_remote.changed.keys()),
            rewritten,
            is_gone,
        });
    }
    let here: Vec<&TreePath> = at_local.left.keys().chain(at_local.changed.keys()).collect();
    if after_rewrite.is_none() && !here.is_empty() {
        return Err(SyncError::LostHere { local: names.local.to_owned(), paths: texts(here) });
    }
    Ok(())
}

fn publishes_nothing_else(repository: &Repository, tips: Tips, names: &Names<'_>) -> Result<(), SyncError> {
    let Some(local) = tips.local else { return Ok(()) };
    let own = user_commits(repository, local, &[tips.remote, tips.synced])?;
    if own.is_empty() {
        return Ok(());
    }
    let (local, branch) = (names.local.to_owned(), names.branch.to_owned());
    Err(SyncError::Unpublished { local, branch, count: own.len(), first: own })
}

/// The commit that is the union already: the base where nothing is to be put, or the local tip where it stands on the
/// base and differs from it by the puts alone.
fn ready(
    repository: &Repository,
    base: Option<Oid>,
    local: Option<Oid>,
    against: &Difference,
    puts: &BTreeMap<TreePath, Entry>,
) -> Result<Option<Oid>, HistoryError> {
    if puts.is_empty() && base.is_some() {
        return Ok(base);
    }
    let Some(local) = local else { return Ok(None) };
    let stands_on = base.map_or(Ok(true), |base| contains(repository, local, base))?;
    let same = against.right.is_empty() && against.changed.is_empty() && against.left == *puts;
    // What a rewritten branch has let go of besides records is not brought back.
    let fits = stands_on && same && user_commits(repository, local, &[base])?.is_empty();
    Ok(fits.then_some(local))
}

pub(crate) fn texts<'a>(paths: impl IntoIterator<Item = &'a TreePath>) -> Vec<String> {
    paths.into_iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

// The remote, and the refs in which a sync keeps what it knows of it.

pub(crate) struct RemoteBranch {
    pub(crate) remote: String,
    /// The branch in full, which has the same name on both sides.
    pub(crate) reference: String,
}

impl RemoteBranch {
    /// Chooses the remote: the one that is asked for, else that of the branch's upstream, else `origin`, else the only
    /// one.
    pub(crate) fn choose(
        repository: &Repository,
        target: &Target,
        asked: Option<&str>,
    ) -> Result<RemoteBranch, SyncError> {
        let list = repository.remotes().map_err(failed("list the remotes"))?;
        let names: Vec<String> = list.iter().filter_map(|name| name.ok().flatten().map(str::to_owned)).collect();
        let known = |name: &str| names.iter().any(|known| known == name);
        let upstream = || {
            let key = format!("branch.{}.remote", short_name(&target.reference));
            repository.config().ok()?.snapshot().ok()?.get_str(&key).ok().map(str::to_owned)
        };
        let listed = || names.iter().map(|name| format!("`{}`", printable(name))).collect::<Vec<_>>().join(", ");
        let remote = match asked {
            Some(asked) if known(asked) => asked.to_owned(),
            Some(asked) => {
                let there =
                    if names.is_empty() { "there is none".to_owned() } else { format!("there is {}", listed()) };
                return Err(SyncError::NoRemote(format!("`{}` is not one of them; {there}", printable(asked))));
            }
            None => match (upstream().filter(|name| known(name)), &names[..]) {
                (Some(upstream), _) => upstream,
                (None, []) => return Err(SyncError::NoRemote("this repository has none".to_owned())),
                (None, _) if known("origin") => "origin".to_owned(),
                (None, [only]) => only.clone(),
                (None, _) => return Err(SyncError::NoRemote(format!("it may be any of {}", listed()))),
            },
        };
        check(repository, &remote, &target.reference)?;
        Ok(RemoteBranch { remote, reference: target.reference.clone() })
    }

    /// As people write it: `origin/main`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.remote, short_name(&self.reference))
    }

    /// The ref that the remote's branch is fetched into. Nothing else of the user's is touched by a fetch that finds
    /// a rewritten branch.
    pub(crate) fn fetched(&self) -> String {
        format!("refs/sprag/fetched/{}", self.name())
    }

    /// The ref that keeps what the remote had after the last sync, and so keeps its objects.
    pub(crate) fn synced(&self) -> String {
        format!("refs/sprag/synced/{}", self.name())
    }

    /// The ref that keeps what was let go of, so that even then nothing is lost.
    pub(crate) fn let_go(&self, tip: Oid) -> String {
        format!("refs/sprag/let-go/{}/{tip}", self.name())
    }
}

pub(crate) fn commit_of(repository: &Repository, reference: &str) -> Result<Option<Oid>, HistoryError> {
    match repository.find_reference(reference).and_then(|found| found.peel_to_commit()) {
        Ok(commit) => Ok(Some(commit.id())),
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::UnbornBranch) => Ok(None),
        Err(error) => Err(failed("read a tip of the history")(error)),
    }
}

pub(crate) fn set(repository: &Repository, reference: &str, commit: Oid) -> Result<(), HistoryError> {
    repository.reference(reference, commit, true, "sprag: sync").map_err(failed("remember what was synced"))?;
    objects::sync_ref(repository, reference)
}

/// What of the repository lets commits seem to have other parents or contents than they have, one sentence each.
pub(crate) fn odd_graph(repository: &Repository) -> Vec<String> {
    let mut warnings = Vec::new();
    let replaced = repository.references_glob("refs/replace/*").is_ok_and(|mut found| found.next().is_some());
    if replaced {
        warnings.push(
            "this repository has `refs/replace/`, which a sync looks past: it compares what is stored".to_owned(),
        );
    }
    if let Some(grafts) = grafts(repository) {
        warnings.push(format!("`{}` gives commits other parents, and may hide a rewritten history", grafts.display()));
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
    // A mirror overwrites branches whenever it is fetched from, and by that records that were never sent.
    let refspecs = remote.refspecs().filter(|refspec| refspec.direction() == Direction::Fetch);
    if refspecs.into_iter().any(|refspec| refspec.dst_matches(reference)) {
        return Err(bad("fetching from it overwrites the local branch"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::target;
    use crate::testing::Fixture;

    fn chosen(fixture: &Fixture, asked: Option<&str>) -> Result<String, String> {
        let store = fixture.store();
        let target = target(&store, None).unwrap();
        let branch = RemoteBranch::choose(&store.repository, &target, asked);
        branch.map(|branch| branch.name()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_remote_is_chosen_in_order() {
        let fixture = Fixture::new();
        let check = |asked: Option<&str>, expected: &str| {
            let found = chosen(&fixture, asked).unwrap_or_else(|error| error);
            assert!(found.contains(expected), "{found}");
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
    fn a_remote_that_could_do_harm_is_refused() {
        let check = |settings: &[[&str; 2]], expected: &str| {
            let fixture = Fixture::new();
            fixture.git(&["remote", "add", "origin", "../origin"]);
            for [key, value] in settings {
                fixture.git(&["config", key, value]);
            }
            let error = chosen(&fixture, None).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check(&[["remote.origin.url", "--upload-pack=x"]], "address begins with a dash");
        check(&[["remote.origin.pushurl", "-x"]], "address begins with a dash");
        check(&[["remote.origin.fetch", "+refs/*:refs/*"]], "overwrites the local branch");
        check(&[["remote.origin.fetch", "+refs/heads/*:refs/heads/*"]], "overwrites the local branch");
        check(&[["remote.-x.url", "y"], ["branch.main.remote", "-x"]], "name begins with a dash");
    }
}
