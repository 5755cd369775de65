//! What a run is held against: a baseline file, the runs of another commit, or the sessions before it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{PolicyFile, Records};
use crate::analysis::digest;
use crate::analysis::reference::{self, Level};
use crate::analysis::restless;
use crate::cmd::project::Project;
use crate::cmd::run_file::{self, RunFile};
use crate::cmd::{Advice, policy, text};
use crate::history::{self, HistoryError};
use crate::model::analysis::NoBaseline;
use crate::model::baseline::{Baseline, BaselineFile};
use crate::model::rule::Policy;
use crate::model::run::{RecordedRun, Run};

/// What a gate was told to hold runs against.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cmd) enum Against {
    /// The baseline of the class, else the last release, else the sessions before.
    Usual,
    /// The baseline of the class only.
    Baseline,
    /// The sessions before.
    History,
    /// This baseline file.
    File(PathBuf),
    /// The runs of this commit, as it was named.
    Revision(String),
}

/// What a run of a suite is held against.
pub(in crate::cmd) struct Base {
    /// In words; why there is nothing where `baseline` is absent.
    pub(in crate::cmd) label: String,
    /// The values and rules.
    pub(in crate::cmd) baseline: Option<Baseline>,
}

/// All that runs may be held against.
pub(in crate::cmd) struct Bases<'p> {
    project: &'p Project,
    against: Against,
    policy: Policy,
    /// Rules that go before those of baseline files.
    override_rules: bool,
    files: Vec<BaselineFile>,
    /// The run of the file that was named.
    given: Option<RecordedRun>,
}

impl Against {
    /// Reads `baseline`, `history`, the path of a file, or a revision. What git knows is not taken for a file unless it
    /// is written as a path, since a checkout may hold a file of any name.
    pub(in crate::cmd) fn parse(project: &Project, folder: &Path, text: Option<&str>) -> anyhow::Result<Against> {
        let text = match text {
            None => return Ok(Against::Usual),
            Some("baseline") => return Ok(Against::Baseline),
            Some("history") => return Ok(Against::History),
            Some(text) => text,
        };
        let path = folder.join(text);
        if text.contains(std::path::is_separator) && path.is_file() {
            return Ok(Against::File(path));
        }
        match project.find_store().map(|store| history::commit_at(store, text)) {
            Some(Ok(_)) => return Ok(Against::Revision(text.to_owned())),
            Some(Err(error)) if !matches!(error, HistoryError::Revision { .. }) => return Err(error.into()),
            _ => {}
        }
        if path.is_file() {
            return Ok(Against::File(path));
        }
        Err(Advice {
            message: format!("`{}` is neither a baseline file nor a commit of this repository", text.escape_debug()),
            hint: "name a file, a commit or a tag, or write `baseline` or `history`".to_owned(),
        }
        .into())
    }
}

