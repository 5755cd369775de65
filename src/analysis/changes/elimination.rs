//! Backward elimination: of the changes that a partition has, those stay that prove themselves against their neighbours.
//!
//! The change that explains least is tested first. One that fails goes, and its neighbours are tested again with the longer
//! sides that they then have.
//!
//! The longer sides may hold several levels, of a staircase of which a step failed: then autocorrelated noise explains the next
//! step as well. A step that is large among the points next to it stays whatever lies farther away.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;

use super::drifts;
use super::input::Input;
use super::long_sides::Pair;
use super::position;
use super::sensitivity::Sensitivity;
use super::short_run;
use super::side::{Side, ranges, trimmed_mean};

/// A number in its total order, turned round so that a heap gives the least first.
#[derive(PartialEq)]
struct Least(f64);

impl Eq for Least {}

impl Ord for Least {
    fn cmp(&self, other: &Least) -> Ordering {
        other.0.total_cmp(&self.0)
    }
}

impl PartialOrd for Least {
    fn partial_cmp(&self, other: &Least) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The changes of a series under test, with their neighbours.
pub(super) struct Elimination<'a> {
    input: Input<'a>,
    /// 0, the cuts, and the number of points; `before` and `after` pass over those that went.
    cuts: Vec<usize>,
    before: Vec<usize>,
    after: Vec<usize>,
    /// Sums of the values less the first one.
    sums: Vec<f64>,
    /// Sides that were made: most are used from both ends.
    sides: HashMap<(usize, usize), Rc<Side<'a>>>,
}

impl<'a> Elimination<'a> {
    /// Puts cuts to the test; they must be in order.
    pub(super) fn new(input: Input<'a>, cuts: &[usize]) -> Elimination<'a> {
        let values = &input.scaled.values[..];
        let cuts: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([values.len()]).collect();
        let last = cuts.len() - 1;
        let first = values.first().copied().unwrap_or(0.0);
        let mut sum = 0.0;
        let running = values.iter().map(|value| {
            sum += value - first;
            sum
        });
        Elimination {
            input,
            before: (0..=last).map(|place| place.saturating_sub(1)).collect(),
            after: (0..=last).map(|place| (place + 1).min(last)).collect(),
            sums: std::iter::once(0.0).chain(running).collect(),
            sides: HashMap::new(),
            cuts,
        }
    }

    pub(super) fn proven(mut self) -> Vec<usize> {
        let last = self.cuts.len() - 1;
        let mut gone = vec![false; last + 1];
        // How often each change was queued: only the last time counts.
        let mut turns = vec![0_u32; last + 1];
        let mut queue: BinaryHeap<(Least, Reverse<usize>, u32)> =
            (1..last).map(|place| (Least(self.gain(place)), Reverse(place), 0)).collect();
        while let Some((_, Reverse(place), turn)) = queue.pop() {
            if gone[place] || turn != turns[place] || self.score(place) >= 1.0 {
                continue;
            }
            gone[place] = true;
            let (before, after) = (self.before[place], self.after[place]);
            (self.after[before], self.before[after]) = (after, before);
            // Those after its neighbours, too: a run is judged also by what lies beyond its far end.
            for neighbour in [self.before[before], before, after, self.after[after]] {
                if (1..last).contains(&neighbour) {
                    turns[neighbour] += 1;
                    queue.push((Least(self.gain(neighbour)), Reverse(neighbour), turns[neighbour]));
                }
            }
        }
        self.retest(&mut gone);
        (1..last).filter(|place| !gone[*place]).map(|place| self.cuts[place]).collect()
    }

    /// Tests those that went once more, each between the neighbours that stayed, that which explains most first: it may have failed
    /// next to changes that went after it.
    fn retest(&mut self, gone: &mut [bool]) {
        let last = gone.len() - 1;
        let (noise, clear) = (self.input.noise, self.input.sensitivity.clear);
        let least = (clear * noise.deviation * noise.inflation).powi(2);
        let mut rest: Vec<(f64, usize)> = Vec::new();
        let mut before = 0;
        for (place, is_gone) in gone.iter().enumerate().take(last).skip(1) {
            if !is_gone {
                before = place;
                continue;
            }
            (self.before[place], self.after[place]) = (before, self.after[before]);
            rest.extend(Some((self.gain(place), place)).filter(|(gain, _)| *gain >= least));
        }
        rest.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        for (_, place) in rest {
            let before = (0..place).rev().find(|place| !gone[*place]).unwrap_or(0);
            let after = self.after[before];
            (self.before[place], self.after[place]) = (before, after);
            (self.after[before], self.before[after]) = (place, place);
            // Next to a step in the same direction it may belong to a ramp.
            let is_stair = |other: usize| (1..last).contains(&other) && self.step(other) * self.step(place) > 0.0;
            gone[place] = is_stair(before) || is_stair(after) || self.score(place) < 1.0;
            if gone[place] {
                (self.after[before], self.before[after]) = (after, before);
            }
        }
    }

    /// How far each of the cuts clears its limits.
    pub(super) fn scores(mut self) -> Vec<f64> {
        (1..self.cuts.len() - 1).map(|place| self.score(place)).collect()
    }

    /// The mean after a cut less that before it.
    fn step(&self, place: usize) -> f64 {
        let [begin, cut, end] = self.bounds(place);
        let mean = |from: usize, to: usize| (self.sums[to] - self.sums[from]) / (to - from) as f64;
        mean(cut, end) - mean(begin, cut)
    }

    /// The squares that a cut saves.
    fn gain(&self, place: usize) -> f64 {
        let [begin, cut, end] = self.bounds(place);
        let (before, after) = ((cut - begin) as f64, (end - cut) as f64);
        self.step(place).powi(2) * before * after / (before + after)
    }

    fn bounds(&self, place: usize) -> [usize; 3] {
        [self.cuts[self.before[place]], self.cuts[place], self.cuts[self.after[place]]]
    }

    fn side(&mut self, begin: usize, end: usize) -> Rc<Side<'a>> {
        let values = &self.input.scaled.values[..];
        Rc::clone(self.sides.entry((begin, end)).or_insert_with(|| Rc::new(Side::new(&values[begin..end]))))
    }

