//! Numbers of every element type, as bytes and as arrays of NumPy.

use half::{bf16, f16};

use crate::gpu::program::Data;
use sprag_formats::npy::Array;
use sprag_kernels::element::{E4m3, Element as _};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Integer(i128),
    Float(f64),
}

/// Numbers of one type, as bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    pub data: Data,
    pub bytes: Vec<u8>,
}

impl Number {
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// How far two numbers are from each other: exactly where both are integers, 0 for equal infinities.
    pub fn distance(self, other: Number) -> f64 {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => (a - b).unsigned_abs() as f64,
            (a, b) if a.as_f64() == b.as_f64() => 0.0,
            (a, b) => (a.as_f64() - b.as_f64()).abs(),
        }
    }
}

impl Data {
    pub fn is_integer(self) -> bool {
        self != Data::F64 && self.dtype().is_none()
    }

    /// How NumPy saves it. It has no small types with other exponents, which are saved as 32 bits.
    fn npy_kind(self) -> &'static str {
        match self {
            Data::F32 | Data::Bf16 | Data::E4m3 => "f4",
            Data::F16 => "f2",
            Data::F64 => "f8",
            Data::I8 => "i1",
            Data::I16 => "i2",
            Data::I32 => "i4",
            Data::I64 => "i8",
            Data::U8 => "u1",
            Data::U16 => "u2",
            Data::U32 => "u4",
            Data::U64 => "u8",
        }
    }

    fn of_npy_kind(kind: &str) -> Option<Data> {
        let kind = if kind == "b1" { "u1" } else { kind };
        Data::ALL.into_iter().find(|data| data.npy_kind() == kind)
    }
}

pub fn decode(data: Data, bytes: &[u8]) -> impl ExactSizeIterator<Item = Number> {
    bytes.chunks_exact(data.bytes()).map(move |bytes| number(data, bytes))
}

fn number(data: Data, bytes: &[u8]) -> Number {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let word = u64::from_le_bytes(word);
    match data {
        Data::F32 => Number::Float(f64::from(f32::from_bits(word as u32))),
        Data::F64 => Number::Float(f64::from_bits(word)),
        Data::F16 => Number::Float(f16::from_bits(word as u16).to_f64()),
        Data::Bf16 => Number::Float(bf16::from_bits(word as u16).to_f64()),
        Data::E4m3 => Number::Float(f64::from(E4m3::from_bits(word as u8).to_f32())),
        Data::I8 => Number::Integer(i128::from(word as u8 as i8)),
        Data::I16 => Number::Integer(i128::from(word as u16 as i16)),
        Data::I32 => Number::Integer(i128::from(word as u32 as i32)),
        Data::I64 => Number::Integer(i128::from(word as i64)),
        Data::U8 | Data::U16 | Data::U32 | Data::U64 => Number::Integer(i128::from(word)),
    }
}

/// The bits in the low bytes; `None` where an integer does not fit.
pub fn bits(data: Data, number: Number) -> Option<u64> {
    let float = number.as_f64();
    let integer = match number {
        Number::Integer(value) => value,
        Number::Float(value) => value as i128,
    };
    Some(match data {
        Data::F32 => u64::from((float as f32).to_bits()),
        Data::F64 => float.to_bits(),
        Data::F16 => u64::from(f16::from_f64(float).to_bits()),
        Data::Bf16 => u64::from(bf16::from_f64(float).to_bits()),
        Data::E4m3 => u64::from(E4m3::from_f32(float as f32).to_bits()),
        Data::I8 => u64::from(i8::try_from(integer).ok()?.cast_unsigned()),
        Data::I16 => u64::from(i16::try_from(integer).ok()?.cast_unsigned()),
        Data::I32 => u64::from(i32::try_from(integer).ok()?.cast_unsigned()),
        Data::I64 => i64::try_from(integer).ok()?.cast_unsigned(),
        Data::U8 => u64::from(u8::try_from(integer).ok()?),
        Data::U16 => u64::from(u16::try_from(integer).ok()?),
        Data::U32 => u64::from(u32::try_from(integer).ok()?),
        Data::U64 => u64::try_from(integer).ok()?,
    })
}

