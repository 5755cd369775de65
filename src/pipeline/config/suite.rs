//! The settings of one suite, of whichever kind, and what holds where they are absent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::fault::Fault;
use sprag_measure::gpu::settings::AskedDtype;
use sprag_measure::suite::OutputFormat;

/// Processes of an ordinary run: the fewest with which an interval over processes means something.
const DEFAULT_PROCESSES: u32 = 5;

/// The most processes a suite may ask for; beyond it lies a slip of the pen.
const MOST_PROCESSES: u32 = 100;

/// How long a process of a command suite, or its build step, may take: time for a thorough benchmark.
const DEFAULT_TIMEOUT_SECONDS: u64 = 600;

/// How long building this program from a commit may take: from nothing, on a small machine.
const DEFAULT_CARGO_SECONDS: u64 = 3600;

/// The longest time-out: one day. Beyond it lies a slip of the pen.
const MOST_TIMEOUT_SECONDS: u64 = 86_400;

/// What a process of a command suite may write: far above any sane report, far below the memory of a machine.
const DEFAULT_MOST_OUTPUT: u64 = 16 << 20;

/// The most that a suite may allow its command to write: it is held in memory.
const MOST_OUTPUT: u64 = 1 << 30;

/// Where Criterion leaves its results unless told otherwise.
const CRITERION_FOLDER: &str = "target/criterion";

/// The variable that Sprag hands random padding over in; `env` may not set it.
const PADDING_VARIABLE: &str = "SPRAG_PADDING";

/// A suite of benchmarks. Settings that do not belong to its kind are refused.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    pub kind: SuiteKind,
    /// Only benchmarks whose id contains one of these texts; all where absent.
    #[serde(default)]
    pub include: Vec<String>,
    /// Worker processes of an ordinary run, or how often a command is run; five where absent.
    pub processes: Option<u32>,
    /// The program of a command suite and its arguments; no shell reads them.
    #[serde(default)]
    pub command: Vec<String>,
    /// The folder that the command runs in, relative to the root of the project, which holds where absent.
    pub cwd: Option<PathBuf>,
    /// Variables of the command and of the build step, on top of those of Sprag itself.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// A program and its arguments, run once in the same folder before the first process.
    #[serde(default)]
    pub build: Vec<String>,
    /// Seconds that one process of a command or of TensorRT may take; ten minutes where absent.
    pub timeout_seconds: Option<u64>,
    /// Seconds that the build step of a command may take, ten minutes where absent; or with CPU kernels, that building a
    /// commit may take, an hour where absent.
    pub build_timeout_seconds: Option<u64>,
    /// Bytes that one process may write to each of its outputs; 16 MiB where absent.
    pub max_output_bytes: Option<u64>,
    /// How the output of the command is read; Sprag's own format where absent.
    pub format: Option<OutputFormat>,
    /// The file or folder, relative to `cwd`, that the command writes its results to. Where absent, its standard
    /// output, or with Criterion `target/criterion`.
    pub output: Option<PathBuf>,
    /// The sizes that a suite of CUDA kernels measures at; all where absent.
    pub profiles: Option<Vec<GpuProfile>>,
    /// The element types that it measures with; `fp16`, `bf16` and `fp32` where absent.
    pub dtypes: Option<Vec<AskedDtype>>,
    /// The engine that a suite of TensorRT times, relative to the root of the project.
    pub engine: Option<PathBuf>,
    /// The shapes that it is timed with beside those it has by itself, such as `image=1x3x128x128;centers=1024x2`.
    #[serde(default)]
    pub shape_cases: Vec<String>,
    /// A library with plugins of the engine, relative to the root of the project.
    pub plugin_lib: Option<PathBuf>,
    /// The program of TensorRT that times engines, relative to the root of the project; looked for where absent.
    pub trtexec: Option<PathBuf>,
    /// Milliseconds that each process calls the engine before times count.
    pub warmup_milliseconds: Option<u32>,
    /// Calls that each process times at least.
    pub iterations: Option<u32>,
    /// Seconds that each process times calls at least.
    pub duration_seconds: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SuiteKind {
    /// The built-in CPU kernels.
    #[default]
    Cpu,
    /// The built-in CUDA kernels.
    Gpu,
    /// Any program, which measures itself and tells the result.
    Command,
    /// An engine of TensorRT, over shapes.
    Trt,
}

