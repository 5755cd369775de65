//! Tensors that a case gives as inputs: by formula, with single elements overwritten, or element by element.
//!
//! The formula, for the element at linear index `i`, with an offset `o`, a scale and a shift:
//! `h = (i + o) * 2654435761 mod 2^32`, `x = (h / 2^32 - 0.5) * scale + shift` in `f64`, rounded once to `f32` and
//! then once more to the element type.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::{Failure, Outcome, narrow_all};
use sprag_kernels::element::Element;
use sprag_kernels::shape::MapShape;

const MULTIPLIER: u32 = 2_654_435_761;
/// More than any case needs, so that a wrong file does not exhaust the memory.
const MOST_ELEMENTS: usize = 1 << 28;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Dtype {
    #[default]
    Float32,
    Float16,
    BFloat16,
    Int8,
    Int32,
    Int64,
}

/// A number, or the name of one that JSON cannot write.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct Number(pub(crate) f64);

impl TryFrom<Value> for Number {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let number = match value.as_str() {
            Some("NaN" | "nan") => Some(f64::NAN),
            Some("Infinity" | "inf") => Some(f64::INFINITY),
            Some("-Infinity" | "-inf") => Some(f64::NEG_INFINITY),
            _ => value.as_f64(),
        };
        number.map(Number).ok_or_else(|| format!("{value} is not a number"))
    }
}

