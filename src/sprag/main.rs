//! The `sprag` binary: parse, run, print the error chain, exit.

use std::io::Write as _;
use std::process::ExitCode;

use sprag::{cli, cmd};

/// Counts what is held, so that the peak memory of a benchmark is known.
#[global_allocator]
static ALLOCATOR: cmd::CountingAllocator = cmd::CountingAllocator;

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let result = cmd::run(cli::parse(), &mut out).and_then(|exit| {
        out.flush()?;
        Ok(exit)
    });
    match result {
        Ok(exit) => ExitCode::from(exit as u8),
        // Whoever read our output has seen enough.
        Err(error) if cmd::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            cmd::say(&format!("error: {error:#}"));
            if let Some(hint) = cmd::hint(&error) {
                cmd::say(&format!("hint: {hint}"));
            }
            ExitCode::from(cmd::exit_of(&error) as u8)
        }
    }
}
