//! The feature-fusion module end to end: tiles chosen on the host, then two heavy paths on the device, the fine one on
//! the result of the coarse one.

use std::rc::Rc;

use crate::gpu::operation::kernel::{
    Call, Code, LaunchConfig, Operation, PLAIN_BLOCK as BLOCK, ProgramBuilder, buffers, elements_at_once, int, kernel,
    long, map_params, optional, with_element,
};
use crate::gpu::operation::tiled::IDS_SEED;
use crate::gpu::operation::{Expected, Form, HostInputs};
use crate::gpu::program::{Argument, Content, Data, DeviceProgram, Distribution, Dtype};
use crate::gpu::settings::{Profile, Settings};
use sprag_kernels::element::Element;
use sprag_kernels::ff::{self, Outputs, PathParameters, Proxy, ScanParameters, Workspace};
use sprag_kernels::fusion::softplus;
use sprag_kernels::scan::DEFAULT_CLAMP;
use sprag_kernels::shape::MapShape;

mod shape;

pub use self::shape::{FfPath, Selection, config};

pub(super) struct Layout {
    /// Dense features, `[B,C,H,W]`.
    pub(super) dense: usize,
    /// Boundary and uncertainty, `[B,1,H,W]`.
    pub(super) proxies: [usize; 2],
    /// The path over the coarse tiles.
    pub(super) coarse: Level,
    /// The path over the fine tiles, where any are chosen.
    pub(super) fine: Option<Level>,
    /// Fused features of the last path, `[B,C,H,W]`.
    pub(super) features: usize,
    /// The gate of the last path, `[B,1,H,W]`.
    pub(super) alpha: usize,
    /// What the last path changed, `[B,C,H,W]`.
    pub(super) detail: usize,
}

pub(super) struct Level {
    pub(super) side: usize,
    pub(super) each: usize,
    /// The ids of the tiles, `[B,each]`; absent where there are none.
    pub(super) indices: Option<usize>,
    /// Decay, input gain, output gain, state bias of the forward scan, then of the backward scan.
    pub(super) scans: [[usize; 4]; 2],
    pub(super) merge_gate: usize,
    /// Weight and bias of the norm, of the hidden layer, and of the output layer.
    pub(super) film: [usize; 6],
    /// Weight and bias of the depthwise convolution, of the pointwise one, and of the norm.
    pub(super) refine: [usize; 6],
    pub(super) gate: [f32; 3],
}

/// Where a path reads its map and writes its results; of no interest are what is absent.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) input: usize,
    pub(super) features: usize,
    pub(super) alpha: Option<usize>,
    pub(super) detail: Option<usize>,
}

impl Layout {
    fn add(builder: &mut ProgramBuilder, shape: &FfPath, dtype: Dtype) -> Self {
        let (map, element, selection) = (shape.map(), Data::Element(dtype), shape.selection());
        let parameters = shape.parameters();
        let unit = Distribution::Uniform(0.0, 1.0);
        Layout {
            dense: builder.random("dense", element, map.elements(), Distribution::Normal(1.0)),
            proxies: [
                builder.random("boundary", element, map.pixels(), unit),
                builder.random("uncertainty", element, map.pixels(), unit),
            ],
            coarse: Level::add(builder, shape.config().tile_size_l0, &selection.l0, parameters.l0(), map),
            fine: (!selection.l1.is_empty())
                .then(|| Level::add(builder, shape.config().tile_size_l1, &selection.l1, parameters.l1(), map)),
            features: builder.buffer("features", element, map.elements(), Content::Output),
            alpha: builder.buffer("alpha", element, map.pixels(), Content::Output),
            detail: builder.buffer("detail", element, map.elements(), Content::Output),
        }
    }

