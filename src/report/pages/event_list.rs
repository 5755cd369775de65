//! All events by their state, and newest values outside the usual range; and the rows of events for the digest.

use std::collections::BTreeSet;

use super::frame::prelude::*;
use super::list::list_pages;
use crate::fit::FitTurn;
use crate::phrase::Part;
use crate::sheet::Banner;
use crate::text::capital;
use crate::trend::{event, summary, tables, words};
use sprag_model::{ApartSeries, Direction, Event, EventKind, EventState, Level, Member, NewestApart};

const EVENTS: usize = 2000;

/// The commits with unconfirmed values that are listed, and the series of each.
const COMMITS: usize = 40;
const SERIES: usize = 40;

pub(crate) fn event_list(catalog: &Catalog<'_>) -> Result<Vec<Page>, ReportError> {
    let trend = catalog.trend;
    let banner = |words: Phrase| Banner { tone: Tone::Doubt, words };
    let sheet = Sheet {
        crumb: "Events".into(),
        headline: if trend.coverage.total > 0 { summary::present(trend) } else { summary::headline(trend) },
        lede: lede(catalog),
        banners: summary::stale(trend).into_iter().map(banner).collect(),
        sections: groups(catalog).into_iter().chain(unconfirmed(catalog)).collect(),
        ..Sheet::default()
    };
    list_pages(catalog, (link::EVENT_LIST, "Events"), "Events", sheet)
}

fn lede(catalog: &Catalog<'_>) -> Phrase {
    let budget = &catalog.trend.budget;
    let mut lede = "An event is one cause with all the series that it changed.".to_owned();
    if catalog.trend.coverage.total > 0 {
        lede += &format!(" {}.", capital(&summary::examined(catalog.trend)));
    }
    if budget.points > 0 {
        lede += &format!(
            " False-alarm budget: at most {} in the {} examined. False discovery rate of significant events: at most {}.",
            number::fixed(budget.expected, 1),
            counted(budget.points, "point", "points"),
            percent_size(budget.false_discovery)
        );
    }
    Phrase::plain(lede).then(feeds())
}

pub(super) fn feeds() -> Phrase {
    Phrase::plain("Feeds: ").link(link::ATOM_FEED, "Atom").text(", ").link(link::JSON_FEED, "JSON").text(".")
}

/// Those with events, but what is present in any case.
fn groups(catalog: &Catalog<'_>) -> Vec<Section> {
    let nothing = "No change of level is present.";
    let group = |id, heading, note: &str, is: &dyn Fn(&Event) -> bool| {
        let events: Vec<&Event> = catalog.trend.events.iter().filter(|one| is(one)).collect();
        let section = rows(heading, catalog, events.iter().copied())
            .first(EVENTS)
            .column("Id", "nb opt2", |of| Phrase::code(words::name(&of.id)))
            .facet("suite", |of| suites(of).into_iter().collect::<Vec<&str>>().join(", "))
            .facet("machine", |of| machines(of))
            .facet("change", |of| kind(of).word)
            .facet("verdict", |of| event::short_state(of).to_owned())
            .section(id, heading, note, nothing);
        (!events.is_empty() || id == "present").then_some(section)
    };
    let is_reverted = |one: &Event| one.sure && one.state != EventState::Present;
    let present = "First those that matter most: by certainty, size and number of series. No commit alone is the cause of a drift, \
                   of levels that alternate, or of what the environment changed.";
    let chance = "Findings this weak include more false alarms than the budget allows. More runs decide.";
    let reverted = "A later event undid more than half of the change.";
    let groups = [
        group("present", "Still present", present, &summary::is_listed),
        group("chance", "Possible chance", chance, &|one| !one.sure),
        group("reverted", "Reverted", reverted, &is_reverted),
    ];
    groups.into_iter().flatten().collect()
}

