//! Student's t distribution, for any number of degrees of freedom above zero.
//!
//! The tail beyond `t` of `v` degrees of freedom is half the regularised incomplete beta function of `v / 2` and a half
//! at `v / (v + t^2)`, by its continued fraction (Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964,
//! 26.5.8 and 26.7.1), with about `sqrt(v)` terms. From a hundred thousand degrees on Hill's expansion around the normal
//! distribution is as exact (Algorithm 395, Communications of the ACM 13, 1970). Quantiles are solved by Newton's method on
//! a form of the tail on which it cannot overshoot.

use std::cell::RefCell;
use std::collections::HashMap;
use std::f64::consts::PI;

use super::normal;

/// From here on the expansion around the normal distribution is exact.
const NEARLY_NORMAL: f64 = 1e5;

/// From here on the distribution is the normal one.
const NORMAL: f64 = 1e20;

/// From here on the series for a ratio of gamma functions is exact.
const SERIES_FROM: f64 = 40.0;

/// More steps than any iteration here takes.
const MOST_STEPS: u32 = 10_000;

/// The two-sided quantile at 95 %; zero degrees of freedom are treated as one.
pub fn two_sided_95(freedom: usize) -> f64 {
    quantile(0.975, freedom.max(1) as f64).expect("there is a quantile from one degree of freedom on")
}

/// The two-sided quantile; infinite without degrees of freedom.
pub fn two_sided(confidence: f64, freedom: f64) -> f64 {
    quantile(1.0 - (1.0 - confidence) / 2.0, freedom).unwrap_or(f64::INFINITY)
}

/// The quantile at 80 %; zero degrees of freedom are treated as one.
pub fn power_80(freedom: usize) -> f64 {
    quantile(0.8, freedom.max(1) as f64).expect("there is a quantile from one degree of freedom on")
}

/// `None` unless `freedom` lies above zero.
pub fn cdf(t: f64, freedom: f64) -> Option<f64> {
    sf(-t, freedom)
}

/// The survival function, to eleven digits even where it is tiny; `None` unless `freedom` lies above zero. It may be infinite.
pub fn sf(t: f64, freedom: f64) -> Option<f64> {
    if freedom.is_nan() || freedom <= 0.0 || t.is_nan() {
        return None;
    }
    let beyond = tail(t.abs(), freedom);
    Some(if t < 0.0 { 1.0 - beyond } else { beyond })
}

const MOST_CACHED: usize = 4096;

thread_local! {
    /// By the bits of `p` and of the degrees of freedom: the metrics of a suite need the same few quantiles.
    static CACHE: RefCell<HashMap<(u64, u64), Option<f64>>> = RefCell::default();
}

/// `None` unless `p` lies between 0 and 1, both excluded, and `freedom` above zero, and where the value exceeds a double.
pub fn quantile(p: f64, freedom: f64) -> Option<f64> {
    CACHE.with_borrow_mut(|cache| {
        if cache.len() == MOST_CACHED {
            cache.clear();
        }
        *cache.entry((p.to_bits(), freedom.to_bits())).or_insert_with(|| search(p, freedom))
    })
}

fn search(p: f64, freedom: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0 && freedom > 0.0) {
        return None;
    }
    if freedom >= NORMAL {
        return normal::quantile(p);
    }
    let beyond = p.min(1.0 - p);
    let size = if beyond > 0.25 { near_zero(0.5 - beyond, freedom) } else { far_out(beyond, freedom)? };
    Some(if p < 0.5 { -size } else { size }).filter(|value| value.is_finite())
}

/// The `t` with a share `inside` of the distribution between zero and it. The share is concave: Newton's steps stay below.
fn near_zero(inside: f64, freedom: f64) -> f64 {
    let mut t = inside / density(0.0, freedom);
    for _ in 0..MOST_STEPS {
        let step = (inside - central(t, freedom)) / density(t, freedom);
        t += step;
        // A step back is rounding.
        if step <= 2.0 * f64::EPSILON * t {
            break;
        }
    }
    t
}

/// The `t` with a share `beyond` above it, at most a quarter. The logarithm of that share is concave in the logarithm of `t`,
/// so that Newton's steps stay above the solution after the first, from the quantile of the normal distribution.
fn far_out(beyond: f64, freedom: f64) -> Option<f64> {
    let mut t = normal::quantile(beyond)?.abs();
    for round in 0..MOST_STEPS {
        let share = tail(t, freedom);
        let step = (share / beyond).ln() * share / (t * density(t, freedom));
        t *= step.exp();
        // A step outwards after the first is rounding.
        if (round > 0 && step >= -2.0 * f64::EPSILON) || !t.is_finite() {
            break;
        }
    }
    Some(t)
}

fn density(t: f64, freedom: f64) -> f64 {
    let power = -0.5 * (freedom + 1.0) * squares(t, freedom).logarithm;
    gamma_ratio(0.5 * freedom) / (freedom * PI).sqrt() * power.exp()
}

