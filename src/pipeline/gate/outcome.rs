//! Requests of `check` and `compare`, the judgement of one suite, and the exit code over all, which fails closed.

use std::path::{Path, PathBuf};

use crate::error::{Cause, Exit};
use crate::gate::base::GateBase;
use crate::options::NamedFile;
use crate::project::Project;
use crate::{Advice, Error, policy, refuse, text};
use sprag_analysis::compare;
use sprag_analysis::mean_change::{self, Errors};
use sprag_history as history;
use sprag_measure::suite::Effort;
use sprag_model::environment::NO_MACHINE;
use sprag_model::{
    Choice, Comparison, Counts, Gate, Outcome, Policy, RecordedRun, Rule, Run, RunStatus, SuiteGate, Verdict,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inconclusive {
    /// Exit with 3.
    #[default]
    Report,
    /// Exit with 0.
    Ok,
    /// Exit with 1.
    Fail,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrintFormat {
    #[default]
    Table,
    Json,
    Markdown,
}

#[derive(Clone, Debug, Default)]
pub struct GateRequest {
    /// Base of relative paths.
    pub folder: PathBuf,
    pub suites: Vec<String>,
    pub policy: Option<PathBuf>,
    /// Takes the place of all rules.
    pub tolerance: Option<f64>,
    /// Of `--report`, each `FORMAT=PATH`.
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
    /// The commit whose suites and rules are used, instead of those of the checkout.
    pub config_from: Option<String>,
}

impl GateRequest {
    /// Nothing but a folder is asked.
    pub(crate) fn of_folder(folder: &Path) -> GateRequest {
        GateRequest { folder: folder.to_owned(), ..GateRequest::default() }
    }

    /// The rules that the request names in place of those of the project and its baselines.
    pub fn rules(&self) -> crate::Result<Option<Policy>> {
        let fixed = |tolerance| Policy { exceptions: Vec::new(), default: Choice::Fixed(Rule::Interval { tolerance }) };
        match (self.tolerance, &self.policy) {
            (Some(tolerance), _) => Ok(Some(fixed(tolerance))),
            (None, Some(path)) => policy::read(&self.folder.join(path)).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The rule that `--tolerance` means needs runs.
    pub(super) fn refuse_tolerance(&self, files: &str) -> Result<(), Advice> {
        if self.tolerance.is_none() {
            return Ok(());
        }
        let message = format!("`--tolerance` judges runs by their intervals, and {files} have rules of their own");
        refuse(message, "name a file with `[rules]` with `--policy`, or change the baseline of Apex-X")
    }
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
    pub fn inputs(&self) -> Vec<NamedFile<'_>> {
        vec![
            NamedFile::read("the base", Some(Path::new(&self.base)), "the base"),
            NamedFile::read("the other side", Some(Path::new(&self.other)), "what is compared with it"),
            NamedFile::read("--policy", self.gate.policy.as_deref(), "the policy"),
        ]
    }
}

/// `reruns` are further runs of its commit on its machine. `elsewhere` is a baseline for another class of machine.
pub fn judge(run: &RecordedRun, reruns: &[RecordedRun], base: GateBase, elsewhere: Option<&str>) -> SuiteGate {
    let RecordedRun { id, run, .. } = run;
    let comparisons = match (&base.baseline, run.status) {
        (_, RunStatus::Skipped | RunStatus::Failed) => Vec::new(),
        (Some(baseline), RunStatus::Ok) => {
            let reruns: Vec<&Run> = reruns.iter().filter(|one| one.id != *id).map(|one| &one.run).collect();
            compare::against_baseline(run, &reruns, baseline)
        }
        (None, RunStatus::Ok) => compare::unjudged(run, &Verdict::NoBaseline),
    };
    // Without its device a machine is of another class, which may lack the baseline. That a judged suite is not must show.
    let elsewhere = elsewhere.filter(|_| base.baseline.is_none() && run.status == RunStatus::Skipped);
    let is_of_itself = base.baseline.as_ref().is_some_and(|baseline| baseline.run == *id);
    let against = match elsewhere {
        Some(path) => format!("{}; another class has {path}", base.label),
        None if is_of_itself && reruns.iter().all(|one| one.id == *id) => {
            format!("{}, which was taken from this very run", base.label)
        }
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
        base_machine: base.baseline.as_ref().and_then(|baseline| baseline.machine.clone()),
        mean_change: mean_change::of_comparisons(&comparisons, Errors::Shared),
        comparisons,
        ..SuiteGate::default()
    }
}

/// All metrics of the base are missing.
pub fn not_run(suite: &str, machine_class: &str, why: &str, base: GateBase) -> SuiteGate {
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

/// Fails closed. With `asked`, suites that have neither run nor base are in doubt.
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
        // No option lets a check pass that judged nothing.
        Outcome::Inconclusive if suites.iter().all(|suite| suite.comparisons.is_empty()) => Exit::Inconclusive,
        Outcome::Inconclusive => in_doubt(inconclusive),
    }
}

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

/// Git needs good, bad or skip. What the base lacks cannot have become slower, so a new benchmark is good.
pub(super) fn for_bisection(gate: &Gate, exit: Exit) -> Exit {
    let is_bad = |suite: &SuiteGate| suite.comparisons.iter().any(|one| one.verdict == Verdict::Regressed);
    let Counts { inconclusive, not_comparable, missing, .. } = gate.counts();
    let is_reported = gate.counts().judged() > 0 && inconclusive + not_comparable + missing == 0;
    match exit {
        _ if gate.suites.iter().any(is_bad) => Exit::Failed,
        Exit::Done => Exit::Done,
        Exit::NotMeasured => Exit::CannotTell,
        _ if is_reported && gate.suites.iter().all(|suite| suite.status != Some(RunStatus::Failed)) => Exit::Done,
        _ => Exit::CannotTell,
    }
}

/// Git's bisection goes on after codes below 128, so a wrong call must abort it. What cannot be measured is skipped.
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

/// Fails if git bisects without checkout: HEAD, which is judged, does not move then.
pub fn refuse_aside(project: &Project) -> crate::Result<()> {
    if !project.find_store().is_some_and(history::bisects_without_checkout) {
        return Ok(());
    }
    let message = "the bisection was begun with `--no-checkout`, and HEAD, which is judged, does not move with it";
    refuse(message, "name `BISECT_HEAD` in place of `HEAD` to `sprag compare`, or begin again without `--no-checkout`")
}

/// Errors of the base abort a bisection: no other commit would fix them.
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

/// `reason` is why the file holds no numbers.
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
    use sprag_model::{Comparison, Metric};

    fn suite(status: Option<RunStatus>, has_base: bool, verdicts: &[Verdict]) -> SuiteGate {
        let comparison =
            |verdict: &Verdict| Comparison::bare("cpu/x @fast", Metric::time(), "interval", verdict.clone());
        let comparisons = verdicts.iter().map(comparison).collect();
        SuiteGate { status, has_base, comparisons, ..SuiteGate::default() }
    }

    #[test]
    fn the_exit_code_fails_closed() {
        use RunStatus::{Failed, Ok, Skipped};
        type Given<'a> = (Option<RunStatus>, bool, &'a [Verdict]);
        let check = |suites: &[Given<'_>], asked, inconclusive, expected: Exit| {
            let suites: Vec<SuiteGate> = suites.iter().map(|(status, base, all)| suite(*status, *base, all)).collect();
            assert_eq!(exit_code(&suites, asked, inconclusive), expected, "{suites:?}");
        };
        let plain = |suites: &[Given<'_>], expected| check(suites, false, Inconclusive::Report, expected);
        let fine: Given<'_> = (Some(Ok), true, &[Verdict::Unchanged]);
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
        let doubtful: Given<'_> = (Some(Ok), false, &[Verdict::NoBaseline]);
        plain(&[doubtful], Exit::Inconclusive);
        check(&[doubtful], false, Inconclusive::Ok, Exit::Done);
        check(&[doubtful], false, Inconclusive::Fail, Exit::Failed);
        check(&[(Some(Ok), true, &[Verdict::Regressed])], false, Inconclusive::Ok, Exit::Failed);
    }

    #[test]
    fn doubt_fails_the_gate_if_the_policy_says_so() {
        for (asked, inconclusive, expected) in [
            (false, Inconclusive::Fail, (true, false)),
            (true, Inconclusive::Fail, (true, true)),
            (true, Inconclusive::Report, (false, true)),
            (true, Inconclusive::Ok, (false, false)),
        ] {
            let gate = finish("check", Vec::new(), Exit::Done, (asked, inconclusive));
            assert_eq!((gate.doubt_fails, gate.wants_all), expected, "{asked} {inconclusive:?}");
        }
    }

    #[test]
    fn a_bisection_fails_only_on_regressions() {
        let check = |verdicts: &[Verdict], expected: Exit| {
            let suites = vec![suite(Some(RunStatus::Ok), true, verdicts)];
            let exit = exit_code(&suites, false, Inconclusive::Report);
            let gate = finish("check", suites, exit, (false, Inconclusive::Report));
            assert_eq!(for_bisection(&gate, exit), expected, "{verdicts:?}");
        };
        check(&[Verdict::Unchanged], Exit::Done);
        check(&[Verdict::Regressed, Verdict::Missing], Exit::Failed);
        check(&[Verdict::Missing], Exit::CannotTell);
        check(&[Verdict::Unchanged, Verdict::NoBaseline], Exit::Done);
        check(&[Verdict::NoBaseline], Exit::CannotTell);
        check(&[Verdict::Inconclusive("x".to_owned())], Exit::CannotTell);
        assert_eq!(stop_bisection(true, Err(Error::message("x"))).expect("a code"), Exit::Abort);
        assert!(stop_bisection(false, Err(Error::message("x"))).is_err());
        let broken = || Advice::new("x", "y").because(Cause::CannotBuild);
        assert_eq!(stop_bisection(true, Err(broken().into())).expect("a code"), Exit::CannotTell);
        assert_eq!(stop_bisection(true, Err(base_error(broken()))).expect("a code"), Exit::Abort);
    }
}
