//! What the doctor found: the document that `--json` prints. `docs/DOCTOR.md` describes it for readers.
//!
//! Numbers are in SI base units, shares are of 1, and what is not known is null. A field is never removed or given
//! another meaning without a new [`SCHEMA_VERSION`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sprag_base::words;

/// The name of the ability that counts instructions.
pub const INSTRUCTION_COUNTS: &str = "instruction counts";

/// The name of the ability that keeps results.
pub const RECORDING: &str = "recording";

/// The version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// All of it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Findings {
    /// The version of the document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u32,
    /// The version of this program.
    pub sprag: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Which machine this is, and what is known of it.
    pub machine: MachineFindings,
    /// What can be measured.
    pub abilities: Vec<Ability>,
    /// What the clocks can resolve.
    pub clocks: Clocks,
    /// What pressed on the machine meanwhile.
    pub pressure: Pressures,
    /// How noisy it is.
    pub noise: NoiseFindings,
    /// What to change, the most worthwhile first.
    pub advice: Vec<Recommendation>,
}

/// The schema of the document.
pub fn schema() -> serde_json::Value {
    sprag_model::schema::for_closed_type::<Findings>()
}

/// Which machine this is.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct MachineFindings {
    /// Sixteen hexadecimal digits.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Machines of one class may share a baseline.
    pub class: String,
    /// Where the name comes from: `SPRAG_MACHINE`, `sprag.toml` or `hardware`.
    pub named_by: String,
    /// Verdicts never cross two of these.
    pub environment_key: String,
    /// The facts that a run would record.
    pub facts: BTreeMap<String, String>,
}

/// Something that can be measured or done, or why not.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Ability {
    /// What, such as `suite cpu`.
    pub name: String,
    /// Whether it works here.
    pub able: bool,
    /// How, or why not.
    pub detail: String,
}

/// What the clocks can resolve.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Clocks {
    /// The monotonic clock that times kernels.
    pub wall: Clock,
    /// The clock of the timing thread, by which preempted samples are known; null where there is none.
    pub thread: Option<Clock>,
}

/// What one clock can resolve, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Clock {
    /// The smallest step seen.
    pub resolution: Option<f64>,
    /// What a reading takes.
    pub cost: f64,
}

/// What pressed on the machine while it was examined.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Pressures {
    /// Load average over a minute at the start, in tasks.
    pub load_before: Option<f64>,
    /// Load average over a minute at the end, in tasks.
    pub load_after: Option<f64>,
    /// Share of the wanted processor time that the host took.
    pub steal_share: Option<f64>,
    /// Scheduler periods in which the control group was throttled.
    pub throttled_periods: Option<u64>,
    /// Seconds that it was throttled for.
    pub throttled_seconds: Option<f64>,
    /// Share of the time in which some task waited for a processor.
    pub waiting_share: Option<f64>,
    /// Why a run under this load would be rough.
    pub reasons: Vec<String>,
}

/// How noisy the machine is.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct NoiseFindings {
    /// Worker processes that gave a report.
    pub processes: usize,
    /// Workers that gave none, one sentence each.
    pub faults: Vec<String>,
    /// How fit the machine is for each class of kernels.
    pub classes: Vec<ClassFitness>,
    /// The figures of each kernel.
    pub kernels: Vec<KernelFindings>,
}

/// How fit the machine is for kernels of a class.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ClassFitness {
    /// `compute`, `cache` or `dram`.
    pub class: String,
    /// How fit.
    pub fitness: Fitness,
    /// Why it is not good.
    pub reasons: Vec<String>,
}

/// How fit a machine is, the best first: of several the last is what counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fitness {
    /// A change as small as the gate allows would be seen.
    Good,
    /// Changes that matter would be seen.
    Usable,
    /// It was not measured.
    Unknown,
    /// Only large changes would be seen, or the figures cannot be trusted.
    Poor,
}

words!(Fitness { Good: "good", Usable: "usable", Poor: "poor", Unknown: "unknown" });

/// The figures of a kernel.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct KernelFindings {
    /// `compute`, `cache` or `dram`.
    pub class: String,
    /// Such as `copy 1 MiB`.
    pub kernel: String,
    /// Seconds a call: the median over processes of their medians.
    pub time: f64,
    /// Interquartile range over median inside a process.
    pub within: Option<f64>,
    /// Coefficient of variation of the processes' medians.
    pub between: Option<f64>,
    /// Share of samples during which the thread was kept from running.
    pub preempted_share: Option<f64>,
    /// What it was interleaved with: `itself`, or another kernel.
    #[serde(rename = "beside")]
    pub companion: String,
    /// Whether it was interleaved with itself, so that a ratio other than 1 is an error.
    pub is_control: bool,
    /// Its time over that of what it was interleaved with.
    pub ratio: Option<f64>,
    /// The 95 % interval of the ratio over processes.
    pub ratio_interval: Option<[f64; 2]>,
    /// The smallest relative change of the time that runs of five processes could show.
    pub detectable_time: Option<f64>,
    /// The same of the ratio.
    pub detectable_ratio: Option<f64>,
}

/// Something to change.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Advice")]
pub struct Recommendation {
    /// What it is about, in a word or two.
    pub about: String,
    /// What is wrong and what it does to the numbers.
    pub why: String,
    /// What to do.
    pub how: String,
    /// A command that does it; null where there is none that fits every machine.
    pub command: Option<String>,
}
