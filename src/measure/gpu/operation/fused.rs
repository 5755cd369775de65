//! The fused pack, operate, unpack on the device: `kernels/fused.cu`.

use super::super::program::{Argument, DeviceProgram, Dtype};
use super::super::settings::Profile;
use super::builder::{Call, ProgramBuilder, buffers, int, kernel, long, vector};
use super::inputs::with_element;
use super::kernel::{Code, Operation, exact};
use super::tiled::{self, Draw, Tiled};
use super::{Expected, Form, HostInputs, LaunchConfig, Stored};
use sprag_kernels::element::Element;
use sprag_kernels::fused::{self, Affine, Choice, Scratch};

/// The configurations worth trying, the one used untuned first. Here a block has `chunk` times as many vectors as its
/// threads have under way together.
const CANDIDATES: &[LaunchConfig] = &[
    LaunchConfig::new(256, 16, 4, 1),
    LaunchConfig::new(256, 16, 2, 2),
    LaunchConfig::new(128, 16, 4, 1),
    LaunchConfig::new(256, 16, 4, 4),
    LaunchConfig::new(256, 16, 4, 16),
    LaunchConfig::new(512, 16, 2, 4),
    LaunchConfig::new(256, 8, 4, 4),
];

/// The gate of the timed operation: scales and biases that leave no part of it out.
const AFFINE: Affine = Affine { value_scale: 1.25, value_bias: 0.1, gate_scale: 0.75, gate_bias: 0.2 };

const FILE: &str = "fused.cu";

const MAP: usize = 0;
const INDICES: usize = 1;
const MERGED: usize = 2;

pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    Tiled::of_profile(profile).into_iter().map(fused_pack_op_unpack).collect()
}

fn fused_pack_op_unpack(tiles: Tiled) -> Operation {
    Operation {
        name: "fused_pack_op_unpack",
        params: tiles.params(),
        work: ("tiles_per_s", tiles.ids().len() as f64),
        elements_moved: Some(2 * tiles.map().elements()),
        candidates: CANDIDATES.to_vec(),
        tolerance: exact,
        selection: None,
        // Its tiles are distinct.
        code: Code::new(tiles, program, expected, |_| {
            tiled::UNEVEN_MAPS
                .into_iter()
                .filter_map(|sizes| tiled::uneven(sizes, Draw::Distinct))
                .map(fused_pack_op_unpack)
                .collect()
        }),
    }
}

fn program(tiles: &Tiled, dtype: Dtype, form: Form) -> DeviceProgram {
    let (map, side) = (tiles.map(), tiles.tile_size());
    let mut program = ProgramBuilder::new(dtype);
    let places = [
        program.normal("map", map.elements()),
        program.integers("indices", tiles.indices()),
        program.output("merged", map.elements()),
    ];
    let Affine { value_scale, value_bias, gate_scale, gate_bias } = AFFINE;
    let affine = [value_scale, value_bias, gate_scale, gate_bias].map(Argument::F32);
    let mut arguments = buffers(&places);
    arguments.extend([tiles.per_sample(), map.channels, map.height, map.width].map(int));
    match form {
        Form::Reference => {
            arguments.push(int(side));
            arguments.extend(affine);
            arguments.push(long(map.elements()));
            program.plain(FILE, "fused_reference", map.elements(), arguments);
        }
        Form::Tuned(config) => {
            let LaunchConfig { block, unroll, chunk, .. } = config;
            let vector = vector(config, dtype, side);
            let bands = tiles.bands(vector as usize / dtype.bytes(), (block * unroll * chunk) as usize);
            arguments.extend(affine);
            arguments.extend(bands.sizes().map(int));
            let defines = [("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("TILE", side as u32)];
            let kernel = kernel(FILE, "fused", dtype, &defines);
            let shared = bands.cells * size_of::<i32>();
            program.launch(Call { kernel, grid: bands.grid, block, shared }, arguments);
        }
    }
    program.finish()
}

fn expected(tiles: &Tiled, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<Expected>, String> {
    with_element!(dtype, T => expected_elements::<T>(tiles, inputs))
}

fn expected_elements<T: Element + Stored>(tiles: &Tiled, inputs: &HostInputs) -> Result<Vec<Expected>, String> {
    let (map, indices) = (inputs.elements::<T>(MAP)?, inputs.ids(INDICES)?);
    let choice = Choice { indices: &indices, tile_size: tiles.tile_size(), require_unique: false };
    let mut merged = vec![T::default(); tiles.map().elements()];
    fused::reference(&map, tiles.map(), &choice, &AFFINE, &mut merged, &mut Scratch::default())
        .map_err(|error| error.to_string())?;
    Ok(vec![Expected::new(MERGED, &merged, 0.0)])
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::*;

    #[test]
    fn every_form_covers_the_map() {
        for tiles in tiled::uneven_tiles() {
            checks::launches(&fused_pack_op_unpack(tiles.clone()), |launch, _| {
                let cells = checks::bands_cover(&tiles, launch, 11);
                assert_eq!(launch.shared as usize, cells * 4);
            });
        }
    }
}
