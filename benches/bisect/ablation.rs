//! What each fitted constant is worth: the figures without it.

use std::io::{self, Write};

use rayon::prelude::*;
use sprag_analysis::bisect::cluster::Ruling;
use sprag_analysis::bisect::simulation::{Scenario, Trial, bisect_by};
use sprag_analysis::bisect::tuning::Fitting;

use super::documented::{Ablation, rows};
use super::{CONFIDENCE, MOST, PAIRS};

/// Where the constants are, with their meaning and value.
const SOURCE: &str = include_str!("../../src/analysis/bisect/tuning.rs");

const NONE: f64 = 1e-12;

const ABLATIONS: [Ablation<Fitting>; 22] = [
    ("wrong", "0.05", |t| t.wrong = 0.05),
    ("doubtful", "no such sessions", |t| t.doubtful = 0.0),
    ("most_for_doubtful", "24", |t| t.most_for_doubtful = 24),
    ("sizes", "what the ends show", |t| t.sizes = [(1.0, 0.2); 5]),
    ("two", "never", |t| t.two = NONE),
    ("redone", "never", |t| t.redone = NONE),
    ("drift", "never", |t| t.drift = NONE),
    ("other", "never", |t| t.other = NONE),
    ("at_ends", "any level alike", |t| t.at_ends = 0.1),
    ("same", "never", |t| t.same = NONE),
    ("near", "0", |t| t.near = 0.0),
    ("disturbed", "none", |t| t.disturbed = NONE),
    ("scatter", "a half", |t| t.scatter = 0.5),
    ("least_build", "almost none", |t| t.least_build = 0.005),
    ("build_share", "0", |t| t.build_share = 0.0),
    ("shared", "as likely as not", |t| t.shared = 0.5),
    ("next", "0", |t| t.next = 0.0),
    ("checked", "no such check", |t| t.checked = 2.0),
    ("between_deviation", "0", |t| t.between_deviation = 0.0),
    ("far", "never", |t| t.far = f64::INFINITY),
    ("fewest_of_far", "1", |t| t.fewest_of_far = 1),
    ("near_broken", "no commit", |t| t.near_broken = 0),
];

/// The histories of 64 suspects of a set, by their seed, and whether a trial of one is right; absent where no commit is to blame.
type Set = (fn(u64) -> Scenario, Option<fn(&Trial) -> bool>);

const ONE: [fn(u64) -> Scenario; 5] = [
    |seed| Scenario::random(64, 1.05, 0.01, 0.1, seed),
    |seed| Scenario::random(64, 1.05, 0.02, 0.3, seed),
    |seed| Scenario::random(64, 1.05, 0.04, 0.1, seed),
    |seed| changed(seed, &|history| history.disturbed = 0.1),
    |seed| changed(seed, &|history| (history.session_noise, history.build_noise) = (0.01, 0.01)),
];

const OTHERS: [Set; 7] = [
    (|seed| with(seed, 0.01, &|first| vec![vec![(first, 1.05), (other(first), 1.05)]]), Some(has_two)),
    (|seed| with(seed, 0.01, &|first| vec![vec![(first, 1.04), (other(first), 1.08)]]), Some(has_two)),
    (|seed| with(seed, 0.01, &|_| vec![vec![(10, 1.05), (37, 1.0 / 1.05), (52, 1.05)]]), Some(has_last)),
    (
        |seed| with(seed, 0.01, &|first| [vec![vec![(first, 1.05)]; 8], vec![vec![(other(first), 1.05)]; 2]].concat()),
        Some(is_right),
    ),
    (|seed| with(seed, 0.02, &|first| vec![vec![(first, 1.1)], vec![(first % 64 + 1, 1.03)]]), Some(is_right)),
    (|seed| with(seed, 0.01, &|_| vec![(1..=64).map(|suspect| (suspect, 1.002)).collect()]), None),
    (
        |seed| {
            with(seed, 0.01, &|_| {
                vec![(1..=6).map(|part| (10 * part, if part % 3 > 0 { 1.05 } else { 0.95 })).collect()]
            })
        },
        None,
    ),
];

