//! Sites of crafted histories: no page says what another one, or its own next column, contradicts.

use super::sample_data::{self, Sample};
use super::site_checks::page;
use super::{Settings, link};
use sprag_model::{Counts, Direction, Effect, Member, Page, Verdict};

fn site(change: impl FnOnce(&mut Sample)) -> Vec<Page> {
    let mut sample = sample_data::rich();
    change(&mut sample);
    for suite in &mut sample.analysis.suites {
        suite.counts = Counts::from_comparisons(&suite.comparisons);
    }
    sample_data::rendered(&sample.catalog().input, &Settings::default()).expect("the sample renders")
}

/// The CPU suites alone, with nothing wrong in them, and no event.
fn calm(sample: &mut Sample, verdict: &Verdict, effect: Option<Effect>) {
    sample.trend.events.clear();
    sample.analysis.suites.retain(|suite| suite.suite == "cpu");
    for suite in &mut sample.analysis.suites {
        suite.failures.clear();
        for one in &mut suite.comparisons {
            (one.verdict, one.effect) = (verdict.clone(), effect);
        }
    }
    for one in sample.analysis.series.iter_mut().filter_map(|series| series.comparison.as_mut()) {
        (one.verdict, one.effect) = (verdict.clone(), effect);
    }
}

/// The rows of tables with these words, without line breaks within figures.
fn rows(html: &str, words: &str) -> Vec<String> {
    let rows = html.split("<tr").skip(1).map(|row| row.split("</tr>").next().unwrap_or_default());
    rows.map(|row| row.replace('\u{202f}', " ")).filter(|row| row.contains(words)).collect()
}

#[test]
fn no_change_is_good_news_only_where_a_small_change_would_show() {
    for (detectable, class, badge) in
        [(Some(0.02), "better", "brightgreen"), (Some(0.25), "doubt", "yellow"), (None, "doubt", "yellow")]
    {
        let effect = Effect { change: 0.001, interval: None, detectable };
        let site = site(|sample| calm(sample, &Verdict::Unchanged, Some(effect)));
        let digest = page(&site, link::DIGEST);
        assert!(
            digest.contains(&format!("<h1><span class=\"v {class}\"><i aria-hidden=\"true\">=</i>No change</span>"))
        );
        let size = detectable.map_or("unknown".to_owned(), crate::number::percent_size);
        assert!(digest.contains(&format!("the median minimum detectable effect is {size}</h1>")), "{detectable:?}");
        assert!(page(&site, link::BADGE).contains(badge), "{detectable:?}");
    }
}

#[test]
fn a_smaller_change_than_the_detectable_one_stays_without_it() {
    let effect = |change| Effect { change, interval: None, detectable: Some(0.25) };
    for (change, is_shown) in [(-0.134, false), (-0.4, true)] {
        let site = site(|sample| calm(sample, &Verdict::Improved, Some(effect(change))));
        let figure = crate::number::percent(change).replace('\u{202f}', " ");
        let series: Vec<&Page> = site.iter().filter(|page| page.path.starts_with("series/")).collect();
        let all: Vec<String> = series.iter().flat_map(|one| rows(page(&site, &one.path), &figure)).collect();
        assert!(all.len() > 10, "{} rows have {figure}", all.len());
        assert!(all.iter().any(|row| row.contains(">25.0 %<")) == is_shown, "{figure}: {}", all[0]);
    }
}

#[test]
fn a_week_without_an_event_claims_no_change() {
    let site = site(|sample| sample.trend.events.clear());
    let weeks = rows(page(&site, link::WEEK_LIST), "no event began or ended");
    let moved: Vec<&String> = weeks.iter().filter(|row| row.contains("class=\"n\">+")).collect();
    assert!(!moved.is_empty(), "{weeks:?}");
    assert!(moved.iter().all(|row| row.contains("<td class=\"nb\">no event</td>")), "{moved:?}");
    let mut one = rows(page(&site, "week/2026-11-09.html"), "<td class=\"n push\">+");
    one.retain(|row| row.contains("</a> cpu, "));
    assert!(!one.is_empty() && one.iter().all(|row| row.contains(">no event<")), "{one:?}");
}

#[test]
fn coverage_says_from_when_its_schedule_is_seen() {
    let site = site(|_| ());
    let coverage = page(&site, link::COVERAGE).replace('\u{202f}', " ");
    assert!(coverage.contains("No suite is overdue, seen from the newest run on "), "{coverage}");
    assert!(page(&site, link::COVERAGE).contains("data-newest="), "the script compares the same run with today");
}

