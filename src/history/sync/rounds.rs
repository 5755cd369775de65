//! Fetch, unite, push, follow; and again where somebody was faster.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Oid, Repository, Tree};

use crate::append::message;
use crate::checkout::{Checkouts, heal, heal_locked, remove_sync_ref_lock};
use crate::error::{HistoryError, failed};
use crate::index::release;
use crate::layout::{FOLDER, PLAIN, check_path};
use crate::objects::{self, Swapped, compare_and_swap};
use crate::repository::{Store, short_name, signature_at};
use crate::state::{Lock, Pending, StateFolder};
use crate::sync::compare::{Difference, Entry, TreePath, compare, meeting, outside, tree_of, user_commits};
use crate::sync::outcome::{AfterRewrite, LocalBranch, SyncError, SyncOptions, Synced};
use crate::sync::plan::{Names, Plan, RemoteBranch, Tips, commit_of, odd_graph, set};
use crate::target::Target;
use crate::transport::{CallError, Fetched, Place, Pushed, RemoteFault, Transport};
use sprag_model::event_record::EventRecord;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::run::{RECORD_ROOT, Run};

const ATTEMPTS: u32 = 20;

const PATIENCE: Duration = Duration::from_secs(120);

/// How long another sync of this repository is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);

/// How often another sync of this repository is looked at.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// The longest wait after a lost race, in rounds of the length of the one that was lost: rivals that slow each other
/// down part further. It doubles with each race up to this.
const MOST_ROUNDS_WAITED: u32 = 16;

const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// Brings the branch of the history and the one of the same name at the remote together: what the remote lacks is
/// pushed on top of what it has, without force, and the local branch follows.
///
/// `variables` are those of the process, from which git's are cleaned; `time` is that of the commit, where one is made.
/// Only records are ever published. The local branch stays where it is while the remote has code that a working tree
/// lacks, or it has code of its own. A remote that has lost records since the last sync is an error that says so, unless
/// the options say what to do.
///
/// # Errors
/// As [`SyncError`] tells. Whatever it is, every record is where it was: on the local branch.
pub fn sync(
    store: &Store,
    target: &Target,
    options: &SyncOptions,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    time: DateTime<Utc>,
) -> Result<Synced, SyncError> {
    sync_within(ATTEMPTS, store, target, options, variables, time)
}

/// As [`sync`], tried so often.
pub(crate) fn sync_within(
    attempts: u32,
    store: &Store,
    target: &Target,
    options: &SyncOptions,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    time: DateTime<Utc>,
) -> Result<Synced, SyncError> {
    let repository = &store.repository;
    if !target.reference.starts_with("refs/heads/") {
        let reason = "only branches hold records";
        return Err(HistoryError::BadRef { name: target.reference.clone(), reason }.into());
    }
    let branch = RemoteBranch::choose(repository, target, options.remote.as_deref())?;
    let transport = Transport::find(variables, place(repository)).map_err(|cause| call_error(&branch, cause))?;
    let _lock = wait_for_lock(repository)?;
    for reference in [branch.fetched(), branch.synced()] {
        remove_sync_ref_lock(repository, &reference);
    }
    let mut warnings = odd_graph(repository);
    warnings.extend(heal(store)?.warnings);
    let rounds = Rounds { repository, branch: &branch, transport: &transport, options, time, attempts };
    rounds.run(warnings)
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
    /// Somebody was faster, with the words of git.
    Outrun(String),
}

