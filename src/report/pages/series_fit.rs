//! What was fitted to a series, in tables: its changes, what it can show, and its points before and after the newest change.

use super::cell::Change;
use crate::catalog::Catalog;
use crate::chart::spread::{self, Spread};
use crate::fit::{Fit, Turn, What, why_not_judged};
use crate::mark::{Mark, Tone, better_word, worse_word};
use crate::number::{self, counted};
use crate::phrase::Phrase;
use sprag_model::change_point::Level;
use sprag_model::event::EventState;
use sprag_model::ledger::answer::Answer;
use sprag_model::metric::Metric;
use sprag_model::trend::SeriesTrend;
use sprag_model::unit::Scale;

/// The newest turns that the table holds.
const ROWS: usize = 50;

/// A change or a drift in cells.
pub(super) struct TurnRow {
    pub(super) number: String,
    pub(super) mark: Mark,
    /// The event that it is part of.
    pub(super) event: Phrase,
    /// The first commit at the new level, or where the drift begins and ends.
    pub(super) commit: String,
    /// The commits that may be it.
    pub(super) range: String,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) change: Change,
    pub(super) interval: String,
    /// The chance that a point of a series which holds nothing gives one as clear.
    pub(super) chance: String,
    /// Whether it still holds.
    pub(super) state: Mark,
    /// What else there is to know.
    pub(super) note: String,
    /// Whether the row deserves a tint.
    pub(super) bad: bool,
}

/// A fact about a series.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) figure: String,
    pub(super) note: String,
}

/// The points of the two newest levels beside each other.
pub(super) struct BeforeAfter {
    pub(super) heading: String,
    pub(super) note: String,
    pub(super) picture: Spread,
}

/// The turns, newest first, and a sentence on the table.
pub(super) fn turns(catalog: &Catalog<'_>, fit: &Fit<'_>, scale: Scale) -> (Vec<TurnRow>, String) {
    let rows = fit.turns.iter().enumerate().rev().take(ROWS);
    let rows = rows.map(|(number, turn)| row(catalog, fit, number + 1, turn, scale)).collect();
    let which = if fit.turns.len() > ROWS {
        format!("The newest {} of {} changes", number::count(ROWS), number::count(fit.turns.len()))
    } else {
        "Numbers as in the chart, newest first".to_owned()
    };
    let note =
        format!("{which}. Chance: how often a point of a series in which nothing changes gives a change as clear.");
    (rows, note)
}

fn row(catalog: &Catalog<'_>, fit: &Fit<'_>, number: usize, turn: &Turn<'_>, scale: Scale) -> TurnRow {
    let metric = &fit.series.metric;
    let tone = turn.tone(metric);
    let relative = turn.relative();
    let (commit, range) = match turn.what {
        What::Change(change) if change.first < change.last => {
            (fit.commit(change.index), format!("{} to {}", fit.commit(change.first), fit.commit(change.last)))
        }
        What::Change(change) => (fit.commit(change.index), String::new()),
        What::Drift(drift) => {
            let last = fit.commit(drift.end.max(1) - 1);
            (format!("{} to {last}", fit.commit(drift.begin)), counted(drift.end - drift.begin, "point", "points"))
        }
    };
    let suspects = turn.part.map(|(event, _)| event.suspects.len()).filter(|count| *count > 0 && !turn.what.is_drift());
    let suspects = suspects.map(|count| counted(count, "suspect", "suspects"));
    let range: Vec<String> = Some(range).filter(|range| !range.is_empty()).into_iter().chain(suspects).collect();
    let (state, note) = state(turn, metric);
    TurnRow {
        number: number.to_string(),
        mark: Mark::new(tone, turn.glyph(), word(turn, metric)),
        event: turn.part.map_or_else(
            || Phrase::plain(number::NONE),
            |(event, _)| Phrase::default().name(catalog.event_page(&event.id), event.id.as_str()),
        ),
        commit,
        range: if range.is_empty() { number::NONE.to_owned() } else { range.join("; ") },
        before: number::value(scale, turn.what.before()),
        after: number::value(scale, turn.what.after()),
        change: Change {
            class: tone.class(),
            figure: relative.map_or_else(|| number::NONE.to_owned(), |relative| number::percent(relative.value)),
        },
        interval: relative.and_then(interval).unwrap_or_default(),
        chance: chance(turn.chance()),
        state,
        note,
        bad: turn.is_open(metric),
    }
}

