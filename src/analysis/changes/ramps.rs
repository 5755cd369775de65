//! Changes that are none but drifts: what an even ramp explains better than steps.
//!
//! A staircase of steps in one direction is compared with one ramp, and with a ramp and one of the steps. Each step and
//! each ramp has its price, a wide ramp a lower one; the cheapest explanation holds. A drift begins like a step. If it
//! were reported as one until the ramp is clearly the better explanation, most reports made while a series grows would
//! not last.

use std::ops::Range;

use super::drifts;
use super::input::Input;
use super::noise::Noise;
use super::piecewise::{Climb, Explained};
use super::ramp::{NARROWEST, OVER, Ramp};
use super::side::trimmed_mean;
use sprag_base::stats::ramp::{Course, Sums};

/// A series, and what it is without its ramps: a change within a ramp is what is left there without it.
pub(super) struct Levelled<'a> {
    values: &'a [f64],
    without: Vec<f64>,
    ramps: &'a [(Ramp, f64)],
}

impl<'a> Levelled<'a> {
    pub(super) fn new(values: &'a [f64], ramps: &'a [(Ramp, f64)]) -> Levelled<'a> {
        let behind = |place: usize| -> f64 { ramps.iter().map(|(ramp, _)| ramp.size * ramp.behind(place)).sum() };
        let without = values.iter().enumerate().map(|(place, value)| value - behind(place)).collect();
        Levelled { values, without, ramps }
    }

    pub(super) fn without_ramps(&self) -> &[f64] {
        &self.without
    }

    fn is_within(&self, cut: usize) -> bool {
        self.ramps.iter().any(|(ramp, _)| ramp.begin < cut && cut < ramp.end)
    }

    /// The series, prepared for the test of a change at `cut`.
    pub(super) fn about(&self, cut: usize) -> &[f64] {
        if self.is_within(cut) { &self.without } else { self.values }
    }

    /// How far ramps have led at a change, with the standard error, in deviations; zero where they are not left out.
    pub(super) fn led(&self, [begin, cut, end]: [usize; 3], side: Range<usize>) -> (f64, f64) {
        if !self.is_within(cut) {
            return (0.0, 0.0);
        }
        let between = |ramp: &Ramp| ramp.behind(cut - 1).midpoint(ramp.behind(cut));
        let led = self.ramps.iter().map(|(ramp, _)| ramp.size * between(ramp)).sum();
        let count = side.len() as f64;
        let lever = |ramp: &Ramp| {
            let behind: f64 = side.clone().map(|place| ramp.behind(place)).sum();
            let width = (ramp.end - ramp.begin) as f64;
            // Of two lines of one slope: the squares of the distances from their middles.
            let of = |from: usize, to: usize| (to.min(ramp.end) as f64 - from.max(ramp.begin) as f64).max(0.0).powi(3);
            (between(ramp) - behind / count).abs() * width * (12.0 / (of(begin, cut) + of(cut, end))).sqrt()
        };
        let within = self.ramps.iter().filter(|(ramp, _)| ramp.begin < cut && cut < ramp.end);
        (led, within.map(|(ramp, _)| lever(ramp)).fold(0.0, f64::max))
    }
}

/// The changes among `cuts` that are steps, and the ramps that explain the others.
pub(super) fn steps_and_ramps(input: &Input<'_>, cuts: &[usize]) -> (Vec<usize>, Vec<Ramp>) {
    let values = &input.scaled.values[..];
    let bounds: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([values.len()]).collect();
    let levels: Vec<f64> = bounds.windows(2).map(|pair| trimmed_mean(&mut values[pair[0]..pair[1]].to_vec())).collect();
    let rises = |cut: usize| levels[cut + 1] > levels[cut];
    let (mut steps, mut ramps) = (Vec::new(), Vec::new());
    let mut first = 0;
    while first < cuts.len() {
        let after = (first + 1..cuts.len()).find(|cut| rises(*cut) != rises(first)).unwrap_or(cuts.len());
        let (bounds, levels) = (&bounds[first..=after + 1], &levels[first..=after]);
        let stairs = Stairs { input, bounds, levels };
        match stairs.cheapest(rises(first)) {
            None => steps.extend(&cuts[first..after]),
            Some(explained) => {
                steps.extend(explained.steps);
                ramps.extend(explained.ramps);
            }
        }
        first = after;
    }
    (steps, ramps)
}

