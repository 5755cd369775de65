//! Chooses the configuration of a kernel, before the measurement that counts.
//!
//! Every candidate is checked against the reference like any benchmark. The one in use stays unless another is faster
//! by more than noise; the chosen one is then measured afresh, since the best of several lucky samples is biased (the
//! winner's curse).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::campaign::{self, Brief, Campaign};
use crate::plan::{Planned, Protocol, WorkerSeries};
use crate::process::WorkerCommand;
use crate::protocol::Configurations;
use crate::workload::Workload;
use crate::{MeasureError, pool};
use sprag_base::number;
use sprag_base::stats::describe;
use sprag_base::words;

/// Worker processes of a tuning, since a preference of one process may be due to its memory layout.
const PROCESSES: u32 = 3;

const ROUNDS: u32 = 6;

/// How much faster, as a share, a challenger must be, besides being faster in every process.
const MARGIN: f64 = 0.02;

#[derive(Clone, Debug, PartialEq)]
pub struct TuneChoice {
    pub benchmark: String,
    pub selected: String,
    pub source: TuneSource,
    /// Candidates with their time over that of the one in use; absent where it could not be timed.
    pub candidates: Vec<(String, Option<f64>)>,
    /// Candidates with a wrong result or a crash.
    pub failures: BTreeMap<String, String>,
}

/// Why a configuration was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuneSource {
    /// The untuned one, and nothing was faster.
    Default,
    /// That of the newest run, and nothing was faster.
    Incumbent,
    Tuned,
}

words!(TuneSource { Default: "default", Incumbent: "incumbent", Tuned: "tuned" });

impl TuneChoice {
    pub fn to_json(&self) -> Value {
        let candidates: BTreeMap<&str, Option<f64>> =
            self.candidates.iter().map(|(name, ratio)| (name.as_str(), *ratio)).collect();
        json!({
            "benchmark": self.benchmark,
            "candidates": candidates,
            "failures": self.failures,
            "selected": self.selected,
            "source": self.source.word(),
        })
    }
}

pub fn recorded(entries: &[Value]) -> Configurations {
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    entries.iter().filter_map(|entry| Some((text(entry, "benchmark")?, text(entry, "selected")?))).collect()
}

/// Whether a workload has several configurations of its own.
pub fn is_tunable(workload: &Workload) -> bool {
    workload.configurations.len() > 1 && workload.tuned_with.is_none()
}

/// The configuration in use of a tunable workload, without trying the others.
pub fn untried(workload: &Workload, incumbents: &Configurations) -> Option<TuneChoice> {
    if !is_tunable(workload) {
        return None;
    }
    let id = workload.benchmark.id();
    let incumbent = incumbents.get(&id).filter(|name| workload.configurations.contains(name));
    Some(TuneChoice {
        selected: incumbent.unwrap_or(&workload.configurations[0]).clone(),
        source: if incumbent.is_some() { TuneSource::Incumbent } else { TuneSource::Default },
        candidates: workload.configurations.iter().map(|name| (name.clone(), None)).collect(),
        failures: BTreeMap::new(),
        benchmark: id,
    })
}

/// Times every candidate of every tunable workload and chooses; `incumbents` are those in use.
pub fn tune(
    suite: &str,
    workloads: &[&Workload],
    incumbents: &Configurations,
    protocol: &Protocol,
    command: &WorkerCommand,
    progress: &mut dyn FnMut(u32),
) -> Result<Vec<TuneChoice>, MeasureError> {
    let tunable: Vec<&Workload> = workloads.iter().copied().filter(|one| is_tunable(one)).collect();
    if tunable.is_empty() {
        return Ok(Vec::new());
    }
    let candidates = |workload: &&Workload| -> Vec<Planned> {
        let planned = |name: &String| Planned { id: workload.benchmark.id(), configuration: Some(name.clone()) };
        workload.configurations.iter().map(planned).collect()
    };
    let planned = tunable.iter().flat_map(candidates).collect();
    let protocol =
        Protocol { processes: PROCESSES, rounds: ROUNDS, budget_seconds: None, precision: None, ..protocol.clone() };
    let campaign = campaign::run(&Brief { suite, planned, protocol: &protocol, command }, &|_| false, progress)?;
    let mut first = 0;
    let choose = |workload: &&Workload| {
        let choice = choose(workload, first, &campaign, incumbents.get(&workload.benchmark.id()));
        first += workload.configurations.len();
        choice
    };
    Ok(tunable.iter().map(choose).collect())
}

