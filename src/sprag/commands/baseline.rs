//! `sprag baseline`: what later runs are compared with.

use std::io::Write;
use std::path::Path;

use crate::cli::BaselineCommand;
use sprag_pipeline::baseline::{self, AcceptOptions, DiffOptions, EmitOptions};
use sprag_pipeline::exit::Exit;

pub(super) fn run(folder: &Path, command: &BaselineCommand, out: &mut dyn Write) -> anyhow::Result<Exit> {
    Ok(match command {
        BaselineCommand::Emit(args) => {
            let options = EmitOptions {
                folder,
                suites: &args.suites,
                run: args.run.as_deref(),
                from: args.from.as_deref(),
                output: args.output.as_deref(),
                notes: args.notes.as_deref(),
            };
            baseline::emit(&options, out)?
        }
        BaselineCommand::Accept(args) => {
            let options = AcceptOptions {
                folder,
                file: args.file.as_deref(),
                why: &args.why,
                suites: &args.suites,
                metrics: &args.metrics,
                partial: args.partial,
                dirty: args.dirty,
            };
            baseline::accept(&options, out)?
        }
        BaselineCommand::List(args) => baseline::list(folder, args.archive, args.json, out)?,
        BaselineCommand::Diff(args) => {
            let options = DiffOptions {
                folder,
                from: args.from.as_deref(),
                to: args.to.as_deref(),
                run: args.run,
                suites: &args.suites,
                json: args.json,
            };
            baseline::diff(&options, out)?
        }
    })
}
