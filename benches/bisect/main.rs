//! How many measurements `sprag bisect` takes and how often it is right, on simulated histories: `cargo bench --bench bisect`.
//!
//! Prints the table of `docs/FIGURES.md`, "Bisection", and exits with 1 where a figure that is promised there is missed. It is
//! compared with `git bisect run` by the verdict of a comparison, with the same repeated until it is decided, with the middle
//! first and majority votes, and with the bound that information sets. `SPRAG_BISECT_SHARE=10` makes ten times the runs. With
//! `constants` it shows what each fitted constant is worth.

mod ablation;
#[path = "../documented.rs"]
mod documented;
mod others;

use std::io::{self, Write};
use std::process::ExitCode;

use rayon::prelude::*;
use sprag_analysis::bisect::cluster::Ruling;
use sprag_analysis::bisect::simulation::{Scenario, Trial, bisect};

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

/// Half of the bisections take one measurement more, to check that the change was not undone; the bound has none.
const CHECK: f64 = 0.5;

/// Below so many deviations nothing is promised: ends that chance made differ show too large a step.
const FAINT: f64 = 1.5;

/// By how much culprits may be right more seldom than they say.
const MOST_OVERCLAIMED: f64 = 0.02;

struct Row {
    named: usize,
    /// Whose ends differ, without a culprit.
    open: usize,
    right: usize,
    claimed: f64,
    measurements: f64,
    /// Of the ends.
    ends: f64,
    others: Vec<(f64, f64)>,
}

fn main() -> io::Result<ExitCode> {
    let share = std::env::var("SPRAG_BISECT_SHARE").ok().and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    let runs = ((RUNS as f64 * share) as u64).max(1);
    let out = &mut io::stdout().lock();
    if std::env::args().any(|argument| argument == "constants") {
        ablation::write(5 * runs, out)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        out,
        "| suspects | step | noise | deviations | found | open | right | said | ends | taken | bound | git | repeated | votes |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    )?;
    let mut missed = Vec::new();
    for suspects in [16, 64, 256, 1024] {
        for step in [0.01, 0.02, 0.05, 0.1, 0.5] {
            for noise in [0.003, 0.01, 0.02, 0.05] {
                let deviations = f64::ln_1p(step) / Scenario::new(suspects, &[], noise, 0).deviation(PAIRS);
                let row = row(suspects, step, noise, runs);
                let bound = others::bound(suspects, deviations, 1.0 - CONFIDENCE);
                let share = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
                let other: Vec<String> =
                    row.others.iter().map(|(taken, right)| format!("{taken:.0} ({:.0} %)", 100.0 * right)).collect();
                let of_named = |percent: f64| if row.named > 0 { format!("{percent:.1} %") } else { "–".to_owned() };
                let words = format!(
                    "| {suspects} | {:.0} % | {:.1} % | {deviations:.1} | {:.0} % | {:.0} % | {} | {} | {} | {} | {bound:.1} | {} |",
                    100.0 * step,
                    100.0 * noise,
                    share(row.named, runs as usize),
                    share(row.open, runs as usize),
                    of_named(share(row.right, row.named)),
                    of_named(100.0 * row.claimed),
                    row.ends,
                    row.measurements,
                    other.join(" | ")
                );
                writeln!(out, "{words}")?;
                let right = row.right as f64 / row.named.max(1) as f64;
                let is_costly = row.measurements > MOST_OVER_BOUND * bound + CHECK
                    || row.measurements > MOST_OVER_GIT * row.others[1].0;
                let chance = 2.0 * (CONFIDENCE * (1.0 - CONFIDENCE) / row.named.max(1) as f64).sqrt();
                let is_wrong = deviations >= FAINT
                    && row.named > 0
                    && (right < CONFIDENCE - chance || row.claimed - right > MOST_OVERCLAIMED + chance);
                if is_wrong || deviations >= CLEAR && is_costly {
                    missed.push(words);
                }
            }
        }
    }
    two_culprits(runs, out)?;
    several_benchmarks(runs, out)?;
    missed.iter().try_for_each(|words| writeln!(out, "missed: {words}"))?;
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn row(suspects: usize, step: f64, noise: f64, runs: u64) -> Row {
    // One commit of ten is broken.
    let history = |seed: u64| Scenario::random(suspects, 1.0 + step, noise, 0.1, seed);
    let trials: Vec<Trial> =
        (0..runs).into_par_iter().map(|seed| bisect(&mut history(seed), PAIRS, CONFIDENCE, MOST)).collect();
    let named: Vec<&Trial> = trials.iter().filter(|one| matches!(one.finding(), Some(Ruling::Culprit(_)))).collect();
    let count = named.len().max(1) as f64;
    let other = |way: fn(&mut Scenario) -> Answer| {
        let answers: Vec<Answer> = (0..runs).into_par_iter().map(|seed| way(&mut history(seed))).collect();
        let right = answers.iter().filter(|one| one.is_right).count() as f64 / runs as f64;
        (median(answers.iter().map(|one| one.pairs as f64 / PAIRS as f64)), right)
    };
    Row {
        named: named.len(),
        open: trials.iter().filter(|one| one.finding() == Some(Ruling::Open)).count(),
        right: named.iter().filter(|one| one.is_right).count(),
        claimed: named.iter().map(|one| one.claim).sum::<f64>() / count,
        measurements: median(trials.iter().map(|one| one.measurements as f64)),
        ends: median(trials.iter().map(|one| one.ends as f64)),
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
                let mut history = Scenario::random(suspects, 1.0 + parts[0], 0.01, 0.1, seed);
                let second = 1 + (history.steps[0][0].0 + suspects / 3) % suspects;
                history.steps[0].push((second, 1.0 + parts[1]));
                (history.steps[0].iter().map(|one| one.0).collect(), bisect(&mut history, PAIRS, CONFIDENCE, MOST))
            })
            .collect();
        let named = |one: &(Vec<usize>, Trial)| match one.1.finding() {
            Some(Ruling::Two(groups, _)) => {
                let is_named = |suspect: &usize| groups.iter().any(|group| group.contains(*suspect));
                one.0.iter().filter(|suspect| is_named(suspect)).count()
            }
            _ => usize::from(one.1.is_right),
        };
        let counts = [2, 1, 0].map(|wanted| trials.iter().filter(|one| named(one) == wanted).count() as f64);
        let [both, one, wrong] = counts.map(|count| 100.0 * count / runs as f64);
        let deviations = f64::ln_1p(parts[0]) / Scenario::new(suspects, &[], 0.01, 0).deviation(PAIRS);
        let taken = median(trials.iter().map(|one| one.1.measurements as f64));
        let parts = parts.map(|part| format!("{:.0} %", 100.0 * part)).join(" and ");
        writeln!(
            out,
            "| {suspects} | {parts} | {deviations:.1} | {both:.0} % | {one:.0} % | {wrong:.0} % | {taken:.0} |"
        )?;
    }
    Ok(())
}

