//! One metric, one rule, one decision.

use super::{bands, interval, rank, tolerance};
use crate::model::evidence::{Decision, Evidence};
use crate::model::rule::Rule;

/// Judges a metric by a rule.
pub fn decide(rule: &Rule, evidence: &Evidence) -> Decision {
    match *rule {
        Rule::Interval { tolerance } => interval::decide(tolerance, evidence),
        Rule::Tolerance { ratio, abs } => tolerance::decide(ratio, abs, evidence),
        Rule::Bands { fail, warn } => bands::decide(fail, warn, evidence),
        Rule::Rank { noise_threshold, significance, mad_multiplier } => {
            rank::decide(noise_threshold, significance, mad_multiplier, evidence)
        }
    }
}
