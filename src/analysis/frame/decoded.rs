//! Decoded runs as columns: a head a run, and one row a value. What a frame is made of, and what the cache holds.
//!
//! A history repeats itself: a thousand runs name the same hundred metrics of benchmarks. Each of those is a cell,
//! and a row bears its number.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use polars::prelude::*;

use super::cells::{FrameError, number_of};
use super::values::{self, Values};
use sprag_model::benchmark::Benchmark;
use sprag_model::head::RunHead;
use sprag_model::metric::Metric;
use sprag_model::run::RecordedRun;
use sprag_model::sample::{Estimate, Measurement, Role};

/// Runs without the measurements that mean nothing: those of benchmarks that failed or computed something wrong.
#[derive(Clone, Debug)]
pub struct DecodedRuns {
    pub(super) heads: Vec<RunHead>,
    /// What tells the content of each record from any other: the id of its blob.
    pub(super) blobs: Vec<String>,
    pub(super) cells: Vec<Cell>,
    /// One row a value, by run: numbers of `run` and `cell`, and the estimate.
    pub(super) values: DataFrame,
}

/// A metric of a benchmark in one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) benchmark: Arc<Benchmark>,
    pub(super) role: Role,
    pub(super) metric: Metric,
}

impl DecodedRuns {
    pub fn none() -> DecodedRuns {
        Decoder::default().finish()
    }

    /// The heads of the runs, in the order in which they were added.
    pub fn heads(&self) -> &[RunHead] {
        &self.heads
    }

    /// The path of each run and the id of its blob.
    pub fn records(&self) -> impl Iterator<Item = (&str, &str)> {
        self.heads.iter().zip(&self.blobs).map(|(head, blob)| (head.path.as_str(), blob.as_str()))
    }

    /// The heads of the runs, each with the id of its blob.
    pub fn into_heads(self) -> Vec<(RunHead, String)> {
        self.heads.into_iter().zip(self.blobs).collect()
    }

    /// How many values there are.
    pub fn n_values(&self) -> usize {
        self.values.height()
    }

    /// Adds the runs of another, behind its own.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn append(&mut self, other: DecodedRuns) -> Result<(), FrameError> {
        if self.heads.is_empty() {
            *self = other;
            return Ok(());
        }
        let mut cells = Cells::new(std::mem::take(&mut self.cells));
        let numbers: Vec<u32> = other
            .cells
            .iter()
            .map(|cell| cells.of_benchmark(&cell.benchmark).number(cell.role, &cell.metric))
            .collect();
        self.cells = cells.cells;
        let first = number_of(self.heads.len());
        let mut values = other.values;
        for (name, new) in [("run", None), ("cell", Some(&numbers))] {
            let old = values.column(name)?.u32()?;
            let renumber = |number: u32| new.map_or(first + number, |numbers| numbers[number as usize]);
            let column = old.apply_values(renumber).into_column();
            values.replace(name, column)?;
        }
        self.values.vstack_mut_owned(values)?;
        self.heads.extend(other.heads);
        self.blobs.extend(other.blobs);
        Ok(())
    }

    /// The runs that `keep` says yes to, which is asked for each run once, in order, with the id of its blob.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn select(self, mut keep: impl FnMut(&RunHead, &str) -> bool) -> Result<DecodedRuns, FrameError> {
        let kept: Vec<usize> = (0..self.heads.len()).filter(|&run| keep(&self.heads[run], &self.blobs[run])).collect();
        if kept.len() == self.heads.len() {
            return Ok(self);
        }
        self.arranged(&kept)
    }

    /// The same runs, oldest first.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn by_time(self) -> Result<DecodedRuns, FrameError> {
        let mut order: Vec<usize> = (0..self.heads.len()).collect();
        order.sort_by_key(|&run| (self.heads[run].timestamp, &self.heads[run].path));
        if order.is_sorted() { Ok(self) } else { self.arranged(&order) }
    }

    /// The runs with these numbers, in that order.
    fn arranged(&self, order: &[usize]) -> Result<DecodedRuns, FrameError> {
        let rows = self.rows_of_runs()?;
        let mut numbers = Vec::new();
        let mut places = Vec::new();
        for (number, &run) in order.iter().enumerate() {
            numbers.extend(std::iter::repeat_n(number_of(number), rows[run].len()));
            places.extend(rows[run].clone().map(number_of));
        }
        let mut values = values::taken(&self.values, places)?;
        values.replace("run", Column::new("run".into(), numbers))?;
        let heads = order.iter().map(|&run| self.heads[run].clone()).collect();
        let blobs = order.iter().map(|&run| self.blobs[run].clone()).collect();
        Ok(DecodedRuns { heads, blobs, cells: self.cells.clone(), values })
    }

    /// Which rows are those of each run.
    pub(super) fn rows_of_runs(&self) -> Result<Vec<Range<usize>>, FrameError> {
        let mut rows = vec![0..0; self.heads.len()];
        let mut row = 0;
        for numbers in self.values.column("run")?.u32()?.downcast_iter() {
            for &run in numbers.values().iter() {
                let rows = &mut rows[run as usize];
                rows.start = if rows.start == rows.end { row } else { rows.start };
                row += 1;
                rows.end = row;
            }
        }
        Ok(rows)
    }
}

