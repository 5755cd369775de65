//! TileUnpack with a level a tile: tiles are applied from the lowest level to the highest, within a level in order.
//!
//! `merged` starts as a copy of `base`, or, in place, as what it holds; the tiles of a sample are applied by ascending
//! `(level - lowest level of the call, k)`, or by k alone without levels. With `override` the last applied wins; with
//! `blend` each is mixed over the current pixel. Level and position must fit one 32-bit key,
//! `(level - lowest) << bits | k` with `bits = max(1, bit length of K-1)`, because implementations on a device decide
//! the winner by an atomic maximum.
//!
//! Channels are independent, so the fast forms apply all tiles to a block of planes while it is in the cache; they take tiles of
//! 8 and 16 pixels on the grid that override. Maps are `[B,C,H,W]`, tiles `[B,K,C,t,t]`.

pub use super::WALKS as CANDIDATES;
use super::{Blend, Overlap, Placement, Rows, Tiles, Walk, each_block};
use crate::element::Element;
use crate::shape::{MapShape, check_length};
use crate::stream::WRITE;
use crate::{Form, KernelError};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelsRule<'a> {
    /// A level a tile, `[B,K]`, of any sign.
    pub levels: Option<&'a [i32]>,
    /// Whether tiles without levels may be taken in the given order.
    pub assume_priority_sorted: bool,
    pub overlap: Overlap,
}

/// Scatters tiles over a copy of `base`, or over `merged` where there is none. All forms give the same bits.
pub fn run<T: Element>(
    form: Form<Walk>,
    base: Option<&[T]>,
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: LevelsRule<'_>,
    merged: &mut [T],
    scratch: &mut UnpackScratch,
) -> Result<(), KernelError> {
    check(base, shape, tiles, rule, merged)?;
    // Tiles on a grid are disjoint or in the same place. Where they override, they may be applied by place, so that
    // neighbours find their lines in the cache.
    let is_plain = matches!((tiles.placement, rule.overlap), (Placement::Indices(_), Overlap::Override));
    let is_fast = is_plain && matches!(tiles.tile_size, 8 | 16) && form != Form::Reference;
    find_order(shape, tiles, rule, scratch, is_fast)?;
    if !is_fast {
        base.into_iter().for_each(|base| merged.copy_from_slice(base));
        scatter_pixels(shape, tiles, rule.overlap, merged, scratch);
        return Ok(());
    }
    let applied = scratch.applied.as_slice();
    let prefetch = matches!(form, Form::Fast(config) | Form::Parallel(config) if config.prefetch);
    each_block(form.map(|walk| walk.block), shape, merged, |sample, channel, planes| {
        if let Some(base) = base {
            planes.copy_from_slice(&base[shape.at(sample, channel, 0, 0)..][..planes.len()]);
        }
        let per_sample = applied.len() / shape.batch;
        let applied = &applied[sample * per_sample..][..per_sample];
        let block = Block { shape, packed: tiles.packed, prefetch, applied, channel, planes };
        if tiles.tile_size == 8 { block.apply_rows::<8>() } else { block.apply_rows::<16>() }
    });
    Ok(())
}

/// Working memory of a call, reused by later ones.
#[derive(Clone, Debug, Default)]
pub struct UnpackScratch {
    /// In the order of application, sample after sample, K a sample.
    applied: Vec<Applied>,
}

#[derive(Clone, Copy, Debug)]
struct Applied {
    /// The row of `[B,K]`.
    tile: usize,
    /// The offset of its first pixel in each plane.
    start: usize,
    /// Level and position as one number: the tile with the larger is applied later.
    turn: usize,
}

