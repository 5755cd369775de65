//! Which commits and runs have a page of their own. What has none is answered by the comparison of any two commits.
//!
//! A commit has one where a run of it is known and it is
//!
//! - among the newest [`NEWEST`] commits that were measured, in the order of the line,
//! - or among the newest [`RELEASES`] of them that bear a tag,
//! - or in the range of one of the newest [`EVENTS`] events: its last good commit, its first bad
//!   one, or a commit between that may be the cause. Of a drift, whose ramp may be long, and of an event of the environment no
//!   single commit is, so these show their ends alone.
//!
//! Where the line holds no commit that was measured, as without a repository, the order is that of the newest runs, and a run
//! without a commit counts as one.
//!
//! A run has one where its commit is one of the newest or a release, and where it is the newest of its suite on its machine, of
//! which the digest tells. At a commit in the range of an event those runs have one that the event moved something of.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::input::Input;
use sprag_model::commit::CommitLine;
use sprag_model::event::{Event, EventKind};
use sprag_model::head::RunHead;

/// How many of the newest commits that were measured have a page, and one against the commit that was measured before.
pub(super) const NEWEST: usize = 30;

/// How many of the newest releases have a page, and one against the release before.
pub(super) const RELEASES: usize = 30;

/// How many of the newest events have pages of the commits in their range. A thousand series have so many events that
/// nearly every commit is in the range of one.
pub(super) const EVENTS: usize = 30;

#[derive(Clone, Debug, Default)]
pub(super) struct PageSelection<'a> {
    commits: BTreeSet<&'a str>,
    /// Those of them that have one for themselves: the newest, and releases.
    of_line: BTreeSet<&'a str>,
    runs: BTreeSet<&'a str>,
}

impl<'a> PageSelection<'a> {
    /// What has a page in a history.
    pub(super) fn new(input: &Input<'a>) -> PageSelection<'a> {
        let Input { analysis, trend, line, heads, .. } = *input;
        let overall = of_line(line, heads);
        let events = of_events(&newest_events(&trend.events));
        let commit = |head: &'a RunHead| head.commit.as_ref().map(|commit| commit.sha.as_str());
        let tips: BTreeSet<&str> = analysis.suites.iter().map(|suite| suite.run.as_str()).collect();
        let is_moved = |head: &RunHead| {
            let mut of_commit = events.get(key(head)).into_iter().flatten();
            of_commit.any(|event| {
                event.members.iter().any(|one| one.suite == head.suite && one.machine.id == head.machine.id)
            })
        };
        let is_shown =
            |head: &&RunHead| overall.contains(key(head)) || tips.contains(head.id.as_str()) || is_moved(head);
        PageSelection {
            commits: heads
                .iter()
                .filter_map(commit)
                .filter(|sha| overall.contains(sha) || events.contains_key(sha))
                .collect(),
            runs: heads.iter().filter(is_shown).map(|head| head.id.as_str()).collect(),
            of_line: overall,
        }
    }

    pub(super) fn commits(&self) -> &BTreeSet<&'a str> {
        &self.commits
    }

    /// Whether a commit is one of the newest or a release, and not in the range of an event alone.
    pub(super) fn is_newest_or_release(&self, sha: &str) -> bool {
        self.of_line.contains(sha)
    }

    pub(super) fn runs(&self) -> &BTreeSet<&'a str> {
        &self.runs
    }
}

/// The name of the commit of a run, or of a run without a commit its id.
fn key(head: &RunHead) -> &str {
    head.commit.as_ref().map_or(head.id.as_str(), |commit| commit.sha.as_str())
}

