//! Files that a command reads and writes: none is written over another.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Advice;

/// A file that an option names, where it is given.
pub struct NamedFile<'a> {
    option: &'static str,
    path: Option<&'a Path>,
    what: &'static str,
    is_written: bool,
}

impl<'a> NamedFile<'a> {
    pub fn read(option: &'static str, path: Option<&'a Path>, what: &'static str) -> NamedFile<'a> {
        NamedFile { option, path, what, is_written: false }
    }

    pub fn written(option: &'static str, path: Option<&'a Path>, what: &'static str) -> NamedFile<'a> {
        NamedFile { option, path, what, is_written: true }
    }
}

/// Fails where a file that is to be written is also another one. Paths count from `folder`.
pub fn check_distinct(folder: &Path, files: &[NamedFile<'_>]) -> Result<(), Advice> {
    let place = |file: &NamedFile<'_>| file.path.map(|path| real(&folder.join(path)));
    for (at, file) in files.iter().enumerate() {
        let Some(here) = place(file) else { continue };
        let is_same = |earlier: &&NamedFile<'_>| {
            (earlier.is_written || file.is_written) && place(earlier).is_some_and(|there| there == here)
        };
        if let Some(earlier) = files[..at].iter().find(is_same) {
            let verb = if earlier.is_written { "writes" } else { "is" };
            let (first, second) = (earlier.what, file.what);
            return Err(Advice {
                message: format!("`{}` and `{}` name the same file", earlier.option, file.option),
                hint: format!("the first {verb} {first}, the second {second}: give them two"),
            });
        }
    }
    Ok(())
}

/// The path without links and detours, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let through_folder = || Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(through_folder).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_written_over_another() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("a"), "").expect("a file");
        fs::create_dir(folder.path().join("below")).expect("a folder");
        let check = |read: [&str; 2], written: [&str; 2], expected: Option<&str>| {
            let [one, two] = read.map(Path::new);
            let [three, four] = written.map(Path::new);
            let files = [
                NamedFile::read("--one", Some(one), "the report"),
                NamedFile::read("--two", Some(two), "the baseline"),
                NamedFile::written("--three", Some(three), "the summary"),
                NamedFile::written("--four", Some(four), "the trend"),
                NamedFile::written("--five", None, "nothing"),
            ];
            let message = check_distinct(folder.path(), &files).err().map(|advice| advice.message);
            assert_eq!(message.as_deref(), expected);
        };
        check(["a", "b"], ["c", "d"], None);
        check(["a", "a"], ["c", "d"], None);
        check(["a", "b"], ["a", "d"], Some("`--one` and `--three` name the same file"));
        check(["a", "b"], ["c", "./below/../a"], Some("`--one` and `--four` name the same file"));
        check(["a", "b"], ["below/../new", "new"], Some("`--three` and `--four` name the same file"));
        check(["a", "absent/b"], ["absent/./b", "c"], Some("`--two` and `--three` name the same file"));
    }
}
