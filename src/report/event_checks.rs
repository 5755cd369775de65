//! Checks of the pages of events, beyond those of all pages.

use super::fit::example;
use super::sample_data::{self, HOSTILE, Sample};
use super::site_checks::{check_balance, text};
use super::text::visible;
use super::trend::event as trend_event;
use super::{link, pages};
use sprag_model::{
    BisectEffect, BisectMeasurement, Bisection, Direction, Event, EventKind, FactChange, Member, NamedCommit,
    SkippedCommit, Suspect,
};

const LARGEST_PAGE: usize = 1 << 20;

fn list(sample: &Sample) -> String {
    let page = &pages::event_list(&sample.catalog()).expect("it renders")[0];
    check_balance(&page.path, text(page));
    text(page).to_owned()
}

fn event_html(sample: &Sample, event: &Event) -> String {
    let page = pages::event(&sample.catalog(), event).expect("it renders");
    check_balance(&page.path, text(&page));
    text(&page).to_owned()
}

fn holds(html: &str, parts: &[&str]) {
    for part in parts {
        assert!(html.contains(part), "`{part}` is not in {html}");
    }
}

fn html_of(id: &str) -> String {
    let sample = sample_data::rich();
    event_html(&sample, sample.trend.events.iter().find(|one| one.id == id).expect("it is in the sample"))
}

#[test]
fn where_there_is_no_event_sentences_say_so() {
    let mut sample = sample_data::rich();
    sample.trend.events.clear();
    sample.trend.newest.clear();
    let html = list(&sample);
    assert!(!html.contains("<table"), "an empty table is drawn");
    let sentences = ["No change of level is present.", "Every newest value is within the usual range of its series."];
    holds(&html, &sentences);
    for heading in ["Possible chance", "Reverted", "Environment", "Drifts", "Two modes"] {
        assert!(!html.contains(&format!(">{heading}</h2>")), "{heading} is empty, and drawn: {html}");
    }
    let digest = pages::digest(&sample.catalog()).expect("it renders");
    let none = "No event since 2\u{202f}Nov 2026 (four weeks) is still present.";
    holds(text(&digest), &["No event is present.", none]);
    assert_eq!(html.matches("class=\"banner").count(), 0);
    let due = &mut sample.trend.schedule[1];
    (due.days, due.stale) = (40, true);
    holds(&list(&sample), &["the newest run is 40 days old, 7 days are allowed."]);
}

#[test]
fn an_event_says_whether_it_is_the_machine() {
    let signs = "Yes</span></dd><dd>23 of 24 series on the machine moved together. 1 fact of the environment changed there.</dd>";
    let fact = "compiler</span></th><td class=\"from any\"><span class=\"id\">1.90</span></td><td class=\"any\"><span class=\"id\">1.91</span></td>";
    holds(&html_of("e-90e3aa"), &[signs, fact, "The first 12 of 23 series are drawn."]);
    holds(&html_of("e-7c1f03"), &["No sign of it</dd><dd>No fact of the environment changed there"]);
    let reverted = "Reverted by <a class=\"id\" href=\"../events/e-d1470b.html\">e-d1470b</a>";
    holds(&html_of("e-66b0f2"), &[reverted, "4 commits, 3 not measured"]);
}

#[test]
fn of_a_drift_the_ends_are_listed_and_both_sides_can_be_compared() {
    let sample = sample_data::rich();
    let event = sample.trend.events.iter().find(|one| one.id == "e-5b20d9").expect("it is in the sample");
    let html = event_html(&sample, event);
    let good = &event.last_good.as_ref().expect("it has one").sha;
    let link = link::compared(good, &event.first_bad.sha).replace('&', "&#38;");
    let measured = event.suspects[1..9].iter().filter(|one| one.measured).count();
    let rest =
        format!("8 more commits are between, {measured} measured. <a href=\"../{link}\">Compare both sides</a>.");
    holds(&html, &["No single commit is the cause", "ramp begins</span>", "ramp ends</span>", &rest]);
    assert!(!html.contains("Probability") && !html.contains("in the ramp"), "no single commit is the cause");
}

