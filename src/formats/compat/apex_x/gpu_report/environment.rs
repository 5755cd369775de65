//! Where it was measured: the block `environment`.

use serde_json::{Value, json};

use crate::compat::apex_x::runtime_caps::{CudaDevice, Fp8, RuntimeCaps};

/// What stands where text is asked for of software that has no part in it.
const NONE: &str = "none";

#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Operating system, its release, architecture and C library, joined as Python joins them.
    pub platform: String,
    /// The device, or why there is none: one of the seed's words, such as `cuda_unavailable`.
    pub device: Result<Device, String>,
    /// The element type asked for, such as `fp16`.
    pub requested_dtype: String,
    /// The element type that ran, such as `float16`.
    pub effective_dtype: String,
    /// Why 8-bit elements that were asked for did not run.
    pub fp8_fallback_reason: Option<String>,
    /// Why no kernel with 8-bit elements can run here; `None` where one can.
    pub fp8_unavailable: Option<String>,
}

/// A CUDA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// How many there are.
    pub count: u64,
    /// The model of the one that was used.
    pub name: String,
    /// Its compute capability, such as `9.0`.
    pub compute_capability: Option<String>,
    /// Whether kernels can be compiled for it: the runtime that our kernels need beside the driver.
    pub can_compile: bool,
}

impl Environment {
    fn caps(&self) -> RuntimeCaps {
        let cuda = self.device.clone().map(|device| CudaDevice {
            count: device.count,
            name: device.name,
            compute_capability: device.compute_capability,
        });
        RuntimeCaps {
            cuda,
            fp8: self.fp8_unavailable.clone().map_or(Fp8::Available, Fp8::Unavailable),
            has_runtime: self.device.as_ref().is_ok_and(|device| device.can_compile),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let fp8_requested = self.requested_dtype == "fp8";
        json!({
            "python": NONE,
            "torch": NONE,
            "platform": self.platform,
            "device": if self.device.is_ok() { "cuda" } else { "cpu" },
            "dtype": self.effective_dtype,
            "requested_dtype": self.requested_dtype,
            "effective_dtype": self.effective_dtype,
            "fp8_requested": fp8_requested,
            "fp8_enabled": fp8_requested && self.fp8_fallback_reason.is_none(),
            "fp8_fallback_reason": self.fp8_fallback_reason,
            "runtime_caps": self.caps().to_json(),
        })
    }
}
