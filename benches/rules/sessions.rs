//! Stored runs compared with a new one: the machine may change from session to session.

use chrono::{DateTime, TimeDelta, Utc};
use rayon::prelude::*;
use sprag_analysis::compare;
use sprag_analysis::reference::{self, Ground, MetricHistory};
use sprag_analysis::rules;
use sprag_base::stats::describe;
use sprag_base::stats::random::SplitMix64;
use sprag_model::{Choice, Metric, Policy, Rule, Verdict};

use crate::noise::{NOISES, Noise};
use crate::table::Table;
use crate::{random, seeds, turns};

pub(crate) const TURNS: &str = "interval, 10 pairs, tolerance 0 %";

pub(crate) const EIGHT: &str = "interval, last 8 sessions, tolerance 0 %";

const NAMES: [&str; 8] = [
    seeds::NAMES[0],
    seeds::NAMES[2],
    "interval, 1 session of a time, tolerance 0 %",
    "interval, 1 session of a ratio, tolerance 0 %",
    EIGHT,
    "interval, last 8 sessions, tolerance 1 %",
    "interval, last 8 sessions, tolerance learnt",
    TURNS,
];

/// By how much sessions differ.
const DEVIATIONS: [f64; 5] = [0.0, 0.005, 0.01, 0.02, 0.04];

/// Processes of a run, and samples of each.
const RUN: (usize, usize) = (10, 15);

/// Processes differ by 1 %.
pub(crate) fn table(change: f64, repetitions: usize) -> Table {
    let column = |deviation: f64| format!("{} %", 100.0 * deviation);
    let mut table = Table::new(NAMES, DEVIATIONS.map(column));
    for (place, deviation) in DEVIATIONS.into_iter().enumerate() {
        let calls = |repetition: usize| {
            let mut random = random(&[100 + place, (change * 100.0) as usize, repetition]);
            calls(deviation, 1.0 + change, &mut random)
        };
        table.fill(&column(deviation), &(0..repetitions).into_par_iter().map(calls).collect::<Vec<Vec<bool>>>());
    }
    table
}

fn calls(deviation: f64, slowdown: f64, random: &mut SplitMix64) -> Vec<bool> {
    let noise = &NOISES[6];
    let session = |random: &mut SplitMix64| 1.0 + deviation * random.normal();
    let (then, now) = (session(random), slowdown * session(random));
    let seeds = seeds::calls(&noise.process(then, seeds::SAMPLES, random), &noise.process(now, seeds::SAMPLES, random));
    let current = run(noise, now, random);
    let stored = [run(noise, then, random)];
    let eight: Vec<f64> = (0..8)
        .map(|_| {
            let level = session(random);
            run(noise, level, random)
        })
        .collect();
    let fixed = |tolerance: f64| Choice::Fixed(Rule::Interval { tolerance });
    let ratios = turns::ratios(&turns::pairs(noise, 10, slowdown, random), turns::Turns::Rounds);
    vec![
        seeds[0],
        seeds[2],
        is_called(&stored, current, &Metric::time(), fixed(0.0)),
        is_called(&stored, current, &Metric::ratio(), fixed(0.0)),
        is_called(&eight, current, &Metric::time(), fixed(0.0)),
        is_called(&eight, current, &Metric::time(), fixed(0.01)),
        is_called(&eight, current, &Metric::time(), Choice::Learnt),
        turns::is_called(&ratios, 0.0),
    ]
}

/// The value of a run: the median over processes of their medians.
fn run(noise: &Noise, level: f64, random: &mut SplitMix64) -> f64 {
    let (processes, samples) = RUN;
    let median = |values: &[f64]| describe::median(values).expect("there are values");
    let levels: Vec<f64> = (0..processes).map(|_| median(&noise.process(level, samples, random))).collect();
    median(&levels)
}

/// Whether a run is called slower than sessions of one run each, as `sprag check --against history` does.
fn is_called(sessions: &[f64], current: f64, metric: &Metric, choice: Choice) -> bool {
    let day = |number: usize| {
        DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(i64::try_from(number).expect("there are few sessions"))
    };
    let past: Vec<(DateTime<Utc>, f64)> =
        sessions.iter().enumerate().map(|(number, value)| (day(number), *value)).collect();
    let history = MetricHistory { metric, interval: None, spread: None, own: &past[past.len() - 1..], past: &past };
    let policy = Policy { exceptions: Vec::new(), default: choice };
    let entry = reference::entry("a time", &history, Ground::Joined, &policy);
    let evidence = compare::evidence(&entry, metric, &[(day(sessions.len()), current)], None);
    rules::decide(&entry.rule, &evidence).verdict == Verdict::Regressed
}
