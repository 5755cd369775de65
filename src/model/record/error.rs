//! What a record may be, and why a file is none.

use std::ops::RangeInclusive;

/// The version of the record that this build writes, and the newest it reads.
pub const SCHEMA_VERSION: u64 = 2;

/// The largest record that is read, in bytes. A run of a thousand benchmarks takes about one megabyte.
pub const MAX_RECORD_BYTES: usize = 32 << 20;

/// The years in which a run can have been measured.
pub const YEARS: RangeInclusive<i32> = 1970..=9999;

/// Why a file is not a run record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Larger than [`MAX_RECORD_BYTES`].
    #[error("holds {0} bytes, more than the {MAX_RECORD_BYTES} that a record may have")]
    Large(usize),
    /// Not JSON, or cut short.
    #[error("is not JSON: {0}")]
    Json(serde_json::Error),
    /// An object without a `schema_version` from 1 on, so somebody else's file.
    #[error("is not a run record: it has no `schema_version` from 1 on")]
    Foreign,
    #[error("has schema version {0}, this build reads up to {SCHEMA_VERSION}; a newer sprag can read it")]
    Newer(u64),
    /// A field is missing, unknown or of the wrong kind.
    #[error("does not follow the schema of its version: {0}")]
    Schema(serde_json::Error),
    /// A benchmark whose parts contradict its id, or cannot be written.
    #[error("holds a benchmark `{id}` that cannot be: {reason}", id = .id.escape_debug())]
    Benchmark { id: String, reason: String },
    #[error("lists the benchmark `{0}` twice")]
    Duplicate(String),
    #[error("has `{field}` {reason}")]
    Field { field: &'static str, reason: String },
    /// Valid, but not written in the canonical form that digests are taken of.
    #[error("is not in canonical form, so its name cannot vouch for it")]
    NotCanonical,
}
