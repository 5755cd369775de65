//! The subcommands, one file each: the only place where two stages meet.

mod exit;
mod dispatch;
mod progress;
mod effort;
mod shard;
mod worktree;
mod commit_program;
mod suites;
mod trt_options;
mod history;
mod weekly;
mod seed_report;
mod run;
mod verdicts;
mod gate;
mod seed_gate;
mod foreign_gate;
mod gate_summary;
mod gate_reports;
mod check;
mod calibrate;
mod compare;
mod compare_stored;
mod detect;
mod trend;
mod baseline;
mod site;
mod import;
mod export;
mod schema;
mod init;
mod shells;
mod doctor;
mod worker;
mod guard;
mod kernels;
mod replay;
mod release;
mod demo;

pub use dispatch::run;
pub use exit::{Exit, exit_of, hint, is_closed_pipe};
pub use sprag_measure::memory::CountingAllocator;
pub use sprag_pipeline::notices::say;
use sprag_pipeline::notices::{note, warn};
pub use sprag_pipeline::{Advice, Trouble};
use sprag_pipeline::{
    acceptance, choose, distinct, ledger, pending, policy, project, publish, revision, run_file, study, text,
};
