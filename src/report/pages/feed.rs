//! What programs read of the site: feeds of events, a badge, a list of pages. `root` is the site's URL with a slash at its end.

use std::collections::BTreeMap;

use askama::Template;
use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use serde_json::{Value, json};

use super::frame::page;
use super::week::monday;
use crate::catalog::Catalog;
use crate::mark::Tone;
use crate::number::counted;
use crate::phrase::{Part, Phrase};
use crate::text::{shortened, visible, xml};
use crate::trend::{event as trend_event, summary as trend_summary};
use crate::{ReportError, date, link, reasons, summary};
use sprag_base::digest::sha256_hex;
use sprag_model::{Answer, AnswerKind, Event, EventState, Page};

const MOST: usize = 100;

/// The authority of ids: a name that nobody can own.
const AUTHORITY: &str = "tag:sprag.invalid,2026";

#[derive(Template)]
#[template(path = "feed.xml")]
struct AtomFeed<'a> {
    id: String,
    title: String,
    updated: String,
    project: &'a str,
    version: &'static str,
    root: Option<&'a str>,
    entries: Vec<Entry>,
}

struct Entry {
    id: String,
    path: String,
    title: String,
    text: String,
    published: String,
    /// When the event was reverted, accepted, or open again; else as `published`.
    updated: String,
}

/// The newest first. Of each week the worst events, and a last entry that counts its others.
fn entries(catalog: &Catalog<'_>) -> Vec<Entry> {
    // An event that may be chance comes and goes with every run.
    let mut weeks: BTreeMap<NaiveDate, Vec<&Event>> = BTreeMap::new();
    for event in catalog.trend.events.iter().filter(|one| one.sure) {
        weeks.entry(monday(event.since)).or_default().push(event);
    }
    let of_week = |(monday, mut events): (NaiveDate, Vec<&Event>)| {
        let others = events.split_off(events.len().min(catalog.trend.most_events()));
        events.sort_by(|a, b| b.since.cmp(&a.since).then_with(|| a.id.cmp(&b.id)));
        let entries: Vec<Entry> = events.into_iter().map(|one| entry(catalog, one)).collect();
        entries.into_iter().chain(others_of_week(catalog, monday, &others))
    };
    weeks.into_iter().rev().flat_map(of_week).take(MOST).collect()
}

fn others_of_week(catalog: &Catalog<'_>, monday: NaiveDate, events: &[&Event]) -> Option<Entry> {
    let newest = date::rfc3339(events.iter().map(|one| one.since).max()?);
    let others = counted(events.len(), "more event", "more events");
    Some(Entry {
        id: id(catalog, &link::week(monday)),
        path: link::EVENT_LIST.to_owned(),
        title: format!("{others} in the week of {}", date::calendar_day(monday)),
        text: "The list of all events has them.".to_owned(),
        published: newest.clone(),
        updated: newest,
    })
}

/// The same wherever the site is published, so that no reader sees an entry twice.
fn id(catalog: &Catalog<'_>, path: &str) -> String {
    let project = sha256_hex(catalog.analysis.project.as_bytes());
    format!("{AUTHORITY}:{}/{path}", &project[..12])
}

fn entry(catalog: &Catalog<'_>, of: &Event) -> Entry {
    let path = link::event(&of.id);
    let mut sentences = vec![trend_event::range(of)];
    sentences.extend(trend_event::likely(of).map(|(label, words)| Phrase::plain(label).then(words)));
    sentences.extend([trend_event::chance(of), trend_event::state(of)]);
    sentences.extend(of.answer.as_ref().map(|answer| Phrase::plain("Ledger:").then(reasons::acceptance(answer))));
    let begun = sentences.into_iter().map(Phrase::begun);
    // The first begins with the name of a machine, which stays as it is.
    let sentences: Vec<String> = std::iter::once(trend_event::place(of)).chain(begun).map(|one| one.words()).collect();
    let updated = match &of.state {
        EventState::Reverted { by } => catalog.event(by).map(|one| one.since),
        EventState::Present => of.answer.as_ref().and_then(in_effect_since),
    };
    Entry {
        id: id(catalog, &path),
        title: trend_event::sentence(of).words(),
        text: sentences.join(". ") + ".",
        published: date::rfc3339(of.since),
        updated: date::rfc3339(updated.map_or(of.since, |time| time.max(of.since))),
        path,
    }
}

/// Since when the ledger has this answer.
fn in_effect_since(answer: &Answer) -> Option<DateTime<Utc>> {
    let day = match answer.kind {
        AnswerKind::Accepted | AnswerKind::Exceeded | AnswerKind::BeyondScope => answer.date,
        AnswerKind::Expired => answer.expires.succ_opt()?,
        AnswerKind::NotYet => return None,
    };
    Some(day.and_time(NaiveTime::MIN).and_utc())
}

