//! What two commits are compared by: commits, environments, series with their fits and values. All numbers are rounded as
//! the scripts hold them, so that a page and the script compute from the same ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::columns::{self, Column, Numbers, PointData};
use super::commits::{self, ComparedCommit, NAME, plain};
use super::rounding::{measured as measured_value, rounded};
use super::segments::{Segment, Step, segments};
use crate::catalog::Catalog;
use crate::number;
use crate::order::{natural, parameters};
use crate::text::{short_benchmark, short_commit};
use sprag_model::environment::KEY_FACTS;
use sprag_model::metric::Metric;
use sprag_model::trend::{PooledPoint, SeriesTrend};

/// The most characters of a fact.
const FACT: usize = 60;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Data {
    /// The commits that were measured, oldest first: their place is their number.
    pub(crate) commits: Vec<ComparedCommit>,
    /// The commits with a tag that were not, oldest first, numbered on from there.
    pub(crate) tagged: Vec<ComparedCommit>,
    /// The facts of each environment by which keys differ, by key.
    pub(super) environments: BTreeMap<String, BTreeMap<&'static str, String>>,
    /// The series, in the order in which a reader expects them.
    pub(super) series: Vec<SeriesData>,
}

/// A series with its fit and its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeriesData {
    pub(super) id: String,
    pub(super) suite: String,
    /// The benchmark without its suite.
    pub(super) benchmark: String,
    /// Its parameter `dtype`; empty where it has none.
    pub(super) dtype: String,
    pub(super) machine: String,
    pub(super) machine_name: String,
    pub(super) metric: Metric,
    pub(super) judged: bool,
    /// Whether kernels are held against it.
    pub(super) auxiliary: bool,
    /// The deviation of a point from its level, a share of it.
    pub(super) deviation: Option<f64>,
    /// The smallest change that shows.
    pub(super) shows: Option<f64>,
    /// The smallest change that counts.
    pub(super) least: f64,
    /// The stretches at a level and in a drift. Empty where no level was looked for.
    pub(super) levels: Vec<Segment>,
    pub(super) changes: Vec<Step>,
    /// The values, in the order of the columns.
    pub(super) points: Vec<PointData>,
}

impl Data {
    /// What the trend holds, for the commits of the line; without a line, for all commits in the order of their runs.
    pub(crate) fn new(catalog: &Catalog<'_>) -> Data {
        let commits = catalog.compared().to_vec();
        let tagged = commits::tagged(catalog.line, &commits);
        let numbers = Numbers::new(&catalog.trend.series, |sha| catalog.compared_number(sha));
        let columns = columns::columns(catalog.trend.series.iter(), &numbers);
        let of = |one: &SeriesTrend| {
            let columns = columns.get(&(one.suite.as_str(), one.machine.id.as_str()))?;
            series_data(catalog, one, &numbers, columns)
        };
        let mut series: Vec<SeriesData> = catalog.trend.series.par_iter().filter_map(of).collect();
        series.sort_by(|a, b| {
            (&a.suite, a.auxiliary)
                .cmp(&(&b.suite, b.auxiliary))
                .then_with(|| natural(&a.benchmark, &b.benchmark))
                .then_with(|| (&a.metric.name, &a.machine_name, &a.id).cmp(&(&b.metric.name, &b.machine_name, &b.id)))
        });
        Data { environments: environments(catalog, &series), commits, tagged, series }
    }

    /// How many series there are.
    pub(crate) fn series_count(&self) -> usize {
        self.series.len()
    }

    /// The commit of a number, measured or not.
    pub(crate) fn commit(&self, number: usize) -> &ComparedCommit {
        self.commits.get(number).unwrap_or_else(|| &self.tagged[number - self.commits.len()])
    }

    /// The number of the measured commit of which the values count for one of that number: itself, or the nearest before it.
    pub(crate) fn measured(&self, number: usize) -> usize {
        self.commit(number).stands.unwrap_or(number)
    }

    /// What a commit of a number is called, and where it was not measured, of which one the values are.
    pub(crate) fn name(&self, number: usize) -> String {
        let commit = self.commit(number);
        match commit.stands {
            Some(stands) => format!("{} (as of {})", commit.name(), short_commit(&self.commits[stands].sha)),
            None => commit.name(),
        }
    }

