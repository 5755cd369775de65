//! The subcommands: each converts its arguments, calls the pipeline, and prints.

mod progress;
mod effort;
mod builds;
mod report_options;
mod run_options;
mod run;
mod gate;
mod bisect;
mod weekly;
mod detect;
mod trend;
mod history;
mod exchange;
mod schema;
mod kernels;
mod replay;
mod release;
mod setup;
mod serve;
mod site;
mod worker;

use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use crate::cli::{self, Cli, Command, KernelsCommand};
use sprag_pipeline::error::{Exit, WithContext as _};
use sprag_pipeline::{Error, Result};

/// Data go to `out`, progress and warnings to standard error.
pub fn run(cli: Cli, out: &mut dyn Write) -> Result<Exit> {
    let folder = match cli.repo {
        Some(folder) => folder,
        None => std::env::current_dir().context("cannot tell the current folder")?,
    };
    let folder = std::path::absolute(&folder).with_context(|| format!("cannot enter `{}`", folder.display()))?;
    match cli.command {
        Command::Weekly(args) => weekly::run(&folder, &args, out),
        Command::Run(args) => run::run(&folder, &args, out),
        Command::Check(args) => gate::check(&folder, args, out),
        Command::Compare(args) => gate::compare(&folder, args, out),
        Command::Bisect(args) => bisect::run(&folder, *args, out),
        Command::Baseline(command) => history::baseline(&folder, &command, out),
        Command::Bench(args) => run::bench(&folder, args, out),
        Command::Detect(args) => detect::run(&folder, &args, std::io::stdin().lock(), out),
        Command::Trend(args) => trend::run(&folder, &args, out),
        Command::Import(args) => exchange::import(&folder, args, out),
        Command::Plan(args) => run::plan(&folder, &args, out),
        Command::Backfill(args) => builds::backfill(&folder, args, out),
        Command::Cache(args) => builds::cache(&args, out),
        Command::History(command) => history::history(&folder, command, out),
        Command::Site(args) => site::run(&folder, &args, out),
        Command::Export(command) => exchange::export(&folder, command, out),
        Command::Schema { name } => schema::run(name.as_deref(), out),
        Command::Release(command) => release::run(&folder, &command, out),
        Command::Replay(command) => replay::run(&folder, &command, out),
        Command::Conformance { folders } => {
            let folders: Vec<PathBuf> = folders.iter().map(|one| folder.join(one)).collect();
            let tally = sprag_conformance::run(&folders, out)?;
            Ok(if tally.failed > 0 { Exit::Failed } else { Exit::Done })
        }
        Command::Doctor { quick, json } => setup::doctor(&folder, quick, json, out),
        Command::Init(args) => setup::init(&folder, args, out),
        Command::Demo { folder: place, seed, today } => setup::demo(&folder.join(place), seed, today, out),
        Command::Completions { shell } => {
            cli::completions(shell, out)?;
            Ok(Exit::Done)
        }
        Command::Man { folder: place } => setup::man(&folder.join(place), out),
        Command::Kernels(KernelsCommand::Compile(args)) => kernels::compile(&folder, &args, out),
        Command::Kernels(KernelsCommand::Check(args)) => kernels::check(&folder, &args, out),
        Command::Worker { task, gpu, cuda } => {
            worker::worker(task, [gpu.as_deref(), cuda.as_deref()], &mut std::io::stdin().lock(), out)
        }
        Command::Guard { remove } => worker::guard(remove.as_deref(), std::io::stdin().lock()),
    }
}

/// Nobody reads our output any more, as with `sprag … | head`.
pub fn is_closed_pipe(error: &Error) -> bool {
    error.cause::<std::io::Error>().is_some_and(|cause| cause.kind() == ErrorKind::BrokenPipe)
}
