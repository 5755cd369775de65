//! What moved most in a week, by its share and by its size.

use std::collections::BTreeMap;

use super::Week;
use crate::model::movers::MoverRow;
use crate::model::unit::Unit;
use crate::report::catalog::{Catalog, short_benchmark};
use crate::report::gate::share;
use crate::report::number::{self, count};
use crate::report::phrase::Phrase;
use crate::report::sheet::{Row, Section};
use crate::report::trend::words;

/// How many rows a table has.
const MOST: usize = 10;

/// The tables of what moved most by its share, and by its size among all of its unit.
pub(super) fn sections(catalog: &Catalog<'_>, week: &Week<'_>) -> [Section; 2] {
    let mut relative: Vec<&MoverRow> = week.movers.iter().filter(|row| row.worse.is_some()).collect();
    // Twice as much and half as much are as far from nothing.
    let far = |row: &MoverRow| row.worse.map_or(0.0, |worse| worse.ln_1p().abs());
    relative.sort_by(|a, b| far(b).total_cmp(&far(a)).then_with(|| a.series.cmp(&b.series)));
    let texts = (
        "relative",
        "What moved most, by its share",
        Phrase::plain(
            "Medians of the week against those of the last week before with a value, whichever way they moved. No verdict stands behind these figures.",
        ),
        "No judged series has a value in this week and in one before.",
    );
    let shares = table(catalog, texts, relative);
    let texts = (
        "absolute",
        "What moved most, by its size",
        Phrase::plain("The same, by the difference; those of each unit in turn."),
        "No judged series has a value in this week and in one before.",
    );
    [shares, table(catalog, texts, by_size(week.movers))]
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

fn table(catalog: &Catalog<'_>, texts: (&'static str, &str, Phrase, &str), rows: Vec<&MoverRow>) -> Section {
    let columns = [
        ("Series", "full"),
        ("Machine", "place"),
        ("Before", "n from"),
        ("Now", "n"),
        ("Difference", "n opt2"),
        ("Runs", "n opt"),
        ("Way", ""),
        ("Change", "n push"),
    ];
    let rows = rows.into_iter().take(MOST).map(|row| self::row(catalog, row)).collect();
    Section::of_table(texts, ("Judged series, those that moved most first", &columns), rows)
}

fn row(catalog: &Catalog<'_>, row: &MoverRow) -> Row {
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
    ])
}
