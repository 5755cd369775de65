//! Tests of steps and climbs in a series with autocorrelated noise, which looks like steps and climbs itself.
//!
//! Two models are fitted: one level, and several levels or another course. Each has autoregressive noise of first order,
//! `e(t) = rho * e(t - 1) + innovation`, with `rho` from 0 to 0.95 by conditional least squares. With the squares of the
//! innovations `S0` and `S1` of `n` values, `n * ln(S0 / S1)` is twice the logarithm of the likelihood ratio, and its root is
//! on the scale of a standard normal deviate.

/// The largest autocorrelation: beyond it there is no level.
const MOST: f64 = 0.95;

/// Adjacent values with one level.
#[derive(Clone, Copy, Debug)]
pub struct LevelSegment<'a> {
    /// The values less their own level.
    pub residuals: &'a [f64],
    /// Their own level less the level of all values.
    pub moved: f64,
}

/// The root of twice the logarithm of the likelihood ratio of the levels of adjacent segments against one; may be infinite.
pub fn step_deviate(levels: &[LevelSegment<'_>]) -> f64 {
    let about = |common: f64| {
        let of = move |segment: &LevelSegment<'_>, value: &f64| value + common * segment.moved;
        levels.iter().flat_map(move |segment| segment.residuals.iter().map(move |value| of(segment, value)))
    };
    deviate(about(0.0), about(1.0))
}

/// Likewise of any course against one level, given the values less either.
pub fn course_deviate(about_course: &[f64], about_level: &[f64]) -> f64 {
    deviate(about_course.iter().copied(), about_level.iter().copied())
}

fn deviate(explained: impl Iterator<Item = f64> + Clone, left: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = explained.clone().count() as f64;
    let (explained, left) = (innovations(explained), innovations(left));
    if explained <= 0.0 {
        return if left > 0.0 { f64::INFINITY } else { 0.0 };
    }
    (count * (left / explained).ln()).max(0.0).sqrt()
}

/// The sum of the squares of the innovations of residuals.
fn innovations(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let (mut products, mut squares, mut last) = (0.0, 0.0, None);
    for value in values.clone() {
        if let Some(last) = last {
            products += last * value;
            squares += last * last;
        }
        last = Some(value);
    }
    let rho = if squares > 0.0 { (products / squares).clamp(0.0, MOST) } else { 0.0 };
    let (mut sum, mut last) = (0.0, None);
    for value in values {
        sum += match last {
            None => (1.0 - rho * rho) * value * value,
            Some(last) => (value - rho * last) * (value - rho * last),
        };
        last = Some(value);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::SplitMix64;

    fn centred(values: &[f64]) -> (Vec<f64>, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (values.iter().map(|value| value - mean).collect(), mean)
    }

    fn deviate(values: &[f64], at: usize) -> f64 {
        let ((before, low), (after, high)) = (centred(&values[..at]), centred(&values[at..]));
        let share = after.len() as f64 / values.len() as f64;
        let step = high - low;
        step_deviate(&[
            LevelSegment { residuals: &before, moved: -step * share },
            LevelSegment { residuals: &after, moved: step * (1.0 - share) },
        ])
    }

    /// Noise of variance 1 with that correlation, and a step in the middle.
    fn series(count: usize, rho: f64, step: f64, random: &mut SplitMix64) -> Vec<f64> {
        let mut last = random.normal();
        let value = |place: usize| {
            last = rho * last + (1.0 - rho * rho).sqrt() * random.normal();
            last + if 2 * place >= count { step } else { 0.0 }
        };
        (0..count).map(value).collect()
    }

    #[test]
    fn a_step_is_distinguished_from_autocorrelated_noise() {
        let mut random = SplitMix64::new(11);
        let mut beyond =
            |rho: f64, step: f64| (0..200).filter(|_| deviate(&series(60, rho, step, &mut random), 30) > 3.8).count();
        assert!(beyond(0.0, 0.0) <= 2);
        assert!(beyond(0.8, 0.0) <= 8);
        assert!(beyond(0.0, 2.0) >= 190);
        // A step of 2 in 30 and 30 independent values is a normal deviate of 7.7.
        let mean = (0..100).map(|_| deviate(&series(60, 0.0, 2.0, &mut random), 30)).sum::<f64>() / 100.0;
        assert!((4.5..7.7).contains(&mean), "{mean}");
        assert_eq!(deviate(&[1.0, 1.0, 2.0, 2.0], 2), f64::INFINITY, "a step without noise explains all");
        assert_eq!(deviate(&[1.0, 1.0, 1.0, 1.0], 2), 0.0);
    }

    #[test]
    fn a_climb_is_distinguished_from_autocorrelated_noise() {
        let mut random = SplitMix64::new(12);
        let mut is_beyond = |rho: f64, size: f64| {
            let about = centred(&series(60, rho, 0.0, &mut random)).0;
            let climb = about.iter().enumerate().map(|(place, value)| value + size * place as f64 / 59.0);
            course_deviate(&about, &centred(&climb.collect::<Vec<f64>>()).0) > 3.8
        };
        let mut beyond = |rho: f64, size: f64| (0..200).filter(|_| is_beyond(rho, size)).count();
        assert_eq!((beyond(0.0, 0.0), beyond(0.8, 0.0)), (0, 0));
        assert!(beyond(0.0, 5.0) >= 190);
        assert!(beyond(0.95, 2.0) <= 8);
    }
}
