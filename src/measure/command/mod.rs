//! Suites that are programs of somebody else's: they measure themselves, Sprag runs them again and again, each time
//! as a fresh process, and takes the median over processes.
//!
//! How their output is read is not known here: the caller hands in a function.

pub mod suite;
pub mod guard;
pub(super) mod process;
mod outputs;
pub mod results;
mod pool;
mod pair_up;
pub mod paired;
pub mod cargo;
pub mod keeper;