/// Benchmarks that moved, each group at a commit of its own or all at one, and a change that was undone and made once more.
fn several_benchmarks(runs: u64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n| benchmarks | deviations | right | wrong | open | taken |\n|:--|--:|--:|--:|--:|--:|")?;
    for (words, groups, noise) in [
        ("one", &[1][..], 0.01),
        ("eight at one commit", &[8], 0.01),
        ("one at each of two", &[1, 1], 0.01),
        ("eight and two at two", &[8, 2], 0.01),
        ("one", &[1], 0.02),
        ("eight at one commit", &[8], 0.02),
        ("one at each of two", &[1, 1], 0.02),
        ("eight and two at two", &[8, 2], 0.02),
        ("one", &[1], 0.05),
        ("eight at one commit", &[8], 0.05),
        ("one at each of two", &[1, 1], 0.05),
        ("one, undone and redone", &[], 0.01),
    ] {
        let trials: Vec<Trial> = (0..runs)
            .into_par_iter()
            .map(|seed| {
                let random = |seed: u64| Scenario::random(64, 1.05, noise, 0.1, seed);
                let mut history = random(seed);
                let first = history.steps[0].clone();
                let group = |(place, count): (usize, &usize)| {
                    let steps = if place == 0 { first.clone() } else { random(seed + 1000).steps[0].clone() };
                    vec![steps; *count]
                };
                history.steps = groups.iter().enumerate().flat_map(group).collect();
                if groups.is_empty() {
                    history.steps = vec![vec![(10, 1.05), (31 + seed as usize % 12, 1.0 / 1.05), (52, 1.05)]];
                }
                bisect(&mut history, PAIRS, CONFIDENCE, MOST)
            })
            .collect();
        let is_named = |one: &&Trial| one.clusters.iter().all(|cluster| !cluster.finding.groups().is_empty());
        let is_right = |trial: &&Trial| match trial.finding() {
            // Which commit is first measured decides whether the earlier change shows.
            Some(Ruling::Culprit(group) | Ruling::Redone(group, _)) if groups.is_empty() => group.contains(52),
            _ => trial.is_right,
        };
        let right = trials.iter().filter(is_named).filter(is_right).count();
        let open = trials.iter().filter(|one| !is_named(one)).count();
        let share = |count: usize| 100.0 * count as f64 / runs as f64;
        let deviations = f64::ln_1p(0.05) / Scenario::new(64, &[], noise, 0).deviation(PAIRS);
        let taken = median(trials.iter().map(|one| one.measurements as f64));
        writeln!(
            out,
            "| {words} | {deviations:.1} | {:.0} % | {:.0} % | {:.0} % | {taken:.0} |",
            share(right),
            share(runs as usize - right - open),
            share(open)
        )?;
    }
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    sprag_base::stats::describe::median(&values.collect::<Vec<f64>>()).unwrap_or(f64::NAN)
}
