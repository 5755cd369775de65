//! The suite of CUDA kernels of the user: every kernel at every shape and track.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use serde_json::{Value, json};

use super::expression::Names;
use super::kernel::{CustomKernel, label};
use super::reference::Case;
use super::settings::{CustomScope, Reference};
use crate::MeasureError;
use crate::gpu::device::Device;
use crate::gpu::facts::DeviceFacts;
use crate::gpu::program::{CudaKernel, DeviceProgram};
use crate::gpu::settings::Track;
use crate::gpu::suite::{OnDevice, TUNED, instances, key};
use crate::gpu::survey::Check;
use crate::gpu::{DeviceError, parity, timer};
use crate::workload::{Order, Prepared, Workload};
use sprag_base::digest;
use sprag_formats::compat::apex_x::autotune::shape_bucket;
use sprag_model::autotune::Key;
use sprag_model::{Benchmark, BenchmarkError};

/// More bytes exceed the second-level cache of every device, so that memory bounds the kernel.
const LARGE_BYTES: f64 = 256.0 * 1024.0 * 1024.0;

pub fn workloads(suite: &str, scope: &CustomScope) -> Result<Vec<Workload>, MeasureError> {
    let mut workloads = Vec::new();
    for one in timed(scope) {
        let tracks = if one.is_large() { &[Track::Hot][..] } else { &Track::ALL[..] };
        for track in tracks {
            workloads.push(one.workload(suite, scope.compiled.as_deref(), *track)?);
        }
    }
    if let Some(one) = timed(scope).into_iter().next() {
        let first = one.workload(suite, scope.compiled.as_deref(), Track::Hot)?;
        // Both halves have the constants that were chosen.
        let (configurations, tuned_with) = (first.configurations.clone(), Some(first.benchmark.id()));
        let control = first.control(suite, &one.kernel.settings.name)?;
        workloads.push(Workload { configurations, tuned_with, ..control });
    }
    Ok(workloads)
}

/// The validity of the choice of constants, by the id of its benchmark.
pub fn keys(suite: &str, scope: &CustomScope, device: &DeviceFacts) -> Result<BTreeMap<String, Key>, MeasureError> {
    let one = |one: &Timed| {
        let settings = &one.kernel.settings;
        let fields = one.shape.iter().map(|(name, value)| (name.clone(), Value::from(value.to_string())));
        let bucket = shape_bucket(&fields.collect());
        let key = key(&settings.name, bucket, &one.kernel.types(), one.digest(), device);
        Ok((one.benchmark(suite, Track::Hot)?.id(), key))
    };
    timed(scope).iter().map(one).collect()
}

/// Every kernel in every configuration of constants, and its reference, to be compiled; or the file, the name of the kernel and
/// why it cannot be. What is compiled already is left out.
pub fn kernels(scope: &CustomScope) -> BTreeSet<Result<CudaKernel, [String; 3]>> {
    let mut kernels = BTreeSet::new();
    for one in timed(scope) {
        let settings = &one.kernel.settings;
        let programs = || -> Result<Vec<DeviceProgram>, String> {
            let own = settings.configurations(&one.shape)?.into_iter();
            let own: Vec<DeviceProgram> =
                own.map(|constants| one.kernel.program(&one.shape, &constants)).collect::<Result<_, _>>()?;
            Ok(own.into_iter().chain(one.kernel.reference_program(&one.shape)?).collect())
        };
        match programs() {
            Ok(programs) => kernels.extend(programs.iter().flat_map(|program| program.kernels().cloned().map(Ok))),
            Err(why) => kernels.extend([Err([settings.file.clone(), settings.entry().to_owned(), why])]),
        }
    }
    kernels.retain(|kernel| kernel.as_ref().map_or(true, |kernel| !kernel.source.is_image()));
    kernels
}

/// Every kernel in every configuration at every shape, those that are only checked first.
pub fn checks(scope: &CustomScope) -> Vec<Check> {
    let of_kernel = |settings| {
        let kernel = Rc::new(CustomKernel::read(&scope.root, settings));
        let shapes: Vec<Names> = settings.check_shapes.iter().chain(&settings.shapes).cloned().collect();
        shapes.into_iter().flat_map(move |shape| {
            // A condition that fails is reported by the check.
            let configurations = kernel.settings.configurations(&shape).unwrap_or_else(|_| vec![Names::new()]);
            let kernel = kernel.clone();
            configurations.into_iter().map(move |constants| check(kernel.clone(), shape.clone(), constants))
        })
    };
    scope.kernels.iter().flat_map(of_kernel).collect()
}

fn check(kernel: Rc<CustomKernel>, shape: Names, constants: Names) -> Check {
    let program = kernel.program(&shape, &constants);
    let name = label(&constants);
    let is_timed = kernel.settings.shapes.contains(&shape);
    Check {
        operation: kernel.settings.name.clone(),
        shape: label(&shape),
        dtype: kernel.types(),
        configuration: Some(if name.is_empty() { "as written".to_owned() } else { name }),
        kernels: program.iter().flat_map(|program| program.kernels()).cloned().collect(),
        run: Box::new(move |device, seed| {
            kernel.settings.configurations(&shape).map_err(DeviceError::Custom)?;
            if is_timed {
                kernel.amounts(&shape).map_err(DeviceError::Custom)?;
            }
            Case { device, kernel: &kernel, shape: &shape }.checked_once(&constants, seed, None)
        }),
    }
}

