//! Random numbers that are the same on every machine, a stream a purpose.

use sprag_base::stats::random::SplitMix64;

/// A stream of random numbers.
pub(super) struct Random {
    bits: SplitMix64,
}

impl Random {
    /// A stream for one purpose, so that drawing more for one leaves the others as they are.
    pub(super) fn new(seed: u64, purpose: &str) -> Random {
        let mix = |seed: u64, byte: u8| SplitMix64::new(seed).next_u64() ^ u64::from(byte);
        Random { bits: SplitMix64::new(purpose.bytes().fold(seed, mix)) }
    }

    /// Evenly from 0 up to, but without, 1.
    pub(super) fn even(&mut self) -> f64 {
        self.bits.uniform()
    }

    /// From a normal distribution of mean 0 and deviation 1, near enough: the sum of twelve even numbers, less six.
    /// Unlike the exact one it needs no function whose last digit differs from one system to another.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.even()).sum::<f64>() - 6.0
    }

    /// Evenly from 0 up to, but without, `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.bits.below(end)
    }

    /// Whether something of that probability happens.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.even() < probability
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        self.bits.shuffle(items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_mean_zero_and_deviation_one() {
        let mut random = Random::new(1, "normal");
        let drawn: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f64>() / 20_000.0;
        let variance = drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn a_purpose_has_a_stream_of_its_own() {
        let first = |purpose| Random::new(7, purpose).below(1 << 40);
        assert_eq!(first("runs"), first("runs"));
        assert_ne!(first("runs"), first("project"));
    }
}
