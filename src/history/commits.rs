//! The commit that a run measures, and the line of such commits.

use std::collections::BTreeMap;

use sprag_model as model;

use git2::{
    Commit, ErrorCode, ObjectType, OdbLookupFlags, Oid, Repository, Sort, StatusOptions, Tree, TreeWalkMode,
    TreeWalkResult,
};

use crate::error::{HistoryError, failed};
use crate::layout::FOLDER;
use crate::objects::{self, LooseObjects};
use crate::repository::{Store, author_of, head_branch, head_commit, short_name, subject_of, time_of};
use sprag_model::commit::{CachedCommit, CommitCache, CommitLine, CommitOnLine};

const FULL_ID: usize = 40;

/// The commit that a run of the working tree measures: HEAD, or the nearest commit on its first-parent line whose tree differs
/// from that of its first parent outside the history. Absent where there is no such commit.
///
/// It is dirty when a tracked file outside the history differs from HEAD, staged or not. A file behind a filter driver, such as
/// one of LFS, is compared by size and times, since drivers are programs and no program is run.
pub fn measured_commit(store: &Store) -> Result<Option<model::commit::Commit>, HistoryError> {
    let repository = &store.repository;
    let Some(head) = head_commit(repository)? else { return Ok(None) };
    let branch = head_branch(repository)?.map(|full| short_name(&full).to_owned());
    let Some(commit) = nearest_code(repository, head)? else { return Ok(None) };
    let dirty = is_dirty(repository)?;
    Ok(Some(describe(&commit, branch, dirty)))
}

/// The commit that a clean checkout of `revision` measures, by the same rule.
pub fn commit_at(store: &Store, revision: &str) -> Result<Option<model::commit::Commit>, HistoryError> {
    let repository = &store.repository;
    let commit = nearest_code(repository, resolve(repository, revision)?)?;
    Ok(commit.map(|commit| describe(&commit, None, false)))
}

/// The id of the tree of a commit: its files.
pub fn tree_id(store: &Store, sha: &str) -> Result<String, HistoryError> {
    Ok(resolve(&store.repository, sha)?.tree_id().to_string())
}

/// The mode, id and path of each file of a commit that is wanted, in folders that may hold some, links and submodules included.
pub fn objects_of(
    store: &Store,
    sha: &str,
    may_hold: &dyn Fn(&str) -> bool,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>, HistoryError> {
    let tree = resolve(&store.repository, sha)?.tree().map_err(failed("read the tree of a commit"))?;
    let mut objects = Vec::new();
    let mut take = |parent: &str, entry: &git2::TreeEntry<'_>| {
        let path = format!("{parent}{}", String::from_utf8_lossy(entry.name_bytes()));
        if entry.kind() == Some(ObjectType::Tree) {
            return if may_hold(&path) { TreeWalkResult::Ok } else { TreeWalkResult::Skip };
        }
        if is_wanted(&path) {
            objects.push(format!("{:o} {} {path}", entry.filemode(), entry.id()));
        }
        TreeWalkResult::Ok
    };
    tree.walk(TreeWalkMode::PreOrder, &mut take).map_err(failed("read the tree of a commit"))?;
    Ok(objects)
}

/// The commit of an id, which may be shortened.
pub fn find_commit(store: &Store, id: &str) -> Result<Option<model::commit::Commit>, HistoryError> {
    let repository = &store.repository;
    let commit = match Oid::from_str(id).ok().filter(|_| id.len() == FULL_ID) {
        // No object comes while we read, so libgit2 need not list the packs again.
        Some(full) if !repository.odb().is_ok_and(|odb| odb.exists_ext(full, OdbLookupFlags::NO_REFRESH)) => {
            return Ok(None);
        }
        Some(full) => repository.find_commit(full),
        None => repository.find_commit_by_prefix(id),
    };
    match commit {
        Ok(commit) => Ok(Some(describe(&commit, None, false))),
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::Ambiguous | ErrorCode::InvalidSpec) => {
            Ok(None)
        }
        Err(error) if error.class() == git2::ErrorClass::Invalid => Ok(None),
        Err(error) => Err(failed("look for a commit")(error)),
    }
}

