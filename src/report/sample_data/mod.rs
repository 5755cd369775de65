//! A made-up history for the tests of the pages: seeded, so that every test sees the same.
//!
//! Two suites, two machines, three kernels in two variants and two sizes, forty commits; a regression, an
//! improvement, a drift, an environment change, a skipped suite, a failed benchmark, a damaged record, hostile names.

mod findings;
mod planted;
mod runs;
mod trend;

use super::{Input, ReportError, Settings, render, render_runs, shown_runs};
use crate::model::analysis::{Analysis, HistoryFacts};
use crate::model::commit::CommitLine;
use crate::model::head::RunHead;
use crate::model::page::Page;
use crate::model::run::RecordedRun;
use crate::model::trend::Trend;

/// Input of the site.
pub(super) struct Sample {
    pub(super) analysis: Analysis,
    pub(super) trend: Trend,
    pub(super) line: CommitLine,
    pub(super) runs: Vec<RecordedRun>,
}

impl Sample {
    /// The heads of its runs.
    pub(super) fn heads(&self) -> Vec<RunHead> {
        self.runs.iter().map(RunHead::of).collect()
    }

    /// What the pages are made of.
    pub(super) fn input<'a>(&'a self, heads: &'a [RunHead]) -> Input<'a> {
        Input { analysis: &self.analysis, trend: &self.trend, line: &self.line, heads }
    }

    /// The whole site.
    pub(super) fn render(&self) -> Result<Vec<Page>, ReportError> {
        let heads = self.heads();
        let input = self.input(&heads);
        let mut site = render(&input, &Settings::default())?;
        let shown = shown_runs(&input);
        let runs: Vec<RecordedRun> = self.runs.iter().filter(|run| shown.contains(run.id.as_str())).cloned().collect();
        site.extend(render_runs(&input, &runs)?);
        site.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(site)
    }
}

/// Text that would harm a page that believed it.
pub(super) const HOSTILE: &str = "</td><script>alert('x')</script>|`\"&\u{202e}evil";

/// A history in which much has happened.
pub(super) fn rich() -> Sample {
    let line = runs::commit_line();
    let runs = runs::all(&line);
    let analysis = findings::analysis(&line, &runs);
    let trend = trend::trend(&analysis, &line);
    Sample { analysis, trend, line, runs }
}

/// A history in which nothing has.
pub(super) fn empty() -> Analysis {
    Analysis {
        project: "kernels".to_owned(),
        as_of: None,
        every_days: 7,
        history: HistoryFacts::default(),
        suites: Vec::new(),
        series: Vec::new(),
        weeks: Vec::new(),
    }
}
