//! What a bisection measured and named: in its report, and in the record of its event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::check_hex;
use crate::schema::patterns;

/// A bisection that named the cause of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bisection {
    /// The good end.
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub good: String,
    /// The bad end.
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub bad: String,
    /// What was measured, in order.
    pub measurements: Vec<BisectMeasurement>,
    /// The most likely suspects at its end, the most likely first.
    pub suspects: Vec<BisectSuspect>,
    /// The commits to blame: one, or several that no measurement separates.
    #[schemars(extend("minItems" = 1))]
    pub culprits: Vec<String>,
    /// The probability that one of them is the cause.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub probability: f64,
    /// The benchmarks that moved there, the largest change first.
    pub effects: Vec<BisectEffect>,
    /// Commits that were not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedCommit>,
}

/// A commit that could not be built or lacks the benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkippedCommit {
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub commit: String,
    pub reason: String,
}

/// A commit that was measured in turns with the good end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BisectMeasurement {
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub commit: String,
    /// Pairs of processes; of instruction counts the one pair of counts.
    pub pairs: usize,
    /// 0 at the good end, 1 at the bad one; where benchmarks moved at different commits, of that which moved most.
    pub level: f64,
    /// The probability of the likeliest suspect afterwards.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub probability: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BisectSuspect {
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub commit: String,
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub probability: f64,
}

/// A benchmark that moved, or that differs between the ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BisectEffect {
    pub benchmark: String,
    /// The relative change; positive is worse.
    pub change: f64,
    /// Its interval, with 95 % confidence.
    pub interval: (f64, f64),
}

impl Bisection {
    pub(crate) fn check(&self) -> Result<(), String> {
        let commits =
            self.measurements.iter().map(|one| &one.commit).chain(self.suspects.iter().map(|one| &one.commit));
        let skipped = self.skipped.iter().map(|one| &one.commit);
        let mut commits = commits.chain(skipped).chain(&self.culprits).chain([&self.good, &self.bad]);
        commits.try_for_each(|commit| check_hex("bisection", commit, 40))?;
        let of_suspects = self.suspects.iter().map(|one| one.probability);
        let mut shares =
            self.measurements.iter().map(|one| one.probability).chain(of_suspects).chain([self.probability]);
        if let Some(wrong) = shares.find(|one| !(0.0..=1.0).contains(one)) {
            return Err(format!("has `bisection` with the probability {wrong}, which is not from 0 to 1"));
        }
        if self.culprits.is_empty() {
            return Err("has `bisection` without a culprit".to_owned());
        }
        Ok(())
    }
}
