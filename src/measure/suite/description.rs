//! What to run: one suite with its settings, the options of the command, and where it all happens.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::command::suite::CommandSettings;
use crate::gpu::custom::settings::KernelSettings;
use crate::gpu::settings::{AskedDtype, Profile};
use crate::plan::Protocol;
use crate::protocol::Configurations;
use crate::tensorrt::sweep::{self, NumberedCase};
use crate::{MeasureError, clock, environment, sources};
use sprag_formats::compat::apex_x::trt_report::SweepReport;
use sprag_model::run::FILTER;
use sprag_model::{Commit, Environment, Machine, Quality, Run, Shard};

#[derive(Clone, Debug)]
pub struct SuiteSpec {
    pub name: String,
    /// Only benchmarks whose id contains one of these texts; all where empty.
    pub include: Vec<String>,
    pub processes: u32,
    pub work: Work,
}

#[derive(Clone, Debug)]
pub enum Work {
    Cpu,
    Gpu(GpuSuite),
    Cuda(CudaSuite),
    Command(Box<CommandSettings>),
    Trt(Box<TrtSuite>),
}

#[derive(Clone, Debug)]
pub struct GpuSuite {
    pub profiles: Vec<Profile>,
    pub dtypes: Vec<AskedDtype>,
    /// For compiled kernels and tuned configurations; or why the project has none.
    pub private_folder: Result<PathBuf, String>,
}

/// CUDA kernels of the user.
#[derive(Clone, Debug)]
pub struct CudaSuite {
    pub root: PathBuf,
    pub kernels: Vec<KernelSettings>,
    /// How long a worker may send nothing before it is stopped.
    pub time_out: Duration,
    /// As of [`GpuSuite`].
    pub private_folder: Result<PathBuf, String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrtSuite {
    pub engine: PathBuf,
    pub engine_text: String,
    pub plugin: Option<PathBuf>,
    pub trtexec: Option<PathBuf>,
    pub shape_cases: Vec<String>,
    pub cases: Vec<NumberedCase>,
    pub settings: sweep::TimingSettings,
    pub seed: u64,
    pub time_out: Duration,
    /// Where the times of layers go, if they are asked for.
    pub layers_folder: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct MeasureOptions<'a> {
    pub effort: Effort,
    /// Empty for all, otherwise those whose id contains one of these texts.
    pub filters: &'a [String],
    pub shard: Option<Shard>,
    pub count_instructions: bool,
    pub retune: bool,
}

impl MeasureOptions<'_> {
    pub fn all(effort: Effort) -> MeasureOptions<'static> {
        MeasureOptions { effort, filters: &[], shard: None, count_instructions: false, retune: false }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    pub extent: Extent,
    pub pin: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    Ordinary,
    Quick,
    Rigorous,
    /// Seconds a suite.
    Budget(f64),
}

impl Effort {
    pub fn protocol(&self, processes: u32) -> Protocol {
        let protocol = match self.extent {
            Extent::Ordinary => Protocol::ordinary(processes),
            Extent::Quick => Protocol::quick(),
            Extent::Rigorous => {
                Protocol { processes: Protocol::rigorous().processes.max(processes), ..Protocol::rigorous() }
            }
            Extent::Budget(seconds) => Protocol::within(seconds),
        };
        Protocol { pin: self.pin, ..protocol }
    }

    /// The protocol of a comparison, whose processes are pairs; `fewest` can decide. An ordinary one takes twice the
    /// processes of a run: ten pairs find 5 % where processes differ by 2 % and the machine disturbs one pair.
    pub fn protocol_of_pairs(&self, processes: u32, fewest: u32) -> Protocol {
        let protocol = self.protocol(processes);
        let pairs = match self.extent {
            Extent::Quick => fewest,
            Extent::Ordinary => (2 * protocol.processes).max(fewest),
            Extent::Rigorous => Effort::rigorous_pairs(processes),
            Extent::Budget(_) => protocol.processes,
        };
        Protocol { processes: pairs, ..protocol }
    }

