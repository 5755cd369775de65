//! Every kernel in every variant: whether it compiles and what it takes, and whether it is right on the device.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::MeasureError;
use crate::gpu::custom::{self, settings::CustomScope};
use crate::gpu::device::{self, Architecture, Device, Usage};
use crate::gpu::instance::{Instance, Supply};
use crate::gpu::operation::{GpuForm, Operation, service_kernels};
use crate::gpu::program::{CudaKernel, Dtype};
use crate::gpu::settings::{Profile, fp8_unavailable};
use crate::gpu::{DeviceError, parity, probe};
use crate::plan::{Message, PLAN_VERSION, Plan, Planned, Protocol, WorkerReport, WorkerSeries};
use crate::process::{WorkerCommand, WorkerProcess};
use crate::worker::MessageSink;
use sprag_model::{Parity, ParityStatus};

/// All element types, the optional one last.
const DTYPES: [Dtype; 4] = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::E4m3];

/// A kernel as it was compiled for an architecture.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CompiledKernel {
    /// The file under `kernels/`, or of your own.
    pub file: String,
    /// The kernel.
    pub entry: String,
    /// The element type.
    pub dtype: &'static str,
    /// The macros that make the variant.
    pub defines: BTreeMap<String, i64>,
    /// The architecture, such as `sm_90`.
    pub arch: String,
    /// `ok` or `failed`.
    pub status: &'static str,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes of static shared memory of a block.
    pub shared_bytes: Option<u32>,
    /// Bytes of registers stored to memory for want of room.
    pub spill_bytes: Option<u32>,
    /// What the compiler said against it.
    pub log: Option<String>,
}

/// A form of an operation at one shape, checked on the device.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Checked {
    /// The operation, or a kernel of your own.
    pub operation: String,
    /// The shape.
    pub shape: String,
    /// The element type; of a kernel of your own, those of its arguments.
    pub dtype: String,
    /// `reference` or `tuned`.
    pub form: &'static str,
    /// The configuration of the tuned form.
    pub configuration: Option<String>,
    /// `exact`, `within`, `mismatch`, `failed`, or `unchecked` without a reference.
    pub status: &'static str,
    /// The largest difference from the CPU reference.
    pub max_abs_error: Option<f64>,
    /// The difference that is allowed, absolute and relative alike.
    pub tolerance: Option<f64>,
    /// Why it could not be checked.
    pub reason: Option<String>,
}

/// Compiles kernels in every variant for those of these architectures that NVRTC knows: built-in ones or those of a suite.
pub fn compile(architectures: &[Architecture], own: Option<&CustomScope>) -> Result<Vec<CompiledKernel>, DeviceError> {
    probe::nvrtc()?;
    let supported = device::architectures()?;
    let kernels = own.map_or_else(|| kernels().into_iter().map(Ok).collect(), custom::suite::kernels);
    let (kernels, faults): (Vec<_>, Vec<_>) = kernels.into_iter().partition(Result::is_ok);
    let unread = faults.into_iter().filter_map(Result::err).map(|[file, entry, why]| CompiledKernel {
        file,
        entry,
        dtype: Dtype::F32.word(),
        defines: BTreeMap::new(),
        arch: "any".to_owned(),
        status: "failed",
        registers: None,
        shared_bytes: None,
        spill_bytes: None,
        log: Some(why),
    });
    let mut seen = BTreeSet::new();
    let mut is_new = |kernel: &CudaKernel| seen.insert((kernel.source.clone(), kernel.dtype, kernel.defines.clone()));
    let units: Vec<(CudaKernel, Architecture)> = kernels
        .into_iter()
        .flatten()
        .filter(|kernel| is_new(kernel))
        .flat_map(|kernel| architectures.iter().map(move |one| (kernel.clone(), *one)))
        .filter(|(kernel, one)| kernel.dtype != Dtype::E4m3 || fp8_unavailable(Some((one / 10, one % 10))).is_none())
        .collect();
    let compiled: Vec<Vec<CompiledKernel>> =
        units.par_iter().map(|(kernel, architecture)| compile_unit(kernel, *architecture, &supported)).collect();
    Ok(unread.chain(compiled.into_iter().flatten()).collect())
}

