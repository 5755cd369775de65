//! Verdicts for a terminal: the table of comparisons, their counts in words, and what doubt comes to.

use super::{Exit, text};
use crate::cli::Inconclusive;
use crate::model::verdict::{Comparison, Counts};

/// One row a comparison; nothing for none.
pub(super) fn table(comparisons: &[Comparison]) -> String {
    if comparisons.is_empty() {
        return String::new();
    }
    let head = ["verdict", "benchmark", "metric", "baseline", "current", "change", "interval", "allowed", "could see"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for comparison in comparisons {
        let typical = comparison.baseline.or(comparison.current).unwrap_or(0.0);
        let scale = comparison.metric.unit.scale(typical);
        let value = |value: Option<f64>| value.map_or("–".to_owned(), |value| scale.text(value));
        let effect = comparison.effect;
        let mut row = vec![
            comparison.verdict.word().to_owned(),
            text::printable(&comparison.benchmark),
            comparison.metric.name.clone(),
            value(comparison.baseline),
            value(comparison.current),
            effect.map_or("–".to_owned(), |effect| format!("{:+.1} %", effect.change * 100.0)),
            effect
                .and_then(|effect| effect.interval)
                .map_or("–".to_owned(), |(low, high)| format!("{:+.1} to {:+.1}", low * 100.0, high * 100.0)),
            value(comparison.allowed),
            effect
                .and_then(|effect| effect.detectable)
                .map_or("–".to_owned(), |size| format!("{:.1} %", size * 100.0)),
        ];
        let reason = comparison.verdict.reason().or(comparison.note.as_deref());
        row.extend(reason.map(text::printable));
        rows.push(row);
    }
    text::columns(&rows, &[3, 4, 5, 6, 7, 8])
}

/// How many of which verdict, such as `2 regressed, 17 unchanged`.
pub(super) fn counts(counts: &Counts) -> String {
    counts.words()
}

/// How a check came out, in one line.
pub(super) fn summary(counts: &Counts, exit: Exit) -> String {
    let word = match exit {
        Exit::Done => "pass",
        Exit::Failed => "fail",
        Exit::Inconclusive => "inconclusive",
        Exit::NotMeasured => "not measured",
        Exit::Usage | Exit::Integrity | Exit::CannotTell | Exit::Abort => "error",
    };
    format!("check: {word}; {}", self::counts(counts))
}

/// The exit code of what cannot be decided.
pub(super) fn in_doubt(inconclusive: Inconclusive) -> Exit {
    match inconclusive {
        Inconclusive::Report => Exit::Inconclusive,
        Inconclusive::Ok => Exit::Done,
        Inconclusive::Fail => Exit::Failed,
    }
}
