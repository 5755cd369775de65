//! The result of `sprag trend`.

use std::ops::Deref;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change_point::{Changes, Level, SeriesNoise};
use super::disagreement::Disagreement;
use super::event::{Event, NamedCommit, NamedMachine};
use super::metric::Metric;
use super::movers::{GeomeanRow, MoverRow, SuiteNoiseRow, WeekRow};
use super::series::PointRun;

/// The result of `sprag trend`.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Trend {
    pub project: String,
    /// The ref that the history was read from.
    pub reference: Option<String>,
    pub tip: Option<String>,
    /// The time of the newest run.
    pub as_of: Option<DateTime<Utc>>,
    /// The current time, which the schedule is compared with.
    pub now: DateTime<Utc>,
    pub runs: usize,
    /// The allowed and the expected false alarms.
    pub budget: Budget,
    /// The events: ongoing regressions first, the worst first.
    pub events: Vec<Event>,
    /// Newest points off their level that are not a change yet.
    pub newest: Vec<NewestApart>,
    /// The judged series, and the reasons why others are not.
    pub coverage: Coverage,
    /// The schedule of each suite on each machine.
    pub schedule: Vec<Due>,
    /// The analysed series, by id.
    pub series: Vec<SeriesTrend>,
    /// Tables of recent changes and of noise.
    pub tables: Tables,
    /// The events that a list shows at once; 0 is all.
    #[serde(skip)]
    pub most: usize,
}

impl Trend {
    /// The events that a list shows at once.
    pub fn most_events(&self) -> usize {
        if self.most == 0 { usize::MAX } else { self.most }
    }
}

/// Tables next to the events.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Tables {
    /// The days of a window of the movers and the geometric means.
    pub days: u32,
    /// The judged series by their change, the worst first.
    pub movers: Vec<MoverRow>,
    /// Geometric means over judged series, by suite, machine and element type.
    pub geomeans: Vec<GeomeanRow>,
    /// The noise of the judged series of each suite on each machine.
    pub noise: Vec<SuiteNoiseRow>,
    /// The weeks of each suite on each machine, newest first.
    pub weeks: Vec<WeekRow>,
    /// Machines that disagree with others of their class; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disagreements: Vec<Disagreement>,
}

/// The allowed rate of false alarms, and the rate in the noise of the history.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Budget {
    /// False alarms allowed in 1,000 points.
    pub allowed: f64,
    pub points: usize,
    /// The number of false alarms to expect at most.
    pub expected: f64,
    /// The number of series whose noise looks like changes, so that their limits are higher; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raised: Option<usize>,
    /// The allowed false discovery rate of significant events.
    pub false_discovery: f64,
    /// The analysis of the noise of these series alone: their residuals in shuffled blocks.
    pub self_test: SelfTest,
}

/// The false alarms in the noise of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct SelfTest {
    pub points: usize,
    /// The number of changes and drifts reported, all of them false.
    pub alarms: usize,
    /// False alarms in 1,000 points; absent without points.
    pub rate: Option<f64>,
    /// Whether the rate is significantly above the allowed one.
    pub exceeded: bool,
    /// The number of points of drifts and bimodal findings, which the test leaves out; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<usize>,
}

/// A newest commit with values off their levels, too few for a change.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct NewestApart {
    pub machine: NamedMachine,
    pub commit: NamedCommit,
    /// The number of further runs at the new level, at this commit or later ones, that make a change.
    pub runs: usize,
    /// The series, the worst first.
    pub series: Vec<ApartSeries>,
    /// The words of a command that measures it again; empty where `sprag.toml` no longer has such a suite.
    pub command: Vec<String>,
    /// Whether the commit must be checked out first, as commits are not built for such a suite.
    pub checkout: bool,
}

/// A series with a newest point off its level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ApartSeries {
    pub series: String,
    pub suite: String,
    pub benchmark: String,
    pub metric: Metric,
    /// Its level so far, in base units.
    pub level: Level,
    /// The newest value.
    pub value: f64,
    /// The relative distance from the level, positive is worse; absent where the level is zero.
    pub worse: Option<f64>,
    pub runs: usize,
}

/// The number of judged series, and of others by reason.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Coverage {
    /// The number of series in which a change can be detected.
    pub judged: usize,
    pub total: usize,
    /// The number of series that are not judged for each reason; a series may have several.
    pub reasons: Vec<ReasonCount>,
}

/// The number of series with a reason.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ReasonCount {
    /// The word of the reason, such as `too_short`.
    pub reason: String,
    pub series: usize,
}

