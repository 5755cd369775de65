//! A fit in one sentence: `Flat at 1.200 ms, +8.1 % at v0.4.0, flat at 1.297 ms since (12 points).`

use super::turn::{Fit, Turn, What};
use crate::number::{self, count, counted};
use crate::text::shortened;
use sprag_model::trend::NotJudged;
use sprag_model::unit::Scale;

/// The newest turns that the sentence names; earlier ones are counted.
const NEWEST_TURNS: usize = 2;

impl Fit<'_> {
    /// What the fit shows, as plain words.
    pub fn sentence(&self) -> String {
        let count = self.series.pooled.len();
        if count == 0 {
            return self.nothing();
        }
        let Some(newest) = self.newest_level() else { return self.too_short() };
        let scale = self.series.metric.unit.scale(newest);
        let flats = self.flats();
        let first = self.turns.len().saturating_sub(NEWEST_TURNS);
        let mut parts = Vec::new();
        if !flats[first].is_empty() {
            let begin = self.turns.get(first).map_or(newest, |turn| turn.what.before());
            parts.push(self.level(scale, begin));
        }
        for (number, turn) in self.turns.iter().enumerate().skip(first) {
            let after = &flats[number + 1];
            let is_last = number + 1 == self.turns.len();
            parts.push(self.turn(turn, scale, after.is_empty() && is_last));
            if !after.is_empty() {
                parts.push(self.level(scale, turn.what.after()));
            }
        }
        let since = flats.last().map_or(0, std::iter::ExactSizeIterator::len);
        let mut words = parts.join(", ");
        if self.turns.is_empty() {
            words += &format!(" since {} ({})", self.commit(0), counted(count, "point", "points"));
        } else if since > 0 {
            words += &format!(" since ({})", counted(since, "point", "points"));
        }
        if first > 0 {
            words = format!("after {}, {words}", counted(first, "earlier change", "earlier changes"));
        }
        capital(&words) + "." + &self.since_environment()
    }

    fn level(&self, scale: Scale, value: f64) -> String {
        let word = if self.series.exact { "exactly" } else { "flat at" };
        format!("{word} {}", number::quantity(scale, value))
    }

    /// A turn in words; `goes_on` where it has not ended.
    fn turn(&self, turn: &Turn<'_>, scale: Scale, goes_on: bool) -> String {
        let values = || {
            let before = number::value(scale, turn.what.before());
            format!("from {before} to {}", number::quantity(scale, turn.what.after()))
        };
        let size = turn.relative().map(|relative| number::percent(relative.value));
        match turn.what {
            What::Drift(drift) if goes_on => {
                let so_far = size
                    .map_or_else(values, |size| format!("{size} so far, to {}", number::quantity(scale, drift.after)));
                format!("drifting since {}: {so_far}", self.commit(drift.begin))
            }
            What::Drift(drift) => {
                let size = size.map_or_else(values, |size| format!("of {size}"));
                format!("a drift {size} from {} to {}", self.commit(drift.begin), self.commit(drift.end - 1))
            }
            What::Change(change) => {
                let place = if change.first < change.last {
                    format!("between {} and {}", self.commit(change.first), self.commit(change.last))
                } else {
                    format!("at {}", self.commit(change.index))
                };
                let cause = match turn.facts() {
                    Some(facts) => format!(" with {facts}"),
                    None if turn.is_of_environment() => " with the machine".to_owned(),
                    None => String::new(),
                };
                format!("{} {place}{cause}", size.unwrap_or_else(|| format!("a change {}", values())))
            }
        }
    }

    /// Of a series none of whose runs has a place among the commits.
    fn nothing(&self) -> String {
        let series = self.series;
        let left_out: Vec<String> = [
            (series.dirty, "of a tree with changes of its own"),
            (series.elsewhere, "of commits that are not on the line"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{} {why}", counted(count, "run", "runs")))
        .collect();
        if left_out.is_empty() {
            return "Nothing is fitted: no run is of a commit that is known.".to_owned();
        }
        format!("Nothing is fitted, for these are left out: {}.", left_out.join(" and "))
    }

    /// Of a series with too few points for a level.
    fn too_short(&self) -> String {
        let points = &self.series.pooled;
        let newest = points[points.len() - 1].value;
        let scale = self.series.metric.unit.scale(newest);
        let needed = self.series.not_judged.iter().find_map(|why| match why {
            NotJudged::TooShort { needed, .. } => Some(*needed),
            _ => None,
        });
        let needed = match needed {
            Some(needed) => format!("{} are needed to fit a level", number::count(needed)),
            None => "too few to fit a level".to_owned(),
        };
        if let [only] = &points[..] {
            let value = number::quantity(scale, only.value);
            return format!("{value} at {}, its only point: {needed}.", self.commit(0));
        }
        let values = || points.iter().map(|point| point.value);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let (low, high) = (number::value(scale, low), number::quantity(scale, high));
        let newest = number::quantity(scale, newest);
        let points = counted(points.len(), "point", "points");
        format!("{points} between {low} and {high}, the newest {newest}: {needed}.")
    }

    /// That the environment changed too lately for the level to be judged.
    fn since_environment(&self) -> String {
        let result = self.series.not_judged.iter().find_map(|why| match why {
            NotJudged::EnvironmentChanged { points, needed } => {
                let points = counted(*points, "point", "points");
                Some(format!(" The environment changed since: {points} in the new one, {needed} are needed."))
            }
            _ => None,
        });
        result.unwrap_or_default()
    }
}

fn capital(words: &str) -> String {
    let mut characters = words.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

/// The longest word of a failure, in characters.
const LONGEST: usize = 160;

/// A reason as a clause, such as `it has 3 points of 8`.
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
            format!("the newest run has no value of it, the last is of {}", shortened(last.short(), LONGEST))
        }
        NotJudged::EnvironmentChanged { points, needed } => format!(
            "the environment changed: {} there since, of {} needed",
            counted(*points, "point is", "points are"),
            count(*needed)
        ),
        NotJudged::Failing { why } => format!("its benchmark failed: {}", shortened(why, LONGEST)),
        NotJudged::NoCommit => "none of its runs is of a commit that is known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::example::commit;

    #[test]
    fn every_reason_has_its_words() {
        let check = |reason: NotJudged, expected: &str| assert_eq!(why_not_judged(&reason), expected);
        check(NotJudged::TooShort { points: 1, needed: 8 }, "it has 1 point, and 8 are needed");
        check(NotJudged::Stale { days: 30, allowed: 7 }, "its newest point is 30 days old, and 7 days are allowed");
        check(
            NotJudged::MissingAtTip { last: commit(28) },
            "the newest run has no value of it, the last is of 000001c",
        );
        check(
            NotJudged::EnvironmentChanged { points: 1, needed: 3 },
            "the environment changed: 1 point is there since, of 3 needed",
        );
        check(NotJudged::Failing { why: "signal 11".to_owned() }, "its benchmark failed: signal 11");
        check(NotJudged::NoCommit, "none of its runs is of a commit that is known");
    }
}
