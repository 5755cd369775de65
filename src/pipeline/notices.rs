//! Lines on standard error: what a command tells while it works.

use std::error::Error;
use std::io::Write as _;

use crate::error::hint_of;
use crate::text::printable;

/// Writes a line to standard error. Where nobody reads that any more, what was done stays done, and the exit code tells.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// An error with its causes, and what the user can do about it.
pub fn error(error: &(dyn Error + 'static)) {
    let (mut message, mut next) = (error.to_string(), error.source());
    while let Some(cause) = next {
        message.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    say(&format!("error: {message}"));
    if let Some(hint) = hint_of(error) {
        say(&format!("hint: {hint}"));
    }
}

/// What a user should know and need not mend: standard error, one line.
pub fn note(message: &str) {
    say(&format!("note: {}", printable(message)));
}

/// A warning: standard error, one line.
pub fn warn(message: &str) {
    say(&format!("warning: {}", printable(message)));
}
