//! The places of the points of a series in commit order, and what else is there: releases, changes of the
//! environment, dates.

use chrono::{DateTime, Datelike, Utc};

use sprag_model::commit::CommitLine;
use sprag_model::series::Point;

use super::catalog::Catalog;
use super::chart::trend::Flag;
use super::date;
use super::number::NARROW;
use super::text::shortened;

/// The longest label of a flag, in characters.
const LABEL: usize = 26;

/// A period shorter than this share of the usual one has no label.
const SHORT: f64 = 0.4;

/// The longest value of a fact in such a label.
const FACT: usize = 9;

/// The points of a series, each with its place, in the order of their places.
pub(super) fn placed<'a>(points: &'a [Point], line: &CommitLine) -> Vec<(f64, &'a Point)> {
    let on_line = points.iter().any(|point| point.position.is_some());
    let mut placed: Vec<(f64, &Point)> = points
        .iter()
        .enumerate()
        .map(|(rank, point)| {
            let place = match point.position {
                Some(position) => position as f64,
                // A commit that is not on the line is placed between the commits of its time.
                None if on_line => line.commits.partition_point(|commit| commit.commit_time <= point.time) as f64 - 0.5,
                None => rank as f64,
            };
            (place, point)
        })
        .collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed
}

/// The releases among the commits that the points span.
pub(super) fn releases(placed: &[(f64, &Point)], line: &CommitLine) -> Vec<Flag> {
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

/// Where the environment differs from that of the point before.
pub(super) fn environments(placed: &[(f64, &Point)], catalog: &Catalog<'_>) -> Vec<Flag> {
    placed
        .windows(2)
        .filter(|pair| pair[0].1.environment_key != pair[1].1.environment_key)
        .map(|pair| Flag {
            place: f64::midpoint(pair[0].0, pair[1].0),
            label: environment_change(pair[0].1, pair[1].1, catalog),
        })
        .collect()
}

/// What changed between the environments of two points, in a few words.
pub(super) fn environment_change(before: &Point, after: &Point, catalog: &Catalog<'_>) -> String {
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

/// Dates for the axis: months where there are enough, else days; years where there are too many.
pub(super) fn dates(placed: &[(f64, &Point)], line: &CommitLine) -> Vec<Flag> {
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
    let mut flags = Vec::new();
    for (place, time) in chosen {
        flags.push(Flag { place, label: label(time, year != Some(time.year())) });
        year = Some(time.year());
    }
    flags
}

/// Periods without those that hold so few commits that the label of the next would have no room.
fn without_short(periods: Vec<(f64, DateTime<Utc>)>) -> Vec<(f64, DateTime<Utc>)> {
    let mut spans: Vec<f64> = periods.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let own = spans.clone();
    spans.sort_by(f64::total_cmp);
    let Some(&usual) = spans.get(spans.len() / 2) else { return periods };
    let long = own.iter().map(|span| *span >= SHORT * usual).chain([true]);
    periods.into_iter().zip(long).filter(|(_, long)| *long).map(|(period, _)| period).collect()
}

/// When the commit of a point was made; where the line does not know it, when the run took place.
fn written(point: &Point, line: &CommitLine) -> DateTime<Utc> {
    point.position.and_then(|position| line.commits.get(position)).map_or(point.time, |commit| commit.commit_time)
}

/// The first place in each period; a period that comes back, as with a commit of an odd date, does not count.
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

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::commit::CommitOnLine;
    use sprag_model::series::PointRun;

    fn point(position: Option<usize>, day: i64) -> Point {
        let of = PointRun {
            commit: "c".into(),
            position,
            rank: 0,
            time: DateTime::from_timestamp(day * 86_400, 0).expect("within range"),
            environment_key: "".into(),
            run: "".into(),
            dirty: false,
        };
        Point { of: of.into(), value: 1.0, interval: None, workers: [].into() }
    }

    fn line(days: &[i64]) -> CommitLine {
        let commits = days.iter().map(|day| CommitOnLine {
            sha: format!("{day:040}"),
            commit_time: DateTime::from_timestamp(day * 86_400, 0).expect("within range"),
            subject: String::new(),
            tags: Vec::new(),
        });
        CommitLine { commits: commits.collect(), shallow: false, named: false }
    }

    #[test]
    fn a_commit_off_the_line_is_between_those_of_its_time() {
        let points = [point(Some(0), 1), point(Some(2), 3), point(None, 2)];
        let placed = placed(&points, &line(&[1, 2, 3]));
        assert_eq!(placed.iter().map(|(place, _)| *place).collect::<Vec<_>>(), vec![0.0, 1.5, 2.0]);
    }

    #[test]
    fn without_a_line_points_keep_their_order() {
        let points = [point(None, 9), point(None, 1)];
        let placed = placed(&points, &CommitLine::default());
        assert_eq!(placed.iter().map(|(place, _)| *place).collect::<Vec<_>>(), vec![0.0, 1.0]);
        assert!(releases(&placed, &CommitLine::default()).is_empty());
    }

    #[test]
    fn dates_fit_the_span() {
        let labels = |days: &[i64]| -> Vec<String> {
            let points: Vec<Point> = days.iter().map(|day| point(None, *day)).collect();
            let placed = placed(&points, &CommitLine::default());
            dates(&placed, &CommitLine::default()).into_iter().map(|flag| flag.label).collect()
        };
        assert_eq!(labels(&[0, 1, 1]), vec!["1\u{202f}Jan", "2\u{202f}Jan"]);
        assert_eq!(labels(&[0, 40, 41, 70, 100, 370]), vec!["Jan 1970", "Feb", "Mar", "Apr", "Jan 1971"]);
        assert_eq!(labels(&[0, 400, 800, 1200, 1600, 2000]), vec!["1970", "1971", "1972", "1973", "1974", "1975"]);
    }
}
