//! What was fitted to a series, in sections: its changes, what it can detect, and distributions around the newest change.

use askama::Template;

use super::event_list::interval;
use super::frame::prelude::*;
use crate::chart::spread::{self, Spread};
use crate::fit::{Fit, FitTurn, why_not_judged};
use crate::mark::{better_word, worse_word};
use crate::text::short_commit;
use sprag_model::{Answer, EventKind, EventState, Metric, Point, Scale, Series, SeriesTrend};

const ROWS: usize = 50;

/// The newest turn in a few words, such as `15.1 % slower since 30 Oct 2026, 2 suspects`; without one, the level.
pub(super) fn story(fit: &Fit<'_>) -> Phrase {
    let metric = &fit.series.metric;
    let points = counted(fit.series.pooled.len(), "point", "points");
    let Some(level) = fit.newest_level() else { return format!("{points}, too few to fit a level").into() };
    let level = number::quantity(metric.unit.scale(level), level);
    if let Some(modes) = fit.present_modes() {
        let [low, high] = [modes.low, modes.high].map(|level| number::quantity(metric.unit.scale(level), level));
        let (word, is) = (super::cell::modes_word(modes), if modes.share.is_some() { "" } else { "between " });
        return Phrase::from(Mark::new(Tone::Doubt, "⇅", word)).text(format!(", {is}{low} and {high}, {points}"));
    }
    let Some(turn) = fit.turns.last() else { return format!("flat at {level}, {points}").into() };
    let size = turn.relative.map_or(String::new(), |relative| percent_size(relative.value) + " ");
    let way = if turn.is_worse(metric) { worse_word(metric) } else { better_word(metric) };
    let drift = if turn.is_drift { "drift, " } else { "" };
    let part = turn.part.map(|(event, _)| event);
    let (tone, doubt) = match part {
        Some(event) if !event.sure => (Tone::Doubt, ", may be chance"),
        _ => (turn.tone(metric), ""),
    };
    let day = |index: usize| fit.series.pooled.get(index).map_or(String::new(), |point| date::day(point.time));
    let when = match turn.is_drift && turn.end < fit.series.pooled.len() {
        true => format!(" from {} to {}", day(turn.begin), day(turn.end.max(1) - 1)),
        false => format!(" since {}", day(turn.begin)),
    };
    let cause = match (turn.facts(), part) {
        _ if turn.is_drift => String::new(),
        (Some(facts), _) => format!(", with {facts}"),
        (None, Some(event)) if event.kind == EventKind::Change && !event.suspects.is_empty() => {
            format!(", {}", counted(event.suspects.len(), "suspect", "suspects"))
        }
        _ => String::new(),
    };
    Phrase::from(Mark::new(tone, turn.glyph(metric), format!("{drift}{size}{way}"))).text(when + &cause + doubt)
}

pub(super) fn turns(catalog: &Catalog<'_>, fit: &Fit<'_>, scale: Scale) -> Section {
    let metric = &fit.series.metric;
    let note = "Numbers as in the chart, newest first. Chance: how often a point of a series without changes gives a change this clear. The false alarms of an event also depend on how many series were examined.";
    let nothing = match fit.newest_level() {
        Some(_) if fit.present_modes().is_some() => "No change and no drift: the levels of the series alternate.",
        Some(_) => "No change and no drift was found in this series.",
        None => "Too few points to find a change.",
    };
    let event = |turn: &FitTurn<'_>| match turn.part {
        Some((event, _)) => Phrase::page_name(catalog.event_page(&event.id), event.id.as_str()),
        None => number::NONE.into(),
    };
    let size = |turn: &FitTurn<'_>| or_none(turn.relative, |relative| number::percent(relative.value));
    let state = |turn: &FitTurn<'_>| {
        let (mark, note) = state(turn, metric);
        Cell::noted(mark, note.into())
    };
    let turns: Vec<(usize, &FitTurn<'_>)> = fit.turns.iter().enumerate().rev().collect();
    Rows::new("Changes and drifts, newest first", turns)
        .first(ROWS)
        .column("No.", "", |(place, _)| (place + 1).to_string())
        .column("Change", "nb", |(_, turn)| Mark::new(turn.tone(metric), turn.glyph(metric), word(turn, metric)))
        .column("At", "nb", |(_, turn)| Phrase::code(at(fit, turn)))
        .column("Range", "any opt", |(_, turn)| range(fit, turn))
        .column(number::column("Before", scale), "n opt2", |(_, turn)| number::value(scale, turn.before))
        .column(number::column("After", scale), "n opt2", |(_, turn)| number::value(scale, turn.after))
        .column("Size", "n push", |(_, turn)| cell::tinted(turn.tone(metric), size(turn)))
        .column("95\u{202f}% interval", "n ci opt2", |(_, turn)| interval(turn.relative.as_ref()))
        .column("Chance", "n opt", |(_, turn)| chance(turn.chance))
        .column("Event", "nb", |(_, turn)| event(turn))
        .column("State", "full", |(_, turn)| state(turn))
        .tint(|(_, turn)| turn.is_open(metric))
        .section("changes", "Changes", note, nothing)
}

