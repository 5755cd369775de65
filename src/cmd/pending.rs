//! Recording without loss: a finished run lies under `.sprag/pending/` until the history has it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::project::{Project, write_whole};
use crate::history::{self, Record};
use crate::measure::clock;
use crate::model::run::Run;

/// Keeps the runs, commits them to the history together with what an earlier try left, and lets go of them.
///
/// # Errors
/// When the history cannot take them; their files then stay under `.sprag/pending/` and the error names the folder.
pub(super) fn record(project: &Project, runs: &[Run]) -> anyhow::Result<()> {
    let folder = project.private_folder()?.join("pending");
    let mut files = Vec::new();
    for run in runs {
        let (_, path, bytes) = run.to_record();
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        let file = folder.join(name);
        write_whole(&file, &bytes)?;
        files.push(file);
    }
    let kept = || {
        let count = files.len();
        let runs = if count == 1 { "the run is".to_owned() } else { format!("the {count} runs are") };
        format!("{runs} not recorded; kept in `{}` for the next try", folder.display())
    };
    let pending = pending_runs(&folder)?;
    let store = project.store().with_context(kept)?;
    let target = history::target(store, project.config.history.reference.as_deref()).with_context(kept)?;
    let records: Vec<Record> = pending.iter().map(|(_, run)| Record::of(run)).collect();
    let appended = history::append(store, &target, &records, clock::now()).with_context(kept)?;
    for warning in &appended.warnings {
        super::warn(warning);
    }
    for (file, _) in &pending {
        // The history has it; a file that stays is offered again and found to be there already.
        let _ = fs::remove_file(file);
    }
    let earlier = pending.len().saturating_sub(runs.len());
    let kept = if earlier > 0 { format!(" ({earlier} kept from an earlier try)") } else { String::new() };
    let branch = appended.reference.trim_start_matches("refs/heads/");
    let count = appended.added.len();
    eprintln!("recorded {count} {}{kept} on {branch}", if count == 1 { "run" } else { "runs" });
    Ok(())
}

/// Warns before minutes of measuring where the history will not take the runs; they will be kept.
///
/// # Errors
/// When there is no repository at all, or none that tells which commit is measured, so that nothing can be recorded.
pub(super) fn foretell(project: &Project) -> anyhow::Result<()> {
    let store = project.store()?;
    history::measured_commit(store).context("cannot tell which commit would be measured")?;
    let target = history::target(store, project.config.history.reference.as_deref());
    if let Err(error) = target.and_then(|_| history::check_writable(store)) {
        super::warn(&format!("{error}; the runs will be kept, not recorded"));
        if let Some(hint) = error.hint() {
            eprintln!("hint: {hint}");
        }
    }
    Ok(())
}

/// The run files that wait, by name; what is no record stays where it is, with a warning.
fn pending_runs(folder: &Path) -> anyhow::Result<Vec<(PathBuf, Run)>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let mut runs = Vec::new();
    for file in files {
        let bytes = fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        match Run::from_json(&bytes) {
            Ok((_, run)) => runs.push((file, run)),
            Err(error) => super::warn(&format!("`{}` {error}; left where it is", file.display())),
        }
    }
    Ok(runs)
}
