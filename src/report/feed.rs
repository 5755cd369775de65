//! What programs read of the site: feeds of events, a badge, a list of pages.
//!
//! An entry of a feed says the same sentence as the page of its event and the Markdown of `sprag trend`. Each form has its own
//! encoder: [`text::xml`](super::text::xml) for XML, which also replaces what XML 1.0 forbids, and `serde_json` for JSON.

use chrono::{DateTime, NaiveTime, Utc};
use serde_json::{Map, Value, json};

use crate::catalog::Catalog;
use crate::mark::Tone;
use crate::number::counted;
use crate::phrase::{Part, Phrase};
use crate::text::{shortened, visible, xml};
use crate::trend::event as trend_event;
use crate::{answer, date, link, open_regressions, summary};
use sprag_base::digest::sha256_hex;
use sprag_model::event::{Event, EventState};
use sprag_model::ledger::answer::{Answer, Standing};
use sprag_model::page::Page;

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
    /// Where, since when, between which commits, how significant, and whether it is still present.
    pub(super) text: String,
    /// When the first run after it took place.
    pub(super) published: DateTime<Utc>,
    /// When it was reverted, or accepted, or open again; else as `published`.
    pub(super) updated: DateTime<Utc>,
}

/// The entries. `root` is the site's URL with a slash at its end.
pub(super) fn entries(catalog: &Catalog<'_>, root: Option<&str>) -> Vec<Entry> {
    // What may be chance comes and goes with every run.
    let mut events: Vec<&Event> = catalog.trend.events.iter().filter(|one| one.sure).collect();
    events.sort_by(|a, b| b.since.cmp(&a.since).then_with(|| a.id.cmp(&b.id)));
    events.into_iter().take(MOST).map(|one| entry(catalog, root, one)).collect()
}

/// The id of what has that path in the site.
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
    let reverted = match &of.state {
        EventState::TakenBack { by } => catalog.trend.events.iter().find(|one| one.id == *by).map(|one| one.since),
        EventState::Standing => None,
    };
    Entry {
        id: id(catalog, root, &path),
        title: visible(&trend_event::title(of).words()).into_owned(),
        text: visible(&(sentences.join(". ") + ".")).into_owned(),
        published: of.since,
        updated: reverted.or(of.answer.as_ref().and_then(said_on)).map_or(of.since, |time| time.max(of.since)),
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

/// The feed. `root` is the site's URL with a slash at its end; links are relative to the feed where there is none.
pub(crate) fn atom(catalog: &Catalog<'_>, root: Option<&str>) -> Page {
    let entries = entries(catalog, root);
    let newest = entries.iter().map(|one| one.updated).max();
    // Not when something was measured last: that says nothing new.
    let updated = newest.or(catalog.analysis.as_of).unwrap_or_default();
    let mut feed =
        String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
    element(&mut feed, "id", &id(catalog, root, link::ATOM_FEED));
    element(&mut feed, "title", &title(catalog));
    element(&mut feed, "updated", &date::rfc3339(updated));
    feed += &format!("<author><name>{}</name></author>\n", xml(&catalog.analysis.project));
    feed += &format!("<generator version=\"{0}\">sprag</generator>\n", env!("CARGO_PKG_VERSION"));
    if let Some(root) = root {
        feed +=
            &format!("<link rel=\"self\" type=\"application/atom+xml\" href=\"{}{}\"/>\n", xml(root), link::ATOM_FEED);
    }
    feed += &format!("<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n", xml(&to(root, link::EVENT_LIST)));
    for one in &entries {
        feed += &entry_of(one, root);
    }
    feed += "</feed>\n";
    Page { path: link::ATOM_FEED.to_owned(), bytes: feed.into_bytes() }
}

fn entry_of(one: &Entry, root: Option<&str>) -> String {
    let mut entry = String::from("<entry>\n");
    element(&mut entry, "id", &one.id);
    element(&mut entry, "title", &one.title);
    element(&mut entry, "published", &date::rfc3339(one.published));
    element(&mut entry, "updated", &date::rfc3339(one.updated));
    entry += &format!("<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n", xml(&to(root, &one.path)));
    entry += &format!("<content type=\"text\">{}</content>\n</entry>\n", xml(&one.text));
    entry
}

fn element(into: &mut String, name: &str, text: &str) {
    *into += &format!("<{name}>{}</{name}>\n", xml(text));
}

/// The way to a page: from the root, or from the folder of the feed up to it.
fn to(root: Option<&str>, path: &str) -> String {
    format!("{}{path}", root.unwrap_or("../"))
}

/// The feed. `root` is the site's URL with a slash at its end; without it the feed has no URLs, for they must be absolute.
pub(crate) fn json(catalog: &Catalog<'_>, root: Option<&str>) -> Page {
    let items: Vec<Value> = entries(catalog, root).iter().map(|one| item(one, root)).collect();
    let mut feed = Map::from_iter([
        ("version".to_owned(), json!("https://jsonfeed.org/version/1.1")),
        ("title".to_owned(), json!(title(catalog))),
        ("language".to_owned(), json!("en")),
        ("authors".to_owned(), json!([{ "name": visible(&catalog.analysis.project) }])),
        ("items".to_owned(), json!(items)),
    ]);
    if let Some(root) = root {
        feed.insert("home_page_url".to_owned(), json!(format!("{root}{}", link::EVENT_LIST)));
        feed.insert("feed_url".to_owned(), json!(format!("{root}{}", link::JSON_FEED)));
    }
    Page { path: link::JSON_FEED.to_owned(), bytes: format!("{:#}\n", Value::Object(feed)).into_bytes() }
}

fn item(one: &Entry, root: Option<&str>) -> Value {
    let mut item = json!({
        "id": one.id,
        "title": one.title,
        "content_text": one.text,
        "date_published": date::rfc3339(one.published),
        "date_modified": date::rfc3339(one.updated),
    });
    if let Some(root) = root {
        item["url"] = json!(format!("{root}{}", one.path));
    }
    item
}

/// A list of pages may name no more.
const MOST_PAGES: usize = 50_000;

/// The list of the pages at those paths. `root` is the site's URL with a slash at its end.
pub(crate) fn sitemap<'a>(root: &str, paths: impl Iterator<Item = &'a str>) -> Page {
    let mut list = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    let pages = paths.filter(|path| path.ends_with(".html") && *path != link::MISSING);
    for path in pages.take(MOST_PAGES) {
        list += &format!("<url><loc>{}{}</loc></url>\n", xml(root), xml(path));
    }
    list += "</urlset>\n";
    Page { path: link::SITEMAP.to_owned(), bytes: list.into_bytes() }
}

/// The longest message, in characters: a badge is small.
const MESSAGE: usize = 60;

/// The badge: the open regressions, else the verdict of the newest runs.
pub(crate) fn badge(catalog: &Catalog<'_>) -> Page {
    let open = open_regressions::open(catalog.trend).count();
    let headline = summary::summarise(catalog.analysis, catalog.trend).headline;
    let (message, color) = match open {
        0 => (headline.words(), color(&headline)),
        some => (counted(some, "open regression", "open regressions"), "red"),
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
