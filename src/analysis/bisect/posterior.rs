//! The probability of every suspect, given what was measured.
//!
//! Between two measured commits nothing distinguishes suspects but their prior, so that hypotheses are about *gaps*:
//! one step in a gap; two steps, in one gap or in two, with any level between them; a change that was undone before the step;
//! a level that drifts; or a level that follows none of these. The size of the step, the level between two steps and the noise are integrated over grids.

use super::level::{LevelObservation, Noise, log_likelihood, log_sum};
use super::question::BisectQuestion;
use super::tuning::Fitting;

/// What was measured of one commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub commit: usize,
    pub observations: Vec<LevelObservation>,
}

/// The level between two steps is anywhere in this range, but not so near to an end that there is in effect one culprit.
const BETWEEN: (f64, f64) = (-1.0, 2.0);
const BETWEEN_STEP: f64 = 0.125;

/// The sizes of the step, in standard errors about what the ends show.
const STEP_DEVIATES: [f64; 5] = [-1.8, -0.9, 0.0, 0.9, 1.8];

#[derive(Clone, Debug)]
pub struct Posterior {
    /// Of each suspect, from 1, that its part of the step is the largest, or that it made the bad end what it is.
    pub suspects: Vec<f64>,
    /// That the step has two parts with a measured commit between them, or one part that was undone.
    pub two: f64,
    /// Of two parts the most likely gaps, as ranges of suspects, with their probability and the level between them.
    pub pair: Option<Culprits>,
    /// That a change was undone before the step, as the good level between them shows.
    pub redone: f64,
    /// The most likely gaps of that change and of what undid it, with the probability of each.
    pub undone: [((usize, usize), f64); 2],
    pub drift: f64,
    /// That the levels follow neither steps nor a drift.
    pub other: f64,
    /// By gaps, for what is asked next.
    pub(super) gaps: Gaps,
    pub(super) noise: Noise,
    /// The step, on the scale of the ends.
    pub(super) step: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Culprits {
    pub first: (usize, usize),
    pub second: (usize, usize),
    pub probability: f64,
    pub between: f64,
}

/// The posterior by gaps: gap `q` lies between the measured commits `bounds[q]` and `bounds[q + 1]`.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    pub(super) bounds: Vec<usize>,
    /// The prior of each suspect, from 1, shared out within its gap.
    pub(super) within: Vec<f64>,
    pub(super) one: Vec<f64>,
    /// A change, what undid it, and the last step after that.
    pub(super) redone: [Vec<f64>; 3],
    /// Two steps in the same gap, and in two gaps, the first one by rows.
    pub(super) same: Vec<f64>,
    pub(super) two: Vec<Vec<f64>>,
    /// The mean level between two steps.
    pub(super) between: f64,
}

