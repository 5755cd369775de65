//! What a case expects, and how a result is compared with it.
//!
//! Expected arrays come in full (`data`) or as digests: `samples` of single elements, `sum_f64` of all, `sha256_f32le`
//! of the bytes. NaN is met by NaN only and an infinity by itself only. Where values are compared bit by bit the sign
//! of zero counts; within a tolerance it does not.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::{Outcome, fails, read, require};
use crate::tensor::{Dtype, Floats, Number};
use sprag_base::digest::sha256_hex;
use sprag_kernels::element::Element;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tolerance {
    absolute: f64,
    relative: f64,
}

impl Tolerance {
    pub(crate) const EXACT: Tolerance = Tolerance::new(0.0, 0.0);

    /// `absolute + relative * |expected|`.
    pub(crate) const fn new(absolute: f64, relative: f64) -> Self {
        Tolerance { absolute, relative }
    }

    /// For a result that is rounded to the element type; `float32` is for all but the two of 16 bits.
    pub(crate) fn rounded(dtype: Dtype, float32: Tolerance) -> Tolerance {
        match dtype {
            Dtype::Float16 => Tolerance::new(4e-3, 0.0),
            Dtype::BFloat16 => Tolerance::new(2e-2, 0.0),
            _ => float32,
        }
    }

    pub(crate) fn accepts(self, expected: f64, got: f64) -> bool {
        if self == Tolerance::EXACT || !expected.is_finite() || !got.is_finite() {
            return expected.to_bits() == got.to_bits() || (expected.is_nan() && got.is_nan());
        }
        (got - expected).abs() <= self.absolute + self.relative * expected.abs()
    }

    pub(crate) fn check(self, name: &str, expected: f64, got: f64) -> Outcome {
        require(self.accepts(expected, got), || {
            let tolerance = match self {
                Tolerance::EXACT => "bit-exact".to_owned(),
                Tolerance { absolute, relative } => format!("tolerance {absolute:e} + {relative:e} * |expected|"),
            };
            format!("`{name}`: expected {expected:?}, got {got:?} ({tolerance})")
        })
    }

    /// Compares floats within the tolerance, of objects the recorded fields, and all else exactly.
    fn check_value(self, name: &str, expected: &Value, got: &Value) -> Outcome {
        match (expected, got) {
            (Value::Object(expected), Value::Object(fields)) if self != Tolerance::EXACT => {
                expected.iter().try_for_each(|(name, expected)| match fields.get(name) {
                    Some(got) => self.check_value(name, expected, got),
                    None => Err(fails(format!("unknown field `{name}`"))),
                })
            }
            (Value::Array(expected), Value::Array(items)) if self != Tolerance::EXACT => {
                same_length(name, expected.len(), items.len())?;
                let mut pairs = expected.iter().zip(items).enumerate();
                pairs.try_for_each(|(place, (expected, got))| {
                    self.check_value(&format!("{name}[{place}]"), expected, got)
                })
            }
            (Value::Number(number), Value::Number(other)) if number.is_f64() || other.is_f64() => {
                let [number, other] = [number, other].map(|number| number.as_f64().unwrap_or(f64::NAN));
                self.check(name, number, other)
            }
            _ => require(expected == got, || format!("`{name}`: expected {expected}, got {got} (exact)")),
        }
    }
}

fn same_length(name: &str, expected: usize, got: usize) -> Outcome {
    require(expected == got, || format!("`{name}`: expected {expected} elements, got {got}"))
}

pub(crate) fn exact<T: PartialEq<U> + Debug, U: Debug>(name: &str, expected: &T, got: &U) -> Outcome {
    require(expected == got, || format!("`{name}`: expected {expected:?}, got {got:?} (exact)"))
}

/// What this build gives for one field.
pub(crate) enum Got {
    Floats(Floats, Tolerance),
    Value(Value, Tolerance),
}

