//! Why a release cannot be judged, and where its evidence disagrees with the records.

use std::io;
use std::path::{Path, PathBuf};

use sprag_base::files::WriteError;
use sprag_base::text;
use sprag_base::toml::TomlError;
use sprag_history::HistoryError;

pub type Result<T, E = ReleaseError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    #[error("{message}")]
    Refused { message: String, hint: String },
    #[error("{message}")]
    Damaged { message: String, hint: String },
    #[error("{}", .0.first().map_or_else(String::new, Fault::line))]
    Disagreement(Vec<Fault>),
    #[error("cannot {action} `{}`", .path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Toml(#[from] TomlError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl ReleaseError {
    pub fn refused(message: impl AsRef<str>, hint: impl AsRef<str>) -> ReleaseError {
        let [message, hint] = [message.as_ref(), hint.as_ref()].map(text::printable);
        ReleaseError::Refused { message, hint }
    }

    pub fn damaged(message: impl AsRef<str>, hint: impl AsRef<str>) -> ReleaseError {
        let [message, hint] = [message.as_ref(), hint.as_ref()].map(text::printable);
        ReleaseError::Damaged { message, hint }
    }

    /// `action` reads after "cannot".
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ReleaseError {
        let path = path.to_owned();
        move |source| ReleaseError::Io { action, path, source }
    }

    pub fn hint(&self) -> Option<String> {
        match self {
            ReleaseError::Refused { hint, .. } | ReleaseError::Damaged { hint, .. } => Some(hint.clone()),
            ReleaseError::History(error) => error.hint(),
            _ => None,
        }
    }

    /// Whether recorded data is damaged or contradicted.
    pub fn is_damage(&self) -> bool {
        matches!(self, ReleaseError::Damaged { .. } | ReleaseError::Disagreement(_))
    }
}

impl From<Fault> for ReleaseError {
    fn from(fault: Fault) -> ReleaseError {
        ReleaseError::Disagreement(vec![fault])
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub path: String,
    /// The first wrong byte, from 0, where the expected content is available.
    pub byte: Option<usize>,
    /// Reads after the path.
    pub what: String,
}

impl Fault {
    pub fn new(path: &str, what: impl Into<String>) -> Fault {
        Fault { path: path.to_owned(), byte: None, what: what.into() }
    }

    /// A fault unless the contents are equal.
    pub fn compare(path: &str, actual: &[u8], expected: &[u8], what: impl Into<String>) -> Option<Fault> {
        let byte = first_difference(actual, expected)?;
        Some(Fault { byte: Some(byte), ..Fault::new(path, what) })
    }

    pub fn line(&self) -> String {
        let byte = self.byte.map_or_else(String::new, |byte| format!(" at byte {byte}"));
        text::printable(&format!("fails: {}{byte}: {}", self.path, self.what))
    }
}

/// The first byte, from 0, at which two contents differ; absent where they are equal.
pub(crate) fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let place = one.iter().zip(other).position(|(a, b)| a != b);
    place.or_else(|| (one.len() != other.len()).then(|| one.len().min(other.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_located() {
        assert_eq!(first_difference(b"abc", b"abc"), None);
        assert_eq!(first_difference(b"abc", b"axc"), Some(1));
        assert_eq!(first_difference(b"abc", b"ab"), Some(2));
    }
}
