//! The commit that a run measures.

use git2::{Commit, ErrorCode, OdbLookupFlags, Oid, Repository, StatusOptions, Tree};

use crate::commits::head::{head_branch, short_name};
use crate::error::HistoryError;
use crate::layout::FOLDER;
use crate::objects::loose;
use crate::objects::loose::LooseObjects;
use crate::store::{Store, failed, subject_of, time_of};
use sprag_model as model;

/// The digits of an id that is not cut short.
const FULL_ID: usize = 40;

/// The commit that a run of the present working tree measures: HEAD, or the nearest commit on its first-parent line
/// whose tree differs from its own first parent's outside the history.
///
/// It is dirty when a tracked file outside the history differs from HEAD, staged or not. A file behind a filter
/// driver, such as one of LFS, is judged by its size and times; where those are stale it counts as different, since
/// drivers are programs and no program is run. Absent before the first commit, and where all commits are records.
///
/// # Errors
/// When HEAD or the index cannot be read, and when a shallow clone ends too early to tell.
pub fn measured_commit(store: &Store) -> Result<Option<model::commit::Commit>, HistoryError> {
    let repository = &store.repository;
    let head = match repository.head() {
        Ok(head) => loose::commit_at(repository, &head).map_err(failed("read the commit of HEAD"))?,
        Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => return Ok(None),
        Err(error) => return Err(failed("read HEAD")(error)),
    };
    let branch = head_branch(repository)?.map(|full| short_name(&full).to_owned());
    let Some(commit) = nearest_code(repository, head)? else { return Ok(None) };
    let dirty = is_dirty(repository)?;
    Ok(Some(describe(&commit, branch, dirty)))
}

/// The commit that a clean checkout of `revision` measures, by the same rule.
///
/// # Errors
/// When the revision names no commit, and as [`measured_commit`].
pub fn commit_at(store: &Store, revision: &str) -> Result<Option<model::commit::Commit>, HistoryError> {
    let repository = &store.repository;
    let (start, steps) = steps_back(revision);
    let mut found = nearest_code(repository, resolve(repository, start)?)?;
    for _ in 0..steps {
        let Some(commit) = &found else { break };
        let parent = match first_parent(repository, &LooseObjects::new(repository), commit)? {
            FirstParent::None => {
                let reason = "the line of commits is shorter".to_owned();
                return Err(HistoryError::Revision { revision: revision.to_owned(), reason });
            }
            FirstParent::Absent => return Err(HistoryError::Shallow),
            FirstParent::Commit(parent) => parent,
        };
        found = nearest_code(repository, parent)?;
    }
    Ok(found.map(|commit| describe(&commit, None, false)))
}

/// A revision such as `main~3` as what it starts at and how many steps it goes back.
fn steps_back(revision: &str) -> (&str, usize) {
    match revision.rsplit_once('~') {
        Some((start, "")) => (start, 1),
        Some((start, steps)) => steps.parse().map_or((revision, 0), |steps| (start, steps)),
        None => (revision, 0),
    }
}

/// The commit of that id, or of the one id that begins so, if the repository holds it.
///
/// # Errors
/// When the object database cannot be read.
pub fn find_commit(store: &Store, id: &str) -> Result<Option<model::commit::Commit>, HistoryError> {
    let repository = &store.repository;
    let found = match Oid::from_str(id).ok().filter(|_| id.len() == FULL_ID) {
        // Objects do not come while we read, so a miss need not make libgit2 list the packs again.
        Some(whole) if !repository.odb().is_ok_and(|odb| odb.exists_ext(whole, OdbLookupFlags::NO_REFRESH)) => {
            return Ok(None);
        }
        Some(whole) => repository.find_commit(whole),
        None => repository.find_commit_by_prefix(id),
    };
    match found {
        Ok(commit) => Ok(Some(describe(&commit, None, false))),
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::Ambiguous | ErrorCode::InvalidSpec) => {
            Ok(None)
        }
        Err(error) if error.class() == git2::ErrorClass::Invalid => Ok(None),
        Err(error) => Err(failed("look for a commit")(error)),
    }
}

/// The commit that a revision names.
pub(crate) fn resolve<'r>(repository: &'r Repository, revision: &str) -> Result<Commit<'r>, HistoryError> {
    let named = repository.revparse_single(revision).and_then(|object| object.peel_to_commit());
    named.map_err(|error| HistoryError::Revision { revision: revision.to_owned(), reason: error.message().to_owned() })
}

/// `start` or its nearest first-parent ancestor that changes something besides the history.
pub(crate) fn nearest_code<'r>(
    repository: &'r Repository,
    start: Commit<'r>,
) -> Result<Option<Commit<'r>>, HistoryError> {
    let loose = LooseObjects::new(repository);
    let mut commit = start;
    loop {
        let parent = first_parent(repository, &loose, &commit)?;
        if changes_code(&commit, &parent)? {
            return Ok(Some(commit));
        }
        commit = match parent {
            FirstParent::None => return Ok(None),
            FirstParent::Absent => return Err(HistoryError::Shallow),
            FirstParent::Commit(parent) => parent,
        };
    }
}

