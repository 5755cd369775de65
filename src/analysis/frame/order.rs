//! The order of runs in a series.
//!
//! Runs of commits on the line are ordered by their position. A commit off the line is of another branch, rewritten, or
//! cut off by a shallow clone. It comes after the last commit of the line that is not newer. A run that knows no commit
//! is placed in the same way by its own time. Clocks go wrong, so the line is read with corrected times: a commit is
//! treated as no older than the ones before it. Generation number version 2 of git does the same (git-scm.com, "Commit
//! Graph Design Notes", corrected commit date). Several runs of a commit are ordered by their time, then by id.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use sprag_model::{Commit, CommitLine, RunHead};

/// Where a run is in the order; the order of the fields is the order of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunPlace<'a> {
    /// How many commits of the line come before it, its own included.
    before: usize,
    /// What places it off the line: the time of its commit, or else its own. Absent, and so first, for commits on the line.
    aside: Option<DateTime<Utc>>,
    /// Keeps runs of one commit together where two commits have one time.
    commit: &'a str,
    run_time: DateTime<Utc>,
    run: &'a str,
}

impl RunPlace<'_> {
    pub fn is_on_line(&self) -> bool {
        self.aside.is_none()
    }
}

/// The commit line, ready to place runs.
pub struct RunOrder<'a> {
    positions: HashMap<&'a str, usize>,
    times: Vec<DateTime<Utc>>,
}

impl<'a> RunOrder<'a> {
    pub fn new(line: &'a CommitLine) -> RunOrder<'a> {
        let mut newest = DateTime::<Utc>::MIN_UTC;
        let corrected = line.commits.iter().map(|commit| {
            newest = newest.max(commit.commit_time);
            newest
        });
        let times = corrected.collect();
        RunOrder { positions: line.positions(), times }
    }

    pub(super) fn position(&self, run: &RunHead) -> Option<usize> {
        run.commit.as_ref().and_then(|commit| self.positions.get(commit.sha.as_str()).copied())
    }

    pub(super) fn place<'r>(&self, run: &'r RunHead) -> RunPlace<'r> {
        self.place_at(run.commit.as_deref(), run.age())
    }

    /// Of a run of that commit with that time and id.
    pub fn place_at<'r>(&self, commit: Option<&'r Commit>, (run_time, run): (DateTime<Utc>, &'r str)) -> RunPlace<'r> {
        let (commit, time) = match commit {
            Some(commit) => (commit.sha.as_str(), commit.commit_time),
            None => ("", run_time),
        };
        let (before, aside) = match self.positions.get(commit) {
            Some(position) => (position + 1, None),
            None => (self.times.partition_point(|commit_time| *commit_time <= time), Some(time)),
        };
        RunPlace { before, aside, commit, run_time, run }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fixture::{line, run_of};

    /// Sorts runs given as `id commit commit-hour run-hour` (`-` for no commit) along a line of `commit hour`.
    fn check(commits: &[(&str, i64)], runs: &[(&str, &str, i64, i64)], expected: &str) {
        let line = line(commits);
        let order = RunOrder::new(&line);
        let mut runs: Vec<_> = runs
            .iter()
            .map(|&(id, commit, commit_hour, hour)| RunHead::new(&run_of(id, commit, commit_hour, hour)))
            .collect();
        for turn in 0..runs.len() {
            runs.rotate_left(turn);
            let mut sorted: Vec<&RunHead> = runs.iter().collect();
            sorted.sort_by_key(|run| order.place(run));
            let ids: Vec<&str> = sorted.iter().map(|run| run.id.as_str()).collect();
            assert_eq!(ids.join(" "), expected, "{commits:?}");
        }
    }

    #[test]
    fn runs_are_in_commit_order() {
        let line = [("a", 10), ("b", 20), ("c", 30)];
        // Measured in any order, also backwards as a bisection does.
        check(&line, &[("1", "c", 30, 40), ("2", "a", 10, 50), ("3", "b", 20, 60)], "2 3 1");
        // Several runs of a commit: by time, then id.
        check(&line, &[("9", "b", 20, 70), ("8", "b", 20, 60), ("7", "b", 20, 70), ("6", "c", 30, 31)], "8 7 9 6");
        // Commits off the line: by their commit time; one with the time of a known commit comes after it.
        check(&line, &[("1", "a", 10, 40), ("2", "b", 20, 40), ("3", "x", 15, 90), ("4", "y", 20, 90)], "1 3 2 4");
        check(&line, &[("1", "x", 5, 90), ("2", "a", 10, 40), ("3", "c", 30, 40), ("4", "y", 99, 41)], "1 2 3 4");
        // Runs without a commit: by their own time.
        check(&line, &[("1", "a", 10, 90), ("2", "-", 0, 25), ("3", "b", 20, 90), ("4", "c", 30, 90)], "1 3 2 4");
    }

    #[test]
    fn runs_are_in_order_of_time_where_there_is_no_line() {
        check(&[], &[("1", "b", 20, 90), ("2", "a", 10, 99), ("3", "-", 0, 15)], "2 3 1");
        // Two commits of one time do not mix.
        check(&[], &[("1", "a", 10, 1), ("2", "b", 10, 2), ("3", "a", 10, 3)], "1 3 2");
    }

    #[test]
    fn a_clock_gone_wrong_moves_nobody_else() {
        // `b` claims to be older than `a`: what is newer than `a` comes after `b`, which comes after `a`.
        let line = [("a", 10), ("b", 1), ("c", 30)];
        check(&line, &[("1", "a", 10, 40), ("2", "b", 1, 40), ("3", "x", 12, 40), ("4", "c", 30, 40)], "1 2 3 4");
        check(&line, &[("1", "x", 5, 40), ("2", "a", 10, 40), ("3", "b", 1, 40)], "1 2 3");
    }
}
