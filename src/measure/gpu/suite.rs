//! The GPU suite: every operation at every requested profile, element type, form and track.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::rc::Rc;

use serde_json::Value;

use crate::MeasureError;
use crate::gpu::custom::{self, settings::CustomScope};
use crate::gpu::device::Device;
use crate::gpu::facts::DeviceFacts;
use crate::gpu::instance::{Instance, Supply};
use crate::gpu::operation::{self, GpuForm, Operation};
use crate::gpu::program::{DeviceProgram, Dtype};
use crate::gpu::settings::{GpuScope, Profile, Track};
use crate::gpu::{DeviceError, parity, timer};
use crate::workload::{Calibrator, Class, Companion, Limit, Order, Prepare, Prepared, Workload};
use sprag_base::digest;
use sprag_formats::compat::apex_x::autotune::shape_bucket;
use sprag_model::autotune::Key;
use sprag_model::{Benchmark, BenchmarkError, Parity, ParityStatus, Role};

pub const TUNED: &str = "cuda";

pub const REFERENCE: &str = "reference";

const TWIN_SET: u32 = 1 << 19;

/// All workloads of the suite, in the order in which tables list them.
pub fn workloads(suite: &str, scope: &GpuScope) -> Result<Vec<Workload>, MeasureError> {
    let mut workloads = Vec::new();
    for one in timed(scope) {
        // Far beyond the cache, the tracks of the device do not differ, and a plain form may take half a second.
        let tracks = if one.is_large { &[Track::Hot][..] } else { &Track::ALL[..] };
        if !one.is_large {
            workloads.push(one.workload(suite, scope, REFERENCE, Track::Hot)?);
        }
        for track in tracks {
            workloads.push(one.workload(suite, scope, TUNED, *track)?);
        }
    }
    workloads.extend(control(suite, scope)?);
    Ok(workloads)
}

/// The validity of the choice of a configuration, by the id of its benchmark.
pub fn keys(suite: &str, scope: &GpuScope, device: &DeviceFacts) -> Result<BTreeMap<String, Key>, MeasureError> {
    let key =
        |one: &Timed| key(one.operation.name, bucket(&one.operation), one.dtype.word(), one.source_digest(), device);
    timed(scope).iter().map(|one| Ok((one.benchmark(suite, TUNED, Track::Hot)?.id(), key(one)))).collect()
}

pub fn tuned_id(suite: &str, operation: &Operation, dtype: Dtype) -> Result<String, MeasureError> {
    let one = Timed { operation: operation.clone(), dtype, is_large: false };
    Ok(one.benchmark(suite, TUNED, Track::Hot)?.id())
}

/// The shape of an operation, as in registries.
pub fn bucket(operation: &Operation) -> String {
    let fields = operation.params.iter().map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())));
    shape_bucket(&fields.collect())
}

fn timed(scope: &GpuScope) -> Vec<Timed> {
    let at = |profile: &Profile| {
        let is_large = profile.is_large();
        let timed = move |operation: Operation| {
            scope.dtypes.iter().map(move |dtype| Timed { operation: operation.clone(), dtype: *dtype, is_large })
        };
        Operation::all(profile).into_iter().flat_map(timed).collect::<Vec<Timed>>()
    };
    scope.profiles.iter().flat_map(at).collect()
}

/// The A/A control: TilePack in the tuned form next to itself on other memory.
fn control(suite: &str, scope: &GpuScope) -> Result<Option<Workload>, MeasureError> {
    let Some(one) = timed(scope).into_iter().next() else { return Ok(None) };
    Ok(Some(one.workload(suite, scope, TUNED, Track::Hot)?.control(suite, one.operation.name)?))
}

#[derive(Clone)]
struct Timed {
    operation: Operation,
    dtype: Dtype,
    is_large: bool,
}

