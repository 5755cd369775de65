//! Two files of another tool as what a gate finds, so that every report can be made of them.

use super::outcome::finish;
use crate::cli::Inconclusive;
use crate::commands::Exit;
use sprag_model::gate::{Gate, SuiteGate};
use sprag_model::run::RunStatus;
use sprag_model::verdict::Comparison;
use sprag_pipeline::import::convert::NO_MACHINE;

/// What `command` found of the file `current`, held against `base`; `reason` says why it holds no numbers,
/// and `inconclusive` what doubt comes to.
pub(in crate::commands) fn of_files(
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
