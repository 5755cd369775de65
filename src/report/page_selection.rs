//! Which commits and runs have a page. Others link to the comparison of two commits.
//!
//! A measured commit has a page if it is
//!
//! - among the newest [`NEWEST`] in the order of the line,
//! - among the newest [`RELEASES`] with a tag,
//! - or in the range of one of the newest [`EVENTS`] events: its last good commit, its first bad one, or a suspect of a change.
//!
//! The runs that a listed release is derived from have a page, too, and the site has the files of their records.
//!
//! Without a line the order is that of the newest runs, and a run without a commit is treated as a commit. A run has a
//! page if it is among the newest [`RUNS`] of those commits, or the newest of its suite on its machine.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use sprag_model::release::Released;
use sprag_model::run::RECORD_ROOT;
use sprag_model::{Analysis, CommitLine, Event, EventKind, RunHead};

/// Each of so many is compared with the one before.
pub(super) const NEWEST: usize = 30;
pub(super) const RELEASES: usize = 30;

/// Many suites would otherwise make most pages of a site those of runs, which few read.
const RUNS: usize = 150;

/// A thousand series have events that cover nearly every commit.
pub(super) const EVENTS: usize = 30;

#[derive(Clone, Debug, Default)]
pub(super) struct PageSelection<'a> {
    pub(super) commits: BTreeSet<&'a str>,
    pub(super) runs: BTreeSet<&'a str>,
    /// The runs whose records are files of the site.
    pub(super) records: BTreeSet<&'a str>,
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
        let mut runs: Vec<&RunHead> = heads.iter().filter(|head| chosen.contains(key(head))).collect();
        runs.sort_by_key(|head| Reverse(head.age()));
        runs.truncate(RUNS);
        runs.extend(heads.iter().filter(|head| tips.contains(head.id.as_str())));
        let commits = heads.iter().filter_map(|head| Some(head.commit.as_ref()?.sha.as_str()));
        PageSelection {
            commits: commits.filter(|sha| chosen.contains(sha)).collect(),
            runs: runs.into_iter().map(|head| head.id.as_str()).collect(),
            records: BTreeSet::new(),
        }
    }

    /// Adds the runs that the listed releases are derived from.
    pub(super) fn with_releases(mut self, releases: &Released, heads: &'a [RunHead]) -> PageSelection<'a> {
        let filled = releases.newest.iter().filter_map(|release| release.checklist.as_ref().ok());
        let files = filled.flat_map(|filled| &filled.items).flat_map(|item| &item.rests_on);
        let named: BTreeSet<&str> = files.filter_map(|file| run_of(&file.path)).collect();
        self.records = heads.iter().map(|head| head.id.as_str()).filter(|id| named.contains(id)).collect();
        self.runs.extend(&self.records);
        self
    }
}

/// The run whose record has that path.
pub(super) fn run_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix(RECORD_ROOT)?.strip_suffix(".json")?;
    Some(name.rsplit_once('-')?.1)
}

