//! The points of a series as a table, newest first.

use chrono::{DateTime, Utc};

use crate::catalog::Catalog;
use crate::chart::trend::Dot;
use crate::mark::{Mark, Tone};
use crate::phrase::Phrase;
use crate::text::{short_commit, short_digest, shortened};
use crate::{date, number, timeline};
use sprag_model::series::{Point, Series};
use sprag_model::unit::Scale;

/// The newest points that a table shows.
pub(super) const ROWS: usize = 50;

/// The longest list of tags in a table, in characters.
const TAGS: usize = 70;

pub(super) struct PointRow {
    /// Its place in the chart, where rows and runs have another order.
    pub(super) place: Option<f64>,
    /// The commit with its tags, or of a run without a commit the run.
    pub(super) commit: Phrase,
    time: DateTime<Utc>,
    value: f64,
    interval: Option<(f64, f64)>,
    scale: Scale,
    /// What is special about the point.
    pub(super) marks: Vec<Mark>,
}

/// What is put into words when the page is drawn.
impl PointRow {
    pub(super) fn time(&self) -> String {
        date::moment(self.time)
    }

    pub(super) fn value(&self) -> String {
        number::value(self.scale, self.value)
    }

    pub(super) fn interval(&self) -> String {
        super::cell::or_none(self.interval, |interval| number::interval(self.scale, interval))
    }
}

/// The newest points, and a sentence on how many there are. Places are left out where the rows are the newest runs of the
/// chart: the script knows these.
pub(super) fn rows(catalog: &Catalog<'_>, series: &Series, scale: Scale, dots: &[Dot]) -> (Vec<PointRow>, String) {
    let placed = timeline::placed(&series.points, catalog.line);
    let ordered: Vec<&Point> = placed.iter().map(|(_, point)| *point).collect();
    let before = |i: usize| i.checked_sub(1).map(|before| ordered[before]);
    let rows = (0..ordered.len()).rev().take(ROWS).map(|i| row(catalog, before(i), placed[i], scale));
    let mut rows: Vec<PointRow> = rows.collect();
    let newest = dots.iter().rev();
    if rows.len() <= dots.len() && rows.iter().zip(newest).all(|(row, dot)| row.place == Some(dot.place)) {
        rows.iter_mut().for_each(|row| row.place = None);
    }
    let all = number::counted(ordered.len(), "run", "runs");
    let note = match ordered.len().saturating_sub(ROWS) {
        0 => format!("{all}, newest commit first."),
        more => {
            let rest = number::counted(more, "earlier run is", "earlier runs are");
            format!("The newest {} of {all}, newest commit first. {rest} in the chart only.", number::count(ROWS))
        }
    };
    (rows, note)
}

fn row(catalog: &Catalog<'_>, before: Option<&Point>, (place, point): (f64, &Point), scale: Scale) -> PointRow {
    let mut marks = Vec::new();
    if let Some(before) = before.filter(|before| before.environment_key != point.environment_key) {
        marks.push(Mark::new(Tone::Environment, "◇", timeline::environment_change(before, point, catalog)));
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
    let name = Phrase::default().name(page, name);
    let on_line = point.position.and_then(|position| catalog.line.commits.get(position));
    let commit = match on_line.filter(|commit| !commit.tags.is_empty()) {
        Some(commit) => name.text(" ").strong(shortened(&commit.tags.join(" "), TAGS)),
        None => name,
    };
    let (time, value, interval) = (point.time, point.value, point.interval);
    PointRow { place: Some(place), commit, time, value, interval, scale, marks }
}