/// Its links are relative where the site has no URL.
pub(crate) fn atom(catalog: &Catalog<'_>, root: Option<&str>) -> Result<Page, ReportError> {
    let entries = entries(catalog);
    // A new measurement alone is not news.
    let newest = entries.iter().map(|one| &one.updated).max().cloned();
    let feed = AtomFeed {
        id: id(catalog, link::ATOM_FEED),
        title: format!("Events of {}", catalog.analysis.project),
        updated: newest.unwrap_or_else(|| date::rfc3339(catalog.analysis.as_of.unwrap_or_default())),
        project: &catalog.analysis.project,
        version: env!("CARGO_PKG_VERSION"),
        root,
        entries,
    };
    page(link::ATOM_FEED.to_owned(), &feed)
}

/// Without a URL the feed has no links, because they must be absolute.
pub(crate) fn json(catalog: &Catalog<'_>, root: Option<&str>) -> Page {
    let item = |one: &Entry| {
        let mut item = json!({
            "id": one.id,
            "title": visible(&one.title),
            "content_text": visible(&one.text),
            "date_published": one.published,
            "date_modified": one.updated,
        });
        if let Some(root) = root {
            item["url"] = json!(format!("{root}{}", one.path));
        }
        item
    };
    let mut feed = json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": visible(&format!("Events of {}", catalog.analysis.project)),
        "language": "en",
        "authors": [{ "name": visible(&catalog.analysis.project) }],
        "items": entries(catalog).iter().map(item).collect::<Vec<Value>>(),
    });
    if let Some(root) = root {
        feed["home_page_url"] = json!(format!("{root}{}", link::EVENT_LIST));
        feed["feed_url"] = json!(format!("{root}{}", link::JSON_FEED));
    }
    Page { path: link::JSON_FEED.to_owned(), bytes: format!("{feed:#}\n").into_bytes() }
}

/// The most pages of a sitemap.
const MOST_PAGES: usize = 50_000;

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

const MESSAGE: usize = 60;

pub(crate) fn badge(catalog: &Catalog<'_>) -> Page {
    let headline = summary::summarise(catalog.analysis, catalog.trend).headline;
    let open: Vec<String> = trend_summary::open(catalog.trend).map(|mark| mark.word).collect();
    let (message, color) =
        if open.is_empty() { (headline.words(), color(&headline)) } else { (open.join(", "), "red") };
    let badge: Value = json!({
        "schemaVersion": 1,
        "label": "sprag",
        "message": visible(&shortened(&message, MESSAGE)),
        "color": color,
    });
    Page { path: link::BADGE.to_owned(), bytes: format!("{badge:#}\n").into_bytes() }
}

/// The characters of a line of the card, and its lines.
const CARD_LINE: usize = 40;
const CARD_LINES: usize = 5;

