//! A suite held against what it is to be held against.

use super::base::Base;
use sprag_analysis::compare;
use sprag_analysis::mean_change::{self, Errors};
use sprag_model::gate::SuiteGate;
use sprag_model::run::{RecordedRun, Run, RunStatus};
use sprag_model::verdict::Verdict;

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
        can_take_turns: false,
        whole: mean_change::of_comparisons(&comparisons, Errors::Shared),
        comparisons,
    }
}

/// A suite without a run: all that it would be held against is missing.
pub fn not_run(suite: &str, machine_class: &str, why: &str, base: Base) -> SuiteGate {
    SuiteGate {
        suite: suite.to_owned(),
        machine: None,
        machine_class: machine_class.to_owned(),
        run: None,
        time: None,
        commit: None,
        status: None,
        reason: Some(why.to_owned()),
        quality: Vec::new(),
        against: base.label,
        has_base: base.baseline.is_some(),
        base_commit: base.baseline.as_ref().and_then(|baseline| baseline.commit.clone()),
        can_take_turns: false,
        comparisons: base.baseline.as_ref().map_or(Vec::new(), |baseline| compare::all_missing(baseline, why)),
        whole: None,
    }
}
