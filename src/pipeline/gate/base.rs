//! What a run is compared with: a baseline file, runs of a commit or release, a run file, or earlier sessions.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chrono::DateTime;

use crate::error::{Cause, WithContext as _};
use crate::gate::records::Records;
use crate::project::Project;
use crate::run_file::{self, RunFile};
use crate::{Advice, doctor, policy, refuse, text};
use sprag_analysis::reference::{self, Ground};
use sprag_analysis::{digest, session_noise};
use sprag_history::{self as history, HistoryError};
use sprag_measure::clock;
use sprag_model::{Baseline, BaselineFile, NoBaseline, Policy, RecordedRun, Run};

#[derive(Clone, Debug, PartialEq)]
pub enum AgainstBase {
    /// The baseline of the class, else the last release, else earlier sessions.
    Usual,
    /// Only the baseline of the class.
    Baseline,
    History,
    File(PathBuf),
    Revision(String),
}

pub struct GateBase {
    /// If `baseline` is absent, why.
    pub label: String,
    pub baseline: Option<Baseline>,
}

pub struct Bases<'p> {
    project: &'p Project,
    against: AgainstBase,
    policy: Policy,
    override_rules: bool,
    doctor: Vec<f64>,
    files: Vec<BaselineFile>,
    given: Option<RecordedRun>,
    records: OnceCell<Records<'p>>,
}

impl GateBase {
    pub fn absent(why: impl Into<String>) -> GateBase {
        GateBase { label: why.into(), baseline: None }
    }
}

impl AgainstBase {
    /// `baseline`, `history`, a path or a revision.
    pub fn parse(project: &Project, folder: &Path, text: Option<&str>) -> crate::Result<AgainstBase> {
        let text = match text {
            None => return Ok(AgainstBase::Usual),
            Some("baseline") => return Ok(AgainstBase::Baseline),
            Some("history") => return Ok(AgainstBase::History),
            Some(text) => text,
        };
        named(project, folder, text)?.ok_or_else(|| {
            let text = text.escape_debug();
            let message = format!("`{text}` is neither a baseline file nor a commit of this repository");
            Advice::new(message, "name a file, a commit or a tag, or write `baseline` or `history`").into()
        })
    }
}

/// A revision goes before a file of the same name, unless it is written as a path.
pub fn named(project: &Project, folder: &Path, text: &str) -> crate::Result<Option<AgainstBase>> {
    let path = folder.join(text);
    let is_path = text.contains(std::path::is_separator) && path.is_file();
    match project.find_store().filter(|_| !is_path).map(|store| history::commit_at(store, text)) {
        Some(Ok(_)) => Ok(Some(AgainstBase::Revision(text.to_owned()))),
        Some(Err(error)) if !matches!(error, HistoryError::Revision { .. }) => Err(error.into()),
        _ => Ok(path.is_file().then_some(AgainstBase::File(path))),
    }
}

impl<'p> Bases<'p> {
    pub fn open(project: &'p Project, against: AgainstBase, policy_file: Option<&Policy>) -> crate::Result<Bases<'p>> {
        let (mut files, mut given) = (Vec::new(), None);
        match &against {
            AgainstBase::File(path) => {
                // Reports are read elsewhere.
                let shown = project.shown(path);
                match run_file::read(path)? {
                    RunFile::Run(run) => given = Some(RecordedRun { path: shown, ..*run }),
                    RunFile::Baseline(baseline) => files.push(BaselineFile { path: shown, content: Ok(*baseline) }),
                }
            }
            _ => files = project.baselines()?,
        }
        let policy = policy_file.map_or_else(|| policy::from_rules(&project.config.rules), Policy::clone);
        Ok(Bases {
            project,
            against,
            policy,
            override_rules: policy_file.is_some(),
            doctor: doctor::spreads(project),
            files,
            given,
            records: OnceCell::new(),
        })
    }

    pub fn records(&self) -> crate::Result<&Records<'p>> {
        if let Some(records) = self.records.get() {
            return Ok(records);
        }
        let records = Records::open(self.project)?;
        Ok(self.records.get_or_init(|| records))
    }

    pub fn faults(&self, suite: &str) -> Option<String> {
        self.records.get().and_then(|records| records.faults(suite))
    }

    /// The suite of the named file, if any.
    pub fn suite(&self) -> Option<&str> {
        self.named().map(|(suite, _)| suite)
    }

    fn named(&self) -> Option<(&str, &str)> {
        if let Some(given) = &self.given {
            return Some((&given.run.suite, &given.run.machine.class));
        }
        match (&self.against, self.files.first()?.content.as_ref()) {
            (AgainstBase::File(_), Ok(baseline)) => Some((&baseline.suite, &baseline.machine_class)),
            _ => None,
        }
    }

