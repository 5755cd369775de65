//! Which commit of the past is measured next: coarse to fine, and first where neighbours differ.
//!
//! The first and the last commit come first, and with a step every so many commits, each as far as possible from those
//! measured before. Then, as long as two neighbours differ, comes the middle of the largest such gap, which encloses each
//! change within about log2(gap) measurements. Without a step the other gaps are halved in the same way.
//!
//! Neighbours differ where a benchmark moved by more than its noise, as `trend` will judge it, and not where a gate would fail:
//! a change within a tolerance is a change, too. The noise is that of the processes, and, as sessions move a machine, that of
//! all other neighbours: most have no change between them, so that the median of their differences estimates it.

use std::collections::BTreeMap;

use sprag_base::stats::{describe, normal};

/// A benchmark at one commit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BenchmarkLevel {
    /// The logarithm of its value.
    pub log: f64,
    /// The standard error that its processes leave; absent where too few ran.
    pub error: Option<f64>,
}

/// The levels of a benchmark by the positions of their commits.
pub type CommitLevels = BTreeMap<usize, BenchmarkLevel>;

/// The chance that any benchmark differs at two neighbours without a change. More would measure for nothing.
const CHANCE: f64 = 0.01;

/// What is assumed of a level whose processes say nothing of it: times of a shared machine move by about as much.
const ASSUMED_ERROR: f64 = 0.01;

/// The fewest differences whose median estimates the noise.
const FEWEST_DIFFERENCES: usize = 5;

/// The median of absolute normal values, in deviations.
const MEDIAN_DEVIATION: f64 = 0.6745;

/// Whether a benchmark differs between two commits. Each has the smallest change that matters.
pub fn differ(benchmarks: &[(CommitLevels, f64)], from: usize, to: usize) -> bool {
    let both: Vec<(f64, f64, f64)> = benchmarks
        .iter()
        .filter_map(|(levels, least)| {
            let change = levels.get(&to)?.log - levels.get(&from)?.log;
            Some((change.abs(), deviation(levels, from, to), least.ln_1p()))
        })
        .collect();
    let reach = normal::quantile(1.0 - CHANCE / (2.0 * both.len().max(1) as f64)).unwrap_or(f64::INFINITY);
    both.into_iter().any(|(change, deviation, least)| change >= least && change > reach * deviation)
}

/// That of the difference of two levels.
fn deviation(levels: &CommitLevels, from: usize, to: usize) -> f64 {
    let errors = [from, to].map(|at| levels.get(&at).and_then(|level| level.error).unwrap_or(ASSUMED_ERROR));
    let of_processes = errors[0].hypot(errors[1]);
    let others = levels.iter().zip(levels.iter().skip(1)).filter(|((one, _), (next, _))| **next <= from || **one >= to);
    let differences: Vec<f64> = others.map(|((_, one), (_, next))| (next.log - one.log).abs()).collect();
    let median = describe::median(&differences).filter(|_| differences.len() >= FEWEST_DIFFERENCES);
    median.map_or(of_processes, |median| of_processes.max(median / MEDIAN_DEVIATION))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Open,
    Measured,
    /// It failed, or another machine measures it.
    Closed,
}

/// The position of the next commit among `points`, oldest first. `step` is a number of commits; `differ` compares two positions.
pub fn next(points: &[Phase], step: Option<usize>, differ: &mut dyn FnMut(usize, usize) -> bool) -> Option<usize> {
    grid(points, step).or_else(|| middle(points, differ)).or_else(|| match step {
        None => middle(points, &mut |_, _| true),
        Some(_) => None,
    })
}

/// The commits that are measured if no neighbours differ, in their order.
pub fn planned(points: &[Phase], step: Option<usize>) -> Vec<usize> {
    let mut points = points.to_vec();
    let next = || {
        let next = next(&points, step, &mut |_, _| false)?;
        points[next] = Phase::Measured;
        Some(next)
    };
    std::iter::from_fn(next).collect()
}

/// The end or the commit of the grid that is open and farthest from the measured ones; of equal ones the newest.
fn grid(points: &[Phase], step: Option<usize>) -> Option<usize> {
    let usable = |at: &usize| points[*at] != Phase::Closed;
    let ends = [(0..points.len()).rev().find(usable), (0..points.len()).find(usable)];
    if let Some(end) = ends.into_iter().flatten().find(|at| points[*at] == Phase::Open) {
        return Some(end);
    }
    let grid = step.into_iter().flat_map(|step| (0..points.len()).step_by(step.max(1)));
    let distance = |at: usize| {
        let measured = |other: &usize| points[*other] == Phase::Measured;
        let before = (0..at).rev().find(measured).map(|before| at - before);
        let after = (at + 1..points.len()).find(measured).map(|after| after - at);
        before.into_iter().chain(after).min()
    };
    grid.filter(|at| points[*at] == Phase::Open).max_by_key(|at| distance(*at))
}

