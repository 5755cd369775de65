//! Errors of this crate: what to do about them, and exit codes.

use std::error::Error as StdError;
use std::{fmt, io};

use sprag_evidence::play::VerifyError;
use sprag_evidence::release::ReleaseError;
use sprag_history::{HistoryError, SyncError};
use sprag_measure::suite::SuiteError;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Advice {
    pub message: String,
    pub hint: String,
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Usage,
    CannotBuild,
    Unmeasured,
    /// The base of a comparison fails, so that no other commit would do.
    BaseFails,
    Damaged,
}

impl Advice {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Advice {
        Advice { message: message.into(), hint: hint.into(), cause: Cause::Usage }
    }

    pub fn because(self, cause: Cause) -> Advice {
        Advice { cause, ..self }
    }
}

/// Fails with advice on how to use a command.
pub fn refuse<T, E: From<Advice>>(message: impl Into<String>, hint: impl Into<String>) -> Result<T, E> {
    Err(Advice::new(message, hint).into())
}

pub struct Error {
    contexts: Vec<String>,
    source: Box<dyn StdError + Send + Sync>,
}

impl<E: StdError + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Error {
        Error { contexts: Vec::new(), source: Box::new(error) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.contexts.last() {
            Some(context) => f.write_str(context),
            None => self.source.fmt(f),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.chain())
    }
}

impl Error {
    pub fn message(message: impl Into<String>) -> Error {
        Error { contexts: Vec::new(), source: message.into().into() }
    }

    pub fn context(mut self, context: impl Into<String>) -> Error {
        self.contexts.push(context.into());
        self
    }

    pub fn cause<E: StdError + 'static>(&self) -> Option<&E> {
        self.causes().find_map(|cause| cause.downcast_ref())
    }

    /// The error without its contexts, if it is of that type.
    pub fn downcast<E: StdError + Send + Sync + 'static>(self) -> Result<E> {
        let Error { contexts, source } = self;
        match source.downcast() {
            Ok(error) => Ok(*error),
            Err(source) => Err(Error { contexts, source }),
        }
    }

    pub fn advice_mut(&mut self) -> Option<&mut Advice> {
        self.source.downcast_mut()
    }

    fn causes(&self) -> impl Iterator<Item = &(dyn StdError + 'static)> {
        let first: &(dyn StdError + 'static) = &*self.source;
        std::iter::successors(Some(first), |&cause| cause.source())
    }

    pub fn chain(&self) -> String {
        let causes = self.causes().map(|cause| match cause.downcast_ref::<io::Error>() {
            Some(error) if error.kind() == io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
            // Without the number of the system.
            _ => cause.to_string().split(" (os error").next().unwrap_or_default().to_owned(),
        });
        self.contexts.iter().rev().cloned().chain(causes).collect::<Vec<_>>().join(": ")
    }

    pub fn hint(&self) -> Option<String> {
        let own = || self.cause::<Advice>().map(|advice| advice.hint.clone());
        let suite = || self.cause::<SuiteError>().and_then(SuiteError::hint);
        let history = || self.cause::<HistoryError>().and_then(HistoryError::hint);
        let sync = || self.cause::<SyncError>().and_then(SyncError::hint);
        let replay = || self.cause::<VerifyError>().and_then(VerifyError::hint).map(str::to_owned);
        let release = || self.cause::<ReleaseError>().and_then(ReleaseError::hint);
        let path = || {
            self.cause::<io::Error>()
                .filter(|error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
        };
        let path = || path().map(|_| "check the path".to_owned());
        own().or_else(suite).or_else(history).or_else(sync).or_else(replay).or_else(release).or_else(path)
    }

    pub fn is_damage(&self) -> bool {
        self.cause::<SyncError>().is_some_and(SyncError::is_integrity)
            || self.cause::<HistoryError>().is_some_and(HistoryError::is_damage)
            || self.cause::<ReleaseError>().is_some_and(ReleaseError::is_damage)
            || self.cause::<Advice>().is_some_and(|advice| advice.cause == Cause::Damaged)
    }

    pub fn exit(&self) -> Exit {
        if self.is_damage() { Exit::Integrity } else { Exit::Usage }
    }
}

pub trait WithContext<T>: Sized {
    fn with_context<S: Into<String>>(self, context: impl FnOnce() -> S) -> Result<T>;

    fn context(self, context: impl Into<String>) -> Result<T> {
        self.with_context(|| context)
    }
}

impl<T, E: Into<Error>> WithContext<T> for std::result::Result<T, E> {
    fn with_context<S: Into<String>>(self, context: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|error| error.into().context(context()))
    }
}

impl<T> WithContext<T> for Option<T> {
    fn with_context<S: Into<String>>(self, context: impl FnOnce() -> S) -> Result<T> {
        self.ok_or_else(|| Error::message(context()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    Failed = 1,
    /// Wrong usage, or the tool could not work.
    Usage = 2,
    /// Inconclusive, not comparable or no baseline.
    Inconclusive = 3,
    Integrity = 4,
    NotMeasured = 5,
    /// With `--bisect`: this commit cannot be judged.
    CannotTell = 125,
    /// With `--bisect`: wrong usage, or damaged data.
    Abort = 128,
}

impl Exit {
    /// In order of their codes, with the word of `action.yml`.
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

    /// As the table in `docs/CI.md` has it.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "done, or passed",
            Exit::Failed => "regressed, missing, or a check failed",
            Exit::Usage => "used wrongly, or it could not work",
            Exit::Inconclusive => "inconclusive, not comparable, or no baseline",
            Exit::Integrity => "data are damaged or were changed",
            Exit::NotMeasured => "could not measure: everything that was asked for was skipped",
            Exit::CannotTell => "`--bisect` alone: this commit cannot tell",
            Exit::Abort => "`--bisect` alone: used wrongly, or data are damaged or were changed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_visible_through_contexts() {
        let wrapped = |error: Error| Err::<(), Error>(error).context("one").context("two").unwrap_err();
        let error = wrapped(Advice::new("no", "yes").into());
        assert_eq!((error.to_string().as_str(), error.hint().as_deref()), ("two", Some("yes")));
        assert_eq!((error.chain().as_str(), error.exit()), ("two: one: no", Exit::Usage));
        let error = wrapped(Advice::new("no", "yes").because(Cause::Damaged).into());
        assert_eq!(error.exit(), Exit::Integrity);
        assert!(wrapped(std::io::Error::other("x").into()).cause::<std::io::Error>().is_some());
    }
}
