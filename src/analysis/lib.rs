//! What changed, and how sure we are: from runs, series and roll-ups to an [`Analysis`](sprag_model::analysis::Analysis).
//!
//! Plain values in, plain values out. Nothing here reads a file or a clock, and nothing can fail.

pub mod compare;
pub mod paired;
pub mod interleaved;
pub mod ledger;
pub mod sample_gate;
pub mod sides;
pub mod digest;
mod tip;
pub mod rules;
pub mod session_noise;
mod steps;
pub mod frame;
pub mod rollup;
pub mod movers;
pub mod disagreement;
pub mod changes;
pub mod trend;
pub mod bisect;
pub mod family;
pub mod mean_change;
pub mod reference;
pub mod baseline_diff;
pub mod calibrate;
pub mod backfill;
pub mod method;
mod sentence;

#[cfg(test)]
mod example;
#[cfg(test)]
mod first_day;
