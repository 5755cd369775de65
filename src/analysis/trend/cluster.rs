//! Change points of many series joined: those of one machine that one commit can explain.
//!
//! Each change has a range of commits that may be its cause. Changes of one machine are joined as long as one commit lies in
//! all ranges and is likely enough in all of them together; so as few causes are named as explain all changes (the ranges are
//! stabbed by their ends, as in covering intervals by points).

use std::collections::BTreeMap;

use super::found::Found;
use crate::analysis::changes::detect::OF_BORDER;
use crate::model::change_point::ChangePoint;

/// What the deviances of the members of a cluster at one commit may add up to: that of one member's range, and for each
/// further member what chance makes of it.
const TOGETHER: f64 = 6.0;
const EACH: f64 = 2.5;

/// The deviance of a place outside the range of a change.
const OUTSIDE: f64 = 12.0;

/// That of a place outside the range of an exact change.
const NEVER: f64 = 1e6;

/// A change of a series, with the commits that may be its cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    /// Which series.
    pub(super) found: usize,
    /// Which of its changes.
    pub(super) change: usize,
    /// The first and the last commit that may be the cause.
    pub(super) lo: usize,
    pub(super) hi: usize,
}

impl Candidate {
    pub(super) fn change<'a>(&self, all: &'a [Found<'_>]) -> &'a ChangePoint {
        &all[self.found].changes.points[self.change]
    }

    /// How unlikely it is that the commit at that place is the cause: twice the logarithm of the likelihood ratio to the most
    /// likely one.
    pub(super) fn deviance(&self, place: usize, all: &[Found<'_>]) -> f64 {
        let (found, change) = (&all[self.found], self.change(all));
        let outside = if found.is_exact { NEVER } else { OUTSIDE };
        if !(self.lo..=self.hi).contains(&place) {
            return outside;
        }
        if found.points[change.first - 1].place == found.points[change.last].place {
            // Two environments of one commit: the change lies between them, and the commit is all there is to name.
            return 0.0;
        }
        let likelihood = |index: usize| change.likelihoods.get(index.checked_sub(change.first)?).copied();
        let likeliest = found.indices_at(place).filter_map(likelihood).reduce(f64::max);
        likeliest.map_or(outside, |likelihood| (-2.0 * likelihood.ln()).min(outside))
    }

    /// Whether the environment changed at that place, within the range.
    fn is_at_border(&self, place: usize, all: &[Found<'_>]) -> bool {
        let found = &all[self.found];
        (self.lo..=self.hi).contains(&place) && found.indices_at(place).any(|index| found.is_border(index))
    }
}

/// What the environment speaks for a place as that of one cause of all these changes, as a deviance: it counts once, however many
/// changes there are, and by the share of those in whose range it changed there.
pub(super) fn of_border(members: &[Candidate], place: usize, all: &[Found<'_>]) -> f64 {
    let at_border = members.iter().filter(|member| member.is_at_border(place, all)).count();
    OF_BORDER * at_border as f64 / members.len().max(1) as f64
}

/// Changes that one commit can explain.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cluster {
    pub(super) members: Vec<Candidate>,
    /// The commits that lie in the ranges of all members.
    pub(super) lo: usize,
    pub(super) hi: usize,
}

impl Cluster {
    /// What the deviances of the members come to at the commit where that is least, a border being likelier.
    fn least(&self, all: &[Found<'_>]) -> f64 {
        let told = |place: usize| self.members.iter().map(|member| member.deviance(place, all)).sum::<f64>();
        let of = |place: usize| told(place) - of_border(&self.members, place, all);
        (self.lo..=self.hi).map(of).fold(f64::INFINITY, f64::min)
    }

    fn with(&self, member: Candidate) -> Cluster {
        let mut members = self.members.clone();
        members.push(member);
        Cluster { members, lo: self.lo.max(member.lo), hi: self.hi.min(member.hi) }
    }

    /// The cluster with that change, if one commit explains all.
    fn joined(&self, member: Candidate, all: &[Found<'_>]) -> Option<Cluster> {
        let with = self.with(member);
        let allowed = TOGETHER + EACH * (with.members.len() - 1) as f64;
        (with.lo <= with.hi && with.least(all) <= allowed).then_some(with)
    }

    /// Both clusters as one, if one commit explains all.
    pub(super) fn merged(&self, other: &Cluster, all: &[Found<'_>]) -> Option<Cluster> {
        other.members.iter().try_fold(self.clone(), |cluster, member| cluster.joined(*member, all))
    }

    /// Whether a series of the same benchmark and metric moved in the same direction in the other cluster.
    pub(super) fn is_like(&self, other: &Cluster, all: &[Found<'_>]) -> bool {
        let way = |member: &Candidate| member.change(all).relative() > 0.0;
        let what = |member: &Candidate| {
            let series = all[member.found].series;
            (series.benchmark.as_str(), series.metric.name.as_str())
        };
        let is_like = |one: &Candidate| other.members.iter().any(|two| what(one) == what(two) && way(one) == way(two));
        self.members.iter().any(is_like)
    }

    /// Whether a commit lies in the ranges of both.
    pub(super) fn overlaps(&self, other: &Cluster) -> bool {
        self.lo <= other.hi && other.lo <= self.hi
    }
}

/// The clusters of each machine, by its id; in the order of their commits.
pub(super) fn clusters(all: &[Found<'_>]) -> BTreeMap<String, Vec<Cluster>> {
    let mut machines: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    for (number, found) in all.iter().enumerate() {
        for (change, point) in found.changes.points.iter().enumerate() {
            let (before, first, hi) =
                (found.points[point.first - 1].place, found.points[point.first].place, found.points[point.last].place);
            // Between two environments of one commit there is no other commit.
            let lo = if before == first { first } else { before + 1 };
            let candidate = Candidate { found: number, change, lo, hi };
            machines.entry(found.series.machine.clone()).or_default().push(candidate);
        }
    }
    let of_machine = |mut candidates: Vec<Candidate>| {
        // The narrowest first where two end at one commit: they say most.
        candidates.sort_by_key(|one| (one.hi, std::cmp::Reverse(one.lo), one.found, one.change));
        let mut clusters: Vec<Cluster> = Vec::new();
        for candidate in candidates {
            // A series has one change at one cause.
            let is_free = |cluster: &Cluster| cluster.members.iter().all(|member| member.found != candidate.found);
            let near = clusters.iter().enumerate().rev().filter(|(_, one)| one.hi >= candidate.lo && is_free(one));
            let fits = near.filter_map(|(number, one)| Some((number, one.joined(candidate, all)?)));
            let best = fits.min_by(|a, b| a.1.least(all).total_cmp(&b.1.least(all)));
            match best {
                Some((number, joined)) => clusters[number] = joined,
                None => clusters.push(Cluster { members: vec![candidate], lo: candidate.lo, hi: candidate.hi }),
            }
        }
        clusters.sort_by_key(|one| (one.lo, one.hi));
        clusters
    };
    machines.into_iter().map(|(machine, candidates)| (machine, of_machine(candidates))).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::analysis::trend::axis::axes;
    use crate::analysis::trend::example::{MACHINE, line, noisy, setting};
    use crate::model::series::Series;

    fn ranges(series: &[Series]) -> Vec<(usize, usize, usize)> {
        let axes = axes(series, &line(300));
        let all: Vec<Found<'_>> =
            series.iter().map(|one| Found::of(one, Arc::clone(&axes[&one.machine]), true, setting(), &[])).collect();
        let clusters = clusters(&all).remove(MACHINE).unwrap_or_default();
        clusters.iter().map(|one| (one.members.len(), one.lo, one.hi)).collect()
    }

    #[test]
    fn changes_that_one_commit_explains_are_one() {
        let step =
            |name: &str, each: usize, place: usize, seed: u64| noisy(name, 200, each, &[(0, 1.0), (place, 1.2)], seed);
        // Measured at every second and every third commit: the commits in both ranges are fewer.
        let found = ranges(&[step("a", 2, 100, 1), step("b", 3, 100, 2), step("c", 1, 100, 3)]);
        assert_eq!(found, [(3, 100, 100)]);
        assert_eq!(ranges(&[step("a", 4, 99, 1), step("b", 6, 99, 2)]), [(2, 97, 100)]);
        // Two causes that are apart stay two, also of one series.
        let twice = noisy("d", 200, 1, &[(0, 1.0), (100, 1.2), (130, 1.0)], 4);
        assert_eq!(ranges(&[step("a", 1, 100, 1), twice, step("b", 1, 130, 2)]), [(2, 100, 100), (2, 130, 130)]);
        assert_eq!(ranges(&[step("a", 1, 100, 1), step("b", 1, 101, 2)]), [(1, 100, 100), (1, 101, 101)]);
        assert_eq!(ranges(&[noisy("a", 200, 1, &[], 5)]), []);
    }
}
