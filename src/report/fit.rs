//! What was fitted to a series: its levels, its changes and drifts with their events, and the sentence that sums them up, such as
//! `Flat at 1.200 ms, +8.1 % at v0.4.0, flat at 1.297 ms since (12 points).`

use std::ops::Range;

use crate::mark::Tone;
use crate::number::{self, count, counted};
use crate::text::{capital, short_commit, shortened};
use sprag_model::{
    Better, Drift, Event, EventKind, Level, Member, Metric, Modes, NamedCommit, NotJudged, Scale, SeriesTrend,
};

#[cfg(test)]
pub(crate) mod example;

/// The longest name of a commit, name or value of a fact, and word of a failure, in characters.
const NAME: usize = 40;
const FACT: usize = 24;
const FAILURE: usize = 160;

/// So many deviations from its level a point of a flat series may be.
const NEAR: f64 = 4.0;

/// The newest turns that the sentence names; earlier ones are counted.
const NEWEST_TURNS: usize = 2;

#[derive(Clone, Debug)]
pub struct Fit<'a> {
    pub series: &'a SeriesTrend,
    /// Oldest first; a page numbers them from 1.
    pub turns: Vec<FitTurn<'a>>,
}

/// A change of level or a drift. Places are those of points of the series, values are in base units.
#[derive(Clone, Copy, Debug)]
pub struct FitTurn<'a> {
    pub is_drift: bool,
    /// The first point that is no longer at the level before.
    pub begin: usize,
    /// The first point at the level after: that of a change is where it begins.
    pub end: usize,
    /// The first and the last point at which a change may have happened.
    pub range: (usize, usize),
    pub before: f64,
    pub after: f64,
    /// The level after over that before, less 1; absent for the first. A drift has an interval only where its event has one.
    pub relative: Option<Level>,
    /// The chance that a point of a series without changes gives a turn as clear.
    pub chance: f64,
    /// The event that it is part of, and its part.
    pub part: Option<(&'a Event, &'a Member)>,
}

impl<'a> Fit<'a> {
    /// The fit of a series; `parts` are the events that it is a member of, each with its part.
    pub fn new(series: &'a SeriesTrend, parts: &[(&'a Event, &'a Member)]) -> Fit<'a> {
        let changes = series.changes.points.iter().map(|change| FitTurn {
            is_drift: false,
            begin: change.index,
            end: change.index,
            range: (change.first, change.last),
            before: change.before.value,
            after: change.after.value,
            relative: Some(change.relative),
            chance: change.chance,
            part: None,
        });
        let drifts = series.changes.drifts.iter().map(|drift| {
            let value = (drift.after / drift.before - 1.0) * drift.before.signum();
            FitTurn {
                is_drift: true,
                begin: drift.begin,
                end: drift.end,
                range: (drift.begin, drift.end),
                before: drift.before,
                after: drift.after,
                relative: Some(Level { value, lower: f64::NAN, upper: f64::NAN }),
                chance: drift.chance,
                part: None,
            }
        });
        let mut turns: Vec<FitTurn<'_>> = changes.chain(drifts).collect();
        turns.sort_by_key(|turn| (turn.begin, turn.end));
        for turn in &mut turns {
            turn.part = part_of(series, turn, parts);
            let of_event = turn.part.and_then(|(_, member)| member.relative).filter(|_| turn.is_drift);
            let relative = turn.relative.map(|own| of_event.map_or(own, |event| Level { value: own.value, ..event }));
            turn.relative = relative.filter(|level| level.value.is_finite());
        }
        Fit { series, turns }
    }

    /// The name of the commit of a point: its tag where the trend has it, else seven digits.
    pub fn commit(&self, index: usize) -> String {
        let Some(point) = self.series.pooled.get(index) else { return String::new() };
        let sha = &*point.commit;
        let segments = self.series.levels.iter().flat_map(|one| [&one.first, &one.last]);
        let of_events = self.turns.iter().filter_map(|turn| turn.part).flat_map(|(event, member)| {
            event.suspects.iter().map(|one| &one.commit).chain([&member.at, &event.first_bad]).chain(&event.last_good)
        });
        let named = segments.chain(of_events).find(|commit| commit.sha == sha);
        shortened(named.map_or_else(|| short_commit(sha), NamedCommit::short), NAME)
    }

    /// The present level, or the one that a drift has come to; absent where no level is fitted.
    pub fn newest_level(&self) -> Option<f64> {
        self.pieces().last().map(|piece| piece.to)
    }

    /// The fitted line; nothing where no level is fitted.
    pub fn pieces(&self) -> Vec<Piece> {
        let changes = &self.series.changes;
        let begins = std::iter::once(0).chain(changes.points.iter().map(|change| change.index));
        let ends = changes.points.iter().map(|change| change.index).chain([self.series.pooled.len()]);
        let mut pieces = Vec::new();
        for ((begin, end), level) in begins.zip(ends).zip(&changes.levels) {
            let first = pieces.len();
            segment(begin..end, level.value, &changes.drifts, &mut pieces);
            if let Some(piece) = pieces.get_mut(first) {
                piece.is_step = begin > 0;
            }
        }
        pieces
    }

    /// The points of each level: those between the turns, and before the first and after the last of them.
    pub fn flats(&self) -> Vec<Range<usize>> {
        let begins = std::iter::once(0).chain(self.turns.iter().map(|turn| turn.end));
        let ends = self.turns.iter().map(|turn| turn.begin).chain([self.series.pooled.len()]);
        begins.zip(ends).map(|(begin, end)| begin..end.max(begin)).collect()
    }
}

impl FitTurn<'_> {
    pub fn is_of_environment(&self) -> bool {
        self.part.is_some_and(|(event, _)| event.kind == EventKind::Environment)
    }

