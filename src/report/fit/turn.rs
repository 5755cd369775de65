//! A series with its turns: each change of level and each drift, with the event that it is part of.

use std::ops::Range;

use crate::mark::Tone;
use crate::text::{short_commit, shortened};
use sprag_model::change_point::{ChangePoint, Drift, Level};
use sprag_model::event::{Event, EventKind, Member, NamedCommit};
use sprag_model::metric::{Better, Metric};
use sprag_model::trend::SeriesTrend;

/// The longest name of a commit, in characters.
const NAME: usize = 40;

/// The longest name and the longest value of a fact, in characters.
const FACT: usize = 24;

/// A series with its turns in their order.
#[derive(Clone, Debug)]
pub struct Fit<'a> {
    pub series: &'a SeriesTrend,
    /// Its turns, oldest first; a page numbers them from 1.
    pub turns: Vec<Turn<'a>>,
}

/// A change of level or a drift.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    pub what: What<'a>,
    /// The event that it is part of, and its part; absent where the trend tells of none.
    pub part: Option<(&'a Event, &'a Member)>,
}

#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    Change(&'a ChangePoint),
    /// The level moved from point to point.
    Drift(&'a Drift),
}

impl<'a> Fit<'a> {
    /// The fit of a series; `parts` are the events that it is a member of, each with its part.
    pub fn new(series: &'a SeriesTrend, parts: &[(&'a Event, &'a Member)]) -> Fit<'a> {
        let changes = series.changes.points.iter().map(What::Change);
        let mut all: Vec<What<'a>> = changes.chain(series.changes.drifts.iter().map(What::Drift)).collect();
        all.sort_by_key(|what| (what.begin(), what.end()));
        let turns = all.into_iter().map(|what| Turn { what, part: part_of(series, what, parts) }).collect();
        Fit { series, turns }
    }

    /// The name of the commit of a point: its tag where the trend knows it, else seven digits.
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

    /// The level that holds now, or that a drift has come to; absent where no level is fitted.
    pub fn newest_level(&self) -> Option<f64> {
        self.pieces().last().map(|piece| piece.to)
    }
}

impl What<'_> {
    /// The first point that is no longer at the level before.
    pub fn begin(&self) -> usize {
        match self {
            What::Change(change) => change.index,
            What::Drift(drift) => drift.begin,
        }
    }

    /// The first point at the level after.
    pub fn end(&self) -> usize {
        match self {
            What::Change(change) => change.index,
            What::Drift(drift) => drift.end,
        }
    }

    /// The level before, in base units.
    pub fn before(&self) -> f64 {
        match self {
            What::Change(change) => change.before.value,
            What::Drift(drift) => drift.before,
        }
    }

    pub fn after(&self) -> f64 {
        match self {
            What::Change(change) => change.after.value,
            What::Drift(drift) => drift.after,
        }
    }

    pub fn is_drift(&self) -> bool {
        matches!(self, What::Drift(_))
    }
}

impl Turn<'_> {
    /// The level after over that before, less 1; absent where there was none before. That of a drift has an interval only
    /// where its event knows it.
    pub fn relative(&self) -> Option<Level> {
        let level = match self.what {
            What::Change(change) => change.relative,
            What::Drift(drift) => {
                let value = (drift.after / drift.before - 1.0) * drift.before.signum();
                let bare = Level { value, lower: f64::NAN, upper: f64::NAN };
                let present = self.part.and_then(|(_, member)| member.relative);
                present.map_or(bare, |present| Level { value, ..present })
            }
        };
        level.value.is_finite().then_some(level)
    }

    /// The chance that a point of a series which holds nothing gives a turn as clear.
    pub fn chance(&self) -> f64 {
        match self.what {
            What::Change(change) => change.chance,
            What::Drift(drift) => drift.chance,
        }
    }

    /// Whether it is put down to the machine or what is installed on it.
    pub fn is_of_environment(&self) -> bool {
        self.part.is_some_and(|(event, _)| event.kind == EventKind::Environment)
    }

    /// Whether it made the metric worse.
    pub fn is_worse(&self, metric: &Metric) -> bool {
        (self.what.after() > self.what.before()) == (metric.better == Better::Lower)
    }

    /// Whether it got the metric worse, still does, a commit is to blame for sure, and nobody accepts that.
    pub fn is_open(&self, metric: &Metric) -> bool {
        let is_present = |(event, member): (&Event, &Member)| event.is_open_regression() && member.standing;
        self.part.is_some_and(is_present) && self.is_worse(metric)
    }

    /// The colour of its cause: the environment, the doubt of a drift, else which way it went.
    pub fn tone(&self, metric: &Metric) -> Tone {
        match self.is_of_environment() {
            true => Tone::Environment,
            false if self.what.is_drift() => Tone::Doubt,
            false if self.is_worse(metric) => Tone::Worse,
            false => Tone::Better,
        }
    }

    /// Its glyph: where the number went, or that the environment is to blame.
    pub fn glyph(&self) -> &'static str {
        let rose = self.what.after() > self.what.before();
        match (self.is_of_environment(), self.what.is_drift(), rose) {
            (true, ..) => "◇",
            (_, true, true) => "↗",
            (_, true, false) => "↘",
            (_, _, true) => "▲",
            (_, _, false) => "▼",
        }
    }

    /// What changed about the environment with it, in a few words; nothing where it has no fact.
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
    what: What<'_>,
    parts: &[(&'a Event, &'a Member)],
) -> Option<(&'a Event, &'a Member)> {
    let at = series.pooled.get(what.end().min(series.pooled.len().checked_sub(1)?))?;
    let apart = |member: &Member| (member.before.value - what.before()).abs();
    let alike = parts
        .iter()
        .copied()
        .filter(|(event, member)| (event.kind == EventKind::Drift) == what.is_drift() && member.at.sha == *at.commit);
    alike.min_by(|(_, a), (_, b)| apart(a).total_cmp(&apart(b)))
}

/// A piece of the fitted line: a level, or the ramp of a drift.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    pub points: Range<usize>,
    /// Its value at the first of them, in base units.
    pub from: f64,
    /// Its value at the last.
    pub to: f64,
    /// Whether it begins where a level ended at once, rather than where a ramp does.
    pub is_step: bool,
    pub is_ramp: bool,
}

impl Fit<'_> {
    /// The fitted line; nothing where no level is fitted.
    pub fn pieces(&self) -> Vec<Piece> {
        let changes = &self.series.changes;
        let count = self.series.pooled.len();
        let begins = std::iter::once(0).chain(changes.points.iter().map(|change| change.index));
        let ends = changes.points.iter().map(|change| change.index).chain([count]);
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
        let count = self.series.pooled.len();
        let begins = std::iter::once(0).chain(self.turns.iter().map(|turn| turn.what.end()));
        let ends = self.turns.iter().map(|turn| turn.what.begin()).chain([count]);
        begins.zip(ends).map(|(begin, end)| begin..end.max(begin)).collect()
    }
}

/// A segment between changes: its level, or the levels about the drifts in it and their ramps.
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
