//! The evidence on each item of a checklist, from the gate and the trend.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::load::LoadedRelease;
use crate::Error;
use crate::gate::{self, AgainstBase as GateAgainst, Bases, GateBase};
use crate::study::{self, Along, Study};
use crate::text;
use crate::trend::{self, TrendOptions};
use sprag_analysis::ledger::answer_events;
use sprag_evidence::derive::{self, EnvironmentResult, FileEvidence, ItemFinding, ParityResult, SuiteStatus};
use sprag_evidence::play;
use sprag_evidence::release::artifacts;
use sprag_evidence::release::fill::{self, FilledWithFigures};
use sprag_evidence::release::inputs::ReleaseInputs;
use sprag_history::{self as history, Store};
use sprag_model::checklist::{FilledChecklist, Item, ItemBase, Need, Rests};
use sprag_model::ledger::day;
use sprag_model::{Answer, Comparison, ParityStatus, RecordedRun, Run, Series, Trend, Verdict};

type FindingAndSources = (ItemFinding, Vec<Rests>);

/// Every status is derived from the records.
pub fn fill(release: &LoadedRelease) -> crate::Result<FilledChecklist> {
    Ok(fill_studied(release, None)?.0)
}

/// `study` is that of the history up to the commit of the release, if known.
pub(super) fn fill_studied(release: &LoadedRelease, study: Option<Study>) -> crate::Result<FilledWithFigures> {
    let LoadedRelease { project, inputs } = release;
    let store = project.store()?;
    let previous = inputs.previous().and_then(|release| release.commit.clone());
    let previous = previous.map(|commit| Bases::open(project, GateAgainst::Revision(commit), None));
    let reader = Reader {
        release,
        inputs,
        store,
        baselines: Bases::open(project, GateAgainst::Baseline, None)?,
        previous: previous.transpose()?,
        study: study.map_or_else(OnceCell::new, OnceCell::from),
        trend: OnceCell::new(),
    };
    fill::fill(inputs, store, |item| match reader.read(item) {
        Err(error) if error.is_damage() => Ok((ItemFinding::Damaged(error.to_string()), Vec::new())),
        finding => finding,
    })
}

struct Reader<'r> {
    release: &'r LoadedRelease,
    inputs: &'r ReleaseInputs,
    store: &'r Store,
    baselines: Bases<'r>,
    previous: Option<Bases<'r>>,
    study: OnceCell<Study>,
    trend: OnceCell<Trend>,
}

