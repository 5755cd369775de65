//! What the analysis found: everything the pages, the digest and the exit code say.

use chrono::{DateTime, Utc};

use super::commit::Commit;
use super::environment::FactChange;
use super::rollup::{LatestRow, SuiteRow, WeekRow};
use super::run::{Quality, Quarantined, RunStatus};
use super::series::Series;
use super::verdict::{Comparison, Counts};

#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    pub project: String,
    /// The time of the newest run: the clock of all pages.
    pub as_of: Option<DateTime<Utc>>,
    /// How often a run is due, in days.
    pub every_days: u32,
    pub history: HistoryFacts,
    /// Each suite on each machine, by suite and machine name.
    pub suites: Vec<SuiteAnalysis>,
    pub series: Vec<SeriesAnalysis>,
    /// Each week of each suite and machine, newest first.
    pub weeks: Vec<WeekRow>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryFacts {
    /// The ref it was read from, such as `refs/heads/main`; absent without a repository.
    pub reference: Option<String>,
    pub tip: Option<String>,
    pub runs: usize,
    pub first: Option<DateTime<Utc>>,
    /// Records that could not be read, with the reason.
    pub quarantined: Vec<Quarantined>,
    /// What else is odd, such as runs of commits that the repository does not hold.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SuiteAnalysis {
    pub suite: String,
    pub machine: String,
    pub machine_name: String,
    pub machine_class: String,
    /// The newest run: the whole one of the newest commit on the line, and of one commit the youngest.
    pub run: String,
    pub time: DateTime<Utc>,
    /// Whether it is of some benchmarks only, as no whole one is known: then it shows of no other that it is missing.
    pub narrowed: bool,
    /// When the suite was last measured there as a whole, and no older commit than before.
    pub last: DateTime<Utc>,
    pub commit: Option<Commit>,
    pub status: RunStatus,
    pub reason: Option<String>,
    pub quality: Quality,
    /// Benchmarks of the newest run that failed: id and reason.
    pub failures: Vec<(String, String)>,
    pub imported: bool,
    /// What in the environment differs from the run before on the same machine; absent where none came before.
    pub environment_changes: Option<Vec<FactChange>>,
    /// Where the baseline lies and what it was taken from, or why there is none.
    pub baseline: Result<BaselineFacts, NoBaseline>,
    /// The judged metrics of the newest run against the baseline, worst first.
    pub comparisons: Vec<Comparison>,
    /// How many verdicts of each kind.
    pub counts: Counts,
    /// Figures over all its runs; absent where none measured anything.
    pub rollup: Option<SuiteRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBaseline {
    #[error("there is no `{0}`")]
    Absent(String),
    #[error("`{path}` {fault}")]
    Unusable { path: String, fault: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineFacts {
    pub path: String,
    pub commit: Option<String>,
    pub time: DateTime<Utc>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SeriesAnalysis {
    pub series: Series,
    /// Whether a gate looks at it: one metric a benchmark is judged.
    pub judged: bool,
    /// Whether the newest run of its suite and machine has a value of it.
    pub at_tip: bool,
    /// When it was last measured; a run that was narrowed or of an older commit than before counts where there is no other.
    pub last: DateTime<Utc>,
    /// Its newest value beside the previous one and the baseline.
    pub latest: LatestRow,
    pub comparison: Option<Comparison>,
    /// What its newest value is beside others, in one sentence; of a series that is looked at for changes, the fit says more.
    pub sentence: String,
}
