//! Decoded runs: a head a run, and its values without what only a record that is shown in full says.
//!
//! A history repeats itself: a thousand runs name the same hundred metrics of benchmarks. Each of those is a cell, and a
//! value has its number.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use sprag_model::head::shared;
use sprag_model::{Benchmark, Environment, Machine, Metric, RecordedRun, Role, RunHead};

/// Among so many runs before it, a run looks for one with equal machine, environment and configuration to share them.
const RECENT: usize = 16;

/// About what the cache takes, so that its bytes are not moved as they grow.
const BYTES_A_HEAD: usize = 600;
const BYTES_A_VALUE: usize = 40;

/// Runs without the measurements of benchmarks that failed or computed something wrong.
#[derive(Clone, Debug, Default)]
pub struct DecodedRuns {
    pub(super) heads: Vec<RunHead>,
    /// What each run measured, in the order of the heads.
    pub(super) contents: Vec<Content>,
    pub(super) cells: Vec<Cell>,
    /// The numbers of the cells of each benchmark.
    numbers: HashMap<Arc<Benchmark>, Vec<u32>>,
}

/// A metric of a benchmark in one role.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cell {
    #[serde(with = "shared")]
    pub(super) benchmark: Arc<Benchmark>,
    pub(super) role: Role,
    pub(super) metric: Metric,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Content {
    /// The id of the blob that the run was read from.
    blob: String,
    pub(super) values: Vec<Value>,
    /// The medians of the worker processes of all values, one after another.
    pub(super) medians: Vec<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Value {
    pub(super) cell: u32,
    pub(super) value: f64,
    pub(super) interval: Option<(f64, f64)>,
    /// How many of the medians are of this value.
    pub(super) workers: usize,
}

impl DecodedRuns {
    /// Takes in a run; `blob` is the id of its content.
    pub fn add(&mut self, blob: &str, recorded: &RecordedRun) {
        let usable = || recorded.run.measurements.iter().filter(|measurement| measurement.is_usable());
        let estimates = || usable().flat_map(|measurement| &measurement.estimates);
        let mut content = Content {
            blob: blob.to_owned(),
            values: Vec::with_capacity(estimates().count()),
            medians: Vec::with_capacity(estimates().map(|estimate| estimate.workers.len()).sum()),
        };
        for measurement in usable() {
            for estimate in &measurement.estimates {
                content.values.push(Value {
                    cell: self.number(&measurement.benchmark, measurement.role, &estimate.metric),
                    value: estimate.value,
                    interval: estimate.interval,
                    workers: estimate.workers.len(),
                });
                content.medians.extend_from_slice(&estimate.workers);
            }
        }
        self.push(RunHead::new(recorded), content);
    }

    fn push(&mut self, mut head: RunHead, content: Content) {
        share_recent(&mut head, &self.heads);
        self.heads.push(head);
        self.contents.push(content);
    }

    /// The number of a cell, which is added where it is new.
    fn number(&mut self, benchmark: &Arc<Benchmark>, role: Role, metric: &Metric) -> u32 {
        let is_it = |number: &&u32| {
            let cell = &self.cells[**number as usize];
            cell.role == role && cell.metric == *metric
        };
        if let Some(number) = self.numbers.get(benchmark).and_then(|numbers| numbers.iter().find(is_it)) {
            return *number;
        }
        let number = u32::try_from(self.cells.len()).expect("more than 2^32 metrics do not fit into memory");
        self.cells.push(Cell { benchmark: Arc::clone(benchmark), role, metric: metric.clone() });
        self.numbers.entry(Arc::clone(benchmark)).or_default().push(number);
        number
    }

    /// The heads of the runs, in the order in which they were added.
    pub fn heads(&self) -> &[RunHead] {
        &self.heads
    }

    /// The path of each run and the id of its blob.
    pub fn records(&self) -> impl Iterator<Item = (&str, &str)> {
        self.heads.iter().zip(&self.contents).map(|(head, content)| (head.path.as_str(), content.blob.as_str()))
    }

    /// The heads of the runs, each with the id of its blob.
    pub fn into_heads(self) -> Vec<(RunHead, String)> {
        self.heads.into_iter().zip(self.contents).map(|(head, content)| (head, content.blob)).collect()
    }

    pub fn n_values(&self) -> usize {
        self.contents.iter().map(|content| content.values.len()).sum()
    }

    pub fn append(&mut self, other: DecodedRuns) {
        let numbers: Vec<u32> =
            other.cells.iter().map(|cell| self.number(&cell.benchmark, cell.role, &cell.metric)).collect();
        for (head, mut content) in other.heads.into_iter().zip(other.contents) {
            content.values.iter_mut().for_each(|value| value.cell = numbers[value.cell as usize]);
            self.push(head, content);
        }
    }

    /// The runs for which `wanted` is true. It is asked once a run, in order, with the id of its blob.
    pub fn select(mut self, mut wanted: impl FnMut(&RunHead, &str) -> bool) -> DecodedRuns {
        let runs = self.heads.iter().zip(&self.contents);
        let is_wanted: Vec<bool> = runs.map(|(head, content)| wanted(head, &content.blob)).collect();
        let (mut of_heads, mut of_contents) = (is_wanted.iter(), is_wanted.iter());
        self.heads.retain(|_| of_heads.next() == Some(&true));
        self.contents.retain(|_| of_contents.next() == Some(&true));
        self
    }

    /// The runs in the order of their paths, so that equal runs give equal bytes in whichever order they were read.
    pub fn sorted(self) -> DecodedRuns {
        let mut runs: Vec<(RunHead, Content)> = self.heads.into_iter().zip(self.contents).collect();
        runs.sort_by(|a, b| a.0.path.cmp(&b.0.path));
        let mut numbers: Vec<Option<u32>> = vec![None; self.cells.len()];
        let mut sorted = DecodedRuns::default();
        sorted.heads.reserve(runs.len());
        sorted.contents.reserve(runs.len());
        for (head, mut content) in runs {
            for value in &mut content.values {
                let cell = &self.cells[value.cell as usize];
                let number = &mut numbers[value.cell as usize];
                value.cell = *number.get_or_insert_with(|| sorted.number(&cell.benchmark, cell.role, &cell.metric));
            }
            sorted.push(head, content);
        }
        sorted
    }

    /// The runs as bytes for the cache (MessagePack). What runs share is there once: else it would be most of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (mut commons, mut numbers) = (Vec::new(), HashMap::new());
        let empty = Common {
            machine: Machine::named("", "").into(),
            environment: Environment::from_facts(BTreeMap::new()).into(),
            config: Arc::default(),
        };
        let bare = |head: &RunHead| {
            let common = Common::of(head);
            let number = *numbers.entry(common.place()).or_insert_with(|| {
                commons.push(common);
                commons.len() - 1
            });
            (number, empty.clone().put_in(head.clone()))
        };
        let heads: Vec<(usize, RunHead)> = self.heads.iter().map(bare).collect();
        let medians: usize = self.contents.iter().map(|content| content.medians.len()).sum();
        let mut bytes = Vec::with_capacity(BYTES_A_HEAD * heads.len() + BYTES_A_VALUE * self.n_values() + 9 * medians);
        let all = (&self.cells, commons, heads, &self.contents);
        rmp_serde::encode::write(&mut bytes, &all).expect("plain values can be written");
        bytes
    }

    /// Reads what [`DecodedRuns::to_bytes`] wrote; absent for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<DecodedRuns> {
        let (cells, commons, heads, contents): Cached = rmp_serde::from_slice(bytes).ok()?;
        let complete = heads.into_iter().map(|(number, head)| Some(commons.get(number)?.clone().put_in(head)));
        let mut heads = complete.collect::<Option<Vec<RunHead>>>()?;
        let fits = |content: &Content| {
            content.values.iter().all(|value| (value.cell as usize) < cells.len())
                && content.values.iter().map(|value| value.workers).sum::<usize>() == content.medians.len()
        };
        if heads.len() != contents.len() || !contents.iter().all(fits) {
            return None;
        }
        for place in 1..heads.len() {
            let (earlier, later) = heads.split_at_mut(place);
            share_recent(&mut later[0], earlier);
        }
        let mut numbers: HashMap<Arc<Benchmark>, Vec<u32>> = HashMap::new();
        for (number, cell) in (0..).zip(&cells) {
            numbers.entry(Arc::clone(&cell.benchmark)).or_default().push(number);
        }
        Some(DecodedRuns { heads, contents, cells, numbers })
    }
}