/// All kernels of a file with one set of macros, for an architecture.
fn compile_unit(kernel: &CudaKernel, architecture: Architecture, supported: &[Architecture]) -> Vec<CompiledKernel> {
    let entry = |entry: &str, usage: Option<Usage>, log: Option<String>| CompiledKernel {
        file: kernel.source.name().to_owned(),
        entry: entry.to_owned(),
        dtype: kernel.dtype.word(),
        defines: kernel.defines.iter().map(|(name, value)| (name.to_string(), *value)).collect(),
        arch: format!("sm_{architecture}"),
        status: if log.is_none() { "ok" } else { "failed" },
        registers: usage.map(|usage| usage.registers),
        shared_bytes: usage.map(|usage| usage.shared_bytes),
        spill_bytes: usage.map(|usage| usage.spill_bytes),
        log,
    };
    let compiled =
        device::options(kernel, architecture, supported).and_then(|options| device::compile(kernel, &options));
    match compiled {
        Err(error) => vec![entry(&kernel.entry, None, Some(error.to_string()))],
        Ok(compiled) => {
            let usage = compiled.usage();
            match usage.is_empty() {
                // PTX for an architecture that the compiler does not know: nothing is assembled.
                true => vec![entry(&kernel.entry, None, None)],
                false => usage.into_iter().map(|(name, usage)| entry(&name, Some(usage), None)).collect(),
            }
        }
    }
}

/// One kernel of every file, element type and set of macros that a program of the timed shapes launches. Shapes that
/// nothing divides evenly add narrower accesses and other tile sizes of the same variants, by the thousand.
fn kernels() -> BTreeSet<CudaKernel> {
    let mut units = BTreeMap::new();
    let mut add = |kernel: &CudaKernel| {
        let unit = (kernel.source.clone(), kernel.dtype, kernel.defines.clone());
        units.entry(unit).or_insert_with(|| kernel.clone());
    };
    for operation in Operation::every().into_iter().chain(Operation::all(&Profile::LARGE)) {
        for (dtype, form) in forms(&operation, &DTYPES) {
            operation.program(dtype, form).kernels().for_each(&mut add);
        }
    }
    DTYPES.iter().flat_map(|dtype| service_kernels(*dtype)).for_each(|kernel| add(&kernel));
    units.into_values().collect()
}

/// Every form of an operation at every element type.
fn forms(operation: &Operation, dtypes: &[Dtype]) -> Vec<(Dtype, GpuForm)> {
    let tuned = operation.candidates.iter().copied().map(GpuForm::Tuned);
    let forms: Vec<GpuForm> = [GpuForm::Reference].into_iter().chain(tuned).collect();
    dtypes.iter().flat_map(|dtype| forms.iter().map(move |form| (*dtype, *form))).collect()
}

/// One check: a form of a kernel at a shape. A built-in one is checked at shapes that nothing divides evenly.
pub struct Check {
    pub(super) operation: String,
    pub(super) shape: String,
    pub(super) dtype: String,
    /// Absent for a plain form.
    pub(super) configuration: Option<String>,
    /// To be compiled before.
    pub(super) kernels: Vec<CudaKernel>,
    /// With a seed.
    pub(super) run: Box<CheckRun>,
}

pub(super) type CheckRun = dyn Fn(&Rc<Device>, u64) -> Result<Parity, DeviceError>;

impl Check {
    fn built_in(operation: Operation, dtype: Dtype, form: GpuForm) -> Check {
        let program = operation.program(dtype, form);
        Check {
            operation: operation.name.to_owned(),
            shape: operation.label(),
            dtype: dtype.word().to_owned(),
            configuration: match form {
                GpuForm::Reference => None,
                GpuForm::Tuned(config) => Some(config.name()),
            },
            kernels: program.kernels().cloned().collect(),
            run: Box::new(move |device, seed| {
                let instance = Instance::new(device, program.clone(), Supply::of_set(seed, 0))?;
                parity::against_cpu(&instance, &operation, dtype)
            }),
        }
    }

