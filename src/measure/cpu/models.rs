//! The small inference model, and the feature-fusion module end to end.

use super::check::{CpuKernel, Form, Make, MakeError, Runnable};
use super::inputs;
use super::tiles::{WIDE, map_bytes, map_params};
use crate::calibration::Calibration;
use crate::workload::Class;
use sprag_kernels::KernelError;
use sprag_kernels::ff::{self, FfConfig, Outputs, Parameters, Proxy, Workspace};
use sprag_kernels::infer::{self, Model};
use sprag_kernels::shape::{Grid, MapShape};

const IMAGE: MapShape = MapShape { batch: 1, channels: 3, height: 128, width: 128 };

/// What the feature-fusion module chooses, and at which price.
const FF: FfConfig = FfConfig {
    tile_size_l0: 16,
    tile_size_l1: 8,
    kmax_l0: 32,
    kmax_l1: 64,
    budget_b1: 16.0,
    budget_b2: 8.0,
    cost_heavy: 1.0,
    cost_cheap: 0.2,
    split_overhead: 1.0,
};

pub(super) fn kernels() -> Vec<CpuKernel> {
    let frames = ("frames_per_s", 1.0);
    let mut ff_params = map_params(WIDE);
    ff_params.push(("kmax", FF.kmax_l0.to_string()));
    vec![
        CpuKernel {
            name: "infer",
            params: map_params(IMAGE),
            work: frames,
            tolerance: 0.0,
            forms: &[Form::Reference],
            class: Class::Compute,
            companion: Calibration::MultiplyAdd,
            limit: None,
            configurations: Vec::new(),
            make: infer_model,
        },
        CpuKernel {
            name: "ff_path",
            params: ff_params,
            work: frames,
            tolerance: 2e-4,
            forms: &[Form::Reference, Form::Fast],
            class: Class::Dram,
            companion: Calibration::Copy { bytes: map_bytes(WIDE) },
            limit: None,
            configurations: Vec::new(),
            make: ff_path,
        },
    ]
}

/// The model is made anew a check, so its hysteresis starts from nothing; the timed calls carry it on, as in use.
fn infer_model(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    let image = inputs::uniform(IMAGE.elements(), 0.0, 1.0, wanted.seed);
    let mut model = Model::new(IMAGE)?;
    let length = infer::reference(&image, &mut model)?.merged.len();
    Runnable::new(length, move |output| {
        output.copy_from_slice(&infer::reference(&image, &mut model)?.merged);
        Ok(())
    })
}

fn ff_path(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
    let Make { form, seed, .. } = *wanted;
    let tiles = Grid::of_map(WIDE, FF.tile_size_l0)?.tiles() as usize;
    let dense = inputs::normal(WIDE.elements(), seed.wrapping_add(101));
    let utilities = inputs::normal(tiles, seed.wrapping_add(102));
    let split_utilities = inputs::normal(tiles, seed.wrapping_add(103));
    let boundary = inputs::uniform(WIDE.pixels(), 0.0, 1.0, seed.wrapping_add(104));
    let uncertainty = inputs::uniform(WIDE.pixels(), 0.0, 1.0, seed.wrapping_add(105));
    let parameters = parameters(seed.wrapping_add(17))?;
    let (mut outputs, mut workspace) = (Outputs::default(), Workspace::default());
    Runnable::new(WIDE.elements(), move |output| {
        let proxy = |values| Some(Proxy { values, height: WIDE.height, width: WIDE.width });
        let inputs = ff::FfInputs {
            dense: &dense,
            shape: WIDE,
            utilities: &utilities,
            split_utilities: Some(&split_utilities),
            boundary: proxy(&boundary),
            uncertainty: proxy(&uncertainty),
        };
        match form {
            Form::Reference => ff::reference(&inputs, &FF, &parameters, &mut outputs, &mut workspace)?,
            Form::Fast | Form::TwoThreads => ff::fast(&inputs, &FF, &parameters, &mut outputs, &mut workspace)?,
        }
        output.copy_from_slice(&outputs.heavy_features);
        Ok(())
    })
}

/// Weights of a size that keeps activations near one: uniform within ± 1 / sqrt(inputs of the layer); the scales of
/// norms are one, all that a fresh module starts at zero is zero.
fn parameters(seed: u64) -> Result<Parameters, KernelError> {
    let shapes = ff::tensors(WIDE.channels);
    Parameters::read(WIDE.channels, |name| {
        let position = shapes.iter().position(|shape| shape.name == name)?;
        let shape = &shapes[position];
        let fan_in: usize = shape.shape.iter().skip(1).product();
        let seed = seed.wrapping_add(position as u64);
        Some(match () {
            () if name.ends_with("norm.weight") => vec![1.0; shape.elements()],
            () if name.contains("log_weight") => vec![1.0; shape.elements()],
            () if name.ends_with(".weight") => {
                let bound = 1.0 / (fan_in as f64).sqrt();
                inputs::uniform(shape.elements(), -bound, bound, seed).to_vec()
            }
            () => vec![0.0; shape.elements()],
        })
    })
}
