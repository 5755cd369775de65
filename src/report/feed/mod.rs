//! What programs read of the site: feeds of events, a badge, a list of pages.
//!
//! An entry of a feed says the same sentence as the page of its event and the Markdown of `sprag trend`. Each form has its own
//! encoder: [`text::xml`](super::text::xml) for XML, which also replaces what XML 1.0 forbids, and `serde_json` for JSON.

mod entry;
mod atom;
mod json;
mod badge;
mod sitemap;

pub(super) use atom::atom;
pub(super) use badge::badge;
pub(super) use json::json;
pub(super) use sitemap::sitemap;
