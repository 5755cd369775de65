//! Cells that several tables show alike.

use crate::catalog::Catalog;
use crate::chart::spark::{self, Spark};
use crate::fit::Fit;
use crate::mark::{Mark, Tone};
use crate::phrase::Phrase;
use crate::{date, link, number, reasons};
use sprag_base::stats::describe;
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::head::RunHead;
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::{Scale, Unit};
use sprag_model::verdict::{Comparison, Verdict};

/// One prefix serves a group of values when the largest is at most this many times the smallest; beyond, four digits of
/// the one are too many zeros of the other.
const ONE_PREFIX: f64 = 1e5;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judgement {
    /// The change against the baseline, coloured where a rule decided.
    pub(super) change: Phrase,
    pub(super) interval: String,
    pub(super) limit: String,
    pub(super) detectable: String,
    pub(super) mark: Mark,
    pub(super) reason: Phrase,
    pub(super) is_bad: bool,
}

impl Judgement {
    pub(super) fn new(comparison: &Comparison) -> Judgement {
        let effect = comparison.effect;
        let mark = Mark::of_comparison(comparison);
        let is_decided = matches!(comparison.verdict, Verdict::Improved | Verdict::Regressed);
        let change = or_none(effect.map(|effect| effect.change), number::percent);
        Judgement {
            change: tinted(if is_decided { mark.tone } else { Tone::Plain }, change),
            interval: or_none(effect.and_then(|effect| effect.interval), number::percent_interval),
            limit: or_none(limit(comparison), number::percent),
            detectable: or_none(effect.and_then(|effect| effect.detectable), number::percent_size),
            mark,
            reason: Phrase::quoted(&reasons::own(comparison, &[])),
            is_bad: matches!(comparison.verdict, Verdict::Regressed | Verdict::Missing) && !comparison.is_accepted(),
        }
    }

    /// What a table shows of a series: the change against its baseline, and the verdict or why there is none.
    pub(super) fn of_series(series: &SeriesAnalysis) -> (Phrase, Mark) {
        let plain = |word: &str| Mark::new(Tone::Plain, "–", word);
        match series.comparison.as_ref().map(Judgement::new) {
            Some(judgement) => (judgement.change, judgement.mark),
            None if series.at_tip => (percent(series.latest.change_baseline), plain("not judged")),
            None => (number::NONE.into(), plain("not in the newest run")),
        }
    }
}

pub(super) fn or_none<T>(value: Option<T>, words: impl Fn(T) -> String) -> String {
    value.map_or_else(|| number::NONE.to_owned(), words)
}

pub(super) fn percent(change: Option<f64>) -> Phrase {
    or_none(change, number::percent).into()
}

pub(super) fn tinted(tone: Tone, figure: String) -> Phrase {
    if tone == Tone::Plain { figure.into() } else { Mark::new(tone, "", figure).into() }
}

pub(super) fn fact(name: &str) -> Mark {
    Mark::new(Tone::Environment, "◇", name.replace('_', " "))
}

/// When a run began, with a link to its page or to where its commit is compared.
pub(super) fn began(catalog: &Catalog<'_>, run: &RunHead) -> Phrase {
    Phrase::default().to(catalog.run_place(&run.id), date::moment(run.timestamp))
}

pub(super) fn commit(catalog: &Catalog<'_>, run: &RunHead) -> Phrase {
    match &run.commit {
        Some(commit) => commit_link(catalog, &commit.sha),
        None => number::NONE.into(),
    }
}

/// The first digits of a commit, with a link to its page where it has one.
pub(super) fn commit_link(catalog: &Catalog<'_>, sha: &str) -> Phrase {
    Phrase::page_name(catalog.commit_page(sha), crate::text::short_commit(sha))
}

/// A benchmark with a link to the page of its series, where that has one.
pub(super) fn series_link(catalog: &Catalog<'_>, series: &str, benchmark: &str) -> Phrase {
    Phrase::page_name(catalog.series_page(series), crate::text::short_benchmark(benchmark))
}

