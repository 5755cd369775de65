//! What was fitted, over the data: levels, changes with their number and size, the suspects of open events.

use plotters::style::text_anchor::HPos;

use super::backend::SUBPIXELS;
use super::ink::Ink;
use super::labels::{Boxes, text_width};
use super::plot::{Drawn, Plot};
use super::trend::{Fitted, Trend, Turn};
use crate::mark::Tone;
use crate::number;

/// The narrowest band of suspects, in units of the picture.
const NARROWEST: f64 = 4.0;

/// A level has a label where it is longer than this.
const LABELLED: f64 = 90.0;

/// How far the label of a level keeps from changes, releases and changes of the environment.
const CLEAR: f64 = 30.0;

/// How far points along a line are apart.
const ALONG: f64 = 12.0;

/// Where along its level a label may stand, the best first.
const PLACES: [f64; 6] = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2];

/// How far words stand from the riser of their change.
const BESIDE: f64 = 8.0;

/// The radius of the disc with the number of a turn.
const RADIUS: f64 = 8.5;

/// Draws a band over the suspects of open events.
pub(super) fn suspects(plot: &Plot<'_>, fit: &Fitted) -> Drawn {
    for (left, right) in bands(plot, fit) {
        let (left, right) = (pixels(left), pixels(right));
        let (top, bottom) = (plot.frame.top * SUBPIXELS, plot.frame.bottom * SUBPIXELS);
        plot.area(vec![(left, top), (right, top), (right, bottom), (left, bottom)], Ink::Suspect)?;
    }
    Ok(())
}

/// Draws levels, risers and ramps.
pub(super) fn lines(plot: &Plot<'_>, fit: &Fitted) -> Drawn {
    for line in &fit.lines {
        let ink = if line.values.0 == line.values.1 { Ink::Level } else { Ink::RiseDoubt };
        let corner = |place: f64, value: f64| (plot.x(place), plot.y(value));
        plot.path(vec![corner(line.places.0, line.values.0), corner(line.places.1, line.values.1)], ink)?;
    }
    for turn in risers(plot, fit) {
        let x = plot.x(turn.places.0);
        plot.path(vec![(x, plot.y(turn.values.0)), (x, plot.y(turn.values.1))], rise(turn.tone))?;
    }
    Ok(())
}

/// Writes sizes and levels, and draws the numbers of the changes; gives what they cover.
pub(super) fn labels(plot: &Plot<'_>, trend: &Trend, fit: &Fitted) -> Drawn<Boxes> {
    let mut taken = Boxes::default();
    let badges: Vec<(f64, f64, &Turn)> = fit
        .turns
        .iter()
        .filter(|turn| plot.shows(middle(turn)))
        .map(|turn| {
            let (x, y) = badge_place(plot, turn, &taken);
            let reach = RADIUS + 1.0;
            taken.take((x - reach, y - reach, x + reach, y + reach));
            (x, y, turn)
        })
        .collect();
    let bands = bands(plot, fit);
    // The newest come first, for they matter most where there is no room for all.
    for (x, _, turn) in badges.iter().rev() {
        words(plot, turn, *x, &bands, &mut taken)?;
    }
    level_labels(plot, trend, fit, &mut taken)?;
    for (x, y, turn) in badges {
        plot.dot((pixels(x), pixels(y)), pixels(RADIUS), badge(turn.tone))?;
        plot.text(&turn.number.to_string(), (pixels(x), pixels(y + 3.9)), HPos::Center, Ink::BadgeNumber)?;
    }
    Ok(taken)
}

/// Points along the fitted line, in units, that labels of others should not cover.
pub(super) fn along(plot: &Plot<'_>, fit: &Fitted) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for line in &fit.lines {
        let corner = |place: f64, value: f64| (units(plot.x(place)), units(plot.y(value)));
        let (from, to) = (corner(line.places.0, line.values.0), corner(line.places.1, line.values.1));
        let steps = ((to.0 - from.0) / ALONG).ceil().max(1.0);
        points.extend((0..=steps as usize).map(|step| {
            let share = step as f64 / steps;
            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
        }));
    }
    points
}

