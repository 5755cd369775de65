//! The device of this process: opened once, with its compiler, compiled modules, and buffers that kernels share.
#![expect(unsafe_code, reason = "the compiler's functions take handles and write through pointers")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::nvrtc::{result, sys};
use rayon::prelude::*;

use crate::gpu::custom::number::Numbers;
use crate::gpu::custom::source::{SourceFile, is_image};
use crate::gpu::driver::{DeviceBuffer, Function, Module, Primary};
use crate::gpu::program::{CudaCode, CudaKernel};
use crate::gpu::throttle::Watch;
use crate::gpu::{DeviceError, operation, probe};
use sprag_base::digest;
use sprag_base::files::write_cache;
use sprag_model::Parity;

pub struct Device {
    pub context: Rc<Primary>,
    pub architecture: Architecture,
    pub cache_bytes: usize,
    /// The most bytes of shared memory of a block that asks for them.
    pub most_shared: u32,
    compiler: Compiler,
    modules: RefCell<BTreeMap<Unit, Rc<Module>>>,
    shared: RefCell<BTreeMap<String, Weak<DeviceBuffer>>>,
    checked: RefCell<BTreeMap<String, CheckResult>>,
    expected: RefCell<BTreeMap<String, Rc<Vec<Numbers>>>>,
    watch: RefCell<Option<Rc<Watch>>>,
}

/// Results of references that stay in memory together.
const MOST_EXPECTED_BYTES: usize = 256 << 20;

pub type CheckResult = (Parity, Option<String>);

type Unit = (CudaCode, Vec<String>);

struct Compiler {
    version: String,
    architectures: Vec<Architecture>,
    folder: Option<PathBuf>,
}

thread_local! {
    /// The open device of this thread. A worker is one thread.
    static DEVICE: RefCell<Option<Rc<Device>>> = const { RefCell::new(None) };
}

impl Device {
    /// The device of this thread, opened at the first call. Compiled kernels are stored in `folder`.
    pub fn of_this_thread(folder: Option<&Path>) -> Result<Rc<Device>, DeviceError> {
        DEVICE.with(|device| {
            if let Some(open) = device.borrow().as_ref() {
                return Ok(open.clone());
            }
            let opened = Rc::new(Device::open(folder)?);
            *device.borrow_mut() = Some(opened.clone());
            Ok(opened)
        })
    }

    pub fn open(folder: Option<&Path>) -> Result<Device, DeviceError> {
        probe::device()?;
        let version = probe::nvrtc()?;
        let context = Primary::open(0)?;
        let major = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let cache_bytes = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
        let most_shared = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let architectures = architectures()?;
        Ok(Device {
            context,
            architecture: Architecture::try_from(major * 10 + minor).unwrap_or(0),
            cache_bytes: usize::try_from(cache_bytes).unwrap_or(0),
            most_shared: u32::try_from(most_shared).unwrap_or(0),
            compiler: Compiler { version, architectures, folder: folder.map(Path::to_owned) },
            modules: RefCell::new(BTreeMap::new()),
            shared: RefCell::new(BTreeMap::new()),
            checked: RefCell::new(BTreeMap::new()),
            expected: RefCell::new(BTreeMap::new()),
            watch: RefCell::new(None),
        })
    }

    /// A kernel, compiled and loaded at its first use.
    pub fn function(&self, kernel: &CudaKernel) -> Result<Function, DeviceError> {
        let options = options(kernel, self.architecture, &self.compiler.architectures)?;
        let unit = (kernel.source.clone(), options);
        let loaded = self.modules.borrow().get(&unit).cloned();
        let module = match loaded {
            Some(module) => module,
            None => {
                let module = self.load(kernel, &unit.1)?;
                self.modules.borrow_mut().insert(unit, module.clone());
                module
            }
        };
        module.function(&kernel.entry).map_err(|error| match &kernel.source {
            CudaCode::Custom(file) if error.is("CUDA_ERROR_NOT_FOUND") => {
                DeviceError::Entry { file: file.name.clone(), entry: kernel.entry.to_string(), listed: file.listed() }
            }
            _ => error,
        })
    }

