//! What the chart of a series shows, in base units, and how places and values become coordinates.

use std::sync::Arc;

use super::axis::{self, Axis};
use super::svg::At;
use crate::mark::Tone;
use sprag_model::{Medians, Scale};

#[derive(Clone, Debug, PartialEq)]
pub struct TrendPlot {
    pub title: String,
    pub description: String,
    pub scale: Scale,
    pub dots: Vec<Dot>,
    /// Absent where the page shows no distribution, or none of the newest runs was fitted.
    pub processes: Option<Processes>,
    pub fit: Option<Fitted>,
    pub baseline: Option<f64>,
    pub limit: Option<f64>,
    pub releases: Vec<Flag>,
    pub environments: Vec<Flag>,
    pub dates: Vec<Flag>,
    pub newest: String,
    pub tone: Tone,
}

/// What each process measured in the newest runs of a chart, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Processes {
    pub values: Vec<Medians>,
    /// The measurement that each run is a part of, by its number.
    pub groups: Vec<usize>,
    /// The number of the newest measurement that was fitted.
    pub newest: usize,
    /// The numbers of the runs that were not fitted: of a changed tree, or of another branch.
    pub apart: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    pub lines: Vec<Line>,
    pub turns: Vec<PlotTurn>,
    /// The first and the last suspect of each open event, by place.
    pub suspects: Vec<(f64, f64)>,
    pub newest: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Line {
    pub places: (f64, f64),
    pub values: (f64, f64),
    /// The two levels between which its runs alternate.
    pub modes: Option<(f64, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PlotTurn {
    /// Its number in the table next to the chart.
    pub number: usize,
    pub tone: Tone,
    /// The places that it spans; a change has one.
    pub places: (f64, f64),
    pub values: (f64, f64),
    pub words: String,
}

/// A run, or several that are neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Its place in commit order.
    pub place: f64,
    pub value: f64,
    /// The interval of its value; of several runs, the lowest and the highest value.
    pub interval: Option<(f64, f64)>,
    /// Its commit, forty digits or nothing.
    pub commit: Arc<str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    pub place: f64,
    pub label: String,
}

/// The id of the table of points in `templates/series.html`.
pub const POINTS: &str = "point-rows";

// The size of the picture and the area of its data, in units; templates/series.html and site/style.css repeat some.
pub(super) const WIDTH: i32 = 1184;
pub(super) const HEIGHT: i32 = 350;
pub(super) const LEFT: i32 = 58;
pub(super) const RIGHT: i32 = 1106;
pub(super) const TOP: i32 = 50;
pub(super) const BOTTOM: i32 = 320;
pub(super) const TEXT: f64 = 12.0;

pub(super) struct Plot<'a> {
    pub(super) trend: &'a TrendPlot,
    pub(super) places: (f64, f64),
    pub(super) values: (f64, f64),
    across: Axis,
    down: Axis,
}

impl<'a> Plot<'a> {
    pub(super) fn new(trend: &'a TrendPlot) -> Plot<'a> {
        let (first, last) = axis::extent(&trend.dots.iter().map(|dot| dot.place).collect::<Vec<f64>>());
        let side = (0.01 * (last - first)).max(0.5);
        let places = (first - side, last + side);
        let medians: Vec<f64> = trend.dots.iter().map(|dot| dot.value).collect();
        let fitted = trend.fit.iter().flat_map(|fit| &fit.lines).flat_map(|line| [line.values.0, line.values.1]);
        let also: Vec<f64> = fitted.chain(trend.baseline).chain(trend.limit).chain(usual_ends(&trend.dots)).collect();
        let values = axis::robust_range(&medians, &also);
        // Values grow upwards, coordinates downwards.
        let (across, down) = (Axis::new(places, (LEFT, RIGHT)), Axis::new(values, (BOTTOM, TOP)));
        Plot { trend, places, values, across, down }
    }

    pub(super) fn shows(&self, place: f64) -> bool {
        (self.places.0..=self.places.1).contains(&place)
    }

    pub(super) fn within(&self, value: f64) -> bool {
        (self.values.0..=self.values.1).contains(&value)
    }

    /// In tenths of a unit.
    pub(super) fn x(&self, place: f64) -> i32 {
        self.across.at(place)
    }

    /// In tenths of a unit, clamped to the range shown.
    pub(super) fn y(&self, value: f64) -> i32 {
        self.down.at(value.clamp(self.values.0, self.values.1))
    }

    pub(super) fn at(&self, dot: &Dot) -> At {
        (self.x(dot.place), self.y(dot.value))
    }
}

/// The ends that hold all intervals but the widest twentieth, which the picture may cut off.
fn usual_ends(dots: &[Dot]) -> Vec<f64> {
    let (mut low, mut high): (Vec<f64>, Vec<f64>) = dots.iter().filter_map(|dot| dot.interval).unzip();
    low.sort_by(f64::total_cmp);
    high.sort_by(f64::total_cmp);
    let rank = low.len() / 20;
    low.get(rank).into_iter().chain(high.get(high.len().wrapping_sub(1 + rank))).copied().collect()
}

pub(super) fn units(tenths: i32) -> f64 {
    f64::from(tenths) / 10.0
}

/// The trend of runs at one place each, without a fit.
#[cfg(test)]
pub(super) fn example(values: &[f64]) -> TrendPlot {
    use sprag_model::Unit;
    let dot = |(place, value): (usize, &f64)| Dot {
        place: place as f64,
        value: *value,
        interval: Some((value * 0.99, value * 1.01)),
        commit: "a3f19c2b01d4".into(),
    };
    TrendPlot {
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
