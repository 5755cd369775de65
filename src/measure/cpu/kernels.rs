//! Every kernel of the suite, declared once: TilePack, TileUnpack, the fused pack-op-unpack, FusionGate, the TileSSM scan,
//! the small inference model, and the feature-fusion module end to end.

use super::check::{CpuKernel, Make, MakeError, Maker, Runnable, names, normal, tile_ids, uniform};
use crate::memory::Buffer;
use crate::workload::{Calibrator, Class, Limit, Tiling};
use sprag_base::stats::random::SplitMix64;
use sprag_kernels::ff::{self, FfConfig, FfParameters, Outputs, Proxy, Workspace};
use sprag_kernels::fused::{self, Affine, FusedChoice};
use sprag_kernels::fusion::{self, Mix, Stores};
use sprag_kernels::infer::{self, Model};
use sprag_kernels::ordering::{self, OrderMode};
use sprag_kernels::scan::{self, DEFAULT_CLAMP, ScanOrder, ScanShape};
use sprag_kernels::shape::{Grid, MapShape};
use sprag_kernels::tile::{self, ChannelBlock, Overlap, Placement, Tiles, Walk, pack, unpack_levels, unpack_priority};
use sprag_kernels::{Form, KernelError};

const SMALL: MapShape = MapShape { batch: 1, channels: 64, height: 128, width: 128 };
const WIDE: MapShape = MapShape { batch: 1, channels: 128, height: 128, width: 128 };
const IMAGE: MapShape = MapShape { batch: 1, channels: 3, height: 128, width: 128 };
const SCAN: ScanShape = ScanShape { batch: 1, steps: 256, channels: 128 };

/// Side of a tile of the small profile, and of the wide one.
const SMALL_TILE: usize = 16;
const WIDE_TILE: usize = 8;

const SMALL_IDS: [u32; 10] = [0, 5, 9, 12, 18, 27, 33, 40, 50, 63];
const WIDE_TILES: usize = 32;

/// Data up to this size fits the caches of a core twice.
const CACHED_BYTES: usize = 2 << 20;

const FF: FfConfig = FfConfig {
    tile_size_l0: 16,
    tile_size_l1: 8,
    kmax_l0: 32,
    kmax_l1: 64,
    budget_b1: 16.0,
    budget_b2: 8.0,
    cost_heavy: 1.0,
    cost_cheap: 0.2,
    split_overhead: 1.0,
};

const ONE_THREAD: &[Form<()>] = &[Form::Reference, Form::Fast(())];
const UP_TO_TWO: &[Form<()>] = &[Form::Reference, Form::Fast(()), Form::Parallel(())];

/// All kernels, in the order in which tables list them.
pub(super) fn kernels() -> Vec<CpuKernel> {
    [tiles(), maps(), models()].concat()
}

