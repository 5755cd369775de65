//! The results folder of asv (airspeed velocity), versions 1 and 2 of its files: a whole history.
//!
//! `benchmarks.json` tells the units, names of parameters and version of each benchmark. `<machine>/machine.json` describes
//! a machine. Each other `<machine>/*.json` holds the results of one commit in one environment and becomes a run. Of a
//! benchmark with parameters, `result` has one value a combination, the last parameter varying fastest: `null` failed, and
//! `NaN`, which is no JSON, was skipped. The values are in seconds, bytes, or a unit that the benchmark tells.
//!
//! A file alone is read too; the units of its benchmarks are then told by their names, as asv's convention has it.

mod entries;
mod folder;
mod result;
mod suite;

pub(super) use folder::{read, recognises};
