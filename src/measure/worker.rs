//! A worker: prepares every benchmark of its plan, checks each result, then times them block by block.
//!
//! Blocks of one benchmark alternate with blocks of all others, forwards on even rounds and backwards on odd ones, as do a
//! benchmark and its calibration kernels, so that slow changes of the machine affect all alike.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use crate::block::{Block, TimedWork, Timer};
use crate::plan::{
    Message, NO_SUCH_BENCHMARK, PLAN_VERSION, Plan, Planned, Protocol, Readiness, Request, Turn, WorkerReport,
    WorkerSeries,
};
use crate::workload::{Calibrator, Companion, Order, Prepared, Workload};
use crate::{MeasureError, calibration_kernels, clock, pinning};
use sprag_base::stats::random::SplitMix64;

/// One sample to settle and two for a median.
const FEWEST_SAMPLES: usize = 3;

/// Rounds are even in number, so that a benchmark comes first as often as its calibration kernel.
const FEWEST_ROUNDS: u32 = 4;

pub type MessageSink<'a> = &'a mut dyn FnMut(Message) -> Result<(), MeasureError>;

/// Follows a plan from preparation to report. An unknown or failed benchmark is part of the report, not an error.
pub fn follow(plan: &Plan, workloads: &[Workload], send: MessageSink<'_>) -> Result<WorkerReport, MeasureError> {
    let pinned = plan.protocol.pin.map(pinning::pin);
    let mut bench = Bench::prepare(plan, workloads, send)?;
    let mut order: Vec<usize> = (0..bench.series.len()).collect();
    SplitMix64::new(plan.protocol.seed ^ u64::from(plan.worker).wrapping_mul(0x9e37)).shuffle(&mut order);
    for round in 0..plan.protocol.rounds {
        for &position in &order {
            if bench.series[position].rounds > round {
                send(Message::Begin(position))?;
                let turn = bench.turn(position, round);
                bench.series[position].series.turns.push(turn);
            }
        }
        order.reverse();
    }
    Ok(WorkerReport { series: bench.series.into_iter().map(|one| one.series).collect(), pinned })
}

/// Prepares the benchmarks of a plan, then takes the requested blocks until `requests` ends.
pub fn serve(
    plan: &Plan,
    workloads: &[Workload],
    requests: &mut dyn BufRead,
    send: MessageSink<'_>,
) -> Result<(), MeasureError> {
    let mut bench = Bench::prepare(plan, workloads, send)?;
    let ready =
        |one: &Timed| Readiness { id: one.series.id.clone(), failure: one.series.failure.clone(), rounds: one.rounds };
    send(Message::Ready(bench.series.iter().map(ready).collect()))?;
    let mut line = String::new();
    loop {
        line.clear();
        if requests.read_line(&mut line).map_err(|error| MeasureError::Plan(error.to_string()))? == 0 {
            return Ok(());
        }
        let request: Request =
            serde_json::from_str(&line).map_err(|error| MeasureError::Plan(format!("a request: {error}")))?;
        // Without permission both sides of a comparison run where the system puts them.
        let pinned = request.processor.map(pinning::pin);
        let subject = bench.series.get_mut(request.benchmark).and_then(|one| one.subject.as_mut());
        let subject = subject.ok_or_else(|| MeasureError::Plan(format!("it asks for block {}", request.benchmark)))?;
        send(Message::Block { block: subject.block(), pinned })?;
    }
}

pub fn message_writer(out: &mut dyn Write) -> impl FnMut(Message) -> Result<(), MeasureError> {
    move |message| {
        let mut line = serde_json::to_string(&message).expect("a message holds nothing that JSON cannot");
        line.push('\n');
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).map_err(MeasureError::Send)
    }
}

struct Bench {
    series: Vec<Timed>,
    calibrations: BTreeMap<Calibrator, TimedWork>,
}

struct Timed {
    subject: Option<TimedWork>,
    twin: Option<TimedWork>,
    companions: Vec<Calibrator>,
    rounds: u32,
    series: WorkerSeries,
}

impl Bench {
    fn prepare(plan: &Plan, workloads: &[Workload], send: MessageSink<'_>) -> Result<Bench, MeasureError> {
        if plan.version != PLAN_VERSION {
            let fault = format!("it has version {}; this build supports {PLAN_VERSION}", plan.version);
            return Err(MeasureError::Plan(fault));
        }
        send(Message::Hello(PLAN_VERSION))?;
        let mut bench = Bench { series: Vec::with_capacity(plan.benchmarks.len()), calibrations: BTreeMap::new() };
        for (number, planned) in plan.benchmarks.iter().enumerate() {
            send(Message::Begin(number))?;
            let workload = workloads.iter().find(|workload| workload.benchmark.id() == planned.id);
            bench.series.push(Timed::prepare(workload, planned, &plan.protocol));
        }
        for (number, one) in bench.series.iter_mut().enumerate() {
            for companion in one.companions.iter().filter(|_| one.subject.is_some()) {
                if bench.calibrations.contains_key(companion) {
                    continue;
                }
                send(Message::Begin(number))?;
                match calibration_kernels::prepare(*companion, plan.protocol.seed) {
                    Ok(prepared) => {
                        bench.calibrations.insert(*companion, subject(prepared, 1, &plan.protocol).0);
                    }
                    // Only a device can fail to run one; its benchmark cannot be timed then.
                    Err(reason) => {
                        one.series.failure = Some(format!("its calibration kernel {}: {reason}", companion.name()));
                        one.rounds = 0;
                        break;
                    }
                }
            }
        }
        Ok(bench)
    }

