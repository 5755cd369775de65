//! Engines of TensorRT, timed by its own program `trtexec` as a process: nothing of TensorRT is linked, and any installed
//! version can be used.
//!
//! Each process times one case of a sweep and writes the times of all its calls to a file. The unit of replication is the
//! process: the cases take turns, in reverse order every other round, and the tracked number is the median over processes.

pub(crate) mod once;
pub mod sweep;
mod transcript;

pub use once::find;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::plan::Protocol;
use crate::process::WorkerCommand;
use sprag_base::words;
use sprag_model::foreign::recordable;
use sprag_model::{Benchmark, ShapeCase, TensorShape};

/// The name of all benchmarks of an engine; their shapes distinguish them.
const NAME: &str = "engine";

const VARIANT: &str = "tensorrt";

const DEFAULT: (&str, &str) = ("case", "default");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedCase {
    /// From 0, which is the case that gives no shapes.
    pub number: usize,
    pub shapes: ShapeCase,
}

impl NumberedCase {
    pub fn label(&self) -> String {
        self.shapes.label(self.number)
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {why}", .text.escape_debug())]
pub struct ShapeCaseFault {
    pub text: String,
    pub why: String,
}

/// The cases of a sweep: first the one without shapes, then those of the texts.
pub fn number_cases(texts: &[String]) -> Result<Vec<NumberedCase>, ShapeCaseFault> {
    let mut cases = vec![NumberedCase { number: 0, shapes: ShapeCase::default() }];
    // Each is a separate series, so no two may have the same id.
    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    for (number, text) in (1..).zip(texts) {
        let fault = |why: String| ShapeCaseFault { text: text.clone(), why };
        let shapes = ShapeCase::parse(text).map_err(|error| fault(error.to_string()))?;
        let is_repeated =
            |(at, one): &(usize, &TensorShape)| shapes.shapes[..*at].iter().any(|other| other.name == one.name);
        if let Some((_, shape)) = shapes.shapes.iter().enumerate().find(is_repeated) {
            return Err(fault(format!("the shape of `{}` is given twice", shape.name.escape_debug())));
        }
        if let Some(earlier) = ids.insert(benchmark("trt", &shapes).id(), number) {
            return Err(fault(format!("it is the same as the shape case number {earlier}")));
        }
        cases.push(NumberedCase { number, shapes });
    }
    Ok(cases)
}

#[derive(Clone, Debug)]
pub struct Sweep {
    pub suite: String,
    pub trtexec: PathBuf,
    pub engine: PathBuf,
    pub plugin: Option<PathBuf>,
    pub cases: Vec<NumberedCase>,
    pub settings: TimingSettings,
    pub time_out: Duration,
    pub protocol: Protocol,
    /// Starts a guard, which ends `trtexec` where this process dies.
    pub guard: Option<WorkerCommand>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    pub case: NumberedCase,
    /// The images of a call: the first size of the first shape, else of the first input that `trtexec` reports.
    pub batch: Option<u64>,
    /// The seconds of the calls of each process; or why there are none.
    pub outcome: Result<Vec<Vec<f64>>, Reason>,
}

impl CaseResult {
    /// Why the record omits the case: nobody gave shapes, and the engine does not accept those of 1 that `trtexec` sets.
    pub fn left_out(&self) -> Option<&Reason> {
        let reason = self.outcome.as_ref().err()?;
        (self.case.shapes.shapes.is_empty() && reason.code == ReasonCode::ShapeOutsideProfile).then_some(reason)
    }
}

/// The benchmark of a case, which depends on its shapes alone.
pub fn benchmark(suite: &str, case: &ShapeCase) -> Benchmark {
    let mut params: BTreeMap<String, String> = BTreeMap::new();
    for shape in &case.shapes {
        // Names are the engine's and may be invalid as parameters.
        params.insert(recordable(&shape.name), recordable(&shape.sizes_text()));
    }
    if params.is_empty() {
        params.insert(DEFAULT.0.to_owned(), DEFAULT.1.to_owned());
    }
    Benchmark { suite: suite.to_owned(), name: NAME.to_owned(), params, variant: VARIANT.to_owned(), version: 1 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimingSettings {
    /// Calls before times count.
    pub warmup_milliseconds: u32,
    /// Further calls that do not count.
    pub skipped_calls: u32,
    /// The fewest calls that count, and the shortest time for them.
    pub iterations: u32,
    pub duration_seconds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl Version {
    /// The version of `[TensorRT v8601]`. From version 10 on each part has two digits: `v100300` is 10.3.0.
    fn from_number(number: u32) -> Version {
        let (major, rest) =
            if number < 10_000 { (number / 1_000, number % 1_000) } else { (number / 10_000, number % 10_000) };
        Version { major, minor: rest / 100, patch: rest % 100 }
    }

    /// The name of the calling convention in reports.
    pub fn mode(self) -> &'static str {
        let modern = Version { major: 8, minor: 5, patch: 0 };
        if self >= modern { "modern_io_tensors" } else { "legacy_bindings" }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// From this version on another option loads plugins.
const DYNAMIC_PLUGINS: Version = Version { major: 10, minor: 0, patch: 0 };

/// The arguments of a run that times the calls of a case and writes the times to `times`: one stream, a graph of each
/// call, no copies to or from the device, and a host that does not sleep.
fn timing(sweep: &Sweep, version: Version, case: &ShapeCase, times: &str) -> Vec<String> {
    let mut arguments = common(sweep, version, case, sweep.settings.skipped_calls);
    arguments
        .extend(["--useCudaGraph", "--useSpinWait", "--noDataTransfers", "--percentile=50,95,99"].map(str::to_owned));
    arguments.push(format!("--exportTimes={times}"));
    arguments
}

/// The arguments of a run that times each layer of a case. A graph would hide the layers.
fn profile(sweep: &Sweep, version: Version, case: &ShapeCase, files: [&str; 2]) -> Vec<String> {
    let mut arguments = common(sweep, version, case, 0);
    let options = ["--noDataTransfers", "--dumpProfile", "--separateProfileRun", "--profilingVerbosity=detailed"];
    arguments.extend(options.map(str::to_owned));
    let [profile, layers] = files;
    arguments.extend([format!("--exportProfile={profile}"), format!("--exportLayerInfo={layers}")]);
    arguments
}

fn common(sweep: &Sweep, version: Version, case: &ShapeCase, skipped_calls: u32) -> Vec<String> {
    let mut arguments = vec![format!("--loadEngine={}", sweep.engine.display())];
    if !case.shapes.is_empty() {
        let shapes: Vec<String> =
            case.shapes.iter().map(|shape| format!("{}:{}", name(&shape.name), shape.sizes_text())).collect();
        arguments.push(format!("--shapes={}", shapes.join(",")));
    }
    if let Some(plugin) = &sweep.plugin {
        let option = if version >= DYNAMIC_PLUGINS { "--dynamicPlugins" } else { "--plugins" };
        arguments.push(format!("{option}={}", plugin.display()));
    }
    let TimingSettings { warmup_milliseconds, iterations, duration_seconds, .. } = sweep.settings;
    arguments.extend([
        format!("--warmUp={warmup_milliseconds}"),
        format!("--duration={duration_seconds}"),
        format!("--iterations={}", iterations.saturating_add(skipped_calls)),
        "--infStreams=1".to_owned(),
    ]);
    arguments
}

/// A name with a colon is quoted, since the sizes follow the last colon.
fn name(name: &str) -> String {
    if name.contains(':') { format!("'{name}'") } else { name.to_owned() }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonCode {
    /// It does not exist or does not start.
    TrtexecNotFound,
    EngineMissing,
    /// It was built for another version or device.
    EngineIncompatible,
    ShapeOutsideProfile,
    PluginMissing,
    TimeOut,
    CudaUnavailable,
    Failed,
}

impl ReasonCode {
    /// Whether it affects every case of the engine.
    pub fn is_of_all(self) -> bool {
        !matches!(self, ReasonCode::ShapeOutsideProfile | ReasonCode::TimeOut | ReasonCode::Failed)
    }

    pub fn is_final(self) -> bool {
        self.is_of_all() || self == ReasonCode::ShapeOutsideProfile
    }
}

words!(ReasonCode {
    TrtexecNotFound: "tensorrt_trtexec_not_found",
    EngineMissing: "tensorrt_engine_missing",
    EngineIncompatible: "tensorrt_engine_incompatible",
    ShapeOutsideProfile: "tensorrt_shape_outside_profile",
    PluginMissing: "tensorrt_plugin_missing",
    TimeOut: "tensorrt_timeout",
    CudaUnavailable: "cuda_unavailable",
    Failed: "tensorrt_failed",
});

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub code: ReasonCode,
    pub text: String,
}

impl Reason {
    pub fn new(code: ReasonCode, text: impl Into<String>) -> Reason {
        Reason { code, text: text.into() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            // The general kind needs no code.
            ReasonCode::Failed => f.write_str(&self.text),
            code => write!(f, "{}: {}", code.word(), self.text),
        }
    }
}

/// Names a library with plugins, as in Apex-X.
const PLUGIN_VARIABLE: &str = "APEXX_TRT_PLUGIN_LIB";

/// The library with plugins that the environment names, and its name there. A relative path starts at `folder`.
pub fn plugin_of_environment(folder: &Path) -> Option<(PathBuf, String)> {
    let text = std::env::var_os(PLUGIN_VARIABLE).filter(|text| !text.is_empty())?;
    let path = folder.join(&text);
    path.is_file().then(|| (path, text.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(texts: &[&str]) -> Result<Vec<String>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let cases = number_cases(&texts).map_err(|fault| fault.to_string())?;
        Ok(cases.iter().map(NumberedCase::label).collect())
    }

    #[test]
    fn the_first_case_gives_no_shapes() {
        assert_eq!(labels(&[]), Ok(vec!["default".to_owned()]));
        let expected = ["default", "case_001_1_3", "case_002_2"].map(str::to_owned).to_vec();
        assert_eq!(labels(&["a=1x3;b=4", "a=2"]), Ok(expected));
    }

    #[test]
    fn arguments_follow_from_case_settings_and_version() {
        let sweep = Sweep {
            suite: "trt".into(),
            trtexec: "t".into(),
            engine: "/m.plan".into(),
            plugin: Some("/p.so".into()),
            cases: Vec::new(),
            settings: TimingSettings {
                warmup_milliseconds: 500,
                skipped_calls: 3,
                iterations: 10,
                duration_seconds: 0,
            },
            time_out: Duration::from_secs(1),
            protocol: Protocol::ordinary(3),
            guard: None,
        };
        let version = |major| Version { major, minor: 6, patch: 0 };
        let case = ShapeCase::parse("image:0=1x3x8x8;centers=4x2").expect("the case is fine");
        let expected = "--loadEngine=/m.plan --shapes='image:0':1x3x8x8,centers:4x2 --dynamicPlugins=/p.so --warmUp=500 \
                        --duration=0 --iterations=13 --infStreams=1 --useCudaGraph --useSpinWait --noDataTransfers \
                        --percentile=50,95,99 --exportTimes=t.json";
        assert_eq!(timing(&sweep, version(10), &case, "t.json").join(" "), expected);
        let layers = profile(&sweep, version(8), &ShapeCase::default(), ["p.json", "l.json"]).join(" ");
        assert!(layers.starts_with("--loadEngine=/m.plan --plugins=/p.so --warmUp=500"), "{layers}");
        assert!(!layers.contains("Graph") && layers.contains("--iterations=10 "), "{layers}");
        assert!(layers.ends_with("--exportLayerInfo=l.json"), "{layers}");
        let plain = Sweep { plugin: None, ..sweep };
        let arguments = timing(&plain, version(10), &ShapeCase::default(), "t.json");
        assert_eq!(arguments[..2], ["--loadEngine=/m.plan", "--warmUp=500"]);
    }
}
