//! Checks of what programs read of the site: feeds, the badge, the list of pages.

use serde_json::Value;

use super::catalog::Catalog;
use super::sample_data::{self, HOSTILE, Sample};
use super::site_checks::{check_balance, page, text};
use super::{Settings, feed, link, pages};
use crate::trend::event as trend_event;
use sprag_model::event::EventState;
use sprag_model::page::Page;

const URL: &str = "https://example.org/kernels";

/// What an XML 1.0 document may not hold in any form, what ends it early, and what reorders it.
const FORBIDDEN: &str = "\u{0}\u{1}\u{8}\u{b}\u{c}\u{1b}\u{fffe}\u{ffff}]]>--><!-- \u{202e}\u{85}";

fn settings(url: Option<&str>) -> Settings {
    Settings { url: url.map(str::to_owned), ..Settings::default() }
}

fn feeds(sample: &Sample, url: Option<&str>) -> Vec<Page> {
    let heads = sample.heads();
    let catalog = Catalog::new(&sample.input(&heads));
    let root = link::root(&settings(url)).expect("the URL is one");
    vec![feed::atom(&catalog, root.as_deref()), feed::json(&catalog, root.as_deref()), feed::badge(&catalog)]
}

fn json(site: &[Page], path: &str) -> Value {
    serde_json::from_str(page(site, path)).expect("it is JSON")
}

/// The contents of an element, wherever it stands.
fn elements<'a>(xml: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    xml.split(&open as &str).skip(1).filter_map(|rest| rest.split_once(&close as &str)).map(|(text, _)| text).collect()
}

/// A well-formed document of characters that XML 1.0 allows.
pub(crate) fn check_xml(path: &str, document: &str) {
    let body = document.split_once("?>\n").map(|(_, body)| body).expect("it begins with a declaration");
    check_balance(path, body);
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    assert!(document.chars().all(is_allowed), "{path} holds a character that XML forbids");
    assert!(!document.contains("]]>") && !document.contains('\u{202e}'), "{path}");
}

fn hostile() -> Sample {
    let mut sample = sample_data::rich();
    sample.analysis.project = format!("{FORBIDDEN}{HOSTILE}");
    for event in &mut sample.trend.events {
        event.machines[0].name = format!("{HOSTILE}{FORBIDDEN}");
        event.first_bad.tags = vec![format!("{HOSTILE}{FORBIDDEN}")];
        event.members[0].benchmark = format!("cpu/{FORBIDDEN}{HOSTILE}");
        for suspect in &mut event.suspects {
            suspect.commit.subject = format!("{FORBIDDEN}{HOSTILE}");
        }
    }
    sample
}

#[test]
fn an_entry_says_what_its_page_says() {
    let sample = sample_data::rich();
    let site = feeds(&sample, None);
    let heads = sample.heads();
    let catalog = Catalog::new(&sample.input(&heads));
    let feed = json(&site, link::JSON_FEED);
    let items = feed["items"].as_array().expect("it has items");
    let sure: Vec<_> = sample.trend.events.iter().filter(|one| one.sure).collect();
    assert_eq!(items.len(), sure.len(), "what may be chance is no news");
    let atom = page(&site, link::ATOM_FEED);
    for event in sure {
        let title = trend_event::title(event).words();
        let item = items.iter().find(|item| item["title"] == title.as_str()).expect("an item has its sentence");
        assert_eq!(item["date_published"], event.since.format("%Y-%m-%dT%H:%M:%SZ").to_string());
        assert!(item["content_text"].as_str().is_some_and(|text| text.contains("is a false alarm. ")), "{item}");
        let place = trend_event::place(event).words();
        let place = super::text::visible(&place);
        assert!(item["content_text"].as_str().is_some_and(|text| text.starts_with(&*place)), "a name stays as it is");
        assert!(elements(atom, "title").contains(&title.as_str()), "{title}");
        let own = pages::event(&catalog, event).expect("it renders");
        assert!(text(&own).contains(&format!("content=\"{title}\"")), "{title}");
    }
    let since: Vec<&str> = items.iter().filter_map(|item| item["date_published"].as_str()).collect();
    assert!(since.is_sorted_by(|a, b| a >= b), "the newest come first: {since:?}");
    let gone = items.iter().find(|item| item["title"].as_str().is_some_and(|title| title.starts_with("e-66b0f2")));
    let gone = gone.expect("what was reverted was news");
    assert!(gone["date_modified"].as_str() > gone["date_published"].as_str());
}

