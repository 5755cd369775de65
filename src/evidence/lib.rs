//! Evidence that others can check without us: what a deterministic run is known by, and what a release rests on.
//!
//! Pure functions from values and bytes to values; nothing here opens a file.

pub mod bundle;
pub mod checklist;
pub mod derive;
pub mod envelope;
pub mod figures;
pub mod file;
pub mod filled;
pub mod fixture;
pub mod ledger;
pub mod manifest;
mod mend;
pub mod play;
pub mod releases;
mod selection;
pub mod statement;
pub mod sums;
pub mod toml_text;
pub mod trace;
