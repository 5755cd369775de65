//! `sprag conformance`: runs golden cases, recorded from the original implementations, against this build.
//!
//! A case is recognised by what its file holds, never by where it lies or what it is called. Each passes or
//! fails; a case of an unknown kind, with an unknown field or with nothing to compare fails.

mod folder;
mod run;

mod case;
mod expected;
mod tensor;

mod family;

mod attestation;
mod autotune;
mod canonical;
mod ff;
mod formats;
mod fused;
mod fusion;
mod identical_code;
mod infer;
mod markdown;
mod ordering;
mod pack;
mod replay;
mod rank_test;
mod sample_gate;
mod scan;
mod seed_gate;
mod selection;
mod statistics;
mod stats;
mod text_gate;
mod trt_sweep;
mod unpack;

pub use run::{Tally, run};