#[test]
fn ids_are_stable_and_urls_absolute_where_the_site_has_one() {
    let mut sample = sample_data::rich();
    let ids = |sample: &Sample, url: Option<&str>| -> Vec<String> {
        let site = feeds(sample, url);
        check_xml(link::ATOM_FEED, page(&site, link::ATOM_FEED));
        let feed = json(&site, link::JSON_FEED);
        let items = feed["items"].as_array().expect("it has items");
        let ids: Vec<String> = items.iter().filter_map(|item| item["id"].as_str()).map(str::to_owned).collect();
        assert_eq!(elements(page(&site, link::ATOM_FEED), "id")[1..], ids, "both feeds have the same ids");
        ids
    };
    let own = ids(&sample, None);
    assert!(own.iter().all(|id| id.starts_with("tag:sprag.invalid,2026:") && id.ends_with(".html")), "{own:?}");
    let absolute = ids(&sample, Some(URL));
    assert!(absolute.iter().all(|id| id.starts_with("https://example.org/kernels/events/e-")), "{absolute:?}");
    // An event that grows keeps its id.
    let event = &mut sample.trend.events[0];
    (event.state, event.worst) = (EventState::TakenBack { by: "e-d1470b".to_owned() }, Some(0.5));
    event.members.truncate(1);
    assert_eq!((ids(&sample, None), ids(&sample, Some(URL))), (own, absolute));

    let (plain, published) = (feeds(&sample, None), feeds(&sample, Some(URL)));
    let urls = |site: &[Page]| {
        let feed = json(site, link::JSON_FEED);
        (feed["feed_url"].clone(), feed["home_page_url"].clone(), feed["items"][0]["url"].is_string())
    };
    assert_eq!(urls(&plain), (Value::Null, Value::Null, false));
    let at = |path: &str| Value::from(format!("{URL}/{path}"));
    assert_eq!(urls(&published), (at("events/feed.json"), at("events/index.html"), true));
    assert!(page(&published, link::ATOM_FEED).contains("rel=\"self\" type=\"application/atom+xml\" href=\"https://"));
    let relative = page(&plain, link::ATOM_FEED);
    assert!(relative.contains("href=\"../events/e-7c1f03.html\"") && !relative.contains("rel=\"self\""));
}

#[test]
fn hostile_names_do_no_harm_to_those_who_read_a_feed() {
    let sample = hostile();
    for url in [None, Some(URL), Some("https://example.org/a&b'<c>\"")] {
        let site = feeds(&sample, url);
        let atom = page(&site, link::ATOM_FEED);
        check_xml(link::ATOM_FEED, atom);
        assert!(atom.contains("&lt;script&gt;") && !atom.contains("<script"));
        let text = page(&site, link::JSON_FEED);
        assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text}");
        let feed = json(&site, link::JSON_FEED);
        assert!(feed["title"].as_str().is_some_and(|title| title.contains("<script>")), "{}", feed["title"]);
        assert_eq!(json(&site, link::BADGE)["schemaVersion"], 1);
    }
}

#[test]
fn the_badge_says_what_is_open_and_else_how_the_newest_runs_are() {
    let mut sample = sample_data::rich();
    let badge = |sample: &Sample| {
        let badge = json(&feeds(sample, None), link::BADGE);
        let word = |key: &str| badge[key].as_str().expect("it is a text").to_owned();
        (word("label"), word("message"), word("color"))
    };
    assert_eq!(badge(&sample), ("sprag".into(), "2 open regressions".into(), "red".into()));
    sample.trend.events.retain(|one| !one.is_ongoing_regression());
    assert_eq!(badge(&sample).1, "Regressed: 2 of 17 decided metrics got slower");
    for suite in &mut sample.analysis.suites {
        suite.comparisons.clear();
        suite.failures.clear();
        suite.counts = sprag_model::verdict::Counts::default();
    }
    assert_eq!(badge(&sample), ("sprag".into(), "Undecided: 0 metrics have no verdict".into(), "yellow".into()));
}

#[test]
fn the_list_of_pages_is_there_only_where_the_site_has_a_url() {
    let sample = sample_data::rich();
    let heads = sample.heads();
    let made = |url| sample_data::rendered(&sample.input(&heads), &settings(url)).expect("the sample renders");
    assert!(!made(None).iter().any(|page| page.path == link::SITEMAP));
    let site = made(Some("https://example.org/a&b/"));
    let list = page(&site, link::SITEMAP);
    check_xml(link::SITEMAP, list);
    let pages = elements(list, "loc");
    let html = site.iter().filter(|page| page.path.ends_with(".html")).count();
    let runs = super::Site::new(&sample.input(&heads)).shown_runs().len();
    assert_eq!(pages.len(), html - 1 + runs, "all but the page for missing ones, and those of runs");
    assert!(pages.contains(&"https://example.org/a&amp;b/events/e-7c1f03.html"));
    assert!(pages.iter().all(|page| page.starts_with("https://example.org/a&amp;b/") && !page.contains("404")));
}