/// The first commit at the new level, or the first and the last of a drift.
fn at(fit: &Fit<'_>, turn: &FitTurn<'_>) -> String {
    match turn.is_drift {
        true => format!("{} to {}", fit.commit(turn.begin), fit.commit(turn.end.max(1) - 1)),
        false => fit.commit(turn.begin),
    }
}

fn range(fit: &Fit<'_>, turn: &FitTurn<'_>) -> String {
    if turn.is_drift {
        return counted(turn.end - turn.begin, "point", "points");
    }
    let (first, last) = turn.range;
    let range = (first < last).then(|| format!("{} to {}", fit.commit(first), fit.commit(last)));
    let suspects = turn.part.map(|(event, _)| event.suspects.len()).filter(|count| *count > 0);
    let suspects = suspects.map(|count| counted(count, "suspect", "suspects"));
    let words: Vec<String> = range.into_iter().chain(suspects).collect();
    if words.is_empty() { number::NONE.to_owned() } else { words.join("; ") }
}

fn word(turn: &FitTurn<'_>, metric: &Metric) -> &'static str {
    match (turn.is_of_environment(), turn.is_drift, turn.is_worse(metric)) {
        (true, ..) => "environment",
        (_, true, _) => "drift",
        (_, _, true) => worse_word(metric),
        (_, _, false) => better_word(metric),
    }
}

fn chance(chance: f64) -> String {
    match chance {
        0.0 => "none".to_owned(),
        some if !some.is_finite() || some < 0.0 => number::NONE.to_owned(),
        rare if rare < 1e-9 => format!("less than 1 in {}", number::count(1_000_000_000)),
        some => {
            // A chance is not estimated to more than two digits.
            let many = 1.0 / some.min(1.0);
            let unit = 10f64.powf((many.log10().floor() - 1.0).max(0.0));
            format!("1 in {}", number::count(((many / unit).round() * unit) as usize))
        }
    }
}

fn state(turn: &FitTurn<'_>, metric: &Metric) -> (Mark, String) {
    let Some((event, member)) = turn.part else {
        return (Mark::new(Tone::Plain, number::NONE, "part of no event"), String::new());
    };
    let mut notes = Vec::new();
    let mark = match &event.state {
        EventState::Reverted { by } => {
            notes.push(format!("by {by}"));
            Mark::new(Tone::Plain, "✓", "reverted")
        }
        EventState::Present if !event.sure => Mark::new(Tone::Doubt, "?", "may be chance"),
        EventState::Present if !member.is_present => Mark::new(Tone::Plain, "✓", "gone here"),
        EventState::Present if event.is_accepted() && turn.is_worse(metric) => Mark::new(Tone::Doubt, "◆", "accepted"),
        EventState::Present if turn.is_open(metric) => Mark::new(Tone::Worse, "●", "open"),
        EventState::Present => Mark::new(Tone::Plain, "=", "present"),
    };
    notes.extend(event.answer.as_ref().map(Answer::words));
    notes.extend(turn.facts());
    if member.is_carried {
        notes.push("from an earlier analysis, no longer found in the data alone".to_owned());
    }
    (mark, notes.join("; "))
}

pub(super) fn detectable(series: &SeriesTrend, scale: Scale) -> Section {
    Rows::new("What this series can detect", facts(series, scale))
        .column("", "", |(name, ..)| *name)
        .column("", "n", |(_, figure, _)| figure.clone())
        .column("", "any", |(.., note)| note.clone())
        .section("shows", "What this series can detect", "", "")
        .wide()
        .half()
}

fn facts(series: &SeriesTrend, scale: Scale) -> [(&'static str, String, String); 5] {
    let noise = match &series.noise {
        _ if series.exact => ("none".to_owned(), "equal values wherever a commit was measured again".to_owned()),
        Some(noise) => {
            let figure = match noise.is_relative {
                true => percent_size(noise.deviation),
                false => number::quantity(scale, noise.deviation),
            };
            let note = "of a point about its level".to_owned();
            let note = match series.raw_noise {
                Some(raw) => {
                    format!("{note}; {} with the noise that all series of a run have in common", percent_size(raw))
                }
                None => note,
            };
            match noise.inflation > 1.05 {
                true => {
                    let times = format!("{:.1} times", noise.inflation);
                    (figure, format!("{note}; means move {times} as far as those of independent points"))
                }
                false => (figure, note),
            }
        }
        None => (number::NONE.to_owned(), "too few points".to_owned()),
    };
    let detectable = or_none(series.detectable, |size| format!("±{}", number::detectable(size)));
    let when = match (series.exact, series.detectable) {
        (true, _) => "at once",
        (_, Some(_)) => "in four cases of five, once 8 points are measured after it",
        (_, None) => "too few points",
    };
    let left_out = [(series.dirty, "with uncommitted changes"), (series.elsewhere, "of commits elsewhere")];
    let left_out = left_out.into_iter().filter(|(count, _)| *count > 0);
    let left_out = left_out.map(|(count, what)| format!("{} {what}", counted(count, "run", "runs")));
    let left_out = left_out.collect::<Vec<String>>().join(" and ");
    let points = match left_out.is_empty() {
        true => "one a commit and environment".to_owned(),
        false => format!("one a commit and environment; {left_out} left out"),
    };
    let judged = match series.not_judged.as_slice() {
        [] => ("examined", "a change from now on is reported".to_owned()),
        reasons => ("not examined", reasons.iter().map(why_not_judged).collect::<Vec<String>>().join("; ")),
    };
    [
        ("Noise", noise.0, noise.1),
        ("Minimum detectable effect", detectable, when.to_owned()),
        ("Smallest change reported", percent_size(series.least), format!("sensitivity {}", series.sensitivity)),
        ("Points", number::count(series.points), points),
        ("Newest state", judged.0.to_owned(), judged.1),
    ]
}

/// The points on both sides of the newest turn; nothing where one side has none.
pub(super) fn before_after(fit: &Fit<'_>, scale: Scale) -> Option<Section> {
    let turn = fit.turns.last()?;
    let flats = fit.flats();
    let [.., before, after] = flats.as_slice() else { return None };
    let values = |points: &std::ops::Range<usize>| -> Vec<f64> {
        fit.series.pooled.get(points.clone()).unwrap_or_default().iter().map(|point| point.value).collect()
    };
    let (before, after) = (values(before), values(after));
    if before.is_empty() || after.is_empty() {
        return None;
    }
    let kind = if turn.is_drift { "drift" } else { "change" };
    let heading = format!("Before and after {kind} {}", fit.turns.len());
    let (lower, upper) = (spread::quarters(&before), spread::quarters(&after));
    let apart = if lower.2 < upper.0 || upper.2 < lower.0 { "do not overlap" } else { "overlap" };
    let [a, b] = [lower.1, upper.1].map(|median| number::quantity(scale, median));
    let label = format!("{heading}: medians {a} and {b}, the middle halves {apart}");
    let note = format!(
        "{} before, {} after. Each dot is a point, the bar is the median, the box the middle half; the middle halves {apart}.",
        counted(before.len(), "point", "points"),
        number::count(after.len())
    );
    let picture = Spread { sides: [("before", before), ("after", after)], scale, label };
    Some(Section::new("sides", heading).paragraph(note).drawn(spread::draw(&picture)).half())
}

/// The newest points of a level in its distribution, and the fewest values of each side.
const MOST: usize = 30;
const FEWEST: usize = 2;

#[derive(Template)]
#[template(path = "partials/spread.html")]
struct Newest {
    note: String,
    picture: String,
    column: String,
    /// A figure each, of the level and of the newest commit.
    rows: Vec<(&'static str, [String; 2])>,
}

const FIGURES: [&str; 6] = ["Values", "Lowest", "First quarter", "Median", "Third quarter", "Highest"];

/// None where a single process measured the newest commit, or where no level is fitted.
pub(super) fn distribution(series: &Series, fit: Option<&Fit<'_>>, scale: Scale) -> Option<Section> {
    let newest = at_newest(series, fit, scale)?;
    // Only a formatter that fails could fail.
    let markup = newest.render().unwrap_or_default();
    Some(Section::new("spread", "At the newest commit").paragraph(newest.note).drawn(markup))
}

fn at_newest(series: &Series, fit: Option<&Fit<'_>>, scale: Scale) -> Option<Newest> {
    let fit = fit?;
    let last = fit.series.pooled.last()?;
    let is_of =
        |point: &&Point| point.commit == last.commit && point.environment_key == last.environment_key && !point.dirty;
    let processes: Vec<f64> =
        series.points.iter().filter(is_of).flat_map(|point| point.workers.iter().copied()).collect();
    let flat = fit.flats().pop()?;
    // Runs of the newest commit are points of their own.
    let before = fit.series.pooled.iter().rposition(|point| point.commit != last.commit)? + 1;
    let points = fit.series.pooled.get(flat.start..flat.end.min(before))?;
    let level: Vec<f64> = points.iter().skip(points.len().saturating_sub(MOST)).map(|point| point.value).collect();
    if processes.len() < FEWEST || level.len() < FEWEST {
        return None;
    }
    let (commit, points) = (short_commit(&last.commit), counted(level.len(), "point", "points"));
    let measured = counted(processes.len(), "process", "processes");
    let note = format!("What {measured} measured at {commit}, and {points} of its level before it.");
    let median = |values: &[f64]| number::quantity(scale, spread::quarters(values).1);
    let label = format!("{note} Medians: level {}, newest {}", median(&level), median(&processes));
    let (of_level, of_newest) = (figures(&level, scale), figures(&processes, scale));
    let rows = FIGURES.into_iter().zip(of_level.into_iter().zip(of_newest)).map(|(name, (a, b))| (name, [a, b]));
    Some(Newest {
        note,
        column: number::column("Figure", scale),
        rows: rows.collect(),
        picture: spread::draw(&Spread { sides: [("level", level), ("newest", processes)], scale, label }),
    })
}

fn figures(values: &[f64], scale: Scale) -> [String; 6] {
    let (first, median, third) = spread::quarters(values);
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let value = |value: f64| number::value(scale, value);
    [number::count(values.len()), value(lowest), value(first), value(median), value(third), value(highest)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::example::{change, drift, event, series};
    use crate::number::NARROW;
    use crate::sample_data;
    use sprag_model::{Event, EventKind, NotJudged};

    #[test]
    fn a_change_says_whether_it_is_still_present() {
        let check = |change_of: &dyn Fn(&mut Event), expected: (&str, &str)| {
            let mut event = event(EventKind::Change, 20);
            change_of(&mut event);
            let one = series(1.0, 40, vec![change(20, 1.0, 1.2)], vec![]);
            let (mark, note) = state(&Fit::new(&one, &[(&event, &event.members[0])]).turns[0], &one.metric);
            assert_eq!((&*format!("{} {}", mark.glyph, mark.word), &*note), expected);
        };
        check(&|_| (), ("● open", ""));
        check(&|one| one.sure = false, ("? may be chance", ""));
        check(&|one| one.kind = EventKind::Environment, ("= present", ""));
        check(&|one| one.members[0].is_present = false, ("✓ gone here", ""));
        check(&|one| one.state = EventState::Reverted { by: "e-1".to_owned() }, ("✓ reverted", "by e-1"));
        let earlier = "from an earlier analysis, no longer found in the data alone";
        check(&|one| one.members[0].is_carried = true, ("● open", earlier));
    }

    #[test]
    fn chances_are_one_in_so_many() {
        let chances = [0.0, 1e-12, 2e-4, 1.0 / 7_076_491.0, 0.3, 1.0, f64::NAN];
        let words = chances.map(|value| chance(value).replace(NARROW, " "));
        assert_eq!(words.join("|"), "none|less than 1 in 1 000 000 000|1 in 5 000|1 in 7 100 000|1 in 3|1 in 1|–");
    }

    #[test]
    fn the_newest_turn_has_its_points_on_both_sides() {
        let scale = Metric::time().unit.scale(1.0);
        let of = |count: usize, drifts| {
            let one = series(1.0, count, vec![change(20, 1.0, 1.2)], drifts);
            before_after(&Fit::new(&one, &[]), scale).map(|section| (section.heading.words(), section.prose()))
        };
        let (heading, note) = of(32, vec![]).expect("both sides have points");
        assert_eq!(heading, "Before and after change 1");
        assert!(note.starts_with("20 points before, 12 after.") && note.ends_with("halves do not overlap."), "{note}");
        let (heading, note) = of(40, vec![drift(24, 36, 1.2, 1.3)]).expect("both sides have points");
        assert!(heading.ends_with("drift 2") && note.starts_with("4 points before, 4 after."), "{heading}: {note}");
        assert_eq!(of(40, vec![drift(24, 40, 1.2, 1.3)]), None, "a drift that goes on has nothing after it");
    }

    #[test]
    fn a_series_says_what_it_can_detect() {
        let scale = Metric::time().unit.scale(1.0);
        let mut one = series(1.0, 40, vec![], vec![]);
        let of = |one: &SeriesTrend| -> Vec<String> {
            let facts = facts(one, scale).into_iter();
            facts.map(|(name, figure, note)| format!("{name}: {figure} ({note})").replace(NARROW, " ")).collect()
        };
        let expected = [
            "Noise: 0.8 % (of a point about its level)",
            "Minimum detectable effect: ±2.5 % (in four cases of five, once 8 points are measured after it)",
            "Smallest change reported: 1.0 % (sensitivity balanced)",
            "Points: 40 (one a commit and environment)",
            "Newest state: examined (a change from now on is reported)",
        ];
        assert_eq!(of(&one), expected);
        one.not_judged = vec![NotJudged::TooShort { points: 3, needed: 8 }, NotJudged::NoCommit];
        (one.dirty, one.noise, one.detectable) = (2, None, None);
        let result = of(&one);
        assert_eq!(result[0], "Noise: – (too few points)");
        assert!(result[3].ends_with("2 runs with uncommitted changes left out)"), "{result:?}");
        let none = "none of its runs is of a commit that is known";
        assert_eq!(result[4], format!("Newest state: not examined (it has 3 points, and 8 are needed; {none})"));
        (one.exact, one.detectable) = (true, Some(0.01));
        assert!(of(&one)[0].starts_with("Noise: none") && of(&one)[1].ends_with("±1.0 % (at once)"));
    }

    #[test]
    fn the_newest_commit_is_shown_with_its_level_where_several_processes_measured_it() {
        let trend = series(1.0, 40, vec![change(30, 1.0, 1.2)], vec![]);
        let fit = Fit::new(&trend, &[]);
        let scale = trend.metric.unit.scale(1.0);
        let mut of = sample_data::rich().analysis.series[0].series.clone();
        let last = trend.pooled.last().expect("it has points");
        of.points.truncate(1);
        of.points[0].of = last.first.clone();
        of.points[0].workers = [1.2, 1.21, 1.22, 1.23, 1.24].into();
        let newest = at_newest(&of, Some(&fit), scale).expect("it has both");
        assert!(newest.note.starts_with("What 5 processes measured at "), "{}", newest.note);
        assert!(newest.note.contains("and 9 points"), "{}", newest.note);
        let row = |place: usize| (newest.rows[place].0, &*newest.rows[place].1[1]);
        assert_eq!([row(0), row(1), row(3)], [("Values", "5"), ("Lowest", "1.200"), ("Median", "1.220")]);
        assert!(
            newest.picture.contains(">newest<") && newest.picture.contains("Medians: level "),
            "{}",
            newest.picture
        );
        of.points[0].workers = [1.2].into();
        assert!(at_newest(&of, Some(&fit), scale).is_none() && at_newest(&of, None, scale).is_none());
        let empty = series(1.0, 0, vec![], vec![]);
        assert!(at_newest(&of, Some(&Fit::new(&empty, &[])), scale).is_none());
    }
}
