//! The findings of a gate as text for a terminal.

use crate::text;
use sprag_model::{Comparison, MeanChange, RunStatus, SuiteGate, Verdict};
use sprag_report::gate::{answer, common_note, effect};

pub fn suite_text(suite: &SuiteGate, only_changed: bool) -> String {
    let mut text = text::line(&head(suite), 0);
    for reason in &suite.quality {
        text.push_str(&text::line(&format!("rough: {reason}"), 0));
    }
    text + &table_text(suite, only_changed)
}

pub fn table_text(suite: &SuiteGate, only_changed: bool) -> String {
    let noted = common_note(&suite.comparisons);
    let mut shown: Vec<Comparison> =
        suite.comparisons.iter().filter(|one| !only_changed || one.verdict != Verdict::Unchanged).cloned().collect();
    for one in shown.iter_mut().filter(|one| noted.is_some() && one.note.as_deref() == noted) {
        one.note = None;
    }
    let mut text = table(&shown);
    let hidden = suite.comparisons.len() - shown.len();
    if hidden > 0 {
        text.push_str(&format!("{} unchanged\n", text::count(hidden, "metric")));
    }
    if let Some(note) = noted {
        text.push_str(&text::line(&format!("all metrics: {note}"), 0));
    }
    if let Some(mean) = suite.mean_change.filter(|mean| mean.benchmarks > 1) {
        text.push_str(&format!("{}\n", mean_words(&mean)));
    }
    text
}

fn head(suite: &SuiteGate) -> String {
    let Some(machine) = &suite.machine else {
        let why = suite.reason.as_deref().unwrap_or("it has no run");
        let base = if suite.has_base { format!(", compared with {}", suite.against) } else { String::new() };
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
            let base = if suite.has_base { format!("; compared with {}", suite.against) } else { String::new() };
            format!("{head}: {}, {reason}{base}", status.word())
        }
        None => head,
    }
}

/// `geometric mean of 12 benchmarks: +1.2 % (+0.4 to +2.0); positive is worse`.
fn mean_words(mean: &MeanChange) -> String {
    let interval = mean.interval.map_or(String::new(), |interval| format!(" ({})", text::percent_interval(interval)));
    format!(
        "geometric mean of {} benchmarks: {}{interval}; positive is worse",
        mean.benchmarks,
        text::percent(mean.change)
    )
}

fn table(comparisons: &[Comparison]) -> String {
    let heads =
        ["verdict", "benchmark", "metric", "baseline", "current", "change", "interval", "allowed", "detectable"];
    let row = |comparison: &Comparison| {
        // Zero gives no scale.
        let sizes = [comparison.baseline, comparison.current].into_iter().flatten();
        let typical = sizes.into_iter().find(|value| *value != 0.0).unwrap_or(0.0);
        let scale = comparison.metric.unit.scale(typical);
        let value = |value: Option<f64>| value.map_or(text::NONE.to_owned(), |value| scale.text(value));
        let effect = effect(comparison);
        let mut row = vec![
            comparison.word().to_owned(),
            text::printable(&comparison.benchmark),
            comparison.metric.name.clone(),
            value(comparison.baseline),
            value(comparison.current),
            effect.map_or(text::NONE.to_owned(), |effect| text::percent(effect.change)),
            effect.and_then(|effect| effect.interval).map_or(text::NONE.to_owned(), text::percent_interval),
            value(comparison.allowed),
            effect.and_then(|effect| effect.detectable).map_or(text::NONE.to_owned(), text::percent_size),
        ];
        let reason = comparison.verdict.reason().or(comparison.note.as_deref()).map(str::to_owned);
        let reasons: Vec<String> = answer(comparison).into_iter().chain(reason).collect();
        if !reasons.is_empty() {
            row.push(text::printable(&reasons.join("; ")));
        }
        row
    };
    text::table(heads, comparisons.iter().map(row), &[3, 4, 5, 6, 7, 8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_report::gate::example;

    #[test]
    fn zeros_and_tiny_changes_are_formatted() {
        let check = |baseline: f64, current: f64, ratio: f64, expected: &str| {
            let one = Comparison {
                baseline: Some(baseline),
                current: Some(current),
                allowed: None,
                ..example::comparison("cpu/a @fast", ratio, Verdict::Unchanged)
            };
            let text = table(&[one]);
            let row: Vec<&str> = text.lines().nth(1).expect("a row").split_whitespace().skip(3).collect();
            assert_eq!(row.join(" "), expected);
        };
        check(2e-3, 1.9999e-3, 0.99996, "time 2.000 ms 2.000 ms 0.0 % -0.5 to +0.5 – 2.8 %");
        check(0.0, 2e-3, 1.0, "time 0 ms 2.000 ms – – – –");
        check(0.0, 0.0, 1.0, "time 0 ns 0 ns – – – –");
    }

    #[test]
    fn reasons_against_a_run_come_under_its_head() {
        let reasons = vec!["throttled".to_owned(), "\u{1b}[31mload".to_owned()];
        let suite = SuiteGate { quality: reasons, ..example::passing().suites[0].clone() };
        let text = suite_text(&suite, false);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("cpu on ci-box at bbbbbbb"), "{text}");
        assert_eq!(lines[1..3], ["rough: throttled", "rough: \\u{1b}[31mload"]);
        assert!(lines[3].starts_with("verdict"), "{text}");
    }

    #[test]
    fn a_note_of_all_judged_metrics_is_written_once() {
        let noted = |name: &str, note: Option<&str>| Comparison {
            note: note.map(str::to_owned),
            ..example::comparison(name, 1.0, Verdict::Unchanged)
        };
        let text = |notes: [Option<&str>; 2], only_changed: bool| {
            let comparisons = vec![noted("cpu/a @fast", notes[0]), noted("cpu/b @fast", notes[1])];
            table_text(&SuiteGate { comparisons, ..example::suite("cpu") }, only_changed)
        };
        let once = text([Some("too few sessions"); 2], false);
        assert!(once.ends_with("\nall metrics: too few sessions\n"), "{once}");
        assert_eq!(once.matches("too few sessions").count(), 1);
        let hidden = text([Some("too few sessions"); 2], true);
        assert_eq!(hidden, "2 metrics unchanged\nall metrics: too few sessions\n");
        let of_one = text([Some("too few sessions"), None], false);
        assert!(of_one.lines().nth(1).is_some_and(|row| row.ends_with("too few sessions")), "{of_one}");
    }
}
