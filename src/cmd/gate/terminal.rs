//! What a gate found, for a terminal.

use crate::cmd::{text, verdicts};
use crate::model::gate::{SuiteGate, Whole};
use crate::model::run::RunStatus;
use crate::model::verdict::{Comparison, Verdict};

/// One suite: what was held against what, the table of verdicts, and the suite as a whole.
pub(in crate::cmd) fn suite_text(suite: &SuiteGate, only_changed: bool) -> String {
    format!("{}\n{}", text::printable(&head(suite)), table_text(suite, only_changed))
}

/// The table of verdicts and the suite as a whole.
pub(in crate::cmd) fn table_text(suite: &SuiteGate, only_changed: bool) -> String {
    let told: Vec<Comparison> =
        suite.comparisons.iter().filter(|one| !only_changed || one.verdict != Verdict::Unchanged).cloned().collect();
    let mut text = verdicts::table(&told);
    let hidden = suite.comparisons.len() - told.len();
    if hidden > 0 {
        text.push_str(&format!("{} unchanged\n", text::count(hidden, "metric")));
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
fn whole_words(whole: &Whole) -> String {
    let share = |value: f64| format!("{:+.1}", value * 100.0);
    let interval = whole.interval.map_or(String::new(), |(low, high)| format!(" ({} to {})", share(low), share(high)));
    format!("all {} together: {} %{interval}, worse where above zero", whole.benchmarks, share(whole.change))
}
