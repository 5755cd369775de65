//! Fetch, unite, push and follow, until no other process is faster.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Oid, Repository, Tree};

use crate::append::message;
use crate::checkout::{BranchMove, Checkouts, remove_sync_ref_lock};
use crate::error::{HistoryError, failed};
use crate::inherited;
use crate::layout::{FOLDER, PLAIN, check_path};
use crate::listing::absent_notes;
use crate::objects::{self, Edit, Edits, Promises, Swapped, TreeItem, compare_and_swap, edited};
use crate::repository::{Store, short_name, signature_at};
use crate::state::{Lock, Pending, StateFolder};
use crate::sync::compare::{Difference, TreePath, compare, is_broken, meeting, outside, tree_of, user_commits};
use crate::sync::outcome::{AfterRewrite, LocalBranch, SyncError, SyncOptions, Synced};
use crate::sync::plan::{Plan, RemoteBranch, Tips, Verdicts, commit_of, odd_graph, set};
use crate::sync::repairs::unread;
use crate::target::Target;
use crate::transport::{CallError, Fetched, Place, Pushed, RemoteFault, Transport};
use sprag_model::archive::Archive;
use sprag_model::event_record::EventRecord;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::run::{RECORD_ROOT, Run};

/// Of two hundred clones that push at once on two cores, some need more than twenty.
const ATTEMPTS: u32 = 100;

const PATIENCE: Duration = Duration::from_secs(600);

/// Another sync ends by itself: [`PATIENCE`] after it began, and after the calls of git that are then under way.
const LOCK_PATIENCE: Duration = Duration::from_secs(1200);

const LOCK_POLL: Duration = Duration::from_millis(100);

/// The wait after a lost race doubles with each race, up to so many rounds of the length of the lost one.
const MOST_ROUNDS_WAITED: u32 = 16;

const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// Unites the branch of the history with the branch of that name at the remote: pushes what the remote lacks, without force, and
/// moves the local branch.
///
/// `variables` are those of the process, out of which git gets some; `time` is that of a new commit. `waits` is called before
/// this waits for another sync. Only records are published.
/// The local branch stays while it or the remote has code that the other lacks. A remote that has lost records since the last
/// sync is an error, unless the options decide.
///
/// # Errors
/// On any error, every record is still on the local branch.
pub fn sync(
    store: &Store,
    target: &Target,
    options: &SyncOptions,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    time: DateTime<Utc>,
    waits: &mut dyn FnMut(),
) -> Result<Synced, SyncError> {
    sync_within(ATTEMPTS, store, target, options, variables, time, waits)
}

pub(crate) fn sync_within(
    attempts: u32,
    store: &Store,
    target: &Target,
    options: &SyncOptions,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    time: DateTime<Utc>,
    waits: &mut dyn FnMut(),
) -> Result<Synced, SyncError> {
    let repository = &store.repository;
    if !target.reference.starts_with("refs/heads/") {
        let reason = "only branches hold records";
        return Err(HistoryError::BadRef { name: target.reference.clone(), reason }.into());
    }
    inherited::begin(repository, target)?;
    let branch = RemoteBranch::choose(repository, target, options.remote.as_deref())?;
    let transport = Transport::find(variables, place(repository)).map_err(|cause| call_error(&branch, cause))?;
    let _lock = wait_for_lock(repository, waits)?;
    for reference in [branch.fetched(), branch.synced()] {
        remove_sync_ref_lock(repository, &reference);
    }
    Rounds { repository, branch: &branch, transport: &transport, options, time, attempts }.run(odd_graph(repository))
}

struct Rounds<'a> {
    repository: &'a Repository,
    branch: &'a RemoteBranch,
    transport: &'a Transport,
    options: &'a SyncOptions,
    time: DateTime<Utc>,
    attempts: u32,
}

enum Round {
    Done(Synced),
    /// Another process was faster, with the message of git.
    Outrun(String),
}

