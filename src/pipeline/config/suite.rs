//! The settings of one suite, and their defaults.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;

use super::rules::Fault;
use sprag_base::words;
use sprag_formats::OutputFormat;
use sprag_measure::command::variables;
use sprag_measure::gpu::custom::settings::KernelSettings;
use sprag_measure::gpu::settings::AskedDtype;
use sprag_measure::suite::CommandSettings;
use sprag_model::Benchmark;

/// The fewest with which an interval over processes is meaningful.
const DEFAULT_PROCESSES: u32 = 5;

/// Time for a thorough benchmark or its build step.
const DEFAULT_TIMEOUT_SECONDS: u64 = 600;

/// A kernel that hangs costs as much for each of its benchmarks.
const DEFAULT_KERNEL_SECONDS: u64 = 120;

/// A build of this program from scratch on a small machine.
const DEFAULT_CARGO_SECONDS: u64 = 3600;

/// More than a day is a typing error.
const MOST_TIMEOUT_SECONDS: u64 = 86_400;

/// Far above any sane report, far below the memory of a machine.
const DEFAULT_MOST_OUTPUT: u64 = 16 << 20;

/// Outputs are held in memory.
const MOST_OUTPUT: u64 = 1 << 30;

/// Long enough for the clocks of a GPU to rise.
const DEFAULT_WARMUP_MILLISECONDS: u32 = 500;

/// From so many calls on, the 95th percentile is more than the slowest calls.
const DEFAULT_ITERATIONS: u32 = 100;

const DEFAULT_DURATION_SECONDS: u32 = 3;

/// Passes random padding to a command; `env` may not set it.
const PADDING_VARIABLE: &str = "SPRAG_PADDING";

/// A suite of benchmarks. Settings that do not belong to its kind are refused.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// What the suite measures.
    pub kind: SuiteKind,
    /// Runs only benchmarks whose id contains one of these texts. Default: all.
    #[serde(default)]
    pub include: Vec<String>,
    /// Processes of a run: each runs the benchmarks, or the command, once. 1 to 100. Default: 5.
    pub processes: Option<u32>,
    /// `command`: the program and its arguments; no shell reads them.
    #[serde(default)]
    pub command: Vec<String>,
    /// `command`: the working folder, relative to the root of the project. Default: the root.
    pub cwd: Option<PathBuf>,
    /// `command`: environment variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// `command`: the variables of Sprag's own environment that `build` and `command` get besides those of toolchains and of the
    /// system, such as `["DATA_DIR", "MY_*"]`. Default: none.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// `command`: a program and its arguments, run once before the first process.
    #[serde(default)]
    pub build: Vec<String>,
    /// `command`: the files that decide what `build` makes and what `command` does, such as `["src/**", "Cargo.lock"]`. Commits
    /// that agree in them share one build, in a checkout of one of them. `*` is any text without `/`, `**` is any text, and a
    /// folder is all below it. Default: all files.
    #[serde(default)]
    pub build_inputs: Vec<String>,
    /// `command` and `trt`: the most seconds that one process may take. Default: 600. `cuda`: the most seconds that compiling
    /// and checking one configuration of a kernel may take. Default: 120.
    pub timeout_seconds: Option<u64>,
    /// The most seconds that `build` may take, or with `cpu` the build of a commit. Default: 600, with `cpu` 3600.
    pub build_timeout_seconds: Option<u64>,
    /// `command`: the most bytes that one process may write to each of its outputs. Default: 16 MiB.
    pub max_output_bytes: Option<u64>,
    /// `command`: the format of the results, any that `sprag import` reads; `time` times the whole command. Default: `custom`.
    pub format: Option<OutputFormat>,
    /// `command`: the file, folder, or pattern such as `results/*.json`, relative to `cwd`, that the command writes its
    /// results to. Default: its standard output, with Criterion `target/criterion`.
    pub output: Option<PathBuf>,
    /// The benchmark of a command that is timed itself, as of `sprag bench`.
    #[serde(skip)]
    pub timed: Option<Benchmark>,
    /// Nothing of it goes on after this, as the budget of a command ends.
    #[serde(skip)]
    pub until: Option<Instant>,
    /// `gpu`: the sizes to measure. Default: both.
    pub profiles: Option<Vec<GpuProfile>>,
    /// `gpu`: the element types to measure. Default: `fp16`, `bf16` and `fp32`.
    pub dtypes: Option<Vec<AskedDtype>>,
    /// `cuda`: the kernels, each in a section `[[suites.NAME.kernel]]`.
    #[serde(default)]
    pub kernel: Vec<KernelSettings>,
    /// `trt`: the engine, relative to the root of the project.
    pub engine: Option<PathBuf>,
    /// `trt`: more shapes to time, such as `image=1x3x128x128;centers=1024x2`.
    #[serde(default)]
    pub shape_cases: Vec<String>,
    /// `trt`: a library with plugins of the engine, relative to the root of the project.
    pub plugin_lib: Option<PathBuf>,
    /// `trt`: the program `trtexec`, relative to the root of the project. Default: the one on the search path.
    pub trtexec: Option<PathBuf>,
    /// `trt`: milliseconds of warm-up in each process. Default: 500.
    pub warmup_milliseconds: Option<u32>,
    /// `trt`: the fewest calls that each process times. Default: 100.
    pub iterations: Option<u32>,
    /// `trt`: the fewest seconds that each process times calls. Default: 3.
    pub duration_seconds: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SuiteKind {
    /// Sprag's own CPU kernels.
    #[default]
    Cpu,
    /// Sprag's own CUDA kernels.
    Gpu,
    /// CUDA kernels of your own.
    Cuda,
    /// A program that measures itself.
    Command,
    /// An engine of TensorRT.
    Trt,
}

