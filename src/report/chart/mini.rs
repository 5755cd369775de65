//! A small multiple: a series around an event, as a change against the level before, on one scale for all.

use super::axis::{self, Axis};
use super::svg::{Anchor, Svg, rectangle};
use crate::mark::Tone;
use crate::number::{self, NARROW};

const WIDTH: i32 = 368;
const HEIGHT: i32 = 108;
const LEFT: i32 = 4;
const RIGHT: i32 = 322;
const TOP: i32 = 6;
const BOTTOM: i32 = 100;

const LABELS: usize = 3;

/// The least height of the mark of a change, in tenths of a unit: a small one would hide in its levels.
const LEAST: i32 = 160;

/// Values are shares of the level before: 1 is unchanged.
#[derive(Clone, Debug, PartialEq)]
pub struct Mini {
    pub dots: Vec<(f64, f64)>,
    pub levels: Vec<[(f64, f64); 2]>,
    /// From the last commit that is certainly before the event to the first that certainly has it.
    pub suspects: (f64, f64),
    /// The first place at the new level.
    pub at: f64,
    /// The colour of the change there, or of the drift that ends there.
    pub tone: Tone,
    pub label: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotScale {
    pub places: (f64, f64),
    pub values: (f64, f64),
}

pub fn scale(all: &[Mini], places: (f64, f64)) -> PlotScale {
    let ranges = all.iter().filter(|mini| !mini.dots.is_empty()).map(|mini| {
        let levels = mini.levels.iter().filter_map(|level| cut(level, places)).flatten();
        let levels: Vec<f64> = levels.map(|(_, value)| value).chain([1.0]).collect();
        let dots: Vec<f64> = mini.dots.iter().map(|(_, value)| *value).collect();
        let ((low, high), (least, most)) = (axis::robust_range(&dots, &levels), axis::extent(&levels));
        (low.min(least), high.max(most))
    });
    let values = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0.95, 1.05));
    PlotScale { places, values }
}

/// The part of a line between two places, its ends on the line; nothing where it is outside.
fn cut([begin, end]: &[(f64, f64); 2], (first, last): (f64, f64)) -> Option<[(f64, f64); 2]> {
    let at = |place: f64| match (place.clamp(first, last), end.0 - begin.0) {
        (inside, _) if inside == begin.0 => *begin,
        (inside, _) if inside == end.0 => *end,
        (inside, width) => (inside, begin.1 + (end.1 - begin.1) * (inside - begin.0) / width),
    };
    (end.0 >= first && begin.0 <= last).then(|| [at(begin.0), at(end.0)])
}

pub fn draw(mini: &Mini, scale: &PlotScale) -> String {
    if mini.dots.is_empty() {
        return String::new();
    }
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let (first, last) = scale.places;
    let (low, high) = scale.values;
    let across = Axis::new((first - 0.5, last + 0.5), (LEFT, RIGHT));
    let down = Axis::new(scale.values, (BOTTOM, TOP));
    let x = |place: f64| across.at(place.clamp(first, last));
    let y = |value: f64| down.at(value.clamp(low, high));
    svg.area("suspect", rectangle((x(mini.suspects.0), x(mini.suspects.1)), (10 * TOP, 10 * BOTTOM)));
    let labels = labels(scale);
    for (value, _) in &labels {
        svg.stroke("grid", [(10 * LEFT, y(*value)), (10 * RIGHT, y(*value))]);
    }
    for (value, label) in labels {
        svg.text("", &label, (10 * (RIGHT + 5), y(value) + 40), Anchor::Start);
    }
    for (place, value) in mini.dots.iter().filter(|(place, _)| (first..=last).contains(place)) {
        svg.dot("dots", (x(*place), y(*value)));
    }
    let rise = match mini.tone {
        Tone::Worse | Tone::Better | Tone::Environment => format!("rise {}", mini.tone.class()),
        Tone::Doubt | Tone::Plain => "rise".to_owned(),
    };
    // On full units: a level that is fitted again moves by less, and the picture stays.
    let on_unit = |(place, value): (f64, f64)| (x(place), (y(value) + 5).div_euclid(10) * 10);
    let mut before: Option<(f64, f64)> = None;
    for [begin, end] in mini.levels.iter().filter_map(|level| cut(level, scale.places)) {
        // Of the event only a drift has a slope within its range.
        let is_own_ramp = begin.1 != end.1 && begin.0 >= mini.suspects.0 && end.0 == mini.at;
        svg.line(if is_own_ramp { &rise } else { "level" }, [on_unit(begin), on_unit(end)]);
        // Above the levels, which would hide a small change.
        if let Some((_, value)) = before {
            let is_own = begin.0 == mini.at;
            let [from, to] = [on_unit((begin.0, value)), on_unit(begin)];
            let reach = if is_own { (LEAST - (from.1 - to.1).abs()).max(0) / 2 } else { 0 };
            let reach = if from.1 < to.1 { -reach } else { reach };
            svg.line(if is_own { &rise } else { "level" }, [(from.0, from.1 + reach), (to.0, to.1 - reach)]);
        }
        before = (!is_own_ramp).then_some(end);
    }
    svg.labelled("fill mini", &mini.label)
}

