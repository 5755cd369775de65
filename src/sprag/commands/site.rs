//! `sprag site`: renders the history without measuring, checks a site, and shows it to a browser on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::cli::SiteArgs;
use crate::commands::serve;
use sprag_pipeline::dataset::Opened;
use sprag_pipeline::error::Exit;
use sprag_pipeline::project::Project;
use sprag_pipeline::text::{self, count};
use sprag_pipeline::{Result, publish, study};

pub(super) fn run(folder: &Path, args: &SiteArgs, out: &mut dyn Write) -> Result<Exit> {
    let project = Project::open(folder)?;
    // `--out` counts from the user's folder, the setting from the root of the project.
    let site_folder = args.out.as_ref().map(|path| folder.join(path));
    if args.check {
        return check(project, site_folder.as_deref(), out);
    }
    publish::check(&project, site_folder.as_deref())?;
    let mut study = study::study(&project)?;
    let site = match &args.dataset {
        None => publish::publish(&project, &mut study, site_folder.as_deref())?,
        Some(dataset) => {
            let from: Vec<PathBuf> = args.from.iter().map(|path| folder.join(path)).collect();
            let trend = Opened::open(&folder.join(dataset))?.trend(&project, &study, &from)?;
            publish::publish_trend(&project, &mut study, trend, site_folder.as_deref())?
        }
    };
    writeln!(
        out,
        "{}, {} series: {}",
        count(study.heads.len(), "run"),
        study.analysis.series.len(),
        site.join("index.html").display()
    )?;
    // Freeing a million points before the process ends would only take time.
    std::mem::forget(study);
    if args.serve {
        serve::serve(&site, args.port, args.open, out)?;
    }
    Ok(Exit::Done)
}

const MOST_NAMED: usize = 20;

/// Compares the site with a rebuild that uses no cache.
fn check(mut project: Project, folder: Option<&Path>, out: &mut dyn Write) -> Result<Exit> {
    project.has_cache = false;
    let mut study = study::study(&project)?;
    let differences = publish::differences(&project, &mut study, folder)?;
    if differences.is_empty() {
        writeln!(out, "the site equals a clean rebuild")?;
        return Ok(Exit::Done);
    }
    for difference in differences.iter().take(MOST_NAMED) {
        writeln!(out, "{}", text::printable(difference))?;
    }
    if differences.len() > MOST_NAMED {
        writeln!(out, "and {} more", differences.len() - MOST_NAMED)?;
    }
    let files = count(differences.len(), "file");
    writeln!(out, "the site differs from a clean rebuild in {files}; `sprag site` renders it again")?;
    Ok(Exit::Failed)
}
