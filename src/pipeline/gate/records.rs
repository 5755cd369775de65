//! The recorded runs that a gate reads, and by default judges: the newest of this machine at HEAD.
//!
//! File names have suite, machine, commit and month, so only records that may matter are read. Runs are in the order of
//! their commits, and only where most of those are not on the line of commits in the order of time: what `backfill` measures
//! late is of the past.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use chrono::{DateTime, Utc};

use crate::Advice;
use crate::config::{Suite, SuiteKind};
use crate::error::{Cause, WithContext as _};
use crate::project::Project;
use crate::text::{self, warn};
use crate::{snapshots, study};
use sprag_analysis::frame::{RunOrder, RunPlace};
use sprag_analysis::session_noise;
use sprag_history::{self as history, Leaf, Listing, Store};
use sprag_measure::{environment, gpu};
use sprag_model::commit::NO_COMMIT;
use sprag_model::shard::{CompleteRun, IncompleteRun};
use sprag_model::{CommitLine, Machine, Quarantined, RecordedRun, Run, RunHead, RunStatus, shard};

pub struct Records<'p> {
    project: &'p Project,
    store: &'p Store,
    pub listing: Listing,
    /// By the commit where they end, or HEAD.
    lines: RefCell<BTreeMap<Option<String>, Rc<CommitLine>>>,
    left_out: RefCell<BTreeSet<(String, String)>>,
}

