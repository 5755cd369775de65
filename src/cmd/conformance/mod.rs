//! `sprag conformance`: runs golden cases, recorded from the original implementations, against this build.
//!
//! A case is recognised by what its file holds, never by where it lies or what it is called. Each is passed, failed
//! or, where this build does not hold what it tests, skipped by name; a case of an unknown kind, with an unknown
//! field or with nothing to compare fails.

mod folder;
mod run;

mod case;
mod expected;
mod tensor;

mod family;

mod autotune;
mod canonical;
mod ff;
mod formats;
mod fused;
mod fusion;
mod infer;
mod markdown;
mod ordering;
mod pack;
mod scan;
mod seed_gate;
mod selection;
mod stats;
mod trt_sweep;
mod unpack;

pub use run::{Tally, run};
