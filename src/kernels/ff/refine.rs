//! The refinement of a tile: a small gated convolution with a residual, on each tile alone.
//!
//! A depthwise 3 by 3 convolution (zero padding at the border of the tile), a pointwise convolution to 2C channels,
//! group normalisation with one group over all of `[2C,t,t]` (epsilon 1e-5), and `a * max(b, 0)` of the two halves
//! added to the tile.

use super::film::Normal;
use super::parameters::Refine;

/// Room for one tile; it grows to its size and is reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    depthwise: Vec<f32>,
    pointwise: Vec<f32>,
}

/// Refines one tile, `[C,t,t]`, in place.
pub(super) fn refine(tile: &mut [f32], tile_size: usize, refine: &Refine, scratch: &mut Scratch) {
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
            // The tap reads `(y + down - 1, x + right - 1)`; pixels outside the tile count as zero.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(filter: [f32; 9]) -> Refine {
        Refine {
            depthwise_weight: filter.to_vec(),
            depthwise_bias: vec![0.5],
            pointwise_weight: vec![1.0, -2.0],
            pointwise_bias: vec![0.0, 1.0],
            norm_weight: vec![2.0, 1.0],
            norm_bias: vec![0.25, 0.5],
        }
    }

    #[test]
    fn a_tap_looks_in_its_direction_and_sees_zero_outside() {
        let tile = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        let check = |tap: usize, expected: [f32; 9]| {
            let mut filter = [0.0; 9];
            filter[tap] = 1.0;
            let mut convolved = [0.0; 9];
            depthwise(&tile, 3, &parameters(filter), &mut convolved);
            assert_eq!(convolved.map(|value| value - 0.5), expected, "tap {tap}");
        };
        check(4, tile);
        check(0, [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 4.0, 5.0]);
        check(5, [2.0, 3.0, 0.0, 5.0, 6.0, 0.0, 8.0, 9.0, 0.0]);
        check(7, [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_single_pixel_by_hand() {
        // 2 -> 2 * 1 + 0.5 = 2.5 -> (2.5, -4): mean -0.75, deviation 3.25 -> (1, -1) -> (2.25, -0.5): the gate is shut.
        let identity = parameters([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let mut tile = [2.0];
        refine(&mut tile, 1, &identity, &mut Scratch::default());
        assert_eq!(tile, [2.0]);
        // With the pointwise signs turned the value is (-2 + 0.25) and the gate open at 1.5.
        let turned = Refine { pointwise_weight: vec![-1.0, 2.0], ..identity };
        refine(&mut tile, 1, &turned, &mut Scratch::default());
        assert!((tile[0] - (2.0 - 1.75 * 1.5)).abs() < 1e-4, "{}", tile[0]);
    }
}
