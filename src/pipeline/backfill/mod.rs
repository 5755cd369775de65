//! `sprag backfill`: measures commits of the past into the history, coarse to fine.
//!
//! Each run is recorded at once, so what is interrupted goes on from the history. [`sprag_analysis::backfill`] chooses.

mod range;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bisect::record as bisect;
use crate::builds::Builds;
use crate::builds::commit_build::by_id;
use crate::builds::failures::{broken, failed_run, lasting_failure};
use crate::config::{Suite, SuiteKind};
use crate::error::{Cause, Exit};
use crate::gate::{Records, machine_of};
use crate::measuring::{self, MeasureHost, MeasuredSuites, SuiteRequest, TrtOptions};
use crate::pending::{self, Origin};
use crate::project::Project;
use crate::{Advice, cache, refuse, study, text, trend};
use sprag_analysis::backfill::{BenchmarkLevel, CommitLevels, Phase, differ, next, planned};
use sprag_history::Record;
use sprag_measure::environment;
use sprag_measure::interrupt::say_on_interrupt;
use sprag_measure::suite::{Effort, Extent};
use sprag_model::run::is_filtered;
use sprag_model::{CommitOnLine, Machine, Metric, Run, RunStatus, Shard};

#[derive(Clone, Debug)]
pub struct BackfillRequest {
    pub folder: PathBuf,
    pub range: Option<String>,
    pub event: Option<String>,
    pub every: Option<usize>,
    pub releases: bool,
    /// Whether a run in another environment of this machine, or of a bisection, is one, too.
    pub missing: bool,
    pub suites: Vec<String>,
    pub shard: Option<Shard>,
    /// In seconds.
    pub budget: Option<f64>,
    pub retry: bool,
    pub dry_run: bool,
    pub effort: Effort,
}

pub fn backfill(request: &BackfillRequest, host: MeasureHost<'_>, out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(&request.folder)?;
    let start = Instant::now();
    let suites = range::suites(&project, &request.suites)?;
    let until = request.budget.map(|budget| start + Duration::from_secs_f64(budget));
    let suites: Vec<(&str, Suite)> =
        suites.into_iter().map(|(name, suite)| (name, Suite { until, ..suite.clone() })).collect();
    let mut commits = match (&request.range, &request.event) {
        (Some(range), _) => range::of_range(&project, range)?,
        (None, Some(event)) => match range::of_event(&project, event)? {
            Some(commits) => commits,
            None => {
                text::say(trend::NOTHING_OPEN);
                return Ok(Exit::Done);
            }
        },
        (None, None) => return refuse("there is no range of commits", "name it, as in `sprag backfill v1.0..HEAD`"),
    };
    commits.retain(|commit| !request.releases || !commit.tags.is_empty());
    if commits.is_empty() {
        let what =
            if request.releases { "no commit of the range has a tag" } else { "the range has no commit of code" };
        return refuse(what, "`git log --first-parent --decorate` lists the commits with their tags");
    }
    let builds = Builds::new(&project, host.observer, request.retry);
    let name = project.machine_name();
    let machines = suites.iter().map(|(_, suite)| machine_of(name.as_deref(), suite)).collect();
    let mut backfill = Backfill {
        project: &project,
        request,
        host,
        start,
        suites,
        machines,
        commits,
        builds,
        states: Vec::new(),
        levels: HashMap::new(),
    };
    backfill.read_states()?;
    if request.dry_run {
        return backfill.plan(out);
    }
    backfill.read_levels()?;
    backfill.run(out)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Recorded,
    /// It failed to build or to run, before or now.
    Failed,
    /// Another shard measures it.
    Elsewhere,
}

struct Backfill<'a> {
    project: &'a Project,
    request: &'a BackfillRequest,
    host: MeasureHost<'a>,
    start: Instant,
    /// Limited to the budget.
    suites: Vec<(&'a str, Suite)>,
    /// What runs of each suite name here.
    machines: Vec<Machine>,
    /// Oldest first.
    commits: Vec<CommitOnLine>,
    builds: Builds<'a>,
    /// Of each commit and suite.
    states: Vec<Vec<State>>,
    /// What was recorded of each benchmark, with the smallest change of it that matters.
    levels: HashMap<Series, (CommitLevels, f64)>,
}