impl Timed {
    fn workload(&self, suite: &str, scope: &GpuScope, variant: &str, track: Track) -> Result<Workload, MeasureError> {
        let Timed { operation, dtype, is_large } = self;
        let is_tuned = variant == TUNED;
        let (one, folder) = (self.clone(), scope.compiled.clone());
        let prepare = Box::new(move |order: &Order<'_>| {
            let tuned = one.operation.configuration(order.configuration).map(GpuForm::Tuned);
            let form = if is_tuned { tuned? } else { GpuForm::Reference };
            let prepared =
                Device::of_this_thread(folder.as_deref()).and_then(|device| one.prepare(&device, form, track, order));
            prepared.map_err(|error| error.reason())
        });
        let configurations =
            if is_tuned { operation.candidates.iter().map(|one| one.name()).collect() } else { Vec::new() };
        let leader = self.benchmark(suite, variant, Track::Hot)?;
        let moved = operation.bytes_moved(*dtype);
        let measured = OnDevice { track, work: operation.work, moved, is_large: *is_large, configurations };
        Ok(measured.workload(self.benchmark(suite, variant, track)?, &leader, prepare))
    }

    fn benchmark(&self, suite: &str, variant: &str, track: Track) -> Result<Benchmark, BenchmarkError> {
        let mut params = self.operation.params.clone();
        params.push(("dtype", self.dtype.word().to_owned()));
        params.push(("track", track.word().to_owned()));
        Benchmark::new(suite, self.operation.name, &params, variant)
    }

    fn source_digest(&self) -> String {
        let candidates = self.operation.candidates.iter().copied().map(GpuForm::Tuned);
        let programs = candidates.map(|form| self.operation.program(self.dtype, form));
        let files: BTreeSet<String> = programs
            .flat_map(|program| program.kernels().map(|kernel| kernel.source.name().to_owned()).collect::<Vec<_>>())
            .collect();
        let text: String = files.iter().filter_map(|file| operation::source(file)).collect();
        digest::sha256_hex(text.as_bytes())[..16].to_owned()
    }

    /// Checks the form, at uneven shapes first, then prepares as many sets of buffers as the track needs.
    fn prepare(
        &self,
        device: &Rc<Device>,
        form: GpuForm,
        track: Track,
        order: &Order<'_>,
    ) -> Result<Prepared, DeviceError> {
        let Timed { operation, dtype, .. } = self;
        let mut parity = crate::parity::unchecked();
        if order.check {
            parity = parity::uneven(device, operation, *dtype, form, order.seed)?;
        }
        let program = operation.program(*dtype, form);
        let bytes = program.bytes();
        // The bytes that a call touches must exceed the cache, not those that its buffers could hold.
        let touched = operation.bytes_moved(*dtype).unwrap_or(bytes);
        let instances = instances(device, &program, touched, track, order)?;
        if order.check {
            let supply = supply(order, 0);
            parity = parity::worse(parity, parity::at_shape(device, &instances[0], operation, (*dtype, form), supply)?);
            if form == GpuForm::Reference && parity.status != ParityStatus::Mismatch {
                parity = Parity { status: ParityStatus::Reference, ..parity };
            }
        }
        let pool_bytes = bytes.saturating_mul(instances.len());
        timer::prepared(device, instances, track, parity, pool_bytes)
    }
}

