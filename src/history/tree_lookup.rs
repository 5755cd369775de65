//! The folders of a tree, each read once: libgit2 reads a large folder anew for every path that is looked for in it.

use std::collections::{BTreeMap, HashMap};

use git2::{ObjectType, Oid, Repository, Tree, TreeEntry};
use unicode_normalization::UnicodeNormalization as _;

use crate::error::HistoryError;
use crate::store::failed;

/// What a tree has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathEntry {
    pub(crate) id: Oid,
    pub(crate) mode: i32,
    pub(crate) is_folder: bool,
}

/// The folders of a tree that were looked into.
pub(crate) struct TreeLookup<'r> {
    repository: &'r Repository,
    /// By path, without a slash at the end; absent where there is no such folder.
    folders: HashMap<String, Option<Tree<'r>>>,
    /// The names in those folders that many paths are looked for in, each by its folded form.
    names: HashMap<String, HashMap<String, String>>,
}

impl<'r> TreeLookup<'r> {
    pub(crate) fn new(repository: &'r Repository, root: Tree<'r>) -> TreeLookup<'r> {
        TreeLookup { repository, folders: HashMap::from([(String::new(), Some(root))]), names: HashMap::new() }
    }

    /// What is at the path; absent where nothing is.
    pub(crate) fn get(&mut self, path: &str) -> Result<Option<PathEntry>, git2::Error> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Some(folder) = self.folder(parent)? else { return Ok(None) };
        let found = |entry: TreeEntry<'_>| PathEntry {
            id: entry.id(),
            mode: entry.filemode(),
            is_folder: entry.kind() == Some(ObjectType::Tree),
        };
        Ok(folder.get_name(name).map(found))
    }

    /// Refuses a path that the tree lacks and whose folder has a name that differs by case or Unicode form alone.
    pub(crate) fn check_collision(&mut self, path: &str) -> Result<(), HistoryError> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if !self.names.contains_key(parent) {
            let folder = self.folder(parent).map_err(failed("read the tree of the history"))?;
            let entries = folder.into_iter().flatten();
            let names = entries.map(|entry| String::from_utf8_lossy(entry.name_bytes()).into_owned());
            let names = names.map(|name| (case_folded(&name), name)).collect();
            self.names.insert(parent.to_owned(), names);
        }
        match self.names.get(parent).and_then(|names| names.get(&case_folded(name))) {
            None => Ok(()),
            Some(other) if parent.is_empty() => {
                Err(HistoryError::Alike { path: path.to_owned(), other: other.clone() })
            }
            Some(other) => Err(HistoryError::Alike { path: path.to_owned(), other: format!("{parent}/{other}") }),
        }
    }

    fn folder(&mut self, path: &str) -> Result<Option<&Tree<'r>>, git2::Error> {
        if !self.folders.contains_key(path) {
            let tree = match self.get(path)?.filter(|found| found.is_folder) {
                None => None,
                Some(found) => Some(self.repository.find_tree(found.id)?),
            };
            self.folders.insert(path.to_owned(), tree);
        }
        Ok(self.folders.get(path).and_then(Option::as_ref))
    }
}

/// The first of the paths of which a part is alike to that of another one, and that one, both up to that part.
pub(crate) fn find_collision<'a>(paths: impl Iterator<Item = &'a str>) -> Option<(&'a str, &'a str)> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for path in paths {
        for end in path.match_indices('/').map(|(end, _)| end).chain([path.len()]) {
            let part = &path[..end];
            let other = *seen.entry(case_folded(part)).or_insert(part);
            if other != part {
                return Some((part, other));
            }
        }
    }
    None
}

/// A name as a file system sees it that knows no case and one Unicode form.
pub(crate) fn case_folded(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { name.nfc().flat_map(char::to_lowercase).nfc().collect() }
}

#[cfg(test)]
mod tests {
    use crate::testing::Fixture;

    use super::*;

    #[test]
    fn what_a_tree_has_is_found_and_nothing_else() {
        let fixture = Fixture::new();
        fixture.commit("a/b/c", "x\n", "Add it");
        let store = fixture.store();
        let tree = store.repository.head().and_then(|head| head.peel_to_tree()).expect("there is a commit");
        let mut folders = TreeLookup::new(&store.repository, tree.clone());
        for path in ["README", "a", "a/b", "a/b/c", "src/lib.rs"] {
            let entry = tree.get_path(path.as_ref()).expect("it is there");
            let found = folders.get(path).expect("it can be read").expect("it is there");
            assert_eq!((found.id, found.mode), (entry.id(), entry.filemode()), "{path}");
            assert_eq!(found.is_folder, ["a", "a/b"].contains(&path));
        }
        for path in ["b", "a/c", "a/b/c/d", "a/b/c/d/e", "a/x/c", "README/x"] {
            assert_eq!(folders.get(path).expect("it can be read"), None, "{path}");
            for _ in 0..2 {
                folders.check_collision(path).expect("nothing is like it");
            }
        }
        for (path, other) in [("A", "a"), ("a/B", "a/b"), ("a/b/C", "a/b/c"), ("readme", "README")] {
            let error = folders.check_collision(path).expect_err("it is alike").to_string();
            assert!(error.contains(&format!("next to `{other}`")), "{error}");
        }
    }

    #[test]
    fn names_are_alike_but_for_case_and_form() {
        let check =
            |a: &str, b: &str, expected: bool| assert_eq!(case_folded(a) == case_folded(b), expected, "{a} {b}");
        check("cpu", "CPU", true);
        check("cpu", "cpu2", false);
        check("caf\u{e9}", "cafe\u{301}", true);
        check("caf\u{e9}", "CAFE\u{301}", true);
        // The Kelvin sign.
        check("kernels", "\u{212a}ernels", true);
    }

    #[test]
    fn the_part_that_is_alike_is_named() {
        let check = |paths: &[&'static str], expected| assert_eq!(find_collision(paths.iter().copied()), expected);
        check(&["a/b/c", "a/b/d", "a/x"], None);
        check(&["a/B/c", "a/b/d"], Some(("a/b", "a/B")));
        check(&["a/b/c", "a/b/C"], Some(("a/b/C", "a/b/c")));
    }
}
