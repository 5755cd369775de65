//! The recorded runs that a gate looks at. The names of records tell suite, machine, commit and month; only what may
//! matter is read.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::error::Context as _;
use chrono::{DateTime, Utc};

use crate::project::Project;
use crate::{Advice, Trouble, text};
use sprag_analysis::session_noise;
use sprag_history::{self as history, Entry, Listing, Store};
use sprag_model::commit::NO_COMMIT;
use sprag_model::head::RunHead;
use sprag_model::run::{Quarantined, RecordedRun, Run, RunStatus};
use sprag_model::shard;

/// The records of a project, by name.
pub struct Records<'p> {
    store: &'p Store,
    listing: Listing,
    /// The paths of records that were left out as they are damaged, each with its suite.
    left_out: RefCell<BTreeSet<(String, String)>>,
}

impl<'p> Records<'p> {
    /// Lists the records.
    pub fn open(project: &'p Project) -> crate::Result<Records<'p>> {
        let store = project.store()?;
        let source = project.source()?;
        let listing = history::list(store, &source).context("cannot read the history")?;
        Ok(Records { store, listing, left_out: RefCell::default() })
    }

    /// The whole runs of a commit that measured something, on any machine, oldest first.
    pub fn at(&self, suite: Option<&str>, commit: Option<&str>) -> crate::Result<Vec<RecordedRun>> {
        let short = commit.map_or(NO_COMMIT, |sha| sha.get(..12).unwrap_or(sha));
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

    /// The newest whole run of a suite on a machine, by the eight digits of its id.
    pub fn newest(&self, suite: &str, machine: &str) -> crate::Result<Option<RecordedRun>> {
        let of_series = |one: &&Entry| one.suite() == suite && one.machine() == machine;
        let entries: Vec<&Entry> = self.listing.entries.iter().filter(of_series).collect();
        let months: BTreeSet<(&str, &str)> = entries.iter().map(|one| one.month()).collect();
        for month in months.into_iter().rev() {
            let of_month = entries.iter().filter(|one| one.month() == month).map(|one| (*one).clone()).collect();
            if let Some(newest) = whole(self.read(of_month)?).pop() {
                return Ok(Some(newest));
            }
        }
        Ok(None)
    }

    /// The commits nearest to one, by its twelve digits, on either side of it that have a record which `keep` wants, and how
    /// far they are: the end of a hint, empty where there is none.
    pub fn near(&self, short: &str, keep: &dyn Fn(&Entry) -> bool) -> crate::Result<String> {
        let measured: BTreeSet<&str> = self.listing.entries.iter().filter(|one| keep(one)).map(Entry::commit).collect();
        let line = history::commit_line(self.store, None).context("cannot read the commits")?;
        let shas: Vec<&str> = line.commits.iter().map(|one| one.sha.get(..12).unwrap_or(&one.sha)).collect();
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
        let of_series = |one: &&Entry| one.suite() == like.suite && one.machine() == like.machine.short_id();
        let entries: Vec<&Entry> = self.listing.entries.iter().filter(of_series).collect();
        let (year, month) = (time.format("%Y").to_string(), time.format("%m").to_string());
        let is_before = |one: &(&str, &str)| *one <= (year.as_str(), month.as_str());
        let months: BTreeSet<(&str, &str)> = entries.iter().map(|one| one.month()).filter(is_before).collect();
        let mut found: Vec<RecordedRun> = Vec::new();
        for month in months.into_iter().rev() {
            let of_month = entries.iter().filter(|one| one.month() == month).map(|one| (*one).clone()).collect();
            found.extend(self.read(of_month)?);
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
                        crate::notices::warn(&format!("`{}` {}; quarantined", bad.path, bad.reason));
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

    /// The records, all of which must be sound.
    pub fn read_sound(&self, entries: Vec<Entry>) -> crate::Result<Vec<RecordedRun>> {
        let read = history::read(self.store, &entries).context("cannot read the history")?;
        let damaged = |bad: Quarantined| {
            let message = format!("`{}` {}", bad.path, bad.reason);
            let hint =
                "`sprag history fsck` tells all that is damaged; no verdict leaves out a record of what it judges"
                    .to_owned();
            Trouble::Damaged(Advice { message, hint })
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
