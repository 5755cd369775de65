//! Events before they have a name: the clusters of all machines with their suspects, and drifts that lie together.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::cluster::{Candidate, Cluster, clusters};
use super::culprit;
use super::discovery::simes;
use super::machine::{self, Elsewhere, Signs};
use super::recorded::{self, RecordedEvent};
use super::series_changes::SeriesChanges;
use super::series_index::SeriesIndex;
use sprag_base::stats::describe;
use sprag_model::{Better, ChangePoint, Drift, EventKind};

/// The share of the commits of two drifts that both must have to be one.
const SHARED: f64 = 0.5;

/// The most commits between the beginnings of levels that alternate for one reason: those of unrelated series overlap by accident.
const MOST_APART: usize = 2;

/// How many times as far as the others a series must have moved not to be part of what the machine did.
const BEYOND: f64 = 3.0;

pub(super) enum Moved {
    Changes(Vec<Candidate>),
    /// Drifts: the series, and which of its drifts.
    Drifts(Vec<(usize, usize)>),
    /// Points of two modes: the series, and which of its modes.
    Modes(Vec<(usize, usize)>),
}

/// One cause, without a name.
pub(super) struct Draft {
    pub(super) kind: EventKind,
    pub(super) machines: BTreeSet<String>,
    pub(super) moved: Moved,
    /// The places of the suspects with their probabilities, in order.
    pub(super) suspects: Vec<(usize, f64)>,
    pub(super) signs: Signs,
    pub(super) measured: usize,
    pub(super) p_value: f64,
}

impl Draft {
    pub(super) fn series(&self) -> Vec<usize> {
        match &self.moved {
            Moved::Changes(members) => members.iter().map(|one| one.series).collect(),
            Moved::Drifts(members) | Moved::Modes(members) => members.iter().map(|one| one.0).collect(),
        }
    }

    pub(super) fn range(&self) -> (usize, usize) {
        let first = self.suspects.first().map_or(0, |one| one.0);
        (first, self.suspects.last().map_or(first, |one| one.0))
    }

    /// Leaves only the suspects in a range, if there are any.
    pub(super) fn narrow(&mut self, first: usize, last: usize) {
        let inside: Vec<(usize, f64)> =
            self.suspects.iter().filter(|one| (first..=last).contains(&one.0)).copied().collect();
        let sum: f64 = inside.iter().map(|one| one.1).sum();
        if sum > 0.0 {
            self.suspects = inside.into_iter().map(|(place, share)| (place, share / sum)).collect();
        }
    }
}

/// Drifts that were recorded as one event stay one.
pub(super) fn drafts(all: &[SeriesChanges<'_>], recorded: &[RecordedEvent<'_>]) -> Vec<Draft> {
    let (by_machine, index) = (clusters(all), SeriesIndex::new(all));
    let indexed = (all, &index);
    let mut drafts = Vec::new();
    // Clusters that commits caused, each with the machines of its members and what others say of it.
    let mut of_commits: Vec<(BTreeSet<String>, Cluster, Elsewhere)> = Vec::new();
    for (machine, clusters) in &by_machine {
        for cluster in clusters {
            let others = || by_machine.iter().filter(|(other, _)| *other != machine).flat_map(|(_, others)| others);
            let saw_it = others().any(|other| {
                is_same_axis(cluster, other, all) && cluster.overlaps(other) && cluster.is_like(other, all)
            });
            let elsewhere = if saw_it { Elsewhere::SawIt } else { stayed(machine, cluster, all, &index) };
            let machines = BTreeSet::from([machine.clone()]);
            if of_cluster(machines.clone(), cluster, indexed, elsewhere).kind != EventKind::Environment {
                of_commits.push((machines, cluster.clone(), elsewhere));
                continue;
            }
            let (of_machine, beyond) = split_by_cause(cluster, all);
            drafts.push(of_cluster(machines.clone(), &of_machine, indexed, elsewhere));
            of_commits.extend(beyond.map(|beyond| (machines, beyond, Elsewhere::Decided)));
        }
    }
    of_commits.sort_by_key(|(_, cluster, _)| (cluster.hi, std::cmp::Reverse(cluster.lo)));
    let mut joined: Vec<(BTreeSet<String>, Cluster, Elsewhere)> = Vec::new();
    for (machines, cluster, elsewhere) in of_commits {
        let fitting = joined.iter_mut().rev().find_map(|(earlier, other, said)| {
            let may = earlier.is_disjoint(&machines)
                && cluster.overlaps(other)
                && is_same_axis(&cluster, other, all)
                && cluster.is_like(other, all);
            let merged = if may { other.merged(&cluster, all) } else { None };
            merged.map(|merged| (earlier, other, said, merged))
        });
        match fitting {
            Some((earlier, other, said, merged)) => {
                earlier.extend(machines);
                (*other, *said) = (merged, Elsewhere::SawIt);
            }
            None => joined.push((machines, cluster, elsewhere)),
        }
    }
    let of_commit = |(machines, cluster, elsewhere)| of_cluster(machines, &cluster, indexed, elsewhere);
    drafts.extend(joined.into_iter().map(of_commit));
    drafts.extend(over_many_commits(all, recorded, &index));
    drafts
}

