//! Takes samples of a call on the device by one of four tracks:
//!
//! - hot: calls recorded in a graph and replayed on the same memory, which may lie in the second-level cache; launching costs
//!   next to nothing.
//! - rotating: the same over so many sets of buffers that they exceed the cache three times, which shows the traffic to
//!   memory.
//! - cold: one call after the cache was overwritten.
//! - host: launching and waiting, by the host's clock: what a caller sees.
//!
//! Only the work lies between events: a kernel holds the stream until all is queued. Events have a resolution of half a
//! microsecond, so replays take about a millisecond.

use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::clock;
use crate::gpu::DeviceError;
use crate::gpu::device::Device;
use crate::gpu::driver::{CudaEvent, DeviceBuffer, Function, Graph, HostFlag, Primary};
use crate::gpu::instance::{Instance, Supply};
use crate::gpu::nvml::Monitor;
use crate::gpu::operation::copy;
use crate::gpu::program::{CudaKernel, Dtype};
use crate::gpu::settings::Track;
use crate::gpu::throttle::{DeviceState, Watch};
use crate::workload::{Meter, Prepared};
use sprag_model::Parity;

/// Seconds of a replay: two thousand times the resolution of the events.
const REPLAY_SECONDS: f64 = 1e-3;

/// The most launches of a graph, unless more sets of buffers need one each.
const MOST_NODES: usize = 1000;

/// Calls of the first estimate of what one takes.
const ESTIMATE_CALLS: u32 = 8;

/// Replays before those that count.
const WARM_REPLAYS: u32 = 3;

/// The second-level cache is overwritten so often before a cold call.
const FLUSHED_CACHES: usize = 2;

/// The longest wait of the kernel that holds the stream, in nanoseconds, if the host dies.
const LONGEST_WAIT: u64 = 2_000_000_000;

pub struct DeviceTimer {
    device: Rc<Device>,
    gate: Gate,
    start: CudaEvent,
    stop: CudaEvent,
    way: Way,
}

/// Holds the stream until the timed work is queued, so that gaps between launches are not timed.
struct Gate {
    flag: HostFlag,
    spin: Function,
}

enum Way {
    Replay { graph: Graph, calls: u32, _instances: Vec<Rc<Instance>> },
    Cold { instance: Rc<Instance>, flushed: DeviceBuffer },
    Host(Rc<Instance>),
}

impl DeviceTimer {
    pub fn new(device: &Rc<Device>, instances: Vec<Rc<Instance>>, track: Track) -> Result<DeviceTimer, DeviceError> {
        let context = &device.context;
        let first = instances.first().cloned();
        let first = first.ok_or_else(|| DeviceError::Program("a track needs an instance".to_owned()))?;
        // The first launch of a kernel loads it, which must not happen behind one that waits.
        instances.iter().try_for_each(|instance| instance.call())?;
        context.wait()?;
        let way = match track {
            Track::Hot | Track::Rotating => replay(device, instances)?,
            Track::Cold => {
                let flushed = context.allocate((FLUSHED_CACHES * device.cache_bytes).max(1 << 20))?;
                Way::Cold { instance: first, flushed }
            }
            Track::Host => Way::Host(first),
        };
        let (start, stop) = (context.event()?, context.event()?);
        let timer = DeviceTimer { device: device.clone(), gate: Gate::new(device)?, start, stop, way };
        for _ in 0..WARM_REPLAYS {
            timer.sample()?;
        }
        Ok(timer)
    }

    pub fn calls(&self) -> u32 {
        match &self.way {
            Way::Replay { calls, .. } => *calls,
            Way::Cold { .. } | Way::Host(_) => 1,
        }
    }

    /// Returns the seconds of one call.
    pub fn sample(&self) -> Result<f64, DeviceError> {
        match &self.way {
            Way::Replay { graph, calls, .. } => {
                self.queued(|| graph.launch())?;
                Ok(self.start.seconds_to(&self.stop)? / f64::from(*calls))
            }
            Way::Cold { instance, flushed } => {
                flushed.set(0)?;
                self.queued(|| instance.call())?;
                self.start.seconds_to(&self.stop)
            }
            Way::Host(instance) => {
                let mut done = Ok(());
                let nanos = clock::time(|| done = instance.call().and_then(|()| self.device.context.wait()));
                done.map(|()| nanos.seconds())
            }
        }
    }

