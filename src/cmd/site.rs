//! `sprag site`: renders what the history holds, without measuring.

use std::io::Write;
use std::path::Path;

use super::project::Project;
use super::text::count;
use super::{Exit, publish, study};
use crate::cli::SiteArgs;

pub(super) fn run(folder: &Path, args: &SiteArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    // A relative `--out` counts from where the user is, a relative setting from the root of the project.
    let site_folder = args.out.as_ref().map(|path| folder.join(path));
    publish::check(&project, site_folder.as_deref())?;
    let study = study::study(&project)?;
    let site = publish::publish(&project, &study, site_folder.as_deref())?;
    writeln!(
        out,
        "{}, {} series: {}",
        count(study.heads.len(), "run"),
        study.analysis.series.len(),
        site.join("index.html").display()
    )?;
    Ok(Exit::Done)
}
