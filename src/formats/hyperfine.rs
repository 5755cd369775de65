//! What hyperfine exports: JSON of version 1.0 to 1.20, and CSV. Its tables for people are refused: they are rounded.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::source::Source;
use crate::table::{Row, Table};
use crate::{Format, FormatError, field, json, outputs, peek, source, table};
use sprag_base::stats::describe;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, Imported, ImportedRun, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(super) const FORMAT: Format =
    Format { name: "hyperfine", title: "hyperfine, JSON or CSV", recognises, read, files: FILES };

const FILES: &[&str] = &[".json", ".csv"];

/// How tables for people begin: Markdown, Org mode and AsciiDoc.
const TABLES: [&str; 4] = ["| Command | Mean [", "| Command  |  Mean [", "[cols=\"<,>", "|Command \n|Mean ["];

fn recognises(outputs: &[Output]) -> bool {
    let mut files = source::relevant(outputs, FILES).peekable();
    files.peek().is_some()
        && files.all(|output| is_json(output) || table::begins(output, CSV_HEADER) || is_table(output))
}

fn is_json(output: &Output) -> bool {
    let keys = peek::key_paths(output);
    ["results.command", "results.mean"].iter().all(|key| keys.contains(*key))
}

fn is_table(output: &Output) -> bool {
    TABLES.iter().any(|start| output.bytes.starts_with(start.as_bytes()))
}

fn read(outputs: &[Output]) -> Result<Imported, FormatError> {
    source::each("hyperfine", outputs, FILES, |output| {
        if is_table(output) {
            let reason =
                "is a table for people, whose numbers are rounded; export with `--export-json` and import that";
            return Err(outputs::schema(output, reason));
        }
        if table::begins(output, CSV_HEADER) { read_csv(output) } else { read_json(output) }
    })
}

/// Figures of a command that are kept beside its times, in seconds.
const FIGURES: [&str; 3] = ["stddev", "user", "system"];

fn read_json(output: &Output) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let Some(Value::Array(results)) = value.get("results") else {
        return Err(outputs::schema(output, "is no export of hyperfine: it has no list `results`"));
    };
    source::check_count(output, results.len())?;
    let mut entries = Vec::with_capacity(results.len());
    for (place, result) in results.iter().enumerate() {
        // A command may be empty, so its presence alone counts.
        let command = result.get("command").and_then(Value::as_str);
        let command =
            command.ok_or_else(|| outputs::schema(output, format!("has no command at `results[{place}]`")))?;
        entries.push(json_entry(command, result));
    }
    Ok(Source { run: ImportedRun { entries, ..ImportedRun::default() }, ..Source::default() })
}

