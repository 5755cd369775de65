//! Changes that were reported while series grew: how late they were, and how many did not last.

use std::collections::BTreeMap;

use super::generate::Labelled;

/// How far a report may lie from a change to be one of it.
const TOLERANCE: usize = 5;

/// Counts over series that grew point by point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Growth {
    /// Places that were reported at some time.
    pub(crate) reported: usize,
    /// Those that the whole series does not report any more.
    pub(crate) vanished: usize,
    /// Those that it reports at another place near by.
    pub(crate) moved: usize,
    /// Those near no change.
    pub(crate) wrong: usize,
    /// Changes that were never reported.
    pub(crate) missed: usize,
    /// For each change that was, how many points came after it before.
    pub(crate) delays: Vec<usize>,
}

impl Growth {
    /// Counts the changes that were reported for one more series, by the number of its points.
    pub(crate) fn add(&mut self, series: &Labelled, reported: &BTreeMap<usize, Vec<usize>>) {
        let near = |a: usize, b: usize| a.abs_diff(b) <= TOLERANCE;
        let Some(last) = reported.values().next_back() else { return };
        for change in &series.changes {
            let first = reported.iter().find(|(count, detected)| {
                **count > change.index && detected.iter().any(|place| near(*place, change.index))
            });
            match first {
                Some((count, _)) => self.delays.push(count - change.index),
                None => self.missed += 1,
            }
        }
        let mut seen: Vec<usize> = Vec::new();
        for place in reported.values().flatten() {
            if seen.iter().any(|seen| near(*seen, *place)) {
                continue;
            }
            seen.push(*place);
            self.reported += 1;
            let lasting: Vec<usize> = last.iter().copied().filter(|last| near(*last, *place)).collect();
            self.vanished += usize::from(lasting.is_empty());
            self.moved += usize::from(!lasting.is_empty() && !lasting.contains(place));
            self.wrong += usize::from(series.changes.iter().all(|change| !near(change.index, *place)));
        }
    }

    /// The delay that so large a share of the reported changes does not exceed.
    pub(crate) fn delay(&self, share: f64) -> usize {
        let mut sorted = self.delays.clone();
        sorted.sort_unstable();
        sorted.get((share * sorted.len() as f64) as usize).copied().unwrap_or(0)
    }
}