    pub fn is_worse(&self, metric: &Metric) -> bool {
        (self.after > self.before) == (metric.better == Better::Lower)
    }

    /// Whether it made the metric worse and still does, a commit is certainly the cause, and nobody accepts that.
    pub fn is_open(&self, metric: &Metric) -> bool {
        let is_present = |(event, member): (&Event, &Member)| event.is_open_regression() && member.is_present;
        self.part.is_some_and(is_present) && self.is_worse(metric)
    }

    /// The colour of its cause: the environment, the doubt of a drift, else its direction.
    pub fn tone(&self, metric: &Metric) -> Tone {
        match self.is_of_environment() {
            true => Tone::Environment,
            false if self.is_drift => Tone::Doubt,
            false if self.is_worse(metric) => Tone::Worse,
            false => Tone::Better,
        }
    }

    pub fn glyph(&self, metric: &Metric) -> &'static str {
        match (self.is_of_environment(), self.is_drift) {
            (true, _) => "◇",
            (_, true) if self.after > self.before => "↗",
            (_, true) => "↘",
            _ if self.is_worse(metric) => "▲",
            _ => "▼",
        }
    }

    /// What changed in the environment with it, in a few words; nothing where no fact did.
    pub fn facts(&self) -> Option<String> {
        let (event, _) = self.part.filter(|_| self.is_of_environment())?;
        match event.facts.as_slice() {
            [] => None,
            [one] => {
                let name = shortened(&one.fact.replace('_', " "), FACT);
                Some(format!("{name} {} → {}", shortened(&one.was, FACT), shortened(&one.is, FACT)))
            }
            several => Some(format!("{} facts of the environment", several.len())),
        }
    }
}

/// The event that a turn is part of: of its kind, with the first commit at the new level, and the nearest level before.
fn part_of<'a>(
    series: &SeriesTrend,
    turn: &FitTurn<'_>,
    parts: &[(&'a Event, &'a Member)],
) -> Option<(&'a Event, &'a Member)> {
    let at = series.pooled.get(turn.end.min(series.pooled.len().checked_sub(1)?))?;
    let distance = |member: &Member| (member.before.value - turn.before).abs();
    let is_alike = |(event, member): &(&Event, &Member)| {
        (event.kind == EventKind::Drift) == turn.is_drift && member.at.sha == *at.commit
    };
    let alike = parts.iter().copied().filter(is_alike);
    alike.min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))
}

/// A piece of the fitted line: a level, or the ramp of a drift.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    pub points: Range<usize>,
    /// Its values at the first and at the last of them, in base units.
    pub from: f64,
    pub to: f64,
    /// Whether a change precedes it, rather than the end of a ramp.
    pub is_step: bool,
    pub is_ramp: bool,
}

