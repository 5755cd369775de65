//! The trend of a series: its levels and their changes over one dot a run in commit order, the spread of each as a band,
//! and what it is compared with.
//!
//! A value outside the range becomes a triangle on the edge; the range follows the running median, so that one bad run does not
//! flatten the rest. Of many runs several share a dot.

use super::axis;
use super::fitted;
use super::labels::{Area, Field, LabelRow, LevelLabel, text_width};
use super::svg::{Anchor, At, Svg, rectangle};
use super::trend::{BOTTOM, Dot, Flag, HEIGHT, LEFT, POINTS, Plot, RIGHT, TEXT, TOP, TrendPlot, WIDTH, units};
use crate::mark::Tone;
use crate::number;
use crate::text::short_commit;

/// The base lines of the labels of releases and of environments.
const RELEASE_ROW: i32 = 26;
const ENVIRONMENT_ROW: i32 = 44;

/// Lines of releases nearer to a newer one are left out, in tenths of a unit: of up to so many, and of more, which would be a wall.
const CLOSEST_FLAGS: [i32; 2] = [50, 900];
const MANY_FLAGS: usize = 40;

/// So many runs have a dot each; of more several share one, about [`POOLED`] in all. The script draws parts in full.
const SINGLE: usize = 200;
const POOLED: usize = 125;

/// Above so many dots they are small and no line joins them.
const MANY: usize = 150;

/// A gap has at least so many missing commits, and so many times the usual distance.
const GAP: f64 = 4.0;
const GAP_STEPS: f64 = 3.0;

pub fn draw(trend: &TrendPlot) -> String {
    if trend.dots.is_empty() {
        return String::new();
    }
    let plot = Plot::new(trend);
    let mut svg = Svg::new(WIDTH, HEIGHT);
    if runs_a_dot(trend.dots.len()) > 1 {
        svg = svg.without_tenths();
    }
    layers(&plot, &mut svg);
    let picture = svg.captioned("fill wide", ["trend", &trend.title, &trend.description]);
    // For the script: the table of points, the places and values at the edges of the area, and the edges.
    let (first, last) = plot.places;
    let (low, high) = plot.values;
    let data = format!(
        "data-places=\"{first} {last}\" data-values=\"{low:.5e} {high:.5e}\" data-area=\"{LEFT} {RIGHT} {TOP} {BOTTOM}\""
    );
    let picture = picture.replacen("<svg ", &format!("<svg data-points=\"{POINTS}\" {data} "), 1);
    // The first texts that end at their places are those of the axis, which a narrow window shows next to the rest.
    picture.replacen("<g text-anchor", "<g id=\"trend-y\" text-anchor", 1)
}

/// How many runs share a dot at most, of a series with so many.
pub fn runs_a_dot(runs: usize) -> usize {
    if runs <= SINGLE { 1 } else { runs.div_ceil(POOLED) }
}

fn gaps(dots: &[Dot]) -> Vec<(f64, f64)> {
    let pairs = dots.windows(2).map(|pair| (pair[0].place, pair[1].place));
    let steps: Vec<f64> = pairs.clone().map(|(before, after)| after - before).filter(|step| *step > 0.0).collect();
    let widest = (GAP_STEPS * axis::median(&steps)).max(GAP);
    pairs.filter(|(before, after)| after - before > widest).collect()
}

/// Dots of so many runs at most: of several the median, the lowest and the highest, at the place of the middle one.
pub fn pooled(trend: &TrendPlot, most: usize) -> Vec<Dot> {
    let dot = |runs: &[Dot]| match runs {
        [one] => one.clone(),
        _ => {
            let values: Vec<f64> = runs.iter().map(|dot| dot.value).collect();
            let interval = Some(axis::extent(&values));
            Dot { value: axis::median(&values), interval, ..runs[runs.len() / 2].clone() }
        }
    };
    groups(trend, most).into_iter().map(dot).collect()
}

/// The runs that share a dot: none with a change between them.
fn groups(trend: &TrendPlot, most: usize) -> Vec<&[Dot]> {
    let dots = &trend.dots;
    let is_turn_between = |one: &Dot, other: &Dot| {
        let mut turns = trend.fit.iter().flat_map(|fit| &fit.turns);
        turns.any(|turn| one.place < turn.places.0 && turn.places.0 <= other.place)
    };
    let mut groups = Vec::new();
    let mut begin = 0;
    for at in 1..=dots.len() {
        if at == dots.len() || at - begin == most || is_turn_between(&dots[at - 1], &dots[at]) {
            groups.push(&dots[begin..at]);
            begin = at;
        }
    }
    groups
}