    /// The suites of the named commit or file, with their machine classes; a file may be compared with any class.
    pub fn measured_suites(&self) -> crate::Result<BTreeSet<(String, String)>> {
        let owned = |suite: &str, class: &str| (suite.to_owned(), class.to_owned());
        Ok(match &self.against {
            AgainstBase::Revision(revision) => {
                let runs = self.records()?.of_code(self.commit_of(revision)?.as_deref())?;
                runs.iter().map(|one| owned(&one.run.suite, &one.run.machine.class)).collect()
            }
            _ => self.named().map(|(suite, class)| owned(suite, class)).into_iter().collect(),
        })
    }

    pub fn for_run(&self, run: &Run) -> crate::Result<GateBase> {
        match &self.against {
            AgainstBase::File(_) if self.given.is_some() => self.of_run(run),
            AgainstBase::File(_) | AgainstBase::Baseline => self.of_file(&run.suite, &run.machine.class),
            AgainstBase::History => self.of_history(run),
            AgainstBase::Revision(revision) => self.of_revision(run, revision),
            AgainstBase::Usual => {
                let file = self.of_file(&run.suite, &run.machine.class)?;
                if file.baseline.is_some() || self.project.find_store().is_none() {
                    return Ok(file);
                }
                let release = self.of_last_release(run)?;
                if release.baseline.is_some() {
                    return Ok(release);
                }
                let history = self.of_history(run)?;
                if history.baseline.is_some() {
                    return Ok(history);
                }
                let advice = "`sprag baseline emit` takes a baseline";
                Ok(GateBase::absent(format!("{}, and {}; {advice}", file.label, history.label)))
            }
        }
    }

    pub fn of_file(&self, suite: &str, class: &str) -> crate::Result<GateBase> {
        let file = match (&self.against, self.files.first()) {
            (AgainstBase::File(_), Some(only)) => digest::usable(only, suite),
            _ => digest::find_baseline(&self.files, suite, class),
        };
        match file {
            Ok((path, baseline)) => {
                let commit = baseline.commit.as_deref().map_or("no commit", |sha| text::short(sha, 12));
                let dirty = if baseline.dirty { ", changed files" } else { "" };
                let partial = if baseline.partial { ", some benchmarks only" } else { "" };
                let date = baseline.timestamp_utc.format("%Y-%m-%d");
                let label = format!("{path} (of {commit}, {date}{dirty}{partial})");
                Ok(GateBase { label, baseline: Some(self.overridden(baseline.clone())) })
            }
            // An unusable baseline must never look like an absent one.
            Err(fault @ NoBaseline::Unusable { .. }) => {
                let hint = "fix the file, or move it away and take a new one with `sprag baseline emit`";
                refuse(fault.to_string(), hint)
            }
            Err(fault @ NoBaseline::Absent(_)) => Ok(GateBase::absent(fault.to_string())),
        }
    }

    /// The baseline file of a suite and class, if usable.
    pub fn path_of(&self, suite: &str, class: &str) -> Option<&str> {
        digest::find_baseline(&self.files, suite, class).ok().map(|(path, _)| path)
    }

    /// What a suite without a run lacks: its baseline, the named file or revision, or this machine's newest run of it.
    pub fn of_absent(&self, suite: &str, class: &str, machine: &str) -> crate::Result<GateBase> {
        let newest = match &self.against {
            AgainstBase::File(_) => match &self.given {
                Some(given) => Some(given).filter(|one| one.run.suite == suite).cloned(),
                None => return self.of_file(suite, class),
            },
            AgainstBase::Baseline => return self.of_file(suite, class),
            AgainstBase::Usual => {
                let file = self.of_file(suite, class)?;
                if file.baseline.is_some() || self.project.find_store().is_none() {
                    return Ok(file);
                }
                self.records()?.newest(suite, machine)?
            }
            AgainstBase::History => self.records()?.newest(suite, machine)?,
            AgainstBase::Revision(revision) => {
                let mut runs = self.records()?.at(Some(suite), self.sha_of(revision, suite)?.as_deref())?;
                runs.retain(|one| one.run.machine.class == class);
                runs.pop()
            }
        };
        let Some(newest) = newest else { return Ok(GateBase::absent("nothing, since it has no run")) };
        let day = newest.run.timestamp.format("%Y-%m-%d");
        Ok(GateBase {
            label: format!("its newest run ({day})"),
            baseline: reference::baseline(&[&newest], &[], Ground::Own, &self.policy, &self.doctor),
        })
    }

