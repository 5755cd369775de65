//! The verdict in sentences: the headline, the line below it, and the four questions of a weekly build, of which the last is what
//! to do next. The digest page and its Markdown show the same.

use chrono::Duration;

use super::mark::{self, Mark, Tone, better_word, worse_word};
use super::phrase::{Fact, Part, Phrase};
use super::{date, link};
use crate::number::{self, count, counted};
use crate::text::{capital, short_benchmark, shortened};
use crate::trend::{event, summary as trend_summary, words};
use sprag_model::{
    Analysis, Comparison, Counts, Direction, Event, EventKind, Member, NoBaseline, RunStatus, SuiteAnalysis, Trend,
    Verdict,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub headline: Phrase,
    pub lede: Phrase,
    /// Did it run, is it complete, did anything change, what now.
    pub facts: Vec<Fact>,
}

/// Sums up the findings: those of the newest runs, with the open regressions of the history.
pub fn summarise(analysis: &Analysis, trend: &Trend) -> Summary {
    let totals = Totals::new(analysis);
    Summary {
        headline: match totals.is_of_trends(trend) {
            true => of_trends(trend),
            false => with_regressions(headline(&totals), trend),
        },
        lede: lede(analysis, &totals),
        facts: vec![
            ran(analysis, &totals),
            complete(&totals, trend),
            changed(analysis, &totals, trend),
            next_step(analysis, trend),
        ],
    }
}

/// The suites of which the newest run is older than the schedule allows, seen from the newest run of all.
pub fn late_suites(analysis: &Analysis) -> Vec<&SuiteAnalysis> {
    let Some(as_of) = analysis.as_of else { return Vec::new() };
    let allowed = i64::from(analysis.every_days);
    // Imported suites have no schedule.
    let own = analysis.suites.iter().filter(|suite| !suite.imported);
    own.filter(|suite| (as_of - suite.last).num_days() > allowed).collect()
}

struct Totals {
    counts: Counts,
    suites: usize,
    ran: usize,
    skipped: usize,
    failed: usize,
    failures: usize,
    slower: &'static str,
    faster: &'static str,
    median_detectable: Option<f64>,
}

impl Totals {
    fn new(analysis: &Analysis) -> Totals {
        let suites = &analysis.suites;
        let of_status = |status: RunStatus| suites.iter().filter(|suite| suite.status == status).count();
        let comparisons = || suites.iter().flat_map(|suite| &suite.comparisons);
        let [slower, faster] = mark::words(comparisons().map(|one| &one.metric));
        Totals {
            counts: counts(analysis),
            suites: suites.len(),
            ran: of_status(RunStatus::Ok),
            skipped: of_status(RunStatus::Skipped),
            failed: of_status(RunStatus::Failed),
            failures: suites.iter().map(|suite| suite.failures.len()).sum(),
            slower,
            faster,
            median_detectable: detectable(analysis).map(|[_, median, _]| median),
        }
    }

    /// Whether every suite ran and none has a baseline, so that the trends have the news.
    fn is_of_trends(&self, trend: &Trend) -> bool {
        let is_fine = self.ran > 0 && self.failed == 0 && self.failures == 0;
        is_fine
            && self.counts.no_baseline > 0
            && self.counts.no_baseline == self.counts.total()
            && trend.coverage.judged > 0
    }
}

/// The verdicts of the newest runs.
pub(super) fn counts(analysis: &Analysis) -> Counts {
    analysis.suites.iter().fold(Counts::default(), |sum, suite| sum.plus(suite.counts))
}

pub(super) fn judged(counts: &Counts) -> String {
    format!("{} of {} judged", count(counts.judged()), count(counts.total()))
}

/// The smallest, the median and the largest minimum detectable effect of the gate.
pub(super) fn detectable(analysis: &Analysis) -> Option<[f64; 3]> {
    let comparisons = analysis.suites.iter().flat_map(|suite| &suite.comparisons);
    number::range(comparisons.filter_map(|one| one.effect?.detectable))
}

/// The same of the trends that were examined.
pub(super) fn detectable_in(trend: &Trend) -> Option<[f64; 3]> {
    let examined = trend.series.iter().filter(|one| one.not_judged.is_empty());
    number::range(examined.filter_map(|one| one.detectable))
}

