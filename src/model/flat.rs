//! Runs as flat rows: the tables that `sprag export` writes.
//!
//! A [`Row`] is one benchmark of one run, or one metric of it, or a run without benchmarks. A [`Column`] has a name, a
//! meaning and a function that reads its cell. Parquet, CSV, JSON Lines, their schema and their documentation all derive from
//! the three lists of columns [`BENCHMARKS`], [`SAMPLES`] and [`VALUES`].

#[doc(hidden)]
pub mod example;

use std::borrow::Cow;

use chrono::{DateTime, Utc};

use crate::metric::{PEAK_MEMORY, RATIO, TIME};
use crate::{Benchmark, Better, Commit, Estimate, Measurement, Metric, RecordedRun, RunStatus, Series, Unit};
use ColumnKind::{Flag, Integer, Number, Numbers, Small, Text, Time};

/// Raised when a column goes or changes its meaning, not when one is added.
pub const SCHEMA_VERSION: u64 = 1;

#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub name: &'static str,
    groups: &'static [&'static [Column]],
}

impl Table {
    pub fn columns(&self) -> impl Iterator<Item = &'static Column> {
        self.groups.iter().copied().flatten()
    }
}

/// One row a run and benchmark: the flat table of CSV and Parquet.
pub const BENCHMARKS: Table = Table { name: "benchmarks", groups: &[RUN, BENCHMARK, COMMIT, PLACE, FIGURES, STATUS] };

/// One row a run, benchmark and measured metric, with process medians: Parquet's second table, joined by `run_id` and `series`.
pub const SAMPLES: Table = Table { name: "samples", groups: &[RUN, SERIES, TIMES, MACHINE, VALUE] };

/// One row a run, benchmark and metric with all columns: the lines of JSON Lines.
pub const VALUES: Table = Table { name: "values", groups: &[RUN, BENCHMARK, COMMIT, PLACE, VALUE, STATUS] };

type Reader = for<'a> fn(&Row<'a>) -> Cell<'a>;

const fn given(name: &'static str, kind: ColumnKind, meaning: &'static str, cell: Reader) -> Column {
    Column { name, kind, is_given: true, meaning, cell }
}

const fn column(name: &'static str, kind: ColumnKind, meaning: &'static str, cell: Reader) -> Column {
    Column { name, kind, is_given: false, meaning, cell }
}

const RUN: &[Column] = &[
    given("run_id", Text, "the sixteen digits of the record's name", |row| Cell::text(Some(&row.recorded.id))),
    given("suite", Text, "the suite", |row| Cell::text(Some(&row.recorded.run.suite))),
];

const SERIES: &[Column] =
    &[column("series", Text, "the benchmark as it is written: `suite/name{params} @variant`", |row| {
        Cell::owned(benchmark(row).map(|one| one.id()))
    })];

const BENCHMARK: &[Column] = &[
    SERIES[0],
    column("kernel", Text, "the kernel or workload", |row| Cell::text(benchmark(row).map(|one| one.name.as_str()))),
    column("variant", Text, "`reference`, `fast`, `cuda` or a user-defined word", |row| {
        Cell::text(benchmark(row).map(|one| one.variant.as_str()))
    }),
    column("version", Small, "increases when the work behind the name changes", |row| {
        Cell::integer(benchmark(row).map(|one| one.version))
    }),
    column("role", Text, "`tracked` (gated), `reported` or `control`", |row| {
        Cell::text(row.measurement.map(|one| one.role.word()))
    }),
    column("backend", Text, "`cpu`, `cuda` or `tensorrt`; empty for programs that are not Sprag's", |row| {
        Cell::text(backend(row))
    }),
    column("dtype", Text, "the element type, where it is a parameter", |row| {
        Cell::text(benchmark(row).and_then(|one| one.params.get("dtype")).map(String::as_str))
    }),
    column("shape", Text, "all parameters as `k=v`, joined by commas", |row| Cell::owned(shape(row))),
    column("b", Small, "the parameter `b`: images of a call", |row| integer_parameter(row, "b")),
    column("c", Small, "the parameter `c`: channels", |row| integer_parameter(row, "c")),
    column("h", Small, "the parameter `h`: rows", |row| integer_parameter(row, "h")),
    column("w", Small, "the parameter `w`: columns", |row| integer_parameter(row, "w")),
    column("t", Small, "the parameter `t`: the side of a tile", |row| integer_parameter(row, "t")),
    column("k", Small, "the parameter `k`: tiles that are taken", |row| integer_parameter(row, "k")),
    column("steps", Small, "the parameter `steps`: steps of a scan", |row| integer_parameter(row, "steps")),
    column("threads", Small, "the parameter `threads`", |row| integer_parameter(row, "threads")),
];

