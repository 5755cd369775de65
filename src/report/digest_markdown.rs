//! The digest as Markdown, for a terminal, a build's summary or a message.
//!
//! GitHub's dialect: tables are needed, and every cell holds text of others, so nothing in it may end the cell,
//! open HTML or call somebody by name.

use super::mark::Mark;
use super::markdown::{Lines, code, cut, mark, phrase, plain};
use super::reasons::{self, Shared};
use super::{date, number, summary};
use crate::text::{short_benchmark, short_commit};
use sprag_model::analysis::{Analysis, SuiteAnalysis};
use sprag_model::rollup::WeekRow;
use sprag_model::trend::Trend;
use sprag_model::verdict::{Comparison, Counts};

/// The rows that all suites together show; a build's summary may have a megabyte.
const ROWS: usize = 400;

/// The rows that a suite shows in any case.
const FEWEST_ROWS: usize = 20;

/// The newest weeks shown, a line a suite and machine.
const WEEK_ROWS: usize = 12;

/// The damaged records, warnings or failures that are named.
const LIST_ROWS: usize = 20;

/// The digest of the findings: verdict, the four questions, each suite's judged metrics, weeks, damaged records.
pub fn digest_markdown(analysis: &Analysis, trend: &Trend) -> String {
    let summary = summary::summarise(analysis, trend);
    let mut out = Lines::default();
    out.paragraph(&format!("# {}: {}", plain(&analysis.project), phrase(&summary.headline)));
    if !summary.lede.parts.is_empty() {
        out.paragraph(&phrase(&summary.lede));
    }
    for fact in &summary.facts {
        let answer = phrase(&fact.answer);
        out.line(&format!("- **{}** {answer}. {}", fact.question, phrase(&fact.note)).replace(".. ", ". "));
    }
    out.blank();
    let rows = (ROWS / analysis.suites.len().max(1)).max(FEWEST_ROWS);
    for suite in &analysis.suites {
        suite_section(&mut out, suite, analysis, rows);
    }
    weeks(&mut out, analysis);
    records(&mut out, analysis);
    out.text
}

fn suite_section(out: &mut Lines, suite: &SuiteAnalysis, analysis: &Analysis, most: usize) {
    out.paragraph(&format!("## {} on {}", plain(&suite.suite), plain(&suite.machine_name)));
    let mut status = format!("{}, {} UTC", mark(&Mark::of_status(suite.status)), date::moment(suite.time));
    if let Some(commit) = &suite.commit {
        status += &format!(", at {}", code(short_commit(&commit.sha)));
        if commit.dirty {
            status += " with changes that no commit holds";
        }
    }
    status += ".";
    if let Some(reason) = &suite.reason {
        status += &format!(" Reason: {}.", cut(reason));
    }
    status += &match &suite.baseline {
        Ok(facts) => format!(" Held against {} of {}.", code(&facts.path), date::day(facts.time)),
        Err(none) => format!(" No baseline: {}.", cut(&none.to_string())),
    };
    if !suite.quality.clean {
        status += &format!(" Rough: {}.", cut(&suite.quality.reasons.join("; ")));
    }
    out.paragraph(&status);
    for (benchmark, reason) in suite.failures.iter().take(LIST_ROWS) {
        out.line(&format!("- ✕ failed: {}: {}", code(short_benchmark(benchmark)), cut(reason)));
    }
    for change in suite.environment_changes.iter().flatten() {
        let (was, is) = (code(&change.was), code(&change.is));
        out.line(&format!("- ◇ environment: {} was {was}, is {is}", plain(&change.fact)));
    }
    more(out, suite.failures.len(), "failed benchmarks");
    out.blank();
    if !suite.comparisons.is_empty() {
        comparisons(out, suite, analysis, most);
    }
}

fn comparisons(out: &mut Lines, suite: &SuiteAnalysis, analysis: &Analysis, most: usize) {
    let shared = reasons::shared(&suite.comparisons);
    for shared in &shared {
        out.line(&format!("- {}: {}", mark(&shared.counted()), cut(shared.reason)));
    }
    out.blank();
    out.head(
        &["Benchmark", "Metric", "Newest", "Against previous", "Against baseline", "Limit", "Run could see", "Verdict"],
        &[false, false, true, true, true, true, true, false],
    );
    for comparison in suite.comparisons.iter().take(most) {
        out.row(&comparison_cells(comparison, &shared, analysis));
    }
    out.blank();
    if suite.comparisons.len() > most {
        let left_out = Counts::from_comparisons(&suite.comparisons[most..]);
        let rest = number::counted(left_out.total(), "row is", "rows are");
        out.paragraph(&format!("{rest} left out: {}.", left_out.words()));
    }
}

