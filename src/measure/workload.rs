//! A benchmark that can be timed: its identity, how much work a call is, and how to prepare it.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::gpu::settings::Track;
use crate::gpu::throttle::Watch;
use crate::parity;
use sprag_base::words;
use sprag_model::{Benchmark, BenchmarkError, Parity, ParityStatus, Role};

pub struct Workload {
    pub benchmark: Benchmark,
    pub role: Role,
    pub class: Class,
    /// Threads that work in a call. The thread clock measures only one.
    pub threads: u32,
    /// The throughput metric, such as `tiles_per_s`, and the units of one call.
    pub work: (&'static str, f64),
    /// Timed next to it, so that effects of the machine on both cancel.
    pub companion: Companion,
    /// Its lower bound of time; absent where there is none.
    pub limit: Option<Limit>,
    /// The configurations that a tuner may choose from, the untuned one first; empty where there is no choice.
    pub configurations: Vec<String>,
    /// The id of the benchmark whose configuration it takes, where it times the same work in another way.
    pub tuned_with: Option<String>,
    /// Makes inputs and checks the result, once a worker and outside the timed part.
    pub prepare: Prepare,
}

impl Workload {
    /// The A/A control: the work of benchmark `name` next to itself on other memory.
    pub(crate) fn control(self, suite: &str, name: &str) -> Result<Workload, BenchmarkError> {
        let benchmark = Benchmark::new(suite, "aa_control", &[("of", name.to_owned())], "control")?;
        let (role, companion) = (Role::Control, Companion::Twin);
        Ok(Workload { benchmark, role, companion, limit: None, configurations: Vec::new(), ..self })
    }

    /// The calibration kernels that are timed in its turns, the one that it is divided by first.
    pub fn companions(&self) -> Vec<Calibrator> {
        let companion = match self.companion {
            Companion::Calibration(kernel) => Some(kernel),
            Companion::Twin | Companion::Nothing => None,
        };
        let limit = self.limit.map(|limit| limit.kernel).filter(|kernel| Some(*kernel) != companion);
        companion.into_iter().chain(limit).collect()
    }
}

pub type Prepare = Box<dyn Fn(&Order<'_>) -> Result<Prepared, String>>;

/// The bottleneck of a kernel, which decides how its times react to the load of a shared machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Compute,
    Cache,
    /// Traffic beyond the caches, which all cores share.
    Dram,
    /// A device that it shares with nobody.
    Device,
}

/// What is timed in the same rounds as a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Companion {
    Calibration(Calibrator),
    /// The same work on other memory: the true ratio is one.
    Twin,
    /// Others are timed next to this one.
    Nothing,
}

/// The least time of a benchmark: that of a calibration kernel for the bytes it must move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    pub kernel: Calibrator,
    /// Bytes that a call must read and write.
    pub bytes: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    pub seed: u64,
    /// The first of [`Workload::configurations`] where absent.
    pub configuration: Option<&'a str>,
    /// Whether to compare its result with the reference; another worker may do that.
    pub check: bool,
    /// Whether it is the other half of an A/A control, which needs its own memory.
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

pub fn names(workloads: &[Workload]) -> Vec<String> {
    workloads.iter().map(|workload| workload.benchmark.name.clone()).collect()
}

pub struct Prepared {
    pub parity: Parity,
    /// The most bytes in use at one time, inputs and outputs included; absent where they are not counted.
    pub peak_bytes: Option<u64>,
    /// One call on existing inputs and outputs. On a device it waits for the end.
    pub call: Box<dyn FnMut()>,
    /// Takes the samples where the clocks of the host do not.
    pub meter: Option<Meter>,
}

/// Takes samples of work on a device by its own clock.
pub struct Meter {
    pub calls: u32,
    /// Returns the seconds of one call.
    pub sample: Box<dyn FnMut() -> f64>,
    /// Detects throttling of the device.
    pub watch: Rc<Watch>,
    /// The most bytes that the memory pool of the device had handed out when all was ready; absent where not counted.
    pub pool_bytes: Option<u64>,
}

words!(Class { Compute: "compute", Cache: "cache", Dram: "dram", Device: "device" });

