//! The settings of a suite of TensorRT, and what holds where they are absent.

use std::path::PathBuf;

use super::suite::{Suite, SuiteKind};

/// How long an engine is called before times count: long enough for the clocks of a GPU to rise.
const DEFAULT_WARMUP_MILLISECONDS: u32 = 500;

/// The fewest calls that a process times: from so many on its 95th percentile is more than its slowest calls.
const DEFAULT_ITERATIONS: u32 = 100;

/// How long a process times calls at least.
const DEFAULT_DURATION_SECONDS: u32 = 3;

/// The longest warm-up: ten minutes. Beyond it lies a slip of the pen.
const MOST_WARMUP_MILLISECONDS: u32 = 600_000;

/// The most calls that may be asked for: their times are read whole.
const MOST_ITERATIONS: u32 = 1_000_000;

/// The longest time to measure: an hour a process.
const MOST_DURATION_SECONDS: u32 = 3_600;

impl Suite {
    /// Milliseconds that an engine is called before times count.
    pub fn warmup_milliseconds(&self) -> u32 {
        self.warmup_milliseconds.unwrap_or(DEFAULT_WARMUP_MILLISECONDS)
    }

    /// Calls that a process times at least.
    pub fn iterations(&self) -> u32 {
        self.iterations.unwrap_or(DEFAULT_ITERATIONS)
    }

    /// Seconds that a process times calls at least.
    pub fn duration_seconds(&self) -> u32 {
        self.duration_seconds.unwrap_or(DEFAULT_DURATION_SECONDS)
    }

    /// The first setting of a suite of TensorRT that cannot be, and what is wrong, to be read after the suite's name.
    pub fn trt_fault(&self) -> Option<(&'static str, String)> {
        if self.kind != SuiteKind::Trt {
            return None;
        }
        if self.engine.is_none() {
            let hint = "name the file that TensorRT has built, as in `engine = \"model.plan\"`";
            return Some(("engine", format!("` is of the kind `trt` and has no `engine`; {hint}")));
        }
        let paths = [("engine", &self.engine), ("plugin_lib", &self.plugin_lib), ("trtexec", &self.trtexec)];
        for (key, path) in paths {
            let bad = |path: &&PathBuf| path.as_os_str().is_empty() || path.to_string_lossy().contains('\0');
            if path.as_ref().filter(bad).is_some() {
                return Some((key, format!(".{key}` is no path")));
            }
        }
        let numbers = [
            ("warmup_milliseconds", self.warmup_milliseconds, 0, MOST_WARMUP_MILLISECONDS),
            ("iterations", self.iterations, 1, MOST_ITERATIONS),
            ("duration_seconds", self.duration_seconds, 0, MOST_DURATION_SECONDS),
        ];
        for (key, value, least, most) in numbers {
            if let Some(value) = value.filter(|value| !(least..=most).contains(value)) {
                return Some((key, format!(".{key}` is {value}, from {least} to {most} is allowed")));
            }
        }
        let least = u64::from(self.duration_seconds()) + u64::from(self.warmup_milliseconds()) / 1000;
        let most = self.timeout_seconds();
        if most > least {
            return None;
        }
        let why = format!("warm-up and `duration_seconds` alone take {least} s: nothing would finish");
        // Where the time-out is the usual one, it is another setting that does not fit.
        Some(match (self.timeout_seconds, self.duration_seconds) {
            (Some(_), _) => ("timeout_seconds", format!(".timeout_seconds` is {most}, and {why}")),
            (None, Some(duration)) => {
                let message = format!(".duration_seconds` is {duration}, `timeout_seconds` is {most} unset, and {why}");
                ("duration_seconds", message)
            }
            (None, None) => {
                let warmup = self.warmup_milliseconds();
                let message =
                    format!(".warmup_milliseconds` is {warmup}, `timeout_seconds` is {most} unset, and {why}");
                ("warmup_milliseconds", message)
            }
        })
    }
}