    pub(super) fn levels(&self, builder: &mut ProgramBuilder, map: MapShape, dtype: Dtype) -> Vec<(&Level, Ends)> {
        let last =
            Ends { input: self.dense, features: self.features, alpha: Some(self.alpha), detail: Some(self.detail) };
        let Some(fine) = &self.fine else {
            return vec![(&self.coarse, last)];
        };
        let between = builder.scratch("coarse features", Data::Element(dtype), map.elements());
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
        let indices = (!tiles.is_empty())
            .then(|| builder.buffer("tiles", Data::I32, tiles.len(), Content::Integers(tiles.to_vec())));
        let mut floats =
            |name, values: &[f32]| builder.buffer(name, Data::F32, values.len(), Content::Floats(values.to_vec()));
        let mut scan = |scan: &ScanParameters| {
            [
                floats("decay", &scan.decay),
                floats("input gain", &scan.input_gain),
                floats("output gain", &scan.output_gain),
                floats("state bias", &scan.state_bias),
            ]
        };
        let scans = [scan(&parameters.forward), scan(&parameters.backward)];
        let (film, refine) = (&parameters.film, &parameters.refine);
        Level {
            side,
            each: tiles.len() / map.batch,
            indices,
            scans,
            merge_gate: floats("merge gate", &parameters.merge_gate),
            film: [
                floats("token norm weight", &film.norm_weight),
                floats("token norm bias", &film.norm_bias),
                floats("hidden weight", &film.hidden_weight),
                floats("hidden bias", &film.hidden_bias),
                floats("output weight", &film.output_weight),
                floats("output bias", &film.output_bias),
            ],
            refine: [
                floats("depthwise weight", &refine.depthwise_weight),
                floats("depthwise bias", &refine.depthwise_bias),
                floats("pointwise weight", &transposed(&refine.pointwise_weight, map.channels)),
                floats("pointwise bias", &refine.pointwise_bias),
                floats("norm weight", &refine.norm_weight),
                floats("norm bias", &refine.norm_bias),
            ],
            gate: [
                softplus(parameters.gate.boundary_log_weight),
                softplus(parameters.gate.uncertainty_log_weight),
                parameters.gate.bias,
            ],
        }
    }
}

/// Weights with their inputs first, so that threads beside one another read neighbouring ones.
fn transposed(weights: &[f32], inputs: usize) -> Vec<f32> {
    (0..inputs).flat_map(|input| weights.chunks_exact(inputs).map(move |row| row[input])).collect()
}

struct Path<'a> {
    builder: &'a mut ProgramBuilder,
    dtype: Dtype,
}

fn add_plain(
    builder: &mut ProgramBuilder,
    map: MapShape,
    dtype: Dtype,
    level: &Level,
    ends: Ends,
    proxies: [usize; 2],
) {
    let mut path = Path { builder, dtype };
    let heavy = match level.indices {
        Some(indices) => path.heavy(map, level, indices, ends.input),
        // Where nothing is chosen the map stands on both sides of the gate.
        None => ends.input,
    };
    let alpha = ends.alpha.unwrap_or_else(|| path.builder.scratch("alpha", Data::Element(dtype), map.pixels()));
    let mut arguments = buffers(&[ends.input, heavy, proxies[0], proxies[1], ends.features, alpha]);
    arguments.extend(level.gate.map(Argument::F32));
    arguments.extend([int(map.channels), long(map.plane()), long(map.elements())]);
    path.builder.plain("fusion_gate.cu", "fusion_gate_reference", map.elements(), arguments);
    if let Some(detail) = ends.detail {
        let mut arguments = buffers(&[ends.features, ends.input, detail]);
        arguments.push(long(map.elements()));
        path.builder.plain("ff.cu", "ff_detail", map.elements(), arguments);
    }
}

