//! Tiles: gathering them from a map and scattering them back.
//!
//! [`unpack_priority`] takes one priority per call and carries a map of priorities per pixel from call to call;
//! [`unpack_levels`] takes a level per tile and carries nothing.

use std::ops::Range;

use rayon::prelude::*;

use crate::element::Element;
use crate::shape::{Grid, MapShape, check_length, per_sample};
use crate::stream;
use crate::{Form, KernelError};

pub mod pack;
pub mod unpack_levels;
pub mod unpack_priority;

/// How many channels a kernel takes at a time.
///
/// Planes of a map lie a large power of two apart, so the same row of all channels falls into a few sets of the cache, and
/// lines are evicted before the neighbouring tile uses their other half. A small block of channels goes over all tiles
/// before the next block begins, which spreads the rows in use over the sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelBlock {
    /// 0 takes all channels at once.
    pub channel_block: usize,
}

impl ChannelBlock {
    /// The name under which a tuned variant is recorded, such as `channel_block=16`.
    pub fn name(self) -> String {
        match self.channel_block {
            0 => "channel_block=all".to_owned(),
            channels => format!("channel_block={channels}"),
        }
    }

    pub(crate) fn block(self, channels: usize) -> usize {
        if self.channel_block == 0 { channels } else { self.channel_block.min(channels) }
    }

    /// The block where the threads of the current rayon pool share the channels, so that each thread has one.
    fn shared_block(self, channels: usize) -> usize {
        self.block(channels).min(channels.div_ceil(rayon::current_num_threads()))
    }
}

/// How TilePack and TileUnpack with levels go over the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    pub block: ChannelBlock,
    /// Fetches to L1 rows of tiles, which are short and too far apart for the prefetchers of CPUs. Tiles of 4, 8 or 16 pixels.
    pub prefetch: bool,
}

pub const WALKS: &[Walk] =
    &[Walk::blocks(2), Walk { prefetch: true, ..Walk::blocks(2) }, Walk { prefetch: true, ..Walk::blocks(4) }];

/// A tile is fetched so many tiles before its turn. With blocks of two channels of 8 rows these are 32 lines, with four 64: more
/// than an L1 has on their way at one time (10 to 16).
const AHEAD: usize = 2;

impl Walk {
    pub const fn blocks(channel_block: usize) -> Walk {
        Walk { block: ChannelBlock { channel_block }, prefetch: false }
    }

    /// The name under which a tuned variant is recorded, such as `channel_block=4 prefetch=l1`.
    pub fn name(self) -> String {
        format!("{}{}", self.block.name(), if self.prefetch { " prefetch=l1" } else { "" })
    }
}

/// A map as an array of rows of tiles on its grid, of a side that the compiler knows. `HINT` says read or written.
#[derive(Clone, Copy)]
struct Rows<T, const SIDE: usize, const HINT: i32> {
    /// Only its addresses are used, to fetch from them.
    map: *const [T; SIDE],
    prefetch: bool,
    /// Rows of tiles from one plane, and one row of the map, to the next.
    plane: usize,
    stride: usize,
}

impl<T: Copy, const SIDE: usize, const HINT: i32> Rows<T, SIDE, HINT> {
    /// Calls `copy` with the first row of a tile in the map, and its place among packed tiles; `place` gives both for channel 0.
    #[inline(always)]
    fn walk(
        self,
        tiles: usize,
        place: impl Fn(usize) -> (usize, usize),
        channels: Range<usize>,
        mut copy: impl FnMut(usize, usize),
    ) {
        if !self.prefetch {
            for (row, packed) in (0..tiles).map(place) {
                channels.clone().for_each(|channel| copy(row + channel * self.plane, packed + channel));
            }
            return;
        }
        for tile in 0..tiles {
            let (row, packed) = place(tile);
            let (mut later, mut further) = (tile + AHEAD, 0);
            while later >= tiles {
                (later, further) = (later - tiles, further + channels.len());
            }
            // Of the last channels perhaps beyond the map.
            let later = self.map.wrapping_add(place(later).0 + further * self.plane);
            for channel in channels.clone() {
                let rows = later.wrapping_add(channel * self.plane);
                for row in 0..SIDE {
                    stream::prefetch::<_, HINT>(rows.wrapping_add(row * self.stride));
                }
                copy(row + channel * self.plane, packed + channel);
            }
        }
    }
}

/// Calls `run` on each block of planes of `[B,C,H,W]` with its sample and first channel, in parallel where the form says so.
pub(crate) fn each_block<T: Send>(
    form: Form<ChannelBlock>,
    shape: MapShape,
    merged: &mut [T],
    run: impl Fn(usize, usize, &mut [T]) + Sync,
) {
    let (channels, plane) = (shape.channels, shape.plane());
    if let Form::Parallel(config) = form {
        let block = config.shared_block(channels);
        merged.par_chunks_exact_mut(channels * plane).enumerate().for_each(|(sample, map)| {
            let blocks = map.par_chunks_mut(block * plane).enumerate();
            blocks.for_each(|(index, planes)| run(sample, index * block, planes));
        });
    } else {
        let block = if let Form::Fast(config) = form { config.block(channels) } else { channels };
        for (sample, map) in merged.chunks_exact_mut(channels * plane).enumerate() {
            let blocks = map.chunks_mut(block * plane).enumerate();
            blocks.for_each(|(index, planes)| run(sample, index * block, planes));
        }
    }
}

