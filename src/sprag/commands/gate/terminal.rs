//! What a gate found, for a terminal.

use crate::commands::{text, verdicts};
use sprag_model::gate::{MeanChange, SuiteGate};
use sprag_model::run::RunStatus;
use sprag_model::verdict::{Comparison, Verdict};
use sprag_report::gate::common_note;

/// One suite: what was held against what, what speaks against the run, the table of verdicts, and the suite as a whole.
pub(in crate::commands) fn suite_text(suite: &SuiteGate, only_changed: bool) -> String {
    let mut text = format!("{}\n", text::printable(&head(suite)));
    for reason in &suite.quality {
        text.push_str(&format!("rough: {}\n", text::printable(reason)));
    }
    text + &table_text(suite, only_changed)
}

/// The table of verdicts and the suite as a whole.
pub(in crate::commands) fn table_text(suite: &SuiteGate, only_changed: bool) -> String {
    let noted = common_note(&suite.comparisons);
    let mut told: Vec<Comparison> =
        suite.comparisons.iter().filter(|one| !only_changed || one.verdict != Verdict::Unchanged).cloned().collect();
    for one in told.iter_mut().filter(|one| noted.is_some() && one.note.as_deref() == noted) {
        one.note = None;
    }
    let mut text = verdicts::table(&told);
    let hidden = suite.comparisons.len() - told.len();
    if hidden > 0 {
        text.push_str(&format!("{} unchanged\n", text::count(hidden, "metric")));
    }
    if let Some(note) = noted {
        text.push_str(&format!("of all that was judged: {}\n", text::printable(note)));
    }
    if let Some(whole) = suite.whole.filter(|whole| whole.benchmarks > 1) {
        text.push_str(&format!("{}\n", whole_words(&whole)));
    }
    text
}

fn head(suite: &SuiteGate) -> String {
    let Some(machine) = &suite.machine else {
        let why = suite.reason.as_deref().unwrap_or("it has no run");
        let base = if suite.has_base { format!(", held against {}", suite.against) } else { String::new() };
        return format!("{}: {why}{base}", suite.suite);
    };
    let commit = match &suite.commit {
        Some(commit) => format!("{}{}", commit.short(), if commit.dirty { " (changed files)" } else { "" }),
        None => "no commit".to_owned(),
    };
    let head = format!("{} on {machine} at {commit}", suite.suite);
    match suite.status {
        Some(RunStatus::Ok) if suite.has_base => format!("{head}, against {}", suite.against),
        Some(RunStatus::Ok) => format!("{head}, without a baseline: {}", suite.against),
        Some(status) => {
            let reason = suite.reason.as_deref().unwrap_or("no reason given");
            let base = if suite.has_base { format!("; held against {}", suite.against) } else { String::new() };
            format!("{head}: {}, {reason}{base}", status.word())
        }
        None => head,
    }
}

/// `all 12 together: +1.2 % (+0.4 to +2.0)`.
fn whole_words(whole: &MeanChange) -> String {
    let interval = whole.interval.map_or(String::new(), |interval| format!(" ({})", text::percent_interval(interval)));
    format!("all {} together: {}{interval}, worse where above zero", whole.benchmarks, text::percent(whole.change))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_report::gate::example;

    #[test]
    fn what_speaks_against_a_run_stands_under_its_head() {
        let reasons = vec!["throttled".to_owned(), "\u{1b}[31mload".to_owned()];
        let suite = SuiteGate { quality: reasons, ..example::passing().suites[0].clone() };
        let text = suite_text(&suite, false);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("cpu on ci-box at bbbbbbb"), "{text}");
        assert_eq!(lines[1..3], ["rough: throttled", "rough: \\u{1b}[31mload"]);
        assert!(lines[3].starts_with("verdict"), "{text}");
    }

    #[test]
    fn a_note_that_all_bear_stands_once() {
        let noted = |name: &str, note: Option<&str>| Comparison {
            note: note.map(str::to_owned),
            ..example::comparison(name, 1.0, Verdict::Unchanged)
        };
        let text = |notes: [Option<&str>; 2], only_changed: bool| {
            let [a, b] = notes;
            let comparisons = vec![noted("cpu/a @fast", a), noted("cpu/b @fast", b)];
            table_text(&SuiteGate { comparisons, ..example::suite("cpu") }, only_changed)
        };
        let once = text([Some("too few sessions"); 2], false);
        assert!(once.ends_with("\nof all that was judged: too few sessions\n"), "{once}");
        assert_eq!(once.matches("too few sessions").count(), 1);
        let hidden = text([Some("too few sessions"); 2], true);
        assert_eq!(hidden, "2 metrics unchanged\nof all that was judged: too few sessions\n");
        let beside = text([Some("too few sessions"), None], false);
        assert!(beside.lines().nth(1).is_some_and(|row| row.ends_with("too few sessions")), "{beside}");
    }
}
