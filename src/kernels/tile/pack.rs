//! TilePack: gathers tiles of a map into one contiguous array.
//!
//! `packed[b,k,c,dy,dx] = map[b, c, oy(b,k) + dy, ox(b,k) + dx]`, where `(oy, ox)` is the origin of the k-th tile of
//! sample b. Tiles are taken in the given order and may repeat; [`order_rows`](super::super::ordering::order_rows) sorts
//! them before, where a caller wants that.

use std::ops::Range;

use rayon::prelude::*;

pub use super::WALKS as CANDIDATES;
use super::{Placement, Rows, Walk};
use crate::element::Element;
use crate::shape::{Grid, MapShape, check_length, per_sample};
use crate::stream::READ;
use crate::{Form, KernelError};

/// Tiles whose places are found together.
const GROUP: usize = 64;

/// `indices` is `[B,K]`, `packed` is `[B,K,C,t,t]`. All forms give the same bits; they differ for tiles of 8 and 16 pixels.
pub fn run<T: Element>(
    form: Form<Walk>,
    map: &[T],
    shape: MapShape,
    tile_size: usize,
    indices: &[u32],
    packed: &mut [T],
) -> Result<(), KernelError> {
    let per_sample = check(map, shape, tile_size, indices, packed)?;
    let gather = |config, first, packed: &mut [T]| {
        let part = Gather { map, shape, tile_size, indices, per_sample, first, config, packed };
        if tile_size == 8 { part.rows::<8>() } else { part.rows::<16>() }
    };
    let is_fast = matches!(tile_size, 8 | 16);
    match form {
        Form::Fast(config) if is_fast => gather(config, 0, packed),
        Form::Parallel(config) if is_fast => {
            let tiles = indices.len().div_ceil(rayon::current_num_threads()).max(1);
            let parts = packed.par_chunks_mut(tiles * shape.channels * tile_size * tile_size).enumerate();
            parts.for_each(|(index, packed)| gather(config, index * tiles, packed));
        }
        _ => reference(map, shape, tile_size, indices, packed, per_sample),
    }
    Ok(())
}

fn reference<T: Element>(
    map: &[T],
    shape: MapShape,
    tile_size: usize,
    indices: &[u32],
    packed: &mut [T],
    per_sample: usize,
) {
    let mut next = packed.iter_mut();
    for tile in 0..indices.len() {
        let (oy, ox) = Placement::Indices(indices).at(tile, shape, tile_size);
        for channel in 0..shape.channels {
            for dy in 0..tile_size {
                for dx in 0..tile_size {
                    let slot = next.next().expect("the length of `packed` was checked");
                    *slot = map[shape.at(tile / per_sample, channel, oy + dy, ox + dx)];
                }
            }
        }
    }
}

/// Gathers tiles from `first` on, as many as `packed` holds.
struct Gather<'a, T> {
    map: &'a [T],
    shape: MapShape,
    tile_size: usize,
    indices: &'a [u32],
    per_sample: usize,
    first: usize,
    config: Walk,
    packed: &'a mut [T],
}

impl<T: Element> Gather<'_, T> {
    /// Tiles lie on the grid, so the map is an array of rows of tiles.
    fn rows<const SIDE: usize>(self) {
        let Gather { map, shape, config, .. } = self;
        let rows = map.as_chunks::<SIDE>().0;
        self.blocks(|starts, channels, packed| {
            let packed = packed.as_chunks_mut::<SIDE>().0.as_chunks_mut::<SIDE>().0;
            let (plane, stride) = (shape.plane() / SIDE, shape.width / SIDE);
            let walked = Rows { map: rows.as_ptr(), prefetch: config.prefetch, plane, stride };
            gather(rows, starts, channels, shape.channels, walked, packed);
        });
    }

    /// Calls `gather` per block with the offsets of the first pixels of some tiles in the map, the channels, and the packed
    /// tiles. Finding a tile costs divisions, so it is done once a group of tiles and not once a block.
    fn blocks(self, mut gather: impl FnMut(&[usize], Range<usize>, &mut [T])) {
        let Gather { shape, tile_size, indices, per_sample, first, config, packed, .. } = self;
        let (length, block) = (shape.channels * tile_size * tile_size, config.block.block(shape.channels));
        let mut starts = [0; GROUP];
        for (group, packed) in packed.chunks_mut(GROUP * length).enumerate() {
            let first = first + group * GROUP;
            let starts = &mut starts[..packed.len() / length];
            for (index, start) in starts.iter_mut().enumerate() {
                let (oy, ox) = Placement::Indices(indices).at(first + index, shape, tile_size);
                *start = shape.at((first + index) / per_sample, 0, oy, ox);
            }
            for channel in (0..shape.channels).step_by(block) {
                gather(starts, channel..(channel + block).min(shape.channels), packed);
            }
        }
    }
}