/// What is present; where nothing is, of how many series, and what size of change could show.
fn of_trends(trend: &Trend) -> Phrase {
    let present = trend_summary::present(trend);
    if trend.events.iter().any(trend_summary::is_listed) {
        return present;
    }
    let size = match detectable_in(trend) {
        Some([_, median, _]) => format!("; the median minimum detectable effect is {}", number::percent_size(median)),
        None => String::new(),
    };
    present.text(format!(" in {}{size}", counted(trend.coverage.judged, "examined series", "examined series")))
}

/// Where the median minimum detectable effect is above this, `No change` is not good news.
const COARSE: f64 = 0.1;

fn headline(totals: &Totals) -> Phrase {
    let Totals { counts, slower, .. } = totals;
    let (judged, total) = (counts.judged(), counts.total());
    let of_judged = format!("of {} judged {}", count(judged), if judged == 1 { "metric" } else { "metrics" });
    let suites = |one: &str, many: &str| counted(totals.suites, one, many);
    let faster = format!("{}:", capital(totals.faster));
    if totals.suites == 0 {
        return Phrase::plain("No runs yet: there is nothing to report");
    }
    let (tone, glyph, word, rest) = if counts.regressed > 0 {
        (Tone::Worse, "▲", "Regressed:", format!("{} {of_judged} got {slower}", count(counts.regressed)))
    } else if totals.failed > 0 {
        (Tone::Worse, "✕", "Failed:", format!("{} of {} broke", totals.failed, suites("suite", "suites")))
    } else if totals.failures > 0 {
        let benchmarks = counted(totals.failures, "benchmark", "benchmarks");
        (Tone::Worse, "✕", "Failed:", format!("{benchmarks} did not give a result"))
    } else if counts.missing > 0 {
        let what = counted(counts.missing, "metric of the baseline was", "metrics of the baseline were");
        (Tone::Worse, "–", "Missing:", format!("{what} not measured"))
    } else if totals.ran == 0 {
        (Tone::Doubt, "○", "Not measured:", format!("{} skipped", suites("suite was", "suites were")))
    } else if judged == 0 {
        (Tone::Doubt, "?", "Not judged:", format!("{} no verdict", counted(total, "metric has", "metrics have")))
    } else if counts.accepted > 0 {
        let rest = format!("{} {of_judged} got {slower}, as accepted", count(counts.accepted));
        (Tone::Doubt, "◆", "Accepted:", rest)
    } else if counts.improved > 0 {
        let tone = if totals.median_detectable.is_some_and(|size| size <= COARSE) { Tone::Better } else { Tone::Doubt };
        (tone, "▼", &*faster, format!("{} {of_judged} improved, none got {slower}", count(counts.improved)))
    } else {
        let examined = match (judged, total) {
            (1, 1) => "in the one metric".to_owned(),
            (judged, total) if judged == total => format!("in all {} metrics", count(judged)),
            _ => format!("in {} of {} metrics, the rest has no verdict", count(judged), count(total)),
        };
        let (tone, size) = match totals.median_detectable {
            Some(size) if size <= COARSE => (Tone::Better, format!("is {}", number::percent_size(size))),
            Some(size) => (Tone::Doubt, format!("is {}", number::percent_size(size))),
            None => (Tone::Doubt, "is unknown".to_owned()),
        };
        let median = if judged == 1 { "" } else { "median " };
        (tone, "=", "No change", format!("{examined}; the {median}minimum detectable effect {size}"))
    };
    Phrase::from(Mark::new(tone, glyph, word)).text(format!(" {rest}"))
}

fn with_regressions(newest: Phrase, trend: &Trend) -> Phrase {
    let open: Vec<Mark> = trend_summary::open(trend).collect();
    let [first, rest @ ..] = open.as_slice() else { return newest };
    let rest: String = rest.iter().map(|mark| format!(", {}", mark.word)).collect();
    let is_bad = newest.parts.iter().any(|part| matches!(part, Part::Mark(mark) if mark.tone == Tone::Worse));
    if is_bad {
        return newest.text(format!("; {}{rest}", first.word));
    }
    Phrase::from(first.clone()).text(rest + ";").then(newest)
}

