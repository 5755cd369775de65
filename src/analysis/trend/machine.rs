//! Whether the machine moved rather than the code.
//!
//! Three signs count. First, facts of the environment changed where the levels did. Second, controls or calibration
//! kernels moved, which kernels are compared with. Third, many benchmarks of one machine moved in both directions or in
//! unrelated quantities, or nearly all of them moved. The third counts if another machine that measured the same
//! commits did not see it.
//!
//! If nobody else measured the commits, the third sign is only a doubt, as a commit may do all that. It is a sign if
//! nearly all of many times moved by about the same factor. It is also a doubt if exact values moved, or if the
//! controls and calibration kernels stayed. What changed between two runs of one commit is not the effect of a commit.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::{Candidate, Cluster};
use super::series_changes::SeriesChanges;
use super::series_index::SeriesIndex;
use sprag_base::stats::describe;
use sprag_model::Unit;

/// The probability that the change lies where the environment changed from which on the machine is treated as the cause.
pub(super) const AT_BORDER: f64 = 0.5;

/// How many benchmarks, and which share of those measured there, are many. Metrics of one benchmark move together.
pub(super) const MANY: usize = 3;
pub(super) const MANY_SHARE: f64 = 0.3;

/// From this share of the benchmarks in the other direction on, they are treated as moving in both directions.
const OTHER_WAY: f64 = 0.2;

/// The share of the benchmarks of a machine that are nearly all: where they moved and another machine that measured the same commits stayed, it is the machine.
pub(super) const NEARLY_ALL: f64 = 0.8;

/// How many benchmarks, nearly all, blame the machine where nobody else measured it. In a real history one commit moved five.
pub(super) const MANY_ALONE: usize = 10;

/// The median deviation of their logarithms up to which factors are about the same, as a share of the median: a runner that is
/// replaced showed .14, releases that made things faster .3 or more.
const ALIKE: f64 = 0.25;

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
    /// It is a commit's doing, whatever they say.
    Decided,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Signs {
    /// Whether it is treated as the cause.
    pub(super) is_machine: bool,
    pub(super) sentences: Vec<String>,
    /// The environment keys before and after the border that lies in the range.
    pub(super) border: Option<(String, String)>,
}

