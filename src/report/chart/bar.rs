//! Pictures in a table cell: a bar for a share, and the interval of a change on a scale that all rows share.

use super::svg::{Svg, rectangle};

const WIDTH: i32 = 110;

/// A share of more than all is an arrow: it goes on.
pub fn draw(share: f64, is_clear: bool, label: &str) -> String {
    let mut svg = Svg::new(WIDTH, 14);
    let end = 10 * WIDTH;
    svg.area("bar track", rectangle((0, end), (30, 110)));
    if share > 1.0 && share.is_finite() {
        svg.area("bar beyond", [(0, 30), (end - 60, 30), (end, 70), (end - 60, 110), (0, 110)]);
    } else {
        let share = if share.is_finite() { share.max(0.0) } else { 0.0 };
        let length = (f64::from(end) * share).round() as i32;
        svg.area(if is_clear { "bar worse" } else { "bar" }, rectangle((0, length), (30, 110)));
    }
    svg.labelled("share", label)
}

/// The place of no change, in tenths of a unit.
const ZERO: i32 = 5 * WIDTH;

/// A change with its interval: a band of what would not show, the interval as a line, and the change as a dot, or as a triangle at
/// the edge where it is below the scale (`beyond` is -1) or above it (1). The others are places in tenths of a unit.
pub fn interval([band, low, change, high, beyond]: [i32; 5], is_worse: Option<bool>) -> String {
    let mut svg = Svg::new(WIDTH, 16);
    let end = match is_worse {
        Some(true) => "end worse",
        Some(false) => "end better",
        None => "end",
    };
    svg.area("band", rectangle((2 * ZERO - band, band), (10, 150)));
    svg.stroke("axis", [(ZERO, 0), (ZERO, 160)]);
    svg.line("base", [(low, 80), (high, 80)]);
    if beyond == 0 {
        svg.circle(end, (change, 80), 35);
    } else {
        let base = change - 60 * beyond;
        svg.area(end, [(base, 40), (change, 80), (base, 120)]);
    }
    svg.hidden("range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert!(draw(0.72, true, "72 %").contains("<path class=\"bar worse\" d=\"M0 3L79.2 3L79.2 11L0 11Z\"/>"));
        assert!(draw(f64::NAN, false, "").contains("<path class=\"bar\" d=\"M0 3L0 3L0 11L0 11Z\"/>"));
        assert!(draw(7.0, false, "").contains("class=\"bar beyond\" d=\"M0 3L104 3L110 7L104 11L0 11Z\""));
    }

    #[test]
    fn an_interval_lies_on_the_scale_of_its_table() {
        assert_eq!(
            interval([650, 675, 800, 1050, 0], Some(true)),
            "<svg class=\"range\" width=\"110\" height=\"16\" viewBox=\"0 0 110 16\" aria-hidden=\"true\">\
             <path class=\"band\" d=\"M45 1L65 1L65 15L45 15Z\"/><path class=\"axis\" d=\"M55 0L55 16\"/>\
             <path class=\"base\" d=\"M67.5 8L105 8\"/><circle class=\"end worse\" cx=\"80\" cy=\"8\" r=\"3.5\"/></svg>"
        );
        // What is beyond the scale is a triangle at its edge.
        let svg = interval([550, 50, 50, 50, -1], Some(false));
        assert!(svg.contains("<path class=\"end better\" d=\"M11 4L5 8L11 12Z\"/>"), "{svg}");
        assert!(interval([550, 50, 1050, 1050, 1], None).contains("<path class=\"end\" d=\"M99 4L105 8L99 12Z\"/>"));
    }
}
