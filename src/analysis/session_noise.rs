//! How much the level of a metric moves from session to session although nothing changed. That is estimated from its
//! own past, or assumed where the past is too short.
//!
//! A session is what one machine measures in one go: runs less than an hour apart. The level of a session is the geometric
//! mean of its runs. The deviation is the sample standard deviation of the logarithms of the levels, with one degree of
//! freedom less than there are sessions, and never less than what the processes of the runs themselves leave open. Where
//! the level stepped from one session to the next (`steps.rs`), the deviation is pooled over the parts between. Values are
//! kept in so many digits, and levels that are all the same may differ beyond: it is never less than the last of them.
//!
//! With too few sessions the noise is assumed from the processes of the run ([`MachineNoise`]): two runs of one sitting differ
//! by about as much as the processes of one run do (`first_day.rs` has the rates).

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::steps;
use sprag_base::stats::{describe, student};
use sprag_model::metric::{INSTRUCTIONS, PEAK_MEMORY, RATIO, TIME};
use sprag_model::{Estimate, Metric, Run, SessionNoise};

/// Runs that begin nearer to one another than this belong to one session: a machine does not change its mood between them.
pub(super) const SESSION: TimeDelta = TimeDelta::hours(1);

/// From this number of sessions on, the series itself gives its noise. With three, Student's t makes up for how few they are.
pub const FEWEST_SESSIONS: usize = 3;

/// The most sessions that are used: older ones had another machine room, other neighbours, other code.
pub const MOST_SESSIONS: usize = 8;

/// What is assumed of a ratio: kernels in the caches moved by 0.2 to 1.2 % from session to session (`docs/FIGURES.md`).
const ASSUMED_RATIO: f64 = 0.01;

/// What is assumed of a time, and of whatever follows from one: means of a shared machine moved by 3 to 6 %.
const ASSUMED_TIME: f64 = 0.05;

/// What is assumed of what is counted and not timed: it moves in the last digit kept alone. No metric is assumed to be quieter.
const ASSUMED_COUNT: f64 = 1e-6;

/// How much the assumption weighs: as much as so many sessions more than one.
const ASSUMED_FREEDOM: f64 = 4.0;

/// The same of an assumption that processes support. With 4, a slowdown by half is missed on a machine whose runs differ by
/// 4 %; with 8, still under 2 % of unchanged runs are called slower.
const SPREAD_FREEDOM: f64 = 8.0;

/// The processes of a run where the spread of theirs is that of runs.
const USUAL_PROCESSES: f64 = 5.0;

/// The fewest processes whose spread is used.
const FEWEST_PROCESSES: usize = 3;

/// Quartiles of logarithms that lie so far apart, and further than the median deviation explains, are those of two groups.
const GROUPS: f64 = 0.1;

/// The least noise of a time and of a ratio that is assumed from processes: five of them can agree by chance.
const LEAST_SPREAD: (f64, f64) = (0.01, 0.005);

/// What is assumed of a time or ratio of a quick run: its one process shows neither how much processes differ nor what the
/// first one pays for cold caches. Up to 64 % were seen between it and a full run of the same code.
const QUICK: f64 = 0.15;

/// What is assumed at least of a time where the two runs are of different sessions, of which processes say nothing: medians of
/// a shared machine moved by up to 5.6 %, mostly by 1 % (`docs/FIGURES.md`).
const ASSUMED_DRIFT: f64 = 0.03;

/// The largest tolerance that is chosen without sessions. A larger one hides changes that people gate against.
pub const LARGEST_ASSUMED_TOLERANCE: f64 = 0.1;

/// The level of each session, oldest first, of the time and value of each run.
pub fn sessions(runs: &[(DateTime<Utc>, f64)]) -> Vec<f64> {
    let mut sorted = runs.to_vec();
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    levels(&sorted)
}

/// As [`sessions`], in the order of the runs, where those of a session follow one another.
pub(super) fn levels(runs: &[(DateTime<Utc>, f64)]) -> Vec<f64> {
    let sessions = runs.chunk_by(|(a, _), (b, _)| (*b - *a).abs() < SESSION);
    let values = |session: &[(DateTime<Utc>, f64)]| session.iter().map(|(_, value)| *value).collect::<Vec<f64>>();
    sessions.filter_map(|session| describe::geometric_mean(&values(session))).collect()
}

/// The noise of a metric whose sessions had these levels; `within` is the standard error that the processes of one run
/// leave to its logarithm. A step of the level is not noise: the noise is estimated between the steps. With too few
/// sessions it is assumed from the spread of processes, where that is available.
pub fn estimate(levels: &[f64], within: Option<f64>, spread: Option<f64>, metric: &Metric) -> SessionNoise {
    let parts = steps::parts(levels, within.unwrap_or(0.0));
    let fewest = (FEWEST_SESSIONS - 1) as f64;
    let noise =
        |deviation: f64, freedom, sessions| SessionNoise { deviation: deviation.max(ASSUMED_COUNT), freedom, sessions };
    let within = within.unwrap_or(0.0);
    match (steps::pooled(levels, &parts).filter(|(_, freedom)| *freedom >= fewest), spread) {
        (Some((deviation, freedom)), _) => noise(deviation.max(within), freedom, levels.len()),
        (None, Some(spread)) => noise(spread.max(least_spread(metric)), SPREAD_FREEDOM, 0),
        (None, None) => noise(assumed(metric).max(within), ASSUMED_FREEDOM, 0),
    }
}

