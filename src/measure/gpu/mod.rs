//! The GPU, which is looked up at run time: a missing driver or device is a reason, never a panic.

pub mod probe;
pub mod settings;
pub mod program;
pub mod operation;
pub mod driver;
pub mod device;
pub mod instance;
pub mod timer;
pub mod throttle;
pub mod nvml;
pub mod facts;
pub mod parity;
pub mod suite;
pub mod survey;
pub mod custom;

use crate::parity::difference;

/// Errors after which every further call of the process gives the same one (CUDA driver API, `CUresult`: "this leaves
/// the process in an inconsistent state and any further CUDA work will return the same error").
const LASTING: [&str; 14] = [
    "CUDA_ERROR_ECC_UNCORRECTABLE", "CUDA_ERROR_NVLINK_UNCORRECTABLE", "CUDA_ERROR_CONTAINED",
    "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_LAUNCH_TIMEOUT", "CUDA_ERROR_CONTEXT_IS_DESTROYED", "CUDA_ERROR_ASSERT",
    "CUDA_ERROR_HARDWARE_STACK_ERROR", "CUDA_ERROR_ILLEGAL_INSTRUCTION", "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE", "CUDA_ERROR_INVALID_PC", "CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_UNKNOWN",
];

/// Why there is no usable device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    #[error("cuda_driver_not_found: no CUDA driver library (libcuda) on this machine")]
    NoDriver,
    #[error("cuda_driver_too_old: the CUDA driver library has no `{0}`")]
    OldDriver(&'static str),
    #[error("cuda_no_device: the CUDA driver finds no device")]
    NoDevice,
    #[error("cuda_init_failed: {0}")]
    Init(String),
    #[error("nvrtc_not_found: no CUDA compiler library (libnvrtc) on this machine")]
    NoCompiler,
    #[error("nvrtc_too_old: the CUDA compiler library has no `{0}`")]
    OldCompiler(&'static str),
}

/// Why something could not be done on the device.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeviceError {
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error("cuda_call_failed: {what} gave {code}")]
    Driver { what: &'static str, code: String },
    #[error("cuda_driver_too_old: it supports CUDA {driver} and cannot load what NVRTC {nvrtc} compiles")]
    NewCompiler { driver: String, nvrtc: String },
    #[error("insufficient_memory: {needed} bytes are needed at once, {free} are free on the device")]
    Memory {
        /// Bytes of the buffer that could not be had.
        needed: usize,
        free: usize,
    },
    #[error("nvrtc_compile_failed: {file}: {log}")]
    Compile { file: String, log: String },
    #[error("kernel_not_found: `{file}` has no kernel `{entry}`{listed}")]
    Entry {
        file: String,
        entry: String,
        /// The kernels of the file, as the end of a sentence.
        listed: String,
    },
    #[error("kernel_not_loaded: `{file}` for sm_{architecture}: {code}")]
    Image { file: String, architecture: u32, code: String },
    /// A launch that the device or the kernel does not allow.
    #[error("launch_refused: {0}")]
    Launch(String),
    #[error("nvrtc_failed: {0}")]
    Compiler(String),
    /// A kernel computes something else than its reference.
    #[error("parity: the result at {shape} {}", difference(*.error))]
    Wrong {
        shape: String,
        /// By how much; absent where parts of it are not numbers.
        error: Option<f64>,
    },
    /// A kernel of the user computes something else than its reference, or writes where it may not.
    #[error("parity: {0}")]
    Parity(String),
    #[error("reference_failed: {0}")]
    Reference(String),
    /// The description of a kernel of the user, or a file of it, is wrong.
    #[error("{0}")]
    Custom(String),
    #[error("the program is wrong: {0}")]
    Program(String),
}

impl DeviceError {
    pub fn is(&self, wanted: &str) -> bool {
        // What the driver said about it may follow the code.
        matches!(self, DeviceError::Driver { code, .. } if code.split(' ').next() == Some(wanted))
    }

    /// Whether every further call of this process on the device will fail.
    pub fn lasts(&self) -> bool {
        LASTING.iter().any(|code| self.is(code))
    }

    /// The text of the error.
    ///
    /// # Panics
    /// After an error that lasts: the process ends, so that its benchmark is to blame and another process measures the rest.
    pub fn reason(&self) -> String {
        assert!(!self.lasts(), "{self}");
        self.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lasting_error_ends_the_process() {
        let check = |code: &str, lasts: bool| {
            let error = DeviceError::Driver { what: "cuEventSynchronize", code: code.to_owned() };
            assert_eq!(std::panic::catch_unwind(|| error.reason()).is_err(), lasts, "{code}");
        };
        check("CUDA_ERROR_ILLEGAL_ADDRESS", true);
        check("CUDA_ERROR_LAUNCH_FAILED", true);
        check("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", false);
        check("CUDA_ERROR_INVALID_VALUE", false);
        let little = DeviceError::Memory { needed: 2, free: 1 };
        assert!(little.reason().starts_with("insufficient_memory: 2 bytes"));
    }
}
