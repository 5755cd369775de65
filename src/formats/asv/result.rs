//! One file of results: a commit in an environment on a machine.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::super::commit_id::commit_id;
use super::super::{LONGEST_PREFIX, moment};
use sprag_model::imported::ImportedCommit;

/// The newest version of the file that is read. The first has results by name, the second in columns.
const NEWEST: u64 = 2;

/// A file of results.
pub(super) struct ResultFile {
    pub(super) commit: ImportedCommit,
    /// What asv says of the machine and of what was installed, by its own names.
    pub(super) params: Map<String, Value>,
    pub(super) python: Option<String>,
    /// What was installed for the run, with versions where they were asked for.
    pub(super) requirements: BTreeMap<String, String>,
    pub(super) rows: Vec<Row>,
}

/// The results of one benchmark.
pub(super) struct Row {
    pub(super) name: String,
    /// By the names of the columns of version 2.
    columns: BTreeMap<String, Value>,
}

impl ResultFile {
    /// Reads the file.
    ///
    /// # Errors
    /// Names the field that is missing or of another kind.
    pub(super) fn read(value: Value) -> Result<ResultFile, String> {
        let Value::Object(mut fields) = value else {
            return Err("is no result of asv: an object is needed".to_owned());
        };
        if let Some(version) = fields.get("version").and_then(Value::as_u64).filter(|version| *version > NEWEST) {
            return Err(format!("has version {version}, this build reads up to {NEWEST}; a newer sprag can"));
        }
        let sha = fields.get("commit_hash").and_then(Value::as_str).and_then(commit_id);
        let sha = sha.ok_or("is no result of asv: its `commit_hash` is no hexadecimal id")?;
        let time = fields.get("date").and_then(moment::of_millis);
        let Some(Value::Object(results)) = fields.remove("results") else {
            return Err("is no result of asv: it has no object `results`".to_owned());
        };
        let rows: Vec<Row> = match fields.get("result_columns") {
            Some(columns) => {
                let columns: Option<Vec<&str>> =
                    columns.as_array().and_then(|columns| columns.iter().map(Value::as_str).collect());
                let columns = columns.ok_or("has in `result_columns` no list of names")?;
                if columns.iter().any(|column| column.len() > LONGEST_PREFIX) {
                    return Err(format!("has in `result_columns` a name of more than {LONGEST_PREFIX} bytes"));
                }
                results.into_iter().map(|(name, cells)| in_columns(name, cells, &columns)).collect::<Result<_, _>>()?
            }
            None => results.into_iter().map(|(name, result)| by_name(name, result, &fields)).collect(),
        };
        let requirements = fields.get("requirements").and_then(Value::as_object).into_iter().flatten();
        let requirements = requirements.map(|(name, version)| (name.clone(), word(version).unwrap_or_default()));
        Ok(ResultFile {
            commit: ImportedCommit { sha, named_at: None, time, subject: None, branch: None },
            python: fields.get("python").and_then(Value::as_str).map(str::to_owned),
            requirements: requirements.collect(),
            params: fields.get("params").and_then(Value::as_object).cloned().unwrap_or_default(),
            rows,
        })
    }
}

/// A row of version 2: the cells of the columns, those at the end left out where they are empty.
fn in_columns(name: String, cells: Value, columns: &[&str]) -> Result<Row, String> {
    let Value::Array(cells) = cells else {
        return Err(format!("has in `results`.`{}` no list of columns", name.escape_debug()));
    };
    if cells.len() > columns.len() {
        return Err(format!("has in `results`.`{}` more cells than columns", name.escape_debug()));
    }
    let columns = columns.iter().map(|column| (*column).to_owned()).zip(cells).collect();
    Ok(Row { name, columns })
}

/// A row of version 1: a number, or an object of what a row of version 2 has in columns; the rest stands in the file.
fn by_name(name: String, result: Value, file: &Map<String, Value>) -> Row {
    let mut columns = BTreeMap::new();
    match result {
        Value::Object(mut parts) => {
            for key in ["result", "params", "samples"] {
                if let Some(part) = parts.remove(key) {
                    columns.insert(key.to_owned(), part);
                }
            }
            let stats = match parts.remove("stats") {
                Some(Value::Array(stats)) => stats,
                Some(one @ Value::Object(_)) => vec![one],
                _ => Vec::new(),
            };
            for key in ["ci_99_a", "ci_99_b", "q_25", "q_75", "number", "repeat"] {
                let column = stats.iter().map(|stats| stat(stats, key)).collect();
                columns.insert(format!("stats_{key}"), Value::Array(column));
            }
        }
        bare => {
            columns.insert("result".to_owned(), bare);
        }
    }
    for (column, key) in [("version", "benchmark_version"), ("started_at", "started_at")] {
        if let Some(value) = file.get(key).and_then(|values| values.get(&name)) {
            columns.insert(column.to_owned(), value.clone());
        }
    }
    Row { name, columns }
}

/// A statistic of version 1 under its name in version 2.
fn stat(stats: &Value, key: &str) -> Value {
    let end = |place: usize| stats.get("ci_99").and_then(|ends| ends.get(place));
    let found = match key {
        "ci_99_a" => end(0),
        "ci_99_b" => end(1),
        _ => stats.get(key),
    };
    found.cloned().unwrap_or(Value::Null)
}

impl Row {
    /// What stands in the column at the place of a combination of parameters.
    pub(super) fn at(&self, column: &str, place: usize) -> Option<&Value> {
        let found = self.columns.get(column)?.get(place)?;
        if found.is_null() { None } else { Some(found) }
    }

    /// The values, one a combination; `None` where all have failed.
    pub(super) fn values(&self) -> Option<&[Value]> {
        match self.columns.get("result") {
            None | Some(Value::Null) => None,
            Some(Value::Array(values)) => Some(values),
            Some(one) => Some(std::slice::from_ref(one)),
        }
    }

    /// The values of each parameter.
    ///
    /// # Errors
    /// When they are no lists of words.
    pub(super) fn params(&self) -> Result<Vec<Vec<String>>, String> {
        let words = |values: &Value| values.as_array()?.iter().map(word).collect::<Option<Vec<String>>>();
        match self.columns.get("params") {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(params)) => {
                let lists: Option<Vec<_>> = params.iter().map(words).collect();
                lists.ok_or_else(|| "its `params` are no lists of words".to_owned())
            }
            Some(_) => Err("its `params` are no list".to_owned()),
        }
    }

    /// Which code of the benchmark was measured.
    pub(super) fn version(&self) -> Option<&str> {
        self.columns.get("version").and_then(Value::as_str)
    }

    /// When the benchmark was begun.
    pub(super) fn started_at(&self) -> Option<DateTime<Utc>> {
        self.columns.get("started_at").and_then(moment::of_millis)
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