/// The signs of a cause in the machine in a cluster, of the `measured` ones of all series; `elsewhere` is what other machines say.
pub(super) fn signs(
    cluster: &Cluster,
    suspects: &[(usize, f64)],
    (all, index): (&[SeriesChanges<'_>], &SeriesIndex<'_>),
    measured: &[usize],
    elsewhere: Elsewhere,
) -> Signs {
    let mut signs = Signs::default();
    let is_decided = matches!(elsewhere, Elsewhere::SawIt | Elsewhere::Decided);
    let (share, border) = at_border(cluster, suspects, all);
    signs.border = border;
    if share >= AT_BORDER && is_decided {
        signs.sentences.push("The environment changed where the levels did, too.".to_owned());
    } else if share >= AT_BORDER {
        signs.is_machine = true;
        signs.sentences.push("The environment changed where the levels did.".to_owned());
    } else if signs.border.is_some() {
        signs.sentences.push(format!(
            "The environment also changed within the range; with a probability of {:.0} % at the commit of the levels.",
            share * 100.0
        ));
    }
    if signs.border.is_none() && cluster.members().iter().all(|member| member.is_of_one_commit(all)) {
        signs.is_machine = true;
        signs.sentences.push("The levels changed between runs of one commit.".to_owned());
    }
    let auxiliary: BTreeSet<&str> = cluster
        .members()
        .iter()
        .map(|member| all[member.series].series)
        .filter(|series| series.is_auxiliary())
        .map(|series| series.benchmark.as_str())
        .collect();
    if !auxiliary.is_empty() {
        signs.is_machine = true;
        let names: Vec<&str> = auxiliary.into_iter().collect();
        signs.sentences.push(format!("Control or calibration kernels moved, too: {}.", names.join(", ")));
    }
    judge_many(&mut signs, cluster, (all, index), measured, elsewhere);
    signs
}

/// Tells whether many benchmarks moved together, and whether that is the machine.
fn judge_many(
    signs: &mut Signs,
    cluster: &Cluster,
    (all, index): (&[SeriesChanges<'_>], &SeriesIndex<'_>),
    measured: &[usize],
    elsewhere: Elsewhere,
) {
    let moved = of_benchmarks(cluster.members(), all);
    if moved.len() < MANY {
        return;
    }
    let measured_there = index.count_benchmarks(measured);
    if (moved.len() as f64) < MANY_SHARE * measured_there as f64 {
        return;
    }
    let is_one = moved.keys().all(|(machine, _)| *machine == all[cluster.members()[0].series].series.machine);
    let of = if is_one { "this machine" } else { "these machines" };
    let counted = format!("{} of {measured_there} benchmarks of {of} moved together", moved.len());
    let saw_it = elsewhere == Elsewhere::SawIt;
    let ways = if goes_both_ways(&moved, all) {
        Some("in both directions")
    } else if is_unlike(&moved, all) {
        Some("in unlike quantities")
    } else {
        None
    };
    // A new environment may move what is exact, and leave the controls and calibration kernels alone.
    let but = if signs.border.is_none() { of_commit(cluster, all, measured) } else { None };
    let is_alone = || {
        let stayed = if let Elsewhere::Stayed(stayed) = elsewhere { stayed } else { 0 };
        is_one && moved.len() as f64 >= NEARLY_ALL * measured_there as f64 && 2 * stayed >= cluster.members().len()
    };
    let is_all = is_one
        && elsewhere == Elsewhere::Unknown
        && moved.len() >= MANY_ALONE
        && moved.len() as f64 >= NEARLY_ALL * measured_there as f64
        && !moved.values().flatten().any(|member| is_size(member, all));
    signs.sentences.push(match (ways, but) {
        (Some(ways), _) if saw_it => format!("{counted}, {ways}, but another machine showed it, too."),
        (Some(ways), _) if elsewhere == Elsewhere::Decided => format!("{counted}, {ways}."),
        (Some(ways), Some(but)) => format!("{counted}, {ways}, as when the machine moves, but {but}."),
        (Some(ways), None) if elsewhere != Elsewhere::Unknown => {
            signs.is_machine = true;
            format!("{counted}, {ways}, and no other machine showed it.")
        }
        (Some(ways), None) if signs.is_machine || signs.border.is_some() => {
            signs.is_machine = true;
            format!("{counted}, {ways}, and no other machine measured it.")
        }
        (Some(ways), None) => {
            format!("{counted}, {ways}, as when the machine moves, but no other machine measured it.")
        }
        (None, but) if is_alone() => {
            signs.is_machine |= but.is_none();
            let but = but.map_or(String::new(), |but| format!(", but {but}"));
            format!("{counted}, while on another machine that measured the same commits none of them did{but}.")
        }
        (None, None) if is_all && is_by_one_factor(&moved, all) => {
            signs.is_machine = true;
            format!("{counted}, by about the same factor, and no other machine measured it.")
        }
        (None, _) if is_one && !saw_it && elsewhere != Elsewhere::Decided => {
            format!("{counted}: a cause that they share, in the code or in the machine.")
        }
        (None, _) => format!("{counted}: a cause that they share."),
    });
}

/// What is one benchmark on one machine.
fn benchmark<'a>(analysed: &'a SeriesChanges<'_>) -> (&'a str, &'a str) {
    (&analysed.series.machine, &analysed.series.benchmark)
}

/// The members by their benchmarks, without controls and calibration kernels.
fn of_benchmarks<'a>(
    members: &'a [Candidate],
    all: &'a [SeriesChanges<'_>],
) -> BTreeMap<(&'a str, &'a str), Vec<&'a Candidate>> {
    let mut benchmarks: BTreeMap<_, Vec<&Candidate>> = BTreeMap::new();
    for member in members.iter().filter(|member| !all[member.series].series.is_auxiliary()) {
        benchmarks.entry(benchmark(&all[member.series])).or_default().push(member);
    }
    benchmarks
}

