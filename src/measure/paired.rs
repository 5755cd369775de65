//! Two builds timed against each other: pairs of worker processes, one of each build, that take blocks in turn.
//!
//! Both builds run in the same second on the same processor: base, other, then in the next round other, base. Effects of the
//! machine on both cancel in the ratio of neighbouring blocks; the interval over pairs shows the effect of the memory layout
//! of processes.

use std::collections::BTreeMap;

use super::MeasureError;
use super::block::Block;
use super::campaign::Pace;
use super::pinning;
use super::plan::{Message, NO_SUCH_BENCHMARK, PLAN_VERSION, Plan, Planned, Protocol, Readiness, Request};
use super::process::{WorkerCommand, WorkerFault, WorkerProcess};
use super::protocol::Configurations;
use super::workload::{Class, Workload};
use sprag_base::stats::random::SplitMix64;
use sprag_base::stats::{describe, pair_ratio};
use sprag_model::Benchmark;
use sprag_model::paired::{CONFIDENCE, New, Pair, Paired};

/// The builds that are compared.
#[derive(Clone, Copy, Debug)]
pub struct PairedBuilds<'a> {
    pub base: &'a WorkerCommand,
    pub other: &'a WorkerCommand,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PairedResult {
    /// The judged metric of each benchmark, in the order of the suite.
    pub benchmarks: Vec<Paired>,
    pub shown: Vec<Paired>,
    pub new: Vec<New>,
    /// What the ids name, with their versions.
    pub identities: BTreeMap<String, Benchmark>,
    /// Pairs of processes with a result of any benchmark.
    pub pairs: usize,
    /// Pairs without a result through no benchmark's fault, one sentence each.
    pub faults: Vec<String>,
    /// The processors that both builds ran on; none where the system chose.
    pub processors: Vec<u32>,
}

/// Times every workload of two builds; `progress` receives the number of ended pairs.
pub fn measure(
    suite: &str,
    workloads: &[&Workload],
    sides: PairedBuilds<'_>,
    configurations: &Configurations,
    protocol: &Protocol,
    progress: &mut dyn FnMut(u32),
) -> Result<PairedResult, MeasureError> {
    let ids: Vec<String> = workloads.iter().map(|workload| workload.benchmark.id()).collect();
    let processors = protocol.pin.map_or_else(pinning::allowed, |pin| vec![pin]);
    let mut match_up = MatchUp {
        suite,
        ids: &ids,
        sides,
        protocol,
        processors: &processors,
        broken: BTreeMap::new(),
        unknown: BTreeMap::new(),
        unpinned: false,
        configurations,
    };
    let mut pairs: Vec<Vec<Pair>> = vec![Vec::new(); ids.len()];
    let (mut ran, mut faults, mut pace) = (0, Vec::new(), Pace::start(protocol));
    for number in 0..protocol.processes {
        progress(number);
        let done = pairs.iter().map(Vec::len).max().unwrap_or(0);
        if pace.stop(number, done, || is_precise(protocol, workloads, &pairs)).is_some() {
            break;
        }
        match match_up.pair(number)? {
            Ok(round) => {
                ran += 1;
                round.into_iter().for_each(|(benchmark, pair)| pairs[benchmark].push(pair));
            }
            Err(fault) => faults.push(format!("pair {}: {fault}", number + 1)),
        }
        if match_up.broken.len() == ids.len() {
            break;
        }
    }
    if pairs.iter().all(Vec::is_empty) && match_up.broken.is_empty() {
        return Err(MeasureError::Workers(faults.join("; ")));
    }
    let new = match_up.unknown.iter().filter(|(_, in_other)| **in_other);
    let new = new.map(|(number, _)| New::untimed(&ids[*number])).collect();
    let paired = |(number, pairs): (usize, Vec<Pair>)| {
        let failure = match_up.broken.get(&number).cloned();
        Paired::timed(&ids[number], workloads[number].class.word(), pairs, failure)
    };
    let pairs = pairs.into_iter().enumerate().filter(|(number, _)| !match_up.unknown.contains_key(number));
    let benchmarks = pairs.map(paired).collect();
    let processors = if match_up.unpinned {
        faults.push("the system did not allow the builds to be pinned to one processor".to_owned());
        Vec::new()
    } else {
        processors
    };
    let identities = ids.iter().cloned().zip(workloads.iter().map(|workload| workload.benchmark.clone())).collect();
    Ok(PairedResult { benchmarks, shown: Vec::new(), new, identities, pairs: ran, faults, processors })
}

