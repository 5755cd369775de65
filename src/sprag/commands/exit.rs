//! How a command ended: its exit code, and what to say of an error.

use sprag_history::SyncError;
use sprag_pipeline::Trouble;
use sprag_pipeline::error::{cause_of, hint_of};

/// How a command ended, as the exit code tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// Regressed, or a check failed.
    Failed = 1,
    /// Used wrongly, or the tool could not work.
    Usage = 2,
    /// Inconclusive, not comparable or no baseline.
    Inconclusive = 3,
    /// What is recorded does not hold together.
    Integrity = 4,
    NotMeasured = 5,
    /// Of `--bisect`: this commit cannot tell.
    CannotTell = 125,
    /// Of `--bisect`: used wrongly, or what is recorded does not hold together.
    Abort = 128,
}

impl Exit {
    /// All of them, in the order of their codes, with the word that `action.yml` has for each.
    pub const ALL: [(Exit, &str); 8] = [
        (Exit::Done, "pass"),
        (Exit::Failed, "fail"),
        (Exit::Usage, "error"),
        (Exit::Inconclusive, "inconclusive"),
        (Exit::Integrity, "integrity"),
        (Exit::NotMeasured, "not-measured"),
        (Exit::CannotTell, "error"),
        (Exit::Abort, "error"),
    ];

    /// What it says, as the table in `docs/CI.md` has it.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "done, or passed",
            Exit::Failed => "regressed, missing, or a check failed",
            Exit::Usage => "used wrongly, or it could not work",
            Exit::Inconclusive => "inconclusive, not comparable, or no baseline",
            Exit::Integrity => "what is recorded does not hold together",
            Exit::NotMeasured => "could not measure: everything that was asked for was skipped",
            Exit::CannotTell => "`--bisect` alone: this commit cannot tell",
            Exit::Abort => "`--bisect` alone: used wrongly, or what is recorded does not hold together",
        }
    }
}

/// What the user can do about an error, if anyone along its chain knows.
pub fn hint(error: &anyhow::Error) -> Option<String> {
    hint_of(error.as_ref())
}

/// How a command ended that gave an error: mostly it was used wrongly or could not work.
pub fn exit_of(error: &anyhow::Error) -> Exit {
    let is_damage = cause::<SyncError>(error).is_some_and(SyncError::is_integrity)
        || matches!(cause(error), Some(Trouble::Damaged(_)));
    if is_damage { Exit::Integrity } else { Exit::Usage }
}

/// Whether the error is that nobody reads our output any more, as with `sprag … | head`.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    cause::<std::io::Error>(error).is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The first cause of that type.
pub(super) fn cause<E: std::error::Error + 'static>(error: &anyhow::Error) -> Option<&E> {
    cause_of(error.as_ref())
}
