//! A block: consecutive samples of one benchmark, and which of them count.
//!
//! The first samples of a block pay for the caches that the benchmark before has filled, so a block is warmed up until its
//! samples stop falling: two samples where the work fits the caches of the core, thirty or more where it must refill its
//! part of the shared cache. A short block, of slow calls, drops its leading samples until one is within 3 % of the median
//! of the last half. Dropped and preempted samples stay in the block, but nothing is computed from them.

use serde::{Deserialize, Serialize};

use super::clock;
use super::gpu::throttle::{self, BlockState};
use super::workload::Meter;
use sprag_base::stats::describe;
use sprag_model::Sample;

/// The most by which a settled sample exceeds the median of the last half. Caches show as 5 to 100 %, noise as 0.2 to 4 %.
const SETTLED: f64 = 0.03;

/// Samples that fall by a smaller share from one group to the next are settled.
const FALLING: f64 = 0.01;

/// Samples of a group, of which the smallest counts.
const GROUP: usize = 4;

/// Warming up ends after so many samples …
const MOST_WARMING: usize = 64;

/// … or after so many seconds: samples of milliseconds warm the caches within themselves.
const LONGEST_WARMING: f64 = 0.01;

/// Shorter blocks are not warmed up.
const WARMED_UP: usize = 6;

pub struct TimedWork {
    pub timer: Timer,
    pub samples: usize,
}

pub enum Timer {
    Host {
        call: Box<dyn FnMut()>,
        /// Whether the work stays on the calling thread, whose clock then counts.
        on_this_thread: bool,
        calls: u32,
    },
    Device(Meter),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    pub samples: Vec<Sample>,
    /// How many of the first samples do not count.
    pub unsettled: usize,
    /// The state of the device; absent where the host did the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<BlockState>,
}

impl Timer {
    pub fn calls(&self) -> u32 {
        match self {
            Timer::Host { calls, .. } => *calls,
            Timer::Device(meter) => meter.calls,
        }
    }

    pub fn sample(&mut self) -> Sample {
        match self {
            Timer::Host { call, on_this_thread, calls } => clock::sample(*calls, *on_this_thread, call),
            Timer::Device(meter) => Sample { wall: (meter.sample)(), cpu: None, preempted: false },
        }
    }
}

impl TimedWork {
    /// Takes one block. A throttled one is taken again, a few times; the last one is marked.
    pub fn block(&mut self) -> Block {
        let Timer::Device(meter) = &self.timer else { return self.take() };
        let watch = meter.watch.clone();
        let mut retries = 0;
        loop {
            watch.wake();
            let before = watch.state();
            let block = self.take();
            let state = watch.between(&before, &watch.state(), retries);
            watch.worked();
            if !watch.wants_another(&state) {
                return Block { device: Some(state), ..block };
            }
            retries += 1;
            std::thread::sleep(throttle::PAUSE);
        }
    }

    fn take(&mut self) -> Block {
        let mut samples = Vec::with_capacity(self.samples + 2 * GROUP);
        if self.samples < WARMED_UP {
            samples.extend((0..self.samples).map(|_| self.timer.sample()));
            return Block { unsettled: unsettled(&samples), samples, device: None };
        }
        let mut warmed = 0.0;
        while samples.len() < MOST_WARMING && warmed < LONGEST_WARMING && is_falling(&samples) {
            let sample = self.timer.sample();
            warmed += sample.wall * f64::from(self.timer.calls());
            samples.push(sample);
        }
        let unsettled = samples.len();
        samples.extend((0..self.samples).map(|_| self.timer.sample()));
        Block { unsettled, samples, device: None }
    }
}

/// Whether the newest group of samples is smaller than the one before, or there are no two groups yet.
fn is_falling(samples: &[Sample]) -> bool {
    let Some(start) = samples.len().checked_sub(2 * GROUP) else { return true };
    let smallest = |group: &[Sample]| group.iter().map(|sample| sample.wall).fold(f64::INFINITY, f64::min);
    let (before, newest) = samples[start..].split_at(GROUP);
    smallest(newest) < smallest(before) * (1.0 - FALLING)
}

impl Block {
    pub fn settled(&self) -> &[Sample] {
        &self.samples[self.unsettled.min(self.samples.len())..]
    }

