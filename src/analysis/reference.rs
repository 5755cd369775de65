//! What runs come to as something to hold others against: a baseline, of a file to be or of this moment only.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::rules::interval;
use super::session_noise::{self, MachineNoise};
use sprag_base::number;
use sprag_base::stats::{describe, student};
use sprag_model::baseline::SCHEMA_VERSION;
use sprag_model::{
    Baseline, BaselineMetric, Choice, Estimate, Metric, Policy, RecordedRun, Rule, RunStatus, SessionNoise,
};

/// How many digits of a number are kept: people review them, and no measurement has as many.
const DIGITS: usize = 9;

/// How sure it must be that the last session left the level of those before. At the level of a verdict it would be taken
/// for the level of today too often: a session that chance put far out makes a bad base.
const STEP: f64 = 0.001;

/// Whose level the base is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// That of the base runs alone, as when two commits are compared.
    Own,
    /// That of the base runs and of the sessions before them, back to where the level last moved.
    Joined,
    /// As `Joined`, but that a single last session which left the level does not count: one odd session is not a new level.
    Settled,
}

/// Takes a baseline from runs of one suite on one machine in one environment; `None` where `base` has no judged metric.
///
/// `base` are the runs that are taken, of one commit; `before` those whose sessions show how noisy each metric is, oldest
/// commit first. Of those sessions the last [`session_noise::MOST_SESSIONS`] count. `doctor` is as in [`MachineNoise::from_run`].
pub fn baseline(
    base: &[&RecordedRun],
    before: &[&RecordedRun],
    level: Ground,
    policy: &Policy,
    doctor: &[f64],
) -> Option<Baseline> {
    let newest = base.iter().max_by_key(|one| (one.run.timestamp, &one.id))?;
    let base_values = values(base);
    let machine = MachineNoise::from_run(&newest.run, doctor);
    let all = one_commit_a_session(base, before);
    let past_values = values(&all);
    let mut metrics = BTreeMap::new();
    for (key, series) in &base_values {
        let Some(past) = past_values.get(key) else { continue };
        let history = MetricHistory {
            metric: &series.newest.metric,
            interval: series.newest.interval,
            spread: machine.spread(series.newest).map(|spread| spread.max(spread_of_runs(&series.values))),
            own: &series.values,
            past: &past.values,
        };
        let version = Some(series.version);
        metrics.insert(key.clone(), BaselineMetric { version, ..entry(key, &history, level, policy) });
    }
    if metrics.is_empty() {
        return None;
    }
    let run = &newest.run;
    Some(Baseline {
        schema_version: SCHEMA_VERSION,
        suite: run.suite.clone(),
        machine_class: run.machine.class.clone(),
        environment: run.environment.clone(),
        commit: run.commit.as_ref().map(|commit| commit.sha.clone()),
        dirty: run.commit.as_ref().is_none_or(|commit| commit.dirty),
        partial: run.is_partial() || run.measurements.iter().any(|one| one.failed().is_some()),
        branch: run.commit.as_ref().and_then(|commit| commit.branch.clone()),
        machine: Some(run.machine.name.clone()),
        run: newest.id.clone(),
        timestamp_utc: run.timestamp,
        required_status: RunStatus::Ok,
        notes: String::new(),
        accepted: None,
        metrics,
    })
}

/// The deviation of the logarithms of runs of one commit.
fn spread_of_runs(runs: &[(DateTime<Utc>, f64)]) -> f64 {
    let logarithms: Vec<f64> = runs.iter().map(|(_, value)| value.ln()).filter(|value| value.is_finite()).collect();
    describe::sample_variance(&logarithms).map_or(0.0, f64::sqrt)
}

