//! Which commits and runs have a page. What has none is answered by the comparison of any two commits.
//!
//! A commit has one where a run of it is in the history and it is
//!
//! - among the newest [`NEWEST`] commits that were measured, in the order of the line,
//! - or among the newest [`RELEASES`] of them that have a tag,
//! - or in the range of one of the newest [`EVENTS`] events: its last good commit, its first bad one, or a suspect between.
//!   No single commit is the cause of a drift, whose ramp may be long, or of an event of the environment: only their ends count.
//!
//! Where the line holds no measured commit, as without a repository, the order is that of the newest runs, and a run without a
//! commit counts as one. A run has a page where its commit has one, and where it is the newest of its suite on its machine.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use sprag_model::analysis::Analysis;
use sprag_model::commit::CommitLine;
use sprag_model::event::{Event, EventKind};
use sprag_model::head::RunHead;

/// The commits of this number are also compared with the one measured before each.
pub(super) const NEWEST: usize = 30;

/// The releases of this number are also compared with the one before each.
pub(super) const RELEASES: usize = 30;

/// A thousand series have so many events that nearly every commit is in the range of one.
pub(super) const EVENTS: usize = 30;

/// The names of the commits and the ids of the runs that have a page.
#[derive(Clone, Debug, Default)]
pub(super) struct PageSelection<'a> {
    pub(super) commits: BTreeSet<&'a str>,
    pub(super) runs: BTreeSet<&'a str>,
}

impl<'a> PageSelection<'a> {
    pub(super) fn new(
        analysis: &'a Analysis,
        events: &'a [Event],
        line: &'a CommitLine,
        heads: &'a [RunHead],
    ) -> PageSelection<'a> {
        let mut chosen = on_line(line, heads);
        chosen.extend(newest_events(events).into_iter().flat_map(in_range));
        let tips: BTreeSet<&str> = analysis.suites.iter().map(|suite| suite.run.as_str()).collect();
        let is_shown = |head: &&RunHead| chosen.contains(key(head)) || tips.contains(head.id.as_str());
        let commits = heads.iter().filter_map(|head| Some(head.commit.as_ref()?.sha.as_str()));
        PageSelection {
            commits: commits.filter(|sha| chosen.contains(sha)).collect(),
            runs: heads.iter().filter(is_shown).map(|head| head.id.as_str()).collect(),
        }
    }
}

/// The name of the commit of a run, or of a run without a commit its id.
fn key(head: &RunHead) -> &str {
    head.commit.as_ref().map_or(head.id.as_str(), |commit| commit.sha.as_str())
}

/// The newest commits that were measured, and the newest releases among them.
fn on_line<'a>(line: &'a CommitLine, heads: &'a [RunHead]) -> BTreeSet<&'a str> {
    let mut newest_run: BTreeMap<&str, _> = BTreeMap::new();
    for head in heads {
        let time = newest_run.entry(key(head)).or_insert(head.age());
        *time = (*time).max(head.age());
    }
    let on_line: Vec<_> = line.commits.iter().filter(|commit| newest_run.contains_key(commit.sha.as_str())).collect();
    let mut measured: Vec<&str> = on_line.iter().map(|commit| commit.sha.as_str()).collect();
    if measured.is_empty() {
        measured.extend(newest_run.keys());
        measured.sort_by_key(|name| newest_run[name]);
    }
    let releases = on_line.iter().rev().filter(|commit| !commit.tags.is_empty()).take(RELEASES);
    measured.into_iter().rev().take(NEWEST).chain(releases.map(|commit| commit.sha.as_str())).collect()
}

fn newest_events(events: &[Event]) -> Vec<&Event> {
    let mut ordered: Vec<&Event> = events.iter().collect();
    ordered.sort_by_key(|event| Reverse((event.since, &event.id)));
    ordered.truncate(EVENTS);
    ordered
}

