//! One heavy path: pack, scan, modulate, refine, unpack, gate.

use crate::ff::parameters::{Film, PathParameters, Refine};
use crate::ordering::{OrderMode, order};
use crate::scan::{self, DEFAULT_CLAMP, Merge, ScanOrder, ScanShape};
use crate::shape::{Grid, MapShape, check_length};
use crate::tile::unpack_priority::{self, PriorityRule};
use crate::tile::{Overlap, Placement, Tiles, pack};
use crate::{Form, KernelError, fusion};

#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    pub(super) shape: MapShape,
    pub(super) tile_size: usize,
    pub(super) parameters: &'a PathParameters,
    /// Boundary and uncertainty, `[B,1,H,W]`.
    pub(super) proxies: (&'a [f32], &'a [f32]),
    pub(super) form: Form<()>,
}

/// `alpha` is `[B,1,H,W]`, the others are `[B,C,H,W]`.
pub(super) struct Results<'a> {
    pub(super) fused: &'a mut [f32],
    pub(super) alpha: &'a mut [f32],
    pub(super) detail: &'a mut [f32],
}

#[derive(Clone, Debug, Default)]
pub(super) struct Workspace {
    heavy: Vec<f32>,
    indices: Vec<u32>,
    packed: Vec<f32>,
    priority_map: Vec<i8>,
    tokens: Vec<f32>,
    mixed: Vec<f32>,
    final_state: Vec<f32>,
    scan: scan::Buffers<f32>,
    tile: Scratch,
}

impl Path<'_> {
    /// Runs the path on `input`, `[B,C,H,W]`, with a list of tiles a sample.
    pub(super) fn run(
        &self,
        input: &[f32],
        rows: &[&[u32]],
        results: &mut Results<'_>,
        workspace: &mut Workspace,
    ) -> Result<(), KernelError> {
        workspace.heavy.resize(input.len(), 0.0);
        // Taken out so that the samples may be written while the rest of the workspace is borrowed.
        let mut heavy = std::mem::take(&mut workspace.heavy);
        let elements = self.shape.channels * self.shape.plane();
        let samples = input.chunks_exact(elements).zip(heavy.chunks_exact_mut(elements));
        for ((input, heavy), tiles) in samples.zip(rows) {
            self.compute(input, tiles, heavy, workspace)?;
        }
        let (boundary, uncertainty) = self.proxies;
        let inputs = fusion::FusionInputs { base: input, detail: &heavy, boundary, uncertainty };
        let gate = &self.parameters.gate;
        fusion::run(self.form.untuned(fusion::CANDIDATES), &inputs, self.shape, gate, results.alpha, results.fused)?;
        for (detail, (&fused, &input)) in results.detail.iter_mut().zip(results.fused.iter().zip(input)) {
            *detail = fused - input;
        }
        workspace.heavy = heavy;
        Ok(())
    }

    /// The heavy map of one sample, `[C,H,W]`, before the gate.
    fn compute(
        &self,
        input: &[f32],
        tiles: &[u32],
        heavy: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<(), KernelError> {
        if tiles.is_empty() {
            heavy.copy_from_slice(input);
            return Ok(());
        }
        let shape = MapShape { batch: 1, ..self.shape };
        let side = self.tile_size;
        let pixels = side * side;
        let Workspace { indices, packed, priority_map, tokens, mixed, final_state, .. } = workspace;
        indices.clear();
        indices.extend_from_slice(tiles);
        order(indices, Grid::of_map(shape, side)?, OrderMode::Hilbert)?;
        packed.resize(tiles.len() * shape.channels * pixels, 0.0);
        pack::run(self.form.untuned(pack::CANDIDATES), input, shape, side, indices, packed)?;

        tokens.clear();
        tokens.extend(packed.chunks_exact(pixels).map(|plane| plane.iter().sum::<f32>() / pixels as f32));
        mixed.resize(tokens.len(), 0.0);
        let scan_shape = ScanShape { batch: 1, steps: tiles.len(), channels: shape.channels };
        let direction = ScanOrder::Bidirectional {
            forward: self.parameters.forward.view(),
            backward: self.parameters.backward.view(),
            merge: Merge::Gated(Some(&self.parameters.merge_gate)),
        };
        final_state.resize(direction.final_states(scan_shape), 0.0);
        let inputs = scan::ScanInputs { tokens, shape: scan_shape, init_state: None, clamp: DEFAULT_CLAMP };
        let form = self.form.untuned(scan::CANDIDATES);
        scan::run(form, &inputs, &direction, mixed, final_state, &mut workspace.scan)?;

        let tokens = mixed.chunks_exact(shape.channels);
        for (tile, token) in packed.chunks_exact_mut(shape.channels * pixels).zip(tokens) {
            modulate(tile, token, &self.parameters.film, &mut workspace.tile);
            refine(tile, side, &self.parameters.refine, &mut workspace.tile);
        }

        priority_map.clear();
        priority_map.resize(shape.pixels(), 0);
        let tiles = Tiles { packed: packed.as_slice(), placement: Placement::Indices(indices), tile_size: side };
        let rule = PriorityRule { level_priority: 1, overlap: Overlap::Override };
        unpack_priority::run(self.form, input, shape, &tiles, rule, heavy, priority_map)
    }
}

