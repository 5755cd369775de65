//! Snapshots of archived runs in a folder. Each is compared with its note before anything of it is read.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use crate::text::{count, note, printable};
use sprag_analysis::frame::Snapshot;
use sprag_base::digest::{Digest, sha256_hex};
use sprag_base::files::read_bounded;
use sprag_history::{self as history, Entry, HistoryError, Snapshots};
use sprag_model::archive::Archive;
use sprag_model::fsck::{Finding, FindingKind};
use sprag_model::merkle::MerkleTree;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::run::RECORD_ROOT;

/// Of a snapshot, which is in memory while it is read.
const MOST_BYTES: usize = 4 << 30;

/// Groups that are decoded at a time.
const RECENT: usize = 8;

/// The folder of `[history] archive`.
pub(crate) struct SnapshotFolder {
    root: PathBuf,
    listed: Mutex<Vec<Listed>>,
    open: Mutex<Option<(String, Arc<Snapshot>)>>,
    recent: Mutex<Vec<Arc<Group>>>,
}

/// Where runs are in a snapshot.
struct Listed {
    archive: Arc<Archive>,
    /// The first path of each group.
    firsts: Vec<String>,
    last: String,
}

struct Group {
    file: String,
    number: usize,
    /// Paths and records, by path.
    runs: Vec<(String, String)>,
}

/// Nothing is left half done where a thread panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SnapshotFolder {
    pub(crate) fn new(root: PathBuf) -> SnapshotFolder {
        SnapshotFolder { root, listed: Mutex::default(), open: Mutex::default(), recent: Mutex::default() }
    }

    /// The group that may have a run.
    fn place(&self, path: &str) -> Option<(Arc<Archive>, usize)> {
        let holds =
            |one: &&Listed| one.firsts.first().is_some_and(|first| first.as_str() <= path) && path <= &*one.last;
        let listed = lock(&self.listed);
        let one = listed.iter().find(holds)?;
        let group = one.firsts.partition_point(|first| first.as_str() <= path) - 1;
        Some((Arc::clone(&one.archive), group))
    }

    fn group(&self, archive: &Archive, number: usize) -> Option<Arc<Group>> {
        let is_it = |group: &&Arc<Group>| group.number == number && group.file == archive.file;
        if let Some(group) = lock(&self.recent).iter().find(is_it) {
            return Some(Arc::clone(group));
        }
        let opened =
            lock(&self.open).as_ref().filter(|(file, _)| *file == archive.file).map(|(_, one)| Arc::clone(one));
        let snapshot = match opened {
            Some(snapshot) => snapshot,
            None => {
                let snapshot = Arc::new(open(&self.root, archive).ok()??);
                *lock(&self.open) = Some((archive.file.clone(), Arc::clone(&snapshot)));
                snapshot
            }
        };
        let mut runs = Vec::new();
        let take = &mut |[path, record]: [&str; 2]| runs.push((path.to_owned(), record.to_owned()));
        snapshot.each(number, ["path", "record"], take).ok()?;
        let group = Arc::new(Group { file: archive.file.clone(), number, runs });
        let mut recent = lock(&self.recent);
        recent.insert(0, Arc::clone(&group));
        recent.truncate(RECENT);
        Some(group)
    }
}

impl Snapshots for SnapshotFolder {
    fn runs(&self, archive: &Archive) -> Result<Option<Vec<Entry>>, HistoryError> {
        let Some(snapshot) = open(&self.root, archive)? else { return Ok(None) };
        let (mut entries, mut firsts) = (Vec::new(), Vec::new());
        for group in 0..snapshot.groups() {
            firsts.push(entries.len());
            let take = &mut |[path, blob]: [&str; 2]| {
                entries.push(Entry { path: path.to_owned(), blob: blob.to_owned() });
            };
            let read = snapshot.each(group, ["path", "blob"], take);
            read.map_err(|error| fault(&self.root, archive, error.to_string()))?;
        }
        if let Some(Entry { path: last, .. }) = entries.last() {
            let firsts = firsts.into_iter().map(|first| entries[first].path.clone()).collect();
            let one = Listed { archive: Arc::new(archive.clone()), firsts, last: last.clone() };
            let mut listed = lock(&self.listed);
            listed.retain(|other| other.archive.file != archive.file);
            listed.push(one);
        }
        Ok(Some(entries))
    }

    fn may_have(&self, path: &str) -> bool {
        self.place(path).is_some()
    }

    fn content(&self, path: &str) -> Option<Vec<u8>> {
        let (archive, number) = self.place(path)?;
        let group = self.group(&archive, number)?;
        let place = group.runs.binary_search_by(|(other, _)| other.as_str().cmp(path)).ok()?;
        Some(group.runs[place].1.clone().into_bytes())
    }
}