/// The verdict as a picture of 1200 x 630 pixels.
pub(crate) fn card(catalog: &Catalog<'_>) -> Page {
    let headline = summary::summarise(catalog.analysis, catalog.trend).headline;
    let colour = match color(&headline) {
        "red" => "#ab330e",
        "brightgreen" => "#0b6a57",
        _ => "#7d5600",
    };
    let mut lines = vec![String::new()];
    for word in headline.words().split(' ') {
        let last = lines.len() - 1;
        if lines[last].is_empty() || lines[last].chars().count() + word.chars().count() < CARD_LINE {
            lines[last] += &format!("{word} ");
        } else {
            lines.push(format!("{word} "));
        }
    }
    let day = catalog.analysis.as_of.map_or(String::new(), |time| format!("As of {}", date::day(time)));
    let text = |(x, y, size): (u32, u32, u32), colour: &str, words: &str| {
        let words = xml(&shortened(words.trim(), 2 * CARD_LINE));
        format!("<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\">{words}</text>\n")
    };
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1200 630\" width=\"1200\" height=\"630\" font-family=\"sans-serif\">\n",
    );
    svg += "<rect width=\"1200\" height=\"630\" fill=\"#fdfdfb\"/>\n";
    svg += &format!("<rect x=\"80\" y=\"150\" width=\"1040\" height=\"4\" fill=\"{colour}\"/>\n");
    svg += &text((80, 115, 40), "#1a1c1f", &catalog.analysis.project);
    for (line, y) in lines.iter().take(CARD_LINES).zip((240..).step_by(68)) {
        svg += &text((80, y, 50), colour, line);
    }
    svg += &text((80, 580, 32), "#4d5157", &day);
    Page { path: link::CARD.to_owned(), bytes: (svg + "</svg>\n").into_bytes() }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data::{self, HOSTILE, Sample};
    use crate::site_checks::{check_xml, page, text};
    use crate::{Settings, SiteInput, pages};

    const URL: &str = "https://example.org/kernels";

    /// What an XML 1.0 document may not hold, what ends it early, and what reorders it.
    const FORBIDDEN: &str = "\u{0}\u{1}\u{8}\u{b}\u{c}\u{1b}\u{fffe}\u{ffff}]]>--><!-- \u{202e}\u{85}";

    fn feeds(sample: &Sample, url: Option<&str>) -> Vec<Page> {
        let catalog = sample.catalog();
        let root = link::root(url).expect("the URL is one");
        vec![atom(&catalog, root.as_deref()).expect("it renders"), json(&catalog, root.as_deref()), badge(&catalog)]
    }

    fn read_json(site: &[Page], path: &str) -> Value {
        serde_json::from_str(page(site, path)).expect("it is JSON")
    }

    fn elements<'a>(xml: &'a str, name: &str) -> Vec<&'a str> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let rests = xml.split(open.as_str()).skip(1);
        rests.filter_map(|rest| rest.split_once(close.as_str())).map(|(text, _)| text).collect()
    }

    #[test]
    fn an_entry_says_what_its_page_says() {
        let sample = sample_data::rich();
        let site = feeds(&sample, None);
        let catalog = sample.catalog();
        let feed = read_json(&site, link::JSON_FEED);
        let items = feed["items"].as_array().expect("it has items");
        let sure: Vec<_> = sample.trend.events.iter().filter(|one| one.sure).collect();
        assert_eq!(items.len(), sure.len(), "what may be chance is no news");
        for event in sure {
            let title = visible(&trend_event::sentence(event).words()).into_owned();
            let escaped = title.replace('<', "&#60;").replace('>', "&#62;");
            let item = items.iter().find(|item| item["title"] == *title).expect("an item has its sentence");
            assert_eq!(item["date_published"], event.since.format("%Y-%m-%dT%H:%M:%SZ").to_string());
            let words = item["content_text"].as_str().expect("it is a text");
            assert!(words.starts_with(&*visible(&trend_event::place(event).words())), "{words}");
            assert!(words.contains("is a false alarm. "), "{words}");
            assert!(elements(page(&site, link::ATOM_FEED), "title").contains(&&*escaped), "{title}");
            let own = pages::event(&catalog, event).expect("it renders");
            assert!(text(&own).contains(&format!("content=\"{escaped}\"")), "{title}");
        }
        let since: Vec<&str> = items.iter().filter_map(|item| item["date_published"].as_str()).collect();
        assert!(since.is_sorted_by(|a, b| a >= b), "the newest come first: {since:?}");
        let gone = items.iter().find(|item| item["id"].as_str().is_some_and(|id| id.ends_with("e-66b0f2.html")));
        let gone = gone.expect("what was reverted was news");
        assert!(gone["date_modified"].as_str() > gone["date_published"].as_str());
    }

    #[test]
    fn a_feed_has_the_worst_events_of_a_week_and_counts_the_others() {
        let mut sample = sample_data::rich();
        let worst = sample.trend.events[0].clone();
        let alike = |place: usize| Event { id: format!("e-{place:06}"), ..worst.clone() };
        sample.trend.events = (0..5).map(alike).collect();
        for (most, entries) in [(0, 5), (2, 3), (4, 5), (5, 5)] {
            sample.trend.most = most;
            let site = feeds(&sample, Some(URL));
            let feed = read_json(&site, link::JSON_FEED);
            let items = feed["items"].as_array().expect("it has items");
            assert_eq!((items.len(), elements(page(&site, link::ATOM_FEED), "entry").len()), (entries, entries));
            assert!(items[0]["id"].as_str().is_some_and(|id| id.ends_with("e-000000.html")));
            let last = items[entries - 1]["title"].as_str().expect("it has a title");
            let others = [(2, "3 more events in the week of "), (4, "1 more event in the week of ")];
            let expected = others.iter().find(|one| one.0 == most).map(|one| one.1);
            assert_eq!(expected.is_some_and(|words| last.starts_with(words)), expected.is_some(), "{last}");
        }
    }

    #[test]
    fn ids_are_stable_and_urls_absolute_where_the_site_has_one() {
        let mut sample = sample_data::rich();
        let ids = |sample: &Sample, url: Option<&str>| -> Vec<String> {
            let site = feeds(sample, url);
            check_xml(link::ATOM_FEED, page(&site, link::ATOM_FEED));
            let feed = read_json(&site, link::JSON_FEED);
            let items = feed["items"].as_array().expect("it has items");
            let ids: Vec<String> = items.iter().filter_map(|item| item["id"].as_str()).map(str::to_owned).collect();
            assert_eq!(elements(page(&site, link::ATOM_FEED), "id")[1..], ids, "both feeds have the same ids");
            ids
        };
        let (own, absolute) = (ids(&sample, None), ids(&sample, Some(URL)));
        assert!(own.iter().all(|id| id.starts_with("tag:sprag.invalid,2026:") && id.ends_with(".html")), "{own:?}");
        assert_eq!(absolute, own, "a site that moves keeps the ids");
        // An event that grows keeps its id.
        let event = &mut sample.trend.events[0];
        (event.state, event.worst) = (EventState::Reverted { by: "e-d1470b".to_owned() }, Some(0.5));
        event.members.truncate(1);
        assert_eq!((ids(&sample, None), ids(&sample, Some(URL))), (own, absolute));
        for url in [None, Some(URL)] {
            let site = feeds(&sample, url);
            let feed = read_json(&site, link::JSON_FEED);
            let at = |path: &str| url.map_or(Value::Null, |url| json!(format!("{url}/{path}")));
            assert_eq!(
                (&feed["feed_url"], &feed["home_page_url"]),
                (&at("events/feed.json"), &at("events/index.html"))
            );
            assert_eq!(feed["items"][0]["url"].is_string(), url.is_some());
            let atom = page(&site, link::ATOM_FEED);
            assert_eq!(atom.contains("rel=\"self\" type=\"application/atom+xml\" href=\"https://"), url.is_some());
            assert!(atom.contains("<link rel=\"self\""));
            assert_eq!(atom.contains("href=\"../events/e-7c1f03.html\""), url.is_none());
        }
    }

    #[test]
    fn hostile_names_do_no_harm_to_those_who_read_a_feed() {
        let mut sample = sample_data::rich();
        let hostile = || format!("{HOSTILE}{FORBIDDEN}");
        sample.analysis.project = hostile();
        for event in &mut sample.trend.events {
            event.machines[0].name = hostile();
            event.first_bad.tags = vec![hostile()];
            event.members[0].benchmark = format!("cpu/{}", hostile());
            event.suspects.iter_mut().for_each(|suspect| suspect.commit.subject = hostile());
        }
        for url in [None, Some(URL), Some("https://example.org/a&b'<c>\"")] {
            let site = feeds(&sample, url);
            let atom = page(&site, link::ATOM_FEED);
            check_xml(link::ATOM_FEED, atom);
            assert!(atom.contains("script&#62;") && !atom.contains("<script"));
            let text = page(&site, link::JSON_FEED);
            assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text}");
            let feed = read_json(&site, link::JSON_FEED);
            assert!(feed["title"].as_str().is_some_and(|title| title.contains("<script>")), "{}", feed["title"]);
            assert_eq!(read_json(&site, link::BADGE)["schemaVersion"], 1);
        }
    }

    #[test]
    fn the_badge_shows_open_regressions_and_else_the_newest_runs() {
        let mut sample = sample_data::rich();
        let badge = |sample: &Sample| {
            let badge = read_json(&feeds(sample, None), link::BADGE);
            ["label", "message", "color"].map(|key| badge[key].as_str().expect("it is a text").to_owned())
        };
        assert_eq!(badge(&sample), ["sprag", "2 open regressions", "red"]);
        sample.trend.events.retain(|one| !one.is_ongoing_regression());
        assert_eq!(badge(&sample)[1], "Regressed: 2 of 17 judged metrics got slower");
        for suite in &mut sample.analysis.suites {
            suite.comparisons.clear();
            suite.failures.clear();
            suite.counts = sprag_model::verdict::Counts::default();
        }
        assert_eq!(badge(&sample), ["sprag", "Not judged: 0 metrics have no verdict", "yellow"]);
    }

    #[test]
    fn the_list_of_pages_is_there_only_where_the_site_has_a_url() {
        let catalog = sample_data::rich();
        let catalog = catalog.catalog();
        let made = |url| {
            let input = SiteInput { url, ..catalog.input };
            sample_data::rendered(&input, &Settings::default()).expect("the sample renders")
        };
        assert!(!made(None).iter().any(|page| page.path == link::SITEMAP));
        let site = made(Some("https://example.org/a&b/"));
        let list = page(&site, link::SITEMAP);
        check_xml(link::SITEMAP, list);
        let pages = elements(list, "loc");
        let html = site.iter().filter(|page| page.path.ends_with(".html")).count();
        assert_eq!(pages.len(), html - 1 + catalog.selection.runs.len(), "all but the page for missing ones");
        assert!(pages.contains(&"https://example.org/a&amp;b/events/e-7c1f03.html"));
        assert!(pages.iter().all(|page| page.starts_with("https://example.org/a&amp;b/") && !page.contains("404")));
    }
}
