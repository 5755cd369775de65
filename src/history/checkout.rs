//! Working trees on the branch of the history, and how they catch up with it.
//!
//! When the branch moves under a working tree, `git status` would call the new record deleted, and the next commit
//! there would delete it. So each working tree on the branch gets the file and its index entry. Both are added only
//! where the commit that is checked out has them; nothing of the user's is overwritten, removed or unstaged.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use git2::{ObjectType, Oid, Repository};

use crate::activity::Activity;
use crate::error::{HistoryError, failed};
use crate::index::{self, Draft, IndexError, IndexLock, Wanted, sparse_paths};
use crate::objects::TreeLookup;
use crate::repository::{Store, head_branch};
use crate::state::{Lock, Pending, StateFolder, Step, Watch, rename_new, sync_folder};

/// What was made good after an append that was cut short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Healed {
    /// The records that a working tree has caught up with, by path.
    pub records: Vec<String>,
    /// What could not be made good, one sentence each.
    pub warnings: Vec<String>,
}

/// Lets working trees catch up with records whose append was cut short after the branch had moved.
///
/// Does nothing where no append was cut short, and while another one is under way. `super::append` and
/// `super::load` call it first.
pub fn heal(store: &Store) -> Result<Healed, HistoryError> {
    let state = StateFolder::new(store.repository.commondir());
    if !state.has_journal() {
        return Ok(Healed::default());
    }
    let Some(lock) = state.lock_briefly()? else { return Ok(Healed::default()) };
    Ok(heal_locked(&store.repository, &state, &lock, &mut |_| {})?.0)
}

/// As [`heal`], with the lock in hand; also gives the records that are still to be caught up with.
pub(crate) fn heal_locked(
    repository: &Repository,
    state: &StateFolder,
    lock: &Lock,
    watch: Watch<'_>,
) -> Result<(Healed, Vec<Pending>), HistoryError> {
    let kept = state.preserve_newer_journal()?;
    let pending = state.read_journal();
    if lock.is_exclusive() {
        state.sweep()?;
    }
    let mut healed = Healed::default();
    healed.warnings.extend(kept.map(|kept| {
        format!(
            "a newer sprag was cut short here, and what it left is kept as `{}`; if `git status` misses files of the \
             history, run `git restore history`",
            kept.display()
        )
    }));
    let mut unfinished = BTreeSet::new();
    let references: BTreeSet<&str> = pending.iter().map(|record| record.reference.as_str()).collect();
    for reference in references {
        let of_branch: Vec<Pending> = pending.iter().filter(|record| record.reference == reference).cloned().collect();
        if lock.is_exclusive() {
            remove_ref_lock(repository, reference, &of_branch);
        }
        let checkouts = Checkouts::on_branch(repository, reference)?;
        healed.warnings.extend(checkouts.warnings);
        for checkout in &checkouts.trees {
            if lock.is_exclusive() {
                remove_index_lock(&checkout.repository);
            }
            let caught_up = checkout.catch_up(&of_branch, None, state, watch);
            healed.records.extend(caught_up.added);
            healed.warnings.extend(caught_up.warnings);
            unfinished.extend(caught_up.unfinished);
        }
    }
    let unfinished: Vec<Pending> = unfinished.into_iter().collect();
    state.settle(&unfinished)?;
    Ok((healed, unfinished))
}

/// The operation under way on a branch in whichever working tree, if it would not bear a new commit there.
pub(crate) fn activity_on(repository: &Repository, reference: &str) -> Result<Option<Activity>, HistoryError> {
    for checkout in Checkouts::all(repository)?.trees {
        let activity = Activity::detect(&checkout.repository).filter(|activity| activity.holds_branch());
        let Some(activity) = activity else { continue };
        let rebased = || {
            ["rebase-merge/head-name", "rebase-apply/head-name"].iter().any(|name| {
                let text = fs::read_to_string(checkout.repository.path().join(name));
                text.is_ok_and(|text| text.trim_end() == reference)
            })
        };
        if head_branch(&checkout.repository)?.as_deref() == Some(reference) || rebased() {
            return Ok(Some(activity));
        }
    }
    Ok(None)
}

pub(crate) struct Checkouts {
    pub(crate) trees: Vec<Checkout>,
    /// Working trees that could not be looked at.
    pub(crate) warnings: Vec<String>,
}

