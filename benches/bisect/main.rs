//! How many measurements `sprag bisect` takes and how often it is right, on simulated histories: `cargo bench --bench bisect`.
//!
//! Prints the table of `docs/FIGURES.md`, "Bisection", and exits with 1 where a figure that is promised there is missed. It is
//! compared with `git bisect run` by the verdict of a comparison, with the same repeated until it is decided, with the middle
//! first and majority votes, and with the bound that information sets. `SPRAG_BISECT_SHARE=10` makes ten times the runs.

mod others;

use std::io::{self, Write};
use std::process::ExitCode;

use rayon::prelude::*;
use sprag_analysis::bisect::cluster::Finding;
use sprag_analysis::bisect::simulation::{History, Trial, bisect};

use others::Answer;

/// The pairs of a measurement.
const PAIRS: usize = 4;

const RUNS: u64 = 20;

const CONFIDENCE: f64 = 0.95;

/// Above this no run is expected to end.
const MOST: usize = 100;

/// What is promised of steps of so many deviations of a measurement: the most measurements between the ends, over the bound,
/// and over those of `git bisect run` with repeats.
const CLEAR: f64 = 4.0;
const MOST_OVER_BOUND: f64 = 1.3;
const MOST_OVER_GIT: f64 = 0.5;

/// By how much culprits may be right more seldom than they say.
const MOST_OVERCLAIMED: f64 = 0.02;

struct Row {
    named: usize,
    right: usize,
    claimed: f64,
    measurements: usize,
    /// Of the ends.
    ends: usize,
    others: Vec<(f64, f64)>,
}

fn main() -> io::Result<ExitCode> {
    let share = std::env::var("SPRAG_BISECT_SHARE").ok().and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    let runs = ((RUNS as f64 * share) as u64).max(1);
    let out = &mut io::stdout().lock();
    writeln!(
        out,
        "| suspects | step | noise | deviations | found | right | said | ends | taken | bound | git | repeated | votes |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    )?;
    let mut missed = Vec::new();
    for suspects in [16, 64, 256, 1024] {
        for step in [0.01, 0.02, 0.05, 0.1, 0.5] {
            for noise in [0.003, 0.01, 0.02, 0.05] {
                let deviations = f64::ln_1p(step) / History::new(suspects, &[], noise, 0).deviation(PAIRS);
                // Below, it would take hours; far above, all is alike.
                if !(1.5..60.0).contains(&deviations) {
                    continue;
                }
                let row = row(suspects, step, noise, runs);
                let bound = others::bound(suspects, deviations, 1.0 - CONFIDENCE);
                let share = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
                let other: Vec<String> =
                    row.others.iter().map(|(taken, right)| format!("{taken:.0} ({:.0} %)", 100.0 * right)).collect();
                let words = format!(
                    "| {suspects} | {:.0} % | {:.1} % | {deviations:.1} | {:.0} % | {:.1} % | {:.1} % | {} | {} | {bound:.1} | {} |",
                    100.0 * step,
                    100.0 * noise,
                    share(row.named, runs as usize),
                    share(row.right, row.named),
                    100.0 * row.claimed,
                    row.ends,
                    row.measurements,
                    other.join(" | ")
                );
                writeln!(out, "{words}")?;
                let right = row.right as f64 / row.named.max(1) as f64;
                let is_costly = row.measurements as f64 > (MOST_OVER_BOUND * bound).ceil()
                    || row.measurements as f64 > MOST_OVER_GIT * row.others[1].0;
                let chance = 2.0 * (CONFIDENCE * (1.0 - CONFIDENCE) / row.named.max(1) as f64).sqrt();
                let is_wrong = right < CONFIDENCE - chance || row.claimed - right > MOST_OVERCLAIMED + chance;
                if is_wrong || deviations >= CLEAR && is_costly {
                    missed.push(words);
                }
            }
        }
    }
    two_culprits(runs, out)?;
    missed.iter().try_for_each(|words| writeln!(out, "missed: {words}"))?;
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn row(suspects: usize, step: f64, noise: f64, runs: u64) -> Row {
    // One commit of ten is broken.
    let history = |seed: u64| History::random(suspects, 1.0 + step, noise, 0.1, seed);
    let trials: Vec<Trial> =
        (0..runs).into_par_iter().map(|seed| bisect(&mut history(seed), PAIRS, CONFIDENCE, MOST)).collect();
    let named: Vec<&Trial> = trials.iter().filter(|one| matches!(one.finding(), Some(Finding::Culprit(_)))).collect();
    let count = named.len().max(1) as f64;
    let other = |way: fn(&mut History) -> Answer| {
        let answers: Vec<Answer> = (0..runs).into_par_iter().map(|seed| way(&mut history(seed))).collect();
        let right = answers.iter().filter(|one| one.is_right).count() as f64 / runs as f64;
        (median(answers.iter().map(|one| one.pairs as f64 / PAIRS as f64)), right)
    };
    Row {
        named: named.len(),
        right: named.iter().filter(|one| one.is_right).count(),
        claimed: named.iter().map(|one| one.claim).sum::<f64>() / count,
        measurements: median(trials.iter().map(|one| one.measurements as f64)) as usize,
        ends: median(trials.iter().map(|one| one.ends as f64)) as usize,
        others: vec![other(others::git), other(others::repeated), other(others::votes)],
    }
}

fn two_culprits(runs: u64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "\n| suspects | parts | deviations | both named | one named | wrong | taken |\n|--:|:--|--:|--:|--:|--:|--:|"
    )?;
    for (suspects, parts) in [(64, [0.05, 0.05]), (64, [0.02, 0.08]), (256, [0.05, 0.05])] {
        let trials: Vec<(Vec<usize>, Trial)> = (0..runs)
            .into_par_iter()
            .map(|seed| {
                let mut history = History::random(suspects, 1.0 + parts[0], 0.01, 0.1, seed);
                let second = 1 + (history.steps[0][0].0 + suspects / 3) % suspects;
                history.steps[0].push((second, 1.0 + parts[1]));
                (history.steps[0].iter().map(|one| one.0).collect(), bisect(&mut history, PAIRS, CONFIDENCE, MOST))
            })
            .collect();
        let named = |one: &(Vec<usize>, Trial)| match one.1.finding() {
            Some(Finding::Two(groups, _)) => {
                let is_named = |suspect: &usize| groups.iter().any(|group| group.contains(*suspect));
                one.0.iter().filter(|suspect| is_named(suspect)).count()
            }
            _ => usize::from(one.1.is_right),
        };
        let counts = [2, 1, 0].map(|wanted| trials.iter().filter(|one| named(one) == wanted).count() as f64);
        let [both, one, wrong] = counts.map(|count| 100.0 * count / runs as f64);
        let deviations = f64::ln_1p(parts[0]) / History::new(suspects, &[], 0.01, 0).deviation(PAIRS);
        let taken = median(trials.iter().map(|one| one.1.measurements as f64));
        let parts = parts.map(|part| format!("{:.0} %", 100.0 * part)).join(" and ");
        writeln!(
            out,
            "| {suspects} | {parts} | {deviations:.1} | {both:.0} % | {one:.0} % | {wrong:.0} % | {taken:.0} |"
        )?;
    }
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    sprag_base::stats::describe::median(&values.collect::<Vec<f64>>()).unwrap_or(f64::NAN)
}
