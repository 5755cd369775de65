//! What moved most in a week, by its share and by its size.

use std::collections::BTreeMap;

use super::Week;
use crate::catalog::{Catalog, short_benchmark};
use crate::gate::share;
use crate::number::{self, count};
use crate::phrase::Phrase;
use crate::sheet::{Row, Section};
use crate::trend::words;
use sprag_model::movers::MoverRow;
use sprag_model::unit::Unit;

/// How many are told by either measure.
const MOST: usize = 10;

/// The table of what moved most by its share, or by its size among all of its unit.
pub(super) fn section(catalog: &Catalog<'_>, week: &Week<'_>) -> Section {
    let mut by_share: Vec<&MoverRow> = week.movers.iter().filter(|row| row.worse.is_some()).collect();
    // Twice as much and half as much are as far from nothing.
    let far = |row: &MoverRow| row.worse.map_or(0.0, |worse| worse.ln_1p().abs());
    by_share.sort_by(|a, b| far(b).total_cmp(&far(a)).then_with(|| a.series.cmp(&b.series)));
    let mut by_size = by_size(week.movers);
    by_share.truncate(MOST);
    by_size.truncate(MOST);
    let place = |of: &MoverRow, list: &[&MoverRow]| {
        let place = list.iter().position(|row| row.series == of.series);
        Phrase::plain(place.map_or_else(|| number::NONE.to_owned(), |place| count(place + 1)))
    };
    let others = by_size.iter().filter(|row| by_share.iter().all(|one| one.series != row.series));
    let rows = by_share.iter().chain(others);
    let rows = rows.map(|row| self::row(catalog, row, [place(row, &by_share), place(row, &by_size)])).collect();
    let columns = [
        ("Series", "full"),
        ("Machine", "place"),
        ("Before", "n from"),
        ("Now", "n"),
        ("Difference", "n opt2"),
        ("Runs", "n opt"),
        ("Way", ""),
        ("Change", "n push"),
        ("By share", "n opt2"),
        ("By size", "n opt2"),
    ];
    let note = Phrase::plain(format!(
        "Medians of the week against those of the last week before with a value, whichever way they moved: the first {MOST} by their \
         share, and the first {MOST} by their size, those of each unit in turn. No verdict stands behind these figures."
    ));
    let texts = ("moved", "What moved most", note, "No judged series has a value in this week and in one before.");
    Section::of_table(texts, ("Judged series, those that moved most by their share first", &columns), rows)
        .told_once(&["Machine", "Runs"])
}

/// The largest differences: the first of each unit, then the second of each, and so on.
fn by_size(movers: &[MoverRow]) -> Vec<&MoverRow> {
    let mut by_unit: BTreeMap<Unit, Vec<&MoverRow>> = BTreeMap::new();
    for row in movers.iter().filter(|row| row.difference != 0.0) {
        by_unit.entry(row.unit).or_default().push(row);
    }
    let mut placed = Vec::new();
    for (unit, mut rows) in by_unit {
        rows.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()).then_with(|| a.series.cmp(&b.series)));
        placed.extend(rows.into_iter().enumerate().map(|(place, row)| (place, unit, row)));
    }
    placed.sort_by_key(|(place, unit, _)| (*place, *unit));
    placed.into_iter().map(|(_, _, row)| row).collect()
}

fn row(catalog: &Catalog<'_>, row: &MoverRow, [by_share, by_size]: [Phrase; 2]) -> Row {
    let series = catalog.series(&row.series).map(|one| &one.series);
    let scale = row.unit.scale(if row.before == 0.0 { row.now } else { row.before });
    let change = row.change.map_or_else(|| number::NONE.to_owned(), share::percent);
    // What rounds to nothing is not slower by nothing.
    let is_nothing = row.change.is_some() && !change.contains(|digit| matches!(digit, '1'..='9'));
    let way = series.map(|series| if is_nothing { "unchanged" } else { words::way(&series.metric, row.worse) });
    let name = match series {
        Some(series) => Phrase::default()
            .name(catalog.series_page(&row.series), words::name(short_benchmark(&series.benchmark)))
            .text(format!(" {}, {}", series.suite, words::name(&series.metric.name))),
        None => Phrase::default().id(row.series.clone()),
    };
    Row::of([
        name,
        Phrase::plain(series.map_or_else(String::new, |series| words::name(&series.machine_name))),
        Phrase::plain(number::quantity(scale, row.before)),
        Phrase::plain(number::quantity(scale, row.now)),
        Phrase::plain(number::quantity(row.unit.scale(row.difference), row.difference)),
        Phrase::plain(format!("{} → {}", count(row.runs_before), count(row.runs_now))),
        Phrase::plain(way.unwrap_or(number::NONE)),
        Phrase::plain(change),
        by_share,
        by_size,
    ])
}
