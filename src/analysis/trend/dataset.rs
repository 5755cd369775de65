//! A history as a dataset: its outline, its runs, and what the points of each series come to.
//!
//! The points themselves lie in files of their own, of which engines may read any part, in any order. Each series has a sum
//! of digests of its points, so that a point that is missing, doubled or another is noticed, wherever it came from.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::outline::{Detector, Input, Outline};
use super::series_changes::Detection;
use crate::frame::PointRow;
use sprag_model::{Medians, Point, PointRun, Series};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dataset {
    pub outline: Outline,
    runs: Vec<Run>,
    /// Of each series of the outline.
    sums: Vec<Sum>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    id: String,
    commit: String,
    position: Option<usize>,
    rank: usize,
    time: DateTime<Utc>,
    environment_key: String,
    dirty: bool,
}

/// How many points there are, and the sum of their digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sum {
    points: usize,
    digests: u64,
}

impl Sum {
    /// Of a point with the medians of its workers.
    fn add(&mut self, run: u64, value: f64, medians: &[f64]) {
        self.points += 1;
        let digest = mixed(run ^ value.to_bits().rotate_left(32));
        let digest = medians.iter().fold(digest, |digest, median| mixed(digest ^ median.to_bits()));
        self.digests = self.digests.wrapping_add(digest);
    }
}

/// The last step of SplitMix64.
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn number_of(run: &str) -> u64 {
    run.bytes().fold(0, |number, byte| mixed(number ^ u64::from(byte)))
}

/// Why rows are not all of the points of their series.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    #[error("the run `{0}` is not one of the dataset: the rows are of another history or another export")]
    UnknownRun(String),
    #[error("the series `{0}` is not one of the dataset: the rows are of another history or another export")]
    UnknownSeries(String),
    #[error(
        "{given} of the {wanted} points of the series `{series}` are here; one call needs all points of a series, so partition by \
         `bucket`"
    )]
    Straddles { series: String, given: usize, wanted: usize },
    #[error("{given} points of the series `{series}` are here, which has {wanted}: a part was read twice")]
    Doubled { series: String, given: usize, wanted: usize },
    #[error("the points of the series `{0}` are not those of the dataset: a part is of another export, or was changed")]
    Differs(String),
}

impl Dataset {
    pub fn new(input: &Input<'_>) -> Dataset {
        Dataset::from_outline(Outline::new(input), input)
    }

    /// With the outline of that input.
    pub fn from_outline(outline: Outline, input: &Input<'_>) -> Dataset {
        let mut runs: Vec<Option<&PointRun>> = Vec::new();
        for point in each_series(&outline, input).flat_map(|series| &series.points) {
            runs.resize(runs.len().max(point.rank + 1), None);
            runs[point.rank] = Some(&point.of);
        }
        let numbers: Vec<u64> = runs.iter().map(|run| run.map_or(0, |run| number_of(&run.run))).collect();
        let run = |run: &PointRun| Run {
            id: run.run.to_string(),
            commit: run.commit.to_string(),
            position: run.position,
            rank: run.rank,
            time: run.time,
            environment_key: run.environment_key.to_string(),
            dirty: run.dirty,
        };
        let sums = each_series(&outline, input).map(|series| sum(&series.points, &numbers, |_| true)).collect();
        Dataset { runs: runs.into_iter().flatten().map(run).collect(), sums, outline }
    }

    pub fn n_points(&self) -> usize {
        self.sums.iter().map(|sum| sum.points).sum()
    }

    /// The ids of its runs.
    pub fn runs(&self) -> HashSet<&str> {
        self.runs.iter().map(|run| run.id.as_str()).collect()
    }

    /// Whether it holds all points of an earlier one as they are, and of its runs no others, so that the rest can be added.
    pub fn continues(&self, earlier: &Dataset, input: &Input<'_>) -> bool {
        let exported = earlier.runs();
        let own: HashMap<&str, &Run> = self.runs.iter().map(|run| (run.id.as_str(), run)).collect();
        if !exported.iter().all(|run| own.contains_key(run)) {
            return false;
        }
        let last = self.runs.last().map_or(0, |run| run.rank + 1);
        let (mut numbers, mut was_exported) = (vec![0; last], vec![false; last]);
        for run in &self.runs {
            (numbers[run.rank], was_exported[run.rank]) = (number_of(&run.id), exported.contains(run.id.as_str()));
        }
        let old: HashMap<&str, Sum> =
            earlier.outline.series.iter().map(|one| one.series.id.as_str()).zip(earlier.sums.iter().copied()).collect();
        let new = each_series(&self.outline, input)
            .map(|series| (series.id.as_str(), sum(&series.points, &numbers, |rank| was_exported[rank])))
            .filter(|(_, sum)| sum.points > 0);
        new.collect::<HashMap<_, _>>() == old
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        rmp_serde::to_vec_named(self).expect("plain values can be written")
    }