/// Where the number of a turn stands: halfway up its riser or its ramp, or as near to that as others leave room.
fn badge_place(plot: &Plot<'_>, turn: &Turn, taken: &Boxes) -> (f64, f64) {
    let x = units(plot.x(middle(turn)));
    let y = f64::midpoint(units(plot.y(turn.values.0)), units(plot.y(turn.values.1)));
    let (reach, step) = (RADIUS, 2.0 * RADIUS + 3.0);
    let (top, bottom) = (f64::from(plot.frame.top) + reach, f64::from(plot.frame.bottom) - reach);
    let y = y.clamp(top, bottom);
    let free = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0]
        .map(|steps| y + steps * step)
        .into_iter()
        .filter(|y| (top..=bottom).contains(y))
        .find(|y| taken.is_free((x - reach, y - reach, x + reach, y + reach)));
    (x, free.unwrap_or(y))
}

/// Writes the size of a turn on the empty side of its step: before a rise, level with its top, and after a fall, above it.
fn words(plot: &Plot<'_>, turn: &Turn, x: f64, bands: &[(f64, f64)], taken: &mut Boxes) -> Drawn {
    let frame = plot.frame;
    let width = text_width(&turn.words, frame.text);
    let (before, after) = (units(plot.y(turn.values.0)), units(plot.y(turn.values.1)));
    let top = before.min(after);
    let band = bands.iter().find(|(left, right)| (*left..=*right).contains(&x));
    let (left, right) = (band.map_or(x, |band| band.0) - BESIDE, band.map_or(x, |band| band.1) + BESIDE);
    // A short riser is covered by its number, and the words keep clear of that.
    let (left, right) = if (before - after).abs() < 3.0 * RADIUS || turn.places.0 < turn.places.1 {
        (left.min(x - RADIUS - 3.0), right.max(x + RADIUS + 3.0))
    } else {
        (left, right)
    };
    let rise = [(left, top + 4.0, HPos::Right), (right, top - 6.0, HPos::Left), (left, top - 10.0, HPos::Right)];
    let fall = [(right, top - 6.0, HPos::Left), (right, top + 4.0, HPos::Left), (left, top - 10.0, HPos::Right)];
    let places = if after <= before { rise } else { fall };
    for (at, base, anchor) in places {
        let from = if matches!(anchor, HPos::Right) { at - width } else { at };
        let area = (from, base - 0.8 * frame.text, from + width, base + 3.0);
        let inside = area.0 >= f64::from(frame.left) && area.2 <= f64::from(frame.right);
        if inside && area.1 >= f64::from(frame.top) - 6.0 && taken.is_free(area) {
            taken.take(area);
            return plot.text(&turn.words, (pixels(at), pixels(base)), anchor, size_ink(turn.tone));
        }
    }
    Ok(())
}

/// Writes long levels above their lines, but for the newest, which stands beside the picture.
fn level_labels(plot: &Plot<'_>, trend: &Trend, fit: &Fitted, taken: &mut Boxes) -> Drawn {
    let flags = trend.releases.iter().chain(&trend.environments).map(|flag| flag.place);
    let turns = fit.turns.iter().flat_map(|turn| [turn.places.0, turn.places.1]);
    let marks: Vec<f64> =
        flags.chain(turns).filter(|place| plot.shows(*place)).map(|place| units(plot.x(place))).collect();
    let Some((_, earlier)) = fit.lines.split_last() else { return Ok(()) };
    for line in earlier.iter().filter(|line| line.values.0 == line.values.1) {
        let (left, right) = (units(plot.x(line.places.0)), units(plot.x(line.places.1)));
        if right - left <= LABELLED {
            continue;
        }
        let label = number::value(trend.scale, line.values.0);
        let half = 0.5 * text_width(&label, plot.frame.text);
        let base = units(plot.y(line.values.0)) - 9.0;
        let area = |x: f64| (x - half, base - plot.frame.text, x + half, base + 2.0);
        let free = PLACES
            .map(|share| left + share * (right - left))
            .into_iter()
            .find(|x| marks.iter().all(|mark| (mark - x).abs() >= CLEAR) && taken.is_free(area(*x)));
        if let Some(x) = free {
            taken.take(area(x));
            plot.text(&label, (pixels(x), pixels(base)), HPos::Center, Ink::Strong)?;
        }
    }
    Ok(())
}

