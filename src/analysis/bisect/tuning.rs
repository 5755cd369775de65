//! The fitted constants of a bisection.

/// The fitted constants: `benches/CONSTANTS.md` shows what each is worth, made by `cargo bench --bench bisect -- constants`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitting {
    /// The probability of a step where there is none, over all benchmarks, by one judgement of the ends.
    pub wrong: f64,
    /// A benchmark that moved with more than this probability, but not for certain, is worth more sessions of the ends.
    pub doubtful: f64,
    /// Up to so many sessions.
    pub most_for_doubtful: usize,
    /// What the noise of sessions may be, in units of what the ends show, and how likely each is before.
    pub sizes: [(f64, f64); 5],
    /// The probability, before anything is measured, that a step has two parts or that one of them was undone.
    pub two: f64,
    /// The same that an earlier change was undone before it.
    pub redone: f64,
    /// The same that it is a drift.
    pub drift: f64,
    /// The same that levels follow nothing of the kind.
    pub other: f64,
    /// The share of commits at one of the ends where levels follow neither steps nor a drift.
    pub at_ends: f64,
    /// How often an undone change is the one that is then done once more.
    pub same: f64,
    /// So near to an end a level between two steps is that of one culprit.
    pub near: f64,
    /// The share of disturbed measurements, which decide against all others without it.
    pub disturbed: f64,
    /// By how many steps disturbed measurements scatter.
    pub scatter: f64,
    /// The least offset of a build, as a share of the step: nothing is more certain than sixteen deviations.
    pub least_build: f64,
    /// The offset of a build, as a share of that of a session.
    pub build_share: f64,
    /// How likely it is, before anything is measured, that a benchmark moved where others did.
    pub shared: f64,
    /// How likely it moved at the commit before or after instead, as work comes in series.
    pub next: f64,
    /// The middle of so large a share of the suspects after the culprit is measured, as a change that was undone shows there.
    pub checked: f64,
    /// By so much the level between two steps is uncertain where the next commit is chosen.
    pub between_deviation: f64,
    /// So far from what the culprit explains, in deviations, a measurement is made again.
    pub far: f64,
    /// A commit is measured up to so many times for that.
    pub fewest_of_far: usize,
    /// So near to a commit that cannot be built, others are less likely to be built.
    pub near_broken: usize,
}

impl Fitting {
    pub const FITTED: Fitting = Fitting {
        wrong: 0.002,
        doubtful: 0.1,
        most_for_doubtful: 6,
        sizes: [(0.0, 0.4), (0.5, 0.34), (1.0, 0.2), (2.0, 0.05), (4.0, 0.01)],
        two: 0.05,
        redone: 0.02,
        drift: 0.01,
        other: 0.01,
        at_ends: 0.6,
        same: 0.5,
        near: 0.15,
        disturbed: 0.02,
        scatter: 2.0,
        least_build: 0.0625,
        build_share: 0.5,
        shared: 0.8,
        next: 0.15,
        checked: 0.33,
        between_deviation: 0.4,
        far: 5.0,
        fewest_of_far: 3,
        near_broken: 3,
    };
}