impl Path<'_> {
    /// The map with its chosen tiles computed, before the gate.
    fn heavy(&mut self, map: MapShape, level: &Level, indices: usize, input: usize) -> usize {
        let MapShape { batch, channels, height, width } = map;
        let (pixels, tiles) = (level.side * level.side, batch * level.each);
        let (planes, values) = (tiles * channels, tiles * channels * pixels);
        let element = Data::Element(self.dtype);

        let packed = self.builder.scratch("packed", element, values);
        let mut arguments = buffers(&[input, indices, packed]);
        arguments.extend([int(level.each), int(channels), int(height), int(width), int(level.side), long(values)]);
        self.builder.plain("tile_pack.cu", "tile_pack_reference", values, arguments);

        let tokens = self.builder.scratch("tokens", Data::F32, planes);
        let mut arguments = buffers(&[packed, tokens]);
        arguments.extend([long(planes), int(pixels)]);
        self.builder.plain("ff.cu", "ff_tokens", planes, arguments);

        let scanned = self.scan(map, level, tokens);
        let modulation = self.builder.scratch("modulation", Data::F32, planes * 2);
        let mut arguments = buffers(&[scanned]);
        arguments.extend(buffers(&level.film));
        arguments.extend([Argument::Buffer(modulation), int(channels)]);
        self.blocks("ff_film", tiles, channels * 2 * size_of::<f32>(), arguments);

        let modulated = self.builder.scratch("modulated", Data::F32, values);
        let mut arguments = buffers(&[packed, modulation, modulated]);
        arguments.extend([int(channels), int(pixels), long(values)]);
        self.builder.plain("ff.cu", "ff_modulate", values, arguments);

        let [depthwise_weight, depthwise_bias, pointwise_weight, pointwise_bias, norm_weight, norm_bias] = level.refine;
        let convolved = self.builder.scratch("convolved", Data::F32, values);
        let mut arguments = buffers(&[modulated, depthwise_weight, depthwise_bias, convolved]);
        arguments.extend([int(channels), int(level.side), long(values)]);
        self.builder.plain("ff.cu", "ff_depthwise", values, arguments);

        let mixed = self.builder.scratch("mixed", Data::F32, values * 2);
        let mut arguments = buffers(&[convolved, pointwise_weight, pointwise_bias, mixed]);
        arguments.extend([int(channels), int(pixels), long(values * 2)]);
        self.builder.plain("ff.cu", "ff_pointwise", values * 2, arguments);

        let statistics = self.builder.scratch("statistics", Data::F32, tiles * 2);
        let mut arguments = buffers(&[mixed, statistics]);
        arguments.push(int(channels * 2 * pixels));
        self.blocks("ff_statistics", tiles, 0, arguments);

        let refined = self.builder.scratch("refined", element, values);
        let mut arguments = buffers(&[modulated, mixed, statistics, norm_weight, norm_bias, refined]);
        arguments.extend([int(channels), int(pixels), long(values)]);
        self.builder.plain("ff.cu", "ff_refine", values, arguments);

        // All tiles have one level, so that the last of two would win; no tile is named twice.
        let heavy = self.builder.scratch("heavy", element, map.elements());
        let mut arguments = buffers(&[input, refined, indices]);
        arguments.extend([Argument::Null, Argument::Null, Argument::Buffer(heavy)]);
        arguments.extend([int(level.each), int(channels), int(height), int(width), int(level.side)]);
        // The digits that hold a place in the list.
        let bits = (level.each - 1).checked_ilog2().map_or(1, |last| last + 1);
        let (lowest, bits, blend) = (int(0), int(bits as usize), int(0));
        arguments.extend([lowest, bits, blend, Argument::F32(0.0), Argument::F32(1.0), long(map.elements())]);
        self.builder.plain("tile_unpack.cu", "tile_unpack_reference", map.elements(), arguments);
        heavy
    }

    /// Scans the tokens in both directions, the second merged into the first.
    fn scan(&mut self, map: MapShape, level: &Level, tokens: usize) -> usize {
        let states = map.batch * map.channels;
        let scanned = self.builder.scratch("scanned", Data::F32, states * level.each);
        let final_state = self.builder.scratch("final state", Data::F32, states * 2);
        for (direction, parameters) in level.scans.iter().enumerate() {
            let gate = if direction == 0 { Argument::Null } else { Argument::Buffer(level.merge_gate) };
            let mut arguments = buffers(&[tokens]);
            arguments.extend(buffers(parameters));
            arguments.extend([Argument::Null, gate]);
            arguments.extend(buffers(&[scanned, final_state]));
            arguments.extend([int(map.batch), int(level.each), int(map.channels), Argument::F32(DEFAULT_CLAMP)]);
            // No initial state, a final state each way, one gate for all samples.
            arguments.extend([int(0), int(2), int(1)]);
            let defines = [[("REVERSED", 0), ("MERGE", 0)], [("REVERSED", 1), ("MERGE", 3)]][direction];
            let kernel = kernel("scan.cu", "scan_reference", Dtype::F32, &defines);
            let grid = [states.div_ceil(BLOCK as usize), 1, 1];
            self.builder.launch(Call { kernel, grid, block: BLOCK, shared: 0 }, arguments);
        }
        scanned
    }

    /// So many blocks, with bytes of shared memory each.
    fn blocks(&mut self, entry: &'static str, blocks: usize, shared: usize, arguments: Vec<Argument>) {
        let kernel = kernel("ff.cu", entry, self.dtype, &[]);
        self.builder.launch(Call { kernel, grid: [blocks, 1, 1], block: BLOCK, shared }, arguments);
    }
}

const FILE: &str = "ff_fused.cu";
/// Threads of a block of the modulation, as the kernel has it.
const FILM_BLOCK: u32 = 512;
/// What a thread of the convolution computes: pixels times channels, as the kernel has them.
const VALUES_A_THREAD: usize = 32;
/// The fewest pixels that a block of the convolution computes: those of a thread.
const FEWEST_PIXELS: usize = 4;
const MOST_AT_ONCE: usize = 8;
/// Bytes of shared memory that every device gives a block unasked, less what the kernels name themselves.
const SHARED_BYTES: usize = 48 * 1024 - 128;

