//! Seeded numbers for inputs: the same seed gives the same numbers on every machine.
//!
//! The generator is SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
//! 2014): a counter stepped by the golden ratio and mixed. Normal numbers come by the transform of Box and Muller
//! (Annals of Mathematical Statistics 29, 1958). Good enough to fill tensors; not for statistics, and not for secrets.

use std::f64::consts::TAU;

/// The odd integer nearest to 2^64 over the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    spare: Option<f64>,
}

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Random { state: seed, spare: None }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in [0, 1), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of the standard normal distribution.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        // One less a number in [0, 1) lies in (0, 1], where the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sine, cosine) = (TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sine);
        radius * cosine
    }

    /// An integer below `limit`, which must not be zero. The bias is below `limit` over 2^64.
    pub fn below(&mut self, limit: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u32
    }

    /// `count` distinct integers below `limit`, ascending; all of them where there are no more.
    pub fn distinct(&mut self, count: usize, limit: u32) -> Vec<u32> {
        let mut all: Vec<u32> = (0..limit).collect();
        let count = count.min(all.len());
        for place in 0..count {
            let rest = (all.len() - place) as u32;
            all.swap(place, place + self.below(rest) as usize);
        }
        all.truncate(count);
        all.sort_unstable();
        all
    }

    /// `count` numbers of the standard normal distribution, rounded to `f32`.
    pub fn normals(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.normal() as f32).collect()
    }

    /// `count` numbers in `[low, high)`, rounded to `f32` and kept below `high`.
    pub fn uniforms(&mut self, count: usize, low: f32, high: f32) -> Vec<f32> {
        let span = f64::from(high) - f64::from(low);
        let below = high.next_down();
        (0..count).map(|_| ((f64::from(low) + span * self.uniform()) as f32).min(below)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for seed 1234567 as the reference program in C by S. Vigna prints them, and the first for
    /// seed 0 as `java.util.SplittableRandom` gives them.
    #[test]
    fn agrees_with_published_values() {
        let mut random = Random::new(1_234_567);
        let expected: [u64; 5] = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(expected.map(|_| random.bits()), expected);
        let mut random = Random::new(0);
        assert_eq!(
            [random.bits(), random.bits(), random.bits()],
            [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]
        );
    }

    #[test]
    fn moments_are_near_those_of_the_distributions() {
        let mut random = Random::new(7);
        let n = 100_000;
        let moments = |values: &[f32]| {
            let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / f64::from(n);
            (mean, values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / f64::from(n))
        };
        // Five standard errors: of a mean sqrt(v/n), of a normal variance sqrt(2/n).
        let (mean, variance) = moments(&random.normals(n as usize));
        assert!(mean.abs() < 0.016 && (variance - 1.0).abs() < 0.023, "{mean}, {variance}");
        let values = random.uniforms(n as usize, -1.0, 3.0);
        let (mean, variance) = moments(&values);
        assert!((mean - 1.0).abs() < 0.019 && (variance - 16.0 / 12.0).abs() < 0.03, "{mean}, {variance}");
        assert!(values.iter().all(|value| (-1.0..3.0).contains(value)));
    }

    #[test]
    fn distinct_integers_are_distinct_ascending_and_spread() {
        let mut random = Random::new(3);
        let mut hits = [0u32; 16];
        for _ in 0..4_000 {
            let ids = random.distinct(4, 16);
            assert_eq!(ids.len(), 4);
            assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
            ids.iter().for_each(|&id| hits[id as usize] += 1);
        }
        // A thousand each, with a standard deviation of sqrt(4000 * 1/4 * 3/4) = 27.
        assert!(hits.iter().all(|hits| hits.abs_diff(1_000) < 140), "{hits:?}");
        assert_eq!(random.distinct(9, 3), [0, 1, 2]);
    }
}
