//! The question of a bisection: which benchmarks differ between the ends, by how much, and how noisy an answer is.
//!
//! The ends are measured in several sessions. How much sessions differ, beyond the pairs within them, is uncertain after few,
//! so that the step of each benchmark is judged by its posterior over several sizes of that noise.

use std::collections::BTreeMap;

use super::level::LevelObservation;
use super::tuning::Fitting;
use sprag_base::stats::{describe, normal};

/// Of each benchmark the logarithms of the ratios of its pairs, measured commit over good end.
pub type Session = BTreeMap<String, Vec<f64>>;

/// A benchmark that differs between the ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    pub benchmark: String,
    /// The logarithm of bad over good.
    pub change: f64,
    pub error: f64,
    /// The variance of a session.
    pub(super) variance: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BisectQuestion {
    /// The largest first.
    pub steps: Vec<Shift>,
    /// The variance of the level of one pair.
    pair_variance: f64,
    /// The sessions of the ends.
    pub ends: Vec<LevelObservation>,
    pub(super) sessions: Vec<Session>,
    pub(super) tuning: Fitting,
}

/// What the sessions of the ends say so far.
#[derive(Clone, Debug, PartialEq)]
pub enum Ends {
    Differ(Box<BisectQuestion>),
    Unclear,
    /// No benchmark differs by as much as matters.
    Alike,
    /// No benchmark was measured on both sides.
    Nothing,
}

/// Fewer sessions do not show how they differ.
pub const FEWEST_SESSIONS: usize = 3;

/// The pseudo-median: the median of the means of all pairs of values (Hodges and Lehmann, 1963).
pub(super) fn centre(values: &[f64]) -> Option<f64> {
    let averages =
        values.iter().enumerate().flat_map(|(place, one)| values[place..].iter().map(move |other| (one + other) / 2.0));
    describe::median(&averages.collect::<Vec<f64>>())
}

/// The centres of sessions, and the variance of a value within them.
fn centres<'s>(sessions: impl Iterator<Item = &'s [f64]>) -> (Vec<f64>, f64, f64) {
    let (mut centres, mut squares, mut freedom, mut pairs) = (Vec::new(), 0.0, 0.0, 0.0);
    for values in sessions {
        let Some(centre) = centre(values) else { continue };
        squares += values.iter().map(|value| (value - centre).powi(2)).sum::<f64>();
        freedom += values.len() as f64 - 1.0;
        pairs += values.len() as f64;
        centres.push(centre);
    }
    let per_session = pairs / (centres.len() as f64).max(1.0);
    (centres, squares / f64::max(freedom, 1.0), per_session)
}

/// The step of one benchmark, judged by all sessions.
struct Judged {
    change: f64,
    error: f64,
    /// The probability that it moved the other way.
    wrong: f64,
    /// The variance of one session.
    variance: f64,
}