fn describe(commit: &Commit<'_>, branch: Option<String>, dirty: bool) -> model::commit::Commit {
    model::commit::Commit {
        sha: commit.id().to_string(),
        parents: parents(commit),
        author_time: time_of(commit.author().when()),
        commit_time: time_of(commit.time()),
        subject: subject_of(commit),
        branch,
        dirty,
    }
}

fn is_dirty(repository: &Repository) -> Result<bool, HistoryError> {
    if repository.is_bare() {
        return Ok(false);
    }
    let failure = failed("compare the working tree with HEAD");
    if let Ok(tree) = repository.head().and_then(|head| head.peel_to_tree()) {
        loose::check_below(repository, &tree).map_err(failure)?;
    }
    let mut options = StatusOptions::new();
    options.include_untracked(false).include_ignored(false);
    let statuses = repository.statuses(Some(&mut options)).map_err(failed("compare the working tree with HEAD"))?;
    let inside = |path: &[u8]| path.strip_prefix(FOLDER.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"));
    Ok(statuses.iter().any(|entry| !inside(entry.path_bytes())))
}

/// The first parent of a commit, as far as this repository knows.
pub(crate) enum FirstParent<'r> {
    None,
    /// It has one that a shallow clone leaves out.
    Absent,
    Commit(Commit<'r>),
}

/// Looks for the first parent of `commit`.
pub(crate) fn first_parent<'r>(
    repository: &'r Repository,
    loose: &LooseObjects,
    commit: &Commit<'_>,
) -> Result<FirstParent<'r>, HistoryError> {
    // The header tells the truth where libgit2 hides the parents of the last commit of a shallow clone.
    let Some(id) = parents(commit).into_iter().next() else { return Ok(FirstParent::None) };
    if commit.parent_count() == 0 {
        return Ok(FirstParent::Absent);
    }
    let id = git2::Oid::from_str(&id).map_err(failed("read the parents of a commit"))?;
    match loose.find_commit(repository, id) {
        Ok(parent) => Ok(FirstParent::Commit(parent)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(FirstParent::Absent),
        Err(error) => Err(failed("read a commit")(error)),
    }
}

/// The parents that the commit names, whether or not they are here.
pub(crate) fn parents(commit: &Commit<'_>) -> Vec<String> {
    let header = String::from_utf8_lossy(commit.raw_header_bytes()).into_owned();
    header.lines().filter_map(|line| line.strip_prefix("parent ")).map(str::to_owned).collect()
}

/// Whether `commit` is one that can be measured: its tree differs from its first parent's outside the history.
///
/// A root commit counts unless it holds nothing but a history. Where the trees are not here, as in a clone without
/// them, the commit counts. The last commit of a shallow clone has nothing to be compared with: there the subject
/// that record commits bear decides.
pub(crate) fn changes_code(commit: &Commit<'_>, parent: &FirstParent<'_>) -> Result<bool, HistoryError> {
    let Some(tree) = present(commit.tree())? else { return Ok(true) };
    match parent {
        FirstParent::Absent => Ok(!has_record_message(commit)),
        FirstParent::None => Ok(tree.is_empty() || tree.iter().any(|entry| entry.name_bytes() != FOLDER.as_bytes())),
        FirstParent::Commit(parent) => {
            if parent.tree_id() == tree.id() {
                return Ok(false);
            }
            Ok(present(parent.tree())?.is_none_or(|parent_tree| differ_outside_history(&tree, &parent_tree)))
        }
    }
}

/// Whether the message is one that [`crate::git::append`] writes.
fn has_record_message(commit: &Commit<'_>) -> bool {
    commit.message_bytes().starts_with(b"sprag: ")
}

fn differ_outside_history(a: &Tree<'_>, b: &Tree<'_>) -> bool {
    let rest = |tree: &Tree<'_>| {
        let entries = tree.iter().filter(|entry| entry.name_bytes() != FOLDER.as_bytes());
        entries.map(|entry| (entry.name_bytes().to_vec(), entry.id(), entry.filemode_raw())).collect::<Vec<_>>()
    };
    rest(a) != rest(b)
}

fn present<'r>(tree: Result<Tree<'r>, git2::Error>) -> Result<Option<Tree<'r>>, HistoryError> {
    match tree {
        Ok(tree) => Ok(Some(tree)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(failed("read the tree of a commit")(error)),
    }
}

#[cfg(test)]
mod tests {
    use crate::append::append;
    use crate::commits::target::target;
    use crate::record::Record;
    use crate::testing::{Fixture, isolated, minute, run};

