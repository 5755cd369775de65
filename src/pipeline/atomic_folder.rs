//! A folder that is replaced as a whole, such as a site: it is built aside, then swapped in.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::error::WithContext as _;
use crate::project::{self, Project};
use crate::{Advice, refuse};
use sprag_base::digest;
use sprag_base::files::{self, read_bounded};

/// Of one file.
const MOST_BYTES: usize = 256 << 20;

#[derive(Clone, Copy, Debug)]
pub struct FolderKind {
    pub name: &'static str,
    /// What writes it.
    pub command: &'static str,
    pub marker: &'static str,
}

pub(crate) const SITE: FolderKind = FolderKind { name: "site", command: "sprag site", marker: ".sprag-site" };

/// Runs as Parquet.
pub(crate) const EXPORT: FolderKind =
    FolderKind { name: "export", command: "sprag export parquet", marker: ".sprag-export" };

pub(crate) const DATASET: FolderKind =
    FolderKind { name: "dataset", command: "sprag export series", marker: ".sprag-series" };

impl FolderKind {
    /// Fails if the folder has content of another kind.
    pub fn check(self, folder: &Path) -> crate::Result<()> {
        match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotADirectory => refuse(
                format!("cannot use `{}` as the folder of the {}: it is not a folder", folder.display(), self.name),
                "name an empty folder or a new one with `--out`",
            ),
            Err(error) => Err(error)
                .with_context(|| format!("cannot use `{}` as the folder of the {}", folder.display(), self.name)),
            Ok(mut entries) => {
                if folder.join(self.marker).is_file() || entries.next().is_none() {
                    return Ok(());
                }
                let other = [SITE, EXPORT, DATASET].into_iter().find(|kind| folder.join(kind.marker).is_file());
                let holds = match other {
                    Some(other) => {
                        format!("the {} of `{}`, which `{}` does not replace", other.name, other.command, self.command)
                    }
                    None => format!("files that `{}` did not write", self.command),
                };
                let message = format!("`{}` holds {holds}", folder.display());
                refuse(message, "name an empty folder or a new one with `--out`")
            }
        }
    }

    /// Fails if the folder is inside `.git`, has foreign content that would be lost, or its parent cannot be written. The marker
    /// lists our files. Markers of old versions list none; then `.git`, `CNAME` and the like are treated as foreign.
    pub fn check_replaceable(self, folder: &Path) -> crate::Result<()> {
        // A worktree inside `.git` has a `.git` of its own and belongs to its user.
        let mut outwards = folder.ancestors().take_while(|place| place == &folder || !place.join(".git").exists());
        if outwards.any(|place| place.file_name().is_some_and(|name| name == ".git")) {
            let message = format!("`{}` is inside `.git`, which belongs to git", folder.display());
            return refuse(message, "name another folder with `--out`");
        }
        self.check(folder)?;
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_strange = |name: &String| {
            let is_plain_file = || !name.contains('.') && folder.join(name).is_file();
            name != self.marker && (name.starts_with('.') || is_plain_file())
        };
        let stranger = match self.written(folder) {
            Some(ours) => ExistingFolder { folder, marker: self.marker }
                .files()?
                .into_iter()
                .find(|file| !ours.contains(&mark_of(file))),
            None => names.filter(is_strange).min(),
        };
        let Some(stranger) = stranger else { return self.check_place(folder) };
        let message = format!("`{}` holds `{stranger}`, which is not part of the {}", folder.display(), self.name);
        let hint =
            "the folder is replaced as a whole: move that out of it, or name another one with `--out`".to_owned();
        refuse(message, hint)
    }

    pub fn open(self, folder: &Path) -> crate::Result<ExistingFolder<'_>> {
        self.check(folder)?;
        if !folder.join(self.marker).is_file() {
            let message = format!("there is no {} of sprag at `{}`", self.name, folder.display());
            let hint = format!("make it first: `{}`", self.command);
            return refuse(message, hint);
        }
        Ok(ExistingFolder { folder, marker: self.marker })
    }

    /// The digests that the marker lists; `None` if it lists none.
    fn written(self, folder: &Path) -> Option<HashSet<String>> {
        let text = String::from_utf8(read_bounded(&folder.join(self.marker), MOST_BYTES).ok()?).ok()?;
        let marks: HashSet<String> = text.lines().skip(1).map(str::to_owned).collect();
        (!marks.is_empty()).then_some(marks)
    }

    /// Tries the parent folder with a nameless file, which leaves nothing behind.
    fn check_place(self, folder: &Path) -> crate::Result<()> {
        let place = parent(folder);
        let tried = fs::create_dir_all(place).and_then(|()| tempfile::tempfile_in(place).map(drop));
        tried.map_err(|error| {
            let message = format!("cannot write in the parent folder of `{}`: {}", folder.display(), error.kind());
            let hint = format!(
                "the {} is built in a temporary folder next to it, so its parent folder must be writable; see `--out`",
                self.name
            );
            Advice::new(message, hint).into()
        })
    }
}