/// The settings that a run records: which sources were measured, and what checked them.
pub fn recorded(scope: &CustomScope) -> BTreeMap<String, Value> {
    let kernel = |settings| {
        let kernel = CustomKernel::read(&scope.root, settings);
        let reference = match &kernel.settings.reference {
            Reference::Word(_) => "none",
            Reference::Kernel(_) => "kernel",
            Reference::Command(_) => "command",
            Reference::Files(_) => "files",
        };
        let digest = kernel.digest().get(..16).unwrap_or_default();
        (kernel.settings.name.clone(), json!({ "source": digest, "reference": reference }))
    };
    let kernels: serde_json::Map<String, Value> = scope.kernels.iter().map(kernel).collect();
    BTreeMap::from([("kernels".to_owned(), Value::Object(kernels))])
}

fn timed(scope: &CustomScope) -> Vec<Timed> {
    let kernels = scope.kernels.iter().map(|settings| Rc::new(CustomKernel::read(&scope.root, settings)));
    let at_shapes = |kernel: Rc<CustomKernel>| {
        let shapes = kernel.settings.shapes.clone();
        shapes.into_iter().map(move |shape| Timed { kernel: kernel.clone(), shape })
    };
    kernels.flat_map(at_shapes).collect()
}

#[derive(Clone)]
struct Timed {
    kernel: Rc<CustomKernel>,
    shape: Names,
}

impl Timed {
    /// What `bytes` comes to; preparing the benchmark reports a fault.
    fn moved(&self) -> Option<f64> {
        self.kernel.amount("bytes", &self.shape).ok().flatten()
    }

    fn is_large(&self) -> bool {
        self.moved().is_some_and(|bytes| bytes >= LARGE_BYTES)
    }

    fn workload(&self, suite: &str, compiled: Option<&Path>, track: Track) -> Result<Workload, MeasureError> {
        let settings = &self.kernel.settings;
        let flops = self.kernel.amount("flops", &self.shape).ok().flatten();
        let moved = self.moved();
        let work = match (flops, moved) {
            (Some(flops), _) => ("operations_per_s", flops),
            (None, Some(bytes)) => ("bytes_per_s", bytes),
            (None, None) => ("calls_per_s", 1.0),
        };
        let configurations = settings.configurations(&self.shape).unwrap_or_default();
        let configurations = if settings.constants.is_empty() { Vec::new() } else { configurations };
        let on_device = OnDevice {
            track,
            work,
            moved: moved.map(|bytes| bytes as usize),
            is_large: self.is_large(),
            configurations: configurations.iter().map(label).collect(),
        };
        let (one, compiled) = (self.clone(), compiled.map(Path::to_owned));
        let prepare = Box::new(move |order: &Order<'_>| {
            let constants = one.constants(order.configuration)?;
            let prepared = Device::of_this_thread(compiled.as_deref())
                .and_then(|device| one.prepare(&device, &constants, track, order));
            prepared.map_err(|error| error.reason())
        });
        let leader = self.benchmark(suite, Track::Hot)?;
        Ok(on_device.workload(self.benchmark(suite, track)?, &leader, prepare))
    }

    /// The constants of the configuration of that name; the first without a name.
    fn constants(&self, name: Option<&str>) -> Result<Names, String> {
        let mut all = self.kernel.settings.configurations(&self.shape)?.into_iter();
        let chosen = all.find(|one| name.is_none_or(|name| label(one) == name));
        chosen.ok_or_else(|| format!("it has no configuration `{}`", name.unwrap_or_default()))
    }

    fn benchmark(&self, suite: &str, track: Track) -> Result<Benchmark, BenchmarkError> {
        let shape = self.shape.iter().map(|(name, value)| (name.as_str(), value.to_string()));
        let params: Vec<(&str, String)> = shape.chain([("track", track.word().to_owned())]).collect();
        Benchmark::new(suite, &self.kernel.settings.name, &params, TUNED)
    }

    /// Of all that the choice of constants depends on: the sources and how they are launched.
    fn digest(&self) -> String {
        let settings = serde_json::to_string(&self.kernel.settings).unwrap_or_default();
        digest::sha256_hex(format!("{} {settings}", self.kernel.digest()).as_bytes())[..16].to_owned()
    }

    /// Checks it at its other shapes and at this one, then prepares as many sets of buffers as the track needs.
    fn prepare(
        &self,
        device: &Rc<Device>,
        constants: &Names,
        track: Track,
        order: &Order<'_>,
    ) -> Result<Prepared, DeviceError> {
        let Timed { kernel, shape } = self;
        kernel.amounts(shape).map_err(DeviceError::Custom)?;
        let mut parities = Vec::new();
        if order.check {
            let has =
                |shape: &&Names| kernel.settings.configurations(shape).map_or(true, |all| all.contains(constants));
            for shape in kernel.settings.check_shapes.iter().filter(has) {
                parities.push(Case { device, kernel, shape }.checked_once(constants, order.seed, None)?);
            }
        }
        let program = kernel.program(shape, constants).map_err(DeviceError::Custom)?;
        let bytes = program.bytes();
        let touched = self.moved().map_or(bytes, |bytes| bytes as usize);
        let instances = instances(device, &program, touched, track, order)?;
        if order.check {
            let first = instances.first().map(Rc::as_ref);
            parities.push(Case { device, kernel, shape }.checked_once(constants, order.seed, first)?);
        }
        let parity = parities.into_iter().reduce(parity::worse).unwrap_or_else(crate::parity::unchecked);
        let pool_bytes = bytes.saturating_mul(instances.len());
        timer::prepared(device, instances, track, parity, pool_bytes)
    }
}
