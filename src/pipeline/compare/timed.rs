//! Commands that are timed themselves, from start to end, instead of reporting their times.

use std::path::Path;

use crate::config::{self, Suite, SuiteKind};
use crate::text;
use sprag_formats::OutputFormat;

/// The suite of a command without a name.
pub(crate) const SUITE: &str = "bench";

/// The words of a command; one word with blanks is for the shell.
pub(crate) fn command(words: &[String]) -> Vec<String> {
    match words {
        [text] if text.trim().contains(' ') => vec!["sh".to_owned(), "-c".to_owned(), text.clone()],
        words => words.to_vec(),
    }
}

pub(crate) fn suite(folder: &Path, command: &[String], processes: Option<u32>) -> Suite {
    suite_named(SUITE, folder, command, processes)
}

pub(crate) fn suite_named(name: &str, folder: &Path, command: &[String], processes: Option<u32>) -> Suite {
    Suite {
        command: command.to_vec(),
        cwd: Some(folder.to_owned()),
        processes,
        format: Some(OutputFormat::Time),
        timed: config::timed(name),
        ..Suite::of_kind(SuiteKind::Command)
    }
}

pub(crate) fn shown(command: &[String]) -> String {
    match command {
        [shell, option, script] if shell == "sh" && option == "-c" => text::printable(script),
        words => text::printable(&words.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_with_blanks_is_for_the_shell() {
        let check = |words: &[&str], expected: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(command(&words), expected, "{words:?}");
        };
        check(&["./a"], &["./a"]);
        check(&["./a", "1 2"], &["./a", "1 2"]);
        check(&["sleep 0.1 | cat"], &["sh", "-c", "sleep 0.1 | cat"]);
        assert_eq!(shown(&command(&["sleep 0.1".to_owned()])), "sleep 0.1");
    }
}