/// A segment between changes: its level, or the levels around the drifts in it and their ramps.
fn segment(points: Range<usize>, level: f64, drifts: &[Drift], pieces: &mut Vec<Piece>) {
    let mut push = |points: Range<usize>, from: f64, to: f64, is_ramp: bool| {
        if !points.is_empty() {
            pieces.push(Piece { points, from, to, is_step: false, is_ramp });
        }
    };
    let mut at = points.start;
    let mut value = None;
    for drift in drifts.iter().filter(|drift| drift.begin < points.end && points.start < drift.end) {
        push(at..drift.begin.max(at), value.unwrap_or(drift.before), drift.before, false);
        // A change within a drift cuts its ramp in two.
        let part = drift.begin.max(at)..drift.end.min(points.end);
        let steps = (drift.end - drift.begin).max(1) as f64;
        let on_ramp = |index: usize| {
            drift.before + (drift.after - drift.before) * (index.saturating_sub(drift.begin) as f64 / steps)
        };
        push(part.clone(), on_ramp(part.start), on_ramp(part.end), true);
        at = part.end.max(at);
        value = Some(drift.after);
    }
    let value = value.unwrap_or(level);
    push(at..points.end, value, value, false);
}

impl Fit<'_> {
    pub fn sentence(&self) -> String {
        let count = self.series.pooled.len();
        if count == 0 {
            return self.without_points();
        }
        let Some(newest) = self.newest_level() else { return self.too_short() };
        let scale = self.series.metric.unit.scale(newest);
        let flats = self.flats();
        let first = self.turns.len().saturating_sub(NEWEST_TURNS);
        let mut parts = Vec::new();
        if !flats[first].is_empty() {
            let value = self.turns.get(first).map_or(newest, |turn| turn.before);
            parts.push(self.level(scale, value, &flats[first]));
        }
        for (number, turn) in self.turns.iter().enumerate().skip(first) {
            let after = &flats[number + 1];
            let is_last = number + 1 == self.turns.len();
            parts.push(self.turn(turn, scale, after.is_empty() && is_last));
            if !after.is_empty() {
                parts.push(self.level(scale, turn.after, after));
            }
        }
        let since = flats.last().map_or(0, Range::len);
        let mut words = parts.join(", ");
        if self.turns.is_empty() {
            words += &format!(" since {} ({})", self.commit(0), counted(count, "point", "points"));
        } else if since > 0 {
            words += &format!(" since ({})", counted(since, "point", "points"));
        }
        if first > 0 {
            words = format!("after {}, {words}", counted(first, "earlier change", "earlier changes"));
        }
        capital(&words) + "." + &self.modes(scale) + &self.new_environment()
    }

    /// Those between which it alternates up to the newest point.
    pub fn present_modes(&self) -> Option<&Modes> {
        self.series.changes.modes.last().filter(|modes| modes.end == self.series.pooled.len())
    }

    /// Between which levels it alternates, the newest time.
    fn modes(&self, scale: Scale) -> String {
        let Some(modes) = self.series.changes.modes.last() else { return String::new() };
        let [low, high] = [modes.low, modes.high].map(|level| number::quantity(scale, level));
        let [first, last] = [modes.begin, modes.end - 1].map(|index| self.commit(index));
        let Some(share) = modes.share else {
            return format!(" Unstable from {first} to {last}: up and down between {low} and {high}.");
        };
        let shares = [1.0 - share, share].map(number::percent_size);
        format!(" Bimodal from {first} to {last}: {low} in {} of runs, {high} in {}.", shares[0], shares[1])
    }

    fn level(&self, scale: Scale, value: f64, points: &Range<usize>) -> String {
        let word = match self.series.exact {
            _ if let Some(modes) = self.present_modes().filter(|modes| modes.begin < points.end) => {
                if modes.share.is_some() { "two modes around" } else { "unstable around" }
            }
            true => "exactly",
            false if self.is_flat(value, points) => "flat at",
            false => "about",
        };
        format!("{word} {}", number::quantity(scale, value))
    }

    /// Whether half of the points are as near to their level as their noise allows: not those of two modes, nor of a climb that is too
    /// short to be a drift.
    fn is_flat(&self, level: f64, points: &Range<usize>) -> bool {
        let Some(noise) = &self.series.noise else { return true };
        let near = NEAR * noise.deviation * if noise.is_relative { level.abs() } else { 1.0 };
        let values = &self.series.pooled[points.clone()];
        2 * values.iter().filter(|point| (point.value - level).abs() <= near).count() >= values.len()
    }

    /// A turn in words; `goes_on` where it has not ended.
    fn turn(&self, turn: &FitTurn<'_>, scale: Scale, goes_on: bool) -> String {
        let after = number::quantity(scale, turn.after);
        let values = || format!("from {} to {after}", number::value(scale, turn.before));
        let size = turn.relative.map(|relative| number::percent(relative.value));
        if turn.is_drift && goes_on {
            let so_far = size.map_or_else(values, |size| format!("{size} so far, to {after}"));
            return format!("drifting since {}: {so_far}", self.commit(turn.begin));
        }
        if turn.is_drift {
            let size = size.map_or_else(values, |size| format!("of {size}"));
            return format!("a drift {size} from {} to {}", self.commit(turn.begin), self.commit(turn.end - 1));
        }
        let place = match turn.range {
            (first, last) if first < last => format!("between {} and {}", self.commit(first), self.commit(last)),
            _ => format!("at {}", self.commit(turn.begin)),
        };
        let cause = match turn.facts() {
            Some(facts) => format!(" with {facts}"),
            None if turn.is_of_environment() => " with the machine".to_owned(),
            None => String::new(),
        };
        format!("{} {place}{cause}", size.unwrap_or_else(|| format!("a change {}", values())))
    }

    fn without_points(&self) -> String {
        let left_out = [
            (self.series.dirty, "of a tree with changes of its own"),
            (self.series.elsewhere, "of commits that are not on the line"),
        ];
        let left_out = left_out.into_iter().filter(|(count, _)| *count > 0);
        let left_out: Vec<String> =
            left_out.map(|(count, why)| format!("{} {why}", counted(count, "run", "runs"))).collect();
        if left_out.is_empty() {
            return "Nothing is fitted: no run is of a commit that is known.".to_owned();
        }
        format!("Nothing is fitted, for these are left out: {}.", left_out.join(" and "))
    }

    fn too_short(&self) -> String {
        let points = &self.series.pooled;
        let newest = points[points.len() - 1].value;
        let scale = self.series.metric.unit.scale(newest);
        let needed = self.series.not_judged.iter().find_map(|why| match why {
            NotJudged::TooShort { needed, .. } => Some(format!("{} are needed to fit a level", count(*needed))),
            _ => None,
        });
        let needed = needed.unwrap_or_else(|| "too few to fit a level".to_owned());
        let newest = number::quantity(scale, newest);
        if points.len() == 1 {
            return format!("{newest} at {}, its only point: {needed}.", self.commit(0));
        }
        let values = || points.iter().map(|point| point.value);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let (low, high) = (number::value(scale, low), number::quantity(scale, high));
        format!("{} points between {low} and {high}, the newest {newest}: {needed}.", count(points.len()))
    }

    /// That the environment changed too recently for the level to be judged.
    fn new_environment(&self) -> String {
        let sentence = self.series.not_judged.iter().find_map(|why| match why {
            NotJudged::EnvironmentChanged { points, needed } => {
                let points = counted(*points, "point", "points");
                Some(format!(" The environment changed since: {points} in the new one, {needed} are needed."))
            }
            _ => None,
        });
        sentence.unwrap_or_default()
    }
}