/// What the machine did, and what moved so much farther than the rest that it did not do that as well: by [`BEYOND`] times as
/// far as the others in the median, and certainly farther than any of them. Half of the members or more are not an exception.
fn split_by_cause(cluster: &Cluster, all: &[SeriesChanges<'_>]) -> (Cluster, Option<Cluster>) {
    // Below zero a share may be one of less than nothing.
    let size = |share: f64| if share > -1.0 { share.ln_1p().abs() } else { share.abs().ln_1p() };
    let least = |member: &Candidate| {
        let relative = member.change(all).relative;
        if relative.lower * relative.upper > 0.0 { size(relative.lower).min(size(relative.upper)) } else { 0.0 }
    };
    let members = cluster.members();
    let sizes: Vec<f64> = members.iter().map(|member| size(member.change(all).relative())).collect();
    let middles = describe::medians_of_others(&sizes);
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    let of_largest = sizes.iter().position(|size| *size == largest);
    let others = sizes.iter().enumerate().filter(|(place, _)| Some(*place) != of_largest);
    let second = others.map(|(_, size)| *size).fold(0.0, f64::max);
    let is_beyond = |place: usize| {
        let largest_other = if Some(place) == of_largest { second } else { largest };
        middles[place].is_some_and(|middle| sizes[place] > BEYOND * middle && least(&members[place]) > largest_other)
    };
    let (beyond, rest): (Vec<usize>, Vec<usize>) = (0..members.len()).partition(|place| is_beyond(*place));
    if beyond.is_empty() || 2 * beyond.len() >= members.len() {
        return (cluster.clone(), None);
    }
    let of = |places: Vec<usize>| cluster.only(places.into_iter().map(|place| members[place]), all);
    (of(rest), Some(of(beyond)))
}

fn is_same_axis(one: &Cluster, other: &Cluster, all: &[SeriesChanges<'_>]) -> bool {
    let axis = |cluster: &Cluster| &all[cluster.members()[0].series].axis;
    Arc::ptr_eq(axis(one), axis(other))
}

/// How many of a cluster's series other machines measured before and after it without finding a change there.
fn stayed<'a>(machine: &str, cluster: &Cluster, all: &[SeriesChanges<'a>], index: &SeriesIndex<'a>) -> Elsewhere {
    let axis = &all[cluster.members()[0].series].axis;
    let is_there = |point: &ChangePoint, analysed: &SeriesChanges<'_>| {
        analysed.points[point.first - 1].place < cluster.hi && cluster.lo <= analysed.points[point.last].place
    };
    // Of several machines the last one counts.
    let has_moved = |member: &Candidate| {
        let others = index.like(&all[member.series]).iter().rev().map(|number| &all[*number]);
        let mut there = others.filter(|analysed| {
            analysed.series.machine != machine
                && Arc::ptr_eq(&analysed.axis, axis)
                && spans(analysed, cluster.lo, cluster.hi)
        });
        there.next().map(|analysed| analysed.changes.points.iter().any(|point| is_there(point, analysed)))
    };
    let (moved, stayed): (Vec<bool>, Vec<bool>) =
        cluster.members().iter().filter_map(has_moved).partition(|has_moved| *has_moved);
    match (moved.len(), stayed.len()) {
        (0, 0) => Elsewhere::Unknown,
        (0, stayed) => Elsewhere::Stayed(stayed),
        _ => Elsewhere::Differs,
    }
}

