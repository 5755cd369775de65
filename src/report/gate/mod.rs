//! Reports of a gate: JSON, Markdown for a pull request, JUnit, SARIF, and workflow commands of GitHub.
//!
//! `finding` decides what is reported, how seriously and in which words, so that all forms agree. Each form escapes names and
//! reasons in its own way.

mod finding;
mod github;
mod json;
mod junit;
mod sarif;
mod sheet;

#[doc(hidden)]
pub mod example;
#[cfg(test)]
mod hostile_checks;

pub use finding::{answer, effect, was_not_judged};
pub use github::gate_commands;
pub use json::{gate_json, gate_schema};
pub use junit::gate_junit;
pub use sarif::gate_sarif;
pub use sheet::{common_note, gate_markdown};