pub(crate) fn resolve<'r>(repository: &'r Repository, revision: &str) -> Result<Commit<'r>, HistoryError> {
    let named = repository.revparse_single(revision).and_then(|object| object.peel_to_commit());
    named.map_err(|error| {
        let reason = match error.message() {
            text if text.starts_with("parent ") => "the line of commits is shorter",
            _ if error.code() == git2::ErrorCode::NotFound => "there is no such commit, tag or branch",
            text if text.contains("too short") => "there is no such commit, tag or branch",
            _ if error.code() == git2::ErrorCode::Ambiguous => "several objects have an id that begins like that",
            text => text,
        };
        HistoryError::Revision { revision: revision.to_owned(), reason: reason.to_owned() }
    })
}

/// The commit of a revision, or of HEAD; absent before the first commit.
fn commit_of<'r>(repository: &'r Repository, revision: Option<&str>) -> Result<Option<Commit<'r>>, HistoryError> {
    revision.map_or_else(|| head_commit(repository), |revision| resolve(repository, revision).map(Some))
}

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
        objects::check_below(repository, &tree).map_err(failure)?;
    }
    let mut options = StatusOptions::new();
    options.include_untracked(false).include_ignored(false);
    let statuses = repository.statuses(Some(&mut options)).map_err(failed("compare the working tree with HEAD"))?;
    let inside = |path: &[u8]| path.strip_prefix(FOLDER.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"));
    Ok(statuses.iter().any(|entry| !inside(entry.path_bytes())))
}

pub(crate) enum FirstParent<'r> {
    None,
    /// A shallow clone lacks it.
    Absent,
    Commit(Commit<'r>),
}

pub(crate) fn first_parent<'r>(
    repository: &'r Repository,
    loose: &LooseObjects,
    commit: &Commit<'_>,
) -> Result<FirstParent<'r>, HistoryError> {
    // libgit2 hides the parents of the last commit of a shallow clone.
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

/// The parents in the header of the commit, also absent ones.
pub(crate) fn parents(commit: &Commit<'_>) -> Vec<String> {
    let header = String::from_utf8_lossy(commit.raw_header_bytes()).into_owned();
    header.lines().filter_map(|line| line.strip_prefix("parent ")).map(str::to_owned).collect()
}

/// Whether the tree of a commit differs from that of its first parent outside the history.
///
/// A root commit counts unless it holds nothing but a history. So does a commit whose trees are absent. The last commit of a
/// shallow clone cannot be compared; its subject decides.
pub(crate) fn changes_code(commit: &Commit<'_>, parent: &FirstParent<'_>) -> Result<bool, HistoryError> {
    let Some(tree) = present(commit.tree())? else { return Ok(true) };
    match parent {
        FirstParent::Absent => Ok(!has_record_message(commit)),
        FirstParent::None => Ok(tree.is_empty() || tree.iter().any(|entry| entry.name_bytes() != FOLDER.as_bytes())),
        FirstParent::Commit(parent) => {
            if parent.tree_id() == tree.id() {
                return Ok(false);
            }
            Ok(present(parent.tree())?.is_none_or(|parent_tree| differ_outside(&[FOLDER], &tree, &parent_tree)))
        }
    }
}

pub(crate) fn has_record_message(commit: &Commit<'_>) -> bool {
    commit.message_bytes().starts_with(b"sprag: ")
}

