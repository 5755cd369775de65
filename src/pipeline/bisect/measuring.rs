//! Building and measuring one commit in turns with the good end, as `compare --measure` does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::bisect::state::State;
use crate::builds::Builds;
use crate::builds::commit_build::by_id;
use crate::builds::failures::lasting_failure;
use crate::compare::{self, BuildsOutcome, Contest};
use crate::config::{Suite, SuiteKind};
use crate::error::Cause;
use crate::gate::{CompareRequest, GateRequest};
use crate::measuring::MeasureHost;
use crate::project::Project;
use crate::{Advice, Error, text};
use sprag_analysis::bisect::question::Session;
use sprag_measure::paired::PairedResult;
use sprag_measure::suite::{Effort, Extent};
use sprag_model::paired::Paired;
use sprag_model::{Better, Machine};

pub(super) struct Measurer<'a> {
    pub(super) project: &'a Project,
    pub(super) name: &'a str,
    /// Limited to the budget.
    pub(super) suite: &'a Suite,
    /// What runs of the suite name here.
    pub(super) machine: Machine,
    pub(super) host: MeasureHost<'a>,
    pub(super) builds: &'a Builds<'a>,
    pub(super) pin: Option<u32>,
}

/// What a commit and the good end gave in turns.
pub(super) struct Taken {
    pub(super) session: Session,
    pub(super) seconds: f64,
    pub(super) result: PairedResult,
    /// Of the builds: good end, commit.
    pub(super) facts: [BTreeMap<String, String>; 2],
}

/// Why a commit has no answer.
pub(super) struct Unmeasured {
    pub(super) reason: String,
    pub(super) obstacle: Obstacle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// It cannot be built anywhere.
    Broken,
    /// It cannot be built here and now.
    Unbuilt,
    /// It lacks a benchmark, or fails to run.
    Unmeasurable,
    /// The budget ended.
    Late,
}

/// Whatever the budget cut short says of itself, the commit may be fine.
pub(super) fn late(how: &str) -> Unmeasured {
    Unmeasured { reason: format!("the budget ended while it was {how}"), obstacle: Obstacle::Late }
}

impl Measurer<'_> {
    /// Builds a commit: the seconds that it took, unless it was built before; or why it cannot be built.
    pub(super) fn build(&self, sha: &str) -> crate::Result<Result<Option<f64>, Unmeasured>> {
        let commit = by_id(self.project, sha)?;
        let is_built = self.builds.peek(self.suite, &commit)?.is_some_and(|entry| entry.failure.is_none());
        let start = Instant::now();
        let built = match self.suite.kind {
            SuiteKind::Command | SuiteKind::Cuda => self.builds.tree(self.suite, &commit).map(drop),
            _ => self.builds.program(self.suite, &commit).map(drop),
        };
        match built {
            Ok(()) => Ok(Ok((!is_built).then(|| start.elapsed().as_secs_f64()))),
            Err(error) => self.of_commit(error).map(Err),
        }
    }

    /// What only this commit or the end of the budget is to blame for; other errors end the bisection.
    pub(super) fn of_commit(&self, error: Error) -> crate::Result<Unmeasured> {
        let obstacle = match error.cause::<Advice>().map(|advice| advice.cause) {
            Some(cause @ (Cause::Usage | Cause::CannotBuild | Cause::Unmeasured | Cause::BaseFails))
                if self.is_late() =>
            {
                return Ok(late(if cause == Cause::CannotBuild { "built" } else { "measured" }));
            }
            Some(Cause::CannotBuild) if lasting_failure(&error, self.suite).is_some() => Obstacle::Broken,
            Some(Cause::CannotBuild) => Obstacle::Unbuilt,
            Some(Cause::Unmeasured) => Obstacle::Unmeasurable,
            _ => return Err(error),
        };
        Ok(Unmeasured { reason: error.chain(), obstacle })
    }

    pub(super) fn is_late(&self) -> bool {
        self.suite.seconds_left() == Some(0.0)
    }

    /// Measures a commit in so many pairs with the good end.
    pub(super) fn session(
        &self,
        state: &State,
        [good, sha]: [&str; 2],
        pairs: usize,
    ) -> crate::Result<Result<Taken, Unmeasured>> {
        let start = Instant::now();
        let request = CompareRequest {
            gate: GateRequest { bisect: true, ..GateRequest::of_folder(&self.project.root) },
            base: good.to_owned(),
            other: sha.to_owned(),
            filters: state.filters.clone(),
            config_from: None,
        };
        // An ordinary comparison takes two pairs for each process of a run.
        let suite = Suite { processes: Some(pairs.div_ceil(2) as u32), ..self.suite.clone() };
        let contest = Contest {
            project: self.project,
            name: self.name,
            suite: &suite,
            request: &request,
            effort: Effort { extent: Extent::Ordinary, pin: self.pin },
            host: self.host,
            builds: self.builds,
        };
        let outcome = compare::measure(&contest);
        self.host.observer.end();
        match outcome {
            Ok(BuildsOutcome { result, facts, .. }) => {
                let all = result.benchmarks.iter().chain(&result.shown);
                let session = session(all, &result.benchmarks, state.metric.as_deref());
                Ok(Ok(Taken { session, seconds: start.elapsed().as_secs_f64(), result, facts }))
            }
            Err(error) => {
                let is_bad = state.stages[0].commits.last().is_some_and(|bad| bad == sha);
                let does_base_fail = error.cause::<Advice>().is_some_and(|advice| advice.cause == Cause::BaseFails);
                let unmeasured = match is_bad && does_base_fail && !self.is_late() {
                    true => Unmeasured { reason: error.chain(), obstacle: Obstacle::Unmeasurable },
                    false => self.of_commit(error)?,
                };
                let name = if is_bad { BAD_END.to_owned() } else { format!("commit {}", text::short(sha, 12)) };
                Ok(Err(Unmeasured { reason: of_sides(&unmeasured.reason, &name), ..unmeasured }))
            }
        }
    }
}

