//! Unstable points: changes in short order that go up and down again and again are one finding, where two levels do not explain them.
//! There may be three levels, or two that move slowly; yet none of the changes lasts.

use super::modes::{LONGEST_STAY, gain};
use super::ramp::Ramp;
use super::scale::Scaled;
use super::side::trimmed_mean;
use sprag_model::Modes;

/// The fewest findings that become one.
pub(crate) const FEWEST: usize = 8;

/// How many times the distance of their extreme levels such changes go up and down together.
const TRIPS: f64 = 6.0;

/// How far beyond the levels of such points another one is no longer one of them, as a share of the distance of their extremes.
const BEYOND: f64 = 0.15;

/// The least share of the distance of the extreme levels that is the same before and after a change among such points: where less is,
/// all levels moved.
const ALIKE: f64 = 0.5;

/// What is found in a series, in order.
pub(super) struct Findings<'a> {
    pub(super) cuts: &'a mut Vec<usize>,
    pub(super) ramps: &'a mut Vec<(Ramp, f64)>,
    pub(super) modes: &'a mut Vec<Modes>,
}

/// Makes one finding of unstable points. `cuts` and `ramps` are those before modes took the place of some. What remains are changes to
/// levels that such points do not have, a change of all their levels, and their ends where the level after them is another than before.
pub(super) fn join(scaled: &Scaled, least: f64, cuts: &[usize], ramps: &[Ramp], findings: &mut Findings<'_>) {
    let values = &scaled.values[..];
    let ends = ramps.iter().flat_map(|ramp| [ramp.begin, ramp.end]);
    let mut bounds: Vec<usize> = cuts.iter().copied().chain(ends).chain([0, values.len()]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    if bounds.len() < FEWEST + 2 {
        return;
    }
    let level = |pair: &[usize]| trimmed_mean(&mut values[pair[0]..pair[1]].to_vec());
    let search = Search { scaled, least, levels: bounds.windows(2).map(level).collect(), bounds };
    let retained: Vec<&Ramp> = ramps.iter().filter(|ramp| ramp.is_retained).collect();
    let mut all = Vec::new();
    let mut first = 1;
    for place in 1..search.bounds.len() - 1 {
        let [cut, next] = [search.bounds[place], search.bounds[place + 1]];
        let is_last = place + 2 == search.bounds.len() || next - cut > LONGEST_STAY;
        if is_last || retained.iter().any(|ramp| cut < ramp.end && ramp.begin < next) {
            search.within(first, place, &mut all);
            first = place + 1;
        }
    }
    for one in all {
        search.replace(one, findings);
    }
    findings.modes.sort_by_key(|one| one.begin);
}

struct Search<'a> {
    scaled: &'a Scaled,
    /// The least share by which levels differ.
    least: f64,
    /// The changes and the ends of ramps, between zero and the number of points.
    bounds: Vec<usize>,
    /// Between each two of them.
    levels: Vec<f64>,
}

impl Search<'_> {
    /// Adds the first and last bound of unstable points: those given without the changes to levels that lasted, or those on either
    /// side of the change that explains most.
    fn within(&self, mut first: usize, mut last: usize, all: &mut Vec<[usize; 2]>) {
        // A level before or after that the points between never have lies outside of the up and down.
        let [low, high] = loop {
            if last + 1 < first + FEWEST {
                return;
            }
            let [low, high] = extremes(&self.levels[first..last]);
            let is_beyond = |level: f64| level < low - BEYOND * (high - low) || high + BEYOND * (high - low) < level;
            match (is_beyond(self.levels[first - 1]), is_beyond(self.levels[last])) {
                (true, _) => first += 1,
                (_, true) => last -= 1,
                _ => break [low, high],
            }
        };
        let walked: f64 = self.levels[first - 1..=last].windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
        let largest = self.explains_most([first, last]);
        if walked >= TRIPS * (high - low) && self.is_alike([first, largest, last]) {
            return all.push([first, last]);
        }
        self.within(first, largest - 1, all);
        self.within(largest + 1, last, all);
    }

    /// Whether the points go up and down among about the same levels before a change as after it.
    fn is_alike(&self, [first, place, last]: [usize; 3]) -> bool {
        let [[low, high], [other_low, other_high]] =
            [&self.levels[first - 1..place], &self.levels[place..=last]].map(extremes);
        let shared = high.min(other_high) - low.max(other_low);
        shared >= ALIKE * (high - low).min(other_high - other_low)
    }

    fn explains_most(&self, [first, last]: [usize; 2]) -> usize {
        let of =
            |place: &usize| gain(&self.scaled.values, [first - 1, *place, last + 1].map(|place| self.bounds[place]));
        (first..=last).max_by(|one, other| of(one).total_cmp(&of(other))).unwrap_or(first)
    }

    fn replace(&self, [first, last]: [usize; 2], findings: &mut Findings<'_>) {
        let [begin, newest, after] = [first, last, last + 1].map(|place| self.bounds[place]);
        let is_over = after - newest > LONGEST_STAY;
        let end = if is_over { newest } else { after };
        let is_cut = |cut: &usize| (begin..=newest).contains(cut);
        let is_ramp = |(ramp, _): &(Ramp, f64)| begin < ramp.end && ramp.begin < end;
        let is_mode = |one: &Modes| begin < one.end && one.begin < end;
        let of_cuts = findings.cuts.iter().filter(|cut| is_cut(cut)).count();
        let of_ramps = findings.ramps.iter().filter(|one| is_ramp(one)).count();
        if of_cuts + of_ramps + findings.modes.iter().filter(|one| is_mode(one)).count() < FEWEST {
            return;
        }
        findings.cuts.retain(|cut| !is_cut(cut));
        findings.ramps.retain(|one| !is_ramp(one));
        let [before, now] = [self.levels[first - 1], self.levels[last]];
        if is_over && self.scaled.differ(before, now, self.least) {
            findings.cuts.extend([begin, newest]);
            findings.cuts.sort_unstable();
        }
        let [low, high] = extremes(&self.levels[first..last]);
        let parts = || findings.modes.iter().filter(|one| is_mode(one));
        let one = Modes {
            begin: parts().map(|one| one.begin).fold(begin, usize::min),
            end: parts().map(|one| one.end).fold(end, usize::max),
            low: self.scaled.in_units(low),
            high: self.scaled.in_units(high),
            share: None,
            newest,
            is_high: now > f64::midpoint(low, high),
            chance: 0.0,
        };
        findings.modes.retain(|one| !is_mode(one));
        findings.modes.push(one);
    }
}

