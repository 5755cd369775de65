//! Change points of many series joined: those of one machine that one commit can explain.
//!
//! Each change has a range of commits that may be its cause. Changes of one machine are joined as long as one commit lies in
//! all ranges and is likely enough in all of them together; so as few causes are named as explain all changes (the ranges are
//! stabbed by their ends, as in covering intervals by points).

use std::collections::{BTreeMap, BTreeSet};

use super::series_changes::SeriesChanges;
use crate::changes::position::BORDER_DEVIANCE;
use sprag_model::ChangePoint;

/// What the deviances of a cluster's members at one commit may add up to: one member's range, and chance for each further one.
const TOGETHER: f64 = 6.0;
const EACH: f64 = 2.5;

/// The deviance of a place outside the range of a change.
const OUTSIDE: f64 = 12.0;

/// That of a place outside the range of an exact change.
const NEVER: f64 = 1e6;

/// A change of a series, with the commits that may be its cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) series: usize,
    pub(super) change: usize,
    /// The first and the last commit that may be the cause.
    pub(super) lo: usize,
    pub(super) hi: usize,
}

impl Candidate {
    pub(super) fn change<'a>(&self, all: &'a [SeriesChanges<'_>]) -> &'a ChangePoint {
        &all[self.series].changes.points[self.change]
    }

    /// Whether the change lies between two environments of one commit, which is then all there is to name.
    pub(super) fn is_of_one_commit(&self, all: &[SeriesChanges<'_>]) -> bool {
        let (points, change) = (&all[self.series].points, self.change(all));
        points[change.first - 1].place == points[change.last].place
    }

    /// How unlikely the commit at that place is the cause: twice the logarithm of the likelihood ratio to the likeliest one.
    pub(super) fn deviance(&self, place: usize, all: &[SeriesChanges<'_>]) -> f64 {
        let (analysed, change) = (&all[self.series], self.change(all));
        let outside = if analysed.is_exact { NEVER } else { OUTSIDE };
        if !(self.lo..=self.hi).contains(&place) {
            return outside;
        }
        if self.is_of_one_commit(all) {
            return 0.0;
        }
        let likelihood = |index: usize| change.likelihoods.get(index.checked_sub(change.first)?).copied();
        let likeliest = analysed.indices_at(place).filter_map(likelihood).reduce(f64::max);
        likeliest.map_or(outside, |likelihood| (-2.0 * likelihood.ln()).min(outside))
    }

    /// Whether the environment changed at that place, within the range.
    fn is_at_border(&self, place: usize, all: &[SeriesChanges<'_>]) -> bool {
        let analysed = &all[self.series];
        (self.lo..=self.hi).contains(&place) && analysed.indices_at(place).any(|index| analysed.is_border(index))
    }
}

/// What the environment speaks for a place as that of one cause of all these changes, as a deviance: it counts once, however many
/// changes there are, and by the share of those in whose range it changed there.
pub(super) fn of_border(members: &[Candidate], place: usize, all: &[SeriesChanges<'_>]) -> f64 {
    let at_border = members.iter().filter(|member| member.is_at_border(place, all)).count();
    of_borders(at_border, members.len())
}

/// Likewise, where so many of them have it there.
fn of_borders(at_border: usize, members: usize) -> f64 {
    BORDER_DEVIANCE * at_border as f64 / members.max(1) as f64
}

/// What the members of a cluster show of one commit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct PlaceEvidence {
    /// The sum of their deviances there.
    deviance: f64,
    /// Of how many of them the environment changed there.
    at_border: usize,
}

impl PlaceEvidence {
    fn with(self, member: &Candidate, place: usize, all: &[SeriesChanges<'_>]) -> PlaceEvidence {
        PlaceEvidence {
            deviance: self.deviance + member.deviance(place, all),
            at_border: self.at_border + usize::from(member.is_at_border(place, all)),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cluster {
    members: Vec<Candidate>,
    series: BTreeSet<usize>,
    /// The commits that lie in the ranges of all members.
    pub(super) lo: usize,
    pub(super) hi: usize,
    /// What they say of each of these, kept so that one more is heard without asking all others again.
    evidence: Vec<PlaceEvidence>,
}

impl Cluster {
    fn new(first: Candidate, all: &[SeriesChanges<'_>]) -> Cluster {
        let evidence = (first.lo..=first.hi).map(|place| PlaceEvidence::default().with(&first, place, all)).collect();
        Cluster { members: vec![first], series: BTreeSet::from([first.series]), lo: first.lo, hi: first.hi, evidence }
    }

    /// The cluster with some of its members alone, and the commits that lie in the ranges of all.
    pub(super) fn only(&self, members: impl Iterator<Item = Candidate>, all: &[SeriesChanges<'_>]) -> Cluster {
        let members: Vec<Candidate> = members.collect();
        let gather = |place: usize| {
            members.iter().fold(PlaceEvidence::default(), |evidence, member| evidence.with(member, place, all))
        };
        let evidence = (self.lo..=self.hi).map(gather).collect();
        Cluster { series: members.iter().map(|one| one.series).collect(), members, evidence, ..*self }
    }

    pub(super) fn members(&self) -> &[Candidate] {
        &self.members
    }

    /// What is said of the commits that are left with one more member.
    fn evidence_with<'a>(
        &'a self,
        member: &'a Candidate,
        all: &'a [SeriesChanges<'_>],
    ) -> impl Iterator<Item = PlaceEvidence> + use<'a> {
        let (lo, hi) = (self.lo.max(member.lo), self.hi.min(member.hi));
        (lo..=hi).map(move |place| self.evidence[place - self.lo].with(member, place, all))
    }

    /// What the deviances come to with one more member at the commit where that is least, if one commit explains all.
    fn least_with(&self, member: &Candidate, all: &[SeriesChanges<'_>]) -> Option<f64> {
        let count = self.members.len() + 1;
        let of = |evidence: PlaceEvidence| evidence.deviance - of_borders(evidence.at_border, count);
        let least = self.evidence_with(member, all).map(of).fold(f64::INFINITY, f64::min);
        let allowed = TOGETHER + EACH * (count - 1) as f64;
        let (lo, hi) = (self.lo.max(member.lo), self.hi.min(member.hi));
        (lo <= hi && least <= allowed).then_some(least)
    }

    fn join(&mut self, member: Candidate, all: &[SeriesChanges<'_>]) {
        let evidence = self.evidence_with(&member, all).collect();
        (self.lo, self.hi, self.evidence) = (self.lo.max(member.lo), self.hi.min(member.hi), evidence);
        self.series.insert(member.series);
        self.members.push(member);
    }

    /// Both clusters as one, if one commit explains all.
    pub(super) fn merged(&self, other: &Cluster, all: &[SeriesChanges<'_>]) -> Option<Cluster> {
        let mut merged = self.clone();
        for member in &other.members {
            merged.least_with(member, all)?;
            merged.join(*member, all);
        }
        Some(merged)
    }

    /// Whether a series of the same benchmark and metric moved in the same direction in the other cluster.
    pub(super) fn is_like(&self, other: &Cluster, all: &[SeriesChanges<'_>]) -> bool {
        let way = |member: &Candidate| member.change(all).relative() > 0.0;
        let what = |member: &Candidate| {
            let series = all[member.series].series;
            (series.benchmark.as_str(), series.metric.name.as_str())
        };
        let of_other: BTreeSet<_> = other.members.iter().map(|member| (what(member), way(member))).collect();
        self.members.iter().any(|member| of_other.contains(&(what(member), way(member))))
    }

    pub(super) fn overlaps(&self, other: &Cluster) -> bool {
        self.lo <= other.hi && other.lo <= self.hi
    }
}

/// The clusters of each machine, by its id; in the order of their commits.
pub(super) fn clusters(all: &[SeriesChanges<'_>]) -> BTreeMap<String, Vec<Cluster>> {
    let mut machines: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    for (number, analysed) in all.iter().enumerate() {
        for (change, point) in analysed.changes.points.iter().enumerate() {
            let (before, first, hi) = (
                analysed.points[point.first - 1].place,
                analysed.points[point.first].place,
                analysed.points[point.last].place,
            );
            // Between two environments of one commit there is no other commit.
            let lo = if before == first { first } else { before + 1 };
            let candidate = Candidate { series: number, change, lo, hi };
            machines.entry(analysed.series.machine.clone()).or_default().push(candidate);
        }
    }
    let of_machine = |mut candidates: Vec<Candidate>| {
        // The narrowest first where two end at one commit: they say most.
        candidates.sort_by_key(|one| (one.hi, std::cmp::Reverse(one.lo), one.series, one.change));
        let mut clusters: Vec<Cluster> = Vec::new();
        for candidate in candidates {
            // A series has one change at one cause.
            let is_free = |cluster: &Cluster| !cluster.series.contains(&candidate.series);
            let near = clusters.iter().enumerate().rev().filter(|(_, one)| one.hi >= candidate.lo && is_free(one));
            let fits = near.filter_map(|(number, one)| Some((number, one.least_with(&candidate, all)?)));
            match fits.min_by(|a, b| a.1.total_cmp(&b.1)) {
                Some((number, _)) => clusters[number].join(candidate, all),
                None => clusters.push(Cluster::new(candidate, all)),
            }
        }
        clusters.sort_by_key(|one| (one.lo, one.hi));
        clusters
    };
    machines.into_iter().map(|(machine, candidates)| (machine, of_machine(candidates))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::example::{MACHINE, analysed, bordered, noisy};
    use sprag_model::Series;

    fn ranges(series: &[Series]) -> Vec<(usize, usize, usize)> {
        let clusters = clusters(&analysed(series)).remove(MACHINE).unwrap_or_default();
        clusters.iter().map(|one| (one.members.len(), one.lo, one.hi)).collect()
    }

    #[test]
    fn changes_that_one_commit_explains_are_one() {
        let step =
            |name: &str, each: usize, place: usize, seed: u64| noisy(name, 200, each, &[(0, 1.0), (place, 1.2)], seed);
        // Measured at every second and every third commit: the commits in both ranges are fewer.
        let analysed = ranges(&[step("a", 2, 100, 1), step("b", 3, 100, 2), step("c", 1, 100, 3)]);
        assert_eq!(analysed, [(3, 100, 100)]);
        assert_eq!(ranges(&[step("a", 4, 99, 1), step("b", 6, 99, 2)]), [(2, 97, 100)]);
        // Two causes that are apart stay two, also of one series.
        let twice = noisy("d", 200, 1, &[(0, 1.0), (100, 1.2), (130, 1.0)], 4);
        assert_eq!(ranges(&[step("a", 1, 100, 1), twice, step("b", 1, 130, 2)]), [(2, 100, 100), (2, 130, 130)]);
        assert_eq!(ranges(&[step("a", 1, 100, 1), step("b", 1, 101, 2)]), [(1, 100, 100), (1, 101, 101)]);
        assert_eq!(ranges(&[noisy("a", 200, 1, &[], 5)]), []);
    }

    #[test]
    fn the_evidence_of_a_cluster_is_the_sum_over_its_members() {
        let step = |number: u64| {
            let each = 1 + number as usize % 3;
            let one = noisy(&format!("s{number}"), 200, each, &[(0, 1.0), (100, 1.03)], number);
            if number.is_multiple_of(4) { bordered(one, 100) } else { one }
        };
        let series: Vec<Series> = (0..40).map(step).collect();
        let all = analysed(&series);
        let clusters = clusters(&all).remove(MACHINE).unwrap_or_default();
        assert!(clusters.iter().any(|one| one.members.len() > 20), "{clusters:#?}");
        for cluster in &clusters {
            let some = cluster.only(cluster.members.iter().copied().step_by(2), &all);
            for (one, place) in [cluster, &some].into_iter().flat_map(|one| (one.lo..=one.hi).map(move |at| (one, at)))
            {
                let evidence = one.evidence[place - one.lo];
                let sum: f64 = one.members.iter().map(|member| member.deviance(place, &all)).sum();
                assert_eq!(evidence.deviance, sum);
                assert_eq!(of_borders(evidence.at_border, one.members.len()), of_border(&one.members, place, &all));
            }
        }
    }
}
