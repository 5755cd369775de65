//! What a bench of Criterion leaves and prints: its folder, read for a suite and to import it, and its text.

pub mod folder;
pub mod text;

pub use folder::{FILES, read};
