//! The same kernel elsewhere: its other variants, machines and metrics. [`super::sizes`] has its other sizes.

use super::cell::{self, Change, Judgement};
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::order::natural;
use crate::text::short_benchmark;
use crate::{link, number};
use sprag_model::analysis::SeriesAnalysis;

/// The rows that a group shows.
const ROWS: usize = 40;

/// Series that differ from one in the same thing.
pub(super) struct Elsewhere {
    pub(super) heading: &'static str,
    /// How many there are.
    pub(super) count: String,
    pub(super) rows: Vec<ElsewhereRow>,
}

impl Elsewhere {
    /// Whether any of them is drawn.
    pub(super) fn is_drawn(&self) -> bool {
        self.rows.iter().any(|row| !row.picture.is_empty())
    }
}

/// Another series of the kernel.
pub(super) struct ElsewhereRow {
    pub(super) benchmark: String,
    pub(super) page: String,
    pub(super) metric: String,
    pub(super) machine: String,
    /// Its fit as a small picture, where it is the same benchmark on another machine; else nothing.
    pub(super) picture: String,
    /// Its newest value with its unit.
    pub(super) value: String,
    /// Its change against the baseline.
    pub(super) change: Change,
    pub(super) mark: Mark,
}

/// The other series of a kernel, by what they differ in; a series stands in the first group that fits.
pub(super) fn groups(catalog: &Catalog<'_>, of: &SeriesAnalysis) -> Vec<Elsewhere> {
    let own = &of.series;
    let mut groups: [(&'static str, Vec<&SeriesAnalysis>); 3] = [
        ("Other variants and machines", Vec::new()),
        ("Other metrics of this benchmark", Vec::new()),
        ("Other versions of this benchmark", Vec::new()),
    ];
    for other in catalog.kernel(&own.suite, &own.name).iter().copied() {
        let series = &other.series;
        let same_benchmark = series.benchmark == own.benchmark;
        let same_machine = series.machine == own.machine;
        let same_metric = series.metric == own.metric;
        if series.id == own.id {
            continue;
        }
        if same_metric && series.version != own.version {
            if same_benchmark && same_machine {
                groups[2].1.push(other);
            }
        } else if same_metric && series.params == own.params {
            groups[0].1.push(other);
        } else if same_benchmark && same_machine && series.version == own.version {
            groups[1].1.push(other);
        }
    }
    groups
        .into_iter()
        .filter(|(_, series)| !series.is_empty())
        .map(|(heading, mut series)| {
            series.sort_by(|a, b| {
                natural(&a.series.benchmark, &b.series.benchmark)
                    .then_with(|| a.series.machine_name.cmp(&b.series.machine_name))
                    .then_with(|| a.series.metric.name.cmp(&b.series.metric.name))
            });
            let count = number::count(series.len());
            Elsewhere {
                heading,
                count,
                rows: series.into_iter().take(ROWS).map(|other| row(catalog, of, other)).collect(),
            }
        })
        .collect()
}

fn row(catalog: &Catalog<'_>, of: &SeriesAnalysis, other: &SeriesAnalysis) -> ElsewhereRow {
    let series = &other.series;
    let is_drawn = series.benchmark == of.series.benchmark && series.machine != of.series.machine;
    let picture = || cell::fit_sparkline(other, catalog.fit(&series.id).as_ref());
    let scale = series.metric.unit.scale(other.latest.current);
    let judgement = other.comparison.as_ref().map(Judgement::new);
    let unjudged = Mark::new(Tone::Plain, "–", "not judged");
    let (change, mark) = match judgement {
        Some(judgement) => (judgement.change, judgement.mark),
        None => (Change::plain(other.latest.change_baseline), unjudged),
    };
    ElsewhereRow {
        benchmark: short_benchmark(&series.benchmark).to_owned(),
        page: link::series(&series.id),
        metric: series.metric.name.clone(),
        machine: series.machine_name.clone(),
        picture: if is_drawn { picture() } else { String::new() },
        value: number::quantity(scale, other.latest.current),
        change,
        mark,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;

    #[test]
    fn the_same_benchmark_on_other_machines_is_drawn_and_nothing_else() {
        let sample = sample_data::rich();
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let of = sample.analysis.series.iter().find(|one| one.series.benchmark == "cpu/infer{n=512} @fast");
        let of = of.expect("the sample has it");
        let groups = groups(&catalog, of);
        let rows: Vec<&ElsewhereRow> = groups.iter().flat_map(|group| &group.rows).collect();
        let is_same = |row: &&&ElsewhereRow| {
            row.benchmark == short_benchmark(&of.series.benchmark) && row.metric == of.series.metric.name
        };
        let (same, others): (Vec<&ElsewhereRow>, Vec<&ElsewhereRow>) = rows.iter().partition(|row| is_same(row));
        assert!(!same.is_empty() && same.iter().all(|row| row.machine != of.series.machine_name));
        assert!(same.iter().all(|row| row.picture.contains("<svg")), "{}", same[0].picture);
        assert!(!others.is_empty() && others.iter().all(|row| row.picture.is_empty()));
    }
}
