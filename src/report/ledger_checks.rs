//! Checks of what pages and reports say of accepted regressions: they keep their figures.

use chrono::NaiveDate;

use super::gate::{self, example};
use super::link;
use super::mark::Mark;
use super::sample_data::{self, HOSTILE, Sample};
use super::trend;
use crate::number::NARROW;
use sprag_model::{Answer, AnswerKind, Comparison, Counts, Gate, Outcome, Page, Verdict};

fn day(text: &str) -> NaiveDate {
    text.parse().expect("it is a day")
}

fn answer(kind: AnswerKind, reason: &str) -> Answer {
    Answer {
        kind,
        event: "e-7c1f03".to_owned(),
        at_most: 0.12,
        reason: reason.to_owned(),
        author: "Ada".to_owned(),
        date: day("2026-11-20"),
        expires: day("2026-12-31"),
        entry: "ledger/2026.toml:3".to_owned(),
    }
}

/// The sample, in which the worst open regression has that answer.
fn with(kind: AnswerKind, reason: &str) -> Sample {
    let mut sample = sample_data::rich();
    sample.trend.events[0].answer = Some(answer(kind, reason));
    sample
}

fn text(site: &[Page], path: &str) -> String {
    let page = site.iter().find(|page| page.path == path).unwrap_or_else(|| panic!("there is no {path}"));
    String::from_utf8(page.bytes.clone()).expect("it is text").replace(NARROW, " ")
}

#[test]
fn an_accepted_event_keeps_its_figures_and_is_no_open_regression() {
    let accepted = with(AnswerKind::Accepted, "It saves memory.");
    let site = accepted.render().expect("it renders");
    let page = text(&site, &link::event("e-7c1f03"));
    for words in ["accepted</span> until 31 Dec 2026", "accepted</span> by Ada until 31 Dec 2026"] {
        assert!(page.contains(words), "{page}");
    }
    assert!(page.contains("“It saves memory.” (<span class=\"id\">ledger/2026.toml:3</span>)"));
    assert!(!page.contains("[[accept]]"), "it is accepted already");
    let list = text(&site, link::EVENT_LIST);
    let (open, _) = list.split_once("1 accepted regression").expect("it is counted apart");
    assert!(open.contains("1 open regression"), "{list}");
    let figure = trend::table(&accepted.trend, false, None);
    for part in [
        "◆ e-7c1f03",
        "state     still present; ◆ accepted until 31 Dec 2026",
        "ledger    ◆ accepted by Ada until 31 Dec 2026. “It saves memory.”",
    ] {
        assert!(figure.contains(part), "{part}: {figure}");
    }
    let open = with(AnswerKind::Expired, "It saves memory.");
    let then = trend::table(&open.trend, false, None);
    let change = |table: &str| table.lines().find(|line| line.contains("e-7c1f03")).map(|line| line[6..].to_owned());
    assert_eq!(change(&figure), change(&then), "the figures are the same");
    assert!(then.contains("● open again: the acceptance by Ada expired on 31 Dec 2026"), "{then}");
    assert!(trend::digest(&open.trend).contains("▲ 2 open regressions"));
    assert!(trend::digest(&accepted.trend).contains("▲ 1 open regression, 1 accepted regression"));
    let json: serde_json::Value = serde_json::from_slice(&trend::json(&accepted.trend)).expect("it is JSON");
    assert_eq!(json["events"][0]["answer"]["standing"], "accepted");
    let open_site = open.render().expect("it renders");
    assert!(text(&site, link::BADGE).contains("1 open regression"));
    assert!(text(&open_site, link::BADGE).contains("2 open regressions"));
    let entry = |site: &[Page]| {
        let feed = text(site, link::ATOM_FEED);
        let entry = feed.split("<entry>").find(|entry| entry.contains("/e-7c1f03.html</id>")).map(str::to_owned);
        entry.expect("it has an entry")
    };
    let words =
        "Still present; accepted until 31 Dec 2026. Ledger: accepted by Ada until 31 Dec 2026. “It saves memory.”";
    assert!(entry(&site).contains(words) && entry(&site).contains("<updated>2026-11-20T00:00:00Z</updated>"));
    assert!(entry(&open_site).contains("<updated>2027-01-01T00:00:00Z</updated>"), "{}", entry(&open_site));
}

