//! A suite on a machine, as the digest shows it: its newest run and its judged metrics, worst first.

use super::cell::{self, Judgement, MetricRows};
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::phrase::Phrase;
use crate::reasons::{self, Shared};
use crate::text::{short_benchmark, short_commit, shortened};
use crate::{date, link, number};
use sprag_model::analysis::SuiteAnalysis;
use sprag_model::metric::Metric;
use sprag_model::unit::Scale;
use sprag_model::verdict::{Comparison, Counts};

/// The rows that all suites together show, so that the digest is read on a slow line at once.
const ROWS: usize = 24;

/// The rows that a suite shows in any case.
const FEWEST_ROWS: usize = 2;

/// The failed benchmarks that are named.
const FAILURES: usize = 50;

/// The longest subject of a commit in a sentence, in characters.
const SUBJECT: usize = 90;

pub(super) struct SuiteSection {
    /// The id of its heading in the page.
    pub(super) id: String,
    pub(super) heading: String,
    pub(super) note: Phrase,
    /// Benchmarks that failed, with the reason.
    pub(super) failures: Vec<(String, String)>,
    /// How many more failed.
    pub(super) failures_rest: String,
    /// Reasons that many verdicts share.
    pub(super) reasons: Vec<Phrase>,
    pub(super) groups: Vec<Group>,
    /// Why there are none.
    pub(super) nothing: &'static str,
    /// What is left out.
    pub(super) rest: Phrase,
}

/// Rows that share a metric and a prefix.
pub(super) struct Group {
    /// The metric and its unit.
    pub(super) heading: String,
    /// How many rows it has.
    pub(super) count: String,
    /// The rows, worst first.
    pub(super) rows: Vec<JudgedRow>,
}

pub(super) struct JudgedRow {
    pub(super) benchmark: String,
    /// The page of its series, or nothing.
    pub(super) page: String,
    pub(super) spark: String,
    pub(super) value: String,
    /// The change against the previous run.
    pub(super) previous: String,
    /// The verdict with its figures.
    pub(super) judgement: Judgement,
}

impl SuiteSection {
    pub(super) fn all(catalog: &Catalog<'_>) -> Vec<SuiteSection> {
        let suites = &catalog.analysis.suites;
        let all = |most: usize| suites.iter().map(|suite| suite.comparisons.len().min(most)).sum::<usize>();
        let rows = (FEWEST_ROWS..=ROWS).rev().find(|most| all(*most) <= ROWS).unwrap_or(FEWEST_ROWS);
        suites.iter().enumerate().map(|(position, suite)| section(position, suite, rows, catalog)).collect()
    }
}

fn section(position: usize, suite: &SuiteAnalysis, most: usize, catalog: &Catalog<'_>) -> SuiteSection {
    let shared = reasons::shared(&suite.comparisons);
    let shown: Vec<&Comparison> = suite.comparisons.iter().take(most).collect();
    let groups = cell::by_metric(shown, |comparison| (comparison.metric.clone(), comparison.current));
    let left_out = Counts::from_comparisons(suite.comparisons.get(most..).unwrap_or_default());
    let mut rest = Phrase::default();
    if left_out.total() > 0 {
        rest = rest.text(number::counted(left_out.total(), "row follows in the ", "rows follow in the "));
        rest = if catalog.matrix_suites.contains(suite.suite.as_str()) {
            rest.link(link::matrix(&suite.suite), "matrix")
        } else {
            rest.text("record of the run")
        };
        rest = rest.text(format!(": {}.", left_out.words()));
    }
    let failures = suite.failures.iter().take(FAILURES);
    SuiteSection {
        id: format!("suite-{}", position + 1),
        heading: format!("{} on {}", suite.suite, suite.machine_name),
        note: note(suite, catalog),
        failures: failures.map(|(id, reason)| (short_benchmark(id).to_owned(), reason.clone())).collect(),
        failures_rest: match suite.failures.len().saturating_sub(FAILURES) {
            0 => String::new(),
            more => format!("{} more failed; the page of the run names them.", number::count(more)),
        },
        reasons: shared.iter().map(shared_reason).collect(),
        groups: groups
            .into_iter()
            .map(|MetricRows { metric, scale, rows }| group(&metric, scale, rows, &shared, catalog))
            .collect(),
        nothing: "No metric of it was held against anything.",
        rest,
    }
}