    fn differ(&self, before: &Side<'_>, after: &Side<'_>) -> bool {
        self.input.scaled.differ(before.level, after.level, self.input.sensitivity.least)
    }

    /// How far a change clears its limits: by all points up to its neighbours, or by those next to it alone.
    fn score(&mut self, place: usize) -> f64 {
        let far = self.score_of_sides(place);
        if far >= 1.0 { far } else { far.max(self.score_nearby(place)) }
    }

    /// How large a step is among the points next to it, in units of what it must be.
    fn score_nearby(&self, place: usize) -> f64 {
        let [begin, cut, end] = self.bounds(place);
        let values = &self.input.scaled.values[..];
        let (tuning, noise) = (self.input.tuning(), self.input.noise);
        let [before, after] =
            [&values[begin.max(cut.saturating_sub(tuning.nearby))..cut], &values[cut..end.min(cut + tuning.nearby)]];
        if before.len().min(after.len()) < tuning.fewest_nearby {
            return 0.0;
        }
        let (before, after) = (Side::new(before), Side::new(after));
        if !self.differ(&before, &after) {
            return 0.0;
        }
        let step = (after.level - before.level).abs();
        // The trimmed mean of so few points follows three outliers, and their median does not.
        if (after.middle() - before.middle()).abs() < step / 2.0 {
            return 0.0;
        }
        let own = before.deviation.hypot(after.deviation) / 2.0_f64.sqrt();
        let needed = (tuning.large * noise.deviation * noise.inflation).max(tuning.large_nearby * own);
        let needed = needed * self.input.sensitivity.clear / Sensitivity::BALANCED.clear;
        if needed > 0.0 { step / needed } else { 0.0 }
    }

