//! The change points and drifts of one series.

use std::ops::RangeInclusive;

use super::context::{Context, RETAINED};
use super::elimination::{self, Elimination, around, segments};
use super::estimate::{self, Estimate};
use super::input::Input;
use super::noise::{Noise, inflation_about};
use super::ramp::Ramp;
use super::ramps::Levelled;
use super::retention::Retention;
use super::scale::Scaled;
use super::sensitivity::Sensitivity;
use super::unstable::{self, Findings};
use super::{borders, chance, drifts, modes, newest_step, position, ramps};
use sprag_model::{ChangePoint, Changes, Modes, SeriesNoise};

/// The narrowest ramp next to steps that is a drift, in points.
pub(super) const NARROWEST_DRIFT: usize = 20;

/// The fewest points of a series with changes.
pub const FEWEST_POINTS: usize = 8;

/// The changes and drifts of a series: one finite number a point in the order of commits, of which less is better. Equal series give
/// equal answers, and old points decide nothing about new ones.
pub fn changes(values: &[f64], sensitivity: &Sensitivity) -> Changes {
    changes_in_context(values, sensitivity, &Context::default())
}

/// Likewise, in a context. A reported change or drift that no range holds now stays with a score of [`RETAINED`] or more.
pub fn changes_in_context(values: &[f64], sensitivity: &Sensitivity, context: &Context<'_>) -> Changes {
    if !is_searched(values) {
        return Changes::default();
    }
    let scaled = &Scaled::new(values);
    let noise = &noise(scaled, sensitivity, context.more_is_better);
    let input = Input { scaled, noise, sensitivity };
    let (cuts, ramps, modes) = cuts(&input, context);
    let (mut steps, ramps) = borders::settled(&input, &cuts, ramps, context.borders);
    let retention = Retention::new(input, &ramps);
    let is_of_modes = |range: &RangeInclusive<usize>| modes.iter().any(|one| shared(range, [one.begin, one.end]) > 0);
    let reported: Vec<RangeInclusive<usize>> =
        context.reported.iter().filter(|range| !is_of_modes(range)).cloned().collect();
    retention.add_reported(&mut steps, &Context { reported: &reported, ..*context });
    let scores = retention.scores(&steps);
    let cuts: Vec<usize> = steps.iter().map(|step| step.place).collect();
    let inflation = noise.inflation.max(inflation_about(&scaled.values, &cuts, noise.deviation));
    let level = |values: &[f64], [begin, end]: [usize; 2]| estimate::level(&values[begin..end], &input, inflation);
    let estimates: Vec<Estimate> = segments(&cuts, values.len()).map(|bounds| level(&scaled.values, bounds)).collect();
    let levelled = Levelled::new(&scaled.values, &ramps);
    let point = |(place, score): (usize, f64)| {
        let cut = cuts[place];
        let around = around(&cuts, place, values.len());
        let points = levelled.about(cut);
        let side = |begin: usize, end: usize| {
            let (led, lever) = levelled.led(around, begin..end);
            level(points, [begin, end]).moved(led, lever * noise.deviation * inflation)
        };
        let located = position::locate(points, around, &input, steps[place].borders, context.runs);
        let range = cut.min(*located.range.start())..=cut.max(*located.range.end());
        let [before, after] = [side(around[0], cut), side(cut, around[2])];
        ChangePoint {
            index: cut,
            first: *range.start(),
            last: *range.end(),
            before: before.in_units(scaled),
            after: after.in_units(scaled),
            relative: before.relative(&after, scaled),
            score,
            chance: chance::of_score(score, sensitivity.budget),
            likelihoods: located.likelihoods(range),
        }
    };
    Changes {
        points: scores.into_iter().enumerate().map(point).collect(),
        drifts: ramps
            .iter()
            .map(|(ramp, score)| {
                let chance = chance::of_score(*score, sensitivity.budget);
                estimate::drift(ramp, without_changes(ramp, &cuts), &input, chance)
            })
            .collect(),
        modes,
        levels: estimates.iter().map(|one| one.in_units(scaled)).collect(),
        noise: Some(SeriesNoise {
            deviation: scaled.spread(noise.deviation),
            inflation: noise.inflation,
            is_relative: scaled.is_logarithmic(),
        }),
    }
}

/// How many changes and drifts [`changes_in_context`] detects without a context.
pub(crate) fn count(values: &[f64], sensitivity: &Sensitivity, more_is_better: bool) -> usize {
    if !is_searched(values) {
        return 0;
    }
    let scaled = &Scaled::new(values);
    let noise = &noise(scaled, sensitivity, more_is_better);
    let (cuts, ramps, _) = cuts(&Input { scaled, noise, sensitivity }, &Context::default());
    cuts.len() + ramps.len()
}

