//! Building and measuring one commit in turns with the good end, as `compare --measure` does.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::bisect::state::State;
use crate::builds::Builds;
use crate::compare::{self, Contest};
use crate::config::{Suite, SuiteKind};
use crate::error::{Cause, Context as _};
use crate::gate::{CompareRequest, GateRequest};
use crate::measuring::MeasureHost;
use crate::project::Project;
use crate::{Advice, Error};
use sprag_analysis::bisect::question::Session;
use sprag_history as history;
use sprag_measure::suite::{Effort, Extent};
use sprag_model::commit::Commit;
use sprag_model::metric::Better;
use sprag_model::paired::Paired;

pub(super) struct Measurer<'a> {
    pub(super) project: &'a Project,
    pub(super) name: &'a str,
    pub(super) suite: &'a Suite,
    pub(super) host: MeasureHost<'a>,
    pub(super) builds: &'a Builds<'a>,
    pub(super) pin: Option<u32>,
}

/// Why a commit has no answer.
pub(super) struct Unmeasured {
    pub(super) reason: String,
    /// It cannot be built.
    pub(super) is_broken: bool,
}

impl Measurer<'_> {
    /// The places of commits that are built already.
    pub(super) fn built(&self, commits: &[String]) -> crate::Result<BTreeSet<usize>> {
        let mut built = BTreeSet::new();
        for (place, sha) in commits.iter().enumerate() {
            let entry = self.builds.peek(self.suite, &self.commit(sha)?)?;
            if entry.is_some_and(|entry| entry.failure.is_none()) {
                built.insert(place);
            }
        }
        Ok(built)
    }

    /// Builds a commit: the seconds that it took, unless it was built before; or why it cannot be built.
    pub(super) fn build(&self, sha: &str) -> crate::Result<Result<Option<f64>, String>> {
        let commit = self.commit(sha)?;
        let is_built = self.builds.peek(self.suite, &commit)?.is_some_and(|entry| entry.failure.is_none());
        let start = Instant::now();
        let built = match self.suite.kind {
            SuiteKind::Command => self.builds.tree(self.suite, &commit).map(drop),
            _ => self.builds.program(self.suite, &commit).map(drop),
        };
        match built {
            Ok(()) => Ok(Ok((!is_built).then(|| start.elapsed().as_secs_f64()))),
            Err(error) => of_commit(error).map(|unmeasured| Err(unmeasured.reason)),
        }
    }

    fn commit(&self, sha: &str) -> crate::Result<Commit> {
        let commit = history::find_commit(self.project.store()?, sha)?;
        commit.with_context(|| format!("the commit {sha} is not in this repository"))
    }

    /// Measures a commit in so many pairs with the good end, and how long that took.
    pub(super) fn session(
        &self,
        state: &State,
        good: &str,
        sha: &str,
        pairs: usize,
    ) -> crate::Result<Result<(Session, f64), Unmeasured>> {
        let request = CompareRequest {
            gate: GateRequest { bisect: true, ..GateRequest::of_folder(&self.project.root) },
            base: good.to_owned(),
            other: sha.to_owned(),
            filters: state.filters.clone(),
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
        let start = Instant::now();
        let outcome = compare::measure(&contest);
        self.host.observer.end();
        match outcome {
            Ok(outcome) => {
                let result = outcome.result;
                let all = result.benchmarks.iter().chain(&result.shown);
                Ok(Ok((session(all, &result.benchmarks, state.metric.as_deref()), start.elapsed().as_secs_f64())))
            }
            Err(error) => of_commit(error).map(Err),
        }
    }
}

/// The logarithms of the ratios of what has a value on both sides, positive where it got worse.
fn session<'p>(all: impl Iterator<Item = &'p Paired>, judged: &[Paired], metric: Option<&str>) -> Session {
    let is_asked = |one: &&Paired| match metric {
        Some(metric) => one.metric.name == metric,
        None => judged.contains(one),
    };
    let is_measured = |one: &&Paired| one.failure.is_none() && one.incomparable.is_none() && !one.pairs.is_empty();
    let pairs = |one: &Paired| -> Vec<f64> {
        let sign = if one.metric.better == Better::Higher { -1.0 } else { 1.0 };
        one.pairs.iter().map(|pair| sign * pair.ratio.ln()).collect()
    };
    all.filter(is_asked).filter(is_measured).map(|one| (one.benchmark.clone(), pairs(one))).collect()
}

/// What only this commit is to blame for; other errors end the bisection.
fn of_commit(error: Error) -> crate::Result<Unmeasured> {
    let cause = error.cause::<Advice>().map(|advice| advice.cause);
    match cause {
        Some(Cause::CannotBuild | Cause::Unmeasured) => {
            Ok(Unmeasured { reason: error.chain(), is_broken: cause == Some(Cause::CannotBuild) })
        }
        _ => Err(error),
    }
}