pub(crate) fn plain(numbers: &[Number]) -> Vec<f64> {
    numbers.iter().map(|number| number.0).collect()
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Description")]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: Dtype,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    /// Rounded to the element type, then widened.
    Floats(Vec<f32>),
    Integers(Vec<i64>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    shape: Vec<usize>,
    #[serde(default)]
    dtype: Dtype,
    #[serde(rename = "gen")]
    formula: Option<Formula>,
    patch: Option<Vec<(usize, Number)>>,
    data: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Formula {
    offset: u64,
    scale: f64,
    shift: f64,
}

impl TryFrom<Description> for Tensor {
    type Error = String;

    fn try_from(given: Description) -> Result<Self, String> {
        let Description { shape, dtype, formula, patch, data } = given;
        let elements = shape.iter().try_fold(1usize, |product, &axis| product.checked_mul(axis));
        let elements = elements.filter(|&elements| elements <= MOST_ELEMENTS).ok_or("a tensor is too large")?;
        let is_float = matches!(dtype, Dtype::Float32 | Dtype::Float16 | Dtype::BFloat16);
        let values = match (formula, data, patch) {
            (Some(formula), None, patch) if is_float => {
                let mut values = formula.values(elements);
                for (place, Number(value)) in patch.unwrap_or_default() {
                    let slot = values.get_mut(place);
                    *slot.ok_or_else(|| format!("there is no element {place} to overwrite"))? = value as f32;
                }
                Values::Floats(values)
            }
            (None, Some(data), None) if is_float => {
                let values = data.into_iter().map(|value| Ok(Number::try_from(value)?.0 as f32));
                Values::Floats(values.collect::<Result<_, String>>()?)
            }
            (None, Some(data), None) => {
                let integer = |value: &Value| value.as_i64().ok_or_else(|| format!("{value} is not an integer"));
                Values::Integers(data.iter().map(integer).collect::<Result<_, String>>()?)
            }
            _ => return Err("a tensor is neither given by `gen` nor by `data` as its type allows".to_owned()),
        };
        let given = match &values {
            Values::Floats(values) => values.len(),
            Values::Integers(values) => values.len(),
        };
        if given != elements {
            return Err(format!("the shape of a tensor asks for {elements} elements, it holds {given}"));
        }
        Ok(Tensor { shape, dtype, values: values.rounded(dtype) })
    }
}

impl Formula {
    fn values(&self, elements: usize) -> Vec<f32> {
        let value = |index: usize| {
            // Wrapping to 32 bits before the product is the product modulo 2^32.
            let hash = (index as u64).wrapping_add(self.offset) as u32;
            ((f64::from(hash.wrapping_mul(MULTIPLIER)) / 4_294_967_296.0 - 0.5) * self.scale + self.shift) as f32
        };
        (0..elements).map(value).collect()
    }
}

impl Values {
    fn rounded(self, dtype: Dtype) -> Values {
        let round: fn(f32) -> f32 = match dtype {
            Dtype::Float16 => |value| f16::from_f32(value).to_f32(),
            Dtype::BFloat16 => |value| bf16::from_f32(value).to_f32(),
            _ => return self,
        };
        match self {
            Values::Floats(values) => Values::Floats(values.into_iter().map(round).collect()),
            integers => integers,
        }
    }
}

impl Tensor {
    /// Its elements as `T`; exact, because they were rounded to its type. Integers are refused as a kernel would.
    pub(crate) fn floats<T: Element>(&self) -> Outcome<Vec<T>> {
        match &self.values {
            Values::Floats(values) => Ok(values.iter().map(|&value| T::from_f32(value)).collect()),
            Values::Integers(_) => Err(Failure::Refused("a tensor of integers is given for one of floats".to_owned())),
        }
    }

    /// Its elements as integers; floats, and integers that `T` cannot hold, are refused as a kernel would.
    pub(crate) fn integers<T: TryFrom<i64>>(&self) -> Outcome<Vec<T>> {
        match &self.values {
            Values::Integers(values) => narrow_all("a tensor", values),
            Values::Floats(_) => Err(Failure::Refused("a tensor of floats is given for one of integers".to_owned())),
        }
    }

    pub(crate) fn map_shape(&self) -> Outcome<MapShape> {
        let [batch, channels, height, width] = *self.axes()?;
        Ok(MapShape { batch, channels, height, width })
    }

    /// Its axes; another number of them is refused as a kernel would.
    pub(crate) fn axes<const RANK: usize>(&self) -> Outcome<&[usize; RANK]> {
        let rank = self.shape.len();
        let refuse = |_| Failure::Refused(format!("a tensor has {rank} axes, {RANK} are needed"));
        self.shape.as_slice().try_into().map_err(refuse)
    }

    /// Refuses any shape but `expected`, as a kernel would.
    pub(crate) fn check_shape(&self, expected: &[usize]) -> Outcome {
        if self.shape == expected {
            return Ok(());
        }
        Err(Failure::Refused(format!("a tensor has shape {:?}, {expected:?} is needed", self.shape)))
    }
}

/// The element type that all of these share; a mixture is refused as a kernel would.
pub(crate) fn shared_dtype<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Outcome<Dtype> {
    let mut dtypes = tensors.into_iter().map(|tensor| tensor.dtype);
    let first = dtypes.next().unwrap_or_default();
    match dtypes.find(|dtype| *dtype != first) {
        Some(other) => Err(Failure::Refused(format!("one tensor is {first:?}, another {other:?}"))),
        None => Ok(first),
    }
}

/// Widened to `f32`.
#[derive(Clone, Debug)]
pub(crate) struct Floats {
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: Dtype,
    pub(crate) values: Vec<f32>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Integers {
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: Dtype,
    pub(crate) data: Vec<i64>,
}

pub(crate) fn id_tensor(shape: &[usize], ids: impl IntoIterator<Item = u32>) -> Integers {
    Integers { shape: shape.to_vec(), dtype: Dtype::Int64, data: ids.into_iter().map(i64::from).collect() }
}

/// Calls a function that is generic over the element type with the one that `$dtype` names.
macro_rules! for_dtype {
    ($dtype:expr, $function:ident ( $($argument:expr),* $(,)? )) => {
        match $dtype {
            $crate::tensor::Dtype::Float32 => $function::<f32>($($argument),*),
            $crate::tensor::Dtype::Float16 => $function::<half::f16>($($argument),*),
            $crate::tensor::Dtype::BFloat16 => $function::<half::bf16>($($argument),*),
            other => Err($crate::failure::Failure::Refused(format!("no kernel takes {other:?}"))),
        }
    };
}
pub(crate) use for_dtype;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tensor(value: Value) -> Result<Tensor, serde_json::Error> {
        serde_json::from_value(value)
    }

    #[test]
    fn the_formula_by_hand() {
        let formula = json!({"offset": 0, "scale": 1.0, "shift": 0.0});
        let value = json!({"shape": [2], "dtype": "float32", "gen": formula});
        // 2654435761 / 2^32 - 0.5 = 0.11803398887...
        let floats = tensor(value).expect("it is read").floats::<f32>().expect("floats");
        assert_eq!(floats, [-0.5, 0.118_033_99]);
        let half = json!({"shape": [2], "dtype": "float16", "gen": formula, "patch": [[0, "Infinity"]]});
        let half = tensor(half).expect("it is read").floats::<f16>().expect("floats");
        assert_eq!(half, [f16::INFINITY, f16::from_f32(0.118_033_99)]);
        let large = Formula { offset: 4_294_967_297, scale: 1.0, shift: 0.0 };
        assert_eq!(large.values(1), [0.118_033_99]);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let check = |value: Value, says: &str| {
            let error = tensor(value).expect_err("it cannot be read").to_string();
            assert!(error.contains(says), "{error}");
        };
        check(json!({"shape": [2], "dtype": "int64", "data": [1]}), "asks for 2 elements, it holds 1");
        check(json!({"shape": [-1], "dtype": "int64", "data": []}), "-1");
        check(json!({"shape": [1], "dtype": "float8", "data": [1]}), "float8");
        check(json!({"shape": [1], "dtype": "float32"}), "neither");
        check(json!({"shape": [1], "data": [1], "seed": 1}), "unknown field `seed`");
        check(json!({"shape": [1u64 << 40, 1u64 << 40], "data": []}), "too large");
        check(json!({"shape": [1], "gen": {"offset": 0, "scale": 1, "shift": 0}, "patch": [[1, 0]]}), "no element");
    }

    #[test]
    fn kernels_refuse_floats_for_ids_and_negative_ids() {
        let is_refused = |value: Value| {
            let tensor = tensor(value).expect("it is read");
            matches!(tensor.integers::<u32>(), Err(Failure::Refused(_)))
        };
        assert!(is_refused(json!({"shape": [1], "dtype": "float32", "data": [1.0]})));
        assert!(is_refused(json!({"shape": [1], "dtype": "int64", "data": [-1]})));
        assert!(!is_refused(json!({"shape": [1], "dtype": "int32", "data": [1]})));
    }
}
