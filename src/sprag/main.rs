//! The `sprag` binary: parse, run, print the error chain, exit.

use std::io::Write as _;
use std::process::ExitCode;

use sprag::{cli, commands};

/// Counts what is held, so that the peak memory of a benchmark is known.
#[global_allocator]
static ALLOCATOR: commands::CountingAllocator = commands::CountingAllocator;

fn main() -> ExitCode {
    sprag_pipeline::text::fit_terminal();
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
            commands::error(error.as_ref());
            ExitCode::from(commands::exit_of(&error) as u8)
        }
    }
}