const TOKEN_LIMIT: f32 = 1e4;
const NORM_EPSILON: f64 = 1e-5;

/// Working memory for one tile and its token, reused by later ones.
#[derive(Clone, Debug, Default)]
struct Scratch {
    token: Vec<f32>,
    hidden: Vec<f32>,
    output: Vec<f32>,
    depthwise: Vec<f32>,
    pointwise: Vec<f32>,
}

/// FiLM: modulates one tile, `[C, pixels]`, by its token, `[C]`.
///
/// NaN in the token becomes 0; the token is clamped to +-1e4, layer-normalised (epsilon 1e-5), passed through a linear
/// layer, SiLU and a second linear layer to `[2C]`. The hyperbolic tangent of the first half is gamma, the second half is
/// beta, and each channel of the tile becomes `tile * (1 + gamma) + beta`. (E. Perez et al., "FiLM: Visual Reasoning with a
/// General Conditioning Layer", AAAI 2018.)
fn modulate(tile: &mut [f32], token: &[f32], film: &Film, scratch: &mut Scratch) {
    let channels = token.len();
    scratch.token.clear();
    scratch.token.extend(token.iter().map(|&x| if x.is_nan() { 0.0 } else { x.clamp(-TOKEN_LIMIT, TOKEN_LIMIT) }));
    let normal = Normal::from_values(&scratch.token);
    for (value, (&weight, &bias)) in scratch.token.iter_mut().zip(film.norm_weight.iter().zip(&film.norm_bias)) {
        *value = normal.apply(*value) * weight + bias;
    }
    linear(&scratch.token, &film.hidden_weight, &film.hidden_bias, &mut scratch.hidden);
    for value in &mut scratch.hidden {
        *value /= 1.0 + (-*value).exp();
    }
    linear(&scratch.hidden, &film.output_weight, &film.output_bias, &mut scratch.output);
    let (gammas, betas) = scratch.output.split_at(channels);
    let planes = tile.chunks_exact_mut(tile.len() / channels);
    for (plane, (gamma, &beta)) in planes.zip(gammas.iter().zip(betas)) {
        let scale = 1.0 + gamma.tanh();
        for pixel in plane {
            *pixel = *pixel * scale + beta;
        }
    }
}

/// Mean and inverse standard deviation (population) of some values, summed in `f64`.
struct Normal {
    mean: f32,
    scale: f32,
}

impl Normal {
    fn from_values(values: &[f32]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / count;
        let variance = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / count;
        Normal { mean: mean as f32, scale: (1.0 / (variance + NORM_EPSILON).sqrt()) as f32 }
    }

    #[inline(always)]
    fn apply(&self, value: f32) -> f32 {
        (value - self.mean) * self.scale
    }
}