impl Rounds<'_> {
    fn run(&self, warnings: Vec<String>) -> Result<Synced, SyncError> {
        let begun = Instant::now();
        let mut attempt = 1;
        // What earlier rounds have sent, which the last one finds there.
        let mut sent = Vec::new();
        loop {
            let round_begun = Instant::now();
            let words = match self.round(attempt, &warnings, &mut sent)? {
                Round::Done(synced) => return Ok(synced),
                Round::Outrun(words) => words,
            };
            if attempt == self.attempts || begun.elapsed() >= PATIENCE {
                return Err(SyncError::Outrun { branch: self.branch.name(), attempts: attempt, words });
            }
            let bound = longest_wait(attempt, round_begun.elapsed());
            thread::sleep(any_up_to(bound).min(PATIENCE.saturating_sub(begun.elapsed())));
            attempt += 1;
        }
    }

    fn round(&self, attempts: u32, warnings: &[String], sent: &mut Vec<String>) -> Result<Round, SyncError> {
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
        let name = branch.name();
        let names = Names { local: short_name(&branch.reference), branch: &name };
        let plan = Plan::make(repository, tips, options.after_rewrite, &names)?;
        let mut done = Synced {
            branch: name.clone(),
            sent: plan.sent(),
            received: plan.received,
            attempts,
            tip: remote.map(|tip| tip.to_string()),
            local: LocalBranch::Unchanged,
            warnings: [warnings, &plan.warnings].concat(),
        };
        let tip = if options.dry_run { plan.ready.or(plan.base) } else { self.tip(&plan)? };
        let Some(tip) = tip else { return Ok(Round::Done(done)) };
        let obstacle = obstacle(repository, branch, tips, tip)?;
        if let (true, Some(LocalBranch::Waits { reason, .. })) = (plan.drops, &obstacle) {
            let local = names.local.to_owned();
            return Err(SyncError::CannotDrop { local, branch: name.clone(), reason });
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
        // Only now: until here, another sync would decide as this one did.
        if let (Some(AfterRewrite::Accept), Some(before)) = (options.after_rewrite, synced.filter(|_| plan.drops)) {
            let kept = branch.let_go(before);
            set(repository, &kept, before)?;
            done.warnings.push(format!("what was let go of stays in this repository under `{kept}`"));
        }
        set(repository, &branch.synced(), tip)?;
        done.sent = std::mem::take(sent);
        Ok(Round::Done(done))
    }

    /// Where the branch of the remote is to be: the commit that has everything, made if need be.
    fn tip(&self, plan: &Plan) -> Result<Option<Oid>, HistoryError> {
        if plan.ready.is_some() || (plan.puts.is_empty() && plan.base.is_none()) {
            return Ok(plan.ready);
        }
        commit_on(self.repository, plan.base, &plan.puts, self.time, &self.branch.name()).map(Some)
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

fn wait_for_lock(repository: &Repository) -> Result<Lock, SyncError> {
    let state = StateFolder::new(repository.commondir());
    let begun = Instant::now();
    loop {
        if let Some(lock) = state.lock_sync()? {
            return Ok(lock);
        }
        if begun.elapsed() >= LOCK_PATIENCE {
            return Err(SyncError::Running(state.sync_lock_path()));
        }
        thread::sleep(LOCK_POLL);
    }
}

/// How long to wait at most after so many lost races, the last of which took a round of this length.
fn longest_wait(attempt: u32, round: Duration) -> Duration {
    let rounds = 1 << attempt.min(MOST_ROUNDS_WAITED.ilog2());
    round.saturating_mul(rounds).min(LONGEST_WAIT)
}

/// A random time, so that rivals part.
fn any_up_to(bound: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    bound.mul_f64((random >> 11) as f64 / (1u64 << 53) as f64)
}

/// Why the local branch has to wait for its user; nothing where it can move to `tip`.
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
        // What a sync published before and the remote has lost since is not the user's to publish, but it is code.
        if !user_commits(repository, local, &[Some(tip)])?.is_empty() {
            return waits("it has commits of code that the remote lacks");
        }
        let base = meeting(repository, Some(local), Some(tip))?;
        if outside(repository, Some(local))? != outside(repository, base)? {
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
        return waits("the remote has files below `history/v1/` that are no records");
    }
    Ok(None)
}

/// Moves the local branch from where it was to `tip`, and lets working trees catch up; gives the reason of git where
/// another process moved the branch first. Only where no [`obstacle`] is in the way.
fn follow(
    repository: &Repository,
    reference: &str,
    from: Option<Oid>,
    tip: Oid,
    warnings: &mut Vec<String>,
) -> Result<Option<String>, HistoryError> {
    let state = StateFolder::new(repository.commondir());
    let lock = state.lock()?;
    let (healed, unfinished) = heal_locked(repository, &state, &lock, &mut |_| {})?;
    warnings.extend(healed.warnings);
    let checkouts = Checkouts::on_branch(repository, reference)?;
    warnings.extend(checkouts.warnings.iter().cloned());
    let Difference { left, right, changed } = compare(repository, from, Some(tip))?;
    let before = left.iter().chain(changed.iter().map(|(path, (before, _))| (path, before)));
    let dropped = before.filter_map(|(path, entry)| Some((PathBuf::from(text_of(path)?), entry.id)));
    let dropped: Vec<(PathBuf, Oid)> = dropped.collect();
    // Cut short after this, files are missing that the next try drops as well. Files that were removed only after the branch
    // moved would look new, and the next commit would bring them back.
    for checkout in &checkouts.trees {
        warnings.extend(checkout.remove(&dropped, None, &state));
    }
    let after = right.iter().chain(changed.iter().map(|(path, (_, after))| (path, after)));
    let pending = after.filter_map(|(path, entry)| Some(Pending::new(reference, text_of(path)?, entry.id)));
    let pending: Vec<Pending> = pending.collect();
    // If we die while the ref moves, the journal shows that its lock is ours.
    state.write_journal(&[unfinished.clone(), pending.clone()].concat())?;
    // Locked across the move, so that no `git commit` can take the new records out of the branch again.
    let mut locks: Vec<_> = checkouts.trees.iter().map(|checkout| checkout.lock(&state, &mut |_| {})).collect();
    let swapped = compare_and_swap(repository, reference, from, tip, "sprag: sync");
    let Ok(Swapped::Done { warning }) = swapped else {
        // A lock that stays is removed by its mark, as long as there is a journal.
        if release(&mut locks).is_ok() {
            let _ = state.settle(&unfinished);
        }
        return swapped.map(|swapped| match swapped {
            Swapped::Lost { reason, .. } => Some(reason),
            Swapped::Done { .. } => None,
        });
    };
    warnings.extend(warning);
    let later = checkouts.catch_up(locks, &pending, &state, warnings, &mut |_| {});
    state.settle_with_warning([unfinished, later].concat(), warnings);
    Ok(None)
}

/// The path as text, where it may name a file of the history in a working tree.
fn text_of(path: &TreePath) -> Option<&str> {
    std::str::from_utf8(path).ok().filter(|path| check_path(path).is_ok())
}

/// The most records whose subjects the message of a commit lists.
const MOST_SUBJECTS: usize = 100;

/// Commits `puts` on top of `base`, by whom and how an append would.
fn commit_on(
    repository: &Repository,
    base: Option<Oid>,
    puts: &BTreeMap<TreePath, Entry>,
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
    let refused = || failed("write the commit");
    let base = base.map(|base| repository.find_commit(base)).transpose().map_err(refused())?;
    let (author, _) = signature_at(repository, time)?;
    let message = message_of(repository, puts);
    let change = |tree: &Tree<'_>| update.create_updated(repository, tree);
    let (commit, tree) =
        objects::write_commit(repository, None, base.as_ref(), &author, &message, change).map_err(refused())?;
    let paths: Vec<String> = puts.keys().filter_map(|path| String::from_utf8(path.clone()).ok()).collect();
    objects::sync_commit(repository, commit, &tree, &paths)?;
    Ok(commit)
}

/// The mode as the other side has it: whether it may have it is for whoever reads the history to say.
fn mode_of(mode: i32) -> FileMode {
    match mode {
        0o100_755 => FileMode::BlobExecutable,
        0o120_000 => FileMode::Link,
        0o160_000 => FileMode::Commit,
        0o100_664 => FileMode::BlobGroupWritable,
        _ => FileMode::Blob,
    }
}

fn message_of(repository: &Repository, puts: &BTreeMap<TreePath, Entry>) -> String {
    if puts.len() > MOST_SUBJECTS {
        return format!("sprag: {} records\n", puts.len());
    }
    let subjects: Vec<String> = puts.iter().map(|(path, entry)| subject(repository, path, entry)).collect();
    message(&subjects.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The subject under which an append would have recorded it.
fn subject(repository: &Repository, path: &TreePath, entry: &Entry) -> String {
    let blob = repository.find_blob(entry.id).ok();
    let content = blob.as_ref().map(git2::Blob::content).filter(|content| content.len() <= MAX_RECORD_BYTES);
    let path = String::from_utf8_lossy(path);
    let run = |content: &[u8]| Run::from_record(content).ok().map(|(_, run)| run.subject());
    let event = |content: &[u8]| EventRecord::from_file(&path, content).ok().map(|event| event.subject());
    content.and_then(|content| run(content).or_else(|| event(content))).unwrap_or_else(|| {
        let inside = path.strip_prefix(RECORD_ROOT).map_or(&*path, |inside| inside.trim_start_matches('/'));
        format!("sprag: {}", inside.escape_debug())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_with_lost_races_and_slow_rounds() {
        let check = |attempt: u32, millis: u64, expected: u64| {
            let bound = longest_wait(attempt, Duration::from_millis(millis));
            assert_eq!(bound, Duration::from_millis(expected), "{attempt}, {millis}");
            assert!(any_up_to(bound) <= bound);
        };
        check(1, 100, 200);
        check(3, 100, 800);
        check(4, 100, 1_600);
        check(20, 100, 1_600);
        check(4, 1_000, 8_000);
    }
}