/// The runs of both, the base last, but of each session only those of its last commit. Several commits measured within the
/// hour are one session of the machine, and their mean is the level of none of them.
fn one_commit_a_session<'r>(base: &[&'r RecordedRun], before: &[&'r RecordedRun]) -> Vec<&'r RecordedRun> {
    let sha = |one: &RecordedRun| one.run.commit.as_ref().map(|commit| commit.sha.clone());
    let mut own = base.to_vec();
    own.sort_by_key(|one| (one.run.timestamp, &one.id));
    let is_other = |one: &&&RecordedRun| base.iter().all(|own| own.id != one.id);
    let mut all: Vec<(usize, &RecordedRun)> = before.iter().filter(is_other).copied().chain(own).enumerate().collect();
    all.sort_by_key(|(_, one)| one.run.timestamp);
    let sessions = all.chunk_by(|(_, a), (_, b)| b.run.timestamp - a.run.timestamp < session_noise::SESSION);
    let used = sessions.flat_map(|session| {
        let commit = session.iter().max_by_key(|(place, _)| place).and_then(|(_, one)| sha(one));
        session.iter().filter(move |(_, one)| sha(one) == commit).copied()
    });
    let mut used: Vec<(usize, &RecordedRun)> = used.collect();
    used.sort_by_key(|(place, _)| *place);
    used.into_iter().map(|(_, one)| one).collect()
}

/// How many sessions hold each judged metric, by its key.
pub fn sessions(runs: &[&RecordedRun]) -> BTreeMap<String, usize> {
    values(runs).into_iter().map(|(key, series)| (key, session_noise::sessions(&series.values).len())).collect()
}

/// What is known of a metric: the time and value of each run.
pub struct MetricHistory<'a> {
    pub metric: &'a Metric,
    /// The 95 % interval of the newest of the base runs over its processes; no entry has one that its value is not in.
    pub interval: Option<(f64, f64)>,
    /// The spread of the processes of the newest of the base runs, and no less than that of the runs.
    pub spread: Option<f64>,
    /// The base runs, at least one.
    pub own: &'a [(DateTime<Utc>, f64)],
    /// The base runs and those before them, which come first.
    pub past: &'a [(DateTime<Utc>, f64)],
}

pub fn entry(key: &str, history: &MetricHistory<'_>, level: Ground, policy: &Policy) -> BaselineMetric {
    let MetricHistory { metric, interval, spread, own, past } = *history;
    let newest = own.iter().max_by_key(|(time, _)| *time).map_or(0.0, |(_, value)| *value);
    // A zero has no logarithm, and so no level: the value itself is used.
    let is_level = newest > 0.0;
    let interval = interval.filter(|(low, high)| low <= high);
    let within = session_noise::within(newest, interval);
    let mut levels = session_noise::levels(past);
    levels.drain(..levels.len().saturating_sub(session_noise::MOST_SESSIONS));
    // Where the level moved in the last session, the sessions before show the noise of the metric, but not its present level.
    let stepped = before_a_step(&levels, within, spread, metric).filter(|_| is_level);
    let behind = match level {
        _ if !is_level => Vec::new(),
        Ground::Joined | Ground::Settled if stepped.is_none() => session_noise::present(&levels, within).to_vec(),
        Ground::Settled => session_noise::present(&levels[..levels.len() - 1], within).to_vec(),
        Ground::Joined => levels[levels.len() - 1..].to_vec(),
        Ground::Own => session_noise::sessions(own),
    };
    let session_noise = stepped.unwrap_or_else(|| session_noise::estimate(&levels, within, spread, metric));
    let logarithms = behind.iter().map(|level| level.ln());
    let sessions = behind.len().max(1);
    let mean = if is_level { (logarithms.sum::<f64>() / sessions as f64).exp() } else { newest };
    let value = number::round_significant(mean, DIGITS);
    let session_noise =
        SessionNoise { deviation: number::round_significant(session_noise.deviation, DIGITS), ..session_noise };
    let rule = rule(policy, key, Some(&session_noise), sessions);
    BaselineMetric {
        value,
        unit: metric.unit,
        better: metric.better,
        // The interval of one run says little about a level of several, and nothing where the level lies outside it.
        interval: interval.filter(|(low, high)| (*low..=*high).contains(&value)),
        version: None,
        sessions,
        session_noise: Some(session_noise),
        rule,
    }
}

/// The noise of the sessions before the last one, where the last one certainly left the range that this noise allows.
fn before_a_step(levels: &[f64], within: Option<f64>, spread: Option<f64>, metric: &Metric) -> Option<SessionNoise> {
    let (last, before) = levels.split_last()?;
    let present = session_noise::present(before, within);
    let session_noise = session_noise::estimate(before, within, None, metric);
    let mean = present.iter().map(|level| level.ln()).sum::<f64>() / present.len().max(1) as f64;
    let error = session_noise.deviation * (1.0 + 1.0 / present.len().max(1) as f64).sqrt();
    let moved = (last.ln() - mean).abs();
    let chance = match error > 0.0 {
        true => 2.0 * student::sf(moved / error, session_noise.freedom).unwrap_or(1.0),
        false => f64::from(*last == present.first().copied().unwrap_or(*last)),
    };
    (!before.is_empty() && chance < STEP).then(|| session_noise::estimate(before, within, spread, metric))
}

