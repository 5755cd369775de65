//! Cases of `trueno`: whole runs of its check on two texts. Names, verdicts, exit code and every printed byte are exact.
//!
//! The exit codes are those of the original: 1 also where it breaks down. A file that is absent from the folder of a case
//! is absent on purpose.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value, json};

use super::case::Fields;
use crate::cmd::foreign_gate::original_text;
use sprag_formats::compat::trueno::{gate_report, gate_text};
use sprag_model::bands::{Band, BandReport};

const FILES: [&str; 2] = ["baseline.txt", "current.txt"];

const FIELDS: [&str; 12] = [
    "name",
    "note",
    "argv",
    "current_on_stdin",
    "exit_code",
    "parsed_baseline_ns",
    "parsed_current_ns",
    "verdicts",
    "counts",
    "result_line",
    "stdout",
    "stderr_last_line",
];

/// The case of a file: what it holds, and the folder with the texts.
pub(super) fn case(file: &Path, case: Value) -> Value {
    json!({ "case": case, "folder": file.parent().unwrap_or(Path::new(".")) })
}

pub(super) fn run(case: &Value) -> Result<()> {
    let folder = PathBuf::from(case["folder"].as_str().context("the case has no folder")?);
    let case = Fields::of(&case["case"], "the case", &FIELDS)?;
    let texts = FILES.map(|name| fs::read(folder.join(name)).ok());
    let ended = ended(&case, &texts)?;
    let report = ended.report.as_ref();
    let got = json!({
        "exit_code": ended.exit_code,
        "parsed_baseline_ns": parsed(texts[0].as_deref()),
        "parsed_current_ns": parsed(texts[1].as_deref()),
        "verdicts": report.map(verdicts),
        "counts": report.map(counts),
        "result_line": report.map(gate_report::result_line),
        "stdout": report.map_or(String::new(), |report| format!("{}\n", gate_report::text(report))),
        "stderr_last_line": ended.last_line,
    });
    for (name, got) in got.as_object().context("it is an object")? {
        let expected = case.get(name)?;
        ensure!(expected == got, "`{name}`: expected {expected}, got {got} (exact)");
        // Two objects are equal whatever the order of their fields, but here it is that of the text.
        if let (Value::Object(expected), Value::Object(got), true) = (expected, got, name.starts_with("parsed")) {
            ensure!(expected.keys().eq(got.keys()), "`{name}`: expected another order of names");
        }
    }
    Ok(())
}

/// How a run of the original ends.
struct Ended {
    exit_code: u8,
    report: Option<BandReport>,
    last_line: String,
}

/// Does what the original does with its arguments.
fn ended(case: &Fields<'_>, texts: &[Option<Vec<u8>>; 2]) -> Result<Ended> {
    let stopped = |exit_code: u8, last_line: String| Ok(Ended { exit_code, report: None, last_line });
    let usage = |fault: String| stopped(2, format!("check_regression.py: error: {fault}"));
    let (mut files, mut bands) = ([None, None], (0.05, 0.02));
    let mut words = case.get("argv")?.as_array().context("`argv` is not a list")?.iter();
    while let Some(word) = words.next() {
        let word = word.as_str().context("`argv` holds no text")?;
        let value = words.next().and_then(Value::as_str).with_context(|| format!("`{word}` has no value"))?;
        let number = match word {
            "-b" | "--baseline" => {
                files[0] = Some(value);
                continue;
            }
            "-c" | "--current" => {
                files[1] = Some(value);
                continue;
            }
            "-r" | "--regression-threshold" => (&mut bands.0, "--regression-threshold/-r"),
            "-w" | "--warning-threshold" => (&mut bands.1, "--warning-threshold/-w"),
            _ => bail!("argument `{word}` is unknown to this build"),
        };
        match value.parse() {
            Ok(share) => *number.0 = share,
            Err(_) => return usage(format!("argument {}: invalid float value: '{value}'", number.1)),
        }
    }
    if files[0].is_none() {
        return usage("the following arguments are required: --baseline/-b".to_owned());
    }
    ensure!(case.flag("current_on_stdin")? == files[1].is_none(), "`current_on_stdin` goes against `argv`");
    let [Some(baseline), Some(current)] = texts else {
        let place = usize::from(texts[0].is_some());
        let side = ["Baseline", "Current"][place];
        return stopped(1, format!("Error: {side} file not found: {}", files[place].unwrap_or_default()));
    };
    match original_text::judge(baseline, current, bands) {
        Ok(report) => {
            Ok(Ended { exit_code: u8::from(!report.passes()), report: Some(report), last_line: String::new() })
        }
        Err(error) => stopped(1, error.to_string()),
    }
}

