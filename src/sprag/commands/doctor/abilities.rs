//! What can be measured here, and why not.

use std::collections::BTreeMap;
use std::process::Command;

use crate::commands::project::Project;
use crate::config::{Suite, SuiteKind};
use sprag_history::{self as history, HistoryError};
use sprag_measure::doctor::findings::{Ability, INSTRUCTION_COUNTS, RECORDING};
use sprag_measure::{gpu, tensorrt};

/// Every suite of the project, then what serves all of them.
pub(super) fn abilities(project: &Project, facts: &BTreeMap<String, String>) -> Vec<Ability> {
    let mut abilities: Vec<Ability> =
        project.config.suites.iter().map(|(name, suite)| suite_ability(project, name, suite)).collect();
    abilities.push(ability(INSTRUCTION_COUNTS, valgrind()));
    abilities.push(ability("performance counters", counters(facts)));
    abilities.push(ability("pinning", pinning(facts)));
    abilities.push(ability(RECORDING, recording(project)));
    abilities
}

fn ability(name: &str, found: Result<String, String>) -> Ability {
    let able = found.is_ok();
    let detail = match found {
        Ok(detail) | Err(detail) => detail,
    };
    Ability { name: name.to_owned(), able, detail }
}

fn suite_ability(project: &Project, name: &str, suite: &Suite) -> Ability {
    let found = match suite.kind {
        SuiteKind::Cpu => Ok(format!("in {} worker processes a run", suite.processes())),
        SuiteKind::Command => program(project, suite),
        SuiteKind::Trt => engine(project, suite),
        SuiteKind::Gpu => gpu::probe::device()
            .and_then(|device| Ok(format!("on {}, compiled by NVRTC {}", device.name, gpu::probe::nvrtc()?)))
            .map_err(|error| error.to_string()),
    };
    ability(&format!("suite {name}"), found)
}

/// What times an engine of TensorRT, the engine itself, and a device to run it.
fn engine(project: &Project, suite: &Suite) -> Result<String, String> {
    let trtexec = suite.trtexec.as_ref().map(|path| project.root.join(path));
    tensorrt::find(trtexec.as_deref()).map_err(|reason| reason.to_string())?;
    match &suite.engine {
        Some(path) if project.root.join(path).is_file() => {}
        Some(path) => return Err(format!("there is no engine `{}`", path.display())),
        None => return Err("no engine is named".to_owned()),
    }
    let device = gpu::probe::device().map_err(|error| error.to_string())?;
    Ok(format!("with `trtexec` on {}", device.name))
}

/// The program of a command suite, where it is: beside the suite's folder for a path, else on the search path.
fn program(project: &Project, suite: &Suite) -> Result<String, String> {
    let program = suite.command.first().map(String::as_str).unwrap_or_default();
    let folder = suite.cwd.as_ref().map_or_else(|| project.root.clone(), |cwd| project.root.join(cwd));
    let found = if program.contains('/') {
        // A program of the suite may be what its build step makes.
        folder.join(program).is_file() || !suite.build.is_empty()
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    if found { Ok(format!("with `{program}`")) } else { Err(format!("there is no program `{program}`")) }
}

/// Callgrind counts instructions: exact where times are noisy.
fn valgrind() -> Result<String, String> {
    let missing = || "valgrind is not installed".to_owned();
    let output = Command::new("valgrind").arg("--version").output().map_err(|_| missing())?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() { Ok(valgrind_version(&text)) } else { Err("valgrind does not run".to_owned()) }
}

/// `valgrind-3.19.0` as `valgrind 3.19.0`.
fn valgrind_version(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    let version = line.strip_prefix("valgrind-").unwrap_or(line);
    let plain = version.len() <= 20 && version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    if plain && !version.is_empty() { format!("valgrind {version}") } else { "valgrind".to_owned() }
}

fn counters(facts: &BTreeMap<String, String>) -> Result<String, String> {
    match facts.get("counters").map(String::as_str) {
        Some("available") => Ok("instructions of our own code can be counted".to_owned()),
        Some("not permitted") => Err("closed to this user".to_owned()),
        Some("none") if facts.get("virtual_machine").is_some_and(|is| is == "yes") => {
            Err("the virtual machine has none".to_owned())
        }
        Some(_) => Err("the machine has none".to_owned()),
        None => Err("this system cannot be asked".to_owned()),
    }
}

fn pinning(facts: &BTreeMap<String, String>) -> Result<String, String> {
    let allowed = facts.get("allowed_cpus").map(String::as_str);
    match (facts.get("pinning").map(String::as_str), allowed) {
        (Some("permitted"), Some("1")) => Ok("to the only processor that is allowed".to_owned()),
        (Some("permitted"), Some(count)) => Ok(format!("to any of {count} processors")),
        (Some(_), _) => Err("the scheduler does not permit it".to_owned()),
        (None, _) => Err("this system cannot be asked".to_owned()),
    }
}

/// Where records go, or why they cannot.
fn recording(project: &Project) -> Result<String, String> {
    if let Some(fault) = project.store_fault() {
        return Err(fault.to_string());
    }
    let Some(store) = project.find_store() else {
        return Err("no git repository at or above this folder".to_owned());
    };
    let tried = || -> Result<String, HistoryError> {
        let target = history::target(store, project.config.history.reference.as_deref())?;
        history::check_writable(store)?;
        Ok(target.reference.trim_start_matches("refs/heads/").to_owned())
    };
    tried().map(|branch| format!("to the branch {branch}")).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(list: &[(&str, &str)]) -> BTreeMap<String, String> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_version_of_valgrind_is_read() {
        let check = |text: &str, expected: &str| assert_eq!(valgrind_version(text), expected);
        check("valgrind-3.19.0\n", "valgrind 3.19.0");
        check("valgrind-3.23.0.GIT\n", "valgrind 3.23.0.GIT");
        check("", "valgrind");
        check("valgrind-\u{1b}[31m", "valgrind");
    }

    #[test]
    fn facts_become_abilities_with_a_reason() {
        let check = |list: &[(&str, &str)], pins: bool, counts: bool| {
            let facts = facts(list);
            assert_eq!((pinning(&facts).is_ok(), counters(&facts).is_ok()), (pins, counts), "{list:?}");
        };
        check(&[("pinning", "permitted"), ("allowed_cpus", "2"), ("counters", "available")], true, true);
        check(&[("pinning", "not permitted"), ("allowed_cpus", "2"), ("counters", "not permitted")], false, false);
        check(&[], false, false);
        let alone = facts(&[("pinning", "permitted"), ("allowed_cpus", "1")]);
        assert_eq!(pinning(&alone), Ok("to the only processor that is allowed".to_owned()));
        let hidden = facts(&[("counters", "none"), ("virtual_machine", "yes")]);
        assert_eq!(counters(&hidden), Err("the virtual machine has none".to_owned()));
    }
}
