//! Roofline bars: how near kernels come to a limit, a bar each over one axis.

use super::svg::{Anchor, Svg, rectangle};
use crate::number::NARROW;
use crate::text::shortened;

// In units: the width, which a phone can show, the height of a bar with its words, and that of the axis.
const WIDTH: i32 = 440;
const ROW: i32 = 36;
const FOOT: i32 = 20;

/// The longest name, in characters.
const NAME: usize = 44;

#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    pub id: String,
    pub title: String,
    pub description: String,
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub name: String,
    /// The share of the limit: 1 is all of it.
    pub share: f64,
    pub figure: String,
}

/// Nothing where there is no bar. A share above 1 fills its bar, and one that is not a number leaves it empty: the figure says it.
pub fn draw(roofline: &Roofline) -> String {
    let Ok(rows @ 1..) = i32::try_from(roofline.bars.len()) else { return String::new() };
    let mut svg = Svg::new(WIDTH, rows * ROW + FOOT);
    for (one, top) in roofline.bars.iter().zip((0..).map(|row| row * ROW)) {
        svg.text("", &shortened(&one.name, NAME), (0, 10 * (top + 14)), Anchor::Start);
        svg.text("halo strong", &one.figure, (10 * WIDTH, 10 * (top + 14)), Anchor::End);
        let share = if one.share.is_finite() { one.share.clamp(0.0, 1.0) } else { 0.0 };
        let down = (10 * (top + 20), 10 * (top + 30));
        svg.area("bar track", rectangle((0, 10 * WIDTH), down));
        svg.area("bar", rectangle((0, (share * f64::from(10 * WIDTH)).round() as i32), down));
    }
    let bottom = rows * ROW;
    for percent in [0, 25, 50, 75, 100] {
        let x = WIDTH * percent / 10;
        svg.stroke("axis", [(x, 10 * (bottom - 2)), (x, 10 * (bottom + 3))]);
        let anchor = match percent {
            0 => Anchor::Start,
            100 => Anchor::End,
            _ => Anchor::Middle,
        };
        svg.text("", &format!("{percent}{NARROW}%"), (x, 10 * (bottom + 16)), anchor);
    }
    svg.captioned("fill dist", [&roofline.id, &roofline.title, &roofline.description])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roofline(shares: &[f64]) -> Roofline {
        let bar = |share: &f64| {
            let (name, figure) = ("tile_pack{n=8192} <@cuda>, memory".into(), format!("{:.1}{NARROW}%", share * 100.0));
            Bar { name, share: *share, figure }
        };
        let (title, description) = ("Share of the peak".into(), "One of two.".into());
        Roofline { id: "roof".into(), title, description, bars: shares.iter().map(bar).collect() }
    }

    #[test]
    fn a_bar_is_as_long_as_its_share_of_the_peak() {
        insta::assert_snapshot!(draw(&roofline(&[0.857, 0.5])));
    }

    #[test]
    fn odd_shares_are_drawn_too() {
        let svg = draw(&roofline(&[f64::NAN, -1.0, 7.0, f64::INFINITY]));
        // No length below zero, and none beyond the peak.
        for (top, length) in [(20, 0), (56, 0), (92, 440), (128, 0)] {
            let end = top + 10;
            let bar = format!("<path class=\"bar\" d=\"M0 {top}L{length} {top}L{length} {end}L0 {end}Z\"/>");
            assert!(svg.contains(&bar), "{bar}: {svg}");
        }
        assert_eq!(draw(&roofline(&[])), "");
        let mut long = roofline(&[0.5]);
        long.bars[0].name = "x".repeat(500);
        assert!(draw(&long).contains(&format!(">{}…<", "x".repeat(NAME - 1))));
    }
}
