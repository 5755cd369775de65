//! Working trees on the branch of the history, and how they catch up with it.
//!
//! When the branch moves under a working tree, `git status` would call the new record deleted, and the next commit there would
//! delete it. So each working tree on the branch gets the file and its index entry, where the commit that is checked out has
//! them. No file of the user is overwritten, removed or unstaged.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::Duration;

use git2::{ObjectType, Oid, Repository, RepositoryState};

use crate::error::{HistoryError, failed};
use crate::index::{self, Draft, IndexError, IndexLock, Wanted, sparse_paths};
use crate::objects::{self, TreeItem, TreeLookup};
use crate::repository::head_branch;
use crate::state::{Lock, Pending, StateFolder, Step, Watch, rename_new, sync_folder};

/// What became of records in the working trees of their branch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CaughtUp {
    /// The records that a working tree has caught up with, by path.
    pub(crate) added: Vec<String>,
    /// One sentence each.
    pub(crate) warnings: Vec<String>,
    /// The records that a working tree still lacks.
    pub(crate) unfinished: Vec<Pending>,
}

/// Lets working trees catch up with records whose append was cut short after the branch had moved; gives warnings. Does nothing
/// where no append was cut short, and while another one is under way.
pub(crate) fn heal(repository: &Repository) -> Result<Vec<String>, HistoryError> {
    let state = StateFolder::new(repository.commondir());
    match if state.has_journal() { state.lock_briefly()? } else { None } {
        Some(lock) => heal_locked(repository, &state, &lock, &mut |_| {}).map(|healed| healed.warnings),
        None => Ok(Vec::new()),
    }
}

fn heal_locked(
    repository: &Repository,
    state: &StateFolder,
    lock: &Lock,
    watch: Watch<'_>,
) -> Result<CaughtUp, HistoryError> {
    let preserved = state.preserve_newer_journal()?;
    let pending = state.read_journal();
    if lock.is_exclusive() {
        state.sweep()?;
    }
    let mut healed = CaughtUp::default();
    healed.warnings.extend(preserved.map(|path| {
        format!(
            "a newer sprag was cut short here, and what it left is kept as `{}`; if `git status` misses files of the \
             history, run `git restore history`",
            path.display()
        )
    }));
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
            healed.extend(checkout.catch_up(&of_branch, None, state, watch));
        }
    }
    healed.unfinished.sort();
    healed.unfinished.dedup();
    state.settle(&healed.unfinished)?;
    Ok(healed)
}

/// A branch that is about to move, under the lock of the state folder.
///
/// In order: [`BranchMove::journal`], [`BranchMove::lock_indexes`], the ref, and [`BranchMove::finish`]. If this process dies
/// while the ref moves, the journal shows that the lock of the ref is ours. The indexes of the working trees are locked across
/// the move: between the ref and the index entry, a `git commit` would take the record out of the branch again.
pub(crate) struct BranchMove {
    pub(crate) state: StateFolder,
    _lock: Lock,
    pub(crate) trees: Vec<Checkout>,
    /// Locks of the indexes of the working trees; absent where other processes hold them.
    locks: Vec<Option<IndexLock>>,
    /// Records of earlier appends that working trees still lack. They stay in the journal.
    unfinished: Vec<Pending>,
    pub(crate) warnings: Vec<String>,
}

impl BranchMove {
    pub(crate) fn begin(
        repository: &Repository,
        reference: &str,
        watch: Watch<'_>,
    ) -> Result<BranchMove, HistoryError> {
        let state = StateFolder::new(repository.commondir());
        let lock = state.lock()?;
        let CaughtUp { mut warnings, unfinished, .. } = heal_locked(repository, &state, &lock, watch)?;
        watch(Step::Locked);
        let checkouts = Checkouts::on_branch(repository, reference)?;
        warnings.extend(checkouts.warnings);
        let trees = checkouts.trees;
        Ok(BranchMove { state, _lock: lock, trees, locks: Vec::new(), unfinished, warnings })
    }

    pub(crate) fn journal(&self, records: &[Pending]) -> Result<(), HistoryError> {
        self.state.write_journal(&[&self.unfinished, records].concat())
    }

    pub(crate) fn lock_indexes(&mut self, watch: Watch<'_>) {
        if self.locks.is_empty() {
            let take = |tree: &Checkout| IndexLock::take(&tree.repository, &self.state).ok();
            self.locks = self.trees.iter().map(|tree| take(tree).inspect(|_| watch(Step::IndexLocked))).collect();
        }
    }

