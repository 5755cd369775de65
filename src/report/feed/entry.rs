//! The entries of feeds: one an event that is sure, the newest first.

use chrono::{DateTime, NaiveTime, Utc};

use crate::answer;
use crate::catalog::Catalog;
use crate::link;
use crate::phrase::Phrase;
use crate::text::visible;
use crate::trend::event as trend_event;
use sprag_base::digest::sha256_hex;
use sprag_model::event::{Event, EventState};
use sprag_model::ledger::answer::{Answer, Standing};

/// The entries that a feed holds.
const MOST: usize = 100;

/// The authority of ids of sites without a URL: a name that nobody can own.
const AUTHORITY: &str = "tag:sprag.invalid,2026";

pub(super) struct Entry {
    /// Stable, and unlike that of any other entry.
    pub(super) id: String,
    /// The path of its page in the site.
    pub(super) path: String,
    /// What the event did, in one sentence.
    pub(super) title: String,
    /// Where, since when, between which commits, how sure, and whether it holds.
    pub(super) text: String,
    /// When the first run after it took place.
    pub(super) published: DateTime<Utc>,
    /// When it was taken back, or accepted, or open again; else as `published`.
    pub(super) updated: DateTime<Utc>,
}

/// The entries. `root` is the site's URL with a slash at its end.
pub(super) fn entries(catalog: &Catalog<'_>, root: Option<&str>) -> Vec<Entry> {
    // What may be chance comes and goes with every run.
    let mut events: Vec<&Event> = catalog.trend.events.iter().filter(|one| one.sure).collect();
    events.sort_by(|a, b| b.since.cmp(&a.since).then_with(|| a.id.cmp(&b.id)));
    events.into_iter().take(MOST).map(|one| entry(catalog, root, one)).collect()
}

/// The id of what lies at a path of the site.
pub(super) fn id(catalog: &Catalog<'_>, root: Option<&str>, path: &str) -> String {
    match root {
        Some(root) => format!("{root}{path}"),
        None => {
            let project = sha256_hex(catalog.analysis.project.as_bytes());
            format!("{AUTHORITY}:{}/{path}", &project[..12])
        }
    }
}

fn entry(catalog: &Catalog<'_>, root: Option<&str>, of: &Event) -> Entry {
    let path = link::event(&of.id);
    let mut sentences = vec![trend_event::range(of)];
    sentences.extend(trend_event::likely(of).map(|(label, words)| Phrase::plain(label).then(words)));
    sentences.extend([trend_event::chance(of), trend_event::state(of)]);
    sentences.extend(of.answer.as_ref().map(|said| Phrase::plain("Ledger:").then(answer::in_words(said))));
    let begun = sentences.into_iter().map(Phrase::begun);
    // The first begins with the name of a machine, which stays as it is.
    let sentences: Vec<String> = std::iter::once(trend_event::place(of)).chain(begun).map(|one| one.words()).collect();
    let taken_back = match &of.state {
        EventState::TakenBack { by } => catalog.trend.events.iter().find(|one| one.id == *by).map(|one| one.since),
        EventState::Standing => None,
    };
    Entry {
        id: id(catalog, root, &path),
        title: visible(&trend_event::title(of).words()).into_owned(),
        text: visible(&(sentences.join(". ") + ".")).into_owned(),
        published: of.since,
        updated: taken_back.or(of.answer.as_ref().and_then(said_on)).map_or(of.since, |time| time.max(of.since)),
        path,
    }
}

/// When what the ledger says to an event became so.
fn said_on(answer: &Answer) -> Option<DateTime<Utc>> {
    let day = match answer.standing {
        Standing::Accepted | Standing::Exceeded | Standing::BeyondScope => answer.date,
        Standing::Expired => answer.expires.succ_opt()?,
        Standing::NotYet => return None,
    };
    Some(day.and_time(NaiveTime::MIN).and_utc())
}

pub(super) fn title(catalog: &Catalog<'_>) -> String {
    visible(&format!("Events of {}", catalog.analysis.project)).into_owned()
}

/// A moment as RFC 3339 writes it.
pub(super) fn moment(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}