#[test]
fn the_title_of_an_event_is_a_sentence() {
    let mut sample = sample_data::rich();
    let mut mixed = sample.trend.events[0].clone();
    let better = sample.trend.events.iter().find(|one| one.id == "e-2ac860").expect("it is in the sample");
    mixed.members.extend(better.members.clone());
    mixed.direction = Direction::Mixed;
    sample.trend.events.push(mixed);
    let title = |one: &Event| format!("{}: {}", one.id, visible(&trend_event::sentence(one).words()));
    let titles: Vec<String> = sample.trend.events.iter().map(title).collect();
    insta::assert_snapshot!("titles_of_events", titles.join("\n"));
}

#[test]
fn both_sides_of_every_event_are_compared_one_click_away() {
    let sample = sample_data::rich();
    for event in &sample.trend.events {
        let html = event_html(&sample, event);
        assert_eq!(html.matches(">Compare both sides</a>").count(), 1, "{}", event.id);
        let commands = ["sprag compare ", "git log --patch ", "git show "];
        assert_eq!(commands.map(|one| html.contains(one))[0], event.last_good.is_some(), "{}", event.id);
        assert_eq!(commands[1..].iter().any(|one| html.contains(one)), event.last_good.is_some(), "{}", event.id);
    }
}

#[test]
fn a_drift_continues_in_as_many_series_as_it_does() {
    let sample = sample_data::rich();
    let suspect = |place: usize| Suspect { commit: example::commit(place), probability: 0.1, measured: true };
    let mut drift = Event {
        suspects: (3..60).map(suspect).collect(),
        last_good: Some(example::commit(2)),
        ..example::event(EventKind::Drift, 3)
    };
    let member =
        |is_present: bool, points_since: usize, like: &Member| Member { is_present, points_since, ..like.clone() };
    let over = member(true, 9, &drift.members[0]);
    for (members, begin, end) in [
        (vec![over.clone()], "; 57 commits", "ramp ends"),
        (vec![member(true, 0, &over)], "its newest point, and it goes on; 57 commits", "newest of the ramp"),
        (vec![over.clone(), member(true, 0, &over)], "and it goes on in 1 of 2 series; 57", "newest of the ramp"),
        (vec![over.clone(), member(false, 0, &over)], "; 57 commits", "ramp ends"),
    ] {
        drift.members = members;
        holds(&event_html(&sample, &drift), &[begin, end]);
    }
}

#[test]
fn only_present_regressions_can_be_accepted_and_small_pictures_share_one_scale() {
    let sample = sample_data::rich();
    for event in &sample.trend.events {
        let html = event_html(&sample, event);
        let entry = format!("[[accept]]\nevent = &#34;{}&#34;\nscope = &#34;event&#34;\nat_most = 0.", event.id);
        assert_eq!(html.contains(&entry), event.is_ongoing_regression(), "{}", event.id);
        assert_eq!(html.contains("\nreason = &#34;&#34;\n"), event.is_ongoing_regression(), "{}", event.id);
        let minis: Vec<&str> = html.split("<svg class=\"fill mini\"").skip(1).collect();
        assert_eq!(minis.len(), event.members.len().min(12), "{}", event.id);
        let grid = |svg: &str| {
            let before_dots = svg.split("class=\"dots\"").next()?;
            before_dots.split_once("class=\"suspect\"").map(|(_, rest)| rest.to_owned())
        };
        assert!(grid(minis[0]).is_some() && minis.iter().all(|svg| grid(svg) == grid(minis[0])), "{}", event.id);
        let rise = match event.id.as_str() {
            "e-7c1f03" => "rise worse",
            "e-2ac860" | "e-d1470b" => "rise better",
            "e-90e3aa" => "rise env",
            _ => "level",
        };
        assert!(minis.iter().all(|svg| svg.contains(&format!("class=\"{rise}\""))), "{}: {rise}", event.id);
    }
}

#[test]
fn an_event_without_its_series_and_commits_has_a_page() {
    let mut sample = sample_data::rich();
    let mut event = sample.trend.events[0].clone();
    sample.trend.series.clear();
    sample.line.commits.clear();
    sample.analysis.series.clear();
    let html = event_html(&sample, &event);
    assert!(html.contains("What moved: 2 series") && !html.contains("fill mini"));
    (event.last_good, event.next) = (None, None);
    event.members[0].relative = None;
    event.suspects.extend(event.suspects.clone());
    holds(&event_html(&sample, &event), &["No unmeasured commit is left"]);
    event.suspects.clear();
    event.members.clear();
    let html = event_html(&sample, &event);
    holds(&html, &["or a commit measured before it, there is nothing to compare", "What moved: 0 series"]);
    assert!(!html.contains("commit is left"));
}