    /// Wall times in seconds a call, of the samples that count.
    pub fn clean(&self) -> Vec<f64> {
        self.settled().iter().filter(|sample| !sample.preempted).map(|sample| sample.wall).collect()
    }

    /// The median of the samples that count; where all were preempted, the median of their thread times.
    pub fn median(&self) -> Option<f64> {
        let own = |sample: &Sample| sample.cpu.unwrap_or(sample.wall);
        describe::median(&self.clean())
            .or_else(|| describe::median(&self.settled().iter().map(own).collect::<Vec<f64>>()))
    }
}

fn unsettled(samples: &[Sample]) -> usize {
    let last_half: Vec<f64> = samples[samples.len() / 2..].iter().map(|sample| sample.wall).collect();
    let Some(level) = describe::median(&last_half) else { return 0 };
    let settled = |sample: &Sample| sample.wall <= level * (1.0 + SETTLED);
    let first = samples.iter().position(settled).unwrap_or(samples.len() / 2);
    first.clamp(1.min(samples.len().saturating_sub(1)), (samples.len() / 2).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(walls: &[f64], preempted: &[usize]) -> Block {
        let sample = |(position, wall): (usize, &f64)| Sample {
            wall: *wall,
            cpu: Some(*wall),
            preempted: preempted.contains(&position),
        };
        let samples: Vec<Sample> = walls.iter().enumerate().map(sample).collect();
        Block { unsettled: unsettled(&samples), samples, device: None }
    }

    #[test]
    fn leading_samples_are_dropped_until_one_is_at_the_level_of_the_rest() {
        let check = |walls: &[f64], expected: usize| assert_eq!(block(walls, &[]).unsettled, expected, "{walls:?}");
        check(&[1.0, 1.0, 1.0], 1);
        check(&[1.5, 1.3, 1.02, 1.0, 1.0], 2);
        check(&[2.0, 1.0, 1.0], 1);
        check(&[2.0, 1.9, 1.8, 1.7, 1.6], 2);
        check(&[1.0], 0);
        check(&[], 0);
    }

    #[test]
    fn preempted_samples_do_not_count_unless_there_are_no_others() {
        let some = block(&[1.0, 1.0, 1.0, 9.0, 1.2, 1.4], &[3]);
        assert_eq!((some.clean(), some.median()), (vec![1.0, 1.0, 1.2, 1.4], Some(1.1)));
        let mut all = block(&[1.0, 5.0, 7.0], &[0, 1, 2]);
        assert_eq!((all.clean(), all.median()), (vec![], Some(6.0)));
        all.samples[2].cpu = Some(3.0);
        assert_eq!(all.median(), Some(4.0));
        assert_eq!(block(&[], &[]).median(), None);
    }

    #[test]
    fn warming_samples_are_taken_on_top_of_those_asked_for() {
        let count = std::rc::Rc::new(std::cell::Cell::new(0));
        let counted = count.clone();
        let call = Box::new(move || counted.set(counted.get() + 1));
        let mut subject = TimedWork { timer: Timer::Host { call, on_this_thread: true, calls: 5 }, samples: 7 };
        let block = subject.block();
        assert!(block.unsettled >= 1 && block.unsettled <= MOST_WARMING);
        assert_eq!((block.settled().len(), count.get()), (7, 5 * block.samples.len()));
        let call = Box::new(|| ());
        let mut short = TimedWork { timer: Timer::Host { call, on_this_thread: true, calls: 1 }, samples: 3 };
        assert_eq!(short.block().samples.len(), 3);
    }

    #[test]
    fn warming_ends_when_samples_stop_falling() {
        let check = |walls: &[f64], expected: bool| {
            assert_eq!(is_falling(&block(walls, &[]).samples), expected, "{walls:?}");
        };
        check(&[], true);
        check(&[1.0; 7], true);
        check(&[1.0; 8], false);
        check(&[2.2, 1.1, 0.95, 0.9, 0.84, 0.78, 0.75, 0.71], true);
        check(&[1.0, 1.0, 1.0, 1.0, 9.0, 1.0, 0.995, 1.0], false);
        check(&[9.0, 9.0, 9.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], false);
    }
}
