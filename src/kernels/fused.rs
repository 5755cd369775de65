//! Fused pack, operate, unpack: a gated affine map of the pixels of chosen tiles, all others copied.
//!
//! For a pixel `x` of a chosen tile: `v = vs*x + vb`, `g = gs*x + gb`, `y = v * max(g, 0)`, in `f32` without fused
//! multiply-add, rounded to the element type once. A NaN gate stays NaN; a zero gate keeps the sign of `v`, so a
//! closed gate may give -0.0.

use super::element::Element;
use super::shape::{Grid, MapShape, check_length, per_sample};
use super::tile::{ChannelBlock, Placement, each_block};
use super::{Form, KernelError};

pub const CANDIDATES: &[ChannelBlock] =
    &[ChannelBlock { channel_block: 4 }, ChannelBlock { channel_block: 16 }, ChannelBlock { channel_block: 0 }];

/// `vs`, `vb`, `gs` and `gb` of the formula above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    pub value_scale: f32,
    pub value_bias: f32,
    pub gate_scale: f32,
    pub gate_bias: f32,
}

impl Default for Affine {
    /// `x * max(x, 0)`.
    fn default() -> Self {
        Affine { value_scale: 1.0, value_bias: 0.0, gate_scale: 1.0, gate_bias: 0.0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FusedChoice<'a> {
    /// Tile ids, `[B,K]`.
    pub indices: &'a [u32],
    pub tile_size: usize,
    /// Refuse an id that occurs twice in a row. The result would be the same, but not where a kernel works in place.
    pub require_unique: bool,
}

/// Working memory of a call, reused by later ones.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    seen: Vec<bool>,
    starts: Vec<usize>,
}

/// `map` and `merged` are `[B,C,H,W]`. All forms give the same bits; for tiles of 8 and 16 pixels the fast ones copy a block
/// of planes and operate on its chosen tiles, each once, while the block is in the cache.
pub fn run<T: Element>(
    form: Form<ChannelBlock>,
    map: &[T],
    shape: MapShape,
    choice: &FusedChoice<'_>,
    affine: &Affine,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    let per_sample = check(map, shape, choice, merged, scratch)?;
    if form == Form::Reference || !matches!(choice.tile_size, 8 | 16) {
        reference(map, shape, choice, affine, merged, per_sample);
        return Ok(());
    }
    let starts = starts(shape, choice, per_sample, &mut scratch.starts);
    each_block(form, shape, merged, |sample, channel, merged| {
        let map = &map[shape.at(sample, channel, 0, 0)..][..merged.len()];
        let starts = &starts[sample * per_sample..][..per_sample];
        merged.copy_from_slice(map);
        let block = Block { shape, starts, affine, merged };
        if choice.tile_size == 8 { block.rows::<8>() } else { block.rows::<16>() }
    });
    Ok(())
}

fn reference<T: Element>(
    map: &[T],
    shape: MapShape,
    choice: &FusedChoice<'_>,
    affine: &Affine,
    merged: &mut [T],
    per_sample: usize,
) {
    merged.copy_from_slice(map);
    let side = choice.tile_size;
    for tile in 0..choice.indices.len() {
        let (oy, ox) = Placement::Indices(choice.indices).at(tile, shape, side);
        for channel in 0..shape.channels {
            for dy in 0..side {
                for dx in 0..side {
                    let pixel = shape.at(tile / per_sample, channel, oy + dy, ox + dx);
                    merged[pixel] = operate(map[pixel], affine);
                }
            }
        }
    }
}

/// Where the first pixel of each chosen tile lies in its plane, K a sample in ascending order.
fn starts<'a>(shape: MapShape, choice: &FusedChoice<'_>, per_sample: usize, starts: &'a mut Vec<usize>) -> &'a [usize] {
    starts.clear();
    starts.extend((0..choice.indices.len()).map(|tile| {
        let (y, x) = Placement::Indices(choice.indices).at(tile, shape, choice.tile_size);
        y * shape.width + x
    }));
    starts.chunks_exact_mut(per_sample.max(1)).for_each(|row| row.sort_unstable());
    starts
}

/// Some planes of one sample, and where the tiles of the sample begin in each.
struct Block<'a, T> {
    shape: MapShape,
    starts: &'a [usize],
    affine: &'a Affine,
    merged: &'a mut [T],
}

impl<T: Element> Block<'_, T> {
    /// Tiles lie on the grid, so planes are arrays of rows of tiles.
    fn rows<const SIDE: usize>(self) {
        let (plane, stride) = (self.shape.plane() / SIDE, self.shape.width / SIDE);
        let rows = self.merged.as_chunks_mut::<SIDE>().0;
        for start in once_each(self.starts) {
            operate_tile(&mut rows[start / SIDE..], plane, stride, self.affine);
        }
    }
}

