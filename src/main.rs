//! The `sprag` binary.

fn main() {}
