//! Two commits of a suite that is somebody else's program: each built aside, and their processes in turn.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::contest::{Contest, Outcome};
use crate::config::{Config, FILE_NAME, Suite};
use crate::error::Cause;
use crate::gate::base_error;
use crate::measuring;
use crate::measuring::commit_build::{self, Worktree};
use crate::{Advice, Error, refuse, text};
use sprag_analysis::rules::interval::FEWEST_PAIRS;
use sprag_measure::MeasureError;
use sprag_measure::command::paired::{self, CommandSides};
use sprag_measure::command::suite::CommandSuite;
use sprag_measure::plan::Protocol;
use sprag_measure::suite::command::{command_suite, reader, without_places};
use sprag_model::commit::Commit;
use sprag_model::foreign::{Output, Reported};

/// Builds both commits and measures them. Where the base comes to nothing since it has no such suite, the other is
/// measured alone, and all of it is new.
pub(super) fn measure(contest: &Contest<'_>) -> crate::Result<Outcome> {
    let Contest { suite, request, name, host, .. } = contest;
    let (base, other) = (commit(contest, &request.base)?, commit(contest, &request.other)?);
    let protocol = contest.effort.protocol_of_pairs(suite.processes(), FEWEST_PAIRS as u32);
    let base_tree = Worktree::check_out(contest.project, &base).map_err(base_error)?;
    let is_new = !request.gate.bisect && lacks_suite(contest, &base_tree);
    let (base_suite, unbuilt) = match built(contest, &base_tree, &base, &protocol).map_err(base_error) {
        Ok(suite) => (Some(suite), None),
        Err(error) if is_new => (None, Some(error)),
        Err(error) => return Err(error),
    };
    let other_tree = Worktree::check_out(contest.project, &other)?;
    let (other_suite, unbuilt) = match (built(contest, &other_tree, &other, &protocol), unbuilt) {
        (Ok(suite), unbuilt) => (suite, unbuilt.map(|error| error.to_string())),
        // Neither can be built, so it is not the suite that is new.
        (Err(error), unbuilt) => return Err(unbuilt.unwrap_or(error)),
    };

    let pairs = protocol.processes;
    let command = suite.command.join(" ");
    host.observer.begin(&format!("suite {name}: `{command}` in up to {pairs} pairs of processes"), pairs.into());
    let all = RefCell::new(BTreeSet::new());
    let reader = reader(name, suite.format());
    let read = |outputs: &[Output]| {
        let reported = reader(outputs)?;
        all.borrow_mut().extend(reported.iter().map(|one| one.benchmark.name.clone()));
        Ok(reported.into_iter().filter(|one| is_wanted(contest, one)).collect())
    };
    let places = |text: &str| {
        let text = without_places(text, &base_tree.root);
        without_places(&text, &other_tree.root)
    };
    let measured = |base: Option<&CommandSuite>| {
        let sides = CommandSides { base, other: &other_suite };
        paired::measure(sides, &read, &protocol, &mut |done: u32| host.observer.step(u64::from(done)))
    };
    let (found, fault_of_base) = match measured(base_suite.as_ref()) {
        Err(MeasureError::Command(text)) if is_new => match measured(None) {
            Err(MeasureError::Other(other)) => (Err(MeasureError::Command(format!("{text}; {other}"))), None),
            found => (found, Some(text)),
        },
        found => (found, unbuilt),
    };
    let mut result = found.map_err(|error| {
        let hint = format!("`sprag run --suite {name} --commit <REVISION>` measures one of them alone");
        let advice = Advice::new(places(&error.to_string()), hint);
        match error {
            MeasureError::Other(_) => Error::from(advice.because(Cause::Unmeasured)),
            _ => advice.into(),
        }
    })?;
    if let Some(fault) = fault_of_base {
        let new =
            format!("the suite `{name}` is new, so it has no baseline: `{FILE_NAME}` of the base does not have it so");
        result.faults.push(format!("{new}, and there it came to nothing ({fault})"));
    }
    for fault in &mut result.faults {
        *fault = places(fault);
    }
    for failure in result.benchmarks.iter_mut().filter_map(|one| one.failure.as_mut()) {
        *failure = places(failure);
    }
    if result.benchmarks.is_empty() && result.new.is_empty() {
        return Err(nothing_left(contest, &all.borrow()).into());
    }
    Ok(Outcome { result, commits: [Some(base.sha), Some(other.sha)] })
}

fn is_wanted(contest: &Contest<'_>, reported: &Reported) -> bool {
    let id = reported.benchmark.id();
    let leaves = |texts: &[String]| texts.is_empty() || texts.iter().any(|text| id.contains(text.as_str()));
    leaves(&contest.suite.include) && leaves(&contest.request.filters)
}

fn nothing_left(contest: &Contest<'_>, all: &BTreeSet<String>) -> Advice {
    if contest.request.filters.is_empty() {
        let texts = contest.suite.include.join("` or `");
        return Advice::new(
            format!("`suites.{}.include` leaves no benchmark: none contains `{texts}`", contest.name),
            "see what the command reports",
        );
    }
    measuring::nothing_left(&contest.request.filters, all.iter().map(String::as_str))
}

fn commit(contest: &Contest<'_>, named: &str) -> crate::Result<Commit> {
    let found = commit_build::commit(contest.project, named);
    if found.is_err() && contest.request.gate.folder.join(named).is_file() {
        return refuse(
            format!("`{}` is a file, and the suite `{}` compares commits", text::printable(named), contest.name),
            "give two revisions; both are built as the suite says. Programs are compared by suites of the kind `cpu`",
        );
    }
    found
}

fn lacks_suite(contest: &Contest<'_>, tree: &Worktree) -> bool {
    let run = |suite: &Suite| (suite.command.clone(), suite.build.clone(), suite.cwd.clone(), suite.env.clone());
    let there = Config::load(&tree.root);
    there.is_ok_and(|there| there.suites.get(contest.name).is_none_or(|there| run(there) != run(contest.suite)))
}

fn built(contest: &Contest<'_>, tree: &Worktree, commit: &Commit, protocol: &Protocol) -> crate::Result<CommandSuite> {
    let mut suite = command_suite(&tree.root, &measuring::command_settings(contest.suite), protocol.clone())?;
    measuring::build_commit(&mut suite, &tree.root, commit, contest.host)?;
    Ok(suite)
}