    /// Reads what [`Dataset::to_bytes`] wrote; absent for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Dataset> {
        let dataset: Dataset = rmp_serde::from_slice(bytes).ok()?;
        (dataset.outline.has_axes() && dataset.sums.len() == dataset.outline.series.len()).then_some(dataset)
    }
}

/// The series of an outline, in its order, with their points.
pub fn each_series<'a>(outline: &'a Outline, input: &'a Input<'_>) -> impl Iterator<Item = &'a Series> {
    let mut all = input.analysis.series.iter().map(|one| &one.series);
    outline.series.iter().filter_map(move |listed| all.find(|series| series.id == listed.series.id))
}

fn sum(points: &[Point], numbers: &[u64], counts: impl Fn(usize) -> bool) -> Sum {
    let mut sum = Sum::default();
    points
        .iter()
        .filter(|point| counts(point.rank))
        .for_each(|point| sum.add(numbers[point.rank], point.value, &point.workers));
    sum
}

/// A dataset that is ready to analyse series by their rows.
pub struct Parts<'d> {
    dataset: &'d Dataset,
    pub detector: Detector<'d>,
    series: HashMap<&'d str, usize>,
    runs: HashMap<&'d str, (u64, Arc<PointRun>)>,
}

impl<'d> Parts<'d> {
    pub fn new(dataset: &'d Dataset) -> Parts<'d> {
        let mut last: (Arc<str>, Arc<str>) = ("".into(), "".into());
        let shared = |last: &mut Arc<str>, text: &str| {
            if **last != *text {
                *last = text.into();
            }
            Arc::clone(last)
        };
        let run = |run: &'d Run| {
            let of = PointRun {
                commit: shared(&mut last.0, &run.commit),
                position: run.position,
                rank: run.rank,
                time: run.time,
                environment_key: shared(&mut last.1, &run.environment_key),
                run: run.id.as_str().into(),
                dirty: run.dirty,
            };
            (run.id.as_str(), (number_of(&run.id), Arc::new(of)))
        };
        let series = dataset.outline.series.iter().enumerate();
        Parts {
            dataset,
            detector: Detector::new(&dataset.outline),
            series: series.map(|(number, listed)| (listed.series.id.as_str(), number)).collect(),
            runs: dataset.runs.iter().map(run).collect(),
        }
    }

    pub fn gather(&self) -> Gathered<'_> {
        Gathered { parts: self, series: HashMap::new(), last: None, error: None }
    }
}

#[derive(Default)]
struct Rows {
    sum: Sum,
    runs: Vec<Arc<PointRun>>,
    values: Vec<f64>,
    /// The medians of all points, and where those of each end.
    medians: Vec<f64>,
    ends: Vec<usize>,
}

/// The rows that one call sees.
pub struct Gathered<'p> {
    parts: &'p Parts<'p>,
    series: HashMap<usize, Rows>,
    /// The series of the last row, as rows mostly come by series.
    last: Option<(String, usize)>,
    error: Option<GatherError>,
}

