//! Recorded runs as what others are held against: those of a commit, of the last release, of a file, or of the sessions
//! before.

use crate::error::Context as _;

use super::base::{Base, Bases};
use crate::{Advice, Trouble, text};
use sprag_analysis::reference::{self, Level};
use sprag_analysis::session_noise;
use sprag_history as history;
use sprag_model::run::{RecordedRun, Run};

impl Bases<'_> {
    pub(super) fn of_history(&self, run: &Run) -> crate::Result<Base> {
        let records = self.records()?;
        let sha = |run: &Run| run.commit.as_ref().map(|commit| commit.sha.clone());
        // Runs of the commit that is judged tell nothing about what was before it; where files were changed since, they do.
        let own = sha(run).filter(|_| run.commit.as_ref().is_some_and(|commit| !commit.dirty));
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
        let sessions = text::count(session_noise::sessions(&times).len(), "session");
        let (from, to) = (runs[0].run.timestamp.format("%Y-%m-%d"), newest.run.timestamp.format("%Y-%m-%d"));
        let before: Vec<&RecordedRun> = before.iter().collect();
        Ok(Base {
            label: format!("the last {sessions} before it ({from} to {to})"),
            baseline: reference::baseline(&[newest], &before, Level::Settled, &self.policy),
        })
    }

    /// The run of the file that was named, with what the history of its series tells, where there is one.
    pub(super) fn of_run(&self, run: &Run) -> crate::Result<Base> {
        let given = self.given.as_ref().context("no run was named")?;
        let RecordedRun { path, run: base, .. } = given;
        if base.suite != run.suite {
            let message = format!("`{path}` is a run of the suite `{}`, not of `{}`", base.suite, run.suite);
            let hint = "compare a run with one of its own suite".to_owned();
            return Err(Advice { message, hint }.into());
        }
        if base == run {
            let message = format!("`{}` is the run to judge itself", text::printable(path));
            let hint = "name another run, a commit, a tag, `baseline` or `history`".to_owned();
            return Err(Advice { message, hint }.into());
        }
        let before = match self.project.find_store() {
            Some(_) if !base.is_imported() => {
                let alike = |one: &Run| one.environment.key == base.environment.key;
                self.records()?.before(base, base.timestamp, &alike)?
            }
            _ => Vec::new(),
        };
        let past: Vec<&RecordedRun> = before.iter().collect();
        let baseline = reference::baseline(&[given], &past, Level::Own, &self.policy);
        let why = if baseline.is_some() { "" } else { ", which has nothing to judge" };
        Ok(Base { label: format!("{}{why}", text::printable(path)), baseline })
    }

    pub(super) fn of_revision(&self, run: &Run, revision: &str) -> crate::Result<Base> {
        let sha = self.sha_of(revision)?;
        let sha = sha.as_deref();
        let short = sha.and_then(|sha| sha.get(..12)).unwrap_or("no commit");
        if sha.is_some() && run.commit.as_ref().is_some_and(|own| Some(own.sha.as_str()) == sha && !own.dirty) {
            let message = format!("`{}` is {short}: both sides are the same commit", text::printable(revision));
            let hint = "name an earlier commit, a tag, `baseline` or `history`".to_owned();
            return Err(Advice { message, hint }.into());
        }
        let shown =
            if short == revision { short.to_owned() } else { format!("{} ({short})", text::printable(revision)) };
        self.of_commit(run, sha, &shown)
    }

    pub(super) fn of_last_release(&self, run: &Run) -> crate::Result<Base> {
        let store = self.project.store()?;
        let commit = run.commit.as_ref();
        let from = commit.map(|commit| commit.sha.as_str()).filter(|sha| history::has_commit(store, sha));
        // Where files were changed since, the release that they were changed from is one before.
        let own = commit.filter(|commit| !commit.dirty).map(|commit| commit.sha.as_str());
        let line = history::commit_line(store, from).context("cannot read the commits")?;
        let releases = line.commits.iter().rev().filter(|commit| Some(commit.sha.as_str()) != own);
        let mut passed = Vec::new();
        for commit in releases {
            let Some(tag) = commit.tags.iter().find(|tag| is_version(tag)) else { continue };
            let tag = text::printable(tag);
            let Base { label, baseline } = self.of_commit(run, Some(&commit.sha), &format!("the release {tag}"))?;
            if baseline.is_some() {
                let newer = if passed.is_empty() { String::new() } else { format!(" (none of {})", passed.join(", ")) };
                return Ok(Base { label: label + &newer, baseline });
            }
            passed.push(tag);
        }
        Ok(Base { label: "no release has a run".to_owned(), baseline: None })
    }

    /// The runs of a commit on the machine of the run, else on another one of its class.
    fn of_commit(&self, run: &Run, sha: Option<&str>, shown: &str) -> crate::Result<Base> {
        let records = self.records()?;
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

    /// Fails where a commit has no record, and names those near it that have; `otherwise` says what else can be done.
    pub fn refuse_unmeasured(&self, revision: &str, otherwise: &str) -> crate::Result<()> {
        let store = self.project.store()?;
        let Some(commit) = history::commit_at(store, revision)? else { return Ok(()) };
        if self.records()?.listing().entries.iter().any(|one| one.commit() == commit.short()) {
            return Ok(());
        }
        let nearest = self.records()?.near(commit.short(), &|_| true)?;
        let shown = text::printable(revision);
        Err(Trouble::Unmeasured(Advice {
            message: format!("`{shown}` ({}) has no recorded run", commit.short()),
            hint: format!("measure it with `sprag run --commit {shown} --record`, or {otherwise}{nearest}"),
        })
        .into())
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