fn judged(sessions: &[&[f64]], Fitting { sizes, .. }: &Fitting) -> Option<Judged> {
    let (centres, within, pairs) = centres(sessions.iter().copied());
    let count = centres.len() as f64;
    let change = describe::mean(&centres)?;
    let squares: f64 = centres.iter().map(|one| (one - change).powi(2)).sum();
    let pair_part = within / pairs;
    let unit = session_unit(&centres, pair_part);
    let variances = sizes.map(|(size, _)| (pair_part + (size * unit).powi(2)).max(1e-18));
    let fits = variances.map(|variance| -(count - 1.0) / 2.0 * variance.ln() - squares / (2.0 * variance));
    let most = fits.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = fits.iter().zip(sizes).map(|(fit, (_, prior))| prior * (fit - most).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let mean = |of: &dyn Fn(f64) -> f64| -> f64 {
        variances.iter().zip(&weights).map(|(variance, weight)| weight * of(*variance)).sum::<f64>() / sum
    };
    let variance = mean(&|variance| variance);
    let wrong = mean(&|variance: f64| normal::cdf(-change.abs() / (variance / count).sqrt()));
    Some(Judged { change, error: (variance / count).sqrt(), wrong, variance })
}

/// The size of what sessions differ by, at least what their pairs leave.
pub(super) fn session_unit(centres: &[f64], pair_part: f64) -> f64 {
    describe::sample_variance(centres).unwrap_or(0.0).max(pair_part).sqrt()
}

/// Judges the ends by the sessions so far. A change below `least` does not matter.
pub fn judge(sessions: &[Session], least: f64) -> Ends {
    judge_by(sessions, least, &Fitting::FITTED)
}

pub(super) fn judge_by(sessions: &[Session], least: f64, tuning: &Fitting) -> Ends {
    let mut benchmarks: Vec<(&String, Judged)> = Vec::new();
    if let Some(first) = sessions.first() {
        for benchmark in first.keys() {
            let of_all: Vec<&[f64]> = sessions.iter().filter_map(|one| one.get(benchmark).map(Vec::as_slice)).collect();
            if of_all.len() == sessions.len() {
                benchmarks.extend(judged(&of_all, tuning).map(|judged| (benchmark, judged)));
            }
        }
    }
    if benchmarks.is_empty() {
        return Ends::Nothing;
    }
    if sessions.len() < FEWEST_SESSIONS {
        return Ends::Unclear;
    }
    let limit = tuning.wrong / benchmarks.len() as f64;
    let reach = normal::quantile(1.0 - limit).unwrap_or(3.0);
    let is_small = benchmarks.iter().all(|(_, one)| one.change.abs() + reach * one.error < least);
    let is_doubtful = |one: &Judged| (limit..limit * tuning.doubtful / tuning.wrong).contains(&one.wrong);
    let has_doubtful = sessions.len() < tuning.most_for_doubtful && benchmarks.iter().any(|(_, one)| is_doubtful(one));
    let mut steps: Vec<Shift> = benchmarks
        .into_iter()
        .filter(|(_, one)| one.wrong < limit)
        .map(|(benchmark, one)| Shift {
            benchmark: benchmark.clone(),
            change: one.change,
            error: one.error,
            variance: one.variance.max(1e-18),
        })
        .collect();
    steps.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    match steps.is_empty() {
        true if is_small => Ends::Alike,
        true => Ends::Unclear,
        false if has_doubtful => Ends::Unclear,
        false => Ends::Differ(Box::new(BisectQuestion::new(steps, sessions.to_vec(), *tuning))),
    }
}

/// The smallest change of any benchmark that these sessions would have shown for certain.
pub fn detectable(sessions: &[Session]) -> Option<f64> {
    let first = sessions.first()?;
    let reach = normal::quantile(1.0 - Fitting::FITTED.wrong / first.len().max(1) as f64)?;
    let error = |benchmark: &String| {
        let of_all: Vec<&[f64]> = sessions.iter().filter_map(|one| one.get(benchmark).map(Vec::as_slice)).collect();
        judged(&of_all, &Fitting::FITTED).map(|one| one.error)
    };
    // With 0.84 errors more, it shows in four of five cases.
    first.keys().filter_map(error).reduce(f64::max).map(|error| ((reach + 0.84) * error).exp_m1())
}

impl Shift {
    /// What a measurement of it weighs.
    fn weight(&self) -> f64 {
        self.change / self.variance
    }

    /// How clear it is.
    pub(super) fn deviations(&self) -> f64 {
        self.change.abs() / self.error.max(1e-9)
    }
}

impl BisectQuestion {
    fn new(steps: Vec<Shift>, sessions: Vec<Session>, tuning: Fitting) -> BisectQuestion {
        let mut question = BisectQuestion { steps, pair_variance: 0.0, ends: Vec::new(), sessions, tuning };
        let sessions = &question.sessions;
        let levels: Vec<Vec<f64>> = sessions.iter().filter_map(|session| Some(question.levels(session)?.0)).collect();
        question.pair_variance = centres(levels.iter().map(Vec::as_slice)).1;
        question.ends = question.sessions.iter().filter_map(|session| question.observation(session)).collect();
        question
    }

    /// The question of some of its benchmarks, by their places.
    pub(super) fn only(&self, places: &[usize]) -> BisectQuestion {
        let steps = self.steps.iter().enumerate().filter(|(place, _)| places.contains(place));
        BisectQuestion::new(steps.map(|(_, step)| step.clone()).collect(), self.sessions.clone(), self.tuning)
    }

    /// The level of each pair, and the share of the information that the measured benchmarks give.
    fn levels(&self, session: &Session) -> Option<(Vec<f64>, f64)> {
        let mut measured: Vec<(&Shift, &Vec<f64>)> = Vec::new();
        for step in &self.steps {
            measured.extend(session.get(&step.benchmark).filter(|pairs| !pairs.is_empty()).map(|pairs| (step, pairs)));
        }
        let pairs = measured.iter().map(|(_, pairs)| pairs.len()).min()?;
        let full =
            |steps: &mut dyn Iterator<Item = &Shift>| -> f64 { steps.map(|one| one.weight() * one.change).sum() };
        let of_measured = full(&mut measured.iter().map(|(step, _)| *step));
        let level = |pair: usize| {
            let sum: f64 = measured.iter().map(|(step, pairs)| step.weight() * pairs[pair]).sum();
            sum / of_measured
        };
        Some(((0..pairs).map(level).collect(), of_measured / full(&mut self.steps.iter())))
    }

    /// What a session of a commit says; `None` where it measured no benchmark that differs.
    pub fn observation(&self, session: &Session) -> Option<LevelObservation> {
        let (levels, share) = self.levels(session)?;
        Some(LevelObservation { level: centre(&levels)?, variance: self.pair_variance / (share * levels.len() as f64) })
    }

    /// The variance that so many pairs leave.
    pub fn variance(&self, pairs: usize) -> f64 {
        self.pair_variance / pairs.max(1) as f64
    }

    /// By how much sessions may differ.
    pub(super) fn session_unit(&self) -> f64 {
        let levels: Vec<f64> = self.ends.iter().map(|one| one.level).collect();
        let pair_part = self.ends.iter().map(|one| one.variance).sum::<f64>() / (self.ends.len() as f64).max(1.0);
        session_unit(&levels, pair_part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_base::stats::random::SplitMix64;

    fn sessions(count: usize, steps: &[(&str, f64)], random: &mut SplitMix64) -> Vec<Session> {
        let mut session = || {
            let pairs = |step: f64, random: &mut SplitMix64| (0..4).map(|_| step + 0.01 * random.normal()).collect();
            steps.iter().map(|(name, step)| ((*name).to_owned(), pairs(*step, random))).collect()
        };
        (0..count).map(|_| session()).collect()
    }

    #[test]
    fn a_step_is_certain_small_or_unclear() {
        let mut random = SplitMix64::new(3);
        let mut check = |count: usize, steps: &[(&str, f64)], expected: &str| {
            let result = match judge(&sessions(count, steps, &mut random), 0.02) {
                Ends::Differ(question) => question.steps.iter().map(|one| one.benchmark.as_str()).collect(),
                other => format!("{other:?}"),
            };
            assert_eq!(result, expected, "{steps:?}");
        };
        check(0, &[("a", 0.1)], "Nothing");
        check(2, &[("a", 0.1)], "Unclear");
        check(4, &[("a", 0.1), ("b", 0.0), ("c", -0.2)], "ca");
        check(12, &[("a", 0.0), ("b", 0.0)], "Alike");
        let noisy = [[0.0, 0.04], [0.05, -0.02], [0.01, 0.02]].map(|pairs| [("a".to_owned(), pairs.to_vec())].into());
        assert_eq!(judge(&noisy, 0.02), Ends::Unclear);
    }

    #[test]
    fn equal_ends_are_seldom_said_to_differ() {
        let mut random = SplitMix64::new(5);
        let mut wrong = 0;
        for _ in 0..400 {
            let all = sessions(8, &[("a", 0.0), ("b", 0.0), ("c", 0.0)], &mut random);
            wrong += usize::from((3..=8).any(|count| matches!(judge(&all[..count], 0.0), Ends::Differ(_))));
        }
        assert!(wrong <= 12, "{wrong} of 400");
        let detectable = detectable(&sessions(8, &[("a", 0.0)], &mut random)).expect("there are sessions");
        assert!((0.003..0.02).contains(&detectable), "{detectable}");
    }

    #[test]
    fn a_commit_that_lacks_a_benchmark_is_judged_by_the_others() {
        let mut random = SplitMix64::new(7);
        let Ends::Differ(question) = judge(&sessions(4, &[("a", 0.1), ("b", 0.2)], &mut random), 0.02) else {
            panic!("the ends differ");
        };
        let one = |names: &[&str], level: f64| {
            let session: Session = names.iter().map(|name| ((*name).to_owned(), vec![level; 4])).collect();
            question.observation(&session)
        };
        let (both, alone) = (one(&["a", "b"], 0.0).expect("it has both"), one(&["a"], 0.0).expect("it has one"));
        assert!(both.level.abs() < 1e-9 && alone.variance > 2.0 * both.variance, "{both:?} {alone:?}");
        assert!(one(&["a"], 0.1).is_some_and(|one| (one.level - 1.0).abs() < 0.2));
        assert_eq!(one(&["c"], 0.1), None);
        assert!((question.variance(4) - both.variance).abs() < 1e-12);
    }
}
