//! How much the level of a metric moves from session to session though nothing changed: learnt from its own past, or
//! assumed where there is too little of that.
//!
//! A session is what one machine measures in one go: runs less than an hour apart. The level of a session is the geometric
//! mean of its runs. The deviation is the sample standard deviation of the logarithms of the levels, with one degree of
//! freedom less than there are sessions, and never less than what the processes of the runs themselves leave open. Where
//! the level stepped from one session to the next (`steps.rs`), the deviation is pooled over the parts between. Values are
//! kept in so many digits, and levels that are all the same may differ beyond: it is never less than the last of them.

use chrono::{DateTime, TimeDelta, Utc};

use super::steps;
use sprag_base::stats::{describe, student};
use sprag_model::evidence::SessionNoise;
use sprag_model::metric::{INSTRUCTIONS, Metric, PEAK_MEMORY, RATIO};

/// Runs that begin nearer to one another than this belong to one session: a machine does not change its mood between them.
pub(super) const SESSION: TimeDelta = TimeDelta::hours(1);

/// From this number of sessions on, the series itself says how restless it is: with three, Student's t makes up for how
/// little that is.
pub const FEWEST_SESSIONS: usize = 3;

/// The most sessions that are looked at: older ones tell of another machine room, another neighbour, another code.
pub const MOST_SESSIONS: usize = 8;

/// What is assumed of a ratio to a calibration kernel: kernels that live in the caches moved by 0.2 to 1.2 % from session
/// to session on a shared machine (`docs/FIGURES.md`).
const ASSUMED_RATIO: f64 = 0.01;

/// What is assumed of a time, and of whatever follows from one: means of a shared machine moved by 3 to 6 %.
const ASSUMED_TIME: f64 = 0.05;

/// What is assumed of what is counted and not timed: that it does not move by itself, but for the last digit kept.
/// No metric is held to be quieter.
const ASSUMED_COUNT: f64 = 1e-6;

/// How much the assumption weighs: as much as so many sessions more than one.
const ASSUMED_FREEDOM: f64 = 4.0;

/// The level of each session, oldest first, of the time and value of each run.
pub fn sessions(runs: &[(DateTime<Utc>, f64)]) -> Vec<f64> {
    let mut sorted = runs.to_vec();
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut levels: Vec<Vec<f64>> = Vec::new();
    let mut last = None;
    for (time, value) in sorted {
        match levels.last_mut() {
            Some(session) if last.is_some_and(|last| time - last < SESSION) => session.push(value),
            _ => levels.push(vec![value]),
        }
        last = Some(time);
    }
    levels.iter().filter_map(|session| describe::geometric_mean(session)).collect()
}

/// How restless a metric is whose sessions had these levels; `within` is the standard error that the processes of one run
/// leave to its logarithm. Where the level stepped, that is no restlessness: it is learnt between the steps.
pub fn estimate(levels: &[f64], within: Option<f64>, metric: &Metric) -> SessionNoise {
    let parts = steps::parts(levels, within.unwrap_or(0.0));
    let fewest = (FEWEST_SESSIONS - 1) as f64;
    let (deviation, freedom, sessions) = match steps::pooled(levels, &parts).filter(|(_, freedom)| *freedom >= fewest) {
        Some((deviation, freedom)) => (deviation, freedom, levels.len()),
        None => (assumed(metric), ASSUMED_FREEDOM, 0),
    };
    SessionNoise { deviation: deviation.max(within.unwrap_or(0.0)).max(ASSUMED_COUNT), freedom, sessions }
}

/// The standard error that the 95 % interval of a run over its processes leaves to the logarithm of its value.
pub fn within(value: f64, interval: Option<(f64, f64)>) -> Option<f64> {
    // Two standard errors on either side, near enough for a lower bound.
    let (low, high) = interval.filter(|(low, high)| *low > 0.0 && low <= high && value > 0.0)?;
    Some((high / low).ln() / 4.0)
}

/// The least of some round tolerances at which a metric that did not change is called unchanged in most cases.
///
/// The interval of a new run reaches `t * s * sqrt(1 + 1/n)` to either side, and its middle lies within the 90th percentile
/// of the same spread in four cases of five.
pub fn tolerance(noise: &SessionNoise, base_sessions: usize, confidence: f64) -> f64 {
    let error = noise.deviation * (1.0 + 1.0 / base_sessions.max(1) as f64).sqrt();
    let quantile = |p: f64| student::quantile(p, noise.freedom).unwrap_or(f64::INFINITY);
    let wanted = ((quantile(1.0 - (1.0 - confidence) / 2.0) + quantile(0.9)) * error).exp_m1();
    STEPS.into_iter().find(|step| *step >= wanted).unwrap_or(STEPS[STEPS.len() - 1])
}

/// Tolerances that people can talk about; the least is what a change of layout alone may do, and with the largest a metric
/// that is twice as slow is never called unchanged. They lie near one another, since what is rounded up is lost: a change
/// that the noise would show passes for one that is tolerated.
const STEPS: [f64; 20] = [
    0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0,
];