pub(crate) struct Checkout {
    pub(crate) repository: Repository,
    pub(crate) folder: PathBuf,
}

/// A record that a working tree lacks.
#[derive(Clone, Copy)]
struct MissingFile<'a> {
    record: &'a Pending,
    blob: Oid,
    /// Whether only the file is lacking.
    in_index: bool,
}

/// What became of the records in one working tree.
#[derive(Default)]
pub(crate) struct CaughtUp {
    pub(crate) added: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) unfinished: Vec<Pending>,
}

impl Checkouts {
    pub(crate) fn on_branch(repository: &Repository, reference: &str) -> Result<Checkouts, HistoryError> {
        let mut checkouts = Checkouts::all(repository)?;
        let on_branch =
            |checkout: &Checkout| head_branch(&checkout.repository).ok().flatten().as_deref() == Some(reference);
        checkouts.trees.retain(on_branch);
        Ok(checkouts)
    }

    /// Lets every working tree catch up with records, where `locks` are those of the indexes, as far as they could be
    /// taken; gives what is still to be caught up with.
    pub(crate) fn catch_up(
        &self,
        mut locks: Vec<Option<IndexLock>>,
        records: &[Pending],
        state: &StateFolder,
        warnings: &mut Vec<String>,
        watch: Watch<'_>,
    ) -> Vec<Pending> {
        locks.resize_with(self.trees.len(), || None);
        let mut unfinished = Vec::new();
        for (checkout, lock) in self.trees.iter().zip(locks) {
            let caught_up = checkout.catch_up(records, lock, state, watch);
            warnings.extend(caught_up.warnings);
            unfinished.extend(caught_up.unfinished);
        }
        unfinished
    }

    /// The main working tree and the linked ones.
    fn all(repository: &Repository) -> Result<Checkouts, HistoryError> {
        let main = Repository::open(repository.commondir()).map_err(failed("open the main repository"))?;
        let mut checkouts = Checkouts { trees: Vec::new(), warnings: Vec::new() };
        let names = main.worktrees().map_err(failed("list the linked working trees"))?;
        for name in names.iter().filter_map(|name| name.ok().flatten()) {
            let opened = main.find_worktree(name).and_then(|worktree| Repository::open_from_worktree(&worktree));
            match opened {
                Ok(linked) => checkouts.trees.extend(Checkout::open(&linked)),
                // One whose folder is gone, as after deleting it by hand, has nothing to catch up with.
                Err(error) if error.code() == git2::ErrorCode::NotFound => {}
                Err(error) => checkouts.warnings.push(format!(
                    "the linked working tree `{name}` was not looked at: {}; if it is on the branch of the history, \
                     run `git checkout HEAD -- history` there",
                    error.message()
                )),
            }
        }
        // A git folder that was made apart from its working tree does not know where that is; but we were opened there.
        let own = if repository.is_worktree() { None } else { Checkout::open(repository) };
        checkouts.trees.extend(own.or_else(|| Checkout::open(&main)));
        Ok(checkouts)
    }
}

impl Checkout {
    /// The working tree of a repository, if the way leads from there back to the same repository.
    fn open(repository: &Repository) -> Option<Checkout> {
        let folder = repository.workdir()?.to_owned();
        let found = Repository::open(&folder).ok()?;
        (found.path() == repository.path()).then_some(Checkout { repository: found, folder })
    }

    /// Locks the index, so that `git commit` cannot begin here; absent where it stays locked by others, or cannot be.
    pub(crate) fn lock(&self, state: &StateFolder, watch: Watch<'_>) -> Option<IndexLock> {
        let lock = IndexLock::take(&self.repository, state).ok()?;
        watch(Step::IndexLocked);
        Some(lock)
    }

