//! Changes next to a border of environments: a new compiler or driver is a likelier cause than any one commit near it.
//!
//! Borders have no part in deciding whether there is a change. Then each proven change moves to the likeliest border
//! that is nearer to it than to any other change, unless the points contradict that (`position.rs`). A ramp across a
//! border becomes a step there if a step explains the points as well. The border favours the step at the same price.

use super::input::Input;
use super::position::{self, BORDER_DEVIANCE};
use super::ramp::Ramp;
use super::ramps::Levelled;
use super::side::trimmed_mean;
use sprag_base::stats::autoregression;

/// Deviations from what explains it to which a point is clipped.
const CLIPPED: f64 = 5.0;

/// A change before it is reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    /// The place at which it proved itself.
    pub(super) cut: usize,
    /// The place at which it is reported: the same, or a border.
    pub(super) place: usize,
    /// The score of the drift that it was found as, if it was one.
    pub(super) as_drift: Option<f64>,
    /// Whether it is there only because it was reported before.
    pub(super) is_retained: bool,
    /// The borders that are nearer to it than to another change.
    pub(super) borders: &'a [usize],
}

impl Step<'_> {
    /// Whether it is one of the changes between two places: where it was tested, where it is reported, or in between.
    pub(super) fn is_within(&self, first: usize, last: usize) -> bool {
        self.cut.min(self.place) <= last && first <= self.cut.max(self.place)
    }
}

/// The changes at these cuts and the ramps with their scores, where the environment changed at `borders`, which are in order.
pub(super) fn settled<'a>(
    input: &Input<'_>,
    cuts: &[usize],
    ramps: Vec<(Ramp, f64)>,
    borders: &'a [usize],
) -> (Vec<Step<'a>>, Vec<(Ramp, f64)>) {
    let mut changes: Vec<(usize, Option<f64>)> = cuts.iter().map(|cut| (*cut, None)).collect();
    let mut left = Vec::new();
    for (ramp, score) in ramps {
        // Of two ramps that meet at a border one alone is a step there.
        let is_taken = |border: usize| changes.iter().any(|one| one.0 == border);
        match instead_of(&ramp, input, cuts, borders, &is_taken) {
            Some(border) => changes.push((border, Some(score))),
            None => left.push((ramp, score)),
        }
    }
    changes.sort_unstable_by_key(|one| one.0);
    let scaled = input.scaled;
    let count = scaled.values.len();
    let at = |place: Option<usize>| place.and_then(|place| changes.get(place)).map(|one| one.0);
    let levelled = Levelled::new(&scaled.values, &left);
    let step = |place: usize| {
        let (cut, as_drift) = changes[place];
        let (before, after) = (at(place.checked_sub(1)), at(Some(place + 1)));
        // Up to the middle between two changes, so that no border is that of both and none passes another.
        let first = before.map_or(1, |before| before.midpoint(cut) + 1);
        let last = after.map_or(count - 1, |after| cut.midpoint(after));
        let borders = within(borders, first, last);
        let around = [before.unwrap_or(0), cut, after.unwrap_or(count)];
        let likely = position::locate(levelled.about(cut), around, input, borders, &[]).place;
        let place = if borders.contains(&likely) { likely } else { cut };
        Step { cut, place, as_drift, is_retained: false, borders }
    };
    let steps = (0..changes.len()).map(step).collect();
    (steps, left)
}

/// The borders between two places, both included.
pub(super) fn within(borders: &[usize], first: usize, last: usize) -> &[usize] {
    let begin = borders.partition_point(|border| *border < first);
    let end = borders.partition_point(|border| *border <= last);
    &borders[begin..end.max(begin)]
}