    /// A block of the benchmark and one of each companion: before it on even rounds, else after it; next to it the divisor.
    fn turn(&mut self, position: usize, round: u32) -> Turn {
        let Timed { subject, twin, companions, .. } = &mut self.series[position];
        let mut own = || subject.as_mut().expect("only benchmarks that are ready have rounds").block();
        let own_first = round % 2 == 1;
        let early = own_first.then(&mut own);
        let twin = twin.as_mut().map(TimedWork::block);
        let block = |companion: &Calibrator| {
            let subject = self.calibrations.get_mut(companion).expect("companions of a ready benchmark are ready");
            (*companion, subject.block())
        };
        let calibrations = if own_first {
            companions.iter().map(block).collect()
        } else {
            let mut reversed: Vec<(Calibrator, Block)> = companions.iter().rev().map(block).collect();
            reversed.reverse();
            reversed
        };
        Turn { own: early.unwrap_or_else(own), twin, calibrations }
    }
}

impl Timed {
    /// Makes inputs, checks the result, and finds how many calls fill a sample.
    fn prepare(workload: Option<&Workload>, planned: &Planned, protocol: &Protocol) -> Timed {
        let series = WorkerSeries::untimed(&planned.id);
        let mut timed = Timed { subject: None, twin: None, companions: Vec::new(), rounds: 0, series };
        let Some(workload) = workload else {
            timed.series.failure = Some(NO_SUCH_BENCHMARK.to_owned());
            return timed;
        };
        timed.companions = workload.companions();
        // A build that lacks a configuration is compared in its untuned one.
        let is_available = |name: &&str| workload.configurations.iter().any(|one| one == name);
        let configuration = planned.configuration.as_deref().filter(is_available);
        let order = Order { seed: protocol.seed, configuration, check: true, is_twin: false };
        match (workload.prepare)(&order) {
            Err(reason) => timed.series.failure = Some(reason),
            Ok(prepared) => {
                timed.series.parity = prepared.parity.clone();
                timed.series.peak_bytes = prepared.peak_bytes;
                timed.series.pool_bytes = prepared.meter.as_ref().and_then(|meter| meter.pool_bytes);
                timed.series.failure = prepared.failure();
                if timed.series.failure.is_none() {
                    let (subject, rounds) = subject(prepared, workload.threads, protocol);
                    timed.series.calls = subject.timer.calls();
                    timed.rounds = rounds;
                    if workload.companion == Companion::Twin {
                        timed.twin = twin(workload, &order, &subject);
                    }
                    timed.subject = Some(subject);
                }
            }
        }
        timed
    }
}

fn twin(workload: &Workload, order: &Order<'_>, first: &TimedWork) -> Option<TimedWork> {
    let prepared = (workload.prepare)(&Order { is_twin: true, ..*order }).ok()?;
    let timer = match (&first.timer, prepared.meter) {
        (Timer::Host { on_this_thread, calls, .. }, _) => {
            Timer::Host { call: prepared.call, on_this_thread: *on_this_thread, calls: *calls }
        }
        (Timer::Device(_), meter) => Timer::Device(meter?),
    };
    Some(TimedWork { timer, samples: first.samples })
}

/// Finds the calls of a sample, the samples of a block, and the rounds that fit the time of a series.
fn subject(mut prepared: Prepared, threads: u32, protocol: &Protocol) -> (TimedWork, u32) {
    // The first call warms caches and pages; of the next two the faster is closest to a sample.
    let faster = |work: &mut dyn FnMut()| {
        work();
        let first = clock::time(&mut *work).seconds();
        first.min(clock::time(work).seconds()).max(1e-9)
    };
    let (timer, sample_seconds) = match prepared.meter {
        None => {
            let call_seconds = faster(&mut prepared.call);
            let calls = (protocol.sample_seconds / call_seconds).round().clamp(1.0, 1e6);
            let timer = Timer::Host { call: prepared.call, on_this_thread: threads == 1, calls: calls as u32 };
            (timer, calls * call_seconds)
        }
        Some(mut meter) => {
            let sample_seconds = faster(&mut || {
                (meter.sample)();
            });
            (Timer::Device(meter), sample_seconds)
        }
    };
    let affordable = protocol.series_seconds / sample_seconds;
    let rounds = (affordable / FEWEST_SAMPLES as f64).floor().clamp(1.0, f64::from(protocol.rounds));
    let rounds = (rounds as u32).max(FEWEST_ROUNDS).min(protocol.rounds);
    let rounds = if rounds > 1 { rounds - rounds % 2 } else { rounds };
    let samples = (affordable / f64::from(rounds)).floor() as usize;
    let samples = samples.clamp(FEWEST_SAMPLES, (protocol.block_samples as usize).max(FEWEST_SAMPLES));
    (TimedWork { timer, samples }, rounds)
}