    use super::*;

    fn record(fixture: &Fixture, number: i64) {
        let store = fixture.store();
        append(&store, &target(&store, None).unwrap(), &[Record::from_run(&run(number))], minute(number)).unwrap();
    }

    #[test]
    fn record_commits_are_never_what_is_measured() {
        let fixture = Fixture::new();
        let code = fixture.head();
        let measured = || measured_commit(&fixture.store()).unwrap().unwrap();
        let expected = measured();
        assert_eq!((expected.sha.as_str(), expected.subject.as_str()), (code.as_str(), "Add one"));
        assert_eq!(expected.parents, [fixture.git(&["rev-parse", "HEAD~1"])]);
        assert_eq!((expected.branch.as_deref(), expected.dirty), (Some("main"), false));
        record(&fixture, 1);
        record(&fixture, 2);
        assert_ne!(fixture.head(), code);
        assert_eq!(measured(), expected);
        fixture.git(&["commit", "--quiet", "--allow-empty", "-m", "Nothing"]);
        assert_eq!(measured(), expected);
        // A record and code in one commit are code.
        fixture.write("history/v1/_events/x", "x");
        fixture.git(&["add", "history"]);
        let both = fixture.commit("src/lib.rs", "fn both() {}\n", "Both");
        assert_eq!(measured().sha, both);
    }

    #[test]
    fn a_revision_is_measured_as_a_clean_checkout() {
        let fixture = Fixture::new();
        let code = fixture.head();
        record(&fixture, 1);
        fixture.git(&["tag", "-a", "v1", "-m", "one"]);
        fixture.write("src/lib.rs", "fn changed() {}\n");
        let store = fixture.store();
        for revision in ["HEAD", "main", "v1", &code, &code[..12]] {
            let commit = commit_at(&store, revision).unwrap().unwrap();
            assert_eq!((commit.sha.as_str(), commit.branch, commit.dirty), (code.as_str(), None, false));
        }
        // Commits that only add records do not count, so a revision means the same after recording.
        record(&fixture, 2);
        let before = fixture.git(&["rev-parse", "v1~2"]);
        for revision in ["HEAD~1", "HEAD~", "main~1", "v1~1"] {
            assert_eq!(commit_at(&store, revision).unwrap().unwrap().sha, before, "{revision}");
        }
        for revision in ["HEAD~2", "HEAD~x", "", "nowhere", "-x", "HEAD:src", "0000000000"] {
            let error = commit_at(&store, revision).unwrap_err();
            assert!(matches!(error, HistoryError::Revision { .. }), "{error}");
        }
    }

    #[test]
    fn dirty_is_a_change_of_a_tracked_file_outside_the_history() {
        let check = |expected: bool, change: &dyn Fn(&Fixture)| {
            let fixture = Fixture::new();
            record(&fixture, 1);
            change(&fixture);
            assert_eq!(measured_commit(&fixture.store()).unwrap().unwrap().dirty, expected);
        };
        check(false, &|_| {});
        check(false, &|fixture| fixture.write("untracked", "x"));
        check(false, &|fixture| fixture.write("history/v1/_events/x", "x"));
        check(false, &|fixture| {
            fixture.write("history/v1/_events/x", "x");
            fixture.git(&["add", "history"]);
        });
        check(true, &|fixture| fixture.write("README", "changed\n"));
        check(true, &|fixture| {
            fixture.write("new", "x");
            fixture.git(&["add", "new"]);
        });
        check(true, &|fixture| drop(fixture.git(&["rm", "--quiet", "README"])));
        check(true, &|fixture| drop(fixture.git(&["mv", "README", "README.md"])));
        check(true, &|fixture| {
            fixture.write("history.txt", "x");
            fixture.git(&["add", "history.txt"]);
        });
    }

    #[test]
    fn nothing_is_measured_before_the_first_commit_of_code() {
        let fixture = Fixture::empty(&[]);
        assert_eq!(measured_commit(&fixture.store()).unwrap(), None);
        record(&fixture, 1);
        assert_eq!(measured_commit(&fixture.store()).unwrap(), None);
        let first = fixture.commit("README", "x\n", "Begin");
        assert_eq!(measured_commit(&fixture.store()).unwrap().unwrap().sha, first);
    }

    #[test]
    fn a_detached_head_and_a_linked_working_tree_measure_too() {
        let fixture = Fixture::new();
        let linked = fixture.sibling("linked");
        fixture.git(&["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap(), "HEAD~1"]);
        std::fs::write(linked.join("README"), "changed\n").unwrap();
        let measured = measured_commit(&isolated(&linked)).unwrap().unwrap();
        assert_eq!((measured.subject.as_str(), measured.branch, measured.dirty), ("Begin", None, true));
    }
}
