//! FusionGate on the device: `kernels/fusion_gate.cu`.

use crate::gpu::operation::kernel::{
    Call, Code, Operation, ProgramBuilder, arguments, int, kernel, long, moves, summed, vector, with_element,
};
use crate::gpu::operation::{ExpectedBuffer, GpuForm, HostInputs, LaunchConfig, tiled};
use crate::gpu::program::{Argument, DeviceProgram, Dtype};
use crate::gpu::settings::Profile;
use sprag_kernels::fusion::{self, Mix};
use sprag_kernels::shape::MapShape;

/// The untuned configuration first. Here `chunk` is the channels that a thread takes with one gate.
const CANDIDATES: &[LaunchConfig] = &[
    LaunchConfig::new(128, 16, 2, 8),
    LaunchConfig::new(256, 16, 2, 16),
    LaunchConfig::new(256, 16, 4, 16),
    LaunchConfig::new(128, 16, 4, 16),
    LaunchConfig::new(128, 16, 4, 4),
    LaunchConfig::new(256, 16, 1, 16),
    LaunchConfig::new(512, 16, 2, 32),
    LaunchConfig::new(256, 8, 4, 16),
];

const FILE: &str = "fusion_gate.cu";

const FUSED: usize = 4;
const ALPHA: usize = 5;

pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    vec![fusion_gate(profile.map())]
}

/// The gate over a map without a zero axis, whose planes fit 31 bits.
pub fn fusion_gate(map: MapShape) -> Operation {
    Operation {
        name: "fusion_gate",
        params: map.params(),
        work: ("elements_per_s", map.elements() as f64),
        bytes_moved: moves(3 * map.elements() + 3 * map.pixels()),
        candidates: CANDIDATES.to_vec(),
        tolerance: summed,
        selection: None,
        code: Code::new(map, program, expected, |_| {
            let map = |[batch, channels, rows, columns, side, _]: [usize; 6]| MapShape {
                batch,
                channels,
                height: rows * side,
                width: columns * side,
            };
            tiled::UNEVEN_MAPS.map(map).map(fusion_gate).to_vec()
        }),
    }
}

fn program(map: &MapShape, dtype: Dtype, form: GpuForm) -> DeviceProgram {
    let (map, gate) = (*map, Mix::default());
    let mut program = ProgramBuilder::new(dtype);
    let places = [
        program.normal("base", map.elements()),
        program.normal("detail", map.elements()),
        program.uniform("boundary", map.pixels()),
        program.uniform("uncertainty", map.pixels()),
        program.output("fused", map.elements()),
        program.output("alpha", map.pixels()),
    ];
    let weights = [gate.boundary_log_weight, gate.uncertainty_log_weight].map(fusion::softplus);
    let mut arguments = arguments(&places, &[weights[0], weights[1], gate.bias].map(Argument::F32));
    arguments.extend([int(map.channels), long(map.plane())]);
    match form {
        GpuForm::Reference => {
            arguments.push(long(map.elements()));
            program.plain(FILE, "fusion_gate_reference", map.elements(), arguments);
        }
        GpuForm::Tuned(config) => {
            let LaunchConfig { block, unroll, chunk, .. } = config;
            let vector = vector(config, dtype, map.plane());
            let vectors = map.plane() * dtype.bytes() / vector as usize;
            let grid = [vectors.div_ceil(block as usize), map.channels.div_ceil(chunk as usize), map.batch];
            let defines = [("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("CHUNK", chunk)];
            let kernel = kernel(FILE, "fusion_gate", dtype, &defines);
            program.launch(Call { kernel, grid, block, shared: 0 }, arguments);
        }
    }
    program.finish()
}

fn expected(map: &MapShape, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<ExpectedBuffer>, String> {
    let (fused_tolerance, alpha_tolerance) = tolerances(dtype);
    with_element!(dtype, T => {
        let (base, detail) = (inputs.elements::<T>(0)?, inputs.elements::<T>(1)?);
        let (boundary, uncertainty) = (inputs.elements::<T>(2)?, inputs.elements::<T>(3)?);
        let read =
            fusion::FusionInputs { base: &base, detail: &detail, boundary: &boundary, uncertainty: &uncertainty };
        let (mut fused, mut alpha) = (vec![T::default(); map.elements()], vec![T::default(); map.pixels()]);
        fusion::run(sprag_kernels::Form::Reference, &read, *map, &Mix::default(), &mut alpha, &mut fused)
            .map_err(|error| error.to_string())?;
        Ok(vec![ExpectedBuffer::new(FUSED, &fused, fused_tolerance), ExpectedBuffer::new(ALPHA, &alpha, alpha_tolerance)])
    })
}

/// How far the fused map and the gate may be from the reference.
///
/// The exponential functions and divisions of the two sides differ in their last digits. That moves the gate by 4e-7, so
/// a gate near the middle of two numbers of the element type may be rounded to the other, half the distance of neighbours
/// at one away. Fused follows by the difference of the two maps, for which seven is allowed: inputs end at 3.5.
fn tolerances(dtype: Dtype) -> (f64, f64) {
    let step = dtype.epsilon() / 2.0;
    if dtype == Dtype::F32 { (4e-6, 1e-6) } else { (7.0 * step, step) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::operation::checks;

    #[test]
    fn a_gate_of_proxies_above_zero_is_above_a_half() {
        let operation = fusion_gate(MapShape { batch: 2, channels: 5, height: 7, width: 9 });
        let inputs = checks::inputs(&operation.program(Dtype::F32, GpuForm::Reference));
        let expected = operation.expected(Dtype::F32, &inputs).unwrap();
        assert!(expected[1].values.iter().all(|alpha| (0.5..1.0).contains(alpha)));
    }
}
