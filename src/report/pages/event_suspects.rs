//! The commits in and around the range of an event, in their order.

use super::event_rows::tone;
use crate::model::event::{Event, EventKind, NamedCommit, Suspect};
use crate::report::catalog::Catalog;
use crate::report::chart::bar;
use crate::report::date;
use crate::report::mark::{Mark, Tone};
use crate::report::number::{NONE, count};
use crate::report::trend::words;

/// The suspects that are listed: the likeliest.
const MOST: usize = 60;

/// Those that are listed where none of them is to blame: the first.
const FEW: usize = 10;

/// The longest subject, in characters.
const SUBJECT: usize = 160;

/// The commits of a range.
pub(super) struct Suspects {
    /// The heading above them.
    pub(super) heading: &'static str,
    /// What the figures are.
    pub(super) note: String,
    /// The commits, oldest first.
    pub(super) rows: Vec<Row>,
    /// How many are left out.
    pub(super) rest: String,
}

/// A commit of the range.
pub(super) struct Row {
    /// What it is in the range.
    pub(super) role: Mark,
    /// Its first digits, or a tag.
    pub(super) commit: String,
    /// Its page, or nothing.
    pub(super) page: String,
    /// The first line of its message.
    pub(super) subject: String,
    /// The day it was committed; empty where the line does not hold it.
    pub(super) day: String,
    /// Whether a member was measured at it.
    pub(super) measured: Mark,
    /// The probability, drawn.
    pub(super) bar: String,
    /// The probability.
    pub(super) probability: String,
    /// Whether it is the likeliest.
    pub(super) likeliest: bool,
    /// Whether the row deserves a tint.
    pub(super) bad: bool,
}

/// The commits of the range of an event.
pub(super) fn suspects(catalog: &Catalog<'_>, of: &Event) -> Suspects {
    let most = if of.kind == EventKind::Change { MOST } else { FEW };
    let mut by_probability: Vec<(usize, &Suspect)> = of.suspects.iter().enumerate().collect();
    by_probability.sort_by(|a, b| b.1.probability.total_cmp(&a.1.probability).then(a.0.cmp(&b.0)));
    let left_out: f64 = by_probability.iter().skip(most).map(|(_, one)| one.probability).sum();
    let more = by_probability.len().saturating_sub(most);
    // Where two are as likely as each other, neither stands out.
    let likeliest = match by_probability.as_slice() {
        [(_, first), (_, second), ..] if first.probability > second.probability => Some(&first.commit.sha),
        _ => None,
    };
    by_probability.truncate(most);
    by_probability.sort_by_key(|(place, _)| *place);

    let mut rows = Vec::new();
    if let Some(good) = &of.last_good {
        rows.push(row(catalog, good, Mark::new(Tone::Plain, "=", "last good"), true));
    }
    rows.extend(by_probability.iter().map(|(_, one)| {
        let is_likeliest = likeliest == Some(&one.commit.sha);
        let probability = words::probability(one.probability);
        let role = match of.kind {
            EventKind::Change => Mark::new(Tone::Doubt, "?", "suspect"),
            EventKind::Drift => Mark::new(Tone::Doubt, "↗", "in the ramp"),
            EventKind::Environment => Mark::new(Tone::Environment, "◇", "in the range"),
        };
        let is_bad = is_likeliest && tone(of) == Tone::Worse;
        let has_figure = of.kind == EventKind::Change;
        Row {
            bar: if has_figure { bar::draw(one.probability, is_bad, &probability) } else { String::new() },
            probability: if has_figure { probability } else { NONE.to_owned() },
            likeliest: is_likeliest && has_figure,
            bad: is_bad && has_figure,
            ..row(catalog, &one.commit, role, one.measured)
        }
    }));
    let is_suspect = of.suspects.iter().any(|one| one.commit.sha == of.first_bad.sha);
    if !is_suspect {
        rows.push(row(catalog, &of.first_bad, Mark::new(Tone::Plain, "=", "surely has it"), true));
    }
    let note = match of.kind {
        EventKind::Change if of.next.is_none() && of.suspects.len() > 1 => {
            "The probability that a commit is the cause, from all series together. No commit is left to measure that would narrow it down."
        }
        EventKind::Change => "The probability that a commit is the cause, from all series together.",
        EventKind::Drift => "The level moved evenly over these commits: none of them is to blame alone.",
        EventKind::Environment => "The environment changed between these commits: none of them is to blame.",
    };
    let rest = match more {
        0 => String::new(),
        more if of.kind == EventKind::Change => {
            format!("{} more are not listed here, {} together.", count(more), words::probability(left_out))
        }
        more => format!("{} more are not listed here.", count(more)),
    };
    let heading = if of.kind == EventKind::Change { "Which commit" } else { "Between which commits" };
    Suspects { heading, note: note.to_owned(), rows, rest }
}

fn row(catalog: &Catalog<'_>, commit: &NamedCommit, role: Mark, is_measured: bool) -> Row {
    let on_line = catalog.position(&commit.sha).and_then(|place| catalog.line.commits.get(place));
    Row {
        role,
        commit: words::name(commit.short()),
        page: catalog.commit_place(&commit.sha).unwrap_or_default(),
        subject: crate::report::text::shortened(&commit.subject, SUBJECT),
        day: on_line.map_or(String::new(), |commit| date::day(commit.commit_time)),
        measured: if is_measured {
            Mark::new(Tone::Plain, "●", "measured")
        } else {
            Mark::new(Tone::Plain, "○", "not measured")
        },
        bar: String::new(),
        probability: NONE.to_owned(),
        likeliest: false,
        bad: false,
    }
}
