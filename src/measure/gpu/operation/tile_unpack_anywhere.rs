//! TileUnpack of tiles that lie anywhere: `kernels/tile_unpack.cu`.

use super::super::program::{Argument, Dtype, Kernel, Launch, Program, Step};
use super::inputs::with_element;
use super::kernel::{CudaKernel, Operation, map_params, overlap_word};
use super::rule::{self, Rule};
use super::shapes;
use super::{Config, Expected, Form, Inputs, launch};
use sprag_base::stats::random::SplitMix64;
use sprag_kernels::KernelError;
use sprag_kernels::shape::MapShape;
use sprag_kernels::tile::{Origin, Placement};
use std::collections::BTreeMap;

/// The configurations worth trying, the one used untuned first. Here `chunk` is the number of channels of a block.
const CANDIDATES: &[Config] = &[
    Config { block: 256, vector: 16, unroll: 4, chunk: 8 },
    Config { block: 256, vector: 8, unroll: 4, chunk: 8 },
    Config { block: 256, vector: 16, unroll: 2, chunk: 16 },
    Config { block: 128, vector: 16, unroll: 4, chunk: 16 },
    Config { block: 512, vector: 8, unroll: 2, chunk: 32 },
];

/// Vectors of a row of the patch of a block.
const ACROSS: usize = 32;

/// Tiles that a block finds before it applies them.
const LIST: u32 = 64;

/// A map, tiles at any pixels of it, and how they are applied.
#[derive(Clone, Debug, PartialEq)]
pub struct TileUnpackAnywhere {
    map: MapShape,
    tile_size: usize,
    origins: Vec<Origin>,
    rule: Rule,
}

impl TileUnpackAnywhere {
    /// Tiles with these upper left pixels, `[B,K]`, applied by this rule.
    ///
    /// # Errors
    /// An empty map, a tile outside of it, tiles that samples cannot share equally, levels that are not as many as the
    /// tiles, more of a kind than 31 bits count.
    pub fn new(map: MapShape, tile_size: usize, origins: Vec<Origin>, rule: Rule) -> Result<Self, KernelError> {
        rule.check(origins.len())?;
        let sizes = [map.batch, map.channels, map.height, map.width, tile_size, 2 * origins.len()];
        if map.elements() == 0 || tile_size == 0 || sizes.iter().any(|&size| i32::try_from(size).is_err()) {
            return Err(KernelError::Empty { what: "map" });
        }
        if !origins.len().is_multiple_of(map.batch) {
            return Err(KernelError::Rows { what: "origins", batch: map.batch, got: origins.len() });
        }
        let MapShape { height, width, .. } = map;
        let leaves = |origin: &&Origin| origin.y as usize + tile_size > height || origin.x as usize + tile_size > width;
        match origins.iter().find(leaves) {
            Some(&Origin { y, x }) => Err(KernelError::Origin { y, x, tile_size, height, width }),
            None => Ok(TileUnpackAnywhere { map, tile_size, origins, rule }),
        }
    }

    /// So many origins for tiles of that size, drawn at random; none where a tile is larger than the map.
    pub fn drawn(map: MapShape, tile_size: usize, count: usize, seed: u64) -> Vec<Origin> {
        let (Some(rows), Some(columns)) = (map.height.checked_sub(tile_size), map.width.checked_sub(tile_size)) else {
            return Vec::new();
        };
        let mut random = SplitMix64::new(seed);
        let mut pixel = |most: usize| launch::count(random.below(most + 1));
        (0..count).map(|_| Origin { y: pixel(rows), x: pixel(columns) }).collect()
    }

    /// Tiles a sample, K.
    /// The map.
    pub fn map(&self) -> MapShape {
        self.map
    }

    pub fn tile_size(&self) -> usize {
        self.tile_size
    }

    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    pub fn per_sample(&self) -> usize {
        self.origins.len() / self.map.batch
    }

    /// The place of the merged map, after base, packed tiles, origins and, where there are any, levels.
    fn merged(&self) -> usize {
        3 + usize::from(self.rule.levels.is_some())
    }
}

