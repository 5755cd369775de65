//! Which commit is measured next, and in how many pairs: what is most informative for its cost.
//!
//! A measurement of a commit shows which of three levels it has: good, bad, or between two steps. The information is that
//! of a channel with three inputs and normal noise (Shannon, "A Mathematical Theory of Communication", 1948).

use std::f64::consts::TAU;

use std::collections::BTreeSet;

use super::cluster::Cluster;
use super::level::LevelObservation;
use super::posterior::{Gaps, Posterior};

/// What can be measured next, and what it costs.
pub struct Costs<'c> {
    /// How many pairs a measurement may have.
    pub pairs: &'c [usize],
    /// The cost of a measurement of that commit in so many pairs, its build included, in any unit.
    pub cost: &'c dyn Fn(usize, usize) -> f64,
    /// Whether it is built already, so that it may be cheaper than others.
    pub is_built: &'c dyn Fn(usize) -> bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BisectChoice {
    pub commit: usize,
    pub pairs: usize,
    /// What is expected of it, in bits.
    pub bits: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pending {
    pub commit: usize,
    pub pairs: usize,
}

/// Less than this is not worth a measurement.
const LEAST_BITS: f64 = 1e-3;

/// While other jobs measure, a measurement worth less than this waits for their answers, such as another one of a clear commit.
const LEAST_BITS_MEANWHILE: f64 = 0.2;

/// The shares of a gap at which commits are tried, but for the one that halves everything.
const SHARES: [f64; 3] = [0.25, 0.5, 0.75];

/// Those of a job among several.
const FINE_SHARES: [f64; 7] = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875];

/// How many points of the level its density is summed at.
const POINTS: usize = 48;

/// The measurement that is most informative about all clusters, given that others measure `pending`; `None` where none is.
pub fn next(clusters: &[&Cluster], costs: &Costs<'_>, pending: &[Pending]) -> Option<BisectChoice> {
    let (parts, least) =
        if pending.is_empty() { (&SHARES[..], LEAST_BITS) } else { (&FINE_SHARES[..], LEAST_BITS_MEANWHILE) };
    let tried = clusters.iter().flat_map(|cluster| candidates(cluster, costs, parts));
    let commits: BTreeSet<usize> = tried.chain(pending.iter().map(|one| one.commit)).collect();
    let mut best: Option<(f64, BisectChoice)> = None;
    for commit in commits {
        // Of two measurements at a time, the second adds what both together show beyond the first.
        let meanwhile: usize = pending.iter().filter(|one| one.commit == commit).map(|one| one.pairs).sum();
        for pairs in costs.pairs {
            let of_cluster = |cluster: &&Cluster| {
                if cluster.skipped.contains(&commit) {
                    return 0.0;
                }
                let (probability, inside) = between(&cluster.posterior.gaps, pending, commit);
                let before = cluster.measured.get(&commit).map(Vec::as_slice).unwrap_or_default();
                let of_pairs =
                    |pairs: usize| information(&cluster.posterior, inside, cluster.question.variance(pairs), before);
                let others = if meanwhile > 0 { of_pairs(meanwhile) } else { 0.0 };
                probability * (of_pairs(meanwhile + pairs) - others)
            };
            let bits: f64 = clusters.iter().map(of_cluster).sum();
            let value = bits * may_build(commit, clusters, costs) / (costs.cost)(commit, *pairs).max(1e-9);
            if bits >= least && best.as_ref().is_none_or(|(most, _)| value > *most) {
                best = Some((value, BisectChoice { commit, pairs: *pairs, bits }));
            }
        }
    }
    best.map(|(_, choice)| choice)
}

/// The commits that are tried: of each gap that which halves all, some that share it, those that are built or were measured.
fn candidates(cluster: &Cluster, costs: &Costs<'_>, parts: &[f64]) -> BTreeSet<usize> {
    let gaps = &cluster.posterior.gaps;
    let mut tried: BTreeSet<usize> = cluster.measured.keys().copied().collect();
    for (gap, bound) in gaps.bounds.windows(2).enumerate() {
        let able: Vec<usize> = cluster.able(bound[0] + 1..bound[1]).collect();
        let of_gap = |gap: usize| gaps.one[gap] + gaps.same[gap] + gaps.redone[2][gap];
        let mass = of_gap(gap);
        let earlier: f64 = (0..gap).map(of_gap).sum();
        let half = (0..gaps.one.len()).map(of_gap).sum::<f64>() / 2.0;
        let middle = ((half - earlier) / mass.max(1e-300)).clamp(0.0, 1.0);
        let mut inside = 0.0;
        let reached: Vec<f64> = gaps.within[bound[0]..bound[1]]
            .iter()
            .map(|one| {
                inside += one;
                inside
            })
            .collect();
        let near = |share: f64| {
            let off = |commit: &usize| (reached[commit - bound[0] - 1] - share).abs();
            able.iter().copied().min_by(|a, b| off(a).total_cmp(&off(b)))
        };
        tried.extend(parts.iter().copied().chain([middle]).filter_map(near));
        tried.extend(able.iter().copied().filter(|commit| (costs.is_built)(*commit)));
    }
    tried
}

