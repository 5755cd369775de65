//! TilePack, TileUnpack and the fused pack-op-unpack.

use super::check::{CpuKernel, Form, Make, MakeError, Runnable, names};
use super::inputs;
use crate::buffer::Buffer;
use crate::calibration::Calibration;
use crate::workload::{Class, Limit};
use sprag_kernels::KernelError;
use sprag_kernels::fused::{self, Affine, Choice};
use sprag_kernels::ordering::{self, OrderMode};
use sprag_kernels::shape::{Grid, MapShape};
use sprag_kernels::tile::{self, Overlap, Placement, TileConfig, Tiles, pack, unpack_levels, unpack_priority};

pub(super) const SMALL: MapShape = MapShape { batch: 1, channels: 64, height: 128, width: 128 };
pub(super) const WIDE: MapShape = MapShape { batch: 1, channels: 128, height: 128, width: 128 };
/// Side of a tile of the small profile.
const SMALL_TILE: usize = 16;
const WIDE_TILE: usize = 8;
/// The tiles of the small profile, in the order in which they are given.
const SMALL_IDS: [u32; 10] = [0, 5, 9, 12, 18, 27, 33, 40, 50, 63];
const WIDE_TILES: usize = 32;

/// Up to this size of what is moved, the caches of a core hold both sides of it.
const CACHED_BYTES: usize = 2 << 20;

