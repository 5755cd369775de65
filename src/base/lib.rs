//! What every crate needs: statistics, JSON and TOML, digests, atomic files, child processes and safe texts.

pub mod digest;
pub mod files;
pub mod glob;
pub mod json;
pub mod number;
pub mod process;
pub mod stats;
pub mod text;
pub mod toml;
