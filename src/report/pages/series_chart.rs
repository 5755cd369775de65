//! The trend of a series as its chart wants it: runs by place, and what was fitted to them.

use std::collections::BTreeMap;

use super::series_points;
use crate::catalog::Catalog;
use crate::chart::trend::{Dot, Fitted, Line, Processes, Trend, Turn};
use crate::fit::{Fit, What};
use crate::mark::{Mark, Tone};
use crate::number;
use crate::timeline;
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::event::Event;
use sprag_model::series::Point;
use sprag_model::unit::Scale;

/// The newest runs of which the data of the chart has what each process measured: as many as the table of points lists.
const WITH_PROCESSES: usize = series_points::ROWS;

/// The chart of a series; `sentence` says what is to be seen, `is_spread` that the page shows the distribution at a commit.
pub(super) fn trend(
    catalog: &Catalog<'_>,
    of: &SeriesAnalysis,
    fit: Option<&Fit<'_>>,
    sentence: &str,
    scale: Scale,
    is_spread: bool,
) -> Trend {
    let series = &of.series;
    let placed = placed(catalog, of, fit);
    let comparison = of.comparison.as_ref();
    let on_line = fit.is_none_or(|fit| is_on_line(catalog, fit));
    Trend {
        id: "trend".to_owned(),
        title: format!("Trend of {}, {} on {}", series.benchmark, series.metric.name, series.machine_name),
        description: format!("{sentence} The tables below give every change and the newest points."),
        scale,
        dots: placed
            .iter()
            .map(|(place, point)| Dot {
                place: *place,
                value: point.value,
                interval: point.interval,
                commit: point.commit.clone(),
            })
            .collect(),
        processes: fit.filter(|_| is_spread).and_then(|fit| processes(&placed, fit)),
        fit: fit.and_then(|fit| fitted(catalog, fit, scale)),
        baseline: comparison.and_then(|comparison| comparison.baseline).or(of.latest.baseline),
        limit: comparison.and_then(|comparison| comparison.allowed),
        releases: if on_line { timeline::releases(&placed, catalog.line) } else { Vec::new() },
        environments: timeline::environments(&placed, catalog),
        dates: timeline::dates(&placed, catalog.line),
        newest: number::quantity(scale, of.latest.current),
        tone: comparison.map_or(Tone::Plain, |comparison| Mark::tone_of(&comparison.verdict)),
    }
}

/// What each process measured in the newest runs, by measurement: all runs of a commit in an environment, or one that was not fitted.
fn processes(placed: &[(f64, &Point)], fit: &Fit<'_>) -> Option<Processes> {
    let last = fit.series.pooled.last()?;
    let is_apart = |place: f64, point: &Point| point.dirty || place.fract() != 0.0;
    let newest = &placed[placed.len().saturating_sub(WITH_PROCESSES)..];
    let mut present: Vec<(&str, &str)> = Vec::new();
    let mut groups = Vec::with_capacity(newest.len());
    for (place, point) in newest {
        let key = if is_apart(*place, point) { (&*point.run, "") } else { (&*point.commit, &*point.environment_key) };
        let group = present.iter().position(|one| *one == key).unwrap_or(present.len());
        if group == present.len() {
            present.push(key);
        }
        groups.push(group);
    }
    Some(Processes {
        values: newest.iter().map(|(_, point)| point.workers.clone()).collect(),
        newest: present.iter().position(|one| *one == (&*last.commit, &*last.environment_key))?,
        groups,
        apart: (0..placed.len()).filter(|number| is_apart(placed[*number].0, placed[*number].1)).collect(),
    })
}

/// The runs of a series by place: on the line of commits, or on the commits of its machine where the fit uses these.
fn placed<'a>(catalog: &Catalog<'_>, of: &'a SeriesAnalysis, fit: Option<&Fit<'_>>) -> Vec<(f64, &'a Point)> {
    let Some(fit) = fit.filter(|fit| !is_on_line(catalog, fit)) else {
        return timeline::placed(&of.series.points, catalog.line);
    };
    let places: BTreeMap<&str, usize> = fit.series.pooled.iter().map(|point| (&*point.commit, point.place)).collect();
    let mut placed: Vec<(f64, &Point)> =
        of.series.points.iter().filter_map(|point| Some((*places.get(&*point.commit)? as f64, point))).collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed
}

/// Whether the points of a fit are on the line of commits.
fn is_on_line(catalog: &Catalog<'_>, fit: &Fit<'_>) -> bool {
    let commits = &catalog.line.commits;
    fit.series.pooled.iter().all(|point| commits.get(point.place).is_some_and(|commit| commit.sha == *point.commit))
}

/// Whether a run of the chart is not at the place of its commit on the line, so that the chart must name it.
pub(super) fn names_commits(catalog: &Catalog<'_>, trend: &Trend) -> bool {
    let commits = &catalog.line.commits;
    let is_at = |dot: &Dot| commits.get(dot.place as usize).is_some_and(|commit| *commit.sha == *dot.commit);
    !trend.dots.iter().all(|dot| dot.place.fract() == 0.0 && is_at(dot))
}

/// Levels, turns and suspects by place; nothing where no level is fitted.
fn fitted(catalog: &Catalog<'_>, fit: &Fit<'_>, scale: Scale) -> Option<Fitted> {
    let newest = fit.newest_level()?;
    let pooled = &fit.series.pooled;
    let last = pooled.len() - 1;
    let place = |index: usize| pooled[index.min(last)].place as f64;
    // A level ends right before the first commit of the next one.
    let edge = |index: usize| place(index) - 0.5;
    let pieces = fit.pieces();
    let begins: Vec<f64> = pieces
        .iter()
        .map(|piece| if piece.is_step { edge(piece.points.start) } else { place(piece.points.start) })
        .collect();
    let ends = begins.iter().skip(1).copied().chain([place(last)]);
    let lines = pieces
        .iter()
        .zip(begins.iter().zip(ends))
        .map(|(piece, (begin, end))| Line { places: (*begin, end.max(*begin)), values: (piece.from, piece.to) })
        .collect();
    let turns = fit.turns.iter().enumerate().map(|(number, turn)| {
        let places = match turn.what {
            What::Change(change) => (edge(change.index), edge(change.index)),
            What::Drift(drift) => (place(drift.begin), place(drift.end)),
        };
        let size = turn.relative().map_or(String::new(), |relative| number::percent(relative.value));
        Turn {
            number: number + 1,
            tone: turn.tone(&fit.series.metric),
            places,
            values: (turn.what.before(), turn.what.after()),
            words: if turn.what.is_drift() { format!("{} {size}", turn.glyph()) } else { size },
        }
    });
    let open = fit.turns.iter().filter_map(|turn| {
        let (event, _) = turn.part.filter(|_| turn.is_open(&fit.series.metric))?;
        let What::Change(change) = turn.what else { return None };
        let of_points = || (place(change.first.saturating_sub(1)) + 0.5, place(change.last) + 0.5);
        Some(suspects(catalog, fit, event).unwrap_or_else(of_points))
    });
    Some(Fitted { lines, turns: turns.collect(), suspects: open.collect(), newest: number::quantity(scale, newest) })
}

/// The places of the suspects of an event, where the line holds them.
fn suspects(catalog: &Catalog<'_>, fit: &Fit<'_>, event: &Event) -> Option<(f64, f64)> {
    if !is_on_line(catalog, fit) {
        return None;
    }
    let places = || event.suspects.iter().filter_map(|suspect| catalog.position(&suspect.commit.sha));
    Some((places().min()? as f64 - 0.5, places().max()? as f64 + 0.5))
}