/// The upper left pixel of a tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corner {
    pub y: u32,
    pub x: u32,
}

/// Where the tiles of all samples lie, `[B,K]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Placement<'a> {
    /// By id on the tile grid.
    Indices(&'a [u32]),
    /// By pixel; need not lie on the grid.
    Origins(&'a [Corner]),
}

#[derive(Clone, Copy, Debug)]
pub struct Tiles<'a, T> {
    /// `[B,K,C,t,t]`.
    pub packed: &'a [T],
    /// `[B,K]`.
    pub placement: Placement<'a>,
    pub tile_size: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Overlap {
    Override,
    /// `(1-a) * current + a * new`, each product and the sum rounded to the element type.
    Blend(BlendFactor),
}

/// A factor in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlendFactor(f64);

impl Overlap {
    /// The mode named `override` or `blend`; the factor is checked for both.
    pub fn parse(name: &str, factor: f64) -> Result<Self, KernelError> {
        let blend = Overlap::blend(factor)?;
        match name {
            "override" => Ok(Overlap::Override),
            "blend" => Ok(blend),
            _ => Err(KernelError::OverlapMode(name.to_owned())),
        }
    }

    pub fn blend(factor: f64) -> Result<Self, KernelError> {
        if (0.0..=1.0).contains(&factor) {
            Ok(Overlap::Blend(BlendFactor(factor)))
        } else {
            Err(KernelError::BlendAlpha(factor))
        }
    }
}

impl BlendFactor {
    /// The weights of the current pixel and of the new tile, rounded to the element type.
    pub fn weights<T: Element>(self) -> (T, T) {
        (T::from_f32((1.0 - self.0) as f32), T::from_f32(self.0 as f32))
    }
}

/// The weights of a blend, rounded to the element type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blend<T> {
    keep: T,
    take: T,
}

impl<T: Element> Blend<T> {
    pub(super) fn new(factor: BlendFactor) -> Self {
        let (keep, take) = factor.weights();
        Blend { keep, take }
    }

    #[inline(always)]
    pub(super) fn mix(self, current: T, new: T) -> T {
        let current = T::from_f32(self.keep.to_f32() * current.to_f32());
        let new = T::from_f32(self.take.to_f32() * new.to_f32());
        T::from_f32(current.to_f32() + new.to_f32())
    }
}

impl Placement<'_> {
    pub fn count(&self) -> usize {
        match self {
            Placement::Indices(indices) => indices.len(),
            Placement::Origins(origins) => origins.len(),
        }
    }

    /// Row and column of the upper left pixel of a tile whose placement was checked.
    #[inline(always)]
    pub(crate) fn at(&self, tile: usize, shape: MapShape, tile_size: usize) -> (usize, usize) {
        match self {
            Placement::Indices(indices) => {
                let (index, columns) = (indices[tile] as usize, shape.width / tile_size);
                (index / columns * tile_size, index % columns * tile_size)
            }
            Placement::Origins(origins) => (origins[tile].y as usize, origins[tile].x as usize),
        }
    }

    /// The offset of the first pixel of a checked tile in each plane: the same as [`Self::at`], with one division a tile.
    #[inline(always)]
    pub(crate) fn start(&self, shape: MapShape, tile_size: usize) -> impl Fn(usize) -> usize {
        // A checked grid has 32-bit sides, and one of at least a column.
        let columns = (shape.width / tile_size) as u32;
        move |tile| match self {
            Placement::Indices(indices) => {
                let (row, column) = (indices[tile] / columns, indices[tile] % columns);
                (row as usize * shape.width + column as usize) * tile_size
            }
            Placement::Origins(origins) => origins[tile].y as usize * shape.width + origins[tile].x as usize,
        }
    }

    fn check(&self, shape: MapShape, tile_size: usize) -> Result<(), KernelError> {
        let MapShape { height, width, .. } = shape;
        match self {
            Placement::Indices(indices) => Grid::of_map(shape, tile_size)?.check(indices),
            Placement::Origins(_) if tile_size == 0 => Err(KernelError::TileSize { tile_size, height, width }),
            Placement::Origins(origins) => {
                let leaves = |origin: &&Corner| {
                    (origin.y as usize).saturating_add(tile_size) > height
                        || (origin.x as usize).saturating_add(tile_size) > width
                };
                match origins.iter().find(leaves) {
                    Some(&Corner { y, x }) => Err(KernelError::Origin { y, x, tile_size, height, width }),
                    None => Ok(()),
                }
            }
        }
    }
}

impl<T> Tiles<'_, T> {
    /// Returns the number of tiles of a sample, K.
    pub(super) fn check(&self, shape: MapShape) -> Result<usize, KernelError> {
        shape.check()?;
        let per_sample = per_sample("placement", self.placement.count(), shape.batch)?;
        self.placement.check(shape, self.tile_size)?;
        let expected = self.placement.count() * shape.channels * self.tile_size * self.tile_size;
        check_length("packed", self.packed.len(), expected)?;
        Ok(per_sample)
    }
}

