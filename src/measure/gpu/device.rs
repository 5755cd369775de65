//! The device of this process: opened once, with its compiler, what was compiled, and what its kernels share.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use rayon::prelude::*;

use super::DeviceError;
use super::compiler::{self, Architecture, Compiled};
use super::driver::{Context, DeviceBuffer, Function, Module};
use super::probe;
use super::program::CudaKernel;
use super::throttle::Watch;
use sprag_base::digest;
use sprag_base::files::write_cache;
use sprag_model::benchmark::Parity;

pub struct Device {
    pub context: Rc<Context>,
    pub architecture: Architecture,
    /// Bytes of its second-level cache.
    pub cache_bytes: usize,
    compiler: Compiler,
    modules: RefCell<BTreeMap<Unit, Rc<Module>>>,
    shared: RefCell<BTreeMap<String, Weak<DeviceBuffer>>>,
    checked: RefCell<BTreeMap<String, Checked>>,
    watch: RefCell<Option<Rc<Watch>>>,
}

pub type Checked = (Parity, Option<String>);

type Unit = (&'static str, Vec<String>);

struct Compiler {
    version: String,
    architectures: Vec<Architecture>,
    folder: Option<PathBuf>,
}

thread_local! {
    /// The device that this thread has opened. A worker is one thread.
    static DEVICE: RefCell<Option<Rc<Device>>> = const { RefCell::new(None) };
}

impl Device {
    /// The device of this thread, opened at the first call. Compiled kernels are kept in `folder` where one is given.
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

    /// Opens the device for whoever wants it for a moment; compiled kernels are kept in `folder` where one is given.
    pub fn open(folder: Option<&Path>) -> Result<Device, DeviceError> {
        probe::device()?;
        let version = probe::nvrtc()?;
        let context = Context::open(0)?;
        let major = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let cache_bytes = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
        let architectures = compiler::architectures()?;
        Ok(Device {
            context,
            architecture: Architecture::try_from(major * 10 + minor).unwrap_or(0),
            cache_bytes: usize::try_from(cache_bytes).unwrap_or(0),
            compiler: Compiler { version, architectures, folder: folder.map(Path::to_owned) },
            modules: RefCell::new(BTreeMap::new()),
            shared: RefCell::new(BTreeMap::new()),
            checked: RefCell::new(BTreeMap::new()),
            watch: RefCell::new(None),
        })
    }

    /// A kernel, compiled and loaded at its first use.
    pub fn function(&self, kernel: &CudaKernel) -> Result<Function, DeviceError> {
        let options = compiler::options(kernel, self.architecture, &self.compiler.architectures)?;
        let unit = (kernel.file, options);
        if let Some(module) = self.modules.borrow().get(&unit) {
            return module.function(kernel.entry);
        }
        let module = self.load(kernel, &unit.1)?;
        self.modules.borrow_mut().insert(unit, module.clone());
        module.function(kernel.entry)
    }

    /// Compiles kernels on all processors at once, ahead of their first use. What does not compile is told there.
    pub fn compile(&self, kernels: impl Iterator<Item = CudaKernel>) {
        let mut units: BTreeMap<Unit, CudaKernel> = BTreeMap::new();
        for kernel in kernels {
            // As above.
            let Ok(options) = compiler::options(&kernel, self.architecture, &self.compiler.architectures) else {
                continue;
            };
            units.entry((kernel.file, options)).or_insert(kernel);
        }
        units.retain(|unit, _| !self.modules.borrow().contains_key(unit));
        let units: Vec<(Unit, CudaKernel)> = units.into_iter().collect();
        let compiled: Vec<Option<Compiled>> =
            units.par_iter().map(|((_, options), kernel)| compiler::compile(kernel, options).ok()).collect();
        for ((unit, _), compiled) in units.into_iter().zip(compiled) {
            if let Some(module) = compiled.and_then(|compiled| self.context.load(&compiled.image).ok()) {
                self.modules.borrow_mut().insert(unit, module);
            }
        }
    }

    /// A buffer that all who ask under the same name share while one of them lives; `make` makes it at first.
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

    /// The outcome of a check of that name, which is made once a process.
    pub fn checked_once(
        &self,
        name: &str,
        check: impl FnOnce() -> Result<Checked, DeviceError>,
    ) -> Result<Checked, DeviceError> {
        if let Some(known) = self.checked.borrow().get(name) {
            return Ok(known.clone());
        }
        let found = check()?;
        self.checked.borrow_mut().insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// What watches the device, made by whoever needs it first.
    pub fn watch_or(&self, make: impl FnOnce() -> Result<Watch, DeviceError>) -> Result<Rc<Watch>, DeviceError> {
        if let Some(watch) = self.watch.borrow().as_ref() {
            return Ok(watch.clone());
        }
        let made = Rc::new(make()?);
        *self.watch.borrow_mut() = Some(made.clone());
        Ok(made)
    }

    fn load(&self, kernel: &CudaKernel, options: &[String]) -> Result<Rc<Module>, DeviceError> {
        let cached = self.compiler.cache_file(kernel, options);
        if let Some(module) = cached.as_ref().and_then(|path| self.context.load(&fs::read(path).ok()?).ok()) {
            return Ok(module);
        }
        let Compiled { image, .. } = compiler::compile(kernel, options)?;
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

impl Compiler {
    /// Where what it makes of a kernel file is kept: named by all that the result depends on.
    fn cache_file(&self, kernel: &CudaKernel, options: &[String]) -> Option<PathBuf> {
        let source = super::operation::source(kernel.file)?;
        let all = format!("nvrtc {}\n{}\n{source}", self.version, options.join("\n"));
        Some(self.folder.as_ref()?.join(format!("{}.cubin", &digest::sha256_hex(all.as_bytes())[..32])))
    }
}
