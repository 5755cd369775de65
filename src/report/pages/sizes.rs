//! The same benchmark with other parameters, most often other sizes: what was fitted to each.

use super::cell::Change;
use crate::catalog::Catalog;
use crate::link;
use crate::number;
use crate::order::natural;
use sprag_model::analysis::SeriesAnalysis;

/// The rows that the table holds.
const ROWS: usize = 40;

/// A series that differs in its parameters.
pub(super) struct SizeRow {
    pub(super) parameters: String,
    /// Its page; nothing for the series of the page itself.
    pub(super) page: String,
    /// Its level, or its newest value where none is fitted.
    pub(super) level: String,
    pub(super) change: Change,
    pub(super) at: String,
}

/// The series of a benchmark by its parameters, its own among them; nothing where there is no other.
pub(super) fn rows(catalog: &Catalog<'_>, of: &SeriesAnalysis) -> Vec<SizeRow> {
    let own = &of.series;
    let is_alike = |other: &&SeriesAnalysis| {
        let series = &other.series;
        (series.variant == own.variant && series.machine == own.machine)
            && (series.metric == own.metric && series.version == own.version)
    };
    let mut all: Vec<&SeriesAnalysis> =
        catalog.kernel(&own.suite, &own.name).iter().copied().filter(is_alike).collect();
    if all.len() < 2 {
        return Vec::new();
    }
    all.sort_by(|a, b| natural(&a.series.params, &b.series.params));
    // The own row is always there.
    let place = all.iter().position(|other| other.series.id == own.id).unwrap_or(0);
    let first = place.saturating_sub(ROWS / 2).min(all.len().saturating_sub(ROWS));
    all.into_iter().skip(first).take(ROWS).map(|other| row(catalog, other, other.series.id == own.id)).collect()
}

fn row(catalog: &Catalog<'_>, other: &SeriesAnalysis, is_own: bool) -> SizeRow {
    let series = &other.series;
    let fit = catalog.fit(&series.id);
    let newest = fit.as_ref().and_then(|fit| fit.newest_level()).unwrap_or(other.latest.current);
    let turn = fit.as_ref().and_then(|fit| fit.turns.last());
    let change = match turn.and_then(|turn| Some((turn, turn.relative()?))) {
        Some((turn, relative)) => {
            Change { class: turn.tone(&series.metric).class(), figure: number::percent(relative.value) }
        }
        None => Change::plain(None),
    };
    SizeRow {
        parameters: series.params.trim_start_matches('{').trim_end_matches('}').replace(',', ", "),
        page: if is_own { String::new() } else { link::series(&series.id) },
        level: number::quantity(series.metric.unit.scale(newest), newest),
        at: fit.as_ref().zip(turn).map_or(String::new(), |(fit, turn)| fit.commit(turn.what.begin())),
        change,
    }
}
