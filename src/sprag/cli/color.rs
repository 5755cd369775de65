//! Colour of verdicts on a terminal: the mark or the verdict that begins a line.

use std::io::{self, Write};

use clap::ColorChoice;

const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const MAGENTA: &str = "35";

/// What begins a line, and its colour as a parameter of the escape sequence.
const STARTS: [(&str, &str); 17] = [
    ("▲▼", RED),
    ("▲", RED),
    ("regressed", RED),
    ("missing", RED),
    ("failed", RED),
    ("fail", RED),
    ("▼", GREEN),
    ("improved", GREEN),
    ("pass", GREEN),
    ("?", YELLOW),
    ("◆", YELLOW),
    ("accepted", YELLOW),
    ("inconclusive", YELLOW),
    ("not comparable", YELLOW),
    ("no baseline", YELLOW),
    ("rough", YELLOW),
    ("◇", MAGENTA),
];

/// Whether standard output is coloured: by default on a terminal, unless `NO_COLOR` is set.
pub fn is_wanted(choice: ColorChoice, is_terminal: bool, no_color: bool) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => is_terminal && !no_color,
    }
}

/// Passes lines on, those that begin with a verdict in its colour.
pub struct Colored<W: Write> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> Colored<W> {
    pub fn new(out: W) -> Colored<W> {
        Colored { out, line: Vec::new() }
    }
}

impl<W: Write> Write for Colored<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(line);
            if line.ends_with(b"\n") {
                self.out.write_all(painted(&String::from_utf8_lossy(&self.line)).as_bytes())?;
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.line)?;
        self.line.clear();
        self.out.flush()
    }
}

fn painted(line: &str) -> String {
    let words = line.trim_start_matches(' ');
    let ends =
        |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '-' | '/' | '='));
    let start = STARTS.iter().find(|(start, _)| words.strip_prefix(start).is_some_and(ends));
    let Some((start, color)) = start else { return line.to_owned() };
    let indent = &line[..line.len() - words.len()];
    format!("{indent}\u{1b}[{color}m{start}\u{1b}[0m{}", &words[start.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_verdicts_that_begin_a_line_are_colored() {
        let mut out = Colored::new(Vec::new());
        for piece in [
            "regressed  cpu/a\nunchanged",
            "  cpu/b\n  ▲ e-1 slower\npassage\ngo  a format\nfail: 1 regressed\n",
            "pass",
        ] {
            out.write_all(piece.as_bytes()).expect("memory can be written");
        }
        out.flush().expect("memory can be written");
        let expected = "\u{1b}[31mregressed\u{1b}[0m  cpu/a\nunchanged  cpu/b\n  \u{1b}[31m▲\u{1b}[0m e-1 slower\npassage\ngo  a format\n\
            \u{1b}[31mfail\u{1b}[0m: 1 regressed\npass";
        assert_eq!(String::from_utf8_lossy(&out.out), expected);
    }

    #[test]
    fn color_is_for_terminals_unless_it_is_asked_for_or_refused() {
        for (choice, is_terminal, no_color, expected) in [
            (ColorChoice::Auto, true, false, true),
            (ColorChoice::Auto, true, true, false),
            (ColorChoice::Auto, false, false, false),
            (ColorChoice::Always, false, true, true),
            (ColorChoice::Never, true, false, false),
        ] {
            assert_eq!(is_wanted(choice, is_terminal, no_color), expected);
        }
    }
}
