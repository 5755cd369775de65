//! The layers of a trend, drawn from the bottom.

use plotters::style::text_anchor::HPos;

use super::axis;
use super::backend::SUBPIXELS;
use super::buckets::Shown;
use super::fitted;
use super::ink::Ink;
use super::labels::{Boxes, Field, LabelRow, Side, text_width};
use super::plot::{Drawn, Plot};
use super::trend::{Dot, Trend};
use crate::number;

/// From so many missing commits on, runs count as missing, if it is also [`GAP_STEPS`] times the usual distance.
const GAP: f64 = 4.0;

/// See [`GAP`].
const GAP_STEPS: f64 = 3.0;

/// Above so many runs, dots are small and no line joins them.
const MANY: usize = 150;

pub(super) fn all(plot: &Plot<'_>, trend: &Trend, shown: &Shown) -> Drawn {
    let dots = &trend.dots;
    let gaps = gaps(dots);
    for (before, after) in &gaps {
        let (left, right) = (plot.x(*before), plot.x(*after));
        let (top, bottom) = (plot.frame.top * SUBPIXELS, plot.frame.bottom * SUBPIXELS);
        plot.area(vec![(left, top), (right, top), (right, bottom), (left, bottom)], Ink::Gap)?;
    }
    grid(plot, trend)?;
    flags(plot, trend)?;
    if let Some(fit) = &trend.fit {
        fitted::suspects(plot, fit)?;
    }
    bands(plot, trend, &shown.dots, &gaps)?;
    let labels = levels(plot, trend)?;
    medians(plot, shown, &gaps, trend.fit.is_none())?;
    if let Some(fit) = &trend.fit {
        fitted::lines(plot, fit)?;
    }
    let taken = match &trend.fit {
        Some(fit) => fitted::labels(plot, trend, fit)?,
        None => Boxes::default(),
    };
    level_labels(plot, trend, &shown.dots, &labels, &taken)?;
    match trend.fit.as_ref().and_then(|fit| Some((fit, fit.lines.last()?))) {
        Some((fit, line)) => at_the_end(plot, line.values.1, &fit.newest, "now")?,
        None => newest(plot, trend, &dots[dots.len() - 1])?,
    }
    date_axis(plot, trend)
}

/// Where runs are missing: the places around each gap.
fn gaps(dots: &[Dot]) -> Vec<(f64, f64)> {
    let pairs = dots.windows(2).map(|pair| (pair[0].place, pair[1].place));
    let steps: Vec<f64> = pairs.clone().map(|(before, after)| after - before).filter(|step| *step > 0.0).collect();
    let widest = (GAP_STEPS * axis::median(&steps)).max(GAP);
    pairs.filter(|(before, after)| after - before > widest).collect()
}

fn grid(plot: &Plot<'_>, trend: &Trend) -> Drawn {
    let factor = trend.scale.factor;
    let (ticks, decimals) = axis::ticks(plot.values.0 / factor, plot.values.1 / factor);
    let (left, right) = (plot.frame.left * SUBPIXELS, plot.frame.right * SUBPIXELS);
    let mut highest = plot.frame.bottom * SUBPIXELS;
    for tick in &ticks {
        let y = plot.y(tick * factor);
        highest = highest.min(y);
        plot.path(vec![(left, y), (right, y)], Ink::Grid)?;
    }
    for tick in ticks {
        let y = plot.y(tick * factor);
        plot.text(&number::fixed(tick, decimals), (left - 80, y + 40), HPos::Right, Ink::Label)?;
    }
    let above = (plot.frame.text * 12.0) as i32;
    plot.text(trend.scale.symbol, (left - 80, highest - above), HPos::Right, Ink::Label)
}

