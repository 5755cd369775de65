//! An event: one cause, and the change points or drifts of all series that it moved.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change_point::Level;
use super::environment::FactChange;
use super::ledger::answer::Answer;
use super::metric::Metric;

/// What an event is put down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// Levels changed between two commits.
    Change,
    /// Levels moved evenly over many commits.
    Drift,
    /// The machine, or what is installed on it, changed: no commit is to blame.
    Environment,
}

/// Which way an event moved its members.
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

/// Whether what an event did still holds.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum EventState {
    /// The levels of at least one member are still what they became.
    Standing,
    /// A later event took it back.
    TakenBack { by: String },
}

/// A commit that an event names.
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
    /// The probability that it is, from 0 to 1; those of an event add up to 1.
    pub probability: f64,
    /// Whether a member was measured at it.
    pub measured: bool,
}

/// A machine that an event names.
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
    /// The level after over that before, less 1; absent where there was none before.
    pub relative: Option<Level>,
    /// The change turned such that positive is worse: after over before less 1, or before over after where larger is better.
    pub worse: Option<f64>,
    /// The first commit that was measured at the new level; of a drift, the first after the ramp.
    pub at: NamedCommit,
    /// How many points have been measured since.
    pub points_since: usize,
    /// The chance that a point of a series which holds nothing gives a change as clear.
    pub chance: f64,
    /// Whether the data alone no longer tell it, and it stays because it was told before.
    pub held: bool,
    /// Whether its level is still what it became.
    pub standing: bool,
}

/// What to measure next.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NextStep {
    /// The machine to measure it on: the one of the event where a run tells most.
    pub machine: NamedMachine,
    pub commit: NamedCommit,
    /// How many runs of it on that machine tell on which side of the change it stands, with a chance of error of 5 % or less.
    pub runs: usize,
    /// How many commits are left after these runs in effect: two to the entropy of what the probabilities are expected to be.
    pub left: f64,
    /// Words of a command that does it there, to be joined by spaces once each is quoted; none where `sprag.toml` has no suite
    /// of it any more.
    pub command: Vec<String>,
    /// Whether the commit must be checked out first, as no command builds one for such a suite.
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
    /// Whether the share of chance among all events as clear as this is within what is allowed.
    pub sure: bool,
    /// That share, the false discovery rate at which it is just told (Benjamini and Hochberg).
    pub false_discovery: f64,
    /// The machines on which it was seen.
    pub machines: Vec<NamedMachine>,
    /// The last commit measured that surely lies before it; absent where the first measured one may have it.
    pub last_good: Option<NamedCommit>,
    /// The first commit measured that surely has it.
    pub first_bad: NamedCommit,
    /// The commits that may be the cause, in their order; of a drift all of its ramp, with equal probabilities.
    pub suspects: Vec<Suspect>,
    /// How many series were measured on both sides on those machines, of which the members are part.
    pub measured_series: usize,
    /// The series that moved, the one that got worst first.
    pub members: Vec<Member>,
    /// The change of the worst member, positive is worse; of one that only got better, that of the best.
    pub worst: Option<f64>,
    /// The median of the members' changes, positive is worse.
    pub typical: Option<f64>,
    /// When the first run after it took place; of a drift, the first run in its ramp.
    pub since: DateTime<Utc>,
    /// What speaks for the machine rather than a commit, one sentence each.
    pub machine_signs: Vec<String>,
    /// The facts of the environment that changed there.
    pub facts: Vec<FactChange>,
    /// What to measure next to narrow it down; absent where one commit is left or none can be named.
    pub next: Option<NextStep>,
    /// What the ledger says to it; absent where that says nothing, or nothing of it stands.
    pub answer: Option<Answer>,
}

impl Event {
    /// Whether it surely made something worse, by a commit, that is still worse.
    pub fn is_ongoing_regression(&self) -> bool {
        self.sure
            && self.state == EventState::Standing
            && self.kind != EventKind::Environment
            && self.direction != Direction::Better
    }

    pub fn is_accepted(&self) -> bool {
        self.answer.as_ref().is_some_and(Answer::is_accepted)
    }

    pub fn is_open_regression(&self) -> bool {
        self.is_ongoing_regression() && !self.is_accepted()
    }

    /// The worst change of the members that are still at their new level, positive is worse; absent where one of them has no
    /// relative change, as its level was zero before.
    pub fn worst_ongoing(&self) -> Option<f64> {
        let standing = self.members.iter().filter(|one| one.standing);
        let worse: Option<Vec<f64>> = standing.map(|one| one.worse.filter(|worse| worse.is_finite())).collect();
        worse?.into_iter().reduce(f64::max).filter(|worst| *worst > 0.0)
    }

    pub fn most_likely(&self) -> Option<&Suspect> {
        self.suspects.iter().reduce(|best, next| if next.probability > best.probability { next } else { best })
    }
}
