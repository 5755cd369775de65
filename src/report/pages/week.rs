//! The report of a week, as a page and as Markdown: what ran, what began and ended in it, what moved most; and the list of weeks.
//!
//! A week begins on Monday (ISO 8601), in UTC. The newest [`WEEKS`] weeks with a run have a report. Later runs can only change the
//! present state of its events, and which metric of a benchmark is judged.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike, Days, NaiveDate, Utc};

use super::event_list::machines;
use super::frame::prelude::*;
use crate::text::short_commit;
use crate::trend::{event as trend_event, words};
use sprag_model::run::is_filtered;
use sprag_model::{Direction, Event, EventKind, EventState, FactChange, MoverRow, RunHead, RunStatus, Unit, WeekRow};

/// How many weeks have a report: half a year.
pub const WEEKS: usize = 26;

/// The weeks that the list of weeks shows at once.
const NEWEST: usize = 10;

/// A suite that ran on a machine in [`REGULAR`] of the [`WINDOW`] weeks before a week is expected to run there again.
const WINDOW: u64 = 4;
const REGULAR: usize = 2;

const ROWS: usize = 60;

/// How many of the largest changes are listed, by share and by size.
const MOVED_ROWS: usize = 10;

/// The longest reason and the longest value of a fact, in characters.
const REASON: usize = 300;
const FACT: usize = 120;

pub(super) const WEEK_NOTE: &str = "Weekly medians of the judged series, compared with the week measured before: geometric mean, worst and best. Positive is worse.";

pub(crate) fn week_pages(catalog: &Catalog<'_>) -> Result<Vec<Page>, ReportError> {
    let weeks = weeks(catalog);
    if weeks.is_empty() {
        return Ok(Vec::new());
    }
    let mut pages = vec![list(catalog, &weeks)?];
    for week in &weeks {
        let report = sheet(catalog, week);
        pages.push(Page { path: link::week_text(week.monday), bytes: report.markdown().into_bytes() });
        let title = format!("Week of {}", date::calendar_day(week.monday));
        pages.push(subject_page(catalog, (&link::week(week.monday), "Digest"), &title, None, report)?);
    }
    Ok(pages)
}

fn rows<'a>(caption: &str, catalog: &Catalog<'_>, weeks: &'a [Week<'a>]) -> Rows<&'a Week<'a>> {
    let worst = |of: &&'a Week<'a>| of.movers.first().filter(|row| row.worse.is_some());
    Rows::new(caption, weeks)
        .column("Week of", "nb", |of| Phrase::linked(link::week(of.monday), date::calendar_day(of.monday)))
        .column("What happened", "full", |of| headline(of))
        .column("Commits", "", |of| range(catalog, of))
        .column("Runs", "n", |of| counted(of.runs.len(), "run", "runs"))
        .column("Worst series", "n named", |of| or_none(worst(of).and_then(|row| row.worse), number::percent))
        .column("Its event", "nb", |of| {
            worst(of).map_or_else(Phrase::default, |row| event_of(catalog, of, &row.series))
        })
        .column("As text", "opt2", |of| Phrase::linked(link::week_text(of.monday), "Markdown"))
}

fn list(catalog: &Catalog<'_>, weeks: &[Week<'_>]) -> Result<Page, ReportError> {
    let note = "The worst series is the one whose weekly median worsened most; positive is worse. Without an event this figure is not evidence of a change.";
    let (newest, earlier) = weeks.split_at(weeks.len().min(NEWEST));
    let folded = counted(earlier.len(), "earlier week", "earlier weeks");
    let section = rows("Weeks, newest first", catalog, newest)
        .section("weeks", "Newest first", note, "")
        .rows(rows("Earlier weeks", catalog, earlier).folded(folded));
    let sheet = Sheet {
        crumb: Phrase::linked(link::DIGEST, "Digest").text(" / Weeks"),
        headline: format!("{} with a report", counted(weeks.len(), "week", "weeks")).into(),
        lede: format!("The newest {WEEKS} weeks with a run. A week begins on Monday, UTC. Records hold when a run began, not how long it took.").into(),
        sections: vec![section],
        ..Sheet::default()
    };
    history_page(catalog, (link::WEEK_LIST, "Digest"), "Weeks", sheet)
}

