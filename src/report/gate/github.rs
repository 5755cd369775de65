//! Annotations: the workflow commands of GitHub, which a job writes to its standard output.
//!
//! `::error title=TITLE::MESSAGE`, likewise `warning` and `notice`. A command is one line: line feeds and percent signs are written
//! as `%0A` and `%25`, and so are the colon and the comma of a title, which end it. GitHub shows ten annotations of a kind and step
//! and drops the others; the tenth says how many.

use super::finding::{self, Finding, Level};
use crate::text::{shortened, visible};
use sprag_model::Gate;

const SHOWN: usize = 10;

/// The longest message and the longest title, in characters.
const MESSAGE: usize = 1000;
const TITLE: usize = 200;

/// A command for each finding; what fails the gate comes first.
pub fn gate_commands(gate: &Gate) -> String {
    let findings = finding::all(gate);
    let mut text = String::new();
    for (level, command) in [(Level::Error, "error"), (Level::Warning, "warning"), (Level::Note, "notice")] {
        let result: Vec<&Finding<'_>> = findings.iter().filter(|finding| finding.level == level).collect();
        let fits = result.len() <= SHOWN;
        for finding in &result[..if fits { result.len() } else { SHOWN - 1 }] {
            text.push_str(&line(command, &finding.title, &finding.message));
        }
        if !fits {
            let title = format!("{} more", result.len() + 1 - SHOWN);
            text.push_str(&line(command, &title, "GitHub shows ten of a kind; another report has them all"));
        }
    }
    text
}

fn line(command: &str, title: &str, message: &str) -> String {
    let title = property(&visible(&shortened(&format!("sprag: {title}"), TITLE)));
    format!("::{command} title={title}::{}\n", data(&visible(&shortened(message, MESSAGE))))
}

/// Text for what follows the second `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::example;
    use sprag_model::{SuiteGate, Verdict};

    #[test]
    fn findings_are_listed_by_level() {
        insta::assert_snapshot!(gate_commands(&example::gate()));
        assert_eq!(gate_commands(&example::passing()), "");
    }

    #[test]
    fn the_tenth_of_a_kind_says_how_many_more() {
        for (count, last) in [(1, "regressed%3A cpu/a0"), (10, "regressed%3A cpu/a9"), (11, "2 more"), (100, "91 more")]
        {
            let regressed = |place| example::comparison(&format!("cpu/a{place}"), 1.1, Verdict::Regressed);
            let suites = vec![SuiteGate { comparisons: (0..count).map(regressed).collect(), ..example::suite("cpu") }];
            let text = gate_commands(&Gate { suites, ..example::gate() });
            assert_eq!(text.lines().count(), count.min(10));
            let newest = text.lines().last().expect("a line");
            assert!(newest.starts_with(&format!("::error title=sprag%3A {last}")), "{newest}");
        }
    }

    #[test]
    fn a_command_is_one_line_and_its_parts_stay_apart() {
        assert_eq!(data("50 % of\r\na::b,c"), "50 %25 of%0D%0Aa::b,c");
        assert_eq!(property("50 % of\r\na::b,c"), "50 %25 of%0D%0Aa%3A%3Ab%2Cc");
        assert_eq!(data("%0A"), "%250A");
    }
}
