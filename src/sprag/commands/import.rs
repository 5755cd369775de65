//! `sprag import`: what other tools measured, as records of the history.

use std::io::Write;
use std::path::Path;

use super::{Exit, text};
use crate::cli::ImportArgs;
use sprag_formats::registry::FORMATS;
use sprag_pipeline::import::{ImportOptions, import};

pub(super) fn run(folder: &Path, args: &ImportArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if args.list {
        let rows: Vec<Vec<String>> =
            FORMATS.iter().map(|format| vec![format.name.to_owned(), format.title.to_owned()]).collect();
        write!(out, "{}", text::columns(&rows, &[]))?;
        return Ok(Exit::Done);
    }
    let options = ImportOptions {
        paths: args.paths.clone(),
        format: args.format.clone(),
        suite: args.suite.clone(),
        machine: args.machine.clone(),
        commit: args.commit.clone(),
        time: args.time.clone(),
        dry_run: args.dry_run,
        max_bytes: args.max_bytes,
    };
    import(folder, &options, out)?;
    Ok(Exit::Done)
}
