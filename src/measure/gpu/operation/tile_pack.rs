//! TilePack on the device: `kernels/tile_pack.cu`.

use super::super::program::{Argument, Dtype, Kernel, Launch, Program, Step};
use super::super::settings::Profile;
use super::inputs::with_element;
use super::kernel::{CudaKernel, Operation, map_params};
use super::shapes;
use super::{Config, Expected, Form, Inputs, Stored, Tiled, launch};
use sprag_kernels::element::Element;
use sprag_kernels::tile::pack;
use std::collections::BTreeMap;

/// The configurations worth trying, the one used untuned first. Here `chunk` is the number of tiles that a warp reads
/// together.
const CANDIDATES: &[Config] = &[
    Config { block: 256, vector: 16, unroll: 4, chunk: 2 },
    Config { block: 256, vector: 16, unroll: 4, chunk: 1 },
    Config { block: 256, vector: 16, unroll: 2, chunk: 2 },
    Config { block: 128, vector: 16, unroll: 4, chunk: 4 },
    Config { block: 256, vector: 16, unroll: 8, chunk: 2 },
    Config { block: 512, vector: 16, unroll: 2, chunk: 2 },
    Config { block: 256, vector: 16, unroll: 4, chunk: 8 },
    Config { block: 256, vector: 8, unroll: 4, chunk: 1 },
];

const FILE: &str = "tile_pack.cu";

const MAP: usize = 0;
const INDICES: usize = 1;
const PACKED: usize = 2;

#[derive(Clone, Debug, PartialEq)]
pub struct TilePack(pub Tiled);

pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    shapes::tiles(profile).into_iter().map(|tiles| Operation::new(TilePack(tiles))).collect()
}

impl CudaKernel for TilePack {
    fn name(&self) -> &'static str {
        "tile_pack"
    }

    fn params(&self) -> Vec<(&'static str, String)> {
        let mut params = map_params(self.0.map());
        params.extend([("t", self.0.tile_size().to_string()), ("k", self.0.per_sample().to_string())]);
        params
    }

    fn work(&self) -> (&'static str, f64) {
        ("tiles_per_s", self.0.ids().len() as f64)
    }

    fn bytes_moved(&self, dtype: Dtype) -> Option<usize> {
        Some(2 * self.0.packed_elements() * dtype.bytes())
    }

    fn candidates(&self) -> Vec<Config> {
        CANDIDATES.to_vec()
    }

    fn program(&self, dtype: Dtype, form: Form) -> Program {
        let (map, packed) = (self.0.map(), self.0.packed_elements());
        let buffers = vec![
            launch::normal("map", dtype, map.elements(), 0),
            self.0.indices(),
            launch::output("packed", dtype, packed),
        ];
        let mut arguments = vec![Argument::Buffer(MAP), Argument::Buffer(INDICES), Argument::Buffer(PACKED)];
        arguments.extend([self.0.per_sample(), map.channels, map.height, map.width].map(launch::int));
        let steps = match form {
            _ if packed == 0 => Vec::new(),
            Form::Reference => {
                arguments.extend([launch::int(self.0.tile_size()), launch::long(packed)]);
                vec![launch::plain(FILE, "tile_pack_reference", dtype, packed, arguments)]
            }
            Form::Tuned(config) => vec![Step::Launch(tuned(&self.0, dtype, config, arguments))],
        };
        Program { buffers, steps }
    }

    fn expected(&self, dtype: Dtype, inputs: &Inputs) -> Result<Vec<Expected>, String> {
        with_element!(dtype, T => expected_of::<T>(&self.0, inputs))
    }

    fn uneven(&self) -> Vec<Operation> {
        shapes::uneven_tiles().into_iter().map(|tiles| Operation::new(TilePack(tiles))).collect()
    }
}

fn tuned(shape: &Tiled, dtype: Dtype, config: Config, arguments: Vec<Argument>) -> Launch {
    let (map, side) = (shape.map(), shape.tile_size());
    let Config { block, unroll, chunk: group, .. } = config;
    let vector = launch::vector(config, dtype, side);
    let vectors = map.channels * side * side * dtype.bytes() / vector as usize;
    let step = (block / group * unroll) as usize;
    let grid = [shape.per_sample().div_ceil(group as usize), vectors.div_ceil(step), map.batch].map(launch::count);
    let tile = launch::count(side);
    let defines =
        BTreeMap::from([("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("GROUP", group), ("TILE", tile)]);
    Launch { kernel: Kernel { file: FILE, entry: "tile_pack", dtype, defines }, grid, block, shared: 0, arguments }
}

fn expected_of<T: Element + Stored>(shape: &Tiled, inputs: &Inputs) -> Result<Vec<Expected>, String> {
    let (map, indices) = (inputs.elements::<T>(MAP)?, inputs.ids(INDICES)?);
    let mut packed = vec![T::default(); shape.packed_elements()];
    pack::reference(&map, shape.map(), shape.tile_size(), &indices, &mut packed).map_err(|error| error.to_string())?;
    Ok(vec![Expected::new(PACKED, &packed, 0.0)])
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::*;

    #[test]
    fn every_form_covers_every_tile() {
        checks::names_are_distinct(CANDIDATES);
        for shape in checks::tiled_shapes() {
            checks::programs(
                CANDIDATES,
                |dtype, form| TilePack(shape.clone()).program(dtype, form),
                |launch, config| {
                    let [tiles, parts, batch] = launch.grid.map(|blocks| blocks as usize);
                    let vector = launch.kernel.defines["VECTOR"] as usize;
                    let vectors = shape.map().channels * shape.tile_size().pow(2);
                    let bytes = vectors * launch.kernel.dtype.bytes();
                    let (group, step) = (config.chunk as usize, (config.block / config.chunk * config.unroll) as usize);
                    assert!(32 % group == 0 && config.block % 32 == 0);
                    assert!(tiles * group >= shape.per_sample() && (tiles - 1) * group < shape.per_sample());
                    assert!(parts * step * vector >= bytes && (parts - 1) * step * vector < bytes);
                    assert_eq!(batch, shape.map().batch);
                    assert_eq!((shape.tile_size() * launch.kernel.dtype.bytes()) % vector, 0);
                },
            );
        }
    }

    #[test]
    fn the_expected_tiles_are_those_of_the_reference() {
        let shape = checks::tiled_shapes().remove(0);
        let program = TilePack(shape.clone()).program(Dtype::F16, Form::Reference);
        let inputs = checks::inputs(&program);
        let [expected] = &TilePack(shape.clone()).expected(Dtype::F16, &inputs).unwrap()[..] else {
            panic!("one output")
        };
        assert_eq!((expected.buffer, expected.tolerance), (PACKED, 0.0));
        assert_eq!(expected.values.len(), program.buffers[PACKED].count);
    }
}
