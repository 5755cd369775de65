//! What was fitted, over the data: levels, changes with their number and size, the suspects of open events.

use super::labels::{self, Area, LevelLabel, text_width};
use super::svg::{Anchor, Svg, rectangle};
use super::trend::{BOTTOM, Fitted, LEFT, Line, Plot, PlotTurn, RIGHT, TEXT, TOP, units};

use crate::mark::Tone;
use crate::number;

// In units of the picture.
const NARROWEST_BAND: f64 = 4.0;
const SHORTEST_LABELLED: f64 = 90.0;
const POINT_DISTANCE: f64 = 12.0;
const WORDS_DISTANCE: f64 = 8.0;
const BADGE_RADIUS: f64 = 8.5;

pub(super) fn suspects(plot: &Plot<'_>, fit: &Fitted, svg: &mut Svg) {
    for (left, right) in bands(plot, fit) {
        svg.area("suspect", rectangle((tenths(left), tenths(right)), (10 * TOP, 10 * BOTTOM)));
    }
}

pub(super) fn lines(plot: &Plot<'_>, fit: &Fitted, svg: &mut Svg) {
    for line in &fit.lines {
        let is_level = line.values.0 == line.values.1;
        let class = if is_level { "level" } else { "rise doubt" };
        let mut draw = |class: &str, (from, to): (f64, f64)| {
            svg.line(class, [(plot.x(line.places.0), plot.y(from)), (plot.x(line.places.1), plot.y(to))]);
        };
        match line.modes {
            Some((low, high)) => [low, high].into_iter().for_each(|level| draw("level mode", (level, level))),
            None => draw(class, line.values),
        }
    }
    for turn in fit.turns.iter().filter(|turn| turn.places.0 == turn.places.1 && plot.shows(turn.places.0)) {
        let x = plot.x(turn.places.0);
        let class = format!("rise {}", tone_class(turn.tone));
        svg.line(&class, [(x, plot.y(turn.values.0)), (x, plot.y(turn.values.1))]);
    }
}

fn tone_class(tone: Tone) -> &'static str {
    if tone == Tone::Plain { Tone::Doubt.class() } else { tone.class() }
}

/// Writes the sizes of the changes and draws their numbers; returns the areas of both and of the steps.
pub(super) fn labels(plot: &Plot<'_>, fit: &Fitted, svg: &mut Svg) -> Vec<Area> {
    let mut taken = Vec::new();
    let mut badges: Vec<(f64, f64, &PlotTurn)> = Vec::new();
    for turn in fit.turns.iter().filter(|turn| plot.shows(middle(turn))) {
        let (x, y) = badge_place(plot, turn, &taken);
        taken.push(square(x, y, BADGE_RADIUS + 1.0));
        badges.push((x, y, turn));
    }
    let bands = bands(plot, fit);
    // The newest come first, for they matter most where there is no room for all.
    for (x, _, turn) in badges.iter().rev() {
        words(plot, turn, *x, &bands, &mut taken, svg);
    }
    for (x, y, turn) in badges {
        let (before, after) = (units(plot.y(turn.values.0)), units(plot.y(turn.values.1)));
        taken.push((x - 2.0, before.min(after), x + 2.0, before.max(after)));
        svg.circle(&format!("badge {}", tone_class(turn.tone)), (tenths(x), tenths(y)), tenths(BADGE_RADIUS));
        svg.text("in", &turn.number.to_string(), (tenths(x), tenths(y + 3.9)), Anchor::Middle);
    }
    taken
}

/// Points along the fitted line, in units, for labels to avoid.
pub(super) fn along(plot: &Plot<'_>, fit: &Fitted) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for line in &fit.lines {
        let corner = |place: f64, value: f64| (units(plot.x(place)), units(plot.y(value)));
        let (from, to) = (corner(line.places.0, line.values.0), corner(line.places.1, line.values.1));
        let steps = ((to.0 - from.0) / POINT_DISTANCE).ceil().max(1.0);
        points.extend((0..=steps as usize).map(|step| {
            let share = step as f64 / steps;
            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
        }));
    }
    points
}

