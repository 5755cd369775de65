//! The newest commit of a suite on a machine against the newest release, as it was measured there.

use std::collections::{BTreeMap, BTreeSet};

use super::data::{Data, SeriesData};
use super::rule;
use super::words::{self, ComparedRow};
use sprag_model::commit::CommitLine;

/// A suite on a machine at two commits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Newest {
    /// The two, by their numbers: the same where one commit was measured only.
    pub(crate) pair: [usize; 2],
    /// The release of which the first is the last commit that was measured, where it is not the release itself.
    pub(crate) release: Option<String>,
    /// The rows of its series, by id.
    pub(crate) rows: BTreeMap<String, ComparedRow>,
}

/// Holds the newest commit of a suite on a machine against the last one measured there up to the newest release before it, else
/// against the commit of its baseline, else against the first that was measured there. Nothing where none was.
pub(crate) fn newest(
    data: &Data,
    line: &CommitLine,
    (suite, machine): (&str, &str),
    baseline: Option<&str>,
) -> Option<Newest> {
    let series: Vec<&SeriesData> =
        data.series.iter().filter(|one| one.suite == suite && one.machine == machine).collect();
    let measured: BTreeSet<usize> = series.iter().flat_map(|one| &one.points).map(|point| point.number).collect();
    let (first, b) = (*measured.first()?, *measured.last()?);
    let place = |number: usize| data.commits[number].place;
    let tagged = line.commits.iter().enumerate().rev().filter(|(_, commit)| !commit.tags.is_empty());
    let mut up_to_release = tagged.filter_map(|(at, commit)| {
        let is_before = |number: &usize| *number < b && place(*number).is_some_and(|place| place <= at);
        let number = measured.range(..b).rev().copied().find(is_before).filter(|_| place(b) > Some(at))?;
        Some((number, (place(number) != Some(at)).then(|| commit.tags[0].clone())))
    });
    let baseline = || Some((data.number(baseline?).filter(|number| *number < b && measured.contains(number))?, None));
    let (a, release) = up_to_release.next().or_else(baseline).unwrap_or((first, None));
    let row = |one: &SeriesData| {
        let outcome = rule::judge(one, a, b)?;
        Some((one.id.clone(), words::row(data, one, &outcome)))
    };
    Some(Newest { pair: [a, b], release, rows: series.into_iter().filter_map(row).collect() })
}
