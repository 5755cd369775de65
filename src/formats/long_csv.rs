//! The long CSV, a table that any program can write: one number a row.
//!
//! ```text
//! suite,benchmark,metric,unit,better,commit,commit_time,machine,value,params
//! cpu,sort,time,ms,lower,6a580d9,2026-11-20T10:00:00Z,box,12.5,n=1000;order=random
//! ```
//!
//! The first row names the columns, in any order; `params` may be left out, no other. `params` is `key=value` pairs joined
//! by `;`, or a JSON object of texts, numbers and booleans. `better` is `lower` or `higher`. `commit` is hexadecimal, seven
//! digits or more, or a name such as a tag; `commit_time` is RFC 3339 or seconds since 1970. `suite`, `unit`, `commit`,
//! `commit_time`, `machine` and `params` may be empty. An empty `metric` is named by the unit: `time`, `peak_memory`, a rate.
//!
//! Rows of the same suite, commit and machine make a run, wherever they are. Rows that agree in benchmark, parameters
//! and metric too are samples of one observation, whose value is their median. Errors name a row by the
//! line that it begins on; the header is row 1.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use csv::{ReaderBuilder, StringRecord, Trim};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::frame::{Format, PART, Read, Recognised, Take};
use super::provenance::commit_id;
use super::quantity::{metric_of, quantity};
use super::{FormatError, MOST_BENCHMARKS, MOST_RUNS, field, json, outputs, provenance, table_csv};
use crate::values_csv::COLUMNS;
use sprag_base::digest::RunningHash;
use sprag_base::json::to_canonical;
use sprag_base::stats::describe;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, Imported, ImportedCommit, ImportedRun, Observation};
use sprag_model::metric::{Better, Metric, TIME};
use sprag_model::unit::Unit;

pub(crate) const FORMAT: Format = Format {
    name: "csv",
    title: "table of suite, benchmark, metric, unit, better, commit, commit_time, machine, value and params",
    files: &[".csv"],
    recognised: Recognised::Each(is_table),
    read: Read::InParts(read),
};

/// In bytes.
const MOST_LINE: usize = 64 << 10;

/// Whether it begins with the names of the columns.
fn is_table(output: &Output) -> bool {
    let start = outputs::start(output);
    let first = start.lines().next().unwrap_or_default();
    let cells: Vec<&str> = first.split(',').map(|cell| cell.trim().trim_matches('"')).collect();
    COLUMNS.iter().all(|column| *column == "params" || cells.contains(column))
}

/// Reads tables, one run a suite, commit and machine.
fn read(outputs: &[&Output], take: Take<'_>) -> Result<(), FormatError> {
    let at =
        |file: usize, row: usize, reason: String| outputs::schema(outputs[file], format!("has in row {row}: {reason}"));
    let mut gathered = Gathered::default();
    for (file, output) in outputs.iter().enumerate() {
        let text = json::text(output)?;
        if let Some(line) = text.lines().position(|line| line.len() > MOST_LINE) {
            return Err(at(file, line + 1, format!("more than {MOST_LINE} bytes on one line")));
        }
        let mut reader = ReaderBuilder::new().has_headers(false).trim(Trim::All).from_reader(text.as_bytes());
        let mut record = StringRecord::new();
        let mut header = None;
        let before = gathered.rows;
        loop {
            let row = line(text, reader.position());
            if !reader.read_record(&mut record).map_err(|error| at(file, row, reason(&error)))? {
                break;
            }
            let Some(header) = &header else {
                header = Some(Header::read(&record).map_err(|reason| at(file, row, reason))?);
                continue;
            };
            gathered.take(header, &record, (file, row)).map_err(|reason| at(file, row, reason))?;
            if gathered.runs.len() > MOST_RUNS {
                return Err(FormatError::ManyRuns(output.name.clone()));
            }
        }
        if gathered.rows == before {
            return Err(FormatError::Nothing(output.name.clone()));
        }
    }
    let suites = gathered.runs.iter().map(|run| run.0.suite.as_str());
    let has_suites = suites.clone().any(|suite| suites.clone().next() != Some(suite));
    let mut runs = gathered.runs.into_iter();
    loop {
        let part: Vec<(RunKey, Vec<Row>)> = runs.by_ref().take(PART).collect();
        if part.is_empty() {
            return Ok(());
        }
        let read = part.into_par_iter().map(|(key, rows)| {
            let mut gathering = Gathering::default();
            for row in rows {
                let (file, number) = row.place;
                let taken = gathering.take(&key, row, &outputs[file].name);
                taken.map_err(|reason| at(file, number, reason))?;
            }
            Ok(gathering.finish())
        });
        let runs = read.collect::<Result<_, FormatError>>()?;
        take(Imported { has_suites, ..outputs::imported("csv", runs, Vec::new()) });
    }
}

