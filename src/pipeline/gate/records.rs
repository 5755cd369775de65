//! The recorded runs that a gate reads, and the run that it judges by default: the newest of this machine at HEAD.
//!
//! The names of records tell suite, machine, commit and month; only what may matter is read.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::Advice;
use crate::config::{Suite, SuiteKind};
use crate::error::{Cause, Context as _};
use crate::project::Project;
use crate::text::{self, warn};
use sprag_analysis::session_noise;
use sprag_history::{self as history, Entry, Listing, Store};
use sprag_measure::{environment, gpu};
use sprag_model::commit::NO_COMMIT;
use sprag_model::environment::Machine;
use sprag_model::head::RunHead;
use sprag_model::run::{Quarantined, RecordedRun, Run, RunStatus};
use sprag_model::shard::{self, IncompleteRun};

pub struct Records<'p> {
    store: &'p Store,
    listing: Listing,
    left_out: RefCell<BTreeSet<(String, String)>>,
}

impl<'p> Records<'p> {
    pub fn open(project: &'p Project) -> crate::Result<Records<'p>> {
        let store = project.store()?;
        let source = project.source()?;
        let listing = history::list(store, &source).context("cannot read the history")?;
        Ok(Records { store, listing, left_out: RefCell::default() })
    }

    /// The whole runs of a commit that measured something, on any machine, oldest first.
    pub fn at(&self, suite: Option<&str>, commit: Option<&str>) -> crate::Result<Vec<RecordedRun>> {
        let short = commit.map_or(NO_COMMIT, |sha| text::short(sha, 12));
        let named = |one: &&Entry| one.commit() == short && suite.is_none_or(|suite| one.suite() == suite);
        let mut runs = self.read_sound(self.listing.entries.iter().filter(named).cloned().collect())?;
        runs.retain(|one| one.run.commit.as_ref().map(|commit| commit.sha.as_str()) == commit);
        let mut runs = whole(runs);
        // What was measured of changed files stands for the commit only where nothing else does.
        if runs.iter().any(|one| !is_dirty(&one.run)) {
            runs.retain(|one| !is_dirty(&one.run));
        }
        Ok(runs)
    }

    /// The records of a suite on a machine, by the eight digits of its id: a list a month, the newest month first.
    fn months(&self, suite: &str, machine: &str) -> Vec<Vec<Entry>> {
        let mut months: BTreeMap<(&str, &str), Vec<Entry>> = BTreeMap::new();
        for entry in self.listing.entries.iter().filter(|one| one.suite() == suite && one.machine() == machine) {
            months.entry(entry.month()).or_default().push(entry.clone());
        }
        months.into_values().rev().collect()
    }

    /// The newest whole run of a suite on a machine, by the eight digits of its id.
    pub fn newest(&self, suite: &str, machine: &str) -> crate::Result<Option<RecordedRun>> {
        for month in self.months(suite, machine) {
            if let Some(newest) = whole(self.read(month)?).pop() {
                return Ok(Some(newest));
            }
        }
        Ok(None)
    }

    /// The newest run of a suite on a machine that passes `fits`; damaged records are passed over. No month older than its own
    /// is read.
    pub fn newest_that(&self, suite: &str, machine: &str, fits: &dyn Fn(&Run) -> bool) -> Option<Run> {
        self.months(suite, text::short(machine, 8)).iter().find_map(|month| {
            let runs = history::read(self.store, month).ok()?.into_iter().flatten();
            let runs = runs.filter(|one| one.run.machine.id == machine && fits(&one.run));
            runs.max_by_key(|one| (one.run.timestamp, one.id.clone())).map(|one| one.run)
        })
    }

    /// The commits nearest to one, by its twelve digits, on either side of it that have a record which `keep` wants, and how
    /// far they are: the end of a hint, empty where there is none.
    pub fn near(&self, short: &str, keep: &dyn Fn(&Entry) -> bool) -> crate::Result<String> {
        let measured: BTreeSet<&str> = self.listing.entries.iter().filter(|one| keep(one)).map(Entry::commit).collect();
        let line = history::commit_line(self.store, None).context("cannot read the commits")?;
        let shas: Vec<&str> = line.commits.iter().map(|one| text::short(&one.sha, 12)).collect();
        let Some(place) = shas.iter().position(|sha| *sha == short) else { return Ok(String::new()) };
        let before = (0..place).rev().find(|at| measured.contains(shas[*at]));
        let after = (place + 1..shas.len()).find(|at| measured.contains(shas[*at]));
        let before = before.map(|at| format!("{} ({} before it)", shas[at], text::count(place - at, "commit")));
        let after = after.map(|at| format!("{} ({} after it)", shas[at], text::count(at - place, "commit")));
        let near: Vec<String> = before.into_iter().chain(after).collect();
        Ok(if near.is_empty() { String::new() } else { format!("; the nearest that has one: {}", near.join(", ")) })
    }

    /// The runs of the sessions that came before a time, on the machine and in the environment of `like`, oldest first;
    /// of those that `keep` wants as many sessions as a rule looks at.
    pub fn before(
        &self,
        like: &Run,
        time: DateTime<Utc>,
        keep: &dyn Fn(&Run) -> bool,
    ) -> crate::Result<Vec<RecordedRun>> {
        let last = (time.format("%Y").to_string(), time.format("%m").to_string());
        let mut found: Vec<RecordedRun> = Vec::new();
        for month in self.months(&like.suite, like.machine.short_id()) {
            if month.iter().any(|one| one.month() > (last.0.as_str(), last.1.as_str())) {
                continue;
            }
            found.extend(self.read(month)?);
            found.retain(|one| {
                let is_alike = one.run.machine.id == like.machine.id && one.run.timestamp < time;
                is_alike && !is_dirty(&one.run) && keep(&one.run)
            });
            // One more than counts, as the oldest may reach over the border of a month.
            if sessions(&found) > session_noise::MOST_SESSIONS {
                break;
            }
        }
        let mut runs = whole(found);
        while sessions(&runs) > session_noise::MOST_SESSIONS {
            runs.remove(0);
        }
        Ok(runs)
    }

    /// The records that can be read; of the others a warning is given, once.
    fn read(&self, entries: Vec<Entry>) -> crate::Result<Vec<RecordedRun>> {
        let mut runs = Vec::new();
        for (entry, record) in
            entries.iter().zip(history::read(self.store, &entries).context("cannot read the history")?)
        {
            match record {
                Ok(run) => runs.push(run),
                Err(bad) => {
                    let is_new = self.left_out.borrow_mut().insert((entry.suite().to_owned(), bad.path.clone()));
                    if is_new {
                        crate::text::warn(&format!("`{}` {}; quarantined", bad.path, bad.reason));
                    }
                }
            }
        }
        Ok(runs)
    }

    /// What speaks against numbers of a suite that rest on the sessions before: records that were left out.
    pub fn faults(&self, suite: &str) -> Option<String> {
        let left_out = self.left_out.borrow();
        let paths: Vec<&str> = left_out.iter().filter(|(of, _)| of == suite).map(|(_, path)| path.as_str()).collect();
        let records = text::count(paths.len(), "damaged record");
        (!paths.is_empty()).then(|| format!("{records} of the sessions before left out: {}", paths.join(", ")))
    }

    pub fn read_sound(&self, entries: Vec<Entry>) -> crate::Result<Vec<RecordedRun>> {
        let read = history::read(self.store, &entries).context("cannot read the history")?;
        let damaged = |bad: Quarantined| {
            let message = format!("`{}` {}", bad.path, bad.reason);
            let hint =
                "`sprag history fsck` tells all that is damaged; no verdict leaves out a record of what it judges"
                    .to_owned();
            Advice::new(message, hint).because(Cause::Damaged)
        };
        Ok(read.into_iter().collect::<Result<Vec<RecordedRun>, Quarantined>>().map_err(damaged)?)
    }

    pub fn listing(&self) -> &Listing {
        &self.listing
    }
}

fn is_dirty(run: &Run) -> bool {
    run.commit.as_ref().is_some_and(|commit| commit.dirty)
}

fn sessions(runs: &[RecordedRun]) -> usize {
    session_noise::sessions(&runs.iter().map(|one| (one.run.timestamp, 1.0)).collect::<Vec<_>>()).len()
}

/// The runs that are whole, sets of shards put together, oldest first; each bears the id of its newest record.
fn whole(runs: Vec<RecordedRun>) -> Vec<RecordedRun> {
    let heads: Vec<RunHead> = runs.iter().map(RunHead::new).collect();
    let mut found: Vec<RecordedRun> = shard::assemble(&heads)
        .whole
        .into_iter()
        .filter_map(|whole| {
            let RunHead { path, id, .. } = whole.newest();
            Some(RecordedRun { path: path.clone(), id: id.clone(), run: whole.run(&runs)?.into_owned() })
        })
        .filter(|one| one.run.status == RunStatus::Ok && !one.run.is_filtered())
        .collect();
    found.sort_by(|a, b| (a.run.timestamp, &a.id).cmp(&(b.run.timestamp, &b.id)));
    found
}

/// A suite that a gate was asked about: its run, or that it has none.
pub enum Chosen {
    Run(Box<RecordedRun>),
    Nothing { suite: String, machine_class: String, machine: String },
}

impl Chosen {
    /// The run, where there is one.
    pub fn run(&self) -> Option<&Run> {
        match self {
            Chosen::Run(recorded) => Some(&recorded.run),
            Chosen::Nothing { .. } => None,
        }
    }
}

/// What to judge: for each asked suite the newest whole run of this machine at HEAD. A complete set of shards is one whole
/// run; it bears the id of the newest of them. Where none has a run, the advice says why and what to do.
pub fn choose(
    project: &Project,
    records: &Records<'_>,
    suites: &[String],
) -> crate::Result<(Vec<Chosen>, Option<Advice>)> {
    let wanted = project.config.select(suites)?;
    let store = project.store()?;
    let listing = records.listing();
    listing.quarantined.iter().for_each(warn_of);
    let head = history::measured_commit(store)?.map(|commit| commit.sha);
    let name = project.machine_name();
    let (mut chosen, mut missing, mut filtered) = (Vec::new(), Vec::new(), Vec::new());
    let mut machines = Vec::new();
    let short = head.as_deref().map_or(NO_COMMIT, |sha| text::short(sha, 12));
    for (suite, settings) in wanted {
        let machine = machine_of(name.as_deref(), settings);
        // The names tell which records may be of this machine at this commit; no others are read.
        machines.push((suite, machine.short_id().to_owned()));
        let named = |one: &&Entry| one.suite() == suite && one.machine() == machine.short_id() && one.commit() == short;
        let entries: Vec<Entry> = listing.entries.iter().filter(named).cloned().collect();
        let mut runs = records.read_sound(entries)?;
        let fits = |one: &RecordedRun| {
            one.run.machine.id == machine.id && one.run.commit.as_ref().map(|commit| &commit.sha) == head.as_ref()
        };
        runs.retain(fits);
        let heads: Vec<RunHead> = runs.iter().map(RunHead::new).collect();
        let assembly = shard::assemble(&heads);
        let newest = assembly.whole.last();
        // An older set that was never finished is no news.
        let unfinished =
            assembly.incomplete.last().filter(|set| newest.is_none_or(|one| one.newest().timestamp < set.newest));
        if let Some(set) = unfinished {
            warn(&set.sentence());
        }
        let whole = newest.and_then(|whole| Some((whole.newest(), whole.run(&runs)?)));
        chosen.push(match whole {
            Some((RunHead { path, id, .. }, run)) => {
                let (path, id, run) = (path.clone(), id.clone(), run.into_owned());
                Chosen::Run(Box::new(RecordedRun { path, id, run }))
            }
            None => {
                missing.extend(unfinished.map(IncompleteRun::sentence));
                let some_only = runs.iter().filter(|one| one.run.is_filtered());
                filtered.extend(some_only.max_by_key(|one| (one.run.timestamp, &one.id)).map(filtered_words));
                Chosen::Nothing {
                    suite: suite.to_owned(),
                    machine: machine.short_id().to_owned(),
                    machine_class: machine.class,
                }
            }
        });
    }
    if chosen.iter().all(|one| matches!(one, Chosen::Nothing { .. })) {
        let commit = head.as_deref().map_or("an empty repository", |_| short);
        let is_asked =
            |one: &Entry| machines.iter().any(|(suite, machine)| one.suite() == *suite && one.machine() == machine);
        let nearest = records.near(short, &is_asked)?;
        let nothing = format!("the history has no complete run of this machine at {commit}");
        let (message, hint) = match (missing.is_empty(), filtered.is_empty()) {
            (true, true) => (nothing, "measure it with `sprag run --record`, or name a run file with `--run`"),
            (false, _) => (
                format!("{nothing}: {}", missing.join("; ")),
                "measure it with `sprag run --record`, or name a run file with `--run`",
            ),
            (true, false) => (
                format!("{}; a gate needs a run without `--filter`", filtered.join("; ")),
                "measure all with `sprag run --record`, or name a run file with `--run`",
            ),
        };
        return Ok((chosen, Some(Advice::new(message, format!("{hint}{nearest}")))));
    }
    for words in &filtered {
        warn(&format!("{words}; a gate needs a run without `--filter`"));
    }
    Ok((chosen, None))
}

/// The machine that runs of the suite bear here; `name` is what its owner calls it.
pub fn machine_of(name: Option<&str>, settings: &Suite) -> Machine {
    let gpu_model = match settings.kind {
        SuiteKind::Cpu | SuiteKind::Command => None,
        SuiteKind::Gpu | SuiteKind::Trt => gpu::probe::device().ok().map(|device| device.name),
    };
    environment::machine(name, gpu_model.as_deref())
}

/// What a run of some benchmarks only is: `the newest run (0123abcd) holds 2 benchmarks of cpu (`--filter scan`)`.
fn filtered_words(recorded: &RecordedRun) -> String {
    let run = &recorded.run;
    let filters: Vec<String> = run.filters().iter().map(|text| format!("--filter {text}")).collect();
    let count = match run.measurements.len() {
        1 => "1 benchmark".to_owned(),
        count => format!("{count} benchmarks"),
    };
    let id = text::short(&recorded.id, 8);
    format!("the newest run ({id}) holds {count} of {} (`{}`)", run.suite, filters.join(" "))
}

fn warn_of(bad: &Quarantined) {
    warn(&format!("`{}` {}; quarantined", bad.path, bad.reason));
}
