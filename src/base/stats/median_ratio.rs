//! The ratio of two medians with its percentile bootstrap interval (Efron and Tibshirani, "An Introduction to the Bootstrap",
//! 1993, chapter 13). Processes are resampled before the values within each, as values of one process are not independent
//! (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8).

use super::describe;
use super::random::SplitMix64;

/// The fewest processes of a side.
const FEWEST_PROCESSES: usize = 2;

/// A ratio of medians, second over first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianRatio {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// The mean and the sample standard deviation of the resampled ratios.
    pub mean: f64,
    pub deviation: f64,
}

/// The ratio with an interval from given resamples, each with the indices of the values drawn from `first` and `second`.
///
/// `None` where a side or a resample is empty, an index is out of range, a median of `first` is zero, there are fewer than two
/// resamples, and unless `confidence` lies between 0 and 1.
pub fn from_resamples<'a>(
    first: &[f64],
    second: &[f64],
    resamples: impl IntoIterator<Item = (&'a [usize], &'a [usize])>,
    confidence: f64,
) -> Option<MedianRatio> {
    let drawn = |values: &[f64], places: &[usize]| {
        places.iter().map(|place| values.get(*place).copied()).collect::<Option<Vec<f64>>>()
    };
    let ratios =
        resamples.into_iter().map(|(of_first, of_second)| ratio(&drawn(first, of_first)?, &drawn(second, of_second)?));
    summarise(ratio(first, second)?, &ratios.collect::<Option<Vec<f64>>>()?, confidence)
}

/// The same for values in processes, resampled so often from `seed`. `None` for fewer than two processes, or an empty one.
pub fn of_processes(
    first: &[&[f64]],
    second: &[&[f64]],
    resamples: usize,
    seed: u64,
    confidence: f64,
) -> Option<MedianRatio> {
    for side in [first, second] {
        if side.len() < FEWEST_PROCESSES || side.iter().any(|process| process.is_empty()) {
            return None;
        }
    }
    let mut random = SplitMix64::new(seed);
    let mut ratios = Vec::new();
    for _ in 0..resamples {
        let of_first = draw(first, &mut random);
        ratios.push(ratio(&of_first, &draw(second, &mut random))?);
    }
    summarise(ratio(&first.concat(), &second.concat())?, &ratios, confidence)
}

fn draw(processes: &[&[f64]], random: &mut SplitMix64) -> Vec<f64> {
    let mut drawn = Vec::new();
    for _ in processes {
        let process = processes[random.below(processes.len())];
        drawn.extend(process.iter().map(|_| process[random.below(process.len())]));
    }
    drawn
}

fn ratio(first: &[f64], second: &[f64]) -> Option<f64> {
    let ratio = describe::median(second)? / describe::median(first)?;
    ratio.is_finite().then_some(ratio)
}

fn summarise(ratio: f64, ratios: &[f64], confidence: f64) -> Option<MedianRatio> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let missed = (1.0 - confidence) / 2.0;
    Some(MedianRatio {
        ratio,
        low: describe::quantile(ratios, missed)?,
        high: describe::quantile(ratios, 1.0 - missed)?,
        mean: describe::mean(ratios)?,
        deviation: describe::sample_variance(ratios)?.sqrt(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_input_gives_none() {
        let check = |first: &[f64], second: &[f64], places: [&[usize]; 2], confidence: f64| {
            let resamples = [(places[0], places[1]), (places[0], places[1])];
            assert_eq!(from_resamples(first, second, resamples, confidence), None);
        };
        check(&[], &[1.0], [&[], &[0]], 0.95);
        check(&[1.0], &[1.0], [&[0], &[]], 0.95);
        check(&[1.0], &[1.0], [&[0], &[1]], 0.95);
        check(&[0.0], &[1.0], [&[0], &[0]], 0.95);
        check(&[1.0, 0.0], &[1.0], [&[1], &[0]], 0.95);
        check(&[1.0], &[1.0], [&[0], &[0]], 1.0);
        assert_eq!(from_resamples(&[1.0], &[1.0], [], 0.95), None);
        let processes: [&[f64]; 2] = [&[1.0, 2.0], &[1.5]];
        assert_eq!(of_processes(&processes[..1], &processes, 9, 1, 0.95), None);
        assert_eq!(of_processes(&processes, &processes, 1, 1, 0.95), None);
        assert_eq!(of_processes(&[&[1.0], &[]], &processes, 9, 1, 0.95), None);
    }

    /// Different processes give a wider interval than the same values as independent ones.
    #[test]
    fn processes_are_drawn_before_values() {
        let mut random = SplitMix64::new(3);
        let processes: Vec<Vec<f64>> = (0..10)
            .map(|_| {
                let level = 100.0 + 5.0 * random.normal();
                (0..20).map(|_| level + 0.1 * random.normal()).collect()
            })
            .collect();
        let sides: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
        let values: Vec<&[f64]> = processes.iter().flat_map(|process| process.chunks(1)).collect();
        let width = |side: &[&[f64]]| {
            let result = of_processes(side, side, 400, 7, 0.95).expect("there are processes");
            assert_eq!((result.ratio, of_processes(side, side, 400, 7, 0.95)), (1.0, Some(result)));
            result.high - result.low
        };
        assert!(width(&sides) > 2.0 * width(&values), "{} and {}", width(&sides), width(&values));
    }
}
