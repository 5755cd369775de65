//! Letting a working tree go of records that its branch is about to lose.
//!
//! This comes before the branch moves: cut short, it leaves files that `git status` calls deleted and that the next
//! try finds gone already, instead of files that look new and that the next commit would bring back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid};

use crate::checkout::index::{IndexLock, Removed};
use crate::checkout::working_tree::Checkout;
use crate::layout::check_path;
use crate::state::StateFolder;
use crate::sync::compare::{Entry, TreePath};

/// Takes the records out of the index, and their files away, where both are what was recorded; says what was not done.
pub(crate) fn let_go(checkout: &Checkout, dropped: &BTreeMap<TreePath, Entry>, state: &StateFolder) -> Vec<String> {
    let known = dropped.iter().filter_map(|(path, entry)| Some((std::str::from_utf8(path).ok()?, entry.id)));
    let dropped: Vec<(&str, Oid)> = known.filter(|(path, _)| check_path(path).is_ok()).collect();
    if dropped.is_empty() {
        return Vec::new();
    }
    let folder = checkout.folder();
    let removed: Vec<Removed> =
        dropped.iter().map(|(path, blob)| Removed { path: PathBuf::from(path), blob: *blob }).collect();
    let gone = IndexLock::take(checkout.repository(), state).and_then(|lock| {
        let gone = lock.remove(checkout.repository(), &removed, state);
        // One that cannot be removed is found and removed by its mark later.
        let _ = lock.release();
        gone
    });
    if let Err(error) = gone {
        return vec![format!("in the working tree `{}`: {error}", folder.display())];
    }
    let mut warnings = Vec::new();
    for (path, blob) in dropped {
        let place = folder.join(path);
        let ours = fs::symlink_metadata(&place).is_ok_and(|found| found.is_file())
            && Oid::hash_file(ObjectType::Blob, &place).is_ok_and(|found| found == blob);
        match ours.then(|| fs::remove_file(&place)) {
            Some(Ok(())) => remove_empty_folders(folder, path),
            Some(Err(error)) => warnings.push(format!("`{}` was not removed: {error}", place.display())),
            // Something else lies there, or nothing.
            None => {}
        }
    }
    warnings
}

/// Removes the folders of a file that have become empty; git would not have them either.
fn remove_empty_folders(root: &Path, path: &str) {
    let mut folder = Path::new(path).parent();
    while let Some(inside) = folder.filter(|inside| !inside.as_os_str().is_empty()) {
        if fs::remove_dir(root.join(inside)).is_err() {
            return;
        }
        folder = inside.parent();
    }
}
