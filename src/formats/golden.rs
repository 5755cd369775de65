//! Samples and cases of the foreign formats. `sprag-conformance` compares what readers make of the samples with expected rows.

use std::fs;
use std::path::{Path, PathBuf};

use super::Format;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, Imported, ImportedCommit, ImportedRun, Observation};
use sprag_model::metric::Metric;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/formats")
}

pub(super) fn output(name: &str, bytes: impl AsRef<[u8]>) -> Output {
    Output { name: name.to_owned(), bytes: bytes.as_ref().to_vec() }
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

/// The tools that have samples.
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

/// Checks the cases of `cases/<name>.txt`. A case is a file, or several: for each a line `--- NAME` and its text. After a
/// line `>>>` comes what `read` makes of it. With `UPDATE_CASES=1` the file is rewritten.
pub(super) fn check_cases(name: &str, read: impl Fn(&[Output]) -> Result<String, String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(format!("{name}.txt"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut updated, mut files, mut is_result) = (String::new(), Vec::<(&str, Vec<&str>)>::new(), false);
    for line in text.lines() {
        is_result &= !line.starts_with("--- ") && !line.starts_with("## ");
        if line == ">>>" {
            let outputs: Vec<Output> = files.drain(..).map(|(name, lines)| output(name, lines.join("\n"))).collect();
            let result = read(&outputs).unwrap_or_else(|error| format!("error: {error}"));
            updated.push_str(&format!(">>>\n{result}\n\n"));
            is_result = true;
        } else if !is_result {
            updated.push_str(&format!("{line}\n"));
            if let Some(name) = line.strip_prefix("--- ") {
                files.push((name, Vec::new()));
            } else if let Some((_, lines)) = files.last_mut() {
                lines.push(line);
            }
        }
    }
    let updated = format!("{}\n", updated.trim_end());
    match std::env::var_os("UPDATE_CASES") {
        Some(_) => fs::write(&path, updated).expect("the cases can be written"),
        None => assert_same(&path, &text, &updated),
    }
}

/// Demands that both texts are the same, and shows the first line that is not.
fn assert_same(path: &Path, expected: &str, got: &str) {
    let mut pairs = expected.lines().zip(got.lines()).enumerate();
    if let Some((place, (expected, got))) = pairs.find(|(_, (expected, got))| expected != got) {
        panic!("{}:{}: expected\n{expected}\ngot\n{got}", path.display(), place + 1);
    }
    assert_eq!(expected, got, "{}", path.display());
}

/// What a format made of its input, one benchmark a line; what is absent is left out.
pub(super) fn shown(imported: &Imported) -> String {
    let doubts = imported.doubts.iter().map(|doubt| format!("doubt: {doubt}"));
    let notes = doubts.chain(imported.notes.iter().map(|note| format!("note: {note}")));
    let tool = [Some(&imported.tool), imported.tool_version.as_ref()].into_iter().flatten();
    let tool = tool.map(String::as_str).collect::<Vec<_>>().join(" ");
    notes.chain(imported.runs.iter().flat_map(|run| shown_run(&tool, run))).collect::<Vec<_>>().join("\n")
}

fn shown_run(tool: &str, run: &ImportedRun) -> Vec<String> {
    let time = |time: &Option<chrono::DateTime<chrono::Utc>>| time.map(|time| time.to_rfc3339());
    let commit = run.commit.as_ref().map(|commit| {
        let ImportedCommit { sha, named_at, time: at, subject, branch } = commit;
        let more = [named_at.clone(), time(at), subject.clone(), branch.clone()].into_iter().flatten();
        more.fold(sha.clone(), |text, part| format!("{text}, {part}"))
    });
    let parts = [("suite", &run.suite), ("commit", &commit), ("machine", &run.machine), ("time", &time(&run.time))];
    let parts = parts.into_iter().filter_map(|(name, part)| Some(format!(" | {name} {}", part.as_ref()?)));
    let head = format!("{tool}, digest {:.8}{}", run.digest, parts.collect::<String>());
    let facts = run.facts.iter().map(|(name, fact)| format!("  {name}: {fact}"));
    let entries = run.entries.iter().map(|entry| format!("  {}", shown_entry(entry)));
    [head].into_iter().chain(facts).chain(entries).collect()
}

fn shown_entry(entry: &Entry) -> String {
    let name = (entry.name != entry.series).then(|| format!("called {}", entry.name));
    let params = entry.params.iter().map(|(name, value)| format!("{name}={value}"));
    let status = match &entry.status {
        EntryStatus::Ok => None,
        EntryStatus::Skipped(reason) => Some(format!("skipped: {reason}")),
        EntryStatus::Failed(reason) => Some(format!("failed: {reason}")),
    };
    let observation = |one: &Observation| {
        let (metric, n) = (&one.metric, one.n);
        let numbers = |name: &str, list: &[f64]| match list.len() {
            0 => String::new(),
            1..5 => format!(", {name} {list:?}"),
            count => format!(", {count} {name}"),
        };
        let (samples, processes) = (numbers("samples", &one.samples), numbers("processes", &one.processes));
        let Metric { name, unit, better } = metric;
        format!("{name} {:?} {unit} ({better:?}, `{}`, n {n}{samples}{processes})", one.value, one.source_unit)
    };
    let first = std::iter::once(entry.series.clone()).chain(name).chain(params);
    let first = first.chain(entry.variant.iter().map(|variant| format!("@{variant}"))).chain(status);
    let extras = entry.extras.iter().map(|(name, value)| format!("{name}: {value}"));
    let parts: Vec<String> = first.chain(entry.observations.iter().map(observation)).chain(extras).collect();
    parts.join(" | ").replace('\n', "\\n")
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

/// Demands that a file is refused, with an error that names it and says this.
#[track_caller]
pub(super) fn refused(format: &Format, name: &str, bytes: impl AsRef<[u8]>, words: &str) {
    let error = format.read(&[output(name, bytes)]).expect_err("it is refused").to_string();
    assert!(error.contains(name) && error.contains(words), "{error}");
}