/// Whether every interval is narrow enough. Traffic beyond the caches rarely is on a shared machine, and delays only itself.
fn is_precise(protocol: &Protocol, workloads: &[&Workload], pairs: &[Vec<Pair>]) -> bool {
    let Some(share) = protocol.precision else { return false };
    let is_alone = workloads.iter().all(|workload| workload.class == Class::Dram);
    let awaited = workloads.iter().zip(pairs).filter(|(_, pairs)| !pairs.is_empty());
    let mut awaited = awaited.filter(|(workload, _)| is_alone || workload.class != Class::Dram);
    awaited.all(|(_, pairs)| is_narrow(&pairs.iter().map(|pair| pair.ratio).collect::<Vec<_>>(), share))
}

/// Whether the interval of the ratio that decides a verdict reaches at most that share to either side.
pub(super) fn is_narrow(ratios: &[f64], share: f64) -> bool {
    pair_ratio::interval(ratios, CONFIDENCE).is_some_and(|(low, high)| (high - low) / 2.0 <= share)
}

/// The state that the pairs of processes share.
struct MatchUp<'a> {
    suite: &'a str,
    ids: &'a [String],
    sides: PairedBuilds<'a>,
    protocol: &'a Protocol,
    processors: &'a [u32],
    broken: BTreeMap<usize, String>,
    /// Broken benchmarks that the base does not have, and whether the other does.
    unknown: BTreeMap<usize, bool>,
    unpinned: bool,
    configurations: &'a Configurations,
}

struct Player {
    name: &'static str,
    process: WorkerProcess,
    unpinned: bool,
}

/// Of a block of the base and one of the other; absent where no sample is a time.
type Seconds = (Option<f64>, Option<f64>);

type Blame = (&'static str, WorkerFault);

/// The pair of each benchmark, or why there is none.
type PairResult = Result<BTreeMap<usize, Pair>, String>;

impl MatchUp<'_> {
    /// Runs one pair of processes; a benchmark that breaks a worker is excluded and the pair restarts without it.
    fn pair(&mut self, number: u32) -> Result<PairResult, MeasureError> {
        loop {
            let active: Vec<usize> = (0..self.ids.len()).filter(|one| !self.broken.contains_key(one)).collect();
            if active.is_empty() {
                return Ok(Ok(BTreeMap::new()));
            }
            let plan = Plan {
                version: PLAN_VERSION,
                suite: self.suite.to_owned(),
                benchmarks: active.iter().map(|one| self.planned(*one)).collect(),
                protocol: self.protocol.clone(),
                worker: number,
            };
            match self.play(&plan, &active)? {
                Ok(pair) => return Ok(Ok(pair)),
                Err((name, WorkerFault { reason, at: Some(at) })) if at < active.len() => {
                    self.broken.insert(active[at], format!("the {name} crashed in it: {reason}"));
                }
                Err((name, fault)) => return Ok(Err(format!("the {name}: {}", fault.reason))),
            }
        }
    }

    fn planned(&self, number: usize) -> Planned {
        let id = self.ids[number].clone();
        Planned { configuration: self.configurations.get(&id).cloned(), id }
    }

    /// The pairs of two workers, or which of them failed and how. Benchmarks that fail properly are noted as broken.
    fn play(&mut self, plan: &Plan, active: &[usize]) -> Result<Result<BTreeMap<usize, Pair>, Blame>, MeasureError> {
        let start = |name, command| -> Result<Player, MeasureError> {
            Ok(Player { name, process: WorkerProcess::spawn(command, plan)?, unpinned: false })
        };
        let (mut base, mut other) = (start("base", self.sides.base)?, start("other side", self.sides.other)?);
        let mut rounds = vec![plan.protocol.rounds; active.len()];
        for player in [&mut base, &mut other] {
            let ready = match player.ready(active.len()) {
                Ok(ready) => ready,
                Err(fault) => return Ok(Err((player.name, fault))),
            };
            for (place, one) in ready.into_iter().enumerate() {
                rounds[place] = rounds[place].min(one.rounds);
                if let Some(failure) = one.failure {
                    if failure == NO_SUCH_BENCHMARK {
                        if player.name == "base" {
                            self.unknown.insert(active[place], true);
                        } else if let Some(in_other) = self.unknown.get_mut(&active[place]) {
                            *in_other = false;
                        }
                    }
                    self.broken.entry(active[place]).or_insert_with(|| format!("the {}: {failure}", player.name));
                }
            }
        }
        let mut order: Vec<usize> =
            (0..active.len()).filter(|place| !self.broken.contains_key(&active[*place])).collect();
        SplitMix64::new(plan.protocol.seed ^ u64::from(plan.worker).wrapping_mul(0x9e37)).shuffle(&mut order);
        let mut blocks: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
        for round in 0..plan.protocol.rounds {
            for place in order.iter().copied().filter(|place| rounds[*place] > round) {
                match self.turn([&mut base, &mut other], place, round) {
                    Ok((Some(base), Some(other))) => blocks.entry(active[place]).or_default().push((base, other)),
                    Ok(_) => {}
                    Err(fault) => return Ok(Err(fault)),
                }
            }
            order.reverse();
        }
        self.unpinned |= base.unpinned || other.unpinned;
        Ok(Ok(blocks.into_iter().filter_map(|(benchmark, blocks)| Some((benchmark, pair(&blocks)?))).collect()))
    }

    /// A block of each side on the same processor, the base first on even rounds: seconds of base and other.
    fn turn(&self, [base, other]: [&mut Player; 2], place: usize, round: u32) -> Result<Seconds, Blame> {
        // Two rounds on one processor, so that each has both orders.
        let processor = match self.processors {
            [] => None,
            list => Some(list[(round as usize / 2 + place) % list.len()]),
        };
        let request = Request { benchmark: place, processor };
        if round.is_multiple_of(2) {
            let first = base.block(request)?;
            Ok((first, other.block(request)?))
        } else {
            let first = other.block(request)?;
            Ok((base.block(request)?, first))
        }
    }
}

