//! An event: one cause, and the change points or drifts of all series that it moved.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bisection::Bisection;
use super::change_point::Level;
use super::environment::FactChange;
use super::ledger::answer::Answer;
use super::metric::Metric;

/// The kind of cause of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// Levels changed between two commits.
    Change,
    /// Levels moved evenly over many commits.
    Drift,
    /// Levels went back and forth between the same two values, so that no commit is to blame.
    Bimodal,
    /// Levels went up and down again and again, so that none lasted; they are not two values.
    Unstable,
    /// The machine or its software changed, so that no commit is to blame.
    Environment,
}

impl EventKind {
    /// Whether its cause came between two commits, rather than over many.
    pub fn is_of_one_commit(self) -> bool {
        matches!(self, EventKind::Change | EventKind::Environment)
    }

    /// Whether no level lasted, so that it has no direction.
    pub fn alternates(self) -> bool {
        matches!(self, EventKind::Bimodal | EventKind::Unstable)
    }
}

/// The direction in which an event moved its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// All of them got worse.
    Worse,
    /// All of them got better.
    Better,
    /// Some got worse and some better.
    Mixed,
}

/// Whether the effect of an event persists.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum EventState {
    /// At least one member is still at its new level.
    #[serde(rename = "standing")]
    Present,
    /// A later event reverted it.
    #[serde(rename = "taken_back")]
    Reverted { by: String },
}

/// A commit of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedCommit {
    /// Forty lower-case hexadecimal digits.
    pub sha: String,
    /// The first line of its message; empty where the repository does not hold it.
    pub subject: String,
    pub tags: Vec<String>,
}

impl NamedCommit {
    /// Its first tag, else seven digits.
    pub fn short(&self) -> &str {
        self.tags.first().map_or_else(|| self.sha.get(..7).unwrap_or(&self.sha), String::as_str)
    }
}

/// A commit that may be the cause.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspect {
    pub commit: NamedCommit,
    /// From 0 to 1; the probabilities of an event add up to 1.
    pub probability: f64,
    /// Whether a member was measured at this commit.
    pub measured: bool,
}

/// A machine of an event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedMachine {
    pub id: String,
    pub name: String,
}

/// A series that an event moved.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    pub series: String,
    pub suite: String,
    pub benchmark: String,
    pub metric: Metric,
    pub machine: NamedMachine,
    /// The level before, in base units.
    pub before: Level,
    pub after: Level,
    /// The level after over that before, less 1; absent where that was zero.
    pub relative: Option<Level>,
    /// The change with positive as worse: after over before less 1, or before over after less 1 where larger is better.
    pub worse: Option<f64>,
    /// The first commit that was measured at the new level; of a drift, the first after the ramp; of levels that alternate,
    /// the first since the newest change of them.
    pub at: NamedCommit,
    /// The number of points measured since.
    pub points_since: usize,
    /// The probability that a point of a series without changes gives a change as clear.
    pub chance: f64,
    /// Whether the data alone no longer show it, and it stays because it was reported before.
    #[serde(rename = "held")]
    pub is_carried: bool,
    /// Whether it is still at its new level.
    #[serde(rename = "standing")]
    pub is_present: bool,
    /// Of two levels that it alternates between, the share of the points at the higher one, which is `after`; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_share: Option<f64>,
    /// Of levels that alternate, whether the newest is nearer to the highest one; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_high: Option<bool>,
    /// Of a drift, the number of commits that its own ramp takes; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<usize>,
}

/// What to measure next.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NextStep {
    /// The machine of the event on which a run is most informative.
    pub machine: NamedMachine,
    pub commit: NamedCommit,
    /// The number of runs that decide on which side of the change the commit is, with an error of 5 % or less.
    pub runs: usize,
    /// The effective number of suspects after these runs: two to the expected entropy of their probabilities.
    pub left: f64,
    /// The words of a command that does it there, each to be quoted; empty where `sprag.toml` no longer has such a suite.
    pub command: Vec<String>,
    /// Whether the commit must be checked out first, as commits are not built for such a suite.
    pub checkout: bool,
}

/// One cause, many series.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// `e-` and hexadecimal digits; the same as data grows.
    pub id: String,
    pub kind: EventKind,
    pub direction: Direction,
    pub state: EventState,
    /// Whether the false discovery rate is within the limit.
    pub sure: bool,
    /// The least false discovery rate at which it is reported (Benjamini and Hochberg).
    pub false_discovery: f64,
    /// The machines on which it was observed.
    pub machines: Vec<NamedMachine>,
    /// The last measured commit that is certainly before it; absent where the first measured one may have it.
    pub last_good: Option<NamedCommit>,
    /// The first measured commit that certainly has it.
    pub first_bad: NamedCommit,
    /// The possible causes, in the order of commits; of a drift all commits of its ramp, with equal probabilities.
    pub suspects: Vec<Suspect>,
    /// The number of series measured on both sides on those machines, members included.
    pub measured_series: usize,
    /// The series that moved, the worst first.
    pub members: Vec<Member>,
    /// The change of the worst member, positive is worse; where all got better, that of the best.
    pub worst: Option<f64>,
    /// The median of the members' changes, positive is worse.
    pub typical: Option<f64>,
    /// The time of the first run after it; of a drift, of the first run in its ramp.
    pub since: DateTime<Utc>,
    /// Evidence for the machine as the cause rather than a commit, one sentence each.
    pub machine_signs: Vec<String>,
    /// The facts of the environment that changed there.
    pub facts: Vec<FactChange>,
    /// What to measure next to narrow it down; absent where one commit is left or none can be named.
    pub next: Option<NextStep>,
    /// The answer of the ledger; absent where there is none, or the effect does not persist.
    pub answer: Option<Answer>,
    /// The newest recorded bisection that named its cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bisection: Option<Bisection>,
}

impl Event {
    /// Whether a commit certainly caused it, and made something worse that still is.
    pub fn is_ongoing_regression(&self) -> bool {
        self.sure
            && self.state == EventState::Present
            && matches!(self.kind, EventKind::Change | EventKind::Drift)
            && self.direction != Direction::Better
    }

    pub fn is_accepted(&self) -> bool {
        self.answer.as_ref().is_some_and(Answer::is_accepted)
    }

    pub fn is_open_regression(&self) -> bool {
        self.is_ongoing_regression() && !self.is_accepted()
    }

    /// The worst change of members still at their new level, positive is worse; absent where one began at zero.
    pub fn worst_ongoing(&self) -> Option<f64> {
        let members = self.members.iter().filter(|one| one.is_present);
        let worse: Option<Vec<f64>> = members.map(|one| one.worse.filter(|worse| worse.is_finite())).collect();
        worse?.into_iter().reduce(f64::max).filter(|worst| *worst > 0.0)
    }

    pub fn most_likely(&self) -> Option<&Suspect> {
        self.suspects.iter().reduce(|best, next| if next.probability > best.probability { next } else { best })
    }
}
