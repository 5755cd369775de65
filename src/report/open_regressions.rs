//! The open regressions of the history, as the digest shows them with the newest runs: in its headline, its answers and its advice.
//!
//! The page and the Markdown say the same.

use chrono::Duration;

use super::mark::{Mark, Tone};
use super::number::{self, count, counted};
use super::phrase::{Part, Phrase};
use super::trend::{event, summary, words};
use super::{date, link};
use crate::phrase::Fact;
use crate::text::short_benchmark;
use sprag_model::event::{Event, EventKind, Member};
use sprag_model::trend::Trend;

/// An event of so many days is new.
const RECENT: i64 = 28;

/// The new events that a fact names.
const NAMED: usize = 3;

/// The regressions of the history that are still present and that nobody accepts.
pub(super) fn open(trend: &Trend) -> impl Iterator<Item = &Event> {
    trend.events.iter().filter(|one| one.is_open_regression())
}

/// The verdict of the newest runs, with those regressions.
pub(super) fn headline(newest: Phrase, trend: &Trend) -> Phrase {
    let regressions = open(trend).count();
    if regressions == 0 {
        return newest;
    }
    let words = counted(regressions, "open regression", "open regressions");
    let is_bad = newest.parts.iter().any(|part| matches!(part, Part::Mark(mark) if mark.tone == Tone::Worse));
    if is_bad {
        return newest.text(format!("; {words}"));
    }
    Phrase::default().mark(Mark::new(Tone::Worse, "▲", words)).text(";").then(newest)
}

/// Adds to the answers of the digest what the history says to the same questions.
pub(super) fn complete(facts: Vec<Fact>, trend: &Trend) -> Vec<Fact> {
    let coverage = &trend.coverage;
    let judged = Phrase::plain(format!(
        "Over the history {} of {} judged.",
        count(coverage.judged),
        counted(coverage.total, "series is", "series are")
    ));
    facts
        .into_iter()
        .map(|fact| match fact.question {
            "Is it complete?" if coverage.total > 0 => Fact { note: fact.note.then(judged.clone()), ..fact },
            "Did anything change?" => Fact { note: fact.note.then(recent(trend)), ..fact },
            _ => fact,
        })
        .collect()
}

/// The new events that are still present.
fn recent(trend: &Trend) -> Phrase {
    let Some(as_of) = trend.as_of else { return Phrase::default() };
    let from = as_of - Duration::days(RECENT);
    let new = trend.events.iter().filter(|one| summary::is_listed(one) && one.since >= from);
    let new: Vec<&Event> = new.collect();
    if new.is_empty() {
        return Phrase::plain(format!("No event of the four weeks since {} is still present.", date::day(from)));
    }
    let present = counted(new.len(), "event is", "events are");
    let mut words = Phrase::plain(format!("Of the four weeks since {}, {present} still present: ", date::day(from)));
    for (place, one) in new.iter().take(NAMED).enumerate() {
        words = words.text(if place == 0 { "" } else { ", " }).link(link::event(&one.id), one.id.as_str());
    }
    let more = new.len().saturating_sub(NAMED);
    words.text(if more > 0 { format!(" and {} more.", count(more)) } else { ".".to_owned() })
}

/// What to do about the worst open regression, and why; nothing where there is none. `page` is that of a series.
pub(super) fn next_step(trend: &Trend, page: &dyn Fn(&str) -> Option<String>) -> Option<(Phrase, Phrase)> {
    let size = |of: &Event| leading_member(of).and_then(|one| one.worse).unwrap_or(0.0);
    let worst = open(trend).reduce(|worst, next| if size(next) > size(worst) { next } else { worst })?;
    let answer = Phrase::plain("Look at ").link(link::event(&worst.id), worst.id.as_str());
    let Some(present) = leading_member(worst) else { return Some((answer, acceptance(worst))) };
    let answer = answer.text(", ").name(page(&present.series), words::name(short_benchmark(&present.benchmark)));
    let by = present.relative.as_ref().map_or_else(String::new, |by| number::percent_size(by.value) + " ");
    let since = match worst.kind {
        EventKind::Drift => worst.suspects.first().map_or(&worst.first_bad, |first| &first.commit),
        EventKind::Change | EventKind::Environment => &worst.first_bad,
    };
    let rank = match open(trend).count() {
        1 => "the only open regression".to_owned(),
        all => format!("the worst of {} open regressions", count(all)),
    };
    let why = Phrase::plain(format!(
        "In {} on {} it is {by}{} since ",
        words::name(&present.suite),
        words::name(&present.machine.name),
        words::way(&present.metric, present.worse)
    ))
    .id(words::name(since.short()))
    .text(format!(", {rank}."));
    Some((answer, why.then(acceptance(worst))))
}

