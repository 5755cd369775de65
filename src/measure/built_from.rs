//! Whether this program is the build of the sources in the project's folder: its CPU kernels are part of it, so their
//! numbers belong to those sources, whatever commit is checked out.

use std::path::Path;

use crate::sources;

/// What is wrong where the project holds the sources of Sprag and this program was built from others than those, by the
/// digest `built_from`, which is empty where they were not at hand.
pub fn fault(root: &Path, built_from: &str) -> Option<String> {
    // A folder without all parts is not ours either.
    let here = is_ours(root).then(|| sources::digest(root).ok()).flatten()?;
    (!built_from.is_empty() && here != built_from)
        .then(|| "this program was built from other sources than those of this folder".to_owned())
}

/// Whether a folder holds the package of Sprag: at its root, as it was once, or in the workspace.
pub fn is_ours(root: &Path) -> bool {
    ["Cargo.toml", "src/sprag/Cargo.toml"].iter().any(|path| {
        let manifest = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        manifest.lines().any(|line| line.trim() == "name = \"sprag\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_of_other_sources_is_told_and_other_projects_are_not_looked_at() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).expect("a file");
        std::fs::create_dir(folder.path().join("src")).expect("a folder");
        for part in ["src/main.rs", "Cargo.lock", "build.rs"] {
            write(part, "");
        }
        write("Cargo.toml", "[package]\nname = \"theirs\"\n");
        assert_eq!(fault(folder.path(), "0"), None);
        write("Cargo.toml", "[package]\nname = \"sprag\"\n");
        assert!(fault(folder.path(), "0").is_some());
        assert_eq!(fault(folder.path(), ""), None);
        write("Cargo.toml", "[workspace]\n");
        assert!(!is_ours(folder.path()));
        std::fs::create_dir(folder.path().join("src/sprag")).expect("a folder");
        write("src/sprag/Cargo.toml", "[package]\nname = \"sprag\"\n");
        assert!(fault(folder.path(), "0").is_some());
        assert_eq!(fault(&folder.path().join("absent"), "0"), None);
    }
}
