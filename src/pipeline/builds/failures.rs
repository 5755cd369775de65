//! Commits that cannot be built: which failures would repeat, and their records, so that no other machine tries them again.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::config::Suite;
use crate::error::Cause;
use crate::{Advice, Error};
use sprag_measure::{clock, environment};
use sprag_model::{Commit, Machine, Run, RunHead, RunStatus};

/// Whether a message of a system or a compiler says that a disk, or what a user may write to it, is full.
pub(super) fn is_full_disk(text: &str) -> bool {
    ["No space left on device", "Disk quota exceeded"].iter().any(|words| text.contains(words))
}

/// The setting of a failed run, and its value, where the commit could not be built.
const BUILD: (&str, &str) = ("build", "failed");

/// The message of a failure that the next try of this build would repeat.
pub(crate) fn lasting_failure(error: &Error, suite: &Suite) -> Option<String> {
    let advice = error.cause::<Advice>().filter(|advice| advice.cause == Cause::CannotBuild)?;
    // A program or a folder of the checkout is missing in every checkout of the commit; one of the machine may be installed.
    let is_below = |program: &String| program.contains('/') && !program.starts_with('/');
    let is_of_commit = suite.build.first().is_some_and(is_below) || advice.message.contains("there is no folder");
    let cannot_start = advice.message.contains("cannot be started") && !is_of_commit;
    let is_late = suite.seconds_left() == Some(0.0);
    let passes = is_late || cannot_start || is_full_disk(&advice.message);
    (!passes).then(|| advice.message.clone())
}

/// The run of a commit that cannot be built.
pub(crate) fn failed_run(suite: &str, commit: &Commit, machine: &Machine, reason: String) -> Run {
    let mut run = Run::new(suite, clock::now(), machine.clone());
    run.commit = Some(commit.clone());
    run.environment = environment::environment_of_programs(&Default::default());
    run.config.insert(BUILD.0.to_owned(), Value::from(BUILD.1));
    run.status = RunStatus::Failed;
    run.reason = Some(reason);
    run
}

/// The commits that could not be built for a suite on any machine, with the reason.
pub(crate) fn broken(heads: &[RunHead], suite: &str) -> HashMap<String, String> {
    let own = || heads.iter().filter(|head| head.suite == suite);
    let sha = |head: &RunHead| head.commit.as_ref().map(|commit| commit.sha.clone());
    let built: HashSet<String> = own().filter(|head| head.status == RunStatus::Ok).filter_map(sha).collect();
    let is_failure = |head: &&RunHead| head.config.get(BUILD.0).is_some_and(|value| value == BUILD.1);
    let failures = own().filter(is_failure).filter_map(|head| Some((sha(head)?, head.reason.clone()?)));
    failures.filter(|(sha, _)| !built.contains(sha)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_that_would_repeat_are_remembered() {
        for (program, message, cause, expected) in [
            ("make", "cannot build 1: exit code 1 (no such type)", Cause::CannotBuild, true),
            ("make", "cannot build 1: exit code 1 (ld: No space left on device)", Cause::CannotBuild, false),
            ("./mk", "cannot build 1: exit code 1 (ld: No space left on device)", Cause::CannotBuild, false),
            ("cmake", "cannot build 1: `cmake` cannot be started: there is no such program", Cause::CannotBuild, false),
            (
                "/opt/mk",
                "cannot build 1: `/opt/mk` cannot be started: there is no such program",
                Cause::CannotBuild,
                false,
            ),
            ("./mk", "cannot build 1: `./mk` cannot be started: there is no such program", Cause::CannotBuild, true),
            ("make", "cannot build 1: `make` cannot be started: there is no folder `b`", Cause::CannotBuild, true),
            ("make", "its `cwd` leads out of the project", Cause::Usage, false),
        ] {
            let error = Error::from(Advice::new(message, "").because(cause));
            let suite = Suite { build: vec![program.to_owned()], ..Suite::default() };
            assert_eq!(lasting_failure(&error, &suite).is_some(), expected, "{message}");
        }
    }

    #[test]
    fn a_commit_is_broken_until_a_machine_has_built_it() {
        let machine = environment::machine(None, None);
        let commit = |sha: &str| Commit::new(sha.to_owned(), Default::default());
        let run = |suite: &str, sha: &str| failed_run(suite, &commit(sha), &machine, "no type".to_owned());
        let failed = |sha: &str| Run { config: Default::default(), ..run("s", sha) };
        let built = |sha: &str| Run { status: RunStatus::Ok, ..failed(sha) };
        let runs = [run("s", "a"), run("t", "b"), failed("c"), run("s", "d"), built("d")];
        let heads: Vec<RunHead> = runs.into_iter().map(|run| RunHead::new(&run.into())).collect();
        assert_eq!(broken(&heads, "s"), HashMap::from([("a".to_owned(), "no type".to_owned())]));
    }
}
