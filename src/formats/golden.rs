//! The golden samples of the foreign formats: what a reader makes of them against the rows that are expected.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Format;
use super::FormatError;
use super::rows::{self, ReadSource};
use sprag_model::foreign::Output;
use sprag_model::imported::Imported;

pub(super) type Read = fn(&[Output]) -> Result<Imported, FormatError>;

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

/// Reads the samples of a tool and holds every key of every expected row against the entries, and every entry against the
/// rows. Where rows name files, each file is read alone.
pub(super) fn check(tool: &str, read: Read) {
    let outputs = samples(tool);
    let files: BTreeSet<String> =
        rows_of(tool).iter().filter_map(|row| row["file"].as_str().map(str::to_owned)).collect();
    let source = |name: &str, outputs: &[Output]| {
        let imported = read(outputs).unwrap_or_else(|error| panic!("{tool}: {error}"));
        ReadSource { name: name.to_owned(), imported }
    };
    let sources: Vec<ReadSource> = match files.is_empty() {
        true => vec![source(tool, &outputs)],
        false => files.iter().map(|name| source(name, &[sample(tool, name)])).collect(),
    };
    compare(tool, &sources);
}

fn compare(tool: &str, sources: &[ReadSource]) {
    if let Err(faults) = rows::compare(&rows_of(tool), sources) {
        panic!("{tool}:\n{}", faults.join("\n"));
    }
}

fn rows_of(tool: &str) -> Vec<Value> {
    let expected = fs::read(root().join(tool).join("expected.json")).expect("there are expected rows");
    let rows: Vec<Value> = serde_json::from_slice(&expected).expect("the rows are JSON");
    assert!(!rows.is_empty(), "{tool} has rows");
    rows
}

/// The tools that there are samples of.
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

/// Of the samples of all tools, each file alone and each folder whole: those that are recognised are the expected ones.
pub(super) fn recognised(recognises: fn(&[Output]) -> bool, expected: &[&str]) {
    let mut found = Vec::new();
    for tool in tools() {
        let outputs = samples(&tool);
        if recognises(&outputs) {
            found.push(tool.clone());
        }
        if outputs.len() > 1 {
            let alone = outputs.iter().filter(|output| recognises(std::slice::from_ref(*output)));
            found.extend(alone.map(|output| format!("{tool}/{}", output.name)));
        }
    }
    assert_eq!(found, expected);
}

/// Demands that the format recognises each of the files that are named, of its folder, and no file of any other; and
/// its folder as a whole.
pub(super) fn check_recognition(format: &Format, folder: &str, own: &[&str]) {
    let recognises = format.recognises;
    for other in fs::read_dir(root()).expect("samples are there").map(|entry| entry.expect("it is listed").path()) {
        let Some(tool) = other.file_name().and_then(|name| name.to_str()).filter(|_| other.is_dir()) else { continue };
        for output in samples(tool) {
            let (name, is_own) = (output.name.clone(), tool == folder && own.contains(&output.name.as_str()));
            assert_eq!(recognises(&[output]), is_own, "{}: {tool}/{name}", format.name);
        }
        let files: Vec<Output> =
            samples(tool).into_iter().filter(|o| format.files.iter().any(|end| o.name.ends_with(end))).collect();
        assert_eq!(!files.is_empty() && recognises(&files), tool == folder, "{}: {tool}", format.name);
    }
    let others: &[&[u8]] = &[b"", b" ", b"{", b"[]", b"{}", b"null", b"\xff\xfe", b"a,b\n1,2\n", b"\x1f\x8b"];
    assert!(!recognises(&[]));
    for bytes in others {
        assert!(!recognises(&[Output { name: "x.json".to_owned(), bytes: bytes.to_vec() }]), "{bytes:?}");
    }
}

/// Reads the bytes with pieces flipped, cut out and put in, and demands no panic, and of what is read that it has a run
/// and no number that is not finite.
pub(super) fn survives(outputs: &[Output], read: Read) {
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
        if let Ok(imported) = read(&outputs) {
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
