//! Snapshots of archived runs in a folder. Each is compared with its note before anything of it is read.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use crate::text::{count, note, printable};
use sprag_analysis::frame::{MOST_BYTES, Snapshot, StoredRow};
use sprag_base::digest::{Digest, sha256_hex};
use sprag_base::files::read_bounded;
use sprag_history::{self as history, HistoryError, Leaf, Listing, Snapshots};
use sprag_model::fsck::{Finding, FindingKind};
use sprag_model::record::Reader;
use sprag_model::{Archive, MerkleTree};

/// Groups that are decoded at a time.
const RECENT: usize = 8;

/// The folder of `[history] archive`.
pub(crate) struct SnapshotFolder {
    root: PathBuf,
    listed: Mutex<Vec<Arc<Listed>>>,
    /// Those that were read last, of [`MOST_BYTES`] together.
    open: Mutex<Vec<(Arc<Listed>, Arc<Snapshot>)>>,
    recent: Mutex<Vec<Arc<Group>>>,
}

/// Where runs are in a snapshot.
struct Listed {
    archive: Archive,
    /// The first path of each group.
    firsts: Vec<String>,
    /// What [`id_of`] gives of its runs, in order.
    ids: Vec<u64>,
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

/// The sixteen digits of the digest in the name of a run.
fn id_of(path: &str) -> Option<u64> {
    u64::from_str_radix(path.strip_suffix(".json")?.rsplit_once('-')?.1, 16).ok()
}

impl Listed {
    /// Its folder may have runs that are on the branch alone.
    fn has(&self, run: &Leaf) -> bool {
        self.archive.folders.contains_key(run.folder())
            && id_of(&run.path).is_some_and(|id| self.ids.binary_search(&id).is_ok())
    }
}

impl SnapshotFolder {
    pub(crate) fn new(root: PathBuf) -> SnapshotFolder {
        SnapshotFolder { root, listed: Mutex::default(), open: Mutex::default(), recent: Mutex::default() }
    }

    fn opened(&self, listed: &Arc<Listed>) -> Result<Arc<Snapshot>, HistoryError> {
        // Others wait, as most of them need the same file.
        let mut open_files = lock(&self.open);
        let place = open_files.iter().position(|(other, _)| Arc::ptr_eq(other, listed));
        let one = match place {
            Some(place) => open_files.remove(place),
            None => {
                let mut room = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX).saturating_sub(listed.archive.bytes);
                open_files.retain(|(other, _)| {
                    let rest = room.checked_sub(other.archive.bytes);
                    room = rest.unwrap_or_default();
                    rest.is_some()
                });
                let snapshot = open(&self.root, &listed.archive)?;
                let snapshot = snapshot.ok_or_else(|| fault(&self.root, &listed.archive, "is gone".to_owned()))?;
                (Arc::clone(listed), Arc::new(snapshot))
            }
        };
        let snapshot = Arc::clone(&one.1);
        open_files.insert(0, one);
        Ok(snapshot)
    }

    fn group(&self, listed: &Arc<Listed>, number: usize) -> Result<Arc<Group>, HistoryError> {
        let file = &listed.archive.file;
        if let Some(group) = lock(&self.recent).iter().find(|group| group.number == number && group.file == *file) {
            return Ok(Arc::clone(group));
        }
        let mut runs = Vec::new();
        let take = &mut |[path, record]: [&str; 2]| runs.push((path.to_owned(), record.to_owned()));
        let read = self.opened(listed)?.each(number, ["path", "record"], take);
        read.map_err(|error| unread(&self.root, &listed.archive, error))?;
        let group = Arc::new(Group { file: file.clone(), number, runs });
        let mut recent = lock(&self.recent);
        recent.insert(0, Arc::clone(&group));
        recent.truncate(RECENT);
        Ok(group)
    }

    fn record(&self, listed: &Arc<Listed>, path: &str) -> Result<Vec<u8>, HistoryError> {
        let number = listed.firsts.partition_point(|first| first.as_str() <= path).saturating_sub(1);
        let group = self.group(listed, number)?;
        let place = group.runs.binary_search_by(|(other, _)| other.as_str().cmp(path));
        let place = place.map_err(|_| fault(&self.root, &listed.archive, format!("lacks `{path}`")))?;
        Ok(group.runs[place].1.clone().into_bytes())
    }
}