/// Why the newest state of a series is not judged.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum NotJudged {
    /// It has too few points.
    TooShort { points: usize, needed: usize },
    /// Its newest point is older than the schedule allows.
    Stale { days: i64, allowed: i64 },
    /// The newest run of its suite has no value of it.
    MissingAtTip {
        /// The newest commit with a value.
        last: NamedCommit,
    },
    /// The environment changed, and too few points came since.
    EnvironmentChanged { points: usize, needed: usize },
    /// Its benchmark failed in the newest run.
    Failing {
        /// What went wrong.
        why: String,
    },
    /// None of its runs has a commit on the line.
    NoCommit,
}

impl NotJudged {
    pub fn word(&self) -> &'static str {
        match self {
            NotJudged::TooShort { .. } => "too_short",
            NotJudged::Stale { .. } => "stale",
            NotJudged::MissingAtTip { .. } => "missing_at_tip",
            NotJudged::EnvironmentChanged { .. } => "environment_changed",
            NotJudged::Failing { .. } => "failing",
            NotJudged::NoCommit => "no_commit",
        }
    }
}

/// The schedule of a suite on a machine.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Due {
    pub suite: String,
    pub machine: NamedMachine,
    /// The time of its newest run.
    pub newest: DateTime<Utc>,
    pub days: i64,
    pub allowed: i64,
    pub stale: bool,
}

/// A series and the results of its analysis.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SeriesTrend {
    pub series: String,
    pub suite: String,
    pub benchmark: String,
    pub metric: Metric,
    pub machine: NamedMachine,
    pub judged: bool,
    /// Whether its benchmark is a control or a calibration kernel.
    #[serde(rename = "beside")]
    pub is_auxiliary: bool,
    pub exact: bool,
    /// The sensitivity to changes: `strict`, `balanced` or `loose`.
    pub sensitivity: String,
    /// The least relative change that counts.
    pub least: f64,
    /// Its noise; absent where it is exact or too short.
    pub noise: Option<SeriesNoise>,
    /// The relative deviation of a point before the noise that all series of its run have in common was taken out; absent where it was
    /// not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_noise: Option<f64>,
    /// The smallest relative change that eight points after it reveal in four cases of five.
    pub detectable: Option<f64>,
    /// The number of points: one a commit and environment.
    pub points: usize,
    /// The number of runs left out because the tree differed from the commit.
    pub dirty: usize,
    /// The number of runs left out because their commit is not on the line, such as of another branch.
    pub elsewhere: usize,
    /// The segments between changes, in order.
    pub levels: Vec<Segment>,
    /// Why its newest state is not judged; empty where it is.
    pub not_judged: Vec<NotJudged>,
    /// The points, one a commit and environment.
    #[serde(skip)]
    pub pooled: Arc<[PooledPoint]>,
    #[serde(skip)]
    pub changes: Changes,
}

/// A segment of a series without a change.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Stretch")]
pub struct Segment {
    /// Its first measured commit.
    pub first: NamedCommit,
    pub last: NamedCommit,
    pub points: usize,
    /// In base units; absent where it drifts or is not analysed.
    pub level: Option<Level>,
}

/// All runs of a commit in one environment, as one point of a series. It dereferences to the oldest of them.
#[derive(Clone, Debug, PartialEq)]
pub struct PooledPoint {
    pub first: Arc<PointRun>,
    /// The place of its commit on the axis.
    pub place: usize,
    /// The median over the processes of all its runs, in base units.
    pub value: f64,
    pub runs: usize,
    /// One for each run without medians of processes.
    pub processes: usize,
    /// The lowest and the highest median of a process; absent below two processes.
    pub spread: Option<(f64, f64)>,
    /// Whether there are several processes with equal medians.
    pub alike: bool,
}

impl Deref for PooledPoint {
    type Target = PointRun;

    fn deref(&self) -> &PointRun {
        &self.first
    }
}

impl PooledPoint {
    /// The lowest and the highest of the medians of processes.
    pub fn spread_of<'w>(workers: impl IntoIterator<Item = &'w f64>) -> Option<(f64, f64)> {
        let widened = |(low, high): (f64, f64), worker: &f64| (low.min(*worker), high.max(*worker));
        let ends = workers.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), widened);
        (ends.0.is_finite() && ends.1.is_finite()).then_some(ends)
    }

    pub fn of_run(mut self, differ: impl FnOnce(&mut PointRun)) -> PooledPoint {
        differ(Arc::make_mut(&mut self.first));
        self
    }
}
