//! The feature-fusion module end to end: tiles chosen on the host, then a coarse and, on its result, a fine path on the device.

use std::rc::Rc;

use crate::gpu::operation::kernel::{
    Call, Code, LaunchConfig, Operation, PLAIN_BLOCK as BLOCK, ProgramBuilder, TileSelection, arguments,
    elements_at_once, int, kernel, long, optional,
};
use crate::gpu::operation::tiled::IDS_SEED;
use crate::gpu::operation::{ExpectedBuffer, GpuForm, HostInputs};
use crate::gpu::program::{Argument, Content, Data, DeviceProgram, Dtype};
use crate::gpu::settings::{GpuSettings, Profile};
use sprag_base::stats::random::SplitMix64;
use sprag_kernels::ff::{self, Chosen, FfConfig, FfParameters, Outputs, PathParameters, Proxy, Workspace};
use sprag_kernels::fusion::softplus;
use sprag_kernels::ordering::{OrderMode, order};
use sprag_kernels::scan::DEFAULT_CLAMP;
use sprag_kernels::shape::{Grid, MapShape};

/// Offsets of the seeds of utilities and parameters from that of a call, as in Apex-X's suite.
const UTILITIES_SEED: u64 = 102;
const SPLIT_UTILITIES_SEED: u64 = 103;
const PARAMETERS_SEED: u64 = 17;

/// With more channels, tokens and the smallest part of a tile do not fit the shared memory of a block.
const MOST_CHANNELS: usize = 2048;

/// A map and the tiles that are computed heavily. Made by [`FfPath::new`], which checks it.
#[derive(Clone, Debug, PartialEq)]
pub struct FfPath {
    map: MapShape,
    config: FfConfig,
    seed: u64,
    utilities: Vec<f32>,
    split_utilities: Vec<f32>,
    selection: TileSelection,
}

/// The costs and tile sizes of the module, with twice as many fine tiles as coarse ones.
pub fn config(kmax: usize, budget_b1: f64, budget_b2: f64) -> FfConfig {
    FfConfig {
        tile_size_l0: 16,
        tile_size_l1: 8,
        kmax_l0: kmax,
        kmax_l1: kmax.saturating_mul(2),
        budget_b1,
        budget_b2,
        cost_heavy: 1.0,
        cost_cheap: 0.2,
        split_overhead: 1.0,
    }
}

impl FfPath {
    /// A call whose utilities and parameters follow from `seed`.
    pub fn new(map: MapShape, config: FfConfig, seed: u64) -> Result<Self, String> {
        if !(1..=MOST_CHANNELS).contains(&map.channels) {
            return Err(format!("a map has {} channels, from 1 to {MOST_CHANNELS} can be computed", map.channels));
        }
        if config.tile_size_l0 != config.tile_size_l1 * 2 {
            return Err(format!("tiles of {} pixels are not split in two", config.tile_size_l0));
        }
        let tiles = Grid::of_map(map, config.tile_size_l0).map_err(|error| error.to_string())?.tiles() as usize;
        let normal = |offset: u64| {
            let mut random = SplitMix64::new(seed.wrapping_add(offset));
            (0..map.batch * tiles).map(|_| random.normal() as f32).collect()
        };
        let (utilities, split_utilities) = (normal(UTILITIES_SEED), normal(SPLIT_UTILITIES_SEED));
        let mut path = FfPath { map, config, seed, utilities, split_utilities, selection: TileSelection::default() };
        path.selection = path.select()?;
        Ok(path)
    }

    /// Chooses the tiles, as each call of the whole module does on the host.
    fn select(&self) -> Result<TileSelection, String> {
        let mut chosen = Vec::new();
        ff::choose(self.map, &self.utilities, Some(&self.split_utilities), &self.config, &mut chosen)
            .map_err(|error| error.to_string())?;
        Ok(TileSelection {
            l0: self.ordered(&chosen, self.config.tile_size_l0, |chosen| &chosen.l0)?,
            l1: self.ordered(&chosen, self.config.tile_size_l1, |chosen| &chosen.l1)?,
            spent_b1: chosen.iter().map(|chosen| chosen.spent_b1).sum(),
            spent_b2: chosen.iter().map(|chosen| chosen.spent_b2).sum(),
        })
    }