    /// Compiles kernels in parallel, ahead of their first use, which reports errors.
    pub fn compile(&self, kernels: impl Iterator<Item = CudaKernel>) {
        let mut units: BTreeMap<Unit, CudaKernel> = BTreeMap::new();
        for kernel in kernels {
            // The first use reports this, too.
            let Ok(options) = options(&kernel, self.architecture, &self.compiler.architectures) else {
                continue;
            };
            if !kernel.source.is_image() {
                units.entry((kernel.source.clone(), options)).or_insert(kernel);
            }
        }
        units.retain(|unit, _| !self.modules.borrow().contains_key(unit));
        let units: Vec<(Unit, CudaKernel)> = units.into_iter().collect();
        let compiled: Vec<Option<Compiled>> =
            units.par_iter().map(|((_, options), kernel)| compile(kernel, options).ok()).collect();
        for ((unit, _), compiled) in units.into_iter().zip(compiled) {
            if let Some(module) = compiled.and_then(|compiled| self.context.load(&compiled.image).ok()) {
                self.modules.borrow_mut().insert(unit, module);
            }
        }
    }

    /// A buffer shared under its name while one user lives; `make` makes it at first.
    pub fn shared(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<DeviceBuffer, DeviceError>,
    ) -> Result<Rc<DeviceBuffer>, DeviceError> {
        if let Some(buffer) = self.shared.borrow().get(name).and_then(Weak::upgrade) {
            return Ok(buffer);
        }
        let buffer = Rc::new(make()?);
        self.shared.borrow_mut().insert(name.to_owned(), Rc::downgrade(&buffer));
        Ok(buffer)
    }

    /// The result of the check of that name, which runs once a process.
    pub fn checked_once(
        &self,
        name: &str,
        check: impl FnOnce() -> Result<CheckResult, DeviceError>,
    ) -> Result<CheckResult, DeviceError> {
        if let Some(checked) = self.checked.borrow().get(name) {
            return Ok(checked.clone());
        }
        let result = check()?;
        self.checked.borrow_mut().insert(name.to_owned(), result.clone());
        Ok(result)
    }

    /// The results of a reference, if they are still in memory.
    pub(super) fn expected(&self, name: &str) -> Option<Rc<Vec<Numbers>>> {
        self.expected.borrow().get(name).cloned()
    }

    /// Stores the results of a reference, which all configurations and tracks need; others go where memory is short.
    pub(super) fn keep_expected(&self, name: String, expected: Rc<Vec<Numbers>>) {
        let mut all = self.expected.borrow_mut();
        let bytes =
            all.values().chain([&expected]).flat_map(|one| one.iter()).map(|one| one.bytes.len()).sum::<usize>();
        if bytes > MOST_EXPECTED_BYTES {
            all.clear();
        }
        all.insert(name, expected);
    }

    /// The watch of the device, made at the first call.
    pub fn watch_or(&self, make: impl FnOnce() -> Result<Watch, DeviceError>) -> Result<Rc<Watch>, DeviceError> {
        if let Some(watch) = self.watch.borrow().as_ref() {
            return Ok(watch.clone());
        }
        let made = Rc::new(make()?);
        *self.watch.borrow_mut() = Some(made.clone());
        Ok(made)
    }

    fn load(&self, kernel: &CudaKernel, options: &[String]) -> Result<Rc<Module>, DeviceError> {
        if let Some(file) = kernel.source.image() {
            return self.context.load(&file.content).map_err(|error| match error {
                DeviceError::Driver { code, .. } => {
                    DeviceError::Image { file: file.name.clone(), architecture: self.architecture, code }
                }
                other => other,
            });
        }
        let cached = self.compiler.cache_file(kernel, options);
        if let Some(module) = cached.as_ref().and_then(|path| self.context.load(&fs::read(path).ok()?).ok()) {
            return Ok(module);
        }
        let Compiled { image, .. } = compile(kernel, options)?;
        if let Some(path) = &cached {
            // Without it the next worker compiles again.
            let _ = write_cache(path, &[&image]);
        }
        self.context.load(&image).map_err(|error| match error.is("CUDA_ERROR_UNSUPPORTED_PTX_VERSION") {
            true => DeviceError::NewCompiler { driver: probe::driver_cuda(), nvrtc: self.compiler.version.clone() },
            false => error,
        })
    }
}