/// The commits in the range of an event, measured or not.
fn in_range(event: &Event) -> impl Iterator<Item = &str> {
    let suspects = event.suspects.iter().filter(|_| event.kind == EventKind::Change).map(|suspect| &suspect.commit);
    event.last_good.iter().chain([&event.first_bad]).chain(suspects).map(|commit| commit.sha.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fit::example;
    use crate::sample_data;
    use sprag_model::commit::{Commit, CommitOnLine};
    use sprag_model::event::Suspect;

    /// A line of a hundred commits and the heads of a run of each but those at `gaps`.
    fn history(gaps: &[usize]) -> (CommitLine, Vec<RunHead>) {
        let sample = sample_data::rich();
        let (like, on_line) = (sample.heads()[0].clone(), sample.line.commits[0].clone());
        let sha = |place: usize| example::commit(place).sha;
        let head = |place: usize| {
            let like_commit = like.commit.as_deref().expect("it has one").clone();
            RunHead {
                id: format!("run-{place:04}"),
                commit: Some(Arc::new(Commit { sha: sha(place), ..like_commit })),
                timestamp: like.timestamp + chrono::Duration::days(place as i64),
                ..like.clone()
            }
        };
        let commits = (0..100).map(|place| CommitOnLine { sha: sha(place), tags: Vec::new(), ..on_line.clone() });
        let line = CommitLine { commits: commits.collect(), shallow: false, named: false };
        (line, (0..100).filter(|place| !gaps.contains(place)).map(head).collect())
    }

    fn places<'a>(line: &CommitLine, names: impl IntoIterator<Item = &'a str>) -> Vec<usize> {
        let names: BTreeSet<&str> = names.into_iter().collect();
        (0..line.commits.len()).filter(|place| names.contains(line.commits[*place].sha.as_str())).collect()
    }

    #[test]
    fn the_newest_measured_commits_and_releases_are_chosen() {
        let check = |gaps: &[usize], tagged: &[usize], expected: Vec<usize>| {
            let (mut line, heads) = history(gaps);
            tagged.iter().for_each(|place| line.commits[*place].tags.push("v".to_owned()));
            assert_eq!(places(&line, on_line(&line, &heads)), expected);
        };
        check(&[98, 97], &[], (68..97).chain([99]).collect());
        check(&[3], &[2, 3, 99], [2].into_iter().chain(70..100).collect());
        let many: Vec<usize> = (0..60).collect();
        check(&[], &many, (30..60).chain(70..100).collect());
    }

    #[test]
    fn the_ranges_of_the_newest_events_are_chosen() {
        let (line, _) = history(&[]);
        let suspect = |place: usize| Suspect { commit: example::commit(place), probability: 0.25, measured: true };
        for (kind, expected) in [
            (EventKind::Change, vec![17, 18, 19, 20, 21, 22]),
            (EventKind::Drift, vec![17, 22]),
            (EventKind::Environment, vec![17, 22]),
        ] {
            let event = Event {
                last_good: Some(example::commit(17)),
                suspects: (18..22).map(suspect).collect(),
                ..example::event(kind, 22)
            };
            assert_eq!(places(&line, in_range(&event)), expected);
        }
        let event = |place: usize| {
            let like = example::event(EventKind::Change, place);
            Event { since: like.since + chrono::Duration::days(place as i64), id: format!("e-{}", 99 - place), ..like }
        };
        let events: Vec<Event> = (0..35).map(event).collect();
        let newest = newest_events(&events);
        assert_eq!((newest.len(), &*newest[0].id, &*newest[29].id), (EVENTS, "e-65", "e-94"));
    }

    #[test]
    fn without_a_line_the_newest_runs_decide() {
        let (_, mut heads) = history(&[]);
        let empty = CommitLine::default();
        assert_eq!(on_line(&empty, &heads).len(), NEWEST);
        heads.iter_mut().for_each(|head| head.commit = None);
        let expected: Vec<String> = (70..100).map(|place| format!("run-{place:04}")).collect();
        assert_eq!(on_line(&empty, &heads).into_iter().collect::<Vec<&str>>(), expected);
    }

    #[test]
    fn a_run_has_a_page_where_its_commit_has_or_it_is_the_newest() {
        let mut sample = sample_data::rich();
        sample.trend.events.clear();
        let heads = sample.heads();
        let oldest = heads.iter().min_by_key(|head| head.timestamp).expect("the sample has runs");
        let input = sample.input(&heads);
        let selection = PageSelection::new(input.analysis, &input.trend.events, input.line, &heads);
        assert!(!selection.runs.contains(oldest.id.as_str()) && selection.runs.len() < heads.len());
        assert!(
            heads
                .iter()
                .all(|head| { selection.runs.contains(head.id.as_str()) == selection.commits.contains(key(head)) })
        );
        sample.analysis.suites[0].run.clone_from(&oldest.id);
        let input = sample.input(&heads);
        let selection = PageSelection::new(input.analysis, &input.trend.events, input.line, &heads);
        assert!(selection.runs.contains(oldest.id.as_str()));
    }
}