    /// `None` if the revision holds only records.
    pub fn commit_of(&self, revision: &str) -> crate::Result<Option<String>> {
        Ok(history::commit_at(self.project.store()?, revision)?.map(|commit| commit.sha))
    }

    /// The commit where the suite was measured for a revision.
    fn sha_of(&self, revision: &str, suite: &str) -> crate::Result<Option<String>> {
        let of_suite = |sha: String| self.records()?.measured_for(&sha, &|one| one.suite() == suite);
        self.commit_of(revision)?.map(of_suite).transpose()
    }

    pub fn of_any_class(&self, suite: &str) -> Option<&str> {
        self.files.iter().find_map(|file| digest::usable(file, suite).ok()).map(|(path, _)| path)
    }

    fn overridden(&self, mut baseline: Baseline) -> Baseline {
        if self.override_rules {
            for (key, metric) in &mut baseline.metrics {
                metric.rule = reference::rule(&self.policy, key, metric.session_noise.as_ref(), metric.sessions);
            }
        }
        baseline
    }

    fn of_history(&self, run: &Run) -> crate::Result<GateBase> {
        let records = self.records()?;
        let sha = |run: &Run| run.commit.as_ref().map(|commit| commit.sha.clone());
        // Other runs of the judged commit say nothing about the time before it, unless files were changed since.
        let own = sha(run).filter(|_| run.commit.as_ref().is_some_and(|commit| !commit.dirty));
        let other = |one: &Run| own.is_none() || sha(one) != own;
        let alike = |one: &Run| other(one) && one.environment.key == run.environment.key;
        // What a file of another tool says nothing of is measured now.
        let is_untimed = run.is_imported() && run.timestamp == DateTime::UNIX_EPOCH;
        let time = if is_untimed { clock::now() } else { run.timestamp };
        let mut runs = records.before(run, time, &alike)?;
        if runs.is_empty() {
            // These are not comparable, but show what differs in the environment.
            runs = records.before(run, time, &other)?;
            let key = runs.last().map(|one| one.run.environment.key.clone());
            runs.retain(|one| Some(&one.run.environment.key) == key.as_ref());
        }
        let Some((newest, before)) = runs.split_last() else {
            return Ok(GateBase::absent("the history has no run before this one"));
        };
        let times: Vec<_> = runs.iter().map(|one| (one.run.timestamp, 1.0)).collect();
        let day = |run: &RecordedRun| run.run.timestamp.format("%Y-%m-%d").to_string();
        let label = match (session_noise::sessions(&times).len(), day(&runs[0]), day(newest)) {
            (1, _, day) => format!("the session before it ({day})"),
            (sessions, from, to) if from == to => format!("the last {sessions} sessions before it ({from})"),
            (sessions, from, to) => format!("the last {sessions} sessions before it ({from} to {to})"),
        };
        let before: Vec<&RecordedRun> = before.iter().collect();
        Ok(GateBase {
            label,
            baseline: reference::baseline(&[newest], &before, Ground::Settled, &self.policy, &self.doctor),
        })
    }

    /// The run of the named file, with the history of its series.
    fn of_run(&self, run: &Run) -> crate::Result<GateBase> {
        let given = self.given.as_ref().context("no run was named")?;
        let RecordedRun { path, run: base, .. } = given;
        if base.suite != run.suite {
            let message = format!("`{path}` is a run of the suite `{}`, not of `{}`", base.suite, run.suite);
            return refuse(message, "compare a run with one of its own suite");
        }
        if base == run {
            let message = format!("`{}` is the run to judge itself", text::printable(path));
            return refuse(message, "name another run, a commit, a tag, `baseline` or `history`");
        }
        let before = match self.project.find_store() {
            Some(_) if !base.is_imported() => {
                let alike = |one: &Run| one.environment.key == base.environment.key;
                self.records()?.before(base, base.timestamp, &alike)?
            }
            _ => Vec::new(),
        };
        let past: Vec<&RecordedRun> = before.iter().collect();
        let baseline = reference::baseline(&[given], &past, Ground::Own, &self.policy, &self.doctor);
        let why = if baseline.is_some() { "" } else { ", which has nothing to judge" };
        Ok(GateBase { label: format!("{}{why}", text::printable(path)), baseline })
    }

    fn of_revision(&self, run: &Run, revision: &str) -> crate::Result<GateBase> {
        let sha = self.sha_of(revision, &run.suite)?;
        let sha = sha.as_deref();
        let short = sha.and_then(|sha| sha.get(..12)).unwrap_or("no commit");
        if sha.is_some() && run.commit.as_ref().is_some_and(|own| Some(own.sha.as_str()) == sha && !own.dirty) {
            let message = format!("`{}` is {short}: both sides are the same commit", text::printable(revision));
            return refuse(message, "name an earlier commit, a tag, `baseline` or `history`");
        }
        let shown =
            if short == revision { short.to_owned() } else { format!("{} ({short})", text::printable(revision)) };
        self.of_commit(run, sha, &shown)
    }

