//! Calibration kernels: plain work whose speed is that of the machine, timed beside every benchmark.
//!
//! On a shared machine times move by tens of percent with the clock of the core and the share of the caches. A kernel
//! of the same class, timed in the same rounds, moves along, and the ratio stays. A copy also shows the most that
//! memory can give, so a benchmark's traffic over it tells how near its limit it is.

use serde::{Deserialize, Serialize};

use super::gpu::track::Track;

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
    /// Copies one array to another.
    Copy { bytes: usize },
    /// `a = b + s * c` over three arrays (McCalpin, "Memory bandwidth and machine balance", 1995).
    Triad { bytes: usize },
    /// Copies one array in the memory of a device to another.
    DeviceCopy { bytes: usize, track: Track },
    /// Launches a kernel that does nothing: the floor under every launch.
    DeviceLaunch { track: Track },
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

    /// Word and size, such as `copy 1 MiB`.
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

    /// Bytes that a call reads and writes.
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
    use super::*;

    #[test]
    fn names_say_word_and_size() {
        assert_eq!(Calibration::MultiplyAdd.name(), "multiply-add");
        assert_eq!(Calibration::Copy { bytes: 128 << 10 }.name(), "copy 128 KiB");
        assert_eq!(Calibration::Triad { bytes: 8 << 20 }.name(), "triad 8 MiB");
        assert_eq!(Calibration::Copy { bytes: 1 << 20 }.bytes_moved(), 2_097_152.0);
    }
}
