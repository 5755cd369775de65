//! Cells that several tables have.

use crate::catalog::Catalog;
use crate::chart::spark::{self, Spark};
use crate::fit::Fit;
use crate::mark::{Mark, Tone};
use crate::phrase::Phrase;
use crate::{date, link, number, reasons};
use sprag_base::stats::describe;
use sprag_model::{Better, Comparison, Metric, Modes, RunHead, Scale, SeriesAnalysis, Unit, Verdict};

/// Values share a prefix where the largest is at most this many times the smallest; else four digits of one are zeros of another.
const ONE_PREFIX: f64 = 1e5;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judgement {
    /// Coloured where it regressed or improved.
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
        let is_change = matches!(comparison.verdict, Verdict::Improved | Verdict::Regressed);
        let change = number::or_none(effect.map(|effect| effect.change), number::percent);
        let limit = || {
            let baseline = comparison.baseline.filter(|baseline| *baseline != 0.0)?;
            Some(comparison.allowed? / baseline - 1.0)
        };
        Judgement {
            change: tinted(if is_change { mark.tone } else { Tone::Plain }, change),
            interval: number::or_none(effect.and_then(|effect| effect.interval), number::percent_interval),
            limit: number::or_none(limit(), number::percent),
            detectable: number::or_none(
                effect.and_then(|effect| without_contradiction(effect.detectable, is_change.then_some(effect.change))),
                number::percent_size,
            ),
            mark,
            reason: Phrase::quoted(&reasons::own(comparison, &[])),
            is_bad: matches!(comparison.verdict, Verdict::Regressed | Verdict::Missing) && !comparison.is_accepted(),
        }
    }

    /// The change of a series against its baseline, and the verdict or why there is none.
    pub(super) fn of_series(series: &SeriesAnalysis) -> (Phrase, Mark) {
        let plain = |word: &str| Mark::new(Tone::Plain, "–", word);
        match series.comparison.as_ref().map(Judgement::new) {
            Some(judgement) => (judgement.change, judgement.mark),
            None if series.at_tip => (percent(series.latest.change_baseline), plain("not judged")),
            None => (number::NONE.into(), plain("not in the newest run")),
        }
    }
}

/// The minimum detectable effect, unless a smaller change was detected next to it: it is what shows in four cases of five.
pub(super) fn without_contradiction(detectable: Option<f64>, detected: Option<f64>) -> Option<f64> {
    detectable.filter(|size| detected.is_none_or(|change| change.abs() >= *size))
}

pub(super) fn percent(change: Option<f64>) -> Phrase {
    number::or_none(change, number::percent).into()
}

pub(super) fn tinted(tone: Tone, figure: String) -> Phrase {
    if tone == Tone::Plain { figure.into() } else { Mark::new(tone, "", figure).into() }
}

/// The newest change of a fit: with its colour and where it went, or that there is none.
pub(super) fn newest_change(fit: Option<&Fit<'_>>, metric: &Metric) -> Phrase {
    let Some(fit) = fit.filter(|fit| fit.newest_level().is_some()) else { return number::NONE.into() };
    match fit.turns.last() {
        Some(turn) => {
            let size = number::or_none(turn.relative, |one| number::percent(one.value));
            Mark::new(turn.tone(metric), turn.glyph(metric), size).into()
        }
        None => way(Some(fit), metric).into(),
    }
}

/// What the newest change of a fit is, in a word by which lists are filtered.
pub(super) fn way(fit: Option<&Fit<'_>>, metric: &Metric) -> &'static str {
    let Some(fit) = fit.filter(|fit| fit.newest_level().is_some()) else { return "" };
    match fit.turns.last() {
        Some(turn) if turn.is_of_environment() => "environment",
        Some(turn) if turn.is_drift => "drift",
        Some(turn) => metric.word(turn.is_worse(metric)),
        None => fit.present_modes().map_or("flat", modes_word),
    }
}

/// What levels that alternate are called.
pub(super) fn modes_word(modes: &Modes) -> &'static str {
    if modes.share.is_some() { "two modes" } else { "unstable" }
}

/// A share of a limit, marked where it is more than all of it.
pub(super) fn of_limit(share: f64) -> Phrase {
    let figure = number::percent_size(share);
    match share > 1.0 {
        true => Mark::new(Tone::Doubt, "?", format!("{figure} > limit")).into(),
        false => figure.into(),
    }
}

/// What a share of more than all says; nothing where none has one.
pub(super) fn beyond_limit(mut shares: impl Iterator<Item = f64>) -> &'static str {
    match shares.any(|share| share > 1.0) {
        true => {
            " More than 100\u{202f}% (> limit) cannot be: the data stayed in a cache, or the clock was lower while the limit was measured."
        }
        false => "",
    }
}

pub(super) fn fact(name: &str) -> Mark {
    Mark::new(Tone::Environment, "◇", name.replace('_', " "))
}

pub(super) fn began(catalog: &Catalog<'_>, run: &RunHead) -> Phrase {
    Phrase::default().to(catalog.run_place(&run.id), date::moment(run.timestamp))
}

