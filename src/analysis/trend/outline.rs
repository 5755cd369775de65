//! What the analysis of a history needs besides the points of its series, and what it finds in one series.
//!
//! A series is analysed for itself once the outline is known: anywhere, in any order. What is found in all of them is
//! joined afterwards (`analyse.rs`). So one machine and many give the same, as they run the same two functions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::axis::{self, Axis, Pooled};
use super::common::CommonNoise;
use super::detection_cache::DetectionCache;
use super::recorded::{self, RecordedEvent};
use super::self_test::{self, Residues};
use super::series_changes::{
    AnalysedValues, Detection, Observed, ReportedRange, SeriesChanges, Setting, Tested, is_considered,
};
use sprag_model::trend::Tables;
use sprag_model::{
    Analysis, CommitLine, Environment, EventRecord, NamedMachine, PooledPoint, RunHead, Series, SeriesAnalysis,
    SuiteAnalysis,
};

pub struct Input<'a> {
    pub analysis: &'a Analysis,
    pub line: &'a CommitLine,
    pub heads: &'a [RunHead],
    pub now: DateTime<Utc>,
    /// How much evidence a change needs, by benchmark and metric.
    pub setting: &'a (dyn Fn(&str, &str) -> Setting + Sync),
    /// Which series are listed, with the events that moved them. All are analysed: chance does not depend on who asks.
    pub selected: &'a (dyn Fn(&Series) -> bool + Sync),
    /// Of each suite that can be measured, whether a commit is built for it where one is named.
    pub suites: &'a BTreeMap<String, bool>,
    pub records: &'a [EventRecord],
    pub tables: Tables,
    pub cache: &'a DetectionCache,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outline {
    pub project: String,
    pub reference: Option<String>,
    pub tip: Option<String>,
    /// The time of the newest run.
    pub as_of: Option<DateTime<Utc>>,
    pub runs: usize,
    pub every_days: u32,
    pub(super) suites: Vec<SuiteState>,
    /// Of each suite that can be measured, whether a commit is built for it where one is named.
    pub(super) can_be_measured: BTreeMap<String, bool>,
    pub(super) environments: BTreeMap<String, Environment>,
    axes: Vec<Axis>,
    /// Which of the axes is that of a machine.
    machines: BTreeMap<String, usize>,
    common: CommonNoise,
    /// How many commits were measured, on each machine for itself: each may hold a change.
    pub(super) hypotheses: usize,
    /// In how many orders the noise of each series is tested.
    orders: usize,
    pub records: Vec<EventRecord>,
    pub tables: Tables,
    /// The analysed series, by id.
    pub series: Vec<ListedSeries>,
}

/// A series as far as it is known without its points.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ListedSeries {
    pub series: Series,
    pub(super) judged: bool,
    pub(super) at_tip: bool,
    pub(super) last: DateTime<Utc>,
    pub(super) setting: Setting,
    /// How many points it has on its axis.
    count: usize,
}

/// The newest state of a suite on a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SuiteState {
    pub(super) suite: String,
    pub(super) machine: NamedMachine,
    pub(super) last: DateTime<Utc>,
    pub(super) imported: bool,
    pub(super) narrowed: bool,
    /// Benchmarks that failed: id and reason.
    pub(super) failures: Vec<(String, String)>,
}

impl SuiteState {
    fn new(suite: &SuiteAnalysis) -> SuiteState {
        SuiteState {
            suite: suite.suite.clone(),
            machine: NamedMachine { id: suite.machine.clone(), name: suite.machine_name.clone() },
            last: suite.last,
            imported: suite.imported,
            narrowed: suite.narrowed,
            failures: suite.failures.clone(),
        }
    }
}

impl Outline {
    pub fn new(input: &Input<'_>) -> Outline {
        Outline::with_points(input).0
    }

