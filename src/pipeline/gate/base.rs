//! What a run is held against: a baseline file, the runs of another commit, or the sessions before it.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use super::records::Records;
use crate::project::Project;
use crate::run_file::{self, RunFile};
use crate::{Advice, policy};
use sprag_analysis::digest;
use sprag_analysis::reference::{self, Level};
use sprag_history::{self as history, HistoryError};
use sprag_model::analysis::NoBaseline;
use sprag_model::baseline::{Baseline, BaselineFile};
use sprag_model::rule::Policy;
use sprag_model::run::{RecordedRun, Run};

/// What a gate was told to hold runs against.
#[derive(Clone, Debug, PartialEq)]
pub enum Against {
    /// The baseline of the class, else the last release, else the sessions before.
    Usual,
    /// The baseline of the class only.
    Baseline,
    History,
    File(PathBuf),
    /// The runs of this commit, as it was named.
    Revision(String),
}

/// What a run of a suite is held against.
pub struct Base {
    /// In words; why there is nothing where `baseline` is absent.
    pub label: String,
    /// The values and rules.
    pub baseline: Option<Baseline>,
}

/// All that runs may be held against.
pub struct Bases<'p> {
    pub(super) project: &'p Project,
    pub(super) against: Against,
    pub(super) policy: Policy,
    /// Rules that go before those of baseline files.
    override_rules: bool,
    files: Vec<BaselineFile>,
    /// The run of the file that was named.
    pub(super) given: Option<RecordedRun>,
    /// Listed when it is first asked for.
    records: OnceCell<Records<'p>>,
}

/// One suite that a base has numbers of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeasuredSuite {
    pub suite: String,
    /// The class of machine that it ran on.
    pub class: String,
    /// Whether what is held against it may be of any class, as where the base is a file.
    pub for_any_class: bool,
}

impl Against {
    /// Reads `baseline`, `history`, the path of a file, or a revision. What git knows is not taken for a file unless it
    /// is written as a path, since a checkout may hold a file of any name.
    pub fn parse(project: &Project, folder: &Path, text: Option<&str>) -> crate::Result<Against> {
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
    pub fn open(project: &'p Project, against: Against, policy_file: Option<&Policy>) -> crate::Result<Bases<'p>> {
        let (mut files, mut given) = (Vec::new(), None);
        match &against {
            Against::File(path) => {
                // As others see it: reports are read elsewhere.
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
            files,
            given,
            records: OnceCell::new(),
        })
    }

    /// The records of the project.
    pub fn records(&self) -> crate::Result<&Records<'p>> {
        if let Some(records) = self.records.get() {
            return Ok(records);
        }
        let records = Records::open(self.project)?;
        Ok(self.records.get_or_init(|| records))
    }

    /// What speaks against numbers of a suite as far as they rest on records.
    pub fn faults(&self, suite: &str) -> Option<String> {
        self.records.get().and_then(|records| records.faults(suite))
    }

    /// The suite that the file is of which was named; absent where none was.
    pub fn suite(&self) -> Option<&str> {
        self.named().map(|(suite, _)| suite)
    }

    /// The suite and class of the file that was named.
    fn named(&self) -> Option<(&str, &str)> {
        if let Some(given) = &self.given {
            return Some((&given.run.suite, &given.run.machine.class));
        }
        match (&self.against, self.files.first()?.content.as_ref()) {
            (Against::File(_), Ok(baseline)) => Some((&baseline.suite, &baseline.machine_class)),
            _ => None,
        }
    }

    /// All that a named commit or file has numbers of, no suite and class twice; nothing where neither was named.
    pub fn measured_suites(&self) -> crate::Result<Vec<MeasuredSuite>> {
        let measured = |suite: &str, class: &str, for_any_class| MeasuredSuite {
            suite: suite.to_owned(),
            class: class.to_owned(),
            for_any_class,
        };
        let mut found: Vec<MeasuredSuite> = match &self.against {
            Against::Revision(revision) => {
                let runs = self.records()?.at(None, self.sha_of(revision)?.as_deref())?;
                runs.iter().map(|one| measured(&one.run.suite, &one.run.machine.class, false)).collect()
            }
            Against::File(_) => self.named().map(|(suite, class)| measured(suite, class, true)).into_iter().collect(),
            Against::Usual | Against::Baseline | Against::History => Vec::new(),
        };
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// What a run is held against.
    pub fn for_run(&self, run: &Run) -> crate::Result<Base> {
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
                let release = self.of_last_release(run)?;
                if release.baseline.is_some() {
                    return Ok(release);
                }
                let history = self.of_history(run)?;
                if history.baseline.is_some() {
                    return Ok(history);
                }
                Ok(Base { label: format!("{}, and no recorded run before this one", file.label), baseline: None })
            }
        }
    }

    /// The baseline file of a suite and class of machine, whatever else it may be held against.
    pub fn of_file(&self, suite: &str, class: &str) -> crate::Result<Base> {
        let found = match (&self.against, self.files.first()) {
            (Against::File(_), Some(file)) => digest::usable(file, suite),
            _ => digest::find_baseline(&self.files, suite, class),
        };
        match found {
            Ok((path, baseline)) => {
                let of = baseline.commit.as_deref().map_or("no commit", |sha| sha.get(..12).unwrap_or(sha));
                let speaks_against =
                    [(baseline.dirty, ", changed files"), (baseline.partial, ", some benchmarks only")];
                let doubts: String =
                    speaks_against.iter().filter(|(holds, _)| *holds).map(|(_, words)| *words).collect();
                let label = format!("{path} (of {of}, {}{doubts})", baseline.timestamp_utc.format("%Y-%m-%d"));
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

    /// The path of the baseline file of a suite and class, where it can be used.
    pub fn path_of(&self, suite: &str, class: &str) -> Option<&str> {
        digest::find_baseline(&self.files, suite, class).ok().map(|(path, _)| path)
    }

    /// What a suite without a run is held against, so that all of it is missing: its baseline, the run of the file or the
    /// runs of the revision that was named, or else the newest run that this machine ever recorded of it.
    pub fn of_absent(&self, suite: &str, class: &str, machine: &str) -> crate::Result<Base> {
        let newest = match &self.against {
            Against::File(_) => match &self.given {
                Some(given) => Some(given).filter(|one| one.run.suite == suite).cloned(),
                None => return self.of_file(suite, class),
            },
            Against::Baseline => return self.of_file(suite, class),
            Against::Usual => {
                let file = self.of_file(suite, class)?;
                if file.baseline.is_some() || self.project.find_store().is_none() {
                    return Ok(file);
                }
                self.records()?.newest(suite, machine)?
            }
            Against::History => self.records()?.newest(suite, machine)?,
            Against::Revision(revision) => {
                let mut runs = self.records()?.at(Some(suite), self.sha_of(revision)?.as_deref())?;
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

    /// The commit that a revision means; absent where it holds records alone.
    pub(super) fn sha_of(&self, revision: &str) -> crate::Result<Option<String>> {
        Ok(history::commit_at(self.project.store()?, revision)?.map(|commit| commit.sha))
    }

    /// Any baseline of the suite, of whatever class.
    pub fn of_any_class(&self, suite: &str) -> Option<&str> {
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
}