/// The names of the newest commits that were measured, and of the newest releases among them.
fn of_line<'a>(line: &'a CommitLine, heads: &'a [RunHead]) -> BTreeSet<&'a str> {
    let mut newest_run: BTreeMap<&str, Reverse<_>> = BTreeMap::new();
    for head in heads {
        let time = newest_run.entry(key(head)).or_insert(Reverse(head.age()));
        *time = (*time).min(Reverse(head.age()));
    }
    let on_line: Vec<_> = line.commits.iter().filter(|commit| newest_run.contains_key(commit.sha.as_str())).collect();
    let mut measured: Vec<&str> = on_line.iter().map(|commit| commit.sha.as_str()).collect();
    if measured.is_empty() {
        measured.extend(newest_run.keys());
        measured.sort_by_key(|name| Reverse(newest_run[name]));
    }
    let first = measured.len().saturating_sub(NEWEST);
    let releases = on_line.iter().rev().filter(|commit| !commit.tags.is_empty()).take(RELEASES);
    measured[first..].iter().copied().chain(releases.map(|commit| commit.sha.as_str())).collect()
}

/// The newest events, oldest first.
fn newest_events(events: &[Event]) -> Vec<&Event> {
    let mut ordered: Vec<&Event> = events.iter().collect();
    ordered.sort_by(|a, b| (a.since, &a.id).cmp(&(b.since, &b.id)));
    ordered.split_off(ordered.len().saturating_sub(EVENTS))
}

