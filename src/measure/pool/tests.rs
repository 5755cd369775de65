//! Measurements from made-up turns, so that every number can be worked out by hand.

use super::*;
use crate::campaign::StopReason;
use crate::example;
use crate::workload::Limit;
use sprag_model::sample::Sample;

const COPY: Calibration = Calibration::Copy { bytes: 100 };

fn block(walls: &[f64]) -> Block {
    let sample = |wall: &f64| Sample { wall: *wall, cpu: Some(*wall), preempted: false };
    Block { samples: walls.iter().map(sample).collect(), unsettled: 0, device: None }
}

/// A worker whose own blocks take `own` and whose copies take `copy`, a turn each.
fn worker(own: &[f64], copy: &[f64]) -> WorkerSeries {
    let turn = |(own, copy): (&f64, &f64)| Turn {
        own: block(&[*own]),
        twin: Some(block(&[*own / 1.01])),
        calibrations: vec![(COPY, block(&[*copy]))],
    };
    WorkerSeries {
        id: "cpu/right @fast".into(),
        parity: crate::parity::compare(&[1.0], &[1.0], 0.0),
        failure: None,
        calls: 7,
        peak_bytes: Some(4096),
        pool_bytes: None,
        turns: own.iter().zip(copy).map(turn).collect(),
    }
}

fn suite() -> Workload {
    Workload {
        companion: Companion::Calibration(COPY),
        limit: Some(Limit { kernel: COPY, bytes: 100.0 }),
        ..example::workload("right", example::right)
    }
}

fn campaign(workers: Vec<WorkerSeries>) -> Campaign {
    Campaign {
        workers: workers.into_iter().map(|series| BTreeMap::from([(0, series)])).collect(),
        broken: BTreeMap::new(),
        faults: Vec::new(),
        pinned: Vec::new(),
        stop: StopReason::Processes,
        seconds: 0.0,
    }
}

fn measured(workload: &Workload, campaign: &Campaign) -> Measurement {
    measurements(&[workload], &[], campaign, 1).remove(0)
}

#[test]
fn estimates_are_medians_over_workers_of_medians_over_blocks() {
    // Medians of time 2, 4, 3; of the ratio a turn: 2, 2, 3.
    let workers = vec![
        worker(&[1.0, 2.0, 9.0], &[0.5, 1.0, 1.0]),
        worker(&[4.0, 4.0, 4.0], &[2.0, 2.0, 2.0]),
        worker(&[3.0, 3.0, 30.0], &[1.0, 1.0, 10.0]),
    ];
    let found = measured(&suite(), &campaign(workers));
    let names: Vec<&str> = found.estimates.iter().map(|one| one.metric.name.as_str()).collect();
    assert_eq!(names, ["time", "tiles_per_s", "ratio", "limit_share", "peak_memory"]);
    let workers_of = |name: &str| found.estimate(name).map(|one| (one.value, one.workers.clone()));
    assert_eq!(workers_of("time"), Some((3.0, vec![2.0, 4.0, 3.0])));
    assert_eq!(workers_of("ratio"), Some((2.0, vec![2.0, 2.0, 3.0])));
    // A copy of 100 bytes moves 200, the work needs 100: half of the copy's time is the least.
    assert_eq!(workers_of("limit_share"), Some((0.25, vec![0.25, 0.25, 0.1666667])));
    assert_eq!(workers_of("peak_memory").map(|one| one.0), Some(4096.0));
    let time = &found.estimates[0];
    assert_eq!((time.p50, time.p95, time.min, time.n), (Some(4.0), None, Some(1.0), 9));
    assert_eq!(found.judged().map(|one| one.metric.name.as_str()), Some("ratio"));
    assert_eq!((found.attributes["ratio_to"].as_str(), found.attributes["class"].as_str()), ("copy 100 B", "compute"));
    assert_eq!(
        (found.attributes["calls_per_sample"].as_str(), found.attributes["preempted_share"].as_str()),
        ("7 7 7", "0.0000")
    );
}

#[test]
fn preempted_samples_are_left_out_of_every_estimate() {
    let mut one = worker(&[1.0, 1.0, 1.0], &[1.0, 1.0, 1.0]);
    for turn in &mut one.turns {
        turn.own.samples.push(Sample { wall: 100.0, cpu: Some(1.0), preempted: true });
    }
    let found = measured(&suite(), &campaign(vec![one]));
    assert_eq!((found.estimates[0].value, found.estimates[0].p50, found.estimates[0].n), (1.0, Some(1.0), 3));
    assert_eq!(found.attributes["preempted_share"], "0.5000");
}

#[test]
fn a_control_is_divided_by_its_twin() {
    let control = Workload { companion: Companion::Twin, role: Role::Control, limit: None, ..suite() };
    let found = measured(&control, &campaign(vec![worker(&[1.0, 2.0], &[1.0, 1.0])]));
    assert_eq!(found.estimate("ratio").map(|one| one.value), Some(1.01));
    assert!(found.judged().is_none() && found.role == Role::Control);
}

#[test]
fn what_is_no_time_or_broke_or_was_never_timed_fails_with_its_reason() {
    let failure = |campaign: &Campaign| {
        let found = measured(&suite(), campaign);
        assert!(found.estimates.is_empty());
        found.failure.expect("it failed")
    };
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let reason = failure(&campaign(vec![worker(&[1.0, bad], &[1.0, 1.0])]));
        assert_eq!(reason, format!("a sample of {bad} s is no time"));
    }
    assert_eq!(failure(&campaign(Vec::new())), "no worker timed it");
    let mut broken = campaign(vec![worker(&[1.0], &[1.0])]);
    broken.broken.insert(0, "worker 2 crashed in it".into());
    assert_eq!(failure(&broken), "worker 2 crashed in it");
    let wrong = WorkerSeries { failure: Some("parity".into()), ..worker(&[], &[]) };
    assert_eq!(failure(&campaign(vec![worker(&[1.0], &[1.0]), wrong])), "parity");
}

#[test]
fn calibration_kernels_are_reported_and_their_movement_is_known() {
    let found = campaign(vec![worker(&[1.0, 1.0], &[1.0, 1.0]), worker(&[1.0], &[1.2])]);
    let kernels = calibrations("cpu", &found, 1).expect("`cpu` is a word");
    assert_eq!(kernels.len(), 1);
    assert_eq!(kernels[0].benchmark.id(), "cpu/calibration_copy{bytes=100} @calibration");
    assert_eq!((kernels[0].role, kernels[0].estimates[0].value), (Role::Reported, 1.1));
    assert_eq!(kernels[0].estimates[1].metric.name, "bytes_per_s");
    let movement = calibration_movement(&found)[&COPY];
    assert!((movement - 0.2).abs() < 1e-12, "{movement}");
}
