//! A bisection under way: what was measured and skipped, what follows, and when to stop.
//!
//! The question is asked of every benchmark that moved. Mostly they moved at the same commit, and what was measured of them
//! is pooled; those whose measurements disagree are in other *clusters*, each with a posterior of its own.

use std::collections::BTreeSet;

use super::choice::{BisectChoice, Costs, Pending, next};
use super::cluster::{Cluster, Ruling};
use super::question::{BisectQuestion, Session};
use super::tuning::Fitting;

#[derive(Clone, Debug)]
pub struct Search {
    pub question: BisectQuestion,
    /// Of each suspect, from 1.
    pub prior: Vec<f64>,
    /// Commits between the ends and what was measured of them.
    pub answers: Vec<(usize, Session)>,
    /// Commits that cannot be built or lack the benchmarks.
    pub skipped: BTreeSet<usize>,
}

impl Search {
    /// The benchmarks by where they moved; first that of the largest change.
    pub fn clusters(&self, confidence: f64) -> Vec<Cluster> {
        let steps = &self.question.steps;
        if steps.len() == 1 {
            return vec![self.cluster(&[0], &self.prior, confidence)];
        }
        let total: f64 = self.prior.iter().sum();
        let prior: Vec<f64> = self.prior.iter().map(|one| one / total).collect();
        let Fitting { two, shared, .. } = self.question.tuning;
        let before = States::new(&prior, two);
        let alone = |step: usize| {
            let posterior = self.cluster(&[step], &prior, confidence).posterior;
            States::new(&posterior.suspects, posterior.two)
        };
        let alone: Vec<States> = (0..steps.len()).map(alone).collect();
        let mut order: Vec<usize> = (0..steps.len()).collect();
        order.sort_by(|a, b| steps[*b].deviations().total_cmp(&steps[*a].deviations()));
        let mut pools: Vec<(Vec<usize>, States)> = Vec::new();
        for step in order {
            let agreement = |pool: &(Vec<usize>, States)| pool.1.agreement(&alone[step], &before);
            let best = pools.iter_mut().max_by(|a, b| agreement(a).total_cmp(&agreement(b)));
            match best.filter(|pool| shared * agreement(pool) > 1.0 - shared) {
                Some(pool) => {
                    pool.0.push(step);
                    pool.1 = pool.1.with(&alone[step], &before);
                }
                None => pools.push((vec![step], alone[step].clone())),
            }
        }
        let mut clusters = Vec::new();
        for (members, states) in &pools {
            let all = self.cluster(members, &self.prior, confidence);
            let groups = all.finding.groups();
            // The measurements may show where most moved, but not whether each did.
            let of_member = |step: &usize| {
                let others = states.without(&alone[*step], &before).suspects();
                self.cluster(&[*step], &mixed(&prior, &others, &self.question.tuning), confidence)
            };
            if members.len() == 1 || groups.is_empty() {
                clusters.push(all);
                continue;
            }
            let own: Vec<(usize, Cluster)> = members.iter().map(|step| (*step, of_member(step))).collect();
            if groups.len() > 1 && own.iter().all(|(_, one)| one.finding.groups().len() == 1) {
                clusters.extend(own.into_iter().map(|(_, one)| one));
                continue;
            }
            let is_doubtful = |one: &Cluster| {
                let inside = groups.iter().flat_map(|group| &one.posterior.suspects[group.first - 1..group.last]);
                inside.sum::<f64>() < confidence
            };
            let (doubtful, certain): (Vec<_>, Vec<_>) = own.into_iter().partition(|(_, one)| is_doubtful(one));
            let certain: Vec<usize> = certain.into_iter().map(|(step, _)| step).collect();
            let is_divided = !doubtful.is_empty() && !certain.is_empty();
            clusters.push(if is_divided { self.cluster(&certain, &self.prior, confidence) } else { all });
            clusters.extend(doubtful.into_iter().map(|(_, one)| one));
        }
        clusters.sort_by(|a, b| b.largest().total_cmp(&a.largest()));
        clusters
    }

    fn cluster(&self, steps: &[usize], prior: &[f64], confidence: f64) -> Cluster {
        Cluster::new(self.question.only(steps), prior, &self.answers, &self.skipped, confidence)
    }

    /// What to measure while other jobs measure `pending`: another commit, unless a second measurement of one of these still
    /// is most informative. `None` where nothing else would be informative.
    pub fn next(&self, clusters: &[Cluster], costs: &Costs<'_>, pending: &[Pending]) -> Option<BisectChoice> {
        let open: Vec<&Cluster> = clusters.iter().filter(|cluster| cluster.finding == Ruling::Open).collect();
        if open.is_empty() {
            let is_pending = |commit: &usize| pending.iter().any(|one| one.commit == *commit);
            let commit = clusters.iter().filter_map(|cluster| cluster.check).find(|commit| !is_pending(commit))?;
            return Some(BisectChoice { commit, pairs: *costs.pairs.first()?, bits: 0.0 });
        }
        next(&open, costs, pending)
    }
}

/// How likely a benchmark moved at each suspect, by where others did.
fn mixed(prior: &[f64], others: &[f64], tuning: &Fitting) -> Vec<f64> {
    let at = |place: Option<usize>| place.and_then(|place| others.get(place)).copied().unwrap_or(0.0);
    let of_place = |(place, prior): (usize, &f64)| {
        let Fitting { shared, next, .. } = tuning;
        let around = (at(place.checked_sub(1)) + at(Some(place + 1))) / 2.0;
        shared * others[place] + next * around + (1.0 - shared - next) * prior
    };
    prior.iter().enumerate().map(of_place).collect()
}

/// Where a benchmark moved: of each suspect the probability that it made the only step, then that its part of two is the larger.
#[derive(Clone, Debug)]
struct States(Vec<f64>);

impl States {
    /// Nothing is impossible, so that all can be divided by.
    fn new(suspects: &[f64], two: f64) -> States {
        let share = |part: f64| suspects.iter().map(move |one| (one * part).max(1e-12));
        States(share(1.0 - two).chain(share(two)).collect())
    }

    /// By what factor the measurements of two benchmarks change the odds that they moved at one commit and not each at any.
    fn agreement(&self, other: &States, before: &States) -> f64 {
        self.0.iter().zip(&other.0).zip(&before.0).map(|((one, other), before)| one * other / before).sum()
    }

    /// By the measurements of both.
    fn with(&self, other: &States, before: &States) -> States {
        let all = self.0.iter().zip(&other.0).zip(&before.0);
        States::normal(all.map(|((one, other), before)| one * other / before))
    }

    /// By the measurements of all but that one.
    fn without(&self, one: &States, before: &States) -> States {
        let all = self.0.iter().zip(&one.0).zip(&before.0);
        States::normal(all.map(|((all, one), before)| all / one * before))
    }

    fn normal(shares: impl Iterator<Item = f64>) -> States {
        let shares: Vec<f64> = shares.collect();
        let sum: f64 = shares.iter().sum();
        States(shares.into_iter().map(|share| share / sum).collect())
    }

    fn suspects(&self) -> Vec<f64> {
        let (one, two) = self.0.split_at(self.0.len() / 2);
        one.iter().zip(two).map(|(one, two)| one + two).collect()
    }
}
