//! The runs of a series in commit order, for its chart and table: with the fit, releases, environments, and dates.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Utc};

use super::frame::prelude::*;
use crate::chart::trend::{Dot, Fitted, Flag, Line, PlotTurn, Processes, TrendPlot};
use crate::fit::{Fit, Piece};
use crate::number::NARROW;
use crate::order::natural;
use crate::text::{decoded, short_commit, short_digest, without_brackets};
use sprag_model::{CommitLine, Event, Modes, Point, Scale, Series, SeriesAnalysis};

/// How many of the newest runs the table lists; these have the values of their processes in the data of the chart.
const ROWS: usize = 15;

/// The longest label of a flag, and the longest value of a fact in one, in characters.
const LABEL: usize = 26;
const FACT: usize = 9;

/// The series of a kind that can be drawn over another.
const OTHERS: usize = 60;

/// A period shorter than this share of the usual one has no label.
const SHORT: f64 = 0.4;

/// `sentence` says what the chart shows; `is_spread` whether the page shows the distribution at a commit.
pub(super) fn trend(
    catalog: &Catalog<'_>,
    of: &SeriesAnalysis,
    fit: Option<&Fit<'_>>,
    sentence: &str,
    scale: Scale,
    is_spread: bool,
) -> TrendPlot {
    let series = &of.series;
    let placed = placed(catalog, of, fit);
    let comparison = of.comparison.as_ref();
    let is_on_line = fit.is_none_or(|fit| self::is_on_line(catalog, fit));
    TrendPlot {
        title: format!("Trend of {}, {} on {}", decoded(&series.benchmark), series.metric.name, series.machine_name),
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
        releases: if is_on_line { releases(&placed, catalog.line) } else { Vec::new() },
        environments: environments(&placed, catalog),
        dates: dates(&placed, catalog.line),
        newest: number::quantity(scale, of.latest.current),
        tone: comparison.map_or(Tone::Plain, |comparison| Mark::tone_of(&comparison.verdict)),
    }
}

/// The series that the script draws over it on demand, of the same kernel and metric, by what they differ in: id, and that in words.
pub(super) fn others(catalog: &Catalog<'_>, own: &Series) -> Vec<(&'static str, Vec<(String, String)>)> {
    if !catalog.is_compared() || !catalog.fit(&own.id).is_some_and(|fit| is_on_line(catalog, &fit)) {
        return Vec::new();
    }
    let all = catalog.kernel(&own.suite, &own.name).iter().map(|other| &other.series);
    let is_alike = |other: &&Series| {
        (other.id != own.id && other.metric == own.metric && other.version == own.version)
            && catalog.fit(&other.id).is_some_and(|fit| is_on_line(catalog, &fit))
    };
    let mut all: Vec<&Series> = all.filter(is_alike).collect();
    all.sort_by(|a, b| natural(&a.benchmark, &b.benchmark).then_with(|| a.machine_name.cmp(&b.machine_name)));
    let mut kinds =
        ["Another variant", "Another size", "Another machine", "Several of these"].map(|kind| (kind, Vec::new()));
    for other in all {
        let (place, words) =
            match (other.variant == own.variant, other.params == own.params, other.machine == own.machine) {
                (false, true, true) => (0, short_benchmark(&other.benchmark)),
                (true, false, true) => (1, without_brackets(&other.params)),
                (true, true, false) => (2, other.machine_name.clone()),
                (_, _, is_here) => {
                    let place = if is_here { String::new() } else { format!(" on {}", other.machine_name) };
                    (3, short_benchmark(&other.benchmark) + &place)
                }
            };
        kinds[place].1.push((other.id.clone(), words));
    }
    kinds.iter_mut().for_each(|(_, others)| others.truncate(OTHERS));
    kinds.into_iter().filter(|(_, others)| !others.is_empty()).collect()
}

