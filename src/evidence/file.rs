//! The files of evidence: strict JSON, so that every reader has the same value of it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use sprag_base::json;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("the whole number on line {0} is beyond 64 bits")]
    Long(usize),
}

pub fn value(bytes: &[u8]) -> Result<Value, FileError> {
    match json::long_integer(bytes) {
        Some(line) => Err(FileError::Long(line)),
        None => Ok(json::parse(bytes)?),
    }
}

pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FileError> {
    Ok(serde_json::from_value(value(bytes)?)?)
}

/// A file of evidence, for people to read: sorted keys, two spaces a level, a line feed at the end.
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    json::to_pretty(&serde_json::to_value(value).expect("texts and finite numbers are JSON")).into_bytes()
}

/// Checks rows of what to replace in a good text by what (`⏎` ends a line), the line of the fault, and words of it.
#[cfg(test)]
pub(crate) fn check_faults(good: &str, rows: &str, refused: impl Fn(&[u8]) -> sprag_base::toml::TomlError) {
    for row in rows.lines() {
        let cells: Vec<String> = row.split(" => ").map(|cell| cell.replace('⏎', "\n")).collect();
        let [from, to, line, words] = &cells[..] else { panic!("`{row}` has {} cells", cells.len()) };
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{row}");
        let error = refused(text.as_bytes());
        assert!(error.line.to_string() == *line && error.to_string().contains(words), "{row}: {error}");
    }
}