/// What there is to say of the newest run: whether it ran, when, what it measured, and whether to trust it.
fn note(suite: &SuiteAnalysis, catalog: &Catalog<'_>) -> Phrase {
    let mut note = Phrase::default().mark(Mark::of_status(suite.status));
    if let Some(reason) = &suite.reason {
        note = note.text(format!(": {reason}"));
    }
    note = note.text(if suite.reason.is_some() { ". Newest run " } else { " " });
    let time = date::moment(suite.time);
    note = match catalog.run_page(&suite.run) {
        Some(page) => note.link(page, time),
        None => note.text(time),
    };
    if let Some(commit) = &suite.commit {
        note = note.text(" at ").name(catalog.commit_page(&commit.sha), short_commit(&commit.sha));
        if !commit.subject.is_empty() {
            note = note.text(format!(" “{}”", shortened(&commit.subject, SUBJECT)));
        }
        if commit.dirty {
            note = note.text(" with ").mark(Mark::new(Tone::Doubt, "◆", "changes that no commit holds"));
        }
    }
    note = note.text(".");
    if !suite.quality.clean {
        let reasons = if suite.quality.reasons.is_empty() {
            "no reason was recorded".to_owned()
        } else {
            suite.quality.reasons.join("; ")
        };
        note = note.text(" ").mark(Mark::of_quality(&suite.quality)).text(format!(": {reasons}."));
    }
    if let Some(rollup) = &suite.rollup
        && let Some(change) = rollup.change_baseline
    {
        note = note.text(format!(
            " Mean of {} against the baseline {} (positive is worse).",
            number::counted(rollup.series, "judged series", "judged series"),
            number::percent(change)
        ));
    }
    note
}

fn shared_reason(shared: &Shared<'_>) -> Phrase {
    Phrase::default().mark(shared.counted()).text(": ").join(Phrase::quoted(shared.reason))
}

fn group(metric: &Metric, scale: Scale, rows: Vec<&Comparison>, shared: &[Shared<'_>], catalog: &Catalog<'_>) -> Group {
    Group {
        heading: cell::metric_words(metric, scale),
        count: number::count(rows.len()),
        rows: rows.into_iter().map(|comparison| row(comparison, scale, shared, catalog)).collect(),
    }
}

fn row(comparison: &Comparison, scale: Scale, shared: &[Shared<'_>], catalog: &Catalog<'_>) -> JudgedRow {
    let series = comparison.series.as_deref().and_then(|id| catalog.series(id));
    let value = comparison.current.map_or(number::NONE.to_owned(), |value| number::value(scale, value));
    // The change against the previous run belongs to the newest value, so a missing one has none.
    let previous = series.filter(|_| comparison.current.is_some()).and_then(|series| series.latest.change_previous);
    JudgedRow {
        benchmark: short_benchmark(&comparison.benchmark).to_owned(),
        page: series.map_or(String::new(), |series| link::series(&series.series.id)),
        spark: series.map_or(String::new(), cell::sparkline),
        value,
        previous: previous.map_or(number::NONE.to_owned(), number::percent),
        judgement: Judgement {
            reason: Phrase::quoted(&reasons::own(comparison, shared)),
            ..Judgement::new(comparison)
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use sprag_model::verdict::Verdict;

    #[test]
    fn rows_that_are_left_out_are_called_what_they_are() {
        let mut sample = sample_data::rich();
        let comparisons = &mut sample.analysis.suites[0].comparisons;
        comparisons.truncate(3);
        comparisons[1].verdict = Verdict::NoBaseline;
        comparisons[2].verdict = Verdict::NoBaseline;
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let rest = |most: usize| section(0, &sample.analysis.suites[0], most, &catalog).rest.words();
        assert_eq!(rest(1), "2 rows follow in the matrix: 2 without a baseline.");
        assert_eq!(rest(2), "1 row follows in the matrix: 1 without a baseline.");
        assert_eq!(rest(3), "");
    }
}