/// What each process measured in the newest runs. All runs of a commit in an environment are one measurement, unless they were not fitted.
fn processes(placed: &[(f64, &Point)], fit: &Fit<'_>) -> Option<Processes> {
    let last = fit.series.pooled.last()?;
    let is_apart = |place: f64, point: &Point| point.dirty || place.fract() != 0.0;
    let newest = &placed[placed.len().saturating_sub(ROWS)..];
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

/// The runs of a series by place: on the line of commits, or on the commits of its machine where the fit uses those.
fn placed<'a>(catalog: &Catalog<'_>, of: &'a SeriesAnalysis, fit: Option<&Fit<'_>>) -> Vec<(f64, &'a Point)> {
    let Some(fit) = fit.filter(|fit| !is_on_line(catalog, fit)) else {
        return on_line(&of.series.points, catalog.line);
    };
    let places: BTreeMap<&str, usize> = fit.series.pooled.iter().map(|point| (&*point.commit, point.place)).collect();
    let mut placed: Vec<(f64, &Point)> =
        of.series.points.iter().filter_map(|point| Some((*places.get(&*point.commit)? as f64, point))).collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed
}

fn is_on_line(catalog: &Catalog<'_>, fit: &Fit<'_>) -> bool {
    let commits = &catalog.line.commits;
    fit.series.pooled.iter().all(|point| commits.get(point.place).is_some_and(|commit| commit.sha == *point.commit))
}

/// Whether some run is not at the place of its commit on the line, so that the chart must name it.
pub(super) fn names_commits(catalog: &Catalog<'_>, trend: &TrendPlot) -> bool {
    let commits = &catalog.line.commits;
    let is_at = |dot: &Dot| commits.get(dot.place as usize).is_some_and(|commit| *commit.sha == *dot.commit);
    !trend.dots.iter().all(|dot| dot.place.fract() == 0.0 && is_at(dot))
}

/// Nothing where no level is fitted.
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
        .map(|(piece, (begin, end))| Line {
            places: (*begin, end.max(*begin)),
            values: (piece.from, piece.to),
            modes: modes(fit, piece),
        })
        .collect();
    let turns = fit.turns.iter().enumerate().map(|(number, turn)| {
        let shift = if turn.is_drift { 0.0 } else { 0.5 };
        let size = turn.relative.map_or(String::new(), |relative| number::percent(relative.value));
        PlotTurn {
            number: number + 1,
            tone: turn.tone(&fit.series.metric),
            places: (place(turn.begin) - shift, place(turn.end) - shift),
            values: (turn.before, turn.after),
            words: if turn.is_drift { format!("{} {size}", turn.glyph(&fit.series.metric)) } else { size },
        }
    });
    let open = fit.turns.iter().filter_map(|turn| {
        let (event, _) = turn.part.filter(|_| turn.is_open(&fit.series.metric) && !turn.is_drift)?;
        let of_points = || (place(turn.range.0.saturating_sub(1)) + 0.5, place(turn.range.1) + 0.5);
        Some(suspects(catalog, fit, event).unwrap_or_else(of_points))
    });
    let newest = fit.present_modes().map_or_else(
        || number::quantity(scale, newest),
        |one| if one.share.is_some() { "2 modes" } else { "unstable" }.to_owned(),
    );
    Some(Fitted { lines, turns: turns.collect(), suspects: open.collect(), newest })
}

/// Of the newest modes in a level their two levels.
fn modes(fit: &Fit<'_>, piece: &Piece) -> Option<(f64, f64)> {
    let is_in = |modes: &&Modes| modes.begin < piece.points.end && piece.points.start < modes.end;
    let modes = fit
        .series
        .changes
        .modes
        .iter()
        .rev()
        .find(is_in)
        .filter(|one| one.share.is_some() && piece.from == piece.to)?;
    Some((modes.low, modes.high))
}

