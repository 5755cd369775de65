//! Tensors that a case gives as inputs: by formula, with single elements overwritten, or element by element.
//!
//! The formula, for the element at linear index `i`, with an offset `o`, a scale and a shift:
//! `h = (i + o) * 2654435761 mod 2^32`, `x = (h / 2^32 - 0.5) * scale + shift` in `f64`, rounded once to `f32` and
//! then once more to the element type.

use anyhow::{Context, Result, bail, ensure};
use half::{bf16, f16};
use serde_json::Value;

use super::case::{Fields, Stop, integers, list, narrow, number};
use super::expected::Floats;
use sprag_kernels::element::Element;
use sprag_kernels::shape::MapShape;

const MULTIPLIER: u32 = 2_654_435_761;
/// More elements than any case needs: a file that asks for more is wrong, and would only exhaust the memory.
const MOST_ELEMENTS: usize = 1 << 28;

/// A tensor of a case.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) dtype: &'static str,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    /// Rounded to the element type, then widened.
    Floats(Vec<f32>),
    Integers(Vec<i64>),
}

impl Tensor {
    /// Reads a tensor; one without a type is `float32`.
    pub(super) fn read(name: &str, value: &Value) -> Result<Self> {
        Tensor::read_fields(name, value).with_context(|| format!("tensor `{name}`"))
    }

    fn read_fields(name: &str, value: &Value) -> Result<Self> {
        let fields = Fields::of(value, "it", &["shape", "dtype", "gen", "patch", "data"])?;
        let shape: Vec<usize> = integers("shape", fields.get("shape")?)?
            .into_iter()
            .map(|axis| usize::try_from(axis).context("an axis is negative"))
            .collect::<Result<_>>()?;
        let elements = shape.iter().try_fold(1usize, |product, &axis| product.checked_mul(axis));
        let elements = elements.filter(|&elements| elements <= MOST_ELEMENTS).context("it is too large")?;
        let dtype = match fields.optional("dtype") {
            None => "float32",
            Some(dtype) => known_dtype(dtype)?,
        };
        let values = match (dtype, fields.optional("gen"), fields.optional("data")) {
            ("int8" | "int32" | "int64", None, Some(data)) if fields.optional("patch").is_none() => {
                Values::Integers(integers("data", data)?)
            }
            ("float32" | "float16" | "bfloat16", Some(formula), None) => {
                let mut values = generate(formula, elements)?;
                if let Some(patch) = fields.optional("patch") {
                    overwrite(&mut values, patch)?;
                }
                Values::Floats(round(values, dtype))
            }
            ("float32" | "float16" | "bfloat16", None, Some(data)) if fields.optional("patch").is_none() => {
                let values = list("data", data)?.iter().map(|value| Ok(number(value)? as f32));
                Values::Floats(round(values.collect::<Result<_>>()?, dtype))
            }
            _ => bail!("it is neither given by `gen` nor by `data` in a way that its type allows"),
        };
        let given = match &values {
            Values::Floats(values) => values.len(),
            Values::Integers(values) => values.len(),
        };
        ensure!(given == elements, "its shape asks for {elements} elements, it holds {given}");
        Ok(Tensor { name: name.to_owned(), shape, dtype, values })
    }

    /// The tensor of that name among `inputs`.
    pub(super) fn named(inputs: &Fields<'_>, name: &str) -> Result<Self> {
        Tensor::read(name, inputs.get(name)?)
    }

    /// The tensor of that name among `inputs`, if there is one.
    pub(super) fn optional(inputs: &Fields<'_>, name: &str) -> Result<Option<Self>> {
        inputs.optional(name).map(|value| Tensor::read(name, value)).transpose()
    }

    /// Its elements as `T`; exact, because they were rounded to its type. Integers are refused as a kernel would.
    pub(super) fn floats<T: Element>(&self) -> Result<Vec<T>, Stop> {
        match &self.values {
            Values::Floats(values) => Ok(values.iter().map(|&value| T::from_f32(value)).collect()),
            Values::Integers(_) => Err(Stop::Refused(format!("`{}` holds integers", self.name))),
        }
    }

    /// Its elements as integers; floats, and integers that `T` cannot hold, are refused as a kernel would.
    pub(super) fn integers<T: TryFrom<i64>>(&self) -> Result<Vec<T>, Stop> {
        match &self.values {
            Values::Integers(values) => narrow(&self.name, values),
            Values::Floats(_) => Err(Stop::Refused(format!("`{}` holds no integers", self.name))),
        }
    }

    pub(super) fn map_shape(&self) -> Result<MapShape, Stop> {
        let [batch, channels, height, width] = *self.axes()?;
        Ok(MapShape { batch, channels, height, width })
    }

    /// Its axes; another number of them is refused as a kernel would.
    pub(super) fn axes<const RANK: usize>(&self) -> Result<&[usize; RANK], Stop> {
        let (name, rank) = (&self.name, self.shape.len());
        let refuse = |_| Stop::Refused(format!("`{name}` has {rank} axes, {RANK} are needed"));
        self.shape.as_slice().try_into().map_err(refuse)
    }

    /// Refuses any shape but `expected`, as a kernel would.
    pub(super) fn check_shape(&self, expected: &[usize]) -> Result<(), Stop> {
        if self.shape == expected {
            return Ok(());
        }
        Err(Stop::Refused(format!("`{}` has shape {:?}, {expected:?} is needed", self.name, self.shape)))
    }
}

