//! Reports and baselines of Apex-X, judged by its own rules.
//!
//! Files are recognised by their content. Apex-X accepts empty baselines and baselines of another suite, and overwrites
//! baselines; all that is refused here. Exit codes are Sprag's own.

use std::io::Write;
use std::path::Path;

use chrono::SecondsFormat;
use serde_json::{Map, Value};

use crate::error::{Exit, WithContext as _};
use crate::gate::outcome::{CheckRequest, CompareRequest, GateRequest, Inconclusive, gate_of_files};
use crate::gate::reports;
use crate::gate::table::table_text;
use crate::options::{NamedFile, refuse_existing};
use crate::{Advice, refuse, text};
use sprag_base::files::{check_writable, read_bounded, write_atomic};
use sprag_formats::compat::apex_x::gate::{self as rules, ApexSuite, CheckStatus, GateComparison, Template};
use sprag_formats::compat::json;
use sprag_measure::clock;
use sprag_model::metric::LARGEST;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::rule::MOST_FACTOR;
use sprag_model::{Effect, Gate, Metric, Rule, Verdict};

struct File {
    shown: String,
    value: Value,
}

/// `None` if `--run` names no report of Apex-X.
pub fn check(request: &CheckRequest, out: &mut dyn Write) -> crate::Result<Option<Exit>> {
    let folder = &request.gate.folder;
    let usage = "--run REPORT.json --baseline BASELINE.json, both of Apex-X";
    let Some((suite, report)) = request.run.as_ref().and_then(|path| read_report(&folder.join(path))) else {
        // The next reader reports a missing file.
        let is_there = request.run.as_ref().is_none_or(|path| folder.join(path).is_file());
        let baseline = request.baseline.as_ref().and_then(|path| read_apex_x(&folder.join(path)));
        let baseline = baseline.filter(|file| is_there && is_baseline(&file.value));
        return baseline.map_or(Ok(None), |file| Err(no_report(&file, usage).into()));
    };
    let Some(path) = request.baseline.as_ref().map(|path| folder.join(path)) else {
        refuse_suites(&request.gate.suites, &report)?;
        let message = format!("`{}` is a report of Apex-X, which a baseline of Apex-X judges", report.shown);
        return refuse(message, format!("name one: `{usage}`"));
    };
    let baseline = read(&path)?;
    refuse_mismatch(&request.gate, suite, &report, &baseline)?;
    let reports = reports::parse(&request.gate.reports)?;
    let mut files = request.inputs();
    files.extend([
        NamedFile::written("--summary", request.summary.as_deref(), "the summary"),
        NamedFile::written("--trend-output", request.trend_output.as_deref(), "the trend"),
    ]);
    reports::check(folder, &reports, files)?;
    for path in request.summary.iter().chain(&request.trend_output) {
        check_writable(&folder.join(path))?;
    }
    let (comparison, exit, gate) = judge(("check", request.gate.inconclusive), suite, &report, &baseline)?;
    let mut text = write_files(request, &comparison)?;
    for line in rules::lines(&comparison) {
        text.push_str(&format!("{}\n", text::printable(&line)));
    }
    text.push_str(&format!("{}\n", summary("check", &comparison, exit)));
    reports::conclude(&request.gate, &reports, (&gate, exit), &text, out).map(Some)
}

/// `None` unless the base is a baseline of Apex-X and the other side is none.
pub fn compare(request: &CompareRequest, out: &mut dyn Write) -> crate::Result<Option<Exit>> {
    let folder = &request.gate.folder;
    let [base, other] = [&request.base, &request.other].map(|named| folder.join(named));
    if !base.is_file() || !other.is_file() {
        return Ok(None);
    }
    let [baseline, report] = [base, other].map(|path| read_apex_x(&path));
    let usage = "sprag compare BASELINE.json REPORT.json";
    // Without metrics it could be a baseline or a report.
    let metrics = |file: &File| file.value.get("metrics").and_then(Value::as_object).map_or(0, Map::len);
    if let Some(file) = report.as_ref().filter(|file| holds_baseline(&file.value) && metrics(file) > 0) {
        let message = format!("`{}` is a baseline of Apex-X, and the file to judge must be a report", file.shown);
        return refuse(message, format!("swap the two sides, as in `{usage}`"));
    }
    let Some(baseline) = baseline.filter(|file| holds_baseline(&file.value)) else { return Ok(None) };
    let Some((suite, report)) = report.and_then(|file| Some((report_suite(&file.value)?, file))) else {
        return Err(no_report(&baseline, usage).into());
    };
    refuse_mismatch(&request.gate, suite, &report, &baseline)?;
    let reports = reports::parse(&request.gate.reports)?;
    reports::check(folder, &reports, request.inputs())?;
    let (comparison, exit, gate) = judge(("compare", request.gate.inconclusive), suite, &report, &baseline)?;
    let head = text::printable(&format!("{} against {}, by tolerance", report.shown, baseline.shown));
    let table = table_text(&gate.suites[0], request.gate.only_changed);
    let text = format!("{head}\n{table}{}\n", summary("compare", &comparison, exit));
    reports::conclude(&request.gate, &reports, (&gate, exit), &text, out).map(Some)
}

