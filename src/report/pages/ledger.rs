//! The ledger: who accepted which regression, and who waived which item of a release, why, and until when.

use chrono::NaiveDate;

use super::frame::prelude::*;
use super::release::sentence;
use crate::trend::words;
use sprag_model::ledger::{Acceptance, State, Terms};
use sprag_model::{AnswerKind, Event, Waiver};

/// The entries of a kind that are listed, and the longest author, in characters.
const MOST: usize = 200;
const AUTHOR: usize = 120;

const LEDE: &str = "An accepted regression keeps its figures and its verdict. It fails no gate until its last day is over. Damaged \
                    records, wrong results and missing benchmarks cannot be accepted.";

pub(crate) fn ledger(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let day = catalog.input.today;
    let state = |one: &Acceptance| one.state_among(day, |event| catalog.event(event).is_some());
    let waiver_state = |one: &Waiver| match one.terms.state(day) {
        State::Expired => State::Expired,
        _ if catalog.input.releases.unused_waivers.contains_key(&one.terms.entry) => State::Unknown,
        state => state,
    };
    let mut accepted: Vec<(State, &Acceptance)> =
        catalog.input.ledger.acceptances.iter().map(|one| (state(one), one)).collect();
    accepted.sort_by_key(|(state, one)| (*state, one.terms.expires, &one.event));
    let mut waived: Vec<(State, &Waiver)> =
        catalog.input.ledger.waivers.iter().map(|one| (waiver_state(one), one)).collect();
    waived.sort_by_key(|(state, one)| (*state, one.terms.expires, &one.release, &one.item, &one.target));
    let states = accepted.iter().map(|(state, _)| *state).chain(waived.iter().map(|(state, _)| *state)).collect();
    let sheet = Sheet {
        headline: headline(states, day),
        lede: LEDE.into(),
        sections: vec![acceptances(catalog, accepted), waivers(catalog, waived)],
        ..Sheet::default()
    };
    subject_page(catalog, (link::LEDGER, ""), "Ledger", None, sheet)
}

fn headline(states: Vec<State>, day: NaiveDate) -> Phrase {
    let of = |state: State| states.iter().filter(|one| **one == state).count();
    if states.is_empty() {
        return "Nothing is accepted or waived".into();
    }
    let mark = match of(State::InForce) {
        0 => Mark::new(Tone::Plain, "=", "No entry is in force"),
        some => Mark::new(Tone::Doubt, "◆", counted(some, "entry is in force", "entries are in force")),
    };
    let mut rest = format!(" on {}", date::calendar_day(day));
    let others = [(State::Expired, "expired"), (State::NotYet, "not in force yet"), (State::Unknown, "without effect")];
    for words in number::nonzero(&others.map(|(state, words)| (of(state), words))) {
        rest += &format!(", {words}");
    }
    Phrase::from(mark).text(rest)
}

/// How to write an entry.
fn how_to(nothing: &str, command: &str, rest: &str) -> Phrase {
    Phrase::plain(format!("{nothing} ")).id(command).text(format!(" writes an entry into ledger/. {rest}"))
}

fn acceptances(catalog: &Catalog<'_>, all: Vec<(State, &Acceptance)>) -> Section {
    let (id, heading) = ("acceptances", "Accepted regressions");
    if all.is_empty() {
        let rest = "Have it reviewed, and commit it. The page of each event has the text, too.";
        let note = how_to("No regression is accepted.", "sprag release waive --event ID --reason TEXT", rest);
        return Section::new(id, heading).paragraph(note);
    }
    let rows = Rows::new("Accepted regressions: those in force first", all)
        .first(MOST)
        .column("Event", "nb", |(_, one)| Phrase::page_name(catalog.event_page(&one.event), words::name(&one.event)))
        .column("State", "push", |(state, one)| {
            mark(*state, catalog.event(&one.event).is_some_and(Event::is_open_regression))
        })
        .column("Accepted", "", |(_, one)| format!("up to {}", number::percent(one.at_most)))
        .column("Scope", "any", |(_, one)| words::name(&one.scope))
        .column("Still needed?", "any full", |(_, one)| effect(catalog.event(&one.event)));
    terms(catalog, rows, |(_, one)| &one.terms).section(id, heading, "", "")
}

fn effect(event: Option<&Event>) -> String {
    let Some(event) = event else { return "Unknown event: this entry has no effect.".to_owned() };
    let now = event.worst_ongoing().map_or_else(String::new, |worst| format!(", {} now", number::percent(worst)));
    match event.answer.as_ref().map(|answer| answer.kind) {
        None => "No longer needed: the event has no open regression.".to_owned(),
        Some(AnswerKind::Accepted) => format!("In effect{now}."),
        Some(AnswerKind::Exceeded) => format!("No effect: worse than accepted{now}."),
        Some(AnswerKind::BeyondScope) => format!("No effect: regressions outside the accepted scope{now}."),
        Some(AnswerKind::Expired) => format!("The regression is open again{now}."),
        Some(AnswerKind::NotYet) => format!("The regression is open until then{now}."),
    }
}

fn waivers(catalog: &Catalog<'_>, all: Vec<(State, &Waiver)>) -> Section {
    let heading = Phrase::plain("Waived items of ").link(link::RELEASE_LIST, "releases");
    if all.is_empty() {
        let command = "sprag release waive --release TAG --item ID --reason TEXT";
        let note = how_to("No item is waived.", command, "Have it reviewed, and commit it.");
        return Section::new("waivers", heading).paragraph(note);
    }
    let item = |(state, one): &(State, &Waiver)| {
        let unused = catalog.input.releases.unused_waivers.get(&one.terms.entry).filter(|_| *state == State::Unknown);
        let note = unused.map_or_else(Phrase::default, |what| sentence(what).text(": this entry has no effect."));
        Cell::noted(Phrase::code(words::name(&one.item)), note)
    };
    let rows = Rows::new("Waived items of releases: those in force first", all)
        .first(MOST)
        .column("Release", "", |(_, one)| Phrase::code(words::name(&one.release)))
        .column("State", "push", |(state, _)| mark(*state, *state == State::Expired))
        .column("Item", "any", item)
        .column("Target", "any", |(_, one)| one.target.as_deref().map_or_else(|| "all".to_owned(), words::name));
    terms(catalog, rows, |(_, one)| &one.terms).section("waivers", heading, "", "")
}

fn terms<T>(catalog: &Catalog<'_>, rows: Rows<T>, terms: impl Fn(&T) -> &Terms) -> Rows<T> {
    rows.column("Reason", "any full", |one| terms(one).reason.clone())
        .column("Author", "any full", |one| shortened(&terms(one).author, AUTHOR))
        .column("From", "nb", |one| date::calendar_day(terms(one).date))
        .column("Until", "nb", |one| date::calendar_day(terms(one).expires))
        .column("Commit", "", |one| cell::commit_link(catalog, &terms(one).commit))
        .column("Entry", "any opt2", |one| Phrase::code(words::name(&terms(one).entry.to_string())))
}

/// An expired entry is bad where its subject is still `open`.
fn mark(state: State, open: bool) -> Mark {
    match state {
        State::InForce => Mark::new(Tone::Doubt, "◆", state.word()),
        State::Expired if open => Mark::new(Tone::Worse, "●", state.word()),
        State::Expired => Mark::new(Tone::Plain, "=", state.word()),
        State::NotYet => Mark::new(Tone::Plain, "○", state.word()),
        State::Unknown => Mark::new(Tone::Doubt, "?", state.word()),
    }
}
