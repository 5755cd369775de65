//! `.sprag/cache/`: the decoded runs of a history, what was detected in its series, what folders and commits hold, and how long
//! suites take.
//!
//! A file begins with a line that names the program and the SHA-256 of the rest. A damaged file, or one of another
//! build, is treated as absent. Files are renamed into place, so concurrent commands at worst do the same work twice. A
//! folder that cannot be written only costs time. `SPRAG_CACHE=off` switches the cache off. Cached runs are not read
//! from git again, so only `sprag history fsck` sees damage to their objects.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use crate::error::WithContext as _;
use crate::project::{PRIVATE_FOLDER, Project};
use sprag_analysis::frame::DecodedRuns;
use sprag_base::digest;
use sprag_base::files::{read_bounded, write_cache};
use sprag_base::json;
use sprag_history as history;
use sprag_history::{Leaf, Store};
use sprag_model::Quarantined;

const VARIABLE: &str = "SPRAG_CACHE";

/// Of a file; a larger one is made again.
const MOST_BYTES: usize = 1 << 30;

const RUNS: &str = "runs";

/// So few new runs, where they are less than a twentieth, are decoded again in less time than the file takes to write.
const NEWS: usize = 256;

const SECONDS: &str = "seconds";

pub struct Decoded {
    pub runs: DecodedRuns,
    pub quarantined: Vec<Quarantined>,
}

/// Decodes the records that the cache lacks, and adds them to it.
pub fn decode(project: &Project, store: &Store, entries: &[Leaf]) -> crate::Result<Decoded> {
    let file = CacheFile::at(project, RUNS);
    let cached = file.read().and_then(|bytes| DecodedRuns::from_bytes(&bytes)).unwrap_or_default();
    let count = cached.heads().len();
    let mut awaited: HashMap<&str, &Leaf> = entries.iter().map(|entry| (entry.path.as_str(), entry)).collect();
    let mut runs = cached.select(|head, blob| {
        let path = head.path.as_str();
        awaited.get(path).is_some_and(|entry| entry.blob == blob) && awaited.remove(path).is_some()
    });
    let new: Vec<Leaf> = entries.iter().filter(|entry| awaited.contains_key(entry.path.as_str())).cloned().collect();
    let (fresh, quarantined) = read(store, &new)?;
    // Records that a branch lacks may come back with the next checkout, so they are dropped only with other changes.
    let added = fresh.heads().len();
    let is_written = added >= NEWS.min(count.div_ceil(20)).max(1) || runs.heads().len() * 2 < count;
    runs.append(fresh);
    if is_written || added > 0 {
        runs = runs.sorted();
    }
    if is_written {
        file.write(&runs.to_bytes());
    }
    Ok(Decoded { runs, quarantined })
}

/// In bytes; `None` without a cache.
pub fn size(project: &Project) -> Option<u64> {
    let file = folder(project)?.join(RUNS);
    Some(fs::metadata(file).map_or(0, |file| file.len()))
}

/// No record is in memory as a whole for longer than decoding takes.
fn read(store: &Store, entries: &[Leaf]) -> crate::Result<(DecodedRuns, Vec<Quarantined>)> {
    let take = |taken: &mut (DecodedRuns, Vec<Quarantined>), place: usize, record| match record {
        Ok(run) => taken.0.add(&entries[place].blob, &run),
        Err(bad) => taken.1.push(bad),
    };
    let mut runs = DecodedRuns::default();
    let mut quarantined = Vec::new();
    for (decoded, bad) in history::fold(store, entries, Default::default, take).context("cannot read the history")? {
        runs.append(decoded);
        quarantined.extend(bad);
    }
    Ok((runs, quarantined))
}

/// The seconds that one process of each suite took in its last run here, for estimates.
pub(crate) fn seconds(project: &Project) -> BTreeMap<String, f64> {
    CacheFile::at(project, SECONDS).read_as(|text| serde_json::from_str(text).ok())
}

/// A command that writes nothing else must not make the folder.
pub(crate) fn note_seconds(project: &Project, suite: &str, seconds: f64) {
    if !project.root.join(PRIVATE_FOLDER).is_dir() {
        return;
    }
    let mut all = self::seconds(project);
    all.insert(suite.to_owned(), seconds);
    CacheFile::at(project, SECONDS).write(json::to_canonical(&all).as_bytes());
}

pub(crate) fn is_off() -> bool {
    std::env::var(VARIABLE).is_ok_and(|value| value == "off")
}

/// `None` if the cache is off or cannot be made.
pub fn folder(project: &Project) -> Option<PathBuf> {
    if project.is_bare || !project.has_cache || is_off() {
        return None;
    }
    let folder = project.private_folder().ok()?.join("cache");
    fs::create_dir_all(&folder).ok()?;
    Some(folder)
}

/// Where the file is, if there is a cache, and how its first line begins.
pub struct CacheFile(Option<(PathBuf, String)>);

impl CacheFile {
    pub fn at(project: &Project, name: &str) -> CacheFile {
        let place = || Some((folder(project)?.join(name), format!("sprag {name}, {}, ", program()?)));
        CacheFile(place())
    }

    pub fn read(&self) -> Option<Vec<u8>> {
        let (file, first) = self.0.as_ref()?;
        let mut bytes = read_bounded(file, MOST_BYTES).ok()?;
        let line = bytes.iter().position(|byte| *byte == b'\n')? + 1;
        let is_valid = bytes[..line] == *first_line(first, &bytes[line..]).as_bytes();
        bytes.drain(..line);
        is_valid.then_some(bytes)
    }

    /// The default if there is no valid file.
    pub fn read_as<T: Default>(&self, parse: impl FnOnce(&str) -> Option<T>) -> T {
        let bytes = self.read().unwrap_or_default();
        std::str::from_utf8(&bytes).ok().and_then(parse).unwrap_or_default()
    }

    /// A failure only costs time.
    pub fn write(&self, body: &[u8]) {
        if let Some((file, first)) = &self.0 {
            let _ = write_cache(file, &[first_line(first, body).as_bytes(), body]);
        }
    }
}

fn first_line(first: &str, body: &[u8]) -> String {
    format!("{first}{}\n", digest::sha256_hex(body))
}

fn program() -> Option<String> {
    let program = fs::metadata(std::env::current_exe().ok()?).ok()?;
    let built = program.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} of {} bytes at {}", env!("CARGO_PKG_VERSION"), program.len(), built.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_back_unless_it_is_damaged() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("pages");
        let file_of = |first: &str| CacheFile(Some((file.clone(), first.to_owned())));
        let one = file_of("sprag pages, 1, ");
        assert_eq!(one.read(), None);
        one.write(b"some\nlines");
        assert_eq!(one.read().as_deref(), Some(&b"some\nlines"[..]));
        assert_eq!(file_of("sprag pages, 2, ").read(), None);
        let intact = fs::read(&file).expect("a file");
        for place in 0..intact.len() {
            let mut damaged = intact.clone();
            damaged[place] ^= 1;
            fs::write(&file, &damaged).expect("a file");
            assert_eq!(one.read(), None, "byte {place}");
        }
        fs::write(&file, &intact[..intact.len() - 1]).expect("a file");
        assert_eq!(one.read(), None);
        one.write(b"");
        assert_eq!(one.read().as_deref(), Some(&b""[..]));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        assert!(program().is_some_and(|program| program.starts_with(env!("CARGO_PKG_VERSION"))));
    }
}