const TIMES: &[Column] = &[
    column("commit_time", Time, "when the commit was made", |row| {
        commit(row).map_or(Cell::Absent, |commit| Cell::Time(commit.commit_time))
    }),
    given("run_time", Time, "when the run began", |row| Cell::Time(row.recorded.run.timestamp)),
];

const COMMIT: &[Column] = &[
    column("commit", Text, "the commit that was measured, forty digits", |row| {
        Cell::text(commit(row).map(|commit| commit.sha.as_str()))
    }),
    column("parent", Text, "its first parent", |row| {
        Cell::text(commit(row).and_then(|commit| commit.parents.first()).map(String::as_str))
    }),
    column("branch", Text, "the branch that was checked out", |row| {
        Cell::text(commit(row).and_then(|commit| commit.branch.as_deref()))
    }),
    column("dirty", Flag, "whether tracked files differed from the commit", |row| {
        commit(row).map_or(Cell::Absent, |commit| Cell::Flag(commit.dirty))
    }),
    TIMES[0],
    TIMES[1],
];

const MACHINE: &[Column] = &[given("machine_id", Text, "the id of the machine, sixteen digits", |row| {
    Cell::text(Some(&row.recorded.run.machine.id))
})];

const PLACE: &[Column] = &[
    MACHINE[0],
    given("machine_name", Text, "the name of the machine", |row| Cell::text(Some(&row.recorded.run.machine.name))),
    given("machine_class", Text, "the class of the machine; machines of one class may share a baseline", |row| {
        Cell::text(Some(&row.recorded.run.machine.class))
    }),
    given("environment_key", Text, "a gate compares only runs with the same key", |row| {
        Cell::text(Some(&row.recorded.run.environment.key))
    }),
    given("device", Text, "the model of the processor or of the GPU", |row| Cell::text(Some(device(row)))),
];

const FIGURES: &[Column] = &[
    column("time_s", Number, "seconds per call: the median of the medians of the worker processes", |row| {
        number(time(row), |one| Some(one.value))
    }),
    column("p50_s", Number, "the median of all samples, in seconds", |row| number(time(row), |one| one.p50)),
    column("p95_s", Number, "the 95th percentile of all samples, in seconds", |row| number(time(row), |one| one.p95)),
    column("min_s", Number, "the smallest clean sample, in seconds", |row| number(time(row), |one| one.min)),
    column("ci_lo_s", Number, "the lower end of the 95 % interval of `time_s`, in seconds", |row| {
        number(time(row), |one| Some(one.interval?.0))
    }),
    column("ci_hi_s", Number, "its upper end, in seconds", |row| number(time(row), |one| Some(one.interval?.1))),
    column("ratio", Number, "time divided by that of `ref_series`, timed next to it", |row| {
        number(row.valid_estimate(RATIO), |one| Some(one.value))
    }),
    column("ref_series", Text, "the calibration kernel of `ratio`", |row| Cell::text(attribute(row, "ratio_to"))),
    column("throughput", Number, "the first rate of the benchmark, per second", |row| {
        number(throughput(row), |one| Some(one.value))
    }),
    column("unit", Text, "what `throughput` counts, such as `tiles_per_s`", |row| {
        Cell::text(throughput(row).map(|one| one.metric.name.as_str()))
    }),
    column("peak_bytes", Integer, "the most bytes of working memory", |row| Cell::integer(peak_memory(row))),
    column("n", Integer, "number of samples behind `time_s`", |row| Cell::integer(time(row).map(|one| one.n))),
    column("workers", Small, "number of worker processes behind `time_s`", |row| {
        Cell::integer(time(row).map(|one| one.workers.len()))
    }),
    column("preempted_share", Number, "the share of samples in which the thread was preempted", preempted_share),
];

