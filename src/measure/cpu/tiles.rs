//! TilePack, TileUnpack and the fused pack-op-unpack.

use super::check::{Form, Kernel, Runnable};
use super::inputs;
use crate::kernels::KernelError;
use crate::kernels::fused::{self, Affine, Choice};
use crate::kernels::ordering::{self, OrderMode};
use crate::kernels::shape::{Grid, MapShape};
use crate::kernels::tile::{self, Overlap, Placement, Tiles, pack, unpack_levels, unpack_priority};

/// The map of the small profile.
pub(super) const SMALL: MapShape = MapShape { batch: 1, channels: 64, height: 128, width: 128 };
/// The map of the wide profile.
pub(super) const WIDE: MapShape = MapShape { batch: 1, channels: 128, height: 128, width: 128 };
/// Side of a tile of the small profile.
const SMALL_TILE: usize = 16;
/// Side of a tile of the wide profile.
const WIDE_TILE: usize = 8;
/// The tiles of the small profile, in the order in which they are given.
const SMALL_IDS: [u32; 10] = [0, 5, 9, 12, 18, 27, 33, 40, 50, 63];
/// How many tiles the wide profile takes.
const WIDE_TILES: usize = 32;

/// All kernels of this file, at both profiles.
pub(super) fn kernels() -> Vec<Kernel> {
    let kernel = |name, shape, tile: usize, count: usize, extra: &[(&'static str, &str)], make| {
        let mut params = map_params(shape);
        params.extend([("t", tile.to_string()), ("k", count.to_string())]);
        params.extend(extra.iter().map(|(key, value)| (*key, (*value).to_owned())));
        Kernel { name, params, work: ("tiles_per_s", count as f64), tolerance: 0.0, has_fast: true, make }
    };
    let fused = kernel("fused_pack_op_unpack", WIDE, WIDE_TILE, WIDE_TILES, &[], fused_wide);
    vec![
        kernel("tile_pack", SMALL, SMALL_TILE, SMALL_IDS.len(), &[("order", "hilbert")], pack_small),
        kernel("tile_pack", WIDE, WIDE_TILE, WIDE_TILES, &[("order", "given")], pack_wide),
        kernel("tile_unpack", SMALL, SMALL_TILE, SMALL_IDS.len(), &[("by", "priority")], unpack_small),
        kernel("tile_unpack", WIDE, WIDE_TILE, WIDE_TILES, &[("by", "levels")], unpack_wide),
        Kernel { tolerance: 1e-6, ..fused },
    ]
}

/// The shape of a map as parameters.
pub(super) fn map_params(shape: MapShape) -> Vec<(&'static str, String)> {
    vec![
        ("b", shape.batch.to_string()),
        ("c", shape.channels.to_string()),
        ("h", shape.height.to_string()),
        ("w", shape.width.to_string()),
    ]
}

/// Model level: ids are put in Hilbert order, then packed.
fn pack_small(form: Form, seed: u64) -> Result<Runnable, KernelError> {
    let grid = Grid::of_map(SMALL, SMALL_TILE)?;
    let map = inputs::normal(SMALL.elements(), seed);
    let mut ids = SMALL_IDS.to_vec();
    let call = move |packed: &mut [f32]| {
        ids.copy_from_slice(&SMALL_IDS);
        ordering::order_rows(&mut ids, SMALL.batch, grid, OrderMode::Hilbert)?;
        match form {
            Form::Reference => pack::reference(&map, SMALL, SMALL_TILE, &ids, packed),
            Form::Fast => pack::fast(&map, SMALL, SMALL_TILE, &ids, packed),
        }
    };
    Ok(Runnable { length: packed_length(SMALL, SMALL_TILE, SMALL_IDS.len()), call: Box::new(call) })
}

/// Kernel level: ids as given.
fn pack_wide(form: Form, seed: u64) -> Result<Runnable, KernelError> {
    let map = inputs::normal(WIDE.elements(), seed);
    let ids = wide_ids(seed.wrapping_add(1))?;
    let call = move |packed: &mut [f32]| match form {
        Form::Reference => pack::reference(&map, WIDE, WIDE_TILE, &ids, packed),
        Form::Fast => pack::fast(&map, WIDE, WIDE_TILE, &ids, packed),
    };
    Ok(Runnable { length: packed_length(WIDE, WIDE_TILE, WIDE_TILES), call: Box::new(call) })
}

/// Model level: priority 2, override, a fresh priority map a call.
fn unpack_small(form: Form, seed: u64) -> Result<Runnable, KernelError> {
    let base = inputs::normal(SMALL.elements(), seed);
    let packed = inputs::normal(packed_length(SMALL, SMALL_TILE, SMALL_IDS.len()), seed.wrapping_add(1));
    let mut ids = SMALL_IDS.to_vec();
    ordering::order_rows(&mut ids, SMALL.batch, Grid::of_map(SMALL, SMALL_TILE)?, OrderMode::Hilbert)?;
    let origins = tile::origins(&ids, SMALL, SMALL_TILE)?;
    let rule = unpack_priority::Rule { level_priority: 2, overlap: Overlap::Override };
    let mut priority = vec![0_i8; SMALL.pixels()];
    let call = move |merged: &mut [f32]| {
        priority.fill(0);
        let tiles = Tiles { packed: &packed, placement: Placement::Origins(&origins), tile_size: SMALL_TILE };
        match form {
            Form::Reference => unpack_priority::reference(&base, SMALL, &tiles, rule, merged, &mut priority),
            Form::Fast => unpack_priority::fast(&base, SMALL, &tiles, rule, merged, &mut priority),
        }
    };
    Ok(Runnable { length: SMALL.elements(), call: Box::new(call) })
}

/// Kernel level: random levels, override.
fn unpack_wide(form: Form, seed: u64) -> Result<Runnable, KernelError> {
    let base = inputs::normal(WIDE.elements(), seed);
    let packed = inputs::normal(packed_length(WIDE, WIDE_TILE, WIDE_TILES), seed.wrapping_add(1));
    let ids = wide_ids(seed.wrapping_add(2))?;
    let levels = inputs::levels(WIDE_TILES, seed.wrapping_add(3));
    let mut scratch = unpack_levels::Scratch::default();
    let call = move |merged: &mut [f32]| {
        let tiles = Tiles { packed: &packed, placement: Placement::Indices(&ids), tile_size: WIDE_TILE };
        let overlap = Overlap::Override;
        let rule = unpack_levels::Rule { levels: Some(&levels), assume_priority_sorted: false, overlap };
        match form {
            Form::Reference => unpack_levels::reference(&base, WIDE, &tiles, rule, merged, &mut scratch),
            Form::Fast => unpack_levels::fast(&base, WIDE, &tiles, rule, merged, &mut scratch),
        }
    };
    Ok(Runnable { length: WIDE.elements(), call: Box::new(call) })
}

fn fused_wide(form: Form, seed: u64) -> Result<Runnable, KernelError> {
    let map = inputs::normal(WIDE.elements(), seed);
    let ids = wide_ids(seed.wrapping_add(1))?;
    let affine = Affine::default();
    let mut scratch = fused::Scratch::default();
    let call = move |merged: &mut [f32]| {
        let choice = Choice { indices: &ids, tile_size: WIDE_TILE, require_unique: true };
        match form {
            Form::Reference => fused::reference(&map, WIDE, &choice, &affine, merged, &mut scratch),
            Form::Fast => fused::fast(&map, WIDE, &choice, &affine, merged, &mut scratch),
        }
    };
    Ok(Runnable { length: WIDE.elements(), call: Box::new(call) })
}

fn wide_ids(seed: u64) -> Result<Vec<u32>, KernelError> {
    Ok(inputs::tile_ids(Grid::of_map(WIDE, WIDE_TILE)?.tiles(), WIDE_TILES, seed))
}

fn packed_length(shape: MapShape, tile_size: usize, tiles: usize) -> usize {
    shape.batch * tiles * shape.channels * tile_size * tile_size
}