/// The line on which the next row begins, after empty ones.
fn line(text: &str, position: &csv::Position) -> usize {
    let rest = usize::try_from(position.byte()).ok().and_then(|byte| text.as_bytes().get(byte..)).unwrap_or_default();
    let empty = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    let line = usize::try_from(position.line()).unwrap_or(usize::MAX);
    line.saturating_add(empty.filter(|byte| **byte == b'\n').count())
}

fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells, where the header has {expected_len}; is a quote left open?")
        }
        _ => error.to_string(),
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct RunKey {
    suite: String,
    /// The id in lower case, or a name that a repository may know, such as a tag.
    commit: Option<String>,
    machine: String,
}

/// The runs in the order of their first rows.
#[derive(Default)]
struct Gathered {
    runs: Vec<(RunKey, Vec<Row>)>,
    rows: usize,
    places: BTreeMap<RunKey, usize>,
    /// The `commit_time` of a run, and the row that gave it.
    times: BTreeMap<RunKey, (DateTime<Utc>, usize)>,
    /// What is measured, by the cells that say so: most rows share it with one of each other run.
    subjects: HashMap<String, Arc<Subject>>,
    /// The place of the run and the `commit_time` of earlier rows, by the cells that say so.
    repeated: HashMap<String, (usize, Option<DateTime<Utc>>)>,
    /// The key of the last row in one of them.
    cells: String,
}

#[derive(Default)]
struct Gathering {
    run: ImportedRun,
    entries: HashMap<String, usize>,
    /// Place of an observation in its entry, by entry and metric, and the row of its first sample.
    observations: HashMap<(usize, String), (usize, usize)>,
    /// The last `commit_time` as the digest has it.
    time: (Option<DateTime<Utc>>, Option<String>),
    hash: RunningHash,
}

impl Gathered {
    fn take(&mut self, header: &Header, record: &StringRecord, place: (usize, usize)) -> Result<(), String> {
        self.rows += 1;
        header.join(record, &["benchmark", "params", "metric", "unit", "better"], &mut self.cells);
        let subject = match self.subjects.get(&self.cells) {
            Some(subject) => subject,
            None => self.subjects.entry(self.cells.clone()).or_insert(Arc::new(Subject::read(header, record)?)),
        };
        header.join(record, &["suite", "commit", "machine", "commit_time"], &mut self.cells);
        if let Some((run, commit_time)) = self.repeated.get(&self.cells) {
            let value = subject.value(header.cell(record, "value"))?;
            self.runs[*run].1.push(Row { subject: Arc::clone(subject), commit_time: *commit_time, value, place });
            return Ok(());
        }
        let (key, row) = Row::read(header, record, subject, place)?;
        if let (Some(commit), Some(time)) = (&key.commit, row.commit_time) {
            let (first, number) = *self.times.entry(key.clone()).or_insert((time, place.1));
            if first != time {
                return Err(format!("`commit_time` of `{commit}` is another than in row {number}"));
            }
        }
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None => {
                self.runs.push((key.clone(), Vec::new()));
                self.places.insert(key, self.runs.len() - 1);
                self.runs.len() - 1
            }
        };
        self.repeated.insert(self.cells.clone(), (place, row.commit_time));
        self.runs.get_mut(place).expect("the place was given when the run was added").1.push(row);
        Ok(())
    }
}