    /// Whether each series has an axis, as in those that [`Outline::new`] makes.
    pub(super) fn has_axes(&self) -> bool {
        let of_machine = |listed: &ListedSeries| self.machines.get(&listed.series.machine);
        self.series.iter().all(|listed| of_machine(listed).is_some_and(|axis| *axis < self.axes.len()))
    }

    /// Takes the tip and the recorded events of another, which follow from no point.
    pub fn take_recorded(&mut self, other: &Outline) {
        (self.tip, self.records) = (other.tip.clone(), other.records.clone());
    }

    /// A series of which more or less evidence is needed now than at the export.
    pub fn differing(&self, setting: impl Fn(&str, &str) -> Setting) -> Option<&Series> {
        let now = |series: &Series| setting(&series.benchmark, &series.metric.name);
        self.series.iter().find(|one| now(&one.series) != one.setting).map(|one| &one.series)
    }

    /// Whether it can be what was found in a series of the outline.
    pub(super) fn is_possible(&self, listed: &ListedSeries, detection: &Detection) -> bool {
        let commits = self.axes[self.machines[&listed.series.machine]].commits.len();
        detection.id == listed.series.id && detection.is_possible(listed.count, commits)
    }

    /// And the points of each of its series.
    pub(super) fn with_points(input: &Input<'_>) -> (Outline, Vec<Pooled>) {
        let analysis = input.analysis;
        let series: Vec<&SeriesAnalysis> =
            analysis.series.iter().filter(|one| is_considered(&one.series, one.judged)).collect();
        let of_machines = axis::axes(series.iter().map(|one| &one.series), input.line, input.heads);
        let pooled: Vec<Pooled> =
            series.par_iter().map(|one| axis::pooled(&one.series, &of_machines[&one.series.machine])).collect();
        let (mut axes, mut machines): (Vec<Arc<Axis>>, _) = (Vec::new(), BTreeMap::new());
        for (machine, axis) in &of_machines {
            let place = axes.iter().position(|other| Arc::ptr_eq(axis, other)).unwrap_or(axes.len());
            axes.resize(axes.len().max(place + 1), Arc::clone(axis));
            machines.insert(machine.clone(), place);
        }
        let environment = |head: &RunHead| (head.environment.key.clone(), (*head.environment).clone());
        let keys: BTreeMap<&str, &RunHead> =
            input.heads.iter().map(|head| (head.environment.key.as_str(), head)).collect();
        let outline = Outline {
            project: analysis.project.clone(),
            reference: analysis.history.reference.clone(),
            tip: analysis.history.tip.clone(),
            as_of: analysis.as_of,
            runs: analysis.history.runs,
            every_days: analysis.every_days,
            suites: analysis.suites.iter().map(SuiteState::new).collect(),
            can_be_measured: input.suites.clone(),
            environments: keys.into_values().map(environment).collect(),
            axes: axes.iter().map(|axis| (**axis).clone()).collect(),
            machines,
            common: CommonNoise::estimate(series.iter().map(|one| &one.series).zip(&pooled), &input.cache.common),
            hypotheses: hypotheses(series.iter().map(|one| one.series.machine.as_str()).zip(&pooled)),
            orders: self_test::orders(pooled.iter().map(|one| one.points.len()).sum()),
            records: input.records.to_vec(),
            tables: input.tables.clone(),
            series: series.iter().zip(&pooled).map(|(one, pooled)| listed(one, pooled, input)).collect(),
        };
        (outline, pooled)
    }
}

fn listed(one: &SeriesAnalysis, pooled: &Pooled, input: &Input<'_>) -> ListedSeries {
    ListedSeries {
        series: one.series.bare(),
        judged: one.judged,
        at_tip: one.at_tip,
        last: one.last,
        setting: (input.setting)(&one.series.benchmark, &one.series.metric.name),
        count: pooled.points.len(),
    }
}

