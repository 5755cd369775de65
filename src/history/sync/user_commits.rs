//! Commits of the user's: those that hold more than records.

use git2::{Commit, ErrorCode, Oid, Repository};

use crate::commits::measured::parents;
use crate::error::HistoryError;
use crate::store::{failed, subject_of};
use crate::sync::compare::outside;

/// The subjects of the commits of `tip` that none of `published` has and that are the user's, the newest first.
///
/// A commit is one of records alone where everything outside of them is as in one of its parents, so that a merge of
/// what both sides recorded is one. An empty commit is the user's: somebody made it on purpose.
pub(crate) fn user_commits(
    repository: &Repository,
    tip: Oid,
    published: &[Option<Oid>],
) -> Result<Vec<String>, HistoryError> {
    let refused = || failed("walk the commits of the history");
    let mut walk = repository.revwalk().map_err(refused())?;
    walk.push(tip).map_err(refused())?;
    for hidden in published.iter().flatten() {
        walk.hide(*hidden).map_err(refused())?;
    }
    let mut own = Vec::new();
    for id in walk {
        let commit = id.and_then(|id| repository.find_commit(id)).map_err(refused())?;
        if !holds_records_alone(repository, &commit)? {
            own.push(subject_of(&commit));
        }
    }
    Ok(own)
}

/// The newest commit that both have; absent where there is none.
pub(crate) fn meeting(
    repository: &Repository,
    one: Option<Oid>,
    other: Option<Oid>,
) -> Result<Option<Oid>, HistoryError> {
    let (Some(one), Some(other)) = (one, other) else { return Ok(None) };
    match repository.merge_base(one, other) {
        Ok(base) => Ok(Some(base)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(failed("find where two histories meet")(error)),
    }
}

/// Whether `tip` is `ancestor`, or has it below.
pub(crate) fn contains(repository: &Repository, tip: Oid, ancestor: Oid) -> Result<bool, HistoryError> {
    let descends = || repository.graph_descendant_of(tip, ancestor).map_err(failed("walk the commits of the history"));
    Ok(tip == ancestor || descends()?)
}

fn holds_records_alone(repository: &Repository, commit: &Commit<'_>) -> Result<bool, HistoryError> {
    let ours = commit.message_bytes().starts_with(b"sprag: ");
    let tree = commit.tree_id();
    let here: Vec<Commit<'_>> = commit.parents().collect();
    if here.is_empty() && !parents(commit).is_empty() {
        // The last commit of a shallow clone has nothing to be compared with.
        return Ok(ours);
    }
    if let [parent] = &here[..]
        && parent.tree_id() == tree
    {
        return Ok(ours);
    }
    let rest = outside(repository, Some(commit.id()))?;
    if here.is_empty() {
        let is_empty = commit.tree().map_err(failed("read the tree of a commit"))?.is_empty();
        return Ok(rest.is_empty() && (ours || !is_empty));
    }
    for parent in &here {
        if outside(repository, Some(parent.id()))? == rest {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use crate::testing::Fixture;

    use super::*;

    #[test]
    fn commits_of_records_are_nobodys() {
        let fixture = Fixture::new();
        let published = fixture.head();
        let own = |tip: &str| {
            let store = fixture.store();
            let id = |text: &str| Oid::from_str(text).unwrap();
            user_commits(&store.repository, id(tip), &[None, Some(id(&published))]).unwrap()
        };
        assert_eq!(own(&published), [""; 0]);
        let records = fixture.commit("history/v1/a/1", "1", "By hand");
        assert_eq!(own(&records), [""; 0]);
        fixture.git(&["checkout", "-q", "-b", "other", &published]);
        let code = fixture.commit("src/lib.rs", "fn x() {}\n", "Code");
        assert_eq!(own(&code), ["Code"]);
        fixture.git(&["merge", "-q", "--no-edit", "main"]);
        assert_eq!(own(&fixture.head()), ["Code"]);
        fixture.git(&["checkout", "-q", "-b", "third", &published]);
        fixture.commit("history/v1/a/2", "2", "By hand");
        fixture.git(&["merge", "-q", "--no-edit", "main"]);
        assert_eq!(own(&fixture.head()), [""; 0]);
        fixture.git(&["commit", "-q", "--allow-empty", "-m", "Deploy"]);
        fixture.commit("history/README", "words", "Say");
        assert_eq!(own(&fixture.head()), ["Say", "Deploy"]);
    }
}
