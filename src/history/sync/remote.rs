//! The remote, and the refs in which a sync keeps what it knows of it.

use git2::{Direction, ErrorCode, Oid, Repository};

use crate::commits::head::short_name;
use crate::commits::target::Target;
use crate::error::HistoryError;
use crate::objects::flush;
use crate::store::failed;
use crate::sync::outcome::SyncError;
use crate::transport::answer::printable;

/// A branch of a remote.
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

/// The commit that a ref is at; absent where there is no such ref.
pub(crate) fn commit_of(repository: &Repository, reference: &str) -> Result<Option<Oid>, HistoryError> {
    match repository.find_reference(reference).and_then(|found| found.peel_to_commit()) {
        Ok(commit) => Ok(Some(commit.id())),
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::UnbornBranch) => Ok(None),
        Err(error) => Err(failed("read a tip of the history")(error)),
    }
}

/// Sets a ref of our own.
pub(crate) fn set(repository: &Repository, reference: &str, commit: Oid) -> Result<(), HistoryError> {
    repository.reference(reference, commit, true, "sprag: sync").map_err(failed("remember what was synced"))?;
    flush::sync_ref(repository, reference)
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
    let grafts = repository.commondir().join("info").join("grafts");
    if std::fs::metadata(&grafts).is_ok_and(|found| found.len() > 0) {
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
    use crate::commits::target::target;
    use crate::testing::Fixture;

    use super::*;

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