pub(super) fn machines(of: &Event) -> String {
    let names: Vec<String> = of.machines.iter().map(|one| words::name(&one.name)).collect();
    words::joined(&names)
}

fn spark(catalog: &Catalog<'_>, of: &Event) -> String {
    let fit = event::lead(of).and_then(|lead| Some((lead, catalog.fit(&lead.series)?)));
    fit.map_or(String::new(), |(lead, fit)| {
        let is_its = |turn: &&FitTurn<'_>| turn.part.is_some_and(|(event, _)| event.id == of.id);
        let change = fit.turns.iter().rev().find(is_its).map(|turn| turn.begin);
        let commits = counted(fit.series.pooled.len().min(60), "commit", "commits");
        cell::fitted_spark(&fit, (Some(lead.before.value), change), tone(of), format!("Trend of {commits} around it"))
    })
}

/// Rows of a line each.
pub(super) fn rows<'a>(of: &str, catalog: &Catalog<'_>, all: impl Iterator<Item = &'a Event>) -> Rows<&'a Event> {
    let relative = |of: &Event| event::lead(of).and_then(|one| one.relative);
    Rows::new(format!("{of}, those that matter most first"), all)
        .column("What", "", kind)
        .column("Event", "full", |of| short_name(catalog, of))
        .column("Around the change", "g opt2", |of| Cell::Drawn(spark(catalog, of)))
        .column("Since", "nb opt", |of| date::day(of.since))
        .column("State", "nb", |of| event::short_state(of))
        .column("Change", "n push by-size", |of| cell::tinted(tone(of), figure(relative(of).as_ref())))
        .tint(|of| of.is_open_regression() && tone(of) == Tone::Worse)
}

pub(super) fn interval_of(of: &Event) -> String {
    interval(event::lead(of).and_then(|one| one.relative).as_ref())
}

/// Its mark, with what it is as the word.
fn kind(of: &&Event) -> Mark {
    let mark = event::mark(of);
    let lead = event::lead(of);
    let rises = lead.is_some_and(|one| one.after.value > one.before.value);
    let arrow = if of.direction == Direction::Better { "▼" } else { "▲" };
    let (glyph, word) = match of.kind {
        EventKind::Environment => ("◇", "environment"),
        EventKind::Bimodal => ("⇅", "two modes"),
        EventKind::Unstable => ("⇅", "unstable"),
        EventKind::Drift => (if rises { "↗" } else { "↘" }, "drift"),
        EventKind::Change if of.direction == Direction::Mixed => ("▲▼", "mixed"),
        EventKind::Change => (arrow, lead.map_or("changed", |one| words::way(&one.metric, one.worse))),
    };
    let glyph = if ["?", "◆"].contains(&mark.glyph) { mark.glyph } else { glyph };
    Mark { glyph, word: word.to_owned(), ..mark }
}

fn short_name(catalog: &Catalog<'_>, of: &Event) -> Phrase {
    let [name, more] = name_and_more(of);
    Phrase::default().name(catalog.event_page(&of.id), name).text(more)
}

fn suites(of: &Event) -> BTreeSet<&str> {
    of.members.iter().map(|member| member.suite.as_str()).collect()
}

/// Its worst benchmark, and how many more it changed, with the suites and the machines.
pub(super) fn name_and_more(of: &Event) -> [String; 2] {
    let benchmark = event::lead(of).map_or_else(|| of.id.clone(), |lead| short_benchmark(&lead.benchmark));
    let more = match of.members.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {} more", count(more)),
    };
    let suites = suites(of);
    let suite = match (suites.first(), suites.len()) {
        (Some(one), 1) => format!(" in {}", words::name(one)),
        (_, 0) => String::new(),
        (_, several) => format!(" in {}", counted(several, "suite", "suites")),
    };
    let machines = match of.machines.as_slice() {
        [] => String::new(),
        [one] => format!(" on {}", words::name(&one.name)),
        several => format!(" on {}", counted(several.len(), "machine", "machines")),
    };
    [words::name(&benchmark), more + &suite + &machines]
}

