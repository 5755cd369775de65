//! How often the rules of a gate are wrong, as the history of a project shows.

use schemars::JsonSchema;
use serde::Serialize;

use sprag_base::stats::normal;

pub const SCHEMA_VERSION: u32 = 1;

const CONFIDENCE: f64 = 0.95;

/// The error rates of the rules of a gate, by replaying a history.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Calibration {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u32,
    pub suites: Vec<String>,
    pub machines: Vec<String>,
    /// The number of judged series.
    pub series: usize,
    /// How many of them have enough sessions for resampling.
    pub resampled_series: usize,
    /// The most further sessions that one of the others needs; absent where all have enough.
    pub more_sessions: Option<usize>,
    /// The classification of pairs of successive sessions.
    pub pairs: Pairs,
    /// One entry a rule and kind of base.
    pub rules: Vec<RuleCalibration>,
}

/// The classification of pairs of successive sessions in one environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Pairs {
    /// The same commit measured again: nothing changed.
    pub reruns: usize,
    /// Two commits without a lasting step between their sessions.
    pub neighbours: usize,
    /// Two commits around a lasting step: left out.
    pub steps: usize,
    /// Two commits with too few sessions before or after them: left out.
    pub unknown: usize,
}

/// What a session was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Base {
    /// The sessions before it.
    History,
    /// The last run before it; the noise is that of the sessions before it.
    Run,
}

/// The verdicts of a rule.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RuleCalibration {
    pub rule: String,
    pub base: Base,
    /// Why there are no results; the other fields are then empty.
    pub silent: Option<String>,
    pub reruns: Tally,
    /// Of neighbouring commits without a step between.
    pub neighbours: Tally,
    /// Checks of unchanged runs, each counted once: regressed where any of its metrics was.
    pub checks: Tally,
    /// Of sessions drawn from the noise of the series.
    pub resampled: Vec<Resampled>,
}

/// Verdicts on resampled sessions with a known change.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Resampled {
    /// How much slower the last session was made: 0.05 is 5 %, and at 0 every alarm is false.
    pub change: f64,
    pub tally: Tally,
}

/// The number of verdicts by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Tally {
    pub judged: usize,
    pub regressed: usize,
    pub improved: usize,
    pub inconclusive: usize,
    /// The share called worse; absent without verdicts.
    pub share: Option<Share>,
}

/// A share and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Share {
    pub value: f64,
    /// The lower end.
    pub low: f64,
    pub high: f64,
}

/// The verdicts of a gate's rule on sessions that measured a commit again.
#[derive(Clone, Debug, PartialEq)]
pub struct Reruns {
    pub suite: String,
    pub machine: String,
    /// One verdict a series and session. Each one that says `changed` is a false alarm.
    pub tally: Tally,
}

impl Tally {
    pub fn changed(self) -> usize {
        self.regressed + self.improved
    }

    /// The same counts with the share of verdicts that say `regressed`.
    pub fn with_share(self) -> Tally {
        let share = normal::share_interval(self.regressed, self.judged, CONFIDENCE).map(|(low, high)| Share {
            value: self.regressed as f64 / self.judged as f64,
            low,
            high,
        });
        Tally { share, ..self }
    }

    /// The sum of two, without a share.
    pub fn plus(self, other: Tally) -> Tally {
        Tally {
            judged: self.judged + other.judged,
            regressed: self.regressed + other.regressed,
            improved: self.improved + other.improved,
            inconclusive: self.inconclusive + other.inconclusive,
            share: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_follows_from_the_counts() {
        let tally = Tally { judged: 20, inconclusive: 3, ..Tally::default() };
        let share = tally.plus(Tally::default()).with_share().share.expect("something was judged");
        assert_eq!((share.value, share.low), (0.0, 0.0));
        assert!((share.high - 0.1611).abs() < 1e-4, "{share:?}");
        assert_eq!(Tally::default().with_share().share, None);
    }
}
