//! The noise of a series: its deviation from point to point, and its autocorrelation.

use super::scale::Scaled;
use super::sensitivity::Sensitivity;
use super::side::{median, scaled_median_deviation, trimmed_mean};
use super::tuning::Tuning;
use sprag_base::stats::partition;

/// Of the differences of neighbours, the share that counts for the deviation where most of them are equal.
const TICKING_SHARE: f64 = 0.95;

/// Below so many points the square of the length makes no limit harder: others are hard enough there.
pub(super) const SHORTEST: f64 = 30.0;

/// The most deviations by which a value is treated as away from the median, so that squares stay exact enough.
const LARGEST: f64 = 1e7;

/// The noise of a series, and the changes that the cheapest partition under it has.
pub(super) struct Noise {
    /// The deviation of a point from its level; zero where no two points differ.
    pub(super) deviation: f64,
    /// By how much the deviation of a mean is larger than with independent points.
    pub(super) inflation: f64,
    /// By what factor a step must clear the test against autocorrelated noise ([`doubt`]).
    pub(super) doubt: f64,
    /// To which side outliers lie: 1 up, -1 down.
    pub(super) outliers: f64,
    pub(super) cuts: Vec<usize>,
}

impl Noise {
    /// The noise of a series whose outliers lie above, as of times: what interferes with a run makes it take longer.
    pub(super) fn new(scaled: &Scaled, sensitivity: &Sensitivity) -> Noise {
        let (values, tuning) = (&scaled.values[..], &sensitivity.tuning);
        let doubt = doubt(values.len() as f64, tuning);
        let deviation = deviation(values, scaled.floor());
        let middle = median(&mut values.to_vec());
        let clipped = clipped(values, deviation, tuning);
        let with_penalty = |inflation: f64, penalty: f64| partition(&clipped, middle, deviation * inflation, penalty);
        let parts = |inflation: f64| with_penalty(inflation, sensitivity.penalty);
        let noise = |inflation: f64, cuts: Vec<usize>| Noise { deviation, inflation, doubt, outliers: 1.0, cuts };
        let mut rho = correlation(values, &[], tuning);
        // Changes look like autocorrelation: those that are certain are left out, until the correlation falls no more.
        for _ in 0..4 {
            if rho == 0.0 {
                break;
            }
            let cuts = with_penalty(inflation(rho), tuning.certain_penalty);
            let less = if cuts.is_empty() { rho } else { correlation(values, &cuts, tuning) };
            if less >= rho - 0.02 {
                break;
            }
            rho = less;
        }
        let cuts = parts(inflation(rho));
        if rho == 0.0 {
            return noise(1.0, cuts);
        }
        // Or there are just many changes: whichever explains the series at the lower price.
        let plain = parts(1.0);
        let (own, left) = innovations(values, &plain, deviation);
        let price =
            |left: f64, cuts: &[usize]| values.len() as f64 * left.ln() + tuning.change_price * cuts.len() as f64;
        if price(left, &plain) >= price(innovations(values, &cuts, deviation).1, &cuts) {
            return noise(inflation(rho), cuts);
        }
        let inflation = inflation(own.min(rho));
        noise(inflation, if inflation > 1.02 { parts(inflation) } else { plain })
    }
}

/// By how much the deviation of a mean is larger than with independent points, by the correlation about the levels between `cuts`.
/// Unlike where changes are detected, no correlation by chance is subtracted.
pub(super) fn inflation_about(values: &[f64], cuts: &[usize], deviation: f64) -> f64 {
    inflation(innovations(values, cuts, deviation).0)
}

/// By what factor a step must clear the test against autocorrelated noise: a few dozen points hardly show how noise wanders.
pub(super) fn doubt(count: f64, tuning: &Tuning) -> f64 {
    1.0 + tuning.short_series / count + tuning.short_series_square / count.max(SHORTEST).powi(2)
}

/// The cheapest partition of values, as first points of levels.
fn partition(values: &[f64], middle: f64, deviation: f64, penalty: f64) -> Vec<usize> {
    if deviation <= 0.0 {
        return Vec::new();
    }
    let scaled: Vec<f64> = values.iter().map(|value| ((value - middle) / deviation).clamp(-LARGEST, LARGEST)).collect();
    partition::optimal(&scaled, penalty)
}

