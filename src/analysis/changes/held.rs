//! Changes that were told before, as long as there is something of them.
//!
//! Such a change stays with less than it takes to be told anew. Beside a ramp it is looked at without what the ramp brings: that
//! alone would hold any step that was told where a drift began, for as long as there is a drift.

use std::ops::Range;

use super::borders::{self, Step};
use super::context::{Context, RETAINED};
use super::eliminate::{Elimination, around};
use super::noise::Noise;
use super::position;
use super::ramp::Ramp;
use super::scale::Scaled;
use super::sensitivity::Sensitivity;
use super::side::Side;

/// A series, and what it is without its ramps.
pub(super) struct Holding<'a> {
    scaled: &'a Scaled,
    without: Option<Scaled>,
    ramps: &'a [(Ramp, f64)],
    noise: &'a Noise,
    sensitivity: &'a Sensitivity,
}

impl<'a> Holding<'a> {
    pub(super) fn of(
        scaled: &'a Scaled,
        ramps: &'a [(Ramp, f64)],
        noise: &'a Noise,
        sensitivity: &'a Sensitivity,
    ) -> Holding<'a> {
        let brought = |place: usize| -> f64 { ramps.iter().map(|(ramp, _)| ramp.size * ramp.behind(place)).sum() };
        let flat = || scaled.values.iter().enumerate().map(|(place, value)| value - brought(place)).collect();
        let without = (!ramps.is_empty()).then(|| scaled.with(flat()));
        Holding { scaled, without, ramps, noise, sensitivity }
    }

    /// The series as a change between two neighbours is to be looked at.
    fn about(&self, stretch: Range<usize>) -> &Scaled {
        let is_there = |(ramp, _): &(Ramp, f64)| ramp.begin < stretch.end && stretch.start < ramp.end;
        self.without.as_ref().filter(|_| self.ramps.iter().any(is_there)).unwrap_or(self.scaled)
    }

    /// How far one of the cuts clears its limits, as a change that was told before.
    fn score(&self, cuts: &[usize], place: usize) -> f64 {
        let [begin, _, end] = around(cuts, place, self.scaled.values.len());
        Elimination::of(self.about(begin..end), cuts, self.noise, self.sensitivity).scores()[place]
    }

    /// Whether the levels on both sides of one of the cuts differ by as much as counts, the ramps having led as far as there.
    fn differs(&self, cuts: &[usize], place: usize) -> bool {
        let [begin, cut, end] = around(cuts, place, self.scaled.values.len());
        let series = self.about(begin..end);
        let led = self.scaled.values[cut] - series.values[cut];
        let level = |points: Range<usize>| led + Side::of(&series.values[points]).level;
        series.differ(level(begin..cut), level(cut..end), self.sensitivity.least)
    }

    /// Puts back the changes that were told before, are not found now, and are not unlikely enough to be taken back.
    pub(super) fn hold_told<'k>(&self, steps: &mut Vec<Step<'k>>, known: &Context<'k>) {
        let count = self.scaled.values.len();
        for range in known.told {
            let (first, last) = ((*range.start()).max(1), (*range.end()).min(count - 1));
            if first > last || steps.iter().any(|step| step.is_within(first, last)) {
                continue;
            }
            let mut with = proven_cuts(steps);
            let place = with.partition_point(|cut| *cut < first);
            with.insert(place, first.midpoint(last));
            let locate = |cuts: &[usize], borders| {
                let around = around(cuts, place, count);
                let values = &self.about(around[0]..around[2]).values;
                position::locate(values, around, self.noise, borders, known.runs).place.clamp(first, last)
            };
            let cut = locate(&with, &[]);
            with[place] = cut;
            if self.score(&with, place) >= RETAINED && (self.ramps.is_empty() || self.differs(&with, place)) {
                let borders = borders::within(known.borders, first, last);
                let likely = locate(&with, borders);
                let place = if borders.contains(&likely) { likely } else { cut };
                steps.insert(
                    steps.partition_point(|step| step.cut < cut),
                    Step { cut, place, as_drift: None, is_held: true, borders },
                );
            }
        }
    }

    /// How far each change clears its limits: where it proved itself, or as the drift that it was found as. What is told only
    /// beside others just clears them.
    pub(super) fn scores(&self, steps: &[Step<'_>]) -> Vec<f64> {
        let cuts = proven_cuts(steps);
        let mut proven =
            Elimination::of(self.scaled, &cuts, self.noise, self.sensitivity).scores().into_iter().enumerate();
        let mut of_proven = |step: &Step<'_>| {
            let (place, score) = proven.next()?;
            Some(match step.is_held {
                true if self.ramps.is_empty() => score,
                true => self.score(&cuts, place),
                false => score.max(1.0),
            })
        };
        steps.iter().map(|step| step.as_drift.or_else(|| of_proven(step)).unwrap_or_default()).collect()
    }
}

fn proven_cuts(steps: &[Step<'_>]) -> Vec<usize> {
    steps.iter().filter(|step| step.as_drift.is_none()).map(|step| step.cut).collect()
}

#[cfg(test)]
mod tests {
    use crate::changes::context::Context;
    use crate::changes::detect::{changes, changes_known};
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;
    use sprag_model::change_point::Changes;

    /// Two hundred points with noise of 0.8 % that climb by 8 % from the sixtieth to the hundred and fortieth.
    fn climb(seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let course = |place: usize| 0.08 * ((place as f64 - 60.0) / 80.0).clamp(0.0, 1.0);
        (0..200).map(|place| course(place).exp() * (1.0 + 0.008 * random.normal())).collect()
    }

    fn detected_changes(values: &[f64], range: std::ops::RangeInclusive<usize>) -> Changes {
        let known = Context { told: &[range], ..Context::default() };
        changes_known(values, &Sensitivity::BALANCED, &known)
    }

    #[test]
    fn a_step_that_a_drift_began_with_is_not_held_by_the_drift() {
        let (mut drifts, mut held) = (0, 0);
        for seed in 0..40 {
            let values = climb(seed);
            let found = changes(&values, &Sensitivity::BALANCED);
            if found.drifts.len() != 1 || !found.points.is_empty() {
                continue;
            }
            for place in [50, 62, 70, 100, 130, 138, 150] {
                drifts += 1;
                held += detected_changes(&values, place - 4..=place + 4).points.len();
            }
        }
        assert!(drifts >= 140 && held * 50 <= drifts, "{held} steps are held in {drifts} drifts");
    }
}
