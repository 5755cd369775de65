//! What to do next: the one step that helps most, from what was found.

use super::phrase::Phrase;
use super::{link, number, open_regressions};
use crate::phrase::Fact;
use crate::text::short_benchmark;
use sprag_model::analysis::{Analysis, NoBaseline, SuiteAnalysis};
use sprag_model::run::RunStatus;
use sprag_model::trend::Trend;
use sprag_model::verdict::{Comparison, Verdict};

/// The most useful next step, worst news first: what the newest runs did, then open regressions of the history, then what would
/// settle doubts.
pub(super) fn next_step(analysis: &Analysis, trend: &Trend) -> Fact {
    let (answer, note) = step(analysis, trend);
    Fact { question: "What now?", answer, note }
}

fn step(analysis: &Analysis, trend: &Trend) -> (Phrase, Phrase) {
    if analysis.suites.is_empty() {
        let note = Phrase::plain("Run ").id("sprag weekly").text(" where the kernels are to be measured.");
        return (Phrase::plain("Measure"), note);
    }
    if let Some((suite, worst)) = largest(analysis, &Verdict::Regressed) {
        let name = short_benchmark(&worst.benchmark);
        let note = Phrase::plain(format!(
            "The worst, in {} on {}. If the change is intended, ",
            suite.suite, suite.machine_name
        ))
        .id("sprag baseline accept --why TEXT")
        .text(" makes it the new baseline.");
        return (Phrase::plain("Look at ").name(page_of(analysis, worst), name), note);
    }
    if let Some(suite) = of_status(analysis, RunStatus::Failed) {
        let reason = suite.reason.as_deref().unwrap_or("no reason was recorded");
        return (Phrase::plain(format!("Fix {} on {}", suite.suite, suite.machine_name)), Phrase::plain(reason));
    }
    let failure = analysis.suites.iter().find_map(|suite| Some((suite, suite.failures.first()?)));
    if let Some((suite, (benchmark, reason))) = failure {
        let note = Phrase::plain(format!("In {} on {}: {reason}", suite.suite, suite.machine_name));
        return (Phrase::plain("Fix ").id(short_benchmark(benchmark)), note);
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
    unjudged_step(analysis, trend)
}

fn unjudged_step(analysis: &Analysis, trend: &Trend) -> (Phrase, Phrase) {
    let unusable = analysis.suites.iter().find_map(|suite| match &suite.baseline {
        Err(NoBaseline::Unusable { path, fault }) => Some((path, fault)),
        _ => None,
    });
    if let Some((path, fault)) = unusable {
        let note = Phrase::default().id(path.as_str()).text(format!(" {fault}. Fix it or move it away."));
        return (Phrase::plain("Fix the baseline"), note);
    }
    let page = |id: &str| analysis.series.iter().any(|one| one.series.id == id).then(|| link::series(id));
    let count = |of: fn(&SuiteAnalysis) -> usize| analysis.suites.iter().map(of).sum::<usize>();
    let without = count(|suite| suite.counts.no_baseline);
    if let Some((answer, mut note)) = open_regressions::next_step(trend, &page) {
        if without > 0 {
            let metrics = number::counted(without, "metric has", "metrics have");
            let besides = Phrase::plain(format!("Besides, {metrics} no baseline: ")).id("sprag baseline emit");
            note = note.then(besides.text(" takes one."));
        }
        return (answer, note);
    }
    if without > 0 {
        let note =
            Phrase::default().id("sprag baseline emit").text(" makes the newest run the baseline of later ones.");
        return (Phrase::plain("Take a baseline"), note);
    }
    if count(|suite| suite.counts.not_comparable) > 0 {
        let note = Phrase::plain("The baseline was taken elsewhere. ")
            .id("sprag baseline emit")
            .text(" takes a new one in the present environment.");
        return (Phrase::plain("Renew the baseline"), note);
    }
    if count(|suite| suite.counts.inconclusive) > 0 {
        let note = Phrase::plain("Another run may decide: ").id("sprag run --record").text(".");
        return (Phrase::plain("Measure longer"), note);
    }
    if count(|suite| suite.counts.improved) > 0 {
        let note = Phrase::plain("To keep the gain from now on: ").id("sprag baseline accept --why TEXT").text(".");
        return (Phrase::plain("Nothing to do"), note);
    }
    (Phrase::plain("Nothing"), Phrase::plain("Wait for the next run."))
}

fn of_status(analysis: &Analysis, status: RunStatus) -> Option<&SuiteAnalysis> {
    analysis.suites.iter().find(|suite| suite.status == status)
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

/// The page of the series of a comparison, where there is one.
pub(super) fn page_of(analysis: &Analysis, comparison: &Comparison) -> Option<String> {
    let id = comparison.series.as_deref()?;
    analysis.series.iter().any(|series| series.series.id == id).then(|| link::series(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
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
    fn what_to_look_at_leads_to_its_event_and_its_series() {
        let mut sample = sample_data::rich();
        sample.analysis.suites.retain(|suite| suite.status == RunStatus::Ok && suite.failures.is_empty());
        sample.analysis.suites.iter_mut().for_each(|suite| suite.comparisons.clear());
        sample.analysis.history.quarantined.clear();
        let step = next_step(&sample.analysis, &sample.trend);
        let links = step.answer.parts.iter().filter_map(|part| match part {
            crate::phrase::Part::Link { to, .. } => Some(to.as_str()),
            _ => None,
        });
        let links: Vec<&str> = links.collect();
        assert!(links[0] == link::event("e-7c1f03") && links[1].starts_with("series/"), "{links:?}");
        assert!(!step.note.words().contains("baseline emit"), "{}", step.note.words());
        sample.analysis.suites[0].counts.no_baseline = 2;
        let words = next_step(&sample.analysis, &sample.trend).note.words();
        assert!(words.ends_with("Besides, 2 metrics have no baseline: sprag baseline emit takes one."), "{words}");
    }
}