    /// Gives the working tree the files and index entries of those records that its HEAD has and its index has not,
    /// and the files of those known to have had no place; lets go of the lock of the index, which is taken where it is
    /// needed and absent. Another record that the index has came there by an append that placed the file before, or by
    /// git: what became of the file since is the user's business.
    pub(crate) fn catch_up(
        &self,
        records: &[Pending],
        lock: Option<IndexLock>,
        state: &StateFolder,
        watch: Watch<'_>,
    ) -> CaughtUp {
        let mut caught_up = CaughtUp::default();
        let in_head = self.in_head(records).unwrap_or_else(|error| {
            caught_up.warn(&self.folder, &error.to_string());
            Vec::new()
        });
        let lock = match lock {
            None if in_head.is_empty() => return caught_up,
            None => IndexLock::take(&self.repository, state).inspect(|_| watch(Step::IndexLocked)),
            Some(lock) => Ok(lock),
        };
        let later = |caught_up: &mut CaughtUp| caught_up.unfinished.extend_from_slice(records);
        let lock = match lock {
            Ok(lock) => lock,
            Err(error) => {
                caught_up.warn(&self.folder, &error.to_string());
                later(&mut caught_up);
                return caught_up;
            }
        };
        if !in_head.is_empty()
            && let Err(error) = self.add(&in_head, &mut caught_up, state, watch)
        {
            caught_up.warn(&self.folder, &error.to_string());
            if error.passes() {
                later(&mut caught_up);
            }
        }
        if let Err(error) = lock.release() {
            // As long as the journal names records, the lock is removed by its mark.
            caught_up.warn(&self.folder, &error.to_string());
            later(&mut caught_up);
        }
        caught_up
    }

    fn add(
        &self,
        in_head: &[(&Pending, Oid)],
        caught_up: &mut CaughtUp,
        state: &StateFolder,
        watch: Watch<'_>,
    ) -> Result<(), IndexError> {
        let mut draft = Draft::read(&self.repository, state)?;
        let lacking = in_head.iter().filter_map(|&(record, blob)| {
            let in_index = draft.has(Path::new(&record.path), blob);
            (!in_index || record.unplaced).then_some(MissingFile { record, blob, in_index })
        });
        let lacking: Vec<MissingFile<'_>> = lacking.collect();
        let wanted = self.place_all(&lacking, caught_up, state, watch);
        if wanted.is_empty() {
            return Ok(());
        }
        let paths = wanted.iter().map(|wanted| wanted.record.path.as_str());
        if let Some(warning) = index::warning(&self.repository, draft.index(), paths) {
            caught_up.warn(&self.folder, &warning);
        }
        let mut warnings = draft.add(&wanted)?;
        warnings.extend(draft.write(watch)?);
        warnings.iter().for_each(|warning| caught_up.warn(&self.folder, warning));
        caught_up.added.extend(wanted.iter().map(|wanted| wanted.record.path.clone()));
        Ok(())
    }