/// The levels since the last step: where the metric stands now.
pub fn present(levels: &[f64], within: Option<f64>) -> &[f64] {
    let parts = steps::parts(levels, within.unwrap_or(0.0));
    parts.last().map_or(levels, |last| &levels[last.clone()])
}

fn assumed(metric: &Metric) -> f64 {
    match metric.name.as_str() {
        RATIO => ASSUMED_RATIO,
        INSTRUCTIONS | PEAK_MEMORY => ASSUMED_COUNT,
        _ => ASSUMED_TIME,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::interval;
    use sprag_model::evidence::{Evidence, Side};
    use sprag_model::metric::Better;

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000 + 60 * minutes, 0).expect("a time")
    }

    #[test]
    fn runs_of_one_hour_are_one_session() {
        let check = |runs: &[(i64, f64)], expected: &[f64]| {
            let runs: Vec<_> = runs.iter().map(|(minutes, value)| (at(*minutes), *value)).collect();
            let result = sessions(&runs);
            assert_eq!(result.len(), expected.len(), "{result:?}");
            assert!(result.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{result:?}");
        };
        check(&[], &[]);
        check(&[(0, 1.0), (59, 4.0)], &[2.0]);
        check(&[(61, 4.0), (0, 1.0)], &[1.0, 4.0]);
        // Each is near the one before, so that they are one go.
        check(&[(0, 1.0), (50, 1.0), (100, 1.0), (500, 3.0)], &[1.0, 3.0]);
    }

    #[test]
    fn three_sessions_tell_and_two_are_assumed_about() {
        let few = estimate(&[1.0, 1.1], None, &Metric::ratio());
        assert_eq!((few.deviation, few.freedom, few.sessions), (0.01, 4.0, 0));
        assert_eq!(estimate(&[], None, &Metric::time()).deviation, 0.05);
        assert_eq!(estimate(&[], None, &Metric::instructions()).deviation, 1e-6);
        let three = estimate(&[1.0, 1.1, 1.21], None, &Metric::ratio());
        assert!((three.deviation - 1.1_f64.ln()).abs() < 1e-12, "{three:?}");
        assert_eq!((three.freedom, three.sessions), (2.0, 3));
        assert_eq!(estimate(&[1.0; 3], Some(0.004), &Metric::ratio()).deviation, 0.004);
    }

    #[test]
    fn levels_that_were_all_the_same_may_still_move_in_the_last_digit() {
        let three = estimate(&[1_000_000.0; 3], None, &Metric::time());
        assert_eq!((three.deviation, three.freedom, three.sessions), (1e-6, 2.0, 3));
        let check = |value: f64, expected: &str| {
            let base = Side { sessions: 3, ..Side::once(1_000_000.0) };
            let evidence = Evidence::new(Better::Lower, base, Side::once(value));
            let evidence = Evidence { restlessness: Some(three), ..evidence };
            assert_eq!(interval::decide(0.0, &evidence).verdict.word(), expected, "{value}");
        };
        // Student's t at 99 % with two degrees of freedom is 6.965, and the root of 1 + 1/3 is 1.155.
        check(1_000_001.0, "inconclusive");
        check(1_000_007.0, "inconclusive");
        check(1_000_009.0, "regressed");
    }

    #[test]
    fn a_step_is_no_noise() {
        let levels = [1.0, 1.001, 0.999, 1.15, 1.151, 1.149];
        let result = estimate(&levels, None, &Metric::ratio());
        assert!(result.deviation < 0.0011 && (result.freedom, result.sessions) == (4.0, 6), "{result:?}");
        assert_eq!(present(&levels, None), &levels[3..]);
        assert_eq!(present(&levels[..3], None), &levels[..3]);
    }

    #[test]
    fn a_tolerance_follows_from_the_noise() {
        let quiet = SessionNoise { deviation: 0.001, freedom: 7.0, sessions: 8 };
        assert_eq!(tolerance(&quiet, 8, 0.98), 0.02);
        // (2.998 + 1.415) * 0.01 * sqrt(1.125) is 4.8 %.
        let usual = SessionNoise { deviation: 0.01, freedom: 7.0, sessions: 8 };
        assert_eq!(tolerance(&usual, 8, 0.98), 0.05);
        // And 2.4 % with half of that.
        assert_eq!(tolerance(&SessionNoise { deviation: 0.005, ..usual }, 8, 0.98), 0.025);
        let wild = SessionNoise { deviation: 2.0, freedom: 2.0, sessions: 3 };
        assert_eq!(tolerance(&wild, 1, 0.98), 1.0);
    }

    #[test]
    fn the_error_within_a_run_is_a_quarter_of_its_interval() {
        let result = within(1.0, Some((0.98, 1.02))).expect("there is an interval");
        assert!((result - 0.01).abs() < 1e-4, "{result}");
        assert_eq!((within(1.0, None), within(1.0, Some((-1.0, 2.0)))), (None, None));
    }
}