pub(super) struct Week<'a> {
    pub(super) monday: NaiveDate,
    is_newest: bool,
    /// Newest first.
    runs: Vec<&'a RunHead>,
    /// The newest run of each suite on each machine that was expected and did not run.
    missing: Vec<&'a RunHead>,
    /// The newest commits of the branch that were measured before it, and until its end.
    start: Option<usize>,
    end: Option<usize>,
    measured: usize,
    /// What differs in the environment of each suite on each machine from the newest run before the week.
    environment: Vec<(&'a RunHead, Vec<FactChange>)>,
    /// The significant events that began in it.
    began: Vec<&'a Event>,
    ended: Vec<&'a Event>,
    suites: Vec<&'a WeekRow>,
    /// The worst first.
    movers: &'a [MoverRow],
}

pub(super) fn weeks<'a>(catalog: &Catalog<'a>) -> Vec<Week<'a>> {
    let mut by_week: BTreeMap<NaiveDate, Vec<&RunHead>> = BTreeMap::new();
    for run in &catalog.runs {
        by_week.entry(monday(run.timestamp)).or_default().push(run);
    }
    let newest_week = by_week.keys().next_back().copied();
    let oldest = by_week.keys().nth(by_week.len().saturating_sub(WEEKS)).copied();
    let place = |run: &'a RunHead| (run.suite.as_str(), run.machine.id.as_str());
    let mut earlier: BTreeMap<(&str, &str), &RunHead> = BTreeMap::new();
    let mut start = None;
    let mut weeks = Vec::new();
    for (&monday, runs) in &by_week {
        let newest: BTreeMap<(&str, &str), &RunHead> = runs.iter().rev().map(|run| (place(run), *run)).collect();
        let measured = runs.iter().filter_map(|run| catalog.position(&run.commit.as_ref()?.sha));
        let measured: BTreeSet<usize> = measured.collect();
        let end = start.max(measured.last().copied());
        if Some(monday) >= oldest {
            let first = monday.checked_sub_days(Days::new(7 * WINDOW)).unwrap_or(monday);
            let is_regular = |(own, _): &(&(&str, &str), &&RunHead)| {
                let is_alike = |run: &&'a RunHead| place(run) == **own && !is_filtered(&run.config);
                by_week.range(first..monday).filter(|(_, runs)| runs.iter().any(is_alike)).count() >= REGULAR
            };
            let missing = earlier.iter().filter(|(place, _)| !newest.contains_key(*place)).filter(is_regular);
            let differences = |(place, run): (&(&str, &str), &&'a RunHead)| {
                Some((*run, earlier.get(place)?.environment.differences(&run.environment)))
            };
            let is_within = |time: DateTime<Utc>| self::monday(time) == monday;
            let sure = || catalog.trend.events.iter().filter(|event| event.sure);
            let is_ended = |event: &&Event| match &event.state {
                EventState::Reverted { by } => catalog.event(by).is_some_and(|event| is_within(event.since)),
                EventState::Present => false,
            };
            weeks.push(Week {
                monday,
                is_newest: Some(monday) == newest_week,
                missing: missing.map(|(_, run)| *run).collect(),
                start,
                end,
                measured: measured.len(),
                environment: newest.iter().filter_map(differences).collect(),
                began: sure().filter(|event| is_within(event.since)).collect(),
                ended: sure().filter(is_ended).collect(),
                suites: catalog.analysis.weeks.iter().filter(|row| row.week == monday).collect(),
                movers: catalog.input.movers.iter().find(|week| week.week == monday).map_or(&[], |week| &week.movers),
                runs: runs.clone(),
            });
        }
        start = end;
        earlier.extend(newest);
    }
    weeks.reverse();
    weeks
}

pub(super) fn monday(time: DateTime<Utc>) -> NaiveDate {
    let day = time.date_naive();
    day.checked_sub_days(Days::new(u64::from(day.weekday().num_days_from_monday()))).unwrap_or(day)
}