impl Gathering {
    fn take(&mut self, key: &RunKey, row: Row, file: &str) -> Result<(), String> {
        if self.time.0 != row.commit_time {
            self.time = (row.commit_time, row.commit_time.map(|time| time.to_rfc3339()));
        }
        let value = row.value.as_ref().map_or_else(|reason| json!(reason), |value| json!(value));
        let (subject, number) = (&*row.subject, row.place.1);
        let metric = &subject.metric;
        let identity = (&key.suite, &key.commit, &self.time.1, &key.machine, &subject.benchmark, &subject.params);
        let line = (identity, &metric.name, metric.unit.symbol(), metric.better, value);
        self.hash.add(to_canonical(&line).as_bytes());
        let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.run.suite = named(&key.suite);
        self.run.machine = named(&key.machine);
        if let Some(sha) = &key.commit {
            let named_at = commit_id(sha).is_none().then(|| format!("{file}, row {number}"));
            let first = ImportedCommit { named_at, ..provenance::commit(sha.clone()) };
            let commit = self.run.commit.get_or_insert(first);
            commit.time = row.commit_time.or(commit.time);
        }
        let series = &subject.series;
        let place = match self.entries.get(series).copied() {
            Some(place) => place,
            None if self.run.entries.len() == MOST_BENCHMARKS => {
                return Err(format!("one benchmark more than the {MOST_BENCHMARKS} that a run may have"));
            }
            None => {
                let (name, variant) = subject.name_and_variant();
                let (name, variant, params) = (name.to_owned(), variant.map(str::to_owned), subject.params.clone());
                self.run.entries.push(Entry { series: series.clone(), name, variant, params, ..Entry::default() });
                self.entries.insert(series.clone(), self.run.entries.len() - 1);
                self.run.entries.len() - 1
            }
        };
        let entry = self.run.entries.get_mut(place).expect("the place was given when the entry was added");
        let value = match row.value {
            Ok(value) => value,
            Err(reason) => {
                if entry.status == EntryStatus::Ok {
                    entry.status = EntryStatus::Failed(format!("{reason}, in row {number}"));
                }
                return Ok(());
            }
        };
        let next = (entry.observations.len(), number);
        let (at, first) = *self.observations.entry((place, metric.name.clone())).or_insert(next);
        match entry.observations.get_mut(at) {
            None => {
                let observation = Observation::sampled(metric.clone(), &subject.unit, value, vec![value]);
                entry.observations.push(observation);
            }
            Some(observation) if observation.metric == *metric => observation.samples.push(value),
            Some(observation) => {
                let name = observation.metric.name.escape_debug();
                return Err(format!("the metric `{name}` has another unit or direction than in row {first}"));
            }
        }
        Ok(())
    }

    fn finish(mut self) -> ImportedRun {
        for entry in &mut self.run.entries {
            if entry.status != EntryStatus::Ok {
                entry.observations.clear();
            }
            for observation in &mut entry.observations {
                observation.value = describe::median(&observation.samples).unwrap_or(observation.value);
                // One number may be a sample or the summary of many: the table does not say which.
                if observation.samples.len() == 1 {
                    observation.samples.clear();
                }
                observation.n = observation.samples.len() as u64;
            }
        }
        self.run.digest = self.hash.hex();
        self.run
    }
}

const MOST_PARAMS: usize = 50;

/// The longest name of a commit other than an id, in bytes.
const MOST_REVISION: usize = 200;