type Cached = (Vec<Cell>, Vec<Common>, Vec<(usize, RunHead)>, Vec<Content>);

/// What many runs have in common.
#[derive(Clone, Serialize, Deserialize)]
struct Common {
    #[serde(with = "shared")]
    machine: Arc<Machine>,
    #[serde(with = "shared")]
    environment: Arc<Environment>,
    #[serde(with = "shared")]
    config: Arc<BTreeMap<String, serde_json::Value>>,
}

impl Common {
    fn of(head: &RunHead) -> Common {
        let RunHead { machine, environment, config, .. } = head;
        Common { machine: machine.clone(), environment: environment.clone(), config: config.clone() }
    }

    /// The same for parts that are shared.
    fn place(&self) -> [usize; 3] {
        [Arc::as_ptr(&self.machine).addr(), Arc::as_ptr(&self.environment).addr(), Arc::as_ptr(&self.config).addr()]
    }

    fn put_in(self, head: RunHead) -> RunHead {
        RunHead { machine: self.machine, environment: self.environment, config: self.config, ..head }
    }
}

/// Holds once what a run has in common with those before it.
fn share_recent(head: &mut RunHead, earlier: &[RunHead]) {
    for earlier in earlier.iter().rev().take(RECENT) {
        share(&mut head.machine, &earlier.machine);
        share(&mut head.environment, &earlier.environment);
        share(&mut head.config, &earlier.config);
        if let (Some(commit), Some(other)) = (&mut head.commit, &earlier.commit) {
            share(commit, other);
        }
    }
}