    pub(crate) fn are_all_locked(&self) -> bool {
        self.locks.iter().all(Option::is_some)
    }

    /// Removes the locks of the indexes, up to the first that cannot be removed.
    pub(crate) fn release(&mut self) -> Result<(), HistoryError> {
        while let Some(lock) = self.locks.last() {
            lock.as_ref().map_or(Ok(()), IndexLock::release)?;
            self.locks.pop();
        }
        Ok(())
    }

    /// Ends without having moved the branch. A lock that stays is removed by its mark, as long as there is a journal.
    pub(crate) fn abandon(&mut self) {
        if self.release().is_ok() {
            let _ = self.state.settle(&self.unfinished);
        }
    }

    /// Lets the working trees catch up with the branch, which has moved. Gives how many records each of them got.
    pub(crate) fn catch_up(&mut self, records: &[Pending], watch: Watch<'_>) -> Vec<usize> {
        let mut counts = Vec::new();
        let locks = std::mem::take(&mut self.locks).into_iter().chain(std::iter::repeat_with(|| None));
        for (tree, lock) in self.trees.iter().zip(locks) {
            let caught_up = tree.catch_up(records, lock, &self.state, watch);
            counts.push(caught_up.added.len());
            self.warnings.extend(caught_up.warnings);
            self.unfinished.extend(caught_up.unfinished);
        }
        watch(Step::CaughtUp);
        counts
    }

    /// Settles the state folder. A failure is a warning, as the branch has moved already.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.unfinished.sort();
        self.unfinished.dedup();
        self.warnings.extend(self.state.settle(&self.unfinished).err().map(|error| error.to_string()));
        self.warnings
    }
}

/// The operation of git under way in a working tree that a new commit on its branch would disturb. A bisection moves no
/// branch.
pub(crate) fn activity(repository: &Repository) -> Option<&'static str> {
    use RepositoryState::*;
    match repository.state() {
        Clean | Bisect => None,
        Merge => Some("merge"),
        Revert | RevertSequence => Some("revert"),
        CherryPick | CherryPickSequence => Some("cherry-pick"),
        Rebase | RebaseInteractive | RebaseMerge => Some("rebase"),
        ApplyMailbox | ApplyMailboxOrRebase => Some("mailbox application"),
    }
}

/// Likewise on a branch, in any of its working trees.
pub(crate) fn activity_on(repository: &Repository, reference: &str) -> Result<Option<&'static str>, HistoryError> {
    for checkout in Checkouts::all(repository)?.trees {
        let Some(activity) = activity(&checkout.repository) else { continue };
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
    pub(crate) warnings: Vec<String>,
}

pub(crate) struct Checkout {
    pub(crate) repository: Repository,
    pub(crate) folder: PathBuf,
}

/// A file that the branch lost, by the text of its path.
struct Leaving<'a> {
    path: &'a str,
    blob: Oid,
    /// What HEAD has of that content there.
    item: Option<TreeItem>,
}

type InHead<'a> = (Vec<(&'a Pending, Oid)>, Vec<Leaving<'a>>);

impl Checkouts {
    pub(crate) fn on_branch(repository: &Repository, reference: &str) -> Result<Checkouts, HistoryError> {
        let mut checkouts = Checkouts::all(repository)?;
        let on_branch =
            |checkout: &Checkout| head_branch(&checkout.repository).ok().flatten().as_deref() == Some(reference);
        checkouts.trees.retain(on_branch);
        Ok(checkouts)
    }

    fn all(repository: &Repository) -> Result<Checkouts, HistoryError> {
        let main = Repository::open(repository.commondir()).map_err(failed("open the main repository"))?;
        let mut checkouts = Checkouts { trees: Vec::new(), warnings: Vec::new() };
        let names = main.worktrees().map_err(failed("list the linked working trees"))?;
        for name in names.iter().filter_map(|name| name.ok().flatten()) {
            let opened = main.find_worktree(name).and_then(|worktree| Repository::open_from_worktree(&worktree));
            match opened {
                Ok(linked) => checkouts.trees.extend(Checkout::open(&linked)),
                // Its folder was deleted.
                Err(error) if error.code() == git2::ErrorCode::NotFound => {}
                Err(error) => checkouts.warnings.push(format!(
                    "the linked working tree `{name}` was not checked: {}; if it is on the branch of the history, \
                     run `git checkout HEAD -- history` there",
                    error.message()
                )),
            }
        }
        // A git folder outside its working tree does not know where that is, but this repository was opened there.
        let own = if repository.is_worktree() { None } else { Checkout::open(repository) };
        checkouts.trees.extend(own.or_else(|| Checkout::open(&main)));
        Ok(checkouts)
    }
}