const BAD_END: &str = "the bad end";

/// A reason of a comparison, whose base is the good end, and the other side the commit of that name.
fn of_sides(reason: &str, name: &str) -> String {
    let mut reason = reason.to_owned();
    for (side, name) in [("the base", "the good end"), ("the other side", name)] {
        for verb in [":", " does", " did", " crashed"] {
            reason = reason.replace(&format!("{side}{verb}"), &format!("{name}{verb}"));
        }
    }
    reason
}

/// The logarithms of the ratios of what has a value on both sides, positive where it got worse.
pub(super) fn session<'p>(all: impl Iterator<Item = &'p Paired>, judged: &[Paired], metric: Option<&str>) -> Session {
    let is_asked = |one: &&Paired| match metric {
        Some(metric) => one.metric.name == metric,
        None => judged.contains(one),
    };
    let pairs = |one: &Paired| -> Vec<f64> {
        let sign = if one.metric.better == Better::Higher { -1.0 } else { 1.0 };
        one.pairs.iter().map(|pair| sign * pair.ratio.ln()).collect()
    };
    all.filter(is_asked).filter(|one| is_measured(one)).map(|one| (one.benchmark.clone(), pairs(one))).collect()
}

/// How many benchmarks a message names.
const NAMED: usize = 3;

/// Why no benchmark can be compared: what the base is measured at is the good end.
pub(super) fn incomparable(result: &PairedResult, metric: Option<&str>) -> String {
    let all = || result.benchmarks.iter().chain(&result.shown);
    let new = result.new.iter().map(|one| match &one.failure {
        Some(failure) => format!("`{}` is only at the bad end: {failure}", one.benchmark),
        None => format!("`{}` is only at the bad end", one.benchmark),
    });
    let failed = all().filter_map(|one| {
        let failure = one.failure.as_ref().or(one.incomparable.as_ref())?;
        Some(format!("`{}`: {}", one.benchmark, of_sides(failure, BAD_END)))
    });
    let mut causes: Vec<String> = failed.chain(new).collect();
    if let Some(metric) = metric.filter(|metric| all().all(|one| one.metric.name != **metric)) {
        let names: BTreeSet<&str> = all().filter(|one| is_measured(one)).map(|one| one.metric.name.as_str()).collect();
        let names = names.into_iter().collect::<Vec<&str>>().join("`, `");
        let reported = if names.is_empty() { String::new() } else { format!(", only `{names}`") };
        causes.insert(0, format!("`{metric}` is not reported{reported}"));
    }
    causes.extend(result.faults.iter().cloned());
    let more = causes.len().saturating_sub(NAMED);
    causes.truncate(NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("no benchmark has a comparable value at both ends: {}{more}", causes.join("; "))
}

pub(super) fn is_measured(one: &Paired) -> bool {
    one.failure.is_none() && one.incomparable.is_none() && !one.pairs.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_name_the_commit_and_not_a_side() {
        for (reason, expected) in [
            (
                "the other side: it ended with exit code 7 (in the other folder)",
                "commit 1: it ended with exit code 7 (in the other folder)",
            ),
            ("pair 1: the base: x; pair 2: the other side: y", "pair 1: the good end: x; pair 2: commit 1: y"),
            ("the base did not report it in pair 2", "the good end did not report it in pair 2"),
            ("the baseline: none", "the baseline: none"),
        ] {
            assert_eq!(of_sides(reason, "commit 1"), expected);
        }
    }
}