#[test]
fn large_events_and_many_of_them_are_cut_and_say_so() {
    let mut sample = sample_data::rich();
    let mut event = sample.trend.events[4].clone();
    event.members = std::iter::repeat_n(event.members, 40).flatten().collect();
    event.suspects = std::iter::repeat_n(sample.trend.events[1].suspects.clone(), 90).flatten().collect();
    event.facts = std::iter::repeat_n(event.facts, 500).flatten().collect();
    let html = event_html(&sample, &event);
    assert!(html.len() < LARGEST_PAGE / 2, "{} bytes", html.len());
    let rests =
        ["898 more commits are between, ", "620 more are not listed here.", "440 more rows are not listed here."];
    holds(&html, &rests);
    let renamed = |number: usize, one: &Event| Event { id: format!("{}-{number}", one.id), ..one.clone() };
    let events = &sample.trend.events;
    let many = (0..300).flat_map(|number| events.iter().map(move |one| renamed(number, one))).collect();
    sample.trend.events = many;
    let all = sample.trend.events.len();
    let mut pages = pages::event_list(&sample.catalog()).expect("it renders");
    let data = pages.pop().expect("the last one is the file of all rows");
    let rows: usize = pages.iter().map(|page| text(page).matches(" data-verdict=").count()).sum();
    assert_eq!((rows, data.path.as_str()), (all, "data/list-events.js"));
    let sizes: Vec<usize> = pages.iter().map(|page| page.bytes.len()).collect();
    assert!(sizes.len() >= all.div_ceil(150) && sizes.iter().all(|size| *size < LARGEST_PAGE / 3), "{sizes:?}");
}

#[test]
fn hostile_names_do_nothing_on_the_page_of_an_event() {
    let sample = sample_data::rich();
    let mut event = sample.trend.events[0].clone();
    let hostile = NamedCommit { subject: HOSTILE.repeat(20), tags: vec![HOSTILE.to_owned()], ..NamedCommit::default() };
    event.first_bad = hostile.clone();
    event.last_good = Some(hostile.clone());
    event.suspects = vec![Suspect { commit: hostile, probability: f64::NAN, measured: true }; 3];
    event.machine_signs = vec![HOSTILE.to_owned()];
    event.facts = vec![FactChange { fact: HOSTILE.into(), was: HOSTILE.into(), is: HOSTILE.into() }];
    event.machines[0].name = HOSTILE.to_owned();
    event.members[0].benchmark = format!("cpu/{HOSTILE}");
    event.next.as_mut().expect("it has a next step").command.push(HOSTILE.to_owned());
    let html = event_html(&sample, &event);
    assert_eq!(html.matches("<script").count(), 1, "our own and no other");
    assert!(!html.contains('\u{202e}') && !html.contains("--filter"), "only what is safe to paste is there");
    holds(&html, &["No command to paste: its command holds a name that is not safe to paste", "sprag compare"]);
    holds(&html, &["No command to paste: it would hold a name that is not safe to paste."]);
}

#[test]
fn a_recorded_bisection_is_shown_with_its_culprit() {
    let sample = sample_data::rich();
    let mut event = sample.trend.events[0].clone();
    let [good, bad, side] =
        [&sample.line.commits[2].sha, &sample.line.commits[9].sha, &"5".repeat(40)].map(String::clone);
    let measurement = |commit: &String, level: f64, probability: f64| BisectMeasurement {
        commit: commit.clone(),
        pairs: 4,
        level,
        probability,
    };
    assert!(!event_html(&sample, &event).contains("Measurements of the bisection"));
    event.bisection = Some(Bisection {
        measurements: vec![
            measurement(&side, 1.02, 0.5),
            measurement(&good, 0.5, 0.97),
            measurement(&good, -0.1, 0.98),
        ],
        suspects: Vec::new(),
        culprits: vec![side],
        probability: 0.98,
        effects: vec![BisectEffect { benchmark: HOSTILE.to_owned(), change: 0.08, interval: (0.075, 0.084) }],
        skipped: vec![SkippedCommit { commit: bad.clone(), reason: format!("it cannot be built: {HOSTILE}") }],
        good,
        bad,
    });
    let html = event_html(&sample, &event);
    let parts = [
        "the culprit is ", "5555555", "+8.0", "as the bad end", "neither", "as the good end", "1.02",
        "it cannot be built", "98 %",
    ];
    holds(&html, &parts);
}
