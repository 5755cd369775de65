//! The verdict in sentences: the headline, the line below it, and the four questions of a weekly build.
//!
//! Made once; the digest page and the Markdown say the same.

use super::advice::{largest, page_of};
use super::mark::{self, Mark, Tone, better_word, worse_word};
use super::phrase::{Fact, Phrase};
use super::{advice, date, link, number};
use crate::text::short_benchmark;
use sprag_model::analysis::{Analysis, SuiteAnalysis};
use sprag_model::run::RunStatus;
use sprag_model::trend::Trend;
use sprag_model::verdict::{Counts, Verdict};

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
        headline: advice::headline(headline(&totals), trend),
        lede: lede(analysis, &totals),
        facts: vec![
            ran(analysis, &totals),
            complete(&totals, trend),
            changed(analysis, &totals, trend),
            advice::next_step(analysis, trend),
        ],
    }
}

/// The suites of which the newest run is older than the schedule allows, seen from the newest run of all.
pub fn late_suites(analysis: &Analysis) -> Vec<&SuiteAnalysis> {
    let Some(as_of) = analysis.as_of else { return Vec::new() };
    let allowed = i64::from(analysis.every_days);
    // What others measured is due whenever they measure.
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
        let (slower, faster) = mark::words(comparisons());
        let mut detectable: Vec<f64> = comparisons().filter_map(|comparison| comparison.effect?.detectable).collect();
        detectable.sort_by(f64::total_cmp);
        Totals {
            counts: suites.iter().fold(Counts::default(), |sum, suite| sum.plus(suite.counts)),
            suites: suites.len(),
            ran: of_status(RunStatus::Ok),
            skipped: of_status(RunStatus::Skipped),
            failed: of_status(RunStatus::Failed),
            failures: suites.iter().map(|suite| suite.failures.len()).sum(),
            slower,
            faster,
            median_detectable: detectable.get(detectable.len() / 2).copied(),
        }
    }
}

fn headline(totals: &Totals) -> Phrase {
    let counts = &totals.counts;
    let decided = number::count(counts.judged());
    let metrics = if counts.judged() == 1 { "metric" } else { "metrics" };
    let verdict = |tone: Tone, glyph: &'static str, word: &str, rest: String| {
        Phrase::from(Mark::new(tone, glyph, word)).text(rest)
    };
    if totals.suites == 0 {
        return Phrase::plain("No runs yet: there is nothing to report");
    }
    if counts.regressed > 0 {
        let rest = format!(" {} of {decided} decided {metrics} got {}", number::count(counts.regressed), totals.slower);
        return verdict(Tone::Worse, "▲", "Regressed:", rest);
    }
    if totals.failed > 0 {
        let rest = format!(" {} of {} broke", totals.failed, number::counted(totals.suites, "suite", "suites"));
        return verdict(Tone::Worse, "✕", "Failed:", rest);
    }
    if totals.failures > 0 {
        let rest = format!(" {} did not give a result", number::counted(totals.failures, "benchmark", "benchmarks"));
        return verdict(Tone::Worse, "✕", "Failed:", rest);
    }
    if counts.missing > 0 {
        let what = number::counted(counts.missing, "metric of the baseline was", "metrics of the baseline were");
        return verdict(Tone::Worse, "–", "Missing:", format!(" {what} not measured"));
    }
    if totals.ran == 0 {
        let suites = number::counted(totals.suites, "suite was", "suites were");
        return verdict(Tone::Doubt, "○", "Not measured:", format!(" {suites} skipped"));
    }
    if counts.judged() == 0 {
        let metrics = number::counted(counts.total(), "metric has", "metrics have");
        return verdict(Tone::Doubt, "?", "Undecided:", format!(" {metrics} no verdict"));
    }
    if counts.accepted > 0 {
        let rest = format!(
            " {} of {decided} decided {metrics} got {}, as accepted",
            number::count(counts.accepted),
            totals.slower
        );
        return verdict(Tone::Doubt, "◆", "Accepted:", rest);
    }
    if counts.improved > 0 {
        let rest = format!(" {} of {decided} decided {metrics} improved, none got {}", counts.improved, totals.slower);
        return verdict(Tone::Better, "▼", &capital(totals.faster), rest);
    }
    let rest = format!(" in {} of {} metrics; the rest has no verdict", decided, number::count(counts.total()));
    let all = match counts.judged() {
        1 => " in the one metric".to_owned(),
        _ => format!(" in all {decided} metrics"),
    };
    verdict(Tone::Better, "=", "No change", if counts.judged() == counts.total() { all } else { rest })
}

