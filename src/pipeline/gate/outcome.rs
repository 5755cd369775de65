//! How a gate comes out: one exit code over all suites, which fails closed.

use super::request::Inconclusive;
use crate::exit::Exit;
use crate::import::convert::NO_MACHINE;
use crate::project::Project;
use crate::{Advice, Error, Trouble, notices};
use sprag_history as history;
use sprag_model::gate::{Gate, Outcome, SuiteGate};
use sprag_model::run::RunStatus;
use sprag_model::verdict::{Comparison, Counts, Verdict};

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

/// The exit code of that outcome.
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
            notices::error(&error);
            let is_of_commit = matches!(error.cause(), Some(Trouble::CannotBuild(_) | Trouble::Unmeasured(_)));
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
    let message =
        "the bisection was begun with `--no-checkout`, and HEAD, which is judged, does not move with it".to_owned();
    let hint =
        "name `BISECT_HEAD` in place of `HEAD` to `sprag compare`, or begin anew without `--no-checkout`".to_owned();
    Err(Advice { message, hint }.into())
}

/// An error of the base of a comparison: no other commit that git tries would mend it.
pub fn base_error(error: impl Into<Error>) -> Error {
    match error.into() {
        Error::Trouble(Trouble::CannotBuild(advice) | Trouble::Unmeasured(advice)) => advice.into(),
        error => error,
    }
}

/// The exit code of what cannot be decided.
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
        time: None,
        commit: None,
        status: Some(status),
        reason,
        quality: Vec::new(),
        against: base.to_owned(),
        has_base: true,
        base_commit: None,
        can_take_turns: false,
        comparisons,
        whole: None,
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
        SuiteGate {
            suite: "cpu".to_owned(),
            machine: None,
            machine_class: "CPU".to_owned(),
            run: None,
            time: None,
            commit: None,
            status,
            reason: None,
            quality: Vec::new(),
            against: String::new(),
            has_base,
            base_commit: None,
            can_take_turns: false,
            comparisons: verdicts.iter().map(comparison).collect(),
            whole: None,
        }
    }

    #[test]
    fn the_exit_code_fails_closed() {
        use RunStatus::{Failed, Ok, Skipped};
        let exit = |suites: &[SuiteGate]| exit_code(suites, false, Inconclusive::Report);
        let fine = || suite(Some(Ok), true, &[Verdict::Unchanged]);
        assert_eq!(exit(&[fine()]), Exit::Done);
        assert_eq!(exit(&[fine(), suite(Some(Skipped), false, &[])]), Exit::Done);
        assert_eq!(exit(&[fine(), suite(Some(Skipped), true, &[])]), Exit::NotMeasured);
        assert_eq!(exit(&[suite(Some(Skipped), false, &[])]), Exit::NotMeasured);
        assert_eq!(exit(&[suite(Some(Ok), true, &[Verdict::Unchanged, Verdict::Regressed])]), Exit::Failed);
        assert_eq!(exit(&[suite(Some(Ok), true, &[Verdict::Missing])]), Exit::Failed);
        assert_eq!(exit(&[fine(), suite(Some(Failed), true, &[])]), Exit::Failed);
        assert_eq!(exit(&[suite(Some(Ok), false, &[Verdict::NoBaseline])]), Exit::Inconclusive);
        assert_eq!(exit(&[suite(Some(Ok), true, &[])]), Exit::Inconclusive);
        assert_eq!(exit_code(&[suite(Some(Ok), true, &[])], false, Inconclusive::Ok), Exit::Inconclusive);
        assert_eq!(exit(&[fine(), suite(None, false, &[])]), Exit::Done);
        assert_eq!(exit_code(&[fine(), suite(None, false, &[])], true, Inconclusive::Report), Exit::Inconclusive);
        let doubtful = [suite(Some(Ok), false, &[Verdict::NoBaseline])];
        assert_eq!(exit_code(&doubtful, false, Inconclusive::Ok), Exit::Done);
        assert_eq!(exit_code(&doubtful, false, Inconclusive::Fail), Exit::Failed);
        let regressed = [suite(Some(Ok), true, &[Verdict::Regressed])];
        assert_eq!(exit_code(&regressed, false, Inconclusive::Ok), Exit::Failed);
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
        let broken = || Trouble::CannotBuild(Advice { message: "x".to_owned(), hint: "y".to_owned() });
        assert_eq!(stop_bisection(true, Err(broken().into())).expect("a code"), Exit::CannotTell);
        assert_eq!(stop_bisection(true, Err(base_error(broken()))).expect("a code"), Exit::Abort);
    }
}
