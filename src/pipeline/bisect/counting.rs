//! Instruction counts of commits in place of times: one count of each decides, as equal programs have equal counts.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::bisect::measuring::{Measurer, Obstacle, Taken, Unmeasured, late, session};
use crate::bisect::state::State;
use crate::builds::commit_build::by_id;
use crate::config::SuiteKind;
use crate::text::note;
use crate::{Advice, refuse};
use sprag_measure::cpu;
use sprag_measure::instructions::{CountPlan, LIMIT, Valgrind};
use sprag_measure::paired::PairedResult;
use sprag_measure::plan::Protocol;
use sprag_measure::process::WorkerCommand;
use sprag_measure::suite::kernels::select;
use sprag_model::paired::{Pair, Paired};
use sprag_model::{Benchmark, Metric, Role};

/// Counts of one build that differ by more are not an answer.
const STEADY: f64 = 0.001;

pub(super) struct Counter {
    valgrind: Valgrind,
    counted: RefCell<BTreeMap<String, Counts>>,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    values: Vec<(Benchmark, f64)>,
    facts: BTreeMap<String, String>,
}

impl Counter {
    pub(super) fn new() -> crate::Result<Counter> {
        let valgrind = Valgrind::find().map_err(|reason| {
            let hint = "install the package `valgrind`, or bisect by time, without `--instructions`";
            Advice::new(format!("instructions cannot be counted: {reason}"), hint)
        })?;
        Ok(Counter { valgrind, counted: RefCell::default() })
    }

    /// Counts both commits, each once in a bisection; the good end twice, as a check.
    pub(super) fn session(
        &self,
        measurer: &Measurer<'_>,
        state: &State,
        commits: [&str; 2],
        pairs: usize,
    ) -> crate::Result<Result<Taken, Unmeasured>> {
        let start = Instant::now();
        let mut both = Vec::new();
        for commit in commits {
            let counted = self.counted.borrow().get(commit).cloned();
            let counts = match counted {
                Some(counts) => counts,
                None => match self.counts(measurer, &state.filters, commit)? {
                    Ok(counts) if commit == commits[0] => {
                        match self.steady(measurer, &state.filters, commit, counts)? {
                            Ok(counts) => counts,
                            Err(unmeasured) => return Ok(Err(unmeasured)),
                        }
                    }
                    Ok(counts) => counts,
                    Err(unmeasured) => return Ok(Err(unmeasured)),
                },
            };
            self.counted.borrow_mut().insert(commit.to_owned(), counts.clone());
            both.push(counts);
        }
        let mut benchmarks = Vec::new();
        let mut identities = BTreeMap::new();
        for (benchmark, base) in &both[0].values {
            let other = both[1].values.iter().find(|(one, _)| one == benchmark);
            // What two counts of one build may differ by is not a change.
            let moved = |count: f64| if (count / base - 1.0).abs() <= STEADY { *base } else { count };
            let pair = other.and_then(|(_, count)| Pair::new(&[*base], &[moved(*count)]));
            let paired = Paired::timed(&benchmark.id(), "", pair.into_iter().collect(), None);
            benchmarks.push(Paired { metric: Metric::instructions(), class: None, ..paired });
            identities.insert(benchmark.id(), benchmark.clone());
        }
        // A session shows its noise by the differences of its pairs: there are none.
        let ratios = session(benchmarks.iter(), &benchmarks, None).into_iter();
        let session = ratios.map(|(id, ratios)| (id, vec![ratios[0]; pairs])).collect();
        let (shown, new, faults, processors) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let result = PairedResult { benchmarks, shown, new, identities, pairs: 1, faults, processors };
        let facts = [both[0].facts.clone(), both[1].facts.clone()];
        Ok(Ok(Taken { session, seconds: start.elapsed().as_secs_f64(), result, facts }))
    }

    /// Only benchmarks whose second count is the same.
    fn steady(
        &self,
        measurer: &Measurer<'_>,
        filters: &[String],
        commit: &str,
        counts: Counts,
    ) -> crate::Result<Result<Counts, Unmeasured>> {
        let second = match self.counts(measurer, filters, commit)? {
            Ok(second) => second,
            Err(unmeasured) => return Ok(Err(unmeasured)),
        };
        let mut steady = Counts { values: Vec::new(), ..counts };
        for (benchmark, first) in counts.values {
            let other = second.values.iter().find(|(one, _)| *one == benchmark).map_or(f64::INFINITY, |one| one.1);
            if (other / first - 1.0).abs() <= STEADY {
                steady.values.push((benchmark, first));
            } else {
                let id = benchmark.id();
                note(&format!("`{id}` is left out: two counts of one build are {first} and {other} instructions"));
            }
        }
        if steady.values.is_empty() {
            let message = "no benchmark has the same instruction count twice";
            return refuse(message, "its work depends on time or chance: bisect by time, without `--instructions`");
        }
        Ok(Ok(steady))
    }

    fn counts(
        &self,
        measurer: &Measurer<'_>,
        filters: &[String],
        sha: &str,
    ) -> crate::Result<Result<Counts, Unmeasured>> {
        let Measurer { name, suite, builds, host, .. } = measurer;
        let commit = by_id(measurer.project, sha)?;
        host.observer.begin(&format!("counting instructions of {}", commit.short()), 1);
        let mut counts = Counts::default();
        let mut reasons = Vec::new();
        if suite.kind == SuiteKind::Command {
            let tree = match builds.tree(suite, &commit) {
                Ok(tree) => tree,
                Err(error) => return measurer.of_commit(error).map(Err),
            };
            let command = tree.command_suite(Protocol::quick())?;
            let own = || Benchmark::new(name, "command", &[], "default").expect("these are words");
            match self.valgrind.count_command(&command) {
                Ok(count) => counts.values.push((suite.timed.clone().unwrap_or_else(own), count as f64)),
                Err(reason) => reasons.push(reason),
            }
        } else {
            let build = match builds.program(suite, &commit) {
                Ok(build) => build,
                Err(error) => return measurer.of_commit(error).map(Err),
            };
            let program = build.program.path.clone();
            let command = WorkerCommand { program, ..WorkerCommand::for_task("count")? };
            counts.facts = build.program.facts.clone();
            let workloads = cpu::workloads(name)?;
            for workload in select(name, &suite.include, filters, &workloads)? {
                if workload.threads > 1 || workload.role != Role::Tracked {
                    continue;
                }
                let (suite, benchmark) = ((*name).to_owned(), workload.benchmark.id());
                let plan = CountPlan { suite, benchmark, configuration: None, seed: Protocol::quick().seed };
                let left = measurer.suite.seconds_left().map_or(LIMIT, Duration::from_secs_f64);
                match self.valgrind.count(&command, &plan, LIMIT.min(left)) {
                    Ok(count) => counts.values.push((workload.benchmark.clone(), count.first as f64)),
                    Err(uncounted) => reasons.push(uncounted.reason),
                }
            }
        }
        host.observer.end();
        if counts.values.is_empty() && measurer.is_late() {
            return Ok(Err(late("measured")));
        }
        if counts.values.is_empty() {
            let reason = reasons.into_iter().next();
            let reason = reason.unwrap_or_else(|| "none of its benchmarks runs on one thread".to_owned());
            return Ok(Err(Unmeasured { reason, obstacle: Obstacle::Unmeasurable }));
        }
        reasons.iter().for_each(|reason| note(&format!("a benchmark is left out: {reason}")));
        Ok(Ok(counts))
    }
}
