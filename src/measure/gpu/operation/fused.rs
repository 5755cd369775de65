//! The fused pack, operate, unpack on the device: `kernels/fused.cu`.

use super::super::program::{Argument, Dtype, Kernel, Launch, Program, Step};
use super::super::settings::Profile;
use super::inputs::with_element;
use super::kernel::{CudaKernel, Operation, map_params};
use super::shapes;
use super::tiled::Draw;
use super::{Config, Expected, Form, Inputs, Stored, Tiled, launch};
use sprag_kernels::element::Element;
use sprag_kernels::fused::{self, Affine, Choice, Scratch};
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
    Config { block: 256, vector: 8, unroll: 4, chunk: 4 },
];

/// The gate of the timed operation: scales and biases that leave no part of it out.
const AFFINE: Affine = Affine { value_scale: 1.25, value_bias: 0.1, gate_scale: 0.75, gate_bias: 0.2 };

const FILE: &str = "fused.cu";

const MAP: usize = 0;
const INDICES: usize = 1;
const MERGED: usize = 2;

/// Tiles and the map that is applied to their pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused {
    pub tiles: Tiled,
    pub affine: Affine,
}

pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    shapes::tiles(profile).into_iter().map(|tiles| Operation::new(Fused { tiles, affine: AFFINE })).collect()
}

impl CudaKernel for Fused {
    fn name(&self) -> &'static str {
        "fused_pack_op_unpack"
    }

    fn params(&self) -> Vec<(&'static str, String)> {
        let mut params = map_params(self.tiles.map());
        params.extend([("t", self.tiles.tile_size().to_string()), ("k", self.tiles.per_sample().to_string())]);
        params
    }

    fn work(&self) -> (&'static str, f64) {
        ("tiles_per_s", self.tiles.ids().len() as f64)
    }

    fn bytes_moved(&self, dtype: Dtype) -> Option<usize> {
        Some(2 * self.tiles.map().elements() * dtype.bytes())
    }

    fn candidates(&self) -> Vec<Config> {
        CANDIDATES.to_vec()
    }

    fn program(&self, dtype: Dtype, form: Form) -> Program {
        let (map, side) = (self.tiles.map(), self.tiles.tile_size());
        let buffers = vec![
            launch::normal("map", dtype, map.elements(), 0),
            self.tiles.indices(),
            launch::output("merged", dtype, map.elements()),
        ];
        let Affine { value_scale, value_bias, gate_scale, gate_bias } = self.affine;
        let affine = [value_scale, value_bias, gate_scale, gate_bias].map(Argument::F32);
        let mut arguments = vec![Argument::Buffer(MAP), Argument::Buffer(INDICES), Argument::Buffer(MERGED)];
        arguments.extend([self.tiles.per_sample(), map.channels, map.height, map.width].map(launch::int));
        let step = match form {
            Form::Reference => {
                arguments.push(launch::int(side));
                arguments.extend(affine);
                arguments.push(launch::long(map.elements()));
                launch::plain(FILE, "fused_reference", dtype, map.elements(), arguments)
            }
            Form::Tuned(config) => {
                arguments.extend(affine);
                Step::Launch(tuned(self, dtype, config, arguments))
            }
        };
        Program { buffers, steps: vec![step] }
    }

    fn expected(&self, dtype: Dtype, inputs: &Inputs) -> Result<Vec<Expected>, String> {
        with_element!(dtype, T => expected_of::<T>(self, inputs))
    }

    fn uneven(&self) -> Vec<Operation> {
        // Its tiles are distinct.
        let tiles = shapes::UNEVEN_MAPS.into_iter().filter_map(|sizes| shapes::uneven(sizes, Draw::Distinct));
        tiles.map(|tiles| Operation::new(Fused { tiles, ..self.clone() })).collect()
    }
}

fn tuned(shape: &Fused, dtype: Dtype, config: Config, mut arguments: Vec<Argument>) -> Launch {
    let Config { block, unroll, chunk, .. } = config;
    let side = shape.tiles.tile_size();
    let vector = launch::vector(config, dtype, side);
    let bands = shape.tiles.bands(vector as usize / dtype.bytes(), (block * unroll * chunk) as usize);
    arguments.extend([bands.cells, bands.parts, bands.group].map(launch::int));
    let tile = launch::count(side);
    let defines = BTreeMap::from([("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("TILE", tile)]);
    Launch {
        kernel: Kernel { file: FILE, entry: "fused", dtype, defines },
        grid: bands.grid,
        block,
        shared: launch::count(bands.cells * size_of::<i32>()),
        arguments,
    }
}

fn expected_of<T: Element + Stored>(shape: &Fused, inputs: &Inputs) -> Result<Vec<Expected>, String> {
    let (map, indices) = (inputs.elements::<T>(MAP)?, inputs.ids(INDICES)?);
    let choice = Choice { indices: &indices, tile_size: shape.tiles.tile_size(), require_unique: false };
    let mut merged = vec![T::default(); shape.tiles.map().elements()];
    let mut scratch = Scratch::default();
    fused::reference(&map, shape.tiles.map(), &choice, &shape.affine, &mut merged, &mut scratch)
        .map_err(|error| error.to_string())?;
    Ok(vec![Expected::new(MERGED, &merged, 0.0)])
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::*;

    #[test]
    fn every_form_covers_the_map() {
        checks::names_are_distinct(CANDIDATES);
        for tiles in checks::tiled_shapes() {
            let shape = Fused { tiles, affine: Affine::default() };
            checks::programs(
                CANDIDATES,
                |dtype, form| shape.program(dtype, form),
                |launch, _| {
                    let (map, side) = (shape.tiles.map(), shape.tiles.tile_size());
                    let [Argument::I32(cells), Argument::I32(parts), Argument::I32(group)] = launch.arguments[11..]
                    else {
                        panic!("{:?}", launch.arguments)
                    };
                    let [x, y, z] = launch.grid.map(|blocks| blocks as usize);
                    let (cells, parts, group) = (cells as usize, parts as usize, group as usize);
                    assert!(parts * cells * side >= map.width && (parts - 1) * cells * side < map.width);
                    assert_eq!((x, z), (map.height / side * parts, map.batch));
                    assert!(y * group >= map.channels && (y - 1) * group < map.channels);
                    assert_eq!(launch.shared as usize, cells * 4);
                    assert_eq!(side * launch.kernel.dtype.bytes() % launch.kernel.defines["VECTOR"] as usize, 0);
                },
            );
        }
    }

    #[test]
    fn the_expected_map_is_that_of_the_reference() {
        let affine = Affine { value_scale: 0.5, value_bias: 1.0, gate_scale: -1.0, gate_bias: 0.25 };
        for tiles in checks::tiled_shapes() {
            let shape = Fused { tiles, affine };
            let program = shape.program(Dtype::E4m3, Form::Reference);
            let expected = shape.expected(Dtype::E4m3, &checks::inputs(&program)).unwrap();
            assert_eq!((expected[0].buffer, expected[0].values.len()), (MERGED, program.buffers[MERGED].count));
        }
    }
}