fn linear(input: &[f32], weight: &[f32], bias: &[f32], output: &mut Vec<f32>) {
    let dot = |row: &[f32]| row.iter().zip(input).map(|(&weight, &value)| weight * value).sum::<f32>();
    output.clear();
    output.extend(weight.chunks_exact(input.len()).zip(bias).map(|(row, &bias)| dot(row) + bias));
}

/// Refines one tile, `[C,t,t]`, in place: a small gated convolution with a residual.
///
/// A depthwise 3 by 3 convolution (zero padding at the border of the tile), a pointwise convolution to 2C channels,
/// group normalisation with one group over all of `[2C,t,t]` (epsilon 1e-5), and `a * max(b, 0)` of the two halves
/// added to the tile.
fn refine(tile: &mut [f32], tile_size: usize, refine: &Refine, scratch: &mut Scratch) {
    let pixels = tile_size * tile_size;
    scratch.depthwise.resize(tile.len(), 0.0);
    scratch.pointwise.resize(tile.len() * 2, 0.0);
    depthwise(tile, tile_size, refine, &mut scratch.depthwise);
    pointwise(&scratch.depthwise, pixels, refine, &mut scratch.pointwise);

    let normal = Normal::from_values(&scratch.pointwise);
    let (values, gates) = scratch.pointwise.split_at(tile.len());
    let planes = values.chunks_exact(pixels).zip(gates.chunks_exact(pixels));
    for (channel, (target, (values, gates))) in tile.chunks_exact_mut(pixels).zip(planes).enumerate() {
        let norm = |channel: usize| (refine.norm_weight[channel], refine.norm_bias[channel]);
        let (value_weight, value_bias) = norm(channel);
        let (gate_weight, gate_bias) = norm(channel + refine.depthwise_bias.len());
        for (pixel, (&value, &gate)) in target.iter_mut().zip(values.iter().zip(gates)) {
            let gate = normal.apply(gate) * gate_weight + gate_bias;
            *pixel += (normal.apply(value) * value_weight + value_bias) * gate.max(0.0);
        }
    }
}

fn depthwise(tile: &[f32], side: usize, refine: &Refine, convolved: &mut [f32]) {
    let pixels = side * side;
    let planes = tile.chunks_exact(pixels).zip(convolved.chunks_exact_mut(pixels));
    let filters = refine.depthwise_weight.chunks_exact(9).zip(&refine.depthwise_bias);
    for ((plane, target), (filter, &bias)) in planes.zip(filters) {
        target.fill(bias);
        for (tap, &weight) in filter.iter().enumerate() {
            // The tap reads `(y + down - 1, x + right - 1)`; pixels outside the tile are treated as zero.
            let (down, right) = (tap / 3, tap % 3);
            let columns = 1usize.saturating_sub(right)..(side + 1 - right).min(side);
            for y in 1usize.saturating_sub(down)..(side + 1 - down).min(side) {
                let source = &plane[(y + down - 1) * side..][..side];
                for x in columns.clone() {
                    target[y * side + x] += weight * source[x + right - 1];
                }
            }
        }
    }
}

fn pointwise(input: &[f32], pixels: usize, refine: &Refine, output: &mut [f32]) {
    let channels = refine.depthwise_bias.len();
    let rows = refine.pointwise_weight.chunks_exact(channels).zip(&refine.pointwise_bias);
    for (target, (weights, &bias)) in output.chunks_exact_mut(pixels).zip(rows) {
        target.fill(bias);
        for (plane, &weight) in input.chunks_exact(pixels).zip(weights) {
            for (sum, &value) in target.iter_mut().zip(plane) {
                *sum += weight * value;
            }
        }
    }
}

/// A plane a sample, `[B,1,height,width]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proxy<'a> {
    pub values: &'a [f32],
    pub height: usize,
    pub width: usize,
}