impl CudaCode {
    fn text(&self) -> Result<String, DeviceError> {
        match self {
            CudaCode::BuiltIn(file) => {
                operation::source(file).ok_or_else(|| DeviceError::Program(format!("there is no kernel file `{file}`")))
            }
            CudaCode::Custom(file) => Ok(String::from_utf8_lossy(&file.content).into_owned()),
        }
    }

    /// The file that is compiled already.
    fn image(&self) -> Option<&SourceFile> {
        match self {
            CudaCode::Custom(file) if is_image(&file.name) => Some(file),
            _ => None,
        }
    }

    pub fn is_image(&self) -> bool {
        self.image().is_some()
    }

    /// What the compiled kernel depends on besides the text: the headers.
    fn depends_on(&self) -> Vec<String> {
        match self {
            CudaCode::BuiltIn(_) => Vec::new(),
            CudaCode::Custom(file) => vec![file.digest.clone()],
        }
    }
}

impl Compiler {
    /// Where a compiled kernel file is stored: named by all that the result depends on.
    fn cache_file(&self, kernel: &CudaKernel, options: &[String]) -> Option<PathBuf> {
        let source = kernel.source.text().ok()?;
        let all =
            format!("nvrtc {}\n{}\n{source}", self.version, [options, &kernel.source.depends_on()].concat().join("\n"));
        Some(self.folder.as_ref()?.join(format!("{}.cubin", &digest::sha256_hex(all.as_bytes())[..32])))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// A cubin, or PTX as text.
    pub image: Vec<u8>,
    pub log: String,
}

/// What a kernel uses of a multiprocessor, as the assembler reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub registers: u32,
    /// Static shared memory of a block.
    pub shared_bytes: u32,
    /// Registers that were stored to memory for lack of space.
    pub spill_bytes: u32,
}

/// Such as 90 for compute capability 9.0.
pub type Architecture = u32;

pub fn architectures() -> Result<Vec<Architecture>, DeviceError> {
    let mut count = 0;
    // SAFETY: the number outlives the call that writes it.
    succeeded(unsafe { sys::nvrtcGetNumSupportedArchs(&raw mut count) })?;
    let mut list = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: the list has as many places as the compiler has just reported.
    succeeded(unsafe { sys::nvrtcGetSupportedArchs(list.as_mut_ptr()) })?;
    let mut list: Vec<Architecture> = list.into_iter().filter_map(|one| Architecture::try_from(one).ok()).collect();
    list.sort_unstable();
    Ok(list)
}

fn succeeded(answer: sys::nvrtcResult) -> Result<(), DeviceError> {
    match answer {
        sys::nvrtcResult::NVRTC_SUCCESS => Ok(()),
        other => Err(DeviceError::Compiler(format!("{other:?}"))),
    }
}

pub fn options(
    kernel: &CudaKernel,
    architecture: Architecture,
    supported: &[Architecture],
) -> Result<Vec<String>, DeviceError> {
    let target = if supported.contains(&architecture) {
        format!("sm_{architecture}")
    } else {
        let nearest = supported.iter().rfind(|one| **one < architecture);
        let nearest = nearest.ok_or_else(|| DeviceError::Compiler(format!("it knows no sm_{architecture}")))?;
        format!("compute_{nearest}")
    };
    let mut options = vec![format!("--gpu-architecture={target}"), "--ptxas-options=-v".to_owned()];
    match &kernel.source {
        CudaCode::BuiltIn(_) => {
            options.extend(["--std=c++17".to_owned(), format!("-DELEMENT={}", kernel.dtype.macro_value())]);
        }
        CudaCode::Custom(file) => options.extend(file.options.clone()),
    }
    options.extend(kernel.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
    Ok(options)
}

pub fn compile(kernel: &CudaKernel, options: &[String]) -> Result<Compiled, DeviceError> {
    let source = kernel.source.text()?;
    let text = |text: &str| CString::new(text).map_err(|_| DeviceError::Program("a source has a zero byte".into()));
    let fault = |error: result::NvrtcError| DeviceError::Compiler(format!("{:?}", error.0));
    let program = result::create_program(&text(&source)?, Some(&text(kernel.source.name())?)).map_err(fault)?;
    // SAFETY: the program was just made and is destroyed after its last use.
    unsafe {
        let done = result::compile_program(program, options);
        let log = result::get_program_log(program).map(|raw| from_c(&raw)).unwrap_or_default();
        let compiled = match done {
            Err(_) => Err(DeviceError::Compile { file: kernel.source.name().to_owned(), log }),
            Ok(()) => image(program).map(|image| Compiled { image, log }),
        };
        // A failure only leaks memory.
        let _ = result::destroy_program(program);
        compiled
    }
}

/// The cubin, else the PTX.
fn image(program: sys::nvrtcProgram) -> Result<Vec<u8>, DeviceError> {
    let mut size = 0;
    // SAFETY: the program is compiled; the buffer has as many bytes as the compiler has just reported.
    unsafe {
        if sys::nvrtcGetCUBINSize(program, &raw mut size) == sys::nvrtcResult::NVRTC_SUCCESS && size > 0 {
            let mut cubin = vec![0_u8; size];
            return succeeded(sys::nvrtcGetCUBIN(program, cubin.as_mut_ptr().cast())).map(|()| cubin);
        }
        let ptx = result::get_ptx(program).map_err(|error| DeviceError::Compiler(format!("{:?}", error.0)))?;
        Ok(from_c(&ptx).into_bytes())
    }
}

/// A text that ends at its first zero byte.
fn from_c(raw: &[c_char]) -> String {
    let bytes: Vec<u8> = raw.iter().map(|byte| *byte as u8).collect();
    let ended = CStr::from_bytes_until_nul(&bytes).map(|text| text.to_string_lossy().into_owned());
    ended.unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned())
}

