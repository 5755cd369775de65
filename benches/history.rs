//! How long a history of a hundred series takes to append to, to load and to compute over: `cargo bench --bench history`.
//!
//! `scripts/load-figures.py` measures loading as a command, with ten thousand runs and its memory.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use chrono::{DateTime, TimeDelta, Utc};
use divan::Bencher;
use sprag_analysis::frame::{DecodedRuns, Frame};
use sprag_analysis::{movers, rollup};
use sprag_history::{self as history, Author, NewCommit, Record, Store};
use sprag_model::{
    Benchmark, Commit, CommitLine, CommitOnLine, Environment, Estimate, Machine, Measurement, Metric, RecordedRun, Run,
    Series, SeriesAnalysis,
};

/// Numbers of runs in memory; the last makes a million values.
const RUNS: [usize; 3] = [100, 1_000, 10_000];

const LOADED: usize = 500;

const APPENDED_TO: usize = 10_000;

/// Benchmarks of a run, with two metrics each.
const BENCHMARKS: usize = 50;

/// Days of a window of movers; the smallest history has twelve and a half.
const DAYS: u32 = 7;

fn main() {
    divan::main();
}

/// One run, to a branch that is checked out: objects, journal, ref, file and index entry, all flushed to the disk.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn append_one_of_ten_thousand(bencher: Bencher<'_, '_>) {
    static NEXT: AtomicUsize = AtomicUsize::new(APPENDED_TO);
    let folder = repository(APPENDED_TO);
    bencher
        .with_inputs(|| (open(folder), record(NEXT.fetch_add(1, Ordering::Relaxed))))
        .bench_local_values(|(store, record)| append(&store, &[record]));
}

/// Lists the records without reading them.
#[divan::bench]
fn list(bencher: Bencher<'_, '_>) {
    let store = open(repository(LOADED));
    bencher.bench_local(|| listed(&store));
}

/// Reads, checks and decodes all records and makes the frame.
#[divan::bench(max_time = 10)]
fn cold(bencher: Bencher<'_, '_>) {
    let store = open(repository(LOADED));
    bencher.bench_local(|| {
        let runs = decoded(&store);
        Frame::new(&runs, &CommitLine::default())
    });
}

#[divan::bench(max_time = 10)]
fn write_cache(bencher: Bencher<'_, '_>) {
    let runs = decoded(&open(repository(LOADED)));
    bencher.bench_local(|| runs.to_bytes());
}

/// Makes the frame from the cache.
#[divan::bench(max_time = 10)]
fn warm(bencher: Bencher<'_, '_>) {
    let store = open(repository(LOADED));
    let bytes = decoded(&store).to_bytes();
    bencher.bench_local(|| {
        let listing = listed(&store);
        let runs = DecodedRuns::from_bytes(&bytes).expect("it is what was written");
        assert_eq!(listing.entries.len(), runs.heads().len());
        Frame::new(&runs, &CommitLine::default())
    });
}

#[divan::bench(args = RUNS, max_time = 10)]
fn frame(bencher: Bencher<'_, '_>, n_runs: usize) {
    let (runs, line) = in_memory(n_runs);
    bencher.bench(|| frame_of(runs, line));
}

/// What pages show of many series together.
#[divan::bench(args = RUNS, max_time = 10)]
fn rollups(bencher: Bencher<'_, '_>, n_runs: usize) {
    let series = analysed(n_runs);
    bencher.bench(|| {
        let moved = (movers::movers(&series, DAYS), movers::geomeans(&series, DAYS), movers::suite_noise(&series));
        (rollup::weeks(&series), rollup::suites(&series), moved)
    });
}

fn frame_of(runs: &[RecordedRun], line: &CommitLine) -> Frame {
    let mut decoded = DecodedRuns::default();
    runs.iter().for_each(|run| decoded.add("", run));
    Frame::new(&decoded, line)
}

fn analysed(n_runs: usize) -> Vec<SeriesAnalysis> {
    let (runs, line) = in_memory(n_runs);
    let Frame { series, judged } = frame_of(runs, line);
    let one = |series: Series| SeriesAnalysis {
        judged: judged.contains(&series.id),
        at_tip: true,
        last: DateTime::UNIX_EPOCH,
        latest: rollup::latest(&series, []).expect("every series has a point"),
        comparison: None,
        sentence: String::new(),
        series,
    };
    series.into_iter().map(one).collect()
}

