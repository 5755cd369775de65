//! Whether the machine moved rather than the code.
//!
//! Three signs count: that facts of the environment changed where the levels did; that what kernels are held against moved, the
//! controls and calibration kernels; and that many series of one machine moved in both directions, or in quantities that have
//! nothing to do with one another, while no other machine saw it; or that nearly all of them moved, and the same benchmarks on
//! another machine that measured the same commits stayed. What changed between two runs of one commit is no commit's doing.

use std::collections::BTreeSet;

use super::cluster::{Candidate, Cluster};
use super::found::Found;
use crate::model::unit::Unit;

/// The probability that the change lies where the environment changed from which on the machine is held to be the cause.
pub(super) const AT_BORDER: f64 = 0.5;

/// How many series, and which share of all that were measured there, are many.
pub(super) const MANY: usize = 3;
pub(super) const MANY_SHARE: f64 = 0.3;

/// The share of the members that go the other way from which on they count as moving in both directions.
const OTHER_WAY: f64 = 0.2;

/// The share of the series of a machine that are nearly all: where they moved and another machine that measured the same commits stayed, it is the machine.
pub(super) const NEARLY_ALL: f64 = 0.8;

/// What other machines say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// The same moved there.
    SawIt,
    /// So many of the series that moved were measured there as well, before and after, and none of them moved.
    Stayed(usize),
    /// Some moved there, in another way.
    Differs,
    /// Nobody else measured them.
    Unknown,
}

/// What speaks for the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Signs {
    /// Whether it is held to be the cause.
    pub(super) is_machine: bool,
    /// One sentence each.
    pub(super) sentences: Vec<String>,
    /// The environment keys before and after the border that lies in the range.
    pub(super) border: Option<(String, String)>,
}

/// What speaks for the machine in a cluster of `measured` series; `elsewhere` is what other machines say.
pub(super) fn signs(
    cluster: &Cluster,
    suspects: &[(usize, f64)],
    all: &[Found<'_>],
    measured: usize,
    elsewhere: Elsewhere,
) -> Signs {
    let mut signs = Signs::default();
    let saw_it = elsewhere == Elsewhere::SawIt;
    let (share, border) = at_border(cluster, suspects, all);
    signs.border = border;
    if share >= AT_BORDER && saw_it {
        signs.sentences.push("The environment changed where the levels did, too.".to_owned());
    } else if share >= AT_BORDER {
        signs.is_machine = true;
        signs.sentences.push("The environment changed where the levels did.".to_owned());
    } else if signs.border.is_some() {
        signs.sentences.push(format!(
            "The environment changed within the range, too, with a chance of {:.0} % that it did where the levels changed.",
            share * 100.0
        ));
    }
    let is_of_one_commit = |member: &Candidate| {
        let (found, change) = (&all[member.found], member.change(all));
        found.points[change.first - 1].place == found.points[change.last].place
    };
    if signs.border.is_none() && cluster.members.iter().all(is_of_one_commit) {
        signs.is_machine = true;
        signs.sentences.push("The levels changed between runs of one commit.".to_owned());
    }
    let beside: BTreeSet<&str> = cluster
        .members
        .iter()
        .map(|member| all[member.found].series)
        .filter(|series| series.is_beside())
        .map(|series| series.benchmark.as_str())
        .collect();
    if !beside.is_empty() {
        signs.is_machine = true;
        let names: Vec<&str> = beside.into_iter().collect();
        signs.sentences.push(format!("What kernels are held against moved, too: {}.", names.join(", ")));
    }
    let moved = cluster.members.len();
    let machine = |member: &Candidate| all[member.found].series.machine.as_str();
    let is_one = cluster.members.windows(2).all(|pair| machine(&pair[0]) == machine(&pair[1]));
    if moved >= MANY.max((MANY_SHARE * measured as f64).ceil() as usize) {
        let of = if is_one { "this machine" } else { "these machines" };
        let counted = format!("{moved} of {measured} series of {of} moved together");
        let ways = if goes_both_ways(cluster, all) {
            Some("in both directions")
        } else if is_unlike(cluster, all) {
            Some("in unlike quantities")
        } else {
            None
        };
        match ways {
            Some(ways) if !saw_it => {
                signs.is_machine = true;
                let others = match elsewhere {
                    Elsewhere::Unknown => "no other machine was there to see it",
                    _ => "no other machine saw it",
                };
                signs.sentences.push(format!("{counted}, {ways}, and {others}."));
            }
            Some(ways) => signs.sentences.push(format!("{counted}, {ways}, but another machine saw it, too.")),
            None if is_one && is_alone(cluster, measured, elsewhere) => {
                signs.is_machine = true;
                signs.sentences.push(format!(
                    "{counted}, while on another machine that measured the same commits none of them did."
                ));
            }
            None if is_one && !saw_it => {
                signs.sentences.push(format!("{counted}: a cause that they share, in the code or in the machine."));
            }
            None => signs.sentences.push(format!("{counted}: a cause that they share.")),
        }
    }
    signs
}

/// Whether nearly all series of a machine moved, and at least half of them stayed where they were measured elsewhere.
fn is_alone(cluster: &Cluster, measured: usize, elsewhere: Elsewhere) -> bool {
    let moved = cluster.members.len();
    let stayed = if let Elsewhere::Stayed(stayed) = elsewhere { stayed } else { 0 };
    moved as f64 >= NEARLY_ALL * measured as f64 && 2 * stayed >= moved
}

/// The probability that the change lies between two points of different environments, and the first such border.
fn at_border(cluster: &Cluster, suspects: &[(usize, f64)], all: &[Found<'_>]) -> (f64, Option<(String, String)>) {
    let mut border = None;
    let mut share = 0.0;
    for member in &cluster.members {
        let (found, change) = (&all[member.found], member.change(all));
        let mut crossed = |index: usize| {
            let is_border = found.is_border(index);
            if is_border && border.is_none() {
                let key = |index: usize| found.points[index].environment_key.to_string();
                border = Some((key(index - 1), key(index)));
            }
            is_border
        };
        // Two environments of one commit: no commit lies between.
        let is_one_commit = found.points[change.first - 1].place == found.points[change.last].place;
        if is_one_commit {
            share += f64::from(crossed(change.last));
            continue;
        }
        share += suspects
            .iter()
            .filter(|(place, _)| found.indices_at(*place).any(&mut crossed))
            .map(|(_, probability)| probability)
            .sum::<f64>();
    }
    (share / cluster.members.len().max(1) as f64, border)
}

fn goes_both_ways(cluster: &Cluster, all: &[Found<'_>]) -> bool {
    let ways = cluster.members.iter().filter_map(|member| all[member.found].worse(member.change(all).relative()));
    let (mut worse, mut better) = (0.0, 0.0);
    for way in ways {
        if way > 0.0 { worse += 1.0 } else { better += 1.0 }
    }
    f64::min(worse, better) >= OTHER_WAY * (worse + better) && f64::min(worse, better) > 0.0
}

/// Whether members are of kinds that no change of the code moves together as a rule: times, sizes and counts.
fn is_unlike(cluster: &Cluster, all: &[Found<'_>]) -> bool {
    let kind = |unit: Unit| match unit {
        Unit::Second | Unit::PerSecond | Unit::One => 0,
        Unit::Byte => 1,
    };
    let kinds: BTreeSet<u8> = cluster.members.iter().map(|one| kind(all[one.found].series.metric.unit)).collect();
    kinds.len() > 1
}
