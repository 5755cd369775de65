//! Suites: from the description of one to a finished run, with commit, machine, environment and measurements.
//!
//! What needs git or the command line is handed in: the commit, a program that was built from one, the configurations
//! of earlier runs. Whoever watches is an [`Observer`].

pub mod description;
pub mod kernels;
mod gpu;
pub mod command;
mod trt;
mod run;

pub use description::{CommandSettings, CommitProgram, Effort, Extent, GpuSuite, MeasureOptions, OutputFormat};
pub use description::{
    Observer, ProjectContext, Subject, Suite, SuiteError, SuiteOutcome, TrtSuite, Work, built_from_fault, is_ours,
};
pub use run::{benchmark_names, measure};
