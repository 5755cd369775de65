//! What the ledger says about regressions: about events of the history, and about what a gate finds.
//!
//! An acceptance covers a regression whose event is reported and still applies, if its scope holds the series. The
//! worsening must be no more than it accepts, as far as the interval goes. A gate also requires that the base of the
//! comparison lies before the event and the run after it: a later worsening has another cause. In doubt nothing is
//! accepted.

use std::collections::HashMap;

use chrono::NaiveDate;

use sprag_model::ledger::Acceptance;
use sprag_model::{
    Analysis, Answer, AnswerKind, Better, CommitLine, Comparison, Counts, Event, Ledger, Member, Scope, Subject,
    Verdict,
};

/// By how much rounding may take a change over what is accepted.
const ROUNDING: f64 = 1e-9;

pub struct Accepting<'a> {
    ledger: &'a Ledger,
    events: &'a [Event],
    places: HashMap<&'a str, usize>,
    day: NaiveDate,
}

#[derive(Clone, Copy, Debug)]
pub struct ComparedRun<'a> {
    pub machine: &'a str,
    pub machine_name: &'a str,
    /// The commit of the base that it is compared with.
    pub base: Option<&'a str>,
    pub commit: Option<&'a str>,
}

/// Writes to each event what the ledger says about it on a day.
pub fn answer_events(events: &mut [Event], ledger: &Ledger, day: NaiveDate) {
    for event in events {
        event.answer = of_event(event, ledger, day);
    }
}

/// What the ledger says about an event; `None` where it is not an ongoing regression.
fn of_event(event: &Event, ledger: &Ledger, day: NaiveDate) -> Option<Answer> {
    let acceptance = ledger.acceptance(&event.id, day).filter(|_| event.is_ongoing_regression())?;
    let scope = Scope::parse(&acceptance.scope);
    let holds = |one: &Member| scope.is_some_and(|scope| scope.has(subject(one), true));
    let mut open = event.members.iter().filter(|one| one.is_present && one.worse.is_none_or(|worse| worse > 0.0));
    let mut kind = AnswerKind::Accepted;
    if open.clone().any(|one| !holds(one)) {
        kind = AnswerKind::BeyondScope;
    } else if open.any(|one| exceeds(acceptance, least_of_member(one))) {
        kind = AnswerKind::Exceeded;
    }
    Some(Answer::new(acceptance, day, kind))
}

