//! What the GPU report states of TensorRT: an engine timed by `trtexec` where one is named, else why there is none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::environment::redact::redacted;
use crate::plan::Protocol;
use crate::process::WorkerCommand;
use crate::tensorrt;
use crate::tensorrt::reason::{Reason, ReasonCode};
use crate::tensorrt::sweep::{self, NumberedCase, Sweep};
use sprag_formats::compat::apex_x::gpu_report::{Calls, TensorRt};
use sprag_model::shape_case::ShapeCase;

/// Why no engine is timed where none is named, in the seed's words.
const NO_ENGINE: &str = "missing_trt_engine_path";

/// Why the scan is not timed as a plugin where no library is named.
const NO_LIBRARY: &str = "missing_trt_plugin_lib";

/// Why it is not where one is: TensorRT runs plugins as layers of an engine only, and its own libraries are not linked.
const NO_LAYER: &str = "plugin_is_timed_within_an_engine";

/// How long `trtexec` may take, as long as in a suite of its own.
const TIME_OUT: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AskedEngine {
    /// Its file, and how the user wrote it.
    pub(super) engine: Option<(PathBuf, String)>,
    pub(super) plugin: Option<PathBuf>,
    /// Shapes of its inputs, each `name=AxB`.
    pub(super) shapes: Vec<String>,
    /// Calls before those that count.
    pub(super) warmup: u32,
    pub(super) iters: u32,
    /// Images of a call where neither a shape nor `trtexec` tells.
    pub(super) batch: u32,
}

impl AskedEngine {
    /// Times the engine. Its times are those of the device, as `trtexec` tells them.
    pub(super) fn measure(&self) -> TensorRt {
        let Some((path, shown)) = &self.engine else { return TensorRt::Skipped(NO_ENGINE.to_owned()) };
        if !path.is_file() {
            return TensorRt::Skipped(format!("engine_not_found:{shown}"));
        }
        match self.time(path) {
            Ok((calls, mode, work)) => TensorRt::Measured { path: shown.clone(), mode: Some(mode), work, calls },
            Err(reason) => TensorRt::Skipped(word(&reason)),
        }
    }

    pub(super) fn plugin(&self) -> TensorRt {
        TensorRt::Skipped(if self.plugin.is_some() { NO_LAYER } else { NO_LIBRARY }.to_owned())
    }

    fn time(&self, engine: &Path) -> Result<(Calls, String, f64), Reason> {
        let trtexec = tensorrt::find(None)?;
        let shapes = match self.shapes.is_empty() {
            true => ShapeCase::default(),
            false => ShapeCase::parse(&self.shapes.join(";"))
                .map_err(|error| Reason::new(ReasonCode::ShapeOutsideProfile, error.to_string()))?,
        };
        let sweep = Sweep {
            suite: "trt".to_owned(),
            trtexec,
            engine: engine.to_owned(),
            plugin: self.plugin.clone(),
            cases: vec![NumberedCase { number: 0, shapes }],
            settings: sweep::TimingSettings {
                // The seed counts calls, not milliseconds.
                warmup_milliseconds: 0,
                skipped_calls: self.warmup,
                iterations: self.iters,
                duration_seconds: 0,
            },
            time_out: TIME_OUT,
            protocol: Protocol::ordinary(1),
            guard: WorkerCommand::for_this_program(&["guard"]).ok(),
        };
        let result = sweep::measure(&sweep, &mut |_| ())?;
        let mode = result.version.mode().to_owned();
        let case =
            result.cases.into_iter().next().ok_or_else(|| Reason::new(ReasonCode::Failed, "it timed nothing"))?;
        let work = case.batch.map_or(f64::from(self.batch), |batch| batch as f64);
        let processes = case.outcome?;
        let milliseconds = processes.concat().iter().map(|seconds| seconds * 1e3).collect();
        // What TensorRT holds on the device, `trtexec` does not tell.
        Ok((Calls { milliseconds, peak_bytes: None }, mode, work))
    }
}

fn word(reason: &Reason) -> String {
    match reason.code {
        ReasonCode::EngineIncompatible => "engine_deserialize_failed".to_owned(),
        _ => redacted(&reason.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_has_the_words_of_the_seed() {
        let none = AskedEngine::default();
        assert_eq!(none.measure(), TensorRt::Skipped("missing_trt_engine_path".to_owned()));
        assert_eq!(none.plugin(), TensorRt::Skipped("missing_trt_plugin_lib".to_owned()));
        let engine = Some((PathBuf::from("/nonexistent/m.plan"), "m.plan".to_owned()));
        let gone = AskedEngine { engine, plugin: Some("p.so".into()), ..none };
        assert_eq!(gone.measure(), TensorRt::Skipped("engine_not_found:m.plan".to_owned()));
        assert_eq!(gone.plugin(), TensorRt::Skipped("plugin_is_timed_within_an_engine".to_owned()));
    }

    #[test]
    fn reasons_bear_no_paths() {
        let check = |code: ReasonCode, text: &str, expected: &str| assert_eq!(word(&Reason::new(code, text)), expected);
        check(ReasonCode::EngineIncompatible, "Version tag does not match", "engine_deserialize_failed");
        check(ReasonCode::Failed, "no room in /home/x", "no room in <path>");
        check(ReasonCode::TimeOut, "too long", "tensorrt_timeout: too long");
    }
}
