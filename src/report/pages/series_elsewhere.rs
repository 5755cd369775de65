//! The same kernel elsewhere: its other sizes, variants, machines, metrics and versions.

use super::cell::{self, Judgement};
use crate::catalog::Catalog;
use crate::mark::Mark;
use crate::order::natural;
use crate::phrase::Phrase;
use crate::sheet::{Cell, Rows, Section};
use crate::text::short_benchmark;
use crate::{link, number};
use sprag_model::analysis::SeriesAnalysis;

/// The rows that a group shows, and the sizes that are listed.
const ROWS: usize = 40;

/// The series of a benchmark by its parameters, its own among them; none where there is no other.
pub(super) fn sizes(catalog: &Catalog<'_>, of: &SeriesAnalysis) -> Option<Section> {
    let own = &of.series;
    let is_alike = |other: &&SeriesAnalysis| {
        let series = &other.series;
        (series.variant == own.variant && series.machine == own.machine)
            && (series.metric == own.metric && series.version == own.version)
    };
    let mut all: Vec<&SeriesAnalysis> =
        catalog.kernel(&own.suite, &own.name).iter().copied().filter(is_alike).collect();
    if all.len() < 2 {
        return None;
    }
    all.sort_by(|a, b| natural(&a.series.params, &b.series.params));
    // The own row is always among them.
    let place = all.iter().position(|other| other.series.id == own.id).unwrap_or(0);
    let first = place.saturating_sub(ROWS / 2).min(all.len().saturating_sub(ROWS));
    let rows = all.into_iter().skip(first).take(ROWS).map(|other| (other, catalog.fit(&other.series.id)));
    let section = Rows::new("The same benchmark with other parameters", rows)
        .column("Parameters", "full", |(other, _)| {
            let name = parameters(&other.series.params);
            match other.series.id == own.id {
                true => Phrase::default().strong(name).text(" (this page)"),
                false => Phrase::default().link(link::series(&other.series.id), name),
            }
        })
        .column("Level", "n", |(other, fit)| {
            let newest = fit.as_ref().and_then(|fit| fit.newest_level()).unwrap_or(other.latest.current);
            number::quantity(other.series.metric.unit.scale(newest), newest)
        })
        .column("Newest change", "n push", |(other, fit)| {
            let turn = fit.as_ref().and_then(|fit| fit.turns.last());
            match turn.and_then(|turn| Some((turn, turn.relative()?))) {
                Some((turn, relative)) => {
                    cell::tinted(turn.tone(&other.series.metric), number::percent(relative.value))
                }
                None => number::NONE.into(),
            }
        })
        .column("At", "", |(_, fit)| {
            let turn = fit.as_ref().and_then(|fit| Some((fit, fit.turns.last()?)));
            turn.map_or(String::new(), |(fit, turn)| fit.commit(turn.what.begin()))
        })
        .section("sizes", "By size", "The same variant on the same machine with other parameters.", "");
    Some(section)
}

/// Parameters without their brackets: `n=512, t=2`.
pub(super) fn parameters(params: &str) -> String {
    params.trim_start_matches('{').trim_end_matches('}').replace(',', ", ")
}

/// The other series of a kernel, by what they differ in; a series is in the first group that fits.
pub(super) fn elsewhere(catalog: &Catalog<'_>, of: &SeriesAnalysis) -> Option<Section> {
    let own = &of.series;
    let mut groups: [(&'static str, Vec<&SeriesAnalysis>); 3] = [
        ("Other variants and machines", Vec::new()),
        ("Other metrics of this benchmark", Vec::new()),
        ("Other versions of this benchmark", Vec::new()),
    ];
    for other in catalog.kernel(&own.suite, &own.name).iter().copied().filter(|other| other.series.id != own.id) {
        let series = &other.series;
        let is_here = series.benchmark == own.benchmark && series.machine == own.machine;
        let same_metric = series.metric == own.metric;
        if same_metric && series.version != own.version {
            groups[2].1.extend(is_here.then_some(other));
        } else if same_metric && series.params == own.params {
            groups[0].1.push(other);
        } else if is_here && series.version == own.version {
            groups[1].1.push(other);
        }
    }
    let is_drawn =
        |other: &SeriesAnalysis| other.series.benchmark == own.benchmark && other.series.machine != own.machine;
    let has_drawn = groups.iter().flat_map(|(_, group)| group.iter()).any(|other| is_drawn(other));
    let groups = groups.into_iter().map(|(heading, mut series)| {
        series.sort_by(|a, b| {
            natural(&a.series.benchmark, &b.series.benchmark)
                .then_with(|| a.series.machine_name.cmp(&b.series.machine_name))
                .then_with(|| a.series.metric.name.cmp(&b.series.metric.name))
        });
        series.truncate(ROWS);
        let rows = series.into_iter().map(|other| (other, Judgement::of_series(other)));
        (heading.to_owned(), rows.collect::<Vec<(&SeriesAnalysis, (Phrase, Mark))>>())
    });
    let mut rows = Rows::grouped("Other series of the same kernel", groups)
        .column("Benchmark", "full", |(other, _)| {
            Phrase::default().link(link::series(&other.series.id), short_benchmark(&other.series.benchmark))
        })
        .column("Metric", "", |(other, _)| other.series.metric.name.clone())
        .column("Machine", "place", |(other, _)| other.series.machine_name.clone());
    if has_drawn {
        // Its fit, where it is the same benchmark on another machine.
        rows = rows.column("Fit", "g", |(other, _)| {
            let picture = || cell::fit_sparkline(other, catalog.fit(&other.series.id).as_ref());
            Cell::Drawn(if is_drawn(other) { picture() } else { String::new() })
        });
    }
    let newest = |other: &SeriesAnalysis| {
        number::quantity(other.series.metric.unit.scale(other.latest.current), other.latest.current)
    };
    rows.column("Newest", "n", |(other, _)| newest(other))
        .column("Against baseline", "n push", |(_, (change, _))| change.clone())
        .column("Verdict", "full", |(_, (_, mark))| mark.clone())
        .section("elsewhere", "The same kernel elsewhere", "", "")
        .unless_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;

    #[test]
    fn only_the_same_benchmark_on_other_machines_is_drawn() {
        let sample = sample_data::rich();
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let of = sample.analysis.series.iter().find(|one| one.series.benchmark == "cpu/infer{n=512} @fast");
        let of = of.expect("the sample has it");
        let section = elsewhere(&catalog, of).expect("there are others");
        let rows = &section.table().expect("it has rows").rows;
        let words = |cell: &Cell| match cell {
            Cell::Words(words) => words.words(),
            Cell::Noted(..) | Cell::Drawn(_) => String::new(),
        };
        for row in rows {
            let is_same = words(&row.cells[0]) == short_benchmark(&of.series.benchmark)
                && words(&row.cells[1]) == of.series.metric.name;
            assert_eq!(is_same, words(&row.cells[2]) != of.series.machine_name && is_same);
            assert_eq!(is_same, matches!(&row.cells[3], Cell::Drawn(picture) if picture.contains("<svg")), "{row:?}");
        }
        assert!(rows.iter().any(|row| row.cells[3] == Cell::Drawn(String::new())), "others are there, too");
    }
}
