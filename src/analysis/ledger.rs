//! What the ledger says to regressions: to events of the history, and to what a gate finds.
//!
//! An acceptance answers for a regression where its event is told and still stands, its scope holds the series, and what got
//! worse is no more than it accepts, as far as the interval goes. A gate asks further that what it holds a run against lies
//! before the event and the run after it: what got worse since has another cause. In doubt nothing is accepted.

use std::collections::HashMap;

use chrono::NaiveDate;

use crate::model::analysis::Analysis;
use crate::model::commit::CommitLine;
use crate::model::event::{Event, Member};
use crate::model::ledger::answer::{Answer, Standing};
use crate::model::ledger::scope::{Scope, Subject};
use crate::model::ledger::{Acceptance, Ledger};
use crate::model::metric::Better;
use crate::model::verdict::{Comparison, Counts, Verdict};

/// By how much rounding may take a change over what is accepted.
const ROUNDING: f64 = 1e-9;

/// What decides about a regression.
pub struct Accepting<'a> {
    ledger: &'a Ledger,
    events: &'a [Event],
    places: HashMap<&'a str, usize>,
    day: NaiveDate,
}

/// Which run was held against what.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// The id of the machine.
    pub machine: &'a str,
    /// What people call it.
    pub machine_name: &'a str,
    /// The commit of what it is held against.
    pub base: Option<&'a str>,
    /// The commit that was measured.
    pub commit: Option<&'a str>,
}

/// Writes to each event what the ledger says to it on a day.
pub fn tell_events(events: &mut [Event], ledger: &Ledger, day: NaiveDate) {
    for event in events {
        event.answer = of_event(event, ledger, day);
    }
}

/// What the ledger says to an event: nothing where it stands for no regression.
fn of_event(event: &Event, ledger: &Ledger, day: NaiveDate) -> Option<Answer> {
    let acceptance = ledger.acceptance(&event.id, day).filter(|_| event.is_standing_regression())?;
    let scope = Scope::parse(&acceptance.scope);
    let holds = |one: &Member| scope.is_some_and(|scope| scope.has(subject(one), true));
    let mut open = event.members.iter().filter(|one| one.standing && one.worse.is_none_or(|worse| worse > 0.0));
    let mut standing = Standing::Accepted;
    if open.clone().any(|one| !holds(one)) {
        standing = Standing::BeyondScope;
    } else if open.any(|one| exceeds(acceptance, least_of_member(one))) {
        standing = Standing::Exceeded;
    }
    Some(Answer::of(acceptance, day, standing))
}

