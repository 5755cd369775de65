//! Sites of crafted histories: no page says what another one, or its own next column, contradicts.

use super::sample_data::{self, Sample};
use super::site_checks::page;
use super::{Settings, link};
use sprag_model::{Counts, Effect, Page, Verdict};

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
    assert!(moved.iter().all(|row| row.contains("<span class=\"q why\">no event</span>")), "{moved:?}");
    let mut one = rows(page(&site, "week/2026-11-09.html"), "<td class=\"n push\">+");
    one.retain(|row| row.contains("</a> cpu, "));
    assert!(!one.is_empty() && one.iter().all(|row| row.contains(">no event<")), "{one:?}");
}

#[test]
fn coverage_says_from_when_its_schedule_is_seen() {
    let site = site(|_| ());
    let coverage = page(&site, link::COVERAGE).replace('\u{202f}', " ");
    assert!(coverage.contains("No suite is overdue, seen from the newest run on "), "{coverage}");
    assert!(page(&site, link::COVERAGE).contains("id=\"stale\""), "the script compares the same run with today");
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
    for one in site.iter().filter(|page| page.path.starts_with("series/") && page.path != link::SERIES_LIST) {
        let title = h1(&one.path);
        assert!(!title.contains("baseline") && title.contains(": "), "{title}");
    }
    let drifts =
        site.iter().filter(|page| page.path.starts_with("series/")).filter(|one| h1(&one.path).contains("drift, "));
    assert!(drifts.count() > 0, "a drift is named as such");
}
