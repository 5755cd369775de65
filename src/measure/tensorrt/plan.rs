//! What a sweep times: an engine, its cases, and what each is called.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::plan::Protocol;
use crate::process::WorkerCommand;
use sprag_model::benchmark::Benchmark;
use sprag_model::foreign::recordable;
use sprag_model::shape_case::ShapeCase;

/// What all cases of an engine are called; their shapes tell them apart.
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

/// The cases of a sweep: first the one that gives no shapes, then those of the texts.
pub fn number_cases(texts: &[String]) -> Result<Vec<NumberedCase>, ShapeCaseFault> {
    let mut cases = vec![NumberedCase { number: 0, shapes: ShapeCase::default() }];
    // Each is a series of its own, so no two may be called the same.
    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    for (number, text) in (1..).zip(texts) {
        let fault = |why: String| ShapeCaseFault { text: text.clone(), why };
        let shapes = ShapeCase::parse(text).map_err(|error| fault(error.to_string()))?;
        let twice = shapes
            .shapes
            .iter()
            .enumerate()
            .find(|(at, one)| shapes.shapes[..*at].iter().any(|earlier| earlier.name == one.name));
        if let Some((_, shape)) = twice {
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
    /// How to start a guard, which ends `trtexec` where this process dies.
    pub guard: Option<WorkerCommand>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    pub case: NumberedCase,
    /// How many images a call takes: the first size of the first shape, else of the first input that `trtexec` tells
    /// the dimensions of; absent where neither does.
    pub batch: Option<u64>,
    /// The seconds of the calls of each process; or why there are none.
    pub outcome: Result<Vec<Vec<f64>>, Reason>,
}

impl CaseResult {
    /// Why the case is left out of the record: nobody gave shapes for it, and the engine does not take those of 1 that
    /// `trtexec` sets instead. That is no failure of what was asked for.
    pub fn left_out(&self) -> Option<&Reason> {
        let reason = self.outcome.as_ref().err()?;
        (self.case.shapes.shapes.is_empty() && reason.code == ReasonCode::ShapeOutsideProfile).then_some(reason)
    }
}

/// The identity of a case: its shapes, wherever it stands among others.
pub fn benchmark(suite: &str, case: &ShapeCase) -> Benchmark {
    let mut params: BTreeMap<String, String> = BTreeMap::new();
    for shape in &case.shapes {
        // Names are the engine's, and may hold what no parameter may.
        params.insert(recordable(&shape.name), recordable(&shape.sizes_text()));
    }
    if params.is_empty() {
        params.insert(DEFAULT.0.to_owned(), DEFAULT.1.to_owned());
    }
    Benchmark { suite: suite.to_owned(), name: NAME.to_owned(), params, variant: VARIANT.to_owned(), version: 1 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimingSettings {
    /// Milliseconds that it is called before times count.
    pub warmup_milliseconds: u32,
    /// Calls after that which do not count either.
    pub skipped_calls: u32,
    /// Calls that count, at least.
    pub iterations: u32,
    /// Seconds that calls are timed for, at least.
    pub duration_seconds: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded<'a> {
    pub(super) engine: &'a Path,
    pub(super) plugin: Option<&'a Path>,
    pub(super) version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl Version {
    /// Reads the number of a `[TensorRT v8601]`. From version 10 on each part has two digits: `v100300` is 10.3.0.
    pub(super) fn from_number(number: u32) -> Version {
        let (major, rest) =
            if number < 10_000 { (number / 1_000, number % 1_000) } else { (number / 10_000, number % 10_000) };
        Version { major, minor: rest / 100, patch: rest % 100 }
    }

    /// What a report calls the way in which this version calls an engine.
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

/// The first version whose plugins are loaded by another option.
const DYNAMIC_PLUGINS: Version = Version { major: 10, minor: 0, patch: 0 };

/// The arguments of a run that times the calls of a case and leaves the times in `times`: one stream, a graph of each
/// call, no copies to or from the device, and a host that does not sleep.
pub(super) fn timing(loaded: Loaded<'_>, case: &ShapeCase, settings: TimingSettings, times: &str) -> Vec<String> {
    let mut arguments = common(loaded, case);
    let iterations = settings.iterations.saturating_add(settings.skipped_calls);
    arguments.extend([
        format!("--warmUp={}", settings.warmup_milliseconds),
        format!("--duration={}", settings.duration_seconds),
        format!("--iterations={iterations}"),
        "--infStreams=1".to_owned(),
        "--useCudaGraph".to_owned(),
        "--useSpinWait".to_owned(),
        "--noDataTransfers".to_owned(),
        "--percentile=50,95,99".to_owned(),
        format!("--exportTimes={times}"),
    ]);
    arguments
}

/// The arguments of a run that times each layer of a case. A graph would hide the layers.
pub(super) fn profile(loaded: Loaded<'_>, case: &ShapeCase, settings: TimingSettings, files: [&str; 2]) -> Vec<String> {
    let mut arguments = common(loaded, case);
    let [profile, layers] = files;
    arguments.extend([
        format!("--warmUp={}", settings.warmup_milliseconds),
        format!("--duration={}", settings.duration_seconds),
        format!("--iterations={}", settings.iterations),
        "--infStreams=1".to_owned(),
        "--noDataTransfers".to_owned(),
        "--dumpProfile".to_owned(),
        "--separateProfileRun".to_owned(),
        "--profilingVerbosity=detailed".to_owned(),
        format!("--exportProfile={profile}"),
        format!("--exportLayerInfo={layers}"),
    ]);
    arguments
}

fn common(loaded: Loaded<'_>, case: &ShapeCase) -> Vec<String> {
    let mut arguments = vec![format!("--loadEngine={}", loaded.engine.display())];
    if !case.shapes.is_empty() {
        let shapes: Vec<String> =
            case.shapes.iter().map(|shape| format!("{}:{}", name(&shape.name), shape.sizes_text())).collect();
        arguments.push(format!("--shapes={}", shapes.join(",")));
    }
    if let Some(plugin) = loaded.plugin {
        let is_new = loaded.version >= DYNAMIC_PLUGINS;
        let option = if is_new { "--dynamicPlugins" } else { "--plugins" };
        arguments.push(format!("{option}={}", plugin.display()));
    }
    arguments
}

/// The name of an input. One with a colon is quoted, as the sizes follow the last colon.
fn name(name: &str) -> String {
    if name.contains(':') { format!("'{name}'") } else { name.to_owned() }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonCode {
    /// There is no `trtexec`, or it does not start.
    TrtexecNotFound,
    EngineMissing,
    /// The engine was built for another version, or for another device.
    EngineIncompatible,
    ShapeOutsideProfile,
    PluginMissing,
    TimeOut,
    CudaUnavailable,
    Failed,
}

impl ReasonCode {
    pub fn word(self) -> &'static str {
        match self {
            ReasonCode::TrtexecNotFound => "tensorrt_trtexec_not_found",
            ReasonCode::EngineMissing => "tensorrt_engine_missing",
            ReasonCode::EngineIncompatible => "tensorrt_engine_incompatible",
            ReasonCode::ShapeOutsideProfile => "tensorrt_shape_outside_profile",
            ReasonCode::PluginMissing => "tensorrt_plugin_missing",
            ReasonCode::TimeOut => "tensorrt_timeout",
            ReasonCode::CudaUnavailable => "cuda_unavailable",
            ReasonCode::Failed => "tensorrt_failed",
        }
    }

    /// Whether every case of the engine meets with it: then nothing can be measured here.
    pub fn is_of_all(self) -> bool {
        match self {
            ReasonCode::TrtexecNotFound
            | ReasonCode::EngineMissing
            | ReasonCode::EngineIncompatible
            | ReasonCode::PluginMissing
            | ReasonCode::CudaUnavailable => true,
            ReasonCode::ShapeOutsideProfile | ReasonCode::TimeOut | ReasonCode::Failed => false,
        }
    }

    pub fn is_final(self) -> bool {
        self.is_of_all() || self == ReasonCode::ShapeOutsideProfile
    }
}

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
            // What is of no known kind needs no code.
            ReasonCode::Failed => f.write_str(&self.text),
            code => write!(f, "{}: {}", code.word(), self.text),
        }
    }
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
    fn a_case_that_cannot_be_is_named() {
        let check = |texts: &[&str], words: &str| {
            let error = labels(texts).expect_err("it cannot be");
            assert!(error.contains(words), "{error}");
        };
        check(&["a=1", "a=1;image:2"], "`a=1;image:2`: the shape `image:2` has no `=`");
        check(&["a=1;a=2"], "the shape of `a` is given twice");
        check(&["a=1;b=2", "b=2;a=1"], "the same as the shape case number 1");
    }

    fn loaded(major: u32) -> Loaded<'static> {
        Loaded {
            engine: Path::new("/m.plan"),
            plugin: Some(Path::new("/p.so")),
            version: Version { major, minor: 6, patch: 0 },
        }
    }

    const SETTINGS: TimingSettings =
        TimingSettings { warmup_milliseconds: 500, skipped_calls: 3, iterations: 10, duration_seconds: 0 };

    #[test]
    fn a_run_is_told_what_to_time_and_how() {
        let case = ShapeCase::parse("image:0=1x3x8x8;centers=4x2").expect("the case is fine");
        let arguments = timing(loaded(10), &case, SETTINGS, "t.json").join(" ");
        let expected = "--loadEngine=/m.plan --shapes='image:0':1x3x8x8,centers:4x2 --dynamicPlugins=/p.so --warmUp=500 \
                        --duration=0 --iterations=13 --infStreams=1 --useCudaGraph --useSpinWait --noDataTransfers \
                        --percentile=50,95,99 --exportTimes=t.json";
        assert_eq!(arguments, expected);
        let plain = timing(Loaded { plugin: None, ..loaded(10) }, &ShapeCase::default(), SETTINGS, "t.json");
        assert_eq!(plain[..2], ["--loadEngine=/m.plan", "--warmUp=500"]);
        let layers = profile(loaded(8), &ShapeCase::default(), SETTINGS, ["p.json", "l.json"]).join(" ");
        assert!(
            layers.contains("--plugins=/p.so --warmUp") && layers.ends_with("--exportLayerInfo=l.json"),
            "{layers}"
        );
        assert!(!layers.contains("Graph") && layers.contains("--iterations=10 "), "{layers}");
    }
}
