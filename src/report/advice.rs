//! What to do next, and what the open regressions of the history add to the verdict of the newest runs.

use chrono::Duration;

use super::mark::{Mark, Tone};
use super::number::{self, count, counted};
use super::phrase::{Fact, Part, Phrase};
use super::trend::{event, summary, words};
use super::{date, link};
use crate::text::short_benchmark;
use sprag_model::analysis::{Analysis, NoBaseline, SuiteAnalysis};
use sprag_model::event::{Event, EventKind, Member};
use sprag_model::run::RunStatus;
use sprag_model::trend::Trend;
use sprag_model::verdict::{Comparison, Verdict};

/// The most useful next step, worst news first: what the newest runs did, then open regressions of the history, then what would
/// settle doubts.
pub(super) fn next_step(analysis: &Analysis, trend: &Trend) -> Fact {
    let (answer, note) = step(analysis, trend);
    Fact::new("What now?", answer, note)
}

fn step(analysis: &Analysis, trend: &Trend) -> (Phrase, Phrase) {
    let place = |suite: &SuiteAnalysis| format!("{} on {}", suite.suite, suite.machine_name);
    if analysis.suites.is_empty() {
        return ("Measure".into(), Phrase::quoted("Run `sprag weekly` where the kernels are to be measured."));
    }
    if let Some((suite, worst)) = largest(analysis, &Verdict::Regressed) {
        let answer = Phrase::plain("Look at ").name(page_of(analysis, worst), short_benchmark(&worst.benchmark));
        let note = Phrase::plain(format!("The worst, in {}. If the change is intended, ", place(suite)));
        return (answer, note.join(Phrase::quoted("`sprag baseline accept --why TEXT` makes it the new baseline.")));
    }
    if let Some(suite) = analysis.suites.iter().find(|suite| suite.status == RunStatus::Failed) {
        let reason = suite.reason.as_deref().unwrap_or("no reason was recorded");
        return (format!("Fix {}", place(suite)).into(), reason.into());
    }
    let failure = analysis.suites.iter().find_map(|suite| Some((suite, suite.failures.first()?)));
    if let Some((suite, (benchmark, reason))) = failure {
        let answer = Phrase::plain("Fix ").id(short_benchmark(benchmark));
        return (answer, format!("In {}: {reason}", place(suite)).into());
    }
    if let Some((suite, missing)) = largest(analysis, &Verdict::Missing) {
        let answer = Phrase::plain("Find ").id(short_benchmark(&missing.benchmark));
        let note =
            format!("The baseline of {} has it, the newest run has not. If it was removed on purpose, ", place(suite));
        return (answer, Phrase::plain(note).join(Phrase::quoted("`sprag baseline accept --why TEXT` drops it.")));
    }
    if !analysis.history.quarantined.is_empty() {
        let note = "Quarantined records are left out; `git log -- history` says who changed them.";
        return ("Look at the history".into(), Phrase::quoted(note));
    }
    if !analysis.suites.iter().any(|suite| suite.status == RunStatus::Ok) {
        return ("Find out why nothing ran".into(), "Each suite below says what the machine lacks.".into());
    }
    unjudged_step(analysis, trend)
}

