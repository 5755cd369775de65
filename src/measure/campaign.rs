//! Worker processes one after another, until there are enough; a benchmark that breaks one is excluded.

use std::collections::BTreeMap;
use std::time::Instant;

use super::MeasureError;
use super::plan::{Message, PLAN_VERSION, Plan, Planned, Protocol, WorkerReport, WorkerSeries};
use super::process::{WorkerCommand, WorkerFault, WorkerProcess};
use sprag_base::stats::bootstrap::FEWEST_FOR_ORDER_STATISTICS;
use sprag_base::words;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopReason {
    /// All requested processes have run.
    #[default]
    Processes,
    /// Every interval is narrow enough.
    Precision,
    Budget,
    Failed,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Campaign {
    /// One entry a worker that sent a report: its series, by their number in the plan.
    pub workers: Vec<BTreeMap<usize, WorkerSeries>>,
    /// Benchmarks that broke a worker, by number in the plan, and how.
    pub broken: BTreeMap<usize, String>,
    /// Workers without a report through no benchmark's fault, one sentence each.
    pub faults: Vec<String>,
    /// Whether each worker was pinned; empty where it was not asked to be.
    pub pinned: Vec<bool>,
    pub stop: StopReason,
    pub seconds: f64,
}

pub struct Brief<'a> {
    pub suite: &'a str,
    pub planned: Vec<Planned>,
    pub protocol: &'a Protocol,
    pub command: &'a WorkerCommand,
}

words!(StopReason { Processes: "processes", Precision: "precision", Budget: "budget", Failed: "failed" });

/// Runs workers until all have run, the budget is spent, or `is_precise` is true; `progress` gets the number that ended.
pub fn run(
    brief: &Brief<'_>,
    is_precise: &dyn Fn(&Campaign) -> bool,
    progress: &mut dyn FnMut(u32),
) -> Result<Campaign, MeasureError> {
    let mut campaign = Campaign::default();
    let mut active: Vec<usize> = (0..brief.planned.len()).collect();
    let mut pace = Pace::start(brief.protocol);
    for worker in 0..brief.protocol.processes {
        progress(worker);
        if let Some(stop) = pace.stop(worker, campaign.workers.len(), || is_precise(&campaign)) {
            campaign.stop = stop;
            break;
        }
        run_worker(brief, worker, &mut active, &mut campaign)?;
        if active.is_empty() {
            campaign.stop = StopReason::Failed;
            break;
        }
    }
    campaign.seconds = pace.seconds();
    if campaign.workers.is_empty() && campaign.broken.is_empty() {
        return Err(MeasureError::Workers(campaign.faults.join("; ")));
    }
    Ok(campaign)
}

/// Decides when no further process is started.
pub struct Pace<'a> {
    protocol: &'a Protocol,
    start: Instant,
    precision: Precision,
}

impl Pace<'_> {
    pub fn start(protocol: &Protocol) -> Pace<'_> {
        Pace { protocol, start: Instant::now(), precision: Precision::default() }
    }

    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Why process number `process`, from 0, is not started; `done` of those before it gave a result.
    pub fn stop(&mut self, process: u32, done: usize, is_precise: impl FnOnce() -> bool) -> Option<StopReason> {
        if is_spent(self.protocol, process, self.seconds()) {
            return Some(StopReason::Budget);
        }
        let is_precise = self.protocol.precision.is_some() && self.precision.check(done, is_precise);
        is_precise.then_some(StopReason::Precision)
    }
}

/// Whether the budget would end before that process, which is assumed to take as long as those before it.
fn is_spent(protocol: &Protocol, process: u32, elapsed: f64) -> bool {
    let next = elapsed / f64::from(process);
    process > 0 && protocol.budget_seconds.is_some_and(|budget| elapsed + next > budget)
}

/// Whether intervals are narrow enough to stop. Stopping at the first narrow interval would bias it, so two checks in a row
/// must agree, from as many processes on as an interval needs.
#[derive(Clone, Copy, Debug, Default)]
struct Precision {
    was_precise: bool,
    checked_at: usize,
}

impl Precision {
    /// Whether the results are precise for the second time in a row.
    fn check(&mut self, processes: usize, is_precise: impl FnOnce() -> bool) -> bool {
        // A process without a result changes nothing.
        if processes == self.checked_at {
            return false;
        }
        self.checked_at = processes;
        let before = self.was_precise;
        self.was_precise = processes >= FEWEST_FOR_ORDER_STATISTICS && is_precise();
        before && self.was_precise
    }
}

/// Runs one worker; a benchmark that breaks it is excluded and the worker restarts without it.
fn run_worker(
    brief: &Brief<'_>,
    worker: u32,
    active: &mut Vec<usize>,
    campaign: &mut Campaign,
) -> Result<(), MeasureError> {
    while !active.is_empty() {
        let plan = Plan {
            version: PLAN_VERSION,
            suite: brief.suite.to_owned(),
            benchmarks: active.iter().map(|number| brief.planned[*number].clone()).collect(),
            protocol: brief.protocol.clone(),
            worker,
        };
        match report(brief.command, &plan)? {
            Ok(report) => {
                campaign.pinned.extend(report.pinned);
                campaign.workers.push(active.iter().copied().zip(report.series).collect());
                return Ok(());
            }
            Err(fault) => match fault.at.filter(|at| *at < active.len()) {
                Some(at) => {
                    let reason = format!("worker {} crashed in it: {}", worker + 1, fault.reason);
                    campaign.broken.insert(active.remove(at), reason);
                }
                None => {
                    campaign.faults.push(format!("worker {}: {}", worker + 1, fault.reason));
                    return Ok(());
                }
            },
        }
    }
    Ok(())
}

