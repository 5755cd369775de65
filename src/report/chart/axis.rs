//! Axes: what they span, where a value is on them, and their ticks.

use sprag_base::stats::describe;

/// How far the range reaches beyond what it must show, on each side, as a share.
const HEADROOM: f64 = 0.08;

/// No range is narrower than this share of its middle, so that noise stays flat.
const NARROWEST: f64 = 0.04;

/// The scatter that stays inside, in spreads around the running median.
const SCATTER: f64 = 1.5;

/// Maps a range of values to coordinates in tenths of a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    values: (f64, f64),
    coordinates: (i32, i32),
}

impl Axis {
    /// From the first value at the first coordinate to the last at the last, these in units.
    pub(super) fn new(values: (f64, f64), (from, to): (i32, i32)) -> Axis {
        Axis { values, coordinates: (10 * from, 10 * to) }
    }

    pub(super) fn at(&self, value: f64) -> i32 {
        let (first, last) = self.coordinates;
        let share = (value - self.values.0) / (self.values.1 - self.values.0);
        // Towards the first coordinate, but for what rounding made.
        match f64::from(last - first) * share {
            _ if share == f64::INFINITY => last,
            _ if share == f64::NEG_INFINITY => first,
            length if last > first => first + (length + 1e-3).floor() as i32,
            length => first + (length - 1e-3).ceil() as i32,
        }
    }
}

/// The range of values to show. A single far value does not widen it; a level, the newest value and `also` do.
pub(super) fn robust_range(values: &[f64], also: &[f64]) -> (f64, f64) {
    let Some(&newest) = values.last() else { return (0.0, 1.0) };
    let smooth: Vec<f64> = (0..values.len())
        .map(|i| median(&values[i.saturating_sub(1)..(i + 2).min(values.len())]))
        .chain([newest])
        .collect();
    let mut scatter: Vec<f64> = values.iter().zip(&smooth).map(|(value, level)| (value - level).abs()).collect();
    scatter.sort_by(f64::total_cmp);
    let margin = SCATTER * scatter[scatter.len() * 8 / 10];
    let (least, most) = extent(values);
    let (low, high) = extent(&smooth);
    let (mut low, mut high) = ((low - margin).max(least), (high + margin).min(most));
    let reach = 1.5 * (high - low).max(NARROWEST * low.abs());
    for &value in also {
        if value >= low - reach && value <= high + reach {
            (low, high) = (low.min(value), high.max(value));
        }
    }
    let middle = f64::midpoint(low, high);
    let half = (0.5 * (high - low)).max(0.5 * NARROWEST * middle.abs()).max(f64::MIN_POSITIVE);
    (middle - half * (1.0 + 2.0 * HEADROOM), middle + half * (1.0 + 2.0 * HEADROOM))
}

/// Four to seven round numbers between `low` and `high`, and how many decimals they need.
pub(super) fn ticks(low: f64, high: f64) -> (Vec<f64>, usize) {
    let span = high - low;
    if !(span.is_finite() && span > 0.0) {
        return (Vec::new(), 0);
    }
    let power = 10f64.powf((span / 5.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| span / step <= 7.0)
        .unwrap_or(10.0 * power);
    let is_exact = |decimals: &usize| {
        let shown = step * 10f64.powi(*decimals as i32);
        (shown - shown.round()).abs() <= 1e-6 * shown
    };
    let decimals = (0..12).find(is_exact).unwrap_or(12);
    let first = (low / step).ceil();
    // Dividing by the number of steps in one unit keeps 1.15 from becoming 1.1500000000000001.
    let tick = |count: f64| if step < 1.0 { count / (1.0 / step) } else { count * step };
    let ticks = (0..8).map(|i| tick(first + f64::from(i))).take_while(|tick| *tick <= high).collect();
    (ticks, decimals)
}

pub(super) fn extent(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)))
}

/// 0 where there are none.
pub(super) fn median(values: &[f64]) -> f64 {
    describe::median(values).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(1.14, 1.36), (vec![1.15, 1.2, 1.25, 1.3, 1.35], 2));
        assert_eq!(ticks(0.0, 10.0), (vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0], 0));
        assert_eq!(ticks(1.0, 1.0), (Vec::new(), 0));
        for span in [1e-9, 0.003, 0.7, 1.1, 42.0, 1e6] {
            let (ticks, _) = ticks(3.0, 3.0 + span);
            assert!((3..=7).contains(&ticks.len()), "{span}: {ticks:?}");
        }
    }

    #[test]
    fn an_outlier_does_not_widen_the_range_and_a_step_does() {
        let mut values = vec![1.0, 1.01, 0.99, 1.0, 1.01, 0.99, 1.0, 1.01];
        values[3] = 9.0;
        let (_, high) = robust_range(&values, &[]);
        assert!(high < 1.2, "{high}");
        values.extend([2.0, 2.0]);
        let (low, high) = robust_range(&values, &[]);
        assert!(low < 1.0 && (2.0..3.0).contains(&high), "{low} {high}");
        let (_, high) = robust_range(&[1.0, 1.0, 1.3], &[]);
        assert!(high > 1.3, "the newest value is always shown");
        assert!(robust_range(&[1.0; 4], &[1.05]).1 > 1.05);
        assert!(robust_range(&[1.0; 4], &[5.0]).1 < 1.1);
    }
}
