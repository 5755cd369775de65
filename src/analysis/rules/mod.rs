//! The rules that decide, by name: one file a rule, all asked through [`decide`].

mod decide;
mod power;
pub mod interval;
pub mod tolerance;
pub mod bands;
pub mod rank;
pub mod remedy;

pub use decide::{decide, judge};
pub(crate) use power::{CONFIDENCE, POWER};
