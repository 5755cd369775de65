//! How a result compares with that of the reference.

use sprag_model::{Parity, ParityStatus};

pub fn unchecked() -> Parity {
    Parity { status: ParityStatus::Unchecked, max_abs_error: None, tolerance: None }
}

/// How a wrong result differs from the reference, in words; without a size where parts of it are not numbers.
pub fn difference(error: Option<f64>) -> String {
    match error {
        Some(error) => format!("differs from the reference by {error:e}"),
        None => "differs from the reference: parts of it are not written or not numbers".to_owned(),
    }
}

/// Compares a result with its reference, element by element: `|got - expected| <= tolerance * (1 + |expected|)`. A NaN
/// where the reference has none, or another length, is a mismatch without a size.
pub fn compare(got: &[f32], expected: &[f32], tolerance: f64) -> Parity {
    let exact = got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits());
    if exact {
        return Parity { status: ParityStatus::Exact, max_abs_error: Some(0.0), tolerance: Some(tolerance) };
    }
    let mut largest = 0.0_f64;
    let mut within = got.len() == expected.len();
    for (a, b) in got.iter().zip(expected) {
        // The difference of equal infinities is NaN.
        if a == b || (a.is_nan() && b.is_nan()) {
            continue;
        }
        let error = (f64::from(*a) - f64::from(*b)).abs();
        let allowed = tolerance * (1.0 + f64::from(*b).abs());
        // A NaN error exceeds every tolerance and has no size.
        within &= error <= allowed;
        largest = largest.max(if error.is_nan() { f64::INFINITY } else { error });
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
        check(&[f32::INFINITY, 0.0], &[f32::INFINITY, -0.0], ParityStatus::Within);
        check(&[f32::NAN, 0.0], &[f32::NAN, -0.0], ParityStatus::Within);
    }
}