fn layers(plot: &Plot<'_>, svg: &mut Svg) {
    let trend = plot.trend;
    let groups = groups(trend, runs_a_dot(trend.dots.len()));
    let pooled: Vec<Dot>;
    let dots = if runs_a_dot(trend.dots.len()) == 1 {
        &trend.dots
    } else {
        pooled = groups.iter().filter_map(|group| pooled_dot(plot, group)).collect();
        &pooled
    };
    let gaps = gaps(&trend.dots);
    for (before, after) in &gaps {
        svg.area("gap", rectangle((plot.x(*before), plot.x(*after)), (10 * TOP, 10 * BOTTOM)));
    }
    grid(plot, svg);
    flags(plot, svg);
    if let Some(fit) = &trend.fit {
        fitted::suspects(plot, fit, svg);
    }
    bands(plot, dots, &gaps, svg);
    let labels = levels(plot, svg);
    medians(plot, dots, &gaps, svg);
    for group in groups {
        beyond(plot, group, true, svg);
        beyond(plot, group, false, svg);
    }
    let mut taken = Vec::new();
    if let Some(fit) = &trend.fit {
        fitted::lines(plot, fit, svg);
        taken = fitted::labels(plot, fit, svg);
    }
    level_labels(plot, dots, labels, taken, svg);
    match trend.fit.as_ref().and_then(|fit| Some((fit, fit.lines.last()?))) {
        Some((fit, line)) => at_the_end(plot, line.values.1, &fit.newest, "now", svg),
        None => {
            let newest = &trend.dots[trend.dots.len() - 1];
            svg.circle(end_class(trend.tone), plot.at(newest), 42);
            at_the_end(plot, newest.value, &trend.newest, "newest", svg);
        }
    }
    date_axis(plot, svg);
}

pub(super) fn end_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Worse => "end worse",
        Tone::Better => "end better",
        Tone::Environment | Tone::Doubt | Tone::Plain => "end",
    }
}

fn pooled_dot(plot: &Plot<'_>, group: &[Dot]) -> Option<Dot> {
    let inside: Vec<&Dot> = group.iter().filter(|dot| plot.within(dot.value)).collect();
    let (first, last) = (inside.first()?, inside.last()?);
    let values: Vec<f64> = inside.iter().map(|dot| dot.value).collect();
    Some(Dot {
        place: f64::midpoint(first.place, last.place),
        value: axis::median(&values),
        interval: Some(axis::extent(&values)),
        commit: last.commit.clone(),
    })
}

fn beyond(plot: &Plot<'_>, group: &[Dot], is_above: bool, svg: &mut Svg) {
    let is_beyond = |dot: &&Dot| if is_above { dot.value > plot.values.1 } else { dot.value < plot.values.0 };
    let all: Vec<&Dot> = group.iter().filter(is_beyond).collect();
    let farthest =
        all.iter().copied().reduce(|one, other| if (other.value > one.value) == is_above { other } else { one });
    let Some(farthest) = farthest else { return };
    let mut words = number::quantity(plot.trend.scale, farthest.value);
    if !farthest.commit.is_empty() {
        words += &format!(" at {}", short_commit(&farthest.commit));
    }
    let way = if is_above { "above" } else { "below" };
    let words = match all.len() {
        1 => format!("{words}, {way} the scale"),
        count => format!("{count} runs {way} the scale, the farthest {words}"),
    };
    let x = plot.x(farthest.place);
    let (edge, base) = if is_above { (10 * TOP, 10 * TOP + 70) } else { (10 * BOTTOM - 10, 10 * BOTTOM - 80) };
    svg.area("out", [(x - 40, base), (x, edge), (x + 40, base)]);
    svg.title(&words);
}

fn grid(plot: &Plot<'_>, svg: &mut Svg) {
    let factor = plot.trend.scale.factor;
    let (ticks, decimals) = axis::ticks(plot.values.0 / factor, plot.values.1 / factor);
    let ticks: Vec<(f64, i32)> = ticks.into_iter().map(|tick| (tick, plot.y(tick * factor))).collect();
    for (_, y) in &ticks {
        svg.stroke("grid", [(10 * LEFT, *y), (10 * RIGHT, *y)]);
    }
    for (tick, y) in &ticks {
        svg.text("", &number::fixed(*tick, decimals), (10 * LEFT - 80, y + 40), Anchor::End);
    }
    let highest = ticks.iter().map(|(_, y)| *y).fold(10 * BOTTOM, i32::min);
    let above = (TEXT * 12.0) as i32;
    svg.text("", plot.trend.scale.symbol, (10 * LEFT - 80, highest - above), Anchor::End);
}