impl Prepared {
    /// Why its times would be meaningless, if its result is wrong.
    pub fn failure(&self) -> Option<String> {
        if self.parity.status != ParityStatus::Mismatch {
            return None;
        }
        let most = self.parity.tolerance.map(|tolerance| format!(", more than {tolerance:e}")).unwrap_or_default();
        let most = if self.parity.max_abs_error.is_some() { most } else { String::new() };
        Some(format!("parity: the result {}{most}", parity::difference(self.parity.max_abs_error)))
    }
}

/// Lanes of the arithmetic kernel: enough independent chains for every unit of a core.
pub(crate) const LANES: usize = 32;

/// Steps of the arithmetic kernel in a call: tens of microseconds.
pub(crate) const STEPS: usize = 4_000;

/// A calibration kernel. Sizes are in bytes of one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Calibrator {
    /// Multiplies and adds in registers, which shows the clock rate of the core.
    MultiplyAdd,
    Copy {
        bytes: usize,
    },
    /// `a = b + s * c` over three arrays (McCalpin, "Memory bandwidth and machine balance", 1995).
    Triad {
        bytes: usize,
    },
    /// Copies the same tiles of each plane of a map, in the order of their addresses: the reads of TilePack.
    Gather(Tiling),
    /// Copies tiles to such places: the writes of TileUnpack in place.
    Scatter(Tiling),
    /// Copies one array to another in the memory of a device.
    DeviceCopy {
        bytes: usize,
        track: Track,
    },
    /// Launches a kernel that does nothing: the lower bound of every launch.
    DeviceLaunch {
        track: Track,
    },
}

/// Square tiles of a map of `f32`, whose planes are square and lie one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tiling {
    /// Bytes of all copied tiles.
    pub bytes: usize,
    pub map: usize,
    /// Pixels of a row of the map.
    pub width: usize,
    /// Pixels of a side of a tile, 8 or 16.
    pub side: usize,
}

impl Calibrator {
    pub fn word(self) -> &'static str {
        match self {
            Calibrator::MultiplyAdd => "multiply_add",
            Calibrator::Copy { .. } => "copy",
            Calibrator::Triad { .. } => "triad",
            Calibrator::Gather(_) => "gather",
            Calibrator::Scatter(_) => "scatter",
            Calibrator::DeviceCopy { .. } => "device_copy",
            Calibrator::DeviceLaunch { .. } => "device_launch",
        }
    }

    pub fn name(self) -> String {
        let size = |bytes: usize| match bytes {
            bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
            bytes if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
            bytes => format!("{bytes} B"),
        };
        match self {
            Calibrator::MultiplyAdd => self.word().replace('_', "-"),
            Calibrator::DeviceCopy { bytes, track } => format!("device copy {} ({})", size(bytes), track.word()),
            Calibrator::DeviceLaunch { track } => format!("empty launch ({})", track.word()),
            Calibrator::Copy { bytes } | Calibrator::Triad { bytes } => format!("{} {}", self.word(), size(bytes)),
            Calibrator::Gather(tiling) | Calibrator::Scatter(tiling) => {
                let Tiling { bytes, map, side, .. } = tiling;
                format!("{} {} of {} by {side} x {side}", self.word(), size(bytes), size(map))
            }
        }
    }

    pub fn bytes_moved(self) -> f64 {
        match self {
            Calibrator::MultiplyAdd | Calibrator::DeviceLaunch { .. } => 0.0,
            Calibrator::Copy { bytes } | Calibrator::DeviceCopy { bytes, .. } => 2.0 * bytes as f64,
            Calibrator::Triad { bytes } => 3.0 * bytes as f64,
            Calibrator::Gather(tiling) | Calibrator::Scatter(tiling) => 2.0 * tiling.bytes as f64,
        }
    }

    /// The throughput metric, and the units of one call.
    pub fn work(self) -> (&'static str, f64) {
        match self {
            Calibrator::MultiplyAdd => ("operations_per_s", (2 * LANES * STEPS) as f64),
            Calibrator::DeviceLaunch { .. } => ("launches_per_s", 1.0),
            Calibrator::Copy { .. }
            | Calibrator::Triad { .. }
            | Calibrator::Gather(_)
            | Calibrator::Scatter(_)
            | Calibrator::DeviceCopy { .. } => ("bytes_per_s", self.bytes_moved()),
        }
    }

    pub fn is_on_device(self) -> bool {
        matches!(self, Calibrator::DeviceCopy { .. } | Calibrator::DeviceLaunch { .. })
    }

    /// The parameters of its benchmark.
    pub fn params(self) -> Vec<(&'static str, String)> {
        match self {
            Calibrator::MultiplyAdd => Vec::new(),
            Calibrator::Copy { bytes } | Calibrator::Triad { bytes } => vec![("bytes", bytes.to_string())],
            Calibrator::Gather(Tiling { bytes, map, width, side })
            | Calibrator::Scatter(Tiling { bytes, map, width, side }) => {
                let sizes = [("bytes", bytes), ("map", map), ("side", side), ("width", width)];
                sizes.map(|(name, size)| (name, size.to_string())).to_vec()
            }
            Calibrator::DeviceCopy { bytes, track } => {
                vec![("bytes", bytes.to_string()), ("track", track.word().to_owned())]
            }
            Calibrator::DeviceLaunch { track } => vec![("track", track.word().to_owned())],
        }
    }
}

