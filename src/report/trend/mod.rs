//! What a whole history shows, in the forms that people and programs read: a terminal, Markdown, JSON.
//!
//! What is told, in which order and in which words is decided once (`document.rs`); the terminal and Markdown only set it, and
//! the pages of events take its sentences. Each has its own escaping, for every name and subject in it comes from elsewhere.

pub(crate) mod shell;
pub(crate) mod words;
mod document;
pub(crate) mod summary;
pub(crate) mod event;
pub(crate) mod tables;
mod table;
mod markdown;
mod json;

#[cfg(test)]
mod checks;
#[cfg(test)]
pub(crate) mod example;
#[cfg(test)]
mod example_tables;

pub use json::{json, schema};
pub use markdown::{digest, markdown};
pub use table::table;
pub(crate) use tables::reason;
