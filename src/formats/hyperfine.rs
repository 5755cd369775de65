//! What hyperfine exports: JSON of version 1.0 to 1.20, and CSV. Its tables for people are refused: they are rounded.

use serde_json::{Map, Value};

use crate::frame::{Read, Recognised, Source, check_count};
use crate::{Format, FormatError, field, json, outputs, peek, table};
use sprag_base::stats::describe;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, ImportedRun, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(super) const FORMAT: Format = Format {
    name: "hyperfine",
    title: "hyperfine, JSON or CSV",
    files: FILES,
    recognised: Recognised::EachNamed(FILES, |output| is_json(output) || is_csv(output) || is_table(output)),
    read: Read::Each("hyperfine", read_file),
};

const FILES: &[&str] = &[".json", ".csv"];

/// How tables for people begin: Markdown, Org mode and AsciiDoc.
const TABLES: [&str; 4] = ["| Command | Mean [", "| Command  |  Mean [", "[cols=\"<,>", "|Command \n|Mean ["];

fn is_json(output: &Output) -> bool {
    let keys = peek::key_paths(output);
    ["results.command", "results.mean"].iter().all(|key| keys.contains(*key))
}

fn is_table(output: &Output) -> bool {
    TABLES.iter().any(|start| output.bytes.starts_with(start.as_bytes()))
}

fn is_csv(output: &Output) -> bool {
    table::begins(output, CSV_HEADER)
}

fn read_file(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    if is_table(output) {
        let reason = "is a table for people, whose numbers are rounded; export with `--export-json` and import that";
        return Err(outputs::schema(output, reason));
    }
    let entries = if is_csv(output) { read_csv(output)? } else { read_json(output)? };
    Ok(Source { run: ImportedRun { entries, ..ImportedRun::default() }, ..Source::default() })
}

/// Figures of a command that become extras, in seconds.
const FIGURES: [&str; 3] = ["stddev", "user", "system"];

fn read_json(output: &Output) -> Result<Vec<Entry>, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let results = json::list(output, &value, "results", "file of hyperfine")?;
    check_count(&output.name, results.len())?;
    let command = |(place, result): (usize, &Value)| {
        // A command may be empty, so its presence alone counts.
        let command = result.get("command").and_then(Value::as_str);
        let fault = || outputs::schema(output, format!("has no command at `results[{place}]`"));
        Ok(json_entry(command.ok_or_else(fault)?, result))
    };
    results.iter().enumerate().map(command).collect()
}

fn json_entry(command: &str, result: &Value) -> Entry {
    let parameters = result.get("parameters");
    let observed = time(result).and_then(|time| Ok(std::iter::once(time).chain(memory(result)?).collect()));
    let mut entry = Entry { params: field::params(parameters), ..outputs::entry(command, observed) };
    let retained = parameters.and_then(field::plain).filter(Value::is_object);
    entry.extras.insert("parameters".to_owned(), retained.unwrap_or_else(|| Value::Object(Map::new())));
    for figure in FIGURES {
        field::extra(&mut entry.extras, figure, result.get(figure).and_then(Value::as_f64));
    }
    let codes = result.get("exit_codes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // A process that a signal ended has no exit code.
    let broken = codes.iter().filter(|code| code.as_i64() != Some(0)).count();
    if broken > 0 {
        entry.extras.insert("failed_runs".to_owned(), Value::from(broken));
    }
    if broken > 0 && broken == codes.len() {
        outputs::fail(&mut entry, "every run of it ended with a failure".to_owned());
    }
    entry
}

/// The time of a run; without single times the median, else the mean.
fn time(result: &Value) -> Result<Observation, String> {
    let metric = Metric::time();
    let samples = field::all_measured(result, "times", &metric, 1.0)?;
    let statistic = if result.get("median").is_some() { "median" } else { "mean" };
    let value = match describe::median(&samples) {
        Some(median) if statistic == "mean" => median,
        _ => field::measured(result, statistic, &metric, 1.0)?,
    };
    Ok(Observation::sampled(metric, "s", value, samples))
}

fn memory(result: &Value) -> Result<Option<Observation>, String> {
    let metric = Metric { name: "memory".to_owned(), unit: Unit::Byte, better: Better::Lower };
    let samples = field::all_measured(result, "memory_usage_byte", &metric, 1.0)?;
    Ok(describe::median(&samples).map(|value| Observation::sampled(metric, "B", value, samples)))
}

const CSV_HEADER: &str = "command,mean,stddev,";

const PARAMETER: &str = "parameter_";

fn read_csv(output: &Output) -> Result<Vec<Entry>, FormatError> {
    let is_text = |column: &str| column == "command" || column.starts_with(PARAMETER);
    let entry = |row: table::Row| {
        let fault = || outputs::schema(output, format!("has no command in line {}", row.line));
        let command = field::text(&row.cells, "command").ok_or_else(fault)?;
        let cells = row.cells.as_object().into_iter().flatten();
        let parameter =
            |(column, cell): (&String, &Value)| Some((column.strip_prefix(PARAMETER)?.to_owned(), cell.clone()));
        let parameters: Value = cells.filter_map(parameter).collect();
        let mut result = row.cells.clone();
        result["parameters"] = parameters;
        let mut entry = json_entry(command, &result);
        for figure in ["mean", "min", "max"] {
            field::extra(&mut entry.extras, figure, result.get(figure).and_then(Value::as_f64));
        }
        Ok(entry)
    };
    table::rows(output, CSV_HEADER, is_text)?.into_iter().map(entry).collect()
}
