//! What speaks against the numbers of a run, from the run itself.

use super::calibration::Calibration;
use super::campaign::Campaign;
use super::gpu::{throttle, track::Track};
use super::plan::{Protocol, Turn, WorkerSeries};
use super::pool;
use super::workload::Workload;
use sprag_base::stats::bootstrap::FEWEST_VALUES;
use sprag_model::sample::{Measurement, Role};

/// More preempted samples than this share, and the machine was too busy to be measured on.
pub const MOST_PREEMPTED: f64 = 0.10;

/// More movement of a calibration kernel than this share, and the machine was not one machine.
pub const MOST_MOVEMENT: f64 = 0.05;

/// What the A/A control may be off by, beyond its interval.
pub const CONTROL_SLACK: f64 = 0.005;

/// The largest arrays whose speed depends on a core's own caches; that of larger ones moves with every neighbour.
const CACHED_BYTES: usize = 1 << 20;

/// What is over a budget by more than this share is told.
const BUDGET_SLACK: f64 = 0.25;

/// That the first processes alone took longer than was given.
pub fn over_budget(protocol: &Protocol, processes: usize, seconds: f64) -> Option<String> {
    let budget = protocol.budget_seconds.filter(|budget| seconds > budget * (1.0 + BUDGET_SLACK))?;
    let noun = if processes == 1 { "process" } else { "processes" };
    Some(format!("{processes} {noun} took {seconds:.0} s, over the budget of {budget} s"))
}

/// Says that `count` processes are too few for an interval; `kind` goes before the word, `owner` after it.
pub fn too_few(count: usize, kind: &str, owner: &str) -> Option<String> {
    let noun = if count == 1 { "process" } else { "processes" };
    let words: Vec<&str> = [kind, noun, owner].into_iter().filter(|word| !word.is_empty()).collect();
    let words = words.join(" ");
    (count < FEWEST_VALUES)
        .then(|| format!("only {count} {words}: a confidence interval needs at least {FEWEST_VALUES}"))
}

/// The reasons, one sentence each; none where nothing speaks against the numbers.
pub fn reasons(
    protocol: &Protocol,
    workloads: &[&Workload],
    campaign: &Campaign,
    found: &[Measurement],
) -> Vec<String> {
    let mut reasons = campaign.faults.clone();
    let workers = campaign.workers.len();
    reasons.extend(too_few(workers, "worker", ""));
    reasons.extend(over_budget(protocol, workers, campaign.seconds));
    let series: Vec<_> = campaign.workers.iter().flat_map(|worker| worker.values()).collect();
    if let Some(share) = pool::preempted_share(&series).filter(|share| *share > MOST_PREEMPTED) {
        reasons.push(format!("{:.0} % of the samples were interrupted by other work", share * 100.0));
    }
    let moved = pool::calibration_movement(campaign).into_iter().filter(|(kernel, share)| {
        let is_local = match kernel {
            Calibration::MultiplyAdd => true,
            Calibration::Copy { bytes } | Calibration::Triad { bytes } => *bytes <= CACHED_BYTES,
            // A device has one user. A host's clock around a launch moves with the host.
            Calibration::DeviceCopy { track, .. } | Calibration::DeviceLaunch { track } => *track != Track::Host,
        };
        is_local && *share > MOST_MOVEMENT
    });
    if let Some((kernel, share)) = moved.max_by(|a, b| a.1.total_cmp(&b.1)) {
        let name = kernel.name();
        reasons.push(format!("the calibration kernel {name} moved by {:.1} % within the run", share * 100.0));
    }
    reasons.extend(throttled(&series));
    for control in found.iter().filter(|one| one.role == Role::Control) {
        let ratio = control.estimate(sprag_model::metric::RATIO);
        let off = ratio
            .and_then(|one| one.interval)
            .filter(|(low, high)| *low > 1.0 + CONTROL_SLACK || *high < 1.0 - CONTROL_SLACK);
        if let Some((low, high)) = off {
            reasons.push(format!("the A/A control came out at {low:.4} to {high:.4} instead of 1"));
        }
    }
    let busy = workloads.iter().enumerate().filter(|(number, workload)| {
        let clean = |series: &super::plan::WorkerSeries| series.turns.iter().any(|turn| !turn.own.clean().is_empty());
        workload.threads == 1
            && campaign
                .workers
                .iter()
                .any(|worker| worker.get(number).is_some_and(|one| one.failure.is_none() && !clean(one)))
    });
    let busy: Vec<String> = busy.map(|(_, workload)| workload.benchmark.id()).collect();
    if !busy.is_empty() {
        reasons.push(format!(
            "all samples of one worker were interrupted, so CPU time is used instead for: {}",
            busy.join(", ")
        ));
    }
    if let Some(processor) = protocol.pin.filter(|_| campaign.pinned.contains(&false)) {
        reasons.push(format!("the system did not allow workers to be pinned to processor {processor}"));
    }
    reasons
}

