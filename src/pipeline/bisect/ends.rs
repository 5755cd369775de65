//! The ends of a bisection and the commits between them.

use std::collections::BTreeSet;

use crate::error::Context as _;
use crate::measuring::commit_build;
use crate::options::refuse_unknown;
use crate::project::Project;
use crate::trend::{self, TrendOptions};
use crate::{refuse, study, text};
use sprag_history as history;
use sprag_measure::clock;

pub(super) struct Span {
    pub(super) good: String,
    pub(super) bad: String,
    /// As they were given.
    pub(super) named: [String; 2],
    pub(super) event: Option<EventFacts>,
}

/// What the history says of an event.
pub(super) struct EventFacts {
    pub(super) id: String,
    pub(super) suite: Option<String>,
    pub(super) benchmarks: Vec<String>,
    pub(super) suspects: Vec<(String, f64)>,
}

/// Commits from one end to the other, both included, oldest first.
pub(super) struct Line(pub(super) Vec<String>);

pub(super) fn named(project: &Project, good: &str, bad: &str) -> crate::Result<Span> {
    let [one, other] = [good, bad].map(|named| commit_build::commit(project, named));
    let (one, other) = (one?, other?);
    let [good_name, bad_name] = [good, bad].map(text::printable);
    if one.sha == other.sha {
        let message = format!("`{good_name}` and `{bad_name}` are the same commit, {}", one.short());
        return refuse(message, "name the last commit that was fine and one that is not");
    }
    Ok(Span { good: one.sha, bad: other.sha, named: [good_name, bad_name], event: None })
}

/// From the last commit before the event to the first one that surely has it.
pub(super) fn of_event(project: &Project, id: &str) -> crate::Result<Span> {
    let study = study::study(project)?;
    let events = trend::analyse(project, &study, &TrendOptions::events(clock::now()), &|_| true)?.trend.events;
    let starts: Vec<_> = events.iter().filter(|event| event.id.starts_with(id)).collect();
    let [event] = starts.as_slice() else {
        refuse_unknown("event", id, events.iter().map(|event| event.id.as_str()))?;
        return refuse(
            format!("several events have an id that starts with `{}`", text::printable(id)),
            "give it in full",
        );
    };
    if !event.kind.is_of_one_commit() {
        let message = format!("the event {} is no change at one commit", event.id);
        return refuse(message, format!("`sprag trend --event {}` shows what it is", event.id));
    }
    let Some(good) = &event.last_good else {
        let message = format!("nothing was measured before the event {}", event.id);
        return refuse(message, "name a good end: `sprag bisect GOOD BAD`");
    };
    let suite = event.members.first().map(|member| member.suite.clone());
    let of_suite = event.members.iter().filter(|member| Some(&member.suite) == suite.as_ref());
    Ok(Span {
        good: good.sha.clone(),
        bad: event.first_bad.sha.clone(),
        named: [good.short().to_owned(), event.first_bad.short().to_owned()],
        event: Some(EventFacts {
            id: event.id.clone(),
            benchmarks: of_suite
                .map(|member| member.benchmark.clone())
                .collect::<BTreeSet<String>>()
                .into_iter()
                .collect(),
            suite,
            suspects: event.suspects.iter().map(|one| (one.commit.sha.clone(), one.probability)).collect(),
        }),
    })
}

/// The first-parent line between two commits.
pub(super) fn line(project: &Project, good: &str, bad: &str) -> crate::Result<Vec<String>> {
    let store = project.store()?;
    let line = history::commit_line(store, Some(bad)).context("cannot read the commits")?;
    let mut commits: Vec<String> = line.commits.into_iter().map(|commit| commit.sha).collect();
    if let Some(place) = commits.iter().position(|sha| sha == good) {
        return Ok(commits.split_off(place));
    }
    let [short_good, short_bad] = [good, bad].map(|sha| text::short(sha, 12));
    if history::comes_after(store, good, bad)? {
        let message = format!("the good end {short_good} is newer than the bad end {short_bad}");
        let hint =
            format!("exchange them: `sprag bisect {short_bad} {short_good}`; it also finds what made code faster");
        return refuse(message, hint);
    }
    if line.shallow {
        let message = format!("this clone is shallow and ends between {short_good} and {short_bad}");
        return refuse(message, "run `git fetch --unshallow`; in a workflow set `fetch-depth: 0`");
    }
    if history::comes_after(store, bad, good)? {
        let message = format!("{short_good} is on a branch that was merged into the line of {short_bad}");
        return refuse(
            message,
            format!("`git log --first-parent {short_bad}` lists the commits that can be the good end"),
        );
    }
    let message = format!("{short_bad} does not come from {short_good}, so no commits lie between them");
    refuse(message, format!("`git merge-base {short_good} {short_bad}` prints a commit that both come from"))
}

/// The commits that a merge brought, from where they forked to the merge; `None` if it is no merge, or of one commit of code
/// that changes nothing by itself.
pub(super) fn merged(project: &Project, merge: &str) -> crate::Result<Option<Line>> {
    let store = project.store()?;
    let Some(commit) = history::find_commit(store, merge)? else { return Ok(None) };
    let [main, side, ..] = commit.parents.as_slice() else { return Ok(None) };
    let mut commits = vec![merge.to_owned()];
    let mut next = Some(side.clone());
    while let Some(sha) = next {
        let is_fork = history::comes_after(store, main, &sha)?;
        commits.push(sha.clone());
        if is_fork {
            commits.reverse();
            return Ok(Some(Line(commits)).filter(|line| line.0.len() > 2));
        }
        next = history::find_commit(store, &sha)?.and_then(|commit| commit.parents.into_iter().next());
    }
    Ok(None)
}