/// A suite, benchmark, its version, the metric and the environment: what can be compared.
type Series = (usize, String, u32, Metric, String);

impl Backfill<'_> {
    fn read_states(&mut self) -> crate::Result<()> {
        let key = environment::environment_of_programs(&Default::default()).key;
        let loaded = study::load(self.project, self.project.store()?)?;
        let (mut recorded, mut failed) = (HashSet::new(), HashSet::new());
        for (name, _) in &self.suites {
            failed.extend(broken(loaded.runs.heads(), name).into_keys().map(|sha| (sha, (*name).to_owned())));
        }
        for head in loaded.runs.heads() {
            let Some(commit) = head.commit.as_ref().filter(|commit| !commit.dirty) else { continue };
            let Some(place) = self.suites.iter().position(|(name, _)| *name == head.suite) else { continue };
            let is_bisected = self.request.missing && head.config.contains_key(bisect::SETTING);
            if head.machine.id != self.machines[place].id || is_filtered(&head.config) && !is_bisected {
                continue;
            }
            // The environment of Sprag's own kernels has facts of their build.
            let is_ours = self.suites[place].1.kind != SuiteKind::Command;
            let is_present = self.request.missing || is_ours || head.environment.key == key;
            match head.status {
                RunStatus::Ok if is_present => drop(recorded.insert((commit.sha.clone(), head.suite.clone()))),
                RunStatus::Failed => drop(failed.insert((commit.sha.clone(), head.suite.clone()))),
                RunStatus::Ok | RunStatus::Skipped => {}
            }
        }
        let mut states = Vec::new();
        for commit in &self.commits {
            let mut of_commit = Vec::new();
            for (name, _) in &self.suites {
                let is_in = |set: &HashSet<(String, String)>| set.contains(&(commit.sha.clone(), (*name).to_owned()));
                of_commit.push(if is_in(&recorded) {
                    State::Recorded
                } else if self.request.shard.is_some_and(|shard| !is_of(shard, &commit.sha)) {
                    State::Elsewhere
                } else if !self.request.retry && is_in(&failed) {
                    State::Failed
                } else {
                    State::Open
                });
            }
            states.push(of_commit);
        }
        self.states = states;
        Ok(())
    }

    fn points(&self) -> Vec<Phase> {
        let point = |states: &Vec<State>| match states {
            states if states.contains(&State::Open) => Phase::Open,
            states if states.contains(&State::Recorded) => Phase::Measured,
            _ => Phase::Closed,
        };
        self.states.iter().map(point).collect()
    }

    fn count(&self, state: State) -> usize {
        let is_done = |states: &&Vec<State>| !states.contains(&State::Open) && states.contains(&state);
        self.states.iter().filter(is_done).count()
    }

    fn run(&mut self, out: &mut dyn Write) -> crate::Result<Exit> {
        let (before, failed_before) = (self.count(State::Recorded), self.count(State::Failed));
        if let Some(newest) = self.commits.last() {
            pending::foretell(self.project, Some(&by_id(self.project, &newest.sha)?))?;
        }
        let trt = TrtOptions::default();
        let (start, step) = (self.start, self.request.every);
        let (mut tried, usual) = (BTreeSet::new(), self.usual_seconds());
        let mut is_over = false;
        loop {
            let points = self.points();
            let levels: Vec<(CommitLevels, f64)> = self.levels.values().cloned().collect();
            let Some(at) = next(&points, step, &mut |from, to| differ(&levels, from, to)) else { break };
            let (done, seconds) = (tried.len(), start.elapsed().as_secs_f64());
            let each = if done > 0 { seconds / done as f64 } else { usual.unwrap_or(0.0) };
            if self.request.budget.is_some_and(|budget| done > 0 && seconds + each > budget) {
                is_over = true;
                break;
            }
            let left = planned(&points, step).len();
            let (commit, subject) = (text::short(&self.commits[at].sha, 12), &self.commits[at].subject);
            let time = if each > 0.0 {
                format!(", {} left", text::duration(each * left.max(1) as f64))
            } else {
                String::new()
            };
            text::say(&text::printable(&format!("[{} of {}{time}] {commit} {subject}", done + 1, done + left.max(1))));
            say_on_interrupt(format!(
                "\nbackfill: stopped after {}; the same command goes on\n",
                text::count(done, "commit")
            ));
            if !self.measure(at, &trt)? {
                is_over = true;
                break;
            }
            tried.insert(at);
        }
        let measured = tried.iter().filter(|at| self.states[**at].contains(&State::Recorded)).count();
        let failed: Vec<&str> = tried
            .iter()
            .filter(|at| self.states[**at].contains(&State::Failed))
            .map(|at| text::short(&self.commits[*at].sha, 12))
            .collect();
        let list = if failed.is_empty() { String::new() } else { format!(" ({})", failed.join(", ")) };
        let taken = text::duration(start.elapsed().as_secs_f64());
        let measured_text = text::count(measured, "commit");
        writeln!(out, "measured {measured_text} in {taken}; {} failed to build or to run{list}", failed.len())?;
        let skipped = format!("skipped: {before} with a run, {failed_before} that failed before");
        writeln!(out, "{skipped}, {} of other shards", self.count(State::Elsewhere))?;
        if is_over {
            let open = text::count(open(&self.points()), "commit");
            let then =
                if measured > 0 { "the same command goes on" } else { "a commit takes longer: raise `--budget`" };
            writeln!(out, "the budget is spent with {open} unmeasured; {then}")?;
        }
        Ok(if measured == 0 && (is_over || !failed.is_empty()) { Exit::NotMeasured } else { Exit::Done })
    }

    /// Measures and records the open suites of a commit; whether the budget sufficed. What it cuts short is not recorded.
    fn measure(&mut self, at: usize, trt: &TrtOptions) -> crate::Result<bool> {
        let commit = by_id(self.project, &self.commits[at].sha)?;
        for place in 0..self.suites.len() {
            if self.states[at][place] != State::Open {
                continue;
            }
            let all = SuiteRequest::all(self.request.effort, trt);
            let request = SuiteRequest { commit: Some(&commit), builds: Some(&self.builds), ..all };
            let (name, suite) = &self.suites[place];
            let measured = measuring::measure(self.project, &[(*name, suite)], &request, self.host);
            self.host.observer.end();
            if suite.seconds_left() == Some(0.0) && was_cut_short(&measured) {
                text::note(&format!("the budget ended while {} was built or measured", commit.short()));
                return Ok(false);
            }
            self.states[at][place] = match measured {
                Ok(measured) => {
                    let records: Vec<Record> = measured.runs.iter().map(Record::from_run).collect();
                    pending::record(self.project, &records, Origin::Measured)?;
                    for run in measured.runs.iter().filter(|run| run.status != RunStatus::Ok) {
                        let why = run.reason.as_deref().unwrap_or("no reason is known");
                        text::warn(&format!("cannot measure {} with `{}`: {why}", commit.short(), run.suite));
                    }
                    measured.runs.iter().for_each(|run| self.add_levels(at, place, run));
                    let has_run = measured.runs.iter().any(|run| run.status == RunStatus::Ok);
                    if has_run { State::Recorded } else { State::Failed }
                }
                Err(error) if error.cause::<Advice>().is_some_and(|advice| advice.cause == Cause::CannotBuild) => {
                    text::warn(&error.chain());
                    if let Some(reason) = lasting_failure(&error, suite) {
                        let run = failed_run(name, &commit, &self.machines[place], reason);
                        pending::record(self.project, &[Record::from_run(&run)], Origin::Measured)?;
                    }
                    State::Failed
                }
                Err(error) => return Err(error),
            };
        }
        Ok(true)
    }

    /// The values of the commits that have a run already.
    fn read_levels(&mut self) -> crate::Result<()> {
        let records = Records::open(self.project)?;
        for at in 0..self.commits.len() {
            for place in 0..self.suites.len() {
                if self.states[at][place] != State::Recorded {
                    continue;
                }
                for one in records.at(Some(self.suites[place].0), Some(&self.commits[at].sha))? {
                    if one.run.machine.id == self.machines[place].id {
                        self.add_levels(at, place, &one.run);
                    }
                }
            }
        }
        Ok(())
    }

    /// Of several runs in one environment the last one counts.
    fn add_levels(&mut self, at: usize, place: usize, run: &Run) {
        for one in &run.measurements {
            let Some(estimate) = one.judged().filter(|estimate| estimate.value > 0.0) else { continue };
            let (id, metric) = (one.benchmark.id(), &estimate.metric);
            let least = self.project.config.trend.settings_for(&id, &metric.name).1;
            let series = (place, id, one.benchmark.version, metric.clone(), run.environment.key.clone());
            // The interval of 95 % has this many errors to either side.
            let error = estimate.interval.map(|(low, high)| (high / low).ln() / (2.0 * 1.96));
            let level = BenchmarkLevel { log: estimate.value.ln(), error: error.filter(|error| error.is_finite()) };
            self.levels.entry(series).or_insert_with(|| (CommitLevels::new(), least)).0.insert(at, level);
        }
    }

    /// What a commit takes, by builds and runs here before.
    fn usual_seconds(&self) -> Option<f64> {
        let seconds = cache::seconds(self.project);
        let of_suite = |(name, suite): &(&str, Suite)| {
            let processes = match self.request.effort.extent {
                Extent::Quick => 1,
                _ => suite.processes(),
            };
            seconds.get(*name).map(|process| process * f64::from(processes))
        };
        let runs = self.suites.iter().map(of_suite).sum::<Option<f64>>()?;
        Some(runs + self.suites.len() as f64 * self.builds.usual_seconds()?)
    }

    fn plan(&self, out: &mut dyn Write) -> crate::Result<Exit> {
        let points = self.points();
        let planned = planned(&points, self.request.every);
        let row = |(place, at): (usize, &usize)| {
            let commit = &self.commits[*at];
            let day = commit.commit_time.format("%Y-%m-%d").to_string();
            let subject = text::printable(&commit.subject);
            vec![(place + 1).to_string(), text::short(&commit.sha, 12).to_owned(), day, subject]
        };
        let heads = ["order", "commit", "day", "subject"];
        write!(out, "{}", text::table(heads, planned.iter().enumerate().map(row), &[0]))?;
        match self.request.every {
            None => writeln!(out, "gaps whose ends differ come earlier")?,
            Some(_) => {
                let others = text::count(open(&points) - planned.len(), "commit");
                writeln!(out, "{others} more, only where neighbours differ")?;
            }
        }
        if let Some(each) = self.usual_seconds() {
            let all = planned.len();
            let (commits, time) = (text::count(all, "commit"), text::duration(each * all as f64));
            writeln!(out, "about {time} for {commits}, judging by earlier builds and runs here")?;
        }
        let [recorded, failed, elsewhere] =
            [State::Recorded, State::Failed, State::Elsewhere].map(|one| self.count(one));
        writeln!(out, "skipped: {recorded} with a run, {failed} that failed before, {elsewhere} of other shards")?;
        Ok(Exit::Done)
    }
}

/// Whether a build or a measurement did not come to its end, after the end of the budget.
fn was_cut_short(measured: &crate::Result<MeasuredSuites>) -> bool {
    match measured {
        Ok(measured) => measured.runs.iter().any(|run| match run.status {
            RunStatus::Ok => run.config.get("stop_reason").and_then(Value::as_str) == Some("budget"),
            _ => true,
        }),
        Err(error) => error.cause::<Advice>().is_some(),
    }
}

fn open(points: &[Phase]) -> usize {
    points.iter().filter(|point| **point == Phase::Open).count()
}

/// Fixed by the commit, whatever else is in the range.
fn is_of(shard: Shard, sha: &str) -> bool {
    let number = u32::from_str_radix(text::short(sha, 8), 16).unwrap_or(0);
    number % shard.count() + 1 == shard.index()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_commit_has_one_shard() {
        let shards = [1, 2, 3].map(|index| Shard::new(index, 3).expect("it is one of three"));
        for sha in ["00000000", "00000001", "fffffffe", "89abcdef01234567"] {
            assert_eq!(shards.iter().filter(|shard| is_of(**shard, sha)).count(), 1, "{sha}");
        }
        assert!(is_of(shards[0], "00000003") && is_of(shards[2], "00000005"));
    }
}
