//! From an analysed history to its events, suspects of the newest points, and coverage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rayon::prelude::*;

use super::axis::Pooled;
use super::common::CommonNoise;
use super::coverage::{self, Tip};
use super::event::{self, Confirmed};
use super::series_changes::{SeriesChanges, Setting, is_considered};
use super::{axis, discovery, draft, identity, newest, self_test};
use sprag_model::analysis::{Analysis, SeriesAnalysis, SuiteAnalysis};
use sprag_model::commit::CommitLine;
use sprag_model::event::NamedMachine;
use sprag_model::event_record::EventRecord;
use sprag_model::head::RunHead;
use sprag_model::trend::{Due, Segment, SeriesTrend, Tables, Trend};

pub struct Input<'a> {
    pub analysis: &'a Analysis,
    pub line: &'a CommitLine,
    pub heads: &'a [RunHead],
    pub now: DateTime<Utc>,
    /// How much evidence a change needs, by benchmark and metric.
    pub setting: &'a (dyn Fn(&str, &str) -> Setting + Sync),
    /// Which series are listed, with the events that moved one of them. All are analysed: whether a change is chance or
    /// the machine's does not depend on who asks.
    pub selected: &'a (dyn Fn(&SeriesAnalysis) -> bool + Sync),
    /// Of each suite that can be measured, whether a commit is built for it where one is named.
    pub suites: &'a BTreeMap<String, bool>,
    pub records: &'a [EventRecord],
    pub tables: Tables,
}

/// A trend, and what became of events since their records were written.
pub struct Output {
    pub trend: Trend,
    pub steps: Vec<EventRecord>,
}

/// Finds the events of a history. Equal input gives equal output; series are analysed on all cores.
pub fn analyse(input: Input<'_>) -> Output {
    analyse_at(input, None).0
}

/// Likewise, with the trend as of another time: only what is late and what was measured lately depends on the present, so
/// that the series need not be analysed again.
pub fn analyse_at(input: Input<'_>, other: Option<DateTime<Utc>>) -> (Output, Option<Trend>) {
    let Input { analysis, line, heads, now, setting, selected, suites, records, tables } = input;
    let recorded = identity::recorded_events(records);
    let examined: Vec<&SeriesAnalysis> =
        analysis.series.iter().filter(|one| is_considered(&one.series, one.judged)).collect();
    let axes = axis::axes(examined.iter().map(|one| &one.series), line, heads);
    let pooled: Vec<Pooled> =
        examined.par_iter().map(|one| axis::pooled(&one.series, &axes[&one.series.machine])).collect();
    let common = CommonNoise::of(examined.iter().map(|one| &one.series).zip(&pooled));
    let all: Vec<SeriesChanges<'_>> = examined
        .par_iter()
        .zip(pooled)
        .map(|(one, pooled)| {
            let series = &one.series;
            let axis = Arc::clone(&axes[&series.machine]);
            let reported = identity::reported_ranges(&recorded, &series.id, &axis);
            let setting = setting(&series.benchmark, &series.metric.name);
            let analysed = SeriesChanges::new(series, axis, one.judged, setting, &reported, pooled, &common);
            let factor = self_test::needed(&analysed);
            analysed.raised(factor, &reported)
        })
        .collect();

    let mut drafts = draft::drafts(&all);
    let matched = identity::matched(&mut drafts, &recorded, &all);
    let p_values: Vec<f64> = drafts.iter().map(|draft| draft.p_value).collect();
    let shares = discovery::false_discovery(&p_values, hypotheses(&all));
    let confirmed = matched.iter().zip(&shares).map(|((id, place), share)| {
        let was_sure = place.is_some_and(|place| !recorded[place].is_retracted);
        let allowed = if was_sure { discovery::RETAINED } else { discovery::ALLOWED };
        Confirmed { id: id.clone(), is_sure: *share <= allowed, false_discovery: *share }
    });
    let environments = heads.iter().map(|head| (head.environment.key.as_str(), &*head.environment)).collect();
    let context = event::Context { environments, suites };
    let mut events = event::events(&drafts, confirmed.collect(), &all, &context);
    let time = analysis.as_of.unwrap_or_default();
    let steps = identity::steps(&events, &matched, &recorded, &all, time);
    event::in_order(&mut events);
    for event in &mut events {
        let of_event = records.iter().filter(|record| record.event == event.id && record.bisection.is_some());
        event.bisection = of_event.max_by_key(|record| record.time).and_then(|record| record.bisection.clone());
    }

    let failures: BTreeMap<(&str, &str), &str> = analysis
        .suites
        .iter()
        .flat_map(|suite| suite.failures.iter().map(|(id, why)| ((suite.machine.as_str(), id.as_str()), why.as_str())))
        .collect();
    let that_are = |is: fn(&SuiteAnalysis) -> bool| -> BTreeSet<(&str, &str)> {
        let suites = analysis.suites.iter().filter(|suite| is(suite));
        suites.map(|suite| (suite.machine.as_str(), suite.suite.as_str())).collect()
    };
    let (imported, narrowed) = (that_are(|suite| suite.imported), that_are(|suite| suite.narrowed));
    let series_at = |now: DateTime<Utc>| -> Vec<SeriesTrend> {
        let asked = all.iter().zip(&examined).filter(|(_, one)| selected(one));
        asked
            .map(|(analysed, one)| {
                let machine = one.series.machine.as_str();
                let place = (machine, one.series.suite.as_str());
                let tip = Tip {
                    is_at_tip: one.at_tip || narrowed.contains(&place),
                    last: one.last,
                    failure: failures.get(&(machine, one.series.benchmark.as_str())).copied(),
                    allowed: (!imported.contains(&place)).then_some(i64::from(analysis.every_days)),
                };
                series_trend(analysed, &tip, now)
            })
            .collect()
    };
    let selected_series: BTreeSet<&str> =
        examined.iter().filter(|one| selected(one)).map(|one| one.series.id.as_str()).collect();
    // A suite without any series, as one that is always skipped, is nobody's to leave out.
    let place = |one: &&SeriesAnalysis| (one.series.suite.clone(), one.series.machine.clone());
    let asked: BTreeSet<(String, String)> = examined.iter().filter(|one| selected(one)).map(place).collect();
    let others: BTreeSet<(String, String)> = examined.iter().map(place).filter(|one| !asked.contains(one)).collect();
    let is_selected = |suite: &str, machine: &str| !others.contains(&(suite.to_owned(), machine.to_owned()));
    events.retain(|event| event.members.iter().any(|member| selected_series.contains(member.series.as_str())));
    let tables = tables_of(tables, &selected_series, is_selected);
    let schedule_at = |now: DateTime<Utc>| -> Vec<Due> {
        coverage::schedule(analysis, now).into_iter().filter(|due| is_selected(&due.suite, &due.machine.id)).collect()
    };
    let newest = newest::newest(&all, |series| selected_series.contains(series), suites);
    let series = series_at(now);
    let trend = Trend {
        project: analysis.project.clone(),
        reference: analysis.history.reference.clone(),
        tip: analysis.history.tip.clone(),
        as_of: analysis.as_of,
        now,
        runs: analysis.history.runs,
        budget: self_test::budget(&all, discovery::ALLOWED),
        events,
        newest,
        coverage: coverage::coverage(&series),
        schedule: schedule_at(now),
        tables,
        series,
    };
    let then = other.map(|now| {
        let series = series_at(now);
        Trend { now, coverage: coverage::coverage(&series), schedule: schedule_at(now), series, ..trend.clone() }
    });
    (Output { trend, steps }, then)
}

