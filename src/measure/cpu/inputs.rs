//! Inputs of the workloads, all from a seed: values do not matter for the time, but random ones find errors.

use crate::buffer::Buffer;
use sprag_base::stats::random::SplitMix64;

pub(super) fn normal(count: usize, seed: u64) -> Buffer {
    let mut random = SplitMix64::new(seed);
    Buffer::with(count, |_| random.normal() as f32)
}

/// Uniform values in `low..high`.
pub(super) fn uniform(count: usize, low: f64, high: f64, seed: u64) -> Buffer {
    let mut random = SplitMix64::new(seed);
    Buffer::with(count, |_| (low + (high - low) * random.uniform()) as f32)
}

/// `count` distinct tile ids below `tiles`, drawn at random and sorted.
pub(super) fn tile_ids(tiles: u32, count: usize, seed: u64) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..tiles).collect();
    SplitMix64::new(seed).shuffle(&mut ids);
    ids.truncate(count);
    ids.sort_unstable();
    ids
}

/// Random levels in 0, 1, 2.
pub(super) fn levels(count: usize, seed: u64) -> Vec<i32> {
    let mut random = SplitMix64::new(seed);
    (0..count).map(|_| random.below(3) as i32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinct_sorted_and_seeded() {
        let ids = tile_ids(256, 32, 124);
        assert_eq!(ids.len(), 32);
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]) && ids.iter().all(|id| *id < 256));
        assert_eq!(ids, tile_ids(256, 32, 124));
        assert_ne!(ids, tile_ids(256, 32, 125));
        assert!(levels(100, 1).iter().all(|level| (0..3).contains(level)));
        assert!(uniform(100, 0.1, 0.9, 1).iter().all(|value| (0.1..0.9).contains(value)));
    }
}
