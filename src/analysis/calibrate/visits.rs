//! A series as what a gate would have judged one after another, and what is known of the truth.
//!
//! A visit is the runs of one commit in one session and environment. Between two consecutive visits of the same commit,
//! nothing changed. Between visits of different commits, nobody knows. Such a pair is treated as clean where the level
//! is the same after and before the later visit, over up to eight visits each. The test is Student's, at a level of one
//! in a thousand. The visit itself has no part in the test, since its own noise could look like a step.
//!
//! Pairs that are treated as clean can still hold changes too small for that test to find, and changes that were soon
//! reverted. An alarm about such a change is treated as a false one, so the rate is overstated. It is understated by at
//! most the one pair in a thousand that is left out although nothing changed.

use chrono::{DateTime, Utc};

use crate::session_noise;
use sprag_base::stats::{describe, student};
use sprag_model::{Baseline, Point, Series};

/// The level of the test for a step, one side of two.
const STEP: f64 = 0.0005;

/// So many visits on either side are needed to find a step, and at most so many are used.
const NEEDED: usize = session_noise::FEWEST_SESSIONS;
const MOST_NEIGHBOURS: usize = session_noise::MOST_SESSIONS;

/// Older visits are left alone: they describe other machines and other code, and a long history takes no longer.
const MOST_VISITS: usize = 200;

/// What lies between a visit and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    /// It is the first in its environment.
    Nothing,
    /// Nothing changed: it is the same commit.
    Rerun,
    /// Another commit, and the level stayed.
    Neighbour,
    /// Another commit, and the level did not stay.
    Step,
    /// Another commit, and there are too few visits before or after.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    /// The place of its first run among those of its environment.
    pub(super) first: usize,
    /// The place behind its last run.
    pub(super) end: usize,
    pub(super) level: f64,
    pub(super) between: Between,
}

/// The runs of a series in one environment, oldest first, and the visits that they make.
pub(super) struct Stay<'s> {
    pub(super) points: Vec<&'s Point>,
    pub(super) visits: Vec<Visit>,
}

/// A series, and what was made of it.
pub(super) struct Source<'s> {
    pub(super) series: &'s Series,
    /// The key of its metric in a baseline.
    pub(super) key: String,
    pub(super) stays: Vec<Stay<'s>>,
    pub(super) residuals: Vec<f64>,
}

pub(super) fn source(series: &Series) -> Source<'_> {
    let stays = stays(series);
    let residuals = residuals(&stays);
    Source { series, key: Baseline::key(&series.benchmark, &series.metric.name), stays, residuals }
}

pub(super) fn stays(series: &Series) -> Vec<Stay<'_>> {
    let mut stays = visited(series, |_| true);
    stays.iter_mut().for_each(compare_neighbours);
    stays
}

/// As `stays`, of the points that count. What lies between visits of two commits remains unknown.
pub(super) fn visited(series: &Series, counts: impl Fn(&Point) -> bool) -> Vec<Stay<'_>> {
    let mut points: Vec<&Point> = series.points.iter().filter(|point| point.value > 0.0 && counts(point)).collect();
    points.sort_by(|a, b| (&a.environment_key, a.time, &a.run).cmp(&(&b.environment_key, b.time, &b.run)));
    points.chunk_by(|a, b| a.environment_key == b.environment_key).map(|points| stay(points.to_vec())).collect()
}

pub(super) fn values(points: &[&Point]) -> Vec<(DateTime<Utc>, f64)> {
    points.iter().map(|point| (point.time, point.value)).collect()
}

fn stay(points: Vec<&Point>) -> Stay<'_> {
    let is_same = |a: &&Point, b: &&Point| {
        b.time - a.time < session_noise::SESSION && (&a.commit, a.dirty) == (&b.commit, b.dirty)
    };
    let mut visits: Vec<Visit> = Vec::new();
    let mut first = 0;
    for runs in points.chunk_by(is_same) {
        let values: Vec<f64> = runs.iter().map(|point| point.value).collect();
        let level = describe::geometric_mean(&values).expect("a visit has runs, and their values lie above zero");
        visits.push(Visit { first, end: first + runs.len(), level, between: Between::Nothing });
        first += runs.len();
    }
    visits.drain(..visits.len().saturating_sub(MOST_VISITS));
    for place in 1..visits.len() {
        let (before, now) = (points[visits[place - 1].first], points[visits[place].first]);
        let is_rerun = before.commit == now.commit && !now.commit.is_empty() && !before.dirty && !now.dirty;
        visits[place].between = if is_rerun { Between::Rerun } else { Between::Unknown };
    }
    Stay { points, visits }
}