impl SuiteKind {
    pub fn word(self) -> &'static str {
        match self {
            SuiteKind::Cpu => "cpu",
            SuiteKind::Gpu => "gpu",
            SuiteKind::Command => "command",
            SuiteKind::Trt => "trt",
        }
    }
}

/// The sizes that a suite of CUDA kernels measures at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuProfile {
    /// Maps of some mebibytes: launching the kernels shows.
    Fixed,
    /// Maps of gibibytes: memory bounds the kernels. The device needs about 60 GB for all element types.
    Large,
}

impl Suite {
    /// A suite of that kind that says nothing else.
    pub fn of_kind(kind: SuiteKind) -> Suite {
        Suite { kind, ..Suite::default() }
    }

    /// Processes of an ordinary run.
    pub fn processes(&self) -> u32 {
        self.processes.unwrap_or(DEFAULT_PROCESSES)
    }

    /// Seconds that one process of the command may take.
    pub fn timeout_seconds(&self) -> u64 {
        self.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS)
    }

    /// Seconds that building may take.
    pub fn build_timeout_seconds(&self) -> u64 {
        let usual = if self.kind == SuiteKind::Cpu { DEFAULT_CARGO_SECONDS } else { DEFAULT_TIMEOUT_SECONDS };
        self.build_timeout_seconds.unwrap_or(usual)
    }

    /// Bytes that one process of the command may write to each of its outputs.
    pub fn max_output_bytes(&self) -> u64 {
        self.max_output_bytes.unwrap_or(DEFAULT_MOST_OUTPUT)
    }

    /// How the output of the command is read.
    pub fn format(&self) -> OutputFormat {
        self.format.unwrap_or(OutputFormat::Custom)
    }

    /// The file or folder that the command writes its results to; absent for its standard output.
    pub fn output(&self) -> Option<&Path> {
        let usual = match self.format() {
            OutputFormat::Custom => None,
            OutputFormat::Criterion => Some(Path::new(CRITERION_FOLDER)),
        };
        self.output.as_deref().or(usual)
    }

    /// The first setting that cannot be, of the suite called `name`.
    pub fn fault(&self, name: &str) -> Option<Fault> {
        let fault = |key: &str, message: String| Some(Fault::new(&["suites", name, key], message));
        if let Some((key, kinds)) = self.foreign_key() {
            let own = kinds.iter().map(|kind| kind.word()).collect::<Vec<&str>>().join("` or `");
            let kind = self.kind.word();
            let message = format!("`suites.{name}.{key}` belongs to suites of the kind `{own}`, this is `{kind}`");
            return fault(key, message);
        }
        if let Some((key, message)) = self.trt_fault().or_else(|| self.gpu_fault()) {
            return fault(key, format!("`suites.{name}{}", message));
        }
        if self.kind == SuiteKind::Command && self.command.is_empty() {
            let hint = "give the program and its arguments, as in `command = [\"cargo\", \"bench\"]`";
            return fault("command", format!("`suites.{name}` is of the kind `command` and has no `command`; {hint}"));
        }
        let numbers = [
            ("processes", self.processes.map(u64::from), u64::from(MOST_PROCESSES)),
            ("timeout_seconds", self.timeout_seconds, MOST_TIMEOUT_SECONDS),
            ("build_timeout_seconds", self.build_timeout_seconds, MOST_TIMEOUT_SECONDS),
            ("max_output_bytes", self.max_output_bytes, MOST_OUTPUT),
        ];
        for (key, value, most) in numbers {
            if let Some(value) = value.filter(|value| !(1..=most).contains(value)) {
                return fault(key, format!("`suites.{name}.{key}` is {value}, from 1 to {most} is allowed"));
            }
        }
        if self.kind == SuiteKind::Command && self.build_timeout_seconds.is_some() && self.build.is_empty() {
            let key = "build_timeout_seconds";
            return fault(key, format!("`suites.{name}.{key}` has no effect: there is no `build`"));
        }
        for (key, arguments) in [("command", &self.command), ("build", &self.build)] {
            if arguments.first().is_some_and(|program| program.trim().is_empty()) {
                return fault(key, format!("`suites.{name}.{key}` names no program: its first word is empty"));
            }
            if arguments.iter().any(|argument| argument.contains('\0')) {
                return fault(key, format!("`suites.{name}.{key}` holds a NUL, which no argument can"));
            }
        }
        for (key, path) in [("cwd", &self.cwd), ("output", &self.output)] {
            let bad = |path: &&PathBuf| path.as_os_str().is_empty() || path.to_string_lossy().contains('\0');
            if path.as_ref().filter(bad).is_some() {
                return fault(key, format!("`suites.{name}.{key}` is no path"));
            }
        }
        let bad = |(key, value): &(&String, &String)| {
            key.is_empty() || key.contains(['=', '\0']) || value.contains('\0') || *key == PADDING_VARIABLE
        };
        self.env.iter().find(bad).map(|(key, _)| {
            let message = format!("`suites.{name}.env` cannot set the variable `{}`", key.escape_debug());
            Fault::new(&["suites", name, "env", key], message)
        })
    }

    /// The first setting of suites of another kind, and of which.
    fn foreign_key(&self) -> Option<(&'static str, &'static [SuiteKind])> {
        const COMMAND: &[SuiteKind] = &[SuiteKind::Command];
        const BUILT: &[SuiteKind] = &[SuiteKind::Command, SuiteKind::Cpu];
        const PROGRAM: &[SuiteKind] = &[SuiteKind::Command, SuiteKind::Trt];
        const GPU: &[SuiteKind] = &[SuiteKind::Gpu];
        const TRT: &[SuiteKind] = &[SuiteKind::Trt];
        let keys = [
            ("command", !self.command.is_empty(), COMMAND),
            ("cwd", self.cwd.is_some(), COMMAND),
            ("env", !self.env.is_empty(), COMMAND),
            ("build", !self.build.is_empty(), COMMAND),
            ("timeout_seconds", self.timeout_seconds.is_some(), PROGRAM),
            ("build_timeout_seconds", self.build_timeout_seconds.is_some(), BUILT),
            ("max_output_bytes", self.max_output_bytes.is_some(), COMMAND),
            ("format", self.format.is_some(), COMMAND),
            ("output", self.output.is_some(), COMMAND),
            ("profiles", self.profiles.is_some(), GPU),
            ("dtypes", self.dtypes.is_some(), GPU),
            ("engine", self.engine.is_some(), TRT),
            ("shape_cases", !self.shape_cases.is_empty(), TRT),
            ("plugin_lib", self.plugin_lib.is_some(), TRT),
            ("trtexec", self.trtexec.is_some(), TRT),
            ("warmup_milliseconds", self.warmup_milliseconds.is_some(), TRT),
            ("iterations", self.iterations.is_some(), TRT),
            ("duration_seconds", self.duration_seconds.is_some(), TRT),
        ];
        let foreign = |(_, given, kinds): &(&str, bool, &[SuiteKind])| *given && !kinds.contains(&self.kind);
        keys.into_iter().find(foreign).map(|(key, _, kinds)| (key, kinds))
    }
}