pub struct ExistingFolder<'a> {
    folder: &'a Path,
    marker: &'static str,
}

impl<'a> ExistingFolder<'a> {
    pub(crate) fn new(kind: FolderKind, folder: &'a Path) -> ExistingFolder<'a> {
        ExistingFolder { folder, marker: kind.marker }
    }

    /// Relative paths with `/`, without the marker.
    pub fn files(&self) -> crate::Result<BTreeSet<String>> {
        let mut files = BTreeSet::new();
        let mut folders = vec![String::new()];
        while let Some(below) = folders.pop() {
            let folder = self.folder.join(&below);
            let entries = fs::read_dir(&folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
            for entry in entries.with_context(|| format!("cannot read `{}`", folder.display()))? {
                let name = format!("{below}{}", entry.file_name().to_string_lossy());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(name + "/");
                } else if name != self.marker {
                    files.insert(name);
                }
            }
        }
        Ok(files)
    }

    pub fn read(&self, path: &str) -> crate::Result<Vec<u8>> {
        let path = self.folder.join(path);
        read_bounded(&path, MOST_BYTES).with_context(|| format!("cannot read `{}`", path.display()))
    }
}

pub struct AtomicFolder {
    kind: FolderKind,
    folder: PathBuf,
    aside: Aside,
    /// Folders made so far, so that the system is not asked for each file.
    made: RefCell<HashSet<PathBuf>>,
}

impl AtomicFolder {
    pub fn begin(project: &Project, kind: FolderKind, folder: &Path) -> crate::Result<AtomicFolder> {
        // A link stays; its target is replaced.
        let folder = if folder.is_symlink() { folder.canonicalize() } else { Ok(folder.to_owned()) }
            .with_context(|| format!("cannot follow the link `{}`", folder.display()))?;
        kind.check_replaceable(&folder)?;
        let aside = Aside::near(project, kind, &folder)?;
        Ok(AtomicFolder { kind, folder, aside, made: RefCell::default() })
    }

    /// The path is relative, with `/`. A file with the same bytes is hard-linked, so that its times stay.
    pub fn write(&self, path: &str, bytes: &[u8]) -> crate::Result<()> {
        let new = self.place(path)?;
        if take_over(&self.folder.join(path), &new, bytes) { Ok(()) } else { write_file(&new, bytes) }
    }

    fn place(&self, path: &str) -> crate::Result<PathBuf> {
        let new = self.aside.folder.join(NEW).join(path);
        if !self.made.borrow().contains(parent(&new)) {
            make_folder(parent(&new))?;
            self.made.borrow_mut().insert(parent(&new).to_owned());
        }
        Ok(new)
    }

