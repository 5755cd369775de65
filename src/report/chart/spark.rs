//! A sparkline: the newest values of a series in a table cell, without axes.

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::axis;
use super::backend::{SUBPIXELS, Svg};
use super::ink::Ink;
use crate::report::mark::Tone;

/// The newest values that a sparkline shows.
const LONGEST: usize = 60;

/// No sparkline spans less than this share of its middle, so that noise stays flat.
const NARROWEST: f64 = 0.05;

const WIDTH: i32 = 120;
const HEIGHT: i32 = 26;
const MARGIN: i32 = 3;

/// What a sparkline shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Spark {
    /// The values, oldest first.
    pub values: Vec<f64>,
    /// The value they are held against.
    pub baseline: Option<f64>,
    /// The colour of the newest.
    pub tone: Tone,
    /// What a reader who does not see it is told.
    pub label: String,
}

/// The sparkline as SVG; nothing for a series without points.
pub fn draw(spark: &Spark) -> String {
    let values = &spark.values[spark.values.len().saturating_sub(LONGEST)..];
    if values.is_empty() {
        return String::new();
    }
    let mut svg = Svg::new(WIDTH, HEIGHT);
    picture(spark, values, &mut svg).expect("the backend writes to a String, which cannot fail");
    svg.labelled("spark", &spark.label)
}

fn picture(spark: &Spark, values: &[f64], svg: &mut Svg) -> Result<(), DrawingAreaErrorKind<std::convert::Infallible>> {
    let (low, high) = axis::robust_range(values, spark.baseline.as_slice());
    let (middle, half) = (f64::midpoint(low, high), 0.5 * (high - low));
    let half = half.max(0.5 * NARROWEST * middle.abs());
    let (low, high) = (middle - half, middle + half);
    let last = values.len() as f64 - 1.0;
    let across = MARGIN * SUBPIXELS..(WIDTH - MARGIN) * SUBPIXELS;
    let (bottom, top) = ((HEIGHT - MARGIN) * SUBPIXELS, MARGIN * SUBPIXELS);
    let spec = Cartesian2d::<RangedCoordf64, RangedCoordf64>::new(
        0.0..last.max(1.0),
        low..high,
        // Values grow upwards, coordinates downwards.
        (across, bottom..top),
    );
    let area = svg.into_drawing_area().apply_coord_spec(spec);
    if let Some(baseline) = spark.baseline.filter(|value| (low..=high).contains(value)) {
        area.draw(&PathElement::new(vec![(0.0, baseline), (last.max(1.0), baseline)], Ink::Baseline.shape()))?;
    }
    let points: Vec<(f64, f64)> =
        values.iter().enumerate().map(|(i, value)| (i as f64, value.clamp(low, high))).collect();
    let newest = points[points.len() - 1];
    area.draw(&PathElement::new(points, Ink::Trace.shape()))?;
    let end = match spark.tone {
        Tone::Worse => Ink::EndWorse,
        Tone::Better => Ink::EndBetter,
        Tone::Environment | Tone::Doubt | Tone::Plain => Ink::End,
    };
    area.draw(&Circle::new(newest, 24, end.shape()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_is_small_and_safe() {
        let spark = Spark {
            values: (0..500).map(|i| 1.0 + f64::from(i % 7) * 0.01).collect(),
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
}