impl Suite {
    /// The sizes that it measures at: both where it says nothing.
    pub fn profiles(&self) -> Vec<GpuProfile> {
        self.profiles.clone().unwrap_or_else(|| vec![GpuProfile::Fixed, GpuProfile::Large])
    }

    /// The element types that it measures with, all but the 8-bit one where it says nothing.
    pub fn dtypes(&self) -> Vec<AskedDtype> {
        self.dtypes.clone().unwrap_or_else(|| vec![AskedDtype::Fp16, AskedDtype::Bf16, AskedDtype::Fp32])
    }

    /// The first setting of a suite of CUDA kernels that cannot be, and what is wrong, to be read after the suite's
    /// name.
    pub fn gpu_fault(&self) -> Option<(&'static str, String)> {
        if self.kind != SuiteKind::Gpu {
            return None;
        }
        let (profiles, dtypes) = (self.profiles(), self.dtypes());
        let is_twice = |places: usize, same: &dyn Fn(usize, usize) -> bool| {
            (0..places).any(|later| (0..later).any(|earlier| same(earlier, later)))
        };
        for (key, count, twice) in [
            ("profiles", profiles.len(), is_twice(profiles.len(), &|a, b| profiles[a] == profiles[b])),
            ("dtypes", dtypes.len(), is_twice(dtypes.len(), &|a, b| dtypes[a] == dtypes[b])),
        ] {
            if count == 0 {
                return Some((key, format!(".{key}` is empty, so nothing would be measured; leave it out for all")));
            }
            if twice {
                return Some((key, format!(".{key}` names one twice")));
            }
        }
        None
    }
}

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