fn changed(seed: u64, change: &dyn Fn(&mut Scenario)) -> Scenario {
    let mut history = Scenario::random(64, 1.05, 0.01, 0.1, seed);
    change(&mut history);
    history
}

fn with(seed: u64, noise: f64, steps: &dyn Fn(usize) -> Vec<Vec<(usize, f64)>>) -> Scenario {
    let mut history = Scenario::random(64, 1.05, noise, 0.1, seed);
    history.steps = steps(history.steps[0][0].0);
    history
}

fn other(first: usize) -> usize {
    1 + (first + 21) % 64
}

fn has_two(trial: &Trial) -> bool {
    matches!(trial.finding(), Some(Ruling::Two(..))) || trial.is_right
}

fn has_last(trial: &Trial) -> bool {
    matches!(trial.finding(), Some(Ruling::Culprit(group) | Ruling::Redone(group, _)) if group.contains(52))
}

fn is_right(trial: &Trial) -> bool {
    trial.is_right
}

#[derive(Clone, Copy, Default)]
struct Counts {
    wrong: usize,
    open: usize,
    taken: usize,
    all: usize,
}

impl Counts {
    fn of(set: &Set, tuning: &Fitting, runs: u64) -> Counts {
        let trial = |seed: u64| {
            let trial = bisect_by(&mut set.0(seed), (PAIRS, CONFIDENCE, MOST), tuning);
            let is_named =
                !trial.clusters.is_empty() && trial.clusters.iter().all(|cluster| !cluster.finding.groups().is_empty());
            let wrong = usize::from(is_named && !set.1.is_some_and(|is_right| is_right(&trial)));
            Counts {
                wrong,
                open: usize::from(!is_named && set.1.is_some()),
                taken: trial.ends + trial.measurements,
                all: 1,
            }
        };
        (0..runs).into_par_iter().map(trial).reduce(Counts::default, Counts::and)
    }

    fn and(self, other: Counts) -> Counts {
        let Counts { wrong, open, taken, all } = other;
        Counts { wrong: self.wrong + wrong, open: self.open + open, taken: self.taken + taken, all: self.all + all }
    }

    fn cells(self) -> String {
        let share = |count: usize| 100.0 * count as f64 / self.all.max(1) as f64;
        let taken = self.taken as f64 / self.all.max(1) as f64;
        format!("{:.1} % | {:.1} % | {taken:.1}", share(self.wrong), share(self.open))
    }
}

fn figures(tuning: &Fitting, runs: u64) -> String {
    let sum = |sets: &[Set]| sets.iter().map(|set| Counts::of(set, tuning, runs)).fold(Counts::default(), Counts::and);
    let one = sum(&ONE.map(|history| (history, Some(is_right as fn(&Trial) -> bool))));
    let equal: Set = (|seed| with(seed, 0.01, &|_| vec![Vec::new()]), None);
    let equal = Counts::of(&equal, tuning, 2 * runs);
    let differ = 100.0 * equal.wrong as f64 / equal.all as f64;
    format!("{} | {} | {differ:.1} %", one.cells(), sum(&OTHERS).cells())
}

/// Writes the table of the constants in Markdown.
pub(crate) fn write(runs: u64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "\n## Constants of a bisection\n\n\
         The fitted constants of `src/analysis/bisect/tuning.rs`, with what {runs} bisections of each kind of history come to \
         without each. \"One\" is a step at one commit: clear, with many broken commits, noisy, disturbed, or with noise of \
         sessions and builds. \"Several\" are two parts, a change undone and redone, benchmarks that moved at two commits, \
         drifts and six steps; of the last two, no commit is to blame. Differences of a point or two are chance. Measurements are means, ends \
         included. \"Equal\" is how often equal ends have a culprit.\n\n\
         `SPRAG_BISECT_SHARE=0.3 cargo bench --bench bisect -- constants >> benches/CONSTANTS.md` adds this part again.\n\n\
         | constant | value | meaning | without it | one: wrong | open | measured | several: wrong | open | measured | equal |\n\
         |---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|"
    )?;
    rows(out, SOURCE, (&Fitting::FITTED, &ABLATIONS), |tuning| figures(tuning, runs))
}
