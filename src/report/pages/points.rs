//! The points of a series as a table, newest first.

use chrono::{DateTime, Utc};

use crate::catalog::Catalog;
use crate::chart::trend::Dot;
use crate::mark::{Mark, Tone};
use crate::text::{short_commit, short_digest, shortened};
use crate::{date, number, timeline};
use sprag_model::series::{Point, Series};
use sprag_model::unit::Scale;

/// The newest points that a table shows.
pub(super) const ROWS: usize = 50;

/// The longest list of tags in a table, in characters.
const TAGS: usize = 70;

pub(super) struct PointRow {
    /// Its place in the chart, where the rows do not stand in the order of its runs.
    pub(super) place: Option<f64>,
    /// The commit, or of a run without one the run.
    pub(super) commit: String,
    pub(super) tags: String,
    time: DateTime<Utc>,
    value: f64,
    interval: Option<(f64, f64)>,
    scale: Scale,
    /// Where to read of the commit or the run, or nothing.
    pub(super) page: String,
    /// What is special about the point.
    pub(super) marks: Vec<Mark>,
}

/// What is put into words when the page is drawn.
impl PointRow {
    /// When the run took place.
    pub(super) fn time(&self) -> String {
        date::moment(self.time)
    }

    pub(super) fn value(&self) -> String {
        number::value(self.scale, self.value)
    }

    pub(super) fn interval(&self) -> String {
        self.interval.map_or(number::NONE.to_owned(), |(low, high)| {
            format!("{} to {}", number::value(self.scale, low), number::value(self.scale, high))
        })
    }
}

/// Leaves out places that the script knows: where the rows are the newest runs of the chart.
pub(super) fn without_known_places(rows: &mut [PointRow], dots: &[Dot]) {
    let is_known =
        rows.len() <= dots.len() && rows.iter().zip(dots.iter().rev()).all(|(row, dot)| row.place == Some(dot.place));
    rows.iter_mut().filter(|_| is_known).for_each(|row| row.place = None);
}

/// The newest points, and a sentence on how many there are.
pub(super) fn rows(catalog: &Catalog<'_>, series: &Series, scale: Scale) -> (Vec<PointRow>, String) {
    let placed = timeline::placed(&series.points, catalog.line);
    let ordered: Vec<&Point> = placed.iter().map(|(_, point)| *point).collect();
    let rows = (0..ordered.len())
        .rev()
        .take(ROWS)
        .map(|i| row(catalog, i.checked_sub(1).map(|before| ordered[before]), placed[i], scale))
        .collect();
    let all = number::counted(ordered.len(), "run", "runs");
    let note = if ordered.len() > ROWS {
        let rest = number::counted(ordered.len() - ROWS, "earlier run is", "earlier runs are");
        format!("The newest {} of {all}, newest commit first. {rest} in the chart only.", number::count(ROWS))
    } else {
        format!("{all}, newest commit first.")
    };
    (rows, note)
}

fn row(catalog: &Catalog<'_>, before: Option<&Point>, (place, point): (f64, &Point), scale: Scale) -> PointRow {
    let commit = point.position.and_then(|position| catalog.line.commits.get(position));
    let mut marks = Vec::new();
    if let Some(before) = before.filter(|before| before.environment_key != point.environment_key) {
        let change = timeline::environment_change(before, point, catalog);
        marks.push(Mark::new(Tone::Environment, "◇", change));
    }
    if point.dirty {
        marks.push(Mark::new(Tone::Doubt, "◆", "changed files"));
    }
    if point.position.is_none() && !point.commit.is_empty() && !catalog.line.commits.is_empty() {
        marks.push(Mark::new(Tone::Doubt, "?", "commit not on this line"));
    }
    PointRow {
        place: Some(place),
        commit: match &*point.commit {
            "" => format!("run {}", short_digest(&point.run)),
            sha => short_commit(sha).to_owned(),
        },
        tags: commit.map_or(String::new(), |commit| shortened(&commit.tags.join(" "), TAGS)),
        time: point.time,
        value: point.value,
        interval: point.interval,
        scale,
        page: catalog.commit_page(&point.commit).or_else(|| catalog.run_place(&point.run)).unwrap_or_default(),
        marks,
    }
}