/// Of the tables what is of the series, and of the suites on machines, that are selected.
fn tables_of(mut tables: Tables, selected_series: &BTreeSet<&str>, is_selected: impl Fn(&str, &str) -> bool) -> Tables {
    tables.movers.retain(|row| selected_series.contains(row.series.as_str()));
    tables.geomeans.retain(|row| is_selected(&row.suite, &row.machine));
    tables.noise.retain(|row| is_selected(&row.suite, &row.machine));
    tables.weeks.retain(|row| is_selected(&row.suite, &row.machine));
    tables
}

/// How many commits were measured, on each machine for itself: each may hold a change.
fn hypotheses(all: &[SeriesChanges<'_>]) -> usize {
    let mut measured: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    for analysed in all {
        let places = measured.entry(&analysed.series.machine).or_default();
        places.resize(places.len().max(analysed.axis.commits.len()), false);
        analysed.points.iter().for_each(|point| places[point.place] = true);
    }
    measured.values().flatten().filter(|is_measured| **is_measured).count()
}

fn series_trend(analysed: &SeriesChanges<'_>, tip: &Tip<'_>, now: DateTime<Utc>) -> SeriesTrend {
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
        points: analysed.points.len(),
        dirty: analysed.dirty,
        elsewhere: analysed.elsewhere,
        levels: segments(analysed),
        not_judged: coverage::not_judged(analysed, tip, now),
        pooled: Arc::clone(&analysed.points),
        changes: analysed.changes.clone(),
    }
}

/// The segments between changes. One with a ramp in it has no level.
fn segments(analysed: &SeriesChanges<'_>) -> Vec<Segment> {
    let count = analysed.points.len();
    if count == 0 {
        return Vec::new();
    }
    let points = &analysed.changes.points;
    let begins = std::iter::once(0).chain(points.iter().map(|point| point.index));
    let ends = points.iter().map(|point| point.index).chain([count]);
    let commit = |index: usize| analysed.axis.commits[analysed.points[index].place].clone();
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
