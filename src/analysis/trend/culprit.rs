//! Which commit is the cause, and which one to measure next.
//!
//! The likelihoods of the places of all members are multiplied, and tempered by how much their noise has in common.
//! That is Kish's design effect: the variance of the mean of standardised residues over what it would be if they were
//! independent. The product is shared out evenly over the commits between two measured ones. The commit to measure next
//! is the one with the most information to expect about the cause. A run of it shows on which side of the change it
//! lies, and is wrong as often as noise of that size misleads. (A binary symmetric channel; Shannon, "A Mathematical
//! Theory of Communication", 1948.)

use std::collections::BTreeMap;

use super::cluster::{Candidate, of_border};
use super::series_changes::SeriesChanges;
use sprag_base::stats::normal;

const NEARLY: f64 = 6.0;

/// How many points on either side show what noise the members have in common, and the fewest commits that do.
const AROUND: usize = 40;
const FEWEST_COMMON: usize = 8;

/// How many deviations a residue counts at most.
const DRAWN_IN: f64 = 3.0;

/// The normal deviate of an error of 5 % on one side.
const SURE: f64 = 1.645;

/// Each suspect commit with the probability that it is the cause, in their order.
pub(super) fn suspects(members: &[Candidate], all: &[SeriesChanges<'_>]) -> Vec<(usize, f64)> {
    let (Some(lo), Some(hi)) = (members.iter().map(|one| one.lo).min(), members.iter().map(|one| one.hi).max()) else {
        return Vec::new();
    };
    let shared = design_effect(members, all);
    let deviance = |place: usize| {
        let bits: f64 = members.iter().map(|one| one.deviance(place, all)).sum();
        bits / shared - of_border(members, place, all)
    };
    let deviances: Vec<(usize, f64)> = (lo..=hi).map(|place| (place, deviance(place))).collect();
    let least = deviances.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
    let near: Vec<(usize, f64)> = deviances
        .into_iter()
        .filter(|one| one.1 - least <= NEARLY)
        .map(|(place, deviance)| (place, (-(deviance - least) / 2.0).exp()))
        .collect();
    let sum: f64 = near.iter().map(|one| one.1).sum();
    near.into_iter().map(|(place, weight)| (place, weight / sum)).collect()
}

/// By how much the members together say less than so many independent ones: from 1 to their number.
fn design_effect(members: &[Candidate], all: &[SeriesChanges<'_>]) -> f64 {
    let count = members.len() as f64;
    if members.len() < 2 {
        return 1.0;
    }
    let mut common: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for member in members {
        let (analysed, change) = (&all[member.series], member.change(all));
        let Some(noise) = analysed.changes.noise.filter(|noise| noise.deviation > 0.0) else { continue };
        let near = change.index.saturating_sub(AROUND)..analysed.count.min(change.index + AROUND);
        for index in near {
            let level = if index < change.index { change.before.value } else { change.after.value };
            let value = analysed.values[index];
            let residue = if noise.is_relative { (value / level).ln() } else { value - level } / noise.deviation;
            if residue.is_finite() {
                let (number, sum) = common.entry(analysed.points[index].place).or_default();
                *number += 1.0;
                *sum += residue.clamp(-DRAWN_IN, DRAWN_IN);
            }
        }
    }
    let squares: Vec<f64> =
        common.values().filter(|one| one.0 >= 2.0).map(|(number, sum)| sum * sum / number).collect();
    if squares.len() < FEWEST_COMMON {
        return count.sqrt();
    }
    (squares.iter().sum::<f64>() / squares.len() as f64).clamp(1.0, count)
}

/// A commit to measure, and what it is expected to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Probe {
    pub(super) place: usize,
    /// How many runs show, with an error of 5 % or less, whether it is before or after the change.
    pub(super) runs: usize,
    /// How many commits are left after these runs, in effect.
    pub(super) left: f64,
    /// What one run of it shows about the cause, in bits.
    bits: f64,
    is_new: bool,
}

/// Two measurements whose information differs by fewer bits are alike.
const ALIKE: f64 = 1e-9;

impl Probe {
    /// Whether one run of it shows more than one of another; of equals an unmeasured commit is better, then fewer runs.
    pub(super) fn is_better(&self, other: &Probe) -> bool {
        if (self.bits - other.bits).abs() >= ALIKE {
            return self.bits > other.bits;
        }
        (self.is_new, other.runs) > (other.is_new, self.runs)
    }
}

/// The commit to measure next; `gap` is how many deviations of one run the levels on both sides are apart where it is measured.
pub(super) fn probe(suspects: &[(usize, f64)], gap: f64, is_measured: impl Fn(usize) -> bool) -> Option<Probe> {
    let runs = (2.0 * SURE / gap.max(1e-3)).powi(2).ceil().clamp(1.0, 1e6);
    // A wrong side is reported as often as the mean of so many runs lies beyond the middle.
    let error = |runs: f64| normal::cdf(-gap * runs.sqrt() / 2.0);
    let before = suspects.iter().map(|one| entropy_of(one.1)).sum::<f64>();
    let mut behind = 0.0;
    let mut best: Option<Probe> = None;
    for (place, probability) in suspects.iter().take(suspects.len().saturating_sub(1)) {
        behind += probability;
        let probe = Probe {
            place: *place,
            runs: runs as usize,
            left: (before - information(behind, error(runs))).max(0.0).exp2(),
            bits: information(behind, error(1.0)),
            is_new: !is_measured(*place),
        };
        if best.is_none_or(|best| probe.is_better(&best)) {
            best = Some(probe);
        }
    }
    best
}

/// How many bits an answer gives about whether the cause is before a place: its probability `behind`, and that of an `error`.
fn information(behind: f64, error: f64) -> f64 {
    let changed = behind * (1.0 - error) + (1.0 - behind) * error;
    entropy_of(changed) + entropy_of(1.0 - changed) - entropy_of(error) - entropy_of(1.0 - error)
}

/// The share of an outcome in an entropy, in bits.
fn entropy_of(probability: f64) -> f64 {
    if probability > 0.0 { -probability * probability.log2() } else { 0.0 }
}

/// How many deviations of one run the levels are apart, by all members together.
pub(super) fn gap(members: &[Candidate], all: &[SeriesChanges<'_>]) -> f64 {
    let of = |member: &Candidate| {
        let (analysed, change) = (&all[member.series], member.change(all));
        let Some(noise) = analysed.changes.noise.filter(|noise| noise.deviation > 0.0) else { return f64::MAX };
        let (before, after) = (change.before.value, change.after.value);
        let step = if noise.is_relative { (after / before).ln() } else { after - before };
        step.abs() / noise.deviation
    };
    let squares: f64 = members.iter().map(|member| of(member).min(1e6).powi(2)).sum();
    (squares / design_effect(members, all)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::cluster::clusters;
    use crate::trend::example::{MACHINE, analysed, noisy};
    use sprag_model::Series;

    fn of(series: &[Series]) -> Vec<(usize, f64)> {
        let all = analysed(series);
        let clusters = clusters(&all).remove(MACHINE).unwrap_or_default();
        let largest = clusters.iter().max_by_key(|one| one.members().len());
        largest.map(|one| suspects(one.members(), &all)).unwrap_or_default()
    }

    #[test]
    fn probabilities_are_as_good_as_they_say() {
        // Changes of 2.5 deviations at a known commit, measured at each one: how often the cause has which probability.
        let (mut bits, mut hits, mut cases, mut certain) = (0.0, 0.0, 0.0, 0.0);
        for seed in 0..120 {
            let series: Vec<Series> = (0..3_u64)
                .map(|number| noisy(&format!("s{number}"), 120, 1, &[(0, 1.0), (60, 1.025)], seed * 31 + number))
                .collect();
            let suspects = of(&series);
            let Some(best) = suspects.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
            assert!((suspects.iter().map(|one| one.1).sum::<f64>() - 1.0).abs() < 1e-9);
            cases += 1.0;
            bits += best.1;
            hits += f64::from(best.0 == 60);
            certain += f64::from(suspects.iter().any(|one| one.0 == 60));
        }
        assert!(cases >= 110.0, "{cases}");
        assert!((bits - hits).abs() / cases < 0.12, "reported {bits}, hit {hits} of {cases}");
        assert!(certain / cases > 0.93, "{certain} of {cases}");
    }

    #[test]
    fn commits_between_two_measured_ones_share_alike() {
        let suspects = of(&[noisy("a", 240, 8, &[(0, 1.0), (121, 1.3)], 7)]);
        let places: Vec<usize> = suspects.iter().map(|one| one.0).collect();
        assert_eq!(places, (121..=128).collect::<Vec<_>>());
        assert!(suspects.iter().all(|one| (one.1 - 0.125).abs() < 1e-9), "{suspects:?}");
    }

    #[test]
    fn what_is_measured_next_halves_what_is_left() {
        let even: Vec<(usize, f64)> = (10..18).map(|place| (place, 0.125)).collect();
        let analysed = probe(&even, 30.0, |_| false).expect("there is something to tell");
        assert_eq!((analysed.place, analysed.runs), (13, 1));
        assert!((analysed.left - 4.0).abs() < 1e-6, "{analysed:?}");
        // Where noise misleads, more runs are needed, and more is left after them.
        let noisy = probe(&even, 2.0, |_| false).expect("there is something to tell");
        assert!((4.7..4.8).contains(&noisy.left) && noisy.runs == 3, "{noisy:?}");
        assert!(analysed.is_better(&noisy) && !noisy.is_better(&analysed) && !analysed.is_better(&analysed));
        // What is likely weighs more, and of two alike the one that was not measured is chosen.
        let skewed = [(1, 0.05), (2, 0.05), (3, 0.45), (4, 0.45)];
        assert_eq!(probe(&skewed, 30.0, |_| false).map(|one| one.place), Some(3));
        let thirds = [(1, 1.0 / 3.0), (2, 1.0 / 3.0), (3, 1.0 / 3.0)];
        assert_eq!(probe(&thirds, 30.0, |place| place == 1).map(|one| one.place), Some(2));
        assert_eq!(probe(&[(5, 1.0)], 30.0, |_| false), None);
        assert_eq!(probe(&[], 30.0, |_| false), None);
    }
}