/// The commit and its first parents as far back as they differ in `history/` and `baselines/` alone, nearest first: code that a run
/// of one of them measured for all.
pub fn same_code(store: &Store, sha: &str) -> Result<Vec<String>, HistoryError> {
    let (repository, loose) = (&store.repository, LooseObjects::new(&store.repository));
    let mut commit = resolve(repository, sha)?;
    let mut commits = vec![commit.id().to_string()];
    while let FirstParent::Commit(parent) = first_parent(repository, &loose, &commit)? {
        let (Some(tree), Some(before)) = (present(commit.tree())?, present(parent.tree())?) else { break };
        if differ_outside(&[FOLDER, BASELINES], &tree, &before) {
            break;
        }
        commits.push(parent.id().to_string());
        commit = parent;
    }
    Ok(commits)
}

/// What changes are judged by, and no code.
const BASELINES: &str = "baselines";

fn differ_outside(folders: &[&str], a: &Tree<'_>, b: &Tree<'_>) -> bool {
    let rest = |tree: &Tree<'_>| {
        let entries = tree.iter().filter(|entry| folders.iter().all(|folder| entry.name_bytes() != folder.as_bytes()));
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

// The commits that can be measured, in their order.

/// The first-parent line of `revision`, or of HEAD, oldest first, without the commits that only add records.
///
/// A tag on a commit that is left out goes to the nearest one before it that stays. Before the first commit the line is empty.
pub fn commit_line(store: &Store, revision: Option<&str>) -> Result<CommitLine, HistoryError> {
    commit_line_cached(store, revision, &mut CommitCache::default())
}

/// As [`commit_line`] without reading cached commits; the others are added to the cache. A shallow clone does not use it, since its
/// line ends early.
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
    let Some(tip) = commit_of(repository, revision)? else {
        return Ok(CommitLine { commits: Vec::new(), shallow, named: false });
    };
    let mut tags = tags(repository)?;
    let loose = LooseObjects::new(repository);
    let mut carried = Vec::new();
    let mut commits = Vec::new();
    let mut next = Some(tip.id());
    while let Some(id) = next {
        let sha = id.to_string();
        let commit = match cache.get(&sha) {
            Some(commit) => commit.clone(),
            None => {
                let read = loose.find_commit(repository, id).map_err(failed("read a commit"))?;
                let parent = first_parent(repository, &loose, &read)?;
                let commit = cached(&read, &parent)?;
                if is_certain(&read, &parent) {
                    cache.insert(sha.clone(), commit.clone());
                }
                commit
            }
        };
        carried.append(&mut tags.remove(&id).unwrap_or_default());
        if let Some((commit_time, subject, author)) = commit.code {
            carried.sort();
            commits.push(CommitOnLine { sha, commit_time, subject, author, tags: std::mem::take(&mut carried) });
        }
        let parent = commit.parent.as_deref().map(Oid::from_str);
        next = parent.transpose().map_err(failed("read the parents of a commit"))?;
    }
    commits.reverse();
    Ok(CommitLine { commits, shallow, named: false })
}

fn cached(commit: &Commit<'_>, parent: &FirstParent<'_>) -> Result<CachedCommit, HistoryError> {
    let is_code = changes_code(commit, parent)?;
    Ok(CachedCommit {
        parent: if let FirstParent::Commit(parent) = parent { Some(parent.id().to_string()) } else { None },
        code: is_code.then(|| (time_of(commit.time()), subject_of(commit), author_of(commit))),
    })
}

/// Whether the repository has all objects that decide about the commit.
fn is_certain(commit: &Commit<'_>, parent: &FirstParent<'_>) -> bool {
    let has_parent = match parent {
        FirstParent::None => true,
        FirstParent::Absent => false,
        FirstParent::Commit(parent) => parent.tree().is_ok(),
    };
    has_parent && commit.tree().is_ok()
}