/// What this build gives, by field; a single one called `expected` is all that is expected.
pub(crate) type Results = Vec<(&'static str, Got)>;

pub(crate) fn exactly(value: impl Serialize) -> Got {
    near(value, Tolerance::EXACT)
}

/// A tensor that a kernel gave, widened.
pub(crate) fn floats<T: Element>(shape: &[usize], dtype: Dtype, values: &[T], tolerance: Tolerance) -> Got {
    let values = values.iter().map(|value| value.to_f32()).collect();
    Got::Floats(Floats { shape: shape.to_vec(), dtype, values }, tolerance)
}

/// A value whose floats must be within the tolerance.
pub(crate) fn near(value: impl Serialize, tolerance: Tolerance) -> Got {
    Got::Value(serde_json::to_value(value).unwrap_or_default(), tolerance)
}

impl Got {
    pub(crate) fn check(&self, name: &str, recorded: &Value) -> Outcome {
        match self {
            Got::Floats(floats, tolerance) => {
                read::<ExpectedFloats>(name, recorded.clone())?.check(name, floats, *tolerance)
            }
            Got::Value(value, tolerance) => tolerance.check_value(name, recorded, value),
        }
    }
}

/// Compares results with what a case expects, or with the recorded fields of it.
pub(crate) fn check_expected(expected: &Value, results: &[(&str, Got)]) -> Outcome {
    match (results, expected) {
        (_, Value::Object(fields)) if fields.is_empty() => Err(fails("`expected` holds nothing to compare")),
        ([("expected", got)], expected) => got.check("expected", expected),
        (results, Value::Object(fields)) => check_results(fields, results, false),
        _ => Err(fails("`expected` is not an object")),
    }
}

/// Compares results with the recorded fields, each of which must have one; where `is_complete`, each result must be recorded.
pub(crate) fn check_results(recorded: &Map<String, Value>, results: &[(&str, Got)], is_complete: bool) -> Outcome {
    let absent = results.iter().find(|(name, _)| is_complete && !recorded.contains_key(*name));
    require(absent.is_none(), || format!("field `{}` is absent", absent.map_or("", |(name, _)| name)))?;
    recorded.iter().try_for_each(|(name, value)| match results.iter().find(|(result, _)| result == name) {
        Some((_, got)) => got.check(name, value),
        None => Err(fails(format!("unknown field `{name}`"))),
    })
}

/// `sum_f64` may differ by this, times one plus the sum of absolute values: sums depend on their order.
const SUM_TOLERANCE: f64 = 1e-5;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedFloats {
    shape: Vec<usize>,
    dtype: Dtype,
    data: Option<Vec<Number>>,
    samples: Option<Vec<(usize, Number)>>,
    sum_f64: Option<Number>,
    sha256_f32le: Option<String>,
}

impl ExpectedFloats {
    pub(crate) fn check(&self, name: &str, got: &Floats, tolerance: Tolerance) -> Outcome {
        exact(&format!("{name}.shape"), &self.shape, &got.shape)?;
        exact(&format!("{name}.dtype"), &self.dtype, &got.dtype)?;
        let element = |place: usize, expected: &Number| {
            let value = got.values.get(place).ok_or_else(|| fails(format!("`{name}` has no element {place}")))?;
            tolerance.check(&format!("{name}[{place}]"), f64::from(expected.0 as f32), f64::from(*value))
        };
        if let Some(data) = &self.data {
            same_length(name, data.len(), got.values.len())?;
            data.iter().enumerate().try_for_each(|(place, expected)| element(place, expected))?;
        }
        if let Some(samples) = &self.samples {
            require(!samples.is_empty(), || format!("`{name}`: `samples` is empty"))?;
            samples.iter().try_for_each(|(place, expected)| element(*place, expected))?;
        }
        if let Some(expected) = &self.sum_f64 {
            let widened = || got.values.iter().map(|&value| f64::from(value));
            let (sum, magnitude) = (widened().sum::<f64>(), widened().map(f64::abs).sum::<f64>());
            let tolerance = Tolerance::new(SUM_TOLERANCE * (1.0 + magnitude), 0.0);
            tolerance.check(&format!("{name}.sum_f64"), expected.0, sum)?;
        }
        if let Some(digest) = &self.sha256_f32le {
            let bytes: Vec<u8> = got.values.iter().flat_map(|value| value.to_le_bytes()).collect();
            exact(&format!("{name}.sha256_f32le"), digest, &sha256_hex(&bytes))?;
        }
        let has_any =
            self.data.is_some() || self.samples.is_some() || self.sum_f64.is_some() || self.sha256_f32le.is_some();
        require(has_any, || format!("`{name}` holds nothing to compare"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(mut expected: Value, got: &[f32], tolerance: Tolerance, passes: bool) {
        expected["shape"] = json!([got.len()]);
        expected["dtype"] = json!("float32");
        let got = Floats { shape: vec![got.len()], dtype: Dtype::Float32, values: got.to_vec() };
        let read: Result<ExpectedFloats, _> = serde_json::from_value(expected.clone());
        let is_met = read.is_ok_and(|expected| expected.check("y", &got, tolerance).is_ok());
        assert_eq!(is_met, passes, "{expected} and {got:?}");
    }

    #[test]
    fn nan_infinity_and_zero_compare_as_they_should() {
        let loose = Tolerance::new(1e-3, 1e-3);
        for tolerance in [Tolerance::EXACT, loose] {
            check(json!({"data": ["NaN"]}), &[f32::NAN], tolerance, true);
            check(json!({"data": ["NaN"]}), &[0.0], tolerance, false);
            check(json!({"data": [0.0]}), &[f32::NAN], tolerance, false);
            check(json!({"data": ["Infinity"]}), &[f32::INFINITY], tolerance, true);
            check(json!({"data": ["Infinity"]}), &[f32::MAX], tolerance, false);
            check(json!({"data": ["-Infinity"]}), &[f32::INFINITY], tolerance, false);
            check(json!({"data": [1.0]}), &[f32::INFINITY], tolerance, false);
        }
        check(json!({"data": [-0.0]}), &[0.0], Tolerance::EXACT, false);
        check(json!({"data": [0]}), &[-0.0], Tolerance::EXACT, false);
        check(json!({"data": [-0.0]}), &[-0.0], Tolerance::EXACT, true);
        check(json!({"data": [-0.0]}), &[0.0], loose, true);
    }

    #[test]
    fn a_tolerance_is_absolute_plus_relative() {
        let tolerance = Tolerance::new(0.5, 0.25);
        check(json!({"data": [4.0]}), &[5.5], tolerance, true);
        check(json!({"data": [4.0]}), &[5.51], tolerance, false);
        check(json!({"data": [-4.0]}), &[-5.5], tolerance, true);
        // Nine digits read back to the `f32` they came from.
        check(json!({"data": [0.11803399]}), &[0.118_033_99], Tolerance::EXACT, true);
    }

    #[test]
    fn digests_are_all_compared() {
        let ones = [1.0f32; 3];
        let bytes: Vec<u8> = ones.iter().flat_map(|value| value.to_le_bytes()).collect();
        let digest = sha256_hex(&bytes);
        check(json!({"samples": [[2, 1.0]], "sum_f64": 3.0, "sha256_f32le": digest}), &ones, Tolerance::EXACT, true);
        check(json!({"sum_f64": 3.0001}), &ones, Tolerance::EXACT, false);
        check(json!({"sum_f64": 3.00003}), &ones, Tolerance::EXACT, true);
        check(json!({"sum_f64": "NaN"}), &ones, Tolerance::EXACT, false);
        check(json!({"sha256_f32le": "00"}), &ones, Tolerance::EXACT, false);
        check(json!({"samples": [[2, 1.5]]}), &ones, Tolerance::EXACT, false);
        check(json!({"samples": [[3, 1.0]]}), &ones, Tolerance::EXACT, false);
        check(json!({"samples": []}), &ones, Tolerance::EXACT, false);
        check(json!({}), &ones, Tolerance::EXACT, false);
        check(json!({"data": [1.0, 1.0]}), &ones, Tolerance::EXACT, false);
        check(json!({"data": [1.0, 1.0, 1.0], "mean": 1.0}), &ones, Tolerance::EXACT, false);
    }

    #[test]
    fn shape_and_type_are_compared() {
        let got = Floats { shape: vec![1, 2], dtype: Dtype::Float16, values: vec![0.0; 2] };
        let with = |shape: Value, dtype: &str| {
            let expected = json!({"shape": shape, "dtype": dtype, "data": [0, 0]});
            let expected: ExpectedFloats = serde_json::from_value(expected).expect("it can be read");
            expected.check("y", &got, Tolerance::EXACT).is_ok()
        };
        assert!(with(json!([1, 2]), "float16"));
        assert!(!with(json!([2, 1]), "float16"));
        assert!(!with(json!([1, 2]), "float32"));
    }
}