pub fn origins(indices: &[u32], shape: MapShape, tile_size: usize) -> Result<Vec<Corner>, KernelError> {
    let grid = Grid::of_map(shape, tile_size)?;
    grid.check(indices)?;
    // The sides of the map fit 32 bits unless tiles are very large.
    let pixel = |tile: u32| u32::try_from(tile as usize * tile_size).map_err(|_| KernelError::Empty { what: "map" });
    let origin = |&index: &u32| {
        let (row, column) = grid.position(index);
        Ok(Corner { y: pixel(row)?, x: pixel(column)? })
    };
    indices.iter().map(origin).collect()
}

/// Copies `side` rows of `side` pixels; strides are distances of rows. The compiler moves rows of the usual sides in few steps.
#[inline]
pub(super) fn copy_block<T: Copy>(
    source: &[T],
    source_stride: usize,
    target: &mut [T],
    target_stride: usize,
    side: usize,
) {
    match side {
        4 => copy_rows::<T, 4>(source, source_stride, target, target_stride),
        8 => copy_rows::<T, 8>(source, source_stride, target, target_stride),
        16 => copy_rows::<T, 16>(source, source_stride, target, target_stride),
        _ => {
            for row in 0..side {
                let from = &source[row * source_stride..][..side];
                target[row * target_stride..][..side].copy_from_slice(from);
            }
        }
    }
}

#[inline]
fn copy_rows<T: Copy, const SIDE: usize>(source: &[T], source_stride: usize, target: &mut [T], target_stride: usize) {
    for row in 0..SIDE {
        let from = &source[row * source_stride..][..SIDE];
        target[row * target_stride..][..SIDE].copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: MapShape = MapShape { batch: 1, channels: 1, height: 6, width: 4 };

    #[test]
    fn ids_become_origins() {
        let expected = [Corner { y: 4, x: 2 }, Corner { y: 0, x: 0 }];
        assert_eq!(origins(&[5, 0], SHAPE, 2), Ok(expected.to_vec()));
        assert!(origins(&[6], SHAPE, 2).is_err());
        assert!(origins(&[0], SHAPE, 4).is_err());
    }

    #[test]
    fn tiles_must_lie_inside_the_map() {
        let check = |y, x, tile_size: usize, fits: bool| {
            let packed = vec![0.0f32; tile_size * tile_size];
            let origins = [Corner { y, x }];
            let tiles = Tiles { packed: &packed, placement: Placement::Origins(&origins), tile_size };
            assert_eq!(tiles.check(SHAPE).is_ok(), fits, "{tile_size} at {y}, {x}");
        };
        check(2, 0, 4, true);
        check(3, 0, 4, false);
        check(2, 1, 4, false);
        check(5, 3, 1, true);
        check(u32::MAX, 0, 1, false);
        check(0, 0, 0, false);
    }

    #[test]
    fn modes_and_factors_are_checked() {
        assert_eq!(Overlap::parse("override", 0.5), Ok(Overlap::Override));
        assert_eq!(Overlap::parse("blend", 1.5), Err(KernelError::BlendAlpha(1.5)));
        assert!(Overlap::parse("blend", f64::NAN).is_err());
        assert_eq!(Overlap::parse("average", 0.5), Err(KernelError::OverlapMode("average".to_owned())));
    }

    #[test]
    fn a_blend_rounds_each_step_to_the_element_type() {
        let blend = Blend::<half::f16>::new(BlendFactor(0.3));
        let (current, new) = (half::f16::from_f32(0.1), half::f16::from_f32(0.7));
        // `half` itself rounds every operator.
        let expected = half::f16::from_f32(0.7) * current + half::f16::from_f32(0.3) * new;
        assert_eq!(blend.mix(current, new), expected);
    }

    #[test]
    fn a_block_has_a_name_and_never_more_channels_than_the_map() {
        let check = |channel_block, name: &str, block| {
            let config = ChannelBlock { channel_block };
            assert_eq!((config.name().as_str(), config.block(6)), (name, block));
        };
        check(0, "channel_block=all", 6);
        check(4, "channel_block=4", 4);
        check(16, "channel_block=16", 6);
    }

    #[test]
    fn a_block_of_any_side_lands_where_it_should() {
        for side in [1, 3, 4, 8, 16, 17] {
            let source: Vec<u32> = (0..20 * 20).collect();
            let mut target = vec![u32::MAX; 30 * 30];
            copy_block(&source[20 + 2..], 20, &mut target[2 * 30 + 5..], 30, side);
            for (position, &value) in target.iter().enumerate() {
                let (y, x) = (position / 30, position % 30);
                let inside = (2..2 + side).contains(&y) && (5..5 + side).contains(&x);
                let expected = if inside { ((y - 1) * 20 + x - 3) as u32 } else { u32::MAX };
                assert_eq!(value, expected, "side {side}, row {y}, column {x}");
            }
        }
    }
}
