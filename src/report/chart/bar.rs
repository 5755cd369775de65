//! A bar: a share of a whole, in a table cell.

use plotters::prelude::*;

use super::backend::{SUBPIXELS, Svg};
use super::ink::Ink;
use super::plot::Drawn;

const WIDTH: i32 = 110;
const HEIGHT: i32 = 14;

/// The bar of a share from 0 to 1 as SVG; that of the row in question stands out. The cell beside it has the figure.
pub fn draw(share: f64, stands_out: bool, label: &str) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT);
    picture(share, stands_out, &mut svg).expect("the backend writes to a String, which cannot fail");
    svg.labelled("share", label)
}

fn picture(share: f64, stands_out: bool, svg: &mut Svg) -> Drawn {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let page = svg.into_drawing_area();
    let bar = |right: f64, ink: Ink| {
        let corners = [(0, 3 * SUBPIXELS), (right.round() as i32, 11 * SUBPIXELS)];
        Rectangle::new(corners, ink.shape())
    };
    let overall = f64::from(WIDTH * SUBPIXELS);
    page.draw(&bar(overall, Ink::Track))?;
    page.draw(&bar(overall * share, if stands_out { Ink::BarWorse } else { Ink::Bar }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert!(draw(0.72, true, "72 %").contains("<path class=\"bar worse\" d=\"M0 3L79.2 3L79.2 11L0 11Z\"/>"));
        assert!(draw(f64::NAN, false, "").contains("<path class=\"bar\" d=\"M0 3L0 3L0 11L0 11Z\"/>"));
        assert!(draw(7.0, false, "").contains("M0 3L110 3L110 11"));
    }
}
