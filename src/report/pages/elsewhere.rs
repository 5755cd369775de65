//! The same kernel elsewhere: its other variants, machines and metrics. [`super::sizes`] has its other sizes.

use super::cell::{Change, Judgement};
use crate::model::analysis::SeriesAnalysis;
use crate::report::catalog::{Catalog, short_benchmark};
use crate::report::link;
use crate::report::mark::{Mark, Tone};
use crate::report::number;
use crate::report::order::natural;

/// The rows that a group shows.
const ROWS: usize = 40;

/// Series that differ from one in the same thing.
#[derive(Hash)]
pub(super) struct Elsewhere {
    /// In what they differ.
    pub(super) heading: &'static str,
    /// How many there are.
    pub(super) count: String,
    /// The series.
    pub(super) rows: Vec<Row>,
}

/// Another series of the kernel.
#[derive(Hash)]
pub(super) struct Row {
    /// Its benchmark.
    pub(super) benchmark: String,
    /// Its page.
    pub(super) page: String,
    /// Its metric.
    pub(super) metric: String,
    /// Its machine.
    pub(super) machine: String,
    /// Its newest value with its unit.
    pub(super) value: String,
    /// Its change against the baseline.
    pub(super) change: Change,
    /// Its verdict.
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
            Elsewhere { heading, count, rows: series.into_iter().take(ROWS).map(row).collect() }
        })
        .collect()
}

fn row(other: &SeriesAnalysis) -> Row {
    let series = &other.series;
    let scale = series.metric.unit.scale(other.latest.current);
    let judgement = other.comparison.as_ref().map(Judgement::of);
    let unjudged = Mark::new(Tone::Plain, "–", "not judged");
    let (change, mark) = match judgement {
        Some(judgement) => (judgement.change, judgement.mark),
        None => (Change::plain(other.latest.change_baseline), unjudged),
    };
    Row {
        benchmark: short_benchmark(&series.benchmark).to_owned(),
        page: link::series(&series.id),
        metric: series.metric.name.clone(),
        machine: series.machine_name.clone(),
        value: number::quantity(scale, other.latest.current),
        change,
        mark,
    }
}
