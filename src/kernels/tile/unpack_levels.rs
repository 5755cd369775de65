//! TileUnpack with a level a tile: tiles are applied from the lowest level to the highest, within a level in order.
//!
//! `merged` starts as a copy of `base`; the tiles of a sample are applied by ascending `(level - lowest level of the
//! call, k)`, or by k alone without levels. With `override` the last applied wins; with `blend` each is mixed over
//! what stands there. Level and position must fit one 32-bit key, `(level - lowest) << bits | k` with
//! `bits = max(1, bit length of K-1)`, because implementations on a device decide the winner by an atomic maximum.

use super::super::KernelError;
use super::super::element::Element;
use super::super::shape::{MapShape, check_length};
use super::place::Blend;
use super::rows::copy_block;
use super::{Overlap, Tiles};

/// How a call writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule<'a> {
    /// A level a tile, `[B,K]`, of any sign.
    pub levels: Option<&'a [i32]>,
    /// Whether tiles without levels may be taken in the order given.
    pub assume_priority_sorted: bool,
    /// What a covered pixel becomes.
    pub overlap: Overlap,
}

/// Room for the order of application; it grows to the tiles of a call and is reused.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    keys: Vec<i32>,
}

/// Scatters tile by tile, pixel by pixel.
///
/// # Errors
/// An empty shape, a tile outside the map, slices of the wrong length, no levels without
/// `assume_priority_sorted`, levels spread beyond the key.
pub fn reference<T: Element>(
    base: &[T],
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    let application = check(base, shape, tiles, rule, merged, scratch)?;
    merged.copy_from_slice(base);
    for sample in 0..shape.batch {
        for position in 0..application.per_sample {
            let tile = application.tile(sample, position, scratch);
            scatter_pixels(shape, tiles, rule.overlap, (sample, tile), merged);
        }
    }
    Ok(())
}

/// The same, a row of pixels at a time where tiles override. Bit-equal to [`reference()`].
///
/// # Errors
/// As [`reference()`].
pub fn fast<T: Element>(
    base: &[T],
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    let application = check(base, shape, tiles, rule, merged, scratch)?;
    merged.copy_from_slice(base);
    let side = tiles.tile_size;
    let pixels = side * side;
    for sample in 0..shape.batch {
        for position in 0..application.per_sample {
            let tile = application.tile(sample, position, scratch);
            if rule.overlap != Overlap::Override {
                scatter_pixels(shape, tiles, rule.overlap, (sample, tile), merged);
                continue;
            }
            let (oy, ox) = tiles.placement.at(tile, shape, side);
            let packed = &tiles.packed[tile * shape.channels * pixels..][..shape.channels * pixels];
            for (channel, block) in packed.chunks_exact(pixels).enumerate() {
                copy_block(block, side, &mut merged[shape.at(sample, channel, oy, ox)..], shape.width, side);
            }
        }
    }
    Ok(())
}

/// How the sorted keys name tiles.
#[derive(Clone, Copy)]
struct Application {
    per_sample: usize,
    bits: u32,
    by_level: bool,
}

impl Application {
    /// The tile of `sample` that is applied at `position`, as a row of `[B,K]`.
    #[inline(always)]
    fn tile(self, sample: usize, position: usize, scratch: &Scratch) -> usize {
        let row = sample * self.per_sample;
        if self.by_level {
            row + (scratch.keys[row + position] & ((1 << self.bits) - 1)) as usize
        } else {
            row + position
        }
    }
}

fn scatter_pixels<T: Element>(
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    overlap: Overlap,
    (sample, tile): (usize, usize),
    merged: &mut [T],
) {
    let side = tiles.tile_size;
    let (oy, ox) = tiles.placement.at(tile, shape, side);
    for channel in 0..shape.channels {
        for dy in 0..side {
            for dx in 0..side {
                let new = tiles.packed[((tile * shape.channels + channel) * side + dy) * side + dx];
                let pixel = &mut merged[shape.at(sample, channel, oy + dy, ox + dx)];
                *pixel = match overlap {
                    Overlap::Override => new,
                    Overlap::Blend(factor) => Blend::new(factor).mix(*pixel, new),
                };
            }
        }
    }
}

fn check<T>(
    base: &[T],
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &[T],
    scratch: &mut Scratch,
) -> Result<Application, KernelError> {
    let per_sample = tiles.check(shape)?;
    check_length("base", base.len(), shape.elements())?;
    check_length("merged", merged.len(), shape.elements())?;
    let bits = (usize::BITS - per_sample.saturating_sub(1).leading_zeros()).max(1);
    let application = Application { per_sample, bits, by_level: rule.levels.is_some() };
    match rule.levels {
        None if !rule.assume_priority_sorted => return Err(KernelError::LevelsNeeded),
        None => {}
        Some(levels) => {
            check_length("levels", levels.len(), tiles.placement.count())?;
            sort_keys(levels, application, scratch)?;
        }
    }
    Ok(application)
}

