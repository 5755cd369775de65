//! Imports results of other tools: reads, selects new runs, converts in parallel, records, and prints a summary.

pub mod word;
pub mod convert;
pub mod source;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, SubsecRound as _, TimeDelta, Utc};
use rayon::prelude::*;

use crate::error::Context as _;
use crate::import::convert::{NO_MACHINE, Place, Source};
use crate::options::span;
use crate::project::Project;
use crate::text::{branch as branch_name, count, note, printable, short, warn};
use crate::{Advice, refuse, study};
use sprag_formats::Format;
use sprag_history::{self as history, HistoryError, Record, Store};
use sprag_measure::clock;
use sprag_model::benchmark::Benchmark;
use sprag_model::commit::Commit;
use sprag_model::environment::Machine;
use sprag_model::head::RunHead;
use sprag_model::imported::{Imported, ImportedRun};
use sprag_model::record::YEARS;
use sprag_model::run::{IMPORT, Run};

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
    let branch = branch_name(&appended.reference);
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

const MOST_REASONS: usize = 5;

/// Runs that are converted at once.
const BATCH: usize = 256;

#[derive(Default)]
pub(super) struct Converted {
    pub records: Vec<Record>,
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

impl Converted {
    /// Holds a batch of runs in memory, and all records if `recorded`.
    pub(super) fn new(planned: Vec<Planned>, recorded: bool) -> Converted {
        let (mut converted, mut planned) = (Converted::default(), planned.into_iter());
        loop {
            let batch: Vec<Planned> = planned.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return converted;
            }
            let convert = |planned: Planned| {
                let run = convert::run(&planned.source, planned.run, planned.place);
                (recorded.then(|| Record::from_run(&run)), run)
            };
            for (record, run) in batch.into_par_iter().map(convert).collect::<Vec<_>>() {
                converted.records.extend(record);
                converted.take(run);
            }
        }
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

    /// One line a suite and machine.
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

/// The value of `--commit` for no commit.
const NO_COMMIT: &str = "none";

pub struct ImportOptions {
    pub paths: Vec<PathBuf>,
    pub format: Option<String>,
    pub suite: Option<String>,
    pub machine: Option<String>,
    pub commit: Option<String>,
    pub time: Option<String>,
    pub dry_run: bool,
    pub max_bytes: Option<u64>,
}

pub(super) struct Planned {
    pub source: Arc<Source>,
    pub run: ImportedRun,
    pub place: Place,
}

impl Planned {
    fn resolved(&self) -> Option<(&str, &str)> {
        let named = self.run.commit.as_ref().filter(|named| named.named_at.is_some())?;
        Some((&named.sha, &self.place.commit.as_ref()?.sha))
    }
}

pub(super) struct Plan<'a> {
    options: &'a ImportOptions,
    store: &'a Store,
    /// For runs without a time in the source.
    time: Option<DateTime<Utc>>,
    /// The commit of runs whose source names none.
    head: Option<Commit>,
    is_head_used: bool,
    commits: BTreeMap<String, Option<Commit>>,
    earlier: EarlierImports,
    pub runs: Vec<Planned>,
    pub present: usize,
    odd_times: usize,
    cut_short: usize,
}

struct EarlierImports {
    imports: BTreeSet<Identity>,
    suites: BTreeMap<String, String>,
    times: BTreeMap<(String, String, Option<String>), BTreeSet<DateTime<Utc>>>,
}

impl EarlierImports {
    fn new(heads: &[RunHead]) -> EarlierImports {
        let mut earlier = EarlierImports { imports: BTreeSet::new(), suites: BTreeMap::new(), times: BTreeMap::new() };
        for head in heads {
            let noted = |key: &str| head.config.get(IMPORT).and_then(|import| import.get(key)?.as_str());
            earlier.name(&head.suite, noted("suite").unwrap_or(&head.suite));
            let commit = head.commit.as_ref().map(|commit| commit.sha.clone());
            let (suite, machine) = (head.suite.clone(), head.machine.id.clone());
            let times = earlier.times.entry((suite.clone(), machine.clone(), commit.clone())).or_default();
            times.insert(head.timestamp);
            if let Some(digest) = noted("sha256") {
                earlier.imports.insert(Identity { suite, digest: digest.to_owned(), machine, commit });
            }
        }
        earlier
    }