fn judge(
    (command, inconclusive): (&'static str, Inconclusive),
    suite: ApexSuite,
    report: &File,
    baseline: &File,
) -> crate::Result<(GateComparison, Exit, Gate)> {
    let comparison = rules::compare(suite, &report.value, &baseline.value).map_err(|error| {
        Advice::new(
            format!("cannot compare `{}` with `{}`: {error}", report.shown, baseline.shown),
            "fix the file, or take a new baseline from a report with `sprag baseline emit --run REPORT.json`",
        )
    })?;
    refuse_numbers(report, baseline, &comparison)?;
    let exit = exit(&comparison);
    let disagree = |statuses: &rules::Statuses| {
        let rules::Statuses { current, required } = statuses;
        (!statuses.agree()).then(|| format!("its status is {current} where {required} is required"))
    };
    let reason = comparison.statuses.as_ref().and_then(disagree);
    let comparisons = comparison.checks.iter().map(verdict).collect();
    let outcome = (exit, reason, inconclusive);
    let gate = gate_of_files(command, suite.name(), [&report.shown, &baseline.shown], comparisons, outcome);
    Ok((comparison, exit, gate))
}

fn verdict(check: &rules::GateCheck) -> sprag_model::verdict::Comparison {
    let seconds = |milliseconds: Option<f64>| milliseconds.map(|value| value * 1e-3).filter(|value| value.is_finite());
    let change = check.regression_ratio.filter(|change| change.is_finite());
    let verdict = match check.status {
        CheckStatus::Pass => Verdict::Unchanged,
        CheckStatus::Fail => Verdict::Regressed,
        CheckStatus::Missing => Verdict::Missing,
    };
    sprag_model::verdict::Comparison {
        baseline: seconds(check.baseline),
        allowed: seconds(check.allowed),
        current: seconds(check.current),
        effect: change.map(|change| Effect { change, interval: None, detectable: None }),
        ..sprag_model::verdict::Comparison::bare(&check.metric, Metric::time(), "tolerance", verdict)
    }
}

/// Writes the baseline in the format of Apex-X; `None` if the run is not a report of it.
pub fn emit(
    folder: &Path,
    run: Option<&Path>,
    suites: &[String],
    output: Option<&Path>,
    notes: Option<&str>,
    out: &mut dyn Write,
) -> crate::Result<Option<Exit>> {
    let Some((suite, report)) = run.and_then(|path| read_report(&folder.join(path))) else { return Ok(None) };
    refuse_suites(suites, &report)?;
    let Some(path) = output.map(|path| folder.join(path)) else {
        let message = format!("`{}` is a report of Apex-X, whose baseline has no usual place", report.shown);
        return refuse(message, "name the file: `--output BASELINE.json`");
    };
    let status = report.value.get("status").and_then(Value::as_str);
    if suite.has_status() && status != Some("ok") {
        let status = status.unwrap_or("unknown");
        let message = format!("`{}` has the status `{}`", report.shown, status.escape_debug());
        let hint = "take a baseline from a report that is `ok`: any other would pass what was not measured";
        return refuse(message, hint);
    }
    let template = Template::from_report(suite, &report.value)
        .with_context(|| format!("cannot take a baseline from `{}`", report.shown))?;
    if template.metrics.is_empty() {
        let message = format!("`{}` holds no figure that a baseline takes", report.shown);
        return refuse(message, "an empty baseline would let anything pass");
    }
    refuse_existing(&path)?;
    write_atomic(&path, template.to_json(notes).as_bytes())?;
    let count = text::count(template.metrics.len(), "metric");
    writeln!(out, "wrote {}: {count} of {}", text::path(&path), suite.name())?;
    Ok(Some(Exit::Done))
}

fn read_report(path: &Path) -> Option<(ApexSuite, File)> {
    let file = read_apex_x(path)?;
    Some((report_suite(&file.value)?, file))
}

/// `None` if it is not readable as such; the next reader explains why.
fn read_apex_x(path: &Path) -> Option<File> {
    let shown = path.display().to_string();
    let text = read_text(path, &shown).ok()?;
    // Our own files can be large; this recognises them without parsing.
    let has = |word: &str| text.contains(word);
    let is_ours = has("\"machine_class\"") || (has("\"machine\"") && has("\"benchmarks\""));
    if is_ours && !ApexSuite::ALL.iter().any(|suite| has(suite.name())) {
        return None;
    }
    parse(text, shown).ok().filter(|file| file.value.is_object())
}

fn read(path: &Path) -> crate::Result<File> {
    let shown = path.display().to_string();
    parse(read_text(path, &shown)?, shown)
}

fn read_text(path: &Path, shown: &str) -> crate::Result<String> {
    let bytes = read_bounded(path, MAX_RECORD_BYTES).with_context(|| format!("cannot read `{shown}`"))?;
    String::from_utf8(bytes).with_context(|| format!("`{shown}` is not UTF-8 text"))
}

fn parse(text: String, shown: String) -> crate::Result<File> {
    let value = json::parse(&text).with_context(|| format!("`{shown}`"))?;
    Ok(File { shown, value })
}

fn report_suite(report: &Value) -> Option<ApexSuite> {
    report.get("suite").and_then(Value::as_str).and_then(ApexSuite::from_name)
}

pub fn is_apex_x_baseline(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).ok().and_then(|text| json::parse(text).ok()).is_some_and(|value| holds_baseline(&value))
}