const STATUS: &[Column] = &[
    given("quality", Text, "`clean`, or the reasons to doubt the run's numbers, joined by `; `", |row| {
        let quality = &row.recorded.run.quality;
        Cell::owned(Some(if quality.clean { "clean".to_owned() } else { quality.reasons.join("; ") }))
    }),
    given(
        "status",
        Text,
        "the status of the benchmark, or of a run without benchmarks: `ok`, `skipped` or `failed`",
        |row| Cell::text(Some(row.status().word())),
    ),
    column("reason", Text, "why it is not `ok`", |row| Cell::text(row.reason())),
];

const VALUE: &[Column] = &[
    column("metric", Text, "what was measured", |row| Cell::text(row.estimate.map(|one| one.metric.name.as_str()))),
    column("unit", Text, "the unit of the numbers: `s`, `B`, `1/s` or `1`", |row| {
        Cell::text(row.estimate.map(|one| one.metric.unit.symbol()))
    }),
    column("better", Text, "`lower` or `higher`", |row| Cell::text(row.estimate.map(|one| one.metric.better.word()))),
    column("judged", Flag, "whether a gate judges this metric of the benchmark", |row| {
        let judged = |one| row.measurement.and_then(|measurement| measurement.judged()) == Some(one);
        row.estimate.map_or(Cell::Absent, |one| Cell::Flag(judged(one)))
    }),
    column("series_id", Text, "the series of the metric on its machine, as pages name it", |row| {
        let id = |one: &Benchmark| {
            let machine = &row.recorded.run.machine.id;
            row.estimate.map(|estimate| Series::id_of(&one.id(), one.version, &estimate.metric.name, machine))
        };
        Cell::owned(benchmark(row).and_then(id))
    }),
    column("value", Number, "the median of the medians of the worker processes", |row| {
        number(row.estimate, |one| Some(one.value))
    }),
    column("p50", Number, "the median of all samples", |row| number(row.estimate, |one| one.p50)),
    column("p95", Number, "the 95th percentile of all samples", |row| number(row.estimate, |one| one.p95)),
    column("min", Number, "the smallest clean sample", |row| number(row.estimate, |one| one.min)),
    column("ci_lo", Number, "the lower end of the 95 % interval of `value`", |row| {
        number(row.estimate, |one| Some(one.interval?.0))
    }),
    column("ci_hi", Number, "its upper end", |row| number(row.estimate, |one| Some(one.interval?.1))),
    column("detectable", Number, "the smallest relative change that is detected with 80 % power", |row| {
        number(row.estimate, |one| one.detectable)
    }),
    column("n", Integer, "number of samples behind `value`", |row| Cell::integer(row.estimate.map(|one| one.n))),
    column("samples", Numbers, "the median of each worker process, in the order of execution", |row| {
        row.estimate.map_or(Cell::Absent, |one| Cell::Numbers(&one.workers))
    }),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    Text,
    /// A signed integer of 32 bits.
    Small,
    /// A signed integer of 64 bits.
    Integer,
    Number,
    /// In UTC, to the microsecond.
    Time,
    Flag,
    Numbers,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    Absent,
    Text(Cow<'a, str>),
    Integer(i64),
    /// Finite, as are [`Cell::Numbers`].
    Number(f64),
    Time(DateTime<Utc>),
    Flag(bool),
    Numbers(&'a [f64]),
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    pub kind: ColumnKind,
    pub is_given: bool,
    pub meaning: &'static str,
    pub cell: Reader,
}

impl<'a> Cell<'a> {
    fn text(text: Option<&'a str>) -> Cell<'a> {
        text.map_or(Cell::Absent, |text| Cell::Text(Cow::Borrowed(text)))
    }

    fn owned(text: Option<String>) -> Cell<'a> {
        text.map_or(Cell::Absent, |text| Cell::Text(Cow::Owned(text)))
    }

    fn integer<T: TryInto<i64>>(number: Option<T>) -> Cell<'a> {
        number.and_then(|number| number.try_into().ok()).map_or(Cell::Absent, Cell::Integer)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub recorded: &'a RecordedRun,
    /// Absent for a run without benchmarks.
    pub measurement: Option<&'a Measurement>,
    /// Absent in a row of a benchmark, and for a benchmark without metrics.
    pub estimate: Option<&'a Estimate>,
}

/// One row a benchmark, in the order of the run; one row for a run without benchmarks.
pub fn benchmark_rows(recorded: &RecordedRun) -> Vec<Row<'_>> {
    let row = |measurement| Row { recorded, measurement, estimate: None };
    if recorded.run.measurements.is_empty() {
        return vec![row(None)];
    }
    recorded.run.measurements.iter().map(|measurement| row(Some(measurement))).collect()
}

/// One row per benchmark and metric, in order; one for a benchmark without numbers, and for a run without benchmarks.
pub fn value_rows(recorded: &RecordedRun) -> Vec<Row<'_>> {
    let rows = benchmark_rows(recorded).into_iter().flat_map(|row| {
        let estimates = row.measurement.filter(|_| row.is_usable()).map_or(&[][..], |one| &one.estimates);
        let without = estimates.is_empty().then_some(row);
        estimates.iter().map(move |estimate| Row { estimate: Some(estimate), ..row }).chain(without)
    });
    rows.collect()
}