pub(super) fn matrix_page(catalog: &Catalog<'_>, suite: &str) -> Option<String> {
    catalog.matrix_suites.contains(suite).then(|| link::matrix(suite))
}

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

/// Groups of rows that share a metric and a prefix, each row with its scale. Groups follow the order of their first row, and
/// rows within a group keep their order. `metric_of` gives the metric and the value of a row, `heading` that of a group.
pub(super) fn by_metric<T>(
    rows: Vec<T>,
    metric_of: impl Fn(&T) -> (Metric, Option<f64>),
    heading: impl Fn(&Metric, Scale) -> String,
) -> Vec<(String, Vec<(Scale, T)>)> {
    let mut by_name: Vec<(Metric, Vec<T>)> = Vec::new();
    for row in rows {
        let (metric, _) = metric_of(&row);
        match by_name.iter_mut().find(|(other, _)| *other == metric) {
            Some((_, group)) => group.push(row),
            None => by_name.push((metric, vec![row])),
        }
    }
    let mut scales: Vec<Scale> = Vec::new();
    let mut groups: Vec<(String, Vec<(Scale, T)>)> = Vec::new();
    for (metric, rows) in by_name {
        let values: Vec<f64> = rows.iter().filter_map(|row| metric_of(row).1).filter(|value| *value != 0.0).collect();
        let sizes = values.iter().map(|value| value.abs());
        let spread = sizes.clone().fold(0.0, f64::max) / sizes.fold(f64::INFINITY, f64::min);
        let common = group_scale(metric.unit, &values);
        let first_of_metric = groups.len();
        for row in rows {
            let own = metric_of(&row).1.filter(|_| spread > ONE_PREFIX).map(|value| metric.unit.scale(value));
            let scale = own.unwrap_or(common);
            match scales[first_of_metric..].iter().position(|other| *other == scale) {
                Some(index) => groups[first_of_metric + index].1.push((scale, row)),
                None => {
                    scales.push(scale);
                    groups.push((heading(&metric, scale), vec![(scale, row)]));
                }
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

pub(super) fn median_share(shares: impl Iterator<Item = f64>) -> String {
    or_none(describe::median(&shares.collect::<Vec<f64>>()), number::percent_size)
}

pub(super) fn median_detectable(sizes: impl Iterator<Item = f64>) -> String {
    or_none(describe::median(&sizes.collect::<Vec<f64>>()), number::detectable)
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

/// The fit of a series as a sparkline: its points with the levels over them; without a fit, its newest runs.
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
    fitted_spark(fit, None, tone, label)
}

/// The points of a fit with its levels over them.
pub(super) fn fitted_spark(fit: &Fit<'_>, baseline: Option<f64>, tone: Tone, label: String) -> String {
    spark::draw(&Spark {
        values: fit.series.pooled.iter().map(|point| point.value).collect(),
        levels: fit.pieces().into_iter().map(|piece| (piece.points, piece.from, piece.to)).collect(),
        baseline,
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
        let check = |rows: Vec<(Metric, Option<f64>)>, expected: &[(&str, usize)]| {
            let groups = by_metric(rows, Clone::clone, |metric, scale| format!("{} {}", metric.name, scale.symbol));
            let shown: Vec<(&str, usize)> = groups.iter().map(|(heading, rows)| (&**heading, rows.len())).collect();
            assert_eq!(shown, expected);
        };
        let time = |value: f64| (Metric::time(), Some(value));
        let rows = vec![time(1e-3), (Metric::throughput("x"), Some(1e9)), time(2e-3), time(5e-5)];
        check(rows, &[("time ms", 3), ("x G/s", 1)]);
        check(vec![time(1.0), time(1e-9), time(2.0)], &[("time s", 2), ("time ns", 1)]);
    }
}
