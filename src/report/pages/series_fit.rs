//! What was fitted to a series, in sections: its changes, what it can detect, and its points before and after the newest change.

use super::cell;
use super::event_list::interval;
use crate::catalog::Catalog;
use crate::chart::spread::{self, Spread};
use crate::fit::{Fit, Turn, What, why_not_judged};
use crate::mark::{Mark, Tone, better_word, worse_word};
use crate::number::{self, counted};
use crate::phrase::Phrase;
use crate::sheet::{Cell, Rows, Section};
use sprag_model::event::EventState;
use sprag_model::ledger::answer::Answer;
use sprag_model::metric::Metric;
use sprag_model::trend::SeriesTrend;
use sprag_model::unit::Scale;

const ROWS: usize = 50;

pub(super) fn turns(catalog: &Catalog<'_>, fit: &Fit<'_>, scale: Scale) -> Section {
    let metric = &fit.series.metric;
    let note = "Numbers as in the chart, newest first. Chance: how often a point of a series without changes gives a change this clear.";
    let nothing = match fit.newest_level() {
        Some(_) => "No change and no drift was found in this series.",
        None => "Too few points to find a change.",
    };
    let event = |turn: &Turn<'_>| match turn.part {
        Some((event, _)) => Phrase::page_name(catalog.event_page(&event.id), event.id.as_str()),
        None => number::NONE.into(),
    };
    let size = |turn: &Turn<'_>| cell::or_none(turn.relative(), |relative| number::percent(relative.value));
    let state = |turn: &Turn<'_>| {
        let (mark, note) = state(turn, metric);
        Cell::noted(mark, note.into())
    };
    let turns: Vec<(usize, &Turn<'_>)> = fit.turns.iter().enumerate().rev().collect();
    Rows::new("Changes and drifts, newest first", turns)
        .first(ROWS)
        .column("No.", "", |(place, _)| (place + 1).to_string())
        .column("Change", "nb", |(_, turn)| Mark::new(turn.tone(metric), turn.glyph(), word(turn, metric)))
        .column("At", "nb", |(_, turn)| Phrase::code(at(fit, turn)))
        .column("Range", "any opt", |(_, turn)| range(fit, turn))
        .column(number::column("Before", scale), "n opt2", |(_, turn)| number::value(scale, turn.what.before()))
        .column(number::column("After", scale), "n opt2", |(_, turn)| number::value(scale, turn.what.after()))
        .column("Size", "n push", |(_, turn)| cell::tinted(turn.tone(metric), size(turn)))
        .column("95\u{202f}% interval", "n ci opt2", |(_, turn)| interval(turn.relative().as_ref()))
        .column("Chance", "n opt", |(_, turn)| chance(turn.chance()))
        .column("Event", "nb", |(_, turn)| event(turn))
        .column("State", "full", |(_, turn)| state(turn))
        .tint(|(_, turn)| turn.is_open(metric))
        .section("changes", "Changes", note, nothing)
}

/// The first commit at the new level, or where a drift begins and ends.
fn at(fit: &Fit<'_>, turn: &Turn<'_>) -> String {
    match turn.what {
        What::Change(change) => fit.commit(change.index),
        What::Drift(drift) => format!("{} to {}", fit.commit(drift.begin), fit.commit(drift.end.max(1) - 1)),
    }
}

fn range(fit: &Fit<'_>, turn: &Turn<'_>) -> String {
    let range = match turn.what {
        What::Change(change) if change.first < change.last => {
            Some(format!("{} to {}", fit.commit(change.first), fit.commit(change.last)))
        }
        What::Change(_) => None,
        What::Drift(drift) => Some(counted(drift.end - drift.begin, "point", "points")),
    };
    let suspects = turn.part.map(|(event, _)| event.suspects.len()).filter(|count| *count > 0 && !turn.what.is_drift());
    let suspects = suspects.map(|count| counted(count, "suspect", "suspects"));
    let words: Vec<String> = range.into_iter().chain(suspects).collect();
    if words.is_empty() { number::NONE.to_owned() } else { words.join("; ") }
}

