//! One file of asv's results, a commit in an environment on a machine, and what `benchmarks.json` says of its benchmarks.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::provenance::commit_id;
use super::{LONGEST_PREFIX, MOST_BENCHMARKS, field, provenance, quantity};
use sprag_model::imported::{Entry, EntryStatus, ImportedCommit, Observation};
use sprag_model::metric::{Better, Metric, TIME};
use sprag_model::unit::Unit;

/// The newest version that is read. The first has results by name, the second in columns.
const NEWEST: u64 = 2;

pub(super) struct ResultFile {
    pub(super) commit: ImportedCommit,
    /// The machine and what was installed, under asv's names.
    pub(super) params: Map<String, Value>,
    pub(super) python: Option<String>,
    /// What was installed, with versions where they were asked for.
    pub(super) requirements: BTreeMap<String, String>,
    pub(super) rows: Vec<AsvRow>,
}

pub(super) struct AsvRow {
    pub(super) name: String,
    /// By the names of the columns of version 2.
    columns: BTreeMap<String, Value>,
}

impl ResultFile {
    pub(super) fn read(value: Value) -> Result<ResultFile, String> {
        let Value::Object(mut fields) = value else {
            return Err("is not a result of asv: an object is needed".to_owned());
        };
        if let Some(version) = fields.get("version").and_then(Value::as_u64).filter(|version| *version > NEWEST) {
            return Err(format!("has version {version}, this build reads up to {NEWEST}; a newer sprag can"));
        }
        let sha = fields.get("commit_hash").and_then(Value::as_str).and_then(commit_id);
        let sha = sha.ok_or("is not a result of asv: its `commit_hash` is not a hexadecimal id")?;
        let time = fields.get("date").and_then(provenance::time_of_millis);
        let Some(Value::Object(results)) = fields.remove("results") else {
            return Err("is not a result of asv: it has no object `results`".to_owned());
        };
        let rows: Vec<AsvRow> = match fields.get("result_columns") {
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
            commit: ImportedCommit { time, ..provenance::commit(sha) },
            python: fields.get("python").and_then(Value::as_str).map(str::to_owned),
            requirements: requirements.collect(),
            params: fields.get("params").and_then(Value::as_object).cloned().unwrap_or_default(),
            rows,
        })
    }
}

/// A row of version 2: the cells of the columns, those at the end left out where they are empty.
fn in_columns(name: String, cells: Value, columns: &[&str]) -> Result<AsvRow, String> {
    let Value::Array(cells) = cells else {
        return Err(format!("has in `results`.`{}` no list of columns", name.escape_debug()));
    };
    if cells.len() > columns.len() {
        return Err(format!("has in `results`.`{}` more cells than columns", name.escape_debug()));
    }
    let columns = columns.iter().map(|column| (*column).to_owned()).zip(cells).collect();
    Ok(AsvRow { name, columns })
}

/// A row of version 1: a number, or an object of what a row of version 2 has in columns; the rest is in the file.
fn by_name(name: String, result: Value, file: &Map<String, Value>) -> AsvRow {
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
    AsvRow { name, columns }
}

/// A statistic of version 1 under its name in version 2.
fn stat(stats: &Value, key: &str) -> Value {
    let end = |place: usize| stats.get("ci_99").and_then(|ends| ends.get(place));
    let outcome = match key {
        "ci_99_a" => end(0),
        "ci_99_b" => end(1),
        _ => stats.get(key),
    };
    outcome.cloned().unwrap_or(Value::Null)
}

impl AsvRow {
    /// The cell of a column for a combination of parameters.
    pub(super) fn at(&self, column: &str, place: usize) -> Option<&Value> {
        let outcome = self.columns.get(column)?.get(place)?;
        if outcome.is_null() { None } else { Some(outcome) }
    }

    /// The values, one a combination; `None` where all have failed.
    pub(super) fn values(&self) -> Option<&[Value]> {
        match self.columns.get("result") {
            None | Some(Value::Null) => None,
            Some(Value::Array(values)) => Some(values),
            Some(one) => Some(std::slice::from_ref(one)),
        }
    }