fn word(turn: &Turn<'_>, metric: &Metric) -> &'static str {
    match (turn.is_of_environment(), turn.what.is_drift(), turn.is_worse(metric)) {
        (true, ..) => "environment",
        (_, true, _) => "drift",
        (_, _, true) => worse_word(metric),
        (_, _, false) => better_word(metric),
    }
}

/// The interval of a change; that of an exact series is a point, and says nothing more.
fn interval(relative: Level) -> Option<String> {
    let is_known = relative.lower.is_finite() && relative.upper.is_finite();
    let is_wide = (relative.lower, relative.upper) != (relative.value, relative.value);
    (is_known && is_wide).then(|| number::percent_interval((relative.lower, relative.upper)))
}

/// A chance as one in so many.
fn chance(chance: f64) -> String {
    match chance {
        0.0 => "none".to_owned(),
        some if !some.is_finite() || some < 0.0 => number::NONE.to_owned(),
        rare if rare < 1e-9 => format!("less than 1 in {}", number::count(1_000_000_000)),
        some => {
            // Two digits are more than a chance is known to.
            let many = 1.0 / some.min(1.0);
            let unit = 10f64.powf((many.log10().floor() - 1.0).max(0.0));
            format!("1 in {}", number::count(((many / unit).round() * unit) as usize))
        }
    }
}

fn state(turn: &Turn<'_>, metric: &Metric) -> (Mark, String) {
    let Some((event, member)) = turn.part else {
        return (Mark::new(Tone::Plain, number::NONE, "no event tells of it"), String::new());
    };
    let mut notes = Vec::new();
    let mark = match &event.state {
        EventState::TakenBack { by } => {
            notes.push(format!("by {by}"));
            Mark::new(Tone::Plain, "✓", "taken back")
        }
        EventState::Standing if !event.sure => Mark::new(Tone::Doubt, "?", "may be chance"),
        EventState::Standing if !member.standing => Mark::new(Tone::Plain, "✓", "gone here"),
        EventState::Standing if event.is_accepted() && turn.is_worse(metric) => Mark::new(Tone::Doubt, "◆", "accepted"),
        EventState::Standing if turn.is_open(metric) => Mark::new(Tone::Worse, "●", "open"),
        EventState::Standing => Mark::new(Tone::Plain, "=", "stands"),
    };
    notes.extend(event.answer.as_ref().map(Answer::words));
    notes.extend(turn.facts());
    if member.held {
        notes.push("held: told before, and no longer by the data alone".to_owned());
    }
    (mark, notes.join("; "))
}

/// What the series can show.
pub(super) fn facts(series: &SeriesTrend, scale: Scale) -> Vec<Fact> {
    let fact = |name: &'static str, figure: String, note: String| Fact { name, figure, note };
    let plain = |note: &str| note.to_owned();
    let none = || number::NONE.to_owned();
    let mut facts = Vec::new();
    facts.push(match &series.noise {
        _ if series.exact => fact("Noise", plain("none"), plain("equal values wherever a commit was measured again")),
        Some(noise) => {
            let figure = match noise.is_relative {
                true => number::percent_size(noise.deviation),
                false => number::quantity(scale, noise.deviation),
            };
            let note = match noise.inflation > 1.05 {
                true => format!(
                    "of a point about its level; means move {:.1} times as far as those of independent points",
                    noise.inflation
                ),
                false => plain("of a point about its level"),
            };
            fact("Noise", figure, note)
        }
        None => fact("Noise", none(), plain("too few points to tell")),
    });
    let detectable = series.detectable.map(number::could_see);
    facts.push(fact(
        "Smallest change that shows",
        detectable.map_or_else(none, |size| format!("±{size}")),
        plain(match (series.exact, series.detectable) {
            (true, _) => "at once",
            (_, Some(_)) => "in four cases of five, once 8 points are measured after it",
            (_, None) => "too few points to tell",
        }),
    ));
    facts.push(fact(
        "Least change that counts",
        number::percent_size(series.least),
        format!("sensitivity {}", series.sensitivity),
    ));
    let left_out: Vec<String> = [(series.dirty, "of changed files"), (series.elsewhere, "of commits elsewhere")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, of)| format!("{} {of}", counted(count, "run", "runs")))
        .collect();
    let note = match left_out.is_empty() {
        true => plain("one a commit and environment"),
        false => format!("one a commit and environment; {} left out", left_out.join(" and ")),
    };
    facts.push(fact("Points", number::count(series.points), note));
    facts.push(match series.not_judged.as_slice() {
        [] => fact("Newest state", plain("judged"), plain("a change from now on is told")),
        reasons => {
            let reasons: Vec<String> = reasons.iter().map(why_not_judged).collect();
            fact("Newest state", plain("not judged"), reasons.join("; "))
        }
    });
    facts
}

