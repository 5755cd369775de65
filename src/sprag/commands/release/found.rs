//! What the records say to each item of a checklist, by the gate's and the trend's own code.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::artifacts;
use super::gather::Gathered;
use crate::commands::study::{self, Along, Study};
use crate::commands::{Exit, exit_of, text};
use sprag_analysis::ledger::{Accepting, Held, tell_events};
use sprag_evidence::derive::{Checked, Found, FoundFile, Judged, Surroundings};
use sprag_evidence::{figures, play};
use sprag_history as history;
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::benchmark::ParityStatus;
use sprag_model::checklist::{Against, Item, Rests, Rule};
use sprag_model::gate::Outcome;
use sprag_model::ledger::answer::Answer;
use sprag_model::ledger::day;
use sprag_model::run::{RecordedRun, Run};
use sprag_model::sample::Measurement;
use sprag_model::trend::Trend;
use sprag_model::verdict::{Comparison, Verdict};
use sprag_pipeline::gate::{self, Against as GateAgainst, Base, Bases, Inconclusive};
use sprag_pipeline::trend::{self, TrendOptions};

/// What there is to look at for a release.
pub(super) struct Look<'g> {
    of: &'g Gathered,
    baselines: Bases<'g>,
    previous: Option<Bases<'g>>,
    study: OnceCell<Study>,
    trend: OnceCell<Trend>,
}

