//! The reading half of the line: history, frame, series, analysis.

use anyhow::Context as _;

use super::project::Project;
use crate::analysis::digest::{self, Input};
use crate::frame::Frame;
use crate::history;
use crate::measure::clock;
use crate::model::analysis::{Analysis, HistoryFacts};
use crate::model::baseline::{Baseline, BaselineFile};
use crate::model::commit::CommitLine;
use crate::model::run::RecordedRun;

/// A history, and what was found in it.
pub(super) struct Study {
    /// What was found.
    pub(super) analysis: Analysis,
    /// The commits in order.
    pub(super) line: CommitLine,
    /// The runs, oldest first.
    pub(super) runs: Vec<RecordedRun>,
    /// The baseline files of the project.
    pub(super) baselines: Vec<BaselineFile>,
}

/// Loads the whole history of a project and analyses it.
///
/// # Errors
/// When there is no repository or it cannot be read. Single bad records are findings, not errors.
pub(super) fn study(project: &Project) -> anyhow::Result<Study> {
    let store = project.store()?;
    let source = history::source(store, project.config.history.reference.as_deref())?;
    let loaded = history::load(store, &source).context("cannot read the history")?;
    let line = history::commit_line(store, None).context("cannot read the commits")?;
    let baselines = project.baselines()?;
    let usable: Vec<Baseline> = baselines.iter().filter_map(|file| file.content.clone().ok()).collect();
    if !loaded.quarantined.is_empty() {
        super::warn(&format!(
            "{} records of the history are quarantined; the digest names them",
            loaded.quarantined.len()
        ));
    }
    let tomorrow = clock::now() + chrono::Duration::days(1);
    if let Some(ahead) = loaded.runs.iter().find(|one| one.run.timestamp > tomorrow) {
        super::warn(&format!("`{}` is dated {}, which is yet to come", ahead.path, ahead.run.timestamp));
    }
    let frame = Frame::from_runs(&loaded.runs, &line).context("cannot build the frame")?;
    let history = HistoryFacts {
        reference: Some(loaded.reference.clone()),
        tip: loaded.tip.clone(),
        runs: loaded.runs.len(),
        first: loaded.runs.iter().map(|one| one.run.timestamp).min(),
        quarantined: loaded.quarantined.clone(),
        warnings: loaded.warnings.clone(),
    };
    let analysis = digest::analyse(Input {
        project: &project.config.project.name,
        every_days: project.config.schedule.every_days,
        history,
        runs: &loaded.runs,
        baselines: &baselines,
        series: frame.series().context("cannot make the series")?,
        judged: frame.judged().context("cannot tell which series are judged")?,
        latest: frame.latest(&usable).context("cannot find the newest values")?,
        weeks: frame.weeks().context("cannot make the weekly table")?,
        suites: frame.suites(&usable).context("cannot make the table of suites")?,
    });
    Ok(Study { analysis, line, runs: loaded.runs, baselines })
}
