//! The whole history as files of a site, for other people's tools.

use crate::error::Context as _;

use super::passing::Order;
use super::selection::{Selected, Selection};
use crate::project::Project;
use sprag_analysis::frame::ParquetFile;
use sprag_formats::{json_lines, table_csv};
use sprag_history::Entry;
use sprag_model::flat::{BENCHMARKS, SAMPLES};
use sprag_model::page::Page;

/// A file of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    Csv,
    JsonLines,
    Benchmarks,
    Samples,
}

/// Each file: its path in the site, and what it is.
const FILES: [(File, &str, &str); 4] = [
    (File::Csv, "data/benchmarks.csv", "CSV, a line a run and benchmark."),
    (File::JsonLines, "data/values.jsonl", "JSON Lines, an object a run, benchmark and metric."),
    (File::Benchmarks, "data/benchmarks.parquet", "Parquet, the rows of the CSV."),
    (File::Samples, "data/samples.parquet", "Parquet, a row a run, benchmark and metric, with a median a process."),
];

/// The files by path, and what each is.
pub fn list() -> Vec<(String, &'static str)> {
    FILES.iter().map(|(_, path, what)| ((*path).to_owned(), *what)).collect()
}

/// Makes the files of these records, one after the other, so that one at a time is in memory.
pub fn each(
    project: &Project,
    entries: &[Entry],
    take: &mut dyn FnMut(Page) -> crate::Result<()>,
) -> crate::Result<()> {
    let all = Selected::default();
    let selection = Selection::new(&all)?;
    for (file, path, _) in FILES {
        let bytes = bytes(project, entries, &selection, file).with_context(|| format!("cannot make `{path}`"))?;
        take(Page { path: path.to_owned(), bytes })?;
    }
    Ok(())
}

fn bytes(project: &Project, entries: &[Entry], selection: &Selection<'_>, file: File) -> crate::Result<Vec<u8>> {
    let mut text = if file == File::Csv { table_csv::header(BENCHMARKS) } else { Vec::new() };
    let mut rows = ParquetFile::new(if file == File::Samples { SAMPLES } else { BENCHMARKS }, &[]);
    selection.pass(project, entries, Order::OldestFirst, &mut |run| {
        match file {
            File::Csv => text.extend(table_csv::lines(BENCHMARKS, &selection.benchmark_rows(run))),
            File::JsonLines => text.extend(json_lines::lines(&selection.value_rows(run))),
            File::Benchmarks => selection.benchmark_rows(run).iter().for_each(|row| rows.push(row)),
            File::Samples => {
                let values = selection.value_rows(run);
                values.iter().filter(|row| row.estimate.is_some()).for_each(|row| rows.push(row));
            }
        }
        Ok(())
    })?;
    match file {
        File::Csv | File::JsonLines => Ok(text),
        File::Benchmarks | File::Samples => Ok(rows.into_bytes()?),
    }
}