/// The bytes of these numbers; `None` where one does not fit.
pub fn encode(data: Data, numbers: impl Iterator<Item = Number>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for number in numbers {
        bytes.extend(&bits(data, number)?.to_le_bytes()[..data.bytes()]);
    }
    Some(bytes)
}

pub fn to_npy(data: Data, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
    let saved = Data::of_npy_kind(data.npy_kind()).unwrap_or(data);
    let bytes = if saved == data { Some(bytes.to_vec()) } else { encode(saved, decode(data, bytes)) };
    let bytes = bytes.unwrap_or_default();
    Array { kind: data.npy_kind().to_owned(), shape: shape.to_vec(), bytes }.write()
}

/// Reads an array of that shape whose numbers are of the same sort: its type and its bytes.
pub fn of_npy(data: Data, shape: &[u64], file: &[u8]) -> Result<(Data, Vec<u8>), String> {
    let array = Array::read(file).map_err(|error| error.to_string())?;
    if array.shape != shape {
        return Err(format!("has the shape {}, {} is needed", tuple(&array.shape), tuple(shape)));
    }
    let kind = Data::of_npy_kind(&array.kind).filter(|kind| kind.is_integer() == data.is_integer());
    let sort = if data.is_integer() { "integers" } else { "floating-point numbers" };
    let kind = kind.ok_or_else(|| format!("has elements of the type `{}`, {sort} are needed", array.type_name()))?;
    Ok((kind, array.bytes))
}

fn tuple(shape: &[u64]) -> String {
    match shape {
        [size] => format!("({size},)"),
        sizes => format!("({})", sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_type_come_back() {
        for data in Data::ALL {
            for value in [0, 1, 7, -3] {
                let number = if data.is_integer() { Number::Integer(value) } else { Number::Float(value as f64 / 2.0) };
                let is_unsigned = data.word().starts_with('u');
                let bytes = encode(data, std::iter::once(number));
                assert_eq!(bytes.is_none(), is_unsigned && value < 0, "{data:?}");
                let Some(bytes) = bytes else { continue };
                assert_eq!(bytes.len(), data.bytes(), "{data:?}");
                assert_eq!(decode(data, &bytes).collect::<Vec<_>>(), [number], "{data:?}");
                let (stored, read) = of_npy(data, &[1], &to_npy(data, &[1], &bytes)).expect("it is an array");
                assert_eq!(decode(stored, &read).collect::<Vec<_>>(), [number], "{data:?}");
            }
        }
    }

    #[test]
    fn an_array_of_another_sort_or_shape_is_refused() {
        let check = |data: Data, shape: &[u64], words: &str| {
            let file = to_npy(Data::F32, &[2, 1], &[0; 8]);
            assert_eq!(of_npy(data, shape, &file), Err(words.to_owned()));
        };
        check(Data::F32, &[2], "has the shape (2, 1), (2,) is needed");
        check(Data::I32, &[2, 1], "has elements of the type `float32`, integers are needed");
        let file = to_npy(Data::I8, &[], &[1]);
        let words = "has elements of the type `int8`, floating-point numbers are needed".to_owned();
        assert_eq!(of_npy(Data::F64, &[], &file), Err(words));
    }

    #[test]
    fn large_integers_differ() {
        let far = i128::from(u64::MAX);
        assert_eq!(Number::Integer(far).distance(Number::Integer(far - 1)), 1.0);
        assert_eq!(Number::Float(f64::INFINITY).distance(Number::Float(f64::INFINITY)), 0.0);
        assert!(Number::Float(f64::NAN).distance(Number::Float(0.0)).is_nan());
    }
}
