//! Where it was measured: the block `environment`.

use serde_json::{Value, json};

/// What stands where text is asked for of software that has no part in it.
const NONE: &str = "none";

/// Why Triton and the Python package of TensorRT are said to be unavailable, installed or not.
const NOT_USED: &str = "not_used_by_sprag";

/// The seed's name of the only 8-bit type that our kernels know.
const FP8: &str = "float8_e4m3fn";

/// Where it was measured.
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
    pub(super) fn to_json(&self) -> Value {
        let device = self.device.as_ref().ok();
        let fp8_requested = self.requested_dtype == "fp8";
        json!({
            "python": NONE,
            "torch": NONE,
            "platform": self.platform,
            "device": if device.is_some() { "cuda" } else { "cpu" },
            "dtype": self.effective_dtype,
            "requested_dtype": self.requested_dtype,
            "effective_dtype": self.effective_dtype,
            "fp8_requested": fp8_requested,
            "fp8_enabled": fp8_requested && self.fp8_fallback_reason.is_none(),
            "fp8_fallback_reason": self.fp8_fallback_reason,
            "runtime_caps": {
                "cuda": {
                    "available": device.is_some(),
                    "device_count": device.map_or(0, |device| device.count),
                    "device_name": device.map(|device| &device.name),
                    "compute_capability": device.and_then(|device| device.compute_capability.as_ref()),
                    "reason": self.device.as_ref().err(),
                },
                "triton": { "available": false, "version": null, "reason": NOT_USED },
                "tensorrt": {
                    "python_available": false,
                    "python_version": null,
                    "python_reason": NOT_USED,
                    "headers_available": false,
                    "header_path": null,
                    "int8_available": false,
                    "int8_reason": NOT_USED,
                },
                "fp8": {
                    "available": self.fp8_unavailable.is_none(),
                    "dtype_available": true,
                    "supported_dtypes": [FP8],
                    "reason": self.fp8_unavailable,
                },
                // The seed asks for Triton or TensorRT here; ours is the compiler of our kernels.
                "any_gpu_runtime": device.is_some_and(|device| device.can_compile),
            },
        })
    }
}
