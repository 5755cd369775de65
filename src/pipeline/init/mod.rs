//! What a project needs for Sprag to work in it, and on GitHub.

mod options;
mod render;
mod existing;
mod files;

pub use files::init;
pub use options::{InitOptions, digest, repository};