    /// What it is found by, such as `tile_pack b=1 c=7 h=16 w=24 t=8 k=3 f16 block256 vector16`; a plain form is a `reference`.
    fn name(&self) -> String {
        let Check { operation, shape, dtype, configuration, .. } = self;
        format!("{operation} {shape} {dtype} {}", configuration.as_deref().unwrap_or("reference"))
    }

    fn came_out(&self, parity: Result<Parity, String>) -> Checked {
        let (status, error, tolerance, reason) = match parity {
            Err(reason) => ("failed", None, None, Some(reason)),
            Ok(parity) => (word(parity.status), parity.max_abs_error, parity.tolerance, None),
        };
        Checked {
            operation: self.operation.clone(),
            shape: self.shape.clone(),
            dtype: self.dtype.clone(),
            form: if self.configuration.is_none() { "reference" } else { "tuned" },
            configuration: self.configuration.clone(),
            status,
            max_abs_error: error,
            tolerance,
            reason,
        }
    }
}

/// Every check whose name contains one of the texts (all where there is none): of the built-in kernels in the element types
/// that a device of that compute capability has, or of a suite of the user.
pub fn checks(own: Option<&CustomScope>, filters: &[String], capability: (u32, u32)) -> Vec<Check> {
    let has = |dtype: &Dtype| *dtype != Dtype::E4m3 || fp8_unavailable(Some(capability)).is_none();
    let dtypes: Vec<Dtype> = DTYPES.into_iter().filter(has).collect();
    let of_shape = |operation: Operation| {
        let forms = forms(&operation, &dtypes);
        forms.into_iter().map(move |(dtype, form)| Check::built_in(operation.clone(), dtype, form))
    };
    let built_in =
        || Operation::every().into_iter().flat_map(|operation| operation.uneven()).flat_map(of_shape).collect();
    let mut checks: Vec<Check> = own.map_or_else(built_in, custom::suite::checks);
    let is_wanted = |name: String| filters.is_empty() || filters.iter().any(|text| holds(&name, text));
    checks.retain(|check| is_wanted(check.name()));
    checks
}

/// Whether the name contains the text, in which `*` matches any characters.
fn holds(name: &str, text: &str) -> bool {
    let mut rest = Some(name);
    text.split('*').all(|part| {
        rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, after)| after);
        rest.is_some()
    })
}

/// Makes the checks on the device, after their kernels were compiled; `progress` hears how many are done. A kernel that
/// breaks the device is the last of those that come back: nothing more can be checked on it.
pub fn check(checks: &[Check], seed: u64, progress: &mut dyn FnMut(usize)) -> Result<Vec<Checked>, DeviceError> {
    let device = Device::of_this_thread(None)?;
    device.compile(checks.iter().flat_map(|check| check.kernels.clone()));
    let mut checked = Vec::with_capacity(checks.len());
    for check in checks {
        progress(checked.len());
        let parity = (check.run)(&device, seed);
        let is_broken = parity.as_ref().is_err_and(DeviceError::lasts);
        checked.push(check.came_out(parity.map_err(|error| error.to_string())));
        if is_broken {
            break;
        }
    }
    Ok(checked)
}

