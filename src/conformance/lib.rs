//! Golden cases, recorded from the original implementations, run against this build.
//!
//! A case is recognised by what its file holds, never by its folder or name. It passes or fails: a case of an unknown
//! kind, with an unknown field or with nothing to compare fails.

mod folder;
mod run;

mod failure;
mod tensor;
mod expected;
mod case;

mod attestation;
mod autotune;
mod formats;
mod fusion;
mod identical_code;
mod infer;
mod ordering;
mod replay;
mod reports;
mod sample_gate;
mod scan;
mod seed_gate;
mod selection;
mod statistics;
mod text_gate;
mod tiles;

#[cfg(test)]
mod tamper;

pub use folder::ConformanceError;
pub use run::{Tally, run};