    fn ordered(&self, chosen: &[Chosen], side: usize, tiles: fn(&Chosen) -> &Vec<u32>) -> Result<Vec<i32>, String> {
        let grid = Grid::of_map(self.map, side).map_err(|error| error.to_string())?;
        let mut all = Vec::new();
        for chosen in chosen {
            let mut row = tiles(chosen).clone();
            order(&mut row, grid, OrderMode::Hilbert).map_err(|error| error.to_string())?;
            let id = |id: u32| i32::try_from(id).map_err(|_| format!("tile {id} is beyond 31 bits"));
            all.extend(row.into_iter().map(id).collect::<Result<Vec<i32>, String>>()?);
        }
        Ok(all)
    }

    /// Nonzero parameters that leave activations near one: weights uniform within ± 1 / sqrt(inputs of the layer), the
    /// scales of norms about one, all others about zero.
    fn parameters(&self) -> FfParameters {
        let shapes = ff::tensors(self.map.channels);
        let tensor = |name: &str| {
            let position = shapes.iter().position(|shape| shape.name == name)?;
            let shape = &shapes[position];
            let fan_in: usize = shape.shape.iter().skip(1).product();
            let seed = self.seed.wrapping_add(PARAMETERS_SEED).wrapping_add(position as u64);
            let mut random = SplitMix64::new(seed);
            let mut value = || match () {
                () if name.ends_with("norm.weight") => 1.0 + 0.1 * random.normal(),
                () if name.ends_with("log_weight") => 1.0,
                () if name.ends_with(".weight") => (2.0 * random.uniform() - 1.0) / (fan_in as f64).sqrt(),
                () => 0.1 * random.normal(),
            };
            Some((0..shape.elements()).map(|_| value() as f32).collect())
        };
        FfParameters::read(self.map.channels, tensor).expect("every tensor has the elements of its shape")
    }
}

/// The buffers of a program. `features`, `alpha` and `detail` are the outputs of the last path.
struct Layout {
    dense: usize,
    /// Boundary and uncertainty, `[B,1,H,W]`.
    proxies: [usize; 2],
    coarse: Level,
    fine: Option<Level>,
    features: usize,
    alpha: usize,
    detail: usize,
}

/// The buffers and sizes of a path.
struct Level {
    side: usize,
    /// Tiles of a sample.
    each: usize,
    /// The ids of the tiles, `[B,each]`; absent where there are none.
    indices: Option<usize>,
    /// Decay, input gain, output gain, state bias of the forward scan, then of the backward scan.
    scans: [[usize; 4]; 2],
    merge_gate: usize,
    /// Weight and bias of the norm, of the hidden layer, and of the output layer.
    film: [usize; 6],
    /// Weight and bias of the depthwise convolution, of the pointwise one, and of the norm.
    refine: [usize; 6],
    gate: [f32; 3],
}

/// Where a path reads its map and writes its results; absent results are not needed.
#[derive(Clone, Copy)]
struct Ends {
    input: usize,
    features: usize,
    alpha: Option<usize>,
    detail: Option<usize>,
}

impl Layout {
    fn add(builder: &mut ProgramBuilder, path: &FfPath) -> Self {
        let (map, selection, parameters) = (path.map, &path.selection, path.parameters());
        let FfConfig { tile_size_l0, tile_size_l1, .. } = path.config;
        Layout {
            dense: builder.normal("dense", map.elements()),
            proxies: ["boundary", "uncertainty"].map(|name| builder.uniform(name, map.pixels())),
            coarse: Level::add(builder, tile_size_l0, &selection.l0, parameters.l0(), map),
            fine: (!selection.l1.is_empty())
                .then(|| Level::add(builder, tile_size_l1, &selection.l1, parameters.l1(), map)),
            features: builder.output("features", map.elements()),
            alpha: builder.output("alpha", map.pixels()),
            detail: builder.output("detail", map.elements()),
        }
    }

