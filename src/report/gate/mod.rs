//! Reports of a gate for other programs: our JSON, Markdown for a pull request, JUnit, SARIF, and workflow
//! commands of GitHub.
//!
//! Each is a pure function from the [`Gate`](sprag_model::gate::Gate) to a text. What is reported, how seriously and in which
//! words is decided once, so that all forms agree; each form has its own escaping, for every name and reason in it comes
//! from elsewhere.

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