/// The probability that the step of a cluster lies between the pending commits around this one, and its shares then.
fn between(gaps: &Gaps, pending: &[Pending], commit: usize) -> (f64, [f64; 3]) {
    let shares = shares_at(gaps, commit);
    if pending.is_empty() {
        return (1.0, shares);
    }
    let past = |one: &Pending| shares_at(gaps, one.commit)[1];
    let before = pending.iter().filter(|one| one.commit < commit).map(past).fold(0.0, f64::max);
    let after = pending.iter().filter(|one| one.commit > commit).map(past).fold(1.0, f64::min);
    let inside = (after - before).max(0.0);
    let past = ((shares[1] - before) / inside.max(1e-9)).clamp(0.0, 1.0);
    (inside, [1.0 - past, past, 0.0])
}

/// How likely a commit can be built: those next to broken ones are often broken too.
fn may_build(commit: usize, clusters: &[&Cluster], costs: &Costs<'_>) -> f64 {
    let is_skipped = |commit: usize| clusters.iter().any(|cluster| cluster.skipped.contains(&commit));
    let near = clusters.first().map_or(0, |cluster| cluster.question.tuning.near_broken);
    let off = (1..=near).find(|off| is_skipped(commit.saturating_sub(*off)) || is_skipped(commit + off));
    off.filter(|_| !(costs.is_built)(commit)).map_or(1.0, |off| off as f64 / (off as f64 + 1.0))
}

/// The probabilities that a commit is good, bad, between.
fn shares_at(gaps: &Gaps, commit: usize) -> [f64; 3] {
    let gap = gaps.bounds.partition_point(|bound| *bound < commit) - 1;
    shares(gaps, gap, gaps.within[gaps.bounds[gap]..commit].iter().sum())
}

/// Those of a commit in a gap, of which that share of the suspects lies before it.
fn shares(gaps: &Gaps, gap: usize, inside: f64) -> [f64; 3] {
    let is_past = |place: usize| match place.cmp(&gap) {
        std::cmp::Ordering::Less => 1.0,
        std::cmp::Ordering::Equal => inside,
        std::cmp::Ordering::Greater => 0.0,
    };
    let (mut good, mut bad, mut between) = (0.0, 0.0, 0.0);
    for (place, (one, same)) in gaps.one.iter().zip(&gaps.same).enumerate() {
        let past = is_past(place);
        good += one * (1.0 - past) + same * (1.0 - past).powi(2);
        bad += one * past + same * past.powi(2);
        between += same * 2.0 * past * (1.0 - past);
        for (second, two) in gaps.two[place].iter().enumerate().skip(place + 1) {
            good += two * (1.0 - past);
            bad += two * is_past(second);
            between += two * (past - is_past(second));
        }
    }
    // Where in its gap a change was undone says nothing of the culprit.
    let past = |which: usize| -> f64 {
        gaps.redone[which].iter().enumerate().map(|(place, share)| share * is_past(place)).sum()
    };
    let redone = past(0) - gaps.redone[1][..gap].iter().sum::<f64>() + past(2);
    bad += redone;
    good += gaps.redone[2].iter().sum::<f64>() - redone;
    let sum = good + bad + between;
    [good / sum, bad / sum, between / sum]
}

/// What a measurement shows about the level, in bits. `before` was measured of the same build, which shares its offset.
fn information(posterior: &Posterior, shares: [f64; 3], variance: f64, before: &[LevelObservation]) -> f64 {
    let noise = posterior.noise;
    let (build, fresh) = (noise.build * noise.build, noise.of_observation(variance));
    let precision: f64 = before.iter().map(|one| 1.0 / noise.of_observation(one.variance)).sum();
    // Earlier measurements show a part of the offset, which moves the levels together by that part.
    let apart = if precision > 0.0 { 1.0 / (1.0 + build * precision) } else { 1.0 };
    let variance = if precision > 0.0 { build * apart } else { build } + fresh;
    let wide = variance + noise.tuning.between_deviation.powi(2);
    let levels = [(0.0, variance), (posterior.step * apart, variance), (posterior.gaps.between * apart, wide)];
    let used = || shares.iter().zip(levels).filter(|(share, _)| **share > 1e-9);
    let low = used().map(|(_, (level, variance))| level - 5.0 * variance.sqrt()).fold(f64::INFINITY, f64::min);
    let high = used().map(|(_, (level, variance))| level + 5.0 * variance.sqrt()).fold(f64::NEG_INFINITY, f64::max);
    let points = POINTS.max((4.0 * (high - low) / variance.sqrt()) as usize);
    let width = (high - low) / points as f64;
    let mut entropy = 0.0;
    for point in 0..points {
        let at = low + (point as f64 + 0.5) * width;
        let density: f64 = used()
            .map(|(share, (level, variance))| {
                share * (-(at - level).powi(2) / (2.0 * variance)).exp() / (TAU * variance).sqrt()
            })
            .sum();
        if density > 0.0 {
            entropy -= density * density.log2() * width;
        }
    }
    let of_noise: f64 =
        used().map(|(share, (_, variance))| share * (TAU * std::f64::consts::E * variance).log2() / 2.0).sum();
    (entropy - of_noise).max(0.0)
}