    fn levels(&self, builder: &mut ProgramBuilder, map: MapShape, dtype: Dtype) -> Vec<(&Level, Ends)> {
        let last =
            Ends { input: self.dense, features: self.features, alpha: Some(self.alpha), detail: Some(self.detail) };
        let Some(fine) = &self.fine else { return vec![(&self.coarse, last)] };
        let between = builder.scratch("coarse features", dtype.into(), map.elements());
        let first = Ends { features: between, alpha: None, detail: None, ..last };
        vec![(&self.coarse, first), (fine, Ends { input: between, ..last })]
    }
}

impl Level {
    fn add(
        builder: &mut ProgramBuilder,
        side: usize,
        tiles: &[i32],
        parameters: &PathParameters,
        map: MapShape,
    ) -> Self {
        let PathParameters { forward, backward, merge_gate, film, refine, gate } = parameters;
        let indices = (!tiles.is_empty()).then(|| builder.integers("tiles", tiles.to_vec()));
        let mut floats =
            |values: &Vec<f32>| builder.buffer("parameters", Data::F32, values.len(), Content::Floats(values.clone()));
        let pointwise_weight = transposed(&refine.pointwise_weight, map.channels);
        Level {
            side,
            each: tiles.len() / map.batch,
            indices,
            scans: [forward, backward]
                .map(|scan| [&scan.decay, &scan.input_gain, &scan.output_gain, &scan.state_bias].map(&mut floats)),
            merge_gate: floats(merge_gate),
            film: [
                &film.norm_weight, &film.norm_bias, &film.hidden_weight, &film.hidden_bias, &film.output_weight,
                &film.output_bias,
            ]
            .map(&mut floats),
            refine: [
                &refine.depthwise_weight, &refine.depthwise_bias, &pointwise_weight, &refine.pointwise_bias,
                &refine.norm_weight, &refine.norm_bias,
            ]
            .map(&mut floats),
            gate: [softplus(gate.boundary_log_weight), softplus(gate.uncertainty_log_weight), gate.bias],
        }
    }
}

/// Weights with their inputs first, so that neighbouring threads read neighbouring ones.
fn transposed(weights: &[f32], inputs: usize) -> Vec<f32> {
    (0..inputs).flat_map(|input| weights.chunks_exact(inputs).map(move |row| row[input])).collect()
}

/// Adds the plain form of a path: one launch per step of the computation.
struct PlainPath<'a> {
    builder: &'a mut ProgramBuilder,
    map: MapShape,
    dtype: Dtype,
    level: &'a Level,
}

