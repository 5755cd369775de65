//! How often each rule calls unchanged code slower, and how often it finds a true change: `cargo bench --bench rules`.
//!
//! Prints the tables of `docs/FIGURES.md`, "False alarms", and exits with 1 where a figure that is promised there is missed.
//! Everything is simulated from a fixed seed ([`noise`]), but for the last table, which is of recorded timings. It takes
//! minutes; `SPRAG_RULES_SHARE=0.1` makes a tenth of the repetitions.

mod noise;
mod seeds;
mod sessions;
mod table;
mod turns;

use std::io::{self, Write};
use std::process::ExitCode;

use rayon::prelude::*;
use serde_json::Value;
use sprag_analysis::interleaved::{self, PairOrder};
use sprag_base::stats::random::SplitMix64;

use noise::{NOISES, Noise};
use table::{Side, Table};
use turns::Turns;

/// Repetitions of identical code; the standard error of a share of 2.5 % is then 0.11 %.
const ALIKE: usize = 20_000;

const CHANGED: usize = 4_000;

/// The share of unchanged code that a rule may call slower: at a tolerance of zero, of 1 %, and of 1 % with a mode per process.
const MOST_CALLED: [f64; 3] = [0.025, 0.005, 0.01];

/// The share of changes by 5 % to find with ten pairs at a tolerance of zero, except under [`DIFFER_BY_MORE`].
const LEAST_DETECTED: f64 = 0.95;

/// Noises whose processes differ by more than 2 %.
const DIFFER_BY_MORE: [&str; 2] = ["N6", "N9"];

/// The number of pairs of the promises.
const PAIRS: usize = 10;

/// A row of ours.
struct Ours {
    name: &'static str,
    pairs: usize,
    turns: Turns,
    tolerance: f64,
    /// Whether the limits of what may be called apply; other rows are for comparison.
    is_promised: bool,
}

const fn ours(name: &'static str, pairs: usize, turns: Turns, tolerance: f64, is_promised: bool) -> Ours {
    Ours { name, pairs, turns, tolerance, is_promised }
}

/// Rows of the same number of pairs are adjacent.
const OURS: [Ours; 6] = [
    ours("interval, 10 pairs, tolerance 0 %", PAIRS, Turns::Rounds, 0.0, true),
    ours("interval, 10 pairs, tolerance 1 %", PAIRS, Turns::Rounds, 0.01, true),
    ours("interval, 10 pairs of whole processes, tolerance 0 %", PAIRS, Turns::Processes, 0.0, true),
    ours("interval, 10 pairs of whole processes, tolerance 1 %", PAIRS, Turns::Processes, 0.01, true),
    ours("interval, 5 pairs, tolerance 0 %", 5, Turns::Rounds, 0.0, true),
    ours("interval, 5 pairs, tolerance 1 %", 5, Turns::Rounds, 0.01, false),
];