fn comparison_cells(comparison: &Comparison, shared: &[Shared<'_>], analysis: &Analysis) -> Vec<String> {
    let none = || number::NONE.to_owned();
    // Series stand by id, so the look-up is a search.
    let series = comparison.series.as_deref().and_then(|id| {
        let found = analysis.series.binary_search_by(|series| series.series.id.as_str().cmp(id)).ok();
        found.map(|position| &analysis.series[position]).or_else(|| analysis.series.iter().find(|s| s.series.id == id))
    });
    let previous = series.filter(|_| comparison.current.is_some()).and_then(|series| series.latest.change_previous);
    let current = comparison.current.map(|value| number::quantity(comparison.metric.unit.scale(value), value));
    let limit = match (comparison.baseline, comparison.allowed) {
        (Some(baseline), Some(allowed)) if baseline != 0.0 => number::percent(allowed / baseline - 1.0),
        _ => none(),
    };
    let mut verdict = mark(&Mark::of_comparison(comparison));
    let why = reasons::own(comparison, shared);
    if !why.is_empty() {
        verdict += &format!("; {}", cut(&why));
    }
    vec![
        code(short_benchmark(&comparison.benchmark)),
        plain(&comparison.metric.name),
        current.unwrap_or_else(none),
        previous.map_or_else(none, number::percent),
        comparison.effect.map_or_else(none, |effect| number::percent(effect.change)),
        limit,
        comparison.effect.and_then(|effect| effect.detectable).map_or_else(none, number::percent_size),
        verdict,
    ]
}

fn weeks(out: &mut Lines, analysis: &Analysis) {
    if analysis.weeks.is_empty() {
        return;
    }
    out.paragraph("## Week by week");
    out.head(
        &["Week of", "Suite", "Machine", "Runs", "Compared", "Mean change", "Worst", "Best"],
        &[false, false, false, true, true, true, true, true],
    );
    for row in analysis.weeks.iter().take(WEEK_ROWS) {
        out.row(&week_cells(row));
    }
    out.blank();
    out.paragraph("Judged series against the week measured before; positive is worse.");
}

fn week_cells(row: &WeekRow) -> Vec<String> {
    let change = |change: Option<f64>| change.map_or(number::NONE.to_owned(), number::percent);
    vec![
        date::calendar_day(row.week),
        plain(&row.suite),
        plain(&row.machine_name),
        number::count(row.runs),
        format!("{} of {}", number::count(row.compared), number::count(row.series)),
        change(row.change),
        change(row.worst),
        change(row.best),
    ]
}

fn records(out: &mut Lines, analysis: &Analysis) {
    let history = &analysis.history;
    if history.quarantined.is_empty() && history.warnings.is_empty() {
        return;
    }
    out.paragraph("## Records");
    for record in history.quarantined.iter().take(LIST_ROWS) {
        out.line(&format!("- ✕ left out: {}: {}", code(&record.path), cut(&record.reason)));
    }
    more(out, history.quarantined.len(), "records left out");
    for warning in history.warnings.iter().take(LIST_ROWS) {
        out.line(&format!("- ? warning: {}", cut(warning)));
    }
    more(out, history.warnings.len(), "warnings");
}

fn more(out: &mut Lines, all: usize, words: &str) {
    if all > LIST_ROWS {
        out.line(&format!("- … {} more {words}", number::count(all - LIST_ROWS)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;

    #[test]
    fn an_empty_history_says_what_to_do() {
        insta::assert_snapshot!(digest_markdown(&sample_data::empty(), &Trend::default()));
    }

    #[test]
    fn the_digest_reads_as_it_should() {
        let sample = sample_data::rich();
        insta::assert_snapshot!(digest_markdown(&sample.analysis, &sample.trend));
    }

    #[test]
    fn every_row_of_a_table_has_the_cells_of_its_head() {
        let sample = sample_data::rich();
        let text = digest_markdown(&sample.analysis, &sample.trend);
        let mut columns = 0;
        for line in text.lines() {
            let bars = line.matches('|').count();
            if !line.starts_with('|') {
                columns = 0;
            } else if columns == 0 {
                columns = bars;
            } else {
                assert_eq!(bars, columns, "{line}");
            }
        }
        assert!(!text.contains("<script"), "nothing opens HTML");
    }
}
