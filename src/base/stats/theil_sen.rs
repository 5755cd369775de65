//! The straight line of Theil and Sen: its slope is the median of the slopes between all pairs of points, so that up to
//! 29 % of the points may be anything.
//!
//! The interval of the slope lies between two of the slopes, by the variance of Kendall's score (Theil, "A rank-invariant
//! method of linear and polynomial regression analysis", Indagationes Mathematicae 12, 1950; Sen, "Estimates of the
//! regression coefficient based on Kendall's tau", Journal of the American Statistical Association 63, 1968, equation
//! 2.6). It takes memory for each pair of points.

use super::{describe, normal, order};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub slope: f64,
    /// The lower end of the interval of the slope.
    pub low: f64,
    /// The upper end of the interval of the slope.
    pub high: f64,
    /// Where the line through the median of `x` and the median of `y` meets zero.
    pub intercept_of_medians: f64,
    /// The median of what the slope leaves of each `y`: where the line halves the points.
    pub intercept_of_rests: f64,
}

/// Fits a line to the points (`x`, `y`), with an interval that holds the slope with this `confidence`.
///
/// `None` where there are not as many `x` as `y`, where no two `x` differ, where a slope or an intercept is more than a
/// number can hold, and unless `confidence` lies between 0 and 1, both excluded.
pub fn fit(x: &[f64], y: &[f64], confidence: f64) -> Option<Line> {
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
    let groups = order::groups(x).into_iter().chain(order::groups(y));
    let spread = normal::quantile(0.5 + confidence / 2.0)? * order::score_variance(x.len(), groups).sqrt();
    let count = slopes.len() as f64;
    // Both casts saturate: below zero the place is the first one.
    let upper = (((count + spread) / 2.0).round_ties_even() as usize).min(last);
    let lower = (((count - spread) / 2.0).round_ties_even() - 1.0) as usize;
    let rests: Vec<f64> = x.iter().zip(y).map(|(x, y)| y - slope * x).collect();
    let line = Line {
        slope,
        low: slopes[lower],
        high: slopes[upper],
        intercept_of_medians: describe::median(y)? - slope * describe::median(x)?,
        intercept_of_rests: describe::median(&rests)?,
    };
    let numbers = [line.slope, line.low, line.high, line.intercept_of_medians, line.intercept_of_rests];
    numbers.iter().all(|number| number.is_finite()).then_some(line)
}
