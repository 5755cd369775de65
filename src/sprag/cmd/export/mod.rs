//! `sprag export`: the recorded history as Parquet, CSV, JSON Lines or OpenMetrics, for other people's tools.

pub(super) mod downloads;
mod folders;
mod passing;
mod selection;
mod texts;

use std::io::Write;
use std::path::Path;

use super::Exit;
use super::project::Project;
use crate::cli::ExportCommand;

use self::texts::Form;

pub(super) fn run(folder: &Path, command: &ExportCommand, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    match command {
        ExportCommand::Parquet(args) => folders::write(&project, &args.selection, &folder.join(&args.out), out),
        ExportCommand::Csv(args) => {
            let form = if args.long { Form::LongCsv } else { Form::Csv };
            texts::write(&project, form, folder, &args.text, out)
        }
        ExportCommand::Jsonl(args) => texts::write(&project, Form::JsonLines, folder, args, out),
        ExportCommand::Openmetrics(args) => texts::write(&project, Form::OpenMetrics, folder, args, out),
    }
}
