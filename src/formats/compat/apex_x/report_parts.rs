//! What several reports of Apex-X have in common: the figures of single calls, and the block `runtime_caps`.

use serde_json::{Value, json};

use sprag_base::stats::describe;

/// Figures of single calls of one kernel, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallSummary {
    /// The median; of an even count the mean of the middle two.
    pub p50: f64,
    /// The 95th percentile, by Apex-X's formula: the order statistic at the floor of `0.95 * (n - 1)`.
    pub p95: f64,
}

impl CallSummary {
    /// `None` for no calls, or one whose time is not finite.
    pub fn from_calls(milliseconds: &[f64]) -> Option<CallSummary> {
        if milliseconds.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = milliseconds.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let upper = *sorted.get(sorted.len() / 2)?;
        let p50 = if sorted.len() % 2 == 1 { upper } else { (sorted[sorted.len() / 2 - 1] + upper) / 2.0 };
        Some(CallSummary { p50, p95: describe::floor_quantile(milliseconds, 0.95)? })
    }

    /// The work in a second at the median, where a call does `work`; `None` where the median is zero.
    pub fn throughput(self, work: f64) -> Option<f64> {
        (self.p50 > 0.0).then(|| work / (self.p50 / 1000.0))
    }
}

/// Why Triton and the Python package of TensorRT are unavailable, installed or not.
const NOT_USED: &str = "not_used_by_sprag";

/// The 8-bit element type of our kernels, as Apex-X calls it.
const FP8: &str = "float8_e4m3fn";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaDevice {
    pub count: u64,
    /// The model of the one that was used.
    pub name: String,
    /// Such as `9.0`.
    pub compute_capability: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fp8 {
    NotUsed,
    Available,
    Unavailable(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeCaps {
    /// Or why there is none, such as `cuda_unavailable`.
    pub cuda: Result<CudaDevice, String>,
    pub fp8: Fp8,
    /// Whether the compiler of our kernels, or `trtexec`, is there; Apex-X asks for Triton or TensorRT.
    pub has_runtime: bool,
}

impl RuntimeCaps {
    /// With the keys in the order of Apex-X.
    pub fn to_json(&self) -> Value {
        let device = self.cuda.as_ref().ok();
        let (is_used, fp8_reason) = match &self.fp8 {
            Fp8::NotUsed => (false, Some(NOT_USED)),
            Fp8::Available => (true, None),
            Fp8::Unavailable(reason) => (true, Some(reason.as_str())),
        };
        let supported: &[&str] = if is_used { &[FP8] } else { &[] };
        json!({
            "cuda": {
                "available": device.is_some(),
                "device_count": device.map_or(0, |device| device.count),
                "device_name": device.map(|device| &device.name),
                "compute_capability": device.map(|device| &device.compute_capability),
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
            "fp8": {
                "available": fp8_reason.is_none(),
                "dtype_available": is_used,
                "supported_dtypes": supported,
                "reason": fp8_reason,
            },
            "any_gpu_runtime": device.is_some() && self.has_runtime,
        })
    }
}
