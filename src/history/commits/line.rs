//! The commits that can be measured, in their order.

use std::collections::BTreeMap;

use git2::{Commit, ErrorCode, Oid, Repository, Sort};

use crate::commits::measured::{FirstParent, changes_code, first_parent, resolve};
use crate::error::HistoryError;
use crate::objects::loose;
use crate::objects::loose::LooseObjects;
use crate::store::{Store, failed, subject_of, time_of};
use sprag_model::commit::{CommitLine, CommitOnLine};
use sprag_model::commit_cache::{CachedCommit, CommitCache};

/// The first-parent line of `revision`, or of HEAD, oldest first, without the commits that only add records.
///
/// A tag on a commit that is left out goes to the nearest one before it that stays: that is what was released.
/// Before the first commit the line is empty.
///
/// # Errors
/// When the revision names no commit, or a commit that should be here cannot be read.
pub fn commit_line(store: &Store, revision: Option<&str>) -> Result<CommitLine, HistoryError> {
    commit_line_cached(store, revision, &mut CommitCache::default())
}

/// Likewise, where cached commits need not be read, and those that are read are cached. In a shallow clone none is
/// taken from the cache, as its line ends where the clone does.
///
/// # Errors
/// As [`commit_line`].
pub fn commit_line_cached(
    store: &Store,
    revision: Option<&str>,
    cache: &mut CommitCache,
) -> Result<CommitLine, HistoryError> {
    let repository = &store.repository;
    let shallow = repository.is_shallow();
    if shallow {
        *cache = CommitCache::default();
    }
    let tip = match revision {
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
    let loose = LooseObjects::new(repository);
    let mut carried = Vec::new();
    let mut commits = Vec::new();
    let mut next = Some((tip.id(), Some(tip)));
    while let Some((id, read)) = next {
        let sha = id.to_string();
        let (commit, parent) = match cache.get(&sha) {
            Some(commit) => (commit.clone(), None),
            None => {
                let read = match read {
                    Some(read) => read,
                    None => loose.find_commit(repository, id).map_err(failed("read a commit"))?,
                };
                let parent = first_parent(repository, &loose, &read)?;
                let commit = describe(&read, &parent)?;
                if is_certain(&read, &parent) {
                    cache.insert(sha.clone(), commit.clone());
                }
                (commit, Some(parent))
            }
        };
        carried.append(&mut tags.remove(&id).unwrap_or_default());
        if let Some((commit_time, subject)) = commit.code {
            carried.sort();
            commits.push(CommitOnLine { sha, commit_time, subject, tags: std::mem::take(&mut carried) });
        }
        next = match parent {
            Some(FirstParent::Commit(parent)) => Some((parent.id(), Some(parent))),
            Some(FirstParent::None | FirstParent::Absent) => None,
            None => match commit.parent {
                Some(parent) => Some((Oid::from_str(&parent).map_err(failed("read the parents of a commit"))?, None)),
                None => None,
            },
        };
    }
    commits.reverse();
    Ok(CommitLine { commits, shallow, named: false })
}

fn describe(commit: &Commit<'_>, parent: &FirstParent<'_>) -> Result<CachedCommit, HistoryError> {
    let is_code = changes_code(commit, parent)?;
    Ok(CachedCommit {
        parent: if let FirstParent::Commit(parent) = parent { Some(parent.id().to_string()) } else { None },
        code: is_code.then(|| (time_of(commit.time()), subject_of(commit))),
    })
}

/// Whether nothing that is not here, such as a tree in a partial clone, could tell more of a commit.
fn is_certain(commit: &Commit<'_>, parent: &FirstParent<'_>) -> bool {
    let is_here = match parent {
        FirstParent::None => true,
        FirstParent::Absent => false,
        FirstParent::Commit(parent) => parent.tree().is_ok(),
    };
    is_here && commit.tree().is_ok()
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
    let loose = LooseObjects::new(repository);
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
    use crate::append::append;
    use crate::commits::target::target;
    use crate::record::Record;
    use crate::testing::{Fixture, minute, run};

    use super::*;

    #[test]
    fn the_line_is_the_first_parents_without_records() {
        let fixture = Fixture::new();
        let store = fixture.store();
        let record = |number| {
            append(&store, &target(&store, None).unwrap(), &[Record::from_run(&run(number))], minute(number)).unwrap()
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
    fn the_line_is_the_same_where_commits_are_known() {
        let fixture = Fixture::new();
        let store = fixture.store();
        let add = |number| {
            append(&store, &target(&store, None).unwrap(), &[Record::from_run(&run(number))], minute(number)).unwrap();
        };
        fixture.git(&["tag", "v0.1.0"]);
        add(1);
        let mut cache = CommitCache::default();
        let line = |cache: &mut CommitCache| commit_line_cached(&store, None, cache).unwrap();
        assert_eq!(line(&mut cache), commit_line(&store, None).unwrap());
        assert_eq!(cache.len(), 3);
        let before = cache.clone();
        assert_eq!(line(&mut cache), commit_line(&store, None).unwrap());
        assert_eq!(cache, before);
        fixture.git(&["tag", "v0.1.1"]);
        fixture.commit("src/lib.rs", "fn more() {}\n", "More");
        add(2);
        assert_eq!(line(&mut cache), commit_line(&store, None).unwrap());
        assert_eq!(cache.len(), 5);
        // What is cached is not read.
        let head = fixture.git(&["rev-parse", "HEAD"]);
        let other = CachedCommit { parent: None, code: Some((minute(1), "Other".to_owned())) };
        cache.insert(head, other);
        let subjects: Vec<String> = line(&mut cache).commits.into_iter().map(|commit| commit.subject).collect();
        assert_eq!(subjects, ["Other"]);
    }

    #[test]
    fn the_line_is_empty_before_the_first_commit() {
        assert_eq!(commit_line(&Fixture::empty(&[]).store(), None).unwrap(), CommitLine::default());
        assert_eq!(commit_graph(&Fixture::empty(&[]).store(), None).unwrap(), CommitLine::default());
    }
}
