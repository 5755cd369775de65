//! Cells that several tables show alike.

use crate::chart::spark::{self, Spark};
use crate::fit::Fit;
use crate::mark::{Mark, Tone};
use crate::phrase::Phrase;
use crate::{number, reasons};
use sprag_base::stats::describe;
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::{Scale, Unit};
use sprag_model::verdict::{Comparison, Verdict};

/// One prefix is kept for a group of values when the largest is at most this many times the smallest; beyond, four
/// digits of the one are too many zeros of the other.
const ONE_PREFIX: f64 = 1e5;

/// A change with its colour; coloured only where a verdict stands behind it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) class: &'static str,
    /// The figure, or an en dash.
    pub(super) figure: String,
}

/// A comparison in cells.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judgement {
    /// The change against the baseline.
    pub(super) change: Change,
    pub(super) interval: String,
    /// How far it may go.
    pub(super) limit: String,
    /// The smallest change it could have shown.
    pub(super) could_see: String,
    pub(super) mark: Mark,
    /// Why, and what else there is to know.
    pub(super) reason: Phrase,
    /// Whether the row deserves a tint.
    pub(super) bad: bool,
}

impl Change {
    /// A change without a verdict.
    pub(super) fn plain(change: Option<f64>) -> Change {
        Change { class: "", figure: change.map_or(number::NONE.to_owned(), number::percent) }
    }
}

impl Judgement {
    pub(super) fn new(comparison: &Comparison) -> Judgement {
        let effect = comparison.effect;
        let mark = Mark::of_comparison(comparison);
        let decided = matches!(comparison.verdict, Verdict::Improved | Verdict::Regressed);
        Judgement {
            change: Change {
                class: if decided { mark.class() } else { "" },
                figure: effect.map_or(number::NONE.to_owned(), |effect| number::percent(effect.change)),
            },
            interval: effect
                .and_then(|effect| effect.interval)
                .map_or(number::NONE.to_owned(), number::percent_interval),
            limit: limit(comparison).map_or(number::NONE.to_owned(), number::percent),
            could_see: effect
                .and_then(|effect| effect.detectable)
                .map_or(number::NONE.to_owned(), number::percent_size),
            mark,
            reason: Phrase::quoted(&reasons::own(comparison, &[])),
            bad: matches!(comparison.verdict, Verdict::Regressed | Verdict::Missing) && !comparison.is_accepted(),
        }
    }
}

/// How far a comparison's value may be from the baseline, as a change.
fn limit(comparison: &Comparison) -> Option<f64> {
    let baseline = comparison.baseline.filter(|baseline| *baseline != 0.0)?;
    Some(comparison.allowed? / baseline - 1.0)
}

/// The scale of a group of values that share a column: one prefix, from the value in the middle.
pub(super) fn group_scale(unit: Unit, values: &[f64]) -> Scale {
    let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).filter(|size| *size > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    unit.scale(sizes.get(sizes.len() / 2).copied().unwrap_or(1.0))
}

/// Rows that share a metric and a prefix.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MetricRows<T> {
    pub(super) metric: Metric,
    pub(super) scale: Scale,
    pub(super) rows: Vec<T>,
}

/// Splits rows into groups that share a metric and a prefix. Groups stand in the order of their first row, and rows
/// within a group keep their order. `metric_of` gives the metric and the value of a row.
pub(super) fn by_metric<T>(rows: Vec<T>, metric_of: impl Fn(&T) -> (Metric, Option<f64>)) -> Vec<MetricRows<T>> {
    let mut by_name: Vec<(Metric, Vec<T>)> = Vec::new();
    for row in rows {
        let (metric, _) = metric_of(&row);
        match by_name.iter_mut().find(|(other, _)| *other == metric) {
            Some((_, group)) => group.push(row),
            None => by_name.push((metric, vec![row])),
        }
    }
    let mut groups: Vec<MetricRows<T>> = Vec::new();
    for (metric, rows) in by_name {
        let values: Vec<f64> = rows.iter().filter_map(|row| metric_of(row).1).filter(|value| *value != 0.0).collect();
        let sizes = values.iter().map(|value| value.abs());
        let spread = sizes.clone().fold(0.0, f64::max) / sizes.fold(f64::INFINITY, f64::min);
        let common = group_scale(metric.unit, &values);
        let first_of_metric = groups.len();
        for row in rows {
            let own = metric_of(&row).1.filter(|_| spread > ONE_PREFIX).map(|value| metric.unit.scale(value));
            let scale = own.unwrap_or(common);
            match groups[first_of_metric..].iter_mut().find(|group| group.scale == scale) {
                Some(group) => group.rows.push(row),
                None => groups.push(MetricRows { metric: metric.clone(), scale, rows: vec![row] }),
            }
        }
    }
    groups
}