/// How the launches of a level cover its tiles.
pub(super) struct Plan {
    pub(super) defines: [(&'static str, u32); 5],
    /// Blocks of the convolution along the pixels and along the channels of a tile.
    pub(super) parts: [usize; 2],
}

impl Plan {
    pub(super) fn new(map: MapShape, dtype: Dtype, level: &Level, config: LaunchConfig) -> Self {
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
            parts: [pixels.div_ceil(chunk), (2 * map.channels).div_ceil(outputs)],
        }
    }

    fn chunk(&self) -> usize {
        self.defines[3].1 as usize
    }
}

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

    // What the tiles become; nothing where none are chosen.
    let computed = level.indices.map(|indices| {
        let mut scratch = |name, count| builder.scratch(name, Data::F32, count);
        let tokens = scratch("tokens", tiles * channels);
        let modulation = scratch("modulation", tiles * channels * 2);
        let mixed = scratch("mixed", tiles * channels * 2 * level.side * level.side);
        let parts = scratch("parts", tiles * plan.parts[0] * plan.parts[1] * 3);

        let warps = config.block as usize / 32;
        let mut arguments = buffers(&[ends.input, indices, tokens]);
        arguments.extend(sizes);
        arguments.push(long(tiles * channels));
        launch(builder, "ff_means", [(tiles * channels).div_ceil(warps), 1, 1], config.block, 0, arguments);

        let mut arguments = buffers(&[tokens]);
        arguments.extend(level.scans.iter().flat_map(|scan| buffers(scan)));
        arguments.extend(buffers(&[level.merge_gate]));
        arguments.extend(buffers(&level.film));
        arguments.extend([Argument::Buffer(modulation), int(channels)]);
        let grid = [level.each, batch, 1];
        launch(builder, "ff_modulation", grid, FILM_BLOCK, channels * 2 * float, arguments);

        let mut arguments = buffers(&[ends.input, indices, modulation]);
        arguments.extend(buffers(&level.refine[..4]));
        arguments.extend(buffers(&[mixed, parts]));
        arguments.extend(sizes);
        let grid = [plan.parts[0], plan.parts[1], tiles];
        launch(builder, "ff_convolve", grid, config.block, channels * plan.chunk() * float, arguments);
        (indices, modulation, mixed, parts)
    });

    let place = |of: fn((usize, usize, usize, usize)) -> usize| optional(computed.map(of));
    let mut arguments = buffers(&[ends.input]);
    arguments.extend([place(|all| all.0), place(|all| all.1), place(|all| all.2), place(|all| all.3)]);
    arguments.extend(buffers(&level.refine[4..]));
    arguments.extend(buffers(&proxies));
    arguments.extend([Argument::Buffer(ends.features), optional(ends.alpha), optional(ends.detail)]);
    arguments.extend([int(level.each), int(plan.parts[0] * plan.parts[1])]);
    arguments.extend(&sizes[1..]);
    arguments.extend(level.gate.map(Argument::F32));
    let grid = [height / level.side, channels.div_ceil(config.unroll as usize), batch];
    // For each column of tiles: its tile, a mean and a scale.
    launch(builder, "ff_finish", grid, config.block, width / level.side * 3 * float, arguments);
}

/// Maps of the feature-fusion module that nothing divides evenly: batch, channels, rows, columns, side of a coarse tile.
const FF_MAPS: [[usize; 5]; 4] = [[2, 3, 32, 48, 16], [1, 7, 6, 10, 2], [1, 36, 48, 24, 24], [1, 33, 32, 32, 16]];

/// What its tiles may cost on the two levels: so much that both are chosen, no fine ones, or none at all.
const FF_BUDGETS: [[f64; 2]; 3] = [[3.2, 2.0], [3.2, 0.0], [0.0, 2.0]];

/// The configurations worth trying, the one used untuned first: `unroll` is the channels of a block of the last launch,
/// `chunk` the pixels of a block of the convolution.
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

/// How far a device may be from the reference. Where the element type is narrow the result of the coarse path, a refined
/// tile, the gate and the features are rounded; twelve times the distance of neighbours at one allows for features up to
/// eight. In `f32` it is sums in another order, before and after two normalisations.
fn tolerance(dtype: Dtype) -> f64 {
    let neighbour = match dtype {
        Dtype::F32 => return 5e-5,
        Dtype::F16 => 2.0_f64.powi(-10),
        Dtype::Bf16 => 2.0_f64.powi(-7),
        Dtype::E4m3 => 2.0_f64.powi(-3),
    };
    12.0 * neighbour
}

