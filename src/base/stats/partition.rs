//! The optimal partition of a series into segments of constant mean, with a penalty for every change: FPOP (Maidstone,
//! Hocking, Rigaill and Fearnhead, "On optimal multiple changepoint algorithms for large data", Statistics and Computing 27,
//! 2017).
//!
//! The least cost of the first `t` values is `F(t) = min over s <= t - 2 of F(s) + C(s, t) + penalty`, where `C(s, t)` are the
//! squares of the values `s..t` about their mean; every segment has two values or more. The minimum is stored as a function
//! of the level of the last segment, in parabolic pieces: a beginning whose parabola is nowhere the lowest can never become
//! the lowest again. The time is nearly linear in the number of values.

/// An interval of levels in which one beginning of the last segment is the cheapest.
#[derive(Clone, Copy, Debug)]
struct Piece {
    low: f64,
    high: f64,
    /// The cost as a function of the level: `square * level^2 + linear * level + constant`.
    square: f64,
    linear: f64,
    constant: f64,
    /// The first value of the last segment.
    begin: u32,
}

/// The first values of all segments but the first. `penalty` is in squares of the unit of the values. There are no changes in
/// fewer than four values, and in more than `u32::MAX`.
pub fn optimal(values: &[f64], penalty: f64) -> Vec<usize> {
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    if values.len() < 4 || low >= high || u32::try_from(values.len()).is_err() {
        return Vec::new();
    }
    let last = last_begins(values, penalty, low, high);
    let mut cuts = Vec::new();
    let mut end = values.len();
    while last[end] > 0 {
        end = last[end] as usize;
        cuts.push(end);
    }
    cuts.reverse();
    cuts
}

/// For each number of values, where the last segment of their optimal partition begins.
fn last_begins(values: &[f64], penalty: f64, low: f64, high: f64) -> Vec<u32> {
    let mut last = vec![0_u32; values.len() + 1];
    let first = values[0];
    let mut pieces = vec![Piece { low, high, square: 1.0, linear: -2.0 * first, constant: first * first, begin: 0 }];
    let mut next: Vec<Piece> = Vec::new();
    // The cost of the values before the newest one; one value is not a segment.
    let mut before = f64::INFINITY;
    for (place, value) in values.iter().enumerate().skip(1) {
        let (mut least, mut begin) = (f64::INFINITY, 0);
        for piece in &mut pieces {
            piece.square += 1.0;
            piece.linear -= 2.0 * value;
            piece.constant += value * value;
            let level = (-piece.linear / (2.0 * piece.square)).clamp(piece.low, piece.high);
            let cost = (piece.square * level + piece.linear) * level + piece.constant;
            if cost < least {
                (least, begin) = (cost, piece.begin);
            }
        }
        last[place + 1] = begin;
        if before.is_finite() {
            // A segment may begin at the newest value, and can end from the next one on.
            let fresh = Piece {
                low,
                high,
                square: 1.0,
                linear: -2.0 * value,
                constant: value * value + before + penalty,
                begin: place as u32,
            };
            next.clear();
            pieces.iter().for_each(|piece| split(piece, &fresh, &mut next));
            std::mem::swap(&mut pieces, &mut next);
        }
        before = least;
    }
    last
}

/// Appends, over the levels of a piece, the cheaper of the two.
fn split(piece: &Piece, fresh: &Piece, next: &mut Vec<Piece>) {
    let mut put = |from: &Piece, low: f64, high: f64| match next.last_mut() {
        _ if low >= high => {}
        Some(last) if last.begin == from.begin => last.high = high,
        _ => next.push(Piece { low, high, ..*from }),
    };
    // Apart from the newest value, which both include, the fresh one costs the same at every level.
    let square = piece.square - fresh.square;
    let half = (piece.linear - fresh.linear) / 2.0;
    let constant = piece.constant - fresh.constant;
    // The difference is convex: where it is below zero at both ends, it is so in between.
    let is_below = |level: f64| (square * level + 2.0 * half) * level + constant < 0.0;
    if is_below(piece.low) && is_below(piece.high) {
        return put(piece, piece.low, piece.high);
    }
    let discriminant = half * half - square * constant;
    if discriminant <= 0.0 {
        return put(fresh, piece.low, piece.high);
    }
    let root = discriminant.sqrt();
    let low = ((-half - root) / square).clamp(piece.low, piece.high);
    let high = ((-half + root) / square).clamp(piece.low, piece.high);
    put(fresh, piece.low, low);
    put(piece, low, high);
    put(fresh, high, piece.high);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn squares(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum()
    }

    fn cost(values: &[f64], cuts: &[usize], penalty: f64) -> f64 {
        let ends = cuts.iter().copied().chain([values.len()]);
        let begins = std::iter::once(0).chain(cuts.iter().copied());
        begins.zip(ends).map(|(begin, end)| squares(&values[begin..end])).sum::<f64>() + penalty * cuts.len() as f64
    }

    /// The least cost by the plain recursion.
    fn by_recursion(values: &[f64], penalty: f64) -> f64 {
        let mut least = vec![f64::INFINITY; values.len() + 1];
        least[0] = -penalty;
        for end in 2..=values.len() {
            least[end] = (0..=end - 2)
                .map(|begin| least[begin] + squares(&values[begin..end]) + penalty)
                .fold(f64::INFINITY, f64::min);
        }
        least[values.len()]
    }

    #[test]
    fn a_series_is_split_where_it_changes() {
        let check = |values: &[f64], expected: &[usize]| assert_eq!(optimal(values, 3.0), expected, "{values:?}");
        check(&[], &[]);
        check(&[1.0, 9.0, 9.0], &[]);
        check(&[1.0; 8], &[]);
        check(&[0.0, 0.1, 9.0, 9.1], &[2]);
        check(&[0.0, 0.0, 0.0, 5.0, 5.0, 0.0, 0.0, 0.0], &[3, 5]);
        check(&[0.0, 0.5, 0.0, 0.5, 0.0, 0.5], &[]);
    }

    proptest! {
        #[test]
        fn no_partition_costs_less(
            values in prop::collection::vec(prop_oneof![-3.0..3.0_f64, 5.0..6.0_f64, Just(1.0)], 4..40),
            penalty in 0.1..20.0_f64,
        ) {
            let cuts = optimal(&values, penalty);
            prop_assert!(cuts.windows(2).all(|pair| pair[0] + 2 <= pair[1]));
            prop_assert!(cuts.iter().all(|cut| (2..=values.len() - 2).contains(cut)));
            let (actual, least) = (cost(&values, &cuts, penalty), by_recursion(&values, penalty));
            prop_assert!((actual - least).abs() < 1e-6, "{actual} {least} {cuts:?}");
        }
    }
}
