//! The report of a week, for the page and Markdown.

use std::collections::BTreeMap;

use super::weeks::Week;
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::{Fact, Phrase};
use crate::sheet::{Row, Section, Sheet};
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
        "Told from the runs until {}. Only its events may still change: they are fitted to all runs, later ones too.",
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
        headline: behind(Phrase::plain(format!("Week of {day}: ")), headline(week)),
        lede: Phrase::plain(lede),
        facts: vec![range_fact(catalog, week), changed(week), ran(week), environment_fact(week)],
        sections,
    }
}

/// A sentence right behind some words.
fn behind(mut words: Phrase, sentence: Phrase) -> Phrase {
    words.parts.extend(sentence.parts);
    words
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
        marks.push(Mark::new(Tone::Plain, "=", events(week.ended.len(), "taken back")));
    }
    if marks.is_empty() {
        marks.push(Mark::new(Tone::Plain, "=", "no event began or ended"));
    }
    let mut sentence = Phrase::default();
    for (place, mark) in marks.into_iter().enumerate() {
        sentence = if place > 0 { sentence.text(", ").mark(mark) } else { sentence.mark(mark) };
    }
    sentence
}

/// The newest measured commit before the week, and that at its end.
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
        (None, None) => "None of its runs is of a commit of the line.".to_owned(),
        (None, Some(_)) => {
            format!("The first week that was measured, {}.", counted(week.measured, "commit", "commits"))
        }
        (Some(start), Some(end)) if start < end => {
            let on_line = counted(end - start, "commit", "commits");
            format!("{on_line} of the line; {} measured in the week.", count(week.measured))
        }
        _ => format!("No newer commit was measured; {} of the line in the week.", count(week.measured)),
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
    let is_not_here = if week.is_newest { "not there yet" } else { "missing" };
    let counts = [(bad, "skipped or failed"), (missing, is_not_here)];
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
        0 => Phrase::plain("No fact that counts"),
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

const EVENT_COLUMNS: [(&str, &str); 5] = [
    ("Event", "nb"),
    ("What it did", "full any"),
    ("Machines", "place"),
    ("Good .. bad", "nb opt"),
    ("State now", "push"),
];

fn event(catalog: &Catalog<'_>, of: &&Event) -> Row {
    let machines: Vec<String> = of.machines.iter().map(|one| words::name(&one.name)).collect();
    let good = of.last_good.as_ref().map_or(number::NONE, |good| good.short());
    let range = Phrase::default().id(words::name(good)).text(" ..").then(trend_event::end(of));
    Row::new([
        Phrase::default().name(catalog.event_page(&of.id), words::name(&of.id)),
        Phrase::default().mark(Mark { word: String::new(), ..trend_event::mark(of) }).then(trend_event::deed(of)),
        Phrase::plain(words::joined(&machines)),
        range,
        trend_event::state(of),
    ])
}

/// Events with a row each, where there are any.
fn events(catalog: &Catalog<'_>, (id, heading, note): (&'static str, &str, &str), of: &[&Event]) -> Option<Section> {
    let rows = of.iter().map(|of| event(catalog, of)).collect();
    let caption = format!("{heading} in the week");
    let section = Section::of_table((id, heading, Phrase::plain(note), ""), (&caption, &EVENT_COLUMNS), rows).cut(ROWS);
    section.unless_empty().map(|section| section.note_equal_columns(&["Machines"]))
}

fn began(catalog: &Catalog<'_>, week: &Week<'_>) -> Option<Section> {
    let note = "Events of which the first run after them took place in this week, as far as they are no chance.";
    events(catalog, ("events", "Events that began", note), &week.began)
}

fn ended(catalog: &Catalog<'_>, week: &Week<'_>) -> Option<Section> {
    events(catalog, ("ended", "Events that were taken back", "Events that one of this week undid."), &week.ended)
}

fn suites(catalog: &Catalog<'_>, week: &Week<'_>) -> Section {
    let change = |change: Option<f64>| Phrase::plain(change.map_or_else(|| number::NONE.to_owned(), number::percent));
    let row = |row: &&WeekRow| {
        let worst = row.worst_series.as_deref().and_then(|id| catalog.series(id));
        let worst = worst.map_or_else(
            || Phrase::plain(number::NONE),
            |one| {
                let page = catalog.series_page(&one.series.id);
                Phrase::default().name(page, words::name(short_benchmark(&one.series.benchmark)))
            },
        );
        Row::new([
            Phrase::plain(&*row.suite),
            Phrase::plain(&*row.machine_name),
            Phrase::plain(count(row.runs)),
            Phrase::plain(format!("{} of {}", count(row.compared), count(row.series))),
            change(row.change),
            change(row.worst),
            worst,
            change(row.best),
        ])
    };
    let note = "Weekly medians of the judged series against those of the week measured before: geometric mean, worst and best. Positive is worse.";
    let columns = [
        ("Suite", ""),
        ("Machine", "place"),
        ("Runs", "n opt2"),
        ("Series compared", "n opt2"),
        ("Mean change", "n push"),
        ("Worst", "n worst"),
        ("Worst series", "opt"),
        ("Best", "n opt2"),
    ];
    let texts = ("suites", "Suite by suite", Phrase::plain(note), "No suite measured anything in this week.");
    Section::of_table(texts, ("Suites of the week", &columns), week.suites.iter().map(row).collect())
        .note_equal_columns(&["Machine", "Runs", "Series compared"])
        .cut(ROWS)
}

