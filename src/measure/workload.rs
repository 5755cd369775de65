//! A benchmark that can be timed: its identity, how much work a call is, and how to make it ready.

use std::rc::Rc;

use super::calibration::Calibration;
use super::gpu::throttle::Watch;
use super::parity;
use sprag_model::benchmark::{Benchmark, Parity, ParityStatus};
use sprag_model::sample::Role;

pub struct Workload {
    pub benchmark: Benchmark,
    pub role: Role,
    pub class: Class,
    /// How many threads work in a call. The thread clock tells only about one.
    pub threads: u32,
    /// The throughput metric, such as `tiles_per_s`, and how many units one call works through.
    pub work: (&'static str, f64),
    /// What is timed beside it, so that what the machine does to both cancels.
    pub companion: Companion,
    /// How near it is to what the machine can do; absent where no such bound is known.
    pub limit: Option<Limit>,
    /// The names of the configurations that a tuner may choose from, the one used untuned first; empty where there is
    /// nothing to choose.
    pub configurations: Vec<String>,
    /// The id of the benchmark whose configuration it takes, where it is the same work timed in another way.
    pub tuned_with: Option<String>,
    /// Makes inputs and checks the result. Costly: done once a worker, outside the timed part.
    pub prepare: Prepare,
}

/// How a workload is made ready, or why it cannot be.
pub type Prepare = Box<dyn Fn(&Order<'_>) -> Result<Prepared, String>>;

/// What limits a kernel, and so how its numbers move with the load of a shared machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Arithmetic: the clock of the core.
    Compute,
    /// Traffic that stays in the caches.
    Cache,
    /// Traffic beyond the caches, which all cores share.
    Dram,
    /// Whatever limits it on a device of its own, which it shares with nobody.
    Device,
}

/// What is timed beside a benchmark, in the same rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Companion {
    Calibration(Calibration),
    /// The same work once more, on memory of its own: the true ratio is one.
    Twin,
    /// Nothing: this is itself what others are timed beside.
    Nothing,
}

/// The least time a benchmark could take, as that of a calibration kernel for the bytes it must move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The kernel that shows the speed of memory.
    pub kernel: Calibration,
    /// Bytes that a call must read and write.
    pub bytes: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    pub seed: u64,
    /// The configuration to use; the first of [`Workload::configurations`] where absent.
    pub configuration: Option<&'a str>,
    /// Whether its result is compared with the reference. Where another worker does that, it may be left out.
    pub check: bool,
    /// Whether it is the other half of an A/A control, whose memory must be its own.
    pub is_twin: bool,
}

/// The workloads whose id contains one of the texts, and every control; all where there is no text.
pub fn select<'a>(workloads: impl Iterator<Item = &'a Workload>, texts: &[String]) -> Vec<&'a Workload> {
    let wanted = |id: &str| texts.is_empty() || texts.iter().any(|text| id.contains(text.as_str()));
    let selected: Vec<&Workload> =
        workloads.filter(|workload| workload.role == Role::Control || wanted(&workload.benchmark.id())).collect();
    let any = selected.iter().any(|workload| wanted(&workload.benchmark.id()));
    if any { selected } else { Vec::new() }
}

pub struct Prepared {
    pub parity: Parity,
    /// The most bytes that it held at one time, inputs and outputs included; absent where nobody counts.
    pub peak_bytes: Option<u64>,
    /// One call, on inputs and outputs that exist already. Where a device does the work, until it is done.
    pub call: Box<dyn FnMut()>,
    /// What takes the samples where the clocks of the host do not.
    pub meter: Option<Meter>,
}

/// Takes samples of work that a device does, by its own clock.
pub struct Meter {
    pub calls: u32,
    /// Takes a sample: the seconds of one call.
    pub sample: Box<dyn FnMut() -> f64>,
    /// Tells whether the device was held back meanwhile.
    pub watch: Rc<Watch>,
    /// The most bytes that the memory pool of the device had handed out when all was ready; absent where nobody counts.
    pub pool_bytes: Option<u64>,
}

impl Class {
    pub fn word(self) -> &'static str {
        match self {
            Class::Compute => "compute",
            Class::Cache => "cache",
            Class::Dram => "dram",
            Class::Device => "device",
        }
    }
}

impl Prepared {
    /// Why no time of this benchmark would mean anything, if its result is wrong.
    pub fn failure(&self) -> Option<String> {
        if self.parity.status != ParityStatus::Mismatch {
            return None;
        }
        let most = self.parity.tolerance.map(|tolerance| format!(", more than {tolerance:e}")).unwrap_or_default();
        let most = if self.parity.max_abs_error.is_some() { most } else { String::new() };
        Some(format!("parity: the result {}{most}", parity::difference(self.parity.max_abs_error)))
    }
}

impl Workload {
    /// The calibration kernels that are timed in its turns: the one it is divided by first.
    pub fn companions(&self) -> Vec<Calibration> {
        let companion = match self.companion {
            Companion::Calibration(kernel) => Some(kernel),
            Companion::Twin | Companion::Nothing => None,
        };
        let limit = self.limit.map(|limit| limit.kernel).filter(|kernel| Some(*kernel) != companion);
        companion.into_iter().chain(limit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parity::compare;

    #[test]
    fn a_difference_has_a_size_where_it_is_a_number() {
        let check = |got: &[f32], expected: &[f32], words: &str| {
            let parity = compare(got, expected, 0.5);
            let prepared = Prepared { parity, peak_bytes: None, call: Box::new(|| ()), meter: None };
            assert_eq!(prepared.failure().as_deref(), Some(words), "{got:?} {expected:?}");
        };
        check(&[1.0, 4.0], &[1.0, 2.0], "parity: the result differs from the reference by 2e0, more than 5e-1");
        let unwritten = "parity: the result differs from the reference: parts of it are not written, or are no numbers";
        check(&[1.0, f32::NAN], &[1.0, 2.0], unwritten);
        check(&[f32::NAN, 4.0], &[1.0, 2.0], unwritten);
    }
}
