//! Takes samples of a call on the device by one of four tracks, each the answer to another question.
//!
//! - hot: calls recorded in a graph and replayed, on the same memory: what the kernel takes when its data may lie in the
//!   second-level cache and launching costs next to nothing.
//! - rotating: the same over so many sets of buffers that together they exceed the cache three times: the traffic to
//!   memory of kernels that would fit the cache.
//! - cold: one call after the cache was overwritten.
//! - host: launching and waiting, by the host's clock: what a caller sees.
//!
//! Between events nothing but the work is timed: the stream is held by a kernel that waits until all is queued. Events tell
//! to half a microsecond, so hot and rotating replays take about a millisecond.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::DeviceError;
use super::device::Device;
use super::driver::{DeviceBuffer, Event, Flag, Function, Graph};
use super::instance::Instance;
use super::program::{CudaKernel, Dtype};
use super::track::Track;
use crate::clock;

/// What a replay should take, in seconds: two thousand times the resolution of the events.
const REPLAY_SECONDS: f64 = 1e-3;

/// The most launches of a graph, unless more sets of buffers ask for one each.
const MOST_NODES: usize = 1000;

/// Calls of the first estimate of what one takes.
const ESTIMATE_CALLS: u32 = 8;

/// Replays before those that count.
const WARM_REPLAYS: u32 = 3;

/// How much of the second-level cache is overwritten before a cold call.
const FLUSHED_CACHES: usize = 2;

/// What the kernel that holds the stream waits at most, in nanoseconds: a host that dies must not hang the device.
const LONGEST_WAIT: u64 = 2_000_000_000;

pub struct DeviceTimer {
    device: Rc<Device>,
    gate: Gate,
    start: Event,
    stop: Event,
    way: Way,
}

/// Holds the stream until all that is to be timed is queued, so that no gap between launches is timed along.
struct Gate {
    flag: Flag,
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
        // Every kernel is loaded by its first launch, which must not happen behind one that waits.
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

    /// Takes one sample: seconds of one call.
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
}

impl DeviceTimer {
    /// Queues work between the two events while the stream is held.
    fn queued(&self, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<(), DeviceError> {
        let context = &self.device.context;
        context.wait()?;
        self.gate.flag.set(0);
        context.launch(&self.gate.spin, [1, 1, 1], 1, 0, &[self.gate.flag.address(), LONGEST_WAIT])?;
        let queued = self.start.record().and_then(|()| work()).and_then(|()| self.stop.record());
        // Also where queueing failed: the device must not go on waiting.
        self.gate.flag.set(1);
        queued
    }
}

impl Gate {
    fn new(device: &Device) -> Result<Gate, DeviceError> {
        let kernel = CudaKernel { file: "spin.cu", entry: "spin", dtype: Dtype::F32, defines: BTreeMap::new() };
        let gate = Gate { flag: device.context.flag()?, spin: device.function(&kernel)? };
        // Its first launch loads it, which must not happen in a sample.
        gate.flag.set(1);
        device.context.launch(&gate.spin, [1, 1, 1], 1, 0, &[gate.flag.address(), LONGEST_WAIT])?;
        device.context.wait()?;
        Ok(gate)
    }
}

/// Records as many calls as a replay should hold.
fn replay(device: &Rc<Device>, instances: Vec<Rc<Instance>>) -> Result<Way, DeviceError> {
    let context = &device.context;
    let record =
        |calls: usize| context.capture(|| (0..calls).try_for_each(|call| instances[call % instances.len()].call()));
    // Single launches would be timed with the gaps between them, so the estimate is of a graph, too.
    let (start, stop, few) = (context.event()?, context.event()?, record(ESTIMATE_CALLS as usize)?);
    few.upload()?;
    few.launch()?;
    start.record()?;
    few.launch()?;
    stop.record()?;
    let call_seconds = start.seconds_to(&stop)? / f64::from(ESTIMATE_CALLS);
    let steps = instances.iter().map(|instance| instance.program().steps.len()).max().unwrap_or(1);
    let calls = calls_of_a_replay(call_seconds, steps, instances.len());
    let graph = record(calls)?;
    graph.upload()?;
    Ok(Way::Replay { graph, calls: u32::try_from(calls).unwrap_or(u32::MAX), _instances: instances })
}

/// So many that a replay is long enough for the events and not too large a graph; whole rotations over the sets.
fn calls_of_a_replay(call_seconds: f64, steps: usize, sets: usize) -> usize {
    let wanted = (REPLAY_SECONDS / call_seconds.max(1e-9)).round();
    let most = (MOST_NODES / steps.max(1)).max(1);
    let calls = (wanted as usize).clamp(1, most);
    let rotations = if calls.div_ceil(sets) * sets <= most { calls.div_ceil(sets) } else { calls / sets };
    rotations.max(1) * sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_is_long_enough_and_holds_whole_rotations() {
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