impl Snapshots for SnapshotFolder {
    fn runs(&self, archive: &Archive) -> Result<Option<Vec<Leaf>>, HistoryError> {
        let Some(snapshot) = open(&self.root, archive)? else { return Ok(None) };
        let (mut entries, mut firsts): (Vec<Leaf>, _) = (Vec::new(), Vec::new());
        for group in 0..snapshot.groups() {
            let (first, mut done) = (entries.len(), Ok(()));
            let read = snapshot.each(group, ["path", "blob"], &mut |[path, blob]| {
                if done.is_ok() {
                    let last = entries.last().map_or("", |entry| &entry.path);
                    done = entry_of(archive, last, path, blob).map(|entry| entries.push(entry));
                }
            });
            read.map_err(|error| unread(&self.root, archive, error))?;
            done.map_err(|reason| fault(&self.root, archive, reason))?;
            firsts.extend(entries.get(first).map(|entry| entry.path.clone()));
        }
        if entries.len() as u64 != archive.runs {
            return Err(fault(&self.root, archive, format!("holds other runs than the {} of its note", archive.runs)));
        }
        let mut ids: Vec<u64> = entries.iter().filter_map(|entry| id_of(&entry.path)).collect();
        ids.sort_unstable();
        let one = Arc::new(Listed { archive: archive.clone(), firsts, ids });
        let mut listed = lock(&self.listed);
        listed.retain(|other| other.archive.file != archive.file);
        listed.push(one);
        Ok(Some(entries))
    }

    fn number(&self, run: &Leaf) -> Option<usize> {
        lock(&self.listed).iter().position(|one| one.has(run))
    }

    fn content(&self, run: &Leaf) -> Result<Vec<u8>, HistoryError> {
        let having: Vec<Arc<Listed>> = lock(&self.listed).iter().filter(|one| one.has(run)).cloned().collect();
        let mut last = Err(HistoryError::Damaged(format!("no snapshot has `{}`", run.path)));
        for listed in &having {
            last = self.record(listed, &run.path);
            if last.is_ok() {
                break;
            }
        }
        last
    }
}

fn fault(root: &Path, archive: &Archive, reason: String) -> HistoryError {
    HistoryError::Snapshot { path: root.join(&archive.file), reason }
}

fn unread(root: &Path, archive: &Archive, error: impl std::fmt::Display) -> HistoryError {
    fault(root, archive, format!("cannot be read: {error}"))
}

/// A run of a snapshot, which comes after that at `last`.
fn entry_of(archive: &Archive, last: &str, path: &str, blob: &str) -> Result<Leaf, String> {
    let refused = |reason: &str| Err(format!("has a run at `{}`, which {reason}", path.escape_debug()));
    match Leaf::parse(path, blob) {
        Err(reason) => refused(&reason),
        Ok(_) if path <= last => refused("is not in the order of the paths"),
        Ok(entry) if !archive.folders.contains_key(entry.folder()) => {
            refused("is of a month that its note does not name")
        }
        Ok(entry) => Ok(entry),
    }
}

/// The snapshot of a note, if it is there.
///
/// # Errors
/// When a file of that name is not the one that was archived.
pub(crate) fn open(root: &Path, archive: &Archive) -> Result<Option<Snapshot>, HistoryError> {
    let fault = |reason: String| fault(root, archive, reason);
    let bytes = match read_bounded(&root.join(&archive.file), MOST_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => return not_read(root, archive, error),
    };
    if bytes.len() as u64 != archive.bytes {
        return Err(fault(format!("has {} of {} bytes, so it was cut short or replaced", bytes.len(), archive.bytes)));
    }
    if sha256_hex(&bytes) != archive.sha256.to_string() {
        return Err(fault("was changed since the runs were archived: its SHA-256 is another one".to_owned()));
    }
    // Whoever wrote the file may have written its note as well.
    let snapshot = Snapshot::open(bytes).map_err(|error| unread(root, archive, error))?;
    snapshot.fault(archive.runs).map_or(Ok(Some(snapshot)), |reason| Err(fault(reason)))
}

