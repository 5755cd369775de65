//! The settings of `sprag.toml`, section by section, and what holds where the file says nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::suite::Suite;

/// A quarter: on a shared machine a single session's medians move by up to 12 % (cached kernels), so less cries wolf.
const DEFAULT_TOLERANCE: f64 = 0.25;

/// The configuration of a project. Every field has a default, so a project without a file works.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What the project is called.
    pub project: Project,
    /// The suites, by name; `cpu` and `gpu` where the file names none.
    pub suites: BTreeMap<String, Suite>,
    /// Suites that the file need not name, and that run only where they are asked for by name.
    #[serde(skip)]
    pub on_request: BTreeMap<String, Suite>,
    /// How verdicts are reached.
    pub rules: Rules,
    /// Where records go.
    pub history: History,
    /// How often a run is due.
    pub schedule: Schedule,
    /// What this computer is called.
    pub machine: MachineName,
    /// Where the site goes.
    pub site: Site,
}

/// What the project is called.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Project {
    /// Shown on every page.
    pub name: String,
}

/// How verdicts are reached.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// The settings of the rule `tolerance`: allowed is `value * (1 + ratio) + abs`.
    pub tolerance: Tolerance,
}

/// The tolerances that `baseline emit` writes into a new baseline.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tolerance {
    /// Allowed relative worsening.
    pub ratio: f64,
    /// Allowed absolute worsening on top, in the base unit of the metric.
    pub abs: f64,
}

/// Where records go.
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

/// Where the site goes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Site {
    /// The folder, relative to the root of the project.
    pub out: PathBuf,
    /// Where the site is published, such as `https://example.org/kernels/`.
    pub url: Option<String>,
}

impl Default for Project {
    fn default() -> Project {
        Project { name: "this project".to_owned() }
    }
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance { ratio: DEFAULT_TOLERANCE, abs: 0.0 }
    }
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule { every_days: 7 }
    }
}

impl Default for Site {
    fn default() -> Site {
        Site { out: PathBuf::from("_site"), url: None }
    }
}
