//! How well predicted change points fit known ones: one-to-one matching within a tolerance, and the shares that follow.

use super::generate::Labelled;

/// What was predicted of a series.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prediction {
    /// First points of new levels, in order.
    pub(crate) changes: Vec<usize>,
    /// The first and the last place at which each change may lie.
    pub(crate) ranges: Vec<(usize, usize)>,
    /// Ramps, first point and end.
    pub(crate) drifts: Vec<(usize, usize)>,
    /// How far each change clears the limits of its tests.
    pub(crate) scores: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) planted: usize,
    pub(crate) matched: usize,
    pub(crate) exact: usize,
    pub(crate) false_changes: usize,
    pub(crate) drift_alarms: usize,
    pub(crate) detectable: usize,
    pub(crate) detected: usize,
    pub(crate) null_series: usize,
    pub(crate) null_points: usize,
    pub(crate) null_changes: usize,
    pub(crate) null_drifts: usize,
    pub(crate) null_alarmed: usize,
    pub(crate) drifts: usize,
    pub(crate) drifts_detected: usize,
    pub(crate) covered: usize,
    pub(crate) width: usize,
}

/// The pairs (prediction, truth) of the largest one-to-one matching within `tolerance`, of these the closest.
pub(crate) fn matching(detected: &[usize], truth: &[usize], tolerance: usize) -> Vec<(usize, usize)> {
    let (rows, columns) = (detected.len(), truth.len());
    let mut best = vec![vec![(0_i64, 0_i64); columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let mut top = best[row + 1][column].max(best[row][column + 1]);
            let distance = detected[row].abs_diff(truth[column]);
            if distance <= tolerance {
                let rest = best[row + 1][column + 1];
                top = top.max((rest.0 + 1, rest.1 - distance as i64));
            }
            best[row][column] = top;
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < rows && column < columns {
        let distance = detected[row].abs_diff(truth[column]);
        let rest = best[row + 1][column + 1];
        if distance <= tolerance && best[row][column] == (rest.0 + 1, rest.1 - distance as i64) {
            pairs.push((row, column));
            row += 1;
            column += 1;
        } else if best[row][column] == best[row + 1][column] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

impl Tally {
    /// Counts what was predicted of one more series.
    pub(crate) fn add(&mut self, series: &Labelled, detected: &Prediction, tolerance: usize) {
        let truth: Vec<usize> = series.changes.iter().map(|one| one.index).collect();
        let pairs = matching(&detected.changes, &truth, tolerance);
        let is_matched = |row: usize| pairs.iter().any(|pair| pair.0 == row);
        let in_drift = |place: usize| {
            series.drifts.iter().any(|&(begin, end)| place + tolerance >= begin && place < end + tolerance)
        };
        let drift_alarms =
            (0..detected.changes.len()).filter(|row| !is_matched(*row) && in_drift(detected.changes[*row])).count();
        let overlaps = |&&(begin, end): &&(usize, usize)| {
            detected
                .drifts
                .iter()
                .any(|&(first, last)| 2 * (end.min(last) as i64 - begin.max(first) as i64) >= (end - begin) as i64)
        };
        let null = usize::from(series.is_null());
        let has_range = |&&(row, _): &&(usize, usize)| row < detected.ranges.len();
        self.planted += truth.len();
        self.matched += pairs.len();
        self.exact += pairs.iter().filter(|(row, column)| detected.changes[*row] == truth[*column]).count();
        self.false_changes += detected.changes.len() - pairs.len() - drift_alarms;
        self.drift_alarms += drift_alarms;
        self.detectable += series.changes.iter().filter(|one| one.clearness >= 5.0).count();
        self.detected += pairs.iter().filter(|pair| series.changes[pair.1].clearness >= 5.0).count();
        self.null_series += null;
        self.null_points += null * series.values.len();
        self.null_changes += null * detected.changes.len();
        self.null_drifts += null * detected.drifts.len();
        self.null_alarmed += null * usize::from(!detected.changes.is_empty() || !detected.drifts.is_empty());
        self.drifts += series.drifts.len();
        self.drifts_detected += series.drifts.iter().filter(overlaps).count();
        self.covered += pairs
            .iter()
            .filter(has_range)
            .filter(|(row, column)| (detected.ranges[*row].0..=detected.ranges[*row].1).contains(&truth[*column]))
            .count();
        self.width +=
            pairs.iter().filter(has_range).map(|(row, _)| detected.ranges[*row]).map(|(a, b)| b - a + 1).sum::<usize>();
    }

    /// Matched among all that was predicted outside of ramps.
    pub(crate) fn precision(&self) -> f64 {
        share(self.matched, self.matched + self.false_changes)
    }

    /// Matched among all that was planted.
    pub(crate) fn recall(&self) -> f64 {
        share(self.matched, self.planted)
    }

    /// The harmonic mean of both.
    pub(crate) fn f1(&self) -> f64 {
        share(2 * self.matched, self.matched + self.false_changes + self.planted)
    }
}

/// A part of a whole; not a number where there is none.
pub(crate) fn share(part: usize, total: usize) -> f64 {
    part as f64 / total as f64
}
