//! Backward elimination: of the changes that a partition has, those stay that prove themselves against their neighbours.
//!
//! The change that explains least is tested first. One that fails goes, and its neighbours are tested again with the longer
//! sides that they then have; one that went before a neighbour did is tested once more in the end. So a change is not lost
//! because a false one stood beside it.
//!
//! The longer sides may hold several levels, of a staircase of which a step failed: then noise that wanders explains the next
//! step as well. A step that is plain among the points next to it stays whatever lies farther away.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;

use super::long_sides::{Pair, excursion_score};
use super::noise::Noise;
use super::position;
use super::scale::Scaled;
use super::sensitivity::Sensitivity;
use super::short_run::{self, LONGEST};
use super::side::{Side, ranges};

/// The points on either side next to a change by which it may be plain, and the fewest.
const NEARBY: usize = 8;
const FEWEST_NEARBY: usize = 5;

/// How many deviations of the noise, and of these points, make a step plain.
pub(super) const PLAIN: f64 = 7.0;
const PLAIN_NEARBY: f64 = 4.5;

/// A change that is to be tested: the least gain comes first.
struct Waiting {
    gain: f64,
    place: usize,
    /// How often the change was put here; only the last time counts.
    turn: u32,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        other.gain.total_cmp(&self.gain).then(other.place.cmp(&self.place))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

struct State {
    /// How often each change was put to the test.
    turns: Vec<u32>,
    gone: Vec<bool>,
    waiting: BinaryHeap<Waiting>,
}

impl State {
    fn put(&mut self, place: usize, gain: f64) {
        self.turns[place] += 1;
        self.waiting.push(Waiting { gain, place, turn: self.turns[place] });
    }
}

/// The changes of a series under test, with their neighbours.
pub(super) struct Elimination<'a> {
    scaled: &'a Scaled,
    noise: &'a Noise,
    sensitivity: &'a Sensitivity,
    /// 0, the cuts, and the number of points; those that went are left out of `before` and `after`, and keep there the
    /// neighbours that they had.
    cuts: Vec<usize>,
    before: Vec<usize>,
    after: Vec<usize>,
    /// Sums of the values less the first one.
    sums: Vec<f64>,
    /// Sides that were made: most are looked at from both ends.
    sides: HashMap<(usize, usize), Rc<Side<'a>>>,
}