/// Plain where it may be chance or was reverted.
pub(super) fn tone(event: &Event) -> Tone {
    match event {
        one if !summary::is_listed(one) => Tone::Plain,
        one if one.kind == EventKind::Environment => Tone::Environment,
        one if !one.kind.is_of_one_commit() => Tone::Doubt,
        one if one.direction == Direction::Better => Tone::Better,
        _ => Tone::Worse,
    }
}

/// The members, the worst first, or where all got better the best.
pub(super) fn in_order(of: &Event) -> Vec<&Member> {
    match of.direction {
        Direction::Better => of.members.iter().rev().collect(),
        Direction::Worse | Direction::Mixed => of.members.iter().collect(),
    }
}

/// The colour of its event, unless it moved the other way.
pub(super) fn member_tone(of: &Event, member: &Member) -> Tone {
    match (tone(of), member.worse) {
        (Tone::Worse, Some(worse)) if worse < 0.0 => Tone::Better,
        (tone, _) => tone,
    }
}

pub(super) fn figure(relative: Option<&Level>) -> String {
    or_none(relative, |relative| number::percent(relative.value))
}

/// In percent; nothing where the interval is a point or unknown.
pub(super) fn interval(relative: Option<&Level>) -> String {
    let present = relative.filter(|one| one.lower.is_finite() && one.upper.is_finite() && one.lower != one.upper);
    present.map_or_else(String::new, |one| number::percent_interval((one.lower, one.upper)))
}

/// A sentence in which the ids of other events lead to their pages.
pub(super) fn linked(sentence: Phrase, catalog: &Catalog<'_>) -> Phrase {
    let linked = |part: Part| match part {
        Part::Id(id) => match catalog.event_page(&id) {
            Some(to) => Part::Link { to, words: id, is_name: true },
            None => Part::Id(id),
        },
        other => other,
    };
    Phrase { parts: sentence.parts.into_iter().map(linked).collect() }
}

/// Newest values outside the usual range of their series: a section a commit.
fn unconfirmed(catalog: &Catalog<'_>) -> Vec<Section> {
    let (id, heading) = ("newest", "Unconfirmed: newest values outside their usual range");
    let all = &catalog.trend.newest;
    if all.is_empty() {
        return vec![
            Section::new(id, heading).paragraph("Every newest value is within the usual range of its series."),
        ];
    }
    let mut section = Section::new(id, heading).paragraph("One value is not a change yet; more runs decide.");
    for (place, one) in all.iter().take(COMMITS).enumerate() {
        section = section.paragraph(tables::head(one)).rows(outside(catalog, one, place + 1));
        if let Some(line) = words::shell_line(&one.command) {
            section = section.commands(vec![line]);
        }
    }
    let more = all.len().saturating_sub(COMMITS);
    if more > 0 {
        section =
            section.paragraph(counted(more, "more commit is not listed here.", "more commits are not listed here."));
    }
    vec![section]
}

fn outside(catalog: &Catalog<'_>, of: &NewestApart, number: usize) -> Rows<ApartSeries> {
    Rows::new(format!("Unconfirmed values, {number}: worst first"), of.series.iter().cloned())
        .first(SERIES)
        .column("Series", "full", |one| {
            Phrase::page_name(catalog.series_page(&one.series), words::name(&one.benchmark))
        })
        .column("Metric", "", |one| words::name(&one.metric.name))
        .column("Level → newest", "n", |one| words::values(one.metric.unit, one.level.value, one.value))
        .column("Change", "n push", |one| cell::tinted(Tone::Doubt, tables::change(one)))
        .column("Verdict", "", |one| Mark::new(Tone::Doubt, "?", words::way(&one.metric, one.worse)))
        .column("Runs to decide", "n opt2", |one| count(one.runs))
}