/// What changed in the environment, where anything did.
fn environment(week: &Week<'_>) -> Option<Section> {
    let rows = week.environment.iter().flat_map(|(run, facts)| {
        facts.iter().map(|fact| {
            Row::new([
                Phrase::plain(format!("{}, {}", run.suite, words::name(&run.machine.name))),
                Phrase::default().mark(Mark::new(Tone::Environment, "◇", fact.fact.replace('_', " "))),
                Phrase::default().id(shortened(&fact.was, FACT)),
                Phrase::default().id(shortened(&fact.is, FACT)),
            ])
        })
    });
    let note = Phrase::plain("The newest run of the week against the newest before it, by suite and machine.");
    let texts = ("environment", "Environment over the week", note, "");
    let columns = [("Suite, machine", "full"), ("Fact", ""), ("Was", "any from"), ("Is", "any")];
    Section::of_table(texts, ("Facts that changed", &columns), rows.collect()).cut(ROWS).unless_empty()
}

/// The runs that did not work as a whole, and the suites that did not run on a machine where they do, where there are any.
fn failures(catalog: &Catalog<'_>, week: &Week<'_>) -> Option<Section> {
    let is_bad = |run: &&&RunHead| run.status != RunStatus::Ok || run.failed > 0;
    let began = |run: &RunHead, words: &str| {
        let time = format!("{words}{}", date::moment(run.timestamp));
        match catalog.run_place(&run.id) {
            Some(page) => Phrase::default().link(page, time),
            None => Phrase::plain(time),
        }
    };
    let result = |began: Phrase, run: &RunHead, state: Mark, reason: Option<&str>| {
        Row::new([
            began,
            Phrase::plain(&*run.suite),
            Phrase::plain(&*run.machine.name),
            Phrase::default().mark(state),
            Phrase::plain(shortened(reason.unwrap_or(number::NONE), REASON)),
        ])
    };
    let row = |run: &&RunHead| {
        let state = match run.status {
            RunStatus::Ok => {
                Mark::new(Tone::Worse, "✕", format!("{} of {} failed", count(run.failed), count(run.benchmarks)))
            }
            status => Mark::of_status(status),
        };
        result(began(run, ""), run, state, run.reason.as_deref())
    };
    let is_not_here = if week.is_newest { "not run yet" } else { "did not run" };
    let missing = |run: &&RunHead| {
        let state = Mark::new(Tone::Doubt, "○", is_not_here);
        result(began(run, "last "), run, state, Some("It ran in the weeks before."))
    };
    let columns = [("Began, UTC", "nb"), ("Suite", ""), ("Machine", "place"), ("State", ""), ("Reason", "full any q")];
    let texts = ("failures", "Failures and skips", Phrase::default(), "");
    let rows = week.missing.iter().map(missing).chain(week.runs.iter().filter(is_bad).map(row)).collect();
    let caption = "Suites that did not run, and runs that failed, in part or as a whole, or were skipped";
    Section::of_table(texts, (caption, &columns), rows).cut(ROWS).unless_empty()
}

/// How many are told by either measure.
const MOST: usize = 10;

/// The table of what moved most by its share, or by its size among all of its unit.
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
        Phrase::plain(place.map_or_else(|| number::NONE.to_owned(), |place| count(place + 1)))
    };
    let others = by_size.iter().filter(|row| by_share.iter().all(|one| one.series != row.series));
    let rows = by_share.iter().chain(others);
    let rows = rows.map(|row| self::row(catalog, row, [place(row, &by_share), place(row, &by_size)])).collect();
    let columns = [
        ("Series", "full"),
        ("Machine", "place"),
        ("Before", "n from"),
        ("Now", "n"),
        ("Difference", "n opt2"),
        ("Runs", "n opt"),
        ("Way", ""),
        ("Change", "n push"),
        ("By share", "n opt2"),
        ("By size", "n opt2"),
    ];
    let note = Phrase::plain(format!(
        "Medians of the week against those of the last week before with a value, whichever way they moved: the first {MOST} by their \
         share, and the first {MOST} by their size, those of each unit in turn. No verdict stands behind these figures."
    ));
    let texts = ("moved", "What moved most", note, "No judged series has a value in this week and in one before.");
    Section::of_table(texts, ("Judged series, those that moved most by their share first", &columns), rows)
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

fn row(catalog: &Catalog<'_>, row: &MoverRow, [by_share, by_size]: [Phrase; 2]) -> Row {
    let series = catalog.series(&row.series).map(|one| &one.series);
    let scale = row.unit.scale(if row.before == 0.0 { row.now } else { row.before });
    let change = row.change.map_or_else(|| number::NONE.to_owned(), number::percent);
    // What rounds to nothing is not slower by nothing.
    let is_nothing = row.change.is_some() && !change.contains(|digit| matches!(digit, '1'..='9'));
    let way = series.map(|series| if is_nothing { "unchanged" } else { words::way(&series.metric, row.worse) });
    let name = match series {
        Some(series) => Phrase::default()
            .name(catalog.series_page(&row.series), words::name(short_benchmark(&series.benchmark)))
            .text(format!(" {}, {}", series.suite, words::name(&series.metric.name))),
        None => Phrase::default().id(row.series.clone()),
    };
    Row::new([
        name,
        Phrase::plain(series.map_or_else(String::new, |series| words::name(&series.machine_name))),
        Phrase::plain(number::quantity(scale, row.before)),
        Phrase::plain(number::quantity(scale, row.now)),
        Phrase::plain(number::quantity(row.unit.scale(row.difference), row.difference)),
        Phrase::plain(format!("{} → {}", count(row.runs_before), count(row.runs_now))),
        Phrase::plain(way.unwrap_or(number::NONE)),
        Phrase::plain(change),
        by_share,
        by_size,
    ])
}