/// The bands over suspects, from left to right, in units.
fn bands(plot: &Plot<'_>, fit: &Fitted) -> Vec<(f64, f64)> {
    let shown = fit.suspects.iter().filter(|(_, last)| plot.shows(*last));
    shown
        .map(|(first, last)| {
            let (left, right) = (units(plot.x(first.max(plot.places.0))), units(plot.x(*last)));
            let more = (0.5 * (NARROWEST - (right - left))).max(0.0);
            (left - more, right + more)
        })
        .collect()
}

/// The changes at once that the picture shows.
fn risers<'f>(plot: &'f Plot<'_>, fit: &'f Fitted) -> impl Iterator<Item = &'f Turn> {
    fit.turns.iter().filter(|turn| turn.places.0 == turn.places.1 && plot.shows(turn.places.0))
}

fn middle(turn: &Turn) -> f64 {
    f64::midpoint(turn.places.0, turn.places.1)
}

fn rise(tone: Tone) -> Ink {
    match tone {
        Tone::Worse => Ink::RiseWorse,
        Tone::Better => Ink::RiseBetter,
        Tone::Environment => Ink::RiseEnvironment,
        Tone::Doubt | Tone::Plain => Ink::RiseDoubt,
    }
}

fn badge(tone: Tone) -> Ink {
    match tone {
        Tone::Worse => Ink::BadgeWorse,
        Tone::Better => Ink::BadgeBetter,
        Tone::Environment => Ink::BadgeEnvironment,
        Tone::Doubt | Tone::Plain => Ink::BadgeDoubt,
    }
}

fn size_ink(tone: Tone) -> Ink {
    match tone {
        Tone::Worse => Ink::WordsWorse,
        Tone::Better => Ink::WordsBetter,
        Tone::Environment => Ink::WordsEnvironment,
        Tone::Doubt | Tone::Plain => Ink::WordsDoubt,
    }
}

/// Pixels of plotters as units of the picture.
fn units(pixels: i32) -> f64 {
    f64::from(pixels) / f64::from(SUBPIXELS)
}

/// Units of the picture as pixels of plotters.
fn pixels(units: f64) -> i32 {
    (units * f64::from(SUBPIXELS)).round() as i32
}

#[cfg(test)]
mod tests {
    use super::super::trend::{Dot, Flag, Line};
    use super::*;
    use crate::chart::trend_chart::draw;
    use sprag_model::unit::Unit;

