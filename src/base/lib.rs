//! What every crate needs, once.

pub mod files;
pub mod process;
pub mod stats;
pub mod text;