fn lede(analysis: &Analysis, totals: &Totals) -> Phrase {
    let mut lede = Phrase::default();
    for (verdict, count) in [(Verdict::Regressed, totals.counts.regressed), (Verdict::Improved, totals.counts.improved)]
    {
        let Some((suite, comparison)) = largest(analysis, &verdict) else { continue };
        let word = match verdict {
            Verdict::Regressed => worse_word(&comparison.metric),
            _ => better_word(&comparison.metric),
        };
        let size = comparison.effect.map_or(String::new(), |effect| number::percent_size(effect.change) + " ");
        let name = short_benchmark(&comparison.benchmark);
        let rank = match (count, &verdict) {
            (1, _) => "",
            (_, Verdict::Regressed) => ", the worst of them",
            _ => ", the best of them",
        };
        let sentence = Phrase::default()
            .name(page_of(analysis, comparison), name)
            .text(" is ")
            .strong(format!("{size}{word}"))
            .text(format!(" than its baseline in {} on {}{rank}.", suite.suite, suite.machine_name));
        lede = lede.then(sentence);
    }
    if totals.counts.accepted > 0 {
        let accepted = number::counted(totals.counts.accepted, "metric is", "metrics are");
        let words = format!("{accepted} {} than the baseline, which the ", totals.slower);
        lede = lede.then(Phrase::plain(words).link(link::LEDGER, "ledger").text(" accepts."));
    }
    match totals.counts.unchanged {
        0 => lede,
        1 => lede.then(Phrase::plain("1 metric did not change.")),
        n => lede.then(Phrase::plain(format!("{} metrics did not change.", number::count(n)))),
    }
}

fn ran(analysis: &Analysis, totals: &Totals) -> Fact {
    let question = "Did it run?";
    let Some(as_of) = analysis.as_of else {
        return Fact::new(question, "No", "The history holds no run.");
    };
    let answer = Phrase::plain(format!("{} of {}", totals.ran, number::counted(totals.suites, "suite", "suites")));
    let mut note = Phrase::default();
    if totals.skipped > 0 {
        note = note.then(Phrase::from(Mark::new(Tone::Doubt, "○", format!("{} skipped.", totals.skipped))));
    }
    if totals.failed > 0 {
        note = note.then(Phrase::from(Mark::new(Tone::Worse, "✕", format!("{} failed.", totals.failed))));
    }
    let due = as_of + chrono::Duration::days(i64::from(analysis.every_days));
    note = note.then(Phrase::plain(format!("Newest {} UTC; next due {}.", date::moment(as_of), date::day(due))));
    let late = late_suites(analysis);
    if let Some(first) = late.first() {
        let words = format!("{} late:", number::counted(late.len(), "suite is", "suites are"));
        note = note.then(Phrase::from(Mark::new(Tone::Doubt, "◆", words))).text(format!(
            " {} on {} last ran {}.",
            first.suite,
            first.machine_name,
            date::day(first.last)
        ));
    }
    Fact { question, answer, note }
}

fn complete(totals: &Totals, trend: &Trend) -> Fact {
    let counts = &totals.counts;
    let question = "Is it complete?";
    if counts.total() == 0 {
        let note = Phrase::plain("No metric was compared with anything.");
        return Fact::new(question, "Nothing to judge", note.then(advice::coverage(trend)));
    }
    let answer = format!("{} of {} decided", number::count(counts.judged()), number::count(counts.total()));
    let failed = if totals.failures == 1 { "benchmark failed" } else { "benchmarks failed" };
    let rest = [
        (totals.failures, failed),
        (counts.missing, "missing"),
        (counts.inconclusive, "inconclusive"),
        (counts.not_comparable, "not comparable"),
        (counts.no_baseline, "without a baseline"),
    ];
    let rest = rest.into_iter().filter(|(count, _)| *count > 0);
    let rest: Vec<String> = rest.map(|(count, words)| format!("{} {words}", number::count(count))).collect();
    let note = if rest.is_empty() { "None is left out.".to_owned() } else { format!("{}.", rest.join(", ")) };
    Fact::new(question, answer, Phrase::plain(note).then(advice::coverage(trend)))
}

