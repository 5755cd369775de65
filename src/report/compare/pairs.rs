//! The pairs of commits that have a page of their own, for readers without script.

use std::collections::{BTreeMap, BTreeSet};

use super::data::{Data, SeriesData};
use super::rule;
use super::words::{self, ComparedRow};
use crate::catalog::Catalog;
use crate::link;
use crate::page_selection::RELEASES;
use sprag_model::CommitLine;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    pub(crate) a: usize,
    pub(crate) b: usize,
    /// Whether its page is that of A and the newest commit: its name stays as commits are measured.
    pub(crate) as_newest: bool,
}

impl Pair {
    pub(crate) fn page(self, data: &Data) -> String {
        let [a, b] = [self.a, self.b].map(|number| data.commit(number).sha.as_str());
        if self.as_newest { link::compare_newest(a) } else { link::compare(a, b) }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pairs {
    /// The newest commit against those that baselines were taken from.
    pub(crate) baselines: Vec<Pair>,
    /// Releases against the one before, and the newest commit against the newest release.
    pub(crate) releases: Vec<Pair>,
    /// Commits with a page against the one measured before.
    pub(crate) steps: Vec<Pair>,
}

impl Pairs {
    pub(crate) fn new(data: &Data, catalog: &Catalog<'_>) -> Pairs {
        let Some(newest) = data.commits.len().checked_sub(1) else { return Pairs::default() };
        let baselines =
            catalog.analysis.suites.iter().filter_map(|suite| suite.baseline.as_ref().ok()?.commit.as_deref());
        let taken_from: BTreeSet<usize> =
            baselines.filter_map(|sha| data.number(sha)).filter(|a| *a < newest).collect();
        let mut ends = data.releases();
        if ends.last().is_some_and(|last| data.measured(*last) != newest) {
            ends.push(newest);
        }
        let has_page = |pair: &Pair| catalog.commit_page(&data.commits[pair.b].sha).is_some();
        let steps = (0..newest).map(|a| Pair { a, b: a + 1, as_newest: false });
        let release = |pair: &[usize]| Pair { a: pair[0], b: pair[1], as_newest: data.commit(pair[1]).tags.is_empty() };
        Pairs {
            baselines: taken_from.into_iter().rev().map(|a| Pair { a, b: newest, as_newest: true }).collect(),
            releases: ends.windows(2).rev().take(RELEASES).map(release).collect(),
            steps: steps.rev().filter(has_page).collect(),
        }
    }

    pub(crate) fn all(&self) -> BTreeSet<Pair> {
        [&self.baselines, &self.releases, &self.steps].into_iter().flatten().copied().collect()
    }

    /// The page of two commits, rather than that of the newest.
    pub(crate) fn page(&self, data: &Data, a: usize, b: usize) -> Option<String> {
        let has = |pair: &Pair| [&self.baselines, &self.releases, &self.steps].iter().any(|pairs| pairs.contains(pair));
        let pair = [false, true].map(|as_newest| Pair { a, b, as_newest }).into_iter().find(has)?;
        Some(pair.page(data))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Newest {
    /// By their numbers: the same where only one commit was measured.
    pub(crate) pair: [usize; 2],
    /// The release before which the first was measured last, unless it is the release.
    pub(crate) release: Option<String>,
    pub(crate) rows: BTreeMap<String, ComparedRow>,
}

/// Compares the newest commit of a suite on a machine with that of the last release, or of its baseline, or the first measured.
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
        Some((one.id.clone(), words::row(data, one, &outcome, None)))
    };
    Some(Newest { pair: [a, b], release, rows: series.into_iter().filter_map(row).collect() })
}