    /// Brings the files to their places, and gives what the index should then have.
    fn place_all<'a>(
        &self,
        lacking: &[MissingFile<'a>],
        caught_up: &mut CaughtUp,
        state: &StateFolder,
        watch: Watch<'_>,
    ) -> Vec<Wanted<'a>> {
        let mut wanted = Vec::new();
        for &MissingFile { record, blob, in_index } in lacking {
            match self.place(&record.path, blob, state) {
                Ok(None) => watch(Step::FilePlaced),
                Ok(Some(obstacle)) => caught_up.warn(&self.folder, &obstacle),
                Err(error) => {
                    caught_up.warn(&self.folder, &error.to_string());
                    caught_up.unfinished.push(Pending { unplaced: true, ..record.clone() });
                }
            }
            if in_index {
                continue;
            }
            let placed = fs::symlink_metadata(self.folder.join(&record.path)).ok();
            wanted.push(Wanted { record, blob, stat: placed.filter(|stat| stat.is_file()) });
        }
        let places = wanted.iter().map(|wanted| self.folder.join(&wanted.record.path));
        let folders: BTreeSet<PathBuf> = places.filter_map(|place| place.parent().map(PathBuf::from)).collect();
        // A place that is not there was warned of.
        for error in folders.iter().filter(|folder| folder.is_dir()).filter_map(|folder| sync_folder(folder).err()) {
            caught_up.warn(&self.folder, &format!("{error}; the new files may not outlast a power cut"));
        }
        wanted
    }

    fn in_head<'a>(&self, records: &'a [Pending]) -> Result<Vec<(&'a Pending, Oid)>, HistoryError> {
        let Some(branch) = head_branch(&self.repository)? else { return Ok(Vec::new()) };
        let Ok(tree) = self.repository.head().and_then(|head| head.peel_to_tree()) else { return Ok(Vec::new()) };
        let mut folders = TreeLookup::new(&self.repository, tree);
        let mut found = Vec::new();
        for record in records.iter().filter(|record| record.reference == branch) {
            let blob = Oid::from_str(&record.blob).map_err(failed("read the journal"))?;
            if folders.get(&record.path).is_ok_and(|held| held.is_some_and(|held| held.id == blob)) {
                found.push((record, blob));
            }
        }
        Ok(found)
    }

    /// Takes files out of the index and the working tree, where both have that content: a change of the user's stays. The
    /// index is locked, or is locked here. Gives what was not done.
    pub(crate) fn remove(
        &self,
        files: &[(PathBuf, Oid)],
        lock: Option<&IndexLock>,
        state: &StateFolder,
    ) -> Vec<String> {
        if files.is_empty() {
            return Vec::new();
        }
        let removed = match lock {
            Some(lock) => lock.remove(&self.repository, files, state),
            None => IndexLock::take(&self.repository, state).and_then(|lock| {
                let removed = lock.remove(&self.repository, files, state);
                // A lock that cannot be released is found by its mark later.
                let _ = lock.release();
                removed
            }),
        };
        let in_tree = |what: String| format!("in the working tree `{}`: {what}", self.folder.display());
        if let Err(error) = removed {
            return vec![in_tree(error.to_string())];
        }
        let mut warnings = Vec::new();
        for (path, blob) in files {
            let place = self.folder.join(path);
            let Ok(metadata) = fs::symlink_metadata(&place) else { continue };
            let content = match metadata.is_symlink() {
                true => fs::read_link(&place).and_then(|link| hash(link.as_os_str().as_encoded_bytes())),
                false => Oid::hash_file(ObjectType::Blob, &place).map_err(io::Error::other),
            };
            let removed = match content {
                Ok(content) if content == *blob => fs::remove_file(&place).map_err(|error| error.to_string()),
                _ => Err("it has a content of its own".to_owned()),
            };
            match removed {
                Ok(()) => remove_empty_folders(&self.folder, path),
                Err(why) => warnings.push(in_tree(format!("`{}` was left there: {why}", path.display()))),
            }
        }
        warnings
    }

    /// Brings back the files that the index has and the working tree lacks, unless a sparse checkout keeps them out; gives
    /// their paths, and what went wrong.
    pub(crate) fn bring_back(&self, records: &[Pending], state: &StateFolder) -> (Vec<String>, Vec<String>) {
        let (mut placed, mut warnings) = (Vec::new(), Vec::new());
        let sparse_paths = sparse_paths(&self.repository);
        for record in records {
            let is_there = fs::symlink_metadata(self.folder.join(&record.path)).is_ok();
            if is_there || sparse_paths.contains(record.path.as_bytes()) {
                continue;
            }
            let Ok(blob) = Oid::from_str(&record.blob) else { continue };
            match self.place(&record.path, blob, state) {
                Ok(None) => placed.push(record.path.clone()),
                Ok(Some(obstacle)) => warnings.push(obstacle),
                Err(error) => warnings.push(error.to_string()),
            }
        }
        (placed, warnings)
    }

    /// Brings the file to its place, unless something is there; says what stands in the way.
    pub(crate) fn place(&self, path: &str, blob: Oid, state: &StateFolder) -> Result<Option<String>, HistoryError> {
        let mut folder = self.folder.clone();
        let (parents, _) = path.rsplit_once('/').unwrap_or(("", path));
        for part in parents.split('/') {
            folder.push(part);
            match fs::symlink_metadata(&folder) {
                Ok(found) if found.is_dir() => {}
                // Not even a link to a folder: what lies behind it may be anywhere.
                Ok(_) => return Ok(Some(format!("`{path}` was not written, because `{part}` is no folder there"))),
                Err(_) => match fs::create_dir(&folder) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(HistoryError::io("create the folder", &folder)(error));
                    }
                    _ => {}
                },
            }
        }
        let place = self.folder.join(path);
        if fs::symlink_metadata(&place).is_ok() {
            let same = Oid::hash_file(git2::ObjectType::Blob, &place).is_ok_and(|found| found == blob);
            let obstacle =
                || format!("`{path}` was not written, because a different file lies there; it was left alone");
            return Ok((!same).then(obstacle));
        }
        let staged = state.staged_path(&blob.to_string());
        if !staged.exists() {
            let content = self.repository.find_blob(blob).map_err(failed("read a record"))?;
            state.stage(&blob.to_string(), content.content())?;
        }
        move_to(&staged, &place).map_err(HistoryError::io("write", &place))?;
        Ok(None)
    }
}

