//! Requests of `check` and `compare`, the judgement of one suite, and one exit code over all suites, which fails closed.

use std::path::{Path, PathBuf};

use crate::error::{Cause, Exit};
use crate::gate::base::Base;
use crate::import::convert::NO_MACHINE;
use crate::options::NamedFile;
use crate::project::Project;
use crate::{Advice, Error, refuse, text};
use sprag_analysis::compare;
use sprag_analysis::mean_change::{self, Errors};
use sprag_history as history;
use sprag_measure::suite::Effort;
use sprag_model::gate::{Gate, Outcome, SuiteGate};
use sprag_model::run::{RecordedRun, Run, RunStatus};
use sprag_model::verdict::{Comparison, Counts, Verdict};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inconclusive {
    /// Exit with 3.
    Report,
    /// Exit with 0.
    Ok,
    /// Exit with 1.
    Fail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintFormat {
    Table,
    Json,
    Markdown,
}

/// What both commands have in common.
#[derive(Clone, Debug)]
pub struct GateRequest {
    /// The folder that paths count from.
    pub folder: PathBuf,
    pub suites: Vec<String>,
    pub policy: Option<PathBuf>,
    /// The texts of `--report`, `FORMAT=PATH` each.
    pub reports: Vec<String>,
    pub print: PrintFormat,
    pub only_changed: bool,
    pub bisect: bool,
    pub inconclusive: Inconclusive,
}

#[derive(Clone, Debug)]
pub struct CheckRequest {
    pub gate: GateRequest,
    pub run: Option<PathBuf>,
    pub measure: Option<Effort>,
    pub against: Option<String>,
    pub baseline: Option<PathBuf>,
    pub compatible: bool,
    pub summary: Option<PathBuf>,
    pub trend_output: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct CompareRequest {
    pub gate: GateRequest,
    pub base: String,
    pub other: String,
    pub filters: Vec<String>,
}

impl CheckRequest {
    pub fn inputs(&self) -> Vec<NamedFile<'_>> {
        vec![
            NamedFile::read("--run", self.run.as_deref(), "the run that is judged"),
            NamedFile::read("--baseline", self.baseline.as_deref(), "its baseline"),
            NamedFile::read("--against", self.against.as_deref().map(Path::new), "what it is compared with"),
            NamedFile::read("--policy", self.gate.policy.as_deref(), "the policy"),
        ]
    }
}

impl CompareRequest {
    /// The files that a comparison of what is stored may read.
    pub fn inputs(&self) -> Vec<NamedFile<'_>> {
        vec![
            NamedFile::read("the base", Some(Path::new(&self.base)), "the base"),
            NamedFile::read("the other side", Some(Path::new(&self.other)), "what is compared with it"),
            NamedFile::read("--policy", self.gate.policy.as_deref(), "the policy"),
        ]
    }
}

/// Judges a run; `again` are further runs of its commit on its machine, which make its level surer. `elsewhere` is a
/// baseline of its suite for another class of machine.
pub fn judge(run: &RecordedRun, again: &[RecordedRun], base: Base, elsewhere: Option<&str>) -> SuiteGate {
    let RecordedRun { id, run, .. } = run;
    let comparisons = match (&base.baseline, run.status) {
        (_, RunStatus::Skipped | RunStatus::Failed) => Vec::new(),
        (Some(baseline), RunStatus::Ok) => {
            let again: Vec<&Run> = again.iter().filter(|one| one.id != *id).map(|one| &one.run).collect();
            compare::against_baseline(run, &again, baseline)
        }
        (None, RunStatus::Ok) => compare::unjudged(run, &Verdict::NoBaseline),
    };
    // Without its device a machine is of another class, under which it may have no baseline. The suite was judged before
    // all the same, so a gate that cannot judge it must say so.
    let elsewhere = elsewhere.filter(|_| base.baseline.is_none() && run.status == RunStatus::Skipped);
    let is_of_itself = base.baseline.as_ref().is_some_and(|baseline| baseline.run == *id);
    let against = match elsewhere {
        Some(path) => format!("{}; there is {path} to hold it against", base.label),
        None if is_of_itself => format!("{}, which was taken from this very run", base.label),
        None => base.label,
    };
    SuiteGate {
        suite: run.suite.clone(),
        machine: Some(run.machine.name.clone()),
        machine_class: run.machine.class.clone(),
        run: Some(id.clone()),
        time: Some(run.timestamp),
        commit: run.commit.clone(),
        status: Some(run.status),
        reason: run.reason.clone(),
        quality: run.quality.reasons.clone(),
        against,
        has_base: base.baseline.is_some() || elsewhere.is_some(),
        base_commit: base.baseline.as_ref().and_then(|baseline| baseline.commit.clone()),
        whole: mean_change::of_comparisons(&comparisons, Errors::Shared),
        comparisons,
        ..SuiteGate::default()
    }
}