fn sheet(catalog: &Catalog<'_>, week: &Week<'_>) -> Sheet {
    let last = date::calendar_day(week.monday + Days::new(6));
    let why = "because they are fitted to all runs, later ones too";
    let mut lede = format!("From the runs until {last}. Only its events may still change, {why}.");
    if week.is_newest {
        lede += " It is the newest week: more runs may come.";
    }
    let day = date::calendar_day(week.monday);
    let began = "Significant events whose first run after the change took place in this week.";
    let ended = "Events that one of this week undid.";
    let sections = [
        events(catalog, ("events", "Events that began", began), &week.began),
        events(catalog, ("ended", "Events that were reverted", ended), &week.ended),
        Some(moved_section(catalog, week)),
        Some(suites(catalog, week)),
        environment(week),
        failures(catalog, week),
    ];
    Sheet {
        crumb: Phrase::linked(link::WEEK_LIST, "Weeks").text(format!(" / {day}")),
        headline: Phrase::plain(format!("Week of {day}: ")).join(headline(week)),
        lede: lede.into(),
        facts: vec![range_fact(catalog, week), changed(week), ran(week), environment_fact(week)],
        sections: sections.into_iter().flatten().collect(),
        ..Sheet::default()
    }
}

fn headline(week: &Week<'_>) -> Phrase {
    let (environment, others): (Vec<&Event>, Vec<&Event>) =
        week.began.iter().partition(|event| event.kind == EventKind::Environment);
    let (alternating, others): (Vec<&Event>, Vec<&Event>) =
        others.into_iter().partition(|event| event.kind.alternates());
    let of = |direction| others.iter().filter(|event| event.direction == direction).count();
    let events = |n: usize, words: &str| format!("{} {words}", counted(n, "event", "events"));
    let all = [
        (of(Direction::Worse), Tone::Worse, "▲", "for the worse"),
        (of(Direction::Mixed), Tone::Worse, "▲▼", "both ways"),
        (of(Direction::Better), Tone::Better, "▼", "for the better"),
        (environment.len(), Tone::Environment, "◇", "of the environment"),
        (alternating.len(), Tone::Doubt, "⇅", "of levels that alternate"),
        (week.ended.len(), Tone::Plain, "=", "reverted"),
    ];
    let all = all.into_iter().filter(|(n, ..)| *n > 0);
    let marks = all.map(|(n, tone, glyph, words)| Phrase::from(Mark::new(tone, glyph, events(n, words))));
    let words = marks.reduce(|sentence, mark| sentence.text(", ").join(mark));
    let words = words.unwrap_or_else(|| Mark::new(Tone::Plain, "=", "no event began or ended").into());
    match week.runs.iter().filter(|run| run.status == RunStatus::Failed).count() {
        0 => words,
        some => words.text(", ").mark(Mark::new(Tone::Worse, "✕", format!("{} failed", counted(some, "run", "runs")))),
    }
}

fn range(catalog: &Catalog<'_>, week: &Week<'_>) -> Phrase {
    let named = |sentence: Phrase, place: Option<usize>| match place.and_then(|place| catalog.line.commits.get(place)) {
        None => sentence.text(number::NONE),
        Some(commit) => {
            let name = commit.tags.first().map_or_else(|| short_commit(&commit.sha), String::as_str);
            sentence.name(catalog.commit_page(&commit.sha), words::name(name))
        }
    };
    match (week.start, week.end) {
        (start, end) if start == end => named(Phrase::default(), end),
        (start, end) => named(named(Phrase::default(), start).text(" to "), end),
    }
}

fn range_fact(catalog: &Catalog<'_>, week: &Week<'_>) -> Fact {
    let (measured, commits) = (count(week.measured), |n: usize| counted(n, "commit", "commits"));
    let note = match (week.start, week.end) {
        (None, None) => "None of its runs is of a commit on the branch.".to_owned(),
        (None, Some(_)) => format!("The first week that was measured, {}.", commits(week.measured)),
        (Some(start), Some(end)) if start < end => {
            format!("{} on the branch; {measured} measured in the week.", commits(end - start))
        }
        _ => format!("No newer commit was measured; {measured} on the branch in the week."),
    };
    Fact::new("From which commit to which?", range(catalog, week), note)
}

fn changed(week: &Week<'_>) -> Fact {
    let moved = counted(week.movers.len(), "judged series", "judged series");
    Fact::new("Did anything change?", headline(week), format!("{moved} have a value in it and in a week before."))
}

