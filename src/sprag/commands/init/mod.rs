//! `sprag init`: what a project needs for Sprag to work in it, and on GitHub.

mod existing;
mod plan;
mod render;
mod write;

pub(super) use write::run;