/// What the original reads of a file, by name; null where there is none.
fn parsed(bytes: Option<&[u8]>) -> Value {
    let Some(bytes) = bytes else { return Value::Null };
    match gate_text::decode(bytes).and_then(gate_text::read) {
        Ok(found) => found.into_iter().map(|(name, nanos)| (name, json!(nanos))).collect::<Map<_, _>>().into(),
        Err(error) => json!({ "__exception__": error.to_string() }),
    }
}

fn verdicts(report: &BandReport) -> Value {
    let word = |band: Band| match band {
        Band::Regressed => "regression",
        Band::Warned => "warning",
        Band::Improved => "improvement",
        Band::Unchanged => "unchanged",
    };
    let rows = report.rows.iter().map(|row| (row.name.clone(), json!(word(row.band))));
    let missing = report.missing.iter().map(|name| (name.clone(), json!("missing")));
    let new = report.new.iter().map(|name| (name.clone(), json!("new")));
    rows.chain(missing).chain(new).collect::<Map<_, _>>().into()
}

fn counts(report: &BandReport) -> Value {
    let count = |band: Band| report.in_band(band).count();
    json!({
        "total": report.rows.len() + report.missing.len(),
        "regressions": count(Band::Regressed),
        "warnings": count(Band::Warned),
        "improvements": count(Band::Improved),
        "unchanged": count(Band::Unchanged),
        "missing": report.missing.len(),
        "new": report.new.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases() -> Vec<Value> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/trueno/cases");
        let folders = fs::read_dir(root).expect("there are cases").map(|entry| entry.expect("it is listed").path());
        let read = |file: PathBuf| {
            let text = fs::read(&file).expect("it can be read");
            case(&file, serde_json::from_slice(&text).expect("it is JSON"))
        };
        folders.map(|folder| read(folder.join("expected.json"))).collect()
    }

    /// Whatever is changed in what a case tells, it fails.
    #[test]
    fn every_recorded_value_is_compared() {
        let mut compared = 0;
        for case in cases() {
            run(&case).expect("it passes");
            let fields = case["case"].as_object().expect("an object");
            // What is given is no result.
            let given = ["name", "note", "argv", "current_on_stdin"];
            for (field, value) in fields.iter().filter(|(name, _)| !given.contains(&name.as_str())) {
                let mut others = match value {
                    Value::Null => vec![json!("more")],
                    Value::Number(number) => vec![json!(number.as_f64().expect("a number") + 1.0)],
                    Value::String(text) => vec![json!(format!("{text} "))],
                    Value::Bool(_) | Value::Array(_) => panic!("there is no way to tamper with {value}"),
                    Value::Object(inner) => {
                        let mut more = inner.clone();
                        more.insert("more".to_owned(), json!("new"));
                        vec![json!(more)]
                    }
                };
                for name in value.as_object().iter().flat_map(|inner| inner.keys()) {
                    let mut less = value.clone();
                    less.as_object_mut().expect("an object").shift_remove(name);
                    let mut other = value.clone();
                    other[name] = json!("other");
                    others.extend([less, other]);
                }
                for other in others {
                    let mut tampered = case.clone();
                    tampered["case"][field] = other;
                    assert!(run(&tampered).is_err(), "{}: {field} is not compared", case["folder"]);
                    compared += 1;
                }
            }
        }
        assert!(compared > 900, "only {compared} values were tried");
    }
}