/// The places of the suspects of an event; nothing where the line does not have them.
fn suspects(catalog: &Catalog<'_>, fit: &Fit<'_>, event: &Event) -> Option<(f64, f64)> {
    if !is_on_line(catalog, fit) {
        return None;
    }
    let places = || event.suspects.iter().filter_map(|suspect| catalog.position(&suspect.commit.sha));
    Some((places().min()? as f64 - 0.5, places().max()? as f64 + 0.5))
}

/// The points of a series, each with its place, in the order of their places.
fn on_line<'a>(points: &'a [Point], line: &CommitLine) -> Vec<(f64, &'a Point)> {
    let is_any_on_line = points.iter().any(|point| point.position.is_some());
    let mut placed: Vec<(f64, &Point)> = points
        .iter()
        .enumerate()
        .map(|(rank, point)| {
            let place = match point.position {
                Some(position) => position as f64,
                // A commit that is not on the line is placed between the commits of its time.
                None if is_any_on_line => {
                    line.commits.partition_point(|commit| commit.commit_time <= point.time) as f64 - 0.5
                }
                None => rank as f64,
            };
            (place, point)
        })
        .collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed
}

fn releases(placed: &[(f64, &Point)], line: &CommitLine) -> Vec<Flag> {
    if placed.iter().all(|(_, point)| point.position.is_none()) {
        return Vec::new();
    }
    let tagged = line.commits.iter().enumerate().filter(|(_, commit)| !commit.tags.is_empty());
    tagged
        .map(|(position, commit)| {
            let more = if commit.tags.len() > 1 { " …" } else { "" };
            Flag { place: position as f64, label: shortened(&commit.tags[0], LABEL) + more }
        })
        .collect()
}

fn environments(placed: &[(f64, &Point)], catalog: &Catalog<'_>) -> Vec<Flag> {
    placed
        .windows(2)
        .filter(|pair| pair[0].1.environment_key != pair[1].1.environment_key)
        .map(|pair| Flag {
            place: f64::midpoint(pair[0].0, pair[1].0),
            label: environment_change(pair[0].1, pair[1].1, catalog),
        })
        .collect()
}

fn environment_change(before: &Point, after: &Point, catalog: &Catalog<'_>) -> String {
    let (Some(before), Some(after)) = (catalog.run(&before.run), catalog.run(&after.run)) else {
        return "environment".to_owned();
    };
    let changes = before.environment.differences(&after.environment);
    match changes.as_slice() {
        [] => "environment".to_owned(),
        [change] => {
            let name = change.fact.replace('_', " ");
            if change.was.chars().count() <= FACT && change.is.chars().count() <= FACT {
                format!("{name} {} → {}", change.was, change.is)
            } else {
                name
            }
        }
        several => format!("{} facts", several.len()),
    }
}

/// Dates for the axis: months, or days where these are few, or years where they are many.
fn dates(placed: &[(f64, &Point)], line: &CommitLine) -> Vec<Flag> {
    let times: Vec<(f64, DateTime<Utc>)> = placed.iter().map(|(place, point)| (*place, written(point, line))).collect();
    let months = first_of_each(&times, |time| (time.year(), time.month()));
    let years = first_of_each(&times, |time| (time.year(), 1));
    let (chosen, label): (_, fn(DateTime<Utc>, bool) -> String) = if years.len() > 5 {
        (years, |time, _| time.year().to_string())
    } else if months.len() > 3 {
        (months, |time, new_year| {
            let month = date::month(time.month());
            if new_year { format!("{month} {}", time.year()) } else { month.to_owned() }
        })
    } else {
        let days = first_of_each(&times, |time| (time.year(), time.ordinal()));
        (days, |time, _| format!("{}{NARROW}{}", time.day(), date::month(time.month())))
    };
    let chosen = without_short(chosen);
    let mut year = None;
    let flag = |(place, time): (f64, DateTime<Utc>)| {
        let is_new_year = year.replace(time.year()) != Some(time.year());
        Flag { place, label: label(time, is_new_year) }
    };
    chosen.into_iter().map(flag).collect()
}

