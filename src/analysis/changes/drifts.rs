//! Drifts without a significant step: a level that moves evenly.
//!
//! Noise that wanders explains each step of an even climb nearly as well as the step does, so that none is proven; it does
//! not explain that the points lie about one ramp. In every segment between changes the best ramp is tried against one level.
//! It must save squares, as a change must, and be clear against autocorrelated noise about one level. What leads far further than
//! its own steps could by chance is a drift whatever its course, as a climb that bends is not a straight ramp.

use super::input::Input;
use super::long_sides::rank_deviate;
use super::noise;
use super::piecewise::Climb;
use super::ramp::{NARROWEST, Ramp};
use super::side::{Side, deviation_about_level, trimmed_mean};
use sprag_base::stats::autoregression;
use sprag_base::stats::describe::median;
use sprag_base::stats::partition;
use sprag_base::stats::ramp::{Course, Sums};

/// Into how many blocks a segment is divided to see how far it leads.
const BLOCKS: usize = 60;

/// The points of the longest tread of a partition that holds outliers where no change is proven.
const OUTLIER_TREAD: usize = 2;

/// The ramp of the points from `begin` to `end`, between which no change is proven, and how far it clears its limits.
/// `None` where no ramp clears them by `least`, which is 1, or less where a drift was reported there before.
pub(super) fn of_segment(input: &Input<'_>, [begin, end]: [usize; 2], least: f64) -> Option<(Ramp, f64)> {
    let Input { scaled, noise, sensitivity } = *input;
    let tuning = input.tuning();
    let values = &scaled.values[begin..end];
    let reach = tuning.clipped * noise.deviation * noise.inflation;
    // Numbers near the largest ones have no noise that can be measured.
    if values.len() < NARROWEST + 2 || reach <= 0.0 || !reach.is_finite() {
        return None;
    }
    let within = |cut: &&usize| (begin + 1..end).contains(cut);
    let cuts: Vec<usize> = noise.cuts.iter().filter(within).map(|cut| cut - begin).collect();
    let treads = joined(&cuts, values.len(), OUTLIER_TREAD + 1);
    let drawn = drawn_in(values, &treads, reach, noise.deviation);
    // Where outliers had steps of their own, the steps are searched again without them.
    let candidates = if treads.len() == cuts.len() {
        cuts
    } else {
        let of_noise: Vec<f64> = drawn.iter().map(|value| value / noise.inflation).collect();
        partition::optimal(&of_noise, sensitivity.penalty)
    };
    // One step explains three quarters of a line: where points are assumed to be independent, a ramp that pays has candidates.
    if candidates.is_empty() && noise.inflation <= 1.0 && least >= 1.0 {
        return None;
    }
    let sums = Sums::new(&drawn);
    let course = sums.best(NARROWEST, None, |_| 0.0)?;
    let clear = ((sums.flat(&[]) - course.cost) / sensitivity.penalty).max(0.0).sqrt();
    // Steps that are none by themselves may still be the better explanation.
    let stairs = sums.flat(&candidates) + sensitivity.penalty * candidates.len() as f64;
    let size = course.size * noise.deviation;
    let is_wide = (course.end - course.begin) as f64 >= least * tuning.drift_width.min(values.len() / 3) as f64;
    // A reported drift stays until steps explain more. A new drift must explain more by the price of a step.
    let margin = if least < 1.0 { 0.0 } else { sensitivity.penalty };
    let is_ramp = course.cost + margin <= stairs;
    // What leads far enough need not lie about one straight ramp.
    let far = led(values, scaled.is_logarithmic()) / sensitivity.clear;
    let mut score = far;
    if clear >= least && is_wide && is_ramp {
        let straight = clear.min(steady(&drawn, &course, tuning.clipped) / (sensitivity.steady * noise.doubt));
        score = score.max(straight);
    }
    if score < least {
        return None;
    }
    let bent_ramp = (far >= least).then(|| bent([begin, end], values, input)).flatten();
    let ramp = Ramp { is_retained: least < 1.0, ..bent_ramp.unwrap_or_else(|| even([begin, end], &course, size)) };
    // By ranks it must be about as clear as a step: a few far points are not a drift.
    let middle = ramp.begin.midpoint(ramp.end) - begin;
    let (before, after) = (Side::new(&values[..middle]), Side::new(&values[middle..]));
    let by_ranks = rank_deviate(&before, &after).abs() / (tuning.rank_ceiling * sensitivity.clear);
    let score = score.min(by_ranks);
    if score < least {
        return None;
    }
    let level = trimmed_mean(&mut values.to_vec());
    scaled.differ(level, level + ramp.size, sensitivity.least).then_some((ramp, score))
}

