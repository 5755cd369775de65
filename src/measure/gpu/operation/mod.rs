//! The operations of the GPU suite: for each its shapes, its programs in both forms, and what it must come to.

mod sources;
mod config;

pub use self::config::Config;
pub use self::sources::source;