/// The names of the commits in the ranges of events, measured or not, each with its events.
fn of_events<'a>(events: &[&'a Event]) -> BTreeMap<&'a str, Vec<&'a Event>> {
    let mut names: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in events.iter().copied() {
        let ends = event.last_good.iter().chain([&event.first_bad]);
        let suspects = event.suspects.iter().filter(|_| event.kind == EventKind::Change).map(|suspect| &suspect.commit);
        let all: BTreeSet<&str> = ends.chain(suspects).map(|commit| commit.sha.as_str()).collect();
        all.into_iter().for_each(|sha| names.entry(sha).or_default().push(event));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::example;
    use crate::sample_data;
    use sprag_model::commit::CommitOnLine;
    use sprag_model::event::Suspect;
    use sprag_model::trend::Trend;

    /// A line of so many commits, the heads of a run of each of the others than `gaps`, and the sample they are taken from.
    fn history(commits: usize, gaps: &[usize]) -> (CommitLine, Vec<RunHead>) {
        let sample = sample_data::rich();
        let (like, on_line) = (sample.heads()[0].clone(), sample.line.commits[0].clone());
        let shas: Vec<String> = (0..commits).map(|place| example::commit(place).sha).collect();
        let heads = (0..commits).filter(|place| !gaps.contains(place)).map(|place| {
            let renamed = |commit: &sprag_model::commit::Commit| sprag_model::commit::Commit {
                sha: shas[place].clone(),
                ..commit.clone()
            };
            let commit = like.commit.as_deref().map(renamed).map(std::sync::Arc::new);
            let timestamp = like.timestamp + chrono::Duration::days(place as i64);
            RunHead { id: format!("run-{place:04}"), commit, timestamp, ..like.clone() }
        });
        let heads = heads.collect();
        let commits = shas.into_iter().map(|sha| CommitOnLine { sha, ..on_line.clone() }).collect();
        (CommitLine { commits, shallow: false, named: false }, heads)
    }

    fn places(line: &CommitLine, names: &BTreeSet<&str>) -> Vec<usize> {
        (0..line.commits.len()).filter(|place| names.contains(line.commits[*place].sha.as_str())).collect()
    }

    #[test]
    fn the_newest_measured_commits_are_chosen() {
        let (line, heads) = history(100, &[98, 97]);
        assert_eq!(places(&line, &of_line(&line, &heads)), (68..97).chain([99]).collect::<Vec<usize>>());
    }

    #[test]
    fn measured_releases_and_the_ranges_of_events_are_chosen() {
        let (mut line, heads) = history(100, &[3]);
        for place in [2, 3, 99] {
            line.commits[place].tags.push(format!("v0.{place}"));
        }
        let suspect = |place: usize| Suspect { commit: example::commit(place), probability: 0.25, measured: true };
        let change = Event {
            last_good: Some(example::commit(17)),
            suspects: (18..22).map(suspect).collect(),
            ..example::event(EventKind::Change, 22)
        };
        let others = |event: &Event| {
            let names = of_line(&line, &heads).into_iter().chain(of_events(&[event]).into_keys()).collect();
            places(&line, &names).into_iter().filter(|place| *place < 60).collect::<Vec<usize>>()
        };
        assert_eq!(others(&change), [2, 17, 18, 19, 20, 21, 22]);
        assert_eq!(others(&Event { kind: EventKind::Drift, ..change.clone() }), [2, 17, 22]);
        assert_eq!(others(&Event { kind: EventKind::Environment, ..change }), [2, 17, 22]);
    }

    #[test]
    fn a_commit_with_a_page_for_an_event_alone_is_no_newest_one() {
        let (mut line, heads) = history(100, &[]);
        line.commits[40].tags.push("v0.1".to_owned());
        let sample = sample_data::rich();
        let trend = Trend { events: vec![example::event(EventKind::Change, 22)], ..sample.trend.clone() };
        let shown = PageSelection::new(&Input { trend: &trend, line: &line, heads: &heads, ..sample.input(&heads) });
        let sha = |place: usize| example::commit(place).sha;
        for (place, has_page, is_newest_or_release) in
            [(10, false, false), (22, true, false), (40, true, true), (99, true, true)]
        {
            let sha = sha(place);
            assert_eq!(shown.commits().contains(sha.as_str()), has_page, "{place}");
            assert_eq!(shown.is_newest_or_release(&sha), is_newest_or_release, "{place}");
        }
    }

    #[test]
    fn the_commits_of_old_events_have_no_page() {
        let shown = |count: usize| -> Vec<usize> {
            let since = example::event(EventKind::Change, 0).since;
            let event = |place: usize| Event {
                id: format!("e-{}", count - place),
                since: since + chrono::Duration::days(place as i64),
                ..example::event(EventKind::Change, place)
            };
            let mut events: Vec<Event> = (0..count).map(event).collect();
            events.reverse();
            newest_events(&events).iter().map(|event| count - event.id[2..].parse::<usize>().unwrap()).collect()
        };
        let check = |count: usize, first: usize| assert_eq!(shown(count), (first..count).collect::<Vec<usize>>());
        check(0, 0);
        check(30, 0);
        check(35, 5);
        check(103, 73);
    }

    #[test]
    fn a_long_row_of_releases_is_cut() {
        let (mut line, heads) = history(100, &[]);
        for commit in &mut line.commits[..60] {
            commit.tags.push("v".to_owned());
        }
        assert_eq!(places(&line, &of_line(&line, &heads)), (30..60).chain(70..100).collect::<Vec<usize>>());
    }

    #[test]
    fn without_a_line_the_newest_runs_decide() {
        let (_, mut heads) = history(100, &[]);
        let empty = CommitLine::default();
        assert_eq!(of_line(&empty, &heads).len(), NEWEST);
        for head in &mut heads {
            head.commit = None;
        }
        let names = of_line(&empty, &heads);
        let expected: Vec<String> = (70..100).map(|place| format!("run-{place:04}")).collect();
        assert_eq!(names.into_iter().collect::<Vec<&str>>(), expected);
    }

    #[test]
    fn a_run_has_a_page_where_its_commit_has_or_the_digest_lists_it() {
        let mut sample = sample_data::rich();
        sample.trend.events.clear();
        let heads = sample.heads();
        let oldest = heads.iter().min_by_key(|head| head.timestamp).expect("the sample has runs");
        let shown = PageSelection::new(&sample.input(&heads));
        assert!(!shown.runs().contains(oldest.id.as_str()) && shown.runs().len() < heads.len());
        assert!(heads.iter().all(|head| {
            shown.runs().contains(head.id.as_str())
                == head.commit.as_ref().is_some_and(|commit| shown.commits().contains(commit.sha.as_str()))
        }));
        sample.analysis.suites[0].run.clone_from(&oldest.id);
        let heads = sample.heads();
        assert!(PageSelection::new(&sample.input(&heads)).runs().contains(oldest.id.as_str()));
    }
}
