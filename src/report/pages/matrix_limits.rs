//! The kernels of a suite on a machine against what limits them, where the records tell.

use std::collections::BTreeMap;

use crate::catalog::{Catalog, short_benchmark};
use crate::chart::roofline::{self, Bar, Roofline};
use crate::link;
use crate::number;
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::metric::LIMIT_SHARE;

/// The bars that are drawn, and the rows that the table beside them has.
const MOST: usize = 30;

/// The share of its limit that each benchmark reaches on a machine.
pub(super) struct Shares<'a> {
    by_benchmark: BTreeMap<&'a str, Share<'a>>,
}

struct Share<'a> {
    series: &'a str,
    share: f64,
}

impl<'a> Shares<'a> {
    /// Those among some series: their newest levels, else their newest values.
    pub(super) fn of(catalog: &Catalog<'a>, series: impl Iterator<Item = &'a SeriesAnalysis>) -> Shares<'a> {
        let told = series.filter(|one| one.series.metric.name == LIMIT_SHARE && !one.series.is_beside());
        let share = |one: &'a SeriesAnalysis| {
            let level = catalog.fit(&one.series.id).and_then(|fit| fit.newest_level());
            let share = Share { series: &one.series.id, share: level.unwrap_or(one.latest.current) };
            (one.series.benchmark.as_str(), share)
        };
        Shares { by_benchmark: told.map(share).collect() }
    }

    pub(super) fn of_benchmark(&self, benchmark: &str) -> Option<f64> {
        self.by_benchmark.get(benchmark).map(|share| share.share)
    }
}

/// A picture and the table beside it.
pub(super) struct Limits {
    pub(super) id: String,
    pub(super) note: String,
    pub(super) picture: String,
    /// The kernel, its page and its share, the nearest to the limit first.
    pub(super) rows: Vec<[String; 3]>,
}

impl Limits {
    /// Of a machine, the one of that number in the page; nothing where no share is known.
    pub(super) fn of(shares: &Shares<'_>, machine: &str, number: usize) -> Option<Limits> {
        let mut all: Vec<(&&str, &Share<'_>)> = shares.by_benchmark.iter().collect();
        all.sort_by(|(_, a), (_, b)| b.share.total_cmp(&a.share));
        let (first, last) = (all.first()?.1.share, all.last()?.1.share);
        let [last, first] = [last, first].map(number::percent_size);
        let range = if last == first { first } else { format!("{last} to {first}") };
        let kernels = number::counted(all.len(), "kernel reaches", "kernels reach");
        let cut = match all.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" {} more are in the list of series.", number::count(more)),
        };
        let note = format!("{kernels} {range} of the limit on this machine.{cut}");
        all.truncate(MOST);
        let figure = |share: f64| number::percent_size(share);
        let bar = |(name, share): &(&&str, &Share<'_>)| Bar {
            name: short_benchmark(name).to_owned(),
            limit: String::new(),
            share: share.share,
            figure: figure(share.share),
        };
        let row = |(name, share): &(&&str, &Share<'_>)| {
            [short_benchmark(name).to_owned(), link::series(share.series), figure(share.share)]
        };
        let roofline = Roofline {
            id: format!("roof-{number}"),
            title: format!("Kernels against their limits on {machine}"),
            description: note.clone(),
            bars: all.iter().map(bar).collect(),
        };
        Some(Limits {
            id: format!("limits-{number}"),
            picture: roofline::draw(&roofline),
            rows: all.iter().map(row).collect(),
            note,
        })
    }
}
