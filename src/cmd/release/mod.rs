//! `sprag release`: what a release rests on, filled, attested and verified.

mod waive;

use std::io::Write;
use std::path::Path;

use super::Exit;
use crate::cli::ReleaseCommand;

pub(super) fn run(folder: &Path, command: &ReleaseCommand, out: &mut dyn Write) -> anyhow::Result<Exit> {
    match command {
        ReleaseCommand::Waive(args) => waive::run(folder, args, out),
    }
}