/// The posterior; `prior` is that of each suspect, from 1, and `measured` lies between the ends, in the order of commits.
pub fn posterior(question: &BisectQuestion, prior: &[f64], measured: &[Measured]) -> Posterior {
    let total: f64 = prior.iter().sum();
    let prior: Vec<f64> = prior.iter().map(|one| one / total).collect();
    let bounds: Vec<usize> =
        std::iter::once(0).chain(measured.iter().map(|one| one.commit)).chain([prior.len()]).collect();
    let of_gap = |value: &dyn Fn(f64) -> f64| -> Vec<f64> {
        bounds.windows(2).map(|gap| prior[gap[0]..gap[1]].iter().map(|one| value(*one)).sum()).collect()
    };
    let (weights, squares) = (of_gap(&|one| one), of_gap(&|one| one * one));
    // The probability that two suspects drawn by the prior are two.
    let unlike = (1.0 - squares.iter().sum::<f64>()).max(1e-12);
    let count = weights.len();
    let (mut one, mut same) = (vec![LogSum::default(); count], vec![LogSum::default(); count]);
    let mut two = vec![vec![Both::default(); count]; count];
    let mut redone = [(); 3].map(|()| vec![LogSum::default(); count]);
    let (mut drift, mut other) = (LogSum::default(), LogSum::default());
    let (mut noises, mut steps) = (Vec::new(), [LogSum::default(); STEP_DEVIATES.len()]);

    let (unit, ends) = (question.session_unit(), question.ends.as_slice());
    let Fitting { two: prior_of_two, redone: prior_of_redone, drift: prior_of_drift, other: prior_of_other, .. } =
        question.tuning;
    let prior_of_one = 1.0 - prior_of_two - prior_of_redone - prior_of_drift - prior_of_other;
    let (betweens, at_ends) = (betweens(question.tuning.near), question.tuning.at_ends);
    for (size, before_all) in question.tuning.sizes {
        let noise = Noise::of_sessions(size * unit, question.tuning);
        let at = |level: f64| -> Vec<f64> {
            measured.iter().map(|one| log_likelihood(&one.observations, level, noise)).collect()
        };
        let good = before(&at(0.0));
        let middles: Vec<Vec<f64>> = betweens.iter().map(|level| before(&at(*level))).collect();
        let mut of_noise = LogSum::default();
        let mut last = vec![LogSum::default(); count];
        for (place, deviate) in STEP_DEVIATES.iter().enumerate() {
            let step = step_size(*deviate, unit, (ends.len(), question.tuning.least_build));
            let end = log_likelihood(ends, step, noise) + before_all.ln();
            let bad = before(&at(step));
            let after = |gap: usize| bad[count - 1] - bad[gap] + end;
            for gap in 0..count {
                let fit = good[gap] + after(gap);
                last[gap].add(weights[gap].ln() + fit);
                let likely = (prior_of_one * weights[gap]).ln() + fit;
                one[gap].add(likely);
                of_noise.add(likely);
                steps[place].add(likely);
                let both = weights[gap] * weights[gap] - squares[gap];
                same[gap].add((prior_of_two * both.max(0.0) / unlike).ln() + fit);
                for second in gap + 1..count {
                    let pair = prior_of_two * 2.0 * weights[gap] * weights[second] / (unlike * betweens.len() as f64);
                    let fixed = pair.ln() + good[gap] + after(second);
                    for (between, middle) in betweens.iter().zip(&middles) {
                        let likely = fixed + middle[second] - middle[gap];
                        two[gap][second].add(likely, *between, between.abs() >= (step - between).abs());
                    }
                }
            }
            // Three suspects drawn by the prior are in this order in one of six cases.
            let of_gap = |value: &dyn Fn(usize) -> f64| -> Vec<f64> {
                (0..count).map(|gap| weights[gap].ln() + value(gap)).collect()
            };
            let parts = [
                of_gap(&|gap| good[gap] - bad[gap]),
                of_gap(&|gap| bad[gap] - good[gap]),
                of_gap(&|gap| good[gap] + after(gap)),
            ];
            of_noise.add(add_in_order(
                &mut redone,
                (prior_of_redone * 6.0 * question.tuning.same).ln(),
                parts.each_ref().map(Vec::as_slice),
            ));
            let share = |one: &Measured| step * one.commit as f64 / prior.len() as f64;
            let fit = measured.iter().map(|one| log_likelihood(&one.observations, share(one), noise)).sum::<f64>();
            drift.add(prior_of_drift.ln() + fit + end);
            // Each commit is at one of the ends, or rarely at any other level.
            let [of_end, of_level] = [at_ends / 2.0, (1.0 - at_ends) / betweens.len() as f64].map(f64::ln);
            let any = (0..measured.len()).map(|place| {
                let at = |all: &Vec<f64>, share: f64| all[place + 1] - all[place] + share;
                let ends = [&good, &bad].map(|all| at(all, of_end));
                log_sum(middles.iter().map(|middle| at(middle, of_level)).chain(ends))
            });
            other.add(prior_of_other.ln() + any.sum::<f64>() + end);
        }
        let last: Vec<f64> = last.iter().map(LogSum::logarithm).collect();
        let prior = (1.0 - question.tuning.same) / betweens.len() as f64;
        for middle in &middles {
            let log = |gap: usize, shift: f64| weights[gap].ln() + shift;
            let change: Vec<f64> = (0..count).map(|gap| log(gap, good[gap] - middle[gap])).collect();
            let undoes: Vec<f64> = (0..count).map(|gap| log(gap, middle[gap] - good[gap])).collect();
            let all = add_in_order(&mut redone, (prior_of_redone * 6.0 * prior).ln(), [&change, &undoes, &last]);
            of_noise.add(all);
        }
        noises.push((noise, of_noise));
    }

    let all = one
        .iter()
        .chain(&same)
        .chain(two.iter().flatten().map(|both| &both.all))
        .chain(&redone[2])
        .chain([&drift, &other]);
    let all = log_sum(all.map(LogSum::logarithm).collect::<Vec<f64>>());
    let share = |one: &LogSum| (one.logarithm() - all).exp();
    let redone = redone.map(|sums| sums.iter().map(share).collect::<Vec<f64>>());
    let mut largest: Vec<f64> =
        one.iter().zip(&same).zip(&redone[2]).map(|((one, same), last)| share(one) + share(same) + last).collect();
    let gap = |place: usize| (bounds[place] + 1, bounds[place + 1]);
    let undone = [0, 1].map(|which: usize| {
        let likely = redone[which].iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        likely.map_or(((1, prior.len()), 0.0), |(place, probability)| (gap(place), probability))
    });
    let mut pair: Option<Culprits> = None;
    let (mut sum_two, mut between) = (0.0, 0.0);
    for (first, row) in two.iter().enumerate() {
        for (second, both) in row.iter().enumerate().skip(first + 1) {
            let probability = share(&both.all);
            largest[first] += share(&both.first);
            largest[second] += probability - share(&both.first);
            sum_two += probability;
            between += probability * both.between();
            if pair.as_ref().is_none_or(|best| best.probability < probability) {
                pair = Some(Culprits { first: gap(first), second: gap(second), probability, between: both.between() });
            }
        }
    }
    let within: Vec<f64> = bounds
        .windows(2)
        .zip(&weights)
        .flat_map(|(gap, weight)| prior[gap[0]..gap[1]].iter().map(move |one| one / weight))
        .collect();
    let unexplained = share(&drift) + share(&other);
    let mut suspects = Vec::with_capacity(prior.len());
    for (gap, mass) in bounds.windows(2).zip(&largest) {
        let of_one = |place: usize| mass * within[place] + unexplained * prior[place];
        suspects.extend((gap[0]..gap[1]).map(of_one));
    }
    let weight_of = |sums: &[LogSum]| -> Vec<f64> {
        let all = log_sum(sums.iter().map(LogSum::logarithm).collect::<Vec<f64>>());
        sums.iter().map(|one| (one.logarithm() - all).exp()).collect()
    };
    let noise_weights = weight_of(&noises.iter().map(|one| one.1).collect::<Vec<LogSum>>());
    let squared = |value: fn(&Noise) -> f64| -> f64 {
        noises.iter().zip(&noise_weights).map(|((noise, _), weight)| weight * value(noise).powi(2)).sum::<f64>().sqrt()
    };
    let sizes = STEP_DEVIATES.map(|deviate| step_size(deviate, unit, (ends.len(), question.tuning.least_build)));
    Posterior {
        suspects,
        two: sum_two,
        pair,
        redone: redone[2].iter().sum(),
        undone,
        drift: share(&drift),
        other: share(&other),
        gaps: Gaps {
            within,
            one: one.iter().map(share).collect(),
            redone,
            same: same.iter().map(share).collect(),
            two: two.iter().map(|row| row.iter().map(|both| share(&both.all)).collect()).collect(),
            between: if sum_two > 0.0 { between / sum_two } else { 0.5 },
            bounds,
        },
        noise: Noise {
            session: squared(|noise| noise.session),
            build: squared(|noise| noise.build),
            tuning: question.tuning,
        },
        step: weight_of(&steps).iter().zip(sizes).map(|(weight, size)| weight * size).sum(),
    }
}

