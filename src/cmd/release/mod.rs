//! `sprag release`: what a release rests on, filled, attested and verified.

mod artifacts;
mod checklist;
mod fill;
mod found;
mod gather;
mod identity;

use std::io::Write;
use std::path::Path;

use super::Exit;
use crate::cli::ReleaseCommand;

pub(super) fn run(folder: &Path, command: &ReleaseCommand, out: &mut dyn Write) -> anyhow::Result<Exit> {
    match command {
        ReleaseCommand::Checklist(args) => checklist::run(folder, args, out),
    }
}
