//! What `check` and `compare` are asked for.

use std::path::{Path, PathBuf};

use crate::distinct::NamedFile;
use sprag_measure::suite::Effort;

/// What an inconclusive outcome is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inconclusive {
    /// Exit with 3.
    Report,
    /// Exit with 0.
    Ok,
    /// Exit with 1.
    Fail,
}

/// The form in which a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintFormat {
    Table,
    Json,
    Markdown,
}

/// What both commands have in common.
#[derive(Clone, Debug)]
pub struct GateRequest {
    /// The folder that paths count from.
    pub folder: PathBuf,
    pub suites: Vec<String>,
    pub policy: Option<PathBuf>,
    /// The texts of `--report`, `FORMAT=PATH` each.
    pub reports: Vec<String>,
    pub print: PrintFormat,
    pub only_changed: bool,
    pub bisect: bool,
    pub inconclusive: Inconclusive,
}

#[derive(Clone, Debug)]
pub struct CheckRequest {
    pub gate: GateRequest,
    pub run: Option<PathBuf>,
    /// Measure now, with this effort.
    pub measure: Option<Effort>,
    pub against: Option<String>,
    pub baseline: Option<PathBuf>,
    pub compatible: bool,
    pub summary: Option<PathBuf>,
    pub trend_output: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct CompareRequest {
    pub gate: GateRequest,
    pub base: String,
    pub other: String,
    /// Benchmarks to measure, by parts of their ids.
    pub filters: Vec<String>,
}

impl CheckRequest {
    /// The files that the check reads.
    pub fn inputs(&self) -> Vec<NamedFile<'_>> {
        vec![
            NamedFile::read("--run", self.run.as_deref(), "the run that is judged"),
            NamedFile::read("--baseline", self.baseline.as_deref(), "its baseline"),
            NamedFile::read("--against", self.against.as_deref().map(Path::new), "what it is compared with"),
            NamedFile::read("--policy", self.gate.policy.as_deref(), "the policy"),
        ]
    }
}

impl CompareRequest {
    /// The files that a comparison of what is stored may read.
    pub fn inputs(&self) -> Vec<NamedFile<'_>> {
        vec![
            NamedFile::read("the base", Some(Path::new(&self.base)), "the base"),
            NamedFile::read("the other side", Some(Path::new(&self.other)), "what is compared with it"),
            NamedFile::read("--policy", self.gate.policy.as_deref(), "the policy"),
        ]
    }
}