/// Where the number of a turn is: halfway up its riser or its ramp, or as near to that as others allow.
fn badge_place(plot: &Plot<'_>, turn: &PlotTurn, taken: &[Area]) -> (f64, f64) {
    let x = units(plot.x(middle(turn)));
    let y = f64::midpoint(units(plot.y(turn.values.0)), units(plot.y(turn.values.1)));
    let step = 2.0 * BADGE_RADIUS + 3.0;
    let (top, bottom) = (f64::from(TOP) + BADGE_RADIUS, f64::from(BOTTOM) - BADGE_RADIUS);
    let y = y.clamp(top, bottom);
    let mut places = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0].into_iter().map(|steps| y + steps * step);
    let is_free = |y: &f64| (top..=bottom).contains(y) && labels::is_free(taken, &square(x, *y, BADGE_RADIUS));
    (x, places.find(is_free).unwrap_or(y))
}

fn square(x: f64, y: f64, reach: f64) -> Area {
    (x - reach, y - reach, x + reach, y + reach)
}

/// Writes the size of a turn on the empty side of its step: before a rise, and above or after a fall.
fn words(plot: &Plot<'_>, turn: &PlotTurn, x: f64, bands: &[(f64, f64)], taken: &mut Vec<Area>, svg: &mut Svg) {
    let width = text_width(&turn.words, TEXT);
    let (before, after) = (units(plot.y(turn.values.0)), units(plot.y(turn.values.1)));
    let top = before.min(after);
    let band = bands.iter().copied().find(|(left, right)| (*left..=*right).contains(&x)).unwrap_or((x, x));
    let (mut left, mut right) = (band.0 - WORDS_DISTANCE, band.1 + WORDS_DISTANCE);
    // The words avoid the number, which covers a short riser.
    if (before - after).abs() < 3.0 * BADGE_RADIUS || turn.places.0 < turn.places.1 {
        (left, right) = (left.min(x - BADGE_RADIUS - 3.0), right.max(x + BADGE_RADIUS + 3.0));
    }
    let above_left = (left, top - 10.0, Anchor::End);
    let rise = [(left, top + 4.0, Anchor::End), (right, top - 6.0, Anchor::Start), above_left];
    let fall = [(right, top - 6.0, Anchor::Start), (right, top + 4.0, Anchor::Start), above_left];
    for (at, base, anchor) in if after <= before { rise } else { fall } {
        let from = if anchor == Anchor::End { at - width } else { at };
        let area = (from, base - 0.8 * TEXT, from + width, base + 3.0);
        let inside = area.0 >= f64::from(LEFT) && area.2 <= f64::from(RIGHT);
        if inside && area.1 >= f64::from(TOP) - 6.0 && labels::is_free(taken, &area) {
            taken.push(area);
            let strong = if turn.tone == Tone::Environment { " strong" } else { "" };
            let class = format!("halo {}{strong}", tone_class(turn.tone));
            return svg.text(&class, &turn.words, (tenths(at), tenths(base)), anchor);
        }
    }
}

/// The labels of long levels, but for the newest, whose label is at the end of the picture.
pub(super) fn levels(plot: &Plot<'_>, fit: &Fitted) -> Vec<LevelLabel> {
    let earlier = fit.lines.split_last().map_or(&[][..], |(_, earlier)| earlier);
    let levels = earlier.iter().filter(|line| line.values.0 == line.values.1 && line.modes.is_none());
    let label = |line: &Line| LevelLabel {
        class: "halo strong",
        y: units(plot.y(line.values.0)),
        across: (units(plot.x(line.places.0)), units(plot.x(line.places.1))),
        words: number::value(plot.trend.scale, line.values.0),
    };
    levels.map(label).filter(|label| label.across.1 - label.across.0 > SHORTEST_LABELLED).collect()
}

fn bands(plot: &Plot<'_>, fit: &Fitted) -> Vec<(f64, f64)> {
    let shown = fit.suspects.iter().filter(|(_, last)| plot.shows(*last));
    shown
        .map(|(first, last)| {
            let (left, right) = (units(plot.x(first.max(plot.places.0))), units(plot.x(*last)));
            let more = (0.5 * (NARROWEST_BAND - (right - left))).max(0.0);
            (left - more, right + more)
        })
        .collect()
}

fn middle(turn: &PlotTurn) -> f64 {
    f64::midpoint(turn.places.0, turn.places.1)
}

fn tenths(units: f64) -> i32 {
    (units * 10.0).round() as i32
}

