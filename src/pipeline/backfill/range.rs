//! The commits that a backfill is about: of a range, or around an event.

use crate::builds::commit_build::{self, commit};
use crate::config::{Suite, SuiteKind};
use crate::project::Project;
use crate::span::{self, Ends};
use crate::text::note;
use crate::{refuse, text, trend};
use sprag_measure::gpu::probe;
use sprag_model::CommitOnLine;

/// The suites that can be measured at commits of the past.
pub(super) fn suites<'a>(project: &'a Project, asked: &[String]) -> crate::Result<Vec<(&'a str, &'a Suite)>> {
    let mut suites = commit_build::measurable(project, &project.config.select(asked)?, !asked.is_empty())?;
    if let Err(error) = probe::device() {
        // Every run of them would be skipped.
        let is_absent = |suite: &Suite| matches!(suite.kind, SuiteKind::Gpu | SuiteKind::Cuda);
        let (absent, able): (Vec<_>, Vec<_>) = suites.iter().partition(|(_, suite)| is_absent(suite));
        if let Some((name, _)) = absent.first() {
            if able.is_empty() || !asked.is_empty() {
                let message = format!("the suite `{name}` cannot be measured: {error}");
                return refuse(
                    message,
                    "measure where `sprag doctor` finds a device, or name other suites with `--suite`",
                );
            }
            note(&format!("the suite `{name}` is left out: {error}"));
        }
        suites = able;
    }
    Ok(suites)
}

/// On the first-parent line, oldest first, with both ends.
pub(super) fn of_range(project: &Project, range: &str) -> crate::Result<Vec<CommitOnLine>> {
    let hint = "write both ends, as in `v1.0..HEAD`";
    let Some((first, last)) = range.split_once("..").filter(|(first, _)| !first.is_empty()) else {
        return refuse(format!("`{}` is not a range of commits", text::printable(range)), hint);
    };
    if last.starts_with('.') {
        return refuse("a range with three dots has no first commit", hint);
    }
    between(project, first, if last.is_empty() { "HEAD" } else { last })
}

/// From the last commit before the event to the first one that certainly has it; `None` where no event is open.
pub(super) fn of_event(project: &Project, id: &str) -> crate::Result<Option<Vec<CommitOnLine>>> {
    let Some(event) = trend::named(project, id)? else { return Ok(None) };
    let Some(first) = &event.last_good else {
        let message = format!("nothing was measured before the event {}", event.id);
        return refuse(message, "name a range: `sprag backfill FIRST..LAST`");
    };
    between(project, &first.sha, &event.first_bad.sha).map(Some)
}

fn between(project: &Project, first: &str, last: &str) -> crate::Result<Vec<CommitOnLine>> {
    let [first_name, last_name] = [first, last].map(text::printable);
    let (first, last) = (commit(project, first)?, commit(project, last)?);
    let ends = Ends {
        first: &first.sha,
        last: &last.sha,
        exchange: format!("swap the ends: `{last_name}..{first_name}`"),
        names: [first_name, last_name].map(|name| format!("`{name}`")),
    };
    span::between(project, &ends)
}
