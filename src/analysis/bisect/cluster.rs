//! A cluster: benchmarks that moved at the same commits, and what follows from what was measured of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::level::LevelObservation;
use super::posterior::{Measured, Posterior, posterior};
use super::question::{BisectQuestion, Session};

/// Benchmarks that moved at the same commits, as far as the measurements show.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub question: BisectQuestion,
    pub measured: BTreeMap<usize, Vec<LevelObservation>>,
    /// Also commits that lack these benchmarks alone.
    pub skipped: BTreeSet<usize>,
    pub posterior: Posterior,
    pub finding: Ruling,
    /// A commit to measure before the culprit is named.
    pub check: Option<usize>,
}

/// Suspects that no measurement can distinguish, as the commits between them are skipped; mostly one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    pub first: usize,
    pub last: usize,
    pub probability: f64,
}

/// What follows at the asked confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ruling {
    Culprit(Group),
    /// The step has two parts, or one part was undone; the level between them.
    Two([Group; 2], f64),
    /// The culprit, before which the level had moved at one of these commits, and back at one of the others.
    Redone(Group, [Group; 2]),
    /// The level moves gradually.
    Drift(f64),
    /// The level changes more often.
    Other(f64),
    Open,
}

/// Where so many commits of the range cannot be measured, it is not checked.
const MOST_TRIED: usize = 3;

impl Group {
    pub fn contains(&self, suspect: usize) -> bool {
        (self.first..=self.last).contains(&suspect)
    }
}

/// The one commit that is to blame for all that moved.
pub fn only_culprit(clusters: &[Cluster]) -> Option<usize> {
    let groups: Vec<Vec<Group>> = clusters.iter().map(|cluster| cluster.finding.groups()).collect();
    let first = groups.first()?.first()?.first;
    let is_it =
        |groups: &Vec<Group>| matches!(groups[..], [Group { first: one, last, .. }] if one == first && last == first);
    groups.iter().all(is_it).then_some(first)
}

impl Ruling {
    /// Whether commits are to blame, each separated from all others.
    pub fn is_named(&self) -> bool {
        let groups = self.groups();
        !groups.is_empty() && groups.iter().all(|group| group.first == group.last)
    }

    /// Where the level changes: the commits to blame and those of an earlier change that was undone.
    pub fn changes(&self) -> Vec<Group> {
        let undone: &[Group] = if let Ruling::Redone(_, undone) = self { undone } else { &[] };
        [undone, &self.groups()].concat()
    }

    pub fn groups(&self) -> Vec<Group> {
        match self {
            Ruling::Culprit(group) | Ruling::Redone(group, _) => vec![*group],
            Ruling::Two(groups, _) => groups.to_vec(),
            Ruling::Drift(_) | Ruling::Other(_) | Ruling::Open => Vec::new(),
        }
    }
}

impl Cluster {
    pub(super) fn new(
        question: BisectQuestion,
        prior: &[f64],
        answers: &[(usize, Session)],
        skipped: &BTreeSet<usize>,
        confidence: f64,
    ) -> Cluster {
        let mut measured: BTreeMap<usize, Vec<LevelObservation>> = BTreeMap::new();
        let mut skipped = skipped.clone();
        for (commit, session) in answers {
            match question.observation(session) {
                Some(observation) => measured.entry(*commit).or_default().push(observation),
                None => drop(skipped.insert(*commit)),
            }
        }
        skipped.retain(|commit| !measured.contains_key(commit));
        let commits = measured.iter().map(|(commit, all)| Measured { commit: *commit, observations: all.clone() });
        let posterior = posterior(&question, prior, &commits.collect::<Vec<Measured>>());
        let mut cluster = Cluster { question, measured, skipped, posterior, finding: Ruling::Open, check: None };
        cluster.finding = cluster.conclusion(confidence);
        if let Ruling::Culprit(group) = cluster.finding {
            cluster.check = cluster.unexplained(group).or_else(|| cluster.unchecked(group.last, prior.len()));
        }
        cluster
    }

    pub(super) fn largest(&self) -> f64 {
        self.question.steps[0].change.abs()
    }

    /// The commits of a range that can be measured.
    pub(super) fn able(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        range.filter(|commit| !self.skipped.contains(commit))
    }

    /// Suspects by groups that measurements can separate.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (place, probability) in self.posterior.suspects.iter().enumerate() {
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

    fn conclusion(&self, confidence: f64) -> Ruling {
        let posterior = &self.posterior;
        if posterior.drift >= confidence {
            return Ruling::Drift(posterior.drift);
        }
        if posterior.other >= confidence {
            return Ruling::Other(posterior.other);
        }
        let groups = self.groups();
        if posterior.two > 0.5 {
            let Some(pair) = posterior.pair.as_ref().filter(|pair| pair.probability >= confidence) else {
                return Ruling::Open;
            };
            let group = |gap: (usize, usize)| {
                let group = groups.iter().find(|group| group.first <= gap.0 && gap.1 <= group.last)?;
                Some(Group { probability: pair.probability, ..*group })
            };
            return match (group(pair.first), group(pair.second)) {
                (Some(first), Some(second)) => Ruling::Two([first, second], pair.between),
                _ => Ruling::Open,
            };
        }
        let best = groups.into_iter().max_by(|a, b| a.probability.total_cmp(&b.probability));
        let undone = || posterior.undone.map(|((first, last), probability)| Group { first, last, probability });
        match best.filter(|group| group.probability >= confidence) {
            Some(group) if posterior.redone > 0.5 => Ruling::Redone(group, undone()),
            Some(group) => Ruling::Culprit(group),
            None => Ruling::Open,
        }
    }

    /// A commit whose few measurements are far from what the culprit predicts: they were disturbed, or there are more changes.
    fn unexplained(&self, culprit: Group) -> Option<usize> {
        let (Posterior { noise, step, .. }, tuning) = (&self.posterior, &self.question.tuning);
        let is_far = |(commit, all): &(&usize, &Vec<LevelObservation>)| {
            let expected = if **commit < culprit.first { 0.0 } else { *step };
            let off = |one: &LevelObservation| {
                let deviation = (noise.of_observation(one.variance) + noise.build * noise.build).sqrt();
                (one.level - expected).abs() / deviation
            };
            !culprit.contains(**commit + 1)
                && all.len() < tuning.fewest_of_far
                && all.iter().all(|one| off(one) > tuning.far)
        };
        self.measured.iter().find(is_far).map(|(commit, _)| *commit)
    }

    /// The middle of the range after the culprit in which nothing was measured, if it is large.
    fn unchecked(&self, culprit: usize, suspects: usize) -> Option<usize> {
        let mut bounds: Vec<usize> = self.measured.keys().copied().filter(|commit| *commit > culprit).collect();
        bounds.insert(0, culprit);
        bounds.push(suspects);
        let gap = bounds.windows(2).max_by_key(|gap| gap[1] - gap[0])?;
        let middle = self.able(gap[0] + 1..gap[1]).min_by_key(|commit| (2 * commit).abs_diff(gap[0] + gap[1]));
        let tried = (gap[0] + 1..gap[1]).filter(|commit| self.skipped.contains(commit)).count();
        let share = (gap[1] - gap[0]) as f64 / suspects as f64;
        middle.filter(|_| share > self.question.tuning.checked && tried < MOST_TRIED)
    }
}