impl<'a> Accepting<'a> {
    /// What decides on a day, by the events that are reported along a line of commits.
    pub fn new(ledger: &'a Ledger, events: &'a [Event], line: &'a CommitLine, day: NaiveDate) -> Accepting<'a> {
        Accepting { ledger, events, places: line.positions(), day }
    }

    /// Writes to each regression of the newest runs what the ledger says about it, and updates the counts.
    pub fn answer_newest(&self, analysis: &mut Analysis) {
        for suite in &mut analysis.suites {
            let compared = ComparedRun {
                machine: &suite.machine,
                machine_name: &suite.machine_name,
                base: suite.baseline.as_ref().ok().and_then(|baseline| baseline.commit.as_deref()),
                commit: suite.commit.as_ref().map(|commit| commit.sha.as_str()),
            };
            self.answer(&compared, &mut suite.comparisons);
            suite.counts = Counts::from_comparisons(&suite.comparisons);
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
    pub fn answer(&self, compared: &ComparedRun<'_>, comparisons: &mut [Comparison]) {
        for one in comparisons {
            one.answer = self.of_comparison(compared, one).map(Box::new);
        }
    }

    /// What the ledger says to what a gate found: nothing but to a regression. Of several acceptances the one that accepts it.
    fn of_comparison(&self, compared: &ComparedRun<'_>, one: &Comparison) -> Option<Answer> {
        if one.verdict != Verdict::Regressed {
            return None;
        }
        let answers = self.events.iter().filter_map(|event| self.by_event(event, compared, one));
        answers.min_by_key(|answer| answer.kind)
    }

    fn by_event(&self, event: &Event, compared: &ComparedRun<'_>, one: &Comparison) -> Option<Answer> {
        let acceptance = self.ledger.acceptance(&event.id, self.day)?;
        if !event.is_ongoing_regression() || !self.lies_between(event, compared) {
            return None;
        }
        let is_it = |member: &&Member| {
            member.machine.id == compared.machine && member.benchmark == one.benchmark && member.metric == one.metric
        };
        let member = event.members.iter().find(is_it);
        if member.is_some_and(|member| !member.is_present) {
            return None;
        }
        let subject = Subject {
            benchmark: &one.benchmark,
            metric: &one.metric.name,
            machine: compared.machine,
            machine_name: compared.machine_name,
        };
        Scope::parse(&acceptance.scope).filter(|scope| scope.has(subject, member.is_some()))?;
        let kind =
            if exceeds(acceptance, least_of_comparison(one)) { AnswerKind::Exceeded } else { AnswerKind::Accepted };
        Some(Answer::new(acceptance, self.day, kind))
    }

    /// Whether an event lies between the two sides. It does not if a side or the event is not on the line of commits.
    fn lies_between(&self, event: &Event, compared: &ComparedRun<'_>) -> bool {
        let place = |sha: &str| self.places.get(sha).copied();
        let (Some(base), Some(commit)) = (compared.base.and_then(place), compared.commit.and_then(place)) else {
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

/// Whether a worsening of at least that much is more than is accepted; an unknown one is.
fn exceeds(acceptance: &Acceptance, least: Option<f64>) -> bool {
    !least.is_some_and(|least| least <= acceptance.at_most + ROUNDING)
}

fn least_of_member(member: &Member) -> Option<f64> {
    let level = member.relative?;
    let bound = if member.metric.better == Better::Lower { level.lower } else { level.upper };
    Some(turned(if bound.is_finite() { bound } else { level.value }, member.metric.better))
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::example::{MACHINE, events, line, noisy, sha};
    use sprag_model::ledger::example;
    use sprag_model::{Effect, EventKind, EventState, Level, Metric, NamedCommit};

    const EVENT: &str = "e-0a1b2c";

    fn named(place: usize) -> NamedCommit {
        NamedCommit { sha: sha(place), ..NamedCommit::default() }
    }

    /// An event between the commits 1 and 2, with one member that changed by so much.
    fn event((lower, value, upper): (f64, f64, f64)) -> Event {
        let mut event = events(vec![noisy("copy", 60, 1, &[(0, 1.0), (30, 1.15)], 3)]).remove(0);
        (event.id, event.last_good, event.first_bad) = (EVENT.to_owned(), Some(named(1)), named(2));
        event.members[0].relative = Some(Level { value, lower, upper });
        event
    }

    const SLOWER: (f64, f64, f64) = (0.14, 0.15, 0.16);

    /// One acceptance of the event, up to 25 %, in May.
    fn ledger(scope: &str) -> Ledger {
        let mut one = example::acceptance(EVENT, "2026-05-01", "2026-05-31");
        one.scope = scope.to_owned();
        Ledger { acceptances: vec![one], waivers: Vec::new() }
    }

    #[test]
    fn an_event_is_accepted_as_far_as_its_members_and_the_days_go() {
        let check = |mut event: Event, scope: &str, day: &str, expected: Option<AnswerKind>| {
            answer_events(std::slice::from_mut(&mut event), &ledger(scope), example::day(day));
            assert_eq!(event.answer.map(|answer| answer.kind), expected, "{scope} {day}");
        };
        check(event(SLOWER), "event", "2026-05-01", Some(AnswerKind::Accepted));
        check(event(SLOWER), "event", "2026-05-31", Some(AnswerKind::Accepted));
        check(event(SLOWER), "event", "2026-06-01", Some(AnswerKind::Expired));
        check(event(SLOWER), "event", "2026-04-30", Some(AnswerKind::NotYet));
        check(event(SLOWER), "cpu/scan", "2026-05-02", Some(AnswerKind::BeyondScope));
        check(event(SLOWER), "event on other", "2026-05-02", Some(AnswerKind::BeyondScope));
        check(event((0.26, 0.3, 0.4)), "event", "2026-05-02", Some(AnswerKind::Exceeded));
        // Its interval reaches to what is accepted: it may be no more.
        check(event((0.2, 0.3, 0.4)), "event", "2026-05-02", Some(AnswerKind::Accepted));
        // A level that was zero before has no share that could be within anything.
        let mut of_zero = event(SLOWER);
        (of_zero.members[0].relative, of_zero.members[0].worse) = (None, None);
        check(of_zero, "event", "2026-05-02", Some(AnswerKind::Exceeded));
        // A reverted event needs no acceptance.
        let mut gone = event(SLOWER);
        gone.state = EventState::Reverted { by: "e-ffffff".to_owned() };
        check(gone, "event", "2026-05-02", None);
    }

    /// What the ledger says on 2 May to a regression of `change`, with its interval, compared so against the commit `base`.
    fn answer_kind(
        events: &[Event],
        scope: &str,
        (base, commit): (Option<usize>, usize),
        (change, interval): (f64, Option<(f64, f64)>),
    ) -> Option<AnswerKind> {
        let (line, ledger, base, commit) = (line(5), ledger(scope), base.map(sha), sha(commit));
        let accepting = Accepting::new(&ledger, events, &line, example::day("2026-05-02"));
        let mut one = Comparison::bare("cpu/copy @fast", Metric::ratio(), "interval", Verdict::Regressed);
        one.baseline = Some(1.0);
        one.effect = Some(Effect { change, interval, detectable: None });
        let (base, commit) = (base.as_deref(), Some(commit.as_str()));
        let compared = ComparedRun { machine: MACHINE, machine_name: "bench-1", base, commit };
        accepting.answer(&compared, std::slice::from_mut(&mut one));
        one.answer.map(|answer| answer.kind)
    }

    const ACROSS: (Option<usize>, usize) = (Some(1), 2);

    const WORSE: (f64, Option<(f64, f64)>) = (0.15, Some((0.1, 0.2)));

    #[test]
    fn a_gate_accepts_what_the_event_between_its_sides_did() {
        let events = [event(SLOWER)];
        assert_eq!(answer_kind(&events, "event", ACROSS, WORSE), Some(AnswerKind::Accepted));
        assert_eq!(answer_kind(&events, "event", (Some(0), 4), WORSE), Some(AnswerKind::Accepted));
        assert_eq!(answer_kind(&events, "copy @fast on bench-1", ACROSS, WORSE), Some(AnswerKind::Accepted));
        assert_eq!(answer_kind(&events, "event", ACROSS, (0.3, Some((0.26, 0.34)))), Some(AnswerKind::Exceeded));
        assert_eq!(answer_kind(&events, "event", ACROSS, (0.3, None)), Some(AnswerKind::Exceeded));
        // That very size is within it.
        assert_eq!(answer_kind(&events, "event", ACROSS, (0.25, None)), Some(AnswerKind::Accepted));
        // Both sides lie after it or before it, or one of them is nowhere.
        for sides in [(Some(2), 4), (Some(0), 1), (None, 3), (Some(9), 3), (Some(0), 9)] {
            assert_eq!(answer_kind(&events, "event", sides, WORSE), None, "{sides:?}");
        }
        assert_eq!(answer_kind(&events, "cpu/scan", ACROSS, WORSE), None);
        assert_eq!(answer_kind(&[], "event", ACROSS, WORSE), None);
    }

    #[test]
    fn a_gate_accepts_nothing_that_the_event_does_not_cover() {
        let change = |change: &dyn Fn(&mut Event)| {
            let mut one = event(SLOWER);
            change(&mut one);
            answer_kind(&[one], "event", ACROSS, WORSE)
        };
        assert_eq!(change(&|_| {}), Some(AnswerKind::Accepted));
        assert_eq!(change(&|one| one.sure = false), None);
        assert_eq!(change(&|one| one.kind = EventKind::Environment), None);
        assert_eq!(change(&|one| one.members[0].is_present = false), None);
        assert_eq!(change(&|one| one.members[0].benchmark.push('x')), None);
        assert_eq!(change(&|one| one.members[0].machine.id.push('x')), None);
        // Of which nobody knows what was before, the first that has it must lie after the base.
        assert_eq!(change(&|one| one.last_good = None), Some(AnswerKind::Accepted));
        assert_eq!(change(&|one| (one.last_good, one.first_bad) = (None, named(1))), None);
        assert_eq!(change(&|one| one.last_good = Some(named(9))), None);
    }

    #[test]
    fn only_a_regression_is_ever_answered() {
        let (ledger, line) = (ledger("event"), CommitLine::default());
        let events = [event(SLOWER)];
        let accepting = Accepting::new(&ledger, &events, &line, example::day("2026-05-02"));
        let compared = ComparedRun { machine: MACHINE, machine_name: "bench-1", base: None, commit: None };
        let verdicts =
            [Verdict::Missing, Verdict::Inconclusive("x".to_owned()), Verdict::NoBaseline, Verdict::Improved];
        let mut all = verdicts.map(|verdict| Comparison::bare("cpu/copy @fast", Metric::ratio(), "interval", verdict));
        accepting.answer(&compared, &mut all);
        assert!(all.iter().all(|one| one.answer.is_none()));
    }

    #[test]
    fn where_more_is_better_less_is_worse() {
        assert!((turned(-0.2, Better::Higher) - 0.25).abs() < 1e-12);
        assert!((turned(0.25, Better::Lower) - 0.25).abs() < 1e-12);
        assert!(turned(-1.0, Better::Higher).is_infinite(), "what is gone is endlessly worse");
    }
}