impl Checkout {
    /// The working tree of a repository, if git opens the same repository from there.
    fn open(repository: &Repository) -> Option<Checkout> {
        let folder = repository.workdir()?.to_owned();
        let opened = Repository::open(&folder).ok()?;
        (opened.path() == repository.path()).then_some(Checkout { repository: opened, folder })
    }

    /// Gives the working tree the files and index entries of those records that its HEAD has and its index has not, and the
    /// files that could not be written before; takes away those that its HEAD lost. The lock of the index, taken here where it is
    /// absent, is released. Whatever became of the file of another record that the index has is the change of the user.
    fn catch_up(
        &self,
        records: &[Pending],
        lock: Option<IndexLock>,
        state: &StateFolder,
        watch: Watch<'_>,
    ) -> CaughtUp {
        let mut caught_up = CaughtUp::default();
        let (in_head, leaving) = self.in_head(records).unwrap_or_else(|error| {
            caught_up.warn(&self.folder, &error.to_string());
            Default::default()
        });
        if lock.is_none() && in_head.is_empty() && leaving.is_empty() {
            return caught_up;
        }
        let take = || IndexLock::take(&self.repository, state).inspect(|_| watch(Step::IndexLocked));
        let lock = match lock.map_or_else(take, Ok) {
            Ok(lock) => lock,
            Err(error) => {
                caught_up.warn(&self.folder, &error.to_string());
                caught_up.unfinished = records.to_vec();
                return caught_up;
            }
        };
        let removed = self.remove(&leaving, &mut caught_up, state, watch);
        if let Err(error) = removed.and_then(|()| self.add(&in_head, &mut caught_up, state, watch)) {
            caught_up.warn(&self.folder, &error.to_string());
            if error.passes() {
                caught_up.unfinished.extend_from_slice(records);
            }
        }
        if let Err(error) = lock.release() {
            // As long as the journal names records, the lock is removed by its mark.
            caught_up.warn(&self.folder, &error.to_string());
            caught_up.unfinished.extend_from_slice(records);
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
        if in_head.is_empty() {
            return Ok(());
        }
        let mut draft = Draft::read(&self.repository, state)?;
        let (mut wanted, mut folders) = (Vec::new(), BTreeSet::new());
        for &(record, blob) in in_head {
            let in_index = draft.entry(&record.path, blob).is_some();
            if in_index && !record.unplaced {
                continue;
            }
            match self.place(&record.path, blob, state) {
                Ok(None) => watch(Step::FilePlaced),
                Ok(Some(obstacle)) => caught_up.warn(&self.folder, &obstacle),
                Err(error) => {
                    caught_up.warn(&self.folder, &error.to_string());
                    caught_up.unfinished.push(Pending { unplaced: true, ..record.clone() });
                }
            }
            if !in_index {
                let place = self.folder.join(&record.path);
                let stat = fs::symlink_metadata(&place).ok().filter(Metadata::is_file);
                wanted.push(Wanted { path: &record.path, blob, stat });
                folders.extend(place.parent().map(PathBuf::from));
            }
        }
        // The warning about a folder that is absent was given above.
        for error in folders.iter().filter(|folder| folder.is_dir()).filter_map(|folder| sync_folder(folder).err()) {
            caught_up.warn(&self.folder, &format!("{error}; a power cut may lose the new files"));
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let paths = wanted.iter().map(|wanted| wanted.path);
        let mut warnings = Vec::from_iter(index::warning(&self.repository, draft.index(), paths));
        warnings.extend(draft.add(&wanted)?);
        warnings.extend(draft.write(watch)?);
        warnings.iter().for_each(|warning| caught_up.warn(&self.folder, warning));
        caught_up.added.extend(wanted.iter().map(|wanted| wanted.path.to_owned()));
        Ok(())
    }

    /// The records that HEAD has, and the files that leave.
    fn in_head<'a>(&self, records: &'a [Pending]) -> Result<InHead<'a>, HistoryError> {
        let (mut in_head, mut leaving) = (Vec::new(), Vec::new());
        let tree = self.repository.head().and_then(|head| head.peel_to_tree());
        let (Some(branch), Ok(tree)) = (head_branch(&self.repository)?, tree) else { return Ok((in_head, leaving)) };
        let mut folders = TreeLookup::new(&self.repository, tree);
        let put = put(records);
        for record in records.iter().filter(|record| record.reference == branch) {
            let blob = Oid::from_str(&record.blob).map_err(failed("read the journal"))?;
            let Ok(item) = folders.get(&record.path) else { continue };
            match item.filter(|item| item.id == blob) {
                // What HEAD still has leaves only to come back with another mode.
                Some(_) if record.removed && !put.contains(&(&*record.path, &*record.blob)) => {}
                item if record.removed => leaving.push(Leaving { path: &record.path, blob, item }),
                Some(_) => in_head.push((record, blob)),
                None => {}
            }
        }
        Ok((in_head, leaving))
    }