impl Reader<'_> {
    fn read(&self, item: &Item) -> crate::Result<FindingAndSources> {
        match &item.rule {
            Need::SuiteVerdict { suite, against } => self.suite(suite, |runs| self.verdicts(runs, *against)),
            Need::Parity { suite } => {
                self.suite(suite, |runs| Ok((ItemFinding::Parity(runs.iter().map(parity).collect()), Vec::new())))
            }
            Need::Environment { suite, facts } => self.suite(suite, |runs| {
                let results = runs.iter().map(|one| environment(&one.run, facts)).collect();
                Ok((ItemFinding::Environments(results), Vec::new()))
            }),
            Need::File => {
                let files = artifacts::read_all(item, &self.inputs.artifacts);
                let rests = artifacts::rests(&files);
                Ok((ItemFinding::Files(files), rests))
            }
            Need::Replay => Ok(self.replay(item)),
            Need::EventsResolved => self.events(),
            Need::Coverage { suites } => self.coverage(suites),
        }
    }

    /// Calls `judge` with the runs of a suite at the commit of the release, if there are any.
    fn suite(
        &self,
        suite: &str,
        judge: impl FnOnce(&[RecordedRun]) -> crate::Result<FindingAndSources>,
    ) -> crate::Result<FindingAndSources> {
        let records = self.baselines.records()?;
        let measured = &self.inputs.identity.measured;
        let runs = records.at(Some(suite), Some(measured))?;
        if runs.is_empty() {
            return Ok((ItemFinding::NoRun { suite: suite.to_owned() }, Vec::new()));
        }
        let (finding, mut rests) = judge(&runs)?;
        let entries = records.listing.entries.iter();
        for entry in entries.filter(|one| one.suite() == suite && measured.starts_with(one.commit())) {
            rests.push(self.rests(&entry.path)?);
        }
        rests.sort();
        rests.dedup();
        Ok((finding, rests))
    }

    fn verdicts(&self, runs: &[RecordedRun], against: ItemBase) -> crate::Result<FindingAndSources> {
        let mut machines: BTreeMap<&str, Vec<RecordedRun>> = BTreeMap::new();
        for one in runs {
            machines.entry(&one.run.machine.id).or_default().push(one.clone());
        }
        let (mut results, mut rests) = (Vec::new(), Vec::new());
        for runs in machines.into_values() {
            let Some((newest, reruns)) = runs.split_last() else { continue };
            let (base, path) = self.base(&newest.run, against)?;
            rests.extend(path.map(|path| self.rests(&path)).transpose()?);
            let (result, answers) = self.judge(newest, reruns, base)?;
            rests.extend(self.ledger_files(answers.iter())?);
            results.push(result);
        }
        Ok((ItemFinding::Verdicts(results), rests))
    }

    fn base(&self, run: &Run, against: ItemBase) -> crate::Result<(GateBase, Option<String>)> {
        let previous = || match &self.previous {
            Some(bases) => bases.for_run(run),
            None => Ok(GateBase::absent("nothing, as no release with a commit came before")),
        };
        if against == ItemBase::Previous {
            return Ok((previous()?, None));
        }
        let mut file = self.baselines.of_file(&run.suite, &run.machine.class)?;
        // A baseline of the judged commit or a later one says nothing about it.
        let taken = file.baseline.as_ref().and_then(|one| one.commit.clone());
        let later = |taken: String| history::comes_after(self.store, &taken, &self.inputs.identity.measured);
        if taken.map(later).transpose()?.unwrap_or(false) {
            file = GateBase::absent(format!("{}, which was not taken before it", file.label));
        }
        if file.baseline.is_none() && against == ItemBase::Usual && self.previous.is_some() {
            return Ok((previous()?, None));
        }
        let path = file.baseline.as_ref().and_then(|_| self.baselines.path_of(&run.suite, &run.machine.class));
        Ok((file, path.map(str::to_owned)))
    }

    fn judge(
        &self,
        newest: &RecordedRun,
        reruns: &[RecordedRun],
        base: GateBase,
    ) -> crate::Result<(SuiteStatus, Vec<Answer>)> {
        let mut suite = gate::judge(newest, reruns, base, None);
        let ledger = &self.inputs.declared.ledger;
        let has_regressed = suite.comparisons.iter().any(|one| one.verdict == Verdict::Regressed);
        if has_regressed && !ledger.acceptances.is_empty() {
            let (events, line) = (&self.trend()?.events, &self.study()?.line);
            let base = suite.base_commit.as_deref();
            let today = day(self.inputs.as_of);
            trend::answer_run(ledger, events, line, today, (&newest.run, base, &mut suite.comparisons));
        }
        let answers: Vec<Answer> = suite.comparisons.iter().filter_map(|one| one.answer.as_deref()).cloned().collect();
        let is_worse =
            |one: &&Comparison| matches!(one.verdict, Verdict::Regressed | Verdict::Missing) && !one.is_accepted();
        let result = SuiteStatus {
            machine: newest.run.machine.name.clone(),
            outcome: gate::outcome(std::slice::from_ref(&suite), true),
            counts: suite.counts(),
            against: suite.against.clone(),
            worse: suite.comparisons.iter().filter(is_worse).map(|one| one.benchmark.clone()).collect(),
            nearest: derive::nearest(&suite.comparisons),
        };
        Ok((result, answers))
    }

    fn replay(&self, item: &Item) -> FindingAndSources {
        let files = artifacts::read_all(item, &self.inputs.artifacts);
        let rests = artifacts::rests(&files);
        let first = item.files.first().and_then(|needed| self.inputs.artifacts.get(&needed.key));
        let faults = match first.map(|artifact| (artifact.read(), &artifact.path)) {
            Some((Ok(bytes), path)) => play::faults(&bytes, Path::new(path), &|named| digest_in(&files, named))
                .map_err(|error| Error::from(error).chain()),
            // The list of files reports what is missing.
            Some((Err(error), _)) => Err(error.to_string()),
            None => Ok(Vec::new()),
        };
        (ItemFinding::Replay(files, faults), rests)
    }

    fn rests(&self, path: &str) -> crate::Result<Rests> {
        Ok(self.inputs.rests(self.store, path)?)
    }

    fn study(&self) -> crate::Result<&Study> {
        if let Some(study) = self.study.get() {
            return Ok(study);
        }
        let along = Along { revision: Some(&self.inputs.identity.measured), all_parents: false };
        let study = study::study_along(&self.release.project, along)?;
        Ok(self.study.get_or_init(|| study))
    }

    fn trend_of(&self, selected: &(dyn Fn(&Series) -> bool + Sync)) -> crate::Result<Trend> {
        let study = self.study()?;
        // The present is the newest run, as on the site, so nothing becomes overdue later.
        let options = TrendOptions::events(study.present());
        let mut trend = trend::analyse(&self.release.project, study, &options, selected)?.trend;
        answer_events(&mut trend.events, &self.inputs.declared.ledger, day(self.inputs.as_of));
        Ok(trend)
    }

    fn trend(&self) -> crate::Result<&Trend> {
        if let Some(trend) = self.trend.get() {
            return Ok(trend);
        }
        let trend = self.trend_of(&|_| true)?;
        Ok(self.trend.get_or_init(|| trend))
    }

    fn events(&self) -> crate::Result<FindingAndSources> {
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
        let rests = self.ledger_files(answers.into_iter())?;
        Ok((ItemFinding::Events { series: trend.series.len(), open, accepted }, rests))
    }

    fn ledger_files<'a>(&self, answers: impl Iterator<Item = &'a Answer>) -> crate::Result<Vec<Rests>> {
        let path = |answer: &'a Answer| answer.entry.rsplit_once(':').map_or(answer.entry.as_str(), |(path, _)| path);
        let paths: BTreeSet<&str> = answers.map(path).collect();
        paths.into_iter().map(|path| self.rests(path)).collect()
    }

    fn coverage(&self, suites: &BTreeSet<String>) -> crate::Result<FindingAndSources> {
        let coverage = match suites.is_empty() {
            true => self.trend()?.coverage.clone(),
            false => self.trend_of(&|one| suites.contains(&one.suite))?.coverage,
        };
        Ok((ItemFinding::Coverage(coverage), Vec::new()))
    }
}

