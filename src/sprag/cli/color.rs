//! Text on a terminal: the mark or the verdict that begins a line is coloured, and control characters are escaped.

use std::io::{self, Write};

use clap::ColorChoice;
use sprag_base::text::printable;

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

#[derive(Clone, Copy, Debug)]
pub struct Shown {
    pub is_colored: bool,
    /// Names in data that are printed as they are, such as exports, could control the terminal.
    pub is_escaped: bool,
}

/// Passes lines on as a terminal shows them.
pub struct TerminalText<W: Write> {
    out: W,
    line: Vec<u8>,
    shown: Shown,
}

impl<W: Write> TerminalText<W> {
    pub fn new(out: W, shown: Shown) -> TerminalText<W> {
        TerminalText { out, line: Vec::new(), shown }
    }

    fn write_line(&mut self) -> io::Result<()> {
        let mut text = String::from_utf8_lossy(&self.line).into_owned();
        if self.shown.is_escaped {
            let safe = text.split_inclusive(['\n', '\t']).map(|part| match part.strip_suffix(['\n', '\t']) {
                Some(before) => printable(before) + &part[before.len()..],
                None => printable(part),
            });
            text = safe.collect();
        }
        if self.shown.is_colored {
            text = painted(&text);
        }
        self.line.clear();
        self.out.write_all(text.as_bytes())
    }
}

impl<W: Write> Write for TerminalText<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(line);
            if line.ends_with(b"\n") {
                self.write_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_line()?;
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
        let mut out = TerminalText::new(Vec::new(), Shown { is_colored: true, is_escaped: false });
        for piece in [
            "regressed  cpu/a\nunchanged",
            "  cpu/b\n  ▲ e-1 slower\npassage\ngo  a format\nfail: 1 regressed\n",
            "pass",
        ] {
            out.write_all(piece.as_bytes()).expect("memory can be written");
        }
        out.flush().expect("memory can be written");
        let expected = "\u{1b}[31mregressed\u{1b}[0m  cpu/a\nunchanged  cpu/b\n  \u{1b}[31m▲\u{1b}[0m e-1 slower\npassage\ngo  a format\n\
            \u{1b}[31mfail\u{1b}[0m: 1 regressed\n\u{1b}[32mpass\u{1b}[0m";
        assert_eq!(String::from_utf8_lossy(&out.out), expected);
    }

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        let mut out = TerminalText::new(Vec::new(), Shown { is_colored: true, is_escaped: true });
        out.write_all(b"fail\ta\x1b[2J\x07\r\nb\x1b").and_then(|()| out.flush()).expect("memory can be written");
        let expected = "\u{1b}[31mfail\u{1b}[0m\ta\\u{1b}[2J\\u{7}\\u{d}\nb\\u{1b}";
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
