//! Comparing what a kernel gave with what a case expects.
//!
//! Expected arrays come whole (`data`) or as digests: `samples` of single elements, `sum_f64` of all, `sha256_f32le` of
//! the bytes. NaN is met by NaN only and an infinity by itself only. Where values are compared bit by bit the sign of
//! zero counts; within a tolerance it does not.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::case::{Fields, integers, list, number};
use sprag_base::digest::sha256_hex;

/// How far a number may lie from the expected one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerance {
    absolute: f64,
    relative: f64,
}

impl Tolerance {
    pub(super) const EXACT: Tolerance = Tolerance::new(0.0, 0.0);

    /// `absolute + relative * |expected|`.
    pub(super) const fn new(absolute: f64, relative: f64) -> Self {
        Tolerance { absolute, relative }
    }

    fn accepts(self, expected: f64, got: f64) -> bool {
        if self == Tolerance::EXACT || !expected.is_finite() || !got.is_finite() {
            return expected.to_bits() == got.to_bits() || (expected.is_nan() && got.is_nan());
        }
        (got - expected).abs() <= self.absolute + self.relative * expected.abs()
    }

    fn check(self, name: &str, position: usize, expected: f64, got: f64) -> Result<()> {
        if self.accepts(expected, got) {
            return Ok(());
        }
        let tolerance = match self {
            Tolerance::EXACT => "bit-exact".to_owned(),
            Tolerance { absolute, relative } => format!("tolerance {absolute:e} + {relative:e} * |expected|"),
        };
        bail!("`{name}`[{position}]: expected {expected:?}, got {got:?} ({tolerance})")
    }
}

/// `sum_f64` may differ by this, times one plus the sum of absolute values: sums depend on their order.
const SUM_TOLERANCE: f64 = 1e-5;

/// A tensor of floats that a kernel gave, widened to `f32`.
#[derive(Clone, Debug)]
pub(super) struct Floats {
    pub(super) shape: Vec<usize>,
    pub(super) dtype: &'static str,
    pub(super) values: Vec<f32>,
}

/// A tensor of integers that a kernel gave.
#[derive(Clone, Debug)]
pub(super) struct Integers {
    pub(super) shape: Vec<usize>,
    pub(super) dtype: &'static str,
    pub(super) values: Vec<i64>,
}

/// Compares a tensor of floats.
pub(super) fn floats(name: &str, expected: &Value, got: &Floats, tolerance: Tolerance) -> Result<()> {
    let what = format!("`{name}`");
    let fields = Fields::of(expected, &what, &["shape", "dtype", "data", "samples", "sum_f64", "sha256_f32le"])?;
    heading(name, &fields, &got.shape, got.dtype)?;
    let mut compared = 0;
    if let Some(data) = fields.optional("data") {
        let data = list(name, data)?;
        ensure!(data.len() == got.values.len(), "`{name}`: expected {} elements, got {}", data.len(), got.values.len());
        for (position, (expected, &got)) in data.iter().zip(&got.values).enumerate() {
            let expected = number(expected).with_context(|| format!("`{name}`[{position}]"))?;
            tolerance.check(name, position, f64::from(expected as f32), f64::from(got))?;
        }
        compared += 1;
    }
    if let Some(samples) = fields.optional("samples") {
        let samples = list(name, samples)?;
        ensure!(!samples.is_empty(), "`{name}`: `samples` is empty");
        for sample in samples {
            let [position, expected] = list(name, sample)? else { bail!("`{name}`: {sample} is not a sample") };
            let position = position.as_u64().and_then(|position| usize::try_from(position).ok());
            let position = position.with_context(|| format!("`{name}`: {sample} is not a sample"))?;
            let got = *got.values.get(position).with_context(|| format!("`{name}` has no element {position}"))?;
            let expected = number(expected).with_context(|| format!("`{name}`[{position}]"))?;
            tolerance.check(name, position, f64::from(expected as f32), f64::from(got))?;
        }
        compared += 1;
    }
    if let Some(sum) = fields.optional("sum_f64") {
        let expected = number(sum).with_context(|| format!("`{name}`: sum_f64"))?;
        let widened = || got.values.iter().map(|&value| f64::from(value));
        let (sum, magnitude) = (widened().sum::<f64>(), widened().map(f64::abs).sum::<f64>());
        let tolerance = Tolerance::new(SUM_TOLERANCE * (1.0 + magnitude), 0.0);
        ensure!(tolerance.accepts(expected, sum), "`{name}`: expected a sum of {expected:?}, got {sum:?}");
        compared += 1;
    }
    if let Some(digest) = fields.optional("sha256_f32le") {
        let bytes: Vec<u8> = got.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let got = sha256_hex(&bytes);
        ensure!(digest.as_str() == Some(&got), "`{name}`: expected the SHA-256 {digest}, got \"{got}\"");
        compared += 1;
    }
    ensure!(compared > 0, "`{name}` holds nothing to compare");
    Ok(())
}