/// The operation at the sizes of a profile, but not of a batch that memory alone would bound. It has tiles of its own.
pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    let budgets = Settings::FIXED.budgets;
    let sizes = config(profile.kmax as usize, budgets.b1, budgets.b2);
    let shape = || FfPath::new(profile.map(), sizes, Settings::FIXED.seed).ok();
    if profile.is_large() { None } else { shape() }.into_iter().map(FfPath::operation).collect()
}

impl FfPath {
    pub fn operation(self) -> Operation {
        let mut params = map_params(self.map());
        let selection = self.selection();
        params.extend([("l0", selection.l0_each.to_string()), ("l1", selection.l1_each.to_string())]);
        Operation {
            name: "ff_path",
            params,
            work: ("frames_per_s", self.map().batch as f64),
            elements_moved: None,
            candidates: CANDIDATES.to_vec(),
            tolerance,
            selection: Some(Rc::new(self.clone())),
            code: Code::new(self, FfPath::program, FfPath::expected, |_| uneven()),
        }
    }

    fn program(&self, dtype: Dtype, form: Form) -> DeviceProgram {
        let mut builder = ProgramBuilder::new(dtype);
        let layout = Layout::add(&mut builder, self, dtype);
        let map = self.map();
        for (level, ends) in layout.levels(&mut builder, map, dtype) {
            match form {
                Form::Reference => add_plain(&mut builder, map, dtype, level, ends, layout.proxies),
                Form::Tuned(config) => add_fused(&mut builder, map, dtype, level, ends, layout.proxies, config),
            }
        }
        builder.finish()
    }

    fn expected(&self, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<Expected>, String> {
        let layout = Layout::add(&mut ProgramBuilder::new(dtype), self, dtype);
        let wide = |place: usize| -> Result<Vec<f32>, String> {
            with_element!(dtype, T => Ok(inputs.elements::<T>(place)?.into_iter().map(Element::to_f32).collect()))
        };
        let [boundary, uncertainty] = layout.proxies.map(wide);
        let (dense, boundary, uncertainty) = (wide(layout.dense)?, boundary?, uncertainty?);
        let map = self.map();
        let proxy = |values| Some(Proxy { values, height: map.height, width: map.width });
        let (utilities, split_utilities) = self.utilities();
        let reads = ff::FfInputs {
            dense: &dense,
            shape: map,
            utilities,
            split_utilities: Some(split_utilities),
            boundary: proxy(boundary.as_slice()),
            uncertainty: proxy(uncertainty.as_slice()),
        };
        let (mut outputs, mut workspace) = (Outputs::default(), Workspace::default());
        ff::run(
            sprag_kernels::Form::Reference,
            &reads,
            self.config(),
            &self.parameters(),
            &mut outputs,
            &mut workspace,
        )
        .map_err(|error| error.to_string())?;
        let tolerance = tolerance(dtype);
        Ok(vec![
            Expected::new(layout.features, &outputs.heavy_features, tolerance),
            Expected::new(layout.alpha, &outputs.alpha, tolerance),
            Expected::new(layout.detail, &outputs.detail_map, tolerance),
        ])
    }
}

/// Every map with tiles on both levels, and the first also without.
fn uneven() -> Vec<Operation> {
    let path = |[batch, channels, height, width, side]: [usize; 5], [b1, b2]: [f64; 2]| {
        let sizes = ff::FfConfig { tile_size_l0: side, tile_size_l1: side / 2, ..config(5, b1, b2) };
        let map = MapShape { batch, channels, height, width };
        FfPath::new(map, sizes, IDS_SEED).ok().map(FfPath::operation)
    };
    let full = FF_MAPS.into_iter().map(|map| (map, FF_BUDGETS[0]));
    let scarce = FF_BUDGETS[1..].iter().map(|budgets| (FF_MAPS[0], *budgets));
    full.chain(scarce).filter_map(|(map, budgets)| path(map, budgets)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposed_matrix_has_its_inputs_first() {
        assert_eq!(transposed(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn blocks_for_many_channels_fit_the_shared_memory() {
        let map = MapShape { batch: 1, channels: 260, height: 48, width: 24 };
        let sizes = ff::FfConfig { tile_size_l0: 24, tile_size_l1: 12, ..config(5, 3.2, 2.0) };
        let path = FfPath::new(map, sizes, 123).unwrap();
        for form in CANDIDATES.iter().map(|config| Form::Tuned(*config)).chain([Form::Reference]) {
            let program = path.program(Dtype::F16, form);
            assert!(program.launches().all(|launch| launch.shared as usize <= SHARED_BYTES), "{form:?}");
        }
    }
}