fn json_entry(command: &str, result: &Value) -> Entry {
    let parameters = result.get("parameters");
    let mut entry = Entry {
        series: command.to_owned(),
        name: command.to_owned(),
        params: field::params(parameters),
        ..Entry::default()
    };
    let kept = parameters.and_then(field::plain).filter(Value::is_object);
    entry.extras.insert("parameters".to_owned(), kept.unwrap_or_else(|| Value::Object(Map::new())));
    for figure in FIGURES {
        field::extra(&mut entry.extras, figure, result.get(figure).and_then(Value::as_f64));
    }
    match time(result) {
        Ok(time) => entry.observations.push(time),
        Err(reason) => entry.status = EntryStatus::Failed(reason),
    }
    let codes = result.get("exit_codes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // A process that a signal ended has no exit code.
    let broken = codes.iter().filter(|code| code.as_i64() != Some(0)).count();
    if broken > 0 {
        entry.extras.insert("failed_runs".to_owned(), Value::from(broken));
    }
    if broken > 0 && broken == codes.len() {
        entry.status = EntryStatus::Failed("every run of it ended with a failure".to_owned());
    }
    match memory(result) {
        Ok(memory) => entry.observations.extend(memory),
        Err(reason) => entry.status = EntryStatus::Failed(reason),
    }
    if entry.status != EntryStatus::Ok {
        entry.observations.clear();
    }
    entry
}

/// The time of a run; of an export without single times, its median, which the oldest lack too.
fn time(result: &Value) -> Result<Observation, String> {
    let metric = Metric::time();
    let samples = field::all_measured(result, "times", &metric, 1.0)?;
    let told = if result.get("median").is_some() { "median" } else { "mean" };
    let value = match describe::median(&samples) {
        Some(median) if told == "mean" => median,
        _ => field::measured(result, told, &metric, 1.0)?,
    };
    Ok(Observation::sampled(metric, "s", value, samples))
}

/// The most memory that each run took, where it was measured.
fn memory(result: &Value) -> Result<Option<Observation>, String> {
    let metric = Metric { name: "memory".to_owned(), unit: Unit::Byte, better: Better::Lower };
    let samples = field::all_measured(result, "memory_usage_byte", &metric, 1.0)?;
    Ok(describe::median(&samples).map(|value| Observation::sampled(metric, "B", value, samples)))
}

const CSV_HEADER: &str = "command,mean,stddev,";

const PARAMETER: &str = "parameter_";

fn read_csv(output: &Output) -> Result<Source, FormatError> {
    let table = table::read(output, CSV_HEADER)?;
    let mut entries = Vec::new();
    for row in table.rows() {
        let command = table.cell(row, "command");
        let command = command.ok_or_else(|| outputs::schema(output, format!("has no command in line {}", row.line)))?;
        entries.push(csv_entry(&table, row, command));
    }
    Ok(Source { run: ImportedRun { entries, ..ImportedRun::default() }, ..Source::default() })
}

fn csv_entry(table: &Table, row: &Row, command: &str) -> Entry {
    let parameter =
        |(column, cell): (&str, &str)| Some((field::one_line(column.strip_prefix(PARAMETER)?), field::one_line(cell)));
    let params: BTreeMap<String, String> = table.cells(row).filter_map(parameter).collect();
    let mut entry = Entry { series: command.to_owned(), name: command.to_owned(), ..Entry::default() };
    let kept = params.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    entry.extras.insert("parameters".to_owned(), Value::Object(kept));
    entry.params = params;
    let number = |column: &str| table.cell(row, column).and_then(|cell| cell.parse::<f64>().ok());
    for figure in ["mean", "stddev", "user", "system", "min", "max"] {
        field::extra(&mut entry.extras, figure, number(figure));
    }
    // The oldest versions have no median.
    let told = if table.cell(row, "median").is_some() { "median" } else { "mean" };
    match field::possible(told, number(told), &Metric::time(), 1.0) {
        Ok(value) => entry.observations.push(Observation::summary(Metric::time(), "s", value)),
        Err(reason) => entry.status = EntryStatus::Failed(reason),
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn the_samples_are_read() {
        let csv = read(&[golden::sample("hyperfine", "v1.20.csv")]).expect("it is read");
        assert_eq!(csv.runs[0].entries[0].observations[0].value, 0.17600885100000002);
    }

    #[test]
    fn a_table_for_people_is_refused_with_a_hint() {
        let error = read(&[golden::sample("hyperfine", "v1.15.md")]).expect_err("it is refused").to_string();
        assert!(error.starts_with("v1.15.md is a table for people") && error.contains("--export-json"), "{error}");
    }

    fn json_file(results: &str) -> Output {
        Output { name: "h.json".to_owned(), bytes: format!("{{\"results\": [{results}]}}").into_bytes() }
    }

    fn json_entries(results: &str) -> Vec<Entry> {
        read_json(&json_file(results)).unwrap_or_else(|error| panic!("{error}")).run.entries
    }

    #[test]
    fn every_known_form_is_read() {
        let check = |fields: &str, value: f64, n: u64| {
            let entries = json_entries(&format!("{{\"command\": \"c\"{fields}}}"));
            let [Entry { status: EntryStatus::Ok, observations, .. }] = &entries[..] else { panic!("{entries:?}") };
            assert_eq!((observations[0].value, observations[0].n), (value, n), "{fields}");
        };
        check(
            r#","mean":2,"stddev":null,"median":1,"times":[1,3,1],"exit_codes":[0,0,0],"memory_usage_byte":[9]"#,
            1.0,
            3,
        );
        check(r#","mean":2,"median":1"#, 1.0, 0);
        check(r#","mean":2"#, 2.0, 0);
        check(r#","mean":2,"times":[1,1,4]"#, 1.0, 3);
        check(
            r#","mean":2,"median":1,"times":null,"new":{"a":[]},"exit_codes":[0,1],"memory_usage_byte":null"#,
            1.0,
            0,
        );
    }

    #[test]
    fn parameters_and_failures_are_told() {
        let entries = json_entries(
            r#"{"command":"sleep 1","median":1,"parameters":{"n":"1","m":2},"exit_codes":[0,null]},
               {"command":"false","median":1,"exit_codes":[1,null]}"#,
        );
        assert_eq!(entries[0].params, [("m", "2"), ("n", "1")].map(|(k, v)| (k.to_owned(), v.to_owned())).into());
        assert_eq!(entries[0].extras["failed_runs"], 1);
        assert_eq!(entries[1].status, EntryStatus::Failed("every run of it ended with a failure".to_owned()));
    }

    #[test]
    fn a_command_at_fault_fails_alone() {
        let check = |fields: &str, words: &str| {
            let entries = json_entries(&format!(r#"{{"command":"b"{fields}}}, {{"command":"g","median":1}}"#));
            let EntryStatus::Failed(reason) = &entries[0].status else { panic!("{fields}: {entries:?}") };
            assert!(reason.contains(words) && entries[0].observations.is_empty(), "{reason}");
            assert_eq!(entries[1].status, EntryStatus::Ok);
        };
        check("", "it has no `mean`");
        check(r#","median":null"#, "it has no `median`");
        check(r#","median":1,"times":[1,0]"#, "its `times[1]` is 0 s");
        check(r#","median":1,"times":[NaN]"#, "its `times[0]` is NaN");
        check(r#","median":1,"times":7"#, "no list");
        check(r#","median":-1"#, "its `median` is -1 s");
        check(r#","median":1,"memory_usage_byte":[-1]"#, "its `memory_usage_byte[0]` is -1 B");
        check(r#","median":1,"memory_usage_byte":["x"]"#, "no number");
    }

    #[test]
    fn what_is_no_export_is_refused() {
        let check = |output: Output, words: &str| golden::refused(read_json(&output), "h.json", words);
        check(json_file("7"), "no command at `results[0]`");
        check(json_file(r#"{"command":"a","command":"b"}"#), "`command` occurs twice");
        check(Output { name: "h.json".to_owned(), bytes: b"{}".to_vec() }, "no list `results`");
        check(Output { name: "h.json".to_owned(), bytes: b"{\"results\":[{\"command\":\"\xff\"}]}".to_vec() }, "UTF-8");
    }

    fn csv_entries(header: &str, rows: &str) -> Result<Vec<Entry>, String> {
        let bytes = format!("{header}\n{rows}\n").into_bytes();
        let source = read_csv(&Output { name: "h.csv".to_owned(), bytes });
        source.map(|source| source.run.entries).map_err(|error| error.to_string())
    }

    const NOW: &str = "command,mean,stddev,median,user,system,min,max,parameter_n";

    #[test]
    fn rows_are_read_with_their_parameters() {
        let now = csv_entries(NOW, "sleep 1,2,,1,0,0,1,4,1\nsleep 2,2,0,nan,0,0,1,4,2").expect("it is read");
        assert_eq!((now[0].observations[0].value, now[0].params["n"].as_str()), (1.0, "1"));
        assert!(now[0].extras["parameters"]["n"] == "1" && !now[0].extras.contains_key("stddev"));
        assert_eq!(now[1].status, EntryStatus::Failed("its `median` is NaN, which is no number".to_owned()));
        let old = csv_entries("command,mean,stddev,user,system,min,max", "x,2,0,0,0,1,4").expect("it is read");
        assert_eq!(old[0].observations[0].value, 2.0);
    }

    #[test]
    fn a_row_at_fault_names_its_line() {
        let check = |rows: &str, words: &str| {
            let error = csv_entries(NOW, rows).expect_err("it is refused");
            assert!(error.starts_with("h.csv ") && error.contains(words), "{error}");
        };
        check("x,2,0,1,0,0,1,4,1\n,2,0,1,0,0,1,4,1", "no command in line 3");
        check("x,2", "2 cells in line 2");
    }
}
