//! TilePack: gathers tiles of a map into one contiguous array.
//!
//! `packed[b,k,c,dy,dx] = map[b, c, oy(b,k) + dy, ox(b,k) + dx]`, where `(oy, ox)` is the origin of the k-th tile of
//! sample b. Tiles are taken in the order given and may repeat; no tiles at all is valid. A caller that wants an
//! order of the tiles applies [`order_rows`](super::super::ordering::order_rows) first.

use super::super::KernelError;
use super::super::element::Element;
use super::super::shape::{Grid, MapShape, check_length, per_sample};
use super::Placement;
use super::rows::copy_block;

/// Gathers tile by tile, pixel by pixel. `indices` is `[B,K]`, `packed` is `[B,K,C,t,t]`.
///
/// # Errors
/// An empty shape, a tile size that does not divide the map, an id outside the grid, slices of the wrong length.
pub fn reference<T: Element>(
    map: &[T],
    shape: MapShape,
    tile_size: usize,
    indices: &[u32],
    packed: &mut [T],
) -> Result<(), KernelError> {
    let per_sample = check(map, shape, tile_size, indices, packed)?;
    let mut next = packed.iter_mut();
    for sample in 0..shape.batch {
        for tile in 0..per_sample {
            let (oy, ox) = Placement::Indices(indices).at(sample * per_sample + tile, shape, tile_size);
            for channel in 0..shape.channels {
                for dy in 0..tile_size {
                    for dx in 0..tile_size {
                        let slot = next.next().expect("the length of `packed` was checked");
                        *slot = map[shape.at(sample, channel, oy + dy, ox + dx)];
                    }
                }
            }
        }
    }
    Ok(())
}

/// The same, a row of pixels at a time. Bit-equal to [`reference()`].
///
/// # Errors
/// As [`reference()`].
pub fn fast<T: Element>(
    map: &[T],
    shape: MapShape,
    tile_size: usize,
    indices: &[u32],
    packed: &mut [T],
) -> Result<(), KernelError> {
    let per_sample = check(map, shape, tile_size, indices, packed)?;
    if per_sample == 0 {
        return Ok(());
    }
    let pixels = tile_size * tile_size;
    for (tile, target) in packed.chunks_exact_mut(shape.channels * pixels).enumerate() {
        let (oy, ox) = Placement::Indices(indices).at(tile, shape, tile_size);
        let sample = tile / per_sample;
        for (channel, block) in target.chunks_exact_mut(pixels).enumerate() {
            copy_block(&map[shape.at(sample, channel, oy, ox)..], shape.width, block, tile_size, tile_size);
        }
    }
    Ok(())
}

fn check<T>(map: &[T], shape: MapShape, tile_size: usize, indices: &[u32], packed: &[T]) -> Result<usize, KernelError> {
    shape.check()?;
    check_length("map", map.len(), shape.elements())?;
    let per_sample = per_sample("indices", indices.len(), shape.batch)?;
    Grid::of_map(shape, tile_size)?.check(indices)?;
    check_length("packed", packed.len(), indices.len() * shape.channels * tile_size * tile_size)?;
    Ok(per_sample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: MapShape = MapShape { batch: 1, channels: 2, height: 2, width: 4 };

    #[test]
    fn tiles_are_gathered_channel_by_channel_and_may_repeat() {
        let map: Vec<f32> = (0..16u8).map(f32::from).collect();
        let mut packed = [0.0; 24];
        reference(&map, SHAPE, 2, &[1, 0, 1], &mut packed).unwrap();
        let first = [2.0, 3.0, 6.0, 7.0, 10.0, 11.0, 14.0, 15.0];
        assert_eq!(packed[..8], first);
        assert_eq!(packed[8..16], [0.0, 1.0, 4.0, 5.0, 8.0, 9.0, 12.0, 13.0]);
        assert_eq!(packed[16..], first);
    }

    #[test]
    fn wrong_sizes_and_ids_are_refused_and_nothing_is_written() {
        let map = [1.0f32; 16];
        let check = |tile_size: usize, indices: &[u32], length: usize| {
            for form in [reference::<f32>, fast::<f32>] {
                let mut packed = vec![7.0; length];
                assert!(form(&map, SHAPE, tile_size, indices, &mut packed).is_err());
                assert!(packed.iter().all(|&value| value == 7.0));
            }
        };
        check(2, &[2], 8);
        check(2, &[0], 7);
        check(3, &[0], 18);
        check(0, &[], 0);
        assert!(reference(&map[1..], SHAPE, 2, &[0], &mut [0.0; 8]).is_err());
        for form in [reference::<f32>, fast::<f32>] {
            assert_eq!(form(&map, SHAPE, 2, &[], &mut []), Ok(()));
        }
    }

    proptest! {
        #[test]
        fn both_forms_give_the_same_bits(
            (batch, channels, rows, columns, tile_size) in (1usize..3, 1usize..4, 1usize..4, 1usize..5, 1usize..18),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let shape = MapShape { batch, channels, height: rows * tile_size, width: columns * tile_size };
            let bits = |position: u32| f32::from_bits(position.wrapping_mul(2_654_435_761));
            let map: Vec<f32> = (0..shape.elements() as u32).map(bits).collect();
            let one: Vec<u32> = picks.iter().map(|pick| pick.index(rows * columns) as u32).collect();
            let indices = one.repeat(batch);
            let length = indices.len() * channels * tile_size * tile_size;
            let (mut plain, mut quick) = (vec![0.0; length], vec![1.0; length]);
            reference(&map, shape, tile_size, &indices, &mut plain).unwrap();
            fast(&map, shape, tile_size, &indices, &mut quick).unwrap();
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&plain), bits(&quick));
        }
    }
}
