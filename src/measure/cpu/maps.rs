//! FusionGate and the TileSSM scan.

use super::check::{CpuKernel, Form, Make, MakeError, Runnable, names};
use super::inputs;
use super::tiles::{SMALL, WIDE, map_bytes, map_params};
use crate::calibration::Calibration;
use crate::workload::{Class, Limit};
use sprag_kernels::fusion::{self, Gate};
use sprag_kernels::scan::{self, DEFAULT_CLAMP, Direction, Parameters, ScanShape};
use sprag_kernels::shape::MapShape;

const SCAN: ScanShape = ScanShape { batch: 1, steps: 256, channels: 128 };

const SCAN_BYTES: usize = SCAN.batch * SCAN.steps * SCAN.channels * size_of::<f32>();

pub(super) fn kernels() -> Vec<CpuKernel> {
    let gate = |shape: MapShape, forms, make| CpuKernel {
        name: "fusion_gate",
        params: map_params(shape),
        work: ("elements_per_s", shape.elements() as f64),
        tolerance: 2e-6,
        forms,
        class: Class::Dram,
        companion: Calibration::Triad { bytes: map_bytes(shape) },
        limit: Some(Limit {
            kernel: Calibration::Triad { bytes: map_bytes(shape) },
            bytes: 3.0 * map_bytes(shape) as f64 + 3.0 * (shape.pixels() * size_of::<f32>()) as f64,
        }),
        configurations: names(fusion::CANDIDATES, fusion::FusionConfig::name),
        make,
    };
    let scan = CpuKernel {
        name: "tile_ssm_scan",
        params: vec![
            ("b", SCAN.batch.to_string()),
            ("c", SCAN.channels.to_string()),
            ("steps", SCAN.steps.to_string()),
            ("direction", "forward".to_owned()),
        ],
        work: ("tokens_per_s", (SCAN.batch * SCAN.steps) as f64),
        tolerance: 1e-5,
        forms: &[Form::Reference, Form::Fast, Form::TwoThreads],
        class: Class::Compute,
        companion: Calibration::MultiplyAdd,
        limit: Some(Limit { kernel: Calibration::Copy { bytes: SCAN_BYTES }, bytes: 2.0 * SCAN_BYTES as f64 }),
        configurations: names(scan::CANDIDATES, scan::ScanConfig::name),
        make: scan_forward,
    };
    vec![
        gate(SMALL, &[Form::Reference, Form::Fast], gate_small),
        gate(WIDE, &[Form::Reference, Form::Fast, Form::TwoThreads], gate_wide),
        scan,
    ]
}

fn gate_small(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    gate(SMALL, wanted)
}

fn gate_wide(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    gate(WIDE, wanted)
}

fn gate(shape: MapShape, wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    let Make { form, seed, .. } = *wanted;
    let (config, pool) = (wanted.configured(fusion::CANDIDATES, fusion::FusionConfig::name)?, wanted.pool()?);
    let base = inputs::normal(shape.elements(), seed);
    let detail = inputs::normal(shape.elements(), seed.wrapping_add(1));
    let boundary = inputs::uniform(shape.pixels(), 0.0, 1.0, seed.wrapping_add(2));
    let uncertainty = inputs::uniform(shape.pixels(), 0.0, 1.0, seed.wrapping_add(3));
    Runnable::new(shape.pixels() + shape.elements(), move |output| {
        let (alpha, fused) = output.split_at_mut(shape.pixels());
        let inputs =
            fusion::FusionInputs { base: &base, detail: &detail, boundary: &boundary, uncertainty: &uncertainty };
        let gate = Gate::default();
        match (form, &pool) {
            (Form::Reference, _) => fusion::reference(&inputs, shape, &gate, alpha, fused),
            (_, None) => fusion::tuned(config, &inputs, shape, &gate, alpha, fused),
            (_, Some(pool)) => pool.install(|| fusion::parallel(config, &inputs, shape, &gate, alpha, fused)),
        }
    })
}

fn scan_forward(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    let Make { form, seed, .. } = *wanted;
    let (config, pool) = (wanted.configured(scan::CANDIDATES, scan::ScanConfig::name)?, wanted.pool()?);
    let tokens = inputs::normal(SCAN.elements(), seed);
    let of_channel = |low, high, offset: u64| inputs::uniform(SCAN.channels, low, high, seed.wrapping_add(offset));
    let (decay, input_gain, output_gain) =
        (of_channel(0.1, 0.9, 7), of_channel(0.05, 1.55, 8), of_channel(0.05, 1.55, 9));
    let state_bias: Vec<f32> =
        inputs::normal(SCAN.channels, seed.wrapping_add(10)).iter().map(|value| 0.1 * value).collect();
    let mut scratch = scan::Scratch::default();
    Runnable::new(SCAN.elements() + SCAN.states(), move |output| {
        let (y, final_state) = output.split_at_mut(SCAN.elements());
        let inputs = scan::ScanInputs { tokens: &tokens, shape: SCAN, init_state: None, clamp: DEFAULT_CLAMP };
        let parameters =
            Parameters { decay: &decay, input_gain: &input_gain, output_gain: &output_gain, state_bias: &state_bias };
        let direction = Direction::Forward(parameters);
        match (form, &pool) {
            (Form::Reference, _) => scan::reference(&inputs, &direction, y, final_state, &mut scratch),
            (_, None) => scan::tuned(config, &inputs, &direction, y, final_state, &mut scratch),
            (_, Some(pool)) => {
                pool.install(|| scan::parallel(config, &inputs, &direction, y, final_state, &mut scratch))
            }
        }
    })
}
