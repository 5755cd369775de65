//! The `sprag` binary: parse, run, print the error chain, exit.

use std::io::Write as _;
use std::process::ExitCode;

use sprag::{cli, commands};
use sprag_measure::memory::CountingAllocator;
use sprag_pipeline::text;

/// Counts what is held, so that the peak memory of a benchmark is known.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    text::fit_terminal();
    let mut out = std::io::stdout().lock();
    let result = commands::run(cli::parse(), &mut out).and_then(|exit| {
        out.flush()?;
        Ok(exit)
    });
    match result {
        Ok(exit) => ExitCode::from(exit as u8),
        // Whoever read our output has seen enough.
        Err(error) if commands::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            text::error(&error);
            ExitCode::from(error.exit() as u8)
        }
    }
}
