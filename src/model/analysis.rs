//! The results of the analysis, from which pages, digest and exit code follow.

use chrono::{DateTime, Utc};

use super::commit::Commit;
use super::disagreement::Disagreement;
use super::environment::FactChange;
use super::movers::WeekRow;
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
    pub disagreements: Vec<Disagreement>,
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
    /// Runs that someone withdrew, each with the reason.
    pub retracted: Vec<Quarantined>,
    /// Such as runs of commits that the repository does not hold.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SuiteAnalysis {
    pub suite: String,
    pub machine: String,
    pub machine_name: String,
    pub machine_class: String,
    /// The newest complete run of the newest commit on the line.
    pub run: String,
    pub time: DateTime<Utc>,
    /// Whether no complete run exists, so that `run` has some benchmarks only, and none of the others is missing.
    pub narrowed: bool,
    /// When the whole suite was last measured there, at no older commit than before.
    pub last: DateTime<Utc>,
    pub commit: Option<Commit>,
    pub status: RunStatus,
    pub reason: Option<String>,
    pub quality: Quality,
    /// Benchmarks of the newest run that failed: id and reason.
    pub failures: Vec<(String, String)>,
    pub imported: bool,
    /// What changed in the environment since the run before on the same machine; absent where it is the first.
    pub environment_changes: Option<Vec<FactChange>>,
    pub baseline: Result<BaselineFacts, NoBaseline>,
    /// The judged metrics of the newest run against the baseline, worst first.
    pub comparisons: Vec<Comparison>,
    pub counts: Counts,
    /// How many series it judges, and the geometric mean over those of newest / baseline, minus 1; positive is worse.
    pub mean_baseline: Option<(usize, f64)>,
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
    /// Whether a gate judges it: one metric a benchmark.
    pub judged: bool,
    /// Whether the newest run of its suite and machine has a value of it.
    pub at_tip: bool,
    /// When it was last measured. A narrowed run, or one of an older commit than before, counts only where there is no other.
    pub last: DateTime<Utc>,
    pub latest: LatestRow,
    pub comparison: Option<Comparison>,
    /// How the newest value compares with the others, in one sentence.
    pub sentence: String,
}

/// The newest value of a series compared with the previous one and the baseline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatestRow {
    /// In base units.
    pub current: f64,
    pub previous: Option<f64>,
    pub baseline: Option<f64>,
    /// `current / previous - 1`.
    pub change_previous: Option<f64>,
    /// `current / baseline - 1`.
    pub change_baseline: Option<f64>,
}

impl Analysis {
    /// How many values its series have.
    pub fn values(&self) -> usize {
        self.series.iter().map(|one| one.series.points.len()).sum()
    }
}

impl SeriesAnalysis {
    /// Whether `<benchmark id> <metric>` contains a text, by which settings name series.
    pub fn is_named(&self, text: &str) -> bool {
        format!("{} {}", self.series.benchmark, self.series.metric.name).contains(text)
    }
}
