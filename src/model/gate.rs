//! The result of a gate, from which every form of its report is made.

use chrono::{DateTime, Utc};

use super::commit::Commit;
use super::run::RunStatus;
use super::verdict::{Comparison, Counts};
use sprag_base::words;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Pass,
    /// Something is worse than tolerated, or missing.
    Fail,
    Inconclusive,
    NotMeasured,
}

impl Outcome {
    pub const WORDS: [&str; 4] = ["pass", "fail", "inconclusive", "not measured"];
}

words!(Outcome { Pass: "pass", Fail: "fail", Inconclusive: "inconclusive", NotMeasured: "not measured" });

#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    pub command: &'static str,
    pub outcome: Outcome,
    pub exit_code: u8,
    pub doubt_fails: bool,
    /// Whether a suite without a run makes the result inconclusive: the user named it, and `--inconclusive` is not `ok`.
    pub wants_all: bool,
    /// One entry a suite and machine, in the order of the request.
    pub suites: Vec<SuiteGate>,
}

/// The comparison of one suite on one machine with its base.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteGate {
    pub suite: String,
    /// The name of the machine; absent, as the fields of the run below, where the suite has no run.
    pub machine: Option<String>,
    pub machine_class: String,
    /// The id of the judged run.
    pub run: Option<String>,
    pub time: Option<DateTime<Utc>>,
    pub commit: Option<Commit>,
    pub status: Option<RunStatus>,
    pub reason: Option<String>,
    /// Doubts about its numbers, one sentence each.
    pub quality: Vec<String>,
    /// The base, such as `baselines/cpu.x.json (of 0123456789ab, 2026-11-21)`; where `has_base` is false, why there is none.
    pub against: String,
    pub has_base: bool,
    pub base_commit: Option<String>,
    /// The name of the machine that measured the base.
    pub base_machine: Option<String>,
    /// Whether commits are built for suites of its kind, so that both sides could be measured again, interleaved.
    pub can_take_turns: bool,
    /// One entry a judged metric, worst first.
    pub comparisons: Vec<Comparison>,
    /// Absent where nothing could be compared.
    pub mean_change: Option<MeanChange>,
}

/// How much a suite changed: the geometric mean over its benchmarks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanChange {
    pub benchmarks: usize,
    /// The geometric mean of current over baseline, less one; inverted where higher is better, so that positive is worse.
    pub change: f64,
    /// Absent where a benchmark has none, and where several rules decided.
    pub interval: Option<(f64, f64)>,
}

impl SuiteGate {
    pub fn counts(&self) -> Counts {
        Counts::from_comparisons(&self.comparisons)
    }
}

impl Gate {
    pub fn counts(&self) -> Counts {
        self.suites.iter().fold(Counts::default(), |sum, suite| sum.plus(suite.counts()))
    }
}
