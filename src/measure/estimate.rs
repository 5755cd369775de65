//! From one value a worker process to an estimate: the same for every suite.
//!
//! The unit of replication is the process: the tracked number is the median over processes, its interval and its
//! minimum detectable effect come from the spread over processes. Samples of one process are never treated as
//! independent; they only give the percentiles that readers expect.

use sprag_base::stats::{bootstrap, describe};
use sprag_model::metric::Metric;
use sprag_model::sample::Estimate;

/// Below this many clean samples a 95th percentile is one of the few largest samples, so there is none.
pub const FEWEST_FOR_P95: usize = 100;

/// Recorded digits: a session moves a median by percents, so the seventh digit is far below all noise.
const DIGITS: usize = 7;

/// Digits of a detectable effect, itself an estimate of a spread.
const EFFECT_DIGITS: usize = 3;

/// The estimate of one value a process; `None` where there is no process. `n` is how many samples stand behind it.
pub fn over_processes(metric: Metric, values: &[f64], n: usize, seed: u64) -> Option<Estimate> {
    Some(Estimate {
        metric,
        value: round(describe::median(values)?),
        workers: values.iter().map(|value| round(*value)).collect(),
        p50: None,
        p95: None,
        min: None,
        interval: bootstrap::median_interval(values).map(|(low, high)| (round(low), round(high))),
        detectable: bootstrap::detectable_effect(values, seed)
            .map(|effect| describe::round_significant(effect, EFFECT_DIGITS)),
        n: n as u64,
    })
}

/// Adds what the pooled clean samples show: their median, 95th percentile and smallest.
pub fn with_samples(estimate: Estimate, samples: &[f64]) -> Estimate {
    let p95 = if samples.len() >= FEWEST_FOR_P95 { describe::quantile(samples, 0.95) } else { None };
    Estimate {
        p50: describe::median(samples).map(round),
        p95: p95.map(round),
        min: samples.iter().copied().reduce(f64::min).map(round),
        n: samples.len() as u64,
        ..estimate
    }
}

/// Work over time. The 5 % slowest samples of time are the 5 % lowest of throughput, so it bears no percentile of its
/// own beyond the median.
pub fn throughput(metric: &str, work: f64, time: &Estimate) -> Estimate {
    let rate = |seconds: f64| round(work / seconds);
    Estimate {
        metric: Metric::throughput(metric),
        value: rate(time.value),
        workers: time.workers.iter().map(|seconds| rate(*seconds)).collect(),
        p50: time.p50.map(rate),
        p95: None,
        min: None,
        interval: time.interval.map(|(low, high)| (rate(high), rate(low))),
        detectable: time.detectable,
        n: time.n,
    }
}

/// A value with as many digits as records hold.
pub fn round(value: f64) -> f64 {
    describe::round_significant(value, DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tracked_number_is_the_median_over_processes() {
        let time = over_processes(Metric::time(), &[2.0, 4.0, 3.0], 9, 1).expect("there are processes");
        assert_eq!((time.value, &time.workers[..], time.n), (3.0, &[2.0, 4.0, 3.0][..], 9));
        let (low, high) = time.interval.expect("three processes give an interval");
        assert!(low > 0.0 && low < 2.0 && high > 4.0, "{low} {high}");
        assert!(time.detectable.is_some_and(|effect| effect > 0.1), "{time:?}");
        let rate = throughput("tiles_per_s", 10.0, &time);
        assert_eq!((rate.metric.name.as_str(), rate.value), ("tiles_per_s", 3.333333));
        assert_eq!(rate.workers, [5.0, 2.5, 3.333333]);
        assert!(rate.interval.is_some_and(|(low, high)| low <= rate.value && rate.value <= high));
        assert_eq!(over_processes(Metric::time(), &[], 0, 1), None);
        let single = over_processes(Metric::time(), &[1.0], 4, 1).expect("there is a process");
        assert_eq!((single.interval, single.detectable), (None, None));
    }

    #[test]
    fn a_95th_percentile_needs_a_hundred_samples() {
        let time = || over_processes(Metric::time(), &[1.0], 0, 1).expect("there is a process");
        let samples: Vec<f64> = (1..=100).map(f64::from).collect();
        let few = with_samples(time(), &samples[..99]);
        assert_eq!((few.p50, few.p95, few.min, few.n), (Some(50.0), None, Some(1.0), 99));
        let many = with_samples(time(), &samples);
        assert_eq!((many.p50, many.p95, many.n), (Some(50.5), Some(95.05), 100));
        assert_eq!(with_samples(time(), &[]).p50, None);
    }
}