/// Takes in runs one by one, so that none needs to be held as a whole.
#[derive(Default)]
pub struct Decoder {
    heads: Vec<RunHead>,
    blobs: Vec<String>,
    cells: Cells,
    values: Values,
}

impl Decoder {
    /// Takes in a run; `blob` is the id of its content.
    ///
    /// # Errors
    /// When an estimate holds a number that is not finite, which no record can.
    pub fn add(&mut self, blob: &str, recorded: &RecordedRun) -> Result<(), FrameError> {
        let run = number_of(self.heads.len());
        for measurement in measured(recorded) {
            let mut cells = self.cells.of_benchmark(&measurement.benchmark);
            for estimate in &measurement.estimates {
                check_finite(recorded, measurement, estimate)?;
                self.values.push(run, cells.number(measurement.role, &estimate.metric), estimate);
            }
        }
        let mut head = RunHead::new(recorded);
        if let Some(last) = self.heads.last() {
            share(&mut head.machine, &last.machine);
            share(&mut head.environment, &last.environment);
            share(&mut head.config, &last.config);
        }
        self.heads.push(head);
        self.blobs.push(blob.to_owned());
        Ok(())
    }

    pub fn finish(self) -> DecodedRuns {
        let Decoder { heads, blobs, cells, values } = self;
        DecodedRuns { heads, blobs, cells: cells.cells, values: values.into_frame() }
    }
}

#[derive(Default)]
struct Cells {
    cells: Vec<Cell>,
    /// The numbers of the cells of each benchmark.
    numbers: Vec<Vec<u32>>,
    /// The benchmarks in the same order.
    benchmarks: Vec<Arc<Benchmark>>,
    places: HashMap<Arc<Benchmark>, usize>,
    /// The place after the last one that was asked for: runs of a suite list their benchmarks in one order, and a reader
    /// holds each once.
    next: usize,
}

impl Cells {
    fn new(cells: Vec<Cell>) -> Cells {
        let mut known = Cells::default();
        for (number, cell) in cells.iter().enumerate() {
            let place = known.place(&cell.benchmark);
            known.numbers[place].push(number_of(number));
        }
        Cells { cells, ..known }
    }

    /// Those of a benchmark, which is looked for once however many metrics it has.
    fn of_benchmark<'c>(&'c mut self, benchmark: &'c Arc<Benchmark>) -> BenchmarkCells<'c> {
        let place = self.place(benchmark);
        BenchmarkCells { benchmark, cells: &mut self.cells, numbers: &mut self.numbers[place] }
    }

    fn place(&mut self, benchmark: &Arc<Benchmark>) -> usize {
        let is_next = self.benchmarks.get(self.next).is_some_and(|next| Arc::ptr_eq(next, benchmark));
        let known = if is_next { Some(self.next) } else { self.places.get(benchmark).copied() };
        let place = known.unwrap_or_else(|| {
            self.numbers.push(Vec::new());
            self.benchmarks.push(Arc::clone(benchmark));
            self.places.insert(Arc::clone(benchmark), self.benchmarks.len() - 1);
            self.benchmarks.len() - 1
        });
        self.next = place + 1;
        place
    }
}

struct BenchmarkCells<'c> {
    benchmark: &'c Arc<Benchmark>,
    cells: &'c mut Vec<Cell>,
    numbers: &'c mut Vec<u32>,
}

impl BenchmarkCells<'_> {
    fn number(&mut self, role: Role, metric: &Metric) -> u32 {
        let is_it = |number: &&u32| {
            let cell = &self.cells[**number as usize];
            cell.role == role && cell.metric == *metric
        };
        if let Some(number) = self.numbers.iter().find(is_it) {
            return *number;
        }
        let number = number_of(self.cells.len());
        self.cells.push(Cell { benchmark: Arc::clone(self.benchmark), role, metric: metric.clone() });
        self.numbers.push(number);
        number
    }
}

/// Holds once what two runs have in common.
fn share<T: PartialEq>(part: &mut Arc<T>, last: &Arc<T>) {
    if part == last {
        *part = Arc::clone(last);
    }
}

/// The measurements of a run whose numbers mean something.
fn measured(run: &RecordedRun) -> impl Iterator<Item = &Measurement> {
    run.run.measurements.iter().filter(|measurement| measurement.is_usable() && !measurement.estimates.is_empty())
}

fn check_finite(run: &RecordedRun, measurement: &Measurement, estimate: &Estimate) -> Result<(), FrameError> {
    let (lower, upper) = estimate.interval.unzip();
    let numbers = [
        ("the value", Some(estimate.value)),
        ("the lower end", lower),
        ("the upper end", upper),
        ("the median", estimate.p50),
        ("the 95th percentile", estimate.p95),
        ("the minimum", estimate.min),
        ("the detectable change", estimate.detectable),
        ("a worker's median", estimate.workers.iter().copied().find(|median| !median.is_finite())),
    ];
    match numbers.iter().find(|(_, number)| number.is_some_and(|number| !number.is_finite())) {
        None => Ok(()),
        Some(&(field, _)) => Err(FrameError::NotFinite {
            run: run.id.clone(),
            benchmark: measurement.benchmark.id(),
            metric: estimate.metric.name.clone(),
            field,
        }),
    }
}
