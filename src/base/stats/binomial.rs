//! A share that was counted, and how sure it is.
//!
//! Of `n` trials `k` succeeded. The interval is Wilson's: all shares from which `k / n` lies no further than `z` of the
//! standard errors that such a share has, `(k + z²/2 ± z sqrt(k (n - k) / n + z²/4)) / (n + z²)`. Unlike the textbook one it
//! says something where nothing or everything succeeded. (Wilson, "Probable inference, the law of succession, and
//! statistical inference", Journal of the American Statistical Association 22, 1927; recommended by Brown, Cai and DasGupta,
//! "Interval estimation for a binomial proportion", Statistical Science 16, 2001.)

use super::normal;

/// The interval of the share of successes, held by so many cases of a hundred as `confidence` says; `None` without trials,
/// with more successes than them, or where the confidence does not lie between 0 and 1.
pub fn interval(successes: usize, trials: usize, confidence: f64) -> Option<(f64, f64)> {
    if trials == 0 || successes > trials {
        return None;
    }
    let z = normal::quantile(0.5 + confidence / 2.0).filter(|z| z.is_finite() && *z > 0.0)?;
    let (k, n, squared) = (successes as f64, trials as f64, z * z);
    let half = z * (k * (n - k) / n + squared / 4.0).sqrt();
    let end = |sign: f64| ((k + squared / 2.0 + sign * half) / (n + squared)).clamp(0.0, 1.0);
    // Where nothing or everything succeeded the end is exact, whatever rounding says.
    let low = if successes == 0 { 0.0 } else { end(-1.0) };
    let high = if successes == trials { 1.0 } else { end(1.0) };
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_intervals() {
        // Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 1998, table I,
        // method 3.
        let check = |successes: usize, trials: usize, expected: (f64, f64)| {
            let (low, high) = interval(successes, trials, 0.95).expect("there are trials");
            assert!((low - expected.0).abs() < 5e-5 && (high - expected.1).abs() < 5e-5, "{low} {high}");
        };
        check(81, 263, (0.2553, 0.3662));
        check(15, 148, (0.0624, 0.1605));
        check(0, 20, (0.0, 0.1611));
        check(1, 29, (0.0061, 0.1718));
        check(20, 20, (0.8389, 1.0));
    }

    #[test]
    fn nothing_says_nothing() {
        assert_eq!(interval(0, 0, 0.95), None);
        assert_eq!(interval(3, 2, 0.95), None);
        assert_eq!(interval(1, 2, 1.0), None);
        assert_eq!(interval(1, 2, f64::NAN), None);
    }
}