fn flags(plot: &Plot<'_>, trend: &Trend) -> Drawn {
    let frame = plot.frame;
    let (first_row, second_row) = (26, 44);
    let bounds = (f64::from(frame.left), f64::from(frame.right));
    let rows = [
        (&trend.environments, Ink::Environment, Ink::EnvironmentLabel, second_row),
        (&trend.releases, Ink::Release, Ink::Strong, first_row),
    ];
    for (flags, ink, _, base) in &rows {
        for flag in flags.iter().filter(|flag| plot.shows(flag.place)) {
            let x = plot.x(flag.place);
            plot.path(vec![(x, (base - 10) * SUBPIXELS), (x, frame.bottom * SUBPIXELS)], *ink)?;
        }
    }
    let shown = trend.releases.iter().filter(|flag| plot.shows(flag.place));
    let releases: Vec<f64> = shown.map(|flag| f64::from(plot.x(flag.place)) / f64::from(SUBPIXELS)).collect();
    for (flags, _, label_ink, base) in &rows {
        // The line of a release goes through the row below its own.
        let crossed = if *base == second_row { &releases[..] } else { &[] };
        let mut row = LabelRow::new(bounds, frame.text);
        // The newest come first, for they matter most where there is no room for all.
        for flag in flags.iter().rev().filter(|flag| plot.shows(flag.place)) {
            let x = f64::from(plot.x(flag.place)) / f64::from(SUBPIXELS);
            let Some((at, side)) = row.place_near(x, &flag.label, crossed) else { continue };
            let anchor = if side == Side::Right { HPos::Left } else { HPos::Right };
            let position = ((at * f64::from(SUBPIXELS)) as i32, base * SUBPIXELS);
            plot.text(&flag.label, position, anchor, *label_ink)?;
        }
    }
    Ok(())
}

/// Draws the spread of the dots as bands, each of which ends at a gap and at a change.
fn bands(plot: &Plot<'_>, trend: &Trend, dots: &[Dot], gaps: &[(f64, f64)]) -> Drawn {
    let turns = || trend.fit.iter().flat_map(|fit| &fit.turns).map(|turn| turn.places);
    let mut part: Vec<(i32, i32, i32)> = Vec::new();
    let mut place = f64::NEG_INFINITY;
    for dot in dots {
        let behind_gap = gaps.iter().any(|(_, after)| *after == dot.place && place < *after);
        let is_change = |(begin, end): (f64, f64)| begin == end && place < begin && begin <= dot.place;
        if behind_gap || turns().any(is_change) || dot.interval.is_none() {
            band(plot, &part)?;
            part.clear();
        }
        // An interval that lies outside the range shown belongs to a triangle on the edge.
        if let Some((low, high)) = dot.interval.filter(|(low, high)| *high >= plot.values.0 && *low <= plot.values.1) {
            let (x, low, high) = (plot.x(dot.place), plot.y(low), plot.y(high));
            match part.last_mut() {
                // Two runs of one commit share a place: the band covers both.
                Some(last) if dot.place == place => (last.1, last.2) = (last.1.max(low), last.2.min(high)),
                _ => part.push((x, low, high)),
            }
        }
        place = dot.place;
    }
    band(plot, &part)
}

fn band(plot: &Plot<'_>, part: &[(i32, i32, i32)]) -> Drawn {
    match part {
        [] => Ok(()),
        [(x, low, high)] => plot.path(vec![(*x, *low), (*x, *high)], Ink::Whisker),
        _ => {
            let above = part.iter().map(|(x, _, high)| (*x, *high));
            let below = part.iter().rev().map(|(x, low, _)| (*x, *low));
            plot.area(above.chain(below).collect(), Ink::Band)
        }
    }
}

/// Draws the baseline and the limit; gives the labels they need, each with its coordinate.
fn levels(plot: &Plot<'_>, trend: &Trend) -> Drawn<Vec<(i32, String)>> {
    let mut labels = Vec::new();
    let Some(baseline) = trend.baseline.filter(|value| plot.within(*value)) else { return Ok(labels) };
    let (left, right) = (plot.frame.left * SUBPIXELS, plot.frame.right * SUBPIXELS);
    let y = plot.y(baseline);
    plot.path(vec![(left, y), (right, y)], Ink::Baseline)?;
    labels.push((y, format!("baseline {}", number::value(trend.scale, baseline))));
    if let Some(limit) = trend.limit.filter(|value| plot.within(*value)) {
        let y = plot.y(limit);
        plot.path(vec![(left, y), (right, y)], Ink::Limit)?;
        labels.push((y, format!("limit {}", number::percent(limit / baseline - 1.0))));
    }
    Ok(labels)
}