/// The signs of a cause in a commit: exact values moved, or controls and calibration kernels did not, which would show it.
fn of_commit(cluster: &Cluster, all: &[SeriesChanges<'_>], measured: &[usize]) -> Option<&'static str> {
    if cluster.members().iter().any(|member| all[member.series].is_exact) {
        return Some("exact values did, too, and no machine moves these");
    }
    let sizes: Vec<f64> = cluster.members().iter().map(|member| member.change(all).relative().abs()).collect();
    let size = describe::median(&sizes).unwrap_or_default();
    let mut auxiliary = measured.iter().map(|number| &all[*number]).filter(|analysed| analysed.series.is_auxiliary());
    let has_moved = cluster.members().iter().any(|member| all[member.series].series.is_auxiliary());
    let would_be_seen = |analysed: &SeriesChanges<'_>| analysed.detectable().is_some_and(|least| least <= size);
    (!has_moved && auxiliary.any(would_be_seen)).then_some("control and calibration kernels stayed")
}

/// The probability that the change lies between two points of different environments, and the first such border.
fn at_border(
    cluster: &Cluster,
    suspects: &[(usize, f64)],
    all: &[SeriesChanges<'_>],
) -> (f64, Option<(String, String)>) {
    let mut border = None;
    let mut share = 0.0;
    for member in cluster.members() {
        let (analysed, change) = (&all[member.series], member.change(all));
        let mut crossed = |index: usize| {
            let is_border = analysed.is_border(index);
            if border.is_none() {
                border = analysed.border(index);
            }
            is_border
        };
        if member.is_of_one_commit(all) {
            share += f64::from(crossed(change.last));
            continue;
        }
        share += suspects
            .iter()
            .filter(|(place, _)| analysed.indices_at(*place).any(&mut crossed))
            .map(|(_, probability)| probability)
            .sum::<f64>();
    }
    (share / cluster.members().len().max(1) as f64, border)
}

/// Whether some benchmarks got better and others worse; one whose metrics went either way is a bargain, as commits make them.
fn goes_both_ways(moved: &BTreeMap<(&str, &str), Vec<&Candidate>>, all: &[SeriesChanges<'_>]) -> bool {
    let is_worse = |member: &&Candidate| Some(all[member.series].worse(member.change(all).relative())? > 0.0);
    let (mut worse, mut better) = (0.0, 0.0);
    for members in moved.values() {
        let ways: BTreeSet<bool> = members.iter().filter_map(is_worse).collect();
        worse += f64::from(ways.contains(&true) && ways.len() == 1);
        better += f64::from(ways.contains(&false) && ways.len() == 1);
    }
    f64::min(worse, better) >= OTHER_WAY * (worse + better) && f64::min(worse, better) > 0.0
}

/// Whether benchmarks moved in kinds that no change of the code moves together as a rule, some in their times and counts, others in
/// sizes; in several kinds each is what a commit does.
fn is_unlike(moved: &BTreeMap<(&str, &str), Vec<&Candidate>>, all: &[SeriesChanges<'_>]) -> bool {
    let has = |is_one: &dyn Fn(&Candidate) -> bool| moved.values().all(|members| members.iter().any(|one| is_one(one)));
    !has(&|member| is_size(member, all)) && !has(&|member| !is_size(member, all))
}

fn is_size(member: &Candidate, all: &[SeriesChanges<'_>]) -> bool {
    all[member.series].series.metric.unit == Unit::Byte
}

/// Whether benchmarks got slower or faster by about the same factor, as on a machine of another speed.
fn is_by_one_factor(moved: &BTreeMap<(&str, &str), Vec<&Candidate>>, all: &[SeriesChanges<'_>]) -> bool {
    let slower = |member: &Candidate| all[member.series].worse(member.change(all).relative()).map(f64::ln_1p);
    let factors: Vec<f64> =
        moved.values().flatten().copied().filter_map(slower).filter(|factor| factor.is_finite()).collect();
    let Some(middle) = describe::median(&factors) else { return false };
    let deviations: Vec<f64> = factors.iter().map(|factor| (factor - middle).abs()).collect();
    describe::median(&deviations).is_some_and(|deviation| deviation <= ALIKE * middle.abs())
}
