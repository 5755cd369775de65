//! One row of the table: its columns, and what stands in them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use csv::StringRecord;
use serde_json::Value;

use super::super::commit_id::commit_id;
use super::super::quantity::{metric_of, quantity};
use super::super::{figure, json, moment};
use crate::table_csv;
use sprag_model::metric::{Better, Metric, TIME};
use sprag_model::unit::Unit;

/// The columns; the last may be left out.
pub(super) const COLUMNS: [&str; 10] =
    ["suite", "benchmark", "metric", "unit", "better", "commit", "commit_time", "machine", "value", "params"];

/// The most parameters of one benchmark.
const MOST_PARAMS: usize = 50;

/// The longest name of a commit, in bytes.
const MOST_REVISION: usize = 200;

/// Where each column stands.
pub(super) struct Header(BTreeMap<&'static str, usize>);

impl Header {
    /// Reads the first row.
    ///
    /// # Errors
    /// Names the column that is missing, unknown or there twice.
    pub(super) fn read(row: &StringRecord) -> Result<Header, String> {
        let mut places = BTreeMap::new();
        for (place, cell) in row.iter().enumerate() {
            let Some(column) = COLUMNS.iter().find(|column| **column == cell) else {
                return Err(format!("the column `{}` is none of {}", shown(cell), COLUMNS.join(", ")));
            };
            if places.insert(*column, place).is_some() {
                return Err(format!("the column `{column}` stands twice"));
            }
        }
        match COLUMNS.iter().find(|column| **column != "params" && !places.contains_key(*column)) {
            Some(column) => Err(format!("the column `{column}` is missing")),
            None => Ok(Header(places)),
        }
    }

    fn cell<'a>(&self, row: &'a StringRecord, column: &str) -> &'a str {
        self.0.get(column).and_then(|place| row.get(*place)).unwrap_or_default()
    }
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) suite: String,
    pub(super) benchmark: String,
    pub(super) params: BTreeMap<String, String>,
    pub(super) metric: Metric,
    pub(super) unit: String,
    /// The id in lower case, or a name that a repository may know, such as a tag.
    pub(super) commit: Option<String>,
    pub(super) commit_time: Option<DateTime<Utc>>,
    pub(super) machine: String,
    /// The number in the base unit, or why the benchmark cannot have it.
    pub(super) value: Result<f64, String>,
}

impl Row {
    /// Reads a row.
    ///
    /// # Errors
    /// Names the cell that cannot be read.
    pub(super) fn read(header: &Header, row: &StringRecord) -> Result<Row, String> {
        let cell = |column: &str| header.cell(row, column);
        let text = |column: &str| table_csv::unguarded(cell(column)).to_owned();
        if cell("benchmark").is_empty() {
            return Err("`benchmark` is empty".to_owned());
        }
        let better = match cell("better") {
            "lower" => Better::Lower,
            "higher" => Better::Higher,
            other => return Err(format!("`better` is `{}`, where `lower` or `higher` is needed", shown(other))),
        };
        let metric = metric(cell("metric"), cell("unit"), better)?;
        let commit = match cell("commit") {
            "" => None,
            id => Some(named_commit(id)?),
        };
        let commit_time = match cell("commit_time") {
            "" => None,
            time => Some(moment::of_text(time).or_else(|| moment::of_seconds(time)).ok_or_else(|| {
                format!("`commit_time` is `{}`, where RFC 3339 or seconds since 1970 are needed", shown(time))
            })?),
        };
        let number: Result<f64, _> = cell("value").parse();
        if number.is_err() {
            return Err(format!("`value` is `{}`, where a number is needed", shown(cell("value"))));
        }
        let value = figure::figure("value", &Value::from(cell("value")), &metric, quantity(cell("unit")).factor);
        Ok(Row {
            suite: text("suite"),
            benchmark: text("benchmark"),
            params: params(cell("params"))?,
            metric,
            unit: text("unit"),
            commit,
            commit_time,
            machine: text("machine"),
            value,
        })
    }

    /// The name of the benchmark, and the variant that may stand behind it, as in `tile_pack @fast`.
    pub(super) fn name_and_variant(&self) -> (&str, Option<&str>) {
        match self.benchmark.rsplit_once(" @") {
            Some((name, variant)) if !name.trim().is_empty() && !variant.trim().is_empty() => (name, Some(variant)),
            _ => (&self.benchmark, None),
        }
    }