/// The noise between a base, of which it is assumed, and a run: never less than the processes of the run show, nor, in another
/// session, than what sessions usually differ by.
pub fn between(assumed: SessionNoise, spread: Option<f64>, is_same_session: bool, metric: &Metric) -> SessionNoise {
    let drift = match metric.name.as_str() {
        _ if is_same_session => 0.0,
        INSTRUCTIONS | PEAK_MEMORY => 0.0,
        RATIO => ASSUMED_RATIO,
        _ => ASSUMED_DRIFT,
    };
    SessionNoise { deviation: assumed.deviation.max(spread.unwrap_or(0.0)).max(drift), ..assumed }
}

/// How much the processes of a run differ, by metric: the median over all its benchmarks, the A/A control, the calibration
/// kernels and those of `sprag doctor`. Those of an imported run are unknown: other tools report samples.
pub struct MachineNoise {
    by_metric: BTreeMap<String, f64>,
    is_quick: bool,
}

impl MachineNoise {
    /// `doctor` holds the spreads of times that `sprag doctor` found on this machine.
    pub fn from_run(run: &Run, doctor: &[f64]) -> MachineNoise {
        let mut spreads = BTreeMap::from([(TIME.to_owned(), doctor.to_vec())]);
        let measurements = run.measurements.iter().filter(|one| one.is_usable() && !run.is_imported());
        for estimate in measurements.flat_map(|one| &one.estimates) {
            if let Some(spread) = spread(&estimate.workers) {
                spreads.entry(estimate.metric.name.clone()).or_default().push(spread);
            }
        }
        let median = |(name, spreads): (String, Vec<f64>)| Some((name, describe::median(&spreads)?));
        MachineNoise { by_metric: spreads.into_iter().filter_map(median).collect(), is_quick: run.is_quick() }
    }

    /// The spread of the processes of an estimate of the run. Five processes show little of it, so that of the others has the
    /// same weight. Of a quick run it is what is assumed of one.
    pub fn spread(&self, estimate: &Estimate) -> Option<f64> {
        if self.is_quick {
            return (![INSTRUCTIONS, PEAK_MEMORY].contains(&estimate.metric.name.as_str())).then_some(QUICK);
        }
        let (own, machine) = (spread(&estimate.workers)?, self.by_metric.get(&estimate.metric.name)?);
        let both = ((own.powi(2) + machine.powi(2)) / 2.0).sqrt();
        // The median of many processes moves less than that of five, but not less than a machine does meanwhile.
        let more = (estimate.workers.len() as f64 / USUAL_PROCESSES).max(1.0);
        Some((both / more.sqrt()).max(both.min(ASSUMED_DRIFT)))
    }
}

/// The deviation of the logarithms of the values of processes, from their median absolute deviation, which outliers do not
/// move: nor do they move the median of a run. Two groups of processes do, of which that deviation sees the larger one alone:
/// then from their quartiles.
fn spread(processes: &[f64]) -> Option<f64> {
    if processes.len() < FEWEST_PROCESSES || processes.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = processes.iter().map(|value| value.ln()).collect();
    let deviation = describe::scaled_median_deviation(&logarithms)?;
    let quartiles = describe::quantile(&logarithms, 0.75)? - describe::quantile(&logarithms, 0.25)?;
    Some(if quartiles > GROUPS.max(3.0 * deviation) { quartiles } else { deviation })
}