impl<'g> Look<'g> {
    /// What there is, with the history up to the commit of the release where it was studied already.
    ///
    /// # Errors
    /// When the baselines or the history cannot be read.
    pub(super) fn of(of: &'g Gathered, study: Option<Study>) -> anyhow::Result<Look<'g>> {
        let previous = of.previous.as_ref().and_then(|release| release.commit.clone());
        let previous = previous.map(|commit| Bases::open(&of.project, GateAgainst::Revision(commit), None));
        Ok(Look {
            of,
            baselines: Bases::open(&of.project, GateAgainst::Baseline, None)?,
            previous: previous.transpose()?,
            study: study.map_or_else(OnceCell::new, OnceCell::from),
            trend: OnceCell::new(),
        })
    }

    /// What was found for an item, and what that rests on.
    ///
    /// # Errors
    /// When something cannot be read. Records that do not hold together are found, too.
    pub(super) fn found(&self, item: &Item) -> anyhow::Result<(Found, Vec<Rests>)> {
        match self.look(item) {
            Err(error) if exit_of(&error) == Exit::Integrity => Ok((Found::Damaged(error.to_string()), Vec::new())),
            found => found,
        }
    }

    fn look(&self, item: &Item) -> anyhow::Result<(Found, Vec<Rests>)> {
        match &item.rule {
            Rule::SuiteVerdict { suite, against } => self.of_runs(suite, |runs| self.verdicts(runs, *against)),
            Rule::Parity { suite } => {
                self.of_runs(suite, |runs| Ok((Found::Parity(runs.iter().map(checked).collect()), Vec::new())))
            }
            Rule::Environment { suite, facts } => self.of_runs(suite, |runs| {
                let runs = runs.iter().map(|one| surroundings(&one.run, facts)).collect();
                Ok((Found::Environments(runs), Vec::new()))
            }),
            Rule::File => {
                let files = artifacts::found(item, &self.of.artifacts);
                let rests = artifacts::rests(&files);
                Ok((Found::Files(files), rests))
            }
            Rule::Replay => self.replay(item),
            Rule::EventsResolved => self.events(),
            Rule::Coverage { suites } => self.coverage(suites),
        }
    }

    /// What the runs of a suite at this commit come to, which must be there; each rests on its records.
    fn of_runs(
        &self,
        suite: &str,
        look: impl FnOnce(&[RecordedRun]) -> anyhow::Result<(Found, Vec<Rests>)>,
    ) -> anyhow::Result<(Found, Vec<Rests>)> {
        let records = self.baselines.records()?;
        let measured = &self.of.identity.measured;
        let runs = records.at(Some(suite), Some(measured))?;
        if runs.is_empty() {
            return Ok((Found::NoRun { suite: suite.to_owned() }, Vec::new()));
        }
        let short = measured.get(..12).unwrap_or(measured);
        let named = records.listing().entries.iter().filter(|one| one.suite() == suite && one.commit() == short);
        let mut rests = named.map(|one| self.of.rests(&one.path)).collect::<anyhow::Result<Vec<Rests>>>()?;
        let (found, more) = look(&runs)?;
        rests.extend(more);
        rests.sort();
        rests.dedup();
        Ok((found, rests))
    }

    /// The verdict of the gate on the newest run of each machine, its other runs beside it.
    fn verdicts(&self, runs: &[RecordedRun], against: Against) -> anyhow::Result<(Found, Vec<Rests>)> {
        let mut machines: BTreeMap<&str, Vec<&RecordedRun>> = BTreeMap::new();
        for one in runs {
            machines.entry(&one.run.machine.id).or_default().push(one);
        }
        let (mut judged, mut rests) = (Vec::new(), Vec::new());
        for runs in machines.into_values() {
            let Some((newest, again)) = runs.split_last() else { continue };
            let (base, path) = self.base(&newest.run, against)?;
            rests.extend(path.map(|path| self.of.rests(&path)).transpose()?);
            let (one, answers) = self.judged(newest, again, base)?;
            rests.extend(self.entries(answers.iter())?);
            judged.push(one);
        }
        Ok((Found::Verdicts(judged), rests))
    }

    /// What a run is held against, and the path of the file where it is one.
    fn base(&self, run: &Run, against: Against) -> anyhow::Result<(Base, Option<String>)> {
        let nothing = |label: &str| Base { label: label.to_owned(), baseline: None };
        let previous = || match &self.previous {
            Some(bases) => bases.for_run(run),
            None => Ok(nothing("nothing, as no release with a commit came before")),
        };
        if against == Against::Previous {
            return Ok((previous()?, None));
        }
        let mut file = self.baselines.of_file(&run.suite, &run.machine.class)?;
        // What was taken from the commit that is judged, or after it, says nothing about it.
        let taken = file.baseline.as_ref().and_then(|one| one.commit.clone());
        let store = self.of.project.store()?;
        let later = |taken: String| history::comes_after(store, &taken, &self.of.identity.measured);
        if taken.map(later).transpose()?.unwrap_or(false) {
            file = nothing(&format!("{}, which was not taken before it", file.label));
        }
        if file.baseline.is_none() && against == Against::Usual && self.previous.is_some() {
            return Ok((previous()?, None));
        }
        let path = file.baseline.as_ref().and_then(|_| self.baselines.path_of(&run.suite, &run.machine.class));
        Ok((file, path.map(str::to_owned)))
    }

    /// The verdict of the gate on a run, and what the ledger says to its regressions.
    fn judged(
        &self,
        newest: &RecordedRun,
        again: &[&RecordedRun],
        base: Base,
    ) -> anyhow::Result<(Judged, Vec<Answer>)> {
        let again: Vec<RecordedRun> = again.iter().map(|one| (*one).clone()).collect();
        let mut suite = gate::judge(newest, &again, base, None);
        let has_regressed = suite.comparisons.iter().any(|one| one.verdict == Verdict::Regressed);
        if has_regressed && !self.of.ledger.acceptances.is_empty() {
            let (ledger, events, line) = (&self.of.ledger, &self.trend()?.events, &self.study()?.line);
            let held = Held {
                machine: &newest.run.machine.id,
                machine_name: &newest.run.machine.name,
                base: suite.base_commit.as_deref(),
                commit: newest.run.commit.as_ref().map(|commit| commit.sha.as_str()),
            };
            Accepting::new(ledger, events, line, day(self.of.as_of)).tell(&held, &mut suite.comparisons);
        }
        let answers: Vec<Answer> = suite.comparisons.iter().filter_map(|one| one.answer.as_deref()).cloned().collect();
        let is_accepted = |one: &Comparison| one.answer.as_ref().is_some_and(|answer| answer.is_accepted());
        let is_worse =
            |one: &&Comparison| matches!(one.verdict, Verdict::Regressed | Verdict::Missing) && !is_accepted(one);
        let worse = suite.comparisons.iter().filter(is_worse).map(|one| one.benchmark.clone()).collect();
        let suites = [suite];
        let exit = gate::exit_code(&suites, true, Inconclusive::Report);
        let [suite] = &suites;
        let judged = Judged {
            machine: newest.run.machine.name.clone(),
            outcome: match exit {
                Exit::Done => Outcome::Pass,
                Exit::Inconclusive => Outcome::Inconclusive,
                Exit::NotMeasured => Outcome::NotMeasured,
                _ => Outcome::Fail,
            },
            counts: suite.counts(),
            against: suite.against.clone(),
            worse,
            nearest: figures::nearest(&suite.comparisons),
        };
        Ok((judged, answers))
    }

    fn replay(&self, item: &Item) -> anyhow::Result<(Found, Vec<Rests>)> {
        let files = artifacts::found(item, &self.of.artifacts);
        let rests = artifacts::rests(&files);
        let first = item.files.first().and_then(|needed| self.of.artifacts.get(&needed.key));
        let faults = match first.map(|artifact| (std::fs::read(&artifact.file), &artifact.path)) {
            Some((Ok(bytes), path)) => play::faults(&bytes, Path::new(path), &|named| digest_in(&files, named))
                .map_err(|error| format!("{:#}", anyhow::Error::from(error))),
            // Of what is not there, or is no file, the list of files tells.
            Some((Err(error), _)) => Err(error.to_string()),
            None => Ok(Vec::new()),
        };
        Ok((Found::Replay(files, faults), rests))
    }

    /// The history up to the commit of the release.
    fn study(&self) -> anyhow::Result<&Study> {
        if let Some(study) = self.study.get() {
            return Ok(study);
        }
        let along = Along { revision: Some(&self.of.identity.measured), all_parents: false };
        let study = study::study_along(&self.of.project, along)?;
        Ok(self.study.get_or_init(|| study))
    }

    fn trend_of(&self, selected: &(dyn Fn(&SeriesAnalysis) -> bool + Sync)) -> anyhow::Result<Trend> {
        let study = self.study()?;
        // As on the site, the present is the newest run: what is overdue by then was left out, not forgotten since.
        let wish = TrendOptions::events(study.present());
        let mut trend = trend::analyse(&self.of.project, study, &wish, selected)?.trend;
        tell_events(&mut trend.events, &self.of.ledger, day(self.of.as_of));
        Ok(trend)
    }

    fn trend(&self) -> anyhow::Result<&Trend> {
        if let Some(trend) = self.trend.get() {
            return Ok(trend);
        }
        let trend = self.trend_of(&|_| true)?;
        Ok(self.trend.get_or_init(|| trend))
    }

    fn events(&self) -> anyhow::Result<(Found, Vec<Rests>)> {
        let trend = self.trend()?;
        let (mut open, mut accepted) = (Vec::new(), Vec::new());
        let mut answers = Vec::new();
        for event in trend.events.iter().filter(|event| event.is_ongoing_regression()) {
            let size = event.worst.map_or(String::new(), |worst| format!(", {} at worst", text::percent(worst)));
            let words = format!("{} at {}{size}", event.id, event.first_bad.short());
            match &event.answer {
                Some(answer) if answer.is_accepted() => accepted.push(format!("{words}, by {}", answer.author)),
                Some(answer) => open.push(format!("{words}, {}", answer.words())),
                None => open.push(words),
            }
            answers.extend(&event.answer);
        }
        let rests = self.entries(answers.into_iter())?;
        Ok((Found::Events { series: trend.series.len(), open, accepted }, rests))
    }

    /// The files of the ledger in which answers stand.
    fn entries<'a>(&self, answers: impl Iterator<Item = &'a Answer>) -> anyhow::Result<Vec<Rests>> {
        let path = |answer: &'a Answer| answer.entry.rsplit_once(':').map_or(answer.entry.as_str(), |(path, _)| path);
        let paths: BTreeSet<&str> = answers.map(path).collect();
        paths.into_iter().map(|path| self.of.rests(path)).collect()
    }

