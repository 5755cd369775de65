//! Two trees compared: their records, and everything else.

use std::collections::BTreeMap;

use git2::{Commit, ErrorClass, ErrorCode, FileMode, ObjectType, Oid, Repository, Tree};

use crate::commits::{has_record_message, parents};
use crate::error::{HistoryError, failed};
use crate::layout::FOLDER;
use crate::objects::{self, LooseObjects, Promises, TreeItem};
use crate::past::is_here;
use crate::repository::subject_of;
use sprag_model::run::RECORD_ROOT;

const MOST_DEPTH: usize = 16;

/// How many paths may differ. A small tree can name its folders so often that it has billions of paths.
const MOST_PATHS: usize = 4_000_000;

pub(crate) type TreePath = Vec<u8>;

pub(crate) fn texts<'a>(paths: impl IntoIterator<Item = &'a TreePath>) -> Vec<String> {
    paths.into_iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) left: BTreeMap<TreePath, TreeItem>,
    pub(crate) right: BTreeMap<TreePath, TreeItem>,
    /// Paths that both have, on the left and on the right.
    pub(crate) changed: BTreeMap<TreePath, (TreeItem, TreeItem)>,
}

impl Difference {
    fn size(&self) -> usize {
        self.left.len() + self.right.len() + self.changed.len()
    }
}

/// Compares the records of two commits: every path below `history/v1/`. An absent commit has none.
pub(crate) fn compare(
    repository: &Repository,
    left: Option<Oid>,
    right: Option<Oid>,
) -> Result<Difference, HistoryError> {
    let mut difference = Difference::default();
    let sides = (records_of(repository, left)?, records_of(repository, right)?);
    let mut path = RECORD_ROOT.as_bytes().to_vec();
    descend(repository, &mut path, 0, (sides.0.as_ref(), sides.1.as_ref()), &mut difference)?;
    Ok(difference)
}

/// What lies outside `history/v1/`: the entries at the top of the tree, and those at the top of `history/`.
pub(crate) fn outside(
    repository: &Repository,
    commit: Option<Oid>,
) -> Result<BTreeMap<TreePath, TreeItem>, HistoryError> {
    let mut items = BTreeMap::new();
    let Some(tree) = tree_of(repository, commit)? else { return Ok(items) };
    for entry in &tree {
        if entry.name_bytes() == FOLDER.as_bytes() && entry.kind() == Some(ObjectType::Tree) {
            let folder = objects::find_tree(repository, entry.id()).map_err(failed("read a folder of the history"))?;
            for entry in &folder {
                let path = [FOLDER.as_bytes(), b"/", entry.name_bytes()].concat();
                if path != RECORD_ROOT.as_bytes() || entry.kind() != Some(ObjectType::Tree) {
                    items.insert(path, TreeItem::new(&entry));
                }
            }
        } else {
            items.insert(entry.name_bytes().to_vec(), TreeItem::new(&entry));
        }
    }
    Ok(items)
}

pub(crate) fn tree_of(repository: &Repository, commit: Option<Oid>) -> Result<Option<Tree<'_>>, HistoryError> {
    let loose = LooseObjects::new(repository);
    let tree = commit.map(|commit| loose.find_commit(repository, commit).and_then(|commit| commit.tree()));
    tree.transpose().map_err(failed("read the tree of a commit"))
}

fn records_of(repository: &Repository, commit: Option<Oid>) -> Result<Option<Tree<'_>>, HistoryError> {
    let Some(tree) = tree_of(repository, commit)? else { return Ok(None) };
    let entry = match tree.get_path(RECORD_ROOT.as_ref()) {
        Ok(entry) if entry.kind() == Some(ObjectType::Tree) => entry,
        Ok(_) => return Ok(None),
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(failed("read the tree of the history")(error)),
    };
    objects::find_tree(repository, entry.id()).map(Some).map_err(failed("read the tree of the history"))
}

