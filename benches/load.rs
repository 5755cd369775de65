//! How long a history of a hundred series takes to load: `cargo bench --bench load`.
//!
//! `scripts/load-figures.py` measures the same as whole commands, with ten thousand runs and their memory.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use chrono::{DateTime, TimeDelta, Utc};
use divan::Bencher;
use sprag_analysis::frame::{DecodedRuns, Decoder, Frame};
use sprag_history::{self as history, Author, NewCommit, Record, Store};
use sprag_model::benchmark::{Benchmark, Parity, ParityStatus};
use sprag_model::commit::CommitLine;
use sprag_model::environment::{Environment, Machine};
use sprag_model::metric::Metric;
use sprag_model::run::{Quality, RecordedRun, Run, RunStatus};
use sprag_model::sample::{Estimate, Measurement};

/// How many runs the history has.
const RUNS: usize = 500;

/// Benchmarks a run, with two metrics each.
const BENCHMARKS: usize = 50;

fn main() {
    divan::main();
}

/// The records of the tip, none of them read.
#[divan::bench]
fn list(bencher: Bencher<'_, '_>) {
    let store = store();
    bencher.bench_local(|| listed(&store));
}

/// All records read, checked and decoded, and the frame made.
#[divan::bench(max_time = 10)]
fn cold(bencher: Bencher<'_, '_>) {
    let store = store();
    bencher.bench_local(|| {
        let runs = decoded(&store);
        Frame::from_decoded(&runs, &CommitLine::default()).expect("all numbers are finite")
    });
}

/// What is to be kept of them.
#[divan::bench(max_time = 10)]
fn keep(bencher: Bencher<'_, '_>) {
    let runs = decoded(&store());
    bencher.bench_local(|| decoded_bytes(&runs));
}

/// The frame made of what was kept.
#[divan::bench(max_time = 10)]
fn warm(bencher: Bencher<'_, '_>) {
    let store = store();
    let bytes = decoded_bytes(&decoded(&store));
    bencher.bench_local(|| {
        let listing = listed(&store);
        let runs = DecodedRuns::from_bytes(&bytes).expect("it is what was written");
        assert_eq!(listing.entries.len(), runs.heads().len());
        Frame::from_decoded(&runs, &CommitLine::default()).expect("all numbers are finite")
    });
}

fn decoded_bytes(runs: &DecodedRuns) -> Vec<u8> {
    let mut bytes = Vec::new();
    runs.write(&mut bytes).expect("the tables can be written");
    bytes
}

fn listed(store: &Store) -> history::Listing {
    let target = history::source(store, None).expect("the branch is there");
    history::list(store, &target).expect("the history can be listed")
}

fn decoded(store: &Store) -> DecodedRuns {
    let entries = listed(store).entries;
    let take = |decoder: &mut Decoder, place: usize, record: Result<RecordedRun, _>| {
        decoder.add(&entries[place].blob, &record.expect("the record is sound")).expect("all numbers are finite");
    };
    let shares = history::fold(store, &entries, Decoder::default, take).expect("the repository opens");
    let mut runs = DecodedRuns::none();
    for share in shares {
        runs.append(share.finish()).expect("the columns are the same");
    }
    runs.by_time().expect("the runs can be sorted")
}

/// Opens the one repository of these benchmarks, which is made by the first.
fn store() -> Store {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let author = Author { name: "Bench".to_owned(), email: "bench@example.org".to_owned() };
        let store = history::create(folder.path(), &author).expect("a repository");
        let files = vec![("README".to_owned(), "bench\n".to_owned())];
        let commit = NewCommit { files, author, time: hours(0), message: "Begin\n".to_owned() };
        history::commit_files(&store, &commit).expect("a commit");
        let target = history::target(&store, None).expect("a branch");
        let records: Vec<Record> = (0..RUNS).map(|number| Record::from_run(&run(number))).collect();
        history::append(&store, &target, &records, hours(0)).expect("the records are sound");
        folder
    });
    history::open(folder.path()).expect("the repository opens")
}

fn hours(number: usize) -> DateTime<Utc> {
    let first = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(365 * 50);
    first + TimeDelta::hours(i64::try_from(number).expect("a small number"))
}

fn run(number: usize) -> Run {
    Run {
        suite: "cpu".to_owned(),
        timestamp: hours(number),
        commit: None,
        machine: Machine::named("bench", "EPYC"),
        environment: Environment::from_facts(BTreeMap::from([("cpu_model".to_owned(), "EPYC".to_owned())])),
        config: BTreeMap::new(),
        status: RunStatus::Ok,
        reason: None,
        quality: Quality { clean: true, reasons: Vec::new() },
        measurements: (0..BENCHMARKS).map(|benchmark| measurement(benchmark, number)).collect(),
        autotune: Vec::new(),
    }
}

fn measurement(number: usize, run: usize) -> Measurement {
    let params = [("n", (1 << (number % 10)).to_string()), ("dtype", "f32".to_owned())];
    let of = |metric: Metric, typical: f64| {
        // Seven digits, as records have them.
        let value = |part: usize| {
            let digits = u32::try_from((run * 7919 + number * 104_729 + part * 1_299_709) % 90_000).unwrap_or(0);
            typical * f64::from(1_000_000 + digits) / 1e6
        };
        Estimate {
            metric,
            value: value(2),
            workers: (0..5).map(value).collect(),
            p50: Some(value(5)),
            p95: Some(value(6)),
            min: Some(value(7)),
            interval: Some((typical, typical * 2.0)),
            detectable: Some(0.01),
            n: 360,
        }
    };
    Measurement {
        role: Default::default(),
        benchmark: Benchmark::new("cpu", &format!("kernel_{}", number / 10), &params, "fast")
            .expect("plain words")
            .into(),
        attributes: BTreeMap::new(),
        parity: Parity { status: ParityStatus::Exact, max_abs_error: None, tolerance: None },
        failure: None,
        estimates: vec![of(Metric::time(), 1e-3), of(Metric::ratio(), 2.0)],
    }
}