fn not_read<T>(root: &Path, archive: &Archive, reason: io::Error) -> Result<Option<T>, HistoryError> {
    match reason.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
        ErrorKind::PermissionDenied => Err(HistoryError::Io { action: "read", path: root.join(&archive.file), reason }),
        _ => Err(unread(root, archive, reason)),
    }
}

/// Calls `take` with each run of a snapshot, and checks it against its record, and the whole against its note.
///
/// # Errors
/// As of `take`, and when a run is not what its path, its record or the note say.
pub(crate) fn each_run(
    root: &Path,
    archive: &Archive,
    snapshot: &Snapshot,
    take: &mut dyn FnMut(&StoredRow<'_>) -> Result<(), HistoryError>,
) -> Result<(), HistoryError> {
    let fault = |reason: String| fault(root, archive, reason);
    let (mut tree, mut last, mut reader) = (MerkleTree::default(), String::new(), Reader::default());
    for group in 0..snapshot.groups() {
        let mut done: Result<(), HistoryError> = Ok(());
        let mut check = |row: &StoredRow<'_>| {
            entry_of(archive, &last, row.path, row.blob).map_err(fault)?;
            let recorded = history::check_recorded(row.path, row.record.as_bytes(), &mut reader);
            let recorded = recorded.map_err(|reason| fault(format!("has a run at `{}`, which {reason}", row.path)))?;
            let (run, digest) =
                (recorded.run, Digest::from_parts(&[row.record.strip_suffix('\n').unwrap_or(row.record).as_bytes()]));
            let is_right = history::blob_id(row.record.as_bytes()).as_deref() == Some(row.blob)
                && digest.to_string() == row.sha256
                && run.suite == row.suite
                && run.machine.id == row.machine
                && run.commit.as_ref().map(|commit| commit.sha.as_str()) == row.commit
                && run.timestamp.timestamp_micros() == row.time;
            row.path.clone_into(&mut last);
            tree.push(digest);
            if is_right { take(row) } else { Err(fault(format!("holds other than it should at `{}`", row.path))) }
        };
        let read = snapshot.rows(group, &mut |row| {
            if done.is_ok() {
                done = check(&row);
            }
        });
        read.map_err(|error| unread(root, archive, error))?;
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
            (Some(root), Some(snapshot)) => each_run(root, archive, &snapshot, &mut |_| Ok(())).map(|()| true),
            _ => Ok(false),
        });
        match checked {
            Ok(true) => None,
            Ok(false) => {
                let what =
                    format!("`{}` with {} archived runs is not here, and was not checked", archive.file, archive.runs);
                Some(Finding::overall(FindingKind::Incomplete, what).advise(WHERE))
            }
            Err(error @ HistoryError::Io { .. }) => {
                let what = format!("{error}, and it was not checked");
                Some(Finding::overall(FindingKind::Incomplete, what).advise("make it readable for this user"))
            }
            Err(error) => {
                let finding = Finding::overall(FindingKind::Changed, error.to_string());
                Some(finding.advise(error.hint().unwrap_or_default()))
            }
        }
    };
    archives.iter().filter(|archive| !archive.restored).filter_map(check).collect()
}

const WHERE: &str = "name its folder as `archive` under `[history]` in sprag.toml, or take the runs from earlier commits by \
                     `sprag history archive --restore` with its name";

