//! The newest commit of a suite on a machine against the newest release that was measured there.

use std::collections::{BTreeMap, BTreeSet};

use super::data::{Data, SeriesData};
use super::pairs::Pair;
use super::rule;
use super::words::{self, Row};

/// A suite on a machine at two commits.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::report) struct Newest {
    /// The two: the same where one commit was measured only.
    pub(in crate::report) pair: Pair,
    /// The rows of its series, by id.
    pub(in crate::report) rows: BTreeMap<String, Row>,
}

/// Holds the newest commit of a suite on a machine against its newest release before, else against the commit of its baseline,
/// else against the first that was measured there. Nothing where none was.
pub(in crate::report) fn newest(data: &Data, suite: &str, machine: &str, baseline: Option<&str>) -> Option<Newest> {
    let series: Vec<&SeriesData> =
        data.series.iter().filter(|one| one.suite == suite && one.machine == machine).collect();
    let measured: BTreeSet<usize> = series.iter().flat_map(|one| &one.points).map(|point| point.number).collect();
    let (first, b) = (*measured.first()?, *measured.last()?);
    let before = || measured.range(..b).rev().copied();
    let release = before().find(|number| !data.commits[*number].tags.is_empty());
    let baseline = || data.number(baseline?).filter(|number| *number < b && measured.contains(number));
    let pair = Pair { a: release.or_else(baseline).unwrap_or(first), b };
    let row = |one: &SeriesData| {
        let outcome = rule::judge(one, pair.a, pair.b)?;
        Some((one.id.clone(), words::row(data, one, &outcome)))
    };
    Some(Newest { pair, rows: series.into_iter().filter_map(row).collect() })
}
