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

/// What is found in a series, in order.
pub(super) struct Findings<'a> {
    pub(super) cuts: &'a mut Vec<usize>,
    pub(super) ramps: &'a mut Vec<(Ramp, f64)>,
    pub(super) modes: &'a mut Vec<Modes>,
}

/// Makes one finding of unstable points. `cuts` and `ramps` are those before modes took the place of some. One change remains among
/// them, the one that explains most, where the level after them is another one than before.
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
    /// Adds the first and last bound of unstable points: those given, or those on either side of the one that explains most.
    fn within(&self, first: usize, last: usize, all: &mut Vec<[usize; 2]>) {
        if last + 1 < first + FEWEST {
            return;
        }
        let [low, high] = self.extremes([first, last]);
        let walked: f64 = self.levels[first - 1..=last].windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
        if walked >= TRIPS * (high - low) {
            return all.push([first, last]);
        }
        let largest = self.explains_most([first, last]);
        self.within(first, largest - 1, all);
        self.within(largest + 1, last, all);
    }

    fn extremes(&self, [first, last]: [usize; 2]) -> [f64; 2] {
        let levels = &self.levels[first - 1..=last];
        [f64::min, f64::max].map(|of| levels.iter().copied().reduce(of).unwrap_or_default())
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
        let [low, high] = self.extremes([first, last]);
        let [before, now] = [self.levels[first - 1], self.levels[last]];
        let lasts = self.scaled.differ(before, now, self.least) && (now - before).abs() > 0.5 * (high - low);
        let lasting = (is_over && lasts).then(|| self.bounds[self.explains_most([first, last])]);
        findings.cuts.retain(|cut| !is_cut(cut) || lasting == Some(*cut));
        findings.ramps.retain(|one| !is_ramp(one));
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

    /// How many of a hundred series give so many changes and so many findings in all.
    fn reported(expected: [usize; 2], noise: f64, levels: impl Fn(&mut SplitMix64) -> Vec<f64>) -> usize {
        let context = Context { joins_unstable: true, ..Context::default() };
        let is_reported = |seed: &u64| {
            let random = &mut SplitMix64::new(*seed);
            let values: Vec<f64> =
                levels(random).into_iter().map(|level| level * (1.0 + noise * random.normal())).collect();
            let detected = changes_in_context(&values, &Sensitivity::BALANCED, &context);
            [detected.points.len(), detected.points.len() + detected.modes.len() + detected.drifts.len()] == expected
        };
        (0..100).filter(is_reported).count()
    }

    #[test]
    fn what_goes_up_and_down_is_one_finding() {
        let three = [1000.0, 1050.0, 1120.0];
        for (count, stays) in [(300, [3, 20]), (600, [5, 15]), (600, [10, 40])] {
            let single = reported([0, 1], 0.005, |random| wandering(count, stays, &three, random));
            assert!(single >= 80, "{stays:?}: {single}");
        }
        let single = reported([0, 1], 0.005, |random| {
            let levels = wandering(300, [5, 15], &three[..2], random).into_iter().enumerate();
            levels.map(|(place, level)| level * (1.0 + 0.2 * place as f64 / 300.0)).collect()
        });
        assert!(single >= 80, "on a drift: {single}");
        // Exactly two values are two modes, without noise that tells how far apart levels are.
        let exact = reported([0, 1], 0.0, |random| wandering(600, [10, 40], &three[..2], random));
        assert!(exact >= 95, "exact: {exact}");
    }

    #[test]
    fn a_level_that_lasts_is_a_change() {
        let flat = |level: f64| vec![level; 100];
        let patch = |random: &mut SplitMix64| wandering(200, [3, 20], &[1000.0, 1050.0, 1120.0], random);
        let lasting = reported([1, 2], 0.005, |random| [flat(1000.0), patch(random), flat(1200.0)].concat());
        assert!(lasting >= 95, "{lasting}");
        let back = reported([0, 1], 0.005, |random| [flat(1000.0), patch(random), flat(1000.0)].concat());
        assert!(back >= 95, "{back}");
        // Levels in one direction, and few that go back, are a list of changes.
        let stairs = |_: &mut SplitMix64| (0..9).flat_map(|step| vec![100.0 * 1.1_f64.powi(step); 15]).collect();
        assert!(reported([8, 8], 0.01, stairs) >= 95);
    }
}