fn is_searched(values: &[f64]) -> bool {
    values.len() >= FEWEST_POINTS && values.iter().all(|value| value.is_finite())
}

fn noise(scaled: &Scaled, sensitivity: &Sensitivity, more_is_better: bool) -> Noise {
    let noise = Noise::new(scaled, sensitivity);
    if more_is_better { Noise { outliers: -1.0, ..noise } } else { noise }
}

/// The changes that prove themselves, but for a newest one that is not certain, and the ramps: those that explain others, each with
/// the score of its clearest step, and those between them that prove themselves or were reported before.
fn cuts(input: &Input<'_>, context: &Context<'_>) -> (Vec<usize>, Vec<(Ramp, f64)>, Vec<Modes>) {
    let proven = elimination::proven(*input, context.runs);
    let (mut steps, ramps) = ramps::steps_and_ramps(input, &proven);
    let ramps = wide_and_apart(&mut steps, ramps, &proven);
    if !newest_step::is_certain(input, &proven, &steps, &ramps, context.runs) {
        steps.pop();
    }
    let scores = if ramps.is_empty() { Vec::new() } else { Elimination::new(*input, &proven).scores() };
    let with_score = |ramp: Ramp| {
        let within = proven.iter().zip(&scores).filter(|(cut, _)| (ramp.around.0..ramp.around.1).contains(cut));
        let score = within.map(|(_, score)| *score).fold(1.0, f64::max);
        (ramp, score)
    };
    let mut scored: Vec<(Ramp, f64)> = ramps.into_iter().map(with_score).collect();
    let is_free = |[begin, end]: &[usize; 2]| scored.iter().all(|(ramp, _)| ramp.end <= *begin || *end <= ramp.begin);
    let of_segment = |segment: [usize; 2]| {
        let reported = || {
            let is_within = |range: &&RangeInclusive<usize>| 2 * shared(range, segment) > range.end() - range.start();
            let before = context.reported_drifts.iter().find(is_within)?;
            let retained = drifts::of_segment(input, segment, RETAINED);
            retained.filter(|(ramp, _)| shared(before, [ramp.begin, ramp.end]) > 0)
        };
        drifts::of_segment(input, segment, 1.0).or_else(reported)
    };
    let more: Vec<(Ramp, f64)> =
        segments(&steps, input.scaled.values.len()).filter(is_free).filter_map(of_segment).collect();
    scored.extend(more);
    scored.sort_by_key(|(ramp, _)| ramp.begin);
    let before = steps.clone();
    let ramps = context.joins_unstable.then(|| scored.iter().map(|(ramp, _)| ramp.clone()).collect::<Vec<Ramp>>());
    let mut modes = modes::instead_of_changes(input, &mut steps, &mut scored);
    if let Some(ramps) = ramps {
        let mut findings = Findings { cuts: &mut steps, ramps: &mut scored, modes: &mut modes };
        unstable::join(input.scaled, input.sensitivity.least, &before, &ramps, &mut findings);
    }
    let scores = if modes.is_empty() { Vec::new() } else { Elimination::new(*input, &before).scores() };
    for one in &mut modes {
        let replaced = before.iter().zip(&scores).filter(|(cut, _)| (one.begin..one.end).contains(cut));
        let score = replaced.map(|(_, score)| *score).fold(1.0, f64::max);
        one.chance = chance::of_score(score, input.sensitivity.budget);
    }
    scored.retain_mut(|(ramp, _)| {
        let was_reported = context.reported_drifts.iter().any(|range| shared(range, [ramp.begin, ramp.end]) > 0);
        let beyond = drifts::beyond_scatter(ramp, without_changes(ramp, &steps), input);
        ramp.is_retained |= beyond < 1.0;
        beyond >= if was_reported { RETAINED } else { 1.0 }
    });
    (steps, scored, modes)
}

/// The ramps that are drifts, and the steps with those that the others took the place of. A narrow ramp is a step that some points
/// blur, and of two ramps that overlap the wider one is a drift.
fn wide_and_apart(steps: &mut Vec<usize>, ramps: Vec<Ramp>, proven: &[usize]) -> Vec<Ramp> {
    let width = |ramp: &Ramp| ramp.end - ramp.begin;
    let (mut drifts, mut others): (Vec<Ramp>, Vec<Ramp>) = (Vec::new(), Vec::new());
    for ramp in ramps {
        match drifts.last_mut() {
            _ if width(&ramp) < NARROWEST_DRIFT => others.push(ramp),
            Some(last) if ramp.begin < last.end && width(last) >= width(&ramp) => others.push(ramp),
            Some(last) if ramp.begin < last.end => others.push(std::mem::replace(last, ramp)),
            _ => drifts.push(ramp),
        }
    }
    let is_free = |cut: &usize| drifts.iter().all(|ramp| *cut <= ramp.around.0 || ramp.around.1 <= *cut);
    let is_in = |cut: &usize, ramp: &Ramp| ramp.around.0 < *cut && *cut < ramp.around.1;
    let back = proven.iter().copied().filter(|cut| is_free(cut) && others.iter().any(|ramp| is_in(cut, ramp)));
    steps.extend(back);
    steps.sort_unstable();
    steps.dedup();
    drifts
}

