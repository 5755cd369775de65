//! A block: samples of one benchmark taken one after another, and which of them count.
//!
//! The first samples of a block pay for the caches that the benchmark before has left, so leading samples are dropped
//! until one is within 3 % of the median of the block's last half. Preempted samples tell about others. Both
//! stay in the block; they are left out of what is computed from it.

use serde::{Deserialize, Serialize};

use super::clock;
use crate::model::sample::Sample;
use crate::stats::describe;

/// A sample has settled when it is at most this share above the median of the block's last half. Caches that are
/// being filled show as 5 to 100 %, the noise of settled samples as 0.2 to 4 %.
const SETTLED: f64 = 0.03;

/// Samples dropped at least, of a block of six or more; one of a shorter block.
const LEAST_DROPPED: usize = 2;

/// Work that is being timed: how many calls make a sample, and how many samples a block.
pub struct Subject {
    /// One call.
    pub call: Box<dyn FnMut()>,
    /// Whether the work stays on the calling thread.
    pub on_this_thread: bool,
    /// Calls in a sample.
    pub calls: u32,
    /// Samples in a block.
    pub samples: usize,
}

/// The samples of one block, in the order in which they were taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// All samples.
    pub samples: Vec<Sample>,
    /// How many of the first have not settled.
    pub unsettled: usize,
}

impl Subject {
    /// Takes one block.
    pub fn block(&mut self) -> Block {
        let samples: Vec<Sample> =
            (0..self.samples).map(|_| clock::sample(self.calls, self.on_this_thread, &mut self.call)).collect();
        Block { unsettled: unsettled(&samples), samples }
    }
}

impl Block {
    /// The samples that have settled.
    pub fn settled(&self) -> &[Sample] {
        &self.samples[self.unsettled.min(self.samples.len())..]
    }

    /// The wall times, in seconds a call, of the samples that count.
    pub fn clean(&self) -> Vec<f64> {
        self.settled().iter().filter(|sample| !sample.preempted).map(|sample| sample.wall).collect()
    }

    /// The median of the samples that count. Where every one was preempted, as those of calls longer than a slice of
    /// the scheduler on a busy machine, that of what the thread itself was running.
    pub fn median(&self) -> Option<f64> {
        let own = |sample: &Sample| sample.cpu.unwrap_or(sample.wall);
        describe::median(&self.clean())
            .or_else(|| describe::median(&self.settled().iter().map(own).collect::<Vec<f64>>()))
    }
}

fn unsettled(samples: &[Sample]) -> usize {
    let last_half: Vec<f64> = samples[samples.len() / 2..].iter().map(|sample| sample.wall).collect();
    let Some(level) = describe::median(&last_half) else { return 0 };
    let least = if samples.len() >= 3 * LEAST_DROPPED { LEAST_DROPPED } else { 1 };
    let settled = |sample: &Sample| sample.wall <= level * (1.0 + SETTLED);
    let first = samples.iter().position(settled).unwrap_or(samples.len() / 2);
    first.clamp(least.min(samples.len().saturating_sub(1)), (samples.len() / 2).max(least))
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
        Block { unsettled: unsettled(&samples), samples }
    }

    #[test]
    fn leading_samples_are_dropped_until_one_is_at_the_level_of_the_rest() {
        let check = |walls: &[f64], expected: usize| assert_eq!(block(walls, &[]).unsettled, expected, "{walls:?}");
        check(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 2);
        check(&[1.5, 1.3, 1.17, 1.08, 1.02, 1.0, 1.0, 1.0, 1.0, 1.0], 4);
        check(&[2.0, 1.0, 1.0], 1);
        check(&[2.0, 1.9, 1.8, 1.7, 1.0, 1.0, 1.0, 1.0], 4);
        check(&[2.0, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4, 1.3], 4);
        check(&[1.0], 0);
        check(&[], 0);
    }

    #[test]
    fn preempted_samples_do_not_count_unless_there_are_no_others() {
        let some = block(&[1.0, 1.0, 1.0, 9.0, 1.2, 1.4], &[3]);
        assert_eq!((some.clean(), some.median()), (vec![1.0, 1.2, 1.4], Some(1.2)));
        let mut all = block(&[1.0, 5.0, 7.0], &[0, 1, 2]);
        assert_eq!((all.clean(), all.median()), (vec![], Some(6.0)));
        all.samples[2].cpu = Some(3.0);
        assert_eq!(all.median(), Some(4.0));
        assert_eq!(block(&[], &[]).median(), None);
    }

    #[test]
    fn a_subject_is_called_as_often_as_it_says() {
        let count = std::rc::Rc::new(std::cell::Cell::new(0));
        let counted = count.clone();
        let call = Box::new(move || counted.set(counted.get() + 1));
        let mut subject = Subject { call, on_this_thread: true, calls: 5, samples: 7 };
        assert_eq!((subject.block().samples.len(), count.get()), (7, 35));
    }
}
