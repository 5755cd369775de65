//! The size of the change at a culprit, by everything that was measured on both sides of it.
//!
//! Between two changes all commits have one level, from which each build differs a little, as code is laid out again: what is
//! replicated are commits, and sessions only within them. The level of a side is the mean of its commits, weighed by the
//! variance between commits and that of sessions (DerSimonian and Laird, "Meta-analysis in clinical trials", 1986). A side ends
//! where the next commit is at another level: a change too small to be a culprit lies between.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::cluster::Group;
use super::question::{Shift, centre};
use super::search::Search;
use sprag_base::stats::{describe, student};
use sprag_model::BisectEffect;

/// The least variance between builds, as a share of that of a session; without it the good end would weigh most.
const LEAST_BETWEEN: f64 = 1.0 / 16.0;

/// How many standard errors the next commit of a side may differ from those nearer to the culprit.
const REACH: f64 = 2.2;

/// The share of the change by which a level differs at least, if it is another one.
const SMALL: f64 = 0.05;

/// A commit: the mean of its sessions and the variance of that mean.
type Level = (f64, f64);

impl Search {
    /// What a benchmark moved by at the culprit, among other changes of it. `None` where a side was not measured.
    pub fn effect(&self, step: &Shift, culprit: Group, others: &[Group]) -> Option<BisectEffect> {
        let end = self.prior.len();
        let from = others.iter().filter(|one| one.last < culprit.first).map(|one| one.last).max().unwrap_or(0);
        let to = others.iter().filter(|one| one.first > culprit.last).map(|one| one.first - 1).min().unwrap_or(end);
        let ends = self.question.sessions.iter().map(|session| (end, session));
        let mut sessions: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (commit, session) in self.answers.iter().map(|(commit, session)| (*commit, session)).chain(ends) {
            let level = session.get(&step.benchmark).and_then(|pairs| centre(pairs));
            sessions.entry(commit).or_default().extend(level);
        }
        let side = |range: RangeInclusive<usize>| -> Vec<Level> {
            let measured = sessions
                .range(range)
                .filter_map(|(_, values)| Some((describe::mean(values)?, step.variance / values.len() as f64)));
            measured.collect()
        };
        let (mut before, mut after) = (side(from..=culprit.first - 1), side(culprit.last..=to));
        if from == 0 {
            // The good end itself, to which all levels are relative.
            before.insert(0, (0.0, 0.0));
        }
        before.reverse();
        for side in [&mut before, &mut after] {
            side.truncate(level_ends(side, step));
        }
        let between = variance_between([&before, &after]).max(LEAST_BETWEEN * step.variance);
        let (good, of_good) = mean(&before, between)?;
        let (bad, of_bad) = mean(&after, between)?;
        let reach = student::two_sided_95(before.len() + after.len()) * (of_good + of_bad).sqrt();
        let change = bad - good;
        Some(BisectEffect {
            benchmark: step.benchmark.clone(),
            change: change.exp_m1(),
            interval: ((change - reach).exp_m1(), (change + reach).exp_m1()),
        })
    }
}

/// How many commits, from the nearest on, are at one level. A build may differ from the next by as much as a session does.
fn level_ends(side: &[Level], step: &Shift) -> usize {
    let is_elsewhere = |place: &usize| {
        let near = &side[..*place];
        let between = variance_between([near, &[]]).max(step.variance);
        let (level, variance) = mean(near, between).unwrap_or_default();
        let difference = (side[*place].0 - level).abs();
        difference > REACH * (variance + side[*place].1 + between).sqrt() && difference > SMALL * step.change.abs()
    };
    (1..side.len()).find(is_elsewhere).unwrap_or(side.len())
}

/// What commits of a side differ by, beyond their sessions.
fn variance_between(sides: [&[Level]; 2]) -> f64 {
    let (mut squares, mut freedom, mut within) = (0.0, 0.0, 0.0);
    for side in sides {
        let values: Vec<f64> = side.iter().map(|level| level.0).collect();
        let own = values.len() as f64 - 1.0;
        squares += describe::sample_variance(&values).unwrap_or(0.0) * own;
        within += describe::mean(&side.iter().map(|level| level.1).collect::<Vec<f64>>()).unwrap_or(0.0) * own;
        freedom += own;
    }
    if freedom > 0.0 { (squares - within) / freedom } else { 0.0 }
}

/// The mean of commits and its variance.
fn mean(side: &[Level], between: f64) -> Option<Level> {
    let weight: f64 = side.iter().map(|(_, variance)| 1.0 / (variance + between)).sum();
    let sum: f64 = side.iter().map(|(level, variance)| level / (variance + between)).sum();
    (!side.is_empty()).then(|| (sum / weight, 1.0 / weight))
}
