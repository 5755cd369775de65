//! Finds a usable CUDA device and its compiler, or why there is none.
#![expect(unsafe_code, reason = "a library and its functions are looked up by name")]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use cudarc::driver::{self, CudaContext, DriverError, sys};
use cudarc::nvrtc;

use crate::gpu::GpuError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    pub count: u64,
    /// Its model, such as `NVIDIA H200`.
    pub name: String,
    /// Its compute capability, such as `9.0`.
    pub compute_capability: String,
    /// Of the driver, such as `13.0`.
    pub driver_cuda: String,
}

pub fn device() -> Result<DeviceInfo, GpuError> {
    // The binding panics on missing functions, so each is looked up before.
    has_driver_functions(COUNTING)?;
    let count = u64::try_from(guarded(CudaContext::device_count)?).unwrap_or(0);
    if count == 0 {
        return Err(GpuError::NoDevice);
    }
    has_driver_functions(DRIVER)?;
    guarded(move || {
        let context = CudaContext::new(0)?;
        let (major, minor) = context.compute_capability()?;
        let compute_capability = format!("{major}.{minor}");
        Ok(DeviceInfo { count, name: context.name()?, compute_capability, driver_cuda: driver_cuda() })
    })
}

/// Loads NVRTC and returns its version, such as `13.0`.
pub fn nvrtc() -> Result<String, GpuError> {
    compiler_has_functions()?;
    let (mut major, mut minor) = (0_i32, 0_i32);
    // SAFETY: the function is there, and both numbers outlive the call that writes them.
    let result = unsafe { nvrtc::sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    if result == nvrtc::sys::nvrtcResult::NVRTC_SUCCESS {
        Ok(format!("{major}.{minor}"))
    } else {
        Err(GpuError::OldCompiler("nvrtcVersion"))
    }
}

/// The driver's answer; a panic means that it cannot be used.
fn guarded<T>(ask: impl FnOnce() -> Result<T, DriverError> + std::panic::UnwindSafe) -> Result<T, GpuError> {
    match std::panic::catch_unwind(ask) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) if error.0 == sys::CUresult::CUDA_ERROR_NO_DEVICE => Err(GpuError::NoDevice),
        // The plain code: its description would need another function of the library.
        Ok(Err(error)) => Err(GpuError::Init(format!("{:?}", error.0))),
        Err(_) => Err(GpuError::Init("the driver library could not be used".to_owned())),
    }
}

/// The CUDA version of the driver, such as `13.0`. There must be a driver.
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

/// The names under which the binding loads NVRTC, newest first.
const COMPILER_FILES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11"];

const COUNTING: &str = "cuInit cuDeviceGetCount";

/// Functions for opening, feeding and timing a device. The binding panics where one is missing.
const DRIVER: &str = "\
    cuDriverGetVersion cuDeviceGet cuDeviceGetName cuDeviceGetUuid_v2 cuDeviceGetAttribute \
    cuDeviceGetDefaultMemPool cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuCtxGetCurrent \
    cuCtxSetCurrent cuMemGetInfo_v2 cuMemAllocAsync cuMemFreeAsync cuMemHostAlloc cuMemHostGetDevicePointer_v2 \
    cuMemFreeHost cuMemPoolGetAttribute cuMemPoolSetAttribute cuMemcpyHtoDAsync_v2 cuMemcpyDtoH_v2 \
    cuMemsetD8Async cuStreamCreate cuStreamDestroy_v2 cuStreamSynchronize cuStreamBeginCapture_v2 \
    cuStreamEndCapture cuGraphInstantiateWithFlags cuGraphUpload cuGraphLaunch cuGraphDestroy cuGraphExecDestroy \
    cuEventCreate cuEventRecord cuEventSynchronize cuEventElapsedTime_v2 cuEventDestroy_v2 cuModuleLoadDataEx \
    cuModuleUnload cuModuleGetFunction cuFuncGetAttribute cuFuncSetAttribute cuLaunchKernel";

/// Functions that newer drivers have, CUDA 12.4.
const PARAMETERS: &str = "cuFuncGetParamInfo";

const COMPILER: &str = "\
    nvrtcVersion nvrtcCreateProgram nvrtcCompileProgram nvrtcDestroyProgram nvrtcGetPTX nvrtcGetPTXSize \
    nvrtcGetCUBIN nvrtcGetCUBINSize nvrtcGetProgramLog nvrtcGetProgramLogSize nvrtcGetNumSupportedArchs \
    nvrtcGetSupportedArchs";

fn has_driver_functions(names: &'static str) -> Result<(), GpuError> {
    // SAFETY: both calls load libcuda, whose initialisers are safe to run at any time; `culib` does not panic where the
    // library is present.
    let library = unsafe {
        if !driver::sys::is_culib_present() {
            return Err(GpuError::NoDriver);
        }
        driver::sys::culib()
    };
    missing(library, names).map_or(Ok(()), |name| Err(GpuError::OldDriver(name)))
}

