//! Why an engine, or one case of it, was not timed: a code that programs can read, and what happened.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
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

impl Code {
    pub fn word(self) -> &'static str {
        match self {
            Code::TrtexecNotFound => "tensorrt_trtexec_not_found",
            Code::EngineMissing => "tensorrt_engine_missing",
            Code::EngineIncompatible => "tensorrt_engine_incompatible",
            Code::ShapeOutsideProfile => "tensorrt_shape_outside_profile",
            Code::PluginMissing => "tensorrt_plugin_missing",
            Code::TimeOut => "tensorrt_timeout",
            Code::CudaUnavailable => "cuda_unavailable",
            Code::Failed => "tensorrt_failed",
        }
    }

    /// Whether every case of the engine meets with it: then nothing can be measured here.
    pub fn is_of_all(self) -> bool {
        match self {
            Code::TrtexecNotFound
            | Code::EngineMissing
            | Code::EngineIncompatible
            | Code::PluginMissing
            | Code::CudaUnavailable => true,
            Code::ShapeOutsideProfile | Code::TimeOut | Code::Failed => false,
        }
    }

    pub fn is_final(self) -> bool {
        self.is_of_all() || self == Code::ShapeOutsideProfile
    }
}

/// Why something was not timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub code: Code,
    pub text: String,
}

impl Reason {
    pub fn new(code: Code, text: impl Into<String>) -> Reason {
        Reason { code, text: text.into() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            // What is of no known kind needs no code.
            Code::Failed => f.write_str(&self.text),
            code => write!(f, "{}: {}", code.word(), self.text),
        }
    }
}
