//! Checks of both texts of a trend.

use super::{digest, event as trend_event, example, markdown, overview, summary};
use crate::fit::example::{commit, event, member};
use crate::number::NARROW;
use sprag_model::{
    Event, EventKind, Level, Member, MoverRow, NamedCommit, NamedMachine, NextStep, Suspect, Trend, Unit,
};

fn table(trend: &Trend, all: bool) -> String {
    super::table(trend, all, None)
}

fn texts(trend: &Trend, all: bool) -> [String; 2] {
    [table(trend, all), markdown(trend, all)].map(|text| text.replace(NARROW, " "))
}

#[track_caller]
fn both_say(trend: &Trend, part: &str) {
    for text in texts(trend, true) {
        let flat = text.split_whitespace().collect::<Vec<&str>>().join(" ").replace('`', "");
        assert!(flat.contains(part), "`{part}` is not in {text}");
    }
}

#[test]
fn a_trend_reads_well() {
    insta::assert_snapshot!("a_trend_reads_well_on_a_terminal", table(&example::trend(), false));
    insta::assert_snapshot!("a_trend_reads_well_as_markdown", markdown(&example::trend(), false));
}

#[test]
fn what_is_in_doubt_is_listed_when_asked_for() {
    let [text, markdown] = texts(&example::trend(), false);
    let hidden = "1 event may be chance, 1 was reverted: --all lists them.";
    assert!(text.contains(hidden) && markdown.replace('`', "").contains(hidden), "{text}{markdown}");
    let chance = "may be chance: about 1 in 3 findings this strong is a false alarm";
    for text in texts(&example::trend(), true) {
        for part in ["? e-1f9be4 slower", chance, "= e-66b0f2 slower", "reverted by"] {
            assert!(text.contains(part) && !text.contains("--all"), "`{part}`: {text}");
        }
    }
    let mut trend = example::trend();
    trend.events.retain(|one| one.id == "e-66b0f2");
    assert!(table(&trend, false).contains("\n1 event was reverted: --all lists it.\n"));
    trend.events.push(trend.events[0].clone());
    assert!(table(&trend, false).contains("\n2 events were reverted: --all lists them.\n"));
    trend.events.iter_mut().for_each(|one| one.sure = false);
    assert!(table(&trend, false).contains("\n2 events may be chance: --all lists them.\n"));
    trend.events.clear();
    assert!(!table(&trend, false).contains("--all"));
}

#[test]
fn a_history_in_which_nothing_changed_is_short() {
    insta::assert_snapshot!(table(&example::quiet(), false));
    // A finding that may be chance is not a certain change.
    let mut trend = example::quiet();
    trend.events = vec![Event { sure: false, ..event(EventKind::Change, 1) }];
    assert!(table(&trend, false).starts_with("= no confirmed change; "));
}

