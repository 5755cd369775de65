//! The road of the doctor: look at the machine, time plain kernels, and say what speaks against measuring here.

use std::collections::BTreeMap;
use std::time::Instant;

use super::findings::{Ability, Clock, Clocks, Findings, MachineFindings, Pressures, SCHEMA_VERSION};
use super::{advice, noise};
use crate::clock_cost::{self, ClockCost};
use crate::environment::pressure::{self, Pressure, PressureChange};
use crate::process::WorkerCommand;
use crate::suite::observer::Observer;
use crate::{MeasureError, environment, noise as plain_kernels};
use sprag_base::stats::describe;

/// What this computer was called, and where: `SPRAG_MACHINE`, `sprag.toml` or `hardware`.
#[derive(Clone, Copy, Debug)]
pub struct MachineName<'a> {
    pub given: Option<&'a str>,
    pub source: &'a str,
}

/// Examines this machine, for the version of this program. `abilities` tells what can be measured, by the facts.
pub fn examine(
    version: &str,
    name: MachineName<'_>,
    is_quick: bool,
    abilities: &dyn Fn(&BTreeMap<String, String>) -> Vec<Ability>,
    observer: &dyn Observer,
) -> Result<Findings, MeasureError> {
    let (start, before) = (Instant::now(), Pressure::read());
    observer.begin("looking at the machine", 1);
    let machine = machine(name);
    let abilities = abilities(&machine.facts);
    let clocks = Clocks { wall: clock(clock_cost::wall()), thread: clock_cost::thread().map(clock) };
    let protocol = plain_kernels::protocol(is_quick);
    let processes = u64::from(protocol.processes);
    observer.begin(&format!("timing plain kernels in {processes} worker processes"), processes);
    let command = WorkerCommand::for_task("time")?;
    let measured = plain_kernels::measure(&protocol, &command, &mut |done| observer.step(u64::from(done)))?;
    observer.end();
    let cores = machine.facts.get("cores").and_then(|cores| cores.parse().ok()).unwrap_or(1);
    let pressure = pressures(&Pressure::read().since(&before), cores);
    let noise = noise::findings(&measured);
    let advice = advice::advice(&machine.facts, &clocks, &pressure, &abilities, &noise);
    Ok(Findings {
        schema_version: SCHEMA_VERSION,
        sprag: version.to_owned(),
        seconds: round(start.elapsed().as_secs_f64()),
        machine,
        abilities,
        clocks,
        pressure,
        noise,
        advice,
    })
}

fn machine(name: MachineName<'_>) -> MachineFindings {
    let machine = environment::machine(name.given, None);
    let environment = environment::environment(&BTreeMap::new());
    MachineFindings {
        id: machine.id,
        name: machine.name,
        class: machine.class,
        named_by: name.source.to_owned(),
        environment_key: environment.key,
        facts: environment.facts,
    }
}

fn clock(cost: ClockCost) -> Clock {
    Clock { resolution: cost.resolution.map(round), cost: round(cost.cost) }
}

fn pressures(change: &PressureChange, cores: usize) -> Pressures {
    Pressures {
        load_before: change.load_before,
        load_after: change.load_after,
        steal_share: change.steal_share.map(round),
        throttled_periods: change.throttled_periods,
        throttled_seconds: change.throttled_seconds.map(round),
        waiting_share: change.waiting_share.map(round),
        reasons: pressure::reasons(change, cores),
    }
}

/// Three digits: what a second look would not change by itself.
fn round(value: f64) -> f64 {
    describe::round_significant(value, 3)
}