fn flags(plot: &Plot<'_>, svg: &mut Svg) {
    let trend = plot.trend;
    let rows = [
        (&trend.environments, "envl", "halo env", ENVIRONMENT_ROW),
        (&trend.releases, "rel", "halo strong", RELEASE_ROW),
    ];
    // The newest come first, for they matter most where there is no room for all.
    let rows = rows.map(|(flags, line, class, base)| {
        let mut shown: Vec<(i32, &Flag)> = Vec::new();
        for flag in flags.iter().rev().filter(|flag| plot.shows(flag.place)) {
            let x = plot.x(flag.place);
            if shown.last().is_none_or(|(last, _)| last - x >= CLOSEST_FLAGS[usize::from(flags.len() > MANY_FLAGS)]) {
                shown.push((x, flag));
            }
        }
        (shown, line, class, base)
    });
    for (flags, line, _, base) in &rows {
        flags.iter().rev().for_each(|(x, _)| svg.stroke(line, [(*x, 10 * (base - 10)), (*x, 10 * BOTTOM)]));
    }
    let releases: Vec<f64> = rows[1].0.iter().map(|(x, _)| units(*x)).collect();
    for (flags, _, class, base) in rows {
        // The line of a release goes through the row below its own.
        let crossed = if base == ENVIRONMENT_ROW { &releases[..] } else { &[] };
        let mut row = LabelRow::new((f64::from(LEFT), f64::from(RIGHT)), TEXT);
        for (x, flag) in flags {
            if let Some((at, anchor)) = row.place_near(units(x), &flag.label, crossed) {
                svg.text(class, &flag.label, ((at * 10.0) as i32, 10 * base), anchor);
            }
        }
    }
}

/// Draws the spread of the dots as bands, which end at gaps and changes; a stroke on the edge marks one that goes on beyond it.
fn bands(plot: &Plot<'_>, dots: &[Dot], gaps: &[(f64, f64)], svg: &mut Svg) {
    let turns = || plot.trend.fit.iter().flat_map(|fit| &fit.turns).map(|turn| turn.places);
    let mut part: Vec<(i32, i32, i32)> = Vec::new();
    let mut place = f64::NEG_INFINITY;
    let mut cut = Vec::new();
    for dot in dots {
        let behind_gap = gaps.iter().any(|(_, after)| *after == dot.place && place < *after);
        let is_change = |(begin, end): (f64, f64)| begin == end && place < begin && begin <= dot.place;
        if behind_gap || turns().any(is_change) || dot.interval.is_none() {
            band(&part, svg);
            part.clear();
        }
        // An interval outside the range shown belongs to a triangle on the edge.
        if let Some((low, high)) = dot.interval.filter(|(low, high)| *high >= plot.values.0 && *low <= plot.values.1) {
            cut.extend((high > plot.values.1).then(|| (plot.x(dot.place), 10 * TOP)));
            cut.extend((low < plot.values.0).then(|| (plot.x(dot.place), 10 * BOTTOM)));
            let (x, low, high) = (plot.x(dot.place), plot.y(low), plot.y(high));
            match part.last_mut() {
                // Two runs of one commit share a place: the band covers both.
                Some(last) if dot.place == place => (last.1, last.2) = (last.1.max(low), last.2.min(high)),
                _ => part.push((x, low, high)),
            }
        }
        place = dot.place;
    }
    band(&part, svg);
    for (x, edge) in cut {
        svg.stroke("cut", [(x - 30, edge), (x + 30, edge)]);
    }
}

fn band(part: &[(i32, i32, i32)], svg: &mut Svg) {
    if let [(x, low, high)] = part {
        return svg.line("whisker", [(*x, *low), (*x, *high)]);
    }
    let above = part.iter().map(|(x, _, high)| (*x, *high));
    svg.area("band", above.chain(part.iter().rev().map(|(x, low, _)| (*x, *low))));
}

