//! Checks of what pages say in a few words: titles, empty cells, names in sentences, and where there is little to tell.

use super::Settings;
use super::catalog::Catalog;
use super::link;
use super::pages;
use super::sample_data::{self, Sample};
use super::site_checks::{page, text};
use sprag_model::page::Page;
use sprag_model::release::Released;
use sprag_model::run::RecordedRun;

fn site(sample: &Sample, settings: &Settings) -> Vec<Page> {
    let heads = sample.heads();
    sample_data::rendered(&sample.input(&heads), settings).expect("the sample renders")
}

fn texts(site: &[Page]) -> impl Iterator<Item = (&str, &str)> {
    site.iter().filter(|page| page.path.ends_with(".html")).map(|page| (&*page.path, text(page)))
}

#[test]
fn the_title_of_a_series_names_its_suite() {
    let site = site(&sample_data::rich(), &Settings::default());
    for (path, html) in texts(&site).filter(|(path, _)| path.starts_with("series/") && *path != link::SERIES_LIST) {
        let title =
            html.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).expect("it has a title");
        assert!(title.0.contains(" of cpu on ") || title.0.contains(" of gpu on "), "{path}: {}", title.0);
        assert!(!html.contains("<td class=\"ci\"></td>"), "{path} has an empty interval");
    }
    let digest = page(&site, link::DIGEST);
    assert!(!digest.contains("\"ci\"></td>") && digest.contains("\"ci\">–</td>"));
}

#[test]
fn names_in_reasons_are_names_and_bear_no_backticks() {
    let mut sample = sample_data::rich();
    let comparison = &mut sample.analysis.suites[0].comparisons[0];
    comparison.note = Some("taking turns tells: `sprag compare A B --measure`".to_owned());
    let site = site(&sample, &Settings::default());
    let digest = page(&site, link::DIGEST);
    assert!(digest.contains("<span class=\"q why\">there is no <span class=\"id\">baselines/"), "{digest}");
    assert!(digest.contains("taking turns tells: <span class=\"id\">sprag compare A B --measure</span>"));
    assert!(!digest.contains("`sprag") && !digest.contains("`baselines"));
}

#[test]
fn how_checks_ran_is_a_column_only_where_one_has_something_to_say() {
    let sample = sample_data::rich();
    let heads = sample.heads();
    let catalog = Catalog::new(&sample.input(&heads));
    let html = |recorded: &RecordedRun| text(&pages::run(&catalog, recorded).expect("it renders")).to_owned();
    let checked = |one: &&RecordedRun| html(one).contains("Checked against the reference</h2>");
    let mut recorded = sample.runs.iter().find(checked).expect("one is checked").clone();
    for measurement in &mut recorded.run.measurements {
        measurement.attributes.clear();
    }
    if html(&recorded).contains("Checked against the reference</h2>") {
        assert!(!html(&recorded).contains("How it ran"));
    }
    let one = recorded.run.measurements.iter_mut().find(|one| one.failed().is_none()).expect("one worked");
    one.attributes.insert("tile".to_owned(), "16".to_owned());
    assert!(html(&recorded).contains("How it ran") && html(&recorded).contains("<td>tile=16</td>"));
    assert!(!html(&recorded).contains("<td></td>"));
}

#[test]
fn feeds_and_files_have_links_that_readers_see() {
    let downloads = vec![("data/a.csv".to_owned(), "CSV."), ("data/b.parquet".to_owned(), "Parquet.")];
    let site = site(&sample_data::rich(), &Settings { downloads, ..Settings::default() });
    assert!(page(&site, link::EVENT_LIST).contains("Feeds: <a href=\"../events/feed.atom\">Atom</a>, <a href"));
    assert!(page(&site, link::DIGEST).contains("Feeds: <a href=\"events/feed.atom\">Atom</a>, <a href"));
    let all = "All values, for other programs: <a href=\"../data/a.csv\">a.csv</a>, <a href=\"../data/b.parquet\">b.parquet</a>.";
    assert!(page(&site, link::SERIES_LIST).contains(all));
    let with_feeds = texts(&site).filter(|(_, html)| html.contains("Feeds: ")).count();
    assert_eq!(with_feeds, 2, "no other page bears them");
}

#[test]
fn a_release_that_names_none_before_it_tells_of_the_tag_before() {
    let mut sample = sample_data::rich();
    let newest = sample.releases.newest.last_mut().expect("it has releases");
    let name = newest.name.clone();
    let filled = newest.checklist.as_mut().expect("it holds together");
    filled.previous = None;
    filled.commit.clone_from(&sample.line.commits[10].sha);
    for commit in &mut sample.line.commits[..10] {
        commit.tags.clear();
    }
    let result = |sample: &Sample| page(&site(sample, &Settings::default()), &link::release(&name)).to_owned();
    assert!(result(&sample).contains("It names no previous release. "));
    sample.line.commits[7].tags = vec!["v0.3.0".to_owned()];
    assert!(result(&sample).contains("the newest tag before its commit is <span class=\"id\">v0.3.0</span>. "));
}

#[test]
fn without_a_release_the_page_of_releases_says_how_to_have_one() {
    let mut sample = sample_data::rich();
    sample.releases = Released::default();
    let site = site(&sample, &Settings::default());
    let html = page(&site, link::RELEASE_LIST);
    assert!(html.contains("No release is listed") && html.contains("release/releases.toml"), "{html}");
    assert!(!page(&site, link::DIGEST).contains("releases/index.html"), "the navigation leads to none");
}

#[test]
fn a_suite_that_ran_once_has_no_run_before() {
    let mut sample = sample_data::rich();
    sample.analysis.suites[0].environment_changes = None;
    sample.analysis.suites[1].environment_changes = Some(Vec::new());
    let site = site(&sample, &Settings::default());
    let digest = page(&site, link::DIGEST);
    assert!(digest.contains("<td>no run came before</td>"), "{digest}");
    assert!(digest.contains("<td>no relevant difference</td>"));
}

#[test]
fn a_state_without_a_word_is_a_glyph_in_markdown() {
    let site = site(&sample_data::rich(), &Settings::default());
    for week in site.iter().filter(|page| page.path.starts_with("week/") && page.path.ends_with(".md")) {
        let doubled = text(week).lines().find(|line| line.trim_start().contains("  "));
        assert_eq!(doubled, None, "{}", week.path);
    }
}
