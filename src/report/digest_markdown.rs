//! The digest as Markdown, for a terminal, a build's summary or a message.

use super::mark::Mark;
use super::phrase::Phrase;
use super::reasons::{self, Shared};
use super::sheet::{Row, Section, Sheet, Table};
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
    let rows = (ROWS / analysis.suites.len().max(1)).max(FEWEST_ROWS);
    let suites = analysis.suites.iter().map(|suite| suite_section(suite, analysis, rows));
    let sheet = Sheet {
        headline: Phrase::plain(format!("{}: ", analysis.project)).join(summary.headline),
        lede: summary.lede,
        facts: summary.facts,
        sections: suites.chain(weeks(analysis)).chain(records(analysis)).collect(),
        ..Sheet::default()
    };
    sheet.markdown()
}

fn suite_section(suite: &SuiteAnalysis, analysis: &Analysis, most: usize) -> Section {
    let section = Section::new("", format!("{} on {}", suite.suite, suite.machine_name)).paragraph(status(suite));
    let failures = suite.failures.iter().map(|(benchmark, reason)| {
        Phrase::plain("✕ failed: ").id(short_benchmark(benchmark)).text(": ").join(Phrase::reason(reason))
    });
    let changes = suite.environment_changes.iter().flatten().map(|change| {
        let words = Phrase::plain(format!("◇ environment: {} was ", change.fact));
        words.id(&*change.was).text(", is ").id(&*change.is)
    });
    let shared = reasons::shared(&suite.comparisons);
    let doubts =
        shared.iter().map(|one| Phrase::default().mark(one.counted()).text(": ").join(Phrase::reason(one.reason)));
    let section = listed(section, failures, "failed benchmarks").items(changes).items(doubts);
    let columns = [
        ("Benchmark", ""),
        ("Metric", ""),
        ("Newest", "n"),
        ("Against previous", "n"),
        ("Against baseline", "n"),
        ("Limit", "n"),
        ("Detectable", "n"),
        ("Verdict", ""),
    ];
    let rows = suite.comparisons.iter().take(most).map(|comparison| row(comparison, &shared, analysis));
    let section = section.with(Table::new(&columns, rows.collect()));
    if suite.comparisons.len() <= most {
        return section;
    }
    let left_out = Counts::from_comparisons(&suite.comparisons[most..]);
    let rest = number::counted(left_out.total(), "row is", "rows are");
    section.paragraph(format!("{rest} left out: {}.", left_out.words()))
}

/// When and of what the newest run was, and what it was compared with.
fn status(suite: &SuiteAnalysis) -> Phrase {
    let mut words = Phrase::default().mark(Mark::of_status(suite.status));
    words = words.text(format!(", {} UTC", date::moment(suite.time)));
    if let Some(commit) = &suite.commit {
        words = words.text(", at ").id(short_commit(&commit.sha));
        if commit.dirty {
            words = words.text(" with uncommitted changes");
        }
    }
    words = words.text(".");
    if let Some(reason) = &suite.reason {
        words = words.text(" Reason: ").join(Phrase::reason(reason)).text(".");
    }
    words = match &suite.baseline {
        Ok(facts) => words.text(" Compared with ").id(&*facts.path).text(format!(" of {}.", date::day(facts.time))),
        Err(none) => words.text(" No baseline: ").join(Phrase::reason(&none.to_string())).text("."),
    };
    if suite.quality.clean {
        return words;
    }
    words.text(" Rough: ").join(Phrase::reason(&suite.quality.reasons.join("; "))).text(".")
}

fn row(comparison: &Comparison, shared: &[Shared<'_>], analysis: &Analysis) -> Row {
    let none = || number::NONE.to_owned();
    // Series are sorted by id, so the look-up is a search.
    let series = comparison.series.as_deref().and_then(|id| {
        let place = analysis.series.binary_search_by(|series| series.series.id.as_str().cmp(id)).ok();
        place.map(|place| &analysis.series[place]).or_else(|| analysis.series.iter().find(|s| s.series.id == id))
    });
    let previous = series.filter(|_| comparison.current.is_some()).and_then(|series| series.latest.change_previous);
    let current = comparison.current.map(|value| number::quantity(comparison.metric.unit.scale(value), value));
    let limit = match (comparison.baseline, comparison.allowed) {
        (Some(baseline), Some(allowed)) if baseline != 0.0 => number::percent(allowed / baseline - 1.0),
        _ => none(),
    };
    let mut verdict = Phrase::default().mark(Mark::of_comparison(comparison));
    let why = reasons::own(comparison, shared);
    if !why.is_empty() {
        verdict = verdict.text("; ").join(Phrase::reason(&why));
    }
    Row::new([
        Phrase::default().id(short_benchmark(&comparison.benchmark)),
        Phrase::plain(&*comparison.metric.name),
        current.unwrap_or_else(none).into(),
        previous.map_or_else(none, number::percent).into(),
        comparison.effect.map_or_else(none, |effect| number::percent(effect.change)).into(),
        limit.into(),
        comparison.effect.and_then(|effect| effect.detectable).map_or_else(none, number::percent_size).into(),
        verdict,
    ])
}

fn weeks(analysis: &Analysis) -> Option<Section> {
    let columns = [
        ("Week of", ""),
        ("Suite", ""),
        ("Machine", ""),
        ("Runs", "n"),
        ("Compared", "n"),
        ("Mean change", "n"),
        ("Worst", "n"),
        ("Best", "n"),
    ];
    let change = |change: Option<f64>| change.map_or(number::NONE.to_owned(), number::percent);
    let row = |row: &WeekRow| {
        Row::new([
            date::calendar_day(row.week),
            row.suite.clone(),
            row.machine_name.clone(),
            number::count(row.runs),
            format!("{} of {}", number::count(row.compared), number::count(row.series)),
            change(row.change),
            change(row.worst),
            change(row.best),
        ])
    };
    let table = Table::new(&columns, analysis.weeks.iter().take(WEEK_ROWS).map(row).collect());
    let section = Section::new("", "Week by week").with(table).unless_empty()?;
    Some(section.paragraph("Judged series against the week measured before; positive is worse."))
}

fn records(analysis: &Analysis) -> Option<Section> {
    let history = &analysis.history;
    let damaged = history
        .quarantined
        .iter()
        .map(|record| Phrase::plain("✕ left out: ").id(&*record.path).text(": ").join(Phrase::reason(&record.reason)));
    let warnings = history.warnings.iter().map(|warning| Phrase::plain("? warning: ").join(Phrase::reason(warning)));
    let section = listed(Section::new("", "Records"), damaged, "records left out");
    let section = listed(section, warnings, "warnings");
    (!section.blocks.is_empty()).then_some(section)
}

/// The section with the first of those in its list, and how many more there are of what.
fn listed(section: Section, all: impl ExactSizeIterator<Item = Phrase>, what: &str) -> Section {
    let more = all.len().saturating_sub(LIST_ROWS);
    let section = section.items(all.take(LIST_ROWS));
    if more > 0 { section.item("", format!("… {} more {what}", number::count(more))) } else { section }
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
}
