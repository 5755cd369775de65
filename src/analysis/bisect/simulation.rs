//! Histories made by chance, with steps at given commits, and bisections of them.

use std::collections::BTreeSet;

use super::choice::Costs;
use super::cluster::{Cluster, Group, Ruling};
use super::question::{Ends, Session, judge_by};
use super::search::Search;
use super::tuning::Fitting;
use sprag_base::stats::random::SplitMix64;

/// A history, of which commits are measured in pairs with its good end.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub suspects: usize,
    /// Of each benchmark the suspects that move its level, and by which factor.
    pub steps: Vec<Vec<(usize, f64)>>,
    /// The deviation of a pair, of a session and of a build, as shares.
    pub pair_noise: f64,
    pub session_noise: f64,
    pub build_noise: f64,
    /// The share of sessions that something else disturbs, by several steps.
    pub disturbed: f64,
    /// Commits that cannot be built.
    pub broken: BTreeSet<usize>,
    seed: u64,
    random: SplitMix64,
}

impl Scenario {
    pub fn new(suspects: usize, steps: &[(usize, f64)], noise: f64, seed: u64) -> Scenario {
        Scenario {
            suspects,
            steps: vec![steps.to_vec()],
            pair_noise: noise,
            session_noise: noise / 4.0,
            build_noise: noise / 8.0,
            disturbed: 0.0,
            broken: BTreeSet::new(),
            seed,
            random: SplitMix64::new(seed),
        }
    }

    /// One with a step by that factor anywhere, of which that share of commits is broken.
    pub fn random(suspects: usize, factor: f64, noise: f64, broken: f64, seed: u64) -> Scenario {
        let mut random = SplitMix64::new(seed ^ 0x5eed);
        let culprit = 1 + random.below(suspects);
        let mut history = Scenario::new(suspects, &[(culprit, factor)], noise, seed);
        history.broken = (1..suspects).filter(|_| random.uniform() < broken).collect();
        history
    }

    /// A session of pairs of a commit and the good end.
    pub fn session(&mut self, commit: usize, pairs: usize) -> Session {
        (0..self.steps.len()).map(|benchmark| (name(benchmark), self.pairs(benchmark, commit, pairs))).collect()
    }

    /// Logarithms of the ratios of one benchmark in such a session.
    pub fn pairs(&mut self, benchmark: usize, commit: usize, pairs: usize) -> Vec<f64> {
        let steps = self.steps[benchmark].iter().filter(|(suspect, _)| *suspect <= commit);
        let level: f64 = steps.map(|(_, factor)| factor.ln()).sum();
        let build = |commit: usize| {
            let place = (commit + benchmark * self.suspects * 2) as u64;
            let seed = self.seed.wrapping_add(place).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            SplitMix64::new(seed).normal() * self.build_noise
        };
        let mut level = level + build(commit) - build(0) + self.session_noise * self.random.normal();
        if self.disturbed > 0.0 && self.random.uniform() < self.disturbed {
            level += 0.1 * self.random.normal();
        }
        (0..pairs).map(|_| level + self.pair_noise * self.random.normal()).collect()
    }

    /// The deviation of the level that a session of so many pairs gives, builds included.
    pub fn deviation(&self, pairs: usize) -> f64 {
        let pair = self.pair_noise / (pairs as f64).sqrt();
        pair.hypot(self.session_noise).hypot(self.build_noise)
    }

    /// Whether all benchmarks of a cluster moved at one of these suspects.
    fn is_right(&self, cluster: &Cluster, group: &Group) -> bool {
        let steps = |benchmark: &usize| cluster.question.steps.iter().any(|step| step.benchmark == name(*benchmark));
        let moved = |benchmark: usize| self.steps[benchmark].iter().any(|(suspect, _)| group.contains(*suspect));
        (0..self.steps.len()).filter(steps).all(moved)
    }
}

fn name(benchmark: usize) -> String {
    format!("benchmark {benchmark}")
}

#[derive(Clone, Debug)]
pub struct Trial {
    /// None where the ends did not differ for certain.
    pub clusters: Vec<Cluster>,
    pub search: Option<Search>,
    /// Sessions of the ends, and of the commits between them.
    pub ends: usize,
    pub measurements: usize,
    /// The least probability of the most likely culprits, and whether all are right.
    pub claim: f64,
    pub is_right: bool,
}

impl Trial {
    /// The finding of a single cluster.
    pub fn finding(&self) -> Option<Ruling> {
        let [cluster] = self.clusters.as_slice() else { return None };
        Some(cluster.finding)
    }
}

/// How many sessions of the ends are measured at most.
const MOST_ENDS: usize = 12;

/// Bisects in sessions of so many pairs, at most so many.
pub fn bisect(history: &mut Scenario, pairs: usize, confidence: f64, most: usize) -> Trial {
    bisect_by(history, (pairs, confidence, most), &Fitting::FITTED)
}

/// The same by other constants.
pub fn bisect_by(history: &mut Scenario, (pairs, confidence, most): (usize, f64, usize), tuning: &Fitting) -> Trial {
    let mut sessions: Vec<Session> = Vec::new();
    let mut trial = Trial { clusters: Vec::new(), search: None, ends: 0, measurements: 0, claim: 0.0, is_right: false };
    let question = loop {
        match judge_by(&sessions, 0.0, tuning) {
            Ends::Differ(question) => break *question,
            Ends::Alike => return trial,
            Ends::Unclear | Ends::Nothing if trial.ends == MOST_ENDS => return trial,
            Ends::Unclear | Ends::Nothing => sessions.push(history.session(history.suspects, pairs)),
        }
        trial.ends = sessions.len();
    };
    let prior = vec![1.0; history.suspects];
    let mut search = Search { question, prior, answers: Vec::new(), skipped: BTreeSet::new() };
    loop {
        let clusters = search.clusters(confidence);
        let best =
            |cluster: &Cluster| cluster.groups().into_iter().max_by(|a, b| a.probability.total_cmp(&b.probability));
        let best: Vec<(&Cluster, Group)> =
            clusters.iter().filter_map(|cluster| Some((cluster, best(cluster)?))).collect();
        trial.claim = best.iter().map(|(_, group)| group.probability).fold(1.0, f64::min);
        trial.is_right = best.iter().all(|(cluster, group)| history.is_right(cluster, group));
        let costs = Costs {
            pairs: &[pairs],
            cost: &|_, _| 1.0,
            is_built: &|commit| search.answers.iter().any(|(one, _)| *one == commit),
        };
        let choice = if trial.measurements == most { None } else { search.next(&clusters, &costs, &[]) };
        let Some(choice) = choice else {
            trial.clusters = clusters;
            return Trial { search: Some(search), ..trial };
        };
        if history.broken.contains(&choice.commit) {
            search.skipped.insert(choice.commit);
            continue;
        }
        trial.measurements += 1;
        search.answers.push((choice.commit, history.session(choice.commit, pairs)));
    }
}
