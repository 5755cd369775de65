//! `sprag export`: the history as files for other programs.

use std::io::Write;
use std::path::Path;

use super::Exit;
use super::project::Project;
use super::text::count;
use crate::cli::{ExportCommand, ExportTextArgs, SelectionArgs};
use sprag_pipeline::export::{self, Form, Selected};

pub(super) fn run(folder: &Path, command: &ExportCommand, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    let (form, args) = match command {
        ExportCommand::Parquet(args) => {
            let place = folder.join(&args.out);
            let export::Exported { runs, files } = export::write_parquet(&project, &selected(&args.selection), &place)?;
            writeln!(out, "wrote {}: {} in {}", place.display(), count(runs, "run"), count(files, "file"))?;
            return Ok(Exit::Done);
        }
        ExportCommand::Csv(args) if args.long => (Form::LongCsv, &args.text),
        ExportCommand::Csv(args) => (Form::Csv, &args.text),
        ExportCommand::Jsonl(args) => (Form::JsonLines, args),
        ExportCommand::Openmetrics(args) => (Form::OpenMetrics, args),
    };
    text(&project, form, folder, args, out)
}

fn text(
    project: &Project,
    form: Form,
    folder: &Path,
    args: &ExportTextArgs,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let file = (args.out.as_os_str() != "-").then(|| folder.join(&args.out));
    let runs = export::write_text(project, form, &selected(&args.selection), file.as_deref(), out)?;
    if let Some(file) = file {
        writeln!(out, "wrote {}: {}", file.display(), count(runs, "run"))?;
    }
    Ok(Exit::Done)
}

fn selected(args: &SelectionArgs) -> Selected {
    let SelectionArgs { suites, machine, since, until, metric } = args;
    Selected {
        suites: suites.clone(),
        machine: machine.clone(),
        since: since.clone(),
        until: until.clone(),
        metric: metric.clone(),
    }
}