fn descend(
    repository: &Repository,
    path: &mut TreePath,
    depth: usize,
    (left, right): (Option<&Tree<'_>>, Option<&Tree<'_>>),
    into: &mut Difference,
) -> Result<(), HistoryError> {
    if left.map(Tree::id) == right.map(Tree::id) {
        return Ok(());
    }
    let mut names: BTreeMap<TreePath, [Option<TreeItem>; 2]> = BTreeMap::new();
    for (side, tree) in [left, right].into_iter().enumerate() {
        for entry in tree.iter().flat_map(|tree| tree.iter()) {
            names.entry(entry.name_bytes().to_vec()).or_default()[side] = Some(TreeItem::new(&entry));
        }
    }
    for (name, [left, right]) in names {
        if left == right {
            continue;
        }
        if into.size() > MOST_PATHS || depth > MOST_DEPTH {
            let reason = format!("`{RECORD_ROOT}` holds more than any history, or folders deeper than any");
            return Err(HistoryError::Unusable { action: "compare two histories", reason });
        }
        let length = path.len();
        path.push(b'/');
        path.extend_from_slice(&name);
        let folder = |side: Option<TreeItem>| {
            let folder = side.filter(|item| item.is_folder()).map(|item| objects::find_tree(repository, item.id));
            folder.transpose().map_err(failed("read a folder of the history"))
        };
        match (left, right) {
            _ if left.is_none_or(TreeItem::is_folder) && right.is_none_or(TreeItem::is_folder) => {
                let (left, right) = (folder(left)?, folder(right)?);
                descend(repository, path, depth + 1, (left.as_ref(), right.as_ref()), into)?;
            }
            (Some(left), Some(right)) => drop(into.changed.insert(path.clone(), (left, right))),
            (Some(left), None) => drop(into.left.insert(path.clone(), left)),
            (None, right) => into.right.extend(right.map(|right| (path.clone(), right))),
        }
        path.truncate(length);
    }
    Ok(())
}

// Commits of the user: those that change more than records.

/// The subjects of the commits of the user that `tip` has and `published` lack, the newest first.
///
/// A commit is one of records where everything else is as in one of its parents; so a merge of records is one, too. An empty
/// commit is of the user, who made it on purpose.
pub(crate) fn user_commits(
    repository: &Repository,
    tip: Oid,
    published: &[Option<Oid>],
) -> Result<Vec<String>, HistoryError> {
    let mut own = Vec::new();
    for commit in unpublished(repository, tip, published)? {
        // Of a commit whose folders cannot be read, the message says it.
        let is_of_records =
            |commit| holds_records_alone(repository, commit).unwrap_or_else(|_| has_record_message(commit));
        match commit {
            Ok(commit) if is_of_records(&commit) => {}
            Ok(commit) => own.push(subject_of(&commit)),
            // Whoever goes on compares what is outside the history.
            Err(error) if is_cut(&error) => break,
            Err(error) => return Err(failed("walk the commits of the history")(error)),
        }
    }
    Ok(own)
}

/// The commits that `tip` has and `published` lack, the newest first.
fn unpublished<'r>(
    repository: &'r Repository,
    tip: Oid,
    published: &[Option<Oid>],
) -> Result<impl Iterator<Item = Result<Commit<'r>, git2::Error>>, HistoryError> {
    let refused = || failed("walk the commits of the history");
    let mut walk = repository.revwalk().map_err(refused())?;
    walk.push(tip).map_err(refused())?;
    for hidden in published.iter().flatten() {
        walk.hide(*hidden).map_err(refused())?;
    }
    Ok(walk.map(|id| id.and_then(|id| repository.find_commit(id))))
}

/// Whether the commits that `tip` has and `published` lack name records or folders of them that cannot be read.
pub(crate) fn is_broken(repository: &Repository, tip: Oid, published: &[Option<Oid>]) -> bool {
    let Ok(promises) = Promises::new(repository) else { return true };
    let is_intact = |commit: Commit<'_>| {
        let difference = compare(repository, commit.parent_id(0).ok(), Some(commit.id()));
        difference.is_ok_and(|Difference { right, changed, .. }| {
            let changed = changed.into_values().map(|(_, after)| after);
            right.into_values().chain(changed).all(|item| is_available(repository, &promises, item))
        })
    };
    let commits = unpublished(repository, tip, published);
    !commits.is_ok_and(|mut commits| commits.all(|commit| commit.is_ok_and(is_intact)))
}

/// Whether a file can be read, or fetched from the remote that promised it.
pub(crate) fn is_available(repository: &Repository, promises: &Promises<'_>, item: TreeItem) -> bool {
    item.mode == i32::from(FileMode::Commit) || is_here(repository, item.id) || promises.cover(item.id)
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
        Err(error) if is_cut(&error) => Ok(None),
        Err(error) => Err(failed("find where two histories meet")(error)),
    }
}

