//! A digest of the sources that a program is built from, which shows whether it is the build of a folder.
//!
//! The build script uses this file too, so it needs the standard library alone. FNV-1a is not a cryptographic digest: it
//! finds accidents, such as a program that was not rebuilt.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files and folders of the repository that decide how a kernel is compiled.
pub const PARTS: [&str; 3] = ["src", "Cargo.toml", "Cargo.lock"];

/// Sixteen hexadecimal digits over names and contents of all [`PARTS`] under `root`.
pub fn digest(root: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for part in PARTS {
        collect(root, &PathBuf::from(part), &mut files)?;
    }
    files.sort();
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |bytes: &[u8]| {
        for byte in bytes.iter().chain(&[0xff]) {
            digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for file in files {
        take(file.to_string_lossy().replace('\\', "/").as_bytes());
        take(&fs::read(root.join(&file))?);
    }
    Ok(format!("{digest:016x}"))
}

fn collect(root: &Path, part: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let path = root.join(part);
    if !path.is_dir() {
        files.push(part.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        let text = name.to_string_lossy();
        // Files of editors and snapshot tests are not sources.
        if !(text.starts_with('.') || text.ends_with('~') || text.ends_with(".new")) {
            collect(root, &part.join(&name), files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_source_changes_the_digest_and_nothing_else_does() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        for part in ["src/a.rs", "src/b/c.rs", "Cargo.toml", "Cargo.lock"] {
            write(part, part);
        }
        let digest_now = || digest(folder.path()).expect("all parts are there");
        let before = digest_now();
        assert_eq!((before.len(), digest_now()), (16, before.clone()));
        write("src/.a.rs.swp", "x");
        write("src/page.snap.new", "x");
        write("README.md", "words");
        assert_eq!(digest_now(), before);
        write("src/b/c.rs", "other");
        assert_ne!(digest_now(), before);
        write("src/b/c.rs", "src/b/c.rs");
        assert_eq!(digest_now(), before);
        fs::rename(folder.path().join("src/a.rs"), folder.path().join("src/d.rs")).expect("a file of ours");
        assert_ne!(digest_now(), before);
        fs::remove_file(folder.path().join("Cargo.lock")).expect("a file of ours");
        assert!(digest(folder.path()).is_err());
    }
}
