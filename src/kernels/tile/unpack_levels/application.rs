//! In which order the tiles of a call are applied, and where each lies.

use super::super::super::KernelError;
use super::super::super::element::Element;
use super::super::super::shape::{MapShape, check_length};
use super::super::{Overlap, Placement, Tiles};
use super::Rule;

/// Room for the order of application; it grows to the tiles of a call and is reused.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// The tiles in the order in which they are applied, sample after sample, K a sample.
    pub(super) applied: Vec<Applied>,
}

/// A tile on its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Applied {
    /// Which row of `[B,K]` it is.
    pub(super) tile: usize,
    /// Where its first pixel lies in each plane.
    pub(super) start: usize,
    /// Its level and position as one number: of two tiles, the one with the larger is applied later.
    turn: usize,
}

/// Refuses what does not fit together, before anything is written.
pub(super) fn check<T: Element>(
    base: Option<&[T]>,
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &[T],
) -> Result<(), KernelError> {
    tiles.check(shape)?;
    if let Some(base) = base {
        check_length("base", base.len(), shape.elements())?;
    }
    check_length("merged", merged.len(), shape.elements())?;
    match rule.levels {
        None if !rule.assume_priority_sorted => Err(KernelError::LevelsNeeded),
        None => Ok(()),
        Some(levels) => check_length("levels", levels.len(), tiles.placement.count()),
    }
}

/// Finds the order of tiles that were checked: by turn.
pub(super) fn by_turn<T>(
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    let per_sample = note(shape, tiles, rule, scratch)?;
    scratch.applied.chunks_exact_mut(per_sample).for_each(|row| row.sort_unstable_by_key(|applied| applied.turn));
    Ok(())
}

/// Finds an order that comes to the same: by place where tiles lie on a grid and override, since there tiles are apart
/// or in the very same place, and neighbours find their lines in the cache; else by turn.
pub(super) fn by_place<T>(
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    if !matches!((tiles.placement, rule.overlap), (Placement::Indices(_), Overlap::Override)) {
        return by_turn(shape, tiles, rule, scratch);
    }
    let per_sample = note(shape, tiles, rule, scratch)?;
    let rows = scratch.applied.chunks_exact_mut(per_sample);
    rows.for_each(|row| row.sort_unstable_by_key(|applied| (applied.start, applied.turn)));
    Ok(())
}

/// Notes the tiles as they are given, and gives how many a sample has, at least 1.
fn note<T>(shape: MapShape, tiles: &Tiles<'_, T>, rule: Rule<'_>, scratch: &mut Scratch) -> Result<usize, KernelError> {
    let per_sample = (tiles.placement.count() / shape.batch).max(1);
    let bits = (usize::BITS - (per_sample - 1).leading_zeros()).max(1);
    let lowest = rule.levels.map_or(Ok(0), |levels| lowest_level(levels, per_sample, bits))?;
    let start = tiles.placement.start(shape, tiles.tile_size);
    scratch.applied.clear();
    for first in (0..tiles.placement.count()).step_by(per_sample) {
        scratch.applied.extend((0..per_sample).map(|position| {
            let tile = first + position;
            let level = rule.levels.map_or(0, |levels| (levels[tile] - lowest) as usize);
            Applied { tile, start: start(tile), turn: level << bits | position }
        }));
    }
    Ok(per_sample)
}

/// The lowest level of a call, or why levels and positions do not fit the key.
fn lowest_level(levels: &[i32], per_sample: usize, bits: u32) -> Result<i32, KernelError> {
    let (Some(&lowest), Some(&highest)) = (levels.iter().min(), levels.iter().max()) else {
        return Ok(0);
    };
    let spread = i64::from(highest) - i64::from(lowest);
    let largest_key = (i128::from(spread) << bits) + per_sample as i128 - 1;
    if largest_key > i128::from(i32::MAX) {
        return Err(KernelError::LevelSpread { spread, tiles: per_sample });
    }
    Ok(lowest)
}
