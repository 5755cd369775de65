//! Whole-program tests, one binary. Its table of contents:

/// The house rules: imports, doors, file length, module docs.
mod tidy;
