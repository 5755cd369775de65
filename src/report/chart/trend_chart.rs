//! The trend of a series: its levels and their changes over one dot a run in commit order, the spread of each as a band,
//! and what it is held against.
//!
//! A value outside the range becomes a triangle on the edge; the range follows the running median, so that one bad run
//! does not flatten the rest. Where there are more runs than a reader could tell apart, a dot stands for several.

use super::backend::{Caption, Svg};
use super::plot::{FRAME, Frame, Plot};
use super::trend::{POINTS, Trend};
use super::{buckets, layers};

/// The trend as SVG; nothing for a series without points.
pub fn draw(trend: &Trend) -> String {
    if trend.dots.is_empty() {
        return String::new();
    }
    let mut svg = Svg::new(FRAME.width, FRAME.height);
    let plot = Plot::new(trend, &mut svg);
    let shown = buckets::shown(&plot, trend);
    layers::all(&plot, trend, &shown).expect("the backend writes to a String, which cannot fail");
    let places = plot.places;
    drop(plot);
    let Trend { id, title, description, .. } = trend;
    let picture = svg.captioned("fill wide", &Caption { id, title, description });
    // For the script: the table of points, the places at the edges of the area, and where these edges lie.
    let Frame { left, right, top, bottom, .. } = FRAME;
    let data = format!("data-places=\"{} {}\" data-area=\"{left} {right} {top} {bottom}\"", places.0, places.1);
    let picture = picture.replacen("<svg ", &format!("<svg data-points=\"{POINTS}\" {data} "), 1);
    // The first texts that end at their places are those of the axis, which a narrow window shows beside the rest.
    picture.replacen("<g text-anchor", &format!("<g id=\"{id}-y\" text-anchor"), 1)
}

#[cfg(test)]
mod tests {
    use super::super::trend::{Dot, Flag};
    use super::*;
    use crate::mark::Tone;
    use sprag_model::unit::Unit;

    fn trend(values: &[f64]) -> Trend {
        let dots = values.iter().enumerate();
        let flag = |place: f64, label: &str| Flag { place, label: label.to_owned() };
        Trend {
            id: "trend".into(),
            title: "Trend of <a>".into(),
            description: "Flat.".into(),
            scale: Unit::Second.scale(1e-3),
            dots: dots
                .map(|(i, value)| Dot {
                    place: i as f64,
                    value: *value,
                    interval: Some((value * 0.99, value * 1.01)),
                    commit: "a3f19c2b01d4".into(),
                })
                .collect(),
            fit: None,
            baseline: Some(1e-3),
            limit: Some(1.05e-3),
            releases: vec![flag(1.0, "v1 & <2>")],
            environments: vec![flag(2.5, "compiler 1.90 → 1.91")],
            dates: vec![flag(0.0, "Mar 2026"), flag(2.0, "Apr")],
            processes: None,
            newest: "1.000\u{202f}ms".into(),
            tone: Tone::Plain,
        }
    }

    #[test]
    fn a_trend_is_drawn_in_classes() {
        insta::assert_snapshot!(draw(&trend(&[1e-3, 1.01e-3, 9e-3, 1e-3, 1.002e-3])));
    }

    #[test]
    fn runs_share_dots_where_there_are_many() {
        let check = |runs: u32, dots: usize| {
            let values: Vec<f64> = (0..runs).map(|i| 1e-3 * (1.0 + f64::from(i % 5) * 0.002)).collect();
            let svg = draw(&trend(&values));
            assert_eq!(svg.matches("h0").count(), dots, "{runs} runs");
        };
        check(1, 1);
        check(200, 200);
        check(201, 101);
        check(1_000, 125);
        check(2_000, 125);
    }

    #[test]
    fn whatever_lies_outside_the_scale_says_what_and_where_it_is() {
        for runs in [20, 190, 2_000] {
            let mut values: Vec<f64> = (0..runs).map(|i| 1e-3 * (1.0 + f64::from(i % 5) * 0.002)).collect();
            (values[7], values[15]) = (9e-3, 1e-6);
            let svg = draw(&trend(&values));
            let titles: Vec<&str> = svg.split("<path class=\"out\"").skip(1).filter_map(title).collect();
            assert_eq!(titles.len(), svg.matches("class=\"out\"").count(), "{runs} runs: {svg}");
            let [above, below] = titles[..] else { panic!("{titles:?}") };
            assert_eq!(above, "9.000\u{202f}ms at a3f19c2, above the scale");
            assert!(below.ends_with("ms at a3f19c2, below the scale"), "{below}");
        }
    }

    /// The title of the element that this follows.
    fn title(rest: &str) -> Option<&str> {
        rest.split_once("Z\"><title>")?.1.split_once("</title></path>").map(|(title, _)| title)
    }

    #[test]
    fn the_axis_of_values_has_a_name() {
        for values in [&[1.0][..], &[1e-3, 1.01e-3], &[-1.0, 1.0]] {
            let svg = draw(&trend(values));
            assert!(svg.contains("<g id=\"trend-y\" text-anchor=\"end\"><text x=\"50\""), "{svg}");
        }
    }

    #[test]
    fn odd_series_are_drawn_too() {
        for values in [&[0.0][..], &[1e-3], &[5.0, 5.0], &[-1.0, 1.0], &[1e-300, 1e300]] {
            let svg = draw(&trend(values));
            assert!(svg.ends_with("</svg>") && !svg.contains("NaN"), "{values:?}: {svg}");
        }
        assert_eq!(draw(&trend(&[])), "");
    }
}