/// The place of each column.
struct Header(BTreeMap<&'static str, usize>);

impl Header {
    fn read(row: &StringRecord) -> Result<Header, String> {
        let mut places = BTreeMap::new();
        for (place, cell) in row.iter().enumerate() {
            let Some(column) = COLUMNS.iter().find(|column| **column == cell) else {
                return Err(format!("the column `{}` is none of {}", shown(cell), COLUMNS.join(", ")));
            };
            if places.insert(*column, place).is_some() {
                return Err(format!("the column `{column}` occurs twice"));
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

    /// The cells of some columns as one text, with their lengths: a cell may contain anything.
    fn join(&self, row: &StringRecord, columns: &[&str], cells: &mut String) {
        cells.clear();
        for column in columns {
            let cell = self.cell(row, column);
            let _ = write!(cells, "{} {cell}", cell.len());
        }
    }
}

/// What a row is of.
struct Subject {
    /// The benchmark with its parameters, as one text.
    series: String,
    benchmark: String,
    params: BTreeMap<String, String>,
    metric: Metric,
    unit: String,
    /// From a value to one in the base unit.
    factor: f64,
}

/// What is left of a row once the run that it belongs to is known.
struct Row {
    subject: Arc<Subject>,
    commit_time: Option<DateTime<Utc>>,
    /// The number in the base unit, or why the benchmark cannot have it.
    value: Result<f64, String>,
    /// The file, and the line on which it begins.
    place: (usize, usize),
}

impl Row {
    fn read(
        header: &Header,
        row: &StringRecord,
        subject: &Arc<Subject>,
        place: (usize, usize),
    ) -> Result<(RunKey, Row), String> {
        let cell = |column: &str| header.cell(row, column);
        let text = |column: &str| table_csv::unguarded(cell(column)).to_owned();
        let commit = match cell("commit") {
            "" => None,
            id => Some(named_commit(id)?),
        };
        let commit_time = match cell("commit_time") {
            "" => None,
            time => Some(provenance::time_of_rfc3339(time).or_else(|| provenance::time_of_seconds(time)).ok_or_else(
                || format!("`commit_time` is `{}`, where RFC 3339 or seconds since 1970 are needed", shown(time)),
            )?),
        };
        let value = subject.value(cell("value"))?;
        let key = RunKey { suite: text("suite"), commit, machine: text("machine") };
        Ok((key, Row { subject: Arc::clone(subject), commit_time, value, place }))
    }
}

impl Subject {
    fn read(header: &Header, row: &StringRecord) -> Result<Subject, String> {
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
        let (benchmark, metric) = (text("benchmark"), metric(cell("metric"), cell("unit"), better)?);
        let params = params(cell("params"))?;
        let pairs: Vec<String> = params.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let series = if pairs.is_empty() { benchmark.clone() } else { format!("{benchmark}{{{}}}", pairs.join(",")) };
        Ok(Subject { series, benchmark, params, metric, unit: text("unit"), factor: quantity(cell("unit")).factor })
    }

    /// The number of a cell in the base unit, or why the benchmark cannot have it.
    fn value(&self, cell: &str) -> Result<Result<f64, String>, String> {
        match cell.parse::<f64>() {
            Ok(_) => Ok(field::figure("value", &Value::from(cell), &self.metric, self.factor)),
            Err(_) => Err(format!("`value` is `{}`, where a number is needed", shown(cell))),
        }
    }

    /// The name of the benchmark, and the variant that may follow it, as in `tile_pack @fast`.
    fn name_and_variant(&self) -> (&str, Option<&str>) {
        match self.benchmark.rsplit_once(" @") {
            Some((name, variant)) if !name.trim().is_empty() && !variant.trim().is_empty() => (name, Some(variant)),
            _ => (&self.benchmark, None),
        }
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
            "`unit` is `{}`, which is not a unit of time: `s`, `ms`, `us`, `ns`, `ps`, `min` or `h`",
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
        return Err("`params` is not an object".to_owned());
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

fn shown(cell: &str) -> String {
    let start: String = cell.chars().take(60).collect();
    start.escape_debug().to_string()
}