/// The values between `bounds`, in deviations from the first of the levels there, clipped to `reach` about each level.
pub(super) fn clipped(values: &[f64], bounds: &[usize], levels: &[f64], reach: f64, noise: &Noise) -> Vec<f64> {
    let scale = 1.0 / (noise.deviation * noise.inflation);
    let treads = bounds.windows(2).zip(levels);
    let clipped = treads.flat_map(|(pair, level)| {
        let near = move |value: &f64| level + (value - level).clamp(-reach, reach) - levels[0];
        values[pair[0]..pair[1]].iter().map(move |value| near(value) * scale)
    });
    clipped.collect()
}

/// Steps in one direction one after the other.
struct Stairs<'a> {
    input: &'a Input<'a>,
    /// The first point, the steps, and the end.
    bounds: &'a [usize],
    levels: &'a [f64],
}

impl Stairs<'_> {
    fn begin(&self) -> usize {
        self.bounds[0]
    }

    fn end(&self) -> usize {
        self.bounds[self.bounds.len() - 1]
    }

    fn steps(&self) -> &[usize] {
        &self.bounds[1..self.bounds.len() - 1]
    }

    /// The ramps, and the steps besides where there are some, that explain the values at a lower price than the stairs.
    fn cheapest(&self, rises: bool) -> Option<Explained> {
        if self.end() - self.begin() < NARROWEST + 2 || self.input.noise.deviation <= 0.0 {
            return None;
        }
        let (tuning, price) = (self.input.tuning(), self.input.sensitivity.penalty);
        let reach = tuning.clipped * self.input.noise.deviation;
        let places = self.places();
        let treads: Vec<usize> =
            std::iter::once(self.begin()).chain(places.iter().copied()).chain([self.end()]).collect();
        let level = |pair: &[usize]| trimmed_mean(&mut self.input.scaled.values[pair[0]..pair[1]].to_vec());
        let levels: Vec<f64> = treads.windows(2).map(level).collect();
        let coarse = |from: usize| self.levels[self.steps().partition_point(|step| *step <= from)];
        let is_far = |(from, level): (&usize, &f64)| (level - coarse(*from)).abs() > reach;
        let (treads, levels) = if treads.iter().zip(&levels).any(is_far) {
            (&treads[..], &levels[..])
        } else {
            (self.bounds, self.levels)
        };
        let points = clipped(&self.input.scaled.values, treads, levels, reach, self.input.noise);
        let sums = Sums::new(&points);
        let cuts: Vec<usize> = self.steps().iter().map(|cut| cut - self.begin()).collect();
        let stairs = sums.flat(&cuts) + price * cuts.len() as f64;
        let of_ramp = |width: usize| (price + tuning.ramp_discount * (tuning.ramp_width / width as f64).ln()).max(0.0);
        let prices: Vec<f64> = (0..=self.end() - self.begin()).map(of_ramp).collect();
        let of_ramp = |width: usize| prices[width];
        let next_to_step = |width: usize| of_ramp(width).max(price + tuning.ramp_next_to_step);
        let mut plain = sums.best(NARROWEST, None, of_ramp)?;
        if self.begin() + plain.end + OVER <= self.input.scaled.values.len() {
            plain.cost += (price - of_ramp(plain.end - plain.begin)).max(0.0);
        }
        let climb = Climb { points: &points, begin: self.begin(), steps: &cuts, rises };
        let with_step = cuts
            .iter()
            .filter_map(|cut| Some((sums.best(NARROWEST, Some(*cut), next_to_step)?, cut + self.begin())))
            .filter(|(course, _)| course.step.is_some() && self.counts(course.size))
            .min_by(|a, b| a.0.cost.total_cmp(&b.0.cost));
        let step_price = with_step.map_or(f64::INFINITY, |(course, _)| course.cost + price);
        if plain.cost < stairs && plain.cost <= step_price {
            let is_ramp = (plain.size > 0.0) == rises && self.counts(plain.size);
            return is_ramp.then(|| self.even(plain, None));
        }
        let places = places.iter().map(|cut| cut - self.begin());
        let of_line = |width: usize| of_ramp(width).max(price);
        let bent = climb.explained(places, price, &of_line, self.input.sensitivity.clear);
        // Compared with a ramp with one step, it must not report more steps.
        let explains_less = |bent: &Explained| step_price >= stairs || bent.steps.len() <= 1;
        let bent = bent.filter(|bent| bent.cost < stairs.min(step_price) && explains_less(bent));
        match bent {
            Some(bent) if bent.ramps.iter().all(|ramp| self.counts(ramp.size)) => Some(self.on_scale(bent)),
            _ if step_price < stairs => with_step.map(|(course, cut)| self.even(course, Some(cut))),
            _ => None,
        }
    }

    /// The steps, and the candidates that are none of them: a large climb has more of these than steps that prove themselves, and
    /// leads farther between them than points are drawn in.
    fn places(&self) -> Vec<usize> {
        let is_other = |cut: &usize| self.bounds.iter().all(|bound| bound.abs_diff(*cut) >= NARROWEST);
        let within = self.input.noise.cuts.iter().filter(|cut| self.begin() < **cut && **cut < self.end());
        let within: Vec<usize> = within.map(|cut| cut - self.begin()).collect();
        let treads = drifts::joined(&within, self.end() - self.begin(), NARROWEST);
        let others = treads.into_iter().map(|cut| cut + self.begin()).filter(is_other);
        let mut places: Vec<usize> = self.steps().iter().copied().chain(others).collect();
        places.sort_unstable();
        places
    }

    /// Whether a ramp of that size, in deviations, leads far enough to count.
    fn counts(&self, size: f64) -> bool {
        let level = self.levels[0];
        self.input.scaled.differ(
            level,
            level + size * self.input.noise.deviation * self.input.noise.inflation,
            self.input.sensitivity.least,
        )
    }

    fn even(&self, course: Course, step: Option<usize>) -> Explained {
        let ramp = Ramp {
            begin: self.begin() + course.begin,
            end: self.begin() + course.end,
            around: (self.begin(), self.end()),
            size: course.size,
            is_retained: false,
            knots: Vec::new(),
        };
        self.on_scale(Explained { cost: course.cost, steps: step.into_iter().collect(), ramps: vec![ramp] })
    }

    /// With sizes on the scale of the values.
    fn on_scale(&self, mut explained: Explained) -> Explained {
        let unit = self.input.noise.deviation * self.input.noise.inflation;
        explained.ramps.iter_mut().for_each(|ramp| ramp.size *= unit);
        explained
    }
}

