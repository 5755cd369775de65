//! Feeds any bytes to the reader that `SPRAG_FUZZ` names; `list` prints the names. A reader gives an error or a value, never a
//! panic, and what it makes of a format becomes records that must read back.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sprag::testing::PerformanceData;
use sprag_evidence::{checklist, ledger, releases, sums};
use sprag_formats::Format;
use sprag_formats::compat::apex_x::gate::{self as apex_x, ApexSuite};
use sprag_formats::compat::json;
use sprag_formats::compat::trueno::gate;
use sprag_formats::compat::tt_metal::ground_truth;
use sprag_formats::npy::Array;
use sprag_formats::registry::{self, FORMATS};
use sprag_formats::{criterion, custom, word};
use sprag_model::autotune::TuneStore;
use sprag_model::baseline::Baseline;
use sprag_model::environment::NO_MACHINE;
use sprag_model::event_record::EventRecord;
use sprag_model::foreign::{Output, Reported};
use sprag_model::imported::Imported;
use sprag_model::proof::Proof;
use sprag_model::retraction::Retraction;
use sprag_model::run::Run;
use sprag_pipeline::config::Config;
use sprag_pipeline::import::convert::{self, ImportSource, ImportTarget};

const TARGET: &str = "SPRAG_FUZZ";

/// Begins a line with the name of a further file; its content follows.
const NEXT_FILE: &[u8] = b"\n=== ";

#[derive(Clone, Copy)]
enum Reader {
    Import(&'static Format),
    Other(fn(&[u8])),
}

/// Readers of what is not imported.
const OTHERS: [(&str, fn(&[u8])); 19] = [
    ("recognise", |bytes| drop(registry::recognise(&files("", bytes)))),
    ("record", record),
    ("event", event),
    ("retraction", |bytes| drop(Retraction::from_file("history/v1/_retracted/2026/05/0123456789abcdef.json", bytes))),
    ("ledger", |bytes| drop(ledger::read([("ledger/x.toml", bytes)]))),
    ("checklist", |bytes| drop(checklist::read_checklist("release/checklist.toml", bytes))),
    ("releases", |bytes| drop(releases::read_releases("release/releases.toml", bytes))),
    ("sums", |bytes| drop(sums::parse(bytes))),
    ("npy", |bytes| drop(Array::read(bytes))),
    ("baseline", baseline),
    ("autotune", autotune),
    ("proof", proof),
    ("sprag-toml", configuration),
    ("apex-x-gate", gate),
    ("trueno-gate", |bytes| drop(gate::decode(bytes).map(gate::read))),
    ("tt-metal-gate", |bytes| drop(ground_truth::read(bytes, &mut Vec::new()))),
    ("test-data", test_data),
    ("suite-custom", |bytes| reported(custom::read("s", &files("custom", bytes)).unwrap_or_default())),
    ("suite-criterion", |bytes| reported(criterion::read("s", &files("criterion", bytes)).unwrap_or_default())),
];

/// The name of a single file, where the reader uses names.
const NAMES: [(&str, &str); 4] = [
    ("asv", "machine/01234567-env.json"),
    ("criterion", "a/new/sample.json"),
    ("tango", "bench.csv"),
    ("trtexec", "times.json"),
];

static READER: OnceLock<Reader> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var(TARGET).unwrap_or_default();
        if name == "list" {
            let names = FORMATS.iter().map(|format| format.name).chain(OTHERS.map(|(name, _)| name));
            println!("{}", names.collect::<Vec<_>>().join("\n"));
            std::process::exit(0);
        }
        let other = OTHERS.iter().find(|(other, _)| *other == name).map(|(_, read)| Reader::Other(*read));
        let reader = registry::named(&name).map(Reader::Import).or(other);
        let _ = READER.set(reader.unwrap_or_else(|| panic!("{TARGET} names no reader: `{name}`")));
    },
    |bytes: &[u8]| {
        match READER.get().expect("it is set at the start") {
            Reader::Import(format) => import(format, &files(format.name, bytes)),
            Reader::Other(read) => read(bytes),
        }
    }
);