/// The rule of the metric of that key, whose base value is from so many sessions.
pub fn rule(policy: &Policy, key: &str, session_noise: Option<&SessionNoise>, sessions: usize) -> Rule {
    match (policy.choice(key), session_noise) {
        (Choice::Fixed(rule), _) => rule,
        (Choice::Learnt, Some(session_noise)) => {
            Rule::Interval { tolerance: session_noise::tolerance(session_noise, sessions, interval::CONFIDENCE) }
        }
        (Choice::Learnt, None) => Rule::Interval { tolerance: interval::TOLERANCE },
    }
}

/// The values of one metric by run, and the estimate of the last run that has it.
struct Series<'a> {
    values: Vec<(DateTime<Utc>, f64)>,
    newest: &'a Estimate,
    version: u32,
}

fn values<'a>(runs: &[&'a RecordedRun]) -> BTreeMap<String, Series<'a>> {
    let mut result: BTreeMap<String, Series<'a>> = BTreeMap::new();
    for one in runs {
        for measurement in &one.run.measurements {
            let Some(estimate) = measurement.judged().filter(|estimate| estimate.value >= 0.0) else { continue };
            let key = Baseline::key(&measurement.benchmark.id(), &estimate.metric.name);
            let version = measurement.benchmark.version;
            let series = result.entry(key).or_insert(Series { values: Vec::new(), newest: estimate, version });
            // A metric of other work, or measured in another unit since, is another one.
            if series.newest.metric != estimate.metric || series.version != version {
                series.values.clear();
            }
            series.values.push((one.run.timestamp, estimate.value));
            series.newest = estimate;
            series.version = version;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use sprag_model::Commit;

    fn runs(values: &[f64]) -> Vec<RecordedRun> {
        let run =
            |(day, value): (usize, &f64)| RecordedRun::from(example::run("cpu", "a", day as u32 + 1, &[("x", *value)]));
        values.iter().enumerate().map(run).collect()
    }

    fn taken(before: &[f64], own: f64, level: Ground) -> BaselineMetric {
        let all = runs(&[before, &[own]].concat());
        let (last, before) = all.split_last().expect("there is one");
        let before: Vec<&RecordedRun> = before.iter().collect();
        let result = baseline(&[last], &before, level, &Policy::default(), &[]).expect("there is a metric");
        assert_eq!((result.run.as_str(), result.metrics.len()), (last.id.as_str(), 1));
        result.metrics.into_values().next().expect("there is one")
    }

    #[test]
    fn sessions_that_agree_are_joined() {
        let alone = taken(&[], 1.0, Ground::Joined);
        assert_eq!((alone.value, alone.sessions, alone.session_noise.map(|one| one.sessions)), (1.0, 1, Some(0)));
        let joined = taken(&[1.0, 1.02, 0.98, 1.01], 1.0, Ground::Joined);
        assert_eq!((joined.sessions, joined.session_noise.map(|one| one.sessions)), (5, Some(5)));
        assert!((joined.value - 1.002).abs() < 0.001, "{}", joined.value);
        let own = taken(&[1.0, 1.02, 0.98, 1.01], 1.03, Ground::Own);
        assert_eq!((own.value, own.sessions, own.session_noise.map(|one| one.sessions)), (1.03, 1, Some(5)));
    }

    #[test]
    fn a_step_leaves_the_level_to_the_sessions_since() {
        let stepped = taken(&[1.0, 1.02, 0.98, 1.01], 2.0, Ground::Joined);
        assert_eq!((stepped.sessions, stepped.session_noise.map(|one| one.sessions)), (1, Some(4)));
        assert!((stepped.value - 2.0).abs() < 1e-12);
        let earlier = taken(&[1.0, 1.02, 0.98, 2.0, 2.02, 1.98], 2.0, Ground::Joined);
        assert_eq!(earlier.sessions, 4);
        assert!(earlier.session_noise.is_some_and(|one| one.deviation < 0.03), "{earlier:?}");
    }

    #[test]
    fn sessions_before_a_step_tell_of_noise_alone() {
        let moved = taken(&[1.0, 1.01, 0.99, 1.15, 1.16, 1.14], 1.15, Ground::Joined);
        assert_eq!((moved.sessions, moved.session_noise.map(|one| one.sessions)), (4, Some(7)));
        assert!((moved.value - 1.15).abs() < 0.001, "{}", moved.value);
        assert!(moved.session_noise.is_some_and(|one| one.deviation < 0.011 && one.freedom == 5.0), "{moved:?}");
    }

    #[test]
    fn a_zero_is_its_own_level() {
        for level in [Ground::Own, Ground::Joined, Ground::Settled] {
            let zero = taken(&[1.0, 1.01, 0.99], 0.0, level);
            assert_eq!((zero.value, zero.sessions, zero.session_noise.map(|one| one.sessions)), (0.0, 1, Some(3)));
            let since = taken(&[0.0, 1.01, 0.99], 1.0, level);
            assert!((since.value - 1.0).abs() < 0.01, "{since:?}");
        }
        assert_eq!(taken(&[], 0.0, Ground::Own).value, 0.0);
    }

    #[test]
    fn a_session_has_the_level_of_one_commit() {
        let at = |day: u32, minute: i64, commit: &str, value: f64| {
            let mut run = example::run("cpu", "a", day, &[("x", value)]);
            run.timestamp += chrono::TimeDelta::minutes(minute);
            run.commit = Some(Commit::new(commit.repeat(40), run.timestamp));
            RecordedRun::from(run)
        };
        // On the first day two commits were measured within the hour; the second one counts.
        let before =
            [at(1, 0, "a", 5.0), at(1, 20, "b", 1.0), at(2, 0, "b", 1.01), at(3, 0, "b", 1.0), at(3, 30, "c", 9.0)];
        let before: Vec<&RecordedRun> = before.iter().collect();
        let taken = |base: &RecordedRun| {
            let result =
                baseline(&[base], &before, Ground::Joined, &Policy::default(), &[]).expect("there is a metric");
            result.metrics.into_values().next().expect("there is one")
        };
        // On the third day the base itself was measured, so that the other commit of that hour does not count.
        let result = taken(&at(3, 40, "b", 1.0));
        assert_eq!((result.sessions, result.session_noise.map(|one| one.sessions)), (3, Some(3)), "{result:?}");
        assert!((result.value - 1.003).abs() < 0.001, "{}", result.value);
    }

    #[test]
    fn what_is_measured_late_stays_in_its_place() {
        let all = runs(&[1.0, 1.01, 0.99, 2.0, 2.02, 1.98, 2.0]);
        let taken = |before: &[usize]| {
            let before: Vec<&RecordedRun> = before.iter().map(|place| &all[*place]).collect();
            let result = baseline(&[&all[0]], &before, Ground::Joined, &Policy::default(), &[]);
            result.and_then(|one| one.metrics.into_values().next()).expect("there is a metric")
        };
        // The base was measured first of all: its level is that of the commits just before it.
        let result = taken(&[3, 4, 5, 6, 1, 2]);
        assert_eq!((result.sessions, result.session_noise.map(|one| one.sessions)), (3, Some(7)));
        assert_eq!(taken(&[1, 2, 3, 4, 5, 6]).sessions, 1);
    }

    #[test]
    fn only_the_newest_sessions_count() {
        let many = taken(&[9.0, 9.0, 9.0, 1.0, 1.01, 1.0, 0.99, 1.0, 1.0, 1.0], 1.0, Ground::Joined);
        assert_eq!(many.sessions, session_noise::MOST_SESSIONS);
        assert!((many.value - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_policy_gives_the_rule() {
        let all = runs(&[1.0]);
        let fixed = Rule::Bands { fail: 0.05, warn: 0.02 };
        let policy = Policy {
            exceptions: vec![sprag_model::rule::Exception { part: "x @".to_owned(), choice: Choice::Fixed(fixed) }],
            default: Choice::Learnt,
        };
        let of = |policy: &Policy| {
            let result = baseline(&[&all[0]], &[], Ground::Own, policy, &[]).expect("there is a metric");
            result.metrics.into_values().next().expect("there is one").rule
        };
        assert_eq!(of(&policy), fixed);
        // A time without sessions and processes moves by 5 %, and is given as much as is ever assumed.
        assert_eq!(of(&Policy::default()), Rule::Interval { tolerance: 0.1 });
        assert_eq!(baseline(&[], &[], Ground::Own, &policy, &[]), None);
    }
}