/// The border at which a step explains the points around a ramp as well as the ramp does.
fn instead_of(
    ramp: &Ramp,
    input: &Input<'_>,
    cuts: &[usize],
    borders: &[usize],
    is_taken: &dyn Fn(usize) -> bool,
) -> Option<usize> {
    let Input { scaled, noise, sensitivity } = *input;
    let (begin, end) = ramp.around;
    let free = within(borders, ramp.begin.max(begin + 1), ramp.end.min(end - 1));
    if free.is_empty() {
        return None;
    }
    let inside: Vec<usize> = cuts.iter().copied().filter(|cut| begin < *cut && *cut < end).collect();
    let values = &scaled.values[begin..end];
    let flat: Vec<f64> = (begin..end).map(|place| scaled.values[place] - ramp.size * ramp.behind(place)).collect();
    let reach = CLIPPED * noise.deviation * noise.inflation;
    // What a course and the levels between these cuts leave of the points.
    let left = |values: &[f64], cuts: &[usize]| -> Vec<f64> {
        let ends = cuts.iter().copied().chain([end]);
        let segments = std::iter::once(begin).chain(cuts.iter().copied()).zip(ends);
        let of_segment = |(from, to): (usize, usize)| {
            let part = &values[from - begin..to - begin];
            let level = trimmed_mean(&mut part.to_vec());
            part.iter().map(move |value| (value - level).clamp(-reach, reach))
        };
        segments.flat_map(of_segment).collect()
    };
    let about_ramp = left(&flat, &inside);
    let explained = |border: &usize| {
        let place = inside.partition_point(|cut| cut < border);
        let mut with = inside.clone();
        with.insert(place, *border);
        let from = place.checked_sub(1).map_or(begin, |before| with[before]);
        let to = with.get(place + 1).copied().unwrap_or(end);
        let level = |part: &[f64]| trimmed_mean(&mut part.to_vec());
        let [before, after] = [level(&scaled.values[from..*border]), level(&scaled.values[*border..to])];
        let is_there = position::locate(&scaled.values, [from, *border, to], input, &[*border], &[]).place == *border;
        let is_step = is_there && scaled.differ(before, after, sensitivity.least);
        let clearer = autoregression::course_deviate(&about_ramp, &left(values, &with)).powi(2);
        (is_step && clearer <= BORDER_DEVIANCE).then_some((clearer, *border))
    };
    let steps = free.iter().filter(|border| !is_taken(**border)).filter_map(explained);
    steps.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, border)| border)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::changes::context::Context;
    use crate::changes::detect::{changes, changes_in_context};
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;
    use sprag_model::Changes;

    const BORDER: usize = 38;

    /// Sixty points on a course, with noise of 1 % that is autocorrelated by `rho`.
    fn points(course: impl Fn(usize) -> f64, rho: f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let mut last = random.normal();
        let value = |place: usize| {
            last = rho * last + (1.0 - rho * rho).sqrt() * random.normal();
            course(place) * (1.0 + 0.01 * last)
        };
        (0..60).map(value).collect()
    }

    fn step(at: usize, size: f64) -> impl Fn(usize) -> f64 {
        move |place| if place < at { 1.0 } else { 1.0 + size }
    }

    fn with_border(values: &[f64]) -> Changes {
        changes_in_context(values, &Sensitivity::BALANCED, &Context { borders: &[BORDER], ..Context::default() })
    }

    /// Of a hundred series with a step at that place, the number in which one change is reported. Then the numbers in
    /// which the change is at that place without the border and with it, and in which its range holds the border.
    /// `stray` is a point and the factor that multiplies its value.
    fn counted(at: usize, size: f64, stray: Option<(usize, f64)>) -> [usize; 4] {
        let mut counts = [0; 4];
        for seed in 0..100 {
            let mut values = points(step(at, size), 0.0, seed);
            if let Some((place, factor)) = stray {
                values[place] *= factor;
            }
            let (without, with) = (changes(&values, &Sensitivity::BALANCED), with_border(&values));
            let [one] = &with.points[..] else { continue };
            counts[0] += 1;
            counts[1] += usize::from(without.points.iter().any(|point| point.index == at));
            counts[2] += usize::from(one.index == at);
            counts[3] += usize::from((one.first..=one.last).contains(&BORDER));
        }
        counts
    }

    #[test]
    fn a_change_that_the_border_brings_is_reported_there() {
        for (size, stray) in [(0.02, None), (0.03, None), (0.03, Some((BORDER - 6, 1.2)))] {
            let [hits, without, with, near] = counted(BORDER, size, stray);
            assert!(hits >= 85 && near == hits, "{size} {stray:?}: {near} of {hits}");
            assert!(with * 20 >= hits * 19 && with >= without + 10, "{size} {stray:?}: {without}, {with} of {hits}");
        }
    }

    #[test]
    fn a_change_that_is_plainly_next_to_the_border_stays_there() {
        let near = [(BORDER - 5, 0.03, 5), (BORDER + 5, 0.03, 5), (BORDER - 5, 0.05, 0), (BORDER + 2, 0.08, 0)];
        for (at, size, most) in near.into_iter().chain([(BORDER - 1, 0.1, 0)]) {
            let [hits, without, with, near] = counted(at, size, None);
            assert!(hits >= 99 && with + 1 >= without, "{at} {size}: {without}, {with} of {hits}");
            assert!(near <= most, "{at} {size}: {near} of {hits} may be at the border");
        }
    }

    /// Of a hundred series, the drifts that are reported without the border and with it.
    fn drifts(course: &dyn Fn(usize) -> f64, rho: f64) -> (usize, usize) {
        let all = (0..100).map(|seed| points(course, rho, seed));
        let reported = |values: Vec<f64>| {
            let without = changes(&values, &Sensitivity::BALANCED).drifts.len();
            (without, with_border(&values).drifts.len())
        };
        all.map(reported).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    #[test]
    fn a_ramp_across_a_border_is_a_step_there_unless_it_plainly_climbs() {
        let mut steps = (0, 0);
        for (size, rho) in [(0.015, 0.0), (0.02, 0.3), (0.03, 0.5)] {
            let (without, with) = drifts(&step(BORDER, size), rho);
            steps = (steps.0 + without, steps.1 + with);
            let climb = |place: usize| 1.0 + 0.06 * place as f64 / 59.0;
            let (climbs, still) = drifts(&climb, rho);
            assert!(climbs >= 40 && still * 50 >= climbs * 47, "{rho}: {still} of {climbs} climbs are reported");
        }
        assert!(steps.0 >= 12 && steps.1 * 3 <= steps.0, "{steps:?} steps are reported as drifts");
    }

    /// Borders decide never whether there is a change, only where it lies.
    fn check_borders(seed: u64, steps: &[(usize, f64)], borders: &[usize], climb: f64) {
        let course = |place: usize| {
            let risen: f64 = steps.iter().filter(|(at, _)| *at <= place).map(|one| one.1).sum();
            1.0 + risen + climb * place as f64 / 59.0
        };
        let values = points(course, 0.2, seed);
        let with = changes_in_context(&values, &Sensitivity::LOOSE, &Context { borders, ..Context::default() });
        let without = changes(&values, &Sensitivity::LOOSE);
        assert_eq!(with.points.len() + with.drifts.len(), without.points.len() + without.drifts.len());
        assert!(with.points.windows(2).all(|pair| pair[0].index < pair[1].index));
        for point in &with.points {
            assert!(point.first <= point.index && point.index <= point.last);
            assert_eq!(point.likelihoods.len(), point.last + 1 - point.first);
            let was_there = without.points.iter().any(|other| other.index == point.index);
            assert!(was_there || borders.contains(&point.index));
            assert!(!was_there || without.points.iter().any(|other| other.score == point.score));
        }
    }

    #[test]
    fn a_border_right_before_a_step_moves_it_only() {
        let steps = [(19, -0.051594333277090135), (35, -0.00873825919452806), (43, 0.04800842801241638)];
        check_borders(6942, &steps, &[28], 0.0);
        check_borders(9989, &[(49, 0.03468090250508094), (4, -0.057307384741799826)], &[33], 0.028984925596376738);
    }

    proptest! {
        #[test]
        fn borders_decide_never_whether_there_is_a_change(
            seed in 0..10_000_u64,
            steps in prop::collection::vec((4..56_usize, -0.06..0.06_f64), 0..4),
            borders in prop::collection::btree_set(1..60_usize, 0..4),
            climb in prop::option::of(-0.1..0.1_f64),
        ) {
            check_borders(seed, &steps, &borders.into_iter().collect::<Vec<usize>>(), climb.unwrap_or(0.0));
        }
    }
}