/// The survival function for `t` from zero on.
fn tail(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    if freedom >= NEARLY_NORMAL {
        return normal::sf(normal_equivalent(t, freedom));
    }
    let squares = squares(t, freedom);
    if squares.is_inside(freedom) {
        return 0.5 - central(t, freedom);
    }
    let half = 0.5 * freedom;
    0.5 * squares.front(half) / half * fraction(half, 0.5, squares.rest)
}

/// The chance of a value between zero and `t`, which is at least zero.
fn central(t: f64, freedom: f64) -> f64 {
    if freedom >= NEARLY_NORMAL {
        return normal::from_zero(normal_equivalent(t, freedom));
    }
    let squares = squares(t, freedom);
    if !squares.is_inside(freedom) {
        return 0.5 - tail(t, freedom);
    }
    let half = 0.5 * freedom;
    squares.front(half) * fraction(0.5, half, squares.share)
}

/// The arguments of the beta function, each with full precision.
struct Squares {
    /// `t^2 / (v + t^2)`.
    share: f64,
    /// `v / (v + t^2)`.
    rest: f64,
    /// The logarithm of `1 + t^2 / v`.
    logarithm: f64,
}

fn squares(t: f64, freedom: f64) -> Squares {
    let root = t / freedom.sqrt();
    let ratio = root * root;
    let logarithm = if ratio.is_finite() { ratio.ln_1p() } else { 2.0 * root.ln() };
    Squares { share: 1.0 / (1.0 + 1.0 / ratio), rest: 1.0 / (1.0 + ratio), logarithm }
}

impl Squares {
    /// Whether the fraction for the share between zero and `t` converges faster than that for the tail.
    fn is_inside(&self, freedom: f64) -> bool {
        self.share < 1.5 / (0.5 * freedom + 2.5)
    }

    /// `rest^half * share^(1/2) / B(half, 1/2)`, where `half` is half the degrees of freedom.
    fn front(&self, half: f64) -> f64 {
        (-half * self.logarithm).exp() * (self.share / PI).sqrt() * gamma_ratio(half)
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method (Applied Optics 15, 1976).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    /// Replaces a zero in a denominator.
    const LEAST: f64 = 1e-300;
    let not_zero = |value: f64| if value.abs() < LEAST { LEAST } else { value };
    let mut upper = 1.0;
    let mut lower = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = lower;
    for step in 1..MOST_STEPS {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        lower = 1.0 / not_zero(1.0 + even * lower);
        upper = not_zero(1.0 + even / upper);
        value *= lower * upper;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        lower = 1.0 / not_zero(1.0 + odd * lower);
        upper = not_zero(1.0 + odd / upper);
        value *= lower * upper;
        if (lower * upper - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    value
}

/// The gamma function at `a + 1/2` over that at `a`, by its series in `1 / a` (Tricomi and Erdelyi, "The asymptotic
/// expansion of a ratio of gamma functions", Pacific Journal of Mathematics 1, 1951).
fn gamma_ratio(a: f64) -> f64 {
    const SERIES: [f64; 8] = [
        1.0,
        -1.0 / 8.0,
        1.0 / 128.0,
        5.0 / 1024.0,
        -21.0 / 32768.0,
        -399.0 / 262_144.0,
        869.0 / 4_194_304.0,
        39_325.0 / 33_554_432.0,
    ];
    // The recurrence leads to where the series is exact.
    let (mut place, mut factor) = (a, 1.0);
    while place < SERIES_FROM {
        factor *= place / (place + 0.5);
        place += 1.0;
    }
    factor * place.sqrt() * SERIES.iter().rev().fold(0.0, |sum, term| sum / place + term)
}

/// The normal deviate with the same tail as `t`, for many degrees of freedom.
fn normal_equivalent(t: f64, freedom: f64) -> f64 {
    if freedom >= NORMAL {
        return t;
    }
    let a = freedom - 0.5;
    let b = 48.0 * a * a;
    let y = a * squares(t, freedom).logarithm;
    let second = (((-0.4 * y - 3.3) * y - 24.0) * y - 85.5) / (0.8 * y * y + 100.0 + b);
    y.sqrt() * (1.0 + (3.0 + y + second) / b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_input_gives_none() {
        assert_eq!([sf(1.0, 0.0), sf(1.0, -2.0), sf(1.0, f64::NAN), cdf(f64::NAN, 3.0)], [None; 4]);
        assert_eq!([quantile(0.0, 3.0), quantile(1.0, 3.0), quantile(0.5, 0.0), quantile(f64::NAN, 3.0)], [None; 4]);
        assert_eq!(quantile(1e-10, 1e-3), None, "it would lie beyond the largest number");
    }

    proptest::proptest! {
        #[test]
        fn no_result_is_nan(t in proptest::num::f64::ANY, freedom in proptest::num::f64::ANY, p in 0.0..1.0_f64) {
            for answer in [sf(t, freedom), cdf(t, freedom), quantile(p, freedom)].into_iter().flatten() {
                proptest::prop_assert!(!answer.is_nan(), "{} {} {}", t, freedom, p);
            }
        }
    }
}
