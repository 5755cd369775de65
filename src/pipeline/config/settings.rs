//! The settings of `sprag.toml`, section by section, what holds where the file says nothing, and what cannot be.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::fault::Fault;
use super::rules::Rules;
use super::suite::Suite;
use super::trend::Trend;

/// The configuration of a project. Every field has a default, so a project without a file works.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub project: Project,
    /// The suites, by name; `cpu` and `gpu` where the file names none.
    pub suites: BTreeMap<String, Suite>,
    /// Suites that the file need not name, and that run only where they are asked for by name.
    #[serde(skip)]
    pub on_request: BTreeMap<String, Suite>,
    /// How verdicts are reached.
    pub rules: Rules,
    /// What counts as a change over the history.
    pub trend: Trend,
    pub history: History,
    /// How often a run is due.
    pub schedule: Schedule,
    /// What this computer is called.
    pub machine: MachineName,
    pub site: Site,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Project {
    /// Shown on every page.
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct History {
    /// A branch for records alone; the current branch where absent.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
}

/// How often a run is due.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Days between two scheduled builds.
    pub every_days: u32,
}

/// What this computer is called.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MachineName {
    /// Takes the place of a digest of the hardware; `SPRAG_MACHINE` goes before it.
    pub name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Site {
    /// The folder, relative to the root of the project.
    pub out: PathBuf,
    /// Where the site is published, such as `https://example.org/kernels/`.
    pub url: Option<String>,
    /// Whether files of all values lie beside the pages, as CSV, JSON Lines and Parquet.
    pub downloads: bool,
}

impl Default for Project {
    fn default() -> Project {
        Project { name: "this project".to_owned() }
    }
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule { every_days: 7 }
    }
}

impl Default for Site {
    fn default() -> Site {
        Site { out: PathBuf::from("_site"), url: None, downloads: false }
    }
}

impl Config {
    /// The first value that TOML allows and we do not.
    pub fn fault(&self) -> Option<Fault> {
        let fault = |keys: &[&str], message: String| Some(Fault::new(keys, message));
        if let Some(fault) = self.rules.fault().or_else(|| self.trend.fault()) {
            return Some(fault);
        }
        if !(1..=366).contains(&self.schedule.every_days) {
            let message = format!("`schedule.every_days` is {}, from 1 to 366 is allowed", self.schedule.every_days);
            return fault(&["schedule", "every_days"], message);
        }
        if self.project.name.trim().is_empty() {
            return fault(&["project", "name"], "`project.name` is empty".to_owned());
        }
        if self.machine.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            let message = "`machine.name` is empty; leave it out to know the machine by its hardware";
            return fault(&["machine", "name"], message.to_owned());
        }
        for (name, suite) in &self.suites {
            let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
            if name.is_empty() || name.len() > 50 || name.starts_with(['-', '_']) || !name.chars().all(fine) {
                let message = format!(
                    "the suite `{}` must be named with lower-case letters, digits, `-` and `_`, as it names a folder",
                    name.escape_debug()
                );
                return fault(&["suites", name], message);
            }
            if is_device(name) {
                let message = format!("the suite `{name}` cannot be named so: Windows keeps that name for a device");
                return fault(&["suites", name], message);
            }
            if let Some(fault) = suite.fault(name) {
                return Some(fault);
            }
        }
        None
    }
}

/// Whether Windows takes a folder of that name for a device. Records of such a suite could not be read back.
fn is_device(name: &str) -> bool {
    let numbered = name.strip_prefix("com").or(name.strip_prefix("lpt"));
    matches!(name, "con" | "nul" | "aux" | "prn") || numbered.is_some_and(|n| matches!(n.as_bytes(), [b'0'..=b'9']))
}