fn lede(analysis: &Analysis, totals: &Totals) -> Phrase {
    let mut lede = Phrase::default();
    for (verdict, count, rank) in [
        (Verdict::Regressed, totals.counts.regressed, ", the worst of them"),
        (Verdict::Improved, totals.counts.improved, ", the best of them"),
    ] {
        let Some((suite, comparison)) = largest(analysis, &verdict) else { continue };
        let size = comparison.effect.map_or(String::new(), |effect| number::percent_size(effect.change) + " ");
        let is_worse = verdict == Verdict::Regressed;
        let word = if is_worse { worse_word(&comparison.metric) } else { better_word(&comparison.metric) };
        let rank = if count == 1 { "" } else { rank };
        let sentence = Phrase::default()
            .name(page_of(analysis, comparison), short_benchmark(&comparison.benchmark))
            .text(" is ")
            .strong(format!("{size}{word}"))
            .text(format!(" than its baseline in {} on {}{rank}.", suite.suite, suite.machine_name));
        lede = lede.then(sentence);
    }
    if totals.counts.accepted > 0 {
        let accepted = counted(totals.counts.accepted, "metric is", "metrics are");
        let words = format!("{accepted} {} than the baseline, which the ", totals.slower);
        lede = lede.then(Phrase::plain(words).link(link::LEDGER, "ledger").text(" accepts."));
    }
    match totals.counts.unchanged {
        0 => lede,
        n => lede.then(format!("{} did not change.", counted(n, "metric", "metrics")).into()),
    }
}

fn ran(analysis: &Analysis, totals: &Totals) -> Fact {
    let question = "Did it run?";
    let Some(as_of) = analysis.as_of else {
        return Fact::new(question, "No", "The history holds no run.");
    };
    let mut note = Phrase::default();
    if totals.skipped > 0 {
        note = note.then(Mark::new(Tone::Doubt, "○", format!("{} skipped.", totals.skipped)).into());
    }
    if totals.failed > 0 {
        note = note.then(Mark::new(Tone::Worse, "✕", format!("{} failed.", totals.failed)).into());
    }
    let due = as_of + Duration::days(i64::from(analysis.every_days));
    note = note.then(format!("Newest {} UTC; next due {}.", date::moment(as_of), date::day(due)).into());
    let late = late_suites(analysis);
    if let Some(first) = late.first() {
        let words = format!("{} late:", counted(late.len(), "suite is", "suites are"));
        let first = format!(" {} on {} last ran {}.", first.suite, first.machine_name, date::day(first.last));
        note = note.then(Phrase::from(Mark::new(Tone::Doubt, "◆", words)).text(first));
    }
    Fact::new(question, format!("{} of {}", totals.ran, counted(totals.suites, "suite", "suites")), note)
}

fn complete(totals: &Totals, trend: &Trend) -> Fact {
    let counts = &totals.counts;
    let coverage = match trend.coverage.total {
        0 => Phrase::default(),
        total => {
            let total = counted(total, "series is", "series are");
            format!("In the trends {} of {total} examined.", count(trend.coverage.judged)).into()
        }
    };
    let question = "Is it complete?";
    if counts.total() == 0 {
        let note = Phrase::plain("No metric was compared with anything.");
        return Fact::new(question, "Nothing to judge", note.then(coverage));
    }
    let rest = number::nonzero(&[
        (totals.failures, if totals.failures == 1 { "benchmark failed" } else { "benchmarks failed" }),
        (counts.missing, "missing"),
        (counts.inconclusive, "inconclusive"),
        (counts.not_comparable, "not comparable"),
        (counts.no_baseline, "without a baseline"),
    ]);
    let note = if rest.is_empty() { "None is left out.".to_owned() } else { format!("{}.", rest.join(", ")) };
    if totals.is_of_trends(trend) {
        let note = "No suite has a baseline: these pages show trends and events, and the gate judges nothing.";
        let answer = format!("{} of {} trends examined", count(trend.coverage.judged), count(trend.coverage.total));
        return Fact::new(question, answer, note);
    }
    Fact::new(question, judged(counts), Phrase::plain(note).then(coverage))
}