/// That the device was held back in blocks, also after they were taken again.
fn throttled(series: &[&WorkerSeries]) -> Option<String> {
    let states = || series.iter().flat_map(|one| &one.turns).flat_map(Turn::device_states);
    let held_back = || states().filter(|state| state.throttled);
    let reasons = held_back().fold(0, |all, state| all | state.reasons);
    let (count, all) = (held_back().count(), states().count());
    let words = throttle::reason_words(reasons).join(", ");
    let why = if words.is_empty() { String::new() } else { format!(" ({words})") };
    (count > 0).then(|| format!("throttled: the device slowed itself down in {count} of {all} blocks{why}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::block::Block;
    use crate::campaign::StopReason;
    use crate::example;
    use sprag_model::sample::Sample;

    fn series(kernel: Calibration, kernel_seconds: f64, twin: f64, preempted: usize) -> WorkerSeries {
        let block = |wall: f64, preempted: usize| {
            let sample = |number| Sample { wall, cpu: Some(wall), preempted: number < preempted };
            Block { samples: (0..10).map(sample).collect(), unsettled: 0, device: None }
        };
        let turn = Turn {
            own: block(1.0, preempted),
            twin: Some(block(twin, 0)),
            calibrations: vec![(kernel, block(kernel_seconds, 0))],
        };
        let parity = crate::parity::unchecked();
        WorkerSeries {
            id: "x".into(),
            parity,
            failure: None,
            calls: 1,
            peak_bytes: None,
            pool_bytes: None,
            turns: vec![turn],
        }
    }

    fn reasons_of(workers: Vec<WorkerSeries>, pinned: Vec<bool>) -> String {
        let suite = example::suite();
        let control = &suite[3];
        let campaign = Campaign {
            workers: workers.into_iter().map(|one| BTreeMap::from([(0, one)])).collect(),
            broken: BTreeMap::new(),
            faults: Vec::new(),
            pinned,
            stop: StopReason::Processes,
            seconds: 0.0,
        };
        let protocol = Protocol { pin: Some(1), ..Protocol::ordinary(3) };
        let found = pool::measurements(&[control], &[], &campaign, 1);
        reasons(&protocol, &[control], &campaign, &found).join("; ")
    }

    #[test]
    fn an_exceeded_budget_is_reported() {
        let protocol = Protocol::within(4.0);
        assert_eq!(over_budget(&protocol, 1, 4.9), None);
        assert_eq!(over_budget(&protocol, 1, 9.0).as_deref(), Some("1 process took 9 s, over the budget of 4 s"));
        assert_eq!(over_budget(&Protocol::quick(), 1, 9.0), None);
    }

    #[test]
    fn a_quiet_run_has_no_reasons_and_each_trouble_has_its_own() {
        let quiet = || series(Calibration::MultiplyAdd, 1.0, 1.0, 0);
        assert_eq!(reasons_of(vec![quiet(), quiet(), quiet()], vec![true; 3]), "");
        assert_eq!(reasons_of(vec![quiet()], vec![]), "only 1 worker process: a confidence interval needs at least 3");
        let preempted = || series(Calibration::MultiplyAdd, 1.0, 1.0, 2);
        let text = reasons_of(vec![preempted(), preempted(), preempted()], vec![]);
        assert_eq!(text, "20 % of the samples were interrupted by other work");
        let moved = |kernel| reasons_of(vec![quiet(), quiet(), series(kernel, 1.06, 1.0, 0)], vec![]);
        let text = "the calibration kernel multiply-add moved by 6.0 % within the run";
        assert_eq!(moved(Calibration::MultiplyAdd), text);
        assert_eq!(moved(Calibration::Copy { bytes: 8 << 20 }), "");
        let off = || series(Calibration::MultiplyAdd, 1.0, 0.98, 0);
        assert!(
            reasons_of(vec![off(), off(), off()], vec![]).starts_with("the A/A control came out at 1.0204 to 1.0204")
        );
        let unpinned = reasons_of(vec![quiet(), quiet(), quiet()], vec![true, false, true]);
        assert_eq!(unpinned, "the system did not allow workers to be pinned to processor 1");
        let busy = || series(Calibration::MultiplyAdd, 1.0, 1.0, 10);
        assert!(reasons_of(vec![busy(), busy(), busy()], vec![]).contains("CPU time is used instead for: cpu/control"));
    }
}
