//! What a whole history shows: change points of many series joined into events, who may have caused them, and what is judged.
//!
//! Each series is put on its axis of commits (`axis.rs`) and analysed (`series_changes.rs`). Changes of one machine that one commit can
//! explain are one cluster (`cluster.rs`), the machine's where that is likelier (`machine.rs`); clusters of several machines that
//! one commit explains are one event (`event.rs`), with the probability of each suspect (`culprit.rs`), what of it all may be
//! chance (`discovery.rs`), and the id that it was reported by before (`identity.rs`). What was found in a series that has not changed
//! since is taken from the cache (`detection_cache.rs`); where its newest points change nothing, what was found without them is told (`steady.rs`).

pub mod analyse;
pub mod series_changes;
pub mod discovery;
pub mod detection_cache;

mod axis;
mod cluster;
mod machine;
mod culprit;
mod draft;
mod identity;
mod event;
mod steady;
mod newest;
mod coverage;
mod self_test;
mod constants;

pub(crate) use constants::constants;

#[cfg(test)]
pub(crate) mod example;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod record_tests;