pub(super) fn kernels() -> Vec<CpuKernel> {
    // Packing moves the bytes of the tiles, unpacking into a copy those of the map.
    let kernel = |name, shape, tile: usize, count: usize, extra: &[(&'static str, &str)], bytes: usize, make| {
        let mut params = map_params(shape);
        params.extend([("t", tile.to_string()), ("k", count.to_string())]);
        params.extend(extra.iter().map(|(key, value)| (*key, (*value).to_owned())));
        CpuKernel {
            name,
            params,
            work: ("tiles_per_s", count as f64),
            tolerance: 0.0,
            forms: &[Form::Reference, Form::Fast],
            class: if bytes <= CACHED_BYTES { Class::Cache } else { Class::Dram },
            companion: Calibration::Copy { bytes },
            limit: Some(Limit { kernel: Calibration::Copy { bytes }, bytes: 2.0 * bytes as f64 }),
            configurations: names(pack::CANDIDATES, TileConfig::name),
            make,
        }
    };
    let small_tiles = packed_length(SMALL, SMALL_TILE, SMALL_IDS.len()) * size_of::<f32>();
    let wide_tiles = packed_length(WIDE, WIDE_TILE, WIDE_TILES) * size_of::<f32>();
    let wide = |name, extra, bytes, make| CpuKernel {
        forms: &[Form::Reference, Form::Fast, Form::TwoThreads],
        ..kernel(name, WIDE, WIDE_TILE, WIDE_TILES, extra, bytes, make)
    };
    let small = |name, extra, bytes, make| kernel(name, SMALL, SMALL_TILE, SMALL_IDS.len(), extra, bytes, make);
    let unpack = || names(unpack_levels::CANDIDATES, TileConfig::name);
    vec![
        small("tile_pack", &[("order", "hilbert")], small_tiles, pack_small),
        wide("tile_pack", &[("order", "given")], wide_tiles, pack_wide),
        CpuKernel {
            configurations: Vec::new(),
            ..small("tile_unpack", &[("by", "priority")], map_bytes(SMALL), unpack_small)
        },
        CpuKernel {
            configurations: unpack(),
            ..wide("tile_unpack", &[("by", "levels")], map_bytes(WIDE), unpack_wide)
        },
        CpuKernel {
            configurations: unpack(),
            ..wide("tile_unpack_in_place", &[("by", "levels")], wide_tiles, unpack_wide_in_place)
        },
        CpuKernel {
            tolerance: 1e-6,
            configurations: names(fused::CANDIDATES, TileConfig::name),
            ..wide("fused_pack_op_unpack", &[], map_bytes(WIDE), fused_wide)
        },
    ]
}

pub(super) fn map_params(shape: MapShape) -> Vec<(&'static str, String)> {
    vec![
        ("b", shape.batch.to_string()),
        ("c", shape.channels.to_string()),
        ("h", shape.height.to_string()),
        ("w", shape.width.to_string()),
    ]
}

/// Model level: ids are put in Hilbert order, then packed.
fn pack_small(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    let Make { form, seed, .. } = *wanted;
    let config = wanted.configured(pack::CANDIDATES, TileConfig::name)?;
    let grid = Grid::of_map(SMALL, SMALL_TILE)?;
    let map = inputs::normal(SMALL.elements(), seed);
    let mut ids = SMALL_IDS.to_vec();
    let length = packed_length(SMALL, SMALL_TILE, SMALL_IDS.len());
    Runnable::new(length, move |packed| {
        ids.copy_from_slice(&SMALL_IDS);
        ordering::order_rows(&mut ids, SMALL.batch, grid, OrderMode::Hilbert)?;
        match form {
            Form::Reference => pack::reference(&map, SMALL, SMALL_TILE, &ids, packed),
            Form::Fast | Form::TwoThreads => pack::tuned(config, &map, SMALL, SMALL_TILE, &ids, packed),
        }
    })
}

/// Kernel level: ids as given.
fn pack_wide(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    let Make { form, seed, .. } = *wanted;
    let (config, pool) = (wanted.configured(pack::CANDIDATES, TileConfig::name)?, wanted.pool()?);
    let map = inputs::normal(WIDE.elements(), seed);
    let ids = wide_ids(WIDE_TILES, seed.wrapping_add(1))?;
    Runnable::new(packed_length(WIDE, WIDE_TILE, WIDE_TILES), move |packed| {
        let map: &[f32] = &map;
        match (form, &pool) {
            (Form::Reference, _) => pack::reference(map, WIDE, WIDE_TILE, &ids, packed),
            (_, None) => pack::tuned(config, map, WIDE, WIDE_TILE, &ids, packed),
            (_, Some(pool)) => pool.install(|| pack::parallel(config, map, WIDE, WIDE_TILE, &ids, packed)),
        }
    })
}

/// Model level: priority 2, override, a fresh priority map a call.
fn unpack_small(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    let Make { form, seed, .. } = *wanted;
    let base = inputs::normal(SMALL.elements(), seed);
    let packed = inputs::normal(packed_length(SMALL, SMALL_TILE, SMALL_IDS.len()), seed.wrapping_add(1));
    let mut ids = SMALL_IDS.to_vec();
    ordering::order_rows(&mut ids, SMALL.batch, Grid::of_map(SMALL, SMALL_TILE)?, OrderMode::Hilbert)?;
    let origins = tile::origins(&ids, SMALL, SMALL_TILE)?;
    let rule = unpack_priority::PriorityRule { level_priority: 2, overlap: Overlap::Override };
    let mut priority = vec![0_i8; SMALL.pixels()];
    Runnable::new(SMALL.elements(), move |merged| {
        priority.fill(0);
        let tiles = Tiles { packed: &packed, placement: Placement::Origins(&origins), tile_size: SMALL_TILE };
        match form {
            Form::Reference => unpack_priority::reference(&base, SMALL, &tiles, rule, merged, &mut priority),
            Form::Fast | Form::TwoThreads => unpack_priority::fast(&base, SMALL, &tiles, rule, merged, &mut priority),
        }
    })
}

/// Kernel level: random levels, override.
fn unpack_wide(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    let Make { form, seed, .. } = *wanted;
    let (config, pool) = (wanted.configured(unpack_levels::CANDIDATES, TileConfig::name)?, wanted.pool()?);
    let base = inputs::normal(WIDE.elements(), seed);
    let given = LevelTiles::new(seed)?;
    let mut scratch = unpack_levels::Scratch::default();
    Runnable::new(WIDE.elements(), move |merged| {
        let (base, tiles, rule): (&[f32], _, _) = (&base, given.tiles(), given.rule());
        match (form, &pool) {
            (Form::Reference, _) => unpack_levels::reference(base, WIDE, &tiles, rule, merged, &mut scratch),
            (_, None) => unpack_levels::tuned(config, base, WIDE, &tiles, rule, merged, &mut scratch),
            (_, Some(pool)) => {
                pool.install(|| unpack_levels::parallel(config, base, WIDE, &tiles, rule, merged, &mut scratch))
            }
        }
    })
}

fn unpack_wide_in_place(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    let Make { form, seed, .. } = *wanted;
    let (config, pool) = (wanted.configured(unpack_levels::CANDIDATES, TileConfig::name)?, wanted.pool()?);
    let given = LevelTiles::new(seed)?;
    let mut scratch = unpack_levels::Scratch::default();
    let made = Runnable::new(WIDE.elements(), move |merged| {
        let (tiles, rule) = (given.tiles(), given.rule());
        match (form, &pool) {
            (Form::Reference, _) => unpack_levels::reference_in_place(WIDE, &tiles, rule, merged, &mut scratch),
            (_, None) => unpack_levels::tuned_in_place(config, WIDE, &tiles, rule, merged, &mut scratch),
            (_, Some(pool)) => {
                pool.install(|| unpack_levels::parallel_in_place(config, WIDE, &tiles, rule, merged, &mut scratch))
            }
        }
    })?;
    Ok(Runnable { before: Some(inputs::normal(WIDE.elements(), seed)), ..made })
}

/// Tiles of the wide profile with random levels.
struct LevelTiles {
    packed: Buffer,
    ids: Vec<u32>,
    levels: Vec<i32>,
}

impl LevelTiles {
    fn new(seed: u64) -> Result<LevelTiles, MakeError> {
        Ok(LevelTiles {
            packed: inputs::normal(packed_length(WIDE, WIDE_TILE, WIDE_TILES), seed.wrapping_add(1)),
            ids: wide_ids(WIDE_TILES, seed.wrapping_add(2))?,
            levels: inputs::levels(WIDE_TILES, seed.wrapping_add(3)),
        })
    }

    fn tiles(&self) -> Tiles<'_, f32> {
        Tiles { packed: &self.packed, placement: Placement::Indices(&self.ids), tile_size: WIDE_TILE }
    }

    fn rule(&self) -> unpack_levels::LevelsRule<'_> {
        let overlap = Overlap::Override;
        unpack_levels::LevelsRule { levels: Some(&self.levels), assume_priority_sorted: false, overlap }
    }
}

