//! Where a short series of levels steps, so that levels before a step are treated neither as noise nor as the level of
//! today.
//!
//! A series is cut at one place, or else at two, so that the squares within the parts are least. It stays cut if at
//! each place Student's t between the means on both sides is too large for chance. The deviation is pooled over all
//! parts, and the share of [`CHANCE`] is divided among all ways in which it could have been cut (Bonferroni). The parts
//! are then examined in the same way. (Scott and Knott, "A cluster analysis method for grouping means in the analysis
//! of variance", Biometrics 30, 1974, for cutting again and again.) One session that is an outlier is noise and no part
//! of its own.

use std::ops::Range;

use sprag_base::stats::student;

/// The chance of finding one step in a series that has none, and as much for two.
const CHANCE: f64 = 0.01;

/// The fewest sessions between two steps.
const FEWEST: usize = 2;

/// The parts of a series of levels above zero between which it steps, in order. `floor` is a deviation that they have for sure.
pub(super) fn parts(levels: &[f64], floor: f64) -> Vec<Range<usize>> {
    let logarithms: Vec<f64> = levels.iter().map(|level| level.ln()).collect();
    let mut parts = Vec::new();
    cut(&logarithms, 0, floor, &mut parts);
    parts
}

/// The deviation of the logarithms within the parts, and its degrees of freedom; `None` where there are none.
pub(super) fn pooled(levels: &[f64], parts: &[Range<usize>]) -> Option<(f64, f64)> {
    let logarithms: Vec<f64> = levels.iter().map(|level| level.ln()).collect();
    let freedom = levels.len().checked_sub(parts.len()).filter(|freedom| *freedom > 0)? as f64;
    let squares: f64 = parts.iter().map(|part| squares(&logarithms[part.clone()])).sum();
    Some(((squares / freedom).sqrt(), freedom))
}

fn cut(logarithms: &[f64], begin: usize, floor: f64, parts: &mut Vec<Range<usize>>) {
    let count = logarithms.len();
    let ways = [one_place(count), two_places(count)];
    match ways.iter().find_map(|ways| clearest(logarithms, ways, floor)) {
        Some(places) => {
            for part in between(&places, count) {
                cut(&logarithms[part.clone()], begin + part.start, floor, parts);
            }
        }
        None => parts.push(begin..begin + count),
    }
}

fn one_place(count: usize) -> Vec<Vec<usize>> {
    (FEWEST..=count.saturating_sub(FEWEST)).map(|place| vec![place]).collect()
}

fn two_places(count: usize) -> Vec<Vec<usize>> {
    let second = |first: usize| (first + FEWEST..=count.saturating_sub(FEWEST)).map(move |second| vec![first, second]);
    (FEWEST..count).flat_map(second).collect()
}

fn between(places: &[usize], count: usize) -> Vec<Range<usize>> {
    let begins = std::iter::once(0).chain(places.iter().copied());
    begins.zip(places.iter().copied().chain([count])).map(|(begin, end)| begin..end).collect()
}

/// The way to cut that leaves the least squares within, if each of its steps is clear enough.
fn clearest(logarithms: &[f64], ways: &[Vec<usize>], floor: f64) -> Option<Vec<usize>> {
    let within = |places: &Vec<usize>| -> f64 {
        between(places, logarithms.len()).into_iter().map(|part| squares(&logarithms[part])).sum()
    };
    let (left, places) = ways.iter().map(|places| (within(places), places)).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let parts = between(places, logarithms.len());
    let freedom = (logarithms.len() - parts.len()) as f64;
    let deviation = (left / freedom).sqrt().max(floor);
    let is_clear = |pair: &[Range<usize>]| {
        let (before, after) = (&logarithms[pair[0].clone()], &logarithms[pair[1].clone()]);
        let difference = (mean(after) - mean(before)).abs();
        let error = deviation * (1.0 / before.len() as f64 + 1.0 / after.len() as f64).sqrt();
        // Levels that do not deviate at all differ by a step or not at all.
        let chance = match error > 0.0 {
            true => 2.0 * student::sf(difference / error, freedom).unwrap_or(1.0),
            false if difference > 0.0 => 0.0,
            false => 1.0,
        };
        chance < CHANCE / ways.len() as f64
    };
    parts.windows(2).all(is_clear).then(|| places.clone())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_base::stats::random::SplitMix64;

    #[test]
    fn a_series_is_cut_where_it_steps() {
        let check = |levels: &[f64], expected: &[Range<usize>]| assert_eq!(parts(levels, 0.0), expected, "{levels:?}");
        let uncut = |count: usize| [Range { start: 0, end: count }];
        check(&[1.0], &uncut(1));
        check(&[1.0, 2.0], &uncut(2));
        check(&[1.0, 1.01, 0.99, 1.0, 1.01, 1.0], &uncut(6));
        check(&[1.0, 1.01, 0.99, 1.15, 1.16, 1.14, 1.15, 1.16], &[0..3, 3..8]);
        check(&[1.0, 1.001, 1.2, 1.201, 1.199, 1.4, 1.401], &[0..2, 2..5, 5..7]);
        check(&[1.0, 1.001, 1.2, 1.201, 1.199, 1.0, 1.0, 1.001], &[0..2, 2..5, 5..8]);
        check(&[1.0, 1.001, 1.0, 0.999, 1.3, 1.0, 1.001, 1.0], &uncut(8));
        check(&[1.0, 1.001, 1.0, 0.999, 1.0, 1.001, 1.3], &uncut(7));
        check(&[1.0, 1.0, 1.0, 1.0], &uncut(4));
        check(&[1.0, 1.0, 2.0, 2.0], &[0..2, 2..4]);
    }

    #[test]
    fn what_runs_leave_open_is_no_step() {
        assert_eq!(parts(&[1.0, 1.0, 1.0, 1.002, 1.002, 1.002], 0.01).len(), 1);
        assert_eq!(parts(&[1.0, 1.0, 1.0, 1.2, 1.2, 1.2], 0.01).len(), 2);
    }

    #[test]
    fn the_deviation_is_that_within_the_parts() {
        let levels = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0];
        assert_eq!(pooled(&levels, &parts(&levels, 0.0)), Some((0.0, 4.0)));
        let single = Range { start: 0, end: 1 };
        assert_eq!(pooled(&[1.0], &[single]), None);
        let (deviation, freedom) = pooled(&[1.0, 1.1, 1.21], &parts(&[1.0, 1.1, 1.21], 0.0)).expect("there are three");
        assert!((deviation - 1.1_f64.ln()).abs() < 1e-12 && freedom == 2.0, "{deviation} {freedom}");
    }

    #[test]
    fn noise_is_seldom_taken_for_a_step() {
        let mut random = SplitMix64::new(7);
        let is_cut = |_: &usize| {
            let levels: Vec<f64> = (0..8).map(|_| (0.01 * random.normal()).exp()).collect();
            parts(&levels, 0.0).len() > 1
        };
        let cut = (0..4000).filter(is_cut).count();
        assert!(cut <= 80, "{cut} of 4000");
    }
}