impl<'a> Elimination<'a> {
    /// Puts cuts to the test; they must be in order.
    pub(super) fn of(
        scaled: &'a Scaled,
        cuts: &[usize],
        noise: &'a Noise,
        sensitivity: &'a Sensitivity,
    ) -> Elimination<'a> {
        let values = &scaled.values[..];
        let cuts: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([values.len()]).collect();
        let last = cuts.len() - 1;
        let first = values.first().copied().unwrap_or(0.0);
        let mut sum = 0.0;
        let running = values.iter().map(|value| {
            sum += value - first;
            sum
        });
        Elimination {
            scaled,
            noise,
            sensitivity,
            before: (0..=last).map(|place| place.saturating_sub(1)).collect(),
            after: (0..=last).map(|place| (place + 1).min(last)).collect(),
            sums: std::iter::once(0.0).chain(running).collect(),
            sides: HashMap::new(),
            cuts,
        }
    }

    /// The cuts that stay.
    pub(super) fn proven(mut self) -> Vec<usize> {
        let last = self.cuts.len() - 1;
        let mut state = State { turns: vec![0; last + 1], gone: vec![false; last + 1], waiting: BinaryHeap::new() };
        (1..last).for_each(|place| state.put(place, self.gain(place)));
        self.eliminate(&mut state);
        self.ask_again(&mut state);
        (1..last).filter(|place| !state.gone[*place]).map(|place| self.cuts[place]).collect()
    }

    /// Takes away what does not prove itself, the change that explains least first.
    fn eliminate(&mut self, state: &mut State) {
        while let Some(Waiting { place, turn, .. }) = state.waiting.pop() {
            if state.gone[place] || turn != state.turns[place] || self.score(place) >= 1.0 {
                continue;
            }
            state.gone[place] = true;
            let (before, after) = (self.before[place], self.after[place]);
            (self.after[before], self.before[after]) = (after, before);
            self.put_neighbours(place, state);
        }
    }

    /// Has those next to a change tested again, and those after them: a run is judged also by what lies beyond its far end.
    fn put_neighbours(&self, place: usize, state: &mut State) {
        let (before, after) = (self.before[place], self.after[place]);
        for neighbour in [self.before[before], before, after, self.after[after]] {
            if (1..self.cuts.len() - 1).contains(&neighbour) {
                state.put(neighbour, self.gain(neighbour));
            }
        }
    }

    /// Tests those once more whose neighbours went after them, in order.
    fn ask_again(&mut self, state: &mut State) {
        let last = self.cuts.len() - 1;
        // The nearest after each that stays: what goes from here on is passed over, and only what lies behind comes back.
        let mut next = vec![last; last + 1];
        for place in (0..last).rev() {
            next[place] = if state.gone[place + 1] { next[place + 1] } else { place + 1 };
        }
        let mut left = 0;
        for place in 1..last {
            if state.gone[place] && (state.gone[self.before[place]] || state.gone[self.after[place]]) {
                let mut right = next[place];
                while state.gone[right] {
                    right = next[right];
                }
                (self.before[place], self.after[place]) = (left, right);
                if self.score(place) >= 1.0 {
                    state.gone[place] = false;
                    (self.after[left], self.before[right]) = (place, place);
                    self.put_neighbours(place, state);
                    self.eliminate(state);
                }
            }
            left = if state.gone[place] { left } else { place };
            while state.gone[left] {
                left = self.before[left];
            }
        }
    }

    /// How far each of the cuts clears its limits.
    pub(super) fn scores(mut self) -> Vec<f64> {
        (1..self.cuts.len() - 1).map(|place| self.score(place)).collect()
    }

    /// The squares that a cut saves.
    fn gain(&self, place: usize) -> f64 {
        let [begin, cut, end] = self.bounds(place);
        let (before, after) = ((cut - begin) as f64, (end - cut) as f64);
        let mean = |from: usize, to: usize| (self.sums[to] - self.sums[from]) / (to - from) as f64;
        let step = mean(cut, end) - mean(begin, cut);
        step * step * before * after / (before + after)
    }

    fn bounds(&self, place: usize) -> [usize; 3] {
        [self.cuts[self.before[place]], self.cuts[place], self.cuts[self.after[place]]]
    }

    fn side(&mut self, begin: usize, end: usize) -> Rc<Side<'a>> {
        let values = &self.scaled.values[..];
        Rc::clone(self.sides.entry((begin, end)).or_insert_with(|| Rc::new(Side::of(&values[begin..end]))))
    }

    /// How far a change clears its limits together with a neighbour that takes it back. Of the far side no more points count
    /// than of the change's own: many there say what the level was, and nothing of whether it is back.
    fn as_excursion(&mut self, place: usize, before: &Side<'_>, after: &Side<'_>) -> f64 {
        let [begin, _, end] = self.bounds(place);
        let mut best: f64 = 0.0;
        let (earlier, later) = (self.before[place], self.after[place]);
        if earlier > 0 {
            let from = self.cuts[self.before[earlier]].max(begin.saturating_sub(after.points.len()));
            if begin - from > LONGEST {
                let early = self.side(from, begin);
                best = best.max(excursion_score([&early, before, after], self.noise, self.sensitivity));
            }
        }
        if later < self.cuts.len() - 1 {
            let to = self.cuts[self.after[later]].min(end + before.points.len());
            if to - end > LONGEST {
                let late = self.side(end, to);
                best = best.max(excursion_score([before, after, &late], self.noise, self.sensitivity));
            }
        }
        best
    }

    /// How far a change clears its limits: by all points up to its neighbours, or by those next to it alone.
    fn score(&mut self, place: usize) -> f64 {
        let far = self.score_of_sides(place);
        if far >= 1.0 { far } else { far.max(self.score_nearby(place)) }
    }

    /// How plain a step is where it stands: beside sides that hold several levels, because what parts them is not proven.
    fn score_nearby(&self, place: usize) -> f64 {
        let [begin, cut, end] = self.bounds(place);
        let values = &self.scaled.values[..];
        let [before, after] =
            [&values[begin.max(cut.saturating_sub(NEARBY))..cut], &values[cut..end.min(cut + NEARBY)]];
        if before.len().min(after.len()) < FEWEST_NEARBY {
            return 0.0;
        }
        let (before, after) = (Side::of(before), Side::of(after));
        if !self.scaled.differ(before.level, after.level, self.sensitivity.least) {
            return 0.0;
        }
        let step = (after.level - before.level).abs();
        let noise = self.noise.deviation * self.noise.inflation;
        let own = before.deviation.hypot(after.deviation) / 2.0_f64.sqrt();
        let needed = (PLAIN * noise).max(PLAIN_NEARBY * own) * self.sensitivity.clear / Sensitivity::BALANCED.clear;
        if needed > 0.0 { step / needed } else { 0.0 }
    }

    fn score_of_sides(&mut self, place: usize) -> f64 {
        let [begin, cut, end] = self.bounds(place);
        let [before, after] = ranges(begin, cut, end);
        let (before, after) = (self.side(before.start, before.end), self.side(after.start, after.end));
        let pair = Pair::of(&before, &after, self.noise);
        if !self.scaled.differ(before.level, after.level, self.sensitivity.least) {
            return 0.0;
        }
        let shorter = before.points.len().min(after.points.len());
        if shorter > LONGEST {
            let alone = pair.score(self.noise, self.sensitivity);
            return if alone >= 1.0 { alone } else { alone.max(self.as_excursion(place, &before, &after)) };
        }
        if pair.deviation <= 0.0 {
            return if shorter >= 2 { f64::MAX } else { 0.0 };
        }
        let is_before = before.points.len() < after.points.len();
        let far = if is_before { self.before[self.before[place]] } else { self.after[self.after[place]] };
        let run = if is_before { (begin, cut) } else { (cut, end) };
        let beyond = short_run::beyond(&self.scaled.values, is_before, run, self.cuts[far]);
        short_run::score(&self.scaled.values, &pair, beyond, self.noise, self.sensitivity)
    }
}

