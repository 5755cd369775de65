//! The commits of a machine in their order, and the points of its series on them.
//!
//! Where the line of commits holds the half or more of what a machine measured, the line is the axis, and runs of other commits (of
//! branches, or rewritten ones) are left out: they would look like a change and its taking back. A machine of which the line
//! holds less, as in a history that was imported without its repository, shares an axis with the machines that measured some of
//! its commits: the commits of them all, in the order in which series hold their points. Clocks play no part beyond that.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use sprag_base::stats::describe;
use sprag_model::{CommitLine, NamedCommit, Point, PooledPoint, RunHead, Series};

/// The commits of the points of a machine, in order.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(from = "Named", into = "Named")]
pub(super) struct Axis {
    pub(super) commits: Vec<NamedCommit>,
    places: HashMap<String, usize>,
    /// Whether it is the line of commits, so that commits between two measured ones are known.
    pub(super) is_line: bool,
}

/// An axis without what follows from it.
#[derive(Deserialize, Serialize)]
struct Named(Vec<NamedCommit>, bool);

impl From<Named> for Axis {
    fn from(Named(commits, is_line): Named) -> Axis {
        Axis::new(commits, is_line)
    }
}

impl From<Axis> for Named {
    fn from(axis: Axis) -> Named {
        Named(axis.commits, axis.is_line)
    }
}

impl Axis {
    fn new(commits: Vec<NamedCommit>, is_line: bool) -> Axis {
        let places = commits.iter().enumerate().map(|(place, commit)| (commit.sha.clone(), place)).collect();
        Axis { commits, places, is_line }
    }

    /// The place of the commit of a point; on the line it mostly is the one that the point has there.
    fn place_of(&self, point: &Point) -> Option<usize> {
        let is_there = |place: &usize| self.commits.get(*place).is_some_and(|commit| *commit.sha == *point.commit);
        point.position.filter(is_there).or_else(|| self.place(&point.commit))
    }

    pub(super) fn place(&self, sha: &str) -> Option<usize> {
        self.places.get(sha).copied()
    }
}

/// Machines off the line that measured a commit in common, directly or by way of others of them.
struct Group<'a> {
    machines: Vec<&'a str>,
    commits: BTreeSet<&'a str>,
    /// The commit of each run, in the order of the runs.
    runs: BTreeMap<usize, &'a str>,
}

/// The axis of each machine; `heads` describe commits that the line does not hold.
pub(super) fn axes<'a>(
    series: impl IntoIterator<Item = &'a Series>,
    line: &CommitLine,
    heads: &[RunHead],
) -> BTreeMap<String, Arc<Axis>> {
    let of_line = line.commits.iter().map(|one| NamedCommit {
        sha: one.sha.clone(),
        subject: one.subject.clone(),
        tags: one.tags.clone(),
    });
    let of_line = Arc::new(Axis::new(of_line.collect(), true));
    let mut machines: BTreeMap<&str, Vec<&Series>> = BTreeMap::new();
    for one in series {
        machines.entry(&one.machine).or_default().push(one);
    }
    let (mut axes, mut groups) = (BTreeMap::new(), Vec::new());
    for (machine, all) in machines {
        let points = || all.iter().flat_map(|series| &series.points).filter(|point| !point.commit.is_empty());
        let on_line = points().filter(|point| point.position.is_some()).count();
        if line.named || on_line > 0 && 2 * on_line >= points().count() {
            axes.insert(machine.to_owned(), Arc::clone(&of_line));
            continue;
        }
        let runs: BTreeMap<usize, &str> = points().map(|point| (point.rank, &*point.commit)).collect();
        let mut group = Group { machines: vec![machine], commits: runs.values().copied().collect(), runs };
        let is_shared = |other: &mut Group<'_>| !other.commits.is_disjoint(&group.commits);
        for other in groups.extract_if(.., is_shared).collect::<Vec<_>>() {
            group.machines.extend(other.machines);
            group.commits.extend(other.commits);
            group.runs.extend(other.runs);
        }
        groups.push(group);
    }
    let described = heads.iter().filter_map(|head| head.commit.as_ref());
    let subjects: HashMap<&str, &str> = described.map(|commit| (&*commit.sha, &*commit.subject)).collect();
    for group in groups {
        let mut seen = BTreeSet::new();
        let commits = group.runs.into_values().filter(|sha| seen.insert(*sha)).map(|sha| NamedCommit {
            sha: sha.to_owned(),
            subject: subjects.get(sha).map_or(String::new(), |subject| (*subject).to_owned()),
            tags: Vec::new(),
        });
        let axis = Arc::new(Axis::new(commits.collect(), false));
        axes.extend(group.machines.into_iter().map(|machine| (machine.to_owned(), Arc::clone(&axis))));
    }
    axes
}

#[derive(Clone, Debug, Default)]
pub(super) struct Pooled {
    pub(super) points: Vec<PooledPoint>,
    /// How many runs are left out because the tree differed from the commit.
    pub(super) dirty: usize,
    /// How many because the axis does not hold their commit.
    pub(super) elsewhere: usize,
}

