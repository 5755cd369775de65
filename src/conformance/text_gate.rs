//! Cases of `trueno`: runs of its check on two texts. Names, verdicts, exit code and every printed byte are exact.
//!
//! The exit codes are those of the original: 1 also where it breaks down. A file may be absent on purpose.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::case::take_inputs;
use crate::expected::{check_results, exact, exactly};
use crate::failure::{Outcome, fails, require};
use crate::folder::MOST_BYTES;
use sprag_analysis::rules::bands;
use sprag_base::files::read_bounded;
use sprag_formats::compat::trueno::gate;
use sprag_model::{Band, BandReport};

const FILES: [&str; 2] = ["baseline.txt", "current.txt"];

/// The fields with what the original reads of each file, by name in the order of the text; null where there is no file.
const PARSED: [&str; 2] = ["parsed_baseline_ns", "parsed_current_ns"];

#[derive(Deserialize)]
struct Inputs {
    argv: Vec<String>,
    current_on_stdin: bool,
}

pub(crate) fn run(case: Value, folder: &Path) -> Outcome {
    let (inputs, recorded) = take_inputs::<Inputs>(case, &["argv", "current_on_stdin"])?;
    let recorded = recorded.into_iter().filter(|(name, _)| name != "note").collect();
    let texts = FILES.map(|name| read_bounded(&folder.join(name), MOST_BYTES).ok());
    let Ended { exit_code, report, last_line } = ended(&inputs, &texts)?;
    let report = report.as_ref();
    let read = [0, 1].map(|side| parsed(texts[side].as_deref()));
    for (name, read) in PARSED.into_iter().zip(&read) {
        let keys = |value: &Value| value.as_object().into_iter().flat_map(Map::keys).cloned().collect::<Vec<_>>();
        exact(name, &keys(&Map::get(&recorded, name).cloned().unwrap_or_default()), &keys(read))?;
    }
    let results = [
        (PARSED[0], exactly(&read[0])),
        (PARSED[1], exactly(&read[1])),
        ("exit_code", exactly(exit_code)),
        ("verdicts", exactly(report.map(verdicts))),
        ("counts", exactly(report.map(counts))),
        ("result_line", exactly(report.map(gate::result_line))),
        ("stdout", exactly(report.map_or(String::new(), |report| format!("{}\n", gate::report_text(report))))),
        ("stderr_last_line", exactly(last_line)),
    ];
    check_results(&recorded, &results, true)
}

struct Ended {
    exit_code: u8,
    report: Option<BandReport>,
    last_line: String,
}

fn ended(case: &Inputs, texts: &[Option<Vec<u8>>; 2]) -> Outcome<Ended> {
    let stopped = |exit_code: u8, last_line: String| Ok(Ended { exit_code, report: None, last_line });
    let usage = |fault: String| stopped(2, format!("check_regression.py: error: {fault}"));
    let (mut files, mut limits) = ([None, None], (0.05, 0.02));
    for pair in case.argv.chunks(2) {
        let [word, value] = pair else { return Err(fails(format!("`{}` has no value", pair[0]))) };
        let (limit, name) = match word.as_str() {
            "-b" | "--baseline" => {
                files[0] = Some(value);
                continue;
            }
            "-c" | "--current" => {
                files[1] = Some(value);
                continue;
            }
            "-r" | "--regression-threshold" => (&mut limits.0, "--regression-threshold/-r"),
            "-w" | "--warning-threshold" => (&mut limits.1, "--warning-threshold/-w"),
            _ => return Err(fails(format!("argument `{word}` is unknown to this build"))),
        };
        match value.parse() {
            Ok(share) => *limit = share,
            Err(_) => return usage(format!("argument {name}: invalid float value: '{value}'")),
        }
    }
    if files[0].is_none() {
        return usage("the following arguments are required: --baseline/-b".to_owned());
    }
    require(case.current_on_stdin == files[1].is_none(), || "`current_on_stdin` goes against `argv`".to_owned())?;
    let [Some(baseline), Some(current)] = texts else {
        let place = usize::from(texts[0].is_some());
        let side = ["Baseline", "Current"][place];
        return stopped(1, format!("Error: {side} file not found: {}", files[place].map_or("", |name| name)));
    };
    match gate::judge(baseline, current, |baseline, current| bands::report(baseline, current, limits)) {
        Err(error) => stopped(1, error.to_string()),
        Ok(report) => {
            Ok(Ended { exit_code: u8::from(!report.passes()), report: Some(report), last_line: String::new() })
        }
    }
}

fn parsed(bytes: Option<&[u8]>) -> Value {
    match bytes.map(|bytes| gate::decode(bytes).and_then(gate::read)) {
        None => Value::Null,
        Some(Ok(times)) => Value::Object(times.into_iter().map(|(name, nanos)| (name, json!(nanos))).collect()),
        Some(Err(error)) => json!({"__exception__": error.to_string()}),
    }
}

fn verdicts(report: &BandReport) -> Value {
    let word = |band: Band| match band {
        Band::Regressed => "regression",
        Band::Warned => "warning",
        Band::Improved => "improvement",
        Band::Unchanged => "unchanged",
    };
    let rows = report.rows.iter().map(|row| (row.name.clone(), word(row.band)));
    let missing = report.missing.iter().map(|name| (name.clone(), "missing"));
    let new = report.new.iter().map(|name| (name.clone(), "new"));
    rows.chain(missing).chain(new).collect()
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
