//! A suite on a machine, as the digest shows it: its newest run and its judged metrics, worst first.

use super::cell::{self, Judgement};
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use crate::reasons;
use crate::sheet::{Cell, Rows, Section};
use crate::text::{short_benchmark, shortened};
use crate::{date, link};
use sprag_model::analysis::SuiteAnalysis;
use sprag_model::unit::Scale;
use sprag_model::verdict::{Comparison, Counts};

/// The rows that all suites together show, so that the digest loads fast on a slow line.
const ROWS: usize = 24;

/// The rows that a suite shows in any case.
const FEWEST_ROWS: usize = 2;

/// The failed benchmarks that are named.
const FAILURES: usize = 50;

/// The longest subject of a commit in a sentence, in characters.
const SUBJECT: usize = 90;

pub(super) fn all(catalog: &Catalog<'_>) -> impl Iterator<Item = Section> {
    let suites = &catalog.analysis.suites;
    let all = |most: usize| suites.iter().map(|suite| suite.comparisons.len().min(most)).sum::<usize>();
    let rows = (FEWEST_ROWS..=ROWS).rev().find(|most| all(*most) <= ROWS).unwrap_or(FEWEST_ROWS);
    suites.iter().enumerate().map(move |(position, suite)| section(position, suite, rows, catalog))
}

fn section(position: usize, suite: &SuiteAnalysis, most: usize, catalog: &Catalog<'_>) -> Section {
    let heading = format!("{} on {}", suite.suite, suite.machine_name);
    let failures = suite.failures.iter().take(FAILURES).map(|(id, reason)| failure(id, reason));
    let section = Section::new(format!("suite-{}", position + 1), heading.clone())
        .paragraph(note(suite, catalog))
        .items(failures);
    let section = match suite.failures.len().saturating_sub(FAILURES) {
        0 => section,
        more => section.paragraph(format!("{} more failed; the page of the run names them.", count(more))),
    };
    let shared = reasons::shared(&suite.comparisons);
    let reason = |one: &reasons::Shared<'_>| Phrase::from(one.counted()).text(": ").join(Phrase::quoted(one.reason));
    let section = section.items(shared.iter().map(reason));
    let shown: Vec<&Comparison> = suite.comparisons.iter().take(most).collect();
    if shown.is_empty() {
        return section.paragraph("No metric of it was compared with anything.");
    }
    let metric_of = |comparison: &&Comparison| (comparison.metric.clone(), comparison.current);
    let groups = cell::by_metric(shown, metric_of, cell::metric_words).into_iter().map(|(heading, rows)| {
        let judged = |(scale, comparison): (Scale, _)| (scale, comparison, Judgement::new(comparison));
        (heading, rows.into_iter().map(judged).collect::<Vec<(Scale, &Comparison, Judgement)>>())
    });
    let series = |comparison: &Comparison| comparison.series.as_deref().and_then(|id| catalog.series(id));
    // The change against the previous run belongs to the newest value, so a missing one has none.
    let previous = |comparison: &Comparison| {
        comparison.current.and_then(|_| series(comparison)).and_then(|series| series.latest.change_previous)
    };
    let name = |comparison: &Comparison| {
        let page = series(comparison).map(|series| link::series(&series.series.id));
        Phrase::default().name(page, short_benchmark(&comparison.benchmark))
    };
    let table = Rows::grouped(format!("{heading}: judged metrics, worst first"), groups)
        .column("Benchmark", "full", |(_, comparison, _)| name(comparison))
        .column("Newest runs", "g opt2", |(_, comparison, _)| {
            Cell::Drawn(series(comparison).map_or(String::new(), cell::sparkline))
        })
        .column("Newest", "n", |(scale, comparison, _)| {
            cell::or_none(comparison.current, |value| number::value(*scale, value))
        })
        .column("Against previous", "n opt", |(_, comparison, _)| cell::percent(previous(comparison)))
        .column("Against baseline", "n push", |(.., judgement)| judgement.change.clone())
        .column("95\u{202f}% interval", "n ci opt", |(.., judgement)| judgement.interval.clone())
        .column("Limit", "n opt", |(.., judgement)| judgement.limit.clone())
        .column("Detectable", "n opt2", |(.., judgement)| judgement.detectable.clone())
        .column("Verdict", "verdict", |(_, comparison, judgement)| {
            Cell::noted(judgement.mark.clone(), Phrase::quoted(&reasons::own(comparison, &shared)))
        })
        .tint(|(.., judgement)| judgement.is_bad);
    section.rows(table).paragraph(rest(suite, most, catalog))
}