fn unjudged_step(analysis: &Analysis, trend: &Trend) -> (Phrase, Phrase) {
    let unusable = analysis.suites.iter().find_map(|suite| match &suite.baseline {
        Err(NoBaseline::Unusable { path, fault }) => Some((path, fault)),
        _ => None,
    });
    if let Some((path, fault)) = unusable {
        let note = Phrase::code(path.as_str()).text(format!(" {fault}. Fix it or move it away."));
        return ("Fix the baseline".into(), note);
    }
    let page = |id: &str| analysis.series.iter().any(|one| one.series.id == id).then(|| link::series(id));
    let count = |of: fn(&SuiteAnalysis) -> usize| analysis.suites.iter().map(of).sum::<usize>();
    let without = count(|suite| suite.counts.no_baseline);
    if let Some((answer, note)) = regression_step(trend, &page) {
        let metrics = number::counted(without, "metric has", "metrics have");
        let besides = format!("Besides, {metrics} no baseline: `sprag baseline emit` takes one.");
        return (answer, if without > 0 { note.then(Phrase::quoted(&besides)) } else { note });
    }
    let steps = [
        (without, "Take a baseline", "`sprag baseline emit` makes the newest run the baseline of later ones."),
        (
            count(|suite| suite.counts.not_comparable),
            "Renew the baseline",
            "The baseline was taken elsewhere. `sprag baseline emit` takes a new one in the present environment.",
        ),
        (count(|suite| suite.counts.inconclusive), "Measure longer", "Another run may decide: `sprag run --record`."),
        (
            count(|suite| suite.counts.improved),
            "Nothing to do",
            "To keep the gain from now on: `sprag baseline accept --why TEXT`.",
        ),
    ];
    let step = steps.into_iter().find(|(count, ..)| *count > 0);
    let (_, answer, note) = step.unwrap_or((0, "Nothing", "Wait for the next run."));
    (answer.into(), Phrase::quoted(note))
}

/// The comparison with the largest change of that verdict, over all suites; what is accepted is none of them.
pub(super) fn largest<'a>(analysis: &'a Analysis, verdict: &Verdict) -> Option<(&'a SuiteAnalysis, &'a Comparison)> {
    let size = |comparison: &Comparison| comparison.effect.map_or(0.0, |effect| effect.change.abs());
    analysis
        .suites
        .iter()
        .flat_map(|suite| suite.comparisons.iter().map(move |comparison| (suite, comparison)))
        .filter(|(_, comparison)| comparison.verdict == *verdict && !comparison.is_accepted())
        .reduce(|best, next| if size(next.1) > size(best.1) { next } else { best })
}

pub(super) fn page_of(analysis: &Analysis, comparison: &Comparison) -> Option<String> {
    let id = comparison.series.as_deref()?;
    analysis.series.iter().any(|series| series.series.id == id).then(|| link::series(id))
}

/// An event of so many days is new, and so many of these are named.
const RECENT: i64 = 28;
const NAMED: usize = 3;

/// The regressions of the history that are still present and that nobody accepts.
pub(super) fn open_regressions(trend: &Trend) -> impl Iterator<Item = &Event> {
    trend.events.iter().filter(|one| one.is_open_regression())
}

/// The verdict of the newest runs, with those regressions.
pub(super) fn headline(newest: Phrase, trend: &Trend) -> Phrase {
    let regressions = open_regressions(trend).count();
    if regressions == 0 {
        return newest;
    }
    let words = counted(regressions, "open regression", "open regressions");
    let is_bad = newest.parts.iter().any(|part| matches!(part, Part::Mark(mark) if mark.tone == Tone::Worse));
    if is_bad {
        return newest.text(format!("; {words}"));
    }
    Phrase::from(Mark::new(Tone::Worse, "▲", words)).text(";").then(newest)
}

/// How many series of the history are judged.
pub(super) fn coverage(trend: &Trend) -> Phrase {
    let total = counted(trend.coverage.total, "series is", "series are");
    match trend.coverage.total {
        0 => Phrase::default(),
        _ => format!("Over the history {} of {total} judged.", count(trend.coverage.judged)).into(),
    }
}

