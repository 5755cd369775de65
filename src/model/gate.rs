//! What a gate found: the document that every form of report is made from.

use chrono::{DateTime, Utc};

use super::commit::Commit;
use super::run::RunStatus;
use super::verdict::{Comparison, Counts};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was judged, and nothing is worse than is tolerated.
    Pass,
    /// Something is worse than is tolerated, or missing.
    Fail,
    Inconclusive,
    NotMeasured,
}

impl Outcome {
    pub const WORDS: [&str; 4] = ["pass", "fail", "inconclusive", "not measured"];

    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::Inconclusive => "inconclusive",
            Outcome::NotMeasured => "not measured",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    pub command: &'static str,
    /// How it came out, by the exit code.
    pub outcome: Outcome,
    pub exit_code: u8,
    pub doubt_fails: bool,
    /// Whether a suite without a run is in doubt: it was asked for by name, and doubt is not waved through.
    pub wants_all: bool,
    /// One entry a suite and machine, in the order in which they were asked for.
    pub suites: Vec<SuiteGate>,
}

/// One suite on one machine, held against something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteGate {
    pub suite: String,
    /// What people call the machine; absent where the suite has no run.
    pub machine: Option<String>,
    pub machine_class: String,
    /// The id of the run that was judged; absent where there is none.
    pub run: Option<String>,
    pub time: Option<DateTime<Utc>>,
    pub commit: Option<Commit>,
    /// Whether it ran; absent where there is no run.
    pub status: Option<RunStatus>,
    pub reason: Option<String>,
    /// What speaks against its numbers, one sentence each.
    pub quality: Vec<String>,
    /// What it was held against, in words, such as `baselines/cpu.x.json (of 0123456789ab, 2026-11-21)`; why it was held
    /// against nothing where `has_base` is false.
    pub against: String,
    pub has_base: bool,
    /// The commit of what it was held against.
    pub base_commit: Option<String>,
    /// Whether commits are built for suites of its kind, so that both sides could be measured again and take turns.
    pub can_take_turns: bool,
    /// One entry a judged metric, worst first.
    pub comparisons: Vec<Comparison>,
    /// How much the suite changed as a whole; absent where nothing could be compared.
    pub whole: Option<MeanChange>,
}

/// How much a suite changed as a whole: the geometric mean over its benchmarks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanChange {
    pub benchmarks: usize,
    /// The geometric mean of current over baseline, less one; turned where more is better, so that more is worse.
    pub change: f64,
    /// Its interval; absent where not every benchmark has one, and where several rules decided.
    pub interval: Option<(f64, f64)>,
}

impl SuiteGate {
    /// How many verdicts of each kind.
    pub fn counts(&self) -> Counts {
        Counts::from_comparisons(&self.comparisons)
    }
}

impl Gate {
    /// How many verdicts of each kind over all suites.
    pub fn counts(&self) -> Counts {
        self.suites.iter().fold(Counts::default(), |sum, suite| sum.plus(suite.counts()))
    }
}