impl PlainPath<'_> {
    fn add(&mut self, ends: Ends, [boundary, uncertainty]: [usize; 2]) {
        let map = self.map;
        // Without tiles both sides of the gate are the input.
        let heavy = self.level.indices.map_or(ends.input, |indices| self.heavy(indices, ends.input));
        let alpha = ends.alpha.unwrap_or_else(|| self.builder.scratch("alpha", self.dtype.into(), map.pixels()));
        let places = [ends.input, heavy, boundary, uncertainty, ends.features, alpha];
        let mut rest = self.level.gate.map(Argument::F32).to_vec();
        rest.extend([int(map.channels), long(map.plane()), long(map.elements())]);
        self.builder.plain("fusion_gate.cu", "fusion_gate_reference", map.elements(), arguments(&places, &rest));
        if let Some(detail) = ends.detail {
            self.step("ff_detail", map.elements(), &[ends.features, ends.input, detail], &[long(map.elements())]);
        }
    }

    /// The map with its chosen tiles computed, before the gate.
    fn heavy(&mut self, indices: usize, input: usize) -> usize {
        let (MapShape { batch, channels, height, width }, level) = (self.map, self.level);
        let (pixels, tiles, elements) = (level.side * level.side, batch * level.each, self.map.elements());
        let (planes, values) = (tiles * channels, tiles * channels * pixels);
        let (element, c, t) = (self.dtype.into(), int(channels), int(level.side));
        let sizes = [int(level.each), c, int(height), int(width), t];

        let packed = self.builder.scratch("packed", element, values);
        let pack = arguments(&[input, indices, packed], &[&sizes[..], &[long(values)]].concat());
        self.builder.plain("tile_pack.cu", "tile_pack_reference", values, pack);

        let tokens = self.floats("tokens", planes);
        self.step("ff_tokens", planes, &[packed, tokens], &[long(planes), int(pixels)]);
        let scanned = self.scan(tokens);
        let modulation = self.floats("modulation", planes * 2);
        let film = arguments(&[&[scanned][..], &level.film, &[modulation]].concat(), &[c]);
        self.blocks("ff_film", tiles, (channels.next_multiple_of(4) + channels) * size_of::<f32>(), film);
        let modulated = self.floats("modulated", values);
        self.step("ff_modulate", values, &[packed, modulation, modulated], &[c, int(pixels), long(values)]);

        let [depthwise_weight, depthwise_bias, pointwise_weight, pointwise_bias, norm_weight, norm_bias] = level.refine;
        let convolved = self.floats("convolved", values);
        let places = [modulated, depthwise_weight, depthwise_bias, convolved];
        self.step("ff_depthwise", values, &places, &[c, t, long(values)]);
        let mixed = self.floats("mixed", values * 2);
        let places = [convolved, pointwise_weight, pointwise_bias, mixed];
        self.step("ff_pointwise", values * 2, &places, &[c, int(pixels), long(values * 2)]);
        let statistics = self.floats("statistics", tiles * 2);
        self.blocks("ff_statistics", tiles, 0, arguments(&[mixed, statistics], &[int(channels * 2 * pixels)]));
        let refined = self.builder.scratch("refined", element, values);
        let places = [modulated, mixed, statistics, norm_weight, norm_bias, refined];
        self.step("ff_refine", values, &places, &[c, int(pixels), long(values)]);

        // All tiles have one level, so that the last of two would win; no tile occurs twice.
        let heavy = self.builder.scratch("heavy", element, elements);
        let mut unpack =
            arguments(&[input, refined, indices], &[Argument::Null, Argument::Null, Argument::Buffer(heavy)]);
        unpack.extend(sizes);
        // The bits of a place in the list.
        let bits = (level.each - 1).checked_ilog2().map_or(1, |last| last + 1);
        let (lowest, bits, blend) = (int(0), int(bits as usize), int(0));
        unpack.extend([lowest, bits, blend, Argument::F32(0.0), Argument::F32(1.0), long(elements)]);
        self.builder.plain("tile_unpack.cu", "tile_unpack_reference", elements, unpack);
        heavy
    }

    /// Scans the tokens in both directions, the second merged into the first.
    fn scan(&mut self, tokens: usize) -> usize {
        let (MapShape { batch, channels, .. }, level) = (self.map, self.level);
        let states = batch * channels;
        let scanned = self.floats("scanned", states * level.each);
        let final_state = self.floats("final state", states * 2);
        for (direction, parameters) in level.scans.iter().enumerate() {
            let gate = if direction == 0 { Argument::Null } else { Argument::Buffer(level.merge_gate) };
            let mut all = arguments(&[&[tokens][..], parameters].concat(), &[Argument::Null, gate]);
            let sizes = [int(batch), int(level.each), int(channels), Argument::F32(DEFAULT_CLAMP)];
            all.extend(arguments(&[scanned, final_state], &sizes));
            // No initial state, a final state for each direction, one gate for all samples.
            all.extend([int(0), int(2), int(1)]);
            let defines = [[("REVERSED", 0), ("MERGE", 0)], [("REVERSED", 1), ("MERGE", 3)]][direction];
            let kernel = kernel("scan.cu", "scan_reference", Dtype::F32, &defines);
            let grid = [states.div_ceil(BLOCK as usize), 1, 1];
            self.builder.launch(Call { kernel, grid, block: BLOCK, shared: 0 }, all);
        }
        scanned
    }

    fn floats(&mut self, name: &'static str, count: usize) -> usize {
        self.builder.scratch(name, Data::F32, count)
    }

    fn step(&mut self, entry: &'static str, values: usize, places: &[usize], rest: &[Argument]) {
        self.builder.plain("ff.cu", entry, values, arguments(places, rest));
    }

    /// A launch of `blocks` blocks, each with `shared` bytes of shared memory.
    fn blocks(&mut self, entry: &'static str, blocks: usize, shared: usize, arguments: Vec<Argument>) {
        let kernel = kernel("ff.cu", entry, self.dtype, &[]);
        self.builder.launch(Call { kernel, grid: [blocks, 1, 1], block: BLOCK, shared }, arguments);
    }
}