impl SuiteKind {
    /// Whether commits can be built for such suites, so that builds can take turns; for `gpu` in the repository of Sprag alone.
    pub fn can_be_built(self) -> bool {
        matches!(self, SuiteKind::Cpu | SuiteKind::Command | SuiteKind::Cuda)
    }
}

words!(SuiteKind { Cpu: "cpu", Gpu: "gpu", Cuda: "cuda", Command: "command", Trt: "trt" });

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GpuProfile {
    /// Maps of some mebibytes; the launch of a kernel takes a visible share.
    Fixed,
    /// Maps of gibibytes, bound by memory. All element types together need about 60 GB on the device.
    Large,
}

/// The keys below the suite, and the fault, to be read after the suite's name.
type SettingFault<'a> = (Vec<&'a str>, String);

impl Suite {
    pub fn of_kind(kind: SuiteKind) -> Suite {
        Suite { kind, ..Suite::default() }
    }

    /// What a suite of the kind `command` runs.
    pub fn command_settings(&self) -> CommandSettings {
        CommandSettings {
            command: self.command.clone(),
            folder: self.cwd.clone(),
            variables: self.env.clone(),
            // Whoever times a command by hand has chosen its environment.
            passed: self.timed.is_none().then(|| self.pass_env.clone()),
            build: self.build.clone(),
            time_out: Duration::from_secs(self.timeout_seconds()),
            build_time_out: Duration::from_secs(self.build_timeout_seconds()),
            until: self.until,
            most_bytes: self.max_output_bytes(),
            format: self.format(),
            output: self.output().map(Path::to_owned),
            timed: self.timed.clone(),
        }
    }

    pub fn processes(&self) -> u32 {
        self.processes.unwrap_or(DEFAULT_PROCESSES)
    }

    pub fn timeout_seconds(&self) -> u64 {
        let usual = if self.kind == SuiteKind::Cuda { DEFAULT_KERNEL_SECONDS } else { DEFAULT_TIMEOUT_SECONDS };
        self.timeout_seconds.unwrap_or(usual)
    }

