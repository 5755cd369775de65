//! `sprag history cache`: decodes what the cache does not hold yet, as ahead of a job that must be quick.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;

use crate::commands::project::Project;
use crate::commands::text::count;
use crate::commands::{Exit, study};
use sprag_analysis::frame::Frame;
use sprag_history as history;

pub(super) fn run(folder: &Path, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let study::Loaded { facts, runs } = study::load(&project, store)?;
    let line = history::commit_line(store, None).context("cannot read the commits")?;
    let frame = Frame::from_decoded(&runs, &line).context("cannot build the frame")?;
    let (n_runs, n_values, n_series) = (runs.heads().len(), runs.n_values(), frame.n_series());
    writeln!(out, "{}, {} in {n_series} series", count(n_runs, "run"), count(n_values, "value"))?;
    if !facts.quarantined.is_empty() {
        writeln!(out, "{} quarantined", count(facts.quarantined.len(), "record"))?;
    }
    match sprag_pipeline::run_cache::kept(&project) {
        Some((files, bytes)) => {
            writeln!(out, "kept in {} of {bytes} bytes under `.sprag/cache`", count(files, "file"))?;
        }
        None => writeln!(out, "no cache is kept")?,
    }
    Ok(Exit::Done)
}