/// The newest runs of one history, two of each commit.
fn in_memory(n_runs: usize) -> (&'static [RecordedRun], &'static CommitLine) {
    static HISTORY: OnceLock<(Vec<RecordedRun>, CommitLine)> = OnceLock::new();
    let (runs, line) = HISTORY.get_or_init(|| {
        let recorded = |number: usize| {
            let id = format!("{number:016x}");
            let (first, time) = (number / 2 * 2, run(number / 2 * 2).timestamp);
            let (subject, branch) = (format!("Change {first}"), Some("main".to_owned()));
            let commit = Commit { subject, branch, ..Commit::new(format!("{first:040x}"), time) };
            let run = Run { commit: Some(commit), ..run(number) };
            RecordedRun { path: run.path(&id), id, run }
        };
        let runs: Vec<RecordedRun> = (0..RUNS[RUNS.len() - 1]).map(recorded).collect();
        let commits = runs.iter().step_by(2).filter_map(|run| run.run.commit.as_ref());
        let commits =
            commits.map(|one| CommitOnLine::new(one.sha.clone(), one.commit_time, one.subject.clone())).collect();
        (runs, CommitLine { commits, ..CommitLine::default() })
    });
    (&runs[runs.len() - n_runs..], line)
}

fn listed(store: &Store) -> history::Listing {
    let target = history::source(store, None).expect("the branch is there");
    history::list(store, &target).expect("the history can be listed")
}

fn decoded(store: &Store) -> DecodedRuns {
    let entries = listed(store).entries;
    let take = |decoded: &mut DecodedRuns, place: usize, record: Result<RecordedRun, _>| {
        decoded.add(&entries[place].blob, &record.expect("the record is good"));
    };
    let mut runs = DecodedRuns::default();
    for share in history::fold(store, &entries, DecodedRuns::default, take).expect("the repository opens") {
        runs.append(share);
    }
    runs
}

/// A repository with a working tree and so many runs, made once.
fn repository(n_runs: usize) -> &'static Path {
    static FOLDERS: Mutex<Option<HashMap<usize, &'static Path>>> = Mutex::new(None);
    let mut folders = FOLDERS.lock().expect("no benchmark panics");
    folders.get_or_insert_default().entry(n_runs).or_insert_with(|| {
        let folder: &'static tempfile::TempDir = Box::leak(Box::new(tempfile::tempdir().expect("a temporary folder")));
        let author = Author { name: "Bench".to_owned(), email: "bench@example.org".to_owned() };
        let store = history::create(folder.path(), &author).expect("an empty folder takes a repository");
        let files = vec![("README".to_owned(), "Bench\n".to_owned())];
        let first = NewCommit { files, author, time: run(0).timestamp, message: "Begin\n".to_owned() };
        history::commit_files(&store, &first).expect("a commit");
        history::check_out(&store).expect("a working tree");
        append(&store, &(0..n_runs).map(record).collect::<Vec<_>>());
        folder.path()
    })
}

fn open(folder: &Path) -> Store {
    history::open(folder).expect("the repository is there")
}

fn append(store: &Store, records: &[Record]) {
    let target = history::target(store, None).expect("a branch is checked out");
    let appended = history::append(store, &target, records, run(0).timestamp).expect("the records are good");
    assert_eq!((appended.added.len(), appended.warnings.len()), (records.len(), 0));
}

fn record(number: usize) -> Record {
    Record::from_run(&run(number))
}

/// A run every three hours.
fn run(number: usize) -> Run {
    let hours = 3 * i64::try_from(number).expect("a small number");
    let time = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(365 * 50) + TimeDelta::hours(hours);
    let facts = [("cpu_model".to_owned(), format!("model {}", number / 3_000))].into();
    Run {
        environment: Environment::from_facts(facts),
        measurements: (0..BENCHMARKS).map(|benchmark| measurement(benchmark, number)).collect(),
        ..Run::new("cpu", time, Machine::named("bench", "EPYC"))
    }
}

fn measurement(number: usize, run: usize) -> Measurement {
    let params = [("n", (1 << (number % 10)).to_string()), ("dtype", "f32".to_owned())];
    let benchmark = Benchmark::new("cpu", &format!("kernel_{}", number / 10), &params, "fast").expect("plain words");
    let estimate = |metric: Metric, typical: f64| {
        // Seven digits, as records have them.
        let value = |part: usize| {
            let digits = u32::try_from((run * 7919 + number * 104_729 + part * 1_299_709) % 90_000).unwrap_or(0);
            typical * f64::from(1_000_000 + digits) / 1e6
        };
        Estimate {
            workers: (0..5).map(value).collect(),
            p50: Some(value(5)),
            p95: Some(value(6)),
            min: Some(value(7)),
            interval: Some((typical, typical * 2.0)),
            detectable: Some(0.01),
            ..Estimate::new(metric, value(2), 360)
        }
    };
    Measurement::new(benchmark, vec![estimate(Metric::time(), 1e-3), estimate(Metric::ratio(), 2.0)])
}
