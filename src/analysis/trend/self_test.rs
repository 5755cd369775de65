//! The budget of false alarms compared with the noise of the very history that is analysed.
//!
//! The residues of each series about its changes are put in another order and analysed like the series. Ten in a row
//! stay together, as they may be correlated, and move by twenty places at most: among quiet points, those of a rough segment
//! would look like a change. Points of drifts and of two modes are left out, as residues about these are not plain noise.
//! Nothing changes in the result, so every report about it is false. (A block bootstrap without replacement; Künsch, "The
//! jackknife and the bootstrap for general stationary observations", Annals of Statistics 17, 1989.) The order follows from
//! the id of the series, so that equal histories give equal figures.

use std::ops::Range;

use super::series_changes::{MOST_RAISE, SeriesChanges, Tested};
use crate::changes::context::Context;
use crate::changes::detect::{self, changes_in_context};
use crate::changes::sensitivity::Sensitivity;
use sprag_base::digest;
use sprag_base::stats::describe;
use sprag_base::stats::random::SplitMix64;
use sprag_model::{Better, Budget, Changes, SelfTest, Series};

const BLOCK: usize = 10;

/// The blocks next to one another that change places.
const NEAR: usize = 3;

/// In how many orders a series is tried, how many alarms in these raise its limits, and by what factor at least.
const TRIALS: usize = 5;
const FEWEST_ALARMS: usize = 2;
const LEAST_RAISE: f64 = 1.2;

/// How many points on either side give the level of a series that moves slowly.
const AROUND: usize = 15;

/// How many deviations from the median of a segment a point counts at most.
const REACH: f64 = 3.0;

/// How many points are searched at least, and how often a series at most.
const ENOUGH: usize = 20_000;
const MOST_TIMES: usize = 20;

/// The chance of so many alarms below which they are more than is allowed.
const BEYOND_CHANCE: f64 = 0.01;

/// How many times the alarms that are allowed in all orders are too many, whatever the middle order says. A few noisy
/// series of a small history may alarm in every third order.
const MANY_TIMES: f64 = 10.0;

/// In how many orders series of so many points in all are tested.
pub(super) fn orders(points: usize) -> usize {
    ENOUGH.div_ceil(points.max(1)).clamp(1, MOST_TIMES)
}

/// The test of a series in so many orders.
pub(super) fn tested(residues: &Residues<'_>, orders: usize) -> Tested {
    let alarms = residues.in_orders(orders, "test", |values| residues.count(values));
    Tested { points: residues.values.len(), alarms }
}