/// The changes that prove themselves, each where it is likeliest; `runs` as of `Context`.
pub(super) fn proven(scaled: &Scaled, noise: &Noise, sensitivity: &Sensitivity, runs: &[usize]) -> Vec<usize> {
    let count = scaled.values.len();
    let found = Elimination::of(scaled, &noise.cuts, noise, sensitivity).proven();
    if found.is_empty() {
        return found;
    }
    // Where something changed, more did than where nothing may have.
    let restless = sensitivity.beside(found.len());
    let proven = |cuts: &[usize]| Elimination::of(scaled, cuts, noise, &restless).proven();
    let found = proven(&noise.cuts);
    let locate = |place: usize| position::locate(&scaled.values, around(&found, place, count), noise, &[], runs).place;
    let mut moved: Vec<usize> = (0..found.len()).map(locate).collect();
    moved.sort_unstable();
    moved.dedup();
    if moved == found { found } else { proven(&moved) }
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
        let (mut found, mut drifts) = ([0; 2], 0);
        for seed in 0..40 {
            let mut random = SplitMix64::new(seed);
            let mut value = |level: f64, noise: f64| level * (1.0 + noise * random.normal());
            let values: Vec<f64> =
                treads.iter().flat_map(|tread| vec![*tread; tread.0]).map(|tread| value(tread.1, tread.2)).collect();
            let changes = detect::changes(&values, &Sensitivity::BALANCED);
            for (found, large) in found.iter_mut().zip([20, 30]) {
                *found += usize::from(changes.points.iter().any(|point| (point.first..=point.last).contains(&large)));
            }
            drifts += changes.drifts.len();
        }
        assert!(found.iter().all(|found| *found >= 38) && drifts <= 4, "{found:?} of 40, {drifts} drifts");
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
            let is_told = |count: usize| {
                let found = detect::changes(&values[..count], &Sensitivity::BALANCED);
                usize::from(found.points.iter().any(|point| point.index > 150))
            };
            back += (200..=300).step_by(2).map(is_told).max().unwrap_or(0);
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
    fn what_went_before_its_neighbours_is_tested_once_more() {
        // Candidates about the stray leave four points between them and the step, which explains less than they do.
        let is_back = |seed: &u64| {
            let scaled = Scaled::of(&stray_before_a_step(*seed));
            let noise = Noise::of(&scaled, Sensitivity::BALANCED.penalty);
            let proven = |cuts: &[usize]| Elimination::of(&scaled, cuts, &noise, &Sensitivity::BALANCED).proven();
            proven(&[32, 34, 38]) == proven(&[38]) && proven(&[38]) == [38]
        };
        let count = (0..100).filter(is_back).count();
        assert!(count >= 75, "{count} of 100");
    }

    #[test]
    fn a_stray_beside_a_step_does_not_hide_it() {
        let is_found = |seed: &u64| {
            let found = detect::changes(&stray_before_a_step(*seed), &Sensitivity::BALANCED);
            found.points.len() == 1 && found.points[0].index.abs_diff(38) <= 5
        };
        let count = (0..100).filter(is_found).count();
        assert!(count >= 75, "{count} of 100");
    }
}
