//! Cases of `trueno`: runs of its check on two texts. Names, verdicts, exit code and every printed byte are exact.
//!
//! The exit codes are those of the original: 1 also where it breaks down. A file that is absent from the folder of a case
//! is absent on purpose.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::expected::exact;
use crate::failure::{Outcome, fails, read, require};
use sprag_analysis::rules::bands;
use sprag_formats::compat::trueno::gate;
use sprag_model::bands::{Band, BandReport};

const FILES: [&str; 2] = ["baseline.txt", "current.txt"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "name")]
    _name: String,
    #[serde(default, rename = "note")]
    _note: Option<String>,
    argv: Vec<String>,
    current_on_stdin: bool,
    exit_code: u8,
    /// What the original reads of a file, by name in the order of the text; null where there is none.
    #[serde(deserialize_with = "Option::deserialize")]
    parsed_baseline_ns: Option<Map<String, Value>>,
    #[serde(deserialize_with = "Option::deserialize")]
    parsed_current_ns: Option<Map<String, Value>>,
    #[serde(deserialize_with = "Option::deserialize")]
    verdicts: Option<BTreeMap<String, String>>,
    #[serde(deserialize_with = "Option::deserialize")]
    counts: Option<Counts>,
    #[serde(deserialize_with = "Option::deserialize")]
    result_line: Option<String>,
    stdout: String,
    stderr_last_line: String,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    total: usize,
    regressions: usize,
    warnings: usize,
    improvements: usize,
    unchanged: usize,
    missing: usize,
    new: usize,
}

pub(crate) fn run(case: Value, folder: &Path) -> Outcome {
    let case: Case = read("the case", case)?;
    let texts = FILES.map(|name| fs::read(folder.join(name)).ok());
    let ended = ended(&case, &texts)?;
    let report = ended.report.as_ref();
    exact("exit_code", &case.exit_code, &ended.exit_code)?;
    check_parsed("parsed_baseline_ns", &case.parsed_baseline_ns, &parsed(texts[0].as_deref()))?;
    check_parsed("parsed_current_ns", &case.parsed_current_ns, &parsed(texts[1].as_deref()))?;
    exact("verdicts", &case.verdicts, &report.map(verdicts))?;
    exact("counts", &case.counts, &report.map(Counts::of_report))?;
    exact("result_line", &case.result_line, &report.map(gate::result_line))?;
    let stdout = report.map_or(String::new(), |report| format!("{}\n", gate::report_text(report)));
    exact("stdout", &case.stdout, &stdout)?;
    exact("stderr_last_line", &case.stderr_last_line, &ended.last_line)
}

/// Compares values, and the order of names.
fn check_parsed(name: &str, expected: &Option<Map<String, Value>>, got: &Option<Map<String, Value>>) -> Outcome {
    exact(name, expected, got)?;
    let names = |map: &Option<Map<String, Value>>| map.iter().flat_map(Map::keys).cloned().collect::<Vec<_>>();
    exact(name, &names(expected), &names(got))
}

struct Ended {
    exit_code: u8,
    report: Option<BandReport>,
    last_line: String,
}

/// Does what the original does with its arguments.
fn ended(case: &Case, texts: &[Option<Vec<u8>>; 2]) -> Outcome<Ended> {
    let stopped = |exit_code: u8, last_line: String| Ok(Ended { exit_code, report: None, last_line });
    let usage = |fault: String| stopped(2, format!("check_regression.py: error: {fault}"));
    let (mut files, mut limits) = ([None, None], (0.05, 0.02));
    let mut words = case.argv.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| fails(format!("`{word}` has no value")))?;
        let number = match word.as_str() {
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
            Ok(share) => *number.0 = share,
            Err(_) => return usage(format!("argument {}: invalid float value: '{value}'", number.1)),
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
        Ok(report) => {
            Ok(Ended { exit_code: u8::from(!report.passes()), report: Some(report), last_line: String::new() })
        }
        Err(error) => stopped(1, error.to_string()),
    }
}

fn parsed(bytes: Option<&[u8]>) -> Option<Map<String, Value>> {
    Some(match gate::decode(bytes?).and_then(gate::read) {
        Ok(found) => found.into_iter().map(|(name, nanos)| (name, json!(nanos))).collect(),
        Err(error) => Map::from_iter([("__exception__".to_owned(), json!(error.to_string()))]),
    })
}

fn verdicts(report: &BandReport) -> BTreeMap<String, String> {
    let word = |band: Band| match band {
        Band::Regressed => "regression",
        Band::Warned => "warning",
        Band::Improved => "improvement",
        Band::Unchanged => "unchanged",
    };
    let rows = report.rows.iter().map(|row| (row.name.clone(), word(row.band).to_owned()));
    let missing = report.missing.iter().map(|name| (name.clone(), "missing".to_owned()));
    let new = report.new.iter().map(|name| (name.clone(), "new".to_owned()));
    rows.chain(missing).chain(new).collect()
}

impl Counts {
    fn of_report(report: &BandReport) -> Counts {
        let count = |band: Band| report.in_band(band).count();
        Counts {
            total: report.rows.len() + report.missing.len(),
            regressions: count(Band::Regressed),
            warnings: count(Band::Warned),
            improvements: count(Band::Improved),
            unchanged: count(Band::Unchanged),
            missing: report.missing.len(),
            new: report.new.len(),
        }
    }
}