impl Rounds<'_> {
    fn run(&self, warnings: Vec<String>) -> Result<Synced, SyncError> {
        let begun = Instant::now();
        let mut attempt = 1;
        // Sent by earlier rounds, so that the last one finds it at the remote.
        let mut sent = Vec::new();
        let mut verdicts = Verdicts::default();
        verdicts.is_broken = self.options.dry_run && self.is_broken()?;
        loop {
            let round_begun = Instant::now();
            let words = match self.round(attempt, &warnings, &mut sent, &mut verdicts) {
                Ok(Round::Done(synced)) => return Ok(synced),
                Ok(Round::Outrun(words)) => words,
                Err(_) if !verdicts.is_broken && self.is_broken()? => {
                    verdicts.is_broken = true;
                    continue;
                }
                // Git reads commits that were not sent when it fetches.
                Err(SyncError::Call { cause: CallError::Remote { fault: RemoteFault::Other, words }, .. })
                    if verdicts.is_broken =>
                {
                    return Err(HistoryError::Damaged(words).into());
                }
                Err(error) => return Err(error),
            };
            if attempt == self.attempts || begun.elapsed() >= PATIENCE {
                return Err(SyncError::Outrun { branch: self.branch.name(), attempts: attempt, words });
            }
            let wait = random_up_to(longest_wait(attempt, round_begun.elapsed()));
            thread::sleep(wait.min(PATIENCE.saturating_sub(begun.elapsed())));
            attempt += 1;
        }
    }

    fn is_broken(&self) -> Result<bool, HistoryError> {
        let Rounds { repository, branch, .. } = self;
        let Some(local) = commit_of(repository, &branch.reference)? else { return Ok(false) };
        let published = [commit_of(repository, &branch.fetched())?, commit_of(repository, &branch.synced())?];
        Ok(is_broken(repository, local, &published))
    }

    fn round(
        &self,
        attempts: u32,
        warnings: &[String],
        sent: &mut Vec<String>,
        verdicts: &mut Verdicts,
    ) -> Result<Round, SyncError> {
        let Rounds { repository, branch, options, .. } = self;
        let remote = match self.fetch() {
            Ok(remote) => remote,
            Err(SyncError::Call { cause: CallError::Remote { fault: RemoteFault::Locked, words }, .. }) => {
                return Ok(Round::Outrun(words));
            }
            Err(error) => return Err(error),
        };
        let (local, synced) = (commit_of(repository, &branch.reference)?, commit_of(repository, &branch.synced())?);
        let tips = Tips { local, remote, synced };
        self.fetch_absent(local, remote)?;
        let plan = Plan::make(repository, tips, options.after_rewrite, branch, verdicts)?;
        let mut done = Synced {
            branch: branch.name(),
            sent: plan.sent(),
            received: plan.received,
            attempts,
            tip: remote.map(|tip| tip.to_string()),
            local: LocalBranch::Unchanged,
            warnings: [warnings, &plan.warnings].concat(),
        };
        let tip = if options.dry_run { plan.ready.or(plan.base) } else { self.tip(&plan)? };
        let Some(tip) = tip else { return Ok(Round::Done(done)) };
        let obstacle = match plan.is_unread {
            true => Some(LocalBranch::Waits {
                reason: "it has records that cannot be read",
                command: "sprag history fsck --repair".to_owned(),
            }),
            false => obstacle(repository, branch, tips, tip)?,
        };
        if let (true, Some(LocalBranch::Waits { reason, .. })) = (plan.drops, &obstacle) {
            return Err(SyncError::CannotDrop { local: branch.local(), branch: branch.name(), reason });
        }
        if options.dry_run {
            done.local = obstacle.unwrap_or(LocalBranch::Unchanged);
            return Ok(Round::Done(done));
        }
        if plan.pushes(remote) {
            match self.push(tip)? {
                Pushed::Done => sent.extend(std::mem::take(&mut done.sent)),
                Pushed::Race(words) => return Ok(Round::Outrun(words)),
                Pushed::Refused(words) => return Err(SyncError::Refused { remote: branch.remote.clone(), words }),
            }
        }
        done.tip = Some(tip.to_string());
        done.local = match obstacle {
            Some(waits) => waits,
            None if local == Some(tip) => LocalBranch::Unchanged,
            None => match follow(repository, &branch.reference, local, tip, &mut done.warnings)? {
                Some(words) => return Ok(Round::Outrun(words)),
                None => LocalBranch::Moved,
            },
        };
        // Until here, another sync would decide as this one did.
        if let (Some(AfterRewrite::Accept), Some(before)) = (options.after_rewrite, synced.filter(|_| plan.drops)) {
            let dropped = branch.let_go(before);
            set(repository, &dropped, before)?;
            done.warnings.push(format!("the deleted records stay in this repository under `{dropped}`"));
        }
        set(repository, &branch.synced(), tip)?;
        done.sent = std::mem::take(sent);
        Ok(Round::Done(done))
    }

    /// The new tip of the remote: a commit that has everything.
    fn tip(&self, plan: &Plan) -> Result<Option<Oid>, HistoryError> {
        if plan.ready.is_some() || (plan.puts.is_empty() && plan.base.is_none()) {
            return Ok(plan.ready);
        }
        commit_on(self.repository, plan.base, plan, self.time, &self.branch.name()).map(Some)
    }

    fn fetch(&self) -> Result<Option<Oid>, SyncError> {
        let RemoteBranch { remote, reference } = self.branch;
        let into = self.branch.fetched();
        match self.transport.fetch(remote, reference, &into).map_err(|cause| call_error(self.branch, cause))? {
            Fetched::NoBranch => Ok(None),
            Fetched::Branch => match commit_of(self.repository, &into)? {
                Some(tip) => Ok(Some(tip)),
                None => {
                    let reason = format!("git left no `{into}`");
                    Err(HistoryError::Unusable { action: "read what was fetched", reason }.into())
                }
            },
        }
    }

    /// Fetches notes of archives that a partial clone lacks, and contents that a repair could not read. Where the remote gives none,
    /// the plan says which are not here.
    fn fetch_absent(&self, local: Option<Oid>, remote: Option<Oid>) -> Result<(), HistoryError> {
        let promises = Promises::new(self.repository)?;
        let mut absent = BTreeSet::from_iter(unread(self.repository, local, remote)?);
        for tip in [local, remote] {
            if let Some(tree) = tree_of(self.repository, tip)? {
                absent.extend(absent_notes(self.repository, &tree, &promises));
            }
        }
        if !absent.is_empty() {
            let absent: Vec<String> = absent.iter().map(Oid::to_string).collect();
            let is_partial = objects::is_partial(self.repository).unwrap_or(false);
            let _ = self.transport.fetch_objects(&self.branch.remote, &absent, is_partial);
        }
        Ok(())
    }

    fn push(&self, tip: Oid) -> Result<Pushed, SyncError> {
        let RemoteBranch { remote, reference } = self.branch;
        self.transport.push(remote, &tip.to_string(), reference).map_err(|cause| call_error(self.branch, cause))
    }
}