impl Gathered<'_> {
    pub fn take(&mut self, row: PointRow<'_>) {
        let PointRow { series, run, value, workers } = row;
        let parts = self.parts;
        let same = self.last.as_ref().filter(|last| last.0 == series).map(|last| last.1);
        let Some(number) = same.or_else(|| parts.series.get(series).copied()) else {
            self.error.get_or_insert_with(|| GatherError::UnknownSeries(series.to_owned()));
            return;
        };
        let Some((of_run, run)) = parts.runs.get(run) else {
            self.error.get_or_insert_with(|| GatherError::UnknownRun(run.to_owned()));
            return;
        };
        if same.is_none() {
            self.last = Some((series.to_owned(), number));
        }
        let rows = self.series.entry(number).or_default();
        rows.sum.add(*of_run, value, workers);
        rows.runs.push(Arc::clone(run));
        rows.values.push(value);
        rows.medians.extend_from_slice(workers);
        rows.ends.push(rows.medians.len());
    }

    /// What is found in each series, in the order of the outline.
    pub fn finish(self) -> Result<Vec<Detection>, GatherError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let (dataset, detector) = (self.parts.dataset, &self.parts.detector);
        let mut all: Vec<(usize, Rows)> = self.series.into_iter().collect();
        all.sort_unstable_by_key(|one| one.0);
        for (number, rows) in &all {
            let series = || dataset.outline.series[*number].series.id.clone();
            let (given, wanted) = (rows.sum.points, dataset.sums[*number].points);
            match given.cmp(&wanted) {
                std::cmp::Ordering::Less => return Err(GatherError::Straddles { series: series(), given, wanted }),
                std::cmp::Ordering::Greater => return Err(GatherError::Doubled { series: series(), given, wanted }),
                std::cmp::Ordering::Equal if rows.sum != dataset.sums[*number] => {
                    return Err(GatherError::Differs(series()));
                }
                std::cmp::Ordering::Equal => {}
            }
        }
        let detect = |(number, rows): (usize, Rows)| {
            let listed = &dataset.outline.series[number];
            detector.detect(listed, &Series { points: points(rows), ..listed.series.bare() })
        };
        Ok(all.into_par_iter().map(detect).collect())
    }
}

fn points(rows: Rows) -> Vec<Point> {
    let Rows { runs, values, medians, ends, .. } = rows;
    let medians: Arc<[f64]> = medians.into();
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let point = |((of, value), (begin, end))| Point {
        of,
        value,
        interval: None,
        workers: Medians::new(&medians, begin..end).expect("each point has its medians"),
    };
    let mut points: Vec<Point> =
        runs.into_iter().zip(values).zip(begins.zip(ends.iter().copied())).map(point).collect();
    points.sort_by_key(|point| point.rank);
    points
}

/// Why partial results are not all of a dataset.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error(
        "`{file}` is damaged, or was changed: what it holds of the series `{series}` cannot be what was found there"
    )]
    Damaged { file: String, series: String },
    #[error("the series `{series}` comes twice: in `{first}` and in `{second}`")]
    Doubled { series: String, first: String, second: String },
    #[error("`{file}` holds the series `{series}`, which is not one of the dataset")]
    Unknown { file: String, series: String },
    #[error("{missing} of the {all} series are missing, such as `{first}`")]
    Missing { missing: usize, all: usize, first: String },
}

/// The findings of partial results, each with its file and the id of its series, in the order of the outline.
pub fn in_order<'f>(
    outline: &Outline,
    partials: impl Iterator<Item = (&'f str, &'f str, &'f [u8])>,
) -> Result<Vec<Detection>, JoinError> {
    let series = &outline.series;
    let numbers: HashMap<&str, usize> = series.iter().map(|one| one.series.id.as_str()).zip(0..).collect();
    let mut all: Vec<Option<(&str, Detection)>> = series.iter().map(|_| None).collect();
    for (file, id, bytes) in partials {
        let unknown = || JoinError::Unknown { file: file.to_owned(), series: id.to_owned() };
        let number = *numbers.get(id).ok_or_else(unknown)?;
        let detection =
            Detection::from_bytes(bytes).filter(|detection| outline.is_possible(&series[number], detection));
        let detection = detection.ok_or_else(|| JoinError::Damaged { file: file.to_owned(), series: id.to_owned() })?;
        if let Some((first, _)) = all[number].replace((file, detection)) {
            let (first, second) = (first.to_owned(), file.to_owned());
            return Err(JoinError::Doubled { series: id.to_owned(), first, second });
        }
    }
    let mut missing = all.iter().zip(series).filter(|(detection, _)| detection.is_none());
    match missing.next() {
        Some((_, first)) => {
            let first = first.series.id.clone();
            Err(JoinError::Missing { missing: 1 + missing.count(), all: series.len(), first })
        }
        None => Ok(all.into_iter().flatten().map(|one| one.1).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_row_counts() {
        let digest = |run: u64, value: f64, medians: &[f64]| {
            let mut sum = Sum::default();
            sum.add(run, value, medians);
            sum.digests
        };
        let others = [(1, 1.5, &[1.0, 2.0][..]), (2, 1.5, &[1.0, 2.0]), (1, 1.0, &[1.0, 2.0]), (1, 1.5, &[2.0, 1.0])];
        let fewer = [(1, 1.5, &[1.5][..]), (1, 1.5, &[])];
        let all = others.iter().chain(&fewer).map(|(run, value, medians)| digest(*run, *value, medians));
        assert_eq!(all.collect::<HashSet<u64>>().len(), others.len() + fewer.len());
    }
}
