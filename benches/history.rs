//! How long appending one run takes, from a history of ten thousand on: `cargo bench --bench history`.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use divan::Bencher;
use sprag_history::{self as history, Author, NewCommit, Record, Store};
use sprag_model::benchmark::{Benchmark, Parity, ParityStatus};
use sprag_model::environment::{Environment, Machine};
use sprag_model::metric::Metric;
use sprag_model::run::{Quality, Run, RunStatus};
use sprag_model::sample::{Estimate, Measurement};

/// Runs that the history has already.
const RUNS: usize = 10_000;

const BENCHMARKS: usize = 100;

/// Where the number of the next new run stands.
static NEXT: AtomicUsize = AtomicUsize::new(RUNS);

fn main() {
    divan::main();
}

/// One run, to a branch that is checked out: objects, journal, ref, file and index entry, all flushed to the disk.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn append_one_of_ten_thousand(bencher: Bencher<'_, '_>) {
    let folder = repository();
    bencher
        .with_inputs(|| (open(folder), record(NEXT.fetch_add(1, Ordering::Relaxed))))
        .bench_local_values(|(store, record)| append(&store, &[record]));
}

/// A repository with a working tree and a history, made once.
fn repository() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let author = Author { name: "Bench".to_owned(), email: "bench@example.org".to_owned() };
        let store = history::create(folder.path(), &author).expect("an empty folder takes a repository");
        let files = vec![("README".to_owned(), "Bench\n".to_owned())];
        let first = NewCommit { files, author, time: minute(0), message: "Begin\n".to_owned() };
        history::commit_files(&store, &first).expect("a commit");
        history::check_out(&store).expect("a working tree");
        append(&store, &(0..RUNS).map(record).collect::<Vec<_>>());
        folder
    });
    folder.path()
}

fn open(folder: &Path) -> Store {
    history::open(folder).expect("the repository is there")
}

fn append(store: &Store, records: &[Record]) {
    let target = history::target(store, None).expect("a branch is checked out");
    let appended = history::append(store, &target, records, minute(0)).expect("the records are good");
    assert_eq!((appended.added.len(), appended.warnings.len()), (records.len(), 0));
}

fn minute(number: usize) -> DateTime<Utc> {
    let minutes = i64::try_from(number).expect("a small number");
    DateTime::UNIX_EPOCH + TimeDelta::days(365 * 50) + TimeDelta::minutes(minutes)
}

/// A run every hour, so that a folder of a month holds several hundred.
fn record(number: usize) -> Record {
    Record::from_run(&Run {
        suite: "cpu".to_owned(),
        timestamp: minute(number * 60),
        commit: None,
        machine: Machine::named("bench", "EPYC"),
        environment: Environment::from_facts([("cpu_model".to_owned(), "EPYC".to_owned())].into()),
        config: Default::default(),
        status: RunStatus::Ok,
        reason: None,
        quality: Quality { clean: true, reasons: Vec::new() },
        measurements: (0..BENCHMARKS).map(|benchmark| measurement(benchmark, number)).collect(),
        autotune: Vec::new(),
    })
}

fn measurement(benchmark: usize, number: usize) -> Measurement {
    let value = 1e-3 + (benchmark * RUNS + number) as f64 * 1e-12;
    Measurement {
        role: Default::default(),
        benchmark: Benchmark::new("cpu", &format!("kernel_{benchmark}"), &[], "fast").expect("plain words").into(),
        attributes: Default::default(),
        parity: Parity { status: ParityStatus::Exact, max_abs_error: None, tolerance: None },
        failure: None,
        estimates: vec![Estimate {
            metric: Metric::time(),
            value,
            workers: vec![value; 5],
            p50: Some(value),
            p95: Some(value),
            min: None,
            interval: Some((value * 0.99, value * 1.01)),
            detectable: None,
            n: 150,
        }],
    }
}
