//! Deterministic choice of tiles under budgets: greedy on one level, split to finer levels, hysteresis over time.
//!
//! All arithmetic is `f64` in the order written down in each module, because replay hashes the raw scores. Ids are
//! positions in the arrays given; ties go to the smaller id.

pub mod greedy;
pub mod hysteresis;
pub mod stages;

use super::KernelError;

/// Slack with which a sum of costs may exceed a budget, so that costs which add up to it exactly on paper fit.
pub const BUDGET_SLACK: f64 = 1e-9;

/// The smallest cost that a utility is divided by; a smaller, zero or negative cost counts as this in the score.
pub const SMALLEST_COST: f64 = 1e-9;

/// Pads `ids` with -1 to `kmax` places, the form that fixed-size buffers of a device take.
pub fn kmax_buffer(ids: &[u32], kmax: usize) -> Vec<i64> {
    let padding = std::iter::repeat_n(-1, kmax.saturating_sub(ids.len()));
    ids.iter().map(|&id| i64::from(id)).chain(padding).collect()
}

/// Utility for cost, with the guard of [`SMALLEST_COST`].
fn score(utility: f64, cost: f64) -> f64 {
    utility / if cost > SMALLEST_COST { cost } else { SMALLEST_COST }
}

/// Sorts candidates by score, highest first, then by id.
fn rank(candidates: &mut [u32], score_of: impl Fn(u32) -> f64) {
    candidates.sort_unstable_by(|&a, &b| {
        let by_score = score_of(b).partial_cmp(&score_of(a)).expect("scores of finite numbers are never NaN");
        by_score.then(a.cmp(&b))
    });
}

fn check_finite(what: &'static str, values: &[f64]) -> Result<(), KernelError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(position) => Err(KernelError::NotFinite { what, position }),
        None => Ok(()),
    }
}

fn check_budget(what: &'static str, value: f64) -> Result<(), KernelError> {
    if value.is_finite() && value >= 0.0 { Ok(()) } else { Err(KernelError::Budget { what, value }) }
}
