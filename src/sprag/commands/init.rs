//! `sprag init`: what a project needs for Sprag to work in it, and on GitHub.

use std::io::Write;
use std::path::Path;

use super::Exit;
use crate::cli::InitArgs;
use sprag_pipeline::init::{InitOptions, init};

pub(super) fn run(folder: &Path, args: &InitArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let options = InitOptions {
        dry_run: args.dry_run,
        force: args.force,
        keep: args.keep,
        download_from: args.download_from.clone(),
        sha256: args.sha256.clone(),
    };
    Ok(init(folder, &options, out)?)
}
