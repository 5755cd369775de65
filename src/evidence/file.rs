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
