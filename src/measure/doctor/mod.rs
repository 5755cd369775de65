//! What this machine can measure, how noisily, and what to change about it. It looks and times some plain kernels; it sets
//! nothing and records nothing.

pub mod findings;
mod noise;
mod advice;
mod examine;

pub use examine::{MachineName, examine};
