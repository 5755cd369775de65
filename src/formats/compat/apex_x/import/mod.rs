//! The seed's files as runs to import: reports of its three suites, baselines, and trend files.

mod figures;
mod report;
mod kept;
mod document;

pub use document::{FILES, read, recognises};