/// The longest part of a ramp between the changes within it, and the points between these.
fn without_changes(ramp: &Ramp, cuts: &[usize]) -> [usize; 2] {
    let within: Vec<usize> = cuts.iter().copied().filter(|cut| ramp.around.0 < *cut && *cut < ramp.around.1).collect();
    let bounds: Vec<usize> = std::iter::once(ramp.around.0).chain(within).chain([ramp.around.1]).collect();
    let parts = bounds.windows(2).map(|pair| [pair[0], pair[1]].map(|bound| bound.clamp(ramp.begin, ramp.end)));
    parts.max_by_key(|[begin, end]| end - begin).unwrap_or([ramp.begin, ramp.end])
}

/// How many points of a range lie from the first to before the second of two.
fn shared(range: &RangeInclusive<usize>, [begin, end]: [usize; 2]) -> usize {
    end.min(range.end() + 1).saturating_sub(begin.max(*range.start()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use sprag_base::stats::random::SplitMix64;

    /// So many points at each level, with that noise.
    fn levels(parts: &[(usize, f64)], noise: f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        parts
            .iter()
            .flat_map(|(count, level)| vec![*level; *count])
            .map(|level| level + noise * random.normal())
            .collect()
    }

    fn detected(values: &[f64]) -> (Vec<usize>, Vec<(usize, usize)>) {
        let changes = changes(values, &Sensitivity::BALANCED);
        let alarms = changes.points.len() + changes.drifts.len();
        assert_eq!(count(values, &Sensitivity::BALANCED, false), alarms);
        places(&changes)
    }

    fn places(changes: &Changes) -> (Vec<usize>, Vec<(usize, usize)>) {
        for point in &changes.points {
            assert!(point.first <= point.index && point.index <= point.last && point.score >= 1.0, "{point:?}");
        }
        (
            changes.points.iter().map(|point| point.index).collect(),
            changes.drifts.iter().map(|drift| (drift.begin, drift.end)).collect(),
        )
    }

    #[test]
    fn lasting_changes_are_detected_and_nothing_else() {
        let check = |name: &str, values: &[f64], expected: &[usize]| {
            assert_eq!(detected(values), (expected.to_vec(), Vec::new()), "{name}");
        };
        let flat = |count: usize| levels(&[(count, 100.0)], 1.0, 3);
        check("nothing", &[], &[]);
        check("two points", &[1.0, 2.0], &[]);
        check("constant", &[5.0; 40], &[]);
        check("zeros", &[0.0; 40], &[]);
        check("noise", &flat(200), &[]);
        check("a step", &levels(&[(60, 100.0), (40, 105.0)], 1.0, 4), &[60]);
        check("down and up", &levels(&[(40, 100.0), (30, 90.0), (40, 100.0)], 1.0, 5), &[40, 70]);
        check("three points only", &levels(&[(60, 100.0), (3, 112.0), (50, 100.0)], 1.0, 6), &[60, 63]);
        check("at the end", &levels(&[(60, 100.0), (4, 90.0)], 1.0, 7), &[60]);
        let mut strayed = flat(100);
        strayed[50] = 300.0;
        check("one point apart", &strayed, &[]);
        strayed[50] = 100.0;
        strayed[99] = 300.0;
        check("the newest point apart", &strayed, &[]);
        let exact = [vec![640.0; 20], vec![641.0; 2], vec![650.0; 20]].concat();
        check("exact, one change too small", &exact, &[22]);
        // A speed-up makes the noise smaller, too, and the slow points before it are few.
        let faster = [levels(&[(6, 1600.0)], 150.0, 10), levels(&[(13, 240.0), (20, 350.0)], 4.0, 11)].concat();
        check("several times as fast", &faster, &[6, 19]);
        let counts = [vec![0.0; 20], vec![3.0; 20]].concat();
        check("from zero", &counts, &[20]);
        check("less than is asked for", &levels(&[(300, 1000.0), (300, 1003.0)], 1.0, 8), &[]);
    }

    #[test]
    fn what_changed_before_takes_less_to_change_once_more() {
        let (mut alone, mut among) = (0, 0);
        for seed in 0..200 {
            let one = levels(&[(100, 100.0), (14, 101.6)], 1.0, seed);
            let three = levels(&[(25, 94.0), (25, 106.0), (50, 100.0), (14, 101.6)], 1.0, seed);
            let is_reported =
                |values: &[f64]| usize::from(detected(values).0.iter().any(|place| place.abs_diff(100) <= 5));
            alone += is_reported(&one);
            among += is_reported(&three);
        }
        assert!(among >= alone + 15, "{among} among others, {alone} alone");
    }

    #[test]
    fn an_even_climb_is_a_drift_and_no_change() {
        let noise = levels(&[(250, 0.0)], 1.0, 9);
        let climbing = |height: f64, step: f64| -> Vec<f64> {
            let ramp = |place: usize| 100.0 + height * ((place as f64 - 50.0) / 150.0).clamp(0.0, 1.0);
            let course = |place: usize| ramp(place) + if place < 120 { 0.0 } else { step };
            noise.iter().enumerate().map(|(place, noise)| course(place) + noise).collect()
        };
        let (points, drifts) = detected(&climbing(8.0, 0.0));
        assert_eq!((points.len(), drifts.len()), (0, 1), "{points:?} {drifts:?}");
        let (begin, end) = drifts[0];
        assert!(begin.abs_diff(50) < 40 && end.abs_diff(200) < 40, "{drifts:?}");
        let values = climbing(20.0, 12.0);
        let (points, drifts) = detected(&values);
        assert_eq!((points.as_slice(), drifts.len()), (&[120][..], 1), "{drifts:?}");
        // The step is reported without the change that the ramp brings.
        let step = changes(&values, &Sensitivity::BALANCED).points[0].clone();
        let truth = 100.0 + 20.0 * 70.0 / 150.0;
        assert!((step.before.value - truth).abs() < 1.0 && (step.after.value - truth - 12.0).abs() < 1.0, "{step:?}");
        assert!(step.relative.lower < 12.0 / truth && 12.0 / truth < step.relative.upper, "{step:?}");
    }

    #[test]
    fn numbers_of_any_size_give_an_answer() {
        let decades: Vec<f64> = (-150..150).map(|exponent| 10_f64.powi(exponent)).collect();
        detected(&decades);
        detected(&[f64::MAX, f64::MIN, 0.0, f64::MAX, f64::MIN_POSITIVE, 1.0, -1.0, f64::MAX, f64::MIN, 3.0]);
        assert_eq!(detected(&[f64::NAN; 20]), (Vec::new(), Vec::new()));
        assert_eq!(detected(&[f64::MAX; 20]), (Vec::new(), Vec::new()));
        // Differences and squares of such numbers are none.
        for size in [1.7e308, f64::MAX, 1e200, 1.0, 1e-200, f64::MIN_POSITIVE] {
            assert_eq!(detected(&[[-size; 50], [size; 50]].concat()).0, [50], "{size}");
            let wandering: Vec<f64> =
                levels(&[(30, -0.6), (40, 0.6)], 0.05, 12).iter().map(|value| value * size).collect();
            assert_eq!(detected(&wandering).0, [30], "{size}");
        }
    }

    proptest! {
        #[test]
        fn the_unit_of_a_series_decides_nothing(seed in 0..200_u64, exponent in -30..30_i32) {
            let values = levels(&[(30, 100.0), (25, 104.0), (3, 90.0), (30, 104.0)], 1.0, seed);
            let scaled: Vec<f64> = values.iter().map(|value| value * 2_f64.powi(exponent)).collect();
            prop_assert_eq!(detected(&values), detected(&scaled));
            // A time and the rate that it means change at the same points.
            let rates: Vec<f64> = values.iter().map(|value| 1.0 / value).collect();
            let context = Context { more_is_better: true, ..Context::default() };
            prop_assert_eq!(detected(&values), places(&changes_in_context(&rates, &Sensitivity::BALANCED, &context)));
        }

        #[test]
        fn any_numbers_give_an_answer(values in prop::collection::vec(prop::num::f64::ANY, 0..60)) {
            let _ = changes(&values, &Sensitivity::LOOSE);
        }

        #[test]
        fn numbers_of_both_signs_near_the_largest_give_an_answer(
            values in prop::collection::vec(
                prop_oneof![
                    Just(f64::MAX), Just(f64::MIN), Just(0.0), -1.79e308..1.79e308_f64, 1e307..1.79e308_f64,
                    prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::NEGATIVE,
                ],
                8..120,
            ),
            border in 1..8_usize,
        ) {
            let context = Context { borders: &[border, 40], reported_drifts: &[2..=30], ..Context::default() };
            let detected = changes_in_context(&values, &Sensitivity::LOOSE, &context);
            prop_assert!(detected.levels.iter().all(|level| level.value.is_finite()), "{:?}", detected.levels);
        }
    }
}
