//! A sparkline: the newest values of a series in a table cell, with the fitted levels over some of them.

use std::ops::Range;

use super::axis::{self, Axis};
use super::svg::Svg;
use super::trend_chart::end_class;
use crate::mark::Tone;

const LONGEST: usize = 60;

/// The most dots under fitted levels, so that a list of a thousand sparklines stays small.
const DOTS: usize = 15;

/// No sparkline spans less than this share of its middle, so that noise stays flat.
const NARROWEST: f64 = 0.05;

const WIDTH: i32 = 120;
const HEIGHT: i32 = 26;
const MARGIN: i32 = 3;

#[derive(Clone, Debug, PartialEq)]
pub struct Spark {
    pub values: Vec<f64>,
    /// The fitted levels and ramps: the values that each spans, and where it begins and ends.
    pub levels: Vec<(Range<usize>, f64, f64)>,
    pub baseline: Option<f64>,
    pub tone: Tone,
    pub label: String,
}

pub fn draw(spark: &Spark) -> String {
    let first = spark.values.len().saturating_sub(LONGEST);
    let values = &spark.values[first..];
    if values.is_empty() {
        return String::new();
    }
    let line = line(spark, first);
    let also: Vec<f64> = line.iter().map(|(_, value)| *value).chain(spark.baseline).collect();
    let (low, high) = axis::robust_range(values, &also);
    let (middle, half) = (f64::midpoint(low, high), 0.5 * (high - low));
    let half = half.max(0.5 * NARROWEST * middle.abs());
    let (low, high) = (middle - half, middle + half);
    let last = (values.len() as f64 - 1.0).max(1.0);
    let across = Axis::new((0.0, last), (MARGIN, WIDTH - MARGIN));
    let down = Axis::new((low, high), (HEIGHT - MARGIN, MARGIN));
    let at = |(place, value): (f64, f64)| (across.at(place), down.at(value));
    let mut svg = Svg::new(WIDTH, HEIGHT);
    if let Some(baseline) = spark.baseline.filter(|value| (low..=high).contains(value)) {
        svg.line("base", [at((0.0, baseline)), at((last, baseline))]);
    }
    let points: Vec<(f64, f64)> =
        values.iter().enumerate().map(|(i, value)| (i as f64, value.clamp(low, high))).collect();
    let newest = line.last().copied().unwrap_or(points[points.len() - 1]);
    if line.is_empty() {
        svg.line("trace", points.into_iter().map(at));
    } else {
        for group in points.chunks(points.len().div_ceil(DOTS)) {
            let median = axis::median(&group.iter().map(|(_, value)| *value).collect::<Vec<f64>>());
            svg.dot("dots", at((group[group.len() / 2].0, median)));
        }
        svg.line("level", line.into_iter().map(at));
    }
    svg.circle(end_class(spark.tone), at(newest), 24);
    svg.labelled("spark", &spark.label)
}

/// The corners of the fitted line among the values from `first` on.
fn line(spark: &Spark, first: usize) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for (values, from, to) in spark.levels.iter().filter(|(values, ..)| values.end > first) {
        let steps = values.len() as f64;
        let cut = first.saturating_sub(values.start) as f64;
        let begin = (values.start.max(first) - first) as f64;
        // A level ends where the next begins: the line steps right before a value.
        let step = if corners.is_empty() { begin } else { (begin - 0.5).max(0.0) };
        let is_step = corners.last().is_none_or(|(_, value)| value != from);
        corners.push((if is_step { step } else { begin }, from + (to - from) * cut / steps));
        corners.push(((values.end - first) as f64 - 0.5, *to));
    }
    if let Some(last) = corners.last_mut() {
        last.0 -= 0.5;
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_is_small_and_safe() {
        let spark = Spark {
            values: (0..500).map(|i| 1.0 + f64::from(i % 7) * 0.01).collect(),
            levels: Vec::new(),
            baseline: Some(1.0),
            tone: Tone::Worse,
            label: "\"><script>".into(),
        };
        let svg = draw(&spark);
        assert!(svg.len() < 1000, "{}", svg.len());
        assert!(svg.contains("aria-label=\"&quot;&gt;&lt;script&gt;\""), "{svg}");
        assert!(svg.contains("class=\"end worse\""), "{svg}");
        assert_eq!(draw(&Spark { values: Vec::new(), ..spark }), "");
    }

    #[test]
    fn fitted_levels_are_steps_over_few_dots() {
        let values: Vec<f64> = (0..100).map(|i| if i < 80 { 1.0 } else { 1.1 }).collect();
        let levels = vec![(0..80, 1.0, 1.0), (80..100, 1.1, 1.1)];
        let spark = Spark { values, levels, baseline: None, tone: Tone::Worse, label: "1 change".into() };
        assert_eq!(line(&spark, 40), [(0.0, 1.0), (39.5, 1.0), (39.5, 1.1), (59.0, 1.1)]);
        let svg = draw(&spark);
        assert_eq!((svg.matches("h0").count(), svg.matches("class=\"level\"").count()), (DOTS, 1), "{svg}");
        assert!(svg.len() < 600, "{}", svg.len());
        let ramp = Spark { levels: vec![(0..50, 1.0, 2.0), (50..100, 2.0, 2.0)], ..spark };
        assert_eq!(line(&ramp, 25), [(0.0, 1.5), (24.5, 2.0), (25.0, 2.0), (74.0, 2.0)]);
    }
}
