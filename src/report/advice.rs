//! What to do next: the one step that helps most, from what was found.

use crate::model::analysis::{Analysis, NoBaseline, SuiteAnalysis};
use crate::model::run::RunStatus;
use crate::model::verdict::Verdict;

use super::catalog::short_benchmark;
use super::phrase::Phrase;
use super::summary::{Fact, largest, page_of};

/// The most useful next step, worst news first.
pub(super) fn next_step(analysis: &Analysis) -> Fact {
    let (answer, note) = step(analysis);
    Fact { question: "What now?", answer, note }
}

fn step(analysis: &Analysis) -> (Phrase, Phrase) {
    if analysis.suites.is_empty() {
        let note = Phrase::plain("Run ").id("sprag weekly").text(" where the kernels are to be measured.");
        return (Phrase::plain("Measure"), note);
    }
    if let Some((suite, worst)) = largest(analysis, &Verdict::Regressed) {
        let name = short_benchmark(&worst.benchmark);
        let note =
            Phrase::plain(format!("The worst, in {} on {}. If the change is meant, ", suite.suite, suite.machine_name))
                .id("sprag baseline accept --why TEXT")
                .text(" makes it the new baseline.");
        return (Phrase::plain("Look at ").name(page_of(analysis, worst), name), note);
    }
    if let Some(suite) = of_status(analysis, RunStatus::Failed) {
        let reason = suite.reason.as_deref().unwrap_or("no reason was recorded");
        return (Phrase::plain(format!("Mend {} on {}", suite.suite, suite.machine_name)), Phrase::plain(reason));
    }
    let failure = analysis.suites.iter().find_map(|suite| Some((suite, suite.failures.first()?)));
    if let Some((suite, (benchmark, reason))) = failure {
        let note = Phrase::plain(format!("In {} on {}: {reason}", suite.suite, suite.machine_name));
        return (Phrase::plain("Mend ").id(short_benchmark(benchmark)), note);
    }
    if let Some((suite, missing)) = largest(analysis, &Verdict::Missing) {
        let note = Phrase::plain(format!(
            "The baseline of {} on {} has it, the newest run has not. If it was removed on purpose, ",
            suite.suite, suite.machine_name
        ))
        .id("sprag baseline accept --why TEXT")
        .text(" drops it.");
        return (Phrase::plain("Find ").id(short_benchmark(&missing.benchmark)), note);
    }
    if !analysis.history.quarantined.is_empty() {
        let note = Phrase::plain("Quarantined records are left out; ")
            .id("git log -- history")
            .text(" says who changed them.");
        return (Phrase::plain("Look at the history"), note);
    }
    if !analysis.suites.iter().any(|suite| suite.status == RunStatus::Ok) {
        let note = Phrase::plain("Each suite below says what the machine lacks.");
        return (Phrase::plain("Find out why nothing ran"), note);
    }
    unjudged_step(analysis)
}

fn unjudged_step(analysis: &Analysis) -> (Phrase, Phrase) {
    let unusable = analysis.suites.iter().find_map(|suite| match &suite.baseline {
        Err(NoBaseline::Unusable { path, fault }) => Some((path, fault)),
        _ => None,
    });
    if let Some((path, fault)) = unusable {
        let note = Phrase::default().id(path.as_str()).text(format!(" {fault}. Mend it or move it away."));
        return (Phrase::plain("Mend the baseline"), note);
    }
    let count = |of: fn(&SuiteAnalysis) -> usize| analysis.suites.iter().map(of).sum::<usize>();
    if count(|suite| suite.counts.no_baseline) > 0 {
        let note = Phrase::default()
            .id("sprag baseline emit")
            .text(" takes the newest run as what later ones are held against.");
        return (Phrase::plain("Take a baseline"), note);
    }
    if count(|suite| suite.counts.not_comparable) > 0 {
        let note = Phrase::plain("The baseline was taken elsewhere. ")
            .id("sprag baseline emit")
            .text(" takes a new one in the present environment.");
        return (Phrase::plain("Renew the baseline"), note);
    }
    if count(|suite| suite.counts.inconclusive) > 0 {
        let note = Phrase::plain("Another run tells more: ").id("sprag run --record").text(".");
        return (Phrase::plain("Measure longer"), note);
    }
    if count(|suite| suite.counts.improved) > 0 {
        let note = Phrase::plain("To hold the gain from now on: ").id("sprag baseline accept --why TEXT").text(".");
        return (Phrase::plain("Nothing has to be done"), note);
    }
    (Phrase::plain("Nothing"), Phrase::plain("The next run is what comes next."))
}

fn of_status(analysis: &Analysis, status: RunStatus) -> Option<&SuiteAnalysis> {
    analysis.suites.iter().find(|suite| suite.status == status)
}