    pub fn build_timeout_seconds(&self) -> u64 {
        let usual = if self.kind == SuiteKind::Cpu { DEFAULT_CARGO_SECONDS } else { DEFAULT_TIMEOUT_SECONDS };
        self.build_timeout_seconds.unwrap_or(usual)
    }

    /// A limit of so many seconds, or what is left until its time is up.
    pub(crate) fn limited(&self, seconds: u64) -> Duration {
        Duration::from_secs_f64(self.seconds_left().unwrap_or(f64::MAX).min(seconds as f64))
    }

    /// The seconds until its time is up; absent where that is not limited.
    pub fn seconds_left(&self) -> Option<f64> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    pub fn max_output_bytes(&self) -> u64 {
        self.max_output_bytes.unwrap_or(DEFAULT_MOST_OUTPUT)
    }

    pub fn format(&self) -> OutputFormat {
        self.format.unwrap_or(OutputFormat::Custom)
    }

    /// `None` for standard output.
    pub fn output(&self) -> Option<&Path> {
        self.output.as_deref().or(self.format().usual_place().map(Path::new))
    }

    pub fn profiles(&self) -> Vec<GpuProfile> {
        self.profiles.clone().unwrap_or_else(|| vec![GpuProfile::Fixed, GpuProfile::Large])
    }

    pub fn dtypes(&self) -> Vec<AskedDtype> {
        self.dtypes.clone().unwrap_or_else(|| vec![AskedDtype::Fp16, AskedDtype::Bf16, AskedDtype::Fp32])
    }

    pub fn warmup_milliseconds(&self) -> u32 {
        self.warmup_milliseconds.unwrap_or(DEFAULT_WARMUP_MILLISECONDS)
    }

    pub fn iterations(&self) -> u32 {
        self.iterations.unwrap_or(DEFAULT_ITERATIONS)
    }

    pub fn duration_seconds(&self) -> u32 {
        self.duration_seconds.unwrap_or(DEFAULT_DURATION_SECONDS)
    }

    pub(super) fn fault(&self, name: &str) -> Option<Fault> {
        self.setting_fault(name).or_else(|| self.kernel_fault(name))
    }

    fn kernel_fault(&self, name: &str) -> Option<Fault> {
        self.kernel.iter().enumerate().find_map(|(place, kernel)| {
            let is_twice = self.kernel[..place].iter().any(|other| other.name == kernel.name);
            let unnamed = Benchmark::new(name, &kernel.name, &[], "cuda").err();
            let (keys, fault) = match unnamed {
                Some(error) => (vec!["name".to_owned()], error.to_string()),
                None if is_twice => (vec!["name".to_owned()], "there are two kernels of this name".to_owned()),
                None => kernel.fault()?,
            };
            let place = place.to_string();
            let keys: Vec<&str> =
                ["suites", name, "kernel", &place].into_iter().chain(keys.iter().map(String::as_str)).collect();
            let key =
                keys.iter().skip(4).filter(|key| key.parse::<usize>().is_err()).copied().collect::<Vec<_>>().join(".");
            let kernel = kernel.name.escape_debug();
            Some(Fault::new(&keys, format!("`{key}` of the kernel `{kernel}`: {fault}")))
        })
    }

    fn setting_fault(&self, name: &str) -> Option<Fault> {
        let fault = self.foreign_key().or_else(|| self.missing()).or_else(|| self.out_of_range());
        let fault = fault.or_else(|| self.repeated()).or_else(|| self.too_slow()).or_else(|| self.unusable());
        fault
            .map(|(keys, fault)| Fault::new(&[&["suites", name], &keys[..]].concat(), format!("`suites.{name}{fault}")))
    }

