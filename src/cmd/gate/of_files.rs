//! Two files of another tool as what a gate finds, so that every report can be made of them.

use super::finish;
use crate::cmd::Exit;
use crate::cmd::import::convert::NO_MACHINE;
use crate::model::gate::{Gate, SuiteGate};
use crate::model::run::RunStatus;
use crate::model::verdict::Comparison;

/// What was found of the file `current`, held against `base`; `reason` says why it holds no numbers.
pub(in crate::cmd) fn of_files(
    suite: &str,
    [current, base]: [&str; 2],
    comparisons: Vec<Comparison>,
    (exit, reason): (Exit, Option<String>),
) -> Gate {
    let status = if exit == Exit::NotMeasured { RunStatus::Skipped } else { RunStatus::Ok };
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
        comparisons,
        whole: None,
    };
    finish("check", vec![suite], exit)
}