fn call_error(branch: &RemoteBranch, cause: CallError) -> SyncError {
    SyncError::Call { remote: branch.remote.clone(), cause }
}

fn place(repository: &Repository) -> Place {
    let folder = repository.workdir().unwrap_or_else(|| repository.path()).to_owned();
    let main = repository.commondir().parent().filter(|_| repository.commondir().ends_with(".git"));
    let working_trees = repository.workdir().into_iter().chain(main).map(|folder| folder.to_owned()).collect();
    Place { folder, git_folder: repository.path().to_owned(), working_trees }
}

/// The longest wait after so many lost races, the last of which took a round of this length.
fn longest_wait(attempt: u32, round: Duration) -> Duration {
    let rounds = 1 << attempt.min(MOST_ROUNDS_WAITED.ilog2());
    round.saturating_mul(rounds).min(LONGEST_WAIT)
}

/// A random time, so that rivals do not meet again.
fn random_up_to(longest: Duration) -> Duration {
    longest.mul_f64(RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64)
}

fn wait_for_lock(repository: &Repository, waits: &mut dyn FnMut()) -> Result<Lock, SyncError> {
    let state = StateFolder::new(repository.commondir());
    if let Some(lock) = state.lock_sync()? {
        return Ok(lock);
    }
    waits();
    let begun = Instant::now();
    while begun.elapsed() < LOCK_PATIENCE {
        if let Some(lock) = state.lock_sync()? {
            return Ok(lock);
        }
        thread::sleep(LOCK_POLL);
    }
    Err(SyncError::Running(state.sync_lock_path()))
}

