//! The area of a trend: how places and values become coordinates.

use super::axis::{self, Axis};
use super::svg::At;
use super::trend::{Dot, Trend};

// The size of the picture and the area of its data, in units; templates/series.html and site/style.css have its size and its left
// edge.
pub(super) const WIDTH: i32 = 1184;
pub(super) const HEIGHT: i32 = 350;
pub(super) const LEFT: i32 = 58;
pub(super) const RIGHT: i32 = 1106;
pub(super) const TOP: i32 = 50;
pub(super) const BOTTOM: i32 = 320;
pub(super) const TEXT: f64 = 12.0;

/// A trend with its axes.
pub(super) struct Plot<'a> {
    pub(super) trend: &'a Trend,
    pub(super) places: (f64, f64),
    pub(super) values: (f64, f64),
    across: Axis,
    down: Axis,
}

impl<'a> Plot<'a> {
    pub(super) fn new(trend: &'a Trend) -> Plot<'a> {
        let (first, last) = axis::extent(&trend.dots.iter().map(|dot| dot.place).collect::<Vec<f64>>());
        let side = (0.01 * (last - first)).max(0.5);
        let places = (first - side, last + side);
        let medians: Vec<f64> = trend.dots.iter().map(|dot| dot.value).collect();
        let fitted = trend.fit.iter().flat_map(|fit| &fit.lines).flat_map(|line| [line.values.0, line.values.1]);
        let also: Vec<f64> = fitted.chain(trend.baseline).chain(trend.limit).collect();
        let values = axis::robust_range(&medians, &also);
        Plot {
            trend,
            places,
            values,
            across: Axis::new(places, (LEFT, RIGHT)),
            // Values grow upwards, coordinates downwards.
            down: Axis::new(values, (BOTTOM, TOP)),
        }
    }

    pub(super) fn shows(&self, place: f64) -> bool {
        (self.places.0..=self.places.1).contains(&place)
    }

    pub(super) fn within(&self, value: f64) -> bool {
        (self.values.0..=self.values.1).contains(&value)
    }

    /// The coordinate of a place, in tenths of a unit.
    pub(super) fn x(&self, place: f64) -> i32 {
        self.across.at(place)
    }

    /// The coordinate of a value, clamped to the range shown, in tenths of a unit.
    pub(super) fn y(&self, value: f64) -> i32 {
        self.down.at(value.clamp(self.values.0, self.values.1))
    }

    pub(super) fn at(&self, dot: &Dot) -> At {
        (self.x(dot.place), self.y(dot.value))
    }
}

/// Units of the picture of a coordinate in tenths.
pub(super) fn units(tenths: i32) -> f64 {
    f64::from(tenths) / 10.0
}