#[cfg(test)]
mod tests {
    use crate::workload::example;
    use sprag_model::ParityStatus;

    use super::*;

    fn plan(names: &[&str]) -> Plan {
        let planned = |name: &&str| Planned { id: format!("cpu/{name} @fast"), configuration: None };
        Plan {
            version: PLAN_VERSION,
            suite: "cpu".into(),
            benchmarks: names.iter().map(planned).collect(),
            protocol: Protocol { rounds: 4, block_samples: 6, sample_seconds: 1e-6, ..Protocol::quick() },
            worker: 0,
        }
    }

    #[test]
    fn a_wrong_or_broken_benchmark_fails_alone() {
        let suite = example::suite();
        let mut received = Vec::new();
        let report = follow(&plan(&["right", "wrong", "broken"]), &suite, &mut |message| {
            received.push(message);
            Ok(())
        });
        let report = report.expect("the plan can be followed");
        let [right, wrong, broken] = &report.series[..] else { panic!("three series: {report:?}") };
        assert_eq!((right.failure.as_deref(), right.turns.len()), (None, 4));
        for turn in &right.turns {
            assert_eq!((turn.own.settled().len(), turn.twin.is_some()), (6, false));
            assert_eq!(turn.calibrations.iter().map(|one| one.0).collect::<Vec<_>>(), [Calibrator::MultiplyAdd]);
            assert!(turn.own.samples.iter().all(|sample| sample.wall > 0.0));
        }
        let parity = "parity: the result differs from the reference by 5e-1, more than 1e-6";
        assert_eq!(wrong.failure.as_deref(), Some(parity));
        assert!(wrong.turns.is_empty() && wrong.parity.status == ParityStatus::Mismatch);
        assert_eq!(broken.failure.as_deref(), Some("the shape does not divide"));
        // Once to prepare it, once to prepare its calibration kernel, and once for each of four turns.
        let begun = |number| received.iter().filter(|message| **message == Message::Begin(number)).count();
        assert_eq!((received[0].clone(), begun(0), begun(1), begun(2)), (Message::Hello(PLAN_VERSION), 6, 1, 1));
    }

    #[test]
    fn a_control_times_its_twin_in_every_turn() {
        let report = follow(&plan(&["control"]), &example::suite(), &mut |_| Ok(())).expect("the plan can be followed");
        assert!(report.series[0].turns.iter().all(|turn| turn.twin.is_some()) && report.pinned.is_none());
    }

    #[test]
    fn a_plan_of_another_version_is_refused_and_an_unknown_benchmark_fails() {
        let suite = example::suite();
        let old = Plan { version: 0, ..plan(&["right"]) };
        assert!(matches!(follow(&old, &suite, &mut |_| Ok(())), Err(MeasureError::Plan(_))));
        let unknown = follow(&plan(&["nothing"]), &suite, &mut |_| Ok(())).expect("the plan can be followed");
        assert_eq!(unknown.series[0].failure.as_deref(), Some("this build has no such benchmark"));
    }

    #[test]
    fn blocks_are_served_on_request_until_the_requests_end() {
        let suite = example::suite();
        let requests = "{\"benchmark\":0,\"processor\":null}\n{\"benchmark\":0,\"processor\":0}\n";
        let mut received = Vec::new();
        let mut send = |message| {
            received.push(message);
            Ok(())
        };
        serve(&plan(&["right", "broken"]), &suite, &mut requests.as_bytes(), &mut send).expect("both can be served");
        let blocks = received
            .iter()
            .filter(|message| matches!(message, Message::Block { block, .. } if block.settled().len() == 6));
        assert_eq!(blocks.count(), 2);
        let ready = received.iter().find_map(|message| match message {
            Message::Ready(ready) => Some(ready.iter().map(|one| one.failure.is_none()).collect::<Vec<bool>>()),
            _ => None,
        });
        assert_eq!(ready, Some(vec![true, false]));
        for request in ["{\"benchmark\":1,\"processor\":null}\n", "{\"benchmark\":7,\"processor\":null}\n", "go\n"] {
            let fault = serve(&plan(&["right", "broken"]), &suite, &mut request.as_bytes(), &mut |_| Ok(()));
            assert!(matches!(fault, Err(MeasureError::Plan(_))), "{request}");
        }
    }
}