#[test]
fn an_empty_history_says_what_to_do() {
    insta::assert_snapshot!(table(&example::empty(), false), @r"
    ○ Nothing is recorded yet.
    Measure and record: sprag run --record
    Or take over what other tools recorded: sprag import PATH --machine NAME
    ");
    insta::assert_snapshot!(markdown(&example::empty(), false), @r"
    ## ○ Nothing is recorded yet.

    - Measure and record: `sprag run --record`
    - Or take over what other tools recorded: `sprag import PATH --machine NAME`
    ");
    // Runs without a series.
    let trend = Trend { runs: 3, ..example::empty() };
    both_say(&trend, "○ Nothing to analyse: 3 runs without a series.");
    both_say(&trend, "sprag history log lists the runs.");
}

#[test]
fn words_agree_with_their_numbers() {
    let mut one = Trend { events: vec![event(EventKind::Change, 8)], ..example::quiet() };
    one.events[0].measured_series = 41;
    (one.coverage.judged, one.coverage.total, one.runs) = (1, 1, 1);
    one.budget.self_test.points = 1;
    one.newest = example::trend().newest;
    one.newest[0].runs = 1;
    (one.schedule[0].stale, one.schedule[0].days, one.schedule[0].allowed) = (true, 2, 1);
    let (machine, command) = (one.events[0].machines[0].clone(), vec!["sprag".to_owned()]);
    one.events[0].next = Some(NextStep { machine, commit: commit(7), runs: 1, left: 1.0, command, checkout: false });
    for part in [
        "▲ 1 open regression; 1 of 1 series is examined.",
        ", 1 run.",
        "the newest run is 2 days old, 1 day is allowed.",
        "1 of 41 series measured there moved",
        ": 1 run shows whether it is before or after the change, leaving 1 suspect",
        "Unconfirmed: the newest value of 1 series is outside its usual range",
        ": 1 more run decides.",
        "(2 in 1 point).",
    ] {
        both_say(&one, part);
    }
    let mut many = one.clone();
    many.events[0].members.push(member(8));
    many.events.push(many.events[0].clone());
    (many.coverage.judged, many.coverage.total) = (1, 2);
    let other = many.newest[0].series[0].clone();
    many.newest[0].series.push(other);
    for part in [
        "▲ 2 open regressions; 1 of 2 series are examined.",
        "; and 1 more series",
        "Unconfirmed: the newest values of 2 series are outside their usual range",
    ] {
        both_say(&many, part);
    }
}

#[test]
fn events_beyond_the_budget_are_counted() {
    let mut trend = example::quiet();
    trend.events = (0..4).map(|place| Event { id: format!("e-{place:06}"), ..event(EventKind::Change, 8) }).collect();
    let shown = |text: &str| (0..4).filter(|place| text.contains(&format!("e-{place:06}"))).count();
    for (most, count) in [(0, 4), (1, 1), (3, 3), (4, 4)] {
        trend.most = most;
        for text in [overview(&trend, false, None), markdown(&trend, false), digest(&trend)] {
            assert_eq!(shown(&text), count, "{text}");
            assert_eq!(text.contains("… and ") && text.contains(" more event"), count < 4, "{text}");
        }
        assert_eq!(shown(&table(&trend, false)), 4, "details are of all events");
    }
    trend.most = 3;
    assert!(markdown(&trend, false).contains("… and 1 more event: `sprag trend --details` shows it."));
    assert!(markdown(&trend, true).contains("… and 1 more event: `sprag trend --details --all` shows it."));
}

#[test]
fn movers_by_size_are_the_worst_of_each_unit_in_turn() {
    let mut trend = example::trend();
    let moved = [(Unit::Second, 1e-3, 2), (Unit::Second, 0.1, 1), (Unit::One, 1.2, 1), (Unit::Byte, 64.0, 3)];
    trend.tables.movers.truncate(moved.len());
    for ((row, (unit, before, rank)), change) in trend.tables.movers.iter_mut().zip(moved).zip([0.5, 0.25, 0.1, 0.0]) {
        (row.unit, row.rank_in_unit, row.before, row.now) = (unit, rank, before, before * (1.0 + change));
        (row.change, row.worse, row.difference) = (Some(change), Some(change), before * change);
    }
    for text in texts(&trend, false) {
        let (by_share, by_size) = text.split_once("Largest absolute changes").expect("it has such a table");
        let by_size = by_size.split("Geometric means").next().expect("there is a first part");
        let places = ["25.00 ms", "0.1200", "500.0 µs"].map(|of| by_size.find(of));
        assert!(places[0].is_some() && places.is_sorted(), "{by_size}");
        assert!(by_share.contains("64.00 B") && !by_size.contains("64.00 B"), "what did not move has no size");
    }
    // One unit in the same order is listed once, also where the last one did not move.
    let mut alike = example::trend();
    let row = alike.tables.movers[0].clone();
    alike.tables.movers = (1..4).map(|rank_in_unit| MoverRow { rank_in_unit, ..row.clone() }).collect();
    for difference in [1.0, 0.0] {
        alike.tables.movers[2].difference = difference;
        assert!(texts(&alike, false).iter().all(|text| !text.contains("Largest absolute")));
    }
}

#[test]
fn a_command_names_its_machine_where_there_are_several() {
    both_say(&example::trend(), " on epyc-9354: 2 runs show whether");
    let mut trend = example::trend();
    trend.events[0].machines.truncate(1);
    assert!(texts(&trend, false).iter().all(|text| !text.contains("on epyc-9354: 2 runs")));
    // A command that nobody should paste is none.
    trend.events[0].next.as_mut().expect("it has one").command.push("a\nrm -r x".to_owned());
    for text in texts(&trend, false) {
        assert!(text.contains("not safe to paste") && !text.contains("rm -r x"), "{text}");
    }
}

#[test]
fn a_budget_that_is_exceeded_is_warned_of() {
    let mut trend = example::quiet();
    trend.budget.self_test.exceeded = true;
    trend.budget.self_test.left_out = Some(120);
    both_say(&trend, "? over budget: treat events with care");
    both_say(&trend, "like that of this history, without 120 points of drifts and two modes, gives");
    trend.budget.self_test.rate = None;
    both_say(&trend, "This history has too little noise to test that.");
    trend.coverage.judged = 0;
    trend.coverage.reasons = example::trend().coverage.reasons[1..].to_vec();
    let stale = "the most common reason: the newest point is too old for the schedule.";
    both_say(&trend, &format!("? not enough data; 0 of 42 series are examined; {stale}"));
}

#[test]
fn hostile_names_do_no_harm() {
    for text in texts(&example::hostile(), true) {
        assert!(!text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text}");
        for line in text.lines() {
            assert!(!line.trim_start().starts_with("::") && !line.contains("##[error]"), "{line}");
        }
    }
    let text = markdown(&example::hostile(), true);
    let mut columns = 0;
    let mut is_fenced = false;
    for line in text.lines() {
        is_fenced ^= line.starts_with("```");
        assert!(is_fenced || !line.contains("<script"), "{line}");
        assert!(is_fenced || !line.contains("@someone") || line.contains("`"), "{line}");
        let bars = line.matches('|').count();
        if is_fenced || !line.starts_with('|') {
            columns = 0;
        } else if columns == 0 {
            columns = bars;
        } else {
            assert_eq!(bars, columns, "{line}");
        }
    }
    assert!(!is_fenced && text.contains(r#"'$(x)`y`"'\''|&;<script>::error::'"#), "{text}");
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
}

#[test]
fn a_text_that_is_too_long_says_what_it_leaves_out() {
    let mut trend = example::trend();
    let one = trend.events[0].clone();
    trend.events = vec![one; 200];
    let text = markdown(&trend, false);
    assert!(text.len() < 65_536 && text.contains("more sections are left out; the JSON report has everything."));
    assert!(text.contains("### False alarms"), "the tables are still there");
}

#[test]
fn a_drift_of_many_machines_has_the_range_of_its_changes() {
    let mut drift = event(EventKind::Drift, 8);
    let of_machine = |number: usize| NamedMachine { id: format!("{number}"), name: format!("m{number}") };
    drift.machines = (0..12).map(of_machine).collect();
    let sized = |number: usize| Member {
        relative: Some(Level { value: 0.12, lower: 0.12, upper: 0.12 }),
        worse: Some(0.12),
        machine: of_machine(number),
        ..member(8)
    };
    drift.members = (1..13).map(sized).collect();
    let sentence = |drift: &Event| trend_event::sentence(drift).words().replace(NARROW, " ");
    assert!(sentence(&drift).contains(" drifted: 12.0 % slower on 12 machines since "), "{}", sentence(&drift));
    drift.members[11].relative = Some(Level { value: 0.08, lower: 0.07, upper: 0.09 });
    assert!(sentence(&drift).contains(": 8.0 % to 12.0 % slower on 12 machines since "), "{}", sentence(&drift));
    let title = trend_event::title(&drift).words().replace(NARROW, " ");
    assert!(title.contains("; and 11 more series, by 8.0 % or more"), "{title}");
    let place = trend_event::place(&drift).words();
    assert!(place.starts_with("cpu on m0, m1, m2, m3, m4 and 7 more machines, since "), "{place}");
}

#[test]
fn commits_that_are_as_likely_are_named_together() {
    for (probabilities, expected) in [
        (&[0.7, 0.3][..], "0000000 with 70 %: s"),
        (&[0.5, 0.5], "0000000 or 0000001, with 50 % each"),
        (&[0.2; 5], "0000000 or 0000001 or 0000002 or 2 others, with 20 % each"),
    ] {
        let suspect = |(place, probability): (usize, &f64)| Suspect {
            commit: NamedCommit { subject: "s".to_owned(), ..commit(place) },
            measured: true,
            probability: *probability,
        };
        let suspects = probabilities.iter().enumerate().map(suspect).collect();
        let (_, words) = trend_event::likely(&Event { suspects, ..event(EventKind::Change, 1) }).expect("it has some");
        assert_eq!(words.words().replace(NARROW, " "), expected);
    }
}

#[test]
fn a_mover_that_hardly_moved_is_unchanged() {
    for (change, words) in [(4e-4, " 0.0 %"), (-4e-4, " 0.0 %"), (0.0, " 0.0 %"), (6e-4, "+0.1 %")] {
        let mut trend = example::trend();
        trend.tables.movers.truncate(1);
        trend.newest.clear();
        (trend.tables.movers[0].change, trend.tables.movers[0].worse) = (Some(change), Some(change));
        let way = if change > 5e-4 { "ratio, slower" } else { "ratio, unchanged" };
        for text in texts(&trend, false) {
            let row = text.lines().find(|line| line.contains(way)).unwrap_or_else(|| panic!("{text}"));
            assert!(row.contains(words), "{row}");
        }
    }
}

#[test]
fn lines_of_a_terminal_are_a_hundred_columns_wide() {
    let mut trend = example::trend();
    // Tables are as wide as their names.
    trend.events.iter_mut().for_each(|one| one.members.truncate(1));
    trend.tables.movers.clear();
    for all in [false, true] {
        for line in table(&trend, all).lines() {
            let is_command = line.trim_start().starts_with("sprag run");
            assert!(is_command || line.chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn the_overview_fits_a_screen_and_names_the_way_to_more() {
    let trend = example::trend();
    let text = overview(&trend, false, Some(80));
    assert!(text.lines().count() <= 50, "{text}");
    let listed: Vec<&Event> = trend.events.iter().filter(|one| summary::is_listed(one)).collect();
    for one in &listed {
        let rows = text.lines().filter(|line| line.contains(&one.id) && !line.contains("--event")).count();
        assert!(rows >= 1, "{}: {text}", one.id);
    }
    let id = &listed[0].id;
    assert!(text.contains(&format!("sprag trend --event {id}")) && text.contains("sprag trend --details"), "{text}");
    let one = trend_event(&trend, id, None).expect("it is there");
    assert!(table(&trend, false).contains(one.trim_end()), "{one}");
    assert_eq!((trend_event(&trend, "e-", None), trend_event(&trend, "", None)), (None, None));
}

#[test]
fn the_overview_shows_movers_beyond_their_noise_only() {
    let mut trend = example::trend();
    trend.tables.movers.truncate(1);
    let series = trend.tables.movers[0].series.clone();
    for (detectable, is_shown) in [(Some(0.01), true), (Some(0.03), false), (None, false)] {
        (trend.tables.movers[0].change, trend.tables.movers[0].worse) = (Some(0.02), Some(0.02));
        trend.series.iter_mut().filter(|one| one.series == series).for_each(|one| one.detectable = detectable);
        assert_eq!(overview(&trend, false, None).contains("Moved beyond their noise"), is_shown, "{detectable:?}");
    }
}
