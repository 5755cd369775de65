//! The settings of `sprag.toml`, section by section, and what holds where the file says nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

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