    pub fn put(self) -> crate::Result<()> {
        let AtomicFolder { kind, folder, aside, .. } = self;
        put(kind, &aside.folder.join(NEW), &folder)?;
        // If the old one cannot be removed now, the next build does it.
        let _ = fs::remove_dir_all(&aside.folder);
        Ok(())
    }
}

const NEW: &str = "new";

struct Aside {
    folder: PathBuf,
    /// The system unlocks it when the process ends.
    _lock: Option<fs::File>,
    _temporary: Option<tempfile::TempDir>,
}

impl Aside {
    /// An empty folder on the same file system; in a project at a fixed, ignored place, so the next build removes leftovers.
    fn near(project: &Project, kind: FolderKind, place: &Path) -> crate::Result<Aside> {
        if place.starts_with(&project.root) && !project.is_bare {
            let private = project.private_folder()?;
            let folder = private.join(kind.name);
            let lock = project::locked(&private.join(format!("{}.lock", kind.name)), &|| {})?;
            let emptied = match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => fs::create_dir(&folder),
            };
            emptied.with_context(|| format!("cannot prepare `{}`", folder.display()))?;
            return Ok(Aside { folder, _lock: Some(lock), _temporary: None });
        }
        let temporary = tempfile::Builder::new().prefix(&format!(".sprag-{}-", kind.name)).tempdir_in(parent(place));
        let temporary =
            temporary.with_context(|| format!("cannot write in the parent folder of `{}`", place.display()))?;
        Ok(Aside { folder: temporary.path().to_owned(), _lock: None, _temporary: Some(temporary) })
    }
}

fn parent(folder: &Path) -> &Path {
    folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Links `old` to `new` if it has these bytes; `false` if not, or if the file system has no links.
fn take_over(old: &Path, new: &Path, bytes: &[u8]) -> bool {
    let is_alike = |metadata: fs::Metadata| metadata.is_file() && metadata.len() == bytes.len() as u64;
    fs::symlink_metadata(old).is_ok_and(is_alike)
        && read(old, bytes.len() as u64).is_ok_and(|content| content == bytes)
        && fs::hard_link(old, new).is_ok()
}

fn read(file: &Path, length: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| ErrorKind::FileTooLarge)?];
    files::open(file)?.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn make_folder(folder: &Path) -> crate::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))
}

fn write_file(path: &Path, bytes: &[u8]) -> crate::Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
}

/// A short digest keeps the marker small.
fn mark_of(path: &str) -> String {
    digest::sha256_hex(path.as_bytes())[..8].to_owned()
}

/// Writes the marker and swaps; the old folder ends up at `new`.
fn put(kind: FolderKind, new: &Path, folder: &Path) -> crate::Result<()> {
    make_folder(new)?;
    let files = ExistingFolder { folder: new, marker: kind.marker }.files()?;
    let marks: BTreeSet<String> = files.iter().map(|path| mark_of(path)).collect();
    let mut text =
        "This folder was made by sprag, which replaces it as a whole; its files, by their digests:\n".to_owned();
    marks.iter().for_each(|mark| text += &format!("{mark}\n"));
    write_file(&new.join(kind.marker), text.as_bytes())?;
    swap(new, folder).with_context(|| format!("cannot put the new {} at `{}`", kind.name, folder.display()))
}

/// The old folder ends up at `new` or next to it.
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

