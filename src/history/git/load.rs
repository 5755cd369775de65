//! Reading the history from the tree of its branch.

use std::collections::BTreeMap;
use std::thread;

use git2::{ErrorCode, ObjectType, Odb, OdbLookupFlags, Oid, Repository, Tree, TreeEntry};

use super::checkout::heal;
use super::target::{Target, tip};
use super::{Store, failed};
use crate::history::HistoryError;
use crate::history::layout::{self, FOLDER};
use crate::model::record::MAX_RECORD_BYTES;
use crate::model::run::{LAYOUT_VERSION, Quarantined, RECORD_ROOT, RecordedRun};

/// How many folders lie between [`RECORD_ROOT`] and a record: suite, year and month.
const RECORD_DEPTH: usize = 3;

/// How many files are held in memory to be decoded together.
const BATCH: usize = 512;

/// What a history holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The commit it was read at; absent where there is no history yet.
    pub tip: Option<String>,
    /// The ref it was read from.
    pub reference: String,
    /// The runs, by time and then path.
    pub runs: Vec<RecordedRun>,
    /// The files that are no runs, by path.
    pub quarantined: Vec<Quarantined>,
    /// What else is odd, one sentence each.
    pub warnings: Vec<String>,
}

/// Loads every run of the history, each checked against its name; whatever fails a check is quarantined with the
/// reason, and the others load.
///
/// Reads objects alone, never the working tree. Folders below `history/v1/` that begin with an underscore hold no runs,
/// and files that begin with `.git` are git's own: both are passed over. A ref that does not exist is an empty history.
///
/// # Errors
/// When the ref or the commit it names cannot be read.
pub fn load(store: &Store, target: &Target) -> Result<Loaded, HistoryError> {
    let repository = &store.repository;
    // Reading does not depend on healing, as in a repository that may not be written to.
    let mut warnings = heal(store).map_or_else(|error| vec![error.to_string()], |healed| healed.warnings);
    let Some((commit, reference)) = tip(repository, target)? else {
        let reference = target.reference.clone();
        return Ok(Loaded { tip: None, reference, runs: Vec::new(), quarantined: Vec::new(), warnings });
    };
    let tree = commit.tree().map_err(failed("read the tree of the history"))?;
    let odb = repository.odb().map_err(failed("open the object database"))?;
    let mut reader = Reader {
        repository,
        odb,
        waiting: Vec::new(),
        runs: Vec::new(),
        quarantined: Vec::new(),
        warnings: Vec::new(),
    };
    reader.read_top(&tree);
    reader.decode();
    reader.warn_of_absent_commits();
    let Reader { mut runs, mut quarantined, warnings: found, .. } = reader;
    runs.sort_by(|a, b| (a.run.timestamp, &a.path).cmp(&(b.run.timestamp, &b.path)));
    quarantined.sort_by(|a, b| a.path.cmp(&b.path));
    warnings.extend(found);
    Ok(Loaded { tip: Some(commit.id().to_string()), reference, runs, quarantined, warnings })
}

/// A file that may be a record.
struct File {
    path: String,
    mode: i32,
    bytes: Vec<u8>,
}

/// A walk over the folders of the history.
struct Reader<'r> {
    repository: &'r Repository,
    odb: Odb<'r>,
    /// Files that are read and not yet decoded.
    waiting: Vec<File>,
    runs: Vec<RecordedRun>,
    quarantined: Vec<Quarantined>,
    warnings: Vec<String>,
}

impl<'r> Reader<'r> {
    fn read_top(&mut self, tree: &Tree<'_>) {
        let Some(history) = tree.get_name(FOLDER) else { return };
        let Some(folder) = self.folder(FOLDER, &history) else { return };
        for entry in &folder {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            let path = format!("{FOLDER}/{name}");
            let version = name.strip_prefix('v').and_then(|version| version.parse::<u64>().ok());
            if path == RECORD_ROOT {
                self.read_version(&entry);
            } else if version.is_some_and(|version| version > LAYOUT_VERSION) {
                let reason = "is of a newer layout and was not read; a newer sprag can read it";
                self.warnings.push(format!("`{path}/` {reason}"));
            } else if entry.kind() == Some(ObjectType::Tree) {
                self.warnings.push(format!("`{path}/` is no part of the layout and was not read"));
            }
        }
    }

    fn read_version(&mut self, entry: &TreeEntry<'_>) {
        let Some(folder) = self.folder(RECORD_ROOT, entry) else { return };
        for entry in &folder {
            if !entry.name_bytes().starts_with(b"_") {
                self.read_entry(RECORD_ROOT, &entry, 0);
            }
        }
    }