/// Writes each label on its line where it covers the fewest data.
fn level_labels(plot: &Plot<'_>, trend: &Trend, dots: &[Dot], labels: &[(i32, String)], taken: &Boxes) -> Drawn {
    let unit = f64::from(SUBPIXELS);
    let frame = plot.frame;
    let bounds = (f64::from(frame.left) + 8.0, f64::from(frame.right) - 8.0);
    let mut field = Field::new(bounds, (f64::from(frame.top), f64::from(frame.bottom)), frame.text);
    let inside = dots.iter().filter(|dot| plot.within(dot.value));
    let points: Vec<(f64, f64)> =
        inside.map(|dot| (f64::from(plot.x(dot.place)) / unit, f64::from(plot.y(dot.value)) / unit)).collect();
    // Points on the line between two dots, for a label should not cover that either.
    let between = points.windows(2).flat_map(|pair| {
        [0.2, 0.4, 0.6, 0.8]
            .map(|share| (pair[0].0 + share * (pair[1].0 - pair[0].0), pair[0].1 + share * (pair[1].1 - pair[0].1)))
    });
    field.avoid(between);
    field.avoid(points.iter().copied());
    field.avoid(trend.fit.iter().flat_map(|fit| fitted::along(plot, fit)));
    field.avoid_boxes(taken);
    for (y, _) in labels {
        field.avoid_line(f64::from(*y) / unit);
    }
    for (y, words) in labels {
        let (x, base) = field.place_on(f64::from(*y) / unit, words);
        plot.text(words, ((x * unit) as i32, (base * unit) as i32), HPos::Left, Ink::Halo)?;
    }
    Ok(())
}

fn medians(plot: &Plot<'_>, shown: &Shown, gaps: &[(f64, f64)], is_joined: bool) -> Drawn {
    let frame = plot.frame;
    let inside: Vec<&Dot> = shown.dots.iter().filter(|dot| plot.within(dot.value)).collect();
    let many = shown.dots.len() > MANY;
    if is_joined && !many {
        let mut part: Vec<(i32, i32)> = Vec::new();
        for dot in &inside {
            if gaps.iter().any(|(_, after)| *after == dot.place) {
                plot.path(std::mem::take(&mut part), Ink::Trace)?;
            }
            part.push((plot.x(dot.place), plot.y(dot.value)));
        }
        plot.path(part, Ink::Trace)?;
    }
    for dot in &inside {
        let ink = if many { Ink::ManyDots } else { Ink::Dots };
        plot.dot((plot.x(dot.place), plot.y(dot.value)), 20, ink)?;
    }
    for beyond in &shown.beyond {
        let x = plot.x(beyond.place);
        let (edge, base) = if beyond.is_above {
            (frame.top * SUBPIXELS, frame.top * SUBPIXELS + 70)
        } else {
            (frame.bottom * SUBPIXELS - 10, frame.bottom * SUBPIXELS - 80)
        };
        plot.area(vec![(x - 40, base), (x, edge), (x + 40, base)], Ink::Outside)?;
        plot.text(&beyond.words, (x, base), HPos::Left, Ink::Title)?;
    }
    Ok(())
}

fn newest(plot: &Plot<'_>, trend: &Trend, dot: &Dot) -> Drawn {
    let ink = Ink::end(trend.tone);
    plot.dot((plot.x(dot.place), plot.y(dot.value)), 42, ink)?;
    at_the_end(plot, dot.value, &trend.newest, "newest")
}

/// A value in words at the right end, and what it is.
fn at_the_end(plot: &Plot<'_>, value: f64, words: &str, what: &str) -> Drawn {
    let (right, y) = (plot.frame.right * SUBPIXELS, plot.y(value));
    plot.text(words, (right + 80, y + 10), HPos::Left, Ink::Strong)?;
    plot.text(what, (right + 80, y + 160), HPos::Left, Ink::Label)
}

fn date_axis(plot: &Plot<'_>, trend: &Trend) -> Drawn {
    let frame = plot.frame;
    let bottom = frame.bottom * SUBPIXELS;
    plot.path(vec![(frame.left * SUBPIXELS, bottom), (frame.right * SUBPIXELS, bottom)], Ink::Axis)?;
    let mut free_from = 0.0;
    let mut labels = Vec::new();
    for date in trend.dates.iter().filter(|date| plot.shows(date.place)) {
        let x = plot.x(date.place);
        let half = 0.5 * text_width(&date.label, frame.text);
        let center = f64::from(x) / f64::from(SUBPIXELS);
        if center - half < free_from || center + half > f64::from(frame.width) {
            continue;
        }
        free_from = center + half + frame.text;
        plot.path(vec![(x, bottom), (x, bottom + 50)], Ink::Axis)?;
        labels.push((&date.label, x));
    }
    labels.into_iter().try_for_each(|(label, x)| plot.text(label, (x, bottom + 220), HPos::Center, Ink::Label))
}
