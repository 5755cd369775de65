//! Imports what the user names: reads, converts on all processors, records, and tells what it came to.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use chrono::NaiveDate;
use rayon::prelude::*;

use super::plan::{ImportOptions, Plan, Planned};
use crate::error::Context as _;
use crate::import::{convert, source};
use crate::moment::span;
use crate::notices::{note, warn};
use crate::project::Project;
use crate::study;
use crate::text::{count, printable};
use sprag_history::{self as history, Record};
use sprag_measure::clock;
use sprag_model::benchmark::Benchmark;
use sprag_model::imported::Imported;
use sprag_model::run::Run;

/// How many notes of a source are printed; the rest is counted.
const MOST_NOTES: usize = 10;

/// Imports what the options name; nothing is recorded where any of it cannot be read.
pub fn import(folder: &Path, options: &ImportOptions, out: &mut dyn Write) -> crate::Result<()> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let target = history::target(store, project.config.history.reference.as_deref())?;
    let heads = study::load(&project, store)?.runs;
    let time = options.time.as_deref().map(|text| span("--time", text)).transpose()?.map(|(first, _)| first);
    let mut plan = Plan::new(options, store, time, heads.heads())?;
    drop(heads);
    let mut read = Vec::new();
    for path in &options.paths {
        let path = folder.join(path);
        let outputs = source::read(&path, options.max_bytes.unwrap_or(source::MOST_BYTES))?;
        let (format, outputs) = source::format(&path, outputs, options.format.as_deref())?;
        let imported =
            format.read(&outputs).with_context(|| format!("cannot import `{}` as {}", path.display(), format.name))?;
        print_notes(&imported);
        read.push((format, imported));
    }
    for (format, imported) in read {
        plan.take(format, imported)?;
    }
    plan.note_assumptions();
    let Plan { runs, present, .. } = plan;
    let converted = Converted::new(runs, !options.dry_run);
    converted.print(present, options.dry_run, out)?;
    if converted.records.is_empty() {
        return Ok(());
    }
    let appended = history::append(store, &target, &converted.records, clock::now()).context("nothing was imported")?;
    appended.warnings.iter().for_each(|warning| warn(warning));
    let branch = appended.reference.trim_start_matches("refs/heads/");
    writeln!(out, "recorded {} on {}", count(appended.added.len(), "run"), printable(branch))?;
    Ok(())
}

fn print_notes(imported: &Imported) {
    for text in imported.notes.iter().take(MOST_NOTES) {
        note(text);
    }
    if imported.notes.len() > MOST_NOTES {
        note(&format!("{} more like these", imported.notes.len() - MOST_NOTES));
    }
}

/// How many results without a value are named, of a suite on a machine.
const MOST_REASONS: usize = 5;

#[derive(Default)]
pub(super) struct Converted {
    /// The records; none where they were not asked for.
    pub records: Vec<Record>,
    /// By suite and machine.
    groups: BTreeMap<(String, String), Group>,
}

/// The runs of one suite on one machine.
#[derive(Default)]
struct Group {
    runs: usize,
    commits: BTreeSet<String>,
    benchmarks: HashSet<Arc<Benchmark>>,
    failed: usize,
    /// The first of those that failed, each with the reason.
    reasons: Vec<String>,
    days: Option<(NaiveDate, NaiveDate)>,
}

impl Converted {
    /// Converts the runs. Neither what was read of one nor what was made of it is kept longer than that takes, but for its
    /// record where `recorded`.
    pub(super) fn new(planned: Vec<Planned>, recorded: bool) -> Converted {
        let take = |mut converted: Converted, planned: Planned| {
            let run = convert::run(&planned.source, planned.run, planned.place);
            if recorded {
                converted.records.push(Record::from_run(&run));
            }
            converted.take(run);
            converted
        };
        planned.into_par_iter().fold(Converted::default, take).reduce(Converted::default, Converted::and)
    }

    fn take(&mut self, run: Run) {
        let group = self.groups.entry((run.suite, run.machine.name)).or_default();
        let day = run.timestamp.date_naive();
        group.runs += 1;
        group.commits.extend(run.commit.map(|commit| commit.sha));
        group.days = Some(group.days.map_or((day, day), |(first, last)| (first.min(day), last.max(day))));
        for measurement in run.measurements {
            if let Some(reason) = &measurement.failure {
                group.failed += 1;
                if group.reasons.len() < MOST_REASONS {
                    group.reasons.push(format!("`{}` has no value: {reason}", measurement.benchmark.id()));
                }
            }
            group.benchmarks.insert(measurement.benchmark);
        }
    }

    /// These and those behind them.
    fn and(mut self, mut later: Converted) -> Converted {
        self.records.append(&mut later.records);
        for (key, theirs) in later.groups {
            let group = self.groups.entry(key).or_default();
            group.runs += theirs.runs;
            group.commits.extend(theirs.commits);
            group.benchmarks.extend(theirs.benchmarks);
            group.failed += theirs.failed;
            group.reasons.extend(theirs.reasons);
            group.reasons.truncate(MOST_REASONS);
            group.days = match (group.days, theirs.days) {
                (Some((first, last)), Some((other, end))) => Some((first.min(other), last.max(end))),
                (one, other) => one.or(other),
            };
        }
        self
    }

    /// One line a suite and machine: how many runs, of when, with how many benchmarks.
    pub(super) fn print(&self, present: usize, dry: bool, out: &mut dyn Write) -> crate::Result<()> {
        for group in self.groups.values() {
            group.reasons.iter().for_each(|reason| note(&printable(reason)));
        }
        for ((suite, machine), group) in &self.groups {
            let (first, last) = group.days.unwrap_or_default();
            let when = if first == last { first.to_string() } else { format!("{first} to {last}") };
            let failed = match group.failed {
                0 => String::new(),
                failed => format!(", {} without a value", count(failed, "result")),
            };
            writeln!(
                out,
                "{}: {} of {} on {}, {when}, {}{failed}",
                printable(suite),
                count(group.runs, "run"),
                count(group.commits.len(), "commit"),
                printable(machine),
                count(group.benchmarks.len(), "benchmark"),
            )?;
        }
        if present > 0 {
            writeln!(out, "{} imported before", count(present, "run"))?;
        }
        if dry {
            writeln!(out, "nothing was recorded (--dry-run)")?;
        }
        Ok(())
    }
}
