//! `sprag baseline emit`: takes the values of a run as what later runs are held against.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;

use super::choose::{self, Chosen};
use super::project::{Project, read_baseline, write_whole};
use super::{Advice, Exit, bounded, seed_gate};
use crate::cli::BaselineEmitArgs;
use crate::config::Tolerance;
use crate::model::baseline::{Baseline, BaselineError, BaselineMetric, SCHEMA_VERSION};
use crate::model::record::MAX_RECORD_BYTES;
use crate::model::run::{RecordedRun, RunStatus};

pub(super) fn emit(folder: &Path, args: &BaselineEmitArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if let Some(exit) = seed_gate::emit(folder, args, out)? {
        return Ok(exit);
    }
    let project = Project::open(folder)?;
    let run_file = args.run.as_ref().map(|path| folder.join(path));
    if project.is_bare {
        return Err(Advice {
            message: "a bare repository has no working tree to put a baseline in".to_owned(),
            hint: "take the baseline in a clone, and push it".to_owned(),
        }
        .into());
    }
    let chosen = choose::choose(&project, &args.suites, run_file.as_deref())?;
    let mut written = 0;
    for one in &chosen {
        let recorded = match one {
            Chosen::Run(recorded) => recorded,
            Chosen::Nothing { suite, .. } => {
                super::warn(&format!("the suite `{suite}` has no run of this machine at HEAD: no baseline of it"));
                continue;
            }
        };
        let run = &recorded.run;
        if run.status != RunStatus::Ok {
            let reason = run.reason.as_deref().unwrap_or("no reason given");
            super::warn(&format!("the suite `{}` was {} ({reason}): no baseline of it", run.suite, run.status.word()));
            continue;
        }
        for measurement in run.measurements.iter().filter(|one| one.failure.is_some()) {
            super::warn(&format!("`{}` failed and is left out", measurement.benchmark));
        }
        for reason in &run.quality.reasons {
            super::warn(&format!("the run is rough: {reason}"));
        }
        if run.commit.as_ref().is_none_or(|commit| commit.dirty) {
            super::warn("the run measured files that no commit holds; nobody can build this baseline again");
        }
        let baseline = baseline_of(recorded, project.config.rules.tolerance, &args.notes);
        if baseline.metrics.is_empty() {
            super::warn(&format!("the run of `{}` has nothing to judge: no baseline of it", run.suite));
            continue;
        }
        let path = Baseline::path(&run.suite, &run.machine.class);
        if run.is_partial() {
            refuse_to_shrink(&project.root, &path, &baseline)?;
            super::warn("the run was asked for some benchmarks only; the baseline holds no others");
        }
        if let Some(archived) = archive(&project.root, &path)? {
            writeln!(out, "archived {archived}")?;
        }
        let count = match baseline.metrics.len() {
            1 => "1 metric".to_owned(),
            count => format!("{count} metrics"),
        };
        write_whole(&project.root.join(&path), baseline.to_json().as_bytes())?;
        writeln!(out, "wrote {path}: {count} of {} on {}", run.suite, run.machine.name)?;
        writeln!(out, "commit it, so that others are held to it: git add {path}")?;
        written += 1;
    }
    Ok(if written > 0 { Exit::Done } else { Exit::NotMeasured })
}

fn baseline_of(recorded: &RecordedRun, tolerance: Tolerance, notes: &str) -> Baseline {
    let run = &recorded.run;
    let metrics: BTreeMap<String, BaselineMetric> = run
        .measurements
        .iter()
        .filter_map(|measurement| {
            let estimate = measurement.judged().filter(|estimate| estimate.value > 0.0)?;
            let metric = BaselineMetric {
                value: estimate.value,
                unit: estimate.metric.unit,
                better: estimate.metric.better,
                max_regression_ratio: tolerance.ratio,
                max_regression_abs: tolerance.abs,
            };
            Some((Baseline::key(&measurement.benchmark.id(), &estimate.metric.name), metric))
        })
        .collect();
    Baseline {
        schema_version: SCHEMA_VERSION,
        suite: run.suite.clone(),
        machine_class: run.machine.class.clone(),
        environment: run.environment.clone(),
        commit: run.commit.as_ref().map(|commit| commit.sha.clone()),
        run: recorded.id.clone(),
        timestamp_utc: run.timestamp,
        required_status: RunStatus::Ok,
        notes: notes.to_owned(),
        metrics,
    }
}

/// Fails where a run of some benchmarks only would take metrics out of the baseline that lies there.
fn refuse_to_shrink(root: &Path, path: &str, new: &Baseline) -> anyhow::Result<()> {
    // One that cannot be read is never replaced; that is said where it would be.
    let Ok(old) = read_baseline(&root.join(path)) else { return Ok(()) };
    let lost = old.metrics.keys().filter(|key| !new.metrics.contains_key(*key)).count();
    if lost == 0 {
        return Ok(());
    }
    Err(Advice {
        message: format!(
            "the run is of some benchmarks only, and `{path}` holds {lost} {} that it did not measure",
            if lost == 1 { "metric" } else { "metrics" }
        ),
        hint: "take the baseline from a run of the whole suite, or remove the file first to do without them".to_owned(),
    }
    .into())
}

/// Copies the baseline that is about to be replaced to `baselines/archive/`, under the run it was taken from.
fn archive(root: &Path, path: &str) -> anyhow::Result<Option<String>> {
    let old = root.join(path);
    let bytes = match bounded::read(&old, MAX_RECORD_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", old.display())),
    };
    let baseline = match Baseline::from_json(&bytes) {
        Ok(baseline) => baseline,
        Err(error @ BaselineError::Newer(_)) => {
            let message = format!("`{path}` {error}, so it is not replaced");
            return Err(Advice { message, hint: "use the newer sprag, or move the file away".to_owned() }.into());
        }
        Err(_) => {
            let message = format!("`{path}` is no baseline of ours, so it is not replaced");
            return Err(Advice { message, hint: "move it away or remove it".to_owned() }.into());
        }
    };
    let stem = path.trim_start_matches("baselines/").trim_end_matches(".json");
    let taken = baseline.timestamp_utc.format("%Y%m%dT%H%M%SZ");
    let archived = format!("baselines/archive/{stem}.{taken}-{}.json", baseline.run.get(..8).unwrap_or(&baseline.run));
    write_whole(&root.join(&archived), &bytes)?;
    Ok(Some(archived))
}