/// A suite without a run: all that it would be held against is missing.
pub fn not_run(suite: &str, machine_class: &str, why: &str, base: Base) -> SuiteGate {
    SuiteGate {
        suite: suite.to_owned(),
        machine_class: machine_class.to_owned(),
        reason: Some(why.to_owned()),
        against: base.label,
        has_base: base.baseline.is_some(),
        base_commit: base.baseline.as_ref().and_then(|baseline| baseline.commit.clone()),
        comparisons: base.baseline.as_ref().map_or(Vec::new(), |baseline| compare::all_missing(baseline, why)),
        ..SuiteGate::default()
    }
}

/// The outcome over all suites, which fails closed; `asked` suites that have neither run nor base are in doubt.
pub fn outcome(suites: &[SuiteGate], asked: bool) -> Outcome {
    let counts = suites.iter().fold(Counts::default(), |sum, suite| sum.plus(suite.counts()));
    let has_status = |suite: &&SuiteGate, status: RunStatus| suite.status == Some(status);
    if counts.failing() > 0 || suites.iter().any(|suite| has_status(&suite, RunStatus::Failed)) {
        return Outcome::Fail;
    }
    let judged_before = suites.iter().filter(|suite| has_status(suite, RunStatus::Skipped)).any(|suite| suite.has_base);
    let ran = suites.iter().any(|suite| has_status(&suite, RunStatus::Ok));
    if judged_before || !ran {
        return Outcome::NotMeasured;
    }
    let nothing_of_asked = asked && suites.iter().any(|suite| suite.status.is_none());
    let is_in_doubt = counts.total() == 0 || counts.judged() < counts.total() || nothing_of_asked;
    if is_in_doubt { Outcome::Inconclusive } else { Outcome::Pass }
}

pub fn exit_code(suites: &[SuiteGate], asked: bool, inconclusive: Inconclusive) -> Exit {
    match outcome(suites, asked) {
        Outcome::Pass => Exit::Done,
        Outcome::Fail => Exit::Failed,
        Outcome::NotMeasured => Exit::NotMeasured,
        // Where nothing at all was judged, no option lets that pass.
        Outcome::Inconclusive if suites.iter().all(|suite| suite.comparisons.is_empty()) => Exit::Inconclusive,
        Outcome::Inconclusive => in_doubt(inconclusive),
    }
}

/// The whole finding, of which reports are made; `asked` and `inconclusive` are those that the exit code is by.
pub fn finish(
    command: &'static str,
    suites: Vec<SuiteGate>,
    exit: Exit,
    (asked, inconclusive): (bool, Inconclusive),
) -> Gate {
    let outcome = match exit {
        Exit::Done => Outcome::Pass,
        Exit::NotMeasured => Outcome::NotMeasured,
        Exit::Inconclusive => Outcome::Inconclusive,
        _ => Outcome::Fail,
    };
    Gate {
        command,
        outcome,
        exit_code: exit as u8,
        doubt_fails: inconclusive == Inconclusive::Fail,
        wants_all: asked && inconclusive != Inconclusive::Ok,
        suites,
    }
}

