//! Histories made by chance, with steps at given commits, and bisections of them.

use std::collections::BTreeSet;

use super::choice::Costs;
use super::question::{Ends, Session, judge};
use super::search::{Finding, Search};
use sprag_base::stats::random::SplitMix64;

/// A history, of which commits are measured in pairs with its good end.
#[derive(Clone, Debug)]
pub struct History {
    pub suspects: usize,
    /// The suspects that move the level, and by which factor.
    pub steps: Vec<(usize, f64)>,
    /// The deviation of a pair, of a session and of a build, as shares.
    pub pair_noise: f64,
    pub session_noise: f64,
    pub build_noise: f64,
    /// Commits that cannot be built.
    pub broken: BTreeSet<usize>,
    seed: u64,
    random: SplitMix64,
}

impl History {
    pub fn new(suspects: usize, steps: &[(usize, f64)], noise: f64, seed: u64) -> History {
        History {
            suspects,
            steps: steps.to_vec(),
            pair_noise: noise,
            session_noise: noise / 4.0,
            build_noise: noise / 8.0,
            broken: BTreeSet::new(),
            seed,
            random: SplitMix64::new(seed),
        }
    }

    /// One with a step by that factor anywhere, of which that share of commits is broken.
    pub fn random(suspects: usize, factor: f64, noise: f64, broken: f64, seed: u64) -> History {
        let mut random = SplitMix64::new(seed ^ 0x5eed);
        let culprit = 1 + random.below(suspects);
        let mut history = History::new(suspects, &[(culprit, factor)], noise, seed);
        history.broken = (1..suspects).filter(|_| random.uniform() < broken).collect();
        history
    }

    /// Logarithms of the ratios of a session of pairs of a commit and the good end.
    pub fn session(&mut self, commit: usize, pairs: usize) -> Vec<f64> {
        let steps = self.steps.iter().filter(|(suspect, _)| *suspect <= commit);
        let level: f64 = steps.map(|(_, factor)| factor.ln()).sum();
        let build = |commit: usize| {
            let seed = self.seed.wrapping_add(commit as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            SplitMix64::new(seed).normal() * self.build_noise
        };
        let level = level + build(commit) - build(0) + self.session_noise * self.random.normal();
        (0..pairs).map(|_| level + self.pair_noise * self.random.normal()).collect()
    }

    /// The deviation of the level that a session of so many pairs gives, builds included.
    pub fn deviation(&self, pairs: usize) -> f64 {
        let pair = self.pair_noise / (pairs as f64).sqrt();
        pair.hypot(self.session_noise).hypot(self.build_noise)
    }
}

/// How a bisection ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// `None` where the ends did not differ for certain.
    pub finding: Option<Finding>,
    /// Sessions of the ends, and of the commits between them.
    pub ends: usize,
    pub measurements: usize,
    /// The probability of the most likely culprit, and whether it is one.
    pub claim: f64,
    pub is_right: bool,
}

/// How many sessions of the ends are measured at most.
const MOST_ENDS: usize = 12;

/// Bisects in sessions of so many pairs, at most so many.
pub fn bisect(history: &mut History, pairs: usize, confidence: f64, most: usize) -> Trial {
    let mut sessions: Vec<Session> = Vec::new();
    let session = |history: &mut History, commit: usize| -> Session {
        [("one".to_owned(), history.session(commit, pairs))].into()
    };
    let mut trial = Trial { finding: None, ends: 0, measurements: 0, claim: 0.0, is_right: false };
    let question = loop {
        match judge(&sessions, 0.0) {
            Ends::Differ(question) => break question,
            Ends::Alike => return trial,
            Ends::Unclear | Ends::Nothing if trial.ends == MOST_ENDS => return trial,
            Ends::Unclear | Ends::Nothing => sessions.push(session(history, history.suspects)),
        }
        trial.ends = sessions.len();
    };
    let mut search = Search::new(question, vec![1.0; history.suspects]);
    loop {
        let posterior = search.posterior();
        let finding = search.finding(&posterior, confidence);
        let best = search.groups(&posterior).into_iter().max_by(|a, b| a.probability.total_cmp(&b.probability));
        if let Some(best) = best {
            trial.claim = best.probability;
            trial.is_right = history.steps.iter().any(|(suspect, _)| (best.first..=best.last).contains(suspect));
        }
        let is_built = |commit: usize| search.measured.contains_key(&commit);
        let costs = Costs {
            pairs: &[pairs],
            cost: &|_, _| 1.0,
            is_skipped: &|commit| search.skipped.contains(&commit),
            is_built: &is_built,
        };
        let is_over = finding != Finding::Open || trial.measurements == most;
        let choice = if is_over { None } else { search.next(&posterior, &costs) };
        let Some(choice) = choice else {
            trial.finding = Some(finding);
            return trial;
        };
        if history.broken.contains(&choice.commit) {
            search.skipped.insert(choice.commit);
            continue;
        }
        trial.measurements += 1;
        let session = session(history, choice.commit);
        if let Some(observation) = search.question.observation(&session) {
            search.measured.entry(choice.commit).or_default().push(observation);
        }
    }
}
