//! Statistics on slices of finite numbers: pure functions, no dependency on any other room.
//!
//! Callers hand in finite values only; the types of `model` and the readers of files see to that. What has no answer, for
//! too few values or for none that differ, is `None`, and no answer is NaN.

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
pub mod theil_sen;
pub mod mann_kendall;
pub mod partition;
pub mod ramp;
pub mod lines;
pub mod autoregression;
pub mod multiplicity;
pub mod binomial;
pub mod order;

pub mod normal;
pub mod student;
pub mod random;

#[cfg(test)]
mod extremes;
