//! The input of a rule: the two sides of a comparison of one metric, and the noise of that metric.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::Better;
use super::verdict::{Effect, Verdict};

/// One metric on one side of a comparison, in base units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    pub value: f64,
    /// The interval of `value` within its run, where there is one.
    pub interval: Option<(f64, f64)>,
    /// How many sessions `value` summarises; 1 where that is unknown.
    pub sessions: usize,
    /// Only files of other tools have samples.
    pub samples: Vec<f64>,
}

impl Side {
    /// A value of one session.
    pub fn once(value: f64) -> Side {
        Side { value, sessions: 1, ..Side::default() }
    }
}

/// The noise of the level of an unchanged metric from session to session.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Restlessness")]
pub struct SessionNoise {
    /// The standard deviation of the natural logarithm of the level.
    #[schemars(extend("minimum" = 0))]
    pub deviation: f64,
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub freedom: f64,
    /// The number of sessions it was estimated from; 0 where it is assumed.
    pub sessions: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TwoSides {
    pub better: Better,
    pub base: Side,
    pub current: Side,
    /// Current over base, one a pair of interleaved processes; empty where the sides did not run together.
    pub ratios: Vec<f64>,
    pub session_noise: Option<SessionNoise>,
    /// Whether the benchmark is limited by memory that it shares with other tenants of the machine.
    pub shares_memory: bool,
}

impl TwoSides {
    pub fn new(better: Better, base: Side, current: Side) -> TwoSides {
        TwoSides { better, base, current, ratios: Vec::new(), session_noise: None, shares_memory: false }
    }

    pub fn has_ratio(&self) -> bool {
        [&self.base, &self.current].iter().all(|side| side.value.is_finite() && side.value > 0.0)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The worst value that still passes, where the rule has one.
    pub allowed: Option<f64>,
    pub effect: Effect,
    pub verdict: Verdict,
    /// The probability of an effect this large though nothing moved beyond the tolerance; absent where the rule computes none.
    pub p_value: Option<f64>,
    /// A remark for the reader, such as that the value is beyond the warning band.
    pub note: Option<String>,
}