/// The files in the bytes: one, and one more after each line that names it.
fn files(format: &str, bytes: &[u8]) -> Vec<Output> {
    let alone = NAMES.iter().find(|(name, _)| *name == format).map_or("input", |(_, name)| name);
    let mut starts = vec![0];
    starts.extend(bytes.windows(NEXT_FILE.len()).enumerate().filter(|(_, part)| *part == NEXT_FILE).map(|(at, _)| at));
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    let pieces = starts.iter().zip(ends).map(|(start, end)| &bytes[*start..end]);
    let file = |piece: &[u8]| match piece.strip_prefix(NEXT_FILE) {
        None => Output { name: alone.to_owned(), bytes: piece.to_vec() },
        Some(named) => {
            let end = named.iter().position(|byte| *byte == b'\n').unwrap_or(named.len());
            let name = String::from_utf8_lossy(&named[..end]).into_owned();
            Output { name, bytes: named.get(end + 1..).unwrap_or_default().to_vec() }
        }
    };
    pieces.map(file).filter(|file| file.name != alone || !file.bytes.is_empty()).collect()
}

fn import(format: &Format, outputs: &[Output]) {
    let Ok(imported) = format.read(outputs) else { return };
    assert!(!imported.runs.is_empty(), "a source without a run is refused");
    let Imported { tool, tool_version, runs, .. } = imported;
    let from = ImportSource { format: format.name, tool, tool_version };
    for source in runs {
        let named = source.commit.as_ref();
        let mut times = [source.time, named.and_then(|commit| commit.time)].into_iter().flatten();
        let time = times.find(convert::is_recordable).unwrap_or_default();
        let place = ImportTarget {
            suite: word::suite(source.suite.as_deref().unwrap_or(&from.tool), &|_| false),
            commit: named.and_then(|commit| convert::described(commit, commit.time.unwrap_or(time))),
            machine: source.machine.clone().unwrap_or_else(|| NO_MACHINE.to_owned()),
            time,
        };
        let run = convert::run(&from, source, place);
        let (id, _, bytes) = run.to_record();
        let (second, read) = Run::from_record(&bytes).expect("what is imported can be read back");
        assert!(second == id && read == run);
    }
}

fn reported(benchmarks: Vec<Reported>) {
    for one in benchmarks {
        assert_eq!(one.benchmark.check(), Ok(()));
        for metric in one.result.iter().flatten() {
            assert!(!metric.samples.is_empty() && metric.samples.iter().all(|sample| sample.is_finite()));
        }
    }
}

fn record(bytes: &[u8]) {
    if let Ok((id, run)) = Run::from_record(bytes) {
        let (second, _, written) = run.to_record();
        assert!(second == id && written == bytes);
    }
    if let Ok((id, run)) = Run::from_json(bytes) {
        assert_eq!(Run::from_record(&run.to_record().2).expect("it is written as it is read"), (id, run));
    }
}

fn event(bytes: &[u8]) {
    if let Ok(event) = EventRecord::from_bytes(bytes) {
        let (path, written, _) = event.to_file();
        assert!(written == bytes && EventRecord::from_file(&path, bytes).is_ok_and(|second| second == event));
    }
}

fn baseline(bytes: &[u8]) {
    if let Ok(baseline) = Baseline::from_json(bytes) {
        assert_eq!(Baseline::from_json(baseline.to_json().as_bytes()).expect("it reads back"), baseline);
    }
}

fn autotune(bytes: &[u8]) {
    if let Ok(reading) = TuneStore::from_json(bytes)
        && reading.damage.is_none()
    {
        let text = reading.store.to_json();
        let second = TuneStore::from_json(text.as_bytes()).ok().filter(|second| second.damage.is_none());
        assert_eq!(second.expect("it reads back").store.to_json(), text);
    }
}

fn proof(bytes: &[u8]) {
    if let Ok(proof) = Proof::from_json(bytes) {
        let _ = (proof.holds(), proof.root());
    }
}

fn configuration(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(config) = Config::parse(text, Path::new("sprag.toml")) {
        let _ = config.select(&["cpu".to_owned()]);
    }
}

fn test_data(bytes: &[u8]) {
    if let Ok(data) = PerformanceData::from_json(bytes) {
        assert_eq!(PerformanceData::from_json(data.to_json().as_bytes()).expect("it reads back"), data);
    }
}

/// A report and the baseline that it is compared with.
fn gate(bytes: &[u8]) {
    let files = files("apex-x", bytes);
    let text = |place: usize| files.get(place).and_then(|file| str::from_utf8(&file.bytes).ok()).unwrap_or_default();
    let [Ok(report), Ok(baseline)] = [0, 1].map(|place| json::parse(text(place))) else { return };
    for suite in ApexSuite::ALL {
        if let Ok(comparison) = apex_x::compare(suite, &report, &baseline) {
            let _ = (apex_x::summary(&comparison), apex_x::trend(&comparison, "2026-11-21T00:00:00Z"));
        }
    }
}
