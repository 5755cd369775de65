//! The CSV form: summaries alone.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::outputs;
use crate::source::Source;
use crate::table::{self, Row, Table};
use crate::{FormatError, field};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, ImportedRun, Observation};
use sprag_model::metric::Metric;

/// How the header begins.
pub(super) const HEADER: &str = "command,mean,stddev,";

/// How the columns of parameters begin.
const PARAMETER: &str = "parameter_";

pub(super) fn read(output: &Output) -> Result<Source, FormatError> {
    let table = table::read(output, HEADER)?;
    let mut entries = Vec::new();
    for row in table.rows() {
        let command = table.cell(row, "command");
        let command = command.ok_or_else(|| outputs::schema(output, format!("has no command in line {}", row.line)))?;
        entries.push(entry(&table, row, command));
    }
    Ok(Source { run: ImportedRun { entries, ..ImportedRun::default() }, ..Source::default() })
}

fn entry(table: &Table, row: &Row, command: &str) -> Entry {
    let parameter =
        |(column, cell): (&str, &str)| Some((field::told(column.strip_prefix(PARAMETER)?), field::told(cell)));
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

    fn entries(header: &str, rows: &str) -> Result<Vec<Entry>, String> {
        let bytes = format!("{header}\n{rows}\n").into_bytes();
        let source = read(&Output { name: "h.csv".to_owned(), bytes });
        source.map(|source| source.run.entries).map_err(|error| error.to_string())
    }

    const NOW: &str = "command,mean,stddev,median,user,system,min,max,parameter_n";

    #[test]
    fn rows_are_read_with_their_parameters() {
        let now = entries(NOW, "sleep 1,2,,1,0,0,1,4,1\nsleep 2,2,0,nan,0,0,1,4,2").expect("it is read");
        assert_eq!((now[0].observations[0].value, now[0].params["n"].as_str()), (1.0, "1"));
        assert!(now[0].extras["parameters"]["n"] == "1" && !now[0].extras.contains_key("stddev"));
        assert_eq!(now[1].status, EntryStatus::Failed("its `median` is NaN, which is no number".to_owned()));
        let old = entries("command,mean,stddev,user,system,min,max", "x,2,0,0,0,1,4").expect("it is read");
        assert_eq!(old[0].observations[0].value, 2.0);
    }

    #[test]
    fn a_row_at_fault_names_its_line() {
        let check = |rows: &str, words: &str| {
            let error = entries(NOW, rows).expect_err("it is refused");
            assert!(error.starts_with("h.csv ") && error.contains(words), "{error}");
        };
        check("x,2,0,1,0,0,1,4,1\n,2,0,1,0,0,1,4,1", "no command in line 3");
        check("x,2", "2 cells in line 2");
    }
}
