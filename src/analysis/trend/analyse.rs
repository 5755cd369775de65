//! From an analysed history to its events, suspects of the newest points, and coverage.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rayon::prelude::*;

use super::axis::Pooled;
use super::coverage::{self, Tip};
use super::event::{self, Confirmed};
use super::outline::{self, Detector, Input, ListedSeries, Outline, SuiteState};
use super::series_changes::{Detection, SeriesChanges};
use super::{discovery, draft, identity, newest, self_test};
use sprag_model::trend::{Due, Tables};
use sprag_model::{EventRecord, NamedMachine, PooledPoint, Segment, Series, SeriesTrend, Trend};

/// A trend, and what became of events since their records were written.
pub struct TrendOutput {
    pub trend: Trend,
    pub steps: Vec<EventRecord>,
}

/// Finds the events of a history. Equal input gives equal output; series are analysed on all cores.
pub fn analyse(input: Input<'_>) -> TrendOutput {
    analyse_at(input, None).0
}

/// Likewise, with the trend as of another time, for which only what is late and what was measured lately differs.
pub fn analyse_at(input: Input<'_>, other: Option<DateTime<Utc>>) -> (TrendOutput, Option<Trend>) {
    let analysed: Result<_, Infallible> = analyse_or(&input, other, |_| Ok(None));
    let Ok(analysed) = analysed;
    analysed
}

/// Likewise, unless `elsewhere` has what was found in each series of the outline, in their order, and the outline that it was found
/// with. A series of which something else was reported since is analysed again, as that decides what remains of its changes.
///
/// # Errors
/// Those of `elsewhere`.
pub fn analyse_or<'e, E>(
    input: &Input<'_>,
    other: Option<DateTime<Utc>>,
    elsewhere: impl FnOnce(&Outline) -> Result<Option<(Vec<Detection>, &'e Outline)>, E>,
) -> Result<(TrendOutput, Option<Trend>), E> {
    let (outline, pooled) = Outline::with_points(input);
    let detector = Detector::new(&outline);
    let detect = |(one, pooled): (&ListedSeries, &Pooled)| detector.detect_in(one, pooled, Some(input.cache));
    let series = outline.series.par_iter().zip(&pooled);
    let detections = match elsewhere(&outline)? {
        None => series.map(detect).collect(),
        Some((detections, earlier)) => {
            let earlier = Detector::new(earlier);
            let is_same = |one: &ListedSeries| detector.reported(one) == earlier.reported(one);
            let of =
                |(one, detected): ((&ListedSeries, &Pooled), _)| if is_same(one.0) { detected } else { detect(one) };
            series.zip(detections).map(of).collect()
        }
    };
    Ok(join(&detector, detections, &outline::shown(pooled), input.now, other, input.selected))
}