/// The operation, which no suite times, at a small shape.
pub(super) fn checked() -> Vec<Operation> {
    let map = MapShape { batch: 1, channels: 8, height: 64, width: 64 };
    let origins = TileUnpackAnywhere::drawn(map, 8, 16, shapes::IDS_SEED);
    let with = |overlap| {
        let rule = Rule::drawn(origins.len(), overlap, shapes::IDS_SEED);
        TileUnpackAnywhere::new(map, 8, origins.clone(), rule).ok()
    };
    shapes::overlaps().into_iter().filter_map(with).map(Operation::new).collect()
}

impl CudaKernel for TileUnpackAnywhere {
    fn name(&self) -> &'static str {
        "tile_unpack_anywhere"
    }

    fn params(&self) -> Vec<(&'static str, String)> {
        let mut params = map_params(self.map);
        params.extend([("t", self.tile_size.to_string()), ("k", self.per_sample().to_string())]);
        params.push(("overlap", overlap_word(self.rule.overlap).to_owned()));
        params
    }

    fn work(&self) -> (&'static str, f64) {
        ("tiles_per_s", (self.per_sample() * self.map.batch) as f64)
    }

    fn bytes_moved(&self, dtype: Dtype) -> Option<usize> {
        Some(2 * self.map.elements() * dtype.bytes())
    }

    fn candidates(&self) -> Vec<Config> {
        CANDIDATES.to_vec()
    }

    fn program(&self, dtype: Dtype, form: Form) -> Program {
        let (map, merged) = (self.map, self.merged());
        let pixels = self.origins.iter().flat_map(|origin| [origin.y.cast_signed(), origin.x.cast_signed()]);
        let mut buffers = vec![
            launch::normal("base", dtype, map.elements(), 0),
            launch::normal("packed", dtype, self.origins.len() * map.channels * self.tile_size * self.tile_size, 1),
            launch::integers("origins", pixels.collect()),
        ];
        buffers.extend(self.rule.buffer());
        buffers.push(launch::output("merged", dtype, map.elements()));
        let step = match form {
            Form::Reference => {
                let places = [Argument::Null, Argument::Buffer(2), self.rule.levels(3), Argument::Buffer(merged)];
                self.rule.plain(dtype, map, self.tile_size, self.per_sample(), places)
            }
            Form::Tuned(config) => Step::Launch(tuned(self, dtype, config)),
        };
        Program { buffers, steps: vec![step] }
    }

    fn expected(&self, dtype: Dtype, inputs: &Inputs) -> Result<Vec<Expected>, String> {
        let placement = Placement::Origins(&self.origins);
        with_element!(dtype, T => {
            rule::expected::<T>(self.map, self.tile_size, placement, &self.rule, inputs, self.merged())
        })
    }

    fn uneven(&self) -> Vec<Operation> {
        let overlap = self.rule.overlap;
        let with = |[batch, channels, rows, columns, side, count]: [usize; 6]| {
            let map = MapShape { batch, channels, height: rows * side + 1, width: columns * side + 3 };
            let origins = TileUnpackAnywhere::drawn(map, side, count, 5);
            let rule = Rule::drawn(origins.len(), overlap, 11);
            TileUnpackAnywhere::new(map, side, origins, rule).ok()
        };
        shapes::UNEVEN_MAPS.into_iter().filter_map(with).map(Operation::new).collect()
    }
}

