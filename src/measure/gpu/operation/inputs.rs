//! What the inputs of a program hold, as read back from the device, and what its outputs must come to.

use half::{bf16, f16};
use sprag_kernels::element::{E4m3, Element};

/// The bytes of the input buffers of a program, by place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostInputs {
    buffers: Vec<Vec<u8>>,
}

/// What an output buffer must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub buffer: usize,
    /// Its values, widened to `f32`.
    pub values: Vec<f32>,
    /// How far from them the device may be, absolute and relative: `|got - expected| <= tolerance * (1 + |expected|)`.
    pub tolerance: f64,
}

/// An element type as it lies in the memory of a device.
pub trait Stored: Element {
    const BYTES: usize;
    /// The element of these bytes, as many as an element has.
    fn from_bytes(bytes: &[u8]) -> Self;
}

/// Runs an expression with a type parameter that stands for the element type of a [`Dtype`](super::super::program::Dtype).
macro_rules! with_element {
    ($dtype:expr, $name:ident => $body:expr) => {
        match $dtype {
            $crate::gpu::program::Dtype::F32 => {
                type $name = f32;
                $body
            }
            $crate::gpu::program::Dtype::F16 => {
                type $name = half::f16;
                $body
            }
            $crate::gpu::program::Dtype::Bf16 => {
                type $name = half::bf16;
                $body
            }
            $crate::gpu::program::Dtype::E4m3 => {
                type $name = sprag_kernels::element::E4m3;
                $body
            }
        }
    };
}

pub(in crate::gpu) use with_element;

impl HostInputs {
    /// The bytes of each input buffer.
    pub fn new(buffers: Vec<Vec<u8>>) -> Self {
        HostInputs { buffers }
    }

    pub fn elements<T: Stored>(&self, place: usize) -> Result<Vec<T>, String> {
        self.values(place, T::BYTES, T::from_bytes)
    }

    /// The 32-bit floats of a buffer.
    pub fn floats(&self, place: usize) -> Result<Vec<f32>, String> {
        self.elements(place)
    }

    /// The 32-bit integers of a buffer.
    pub fn integers(&self, place: usize) -> Result<Vec<i32>, String> {
        let integer = |bytes: &[u8]| i32::from_le_bytes(bytes.try_into().expect("four bytes were asked for"));
        self.values(place, 4, integer)
    }

    /// The integers of a buffer that are ids or places, so not negative.
    pub fn ids(&self, place: usize) -> Result<Vec<u32>, String> {
        let unsigned = |value: i32| u32::try_from(value).map_err(|_| format!("input {place} holds {value}"));
        self.integers(place)?.into_iter().map(unsigned).collect()
    }

    fn values<V>(&self, place: usize, size: usize, value: impl Fn(&[u8]) -> V) -> Result<Vec<V>, String> {
        let bytes = self.buffers.get(place).ok_or_else(|| format!("there is no input {place}"))?;
        if !bytes.len().is_multiple_of(size) {
            return Err(format!("input {place} holds {} bytes, no whole values of {size}", bytes.len()));
        }
        Ok(bytes.chunks_exact(size).map(value).collect())
    }
}

impl Expected {
    pub fn new<T: Element>(buffer: usize, values: &[T], tolerance: f64) -> Self {
        Expected { buffer, values: values.iter().map(|value| value.to_f32()).collect(), tolerance }
    }
}

impl Stored for f32 {
    const BYTES: usize = 4;

    fn from_bytes(bytes: &[u8]) -> Self {
        f32::from_le_bytes(bytes.try_into().expect("the caller gives the bytes of one element"))
    }
}

impl Stored for f16 {
    const BYTES: usize = 2;

    fn from_bytes(bytes: &[u8]) -> Self {
        f16::from_le_bytes(bytes.try_into().expect("the caller gives the bytes of one element"))
    }
}

impl Stored for bf16 {
    const BYTES: usize = 2;

    fn from_bytes(bytes: &[u8]) -> Self {
        bf16::from_le_bytes(bytes.try_into().expect("the caller gives the bytes of one element"))
    }
}

impl Stored for E4m3 {
    const BYTES: usize = 1;

    fn from_bytes(bytes: &[u8]) -> Self {
        E4m3::from_bits(bytes[0])
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::program::Dtype;
    use super::*;

    #[test]
    fn bytes_are_read_as_what_they_are() {
        let inputs = HostInputs::new(vec![vec![0x00, 0x3c, 0x00, 0xc0], vec![5, 0, 0, 0, 255, 255, 255, 255]]);
        assert_eq!(inputs.elements::<f16>(0), Ok(vec![f16::from_f32(1.0), f16::from_f32(-2.0)]));
        assert_eq!(inputs.elements::<E4m3>(0).unwrap().len(), 4);
        assert_eq!(inputs.integers(1), Ok(vec![5, -1]));
        assert_eq!(inputs.ids(1), Err("input 1 holds -1".to_owned()));
        assert_eq!(inputs.floats(2), Err("there is no input 2".to_owned()));
        let odd = HostInputs::new(vec![vec![0; 3]]);
        assert_eq!(odd.elements::<bf16>(0), Err("input 0 holds 3 bytes, no whole values of 2".to_owned()));
    }

    #[test]
    fn every_type_is_stored_in_the_bytes_it_has() {
        for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::E4m3] {
            assert_eq!(with_element!(dtype, T => T::BYTES), dtype.bytes());
        }
        let expected = Expected::new(2, &[bf16::from_f32(1.5)], 0.0);
        assert_eq!(expected, Expected { buffer: 2, values: vec![1.5], tolerance: 0.0 });
    }
}