/// All commits of `revision`, or of HEAD, also those of merged branches, without the commits that only add records: parents before
/// children, the commits of a branch together, and the same in every clone.
pub fn commit_graph(store: &Store, revision: Option<&str>) -> Result<CommitLine, HistoryError> {
    let repository = &store.repository;
    let Some(tip) = commit_of(repository, revision)? else { return commit_line(store, None) };
    let mut tags = tags(repository)?;
    let loose = LooseObjects::new(repository);
    let mut walk = repository.revwalk().map_err(failed("walk the commits"))?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE).map_err(failed("walk the commits"))?;
    walk.push(tip.id()).map_err(failed("walk the commits"))?;
    let mut commits: Vec<CommitOnLine> = Vec::new();
    for id in walk {
        let id = id.map_err(failed("walk the commits"))?;
        let commit = loose.find_commit(repository, id).map_err(failed("read a commit"))?;
        let mut names = tags.remove(&id).unwrap_or_default();
        if changes_code(&commit, &first_parent(repository, &loose, &commit)?)? {
            names.sort();
            let (commit_time, subject, author) = (time_of(commit.time()), subject_of(&commit), author_of(&commit));
            commits.push(CommitOnLine { sha: id.to_string(), commit_time, subject, author, tags: names });
        } else if let Some(last) = commits.last_mut() {
            last.tags.append(&mut names);
        }
    }
    Ok(CommitLine { commits, shallow: repository.is_shallow(), named: false })
}

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

// Tags, ancestors and files of commits, by which a release is checked.

/// The commit that a tag of that name points at; absent where there is no such tag.
pub fn tagged(store: &Store, name: &str) -> Result<Option<String>, HistoryError> {
    match store.repository.find_reference(&format!("refs/tags/{name}")) {
        Ok(tag) => {
            let commit = tag.peel_to_commit().map_err(failed("read a tag"))?;
            Ok(Some(commit.id().to_string()))
        }
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => Ok(None),
        Err(error) => Err(failed("look for a tag")(error)),
    }
}

/// Whether `commit` is `ancestor` or comes after it; false where either is absent.
pub fn comes_after(store: &Store, commit: &str, ancestor: &str) -> Result<bool, HistoryError> {
    let (Ok(commit), Ok(ancestor)) = (Oid::from_str(commit), Oid::from_str(ancestor)) else { return Ok(false) };
    let is_here = |id: Oid| store.repository.find_commit(id).is_ok();
    if !is_here(commit) || !is_here(ancestor) {
        return Ok(false);
    }
    Ok(commit == ancestor
        || store.repository.graph_descendant_of(commit, ancestor).map_err(failed("walk the commits"))?)
}

