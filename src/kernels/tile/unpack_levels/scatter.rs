//! Writing tiles over planes, pixel by pixel or block of channels by block of channels.

use super::super::super::element::Element;
use super::super::super::shape::MapShape;
use super::super::place::Blend;
use super::super::rows::{copy_block, scatter};
use super::super::{Config, Overlap, Tiles};
use super::Scratch;
use super::application::Applied;
use rayon::prelude::*;

/// Applies tiles pixel by pixel.
pub(super) fn scatter_pixels<T: Element>(
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    overlap: Overlap,
    merged: &mut [T],
    scratch: &Scratch,
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

/// What all blocks of a call share.
#[derive(Clone, Copy)]
pub(super) struct Scatter<'a, T> {
    base: Option<&'a [T]>,
    shape: MapShape,
    packed: &'a [T],
    tile_size: usize,
    blend: Option<Blend<T>>,
    applied: &'a [Applied],
    /// The bits of all places together: a power of two divides this where it divides each.
    all_starts: usize,
}

/// Some planes of one sample, the first of them of `channel`.
struct Block<'a, T> {
    shared: Scatter<'a, T>,
    sample: usize,
    channel: usize,
    planes: &'a mut [T],
}

impl<'a, T: Element> Scatter<'a, T> {
    pub(super) fn new(
        base: Option<&'a [T]>,
        shape: MapShape,
        tiles: &Tiles<'a, T>,
        overlap: Overlap,
        scratch: &'a Scratch,
    ) -> Self {
        let blend = match overlap {
            Overlap::Override => None,
            Overlap::Blend(factor) => Some(Blend::new(factor)),
        };
        let Tiles { packed, tile_size, .. } = *tiles;
        let all_starts = scratch.applied.iter().fold(0, |all, applied| all | applied.start);
        Scatter { base, shape, packed, tile_size, blend, applied: &scratch.applied, all_starts }
    }

    /// Block of channels after block of channels.
    pub(super) fn run(self, config: Config, merged: &mut [T]) {
        let block = config.block(self.shape.channels);
        for (sample, map) in merged.chunks_exact_mut(self.shape.channels * self.shape.plane()).enumerate() {
            for (index, planes) in map.chunks_mut(block * self.shape.plane()).enumerate() {
                Block { shared: self, sample, channel: index * block, planes }.run();
            }
        }
    }

    /// The same on the threads of the current rayon pool, with at least one block for each.
    pub(super) fn run_in_pool(self, config: Config, merged: &mut [T]) {
        let block = config.shared_block(self.shape.channels);
        let samples = merged.par_chunks_exact_mut(self.shape.channels * self.shape.plane());
        samples.enumerate().for_each(|(sample, map)| {
            map.par_chunks_mut(block * self.shape.plane()).enumerate().for_each(|(index, planes)| {
                Block { shared: self, sample, channel: index * block, planes }.run();
            });
        });
    }

    /// The tiles of a sample, in their order.
    fn turns(self, sample: usize) -> &'a [Applied] {
        let per_sample = self.applied.len() / self.shape.batch;
        &self.applied[sample * per_sample..][..per_sample]
    }
}

impl<T: Element> Block<'_, T> {
    /// Copies the base, if there is one, and applies the tiles.
    fn run(self) {
        if let Some(base) = self.shared.base {
            let start = self.shared.shape.at(self.sample, self.channel, 0, 0);
            self.planes.copy_from_slice(&base[start..][..self.planes.len()]);
        }
        match self.shared.tile_size {
            4 => self.apply_rows::<4>(),
            8 => self.apply_rows::<8>(),
            16 => self.apply_rows::<16>(),
            _ => self.apply_any(),
        }
    }

    /// The usual sides, told to the compiler. It asks for tiles that lie on the grid and override, since then a plane
    /// is an array of rows of tiles; other calls go the way of any side.
    fn apply_rows<const SIDE: usize>(self) {
        let Scatter { shape, blend, all_starts, packed, .. } = self.shared;
        if blend.is_some() || !shape.width.is_multiple_of(SIDE) || !all_starts.is_multiple_of(SIDE) {
            return self.apply_any();
        }
        let (plane, stride) = (shape.plane() / SIDE, shape.width / SIDE);
        let (tiles, turns) = (packed.as_chunks::<SIDE>().0.as_chunks::<SIDE>().0, self.shared.turns(self.sample));
        let rows = self.planes.as_chunks_mut::<SIDE>().0;
        let channels = rows.len() / plane;
        // Of tiles in the very same place the last one wins.
        for applied in turns.chunk_by(|a, b| a.start == b.start).filter_map(|same| same.last()) {
            let tile = &tiles[applied.tile * shape.channels + self.channel..][..channels];
            scatter(tile, &mut rows[applied.start / SIDE..], plane, stride);
        }
    }

    fn apply_any(self) {
        let Scatter { shape, tile_size: side, blend, packed, .. } = self.shared;
        let (plane, pixels) = (shape.plane(), side * side);
        let channels = self.planes.len() / plane;
        for applied in self.shared.turns(self.sample) {
            let first = (applied.tile * shape.channels + self.channel) * pixels;
            for (channel, tile) in packed[first..][..channels * pixels].chunks_exact(pixels).enumerate() {
                let target = &mut self.planes[channel * plane + applied.start..];
                match blend {
                    None => copy_block(tile, side, target, shape.width, side),
                    Some(blend) => {
                        for (row, new) in tile.chunks_exact(side).enumerate() {
                            let current = &mut target[row * shape.width..][..side];
                            current.iter_mut().zip(new).for_each(|(pixel, &new)| *pixel = blend.mix(*pixel, new));
                        }
                    }
                }
            }
        }
    }
}