pub(super) struct OnDevice {
    pub(super) track: Track,
    pub(super) work: (&'static str, f64),
    /// Bytes that a call must read and write; absent where there is no bound.
    pub(super) moved: Option<usize>,
    /// Whether memory bounds it, not the launch.
    pub(super) is_large: bool,
    pub(super) configurations: Vec<String>,
}

impl OnDevice {
    /// `leader` is the benchmark of the hot track.
    pub(super) fn workload(self, benchmark: Benchmark, leader: &Benchmark, prepare: Prepare) -> Workload {
        let OnDevice { track, work, moved, is_large, configurations } = self;
        // A copy reads and writes, so half the bytes move as much.
        let copy = |moved: usize| Calibrator::DeviceCopy { bytes: (moved / 2).next_multiple_of(16).max(16), track };
        let launch = Calibrator::DeviceLaunch { track };
        Workload {
            benchmark,
            // A gate judges the kernels themselves; the other tracks explain more.
            role: if track == Track::Hot { Role::Tracked } else { Role::Reported },
            class: Class::Device,
            threads: 1,
            work,
            // A launch dominates small kernels, memory large ones.
            companion: Companion::Calibration(moved.filter(|_| is_large).map_or(launch, copy)),
            limit: moved.map(|moved| Limit { kernel: copy(moved), bytes: moved as f64 }),
            configurations,
            tuned_with: if track == Track::Hot { None } else { Some(leader.id()) },
            prepare,
        }
    }
}

/// As many sets of buffers as the track needs, for a call that touches so many bytes.
pub(super) fn instances(
    device: &Rc<Device>,
    program: &DeviceProgram,
    touched: usize,
    track: Track,
    order: &Order<'_>,
) -> Result<Vec<Rc<Instance>>, DeviceError> {
    // Half of the free memory holds them all.
    let most = device.context.memory()?.0 / 2 / program.bytes().max(1);
    let sets = track.sets(touched, device.cache_bytes).min(most.max(2));
    let sets = u32::try_from(sets).unwrap_or(u32::MAX);
    (0..sets).map(|set| Instance::new(device, program.clone(), supply(order, set)).map(Rc::new)).collect()
}

fn supply(order: &Order<'_>, set: u32) -> Supply {
    Supply::of_set(order.seed, if order.is_twin { TWIN_SET } else { 0 } + set)
}

/// What runs on a device.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceScope {
    Gpu(GpuScope),
    Cuda(CustomScope),
}

impl DeviceScope {
    pub fn workloads(&self, suite: &str) -> Result<Vec<Workload>, MeasureError> {
        match self {
            DeviceScope::Gpu(scope) => workloads(suite, scope),
            DeviceScope::Cuda(scope) => custom::suite::workloads(suite, scope),
        }
    }

    pub fn keys(&self, suite: &str, device: &DeviceFacts) -> Result<BTreeMap<String, Key>, MeasureError> {
        match self {
            DeviceScope::Gpu(scope) => keys(suite, scope, device),
            DeviceScope::Cuda(scope) => custom::suite::keys(suite, scope, device),
        }
    }
}

/// The validity of a choice on a device.
pub(super) fn key(op: &str, bucket: String, dtype: &str, source_digest: String, device: &DeviceFacts) -> Key {
    let (major, minor) = device.compute_capability;
    Key {
        op: op.to_owned(),
        bucket,
        dtype: dtype.to_owned(),
        source_digest,
        nvrtc: device.nvrtc.clone(),
        driver: device.driver.clone(),
        device: device.model.clone(),
        compute_capability: format!("{major}.{minor}"),
    }
}

/// Reserves the device for this process among those of Sprag.
#[derive(Debug)]
pub struct DeviceLock {
    /// Absent where the system does not support it.
    _file: Option<File>,
}

/// Takes the lock of a device; calls `wait` once where another run holds it, and then waits.
pub fn acquire(device: &str, wait: impl FnOnce()) -> DeviceLock {
    let name: String = device.chars().filter(char::is_ascii_alphanumeric).collect();
    let path = std::env::temp_dir().join(format!("sprag-gpu-{name}.lock"));
    let file = File::options().create(true).truncate(false).write(true).open(path).ok();
    let Some(file) = file else { return DeviceLock { _file: None } };
    match file.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            wait();
            // A failure to wait does not prevent measuring.
            let _ = file.lock();
        }
        Err(std::fs::TryLockError::Error(_)) => {}
    }
    DeviceLock { _file: Some(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_owner_waits_for_the_first() {
        let name = format!("test{}", std::process::id());
        let first = acquire(&name, || panic!("nobody holds it"));
        let (sender, waits) = std::sync::mpsc::channel();
        let second = std::thread::spawn(move || drop(acquire(&name, || sender.send(()).expect("it is awaited"))));
        waits.recv().expect("it waits");
        drop(first);
        second.join().expect("it goes on");
    }
}