impl Player {
    fn ready(&mut self, benchmarks: usize) -> Result<Vec<Readiness>, WorkerFault> {
        match self.process.receive()? {
            Message::Ready(ready) if ready.len() == benchmarks => Ok(ready),
            _ => Err(WorkerFault { reason: "it answered another request".to_owned(), at: None }),
        }
    }

    /// The median of one block; absent where no sample is a time.
    fn block(&mut self, request: Request) -> Result<Option<f64>, Blame> {
        let line = serde_json::to_string(&request).expect("a request holds nothing that JSON cannot");
        // A worker that has ended breaks the pipe; receiving from it then shows why.
        let _ = self.process.send(&line);
        match self.process.receive() {
            Ok(Message::Block { block, pinned }) => {
                self.unpinned |= pinned == Some(false);
                Ok(median(&block))
            }
            Ok(_) => Err((self.name, WorkerFault { reason: "it answered another request".to_owned(), at: None })),
            Err(fault) => Err((self.name, WorkerFault { at: Some(request.benchmark), ..fault })),
        }
    }
}

fn median(block: &Block) -> Option<f64> {
    block.median().filter(|seconds| seconds.is_finite() && *seconds > 0.0)
}

fn pair(blocks: &[(f64, f64)]) -> Option<Pair> {
    let median = |value: fn(&(f64, f64)) -> f64| describe::median(&blocks.iter().map(value).collect::<Vec<f64>>());
    Some(Pair {
        base: median(|(base, _)| *base)?,
        other: median(|(_, other)| *other)?,
        ratio: pair_ratio::of_rounds(blocks)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::example;

    /// A worker that serves blocks of one sample of `seconds`; `quirk` may do something else for a request.
    fn side(seconds: &str, quirk: &str) -> WorkerCommand {
        let script = format!(
            r#"read plan; echo '{{"hello":4}}'; list=""
            for id in $(echo "$plan" | grep -o '"id":"[^"]*"' | tr ' ' '_'); do
              list="$list,{{$(echo "$id" | tr '_' ' '),\"failure\":null,\"rounds\":4}}"; done
            echo "{{\"ready\":[${{list#,}}]}}"
            while read request; do {quirk}
              echo '{{"block":{{"block":{{"samples":[{{"wall":{seconds},"cpu":null,"preempted":false}}],"unsettled":0}},"pinned":null}}}}'; done"#
        );
        WorkerCommand { program: "/bin/sh".into(), arguments: vec!["-c".into(), script] }
    }

    fn measured(base: &WorkerCommand, other: &WorkerCommand) -> Result<PairedResult, MeasureError> {
        let suite = [example::workload("right", example::right), example::workload("wrong", example::right)];
        let protocol = Protocol { patience_seconds: 60.0, rounds: 4, ..Protocol::ordinary(3) };
        let workloads: Vec<&Workload> = suite.iter().collect();
        measure("cpu", &workloads, PairedBuilds { base, other }, &Configurations::new(), &protocol, &mut |_| {})
    }

    #[test]
    fn every_pair_shows_the_ratio_of_two_sides() {
        let result = measured(&side("0.5", ""), &side("0.75", "")).expect("both sides serve");
        assert_eq!((result.benchmarks.len(), result.pairs, result.faults.len()), (2, 3, 0));
        for one in &result.benchmarks {
            assert_eq!(one.pairs, vec![Pair { base: 0.5, other: 0.75, ratio: 1.5 }; 3]);
            assert_eq!((one.class.as_deref(), &one.failure), (Some("compute"), &None));
        }
    }

    #[test]
    fn a_pair_shows_medians_and_is_judged_by_the_median_of_its_rounds() {
        // The two modes of the base and those of the other are out of step: no single round shows the change.
        let rounds = [(1.0, 1.1), (1.0, 1.2), (1.25, 1.1), (1.25, 1.2)];
        let result = pair(&rounds).expect("each round has a ratio");
        assert_eq!((result.base, result.other), (1.125, 1.15));
        assert!((result.ratio - (1.1_f64 * 1.2 / 1.25).sqrt()).abs() < 1e-12, "{result:?}");
        assert_eq!(pair(&rounds[..1]), Some(Pair { base: 1.0, other: 1.1, ratio: 1.1 }));
        assert_eq!(pair(&[]), None);
    }

    #[test]
    fn measuring_stops_where_the_interval_of_the_verdict_is_narrow() {
        let asked = Protocol::within(60.0);
        let pairs = |spread: f64| {
            let ratio = |step: f64| Pair { base: 1.0, other: 1.0, ratio: 1.0 + step * spread };
            [-1.0, -0.5, 0.0, 0.5, 1.0].map(ratio).to_vec()
        };
        // The deviation is 0.79 of the spread, and the interval of five pairs reaches 1.68 deviations to either side.
        let check = |spread: f64, class: Class, precise: bool| {
            let one = Workload { class, ..example::workload("right", example::right) };
            let other = example::workload("other", example::right);
            let all = [pairs(spread), pairs(0.0)];
            assert_eq!(is_precise(&asked, &[&one, &other], &all), precise, "{spread} {class:?}");
        };
        check(0.007, Class::Compute, true);
        check(0.009, Class::Compute, false);
        check(0.009, Class::Cache, false);
        check(0.5, Class::Dram, true);
        let alone = Workload { class: Class::Dram, ..example::workload("right", example::right) };
        assert!(!is_precise(&asked, &[&alone], &[pairs(0.5)]), "it waits for what is alone");
    }

    #[test]
    fn a_benchmark_that_breaks_one_side_fails_alone() {
        // The benchmark of number 1, while there are two, ends its worker.
        let quirk = r#"case "$plan" in *wrong*) case "$request" in *'"benchmark":1'*) exit 9;; esac;; esac"#;
        let result = measured(&side("0.5", ""), &side("0.75", quirk)).expect("both sides serve");
        let failures: Vec<Option<&str>> = result.benchmarks.iter().map(|one| one.failure.as_deref()).collect();
        assert_eq!(failures, [None, Some("the other side crashed in it: it ended with exit code 9")]);
        assert_eq!((result.benchmarks[0].pairs.len(), result.pairs), (3, 3));
    }

    #[test]
    fn a_side_that_never_works_is_named() {
        let broken = WorkerCommand { program: "/bin/sh".into(), arguments: vec!["-c".into(), "exit 1".into()] };
        let error = measured(&side("0.5", ""), &broken).expect_err("one side does not serve").to_string();
        assert!(error.contains("pair 1: the other side: it ended with exit code 1"), "{error}");
        let absent = WorkerCommand { program: "/nonexistent/sprag".into(), arguments: Vec::new() };
        assert!(matches!(measured(&absent, &broken), Err(MeasureError::Spawn { .. })));
    }
}
