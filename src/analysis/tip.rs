//! Which run of a suite on a machine shows its newest state.
//!
//! It is the newest whole run by the place of its commit on the line, and of one commit the youngest. Two kinds of runs
//! are probes, which show nothing about the newest state. They are runs that a filter narrowed, and runs of a commit
//! before one that was measured earlier. A run of a commit off the line has no place. It shows that someone measures,
//! and is the newest only if no run has a place. If the line holds less than half of the runs, none has a place, and
//! the youngest is the newest. That is so for a history that was imported without its repository.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};

use sprag_model::shard::{CompleteRun, IncompleteRun};
use sprag_model::{RunHead, shard};

/// The runs of one suite on one machine, by what they show about its newest state.
pub(super) struct Runs<'a> {
    /// The run that shows it; absent where all were narrowed or are parts of sets that are not complete.
    pub(super) tip: Option<CompleteRun<'a>>,
    /// When it was last measured, probes left out where there is another run.
    pub(super) last: DateTime<Utc>,
    pub(super) probes: BTreeSet<&'a str>,
    /// Sets of shards of which some are missing.
    pub(super) incomplete: Vec<IncompleteRun>,
}

/// Sorts the runs of one suite on one machine, of which there is one at least; `positions` are those of the commits on the line.
pub(super) fn sort<'a>(runs: &[&'a RunHead], positions: &HashMap<&str, usize>) -> Runs<'a> {
    let assembly = shard::assemble(runs.iter().copied());
    let on_line = |run: &CompleteRun<'a>| positions.get(run.newest().commit.as_ref()?.sha.as_str()).copied();
    let placed = assembly.complete.iter().filter(|run| on_line(run).is_some()).count();
    let has_places = 2 * placed >= assembly.complete.len();
    let mut probes = BTreeSet::new();
    let mut newest: Option<(Option<usize>, &CompleteRun<'a>)> = None;
    let mut last = None;
    // Oldest first.
    for run in &assembly.complete {
        let place = on_line(run).filter(|_| has_places);
        let furthest = newest.and_then(|(place, _)| place);
        if place.is_some() && place < furthest {
            probes.extend(run.members().iter().map(|member| member.id.as_str()));
            continue;
        }
        last = Some(run.newest().timestamp);
        if place.is_some() || furthest.is_none() {
            newest = Some((place, run));
        }
    }
    let tip = newest.map(|(_, run)| run.clone());
    if tip.is_some() {
        let narrowed = runs.iter().filter(|run| sprag_model::run::is_filtered(&run.config));
        probes.extend(narrowed.map(|run| run.id.as_str()));
    }
    let youngest = || runs.iter().map(|run| run.timestamp).max().unwrap_or_default();
    Runs { tip, last: last.unwrap_or_else(youngest), probes, incomplete: assembly.incomplete }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use sprag_model::Commit;
    use sprag_model::run::FILTER;

    /// Runs written as `commit filter`, one a day, on a line of `a` to `z`; the days of the newest, the last, and the probes.
    fn check(runs: &[&str], expected: (Option<u32>, u32, &[u32])) {
        let sha = |name: &str| name.repeat(40);
        let names: Vec<String> = ('a'..='z').map(|name| sha(&name.to_string())).collect();
        let positions: HashMap<&str, usize> =
            names.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        let head = |(number, words): (usize, &&str)| {
            let (commit, filter) = words.split_once(' ').unwrap_or((words, ""));
            let mut run = example::run("cpu", "m", number as u32 + 1, &[("scan", 1.0)]);
            run.commit = Some(Commit::new(sha(commit), run.timestamp));
            if !filter.is_empty() {
                run.config.insert(FILTER.to_owned(), vec![filter].into());
            }
            RunHead::new(&run.into())
        };
        let heads: Vec<RunHead> = runs.iter().enumerate().map(head).collect();
        let day = |time: DateTime<Utc>| chrono::Datelike::day(&time);
        let result = sort(&heads.iter().collect::<Vec<_>>(), &positions);
        let probes: Vec<u32> =
            heads.iter().filter(|one| result.probes.contains(one.id.as_str())).map(|one| day(one.timestamp)).collect();
        let tip = result.tip.map(|tip| day(tip.newest().timestamp));
        assert_eq!((tip, day(result.last), &probes[..]), expected, "{runs:?}");
    }

    #[test]
    fn the_newest_run_is_that_of_the_newest_commit_and_no_probe() {
        check(&["a", "b", "c"], (Some(3), 3, &[]));
        check(&["c", "c"], (Some(2), 2, &[]));
        // An older commit is measured later, or a part of the newest.
        check(&["a", "c", "b"], (Some(2), 2, &[3]));
        check(&["a", "c", "c scan", "d scan"], (Some(2), 2, &[3, 4]));
        check(&["c", "b scan", "d"], (Some(3), 3, &[2]));
        // What was always narrowed shows no newest state.
        check(&["a scan", "b scan"], (None, 2, &[]));
    }

    #[test]
    fn commits_off_the_line_show_that_somebody_measures() {
        check(&["a", "b", "X"], (Some(2), 3, &[]));
        check(&["X", "b", "a"], (Some(2), 2, &[3]));
        check(&["X", "Y"], (Some(2), 2, &[]));
        // Hardly any is on the line: only the time decides.
        check(&["X", "b", "Y", "a", "Z"], (Some(5), 5, &[]));
    }
}
