//! Which element type is asked for and which runs: 8-bit elements need a device that has them.

use serde::{Deserialize, Serialize};

use super::program::Dtype;

/// The first compute capability whose kernels run with 8-bit elements, as the seed has it.
const FP8_CAPABILITY: (u32, u32) = (9, 0);

/// An element type as it is asked for; whether it can run depends on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskedDtype {
    Fp16,
    /// 16-bit floating point with the range of 32.
    Bf16,
    Fp32,
    /// 8-bit floating point, where the device has it.
    Fp8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveDtype {
    pub dtype: Dtype,
    /// Why 8-bit elements that were asked for do not run.
    pub fallback_reason: Option<&'static str>,
}

impl AskedDtype {
    pub fn word(self) -> &'static str {
        match self {
            AskedDtype::Fp16 => "fp16",
            AskedDtype::Bf16 => "bf16",
            AskedDtype::Fp32 => "fp32",
            AskedDtype::Fp8 => "fp8",
        }
    }

    /// What runs on a device of that compute capability. Without a device all is 32-bit, as the seed has it on CPUs.
    pub fn effective(self, capability: Option<(u32, u32)>) -> EffectiveDtype {
        let dtype = match (self, capability) {
            (_, None) => Dtype::F32,
            (AskedDtype::Fp32, _) => Dtype::F32,
            (AskedDtype::Fp16, _) => Dtype::F16,
            (AskedDtype::Bf16, _) => Dtype::Bf16,
            (AskedDtype::Fp8, _) if fp8_unavailable(capability).is_none() => Dtype::E4m3,
            (AskedDtype::Fp8, _) => Dtype::F16,
        };
        let fallback_reason = if self == AskedDtype::Fp8 { fp8_unavailable(capability) } else { None };
        EffectiveDtype { dtype, fallback_reason }
    }
}

impl EffectiveDtype {
    /// The word of reports, such as `float16`.
    pub fn word(self) -> &'static str {
        match self.dtype {
            Dtype::F32 => "float32",
            Dtype::F16 => "float16",
            Dtype::Bf16 => "bfloat16",
            Dtype::E4m3 => "float8_e4m3fn",
        }
    }
}

/// Why kernels with 8-bit elements cannot run, in the seed's words; `None` where they can.
pub fn fp8_unavailable(capability: Option<(u32, u32)>) -> Option<&'static str> {
    match capability {
        None => Some("fp8_requires_cuda"),
        Some(capability) if capability < FP8_CAPABILITY => Some("compute_capability_below_sm90"),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_decides_which_type_runs() {
        let check = |asked: AskedDtype, capability, word: &str, reason: Option<&str>| {
            let effective = asked.effective(capability);
            assert_eq!((effective.word(), effective.fallback_reason), (word, reason), "{asked:?} {capability:?}");
        };
        check(AskedDtype::Fp16, Some((8, 0)), "float16", None);
        check(AskedDtype::Bf16, Some((9, 0)), "bfloat16", None);
        check(AskedDtype::Fp32, Some((9, 0)), "float32", None);
        check(AskedDtype::Fp8, Some((9, 0)), "float8_e4m3fn", None);
        check(AskedDtype::Fp8, Some((10, 0)), "float8_e4m3fn", None);
        check(AskedDtype::Fp8, Some((8, 9)), "float16", Some("compute_capability_below_sm90"));
        check(AskedDtype::Fp8, None, "float32", Some("fp8_requires_cuda"));
        check(AskedDtype::Fp16, None, "float32", None);
    }

    #[test]
    fn a_type_travels_by_its_word() {
        for dtype in [AskedDtype::Fp16, AskedDtype::Bf16, AskedDtype::Fp32, AskedDtype::Fp8] {
            assert_eq!(serde_json::to_value(dtype).ok(), Some(serde_json::json!(dtype.word())));
        }
    }
}
