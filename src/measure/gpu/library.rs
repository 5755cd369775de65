//! The libraries of CUDA, found at run time. NVRTC is no part of the driver: it comes with the toolkit or in a Python
//! wheel, mostly in folders that the loader does not search.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use cudarc::{driver, nvrtc};

use super::error::GpuError;

/// The names under which the binding asks for NVRTC, newest first.
const COMPILER_FILES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11"];

const COUNTING: [&str; 2] = ["cuInit", "cuDeviceGetCount"];

/// Functions that a device is opened, fed, timed and asked with. The binding panics where one is missing.
const DRIVER: [&str; 41] = [
    "cuDriverGetVersion",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDeviceGetAttribute",
    "cuDeviceGetDefaultMemPool",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuMemGetInfo_v2",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2",
    "cuMemFreeHost",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAttribute",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoH_v2",
    "cuMemsetD8Async",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphUpload",
    "cuGraphLaunch",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime_v2",
    "cuEventDestroy_v2",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
];

const COMPILER: [&str; 12] = [
    "nvrtcVersion",
    "nvrtcCreateProgram",
    "nvrtcCompileProgram",
    "nvrtcDestroyProgram",
    "nvrtcGetPTX",
    "nvrtcGetPTXSize",
    "nvrtcGetCUBIN",
    "nvrtcGetCUBINSize",
    "nvrtcGetProgramLog",
    "nvrtcGetProgramLogSize",
    "nvrtcGetNumSupportedArchs",
    "nvrtcGetSupportedArchs",
];

/// Loads the driver's library and sees whether it can count devices.
pub(super) fn driver_counts() -> Result<(), GpuError> {
    has_driver_functions(&COUNTING)
}

/// Sees whether the driver's library has all that measuring needs.
pub(super) fn driver_has_functions() -> Result<(), GpuError> {
    has_driver_functions(&DRIVER)
}

#[expect(unsafe_code, reason = "asking whether a shared library and its functions are there means loading it")]
fn has_driver_functions(names: &[&'static str]) -> Result<(), GpuError> {
    // SAFETY: both calls load libcuda, whose initialisers are the driver's own and safe to run at any time; `culib` is
    // reached only where the library is present, so it does not panic.
    let library = unsafe {
        if !driver::sys::is_culib_present() {
            return Err(GpuError::NoDriver);
        }
        driver::sys::culib()
    };
    missing(library, names).map_or(Ok(()), |name| Err(GpuError::OldDriver(name)))
}

/// Loads NVRTC, from where the loader finds it, else from where it is usually installed, and sees whether it is whole.
#[expect(unsafe_code, reason = "asking whether a shared library and its functions are there means loading it")]
pub(super) fn compiler_has_functions() -> Result<(), GpuError> {
    // SAFETY: the calls load NVRTC, whose initialisers are safe to run at any time; `culib` is reached only where the
    // library is present, so it does not panic.
    let library = unsafe {
        if !nvrtc::sys::is_culib_present() {
            let places = compiler_places(&|name| std::env::var_os(name));
            let loaded = places.iter().find_map(|path| libloading::Library::new(path).ok());
            // From here on the loader finds it by its name; it stays until the process ends.
            std::mem::forget(loaded);
            if !nvrtc::sys::is_culib_present() {
                return Err(GpuError::NoCompiler);
            }
        }
        nvrtc::sys::culib()
    };
    missing(library, &COMPILER).map_or(Ok(()), |name| Err(GpuError::OldCompiler(name)))
}

/// The first of the functions that a library lacks.
#[expect(unsafe_code, reason = "a function is looked up by its name")]
fn missing(library: &libloading::Library, names: &[&'static str]) -> Option<&'static str> {
    // SAFETY: what is looked up is not called.
    names.iter().copied().find(|name| unsafe { library.get::<*const ()>(name.as_bytes()) }.is_err())
}

/// The files of NVRTC that are there, of the folders where toolkits, wheels and conda put them, in that order.
fn compiler_places(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
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
    let files = folders.iter().flat_map(|folder| COMPILER_FILES.map(|file| folder.join(file)));
    files.filter(|file| file.is_file()).collect()
}

/// What a folder holds whose name begins so, the highest name first, which mostly is the newest version.
fn entries(folder: &Path, start: &str) -> Vec<PathBuf> {
    let Ok(list) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = list.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)));
    found.sort_unstable();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_found_where_toolkits_and_wheels_put_it() {
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
            let found = compiler_places(&|name| value(name).map(PathBuf::into_os_string));
            let found = found.iter().filter_map(|path| path.strip_prefix(folder.path()).ok()?.to_str());
            assert_eq!(found.collect::<Vec<_>>(), expected, "{variables:?}");
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
    fn the_names_are_listed_once() {
        let all: Vec<&str> = COUNTING.iter().chain(&DRIVER).chain(&COMPILER).copied().collect();
        let distinct: std::collections::BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
