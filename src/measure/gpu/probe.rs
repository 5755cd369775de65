//! Whether this machine has a CUDA device and a compiler for it that can be used, and if not, why.

use cudarc::driver::{CudaContext, DriverError, sys};
use cudarc::nvrtc;

use super::library;

pub use super::error::GpuError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    pub count: u64,
    /// Its model, such as `NVIDIA H200`.
    pub name: String,
    /// Its compute capability, such as `9.0`.
    pub compute_capability: String,
    /// The CUDA version of the driver, such as `13.0`.
    pub driver_cuda: String,
}

pub fn device() -> Result<DeviceInfo, GpuError> {
    // The binding panics where a function is missing, so each is looked up before it is called.
    library::driver_counts()?;
    let count = u64::try_from(guarded(CudaContext::device_count)?).unwrap_or(0);
    if count == 0 {
        return Err(GpuError::NoDevice);
    }
    library::driver_has_functions()?;
    guarded(move || {
        let context = CudaContext::new(0)?;
        let (major, minor) = context.compute_capability()?;
        let compute_capability = format!("{major}.{minor}");
        Ok(DeviceInfo { count, name: context.name()?, compute_capability, driver_cuda: driver_cuda() })
    })
}

/// Loads NVRTC, which compiles the kernels, and gives its version, such as `13.0`.
#[expect(unsafe_code, reason = "the compiler's version has no safe wrapper")]
pub fn nvrtc() -> Result<String, GpuError> {
    library::compiler_has_functions()?;
    let (mut major, mut minor) = (0_i32, 0_i32);
    // SAFETY: the function is there, and both numbers outlive the call that writes them.
    let result = unsafe { nvrtc::sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    if result == nvrtc::sys::nvrtcResult::NVRTC_SUCCESS {
        Ok(format!("{major}.{minor}"))
    } else {
        Err(GpuError::OldCompiler("nvrtcVersion"))
    }
}

/// What the driver answers. What goes beyond errors is a driver that cannot be used, too.
fn guarded<T>(ask: impl FnOnce() -> Result<T, DriverError> + std::panic::UnwindSafe) -> Result<T, GpuError> {
    match std::panic::catch_unwind(ask) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) if error.0 == sys::CUresult::CUDA_ERROR_NO_DEVICE => Err(GpuError::NoDevice),
        // The plain code: its description would need a further function of the library.
        Ok(Err(error)) => Err(GpuError::Init(format!("{:?}", error.0))),
        Err(_) => Err(GpuError::Init("the driver library could not be used".to_owned())),
    }
}

/// The CUDA that the driver speaks, such as `13.0`. There must be a driver.
#[expect(unsafe_code, reason = "the driver's version has no safe wrapper")]
pub(super) fn driver_cuda() -> String {
    let mut version = 0_i32;
    // SAFETY: the driver is initialised (a context exists) and `version` outlives the call that writes it.
    let result = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    if result == sys::CUresult::CUDA_SUCCESS {
        format!("{}.{}", version / 1000, version % 1000 / 10)
    } else {
        "unknown".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_device_gives_a_reason() {
        match device() {
            Ok(device) => assert!(!device.name.is_empty() && device.compute_capability.contains('.')),
            Err(error) => {
                let text = error.to_string();
                assert!(text.starts_with("cuda_") && text.contains(": "), "{text}");
            }
        }
        match nvrtc() {
            Ok(version) => assert!(version.contains('.'), "{version}"),
            Err(error) => assert!(error.to_string().starts_with("nvrtc_"), "{error}"),
        }
    }
}