fn holds_baseline(value: &Value) -> bool {
    // A report may have metrics too, as plain numbers.
    let metrics = value.get("metrics").and_then(Value::as_object);
    let of_suite = report_suite(value).is_some();
    let is_meant = |all: &Map<String, Value>| match of_suite {
        true => all.is_empty() || all.values().any(Value::is_object),
        false => all.values().all(|one| one.get("value_ms").is_some()),
    };
    is_baseline(value) && metrics.is_some_and(is_meant)
}

/// Its suite is one of Apex-X, or it has metrics but no machine class, which ours have.
fn is_baseline(value: &Value) -> bool {
    let named = value.get("suite").map(|suite| suite.as_str().and_then(ApexSuite::from_name));
    let bare = named.is_none() && value.get("metrics").is_some() && value.get("machine_class").is_none();
    named.flatten().is_some() || bare
}

fn refuse_suites(suites: &[String], report: &File) -> Result<(), Advice> {
    if suites.is_empty() {
        return Ok(());
    }
    let message = format!("`--suite` names suites of Sprag, and `{}` is a report of Apex-X", report.shown);
    refuse(message, "leave it out: the report says which suite it is of")
}

/// `usage` shows how to do it.
fn no_report(baseline: &File, usage: &str) -> Advice {
    let message = format!("`{}` is a baseline of Apex-X, and the judged file is not a report of it", baseline.shown);
    Advice::new(message, format!("give two files of one kind, as in `{usage}`"))
}

fn refuse_mismatch(request: &GateRequest, suite: ApexSuite, report: &File, baseline: &File) -> Result<(), Advice> {
    refuse_suites(&request.suites, report)?;
    refuse_baseline(suite, report, baseline)?;
    request.refuse_tolerance("reports of Apex-X")?;
    if request.policy.is_none() {
        return Ok(());
    }
    let message = "`--policy` names rules, and a report of Apex-X is judged by those of its own baseline";
    refuse(message, "leave it out, and change the tolerances in the baseline")
}

fn write_files(request: &CheckRequest, comparison: &GateComparison) -> crate::Result<String> {
    let (prefix, status) = (comparison.suite.prefix(), rules::overall(comparison));
    let shown = |path: &Path| text::path(path);
    let mut text = String::new();
    if let Some(path) = &request.trend_output {
        let timestamp = clock::now().to_rfc3339_opts(SecondsFormat::Micros, true);
        write_atomic(&request.gate.folder.join(path), rules::trend(comparison, &timestamp).as_bytes())?;
        let failed = rules::failed(comparison);
        text.push_str(&format!("{prefix}_trend status={status} failed_metrics={failed} output={}\n", shown(path)));
    }
    if let Some(path) = &request.summary {
        write_atomic(&request.gate.folder.join(path), rules::summary(comparison).as_bytes())?;
        text.push_str(&format!("{prefix}_compare status={status} summary={}\n", shown(path)));
    }
    Ok(text)
}

fn exit(comparison: &GateComparison) -> Exit {
    let skipped = |statuses: &rules::Statuses| !statuses.agree() && statuses.current == "skipped";
    if comparison.statuses.as_ref().is_some_and(skipped) {
        Exit::NotMeasured
    } else if comparison.passes() {
        Exit::Done
    } else {
        Exit::Failed
    }
}