    fn foreign_key(&self) -> Option<SettingFault<'_>> {
        const COMMAND: &[SuiteKind] = &[SuiteKind::Command];
        const BUILT: &[SuiteKind] = &[SuiteKind::Command, SuiteKind::Cpu];
        const PROGRAM: &[SuiteKind] = &[SuiteKind::Command, SuiteKind::Trt, SuiteKind::Cuda];
        const GPU: &[SuiteKind] = &[SuiteKind::Gpu];
        const CUDA: &[SuiteKind] = &[SuiteKind::Cuda];
        const TRT: &[SuiteKind] = &[SuiteKind::Trt];
        let keys = [
            ("command", !self.command.is_empty(), COMMAND),
            ("cwd", self.cwd.is_some(), COMMAND),
            ("env", !self.env.is_empty(), COMMAND),
            ("pass_env", !self.pass_env.is_empty(), COMMAND),
            ("build", !self.build.is_empty(), COMMAND),
            ("build_inputs", !self.build_inputs.is_empty(), COMMAND),
            ("timeout_seconds", self.timeout_seconds.is_some(), PROGRAM),
            ("build_timeout_seconds", self.build_timeout_seconds.is_some(), BUILT),
            ("max_output_bytes", self.max_output_bytes.is_some(), COMMAND),
            ("format", self.format.is_some(), COMMAND),
            ("output", self.output.is_some(), COMMAND),
            ("profiles", self.profiles.is_some(), GPU),
            ("dtypes", self.dtypes.is_some(), GPU),
            ("kernel", !self.kernel.is_empty(), CUDA),
            ("engine", self.engine.is_some(), TRT),
            ("shape_cases", !self.shape_cases.is_empty(), TRT),
            ("plugin_lib", self.plugin_lib.is_some(), TRT),
            ("trtexec", self.trtexec.is_some(), TRT),
            ("warmup_milliseconds", self.warmup_milliseconds.is_some(), TRT),
            ("iterations", self.iterations.is_some(), TRT),
            ("duration_seconds", self.duration_seconds.is_some(), TRT),
        ];
        let (key, _, kinds) = keys.into_iter().find(|(_, given, kinds)| *given && !kinds.contains(&self.kind))?;
        let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
        let own = match words.split_last() {
            Some((last, others @ [_, ..])) => format!("{}` or `{last}", others.join("`, `")),
            _ => words.concat(),
        };
        Some((vec![key], format!(".{key}` belongs to suites of the kind `{own}`, this is `{}`", self.kind.word())))
    }

    fn missing(&self) -> Option<SettingFault<'_>> {
        let needs = |key: &'static str, hint: &str| {
            let kind = self.kind.word();
            Some((vec![key], format!("` is of the kind `{kind}` and has no `{key}`; {hint}")))
        };
        match self.kind {
            SuiteKind::Cuda if self.kernel.is_empty() => {
                needs("kernel", "describe one in a section `[[suites.NAME.kernel]]`")
            }
            SuiteKind::Trt if self.engine.is_none() => {
                needs("engine", "name the file that TensorRT has built, as in `engine = \"model.plan\"`")
            }
            SuiteKind::Command if self.command.is_empty() => {
                needs("command", "give the program and its arguments, as in `command = [\"cargo\", \"bench\"]`")
            }
            SuiteKind::Command if self.build.is_empty() => {
                let given = [
                    ("build_timeout_seconds", self.build_timeout_seconds.is_some()),
                    ("build_inputs", !self.build_inputs.is_empty()),
                ];
                let (key, _) = given.into_iter().find(|(_, is_given)| *is_given)?;
                Some((vec![key], format!(".{key}` has no effect: there is no `build`")))
            }
            _ => None,
        }
    }

    fn out_of_range(&self) -> Option<SettingFault<'_>> {
        // Larger values are typing errors.
        let numbers = [
            ("processes", self.processes.map(u64::from), 1..=100),
            ("timeout_seconds", self.timeout_seconds, 1..=MOST_TIMEOUT_SECONDS),
            ("build_timeout_seconds", self.build_timeout_seconds, 1..=MOST_TIMEOUT_SECONDS),
            ("max_output_bytes", self.max_output_bytes, 1..=MOST_OUTPUT),
            ("warmup_milliseconds", self.warmup_milliseconds.map(u64::from), 0..=600_000),
            ("iterations", self.iterations.map(u64::from), 1..=1_000_000),
            ("duration_seconds", self.duration_seconds.map(u64::from), 0..=3_600),
        ];
        numbers.into_iter().find_map(|(key, value, range)| {
            let value = value.filter(|value| !range.contains(value))?;
            let (least, most) = (range.start(), range.end());
            Some((vec![key], format!(".{key}` is {value}, from {least} to {most} is allowed")))
        })
    }

    fn repeated(&self) -> Option<SettingFault<'_>> {
        fn fault<'a, T: PartialEq>(key: &'a str, list: &Option<Vec<T>>) -> Option<SettingFault<'a>> {
            let list = list.as_ref()?;
            if list.is_empty() {
                return Some((
                    vec![key],
                    format!(".{key}` is empty, so nothing would be measured; leave it out for all"),
                ));
            }
            let is_twice = (1..list.len()).any(|place| list[..place].contains(&list[place]));
            is_twice.then(|| (vec![key], format!(".{key}` names one twice")))
        }
        fault("profiles", &self.profiles).or_else(|| fault("dtypes", &self.dtypes))
    }

    fn too_slow(&self) -> Option<SettingFault<'_>> {
        let least = u64::from(self.duration_seconds()) + u64::from(self.warmup_milliseconds()) / 1000;
        let most = self.timeout_seconds();
        if self.kind != SuiteKind::Trt || most > least {
            return None;
        }
        let why = format!("warm-up and `duration_seconds` alone take {least} s: nothing would finish");
        // With the default time-out, another setting is wrong.
        let (key, fault) = match (self.timeout_seconds, self.duration_seconds) {
            (Some(_), _) => ("timeout_seconds", format!("{most}, and {why}")),
            (None, Some(duration)) => {
                ("duration_seconds", format!("{duration}, `timeout_seconds` is {most} unset, and {why}"))
            }
            (None, None) => {
                let warmup = self.warmup_milliseconds();
                ("warmup_milliseconds", format!("{warmup}, `timeout_seconds` is {most} unset, and {why}"))
            }
        };
        Some((vec![key], format!(".{key}` is {fault}")))
    }

    fn unusable(&self) -> Option<SettingFault<'_>> {
        if self.format() == OutputFormat::Time && self.output.is_some() {
            return Some((vec!["output"], ".output` has no effect: `format = \"time\"` reads no results".to_owned()));
        }
        for (key, arguments) in [("command", &self.command), ("build", &self.build)] {
            if arguments.first().is_some_and(|program| program.trim().is_empty()) {
                return Some((vec![key], format!(".{key}` names no program: its first word is empty")));
            }
            if arguments.iter().any(|argument| argument.contains('\0')) {
                return Some((vec![key], format!(".{key}` holds a NUL, which no argument can")));
            }
        }
        let paths = [
            ("cwd", &self.cwd),
            ("output", &self.output),
            ("engine", &self.engine),
            ("plugin_lib", &self.plugin_lib),
            ("trtexec", &self.trtexec),
        ];
        let is_bad = |path: &PathBuf| path.as_os_str().is_empty() || path.to_string_lossy().contains('\0');
        if let Some((key, _)) = paths.into_iter().find(|(_, path)| path.as_ref().is_some_and(is_bad)) {
            return Some((vec![key], format!(".{key}` is not a path")));
        }
        if let Some(text) = variables::fault(&self.pass_env) {
            return Some((vec!["pass_env"], format!(".pass_env{text}")));
        }
        let (key, _) = self.env.iter().find(|(key, value)| {
            key.is_empty() || key.contains(['=', '\0']) || value.contains('\0') || *key == PADDING_VARIABLE
        })?;
        Some((vec!["env", key], format!(".env` cannot set the variable `{}`", key.escape_debug())))
    }
}
