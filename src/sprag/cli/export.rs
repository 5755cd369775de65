//! The options of `export`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// In which form to write the history.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Parquet in folders `suite=/year=/month=`: a table of benchmarks and one of samples. `docs/EXPORT.md` lists columns.
    Parquet(ExportParquetArgs),
    /// CSV: one line a run and benchmark, with the columns of the Parquet table; or the long form that `import` reads.
    Csv(ExportCsvArgs),
    /// JSON Lines: one object a run, benchmark and metric.
    Jsonl(ExportTextArgs),
    /// OpenMetrics text: the newest value of each series, for Prometheus and its relatives.
    Openmetrics(ExportTextArgs),
}

#[derive(Args, Debug)]
pub struct ExportParquetArgs {
    /// The output folder; it must be new, empty or an earlier export.
    #[arg(long, required = true, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Which runs.
    #[command(flatten)]
    pub selection: SelectionArgs,
}

#[derive(Args, Debug)]
pub struct ExportCsvArgs {
    /// Write the long form: one line per commit, benchmark and metric, from the newest run of each commit.
    #[arg(long)]
    pub long: bool,
    /// As for any text.
    #[command(flatten)]
    pub text: ExportTextArgs,
}

/// Options of an export to one text.
#[derive(Args, Debug)]
pub struct ExportTextArgs {
    /// The file to write; `-` is standard output.
    #[arg(long, default_value = "-", value_name = "FILE")]
    pub out: PathBuf,
    /// Which runs.
    #[command(flatten)]
    pub selection: SelectionArgs,
}

/// Which part of the history.
#[derive(Args, Debug, Default)]
pub struct SelectionArgs {
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Only this machine, by its name or its id.
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// Only runs from this day (in UTC) or moment on, such as 2026-11-21 or 2026-11-21T04:05:06Z.
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Only runs up to this day, which is included, or moment.
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// Only this metric, such as `time`; of benchmarks, only those that have it.
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
}