fn changed(analysis: &Analysis, totals: &Totals, trend: &Trend) -> Fact {
    let counts = &totals.counts;
    let moved = [
        (counts.regressed, Tone::Worse, "", totals.slower.to_owned()),
        (counts.accepted, Tone::Doubt, "◆", format!("{}, accepted", totals.slower)),
        (counts.improved, Tone::Better, "", totals.faster.to_owned()),
    ];
    let moved = moved.into_iter().filter(|(n, ..)| *n > 0);
    let marks = moved.map(|(n, tone, glyph, word)| Mark::new(tone, glyph, format!("{} {word}", count(n))).into());
    let answer = match counts.judged() {
        0 if totals.is_of_trends(trend) => match recent(trend).count() {
            0 => "No new event".into(),
            some => counted(some, "new event", "new events").into(),
        },
        0 => "Unknown".into(),
        _ => marks.reduce(|sentence: Phrase, mark| sentence.text(", ").join(mark)).unwrap_or_else(|| "Nothing".into()),
    };
    let mut note = Phrase::default();
    // The headline says it where nothing changed.
    let has_changed = counts.regressed + counts.accepted + counts.improved > 0;
    if let Some(size) = totals.median_detectable.filter(|_| has_changed) {
        note = note.text(format!("The median minimum detectable effect is {}.", number::percent_size(size)));
    }
    let compared = || analysis.suites.iter().filter_map(|suite| Some((suite, suite.environment_changes.as_ref()?)));
    let moved: Vec<_> = compared().filter(|(_, changes)| !changes.is_empty()).collect();
    if let Some((first, _)) = moved.first() {
        let words = format!("{} another environment", counted(moved.len(), "suite has", "suites have"));
        let place = format!(" than in the run before, as {} on {}.", first.suite, first.machine_name);
        note = note.then(Phrase::from(Mark::new(Tone::Environment, "◇", words)).text(place));
    } else if compared().count() > 0 {
        let of = match compared().count() {
            some if some < totals.suites => format!(" of {some} of {} suites", totals.suites),
            _ => String::new(),
        };
        note = note.then(format!("No environment changed since the run before{of}.").into());
    } else if totals.suites > 0 {
        note = note.then("There is no run before to compare the environment with.".into());
    }
    Fact::new("Did anything change?", answer, note.then(recent_events(trend)))
}

/// The longest reason of a failure, in characters.
const REASON: usize = 200;

/// An event of so many days is new, and so many of these are named.
const RECENT: i64 = 28;
const NAMED: usize = 3;

fn recent(trend: &Trend) -> impl Iterator<Item = &Event> {
    let from = trend.as_of.map(|as_of| as_of - Duration::days(RECENT));
    trend.events.iter().filter(move |one| trend_summary::is_listed(one) && Some(one.since) >= from)
}

fn recent_events(trend: &Trend) -> Phrase {
    let Some(as_of) = trend.as_of else { return Phrase::default() };
    let new: Vec<&Event> = recent(trend).collect();
    let from = date::day(as_of - Duration::days(RECENT));
    if new.is_empty() {
        return Phrase::plain(format!("No event since {from} (four weeks) is still present."));
    }
    let present = counted(new.len(), "event is", "events are");
    let mut words = Phrase::plain(format!("Since {from} (four weeks), {present} still present: "));
    for (place, one) in new.iter().take(NAMED).enumerate() {
        words = words.text(if place == 0 { "" } else { ", " }).link(link::event(&one.id), one.id.as_str());
    }
    let more = new.len().saturating_sub(NAMED);
    words.text(if more > 0 { format!(" and {} more.", count(more)) } else { ".".to_owned() })
}