/// A size of the step, about the 1 that the ends show after so many sessions; it never turns.
fn step_size(deviate: f64, unit: f64, (sessions, least_build): (usize, f64)) -> f64 {
    let error = (least_build * least_build + unit * unit / sessions.max(1) as f64).sqrt();
    (1.0 + deviate * error).max(0.2)
}

fn betweens(near: f64) -> Vec<f64> {
    let count = ((BETWEEN.1 - BETWEEN.0) / BETWEEN_STEP) as usize;
    let all = (0..=count).map(|place| BETWEEN.0 + BETWEEN_STEP * place as f64);
    all.filter(|level| level.abs() > near && (level - 1.0).abs() > near).collect()
}

/// The sums of all values before each place.
fn before(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    std::iter::once(0.0)
        .chain(values.iter().map(|value| {
            sum += value;
            sum
        }))
        .collect()
}

/// Adds to the sums of three gaps the probability, as a logarithm, of the values' events in this order, and returns its total.
fn add_in_order(sums: &mut [Vec<LogSum>; 3], factor: f64, [first, second, third]: [&[f64]; 3]) -> f64 {
    let earlier = sums_before(first.iter().copied());
    let mut later = sums_before(third.iter().rev().copied());
    later.reverse();
    let up_to_second = sums_before(earlier.iter().zip(second).map(|(earlier, second)| earlier + second));
    let mut from_second = sums_before(later.iter().zip(second).rev().map(|(later, second)| later + second));
    from_second.reverse();
    let mut all = LogSum::default();
    for gap in 0..first.len() {
        sums[0][gap].add(factor + first[gap] + from_second[gap]);
        sums[1][gap].add(factor + earlier[gap] + second[gap] + later[gap]);
        sums[2][gap].add(factor + up_to_second[gap] + third[gap]);
        all.add(factor + up_to_second[gap] + third[gap]);
    }
    all.logarithm()
}