    fn read_entry(&mut self, parent: &str, entry: &TreeEntry<'_>, depth: usize) {
        if entry.name_bytes().starts_with(b".git") {
            return;
        }
        let Ok(name) = entry.name() else {
            let path = format!("{parent}/{}", String::from_utf8_lossy(entry.name_bytes()));
            return self.quarantine(path, "has a name that is not UTF-8".to_owned());
        };
        let path = format!("{parent}/{name}");
        if entry.kind() != Some(ObjectType::Tree) {
            return match self.read_file(&path, entry) {
                Ok(file) => self.wait(file),
                Err(reason) => self.quarantine(path, reason),
            };
        }
        if depth == RECORD_DEPTH {
            return self.quarantine(path, "is a folder, where a record is a plain file".to_owned());
        }
        let Some(folder) = self.folder(&path, entry) else { return };
        for entry in &folder {
            self.read_entry(&path, &entry, depth + 1);
        }
    }

    fn read_file(&self, path: &str, entry: &TreeEntry<'_>) -> Result<File, String> {
        layout::check_mode(entry.filemode())?;
        let unread = |error: git2::Error| absent_or(&error, "its content");
        let (size, _) = self.odb.read_header(entry.id()).map_err(unread)?;
        if size > MAX_RECORD_BYTES {
            return Err(format!("holds {size} bytes, more than the {MAX_RECORD_BYTES} that a record may have"));
        }
        let object = self.odb.read(entry.id()).map_err(unread)?;
        Ok(File { path: path.to_owned(), mode: entry.filemode(), bytes: object.data().to_vec() })
    }

    fn wait(&mut self, file: File) {
        self.waiting.push(file);
        if self.waiting.len() == BATCH {
            self.decode();
        }
    }

    /// Decodes what waits on all processors: that takes far longer than reading it.
    fn decode(&mut self) {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let share = self.waiting.len().div_ceil(workers).max(1);
        let check = |file: &File| layout::check_record(&file.path, file.mode, &file.bytes);
        let decoded: Vec<Result<RecordedRun, String>> = thread::scope(|scope| {
            let shares = self.waiting.chunks(share);
            let workers: Vec<_> =
                shares.map(|files| scope.spawn(move || files.iter().map(check).collect::<Vec<_>>())).collect();
            workers.into_iter().flat_map(|worker| worker.join().expect("checking a record does not panic")).collect()
        });
        for (file, decoded) in std::mem::take(&mut self.waiting).into_iter().zip(decoded) {
            match decoded {
                Ok(run) => self.runs.push(run),
                Err(reason) => self.quarantine(file.path, reason),
            }
        }
    }

    /// The folder that an entry stands for; quarantines it where it is none, or not here.
    fn folder(&mut self, path: &str, entry: &TreeEntry<'_>) -> Option<Tree<'r>> {
        if entry.kind() != Some(ObjectType::Tree) {
            self.quarantine(path.to_owned(), "is a file, where a folder of records is expected".to_owned());
            return None;
        }
        match self.repository.find_tree(entry.id()) {
            Ok(tree) => Some(tree),
            Err(error) => {
                self.quarantine(path.to_owned(), absent_or(&error, "the folder"));
                None
            }
        }
    }

    fn quarantine(&mut self, path: String, reason: String) {
        self.quarantined.push(Quarantined { path, reason });
    }

    fn warn_of_absent_commits(&mut self) {
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        let mut absent = 0;
        for run in &self.runs {
            let Some(commit) = &run.run.commit else { continue };
            let here = *known.entry(&commit.sha).or_insert_with(|| {
                // Objects do not come while we read, so a miss need not make libgit2 list the packs again.
                Oid::from_str(&commit.sha).is_ok_and(|id| self.odb.exists_ext(id, OdbLookupFlags::NO_REFRESH))
            });
            absent += usize::from(!here);
        }
        let runs = match absent {
            0 => return,
            1 => "1 run".to_owned(),
            many => format!("{many} runs"),
        };
        self.warnings
            .push(format!("{runs} measured commits that this repository does not hold (squashed, or a shallow clone)"));
    }
}

/// Why an object could not be read.
fn absent_or(error: &git2::Error, what: &str) -> String {
    if error.code() == ErrorCode::NotFound {
        format!("cannot be read: {what} is not in this repository, as in a partial clone")
    } else {
        format!("cannot be read: {}", error.message())
    }
}
