//! TileUnpack with a priority a pixel: a later call of lower priority cannot undo an earlier one of higher.
//!
//! `merged` starts as a copy of `base`. For k = 0..K-1 in order and each pixel that tile k covers: a pixel whose priority
//! is at most that of the call is replaced or blended in all channels and takes the priority of the call. So within a call
//! the later tile wins, or blends over the earlier. The priority map, `[B,H,W]`, starts at zero and is carried from call to
//! call; the usual priorities are 1, 2, 3 for the levels from coarse to fine.

use super::{Blend, Overlap, Tiles, copy_block};
use crate::element::Element;
use crate::shape::{MapShape, check_length};
use crate::{Form, KernelError};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorityRule {
    pub level_priority: i8,
    /// What an allowed pixel becomes.
    pub overlap: Overlap,
}

/// Scatters tiles over a copy of `base`, on the calling thread alone. Both forms give the same bits.
pub fn run<T: Element>(
    form: Form<()>,
    base: &[T],
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: PriorityRule,
    merged: &mut [T],
    priority_map: &mut [i8],
) -> Result<(), KernelError> {
    let per_sample = tiles.check(shape)?;
    check_length("base", base.len(), shape.elements())?;
    check_length("merged", merged.len(), shape.elements())?;
    check_length("priority_map", priority_map.len(), shape.pixels())?;
    merged.copy_from_slice(base);
    let side = tiles.tile_size;
    for tile in 0..tiles.placement.count() {
        let sample = tile / per_sample;
        let (oy, ox) = tiles.placement.at(tile, shape, side);
        let first = (sample * shape.height + oy) * shape.width + ox;
        let rows = |row: usize| first + row * shape.width..first + row * shape.width + side;
        let is_allowed = |&priority: &i8| rule.level_priority >= priority;
        let is_plain = form == Form::Reference || rule.overlap != Overlap::Override;
        if is_plain || !(0..side).all(|row| priority_map[rows(row)].iter().all(is_allowed)) {
            scatter_pixels(shape, tiles, rule, (sample, tile), merged, priority_map);
            continue;
        }
        let pixels = side * side;
        let packed = &tiles.packed[tile * shape.channels * pixels..][..shape.channels * pixels];
        for (channel, block) in packed.chunks_exact(pixels).enumerate() {
            copy_block(block, side, &mut merged[shape.at(sample, channel, oy, ox)..], shape.width, side);
        }
        for row in 0..side {
            priority_map[rows(row)].fill(rule.level_priority);
        }
    }
    Ok(())
}

fn scatter_pixels<T: Element>(
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: PriorityRule,
    (sample, tile): (usize, usize),
    merged: &mut [T],
    priority_map: &mut [i8],
) {
    let side = tiles.tile_size;
    let (oy, ox) = tiles.placement.at(tile, shape, side);
    for dy in 0..side {
        for dx in 0..side {
            let priority = &mut priority_map[(sample * shape.height + oy + dy) * shape.width + ox + dx];
            if rule.level_priority < *priority {
                continue;
            }
            *priority = rule.level_priority;
            for channel in 0..shape.channels {
                let new = tiles.packed[((tile * shape.channels + channel) * side + dy) * side + dx];
                let pixel = &mut merged[shape.at(sample, channel, oy + dy, ox + dx)];
                *pixel = match rule.overlap {
                    Overlap::Override => new,
                    Overlap::Blend(factor) => Blend::new(factor).mix(*pixel, new),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bits, values};
    use crate::tile::{Corner, Placement};
    use proptest::prelude::*;
    use proptest::sample::Index;

    const SHAPE: MapShape = MapShape { batch: 1, channels: 1, height: 2, width: 3 };

    #[test]
    fn wrong_lengths_are_refused_and_no_tiles_leave_the_base() {
        let rule = PriorityRule { level_priority: 1, overlap: Overlap::Override };
        let merged = |packed: &[f32], origins: &[Corner], pixels: usize| {
            let tiles = Tiles { packed, placement: Placement::Origins(origins), tile_size: 2 };
            let mut merged = [0.0; 6];
            run(Form::Fast(()), &[3.0; 6], SHAPE, &tiles, rule, &mut merged, &mut vec![0; pixels]).map(|()| merged)
        };
        assert!(merged(&[0.0; 3], &[Corner { y: 0, x: 0 }], 6).is_err());
        assert!(merged(&[], &[], 5).is_err());
        assert_eq!(merged(&[], &[], 6), Ok([3.0; 6]));
    }

    proptest! {
        #[test]
        fn both_forms_give_the_same_bits(
            (batch, channels, height, width) in (1usize..3, 1usize..4, 4usize..20, 4usize..20),
            tile_size in 1usize..5,
            picks in prop::collection::vec((any::<Index>(), any::<Index>()), 0..6),
            priorities in prop::collection::vec(0i8..4, 2 * 20 * 20),
            (level_priority, blend) in (0i8..4, any::<bool>()),
        ) {
            let shape = MapShape { batch, channels, height, width };
            let place = |(y, x): &(Index, Index)| Corner {
                y: y.index(height - tile_size + 1) as u32,
                x: x.index(width - tile_size + 1) as u32,
            };
            let origins: Vec<Corner> = picks.iter().map(place).collect::<Vec<_>>().repeat(batch);
            let base = values(shape.elements(), 0);
            let packed = values(origins.len() * channels * tile_size * tile_size, 7);
            let tiles = Tiles { packed: &packed, placement: Placement::Origins(&origins), tile_size };
            let overlap = if blend { Overlap::blend(0.3).unwrap() } else { Overlap::Override };
            let rule = PriorityRule { level_priority, overlap };
            let run = |form: Form<()>| {
                let (mut merged, mut map) = (vec![0.0; base.len()], priorities[..shape.pixels()].to_vec());
                run(form, &base, shape, &tiles, rule, &mut merged, &mut map).unwrap();
                (bits(&merged), map)
            };
            prop_assert_eq!(run(Form::Reference), run(Form::Fast(())));
        }
    }
}
