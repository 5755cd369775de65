//! Imports results of other tools: reads, selects new runs, converts in parallel, records, and prints a summary.

pub mod convert;
pub mod source;
mod plan;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use chrono::NaiveDate;
use rayon::prelude::*;

use self::plan::{Plan, Planned};
use crate::error::WithContext as _;
use crate::options::span;
use crate::project::Project;
use crate::study;
use crate::text::{branch as branch_name, count, note, printable, warn};
use sprag_history::{self as history, Record, Store};
use sprag_measure::clock;
use sprag_model::{Benchmark, Imported, Run};

pub use crate::import::plan::ImportOptions;
pub use crate::import::source::foreign;

const MOST_NOTES: usize = 10;

/// Records nothing if any input is unreadable.
pub fn import(folder: &Path, options: &ImportOptions, out: &mut dyn Write) -> crate::Result<()> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let target = project.target()?;
    let heads = study::load(&project, store)?.runs;
    let time = options.time.as_deref().map(|text| span("--time", text)).transpose()?.map(|(first, _)| first);
    let mut plan = Plan::new(options, store, time, heads.heads())?;
    drop(heads);
    let mut converted = Converted::new(store, !options.dry_run);
    for path in &options.paths {
        let path = folder.join(path);
        let outputs = source::read(&path, options.max_bytes.unwrap_or(source::MOST_BYTES))?;
        let (format, outputs) = source::format(&path, outputs, options.format.as_deref())?;
        let mut fault = None;
        let read = format.read_in_parts(&outputs, &mut |part| {
            print_notes(&part, options.better.is_some());
            if fault.is_none() {
                fault = plan.take(format, part).and_then(|runs| converted.take(runs)).err();
            }
        });
        fault.map_or(Ok(()), Err)?;
        read.with_context(|| format!("cannot import `{}` as {}", path.display(), format.name))?;
    }
    plan.refuse_one_commit()?;
    plan.refuse_future()?;
    plan.note_assumptions();
    if options.better.is_some() && plan.present > 0 {
        note("`--better` changes nothing of runs imported before; `--suite` records them again under another name");
    }
    converted.print(plan.present, options.dry_run, out)?;
    if converted.records.is_empty() {
        return Ok(());
    }
    let appended = history::append(store, &target, &converted.records, clock::now()).context("nothing was imported")?;
    appended.warnings.iter().for_each(|warning| warn(warning));
    let branch = branch_name(&appended.reference);
    writeln!(out, "recorded {} on {}", count(appended.added.len(), "run"), printable(branch))?;
    if !appended.added.is_empty() {
        writeln!(out, "Next: `sprag trend` lists what changed, and `sprag site --serve` shows it.")?;
    }
    Ok(())
}

/// Doubts about the direction are for those who do not give it.
fn print_notes(imported: &Imported, has_direction: bool) {
    for text in imported.doubts.iter().filter(|_| !has_direction).take(MOST_NOTES) {
        warn(&format!("{text}; `--better lower` or `--better higher` decides"));
    }
    for text in imported.notes.iter().take(MOST_NOTES) {
        note(text);
    }
    if imported.notes.len() > MOST_NOTES {
        note(&format!("{} more like these", imported.notes.len() - MOST_NOTES));
    }
}

const MOST_REASONS: usize = 5;

/// Runs that are converted at once.
const BATCH: usize = 256;

/// Records of so many bytes together are written before more are converted.
const MOST_UNWRITTEN: usize = 32 << 20;

/// The records of an import, and a summary of them.
struct Converted<'a> {
    store: &'a Store,
    is_recorded: bool,
    records: Vec<Record>,
    /// How many of them the repository holds already.
    written: usize,
    groups: BTreeMap<(String, String), Group>,
}

#[derive(Default)]
struct Group {
    runs: usize,
    commits: BTreeSet<String>,
    benchmarks: HashSet<Arc<Benchmark>>,
    failed: usize,
    reasons: Vec<String>,
    days: Option<(NaiveDate, NaiveDate)>,
}

impl<'a> Converted<'a> {
    fn new(store: &'a Store, is_recorded: bool) -> Converted<'a> {
        Converted { store, is_recorded, records: Vec::new(), written: 0, groups: BTreeMap::new() }
    }

    /// Has a batch of runs in memory, and of their records at most [`MOST_UNWRITTEN`] more.
    fn take(&mut self, planned: Vec<Planned>) -> crate::Result<()> {
        let mut planned = planned.into_iter();
        loop {
            let batch: Vec<Planned> = planned.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return Ok(());
            }
            let is_recorded = self.is_recorded;
            let convert = |planned: Planned| {
                let run = convert::run(&planned.source, planned.run, planned.place);
                (is_recorded.then(|| Record::from_run(&run)), run)
            };
            for (record, run) in batch.into_par_iter().map(convert).collect::<Vec<_>>() {
                self.records.extend(record);
                self.add(run);
            }
            let unwritten = &mut self.records[self.written..];
            if unwritten.iter().map(|record| record.bytes.len()).sum::<usize>() > MOST_UNWRITTEN {
                history::store_blobs(self.store, unwritten).context("nothing was imported")?;
                self.written = self.records.len();
            }
        }
    }

    fn add(&mut self, run: Run) {
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

    /// One line a suite and machine.
    fn print(&self, present: usize, dry: bool, out: &mut dyn Write) -> crate::Result<()> {
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
