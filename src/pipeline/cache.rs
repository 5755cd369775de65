//! What is kept in `.sprag/cache/` from one command to the next: the decoded runs of a history, what was found in series, and
//! what pages were rendered from.
//!
//! A file of runs holds some decoded runs, each identified by its path and the id of its blob. Runs that no file holds are read
//! from git and go into a file more; when there are many files, small ones become one. A file is written under another
//! name and then renamed, and never changed after. So two commands at a time do no harm: at worst both decode the same
//! runs, or one misses a file that the other has put together with more. A file that cannot be used goes, and a folder
//! that cannot be written to only means that the next command takes as long. `SPRAG_CACHE=off` leaves it all alone.
//!
//! A run that is cached is not read from git again, so damage to its object is seen by `sprag history fsck` alone.
//!
//! Any other file begins with a line that names the program that wrote it and the SHA-256 of all that follows. What another
//! build wrote, as version, length and time of the program tell, or what is damaged, is as if it were not there.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::error::Context as _;
use crate::project::Project;
use sprag_analysis::frame::{DecodedRuns, Decoder, FrameError};
use sprag_base::digest;
use sprag_base::files::write_cache;
use sprag_history as history;
use sprag_history::{Entry, Store};
use sprag_model::head::RunHead;
use sprag_model::run::Quarantined;

/// The variable that switches the cache off.
const VARIABLE: &str = "SPRAG_CACHE";

/// What the names of our files end with.
const SUFFIX: &str = "runs";

/// So many files are read without putting some together.
const MOST_FILES: usize = 8;

/// What the records of a history hold.
pub struct Decoded {
    /// Those that could be read.
    pub runs: DecodedRuns,
    /// Those that could not.
    pub quarantined: Vec<Quarantined>,
}

/// A file of the cache that was read.
struct Segment {
    file: PathBuf,
    bytes: usize,
    /// How many of its runs the history still has.
    live: usize,
    /// How many it holds.
    all: usize,
}

/// Decodes the records, as far as the cache does not hold them already, and keeps what is new.
pub fn decode(project: &Project, store: &Store, entries: &[Entry]) -> crate::Result<Decoded> {
    let folder = folder(project);
    let mut awaited: HashMap<&str, &Entry> = entries.iter().map(|entry| (entry.path.as_str(), entry)).collect();
    let mut runs = DecodedRuns::none();
    let mut segments = Vec::new();
    for file in folder.as_deref().map(files).unwrap_or_default() {
        let Ok(bytes) = fs::read(&file) else { continue };
        let Some(kept) = DecodedRuns::from_bytes(&bytes) else {
            // It is of another version or damaged; if it stays, it is passed over again.
            let _ = fs::remove_file(&file);
            continue;
        };
        let all = kept.heads().len();
        let is_live = |head: &RunHead, blob: &str| {
            let path = head.path.as_str();
            awaited.get(path).is_some_and(|entry| entry.blob == blob) && awaited.remove(path).is_some()
        };
        let kept = kept.select(is_live).context("cannot read the cache")?;
        segments.push(Segment { file, bytes: bytes.len(), live: kept.heads().len(), all });
        runs.append(kept).context("cannot read the cache")?;
    }
    let new: Vec<Entry> = entries.iter().filter(|entry| awaited.contains_key(entry.path.as_str())).cloned().collect();
    let (fresh, quarantined) = read(store, &new)?;
    if let Some(folder) = folder {
        keep(&folder, &fresh);
        runs.append(fresh).context("cannot put the runs together")?;
        tidy(&folder, &runs, segments);
    } else {
        runs.append(fresh).context("cannot put the runs together")?;
    }
    Ok(Decoded { runs, quarantined })
}

/// How many files the cache of a project has, and their bytes; absent where there is none.
pub fn size(project: &Project) -> Option<(usize, u64)> {
    let files = files(&folder(project)?);
    let bytes = files.iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum();
    Some((files.len(), bytes))
}

/// Reads and decodes records; none of them is in memory as a whole for longer than that takes.
fn read(store: &Store, entries: &[Entry]) -> crate::Result<(DecodedRuns, Vec<Quarantined>)> {
    let begin = || (Decoder::default(), Vec::new(), Ok(()));
    let take = |taken: &mut (Decoder, Vec<Quarantined>, Result<(), FrameError>), place: usize, record| match record {
        Ok(run) if taken.2.is_ok() => taken.2 = taken.0.add(&entries[place].blob, &run),
        Ok(_) => {}
        Err(bad) => taken.1.push(bad),
    };
    let mut runs = DecodedRuns::none();
    let mut quarantined = Vec::new();
    for (decoder, bad, outcome) in history::fold(store, entries, begin, take).context("cannot read the history")? {
        outcome.context("cannot decode the history")?;
        runs.append(decoder.finish()).context("cannot put the runs together")?;
        quarantined.extend(bad);
    }
    // What is kept in the order of a frame need not be put into that order by every load.
    Ok((runs.by_time().context("cannot put the runs in order")?, quarantined))
}

/// The folder of the cache; absent where there is to be none.
pub fn folder(project: &Project) -> Option<PathBuf> {
    if project.is_bare || !project.has_cache || std::env::var(VARIABLE).is_ok_and(|value| value == "off") {
        return None;
    }
    let folder = project.private_folder().ok()?.join("cache");
    fs::create_dir_all(&folder).ok()?;
    Some(folder)
}