    /// Queues work between the two events while the stream is held.
    fn queued(&self, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<(), DeviceError> {
        let context = &self.device.context;
        context.wait()?;
        self.gate.flag.set(0);
        context.launch(&self.gate.spin, [1, 1, 1], [1, 1, 1], 0, &[self.gate.flag.address(), LONGEST_WAIT])?;
        let queued = self.start.record().and_then(|()| work()).and_then(|()| self.stop.record());
        // Also after an error: the device must not wait on.
        self.gate.flag.set(1);
        queued
    }
}

impl Gate {
    fn new(device: &Device) -> Result<Gate, DeviceError> {
        let kernel = CudaKernel::built_in("spin.cu", "spin", Dtype::F32);
        let gate = Gate { flag: device.context.flag()?, spin: device.function(&kernel)? };
        // The first launch loads it, which must not happen in a sample.
        gate.flag.set(1);
        device.context.launch(&gate.spin, [1, 1, 1], [1, 1, 1], 0, &[gate.flag.address(), LONGEST_WAIT])?;
        device.context.wait()?;
        Ok(gate)
    }
}

/// Records as many calls as a replay should hold.
fn replay(device: &Rc<Device>, instances: Vec<Rc<Instance>>) -> Result<Way, DeviceError> {
    let context = &device.context;
    let record =
        |calls: usize| context.capture(|| (0..calls).try_for_each(|call| instances[call % instances.len()].call()));
    let (start, stop) = (context.event()?, context.event()?);
    // A graph, since single launches would be timed with the gaps between them.
    let seconds_of_a_call = |calls: u32| {
        let few = record(calls as usize)?;
        few.upload()?;
        few.launch()?;
        start.record()?;
        few.launch()?;
        stop.record()?;
        Ok::<f64, DeviceError>(start.seconds_to(&stop)? / f64::from(calls))
    };
    let mut call_seconds = seconds_of_a_call(1)?;
    if call_seconds < REPLAY_SECONDS {
        call_seconds = seconds_of_a_call(ESTIMATE_CALLS)?;
    }
    let steps = instances.iter().map(|instance| instance.program().steps.len()).max().unwrap_or(1);
    let calls = calls_of_a_replay(call_seconds, steps, instances.len());
    let graph = record(calls)?;
    graph.upload()?;
    Ok(Way::Replay { graph, calls: u32::try_from(calls).unwrap_or(u32::MAX), _instances: instances })
}

/// Long enough for the events, and not too large a graph; whole rotations over the sets.
fn calls_of_a_replay(call_seconds: f64, steps: usize, sets: usize) -> usize {
    let wanted = (REPLAY_SECONDS / call_seconds.max(1e-9)).round();
    let most = (MOST_NODES / steps.max(1)).max(1);
    let calls = (wanted as usize).clamp(1, most);
    let rotations = if calls.div_ceil(sets) * sets <= most { calls.div_ceil(sets) } else { calls / sets };
    rotations.max(1) * sets
}

/// The clock of an idle device rises over tens of milliseconds.
const LEAST_WARMING: Duration = Duration::from_millis(200);

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
    // The calls of a replay depend on the clock.
    watch.wake();
    let first = instances.first().cloned();
    let first = first.ok_or_else(|| DeviceError::Program("a benchmark needs an instance".to_owned()))?;
    let timer = DeviceTimer::new(device, instances, track)?;
    watch.worked();
    let calls = timer.calls();
    // The device has worked before, so an error breaks it: this process ends, and its benchmark is to blame.
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
    // Without the library only the clock is watched, as the facts of the run show.
    let monitor = Monitor::open(device.context.uuid()?).ok();
    let read = move || {
        // The clock is read first: it falls while the library answers.
        let seen_clock = clock.hertz().ok();
        let state = monitor.as_ref().map(Monitor::state).unwrap_or_default();
        DeviceState { seen_clock, ..state }
    };
    Ok(Watch::new(read, warm))
}

/// A copy that warms up the device. It lives as long as the device and keeps it open until the process ends.
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

/// The clock of the multiprocessors in a kernel: its cycles over the nanoseconds of the device's timer.
struct DeviceClock {
    context: Rc<Primary>,
    kernel: Function,
    readings: DeviceBuffer,
}

impl DeviceClock {
    fn new(device: &Rc<Device>) -> Result<DeviceClock, DeviceError> {
        let kernel = CudaKernel::built_in("clock.cu", "clock_reading", Dtype::F32);
        let readings = device.context.allocate(2 * size_of::<u64>())?;
        Ok(DeviceClock { context: device.context.clone(), kernel: device.function(&kernel)?, readings })
    }

    fn hertz(&self) -> Result<f64, DeviceError> {
        self.context.launch(&self.kernel, [1, 1, 1], [1, 1, 1], 0, &[self.readings.address()])?;
        let bytes = self.readings.download()?;
        let number = |place: usize| {
            let part = bytes[place * 8..][..8].try_into().expect("eight bytes were taken");
            u64::from_le_bytes(part) as f64
        };
        Ok(number(0) / number(1).max(1.0) * 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_is_long_enough_and_has_complete_rotations() {
        let check = |call_seconds, steps, sets, expected: usize| {
            assert_eq!(calls_of_a_replay(call_seconds, steps, sets), expected, "{call_seconds} {steps} {sets}");
        };
        check(1e-3, 1, 1, 1);
        check(5e-3, 4, 1, 1);
        check(2e-6, 1, 1, 500);
        check(1e-7, 1, 1, 1000);
        check(1e-7, 4, 1, 250);
        check(3e-4, 1, 8, 8);
        check(1e-4, 1, 8, 16);
        check(0.0, 1, 1, 1000);
        check(1e-7, 1, 720, 720);
        check(1e-7, 4, 300, 300);
    }
}