    /// Levels of a hundred places each, with a dot a place; the values of a level differ a little.
    fn trend(levels: &[f64], per_level: usize) -> Trend {
        let place = |number: usize| (number * per_level) as f64;
        let turns = levels.windows(2).enumerate().map(|(number, pair)| Turn {
            number: number + 1,
            tone: if pair[1] > pair[0] { Tone::Worse } else { Tone::Better },
            places: (place(number + 1) - 0.5, place(number + 1) - 0.5),
            values: (pair[0], pair[1]),
            words: number::percent(pair[1] / pair[0] - 1.0),
        });
        let lines = levels.iter().enumerate().map(|(number, level)| Line {
            places: ((place(number) - 0.5).max(0.0), place(number + 1) - 0.5),
            values: (*level, *level),
        });
        let fit = Fitted {
            lines: lines.collect(),
            turns: turns.collect(),
            suspects: vec![(place(levels.len() - 1) - 3.5, place(levels.len() - 1) + 0.5)],
            newest: "1.2\u{202f}ms".to_owned(),
        };
        let dots = (0..levels.len() * per_level).map(|at| {
            let value = levels[at / per_level] * (1.0 + 1e-3 * (at * 7 % 5) as f64);
            Dot {
                place: at as f64,
                value,
                interval: Some((0.995 * value, 1.005 * value)),
                commit: "a3f19c2b01d4".into(),
            }
        });
        Trend {
            id: "trend".into(),
            title: "Trend".into(),
            description: "Steps.".into(),
            scale: Unit::Second.scale(1e-3),
            dots: dots.collect(),
            fit: Some(fit),
            baseline: None,
            limit: None,
            releases: vec![Flag { place: 20.0, label: "v1".into() }],
            environments: Vec::new(),
            dates: Vec::new(),
            processes: None,
            newest: "1.199\u{202f}ms".into(),
            tone: Tone::Plain,
        }
    }

    #[test]
    fn levels_and_their_changes_are_drawn_over_the_runs() {
        let mut trend = trend(&[1.3e-3, 1.1e-3, 1.2e-3], 40);
        trend.dots[7].value = 9e-3;
        insta::assert_snapshot!(draw(&trend));
    }

    #[test]
    fn a_drift_is_a_ramp_with_its_number() {
        let mut trend = trend(&[1.0e-3, 1.2e-3], 40);
        let fit = trend.fit.as_mut().expect("it is fitted");
        fit.lines[0].places.1 = 20.0;
        fit.lines[1].places.0 = 60.0;
        fit.lines.insert(1, Line { places: (20.0, 60.0), values: (1.0e-3, 1.2e-3) });
        fit.turns[0] =
            Turn { tone: Tone::Doubt, places: (20.0, 60.0), words: "↗ +20.0 %".into(), ..fit.turns[0].clone() };
        let svg = draw(&trend);
        assert_eq!(svg.matches("class=\"rise doubt\"").count(), 1, "{svg}");
        assert!(svg.contains("class=\"badge doubt\"") && svg.contains(">↗ +20.0 %</text>"), "{svg}");
    }

    #[test]
    fn a_dot_of_many_runs_stands_across_no_change() {
        let trend = trend(&[1.0e-3, 1.3e-3, 1.1e-3], 333);
        let svg = draw(&trend);
        assert!((125..=128).contains(&svg.matches("h0").count()), "{}", svg.matches("h0").count());
        assert!(svg.len() < 11_000, "{} bytes", svg.len());
        let mut plain = super::super::backend::Svg::new(1184, 350);
        let plot = Plot::new(&trend, &mut plain);
        let shown = super::super::buckets::shown(&plot, &trend);
        for dot in &shown.dots {
            let (low, high) = dot.interval.expect("it is of several");
            assert!(high < 1.1 * low, "{dot:?} mixes two levels");
        }
    }

    #[test]
    fn no_two_labels_cover_each_other() {
        let levels: Vec<f64> = (0..40).map(|i| 1e-3 * (1.0 + 0.1 * f64::from(i % 3))).collect();
        let svg = draw(&trend(&levels, 3));
        assert_eq!(svg.matches("class=\"badge").count(), 39);
        let discs: Vec<(f64, f64)> = svg
            .split("<circle class=\"badge")
            .skip(1)
            .map(|rest| {
                let number = |name: &str| {
                    let text = rest.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
                    text.and_then(|text| text.parse::<f64>().ok()).expect("a disc has a centre")
                };
                (number("cx"), number("cy"))
            })
            .collect();
        for (at, one) in discs.iter().enumerate() {
            assert!(discs[..at].iter().all(|other| (one.0 - other.0).hypot(one.1 - other.1) > 15.0), "{discs:?}");
        }
    }
}