/// Tells what lies between the visits of two commits.
fn compare_neighbours(stay: &mut Stay<'_>) {
    let logarithms: Vec<f64> = stay.visits.iter().map(|visit| visit.level.ln()).collect();
    for (place, visit) in stay.visits.iter_mut().enumerate().filter(|(_, visit)| visit.between == Between::Unknown) {
        visit.between = between(&logarithms, place);
    }
}

fn between(logarithms: &[f64], place: usize) -> Between {
    let before = &logarithms[place.saturating_sub(MOST_NEIGHBOURS)..place];
    let after = &logarithms[place + 1..(place + 1 + MOST_NEIGHBOURS).min(logarithms.len())];
    if before.len() < NEEDED || after.len() < NEEDED {
        return Between::Unknown;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let squares = |values: &[f64]| values.iter().map(|value| (value - mean(values)).powi(2)).sum::<f64>();
    let (n, m) = (before.len() as f64, after.len() as f64);
    let freedom = n + m - 2.0;
    let error = ((squares(before) + squares(after)) / freedom * (1.0 / n + 1.0 / m)).sqrt();
    let limit = student::quantile(1.0 - STEP, freedom).expect("there are degrees of freedom") * error;
    if (mean(after) - mean(before)).abs() > limit { Between::Step } else { Between::Neighbour }
}

/// What the visits of a series moved by while nothing changed: the logarithms of levels less the mean between two steps.
pub(super) fn residuals(stays: &[Stay<'_>]) -> Vec<f64> {
    let mut residuals = Vec::new();
    for stay in stays {
        for segment in stay.visits.chunk_by(|_, next| next.between != Between::Step) {
            let n = segment.len() as f64;
            if segment.len() < NEEDED {
                continue;
            }
            let mean = segment.iter().map(|visit| visit.level.ln()).sum::<f64>() / n;
            residuals.extend(segment.iter().map(|visit| (visit.level.ln() - mean) * (n / (n - 1.0)).sqrt()));
        }
    }
    residuals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::daily as series;

    fn kinds(levels: &[(u32, f64)]) -> Vec<Between> {
        let series = series("x", levels);
        let stays = stays(&series);
        assert_eq!(stays.len(), 1);
        stays[0].visits.iter().map(|visit| visit.between).collect()
    }

    #[test]
    fn the_same_commit_is_clean_and_another_where_the_level_stays() {
        use Between::{Neighbour, Nothing, Rerun, Step, Unknown};
        assert_eq!(kinds(&[(1, 1.0), (1, 1.1), (2, 1.0)]), [Nothing, Rerun, Unknown]);
        let quiet: Vec<(u32, f64)> = (0..7).map(|place| (place, 1.0 + 0.001 * f64::from(place % 2))).collect();
        assert_eq!(kinds(&quiet), [Nothing, Unknown, Unknown, Neighbour, Unknown, Unknown, Unknown]);
        let stepped: Vec<(u32, f64)> =
            quiet.iter().map(|(commit, level)| (*commit, if *commit < 3 { *level } else { 2.0 * level })).collect();
        assert_eq!(kinds(&stepped)[3], Step);
        // A single visit that is an outlier is not a step.
        let spike: Vec<(u32, f64)> =
            quiet.iter().map(|(commit, level)| (*commit, if *commit == 3 { 2.0 } else { *level })).collect();
        assert_eq!(kinds(&spike)[3], Neighbour);
    }

    #[test]
    fn residuals_leave_steps_out() {
        let levels: Vec<(u32, f64)> = (0..12)
            .map(|place| (place, if place < 6 { 1.0 } else { 3.0 } * (1.0 + 0.01 * f64::from(place % 2))))
            .collect();
        let series = series("x", &levels);
        let moves = residuals(&stays(&series));
        // The place of the step is known to about one visit, and an isolated visit there gives no residual.
        assert!((10..=12).contains(&moves.len()), "{moves:?}");
        assert!(moves.iter().all(|one| one.abs() < 0.01), "{moves:?}");
        assert!(residuals(&[]).is_empty());
    }
}
