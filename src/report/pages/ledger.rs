//! The ledger: who accepted which regression, and who waived which item of a release, why, and until when.

use askama::Template;
use chrono::NaiveDate;

use super::frame::{Frame, Part, page};
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::pages::release_items::sentence;
use crate::phrase::Phrase;
use crate::text::{short_commit, shortened};
use crate::trend::words;
use crate::{ReportError, date, link};
use sprag_model::event::Event;
use sprag_model::ledger::answer::Standing;
use sprag_model::ledger::{Acceptance, State, Terms, Waiver};
use sprag_model::page::Page;

/// The entries of a kind that are listed.
const MOST: usize = 200;

/// The longest author, in characters.
const AUTHOR: usize = 120;

#[derive(Template)]
#[template(path = "ledger.html")]
struct LedgerPage {
    frame: Frame,
    headline: Phrase,
    acceptances: Vec<AcceptanceRow>,
    acceptances_rest: String,
    waivers: Vec<WaiverRow>,
    waivers_rest: String,
}

/// What acceptances and waivers have in common.
struct Common {
    state: Mark,
    reason: String,
    author: String,
    date: String,
    expires: String,
    commit: String,
    commit_page: String,
    entry: String,
}

struct AcceptanceRow {
    event: String,
    page: String,
    scope: String,
    at_most: String,
    /// Whether it is still needed, and whether it holds.
    effect: Phrase,
    common: Common,
}

struct WaiverRow {
    release: String,
    item: String,
    target: String,
    /// What of it there is not.
    astray: Option<Phrase>,
    common: Common,
}

pub(crate) fn ledger(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let day = catalog.today;
    let state = |one: &Acceptance| one.state_among(day, |event| catalog.event(event).is_some());
    let mut accepted: Vec<&Acceptance> = catalog.ledger.acceptances.iter().collect();
    accepted.sort_by_key(|one| (state(one), one.terms.expires, &one.event));
    let mut waived: Vec<&Waiver> = catalog.ledger.waivers.iter().collect();
    let astray = |one: &Waiver| catalog.releases.astray.get(&one.terms.entry);
    let waiver_state = |one: &Waiver| match one.terms.state(day) {
        // What is over is no longer anybody's mistake.
        State::Expired => State::Expired,
        state => {
            if astray(one).is_some() {
                State::Unknown
            } else {
                state
            }
        }
    };
    waived.sort_by_key(|one| (waiver_state(one), one.terms.expires, &one.release, &one.item, &one.target));
    let headline = headline(
        accepted.iter().map(|one| state(one)).chain(waived.iter().map(|one| waiver_state(one))).collect(),
        day,
    );
    let rest = |all: usize| match all.saturating_sub(MOST) {
        0 => String::new(),
        more => format!("{} more are not listed here.", count(more)),
    };
    let template = LedgerPage {
        // It says what is accepted, and nothing of the newest run.
        frame: Frame::new(catalog, link::LEDGER, Part::About, "Ledger".to_owned(), headline.words())
            .of_one(catalog, None),
        headline,
        acceptances: accepted.iter().take(MOST).map(|one| acceptance(catalog, one, state(one))).collect(),
        acceptances_rest: rest(accepted.len()),
        waivers: waived.iter().take(MOST).map(|one| waiver(catalog, one, waiver_state(one))).collect(),
        waivers_rest: rest(waived.len()),
    };
    page(link::LEDGER.to_owned(), &template)
}

/// How many entries hold on a day.
fn headline(states: Vec<State>, day: NaiveDate) -> Phrase {
    let of = |state: State| states.iter().filter(|one| **one == state).count();
    if states.is_empty() {
        return Phrase::plain("Nothing is accepted or waived");
    }
    let held = counted(of(State::InForce), "entry is in force", "entries are in force");
    let mark = if of(State::InForce) > 0 {
        Mark::new(Tone::Doubt, "◆", held)
    } else {
        Mark::new(Tone::Plain, "=", "No entry is in force")
    };
    let mut rest = format!(" on {}", date::calendar_day(day));
    for (state, words) in
        [(State::Expired, "expired"), (State::NotYet, "yet to come"), (State::Unknown, "of nothing known")]
    {
        if of(state) > 0 {
            rest += &format!(", {} {words}", count(of(state)));
        }
    }
    Phrase::default().mark(mark).text(rest)
}

fn acceptance(catalog: &Catalog<'_>, of: &Acceptance, state: State) -> AcceptanceRow {
    let event = catalog.event(&of.event);
    AcceptanceRow {
        event: words::name(&of.event),
        page: catalog.event_page(&of.event).unwrap_or_default(),
        scope: words::name(&of.scope),
        at_most: number::percent(of.at_most),
        effect: effect(event),
        common: common(catalog, mark(state, event.is_some_and(Event::is_open_regression)), &of.terms),
    }
}

/// Whether an acceptance is still needed, and whether it holds.
fn effect(event: Option<&Event>) -> Phrase {
    let Some(event) = event else {
        return Phrase::plain("No such event is told: it answers for nothing.");
    };
    let now = event.worst_ongoing().map_or_else(String::new, |worst| format!(", {} now", number::percent(worst)));
    let standing = event.answer.as_ref().map(|answer| answer.standing);
    Phrase::plain(match standing {
        None => "No longer needed: no regression of the event stands.".to_owned(),
        Some(Standing::Accepted) => format!("Holds{now}."),
        Some(Standing::Exceeded) => format!("Does not hold: worse than is accepted{now}."),
        Some(Standing::BeyondScope) => format!("Does not hold: more got worse than its scope has{now}."),
        Some(Standing::Expired) => format!("The regression is open again{now}."),
        Some(Standing::NotYet) => format!("The regression is open until then{now}."),
    })
}

fn waiver(catalog: &Catalog<'_>, of: &Waiver, state: State) -> WaiverRow {
    WaiverRow {
        release: words::name(&of.release),
        item: words::name(&of.item),
        target: of.target.as_deref().map_or_else(|| "all".to_owned(), words::name),
        astray: catalog
            .releases
            .astray
            .get(&of.terms.entry)
            .filter(|_| state == State::Unknown)
            .map(|what| sentence(what)),
        common: common(catalog, mark(state, state == State::Expired), &of.terms),
    }
}

fn common(catalog: &Catalog<'_>, state: Mark, of: &Terms) -> Common {
    Common {
        state,
        reason: of.reason.clone(),
        author: shortened(&of.author, AUTHOR),
        date: date::calendar_day(of.date),
        expires: date::calendar_day(of.expires),
        commit: short_commit(&of.commit).to_owned(),
        commit_page: catalog.commit_page(&of.commit).unwrap_or_default(),
        entry: words::name(&of.entry.to_string()),
    }
}

/// The mark of a state; an entry that no longer holds is bad where what it was about is `open`.
fn mark(state: State, open: bool) -> Mark {
    match state {
        State::InForce => Mark::new(Tone::Doubt, "◆", state.word()),
        State::Expired if open => Mark::new(Tone::Worse, "●", state.word()),
        State::Expired => Mark::new(Tone::Plain, "=", state.word()),
        State::NotYet => Mark::new(Tone::Plain, "○", state.word()),
        State::Unknown => Mark::new(Tone::Doubt, "?", state.word()),
    }
}
