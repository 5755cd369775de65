//! TilePack on the device: `kernels/tile_pack.cu`.

use super::super::program::{DeviceProgram, Dtype};
use super::super::settings::Profile;
use super::builder::{Call, ProgramBuilder, buffers, int, kernel, long, vector};
use super::inputs::with_element;
use super::kernel::{Code, Operation, exact};
use super::tiled::{self, Tiled};
use super::{Expected, Form, HostInputs, LaunchConfig, Stored};
use sprag_kernels::element::Element;
use sprag_kernels::tile::pack;

/// The configurations worth trying, the one used untuned first. Here `chunk` is the number of tiles that a warp reads
/// together.
const CANDIDATES: &[LaunchConfig] = &[
    LaunchConfig::new(256, 16, 4, 2),
    LaunchConfig::new(256, 16, 4, 1),
    LaunchConfig::new(256, 16, 2, 2),
    LaunchConfig::new(128, 16, 4, 4),
    LaunchConfig::new(256, 16, 8, 2),
    LaunchConfig::new(512, 16, 2, 2),
    LaunchConfig::new(256, 16, 4, 8),
    LaunchConfig::new(256, 8, 4, 1),
];

const FILE: &str = "tile_pack.cu";

const MAP: usize = 0;
const INDICES: usize = 1;
const PACKED: usize = 2;

pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    Tiled::of_profile(profile).into_iter().map(tile_pack).collect()
}

pub fn tile_pack(tiles: Tiled) -> Operation {
    Operation {
        name: "tile_pack",
        params: tiles.params(),
        work: ("tiles_per_s", tiles.ids().len() as f64),
        elements_moved: Some(2 * tiles.packed_elements()),
        candidates: CANDIDATES.to_vec(),
        tolerance: exact,
        selection: None,
        code: Code::new(tiles, program, expected, |_| tiled::uneven_tiles().into_iter().map(tile_pack).collect()),
    }
}

fn program(tiles: &Tiled, dtype: Dtype, form: Form) -> DeviceProgram {
    let (map, packed, side) = (tiles.map(), tiles.packed_elements(), tiles.tile_size());
    let mut program = ProgramBuilder::new(dtype);
    let places = [
        program.normal("map", map.elements()),
        program.integers("indices", tiles.indices()),
        program.output("packed", packed),
    ];
    let mut arguments = buffers(&places);
    arguments.extend([tiles.per_sample(), map.channels, map.height, map.width].map(int));
    match form {
        _ if packed == 0 => {}
        Form::Reference => {
            arguments.extend([int(side), long(packed)]);
            program.plain(FILE, "tile_pack_reference", packed, arguments);
        }
        Form::Tuned(config) => {
            let LaunchConfig { block, unroll, chunk: group, .. } = config;
            let vector = vector(config, dtype, side);
            let vectors = map.channels * side * side * dtype.bytes() / vector as usize;
            let step = (block / group * unroll) as usize;
            let grid = [tiles.per_sample().div_ceil(group as usize), vectors.div_ceil(step), map.batch];
            let defines =
                [("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("GROUP", group), ("TILE", side as u32)];
            let kernel = kernel(FILE, "tile_pack", dtype, &defines);
            program.launch(Call { kernel, grid, block, shared: 0 }, arguments);
        }
    }
    program.finish()
}

fn expected(tiles: &Tiled, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<Expected>, String> {
    with_element!(dtype, T => expected_elements::<T>(tiles, inputs))
}

fn expected_elements<T: Element + Stored>(tiles: &Tiled, inputs: &HostInputs) -> Result<Vec<Expected>, String> {
    let (map, indices) = (inputs.elements::<T>(MAP)?, inputs.ids(INDICES)?);
    let mut packed = vec![T::default(); tiles.packed_elements()];
    pack::reference(&map, tiles.map(), tiles.tile_size(), &indices, &mut packed).map_err(|error| error.to_string())?;
    Ok(vec![Expected::new(PACKED, &packed, 0.0)])
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::*;

    #[test]
    fn every_form_covers_every_tile() {
        for tiles in tiled::uneven_tiles() {
            checks::launches(&tile_pack(tiles.clone()), |launch, config| {
                let [groups, parts, batch] = launch.grid.map(|blocks| blocks as usize);
                let vector = launch.kernel.defines["VECTOR"] as usize;
                let bytes = tiles.map().channels * tiles.tile_size().pow(2) * launch.kernel.dtype.bytes();
                let (group, step) = (config.chunk as usize, (config.block / config.chunk * config.unroll) as usize);
                assert!(32 % group == 0 && config.block % 32 == 0);
                assert!(groups * group >= tiles.per_sample() && (groups - 1) * group < tiles.per_sample());
                assert!(parts * step * vector >= bytes && (parts - 1) * step * vector < bytes);
                assert_eq!(batch, tiles.map().batch);
                assert_eq!((tiles.tile_size() * launch.kernel.dtype.bytes()) % vector, 0);
            });
        }
    }
}
