//! `sprag demo`: a generated repository with planted changes, and its site.

use std::io::Write;
use std::path::Path;

use super::project::Project;
use super::{Exit, publish, study};
use crate::cli::DemoArgs;
use sprag_pipeline::demo::generate;

pub(super) fn run(folder: &Path, args: &DemoArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let folder = folder.join(&args.folder);
    let facts = generate(&folder, args.seed)?;
    let project = Project::open(&folder)?;
    let mut study = study::study(&project)?;
    let site = publish::publish(&project, &mut study, None)?;
    writeln!(out, "{} commits and {} runs in `{}`.", facts.commits, facts.runs, folder.display())?;
    writeln!(out, "\nPlanted, for you to find:")?;
    for sentence in &facts.planted {
        writeln!(out, "- {sentence}")?;
    }
    writeln!(out, "\nThe gate sees the regression: SPRAG_MACHINE=bench-xeon sprag -C {} check", folder.display())?;
    writeln!(out, "\nSite: {}", site.join("index.html").display())?;
    Ok(Exit::Done)
}