fn changed(analysis: &Analysis, totals: &Totals, trend: &Trend) -> Fact {
    let counts = &totals.counts;
    let mut answer = Phrase::default();
    let moved = [
        (counts.regressed, Tone::Worse, totals.slower.to_owned()),
        (counts.accepted, Tone::Doubt, format!("{}, accepted", totals.slower)),
        (counts.improved, Tone::Better, totals.faster.to_owned()),
    ];
    if counts.judged() == 0 {
        answer = answer.text("Unknown");
    } else if moved.iter().all(|(count, ..)| *count == 0) {
        answer = answer.text("Nothing");
    }
    for (count, tone, word) in moved.into_iter().filter(|(count, ..)| counts.judged() > 0 && *count > 0) {
        let glyph = if tone == Tone::Doubt { "◆" } else { "" };
        let mark = Mark::new(tone, glyph, format!("{} {word}", number::count(count)));
        answer = if answer.parts.is_empty() { answer.mark(mark) } else { answer.text(", ").mark(mark) };
    }
    let mut note = Phrase::default();
    if let Some(detectable) = totals.median_detectable {
        let size = number::percent_size(detectable);
        note = note.then(Phrase::plain(format!("The median minimum detectable effect is {size}.")));
    }
    let present = analysis.suites.iter().filter_map(|suite| Some((suite, suite.environment_changes.as_ref()?)));
    let moved: Vec<&SuiteAnalysis> =
        present.clone().filter(|(_, changes)| !changes.is_empty()).map(|(suite, _)| suite).collect();
    if let Some(first) = moved.first() {
        let words = format!("{} another environment", number::counted(moved.len(), "suite has", "suites have"));
        let place = format!(" than in the run before, as {} on {}.", first.suite, first.machine_name);
        note = note.then(Phrase::from(Mark::new(Tone::Environment, "◇", words)).text(place));
    } else if present.count() > 0 {
        note = note.then(Phrase::plain("No environment changed since the run before."));
    } else if totals.suites > 0 {
        note = note.then(Phrase::plain("There is no run before to compare the environment with."));
    }
    Fact::new("Did anything change?", answer, note.then(advice::recent_events(trend)))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str() + ":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;

    /// The words of the headline after a change of the sample in which nothing is wrong.
    fn check(change: impl FnOnce(&mut Analysis), expected: &str) {
        let mut analysis = sample_data::rich().analysis;
        analysis.suites.retain(|suite| suite.suite == "cpu");
        for suite in &mut analysis.suites {
            suite.failures.clear();
            for comparison in &mut suite.comparisons {
                comparison.verdict = Verdict::Unchanged;
            }
        }
        change(&mut analysis);
        for suite in &mut analysis.suites {
            suite.counts = Counts::from_comparisons(&suite.comparisons);
        }
        assert_eq!(summarise(&analysis, &Trend::default()).headline.words(), expected);
    }

    #[test]
    fn the_headline_is_the_worst_news_with_a_number() {
        let set = |analysis: &mut Analysis, at: usize, verdict: Verdict| {
            analysis.suites[0].comparisons[at].verdict = verdict;
        };
        check(|_| {}, "No change in all 24 metrics");
        let one = |all: &mut Analysis| {
            all.suites.truncate(1);
            all.suites[0].comparisons.truncate(1);
        };
        check(one, "No change in the one metric");
        check(|all| set(all, 0, Verdict::NoBaseline), "No change in 23 of 24 metrics; the rest has no verdict");
        check(|all| set(all, 0, Verdict::Improved), "Faster: 1 of 24 decided metrics improved, none got slower");
        check(|all| set(all, 0, Verdict::Missing), "Missing: 1 metric of the baseline was not measured");
        let failure = ("cpu/a @fast".to_owned(), "crashed".to_owned());
        check(|all| all.suites[1].failures.push(failure), "Failed: 1 benchmark did not give a result");
        check(|all| all.suites[1].status = RunStatus::Failed, "Failed: 1 of 2 suites broke");
        let mixed = |all: &mut Analysis| {
            all.suites[1].status = RunStatus::Failed;
            set(all, 0, Verdict::Regressed);
            set(all, 1, Verdict::Improved);
        };
        check(mixed, "Regressed: 1 of 24 decided metrics got slower");
        let skipped = |all: &mut Analysis| all.suites.iter_mut().for_each(|suite| suite.status = RunStatus::Skipped);
        check(skipped, "Not measured: 2 suites were skipped");
        let noisy = |all: &mut Analysis| {
            for suite in &mut all.suites {
                suite.comparisons.truncate(1);
                suite.comparisons[0].verdict = Verdict::Inconclusive("noise".to_owned());
            }
        };
        check(noisy, "Undecided: 2 metrics have no verdict");
    }

    #[test]
    fn without_a_run_before_no_environment_is_called_unchanged() {
        let mut analysis = sample_data::rich().analysis;
        let result = |analysis: &Analysis| summarise(analysis, &Trend::default()).facts[2].note.words();
        analysis.suites.iter_mut().for_each(|suite| suite.environment_changes = Some(Vec::new()));
        assert!(result(&analysis).contains("No environment changed since the run before."));
        analysis.suites.iter_mut().for_each(|suite| suite.environment_changes = None);
        let words = result(&analysis);
        assert!(words.contains("There is no run before") && !words.contains("No environment changed"), "{words}");
    }

    #[test]
    fn a_late_suite_is_named() {
        let mut analysis = sample_data::rich().analysis;
        assert!(late_suites(&analysis).is_empty());
        analysis.suites[0].last -= chrono::Duration::days(9);
        assert_eq!(late_suites(&analysis).len(), 1);
        let ran = &summarise(&analysis, &Trend::default()).facts[0];
        assert!(ran.note.words().contains("1 suite is late: cpu on epyc-9354"), "{}", ran.note.words());
    }
}
