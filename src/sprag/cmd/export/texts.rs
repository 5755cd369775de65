//! Exports that are one text: CSV, JSON Lines, OpenMetrics.

use std::io::Write;
use std::path::Path;

use super::passing::Order;
use super::selection::Selection;
use crate::cli::ExportTextArgs;
use crate::cmd::Exit;
use crate::cmd::project::{Project, check_writable, write_whole_by};
use sprag_formats::{json_lines, openmetrics, table_csv, values_csv};
use sprag_history::Entry;
use sprag_model::flat::BENCHMARKS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One line a run and benchmark.
    Csv,
    /// One line a commit, benchmark and metric.
    LongCsv,
    /// One object a run, benchmark and metric.
    JsonLines,
    /// The newest value of each series.
    OpenMetrics,
}

/// Writes the selected part of the history to standard output or to a file, which is whole or as it was.
pub(super) fn write(
    project: &Project,
    form: Form,
    folder: &Path,
    args: &ExportTextArgs,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let selection = Selection::of(&args.selection)?;
    let file = (args.out.as_os_str() != "-").then(|| folder.join(&args.out));
    if let Some(file) = &file {
        check_writable(file)?;
    }
    let entries = selection.list(project)?;
    let mut runs = 0;
    match file {
        None => runs = text(form, &selection, project, &entries, out)?,
        Some(file) => {
            write_whole_by(&file, &mut |file| {
                runs = text(form, &selection, project, &entries, file)?;
                Ok(())
            })?;
            writeln!(out, "wrote {}: {}", file.display(), crate::cmd::text::count(runs, "run"))?;
        }
    }
    selection.warn_of_nothing(runs);
    Ok(Exit::Done)
}

/// Writes the text, a run at a time; gives how many there were.
fn text(
    form: Form,
    selection: &Selection<'_>,
    project: &Project,
    entries: &[Entry],
    out: &mut dyn Write,
) -> anyhow::Result<usize> {
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
