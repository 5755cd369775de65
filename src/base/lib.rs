//! What every crate needs, once.

pub mod stats;
pub mod text;