fn least_spread(metric: &Metric) -> f64 {
    match metric.name.as_str() {
        RATIO => LEAST_SPREAD.1,
        INSTRUCTIONS | PEAK_MEMORY => 0.0,
        _ => LEAST_SPREAD.0,
    }
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
///
/// Where the noise is assumed, no interval need lie within the tolerance: an unchanged metric itself mostly does.
pub fn tolerance(noise: &SessionNoise, base_sessions: usize, confidence: f64) -> f64 {
    let error = noise.deviation * (1.0 + 1.0 / base_sessions.max(1) as f64).sqrt();
    let quantile = |p: f64| student::quantile(p, noise.freedom).unwrap_or(f64::INFINITY);
    let step = |wanted: f64| STEPS.into_iter().find(|step| *step >= wanted).unwrap_or(STEPS[STEPS.len() - 1]);
    if noise.sessions == 0 {
        return step((quantile(confidence) * error).exp_m1()).min(LARGEST_ASSUMED_TOLERANCE);
    }
    step(((quantile(1.0 - (1.0 - confidence) / 2.0) + quantile(0.9)) * error).exp_m1())
}

/// Tolerances that people can talk about; the least is what a change of layout alone may do, and with the largest a metric
/// that is twice as slow is never called unchanged. They lie near one another, since what is rounded up is lost: a change
/// that the noise would show passes for one that is tolerated.
const STEPS: [f64; 20] = [
    0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0,
];

/// The levels since the last step: where the metric is now.
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
    use sprag_model::{Better, Side, TwoSides};

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
        let estimate = |levels: &[f64], within, metric: &Metric| estimate(levels, within, None, metric);
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
    fn two_groups_of_processes_are_noise_and_one_outlier_is_none() {
        let spread = |processes: &[f64]| spread(processes).expect("there are processes");
        assert!(spread(&[5.3, 5.3, 12085.0, 5.4, 16003.0]) > 5.0);
        assert!(spread(&[1.0, 1.01, 0.99, 1.5, 1.52]) > 0.3);
        assert!(spread(&[1.0, 1.01, 0.99, 1.0, 9.0]) < 0.02);
        assert!(spread(&[1.0, 1.2, 1.1, 0.9, 0.8]) < 0.2);
    }

    #[test]
    fn without_sessions_processes_show_the_noise() {
        let check = |metric: &Metric, spread: f64, expected: f64| {
            let noise = estimate(&[1.0], Some(0.4), Some(spread), metric);
            assert_eq!((noise.deviation, noise.freedom, noise.sessions), (expected, 8.0, 0), "{metric:?} {spread}");
        };
        check(&Metric::time(), 0.02, 0.02);
        check(&Metric::time(), 0.001, 0.01);
        check(&Metric::ratio(), 0.001, 0.005);
        check(&Metric::instructions(), 0.0, 1e-6);
        let three = estimate(&[1.0, 1.1, 1.21], None, Some(0.5), &Metric::time());
        assert_eq!(three.sessions, 3);
        // The larger of both runs, and what sessions differ by unless both are of one.
        let base = SessionNoise { deviation: 0.02, freedom: 8.0, sessions: 0 };
        let check = |spread, is_same_session, metric: &Metric, expected: f64| {
            assert_eq!(between(base, spread, is_same_session, metric).deviation, expected);
        };
        check(Some(0.01), true, &Metric::time(), 0.02);
        check(Some(0.025), true, &Metric::time(), 0.025);
        check(None, false, &Metric::time(), 0.03);
        check(None, false, &Metric::ratio(), 0.02);
        check(Some(0.05), false, &Metric::time(), 0.05);
    }

    #[test]
    fn a_machine_is_as_noisy_as_all_benchmarks_of_a_run_show() {
        let mut run = crate::example::run("cpu", "a", 1, &[("x", 1.0), ("y", 1.0), ("z", 1.0), ("few", 1.0)]);
        let around = |spread: f64| [-1.0, -1.0, 0.0, 1.0, 40.0].map(|step: f64| (step * spread).exp()).to_vec();
        let processes = [around(0.01), around(0.02), around(0.06), vec![1.0, 2.0]];
        for (measurement, workers) in run.measurements.iter_mut().zip(processes) {
            measurement.estimates[0].workers = workers;
        }
        let machine = MachineNoise::from_run(&run, &[]);
        let spread = |place: usize| machine.spread(&run.measurements[place].estimates[0]);
        // 1.4826 times the median deviation; the median over the three is 0.02.
        let expected = 1.482_602 * ((0.01_f64.powi(2) + 0.02_f64.powi(2)) / 2.0).sqrt();
        assert!((spread(0).expect("five processes") - expected).abs() < 1e-6, "{:?}", spread(0));
        assert_eq!(spread(3), None);
        let machine = MachineNoise::from_run(&run, &[0.09, 0.09, 0.09]);
        let with_doctor = machine.spread(&run.measurements[0].estimates[0]).expect("five processes");
        assert!(
            (with_doctor - ((0.014_826_f64.powi(2) + 0.089_48_f64.powi(2)) / 2.0).sqrt()).abs() < 1e-4,
            "{with_doctor}"
        );
    }

    #[test]
    fn levels_that_were_all_the_same_may_still_move_in_the_last_digit() {
        let three = estimate(&[1_000_000.0; 3], None, None, &Metric::time());
        assert_eq!((three.deviation, three.freedom, three.sessions), (1e-6, 2.0, 3));
        let check = |value: f64, expected: &str| {
            let base = Side { sessions: 3, ..Side::once(1_000_000.0) };
            let evidence = TwoSides::new(Better::Lower, base, Side::once(value));
            let evidence = TwoSides { session_noise: Some(three), ..evidence };
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
        let result = estimate(&levels, None, None, &Metric::ratio());
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
        // Student's t at 98 % with eight degrees of freedom is 2.449: 3.5 %, 7.2 % and 15.8 %.
        for (deviation, expected) in [(0.01, 0.04), (0.02, 0.08), (0.042, 0.1)] {
            let assumed = SessionNoise { deviation, freedom: 8.0, sessions: 0 };
            assert_eq!(tolerance(&assumed, 1, 0.98), expected);
        }
    }

    #[test]
    fn the_error_within_a_run_is_a_quarter_of_its_interval() {
        let result = within(1.0, Some((0.98, 1.02))).expect("there is an interval");
        assert!((result - 0.01).abs() < 1e-4, "{result}");
        assert_eq!((within(1.0, None), within(1.0, Some((-1.0, 2.0)))), (None, None));
    }
}
