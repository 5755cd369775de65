//! The tuned form of a path: the four launches of `kernels/ff_fused.cu`.

use super::super::super::program::{Argument, Data, Dtype};
use super::super::builder::{Call, ProgramBuilder, buffers, elements_at_once, int, kernel, long, optional};
use super::super::kernel::LaunchConfig;
use super::layout::{Ends, Level};
use sprag_kernels::shape::MapShape;

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

pub(super) fn add(
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
