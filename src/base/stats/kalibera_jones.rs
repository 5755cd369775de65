//! The effect interval of Kalibera and Jones: by what factor a benchmark got slower, with repetitions at several levels.
//!
//! A benchmark is repeated at each of `l` levels, such as iterations within processes within builds. Only the means of the
//! highest level are independent. With grand means `a` (old) and `b` (new), `n` means of the highest level with sample
//! variance `S2`, and `h^2 = t^2 S2 / n` by Student's `t` for `n - 1` degrees of freedom, the interval of `b / a` is that of
//! Fieller: `(a b -+ sqrt(a^2 hb^2 + b^2 ha^2 - ha^2 hb^2)) / (a^2 - ha^2)`, and unbounded where `a^2 <= ha^2`.
//!
//! `S2` of a level is the sample variance of its means within a group of the next, averaged over the groups. The component of
//! a level is `T2 = S2 - S2_below / n_below`, for the lowest level `S2`. The cheapest number of repetitions at a level is
//! `sqrt((c_above / c) (T2 / T2_above))`, rounded up, with the cost `c` of one more repetition.
//! (Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013, and "Quantifying Performance Changes with
//! Effect Size Confidence Intervals", University of Kent TR 4-12, 2012; Fieller, "Some problems in interval estimation",
//! Journal of the Royal Statistical Society B 16, 1954.)

use super::{describe, student};

#[derive(Clone, Debug, PartialEq)]
pub struct VarianceLevels {
    pub mean: f64,
    pub n_highest: usize,
    /// The sample variance of the means of each level, the lowest first.
    pub variances: Vec<f64>,
    /// The component of each level, the lowest first; negative where the levels below explain more than the variance.
    pub components: Vec<f64>,
}

impl VarianceLevels {
    /// `shape` has the repetitions at each level, the highest first, of which there must be two or more. `None` also where the
    /// number of values is not their product, and where a variance exceeds a double.
    pub fn new(values: &[f64], shape: &[usize]) -> Option<VarianceLevels> {
        let places = shape.iter().try_fold(1_usize, |places, count| places.checked_mul(*count))?;
        if places != values.len() || shape.iter().any(|count| *count < 2) {
            return None;
        }
        let mut averages = values.to_vec();
        let (mut variances, mut components): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut from_below = 0.0;
        for &count in shape.iter().rev() {
            let groups = || averages.chunks_exact(count);
            let within = groups().map(describe::sample_variance).collect::<Option<Vec<f64>>>()?;
            let variance = describe::mean(&within)?;
            variances.push(variance);
            components.push(variance - from_below);
            from_below = variance / count as f64;
            averages = groups().map(describe::mean).collect::<Option<Vec<f64>>>()?;
        }
        Some(VarianceLevels { mean: *averages.first()?, n_highest: *shape.first()?, variances, components })
    }

    /// Half the width of the interval of the mean.
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        let t = student::quantile(0.5 + confidence / 2.0, (self.n_highest - 1) as f64)?;
        Some(t * (self.variances.last()? / self.n_highest as f64).sqrt())
    }

    /// The cheapest number of repetitions of each level but the highest, given the cost of one repetition of each level, the
    /// lowest first. A number is `None` where a component is not above zero; all are, unless each level has a cost above zero.
    pub fn best_repetitions(&self, costs: &[f64]) -> Option<Vec<Option<u64>>> {
        if costs.len() != self.components.len() || !costs.iter().all(|cost| *cost > 0.0 && cost.is_finite()) {
            return None;
        }
        let pairs = self.components.windows(2).zip(costs.windows(2));
        let best = |(components, costs): (&[f64], &[f64])| {
            let are_positive = components.iter().all(|component| *component > 0.0);
            are_positive.then(|| (costs[1] / costs[0] * (components[0] / components[1])).sqrt().ceil().max(1.0) as u64)
        };
        Some(pairs.map(best).collect())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioEffect {
    /// The new mean over the old one.
    pub ratio: f64,
    /// Unbounded where `None`.
    pub interval: Option<(f64, f64)>,
}

/// `None` where the old mean is zero, where a result exceeds a double, and unless `confidence` lies between 0 and 1.
pub fn effect(old: &VarianceLevels, new: &VarianceLevels, confidence: f64) -> Option<RatioEffect> {
    if !(confidence > 0.0 && confidence < 1.0) || old.mean == 0.0 {
        return None;
    }
    // The squares of shares of the means neither overflow nor vanish.
    let (scale, ratio) = (old.mean, new.mean / old.mean);
    let old_share = (old.half_width(confidence)? / scale).powi(2);
    let new_share = (new.half_width(confidence)? / scale).powi(2);
    if !(ratio.is_finite() && old_share.is_finite() && new_share.is_finite()) {
        return None;
    }
    if old_share >= 1.0 {
        return Some(RatioEffect { ratio, interval: None });
    }
    let rest = 1.0 - old_share;
    let half = (new_share * rest + ratio * ratio * old_share).sqrt();
    let interval = ((ratio - half) / rest, (ratio + half) / rest);
    (interval.0.is_finite() && interval.1.is_finite()).then_some(RatioEffect { ratio, interval: Some(interval) })
}