/// Whether a line of commits ends, by itself or at a commit that cannot be read.
fn is_cut(error: &git2::Error) -> bool {
    error.code() == ErrorCode::NotFound || error.class() == ErrorClass::Odb
}

pub(crate) fn contains(repository: &Repository, tip: Oid, ancestor: Oid) -> Result<bool, HistoryError> {
    match repository.graph_descendant_of(tip, ancestor) {
        _ if tip == ancestor => Ok(true),
        Err(error) if is_cut(&error) => Ok(false),
        descends => descends.map_err(failed("walk the commits of the history")),
    }
}

fn holds_records_alone(repository: &Repository, commit: &Commit<'_>) -> Result<bool, HistoryError> {
    let ours = has_record_message(commit);
    let tree = commit.tree_id();
    let here: Vec<Commit<'_>> = commit.parents().collect();
    if here.is_empty() && !parents(commit).is_empty() {
        // The last commit of a shallow clone cannot be compared with its parent.
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
    use super::*;
    use crate::testing::Fixture;

    fn texts<V>(paths: &BTreeMap<TreePath, V>) -> Vec<String> {
        super::texts(paths.keys())
    }

    #[test]
    fn records_are_compared_apart_from_the_rest() {
        let fixture = Fixture::new();
        let code = fixture.head();
        for (path, text) in [("history/v1/a/1", "a"), ("history/v1/_events/x/2", "b"), ("history/v1/c", "c")] {
            fixture.commit(path, text, "Record");
        }
        let left = fixture.head();
        fixture.git(&["rm", "-q", "-r", "history/v1/a", "history/v1/c"]);
        fixture.commit("history/v1/c/d", "folder", "Record");
        fixture.commit("history/v1/_events/x/2", "other", "Change");
        fixture.commit("history/README", "words", "Say");
        let right = fixture.commit("src/lib.rs", "", "Code");
        let store = fixture.store();
        let repository = &store.repository;
        let id = |text: &str| Some(Oid::from_str(text).unwrap());
        let difference = compare(repository, id(&left), id(&right)).unwrap();
        assert_eq!(texts(&difference.left), ["history/v1/a/1"]);
        assert_eq!(texts(&difference.right), [""; 0]);
        assert_eq!(texts(&difference.changed), ["history/v1/_events/x/2", "history/v1/c"]);
        let all = compare(repository, None, id(&left)).unwrap();
        assert_eq!(texts(&all.right), ["history/v1/_events/x/2", "history/v1/a/1", "history/v1/c"]);
        assert_eq!(compare(repository, id(&code), None).unwrap(), Difference::default());
        let rest = |commit: &str| outside(repository, id(commit)).unwrap();
        assert_eq!(rest(&code), rest(&left));
        assert_eq!(texts(&rest(&right)), ["README", "history/README", "src"]);
        assert_ne!(rest(&left), rest(&right));
        assert!(outside(repository, None).unwrap().is_empty());
    }

    #[test]
    fn a_tree_with_billions_of_paths_is_refused() {
        let fixture = Fixture::new();
        let store = fixture.store();
        let repository = &store.repository;
        // Each folder holds the one below under eight names: 8^12 paths in twelve small objects.
        let mut inner = repository.blob(b"x").unwrap();
        let mut mode = 0o100_644;
        for _ in 0..12 {
            let mut builder = repository.treebuilder(None).unwrap();
            for name in 0..8 {
                builder.insert(format!("{name}"), inner, mode).unwrap();
            }
            inner = builder.write().unwrap();
            mode = 0o040_000;
        }
        for name in ["v1", "history"] {
            let mut builder = repository.treebuilder(None).unwrap();
            builder.insert(name, inner, mode).unwrap();
            inner = builder.write().unwrap();
        }
        let tree = repository.find_tree(inner).unwrap();
        let nobody = git2::Signature::new("n", "e", &git2::Time::new(0, 0)).unwrap();
        let commit = repository.commit(None, &nobody, &nobody, "", &tree, &[]).unwrap();
        compare(repository, None, Some(commit)).unwrap_err();
    }

    #[test]
    fn commits_of_records_are_not_those_of_the_user() {
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
