//! Whether this machine has a CUDA device that can be used, and if not, why.

use cudarc::driver::{CudaContext, DriverError, sys};

/// The first CUDA device of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its model, such as `NVIDIA H200`.
    pub name: String,
    /// Its compute capability, such as `9.0`.
    pub compute_capability: String,
    /// The CUDA version of the driver, such as `13.0`.
    pub driver_cuda: String,
}

/// Why there is no usable device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// The driver's library is not installed.
    #[error("cuda_driver_not_found: no CUDA driver library (libcuda) on this machine")]
    NoDriver,
    /// The driver lacks a function that we need.
    #[error("cuda_driver_too_old: the CUDA driver library has no `{0}`")]
    OldDriver(&'static str),
    /// The driver finds no device.
    #[error("cuda_no_device: the CUDA driver finds no device")]
    NoDevice,
    /// The driver refused.
    #[error("cuda_init_failed: {0}")]
    Init(String),
}

/// Functions of the driver that timing needs; a driver without them cannot be used.
const NEEDED: [&str; 3] = ["cuInit", "cuDevicePrimaryCtxRetain", "cuEventElapsedTime_v2"];

/// Finds the first device.
///
/// # Errors
/// The reason why a GPU suite is skipped here, beginning with a code that programs can read.
pub fn device() -> Result<Device, GpuError> {
    check_library()?;
    // The library wrapper panics where a function is missing. Those we know of are checked above; this catches the rest.
    let found = std::panic::catch_unwind(|| -> Result<Option<Device>, DriverError> {
        if CudaContext::device_count()? == 0 {
            return Ok(None);
        }
        let context = CudaContext::new(0)?;
        let (major, minor) = context.compute_capability()?;
        Ok(Some(Device {
            name: context.name()?,
            compute_capability: format!("{major}.{minor}"),
            driver_cuda: driver_cuda(),
        }))
    });
    match found {
        Ok(Ok(Some(device))) => Ok(device),
        Ok(Ok(None)) => Err(GpuError::NoDevice),
        Ok(Err(error)) if error.0 == sys::CUresult::CUDA_ERROR_NO_DEVICE => Err(GpuError::NoDevice),
        // The plain code: its description would need a further function of the library.
        Ok(Err(error)) => Err(GpuError::Init(format!("{:?}", error.0))),
        Err(_) => Err(GpuError::Init("the driver library could not be used".to_owned())),
    }
}

#[expect(unsafe_code, reason = "asking whether a shared library and its functions are there means loading it")]
fn check_library() -> Result<(), GpuError> {
    // SAFETY: both calls load libcuda, whose initialisers are the driver's own and safe to run at any time; `culib` is
    // reached only where the library is present, so it does not panic. The looked-up symbol is not called.
    unsafe {
        if !sys::is_culib_present() {
            return Err(GpuError::NoDriver);
        }
        let library = sys::culib();
        for name in NEEDED {
            if library.get::<*const ()>(name.as_bytes()).is_err() {
                return Err(GpuError::OldDriver(name));
            }
        }
    }
    Ok(())
}

#[expect(unsafe_code, reason = "the driver's version has no safe wrapper")]
fn driver_cuda() -> String {
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
    }
}
