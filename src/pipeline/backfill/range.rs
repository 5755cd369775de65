//! The commits that a backfill is about: of a range, or around an event.

use crate::config::{Config, Suite};
use crate::error::Context as _;
use crate::measuring::commit_build::{self, commit};
use crate::options::refuse_unknown;
use crate::project::Project;
use crate::trend::{self, TrendOptions};
use crate::{refuse, study, text};
use sprag_history as history;
use sprag_measure::clock;
use sprag_model::commit::CommitOnLine;

/// The suites that can be measured at commits of the past.
pub(super) fn suites<'a>(config: &'a Config, asked: &[String]) -> crate::Result<Vec<(&'a str, &'a Suite)>> {
    commit_build::measurable(&config.select(asked)?, !asked.is_empty())
}

/// On the first-parent line, oldest first, with both ends.
pub(super) fn of_range(project: &Project, range: &str) -> crate::Result<Vec<CommitOnLine>> {
    let hint = "write both ends, as in `v1.0..HEAD`";
    let Some((first, last)) = range.split_once("..").filter(|(first, _)| !first.is_empty()) else {
        return refuse(format!("`{}` is no range of commits", text::printable(range)), hint);
    };
    if last.starts_with('.') {
        return refuse("a range with three dots has no first commit", hint);
    }
    between(project, Some(first), if last.is_empty() { "HEAD" } else { last })
}

/// From the last commit before the event to the first one that surely has it.
pub(super) fn of_event(project: &Project, id: &str) -> crate::Result<Vec<CommitOnLine>> {
    let study = study::study(project)?;
    let options = TrendOptions::events(clock::now());
    let events = trend::analyse(project, &study, &options, &|_| true)?.trend.events;
    refuse_unknown("event", id, events.iter().map(|event| event.id.as_str()))?;
    let Some(event) = events.iter().find(|event| event.id == id) else { return Ok(Vec::new()) };
    let first = event.last_good.as_ref().map(|commit| commit.sha.as_str());
    between(project, first, &event.first_bad.sha)
}

fn between(project: &Project, first: Option<&str>, last: &str) -> crate::Result<Vec<CommitOnLine>> {
    let store = project.store()?;
    let (last_name, last) = (text::printable(last), commit(project, last)?);
    let line = history::commit_line(store, Some(&last.sha)).context("cannot read the commits")?;
    let mut commits = line.commits;
    let Some(first) = first else { return Ok(commits) };
    let (first_name, first) = (text::printable(first), commit(project, first)?);
    if let Some(place) = commits.iter().position(|commit| commit.sha == first.sha) {
        return Ok(commits.split_off(place));
    }
    if history::comes_after(store, &first.sha, &last.sha)? {
        return refuse(
            format!("`{first_name}` is newer than `{last_name}`"),
            format!("turn the ends around: `{last_name}..{first_name}`"),
        );
    }
    if line.shallow {
        return refuse(
            format!("this clone is shallow and ends before it comes from `{last_name}` to `{first_name}`"),
            "run `git fetch --unshallow`; in a workflow set `fetch-depth: 0`",
        );
    }
    let why = match history::comes_after(store, &last.sha, &first.sha)? {
        true => format!("`{first_name}` is on a branch that was merged into the line of `{last_name}`"),
        false => format!("`{last_name}` does not come from `{first_name}`"),
    };
    refuse(why, format!("`git log --first-parent {last_name}` lists the commits that can be the first end"))
}
