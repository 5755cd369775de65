//! The report of a week, for the page and Markdown.

use std::collections::BTreeMap;

use super::weeks::Week;
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::{Fact, Phrase};
use crate::sheet::{Rows, Section, Sheet};
use crate::text::{short_benchmark, shortened};
use crate::trend::{event as trend_event, words};
use crate::{date, link};
use sprag_model::event::{Direction, Event, EventKind};
use sprag_model::head::RunHead;
use sprag_model::movers::MoverRow;
use sprag_model::rollup::WeekRow;
use sprag_model::run::RunStatus;
use sprag_model::unit::Unit;

/// The most rows of events, suites, facts and runs, of each.
const ROWS: usize = 60;

/// The longest reason, in characters.
const REASON: usize = 300;

/// The longest value of a fact, in characters.
const FACT: usize = 120;

pub(crate) fn sheet(catalog: &Catalog<'_>, week: &Week<'_>) -> Sheet {
    let last = week.monday + chrono::Days::new(6);
    let mut lede = format!(
        "From the runs until {}. Only its events may still change, because they are fitted to all runs, later ones too.",
        date::calendar_day(last)
    );
    if week.is_newest {
        lede += " It is the newest week: more runs may come.";
    }
    let day = date::calendar_day(week.monday);
    // What has no row is a fact, and no section.
    let mut sections: Vec<Section> = [began(catalog, week), ended(catalog, week)].into_iter().flatten().collect();
    sections.extend([moved_section(catalog, week), suites(catalog, week)]);
    sections.extend([environment(week), failures(catalog, week)].into_iter().flatten());
    Sheet {
        crumb: Phrase::default().link(link::WEEK_LIST, "Weeks").text(format!(" / {day}")),
        headline: Phrase::plain(format!("Week of {day}: ")).join(headline(week)),
        lede: lede.into(),
        facts: vec![range_fact(catalog, week), changed(week), ran(week), environment_fact(week)],
        sections,
        ..Sheet::default()
    }
}

/// What happened, in a few words.
pub(crate) fn headline(week: &Week<'_>) -> Phrase {
    let count_of = |is: &dyn Fn(&Event) -> bool| week.began.iter().filter(|event| is(event)).count();
    let environment = count_of(&|event| event.kind == EventKind::Environment);
    let better = count_of(&|event| event.kind != EventKind::Environment && event.direction == Direction::Better);
    let worse = week.began.len() - environment - better;
    let events = |n: usize, words: &str| format!("{} {words}", counted(n, "event", "events"));
    let mut marks = Vec::new();
    if worse > 0 {
        marks.push(Mark::new(Tone::Worse, "▲", events(worse, "for the worse")));
    }
    if better > 0 {
        marks.push(Mark::new(Tone::Better, "▼", events(better, "for the better")));
    }
    if environment > 0 {
        marks.push(Mark::new(Tone::Environment, "◇", events(environment, "of the environment")));
    }
    if !week.ended.is_empty() {
        marks.push(Mark::new(Tone::Plain, "=", events(week.ended.len(), "reverted")));
    }
    if marks.is_empty() {
        marks.push(Mark::new(Tone::Plain, "=", "no event began or ended"));
    }
    let marks = marks.into_iter().map(Phrase::from);
    marks.reduce(|sentence, mark| sentence.text(", ").join(mark)).unwrap_or_default()
}

/// The newest commit measured before the week, and that at its end.
pub(crate) fn range(catalog: &Catalog<'_>, week: &Week<'_>) -> Phrase {
    let named = |sentence: Phrase, place: Option<usize>| match place.and_then(|place| catalog.line.commits.get(place)) {
        None => sentence.text(number::NONE),
        Some(commit) => {
            let name = commit.tags.first().map_or_else(|| commit.sha.get(..7).unwrap_or(&commit.sha), String::as_str);
            sentence.name(catalog.commit_page(&commit.sha), words::name(name))
        }
    };
    match (week.start, week.end) {
        (start, end) if start == end => named(Phrase::default(), end),
        (start, end) => named(named(Phrase::default(), start).text(" to "), end),
    }
}

