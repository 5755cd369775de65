//! Changes that were reported before stay with less evidence than a new report takes.
//!
//! Next to a ramp such a change is judged without the ramp. Otherwise a step that was reported where a drift began
//! would stay as long as the drift.

use std::ops::Range;

use super::borders::{self, Step};
use super::context::{Context, RETAINED};
use super::elimination::{Elimination, around};
use super::input::Input;
use super::position;
use super::ramp::Ramp;
use super::scale::Scaled;
use super::side::Side;

/// A series, with and without its ramps.
pub(super) struct Retention<'a> {
    input: Input<'a>,
    flat: Option<Scaled>,
    ramps: &'a [(Ramp, f64)],
}

impl<'a> Retention<'a> {
    pub(super) fn new(input: Input<'a>, ramps: &'a [(Ramp, f64)]) -> Retention<'a> {
        let risen = |place: usize| -> f64 { ramps.iter().map(|(ramp, _)| ramp.size * ramp.behind(place)).sum() };
        let flat = || input.scaled.values.iter().enumerate().map(|(place, value)| value - risen(place)).collect();
        Retention { input, flat: (!ramps.is_empty()).then(|| input.scaled.with(flat())), ramps }
    }

    /// The series as a change between two neighbours is judged.
    fn about(&self, segment: Range<usize>) -> &Scaled {
        let is_there = |(ramp, _): &(Ramp, f64)| ramp.begin < segment.end && segment.start < ramp.end;
        self.flat.as_ref().filter(|_| self.ramps.iter().any(is_there)).unwrap_or(self.input.scaled)
    }

    /// How far one of the cuts clears its limits, as a change that was reported before.
    fn score(&self, cuts: &[usize], place: usize) -> f64 {
        let [begin, _, end] = around(cuts, place, self.input.scaled.values.len());
        let input = Input { scaled: self.about(begin..end), ..self.input };
        Elimination::new(input, cuts).scores()[place]
    }

    /// Whether the levels on both sides of one of the cuts differ by the least change, the ramps having led as far as there.
    fn differs(&self, cuts: &[usize], place: usize) -> bool {
        let [begin, cut, end] = around(cuts, place, self.input.scaled.values.len());
        let series = self.about(begin..end);
        let led = self.input.scaled.values[cut] - series.values[cut];
        let level = |points: Range<usize>| led + Side::new(&series.values[points]).level;
        series.differ(level(begin..cut), level(cut..end), self.input.sensitivity.least)
    }

    /// Adds the reported changes that are not found now and score [`RETAINED`] or more.
    pub(super) fn add_reported<'k>(&self, steps: &mut Vec<Step<'k>>, context: &Context<'k>) {
        let count = self.input.scaled.values.len();
        for range in context.reported {
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
                position::locate(values, around, &self.input, borders, context.runs).place.clamp(first, last)
            };
            let cut = locate(&with, &[]);
            with[place] = cut;
            if self.score(&with, place) >= RETAINED && (self.ramps.is_empty() || self.differs(&with, place)) {
                let borders = borders::within(context.borders, first, last);
                let likely = locate(&with, borders);
                let place = if borders.contains(&likely) { likely } else { cut };
                steps.insert(
                    steps.partition_point(|step| step.cut < cut),
                    Step { cut, place, as_drift: None, is_retained: true, borders },
                );
            }
        }
    }

    /// How far each change clears its limits: where it proved itself, or as the drift that it was found as. A change
    /// that is proven only together with other changes just clears them.
    pub(super) fn scores(&self, steps: &[Step<'_>]) -> Vec<f64> {
        let cuts = proven_cuts(steps);
        let mut proven = Elimination::new(self.input, &cuts).scores().into_iter().enumerate();
        let mut of_proven = |step: &Step<'_>| {
            let (place, score) = proven.next()?;
            Some(match step.is_retained {
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
    use crate::changes::detect::{changes, changes_in_context};
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;
    use sprag_model::Changes;

    /// Two hundred points with noise of 0.8 % that climb by 8 % from the sixtieth to the hundred and fortieth.
    fn climb(seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let course = |place: usize| 0.08 * ((place as f64 - 60.0) / 80.0).clamp(0.0, 1.0);
        (0..200).map(|place| course(place).exp() * (1.0 + 0.008 * random.normal())).collect()
    }

    fn detected_changes(values: &[f64], range: std::ops::RangeInclusive<usize>) -> Changes {
        let context = Context { reported: &[range], ..Context::default() };
        changes_in_context(values, &Sensitivity::BALANCED, &context)
    }

    #[test]
    fn a_drift_does_not_retain_the_step_with_which_it_began() {
        let (mut drifts, mut retained) = (0, 0);
        for seed in 0..40 {
            let values = climb(seed);
            let detected = changes(&values, &Sensitivity::BALANCED);
            if detected.drifts.len() != 1 || !detected.points.is_empty() {
                continue;
            }
            for place in [50, 62, 70, 100, 130, 138, 150] {
                drifts += 1;
                retained += detected_changes(&values, place - 4..=place + 4).points.len();
            }
        }
        assert!(drifts >= 140 && retained * 50 <= drifts, "{retained} steps in {drifts} drifts");
    }
}
