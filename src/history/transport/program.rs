//! Finding git without trusting every folder of the search path.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The search path without folders that what was checked out could fill: relative ones, which depend on where we are,
/// and those inside a working tree.
pub(super) fn trusted_path(path: &OsStr, working_trees: &[PathBuf]) -> Vec<PathBuf> {
    let inside = |folder: &Path| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let trees = working_trees.iter().flat_map(|tree| [tree.canonicalize().ok(), Some(tree.clone())]);
        trees.flatten().any(|tree| real.starts_with(&tree) || folder.starts_with(&tree))
    };
    std::env::split_paths(path).filter(|folder| folder.is_absolute() && !inside(folder)).collect()
}

/// Git in the first of these folders that has it.
pub(super) fn find_git(folders: &[PathBuf]) -> Option<PathBuf> {
    let name = format!("git{}", std::env::consts::EXE_SUFFIX);
    folders.iter().map(|folder| folder.join(&name)).find(|file| is_program(file))
}

/// Folders as a search path for what git itself starts, such as ssh.
pub(super) fn joined(folders: &[PathBuf]) -> OsString {
    std::env::join_paths(folders).expect("the folders were split from a search path")
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn folders_that_a_checkout_could_fill_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let tree = root.join("tree");
        for name in ["tree/bin", "outside", "empty", "plain"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for (name, mode) in [("tree/bin/git", 0o755), ("outside/git", 0o755), ("plain/git", 0o644)] {
            fs::write(root.join(name), "").unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(tree.join("bin"), root.join("link")).unwrap();
        let check = |entries: &[&str], expected: Option<&str>| {
            let path = entries.iter().map(|entry| match *entry {
                "" | "." | "bin" => entry.to_string(),
                name => root.join(name).to_string_lossy().into_owned(),
            });
            let path = path.collect::<Vec<_>>().join(":");
            let found = find_git(&trusted_path(OsStr::new(&path), std::slice::from_ref(&tree)));
            assert_eq!(found, expected.map(|name| root.join(name)), "{path}");
        };
        check(&["outside"], Some("outside/git"));
        check(&["", ".", "bin", "tree/bin", "link", "empty", "plain", "nowhere", "outside"], Some("outside/git"));
        check(&["tree/bin", "link", "plain", "."], None);
        assert_eq!(joined(&[root.join("a"), root.join("b")]).to_string_lossy().matches(':').count(), 1);
    }
}
