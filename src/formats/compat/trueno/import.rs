//! A performance baseline of Trueno: lines of a head, each behind `#`, and what a bench of Criterion printed.
//!
//! The head names commit, branch, date and CPU. A baseline that was saved anew has one head within the other: the inner
//! one is of the measurement. The date has no zone and is taken for UTC, with a note. The rest is read as Criterion's
//! text, so that names on a line of their own, names with spaces, colours, picoseconds and either letter for micro are
//! read, which Trueno's own check passes over.

use chrono::{DateTime, NaiveDateTime, Utc};

use crate::Format;
use crate::{FormatError, criterion, outputs};
use sprag_model::foreign::Output;
use sprag_model::imported::{Imported, ImportedCommit, ImportedRun};

pub(crate) const FORMAT: Format = Format {
    name: "trueno",
    title: "a baseline of Trueno: a head, and what a bench of Criterion prints",
    recognises,
    read,
    files: &[".txt"],
};

const TITLE: &str = "# Trueno Performance Baseline";

/// How far into a file a head may begin, in lines.
const HEAD_LINES: usize = 64;

/// Whether each of the outputs begins with the head of a baseline.
pub fn recognises(outputs: &[Output]) -> bool {
    !outputs.is_empty() && outputs.iter().all(|output| outputs::start(output).trim_start().starts_with(TITLE))
}

/// Reads a baseline; of several, each as a run. A text without a head is read all the same.
pub fn read(outputs: &[Output]) -> Result<Imported, FormatError> {
    let (mut notes, mut runs) = (Vec::new(), Vec::new());
    for output in outputs {
        let mut run = ImportedRun { digest: outputs::digest(&[output]), ..ImportedRun::default() };
        head(output, &mut run, &mut notes)?;
        run.entries = criterion::text::entries(output, &mut notes)?;
        runs.push(run);
    }
    outputs::imported("trueno", runs, notes)
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
            "Commit" => run.commit = commit(value),
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

fn commit(value: &str) -> Option<ImportedCommit> {
    let sha = value.to_ascii_lowercase();
    let fine = (7..=64).contains(&sha.len()) && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    fine.then_some(ImportedCommit { sha, named_at: None, time: None, subject: None, branch: None })
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

    fn output(text: &str) -> Output {
        Output { name: "b.txt".to_owned(), bytes: text.as_bytes().to_vec() }
    }

    /// What Trueno's own reader finds in the baselines and the new texts of its cases.
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
                let imported = read(&[Output { name: file.to_owned(), bytes }]);
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
        let check = |case: &str, file: &str, name: &str| {
            let path =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/trueno/cases").join(case).join(file);
            let bytes = fs::read(path).expect("it is there");
            let run = read(&[Output { name: file.to_owned(), bytes }]).expect("it is fine").runs.remove(0);
            assert!(run.entries.iter().any(|entry| entry.series == name && !entry.observations.is_empty()), "{name}");
        };
        check("05-long-names-own-line", "baseline.txt", "log_softmax/Scalar/100000");
        check("11-names-with-spaces", "baseline.txt", "group one/fn two");
        check("12-odd-units", "baseline.txt", "ps_bench");
        check("13-ansi-colour-current", "current.txt", "mul/AVX512/100");
    }

    const LINE: &str = "a time: [1 ns 2 ns 3 ns]\n";

    #[test]
    fn the_head_tells_commit_time_and_cpu() {
        let head = |commit: &str, cpu: &str| {
            format!("{TITLE}\n# Commit: {commit}\n# Branch: main\n# Date: 20251120-170155\n# CPU: {cpu}\n#\n")
        };
        let check = |text: &str, sha: Option<&str>, cpu: Option<&str>, notes: usize| {
            let mut imported = read(&[output(text)]).expect("it is fine");
            let run = imported.runs.remove(0);
            assert_eq!(run.commit.as_ref().map(|commit| commit.sha.as_str()), sha, "{text}");
            assert_eq!(run.facts.get("cpu_model").map(String::as_str), cpu);
            assert_eq!(imported.notes.len(), notes, "{:?}", imported.notes);
        };
        check(&format!("{}{LINE}", head("F56a4de", "Fast @ 2 GHz")), Some("f56a4de"), Some("Fast @ 2 GHz"), 1);
        check(&format!("{}{LINE}", head("unknown", "unknown")), None, None, 1);
        check(&format!("{}{}{LINE}", head("aaaaaaa", "New"), head("bbbbbbb", "Old")), Some("bbbbbbb"), Some("Old"), 2);
        check(LINE, None, None, 0);
        let run = read(&[output(&format!("{}{LINE}", head("f56a4de", "x")))]).expect("it is fine").runs.remove(0);
        assert_eq!(run.time.map(|time| time.to_rfc3339()).as_deref(), Some("2025-11-20T17:01:55+00:00"));
        assert_eq!(run.commit.and_then(|commit| commit.branch).as_deref(), Some("main"));
    }

    #[test]
    fn only_a_head_is_recognised_and_damage_is_no_panic() {
        assert!(recognises(&[output(&format!("{TITLE}\n{LINE}"))]));
        assert!(!recognises(&[output(LINE)]));
        assert!(matches!(read(&[output(TITLE)]), Err(FormatError::Nothing(_))));
        golden::survives(&[output(&format!("{TITLE}\n# Commit: abcdef0\n# Date: 20251120-170155\n{LINE}"))], read);
    }
}