/// Makes the checks of the user's kernels in worker processes, one a kernel; one that breaks its process, or is silent for
/// longer than `patience`, is to blame, and another process makes the rest.
pub fn check_apart(
    own: &CustomScope,
    checks: &[Check],
    (seed, patience): (u64, Duration),
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Checked>, MeasureError> {
    let mut command = WorkerCommand::for_task("check")?;
    let scope = serde_json::to_string(own).expect("a scope holds nothing that JSON cannot");
    command.arguments.extend(["--cuda".to_owned(), scope]);
    let protocol = Protocol { seed, patience_seconds: patience.as_secs_f64(), ..Protocol::quick() };
    let mut checked = Vec::with_capacity(checks.len());
    while let Some(first) = checks.get(checked.len()) {
        let start = checked.len();
        let of_kernel = || checks[start..].iter().take_while(|check| check.operation == first.operation);
        let benchmarks: Vec<Planned> =
            of_kernel().map(|check| Planned { id: check.name(), configuration: None }).collect();
        let suite = first.operation.clone();
        let plan = Plan { version: PLAN_VERSION, suite, benchmarks, protocol: protocol.clone(), worker: 0 };
        let mut process = WorkerProcess::spawn(&command, &plan)?;
        for (place, check) in of_kernel().enumerate() {
            progress(checked.len());
            let fault = match process.receive() {
                Ok(Message::Report(WorkerReport { mut series, .. })) if series.len() == 1 => {
                    let WorkerSeries { parity, failure, .. } = series.remove(0);
                    checked.push(check.came_out(failure.map_or(Ok(parity), Err)));
                    continue;
                }
                Ok(_) => return Err(MeasureError::Workers("it answered another request".to_owned())),
                Err(fault) => fault,
            };
            if fault.at == Some(place) {
                checked.push(check.came_out(Err(format!("crashed in it: {}", fault.reason))));
            } else if place == 0 {
                return Err(MeasureError::Workers(fault.reason));
            }
            break;
        }
    }
    Ok(checked)
}

/// The part of a worker process: a report for each check of the plan.
pub fn follow(plan: &Plan, own: &CustomScope, send: MessageSink<'_>) -> Result<(), MeasureError> {
    send(Message::Hello(PLAN_VERSION))?;
    let device = Device::of_this_thread(None).map_err(|error| MeasureError::Plan(error.to_string()))?;
    let mut checks = custom::suite::checks(own);
    checks.retain(|check| plan.benchmarks.iter().any(|one| one.id == check.name()));
    let kernels: BTreeSet<CudaKernel> = checks.iter().flat_map(|check| check.kernels.clone()).collect();
    for some in Vec::from_iter(kernels).chunks(rayon::current_num_threads()) {
        // Each is given the time that a check has.
        send(Message::Begin(0))?;
        device.compile(some.iter().cloned());
    }
    for (place, planned) in plan.benchmarks.iter().enumerate() {
        send(Message::Begin(place))?;
        let check = checks.iter().find(|check| check.name() == planned.id);
        let check = check.ok_or_else(|| MeasureError::Plan(format!("there is no check `{}`", planned.id)))?;
        let mut series = WorkerSeries::untimed(&planned.id);
        match (check.run)(&device, plan.protocol.seed) {
            Ok(parity) => series.parity = parity,
            Err(error) => series.failure = Some(error.reason()),
        }
        send(Message::Report(WorkerReport { series: vec![series], pinned: None }))?;
    }
    Ok(())
}

fn word(status: ParityStatus) -> &'static str {
    match status {
        ParityStatus::Exact | ParityStatus::Reference => "exact",
        ParityStatus::Within => "within",
        ParityStatus::Mismatch => "mismatch",
        ParityStatus::Unchecked => "unchecked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_stars_holds_in_order() {
        let check =
            |text: &str, expected: bool| assert_eq!(holds("scan b=1 k=7 f16 block64", text), expected, "{text}");
        check("k=7", true);
        check("scan* f16 *", true);
        check("f16*scan", false);
        check("scan*f32", false);
        check("*", true);
    }

    #[test]
    fn every_file_that_is_built_in_is_surveyed() {
        let surveyed: BTreeSet<String> = kernels().iter().map(|kernel| kernel.source.name().to_owned()).collect();
        let built_in: BTreeSet<String> = crate::gpu::operation::files().map(str::to_owned).collect();
        assert_eq!(surveyed, built_in);
    }
}
