//! Other ways to find a commit, on the same histories, and the bound that no way can beat.

use sprag_analysis::bisect::simulation::Scenario;
use sprag_analysis::interleaved::evidence;
use sprag_analysis::rules::interval;
use sprag_base::stats::describe;
use sprag_model::Verdict;

pub(crate) struct Answer {
    pub(crate) is_right: bool,
    pub(crate) pairs: usize,
}

/// The pairs and the tolerance of a comparison.
const COMPARED: usize = 10;
const TOLERANCE: f64 = 0.02;

/// How often a comparison that decides nothing is repeated.
const REPEATS: usize = 5;

/// Sessions of this many pairs vote; the side that leads by two wins.
const VOTING: usize = 4;
const MOST_VOTES: usize = 15;

/// `git bisect run sprag compare GOOD HEAD --measure --bisect`: what is inconclusive is skipped.
pub(crate) fn git(history: &mut Scenario) -> Answer {
    compared(history, 1)
}

/// The same, where a comparison is repeated with all pairs so far.
pub(crate) fn repeated(history: &mut Scenario) -> Answer {
    compared(history, REPEATS)
}

fn compared(history: &mut Scenario, repeats: usize) -> Answer {
    middle_first(history, &mut |history: &mut Scenario, commit| {
        let mut ratios = Vec::new();
        for _ in 0..repeats {
            ratios.extend(history.pairs(0, commit, COMPARED).into_iter().map(f64::exp));
            match interval::decide(TOLERANCE, &evidence(ratios.clone())).verdict {
                Verdict::Regressed => return (Some(true), ratios.len()),
                Verdict::Unchanged | Verdict::Improved => return (Some(false), ratios.len()),
                _ => {}
            }
        }
        (None, ratios.len())
    })
}

/// The middle first, by majority votes on which side of half the step a session is; the ends are measured before.
pub(crate) fn votes(history: &mut Scenario) -> Answer {
    let bad = history.suspects;
    let ends: Vec<f64> = (0..3).flat_map(|_| history.pairs(0, bad, VOTING)).collect();
    let half = describe::median(&ends).unwrap_or(0.0) / 2.0;
    let mut answer = middle_first(history, &mut |history: &mut Scenario, commit| {
        let (mut lead, mut votes) = (0_i32, 0);
        while lead.abs() < 2 && votes < MOST_VOTES {
            let level = describe::mean(&history.pairs(0, commit, VOTING)).unwrap_or(0.0);
            lead += if level > half { 1 } else { -1 };
            votes += 1;
        }
        (Some(lead > 0), votes * VOTING)
    });
    answer.pairs += ends.len();
    answer
}

/// Whether a commit is bad, if the pairs decide it, and how many pairs that took.
type Ask<'a> = dyn FnMut(&mut Scenario, usize) -> (Option<bool>, usize) + 'a;

/// Asks of the middle whether it is bad; what is broken or undecided is skipped for its nearest neighbour, as git does.
fn middle_first(history: &mut Scenario, ask: &mut Ask<'_>) -> Answer {
    let (mut good, mut bad, mut pairs) = (0_usize, history.suspects, 0);
    let mut skipped = history.broken.clone();
    loop {
        let middle = good.midpoint(bad);
        let next = (good + 1..bad).filter(|one| !skipped.contains(one)).min_by_key(|one| one.abs_diff(middle));
        let Some(commit) = next else {
            // Suspects that only broken commits divide are one answer; those that a comparison left open are not.
            let is_open = (good + 1..bad).any(|one| !history.broken.contains(&one));
            let is_right = !is_open && history.steps[0].iter().any(|(suspect, _)| (good + 1..=bad).contains(suspect));
            return Answer { is_right, pairs };
        };
        let (is_bad, taken) = ask(history, commit);
        pairs += taken;
        match is_bad {
            Some(true) => bad = commit,
            Some(false) => good = commit,
            None => {
                skipped.insert(commit);
            }
        }
    }
}

/// The fewest measurements, in the mean, after which the culprit is named with that chance of error: Fano's inequality over
/// the capacity of a channel with two inputs that many deviations apart.
pub(crate) fn bound(suspects: usize, deviations: f64, error: f64) -> f64 {
    let entropy = -error * error.log2() - (1.0 - error) * (1.0 - error).log2();
    ((1.0 - error) * (suspects as f64).log2() - entropy) / capacity(deviations)
}

fn capacity(deviations: f64) -> f64 {
    const WIDTH: f64 = 0.01;
    let density = |at: f64| (-at * at / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let points = ((deviations + 16.0) / WIDTH) as usize;
    let entropy: f64 = (0..points)
        .map(|point| WIDTH * point as f64 - 8.0)
        .map(|at| (density(at) + density(at - deviations)) / 2.0)
        .filter(|density| *density > 0.0)
        .map(|density| -density * density.log2() * WIDTH)
        .sum();
    entropy - (std::f64::consts::TAU * std::f64::consts::E).log2() / 2.0
}
