//! `sprag import` and `sprag export`: results of other tools in, the history for other programs out.

use std::io::Write;
use std::path::Path;

use crate::cli::{ExportCommand, ImportArgs, SelectionArgs};
use sprag_formats::registry::FORMATS;
use sprag_pipeline::Result;
use sprag_pipeline::dataset::{self, Exported, SeriesExport};
use sprag_pipeline::error::Exit;
use sprag_pipeline::export::{self, Selected, Syntax};
use sprag_pipeline::import::ImportOptions;
use sprag_pipeline::project::Project;
use sprag_pipeline::text::{columns, count};

pub(super) fn import(folder: &Path, args: ImportArgs, out: &mut dyn Write) -> Result<Exit> {
    if args.list {
        let rows: Vec<Vec<String>> =
            FORMATS.iter().map(|format| vec![format.name.to_owned(), format.title.to_owned()]).collect();
        write!(out, "{}", columns(&rows, &[]))?;
        return Ok(Exit::Done);
    }
    let ImportArgs { paths, format, suite, machine, commit, time, better, dry_run, max_bytes, allow_future, list: _ } =
        args;
    let options =
        ImportOptions { paths, format, suite, machine, commit, time, better, dry_run, max_bytes, allow_future };
    sprag_pipeline::import::import(folder, &options, out)?;
    Ok(Exit::Done)
}

pub(super) fn export(folder: &Path, command: ExportCommand, out: &mut dyn Write) -> Result<Exit> {
    let project = Project::open(folder)?;
    let (form, args) = match command {
        ExportCommand::Parquet { out: place, selection } => {
            let place = folder.join(place);
            let (runs, files) = export::write_parquet(&project, &selected(selection), &place)?;
            writeln!(out, "wrote {}: {} in {}", place.display(), count(runs, "run"), count(files, "file"))?;
            return Ok(Exit::Done);
        }
        ExportCommand::Series { out: place, since_last, buckets, days, detection } => {
            let place = folder.join(place);
            let detection = super::trend::detection(&detection);
            let options = SeriesExport { folder: place.clone(), since_last, buckets, days, detection };
            let Exported { points, new_points, series, files } = dataset::export(&project, &options)?;
            let new = if new_points < points { format!(", {new_points} of them new") } else { String::new() };
            let (points, files) = (count(points, "point"), count(files, "file"));
            writeln!(out, "wrote {}: {points} of {series} series in {files}{new}", place.display())?;
            return Ok(Exit::Done);
        }
        ExportCommand::Csv { long, text } => (if long { Syntax::LongCsv } else { Syntax::Csv }, text),
        ExportCommand::Jsonl(args) => (Syntax::JsonLines, args),
        ExportCommand::Openmetrics(args) => (Syntax::OpenMetrics, args),
    };
    let file = (args.out.as_os_str() != "-").then(|| folder.join(&args.out));
    let runs = export::write_text(&project, form, &selected(args.selection), file.as_deref(), out)?;
    if let Some(file) = file {
        writeln!(out, "wrote {}: {}", file.display(), count(runs, "run"))?;
    }
    Ok(Exit::Done)
}

fn selected(args: SelectionArgs) -> Selected {
    let SelectionArgs { suites, machine, since, until, metric } = args;
    Selected { suites, machine, since, until, metric }
}