#[test]
fn without_baselines_pages_open_with_events() {
    let site = site(|sample| {
        let events = std::mem::take(&mut sample.trend.events);
        calm(sample, &Verdict::NoBaseline, None);
        sample.trend.events = events;
    });
    let h1 = |path: &str| {
        let (_, rest) = page(&site, path).split_once("<h1>").expect("it has a title");
        rest.split("</h1>").next().unwrap_or_default().to_owned()
    };
    let digest = h1(link::DIGEST);
    assert!(digest.contains("2 open regressions") && !digest.contains("no verdict"), "{digest}");
    assert!(page(&site, link::DIGEST).contains(" trends examined</dd>"));
    assert!(page(&site, link::DIGEST).contains("the gate judges nothing"));
    assert!(page(&site, link::SERIES_LIST).contains("no suite has a baseline, so nothing is judged. "));
    for one in site.iter().filter(|page| page.path.starts_with("series/") && page.path != link::SERIES_LIST) {
        let title = h1(&one.path);
        assert!(!title.contains("baseline") && title.contains(": "), "{title}");
    }
    let drifts =
        site.iter().filter(|page| page.path.starts_with("series/")).filter(|one| h1(&one.path).contains("drift, "));
    assert!(drifts.count() > 0, "a drift is named as such");
}

#[test]
fn a_figure_that_two_pages_have_is_the_same() {
    let mut sizes = (1..).map(|size| f64::from(size) / 100.0);
    let site = site(|sample| {
        for one in sample.analysis.suites.iter_mut().flat_map(|suite| &mut suite.comparisons) {
            let detectable = sizes.next();
            one.effect = one.effect.map(|effect| Effect { detectable, ..effect });
        }
    });
    let digest = page(&site, link::DIGEST).replace('\u{202f}', " ");
    let after = |words: &str| digest.split_once(words).and_then(|(_, rest)| rest.split_once(" %")).expect("a size").0;
    let median = after("The median minimum detectable effect is ");
    assert_eq!(after("<dt>Minimum detectable effect</dt><dd>"), median);
    let judged = digest.split("<dd>").find_map(|one| one.split_once(" judged</dd>")).expect("it is a fact").0;
    let list = format!("The gate uses one metric a benchmark: {judged} judged.");
    assert!(page(&site, link::SERIES_LIST).replace('\u{202f}', " ").contains(&list), "{list}");
}

#[test]
fn a_change_both_ways_is_no_regression() {
    let site = site(|sample| {
        let better = sample.trend.events.iter().find(|one| one.id == "e-2ac860").expect("it is there").members.clone();
        let mixed = sample.trend.events.iter_mut().find(|one| one.id == "e-7c1f03").expect("it is there");
        mixed.members.extend(better.into_iter().map(|one| Member { suite: "other".to_owned(), ..one }));
        mixed.direction = Direction::Mixed;
    });
    for path in [link::DIGEST, link::EVENT_LIST] {
        let html = page(&site, path);
        assert!(html.contains("1 open regression") && html.contains(", 1 mixed change"), "{path}");
        assert!(html.contains("▲▼\u{a0}</i>mixed</span>"), "{path}");
    }
    let event = page(&site, &link::event("e-7c1f03"));
    assert!(event.contains("cpu and other on ") && event.contains(">other, epyc-9354<"), "it names its suites");
    assert!(event.contains(" --suite cpu --suite other\n"), "one command compares both");
    assert!(event.contains(" --suite cpu --measure ") && event.contains(" --suite other --measure "));
}

/// What is behind these words in pages of that kind, until the end of that element.
fn all<'a>(site: &'a [Page], kind: &str, words: &str, end: &str) -> Vec<&'a str> {
    let pages = site.iter().filter(|page| page.path.starts_with(kind) && page.path.ends_with(".html"));
    let parts = pages.flat_map(|one| page(site, &one.path).split(words).skip(1).collect::<Vec<&str>>());
    parts.filter_map(|rest| Some(rest.split_once(end)?.0)).collect()
}

#[test]
fn a_row_says_why_and_which_way_without_colour_or_another_table() {
    let site = site(|_| ());
    let unlisted = all(&site, "compare/", "<li><b>No change</b>", "</li>");
    assert!(!unlisted.is_empty() && unlisted.iter().all(|one| one.contains("minimum detectable effect ")));
    let waived = all(&site, "release/", ">waived</span>", "</td>");
    assert!(!waived.is_empty() && waived.iter().all(|row| row.contains("<span class=\"q why\">")), "{waived:?}");
    let changes = all(&site, "series/", "<td class=\"n push\"><span class=\"v ", "</td>");
    let newest = changes.iter().filter(|cell| ["▲", "▼", "◇", "↗", "↘"].iter().any(|one| cell.contains(one)));
    assert!(newest.count() > 3, "{changes:?}");
}