/// The middle of the gap with most open commits whose ends differ; of equal gaps the newest.
fn middle(points: &[Phase], differ: &mut dyn FnMut(usize, usize) -> bool) -> Option<usize> {
    let measured: Vec<usize> = (0..points.len()).filter(|at| points[*at] == Phase::Measured).collect();
    let open = |from: usize, to: usize| (from + 1..to).filter(|at| points[*at] == Phase::Open);
    let mut gaps: Vec<(usize, usize)> = measured.windows(2).map(|ends| (ends[0], ends[1])).collect();
    gaps.retain(|(from, to)| open(*from, *to).next().is_some());
    gaps.sort_by_key(|(from, to)| std::cmp::Reverse((open(*from, *to).count(), *to)));
    let (from, to) = gaps.into_iter().find(|(from, to)| differ(*from, *to))?;
    open(from, to).min_by_key(|at| (2 * at).abs_diff(from + to))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters are levels of open commits, `#` is closed; gives the positions in their order.
    fn order(levels: &str, step: Option<usize>) -> Vec<usize> {
        let levels: Vec<char> = levels.chars().collect();
        let mut points: Vec<Phase> =
            levels.iter().map(|level| if *level == '#' { Phase::Closed } else { Phase::Open }).collect();
        let mut order = Vec::new();
        while let Some(at) = next(&points, step, &mut |a, b| levels[a] != levels[b]) {
            assert_eq!(points[at], Phase::Open);
            points[at] = Phase::Measured;
            order.push(at);
        }
        order
    }

    #[test]
    fn ends_come_first_then_the_grid_then_changes() {
        for (levels, step, expected) in [
            ("", None, &[][..]),
            ("a", None, &[0]),
            ("aa", Some(5), &[1, 0]),
            ("aaaaa", None, &[4, 0, 2, 3, 1]),
            ("aaaaaaaaa", Some(4), &[8, 0, 4]),
            ("aaaaaaaaa", Some(100), &[8, 0]),
            // The step is enclosed before other gaps are halved.
            ("aaaaaabbb", Some(100), &[8, 0, 4, 6, 5]),
            ("aabbbbbbb", None, &[8, 0, 4, 2, 1, 6, 7, 5, 3]),
            // An excursion between two commits of the grid is not observed.
            ("aabaaaaaa", Some(4), &[8, 0, 4]),
            ("#aaab#bb#", Some(3), &[7, 1, 3, 6, 4]),
            ("####", None, &[]),
        ] {
            assert_eq!(order(levels, step), expected, "{levels} {step:?}");
        }
    }

    #[test]
    fn neighbours_differ_by_more_than_their_noise_whatever_a_gate_tolerates() {
        let levels = |values: &[f64], error: Option<f64>| -> CommitLevels {
            values.iter().map(|value: &f64| BenchmarkLevel { log: value.ln(), error }).enumerate().collect()
        };
        let check = |name: &str, benchmarks: &[(CommitLevels, f64)], expected: bool| {
            assert_eq!(differ(benchmarks, 0, 1), expected, "{name}");
        };
        let quiet = Some(0.001);
        check("1 % of a quiet benchmark", &[(levels(&[1.0, 1.01], quiet), 0.004)], true);
        check("below what matters", &[(levels(&[1.0, 1.003], quiet), 0.004)], false);
        check("within the noise of processes", &[(levels(&[1.0, 1.01], Some(0.005)), 0.004)], false);
        check("processes say nothing", &[(levels(&[1.0, 1.03], None), 0.004)], false);
        check("5 % in single processes", &[(levels(&[1.0, 1.05], None), 0.004)], true);
        let sessions = [1.0, 1.02, 0.99, 1.01, 0.98, 1.0, 1.02];
        check("within the noise of sessions", &[(levels(&sessions, quiet), 0.004)], false);
        check("beyond it", &[(levels(&[&[1.0, 1.12], &sessions[2..]].concat(), quiet), 0.004)], true);
        let many = vec![(levels(&[1.0, 1.0045], quiet), 0.004); 50];
        check("one of many by chance", &many, false);
        check("none at both commits", &[([(1, BenchmarkLevel { log: 0.0, error: None })].into(), 0.004)], false);
    }

    #[test]
    fn a_change_of_a_long_history_is_enclosed_in_a_few_measurements() {
        let levels = "a".repeat(700) + &"b".repeat(324);
        let order = order(&levels, Some(2000));
        assert!(order.len() <= 12, "{order:?}");
        assert!([699, 700].iter().all(|end| order.contains(end)), "{order:?}");
    }

    #[test]
    fn what_is_measured_already_is_the_start() {
        use Phase::{Closed, Measured, Open};
        let points = [Open, Measured, Open, Open, Open, Measured, Closed];
        assert_eq!(next(&points, Some(3), &mut |_, _| false), Some(0));
        assert_eq!(planned(&points, Some(3)), [0, 3]);
        assert_eq!(planned(&[Phase::Open; 5], None), [4, 0, 2, 3, 1]);
        let points = [Measured, Open, Closed, Open, Measured];
        assert_eq!(next(&points, Some(4), &mut |_, _| true), Some(1));
        assert_eq!(next(&points, Some(4), &mut |_, _| false), None);
    }
}
