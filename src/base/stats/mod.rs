//! Pure statistical functions on slices of finite numbers.
//!
//! The types of `model` and the readers of files ensure finite values. Results that do not exist, such as for too few values,
//! are `None`; no result is NaN.

pub mod describe;
pub mod centre;
pub mod pair_ratio;
pub mod bootstrap;
pub mod sign_interval;
pub mod welch;
pub mod hodges_lehmann;
pub mod kalibera_jones;
pub mod median_ratio;
pub mod mann_whitney;
pub mod cliffs_delta;
pub mod rank_trend;
pub mod partition;
pub mod ramp;
pub mod lines;
pub mod autoregression;
pub mod multiplicity;

pub mod normal;
pub mod student;
pub mod random;

#[cfg(test)]
mod extremes;