/// How far a ramp leads beyond the scatter of its points about it, between two places without a change, in units of what it must.
/// A few far points lead a ramp, but not the medians of its first and its last third.
pub(super) fn beyond_scatter(ramp: &Ramp, [begin, end]: [usize; 2], input: &Input<'_>) -> f64 {
    let values = &input.scaled.values;
    let flat: Vec<f64> = (begin..end).map(|place| values[place] - ramp.size * ramp.behind(place)).collect();
    let third = (end - begin) / 3;
    let sides = [begin..begin + third, end - third..end].map(|side| {
        let behind = side.clone().map(|place| ramp.behind(place)).sum::<f64>() / third as f64;
        (median(&values[side]).unwrap_or_default(), behind)
    });
    let [(before, from), (after, to)] = sides;
    let size = ((after - before) / (to - from) * ramp.size.signum()).clamp(0.0, ramp.size.abs());
    let least = input.tuning().drift_reach * deviation_about_level(&flat);
    if least > 0.0 { size / least } else { f64::INFINITY }
}

/// Whether a ramp explains the points about it at a lower price than steps at some cuts.
pub(super) fn costs_less(ramp: &Ramp, cuts: &[usize], input: &Input<'_>) -> bool {
    let (begin, end) = ramp.around;
    let (noise, tuning) = (input.noise, input.tuning());
    let squares = |points: Vec<f64>| -> f64 {
        let level = trimmed_mean(&mut points.clone());
        let unit = noise.deviation * noise.inflation;
        let of = |value: &f64| ((value - level) / unit).clamp(-tuning.clipped, tuning.clipped).powi(2);
        points.iter().map(of).sum()
    };
    let values = &input.scaled.values[..];
    let bounds: Vec<usize> = std::iter::once(begin).chain(cuts.iter().copied()).chain([end]).collect();
    let stairs: f64 = bounds.windows(2).map(|pair| squares(values[pair[0]..pair[1]].to_vec())).sum();
    let about = (begin..end).map(|place| values[place] - ramp.size * ramp.behind(place)).collect();
    squares(about) <= stairs + input.sensitivity.penalty * (cuts.len() as f64 - 1.0)
}

/// A course as a ramp of that size, between two places.
fn even([begin, end]: [usize; 2], course: &Course, size: f64) -> Ramp {
    Ramp {
        begin: begin + course.begin,
        end: begin + course.end,
        around: (begin, end),
        size,
        is_retained: false,
        knots: Vec::new(),
    }
}

/// The course of what leads far between two places: one straight ramp, or lines one after the other. Nothing but a point alone is
/// drawn in, as a climb without noise leads many deviations from point to point.
fn bent([begin, end]: [usize; 2], values: &[f64], input: &Input<'_>) -> Option<Ramp> {
    let Input { noise, sensitivity, .. } = *input;
    let unit = noise.deviation * noise.inflation;
    let drawn = noise::clipped(values, noise.deviation, input.tuning());
    let points: Vec<f64> = drawn.iter().map(|value| (value - drawn[0]) / unit).collect();
    let bounds: Vec<usize> = (0..values.len()).step_by(values.len().div_ceil(BLOCKS)).chain([values.len()]).collect();
    let straight = Sums::new(&points).best(NARROWEST, None, |_| sensitivity.penalty)?;
    let climb = Climb { points: &points, begin, steps: &[], rises: straight.size > 0.0 };
    match climb.single_ramp(&bounds, sensitivity.penalty) {
        Some((ramp, cost)) if cost < straight.cost => {
            Some(Ramp { size: ramp.size * unit, around: (begin, end), ..ramp })
        }
        _ => Some(even([begin, end], &straight, straight.size * unit)),
    }
}