impl<'p> Bases<'p> {
    /// Reads the baseline files of the project.
    ///
    /// # Errors
    /// When they cannot be listed, or the file that is named is no baseline.
    pub(in crate::cmd) fn open(
        project: &'p Project,
        against: Against,
        policy_file: Option<&PolicyFile>,
    ) -> anyhow::Result<Bases<'p>> {
        let (mut files, mut given) = (Vec::new(), None);
        match &against {
            Against::File(path) => match run_file::read(path)? {
                RunFile::Run(run) => given = Some(*run),
                RunFile::Baseline(baseline) => {
                    files.push(BaselineFile { path: path.display().to_string(), content: Ok(*baseline) });
                }
            },
            _ => files = project.baselines()?,
        }
        let policy = policy_file.map_or_else(|| policy::of(&project.config.rules), |file| file.policy.clone());
        Ok(Bases { project, against, policy, override_rules: policy_file.is_some(), files, given })
    }

    /// What a run is held against.
    ///
    /// # Errors
    /// When a baseline is there and cannot be used, or the history cannot be read.
    pub(in crate::cmd) fn of(&self, run: &Run) -> anyhow::Result<Base> {
        match &self.against {
            Against::File(_) if self.given.is_some() => self.of_run(run),
            Against::File(_) | Against::Baseline => self.of_file(&run.suite, &run.machine.class),
            Against::History => self.of_history(run),
            Against::Revision(revision) => self.of_revision(run, revision),
            Against::Usual => {
                let file = self.of_file(&run.suite, &run.machine.class)?;
                if file.baseline.is_some() || self.project.find_store().is_none() {
                    return Ok(file);
                }
                for base in [self.of_last_release(run)?, self.of_history(run)?] {
                    if base.baseline.is_some() {
                        return Ok(base);
                    }
                }
                Ok(Base { label: format!("{}, and no recorded run before this one", file.label), baseline: None })
            }
        }
    }

    /// The baseline file of a suite and class of machine, whatever else it may be held against.
    ///
    /// # Errors
    /// When it is there and cannot be used.
    pub(in crate::cmd) fn of_file(&self, suite: &str, class: &str) -> anyhow::Result<Base> {
        let found = match (&self.against, self.files.first()) {
            (Against::File(_), Some(file)) => digest::usable(file, suite),
            _ => digest::find_baseline(&self.files, suite, class),
        };
        match found {
            Ok((path, baseline)) => {
                let of = baseline.commit.as_deref().map_or("no commit", |sha| sha.get(..12).unwrap_or(sha));
                let label = format!("{path} (of {of}, {})", baseline.timestamp_utc.format("%Y-%m-%d"));
                Ok(Base { label, baseline: Some(self.overridden(baseline.clone())) })
            }
            // A baseline that is there and cannot be used must never look like one that is not there.
            Err(fault @ NoBaseline::Unusable { .. }) => Err(Advice {
                message: fault.to_string(),
                hint: "mend the file, or move it away and take a new one with `sprag baseline emit`".to_owned(),
            }
            .into()),
            Err(fault @ NoBaseline::Absent(_)) => Ok(Base { label: fault.to_string(), baseline: None }),
        }
    }

    /// What a suite without a run is held against, so that all of it is missing: its baseline, the runs of the revision
    /// that was named, or else the newest run that this machine ever recorded of it.
    ///
    /// # Errors
    /// When a baseline is there and cannot be used, or the history cannot be read.
    pub(in crate::cmd) fn of_absent(&self, suite: &str, class: &str, machine: &str) -> anyhow::Result<Base> {
        let newest = match &self.against {
            Against::File(_) if self.given.is_some() => None,
            Against::File(_) | Against::Baseline => return self.of_file(suite, class),
            Against::Usual => {
                let file = self.of_file(suite, class)?;
                if file.baseline.is_some() || self.project.find_store().is_none() {
                    return Ok(file);
                }
                Records::open(self.project)?.newest(suite, machine)?
            }
            Against::History => Records::open(self.project)?.newest(suite, machine)?,
            Against::Revision(revision) => {
                let commit = history::commit_at(self.project.store()?, revision)?;
                let sha = commit.as_ref().map(|commit| commit.sha.as_str());
                let mut runs = Records::open(self.project)?.at(Some(suite), sha)?;
                runs.retain(|one| one.run.machine.class == class);
                runs.pop()
            }
        };
        let Some(newest) = newest else {
            return Ok(Base { label: "nothing, as it never had a run".to_owned(), baseline: None });
        };
        let day = newest.run.timestamp.format("%Y-%m-%d");
        Ok(Base {
            label: format!("its newest run ({day})"),
            baseline: reference::baseline(&[&newest], &[], Level::Own, &self.policy),
        })
    }

    /// Any baseline of the suite, of whatever class.
    pub(in crate::cmd) fn of_any_class(&self, suite: &str) -> Option<&str> {
        self.files.iter().find_map(|file| digest::usable(file, suite).ok()).map(|(path, _)| path)
    }

    /// The baseline with the rules of the policy file, where there is one.
    fn overridden(&self, mut baseline: Baseline) -> Baseline {
        if self.override_rules {
            for (key, metric) in &mut baseline.metrics {
                metric.rule = reference::rule(&self.policy, key, metric.restlessness.as_ref(), metric.sessions);
            }
        }
        baseline
    }

    fn of_history(&self, run: &Run) -> anyhow::Result<Base> {
        let records = Records::open(self.project)?;
        let sha = |run: &Run| run.commit.as_ref().map(|commit| commit.sha.clone());
        let own = sha(run);
        // Runs of the commit that is judged tell nothing about what was before it.
        let other = |one: &Run| own.is_none() || sha(one) != own;
        let alike = |one: &Run| other(one) && one.environment.key == run.environment.key;
        let mut runs = records.before(run, run.timestamp, &alike)?;
        if runs.is_empty() {
            // Those of another environment are not compared with; they say what differs.
            runs = records.before(run, run.timestamp, &other)?;
            let key = runs.last().map(|one| one.run.environment.key.clone());
            runs.retain(|one| Some(&one.run.environment.key) == key.as_ref());
        }
        let Some((newest, before)) = runs.split_last() else {
            return Ok(Base { label: "the history has no run before this one".to_owned(), baseline: None });
        };
        let times: Vec<_> = runs.iter().map(|one| (one.run.timestamp, 1.0)).collect();
        let sessions = text::count(restless::sessions(&times).len(), "session");
        let (from, to) = (runs[0].run.timestamp.format("%Y-%m-%d"), newest.run.timestamp.format("%Y-%m-%d"));
        let before: Vec<&RecordedRun> = before.iter().collect();
        Ok(Base {
            label: format!("the last {sessions} before it ({from} to {to})"),
            baseline: reference::baseline(&[newest], &before, Level::Standing, &self.policy),
        })
    }

    /// The run of the file that was named, with what the history of its series tells, where there is one.
    fn of_run(&self, run: &Run) -> anyhow::Result<Base> {
        let given = self.given.as_ref().context("no run was named")?;
        let RecordedRun { path, run: base, .. } = given;
        if base.suite != run.suite {
            let message = format!("`{path}` is a run of the suite `{}`, not of `{}`", base.suite, run.suite);
            let hint = "a run is held against one of its own suite".to_owned();
            return Err(Advice { message, hint }.into());
        }
        let before = match self.project.find_store() {
            Some(_) if !base.is_imported() => {
                let alike = |one: &Run| one.environment.key == base.environment.key;
                Records::open(self.project)?.before(base, base.timestamp, &alike)?
            }
            _ => Vec::new(),
        };
        let past: Vec<&RecordedRun> = before.iter().collect();
        let baseline = reference::baseline(&[given], &past, Level::Own, &self.policy);
        let why = if baseline.is_some() { "" } else { ", which has nothing to judge" };
        Ok(Base { label: format!("{}{why}", text::printable(path)), baseline })
    }

    fn of_revision(&self, run: &Run, revision: &str) -> anyhow::Result<Base> {
        let store = self.project.store()?;
        let commit = history::commit_at(store, revision)?;
        let sha = commit.as_ref().map(|commit| commit.sha.as_str());
        let short = sha.and_then(|sha| sha.get(..12)).unwrap_or("no commit");
        if sha.is_some() && run.commit.as_ref().is_some_and(|own| Some(own.sha.as_str()) == sha && !own.dirty) {
            let message = format!("`{}` is {short}, the commit that is judged itself", text::printable(revision));
            let hint = "name an earlier commit, a tag, `baseline` or `history`".to_owned();
            return Err(Advice { message, hint }.into());
        }
        let shown =
            if short == revision { short.to_owned() } else { format!("{} ({short})", text::printable(revision)) };
        self.of_commit(run, sha, &shown)
    }

    fn of_last_release(&self, run: &Run) -> anyhow::Result<Base> {
        let line = history::commit_line(self.project.store()?, None).context("cannot read the commits")?;
        let own = run.commit.as_ref().map(|commit| commit.sha.as_str());
        let releases = line.commits.iter().rev().filter(|commit| Some(commit.sha.as_str()) != own);
        for commit in releases {
            let Some(tag) = commit.tags.iter().find(|tag| is_version(tag)) else { continue };
            let base = self.of_commit(run, Some(&commit.sha), &format!("the release {}", text::printable(tag)))?;
            if base.baseline.is_some() {
                return Ok(base);
            }
        }
        Ok(Base { label: "no release has a run".to_owned(), baseline: None })
    }

    /// The runs of a commit on the machine of the run, else on another one of its class.
    fn of_commit(&self, run: &Run, sha: Option<&str>, shown: &str) -> anyhow::Result<Base> {
        let records = Records::open(self.project)?;
        let mut runs = records.at(Some(&run.suite), sha)?;
        runs.retain(|one| one.run.machine.class == run.machine.class);
        if runs.iter().any(|one| one.run.machine.id == run.machine.id) {
            runs.retain(|one| one.run.machine.id == run.machine.id);
        }
        // Of several environments that of the run, else the newest.
        let keys: Vec<String> = runs.iter().map(|one| one.run.environment.key.clone()).collect();
        let key = keys.iter().find(|key| **key == run.environment.key).or(keys.last()).cloned();
        let machine = runs.last().map(|one| one.run.machine.id.clone());
        runs.retain(|one| {
            Some(&one.run.environment.key) == key.as_ref() && Some(&one.run.machine.id) == machine.as_ref()
        });
        let Some(first) = runs.first() else {
            let class = text::printable(&run.machine.class);
            return Ok(Base { label: format!("no run of {} at {shown} on {class}", run.suite), baseline: None });
        };
        let alike = |one: &Run| one.environment.key == first.run.environment.key;
        let before = records.before(&first.run, first.run.timestamp, &alike)?;
        let (own, past): (Vec<&RecordedRun>, Vec<&RecordedRun>) = (runs.iter().collect(), before.iter().collect());
        Ok(Base {
            label: format!("{shown}, {}", text::count(runs.len(), "run")),
            baseline: reference::baseline(&own, &past, Level::Own, &self.policy),
        })
    }
}

/// Whether a tag names a version: `1.2`, `v1.2.3`, `v2.0.0-rc1`.
fn is_version(tag: &str) -> bool {
    let number = tag.strip_prefix(['v', 'V']).unwrap_or(tag);
    number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.')
}

#[cfg(test)]
mod tests {
    use super::is_version;

    #[test]
    fn versions_are_told_from_other_tags() {
        for tag in ["1.2", "v1.2.3", "V2.0.0-rc1", "0.1"] {
            assert!(is_version(tag), "{tag}");
        }
        for tag in ["nightly", "v2", "perf-base", "2026", "x1.2", ""] {
            assert!(!is_version(tag), "{tag}");
        }
    }
}