impl Compiled {
    /// The usage of each kernel, from the lines of the assembler under `-v`. Empty for PTX, which is not assembled yet.
    pub fn usage(&self) -> BTreeMap<String, Usage> {
        usage(&self.log)
    }
}

fn usage(log: &str) -> BTreeMap<String, Usage> {
    let mut kernels: BTreeMap<String, Usage> = BTreeMap::new();
    let mut current = None;
    for line in log.lines() {
        if let Some(rest) = line.split("entry function '").nth(1) {
            current = rest.split('\'').next().map(str::to_owned);
        }
        let Some(name) = &current else { continue };
        let number_before = |word: &str| {
            let (before, _) = line.split_once(word)?;
            before.rsplit(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty())?.parse::<u32>().ok()
        };
        let entry = kernels.entry(name.clone()).or_default();
        if let Some(spills) = number_before(" bytes spill stores") {
            entry.spill_bytes = spills;
        }
        if let Some(registers) = number_before(" registers") {
            entry.registers = registers;
            entry.shared_bytes = number_before(" bytes smem").unwrap_or(0);
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use crate::gpu::program::Dtype;

    use super::*;

    #[test]
    fn options_name_an_architecture_of_the_compiler() {
        let kernel = CudaKernel {
            defines: BTreeMap::from([("BLOCK".into(), 64)]),
            ..CudaKernel::built_in("empty.cu", "empty", Dtype::Bf16)
        };
        let check = |architecture, supported: &[Architecture], expected: &str| {
            let options = options(&kernel, architecture, supported).expect("it knows one");
            assert_eq!(options[0], format!("--gpu-architecture={expected}"));
            assert_eq!(options[3..], ["-DELEMENT=2", "-DBLOCK=64"]);
        };
        check(90, &[80, 90, 100], "sm_90");
        check(103, &[80, 90, 100], "compute_100");
        assert!(options(&kernel, 70, &[80]).is_err());
    }

    #[test]
    fn usage_is_read_from_the_log() {
        let log = "ptxas info    : Compiling entry function 'a' for 'sm_90'\n\
                   ptxas info    : Function properties for a\n\
                   ptxas         .     0 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n\
                   ptxas info    : Used 18 registers, used 1 barriers, 1024 bytes smem\n\
                   ptxas info    : Compiling entry function 'b' for 'sm_90'\n\
                   ptxas info    : Used 8 registers, used 0 barriers\n";
        let parsed = usage(log);
        assert_eq!(parsed["a"], Usage { registers: 18, shared_bytes: 1024, spill_bytes: 12 });
        assert_eq!(parsed["b"], Usage { registers: 8, shared_bytes: 0, spill_bytes: 0 });
        assert!(usage("").is_empty());
    }
}