/// The cuts of so many points, without those of treads shorter than the `shortest`, which join the tread before them.
pub(super) fn joined(cuts: &[usize], count: usize, shortest: usize) -> Vec<usize> {
    let ends = cuts.iter().copied().skip(1).chain([count]);
    let is_tread = |(cut, end): &(usize, usize)| *cut >= shortest && end - cut >= shortest;
    cuts.iter().copied().zip(ends).filter(is_tread).map(|one| one.0).collect()
}

/// The points of a segment in deviations, about their first level, with those far from the cheapest partition drawn in.
fn drawn_in(values: &[f64], cuts: &[usize], reach: f64, deviation: f64) -> Vec<f64> {
    let ends = cuts.iter().copied().chain([values.len()]);
    let treads = std::iter::once(0).chain(cuts.iter().copied()).zip(ends).map(|(from, to)| &values[from..to]);
    let mut first = None;
    treads
        .flat_map(|tread| {
            let level = trimmed_mean(&mut tread.to_vec());
            let zero = *first.get_or_insert(level);
            tread.iter().map(move |value| (level + (value - level).clamp(-reach, reach) - zero) / deviation)
        })
        .collect()
}

/// How far the level leads from the first points to the last, in deviations of where it had come to if each of its steps had
/// gone either way: the steps between the means of blocks, squared and summed up. A single step of any height gives 1 at most,
/// and so many blocks the root of their number. By logarithms or as they are, whichever is clearer.
fn led(values: &[f64], is_logarithmic: bool) -> f64 {
    let averages: Vec<f64> = values
        .chunks(values.len().div_ceil(BLOCKS))
        .map(|block| block.iter().sum::<f64>() / block.len() as f64)
        .collect();
    let of = |averages: &[f64]| {
        let squares: f64 = averages.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        let far = averages.last().zip(averages.first()).map_or(0.0, |(last, first)| (last - first).abs());
        if squares > 0.0 { far / squares.sqrt() } else { 0.0 }
    };
    if !is_logarithmic {
        return of(&averages);
    }
    // An even climb to many times the level leads most of its way at once on the scale of logarithms.
    let most = averages.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let levels: Vec<f64> = averages.iter().map(|mean| (mean - most).exp()).collect();
    of(&averages).max(of(&levels))
}

