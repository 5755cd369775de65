//! Lines on standard error: what a command tells while it works.

use std::io::Write as _;

use crate::text::printable;

/// Writes a line to standard error. Where nobody reads that any more, what was done stays done, and the exit code tells.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What a user should know and need not mend: standard error, one line.
pub fn note(message: &str) {
    say(&format!("note: {}", printable(message)));
}

/// A warning: standard error, one line.
pub fn warn(message: &str) {
    say(&format!("warning: {}", printable(message)));
}
