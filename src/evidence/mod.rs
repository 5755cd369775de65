//! Evidence that others can check without us: what a deterministic run is known by.
//!
//! Pure functions from values and bytes to values; nothing here opens a file.

pub mod file;
pub mod fixture;
pub mod ledger;
pub mod manifest;
pub mod trace;
