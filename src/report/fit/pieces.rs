//! The line that was fitted to a series, piece by piece.

use std::ops::Range;

use super::turn::Fit;
use sprag_model::change_point::Drift;

/// A piece of the fitted line: a level, or the ramp of a drift.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    pub points: Range<usize>,
    /// Its value at the first of them, in base units.
    pub from: f64,
    /// Its value at the last.
    pub to: f64,
    /// Whether it begins where a level ended at once, rather than where a ramp does.
    pub is_step: bool,
    pub is_ramp: bool,
}

impl Fit<'_> {
    /// The fitted line; nothing where no level is fitted.
    pub fn pieces(&self) -> Vec<Piece> {
        let changes = &self.series.changes;
        let count = self.series.pooled.len();
        let begins = std::iter::once(0).chain(changes.points.iter().map(|change| change.index));
        let ends = changes.points.iter().map(|change| change.index).chain([count]);
        let mut pieces = Vec::new();
        for ((begin, end), level) in begins.zip(ends).zip(&changes.levels) {
            let first = pieces.len();
            stretch(begin..end, level.value, &changes.drifts, &mut pieces);
            if let Some(piece) = pieces.get_mut(first) {
                piece.is_step = begin > 0;
            }
        }
        pieces
    }

    /// The points of each level: those between the turns, and before the first and after the last of them.
    pub fn flats(&self) -> Vec<Range<usize>> {
        let count = self.series.pooled.len();
        let begins = std::iter::once(0).chain(self.turns.iter().map(|turn| turn.what.end()));
        let ends = self.turns.iter().map(|turn| turn.what.begin()).chain([count]);
        begins.zip(ends).map(|(begin, end)| begin..end.max(begin)).collect()
    }
}

/// A stretch between changes: its level, or the levels about the drifts in it and their ramps.
fn stretch(points: Range<usize>, level: f64, drifts: &[Drift], pieces: &mut Vec<Piece>) {
    let mut push = |points: Range<usize>, from: f64, to: f64, is_ramp: bool| {
        if !points.is_empty() {
            pieces.push(Piece { points, from, to, is_step: false, is_ramp });
        }
    };
    let mut at = points.start;
    let mut value = None;
    for drift in drifts.iter().filter(|drift| drift.begin < points.end && points.start < drift.end) {
        push(at..drift.begin.max(at), value.unwrap_or(drift.before), drift.before, false);
        // A change within a drift cuts its ramp in two.
        let part = drift.begin.max(at)..drift.end.min(points.end);
        let steps = (drift.end - drift.begin).max(1) as f64;
        let on_ramp = |index: usize| {
            drift.before + (drift.after - drift.before) * (index.saturating_sub(drift.begin) as f64 / steps)
        };
        push(part.clone(), on_ramp(part.start), on_ramp(part.end), true);
        at = part.end.max(at);
        value = Some(drift.after);
    }
    let value = value.unwrap_or(level);
    push(at..points.end, value, value, false);
}
