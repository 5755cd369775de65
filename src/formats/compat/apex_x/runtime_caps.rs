//! The block `runtime_caps` of the seed's reports: what a machine can run.
//!
//! Python's packages and Triton have no part in it, so the block says that they are not used, installed or not.

use serde_json::{Value, json};

/// Why Triton and the Python package of TensorRT are said to be unavailable.
const NOT_USED: &str = "not_used_by_sprag";

/// The 8-bit element type of our kernels, as the seed calls it.
const FP8: &str = "float8_e4m3fn";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaDevice {
    pub count: u64,
    pub name: String,
    /// Its compute capability, such as `9.0`.
    pub compute_capability: Option<String>,
}

/// Whether kernels with 8-bit elements can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fp8 {
    NotUsed,
    Available,
    Unavailable(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeCaps {
    /// The device, or why there is none.
    pub cuda: Result<CudaDevice, String>,
    /// Whether kernels with 8-bit elements can run.
    pub fp8: Fp8,
    /// Whether what the suite needs beside the driver is there. The seed asks for Triton or TensorRT here; ours is the
    /// compiler of our kernels, or `trtexec`.
    pub has_runtime: bool,
}

impl RuntimeCaps {
    /// The block, its keys in the order of the seed.
    pub fn to_json(&self) -> Value {
        let device = self.cuda.as_ref().ok();
        json!({
            "cuda": {
                "available": device.is_some(),
                "device_count": device.map_or(0, |device| device.count),
                "device_name": device.map(|device| &device.name),
                "compute_capability": device.and_then(|device| device.compute_capability.as_ref()),
                "reason": self.cuda.as_ref().err(),
            },
            "triton": {"available": false, "version": null, "reason": NOT_USED},
            "tensorrt": {
                "python_available": false,
                "python_version": null,
                "python_reason": NOT_USED,
                "headers_available": false,
                "header_path": null,
                "int8_available": false,
                "int8_reason": NOT_USED,
            },
            "fp8": self.fp8.to_json(),
            "any_gpu_runtime": device.is_some() && self.has_runtime,
        })
    }
}

impl Fp8 {
    fn to_json(&self) -> Value {
        let (is_known, reason) = match self {
            Fp8::NotUsed => (false, Some(NOT_USED)),
            Fp8::Available => (true, None),
            Fp8::Unavailable(reason) => (true, Some(reason.as_str())),
        };
        let supported: &[&str] = if is_known { &[FP8] } else { &[] };
        json!({
            "available": reason.is_none(),
            "dtype_available": is_known,
            "supported_dtypes": supported,
            "reason": reason,
        })
    }
}
