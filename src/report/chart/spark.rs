//! A sparkline: the newest values of a series in a table cell, with the fitted levels over some of them.

use std::ops::Range;

use super::axis::{self, Axis};
use super::svg::Svg;
use super::trend_chart::end_class;
use crate::mark::Tone;

const LONGEST: usize = 60;

/// The values before the change that a picture is about, at least.
const LEAD: usize = 15;

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
    /// The first value after the change that the picture is about: it is in view, and its step or ramp has the tone.
    pub change: Option<usize>,
    pub tone: Tone,
    pub label: String,
}

pub fn draw(spark: &Spark) -> String {
    let shown = shown(spark);
    let values = &spark.values[shown.clone()];
    if values.is_empty() {
        return String::new();
    }
    let line = line(spark, shown.clone());
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
    for group in points.chunks(points.len().div_ceil(DOTS)) {
        let median = axis::median(&group.iter().map(|(_, value)| *value).collect::<Vec<f64>>());
        svg.dot("dots", at((group[group.len() / 2].0, median)));
    }
    let rise = spark.change.and_then(|at| rise(&line, at.checked_sub(shown.start)? as f64 - 0.5));
    if !line.is_empty() {
        svg.line("level", line.into_iter().map(at));
    }
    if let Some(rise) = rise {
        svg.line(&format!("rise {}", spark.tone.class()), rise.map(at));
    }
    if shown.end == spark.values.len() {
        svg.circle(end_class(spark.tone), at(newest), 24);
    }
    svg.labelled("spark", &spark.label)
}

/// The newest values, or those around an older change.
fn shown(spark: &Spark) -> Range<usize> {
    let count = spark.values.len();
    let newest = count.saturating_sub(LONGEST);
    match spark.change {
        Some(change) if change < newest + LEAD => {
            let first = change.saturating_sub(LONGEST / 2).min(newest);
            first..(first + LONGEST).min(count)
        }
        _ => newest..count,
    }
}

/// The two ends of the step or ramp that begins at that place of the line.
fn rise(line: &[(f64, f64)], place: f64) -> Option<[(f64, f64); 2]> {
    let is_there = |pair: &&[(f64, f64)]| (pair[0].0 - place).abs() < 0.75 && pair[0].1 != pair[1].1;
    line.windows(2).find(is_there).map(|pair| [pair[0], pair[1]])
}

/// The corners of the fitted line among the values that are shown.
fn line(spark: &Spark, shown: Range<usize>) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    let first = shown.start;
    let in_view = |(values, ..): &&(Range<usize>, f64, f64)| values.end > first && values.start < shown.end;
    for (values, from, to) in spark.levels.iter().filter(in_view) {
        let steps = values.len() as f64;
        let cut = first.saturating_sub(values.start) as f64;
        let end = values.end.min(shown.end);
        let left = (end - values.start) as f64 / steps;
        let begin = (values.start.max(first) - first) as f64;
        // A level ends where the next begins: the line steps right before a value.
        let step = if corners.is_empty() { begin } else { (begin - 0.5).max(0.0) };
        let is_step = corners.last().is_none_or(|(_, value)| value != from);
        corners.push((if is_step { step } else { begin }, from + (to - from) * cut / steps));
        corners.push(((end - first) as f64 - 0.5, from + (to - from) * left));
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
            change: None,
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
        let spark = Spark { values, levels, baseline: None, change: None, tone: Tone::Worse, label: "1 change".into() };
        assert_eq!(line(&spark, 40..100), [(0.0, 1.0), (39.5, 1.0), (39.5, 1.1), (59.0, 1.1)]);
        let svg = draw(&spark);
        assert_eq!((svg.matches("h0").count(), svg.matches("class=\"level\"").count()), (DOTS, 1), "{svg}");
        assert!(svg.len() < 600, "{}", svg.len());
        let ramp = Spark { levels: vec![(0..50, 1.0, 2.0), (50..100, 2.0, 2.0)], ..spark };
        assert_eq!(line(&ramp, 25..100), [(0.0, 1.5), (24.5, 2.0), (25.0, 2.0), (74.0, 2.0)]);
        let drift = Spark { levels: vec![(0..60, 1.0, 1.0), (60..100, 1.0, 1.1)], change: Some(60), ..ramp };
        assert!(draw(&drift).contains("class=\"rise worse\""), "{}", draw(&drift));
    }

    #[test]
    fn an_old_change_is_in_view_and_marked() {
        let values: Vec<f64> = (0..500).map(|i| if i < 100 { 1.0 } else { 1.4 }).collect();
        let levels = vec![(0..100, 1.0, 1.0), (100..500, 1.4, 1.4)];
        let spark = Spark { values, levels, baseline: None, change: Some(100), tone: Tone::Better, label: "1".into() };
        assert_eq!(shown(&spark), 70..130);
        assert_eq!(line(&spark, 70..130), [(0.0, 1.0), (29.5, 1.0), (29.5, 1.4), (59.0, 1.4)]);
        let svg = draw(&spark);
        assert!(svg.contains("class=\"rise better\"") && !svg.contains("class=\"end"), "{svg}");
        for (change, expected) in
            [(None, 440..500), (Some(499), 440..500), (Some(455), 440..500), (Some(454), 424..484), (Some(3), 0..60)]
        {
            assert_eq!(shown(&Spark { change, ..spark.clone() }), expected, "{change:?}");
        }
    }
}