#[cfg(test)]
mod tests {
    use crate::changes::detect;
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;

    #[test]
    fn a_climb_is_hardly_ever_reported_as_a_step_while_it_grows() {
        let (mut reported, mut drifts) = (0, 0);
        for seed in 0..20 {
            let mut random = SplitMix64::new(seed);
            let level = |place: usize| 100.0 + 4.0 * ((place as f64 - 40.0) / 160.0).clamp(0.0, 1.0);
            let values: Vec<f64> = (0..240).map(|place| level(place) + random.normal()).collect();
            let at = |count: usize| detect::changes(&values[..count], &Sensitivity::BALANCED);
            reported += (80..=240).step_by(8).filter(|count| !at(*count).points.is_empty()).count();
            drifts += at(240).drifts.len();
        }
        assert!(reported * 10 <= 20 * 21 && drifts == 20, "{reported} of 420 beginnings, {drifts} drifts");
    }

    #[test]
    fn the_least_change_that_counts_holds_for_a_ramp_next_to_a_step() {
        let reported = |least: f64| -> usize {
            let of = |seed: u64| {
                let mut random = SplitMix64::new(seed);
                let mut value = |place: usize| {
                    let step = if place < 60 { 0.0 } else { 5.0 };
                    100.0 + step + 0.6 * place as f64 / 119.0 + 0.06 * random.normal()
                };
                let values: Vec<f64> = (0..120).map(&mut value).collect();
                let detected = detect::changes(&values, &Sensitivity::BALANCED.at_least(least));
                assert_eq!(detected.points.len(), 1, "{seed}: {:?}", detected.points);
                detected.drifts.len()
            };
            (0..10).map(of).sum()
        };
        assert_eq!((reported(0.004), reported(0.02)), (10, 0));
    }
}
