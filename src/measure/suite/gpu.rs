//! Suites of CUDA kernels, built in or of the user: from their description and the device to what is measured, or why nothing is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::environment;
use crate::gpu::custom::{self, settings::CustomScope};
use crate::gpu::facts::DeviceFacts;
use crate::gpu::settings::GpuScope;
use crate::gpu::suite::{DeviceLock, DeviceScope};
use crate::gpu::{facts, probe, suite};
use crate::suite::description::{
    self, CommitProgram, CudaSuite, GpuSuite, MeasureOptions, Observer, ProjectContext, SuiteError, SuiteOutcome,
    SuiteSpec,
};
use crate::suite::kernels::{self, BenchDevice, KernelBench, TunedConfigurations};
use crate::workload::{self, Workload};
use sprag_model::{Run, RunStatus};

/// The folder of compiled kernels in the private folder. Without one every worker compiles.
pub(crate) const COMPILED: &str = "compiled";

const DEVICE_PATIENCE: Duration = Duration::from_secs(600);

/// A compute capability with every element type.
const TODAY: (u32, u32) = (9, 0);

impl GpuSuite {
    /// What runs on a device of that compute capability; without a device, on a current one.
    fn scope(&self, capability: Option<(u32, u32)>, compiled: Option<PathBuf>) -> GpuScope {
        let capability = capability.or(Some(TODAY));
        let mut dtypes = Vec::new();
        for dtype in self.dtypes.iter().map(|one| one.effective(capability).dtype) {
            // The substitute of 8-bit elements may be there already.
            if !dtypes.contains(&dtype) {
                dtypes.push(dtype);
            }
        }
        GpuScope { profiles: self.profiles.clone(), dtypes, compiled }
    }

    fn recorded(&self, scope: &GpuScope, capability: Option<(u32, u32)>) -> BTreeMap<String, Value> {
        let mut recorded = scope.recorded();
        let words: Vec<&str> = self.dtypes.iter().map(|one| one.word()).collect();
        recorded.insert("requested_dtypes".to_owned(), json!(words));
        let reason = self.dtypes.iter().find_map(|one| one.effective(capability).fallback_reason);
        recorded.extend(reason.map(|reason| ("dtype_fallback_reason".to_owned(), Value::from(reason))));
        recorded
    }
}

#[derive(Clone, Copy)]
pub enum DeviceSuite<'a> {
    Gpu(&'a GpuSuite),
    Cuda(&'a CudaSuite),
}

impl DeviceSuite<'_> {
    fn private_folder(&self) -> &Result<PathBuf, String> {
        match self {
            DeviceSuite::Gpu(gpu) => &gpu.private_folder,
            DeviceSuite::Cuda(cuda) => &cuda.private_folder,
        }
    }

    /// What runs on a device of that compute capability.
    fn scope(&self, capability: Option<(u32, u32)>) -> DeviceScope {
        let compiled = self.private_folder().as_ref().ok().map(|folder| folder.join(COMPILED));
        match self {
            DeviceSuite::Gpu(gpu) => DeviceScope::Gpu(gpu.scope(capability, compiled)),
            DeviceSuite::Cuda(cuda) => {
                DeviceScope::Cuda(CustomScope { root: cuda.root.clone(), kernels: cuda.kernels.clone(), compiled })
            }
        }
    }

    fn recorded(&self, scope: &DeviceScope, capability: Option<(u32, u32)>) -> BTreeMap<String, Value> {
        match (self, scope) {
            (DeviceSuite::Gpu(gpu), DeviceScope::Gpu(scope)) => gpu.recorded(scope, capability),
            (_, DeviceScope::Cuda(scope)) => custom::suite::recorded(scope),
            (DeviceSuite::Cuda(_), DeviceScope::Gpu(_)) => BTreeMap::new(),
        }
    }

    /// How long a worker may send nothing: it compiles many variants of one kernel, or waits for one that hangs.
    fn patience(&self) -> Duration {
        match self {
            DeviceSuite::Gpu(_) => DEVICE_PATIENCE,
            DeviceSuite::Cuda(cuda) => cuda.time_out,
        }
    }
}

