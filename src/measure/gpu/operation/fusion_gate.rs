//! FusionGate on the device: `kernels/fusion_gate.cu`.

use super::super::program::{Argument, Dtype, Kernel, Launch, Program, Step};
use super::super::settings::Profile;
use super::inputs::with_element;
use super::kernel::{CudaKernel, Operation, map_params, summed_tolerance};
use super::shapes;
use super::{Config, Expected, Form, Inputs, Stored, launch};
use sprag_kernels::element::Element;
use sprag_kernels::fusion::{self, Gate};
use sprag_kernels::shape::MapShape;
use std::collections::BTreeMap;

/// The configurations worth trying, the one used untuned first. Here `chunk` is the number of channels that a thread
/// takes with one gate.
const CANDIDATES: &[Config] = &[
    Config { block: 128, vector: 16, unroll: 2, chunk: 8 },
    Config { block: 256, vector: 16, unroll: 2, chunk: 16 },
    Config { block: 256, vector: 16, unroll: 4, chunk: 16 },
    Config { block: 128, vector: 16, unroll: 4, chunk: 16 },
    Config { block: 128, vector: 16, unroll: 4, chunk: 4 },
    Config { block: 256, vector: 16, unroll: 1, chunk: 16 },
    Config { block: 512, vector: 16, unroll: 2, chunk: 32 },
    Config { block: 256, vector: 8, unroll: 4, chunk: 16 },
];

const FILE: &str = "fusion_gate.cu";

const FUSED: usize = 4;
const ALPHA: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FusionGate {
    /// The shape of the map; no axis is zero, and its planes fit 31 bits.
    pub map: MapShape,
    pub gate: Gate,
}

pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    vec![Operation::new(FusionGate { map: shapes::map(profile), gate: Gate::default() })]
}

impl CudaKernel for FusionGate {
    fn name(&self) -> &'static str {
        "fusion_gate"
    }

    fn params(&self) -> Vec<(&'static str, String)> {
        map_params(self.map)
    }

    fn work(&self) -> (&'static str, f64) {
        ("elements_per_s", self.map.elements() as f64)
    }

    fn bytes_moved(&self, dtype: Dtype) -> Option<usize> {
        Some((3 * self.map.elements() + 3 * self.map.pixels()) * dtype.bytes())
    }

    fn candidates(&self) -> Vec<Config> {
        CANDIDATES.to_vec()
    }

    fn program(&self, dtype: Dtype, form: Form) -> Program {
        let FusionGate { map, gate } = *self;
        let buffers = vec![
            launch::normal("base", dtype, map.elements(), 0),
            launch::normal("detail", dtype, map.elements(), 1),
            launch::uniform("boundary", dtype, map.pixels(), 2),
            launch::uniform("uncertainty", dtype, map.pixels(), 3),
            launch::output("fused", dtype, map.elements()),
            launch::output("alpha", dtype, map.pixels()),
        ];
        let mut arguments: Vec<Argument> = (0..buffers.len()).map(Argument::Buffer).collect();
        let weights = [gate.boundary_log_weight, gate.uncertainty_log_weight].map(fusion::softplus);
        arguments.extend([weights[0], weights[1], gate.bias].map(Argument::F32));
        arguments.extend([launch::int(map.channels), launch::long(map.plane())]);
        let step = match form {
            Form::Reference => {
                arguments.push(launch::long(map.elements()));
                launch::plain(FILE, "fusion_gate_reference", dtype, map.elements(), arguments)
            }
            Form::Tuned(config) => Step::Launch(tuned(map, dtype, config, arguments)),
        };
        Program { buffers, steps: vec![step] }
    }

    fn expected(&self, dtype: Dtype, inputs: &Inputs) -> Result<Vec<Expected>, String> {
        with_element!(dtype, T => expected_of::<T>(self, dtype, inputs))
    }

    fn tolerance(&self, dtype: Dtype) -> f64 {
        summed_tolerance(dtype)
    }

    fn uneven(&self) -> Vec<Operation> {
        let with = |[batch, channels, rows, columns, side, _]: [usize; 6]| FusionGate {
            map: MapShape { batch, channels, height: rows * side, width: columns * side },
            ..*self
        };
        shapes::UNEVEN_MAPS.into_iter().map(with).map(Operation::new).collect()
    }
}

