//! FiLM: the modulation of each tile by its token.
//!
//! A token `[C]` is freed of NaN, clamped to +-1e4, layer-normalised (epsilon 1e-5), passed through a linear layer,
//! SiLU and a second linear layer to `[2C]`; the hyperbolic tangent of the first half is gamma, the second half is
//! beta, and each channel of the tile becomes `tile * (1 + gamma) + beta`. (E. Perez et al., "FiLM: Visual Reasoning
//! with a General Conditioning Layer", AAAI 2018.)

use super::parameters::Film;

const TOKEN_LIMIT: f32 = 1e4;
/// Added to a variance before its root is taken.
pub(super) const NORM_EPSILON: f64 = 1e-5;

/// Room for one token; it grows to its channels and is reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    token: Vec<f32>,
    hidden: Vec<f32>,
    output: Vec<f32>,
}

/// Modulates one tile, `[C, pixels]`, by its token, `[C]`.
pub(super) fn modulate(tile: &mut [f32], token: &[f32], film: &Film, scratch: &mut Scratch) {
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
pub(super) struct Normal {
    mean: f32,
    scale: f32,
}

impl Normal {
    pub(super) fn from_values(values: &[f32]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / count;
        let variance = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / count;
        Normal { mean: mean as f32, scale: (1.0 / (variance + NORM_EPSILON).sqrt()) as f32 }
    }

    #[inline(always)]
    pub(super) fn apply(&self, value: f32) -> f32 {
        (value - self.mean) * self.scale
    }
}

fn linear(input: &[f32], weight: &[f32], bias: &[f32], output: &mut Vec<f32>) {
    output.clear();
    output.extend(
        weight
            .chunks_exact(input.len())
            .zip(bias)
            .map(|(row, &bias)| row.iter().zip(input).map(|(&weight, &value)| weight * value).sum::<f32>() + bias),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_channels_by_hand() {
        // The token (3, 1) normalises to (1, -1) within the epsilon; the hidden layer swaps and doubles it.
        let film = Film {
            norm_weight: vec![1.0, 1.0],
            norm_bias: vec![0.0, 0.0],
            hidden_weight: vec![0.0, 2.0, 2.0, 0.0],
            hidden_bias: vec![0.0, 0.0],
            output_weight: vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0],
            output_bias: vec![0.0, 0.0, 0.5, 0.0],
        };
        let mut tile = [1.0, 10.0, 1.0, 10.0];
        modulate(&mut tile, &[3.0, 1.0], &film, &mut Scratch::default());
        let silu = |x: f64| x / (1.0 + (-x).exp());
        let (low, high) = (silu(-2.0), silu(2.0));
        let expected = [
            1.0 + low.tanh() + low + 0.5,
            10.0 * (1.0 + low.tanh()) + low + 0.5,
            1.0 + high.tanh() + high,
            10.0 * (1.0 + high.tanh()) + high,
        ];
        for (got, expected) in tile.into_iter().zip(expected) {
            assert!((f64::from(got) - expected).abs() < 1e-4, "{got} and {expected}");
        }
    }

    #[test]
    fn a_wild_token_is_tamed() {
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
}