/// Refuses bad input before anything is written.
fn check<T: Element>(
    base: Option<&[T]>,
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: LevelsRule<'_>,
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

/// Finds the order in which checked tiles are applied.
fn find_order<T>(
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: LevelsRule<'_>,
    scratch: &mut UnpackScratch,
    by_place: bool,
) -> Result<(), KernelError> {
    let per_sample = (tiles.placement.count() / shape.batch).max(1);
    let bits = (usize::BITS - (per_sample - 1).leading_zeros()).max(1);
    let lowest = rule.levels.map_or(Ok(0), |levels| lowest_level(levels, per_sample, bits))?;
    let start = tiles.placement.start(shape, tiles.tile_size);
    scratch.applied.clear();
    scratch.applied.extend((0..tiles.placement.count()).map(|tile| {
        let level = rule.levels.map_or(0, |levels| (levels[tile] - lowest) as usize);
        Applied { tile, start: start(tile), turn: (level << bits) | (tile % per_sample) }
    }));
    let key = |applied: &Applied| (if by_place { applied.start } else { 0 }, applied.turn);
    scratch.applied.chunks_exact_mut(per_sample).for_each(|row| row.sort_unstable_by_key(key));
    Ok(())
}

/// The lowest level of a call, or an error where levels and positions do not fit the key.
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

fn scatter_pixels<T: Element>(
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    overlap: Overlap,
    merged: &mut [T],
    scratch: &UnpackScratch,
) {
    let side = tiles.tile_size;
    let per_sample = scratch.applied.len() / shape.batch;
    for (turn, applied) in scratch.applied.iter().enumerate() {
        let (oy, ox) = tiles.placement.at(applied.tile, shape, side);
        for channel in 0..shape.channels {
            for dy in 0..side {
                for dx in 0..side {
                    let new = tiles.packed[((applied.tile * shape.channels + channel) * side + dy) * side + dx];
                    let pixel = &mut merged[shape.at(turn / per_sample, channel, oy + dy, ox + dx)];
                    *pixel = match overlap {
                        Overlap::Override => new,
                        Overlap::Blend(factor) => Blend::new(factor).mix(*pixel, new),
                    };
                }
            }
        }
    }
}

/// Some planes of one sample, from `channel` on, and the tiles that are applied to them.
struct Block<'a, T> {
    shape: MapShape,
    packed: &'a [T],
    prefetch: bool,
    applied: &'a [Applied],
    channel: usize,
    planes: &'a mut [T],
}

impl<T: Element> Block<'_, T> {
    /// Tiles lie on the grid, so planes are arrays of rows of tiles.
    fn apply_rows<const SIDE: usize>(self) {
        let Block { shape, packed, prefetch, .. } = self;
        let tiles = packed.as_chunks::<SIDE>().0.as_chunks::<SIDE>().0;
        let rows = self.planes.as_chunks_mut::<SIDE>().0;
        let (plane, stride) = (shape.plane() / SIDE, shape.width / SIDE);
        let walked = Rows { map: rows.as_ptr(), prefetch, plane, stride };
        scatter(tiles, self.applied, self.channel, shape.channels, walked, rows);
    }
}

