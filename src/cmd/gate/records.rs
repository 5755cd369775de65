//! The recorded runs that a gate looks at. The names of records tell suite, machine, commit and month; only what may
//! matter is read.

use std::collections::BTreeSet;

use anyhow::Context as _;
use chrono::{DateTime, Utc};

use crate::analysis::restless;
use crate::cmd::project::Project;
use crate::history::{self, Entry, Listing, Store};
use crate::model::commit::NO_COMMIT;
use crate::model::head::RunHead;
use crate::model::run::{RecordedRun, Run, RunStatus};
use crate::model::shard;

/// The records of a project, by name.
pub(in crate::cmd) struct Records<'p> {
    store: &'p Store,
    listing: Listing,
}

impl<'p> Records<'p> {
    /// Lists the records.
    ///
    /// # Errors
    /// When there is no repository, or its history cannot be read.
    pub(in crate::cmd) fn open(project: &'p Project) -> anyhow::Result<Records<'p>> {
        let store = project.store()?;
        let source = history::source(store, project.config.history.reference.as_deref())?;
        let listing = history::list(store, &source).context("cannot read the history")?;
        Ok(Records { store, listing })
    }

    /// The whole runs of a commit that measured something, on any machine, oldest first.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub(in crate::cmd) fn at(&self, suite: Option<&str>, commit: Option<&str>) -> anyhow::Result<Vec<RecordedRun>> {
        let short = commit.map_or(NO_COMMIT, |sha| sha.get(..12).unwrap_or(sha));
        let named = |one: &&Entry| one.commit() == short && suite.is_none_or(|suite| one.suite() == suite);
        let mut runs = self.read(self.listing.entries.iter().filter(named).cloned().collect())?;
        runs.retain(|one| one.run.commit.as_ref().map(|commit| commit.sha.as_str()) == commit);
        let mut runs = whole(runs);
        // What was measured of changed files stands for the commit only where nothing else does.
        if runs.iter().any(|one| !is_dirty(&one.run)) {
            runs.retain(|one| !is_dirty(&one.run));
        }
        Ok(runs)
    }

    /// The newest whole run of a suite on a machine, by the eight digits of its id.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub(in crate::cmd) fn newest(&self, suite: &str, machine: &str) -> anyhow::Result<Option<RecordedRun>> {
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

    /// The twelve digits of every commit that has a record.
    pub(in crate::cmd) fn commits(&self) -> BTreeSet<&str> {
        self.listing.entries.iter().map(Entry::commit).collect()
    }

    /// The runs of the sessions that came before a time, on the machine and in the environment of `like`, oldest first;
    /// of those that `keep` wants as many sessions as a rule looks at.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub(in crate::cmd) fn before(
        &self,
        like: &Run,
        time: DateTime<Utc>,
        keep: &dyn Fn(&Run) -> bool,
    ) -> anyhow::Result<Vec<RecordedRun>> {
        let of_series = |one: &&Entry| one.suite() == like.suite && one.machine() == like.machine.short_id();
        let entries: Vec<&Entry> = self.listing.entries.iter().filter(of_series).collect();
        let months: BTreeSet<(&str, &str)> = entries.iter().map(|one| one.month()).collect();
        let mut found: Vec<RecordedRun> = Vec::new();
        for month in months.into_iter().rev() {
            let of_month = entries.iter().filter(|one| one.month() == month).map(|one| (*one).clone()).collect();
            found.extend(self.read(of_month)?);
            found.retain(|one| {
                let is_alike = one.run.machine.id == like.machine.id && one.run.timestamp < time;
                is_alike && !is_dirty(&one.run) && keep(&one.run)
            });
            // One more than counts, as the oldest may reach over the border of a month.
            if sessions(&found) > restless::MOST_SESSIONS {
                break;
            }
        }
        let mut runs = whole(found);
        while sessions(&runs) > restless::MOST_SESSIONS {
            runs.remove(0);
        }
        Ok(runs)
    }

    fn read(&self, entries: Vec<Entry>) -> anyhow::Result<Vec<RecordedRun>> {
        let mut runs = Vec::new();
        for record in history::read(self.store, &entries).context("cannot read the history")? {
            match record {
                Ok(run) => runs.push(run),
                Err(bad) => crate::cmd::warn(&format!("`{}` {}; quarantined", bad.path, bad.reason)),
            }
        }
        Ok(runs)
    }
}

fn is_dirty(run: &Run) -> bool {
    run.commit.as_ref().is_some_and(|commit| commit.dirty)
}

fn sessions(runs: &[RecordedRun]) -> usize {
    restless::sessions(&runs.iter().map(|one| (one.run.timestamp, 1.0)).collect::<Vec<_>>()).len()
}

/// The runs that are whole, sets of shards put together, oldest first; each bears the id of its newest record.
fn whole(runs: Vec<RecordedRun>) -> Vec<RecordedRun> {
    let heads: Vec<RunHead> = runs.iter().map(RunHead::of).collect();
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
