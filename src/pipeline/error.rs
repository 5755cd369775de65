//! What can go wrong where stages are joined, and how to say where.

use std::error::Error as StdError;

use crate::config::ConfigError;
use sprag_analysis::frame::ParquetError;
use sprag_base::files::WriteError;
use sprag_base::toml::TomlError;
use sprag_evidence::play::VerifyError;
use sprag_evidence::release::ReleaseError;
use sprag_history::{HistoryError, SyncError};
use sprag_measure::MeasureError;
use sprag_measure::suite::SuiteError;
use sprag_report::ReportError;

/// The outcome of a step that joins stages.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error that a user can do something about.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Advice {
    pub message: String,
    pub hint: String,
}

/// An error that does not lie in how a command was used.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// A commit that is to be measured cannot be built.
    #[error("{0}")]
    CannotBuild(Advice),
    /// What is to be judged was never measured.
    #[error("{0}")]
    Unmeasured(Advice),
    /// What is to be judged does not hold together.
    #[error("{0}")]
    Damaged(Advice),
}

impl Trouble {
    pub fn advice(&self) -> &Advice {
        match self {
            Trouble::CannotBuild(advice) | Trouble::Unmeasured(advice) | Trouble::Damaged(advice) => advice,
        }
    }
}

/// What went wrong, in a stage or between two.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Advice(#[from] Advice),
    #[error(transparent)]
    Trouble(#[from] Trouble),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Sync(#[from] SyncError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Toml(#[from] TomlError),
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Measure(#[from] MeasureError),
    #[error(transparent)]
    Suite(#[from] SuiteError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Message(String),
    /// What was being done when `source` happened.
    #[error("{context}")]
    Context { context: String, source: Box<dyn StdError + Send + Sync> },
}

impl Error {
    pub fn message(message: impl Into<String>) -> Error {
        Error::Message(message.into())
    }

    /// The same, told with what was being done.
    pub fn context(self, context: impl Into<String>) -> Error {
        Error::Context { context: context.into(), source: Box::new(self) }
    }

    /// The first cause of that type.
    pub fn cause<E: StdError + 'static>(&self) -> Option<&E> {
        cause_of(self)
    }

    /// What the user can do about it, if anyone along the chain of causes knows.
    pub fn hint(&self) -> Option<String> {
        hint_of(self)
    }

    /// The error and its causes in one line.
    pub fn chain(&self) -> String {
        chain_of(self)
    }

    /// Whether recorded data is damaged or contradicted.
    pub fn is_damage(&self) -> bool {
        is_damage(self)
    }
}

/// The first cause of that type in a chain of errors, the first of which is asked, too.
pub fn cause_of<'e, E: StdError + 'static>(error: &'e (dyn StdError + 'static)) -> Option<&'e E> {
    let mut next = Some(error);
    while let Some(cause) = next {
        // Where an error only passes on another, that one is asked.
        let passed_on: &(dyn StdError + 'static) = match cause.downcast_ref::<Error>() {
            Some(Error::Advice(error)) => error,
            Some(Error::Trouble(error)) => error,
            Some(Error::History(error)) => error,
            Some(Error::Sync(error)) => error,
            Some(Error::Suite(error)) => error,
            Some(Error::Io(error)) => error,
            Some(Error::Release(error)) => error,
            _ => cause,
        };
        if let Some(found) = passed_on.downcast_ref::<E>() {
            return Some(found);
        }
        next = cause.source();
    }
    None
}

/// What the user can do about an error, if anyone along the chain of causes knows.
pub fn hint_of(error: &(dyn StdError + 'static)) -> Option<String> {
    let own = || cause_of::<Advice>(error).map(|advice| advice.hint.clone());
    let trouble = || cause_of::<Trouble>(error).map(|trouble| trouble.advice().hint.clone());
    let suite = || cause_of::<SuiteError>(error).and_then(SuiteError::hint);
    let history = || cause_of::<HistoryError>(error).and_then(HistoryError::hint);
    let sync = || cause_of::<SyncError>(error).and_then(SyncError::hint);
    let replay = || cause_of::<VerifyError>(error).and_then(VerifyError::hint).map(str::to_owned);
    let release = || cause_of::<ReleaseError>(error).and_then(ReleaseError::hint);
    own().or_else(trouble).or_else(suite).or_else(history).or_else(sync).or_else(replay).or_else(release)
}

/// An error and its causes in one line.
pub fn chain_of(error: &(dyn StdError + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |&cause| cause.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Whether an error is that recorded data is damaged or contradicted.
pub fn is_damage(error: &(dyn StdError + 'static)) -> bool {
    cause_of::<SyncError>(error).is_some_and(SyncError::is_integrity)
        || cause_of::<ReleaseError>(error).is_some_and(ReleaseError::is_damage)
        || matches!(cause_of(error), Some(Trouble::Damaged(_)))
}

/// Says what was being done when something went wrong.
pub trait Context<T> {
    fn context(self, context: impl Into<String>) -> Result<T>;

    fn with_context<S: Into<String>>(self, context: impl FnOnce() -> S) -> Result<T>;
}

impl<T, E: StdError + Send + Sync + 'static> Context<T> for std::result::Result<T, E> {
    fn context(self, context: impl Into<String>) -> Result<T> {
        self.with_context(|| context)
    }

    fn with_context<S: Into<String>>(self, context: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|source| Error::Context { context: context().into(), source: Box::new(source) })
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, context: impl Into<String>) -> Result<T> {
        self.with_context(|| context)
    }

    fn with_context<S: Into<String>>(self, context: impl FnOnce() -> S) -> Result<T> {
        self.ok_or_else(|| Error::Message(context().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_found_through_what_was_being_done() {
        let advice = || Advice { message: "no".to_owned(), hint: "yes".to_owned() };
        let wrapped = |error: Error| Err::<(), Error>(error).context("one").context("two").unwrap_err();
        let error = wrapped(advice().into());
        assert_eq!((error.to_string().as_str(), error.cause::<Advice>().map(|one| &*one.hint)), ("two", Some("yes")));
        let error = wrapped(Trouble::Damaged(advice()).into());
        assert!(error.cause::<Advice>().is_none() && matches!(error.cause(), Some(Trouble::Damaged(_))));
        assert!(wrapped(std::io::Error::other("x").into()).cause::<std::io::Error>().is_some());
    }
}