/// The runs of each commit and environment as one point, in the order of the axis; the environments of a commit in that in
/// which it was first measured in them. Those of the newest commit stay apart: as no later commit can say whether it changed
/// something, runs of it must.
pub(super) fn pooled(series: &Series, axis: &Axis) -> Pooled {
    let mut pooled = Pooled::default();
    let mut placed: Vec<(usize, &Point)> = Vec::with_capacity(series.points.len());
    for point in &series.points {
        match axis.place_of(point) {
            _ if point.dirty => pooled.dirty += 1,
            None => pooled.elsewhere += 1,
            Some(place) => placed.push((place, point)),
        }
    }
    pooled.points.reserve_exact(placed.len());
    placed.sort_by(|(a, one), (b, other)| (a, one.time, &one.run).cmp(&(b, other.time, &other.run)));
    let newest = placed.last().map(|(place, _)| *place);
    for of_commit in placed.chunk_by(|(a, _), (b, _)| a == b) {
        if Some(of_commit[0].0) == newest || of_commit.len() == 1 {
            pooled.points.extend(of_commit.iter().map(|(place, point)| one_point(*place, &[*point])));
            continue;
        }
        let mut rest: Vec<&Point> = of_commit.iter().map(|(_, point)| *point).collect();
        // The oldest comes first, so environments are in the order of their first appearance.
        while let Some(first) = rest.first() {
            let key = Arc::clone(&first.environment_key);
            let (same, others) = rest.into_iter().partition::<Vec<&Point>, _>(|point| point.environment_key == key);
            pooled.points.push(one_point(of_commit[0].0, &same));
            rest = others;
        }
    }
    pooled
}

fn one_point<'p>(place: usize, points: &[&'p Point]) -> PooledPoint {
    let of_run = |point: &&'p Point| match &*point.workers {
        [] => std::slice::from_ref(&point.value),
        workers => workers,
    };
    let together: Vec<f64>;
    let (value, values) = match points {
        // The page of a run shows the same.
        [one] => (one.value, of_run(one)),
        _ => {
            together = points.iter().flat_map(of_run).copied().collect();
            (describe::median(&together).unwrap_or(points[0].value), &*together)
        }
    };
    PooledPoint {
        first: Arc::clone(&points[0].of),
        place,
        value,
        runs: points.len(),
        processes: values.len(),
        alike: values.len() > 1 && values.iter().all(|one| *one == values[0]),
        spread: PooledPoint::spread_of(points.iter().flat_map(|point| &*point.workers)).filter(|_| values.len() > 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::example::{line, point, series};

    fn analysed(series: &Series, line: &CommitLine) -> (Vec<(usize, f64, usize)>, usize, usize) {
        let axes = axes(std::slice::from_ref(series), line, &[]);
        let pooled = pooled(series, &axes[&series.machine]);
        let points = pooled.points.iter().map(|point| (point.place, point.value, point.processes)).collect();
        (points, pooled.dirty, pooled.elsewhere)
    }

    #[test]
    fn runs_of_a_commit_are_one_point_by_their_processes() {
        let line = line(4);
        let mut one = series("a", &[(0, 1.0), (2, 3.0), (3, 2.0)]);
        let mut rerun =
            Point { workers: [5.0, 6.0, 7.0].into(), ..point(2, 6.0).of_run(|run| run.run = "again".into()) };
        one.points[1].workers = [3.0, 4.0].into();
        one.points.push(rerun.clone());
        assert_eq!(analysed(&one, &line), (vec![(0, 1.0, 1), (2, 5.0, 5), (3, 2.0, 1)], 0, 0));
        // Another environment is another point, after the one that was there before it.
        rerun.run_mut().environment_key = "other".into();
        rerun.run_mut().time += chrono::TimeDelta::days(90);
        one.points[3] = rerun.clone();
        one.points.swap(1, 3);
        assert_eq!(analysed(&one, &line).0, [(0, 1.0, 1), (2, 3.0, 2), (2, 6.0, 3), (3, 2.0, 1)]);
        // Those of the newest commit stay apart.
        one.points.retain(|point| point.position != Some(3));
        one.points.iter_mut().for_each(|point| point.run_mut().environment_key = "same".into());
        assert_eq!(analysed(&one, &line).0, [(0, 1.0, 1), (2, 3.0, 2), (2, 6.0, 3)]);
        // Changed trees and other branches are left out.
        let dirty = point(1, 9.0).of_run(|run| run.dirty = true);
        let elsewhere = point(1, 9.0).of_run(|run| (run.position, run.commit) = (None, "f".repeat(40).into()));
        one.points.extend([dirty, elsewhere]);
        assert_eq!((analysed(&one, &line).1, analysed(&one, &line).2), (1, 1));
    }

    #[test]
    fn a_machine_next_to_the_line_has_its_own_commits() {
        let mut one = series("a", &[(0, 1.0), (1, 2.0), (2, 3.0)]);
        for (rank, point) in one.points.iter_mut().enumerate() {
            point.run_mut().position = None;
            point.run_mut().rank = 10 - rank;
        }
        one.points[0].run_mut().commit = "".into();
        let (points, _, elsewhere) = analysed(&one, &CommitLine::default());
        assert_eq!((points, elsewhere), (vec![(0, 3.0, 1), (1, 2.0, 1)], 1));
        // Unless a branch was named: none of its commits was measured.
        let (points, _, elsewhere) = analysed(&one, &CommitLine { named: true, ..CommitLine::default() });
        assert_eq!((points, elsewhere), (vec![], 3));
    }
}
