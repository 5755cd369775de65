//! Damaged files that a repair moved to the quarantine of a branch. A sync takes them out of the other side as well.

use std::collections::{BTreeMap, HashSet};

use git2::{Oid, Repository, Tree};

use crate::error::HistoryError;
use crate::fsck::content::{self, Judged, judge};
use crate::layout::{self, Kind};
use crate::listing::quarantined_below;
use crate::objects::TreeItem;
use crate::sync::compare::{TreePath, tree_of};
use sprag_model::archive::{ARCHIVE_ROOT, Archive};

pub(crate) struct SetAside<'r> {
    repository: &'r Repository,
    tree: Option<Tree<'r>>,
    contents: HashSet<Oid>,
}

impl<'r> SetAside<'r> {
    pub(crate) fn at(repository: &'r Repository, tip: Option<Oid>) -> Result<SetAside<'r>, HistoryError> {
        let tree = tree_of(repository, tip)?;
        let contents = tree.as_ref().map(|tree| quarantined_below(repository, tree)).unwrap_or_default();
        Ok(SetAside { repository, tree, contents })
    }

    /// Whether the file at `path` with this content is damaged and was moved. A note of an archive may be one that only its
    /// history shows to be forged; without it, runs are missed at worst.
    fn has(&self, path: &str, id: Oid) -> bool {
        let Some(tree) = self.tree.as_ref().filter(|_| self.contents.contains(&id)) else { return false };
        let Ok(blob) = self.repository.find_blob(id) else { return false };
        let bytes = blob.content();
        let place = content::place(&content::digits_of(bytes), path, "");
        let is_damaged = || match layout::check_path(path) {
            Ok(Kind::Run | Kind::Event) => matches!(judge(path, bytes), Judged::Bad(..)),
            Ok(Kind::Auxiliary) if layout::newer_version(path, bytes).is_some() => false,
            Ok(Kind::Auxiliary) => {
                layout::is_below(path, ARCHIVE_ROOT) || layout::check_auxiliary(path, bytes).is_err()
            }
            Err(_) => true,
        };
        tree.get_path(place.as_ref()).is_ok_and(|entry| entry.id() == id)
            && tree.get_path(path.as_ref()).is_err()
            && is_damaged()
    }

    pub(crate) fn has_note(&self, note: &Archive) -> bool {
        let (path, bytes, _) = note.to_file();
        Oid::hash_object(git2::ObjectType::Blob, &bytes).is_ok_and(|id| self.has(&path, id))
    }

    /// Takes what was moved out of a list of files.
    pub(crate) fn take(&self, files: &mut BTreeMap<TreePath, TreeItem>) -> BTreeMap<TreePath, TreeItem> {
        if self.contents.is_empty() {
            return BTreeMap::new();
        }
        files.extract_if(.., |path, item| std::str::from_utf8(path).is_ok_and(|path| self.has(path, item.id))).collect()
    }
}