fn hash(bytes: &[u8]) -> io::Result<Oid> {
    Oid::hash_object(ObjectType::Blob, bytes).map_err(io::Error::other)
}

/// Removes the folders of a file that have become empty; git would not have them either.
fn remove_empty_folders(root: &Path, path: &Path) {
    for inside in path.ancestors().skip(1).filter(|inside| !inside.as_os_str().is_empty()) {
        if fs::remove_dir(root.join(inside)).is_err() {
            return;
        }
    }
}

impl CaughtUp {
    fn warn(&mut self, folder: &Path, text: &str) {
        self.warnings.push(format!("in the working tree `{}`: {text}", folder.display()));
    }
}

/// Moves a staged file to its place; across file systems by way of a copy beside the place, whose name is fixed so
/// that one which a killed process left is used up by the next try.
fn move_to(staged: &Path, place: &Path) -> io::Result<()> {
    match rename_new(staged, place) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        done => return done,
    }
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let copy = place.with_file_name(format!(".{name}.part"));
    io::copy(&mut fs::File::open(staged)?, &mut fs::File::create(&copy)?)?;
    fs::File::open(&copy)?.sync_all()?;
    rename_new(&copy, place)
}

/// How long an empty lock of a ref is watched. Git writes into its own at once; libgit2 keeps one empty for the time
/// of a few system calls.
const WATCH: Duration = Duration::from_millis(300);

/// Removes the lock of the index if it bears our mark. The caller holds our own lock, so no process of ours is alive.
fn remove_index_lock(repository: &Repository) {
    let lock = index::lock_path(repository);
    if fs::read(&lock).is_ok_and(|content| content == index::MARK) {
        let _ = fs::remove_file(lock);
    }
}

/// Removes the lock of a branch that a dead process of ours left when it was about to move the branch to these records.
///
/// It holds the commit that has them, or nothing; one that stays empty for a while has no owner.
fn remove_ref_lock(repository: &Repository, reference: &str, records: &[Pending]) {
    let lock = repository.commondir().join(format!("{reference}.lock"));
    let Ok(content) = fs::read_to_string(&lock) else { return };
    let is_ours = match content.trim_end() {
        "" => is_stale(&lock, |metadata| metadata.len() == 0),
        commit => has_records(repository, commit, records),
    };
    if is_ours {
        let _ = fs::remove_file(lock);
    }
}

/// Removes the lock of a ref that only a sync writes, if it does not change while we watch; the caller holds the lock
/// of syncing. The git of a sync that was killed may live on, but holds a ref for moments.
pub(crate) fn remove_sync_ref_lock(repository: &Repository, reference: &str) {
    let lock = repository.commondir().join(format!("{reference}.lock"));
    if lock.exists() && is_stale(&lock, |_| true) {
        let _ = fs::remove_file(lock);
    }
}

/// Whether a lock fits and does not change for a while.
fn is_stale(lock: &Path, fits: impl Fn(&Metadata) -> bool) -> bool {
    let current = || fs::metadata(lock).ok().filter(&fits).as_ref().map(identity);
    let before = current();
    thread::sleep(WATCH);
    before.is_some() && before == current()
}

fn has_records(repository: &Repository, commit: &str, records: &[Pending]) -> bool {
    let tree = Oid::from_str(commit).and_then(|id| repository.find_commit(id)).and_then(|commit| commit.tree());
    let Ok(tree) = tree else { return false };
    let has = |record: &Pending| {
        let entry = tree.get_path(Path::new(&record.path));
        entry.is_ok_and(|entry| entry.id().to_string() == record.blob)
    };
    !records.is_empty() && records.iter().all(has)
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, i64, i64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> Option<std::time::SystemTime> {
    metadata.modified().ok()
}

#[cfg(unix)]
pub(crate) fn native(path: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(path)))
}

#[cfg(not(unix))]
pub(crate) fn native(path: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(path).ok().map(PathBuf::from)
}
