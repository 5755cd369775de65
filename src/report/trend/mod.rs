//! What a history shows, for people and programs: a report for a terminal and in Markdown, and JSON.

use crate::sheet::{Sheet, markdown as md, terminal};
use sprag_model::Trend;

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
pub use words::probability;
pub(crate) use words::reason;

/// What asks for action, for a terminal of that width; `all` lists events that may be chance or were reverted, too.
pub fn overview(trend: &Trend, all: bool, width: Option<usize>) -> String {
    terminal::write(&tables::overview(trend, all), width)
}

/// The trend in full, for a terminal of that width; `all` lists events that may be chance or were reverted, too.
pub fn table(trend: &Trend, all: bool, width: Option<usize>) -> String {
    terminal::write(&tables::sheet(trend, all, usize::MAX), width)
}

/// The event whose id starts with these letters in full, for a terminal of that width; `None` where none or several do.
pub fn event(trend: &Trend, id: &str, width: Option<usize>) -> Option<String> {
    let mut named = trend.events.iter().filter(|one| one.id.starts_with(id));
    let section = event::section(named.next().filter(|_| !id.is_empty())?);
    let sheet = Sheet { sections: vec![section], ..Sheet::default() };
    named.next().is_none().then(|| terminal::write(&sheet, width).trim_start().to_owned())
}

/// Short enough for a comment on GitHub.
pub fn markdown(trend: &Trend, all: bool) -> String {
    md::write(&tables::sheet(trend, all, trend.most_events()), 2, md::COMMENT)
}

pub fn digest(trend: &Trend) -> String {
    md::write(&tables::digest(trend), 2, md::COMMENT)
}
