//! What to run: one suite with its settings, the options of the command, and where it all happens.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::MeasureError;
use crate::gpu::precision::AskedDtype;
use crate::gpu::settings::Profile;
use crate::plan::Protocol;
use crate::protocol::Configurations;
use crate::tensorrt::sweep::{self, NumberedCase};
use sprag_formats::compat::apex_x::trt_report::SweepReport;
use sprag_model::commit::Commit;
use sprag_model::run::Run;
use sprag_model::shard::Shard;

#[derive(Clone, Debug)]
pub struct Suite {
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
    /// A program that measures itself.
    Command(CommandSettings),
    Trt(Box<TrtSuite>),
}

#[derive(Clone, Debug)]
pub struct GpuSuite {
    pub profiles: Vec<Profile>,
    pub dtypes: Vec<AskedDtype>,
    /// The folder for compiled kernels and tuned configurations; or why the project has none.
    pub private_folder: Result<PathBuf, String>,
}

#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// The folder it runs in, relative to the root of the project.
    pub folder: Option<PathBuf>,
    pub variables: BTreeMap<String, String>,
    /// A program and its arguments to run once before; empty where there is nothing to build.
    pub build: Vec<String>,
    pub time_out: Duration,
    pub build_time_out: Duration,
    /// Bytes that one process may write to each of its outputs.
    pub most_bytes: u64,
    pub format: OutputFormat,
    /// The file or folder that the command writes its results to; its standard output where absent.
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    Custom,
    /// The folder that a Criterion bench leaves.
    Criterion,
}

impl OutputFormat {
    pub fn word(self) -> &'static str {
        match self {
            OutputFormat::Custom => "custom",
            OutputFormat::Criterion => "criterion",
        }
    }
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
    /// Only benchmarks whose id contains one of these texts; all where empty.
    pub filters: &'a [String],
    pub shard: Option<Shard>,
    pub count_instructions: bool,
    /// Whether the configurations of CUDA kernels are chosen anew.
    pub retune: bool,
}

impl MeasureOptions<'_> {
    /// All benchmarks of the working tree, as they are configured.
    pub fn all(effort: Effort) -> MeasureOptions<'static> {
        MeasureOptions { effort, filters: &[], shard: None, count_instructions: false, retune: false }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    pub extent: Extent,
    /// The processor that workers are kept on.
    pub pin: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// As many as the suite says.
    Ordinary,
    Quick,
    /// Fifteen, and never fewer than an ordinary one has.
    Rigorous,
    /// As many as fit that many seconds a suite.
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

    /// The protocol of a comparison, whose processes are pairs; `fewest` decide something, and a quick one takes so many.
    /// An ordinary one takes twice the processes of a run: from ten pairs on 5 % are found where processes differ by 2 %,
    /// and one pair that the machine disturbed is left out.
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

    /// How many pairs a rigorous comparison takes of a suite whose runs have so many processes.
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
pub enum Subject<'a> {
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

/// The configurations that the newest run of a suite used on a machine in an environment, by the key of that.
pub type Incumbents<'a> = dyn Fn(&str, &str, &str) -> Configurations + 'a;

pub struct ProjectContext<'a> {
    pub root: &'a Path,
    pub machine_name: Option<String>,
    pub commit: Option<Commit>,
    /// The digest of the sources that this program was built from; empty where they were not at hand.
    pub built_from: &'a str,
    pub incumbents: &'a Incumbents<'a>,
}

#[derive(Debug)]
pub enum SuiteOutcome {
    /// A run, if only one that says why nothing could be measured.
    Run(Box<Run>),
    Sweep(Box<Run>, Box<SweepReport>),
    Nothing,
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
}