/// Measures the suite or the shard's part of it; without a usable device the run is skipped with a reason.
pub(super) fn measure(
    context: &ProjectContext<'_>,
    suite: &SuiteSpec,
    device_suite: DeviceSuite<'_>,
    (options, program): (&MeasureOptions<'_>, Option<&CommitProgram>),
    observer: &dyn Observer,
) -> Result<SuiteOutcome, SuiteError> {
    let name = suite.name.as_str();
    observer.begin(&format!("suite {name}: looking for a CUDA device"), 1);
    // First: a device that breaks in the test below is still the same machine.
    let model = probe::device().ok().map(|device| device.name);
    let device_facts = facts::read();
    let capability = device_facts.as_ref().ok().map(|device_facts| device_facts.compute_capability);
    let scope = device_suite.scope(capability);
    let workloads = scope.workloads(name)?;
    let device = match device_facts {
        Ok(device_facts) => device_facts,
        Err(error) => {
            let run = skipped(context, suite, options, &workloads, model)?;
            return Ok(match run {
                Some(run) => SuiteOutcome::Run(Box::new(Run { reason: Some(error.to_string()), ..run })),
                None => SuiteOutcome::Nothing(workload::names(&workloads)),
            });
        }
    };
    let keys = scope.keys(name, &device)?;
    let tuned = TunedConfigurations::load(device_suite.private_folder(), keys, options.retune, observer);
    let mut bench = KernelBench {
        device: Some(BenchDevice {
            model: device.model.clone(),
            facts: device.facts.clone(),
            settings: device_suite.recorded(&scope, capability),
            arguments: worker_arguments(&scope),
            patience: device_suite.patience(),
            tuned,
        }),
        workloads,
        program,
    };
    let _lock = lock(&device, observer);
    kernels::measure(context, suite, options, &mut bench, observer)
}

fn lock(device: &DeviceFacts, observer: &dyn Observer) -> DeviceLock {
    let hash = device.facts.get("gpu_uuid_hash").map_or("device", String::as_str);
    suite::acquire(hash, || observer.note(&format!("another run measures on {}; waiting for it", device.model)))
}

/// The device on which two builds take turns. Until it is dropped, no other run measures there.
pub struct SharedDevice {
    pub model: String,
    pub facts: BTreeMap<String, String>,
    pub workloads: Vec<Workload>,
    /// What a worker of each build gets in addition.
    pub arguments: [[String; 2]; 2],
    pub patience_seconds: f64,
    _lock: DeviceLock,
}

impl SharedDevice {
    /// # Errors Why the device cannot be used.
    pub fn open(name: &str, sides: [DeviceSuite<'_>; 2], observer: &dyn Observer) -> Result<SharedDevice, String> {
        let device = facts::read().map_err(|error| error.to_string())?;
        let scopes = sides.map(|side| side.scope(Some(device.compute_capability)));
        Ok(SharedDevice {
            workloads: scopes[1].workloads(name).map_err(|error| error.to_string())?,
            arguments: scopes.each_ref().map(worker_arguments),
            patience_seconds: sides[0].patience().as_secs_f64(),
            _lock: lock(&device, observer),
            model: device.model,
            facts: device.facts,
        })
    }
}

fn worker_arguments(scope: &DeviceScope) -> [String; 2] {
    let (option, json) = match scope {
        DeviceScope::Gpu(scope) => ("--gpu", serde_json::to_string(scope)),
        DeviceScope::Cuda(scope) => ("--cuda", serde_json::to_string(scope)),
    };
    [option.to_owned(), json.expect("a scope holds nothing that JSON cannot")]
}

/// A run without a device; `None` where filters leave nothing of it.
fn skipped(
    context: &ProjectContext<'_>,
    suite: &SuiteSpec,
    options: &MeasureOptions<'_>,
    workloads: &[Workload],
    model: Option<String>,
) -> Result<Option<Run>, SuiteError> {
    let included = kernels::select(&suite.name, &suite.include, &[], workloads)?;
    if workload::select(included.into_iter(), options.filters).is_empty() {
        return Ok(None);
    }
    let machine = description::machine(context, model.as_deref());
    let environment = environment::environment(&BTreeMap::new());
    let mut run = description::new_run(&suite.name, context.commit.clone(), machine, environment);
    run.status = RunStatus::Skipped;
    // All of it is skipped, so every shard says so.
    if let Some(shard) = options.shard {
        run.config.extend(shard.settings(&(1..=shard.count()).collect::<Vec<_>>()));
    }
    Ok(Some(run))
}
