//! What a rule decides by: the two sides of a comparison of one metric, and how restless the metric is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::Better;
use super::verdict::{Effect, Verdict};

/// What is known of one metric on one side, in base units of the metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    pub value: f64,
    /// The interval of `value` within its run, where there is one.
    pub interval: Option<(f64, f64)>,
    /// How many sessions stand behind `value`; a value of which nothing else is known is one.
    pub sessions: usize,
    /// Single samples; only files of other tools hold them.
    pub samples: Vec<f64>,
}

impl Side {
    /// A value of one session.
    pub fn once(value: f64) -> Side {
        Side { value, sessions: 1, ..Side::default() }
    }
}

/// How much the level of a metric moves from session to session though nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Restlessness")]
pub struct SessionNoise {
    /// The standard deviation of the natural logarithm of the level.
    #[schemars(extend("minimum" = 0))]
    pub deviation: f64,
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub freedom: f64,
    /// How many sessions taught it; none where it is assumed.
    pub sessions: usize,
}

/// All that is known of one metric of one benchmark on two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub better: Better,
    pub base: Side,
    pub current: Side,
    /// Current over base, one a pair of processes that took turns; empty where the sides did not run together.
    pub ratios: Vec<f64>,
    /// How restless the series is; absent where nothing is known of that.
    pub restlessness: Option<SessionNoise>,
    /// Whether the benchmark is limited by a memory that it shares with other tenants of the machine.
    pub shares_memory: bool,
}

impl Evidence {
    /// Two sides of which nothing else is given.
    pub fn new(better: Better, base: Side, current: Side) -> Evidence {
        Evidence { better, base, current, ratios: Vec::new(), restlessness: None, shares_memory: false }
    }

    /// Whether both sides have a value that a ratio can be taken of.
    pub fn has_ratio(&self) -> bool {
        [&self.base, &self.current].iter().all(|side| side.value.is_finite() && side.value > 0.0)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The worst value that still passes, where the rule knows one.
    pub allowed: Option<f64>,
    pub effect: Effect,
    pub verdict: Verdict,
    /// The chance of an effect this large in its direction though nothing moved beyond the tolerance; absent where the
    /// rule knows none.
    pub p_value: Option<f64>,
    /// What else a reader should know, such as that a warning band was left.
    pub note: Option<String>,
}