/// Path and content of the files of a commit below a folder, or of the one file at that path, by path. Links and submodules are
/// left out.
pub fn files_of(store: &Store, commit: &str, below: &str) -> Result<Vec<(String, Vec<u8>)>, HistoryError> {
    let repository = &store.repository;
    let unread = objects::unread_files(repository, commit);
    let tree = resolve(repository, commit)?.tree().map_err(unread)?;
    let entry = match tree.get_path(std::path::Path::new(below)) {
        Ok(entry) => entry,
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unread(error)),
    };
    let mut blobs = Vec::new();
    match entry.kind() {
        Some(ObjectType::Blob) => blobs.push((below.to_owned(), entry.id())),
        Some(ObjectType::Tree) => {
            let folder = repository.find_tree(entry.id()).map_err(unread)?;
            let mut take = |parent: &str, entry: &git2::TreeEntry<'_>| {
                let is_file = entry.kind() == Some(ObjectType::Blob) && entry.filemode() != 0o120_000;
                if let (true, Ok(name)) = (is_file, std::str::from_utf8(entry.name_bytes())) {
                    blobs.push((format!("{below}/{parent}{name}"), entry.id()));
                }
                TreeWalkResult::Ok
            };
            folder.walk(TreeWalkMode::PreOrder, &mut take).map_err(unread)?;
        }
        _ => {}
    }
    blobs.sort();
    let loose = LooseObjects::new(repository);
    let read = |(path, id): (String, Oid)| {
        let content = loose.check(id).and_then(|()| repository.find_blob(id)).map_err(unread)?;
        Ok((path, content.content().to_vec()))
    };
    blobs.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, minute};

    #[test]
    fn record_commits_are_not_measured() {
        let fixture = Fixture::new();
        let code = fixture.head();
        let measured = || measured_commit(&fixture.store()).unwrap().unwrap();
        let expected = measured();
        assert_eq!((expected.sha.as_str(), expected.subject.as_str()), (code.as_str(), "Add one"));
        assert_eq!(expected.parents, [fixture.git(&["rev-parse", "HEAD~1"])]);
        assert_eq!((expected.branch.as_deref(), expected.dirty), (Some("main"), false));
        fixture.record(1);
        fixture.record(2);
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
        fixture.record(1);
        fixture.git(&["tag", "-a", "v1", "-m", "one"]);
        fixture.write("src/lib.rs", "fn changed() {}\n");
        let store = fixture.store();
        for revision in ["HEAD", "main", "v1", &code, &code[..12]] {
            let commit = commit_at(&store, revision).unwrap().unwrap();
            assert_eq!((commit.sha.as_str(), commit.branch, commit.dirty), (code.as_str(), None, false));
        }
        // `HEAD~1` is what git takes it for, and measured as the code that it holds.
        fixture.record(2);
        let before = fixture.git(&["rev-parse", "v1~2"]);
        for (revision, expected) in [("HEAD~1", &code), ("HEAD~", &code), ("main~2", &code), ("v1~2", &before)] {
            assert_eq!(commit_at(&store, revision).unwrap().unwrap().sha, *expected, "{revision}");
        }
        for revision in ["HEAD~9", "HEAD~x", "", "nowhere", "-x", "HEAD:src", "0000000000"] {
            let error = commit_at(&store, revision).unwrap_err();
            assert!(matches!(error, HistoryError::Revision { .. }), "{error}");
        }
    }

    #[test]
    fn dirty_is_a_change_of_a_tracked_file_outside_the_history() {
        let check = |expected: bool, change: &dyn Fn(&Fixture)| {
            let fixture = Fixture::new();
            fixture.record(1);
            change(&fixture);
            assert_eq!(measured_commit(&fixture.store()).unwrap().unwrap().dirty, expected);
        };
        let stage = |fixture: &Fixture, path: &str| {
            fixture.write(path, "x");
            fixture.git(&["add", path]);
        };
        check(false, &|_| {});
        check(false, &|fixture| fixture.write("untracked", "x"));
        check(false, &|fixture| fixture.write("history/v1/_events/x", "x"));
        check(false, &|fixture| stage(fixture, "history/v1/_events/x"));
        check(true, &|fixture| fixture.write("README", "changed\n"));
        check(true, &|fixture| stage(fixture, "new"));
        check(true, &|fixture| stage(fixture, "history.txt"));
        check(true, &|fixture| drop(fixture.git(&["rm", "--quiet", "README"])));
        check(true, &|fixture| drop(fixture.git(&["mv", "README", "README.md"])));
        // A detached HEAD in a linked working tree.
        let fixture = Fixture::new();
        fixture.git(&["worktree", "add", "--quiet", "--detach", "../linked", "HEAD~1"]);
        let linked = fixture.at("linked");
        linked.write("README", "changed\n");
        let measured = measured_commit(&linked.store()).unwrap().unwrap();
        assert_eq!((measured.subject.as_str(), measured.branch, measured.dirty), ("Begin", None, true));
    }

    #[test]
    fn nothing_is_measured_before_the_first_commit_of_code() {
        let fixture = Fixture::empty(&[]);
        assert_eq!(measured_commit(&fixture.store()).unwrap(), None);
        assert_eq!(commit_line(&fixture.store(), None).unwrap(), CommitLine::default());
        assert_eq!(commit_graph(&fixture.store(), None).unwrap(), CommitLine::default());
        fixture.record(1);
        assert_eq!(measured_commit(&fixture.store()).unwrap(), None);
        let first = fixture.commit("README", "x\n", "Begin");
        assert_eq!(measured_commit(&fixture.store()).unwrap().unwrap().sha, first);
    }

    #[test]
    fn the_line_is_the_first_parents_without_records() {
        let fixture = Fixture::new();
        let store = fixture.store();
        fixture.git(&["tag", "v0.1.0"]);
        fixture.record(1);
        fixture.record(2);
        fixture.git(&["tag", "-a", "v0.1.1", "-m", "on a record"]);
        fixture.git(&["checkout", "--quiet", "-b", "side", "HEAD~2"]);
        fixture.commit("side", "x\n", "Side");
        fixture.git(&["checkout", "--quiet", "main"]);
        fixture.git(&["merge", "--quiet", "--no-ff", "-m", "Merge side", "side"]);
        fixture.record(3);
        fixture.git(&["tag", "blob", "HEAD:README"]);
        let line = commit_line(&store, None).unwrap();
        let tagged: Vec<_> = line.commits.iter().map(|c| (c.subject.as_str(), c.tags.join(" "))).collect();
        let expected = [("Begin", ""), ("Add one", "v0.1.0 v0.1.1"), ("Merge side", "")];
        assert_eq!(tagged, expected.map(|(subject, tags)| (subject, tags.to_owned())));
        assert!(line.commits.iter().all(|commit| !commit.author.is_empty()));
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
    fn the_line_is_the_same_with_a_cache() {
        let fixture = Fixture::new();
        let store = fixture.store();
        fixture.git(&["tag", "v0.1.0"]);
        fixture.record(1);
        let mut cache = CommitCache::default();
        let line = |cache: &mut CommitCache| commit_line_cached(&store, None, cache).unwrap();
        assert_eq!(line(&mut cache), commit_line(&store, None).unwrap());
        assert_eq!(cache.len(), 3);
        let before = cache.clone();
        assert_eq!(line(&mut cache), commit_line(&store, None).unwrap());
        assert_eq!(cache, before);
        fixture.git(&["tag", "v0.1.1"]);
        fixture.commit("src/lib.rs", "fn more() {}\n", "More");
        fixture.record(2);
        assert_eq!(line(&mut cache), commit_line(&store, None).unwrap());
        assert_eq!(cache.len(), 5);
        // What is cached is not read.
        let head = fixture.git(&["rev-parse", "HEAD"]);
        let other = CachedCommit { parent: None, code: Some((minute(1), "Other".to_owned(), String::new())) };
        cache.insert(head, other);
        let subjects: Vec<String> = line(&mut cache).commits.into_iter().map(|commit| commit.subject).collect();
        assert_eq!(subjects, ["Other"]);
    }

    #[test]
    fn tags_ancestors_and_files_are_resolved() {
        let fixture = Fixture::empty(&[]);
        let store = fixture.store();
        let first = fixture.commit("a/b/c", "1\n", "One");
        fixture.git(&["tag", "v1"]);
        let second = fixture.commit("a/d", "2\n", "Two");
        assert_eq!(tagged(&store, "v1").unwrap(), Some(first.clone()));
        assert_eq!(tagged(&store, "v2").unwrap(), None);
        assert_eq!(tagged(&store, "..").unwrap(), None);
        let after = |one: &str, other: &str| comes_after(&store, one, other).unwrap();
        assert!(after(&second, &first) && after(&first, &first) && !after(&first, &second));
        assert!(!after(&second, &"0".repeat(40)) && !after("x", &first));
        let files = |commit: &str, below: &str| files_of(&store, commit, below).unwrap();
        assert_eq!(files(&second, "a"), [("a/b/c".to_owned(), b"1\n".to_vec()), ("a/d".to_owned(), b"2\n".to_vec())]);
        assert_eq!(files(&first, "a/b/c").len(), 1);
        assert!(files(&first, "a/d").is_empty() && files(&first, "x/y").is_empty());
        let clone = fixture.cloned("partial", &["--no-checkout", "--filter=blob:none"]).store();
        let error = files_of(&clone, &second, "a/d").unwrap_err();
        assert!(matches!(error, HistoryError::NotHere { promised: true, .. }), "{error}");
    }
}
