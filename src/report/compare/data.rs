//! What two commits are compared by: commits, environments, series with their fits and values. Numbers are rounded as in the data of
//! the script, so that a page and the script compute from the same ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rayon::prelude::*;

use super::commits::{self, ComparedCommit, NAME, plain};
use super::rounding::{in_units, of_units, power_as_shown, rounded, rounded_as_shown, spread_step};
use super::segments::{Segment, SegmentStep, segments};
use crate::catalog::Catalog;
use crate::number;
use crate::order::{natural, parameters};
use crate::text::{short_benchmark, short_commit};
use sprag_model::environment::KEY_FACTS;
use sprag_model::{Metric, PooledPoint, RunHead, SeriesTrend};

const FACT: usize = 60;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Data {
    /// The measured commits, oldest first: their place is their number.
    pub(crate) commits: Vec<ComparedCommit>,
    /// Other commits with a tag, oldest first, numbered on from there.
    pub(crate) tagged: Vec<ComparedCommit>,
    /// The facts of each environment that its key is made of, by key.
    pub(super) environments: BTreeMap<String, BTreeMap<&'static str, String>>,
    pub(super) series: Vec<SeriesData>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeriesData {
    pub(super) id: String,
    pub(super) page: String,
    pub(super) is_scripted: bool,
    pub(super) suite: String,
    pub(super) benchmark: String,
    /// Its parameter `dtype`, or empty.
    pub(super) dtype: String,
    pub(super) machine: String,
    pub(super) machine_name: String,
    pub(super) metric: Metric,
    pub(super) judged: bool,
    /// Whether it is a control or calibration kernel.
    pub(super) auxiliary: bool,
    /// The deviation of a point, as a share of its level.
    pub(super) deviation: Option<f64>,
    /// The smallest change that shows.
    pub(super) shows: Option<f64>,
    /// The smallest change that counts.
    pub(super) least: f64,
    /// Empty where no level was fitted.
    pub(super) levels: Vec<Segment>,
    pub(super) changes: Vec<SegmentStep>,
    /// The power of ten in units of which values are integers.
    pub(super) power: i32,
    /// How many of these units make a step of the reach of a spread.
    pub(super) step: i64,
    /// In the order of their commits, and those of one commit as they were measured.
    pub(super) points: Vec<PointData>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PointData {
    pub(super) number: usize,
    pub(super) environment: Arc<str>,
    pub(super) time: DateTime<Utc>,
    /// The median over the processes of all its runs, in base units.
    pub(super) value: f64,
    /// The lowest and the highest median of a process, rounded; absent of a single one.
    pub(super) spread: Option<(f64, f64)>,
}

impl Data {
    pub(crate) fn new(catalog: &Catalog<'_>) -> Data {
        let commits = catalog.compared().to_vec();
        let tagged = commits::tagged(catalog.line, &commits);
        let numbers: HashMap<&str, usize> =
            commits.iter().enumerate().map(|(number, commit)| (commit.sha.as_str(), number)).collect();
        let trends = catalog.trend.series.par_iter();
        let mut series: Vec<SeriesData> = trends.filter_map(|one| series_data(catalog, one, &numbers)).collect();
        series.sort_by(|a, b| {
            (&a.suite, a.auxiliary)
                .cmp(&(&b.suite, b.auxiliary))
                .then_with(|| natural(&a.benchmark, &b.benchmark))
                .then_with(|| (&a.metric.name, &a.machine_name, &a.id).cmp(&(&b.metric.name, &b.machine_name, &b.id)))
        });
        Data { environments: environments(catalog, &series), commits, tagged, series }
    }

    /// The series that the script compares.
    pub(super) fn scripted(&self) -> impl Iterator<Item = &SeriesData> {
        self.series.iter().filter(|one| one.is_scripted)
    }

    /// How many series the script compares, and how many there are.
    pub(crate) fn series_counts(&self) -> (usize, usize) {
        (self.scripted().count(), self.series.len())
    }

    pub(crate) fn commit(&self, number: usize) -> &ComparedCommit {
        self.commits.get(number).unwrap_or_else(|| &self.tagged[number - self.commits.len()])
    }

    /// The number of the measured commit whose values count for a commit: itself, or the nearest before it.
    pub(crate) fn measured(&self, number: usize) -> usize {
        self.commit(number).measured_before.unwrap_or(number)
    }

    /// The name of a commit, and if it was not measured, which one counts for it.
    pub(crate) fn name(&self, number: usize) -> String {
        let commit = self.commit(number);
        match commit.measured_before {
            Some(before) => format!("{} (as of {})", commit.name(), short_commit(&self.commits[before].sha)),
            None => commit.name(),
        }
    }

    /// How many commits were measured between two, the older one first.
    pub(crate) fn between(&self, a: usize, b: usize) -> usize {
        let end = self.measured(b) + usize::from(self.commit(b).measured_before.is_some());
        end.saturating_sub(self.measured(a) + 1)
    }

    /// The commits with tags, oldest first. Of several with the same values one that was measured counts, or else the newest.
    pub(crate) fn releases(&self) -> Vec<usize> {
        let own = (0..self.commits.len()).filter(|number| !self.commits[*number].tags.is_empty());
        let all = (self.commits.len()..self.commits.len() + self.tagged.len()).chain(own);
        all.map(|number| (self.measured(number), number)).collect::<BTreeMap<usize, usize>>().into_values().collect()
    }

    pub(super) fn number(&self, sha: &str) -> Option<usize> {
        self.commits.iter().position(|commit| commit.sha == sha)
    }
}

/// Nothing where its commits are not in the order of those of others.
fn series_data(catalog: &Catalog<'_>, one: &SeriesTrend, numbers: &HashMap<&str, usize>) -> Option<SeriesData> {
    let listed = catalog.series(&one.series)?;
    let dtype = parameters(&listed.series.params).into_iter().find(|(name, _)| *name == "dtype");
    let numbers: Option<Vec<usize>> = one.pooled.iter().map(|point| numbers.get(&*point.commit).copied()).collect();
    let numbers = numbers.filter(|numbers| !numbers.is_empty() && numbers.is_sorted())?;
    let (levels, changes) = segments(one, &numbers);
    let mut points: Vec<PointData> = numbers.iter().zip(one.pooled.iter()).map(point_data).collect();
    let (power, step) = round_spreads(&mut points);
    Some(SeriesData {
        id: one.series.clone(),
        page: catalog.series_place(&one.series),
        is_scripted: catalog.compares_all || catalog.has_page(&one.series),
        suite: plain(&one.suite, NAME),
        benchmark: plain(&short_benchmark(&one.benchmark), NAME),
        dtype: dtype.map_or(String::new(), |(_, value)| plain(value, NAME)),
        machine: one.machine.id.clone(),
        machine_name: plain(&one.machine.name, NAME),
        metric: one.metric.clone(),
        judged: one.judged,
        auxiliary: one.is_auxiliary,
        deviation: deviation(one, &levels).map(rounded).filter(|deviation| deviation.is_finite()),
        shows: one.detectable.map(|size| rounded(number::step_up(size))).filter(|size| size.is_finite()),
        least: rounded(one.least),
        levels,
        changes,
        power,
        step,
        points,
    })
}

/// Rounds the ends of spreads to steps, so that scripts need few digits for them; gives [`SeriesData::power`] and its step.
pub(super) fn round_spreads(points: &mut [PointData]) -> (i32, i64) {
    let power = power_as_shown(points.iter().map(|point| point.value));
    let ends = |point: &PointData| point.spread.map(|(low, high)| [point.value - low, high - point.value]);
    let step = spread_step(points.iter().filter_map(ends).flatten().map(|reach| in_units(reach, power)));
    for point in points {
        let middle = in_units(point.value, power);
        let end = |end: f64| {
            let steps = (in_units(end - point.value, power) as f64 / step as f64).round() as i64;
            of_units(middle + step * steps, power)
        };
        point.spread = point.spread.map(|(low, high)| (end(low), end(high)));
    }
    (power, step)
}

fn point_data((number, point): (&usize, &PooledPoint)) -> PointData {
    PointData {
        number: *number,
        environment: Arc::clone(&point.environment_key),
        time: point.time,
        value: rounded_as_shown(point.value),
        spread: point.spread,
    }
}

fn deviation(one: &SeriesTrend, segments: &[Segment]) -> Option<f64> {
    let Some(noise) = one.noise else { return one.exact.then_some(0.0) };
    if noise.is_relative {
        return Some(noise.deviation);
    }
    let [newest, ..] = segments.iter().rev().find_map(|segment| segment.level())?;
    Some(noise.deviation / newest.abs())
}

fn environments(catalog: &Catalog<'_>, series: &[SeriesData]) -> BTreeMap<String, BTreeMap<&'static str, String>> {
    let used: BTreeSet<&str> = series.iter().flat_map(|one| &one.points).map(|point| &*point.environment).collect();
    let facts = |head: &RunHead| {
        let fact = |name: &&'static str| Some((*name, plain(head.environment.facts.get(*name)?, FACT)));
        (head.environment.key.clone(), KEY_FACTS.iter().filter_map(fact).collect())
    };
    catalog.runs.iter().filter(|head| used.contains(&*head.environment.key)).map(|head| facts(head)).collect()
}
