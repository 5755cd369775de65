//! Fused pack, operate, unpack: a gated affine map of the pixels of chosen tiles, all others copied.
//!
//! For a pixel `x` of a chosen tile: `v = vs*x + vb`, `g = gs*x + gb`, `y = v * max(g, 0)`, in `f32` without fused
//! multiply-add, rounded to the element type once. A NaN gate stays NaN; a zero gate keeps the sign of `v`, so a
//! closed gate may give -0.0.

use super::KernelError;
use super::element::Element;
use super::shape::{Grid, MapShape, check_length, per_sample};
use super::tile::Placement;

/// The map applied to a pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// Factor of the value, `vs`.
    pub value_scale: f32,
    /// Offset of the value, `vb`.
    pub value_bias: f32,
    /// Factor of the gate, `gs`.
    pub gate_scale: f32,
    /// Offset of the gate, `gb`.
    pub gate_bias: f32,
}

impl Default for Affine {
    /// Both factors one, both offsets zero: `x * max(x, 0)`.
    fn default() -> Self {
        Affine { value_scale: 1.0, value_bias: 0.0, gate_scale: 1.0, gate_bias: 0.0 }
    }
}

/// Which tiles are touched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice<'a> {
    /// Tile ids, `[B,K]`.
    pub indices: &'a [u32],
    /// Side of a tile in pixels, t.
    pub tile_size: usize,
    /// Refuse an id that occurs twice in a row. A repeated tile is computed from the input each time, so the result is
    /// the same; implementations that work in place would not say so.
    pub require_unique: bool,
}

/// Room to find repeated ids; it grows to the tiles of a grid and is reused.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    seen: Vec<bool>,
}

/// Computes pixel by pixel. `map` and `merged` are `[B,C,H,W]`.
///
/// # Errors
/// An empty shape, a tile size that does not divide the map, an id outside the grid or, where asked, repeated in its
/// row, slices of the wrong length.
pub fn reference<T: Element>(
    map: &[T],
    shape: MapShape,
    choice: &Choice<'_>,
    affine: &Affine,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    let per_sample = check(map, shape, choice, merged, scratch)?;
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
    Ok(())
}

/// The same, a row of pixels at a time. Bit-equal to [`reference()`].
///
/// # Errors
/// As [`reference()`].
pub fn fast<T: Element>(
    map: &[T],
    shape: MapShape,
    choice: &Choice<'_>,
    affine: &Affine,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    let per_sample = check(map, shape, choice, merged, scratch)?;
    merged.copy_from_slice(map);
    match choice.tile_size {
        4 => operate_rows::<T, 4>(map, shape, choice.indices, per_sample, affine, merged),
        8 => operate_rows::<T, 8>(map, shape, choice.indices, per_sample, affine, merged),
        16 => operate_rows::<T, 16>(map, shape, choice.indices, per_sample, affine, merged),
        side => {
            for tile in 0..choice.indices.len() {
                let (oy, ox) = Placement::Indices(choice.indices).at(tile, shape, side);
                for channel in 0..shape.channels {
                    for dy in 0..side {
                        let start = shape.at(tile / per_sample, channel, oy + dy, ox);
                        for (pixel, &x) in merged[start..][..side].iter_mut().zip(&map[start..][..side]) {
                            *pixel = operate(x, affine);
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// The usual sides, told to the compiler so that a row is a few vector operations.
fn operate_rows<T: Element, const SIDE: usize>(
    map: &[T],
    shape: MapShape,
    indices: &[u32],
    per_sample: usize,
    affine: &Affine,
    merged: &mut [T],
) {
    for tile in 0..indices.len() {
        let (oy, ox) = Placement::Indices(indices).at(tile, shape, SIDE);
        for channel in 0..shape.channels {
            let start = shape.at(tile / per_sample, channel, oy, ox);
            for dy in 0..SIDE {
                let source = &map[start + dy * shape.width..][..SIDE];
                let target = &mut merged[start + dy * shape.width..][..SIDE];
                for dx in 0..SIDE {
                    target[dx] = operate(source[dx], affine);
                }
            }
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
    choice: &Choice<'_>,
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
    use proptest::prelude::*;

    const SHAPE: MapShape = MapShape { batch: 1, channels: 1, height: 1, width: 4 };

    #[test]
    fn chosen_pixels_are_gated_and_the_rest_is_copied() {
        let choice = Choice { indices: &[0, 1, 3], tile_size: 1, require_unique: true };
        let affine = Affine { value_scale: 2.0, value_bias: 1.0, gate_scale: -1.0, gate_bias: 3.0 };
        let mut merged = [0.0f32; 4];
        reference(&[1.0, 5.0, 7.0, f32::NAN], SHAPE, &choice, &affine, &mut merged, &mut Scratch::default()).unwrap();
        assert_eq!(merged[..3], [6.0, 0.0, 7.0]);
        assert!(merged[3].is_nan());
    }

    #[test]
    fn a_closed_gate_keeps_the_sign_of_the_value() {
        let choice = Choice { indices: &[0], tile_size: 1, require_unique: true };
        for form in [reference::<f32>, fast::<f32>] {
            let mut merged = [9.0f32; 4];
            form(&[-2.0; 4], SHAPE, &choice, &Affine::default(), &mut merged, &mut Scratch::default()).unwrap();
            assert_eq!(merged[0].to_bits(), (-0.0f32).to_bits());
        }
    }

    #[test]
    fn repeated_ids_are_refused_where_asked() {
        let shape = MapShape { batch: 2, ..SHAPE };
        let mut choice = Choice { indices: &[0, 1, 2, 2], tile_size: 1, require_unique: true };
        let run = |choice: &Choice<'_>| {
            fast(&[1.0f32; 8], shape, choice, &Affine::default(), &mut [0.0; 8], &mut Scratch::default())
        };
        assert_eq!(run(&choice), Err(KernelError::DuplicateTile { row: 1, index: 2 }));
        choice.require_unique = false;
        assert_eq!(run(&choice), Ok(()));
        choice.indices = &[0, 1, 0, 1];
        choice.require_unique = true;
        assert_eq!(run(&choice), Ok(()), "each row is its own");
    }

    proptest! {
        #[test]
        fn both_forms_give_the_same_bits(
            (batch, channels, rows, columns, tile_size) in (1usize..3, 1usize..4, 1usize..4, 1usize..5, 1usize..18),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            (value_scale, value_bias) in (-2.0f32..2.0, -2.0f32..2.0),
            (gate_scale, gate_bias) in (-2.0f32..2.0, -2.0f32..2.0),
        ) {
            let shape = MapShape { batch, channels, height: rows * tile_size, width: columns * tile_size };
            let map: Vec<f32> = (0..shape.elements()).map(|position| (position as f32 * 0.618).fract() - 0.5).collect();
            let one: Vec<u32> = picks.iter().map(|pick| pick.index(rows * columns) as u32).collect();
            let indices = one.repeat(batch);
            let choice = Choice { indices: &indices, tile_size, require_unique: false };
            let affine = Affine { value_scale, value_bias, gate_scale, gate_bias };
            let (mut plain, mut quick) = (vec![0.0; map.len()], vec![1.0; map.len()]);
            reference(&map, shape, &choice, &affine, &mut plain, &mut Scratch::default()).unwrap();
            fast(&map, shape, &choice, &affine, &mut quick, &mut Scratch::default()).unwrap();
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&plain), bits(&quick));
        }
    }
}