/// Draws the baseline and the limit; returns their labels.
fn levels(plot: &Plot<'_>, svg: &mut Svg) -> Vec<LevelLabel> {
    let trend = plot.trend;
    let Some(baseline) = trend.baseline.filter(|value| plot.within(*value)) else { return Vec::new() };
    let y = plot.y(baseline);
    svg.line("base", [(10 * LEFT, y), (10 * RIGHT, y)]);
    let across = (f64::from(LEFT) + 8.0, f64::from(RIGHT) - 8.0);
    let label = |y: i32, words: String| LevelLabel { class: "halo", y: units(y), across, words };
    let mut labels = vec![label(y, format!("baseline {}", number::value(trend.scale, baseline)))];
    if let Some(limit) = trend.limit.filter(|value| plot.within(*value)) {
        let y = plot.y(limit);
        svg.line("limit", [(10 * LEFT, y), (10 * RIGHT, y)]);
        labels.push(label(y, format!("limit {}", number::percent(limit / baseline - 1.0))));
    }
    labels
}

/// Writes each label on its line where it covers the fewest data.
fn level_labels(plot: &Plot<'_>, dots: &[Dot], limits: Vec<LevelLabel>, taken: Vec<Area>, svg: &mut Svg) {
    let inside = dots.iter().filter(|dot| plot.within(dot.value));
    let mut points: Vec<(f64, f64)> = inside.map(|dot| (units(plot.x(dot.place)), units(plot.y(dot.value)))).collect();
    // Points on the line between two dots, for a label should not cover that either.
    let on_line = |pair: &[(f64, f64)], share: f64| {
        (pair[0].0 + share * (pair[1].0 - pair[0].0), pair[0].1 + share * (pair[1].1 - pair[0].1))
    };
    let between: Vec<(f64, f64)> =
        points.windows(2).flat_map(|pair| [0.2, 0.4, 0.6, 0.8].map(|share| on_line(pair, share))).collect();
    points.extend(between);
    points.extend(plot.trend.fit.iter().flat_map(|fit| fitted::along(plot, fit)));
    let flags = plot.trend.releases.iter().chain(&plot.trend.environments);
    let mut field = Field {
        down: (f64::from(TOP), f64::from(BOTTOM)),
        size: TEXT,
        points,
        lines: limits.iter().map(|label| label.y).collect(),
        columns: flags.filter(|flag| plot.shows(flag.place)).map(|flag| units(plot.x(flag.place))).collect(),
        taken,
    };
    let fitted = plot.trend.fit.iter().flat_map(|fit| fitted::levels(plot, fit));
    for label in fitted.chain(limits) {
        if let Some((x, base)) = field.place(&label) {
            svg.text(label.class, &label.words, ((x * 10.0) as i32, (base * 10.0) as i32), Anchor::Start);
        }
    }
}

fn medians(plot: &Plot<'_>, dots: &[Dot], gaps: &[(f64, f64)], svg: &mut Svg) {
    let inside: Vec<&Dot> = dots.iter().filter(|dot| plot.within(dot.value)).collect();
    let many = dots.len() > MANY;
    if plot.trend.fit.is_none() && !many {
        let mut part: Vec<At> = Vec::new();
        for dot in &inside {
            if gaps.iter().any(|(_, after)| *after == dot.place) {
                svg.line("trace", std::mem::take(&mut part));
            }
            part.push(plot.at(dot));
        }
        svg.line("trace", part);
    }
    for dot in &inside {
        svg.dot(if many { "dots many" } else { "dots" }, plot.at(dot));
    }
}

fn at_the_end(plot: &Plot<'_>, value: f64, words: &str, what: &str, svg: &mut Svg) {
    let (right, y) = (10 * RIGHT, plot.y(value));
    svg.text("halo strong", words, (right + 80, y + 10), Anchor::Start);
    svg.text("", what, (right + 80, y + 160), Anchor::Start);
}

fn date_axis(plot: &Plot<'_>, svg: &mut Svg) {
    let bottom = 10 * BOTTOM;
    svg.stroke("axis", [(10 * LEFT, bottom), (10 * RIGHT, bottom)]);
    let mut free_from = 0.0;
    let mut labels = Vec::new();
    for date in plot.trend.dates.iter().filter(|date| plot.shows(date.place)) {
        let x = plot.x(date.place);
        let half = 0.5 * text_width(&date.label, TEXT);
        let center = units(x);
        if center - half < free_from || center + half > f64::from(WIDTH) {
            continue;
        }
        free_from = center + half + TEXT;
        svg.stroke("axis", [(x, bottom), (x, bottom + 50)]);
        labels.push((&date.label, x));
    }
    for (label, x) in labels {
        svg.text("", label, (x, bottom + 220), Anchor::Middle);
    }
}

