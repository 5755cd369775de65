//! In which order the tiles of a call are applied, and where each lies.

use super::super::super::KernelError;
use super::super::super::element::Element;
use super::super::super::shape::{MapShape, check_length};
use super::super::Tiles;
use super::Rule;

/// Room for the order of application; it grows to the tiles of a call and is reused.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    keys: Vec<i32>,
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

/// Finds the order of tiles that were checked.
pub(super) fn order<T>(
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    let per_sample = tiles.placement.count() / shape.batch;
    let applied = |tile: usize| {
        let (y, x) = tiles.placement.at(tile, shape, tiles.tile_size);
        Applied { tile, start: y * shape.width + x }
    };
    scratch.applied.clear();
    let Some(levels) = rule.levels else {
        scratch.applied.extend((0..tiles.placement.count()).map(applied));
        return Ok(());
    };
    let bits = (usize::BITS - per_sample.saturating_sub(1).leading_zeros()).max(1);
    let lowest = lowest_level(levels, per_sample, bits)?;
    for (sample, levels) in levels.chunks_exact(per_sample.max(1)).enumerate() {
        scratch.keys.clear();
        scratch
            .keys
            .extend(levels.iter().zip(0..).map(|(level, position): (_, i32)| (level - lowest) << bits | position));
        scratch.keys.sort_unstable();
        let tile = |key: &i32| sample * per_sample + (key & ((1 << bits) - 1)) as usize;
        scratch.applied.extend(scratch.keys.iter().map(tile).map(applied));
    }
    Ok(())
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
