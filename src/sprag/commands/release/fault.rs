//! What disagrees in what an attestation wrote.

use crate::commands::text;

/// A file that disagrees, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Which file of the folder.
    pub(super) path: String,
    /// The first byte that disagrees, from 0, where it is known what the file must hold.
    pub(super) byte: Option<usize>,
    /// What is wrong, as it reads after that.
    pub(super) what: String,
}

impl Fault {
    pub(super) fn of(path: &str, what: impl Into<String>) -> Fault {
        Fault { path: path.to_owned(), byte: None, what: what.into() }
    }

    pub(super) fn line(&self) -> String {
        let byte = self.byte.map_or_else(String::new, |byte| format!(" at byte {byte}"));
        text::printable(&format!("fails: {}{byte}: {}", self.path, self.what))
    }
}
