//! A bisection under way: what was measured and skipped, what follows, and when to stop.

use std::collections::{BTreeMap, BTreeSet};

use super::choice::{Choice, Costs, next};
use super::level::Observation;
use super::posterior::{Measured, Posterior, posterior};
use super::question::Question;

#[derive(Clone, Debug)]
pub struct Search {
    pub question: Question,
    /// Of each suspect, from 1.
    pub prior: Vec<f64>,
    pub measured: BTreeMap<usize, Vec<Observation>>,
    /// Commits that cannot be built or lack the benchmarks.
    pub skipped: BTreeSet<usize>,
}

/// Suspects that no measurement can tell apart, as the commits between them are skipped; mostly one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    pub first: usize,
    pub last: usize,
    pub probability: f64,
}

/// What follows at the asked confidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    Culprit(Group),
    /// The step has two parts, or one part was undone; the level between them.
    Two([Group; 2], f64),
    /// The level moves gradually.
    Drift(f64),
    /// The level changes more than twice.
    Other(f64),
    Open,
}

impl Search {
    pub fn new(question: Question, prior: Vec<f64>) -> Search {
        Search { question, prior, measured: BTreeMap::new(), skipped: BTreeSet::new() }
    }

    fn commits(&self) -> Vec<Measured> {
        let measured = self.measured.iter();
        measured.map(|(commit, all)| Measured { commit: *commit, observations: all.clone() }).collect()
    }

    pub fn posterior(&self) -> Posterior {
        posterior(&self.question, &self.prior, &self.commits())
    }

    /// The best measurement.
    pub fn next(&self, posterior: &Posterior, costs: &Costs<'_>) -> Option<Choice> {
        self.next_of(posterior, costs, 1)
    }

    /// What the job of that number, from 1, measures while the jobs before it measure what is best for them. Where nothing
    /// else tells anything, the same as the first.
    pub fn next_of(&self, posterior: &Posterior, costs: &Costs<'_>, job: u32) -> Option<Choice> {
        let commits = self.commits();
        let mut pending = Vec::new();
        for _ in 0..job {
            match next(&self.question, posterior, &commits, costs, &pending) {
                Some(choice) => pending.push(choice),
                None => return pending.first().copied(),
            }
        }
        pending.pop()
    }

    /// Suspects by groups that measurements can separate.
    pub fn groups(&self, posterior: &Posterior) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (place, probability) in posterior.suspects.iter().enumerate() {
            // The commit before a suspect divides it from the suspect before.
            match groups.last_mut().filter(|_| self.skipped.contains(&place)) {
                Some(group) => {
                    group.last = place + 1;
                    group.probability += probability;
                }
                None => groups.push(Group { first: place + 1, last: place + 1, probability: *probability }),
            }
        }
        groups
    }

    pub fn finding(&self, posterior: &Posterior, confidence: f64) -> Finding {
        if posterior.drift >= confidence {
            return Finding::Drift(posterior.drift);
        }
        if posterior.other >= confidence {
            return Finding::Other(posterior.other);
        }
        let groups = self.groups(posterior);
        if posterior.two > 0.5 {
            let Some(pair) = posterior.pair.as_ref().filter(|pair| pair.probability >= confidence) else {
                return Finding::Open;
            };
            let group = |gap: (usize, usize)| {
                let group = groups.iter().find(|group| group.first <= gap.0 && gap.1 <= group.last)?;
                Some(Group { probability: pair.probability, ..*group })
            };
            return match (group(pair.first), group(pair.second)) {
                (Some(first), Some(second)) => Finding::Two([first, second], pair.between),
                _ => Finding::Open,
            };
        }
        let best = groups.into_iter().max_by(|a, b| a.probability.total_cmp(&b.probability));
        best.filter(|group| group.probability >= confidence).map_or(Finding::Open, Finding::Culprit)
    }
}