impl<'p> Records<'p> {
    pub fn open(project: &'p Project) -> crate::Result<Records<'p>> {
        let store = project.store()?;
        let source = project.source()?;
        let listing = history::list(store, &source).context("cannot read the history")?;
        snapshots::say_absent(&listing);
        Ok(Records { project, store, listing, lines: RefCell::default(), left_out: RefCell::default() })
    }

    /// As [`Records::at`], of all suites, each at the commit that was measured for the code of `commit`.
    pub fn of_code(&self, commit: Option<&str>) -> crate::Result<Vec<RecordedRun>> {
        let Some(sha) = commit else { return self.at(None, None) };
        let suites: BTreeSet<&str> = self.listing.entries.iter().map(Leaf::suite).collect();
        let of_suite = |suite: &str| self.at(Some(suite), Some(&self.measured_for(sha, &|one| one.suite() == suite)?));
        Ok(suites.into_iter().map(of_suite).collect::<crate::Result<Vec<_>>>()?.concat())
    }

    /// Complete successful runs on any machine, oldest first.
    pub fn at(&self, suite: Option<&str>, commit: Option<&str>) -> crate::Result<Vec<RecordedRun>> {
        let short = commit.map_or(NO_COMMIT, |sha| text::short(sha, 12));
        let named = |one: &&Leaf| one.commit() == short && suite.is_none_or(|suite| one.suite() == suite);
        let mut runs = self.read_intact(self.listing.entries.iter().filter(named).cloned().collect())?;
        runs.retain(|one| one.run.commit.as_ref().map(|commit| commit.sha.as_str()) == commit);
        let mut runs = complete(runs);
        // Runs of uncommitted changes represent the commit only if there are no others.
        if runs.iter().any(|one| !is_dirty(&one.run)) {
            runs.retain(|one| !is_dirty(&one.run));
        }
        Ok(runs)
    }

    /// The commit measured for the code of `sha` by a wanted record: itself, or the nearest before it but for baselines.
    pub fn measured_for(&self, sha: &str, is_wanted: &dyn Fn(&Leaf) -> bool) -> crate::Result<String> {
        let sha = sha.to_owned();
        let has_run = |sha: &String| {
            self.listing.entries.iter().any(|one| one.commit() == text::short(sha, 12) && is_wanted(one))
        };
        if has_run(&sha) || !history::has_commit(self.store, &sha) {
            return Ok(sha);
        }
        Ok(history::same_code(self.store, &sha)?.into_iter().find(has_run).unwrap_or(sha))
    }

    /// The line of commits that ends at `end`, or at HEAD; empty where the commit is not here.
    fn line(&self, end: Option<&str>) -> crate::Result<Rc<CommitLine>> {
        if end.is_some_and(|sha| !history::has_commit(self.store, sha)) {
            return Ok(Rc::default());
        }
        let end = end.map(str::to_owned);
        if let Some(line) = self.lines.borrow().get(&end) {
            return Ok(Rc::clone(line));
        }
        let line = study::commit_line(self.project, self.store, end.as_deref()).context("cannot read the commits")?;
        let line = Rc::new(line);
        self.lines.borrow_mut().insert(end, Rc::clone(&line));
        Ok(line)
    }

    /// `machine` is the short id. One list for each commit on the line, and one for each month of the other commits, both
    /// newest first. Where most commits are not on the line, none is.
    fn newest_first(&self, suite: &str, machine: &str, line: &CommitLine) -> [Vec<Vec<Leaf>>; 2] {
        let own: Vec<&Leaf> =
            self.listing.entries.iter().filter(|one| one.suite() == suite && one.machine() == machine).collect();
        let shas = line.commits.iter().map(|commit| text::short(&commit.sha, 12));
        let positions: HashMap<&str, usize> = shas.enumerate().map(|(position, sha)| (sha, position)).collect();
        let has_places = 2 * own.iter().filter(|one| positions.contains_key(one.commit())).count() >= own.len();
        let mut commits: BTreeMap<usize, Vec<Leaf>> = BTreeMap::new();
        let mut months: BTreeMap<(&str, &str), Vec<Leaf>> = BTreeMap::new();
        for entry in own {
            match positions.get(entry.commit()).filter(|_| has_places) {
                Some(position) => commits.entry(*position).or_default().push(entry.clone()),
                None => months.entry(entry.month()).or_default().push(entry.clone()),
            }
        }
        [commits.into_values().rev().collect(), months.into_values().rev().collect()]
    }

    /// `machine` is the short id.
    pub fn newest(&self, suite: &str, machine: &str) -> crate::Result<Option<RecordedRun>> {
        let line = self.line(None)?;
        for entries in self.newest_first(suite, machine, &line).into_iter().flatten() {
            if let Some(newest) = complete(self.read(entries)?).pop() {
                return Ok(Some(newest));
            }
        }
        Ok(None)
    }

    /// Skips damaged and absent records, which decide nothing here.
    pub fn newest_that(&self, suite: &str, machine: &str, fits: &dyn Fn(&Run) -> bool) -> crate::Result<Option<Run>> {
        let line = self.line(None)?;
        for entries in self.newest_first(suite, text::short(machine, 8), &line).into_iter().flatten() {
            let runs = history::read(self.store, &entries).context("cannot read the history")?.into_iter().flatten();
            let runs = runs.filter_map(|one| self.timely(one).ok());
            let runs = runs.filter(|one| one.run.machine.id == machine && fits(&one.run));
            if let Some(newest) = runs.max_by_key(|one| (one.run.timestamp, one.id.clone())) {
                return Ok(Some(newest.run));
            }
        }
        Ok(None)
    }

    /// The end of a hint: the nearest commits before and after with a record that `keep` wants, if any.
    pub fn near(&self, short: &str, keep: &dyn Fn(&Leaf) -> bool) -> crate::Result<String> {
        let measured: BTreeSet<&str> = self.listing.entries.iter().filter(|one| keep(one)).map(Leaf::commit).collect();
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

    /// Runs of commits before that of `like` on its machine, and of its own before `time`, oldest first, as rules need them.
    pub fn before(
        &self,
        like: &Run,
        time: DateTime<Utc>,
        keep: &dyn Fn(&Run) -> bool,
    ) -> crate::Result<Vec<RecordedRun>> {
        study::refuse_absent(self.store, &self.listing.quarantined)?;
        let line = self.line(like.commit.as_ref().map(|commit| commit.sha.as_str()))?;
        let order = RunOrder::new(&line);
        let [commits, months] = self.newest_first(&like.suite, like.machine.short_id(), &line);
        let has_places = !commits.is_empty();
        let end = order.place_at(like.commit.as_ref(), (time, ""));
        let is_before = |one: &RecordedRun| match place(&order, one) {
            place if has_places => place < end && (place.is_on_line() || one.run.timestamp < time),
            _ => one.run.timestamp < time,
        };
        let mut earlier: Vec<RecordedRun> = Vec::new();
        for newest_first in [commits, months] {
            let mut taken: Vec<RecordedRun> = Vec::new();
            for entries in newest_first {
                taken.extend(self.read(entries)?);
                taken.retain(|one| {
                    let is_alike = one.run.machine.id == like.machine.id && is_before(one);
                    is_alike && !is_dirty(&one.run) && keep(&one.run)
                });
                // One more than needed, as the oldest session may cross the border of a month.
                if sessions(&taken) > session_noise::MOST_SESSIONS {
                    break;
                }
            }
            earlier.extend(taken);
        }
        let mut runs = complete(earlier);
        if has_places {
            runs.sort_by(|a, b| place(&order, a).cmp(&place(&order, b)));
        }
        while sessions(&runs) > session_noise::MOST_SESSIONS {
            runs.remove(0);
        }
        Ok(runs)
    }

    /// Warns once of each unreadable record.
    fn read(&self, entries: Vec<Leaf>) -> crate::Result<Vec<RecordedRun>> {
        let mut runs = Vec::new();
        let records = history::read(self.store, &entries).context("cannot read the history")?;
        study::refuse_absent(self.store, records.iter().filter_map(|record| record.as_ref().err()))?;
        for (entry, record) in entries.iter().zip(records) {
            match record.and_then(|run| self.timely(run)) {
                Ok(run) => runs.push(run),
                Err(bad) => self.leave_out(entry.suite(), &bad),
            }
        }
        Ok(runs)
    }

    /// Warns once of each record.
    fn leave_out(&self, suite: &str, bad: &Quarantined) {
        if self.left_out.borrow_mut().insert((suite.to_owned(), bad.path.clone())) {
            warn_of(bad);
        }
    }

    fn timely(&self, one: RecordedRun) -> Result<RecordedRun, Quarantined> {
        match self.listing.check_time(one.run.timestamp) {
            Ok(()) => Ok(one),
            Err(reason) => Err(Quarantined { path: one.path, reason: reason.into() }),
        }
    }

    /// Damaged records that were left out, as a caveat.
    pub fn faults(&self, suite: &str) -> Option<String> {
        let left_out = self.left_out.borrow();
        let paths: Vec<&str> = left_out.iter().filter(|(of, _)| of == suite).map(|(_, path)| path.as_str()).collect();
        let records = text::count(paths.len(), "damaged record");
        (!paths.is_empty()).then(|| format!("{records} of the sessions before left out: {}", paths.join(", ")))
    }

    pub fn read_intact(&self, entries: Vec<Leaf>) -> crate::Result<Vec<RecordedRun>> {
        let read = history::read(self.store, &entries).context("cannot read the history")?;
        study::refuse_absent(self.store, read.iter().filter_map(|record| record.as_ref().err()))?;
        let damaged = |bad: Quarantined| {
            let hint = "`sprag history fsck` lists all damage; a verdict needs every record of what it judges";
            Advice::new(format!("`{}` {}", bad.path, bad.reason), hint).because(Cause::Damaged)
        };
        let read = read.into_iter().collect::<Result<Vec<RecordedRun>, Quarantined>>().map_err(damaged)?;
        let timely = |one: RecordedRun| {
            let suite = one.run.suite.clone();
            self.timely(one).map_err(|bad| self.leave_out(&suite, &bad)).ok()
        };
        Ok(read.into_iter().filter_map(timely).collect())
    }
}

fn place<'r>(order: &RunOrder<'_>, recorded: &'r RecordedRun) -> RunPlace<'r> {
    order.place_at(recorded.run.commit.as_ref(), (recorded.run.timestamp, &recorded.id))
}

fn is_dirty(run: &Run) -> bool {
    run.commit.as_ref().is_some_and(|commit| commit.dirty)
}

fn sessions(runs: &[RecordedRun]) -> usize {
    session_noise::sessions(&runs.iter().map(|one| (one.run.timestamp, 1.0)).collect::<Vec<_>>()).len()
}

/// Complete runs, shards joined, oldest first; each has the id of its newest record.
fn complete(runs: Vec<RecordedRun>) -> Vec<RecordedRun> {
    let heads: Vec<RunHead> = runs.iter().map(RunHead::new).collect();
    let assembled = shard::assemble(&heads);
    let mut complete: Vec<RecordedRun> = assembled.complete.iter().filter_map(|one| joined(one, &runs)).collect();
    complete.retain(|one| one.run.status == RunStatus::Ok && !one.run.is_filtered());
    leave_out_quick(&mut complete);
    complete.sort_by(|a, b| (a.run.timestamp, &a.id).cmp(&(b.run.timestamp, &b.id)));
    complete
}

/// Leaves quick runs out where the same code has a full one.
fn leave_out_quick(runs: &mut Vec<RecordedRun>) {
    let code = |run: &Run| {
        let commit = run.commit.as_ref().map(|commit| (commit.sha.clone(), commit.dirty));
        (run.suite.clone(), commit, run.machine.id.clone(), run.environment.key.clone())
    };
    let is_full = |run: &Run| run.status == RunStatus::Ok && !run.is_quick() && !run.is_partial();
    let full: BTreeSet<_> = runs.iter().filter(|one| is_full(&one.run)).map(|one| code(&one.run)).collect();
    runs.retain(|one| !one.run.is_quick() || !full.contains(&code(&one.run)));
}

fn joined(complete: &CompleteRun<'_>, runs: &[RecordedRun]) -> Option<RecordedRun> {
    let RunHead { path, id, .. } = complete.newest();
    Some(RecordedRun { path: path.clone(), id: id.clone(), run: complete.run(runs)?.into_owned() })
}

/// A suite to judge on a machine, with its run, if there is one.
pub struct GateRun {
    pub suite: String,
    pub machine: Machine,
    pub run: Option<RecordedRun>,
}

impl From<RecordedRun> for GateRun {
    fn from(recorded: RecordedRun) -> GateRun {
        let Run { suite, machine, .. } = &recorded.run;
        GateRun { suite: suite.clone(), machine: machine.clone(), run: Some(recorded) }
    }
}

/// For each suite the newest complete run of this machine at HEAD; shards are joined. If none has a run, the advice says why.
pub fn choose(
    project: &Project,
    records: &Records<'_>,
    suites: &[String],
) -> crate::Result<(Vec<GateRun>, Option<Advice>)> {
    let entries = &records.listing.entries;
    study::refuse_absent(records.store, &records.listing.quarantined)?;
    records.listing.quarantined.iter().for_each(warn_of);
    let head = history::measured_commit(project.store()?)?.map(|commit| commit.sha);
    let measured =
        |is_wanted: &dyn Fn(&Leaf) -> bool| head.as_deref().map(|sha| records.measured_for(sha, is_wanted)).transpose();
    let short = head.as_deref().map_or(NO_COMMIT, |sha| text::short(sha, 12));
    let name = project.machine_name();
    let is_recorded = |suite: &String| !is_configured(project, suite) && entries.iter().any(|one| one.suite() == suite);
    let (others, own): (Vec<String>, Vec<String>) = suites.iter().cloned().partition(is_recorded);
    // Where no suite is configured, whatever was recorded at HEAD is judged; else only what is named.
    let takes_any = suites.is_empty() && project.config.suites.is_empty();
    let mut chosen = Vec::new();
    if takes_any || !others.is_empty() {
        chosen = unconfigured(project, records, &others, measured(&|_| true)?.as_deref())?;
    }
    let has_only_others = own.is_empty() && !(others.is_empty() && chosen.is_empty());
    let selected = if has_only_others { Vec::new() } else { project.config.select(&own)? };
    let (mut unfinished, mut filtered) = (Vec::new(), Vec::new());
    for (suite, settings) in selected {
        let machine = machine_of(name.as_deref(), settings);
        // Only records whose names fit are read.
        let fits = |one: &Leaf| one.suite() == suite && one.machine() == machine.short_id();
        let measured = measured(&fits)?;
        let short = measured.as_deref().map_or(NO_COMMIT, |sha| text::short(sha, 12));
        let at_it = entries.iter().filter(|one| fits(one) && one.commit() == short);
        let mut runs = records.read_intact(at_it.cloned().collect())?;
        runs.retain(|one| {
            one.run.machine.id == machine.id && one.run.commit.as_ref().map(|commit| &commit.sha) == measured.as_ref()
        });
        leave_out_quick(&mut runs);
        let heads: Vec<RunHead> = runs.iter().map(RunHead::new).collect();
        let assembly = shard::assemble(&heads);
        let newest = assembly.complete.last();
        // An older unfinished set is not news.
        let is_news = |set: &&IncompleteRun| newest.is_none_or(|one| one.newest().timestamp < set.newest);
        let incomplete = assembly.incomplete.last().filter(is_news);
        if let Some(set) = incomplete {
            warn(&set.sentence());
        }
        let run = newest.and_then(|one| joined(one, &runs));
        if run.is_none() {
            unfinished.extend(incomplete.map(IncompleteRun::sentence));
            let some_only = runs.iter().filter(|one| one.run.is_filtered());
            let newest = some_only.max_by_key(|one| (one.run.timestamp, &one.id)).map(filtered_words);
            filtered.extend(newest.map(|words| format!("{words}; a gate needs a run without `--filter`")));
        }
        chosen.push(GateRun { suite: suite.to_owned(), machine, run });
    }
    if chosen.iter().any(|one| one.run.is_some()) {
        filtered.iter().for_each(|words| warn(words));
        return Ok((chosen, None));
    }
    let commit = head.as_deref().map_or("an empty repository", |_| short);
    let nothing = format!("the history has no complete run of this machine at {commit}");
    let (message, what) = match (unfinished.is_empty(), filtered.is_empty()) {
        (false, _) => (format!("{nothing}: {}", unfinished.join("; ")), "it"),
        (true, false) => (filtered.join("; "), "all"),
        (true, true) => (nothing, "it"),
    };
    let is_asked =
        |one: &Leaf| chosen.iter().any(|asked| one.suite() == asked.suite && one.machine() == asked.machine.short_id());
    let others: BTreeSet<&str> = entries
        .iter()
        .filter(|one| one.commit() == short && chosen.iter().any(|asked| asked.suite == one.suite()) && !is_asked(one))
        .map(Leaf::machine)
        .collect();
    let nearest = match others.len() {
        0 => records.near(short, &is_asked)?,
        machines => {
            let machines = text::count(machines, "other machine");
            format!("; {machines} measured this commit (`sprag history log`), and `SPRAG_MACHINE` names one")
        }
    };
    let other = entries.iter().find(|one| one.commit() == short && !is_configured(project, one.suite()));
    let hint = match other.map(|one| text::printable(one.suite())) {
        Some(other) => {
            format!("measure {what} with `sprag run --record`, or judge `{other}` with `--suite {other}`{nearest}")
        }
        None => format!("measure {what} with `sprag run --record`, or name a run file with `--run`{nearest}"),
    };
    Ok((chosen, Some(Advice::new(message, hint))))
}

fn is_configured(project: &Project, suite: &str) -> bool {
    project.config.all_suites().any(|(name, _)| name == suite)
}

/// The newest run at HEAD of each suite that no settings name: imported ones of any machine, `sprag bench` of this one.
fn unconfigured(
    project: &Project,
    records: &Records<'_>,
    suites: &[String],
    head: Option<&str>,
) -> crate::Result<Vec<GateRun>> {
    let short = head.map_or(NO_COMMIT, |sha| text::short(sha, 12));
    let is_wanted = |suite: &str| match suites.is_empty() {
        true => !is_configured(project, suite),
        false => suites.iter().any(|one| one == suite),
    };
    let fits = |one: &&Leaf| one.commit() == short && is_wanted(one.suite());
    let mut runs = records.read_intact(records.listing.entries.iter().filter(fits).cloned().collect())?;
    let here = environment::machine(project.machine_name().as_deref(), None);
    runs.retain(|one| {
        let is_ours = one.run.is_imported() || one.run.machine.id == here.id;
        is_ours && one.run.commit.as_ref().map(|commit| commit.sha.as_str()) == head
    });
    runs.sort_by(|a, b| (a.run.timestamp, &a.id).cmp(&(b.run.timestamp, &b.id)));
    let key = |one: &RecordedRun| (one.run.suite.clone(), one.run.machine.id.clone());
    let newest: BTreeMap<_, RecordedRun> = runs.into_iter().map(|one| (key(&one), one)).collect();
    if let Some(suite) = suites.iter().find(|suite| !newest.keys().any(|(one, _)| one == *suite)) {
        let suite = text::printable(suite);
        let message = format!("no run of `{suite}`, which is not a suite of sprag.toml, is recorded at {short}");
        let hint = format!("record one with `sprag import FILE --suite {suite}`, or name its file with `--run`");
        return Err(Advice::new(message, hint).because(Cause::Unmeasured).into());
    }
    Ok(newest.into_values().map(GateRun::from).collect())
}

/// The machine that runs of the suite name here.
pub fn machine_of(name: Option<&str>, settings: &Suite) -> Machine {
    let gpu_model = match settings.kind {
        SuiteKind::Cpu | SuiteKind::Command => None,
        SuiteKind::Gpu | SuiteKind::Cuda | SuiteKind::Trt => gpu::probe::device().ok().map(|device| device.name),
    };
    environment::machine(name, gpu_model.as_deref())
}

/// `the newest run (0123abcd) holds 2 benchmarks of cpu (`--filter scan`)`.
fn filtered_words(recorded: &RecordedRun) -> String {
    let run = &recorded.run;
    let filters: Vec<String> = run.filters().iter().map(|text| format!("--filter {text}")).collect();
    let (id, count) = (text::short(&recorded.id, 8), text::count(run.measurements.len(), "benchmark"));
    format!("the newest run ({id}) holds {count} of {} (`{}`)", run.suite, filters.join(" "))
}

fn warn_of(bad: &Quarantined) {
    warn(&format!("`{}` {}; quarantined", bad.path, bad.reason));
}