/// Holds once what two runs have in common.
fn share<T: PartialEq>(part: &mut Arc<T>, earlier: &Arc<T>) {
    if !Arc::ptr_eq(part, earlier) && part == earlier {
        *part = Arc::clone(earlier);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::frame::fixture::{self, decoded, history, measurement, run};

    #[test]
    fn equal_parts_of_runs_are_shared() {
        let mut runs = ["1", "2", "3"].map(|id| run(id, 1, &[measurement("pack", &[("time", 1.0)])]));
        runs[1].run.environment.facts.insert("kernel".to_owned(), "other".to_owned());
        runs[1].run.commit = None;
        runs[2].run.reason = Some("\"odd\"\n".to_owned());
        let decoded = decoded(&runs);
        let read = DecodedRuns::from_bytes(&decoded.to_bytes()).unwrap();
        assert_eq!(read.heads(), decoded.heads());
        assert!(decoded.records().eq(read.records()));
        for heads in [decoded.heads(), read.heads()] {
            assert!(Arc::ptr_eq(&heads[0].environment, &heads[2].environment));
            assert!(Arc::ptr_eq(&heads[0].machine, &heads[1].machine));
        }
    }

    #[test]
    fn bytes_of_others_are_not_read() {
        let bytes = decoded(&[run("1", 1, &[measurement("pack", &[("time", 1.0)])])]).to_bytes();
        assert!((0..bytes.len()).all(|length| DecodedRuns::from_bytes(&bytes[..length]).is_none()));
        assert!(DecodedRuns::from_bytes(b"PAR1 and what others write").is_none());
        let none = DecodedRuns::from_bytes(&DecodedRuns::default().to_bytes()).unwrap();
        assert_eq!((none.heads().len(), none.n_values()), (0, 0));
        let mut some = none.clone();
        some.append(decoded(&["1", "2", "3"].map(|id| run(id, 1, &[measurement("pack", &[("time", 1.0)])]))));
        some.append(none);
        assert_eq!((some.heads().len(), some.n_values()), (3, 3));
        let blobs: Vec<&str> = some.records().map(|(_, blob)| blob).collect();
        assert_eq!(blobs, ["blob of 1", "blob of 2", "blob of 3"]);
    }

    #[test]
    fn cached_runs_make_the_same_frame() {
        for seed in 0..24 {
            let (line, runs) = history(seed);
            let check = |decoded: &DecodedRuns, runs: &[RecordedRun]| {
                assert_eq!(Frame::new(decoded, &line), Frame::new(&fixture::decoded(runs), &line), "{seed}");
                assert_eq!(decoded.heads().len(), runs.len());
            };
            let cached = |runs| DecodedRuns::from_bytes(&decoded(runs).to_bytes()).unwrap();
            let (before, after) = runs.split_at(seed as usize);
            let mut both = cached(after);
            both.append(cached(before));
            check(&both, &runs);
            let mut half = decoded(before);
            half.append(cached(after));
            check(&half, &runs);
            // Some of the runs are gone.
            let some = half.select(|_, blob| blob.ends_with(['1', '5', 'c']));
            let left: Vec<RecordedRun> = runs.into_iter().filter(|run| run.id.ends_with(['1', '5', 'c'])).collect();
            check(&some, &left);
            check(&DecodedRuns::from_bytes(&some.to_bytes()).unwrap(), &left);
        }
    }
}
