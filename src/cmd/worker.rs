//! The hidden entry of a measuring process: a plan in, a report out.

use std::io::{Read, Write};

use anyhow::Context as _;

use super::Exit;
use crate::measure::plan::Plan;
use crate::measure::{cpu, worker};

/// The largest plan that is read, in bytes: a plan names benchmarks, no more.
const MOST_PLAN_BYTES: u64 = 1 << 20;

pub(super) fn run(input: impl Read, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let mut text = String::new();
    input.take(MOST_PLAN_BYTES).read_to_string(&mut text).context("cannot read the plan")?;
    let plan: Plan = serde_json::from_str(&text).context("cannot read the plan")?;
    let report = worker::follow(&plan, &cpu::workloads(&plan.suite)?)?;
    out.write_all(serde_json::to_string(&report).context("cannot write the report")?.as_bytes())?;
    out.flush()?;
    Ok(Exit::Done)
}