const FILE: &str = "ff_fused.cu";
/// Threads of a block of the modulation, as in the kernel.
const FILM_BLOCK: u32 = 512;
/// Pixels times channels that a thread of the convolution computes, as in the kernel.
const VALUES_A_THREAD: usize = 32;
/// The fewest pixels of a block of the convolution: those of a thread.
const FEWEST_PIXELS: usize = 4;
const MOST_AT_ONCE: usize = 8;
/// Shared memory that every device gives a block by default, less the variables of the kernels, in bytes.
const SHARED_BYTES: usize = 48 * 1024 - 128;

/// How the launches of a level cover its tiles.
struct Plan {
    defines: [(&'static str, u32); 5],
    /// Pixels of a block of the convolution.
    chunk: usize,
    /// Blocks of the convolution along the pixels and along the channels of a tile.
    parts: [usize; 2],
}

impl Plan {
    fn new(map: MapShape, dtype: Dtype, level: &Level, config: LaunchConfig) -> Self {
        let count = elements_at_once(config.vector, dtype, MOST_AT_ONCE, level.side);
        let pixels = level.side * level.side;
        let mut chunk = (config.chunk as usize).min(pixels.next_power_of_two()).max(FEWEST_PIXELS);
        while chunk > FEWEST_PIXELS && map.channels * chunk * size_of::<f32>() > SHARED_BYTES {
            chunk /= 2;
        }
        let outputs = config.block as usize * VALUES_A_THREAD / chunk;
        Plan {
            defines: [
                ("BLOCK", config.block),
                ("VECTOR", (count * dtype.bytes()) as u32),
                ("UNROLL", config.unroll),
                ("CHUNK", chunk as u32),
                ("QUADS", u32::from(map.channels.is_multiple_of(4))),
            ],
            chunk,
            parts: [pixels.div_ceil(chunk), (2 * map.channels).div_ceil(outputs)],
        }
    }
}

/// Adds the tuned form of a path, in at most four launches.
fn add_fused(
    builder: &mut ProgramBuilder,
    map: MapShape,
    dtype: Dtype,
    level: &Level,
    ends: Ends,
    proxies: [usize; 2],
    config: LaunchConfig,
) {
    let MapShape { batch, channels, height, width } = map;
    let plan = Plan::new(map, dtype, level, config);
    let tiles = batch * level.each;
    let launch = |builder: &mut ProgramBuilder, entry, grid: [usize; 3], block, shared, arguments| {
        let kernel = kernel(FILE, entry, dtype, &plan.defines);
        builder.launch(Call { kernel, grid, block, shared }, arguments);
    };
    let sizes = [int(level.each), int(channels), int(height), int(width), int(level.side)];
    let float = size_of::<f32>();

    // The buffers of the computed tiles: ids, modulation, mixed values and partial statistics.
    let computed = level.indices.map(|indices| {
        let mut scratch = |name, count| builder.scratch(name, Data::F32, count);
        let tokens = scratch("tokens", tiles * channels);
        let modulation = scratch("modulation", tiles * channels * 2);
        let mixed = scratch("mixed", tiles * channels * 2 * level.side * level.side);
        let parts = scratch("parts", tiles * plan.parts[0] * plan.parts[1] * 3);

        let grid = [(tiles * channels).div_ceil(config.block as usize / 32), 1, 1];
        let averages = arguments(&[ends.input, indices, tokens], &[&sizes[..], &[long(tiles * channels)]].concat());
        launch(builder, "ff_means", grid, config.block, 0, averages);

        let [forward, backward] = &level.scans;
        let places = [&[tokens][..], forward, backward, &[level.merge_gate], &level.film, &[modulation]].concat();
        let shared = channels * 2 * float;
        let film = arguments(&places, &[int(channels)]);
        launch(builder, "ff_modulation", [level.each, batch, 1], FILM_BLOCK, shared, film);

        let places = [&[ends.input, indices, modulation], &level.refine[..4], &[mixed, parts]].concat();
        let grid = [plan.parts[0], plan.parts[1], tiles];
        launch(builder, "ff_convolve", grid, config.block, channels * plan.chunk * float, arguments(&places, &sizes));
        [indices, modulation, mixed, parts]
    });

    let mut all = arguments(&[ends.input], &[0, 1, 2, 3].map(|place| optional(computed.map(|all| all[place]))));
    let places = [&level.refine[4..], &proxies, &[ends.features]].concat();
    all.extend(arguments(&places, &[optional(ends.alpha), optional(ends.detail)]));
    all.extend([int(level.each), int(plan.parts[0] * plan.parts[1])]);
    all.extend(&sizes[1..]);
    all.extend(level.gate.map(Argument::F32));
    let grid = [height / level.side, channels.div_ceil(config.unroll as usize), batch];
    // For each column of tiles: its tile, a mean and a scale.
    launch(builder, "ff_finish", grid, config.block, width / level.side * 3 * float, all);
}

/// Maps that nothing divides evenly: batch, channels, rows, columns, side of a coarse tile.
const FF_MAPS: [[usize; 5]; 4] = [[2, 3, 32, 48, 16], [1, 7, 6, 10, 2], [1, 36, 48, 24, 24], [1, 33, 32, 32, 16]];

/// Budgets of the two levels that choose tiles on both, no fine ones, or none at all.
const FF_BUDGETS: [[f64; 2]; 3] = [[3.2, 2.0], [3.2, 0.0], [0.0, 2.0]];

/// The untuned configuration first: `unroll` is the channels of a block of the last launch, `chunk` its convolution's pixels.
const CANDIDATES: &[LaunchConfig] = &[
    LaunchConfig::new(256, 16, 8, 32),
    LaunchConfig::new(256, 16, 4, 32),
    LaunchConfig::new(256, 16, 8, 64),
    LaunchConfig::new(128, 16, 8, 32),
    LaunchConfig::new(128, 16, 4, 16),
    LaunchConfig::new(256, 8, 8, 32),
    LaunchConfig::new(128, 8, 4, 32),
    LaunchConfig::new(256, 16, 16, 32),
];

/// How far a device may be from the reference. A narrow element type rounds the result of the coarse path, a refined tile,
/// the gate and the features; twelve times the distance of neighbours at one allows for features up to eight. In `f32` sums
/// have another order, before and after two normalisations.
fn tolerance(dtype: Dtype) -> f64 {
    if dtype == Dtype::F32 { 5e-5 } else { 12.0 * dtype.epsilon() }
}

/// The operation at the sizes of a profile, with its own tiles; none for a batch that memory alone would bound.
pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    let GpuSettings { budgets, seed, .. } = GpuSettings::FIXED;
    let path = || FfPath::new(profile.map(), config(profile.kmax as usize, budgets.b1, budgets.b2), seed).ok();
    if profile.is_large() { None } else { path() }.into_iter().map(FfPath::operation).collect()
}

impl FfPath {
    pub fn operation(self) -> Operation {
        let mut params = self.map.params();
        let each = |tiles: &[i32]| (tiles.len() / self.map.batch).to_string();
        params.extend([("l0", each(&self.selection.l0)), ("l1", each(&self.selection.l1))]);
        let path = self.clone();
        Operation {
            name: "ff_path",
            params,
            work: ("frames_per_s", self.map.batch as f64),
            bytes_moved: None,
            candidates: CANDIDATES.to_vec(),
            tolerance,
            selection: Some(Rc::new(move || path.select())),
            code: Code::new(self, FfPath::program, FfPath::expected, |_| uneven()),
        }
    }

