//! `sprag doctor`: what this machine can measure, how noisily, and what to change about it.
//!
//! It looks, times some plain kernels, and says what it found; it sets nothing and records nothing.

mod findings;
mod abilities;
mod noise;
mod advice;
mod terminal;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;

pub(super) use self::findings::schema;
use self::findings::{Clock, Clocks, Findings, MachineFindings, Pressures, SCHEMA_VERSION};
use super::Exit;
use super::progress::Progress;
use super::project::Project;
use crate::cli::DoctorArgs;
use sprag_base::stats::describe;
use sprag_measure::clock_cost::{self, ClockCost};
use sprag_measure::environment::pressure::{self, Pressure, PressureChange};
use sprag_measure::environment::{self, MACHINE_VARIABLE};
use sprag_measure::noise as noise_of_machine;
use sprag_measure::process::WorkerCommand;
use sprag_measure::suite::Observer as _;

pub(super) fn run(folder: &Path, args: &DoctorArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    let start = Instant::now();
    let before = Pressure::read();
    let progress = Progress::new();
    progress.begin("looking at the machine", 1);
    let machine = machine(&project);
    let abilities = abilities::abilities(&project, &machine.facts);
    let clocks = Clocks { wall: clock(clock_cost::wall()), thread: clock_cost::thread().map(clock) };
    let protocol = noise_of_machine::protocol(args.quick);
    progress.begin(
        &format!("timing plain kernels in {} worker processes", protocol.processes),
        u64::from(protocol.processes),
    );
    let command = WorkerCommand::for_task("time")?;
    let found = noise_of_machine::measure(&protocol, &command, &mut |done| progress.step(u64::from(done)))?;
    progress.end();
    let cores = machine.facts.get("cores").and_then(|cores| cores.parse().ok()).unwrap_or(1);
    let pressure = pressures(&Pressure::read().since(&before), cores);
    let noise = noise::findings(&found);
    let advice = advice::advice(&machine.facts, &clocks, &pressure, &abilities, &noise);
    let findings = Findings {
        schema_version: SCHEMA_VERSION,
        sprag: env!("CARGO_PKG_VERSION").to_owned(),
        seconds: round(start.elapsed().as_secs_f64()),
        machine,
        abilities,
        clocks,
        pressure,
        noise,
        advice,
    };
    if args.json {
        let text = serde_json::to_string_pretty(&findings).context("cannot write the findings")?;
        writeln!(out, "{text}")?;
    } else {
        out.write_all(terminal::text(&findings).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn machine(project: &Project) -> MachineFindings {
    let given = project.machine_name();
    let variable = std::env::var(MACHINE_VARIABLE).is_ok_and(|name| !name.trim().is_empty());
    let named_by = match &given {
        Some(_) if variable => MACHINE_VARIABLE,
        Some(_) => "sprag.toml",
        None => "hardware",
    };
    let machine = environment::machine(given.as_deref(), None);
    let environment = environment::environment(&BTreeMap::new());
    MachineFindings {
        id: machine.id,
        name: machine.name,
        class: machine.class,
        named_by: named_by.to_owned(),
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
