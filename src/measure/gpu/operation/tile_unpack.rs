//! TileUnpack of tiles on the grid: `kernels/tile_unpack.cu`.

use super::super::program::{Argument, Dtype, Kernel, Launch, Program, Step};
use super::super::settings::Profile;
use super::inputs::with_element;
use super::kernel::{CudaKernel, Operation, map_params, overlap_word};
use super::rule::{self, Rule};
use super::shapes;
use super::{Config, Expected, Form, Inputs, Tiled, launch};
use sprag_kernels::KernelError;
use sprag_kernels::tile::Placement;
use std::collections::BTreeMap;

/// The configurations worth trying, the one used untuned first. Here a block has `chunk` times as many vectors as its
/// threads have under way together.
const CANDIDATES: &[Config] = &[
    Config { block: 256, vector: 16, unroll: 4, chunk: 1 },
    Config { block: 256, vector: 16, unroll: 2, chunk: 2 },
    Config { block: 128, vector: 16, unroll: 4, chunk: 1 },
    Config { block: 256, vector: 16, unroll: 4, chunk: 4 },
    Config { block: 256, vector: 16, unroll: 4, chunk: 16 },
    Config { block: 512, vector: 16, unroll: 2, chunk: 4 },
    Config { block: 256, vector: 16, unroll: 8, chunk: 2 },
    Config { block: 256, vector: 8, unroll: 4, chunk: 4 },
];

#[derive(Clone, Debug, PartialEq)]
pub struct TileUnpack {
    tiles: Tiled,
    rule: Rule,
}

impl TileUnpack {
    pub fn new(tiles: Tiled, rule: Rule) -> Result<Self, KernelError> {
        rule.check(tiles.ids().len())?;
        Ok(TileUnpack { tiles, rule })
    }

    pub fn tiles(&self) -> &Tiled {
        &self.tiles
    }

    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The place of the merged map, after base, packed tiles, ids and, where there are any, levels.
    fn merged(&self) -> usize {
        3 + usize::from(self.rule.levels.is_some())
    }
}

/// The operation at the sizes of a profile: overriding and mixing.
pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    let unpack = |tiles: Tiled| {
        let with = move |overlap| {
            TileUnpack::new(tiles.clone(), Rule::drawn(tiles.ids().len(), overlap, shapes::IDS_SEED)).ok()
        };
        shapes::overlaps().into_iter().filter_map(with)
    };
    shapes::tiles(profile).into_iter().flat_map(unpack).map(Operation::new).collect()
}

impl CudaKernel for TileUnpack {
    fn name(&self) -> &'static str {
        "tile_unpack"
    }

    fn params(&self) -> Vec<(&'static str, String)> {
        let mut params = map_params(self.tiles.map());
        params.extend([("t", self.tiles.tile_size().to_string()), ("k", self.tiles.per_sample().to_string())]);
        params.push(("overlap", overlap_word(self.rule.overlap).to_owned()));
        params
    }

    fn work(&self) -> (&'static str, f64) {
        ("tiles_per_s", self.tiles.ids().len() as f64)
    }

    fn bytes_moved(&self, dtype: Dtype) -> Option<usize> {
        // Every pixel is read from one of the two, and written once.
        Some(2 * self.tiles.map().elements() * dtype.bytes())
    }

    fn candidates(&self) -> Vec<Config> {
        CANDIDATES.to_vec()
    }

    fn program(&self, dtype: Dtype, form: Form) -> Program {
        let (tiles, merged) = (&self.tiles, self.merged());
        let map = tiles.map();
        let mut buffers = vec![
            launch::normal("base", dtype, map.elements(), 0),
            launch::normal("packed", dtype, tiles.packed_elements(), 1),
            tiles.indices(),
        ];
        buffers.extend(self.rule.buffer());
        buffers.push(launch::output("merged", dtype, map.elements()));
        let step = match form {
            Form::Reference => {
                let places = [Argument::Buffer(2), Argument::Null, self.rule.levels(3), Argument::Buffer(merged)];
                self.rule.plain(dtype, map, tiles.tile_size(), tiles.per_sample(), places)
            }
            Form::Tuned(config) => Step::Launch(tuned(self, dtype, config)),
        };
        Program { buffers, steps: vec![step] }
    }

    fn expected(&self, dtype: Dtype, inputs: &Inputs) -> Result<Vec<Expected>, String> {
        let (tiles, placement) = (&self.tiles, Placement::Indices(self.tiles.ids()));
        with_element!(dtype, T => {
            rule::expected::<T>(tiles.map(), tiles.tile_size(), placement, &self.rule, inputs, self.merged())
        })
    }

    fn uneven(&self) -> Vec<Operation> {
        let overlap = self.rule.overlap;
        let with = |tiles: Tiled| {
            let drawn = Rule::drawn(tiles.ids().len(), overlap, 11);
            let rules = [drawn, Rule { levels: None, overlap }];
            rules.map(|rule| TileUnpack::new(tiles.clone(), rule)).into_iter().filter_map(Result::ok)
        };
        shapes::uneven_tiles().into_iter().flat_map(with).map(Operation::new).collect()
    }
}