pub(super) fn integer_tensor(name: &str, expected: &Value, got: &Integers) -> Result<()> {
    let fields = Fields::of(expected, &format!("`{name}`"), &["shape", "dtype", "data"])?;
    heading(name, &fields, &got.shape, got.dtype)?;
    integer_list(name, fields.get("data")?, &got.values)
}

pub(super) fn integer_list(name: &str, expected: &Value, got: &[i64]) -> Result<()> {
    let expected = integers(name, expected)?;
    ensure!(expected.len() == got.len(), "`{name}`: expected {} elements, got {}", expected.len(), got.len());
    for (position, (expected, got)) in expected.iter().zip(got).enumerate() {
        ensure!(expected == got, "`{name}`[{position}]: expected {expected}, got {got} (exact)");
    }
    Ok(())
}

/// Compares a list of ids or other counts.
pub(super) fn id_list(name: &str, expected: &Value, got: &[u32]) -> Result<()> {
    integer_list(name, expected, &widen(got))
}

/// Compares a list of lists of ids.
pub(super) fn id_lists(name: &str, expected: &Value, got: &[impl AsRef<[u32]>]) -> Result<()> {
    let expected = list(name, expected)?;
    ensure!(expected.len() == got.len(), "`{name}`: expected {} lists, got {}", expected.len(), got.len());
    for (position, (expected, got)) in expected.iter().zip(got).enumerate() {
        id_list(&format!("{name}[{position}]"), expected, got.as_ref())?;
    }
    Ok(())
}

pub(super) fn number_list(name: &str, expected: &Value, got: &[f64], tolerance: Tolerance) -> Result<()> {
    let expected = list(name, expected)?;
    ensure!(expected.len() == got.len(), "`{name}`: expected {} elements, got {}", expected.len(), got.len());
    for (position, (expected, &got)) in expected.iter().zip(got).enumerate() {
        let expected = number(expected).with_context(|| format!("`{name}`[{position}]"))?;
        tolerance.check(name, position, expected, got)?;
    }
    Ok(())
}

pub(super) fn one_number(name: &str, expected: &Value, got: f64, tolerance: Tolerance) -> Result<()> {
    tolerance.check(name, 0, number(expected).with_context(|| format!("`{name}`"))?, got)
}

pub(super) fn count(name: &str, expected: &Value, got: usize) -> Result<()> {
    ensure!(expected.as_u64() == u64::try_from(got).ok(), "`{name}`: expected {expected}, got {got} (exact)");
    Ok(())
}

/// Ids as integers of a list.
pub(super) fn widen(ids: &[u32]) -> Vec<i64> {
    ids.iter().map(|&id| i64::from(id)).collect()
}

fn heading(name: &str, fields: &Fields<'_>, shape: &[usize], dtype: &str) -> Result<()> {
    let expected = integers("shape", fields.get("shape")?)?;
    let same = expected.len() == shape.len()
        && expected.iter().zip(shape).all(|(&expected, &got)| usize::try_from(expected) == Ok(got));
    ensure!(same, "`{name}`: expected shape {expected:?}, got {shape:?}");
    let expected = fields.text("dtype")?;
    ensure!(expected == dtype, "`{name}`: expected dtype {expected}, got {dtype}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(expected: Value, got: &[f32], tolerance: Tolerance, passes: bool) {
        let got = Floats { shape: vec![got.len()], dtype: "float32", values: got.to_vec() };
        let mut expected = expected;
        expected["shape"] = json!([got.values.len()]);
        expected["dtype"] = json!("float32");
        assert_eq!(floats("y", &expected, &got, tolerance).is_ok(), passes, "{expected} and {got:?}");
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
        let got = Floats { shape: vec![1, 2], dtype: "float16", values: vec![0.0; 2] };
        let with = |shape: Value, dtype: &str| {
            floats("y", &json!({"shape": shape, "dtype": dtype, "data": [0, 0]}), &got, Tolerance::EXACT).is_ok()
        };
        assert!(with(json!([1, 2]), "float16"));
        assert!(!with(json!([2, 1]), "float16"));
        assert!(!with(json!([1, 2]), "float32"));
        let got = Integers { shape: vec![2], dtype: "int64", values: vec![1, -1] };
        let with =
            |data: Value| integer_tensor("i", &json!({"shape": [2], "dtype": "int64", "data": data}), &got).is_ok();
        assert!(with(json!([1, -1])) && !with(json!([1, 1])) && !with(json!([1])) && !with(json!([1.0, -1])));
    }
}
