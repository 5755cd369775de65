//! Evidence that others can check without us: manifests of deterministic runs, and what a release depends on.
//!
//! Functions from values and bytes to values; `release` alone reads files and the history.

pub mod bundle;
pub mod checklist;
pub mod derive;
pub mod envelope;
pub mod file;
pub mod filled;
pub mod fixture;
pub mod ledger;
pub mod manifest;
pub mod play;
pub mod release;
pub mod releases;
pub mod statement;
pub mod sums;
pub mod toml_text;
