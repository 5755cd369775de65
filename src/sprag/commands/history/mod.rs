//! `sprag history`: one file a subcommand, and what they share.

mod incoming;
mod add;
mod sync;
mod log;
mod filter;
mod fsck;
mod root;
mod prove;
mod cache;

use std::io::Write;
use std::path::Path;

use super::Exit;
use crate::cli::HistoryCommand;

pub(super) fn run(folder: &Path, command: &HistoryCommand, out: &mut dyn Write) -> anyhow::Result<Exit> {
    match command {
        HistoryCommand::Add(args) => add::run(folder, args, out),
        HistoryCommand::Sync(args) => sync::run(folder, args, out),
        HistoryCommand::Log(args) => log::run(folder, args, out),
        HistoryCommand::Fsck(args) => fsck::run(folder, args, out),
        HistoryCommand::Root(args) => root::run(folder, args, out),
        HistoryCommand::Prove(args) => prove::run(folder, args, out),
        HistoryCommand::Cache => cache::run(folder, out),
    }
}
