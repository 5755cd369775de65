//! The state in a few words, as the endpoint of shields.io reads it (<https://shields.io/badges/endpoint-badge>).

use serde_json::{Value, json};

use crate::catalog::Catalog;
use crate::link;
use crate::mark::Tone;
use crate::number::counted;
use crate::open_regressions;
use crate::phrase::{Part, Phrase};
use crate::summary;
use crate::text::{shortened, visible};
use sprag_model::page::Page;

/// The longest message, in characters: a badge is small.
const MESSAGE: usize = 60;

/// The badge: the regressions that stand and nobody accepts, else the verdict of the newest runs.
pub(crate) fn badge(catalog: &Catalog<'_>) -> Page {
    let standing = open_regressions::open(catalog.trend).count();
    let headline = summary::summarise(catalog.analysis, catalog.trend).headline;
    let (message, color) = match standing {
        0 => (headline.words(), color(&headline)),
        some => (counted(some, "regression stands", "regressions stand"), "red"),
    };
    let badge: Value = json!({
        "schemaVersion": 1,
        "label": "sprag",
        "message": visible(&shortened(&message, MESSAGE)),
        "color": color,
    });
    Page { path: link::BADGE.to_owned(), bytes: format!("{badge:#}\n").into_bytes() }
}

/// The colour of a sentence is that of its first mark.
fn color(headline: &Phrase) -> &'static str {
    let tone = headline.parts.iter().find_map(|part| match part {
        Part::Mark(mark) => Some(mark.tone),
        _ => None,
    });
    match tone {
        Some(Tone::Worse) => "red",
        Some(Tone::Better) => "brightgreen",
        Some(Tone::Doubt | Tone::Environment) => "yellow",
        Some(Tone::Plain) | None => "lightgrey",
    }
}
