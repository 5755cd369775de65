//! Histories for the tests of trends.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, TimeDelta, Utc};

use super::analyse::analyse;
use super::axis::{Axis, axes, pooled};
use super::common::CommonNoise;
use super::detection_cache::DetectionCache;
use super::outline::Input;
use super::series_changes::{AnalysedValues, Observed, ReportedRange, SeriesChanges, Setting};
use crate::changes::sensitivity::Sensitivity;
use sprag_base::stats::random::SplitMix64;
use sprag_model::trend::Tables;
use sprag_model::{Analysis, CommitLine, CommitOnLine, Event, HistoryFacts, Metric, Point, PointRun, Role, Series};

pub(crate) const MACHINE: &str = "00000000000000a1";
pub(crate) const OTHER: &str = "00000000000000b2";

pub(crate) fn sha(place: usize) -> String {
    format!("{place:040x}")
}

fn day(place: usize) -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000, 0).expect("a time") + TimeDelta::days(place as i64)
}

/// A line of so many commits, a day apart.
pub(crate) fn line(count: usize) -> CommitLine {
    let commit = |place: usize| CommitOnLine::new(sha(place), day(place), format!("Change {place}"));
    CommitLine { commits: (0..count).map(commit).collect(), ..CommitLine::default() }
}

pub(crate) fn point(place: usize, value: f64) -> Point {
    let of = PointRun {
        commit: sha(place).into(),
        position: Some(place),
        rank: place,
        time: day(place),
        environment_key: "e".into(),
        run: format!("{place:016x}").into(),
        dirty: false,
    };
    Point { of: of.into(), value, interval: None, workers: [].into() }
}

/// A series of the ratio of a kernel, with so much at the commits of those places.
pub(crate) fn series(name: &str, values: &[(usize, f64)]) -> Series {
    Series {
        id: Series::id_of(&format!("cpu/{name} @fast"), 1, "ratio", MACHINE),
        suite: "cpu".to_owned(),
        benchmark: format!("cpu/{name} @fast"),
        name: name.to_owned(),
        params: String::new(),
        variant: "fast".to_owned(),
        version: 1,
        role: Role::Tracked,
        metric: Metric::ratio(),
        machine: MACHINE.to_owned(),
        machine_name: "bench-1".to_owned(),
        machine_class: "CPU".to_owned(),
        points: values.iter().map(|(place, value)| point(*place, *value)).collect(),
    }
}

/// A series with noise of 1 % about the levels that begin at these places, measured at every `each`-th of `count` commits.
pub(crate) fn noisy(name: &str, count: usize, each: usize, levels: &[(usize, f64)], seed: u64) -> Series {
    let mut random = SplitMix64::new(seed);
    let level = |place: usize| levels.iter().rev().find(|(begin, _)| *begin <= place).map_or(1.0, |(_, level)| *level);
    let values: Vec<(usize, f64)> =
        (0..count).step_by(each).map(|place| (place, level(place) * (1.0 + 0.01 * random.normal()))).collect();
    series(name, &values)
}

/// The series, with another environment from the commit at that place on.
pub(crate) fn bordered(mut series: Series, border: usize) -> Series {
    let new = series.points.iter_mut().filter(|point| point.position >= Some(border));
    new.for_each(|point| point.run_mut().environment_key = "f".into());
    series
}

static LINE: LazyLock<CommitLine> = LazyLock::new(|| line(300));

/// The suites that can be measured: `cpu` at any commit, `gpu` as it is checked out.
static SUITES: LazyLock<BTreeMap<String, bool>> =
    LazyLock::new(|| BTreeMap::from([("cpu".to_owned(), true), ("gpu".to_owned(), false)]));

static NOTHING: LazyLock<DetectionCache> = LazyLock::new(DetectionCache::default);

/// All series of an analysis as of its newest run, along 300 commits, without records.
pub(super) fn input(analysis: &Analysis) -> Input<'_> {
    Input {
        analysis,
        line: &LINE,
        heads: &[],
        now: analysis.as_of.unwrap_or_default(),
        setting: &|_, _| setting(),
        selected: &|_| true,
        suites: &SUITES,
        records: &[],
        tables: Tables::default(),
        cache: &NOTHING,
    }
}

/// The events of these series.
pub(crate) fn events(series: Vec<Series>) -> Vec<Event> {
    analyse(input(&analysis(series))).trend.events
}

/// A judged series for itself, with what was reported of it.
pub(super) fn alone<'a>(series: &'a Series, axis: Arc<Axis>, reported: &[ReportedRange]) -> SeriesChanges<'a> {
    let pooled = pooled(series, &axis);
    let values = AnalysedValues::new(series, &pooled, &CommonNoise::default());
    SeriesChanges::new(
        series,
        axis,
        true,
        setting(),
        &Observed { reported, pooled: &pooled, joins_unstable: false },
        values,
    )
}

/// What is found in each of these series, along 300 commits.
pub(super) fn analysed(series: &[Series]) -> Vec<SeriesChanges<'_>> {
    let axes = axes(series, &LINE, &[]);
    let changes = |one| alone(one, Arc::clone(&axes[&one.machine]), &[]);
    series.iter().map(changes).collect()
}

/// What holds where nothing else is said.
pub(crate) fn setting() -> Setting {
    Setting { name: "balanced".to_owned(), least: 0.004, sensitivity: Sensitivity::BALANCED }
}

pub(crate) fn elsewhere(series: Series, machine: &str) -> Series {
    let id = Series::id_of(&series.benchmark, series.version, &series.metric.name, machine);
    Series { id, machine: machine.to_owned(), machine_name: format!("bench-{machine}"), ..series }
}

/// What an analysis of these series holds, all of them judged and in the newest run.
pub(crate) fn analysis(series: Vec<Series>) -> Analysis {
    let analysed = |series: Series| {
        let judged = !series.is_auxiliary();
        crate::example::analysed(series, judged)
    };
    let as_of = series.iter().flat_map(|one| &one.points).map(|point| point.time).max();
    Analysis {
        project: "p".to_owned(),
        as_of,
        every_days: 7,
        history: HistoryFacts::default(),
        suites: Vec::new(),
        series: series.into_iter().map(analysed).collect(),
        weeks: Vec::new(),
        disagreements: Vec::new(),
    }
}
