//! The golden samples of the foreign formats. `sprag-conformance` compares what readers make of them with the expected rows.

use std::fs;
use std::path::{Path, PathBuf};

use super::Format;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, Imported};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/formats")
}

/// The samples of a tool: every file below its folder but what is about them, named relative to it, in order.
pub(super) fn samples(tool: &str) -> Vec<Output> {
    let root = root().join(tool);
    let (mut folders, mut outputs): (Vec<PathBuf>, Vec<Output>) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder can be listed") {
            let path = entry.expect("the folder can be listed").path();
            let name = path.strip_prefix(&root).expect("it lies below").to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name != "README.md" && name != "expected.json" {
                outputs.push(Output { name, bytes: fs::read(path).expect("it can be read") });
            }
        }
    }
    outputs.sort_by(|a, b| a.name.cmp(&b.name));
    outputs
}

/// The sample of that name among those of a tool.
pub(super) fn sample(tool: &str, name: &str) -> Output {
    samples(tool).into_iter().find(|output| output.name == name).expect("the sample is there")
}

pub(super) fn tools() -> Vec<String> {
    let mut tools: Vec<String> = fs::read_dir(root())
        .expect("the folder can be listed")
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().expect("a folder has a name").to_string_lossy().into_owned())
        .collect();
    tools.sort();
    tools
}

/// Reads the bytes with pieces flipped, cut out and put in, and demands no panic, and of what is read that it has a run
/// and no number that is not finite.
pub(super) fn survives(outputs: &[Output], format: &Format) {
    use proptest::prelude::*;
    let strategy = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4u8);
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..8),
        prop::sample::select(vec!["NaN", "-1", "0", "1e999", "\"", "]", "{", "\n", "│", "null", "-", ":"])
            .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let mut runner = prop::test_runner::TestRunner::new(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let outcome = runner.run(&(strategy, piece), |((which, from, to, how), piece)| {
        let mut outputs = outputs.to_vec();
        let place = which.index(outputs.len());
        let bytes = &mut outputs[place].bytes;
        let (from, to) = (from.index(bytes.len() + 1), to.index(bytes.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        match how {
            0 => bytes.truncate(to),
            1 => drop(bytes.splice(from..(from + piece.len()).min(bytes.len()), piece)),
            2 => drop(bytes.splice(from..from, piece)),
            _ => drop(bytes.drain(from..to.min(from + 40))),
        }
        if let Ok(imported) = format.read(&outputs) {
            prop_assert!(!imported.runs.is_empty());
            for observation in imported.runs.iter().flat_map(|run| &run.entries).flat_map(|entry| &entry.observations) {
                let mut numbers = observation.samples.iter().chain(&observation.processes).chain([&observation.value]);
                prop_assert!(numbers.all(|number| number.is_finite()), "{observation:?}");
            }
        }
        Ok(())
    });
    outcome.expect("nothing breaks it");
}

pub(super) fn output(name: &str, bytes: impl AsRef<[u8]>) -> Output {
    Output { name: name.to_owned(), bytes: bytes.as_ref().to_vec() }
}

/// What a format reads of one file of that name.
#[track_caller]
pub(super) fn read(format: &Format, name: &str, bytes: impl AsRef<[u8]>) -> Imported {
    format.read(&[output(name, bytes)]).unwrap_or_else(|error| panic!("{error}"))
}

/// The benchmarks of the first run of a file.
#[track_caller]
pub(super) fn entries(format: &Format, name: &str, bytes: impl AsRef<[u8]>) -> Vec<Entry> {
    read(format, name, bytes).runs.remove(0).entries
}

/// Demands that a file is refused, with an error that names it and says this.
#[track_caller]
pub(super) fn refused(format: &Format, name: &str, bytes: impl AsRef<[u8]>, words: &str) {
    let error = format.read(&[output(name, bytes)]).expect_err("it is refused").to_string();
    assert!(error.contains(name) && error.contains(words), "{error}");
}

/// Demands that of two benchmarks the first has failed for this reason, and the other not.
#[track_caller]
pub(super) fn failed_alone(entries: &[Entry], words: &str) {
    let [first, second] = entries else { panic!("two benchmarks: {entries:?}") };
    let (EntryStatus::Failed(reason) | EntryStatus::Skipped(reason)) = &first.status else { panic!("{first:?}") };
    assert!(reason.contains(words), "{reason}");
    assert!(first.observations.is_empty() && second.status == EntryStatus::Ok, "{entries:?}");
}

/// The metrics of a benchmark with their values.
pub(super) fn values(entry: &Entry) -> Vec<(&str, f64)> {
    entry.observations.iter().map(|one| (one.metric.name.as_str(), one.value)).collect()
}
