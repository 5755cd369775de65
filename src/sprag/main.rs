//! The `sprag` binary: parse, run, print the error chain, exit.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use sprag::cli::color::{self, Shown, TerminalText};
use sprag::{cli, commands};
use sprag_measure::memory::CountingAllocator;
use sprag_pipeline::text;

/// Counts allocated bytes, so that the peak memory of a benchmark is known.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    text::fit_terminal();
    let cli = cli::parse();
    let stdout = std::io::stdout();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_terminal = stdout.is_terminal();
    let mut out: Box<dyn std::io::Write> = match color::is_wanted(cli.color, is_terminal, no_color) {
        is_colored if is_colored || is_terminal => {
            Box::new(TerminalText::new(stdout.lock(), Shown { is_colored, is_escaped: is_terminal }))
        }
        _ => Box::new(stdout.lock()),
    };
    let result = commands::run(cli, &mut *out).and_then(|exit| {
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