/// What is left out.
fn rest(suite: &SuiteAnalysis, most: usize, catalog: &Catalog<'_>) -> Phrase {
    let left_out = Counts::from_comparisons(suite.comparisons.get(most..).unwrap_or_default());
    if left_out.total() == 0 {
        return Phrase::default();
    }
    let words = Phrase::plain(counted(left_out.total(), "more row is in the ", "more rows are in the "));
    let words = match cell::matrix_page(catalog, &suite.suite) {
        Some(page) => words.link(page, "matrix"),
        None => words.text("record of the run"),
    };
    words.text(format!(": {}.", left_out.words()))
}

/// A benchmark that failed, with the reason.
pub(super) fn failure(benchmark: &str, reason: &str) -> Phrase {
    let mark = Mark::new(Tone::Worse, "✕", "failed");
    Phrase::from(mark).text(" ").id(short_benchmark(benchmark)).text(format!(" {reason}"))
}

/// The newest run: whether it ran, when, what it measured, and whether to trust it.
fn note(suite: &SuiteAnalysis, catalog: &Catalog<'_>) -> Phrase {
    let mut note = Phrase::from(Mark::of_status(suite.status)).text(match &suite.reason {
        Some(reason) => format!(": {reason}. Newest run "),
        None => " ".to_owned(),
    });
    note = note.to(catalog.run_page(&suite.run), date::moment(suite.time));
    if let Some(commit) = &suite.commit {
        note = note.text(" at ").join(cell::commit_link(catalog, &commit.sha));
        if !commit.subject.is_empty() {
            note = note.text(format!(" “{}”", shortened(&commit.subject, SUBJECT)));
        }
        if commit.dirty {
            note = note.text(" with ").mark(Mark::new(Tone::Doubt, "◆", "uncommitted changes"));
        }
    }
    note = note.text(".");
    if !suite.quality.clean {
        let reasons = match suite.quality.reasons.as_slice() {
            [] => "no reason was recorded".to_owned(),
            reasons => reasons.join("; "),
        };
        note = note.text(" ").mark(Mark::of_quality(&suite.quality)).text(format!(": {reasons}."));
    }
    match suite.rollup.as_ref().and_then(|rollup| Some((rollup.series, rollup.change_baseline?))) {
        Some((series, change)) => note.text(format!(
            " Geometric mean of {} against the baseline: {} (positive is worse).",
            counted(series, "judged series", "judged series"),
            number::percent(change)
        )),
        None => note,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use sprag_model::verdict::Verdict;

    #[test]
    fn rows_that_are_left_out_are_counted_by_verdict() {
        let mut sample = sample_data::rich();
        let comparisons = &mut sample.analysis.suites[0].comparisons;
        comparisons.truncate(3);
        comparisons[1].verdict = Verdict::NoBaseline;
        comparisons[2].verdict = Verdict::NoBaseline;
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let rest = |most: usize| rest(&sample.analysis.suites[0], most, &catalog).words();
        assert_eq!(rest(1), "2 more rows are in the matrix: 2 without a baseline.");
        assert_eq!(rest(2), "1 more row is in the matrix: 1 without a baseline.");
        assert_eq!(rest(3), "");
    }
}