fn ran(week: &Week<'_>) -> Fact {
    let bad = week.runs.iter().filter(|run| run.status != RunStatus::Ok).count();
    let broken: usize = week.runs.iter().map(|run| run.failed).sum();
    let runs = counted(week.runs.len(), "run", "runs");
    let missing = week.missing.len();
    let absent = if week.is_newest { "not there yet" } else { "missing" };
    let answer = match number::nonzero(&[(bad, "skipped or failed"), (missing, absent)]) {
        none if none.is_empty() => Phrase::from(Mark::new(Tone::Better, "✓", runs)),
        some => Phrase::plain(format!("{runs}, ")).mark(Mark::new(Tone::Doubt, "○", some.join(", "))),
    };
    let began = match [week.runs.last(), week.runs.first()].map(|run| run.map(|run| date::moment(run.timestamp))) {
        [Some(first), Some(last)] if first != last => format!("The first began {first}, the last {last} UTC."),
        [Some(only), _] => format!("It began {only} UTC."),
        _ => String::new(),
    };
    let worked = match broken {
        0 if bad == 0 && missing == 0 => " Every benchmark worked.".to_owned(),
        0 if bad == 0 => " Every benchmark that ran worked.".to_owned(),
        0 => String::new(),
        some => format!(" {} in others.", counted(some, "benchmark failed", "benchmarks failed")),
    };
    Fact::new("Did it run?", answer, began + &worked)
}

fn environment_fact(week: &Week<'_>) -> Fact {
    let differ: usize = week.environment.iter().filter(|(_, facts)| !facts.is_empty()).count();
    let places = week.environment.len();
    let answer: Phrase = match differ {
        0 if places == 0 => number::NONE.into(),
        0 => "No relevant fact".into(),
        some => Mark::new(Tone::Environment, "◇", format!("On {} of {}", count(some), count(places))).into(),
    };
    let note = match places {
        0 => "No suite ran on its machine before.".to_owned(),
        some => format!("Of {} that ran in it and before.", counted(some, "suite on a machine", "suites on machines")),
    };
    Fact::new("Did the environment change?", answer, note)
}

fn events(catalog: &Catalog<'_>, (id, heading, note): (&'static str, &str, &str), all: &[&Event]) -> Option<Section> {
    let range = |of: &Event| {
        let good = of.last_good.as_ref().map_or(number::NONE, |good| good.short());
        Phrase::code(words::name(good)).text(" ..").then(trend_event::end(of))
    };
    let section = Rows::new(format!("{heading} in the week"), all)
        .first(catalog.trend.most_events())
        .column("Event", "nb", |of| Phrase::page_name(catalog.event_page(&of.id), words::name(&of.id)))
        .column("What it did", "full any", |of| {
            Phrase::from(Mark { word: String::new(), ..trend_event::mark(of) }).then(trend_event::deed(of))
        })
        .column("Machines", "place", |of| machines(of))
        .column("Good .. bad", "nb opt", |of| range(of))
        .column("State now", "push", |of| trend_event::state(of))
        .section(id, heading, note, "");
    section.unless_empty().map(|section| section.note_equal_columns(&["Machines"]))
}

fn suites(catalog: &Catalog<'_>, week: &Week<'_>) -> Section {
    let rows = Rows::new("Suites of the week", &week.suites).first(ROWS);
    week_rows(catalog, rows, |row| row)
        .section("suites", "Suite by suite", WEEK_NOTE, "No suite measured anything in this week.")
        .note_equal_columns(&["Machine", "Runs", "Series compared"])
}

pub(super) fn week_rows<T>(catalog: &Catalog<'_>, rows: Rows<T>, row: impl Fn(&T) -> &WeekRow) -> Rows<T> {
    let worst = |row: &WeekRow| match row.worst_series.as_deref().and_then(|id| catalog.series(id)) {
        Some(worst) => cell::series_link(catalog, &worst.series.id, &worst.series.benchmark),
        None => number::NONE.into(),
    };
    rows.column("Suite", "", |of| row(of).suite.clone())
        .column("Machine", "place", |of| row(of).machine_name.clone())
        .column("Runs", "n opt2", |of| count(row(of).runs))
        .column("Series compared", "n opt2", |of| format!("{} of {}", count(row(of).compared), count(row(of).series)))
        .column("Mean change", "n push", |of| cell::percent(row(of).change))
        .column("Worst", "n named", |of| cell::percent(row(of).worst))
        .column("Worst series", "opt", |of| worst(row(of)))
        .column("Best", "n opt2", |of| cell::percent(row(of).best))
}

