//! The rules that decide, by name: one file a rule, all asked through [`decide()`].

mod power;
pub mod interval;
pub mod tolerance;
pub mod bands;
pub mod rank;
pub mod remedy;

pub(crate) use power::{CONFIDENCE, POWER};
use sprag_model::evidence::Decision;
use sprag_model::{Comparison, Rule, TwoSides, Verdict};

/// Fills in what a rule decides of a metric that both sides have. Where there is no ratio, there is no effect to show.
pub fn judge(comparison: Comparison, rule: &Rule, evidence: &TwoSides) -> Comparison {
    let Decision { allowed, effect, verdict, p_value, note } = decide(rule, evidence);
    let is_shown = evidence.has_ratio() && effect.change.is_finite() && !matches!(verdict, Verdict::NotComparable(_));
    Comparison { allowed, effect: is_shown.then_some(effect), verdict, p_value, note, ..comparison }
}

pub fn decide(rule: &Rule, evidence: &TwoSides) -> Decision {
    match *rule {
        Rule::Interval { tolerance } => interval::decide(tolerance, evidence),
        Rule::Tolerance { ratio, abs } => tolerance::decide(ratio, abs, evidence),
        Rule::Bands { fail, warn } => bands::decide(fail, warn, evidence),
        Rule::Rank { noise_threshold, significance, mad_multiplier } => {
            rank::decide(noise_threshold, significance, mad_multiplier, evidence)
        }
    }
}