/// The most useful next step: first what the newest runs did, then open regressions, then what would decide doubts.
fn next_step(analysis: &Analysis, trend: &Trend) -> Fact {
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
        return (
            format!("Fix {}", place(suite)).into(),
            format!("The run failed: {}", shortened(reason, REASON)).into(),
        );
    }
    let failure = analysis.suites.iter().find_map(|suite| Some((suite, suite.failures.first()?)));
    if let Some((suite, (benchmark, reason))) = failure {
        let answer = Phrase::plain("Fix ").id(short_benchmark(benchmark));
        return (answer, format!("In {}: {}", place(suite), shortened(reason, REASON)).into());
    }
    if let Some((suite, missing)) = largest(analysis, &Verdict::Missing) {
        let answer = Phrase::plain("Find ").id(short_benchmark(&missing.benchmark));
        let note =
            format!("The baseline of {} has it, the newest run lacks it. If it was removed on purpose, ", place(suite));
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
    let total = |of: fn(&SuiteAnalysis) -> usize| analysis.suites.iter().map(of).sum::<usize>();
    let without = total(|suite| suite.counts.no_baseline);
    if let Some((answer, note)) = regression_step(analysis, trend) {
        let metrics = counted(without, "metric has", "metrics have");
        let more = format!("{metrics} no baseline: `sprag baseline emit`.");
        return (answer, if without > 0 { note.then(Phrase::quoted(&more)) } else { note });
    }
    let (doubt, by) = match turns(analysis) {
        Some(command) => ("Compare in turns", format!("More runs are unlikely to decide: `{command}`.")),
        None => ("Measure longer", "Another run may decide: `sprag run --record`.".to_owned()),
    };
    let steps = [
        (without, "Take a baseline", "`sprag baseline emit` makes the newest run the baseline of later ones."),
        (
            total(|suite| suite.counts.not_comparable),
            "Renew the baseline",
            "The baseline was taken elsewhere. `sprag baseline emit` takes a new one in the present environment.",
        ),
        (total(|suite| suite.counts.inconclusive), doubt, &*by),
        (
            total(|suite| suite.counts.improved),
            "Nothing to do",
            "To keep the gain from now on: `sprag baseline accept --why TEXT`.",
        ),
    ];
    let step = steps.into_iter().find(|(n, ..)| *n > 0).unwrap_or((0, "Nothing", "Wait for the next run."));
    let (_, answer, note) = step;
    (answer.into(), Phrase::quoted(note))
}

/// The command of the first doubt, where none of them would be decided by more runs. `A B` names no builds.
fn turns(analysis: &Analysis) -> Option<&str> {
    let doubts = analysis.suites.iter().flat_map(|suite| &suite.comparisons).filter_map(|one| match &one.verdict {
        Verdict::Inconclusive(reason) => Some(reason.as_str()),
        _ => None,
    });
    let mut commands = doubts.map(|reason| reason.split('`').find(|part| part.starts_with("sprag compare ")));
    let first = commands.next()?.filter(|command| !command.starts_with("sprag compare A B"))?;
    commands.all(|command| command.is_some()).then_some(first)
}

/// The comparison with the largest change of that verdict, over all suites, without those that are accepted.
fn largest<'a>(analysis: &'a Analysis, verdict: &Verdict) -> Option<(&'a SuiteAnalysis, &'a Comparison)> {
    let size = |comparison: &Comparison| comparison.effect.map_or(0.0, |effect| effect.change.abs());
    analysis
        .suites
        .iter()
        .flat_map(|suite| suite.comparisons.iter().map(move |comparison| (suite, comparison)))
        .filter(|(_, comparison)| comparison.verdict == *verdict && !comparison.is_accepted())
        .reduce(|best, next| if size(next.1) > size(best.1) { next } else { best })
}

fn page_of(analysis: &Analysis, comparison: &Comparison) -> Option<String> {
    series_page(analysis, comparison.series.as_deref()?)
}

fn series_page(analysis: &Analysis, id: &str) -> Option<String> {
    analysis.series.iter().any(|series| series.series.id == id).then(|| link::series(id))
}

/// The regressions of the history that are still present and that nobody accepts.
fn open_regressions(trend: &Trend) -> impl Iterator<Item = &Event> {
    trend.events.iter().filter(|one| one.is_open_regression())
}

/// The first in the list of events, which is ordered by certainty, size and number of series.
fn worst_regression(trend: &Trend) -> Option<&Event> {
    open_regressions(trend).next()
}

