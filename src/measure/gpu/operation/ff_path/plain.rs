//! The reference form of a path: a kernel a step, as `kernels/ff.cu` and its neighbours have them.

use super::super::super::program::{Argument, Data, Dtype};
use super::super::builder::{Call, PLAIN_BLOCK as BLOCK, ProgramBuilder, buffers, int, kernel, long};
use super::layout::{Ends, Level};
use sprag_kernels::scan::DEFAULT_CLAMP;
use sprag_kernels::shape::MapShape;

struct Path<'a> {
    builder: &'a mut ProgramBuilder,
    dtype: Dtype,
}

pub(super) fn add(
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
