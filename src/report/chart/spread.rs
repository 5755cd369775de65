//! The distributions of two sides: a dot for each value, with the middle half and the median.

use super::axis;
use super::svg::{Anchor, At, Svg};
use crate::number;
use sprag_model::Scale;

const WIDTH: i32 = 440;
const HEIGHT: i32 = 150;

// In units: where the values begin and end, and the middle of each row.
const ACROSS: (f64, f64) = (66.0, 404.0);
const ROWS: [f64; 2] = [40.0, 94.0];

const MOST: usize = 100;

/// Values farther from the middle half than this many times its width do not widen the axis.
const FAR: f64 = 3.0;

/// Dots of a row that are nearer than `NEAR` are moved up or down in steps, in units.
const STEP: f64 = 4.0;
const NEAR: f64 = 4.5;

#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The name and the values of each side, oldest first, in base units.
    pub sides: [(&'static str, Vec<f64>); 2],
    pub scale: Scale,
    pub label: String,
}

/// Nothing where a side has no value.
pub fn draw(spread: &Spread) -> String {
    if spread.sides.iter().any(|(_, values)| values.is_empty()) {
        return String::new();
    }
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let newest = |values: &'_ [f64]| values[values.len().saturating_sub(MOST)..].to_vec();
    let sides = [0, 1].map(|side| newest(&spread.sides[side].1));
    let all: Vec<f64> = sides.iter().flat_map(|values| usual(values)).collect();
    let (low, high) = axis::extent(&all);
    let margin = (0.06 * (high - low)).max(0.01 * low.abs()).max(f64::MIN_POSITIVE);
    let (low, high) = (low - margin, high + margin);
    let x = |value: f64| ACROSS.0 + (value - low) / (high - low) * (ACROSS.1 - ACROSS.0);
    let factor = spread.scale.factor;
    let (ticks, decimals) = axis::ticks(low / factor, high / factor);
    for tick in &ticks {
        svg.stroke("grid", [8.0, 124.0].map(|y| tenths((x(tick * factor), y))));
    }
    for tick in ticks {
        svg.text("", &number::fixed(tick, decimals), tenths((x(tick * factor), 140.0)), Anchor::Middle);
    }
    svg.text("", spread.scale.symbol, (10 * WIDTH, 1400), Anchor::End);
    for (((name, _), values), row) in spread.sides.iter().zip(&sides).zip(ROWS) {
        svg.text("halo strong", name, tenths((0.0, row + 4.0)), Anchor::Start);
        let (first, median, third) = quarters(values);
        let corners = [(first, -15.0), (third, -15.0), (third, 15.0), (first, 15.0)];
        svg.area("band", corners.map(|(value, up)| tenths((x(value), row + up))));
        let (inside, outside): (Vec<f64>, Vec<f64>) = values.iter().partition(|value| (low..=high).contains(*value));
        for (at, up) in swarm(inside.into_iter().map(x).collect()) {
            svg.dot("dots many", tenths((at, row + up)));
        }
        beyond(&outside, low, row, spread.scale, &mut svg);
        svg.line("level", [row - 18.0, row + 18.0].map(|y| tenths((x(median), y))));
    }
    svg.labelled("fill dist", &spread.label)
}

/// The first quartile, the median and the third; a quartile is the middle of its half, the median in neither.
pub fn quarters(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = (sorted.len() / 2).max(sorted.len().min(1));
    (axis::median(&sorted[..half]), axis::median(&sorted), axis::median(&sorted[sorted.len() - half..]))
}

/// The values of a side that the axis is made for.
fn usual(values: &[f64]) -> Vec<f64> {
    let (first, _, third) = quarters(values);
    let reach = FAR * (third - first);
    values.iter().copied().filter(|value| (first - reach..=third + reach).contains(value)).collect()
}

fn beyond(outside: &[f64], low: f64, row: f64, scale: Scale, svg: &mut Svg) {
    let (below, above): (Vec<f64>, Vec<f64>) = outside.iter().partition(|value| **value < low);
    let farthest = [below.iter().copied().reduce(f64::min), above.iter().copied().reduce(f64::max)];
    let counts = [below.len(), above.len()];
    for ((farthest, count), (edge, way)) in
        farthest.into_iter().zip(counts).zip([(ACROSS.0 - 4.0, -1.0), (ACROSS.1 + 4.0, 1.0)])
    {
        let Some(farthest) = farthest else { continue };
        svg.area("out", [(edge, row - 4.0), (edge + 7.0 * way, row), (edge, row + 4.0)].map(tenths));
        let (count, farthest) = (number::counted(count, "point", "points"), number::quantity(scale, farthest));
        svg.title(&format!("{count} outside the scale, to {farthest}"));
    }
}

/// Dots of those coordinates, each moved up or down from the row until it covers none.
fn swarm(mut all: Vec<f64>) -> Vec<(f64, f64)> {
    all.sort_by(f64::total_cmp);
    let mut placed: Vec<(f64, f64)> = Vec::with_capacity(all.len());
    for x in all {
        let near: Vec<f64> = placed.iter().rev().take_while(|dot| x - dot.0 < NEAR).map(|dot| dot.1).collect();
        let free = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0]
            .map(|steps| steps * STEP)
            .into_iter()
            .find(|up| near.iter().all(|other| (other - up).abs() >= STEP));
        placed.push((x, free.unwrap_or(0.0)));
    }
    placed
}

fn tenths((x, y): (f64, f64)) -> At {
    ((x * 10.0).round() as i32, (y * 10.0).round() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::Unit;

    #[test]
    fn quarters_are_the_middles_of_the_halves() {
        assert_eq!(quarters(&[5.0, 1.0, 3.0, 2.0, 4.0]), (1.5, 3.0, 4.5));
        assert_eq!(quarters(&[1.0, 2.0, 3.0, 4.0]), (1.5, 2.5, 3.5));
        assert_eq!(quarters(&[7.0]), (7.0, 7.0, 7.0));
    }

    #[test]
    fn dots_of_a_side_cover_none() {
        let dots = swarm((0..40).map(|i| f64::from(i) * 1.5).collect());
        for (number, one) in dots.iter().enumerate() {
            let apart = |other: &(f64, f64)| (one.0 - other.0).abs() >= NEAR || (one.1 - other.1).abs() >= STEP;
            assert!(dots[..number].iter().all(apart), "{dots:?}");
        }
    }

    #[test]
    fn a_spread_shows_the_newest_values_of_both_sides() {
        let side = |base: f64| (0..300).map(|i| base + 1e-5 * f64::from(i % 9)).collect();
        let spread = Spread {
            sides: [("before", side(1.2e-3)), ("after", side(1.3e-3))],
            scale: Unit::Second.scale(1e-3),
            label: "<b>".to_owned(),
        };
        let svg = draw(&spread);
        assert_eq!(svg.matches("h0").count(), 2 * MOST, "{svg}");
        assert!(svg.contains(">before<") && svg.contains(">after<") && svg.contains("&lt;b&gt;"), "{svg}");
        let mut wild = spread.clone();
        wild.sides[1].1[299] = 9e-3;
        let svg = draw(&wild);
        assert!(svg.contains("<title>1 point outside the scale, to 9.000\u{202f}ms</title>"), "{svg}");
        assert_eq!(svg.matches("h0").count(), 2 * MOST - 1);
        let flat = Spread { sides: [("before", vec![0.0]), ("after", vec![0.0])], ..spread.clone() };
        assert!(!draw(&flat).contains("NaN"));
        assert_eq!(draw(&Spread { sides: [("before", vec![]), ("after", vec![1.0])], ..spread }), "");
    }
}
