//! The element types of maps, tiles and tokens: `f32`, `f16`, `bf16` and, on devices, `e4m3`.
//!
//! Arithmetic is done in `f32`; a kernel says at which points it rounds to the element type, always to nearest even.
//! Since `f32` carries more than twice the digits of any narrower type, one operation done in `f32` and rounded once
//! equals the same operation done in that type.

mod e4m3;

use half::{bf16, f16};

pub use e4m3::E4m3;

/// A number that kernels read and write.
pub trait Element: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The same value in `f32`; exact.
    fn to_f32(self) -> f32;
    /// The nearest value of this type, ties to even. What lies beyond its range becomes infinite, or, where the type has
    /// no infinity, its largest number.
    fn from_f32(value: f32) -> Self;
}

impl Element for f32 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        value
    }
}

impl Element for f16 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        f16::from_f32(value)
    }
}

impl Element for bf16 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        bf16::to_f32(self)
    }

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        bf16::from_f32(value)
    }
}

impl Element for E4m3 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        E4m3::to_f32(self)
    }

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        E4m3::from_f32(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds to nearest even, as IEEE 754 (binary16) and the bfloat16 format ask.
    #[test]
    fn rounding_is_to_nearest_even() {
        let check16 = |value: f32, expected: f32| assert_eq!(<f16 as Element>::from_f32(value).to_f32(), expected);
        check16(2049.0, 2048.0);
        check16(2051.0, 2052.0);
        check16(65520.0, f32::INFINITY);
        let check_b16 = |value: f32, expected: f32| assert_eq!(<bf16 as Element>::from_f32(value).to_f32(), expected);
        check_b16(257.0, 256.0);
        check_b16(259.0, 260.0);
        assert_eq!(<f32 as Element>::from_f32(0.1), 0.1);
    }
}
