//! The trend of a series: one dot a run in commit order, its interval as a band, and what it is held against.
//!
//! Nothing is fitted. A value outside the range becomes a triangle on the edge; the range follows the running
//! median, so that one bad run does not flatten the rest.

use std::convert::Infallible;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis;
use super::backend::{Caption, SUBPIXELS, Svg};
use super::ink::Ink;
use super::labels::{Row, Side, text_width};
use crate::model::unit::Scale;
use crate::report::mark::Tone;
use crate::report::number;

/// What a trend shows; values are in base units.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// The start of the ids in the picture; unique in the page.
    pub id: String,
    /// What the picture shows.
    pub title: String,
    /// What is to be seen.
    pub description: String,
    /// The unit of the axis.
    pub scale: Scale,
    /// The runs, by place.
    pub dots: Vec<Dot>,
    /// The value of the baseline.
    pub baseline: Option<f64>,
    /// The worst value that passes.
    pub limit: Option<f64>,
    /// Releases, by place.
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

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Its place in commit order.
    pub place: f64,
    /// Its median.
    pub value: f64,
    /// The interval of its median.
    pub interval: Option<(f64, f64)>,
}

/// A labelled place.
#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    /// Its place in commit order.
    pub place: f64,
    /// What it is.
    pub label: String,
}

/// The two shapes of a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// 1184 x 350, for a window.
    Wide,
    /// 480 x 330, the newest part only, for a phone.
    Narrow,
}

/// The newest runs that the wide shape shows.
pub const WIDE_RUNS: usize = 1000;

/// The newest runs that the narrow shape shows.
pub const NARROW_RUNS: usize = 96;

/// From so many missing commits on, and at least this many times the usual distance, runs count as missing.
const GAP: (f64, f64) = (4.0, 3.0);

struct Frame {
    width: i32,
    height: i32,
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
    text: f64,
}

impl Shape {
    fn frame(self) -> Frame {
        match self {
            Shape::Wide => Frame { width: 1184, height: 350, left: 58, right: 1106, top: 50, bottom: 320, text: 12.0 },
            Shape::Narrow => Frame { width: 480, height: 330, left: 62, right: 470, top: 56, bottom: 294, text: 15.0 },
        }
    }
}

/// The trend as SVG; nothing for a series without points.
pub fn draw(trend: &Trend, shape: Shape) -> String {
    let longest = if shape == Shape::Wide { WIDE_RUNS } else { NARROW_RUNS };
    let dots = &trend.dots[trend.dots.len().saturating_sub(longest)..];
    if dots.is_empty() {
        return String::new();
    }
    let frame = shape.frame();
    let mut svg = Svg::new(frame.width, frame.height);
    let pen = Pen::new(trend, dots, shape, &mut svg);
    pen.picture().expect("the backend writes to a String, which cannot fail");
    let (class, suffix) = if shape == Shape::Wide { ("fill wide", "w") } else { ("fill narrow", "n") };
    let id = format!("{}-{suffix}", trend.id);
    svg.captioned(class, &Caption { id: &id, title: &trend.title, description: &trend.description })
}

type Drawn = Result<(), DrawingAreaErrorKind<Infallible>>;

struct Pen<'a> {
    trend: &'a Trend,
    dots: &'a [Dot],
    shape: Shape,
    frame: Frame,
    places: (f64, f64),
    values: (f64, f64),
    page: DrawingArea<&'a mut Svg, Shift>,
    spec: Cartesian2d<RangedCoordf64, RangedCoordf64>,
}