    fn coverage(&self, suites: &BTreeSet<String>) -> anyhow::Result<(Found, Vec<Rests>)> {
        let coverage = match suites.is_empty() {
            true => self.trend()?.coverage.clone(),
            false => self.trend_of(&|one| suites.contains(&one.series.suite))?.coverage,
        };
        Ok((Found::Coverage(coverage), Vec::new()))
    }
}

/// The digest of a file of an item by the path that a manifest names: that path itself, else the only file of that name.
fn digest_in(files: &[FoundFile], named: &str) -> Result<String, String> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let exact = files.iter().find(|file| file.needed.path == named);
    let alike: Vec<&FoundFile> = files.iter().filter(|file| name(&file.needed.path) == name(named)).collect();
    let found = match (exact, &alike[..]) {
        (Some(exact), _) => exact,
        (None, [only]) => only,
        _ => return Err("is no artifact of the item".to_owned()),
    };
    let content = found.content.as_ref().ok_or_else(|| "is not there".to_owned())?;
    Ok(content.0.clone())
}

fn checked(recorded: &RecordedRun) -> Checked {
    let run = &recorded.run;
    let kernels = || run.measurements.iter().filter(|one| !one.role.is_auxiliary(&one.benchmark.variant));
    let of = |status: &[ParityStatus]| -> Vec<String> {
        let found = kernels().filter(|one: &&Measurement| status.contains(&one.parity.status));
        found.map(|one| one.benchmark.id()).collect()
    };
    Checked {
        machine: run.machine.name.clone(),
        checked: of(&[ParityStatus::Exact, ParityStatus::Within]).len(),
        wrong: of(&[ParityStatus::Mismatch]),
        unchecked: of(&[ParityStatus::Unchecked]),
    }
}

fn surroundings(run: &Run, facts: &[String]) -> Surroundings {
    Surroundings {
        machine: run.machine.name.clone(),
        key: run.environment.key.clone(),
        dirty: run.commit.as_ref().is_none_or(|commit| commit.dirty),
        missing: facts.iter().filter(|fact| !run.environment.facts.contains_key(*fact)).cloned().collect(),
    }
}
