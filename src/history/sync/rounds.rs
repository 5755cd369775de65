//! Fetch, unite, push, follow; and again where somebody was faster.

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use git2::{Oid, Repository};

use crate::checkout::stale_locks::remove_sync_ref_lock;
use crate::checkout::working_tree::heal;
use crate::commits::head::short_name;
use crate::commits::target::Target;
use crate::error::HistoryError;
use crate::state::{Lock, StateFolder};
use crate::store::Store;
use crate::sync::local::{Moved, follow, obstacle};
use crate::sync::outcome::{AfterRewrite, LocalBranch, SyncError, SyncOptions, Synced};
use crate::sync::plan::{Names, Plan, Tips};
use crate::sync::remote::{RemoteBranch, commit_of, odd_graph, set};
use crate::sync::union_commit::commit_on;
use crate::transport::answer::{Fetched, Pushed, RemoteFault};
use crate::transport::call::{CallError, Place, Transport};

/// How often it is tried.
const ATTEMPTS: u32 = 20;

/// How long it is tried.
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
            None => match follow(repository, &branch.reference, local, tip, &mut done.warnings)? {
                Moved::Settled(state) => state,
                Moved::Outrun(words) => return Ok(Round::Outrun(words)),
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
