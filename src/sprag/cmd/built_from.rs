//! Whether this program is the build of the sources in the project's folder: its CPU kernels are part of it, so their
//! numbers belong to those sources, whatever commit is checked out.

use std::path::Path;

use sprag_measure::sources;

/// The digest of the sources that this program was built from; empty where they were not at hand.
const BUILT_FROM: &str = env!("SPRAG_SOURCES");

/// What is wrong where the project holds the sources of Sprag and this program was built from others.
pub(super) fn fault(root: &Path) -> Option<String> {
    // A folder without all parts is not ours either.
    let here = is_ours(root).then(|| sources::digest(root).ok()).flatten()?;
    (!BUILT_FROM.is_empty() && here != BUILT_FROM)
        .then(|| "this program was built from other sources than those of this folder".to_owned())
}

/// Whether a folder holds the package of Sprag.
pub(super) fn is_ours(root: &Path) -> bool {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    manifest.lines().any(|line| line.trim() == "name = \"sprag\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_of_other_sources_is_told_and_other_projects_are_not_looked_at() {
        assert_eq!(BUILT_FROM.len(), 16);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).expect("a file");
        std::fs::create_dir(folder.path().join("src")).expect("a folder");
        for part in ["src/main.rs", "Cargo.lock", "build.rs"] {
            write(part, "");
        }
        write("Cargo.toml", "[package]\nname = \"theirs\"\n");
        assert_eq!(fault(folder.path()), None);
        write("Cargo.toml", "[package]\nname = \"sprag\"\n");
        assert!(fault(folder.path()).is_some());
        assert_eq!(fault(&folder.path().join("absent")), None);
    }
}
