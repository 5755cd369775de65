//! The ratio of two medians with its percentile bootstrap interval (Efron and Tibshirani, "An Introduction to the Bootstrap",
//! 1993, chapter 13).

use super::describe;

/// A ratio of medians, second over first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianRatio {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// The mean and the sample standard deviation of the resampled ratios.
    pub mean: f64,
    pub deviation: f64,
}

/// The ratio with an interval from given resamples, each with the indices of the values drawn from `first` and `second`.
///
/// `None` where a side or a resample is empty, an index is out of range, a median of `first` is zero, there are fewer than two
/// resamples, and unless `confidence` lies between 0 and 1.
pub fn from_resamples<'a>(
    first: &[f64],
    second: &[f64],
    resamples: impl IntoIterator<Item = (&'a [usize], &'a [usize])>,
    confidence: f64,
) -> Option<MedianRatio> {
    let drawn = |values: &[f64], places: &[usize]| {
        places.iter().map(|place| values.get(*place).copied()).collect::<Option<Vec<f64>>>()
    };
    let ratios =
        resamples.into_iter().map(|(of_first, of_second)| ratio(&drawn(first, of_first)?, &drawn(second, of_second)?));
    let (ratio, ratios) = (ratio(first, second)?, ratios.collect::<Option<Vec<f64>>>()?);
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let missed = (1.0 - confidence) / 2.0;
    Some(MedianRatio {
        ratio,
        low: describe::quantile(&ratios, missed)?,
        high: describe::quantile(&ratios, 1.0 - missed)?,
        mean: describe::mean(&ratios)?,
        deviation: describe::sample_variance(&ratios)?.sqrt(),
    })
}

fn ratio(first: &[f64], second: &[f64]) -> Option<f64> {
    let ratio = describe::median(second)? / describe::median(first)?;
    ratio.is_finite().then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_input_gives_none() {
        let check = |first: &[f64], second: &[f64], places: [&[usize]; 2], confidence: f64| {
            let resamples = [(places[0], places[1]), (places[0], places[1])];
            assert_eq!(from_resamples(first, second, resamples, confidence), None);
        };
        check(&[], &[1.0], [&[], &[0]], 0.95);
        check(&[1.0], &[1.0], [&[0], &[]], 0.95);
        check(&[1.0], &[1.0], [&[0], &[1]], 0.95);
        check(&[0.0], &[1.0], [&[0], &[0]], 0.95);
        check(&[1.0, 0.0], &[1.0], [&[1], &[0]], 0.95);
        check(&[1.0], &[1.0], [&[0], &[0]], 1.0);
        assert_eq!(from_resamples(&[1.0], &[1.0], [], 0.95), None);
    }
}
