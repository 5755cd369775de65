//! What a history shows, for people and programs: a report for a terminal and in Markdown, and JSON.

use crate::sheet::{markdown as md, terminal};
use sprag_model::trend::Trend;

pub(crate) mod event;
mod json;
pub(crate) mod summary;
pub(crate) mod tables;
pub(crate) mod words;

#[cfg(test)]
mod checks;
#[cfg(test)]
pub(crate) mod example;

pub use json::{json, schema};
pub(crate) use tables::reason;

/// The trend for a terminal of that width; `all` lists events that may be chance or were reverted, too.
pub fn table(trend: &Trend, all: bool, width: Option<usize>) -> String {
    terminal::write(&tables::sheet(trend, all), width)
}

/// Short enough for a comment on GitHub.
pub fn markdown(trend: &Trend, all: bool) -> String {
    md::write(&tables::sheet(trend, all), 2, md::COMMENT)
}

pub fn digest(trend: &Trend) -> String {
    md::write(&tables::digest(trend), 2, md::COMMENT)
}
