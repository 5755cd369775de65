//! Which commit of the past is measured next: coarse to fine, and first where neighbors differ.
//!
//! The first and the last commit come first, and with a step every so many commits, each as far as possible from those
//! measured before. Then, as long as two neighbors differ significantly, comes the middle of the largest such gap, which
//! encloses each change within about log2(gap) measurements. Without a step the other gaps are halved in the same way.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    Open,
    Measured,
    /// It failed, or another machine measures it.
    Closed,
}

/// The position of the next commit among `points`, oldest first. `step` is a number of commits; `differ` is asked about
/// two positions that are measured.
pub fn next(points: &[Point], step: Option<usize>, differ: &mut dyn FnMut(usize, usize) -> bool) -> Option<usize> {
    grid(points, step).or_else(|| middle(points, differ)).or_else(|| match step {
        None => middle(points, &mut |_, _| true),
        Some(_) => None,
    })
}

/// The commits that are measured whatever others come to, in their order.
pub fn coarse(points: &[Point], step: Option<usize>) -> Vec<usize> {
    let mut points = points.to_vec();
    let next = || {
        let next = grid(&points, step)?;
        points[next] = Point::Measured;
        Some(next)
    };
    std::iter::from_fn(next).collect()
}

/// The end or the commit of the grid that is open and farthest from the measured ones; of equal ones the newest.
fn grid(points: &[Point], step: Option<usize>) -> Option<usize> {
    let usable = |at: &usize| points[*at] != Point::Closed;
    let ends = [(0..points.len()).rev().find(usable), (0..points.len()).find(usable)];
    if let Some(end) = ends.into_iter().flatten().find(|at| points[*at] == Point::Open) {
        return Some(end);
    }
    let grid = step.into_iter().flat_map(|step| (0..points.len()).step_by(step.max(1)));
    let distance = |at: usize| {
        let measured = |other: &usize| points[*other] == Point::Measured;
        let before = (0..at).rev().find(measured).map(|before| at - before);
        let after = (at + 1..points.len()).find(measured).map(|after| after - at);
        before.into_iter().chain(after).min()
    };
    grid.filter(|at| points[*at] == Point::Open).max_by_key(|at| distance(*at))
}

/// The middle of the gap with most open commits whose ends differ; of equal gaps the newest.
fn middle(points: &[Point], differ: &mut dyn FnMut(usize, usize) -> bool) -> Option<usize> {
    let measured: Vec<usize> = (0..points.len()).filter(|at| points[*at] == Point::Measured).collect();
    let open = |from: usize, to: usize| (from + 1..to).filter(|at| points[*at] == Point::Open);
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
        let mut points: Vec<Point> =
            levels.iter().map(|level| if *level == '#' { Point::Closed } else { Point::Open }).collect();
        let mut order = Vec::new();
        while let Some(at) = next(&points, step, &mut |a, b| levels[a] != levels[b]) {
            assert_eq!(points[at], Point::Open);
            points[at] = Point::Measured;
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
    fn a_change_of_a_long_history_is_enclosed_in_a_few_measurements() {
        let levels = "a".repeat(700) + &"b".repeat(324);
        let order = order(&levels, Some(2000));
        assert!(order.len() <= 12, "{order:?}");
        assert!([699, 700].iter().all(|end| order.contains(end)), "{order:?}");
    }

    #[test]
    fn what_is_measured_already_is_the_start() {
        use Point::{Closed, Measured, Open};
        let points = [Open, Measured, Open, Open, Open, Measured, Closed];
        assert_eq!(next(&points, Some(3), &mut |_, _| false), Some(0));
        assert_eq!(coarse(&points, Some(3)), [0, 3]);
        let points = [Measured, Open, Closed, Open, Measured];
        assert_eq!(next(&points, Some(4), &mut |_, _| true), Some(1));
        assert_eq!(next(&points, Some(4), &mut |_, _| false), None);
    }
}