#[cfg(test)]
mod tests {
    use super::super::trend::example;
    use super::*;

    fn trend(values: &[f64]) -> TrendPlot {
        let flag = |place: f64, label: &str| Flag { place, label: label.to_owned() };
        TrendPlot {
            baseline: Some(1e-3),
            limit: Some(1.05e-3),
            releases: vec![flag(1.0, "v1 & <2>")],
            environments: vec![flag(2.5, "compiler 1.90 → 1.91")],
            dates: vec![flag(0.0, "Mar 2026"), flag(2.0, "Apr")],
            ..example(values)
        }
    }

    #[test]
    fn a_trend_is_drawn_in_classes() {
        insta::assert_snapshot!(draw(&trend(&[1e-3, 1.01e-3, 9e-3, 1e-3, 1.002e-3])));
    }

    #[test]
    fn runs_share_dots_where_there_are_many() {
        for (runs, dots) in [(1, 1), (200, 200), (201, 101), (1_000, 125), (2_000, 125)] {
            let values: Vec<f64> = (0..runs).map(|i| 1e-3 * (1.0 + f64::from(i % 5) * 0.002)).collect();
            assert_eq!(draw(&trend(&values)).matches("h0").count(), dots, "{runs} runs");
        }
    }

    #[test]
    fn a_pooled_dot_is_the_median_of_its_runs_with_their_extent() {
        let trend = trend(&[1.0, 5.0, 2.0, 9.0, 3.0]);
        let dots: Vec<_> = pooled(&trend, 3).into_iter().map(|dot| (dot.place, dot.value, dot.interval)).collect();
        assert_eq!(dots, [(1.0, 2.0, Some((1.0, 5.0))), (4.0, 6.0, Some((3.0, 9.0)))]);
        assert_eq!(pooled(&trend, 1), trend.dots);
    }

    #[test]
    fn a_dot_of_many_runs_is_on_one_side_of_a_change() {
        let trend = fitted::example(&[1.0e-3, 1.3e-3, 1.1e-3], 333);
        let dots = draw(&trend).matches("h0").count();
        assert!((125..=128).contains(&dots), "{dots}");
        for group in groups(&trend, runs_a_dot(trend.dots.len())) {
            let (low, high) = axis::extent(&group.iter().map(|dot| dot.value).collect::<Vec<f64>>());
            assert!(high < 1.1 * low, "{group:?} mixes two levels");
        }
    }

    #[test]
    fn what_is_outside_the_scale_says_its_value_and_commit() {
        for runs in [20, 190, 2_000] {
            let mut values: Vec<f64> = (0..runs).map(|i| 1e-3 * (1.0 + f64::from(i % 5) * 0.002)).collect();
            (values[7], values[15]) = (9e-3, 1e-6);
            let svg = draw(&trend(&values));
            let title = |rest: &str| Some(rest.split_once("<title>")?.1.split_once("</title></path>")?.0.to_owned());
            let titles: Vec<String> = svg.split("<path class=\"out\"").skip(1).filter_map(title).collect();
            assert_eq!(titles.len(), 2, "{runs} runs: {svg}");
            assert_eq!(titles[0], "9.000\u{202f}ms at a3f19c2, above the scale");
            assert!(titles[1].ends_with("ms at a3f19c2, below the scale"), "{titles:?}");
        }
    }

    #[test]
    fn odd_series_are_drawn_too() {
        for values in [&[0.0][..], &[1e-3], &[5.0, 5.0], &[-1.0, 1.0], &[1e-300, 1e300]] {
            let svg = draw(&trend(values));
            assert!(svg.ends_with("</svg>") && !svg.contains("NaN"), "{values:?}: {svg}");
        }
        let axis = "<g id=\"trend-y\" text-anchor=\"end\"><text x=\"50\"";
        for values in [&[1.0][..], &[1e-3, 1.01e-3], &[-1.0, 1.0]] {
            assert!(draw(&trend(values)).contains(axis), "the axis has an id: {values:?}");
        }
        assert_eq!(draw(&trend(&[])), "");
    }
}