    /// The benchmark with its parameters, as one text.
    pub(super) fn series(&self) -> String {
        if self.params.is_empty() {
            return self.benchmark.clone();
        }
        let pairs: Vec<String> = self.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("{}{{{}}}", self.benchmark, pairs.join(","))
    }
}

fn named_commit(text: &str) -> Result<String, String> {
    if let Some(id) = commit_id(text) {
        return Ok(id);
    }
    if text.len() > MOST_REVISION || text.starts_with('-') || text.chars().any(char::is_control) {
        return Err(format!("`commit` is `{}`, which can name no commit", shown(text)));
    }
    Ok(text.to_owned())
}

fn metric(name: &str, unit: &str, better: Better) -> Result<Metric, String> {
    if name.is_empty() {
        return Ok(metric_of(unit, better));
    }
    if !Metric::is_word(name) {
        return Err(format!("`metric` is `{}`, where one word is needed", shown(name)));
    }
    let base = quantity(unit).unit;
    if name == TIME && base != Unit::Second {
        return Err(format!(
            "`unit` is `{}`, which is no unit of time: `s`, `ms`, `us`, `ns`, `ps`, `min` or `h`",
            shown(unit)
        ));
    }
    Ok(Metric { name: name.to_owned(), unit: base, better })
}

fn params(text: &str) -> Result<BTreeMap<String, String>, String> {
    let pairs = if text.starts_with('{') { object(text)? } else { joined(text)? };
    if pairs.len() > MOST_PARAMS {
        return Err(format!("`params` has {} parameters, at most {MOST_PARAMS} are read", pairs.len()));
    }
    let mut params = BTreeMap::new();
    for (key, value) in pairs {
        if key.is_empty() || value.is_empty() {
            return Err(format!("`params` is `{}`, where each parameter needs a name and a value", shown(text)));
        }
        if let Some(key) = params.insert(key.clone(), value).map(|_| key) {
            return Err(format!("`params` has `{}` twice", shown(&key)));
        }
    }
    Ok(params)
}

fn joined(text: &str) -> Result<Vec<(String, String)>, String> {
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &str| match part.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
        None => Err(format!("`params` has `{}`, where `key=value` is needed", shown(part))),
    };
    parts.map(pair).collect()
}

fn object(text: &str) -> Result<Vec<(String, String)>, String> {
    let value = json::parse_text("`params`", text).map_err(|error| error.to_string())?;
    let Value::Object(fields) = value else {
        return Err("`params` is no object".to_owned());
    };
    let pair = |(key, value): (String, Value)| match value {
        Value::String(text) => Ok((key, text)),
        Value::Number(_) | Value::Bool(_) => Ok((key, value.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(format!("`params` has in `{}` neither text nor number", shown(&key)))
        }
    };
    fields.into_iter().map(pair).collect()
}

/// A cell as an error shows it.
fn shown(cell: &str) -> String {
    let start: String = cell.chars().take(60).collect();
    start.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_in_both_spellings() {
        let check = |text: &str, expected: Result<&[(&str, &str)], &str>| {
            let found = params(text);
            let pairs = expected.map(|pairs| pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())));
            match (pairs, found) {
                (Ok(pairs), Ok(found)) => assert_eq!(pairs.collect::<BTreeMap<_, _>>(), found, "{text}"),
                (Err(words), Err(found)) => assert!(found.contains(words), "{found}"),
                (_, found) => panic!("{text}: {found:?}"),
            }
        };
        check("", Ok(&[]));
        check(" n = 8 ; order=a=b; ", Ok(&[("n", "8"), ("order", "a=b")]));
        check(r#"{"n": 8, "fast": true, "x": "a;b"}"#, Ok(&[("n", "8"), ("fast", "true"), ("x", "a;b")]));
        check("n", Err("has `n`, where `key=value`"));
        check("n=", Err("needs a name and a value"));
        check("=1", Err("needs a name and a value"));
        check("n=1;n=2", Err("has `n` twice"));
        check(r#"{"n":1,"n":2}"#, Err("stands twice"));
        check(r#"{"n":[]}"#, Err("neither text nor number"));
        check(r#"{"n":1"#, Err("is not JSON"));
        check(&"a=1;".repeat(51), Err("has 51 parameters"));
    }
}