fn range_fact(catalog: &Catalog<'_>, week: &Week<'_>) -> Fact {
    let note = match (week.start, week.end) {
        (None, None) => "None of its runs is of a commit on the branch.".to_owned(),
        (None, Some(_)) => {
            format!("The first week that was measured, {}.", counted(week.measured, "commit", "commits"))
        }
        (Some(start), Some(end)) if start < end => {
            let on_line = counted(end - start, "commit", "commits");
            format!("{on_line} on the branch; {} measured in the week.", count(week.measured))
        }
        _ => format!("No newer commit was measured; {} on the branch in the week.", count(week.measured)),
    };
    Fact { question: "From which commit to which?", answer: range(catalog, week), note: Phrase::plain(note) }
}

fn changed(week: &Week<'_>) -> Fact {
    let moved = week.movers.len();
    Fact {
        question: "Did anything change?",
        answer: headline(week),
        note: Phrase::plain(format!(
            "{} have a value in it and in a week before.",
            counted(moved, "judged series", "judged series")
        )),
    }
}

fn ran(week: &Week<'_>) -> Fact {
    let bad = week.runs.iter().filter(|run| run.status != RunStatus::Ok).count();
    let broken: usize = week.runs.iter().map(|run| run.failed).sum();
    let runs = counted(week.runs.len(), "run", "runs");
    let missing = week.missing.len();
    let not_here = if week.is_newest { "not there yet" } else { "missing" };
    let counts = [(bad, "skipped or failed"), (missing, not_here)];
    let lacks = counts.iter().filter(|(some, _)| *some > 0).map(|(some, what)| format!("{} {what}", count(*some)));
    let answer = match lacks.collect::<Vec<_>>() {
        none if none.is_empty() => Phrase::default().mark(Mark::new(Tone::Better, "✓", runs)),
        some => Phrase::plain(format!("{runs}, ")).mark(Mark::new(Tone::Doubt, "○", some.join(", "))),
    };
    let mut note = match (week.runs.last(), week.runs.first()) {
        (Some(first), Some(last)) if first.timestamp != last.timestamp => {
            format!("The first began {}, the last {} UTC.", date::moment(first.timestamp), date::moment(last.timestamp))
        }
        (Some(only), _) => format!("It began {} UTC.", date::moment(only.timestamp)),
        _ => String::new(),
    };
    note += &match broken {
        0 if bad == 0 && missing == 0 => " Every benchmark worked.".to_owned(),
        0 if bad == 0 => " Every benchmark that ran worked.".to_owned(),
        0 => String::new(),
        some => format!(" {} in others.", counted(some, "benchmark failed", "benchmarks failed")),
    };
    Fact { question: "Did it run?", answer, note: Phrase::plain(note) }
}

fn environment_fact(week: &Week<'_>) -> Fact {
    let differ: usize = week.environment.iter().filter(|(_, facts)| !facts.is_empty()).count();
    let places = week.environment.len();
    let answer = match differ {
        0 if places == 0 => Phrase::plain(number::NONE),
        0 => Phrase::plain("No relevant fact"),
        some => Phrase::default().mark(Mark::new(
            Tone::Environment,
            "◇",
            format!("On {} of {}", count(some), count(places)),
        )),
    };
    let note = match places {
        0 => "No suite ran on its machine before.".to_owned(),
        some => format!("Of {} that ran in it and before.", counted(some, "suite on a machine", "suites on machines")),
    };
    Fact { question: "Did the environment change?", answer, note: Phrase::plain(note) }
}

/// Events with a row each, where there are any.
fn events(catalog: &Catalog<'_>, (id, heading, note): (&'static str, &str, &str), all: &[&Event]) -> Option<Section> {
    let machines = |of: &Event| {
        let names: Vec<String> = of.machines.iter().map(|one| words::name(&one.name)).collect();
        words::joined(&names)
    };
    let range = |of: &Event| {
        let good = of.last_good.as_ref().map_or(number::NONE, |good| good.short());
        Phrase::default().id(words::name(good)).text(" ..").then(trend_event::end(of))
    };
    let section = Rows::new(format!("{heading} in the week"), all)
        .first(ROWS)
        .column("Event", "nb", |of| Phrase::default().name(catalog.event_page(&of.id), words::name(&of.id)))
        .column("What it did", "full any", |of| {
            Phrase::from(Mark { word: String::new(), ..trend_event::mark(of) }).then(trend_event::deed(of))
        })
        .column("Machines", "place", |of| machines(of))
        .column("Good .. bad", "nb opt", |of| range(of))
        .column("State now", "push", |of| trend_event::state(of))
        .section(id, heading, note, "");
    section.unless_empty().map(|section| section.note_equal_columns(&["Machines"]))
}

