//! The commits that can be measured, in their order.

use std::collections::BTreeMap;

use git2::{ErrorCode, Oid, Repository, Sort};

use crate::history::HistoryError;
use crate::history::git::commits::measured::resolve;
use crate::history::git::commits::trees::{FirstParent, changes_code, first_parent};
use crate::history::git::reading::loose::{self, LooseObjects};
use crate::history::git::{Store, failed, subject_of, time_of};
use crate::model::commit::{CommitLine, CommitOnLine};

/// The first-parent line of `revision`, or of HEAD, oldest first, without the commits that only add records.
///
/// A tag on a commit that is left out goes to the nearest one before it that stays: that is what was released.
/// Before the first commit the line is empty.
///
/// # Errors
/// When the revision names no commit, or a commit that should be here cannot be read.
pub fn commit_line(store: &Store, revision: Option<&str>) -> Result<CommitLine, HistoryError> {
    let repository = &store.repository;
    let shallow = repository.is_shallow();
    let mut next = match revision {
        Some(revision) => resolve(repository, revision)?,
        None => match repository.head() {
            Ok(head) => loose::commit_at(repository, &head).map_err(failed("read the commit of HEAD"))?,
            Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => {
                return Ok(CommitLine { commits: Vec::new(), shallow, named: false });
            }
            Err(error) => return Err(failed("read HEAD")(error)),
        },
    };
    let mut tags = tags(repository)?;
    let loose = LooseObjects::of(repository);
    let mut carried = Vec::new();
    let mut commits = Vec::new();
    loop {
        carried.append(&mut tags.remove(&next.id()).unwrap_or_default());
        let parent = first_parent(repository, &loose, &next)?;
        if changes_code(&next, &parent)? {
            carried.sort();
            commits.push(CommitOnLine {
                sha: next.id().to_string(),
                commit_time: time_of(next.time()),
                subject: subject_of(&next),
                tags: std::mem::take(&mut carried),
            });
        }
        match parent {
            FirstParent::Commit(parent) => next = parent,
            FirstParent::None | FirstParent::Absent => break,
        }
    }
    commits.reverse();
    Ok(CommitLine { commits, shallow, named: false })
}

/// All commits that `revision`, or HEAD, holds, those of merged branches too, without the commits that only add records:
/// parents before children, the commits of a branch together, and the same in every clone.
///
/// # Errors
/// As [`commit_line`].
pub fn commit_graph(store: &Store, revision: Option<&str>) -> Result<CommitLine, HistoryError> {
    let repository = &store.repository;
    let tip = match revision {
        Some(revision) => resolve(repository, revision)?.id(),
        None => match repository.head() {
            Ok(head) => loose::commit_at(repository, &head).map_err(failed("read the commit of HEAD"))?.id(),
            Err(_) => return commit_line(store, None),
        },
    };
    let mut tags = tags(repository)?;
    let loose = LooseObjects::of(repository);
    let mut walk = repository.revwalk().map_err(failed("walk the commits"))?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE).map_err(failed("walk the commits"))?;
    walk.push(tip).map_err(failed("walk the commits"))?;
    let mut commits: Vec<CommitOnLine> = Vec::new();
    for id in walk {
        let id = id.map_err(failed("walk the commits"))?;
        let commit = loose.find_commit(repository, id).map_err(failed("read a commit"))?;
        let mut names = tags.remove(&id).unwrap_or_default();
        if changes_code(&commit, &first_parent(repository, &loose, &commit)?)? {
            names.sort();
            let (commit_time, subject) = (time_of(commit.time()), subject_of(&commit));
            commits.push(CommitOnLine { sha: id.to_string(), commit_time, subject, tags: names });
        } else if let Some(last) = commits.last_mut() {
            last.tags.append(&mut names);
        }
    }
    Ok(CommitLine { commits, shallow: repository.is_shallow(), named: false })
}

/// The names of the tags of each commit. A tag of something else, or of a commit that is not here, is left out.
fn tags(repository: &Repository) -> Result<BTreeMap<Oid, Vec<String>>, HistoryError> {
    let mut tags: BTreeMap<Oid, Vec<String>> = BTreeMap::new();
    for reference in repository.references_glob("refs/tags/*").map_err(failed("list the tags"))? {
        let Ok(reference) = reference else { continue };
        let Ok(commit) = reference.peel_to_commit() else { continue };
        let name = String::from_utf8_lossy(reference.shorthand_bytes()).into_owned();
        tags.entry(commit.id()).or_default().push(name);
    }
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::git::testing::{Fixture, minute, run};
    use crate::history::git::{Record, append, target};

    #[test]
    fn the_line_is_the_first_parents_without_records() {
        let fixture = Fixture::new();
        let store = fixture.store();
        let record = |number| {
            append(&store, &target(&store, None).unwrap(), &[Record::of(&run(number))], minute(number)).unwrap()
        };
        fixture.git(&["tag", "v0.1.0"]);
        record(1);
        record(2);
        fixture.git(&["tag", "-a", "v0.1.1", "-m", "on a record"]);
        fixture.git(&["checkout", "--quiet", "-b", "side", "HEAD~2"]);
        fixture.commit("side", "x\n", "Side");
        fixture.git(&["checkout", "--quiet", "main"]);
        fixture.git(&["merge", "--quiet", "--no-ff", "-m", "Merge side", "side"]);
        record(3);
        fixture.git(&["tag", "blob", "HEAD:README"]);
        let line = commit_line(&store, None).unwrap();
        let found: Vec<_> = line.commits.iter().map(|c| (c.subject.as_str(), c.tags.join(" "))).collect();
        let expected = [("Begin", ""), ("Add one", "v0.1.0 v0.1.1"), ("Merge side", "")];
        assert_eq!(found, expected.map(|(subject, tags)| (subject, tags.to_owned())));
        assert!(!line.shallow);
        assert_eq!(line.positions()[line.commits[2].sha.as_str()], 2);
        let side = commit_line(&store, Some("side")).unwrap();
        assert_eq!(side.commits.last().unwrap().subject, "Side");
        // With the commits of merged branches, each after its parents.
        let graph = commit_graph(&store, None).unwrap();
        let mut subjects: Vec<&str> = graph.commits.iter().map(|commit| commit.subject.as_str()).collect();
        assert_eq!((subjects[0], subjects[3]), ("Begin", "Merge side"));
        subjects[1..3].sort_unstable();
        assert_eq!(subjects[1..3], ["Add one", "Side"]);
        let shas = |line: &CommitLine| line.commits.iter().map(|commit| commit.sha.clone()).collect::<Vec<_>>();
        assert_eq!(shas(&commit_graph(&store, Some("side")).unwrap()), shas(&side));
    }

    #[test]
    fn the_line_is_empty_before_the_first_commit() {
        assert_eq!(commit_line(&Fixture::empty(&[]).store(), None).unwrap(), CommitLine::default());
        assert_eq!(commit_graph(&Fixture::empty(&[]).store(), None).unwrap(), CommitLine::default());
    }
}