/// How clearly points differ from autocorrelated noise about one level, if they follow a course.
fn steady(drawn: &[f64], course: &Course, clipped: f64) -> f64 {
    let width = (course.end - course.begin) as f64;
    let behind = |place: usize| ((place as f64 - course.begin as f64 + 0.5) / width).clamp(0.0, 1.0);
    let on = |place: usize| course.size * behind(place);
    let mut about: Vec<f64> = drawn.iter().enumerate().map(|(place, value)| value - on(place)).collect();
    let side = Side::new(&about);
    let (level, limit) = (side.level, clipped * side.deviation);
    if !limit.is_finite() {
        return 0.0;
    }
    about.iter_mut().for_each(|value| *value = (*value - level).clamp(-limit, limit));
    let own = about.iter().sum::<f64>() / about.len() as f64;
    about.iter_mut().for_each(|value| *value -= own);
    let mut flat: Vec<f64> = about.iter().enumerate().map(|(place, value)| value + on(place)).collect();
    let mean = flat.iter().sum::<f64>() / flat.len() as f64;
    flat.iter_mut().for_each(|value| *value -= mean);
    autoregression::course_deviate(&about, &flat)
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use crate::changes::context::Context;
    use crate::changes::detect::{self};
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;

    /// Points on a line that leads so far, with that noise, which is autocorrelated by `rho`.
    fn climb(points: usize, size: f64, noise: f64, rho: f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let mut last = random.normal();
        let mut value = |place: usize| {
            last = rho * last + (1.0 - rho * rho).sqrt() * random.normal();
            (1.0 + size * place as f64 / (points - 1) as f64) * (1.0 + noise * last)
        };
        (0..points).map(&mut value).collect()
    }

    #[test]
    fn an_even_climb_is_a_drift_though_no_step_of_it_is_one() {
        for sensitivity in [Sensitivity::STRICT, Sensitivity::BALANCED, Sensitivity::LOOSE] {
            let (mut drifts, mut changes) = (0, 0);
            for seed in 0..40 {
                let detected = detect::changes(&climb(61, 0.07, 0.004, 0.0, seed), &sensitivity);
                changes += detected.points.len();
                drifts += usize::from(detected.drifts.len() == 1);
                for drift in &detected.drifts {
                    assert!((0.03..0.09).contains(&(drift.after / drift.before - 1.0)), "seed {seed}: {drift:?}");
                    assert!(drift.chance < 5e-5, "seed {seed}: {drift:?}");
                }
            }
            assert!(drifts >= 38 && changes <= 2, "{drifts} drifts and {changes} changes of 40: {sensitivity:?}");
        }
    }

    #[test]
    fn a_large_climb_is_a_drift_though_it_bends() {
        // On a scale of logarithms an even climb to the double bends, and so does one that comes to rest.
        let courses: [fn(f64) -> f64; 4] =
            [|share| 1.0 + share, |share| 1.0 + 0.5 * share, |share| 1.0 - 0.5 * share, |share| 1.0 + share * share];
        for (points, noise) in [(60, 0.002), (60, 0.005), (100, 0.002), (100, 0.01), (200, 0.002), (200, 0.01)] {
            for (number, course) in courses.iter().enumerate() {
                let (mut drifts, mut changes) = (0, 0);
                for seed in 0..20 {
                    let flat = climb(points, 0.0, noise, 0.0, 100 * number as u64 + seed);
                    let value = |(place, one): (usize, &f64)| one * course(place as f64 / (points - 1) as f64);
                    let values: Vec<f64> = flat.iter().enumerate().map(value).collect();
                    let detected = detect::changes(&values, &Sensitivity::BALANCED);
                    changes += detected.points.len();
                    drifts += usize::from(!detected.drifts.is_empty());
                }
                assert!(
                    drifts >= 16 && changes <= 3,
                    "{points} points, {noise}, course {number}: {drifts} and {changes}"
                );
            }
        }
    }

    #[test]
    fn a_climb_without_noise_is_a_drift_over_all_of_its_points() {
        let check = |points: usize, course: &dyn Fn(f64) -> f64| {
            let values: Vec<f64> = (0..points).map(|place| course(place as f64 / (points - 1) as f64)).collect();
            let changes = detect::changes(&values, &Sensitivity::BALANCED);
            assert!(changes.points.is_empty() && changes.drifts.len() == 1, "{points}, {}: {changes:?}", course(1.0));
            let drift = changes.drifts[0];
            assert!(5 * (drift.end - drift.begin) >= 4 * points, "{points}, {}: {drift:?}", course(1.0));
            let [estimated, truth] = [drift.after / drift.before, course(1.0) / course(0.0)];
            assert!(
                !(0.4..5.0).contains(&truth) || (estimated / truth - 1.0).abs() < 0.05,
                "{points}, {}: {drift:?}",
                course(1.0)
            );
        };
        check(60, &|share| 100_000.0 + 29_500.0 * share);
        for points in [30, 60, 100, 200, 1000] {
            for times in [1.05, 1.2, 1.5, 3.0, 30.0, 300.0, 0.5, 0.01] {
                check(points, &|share| 1.0 + (times - 1.0) * share);
            }
        }
    }

    #[test]
    fn noise_that_walks_is_seldom_a_climb() {
        // Nothing is known of a level that walks at random; hardly ever does it look like a climb that leads somewhere.
        let mut random = SplitMix64::new(9);
        let mut walk = |points: usize| -> Vec<f64> {
            let mut level = 0.0;
            (0..points)
                .map(|_| {
                    level += 0.002 * random.normal();
                    f64::exp(level + 0.002 * random.normal())
                })
                .collect()
        };
        let far =
            (0..2000).filter(|seed| super::led(&walk(60 + seed % 140), true) > Sensitivity::BALANCED.clear).count();
        assert!(far <= 4, "{far} of 2,000 walks");
    }

    #[test]
    fn strays_hide_no_climb() {
        for (strays, factor) in [(1, 1.1), (2, 1.1), (2, 0.9), (1, 1.5)] {
            let reported = (0..60_u64).filter(|seed| {
                let mut values = climb(60, 0.05, 0.004, 0.0, *seed);
                (0..strays).for_each(|stray| values[(7 * *seed as usize + 23 * stray) % 60] *= factor);
                let detected = detect::changes(&values, &Sensitivity::BALANCED);
                detected.points.is_empty() && detected.drifts.len() == 1
            });
            let reported = reported.count();
            assert!(reported >= 55, "{strays} strays of {factor}: {reported} of 60 climbs");
        }
    }

    #[test]
    fn a_climb_within_the_scatter_of_its_points_is_no_drift() {
        let drifts = |size: f64| -> usize {
            let drifts =
                |seed| detect::changes(&climb(400, size, 0.02, 0.0, seed), &Sensitivity::BALANCED).drifts.len();
            (0..20).map(drifts).sum()
        };
        let (small, large) = (drifts(0.02), drifts(0.05));
        assert!(small <= 1 && large >= 18, "{small} and {large} of 20");
    }

    #[test]
    fn noise_that_wanders_is_no_drift() {
        let reported = (0..400).map(|seed| {
            let values = climb(if seed % 2 == 0 { 60 } else { 200 }, 0.0, 0.01, 0.8, seed);
            detect::changes(&values, &Sensitivity::BALANCED).drifts.len()
        });
        let reported: usize = reported.sum();
        assert!(reported <= 4, "{reported} drifts in 400 series without");
    }

    #[test]
    fn the_least_change_that_counts_holds_for_drifts() {
        let values = climb(61, 0.07, 0.004, 0.0, 1);
        assert_eq!(detect::changes(&values, &Sensitivity::BALANCED.at_least(0.05)).drifts.len(), 1);
        assert_eq!(detect::changes(&values, &Sensitivity::BALANCED.at_least(0.1)).drifts.len(), 0);
    }

    #[test]
    fn a_drift_that_was_reported_stays_while_it_grows() {
        // How often a drift is reported, and how often it disappears again: without earlier reports, and with by them.
        let count = |holds: bool| {
            let (mut reported, mut gone) = (0, 0);
            for (noise, rho, seed) in (0..24).map(|seed| (if seed % 2 == 0 { 0.01 } else { 0.02 }, 0.3, seed)) {
                let values = climb(140, 0.12, noise, rho, seed);
                let mut earlier: Vec<RangeInclusive<usize>> = Vec::new();
                for count in (30..=140).step_by(2) {
                    let context = Context { reported_drifts: if holds { &earlier } else { &[] }, ..Context::default() };
                    let detected = detect::changes_in_context(&values[..count], &Sensitivity::BALANCED, &context);
                    reported += detected.drifts.len();
                    match detected.drifts.first() {
                        Some(drift) if earlier.is_empty() => earlier.push(drift.begin..=drift.end - 1),
                        None => gone += earlier.drain(..).count(),
                        Some(_) => {}
                    }
                }
            }
            (reported, gone)
        };
        let (without, with) = (count(false), count(true));
        // Steps that are tested again also save drifts that no earlier report holds.
        assert!(
            without.1 >= 8 && with.1 < without.1 && with.1 <= 10,
            "reported and gone {without:?}, with hold {with:?}"
        );
        assert!(with.0 >= without.0, "reported and gone {without:?}, with hold {with:?}");
    }

    #[test]
    fn what_was_reported_of_a_drift_holds_none_that_is_not_there() {
        let reported = 20..=59;
        let context = Context { reported_drifts: std::slice::from_ref(&reported), ..Context::default() };
        let count = |values: &[f64]| detect::changes_in_context(values, &Sensitivity::BALANCED, &context).drifts.len();
        let flat = (0..100).filter(|seed| count(&climb(80, 0.0, 0.01, 0.0, *seed)) > 0).count();
        assert!(flat <= 2, "{flat} of 100 series hold nothing and keep a drift");
        // A plain step explains it better.
        let stepped: Vec<f64> = climb(80, 0.0, 0.01, 0.0, 1)
            .iter()
            .enumerate()
            .map(|(at, one)| one * if at < 40 { 1.0 } else { 1.1 })
            .collect();
        assert_eq!(count(&stepped), 0);
    }
}
