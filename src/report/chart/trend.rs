//! The trend of a series: one dot a run in commit order, its interval as a band, and what it is held against.
//!
//! Nothing is fitted. A value outside the range becomes a triangle on the edge; the range follows the running
//! median, so that one bad run does not flatten the rest.

use super::backend::{Caption, Svg};
use super::layers;
use super::plot::{Frame, Plot};
use crate::model::unit::Scale;
use crate::report::mark::Tone;

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

/// The trend as SVG; nothing for a series without points.
pub fn draw(trend: &Trend, shape: Shape) -> String {
    let longest = if shape == Shape::Wide { WIDE_RUNS } else { NARROW_RUNS };
    let dots = &trend.dots[trend.dots.len().saturating_sub(longest)..];
    if dots.is_empty() {
        return String::new();
    }
    let frame = Frame::of(shape);
    let mut svg = Svg::new(frame.width, frame.height);
    let plot = Plot::new(trend, dots, frame, &mut svg);
    layers::all(&plot, trend, dots).expect("the backend writes to a String, which cannot fail");
    drop(plot);
    let (class, suffix) = if shape == Shape::Wide { ("fill wide", "w") } else { ("fill narrow", "n") };
    let id = format!("{}-{suffix}", trend.id);
    svg.captioned(class, &Caption { id: &id, title: &trend.title, description: &trend.description })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::unit::Unit;

    fn trend(values: &[f64]) -> Trend {
        let dots = values.iter().enumerate();
        let flag = |place: f64, label: &str| Flag { place, label: label.to_owned() };
        Trend {
            id: "trend".into(),
            title: "Trend of <a>".into(),
            description: "Flat.".into(),
            scale: Unit::Second.scale(1e-3),
            dots: dots
                .map(|(i, value)| Dot { place: i as f64, value: *value, interval: Some((value * 0.99, value * 1.01)) })
                .collect(),
            baseline: Some(1e-3),
            limit: Some(1.05e-3),
            releases: vec![flag(1.0, "v1 & <2>")],
            environments: vec![flag(2.5, "compiler 1.90 → 1.91")],
            dates: vec![flag(0.0, "Mar 2026"), flag(2.0, "Apr")],
            newest: "1.000\u{202f}ms".into(),
            tone: Tone::Plain,
        }
    }

    #[test]
    fn a_trend_is_drawn_in_classes() {
        insta::assert_snapshot!(draw(&trend(&[1e-3, 1.01e-3, 9e-3, 1e-3, 1.002e-3]), Shape::Wide));
    }

    #[test]
    fn the_narrow_shape_shows_the_newest_part() {
        let values: Vec<f64> = (0..300).map(|i| 1e-3 * (1.0 + f64::from(i % 5) * 0.002)).collect();
        let svg = draw(&trend(&values), Shape::Narrow);
        assert_eq!(svg.matches("h0").count(), NARROW_RUNS);
        assert!(!svg.contains("Mar 2026"), "dates before the part shown are left out");
        assert!(svg.len() < 8_000, "{} bytes", svg.len());
    }

    #[test]
    fn odd_series_are_drawn_too() {
        for values in [&[0.0][..], &[1e-3], &[5.0, 5.0], &[-1.0, 1.0], &[1e-300, 1e300]] {
            for shape in [Shape::Wide, Shape::Narrow] {
                let svg = draw(&trend(values), shape);
                assert!(svg.ends_with("</svg>") && !svg.contains("NaN"), "{values:?}: {svg}");
            }
        }
        assert_eq!(draw(&trend(&[]), Shape::Wide), "");
    }
}