/// The file of that path, else the only file of that name.
fn digest_in(files: &[FileEvidence], named: &str) -> Result<String, String> {
    fn name(path: &str) -> &str {
        path.rsplit('/').next().unwrap_or_default()
    }
    let exact = files.iter().find(|file| file.needed.path == named);
    let alike: Vec<&FileEvidence> = files.iter().filter(|file| name(&file.needed.path) == name(named)).collect();
    let file = match (exact, &alike[..]) {
        (Some(file), _) => file,
        (None, [file]) => *file,
        _ => return Err("is no artifact of the item".to_owned()),
    };
    file.content.as_ref().map(|content| content.0.clone()).ok_or_else(|| "is missing".to_owned())
}

fn parity(recorded: &RecordedRun) -> ParityResult {
    let run = &recorded.run;
    let ids = |status: &[ParityStatus]| -> Vec<String> {
        let kernels = run.measurements.iter().filter(|one| !one.role.is_auxiliary(&one.benchmark.variant));
        kernels.filter(|one| status.contains(&one.parity.status)).map(|one| one.benchmark.id()).collect()
    };
    ParityResult {
        machine: run.machine.name.clone(),
        checked: ids(&[ParityStatus::Exact, ParityStatus::Within]).len(),
        wrong: ids(&[ParityStatus::Mismatch]),
        unchecked: ids(&[ParityStatus::Unchecked]),
    }
}

fn environment(run: &Run, facts: &[String]) -> EnvironmentResult {
    EnvironmentResult {
        machine: run.machine.name.clone(),
        key: run.environment.key.clone(),
        dirty: run.commit.as_ref().is_none_or(|commit| commit.dirty),
        missing: facts.iter().filter(|fact| !run.environment.facts.contains_key(*fact)).cloned().collect(),
    }
}
