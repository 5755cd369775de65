//! The hidden entry of a measuring process: a plan in, a report out.

use std::io::{BufRead, Read as _, Write};

use anyhow::Context as _;

use super::Exit;
use crate::cli::Task;
use crate::measure::plan::{Message, Plan};
use crate::measure::{cpu, noise, worker};

/// The largest plan that is read, in bytes: a plan names benchmarks, no more.
const MOST_PLAN_BYTES: u64 = 1 << 20;

pub(super) fn run(task: Task, input: &mut dyn BufRead, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let mut text = String::new();
    input.take(MOST_PLAN_BYTES).read_line(&mut text).context("cannot read the plan")?;
    let plan: Plan = serde_json::from_str(&text).context("cannot read the plan")?;
    let workloads = if plan.suite == noise::SUITE { noise::workloads() } else { cpu::workloads(&plan.suite)? };
    let mut tell = worker::teller(out);
    match task {
        Task::Time => {
            let report = worker::follow(&plan, &workloads, &mut tell)?;
            tell(Message::Report(report))?;
        }
        Task::Serve => worker::serve(&plan, &workloads, input, &mut tell)?,
    }
    Ok(Exit::Done)
}