/// Joins what was found in each series of an outline, in their order. `points` are theirs, or nothing where they are not shown.
pub fn join(
    detector: &Detector<'_>,
    detections: Vec<Detection>,
    points: &[Arc<[PooledPoint]>],
    now: DateTime<Utc>,
    other: Option<DateTime<Utc>>,
    selected: &(dyn Fn(&Series) -> bool + Sync),
) -> (TrendOutput, Option<Trend>) {
    let (outline, recorded, records) = (detector.outline, &detector.recorded, &detector.outline.records);
    let suites = &outline.can_be_measured;
    let all = detector.changes(detections);
    let mut drafts = draft::drafts(&all, recorded);
    let matched = identity::matched(&mut drafts, recorded, &all);
    let p_values: Vec<f64> = drafts.iter().map(|draft| draft.p_value).collect();
    let shares = discovery::false_discovery(&p_values, outline.hypotheses);
    let confirmed = matched.iter().zip(&shares).map(|((id, place), share)| {
        let was_sure = place.is_some_and(|place| !recorded[place].is_retracted);
        let allowed = if was_sure { discovery::RETAINED } else { discovery::ALLOWED };
        Confirmed { id: id.clone(), is_sure: *share <= allowed, false_discovery: *share }
    });
    let environments = outline.environments.iter().map(|(key, environment)| (key.as_str(), environment)).collect();
    let context = event::Context { environments, suites };
    let mut events = event::events(&drafts, confirmed.collect(), &all, &context);
    let time = outline.as_of.unwrap_or_default();
    let steps = identity::steps(&events, &matched, recorded, &all, time);
    event::in_order(&mut events);
    for event in &mut events {
        let of_event = records.iter().filter(|record| record.event == event.id && record.bisection.is_some());
        event.bisection = of_event.max_by_key(|record| record.time).and_then(|record| record.bisection.clone());
    }

    let states: BTreeMap<(&str, &str), &SuiteState> =
        outline.suites.iter().map(|one| ((one.machine.id.as_str(), one.suite.as_str()), one)).collect();
    let failures: BTreeMap<(&str, &str), &str> = outline
        .suites
        .iter()
        .flat_map(|suite| suite.failures.iter().map(|(id, why)| ((&*suite.machine.id, id.as_str()), why.as_str())))
        .collect();
    let series_at = |now: DateTime<Utc>| -> Vec<SeriesTrend> {
        let of_series = all.iter().zip(&outline.series).enumerate();
        let asked = of_series.filter(|(_, (_, one))| selected(&one.series));
        asked
            .map(|(number, (analysed, one))| {
                let machine = one.series.machine.as_str();
                let suite = states.get(&(machine, one.series.suite.as_str()));
                let tip = Tip {
                    is_at_tip: one.at_tip || suite.is_some_and(|suite| suite.narrowed),
                    last: one.last,
                    failure: failures.get(&(machine, one.series.benchmark.as_str())).copied(),
                    allowed: (!suite.is_some_and(|suite| suite.imported)).then_some(i64::from(outline.every_days)),
                };
                series_trend(analysed, points.get(number).cloned().unwrap_or_default(), &tip, now)
            })
            .collect()
    };
    let listed = || outline.series.iter().map(|one| &one.series);
    let selected_series: BTreeSet<&str> = listed().filter(|one| selected(one)).map(|one| one.id.as_str()).collect();
    // A suite without any series, as one that is always skipped, is nobody's to leave out.
    let place = |one: &Series| (one.suite.clone(), one.machine.clone());
    let asked: BTreeSet<(String, String)> = listed().filter(|one| selected(one)).map(place).collect();
    let others: BTreeSet<(String, String)> = listed().map(place).filter(|one| !asked.contains(one)).collect();
    let is_selected = |suite: &str, machine: &str| !others.contains(&(suite.to_owned(), machine.to_owned()));
    events.retain(|event| event.members.iter().any(|member| selected_series.contains(member.series.as_str())));
    let schedule_at = |now: DateTime<Utc>| -> Vec<Due> {
        coverage::schedule(outline, now).into_iter().filter(|due| is_selected(&due.suite, &due.machine.id)).collect()
    };
    let newest = newest::newest(&all, |series| selected_series.contains(series), suites);
    let series = series_at(now);
    let trend = Trend {
        project: outline.project.clone(),
        reference: outline.reference.clone(),
        tip: outline.tip.clone(),
        as_of: outline.as_of,
        now,
        runs: outline.runs,
        budget: self_test::budget(&all, discovery::ALLOWED),
        events,
        newest,
        coverage: coverage::coverage(&series),
        schedule: schedule_at(now),
        tables: tables_of(outline.tables.clone(), &selected_series, is_selected),
        series,
        most: 0,
    };
    let then = other.map(|now| {
        let series = series_at(now);
        Trend { now, coverage: coverage::coverage(&series), schedule: schedule_at(now), series, ..trend.clone() }
    });
    (TrendOutput { trend, steps }, then)
}

/// Of the tables what is of the series, and of the suites on machines, that are selected.
fn tables_of(mut tables: Tables, selected_series: &BTreeSet<&str>, is_selected: impl Fn(&str, &str) -> bool) -> Tables {
    tables.movers.retain(|row| selected_series.contains(row.series.as_str()));
    tables.geomeans.retain(|row| is_selected(&row.suite, &row.machine));
    tables.noise.retain(|row| is_selected(&row.suite, &row.machine));
    tables.weeks.retain(|row| is_selected(&row.suite, &row.machine));
    tables.disagreements.retain(|row| is_selected(&row.suite, &row.machine.id));
    tables
}

fn series_trend(
    analysed: &SeriesChanges<'_>,
    pooled: Arc<[PooledPoint]>,
    tip: &Tip<'_>,
    now: DateTime<Utc>,
) -> SeriesTrend {
    let series = analysed.series;
    SeriesTrend {
        series: series.id.clone(),
        suite: series.suite.clone(),
        benchmark: series.benchmark.clone(),
        metric: series.metric.clone(),
        machine: NamedMachine { id: series.machine.clone(), name: series.machine_name.clone() },
        judged: analysed.is_judged,
        is_auxiliary: series.is_auxiliary(),
        exact: analysed.is_exact,
        sensitivity: analysed.setting.name.clone(),
        least: analysed.setting.least,
        noise: analysed.changes.noise,
        raw_noise: analysed.raw_noise,
        detectable: analysed.detectable(),
        points: analysed.count,
        dirty: analysed.dirty,
        elsewhere: analysed.elsewhere,
        levels: segments(analysed),
        not_judged: coverage::not_judged(analysed, tip, now),
        pooled,
        changes: analysed.changes.clone(),
    }
}

/// The segments between changes. One with a ramp in it has no level.
fn segments(analysed: &SeriesChanges<'_>) -> Vec<Segment> {
    let count = analysed.count;
    if count == 0 {
        return Vec::new();
    }
    let points = &analysed.changes.points;
    let begins = std::iter::once(0).chain(points.iter().map(|point| point.index));
    let ends = points.iter().map(|point| point.index).chain([count]);
    let commit = |index: usize| analysed.axis.commits[analysed.point(index).place].clone();
    begins
        .zip(ends)
        .enumerate()
        .map(|(number, (begin, end))| {
            let has_ramp = analysed.changes.drifts.iter().any(|drift| drift.begin < end && begin < drift.end);
            let level = analysed.changes.levels.get(number).copied().filter(|_| !has_ramp);
            Segment { first: commit(begin), last: commit(end - 1), points: end - begin, level }
        })
        .collect()
}
