//! An event: what, how much and where; whether it is real and not the machine; which commits; what to measure next; its members.

use askama::Template;

use super::event_multiples::{self, Multiple};
use super::event_rows::linked;
use super::event_suspects::{self, MemberGroup, Suspects};
use super::frame::{Frame, Part, page};
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::number::{count, counted, rough_count};
use crate::phrase::{Fact, Phrase};
use crate::trend::{event as trend_event, words};
use crate::{ReportError, answer, date, link};
use sprag_model::event::{Event, EventKind};
use sprag_model::ledger::scope::Scope;
use sprag_model::ledger::text;
use sprag_model::page::Page;

/// The facts of the environment that are listed.
const MOST_FACTS: usize = 60;

#[derive(Template)]
#[template(path = "event.html")]
struct EventPage {
    frame: Frame,
    id: String,
    headline: Phrase,
    lede: Phrase,
    facts: Vec<Fact>,
    suspects: Suspects,
    step: Phrase,
    step_command: String,
    /// Why there is none, where there is none.
    no_command: &'static str,
    /// The lines that reproduce it, or why there are none.
    reproduce: Result<Vec<String>, &'static str>,
    series: String,
    multiples: Vec<Multiple>,
    multiples_note: String,
    members: Vec<MemberGroup>,
    members_rest: String,
    environment: Vec<(String, String, String)>,
    environment_rest: String,
    /// What the ledger says to it.
    accepted: Option<Phrase>,
    /// What stands in the place of text that accepts it, where nobody could.
    acceptance: Result<Vec<String>, &'static str>,
}

pub(crate) fn event(catalog: &Catalog<'_>, of: &Event) -> Result<Page, ReportError> {
    link::file_word("event", &of.id)?;
    let path = link::event(&of.id);
    let headline = trend_event::title(of);
    let (multiples, multiples_note) = event_multiples::multiples(catalog, of);
    let (members, members_rest) = event_suspects::groups(catalog, of);
    let more_facts = of.facts.len().saturating_sub(MOST_FACTS);
    let template = EventPage {
        frame: Frame::new(catalog, &path, Part::Events, format!("Event {}", of.id), headline.words())
            .of_one(catalog, None),
        id: of.id.clone(),
        headline,
        lede: lede(of),
        facts: vec![state(catalog, of), commits(of), real(of), machine(of)],
        suspects: event_suspects::suspects(catalog, of),
        step: of.next.as_ref().map_or_else(Phrase::default, |next| trend_event::step(of, next)),
        step_command: of.next.as_ref().and_then(|next| words::shell_line(&next.command)).unwrap_or_default(),
        no_command: of.next.as_ref().map_or("", |next| trend_event::without_command(&next.command)),
        reproduce: reproduce(of),
        series: counted(of.members.len(), "series", "series"),
        multiples,
        multiples_note,
        members,
        members_rest,
        environment: of
            .facts
            .iter()
            .take(MOST_FACTS)
            .map(|fact| (fact.fact.replace('_', " "), words::name(&fact.was), words::name(&fact.is)))
            .collect(),
        environment_rest: match more_facts {
            0 => String::new(),
            more => format!("{} more are not listed here.", count(more)),
        },
        accepted: of.answer.as_ref().map(|answer| answer::in_words(answer).text(".")),
        acceptance: acceptance(of),
    };
    page(path, &template)
}

/// Where, since when, and the commit that is the cause most likely.
fn lede(of: &Event) -> Phrase {
    let place = trend_event::place(of).text(".");
    let Some((_, commit)) = trend_event::likely(of) else { return place };
    let words = if of.suspects.len() == 1 { "One commit can be the cause:" } else { "Most likely:" };
    place.then(Phrase::plain(words).then(commit).text("."))
}

fn state(catalog: &Catalog<'_>, of: &Event) -> Fact {
    let mut note = Phrase::plain(format!("Since {}", date::day(of.since)));
    if let Some(lead) = trend_event::lead(of).filter(|lead| lead.points_since > 0) {
        let points = if lead.points_since == 1 { "point" } else { "points" };
        let has = format!("{} {points}", rough_count(lead.points_since));
        note = note.text(format!("; the series it is known by has {has} since"));
    }
    Fact { question: "State", answer: linked(trend_event::state(of), catalog).begun(), note: note.text(".") }
}