fn fused_wide(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    let Make { form, seed, .. } = *wanted;
    let (config, pool) = (wanted.configured(fused::CANDIDATES, TileConfig::name)?, wanted.pool()?);
    let map = inputs::normal(WIDE.elements(), seed);
    let ids = wide_ids(WIDE_TILES, seed.wrapping_add(1))?;
    let affine = Affine::default();
    let mut scratch = fused::Scratch::default();
    Runnable::new(WIDE.elements(), move |merged| {
        let map: &[f32] = &map;
        let choice = Choice { indices: &ids, tile_size: WIDE_TILE, require_unique: true };
        match (form, &pool) {
            (Form::Reference, _) => fused::reference(map, WIDE, &choice, &affine, merged, &mut scratch),
            (_, None) => fused::tuned(config, map, WIDE, &choice, &affine, merged, &mut scratch),
            (_, Some(pool)) => {
                pool.install(|| fused::parallel(config, map, WIDE, &choice, &affine, merged, &mut scratch))
            }
        }
    })
}

fn wide_ids(count: usize, seed: u64) -> Result<Vec<u32>, KernelError> {
    Ok(inputs::tile_ids(Grid::of_map(WIDE, WIDE_TILE)?.tiles(), count, seed))
}

pub(super) fn map_bytes(shape: MapShape) -> usize {
    shape.elements() * size_of::<f32>()
}

fn packed_length(shape: MapShape, tile_size: usize, tiles: usize) -> usize {
    shape.batch * tiles * shape.channels * tile_size * tile_size
}
