//! The operations of the GPU suite: for each its shapes, its programs in both forms, and what it must come to.

mod sources;
mod config;
mod inputs;

pub use self::config::Config;
pub use self::inputs::{Expected, Inputs, Stored};
pub use self::sources::source;