/// What git's bisection is told: good, bad, or that this commit cannot tell. What the base lacks cannot have become slower
/// since, so that a commit that adds a benchmark is as good as its other ones.
pub(super) fn for_bisection(gate: &Gate, exit: Exit) -> Exit {
    let is_bad = |suite: &SuiteGate| suite.comparisons.iter().any(|one| one.verdict == Verdict::Regressed);
    let Counts { inconclusive, not_comparable, missing, .. } = gate.counts();
    let is_told = gate.counts().judged() > 0 && inconclusive + not_comparable + missing == 0;
    match exit {
        _ if gate.suites.iter().any(is_bad) => Exit::Failed,
        Exit::Done => Exit::Done,
        Exit::NotMeasured => Exit::CannotTell,
        _ if is_told && gate.suites.iter().all(|suite| suite.status != Some(RunStatus::Failed)) => Exit::Done,
        _ => Exit::CannotTell,
    }
}

/// Git's bisection goes on after any code below 128, so where `bisects`, what is wrong with the call must stop it. That a
/// commit cannot be built or was never measured is no such thing: git tries another one.
pub fn stop_bisection(bisects: bool, result: crate::Result<Exit>) -> crate::Result<Exit> {
    match result {
        Err(error) if bisects => {
            text::error(&error);
            let cause = error.cause::<Advice>().map(|advice| advice.cause);
            let is_of_commit = matches!(cause, Some(Cause::CannotBuild | Cause::Unmeasured));
            Ok(if is_of_commit { Exit::CannotTell } else { Exit::Abort })
        }
        result => result,
    }
}

/// Fails where git bisects without checking out the commits that it asks about, and HEAD is what would be judged.
pub fn refuse_aside(project: &Project) -> crate::Result<()> {
    if !project.find_store().is_some_and(history::bisects_without_checkout) {
        return Ok(());
    }
    refuse(
        "the bisection was begun with `--no-checkout`, and HEAD, which is judged, does not move with it",
        "name `BISECT_HEAD` in place of `HEAD` to `sprag compare`, or begin anew without `--no-checkout`",
    )
}

/// An error of the base of a comparison: no other commit that git tries would mend it.
pub fn base_error(error: impl Into<Error>) -> Error {
    let mut error = error.into();
    if let Some(advice) = error.advice_mut().filter(|advice| advice.cause != Cause::Damaged) {
        advice.cause = Cause::Usage;
    }
    error
}

pub(super) fn in_doubt(inconclusive: Inconclusive) -> Exit {
    match inconclusive {
        Inconclusive::Report => Exit::Inconclusive,
        Inconclusive::Ok => Exit::Done,
        Inconclusive::Fail => Exit::Failed,
    }
}

