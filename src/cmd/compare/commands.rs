//! Two commits of a suite that is somebody else's program: each built aside, and their processes in turn.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::{Contest, Outcome};
use crate::cmd::worktree::Worktree;
use crate::cmd::{Advice, Trouble, command_suite, gate, kernel_suite, revision, text};
use crate::measure::MeasureError;
use crate::measure::command::paired::{self, Sides};
use crate::measure::command::suite::CommandSuite;
use crate::measure::plan::Protocol;
use crate::model::commit::Commit;
use crate::model::foreign::{Output, Reported};

/// A commit that is built.
struct Side {
    suite: CommandSuite,
    worktree: Worktree,
}

/// Builds both commits and measures them.
///
/// # Errors
/// When a side is no commit or cannot be built, and when no pair of processes came to a result.
pub(super) fn measure(contest: &Contest<'_>) -> anyhow::Result<Outcome> {
    let Contest { suite, args, name, progress, .. } = contest;
    let (base, other) = (commit(contest, &args.base)?, commit(contest, &args.other)?);
    let protocol = contest.effort.protocol_of_pairs(suite.processes());
    let base_side = side(contest, &base, &protocol).map_err(gate::of_base)?;
    let other_side = side(contest, &other, &protocol)?;

    let pairs = protocol.processes;
    let command = suite.command.join(" ");
    progress.begin(&format!("suite {name}: `{command}` in up to {pairs} pairs of processes"), pairs.into());
    let all = RefCell::new(BTreeSet::new());
    let reader = command_suite::reader(name, suite);
    let read = |outputs: &[Output]| {
        let reported = reader(outputs)?;
        all.borrow_mut().extend(reported.iter().map(|one| one.benchmark.name.clone()));
        Ok(reported.into_iter().filter(|one| is_wanted(contest, one)).collect())
    };
    let sides = Sides { base: &base_side.suite, other: &other_side.suite };
    let mut tell = |done: u32| progress.step(u64::from(done));
    let places = |text: &str| {
        let text = command_suite::without_places(text, &base_side.worktree.root);
        command_suite::without_places(&text, &other_side.worktree.root)
    };
    let mut result = paired::measure(sides, &read, &protocol, &mut tell).map_err(|error| {
        let hint = format!("`sprag run --suite {name} --commit <REVISION>` measures one of them alone");
        let advice = Advice { message: places(&error.to_string()), hint };
        match error {
            MeasureError::Other(_) => anyhow::Error::from(Trouble::Unmeasured(advice)),
            _ => advice.into(),
        }
    })?;
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

/// Whether the configuration and the user's filters leave a benchmark.
fn is_wanted(contest: &Contest<'_>, reported: &Reported) -> bool {
    let id = reported.benchmark.id();
    let leaves = |texts: &[String]| texts.is_empty() || texts.iter().any(|text| id.contains(text.as_str()));
    leaves(&contest.suite.include) && leaves(&contest.args.filters)
}

fn nothing_left(contest: &Contest<'_>, all: &BTreeSet<String>) -> Advice {
    if contest.args.filters.is_empty() {
        let texts = contest.suite.include.join("` or `");
        return Advice {
            message: format!("`suites.{}.include` leaves no benchmark: none contains `{texts}`", contest.name),
            hint: "see what the command reports".to_owned(),
        };
    }
    kernel_suite::nothing_left_of(&contest.args.filters, all.iter().map(String::as_str))
}

/// The commit of one side.
fn commit(contest: &Contest<'_>, named: &str) -> anyhow::Result<Commit> {
    let found = revision::commit(contest.project, named);
    if found.is_err() && contest.folder.join(named).is_file() {
        return Err(Advice {
            message: format!("`{}` is a file, and the suite `{}` compares commits", text::printable(named), contest.name),
            hint: "give two revisions; both are built as the suite says. Programs are compared by suites of the kind `cpu`"
                .to_owned(),
        }
        .into());
    }
    found
}

/// Checks a commit out and builds it.
fn side(contest: &Contest<'_>, commit: &Commit, protocol: &Protocol) -> anyhow::Result<Side> {
    let worktree = Worktree::of(contest.project, commit)?;
    let mut suite = command_suite::command_suite(&worktree.root, contest.suite, protocol.clone())?;
    command_suite::build_commit(&mut suite, &worktree.root, commit, &contest.progress)?;
    Ok(Side { suite, worktree })
}
