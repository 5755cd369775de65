//! Exports that are one text: CSV, JSON Lines, OpenMetrics.

use std::io::Write;
use std::path::Path;

use super::passing::Order;
use super::selection::{Selected, Selection};
use crate::error::Context as _;
use crate::project::Project;
use sprag_base::files::{AtomicFile, check_writable};
use sprag_formats::{json_lines, openmetrics, table_csv, values_csv};
use sprag_history::Entry;
use sprag_model::flat::BENCHMARKS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One line a run and benchmark.
    Csv,
    /// One line a commit, benchmark and metric.
    LongCsv,
    /// One object a run, benchmark and metric.
    JsonLines,
    /// The newest value of each series.
    OpenMetrics,
}

/// Writes the selected part of the history to a file, which is whole or as it was, or to `out` where none is named; gives
/// how many runs there were.
pub fn write(
    project: &Project,
    form: Form,
    selected: &Selected,
    file: Option<&Path>,
    out: &mut dyn Write,
) -> crate::Result<usize> {
    let selection = Selection::new(selected)?;
    if let Some(file) = file {
        check_writable(file)?;
    }
    let entries = selection.list(project)?;
    let runs;
    match file {
        None => runs = text(form, &selection, project, &entries, out)?,
        Some(file) => {
            let mut new = AtomicFile::create(file)?;
            runs = text(form, &selection, project, &entries, &mut new)
                .with_context(|| format!("cannot write `{}`", file.display()))?;
            new.commit()?;
        }
    }
    selection.warn_of_nothing(runs);
    Ok(runs)
}

/// Writes the text, a run at a time; gives how many there were.
fn text(
    form: Form,
    selection: &Selection<'_>,
    project: &Project,
    entries: &[Entry],
    out: &mut dyn Write,
) -> crate::Result<usize> {
    match form {
        Form::Csv => {
            out.write_all(&table_csv::header(BENCHMARKS))?;
            selection.pass(project, entries, Order::OldestFirst, &mut |run| {
                Ok(out.write_all(&table_csv::lines(BENCHMARKS, &selection.benchmark_rows(run)))?)
            })
        }
        Form::LongCsv => {
            let mut writer = values_csv::Writer::default();
            out.write_all(&values_csv::header())?;
            selection.pass(project, entries, Order::NewestFirst, &mut |run| {
                Ok(out.write_all(&writer.lines(&selection.value_rows(run)))?)
            })
        }
        Form::JsonLines => selection.pass(project, entries, Order::OldestFirst, &mut |run| {
            Ok(out.write_all(&json_lines::lines(&selection.value_rows(run)))?)
        }),
        Form::OpenMetrics => {
            let mut newest = openmetrics::Newest::default();
            let runs = selection.pass(project, entries, Order::OldestFirst, &mut |run| {
                newest.take(&selection.value_rows(run));
                Ok(())
            })?;
            out.write_all(newest.text().as_bytes())?;
            Ok(runs)
        }
    }
}