fn tuned(shape: &TileUnpack, dtype: Dtype, config: Config) -> Launch {
    let (tiles, rule) = (&shape.tiles, &shape.rule);
    let (map, side, blends) = (tiles.map(), tiles.tile_size(), rule.blends());
    let vector = launch::vector(config, dtype, side);
    // To mix, both sides are read, so half as many places are under way.
    let unroll = if blends { config.unroll.div_ceil(2) } else { config.unroll };
    let vectors = (config.block * unroll * config.chunk) as usize;
    let bands = tiles.bands(vector as usize / dtype.bytes(), vectors);
    let mut arguments = vec![Argument::Buffer(0), Argument::Buffer(1), Argument::Buffer(2)];
    arguments.extend([rule.levels(3), Argument::Buffer(shape.merged())]);
    arguments.extend(rule.arguments(dtype, map, tiles.per_sample()));
    arguments.extend([bands.cells, bands.parts, bands.group].map(launch::int));
    let tile = launch::count(side);
    let defines = BTreeMap::from([
        ("BLOCK", config.block),
        ("VECTOR", vector),
        ("UNROLL", unroll),
        ("TILE", tile),
        ("BLEND", u32::from(blends)),
    ]);
    let tables = if blends { 2 } else { 1 };
    Launch {
        kernel: Kernel { file: rule::FILE, entry: "tile_unpack", dtype, defines },
        grid: bands.grid,
        block: config.block,
        shared: launch::count(tables * bands.cells * size_of::<i32>()),
        arguments,
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::*;
    use sprag_kernels::tile::Overlap;

    fn shapes() -> Vec<TileUnpack> {
        let overlaps = [Overlap::Override, Overlap::blend(0.3).unwrap()];
        let mut shapes = Vec::new();
        for tiles in checks::tiled_shapes() {
            for overlap in overlaps {
                let rule = Rule::drawn(tiles.ids().len(), overlap, 5);
                shapes.push(TileUnpack::new(tiles.clone(), rule).unwrap());
                shapes.push(TileUnpack::new(tiles.clone(), Rule { levels: None, overlap }).unwrap());
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
                    let (map, side) = (shape.tiles.map(), shape.tiles.tile_size());
                    let [Argument::I32(cells), Argument::I32(parts), Argument::I32(group)] = launch.arguments[13..]
                    else {
                        panic!("{:?}", launch.arguments)
                    };
                    let [x, y, z] = launch.grid.map(|blocks| blocks as usize);
                    let (cells, parts, group) = (cells as usize, parts as usize, group as usize);
                    assert!(parts * cells * side >= map.width && (parts - 1) * cells * side < map.width);
                    assert_eq!((x, z), (map.height / side * parts, map.batch));
                    assert!(y * group >= map.channels && (y - 1) * group < map.channels);
                    let tables = if shape.rule.blends() { 8 } else { 4 };
                    assert_eq!((launch.shared as usize, config.block), (cells * tables, launch.block));
                    assert_eq!(side * launch.kernel.dtype.bytes() % launch.kernel.defines["VECTOR"] as usize, 0);
                },
            );
        }
    }

    #[test]
    fn the_expected_map_is_that_of_the_reference() {
        for shape in shapes() {
            let program = shape.program(Dtype::Bf16, Form::Reference);
            let expected = shape.expected(Dtype::Bf16, &checks::inputs(&program)).unwrap();
            assert_eq!(expected.len(), 1);
            assert_eq!((expected[0].buffer, expected[0].tolerance), (program.buffers.len() - 1, 0.0));
            assert_eq!(expected[0].values.len(), shape.tiles.map().elements());
        }
        let tiles = checks::tiled_shapes().remove(0);
        let short = Rule { levels: Some(vec![0]), overlap: Overlap::Override };
        assert!(TileUnpack::new(tiles, short).is_err());
    }
}