#[cfg(target_os = "linux")]
fn exchange(new: &Path, folder: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, new, CWD, folder, RenameFlags::EXCHANGE).map_err(std::io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_new: &Path, _folder: &Path) -> std::io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// For file systems that cannot exchange two folders in one step.
fn two_renames(new: &Path, folder: &Path) -> std::io::Result<()> {
    let old = new.with_file_name("old");
    fs::rename(folder, &old)?;
    fs::rename(new, folder).inspect_err(|_| {
        // The user must see the error of the rename above.
        let _ = fs::rename(&old, folder);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_replaces_only_a_site() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = root.path().join("deep/_site");
        SITE.check(&folder).expect("a folder that is not there is free");
        fs::create_dir_all(parent(&folder)).expect("a folder");
        let put_pages = |name: &str, pages: &[&str]| {
            let new = root.path().join("aside").join(name);
            for page in pages {
                make_folder(parent(&new.join(page))).expect("a folder");
                write_file(&new.join(page), name.as_bytes()).expect("a page");
            }
            put(SITE, &new, &folder).expect("a site");
        };
        put_pages("first", &["index.html", "series/a.html"]);
        put_pages("second", &["index.html"]);
        assert_eq!(fs::read_to_string(folder.join("index.html")).expect("a page"), "second");
        assert!(!folder.join("series").exists(), "a page that is gone stays");
        assert_eq!(fs::read_dir(root.path().join("deep")).expect("a folder").count(), 1, "something else is left");
        make_folder(&folder.join("series/mine")).expect("a folder");
        for stranger in [".git", "CNAME", ".nojekyll", "notes.txt", "series/a.html", "series/mine/b.html"] {
            write_file(&folder.join(stranger), b"").expect("a file");
            let error = SITE.check_replaceable(&folder).expect_err("it would be lost").to_string();
            assert!(error.contains(&format!("`{stranger}`")), "{error}");
            SITE.check(&folder).expect("it may be read");
            fs::remove_file(folder.join(stranger)).expect("a file");
        }
        SITE.check_replaceable(&folder).expect("our own site may be replaced");
        // The marker of an old version lists no files.
        write_file(&folder.join(SITE.marker), b"This folder was made by sprag.\n").expect("a file");
        write_file(&folder.join("old.html"), b"").expect("a file");
        SITE.check_replaceable(&folder).expect("it may be ours");
        write_file(&folder.join("CNAME"), b"").expect("a file");
        assert!(SITE.check_replaceable(&folder).is_err(), "it would be lost");
        for place in [".git", ".git/hooks", ".git/hooks/_site"] {
            let error = SITE.check_replaceable(&root.path().join(place)).expect_err("it is git's").to_string();
            assert!(error.contains("is inside `.git`"), "{place}: {error}");
        }
        make_folder(&root.path().join(".git/trees/one")).expect("a folder");
        write_file(&root.path().join(".git/trees/one/.git"), b"gitdir: ../../worktrees/one").expect("a file");
        SITE.check_replaceable(&root.path().join(".git/trees/one/_site")).expect("a worktree is its user's");
        assert!(EXPORT.check(&folder).is_err(), "a site is no export");
        assert!(SITE.check(&folder.join("old.html")).is_err(), "a file is no folder");
    }

    #[test]
    fn equal_files_are_linked() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let (old, new) = (root.path().join("old"), root.path().join("new/deep/page"));
        fs::write(&old, "one").expect("a file");
        make_folder(parent(&new)).expect("a folder");
        assert!(!take_over(&old, &new, b"two") && !take_over(&old, &new, b"one and more") && !new.exists());
        assert!(take_over(&old, &new, b"one"));
        assert_eq!(fs::read(&new).expect("it is linked"), b"one");
        // Only a file of the folder itself: what a link leads to is someone else's.
        #[cfg(unix)]
        {
            let link = root.path().join("link");
            std::os::unix::fs::symlink(&old, &link).expect("a link");
            assert!(!take_over(&link, &root.path().join("other"), b"one"));
        }
        assert!(!take_over(&root.path().join("absent"), &root.path().join("other"), b"one"));
    }

    #[test]
    fn two_renames_replace_a_folder() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let (new, folder) = (root.path().join("new"), root.path().join("site"));
        fs::create_dir(&new).expect("a folder");
        fs::create_dir(&folder).expect("a folder");
        fs::write(new.join("a"), "new").expect("a file");
        two_renames(&new, &folder).expect("both folders are there");
        assert_eq!(fs::read_to_string(folder.join("a")).expect("a file"), "new");
    }
}
