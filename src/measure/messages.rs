//! What a process that failed said last, and how it ended: the sentences that explain it.

use std::process::ExitStatus;

use sprag_base::process::describe_exit;

/// The end of an output that is kept for messages, in bytes.
pub(crate) const TAIL: usize = 8 << 10;

/// How a Rust program begins the message of a panic; the message stands on the next line.
const PANIC: &str = "panicked at ";

const LINES: usize = 3;

/// The most that is quoted, in characters.
const LONGEST: usize = 300;

/// The message of the first panic, else the last line that says something; nothing where there is none.
pub(crate) fn last_words(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let panic = lines.iter().position(|line| line.contains(PANIC));
    let message = |place: usize| {
        let said = lines[place + 1..].iter().take_while(|line| !is_advice(line) && !line.contains(PANIC));
        said.take(LINES).copied().collect::<Vec<&str>>().join(" ")
    };
    let message = panic.map(message).filter(|message| !message.is_empty());
    let last = message.or_else(|| lines.iter().rev().find(|line| !is_advice(line)).map(|line| (*line).to_owned()))?;
    Some(last.chars().take(LONGEST).collect())
}

/// Whether a line is what Rust adds to every panic.
fn is_advice(line: &str) -> bool {
    line.starts_with("note: ") || line.starts_with("stack backtrace:")
}

/// The last lines of an output that hold anything, in their order.
pub(crate) fn last_lines(bytes: &[u8], count: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let clean = |line: &str| {
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        line.trim().chars().take(LONGEST).collect::<String>()
    };
    let mut lines: Vec<String> = text.lines().map(clean).filter(|line| !line.is_empty()).collect();
    lines.split_off(lines.len().saturating_sub(count))
}

pub(crate) fn exit_text(status: ExitStatus) -> String {
    format!("it {}", describe_exit(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_that_explains_is_found() {
        let check = |stderr: &str, expected: Option<&str>| {
            assert_eq!(last_words(stderr).as_deref(), expected, "{stderr}");
        };
        check("", None);
        check("first\nout of luck\n\n", Some("out of luck"));
        let panic = "thread 'main' (7) panicked at src/a.rs:3:5:\nindex out of bounds\n\
                     note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        check(panic, Some("index out of bounds"));
        let traced = "thread 'main' panicked at src/a.rs:3:5:\nno such tile\nstack backtrace:\n   0: main\n             at ./a\n";
        check(traced, Some("no such tile"));
        let two = "thread 'a' panicked at a.rs:1:1:\nassertion failed\n  left: 1\n right: 2\nthread 'main' panicked at b.rs:1:1:\njoin";
        check(two, Some("assertion failed left: 1 right: 2"));
        check(&"x".repeat(1000), Some(&"x".repeat(LONGEST)));
    }
}