/// Gathers some channels of some tiles, which have `of_tile` channels.
#[inline(never)]
fn gather<T: Copy, const SIDE: usize>(
    rows: &[[T; SIDE]],
    starts: &[usize],
    channels: Range<usize>,
    of_tile: usize,
    walked: Rows<T, SIDE, READ>,
    packed: &mut [[[T; SIDE]; SIDE]],
) {
    let place = |tile: usize| (starts[tile] / SIDE, tile * of_tile);
    walked.walk(starts.len(), place, channels, |row, tile| {
        let rows = &rows[row..];
        for (index, row) in packed[tile].iter_mut().enumerate() {
            *row = rows[index * walked.stride];
        }
    });
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
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{bits, check_forms};

    const SHAPE: MapShape = MapShape { batch: 1, channels: 2, height: 2, width: 4 };

    #[test]
    fn wrong_sizes_and_ids_are_refused_and_nothing_is_written() {
        let check = |tile_size: usize, indices: &[u32], length: usize| {
            for form in [Form::Reference, Form::Fast(CANDIDATES[0])] {
                let mut packed = vec![7.0; length];
                assert!(run(form, &[1.0f32; 16], SHAPE, tile_size, indices, &mut packed).is_err());
                assert!(packed.iter().all(|&value| value == 7.0));
            }
        };
        check(2, &[2], 8);
        check(2, &[0], 7);
        check(3, &[0], 18);
        check(0, &[], 0);
        assert!(run(Form::Reference, &[1.0f32; 15], SHAPE, 2, &[0], &mut [0.0; 8]).is_err());
        for form in [Form::Reference, Form::Fast(CANDIDATES[0])] {
            assert_eq!(run(form, &[1.0f32; 16], SHAPE, 2, &[], &mut []), Ok(()));
        }
    }

    /// All forms against the reference; values are distinct bit patterns, NaN among them.
    fn check_all(shape: MapShape, tile_size: usize, indices: &[u32]) {
        let pattern = |position: u32| f32::from_bits(position.wrapping_mul(2_654_435_761));
        let map: Vec<f32> = (0..shape.elements() as u32).map(pattern).collect();
        let run = |form| {
            let mut packed = vec![1.0; indices.len() * shape.channels * tile_size * tile_size];
            run(form, &map, shape, tile_size, indices, &mut packed).unwrap();
            bits(&packed)
        };
        let plain = run(Form::Reference);
        check_forms(&[CANDIDATES, &[Walk::blocks(0)]].concat(), |form| assert_eq!(plain, run(form), "{form:?}"));
    }

    #[test]
    fn more_tiles_than_a_group_are_gathered() {
        let indices: Vec<u32> = (0..2 * 70u32).map(|k| k * 7 % 12).collect();
        for tile_size in [1, 3, 4, 8, 16] {
            let shape = MapShape { batch: 2, channels: 3, height: 3 * tile_size, width: 4 * tile_size };
            check_all(shape, tile_size, &indices);
        }
    }

    proptest! {
        #[test]
        fn all_forms_give_the_same_bits(
            (batch, channels, rows, columns, tile_size) in (1usize..3, 1usize..6, 1usize..4, 1usize..5, 1usize..18),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let shape = MapShape { batch, channels, height: rows * tile_size, width: columns * tile_size };
            let one: Vec<u32> = picks.iter().map(|pick| pick.index(rows * columns) as u32).collect();
            check_all(shape, tile_size, &one.repeat(batch));
        }
    }
}