/// Why the local branch cannot move to `tip` before the user acts.
fn obstacle(
    repository: &Repository,
    branch: &RemoteBranch,
    tips: Tips,
    tip: Oid,
) -> Result<Option<LocalBranch>, HistoryError> {
    let pull = format!("git pull --rebase {} {}", branch.remote, short_name(&branch.reference));
    let waits = |reason| Ok(Some(LocalBranch::Waits { reason, command: pull.clone() }));
    if tips.local == Some(tip) {
        return Ok(None);
    }
    if let Some(local) = tips.local {
        // Also code that the remote had and lost.
        if !user_commits(repository, local, &[Some(tip)])?.is_empty() {
            return waits("it has commits of code that the remote lacks");
        }
        let base = meeting(repository, Some(local), Some(tip))?;
        let rest = outside(repository, Some(local))?;
        // The line of commits that leads to the base may be cut.
        if rest != outside(repository, base)? && rest != outside(repository, Some(tip))? {
            return waits("it differs from the remote by more than records");
        }
    }
    if Checkouts::on_branch(repository, &branch.reference)?.trees.is_empty() {
        return Ok(None);
    }
    if outside(repository, tips.local)? != outside(repository, Some(tip))? {
        return waits("the remote has commits of code that the working tree lacks");
    }
    let difference = compare(repository, tips.local, Some(tip))?;
    let odd = |(path, mode): (&TreePath, i32)| mode != PLAIN || text_of(path).is_none();
    let added = difference.right.iter().map(|(path, entry)| (path, entry.mode));
    let changed = difference.changed.iter().map(|(path, (_, entry))| (path, entry.mode));
    if added.chain(changed).any(odd) {
        return waits("the remote has files below `history/v1/` that are not records");
    }
    Ok(None)
}

/// Moves the local branch to `tip`, and lets working trees catch up; gives the reason of git where another process moved the
/// branch first. Only where no [`obstacle`] is in the way.
fn follow(
    repository: &Repository,
    reference: &str,
    from: Option<Oid>,
    tip: Oid,
    warnings: &mut Vec<String>,
) -> Result<Option<String>, HistoryError> {
    let mut branch = BranchMove::begin(repository, reference, &mut |_| {})?;
    let Difference { left, right, changed } = compare(repository, from, Some(tip))?;
    let before = left.iter().chain(changed.iter().map(|(path, (before, _))| (path, before)));
    let dropped = before.map(|(path, entry)| Pending::removed(reference, path, entry.id));
    let after = right.iter().chain(changed.iter().map(|(path, (_, after))| (path, after)));
    let pending = after.filter_map(|(path, entry)| Some(Pending::new(reference, text_of(path)?, entry.id)));
    let pending: Vec<Pending> = dropped.chain(pending).collect();
    branch.journal(&pending)?;
    branch.lock_indexes(&mut |_| {});
    match compare_and_swap(repository, reference, from, tip, "sprag: sync").inspect_err(|_| branch.abandon())? {
        Swapped::Lost { reason, .. } => {
            branch.abandon();
            Ok(Some(reason))
        }
        Swapped::Done { warning } => {
            branch.warnings.extend(warning);
            branch.catch_up(&pending, &mut |_| {});
            warnings.extend(branch.finish());
            Ok(None)
        }
    }
}

/// The path as text, where it may name a file of the history in a working tree.
fn text_of(path: &TreePath) -> Option<&str> {
    std::str::from_utf8(path).ok().filter(|path| check_path(path).is_ok())
}

const MOST_SUBJECTS: usize = 100;