/// The ids of the series that a summary names.
pub(super) fn leading_series<'a>(analysis: &'a Analysis, trend: &'a Trend) -> impl Iterator<Item = &'a str> {
    let of = |verdict| largest(analysis, &verdict)?.1.series.as_deref();
    let compared = [Verdict::Regressed, Verdict::Improved].into_iter().filter_map(of);
    compared.chain(worst_regression(trend).and_then(leading_member).map(|member| member.series.as_str()))
}

/// What to do about the worst open regression, and why; nothing where there is none.
fn regression_step(analysis: &Analysis, trend: &Trend) -> Option<(Phrase, Phrase)> {
    let worst = worst_regression(trend)?;
    let answer = Phrase::plain("Look at ").link(link::event(&worst.id), worst.id.as_str());
    let Some(present) = leading_member(worst) else { return Some((answer, acceptance(worst))) };
    let name = words::name(&short_benchmark(&present.benchmark));
    let answer = answer.text(", ").name(series_page(analysis, &present.series), name);
    let by = present.relative.as_ref().map_or_else(String::new, |by| number::percent_size(by.value) + " ");
    let (is, since) = match worst.kind {
        EventKind::Drift => ("drifts:", worst.suspects.first().map_or(&worst.first_bad, |first| &first.commit)),
        _ => ("is", &worst.first_bad),
    };
    let (one, many) = match worst.direction {
        Direction::Mixed => ("mixed change", "mixed changes"),
        Direction::Worse | Direction::Better => ("open regression", "open regressions"),
    };
    let rank = match open_regressions(trend).filter(|one| one.direction == worst.direction).count() {
        1 => format!("the only {one}"),
        all => format!("first of {} {many} by size and number of series", count(all)),
    };
    let (suite, machine) = (words::name(&present.suite), words::name(&present.machine.name));
    let way = words::way(&present.metric, present.worse);
    let why = Phrase::plain(format!("In {suite} on {machine} it {is} {by}{way} since "));
    let why = why.id(words::name(since.short())).text(format!(", {rank}."));
    Some((answer, why.then(acceptance(worst))))
}

/// The member that got worst of those still at their new level; else the one that names the event.
pub(super) fn leading_member(of: &Event) -> Option<&Member> {
    of.members.iter().find(|one| one.is_present).or_else(|| event::lead(of))
}