/// The member that got worst of those still at their new level; else the one that names the event.
fn leading_member(of: &Event) -> Option<&Member> {
    of.members.iter().find(|one| one.standing).or_else(|| event::lead(of))
}

/// How a regression is agreed to, if it can be.
fn acceptance(of: &Event) -> Phrase {
    if of.worst_ongoing().is_none() {
        return Phrase::plain("No relative change can be accepted, because a level of it was zero before.");
    }
    Phrase::plain("If it is intended, ")
        .id(format!("sprag release waive --event {} --reason TEXT", of.id))
        .text(" writes the ledger entry that accepts it for a time.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data::{self, Sample};
    use sprag_model::event::EventState;

    fn changed(change: impl FnOnce(&mut Sample)) -> Trend {
        let mut sample = sample_data::rich();
        change(&mut sample);
        sample.trend
    }

    /// The words for a changed sample: its headline after one of the newest runs, and what is new.
    fn result(newest: Phrase, change: impl FnOnce(&mut Sample)) -> (String, String) {
        let trend = changed(change);
        (headline(newest, &trend).words(), recent(&trend).words().replace('\u{202f}', " "))
    }

    #[test]
    fn a_regression_of_the_history_is_in_the_headline_whatever_the_newest_runs_say() {
        let calm = || Phrase::default().mark(Mark::new(Tone::Better, "=", "No change")).text(" in all 24 metrics");
        let bad = || Phrase::default().mark(Mark::new(Tone::Worse, "▲", "Regressed:")).text(" 1 metric");
        let since = "Of the four weeks since 2 Nov 2026, 1 event is still present: e-7c1f03.";
        assert_eq!(
            result(calm(), |_| ()),
            ("2 open regressions; No change in all 24 metrics".to_owned(), since.to_owned())
        );
        assert_eq!(result(bad(), |_| ()), ("Regressed: 1 metric; 2 open regressions".to_owned(), since.to_owned()));
        let all_gone = |sample: &mut Sample| {
            for event in &mut sample.trend.events {
                event.state = EventState::TakenBack { by: "e-000000".to_owned() };
            }
        };
        let none = "No event of the four weeks since 2 Nov 2026 is still present.";
        assert_eq!(result(calm(), all_gone), ("No change in all 24 metrics".to_owned(), none.to_owned()));
        let many = |sample: &mut Sample| {
            let one = sample.trend.events[0].clone();
            sample.trend.events.extend(std::iter::repeat_n(one, 4));
        };
        assert!(result(calm(), many).1.ends_with("e-7c1f03, e-7c1f03, e-7c1f03 and 2 more."));
    }

    /// What to do about a changed trend, in words.
    fn step(change: impl FnOnce(&mut Trend)) -> Option<(String, String)> {
        let mut trend = sample_data::rich().trend;
        change(&mut trend);
        let plain = |phrase: Phrase| phrase.words().replace('\u{202f}', " ");
        next_step(&trend, &|_| None).map(|(answer, note)| (plain(answer), plain(note)))
    }

    #[test]
    fn the_worst_open_regression_is_what_to_look_at() {
        let all = step(|_| ());
        insta::assert_debug_snapshot!(all);
        let alone = step(|trend| trend.events.retain(|one| one.id == "e-5b20d9")).expect("it stands");
        assert_eq!(alone.0, "Look at e-5b20d9, fusion_gate{n=512} @cuda_graph");
        assert!(
            alone.1.contains(", the only open regression. If it is intended, sprag release waive --event e-5b20d9")
        );
        // The other one got worse by more, and is listed behind it.
        let turned = step(|trend| {
            trend.events.reverse();
            trend.events.iter_mut().filter(|one| one.id == "e-5b20d9").for_each(|one| one.members[0].worse = Some(9.0));
        });
        assert_eq!(turned.expect("it stands").0, alone.0);
        assert_eq!(step(|trend| trend.events.retain(|one| !one.is_open_regression())), None);
    }

    #[test]
    fn what_came_back_does_not_name_an_event_and_nothing_is_accepted_of_a_level_of_zero() {
        let some = step(|trend| {
            let one = trend.events.iter_mut().find(|one| one.id == "e-7c1f03").expect("it is there");
            let mut other = one.members[0].clone();
            one.members.iter_mut().for_each(|member| member.standing = false);
            other.benchmark = "cpu/other @fast".to_owned();
            other.relative = None;
            other.worse = None;
            one.members.push(other);
            trend.events.retain(|one| one.id == "e-7c1f03");
        });
        let (answer, note) = some.expect("it stands");
        assert_eq!(answer, "Look at e-7c1f03, other @fast");
        assert!(note.contains(" it is changed since "), "{note}");
        assert!(note.ends_with("No relative change can be accepted, because a level of it was zero before."), "{note}");
    }
}
