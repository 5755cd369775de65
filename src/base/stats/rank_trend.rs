//! Trends by Kendall's score, and the robust line that belongs to it.
//!
//! The score counts the pairs whose later value is the larger, less those whose later value is the smaller. In the test of
//! Mann and Kendall it is nearly normal around zero where there is no trend, with a smaller variance where values are equal,
//! and a continuity correction of one (Mann, "Nonparametric tests against trend", Econometrica 13, 1945; Kendall, "Rank
//! Correlation Methods", 4th edition, 1970). The values must be independent, as autocorrelation causes false trends.
//!
//! The slope of the line of Theil and Sen is the median of the slopes between all pairs of points, which tolerates 29 % of
//! outliers. Its interval lies between two of the slopes, by the variance of the score (Theil, "A rank-invariant method of
//! linear and polynomial regression analysis", Indagationes Mathematicae 12, 1950; Sen, "Estimates of the regression
//! coefficient based on Kendall's tau", Journal of the American Statistical Association 63, 1968, equation 2.6).
//!
//! The test takes time, and the line memory, for each pair.

use super::{describe, normal};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTrend {
    /// Rising pairs less falling pairs.
    pub score: i64,
    pub variance: f64,
    /// The score in standard deviations, with the continuity correction; zero where all values are equal.
    pub z: f64,
    pub two_sided: f64,
    /// Kendall's tau a: the score as a share of all pairs.
    pub tau_a: f64,
    /// Kendall's tau b: the score as a share of its maximum with these equal values; `None` where all are equal.
    pub tau_b: Option<f64>,
}

/// Tests values in the order of time; `None` below two of them.
pub fn mann_kendall(values: &[f64]) -> Option<RankTrend> {
    if values.len() < 2 {
        return None;
    }
    let later = |place: usize| values[place + 1..].iter().map(move |later| sign(values[place], *later));
    let score: i64 = (0..values.len()).flat_map(later).sum();
    let groups = describe::groups(values);
    let variance = score_variance(values.len(), groups.iter().copied());
    let towards_zero = (score - score.signum()) as f64;
    let z = if variance > 0.0 { towards_zero / variance.sqrt() } else { 0.0 };
    let pairs = |size: usize| (size * (size - 1) / 2) as f64;
    let all = pairs(values.len());
    let unequal = all - groups.iter().copied().map(pairs).sum::<f64>();
    Some(RankTrend {
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

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankLine {
    pub slope: f64,
    /// The interval of the slope.
    pub low: f64,
    pub high: f64,
    /// Of the line through the medians of `x` and `y`.
    pub intercept_of_medians: f64,
    /// Of the line with as many points above as below.
    pub intercept_of_rests: f64,
}

/// Fits a line to the points (`x`, `y`), with an interval of the slope of this `confidence`. `None` where the lengths differ,
/// where no two `x` differ, where a result exceeds a double, and unless `confidence` lies between 0 and 1.
pub fn theil_sen(x: &[f64], y: &[f64], confidence: f64) -> Option<RankLine> {
    if x.len() != y.len() || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let mut slopes = Vec::new();
    for (place, (from_x, from_y)) in x.iter().zip(y).enumerate() {
        let later = x[place + 1..].iter().zip(&y[place + 1..]).filter(|(to_x, _)| *to_x != from_x);
        slopes.extend(later.map(|(to_x, to_y)| (to_y - from_y) / (to_x - from_x)));
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let last = slopes.len().checked_sub(1)?;
    let slope = describe::median(&slopes)?;
    let groups = describe::groups(x).into_iter().chain(describe::groups(y));
    let spread = normal::quantile(0.5 + confidence / 2.0)? * score_variance(x.len(), groups).sqrt();
    let count = slopes.len() as f64;
    // Both casts saturate: below zero the place is the first one.
    let upper = (((count + spread) / 2.0).round_ties_even() as usize).min(last);
    let lower = (((count - spread) / 2.0).round_ties_even() - 1.0) as usize;
    let rests: Vec<f64> = x.iter().zip(y).map(|(x, y)| y - slope * x).collect();
    let line = RankLine {
        slope,
        low: slopes[lower],
        high: slopes[upper],
        intercept_of_medians: describe::median(y)? - slope * describe::median(x)?,
        intercept_of_rests: describe::median(&rests)?,
    };
    let numbers = [line.slope, line.low, line.high, line.intercept_of_medians, line.intercept_of_rests];
    numbers.iter().all(|number| number.is_finite()).then_some(line)
}

/// The variance of Kendall's score of `n` values with groups of `g` equal ones in random order:
/// `(n (n - 1) (2 n + 5) - sum of g (g - 1) (2 g + 5)) / 18` (Kendall, "Rank Correlation Methods", 4th edition, 1970).
fn score_variance(n: usize, groups: impl Iterator<Item = usize>) -> f64 {
    let term = |size: usize| {
        let size = size as f64;
        size * (size - 1.0) * (2.0 * size + 5.0)
    };
    ((term(n) - groups.map(term).sum::<f64>()) / 18.0).max(0.0)
}
