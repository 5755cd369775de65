//! What every crate needs, once.

pub mod digest;
pub mod files;
pub mod json;
pub mod process;
pub mod stats;
pub mod text;
pub mod toml;