    fn program(&self, dtype: Dtype, form: GpuForm) -> DeviceProgram {
        let mut builder = ProgramBuilder::new(dtype);
        let layout = Layout::add(&mut builder, self);
        let (map, proxies) = (self.map, layout.proxies);
        for (level, ends) in layout.levels(&mut builder, map, dtype) {
            match form {
                GpuForm::Reference => PlainPath { builder: &mut builder, map, dtype, level }.add(ends, proxies),
                GpuForm::Tuned(config) => add_fused(&mut builder, map, dtype, level, ends, proxies, config),
            }
        }
        builder.finish()
    }

    fn expected(&self, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<ExpectedBuffer>, String> {
        let layout = Layout::add(&mut ProgramBuilder::new(dtype), self);
        let dense = inputs.floats(layout.dense)?;
        let [boundary, uncertainty] = layout.proxies.map(|place| inputs.floats(place));
        let (boundary, uncertainty) = (boundary?, uncertainty?);
        let proxy = |values| Some(Proxy { values, height: self.map.height, width: self.map.width });
        let reads = ff::FfInputs {
            dense: &dense,
            shape: self.map,
            utilities: &self.utilities,
            split_utilities: Some(&self.split_utilities),
            boundary: proxy(boundary.as_slice()),
            uncertainty: proxy(uncertainty.as_slice()),
        };
        let (mut outputs, mut workspace) = (Outputs::default(), Workspace::default());
        let form = sprag_kernels::Form::Reference;
        ff::run(form, &reads, &self.config, &self.parameters(), &mut outputs, &mut workspace)
            .map_err(|error| error.to_string())?;
        let results = [
            (layout.features, outputs.heavy_features),
            (layout.alpha, outputs.alpha),
            (layout.detail, outputs.detail_map),
        ];
        Ok(results.map(|(buffer, values)| ExpectedBuffer { buffer, values, tolerance: tolerance(dtype) }).to_vec())
    }
}

/// Every map with tiles on both levels, and the first also without.
fn uneven() -> Vec<Operation> {
    let path = |[batch, channels, height, width, side]: [usize; 5], [b1, b2]: [f64; 2]| {
        let sizes = FfConfig { tile_size_l0: side, tile_size_l1: side / 2, ..config(5, b1, b2) };
        FfPath::new(MapShape { batch, channels, height, width }, sizes, IDS_SEED).ok().map(FfPath::operation)
    };
    let full = FF_MAPS.into_iter().map(|map| (map, FF_BUDGETS[0]));
    let scarce = FF_BUDGETS[1..].iter().map(|budgets| (FF_MAPS[0], *budgets));
    full.chain(scarce).filter_map(|(map, budgets)| path(map, budgets)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::operation::checks;

    const FIXED: MapShape = MapShape { batch: 1, channels: 128, height: 128, width: 128 };

    #[test]
    fn a_transposed_matrix_has_its_inputs_first() {
        assert_eq!(transposed(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn without_chosen_tiles_the_features_are_the_input() {
        let map = MapShape { batch: 2, channels: 4, height: 32, width: 32 };
        let path = FfPath::new(map, config(5, 0.0, 2.0), 123).unwrap();
        let program = path.program(Dtype::F32, GpuForm::Reference);
        let inputs = checks::inputs(&program);
        let all = path.expected(Dtype::F32, &inputs).unwrap();
        assert_eq!(all[0].values, inputs.floats(0).unwrap());
    }

    #[test]
    fn every_sample_has_its_own_tiles_and_as_many() {
        let map = MapShape { batch: 3, channels: 2, height: 64, width: 96 };
        let selection = FfPath::new(map, config(5, 16.0, 8.0), 7).unwrap().select().unwrap();
        assert_eq!((selection.l0.len(), selection.l1.len(), selection.spent_b2), (15, 24, 6.0));
        assert_ne!(selection.l0[..5], selection.l0[5..10]);
    }

    #[test]
    fn invalid_shapes_are_refused() {
        let refused = |map: MapShape, config: FfConfig| FfPath::new(map, config, 1).is_err();
        let good = config(4, 1.6, 1.0);
        assert!(!refused(FIXED, good));
        assert!(refused(MapShape { height: 24, ..FIXED }, good));
        assert!(refused(MapShape { channels: 0, ..FIXED }, good));
        assert!(refused(MapShape { channels: 4096, ..FIXED }, good));
        assert!(refused(FIXED, FfConfig { tile_size_l1: 4, ..good }));
        assert!(refused(FIXED, FfConfig { budget_b1: -1.0, ..good }));
    }
}