fn tiles() -> Vec<CpuKernel> {
    // Packing and unpacking in place move the bytes of the tiles; unpacking into a copy moves those of the map.
    let kernel = |name,
                  shape: MapShape,
                  tile: usize,
                  count: usize,
                  extra: &[(&'static str, &str)],
                  companion: Calibrator,
                  make: Maker| {
        let bytes = (companion.bytes_moved() / 2.0) as usize;
        let mut params = shape.params();
        params.extend([("t", tile.to_string()), ("k", count.to_string())]);
        params.extend(extra.iter().map(|(key, value)| (*key, (*value).to_owned())));
        CpuKernel {
            name,
            params,
            // Version 2 of TilePack and TileUnpack in place: the ratio is to a copy of tiles, not to a plain one.
            version: if matches!(companion, Calibrator::Copy { .. }) { 1 } else { 2 },
            work: ("tiles_per_s", count as f64),
            tolerance: 0.0,
            forms: ONE_THREAD,
            class: if bytes <= CACHED_BYTES { Class::Cache } else { Class::Dram },
            companion,
            limit: Some(Limit { kernel: companion, bytes: companion.bytes_moved() }),
            configurations: names(pack::CANDIDATES, Walk::name),
            make,
        }
    };
    let tiling = |shape: MapShape, side: usize, count: usize| {
        let bytes = packed_length(shape, side, count) * size_of::<f32>();
        Tiling { bytes, map: map_bytes(shape), width: shape.width, side }
    };
    let small_tiles = Calibrator::Gather(tiling(SMALL, SMALL_TILE, SMALL_IDS.len()));
    let wide_tiles = tiling(WIDE, WIDE_TILE, WIDE_TILES);
    let copy = |shape| Calibrator::Copy { bytes: map_bytes(shape) };
    let wide = |name, extra: &[(&'static str, &str)], companion, make: Maker| CpuKernel {
        forms: UP_TO_TWO,
        ..kernel(name, WIDE, WIDE_TILE, WIDE_TILES, extra, companion, make)
    };
    let small = |name, extra, companion, make| kernel(name, SMALL, SMALL_TILE, SMALL_IDS.len(), extra, companion, make);
    let unpack = || names(unpack_levels::CANDIDATES, Walk::name);
    let unpack_in_place = |make: &Make| unpack_wide(make, true);
    vec![
        small("tile_pack", &[("order", "hilbert")], small_tiles, pack_small),
        wide("tile_pack", &[("order", "given")], Calibrator::Gather(wide_tiles), pack_wide),
        CpuKernel {
            configurations: Vec::new(),
            ..small("tile_unpack", &[("by", "priority")], copy(SMALL), unpack_small)
        },
        CpuKernel {
            configurations: unpack(),
            ..wide("tile_unpack", &[("by", "levels")], copy(WIDE), |make| unpack_wide(make, false))
        },
        CpuKernel {
            configurations: unpack(),
            ..wide("tile_unpack_in_place", &[("by", "levels")], Calibrator::Scatter(wide_tiles), unpack_in_place)
        },
        CpuKernel {
            tolerance: 1e-6,
            configurations: names(fused::CANDIDATES, ChannelBlock::name),
            ..wide("fused_pack_op_unpack", &[], copy(WIDE), fused_wide)
        },
    ]
}

fn maps() -> Vec<CpuKernel> {
    let gate = |shape: MapShape, forms, make| CpuKernel {
        name: "fusion_gate",
        params: shape.params(),
        version: 1,
        work: ("elements_per_s", shape.elements() as f64),
        tolerance: 2e-6,
        forms,
        class: Class::Dram,
        companion: Calibrator::Triad { bytes: map_bytes(shape) },
        limit: Some(Limit {
            kernel: Calibrator::Triad { bytes: map_bytes(shape) },
            bytes: 3.0 * map_bytes(shape) as f64 + 3.0 * (shape.pixels() * size_of::<f32>()) as f64,
        }),
        configurations: names(fusion::CANDIDATES, Stores::name),
        make,
    };
    let bytes = SCAN.elements() * size_of::<f32>();
    let scan = CpuKernel {
        name: "tile_ssm_scan",
        params: vec![
            ("b", SCAN.batch.to_string()),
            ("c", SCAN.channels.to_string()),
            ("steps", SCAN.steps.to_string()),
            ("direction", "forward".to_owned()),
        ],
        version: 1,
        work: ("tokens_per_s", (SCAN.batch * SCAN.steps) as f64),
        tolerance: 1e-5,
        forms: UP_TO_TWO,
        class: Class::Compute,
        companion: Calibrator::MultiplyAdd,
        limit: Some(Limit { kernel: Calibrator::Copy { bytes }, bytes: 2.0 * bytes as f64 }),
        configurations: names(scan::CANDIDATES, ChannelBlock::name),
        make: scan_forward,
    };
    vec![
        gate(SMALL, ONE_THREAD, |make| fusion_gate(SMALL, make)),
        gate(WIDE, UP_TO_TWO, |make| fusion_gate(WIDE, make)),
        scan,
    ]
}

fn models() -> Vec<CpuKernel> {
    let mut ff_params = WIDE.params();
    ff_params.push(("kmax", FF.kmax_l0.to_string()));
    let infer = CpuKernel {
        name: "infer",
        params: IMAGE.params(),
        version: 1,
        work: ("frames_per_s", 1.0),
        tolerance: 0.0,
        forms: ONE_THREAD,
        class: Class::Compute,
        companion: Calibrator::MultiplyAdd,
        limit: None,
        configurations: Vec::new(),
        make: infer_model,
    };
    let ff_path = CpuKernel {
        name: "ff_path",
        params: ff_params,
        tolerance: 2e-4,
        class: Class::Dram,
        companion: Calibrator::Copy { bytes: map_bytes(WIDE) },
        make: ff_path,
        ..infer.clone()
    };
    vec![infer, ff_path]
}

fn map_bytes(shape: MapShape) -> usize {
    shape.elements() * size_of::<f32>()
}

fn packed_length(shape: MapShape, tile_size: usize, tiles: usize) -> usize {
    shape.batch * tiles * shape.channels * tile_size * tile_size
}

fn wide_ids(tiles: usize, seed: u64) -> Result<Vec<u32>, KernelError> {
    Ok(tile_ids(Grid::of_map(WIDE, WIDE_TILE)?.tiles(), tiles, seed))
}

/// Model level: ids are sorted in Hilbert order, then packed.
fn pack_small(make: &Make<'_>) -> Result<Runnable, MakeError> {
    let form = make.configured(pack::CANDIDATES, Walk::name)?;
    let grid = Grid::of_map(SMALL, SMALL_TILE)?;
    let map = normal(SMALL.elements(), make.seed);
    let mut ids = SMALL_IDS;
    Runnable::new(packed_length(SMALL, SMALL_TILE, SMALL_IDS.len()), move |packed| {
        ids.copy_from_slice(&SMALL_IDS);
        ordering::order_rows(&mut ids, SMALL.batch, grid, OrderMode::Hilbert)?;
        pack::run(form, &map, SMALL, SMALL_TILE, &ids, packed)
    })
}

/// Kernel level: ids as given.
fn pack_wide(make: &Make<'_>) -> Result<Runnable, MakeError> {
    let form = make.configured(pack::CANDIDATES, Walk::name)?;
    let map = normal(WIDE.elements(), make.seed);
    let ids = wide_ids(WIDE_TILES, make.seed.wrapping_add(1))?;
    Runnable::new(packed_length(WIDE, WIDE_TILE, WIDE_TILES), move |packed| {
        pack::run(form, &map, WIDE, WIDE_TILE, &ids, packed)
    })
}

/// Model level: priority 2, override, a fresh priority map for each call.
fn unpack_small(make: &Make<'_>) -> Result<Runnable, MakeError> {
    let (form, seed) = (make.form, make.seed);
    let base = normal(SMALL.elements(), seed);
    let packed = normal(packed_length(SMALL, SMALL_TILE, SMALL_IDS.len()), seed.wrapping_add(1));
    let mut ids = SMALL_IDS.to_vec();
    ordering::order_rows(&mut ids, SMALL.batch, Grid::of_map(SMALL, SMALL_TILE)?, OrderMode::Hilbert)?;
    let origins = tile::origins(&ids, SMALL, SMALL_TILE)?;
    let rule = unpack_priority::PriorityRule { level_priority: 2, overlap: Overlap::Override };
    let mut priority = vec![0_i8; SMALL.pixels()];
    Runnable::new(SMALL.elements(), move |merged| {
        priority.fill(0);
        let tiles = Tiles { packed: &packed, placement: Placement::Origins(&origins), tile_size: SMALL_TILE };
        unpack_priority::run(form, &base, SMALL, &tiles, rule, merged, &mut priority)
    })
}

/// Kernel level: random levels, override.
fn unpack_wide(make: &Make<'_>, in_place: bool) -> Result<Runnable, MakeError> {
    let (form, seed) = (make.configured(unpack_levels::CANDIDATES, Walk::name)?, make.seed);
    let map = normal(WIDE.elements(), seed);
    let (base, before) = if in_place { (None, Some(map)) } else { (Some(map), None) };
    let packed = normal(packed_length(WIDE, WIDE_TILE, WIDE_TILES), seed.wrapping_add(1));
    let ids = wide_ids(WIDE_TILES, seed.wrapping_add(2))?;
    let mut random = SplitMix64::new(seed.wrapping_add(3));
    let levels: Vec<i32> = (0..WIDE_TILES).map(|_| random.below(3) as i32).collect();
    let mut scratch = unpack_levels::UnpackScratch::default();
    let made = Runnable::new(WIDE.elements(), move |merged| {
        let tiles = Tiles { packed: &packed, placement: Placement::Indices(&ids), tile_size: WIDE_TILE };
        let rule = unpack_levels::LevelsRule {
            levels: Some(&levels),
            assume_priority_sorted: false,
            overlap: Overlap::Override,
        };
        unpack_levels::run(form, base.as_deref(), WIDE, &tiles, rule, merged, &mut scratch)
    })?;
    Ok(Runnable { before, ..made })
}

fn fused_wide(make: &Make<'_>) -> Result<Runnable, MakeError> {
    let form = make.configured(fused::CANDIDATES, ChannelBlock::name)?;
    let map = normal(WIDE.elements(), make.seed);
    let ids = wide_ids(WIDE_TILES, make.seed.wrapping_add(1))?;
    let mut scratch = fused::Scratch::default();
    Runnable::new(WIDE.elements(), move |merged| {
        let choice = FusedChoice { indices: &ids, tile_size: WIDE_TILE, require_unique: true };
        fused::run(form, &map, WIDE, &choice, &Affine::default(), merged, &mut scratch)
    })
}

fn fusion_gate(shape: MapShape, make: &Make<'_>) -> Result<Runnable, MakeError> {
    let (form, seed) = (make.configured(fusion::CANDIDATES, Stores::name)?, make.seed);
    let base = normal(shape.elements(), seed);
    let detail = normal(shape.elements(), seed.wrapping_add(1));
    let boundary = uniform(shape.pixels(), 0.0, 1.0, seed.wrapping_add(2));
    let uncertainty = uniform(shape.pixels(), 0.0, 1.0, seed.wrapping_add(3));
    Runnable::new(shape.pixels() + shape.elements(), move |output| {
        let (alpha, fused) = output.split_at_mut(shape.pixels());
        let inputs: fusion::FusionInputs<'_, f32> =
            fusion::FusionInputs { base: &base, detail: &detail, boundary: &boundary, uncertainty: &uncertainty };
        fusion::run(form, &inputs, shape, &Mix::default(), alpha, fused)
    })
}

fn scan_forward(make: &Make<'_>) -> Result<Runnable, MakeError> {
    let (form, seed) = (make.configured(scan::CANDIDATES, ChannelBlock::name)?, make.seed);
    let tokens = normal(SCAN.elements(), seed);
    let of_channel = |low, high, offset: u64| uniform(SCAN.channels, low, high, seed.wrapping_add(offset));
    let (decay, input_gain, output_gain) =
        (of_channel(0.1, 0.9, 7), of_channel(0.05, 1.55, 8), of_channel(0.05, 1.55, 9));
    let state_bias: Vec<f32> = normal(SCAN.channels, seed.wrapping_add(10)).iter().map(|value| 0.1 * value).collect();
    let mut scratch = scan::Buffers::default();
    Runnable::new(SCAN.elements() + SCAN.states(), move |output| {
        let (y, final_state) = output.split_at_mut(SCAN.elements());
        let inputs = scan::ScanInputs { tokens: &tokens, shape: SCAN, init_state: None, clamp: DEFAULT_CLAMP };
        let parameters = scan::Recurrence {
            decay: &decay,
            input_gain: &input_gain,
            output_gain: &output_gain,
            state_bias: &state_bias,
        };
        scan::run(form, &inputs, &ScanOrder::Forward(parameters), y, final_state, &mut scratch)
    })
}

/// A check makes a new model, so its hysteresis starts from nothing; timed calls carry it on, as in use.
fn infer_model(make: &Make<'_>) -> Result<Runnable, MakeError> {
    let image = uniform(IMAGE.elements(), 0.0, 1.0, make.seed);
    let mut model = Model::new(IMAGE)?;
    let form = make.form;
    let length = infer::run(form, &image, &mut model)?.merged.len();
    Runnable::new(length, move |output| {
        output.copy_from_slice(&infer::run(form, &image, &mut model)?.merged);
        Ok(())
    })
}

fn ff_path(make: &Make<'_>) -> Result<Runnable, MakeError> {
    let (form, seed) = (make.form, make.seed);
    let tiles = Grid::of_map(WIDE, FF.tile_size_l0)?.tiles() as usize;
    let dense = normal(WIDE.elements(), seed.wrapping_add(101));
    let utilities = normal(tiles, seed.wrapping_add(102));
    let split_utilities = normal(tiles, seed.wrapping_add(103));
    let boundary = uniform(WIDE.pixels(), 0.0, 1.0, seed.wrapping_add(104));
    let uncertainty = uniform(WIDE.pixels(), 0.0, 1.0, seed.wrapping_add(105));
    let parameters = ff_parameters(seed.wrapping_add(17))?;
    let (mut outputs, mut workspace) = (Outputs::default(), Workspace::default());
    Runnable::new(WIDE.elements(), move |output| {
        let proxy = |values| Some(Proxy { values, height: WIDE.height, width: WIDE.width });
        let inputs = ff::FfInputs {
            dense: &dense,
            shape: WIDE,
            utilities: &utilities,
            split_utilities: Some(&split_utilities),
            boundary: proxy(&boundary),
            uncertainty: proxy(&uncertainty),
        };
        ff::run(form, &inputs, &FF, &parameters, &mut outputs, &mut workspace)?;
        output.copy_from_slice(&outputs.heavy_features);
        Ok(())
    })
}

/// Weights that leave activations near one: uniform within ± 1 / sqrt(inputs of the layer). The scales of norms are one;
/// parameters that a fresh module starts at zero are zero.
fn ff_parameters(seed: u64) -> Result<FfParameters, KernelError> {
    let shapes = ff::tensors(WIDE.channels);
    FfParameters::read(WIDE.channels, |name| {
        let position = shapes.iter().position(|shape| shape.name == name)?;
        let shape = &shapes[position];
        let fan_in: usize = shape.shape.iter().skip(1).product();
        let weights =
            |bound: f64| -> Buffer { uniform(shape.elements(), -bound, bound, seed.wrapping_add(position as u64)) };
        Some(match () {
            () if name.ends_with("norm.weight") || name.contains("log_weight") => vec![1.0; shape.elements()],
            () if name.ends_with(".weight") => weights(1.0 / (fan_in as f64).sqrt()).to_vec(),
            () => vec![0.0; shape.elements()],
        })
    })
}
