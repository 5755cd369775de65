//! `sprag doctor`: what this machine can measure, how noisily, and what to change about it.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;

use super::Exit;
use super::progress::Progress;
use super::project::Project;
use crate::cli::DoctorArgs;
pub(super) use sprag_measure::doctor::findings::schema;
use sprag_measure::doctor::{MachineName, examine};
use sprag_measure::environment::MACHINE_VARIABLE;
use sprag_pipeline::doctor;

pub(super) fn run(folder: &Path, args: &DoctorArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    let given = project.machine_name();
    let is_variable = std::env::var(MACHINE_VARIABLE).is_ok_and(|name| !name.trim().is_empty());
    let source = match &given {
        Some(_) if is_variable => MACHINE_VARIABLE,
        Some(_) => "sprag.toml",
        None => "hardware",
    };
    let name = MachineName { given: given.as_deref(), source };
    let abilities = |facts: &_| doctor::abilities(&project, facts);
    let findings = examine(env!("CARGO_PKG_VERSION"), name, args.quick, &abilities, &Progress::new())?;
    if args.json {
        let text = serde_json::to_string_pretty(&findings).context("cannot write the findings")?;
        writeln!(out, "{text}")?;
    } else {
        out.write_all(doctor::text(&findings).as_bytes())?;
    }
    Ok(Exit::Done)
}
