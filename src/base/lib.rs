//! What every crate needs, once.

pub mod process;
pub mod stats;
pub mod text;
