//! What hyperfine exports: JSON of version 1.0 to 1.20, and CSV. Its tables for people are refused: they are rounded.

mod csv;
mod json;
mod report;

pub(super) use report::FORMAT;
