//! The element types of maps, tiles and tokens: `f32`, `f16`, `bf16` and, on devices, `e4m3`.
//!
//! Arithmetic is done in `f32`; a kernel says at which points it rounds to the element type, always to nearest even.
//! Since `f32` carries more than twice the digits of any narrower type, one operation done in `f32` and rounded once
//! equals the same operation done in that type.

use half::{bf16, f16};

/// A number that kernels read and write.
pub trait Element: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    fn to_f32(self) -> f32;
    /// The nearest value, ties to even. Beyond the range it is infinite, or the largest number of a type without infinity.
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

/// An 8-bit floating-point number with four bits of exponent and three of mantissa, without infinities.
#[derive(Clone, Copy, Debug, Default)]
pub struct E4m3(u8);

/// All bits but the sign.
const NAN: u8 = 0x7f;

/// 448 as E4M3 and as binary32.
const LARGEST: u8 = 0x7e;
const LARGEST_WIDE: u32 = 0x43e0_0000;

/// 2^-6, as binary32.
const SMALLEST_NORMAL: u32 = 0x3c80_0000;

/// Mantissa bits that binary32 has more than E4M3.
const DROPPED_BITS: u32 = 20;

/// The difference of the biases, 127 - 7, in the exponent field of binary32, and as a factor, 2^120.
const BIAS: u32 = 120 << 23;
const BIAS_FACTOR: f32 = f32::from_bits((120 + 127) << 23);

/// Its last binary32 digit weighs as much as that of a subnormal E4M3, 2^-9.
const SUBNORMAL_GUIDE: f32 = 16_384.0;

impl E4m3 {
    pub fn from_bits(bits: u8) -> Self {
        E4m3(bits)
    }

    pub fn to_bits(self) -> u8 {
        self.0
    }
}

impl Element for E4m3 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        let magnitude = self.0 & NAN;
        let wide = f32::from_bits(u32::from(magnitude) << DROPPED_BITS) * BIAS_FACTOR;
        let wide = if magnitude == NAN { f32::NAN } else { wide };
        wide.copysign(if self.0 > NAN { -1.0 } else { 1.0 })
    }

    /// Beyond 448, and for infinities, 448. NaN keeps its sign.
    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        let magnitude = value.abs().to_bits();
        let narrow = if value.is_nan() {
            NAN
        } else if magnitude >= LARGEST_WIDE {
            LARGEST
        } else if magnitude < SMALLEST_NORMAL {
            // The sum is rounded where a subnormal number should be.
            ((value.abs() + SUBNORMAL_GUIDE).to_bits() - SUBNORMAL_GUIDE.to_bits()) as u8
        } else {
            let half = (1 << (DROPPED_BITS - 1)) - 1;
            let odd = magnitude >> DROPPED_BITS & 1;
            ((magnitude - BIAS + half + odd) >> DROPPED_BITS) as u8
        };
        E4m3(if value.is_sign_negative() { narrow | !NAN } else { narrow })
    }
}

impl PartialEq for E4m3 {
    /// As numbers: NaN differs from itself, and both zeros are equal.
    fn eq(&self, other: &Self) -> bool {
        self.to_f32() == other.to_f32()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_to_nearest_even() {
        let check = |value: f32, expected: f32| assert_eq!(<f16 as Element>::from_f32(value).to_f32(), expected);
        check(2049.0, 2048.0);
        check(2051.0, 2052.0);
        check(65520.0, f32::INFINITY);
        let check = |value: f32, expected: f32| assert_eq!(<bf16 as Element>::from_f32(value).to_f32(), expected);
        check(257.0, 256.0);
        check(259.0, 260.0);
        assert_eq!(<f32 as Element>::from_f32(0.1), 0.1);
    }

    fn value(bits: u8) -> f64 {
        let (exponent, mantissa) = (i32::from(bits >> 3 & 15), f64::from(bits & 7));
        let magnitude = match exponent {
            0 => mantissa / 8.0 * 2f64.powi(-6),
            _ => (1.0 + mantissa / 8.0) * 2f64.powi(exponent - 7),
        };
        if bits > 127 { -magnitude } else { magnitude }
    }

    #[test]
    fn every_number_has_its_value_and_round_trips() {
        for bits in 0..=255u8 {
            let wide = E4m3::from_bits(bits).to_f32();
            if bits & 127 == 127 {
                assert!(wide.is_nan());
            } else {
                assert_eq!(f64::from(wide), value(bits), "{bits:#x}");
            }
            assert_eq!(wide.is_sign_negative(), bits > 127);
            assert_eq!(E4m3::from_f32(wide).to_bits(), bits, "{bits:#x}");
        }
    }

    #[test]
    fn values_between_two_numbers_round_to_nearest_with_ties_to_even() {
        for bits in 0..LARGEST {
            let middle = ((value(bits) + value(bits + 1)) / 2.0) as f32;
            let even = if bits % 2 == 0 { bits } else { bits + 1 };
            let check = |wide: f32, expected: u8| {
                assert_eq!(E4m3::from_f32(wide).to_bits(), expected, "{wide:e}");
                assert_eq!(E4m3::from_f32(-wide).to_bits(), expected | 128, "-{wide:e}");
            };
            check(middle, even);
            check(middle.next_down(), bits);
            check(middle.next_up(), bits + 1);
        }
    }

    #[test]
    fn nothing_becomes_infinite_and_nan_stays() {
        let check = |wide: f32, expected: u8| assert_eq!(E4m3::from_f32(wide).to_bits(), expected, "{wide:e}");
        check(464.0, 0x7e);
        check(-1e30, 0xfe);
        check(f32::INFINITY, 0x7e);
        check(f32::NEG_INFINITY, 0xfe);
        check(f32::NAN.copysign(1.0), 0x7f);
        check(f32::NAN.copysign(-1.0), 0xff);
        check(1e-30, 0);
        check(-0.0, 0x80);
        assert_eq!(E4m3::from_bits(0x80), E4m3::from_bits(0));
        assert_ne!(E4m3::from_bits(0x7f), E4m3::from_bits(0x7f));
    }
}
