//! Why an engine, or one case of it, was not timed: a code that programs can read, and what happened.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonCode {
    /// There is no `trtexec`, or it does not start.
    TrtexecNotFound,
    EngineMissing,
    /// The engine was built for another version, or for another device.
    EngineIncompatible,
    ShapeOutsideProfile,
    PluginMissing,
    /// A process took too long.
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

/// Why something was not timed.
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
