//! The site on disk: built aside, then swapped in, so that a reader or a failure meets the old site or the new one.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::Advice;
use super::project::Project;
use super::study::Study;
use crate::model::page::Page;
use crate::report;

/// The file that marks a folder as ours to replace.
const MARKER: &str = ".sprag-site";

/// Renders the site of a study into `out`, or the configured folder, and tells where it lies.
///
/// # Errors
/// When the folder is not ours to replace or cannot be written; what was there then stands.
pub(super) fn publish(project: &Project, study: &Study, out: Option<&Path>) -> anyhow::Result<PathBuf> {
    let folder = site_folder(project, out)?;
    check_folder(&folder)?;
    let settings = report::Settings { url: project.config.site.url.clone() };
    let pages = report::render(&study.analysis, &study.line, &study.runs, &settings);
    let pages = pages.context("cannot render the site")?;
    check_place(&folder)?;
    let aside = aside(project, &folder)?;
    write_site(&aside.folder, &folder, &pages)?;
    // The old site; if it cannot go now it goes with the next build.
    let _ = fs::remove_dir_all(&aside.folder);
    Ok(folder)
}

/// Fails early where the site could not be written in the end.
///
/// # Errors
/// As [`publish`].
pub(super) fn check(project: &Project, out: Option<&Path>) -> anyhow::Result<()> {
    let folder = site_folder(project, out)?;
    check_folder(&folder)?;
    check_place(&folder)
}

fn site_folder(project: &Project, out: Option<&Path>) -> anyhow::Result<PathBuf> {
    if project.is_bare && out.is_none() {
        return Err(Advice {
            message: "a bare repository has no working tree to put the site in".to_owned(),
            hint: "name a folder with `--out`".to_owned(),
        }
        .into());
    }
    Ok(project.root.join(out.unwrap_or(&project.config.site.out)))
}

fn check_folder(folder: &Path) -> anyhow::Result<()> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => {
            Err(error).with_context(|| format!("cannot use `{}` as the folder of the site", folder.display()))
        }
        Ok(mut entries) => {
            if folder.join(MARKER).is_file() || entries.next().is_none() {
                return Ok(());
            }
            Err(Advice {
                message: format!("`{}` holds files that are not a site of sprag", folder.display()),
                hint: "name an empty folder or a new one with `--out`".to_owned(),
            }
            .into())
        }
    }
}

/// Where a site is built before it takes its place.
struct Aside {
    folder: PathBuf,
    /// Held while the folder of the project is in use; the system lets go of it when the process ends.
    _lock: Option<File>,
    /// Removes the folder where it is not the project's.
    _temporary: Option<tempfile::TempDir>,
}

/// An empty folder on the file system of the site. For a site inside the project it is one that is always the same and
/// that git does not see, so that what a kill leaves there is in nobody's way and goes with the next build.
fn aside(project: &Project, site: &Path) -> anyhow::Result<Aside> {
    if site.starts_with(&project.root) && !project.is_bare {
        let private = project.private_folder()?;
        let folder = private.join("site");
        let prepare = || {
            let lock = File::create(private.join("site.lock"))?;
            lock.lock()?;
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => fs::create_dir(&folder)?,
            }
            Ok(lock)
        };
        let lock = prepare().with_context(|| format!("cannot prepare `{}`", folder.display()))?;
        return Ok(Aside { folder, _lock: Some(lock), _temporary: None });
    }
    let temporary = tempfile::Builder::new().prefix(".sprag-site-").tempdir_in(parent(site));
    let temporary = temporary.with_context(|| format!("cannot write beside `{}`", site.display()))?;
    Ok(Aside { folder: temporary.path().to_owned(), _lock: None, _temporary: Some(temporary) })
}

fn parent(folder: &Path) -> &Path {
    folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether a folder can be put there: proven with a file that has no name, so that nothing can stay behind.
fn check_place(folder: &Path) -> anyhow::Result<()> {
    let place = parent(folder);
    let tried = fs::create_dir_all(place).and_then(|()| tempfile::tempfile_in(place).map(drop));
    tried.map_err(|error| {
        let message = format!("cannot write beside `{}`: {}", folder.display(), error.kind());
        let hint = "the site is built aside and swapped in, so its parent folder must be writable; see `--out`";
        Advice { message, hint: hint.to_owned() }.into()
    })
}

fn write_site(aside: &Path, folder: &Path, pages: &[Page]) -> anyhow::Result<()> {
    let new = aside.join("site");
    let write = |path: &Path, bytes: &[u8]| -> anyhow::Result<()> {
        let parent = path.parent().context("a page lies in a folder")?;
        fs::create_dir_all(parent).with_context(|| format!("cannot make `{}`", parent.display()))?;
        fs::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
    };
    for page in pages {
        write(&new.join(&page.path), &page.bytes)?;
    }
    write(&new.join(MARKER), b"This folder was made by sprag, which replaces it as a whole.\n")?;
    swap(&new, folder).with_context(|| format!("cannot put the new site at `{}`", folder.display()))
}

/// Puts `new` in the place of `folder`; what was there ends up at `new`, to be removed with its parent.
fn swap(new: &Path, folder: &Path) -> std::io::Result<()> {
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

    fn page(path: &str, text: &str) -> Page {
        Page { path: path.to_owned(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn a_site_replaces_a_site_and_nothing_else() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = root.path().join("deep/_site");
        check_folder(&folder).expect("a folder that is not there is free");
        fs::create_dir_all(parent(&folder)).expect("a folder");
        let aside = root.path().join("aside");
        write_site(&aside, &folder, &[page("index.html", "1"), page("series/a.html", "a")]).expect("the first site");
        check_folder(&folder).expect("our own site may be replaced");
        write_site(&aside, &folder, &[page("index.html", "2")]).expect("the second site");
        assert_eq!(fs::read_to_string(folder.join("index.html")).expect("a page"), "2");
        assert!(!folder.join("series").exists(), "a page that is gone stays");
        assert_eq!(fs::read_dir(root.path().join("deep")).expect("a folder").count(), 1, "something is left beside");
    }

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

    #[test]
    fn foreign_files_are_left_alone() {
        let root = tempfile::tempdir().expect("a temporary folder");
        fs::write(root.path().join("thesis.tex"), "mine").expect("a file");
        let error = check_folder(root.path()).expect_err("the folder is not ours");
        assert!(error.to_string().contains("not a site of sprag"), "{error}");
        assert!(check_folder(&root.path().join("thesis.tex")).is_err());
    }
}
