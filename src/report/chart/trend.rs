//! What the chart of a series shows.

use std::sync::Arc;

use crate::mark::Tone;
use sprag_model::medians::Medians;
use sprag_model::unit::Scale;

/// What a trend shows; values are in base units.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// The start of the ids in the picture; unique in the page.
    pub id: String,
    pub title: String,
    pub description: String,
    pub scale: Scale,
    /// The runs, by place.
    pub dots: Vec<Dot>,
    /// What each process measured in the newest of these runs; nothing where no page shows it, or none of these was fitted.
    pub processes: Option<Processes>,
    pub fit: Option<Fitted>,
    pub baseline: Option<f64>,
    /// The worst value that passes.
    pub limit: Option<f64>,
    pub releases: Vec<Flag>,
    /// Changes of the environment, by place.
    pub environments: Vec<Flag>,
    /// Dates below the axis, by place.
    pub dates: Vec<Flag>,
    /// The newest value in words.
    pub newest: String,
    /// The colour of the newest value.
    pub tone: Tone,
}

/// What processes measured in the newest runs of a chart, oldest first; values are in base units.
#[derive(Clone, Debug, PartialEq)]
pub struct Processes {
    /// Of each run, one value a process.
    pub values: Vec<Medians>,
    /// Of each run, which of these make one measurement with it: those of the same number.
    pub groups: Vec<usize>,
    /// The number of the newest measurement that was fitted.
    pub newest: usize,
    /// The runs of the chart that were not fitted, by their places among all its runs: of a changed tree, or of another branch.
    pub apart: Vec<usize>,
}

/// What was fitted to a series; values are in base units.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The levels and ramps, oldest first.
    pub lines: Vec<Line>,
    /// The changes and drifts, oldest first.
    pub turns: Vec<Turn>,
    /// The first and the last suspect of each open event, by place.
    pub suspects: Vec<(f64, f64)>,
    /// The level that holds now, in words.
    pub newest: String,
}

/// A level, or the ramp of a drift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub places: (f64, f64),
    pub values: (f64, f64),
}

/// A change between two levels, or a drift.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its number in the table next to the chart.
    pub number: usize,
    pub tone: Tone,
    /// The places that it spans; a change has one.
    pub places: (f64, f64),
    pub values: (f64, f64),
    pub words: String,
}

/// One run, or several close together.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Its place in commit order.
    pub place: f64,
    pub value: f64,
    /// The interval of its median; of several runs, the lowest and the highest median.
    pub interval: Option<(f64, f64)>,
    /// Its commit, forty digits or nothing.
    pub commit: Arc<str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    /// Its place in commit order.
    pub place: f64,
    pub label: String,
}

/// The id of the table of points next to the picture.
pub const POINTS: &str = "point-rows";

/// The trend of runs at one place each, without a fit.
#[cfg(test)]
pub(super) fn example(values: &[f64]) -> Trend {
    use sprag_model::unit::Unit;
    let dot = |(place, value): (usize, &f64)| Dot {
        place: place as f64,
        value: *value,
        interval: Some((value * 0.99, value * 1.01)),
        commit: "a3f19c2b01d4".into(),
    };
    Trend {
        id: "trend".to_owned(),
        title: "Trend of <a>".to_owned(),
        description: "Flat.".to_owned(),
        scale: Unit::Second.scale(1e-3),
        dots: values.iter().enumerate().map(dot).collect(),
        processes: None,
        fit: None,
        baseline: None,
        limit: None,
        releases: Vec::new(),
        environments: Vec::new(),
        dates: Vec::new(),
        newest: "1.000\u{202f}ms".to_owned(),
        tone: Tone::Plain,
    }
}
