//! What is kept beside the decoded runs so that the next command need not do it again: what was found in series, and what
//! pages were rendered from.
//!
//! A file begins with a line that names the program that wrote it and the SHA-256 of all that follows. What another build wrote, as
//! version, length and time of the program tell, or what is damaged, is as if it were not there, and so is a folder that cannot be
//! written to.

use std::fs;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use crate::project::Project;
use crate::run_cache;
use sprag_base::digest;
use sprag_base::files::write_cache;

/// A file of the cache.
pub struct CacheFile {
    file: PathBuf,
    /// Its first line as far as the digest.
    first: String,
}

impl CacheFile {
    /// The file of that name; absent where nothing is to be kept.
    pub fn at(project: &Project, name: &str) -> Option<CacheFile> {
        let file = run_cache::folder(project)?.join(name);
        Some(CacheFile { file, first: format!("sprag {name}, {}, ", program()?) })
    }

    pub fn read(&self) -> Option<Vec<u8>> {
        let mut bytes = fs::read(&self.file).ok()?;
        let line = bytes.iter().position(|byte| *byte == b'\n')? + 1;
        let body = bytes.split_off(line);
        (bytes == self.line(&body).as_bytes()).then_some(body)
    }

    /// Puts something else into it. That this fails is no fault: the next command then does it again.
    pub fn write(&self, body: &[u8]) {
        let _ = write_cache(&self.file, &[self.line(body).as_bytes(), body]);
    }

    fn line(&self, body: &[u8]) -> String {
        format!("{}{}\n", self.first, digest::sha256_hex(body))
    }
}

/// The version, and what tells one build from the next.
fn program() -> Option<String> {
    let program = fs::metadata(std::env::current_exe().ok()?).ok()?;
    let built = program.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} of {} bytes at {}", env!("CARGO_PKG_VERSION"), program.len(), built.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_back_and_what_is_damaged_is_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let kept = |first: &str| CacheFile { file: folder.path().join("pages"), first: first.to_owned() };
        let one = kept("sprag pages, 1, ");
        assert_eq!(one.read(), None);
        one.write(b"some\nlines");
        assert_eq!(one.read().as_deref(), Some(&b"some\nlines"[..]));
        assert_eq!(kept("sprag pages, 2, ").read(), None);
        let whole = fs::read(&one.file).expect("a file");
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            fs::write(&one.file, &damaged).expect("a file");
            assert_eq!(one.read(), None, "byte {place}");
        }
        fs::write(&one.file, &whole[..whole.len() - 1]).expect("a file");
        assert_eq!(one.read(), None);
        one.write(b"");
        assert_eq!(one.read().as_deref(), Some(&b""[..]));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        assert!(program().is_some_and(|program| program.starts_with(env!("CARGO_PKG_VERSION"))));
    }
}