/// Of the values before each place the logarithm of the sum.
fn sums_before(logarithms: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sum = LogSum::default();
    let before = |logarithm: f64| {
        let before = sum.logarithm();
        sum.add(logarithm);
        before
    };
    logarithms.map(before).collect()
}

/// The logarithm of a sum of exponentials, one after another.
#[derive(Clone, Copy, Debug)]
struct LogSum {
    most: f64,
    sum: f64,
}

impl Default for LogSum {
    fn default() -> LogSum {
        LogSum { most: f64::NEG_INFINITY, sum: 0.0 }
    }
}

impl LogSum {
    fn add(&mut self, logarithm: f64) {
        if logarithm > self.most {
            self.sum = self.sum * (self.most - logarithm).exp() + 1.0;
            self.most = logarithm;
        } else if logarithm > f64::NEG_INFINITY {
            self.sum += (logarithm - self.most).exp();
        }
    }

    fn logarithm(&self) -> f64 {
        self.most + self.sum.ln()
    }
}

/// Two steps in two gaps: all of it, that where the first is the larger one, and the level between them.
#[derive(Clone, Copy, Debug, Default)]
struct Both {
    all: LogSum,
    first: LogSum,
    level: LogSum,
}

impl Both {
    fn add(&mut self, logarithm: f64, between: f64, is_first: bool) {
        self.all.add(logarithm);
        if is_first {
            self.first.add(logarithm);
        }
        // Shifted, so that no logarithm is of a negative number.
        self.level.add(logarithm + (between - BETWEEN.0).ln());
    }

    fn between(&self) -> f64 {
        (self.level.logarithm() - self.all.logarithm()).exp() + BETWEEN.0
    }
}