/// The values, each clipped to so many deviations beyond both of its neighbours, except the first and the last one: as two
/// candidates a single outlier would stand between a step and its points.
pub(super) fn clipped(values: &[f64], deviation: f64, tuning: &Tuning) -> Vec<f64> {
    let reach = tuning.isolated * deviation;
    let clipped = |place: usize| match values.get(place.wrapping_sub(1)).zip(values.get(place + 1)) {
        None => values[place],
        Some((one, other)) => values[place].clamp(one.min(*other) - reach, one.max(*other) + reach),
    };
    (0..values.len()).map(clipped).collect()
}

fn inflation(rho: f64) -> f64 {
    ((1.0 + rho) / (1.0 - rho)).sqrt()
}

/// The deviation by the differences of neighbours: their median deviation, or where most are zero the root mean square of them.
fn deviation(values: &[f64], floor: f64) -> f64 {
    let mut differences: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let robust = scaled_median_deviation(&mut differences.clone()) / 2.0_f64.sqrt();
    let spread = if robust > 0.0 { robust } else { trimmed(&mut differences) };
    if spread.is_finite() { spread.max(floor) } else { f64::MAX }
}

/// The deviation of neighbours by the mean square of all differences but the largest, whose order is lost.
fn trimmed(differences: &mut [f64]) -> f64 {
    differences.iter_mut().for_each(|difference| *difference = difference.abs());
    let count = ((differences.len() as f64 * TICKING_SHARE) as usize).clamp(1, differences.len());
    if count < differences.len() {
        differences.select_nth_unstable_by(count, f64::total_cmp);
    }
    let squares: f64 = differences[..count].iter().map(|difference| difference * difference).sum();
    (squares / count as f64 / 2.0).sqrt()
}

/// The correlation of neighbours, by how much less they differ than points ten apart; pairs across a cut are left out.
fn correlation(values: &[f64], cuts: &[usize], tuning: &Tuning) -> f64 {
    let count = values.len();
    if count < 20 {
        return 0.0;
    }
    let apart: usize = if count < 60 { 5 } else { 10 };
    let mut differences = Vec::with_capacity(count);
    let mut squares = |lag: usize| -> Option<f64> {
        differences.clear();
        let ends = cuts.iter().copied().chain([count]);
        for (begin, end) in std::iter::once(0).chain(cuts.iter().copied()).zip(ends) {
            let part = &values[begin..end];
            differences.extend(part.iter().zip(part.iter().skip(lag)).map(|(early, late)| late - early));
        }
        if differences.len() < 10.max(count / 6) {
            return None;
        }
        let mut scale = scaled_median_deviation(&mut differences.clone());
        let number = differences.len() as f64;
        if scale == 0.0 {
            let mean = differences.iter().sum::<f64>() / number;
            scale = (differences.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / number).sqrt();
        }
        let limit = 3.0 * scale;
        Some(differences.iter().map(|one| one.clamp(-limit, limit).powi(2)).sum::<f64>() / number)
    };
    let Some(near) = squares(1).filter(|near| *near > 0.0) else { return 0.0 };
    let lags = [2.max(apart - 2), apart, apart + 2];
    let mut far: Vec<f64> = lags.iter().filter_map(|lag| squares(*lag)).filter(|far| *far > 0.0).collect();
    if far.is_empty() {
        return 0.0;
    }
    let correlation = 1.0 - near / median(&mut far);
    (correlation - tuning.chance_correlation / (count as f64).sqrt()).clamp(0.0, 0.9)
}

