//! Puts a folder in the place of another one.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Puts `new` in the place of `folder`; what was there ends up at `new` or beside it, to be removed with its parent.
pub(crate) fn swap(new: &Path, folder: &Path) -> std::io::Result<()> {
    if !folder.exists() {
        return fs::rename(new, folder);
    }
    match exchange(new, folder) {
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput) => {
            two_renames(new, folder)
        }
        result => result,
    }
}

/// One step: no moment without a site.
#[cfg(target_os = "linux")]
fn exchange(new: &Path, folder: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, new, CWD, folder, RenameFlags::EXCHANGE).map_err(std::io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_new: &Path, _folder: &Path) -> std::io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Where two folders cannot be exchanged in one step: the old one steps aside and returns if the new one cannot come.
fn two_renames(new: &Path, folder: &Path) -> std::io::Result<()> {
    let old = new.with_file_name("old");
    fs::rename(folder, &old)?;
    fs::rename(new, folder).inspect_err(|_| {
        // Nothing better can be done than to try; the error of the rename is what the user must see.
        let _ = fs::rename(&old, folder);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_renames_do_what_one_exchange_does() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let (new, folder) = (root.path().join("new"), root.path().join("site"));
        fs::create_dir(&new).expect("a folder");
        fs::create_dir(&folder).expect("a folder");
        fs::write(new.join("a"), "new").expect("a file");
        two_renames(&new, &folder).expect("both folders are there");
        assert_eq!(fs::read_to_string(folder.join("a")).expect("a file"), "new");
    }
}
