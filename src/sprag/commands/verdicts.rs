//! Verdicts for a terminal: the table of comparisons, their counts in words, and what doubt comes to.

use super::{Exit, text};
use crate::cli::Inconclusive;
use sprag_model::verdict::{Comparison, Counts};
use sprag_report::gate::{answer, effect};

/// One row a comparison; nothing for none.
pub(super) fn table(comparisons: &[Comparison]) -> String {
    if comparisons.is_empty() {
        return String::new();
    }
    let head = ["verdict", "benchmark", "metric", "baseline", "current", "change", "interval", "allowed", "could see"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for comparison in comparisons {
        // Zero has no size that a unit could be chosen by.
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
        let told: Vec<String> = answer(comparison).into_iter().chain(reason).collect();
        if !told.is_empty() {
            row.push(text::printable(&told.join("; ")));
        }
        rows.push(row);
    }
    text::columns(&rows, &[3, 4, 5, 6, 7, 8])
}

/// How many of which verdict, such as `2 regressed, 17 unchanged`.
pub(super) fn counts(counts: &Counts) -> String {
    counts.words()
}

/// The exit code of what cannot be decided.
pub(super) fn in_doubt(inconclusive: Inconclusive) -> Exit {
    match inconclusive {
        Inconclusive::Report => Exit::Inconclusive,
        Inconclusive::Ok => Exit::Done,
        Inconclusive::Fail => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::verdict::Verdict;
    use sprag_report::gate::example;

    #[test]
    fn zeros_and_what_is_less_than_a_digit_read_well() {
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
}
