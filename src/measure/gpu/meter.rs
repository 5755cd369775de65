//! From instances and a track to what a worker times, with the device warm and watched.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::DeviceError;
use super::device::Device;
use super::driver::{Context, DeviceBuffer, Function};
use super::instance::{Instance, Supply};
use super::nvml::Monitor;
use super::operation::copy;
use super::program::{CudaKernel, Dtype};
use super::throttle::{DeviceState, Watch};
use super::timer::DeviceTimer;
use super::track::Track;
use crate::workload::{Meter, Prepared};
use sprag_model::benchmark::Parity;

/// A device that idled is given work for at least so long: its clock rises over tens of milliseconds.
const LEAST_WARMING: Duration = Duration::from_millis(200);

/// After so long it is as warm as it will get.
const MOST_WARMING: Duration = Duration::from_secs(2);

/// Two readings of the clock that differ by less than this share agree.
const STEADY_CLOCK: f64 = 0.01;

/// The set of the copy that warms up, which no benchmark uses.
const WARMING_SET: u32 = 1 << 17;

/// A benchmark that the device times. `bytes` is what its buffers hold.
pub fn prepared(
    device: &Rc<Device>,
    instances: Vec<Rc<Instance>>,
    track: Track,
    parity: Parity,
    bytes: usize,
) -> Result<Prepared, DeviceError> {
    let watch = device.watch_or(|| watch(device))?;
    // How many calls fill a replay depends on the clock.
    watch.wake();
    let first = instances.first().cloned();
    let first = first.ok_or_else(|| DeviceError::Program("a benchmark needs an instance".to_owned()))?;
    let timer = DeviceTimer::new(device, instances, track)?;
    watch.worked();
    let calls = timer.calls();
    // What was well a moment ago and fails now is a broken device: this process ends, and the benchmark is to blame.
    let sample = move || timer.sample().unwrap_or_else(|error| panic!("{error}"));
    let context = device.context.clone();
    let call = move || first.call().and_then(|()| context.wait()).unwrap_or_else(|error| panic!("{error}"));
    Ok(Prepared {
        parity,
        peak_bytes: Some(bytes as u64),
        call: Box::new(call),
        meter: Some(Meter { calls, sample: Box::new(sample), watch, pool_bytes: device.context.pool_high_water() }),
    })
}

fn watch(device: &Rc<Device>) -> Result<Watch, DeviceError> {
    let (clock, work) = (Rc::new(DeviceClock::new(device)?), warming(device)?);
    let warm_clock = clock.clone();
    let warm = move || warm_up(&work, &warm_clock).unwrap_or_else(|error| panic!("{error}"));
    // Without the library only the clock is watched; the facts of the run say so.
    let monitor = Monitor::open(device.context.uuid()?).ok();
    let read = move || {
        // The clock is read first: asking the library takes so long that it would fall.
        let seen_clock = clock.hertz().ok();
        let state = monitor.as_ref().map(Monitor::state).unwrap_or_default();
        DeviceState { seen_clock, ..state }
    };
    Ok(Watch::new(read, warm))
}

/// What the device is warmed up with: a copy through its memory. It lives as long as the device, and keeps it open until the
/// process ends.
fn warming(device: &Rc<Device>) -> Result<Instance, DeviceError> {
    let bytes = (2 * device.cache_bytes).max(1 << 20);
    let elements = bytes / Dtype::F32.bytes();
    Instance::new(device, copy::plain_copy(elements), Supply::of_set(0, WARMING_SET))
}

/// Gives the device work for a while, and until two readings of its clock agree.
fn warm_up(work: &Instance, clock: &DeviceClock) -> Result<(), DeviceError> {
    let start = Instant::now();
    let mut before = 0.0;
    while start.elapsed() < MOST_WARMING {
        for _ in 0..10 {
            work.call()?;
        }
        clock.context.wait()?;
        let now = clock.hertz()?;
        let steady = (now - before).abs() <= STEADY_CLOCK * now;
        if steady && start.elapsed() >= LEAST_WARMING {
            break;
        }
        before = now;
    }
    Ok(())
}

/// The clock of the multiprocessors, as a kernel sees it: its cycles over the nanoseconds of the device's timer.
struct DeviceClock {
    context: Rc<Context>,
    kernel: Function,
    readings: DeviceBuffer,
}

impl DeviceClock {
    fn new(device: &Rc<Device>) -> Result<DeviceClock, DeviceError> {
        let kernel =
            CudaKernel { file: "clock.cu", entry: "clock_reading", dtype: Dtype::F32, defines: Default::default() };
        let readings = device.context.allocate(2 * size_of::<u64>())?;
        Ok(DeviceClock { context: device.context.clone(), kernel: device.function(&kernel)?, readings })
    }

    fn hertz(&self) -> Result<f64, DeviceError> {
        self.context.launch(&self.kernel, [1, 1, 1], 1, 0, &[self.readings.address()])?;
        let bytes = self.readings.download()?;
        let number = |place: usize| {
            let part = bytes[place * 8..][..8].try_into().expect("eight bytes were taken");
            u64::from_le_bytes(part) as f64
        };
        Ok(number(0) / number(1).max(1.0) * 1e9)
    }
}
