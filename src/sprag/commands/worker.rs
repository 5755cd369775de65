//! Hidden commands: a measuring process, and the guard that outlives a killed Sprag to end its command or remove its folder.

use std::io::{BufRead, Read, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cli::Task;
use sprag_base::process::guard_until_end;
use sprag_measure::apex_x_report::calls::{self as gpu_calls, GpuCallsPlan};
use sprag_measure::apex_x_report::cpu::{self as cpu_calls, CpuCallsPlan};
use sprag_measure::command::keeper;
use sprag_measure::gpu::suite::DeviceScope;
use sprag_measure::gpu::survey;
use sprag_measure::instructions::{self as count, CountPlan};
use sprag_measure::plan::{Message, Plan};
use sprag_measure::task::{self, TaskQuestion};
use sprag_measure::workload::Workload;
use sprag_measure::{MeasureError, cpu, noise, worker};
use sprag_pipeline::Result;
use sprag_pipeline::error::{Exit, WithContext as _};

/// A plan only names benchmarks.
const MOST_PLAN_BYTES: u64 = 1 << 20;

pub(super) fn worker(
    task: Task,
    [gpu, cuda]: [Option<&str>; 2],
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<Exit> {
    let scope = match (gpu, cuda) {
        (Some(text), _) => Some(serde_json::from_str(text).map(DeviceScope::Gpu)),
        (None, Some(text)) => Some(serde_json::from_str(text).map(DeviceScope::Cuda)),
        (None, None) => None,
    };
    let scope = scope.transpose().context("cannot read the scope")?;
    let workloads = |suite: &str| workloads(suite, scope.as_ref());
    match task {
        Task::Time => {
            let plan: Plan = read(input)?;
            let workloads = workloads(&plan.suite)?;
            let mut send = worker::message_writer(out);
            let report = worker::follow(&plan, &workloads, &mut send)?;
            send(Message::Report(report))?;
        }
        Task::Serve => {
            let plan: Plan = read(input)?;
            let workloads = workloads(&plan.suite)?;
            worker::serve(&plan, &workloads, input, &mut worker::message_writer(out))?;
        }
        Task::Check => {
            let plan: Plan = read(input)?;
            let Some(DeviceScope::Cuda(own)) = &scope else {
                return Err(MeasureError::Plan("it is not about kernels of the user".to_owned()).into());
            };
            survey::follow(&plan, own, &mut worker::message_writer(out))?;
        }
        Task::Seed => {
            let question: TaskQuestion<CpuCallsPlan> = read(input)?;
            let workloads = workloads(&question.plan.suite)?;
            answer(&task::follow(&question, |plan| cpu_calls::follow(plan, &workloads))?, out)?;
        }
        Task::GpuCalls => {
            let question: TaskQuestion<GpuCallsPlan> = read(input)?;
            answer(&task::follow(&question, gpu_calls::follow)?, out)?;
        }
        Task::Count => {
            let question: TaskQuestion<CountPlan> = read(input)?;
            let workloads = cpu::workloads(&question.plan.suite)?;
            answer(&task::follow(&question, |plan| count::follow(plan, &workloads))?, out)?;
        }
    }
    Ok(Exit::Done)
}

fn workloads(suite: &str, scope: Option<&DeviceScope>) -> Result<Vec<Workload>, MeasureError> {
    match scope {
        Some(scope) => scope.workloads(suite),
        None if suite == noise::SUITE => Ok(noise::workloads()),
        None => cpu::workloads(suite),
    }
}

/// The plan is one line; `serve` reads more lines later.
fn read<P: DeserializeOwned>(input: &mut dyn BufRead) -> Result<P> {
    let mut text = String::new();
    input.take(MOST_PLAN_BYTES).read_line(&mut text).context("cannot read the plan")?;
    serde_json::from_str(&text).context("cannot read the plan")
}

fn answer(report: &impl Serialize, out: &mut dyn Write) -> Result<()> {
    out.write_all(serde_json::to_string(report).context("cannot write the report")?.as_bytes())?;
    out.flush()?;
    Ok(())
}

pub(super) fn guard(remove: Option<&Path>, input: impl Read) -> Result<Exit> {
    match remove {
        None => guard_until_end(input).context("cannot tell whether the parent is alive")?,
        Some(folder) => {
            keeper::keep(input, folder).with_context(|| format!("cannot remove `{}`", folder.display()))?;
        }
    }
    Ok(Exit::Done)
}