    /// The pairs of a rigorous comparison of a suite whose runs have so many processes.
    pub fn rigorous_pairs(processes: u32) -> u32 {
        Protocol::rigorous().processes.max(2 * processes)
    }

    pub fn word(&self) -> &'static str {
        match self.extent {
            Extent::Ordinary => "ordinary",
            Extent::Quick => "quick",
            Extent::Rigorous => "rigorous",
            Extent::Budget(_) => "budget",
        }
    }

    /// How long it takes, in words: `within 60 s`, `in 5 worker processes`.
    pub(super) fn extent_text(&self, processes: u32, noun: &str) -> String {
        match self.extent {
            Extent::Budget(seconds) => format!("within {seconds} s"),
            _ if processes == 1 => format!("in 1 {noun}"),
            _ => format!("in {processes} {noun}es"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum SuiteSubject<'a> {
    WorkingTree,
    Program(&'a CommitProgram),
    /// The root of a checkout, in which the command is built already.
    Checkout(&'a Path),
}

/// A `sprag` program that was built from a commit.
#[derive(Clone, Debug)]
pub struct CommitProgram {
    pub path: PathBuf,
    pub facts: BTreeMap<String, String>,
}

/// The configurations of the newest run of a suite by suite, machine and environment key.
pub type Incumbents<'a> = dyn Fn(&str, &str, &str) -> Configurations + 'a;

pub struct ProjectContext<'a> {
    pub root: &'a Path,
    pub machine_name: Option<String>,
    pub commit: Option<Commit>,
    /// The digest of the sources of this program; empty where they were not available at build time.
    pub built_from: &'a str,
    pub incumbents: &'a Incumbents<'a>,
}

#[derive(Debug)]
pub enum SuiteOutcome {
    /// Perhaps one that says why nothing could be measured.
    Run(Box<Run>),
    Sweep(Box<Run>, Box<SweepReport>),
    /// No benchmark is asked for; the names of those that there are, as far as they can be listed.
    Nothing(Vec<String>),
    EmptyShard(Shard),
}

#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    #[error("`suites.{suite}.include` in sprag.toml leaves no benchmark: none contains `{}`", .include.join("` or `"))]
    Include { suite: String, include: Vec<String> },
    #[error("that commit defines none of the requested benchmarks")]
    NoneAtCommit,
    #[error("the program of that commit cannot be measured: {0}")]
    CommitProgram(MeasureError),
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

impl SuiteError {
    pub fn hint(&self) -> Option<String> {
        match self {
            SuiteError::CommitProgram(_) => Some("this program and that one must understand the same plans".to_owned()),
            SuiteError::Include { .. } | SuiteError::NoneAtCommit | SuiteError::Measure(_) => None,
        }
    }
}

/// Shows progress and messages. `()` shows nothing.
pub trait Observer {
    fn begin(&self, _message: &str, _steps: u64) {}

    fn step(&self, _done: u64) {}

    /// Ends the work; later messages must not mix with a progress bar.
    fn end(&self) {}

    fn note(&self, _message: &str) {}

    fn warn(&self, _message: &str) {}

    /// What to do about the last warning.
    fn hint(&self, _message: &str) {}
}

impl Observer for () {}

pub(super) const COMMAND: &str = "command";

/// The settings that every measured suite records.
pub(super) fn settings(protocol: &Protocol, options: &MeasureOptions<'_>) -> BTreeMap<String, Value> {
    let mut settings = BTreeMap::from([
        ("effort".to_owned(), Value::from(options.effort.word())),
        (FILTER.to_owned(), Value::from(options.filters.to_vec())),
        ("processes".to_owned(), Value::from(protocol.processes)),
        ("seed".to_owned(), Value::from(protocol.seed)),
    ]);
    let asked = [
        ("budget_seconds", protocol.budget_seconds.map(Value::from)),
        ("precision", protocol.precision.map(Value::from)),
        ("pin", protocol.pin.map(Value::from)),
    ];
    settings.extend(asked.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    settings
}

pub(super) fn machine(context: &ProjectContext<'_>, gpu: Option<&str>) -> Machine {
    environment::machine(context.machine_name.as_deref(), gpu)
}

pub(super) fn new_run(name: &str, commit: Option<Commit>, machine: Machine, environment: Environment) -> Run {
    Run { commit, environment, ..Run::new(name, clock::now(), machine) }
}

/// Reasons to distrust a run: those of the measurement, and the state of the sources.
pub(super) fn quality(run: &Run, mut reasons: Vec<String>, built_from: Option<String>) -> Quality {
    reasons.extend(built_from);
    if let Some(commit) = run.commit.as_ref().filter(|commit| commit.dirty) {
        reasons.push(format!("tracked files differed from {}", commit.short()));
    }
    Quality { clean: reasons.is_empty(), reasons }
}

/// Whether the id contains one of the texts, or there is none.
pub(super) fn is_selected(id: &str, texts: &[String]) -> bool {
    texts.is_empty() || texts.iter().any(|text| id.contains(text.as_str()))
}

/// A sentence where the project holds the sources of Sprag and this program was built from others.
pub fn built_from_fault(root: &Path, built_from: &str) -> Option<String> {
    // A folder without all parts is another project.
    let here = is_ours(root).then(|| sources::digest(root).ok()).flatten()?;
    (!built_from.is_empty() && here != built_from)
        .then(|| "this program was built from other sources than those of this folder".to_owned())
}

/// Whether a folder holds the package of Sprag: at its root, as in old versions, or in the workspace.
pub fn is_ours(root: &Path) -> bool {
    ["Cargo.toml", "src/sprag/Cargo.toml"].iter().any(|path| {
        let manifest = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        manifest.lines().any(|line| line.trim() == "name = \"sprag\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effort_becomes_a_protocol() {
        let effort = |extent| Effort { extent, pin: None };
        let (quick, rigorous) = (effort(Extent::Quick), effort(Extent::Rigorous));
        let processes = |effort: Effort, processes| effort.protocol(processes).processes;
        assert_eq!(processes(effort(Extent::Ordinary), 7), 7);
        assert_eq!(processes(quick, 7), 1);
        assert_eq!([processes(rigorous, 7), processes(rigorous, 20)], [15, 20]);
        let pairs = |effort: Effort, processes| effort.protocol_of_pairs(processes, 3).processes;
        assert_eq!([5, 50].map(|processes| pairs(quick, processes)), [3; 2]);
        assert_eq!([5, 50].map(|processes| pairs(effort(Extent::Ordinary), processes)), [10, 100]);
        assert_eq!([5, 7, 8, 50].map(|processes| pairs(rigorous, processes)), [15, 15, 16, 100]);
        let timed = effort(Extent::Budget(10.0)).protocol(7);
        assert_eq!((timed.budget_seconds, timed.precision.is_some()), (Some(10.0), true));
    }

    #[test]
    fn a_build_of_other_sources_of_sprag_is_reported() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).expect("a file");
        std::fs::create_dir(folder.path().join("src")).expect("a folder");
        for part in ["src/main.rs", "Cargo.lock", "build.rs"] {
            write(part, "");
        }
        write("Cargo.toml", "[package]\nname = \"theirs\"\n");
        assert_eq!(built_from_fault(folder.path(), "0"), None);
        write("Cargo.toml", "[package]\nname = \"sprag\"\n");
        assert!(built_from_fault(folder.path(), "0").is_some());
        assert_eq!(built_from_fault(folder.path(), ""), None);
        write("Cargo.toml", "[workspace]\n");
        assert!(!is_ours(folder.path()));
        std::fs::create_dir(folder.path().join("src/sprag")).expect("a folder");
        write("src/sprag/Cargo.toml", "[package]\nname = \"sprag\"\n");
        assert!(built_from_fault(folder.path(), "0").is_some());
        assert_eq!(built_from_fault(&folder.path().join("absent"), "0"), None);
    }
}
