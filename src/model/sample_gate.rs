//! The input and the result of tt-metal's gate, which compares samples section by section.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroundTruth {
    /// With unique names.
    pub sections: Vec<Section<SampleSeries>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Section<T> {
    /// Such as `rank_2`.
    pub name: String,
    /// With unique names.
    pub entries: Vec<(String, T)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleSeries {
    /// At least one, infinities and NaN included.
    pub samples: Vec<f64>,
    /// Whether one of them is an integer beyond 64 bits, which the original cannot test.
    pub has_long: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankFigures {
    pub current_median: f64,
    pub baseline_median: f64,
    pub delta_percent: f64,
    pub p_value: f64,
    /// The band within which a difference is noise.
    pub band_percent: f64,
    pub outcome: RankOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankOutcome {
    /// The median of the base is zero, so that there is no relative change.
    ZeroBase,
    /// Significantly up, beyond the band.
    Up,
    Down,
    Unchanged,
}

/// Why the original cannot compare the samples of two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleMismatch {
    Sections {
        baseline: Vec<String>,
        current: Vec<String>,
    },
    Entries {
        section: String,
        /// Sorted, as `current`.
        baseline: Vec<String>,
        current: Vec<String>,
    },
    /// The numbers of samples differ.
    Counts {
        section: String,
        entry: String,
        baseline: usize,
        current: usize,
    },
    /// A sample is an integer beyond 64 bits.
    Long,
}
