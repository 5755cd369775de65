//! The area of a trend: how places and values become coordinates, and the strokes that layers are made of.

use std::convert::Infallible;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis;
use super::backend::{SUBPIXELS, Svg};
use super::ink::Ink;
use super::trend::Trend;

/// What drawing gives; the backend cannot fail.
pub(super) type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<Infallible>>;

/// The size of a picture and the area of its data, in units of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
    pub(super) text: f64,
}

/// The frame of every trend; templates/series.html and site/style.css know its size and its left edge.
pub(super) const FRAME: Frame =
    Frame { width: 1184, height: 350, left: 58, right: 1106, top: 50, bottom: 320, text: 12.0 };

/// The area of a trend.
pub(super) struct Plot<'a> {
    pub(super) frame: Frame,
    pub(super) places: (f64, f64),
    pub(super) values: (f64, f64),
    page: DrawingArea<&'a mut Svg, Shift>,
    spec: Cartesian2d<RangedCoordf64, RangedCoordf64>,
}

impl<'a> Plot<'a> {
    /// The area of a trend that has dots.
    pub(super) fn new(trend: &Trend, svg: &'a mut Svg) -> Plot<'a> {
        let (dots, frame) = (&trend.dots, FRAME);
        let (first, last) = axis::extent(&dots.iter().map(|dot| dot.place).collect::<Vec<f64>>());
        let side = (0.01 * (last - first)).max(0.5);
        let places = (first - side, last + side);
        let medians: Vec<f64> = dots.iter().map(|dot| dot.value).collect();
        let fitted = trend.fit.iter().flat_map(|fit| &fit.lines).flat_map(|line| [line.values.0, line.values.1]);
        let also: Vec<f64> = fitted.chain(trend.baseline).chain(trend.limit).collect();
        let values = axis::robust_range(&medians, &also);
        let spec = coordinates(places, values, [frame.left, frame.right, frame.top, frame.bottom]);
        Plot { frame, places, values, page: svg.into_drawing_area(), spec }
    }

    /// Whether a place is in the part shown.
    pub(super) fn shows(&self, place: f64) -> bool {
        place >= self.places.0 && place <= self.places.1
    }

    /// Whether a value is in the range shown.
    pub(super) fn within(&self, value: f64) -> bool {
        value >= self.values.0 && value <= self.values.1
    }

    /// The coordinate of a place, in pixels of plotters.
    pub(super) fn x(&self, place: f64) -> i32 {
        self.spec.translate(&(place, self.values.0)).0
    }

    /// The coordinate of a value, held to the range shown, in pixels of plotters.
    pub(super) fn y(&self, value: f64) -> i32 {
        self.spec.translate(&(self.places.0, value.clamp(self.values.0, self.values.1))).1
    }

    /// A line through points.
    pub(super) fn path(&self, points: Vec<(i32, i32)>, ink: Ink) -> Drawn {
        self.page.draw(&PathElement::new(points, ink.shape()))
    }

    pub(super) fn area(&self, corners: Vec<(i32, i32)>, ink: Ink) -> Drawn {
        self.page.draw(&Polygon::new(corners, ink.shape()))
    }

    /// A dot.
    pub(super) fn dot(&self, center: (i32, i32), radius: i32, ink: Ink) -> Drawn {
        self.page.draw(&Circle::new(center, radius, ink.shape()))
    }

    /// Words with their base line at a point.
    pub(super) fn text(&self, words: &str, at: (i32, i32), anchor: HPos, ink: Ink) -> Drawn {
        text(&self.page, words, at, anchor, ink)
    }
}

/// Words with their base line at a point in pixels of plotters; nothing where there are none.
pub(super) fn text(page: &DrawingArea<&mut Svg, Shift>, words: &str, at: (i32, i32), anchor: HPos, ink: Ink) -> Drawn {
    if words.is_empty() {
        return Ok(());
    }
    let color = ink.color();
    let style = TextStyle::from(("sans-serif", FRAME.text)).color(&color).pos(Pos::new(anchor, VPos::Bottom));
    page.draw(&Text::new(words, at, style))
}

/// Coordinates of that range of places and values in an area given in units: left, right, top and bottom.
pub(super) fn coordinates(
    places: (f64, f64),
    values: (f64, f64),
    [left, right, top, bottom]: [i32; 4],
) -> Cartesian2d<RangedCoordf64, RangedCoordf64> {
    let across = left * SUBPIXELS..right * SUBPIXELS;
    // Values grow upwards, coordinates downwards.
    Cartesian2d::new(places.0..places.1, values.0..values.1, (across, bottom * SUBPIXELS..top * SUBPIXELS))
}
