//! The test of Mann and Kendall: whether a series goes up or down over time, by whatever course.
//!
//! The score counts the pairs whose later value is the larger, less those whose later value is the smaller. Where there is
//! no trend it is nearly normal around zero, with a variance that is less for each group of equal values; one is taken
//! from its size for continuity (Mann, "Nonparametric tests against trend", Econometrica 13, 1945; Kendall, "Rank
//! Correlation Methods", 4th edition, 1970). The values must be independent: a series with memory is called a trend too
//! often. It takes time for each pair.

use super::{normal, order};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Rising pairs less falling pairs.
    pub score: i64,
    /// The variance of the score where there is no trend.
    pub variance: f64,
    /// The score in standard deviations, one nearer to zero for continuity; zero where all values are equal.
    pub z: f64,
    /// The chance of a score as far from zero as this, on either side, where there is no trend.
    pub two_sided: f64,
    /// Kendall's tau a: the score as a share of all pairs.
    pub tau_a: f64,
    /// Kendall's tau b: the score as a share of what it could be with these equal values; `None` where all are equal.
    pub tau_b: Option<f64>,
}

/// Tests values in the order of time; `None` below two of them.
pub fn test(values: &[f64]) -> Option<Trend> {
    if values.len() < 2 {
        return None;
    }
    let later = |place: usize| values[place + 1..].iter().map(move |later| sign(values[place], *later));
    let score: i64 = (0..values.len()).flat_map(later).sum();
    let groups = order::groups(values);
    let variance = order::score_variance(values.len(), groups.iter().copied());
    let towards_zero = (score - score.signum()) as f64;
    let z = if variance > 0.0 { towards_zero / variance.sqrt() } else { 0.0 };
    let pairs = |size: usize| (size * (size - 1) / 2) as f64;
    let all = pairs(values.len());
    let unequal = all - groups.iter().copied().map(pairs).sum::<f64>();
    Some(Trend {
        score,
        variance,
        z,
        two_sided: 2.0 * normal::sf(z.abs()),
        tau_a: score as f64 / all,
        tau_b: (unequal > 0.0).then(|| score as f64 / (all.sqrt() * unequal.sqrt())),
    })
}

fn sign(earlier: f64, later: f64) -> i64 {
    i64::from(later > earlier) - i64::from(later < earlier)
}