fn fault(root: &Path, archive: &Archive, reason: String) -> HistoryError {
    HistoryError::Snapshot { path: root.join(&archive.file), reason }
}

/// The snapshot of a note, if it is there.
///
/// # Errors
/// When a file of that name is not the one that was archived.
pub(crate) fn open(root: &Path, archive: &Archive) -> Result<Option<Snapshot>, HistoryError> {
    let fault = |reason: String| fault(root, archive, reason);
    let bytes = match read_bounded(&root.join(&archive.file), MOST_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(fault(format!("cannot be read: {error}"))),
    };
    if bytes.len() as u64 != archive.bytes {
        return Err(fault(format!("has {} of {} bytes, so it was cut short or replaced", bytes.len(), archive.bytes)));
    }
    if sha256_hex(&bytes) != archive.sha256.to_string() {
        return Err(fault("was changed since the runs were archived: its SHA-256 is another one".to_owned()));
    }
    Snapshot::open(bytes).map(Some).map_err(|error| fault(format!("cannot be read: {error}")))
}

/// Calls `take` with path, record and digest of each run of a snapshot, and checks it against its note as a whole.
///
/// # Errors
/// As of `take`, and when a run is not what its path, its ids or the note say.
pub(crate) fn each_run(
    root: &Path,
    archive: &Archive,
    snapshot: &Snapshot,
    take: &mut dyn FnMut(&str, &str) -> Result<(), HistoryError>,
) -> Result<(), HistoryError> {
    let fault = |reason: String| fault(root, archive, reason);
    let mut tree = MerkleTree::default();
    let mut last = String::new();
    for group in 0..snapshot.groups() {
        let mut done: Result<(), HistoryError> = Ok(());
        let mut check = |[path, blob, sha256, record]: [&str; 4]| {
            let json = record.strip_suffix('\n').unwrap_or(record);
            let digest = Digest::from_parts(&[json.as_bytes()]);
            let folder = path.strip_prefix(RECORD_ROOT).and_then(|rest| rest.strip_prefix('/')?.rsplit_once('/'));
            let is_right = last.as_str() < path
                && folder.is_some_and(|(folder, _)| archive.folders.contains_key(folder))
                && path.ends_with(&format!("-{}.json", digest.short()))
                && history::blob_id(record.as_bytes()).as_deref() == Some(blob)
                && digest.to_string() == sha256
                && record.len() <= MAX_RECORD_BYTES;
            last = path.to_owned();
            tree.push(digest);
            if is_right { take(path, record) } else { Err(fault(format!("holds other than it should at `{path}`"))) }
        };
        let read = snapshot.each(group, ["path", "blob", "sha256", "record"], &mut |row| {
            if done.is_ok() {
                done = check(row);
            }
        });
        read.map_err(|error| fault(format!("cannot be read: {error}")))?;
        done?;
    }
    if tree.len() as u64 != archive.runs || tree.root() != archive.root {
        return Err(fault(format!("holds other runs than the {} of its note", archive.runs)));
    }
    Ok(())
}

/// What is wrong with the snapshots of these notes.
pub(crate) fn findings(root: Option<&Path>, archives: &[Archive]) -> Vec<Finding> {
    let check = |archive: &Archive| {
        let opened = root.map_or(Ok(None), |root| open(root, archive));
        let checked = opened.and_then(|snapshot| match (root, snapshot) {
            (Some(root), Some(snapshot)) => each_run(root, archive, &snapshot, &mut |_, _| Ok(())).map(|()| true),
            _ => Ok(false),
        });
        match checked {
            Ok(true) => None,
            Ok(false) => {
                let what =
                    format!("`{}` with {} archived runs is not here, and was not checked", archive.file, archive.runs);
                Some(Finding::overall(FindingKind::Incomplete, what).advise(WHERE))
            }
            Err(error) => {
                let finding = Finding::overall(FindingKind::Changed, error.to_string());
                Some(finding.advise(error.hint().unwrap_or_default()))
            }
        }
    };
    archives.iter().filter(|archive| !archive.restored).filter_map(check).collect()
}

const WHERE: &str = "name its folder as `archive` under `[history]` in sprag.toml";

/// Says once which runs are missing.
pub(crate) fn say_absent(absent: &[Archive]) {
    static SAID: Once = Once::new();
    let Some(first) = absent.first() else { return };
    SAID.call_once(|| {
        let runs = absent.iter().map(|archive| usize::try_from(archive.runs).unwrap_or(usize::MAX)).sum();
        let file = printable(&first.file);
        let more = if absent.len() > 1 { format!(" and {} more", absent.len() - 1) } else { String::new() };
        let are = if runs == 1 { "is" } else { "are" };
        let (runs, months) = (count(runs, "run"), Archive::months(absent));
        note(&format!("{runs} of {months} {are} archived and not here; to use them, get `{file}`{more} and {WHERE}"));
    });
}
