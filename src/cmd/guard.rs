//! The hidden entry of the guard that ends a command where the Sprag that runs it dies.

use std::io::Read;

use anyhow::Context as _;

use super::Exit;
use crate::measure::command::guard;

pub(super) fn run(input: impl Read) -> anyhow::Result<Exit> {
    guard::stand(input).context("cannot tell whether the parent is alive")?;
    Ok(Exit::Done)
}