/// A small suite for the tests of this crate.
#[cfg(test)]
pub(crate) mod example {
    use super::*;

    /// `right` is right, `wrong` is not, `broken` cannot be prepared, `control` is timed against itself.
    pub(crate) fn suite() -> Vec<Workload> {
        let control = Workload { role: Role::Control, companion: Companion::Twin, ..workload("control", right) };
        vec![workload("right", right), workload("wrong", wrong), workload("broken", broken), control]
    }

    pub(crate) fn workload(name: &str, prepare: fn(&Order<'_>) -> Result<Prepared, String>) -> Workload {
        Workload {
            benchmark: Benchmark::new("cpu", name, &[], "fast").expect("the name is a word"),
            role: Role::Tracked,
            class: Class::Compute,
            threads: 1,
            work: ("tiles_per_s", 10.0),
            companion: Companion::Calibration(Calibrator::MultiplyAdd),
            limit: None,
            configurations: Vec::new(),
            tuned_with: None,
            prepare: Box::new(prepare),
        }
    }

    pub(crate) fn right(_: &Order<'_>) -> Result<Prepared, String> {
        let mut sum = 0_u64;
        let call = move || sum = std::hint::black_box(sum.wrapping_mul(3).wrapping_add(1));
        Ok(Prepared { peak_bytes: Some(64), ..prepared(1.0, call) })
    }

    fn prepared(result: f32, call: impl FnMut() + 'static) -> Prepared {
        let parity = crate::parity::compare(&[result], &[1.0], 1e-6);
        Prepared { parity, peak_bytes: None, call: Box::new(call), meter: None }
    }

    pub(crate) fn wrong(_: &Order<'_>) -> Result<Prepared, String> {
        Ok(prepared(1.5, || unreachable!("a benchmark with a wrong result must not be timed")))
    }

    fn broken(_: &Order<'_>) -> Result<Prepared, String> {
        Err("the shape does not divide".to_owned())
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
        let unwritten = "parity: the result differs from the reference: parts of it are not written or not numbers";
        check(&[1.0, f32::NAN], &[1.0, 2.0], unwritten);
        check(&[f32::NAN, 4.0], &[1.0, 2.0], unwritten);
    }

    #[test]
    fn calibration_kernels_are_named_by_word_and_size() {
        assert_eq!(Calibrator::MultiplyAdd.name(), "multiply-add");
        assert_eq!(Calibrator::Copy { bytes: 128 << 10 }.name(), "copy 128 KiB");
        assert_eq!(Calibrator::Triad { bytes: 8 << 20 }.name(), "triad 8 MiB");
        let tiling = Tiling { bytes: 1 << 20, map: 8 << 20, width: 128, side: 8 };
        assert_eq!(Calibrator::Gather(tiling).name(), "gather 1 MiB of 8 MiB by 8 x 8");
        assert_eq!(Calibrator::Copy { bytes: 1 << 20 }.bytes_moved(), 2_097_152.0);
        assert_eq!(Calibrator::Scatter(tiling).bytes_moved(), 2_097_152.0);
    }
}
