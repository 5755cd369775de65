//! A made-up history for the tests of the pages: seeded, so that every test sees the same.
//!
//! Two suites, two machines, three kernels in two variants and two sizes, forty commits; a regression, an
//! improvement, an environment change, a skipped suite, a failed benchmark, a damaged record, hostile names.

mod findings;
mod runs;

use crate::model::analysis::{Analysis, HistoryFacts};
use crate::model::commit::CommitLine;
use crate::model::run::RecordedRun;

/// Input of the site.
pub(super) struct Sample {
    pub(super) analysis: Analysis,
    pub(super) line: CommitLine,
    pub(super) runs: Vec<RecordedRun>,
}

/// Text that would harm a page that believed it.
pub(super) const HOSTILE: &str = "</td><script>alert('x')</script>|`\"&\u{202e}evil";

/// A history in which much has happened.
pub(super) fn rich() -> Sample {
    let line = runs::commit_line();
    let runs = runs::all(&line);
    let analysis = findings::analysis(&line, &runs);
    Sample { analysis, line, runs }
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