impl<'a> Row<'a> {
    pub fn is_usable(&self) -> bool {
        self.measurement.is_some_and(Measurement::is_usable)
    }

    fn status(&self) -> RunStatus {
        match self.measurement {
            None => self.recorded.run.status,
            Some(_) if self.is_usable() => RunStatus::Ok,
            Some(one) if one.skipped().is_some() => RunStatus::Skipped,
            Some(_) => RunStatus::Failed,
        }
    }

    fn reason(&self) -> Option<&'a str> {
        match self.measurement {
            None => self.recorded.run.reason.as_deref(),
            Some(_) if self.is_usable() => None,
            Some(one) => one.skipped().or(one.failed()),
        }
    }

    fn valid_estimate(&self, metric: &str) -> Option<&'a Estimate> {
        self.measurement.filter(|_| self.is_usable())?.estimate(metric)
    }
}

fn commit<'a>(row: &Row<'a>) -> Option<&'a Commit> {
    row.recorded.run.commit.as_ref()
}

fn benchmark<'a>(row: &Row<'a>) -> Option<&'a Benchmark> {
    row.measurement.map(|one| &*one.benchmark)
}

fn attribute<'a>(row: &Row<'a>, name: &str) -> Option<&'a str> {
    row.measurement?.attributes.get(name).map(String::as_str)
}

/// A GPU suite records its compiler and a TensorRT suite its version; of the others only our own CPU kernels have a class.
fn backend(row: &Row<'_>) -> Option<&'static str> {
    let facts = &row.recorded.run.environment.facts;
    if facts.contains_key("tensorrt") {
        Some("tensorrt")
    } else if facts.contains_key("nvrtc") {
        Some("cuda")
    } else {
        attribute(row, "class").map(|_| "cpu")
    }
}

/// The class of a machine names its GPU where the suite runs on one.
fn device<'a>(row: &Row<'a>) -> &'a str {
    let run = &row.recorded.run;
    let cpu = run.environment.facts.get("cpu_model").filter(|_| !matches!(backend(row), Some("cuda" | "tensorrt")));
    cpu.unwrap_or(&run.machine.class)
}

fn shape(row: &Row<'_>) -> Option<String> {
    let text = benchmark(row)?.params_text();
    (!text.is_empty()).then(|| text.trim_matches(['{', '}']).to_owned())
}

fn integer_parameter<'a>(row: &Row<'a>, name: &str) -> Cell<'a> {
    Cell::integer(benchmark(row).and_then(|one| one.params.get(name)?.parse::<i32>().ok()))
}

/// The time, where it is in seconds.
fn time<'a>(row: &Row<'a>) -> Option<&'a Estimate> {
    row.valid_estimate(TIME).filter(|one| one.metric.unit == Unit::Second)
}