/// The correlation of neighbours within the parts, corrected for the means of the parts, and the mean square of innovations.
fn innovations(values: &[f64], cuts: &[usize], deviation: f64) -> (f64, f64) {
    let limit = 4.0 * deviation;
    let ends = cuts.iter().copied().chain([values.len()]);
    let parts: Vec<Vec<f64>> = std::iter::once(0)
        .chain(cuts.iter().copied())
        .zip(ends)
        .map(|(begin, end)| {
            let level = trimmed_mean(&mut values[begin..end].to_vec());
            values[begin..end].iter().map(|value| (value - level).clamp(-limit, limit)).collect()
        })
        .collect();
    let pairs = || parts.iter().flat_map(|part| part.windows(2));
    let products: f64 = pairs().map(|pair| pair[0] * pair[1]).sum();
    let squares: f64 = pairs().map(|pair| pair[0] * pair[0]).sum();
    let raw = if squares > 0.0 { products / squares } else { 0.0 };
    let lost = (1.0 + 3.0 * raw) * parts.len() as f64 / values.len() as f64;
    let used = raw.clamp(0.0, 0.9);
    let first: f64 = parts.iter().filter_map(|part| part.first()).map(|one| one * one * (1.0 - used * used)).sum();
    let rest: f64 = pairs().map(|pair| (pair[1] - used * pair[0]).powi(2)).sum();
    ((raw + lost).clamp(0.0, 0.9), (first + rest) / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_base::stats::random::SplitMix64;

    fn of(count: usize, value: impl Fn(usize, &mut SplitMix64) -> f64) -> Noise {
        let mut random = SplitMix64::new(5);
        let values: Vec<f64> = (0..count).map(|place| value(place, &mut random)).collect();
        Noise::new(&Scaled::new(&values), &Sensitivity::BALANCED)
    }

    #[test]
    fn the_deviation_is_that_about_the_levels() {
        let stepped =
            of(400, |place, random| 100.0 * (1.0 + 0.01 * random.normal()) * if place < 150 { 1.0 } else { 1.3 });
        assert!((0.009..0.011).contains(&stepped.deviation) && stepped.inflation < 1.1, "{}", stepped.deviation);
        assert!(stepped.cuts.contains(&150), "{:?}", stepped.cuts);
        // One value in four is a tick higher: most differences are zero.
        let ticking = of(400, |place, _| if place.is_multiple_of(8) { 1.01 } else { 1.0 });
        assert!((1e-4..0.01).contains(&ticking.deviation), "{}", ticking.deviation);
        // One point in ten strays far, and says nothing of the others.
        let straying = of(400, |place, random| {
            100.0 * (1.0 + 0.01 * random.normal()) * if place.is_multiple_of(10) { 3.0 } else { 1.0 }
        });
        assert!((0.009..0.04).contains(&straying.deviation), "{}", straying.deviation);
        // One difference in seven is a step: that says nothing of the noise, either.
        let wandering = of(63, |place, random| 100.0 * (1.0 + 0.1 * ((place / 7) % 2) as f64 + 0.01 * random.normal()));
        assert!((0.007..0.02).contains(&wandering.deviation), "{}", wandering.deviation);
        let expected: Vec<usize> = (1..9).map(|step| 7 * step).collect();
        assert_eq!(wandering.cuts, expected);
        // One far point is not a candidate, two are.
        let with = |far: std::ops::Range<usize>| {
            of(100, move |place, random| 100.0 + random.normal() + if far.contains(&place) { 30.0 } else { 0.0 }).cuts
        };
        assert_eq!((with(50..51), with(50..52)), (vec![], vec![50, 52]));
        let exact = of(40, |place, _| if place < 20 { 640.0 } else { 650.0 });
        assert_eq!((exact.deviation, exact.cuts.as_slice()), (1e-6, &[20][..]));
    }

    #[test]
    fn points_that_hang_together_make_a_mean_worth_less() {
        let mut last = 0.0;
        let mut random = SplitMix64::new(6);
        let values: Vec<f64> = (0..1000)
            .map(|_| {
                last = 0.7 * last + (1.0_f64 - 0.49).sqrt() * random.normal();
                100.0 + last
            })
            .collect();
        // With a correlation of 0.7 the deviation of a mean is 2.4 times as large.
        let noise = Noise::new(&Scaled::new(&values), &Sensitivity::BALANCED);
        assert!((1.8..3.0).contains(&noise.inflation), "{}", noise.inflation);
    }
}
