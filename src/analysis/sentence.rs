//! What a series shows, in one sentence that page, chart and Markdown share.

use crate::model::metric::Better;
use crate::model::rollup::LatestRow;
use crate::model::series::Series;
use crate::model::verdict::{Comparison, Verdict};

/// Changes below this are called none: the third digit is beyond what any run here resolves.
const SMALLEST_SAID: f64 = 0.0005;

/// The newest value, its change against baseline and previous run, and what the series rests on.
pub(super) fn of(series: &Series, latest: &LatestRow, comparison: Option<&Comparison>) -> String {
    let Some(newest) = series.newest() else {
        return "No run has measured this series.".to_owned();
    };
    let scale = series.metric.unit.scale(newest.value);
    let mut text = scale.text(newest.value);
    let sha = newest.commit.get(..7).unwrap_or_default();
    if !sha.is_empty() {
        text.push_str(&format!(" at {sha}"));
    }
    text.push_str(&format!(" on {}", newest.time.format("%-d %B %Y")));
    match comparison.map(|one| (&one.verdict, one.baseline)) {
        Some((Verdict::NotComparable(reason), _)) => {
            text.push_str(&format!(", not comparable with the baseline ({reason})"));
        }
        Some((verdict, Some(baseline))) => {
            let change = change_words(newest.value / baseline - 1.0, series.metric.better);
            text.push_str(&format!(", {change} the baseline of {}", scale.text(baseline)));
            text.push_str(match verdict {
                Verdict::Regressed => ": regressed",
                Verdict::Improved => ": improved",
                _ => ", within what is allowed",
            });
        }
        _ => {}
    }
    if let Some(change) = latest.change_previous {
        text.push_str(&format!("; {} the run before", change_words(change, series.metric.better)));
    }
    let runs = series.points.len();
    let since = series.points.first().map(|point| point.time.format("%-d %B %Y").to_string()).unwrap_or_default();
    text.push_str(&match runs {
        1 => "; the only run so far.".to_owned(),
        _ => format!("; {runs} runs since {since}."),
    });
    text
}

fn change_words(change: f64, better: Better) -> String {
    if change.abs() < SMALLEST_SAID {
        return "the same as".to_owned();
    }
    let word = match (change > 0.0, better) {
        (true, Better::Lower) => "worse than",
        (false, Better::Lower) => "better than",
        (true, Better::Higher) => "better than",
        (false, Better::Higher) => "worse than",
    };
    format!("{:.1} % {word}", change.abs() * 100.0)
}