/// Resizes the proxy to the map by bilinear interpolation with aligned pixel centres; all ones where it is absent.
///
/// Pixel `i` of `n` reads `max((i + 0.5) * m / n - 0.5, 0)` on an axis of `m` pixels and mixes the two pixels around it;
/// beyond the last pixel the last counts.
pub(super) fn resize(
    proxy: Option<Proxy<'_>>,
    what: &'static str,
    shape: MapShape,
    resized: &mut Vec<f32>,
) -> Result<(), KernelError> {
    resized.clear();
    let Some(Proxy { values, height, width }) = proxy else {
        resized.resize(shape.pixels(), 1.0);
        return Ok(());
    };
    if height == 0 || width == 0 {
        return Err(KernelError::Empty { what });
    }
    let plane = height.saturating_mul(width);
    check_length(what, values.len(), shape.batch.saturating_mul(plane))?;
    if (height, width) == (shape.height, shape.width) {
        resized.extend_from_slice(values);
        return Ok(());
    }
    for sample in values.chunks_exact(plane) {
        for y in 0..shape.height {
            let rows = Between::new(y, height, shape.height);
            for x in 0..shape.width {
                let columns = Between::new(x, width, shape.width);
                let row =
                    |row: usize| columns.mix(sample[row * width + columns.low], sample[row * width + columns.high]);
                resized.push(rows.mix(row(rows.low), row(rows.high)));
            }
        }
    }
    Ok(())
}

/// A place between two pixels of an axis.
struct Between {
    low: usize,
    high: usize,
    fraction: f32,
}

impl Between {
    fn new(position: usize, from: usize, to: usize) -> Self {
        let centre = (position as f32 + 0.5) * (from as f32 / to as f32) - 0.5;
        let centre = centre.max(0.0);
        let low = (centre as usize).min(from - 1);
        Between { low, high: (low + 1).min(from - 1), fraction: centre - low as f32 }
    }

    fn mix(&self, low: f32, high: f32) -> f32 {
        (1.0 - self.fraction) * low + self.fraction * high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_are_not_finite_are_clamped() {
        let film = Film {
            norm_weight: vec![1.0; 2],
            norm_bias: vec![0.0; 2],
            hidden_weight: vec![1.0, 0.0, 0.0, 1.0],
            hidden_bias: vec![0.0; 2],
            output_weight: vec![1.0; 8],
            output_bias: vec![0.0; 4],
        };
        let run = |token: [f32; 2]| {
            let mut tile = [1.0, 2.0];
            modulate(&mut tile, &token, &film, &mut Scratch::default());
            tile
        };
        assert_eq!(run([f32::INFINITY, f32::NAN]), run([1e4, 0.0]));
        assert_eq!(run([f32::NEG_INFINITY, 2e4]), run([-1e4, 1e4]));
    }

    fn check(values: &[f32], size: (usize, usize), to: (usize, usize), expected: &[f32]) {
        let shape = MapShape { batch: 1, channels: 1, height: to.0, width: to.1 };
        let mut resized = Vec::new();
        let proxy = Proxy { values, height: size.0, width: size.1 };
        resize(Some(proxy), "boundary", shape, &mut resized).unwrap();
        assert_eq!(resized, expected);
    }

    #[test]
    fn centres_are_aligned_and_borders_repeat() {
        check(&[0.0, 4.0], (1, 2), (1, 4), &[0.0, 1.0, 3.0, 4.0]);
        check(&[0.0, 4.0], (2, 1), (4, 1), &[0.0, 1.0, 3.0, 4.0]);
        check(&[1.0, 3.0, 5.0, 7.0], (1, 4), (1, 2), &[2.0, 6.0]);
        check(&[1.0, 2.0, 3.0, 4.0], (2, 2), (1, 1), &[2.5]);
        check(&[1.0, 2.0, 3.0, 4.0], (2, 2), (2, 2), &[1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn an_absent_proxy_is_ones_and_a_misshapen_one_is_refused() {
        let shape = MapShape { batch: 2, channels: 3, height: 1, width: 2 };
        let mut resized = vec![9.0];
        resize(None, "boundary", shape, &mut resized).unwrap();
        assert_eq!(resized, [1.0; 4]);
        let refused = |values: &[f32], height, width| {
            resize(Some(Proxy { values, height, width }), "boundary", shape, &mut Vec::new()).is_err()
        };
        assert!(refused(&[0.0; 2], 1, 2));
        assert!(refused(&[], 0, 2));
    }
}
