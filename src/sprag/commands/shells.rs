//! `sprag completions` and `sprag man`: what packages of Sprag bring along for shells and manuals.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;

use super::Exit;
use super::text::count;
use crate::cli::{self, CompletionsArgs, ManArgs};
use sprag_base::files::write_atomic;

/// Prints the completions of a shell.
pub(super) fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    cli::completions(args.shell, out)?;
    Ok(Exit::Done)
}

/// Writes the manual pages to a folder.
pub(super) fn man(folder: &Path, args: &ManArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let folder = folder.join(&args.folder);
    let pages = cli::man_pages().context("cannot render the manual")?;
    for (name, page) in &pages {
        write_atomic(&folder.join(name), page)?;
    }
    writeln!(out, "{}: {}", count(pages.len(), "page"), folder.display())?;
    Ok(Exit::Done)
}
