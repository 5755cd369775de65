//! How a command ended: its exit code.

use std::error::Error as StdError;

use crate::error::is_damage;

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

/// How a command ended that gave an error: mostly it was used wrongly or could not work.
pub fn exit_of(error: &(dyn StdError + 'static)) -> Exit {
    if is_damage(error) { Exit::Integrity } else { Exit::Usage }
}