pub(super) fn recent_events(trend: &Trend) -> Phrase {
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
fn regression_step(trend: &Trend, page: &dyn Fn(&str) -> Option<String>) -> Option<(Phrase, Phrase)> {
    let size = |of: &Event| leading_member(of).and_then(|one| one.worse).unwrap_or(0.0);
    let worst = open_regressions(trend).reduce(|worst, next| if size(next) > size(worst) { next } else { worst })?;
    let answer = Phrase::plain("Look at ").link(link::event(&worst.id), worst.id.as_str());
    let Some(present) = leading_member(worst) else { return Some((answer, acceptance(worst))) };
    let answer = answer.text(", ").name(page(&present.series), words::name(short_benchmark(&present.benchmark)));
    let by = present.relative.as_ref().map_or_else(String::new, |by| number::percent_size(by.value) + " ");
    let since = match worst.kind {
        EventKind::Drift => worst.suspects.first().map_or(&worst.first_bad, |first| &first.commit),
        EventKind::Change | EventKind::Environment => &worst.first_bad,
    };
    let rank = match open_regressions(trend).count() {
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

fn acceptance(of: &Event) -> Phrase {
    if of.worst_ongoing().is_none() {
        return Phrase::plain("No relative change can be accepted, because a level of it was zero before.");
    }
    let command = format!("sprag release waive --event {} --reason TEXT", of.id);
    Phrase::plain("If it is intended, ").id(command).text(" writes the ledger entry that accepts it for a time.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use sprag_model::event::EventState;
    use sprag_model::verdict::Counts;

    /// What to do about the sample where the newest runs came to `verdict` alone, with and without the events of its history.
    fn check(verdict: &Verdict, change: impl FnOnce(&mut Analysis), expected: [&str; 2]) {
        let mut sample = sample_data::rich();
        sample.analysis.history.quarantined.clear();
        for suite in &mut sample.analysis.suites {
            suite.failures.clear();
            suite.baseline = Err(NoBaseline::Absent("baselines/cpu.json".to_owned()));
            suite.comparisons.iter_mut().for_each(|comparison| comparison.verdict = verdict.clone());
            suite.counts = Counts::from_comparisons(&suite.comparisons);
        }
        change(&mut sample.analysis);
        let result = |trend: &Trend| next_step(&sample.analysis, trend).answer.words();
        assert_eq!([result(&sample.trend), result(&Trend::default())], expected, "{verdict:?}");
    }

    #[test]
    fn open_regressions_come_after_bad_news_and_before_doubt() {
        let worst = "Look at e-7c1f03, tile_pack{n=4096} @fast";
        check(&Verdict::NoBaseline, |_| (), [worst, "Take a baseline"]);
        check(&Verdict::Inconclusive("noise".to_owned()), |_| (), [worst, "Measure longer"]);
        check(&Verdict::NotComparable("another".to_owned()), |_| (), [worst, "Renew the baseline"]);
        check(&Verdict::Improved, |_| (), [worst, "Nothing to do"]);
        check(&Verdict::Unchanged, |_| (), [worst, "Nothing"]);
        check(&Verdict::Regressed, |_| (), ["Look at fusion_gate{n=512} @fast"; 2]);
        check(&Verdict::Missing, |_| (), ["Find fusion_gate{n=512} @fast"; 2]);
        let failed = |analysis: &mut Analysis| analysis.suites[0].status = RunStatus::Failed;
        check(&Verdict::Unchanged, failed, ["Fix cpu on epyc-9354"; 2]);
        let skipped = |analysis: &mut Analysis| {
            analysis.suites.iter_mut().for_each(|suite| suite.status = RunStatus::Skipped);
        };
        check(&Verdict::NoBaseline, skipped, ["Find out why nothing ran"; 2]);
        check(&Verdict::NoBaseline, |analysis| analysis.suites.clear(), ["Measure"; 2]);
    }

    #[test]
    fn an_open_regression_leads_to_its_event_and_its_series() {
        let mut sample = sample_data::rich();
        sample.analysis.suites.retain(|suite| suite.status == RunStatus::Ok && suite.failures.is_empty());
        sample.analysis.suites.iter_mut().for_each(|suite| suite.comparisons.clear());
        sample.analysis.history.quarantined.clear();
        let step = next_step(&sample.analysis, &sample.trend);
        let links = step.answer.parts.iter().filter_map(|part| match part {
            Part::Link { to, .. } => Some(to.as_str()),
            _ => None,
        });
        let links: Vec<&str> = links.collect();
        assert!(links[0] == link::event("e-7c1f03") && links[1].starts_with("series/"), "{links:?}");
        assert!(!step.note.words().contains("baseline emit"), "{}", step.note.words());
        sample.analysis.suites[0].counts.no_baseline = 2;
        let words = next_step(&sample.analysis, &sample.trend).note.words();
        assert!(words.ends_with("Besides, 2 metrics have no baseline: sprag baseline emit takes one."), "{words}");
    }

    #[test]
    fn open_regressions_are_in_the_headline_whatever_the_newest_runs_say() {
        let calm = Phrase::from(Mark::new(Tone::Better, "=", "No change")).text(" in all 24 metrics");
        let bad = Phrase::from(Mark::new(Tone::Worse, "▲", "Regressed:")).text(" 1 metric");
        let mut trend = sample_data::rich().trend;
        let recent = |trend: &Trend| recent_events(trend).words().replace('\u{202f}', " ");
        assert_eq!(headline(calm.clone(), &trend).words(), "2 open regressions; No change in all 24 metrics");
        assert_eq!(headline(bad, &trend).words(), "Regressed: 1 metric; 2 open regressions");
        assert_eq!(recent(&trend), "Of the four weeks since 2 Nov 2026, 1 event is still present: e-7c1f03.");
        let one = trend.events[0].clone();
        trend.events.extend(std::iter::repeat_n(one, 4));
        assert!(recent(&trend).ends_with("e-7c1f03, e-7c1f03, e-7c1f03 and 2 more."));
        trend.events.iter_mut().for_each(|one| one.state = EventState::TakenBack { by: "e-000000".to_owned() });
        assert_eq!(headline(calm, &trend).words(), "No change in all 24 metrics");
        assert_eq!(recent(&trend), "No event of the four weeks since 2 Nov 2026 is still present.");
    }

    fn step_after(change: impl FnOnce(&mut Trend)) -> Option<(String, String)> {
        let mut trend = sample_data::rich().trend;
        change(&mut trend);
        let plain = |phrase: Phrase| phrase.words().replace('\u{202f}', " ");
        regression_step(&trend, &|_| None).map(|(answer, note)| (plain(answer), plain(note)))
    }

    #[test]
    fn the_worst_open_regression_comes_first() {
        insta::assert_debug_snapshot!(step_after(|_| ()));
        let alone = step_after(|trend| trend.events.retain(|one| one.id == "e-5b20d9")).expect("it is open");
        assert_eq!(alone.0, "Look at e-5b20d9, fusion_gate{n=512} @cuda_graph");
        let note = ", the only open regression. If it is intended, sprag release waive --event e-5b20d9";
        assert!(alone.1.contains(note), "{}", alone.1);
        // The other one got worse by more, and is listed behind it.
        let turned = step_after(|trend| {
            trend.events.reverse();
            trend.events.iter_mut().filter(|one| one.id == "e-5b20d9").for_each(|one| one.members[0].worse = Some(9.0));
        });
        assert_eq!(turned.expect("it is open").0, alone.0);
        assert_eq!(step_after(|trend| trend.events.retain(|one| !one.is_open_regression())), None);
    }

    #[test]
    fn nothing_is_accepted_of_a_level_of_zero() {
        let some = step_after(|trend| {
            let one = trend.events.iter_mut().find(|one| one.id == "e-7c1f03").expect("it is there");
            let mut other = one.members[0].clone();
            one.members.iter_mut().for_each(|member| member.standing = false);
            (other.benchmark, other.relative, other.worse) = ("cpu/other @fast".to_owned(), None, None);
            one.members.push(other);
            trend.events.retain(|one| one.id == "e-7c1f03");
        });
        let (answer, note) = some.expect("it is open");
        assert_eq!(answer, "Look at e-7c1f03, other @fast");
        assert!(note.contains(" it is changed since "), "{note}");
        assert!(note.ends_with("No relative change can be accepted, because a level of it was zero before."), "{note}");
    }
}