fn of_cluster(
    machines: BTreeSet<String>,
    cluster: &Cluster,
    (all, index): (&[SeriesChanges<'_>], &SeriesIndex<'_>),
    elsewhere: Elsewhere,
) -> Draft {
    let suspects = culprit::suspects(cluster.members(), all);
    let measured = measured(&machines, (cluster.lo, cluster.hi), all, index);
    let signs = machine::signs(cluster, &suspects, (all, index), &measured, elsewhere);
    // What several machines saw is not a matter of one.
    let is_machine = signs.is_machine && machines.len() == 1;
    // A change may be at each point of its range.
    let chance = |member: &Candidate| {
        let change = member.change(all);
        (change.chance * (change.last + 1 - change.first) as f64).min(1.0)
    };
    let chances: Vec<f64> = cluster.members().iter().map(chance).collect();
    Draft {
        kind: if is_machine { EventKind::Environment } else { EventKind::Change },
        moved: Moved::Changes(cluster.members().to_vec()),
        p_value: simes(&chances, measured.len()),
        machines,
        suspects,
        signs,
        measured: measured.len(),
    }
}

/// The series of these machines that were measured before a range of commits and after it.
fn measured(
    machines: &BTreeSet<String>,
    (lo, hi): (usize, usize),
    all: &[SeriesChanges<'_>],
    index: &SeriesIndex<'_>,
) -> Vec<usize> {
    let mut series = index.of_machines(machines);
    series.retain(|number| spans(&all[*number], lo, hi));
    series
}

/// Whether a series was measured before a range of commits and after it.
pub(super) fn spans(analysed: &SeriesChanges<'_>, lo: usize, hi: usize) -> bool {
    let ends = (analysed.points.first(), analysed.points.last());
    matches!(ends, (Some(first), Some(last)) if first.place < lo.max(1) && last.place >= hi)
}

/// A drift of a series, or points of two modes, and the places of these points.
#[derive(Clone, Debug)]
struct Ramp {
    series: usize,
    /// Which of the drifts or modes of the series.
    number: usize,
    lo: usize,
    hi: usize,
    is_worse: bool,
    chance: f64,
}

fn is_worse(analysed: &SeriesChanges<'_>, drift: &Drift) -> bool {
    let rise = drift.after - drift.before;
    let rises_badly = (rise > 0.0) == (analysed.series.metric.better == Better::Lower);
    analysed.worse(rise / drift.before.abs()).map_or(rises_badly, |worse| worse > 0.0)
}

/// Drifts of one machine in one direction, of which at least the half of the commits are the same, with those of other machines
/// that are alike; and levels that alternate likewise.
fn over_many_commits(all: &[SeriesChanges<'_>], recorded: &[RecordedEvent<'_>], index: &SeriesIndex<'_>) -> Vec<Draft> {
    let (mut ramps, mut modes, mut unstable) = (Vec::new(), Vec::new(), Vec::new());
    for (series, analysed) in all.iter().enumerate() {
        let of = |number: usize, begin: usize, end: usize, is_worse: bool, chance: f64| Ramp {
            series,
            number,
            lo: analysed.points[begin].place,
            hi: analysed.points[end - 1].place,
            is_worse,
            chance,
        };
        let drifts = analysed.changes.drifts.iter().enumerate();
        ramps.extend(drifts.map(|(place, one)| of(place, one.begin, one.end, is_worse(analysed, one), one.chance)));
        for (place, one) in analysed.changes.modes.iter().enumerate() {
            let list = if one.share.is_some() { &mut modes } else { &mut unstable };
            list.push(of(place, one.begin, one.end, false, one.chance));
        }
    }
    let none: &[RecordedEvent<'_>] = &[];
    let kinds =
        [(EventKind::Drift, ramps, recorded), (EventKind::Bimodal, modes, none), (EventKind::Unstable, unstable, none)];
    let drafts = kinds.into_iter().flat_map(|(kind, ramps, recorded)| {
        let most_apart = if kind == EventKind::Drift { usize::MAX } else { MOST_APART };
        let joined = over_machines(groups(ramps, most_apart, all), all, recorded).into_iter();
        joined.map(move |ramps| of_ramps(kind, &ramps, all, index))
    });
    drafts.collect()
}

/// Ramps of which each two share enough commits.
struct Group {
    ramps: Vec<Ramp>,
    series: HashSet<usize>,
    /// The least and the largest of their first places, and of their last ones.
    lo: (usize, usize),
    hi: (usize, usize),
}

impl Group {
    /// Whether one more shares enough commits with each. Where it does so with all of them at once, none is asked.
    fn shares(&self, ramp: &Ramp) -> bool {
        let is_enough = |both: (usize, usize), either: (usize, usize)| {
            (both.1 + 1).saturating_sub(both.0) as f64 >= SHARED * (either.1 + 1 - either.0) as f64
        };
        let with_all = || {
            let both = (ramp.lo.max(self.lo.1), ramp.hi.min(self.hi.0));
            is_enough(both, (ramp.lo.min(self.lo.0), ramp.hi.max(self.hi.1)))
        };
        let with_each = |other: &Ramp| {
            let both = (ramp.lo.max(other.lo), ramp.hi.min(other.hi));
            is_enough(both, (ramp.lo.min(other.lo), ramp.hi.max(other.hi)))
        };
        !self.series.contains(&ramp.series) && (with_all() || self.ramps.iter().all(with_each))
    }

    /// Whether a group of another machine goes the same way in at least the half of the commits of the shorter one.
    fn is_simultaneous(&self, other: &Group, all: &[SeriesChanges<'_>]) -> bool {
        let first = |group: &Group| &all[group.ramps[0].series];
        let width = |group: &Group| group.hi.1 + 1 - group.lo.0;
        let both = (self.hi.1.min(other.hi.1) + 1).saturating_sub(self.lo.0.max(other.lo.0));
        first(self).series.machine != first(other).series.machine
            && Arc::ptr_eq(&first(self).axis, &first(other).axis)
            && self.ramps[0].is_worse == other.ramps[0].is_worse
            && both as f64 >= SHARED * width(self).min(width(other)) as f64
    }

    fn push(&mut self, ramp: Ramp) {
        self.series.insert(ramp.series);
        self.lo = (self.lo.0.min(ramp.lo), self.lo.1.max(ramp.lo));
        self.hi = (self.hi.0.min(ramp.hi), self.hi.1.max(ramp.hi));
        self.ramps.push(ramp);
    }
}

/// Those of a group begin at most so many commits apart.
fn groups(mut ramps: Vec<Ramp>, most_apart: usize, all: &[SeriesChanges<'_>]) -> Vec<Group> {
    let machine = |ramp: &Ramp| all[ramp.series].series.machine.as_str();
    ramps.sort_by(|a, b| (machine(a), a.lo, a.hi, a.series).cmp(&(machine(b), b.lo, b.hi, b.series)));
    let mut groups: Vec<Group> = Vec::new();
    for ramp in ramps {
        let is_alike = |other: &Ramp| ramp.is_worse == other.is_worse && machine(&ramp) == machine(other);
        let is_near = |group: &Group| ramp.lo - group.lo.0 <= most_apart;
        match groups.iter_mut().find(|group| is_alike(&group.ramps[0]) && is_near(group) && group.shares(&ramp)) {
            Some(group) => group.push(ramp),
            None => {
                let (series, lo, hi) = (HashSet::from([ramp.series]), (ramp.lo, ramp.lo), (ramp.hi, ramp.hi));
                groups.push(Group { ramps: vec![ramp], series, lo, hi });
            }
        }
    }
    groups
}

/// The ramps of groups that are joined over machines. Those of one recorded event stay together, and all join others where each two
/// are simultaneous and they have a kernel and metric in common. The earliest come first: a machine that joins later moves no other.
fn over_machines(groups: Vec<Group>, all: &[SeriesChanges<'_>], recorded: &[RecordedEvent<'_>]) -> Vec<Vec<Ramp>> {
    let recorded_in = |group: &Group| {
        let series = group.ramps.iter().map(|ramp| all[ramp.series].series.id.as_str());
        recorded::drift_of(recorded, series, &all[group.ramps[0].series].axis, (group.lo.0, group.hi.1))
    };
    let kernel = |ramp: &Ramp| {
        let series = all[ramp.series].series;
        (series.suite.as_str(), series.name.as_str(), series.metric.name.as_str())
    };
    let mut events: Vec<(Option<usize>, Vec<Group>)> = Vec::new();
    for group in groups {
        let event = recorded_in(&group);
        match events.iter_mut().find(|(other, _)| event.is_some() && *other == event) {
            Some((_, groups)) => groups.push(group),
            None => events.push((event, vec![group])),
        }
    }
    let begin = |groups: &[Group]| groups.iter().map(|group| (group.lo.0, group.hi.1)).min();
    events.sort_by_key(|(event, groups)| (event.is_none(), begin(groups)));
    let mut joined: Vec<(Vec<Group>, BTreeSet<_>)> = Vec::new();
    for (_, groups) in events {
        let own: BTreeSet<_> = groups.iter().flat_map(|group| &group.ramps).map(kernel).collect();
        let is_fitting = |other: &Group| groups.iter().all(|group| group.is_simultaneous(other, all));
        match joined.iter_mut().find(|(others, kernels)| others.iter().all(is_fitting) && !kernels.is_disjoint(&own)) {
            Some((others, kernels)) => {
                others.extend(groups);
                kernels.extend(own);
            }
            None => joined.push((groups, own)),
        }
    }
    let ramps = |(groups, _): (Vec<Group>, _)| groups.into_iter().flat_map(|group| group.ramps).collect();
    joined.into_iter().map(ramps).collect()
}

fn of_ramps(kind: EventKind, group: &[Ramp], all: &[SeriesChanges<'_>], index: &SeriesIndex<'_>) -> Draft {
    let lo = group.iter().map(|ramp| ramp.lo).min().unwrap_or_default();
    let hi = group.iter().map(|ramp| ramp.hi).max().unwrap_or_default();
    let machines = group.iter().map(|ramp| all[ramp.series].series.machine.clone()).collect();
    let members = group.iter().map(|ramp| ramp.series);
    let measured = measured(&machines, (lo, hi), all, index).into_iter().chain(members).collect::<BTreeSet<_>>().len();
    let chances: Vec<f64> = group.iter().map(|ramp| ramp.chance).collect();
    let share = 1.0 / (hi + 1 - lo) as f64;
    let members = group.iter().map(|ramp| (ramp.series, ramp.number)).collect();
    Draft {
        kind,
        machines,
        moved: if kind == EventKind::Drift { Moved::Drifts(members) } else { Moved::Modes(members) },
        suspects: (lo..=hi).map(|place| (place, share)).collect(),
        signs: Signs::default(),
        measured,
        p_value: simes(&chances, measured),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::example::{analysed, noisy};
    use sprag_base::stats::random::SplitMix64;

    #[test]
    fn each_two_ramps_of_a_group_share_enough_commits() {
        let series: Vec<_> = (0..12).map(|number| noisy(&format!("s{number}"), 40, 1, &[], number)).collect();
        let all = analysed(&series);
        let mut random = SplitMix64::new(7);
        for _ in 0..100 {
            let mut ramp = |_| {
                let (series, lo, is_worse) = (random.below(12), random.below(20), random.below(4) > 0);
                Ramp { series, number: 0, lo, hi: lo + 10 + random.below(30), is_worse, chance: 0.0 }
            };
            let mut ramps: Vec<Ramp> = (0..40).map(&mut ramp).collect();
            let of = |ramp: &Ramp| (ramp.lo, ramp.hi, ramp.series, ramp.is_worse);
            let grouped = groups(ramps.clone(), usize::MAX, &all);
            let grouped: Vec<Vec<_>> = grouped.iter().map(|group| group.ramps.iter().map(of).collect()).collect();
            // Asking each pair.
            ramps.sort_by_key(|ramp| (ramp.lo, ramp.hi, ramp.series));
            let mut expected: Vec<Vec<Ramp>> = Vec::new();
            for ramp in ramps {
                let shares = |other: &Ramp| {
                    let both = (ramp.hi.min(other.hi) + 1).saturating_sub(ramp.lo.max(other.lo)) as f64;
                    let either = (ramp.hi.max(other.hi) + 1 - ramp.lo.min(other.lo)) as f64;
                    ramp.is_worse == other.is_worse && ramp.series != other.series && both >= SHARED * either
                };
                match expected.iter_mut().find(|group| group.iter().all(shares)) {
                    Some(group) => group.push(ramp),
                    None => expected.push(vec![ramp]),
                }
            }
            let expected: Vec<Vec<_>> = expected.iter().map(|group| group.iter().map(of).collect()).collect();
            assert_eq!(grouped, expected);
            assert!(grouped.len() > 2 && grouped.iter().any(|group| group.len() > 4), "{grouped:?}");
        }
    }
}