fn tuned(shape: &TileUnpackAnywhere, dtype: Dtype, config: Config) -> Launch {
    let (map, rule) = (shape.map, &shape.rule);
    let Config { block, unroll, chunk: group, .. } = config;
    let vector = launch::vector(config, dtype, map.width);
    let (across, down) = (ACROSS * vector as usize / dtype.bytes(), block as usize / ACROSS);
    let patches = map.width.div_ceil(across) * map.height.div_ceil(down);
    let grid = [patches, map.channels.div_ceil(group as usize), map.batch].map(launch::count);
    let mut arguments = vec![Argument::Buffer(0), Argument::Buffer(1), Argument::Buffer(2)];
    arguments.extend([rule.levels(3), Argument::Buffer(shape.merged())]);
    arguments.extend(rule.arguments(dtype, map, shape.per_sample()));
    arguments.push(launch::int(group as usize));
    let defines = BTreeMap::from([
        ("BLOCK", block),
        ("VECTOR", vector),
        ("UNROLL", unroll),
        ("TILE", launch::count(shape.tile_size)),
        ("BLEND", u32::from(rule.blends())),
        ("LIST", LIST),
    ]);
    let kernel = Kernel { file: rule::FILE, entry: "tile_unpack_anywhere", dtype, defines };
    Launch { kernel, grid, block, shared: 0, arguments }
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::*;
    use sprag_kernels::tile::Overlap;

    fn shapes() -> Vec<TileUnpackAnywhere> {
        let mut shapes = Vec::new();
        for (batch, channels, height, width, tile_size, count) in
            [(1, 3, 7, 13, 3, 5), (2, 1, 33, 130, 8, 140), (2, 9, 8, 64, 8, 4), (1, 2, 5, 6, 1, 0)]
        {
            let map = MapShape { batch, channels, height, width };
            for overlap in [Overlap::Override, Overlap::blend(0.25).unwrap()] {
                let origins = TileUnpackAnywhere::drawn(map, tile_size, count, 3);
                let rule = Rule::drawn(count, overlap, 4);
                shapes.push(TileUnpackAnywhere::new(map, tile_size, origins.clone(), rule).unwrap());
                let rule = Rule { levels: None, overlap };
                shapes.push(TileUnpackAnywhere::new(map, tile_size, origins, rule).unwrap());
            }
        }
        shapes
    }

    #[test]
    fn every_form_covers_the_map() {
        checks::names_are_distinct(CANDIDATES);
        for shape in shapes() {
            checks::programs(
                CANDIDATES,
                |dtype, form| shape.program(dtype, form),
                |launch, config| {
                    let vector = launch.kernel.defines["VECTOR"] as usize;
                    let (across, down) = (32 * vector / launch.kernel.dtype.bytes(), launch.block as usize / 32);
                    let MapShape { batch, channels, height, width } = shape.map;
                    let [patches, groups, samples] = launch.grid.map(|blocks| blocks as usize);
                    // As the kernel cuts them: so many patches in a row, and no row too few or too many.
                    let in_row = width.div_ceil(across);
                    assert!(patches % in_row == 0 && patches / in_row * down >= height);
                    assert!((patches / in_row - 1) * down < height);
                    assert!(groups * config.chunk as usize >= channels && samples == batch);
                    assert_eq!(width * launch.kernel.dtype.bytes() % vector, 0);
                    // Lists that alternate between two places need an even length.
                    assert_eq!(launch.kernel.defines["LIST"] % 2, 0);
                },
            );
        }
    }

    #[test]
    fn the_expected_map_is_that_of_the_reference() {
        for shape in shapes() {
            let program = shape.program(Dtype::F32, Form::Reference);
            let expected = shape.expected(Dtype::F32, &checks::inputs(&program)).unwrap();
            assert_eq!(expected[0].values.len(), shape.map.elements());
            assert_eq!(expected[0].buffer, program.buffers.len() - 1);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let map = MapShape { batch: 2, channels: 1, height: 4, width: 5 };
        let check = |origins: &[(u32, u32)], tile_size: usize, levels: Option<Vec<i32>>, fits: bool| {
            let origins = origins.iter().map(|&(y, x)| Origin { y, x }).collect();
            let rule = Rule { levels, overlap: Overlap::Override };
            assert_eq!(TileUnpackAnywhere::new(map, tile_size, origins, rule).is_ok(), fits);
        };
        check(&[(0, 1), (0, 0)], 4, None, true);
        check(&[(0, 2), (0, 0)], 4, None, false);
        check(&[(1, 1), (0, 0)], 4, None, false);
        check(&[(0, 1)], 4, None, false);
        check(&[(0, 1), (0, 0)], 4, Some(vec![1]), false);
        check(&[], 0, None, false);
        assert!(TileUnpackAnywhere::drawn(map, 5, 3, 1).is_empty());
    }
}
