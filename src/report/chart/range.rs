//! The interval of a change in a table cell, on a scale that all rows of the table share.

use plotters::prelude::*;

use super::backend::{SUBPIXELS, Svg};
use super::ink::Ink;
use super::plot::Drawn;

const WIDTH: i32 = 110;
const HEIGHT: i32 = 16;

/// Where no change lies, in tenths of a unit.
const ZERO: i32 = WIDTH * SUBPIXELS / 2;

/// The picture as SVG: the band of what would not show, no change, the interval as a line and the change as a dot, or a
/// triangle at the edge where it lies beyond the scale. `places` are tenths of a unit: the end of the band, the lower end, the
/// change, the upper end, and whether it lies below the scale (-1) or above it (1). The cells beside it say the same in words.
pub fn draw([band, low, change, high, beyond]: [i32; 5], is_worse: Option<bool>) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let end = match is_worse {
        Some(true) => Ink::EndWorse,
        Some(false) => Ink::EndBetter,
        None => Ink::End,
    };
    picture([band - ZERO, low, change, high], beyond, end, &mut svg)
        .expect("the backend writes to a String, which cannot fail");
    svg.hidden("range")
}

fn picture([band, low, change, high]: [i32; 4], beyond: i32, end: Ink, svg: &mut Svg) -> Drawn {
    let page = svg.into_drawing_area();
    let (top, middle, bottom) = (SUBPIXELS, HEIGHT * SUBPIXELS / 2, (HEIGHT - 1) * SUBPIXELS);
    let corners = [(ZERO - band, top), (ZERO + band, top), (ZERO + band, bottom), (ZERO - band, bottom)];
    page.draw(&Polygon::new(corners.to_vec(), Ink::Band.shape()))?;
    page.draw(&PathElement::new(vec![(ZERO, 0), (ZERO, HEIGHT * SUBPIXELS)], Ink::Axis.shape()))?;
    page.draw(&PathElement::new(vec![(low, middle), (high, middle)], Ink::Baseline.shape()))?;
    if beyond == 0 {
        return page.draw(&Circle::new((change, middle), 35, end.shape()));
    }
    let base = change - 60 * beyond;
    page.draw(&Polygon::new(vec![(base, middle - 40), (change, middle), (base, middle + 40)], end.shape()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_lies_on_the_scale_of_its_table() {
        assert_eq!(
            draw([650, 675, 800, 1050, 0], Some(true)),
            "<svg class=\"range\" width=\"110\" height=\"16\" viewBox=\"0 0 110 16\" aria-hidden=\"true\">\
             <path class=\"band\" d=\"M45 1L65 1L65 15L45 15Z\"/><path class=\"axis\" d=\"M55 0L55 16\"/>\
             <path class=\"base\" d=\"M67.5 8L105 8\"/><circle class=\"end worse\" cx=\"80\" cy=\"8\" r=\"3.5\"/></svg>"
        );
    }

    #[test]
    fn what_lies_beyond_the_scale_is_a_triangle_at_its_edge() {
        let svg = draw([550, 50, 50, 50, -1], Some(false));
        assert!(svg.contains("<path class=\"end better\" d=\"M11 4L5 8L11 12Z\"/>"), "{svg}");
        assert!(draw([550, 50, 1050, 1050, 1], None).contains("<path class=\"end\" d=\"M99 4L105 8L99 12Z\"/>"));
    }
}
