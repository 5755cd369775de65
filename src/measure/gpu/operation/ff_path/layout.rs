//! Where the buffers of a call stand, and what a path works with.

use super::super::super::program::{Content, Data, Distribution, Dtype};
use super::super::builder::ProgramBuilder;
use super::shape::FfPath;
use sprag_kernels::ff::{PathParameters, ScanParameters};
use sprag_kernels::fusion::softplus;
use sprag_kernels::shape::MapShape;

pub(super) struct Layout {
    /// Dense features, `[B,C,H,W]`.
    pub(super) dense: usize,
    /// Boundary and uncertainty, `[B,1,H,W]`.
    pub(super) proxies: [usize; 2],
    /// The path over the coarse tiles.
    pub(super) coarse: Level,
    /// The path over the fine tiles, where any are chosen.
    pub(super) fine: Option<Level>,
    /// Fused features of the last path, `[B,C,H,W]`.
    pub(super) features: usize,
    /// The gate of the last path, `[B,1,H,W]`.
    pub(super) alpha: usize,
    /// What the last path changed, `[B,C,H,W]`.
    pub(super) detail: usize,
}

pub(super) struct Level {
    /// The side of a tile, in pixels.
    pub(super) side: usize,
    pub(super) each: usize,
    /// The ids of the tiles, `[B,each]`; absent where there are none.
    pub(super) indices: Option<usize>,
    /// Decay, input gain, output gain, state bias of the forward scan, then of the backward scan.
    pub(super) scans: [[usize; 4]; 2],
    pub(super) merge_gate: usize,
    /// Weight and bias of the norm, of the hidden layer, and of the output layer.
    pub(super) film: [usize; 6],
    /// Weight and bias of the depthwise convolution, of the pointwise one, and of the norm.
    pub(super) refine: [usize; 6],
    pub(super) gate: [f32; 3],
}

/// Where a path reads its map and writes its results; of no interest are what is absent.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) input: usize,
    pub(super) features: usize,
    pub(super) alpha: Option<usize>,
    pub(super) detail: Option<usize>,
}

impl Layout {
    pub(super) fn add(builder: &mut ProgramBuilder, shape: &FfPath, dtype: Dtype) -> Self {
        let (map, element, selection) = (shape.map(), Data::Element(dtype), shape.selection());
        let parameters = shape.parameters();
        let unit = Distribution::Uniform(0.0, 1.0);
        Layout {
            dense: builder.random("dense", element, map.elements(), Distribution::Normal(1.0)),
            proxies: [
                builder.random("boundary", element, map.pixels(), unit),
                builder.random("uncertainty", element, map.pixels(), unit),
            ],
            coarse: Level::add(builder, shape.config().tile_size_l0, &selection.l0, parameters.l0(), map),
            fine: (!selection.l1.is_empty())
                .then(|| Level::add(builder, shape.config().tile_size_l1, &selection.l1, parameters.l1(), map)),
            features: builder.buffer("features", element, map.elements(), Content::Output),
            alpha: builder.buffer("alpha", element, map.pixels(), Content::Output),
            detail: builder.buffer("detail", element, map.elements(), Content::Output),
        }
    }

    pub(super) fn levels(&self, builder: &mut ProgramBuilder, map: MapShape, dtype: Dtype) -> Vec<(&Level, Ends)> {
        let last =
            Ends { input: self.dense, features: self.features, alpha: Some(self.alpha), detail: Some(self.detail) };
        let Some(fine) = &self.fine else {
            return vec![(&self.coarse, last)];
        };
        let between = builder.scratch("coarse features", Data::Element(dtype), map.elements());
        let first = Ends { features: between, alpha: None, detail: None, ..last };
        vec![(&self.coarse, first), (fine, Ends { input: between, ..last })]
    }
}

impl Level {
    fn add(
        builder: &mut ProgramBuilder,
        side: usize,
        tiles: &[i32],
        parameters: &PathParameters,
        map: MapShape,
    ) -> Self {
        let indices = (!tiles.is_empty())
            .then(|| builder.buffer("tiles", Data::I32, tiles.len(), Content::Integers(tiles.to_vec())));
        let mut floats =
            |name, values: &[f32]| builder.buffer(name, Data::F32, values.len(), Content::Floats(values.to_vec()));
        let mut scan = |scan: &ScanParameters| {
            [
                floats("decay", &scan.decay),
                floats("input gain", &scan.input_gain),
                floats("output gain", &scan.output_gain),
                floats("state bias", &scan.state_bias),
            ]
        };
        let scans = [scan(&parameters.forward), scan(&parameters.backward)];
        let (film, refine) = (&parameters.film, &parameters.refine);
        Level {
            side,
            each: tiles.len() / map.batch,
            indices,
            scans,
            merge_gate: floats("merge gate", &parameters.merge_gate),
            film: [
                floats("token norm weight", &film.norm_weight),
                floats("token norm bias", &film.norm_bias),
                floats("hidden weight", &film.hidden_weight),
                floats("hidden bias", &film.hidden_bias),
                floats("output weight", &film.output_weight),
                floats("output bias", &film.output_bias),
            ],
            refine: [
                floats("depthwise weight", &refine.depthwise_weight),
                floats("depthwise bias", &refine.depthwise_bias),
                floats("pointwise weight", &transposed(&refine.pointwise_weight, map.channels)),
                floats("pointwise bias", &refine.pointwise_bias),
                floats("norm weight", &refine.norm_weight),
                floats("norm bias", &refine.norm_bias),
            ],
            gate: [
                softplus(parameters.gate.boundary_log_weight),
                softplus(parameters.gate.uncertainty_log_weight),
                parameters.gate.bias,
            ],
        }
    }
}

/// Weights with their inputs first, so that threads beside one another read neighbouring ones.
fn transposed(weights: &[f32], inputs: usize) -> Vec<f32> {
    (0..inputs).flat_map(|input| weights.chunks_exact(inputs).map(move |row| row[input])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposed_matrix_has_its_inputs_first() {
        assert_eq!(transposed(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