/// Copies tiles into planes of `rows`, from `channel` on. Of tiles in the same place the last one wins.
///
/// It stays at the plain width: with moves of 32 bytes it took 1.4 times as long on an EPYC (Zen 4), because more lines were
/// in flight and these fall into few sets of the cache.
#[inline(never)]
fn scatter<T: Copy, const SIDE: usize>(
    tiles: &[[[T; SIDE]; SIDE]],
    applied: &[Applied],
    channel: usize,
    of_tile: usize,
    walked: Rows<T, SIDE, WRITE>,
    rows: &mut [[T; SIDE]],
) {
    let place = |index: usize| (applied[index].start / SIDE, applied[index].tile * of_tile + channel);
    walked.walk(applied.len(), place, 0..rows.len() / walked.plane, |row, tile| {
        let rows = &mut rows[row..];
        for (index, row) in tiles[tile].iter().enumerate() {
            rows[index * walked.stride] = *row;
        }
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::testing::{bits, check_forms, values};
    use crate::tile::Corner;

    const SHAPE: MapShape = MapShape { batch: 1, channels: 1, height: 1, width: 2 };

    #[test]
    fn levels_are_needed_and_must_fit_the_key() {
        let tiles = Tiles { packed: &[1.0f32, 2.0], placement: Placement::Indices(&[0, 1]), tile_size: 1 };
        let unsorted = LevelsRule { levels: None, assume_priority_sorted: false, overlap: Overlap::Override };
        let run = |rule: LevelsRule<'_>| {
            let form = Form::Fast(CANDIDATES[0]);
            run(form, Some(&[0.0; 2]), SHAPE, &tiles, rule, &mut [0.0; 2], &mut UnpackScratch::default())
        };
        assert_eq!(run(unsorted), Err(KernelError::LevelsNeeded));
        // Two tiles need one bit, so the spread may reach (2^31 - 1) >> 1.
        let widest = (i32::MAX >> 1) - 1;
        assert_eq!(run(LevelsRule { levels: Some(&[-1, widest]), ..unsorted }), Ok(()));
        let refused = KernelError::LevelSpread { spread: i64::from(widest) + 2, tiles: 2 };
        assert_eq!(run(LevelsRule { levels: Some(&[-2, widest]), ..unsorted }), Err(refused));
        assert!(run(LevelsRule { levels: Some(&[i32::MIN, i32::MAX]), ..unsorted }).is_err());
        assert!(run(LevelsRule { levels: Some(&[0]), ..unsorted }).is_err());
    }

    /// All forms against the reference, in place against the reference in place.
    fn check_all(shape: MapShape, tiles: &Tiles<'_, f32>, rule: LevelsRule<'_>) {
        let base = values(shape.elements(), 0);
        let over = |form: Form<Walk>, base: Option<&[f32]>, start: &[f32]| {
            let mut merged = start.to_vec();
            run(form, base, shape, tiles, rule, &mut merged, &mut UnpackScratch::default()).unwrap();
            bits(&merged)
        };
        let stale = vec![f32::NAN; base.len()];
        let plain = over(Form::Reference, Some(&base), &stale);
        assert_eq!(plain, over(Form::Reference, None, &base));
        check_forms(&[CANDIDATES, &[Walk::blocks(0)]].concat(), |form| {
            assert_eq!(plain, over(form, Some(&base), &stale), "{form:?}");
            assert_eq!(plain, over(form, None, &base), "{form:?}, in place");
        });
    }

    #[test]
    fn in_place_is_refused_as_with_a_copy_and_nothing_is_written() {
        let tiles = Tiles { packed: &[1.0f32, 2.0], placement: Placement::Indices(&[0, 2]), tile_size: 1 };
        let rule = LevelsRule { levels: None, assume_priority_sorted: true, overlap: Overlap::Override };
        for form in [Form::Reference, Form::Fast(CANDIDATES[0])] {
            let mut merged = [7.0; 2];
            let refused = run(form, None, SHAPE, &tiles, rule, &mut merged, &mut UnpackScratch::default());
            assert_eq!(refused, Err(KernelError::TileIndex { index: 2, tiles: 2 }));
            assert_eq!(merged, [7.0; 2]);
        }
    }

    proptest! {
        #[test]
        fn all_forms_give_the_same_bits(
            (batch, channels, rows, columns) in (1usize..3, 1usize..6, 1usize..4, 1usize..4),
            tile_size in prop::sample::select(vec![1usize, 2, 3, 4, 5, 8, 16]),
            (spare_rows, spare_columns) in (0usize..3, 0usize..3),
            picks in prop::collection::vec((any::<Index>(), any::<Index>(), -2i32..3), 0..6),
            (levelled, blend, on_grid) in (any::<bool>(), any::<bool>(), any::<bool>()),
        ) {
            let (height, width) = if on_grid {
                (rows * tile_size, columns * tile_size)
            } else {
                (rows * tile_size + spare_rows, columns * tile_size + spare_columns)
            };
            let shape = MapShape { batch, channels, height, width };
            let origins: Vec<Corner> = picks.iter().map(|(y, x, _)| Corner {
                y: y.index(height - tile_size + 1) as u32,
                x: x.index(width - tile_size + 1) as u32,
            }).collect::<Vec<_>>().repeat(batch);
            let indices: Vec<u32> =
                picks.iter().map(|(y, _, _)| y.index(rows * columns) as u32).collect::<Vec<_>>().repeat(batch);
            let levels: Vec<i32> = picks.iter().map(|pick| pick.2).collect::<Vec<_>>().repeat(batch);
            let count = origins.len() * channels * tile_size * tile_size;
            let packed = values(count, 7);
            let placement = if on_grid { Placement::Indices(&indices) } else { Placement::Origins(&origins) };
            let tiles = Tiles { packed: &packed, placement, tile_size };
            let overlap = if blend { Overlap::blend(0.3).unwrap() } else { Overlap::Override };
            check_all(shape, &tiles, LevelsRule { levels: levelled.then_some(&levels), assume_priority_sorted: true, overlap });
        }
    }
}