fn hypotheses<'a>(all: impl Iterator<Item = (&'a str, &'a Pooled)>) -> usize {
    let mut measured: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (machine, pooled) in all {
        measured.entry(machine).or_default().extend(pooled.points.iter().map(|point| point.place));
    }
    measured.values().map(BTreeSet::len).sum()
}

/// An outline that is ready to analyse its series.
pub struct Detector<'o> {
    pub outline: &'o Outline,
    axes: Vec<Arc<Axis>>,
    pub(super) recorded: Vec<RecordedEvent<'o>>,
}

impl<'o> Detector<'o> {
    pub fn new(outline: &'o Outline) -> Detector<'o> {
        let axes = outline.axes.iter().map(|axis| Arc::new(axis.clone())).collect();
        Detector { outline, axes, recorded: recorded::recorded_events(&outline.records) }
    }

    fn axis(&self, listed: &ListedSeries) -> Arc<Axis> {
        Arc::clone(&self.axes[self.outline.machines[&listed.series.machine]])
    }

    /// What was reported of a series and is not retracted.
    pub(super) fn reported(&self, listed: &ListedSeries) -> Vec<ReportedRange> {
        recorded::reported_ranges(&self.recorded, &listed.series.id, &self.axis(listed))
    }

    /// What is found in a series of the outline that has these points.
    pub(super) fn detect(&self, listed: &ListedSeries, series: &Series) -> Detection {
        self.detect_in(listed, &axis::pooled(series, &self.axis(listed)), None)
    }

    pub(super) fn detect_in(
        &self,
        listed: &ListedSeries,
        pooled: &Pooled,
        cache: Option<&DetectionCache>,
    ) -> Detection {
        let (series, axis) = (&listed.series, self.axis(listed));
        let reported = self.reported(listed);
        let values = AnalysedValues::new(series, pooled, &self.outline.common);
        let Some(cache) = cache else { return self.compute(listed, axis, &reported, pooled, values).thinned() };
        let points: Vec<_> =
            pooled.points.iter().map(|point| (point.place, point.time, point.runs, &point.environment_key)).collect();
        let named = rmp_serde::to_vec(&(series, &listed.setting)).expect("plain values can be written");
        let counts = [pooled.dirty, pooled.elsewhere, self.outline.orders];
        let detection = cache.detections.get(&(named, listed.judged, &reported, points, &values, counts), || {
            self.compute(listed, axis, &reported, pooled, values.clone()).without_points()
        });
        detection.with_points(pooled, values).thinned()
    }

    fn compute(
        &self,
        listed: &ListedSeries,
        axis: Arc<Axis>,
        reported: &[ReportedRange],
        pooled: &Pooled,
        values: AnalysedValues,
    ) -> Detection {
        let observed = Observed { reported, pooled, joins_unstable: false };
        let own = SeriesChanges::new(&listed.series, axis, listed.judged, listed.setting.clone(), &observed, values);
        let mut residues = Residues::new(&own);
        let factor = residues.as_ref().map_or(1.0, self_test::needed);
        let mut own = own.raised(factor, &observed);
        if factor > 1.0 {
            residues = Residues::new(&own);
        }
        own.tested =
            residues.map_or_else(Tested::default, |residues| self_test::tested(&residues, self.outline.orders));
        own.joined(&observed).detection
    }

    /// What is found in all series, in their order.
    pub(super) fn changes(&self, detections: Vec<Detection>) -> Vec<SeriesChanges<'o>> {
        let of = |(listed, detection): (&'o ListedSeries, Detection)| SeriesChanges {
            series: &listed.series,
            axis: self.axis(listed),
            is_judged: listed.judged,
            setting: listed.setting.raised(detection.raised),
            detection,
        };
        self.outline.series.iter().zip(detections).map(of).collect()
    }
}

/// The points of all series, where they are at hand: they are shown, and nothing depends on them.
pub(super) fn shown(pooled: Vec<Pooled>) -> Vec<Arc<[PooledPoint]>> {
    pooled.into_iter().map(|one| one.points.into()).collect()
}