/// The budget of these series, tested.
pub(super) fn budget(all: &[SeriesChanges<'_>], false_discovery: f64) -> Budget {
    let tested: Vec<&SeriesChanges<'_>> = all.iter().filter(|analysed| analysed.changes.noise.is_some()).collect();
    let points: usize = tested.iter().map(|analysed| analysed.count).sum();
    let allowed_in =
        |analysed: &&SeriesChanges<'_>| analysed.setting.sensitivity.budget() * analysed.count as f64 / 1000.0;
    // The sum of nothing is -0.
    let expected = tested.iter().map(allowed_in).sum::<f64>() + 0.0;
    let allowed = if points > 0 { expected / points as f64 * 1000.0 } else { 0.0 };
    let raised = Some(tested.iter().filter(|analysed| analysed.raised > 1.0).count()).filter(|count| *count > 0);
    Budget { allowed, points, expected, raised, false_discovery, self_test: self_test(&tested, allowed) }
}

fn self_test(tested: &[&SeriesChanges<'_>], allowed: f64) -> SelfTest {
    let all: usize = tested.iter().map(|analysed| analysed.count).sum();
    let times = tested.iter().map(|analysed| analysed.tested.alarms.len()).max().unwrap_or_default();
    if all == 0 || times == 0 {
        return SelfTest::default();
    }
    let points: usize = tested.iter().map(|analysed| analysed.tested.points).sum();
    let alarms: usize = tested.iter().flat_map(|analysed| &analysed.tested.alarms).sum();
    // Orders of one series are not independent: each order of all series is a test of its own, and the middle one decides.
    let alarmed = |order: usize| {
        tested.iter().filter(|one| one.tested.alarms.get(order).is_some_and(|alarms| *alarms > 0)).count()
    };
    let mut of_orders: Vec<usize> = (0..times).map(alarmed).collect();
    of_orders.sort_unstable();
    let expected = allowed / 1000.0 * points as f64;
    let exceeded = are_too_many(of_orders[times / 2], expected, (alarms, times));
    let left_out = Some(all - points).filter(|count| *count > 0);
    let points = points * times;
    let rate = (points > 0).then(|| alarms as f64 / points as f64 * 1000.0);
    SelfTest { points, alarms, rate, exceeded, left_out }
}

/// Whether the middle order has more alarms than chance gives where so many are expected, or all orders together far more.
fn are_too_many(middle: usize, expected: f64, (alarms, times): (usize, usize)) -> bool {
    alarms as f64 > MANY_TIMES * expected * times as f64 || at_least(middle, expected) < BEYOND_CHANCE
}

/// By what factor the limits of a series must be higher, so that noise like its own does not alarm: as the clearest alarm in some
/// orders of its residues, if there are several.
pub(super) fn needed(residues: &Residues<'_>) -> f64 {
    // Few series alarm in the first order; more orders only say how often these do.
    if residues.in_orders(1, "first", |values| residues.count(values)) == [0] {
        return 1.0;
    }
    let limits = residues.in_orders(TRIALS, "limits", |values| residues.changes(values));
    let scores = limits.iter().flat_map(|changes| changes.points.iter().map(|point| point.score));
    if limits.iter().map(alarms_of).sum::<usize>() < FEWEST_ALARMS {
        1.0
    } else {
        scores.fold(LEAST_RAISE, f64::max).min(MOST_RAISE)
    }
}

fn alarms_of(changes: &Changes) -> usize {
    changes.points.len() + changes.drifts.len()
}

/// What is left of the points of a series without its changes, in their order, on the scale of its noise.
pub(super) struct Residues<'a> {
    series: &'a Series,
    sensitivity: Sensitivity,
    is_relative: bool,
    /// The newest level of the series.
    level: f64,
    values: Vec<f64>,
}

impl<'a> Residues<'a> {
    /// None where the noise of the series is unknown.
    pub(super) fn new(analysed: &SeriesChanges<'a>) -> Option<Residues<'a>> {
        let is_relative = analysed.changes.noise?.is_relative;
        let mut residues = Residues {
            series: analysed.series,
            sensitivity: analysed.setting.sensitivity,
            is_relative,
            level: analysed.changes.points.last().map_or(analysed.values[0], |point| point.after.value),
            values: without_changes(&analysed.values, &analysed.changes),
        };
        // Newest points that are outliers may be the first of a new level.
        let newest = analysed.apart.as_ref().map_or(0, |apart| analysed.values.len() - apart.begin);
        residues.values.truncate(residues.values.len().saturating_sub(newest));
        // What is detected in them in their own order is not noise, though it was too little among the changes of the series.
        let values = residues.in_units(&[&residues.values]);
        let more = residues.changes(&values);
        let is_same_scale = more.noise.is_some_and(|noise| noise.is_relative == is_relative);
        if alarms_of(&more) + more.modes.len() > 0 && is_same_scale {
            residues.values = without_changes(&values, &more);
        }
        Some(residues)
    }

    fn in_units(&self, blocks: &[&[f64]]) -> Vec<f64> {
        let in_units = |residue: &f64| if self.is_relative { self.level * residue.exp() } else { self.level + residue };
        blocks.iter().copied().flatten().map(in_units).collect()
    }

    fn changes(&self, values: &[f64]) -> Changes {
        let more_is_better = self.more_is_better();
        changes_in_context(values, &self.sensitivity, &Context { more_is_better, ..Context::default() })
    }

    /// How many changes and drifts they are.
    fn count(&self, values: &[f64]) -> usize {
        detect::count(values, &self.sensitivity, self.more_is_better())
    }

    fn more_is_better(&self) -> bool {
        self.series.metric.better == Better::Higher
    }

    /// What is `detected` in them in so many orders; those of another `purpose` are others.
    fn in_orders<T>(&self, times: usize, purpose: &str, detected: impl Fn(&[f64]) -> T) -> Vec<T> {
        let seed = digest::sha256_hex(format!("{}{purpose}", self.series.id).as_bytes());
        let mut random = SplitMix64::new(u64::from_str_radix(&seed[..16], 16).unwrap_or_default());
        let mut order = || {
            // The blocks begin at other places in each order.
            let (first, rest) = self.values.split_at(random.below(BLOCK).min(self.values.len()));
            let mut blocks: Vec<&[f64]> = std::iter::once(first).chain(rest.chunks(BLOCK)).collect();
            blocks.chunks_mut(NEAR).for_each(|near| random.shuffle(near));
            detected(&self.in_units(&blocks))
        };
        (0..times).map(|_| order()).collect()
    }
}

/// The points of a segment, strays drawn in towards the median: at an end one of them would bend the line.
fn drawn_in(segment: &[f64], deviation: f64) -> Vec<f64> {
    let middle = describe::median(segment).unwrap_or_default();
    // A climb across the window is not a stray: the reach grows with the spread of the segment.
    let spread = describe::scaled_median_deviation(segment).unwrap_or_default().max(deviation);
    segment.iter().map(|value| value.clamp(middle - REACH * spread, middle + REACH * spread)).collect()
}

/// Where a segment is at a place: on the line of least squares through the points around.
fn course(segment: &[f64], place: usize) -> f64 {
    let first = place.saturating_sub(AROUND);
    let around = &segment[first..segment.len().min(place + AROUND + 1)];
    let count = around.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = around.iter().sum::<f64>() / count;
    let products: f64 = around.iter().enumerate().map(|(index, value)| (index as f64 - middle) * value).sum();
    let squares = count * (count * count - 1.0) / 12.0;
    if squares > 0.0 { mean + products / squares * ((place - first) as f64 - middle) } else { mean }
}

/// What is left of each point without the levels that were found, on the scale of the noise; and without what moves more
/// slowly than the blocks, as their order would make steps of it. Points of drifts and of two modes are left out.
fn without_changes(values: &[f64], changes: &Changes) -> Vec<f64> {
    let is_relative = changes.noise.is_some_and(|noise| noise.is_relative);
    let on_scale = |value: &f64| if is_relative { value.ln() } else { *value };
    let mut left: Vec<f64> = values.iter().map(on_scale).collect();
    let cuts: Vec<usize> = changes.points.iter().map(|point| point.index).collect();
    let begins = std::iter::once(0).chain(cuts.iter().copied());
    let segments: Vec<(usize, usize)> = begins.zip(cuts.iter().copied().chain([left.len()])).collect();
    for (begin, end) in segments {
        let segment = drawn_in(&left[begin..end], changes.noise.map_or(0.0, |noise| noise.deviation));
        for (place, value) in left[begin..end].iter_mut().enumerate() {
            *value -= course(&segment, place);
        }
    }
    let drifts = changes.drifts.iter().map(|drift| drift.begin..drift.end);
    let others: Vec<Range<usize>> = drifts.chain(changes.modes.iter().map(|modes| modes.begin..modes.end)).collect();
    let is_plain = |place: usize| others.iter().all(|other| !other.contains(&place));
    left.into_iter().enumerate().filter(|(place, _)| is_plain(*place)).map(|(_, value)| value).collect()
}

/// The chance of so many events or more where so many are expected (Poisson).
fn at_least(count: usize, expected: f64) -> f64 {
    let mut term = (-expected).exp();
    let mut below = 0.0;
    for number in 0..count {
        below += term;
        term *= expected / (number + 1) as f64;
    }
    (1.0 - below).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::axis::pooled;
    use crate::trend::example::{analysed, noisy};
    use crate::trend::series_changes::Observed;

    #[test]
    fn chances_are_those_of_poisson() {
        assert_eq!(at_least(0, 0.3), 1.0);
        assert!((at_least(1, 0.3) - (1.0 - (-0.3_f64).exp())).abs() < 1e-12);
        assert!((at_least(3, 2.0) - (1.0 - 5.0 * (-2.0_f64).exp())).abs() < 1e-12);
    }

    #[test]
    fn the_middle_order_and_all_of_them_together_may_have_too_many() {
        // 0.07 are expected an order, 0.66 in ten.
        assert!(!are_too_many(0, 0.066, (0, 10)) && !are_too_many(0, 0.066, (3, 10)));
        assert!(are_too_many(0, 0.066, (14, 10)) && are_too_many(2, 0.066, (2, 10)));
        assert!(!are_too_many(3, 2.0, (30, 10)) && are_too_many(9, 2.0, (90, 10)));
    }

    #[test]
    fn residues_hold_no_levels_and_no_drifts() {
        let mut creep = noisy("creep", 250, 1, &[(0, 1.0), (220, 0.8)], 9);
        for (place, point) in creep.points.iter_mut().enumerate() {
            point.value *= (0.09 * ((place as f64 - 60.0) / 130.0).clamp(0.0, 1.0)).exp();
        }
        let series = [creep];
        let mut all = analysed(&series);
        all[0].tested = tested(&Residues::new(&all[0]).unwrap(), 1);
        assert_eq!((all[0].changes.points.len(), all[0].changes.drifts.len()), (1, 1));
        let left = without_changes(&all[0].values, &all[0].changes);
        let drift = &all[0].changes.drifts[0];
        assert_eq!(left.len(), 250 - (drift.end - drift.begin));
        assert_eq!(budget(&all, 0.05).self_test.left_out, Some(drift.end - drift.begin));
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        assert!(left.chunks(50).all(|part| mean(part).abs() < 0.006), "{left:?}");
    }

    #[test]
    fn noise_that_alarms_raises_the_limits_and_large_steps_stay() {
        let rough = |seed: u64| {
            let mut series = noisy("rough", 300, 1, &[(0, 1.0), (150, 1.6)], seed);
            let mut random = SplitMix64::new(seed);
            let mut shift = 1.0;
            for point in &mut series.points {
                // Each level lasts for about eight points.
                if random.below(8) == 0 {
                    shift = (0.03 * (random.below(5) as f64 - 2.0)).exp();
                }
                point.value *= shift;
            }
            series
        };
        let all: Vec<Series> = (0..12).map(rough).collect();
        let mut after = Vec::new();
        for one in analysed(&all) {
            let (factor, before) = (needed(&Residues::new(&one).unwrap()), one.changes.points.len());
            let points = pooled(one.series, &one.axis);
            let one = one.raised(factor, &Observed { reported: &[], pooled: &points, joins_unstable: false });
            let places: Vec<usize> = one.changes.points.iter().map(|point| point.index).collect();
            assert!(
                places.contains(&150) && (factor == 1.0 || places.len() < before),
                "{factor}, {before}: {places:?}"
            );
            after.push(one);
        }
        let raised = after.iter().filter(|one| one.raised > 1.0).count();
        assert!(raised > 0);
        assert_eq!(budget(&after, 0.05).raised, Some(raised));
        let calm = [noisy("calm", 300, 1, &[(0, 1.0)], 1)];
        assert_eq!(needed(&Residues::new(&analysed(&calm)[0]).unwrap()), 1.0);
    }

    #[test]
    fn the_budget_is_tested_with_the_noise_at_hand() {
        let quiet: Vec<Series> =
            (0..10).map(|seed| noisy(&format!("s{seed}"), 300, 1, &[(0, 1.0), (100, 1.3), (170, 0.9)], seed)).collect();
        let mut all = analysed(&quiet);
        all.iter_mut().for_each(|one| one.tested = tested(&Residues::new(one).unwrap(), orders(3000)));
        let budget = budget(&all, 0.05);
        assert_eq!((budget.points, budget.self_test.points), (3000, 21_000));
        assert!((budget.allowed - 0.05).abs() < 1e-12 && (budget.expected - 0.15).abs() < 1e-12);
        assert!(budget.self_test.alarms <= 3 && !budget.self_test.exceeded, "{:?}", budget.self_test);
        // Where next to nothing is allowed, a single alarm is too many.
        let few: Vec<&SeriesChanges<'_>> = all.iter().collect();
        assert_eq!(self_test(&few, 1e-6).exceeded, budget.self_test.alarms > 0);
        assert_eq!(super::budget(&[], 0.05).self_test, SelfTest::default());
    }
}