impl<'a> Pen<'a> {
    fn new(trend: &'a Trend, dots: &'a [Dot], shape: Shape, svg: &'a mut Svg) -> Pen<'a> {
        let frame = shape.frame();
        let (first, last) = axis::extent(&dots.iter().map(|dot| dot.place).collect::<Vec<f64>>());
        let side = (0.01 * (last - first)).max(0.5);
        let places = (first - side, last + side);
        let medians: Vec<f64> = dots.iter().map(|dot| dot.value).collect();
        let also: Vec<f64> = trend.baseline.into_iter().chain(trend.limit).collect();
        let values = axis::robust_range(&medians, &also);
        let pixels = (frame.left * SUBPIXELS..frame.right * SUBPIXELS, frame.bottom * SUBPIXELS..frame.top * SUBPIXELS);
        let spec = Cartesian2d::new(places.0..places.1, values.0..values.1, pixels);
        Pen { trend, dots, shape, frame, places, values, page: svg.into_drawing_area(), spec }
    }

    fn picture(&self) -> Drawn {
        self.gaps()?;
        self.grid()?;
        self.flags()?;
        self.bands()?;
        self.levels()?;
        self.medians()?;
        self.labels()?;
        self.date_axis()
    }

    fn gaps(&self) -> Drawn {
        for (before, after) in self.missing() {
            let corners =
                [(self.x(before), self.frame.top * SUBPIXELS), (self.x(after), self.frame.bottom * SUBPIXELS)];
            self.page.draw(&Rectangle::new(corners, Ink::Gap.shape()))?;
        }
        Ok(())
    }

    /// Where runs are missing: the places around each gap.
    fn missing(&self) -> Vec<(f64, f64)> {
        let steps: Vec<f64> =
            self.dots.windows(2).map(|pair| pair[1].place - pair[0].place).filter(|step| *step > 0.0).collect();
        let widest = (GAP.1 * axis::median(&steps)).max(GAP.0);
        let pairs = self.dots.windows(2).map(|pair| (pair[0].place, pair[1].place));
        pairs.filter(|(before, after)| after - before > widest).collect()
    }

    fn grid(&self) -> Drawn {
        let factor = self.trend.scale.factor;
        let (ticks, decimals) = axis::ticks(self.values.0 / factor, self.values.1 / factor);
        let left = self.frame.left * SUBPIXELS;
        let mut top = self.frame.bottom * SUBPIXELS;
        for tick in ticks {
            let y = self.y(tick * factor);
            top = top.min(y);
            self.line((left, y), (self.frame.right * SUBPIXELS, y), Ink::Grid)?;
            self.text(&number::fixed(tick, decimals), (left - 80, y + 40), HPos::Right, Ink::Label)?;
        }
        let unit_y = (top - 180).max(self.frame.top * SUBPIXELS - 60);
        self.text(self.trend.scale.symbol, (left - 80, unit_y.min(top - 120)), HPos::Right, Ink::Label)
    }

    fn flags(&self) -> Drawn {
        let (first_row, second_row) = if self.shape == Shape::Wide { (26, 44) } else { (32, 50) };
        let bounds = (f64::from(self.frame.left), f64::from(self.frame.right));
        for (flags, ink, label_ink, baseline) in [
            (&self.trend.environments, Ink::Environment, Ink::EnvironmentLabel, second_row),
            (&self.trend.releases, Ink::Release, Ink::Strong, first_row),
        ] {
            let mut row = Row::new(bounds, self.frame.text);
            for flag in flags.iter().rev().filter(|flag| self.shows(flag.place)) {
                let x = self.x(flag.place);
                self.line((x, (baseline - 10) * SUBPIXELS), (x, self.frame.bottom * SUBPIXELS), ink)?;
                if let Some((at, side)) = row.place_beside(f64::from(x) / f64::from(SUBPIXELS), &flag.label) {
                    let position = ((at * f64::from(SUBPIXELS)) as i32, baseline * SUBPIXELS);
                    let anchor = if side == Side::Right { HPos::Left } else { HPos::Right };
                    self.text(&flag.label, position, anchor, label_ink)?;
                }
            }
        }
        Ok(())
    }

    fn bands(&self) -> Drawn {
        let gaps = self.missing();
        let mut part: Vec<(i32, i32, i32)> = Vec::new();
        let mut place = f64::NEG_INFINITY;
        for dot in self.dots {
            let broken = gaps.iter().any(|(_, after)| *after == dot.place && place < *after);
            let Some((low, high)) = dot.interval.filter(|_| !broken) else {
                self.band(&part)?;
                part.clear();
                if let Some((low, high)) = dot.interval {
                    part.push((self.x(dot.place), self.y(low), self.y(high)));
                }
                place = dot.place;
                continue;
            };
            let (low, high) = (self.y(low), self.y(high));
            match part.last_mut() {
                // Two runs of one commit share a place: the band covers both.
                Some(last) if dot.place == place => (last.1, last.2) = (last.1.max(low), last.2.min(high)),
                _ => part.push((self.x(dot.place), low, high)),
            }
            place = dot.place;
        }
        self.band(&part)
    }

    fn band(&self, part: &[(i32, i32, i32)]) -> Drawn {
        match part {
            [] => Ok(()),
            [(x, low, high)] => self.line((*x, *low), (*x, *high), Ink::Whisker),
            _ => {
                let above = part.iter().map(|(x, _, high)| (*x, *high));
                let below = part.iter().rev().map(|(x, low, _)| (*x, *low));
                self.page.draw(&Polygon::new(above.chain(below).collect::<Vec<_>>(), Ink::Band.shape()))
            }
        }
    }

    fn levels(&self) -> Drawn {
        let Some(baseline) = self.trend.baseline.filter(|value| self.within(*value)) else { return Ok(()) };
        let left = self.frame.left * SUBPIXELS;
        let right = self.frame.right * SUBPIXELS;
        let y = self.y(baseline);
        self.line((left, y), (right, y), Ink::Baseline)?;
        let limit = self.trend.limit.filter(|value| self.within(*value));
        let (above, below) = (-60, (self.frame.text * 10.0) as i32 + 30);
        let limit_is_above = limit.is_none_or(|limit| limit >= baseline);
        let words = format!("baseline {}", number::value(self.trend.scale, baseline));
        let shift = if limit.is_some() && limit_is_above { below } else { above };
        self.text(&words, (left + 80, y + shift), HPos::Left, Ink::Halo)?;
        if let Some(limit) = limit {
            let y = self.y(limit);
            self.line((left, y), (right, y), Ink::Limit)?;
            let words = format!("limit {}", number::percent(limit / baseline - 1.0));
            self.text(&words, (left + 80, y + if limit_is_above { above } else { below }), HPos::Left, Ink::Halo)?;
        }
        Ok(())
    }

    fn medians(&self) -> Drawn {
        let inside: Vec<&Dot> = self.dots.iter().filter(|dot| self.within(dot.value)).collect();
        let radius = if self.shape == Shape::Wide { 15 } else { 18 };
        let gaps = self.missing();
        let mut part: Vec<(i32, i32)> = Vec::new();
        for dot in &inside {
            if gaps.iter().any(|(_, after)| *after == dot.place) {
                self.page.draw(&PathElement::new(std::mem::take(&mut part), Ink::Trace.shape()))?;
            }
            part.push((self.x(dot.place), self.y(dot.value)));
        }
        self.page.draw(&PathElement::new(part, Ink::Trace.shape()))?;
        for dot in &inside {
            let center = (self.x(dot.place), self.y(dot.value));
            self.page.draw(&Circle::new(center, radius, Ink::Dots.shape()))?;
        }
        for dot in self.dots.iter().filter(|dot| !self.within(dot.value)) {
            let x = self.x(dot.place);
            let (edge, base) = if dot.value > self.values.1 {
                (self.frame.top * SUBPIXELS, self.frame.top * SUBPIXELS + 70)
            } else {
                (self.frame.bottom * SUBPIXELS - 10, self.frame.bottom * SUBPIXELS - 80)
            };
            let corners = vec![(x - 40, base), (x, edge), (x + 40, base)];
            self.page.draw(&Polygon::new(corners, Ink::Outside.shape()))?;
        }
        Ok(())
    }

    fn labels(&self) -> Drawn {
        let newest = self.dots[self.dots.len() - 1];
        let ink = match self.trend.tone {
            Tone::Worse => Ink::EndWorse,
            Tone::Better => Ink::EndBetter,
            Tone::Environment | Tone::Doubt | Tone::Plain => Ink::End,
        };
        let (x, y) = (self.x(newest.place), self.y(newest.value));
        self.page.draw(&Circle::new((x, y), 38, ink.shape()))?;
        match self.shape {
            Shape::Wide => {
                let right = self.frame.right * SUBPIXELS + 80;
                self.text(&self.trend.newest, (right, y + 10), HPos::Left, Ink::Strong)?;
                self.text("newest", (right, y + 160), HPos::Left, Ink::Label)
            }
            Shape::Narrow => {
                let words = format!("newest {}", self.trend.newest);
                self.text(&words, (self.frame.right * SUBPIXELS, 140), HPos::Right, Ink::Strong)
            }
        }
    }

    fn date_axis(&self) -> Drawn {
        let (left, right) = (self.frame.left * SUBPIXELS, self.frame.right * SUBPIXELS);
        let bottom = self.frame.bottom * SUBPIXELS;
        self.line((left, bottom), (right, bottom), Ink::Axis)?;
        let mut free_from = 0.0;
        for date in self.trend.dates.iter().filter(|date| self.shows(date.place)) {
            let x = self.x(date.place);
            let half = 0.5 * text_width(&date.label, self.frame.text);
            let center = f64::from(x) / f64::from(SUBPIXELS);
            if center - half < free_from || center + half > f64::from(self.frame.width) {
                continue;
            }
            free_from = center + half + self.frame.text;
            self.line((x, bottom), (x, bottom + 50), Ink::Axis)?;
            let below = bottom + if self.shape == Shape::Wide { 220 } else { 280 };
            self.text(&date.label, (x, below), HPos::Center, Ink::Label)?;
        }
        Ok(())
    }

    fn shows(&self, place: f64) -> bool {
        place >= self.places.0 && place <= self.places.1
    }

    fn within(&self, value: f64) -> bool {
        value >= self.values.0 && value <= self.values.1
    }

    fn x(&self, place: f64) -> i32 {
        self.spec.translate(&(place, self.values.0)).0
    }

    fn y(&self, value: f64) -> i32 {
        self.spec.translate(&(self.places.0, value.clamp(self.values.0, self.values.1))).1
    }

    fn line(&self, from: (i32, i32), to: (i32, i32), ink: Ink) -> Drawn {
        self.page.draw(&PathElement::new(vec![from, to], ink.shape()))
    }

    fn text(&self, words: &str, at: (i32, i32), anchor: HPos, ink: Ink) -> Drawn {
        if words.is_empty() {
            return Ok(());
        }
        let color = ink.color();
        let style = TextStyle::from(("sans-serif", self.frame.text)).color(&color);
        self.page.draw(&Text::new(words, at, style.pos(Pos::new(anchor, VPos::Bottom))))
    }
}