fn acceptance(of: &Event) -> Phrase {
    if of.worst_ongoing().is_none() {
        return Phrase::plain("No relative change can be accepted, because a level of it was zero before.");
    }
    let command = format!("sprag release waive --event {} --reason TEXT", of.id);
    Phrase::plain("To accept it for a time: ").id(command).text(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use sprag_model::EventState;

    /// The words of the headline after a change of the sample in which nothing is wrong.
    fn check(change: impl FnOnce(&mut Analysis), expected: &str) {
        let mut analysis = sample_data::rich().analysis;
        analysis.suites.retain(|suite| suite.suite == "cpu");
        for suite in &mut analysis.suites {
            suite.failures.clear();
            suite.comparisons.iter_mut().for_each(|comparison| comparison.verdict = Verdict::Unchanged);
        }
        change(&mut analysis);
        for suite in &mut analysis.suites {
            suite.counts = Counts::from_comparisons(&suite.comparisons);
        }
        assert_eq!(summarise(&analysis, &Trend::default()).headline.words().replace('\u{202f}', " "), expected);
    }

    #[test]
    fn the_headline_is_the_worst_news_with_a_number() {
        let set = |analysis: &mut Analysis, at: usize, verdict: Verdict| {
            analysis.suites[0].comparisons[at].verdict = verdict;
        };
        let first_of_each = |all: &mut Analysis| all.suites.iter_mut().for_each(|suite| suite.comparisons.truncate(1));
        check(|_| {}, "No change in all 24 metrics; the median minimum detectable effect is 2.6 %");
        let one = |all: &mut Analysis| {
            all.suites.truncate(1);
            first_of_each(all);
        };
        check(one, "No change in the one metric; the minimum detectable effect is 2.6 %");
        check(
            |all| set(all, 0, Verdict::NoBaseline),
            "No change in 23 of 24 metrics, the rest has no verdict; the median minimum detectable effect is 2.6 %",
        );
        check(|all| set(all, 0, Verdict::Improved), "Faster: 1 of 24 judged metrics improved, none got slower");
        check(|all| set(all, 0, Verdict::Missing), "Missing: 1 metric of the baseline was not measured");
        let failure = ("cpu/a @fast".to_owned(), "crashed".to_owned());
        check(|all| all.suites[1].failures.push(failure), "Failed: 1 benchmark did not give a result");
        check(|all| all.suites[1].status = RunStatus::Failed, "Failed: 1 of 2 suites broke");
        let mixed = |all: &mut Analysis| {
            all.suites[1].status = RunStatus::Failed;
            set(all, 0, Verdict::Regressed);
            set(all, 1, Verdict::Improved);
        };
        check(mixed, "Regressed: 1 of 24 judged metrics got slower");
        let skipped = |all: &mut Analysis| all.suites.iter_mut().for_each(|suite| suite.status = RunStatus::Skipped);
        check(skipped, "Not measured: 2 suites were skipped");
        let noisy = |all: &mut Analysis| {
            first_of_each(all);
            (0..2).for_each(|at| all.suites[at].comparisons[0].verdict = Verdict::Inconclusive("noise".to_owned()));
        };
        check(noisy, "Not judged: 2 metrics have no verdict");
    }

    #[test]
    fn a_late_suite_is_named_and_no_environment_is_called_unchanged_without_a_run_before() {
        let mut analysis = sample_data::rich().analysis;
        let note = |analysis: &Analysis, place: usize| summarise(analysis, &Trend::default()).facts[place].note.words();
        assert!(late_suites(&analysis).is_empty());
        analysis.suites[0].last -= Duration::days(9);
        assert!(note(&analysis, 0).contains("1 suite is late: cpu on epyc-9354"), "{}", note(&analysis, 0));
        analysis.suites.iter_mut().for_each(|suite| suite.environment_changes = Some(Vec::new()));
        assert!(note(&analysis, 2).contains("No environment changed since the run before."));
        analysis.suites.iter_mut().for_each(|suite| suite.environment_changes = None);
        assert!(
            note(&analysis, 2).contains("There is no run before") && !note(&analysis, 2).contains("No environment")
        );
    }

    /// What to do about the sample where the newest runs came to `verdict` alone, with and without the events of its history.
    fn check_step(verdict: &Verdict, change: impl FnOnce(&mut Analysis), expected: [&str; 2]) {
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
        check_step(&Verdict::NoBaseline, |_| (), [worst, "Take a baseline"]);
        check_step(&Verdict::Inconclusive("noise".to_owned()), |_| (), [worst, "Measure longer"]);
        let turns = |sides: &str| Verdict::Inconclusive(format!("why; by `sprag compare {sides} --measure`"));
        check_step(&turns("a b"), |_| (), [worst, "Compare in turns"]);
        check_step(&turns("A B"), |_| (), [worst, "Measure longer"]);
        check_step(&Verdict::NotComparable("another".to_owned()), |_| (), [worst, "Renew the baseline"]);
        check_step(&Verdict::Improved, |_| (), [worst, "Nothing to do"]);
        check_step(&Verdict::Unchanged, |_| (), [worst, "Nothing"]);
        check_step(&Verdict::Regressed, |_| (), ["Look at fusion_gate{n=512} @fast"; 2]);
        check_step(&Verdict::Missing, |_| (), ["Find fusion_gate{n=512} @fast"; 2]);
        let failed = |analysis: &mut Analysis| analysis.suites[0].status = RunStatus::Failed;
        check_step(&Verdict::Unchanged, failed, ["Fix cpu on epyc-9354"; 2]);
        let skipped = |all: &mut Analysis| all.suites.iter_mut().for_each(|suite| suite.status = RunStatus::Skipped);
        check_step(&Verdict::NoBaseline, skipped, ["Find out why nothing ran"; 2]);
        check_step(&Verdict::NoBaseline, |analysis| analysis.suites.clear(), ["Measure"; 2]);
    }

    #[test]
    fn open_regressions_are_in_the_headline_whatever_the_newest_runs_say() {
        let calm = Phrase::from(Mark::new(Tone::Better, "=", "No change")).text(" in all 24 metrics");
        let bad = Phrase::from(Mark::new(Tone::Worse, "▲", "Regressed:")).text(" 1 metric");
        let mut trend = sample_data::rich().trend;
        let recent = |trend: &Trend| recent_events(trend).words().replace('\u{202f}', " ");
        assert_eq!(with_regressions(calm.clone(), &trend).words(), "2 open regressions; No change in all 24 metrics");
        assert_eq!(with_regressions(bad, &trend).words(), "Regressed: 1 metric; 2 open regressions");
        assert_eq!(recent(&trend), "Since 2 Nov 2026 (four weeks), 1 event is still present: e-7c1f03.");
        let one = trend.events[0].clone();
        trend.events.extend(std::iter::repeat_n(one, 4));
        assert!(recent(&trend).ends_with("e-7c1f03, e-7c1f03, e-7c1f03 and 2 more."));
        trend.events.iter_mut().for_each(|one| one.state = EventState::Reverted { by: "e-000000".to_owned() });
        assert_eq!(with_regressions(calm.clone(), &trend), calm);
        assert_eq!(recent(&trend), "No event since 2 Nov 2026 (four weeks) is still present.");
    }

    #[test]
    fn the_worst_open_regression_comes_first() {
        let step = |change: &dyn Fn(&mut Vec<Event>)| {
            let mut sample = sample_data::rich();
            change(&mut sample.trend.events);
            let step = regression_step(&sample.analysis, &sample.trend)?;
            Some([step.0, step.1].map(|phrase| phrase.words().replace('\u{202f}', " ")))
        };
        let [answer, note] = step(&|_| ()).expect("it is open");
        assert_eq!(answer, "Look at e-7c1f03, tile_pack{n=4096} @fast");
        let slower = "In cpu on epyc-9354 it is 8.9 % slower since 7b6a15d, first of 2 open regressions by size and number of series. To accept it for a time: sprag release waive --event e-7c1f03 --reason TEXT.";
        assert_eq!(note, slower);
        let [alone, note] = step(&|events| events.retain(|one| one.id == "e-5b20d9")).expect("it is open");
        assert_eq!(alone, "Look at e-5b20d9, fusion_gate{n=512} @cuda_graph");
        let accept = ", the only open regression. To accept it for a time: sprag release waive --event e-5b20d9";
        assert!(note.contains(accept), "{note}");
        // The other one got worse by more, and is listed behind it.
        let turned = step(&|events| {
            events.reverse();
            events.iter_mut().filter(|one| one.id == "e-5b20d9").for_each(|one| one.members[0].worse = Some(9.0));
        });
        assert_eq!(turned.expect("it is open")[0], alone);
        assert_eq!(step(&|events| events.retain(|one| !one.is_open_regression())), None);
        // Nothing is accepted of a level of zero.
        let zero = step(&|events| {
            events.retain(|one| one.id == "e-7c1f03");
            let members = &mut events[0].members;
            let mut other = members[0].clone();
            members.iter_mut().for_each(|member| member.is_present = false);
            (other.benchmark, other.relative, other.worse) = ("cpu/other @fast".to_owned(), None, None);
            members.push(other);
        });
        let [answer, note] = zero.expect("it is open");
        assert_eq!(answer, "Look at e-7c1f03, other @fast");
        assert!(note.contains(" it is changed since "), "{note}");
        assert!(note.ends_with("No relative change can be accepted, because a level of it was zero before."), "{note}");
    }

    #[test]
    fn a_missing_baseline_is_named_after_an_open_regression() {
        let mut sample = sample_data::rich();
        sample.analysis.suites.retain(|suite| suite.status == RunStatus::Ok && suite.failures.is_empty());
        sample.analysis.suites.iter_mut().for_each(|suite| suite.comparisons.clear());
        sample.analysis.history.quarantined.clear();
        sample.analysis.suites[0].counts.no_baseline = 2;
        let words = next_step(&sample.analysis, &sample.trend).note.words();
        assert!(words.ends_with("2 metrics have no baseline: sprag baseline emit."), "{words}");
    }
}