fn word(turn: &Turn<'_>, metric: &Metric) -> &'static str {
    match (turn.is_of_environment(), turn.what.is_drift(), turn.is_worse(metric)) {
        (true, ..) => "environment",
        (_, true, _) => "drift",
        (_, _, true) => worse_word(metric),
        (_, _, false) => better_word(metric),
    }
}

/// A chance as one in so many.
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

fn state(turn: &Turn<'_>, metric: &Metric) -> (Mark, String) {
    let Some((event, member)) = turn.part else {
        return (Mark::new(Tone::Plain, number::NONE, "part of no event"), String::new());
    };
    let mut notes = Vec::new();
    let mark = match &event.state {
        EventState::TakenBack { by } => {
            notes.push(format!("by {by}"));
            Mark::new(Tone::Plain, "✓", "reverted")
        }
        EventState::Standing if !event.sure => Mark::new(Tone::Doubt, "?", "may be chance"),
        EventState::Standing if !member.standing => Mark::new(Tone::Plain, "✓", "gone here"),
        EventState::Standing if event.is_accepted() && turn.is_worse(metric) => Mark::new(Tone::Doubt, "◆", "accepted"),
        EventState::Standing if turn.is_open(metric) => Mark::new(Tone::Worse, "●", "open"),
        EventState::Standing => Mark::new(Tone::Plain, "=", "present"),
    };
    notes.extend(event.answer.as_ref().map(Answer::words));
    notes.extend(turn.facts());
    if member.held {
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

/// A name, a figure and a note each.
fn facts(series: &SeriesTrend, scale: Scale) -> [(&'static str, String, String); 5] {
    let noise = match &series.noise {
        _ if series.exact => ("none".to_owned(), "equal values wherever a commit was measured again".to_owned()),
        Some(noise) => {
            let figure = match noise.is_relative {
                true => number::percent_size(noise.deviation),
                false => number::quantity(scale, noise.deviation),
            };
            let note = "of a point about its level".to_owned();
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
    let detectable = cell::or_none(series.detectable, |size| format!("±{}", number::detectable(size)));
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
        [] => ("judged", "a change from now on is reported".to_owned()),
        reasons => ("not judged", reasons.iter().map(why_not_judged).collect::<Vec<String>>().join("; ")),
    };
    [
        ("Noise", noise.0, noise.1),
        ("Minimum detectable effect", detectable, when.to_owned()),
        ("Smallest change reported", number::percent_size(series.least), format!("sensitivity {}", series.sensitivity)),
        ("Points", number::count(series.points), points),
        ("Newest state", judged.0.to_owned(), judged.1),
    ]
}

/// The points on both sides of the newest turn, where both have some.
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
    let kind = if turn.what.is_drift() { "drift" } else { "change" };
    let heading = format!("Before and after {kind} {}", fit.turns.len());
    let (lower, upper) = (spread::quarters(&before), spread::quarters(&after));
    let apart = if lower.2 < upper.0 || upper.2 < lower.0 { "do not overlap" } else { "overlap" };
    let label = format!(
        "{heading}: medians {} and {}, the middle halves {apart}",
        number::quantity(scale, lower.1),
        number::quantity(scale, upper.1)
    );
    let note = format!(
        "{} before, {} after. Each dot is a point, the bar is the median, the box the middle half; the middle halves {apart}.",
        counted(before.len(), "point", "points"),
        number::count(after.len())
    );
    let picture = Spread { sides: [("before", before), ("after", after)], scale, label };
    Some(Section::new("sides", heading).paragraph(note).drawn(picture.to_string()).half())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::example::{change, drift, event, series};
    use crate::number::NARROW;
    use sprag_model::event::{Event, EventKind};
    use sprag_model::trend::NotJudged;

    fn state_of(event: &Event) -> (String, String) {
        let one = series(1.0, 40, vec![change(20, 1.0, 1.2)], vec![]);
        let fit = Fit::new(&one, &[(event, &event.members[0])]).turns[0];
        let (mark, note) = state(&fit, &one.metric);
        (format!("{} {}", mark.glyph, mark.word), note)
    }

    #[test]
    fn a_change_says_whether_it_is_still_present() {
        let check = |change: &dyn Fn(&mut Event), expected: (&str, &str)| {
            let mut one = event(EventKind::Change, 20);
            change(&mut one);
            assert_eq!(state_of(&one), (expected.0.to_owned(), expected.1.to_owned()));
        };
        check(&|_| (), ("● open", ""));
        check(&|one| one.sure = false, ("? may be chance", ""));
        check(&|one| one.kind = EventKind::Environment, ("= present", ""));
        check(&|one| one.members[0].standing = false, ("✓ gone here", ""));
        check(&|one| one.state = EventState::TakenBack { by: "e-1".to_owned() }, ("✓ reverted", "by e-1"));
        let earlier = "from an earlier analysis, no longer found in the data alone";
        check(&|one| one.members[0].held = true, ("● open", earlier));
    }

    #[test]
    fn chances_are_one_in_so_many() {
        for (value, expected) in [
            (0.0, "none"),
            (1e-12, "less than 1 in 1 000 000 000"),
            (2e-4, "1 in 5 000"),
            (1.0 / 7_076_491.0, "1 in 7 100 000"),
            (0.3, "1 in 3"),
            (1.0, "1 in 1"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(chance(value).replace(NARROW, " "), expected);
        }
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
        assert_eq!(
            of(&one),
            [
                "Noise: 0.8 % (of a point about its level)",
                "Minimum detectable effect: ±2.5 % (in four cases of five, once 8 points are measured after it)",
                "Smallest change reported: 1.0 % (sensitivity balanced)",
                "Points: 40 (one a commit and environment)",
                "Newest state: judged (a change from now on is reported)",
            ]
        );
        one.not_judged = vec![NotJudged::TooShort { points: 3, needed: 8 }, NotJudged::NoCommit];
        (one.dirty, one.noise, one.detectable) = (2, None, None);
        let result = of(&one);
        assert_eq!(result[0], "Noise: – (too few points)");
        assert!(result[3].ends_with("2 runs with uncommitted changes left out)"), "{result:?}");
        assert_eq!(
            result[4],
            "Newest state: not judged (it has 3 points, and 8 are needed; none of its runs is of a commit that is known)"
        );
        (one.exact, one.detectable) = (true, Some(0.01));
        assert!(of(&one)[0].starts_with("Noise: none") && of(&one)[1].ends_with("±1.0 % (at once)"));
    }
}