    fn score_of_sides(&mut self, place: usize) -> f64 {
        let [begin, cut, end] = self.bounds(place);
        let [before, after] = ranges(begin, cut, end);
        let (before, after) = (self.side(before.start, before.end), self.side(after.start, after.end));
        let pair = Pair::new(&before, &after, &self.input);
        if !self.differ(&before, &after) {
            return 0.0;
        }
        let shorter = before.points.len().min(after.points.len());
        if shorter > self.input.tuning().longest_run {
            return pair.score(&self.input);
        }
        if pair.deviation <= 0.0 {
            return if shorter >= 2 { f64::MAX } else { 0.0 };
        }
        // Of two short sides either may be the run.
        let is_run = |side: &Side<'_>| side.points.len() <= self.input.tuning().longest_run;
        let (first, second) = (is_run(&before), is_run(&after));
        let as_run = |is_run: bool, is_before: bool| match is_run {
            true => self.score_of_run(place, [&before, &after], is_before),
            false => 0.0,
        };
        as_run(first, true).max(as_run(second, false))
    }

    /// How far a change clears its limits as the end of a run of few points, one of its two sides.
    fn score_of_run(&self, place: usize, [before, after]: [&Side<'_>; 2], is_before: bool) -> f64 {
        let [begin, cut, end] = self.bounds(place);
        let far = [self.cuts[self.before[self.before[place]]], self.cuts[self.after[self.after[place]]]];
        let (run, next) = if is_before { ((begin, cut), far[0]) } else { ((cut, end), far[1]) };
        let beyond = short_run::beyond(&self.input.scaled.values, is_before, run, next);
        let points = match is_before {
            true => self.with_beyond(after, self.after[place], true),
            false => self.with_beyond(before, self.before[place], false),
        };
        let longer = Side::new(&points);
        let pair = match is_before {
            true => Pair::new(before, &longer, &self.input),
            false => Pair::new(&longer, after, &self.input),
        };
        let is_shorter = (pair.before.points.len() < pair.after.points.len()) == is_before;
        if is_shorter { short_run::score(&pair, beyond, &self.input) } else { 0.0 }
    }

    /// The points next to a short run, up to a cut; where these are few, with those of the nearest long level beyond.
    fn with_beyond(&self, side: &Side<'_>, mut place: usize, is_after: bool) -> Vec<f64> {
        let tuning = self.input.tuning();
        if side.points.len() >= 2 * tuning.fewest_around {
            return side.points.to_vec();
        }
        loop {
            let next = if is_after { self.after[place] } else { self.before[place] };
            let (begin, end) = (self.cuts[place.min(next)], self.cuts[place.max(next)]);
            if begin == end {
                return side.points.to_vec();
            }
            if end - begin >= tuning.near {
                let [before, after] = ranges(begin, if is_after { begin } else { end }, end);
                let points = &self.input.scaled.values[if is_after { after } else { before }];
                let level = trimmed_mean(&mut points.to_vec());
                let moved: Vec<f64> = points.iter().map(|value| value - level + side.level).collect();
                return if is_after { [side.points, &moved].concat() } else { [&moved, side.points].concat() };
            }
            place = next;
        }
    }
}

/// The changes that prove themselves, each where it is likeliest; `runs` as of `Context`. Far points pull some to a place where they
/// fail: then all stay where they were found, unless a drift explains those that failed.
pub(super) fn proven(input: Input<'_>, runs: &[usize]) -> Vec<usize> {
    let cuts = &input.noise.cuts;
    let first = Elimination::new(input, cuts).proven();
    if first.is_empty() {
        return first;
    }
    let sensitivity = &input.sensitivity.after_changes(first.len());
    let input = Input { sensitivity, ..input };
    let proven = |cuts: &[usize]| Elimination::new(input, cuts).proven();
    let proved = proven(cuts);
    let values = &input.scaled.values[..];
    let locate = |place: usize| position::locate(values, around(&proved, place, values.len()), &input, &[], runs).place;
    let mut moved: Vec<usize> = (0..proved.len()).map(locate).collect();
    moved.sort_unstable();
    moved.dedup();
    if moved == proved {
        return proved;
    }
    let settled = proven(&moved);
    let is_drift = |[begin, end]: [usize; 2]| {
        let cuts: Vec<usize> = proved.iter().copied().filter(|cut| begin < *cut && *cut < end).collect();
        !cuts.is_empty()
            && drifts::of_segment(&input, [begin, end], 1.0)
                .is_some_and(|(ramp, _)| drifts::costs_less(&ramp, &cuts, &input))
    };
    let stay = settled.len() >= proved.len() || segments(&settled, values.len()).any(is_drift);
    if stay { settled } else { proved }
}

pub(super) fn segments(cuts: &[usize], count: usize) -> impl Iterator<Item = [usize; 2]> {
    let begins = std::iter::once(0).chain(cuts.iter().copied());
    begins.zip(cuts.iter().copied().chain([count])).map(|(begin, end)| [begin, end])
}

/// A cut with its neighbours, or the ends.
pub(super) fn around(cuts: &[usize], place: usize, count: usize) -> [usize; 3] {
    let before = place.checked_sub(1).map_or(0, |before| cuts[before]);
    [before, cuts[place], cuts.get(place + 1).copied().unwrap_or(count)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::detect;
    use sprag_base::stats::random::SplitMix64;

    #[test]
    fn a_plain_step_of_a_staircase_stays_though_others_fail() {
        // The first levels are short and close together, so that the sides of the large steps hold several.
        let quiet = [(2, 300.0), (6, 291.0), (1, 280.0), (4, 272.0), (7, 265.0), (1, 243.0), (9, 238.0)];
        let treads = quiet.map(|(count, level)| (count, level, 0.002)).into_iter().chain([(26, 222.0, 0.006)]);
        let treads: Vec<(usize, f64, f64)> = treads.collect();
        let (mut hits, mut drifts) = ([0; 2], 0);
        for seed in 0..40 {
            let mut random = SplitMix64::new(seed);
            let mut value = |level: f64, noise: f64| level * (1.0 + noise * random.normal());
            let values: Vec<f64> =
                treads.iter().flat_map(|tread| vec![*tread; tread.0]).map(|tread| value(tread.1, tread.2)).collect();
            let changes = detect::changes(&values, &Sensitivity::BALANCED);
            for (hits, large) in hits.iter_mut().zip([20, 30]) {
                *hits += usize::from(changes.points.iter().any(|point| (point.first..=point.last).contains(&large)));
            }
            drifts += changes.drifts.len();
        }
        assert!(hits.iter().all(|hits| *hits >= 38) && drifts <= 4, "{hits:?} of 40, {drifts} drifts");
    }

    #[test]
    fn large_steps_at_the_beginning_are_detected_though_their_levels_are_short() {
        // Levels with their points, and the changes that must be found.
        let outlier = [(1, 2.6), (1, 200.0), (1, 2.4), (4, 1.5), (170, 1.0)];
        type Case<'a> = (&'a [(usize, f64)], &'a [usize]);
        let stairs = [(3, 2.0), (3, 1.2), (7, 0.9), (160, 1.0)];
        let far_point = [(1, 2.6), (1, 100.0), (4, 1.3), (170, 1.0)];
        let cases: [Case<'_>; 5] = [
            (&stairs, &[3, 6, 13]),
            (&far_point, &[6]),
            (&[(3, 2.0), (3, 1.3), (170, 1.0)], &[3, 6]),
            (&[(3, 2.0), (4, 1.4), (170, 1.0)], &[3, 7]),
            (&outlier, &[3, 7]),
        ];
        for (levels, expected) in cases {
            let is_detected = |seed: &u64| {
                let mut random = SplitMix64::new(*seed);
                let level = levels.iter().flat_map(|(count, level)| vec![*level; *count]);
                let values: Vec<f64> = level.map(|level| level * (1.0 + 0.006 * random.normal())).collect();
                let detected = detect::changes(&values, &Sensitivity::BALANCED).points;
                expected.iter().all(|place| detected.iter().any(|point| point.index == *place))
            };
            let detected = (0..20).filter(is_detected).count();
            assert!(detected >= 18, "{levels:?}: {detected} of 20");
        }
    }

    #[test]
    fn certain_steps_after_a_climb_stay_though_its_own_fail() {
        // Treads of a climb that are too short and too close together, then long levels.
        let climb = [(6, 86.0), (5, 93.0), (6, 98.0), (9, 105.0), (3, 112.0), (12, 121.0)];
        let levels = [(58, 134.0), (17, 121.0), (62, 112.0), (40, 121.0), (9, 220.0)];
        let detected = (0..20).map(|seed| {
            let mut random = SplitMix64::new(seed);
            let level = climb.iter().chain(&levels).flat_map(|(count, level)| vec![*level; *count]);
            let values: Vec<f64> = level.map(|level| level * (1.0 + 0.015 * random.normal())).collect();
            let points = detect::changes(&values, &Sensitivity::BALANCED).points;
            [116, 178].iter().filter(|place| points.iter().any(|point| point.index.abs_diff(**place) <= 3)).count()
        });
        let detected: usize = detected.sum();
        assert!(detected >= 36, "{detected} of 40");
    }

    #[test]
    fn a_step_that_failed_next_to_a_chance_run_is_retested() {
        // Noise of two modes before the step makes candidates next to it, of which it explains least.
        let is_detected = |seed: &u64| {
            let mut random = SplitMix64::new(*seed);
            let mut value = |place: usize| {
                let high = if place < 33 && (place / 3) % 3 == 1 { 0.6 } else { 0.0 };
                (high - if place < 33 { 0.0 } else { 0.4 } + 0.08 * random.normal()).exp()
            };
            let values: Vec<f64> = (0..53).map(&mut value).collect();
            let detected = detect::changes(&values, &Sensitivity::BALANCED);
            detected.points.iter().any(|point| point.index.abs_diff(33) <= 2)
        };
        let detected = (0..40).filter(is_detected).count();
        assert!(detected >= 30, "{detected} of 40");
    }

    #[test]
    fn a_level_is_back_only_by_what_its_own_points_say() {
        // Two modes of noise, and a step long ago: a few points of the other mode are not the level before it.
        let mut back = 0;
        for seed in 0..200 {
            let mut random = SplitMix64::new(seed);
            let mut value = |place: usize| {
                let mode = if random.uniform() < 0.25 { 2.2 } else { 0.0 };
                100.0 + if place < 100 { 2.0 } else { 0.0 } + mode + 0.4 * random.normal()
            };
            let values: Vec<f64> = (0..300).map(&mut value).collect();
            let is_reported = |count: usize| {
                let detected = detect::changes(&values[..count], &Sensitivity::BALANCED);
                usize::from(detected.points.iter().any(|point| point.index > 150))
            };
            back += (200..=300).step_by(2).map(is_reported).max().unwrap_or(0);
        }
        assert!(back <= 20, "{back} of 200 series");
    }

    /// A step of three deviations at 38, eleven points ago, and a stray six points before it.
    fn stray_before_a_step(seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let level = |place: usize| if place < 38 { 100.0 } else { 103.0 };
        let mut values: Vec<f64> = (0..49).map(|place| level(place) + random.normal()).collect();
        values[32] *= 1.2;
        values
    }

    #[test]
    fn a_stray_next_to_a_step_does_not_hide_it() {
        let is_detected = |seed: &u64| {
            let detected = detect::changes(&stray_before_a_step(*seed), &Sensitivity::BALANCED);
            detected.points.len() == 1 && detected.points[0].index.abs_diff(38) <= 5
        };
        let count = (0..100).filter(is_detected).count();
        assert!(count >= 75, "{count} of 100");
    }
}