    fn name(&mut self, suite: &str, name: &str) {
        self.suites.entry(suite.to_owned()).or_insert_with(|| name.to_owned());
    }
}

/// The commit is part of it: exact counts may be the same at two commits.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    suite: String,
    digest: String,
    machine: String,
    commit: Option<String>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        options: &'a ImportOptions,
        store: &'a Store,
        time: Option<DateTime<Utc>>,
        heads: &[RunHead],
    ) -> crate::Result<Plan<'a>> {
        let head = match options.commit.as_deref() {
            Some(NO_COMMIT) => None,
            Some(revision) => history::commit_at(store, revision)?,
            None => history::measured_commit(store)?,
        };
        Ok(Plan {
            options,
            store,
            time,
            head,
            is_head_used: false,
            commits: BTreeMap::new(),
            earlier: EarlierImports::new(heads),
            runs: Vec::new(),
            present: 0,
            odd_times: 0,
            cut_short: 0,
        })
    }

    pub(super) fn take(&mut self, format: &'static Format, imported: Imported) -> crate::Result<()> {
        let Imported { tool, tool_version, runs, .. } = imported;
        let several = runs.iter().map(|run| &run.suite).collect::<BTreeSet<_>>().len() > 1;
        let source = Arc::new(Source { format: format.name, tool, tool_version });
        for run in runs {
            let suite = self.suite(&run, &source.tool, several);
            let (commit, commit_time) = self.commit(&run)?;
            self.odd_times += run.time.iter().filter(|time| !convert::is_recordable(time)).count();
            let mut times = [run.time, self.time, commit_time].into_iter().flatten();
            let time = times.find(convert::is_recordable).ok_or_else(|| {
                Advice::new(
                    "the source does not tell when it was measured, nor of which commit",
                    "give the time with `--time`, such as 2026-11-21T12:00:00Z, or the commit with `--commit`",
                )
            })?;
            let machine = self.options.machine.clone().or_else(|| run.machine.clone());
            let machine = machine.unwrap_or_else(|| NO_MACHINE.to_owned());
            let identity = Identity {
                suite: suite.clone(),
                digest: run.digest.clone(),
                machine: Machine::named(&machine, NO_MACHINE).id,
                commit: commit.as_ref().map(|commit| commit.sha.clone()),
            };
            self.earlier.name(&suite, run.suite.as_deref().unwrap_or(&suite));
            let own_time = run.time.is_some_and(|own| own == time);
            if !self.earlier.imports.contains(&identity) {
                let key = (identity.suite.clone(), identity.machine.clone(), identity.commit.clone());
                let times = self.earlier.times.entry(key).or_default();
                let second = time.trunc_subsecs(0);
                let time = if own_time { second } else { first_free(times, second) };
                times.insert(time);
                self.earlier.imports.insert(identity);
                let place = Place { suite, commit, machine, time };
                self.runs.push(Planned { source: Arc::clone(&source), run, place });
            } else {
                self.present += 1;
            }
        }
        Ok(())
    }

    /// The given name, with that of the source appended if it has several; else the source's; else the tool's.
    fn suite(&self, run: &ImportedRun, tool: &str, several: bool) -> String {
        let named = run.suite.as_deref();
        let name = match (self.options.suite.as_deref(), named) {
            (Some(given), Some(named)) if several => format!("{given} {named}"),
            (Some(given), _) => given.to_owned(),
            (None, named) => named.unwrap_or(tool).to_owned(),
        };
        let source = named.map_or_else(|| name.clone(), str::to_owned);
        let others = |word: &str| self.earlier.suites.get(word).is_some_and(|other| *other != source && *other != word);
        word::suite(&name, &others)
    }

    fn use_head(&mut self) -> Option<Commit> {
        self.is_head_used = true;
        self.head.clone()
    }

    fn commit(&mut self, run: &ImportedRun) -> crate::Result<(Option<Commit>, Option<DateTime<Utc>>)> {
        let Some(named) = &run.commit else {
            let commit = self.use_head();
            let time = commit.as_ref().map(|commit| commit.commit_time);
            return Ok((commit, time));
        };
        let time = named.time.or(run.time).or(self.time);
        // The repository knows the commit better than the source.
        let local = match self.commits.get(&named.sha) {
            Some(local) => local.clone(),
            None => {
                let local = match &named.named_at {
                    Some(place) => Some(resolved(self.store, &named.sha, place)?),
                    None => history::find_commit(self.store, &named.sha)?,
                };
                self.commits.insert(named.sha.clone(), local.clone());
                local
            }
        };
        if let Some(local) = local {
            let time = local.commit_time;
            return Ok((Some(Commit { branch: named.branch.clone(), ..local }), Some(time)));
        }
        if let Some(described) = time.and_then(|time| convert::described(named, time)) {
            return Ok((Some(described), time));
        }
        // A short id of an absent commit names nothing.
        if self.options.commit.is_some() {
            let commit = self.use_head();
            let time = commit.as_ref().map(|commit| commit.commit_time).or(time);
            return Ok((commit, time));
        }
        self.cut_short += 1;
        Ok((None, time))
    }

    pub(super) fn note_assumptions(&self) {
        let names: BTreeMap<&str, &str> = self.runs.iter().filter_map(Planned::resolved).collect();
        if let Some((name, sha)) = names.first_key_value() {
            let commit = short(sha, 12);
            let others = match names.len() - 1 {
                0 => String::new(),
                others => format!(", and {} more", count(others, "name")),
            };
            note(&format!("the source names commits by what they are called here: `{name}` is {commit}{others}"));
        }
        match (&self.options.commit, &self.head) {
            _ if !self.is_head_used => {}
            (Some(revision), Some(commit)) if !commit.sha.starts_with(revision.as_str()) => {
                note(&format!("`{}` is {}", printable(revision), commit.short()));
            }
            (Some(_), _) => {}
            (None, Some(commit)) => note(&format!(
                "the source names no commit: taken as measured at {} (HEAD); `--commit` names another, or `none`",
                commit.short()
            )),
            (None, None) => {
                note("the source names no commit, and there is none to take it for; `--commit` names one");
            }
        }
        if self.cut_short > 0 {
            note(&format!(
                "the source names the commit of {} by the start of an id that is not in this repository. No commit is \
                 recorded; `git fetch` may bring it, or `--commit` names one",
                count(self.cut_short, "run")
            ));
        }
        if self.odd_times > 0 {
            let (runs, first, last) = (count(self.odd_times, "run"), YEARS.start(), YEARS.end());
            note(&format!(
                "the source tells of {runs} a time outside the years {first} to {last}, which does not count"
            ));
        }
        let soon = clock::now() + TimeDelta::days(1);
        let future = self.runs.iter().filter(|planned| planned.place.time > soon).count();
        if future > 0 {
            warn(&format!(
                "{} dated in the future; is the clock of that machine right?",
                match future {
                    1 => "1 run is".to_owned(),
                    many => format!("{many} runs are"),
                }
            ));
        }
        let unknown = self.runs.iter().any(|planned| planned.place.machine == NO_MACHINE);
        if unknown && self.options.machine.is_none() {
            note(&format!("the source names no machine: called `{NO_MACHINE}`; `--machine` gives it a name"));
        }
    }
}

/// The next free second: a later import is newer, even if all runs have the time of the commit.
fn first_free(taken: &BTreeSet<DateTime<Utc>>, second: DateTime<Utc>) -> DateTime<Utc> {
    let mut free = second;
    for _ in taken.range(second..).zip(0..).take_while(|(time, later)| **time == second + TimeDelta::seconds(*later)) {
        free += TimeDelta::seconds(1);
    }
    free
}

fn resolved(store: &Store, name: &str, place: &str) -> crate::Result<Commit> {
    match history::commit_at(store, name) {
        Ok(Some(commit)) => Ok(commit),
        Ok(None) | Err(HistoryError::Revision { .. }) => refuse(
            format!("{place}: `{}` names no commit of this repository", printable(name)),
            "write the id of the commit there, seven hexadecimal digits or more, or a tag or branch that is \
                   here (`git fetch --tags`); or nothing, and give `--commit`",
        ),
        Err(error) => Err(error.into()),
    }
}