pub(super) fn commit(catalog: &Catalog<'_>, run: &RunHead) -> Phrase {
    match &run.commit {
        Some(commit) => commit_link(catalog, &commit.sha),
        None => number::NONE.into(),
    }
}

pub(super) fn commit_link(catalog: &Catalog<'_>, sha: &str) -> Phrase {
    Phrase::page_name(catalog.commit_page(sha), crate::text::short_commit(sha))
}

pub(super) fn series_link(catalog: &Catalog<'_>, series: &str, benchmark: &str) -> Phrase {
    Phrase::page_name(catalog.series_page(series), crate::text::short_benchmark(benchmark))
}

pub(super) fn failure(benchmark: &str, reason: &str) -> Phrase {
    let mark = Mark::new(Tone::Worse, "✕", "failed");
    Phrase::from(mark).text(" ").id(crate::text::short_benchmark(benchmark)).text(format!(" {reason}"))
}

pub(super) fn matrix_page(catalog: &Catalog<'_>, suite: &str) -> Option<String> {
    catalog.matrix_suites.contains(suite).then(|| link::matrix(suite))
}

/// The scale of values that share a column: one prefix, from the value in the middle.
pub(super) fn group_scale(unit: Unit, values: &[f64]) -> Scale {
    let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).filter(|size| *size > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    unit.scale(sizes.get(sizes.len() / 2).copied().unwrap_or(1.0))
}

/// Groups of rows that share a metric and a prefix, each row with its scale; groups and rows keep their order. `metric_of` gives
/// the metric and the value of a row, `heading` that of a group.
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

/// Such as `time in ms, lower is better`.
pub(super) fn metric_words(metric: &Metric, scale: Scale) -> String {
    let better = match metric.better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    };
    format!("{}, {better}", in_unit(metric, scale))
}

pub(super) fn auxiliary_words(metric: &Metric, scale: Scale) -> String {
    format!("control and calibration: {}", in_unit(metric, scale))
}

fn in_unit(metric: &Metric, scale: Scale) -> String {
    if scale.symbol.is_empty() { metric.name.clone() } else { format!("{} in {}", metric.name, scale.symbol) }
}

pub(super) fn median_share(shares: impl Iterator<Item = f64>) -> String {
    number::or_none(describe::median(&shares.collect::<Vec<f64>>()), number::percent_size)
}

pub(super) fn median_detectable(sizes: impl Iterator<Item = f64>) -> String {
    number::or_none(describe::median(&sizes.collect::<Vec<f64>>()), number::detectable)
}

/// The fit of a series as a sparkline; without one, its newest runs.
pub(super) fn sparkline(series: &SeriesAnalysis, fit: Option<&Fit<'_>>) -> String {
    let Some((fit, level)) = fit.and_then(|fit| Some((fit, fit.newest_level()?))) else {
        let points = &series.series.points;
        let newest = number::counted(points.len().min(60), "run", "runs");
        return spark::draw(&Spark {
            values: points.iter().map(|point| point.value).collect(),
            levels: Vec::new(),
            baseline: None,
            change: None,
            tone: Tone::Plain,
            label: format!("Trend of the newest {newest}"),
        });
    };
    let metric = &series.series.metric;
    let marked = fit.turns.last();
    let level = number::quantity(metric.unit.scale(level), level);
    let label = match fit.turns.len() {
        0 => format!("Flat at {level}"),
        turns => format!("{}, now at {level}", number::counted(turns, "change", "changes")),
    };
    let tone = marked.map_or(Tone::Plain, |turn| turn.tone(metric));
    fitted_spark(fit, (None, marked.map(|turn| turn.begin)), tone, label)
}

/// With the level to compare with, and the first point after the change that the picture is about.
pub(super) fn fitted_spark(
    fit: &Fit<'_>,
    (baseline, change): (Option<f64>, Option<usize>),
    tone: Tone,
    label: String,
) -> String {
    spark::draw(&Spark {
        values: fit.series.pooled.iter().map(|point| point.value).collect(),
        levels: fit.pieces().into_iter().map(|piece| (piece.points, piece.from, piece.to)).collect(),
        baseline,
        change,
        tone,
        label,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_one_metric_and_one_prefix() {
        let check = |rows: Vec<(Metric, Option<f64>)>, expected: &[(&str, usize)]| {
            let groups = by_metric(rows, Clone::clone, in_unit);
            let shown: Vec<(&str, usize)> = groups.iter().map(|(heading, rows)| (&**heading, rows.len())).collect();
            assert_eq!(shown, expected);
        };
        let time = |value: f64| (Metric::time(), Some(value));
        let rows = vec![time(1e-3), (Metric::throughput("x"), Some(1e9)), time(2e-3), time(5e-5)];
        check(rows, &[("time in ms", 3), ("x in G/s", 1)]);
        check(vec![time(1.0), time(1e-9), time(2.0)], &[("time in s", 2), ("time in ns", 1)]);
    }
}