fn sort_keys(levels: &[i32], application: Application, scratch: &mut Scratch) -> Result<(), KernelError> {
    let Application { per_sample, bits, .. } = application;
    scratch.keys.clear();
    let (Some(&lowest), Some(&highest)) = (levels.iter().min(), levels.iter().max()) else {
        return Ok(());
    };
    let spread = i64::from(highest) - i64::from(lowest);
    let largest_key = (i128::from(spread) << bits) + per_sample as i128 - 1;
    if largest_key > i128::from(i32::MAX) {
        return Err(KernelError::LevelSpread { spread, tiles: per_sample });
    }
    let key = |(tile, &level): (usize, &i32)| (level - lowest) << bits | (tile % per_sample) as i32;
    scratch.keys.extend(levels.iter().enumerate().map(key));
    for row in scratch.keys.chunks_exact_mut(per_sample) {
        row.sort_unstable();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Origin, Placement};
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::Index;

    const SHAPE: MapShape = MapShape { batch: 1, channels: 1, height: 1, width: 2 };

    type Form = fn(&[f32], MapShape, &Tiles<'_, f32>, Rule<'_>, &mut [f32], &mut Scratch) -> Result<(), KernelError>;

    fn check(levels: Option<&[i32]>, overlap: Overlap, expected: f32) {
        for form in [reference::<f32> as Form, fast::<f32>] {
            let mut merged = [0.0; 2];
            let tiles = Tiles { packed: &[1.0, 2.0, 4.0], placement: Placement::Indices(&[1, 1, 1]), tile_size: 1 };
            let rule = Rule { levels, assume_priority_sorted: true, overlap };
            form(&[8.0, 8.0], SHAPE, &tiles, rule, &mut merged, &mut Scratch::default()).unwrap();
            assert_eq!(merged, [8.0, expected]);
        }
    }

    #[test]
    fn the_highest_level_wins_then_the_later_tile() {
        check(None, Overlap::Override, 4.0);
        check(Some(&[0, 0, 0]), Overlap::Override, 4.0);
        check(Some(&[-3, 7, -3]), Overlap::Override, 2.0);
        check(Some(&[5, 5, 4]), Overlap::Override, 2.0);
        // 8 -> (8+4)/2 = 6 -> (6+1)/2 = 3.5 -> (3.5+2)/2 = 2.75.
        check(Some(&[1, 2, 0]), Overlap::blend(0.5).unwrap(), 2.75);
    }

    #[test]
    fn levels_are_needed_and_must_fit_the_key() {
        let tiles = Tiles { packed: &[1.0f32, 2.0], placement: Placement::Indices(&[0, 1]), tile_size: 1 };
        let unsorted = Rule { levels: None, assume_priority_sorted: false, overlap: Overlap::Override };
        let run = |rule: Rule<'_>| fast(&[0.0; 2], SHAPE, &tiles, rule, &mut [0.0; 2], &mut Scratch::default());
        assert_eq!(run(unsorted), Err(KernelError::LevelsNeeded));
        // Two tiles need one bit, so the spread may reach (2^31 - 1) >> 1.
        let widest = (i32::MAX >> 1) - 1;
        assert_eq!(run(Rule { levels: Some(&[-1, widest]), ..unsorted }), Ok(()));
        let refused = KernelError::LevelSpread { spread: i64::from(widest) + 2, tiles: 2 };
        assert_eq!(run(Rule { levels: Some(&[-2, widest]), ..unsorted }), Err(refused));
        assert!(run(Rule { levels: Some(&[i32::MIN, i32::MAX]), ..unsorted }).is_err());
        assert!(run(Rule { levels: Some(&[0]), ..unsorted }).is_err());
    }

    proptest! {
        #[test]
        fn both_forms_give_the_same_bits(
            (batch, channels, height, width) in (1usize..3, 1usize..4, 4usize..20, 4usize..20),
            tile_size in 1usize..5,
            picks in prop::collection::vec((any::<Index>(), any::<Index>(), -2i32..3), 0..6),
            (levelled, blend) in (any::<bool>(), any::<bool>()),
        ) {
            let shape = MapShape { batch, channels, height, width };
            let origins: Vec<Origin> = picks.iter().map(|(y, x, _)| Origin {
                y: y.index(height - tile_size + 1) as u32,
                x: x.index(width - tile_size + 1) as u32,
            }).collect::<Vec<_>>().repeat(batch);
            let levels: Vec<i32> = picks.iter().map(|pick| pick.2).collect::<Vec<_>>().repeat(batch);
            let value = |position: usize| (position as f32 * 0.618).fract() - 0.5;
            let base: Vec<f32> = (0..shape.elements()).map(value).collect();
            let count = origins.len() * channels * tile_size * tile_size;
            let packed: Vec<f32> = (7..7 + count).map(value).collect();
            let tiles = Tiles { packed: &packed, placement: Placement::Origins(&origins), tile_size };
            let overlap = if blend { Overlap::blend(0.3).unwrap() } else { Overlap::Override };
            let rule = Rule { levels: levelled.then_some(&levels), assume_priority_sorted: true, overlap };
            let run = |form: Form| {
                let mut merged = vec![0.0; base.len()];
                form(&base, shape, &tiles, rule, &mut merged, &mut Scratch::default()).unwrap();
                merged.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            prop_assert_eq!(run(reference), run(fast));
        }
    }
}