/// Each place of a sorted list once.
fn once_each(starts: &[usize]) -> impl Iterator<Item = usize> {
    starts.chunk_by(|a, b| a == b).map(|same| same[0])
}

/// Operates on a tile in all planes, `plane` rows apart, its rows `stride` apart. Not inlined, to keep both in registers.
#[inline(never)]
fn operate_tile<T: Element, const SIDE: usize>(rows: &mut [[T; SIDE]], plane: usize, stride: usize, affine: &Affine) {
    for first in (0..rows.len()).step_by(plane) {
        for dy in 0..SIDE {
            let row = &mut rows[first + dy * stride];
            *row = row.map(|x| operate(x, affine));
        }
    }
}

#[inline(always)]
fn operate<T: Element>(x: T, affine: &Affine) -> T {
    let x = x.to_f32();
    let value = affine.value_scale * x + affine.value_bias;
    let gate = affine.gate_scale * x + affine.gate_bias;
    let open = if gate > 0.0 || gate.is_nan() { gate } else { 0.0 };
    T::from_f32(value * open)
}

fn check<T>(
    map: &[T],
    shape: MapShape,
    choice: &FusedChoice<'_>,
    merged: &[T],
    scratch: &mut Scratch,
) -> Result<usize, KernelError> {
    shape.check()?;
    check_length("map", map.len(), shape.elements())?;
    check_length("merged", merged.len(), shape.elements())?;
    let per_sample = per_sample("indices", choice.indices.len(), shape.batch)?;
    let grid = Grid::of_map(shape, choice.tile_size)?;
    grid.check(choice.indices)?;
    if choice.require_unique && per_sample > 0 {
        for (row, indices) in choice.indices.chunks_exact(per_sample).enumerate() {
            scratch.seen.clear();
            scratch.seen.resize(grid.tiles() as usize, false);
            for &index in indices {
                if std::mem::replace(&mut scratch.seen[index as usize], true) {
                    return Err(KernelError::DuplicateTile { row, index });
                }
            }
        }
    }
    Ok(per_sample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bits, check_forms, values};
    use proptest::prelude::*;

    const SHAPE: MapShape = MapShape { batch: 1, channels: 1, height: 1, width: 4 };

    #[test]
    fn repeated_ids_are_refused_where_asked() {
        let check = |indices: &[u32], require_unique, expected| {
            let choice = FusedChoice { indices, tile_size: 1, require_unique };
            let (shape, affine) = (MapShape { batch: 2, ..SHAPE }, Affine::default());
            let form = Form::Fast(CANDIDATES[0]);
            let done = run(form, &[1.0f32; 8], shape, &choice, &affine, &mut [0.0; 8], &mut Scratch::default());
            assert_eq!(done, expected, "{indices:?}");
        };
        check(&[0, 1, 2, 2], true, Err(KernelError::DuplicateTile { row: 1, index: 2 }));
        check(&[0, 1, 2, 2], false, Ok(()));
        // Each row by itself.
        check(&[0, 1, 0, 1], true, Ok(()));
    }

    #[test]
    fn a_closed_gate_keeps_the_sign_of_the_value() {
        let choice = FusedChoice { indices: &[0], tile_size: 1, require_unique: true };
        for form in [Form::Reference, Form::Fast(CANDIDATES[0])] {
            let mut merged = [9.0f32; 4];
            run(form, &[-2.0; 4], SHAPE, &choice, &Affine::default(), &mut merged, &mut Scratch::default()).unwrap();
            assert_eq!(merged[0].to_bits(), (-0.0f32).to_bits());
        }
    }

    proptest! {
        #[test]
        fn all_forms_give_the_same_bits(
            (batch, channels, rows, columns, tile_size) in (1usize..3, 1usize..7, 1usize..4, 1usize..5, 1usize..18),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            (value_scale, value_bias) in (-2.0f32..2.0, -2.0f32..2.0),
            (gate_scale, gate_bias) in (-2.0f32..2.0, -2.0f32..2.0),
        ) {
            let shape = MapShape { batch, channels, height: rows * tile_size, width: columns * tile_size };
            let map = values(shape.elements(), 0);
            let one: Vec<u32> = picks.iter().map(|pick| pick.index(rows * columns) as u32).collect();
            let indices = one.repeat(batch);
            let choice = FusedChoice { indices: &indices, tile_size, require_unique: false };
            let affine = Affine { value_scale, value_bias, gate_scale, gate_bias };
            let run = |form: Form<ChannelBlock>| {
                let mut merged = vec![1.0; map.len()];
                run(form, &map, shape, &choice, &affine, &mut merged, &mut Scratch::default()).unwrap();
                bits(&merged)
            };
            let plain = run(Form::Reference);
            check_forms(&[CANDIDATES, &[ChannelBlock { channel_block: 2 }]].concat(), |form| {
                assert_eq!(plain, run(form), "{form:?}");
            });
        }
    }
}
