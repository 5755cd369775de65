//! Why a case does not pass, and the reading of its parts.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use sprag_kernels::KernelError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The kernel refused the inputs, or its types cannot hold them, as a rejection case expects.
    #[error("{0}")]
    Refused(String),
    /// The case cannot be read, or the result differs; it fails whatever it expects.
    #[error("{0}")]
    Fails(String),
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// The same failure, with the place of the case at which it happened.
    pub(crate) fn at(self, place: impl fmt::Display) -> Failure {
        match self {
            Failure::Refused(text) => Failure::Refused(format!("{place}: {text}")),
            Failure::Fails(text) => Failure::Fails(format!("{place}: {text}")),
        }
    }
}

impl From<KernelError> for Failure {
    fn from(error: KernelError) -> Self {
        Failure::Refused(error.to_string())
    }
}

pub(crate) fn fails(text: impl Into<String>) -> Failure {
    Failure::Fails(text.into())
}

pub(crate) fn require(condition: bool, text: impl FnOnce() -> String) -> Outcome {
    if condition { Ok(()) } else { Err(Failure::Fails(text())) }
}

pub(crate) fn read<T: DeserializeOwned>(what: &str, value: Value) -> Outcome<T> {
    serde_json::from_value(value).map_err(|error| fails(format!("{what} cannot be read: {error}")))
}

/// An integer in the type that a kernel takes; one that it cannot hold is treated as refused by the kernel.
pub(crate) fn narrow<T: TryFrom<i64>>(name: &str, value: i64) -> Outcome<T> {
    T::try_from(value).map_err(|_| Failure::Refused(format!("`{name}` holds {value}, which its type cannot hold")))
}

pub(crate) fn narrow_all<T: TryFrom<i64>>(name: &str, values: &[i64]) -> Outcome<Vec<T>> {
    values.iter().map(|value| narrow(name, *value)).collect()
}