/// A trend of these levels, each with so many runs whose values differ a little.
#[cfg(test)]
pub(super) fn example(levels: &[f64], per_level: usize) -> super::trend::TrendPlot {
    use super::trend::{Flag, TrendPlot, example};
    let place = |number: usize| (number * per_level) as f64;
    let turns = levels.windows(2).enumerate().map(|(number, pair)| PlotTurn {
        number: number + 1,
        tone: if pair[1] > pair[0] { Tone::Worse } else { Tone::Better },
        places: (place(number + 1) - 0.5, place(number + 1) - 0.5),
        values: (pair[0], pair[1]),
        words: number::percent(pair[1] / pair[0] - 1.0),
    });
    let lines = levels.iter().enumerate().map(|(number, level)| Line {
        places: ((place(number) - 0.5).max(0.0), place(number + 1) - 0.5),
        values: (*level, *level),
        modes: None,
    });
    let fit = Fitted {
        lines: lines.collect(),
        turns: turns.collect(),
        suspects: vec![(place(levels.len() - 1) - 3.5, place(levels.len() - 1) + 0.5)],
        newest: "1.2\u{202f}ms".to_owned(),
    };
    let value = |at: usize| levels[at / per_level] * (1.0 + 1e-3 * (at * 7 % 5) as f64);
    let mut trend = TrendPlot {
        title: "Trend".to_owned(),
        description: "Steps.".to_owned(),
        fit: Some(fit),
        releases: vec![Flag { place: 20.0, label: "v1".to_owned() }],
        newest: "1.199\u{202f}ms".to_owned(),
        ..example(&(0..levels.len() * per_level).map(value).collect::<Vec<f64>>())
    };
    trend.dots.iter_mut().for_each(|dot| dot.interval = Some((0.995 * dot.value, 1.005 * dot.value)));
    trend
}

#[cfg(test)]
mod tests {
    use super::super::trend_chart::draw;
    use super::*;

    #[test]
    fn levels_and_their_changes_are_drawn_over_the_runs() {
        let mut trend = example(&[1.3e-3, 1.1e-3, 1.2e-3], 40);
        trend.dots[7].value = 9e-3;
        insta::assert_snapshot!(draw(&trend));
    }

    #[test]
    fn a_drift_is_a_ramp_with_its_number() {
        let mut trend = example(&[1.0e-3, 1.2e-3], 40);
        let fit = trend.fit.as_mut().expect("it is fitted");
        (fit.lines[0].places.1, fit.lines[1].places.0) = (20.0, 60.0);
        fit.lines.insert(1, Line { places: (20.0, 60.0), values: (1.0e-3, 1.2e-3), modes: None });
        let words = "↗ +20.0 %".to_owned();
        fit.turns[0] = PlotTurn { tone: Tone::Doubt, places: (20.0, 60.0), words, ..fit.turns[0].clone() };
        let svg = draw(&trend);
        assert_eq!(svg.matches("class=\"rise doubt\"").count(), 1, "{svg}");
        assert!(svg.contains("class=\"badge doubt\"") && svg.contains(">↗ +20.0 %</text>"), "{svg}");
    }

    #[test]
    fn two_modes_are_two_levels() {
        let mut trend = example(&[1.0e-3, 1.2e-3], 40);
        trend.fit.as_mut().expect("it is fitted").lines[1].modes = Some((1.15e-3, 1.25e-3));
        let svg = draw(&trend);
        assert_eq!((svg.matches("\"level mode\"").count(), svg.matches("\"level\"").count()), (2, 1), "{svg}");
    }

    #[test]
    fn no_two_numbers_cover_each_other() {
        let levels: Vec<f64> = (0..40).map(|i| 1e-3 * (1.0 + 0.1 * f64::from(i % 3))).collect();
        let svg = draw(&example(&levels, 3));
        let centre = |rest: &str| -> Option<(f64, f64)> {
            let number = |name: &str| rest.split_once(&format!(" {name}=\""))?.1.split('"').next()?.parse().ok();
            Some((number("cx")?, number("cy")?))
        };
        let discs: Vec<(f64, f64)> = svg.split("<circle class=\"badge").skip(1).filter_map(centre).collect();
        assert_eq!(discs.len(), 39);
        for (at, one) in discs.iter().enumerate() {
            assert!(discs[..at].iter().all(|other| (one.0 - other.0).hypot(one.1 - other.1) > 15.0), "{discs:?}");
        }
    }
}
