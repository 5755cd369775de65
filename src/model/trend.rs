//! What `sprag trend` finds over a whole history.

use std::ops::Deref;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use super::change_point::{Changes, Level, SeriesNoise};
use super::event::{Event, NamedCommit, NamedMachine};
use super::metric::Metric;
use super::movers::{GeomeanRow, MoverRow, SuiteNoiseRow};
use super::rollup::WeekRow;
use super::series::PointRun;

/// Everything that is found.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Trend {
    pub project: String,
    /// The ref that the history was read from.
    pub reference: Option<String>,
    pub tip: Option<String>,
    /// The time of the newest run.
    pub as_of: Option<DateTime<Utc>>,
    /// The present, against which the schedule is held.
    pub now: DateTime<Utc>,
    pub runs: usize,
    /// How many false alarms are allowed, and how many there are.
    pub budget: Budget,
    /// What changed: regressions that stand first, the worst first.
    pub events: Vec<Event>,
    /// Newest points that lie apart and are no change yet.
    pub newest: Vec<NewestApart>,
    /// What was judged, and what not and why.
    pub coverage: Coverage,
    /// Each suite on each machine against the schedule.
    pub schedule: Vec<Due>,
    /// Each series that was looked at, by id.
    pub series: Vec<SeriesTrend>,
    /// What moved lately, and how restless the rest is.
    pub tables: Tables,
}

/// Tables next to the events.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Tables {
    /// How many days make up a window of the movers and the geometric means.
    pub days: u32,
    /// Judged series by how far they moved, the worst first.
    pub movers: Vec<MoverRow>,
    /// Geometric means over judged series, by suite, machine and element type.
    pub geomeans: Vec<GeomeanRow>,
    /// The noise of the judged series of each suite on each machine.
    pub noise: Vec<SuiteNoiseRow>,
    /// The weeks of each suite on each machine, newest first.
    pub weeks: Vec<WeekRow>,
}

/// How many false alarms are allowed in 1,000 points, and how many the tool finds in what holds nothing.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Budget {
    /// False alarms allowed in 1,000 points.
    pub allowed: f64,
    pub points: usize,
    /// How many false alarms that makes at most.
    pub expected: f64,
    /// The share of chance that is allowed among events called sure.
    pub false_discovery: f64,
    /// What comes of the noise of these series alone: the residues about their levels, in blocks put in another order.
    pub self_test: SelfTest,
}

/// What the noise of a history gives by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct SelfTest {
    pub points: usize,
    /// How many changes and drifts were told in them, all of them false.
    pub alarms: usize,
    /// False alarms in 1,000 points; absent where nothing was looked at.
    pub rate: Option<f64>,
    /// Whether that is more than is allowed, beyond chance.
    pub exceeded: bool,
}

/// A newest commit at which values lie apart from their levels: no change yet, and not nothing.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct NewestApart {
    pub machine: NamedMachine,
    pub commit: NamedCommit,
    /// How many runs more settle it: that many at the new level, at this commit or after it, make a change.
    pub runs: usize,
    /// The series, the one that got worst first.
    pub series: Vec<ApartSeries>,
    /// Words of a command that measures it again; none where `sprag.toml` has no suite of it any more.
    pub command: Vec<String>,
    /// Whether the commit must be checked out first, as no command builds one for such a suite.
    pub checkout: bool,
}

/// A series whose newest point lies apart.
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
    /// How far that is, positive is worse; absent where the level is zero.
    pub worse: Option<f64>,
    pub runs: usize,
}

/// Which series are judged, and which not and why.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Coverage {
    /// How many series a change can be told of.
    pub judged: usize,
    pub total: usize,
    /// How many are not judged for each reason, by its word; a series may have several.
    pub reasons: Vec<ReasonCount>,
}

/// How many series have a reason.
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
    /// None of its runs is of a commit that is known.
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

/// A suite on a machine against the schedule.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Due {
    pub suite: String,
    pub machine: NamedMachine,
    /// When its newest run took place.
    pub newest: DateTime<Utc>,
    pub days: i64,
    pub allowed: i64,
    pub stale: bool,
}

/// A series with what was found in it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SeriesTrend {
    pub series: String,
    pub suite: String,
    pub benchmark: String,
    pub metric: Metric,
    pub machine: NamedMachine,
    pub judged: bool,
    /// Whether it is of what kernels are held against: a control or a calibration kernel.
    pub beside: bool,
    pub exact: bool,
    /// How much it takes to tell a change of it: `strict`, `balanced` or `loose`.
    pub sensitivity: String,
    /// The least relative change that counts.
    pub least: f64,
    /// Its noise; absent where it is exact or too short.
    pub noise: Option<SeriesNoise>,
    /// The smallest relative change that shows in four cases of five once eight points are measured after it.
    pub detectable: Option<f64>,
    /// How many points it has: one a commit and environment.
    pub points: usize,
    /// How many runs are left out because the tree differed from the commit.
    pub dirty: usize,
    /// How many runs are left out because their commit is not on the line, as of another branch.
    pub elsewhere: usize,
    /// The stretches between changes, in their order.
    pub levels: Vec<Stretch>,
    /// Why its newest state is not judged; empty where it is.
    pub not_judged: Vec<NotJudged>,
    /// The points, one a commit and environment.
    #[serde(skip)]
    pub pooled: Arc<[PooledPoint]>,
    #[serde(skip)]
    pub changes: Changes,
}

/// A stretch of a series without a change.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Stretch {
    /// Its first measured commit.
    pub first: NamedCommit,
    pub last: NamedCommit,
    pub points: usize,
    /// Its level in base units; absent where it drifts or is not looked at.
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
