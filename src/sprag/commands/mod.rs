//! The subcommands, one file each: the only place where two stages meet.

mod dispatch;
mod progress;
mod effort;
mod history;
mod weekly;
mod report_options;
mod run;
mod check;
mod compare;
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
pub use sprag_measure::memory::CountingAllocator;
pub use sprag_pipeline::exit::Exit;
pub use sprag_pipeline::notices::{error, say};
use sprag_pipeline::notices::{note, warn};
pub use sprag_pipeline::{Advice, Trouble};
use sprag_pipeline::{acceptance, distinct, ledger, pending, project, publish, revision, study, text};

/// The digest of the sources that this program was built from; empty where they were not at hand.
const BUILT_FROM: &str = env!("SPRAG_SOURCES");

/// How a command ended that gave an error.
pub fn exit_of(error: &anyhow::Error) -> Exit {
    sprag_pipeline::exit::exit_of(error.as_ref())
}

/// Whether the error is that nobody reads our output any more, as with `sprag … | head`.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    sprag_pipeline::error::cause_of::<std::io::Error>(error.as_ref())
        .is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