    /// How many commits were measured between the commits of two numbers, the older one first.
    pub(crate) fn between(&self, a: usize, b: usize) -> usize {
        let end = self.measured(b) + usize::from(self.commit(b).stands.is_some());
        end.saturating_sub(self.measured(a) + 1)
    }

    /// The commits with tags, oldest first, each of which something was measured at or since the one before; of several at which
    /// the same was measured, one that was measured itself, or else the newest.
    pub(crate) fn releases(&self) -> Vec<usize> {
        let mut newest: BTreeMap<usize, usize> = BTreeMap::new();
        let own = (0..self.commits.len()).filter(|number| !self.commits[*number].tags.is_empty());
        for number in (self.commits.len()..self.commits.len() + self.tagged.len()).chain(own) {
            newest.insert(self.measured(number), number);
        }
        newest.into_values().collect()
    }

    /// The number of a commit, where it was measured.
    pub(super) fn number(&self, sha: &str) -> Option<usize> {
        self.commits.iter().position(|commit| commit.sha == sha)
    }
}

/// A series; none where its commits do not stand in the order of the others'.
fn series_data(
    catalog: &Catalog<'_>,
    one: &SeriesTrend,
    numbers: &Numbers<'_>,
    columns: &[Arc<Column>],
) -> Option<SeriesData> {
    // Its page is what a row leads to.
    let listed = catalog.series(&one.series)?;
    let dtype = parameters(&listed.series.params).into_iter().find(|(name, _)| *name == "dtype");
    let of_points: Option<Vec<usize>> = one.pooled.iter().map(|point| numbers.number(one, point)).collect();
    let of_points = of_points.filter(|numbers| !numbers.is_empty() && numbers.is_sorted())?;
    let (levels, changes) = segments(one, &of_points);
    Some(SeriesData {
        id: one.series.clone(),
        suite: plain(&one.suite, NAME),
        benchmark: plain(short_benchmark(&one.benchmark), NAME),
        dtype: dtype.map_or(String::new(), |(_, value)| plain(value, NAME)),
        machine: one.machine.id.clone(),
        machine_name: plain(&one.machine.name, NAME),
        metric: one.metric.clone(),
        judged: one.judged,
        auxiliary: one.beside,
        deviation: deviation(one, &levels).map(rounded).filter(|deviation| deviation.is_finite()),
        shows: one.detectable.map(|size| rounded(number::step_up(size))).filter(|size| size.is_finite()),
        least: rounded(one.least),
        levels,
        changes,
        points: points(one, &of_points, columns),
    })
}

/// The deviation of a point from its level, as a share of the newest level of these stretches.
fn deviation(one: &SeriesTrend, segments: &[Segment]) -> Option<f64> {
    let Some(noise) = one.noise else { return one.exact.then_some(0.0) };
    if noise.is_relative {
        return Some(noise.deviation);
    }
    let [newest, ..] = segments.iter().rev().find_map(|segment| segment.level())?;
    Some(noise.deviation / newest.abs())
}

fn points(one: &SeriesTrend, numbers: &[usize], columns: &[Arc<Column>]) -> Vec<PointData> {
    let of = |(number, point): (&usize, &PooledPoint)| {
        let first = columns.partition_point(|column| column.number < *number);
        let mut of_commit = columns[first..].iter().take_while(|column| column.number == *number);
        Some(PointData {
            of: Arc::clone(of_commit.find(|column| column.environment == point.environment_key)?),
            value: measured_value(point.value),
            spread: point.spread.map(|(low, high)| (measured_value(low), measured_value(high))),
        })
    };
    let mut points = Vec::with_capacity(numbers.len());
    points.extend(numbers.iter().zip(one.pooled.iter()).filter_map(of));
    points.sort_by_key(|point| point.column);
    points
}

fn environments(catalog: &Catalog<'_>, series: &[SeriesData]) -> BTreeMap<String, BTreeMap<&'static str, String>> {
    let used: BTreeSet<&str> = series.iter().flat_map(|one| &one.points).map(|point| &*point.environment).collect();
    let heads = catalog.runs.iter().filter(|head| used.contains(head.environment.key.as_str()));
    let facts = |head: &sprag_model::head::RunHead| -> BTreeMap<&'static str, String> {
        let present =
            KEY_FACTS.iter().filter_map(|name| Some((*name, plain(head.environment.facts.get(*name)?, FACT))));
        present.collect()
    };
    heads.map(|head| (head.environment.key.clone(), facts(head))).collect()
}