    fn of_last_release(&self, run: &Run) -> crate::Result<GateBase> {
        let store = self.project.store()?;
        let commit = run.commit.as_ref();
        let from = commit.map(|commit| commit.sha.as_str()).filter(|sha| history::has_commit(store, sha));
        // With uncommitted changes, the release at HEAD is an earlier one.
        let own = commit.filter(|commit| !commit.dirty).map(|commit| commit.sha.as_str());
        let line = history::commit_line(store, from).context("cannot read the commits")?;
        let releases = line.commits.iter().rev().filter(|commit| Some(commit.sha.as_str()) != own);
        let mut passed = Vec::new();
        for (commit, tag) in releases.filter_map(|one| Some((one, one.tags.iter().find(|tag| is_version(tag))?))) {
            let tag = text::printable(tag);
            let GateBase { label, baseline } = self.of_commit(run, Some(&commit.sha), &format!("the release {tag}"))?;
            if baseline.is_some() {
                let newer = if passed.is_empty() { String::new() } else { format!(" (none of {})", passed.join(", ")) };
                return Ok(GateBase { label: label + &newer, baseline });
            }
            passed.push(tag);
        }
        Ok(GateBase::absent("no release has a run"))
    }

    fn of_commit(&self, run: &Run, sha: Option<&str>, shown: &str) -> crate::Result<GateBase> {
        let records = self.records()?;
        let mut runs = records.at(Some(&run.suite), sha)?;
        runs.retain(|one| one.run.machine.class == run.machine.class);
        if runs.iter().any(|one| one.run.machine.id == run.machine.id) {
            runs.retain(|one| one.run.machine.id == run.machine.id);
        }
        // The environment of the run, else the newest.
        let keys: Vec<String> = runs.iter().map(|one| one.run.environment.key.clone()).collect();
        let key = keys.iter().find(|key| **key == run.environment.key).or(keys.last()).cloned();
        let machine = runs.last().map(|one| one.run.machine.id.clone());
        runs.retain(|one| {
            Some(&one.run.environment.key) == key.as_ref() && Some(&one.run.machine.id) == machine.as_ref()
        });
        let Some(first) = runs.first() else {
            let class = text::printable(&run.machine.class);
            return Ok(GateBase::absent(format!("no run of {} at {shown} on {class}", run.suite)));
        };
        let alike = |one: &Run| one.environment.key == first.run.environment.key;
        let before = records.before(&first.run, first.run.timestamp, &alike)?;
        let (own, past): (Vec<&RecordedRun>, Vec<&RecordedRun>) = (runs.iter().collect(), before.iter().collect());
        Ok(GateBase {
            label: format!("{shown}, {}", text::count(runs.len(), "run")),
            baseline: reference::baseline(&own, &past, Ground::Own, &self.policy, &self.doctor),
        })
    }

    /// Fails if a commit has no record; names the nearest that have. `otherwise` is the other way out.
    pub fn refuse_unmeasured(&self, revision: &str, otherwise: &str) -> crate::Result<()> {
        let store = self.project.store()?;
        let Some(commit) = history::commit_at(store, revision)? else { return Ok(()) };
        let measured = self.records()?.measured_for(&commit.sha, &|_| true)?;
        if self.records()?.listing.entries.iter().any(|one| one.commit() == text::short(&measured, 12)) {
            return Ok(());
        }
        let nearest = self.records()?.near(commit.short(), &|_| true)?;
        let shown = text::printable(revision);
        let message = format!("`{shown}` ({}) has no recorded run", commit.short());
        let hint = format!("measure it with `sprag run --commit {shown} --record`, or {otherwise}{nearest}");
        Err(Advice::new(message, hint).because(Cause::Unmeasured).into())
    }
}

/// `1.2`, `v1.2.3`, `v2.0.0-rc1`.
fn is_version(tag: &str) -> bool {
    let number = tag.strip_prefix(['v', 'V']).unwrap_or(tag);
    number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.')
}

#[cfg(test)]
mod tests {
    use super::is_version;

    #[test]
    fn versions_are_recognised_among_tags() {
        assert!(["1.2", "v1.2.3", "V2.0.0-rc1", "0.1"].into_iter().all(is_version));
        assert!(!["nightly", "v2", "perf-base", "2026", "x1.2", ""].into_iter().any(is_version));
    }
}