/// The name of the commit of a run, or else its id.
fn key(head: &RunHead) -> &str {
    head.commit.as_ref().map_or(head.id.as_str(), |commit| commit.sha.as_str())
}

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
    use sprag_model::{Commit, CommitOnLine, Suspect};

    /// A line of a hundred commits and the heads of a run of each but those at `gaps`.
    fn history(gaps: &[usize]) -> (CommitLine, Vec<RunHead>) {
        let sample = sample_data::rich();
        let (like, on_line) = (sample.heads()[0].clone(), sample.line.commits[0].clone());
        let commit = like.commit.as_deref().expect("it has one");
        let head = |place: usize| RunHead {
            id: format!("run-{place:04}"),
            commit: Some(Arc::new(Commit { sha: example::commit(place).sha, ..commit.clone() })),
            timestamp: like.timestamp + chrono::Duration::days(place as i64),
            ..like.clone()
        };
        let commits =
            (0..100).map(|place| CommitOnLine { sha: example::commit(place).sha, tags: Vec::new(), ..on_line.clone() });
        let line = CommitLine { commits: commits.collect(), shallow: false, named: false };
        (line, (0..100).filter(|place| !gaps.contains(place)).map(head).collect())
    }

    fn places<'a>(line: &CommitLine, names: impl IntoIterator<Item = &'a str>) -> Vec<usize> {
        let names: BTreeSet<&str> = names.into_iter().collect();
        (0..line.commits.len()).filter(|place| names.contains(line.commits[*place].sha.as_str())).collect()
    }

    #[test]
    fn the_newest_measured_commits_and_releases_are_chosen() {
        for (gaps, tagged, expected) in [
            (&[98, 97][..], vec![], (68..97).chain(99..100)),
            (&[3], vec![2, 3, 99], (2..3).chain(70..100)),
            (&[], (0..60).collect(), (30..60).chain(70..100)),
        ] {
            let (mut line, heads) = history(gaps);
            tagged.into_iter().for_each(|place: usize| line.commits[place].tags.push("v".to_owned()));
            assert_eq!(places(&line, on_line(&line, &heads)), expected.collect::<Vec<usize>>());
        }
        // Without a line the newest runs decide.
        let (_, mut heads) = history(&[]);
        assert_eq!(on_line(&CommitLine::default(), &heads).len(), NEWEST);
        heads.iter_mut().for_each(|head| head.commit = None);
        let expected: Vec<String> = (70..100).map(|place| format!("run-{place:04}")).collect();
        assert_eq!(on_line(&CommitLine::default(), &heads).into_iter().collect::<Vec<&str>>(), expected);
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
            let (last_good, suspects) = (Some(example::commit(17)), (18..22).map(suspect).collect());
            let event = Event { last_good, suspects, ..example::event(kind, 22) };
            assert_eq!(places(&line, in_range(&event)), expected);
        }
        let event = |place: i64| {
            let like = example::event(EventKind::Change, 0);
            Event { since: like.since + chrono::Duration::days(place), id: format!("e-{}", 99 - place), ..like }
        };
        let events: Vec<Event> = (0..35).map(event).collect();
        let newest = newest_events(&events);
        assert_eq!((newest.len(), &*newest[0].id, &*newest[29].id), (EVENTS, "e-65", "e-94"));
    }

    #[test]
    fn a_newest_run_of_a_commit_with_a_page_has_one_and_so_has_the_newest_of_a_suite() {
        let mut sample = sample_data::rich();
        sample.trend.events.clear();
        let heads = sample.heads();
        let oldest = heads.iter().min_by_key(|head| head.timestamp).expect("the sample has runs");
        let selection = PageSelection::new(&sample.analysis, &[], &sample.line, &heads);
        assert!(!selection.runs.contains(&*oldest.id) && selection.runs.len() < heads.len());
        assert!(heads.iter().all(|head| selection.runs.contains(&*head.id) == selection.commits.contains(key(head))));
        sample.analysis.suites[0].run.clone_from(&oldest.id);
        let selection = PageSelection::new(&sample.analysis, &[], &sample.line, &heads);
        assert!(selection.runs.contains(&*oldest.id));
        // Many runs of a commit: the newest have a page.
        let newest = heads.iter().max_by_key(|head| head.timestamp).expect("the sample has runs");
        let rerun = |n: i64| RunHead {
            id: format!("again-{n:03}"),
            timestamp: newest.timestamp + chrono::Duration::minutes(n),
            ..newest.clone()
        };
        let heads: Vec<RunHead> = (1..=RUNS as i64 + 7).map(rerun).collect();
        sample.analysis.suites.clear();
        let selection = PageSelection::new(&sample.analysis, &[], &sample.line, &heads);
        assert_eq!((selection.runs.len(), selection.runs.first()), (RUNS, Some(&"again-008")));
    }
}