impl<'a> Accepting<'a> {
    /// What decides on a day, by the events that are told along a line of commits.
    pub fn new(ledger: &'a Ledger, events: &'a [Event], line: &'a CommitLine, day: NaiveDate) -> Accepting<'a> {
        Accepting { ledger, events, places: line.positions(), day }
    }

    /// Writes to each regression of the newest runs what the ledger says to it, and counts anew.
    pub fn tell_newest(&self, analysis: &mut Analysis) {
        for suite in &mut analysis.suites {
            let held = Held {
                machine: &suite.machine,
                machine_name: &suite.machine_name,
                base: suite.baseline.as_ref().ok().and_then(|baseline| baseline.commit.as_deref()),
                commit: suite.commit.as_ref().map(|commit| commit.sha.as_str()),
            };
            self.tell(&held, &mut suite.comparisons);
            suite.counts = Counts::of(&suite.comparisons);
        }
        let by_suite: HashMap<(&str, &str), &[Comparison]> = analysis
            .suites
            .iter()
            .map(|suite| ((suite.machine.as_str(), suite.suite.as_str()), suite.comparisons.as_slice()))
            .collect();
        for one in &mut analysis.series {
            let place = (one.series.machine.as_str(), one.series.suite.as_str());
            let Some((own, all)) = one.comparison.as_mut().zip(by_suite.get(&place)) else { continue };
            let is_same = |other: &&Comparison| other.benchmark == own.benchmark && other.metric == own.metric;
            own.answer = all.iter().find(is_same).and_then(|same| same.answer.clone());
        }
    }

    /// Writes to each regression among some comparisons what the ledger says to it.
    pub fn tell(&self, held: &Held<'_>, comparisons: &mut [Comparison]) {
        for one in comparisons {
            one.answer = self.of_comparison(held, one).map(Box::new);
        }
    }

    /// What the ledger says to what a gate found: nothing but to a regression. Of several acceptances the one that accepts it.
    fn of_comparison(&self, held: &Held<'_>, one: &Comparison) -> Option<Answer> {
        if one.verdict != Verdict::Regressed {
            return None;
        }
        let answers = self.events.iter().filter_map(|event| self.by_event(event, held, one));
        answers.min_by_key(|answer| answer.standing)
    }

    fn by_event(&self, event: &Event, held: &Held<'_>, one: &Comparison) -> Option<Answer> {
        let acceptance = self.ledger.acceptance(&event.id, self.day)?;
        if !event.is_standing_regression() || !self.lies_between(event, held) {
            return None;
        }
        let is_it = |member: &&Member| {
            member.machine.id == held.machine && member.benchmark == one.benchmark && member.metric == one.metric
        };
        let member = event.members.iter().find(is_it);
        if member.is_some_and(|member| !member.standing) {
            return None;
        }
        let subject = Subject {
            benchmark: &one.benchmark,
            metric: &one.metric.name,
            machine: held.machine,
            machine_name: held.machine_name,
        };
        Scope::parse(&acceptance.scope).filter(|scope| scope.has(subject, member.is_some()))?;
        let standing =
            if exceeds(acceptance, least_of_comparison(one)) { Standing::Exceeded } else { Standing::Accepted };
        Some(Answer::of(acceptance, self.day, standing))
    }

    /// Whether an event lies between the two sides. What stands on no line of commits cannot be told to.
    fn lies_between(&self, event: &Event, held: &Held<'_>) -> bool {
        let place = |sha: &str| self.places.get(sha).copied();
        let (Some(base), Some(commit)) = (held.base.and_then(place), held.commit.and_then(place)) else {
            return false;
        };
        match event.last_good.as_ref().map(|good| place(&good.sha)) {
            Some(Some(good)) => base <= good && good < commit,
            Some(None) => false,
            None => place(&event.first_bad.sha).is_some_and(|bad| base < bad && bad <= commit),
        }
    }
}

fn subject(member: &Member) -> Subject<'_> {
    Subject {
        benchmark: &member.benchmark,
        metric: &member.metric.name,
        machine: &member.machine.id,
        machine_name: &member.machine.name,
    }
}

/// Whether what got worse by that much at least is more than is accepted; what cannot be told is.
fn exceeds(acceptance: &Acceptance, least: Option<f64>) -> bool {
    !least.is_some_and(|least| least <= acceptance.at_most + ROUNDING)
}

/// By how much a member got worse at least.
fn least_of_member(member: &Member) -> Option<f64> {
    let level = member.relative?;
    let bound = if member.metric.better == Better::Lower { level.lower } else { level.upper };
    Some(turned(if bound.is_finite() { bound } else { level.value }, member.metric.better))
}

/// By how much a comparison got worse at least.
fn least_of_comparison(one: &Comparison) -> Option<f64> {
    let effect = one.effect.filter(|_| one.baseline != Some(0.0))?;
    let nearest = |(low, high)| if one.metric.better == Better::Lower { low } else { high };
    let bound = one.interval().map(nearest).filter(|bound: &f64| bound.is_finite());
    Some(turned(bound.unwrap_or(effect.change), one.metric.better))
}

/// A change such that positive is worse: after over before less 1, or before over after less 1 where larger is better.
fn turned(change: f64, better: Better) -> f64 {
    match better {
        Better::Lower => change,
        Better::Higher => 1.0 / (1.0 + change).max(0.0) - 1.0,
    }
}