#[test]
fn a_hostile_reason_does_nothing_anywhere() {
    let sample = with(AnswerKind::Accepted, HOSTILE);
    for page in sample.render().expect("it renders").iter().filter(|page| page.path.ends_with(".html")) {
        let html = String::from_utf8_lossy(&page.bytes);
        assert!(!html.contains("</td><script") && !html.contains('\u{202e}'), "{}", page.path);
    }
    let markdown = trend::markdown(&sample.trend, true);
    assert!(!markdown.contains("<script"));
    for text in [trend::table(&sample.trend, true, None), markdown, trend::digest(&sample.trend)] {
        assert!(text.contains("accepted") && !text.contains('\u{202e}'));
    }
    let gate = accepting(Some(answer(AnswerKind::Accepted, example::HOSTILE)));
    let github = gate::gate_commands(&gate);
    assert_eq!(github.lines().count(), 1, "{github}");
    for text in [github, gate::gate_markdown(&gate, false), gate::gate_junit(&gate)] {
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}') && !text.contains("\n::error::gone"), "{text}");
    }
    assert!(!gate::gate_markdown(&gate, false).contains("<script") && !gate::gate_junit(&gate).contains("<script"));
    serde_json::from_str::<serde_json::Value>(&gate::gate_sarif(&gate)).expect("it is JSON");
}

/// A gate with one regression, to which the ledger says that.
fn accepting(answer: Option<Answer>) -> Gate {
    let mut gate = example::passing();
    let regressed = example::comparison("cpu/a @fast", 1.081, Verdict::Regressed);
    gate.suites[0].comparisons = vec![Comparison { answer: answer.map(Box::new), ..regressed }];
    let passes = gate.counts().failing() == 0;
    Gate { outcome: if passes { Outcome::Pass } else { Outcome::Fail }, ..gate }
}

#[test]
fn every_report_of_a_gate_shows_the_figure_and_that_it_is_accepted() {
    let gate = accepting(Some(answer(AnswerKind::Accepted, "It saves memory.")));
    assert_eq!(gate.counts(), Counts { accepted: 1, ..Counts::default() });
    assert_eq!((gate.counts().judged(), gate.counts().words()), (1, "1 accepted".to_owned()));
    let words = "accepted by Ada until 2026-12-31 (ledger/2026.toml:3: It saves memory.)";
    let markdown = gate::gate_markdown(&gate, false).replace(NARROW, " ");
    for part in ["### ✓ sprag check: pass; 1 accepted", "**▲ slower**, ◆ accepted; accepted by Ada", "+8.1 %"] {
        assert!(markdown.contains(part), "{markdown}");
    }
    let junit = gate::gate_junit(&gate);
    assert!(junit.contains("failures=\"0\"") && junit.contains("<skipped type=\"accepted\"") && junit.contains(words));
    let sarif: serde_json::Value = serde_json::from_str(&gate::gate_sarif(&gate)).expect("it is JSON");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"accepted".into(), &"note".into()));
    let github = gate::gate_commands(&gate);
    let notice = "::notice title=sprag%3A accepted%3A cpu/a @fast time::accepted by Ada until";
    assert!(github.starts_with(notice), "{github}");
    let json: serde_json::Value = serde_json::from_str(&gate::gate_json(&gate, false)).expect("it is JSON");
    let one = &json["suites"][0]["comparisons"][0];
    assert_eq!((&one["verdict"], &one["ledger"]["standing"]), (&"regressed".into(), &"accepted".into()));
    assert_eq!((&json["counts"]["accepted"], &json["counts"]["regressed"]), (&1.into(), &0.into()));
}

#[test]
fn what_is_not_accepted_fails_and_says_why() {
    for (state, words) in [
        (AnswerKind::Exceeded, "worse than Ada accepted until 2026-12-31"),
        (AnswerKind::Expired, "open again: the acceptance by Ada expired on 2026-12-31"),
        (AnswerKind::NotYet, "the acceptance by Ada holds from 2026-11-20 on"),
        (AnswerKind::BeyondScope, "beyond what Ada accepted until 2026-12-31"),
    ] {
        let gate = accepting(Some(answer(state, "It saves memory.")));
        assert_eq!((gate.counts().failing(), gate.outcome), (1, Outcome::Fail), "{words}");
        for report in [gate::gate_markdown(&gate, false), gate::gate_junit(&gate), gate::gate_commands(&gate)] {
            assert!(report.contains(words), "{words}: {report}");
        }
        assert!(!Mark::of_answer(&answer(state, "x")).word.is_empty());
    }
    // Nothing but a regression is accepted.
    let missing = example::comparison("cpu/a @fast", 1.0, Verdict::Missing);
    let missing = Comparison { answer: Some(Box::new(answer(AnswerKind::Accepted, "x"))), ..missing };
    assert!(!missing.is_accepted() && Counts::from_comparisons([&missing]).failing() == 1);
}