fn throughput<'a>(row: &Row<'a>) -> Option<&'a Estimate> {
    let is_throughput = |metric: &Metric| metric.unit == Unit::PerSecond && metric.better == Better::Higher;
    row.measurement.filter(|_| row.is_usable())?.estimates.iter().find(|one| is_throughput(&one.metric))
}

fn peak_memory(row: &Row<'_>) -> Option<i64> {
    let bytes = row.valid_estimate(PEAK_MEMORY).filter(|one| one.metric.unit == Unit::Byte)?.value.round();
    // Beyond 2^53 a float cannot represent every integer.
    (0.0..=9_007_199_254_740_992.0).contains(&bytes).then_some(bytes as i64)
}

fn preempted_share<'a>(row: &Row<'a>) -> Cell<'a> {
    let share = attribute(row, "preempted_share").and_then(|share| share.parse().ok());
    share.filter(|share: &f64| share.is_finite()).map_or(Cell::Absent, Cell::Number)
}

fn number<'a>(estimate: Option<&Estimate>, figure: impl Fn(&Estimate) -> Option<f64>) -> Cell<'a> {
    estimate.and_then(figure).map_or(Cell::Absent, Cell::Number)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::example::{recorded, skipped};
    use super::*;

    /// The cells of a column, `-` where absent, joined by `|`.
    fn cells(table: Table, rows: &[Row<'_>], name: &str) -> String {
        let column = table.columns().find(|column| column.name == name).expect("the table has the column");
        let text = |row: &Row<'_>| match (column.cell)(row) {
            Cell::Absent => "-".to_owned(),
            Cell::Text(text) => text.into_owned(),
            Cell::Integer(number) => number.to_string(),
            Cell::Number(number) => number.to_string(),
            Cell::Time(time) => time.to_rfc3339(),
            Cell::Flag(flag) => flag.to_string(),
            Cell::Numbers(numbers) => format!("{numbers:?}"),
        };
        rows.iter().map(text).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn column_names_are_unique_and_cells_have_the_kind_of_their_column() {
        let (recorded, skipped) = (recorded(), skipped());
        for table in [BENCHMARKS, SAMPLES, VALUES] {
            let names: BTreeSet<&str> = table.columns().map(|column| column.name).collect();
            assert_eq!(names.len(), table.columns().count(), "{}", table.name);
            let rows: Vec<Row<'_>> = [&recorded, &skipped]
                .into_iter()
                .flat_map(|one| benchmark_rows(one).into_iter().chain(value_rows(one)))
                .collect();
            for (row, column) in rows.iter().flat_map(|row| table.columns().map(move |column| (row, column))) {
                let fits = match ((column.cell)(row), column.kind) {
                    (Cell::Absent, _) => !column.is_given,
                    (Cell::Text(_), Text) | (Cell::Integer(_), Integer) | (Cell::Number(_), Number) => true,
                    (Cell::Integer(number), Small) => i32::try_from(number).is_ok(),
                    (Cell::Time(_), Time) | (Cell::Flag(_), Flag) | (Cell::Numbers(_), Numbers) => true,
                    _ => false,
                };
                assert!(fits, "`{}` of `{}`", column.name, table.name);
            }
        }
    }

    #[test]
    fn cells_have_the_values_of_their_run() {
        let (recorded, skipped) = (recorded(), skipped());
        let rows = value_rows(&recorded);
        for row in include_str!("flat/cells.txt").lines() {
            let (name, expected) = row.split_once(" = ").expect("a column and its cells");
            let texts = match name.split_once(' ').expect("a table and a column") {
                ("benchmarks", name) => cells(BENCHMARKS, &benchmark_rows(&recorded), name),
                (_, name) => cells(VALUES, &rows, name),
            };
            assert_eq!(texts, expected, "{name}");
        }
        assert!(cells(VALUES, &rows, "series_id").starts_with("cpu-tile-pack-c-64-t-8-fast-time-"));
        // A run without benchmarks is one row.
        for rows in [benchmark_rows(&skipped), value_rows(&skipped)] {
            let cells = ["status", "reason", "series", "commit"].map(|name| cells(BENCHMARKS, &rows, name));
            assert_eq!(cells, ["skipped", "no device", "-", "-"]);
        }
    }
}