fn environment(week: &Week<'_>) -> Option<Section> {
    let rows = week.environment.iter().flat_map(|(run, facts)| facts.iter().map(move |fact| (*run, fact)));
    let note = "The newest run of the week compared with the newest before it, by suite and machine.";
    Rows::new("Facts that changed", rows)
        .first(ROWS)
        .column("Suite, machine", "full", |(run, _)| format!("{}, {}", run.suite, words::name(&run.machine.name)))
        .column("Fact", "", |(_, fact)| cell::fact(&fact.fact))
        .column("Was", "any from", |(_, fact)| Phrase::code(shortened(&fact.was, FACT)))
        .column("Is", "any", |(_, fact)| Phrase::code(shortened(&fact.is, FACT)))
        .section("environment", "Environment over the week", note, "")
        .unless_empty()
}

fn failures(catalog: &Catalog<'_>, week: &Week<'_>) -> Option<Section> {
    let bad = week.runs.iter().filter(|run| run.status != RunStatus::Ok || run.failed > 0);
    let rows = week.missing.iter().map(|run| (*run, true)).chain(bad.map(|run| (*run, false)));
    let not_run = if week.is_newest { "not run yet" } else { "did not run" };
    let failed = |run: &RunHead| format!("{} of {} failed", count(run.failed), count(run.benchmarks));
    let state = |run: &RunHead| match run.status {
        RunStatus::Ok => Mark::new(Tone::Worse, "✕", failed(run)),
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

/// The largest changes by share, and by size within each unit.
fn moved_section(catalog: &Catalog<'_>, week: &Week<'_>) -> Section {
    let mut by_share: Vec<&MoverRow> = week.movers.iter().filter(|row| row.worse.is_some()).collect();
    // Twice as much and half as much are equal changes.
    let far = |row: &MoverRow| row.worse.map_or(0.0, |worse| worse.ln_1p().abs());
    by_share.sort_by(|a, b| far(b).total_cmp(&far(a)).then_with(|| a.series.cmp(&b.series)));
    let mut by_size = by_size(week.movers);
    by_share.truncate(MOVED_ROWS);
    by_size.truncate(MOVED_ROWS);
    let place = |of: &MoverRow, list: &[&MoverRow]| {
        or_none(list.iter().position(|row| row.series == of.series), |place| count(place + 1))
    };
    let others = by_size.iter().filter(|row| by_share.iter().all(|one| one.series != row.series));
    let series = |row: &MoverRow| catalog.series(&row.series).map(|one| &one.series);
    let name = |row: &MoverRow| match series(row) {
        Some(series) => Phrase::default()
            .name(catalog.series_page(&row.series), words::name(&short_benchmark(&series.benchmark)))
            .text(format!(" {}, {}", series.suite, words::name(&series.metric.name))),
        None => Phrase::code(row.series.clone()),
    };
    let scale = |row: &MoverRow| row.unit.scale(if row.before == 0.0 { row.now } else { row.before });
    let change = |row: &MoverRow| or_none(row.change, number::percent);
    let way = |row: &MoverRow| series(row).map_or(number::NONE, |series| words::way_of_mover(&series.metric, row));
    let largest =
        format!("the {MOVED_ROWS} largest changes by share, and the {MOVED_ROWS} largest by absolute size, by unit");
    let compared = "Medians of the week, compared with those of the last week before with a value";
    let note = format!("{compared}: {largest}. These figures are not verdicts.");
    Rows::new("Judged series, largest changes by share first", by_share.iter().chain(others))
        .column("Series", "full", |row| name(row))
        .column("Machine", "place", |row| series(row).map_or_else(String::new, |one| words::name(&one.machine_name)))
        .column("Before", "n from", |row| number::quantity(scale(row), row.before))
        .column("Now", "n", |row| number::quantity(scale(row), row.now))
        .column("Difference", "n opt2", |row| number::quantity(row.unit.scale(row.difference), row.difference))
        .column("Runs", "n opt", |row| format!("{} → {}", count(row.runs_before), count(row.runs_now)))
        .column("Direction", "", |row| way(row))
        .column("Event", "nb opt", |row| event_of(catalog, week, &row.series))
        .column("Change", "n push", |row| change(row))
        .column("By share", "n opt2", |row| place(row, &by_share))
        .column("By size", "n opt2", |row| place(row, &by_size))
        .section("moved", "Largest changes", note, "No judged series has a value in this week and in one before.")
        .note_equal_columns(&["Machine", "Runs"])
}

/// The event that explains why a series moved in a week: one of this week or of the one before, which moves the median of both.
fn event_of(catalog: &Catalog<'_>, week: &Week<'_>, series: &str) -> Phrase {
    let begin = week.monday.checked_sub_days(Days::new(7)).unwrap_or(week.monday);
    let is_near = |event: &&Event| (begin..week.monday + Days::new(7)).contains(&event.since.date_naive());
    let has_it = |event: &&Event| event.sure && event.members.iter().any(|member| member.series == series);
    match catalog.trend.events.iter().find(|event| is_near(event) && has_it(event)) {
        Some(event) => Phrase::page_name(catalog.event_page(&event.id), event.id.clone()),
        None => "no event".into(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;

    #[test]
    fn a_week_reads_well_as_markdown() {
        let sample = sample_data::rich();
        let catalog = sample.catalog();
        let weeks = weeks(&catalog);
        assert_eq!(weeks.len(), WEEKS);
        let week = |monday: &str| {
            let week = weeks.iter().find(|week| week.monday.to_string() == monday).expect("the week is one of them");
            sheet(&catalog, week).markdown()
        };
        insta::assert_snapshot!("week", week("2026-11-09"));
        let newest = sheet(&catalog, &weeks[0]).markdown();
        assert!(!newest.contains("<script") && !newest.contains('\u{202e}'), "{newest}");
        assert!(newest.contains("It is the newest week") && newest.contains("no CUDA driver library"), "{newest}");
        assert!(week("2026-09-14").contains("compiler") && week("2026-09-14").contains("1.91"));
    }

    #[test]
    fn a_suite_that_stopped_on_a_machine_is_named_for_some_weeks() {
        let mut sample = sample_data::rich();
        let day = |text: &str| text.parse::<chrono::NaiveDate>().expect("a day");
        let gap = day("2026-11-02")..day("2026-11-16");
        let gone = sample.runs[0].run.suite.clone();
        sample.runs.retain(|run| run.run.suite != gone || !gap.contains(&run.run.timestamp.date_naive()));
        let catalog = sample.catalog();
        let weeks = weeks(&catalog);
        for (monday, is_missing) in
            [("2026-10-26", false), ("2026-11-02", true), ("2026-11-09", true), ("2026-11-16", false)]
        {
            let week = weeks.iter().find(|week| week.monday == day(monday)).expect("the week is one of them");
            assert!(
                week.missing.iter().all(|run| run.suite == gone) && week.missing.is_empty() != is_missing,
                "{monday}"
            );
            let report = sheet(&catalog, week).markdown();
            let words = format!("○ {} missing", week.missing.len());
            assert_eq!(report.contains(&words) && report.contains("did not run"), is_missing, "{report}");
            assert!(!is_missing || !report.contains("✓ 2 runs"), "{report}");
        }
    }

    #[test]
    fn later_runs_change_no_figure_of_a_week() {
        let mut sample = sample_data::rich();
        sample.trend.events.clear();
        let result = |sample: &sample_data::Sample, back: usize| {
            let catalog = sample.catalog();
            let week = &weeks(&catalog)[back];
            let report = sheet(&catalog, week);
            // Links to runs and commits depend on what has a page.
            let ids: Vec<String> = report.sections.iter().map(|one| one.id.to_string()).collect();
            (week.monday, report.headline, report.facts, ids)
        };
        let before = result(&sample, 4);
        let newest = sample.runs.iter().map(|run| run.run.timestamp).max().expect("the sample has runs");
        sample.runs.retain(|run| newest - run.run.timestamp > chrono::Duration::days(20));
        assert_eq!(result(&sample, 1), before);
    }
}
