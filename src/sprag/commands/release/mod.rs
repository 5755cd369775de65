//! `sprag release`: what a release rests on, filled, attested and verified.

mod again;
mod artifacts;
mod attest;
mod branch;
mod checklist;
mod fault;
mod fill;
mod found;
mod stated;
mod gather;
mod identity;
mod kept;
mod reports;
mod reviewed;
mod seed_form;
mod sign;
mod sound;
mod unasked;
mod verify;
mod waive;
mod waivers;

use std::io::Write;
use std::path::Path;

pub(super) use reports::reports;

use super::Exit;
use crate::cli::ReleaseCommand;

pub(super) fn run(folder: &Path, command: &ReleaseCommand, out: &mut dyn Write) -> anyhow::Result<Exit> {
    match command {
        ReleaseCommand::Checklist(args) => checklist::run(folder, args, out),
        ReleaseCommand::Attest(args) => attest::run(folder, args, out),
        ReleaseCommand::Verify(args) => verify::run(folder, args, out),
        ReleaseCommand::Waive(args) => waive::run(folder, args, out),
    }
}
