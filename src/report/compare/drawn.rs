//! The changes of a table as intervals on one scale, so that rows can be held against each other at a glance. The script
//! computes the same coordinates.

use super::data::SeriesData;
use super::rule::Outcome;

/// How far scales reach to either side of no change.
const SPANS: [f64; 7] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];

/// The share of the rows that the scale is made for: one that changed far more than all others does not flatten these.
const USUAL: f64 = 0.9;

/// Where no change lies, and how far the scale reaches from there, in tenths of a unit of the picture.
const ZERO: f64 = 550.0;
const HALF: f64 = 500.0;

/// What a row draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drawn {
    /// The change and the ends of its interval.
    pub(super) ends: [f64; 3],
    /// The smallest change that shows; 0 where it is not known.
    pub(super) shows: f64,
}

impl Drawn {
    /// What the row of an outcome draws; nothing where it tells no size.
    pub(super) fn from_outcome(series: &SeriesData, outcome: &Outcome<'_>) -> Option<Drawn> {
        let change = outcome.relative?;
        let (low, high) = outcome.interval.unwrap_or((change, change));
        Some(Drawn { ends: [change, low, high], shows: series.shows.unwrap_or_default().abs() })
    }

    /// The places of the smallest change that shows, of the lower end, the change and the upper end in tenths of a unit, and
    /// whether the change lies below the scale (-1) or above it (1).
    pub(super) fn places(&self, span: f64) -> [i32; 5] {
        let [change, low, high] = self.ends;
        // Half goes up, as in the script.
        let place = |value: f64| ((ZERO + HALF * (value / span).clamp(-1.0, 1.0)) + 0.5).floor() as i32;
        let beyond = i32::from(change > span) - i32::from(change < -span);
        [place(self.shows), place(low), place(change), place(high), beyond]
    }
}

/// How far a scale reaches that shows most of them; nothing where there are none.
pub(super) fn span(all: impl Iterator<Item = Drawn>) -> Option<f64> {
    let size = |one: Drawn| one.ends.into_iter().map(f64::abs).fold(0.0, f64::max);
    let mut sizes: Vec<f64> = all.map(size).collect();
    sizes.sort_by(f64::total_cmp);
    let usual = *sizes.get((USUAL * sizes.len().checked_sub(1)? as f64) as usize)?;
    Some(SPANS.into_iter().find(|span| *span >= usual).unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wild_row_does_not_flatten_the_others() {
        let drawn = |change: f64| Drawn { ends: [change, change - 0.01, change + 0.01], shows: 0.02 };
        let usual: Vec<Drawn> = (0..20).map(|i| drawn(0.002 * f64::from(i))).collect();
        assert_eq!(span(usual.iter().copied()), Some(0.05));
        assert_eq!(span(usual.iter().copied().chain([drawn(7.0)])), Some(0.05));
        assert_eq!(span([drawn(7.0)].into_iter()), Some(1.0));
        assert_eq!(span(std::iter::empty()), None);
    }

    #[test]
    fn places_stay_on_the_scale() {
        let drawn = Drawn { ends: [0.05, 0.025, 9.0], shows: 0.02 };
        assert_eq!(drawn.places(0.1), [650, 675, 800, 1050, 0]);
        let drawn = Drawn { ends: [-7.0, -9.0, -5.0], shows: 0.0 };
        assert_eq!(drawn.places(1.0), [550, 50, 50, 50, -1]);
    }
}