fn tuned(map: MapShape, dtype: Dtype, config: Config, arguments: Vec<Argument>) -> Launch {
    let Config { block, unroll, chunk, .. } = config;
    let vector = launch::vector(config, dtype, map.plane());
    let vectors = map.plane() * dtype.bytes() / vector as usize;
    let grid = [vectors.div_ceil(block as usize), map.channels.div_ceil(chunk as usize), map.batch].map(launch::count);
    let defines = BTreeMap::from([("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("CHUNK", chunk)]);
    Launch { kernel: Kernel { file: FILE, entry: "fusion_gate", dtype, defines }, grid, block, shared: 0, arguments }
}

fn expected_of<T: Element + Stored>(
    shape: &FusionGate,
    dtype: Dtype,
    inputs: &Inputs,
) -> Result<Vec<Expected>, String> {
    let (base, detail) = (inputs.elements::<T>(0)?, inputs.elements::<T>(1)?);
    let (boundary, uncertainty) = (inputs.elements::<T>(2)?, inputs.elements::<T>(3)?);
    let read = fusion::Inputs { base: &base, detail: &detail, boundary: &boundary, uncertainty: &uncertainty };
    let mut fused = vec![T::default(); shape.map.elements()];
    let mut alpha = vec![T::default(); shape.map.pixels()];
    fusion::reference(&read, shape.map, &shape.gate, &mut alpha, &mut fused).map_err(|error| error.to_string())?;
    let (of_fused, of_alpha) = tolerances(dtype);
    Ok(vec![Expected::new(FUSED, &fused, of_fused), Expected::new(ALPHA, &alpha, of_alpha)])
}

/// How far the fused map and the gate may be from the reference.
///
/// The exponential functions and the divisions of the two sides differ in their last digits. That moves the gate by
/// 4e-7, and where it lies near the middle of two numbers of the element type it is rounded to the other, one step below
/// 1 away. Fused follows by the difference of the two maps, for which seven is allowed: inputs are normal and end at 3.5.
fn tolerances(dtype: Dtype) -> (f64, f64) {
    let step = match dtype {
        Dtype::F32 => return (4e-6, 1e-6),
        Dtype::F16 => 1.0 / 2048.0,
        Dtype::Bf16 => 1.0 / 256.0,
        Dtype::E4m3 => 1.0 / 16.0,
    };
    (7.0 * step, step)
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::*;

    fn shapes() -> Vec<FusionGate> {
        let shape = |(batch, channels, height, width)| FusionGate {
            map: MapShape { batch, channels, height, width },
            gate: Gate::default(),
        };
        [(1, 1, 1, 1), (2, 5, 7, 9), (1, 17, 16, 16), (3, 33, 6, 130)].map(shape).to_vec()
    }

    #[test]
    fn every_form_covers_all_pixels_of_all_channels() {
        checks::names_are_distinct(CANDIDATES);
        for shape in shapes() {
            checks::programs(
                CANDIDATES,
                |dtype, form| shape.program(dtype, form),
                |launch, config| {
                    let [pieces, groups, samples] = launch.grid.map(|blocks| blocks as usize);
                    let vector = launch.kernel.defines["VECTOR"] as usize;
                    let (bytes, piece) =
                        (shape.map.plane() * launch.kernel.dtype.bytes(), launch.block as usize * vector);
                    assert!(bytes % vector == 0 && pieces * piece >= bytes && (pieces - 1) * piece < bytes);
                    let (chunk, channels) = (config.chunk as usize, shape.map.channels);
                    assert!(groups * chunk >= channels && (groups - 1) * chunk < channels);
                    assert_eq!(samples, shape.map.batch);
                },
            );
        }
    }

    #[test]
    fn the_expected_outputs_have_their_places() {
        for shape in shapes() {
            let program = shape.program(Dtype::F32, Form::Reference);
            let expected = shape.expected(Dtype::F32, &checks::inputs(&program)).unwrap();
            for expected in &expected {
                assert_eq!(expected.values.len(), program.buffers[expected.buffer].count);
            }
            assert!(expected[1].values.iter().all(|alpha| (0.5..1.0).contains(alpha)));
        }
    }
}