fn began(catalog: &Catalog<'_>, week: &Week<'_>) -> Option<Section> {
    let note = "Significant events whose first run after the change took place in this week.";
    events(catalog, ("events", "Events that began", note), &week.began)
}

fn ended(catalog: &Catalog<'_>, week: &Week<'_>) -> Option<Section> {
    events(catalog, ("ended", "Events that were reverted", "Events that one of this week undid."), &week.ended)
}

fn suites(catalog: &Catalog<'_>, week: &Week<'_>) -> Section {
    let change = |change: Option<f64>| change.map_or_else(|| number::NONE.to_owned(), number::percent);
    let worst = |row: &WeekRow| match row.worst_series.as_deref().and_then(|id| catalog.series(id)) {
        Some(one) => {
            let page = catalog.series_page(&one.series.id);
            Phrase::default().name(page, words::name(short_benchmark(&one.series.benchmark)))
        }
        None => number::NONE.into(),
    };
    let note = "Weekly medians of the judged series, compared with the week measured before: geometric mean, worst and best. Positive is worse.";
    Rows::new("Suites of the week", &week.suites)
        .first(ROWS)
        .column("Suite", "", |row| row.suite.clone())
        .column("Machine", "place", |row| row.machine_name.clone())
        .column("Runs", "n opt2", |row| count(row.runs))
        .column("Series compared", "n opt2", |row| format!("{} of {}", count(row.compared), count(row.series)))
        .column("Mean change", "n push", |row| change(row.change))
        .column("Worst", "n named", |row| change(row.worst))
        .column("Worst series", "opt", |row| worst(row))
        .column("Best", "n opt2", |row| change(row.best))
        .section("suites", "Suite by suite", note, "No suite measured anything in this week.")
        .note_equal_columns(&["Machine", "Runs", "Series compared"])
}

/// What changed in the environment, where anything did.
fn environment(week: &Week<'_>) -> Option<Section> {
    let rows = week.environment.iter().flat_map(|(run, facts)| facts.iter().map(move |fact| (*run, fact)));
    let note = "The newest run of the week compared with the newest before it, by suite and machine.";
    Rows::new("Facts that changed", rows)
        .first(ROWS)
        .column("Suite, machine", "full", |(run, _)| format!("{}, {}", run.suite, words::name(&run.machine.name)))
        .column("Fact", "", |(_, fact)| Mark::new(Tone::Environment, "◇", fact.fact.replace('_', " ")))
        .column("Was", "any from", |(_, fact)| Phrase::default().id(shortened(&fact.was, FACT)))
        .column("Is", "any", |(_, fact)| Phrase::default().id(shortened(&fact.is, FACT)))
        .section("environment", "Environment over the week", note, "")
        .unless_empty()
}

/// The runs with failures, and the suites that did not run on a machine where they usually do, where there are any.
fn failures(catalog: &Catalog<'_>, week: &Week<'_>) -> Option<Section> {
    let bad = week.runs.iter().filter(|run| run.status != RunStatus::Ok || run.failed > 0);
    let rows = week.missing.iter().map(|run| (*run, true)).chain(bad.map(|run| (*run, false)));
    let not_run = if week.is_newest { "not run yet" } else { "did not run" };
    let state = |run: &RunHead| match run.status {
        RunStatus::Ok => {
            Mark::new(Tone::Worse, "✕", format!("{} of {} failed", count(run.failed), count(run.benchmarks)))
        }
        status => Mark::of_status(status),
    };
    Rows::new("Suites that did not run, and runs that failed or were skipped", rows)
        .first(ROWS)
        .column("Began, UTC", "nb", |(run, is_missing)| {
            let last = if *is_missing { "last " } else { "" };
            Phrase::default().to(catalog.run_place(&run.id), format!("{last}{}", date::moment(run.timestamp)))
        })
        .column("Suite", "", |(run, _)| run.suite.clone())
        .column("Machine", "place", |(run, _)| run.machine.name.clone())
        .column("State", "", |(run, is_missing)| match is_missing {
            true => Mark::new(Tone::Doubt, "○", not_run),
            false => state(run),
        })
        .column("Reason", "full any", |(run, is_missing)| match is_missing {
            true => "It ran in the weeks before.".to_owned(),
            false => shortened(run.reason.as_deref().unwrap_or(number::NONE), REASON),
        })
        .section("failures", "Failures and skips", "", "")
        .unless_empty()
}