/// The report of one worker, or why it has none.
fn report(command: &WorkerCommand, plan: &Plan) -> Result<Result<WorkerReport, WorkerFault>, MeasureError> {
    let mut process = WorkerProcess::spawn(command, plan)?;
    process.close_input();
    Ok(match process.receive() {
        Ok(Message::Report(report)) if report.series.len() == plan.benchmarks.len() => Ok(report),
        Ok(_) => Err(WorkerFault { reason: "it answered another request".to_owned(), at: None }),
        Err(fault) => Err(fault),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that is a shell script; `$plan` holds the plan, `hello` and `report` answer it.
    fn campaign(protocol: Protocol, script: &str) -> Result<Campaign, MeasureError> {
        let head = r#"read plan; count=$(echo "$plan" | grep -o '"id"' | wc -l)
            hello() { echo '{"hello":4}'; }
            series='{"id":"x","parity":{"status":"exact","max_abs_error":null,"tolerance":null},"failure":null,"calls":1,"peak_bytes":null,"turns":[]}'
            report() { list=""; for n in $(seq $count); do list="$list,$series"; done
              echo "{\"report\":{\"series\":[${list#,}],\"pinned\":null}}"; }
            "#;
        let arguments = vec!["-c".into(), format!("{head}{script}")];
        let command = WorkerCommand { program: "/bin/sh".into(), arguments };
        let planned = |name: &str| Planned { id: name.to_owned(), configuration: None };
        let planned = ["a", "b", "c"].map(planned).to_vec();
        run(&Brief { suite: "cpu", planned, protocol: &protocol, command: &command }, &|_| true, &mut |_| {})
    }

    fn ordinary() -> Protocol {
        Protocol { patience_seconds: 60.0, ..Protocol::ordinary(4) }
    }

    #[test]
    fn workers_run_until_there_are_enough() {
        let stop = |protocol: Protocol| {
            let result = campaign(protocol, "hello; report").expect("the workers report");
            (result.workers.len(), result.stop)
        };
        assert_eq!(stop(ordinary()), (4, StopReason::Processes));
        let precise = Protocol { precision: Some(0.01), processes: 9, ..ordinary() };
        assert_eq!(stop(precise), (6, StopReason::Precision));
        assert_eq!(stop(Protocol { budget_seconds: Some(1e-6), ..ordinary() }), (1, StopReason::Budget));
    }

    #[test]
    fn two_checks_in_a_row_must_be_precise() {
        let mut precision = Precision::default();
        let checks = [(3, true), (4, true), (5, true), (6, false), (7, true), (7, true), (8, true)];
        let stops: Vec<bool> = checks.iter().map(|(processes, is)| precision.check(*processes, || *is)).collect();
        assert_eq!(stops, [false, false, false, false, false, false, true]);
    }

    #[test]
    fn a_benchmark_that_breaks_its_worker_is_excluded() {
        let script = r#"hello; case "$plan" in *'"b"'*) echo '{"begin":1}'; kill -9 $$;; esac; report"#;
        let result = campaign(ordinary(), script).expect("the workers report");
        let reason = "worker 1 crashed in it: it was ended by signal 9".to_owned();
        assert_eq!((result.broken, result.workers.len()), (BTreeMap::from([(1, reason)]), 4));
        assert!(result.workers.iter().all(|series| series.keys().copied().eq([0, 2])));
        let silent = r#"hello; case "$plan" in *'"a"'*) echo '{"begin":0}'; exec sleep 60;; esac; report"#;
        let result = campaign(Protocol { patience_seconds: 3.0, ..ordinary() }, silent).expect("the workers report");
        assert!(result.broken[&0].contains("sent nothing for 3 s"), "{:?}", result.broken);
        let none = campaign(ordinary(), "hello; echo '{\"begin\":0}'; exit 7").expect("the benchmarks are to blame");
        assert_eq!((none.broken.len(), none.workers.len(), none.stop), (3, 0, StopReason::Failed));
    }

    #[test]
    fn other_faults_are_reported_and_are_an_error_without_any_report() {
        let count = tempfile::NamedTempFile::new().expect("a temporary file");
        let path = count.path().display();
        let script = format!("hello; echo x >> {path}; test $(wc -l < {path}) -gt 1 || exit 3; report");
        let result = campaign(ordinary(), &script).expect("three workers report");
        assert_eq!(
            (result.workers.len(), &result.faults[..]),
            (3, &["worker 1: it ended with exit code 3".to_owned()][..])
        );
        let error = campaign(ordinary(), "echo hello").expect_err("no worker reports").to_string();
        assert!(error.contains("worker 4: it wrote something other than a message: `hello`"), "{error}");
        let short = r#"hello; echo '{"report":{"series":[],"pinned":null}}'"#;
        assert!(campaign(ordinary(), short).expect_err("it is too short").to_string().contains("another request"));
    }
}
