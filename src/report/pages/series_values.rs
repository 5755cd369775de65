//! The values of a series: its points as a table, newest first, and the distribution at the newest commit: what each of its processes
//! measured, and the newest points of its level.

use askama::Template;

use super::cell;
use super::series_chart::{ROWS, environment_change, on_line};
use crate::catalog::Catalog;
use crate::chart::spread::{self, Spread};
use crate::date;
use crate::fit::Fit;
use crate::mark::{Mark, Tone};
use crate::number::{self, counted};
use crate::phrase::Phrase;
use crate::sheet::Section;
use crate::text::{short_commit, short_digest, shortened};
use sprag_model::series::{Point, Series};
use sprag_model::unit::Scale;

/// The longest list of tags in the table, in characters.
const TAGS: usize = 70;

/// The newest points of the level in the distribution, and the fewest values of each side: a single one has no distribution.
const MOST: usize = 30;
const FEWEST: usize = 2;

pub(super) struct PointRow {
    pub(super) place: f64,
    /// The commit with its tags, or of a run without a commit the run.
    pub(super) commit: Phrase,
    pub(super) time: String,
    pub(super) value: String,
    pub(super) interval: String,
    pub(super) marks: Vec<Mark>,
}

/// The newest points, and a sentence on how many there are.
pub(super) fn rows(catalog: &Catalog<'_>, series: &Series, scale: Scale) -> (Vec<PointRow>, String) {
    let placed = on_line(&series.points, catalog.line);
    let before = |i: usize| i.checked_sub(1).map(|before| placed[before].1);
    let rows = (0..placed.len()).rev().take(ROWS).map(|i| row(catalog, before(i), placed[i], scale)).collect();
    let all = counted(placed.len(), "run", "runs");
    let note = match placed.len().saturating_sub(ROWS) {
        0 => format!("{all}, newest commit first."),
        more => {
            let rest = counted(more, "earlier run is", "earlier runs are");
            format!("The newest {ROWS} of {all}, newest commit first. {rest} in the chart only.")
        }
    };
    (rows, note)
}

fn row(catalog: &Catalog<'_>, before: Option<&Point>, (place, point): (f64, &Point), scale: Scale) -> PointRow {
    let mut marks = Vec::new();
    if let Some(before) = before.filter(|before| before.environment_key != point.environment_key) {
        marks.push(Mark::new(Tone::Environment, "◇", environment_change(before, point, catalog)));
    }
    if point.dirty {
        marks.push(Mark::new(Tone::Doubt, "◆", "uncommitted changes"));
    }
    if point.position.is_none() && !point.commit.is_empty() && !catalog.line.commits.is_empty() {
        marks.push(Mark::new(Tone::Doubt, "?", "commit not on this branch"));
    }
    let name = match &*point.commit {
        "" => format!("run {}", short_digest(&point.run)),
        sha => short_commit(sha).to_owned(),
    };
    let page = catalog.commit_page(&point.commit).or_else(|| catalog.run_place(&point.run));
    let name = Phrase::page_name(page, name);
    let on_line = point.position.and_then(|position| catalog.line.commits.get(position));
    let commit = match on_line.filter(|commit| !commit.tags.is_empty()) {
        Some(commit) => name.text(" ").strong(shortened(&commit.tags.join(" "), TAGS)),
        None => name,
    };
    PointRow {
        place,
        commit,
        time: date::moment(point.time),
        value: number::value(scale, point.value),
        interval: cell::or_none(point.interval, |interval| number::interval(scale, interval)),
        marks,
    }
}

#[derive(Template)]
#[template(path = "partials/spread.html")]
struct Newest {
    note: String,
    picture: Spread,
    column: String,
    /// A figure each, of the level and of the newest commit.
    rows: Vec<(&'static str, [String; 2])>,
}

const FIGURES: [&str; 6] = ["Values", "Lowest", "First quarter", "Median", "Third quarter", "Highest"];

/// The section of a series; none where one process measured its newest commit, or where no level is fitted.
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
    let note = format!(
        "What {} measured at {}, and {} of its level before it.",
        counted(processes.len(), "process", "processes"),
        short_commit(&last.commit),
        counted(level.len(), "point", "points")
    );
    let median = |values: &[f64]| number::quantity(scale, spread::quarters(values).1);
    let label = format!("{note} Medians: level {}, newest {}", median(&level), median(&processes));
    let (of_level, of_newest) = (figures(&level, scale), figures(&processes, scale));
    let rows = FIGURES.into_iter().zip(of_level.into_iter().zip(of_newest)).map(|(name, (a, b))| (name, [a, b]));
    Some(Newest {
        note,
        column: number::column("Figure", scale),
        rows: rows.collect(),
        picture: Spread { sides: [("level", level), ("newest", processes)], scale, label },
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
    use crate::fit::example;
    use crate::sample_data;
    use sprag_model::trend::SeriesTrend;

    /// A series of 40 points with a change at the thirtieth, whose newest commit was measured by so many processes.
    fn measured_by(processes: usize) -> (Series, SeriesTrend) {
        let trend = example::series(1.0, 40, vec![example::change(30, 1.0, 1.2)], vec![]);
        let mut series = sample_data::rich().analysis.series[0].series.clone();
        let last = trend.pooled.last().expect("it has points");
        let mut point = Point { of: last.first.clone(), ..series.points[0].clone() };
        point.workers = (0..processes).map(|i| 1.2 + 0.01 * i as f64).collect();
        series.points = vec![point];
        (series, trend)
    }

    #[test]
    fn the_newest_commit_is_shown_with_its_level() {
        let (series, trend) = measured_by(5);
        let scale = trend.metric.unit.scale(1.0);
        let newest = at_newest(&series, Some(&Fit::new(&trend, &[])), scale).expect("it has both");
        assert!(
            newest.note.starts_with("What 5 processes measured at ") && newest.note.contains("and 9 points"),
            "{}",
            newest.note
        );
        let row = |place: usize| (newest.rows[place].0, newest.rows[place].1[1].as_str());
        assert_eq!([row(0), row(1), row(3)], [("Values", "5"), ("Lowest", "1.200"), ("Median", "1.220")]);
        assert_eq!(newest.rows[0].1[0], "9");
        let picture = newest.picture.to_string();
        assert!(picture.contains(">newest<") && picture.contains("Medians: level "), "{}", picture);
    }

    #[test]
    fn one_process_has_no_distribution() {
        let (series, trend) = measured_by(1);
        let scale = trend.metric.unit.scale(1.0);
        assert!(at_newest(&series, Some(&Fit::new(&trend, &[])), scale).is_none());
        assert!(at_newest(&series, None, scale).is_none());
        let empty = example::series(1.0, 0, vec![], vec![]);
        assert!(at_newest(&series, Some(&Fit::new(&empty, &[])), scale).is_none());
    }
}
