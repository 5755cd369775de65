//! Atomic writes, after which a reader sees the old content or the new, and reads of limited size that wait for nothing.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Component, Path, PathBuf};

use tempfile::NamedTempFile;

use crate::digest::RunningHash;

/// The file keeps its old content.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`: {error}", .path.display())]
pub struct WriteError {
    path: PathBuf,
    pub error: io::Error,
}

/// Replaces the content of a file, and makes missing folders. Devices and pipes, such as `/dev/stdout`, are written to.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(at(path))?;
    file.commit()
}

/// As [`write_atomic`], unless the file exists: then it stays and the result is `false`.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<bool, WriteError> {
    let write = || {
        let mut file = create_aside(folder_of(path))?;
        file.write_all(bytes)?;
        match flushed(file)?.persist_noclobber(path) {
            Ok(_) => Ok(true),
            Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(refused) => Err(refused.error),
        }
    };
    write().map_err(at(path))
}

/// As [`write_atomic`], but not flushed to the disk, so that a crash of the machine may lose it.
pub fn write_cache(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut file = create_aside(folder_of(path))?;
    parts.iter().try_for_each(|part| file.write_all(part))?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.persist(path)?;
    Ok(())
}

/// Fails where [`write_atomic`] would fail, before the work is done.
pub fn check_writable(path: &Path) -> Result<(), WriteError> {
    if path.is_dir() {
        return Err(at(path)(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")));
    }
    if is_stream(path) {
        return Ok(());
    }
    let folder = folder_of(path);
    fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder).map(drop)).map_err(at(path))
}

/// A file that appears at its path when it is committed. Dropped before, it leaves nothing.
pub struct AtomicFile {
    path: PathBuf,
    target: Target,
}

enum Target {
    /// A device or a pipe, which must not be replaced.
    Stream(BufWriter<File>),
    File {
        file: BufWriter<NamedTempFile>,
        place: PathBuf,
    },
}

impl AtomicFile {
    /// Of a symbolic link the target is replaced.
    pub fn create(path: &Path) -> Result<AtomicFile, WriteError> {
        let target = || {
            if is_stream(path) {
                return Ok(Target::Stream(BufWriter::new(fs::OpenOptions::new().write(true).open(path)?)));
            }
            let linked = if path.is_symlink() { fs::canonicalize(path).ok() } else { None };
            let place = linked.unwrap_or_else(|| path.to_owned());
            Ok(Target::File { file: create_aside(folder_of(&place))?, place })
        };
        Ok(AtomicFile { path: path.to_owned(), target: target().map_err(at(path))? })
    }

    /// Flushes the file to the disk and moves it to its path.
    pub fn commit(self) -> Result<(), WriteError> {
        let commit = || match self.target {
            Target::Stream(mut stream) => stream.flush(),
            Target::File { file, place } => Ok(flushed(file)?.persist(place).map(drop)?),
        };
        commit().map_err(at(&self.path))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Stream(stream) => stream.write(bytes),
            Target::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Stream(stream) => stream.flush(),
            Target::File { file, .. } => file.flush(),
        }
    }
}

/// Opens a regular file to read. Pipes and devices are refused: they could block, or never end.
pub fn open(path: &Path) -> io::Result<File> {
    open_regular(File::options().read(true), path, true)
}

/// As [`open`], for a path below `root` that leads through no link: one in a repository could name any file of the system.
pub fn open_inside(root: &Path, path: &Path) -> io::Result<File> {
    let mut place = root.to_owned();
    for part in path.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::CurDir => continue,
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "it leads out of its folder")),
        }
        check_kind(&fs::symlink_metadata(&place)?, true)?;
    }
    open_regular(File::options().read(true), &place, false)
}

/// Opens a file to lock, and makes it where it is missing.
pub fn open_lock(path: &Path) -> io::Result<File> {
    open_regular(File::options().create(true).append(true), path, true)
}

/// `follows` says whether the path may be a link.
fn open_regular(options: &mut fs::OpenOptions, path: &Path, follows: bool) -> io::Result<File> {
    let facts = if follows { fs::metadata(path) } else { fs::symlink_metadata(path) };
    // Opening a device may have effects of its own.
    facts.map_or(Ok(()), |facts| check_kind(&facts, false))?;
    // Whatever replaced the file since is not waited for.
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = if follows { OFlags::NONBLOCK } else { OFlags::NONBLOCK | OFlags::NOFOLLOW };
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    check_kind(&file.metadata()?, false)?;
    Ok(file)
}

fn check_kind(facts: &fs::Metadata, may_be_folder: bool) -> io::Result<()> {
    let (kind, what) = match facts.file_type() {
        one if one.is_file() || may_be_folder && one.is_dir() => return Ok(()),
        one if one.is_dir() => (io::ErrorKind::IsADirectory, "it is a folder, not a file"),
        one if one.is_symlink() => {
            (io::ErrorKind::InvalidInput, "it is a symbolic link, which is not followed; name the file it points to")
        }
        _ => (io::ErrorKind::InvalidInput, "it is a pipe or a device, not a regular file; save its content to a file"),
    };
    Err(io::Error::new(kind, what))
}

/// The bytes of a regular file, at most `most`.
pub fn read_bounded(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    read_with_capacity(file, most, size.saturating_add(1))
}

/// As [`read_bounded`], also of a pipe that the shell handed over: `/dev/stdin`, or that of `<(command)`.
pub fn read_input(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let is_handed_over = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|start| path.starts_with(start));
    read_bounded_from(if is_handed_over { File::open(path)? } else { open(path)? }, most)
}