fn commits(of: &Event) -> Fact {
    let unmeasured = of.suspects.iter().filter(|one| !one.measured).count();
    let answer = match of.kind {
        EventKind::Environment => "None".to_owned(),
        _ if unmeasured == 0 => trend_event::commits(of),
        _ => format!("{}, {} not measured", trend_event::commits(of), rough_count(unmeasured)),
    };
    let range = trend_event::range(of).begun();
    Fact { question: "Suspects", answer: Phrase::plain(answer), note: range.text(".") }
}

fn real(of: &Event) -> Fact {
    let answer = if of.sure {
        Phrase::plain("Sure")
    } else {
        Phrase::default().mark(Mark::new(Tone::Doubt, "?", "May be chance"))
    };
    let moved = of.members.len();
    let note = format!(
        "{}. {} of {} measured there moved.",
        words::chance(of.false_discovery),
        count(moved),
        counted(of.measured_series.max(moved), "series", "series")
    );
    Fact { question: "Is it real?", answer, note: Phrase::plain(note).begun() }
}

fn machine(of: &Event) -> Fact {
    let question = "Is it the machine?";
    let mut note: Vec<String> = of.machine_signs.iter().take(4).map(|sign| words::sentence(sign)).collect();
    if !of.facts.is_empty() {
        note.push(counted(
            of.facts.len(),
            "fact of the environment changed there.",
            "facts of the environment changed there.",
        ));
    }
    let answer = match (of.kind, note.is_empty()) {
        (EventKind::Environment, _) => Phrase::default().mark(Mark::new(Tone::Environment, "◇", "Yes")),
        (_, false) => Phrase::default().mark(Mark::new(Tone::Doubt, "?", "It may be")),
        (_, true) => Phrase::plain("No sign of it"),
    };
    if note.is_empty() {
        note.push("No fact of the environment changed there, and nothing else speaks for the machine.".to_owned());
    }
    Fact { question, answer, note: Phrase::plain(note.join(" ")) }
}

/// Commands that hold both sides against each other: by what is recorded, and by measuring both in turns; why there are none,
/// where that is so.
fn reproduce(of: &Event) -> Result<Vec<String>, &'static str> {
    let Some(good) = &of.last_good else {
        return Err("No commit measured before it is surely good, so there is nothing to hold it against.");
    };
    let lead = trend_event::lead(of).ok_or("No series of it is known.")?;
    let short = |sha: &str| sha.get(..12).unwrap_or(sha).to_owned();
    let mut compare = vec!["sprag".to_owned(), "compare".to_owned(), short(&good.sha), short(&of.first_bad.sha)];
    compare.extend(["--suite".to_owned(), lead.suite.clone()]);
    let mut measure = compare.clone();
    measure.extend(["--measure".to_owned(), "--filter".to_owned(), lead.benchmark.clone()]);
    let lines: Vec<String> = [compare, measure].iter().filter_map(|words| words::shell_line(words)).collect();
    if lines.is_empty() { Err("The command would hold a name that is not safe to paste.") } else { Ok(lines) }
}

/// The entry of the ledger that accepts it, with what only a person can say left empty; nothing where there is nothing to accept
/// or it is accepted, and a sentence where no size can be accepted.
fn acceptance(of: &Event) -> Result<Vec<String>, &'static str> {
    if !of.is_open_regression() {
        return Ok(Vec::new());
    }
    let Some(worst) = of.worst_ongoing() else {
        return Err("A level of it was zero before, so no relative change can be accepted.");
    };
    // The newest commit would be another one with each run, and the page with it: a drift that goes on is named by its first.
    let begin = of.suspects.first().filter(|_| trend_event::goes_on(of)).map_or(&of.first_bad, |first| &first.commit);
    Ok(text::acceptance_to_fill(&of.id, Scope::EVENT, text::rounded_up(worst), &begin.sha))
}