    pub(super) fn params(&self) -> Result<Vec<Vec<String>>, String> {
        let words = |values: &Value| values.as_array()?.iter().map(word).collect::<Option<Vec<String>>>();
        match self.columns.get("params") {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(params)) => {
                let lists: Option<Vec<_>> = params.iter().map(words).collect();
                lists.ok_or_else(|| "its `params` are not lists of words".to_owned())
            }
            Some(_) => Err("its `params` are not a list".to_owned()),
        }
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.columns.get("version").and_then(Value::as_str)
    }

    pub(super) fn started_at(&self) -> Option<DateTime<Utc>> {
        self.columns.get("started_at").and_then(provenance::time_of_millis)
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

const FAILED: &str = "asv recorded that it failed";

const SKIPPED: &str = "asv recorded that it was skipped";

/// The entries of a row. Where its parts do not fit together, it is one entry that says so.
pub(super) fn entries(row: &AsvRow, suite: &Suite, variant: Option<&str>) -> Vec<Entry> {
    let entry = |series: String| Entry {
        series,
        name: row.name.clone(),
        variant: variant.map(str::to_owned),
        ..Entry::default()
    };
    let combined = row.params().and_then(|params| {
        let count = combinations(&params, row.values().map(<[Value]>::len))?;
        match count > 1 && longest(row, suite, &params) > LONGEST_PREFIX {
            true => {
                Err(format!("its name and `params` take more than {LONGEST_PREFIX} bytes for each of {count} values"))
            }
            false => Ok((params, count)),
        }
    });
    let (params, count) = match combined {
        Ok(combined) => combined,
        Err(reason) => return vec![Entry { status: EntryStatus::Failed(reason), ..entry(row.name.clone()) }],
    };
    let (metric, factor) = metric_of_unit(suite.unit(&row.name));
    let mut entries = Vec::with_capacity(count);
    for place in 0..count {
        let chosen = combination(&params, place);
        let series = if chosen.is_empty() { row.name.clone() } else { format!("{}({})", row.name, chosen.join(", ")) };
        let mut entry = entry(series);
        let names = (0..chosen.len()).map(|place| suite.param_name(&row.name, place));
        entry.params = names.zip(chosen.iter().map(|value| (*value).to_owned())).collect();
        match observation(row, place, &metric, factor, suite.unit(&row.name)) {
            Ok(observation) => {
                entry.observations = vec![observation];
                entry.extras = extras(row, place, factor);
            }
            Err(status) => entry.status = status,
        }
        entries.push(entry);
    }
    entries
}

/// The bytes that the longest combination of the parameters takes with all names.
fn longest(row: &AsvRow, suite: &Suite, params: &[Vec<String>]) -> usize {
    let value = |list: &Vec<String>| list.iter().map(String::len).max().unwrap_or_default();
    let one = |(place, list)| suite.param_name(&row.name, place).len() + value(list) + 1;
    row.name.len() + params.iter().enumerate().map(one).sum::<usize>()
}

/// How many combinations the parameters have, where there are as many values.
fn combinations(params: &[Vec<String>], values: Option<usize>) -> Result<usize, String> {
    let count = params.iter().try_fold(1_usize, |count, list| count.checked_mul(list.len()));
    match (count, values) {
        (Some(count), Some(values)) if count == values => Ok(count),
        (Some(count @ 0..=MOST_BENCHMARKS), None) => Ok(count),
        (_, Some(values)) => {
            Err(format!("its `result` has {values} values, which is not one a combination of `params`"))
        }
        (_, None) => Err(format!("{FAILED}, with more than {MOST_BENCHMARKS} combinations of `params`")),
    }
}

/// The values of the parameters at a place; the last parameter varies fastest.
fn combination(params: &[Vec<String>], place: usize) -> Vec<&str> {
    let mut rest = place;
    let mut chosen: Vec<&str> = Vec::with_capacity(params.len());
    for list in params.iter().rev() {
        let count = list.len().max(1);
        chosen.push(list.get(rest % count).map_or("", String::as_str));
        rest /= count;
    }
    chosen.reverse();
    chosen
}

fn observation(
    row: &AsvRow,
    place: usize,
    metric: &Metric,
    factor: f64,
    source_unit: &str,
) -> Result<Observation, EntryStatus> {
    let failed = EntryStatus::Failed;
    let Some(value) = row.at("result", place).or_else(|| row.values()?.get(place)).filter(|value| !value.is_null())
    else {
        return Err(failed(FAILED.to_owned()));
    };
    if value.as_str().is_some_and(|text| text.parse::<f64>().is_ok_and(f64::is_nan)) {
        return Err(EntryStatus::Skipped(SKIPPED.to_owned()));
    }
    let value = field::figure("result", value, metric, factor).map_err(failed)?;
    let samples = match row.at("samples", place) {
        None => Vec::new(),
        Some(Value::Array(samples)) => {
            let read = |sample| field::figure("samples", sample, metric, factor);
            samples.iter().map(read).collect::<Result<Vec<f64>, String>>().map_err(failed)?
        }
        Some(_) => return Err(failed("its `samples` are not a list".to_owned())),
    };
    let repeat = row.at("stats_repeat", place).and_then(Value::as_u64).unwrap_or(0);
    let n = repeat.max(samples.len() as u64);
    Ok(Observation { n, ..Observation::sampled(metric.clone(), source_unit, value, samples) })
}

/// asv's own statistics, which it rounds to five digits, and the version of the code.
fn extras(row: &AsvRow, place: usize, factor: f64) -> BTreeMap<String, Value> {
    let mut extras = BTreeMap::new();
    let names = ["ci_99_a", "ci_99_b", "q_25", "q_75", "number", "repeat"];
    for (name, factor) in names.into_iter().zip([factor, factor, factor, factor, 1.0, 1.0]) {
        let number = row.at(&format!("stats_{name}"), place).and_then(Value::as_f64);
        field::extra(&mut extras, name, number.map(|number| quantity::to_base(number, factor)));
    }
    if let Some(version) = row.version() {
        extras.insert("version".to_owned(), version.chars().take(100).collect::<String>().into());
    }
    extras
}

#[derive(Debug, Default)]
pub(super) struct Suite(BTreeMap<String, BenchmarkFacts>);

#[derive(Debug, Deserialize)]
struct BenchmarkFacts {
    unit: Option<String>,
    #[serde(default)]
    param_names: Vec<String>,
    /// A hash of its code, or set by its author.
    version: Option<String>,
}

impl Suite {
    /// Reads the file; `version`, the format of the file, is the one key that names no benchmark.
    pub(super) fn read(value: &Value) -> Result<Suite, String> {
        let benchmarks = value.as_object().ok_or("is not asv's list of benchmarks: an object is needed")?;
        let facts = |(name, fields): (&String, &Value)| Some((name.clone(), BenchmarkFacts::deserialize(fields).ok()?));
        Ok(Suite(benchmarks.iter().filter_map(facts).collect()))
    }

    /// Whether a result of that version of a benchmark belongs to code that has been replaced since. asv itself leaves
    /// such results out; a benchmark that no longer exists has its results here.
    pub(super) fn is_outdated(&self, name: &str, version: Option<&str>) -> bool {
        let facts = self.0.get(name).and_then(|facts| facts.version.as_deref());
        matches!((facts, version), (Some(facts), Some(version)) if facts != version)
    }

    pub(super) fn unit(&self, name: &str) -> &str {
        self.0.get(name).and_then(|facts| facts.unit.as_deref()).unwrap_or_else(|| usual_unit(name))
    }

    pub(super) fn param_name(&self, name: &str, place: usize) -> String {
        let facts = self.0.get(name).and_then(|facts| facts.param_names.get(place));
        facts.filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| format!("param{}", place + 1))
    }
}

/// The unit by the name of the function, which begins with its kind.
fn usual_unit(name: &str) -> &'static str {
    let function = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    let kinds = [("time", "seconds"), ("mem", "bytes"), ("peakmem", "bytes")];
    kinds.into_iter().find(|(start, _)| function.starts_with(start)).map_or("unit", |(_, unit)| unit)
}

/// The metric of a unit, and how many base units one of it is. asv has no direction and takes less for better; for a rate
/// that cannot be meant.
fn metric_of_unit(unit: &str) -> (Metric, f64) {
    let name = match unit {
        "seconds" => TIME,
        "bytes" => "memory",
        _ => "track",
    };
    let quantity = quantity::quantity(unit);
    let better = if quantity.unit == Unit::PerSecond { Better::Higher } else { Better::Lower };
    (Metric { name: name.to_owned(), unit: quantity.unit, better }, quantity.factor)
}