/// Like [`read_bounded`], of what is open already.
pub fn read_bounded_from(input: impl Read, most: usize) -> io::Result<Vec<u8>> {
    read_with_capacity(input, most, 0)
}

fn read_with_capacity(input: impl Read, most: usize, capacity: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(capacity.min(most.saturating_add(1)));
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    input.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        let message = format!("it holds more than the {most} bytes that are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// The SHA-256 of a file of any size, as 64 lower-case hexadecimal digits.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    sha256_of(open(path)?)
}

/// As [`sha256_of_file`], of what is open already.
pub fn sha256_of(mut file: impl Read) -> io::Result<String> {
    let (mut hash, mut part) = (RunningHash::default(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hash.hex()),
            count => hash.add(&part[..count]),
        }
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let path = path.to_owned();
    move |error| WriteError { path, error }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether the path is a device or a pipe, such as `/dev/stdout`.
fn is_stream(path: &Path) -> bool {
    let is_special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    is_special || (path.starts_with("/dev") || path.starts_with("/proc")) && path.exists()
}

/// A temporary file with the permissions of ordinary files.
fn create_aside(folder: &Path) -> io::Result<BufWriter<NamedTempFile>> {
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    Ok(BufWriter::new(builder.prefix(".sprag-").tempfile_in(folder)?))
}

fn flushed(file: BufWriter<NamedTempFile>) -> io::Result<NamedTempFile> {
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{FileTypeExt as _, symlink};

    use super::*;

    fn read(path: &Path) -> Vec<u8> {
        fs::read(path).expect("the file is there")
    }

    #[test]
    fn a_file_is_replaced_and_no_other_is_left() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("deep/er/file");
        check_writable(&path).expect("it can be written");
        write_atomic(&path, b"old").expect("it can be written");
        write_atomic(&path, b"new").expect("it can be written again");
        assert!(!write_new(&path, b"other").expect("the folder can be written to"));
        assert_eq!(read(&path), b"new");
        write_cache(&path, &[b"in ", b"parts"]).expect("it can be written");
        assert_eq!(read(&path), b"in parts");
        let mut unfinished = AtomicFile::create(&path).expect("it can be begun");
        unfinished.write_all(b"half").expect("it can be written");
        drop(unfinished);
        assert_eq!(read(&path), b"in parts");
        let files = fs::read_dir(path.parent().expect("it has one")).expect("it can be listed").count();
        assert_eq!(files, 1);
        let error = write_atomic(&path.join("below"), b"").expect_err("a file is no folder");
        assert!(error.to_string().starts_with("cannot write `"), "{error}");
        assert!(check_writable(folder.path()).is_err());
    }

    #[test]
    fn a_pipe_is_written_to_and_stays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
        assert!(made.success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || read(&pipe)
        });
        check_writable(&pipe).expect("it can be written to");
        write_atomic(&pipe, b"all of it").expect("it can be written to");
        assert_eq!(reader.join().expect("the reader ends"), b"all of it");
        assert!(fs::symlink_metadata(&pipe).expect("it is there").file_type().is_fifo());
    }

    #[test]
    fn a_link_stays_and_its_target_is_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        write_atomic(&file, b"old").expect("it can be written");
        symlink(&file, &link).expect("it can be linked");
        write_atomic(&link, b"new").expect("it can be written");
        assert!(link.is_symlink());
        assert_eq!(read(&file), b"new");
        // A dangling link becomes a file.
        let dangling = folder.path().join("dangling");
        symlink(folder.path().join("gone"), &dangling).expect("it can be linked");
        write_atomic(&dangling, b"new").expect("it can be written");
        assert_eq!(read(&dangling), b"new");
    }

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("f");
        fs::write(&path, "four").expect("it can be written");
        assert_eq!(read_bounded(&path, 4).expect("it is small enough"), b"four");
        let kind = |path: &Path, most: usize| read_bounded(path, most).expect_err("it cannot be read").kind();
        assert_eq!(kind(&path, 3), io::ErrorKind::FileTooLarge);
        assert_eq!(kind(&folder.path().join("absent"), 4), io::ErrorKind::NotFound);
    }

    #[test]
    fn only_regular_files_are_opened_and_none_is_waited_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [pipe, link, plain] = ["pipe", "link", "plain"].map(|name| folder.path().join(name));
        fs::create_dir(folder.path().join("deep")).expect("a folder");
        fs::write(&plain, "four").expect("it can be written");
        symlink(&plain, &link).expect("it can be made");
        symlink("deep", folder.path().join("way")).expect("it can be made");
        fs::write(folder.path().join("deep/file"), "deep").expect("it can be written");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
        assert!(made.success());
        let fault = |opened: io::Result<File>| opened.map_or_else(|error| error.to_string(), |_| String::new());
        for path in [&pipe, Path::new("/dev/zero")] {
            assert!(fault(open(path)).starts_with("it is a pipe or a device"));
            assert!(fault(open_lock(path)).starts_with("it is a pipe or a device"));
        }
        assert!(fault(open(folder.path())).starts_with("it is a folder"));
        assert_eq!(fault(open(&link)), "");
        assert_eq!(fault(open_lock(&folder.path().join("lock"))), "");
        let inside = |path: &str| fault(open_inside(folder.path(), Path::new(path)));
        assert_eq!([inside("plain"), inside("./deep/file")], ["", ""]);
        for path in ["link", "way/file", "way"] {
            assert!(inside(path).starts_with("it is a symbolic link"), "{path}");
        }
        assert!(inside("deep/../plain").starts_with("it leads out"));
        assert!(read_input(&pipe, 4).is_err());
        assert_eq!(read_input(&plain, 4).expect("it is regular"), b"four");
    }
}