/// The periods without the short ones, which leave no room for the next label.
fn without_short(periods: Vec<(f64, DateTime<Utc>)>) -> Vec<(f64, DateTime<Utc>)> {
    let mut spans: Vec<f64> = periods.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let own = spans.clone();
    spans.sort_by(f64::total_cmp);
    let Some(&usual) = spans.get(spans.len() / 2) else { return periods };
    let long = own.iter().map(|span| *span >= SHORT * usual).chain([true]);
    periods.into_iter().zip(long).filter(|(_, long)| *long).map(|(period, _)| period).collect()
}

/// When the commit of a point was made, or where that is unknown, when the run took place.
fn written(point: &Point, line: &CommitLine) -> DateTime<Utc> {
    point.position.and_then(|position| line.commits.get(position)).map_or(point.time, |commit| commit.commit_time)
}

/// The first place in each period; one that recurs, as with a commit of an odd date, counts once.
fn first_of_each(
    times: &[(f64, DateTime<Utc>)],
    period: impl Fn(DateTime<Utc>) -> (i32, u32),
) -> Vec<(f64, DateTime<Utc>)> {
    let mut latest = (i32::MIN, 0);
    times
        .iter()
        .copied()
        .filter(|(_, time)| {
            let period = period(*time);
            let new = period > latest;
            latest = latest.max(period);
            new
        })
        .collect()
}

const TAGS: usize = 70;

pub(super) struct PointRow {
    pub(super) place: f64,
    /// The commit with its tags; of a run without a commit, the run.
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
        interval: or_none(point.interval, |interval| number::interval(scale, interval)),
        marks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::example;
    use sprag_model::{CommitOnLine, PointRun};

    fn day(day: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(day * 86_400, 0).expect("within range")
    }

    fn points(all: &[(Option<usize>, i64)]) -> Vec<Point> {
        let like = example::series(1.0, 1, vec![], vec![]).pooled[0].first.clone();
        let point = |(position, number): &(Option<usize>, i64)| {
            let of = PointRun { position: *position, time: day(*number), ..(*like).clone() };
            Point { of: of.into(), value: 1.0, interval: None, workers: [].into() }
        };
        all.iter().map(point).collect()
    }

    #[test]
    fn a_commit_off_the_line_is_between_those_of_its_time() {
        let commit = |number: i64| CommitOnLine::new(format!("{number:040}"), day(number), String::new());
        let line = CommitLine { commits: [1, 2, 3].map(commit).into(), ..CommitLine::default() };
        let places = |points: &[Point], line: &CommitLine| -> Vec<f64> {
            on_line(points, line).iter().map(|(place, _)| *place).collect()
        };
        assert_eq!(places(&points(&[(Some(0), 1), (Some(2), 3), (None, 2)]), &line), [0.0, 1.5, 2.0]);
        let unplaced = points(&[(None, 9), (None, 1)]);
        assert_eq!(places(&unplaced, &CommitLine::default()), [0.0, 1.0], "without a line points keep their order");
        assert!(releases(&on_line(&unplaced, &line), &line).is_empty());
    }

    #[test]
    fn dates_fit_the_span() {
        let labels = |days: &[i64]| -> Vec<String> {
            let points = points(&days.iter().map(|day| (None, *day)).collect::<Vec<_>>());
            let placed = on_line(&points, &CommitLine::default());
            dates(&placed, &CommitLine::default()).into_iter().map(|flag| flag.label).collect()
        };
        assert_eq!(labels(&[0, 1, 1]), ["1\u{202f}Jan", "2\u{202f}Jan"]);
        assert_eq!(labels(&[0, 40, 41, 70, 100, 370]), ["Jan 1970", "Feb", "Mar", "Apr", "Jan 1971"]);
        assert_eq!(labels(&[0, 400, 800, 1200, 1600, 2000]), ["1970", "1971", "1972", "1973", "1974", "1975"]);
    }
}
