//! A benchmark that can be timed: its identity, how much work a call is, and how to make it ready.

use crate::model::benchmark::{Benchmark, Parity, ParityStatus};

/// One benchmark of a suite.
pub struct Workload {
    /// Its identity.
    pub benchmark: Benchmark,
    /// The throughput metric, such as `tiles_per_s`, and how many units one call works through.
    pub work: (&'static str, f64),
    /// Makes inputs from a seed and checks the result. Costly: done once a worker, outside the timed part.
    pub prepare: Box<dyn Fn(u64) -> Result<Prepared, String>>,
}

/// The workloads whose id contains one of the texts; all where there is no text.
pub fn select<'a>(workloads: impl Iterator<Item = &'a Workload>, texts: &[String]) -> Vec<&'a Workload> {
    let wanted = |id: &str| texts.is_empty() || texts.iter().any(|text| id.contains(text.as_str()));
    workloads.filter(|workload| wanted(&workload.benchmark.id())).collect()
}

/// A benchmark ready to be timed.
pub struct Prepared {
    /// How its result compares with the reference.
    pub parity: Parity,
    /// One call, on inputs and outputs that exist already.
    pub call: Box<dyn FnMut()>,
}

impl Prepared {
    /// Why no time of this benchmark would mean anything, if its result is wrong.
    pub fn failure(&self) -> Option<String> {
        if self.parity.status != ParityStatus::Mismatch {
            return None;
        }
        let error = self.parity.max_abs_error.unwrap_or(f64::NAN);
        let tolerance = self.parity.tolerance.unwrap_or(0.0);
        Some(format!("parity: the result differs from the reference by {error:e}, more than {tolerance:e}"))
    }
}

/// Compares a result with its reference, element by element: `|got - expected| <= tolerance * (1 + |expected|)`.
///
/// A NaN where the reference has none, or a length that differs, is a mismatch without a size.
pub fn compare(got: &[f32], expected: &[f32], tolerance: f64) -> Parity {
    let exact = got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits());
    if exact {
        return Parity { status: ParityStatus::Exact, max_abs_error: Some(0.0), tolerance: Some(tolerance) };
    }
    let mut largest = 0.0_f64;
    let mut within = got.len() == expected.len();
    for (a, b) in got.iter().zip(expected) {
        let error = (f64::from(*a) - f64::from(*b)).abs();
        let allowed = tolerance * (1.0 + f64::from(*b).abs());
        // A NaN error is not within anything.
        within &= error <= allowed || (a.is_nan() && b.is_nan());
        largest = largest.max(if error.is_nan() { 0.0 } else { error });
    }
    let status = if within { ParityStatus::Within } else { ParityStatus::Mismatch };
    let finite = largest.is_finite().then_some(largest);
    Parity { status, max_abs_error: finite, tolerance: Some(tolerance) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_tells_exact_from_within_from_wrong() {
        let check = |got: &[f32], expected: &[f32], status: ParityStatus| {
            assert_eq!(compare(got, expected, 1e-5).status, status, "{got:?} {expected:?}");
        };
        check(&[1.0, 2.0], &[1.0, 2.0], ParityStatus::Exact);
        check(&[1.000_001], &[1.0], ParityStatus::Within);
        check(&[1.001], &[1.0], ParityStatus::Mismatch);
        check(&[f32::NAN], &[1.0], ParityStatus::Mismatch);
        check(&[1.0], &[f32::NAN], ParityStatus::Mismatch);
        check(&[1.0], &[1.0, 2.0], ParityStatus::Mismatch);
        check(&[f32::INFINITY], &[1.0], ParityStatus::Mismatch);
        check(&[0.0], &[-0.0], ParityStatus::Within);
    }
}