/// Whether the driver can describe the parameters of a kernel. There must be a driver.
pub(super) fn describes_parameters() -> bool {
    has_driver_functions(PARAMETERS).is_ok()
}

/// Loads NVRTC from where the loader finds it, else from usual places, and looks up its functions.
pub(super) fn compiler_has_functions() -> Result<(), GpuError> {
    // SAFETY: the calls load NVRTC, whose initialisers are safe to run at any time; `culib` does not panic where the library
    // is present.
    let library = unsafe {
        if !nvrtc::sys::is_culib_present() {
            let places = compiler_places(&|name| std::env::var_os(name));
            let loaded = places.iter().find_map(|path| libloading::Library::new(path).ok());
            // Now the loader finds it by its name until the process ends.
            std::mem::forget(loaded);
            if !nvrtc::sys::is_culib_present() {
                return Err(GpuError::NoCompiler);
            }
        }
        nvrtc::sys::culib()
    };
    missing(library, COMPILER).map_or(Ok(()), |name| Err(GpuError::OldCompiler(name)))
}

fn missing(library: &libloading::Library, names: &'static str) -> Option<&'static str> {
    // SAFETY: what is looked up is not called.
    names.split_whitespace().find(|name| unsafe { library.get::<*const ()>(name.as_bytes()) }.is_err())
}

/// The folders with headers of CUDA, such as `cuda_fp16.h`.
pub fn header_folders() -> Vec<PathBuf> {
    let folders = library_folders(&|name| std::env::var_os(name));
    let headers = folders.iter().filter_map(|folder| Some(folder.parent()?.join("include")));
    let mut folders: Vec<PathBuf> = headers.filter(|folder| folder.join("cuda_fp16.h").is_file()).collect();
    folders.dedup();
    folders
}

/// Existing files of NVRTC in the folders of toolkits, wheels and conda, in that order.
fn compiler_places(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let folders = library_folders(variable);
    let files = folders.iter().flat_map(|folder| COMPILER_FILES.map(|file| folder.join(file)));
    files.filter(|file| file.is_file()).collect()
}

fn library_folders(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut toolkits: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(folder).collect();
    toolkits.push(PathBuf::from("/usr/local/cuda"));
    toolkits.extend(entries(Path::new("/usr/local"), "cuda-"));
    let mut folders: Vec<PathBuf> =
        toolkits.iter().flat_map(|toolkit| [toolkit.join("lib64"), toolkit.join("lib")]).collect();

    let environments: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(folder).collect();
    folders.extend(environments.iter().map(|environment| environment.join("lib")));
    let mut homes = environments;
    homes.extend(folder("HOME").map(|home| home.join(".local")));
    homes.extend(["/usr/local", "/usr"].map(PathBuf::from));
    for python in homes.iter().flat_map(|home| entries(&home.join("lib"), "python3")) {
        for packages in ["site-packages", "dist-packages"] {
            let wheels = entries(&python.join(packages).join("nvidia"), "");
            folders.extend(wheels.iter().map(|wheel| wheel.join("lib")));
        }
    }
    folders
}

/// The entries whose names start so, in descending order: newest versions mostly first.
fn entries(folder: &Path, start: &str) -> Vec<PathBuf> {
    let Ok(list) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = list.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)));
    paths.sort_unstable();
    paths.reverse();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_located_in_toolkits_and_wheels() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = [
            "toolkit/lib64/libnvrtc.so.12",
            "env/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            "env/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
            "env/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.alt.so.13",
            "conda/lib/libnvrtc.so.13",
        ];
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder");
            fs::write(path, "").expect("a file");
        }
        let check = |variables: &[(&str, &str)], expected: &[&str]| {
            let value =
                |name: &str| variables.iter().find(|(one, _)| *one == name).map(|(_, path)| folder.path().join(path));
            let places = compiler_places(&|name| value(name).map(PathBuf::into_os_string));
            let places = places.iter().filter_map(|path| path.strip_prefix(folder.path()).ok()?.to_str());
            assert_eq!(places.collect::<Vec<_>>(), expected, "{variables:?}");
        };
        check(&[], &[]);
        check(&[("CUDA_HOME", "nowhere"), ("CUDA_PATH", "toolkit")], &files[..1]);
        check(&[("VIRTUAL_ENV", "env")], &[files[1], files[2]]);
        check(
            &[("CONDA_PREFIX", "conda"), ("VIRTUAL_ENV", "env"), ("CUDA_HOME", "toolkit")],
            &[files[0], files[4], files[1], files[2]],
        );
    }

    #[test]
    fn every_function_is_listed_once() {
        let all: Vec<&str> = [COUNTING, DRIVER, COMPILER].into_iter().flat_map(str::split_whitespace).collect();
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
    }

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