/// `first` is the number of the workload's first candidate in the campaign.
fn choose(workload: &Workload, first: usize, campaign: &Campaign, incumbent: Option<&String>) -> TuneChoice {
    let names = &workload.configurations;
    // A configuration that this build lacks is not in use.
    let incumbent = incumbent.and_then(|name| names.iter().position(|one| one == name));
    let in_use = incumbent.unwrap_or(0);
    let relative = |candidate: usize| -> Vec<f64> {
        let ratio = |worker: &BTreeMap<usize, WorkerSeries>, number: usize| {
            pool::worker_ratio(workload, worker.get(&(first + number)).filter(|one| one.failure.is_none())?)
        };
        campaign.workers.iter().filter_map(|worker| Some(ratio(worker, candidate)? / ratio(worker, in_use)?)).collect()
    };
    let all: Vec<Vec<f64>> = (0..names.len()).map(relative).collect();
    let beats = |ratios: &[f64]| {
        let complete = ratios.len() >= PROCESSES as usize;
        complete
            && ratios.iter().all(|ratio| *ratio < 1.0)
            && describe::median(ratios).is_some_and(|one| one < 1.0 - MARGIN)
    };
    let medians: Vec<Option<f64>> = all.iter().map(|ratios| describe::median(ratios)).collect();
    let best = (0..names.len())
        .filter(|number| *number != in_use && beats(&all[*number]))
        .min_by(|a, b| medians[*a].unwrap_or(f64::INFINITY).total_cmp(&medians[*b].unwrap_or(f64::INFINITY)));
    let source = match (best, incumbent) {
        (Some(_), _) => TuneSource::Tuned,
        (None, Some(_)) => TuneSource::Incumbent,
        (None, None) => TuneSource::Default,
    };
    let round = |value: f64| number::round_significant(value, 4);
    let failure = |number: usize| {
        let failed = |worker: &BTreeMap<usize, WorkerSeries>| worker.get(&number)?.failure.clone();
        campaign.broken.get(&number).cloned().or_else(|| campaign.workers.iter().find_map(failed))
    };
    let failures = names.iter().enumerate();
    let failures = failures.filter_map(|(number, name)| Some((name.clone(), failure(first + number)?))).collect();
    TuneChoice {
        benchmark: workload.benchmark.id(),
        selected: names[best.unwrap_or(in_use)].clone(),
        source,
        failures,
        candidates: names.iter().cloned().zip(medians.into_iter().map(|one| one.map(round))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use crate::block::Block;
    use crate::plan::Turn;
    use crate::workload::Calibrator;
    use crate::workload::example;
    use sprag_model::Sample;

    use super::*;

    fn series(seconds: f64) -> WorkerSeries {
        let block =
            |wall| Block { samples: vec![Sample { wall, cpu: None, preempted: false }], unsettled: 0, device: None };
        let turn = Turn { own: block(seconds), twin: None, calibrations: vec![(Calibrator::MultiplyAdd, block(1.0))] };
        WorkerSeries { turns: vec![turn; 3], ..WorkerSeries::untimed("x") }
    }

    /// What is chosen from candidates a, b, c that took so long in each process.
    fn choice(processes: &[[f64; 3]], incumbent: Option<&str>) -> (String, TuneSource) {
        let workload = Workload {
            configurations: ["a", "b", "c"].map(str::to_owned).to_vec(),
            ..example::workload("right", example::right)
        };
        let worker = |seconds: &[f64; 3]| seconds.iter().map(|one| series(*one)).enumerate().collect();
        let campaign = Campaign { workers: processes.iter().map(worker).collect(), ..Campaign::default() };
        let chosen = choose(&workload, 0, &campaign, incumbent.map(str::to_owned).as_ref());
        assert_eq!(chosen.to_json()["selected"], chosen.selected.as_str());
        assert_eq!(recorded(&[chosen.to_json()])["cpu/right @fast"], chosen.selected);
        (chosen.selected, chosen.source)
    }

    #[test]
    fn the_one_in_use_stays_unless_another_is_clearly_faster() {
        let check = |processes: &[[f64; 3]], incumbent, expected: (&str, TuneSource)| {
            assert_eq!(choice(processes, incumbent), (expected.0.to_owned(), expected.1), "{processes:?}");
        };
        let b_wins = [[1.0, 0.9, 0.95]; 3];
        check(&b_wins, None, ("b", TuneSource::Tuned));
        check(&b_wins, Some("b"), ("b", TuneSource::Incumbent));
        check(&b_wins, Some("gone"), ("b", TuneSource::Tuned));
        // Faster by less than the margin, or not in every process, or not in enough of them.
        check(&[[1.0, 0.985, 1.1]; 3], None, ("a", TuneSource::Default));
        check(&[[1.0, 0.9, 1.1], [1.0, 0.9, 1.1], [1.0, 1.01, 1.1]], None, ("a", TuneSource::Default));
        check(&b_wins[..2], Some("c"), ("c", TuneSource::Incumbent));
    }

    #[test]
    fn a_wrong_or_broken_candidate_is_never_chosen() {
        let workload = Workload {
            configurations: ["a", "b", "c"].map(str::to_owned).to_vec(),
            ..example::workload("right", example::right)
        };
        let worker = || {
            let wrong = WorkerSeries { failure: Some("parity: wrong".into()), turns: Vec::new(), ..series(0.1) };
            BTreeMap::from([(0, series(1.0)), (1, wrong)])
        };
        let campaign = Campaign {
            workers: vec![worker(), worker(), worker()],
            broken: BTreeMap::from([(2, "it was ended by signal 9".to_owned())]),
            ..Campaign::default()
        };
        let chosen = choose(&workload, 0, &campaign, None);
        assert_eq!((chosen.selected.as_str(), chosen.candidates[1].1, chosen.candidates[2].1), ("a", None, None));
        assert_eq!(chosen.to_json()["failures"], json!({"b": "parity: wrong", "c": "it was ended by signal 9"}));
    }
}