    /// Removes files from the working tree and the index, where both have that content and HEAD has not: changes of the user stay.
    /// The index comes last, as its entry shows what is left to do.
    fn remove(
        &self,
        files: &[Leaving<'_>],
        caught_up: &mut CaughtUp,
        state: &StateFolder,
        watch: Watch<'_>,
    ) -> Result<(), IndexError> {
        if files.is_empty() {
            return Ok(());
        }
        let mut draft = Draft::read(&self.repository, state)?;
        let mut listed = Vec::new();
        for Leaving { path, blob, item } in files {
            let entry = draft.entry(path, *blob);
            let is_text = !path.contains(char::REPLACEMENT_CHARACTER);
            let item = if is_text { *item } else { entry.as_ref().and_then(|entry| self.at_head(&entry.path, *blob)) };
            if item.is_some_and(|item| entry.as_ref().is_none_or(|entry| entry.mode == item.mode as u32)) {
                continue;
            }
            let path = entry.as_ref().map_or_else(|| Some(PathBuf::from(path)), |entry| native(&entry.path));
            let is_inside = |path: &PathBuf| path.components().all(|part| matches!(part, Component::Normal(_)));
            let Some(path) = path.filter(is_inside) else { continue };
            match self.remove_file(&path, *blob) {
                Err(why) if entry.is_some() => {
                    caught_up.warn(&self.folder, &format!("`{}` was left there: {why}", path.display()));
                }
                // Where the index has gone on, so has the file.
                _ => {}
            }
            listed.extend(entry.map(|_| path));
        }
        watch(Step::FilesRemoved);
        if listed.is_empty() {
            return Ok(());
        }
        listed.iter().try_for_each(|path| draft.remove(path))?;
        draft.write(watch).map(|warning| warning.iter().for_each(|warning| caught_up.warn(&self.folder, warning)))
    }

    fn at_head(&self, path: &[u8], blob: Oid) -> Option<TreeItem> {
        let tree = self.repository.head().and_then(|head| head.peel_to_tree()).ok()?;
        let item = TreeItem::new(&tree.get_path(&native(path)?).ok()?);
        Some(item).filter(|item| item.id == blob)
    }

    fn remove_file(&self, path: &Path, blob: Oid) -> Result<(), String> {
        let place = self.folder.join(path);
        let Ok(metadata) = fs::symlink_metadata(&place) else { return Ok(()) };
        let content = match metadata.is_symlink() {
            true => fs::read_link(&place)
                .ok()
                .and_then(|link| Oid::hash_object(ObjectType::Blob, link.as_os_str().as_encoded_bytes()).ok()),
            false => Oid::hash_file(ObjectType::Blob, &place).ok(),
        };
        match content == Some(blob) {
            true if objects::check(&self.repository, blob).and_then(|()| self.repository.find_blob(blob)).is_err() => {
                return Err("no other copy of its content can be read here".to_owned());
            }
            true => fs::remove_file(&place).map_err(|error| error.to_string())?,
            // An empty folder is all that a checkout makes of a submodule.
            false => fs::remove_dir(&place).map_err(|_| "it has a content of its own".to_owned())?,
        }
        remove_empty_folders(&self.folder, path);
        Ok(())
    }

    /// Writes the files that the index has and the working tree lacks, unless a sparse checkout leaves them out; gives their
    /// paths and warnings.
    pub(crate) fn bring_back(&self, records: &[Pending], state: &StateFolder) -> (Vec<String>, Vec<String>) {
        let (mut placed, mut warnings) = (Vec::new(), Vec::new());
        let sparse_paths = sparse_paths(&self.repository);
        for record in records.iter().filter(|record| !record.removed) {
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

    /// Writes the file unless another one is there; gives the obstacle.
    fn place(&self, path: &str, blob: Oid, state: &StateFolder) -> Result<Option<String>, HistoryError> {
        let mut folder = self.folder.clone();
        let (parents, _) = path.rsplit_once('/').unwrap_or(("", path));
        for part in parents.split('/') {
            folder.push(part);
            match fs::symlink_metadata(&folder) {
                Ok(metadata) if metadata.is_dir() => {}
                // A link to a folder may lead anywhere.
                Ok(_) => return Ok(Some(format!("`{path}` was not written, because `{part}` is not a folder there"))),
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
            let same = Oid::hash_file(ObjectType::Blob, &place).is_ok_and(|content| content == blob);
            let obstacle =
                || format!("`{path}` was not written, because a different file lies there; it was left alone");
            return Ok((!same).then(obstacle));
        }
        let staged = state.staged_path(&blob.to_string());
        if !staged.exists() {
            let content = self.repository.find_blob(blob).map_err(failed("read a record"))?;
            state.stage_all(1, [Ok((blob.to_string(), content.content().into()))])?;
        }
        move_to(&staged, &place).map_err(HistoryError::io("write", &place))?;
        Ok(None)
    }
}

fn remove_empty_folders(root: &Path, path: &Path) {
    for inside in path.ancestors().skip(1).filter(|inside| !inside.as_os_str().is_empty()) {
        if fs::remove_dir(root.join(inside)).is_err() {
            return;
        }
    }
}

impl CaughtUp {
    fn extend(&mut self, more: CaughtUp) {
        self.added.extend(more.added);
        self.warnings.extend(more.warnings);
        self.unfinished.extend(more.unfinished);
    }

    fn warn(&mut self, folder: &Path, text: &str) {
        self.warnings.push(format!("in the working tree `{}`: {text}", folder.display()));
    }
}

/// Moves a staged file to its place. Across file systems it is copied next to the place first, under a fixed name, so that the
/// next try overwrites a copy that a killed process left.
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

/// How long a lock of a ref is watched. Git and libgit2 leave one empty for a few system calls at most.
const WATCH: Duration = Duration::from_millis(300);

/// Removes the lock of the index if it has our mark. The caller holds the lock of the state folder, so its owner is dead.
fn remove_index_lock(repository: &Repository) {
    let lock = index::lock_path(repository);
    if fs::read(&lock).is_ok_and(|content| content == index::MARK) {
        let _ = fs::remove_file(lock);
    }
}

/// Removes the lock of a branch that a dead process of ours left when it moved the branch to these records. It contains the
/// commit that has them, or nothing; one that stays empty for a while has no owner.
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

/// Removes the lock of a ref that only a sync writes, unless it changes while we watch: the git of a killed sync may live on for
/// moments. The caller holds the lock of syncing.
pub(crate) fn remove_sync_ref_lock(repository: &Repository, reference: &str) {
    let lock = repository.commondir().join(format!("{reference}.lock"));
    if lock.exists() && is_stale(&lock, |_| true) {
        let _ = fs::remove_file(lock);
    }
}

fn is_stale(lock: &Path, fits: impl Fn(&Metadata) -> bool) -> bool {
    let current = || fs::metadata(lock).ok().filter(&fits).as_ref().map(identity);
    let before = current();
    thread::sleep(WATCH);
    before.is_some() && before == current()
}

/// Path and content of what a change puts.
fn put(records: &[Pending]) -> HashSet<(&str, &str)> {
    records.iter().filter(|record| !record.removed).map(|record| (&*record.path, &*record.blob)).collect()
}

fn has_records(repository: &Repository, commit: &str, records: &[Pending]) -> bool {
    let tree = Oid::from_str(commit).and_then(|id| repository.find_commit(id)).and_then(|commit| commit.tree());
    let Ok(tree) = tree else { return false };
    let put = put(records);
    let has = |record: &Pending| {
        let entry = tree.get_path(Path::new(&record.path));
        let is_gone = record.removed && !put.contains(&(&*record.path, &*record.blob));
        entry.is_ok_and(|entry| entry.id().to_string() == record.blob) != is_gone
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