/// A reason as a clause, such as `it has 3 points, and 8 are needed`.
pub fn why_not_judged(reason: &NotJudged) -> String {
    let days = |days: i64| counted(days.max(0) as usize, "day", "days");
    match reason {
        NotJudged::TooShort { points, needed } => {
            format!("it has {}, and {} are needed", counted(*points, "point", "points"), count(*needed))
        }
        NotJudged::Stale { days: old, allowed } => {
            format!("its newest point is {} old, and {} are allowed", days(*old), days(*allowed))
        }
        NotJudged::MissingAtTip { last } => {
            format!("the newest run has no value of it, the last is of {}", shortened(last.short(), FAILURE))
        }
        NotJudged::EnvironmentChanged { points, needed } => format!(
            "the environment changed: {} there since, of {} needed",
            counted(*points, "point is", "points are"),
            count(*needed)
        ),
        NotJudged::Failing { why } => format!("its benchmark failed: {}", shortened(why, FAILURE)),
        NotJudged::NoCommit => "none of its runs is of a commit that is known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::example::{change, commit, drift, event, series};
    use super::*;
    use crate::number::NARROW;
    use sprag_model::FactChange;

    #[track_caller]
    fn check(series: &SeriesTrend, expected: &str) {
        check_with(series, None, expected);
    }

    #[track_caller]
    fn check_with(series: &SeriesTrend, event: Option<&Event>, expected: &str) {
        let parts: Vec<_> = event.into_iter().map(|event| (event, &event.members[0])).collect();
        let sentence = Fit::new(series, &parts).sentence().replace(NARROW, " ").replace('\u{2212}', "-");
        assert_eq!(sentence, expected);
    }

    #[test]
    fn a_sentence_names_levels_and_changes() {
        check(&series(1.2e-3, 40, vec![], vec![]), "Flat at 1.200 ms since 0000000 (40 points).");
        let mut one = series(1.2e-3, 40, vec![change(28, 1.2e-3, 1.2972e-3)], vec![]);
        check(&one, "Flat at 1.200 ms, +8.1 % at 000001c, flat at 1.297 ms since (12 points).");
        (one.changes.points[0].first, one.changes.points[0].last) = (27, 29);
        check(&one, "Flat at 1.200 ms, +8.1 % between 000001b and 000001d, flat at 1.297 ms since (12 points).");
        one.changes.points[0] = change(28, 1.2e-3, 1.2972e-3);
        one.levels[1].first.tags = vec!["v0.4.0".to_owned()];
        check(&one, "Flat at 1.200 ms, +8.1 % at v0.4.0, flat at 1.297 ms since (12 points).");
        let many = vec![change(10, 1.0, 1.1), change(20, 1.1, 1.0), change(30, 1.0, 1.2), change(39, 1.2, 1.1)];
        let expected = "After 2 earlier changes, flat at 1.000 s, +20.0 % at 000001e, flat at 1.200 s, -8.3 % at 0000027, flat at 1.100 s since (1 point).";
        check(&series(1.0, 40, many, vec![]), expected);
    }

    #[test]
    fn a_sentence_names_drifts() {
        let check = |start, changes, ramp, expected: &str| check(&series(start, 40, changes, vec![ramp]), expected);
        let drift_of = |size: &str| format!("a drift of {size} % from 000000c to 000001d");
        let ended = format!("Flat at 1.000 s, {}, flat at 1.050 s since (10 points).", drift_of("+5.0"));
        check(1.0, vec![], drift(12, 30, 1.0, 1.05), &ended);
        let goes_on = "Flat at 1.000 s, drifting since 000000c: +5.0 % so far, to 1.050 s.";
        check(1.0, vec![], drift(12, 40, 1.0, 1.05), goes_on);
        // Below zero it has the sign of its way.
        let below = format!("Flat at -1.000 s, {}, flat at -1.050 s since (10 points).", drift_of("-5.0"));
        check(-1.0, vec![], drift(12, 30, -1.0, -1.05), &below);
        check(1.0, vec![], drift(0, 40, 1.0, 0.95), "Drifting since 0000000: -5.0 % so far, to 950.0 ms.");
        let change_after = vec![change(30, 1.05, 1.0)];
        let rest = "-4.8 % at 000001e, flat at 1.000 s since (10 points).";
        let expected = format!("Flat at 1.000 s, {}, {rest}", drift_of("+5.0"));
        check(1.0, change_after, drift(12, 30, 1.0, 1.05), &expected);
    }

    #[test]
    fn a_sentence_names_the_environment() {
        let one = series(1.2e-3, 40, vec![change(28, 1.2e-3, 1.176e-3)], vec![]);
        let mut moved = event(EventKind::Environment, 28);
        let facts =
            ["c_compiler", "libc"].map(|fact| FactChange { fact: fact.into(), was: "1.90".into(), is: "1.91".into() });
        for (count, cause) in [(0, "the machine"), (1, "c compiler 1.90 → 1.91"), (2, "2 facts of the environment")] {
            moved.facts = facts[..count].to_vec();
            let expected =
                format!("Flat at 1.200 ms, -2.0 % at 000001c with {cause}, flat at 1.176 ms since (12 points).");
            check_with(&one, Some(&moved), &expected);
        }
        let mut recent = series(1.2e-3, 40, vec![], vec![]);
        recent.not_judged = vec![NotJudged::EnvironmentChanged { points: 2, needed: 5 }];
        let flat = "Flat at 1.200 ms since 0000000 (40 points).";
        check(&recent, &format!("{flat} The environment changed since: 2 points in the new one, 5 are needed."));
    }

    #[test]
    fn a_series_without_a_fit_says_what_it_has() {
        let mut short = series(0.0, 3, vec![], vec![]);
        check(&short, "3 points between 1.200 and 1.202 ms, the newest 1.202 ms: too few to fit a level.");
        short.not_judged = vec![NotJudged::TooShort { points: 3, needed: 8 }];
        check(&short, "3 points between 1.200 and 1.202 ms, the newest 1.202 ms: 8 are needed to fit a level.");
        let not_judged = vec![NotJudged::TooShort { points: 1, needed: 8 }];
        let one = SeriesTrend { not_judged, ..series(0.0, 1, vec![], vec![]) };
        check(&one, "1.200 ms at 0000000, its only point: 8 are needed to fit a level.");
        let mut none = series(0.0, 0, vec![], vec![]);
        check(&none, "Nothing is fitted: no run is of a commit that is known.");
        (none.dirty, none.elsewhere) = (1, 2);
        let left_out = "1 run of a tree with changes of its own and 2 runs of commits that are not on the line";
        check(&none, &format!("Nothing is fitted, for these are left out: {left_out}."));
    }

    #[test]
    fn a_series_without_noise_is_exact() {
        let exact = |one| SeriesTrend { exact: true, metric: Metric::peak_memory(), ..one };
        let one = exact(series(640.0, 40, vec![change(28, 640.0, 656.0)], vec![]));
        check(&one, "Exactly 640.0 B, +2.5 % at 000001c, exactly 656.0 B since (12 points).");
        check(&exact(series(640.0, 40, vec![], vec![])), "Exactly 640.0 B since 0000000 (40 points).");
        let grown = exact(series(0.0, 40, vec![change(28, 0.0, 12.0)], vec![]));
        check(&grown, "Exactly 0 B, a change from 0 to 12.00 B at 000001c, exactly 12.00 B since (12 points).");
    }

    #[test]
    fn a_turn_has_the_event_of_its_kind_and_commit() {
        let one = series(1.0, 40, vec![change(20, 1.05, 1.2)], vec![drift(5, 20, 1.0, 1.05)]);
        let (step, ramp) = (event(EventKind::Change, 20), event(EventKind::Drift, 20));
        let fit = Fit::new(&one, &[(&step, &step.members[0]), (&ramp, &ramp.members[0])]);
        let kinds: Vec<_> = fit.turns.iter().map(|turn| turn.part.map(|(event, _)| event.kind)).collect();
        assert_eq!(kinds, [Some(EventKind::Drift), Some(EventKind::Change)]);
        let tones: Vec<(Tone, &str)> =
            fit.turns.iter().map(|turn| (turn.tone(&one.metric), turn.glyph(&one.metric))).collect();
        assert_eq!(tones, [(Tone::Doubt, "↗"), (Tone::Worse, "▲")]);
        let elsewhere = event(EventKind::Change, 21);
        assert!(Fit::new(&one, &[(&elsewhere, &elsewhere.members[0])]).turns[1].part.is_none());
        assert_eq!(fit.commit(20), &commit(20).sha[..7]);
    }

    #[test]
    fn the_line_is_made_of_levels_and_ramps() {
        let one = series(1.0, 40, vec![change(20, 1.05, 1.2)], vec![drift(5, 15, 1.0, 1.05)]);
        let fit = Fit::new(&one, &[]);
        let pieces: Vec<_> = fit.pieces().into_iter().map(|p| (p.points, p.from, p.to, p.is_step)).collect();
        let before = [(0..5, 1.0, 1.0, false), (5..15, 1.0, 1.05, false), (15..20, 1.05, 1.05, false)];
        assert_eq!((&pieces[..3], &pieces[3..]), (&before[..], &[(20..40, 1.2, 1.2, true)][..]));
        assert_eq!(fit.flats(), [0..5, 15..20, 20..40]);
        assert!(Fit::new(&series(1.0, 5, vec![], vec![]), &[]).pieces().is_empty());
    }

    #[test]
    fn every_reason_has_its_words() {
        for (reason, expected) in [
            (NotJudged::TooShort { points: 1, needed: 8 }, "it has 1 point, and 8 are needed"),
            (NotJudged::Stale { days: 30, allowed: 7 }, "its newest point is 30 days old, and 7 days are allowed"),
            (NotJudged::MissingAtTip { last: commit(28) }, "the newest run has no value of it, the last is of 000001c"),
            (
                NotJudged::EnvironmentChanged { points: 1, needed: 3 },
                "the environment changed: 1 point is there since, of 3 needed",
            ),
            (NotJudged::Failing { why: "signal 11".to_owned() }, "its benchmark failed: signal 11"),
            (NotJudged::NoCommit, "none of its runs is of a commit that is known"),
        ] {
            assert_eq!(why_not_judged(&reason), expected);
        }
    }
}
