//! `sprag.toml`: what a project says about itself, and what holds where it says nothing.

mod fault;
mod settings;
mod rules;
mod trend;
mod suite;
mod read;

use std::path::PathBuf;

pub use rules::{MetricRule, Parameters, Rules};
pub use settings::{Config, History, MachineName, Project, Schedule, Site};
pub use sprag_base::text::nearest;
pub use suite::{GpuProfile, Suite, SuiteKind};
pub use trend::{MetricTrend, SensitivityName, Trend};

/// The name of the file at the root of a project.
pub const FILE_NAME: &str = "sprag.toml";

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {error}", .path.display())]
    Read { path: PathBuf, error: std::io::Error },
    /// The file does not say what it must.
    #[error("{}:{line}:{column}: {message}{}", .path.display(), fault::hint_text(.suggestion))]
    Content {
        path: PathBuf,
        line: usize,
        column: usize,
        message: String,
        /// A known word close to the one written.
        suggestion: Option<String>,
    },
}