/// Commits `puts` on top of `base`, with the author and the message of an append.
fn commit_on(
    repository: &Repository,
    base: Option<Oid>,
    Plan { puts, leaving, .. }: &Plan,
    time: DateTime<Utc>,
    reference: &str,
) -> Result<Oid, HistoryError> {
    let tree = tree_of(repository, base)?;
    for folder in [FOLDER, RECORD_ROOT] {
        let entry = tree.as_ref().and_then(|tree| tree.get_path(folder.as_ref()).ok());
        if entry.is_some_and(|entry| entry.kind() != Some(ObjectType::Tree)) {
            return Err(HistoryError::NotAFolder { path: folder.to_owned(), reference: reference.to_owned() });
        }
    }
    let mut update = TreeUpdateBuilder::new();
    for (path, entry) in puts {
        update.upsert(path.as_slice(), entry.id, mode_of(entry.mode));
    }
    // What takes the place of a damaged file is put.
    let gone = leaving.keys().filter(|path| !puts.contains_key(*path));
    let removals: Edits = gone.map(|path| (path.clone(), Edit::Remove)).collect();
    let refused = || failed("write the commit");
    let base = base.map(|base| repository.find_commit(base)).transpose().map_err(refused())?;
    let (author, _) = signature_at(repository, time)?;
    let message = message_of(repository, puts);
    let change = |tree: &Tree<'_>| {
        let tree = update.create_updated(repository, tree)?;
        match removals.is_empty() {
            true => Ok(tree),
            // The notes are left.
            false => edited(repository, Some(&repository.find_tree(tree)?), &removals).map(|left| left.unwrap_or(tree)),
        }
    };
    let (commit, tree) =
        objects::write_commit(repository, None, base.as_ref(), &author, &message, change).map_err(refused())?;
    let changed = puts.keys().chain(leaving.keys());
    let paths: Vec<String> = changed.filter_map(|path| String::from_utf8(path.clone()).ok()).collect();
    objects::sync_commit(repository, commit, &tree, &paths)?;
    Ok(commit)
}

/// The mode at the other side. Reading the history checks it.
fn mode_of(mode: i32) -> FileMode {
    match mode {
        0o100_755 => FileMode::BlobExecutable,
        0o120_000 => FileMode::Link,
        0o160_000 => FileMode::Commit,
        0o100_664 => FileMode::BlobGroupWritable,
        _ => FileMode::Blob,
    }
}

fn message_of(repository: &Repository, puts: &BTreeMap<TreePath, TreeItem>) -> String {
    if puts.len() > MOST_SUBJECTS {
        return format!("sprag: {} records\n", puts.len());
    }
    if puts.is_empty() {
        return "sprag: set aside damaged files\n".to_owned();
    }
    let subjects: Vec<String> = puts.iter().map(|(path, entry)| subject(repository, path, entry)).collect();
    message(&subjects.iter().map(String::as_str).collect::<Vec<_>>())
}

fn subject(repository: &Repository, path: &TreePath, entry: &TreeItem) -> String {
    let blob = repository.find_blob(entry.id).ok();
    let content = blob.as_ref().map(git2::Blob::content).filter(|content| content.len() <= MAX_RECORD_BYTES);
    let path = String::from_utf8_lossy(path);
    let run = |content: &[u8]| Run::from_record(content).ok().map(|(_, run)| run.subject());
    let event = |content: &[u8]| EventRecord::from_file(&path, content).ok().map(|event| event.subject());
    let archive = |content: &[u8]| Archive::from_file(&path, content).ok().map(|archive| archive.to_file().2);
    content.and_then(|content| run(content).or_else(|| event(content)).or_else(|| archive(content))).unwrap_or_else(
        || {
            let inside = path.strip_prefix(RECORD_ROOT).map_or(&*path, |inside| inside.trim_start_matches('/'));
            format!("sprag: {}", inside.escape_debug())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_with_lost_races_and_slow_rounds() {
        for (attempt, round, expected) in
            [(1, 100, 200), (3, 100, 800), (4, 100, 1_600), (20, 100, 1_600), (4, 1_000, 8_000)]
        {
            let longest = longest_wait(attempt, Duration::from_millis(round));
            assert_eq!(longest, Duration::from_millis(expected), "{attempt}, {round}");
            assert!(random_up_to(longest) <= longest);
        }
    }
}
