//! The ends of a bisection and the commits between them.

use std::collections::BTreeSet;

use crate::builds::commit_build;
use crate::project::Project;
use crate::span::{self, Ends};
use crate::{refuse, text};
use sprag_history as history;
use sprag_model::metric::RATIO;
use sprag_model::{Event, EventKind, Member};

pub(super) struct Span {
    pub(super) good: String,
    pub(super) bad: String,
    /// As they were given.
    pub(super) named: [String; 2],
    pub(super) event: Option<EventFacts>,
}

/// What the history says of an event: the benchmarks that moved in the suite and metric of its leading series.
pub(super) struct EventFacts {
    pub(super) id: String,
    pub(super) suite: String,
    /// Absent for the judged metric of each benchmark.
    pub(super) metric: Option<String>,
    pub(super) benchmarks: Vec<String>,
    pub(super) suspects: Vec<(String, f64)>,
}

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

/// From the last commit before the event to the first one that certainly has it.
pub(super) fn of_event(event: &Event) -> crate::Result<Span> {
    let Some(lead) = event.members.first().filter(|_| event.kind == EventKind::Change) else {
        let message = format!("the event {} is not a change at one commit", event.id);
        return refuse(message, format!("`sprag trend --event {}` shows what it is", event.id));
    };
    let Some(good) = &event.last_good else {
        let message = format!("nothing was measured before the event {}", event.id);
        return refuse(message, "name a good end: `sprag bisect GOOD BAD`");
    };
    let is_alike = |one: &&Member| one.suite == lead.suite && one.metric.name == lead.metric.name;
    let benchmarks: BTreeSet<&String> = event.members.iter().filter(is_alike).map(|one| &one.benchmark).collect();
    Ok(Span {
        good: good.sha.clone(),
        bad: event.first_bad.sha.clone(),
        named: [good.short().to_owned(), event.first_bad.short().to_owned()],
        event: Some(EventFacts {
            id: event.id.clone(),
            suite: lead.suite.clone(),
            // A comparison takes no calibration kernel to which a time has a ratio.
            metric: Some(lead.metric.name.clone()).filter(|name| name != RATIO),
            benchmarks: benchmarks.into_iter().cloned().collect(),
            suspects: event.suspects.iter().map(|one| (one.commit.sha.clone(), one.probability)).collect(),
        }),
    })
}

/// The line between two commits, both included, oldest first: of first parents, and of a merged branch with the good end.
pub(super) fn line(project: &Project, good: &str, bad: &str) -> crate::Result<Vec<String>> {
    let [short_good, short_bad] = [good, bad].map(|sha| text::short(sha, 12));
    let ends = Ends {
        first: good,
        last: bad,
        names: [format!("the good end {short_good}"), format!("the bad end {short_bad}")],
        exchange: format!("swap them: `sprag bisect {short_bad} {short_good}`; it also finds what made code faster"),
    };
    Ok(span::through_merges(project, &ends)?.into_iter().map(|commit| commit.sha).collect())
}

/// The commits that a merge brought by a parent whose line is not among those that were `searched`, from where they forked to
/// the merge. `None` if there are none, or if they forked before the good end, where the level is unknown: a sentence
/// of `older` then names the command that searches them.
pub(super) fn merged(
    project: &Project,
    merge: &str,
    good: &str,
    searched: &[&[String]],
    older: &mut BTreeSet<String>,
) -> crate::Result<Option<Vec<String>>> {
    let store = project.store()?;
    let Some(commit) = history::find_commit(store, merge)? else { return Ok(None) };
    let Some((main, sides)) = commit.parents.split_first() else { return Ok(None) };
    for side in sides {
        let end = [side.clone(), merge.to_owned()];
        let mut commits = vec![merge.to_owned()];
        let mut next = Some(side.clone()).filter(|_| !searched.iter().any(|line| line.ends_with(&end)));
        while let Some(sha) = next {
            commits.push(sha.clone());
            if history::comes_after(store, main, &sha)? {
                if commits.len() > 2 && history::comes_after(store, &sha, good)? {
                    commits.reverse();
                    return Ok(Some(commits));
                }
                if commits.len() > 2 {
                    let [fork, merge] = [&sha, merge].map(|sha| text::short(sha, 12));
                    older.insert(format!(
                        "{merge} merged a branch from before the good end: `sprag bisect {fork} {merge}` searches it."
                    ));
                }
                break;
            }
            next = history::find_commit(store, &sha)?.and_then(|commit| commit.parents.into_iter().next());
        }
    }
    Ok(None)
}