fn main() -> io::Result<ExitCode> {
    let share = std::env::var("SPRAG_RULES_SHARE").ok().and_then(|text| text.parse::<f64>().ok());
    let share = share.filter(|share| (0.0..=1.0).contains(share)).unwrap_or(1.0);
    let repetitions = |change: f64| ((if change == 0.0 { ALIKE } else { CHANGED } as f64 * share) as usize).max(1);
    let out = &mut io::stdout().lock();
    for noise in &NOISES {
        writeln!(out, "- {}: {}", noise.name, noise.words)?;
    }
    let mut missed = Vec::new();
    for change in [0.0, 0.05, 0.02, 0.5, 1.0] {
        let n = repetitions(change);
        let table = of_noises(change, n);
        writeln!(out, "\n{}, per cent of {n}:\n\n{}", title(change), table.text())?;
        if change == 0.0 {
            missed.extend(table.missed(Side::AtMost, most_called));
        } else if change == 0.05 {
            missed.extend(table.missed(Side::AtLeast, least_detected));
        }
    }
    for change in [0.0, 0.05] {
        let n = repetitions(change);
        let table = sessions::table(change, n);
        let what = "compared with what was stored, by how much sessions differ";
        writeln!(out, "\n{}, {what}, per cent of {n}:\n\n{}", title(change), table.text())?;
        if change == 0.0 {
            let is_promised = |row: &str| [sessions::TURNS, sessions::EIGHT].contains(&row);
            missed.extend(table.missed(Side::AtMost, |row, _| is_promised(row).then_some(MOST_CALLED[0])));
        }
    }
    let table = of_recorded();
    let what = "Recorded timings of identical code, all windows of ten pairs";
    writeln!(out, "\n{what}, per cent called slower:\n\n{}", table.text())?;
    missed.extend(table.missed(Side::AtMost, |row, _| (row == RECORDED[0].0).then_some(MOST_RECORDED)));
    for one in &missed {
        writeln!(out, "MISSED: {one}")?;
    }
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn most_called(row: &str, noise: &str) -> Option<f64> {
    let ours = OURS.iter().find(|ours| ours.name == row && ours.is_promised)?;
    let [at_zero, at_one, with_modes] = MOST_CALLED;
    Some(match ours.tolerance {
        0.0 => at_zero,
        _ if noise == "N6" => with_modes,
        _ => at_one,
    })
}

fn least_detected(row: &str, noise: &str) -> Option<f64> {
    let is_promised = |ours: &Ours| ours.name == row && ours.pairs == PAIRS && ours.tolerance == 0.0;
    (OURS.iter().any(is_promised) && !DIFFER_BY_MORE.contains(&noise)).then_some(LEAST_DETECTED)
}

/// The rows for recorded timings: a factor by which one side is slower, and a tolerance.
const RECORDED: [(&str, f64, f64); 4] = [
    ("interval, 10 pairs, tolerance 0 %", 1.0, 0.0),
    ("interval, 10 pairs, tolerance 1 %", 1.0, 0.01),
    ("a change by 5 % found, tolerance 0 %", 1.05, 0.0),
    ("a change by 5 % found, tolerance 1 %", 1.05, 0.01),
];

/// The share of recorded windows that may be called slower at a tolerance of zero.
const MOST_RECORDED: f64 = 0.02;

/// Recorded timings of identical code: eighty processes of each of four kernels on a shared machine.
fn of_recorded() -> Table {
    let text = include_str!("../../fixtures/golden/stats/aa_invocations.json");
    let recording: Value = serde_json::from_str(text).expect("the recording is JSON");
    let kernels = recording["kernels"].as_object().expect("there are kernels");
    let mut table = Table::new(RECORDED.map(|(name, ..)| name), kernels.keys().map(String::as_str));
    for (name, processes) in kernels {
        let processes: Vec<Vec<f64>> = serde_json::from_value(processes.clone()).expect("lists of numbers");
        let share = |(_, slowdown, tolerance): (&str, f64, f64)| {
            interleaved::called(&processes, 10, PairOrder::Turned, slowdown, tolerance).share()
        };
        table.set(name, RECORDED.map(share).to_vec());
    }
    table
}

fn title(change: f64) -> String {
    if change == 0.0 {
        "Unchanged code called slower".to_owned()
    } else {
        format!("A change by {:.0} % found", change * 100.0)
    }
}

fn of_noises(change: f64, repetitions: usize) -> Table {
    let names = seeds::NAMES.iter().copied().chain(OURS.iter().map(|ours| ours.name));
    let mut table = Table::new(names, NOISES.iter().map(|noise| noise.name));
    for (place, noise) in NOISES.iter().enumerate() {
        let calls = |repetition: usize| {
            let mut random = random(&[place, (change * 100.0) as usize, repetition]);
            calls_of_noise(noise, 1.0 + change, &mut random)
        };
        table.fill(noise.name, &(0..repetitions).into_par_iter().map(calls).collect::<Vec<Vec<bool>>>());
    }
    table
}

/// Which rules call the second of two builds slower.
fn calls_of_noise(noise: &Noise, slowdown: f64, random: &mut SplitMix64) -> Vec<bool> {
    let mut calls =
        seeds::calls(&noise.process(1.0, seeds::SAMPLES, random), &noise.process(slowdown, seeds::SAMPLES, random));
    for ours in OURS.chunk_by(|a, b| a.pairs == b.pairs) {
        let pairs = turns::pairs(noise, ours[0].pairs, slowdown, random);
        calls.extend(ours.iter().map(|one| turns::is_called(&turns::ratios(&pairs, one.turns), one.tolerance)));
    }
    calls
}

/// Each repetition has its own generator, so that threads can work in any order.
fn random(places: &[usize]) -> SplitMix64 {
    let mut random = SplitMix64::new(2026);
    for place in places {
        let mixed = random.next_u64() ^ *place as u64;
        random = SplitMix64::new(mixed);
    }
    random
}