/// The element type that all of these share; a mixture is refused as a kernel would.
pub(super) fn shared_dtype(tensors: &[&Tensor]) -> Result<&'static str, Stop> {
    let Some(first) = tensors.first() else { return Ok("float32") };
    match tensors.iter().find(|tensor| tensor.dtype != first.dtype) {
        Some(other) => {
            Err(Stop::Refused(format!("`{}` is {}, `{}` {}", first.name, first.dtype, other.name, other.dtype)))
        }
        None => Ok(first.dtype),
    }
}

/// What a kernel gave, widened.
pub(super) fn result<T: Element>(shape: &[usize], dtype: &'static str, values: &[T]) -> Floats {
    Floats { shape: shape.to_vec(), dtype, values: values.iter().map(|value| value.to_f32()).collect() }
}

/// Calls a function that is generic over the element type with the one that `$dtype` names.
macro_rules! for_dtype {
    ($dtype:expr, $function:ident ( $($argument:expr),* $(,)? )) => {
        match $dtype {
            "float32" => $function::<f32>($($argument),*),
            "float16" => $function::<half::f16>($($argument),*),
            "bfloat16" => $function::<half::bf16>($($argument),*),
            other => Err($crate::cmd::conformance::case::Stop::Refused(format!("no kernel takes {other}"))),
        }
    };
}
pub(super) use for_dtype;

fn known_dtype(dtype: &Value) -> Result<&'static str> {
    const KNOWN: [&str; 6] = ["float32", "float16", "bfloat16", "int8", "int32", "int64"];
    let known = KNOWN.into_iter().find(|&known| dtype.as_str() == Some(known));
    known.with_context(|| format!("dtype {dtype} is unknown to this build"))
}

fn generate(formula: &Value, elements: usize) -> Result<Vec<f32>> {
    let fields = Fields::of(formula, "`gen`", &["offset", "scale", "shift"])?;
    let offset = fields.get("offset")?.as_u64().context("`offset` is not a count")?;
    let (scale, shift) = (fields.number("scale")?, fields.number("shift")?);
    let value = |index: usize| {
        // Wrapping to 32 bits before the product is the product modulo 2^32.
        let hash = (index as u64).wrapping_add(offset) as u32;
        ((f64::from(hash.wrapping_mul(MULTIPLIER)) / 4_294_967_296.0 - 0.5) * scale + shift) as f32
    };
    Ok((0..elements).map(value).collect())
}

fn overwrite(values: &mut [f32], patch: &Value) -> Result<()> {
    for entry in list("patch", patch)? {
        let [position, value] = list("patch", entry)? else { bail!("{entry} is not a pair") };
        let position = position.as_u64().and_then(|position| usize::try_from(position).ok());
        let slot = position.and_then(|position| values.get_mut(position));
        *slot.with_context(|| format!("there is no element {entry} to overwrite"))? = number(value)? as f32;
    }
    Ok(())
}

fn round(values: Vec<f32>, dtype: &str) -> Vec<f32> {
    match dtype {
        "float16" => values.into_iter().map(|value| f16::from_f32(value).to_f32()).collect(),
        "bfloat16" => values.into_iter().map(|value| bf16::from_f32(value).to_f32()).collect(),
        _ => values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_formula_by_hand() {
        let formula = json!({"offset": 0, "scale": 1.0, "shift": 0.0});
        let value = json!({"shape": [2], "dtype": "float32", "gen": formula});
        // 2654435761 / 2^32 - 0.5 = 0.11803398887...
        assert_eq!(Tensor::read("x", &value).unwrap().floats::<f32>().unwrap(), [-0.5, 0.118_033_99]);
        let half = json!({"shape": [2], "dtype": "float16", "gen": formula, "patch": [[0, "Infinity"]]});
        let half = Tensor::read("x", &half).unwrap().floats::<f16>().unwrap();
        assert_eq!(half, [f16::INFINITY, f16::from_f32(0.118_033_99)]);
        let large = json!({"offset": 4_294_967_297u64, "scale": 1.0, "shift": 0.0});
        assert_eq!(generate(&large, 1).unwrap(), [0.118_033_99]);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let check = |value: Value, says: &str| {
            let error = format!("{:#}", Tensor::read("x", &value).unwrap_err());
            assert!(error.contains(says), "{error}");
        };
        check(json!({"shape": [2], "dtype": "int64", "data": [1]}), "asks for 2 elements, it holds 1");
        check(json!({"shape": [-1], "dtype": "int64", "data": []}), "negative");
        check(json!({"shape": [1], "dtype": "float8", "data": [1]}), "unknown");
        check(json!({"shape": [1], "dtype": "float32"}), "neither");
        check(json!({"shape": [1], "data": [1], "seed": 1}), "`seed` that is unknown");
        check(json!({"shape": [1u64 << 40, 1u64 << 40], "data": []}), "too large");
        check(json!({"shape": [1], "gen": {"offset": 0, "scale": 1, "shift": 0}, "patch": [[1, 0]]}), "no element");
    }

    #[test]
    fn kernels_refuse_floats_for_ids_and_negative_ids() {
        let tensor = |value: Value| Tensor::read("ids", &value).unwrap();
        let refused = |tensor: &Tensor| matches!(tensor.integers::<u32>(), Err(Stop::Refused(_)));
        assert!(refused(&tensor(json!({"shape": [1], "dtype": "float32", "data": [1.0]}))));
        assert!(refused(&tensor(json!({"shape": [1], "dtype": "int64", "data": [-1]}))));
        assert!(!refused(&tensor(json!({"shape": [1], "dtype": "int32", "data": [1]}))));
    }
}
