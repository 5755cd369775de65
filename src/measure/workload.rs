//! A benchmark that can be timed: its identity, how much work a call is, and how to make it ready.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::gpu::settings::Track;
use crate::gpu::throttle::Watch;
use crate::parity;
use sprag_model::benchmark::{Benchmark, BenchmarkError, Parity, ParityStatus};
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

impl Workload {
    /// The A/A control: the work called `name` beside itself on other memory.
    pub(crate) fn control(self, suite: &str, name: &str) -> Result<Workload, BenchmarkError> {
        let benchmark = Benchmark::new(suite, "aa_control", &[("of", name.to_owned())], "control")?;
        let (role, companion) = (Role::Control, Companion::Twin);
        Ok(Workload { benchmark, role, companion, limit: None, configurations: Vec::new(), ..self })
    }
}

/// How a workload is made ready, or why it cannot be.
pub type Prepare = Box<dyn Fn(&Order<'_>) -> Result<Prepared, String>>;

/// What limits a kernel, and so how its numbers move with the load of a shared machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
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

/// Lanes of the arithmetic kernel: enough independent chains to keep every unit of a core busy.
pub(crate) const LANES: usize = 32;

/// Steps of the arithmetic kernel in a call: tens of microseconds on the processors in use.
pub(crate) const STEPS: usize = 4_000;

/// A calibration kernel. Sizes are in bytes of one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Calibration {
    /// Multiplies and adds in registers: the clock of the core.
    MultiplyAdd,
    Copy {
        bytes: usize,
    },
    /// `a = b + s * c` over three arrays (McCalpin, "Memory bandwidth and machine balance", 1995).
    Triad {
        bytes: usize,
    },
    /// Copies one array in the memory of a device to another.
    DeviceCopy {
        bytes: usize,
        track: Track,
    },
    /// Launches a kernel that does nothing: the floor under every launch.
    DeviceLaunch {
        track: Track,
    },
}

impl Calibration {
    /// The kernel's word, as benchmarks and attributes bear it.
    pub fn word(self) -> &'static str {
        match self {
            Calibration::MultiplyAdd => "multiply_add",
            Calibration::Copy { .. } => "copy",
            Calibration::Triad { .. } => "triad",
            Calibration::DeviceCopy { .. } => "device_copy",
            Calibration::DeviceLaunch { .. } => "device_launch",
        }
    }

    pub fn name(self) -> String {
        let size = |bytes: usize| match bytes {
            bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
            bytes if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
            bytes => format!("{bytes} B"),
        };
        match self {
            Calibration::MultiplyAdd => self.word().replace('_', "-"),
            Calibration::DeviceCopy { bytes, track } => format!("device copy {} ({})", size(bytes), track.word()),
            Calibration::DeviceLaunch { track } => format!("empty launch ({})", track.word()),
            Calibration::Copy { bytes } | Calibration::Triad { bytes } => format!("{} {}", self.word(), size(bytes)),
        }
    }

    pub fn bytes_moved(self) -> f64 {
        match self {
            Calibration::MultiplyAdd | Calibration::DeviceLaunch { .. } => 0.0,
            Calibration::Copy { bytes } | Calibration::DeviceCopy { bytes, .. } => 2.0 * bytes as f64,
            Calibration::Triad { bytes } => 3.0 * bytes as f64,
        }
    }

    /// The throughput metric, and how many units one call works through.
    pub fn work(self) -> (&'static str, f64) {
        match self {
            Calibration::MultiplyAdd => ("operations_per_s", (2 * LANES * STEPS) as f64),
            Calibration::DeviceLaunch { .. } => ("launches_per_s", 1.0),
            Calibration::Copy { .. } | Calibration::Triad { .. } | Calibration::DeviceCopy { .. } => {
                ("bytes_per_s", self.bytes_moved())
            }
        }
    }

    pub fn is_on_device(self) -> bool {
        matches!(self, Calibration::DeviceCopy { .. } | Calibration::DeviceLaunch { .. })
    }

    /// The sizes that tell it from others of its word, as parameters of a benchmark.
    pub fn params(self) -> Vec<(&'static str, String)> {
        match self {
            Calibration::MultiplyAdd => Vec::new(),
            Calibration::Copy { bytes } | Calibration::Triad { bytes } => vec![("bytes", bytes.to_string())],
            Calibration::DeviceCopy { bytes, track } => {
                vec![("bytes", bytes.to_string()), ("track", track.word().to_owned())]
            }
            Calibration::DeviceLaunch { track } => vec![("track", track.word().to_owned())],
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::parity::compare;

    use super::*;

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

    #[test]
    fn names_say_word_and_size() {
        assert_eq!(Calibration::MultiplyAdd.name(), "multiply-add");
        assert_eq!(Calibration::Copy { bytes: 128 << 10 }.name(), "copy 128 KiB");
        assert_eq!(Calibration::Triad { bytes: 8 << 20 }.name(), "triad 8 MiB");
        assert_eq!(Calibration::Copy { bytes: 1 << 20 }.bytes_moved(), 2_097_152.0);
    }
}
