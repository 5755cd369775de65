//! Hands a parsed command line to the file of its command.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;

use super::Exit;
use super::{
    baseline, check, compare, demo, detect, doctor, export, guard, history, import, init, kernels, release, replay,
    schema, shells, site, trend, weekly, worker,
};
use crate::cli::{Cli, Command};

/// Does what the command line says; data goes to `out`, progress and warnings to standard error.
pub fn run(cli: Cli, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let folder = match cli.repo {
        Some(folder) => folder,
        None => std::env::current_dir().context("cannot tell the current folder")?,
    };
    let folder = std::path::absolute(&folder).with_context(|| format!("cannot enter `{}`", folder.display()))?;
    match cli.command {
        Command::Weekly(args) => weekly::run(&folder, &args, out),
        Command::Run(args) => super::run::run(&folder, &args, out),
        Command::Check(args) => check::run(&folder, &args, out),
        Command::Compare(args) => compare::run(&folder, &args, out),
        Command::Baseline(command) => baseline::run(&folder, &command, out),
        Command::Detect(args) => detect::run(&folder, &args, out),
        Command::Trend(args) => trend::run(&folder, &args, out),
        Command::Import(args) => import::run(&folder, &args, out),
        Command::History(command) => history::run(&folder, &command, out),
        Command::Site(args) => site::run(&folder, &args, out),
        Command::Export(command) => export::run(&folder, &command, out),
        Command::Schema(args) => schema::run(&args, out),
        Command::Release(command) => release::run(&folder, &command, out),
        Command::Replay(command) => replay::run(&folder, &command, out),
        Command::Conformance(args) => {
            let folders: Vec<PathBuf> = args.folders.iter().map(|one| folder.join(one)).collect();
            let tally = sprag_conformance::run(&folders, out)?;
            Ok(if tally.failed > 0 { Exit::Failed } else { Exit::Done })
        }
        Command::Doctor(args) => doctor::run(&folder, &args, out),
        Command::Init(args) => init::run(&folder, &args, out),
        Command::Demo(args) => demo::run(&folder, &args, out),
        Command::Completions(args) => shells::completions(&args, out),
        Command::Man(args) => shells::man(&folder, &args, out),
        Command::Kernels(command) => kernels::run(&command, out),
        Command::Worker(args) => worker::run(&args, &mut std::io::stdin().lock(), out),
        Command::Guard(args) => guard::run(&args, std::io::stdin().lock()),
    }
}