/// The files of the cache, the largest first: what most of the runs are in comes before what was added to it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let ours = |path: &PathBuf| path.extension().is_some_and(|extension| extension == SUFFIX);
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(ours);
    let size = |path: PathBuf| Some((fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?.len(), path));
    let mut files: Vec<(u64, PathBuf)> = paths.filter_map(size).collect();
    files.sort_by(|a, b| b.cmp(a));
    files.into_iter().map(|(_, path)| path).collect()
}

/// Writes the runs as a file of the cache, named after its content. That this fails is no fault: the cache is then as it
/// was.
fn keep(folder: &Path, runs: &DecodedRuns) -> Option<PathBuf> {
    if runs.heads().is_empty() {
        return None;
    }
    let mut file = BufWriter::new(tempfile::Builder::new().prefix(".new-").tempfile_in(folder).ok()?);
    let digest = runs.write(&mut file).ok()?;
    let path = folder.join(format!("{}.{SUFFIX}", &digest[..16]));
    file.into_inner().ok()?.persist(&path).ok()?;
    Some(path)
}

/// Puts small files together where there are many, and writes those anew of which the history has lost more than half.
fn tidy(folder: &Path, runs: &DecodedRuns, segments: Vec<Segment>) {
    let worn = worn(&segments);
    if worn.is_empty() {
        return;
    }
    // The runs of the segments stand first, one segment after another.
    let mut chosen = HashSet::new();
    let mut first = 0;
    for (number, segment) in segments.iter().enumerate() {
        if worn.contains(&number) {
            chosen.extend(first..first + segment.live);
        }
        first += segment.live;
    }
    let mut place = 0;
    let is_chosen = |_: &RunHead, _: &str| {
        place += 1;
        chosen.contains(&(place - 1))
    };
    let Ok(together) = runs.clone().select(is_chosen) else { return };
    let kept = keep(folder, &together);
    if together.heads().is_empty() || kept.is_some() {
        for segment in worn.iter().map(|&number| &segments[number]).filter(|one| Some(&one.file) != kept.as_ref()) {
            // Whoever reads it at this moment finds its runs in the new file, or in git.
            let _ = fs::remove_file(&segment.file);
        }
    }
}

/// The numbers of the segments to be written anew. They come by size, the largest first; one that is larger than all
/// behind it together stays, so that a run is written again about as often as the history doubles.
fn worn(segments: &[Segment]) -> HashSet<usize> {
    let mut worn: HashSet<usize> =
        (0..segments.len()).filter(|&number| segments[number].live * 2 < segments[number].all).collect();
    if segments.len() >= MOST_FILES {
        let behind = |number: usize| segments[number + 1..].iter().map(|one| one.bytes).sum::<usize>();
        let small = (0..segments.len()).find(|&number| segments[number].bytes <= behind(number));
        worn.extend(small.unwrap_or(segments.len())..segments.len());
    }
    worn
}

/// A file of the cache.
pub struct CacheFile {
    file: PathBuf,
    /// Its first line as far as the digest.
    first: String,
}

impl CacheFile {
    /// The file of that name; absent where nothing is to be kept.
    pub fn at(project: &Project, name: &str) -> Option<CacheFile> {
        let file = folder(project)?.join(name);
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
    fn small_files_are_put_together_and_large_ones_stay() {
        let check = |sizes: &[usize], lost: &[usize], expected: &[usize]| {
            let segments = sizes.iter().enumerate().map(|(number, &bytes)| Segment {
                file: PathBuf::new(),
                bytes,
                live: if lost.contains(&number) { 1 } else { 9 },
                all: 10,
            });
            let mut worn: Vec<usize> = worn(&segments.collect::<Vec<_>>()).into_iter().collect();
            worn.sort_unstable();
            assert_eq!(worn, expected, "{sizes:?}");
        };
        check(&[], &[], &[]);
        check(&[100, 1, 1], &[], &[]);
        check(&[100, 1, 1], &[1], &[1]);
        check(&[100, 1, 1, 1, 1, 1, 1, 1], &[], &[1, 2, 3, 4, 5, 6, 7]);
        check(&[100, 1, 1, 1, 1, 1, 1, 1], &[0], &[0, 1, 2, 3, 4, 5, 6, 7]);
        check(&[100, 60, 10, 1, 1, 1, 1, 1], &[], &[3, 4, 5, 6, 7]);
        check(&[65, 32, 16, 8, 4, 2, 1, 1], &[], &[1, 2, 3, 4, 5, 6, 7]);
        check(&[128, 64, 32, 16, 8, 4, 2, 1], &[], &[]);
        check(&[9, 9, 9, 9, 9, 9, 9, 9], &[], &[0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn only_files_of_ours_are_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, bytes) in [("a.runs", "xx"), ("b.runs", "xxx"), (".new-1", "x"), ("notes.txt", "mine")] {
            fs::write(folder.path().join(name), bytes).expect("a file");
        }
        fs::create_dir(folder.path().join("c.runs")).expect("a folder");
        let names: Vec<PathBuf> =
            files(folder.path()).iter().filter_map(|path| Some(path.file_name()?.into())).collect();
        assert_eq!(names, ["b.runs", "a.runs"].map(PathBuf::from));
        assert!(files(&folder.path().join("none")).is_empty());
    }

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
