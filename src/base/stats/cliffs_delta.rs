//! Cliff's delta: how often a value of one set is larger than one of another, less how often it is smaller.
//!
//! With `m` values `x` and `n` values `y`, `delta = (#(y > x) - #(y < x)) / (m n)`, from -1 to 1. Half of one more than it
//! is the chance that `y` is the larger, an equal pair being half a chance: the measure A12 of Vargha and Delaney, and the
//! `U` of Mann and Whitney as a share of all pairs. (Cliff, "Dominance statistics: ordinal analyses to answer ordinal
//! questions", Psychological Bulletin 114, 1993.) Words for its size are those of Romano, Kromrey, Coraggio and Skowronek,
//! "Appropriate statistics for ordinal level data", Florida Association of Institutional Research, 2006.

/// The least sizes that are called small, medium and large.
const SMALL: f64 = 0.147;
const MEDIUM: f64 = 0.33;
const LARGE: f64 = 0.474;

/// How far one set lies above another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dominance {
    /// Pairs whose second value is the larger.
    pub above: u64,
    /// Pairs whose second value is the smaller.
    pub below: u64,
    /// Cliff's delta: above zero where the second set is the larger.
    pub delta: f64,
    /// The chance that a value of the second set is larger than one of the first.
    pub superiority: f64,
    /// Pairs that the second set wins, an equal pair being half a win.
    pub wins: f64,
}

/// A word for the size of a delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Magnitude {
    Negligible,
    Small,
    Medium,
    Large,
}

impl Magnitude {
    pub fn name(self) -> &'static str {
        match self {
            Magnitude::Negligible => "negligible",
            Magnitude::Small => "small",
            Magnitude::Medium => "medium",
            Magnitude::Large => "large",
        }
    }
}

impl Dominance {
    /// Of the values `second` over those of `first`; `None` where there are none on a side.
    pub fn new(first: &[f64], second: &[f64]) -> Option<Dominance> {
        if first.is_empty() || second.is_empty() {
            return None;
        }
        let mut sorted = first.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
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

    /// A word for its size.
    pub fn magnitude(&self) -> Magnitude {
        match self.delta.abs() {
            size if size < SMALL => Magnitude::Negligible,
            size if size < MEDIUM => Magnitude::Small,
            size if size < LARGE => Magnitude::Medium,
            _ => Magnitude::Large,
        }
    }
}