/// What `command` found of the file `current`, held against `base`; `reason` says why it holds no numbers,
/// and `inconclusive` what doubt comes to.
pub(super) fn gate_of_files(
    command: &'static str,
    suite: &str,
    [current, base]: [&str; 2],
    comparisons: Vec<Comparison>,
    (exit, reason, inconclusive): (Exit, Option<String>, Inconclusive),
) -> Gate {
    let status = match exit {
        Exit::NotMeasured => RunStatus::Skipped,
        Exit::Failed if reason.is_some() => RunStatus::Failed,
        _ => RunStatus::Ok,
    };
    let suite = SuiteGate {
        suite: suite.to_owned(),
        machine: Some(NO_MACHINE.to_owned()),
        machine_class: NO_MACHINE.to_owned(),
        run: Some(current.to_owned()),
        status: Some(status),
        reason,
        against: base.to_owned(),
        has_base: true,
        comparisons,
        ..SuiteGate::default()
    };
    finish(command, vec![suite], exit, (false, inconclusive))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::metric::Metric;
    use sprag_model::verdict::Comparison;

    fn suite(status: Option<RunStatus>, has_base: bool, verdicts: &[Verdict]) -> SuiteGate {
        let comparison =
            |verdict: &Verdict| Comparison::bare("cpu/x @fast", Metric::time(), "interval", verdict.clone());
        let comparisons = verdicts.iter().map(comparison).collect();
        SuiteGate { status, has_base, comparisons, ..SuiteGate::default() }
    }

    #[test]
    fn the_exit_code_fails_closed() {
        use RunStatus::{Failed, Ok, Skipped};
        let check = |suites: &[(Option<RunStatus>, bool, &[Verdict])], asked, inconclusive, expected: Exit| {
            let suites: Vec<SuiteGate> =
                suites.iter().map(|(status, base, found)| suite(*status, *base, found)).collect();
            assert_eq!(exit_code(&suites, asked, inconclusive), expected, "{suites:?}");
        };
        let plain = |suites: &[(Option<RunStatus>, bool, &[Verdict])], expected| {
            check(suites, false, Inconclusive::Report, expected);
        };
        let fine: (Option<RunStatus>, bool, &[Verdict]) = (Some(Ok), true, &[Verdict::Unchanged]);
        plain(&[fine], Exit::Done);
        plain(&[fine, (Some(Skipped), false, &[])], Exit::Done);
        plain(&[fine, (Some(Skipped), true, &[])], Exit::NotMeasured);
        plain(&[(Some(Skipped), false, &[])], Exit::NotMeasured);
        plain(&[(Some(Ok), true, &[Verdict::Unchanged, Verdict::Regressed])], Exit::Failed);
        plain(&[(Some(Ok), true, &[Verdict::Missing])], Exit::Failed);
        plain(&[fine, (Some(Failed), true, &[])], Exit::Failed);
        plain(&[(Some(Ok), true, &[])], Exit::Inconclusive);
        check(&[(Some(Ok), true, &[])], false, Inconclusive::Ok, Exit::Inconclusive);
        plain(&[fine, (None, false, &[])], Exit::Done);
        check(&[fine, (None, false, &[])], true, Inconclusive::Report, Exit::Inconclusive);
        let doubtful: (Option<RunStatus>, bool, &[Verdict]) = (Some(Ok), false, &[Verdict::NoBaseline]);
        plain(&[doubtful], Exit::Inconclusive);
        check(&[doubtful], false, Inconclusive::Ok, Exit::Done);
        check(&[doubtful], false, Inconclusive::Fail, Exit::Failed);
        check(&[(Some(Ok), true, &[Verdict::Regressed])], false, Inconclusive::Ok, Exit::Failed);
    }

    #[test]
    fn a_gate_knows_whether_doubt_fails_it() {
        let check = |asked: bool, inconclusive: Inconclusive, expected: (bool, bool)| {
            let gate = finish("check", Vec::new(), Exit::Done, (asked, inconclusive));
            assert_eq!((gate.doubt_fails, gate.wants_all), expected);
        };
        check(false, Inconclusive::Fail, (true, false));
        check(true, Inconclusive::Fail, (true, true));
        check(true, Inconclusive::Report, (false, true));
        check(true, Inconclusive::Ok, (false, false));
    }

    #[test]
    fn a_bisection_hears_of_slowness_only() {
        let told = |verdicts: &[Verdict]| {
            let suites = vec![suite(Some(RunStatus::Ok), true, verdicts)];
            let exit = exit_code(&suites, false, Inconclusive::Report);
            for_bisection(&finish("check", suites, exit, (false, Inconclusive::Report)), exit)
        };
        assert_eq!(told(&[Verdict::Unchanged]), Exit::Done);
        assert_eq!(told(&[Verdict::Regressed, Verdict::Missing]), Exit::Failed);
        assert_eq!(told(&[Verdict::Missing]), Exit::CannotTell);
        assert_eq!(told(&[Verdict::Unchanged, Verdict::NoBaseline]), Exit::Done);
        assert_eq!(told(&[Verdict::NoBaseline]), Exit::CannotTell);
        assert_eq!(told(&[Verdict::Inconclusive("x".to_owned())]), Exit::CannotTell);
        assert_eq!(stop_bisection(true, Err(Error::message("x"))).expect("a code"), Exit::Abort);
        assert!(stop_bisection(false, Err(Error::message("x"))).is_err());
        let broken = || Advice::new("x", "y").because(Cause::CannotBuild);
        assert_eq!(stop_bisection(true, Err(broken().into())).expect("a code"), Exit::CannotTell);
        assert_eq!(stop_bisection(true, Err(base_error(broken()))).expect("a code"), Exit::Abort);
    }
}
