//! The bisection of an event, on its page: what was measured, and the culprit.

use super::frame::prelude::*;
use crate::trend::words;
use sprag_model::Event;

/// What is nearer to an end than this is like that end.
const NEAR: f64 = 0.25;

/// The commits that were not measured and are listed, and the longest reason, in characters.
const SKIPPED: usize = 60;
const REASON: usize = 300;

pub(super) fn bisection(catalog: &Catalog<'_>, of: &Event) -> Option<Section> {
    let bisection = of.bisection.as_ref()?;
    let link = |sha: &str| cell::commit_link(catalog, sha);
    let subject = |sha: &str| {
        let on_line = catalog.position(sha).and_then(|place| catalog.line.commits.get(place));
        on_line.map_or(String::new(), |commit| words::subject(&commit.subject))
    };
    let mut note = Phrase::plain("From ").join(link(&bisection.good)).text(" to ").join(link(&bisection.bad));
    note = note.text(if bisection.culprits.len() == 1 { ", the culprit is " } else { ", the culprit is one of " });
    for (place, culprit) in bisection.culprits.iter().enumerate() {
        note = note.text(if place > 0 { ", " } else { "" }).join(link(culprit));
    }
    note = note.text(format!(" with a probability of {}.", words::probability(bisection.probability.min(0.999))));
    if let Some(effect) = bisection.effects.first() {
        let change = format!("{} ({})", number::percent(effect.change), number::percent_interval(effect.interval));
        note =
            note.text(" ").id(short_benchmark(&words::name(&effect.benchmark))).text(format!(" differs by {change}."));
    }
    let answer = |level: f64| match level {
        _ if level.abs() < NEAR => Mark::new(Tone::Plain, "=", "as the good end"),
        _ if (level - 1.0).abs() < NEAR => Mark::new(Tone::Doubt, "≠", "as the bad end"),
        _ => Mark::new(Tone::Doubt, "?", "neither"),
    };
    let rows = Rows::new("Measurements of the bisection, in order", &bisection.measurements)
        .column("Commit", "nb", |one| link(&one.commit))
        .column("Subject", "full any", |one| subject(&one.commit))
        .column("Answer", "", |one| answer(one.level))
        .column("Level", "n opt", |one| format!("{:.2}", one.level))
        .column("Probability", "n push", |one| words::probability(one.probability));
    let levels = "Level: 0 at the good end, 1 at the bad one. Probability: of the likeliest suspect afterwards.";
    let skipped = Rows::new("Commits that were not measured", &bisection.skipped)
        .first(SKIPPED)
        .column("Commit", "nb", |one| link(&one.commit))
        .column("Subject", "full any opt", |one| subject(&one.commit))
        .column("Reason", "full any", |one| shortened(&one.reason, REASON));
    Some(Section::new("bisection", "Bisection").paragraph(note).rows(rows).paragraph(levels).rows(skipped))
}
