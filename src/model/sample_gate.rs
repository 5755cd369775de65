//! Samples held against samples, section by section: what tt-metal's gate reads and finds.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroundTruth {
    /// The sections in their order, no name twice.
    pub sections: Vec<Section<SampleSeries>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Section<T> {
    /// The name of the section, such as `rank_2`.
    pub name: String,
    /// What is in it, in its order, no name twice.
    pub entries: Vec<(String, T)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleSeries {
    /// At least one, as they stand: also what is not finite.
    pub samples: Vec<f64>,
    /// Whether one of them is a whole number beyond 64 bits, which the original cannot test.
    pub has_long: bool,
}

/// What a gate by rank found of one benchmark, in percent where it is a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankFigures {
    /// The median of the samples that are judged.
    pub current_median: f64,
    /// The median of those it is held against.
    pub baseline_median: f64,
    /// By how many percent it differs.
    pub delta_percent: f64,
    /// The chance of samples as different as these where nothing changed.
    pub p_value: f64,
    /// The band within which a difference is noise.
    pub band_percent: f64,
    pub outcome: RankOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankOutcome {
    /// The median of the base is zero, of which no change can be told.
    ZeroBase,
    /// It went up, beyond the band and beyond chance.
    Up,
    /// It went down likewise.
    Down,
    Unchanged,
}

/// Why the samples of two sides cannot be held against each other as the original does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleMismatch {
    Sections {
        baseline: Vec<String>,
        current: Vec<String>,
    },
    Entries {
        section: String,
        /// Those of the base, sorted.
        baseline: Vec<String>,
        /// Those that are judged, sorted.
        current: Vec<String>,
    },
    /// A benchmark has not as many samples on both sides.
    Counts {
        section: String,
        entry: String,
        baseline: usize,
        current: usize,
    },
    /// A sample is a whole number beyond 64 bits.
    Long,
}
