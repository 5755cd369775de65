//! A series as a sequence of levels and straight lines, by least squares.
//!
//! The pieces begin at some of given places. With the residual squares of a piece, a price for each joint and one for each
//! line, `F(j) = min over i < j of F(i) + squares(i, j) + prices`. The minimum is exact, except that no piece spans more than
//! `MOST_PLACES` places, so that the time is linear in their number.

use super::ramp::Sums;

/// The most places of one piece.
const MOST_PLACES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinePiece {
    pub begin: usize,
    /// The first value after it.
    pub end: usize,
    pub is_line: bool,
    /// Its values half a place before the first value and half a place after the last one.
    pub edges: [f64; 2],
}

#[derive(Clone, Copy)]
pub struct Prices<'a> {
    /// Of each joint, except between two lines.
    pub joint: f64,
    /// Of a line of that many values.
    pub line: &'a dyn Fn(usize) -> f64,
    /// The fewest values of a line, which also spans at least three places.
    pub narrowest: usize,
}

/// The cheapest pieces and their cost. `bounds` are the places in order, from 0 to the number of values.
pub fn cheapest(values: &[f64], bounds: &[usize], prices: Prices<'_>) -> (f64, Vec<LinePiece>) {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let sums = Sums::new(&values.iter().map(|value| value - mean).collect::<Vec<f64>>());
    let piece = |begin: usize, end: usize, is_line: bool| {
        let (sum, products) = moments(&sums, begin, end);
        let count = (end - begin) as f64;
        let level = mean + sum / count;
        let half = if is_line { products / of_places(count) * count / 2.0 } else { 0.0 };
        LinePiece { begin, end, is_line, edges: [level - half, level + half] }
    };
    // For each place the least cost of pieces that end there with a level and with a line, and where the last piece begins.
    let none = (f64::INFINITY, 0, false);
    let mut least = vec![[(0.0, 0, false), none]];
    for last in 1..bounds.len() {
        let mut best = [none; 2];
        for first in last.saturating_sub(MOST_PLACES)..last {
            let (begin, end) = (bounds[first], bounds[last]);
            let (flat, explained) = squares(&sums, begin, end);
            let [level, line] = least[first].map(|one| one.0);
            let joint = if first > 0 { prices.joint } else { 0.0 };
            let mut take = |is_line: bool, cost: f64, after_line: bool| {
                if cost < best[usize::from(is_line)].0 {
                    best[usize::from(is_line)] = (cost, first, after_line);
                }
            };
            take(false, level + joint + flat, false);
            take(false, line + joint + flat, true);
            if last - first >= 3 && end - begin >= prices.narrowest {
                let cost = (flat - explained).max(0.0) + (prices.line)(end - begin);
                take(true, level + joint + cost, false);
                take(true, line + cost, true);
            }
        }
        least.push(best);
    }
    let ends = least.last().copied().unwrap_or([none; 2]);
    let mut is_line = ends[1].0 < ends[0].0;
    let cost = ends[usize::from(is_line)].0;
    let mut pieces = Vec::new();
    let mut last = bounds.len().saturating_sub(1);
    while last > 0 {
        let (_, first, after_line) = least[last][usize::from(is_line)];
        pieces.push(piece(bounds[first], bounds[last], is_line));
        (last, is_line) = (first, after_line);
    }
    pieces.reverse();
    (cost, pieces)
}

/// The sum of the values, and that of their products with their distances from the middle.
fn moments(sums: &Sums, begin: usize, end: usize) -> (f64, f64) {
    let sum = sums.values[end] - sums.values[begin];
    let middle = (begin as f64 + end as f64 - 1.0) / 2.0;
    (sum, sums.moments[end] - sums.moments[begin] - middle * sum)
}

/// The residual squares of one level, and how many of them a line explains.
fn squares(sums: &Sums, begin: usize, end: usize) -> (f64, f64) {
    let (sum, products) = moments(sums, begin, end);
    let count = (end - begin) as f64;
    let flat = (sums.squares[end] - sums.squares[begin] - sum * sum / count).max(0.0);
    let places = of_places(count);
    (flat, if places > 0.0 { products * products / places } else { 0.0 })
}

/// The sum of the squared distances of that many places from their middle.
fn of_places(count: f64) -> f64 {
    count * (count * count - 1.0) / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_lines_are_located() {
        // A level, a line, a steeper one after a jump, and a level.
        let value = |place: usize| match place as f64 + 0.5 {
            at if at < 20.0 => 3.0,
            at if at < 40.0 => 3.0 + 0.1 * (at - 20.0),
            at if at < 60.0 => 7.0 + 0.5 * (at - 40.0),
            _ => 17.0,
        };
        let values: Vec<f64> = (0..80).map(value).collect();
        let bounds: Vec<usize> = (0..=80).step_by(5).collect();
        let prices = Prices { joint: 1.0, line: &|_| 1.0, narrowest: 10 };
        let (cost, pieces) = cheapest(&values, &bounds, prices);
        let segments: Vec<(usize, usize, bool)> = pieces.iter().map(|one| (one.begin, one.end, one.is_line)).collect();
        assert_eq!(segments, [(0, 20, false), (20, 40, true), (40, 60, true), (60, 80, false)]);
        assert!((cost - 4.0).abs() < 1e-6, "{cost}");
        let near = |edges: [f64; 2], expected: [f64; 2]| edges.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near(pieces[1].edges, [3.0, 5.0]) && near(pieces[2].edges, [7.0, 17.0]), "{pieces:?}");
        // With expensive lines there are only levels.
        let dear = Prices { line: &|_| 1e6, ..prices };
        assert!(cheapest(&values, &bounds, dear).1.iter().all(|piece| !piece.is_line));
        assert_eq!(cheapest(&[], &[0], prices), (0.0, Vec::new()));
    }
}