/// The points on both sides of the newest turn, where both have some.
pub(super) fn before_after(fit: &Fit<'_>, scale: Scale) -> Option<BeforeAfter> {
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
    let heading = match turn.what {
        What::Change(_) => format!("Before and after change {}", fit.turns.len()),
        What::Drift(_) => format!("Before and after drift {}", fit.turns.len()),
    };
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
    Some(BeforeAfter { heading, note, picture })
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
    fn a_change_says_whether_it_still_holds() {
        let check = |change: &dyn Fn(&mut Event), expected: (&str, &str)| {
            let mut one = event(EventKind::Change, 20);
            change(&mut one);
            assert_eq!(state_of(&one), (expected.0.to_owned(), expected.1.to_owned()));
        };
        check(&|_| (), ("● open", ""));
        check(&|one| one.sure = false, ("? may be chance", ""));
        check(&|one| one.kind = EventKind::Environment, ("= stands", ""));
        check(&|one| one.members[0].standing = false, ("✓ gone here", ""));
        check(&|one| one.state = EventState::TakenBack { by: "e-1".to_owned() }, ("✓ taken back", "by e-1"));
        check(&|one| one.members[0].held = true, ("● open", "held: told before, and no longer by the data alone"));
    }

    #[test]
    fn chances_are_one_in_so_many() {
        let check = |value: f64, expected: &str| assert_eq!(chance(value).replace(NARROW, " "), expected);
        check(0.0, "none");
        check(1e-12, "less than 1 in 1 000 000 000");
        check(2e-4, "1 in 5 000");
        check(1.0 / 7_076_491.0, "1 in 7 100 000");
        check(0.3, "1 in 3");
        check(1.0, "1 in 1");
        check(f64::NAN, "–");
    }

    #[test]
    fn the_newest_turn_has_its_points_on_both_sides() {
        let scale = Metric::time().unit.scale(1.0);
        let of = |count: usize, drifts| {
            let one = series(1.0, count, vec![change(20, 1.0, 1.2)], drifts);
            before_after(&Fit::new(&one, &[]), scale).map(|shown| (shown.heading, shown.note))
        };
        let (heading, note) = of(32, vec![]).expect("both sides have points");
        assert_eq!(heading, "Before and after change 1");
        assert!(note.starts_with("20 points before, 12 after.") && note.ends_with("halves do not overlap."), "{note}");
        let (heading, note) = of(40, vec![drift(24, 36, 1.2, 1.3)]).expect("both sides have points");
        assert!(heading.ends_with("drift 2") && note.starts_with("4 points before, 4 after."), "{heading}: {note}");
        assert_eq!(of(40, vec![drift(24, 40, 1.2, 1.3)]), None, "a drift that goes on has nothing after it");
    }

    #[test]
    fn a_series_says_what_it_can_show() {
        let scale = Metric::time().unit.scale(1.0);
        let mut one = series(1.0, 40, vec![], vec![]);
        let of = |one: &SeriesTrend| -> Vec<String> {
            let facts = facts(one, scale).into_iter();
            facts.map(|fact| format!("{}: {} ({})", fact.name, fact.figure, fact.note).replace(NARROW, " ")).collect()
        };
        assert_eq!(
            of(&one),
            [
                "Noise: 0.8 % (of a point about its level)",
                "Smallest change that shows: ±2.5 % (in four cases of five, once 8 points are measured after it)",
                "Least change that counts: 1.0 % (sensitivity balanced)",
                "Points: 40 (one a commit and environment)",
                "Newest state: judged (a change from now on is told)",
            ]
        );
        one.not_judged = vec![NotJudged::TooShort { points: 3, needed: 8 }, NotJudged::NoCommit];
        (one.dirty, one.noise, one.detectable) = (2, None, None);
        let result = of(&one);
        assert_eq!(result[0], "Noise: – (too few points to tell)");
        assert!(result[3].ends_with("2 runs of changed files left out)"), "{result:?}");
        assert_eq!(
            result[4],
            "Newest state: not judged (it has 3 points, and 8 are needed; none of its runs is of a commit that is known)"
        );
        (one.exact, one.detectable) = (true, Some(0.01));
        assert!(of(&one)[0].starts_with("Noise: none") && of(&one)[1].ends_with("±1.0 % (at once)"));
    }
}