fn summary(command: &str, comparison: &GateComparison, exit: Exit) -> String {
    let count = |status: CheckStatus| comparison.checks.iter().filter(|check| check.status == status).count();
    let mut words = vec![format!("{} passed", count(CheckStatus::Pass))];
    for (number, word) in [(count(CheckStatus::Fail), "failed"), (count(CheckStatus::Missing), "missing")] {
        if number > 0 {
            words.push(format!("{number} {word}"));
        }
    }
    if let Some(statuses) = comparison.statuses.as_ref().filter(|statuses| !statuses.agree()) {
        let (current, required) = (text::printable(&statuses.current), text::printable(&statuses.required));
        words.push(format!("the status is {current} where {required} is required"));
    }
    let word = match exit {
        Exit::Done => "pass",
        Exit::NotMeasured => "not measured",
        _ => "fail",
    };
    format!("{command}: {word}; {}", words.join(", "))
}

const SCHEMA: f64 = 1.0;

fn refuse_baseline(suite: ApexSuite, report: &File, baseline: &File) -> Result<(), Advice> {
    let shown = &baseline.shown;
    if !is_baseline(&baseline.value) {
        let message = format!("`{shown}` is not a baseline of Apex-X, and `{}` is a report of it", report.shown);
        let hint = format!("make one: `sprag baseline emit --run {} --output BASELINE.json`", report.shown);
        return refuse(message, hint);
    }
    if let Some(other) = report_suite(&baseline.value).filter(|other| *other != suite) {
        let message = format!("`{shown}` is of `{}`, and `{}` of `{}`", other.name(), report.shown, suite.name());
        return refuse(message, "compare a report with a baseline of its own suite");
    }
    for file in [report, baseline] {
        if let Some(version) =
            file.value.get("schema_version").filter(|version| json::plain_number(version) != Some(SCHEMA))
        {
            let message = format!("`{}` has the schema {}, and {SCHEMA} is known", file.shown, words(version));
            return refuse(message, "write it again with the Apex-X that made the other one");
        }
    }
    let status = baseline.value.get("required_status").and_then(Value::as_str);
    if let Some(status) = status.filter(|status| suite.has_status() && *status != "ok") {
        let fault = "and only a report that is `ok` has values to judge";
        let message = format!("`{shown}` has `required_status` = \"{status}\", {fault}");
        return refuse(message, "take one from a report that is `ok`");
    }
    let metrics = baseline.value.get("metrics").and_then(Value::as_object);
    // The comparison reports other types.
    if metrics.is_some_and(Map::is_empty) || baseline.value.get("metrics").is_none() {
        let message = format!("`{shown}` has no metrics, so it would let anything pass");
        return refuse(message, "take one from a report with `sprag baseline emit`");
    }
    Ok(())
}

/// Fails on numbers that cannot be judged.
fn refuse_numbers(report: &File, baseline: &File, comparison: &GateComparison) -> Result<(), Advice> {
    let is_time = |value: f64| value > 0.0 && value <= LARGEST;
    for check in &comparison.checks {
        let fault = |file: &File, words: String, hint: &str| {
            let message = format!("`{}`: {words} of `{}`", file.shown, check.metric);
            refuse(text::printable(&message), hint.to_owned())
        };
        if let Some(current) = check.current.filter(|value| !is_time(*value)) {
            return fault(report, format!("a time of {current}"), "times are above zero: measure again");
        }
        let spec = baseline.value.get("metrics").and_then(|metrics| metrics.get(&check.metric));
        let number = |field: &str| spec.and_then(|spec| spec.get(field));
        for field in ["value_ms", "max_regression_ratio", "max_regression_abs_ms"] {
            if let Some(other) = number(field).filter(|value| json::plain_number(value).is_none()) {
                return fault(baseline, format!("`{field}` is {}, no number,", words(other)), "write it as a number");
            }
        }
        let Some(value) = check.baseline.filter(|value| is_time(*value)) else {
            let words = format!("a `value_ms` of {}", check.baseline.unwrap_or(f64::NAN));
            return fault(baseline, words, "times are above zero: take a new baseline with `sprag baseline emit`");
        };
        let plain = |field: &str| number(field).and_then(json::plain_number).unwrap_or(0.0);
        let (ratio, abs) = (plain("max_regression_ratio"), plain("max_regression_abs_ms"));
        if let Some((name, value, allowed)) = (Rule::Tolerance { ratio, abs }).fault() {
            let field = if name == "abs" { "max_regression_abs_ms" } else { "max_regression_ratio" };
            return fault(baseline, format!("a `{field}` of {value}"), allowed);
        }
        if abs > MOST_FACTOR * value {
            let words = format!("a `max_regression_abs_ms` of {abs}, where the time is {value} ms,");
            return fault(baseline, words, "at most a hundred times the time is allowed");
        }
    }
    Ok(())
}

fn words(value: &Value) -> String {
    match (json::plain_number(value), value.as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(text)) => format!("\"{}\"", text.escape_debug()),
        (None, None) => "something else".to_owned(),
    }
}
