//! The pairs of commits that have a page of their own, for readers without script.

use std::collections::BTreeSet;

use super::data::Data;
use crate::report::catalog::Catalog;
use crate::report::shown::RELEASES;

/// A pair of commits, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::report) struct Pair {
    /// The first, A.
    pub(in crate::report) a: usize,
    /// The second, B.
    pub(in crate::report) b: usize,
}

/// The pairs, newest first each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::report) struct Pairs {
    /// The newest commit against those that baselines were taken from.
    pub(in crate::report) baselines: Vec<Pair>,
    /// Releases against the one before; the newest commit against the newest release.
    pub(in crate::report) releases: Vec<Pair>,
    /// Commits that have a page against the one that was measured before.
    pub(in crate::report) steps: Vec<Pair>,
}

impl Pairs {
    /// The pairs of a history.
    pub(in crate::report) fn of(data: &Data, catalog: &Catalog<'_>) -> Pairs {
        let Some(newest) = data.commits.len().checked_sub(1) else { return Pairs::default() };
        let baselines =
            catalog.analysis.suites.iter().filter_map(|suite| suite.baseline.as_ref().ok()?.commit.as_deref());
        let taken_from: BTreeSet<usize> =
            baselines.filter_map(|sha| data.number(sha)).filter(|a| *a < newest).collect();
        let tagged = |number: &usize| !data.commits[*number].tags.is_empty();
        let mut ends: Vec<usize> = (0..=newest).filter(tagged).collect();
        if !ends.is_empty() && ends.last() != Some(&newest) {
            ends.push(newest);
        }
        let has_page = |pair: &Pair| catalog.commit_page(&data.commits[pair.b].sha).is_some();
        let steps = (0..newest).map(|a| Pair { a, b: a + 1 });
        Pairs {
            baselines: taken_from.into_iter().rev().map(|a| Pair { a, b: newest }).collect(),
            releases: ends.windows(2).rev().take(RELEASES).map(|pair| Pair { a: pair[0], b: pair[1] }).collect(),
            steps: steps.rev().filter(has_page).collect(),
        }
    }

    /// Each pair once.
    pub(in crate::report) fn all(&self) -> BTreeSet<Pair> {
        [&self.baselines, &self.releases, &self.steps].into_iter().flatten().copied().collect()
    }
}