/// What a group of values is: `time in ms, lower is better`.
pub(super) fn metric_words(metric: &Metric, scale: Scale) -> String {
    let better = match metric.better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    };
    if scale.symbol.is_empty() {
        format!("{}, {better}", metric.name)
    } else {
        format!("{} in {}, {better}", metric.name, scale.symbol)
    }
}

/// What a group of values of controls and calibration kernels is: `control and calibration: time in ms`.
pub(super) fn auxiliary_words(metric: &Metric, scale: Scale) -> String {
    let unit = if scale.symbol.is_empty() { String::new() } else { format!(" in {}", scale.symbol) };
    format!("control and calibration: {}{unit}", metric.name)
}

pub(super) fn sparkline(series: &SeriesAnalysis) -> String {
    let tone = series.comparison.as_ref().map_or(Tone::Plain, |comparison| Mark::tone_of(&comparison.verdict));
    spark::draw(&Spark {
        values: series.series.points.iter().map(|point| point.value).collect(),
        levels: Vec::new(),
        baseline: series.latest.baseline,
        tone,
        dots: spark::DOTS,
        label: format!("Trend of the newest {}", number::counted(series.series.points.len().min(60), "run", "runs")),
    })
}

/// The median of shares, an en dash where there are none.
pub(super) fn median_share(shares: impl Iterator<Item = f64>) -> String {
    let median = describe::median(&shares.collect::<Vec<f64>>());
    median.map_or_else(|| number::NONE.to_owned(), number::percent_size)
}

/// The median of the smallest changes that show, an en dash where there are none.
pub(super) fn could_see(sizes: impl Iterator<Item = f64>) -> String {
    let median = describe::median(&sizes.collect::<Vec<f64>>());
    median.map_or_else(|| number::NONE.to_owned(), number::could_see)
}

/// The fit of a series as a sparkline: its points with the levels over them; of one that is not fitted, its newest runs.
pub(super) fn fit_sparkline(series: &SeriesAnalysis, fit: Option<&Fit<'_>>) -> String {
    let Some((fit, level)) = fit.and_then(|fit| Some((fit, fit.newest_level()?))) else { return sparkline(series) };
    let scale = series.series.metric.unit.scale(level);
    let tone = match fit.turns.last() {
        Some(turn) if turn.is_open(&series.series.metric) => turn.tone(&series.series.metric),
        _ => Tone::Plain,
    };
    let level = number::quantity(scale, level);
    let label = match fit.turns.len() {
        0 => format!("Flat at {level}"),
        turns => format!("{}, now at {level}", number::counted(turns, "change", "changes")),
    };
    spark::draw(&Spark {
        values: fit.series.pooled.iter().map(|point| point.value).collect(),
        levels: fit.pieces().into_iter().map(|piece| (piece.points, piece.from, piece.to)).collect(),
        baseline: None,
        tone,
        dots: spark::DOTS,
        label,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_one_metric_and_one_prefix() {
        let time = |value: f64| (Metric::time(), Some(value));
        let rows = vec![time(1e-3), (Metric::throughput("x"), Some(1e9)), time(2e-3), time(5e-5)];
        let groups = by_metric(rows, |row| row.clone());
        let shown: Vec<(String, &str, usize)> =
            groups.iter().map(|group| (group.metric.name.clone(), group.scale.symbol, group.rows.len())).collect();
        assert_eq!(shown, vec![("time".to_owned(), "ms", 3), ("x".to_owned(), "G/s", 1)]);
        let far = by_metric(vec![time(1.0), time(1e-9), time(2.0)], |row| row.clone());
        let shown: Vec<(&str, usize)> = far.iter().map(|group| (group.scale.symbol, group.rows.len())).collect();
        assert_eq!(shown, vec![("s", 2), ("ns", 1)]);
    }
}
