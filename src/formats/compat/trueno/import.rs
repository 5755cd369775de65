//! A performance baseline of Trueno: lines of a head, each behind `#`, and what a bench of Criterion printed.
//!
//! The head names commit, branch, date and CPU. A baseline that was saved again has one head within the other: the
//! inner one is of the measurement. The date has no zone and is treated as UTC, with a note. The rest is read as
//! Criterion's text. That includes names on a line of their own, names with spaces, colours, picoseconds and either
//! letter for micro. Trueno's own check passes over all these.

use chrono::{DateTime, NaiveDateTime, Utc};

use crate::frame::{Format, Read, Recognised, Source};
use crate::{FormatError, criterion, outputs, provenance};
use sprag_model::foreign::Output;
use sprag_model::imported::ImportedRun;

pub const FORMAT: Format = Format {
    name: "trueno",
    title: "a baseline of Trueno: a head, and what a bench of Criterion prints",
    files: &[".txt"],
    recognised: Recognised::Each(|output| outputs::start(output).trim_start().starts_with(TITLE)),
    read: Read::Each("trueno", read),
};

const TITLE: &str = "# Trueno Performance Baseline";

const HEAD_LINES: usize = 64;

/// A text without a head is read, too.
fn read(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    let (mut run, mut notes) = (ImportedRun::default(), Vec::new());
    head(output, &mut run, &mut notes)?;
    run.entries = criterion::text::entries(output, &mut notes)?;
    Ok(Source { run, notes, ..Source::default() })
}

fn head(output: &Output, run: &mut ImportedRun, notes: &mut Vec<String>) -> Result<(), FormatError> {
    let mut heads = 0;
    for (_, line) in outputs::lines(output)?.take(HEAD_LINES) {
        if line.trim() == TITLE {
            (run.commit, run.time) = (None, None);
            run.facts.clear();
            heads += 1;
        }
        let Some((key, value)) = line.strip_prefix("# ").and_then(|line| line.split_once(": ")) else { continue };
        let value = value.trim();
        match key {
            "Commit" => run.commit = provenance::commit_id(value).map(provenance::commit),
            "Branch" => {
                if let Some(commit) = &mut run.commit {
                    commit.branch = Some(value.to_owned()).filter(|branch| !branch.is_empty() && branch != "unknown");
                }
            }
            "Date" => run.time = time(value),
            "CPU" if !value.is_empty() && value != "unknown" => {
                run.facts.insert("cpu_model".to_owned(), value.to_owned());
            }
            _ => {}
        }
    }
    if heads > 1 {
        notes.push(format!("{}: of {heads} heads the last counts", output.name));
    }
    if run.time.is_some() {
        notes.push(format!("{}: its date names no zone, and is taken for UTC", output.name));
    }
    Ok(())
}

fn time(value: &str) -> Option<DateTime<Utc>> {
    NaiveDateTime::parse_from_str(value, "%Y%m%d-%H%M%S").ok().map(|time| time.and_utc())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::Value;

    use super::*;
    use crate::golden;

    /// What Trueno's own reader gets of the baselines and the new texts of its cases.
    #[test]
    fn whatever_trueno_reads_is_read_alike() {
        let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/trueno/cases");
        let mut compared = 0;
        for case in fs::read_dir(cases).expect("there are cases") {
            let case = case.expect("the folder can be listed").path();
            let expected = fs::read(case.join("expected.json")).expect("it is there");
            let expected: Value = serde_json::from_slice(&expected).expect("it is JSON");
            for (file, key) in [("baseline.txt", "parsed_baseline_ns"), ("current.txt", "parsed_current_ns")] {
                let Ok(bytes) = fs::read(case.join(file)) else { continue };
                let wanted = expected[key].as_object().cloned().unwrap_or_default();
                let imported = FORMAT.read(&[golden::output(file, bytes)]);
                let place = format!("{} {file}", case.display());
                if wanted.is_empty() || wanted.contains_key("__exception__") {
                    continue;
                }
                let run = imported.expect("there are benchmarks").runs.remove(0);
                for (name, nanoseconds) in wanted {
                    let entry = run.entries.iter().find(|entry| entry.series == name).expect(&place);
                    let wanted = nanoseconds.as_f64().expect("a number") * 1e-9;
                    match entry.observations.first() {
                        Some(time) => assert!((time.value / wanted - 1.0).abs() < 1e-12, "{place} {name}"),
                        None => assert_eq!(wanted, 0.0, "{place} {name}: {:?}", entry.status),
                    }
                    compared += 1;
                }
            }
        }
        assert!(compared > 250, "{compared} times were compared");
    }

    #[test]
    fn names_that_trueno_passes_over_are_read() {
        let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/trueno/cases");
        let check = |path: &str, name: &str| {
            let bytes = fs::read(cases.join(path)).expect("it is there");
            let entries = FORMAT.read(&[golden::output(path, bytes)]).expect("it is read").runs.remove(0).entries;
            assert!(entries.iter().any(|entry| entry.series == name && !entry.observations.is_empty()), "{name}");
        };
        check("05-long-names-own-line/baseline.txt", "log_softmax/Scalar/100000");
        check("11-names-with-spaces/baseline.txt", "group one/fn two");
        check("12-odd-units/baseline.txt", "ps_bench");
        check("13-ansi-colour-current/current.txt", "mul/AVX512/100");
    }

    #[test]
    fn damage_is_no_panic() {
        let text = format!("{TITLE}\n# Commit: f56a4de\n# Date: 20251120-170155\n#\na time: [1 ns 2 ns 3 ns]\n");
        golden::survives(&[golden::output("b.txt", text)], &FORMAT);
    }
}