/// Round changes with their labels: zero, and what fits next to it.
fn labels(scale: &PlotScale) -> Vec<(f64, String)> {
    let (low, high) = ((scale.values.0 - 1.0) * 100.0, (scale.values.1 - 1.0) * 100.0);
    let (ticks, decimals) = axis::ticks(low, high);
    let step = ticks.len().div_ceil(LABELS).max(1);
    let zero = ticks.iter().position(|tick| *tick == 0.0).unwrap_or(0);
    let chosen = ticks.iter().enumerate().filter(|(place, _)| place % step == zero % step);
    let label = |tick: f64| match number::fixed(tick, decimals) {
        zero if tick == 0.0 => zero,
        digits if tick > 0.0 => format!("+{digits}{NARROW}%"),
        digits => format!("{digits}{NARROW}%"),
    };
    chosen.map(|(_, tick)| (1.0 + tick / 100.0, label(*tick))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mini(step: f64) -> Mini {
        let dots = (0..40).map(|i| (f64::from(i), 1.0 + 0.002 * f64::from(i % 3) + if i < 30 { 0.0 } else { step }));
        Mini {
            dots: dots.collect(),
            levels: vec![[(0.0, 1.0), (30.0, 1.0)], [(30.0, 1.0 + step), (39.0, 1.0 + step)]],
            suspects: (27.0, 30.0),
            at: 30.0,
            tone: Tone::Worse,
            label: "\"><script>".into(),
        }
    }

    #[test]
    fn a_small_multiple_shows_the_step_on_the_scale_of_all() {
        let all = [mini(0.08), mini(0.01)];
        let scale = scale(&all, (0.0, 39.0));
        assert!(scale.values.0 < 1.0 && scale.values.1 > 1.08, "{scale:?}");
        let svg = draw(&all[0], &scale);
        assert!(svg.contains("class=\"rise worse\"") && svg.contains("class=\"suspect\""), "{svg}");
        assert!(svg.contains(">0<") && svg.contains(">+8\u{202f}%<"), "{svg}");
        assert!(svg.contains("aria-label=\"&quot;&gt;&lt;script&gt;\"") && svg.len() < 2500, "{} bytes", svg.len());
        let low = |svg: &str| svg.split("class=\"grid\" d=\"").nth(1).map(|rest| rest[..12].to_owned());
        assert_eq!(low(&svg), low(&draw(&all[1], &scale)), "one scale for all");
    }

    #[test]
    fn a_line_is_cut_where_it_leaves_the_picture() {
        let ramp = [(0.0, 1.0), (100.0, 2.0)];
        assert_eq!(cut(&ramp, (25.0, 75.0)), Some([(25.0, 1.25), (75.0, 1.75)]));
        assert_eq!(cut(&ramp, (-5.0, 50.0)), Some([(0.0, 1.0), (50.0, 1.5)]));
        assert_eq!(cut(&ramp, (101.0, 120.0)), None);
        assert_eq!(cut(&[(7.0, 1.0), (7.0, 1.1)], (0.0, 9.0)), Some([(7.0, 1.0), (7.0, 1.0)]));
        let drift = Mini { levels: vec![ramp], ..mini(0.0) };
        let scale = scale(&[drift], (0.0, 39.0));
        assert!((1.38..1.6).contains(&scale.values.1), "what is not shown takes no room: {scale:?}");
    }

    #[test]
    fn odd_series_are_drawn_too() {
        for values in [vec![], vec![1.0], vec![0.0, -3.0, 1e9], vec![1.0; 3]] {
            let dots = (0..).map(f64::from).zip(values).collect();
            let one = Mini { dots, levels: Vec::new(), ..mini(0.0) };
            let svg = draw(&one, &scale(std::slice::from_ref(&one), (0.0, 2.0)));
            assert_eq!(svg.is_empty(), one.dots.is_empty());
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