/// How many are listed by either measure.
const MOST: usize = 10;

/// The largest changes by share, and by size among all of a unit.
fn moved_section(catalog: &Catalog<'_>, week: &Week<'_>) -> Section {
    let mut by_share: Vec<&MoverRow> = week.movers.iter().filter(|row| row.worse.is_some()).collect();
    // Twice as much and half as much are as far from nothing.
    let far = |row: &MoverRow| row.worse.map_or(0.0, |worse| worse.ln_1p().abs());
    by_share.sort_by(|a, b| far(b).total_cmp(&far(a)).then_with(|| a.series.cmp(&b.series)));
    let mut by_size = by_size(week.movers);
    by_share.truncate(MOST);
    by_size.truncate(MOST);
    let place = |of: &MoverRow, list: &[&MoverRow]| {
        let place = list.iter().position(|row| row.series == of.series);
        place.map_or_else(|| number::NONE.to_owned(), |place| count(place + 1))
    };
    let others = by_size.iter().filter(|row| by_share.iter().all(|one| one.series != row.series));
    let series = |row: &MoverRow| catalog.series(&row.series).map(|one| &one.series);
    let name = |row: &MoverRow| match series(row) {
        Some(series) => Phrase::default()
            .name(catalog.series_page(&row.series), words::name(short_benchmark(&series.benchmark)))
            .text(format!(" {}, {}", series.suite, words::name(&series.metric.name))),
        None => Phrase::default().id(row.series.clone()),
    };
    let scale = |row: &MoverRow| row.unit.scale(if row.before == 0.0 { row.now } else { row.before });
    let change = |row: &MoverRow| row.change.map_or_else(|| number::NONE.to_owned(), number::percent);
    let way = |row: &MoverRow| {
        // What rounds to nothing is not slower by nothing.
        let is_nothing = row.change.is_some() && !change(row).contains(|digit| matches!(digit, '1'..='9'));
        let way =
            series(row).map(|series| if is_nothing { "unchanged" } else { words::way(&series.metric, row.worse) });
        way.unwrap_or(number::NONE)
    };
    let note = format!(
        "Medians of the week, compared with those of the last week before with a value: the {MOST} largest changes by share, and the \
         {MOST} largest by absolute size, by unit. These figures are not verdicts."
    );
    Rows::new("Judged series, largest changes by share first", by_share.iter().chain(others))
        .column("Series", "full", |row| name(row))
        .column("Machine", "place", |row| series(row).map_or_else(String::new, |one| words::name(&one.machine_name)))
        .column("Before", "n from", |row| number::quantity(scale(row), row.before))
        .column("Now", "n", |row| number::quantity(scale(row), row.now))
        .column("Difference", "n opt2", |row| number::quantity(row.unit.scale(row.difference), row.difference))
        .column("Runs", "n opt", |row| format!("{} → {}", count(row.runs_before), count(row.runs_now)))
        .column("Direction", "", |row| way(row))
        .column("Change", "n push", |row| change(row))
        .column("By share", "n opt2", |row| place(row, &by_share))
        .column("By size", "n opt2", |row| place(row, &by_size))
        .section("moved", "Largest changes", note, "No judged series has a value in this week and in one before.")
        .note_equal_columns(&["Machine", "Runs"])
}

/// The largest differences: the first of each unit, then the second of each, and so on.
fn by_size(movers: &[MoverRow]) -> Vec<&MoverRow> {
    let mut by_unit: BTreeMap<Unit, Vec<&MoverRow>> = BTreeMap::new();
    for row in movers.iter().filter(|row| row.difference != 0.0) {
        by_unit.entry(row.unit).or_default().push(row);
    }
    let mut placed = Vec::new();
    for (unit, mut rows) in by_unit {
        rows.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()).then_with(|| a.series.cmp(&b.series)));
        placed.extend(rows.into_iter().enumerate().map(|(place, row)| (place, unit, row)));
    }
    placed.sort_by_key(|(place, unit, _)| (*place, *unit));
    placed.into_iter().map(|(_, _, row)| row).collect()
}
