//! Proxies brought to the size of the map by bilinear interpolation, pixel centres aligned.
//!
//! Pixel `i` of `n` looks at `max((i + 0.5) * m / n - 0.5, 0)` on an axis of `m` pixels and mixes the two pixels around
//! it; beyond the last pixel the last counts.

use super::super::KernelError;
use super::super::shape::{MapShape, check_length};

/// A plane a sample, `[B,1,height,width]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proxy<'a> {
    pub values: &'a [f32],
    pub height: usize,
    pub width: usize,
}

/// Writes the proxy in the size of the map, or all ones where it is absent.
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