fn extremes(levels: &[f64]) -> [f64; 2] {
    [f64::min, f64::max].map(|of| levels.iter().copied().reduce(of).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::changes::context::Context;
    use crate::changes::detect::changes_in_context;
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;

    /// So many points at levels that follow one another at random, with stays of random length.
    fn wandering(count: usize, stays: [usize; 2], levels: &[f64], random: &mut SplitMix64) -> Vec<f64> {
        let (mut values, mut level) = (Vec::new(), 0);
        while values.len() < count {
            values.extend(vec![levels[level]; stays[0] + random.below(stays[1] - stays[0] + 1)]);
            level = (level + 1 + random.below(levels.len() - 1)) % levels.len();
        }
        values.truncate(count);
        values
    }

    /// In how many of a hundred series these changes are reported, a point or two off, with at most so many findings in all.
    fn reported(changes: &[usize], most: usize, noise: f64, levels: impl Fn(&mut SplitMix64) -> Vec<f64>) -> usize {
        let context = Context { joins_unstable: true, ..Context::default() };
        let is_reported = |seed: &u64| {
            let random = &mut SplitMix64::new(*seed);
            let values: Vec<f64> =
                levels(random).into_iter().map(|level| level * (1.0 + noise * random.normal())).collect();
            let detected = changes_in_context(&values, &Sensitivity::BALANCED, &context);
            let is_there = |change: &usize| detected.points.iter().any(|point| point.index.abs_diff(*change) <= 2);
            changes.iter().all(is_there) && detected.points.len() + detected.modes.len() + detected.drifts.len() <= most
        };
        (0..100).filter(is_reported).count()
    }

    const LEVELS: [f64; 3] = [1000.0, 1050.0, 1120.0];

    #[test]
    fn what_goes_up_and_down_is_one_finding() {
        for (count, stays) in [(300, [3, 20]), (600, [5, 15]), (600, [10, 40])] {
            let single = reported(&[], 1, 0.005, |random| wandering(count, stays, &LEVELS, random));
            assert!(single >= 90, "{stays:?}: {single}");
        }
        // About a slow movement that they hide; a faster one is a change of all levels.
        for (by, most) in [(0.1, 1), (0.2, 5)] {
            let few = reported(&[], most, 0.005, |random| {
                let levels = wandering(300, [5, 15], &[1000.0, 1100.0], random).into_iter().enumerate();
                levels.map(|(place, level)| level * (1.0 + by * place as f64 / 300.0)).collect()
            });
            assert!(few >= 80, "{by}: {few}");
        }
        // Exactly two values are two modes, without noise that tells how far apart levels are.
        let exact = reported(&[], 1, 0.0, |random| wandering(600, [10, 40], &LEVELS[..2], random));
        assert!(exact >= 95, "exact: {exact}");
    }

    #[test]
    fn a_level_that_lasts_is_a_change() {
        let flat = |level: f64, count: usize| vec![level; count];
        let patch = |random: &mut SplitMix64| wandering(200, [3, 20], &LEVELS, random);
        // One that was never there, before or after them and though it is new.
        for (level, count) in [(1200.0, 100), (1200.0, 20), (900.0, 50)] {
            let after =
                reported(&[300], 3, 0.005, |random| [flat(1000.0, 100), patch(random), flat(level, count)].concat());
            assert!(after >= 90, "{level}, {count}: {after}");
        }
        let before = reported(&[100], 3, 0.005, |random| [flat(850.0, 100), patch(random), patch(random)].concat());
        assert!(before >= 90, "{before}");
        // One among those that there were, which lasts; and other levels of all.
        let between = reported(&[], 3, 0.005, |random| [flat(1000.0, 100), patch(random), flat(1085.0, 100)].concat());
        assert!(between >= 90, "{between}");
        let moved = reported(&[200], 5, 0.005, |random| {
            let after = patch(random).into_iter().map(|level| 1.3 * level);
            patch(random).into_iter().chain(after).collect()
        });
        assert!(moved >= 90, "{moved}");
        let back = reported(&[], 1, 0.005, |random| [flat(1000.0, 100), patch(random), flat(1000.0, 100)].concat());
        assert!(back >= 90, "{back}");
        // Levels in one direction, and few that go back, are a list of changes.
        let stairs = |_: &mut SplitMix64| (0..9).flat_map(|step| vec![100.0 * 1.1_f64.powi(step); 15]).collect();
        let places: Vec<usize> = (1..9).map(|step| 15 * step).collect();
        assert!(reported(&places, 8, 0.01, stairs) >= 90);
    }
}
