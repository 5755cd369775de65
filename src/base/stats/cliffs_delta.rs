//! Cliff's delta: how often a value of one set is larger than one of another, less how often it is smaller.
//!
//! With `m` values `x` and `n` values `y`, `delta = (#(y > x) - #(y < x)) / (m n)`, from -1 to 1 (Cliff, "Dominance statistics:
//! ordinal analyses to answer ordinal questions", Psychological Bulletin 114, 1993). `(delta + 1) / 2` is the measure A12 of
//! Vargha and Delaney. The words for its size are those of Romano, Kromrey, Coraggio and Skowronek, "Appropriate statistics
//! for ordinal level data", Florida Association of Institutional Research, 2006.

use super::describe;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dominance {
    /// Pairs whose second value is the larger.
    pub above: u64,
    /// Pairs whose second value is the smaller.
    pub below: u64,
    /// Above zero where the second set is the larger.
    pub delta: f64,
    /// The probability that a value of the second set is larger than one of the first.
    pub superiority: f64,
    /// Pairs that the second set wins; an equal pair is half a win.
    pub wins: f64,
}

impl Dominance {
    /// `None` where a set is empty.
    pub fn new(first: &[f64], second: &[f64]) -> Option<Dominance> {
        if first.is_empty() || second.is_empty() {
            return None;
        }
        let sorted = describe::sorted(first);
        let (mut above, mut below) = (0, 0);
        for value in second {
            above += sorted.partition_point(|other| other < value) as u64;
            below += (sorted.len() - sorted.partition_point(|other| other <= value)) as u64;
        }
        let pairs = first.len() as f64 * second.len() as f64;
        let wins = above as f64 + (pairs - above as f64 - below as f64) / 2.0;
        let delta = (above as f64 - below as f64) / pairs;
        Some(Dominance { above, below, delta, superiority: wins / pairs, wins })
    }

    /// The word for the size of delta.
    pub fn magnitude(&self) -> &'static str {
        match self.delta.abs() {
            size if size < 0.147 => "negligible",
            size if size < 0.33 => "small",
            size if size < 0.474 => "medium",
            _ => "large",
        }
    }
}