/// Says once which runs are missing.
pub(crate) fn say_absent(listing: &Listing) {
    static SAID: Once = Once::new();
    let absent = &listing.absent;
    let Some(first) = absent.first().filter(|_| listing.absent_runs > 0) else { return };
    SAID.call_once(|| {
        let runs = usize::try_from(listing.absent_runs).unwrap_or(usize::MAX);
        let file = printable(&first.file);
        let more = if absent.len() > 1 { format!(" and {} more", absent.len() - 1) } else { String::new() };
        let are = if runs == 1 { "is" } else { "are" };
        let (runs, months) = (count(runs, "run"), Archive::months(absent));
        note(&format!("{runs} of {months} {are} archived and not here; to use them, get `{file}`{more} and {WHERE}"));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{DateTime, TimeDelta, Utc};
    use sprag_analysis::frame::{MOST_RUNS, SnapshotRow, SnapshotWriter};
    use sprag_base::files::write_atomic;
    use sprag_model::{Benchmark, Estimate, Machine, Measurement, Metric, RecordedRun, Run};

    fn run(suite: &str, day: &str, value: f64) -> (RecordedRun, String) {
        let benchmark = Benchmark::new(suite, "pack", &[], "fast").expect("plain words");
        let time: DateTime<Utc> = format!("{day}T03:04:05Z").parse().expect("a time");
        let run = Run {
            measurements: vec![Measurement::new(benchmark, vec![Estimate::new(Metric::time(), value, 20)])],
            ..Run::new(suite, time, Machine::named("bench-1", "Example CPU"))
        };
        let (id, path, bytes) = run.to_record();
        (RecordedRun { path, id, run }, String::from_utf8(bytes).expect("a record is text"))
    }

    /// Writes a snapshot and gives its note.
    fn archived(root: &Path, runs: &[&(RecordedRun, String)], folders: &[&str]) -> Archive {
        let mut writer = SnapshotWriter::new(Vec::new()).expect("a writer");
        let mut tree = MerkleTree::default();
        for (entry, (run, record)) in runs.iter().enumerate() {
            let digest = Digest::from_parts(&[record.trim_end().as_bytes()]);
            tree.push(digest);
            let blob = history::blob_id(record.as_bytes()).expect("an id");
            let row = SnapshotRow { run, blob: &blob, sha256: &digest.to_string(), entry, record };
            writer.push(&row).expect("it is written");
        }
        let bytes = writer.finish().expect("it is written");
        let archive = Archive {
            schema_version: 1,
            file: Archive::file_name("2024", &tree.root()),
            bytes: bytes.len() as u64,
            sha256: sha256_hex(&bytes).parse().expect("a digest"),
            runs: runs.len() as u64,
            root: tree.root(),
            history_root: tree.root(),
            history_size: runs.len() as u64,
            commit: "0123456789".repeat(4),
            folders: folders.iter().map(|folder| ((*folder).to_owned(), "0".repeat(40))).collect(),
            time: DateTime::UNIX_EPOCH,
            restored: false,
        };
        write_atomic(&root.join(&archive.file), &bytes).expect("a file");
        archive
    }

    fn entry((run, record): &(RecordedRun, String)) -> Leaf {
        Leaf { path: run.path.clone(), blob: history::blob_id(record.as_bytes()).expect("an id") }
    }

    #[test]
    fn a_run_is_read_from_the_snapshot_that_has_it() {
        let root = tempfile::tempdir().expect("a folder");
        let days = ["2023-05-01", "2024-05-01"];
        let all: Vec<_> = days.iter().flat_map(|day| ["aa", "bb"].map(|suite| run(suite, day, 1.0))).collect();
        let repeat = run("aa", "2024-05-02", 2.0);
        let archives = [
            archived(root.path(), &[&all[0], &all[1]], &["aa/2023/05", "bb/2023/05"]),
            archived(root.path(), &[&all[2], &all[3]], &["aa/2024/05", "bb/2024/05"]),
            archived(root.path(), &[&repeat], &["aa/2024/05"]),
        ];
        let folder = SnapshotFolder::new(root.path().to_owned());
        for archive in &archives {
            assert_eq!(folder.runs(archive).expect("it is sound").map(|runs| runs.len() as u64), Some(archive.runs));
        }
        let numbers: Vec<Option<usize>> = all.iter().chain([&repeat]).map(|run| folder.number(&entry(run))).collect();
        assert_eq!(numbers, [Some(0), Some(0), Some(1), Some(1), Some(2)]);
        for run in all.iter().chain([&repeat]) {
            assert_eq!(folder.content(&entry(run)).expect("it is there"), run.1.as_bytes(), "{}", run.0.path);
        }
        // Between the first and the last path, in a folder that left and in another one.
        for left in [run("aa", "2023-05-02", 1.0), run("aa", "2023-07-01", 1.0), run("bb", "2022-07-01", 1.0)] {
            assert_eq!(folder.number(&entry(&left)), None, "{}", left.0.path);
        }
        let other = SnapshotFolder::new(root.path().to_owned());
        other.runs(&archives[1]).expect("it is sound");
        std::fs::remove_file(root.path().join(&archives[1].file)).expect("a file");
        assert!(other.content(&entry(&all[2])).is_err_and(|error| error.to_string().ends_with("is gone")));
    }

    #[test]
    fn a_hostile_snapshot_is_refused_before_its_runs_are_listed() {
        let root = tempfile::tempdir().expect("a folder");
        let valid = [run("aa", "2024-05-01", 1.0), run("bb", "2024-05-01", 1.0)];
        let named = |path: &str| {
            let (run, record) = run("aa", "2024-05-01", 1.0);
            (RecordedRun { path: path.to_owned(), ..run }, record)
        };
        let check = |runs: &[&(RecordedRun, String)], folders: &[&str], count: u64, words: &str| {
            let archive = Archive { runs: count, ..archived(root.path(), runs, folders) };
            let error = SnapshotFolder::new(root.path().to_owned()).runs(&archive).expect_err(words);
            assert!(matches!(error, HistoryError::Snapshot { .. }) && error.to_string().contains(words), "{error}");
        };
        let (both, months) = ([&valid[0], &valid[1]], ["aa/2024/05", "bb/2024/05"]);
        check(&both, &months, 3, "has 2 runs, and 3 by its note");
        check(&both, &months, MOST_RUNS + 1, "has 2000001 runs, more than");
        check(&both, &months[..1], 2, "which is of a month that its note does not name");
        check(&[&valid[1], &valid[0]], &months, 2, "which is not in the order of the paths");
        check(&[&valid[0], &valid[0]], &months, 2, "which is not in the order of the paths");
        check(&[&named("x\u{1b}[31m/../../etc")], &months, 1, "a run at `x\\u{1b}[31m/../../etc`, which lies outside");
        check(&[&named("history/v1/aa/2024/05/x.json")], &months, 1, "which is not named");
    }

    #[test]
    fn each_column_is_compared_with_the_record() {
        let root = tempfile::tempdir().expect("a folder");
        let check = |change: &dyn Fn(&mut RecordedRun)| {
            let mut one = run("aa", "2024-05-01", 1.0);
            change(&mut one.0);
            let archive = archived(root.path(), &[&one], &["aa/2024/05"]);
            let snapshot = open(root.path(), &archive).expect("it is sound").expect("it is there");
            each_run(root.path(), &archive, &snapshot, &mut |_| Ok(())).map_err(|error| error.to_string())
        };
        assert_eq!(check(&|_| ()), Ok(()));
        let changes: [&dyn Fn(&mut RecordedRun); 3] = [
            &|one| one.run.suite = "bb".to_owned(),
            &|one| one.run.machine = Machine::named("bench-2", "Example CPU"),
            &|one| one.run.timestamp += TimeDelta::seconds(1),
        ];
        for change in changes {
            assert!(check(change).is_err_and(|error| error.contains("holds other than it should at `history/v1/aa/")));
        }
    }

    #[test]
    fn what_may_not_be_read_is_not_damaged() {
        let root = tempfile::tempdir().expect("a folder");
        let archive = archived(root.path(), &[], &[]);
        let exit = |kind: ErrorKind| {
            let read = not_read::<()>(root.path(), &archive, kind.into());
            read.map_err(|error| crate::Error::from(error).exit())
        };
        assert_eq!(exit(ErrorKind::NotFound), Ok(None));
        assert_eq!(exit(ErrorKind::PermissionDenied), Err(crate::error::Exit::Usage));
        assert_eq!(exit(ErrorKind::IsADirectory), Err(crate::error::Exit::Integrity));
    }
}
