//! The hidden entry of what outlives a Sprag that dies: the guard, which ends the command that it runs, and the keeper
//! of a folder, which removes it.

use std::io::Read;

use anyhow::Context as _;

use super::Exit;
use crate::cli::GuardArgs;
use sprag_base::process::guard_until_end;
use sprag_measure::command::keeper;

pub(super) fn run(args: &GuardArgs, input: impl Read) -> anyhow::Result<Exit> {
    match &args.remove {
        None => guard_until_end(input).context("cannot tell whether the parent is alive")?,
        Some(folder) => {
            keeper::keep(input, folder).with_context(|| format!("cannot remove `{}`", folder.display()))?;
        }
    }
    Ok(Exit::Done)
}
